-- index_overview: the view bf_indexes, and what it advises. (Damaged indexes, standbys: test/tap/unreadable_indexes.pl; other sessions:
-- test/isolation/specs/index_overview.spec.)

CREATE TABLE log (day integer, uid integer, filler text DEFAULT repeat('x', 500)) PARTITION BY RANGE (day);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (1) TO (2);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (2) TO (4) PARTITION BY RANGE (day);
CREATE TABLE log_2_2 PARTITION OF log_2 FOR VALUES FROM (2) TO (3);
CREATE TABLE log_2_3 PARTITION OF log_2 FOR VALUES FROM (3) TO (4);
INSERT INTO log SELECT 1 + i % 3, i FROM generate_series(1, 3000) i;
CREATE INDEX log_uid ON log USING bf (uid) WITH (pages_per_range = 4);
CREATE TABLE single (a integer, filler text DEFAULT repeat('x', 500));
INSERT INTO single SELECT generate_series(1, 1000);
CREATE INDEX single_a ON single USING bf (a) WITH (pages_per_range = 4);
CREATE INDEX single_other ON single (a);
CREATE TABLE empty (a integer);
CREATE INDEX empty_a ON empty USING bf (a);
CREATE UNLOGGED TABLE unlogged (a integer);
INSERT INTO unlogged SELECT generate_series(1, 1000);
CREATE INDEX unlogged_a ON unlogged USING bf (a);
CREATE TEMPORARY TABLE mine (a integer);
INSERT INTO mine SELECT generate_series(1, 1000);
CREATE INDEX mine_a ON mine USING bf (a);
CREATE TABLE no_partitions (a integer) PARTITION BY RANGE (a);
CREATE INDEX no_partitions_a ON no_partitions USING bf (a);
CREATE TABLE incomplete (a integer) PARTITION BY RANGE (a);
CREATE TABLE incomplete_1 PARTITION OF incomplete FOR VALUES FROM (1) TO (2);
CREATE INDEX incomplete_a ON ONLY incomplete USING bf (a);

-- all that is freshly built; the bytes are those of the files
SELECT relation, index, parent, leaves, ranges, summarized, summarized_share, levels, lookups, needs_attention, advice FROM bf_indexes ORDER BY index::text COLLATE "C";
SELECT bool_and(bytes = CASE WHEN index = 'log_uid'::regclass THEN (SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(index) WHERE isleaf)
	WHEN index = 'log_2_uid_idx'::regclass THEN pg_relation_size('log_2_2_uid_idx') + pg_relation_size('log_2_3_uid_idx')
	ELSE pg_relation_size(index) END) AS bytes_right FROM bf_indexes WHERE bytes > 0;

-- Ranges are counted as bf_index_stats() counts them: when rows have come, and when a range of the last group was made unsummarized.
INSERT INTO log SELECT 3, i FROM generate_series(1, 500) i;
INSERT INTO single SELECT generate_series(1, 1000);
SELECT index, i.ranges = s.ranges AS ranges_right, i.summarized = s.summarized AS summarized_right, advice
FROM bf_indexes i, bf_index_stats(index) s WHERE level = 0 AND relation IN ('log_2_3'::regclass, 'single') ORDER BY 1;
SELECT index, ranges, summarized, needs_attention, advice FROM bf_indexes WHERE index IN ('log_uid'::regclass, 'log_2_uid_idx'::regclass) ORDER BY 1;
-- The command can be typed with the search_path of the query.
SET search_path = pg_catalog;
SELECT advice FROM public.bf_indexes WHERE index IN ('public.single_a'::regclass, 'public.log_uid'::regclass) ORDER BY index::text;
RESET search_path;
CALL bf_summarize('log');
SELECT index, summarized_share, advice FROM bf_indexes WHERE index = 'log_uid'::regclass;
SELECT bf_desummarize_range('single_a', 0);
SELECT i.ranges = s.ranges AS ranges_right, i.summarized = s.summarized AS summarized_right FROM bf_indexes i, bf_index_stats(index) s WHERE index = 'single_a'::regclass AND level = 0;
CALL bf_summarize('single');
SELECT summarized_share, advice FROM bf_indexes WHERE index = 'single_a'::regclass;
DELETE FROM empty;
INSERT INTO empty SELECT generate_series(1, 20000);
SELECT levels, summarized, ranges > 0 AS has_ranges, advice ~ '^\d+ of \d+ ranges are not summarized and always read: CALL bf_summarize\(''empty''\)' AS says_so FROM bf_indexes WHERE index = 'empty_a'::regclass;

