-- index_remade: VACUUM remakes the groups whose filters do not fit what is there, larger or smaller
CREATE SCHEMA remade;
SET search_path = remade, public;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

-- How many pages, of index and table, a query reads in the mean for 40 values that are not there.
CREATE FUNCTION in_vain(relation text, condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	pages numeric := 0;
BEGIN
	FOR i IN 1 .. 40 LOOP
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON) SELECT FROM %I WHERE ' || condition, relation, -i) INTO plan;
		pages := pages + (plan #>> '{0,Plan,Shared Hit Blocks}')::integer + (plan #>> '{0,Plan,Shared Read Blocks}')::integer;
	END LOOP;
	RETURN round(pages / 40, 1);
END $$;
CREATE FUNCTION pages(index regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(index_pages)::bigint FROM bf_index_stats(index) $$;
-- The same after REINDEX.
CREATE FUNCTION pages_built(index regclass) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('REINDEX INDEX %s', index);
	RETURN pages(index);
END $$;

-- A column is added with a default to a table that has rows, and indexed at once. Its filters are for one item.
CREATE TABLE later (i integer) WITH (autovacuum_enabled = off);
INSERT INTO later SELECT generate_series(1, 200000);
ALTER TABLE later ADD COLUMN v integer DEFAULT 5;
CREATE INDEX later_v ON later USING bf (v);
SELECT 'INSERT INTO later SELECT i, i FROM generate_series(' || n * 20000 + 1 || ', ' || (n + 1) * 20000 || ') i', 'VACUUM later' FROM generate_series(1, 8) n \gexec
SELECT in_vain('later', 'v = %s') <= 12 AS few_pages, bf_index_check('later_v') > 0 AS checked;
SELECT pages('later_v') <= 1.5 * pages_built('later_v') AS as_small_as_built;
-- small loads after it
SELECT 'INSERT INTO later SELECT i, i FROM generate_series(' || 1000000 + n * 500 + 1 || ', ' || 1000000 + (n + 1) * 500 || ') i', 'VACUUM later' FROM generate_series(1, 20) n \gexec
SELECT in_vain('later', 'v = %s') <= 12 AS few_pages;
DROP TABLE later;

-- A twentieth of the rows gets new values each day, for 20 days.
CREATE TABLE changed (i integer, v integer) WITH (autovacuum_enabled = off);
INSERT INTO changed SELECT i, i FROM generate_series(1, 100000) i;
CREATE INDEX changed_v ON changed USING bf (v);
SELECT format('UPDATE changed SET v = %s + i WHERE hashint4extended(i, %s) %% 20 = 0', day * 1000000, day), 'VACUUM changed' FROM generate_series(1, 20) day \gexec
SELECT in_vain('changed', 'v = %s') <= 12 AS few_pages, bf_index_check('changed_v') > 0 AS checked;
SELECT pages('changed_v') <= 1.5 * pages_built('changed_v') AS as_small_as_built;
DROP TABLE changed;

-- Level 1 comes; the first of its ranges has far more items than the others.
CREATE TABLE heavy (i integer, tags integer[]) WITH (autovacuum_enabled = off);
ALTER TABLE heavy ALTER tags SET STORAGE plain;
INSERT INTO heavy SELECT i, ARRAY(SELECT i * 1000 + n FROM generate_series(1, 1900) n) FROM generate_series(1, 125) i;
INSERT INTO heavy SELECT i, ARRAY[-i, i] FROM generate_series(1, 15600) i;
CREATE INDEX heavy_tags ON heavy USING bf (tags) WITH (pages_per_range = 1);
SELECT level, ranges, groups FROM bf_index_stats('heavy_tags') ORDER BY level;
INSERT INTO heavy SELECT i, ARRAY[-i, i] FROM generate_series(200001, 215000) i;
VACUUM heavy;
SELECT level, ranges, groups FROM bf_index_stats('heavy_tags') ORDER BY level;
SELECT in_vain('heavy', 'tags @> ARRAY[%s - 1000000]') <= 12 AS few_pages;
SELECT pages('heavy_tags') <= 1.3 * pages_built('heavy_tags') AS as_small_as_built;
DROP TABLE heavy;

-- Of two ranges of level 1 one becomes full, and bits tell nothing of it. The group gets larger filters all the same.
CREATE TABLE two (i integer, v integer, filler text) WITH (autovacuum_enabled = off, fillfactor = 45);
INSERT INTO two SELECT i, 0, repeat('x', 150) FROM generate_series(1, 45000) i;
CREATE INDEX two_v ON two USING bf (v) WITH (pages_per_range = 8);
UPDATE two SET v = i;
SELECT 'VACUUM two' FROM generate_series(1, 4) \gexec
SELECT off_groups FROM bf_index_overview('two_v');
SELECT in_vain('two', 'v = %s') <= 12 AS few_pages;
SELECT pages('two_v') <= 1.5 * pages_built('two_v') AS as_small_as_built;
DROP TABLE two;

-- What a build makes fits, also if one of few ranges has 4.2 times as many items as the others.
CREATE TABLE one_of_few (v integer, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE one_of_few ALTER filler SET STORAGE plain;
INSERT INTO one_of_few SELECT CASE WHEN i / 1952 = 5 THEN 1000000 + i % 966 ELSE i / 1952 * 1000 + i % 230 END, repeat('x', 88) FROM generate_series(0, 1952 * 8 - 1) i;
CREATE INDEX one_of_few_v ON one_of_few USING bf (v) WITH (pages_per_range = 32);
SELECT ranges, off_groups FROM bf_index_overview('one_of_few_v');
DROP TABLE one_of_few;

-- Where ranges are long, VACUUM reads none of them to find out what was deleted if nothing was.
CREATE TABLE long_ranges (i integer) WITH (autovacuum_enabled = off);
INSERT INTO long_ranges SELECT generate_series(1, 500000);
CREATE INDEX long_ranges_i ON long_ranges USING bf (i) WITH (pages_per_range = 65536);
VACUUM long_ranges;
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit AS before FROM pg_statio_user_tables WHERE relname = 'long_ranges' \gset
SELECT bf_summarize_new_values('long_ranges_i');
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit - :before <= 10 AS few_pages FROM pg_statio_user_tables WHERE relname = 'long_ranges';
DROP TABLE long_ranges;

-- One array of 200,000 elements among small rows: no look-up reads its range.
CREATE TABLE huge (i integer, tags integer[]) WITH (autovacuum_enabled = off);
INSERT INTO huge SELECT i, ARRAY[i, -i] FROM generate_series(1, 100000) i;
CREATE INDEX huge_tags ON huge USING bf (tags);
INSERT INTO huge SELECT -1, array_agg(n) FROM generate_series(1000001, 1200000) n;
INSERT INTO huge SELECT i, ARRAY[i, -i] FROM generate_series(100001, 150000) i;
VACUUM huge;
SELECT in_vain('huge', 'tags @> ARRAY[%s - 1000000]') <= 12 AS few_pages, bf_index_check('huge_tags') > 0 AS checked;
SELECT count(*) FROM huge WHERE tags @> '{1000777}';
-- a writer puts it into a range that is summarized
DELETE FROM huge WHERE i < 0 OR i BETWEEN 50000 AND 50100;
VACUUM huge;
UPDATE huge SET tags = (SELECT array_agg(n) FROM generate_series(1000001, 1200000) n) WHERE i = 50101;
SELECT ctid < '(800,0)' AS in_the_middle FROM huge WHERE i = 50101;
VACUUM huge;
SELECT in_vain('huge', 'tags @> ARRAY[%s - 1000000]') <= 12 AS few_pages, bf_index_check('huge_tags') > 0 AS checked;
REINDEX INDEX huge_tags;
SELECT in_vain('huge', 'tags @> ARRAY[%s - 1000000]') <= 12 AS few_pages;
-- What was made fits: the third run writes nothing, however many times as many items as the others a range has.
CREATE FUNCTION wal_of_third_run(factor numeric, rate numeric, pages integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before pg_lsn;
BEGIN
	DROP TABLE IF EXISTS uneven;
	CREATE TABLE uneven (v integer) WITH (autovacuum_enabled = off);
	INSERT INTO uneven SELECT i / 226 * 1000 + i % CASE WHEN i / 226 IN (30, 60) THEN (40 * factor)::integer ELSE 40 END FROM generate_series(0, 226 * 130 - 1) i;
	EXECUTE format('CREATE INDEX uneven_v ON uneven USING bf (v) WITH (pages_per_range = %s, false_positive_rate = %s)', pages, rate);
	PERFORM bf_desummarize_range('uneven_v', 30);
	FOR run IN 1 .. 3 LOOP
		before := pg_current_wal_insert_lsn();
		PERFORM bf_summarize_new_values('uneven_v');
	END LOOP;
	RETURN pg_current_wal_insert_lsn() - before;
END $$;
SET client_min_messages = warning;
SELECT factor, rate, pages, wal_of_third_run(factor, rate, pages) FROM unnest(ARRAY[1, 2, 2.5, 3, 3.5, 3.9, 4.3, 5.5]) factor, unnest(ARRAY[0.001, 0.05, 0.1, 0.3]) rate, unnest(ARRAY[1, 2]) pages
	WHERE wal_of_third_run(factor, rate, pages) > 500;
-- A group cannot be remade if its entry, that of the stretch before, and the last two are on four pages of the directory:
-- one WAL record has three. With 32 columns the meta page has 34 entries and each page 53. So entry 87 of 194 is such a
-- one. Its 125 ranges must not be counted each time. With another group at the end it can be remade.
DO $$BEGIN
	EXECUTE (SELECT format('CREATE TABLE entries (a int[], %s) WITH (fillfactor = 10, autovacuum_enabled = off)', string_agg(format('c%s int', i), ', ')) FROM generate_series(1, 31) i);
	EXECUTE (SELECT format('CREATE INDEX entries_bf ON entries USING bf (a, %s) WITH (pages_per_range = 1, levels = 1)', string_agg('c' || i, ', ')) FROM generate_series(1, 31) i);
END$$;
CREATE PROCEDURE add_groups(first integer, last integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first..last LOOP
		INSERT INTO entries SELECT array_fill(0, ARRAY[60]) || ARRAY(SELECT CASE WHEN i % 2 = 0 THEN j ELSE row END FROM generate_series(1, 60) j) FROM generate_series(1, 125) row;
		PERFORM bf_summarize_new_values('entries_bf');
	END LOOP;
END$$;
CALL add_groups(1, 194);
SELECT pg_relation_size('entries') / 8192 / 125.0 AS groups_of_pages, groups FROM bf_index_overview('entries_bf');
UPDATE entries SET a = ARRAY(SELECT (random() * 1000000000)::integer FROM generate_series(1, 120)) WHERE ctid >= '(10875,0)' AND ctid < '(11000,0)';
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit AS before FROM pg_statio_user_tables WHERE relname = 'entries' \gset
SELECT bf_summarize_new_values('entries_bf');
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit AS after, heap_blks_read + heap_blks_hit - :before BETWEEN 1 AND 20 AS few_pages FROM pg_statio_user_tables WHERE relname = 'entries' \gset
SELECT :'few_pages' AS few_pages;
CALL add_groups(195, 195);
SELECT pg_stat_force_next_flush();
SELECT heap_blks_read + heap_blks_hit - :after >= 4 * 125 AS counted_and_remade FROM pg_statio_user_tables WHERE relname = 'entries';
SELECT bf_index_check('entries_bf');
DROP SCHEMA remade CASCADE;