-- too full: the rows that came later have many more values than those for which the filters were made
CREATE TABLE crowded (a integer, filler text DEFAULT repeat('x', 20)) WITH (fillfactor = 30, autovacuum_enabled = off);
INSERT INTO crowded SELECT 1 FROM generate_series(1, 4000) i;
CREATE INDEX crowded_a ON crowded USING bf (a) WITH (pages_per_range = 1);
ALTER TABLE crowded SET (fillfactor = 100);
VACUUM crowded;
SELECT advice FROM bf_indexes WHERE index = 'crowded_a'::regclass;
INSERT INTO crowded SELECT i FROM generate_series(1, 8000) i;
SELECT advice FROM bf_indexes WHERE index = 'crowded_a'::regclass;
REINDEX INDEX crowded_a;
SELECT advice FROM bf_indexes WHERE index = 'crowded_a'::regclass;

-- Indexes that are larger than their tables, and why: thirty ranges have nearly all the keys, but the filters of their group are as large as theirs;
-- many keys for the pages that they are on; most of the table is gone. An index of few pages is not called large.
CREATE TABLE uneven (a smallint[], day integer) PARTITION BY LIST (day);
CREATE TABLE uneven_1 PARTITION OF uneven FOR VALUES IN (1) WITH (autovacuum_enabled = off);
CREATE TABLE uneven_2 PARTITION OF uneven FOR VALUES IN (2) WITH (autovacuum_enabled = off);
INSERT INTO uneven SELECT CASE WHEN i % 1000 = 500 THEN (SELECT array_agg(n) FROM generate_series(1, 30000) n) ELSE ARRAY[i] END, 1 FROM generate_series(1, 30000) i;
INSERT INTO uneven SELECT ARRAY[i], 2 FROM generate_series(1, 15000) i;
CREATE INDEX uneven_a ON uneven USING bf (a);
CREATE TABLE dense (a smallint[]) WITH (autovacuum_enabled = off);
INSERT INTO dense SELECT ARRAY(SELECT (i * 331 + j * 7) % 30000 FROM generate_series(1, 500) j) FROM generate_series(1, 1000) i;
CREATE INDEX dense_a ON dense USING bf (a) WITH (false_positive_rate = 0.000001);
CREATE TABLE shrunk (a smallint[], id integer) WITH (autovacuum_enabled = off);
INSERT INTO shrunk SELECT a, row_number() OVER () FROM dense, generate_series(1, 2);
CREATE INDEX shrunk_a ON shrunk USING bf (a) WITH (false_positive_rate = 0.0001);
SELECT index, bytes > table_bytes AS is_larger, table_bytes = pg_relation_size(relation) + coalesce(pg_relation_size(reltoastrelid), 0) AS table_right,
	regexp_replace(advice, '\d+ [kM]B', '... kB', 'g') AS advice
FROM bf_indexes LEFT JOIN pg_class c ON c.oid = relation AND reltoastrelid <> 0 WHERE index::text ~ '^(uneven|dense|shrunk)' AND leaves = 1 ORDER BY 1;
DELETE FROM shrunk WHERE id > 200;
VACUUM shrunk;
SELECT bytes > table_bytes AS is_larger, regexp_replace(advice, '\d+ [kM]B', '... kB', 'g') AS advice FROM bf_indexes WHERE index = 'shrunk_a'::regclass;
REINDEX INDEX shrunk_a;
SELECT regexp_replace(advice, '\d+ [kM]B', '... kB', 'g') AS advice FROM bf_indexes WHERE index = 'shrunk_a'::regclass;
SELECT advice, table_bytes = (SELECT sum(table_bytes) FROM bf_indexes WHERE parent = 'uneven_a'::regclass) AS sum_right FROM bf_indexes WHERE index = 'uneven_a'::regclass;
-- the command
SELECT "column", advice ~ 'larger|more than the table' AS says_so FROM bf_index_advise('uneven_1');
DROP TABLE uneven, dense, shrunk;

-- What ALTER INDEX changes takes effect when the index is built anew; it says so, and so does the view.
ALTER INDEX single_a SET (false_positive_rate = 0.0001);
SELECT needs_attention, advice FROM bf_indexes WHERE index = 'single_a'::regclass;
ALTER INDEX single_a RESET (false_positive_rate);
ALTER INDEX log_2_2_uid_idx SET (levels = 1);
SELECT index, needs_attention, advice FROM bf_indexes WHERE relation::text ~ '^log' ORDER BY 1;
REINDEX INDEX log_2_2_uid_idx;
SELECT needs_attention, advice FROM bf_indexes WHERE index = 'log_2_2_uid_idx'::regclass;
ALTER INDEX log_2_2_uid_idx SET (pages_per_range = 3);
ALTER INDEX log_2_2_uid_idx RESET (pages_per_range, levels);
REINDEX INDEX log_2_2_uid_idx;
ALTER INDEX single_other SET (fillfactor = 70);
-- A quarter of the ranges may be unsummarized before somebody should act.
INSERT INTO single SELECT generate_series(1, 200);
SELECT ranges - summarized AS unsummarized, needs_attention FROM bf_indexes WHERE index = 'single_a'::regclass;
CALL bf_summarize('single');
-- bf_summarize() says so if there is nothing for it
CALL bf_summarize('single_other');
CREATE TABLE unindexed (a integer) PARTITION BY RANGE (a);
CALL bf_summarize('unindexed');
DROP TABLE unindexed;
CALL bf_summarize('no_partitions');

-- an index that a failed build has left
CREATE FUNCTION checked(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1 / ($1 - 1000); END $$;
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY single_failed ON single USING bf (checked(a));
\set VERBOSITY default
SELECT index, bytes IS NULL AS unknown, ranges, advice FROM bf_indexes WHERE relation = 'single'::regclass ORDER BY index::text COLLATE "C";
-- what a REINDEX CONCURRENTLY that failed leaves is dropped, not built
ALTER INDEX single_failed RENAME TO single_a_idx_ccnew1;
SELECT index, advice FROM bf_indexes WHERE index = 'single_a_idx_ccnew1'::regclass;
DROP INDEX single_a_idx_ccnew1;

-- A look-up is counted; a partitioned index has the sum.
SET enable_seqscan = off;
SELECT count(*) FROM log WHERE uid = 7;
SELECT count(*) FROM single WHERE a = 7;
RESET enable_seqscan;
SELECT pg_stat_force_next_flush();
SELECT index, lookups >= leaves AS counted, advice FROM bf_indexes WHERE relation = 'log'::regclass;

-- who sees what: tables that one may read, and nothing of those whose policies apply
CREATE ROLE streambloom_reader;
CREATE ROLE streambloom_owner;
CREATE FUNCTION seen() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(index::text, ' ' ORDER BY index::text COLLATE "C") FROM bf_indexes $$;
SET ROLE streambloom_reader;
SELECT seen();
SELECT bf_index_overview('single_a') IS NULL AS nothing, bf_index_overview('log_1_uid_idx') IS NULL AS nothing;
RESET ROLE;
GRANT SELECT ON single, log_1 TO streambloom_reader;
SET ROLE streambloom_reader;
SELECT seen();
RESET ROLE;
-- The partitioned table sums up partitions that one may only read by its name.
REVOKE SELECT ON log_1 FROM streambloom_reader;
GRANT SELECT ON log TO streambloom_reader;
SET ROLE streambloom_reader;
SELECT index, leaves, bytes > 0 AS has_bytes FROM bf_indexes WHERE parent IS NULL ORDER BY index::text COLLATE "C";
SELECT seen();
RESET ROLE;
GRANT SELECT (a) ON empty TO streambloom_reader;
ALTER TABLE single ENABLE ROW LEVEL SECURITY;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
SET ROLE streambloom_reader;
SELECT seen();
SET row_security = off;
SELECT seen();
RESET row_security;
RESET ROLE;
ALTER TABLE single OWNER TO streambloom_owner;
SET ROLE streambloom_owner;
SELECT seen() AS owner;
RESET ROLE;
ALTER TABLE single FORCE ROW LEVEL SECURITY;
SET ROLE streambloom_owner;
SELECT seen() AS owner_who_forced_himself;
RESET ROLE;
REVOKE ALL ON log FROM streambloom_reader;

-- what is no bf index
SELECT bf_index_overview('single_other') IS NULL AS btree, bf_index_overview('single') IS NULL AS a_table, bf_index_overview(4711) IS NULL AS nobody,
	bf_index_overview('log_uid') IS NULL AS partitioned, bf_index_overview(NULL) IS NULL AS nothing;

-- Tables whose rows other extensions keep elsewhere: the parent of a hypertable, which has inheritance children, and, where Citus is
-- installed (here only a row of pg_extension), an empty table.
CREATE TABLE hyper (a integer);
CREATE TABLE hyper_1 () INHERITS (hyper);
INSERT INTO hyper_1 SELECT generate_series(1, 1000);
CREATE INDEX hyper_a ON hyper USING bf (a);
CREATE INDEX hyper_1_a ON hyper_1 USING bf (a);
CREATE TABLE distributed (a integer);
CREATE INDEX distributed_a ON distributed USING bf (a);
CREATE VIEW elsewhere AS SELECT index, ranges, advice FROM bf_indexes WHERE relation::text IN ('hyper', 'hyper_1', 'distributed') ORDER BY index::text COLLATE "C";
SELECT * FROM elsewhere;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (60002, 'citus', 10, 'pg_catalog'::regnamespace, false, 'stub');
SELECT * FROM elsewhere;
DELETE FROM pg_extension WHERE oid = 60002;
-- an index that cannot be looked at does not tell that its table has no rows
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'hyper_a'::regclass;
SELECT * FROM elsewhere WHERE index = 'hyper_a'::regclass;
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'hyper_a'::regclass;
DROP VIEW elsewhere;

-- everything is explained
SELECT attname FROM pg_attribute WHERE attrelid = 'bf_indexes'::regclass AND attnum > 0 AND col_description(attrelid, attnum) IS NULL;

SET client_min_messages = warning;
DROP TABLE hyper_1, hyper, distributed, log, single, empty, unlogged, mine, no_partitions, incomplete, crowded;
DROP FUNCTION checked, seen;
DROP ROLE streambloom_reader, streambloom_owner;
