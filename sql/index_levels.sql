-- index_levels: levels above 0, the length of ranges that is chosen, rates of columns
-- EXPLAIN says how many pages of the index a search reads: the meta page only when it is not cached, then one for each group
CREATE FUNCTION pages_read(query text, OUT index_pages integer, OUT heap_pages integer) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	index_pages := (plan -> 'Plans' -> 0 ->> 'Shared Hit Blocks')::int + (plan -> 'Plans' -> 0 ->> 'Shared Read Blocks')::int;
	heap_pages := plan ->> 'Lossy Heap Blocks';
END
$$;

-- one row a page, one page a range: level 1 has ranges of 125 pages
CREATE TABLE tall (id integer, filler text) WITH (autovacuum_enabled = off, fillfactor = 10);
ALTER TABLE tall ALTER filler SET STORAGE PLAIN;
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i;
CREATE INDEX tall_bf ON tall USING bf (id) WITH (pages_per_range = 1);
CREATE VIEW tall_levels AS SELECT level, pages_per_range, ranges, summarized, placeholders, unsummarized, groups, hashes, false_positive_rate FROM bf_index_stats('tall_bf');
SELECT * FROM tall_levels;
-- without level 1 a search would read a page for each of 8 groups
SELECT * FROM pages_read('SELECT * FROM tall WHERE id = 500');
SELECT * FROM pages_read('SELECT * FROM tall WHERE id = -1');
SELECT bf_index_check('tall_bf');
-- the levels that an index may have can be set; it takes a REINDEX
ALTER INDEX tall_bf SET (levels = 1);
SELECT count(*) FROM tall_levels;
REINDEX INDEX tall_bf;
SELECT * FROM tall_levels;
SELECT index_pages FROM pages_read('SELECT * FROM tall WHERE id = 500');
ALTER INDEX tall_bf SET (levels = 5);
ALTER INDEX tall_bf RESET (levels);
REINDEX INDEX tall_bf;
-- a build keeps the items of level 0 in a temporary file; where there is no room for all of them, it reads the rest of the table again
SET temp_file_limit = '16kB';
REINDEX INDEX tall_bf;
SELECT * FROM tall_levels;
SELECT bf_index_check('tall_bf');
SELECT count(*) FROM generate_series(50, 1000, 50) i, pages_read('SELECT * FROM tall WHERE id = ' || i) WHERE heap_pages = 0;
SET temp_file_limit = '0';
ALTER TABLE tall RESET (autovacuum_enabled); -- from 18 on, a build does not change the statistics of a table without autovacuum
REINDEX INDEX tall_bf;
ALTER TABLE tall SET (autovacuum_enabled = off);
SELECT bf_index_check('tall_bf');
SELECT relname, reltuples::bigint, (SELECT count(*) FROM tall) FROM pg_class WHERE relname IN ('tall', 'tall_bf') ORDER BY relname;
RESET temp_file_limit;
REINDEX INDEX tall_bf;

-- rows of new pages are found behind the last range; VACUUM summarizes level 0, and full ranges of level 1
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(1001, 1300) i;
SELECT * FROM tall_levels;
SELECT heap_pages FROM pages_read('SELECT * FROM tall WHERE id = 1200');
VACUUM tall;
SELECT * FROM tall_levels;
SELECT heap_pages FROM pages_read('SELECT * FROM tall WHERE id = 1200');
SELECT bf_index_check('tall_bf');

-- a range of each level can be made unsummarized; then the levels below decide
SELECT bf_desummarize_range('tall_bf', 300, 1);
SELECT level, ranges, summarized, unsummarized FROM tall_levels;
SELECT index_pages > 1 AS more_is_read, heap_pages FROM pages_read('SELECT * FROM tall WHERE id = 301');
-- on level 0: the search does not look for a value that is not in the range of level 1
SELECT bf_desummarize_range('tall_bf', 1000);
SELECT heap_pages FROM pages_read('SELECT * FROM tall WHERE id = -1');
SELECT heap_pages FROM pages_read('SELECT * FROM tall WHERE id = 1002');
-- rows are entered on each level on its own, whatever another one says
UPDATE tall SET id = -301 WHERE id = 301;
UPDATE tall SET id = -1002 WHERE id = 1002;
-- it counts the old versions of both rows while autovacuum, or another session, may still see them
SELECT bf_index_check('tall_bf') BETWEEN 1300 AND 1302 AS checked;
SELECT bf_summarize_new_values('tall_bf');
SELECT level, ranges, summarized, unsummarized FROM tall_levels;
SELECT (SELECT count(*) FROM tall WHERE id = -301), (SELECT count(*) FROM tall WHERE id = -1002), bf_index_check('tall_bf') BETWEEN 1300 AND 1302 AS checked;

-- by hand also a range of level 1 that is not full
SELECT level, ranges, summarized FROM tall_levels WHERE level = 1;
SELECT bf_summarize_range('tall_bf', 1299, 1), bf_summarize_range('tall_bf', 1299, 1);
SELECT level, ranges, summarized FROM tall_levels WHERE level = 1;
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(1301, 1310) i;
SELECT (SELECT count(*) FROM tall WHERE id = 1305), bf_index_check('tall_bf') BETWEEN 1310 AND 1312 AS checked;
-- a level that the index does not have yet, and levels that it cannot have
SELECT bf_desummarize_range('tall_bf', 0, 2);
SELECT bf_summarize_range('tall_bf', 0, 2), bf_index_check('tall_bf') BETWEEN 1310 AND 1312 AS checked;
SELECT * FROM tall_levels WHERE level = 2;
SELECT * FROM pages_read('SELECT * FROM tall WHERE id = 500');
SELECT * FROM pages_read('SELECT * FROM tall WHERE id = -1');
SELECT bf_summarize_range('tall_bf', 0, 4);
SELECT bf_desummarize_range('tall_bf', 0, -1);
SELECT bf_of('tall_bf', 0, 1, 9);
CREATE INDEX tall_two ON tall USING bf (id) WITH (pages_per_range = 1, levels = 2);
CREATE INDEX tall_long ON tall USING bf (id) WITH (pages_per_range = 1000);
SELECT bf_summarize_range('tall_two', 0, 2);
SELECT bf_summarize_range('tall_long', 0, 2);
SELECT bf_summarize_range('tall_long', 0, 1), bf_index_check('tall_long');
DROP INDEX tall_two, tall_long;
-- the filter of a range of level 1
SELECT bf_of('tall_bf', 130, 1, 1) @> 130, (bf_info(bf_of('tall_bf', 130, 1, 1))).false_positive_rate, bf_of('tall_bf', 0, 1, 3) IS NULL AS no_such_level;

-- ranges of level 1 that get too full are summarized anew
DO $$
BEGIN
	FOR i IN 1 .. 60 LOOP
		UPDATE tall SET id = -10000 * i - id % 10000 WHERE ctid < '(250,0)';
		COMMIT;
	END LOOP;
END
$$;
CREATE FUNCTION rate() RETURNS numeric LANGUAGE sql AS $$
	SELECT round(current_false_positive_rate::numeric, 2) FROM bf_index_stats('tall_bf') WHERE level = 1
$$;
SELECT rate() BETWEEN 0.12 AND 0.3 AS two_are_full;
SELECT bf_summarize_new_values('tall_bf') >= 0 AS done;
VACUUM tall;
SELECT rate() <= 0.01 AS as_asked;
VACUUM tall;
SELECT rate() <= 0.01 AS as_asked, bf_index_check('tall_bf') > 0 AS checked;
DROP FUNCTION rate;
DROP VIEW tall_levels;
DROP TABLE tall;

-- the number of pages of a range is chosen when the first group is made, by the number of items: eight lines of about 32
CREATE TABLE chosen (id integer, few integer, filler text) WITH (autovacuum_enabled = off);
CREATE INDEX chosen_id ON chosen USING bf (id);
CREATE INDEX chosen_few ON chosen USING bf (few);
CREATE INDEX chosen_given ON chosen USING bf (id) WITH (pages_per_range = 16);
CREATE VIEW lengths AS SELECT i, s.pages_per_range, s.ranges, s.groups
	FROM unnest('{chosen_id, chosen_few, chosen_given}'::regclass[]) i, bf_index_stats(i) s WHERE level = 0;
SELECT * FROM lengths;
INSERT INTO chosen SELECT i, i % 5, repeat('x', 80) FROM generate_series(1, 5000) i;
SELECT * FROM lengths;
VACUUM chosen;
SELECT * FROM lengths;
-- an index that is made anew chooses again
TRUNCATE chosen;
INSERT INTO chosen SELECT i, i % 5, repeat('x', 1000) FROM generate_series(1, 5000) i;
SELECT * FROM lengths;
REINDEX TABLE chosen;
SELECT * FROM lengths;
-- a table that would fit one group of ranges with 32 pages has one group
INSERT INTO chosen SELECT i, i % 5, repeat('x', 80) FROM generate_series(5001, 90000) i;
REINDEX TABLE chosen;
SELECT * FROM lengths;
DROP VIEW lengths;
DROP TABLE chosen;
-- and the index of a small partition few ranges
CREATE TABLE closed (id integer, filler text) PARTITION BY RANGE (id);
CREATE TABLE closed_1 PARTITION OF closed FOR VALUES FROM (0) TO (10000);
CREATE TABLE closed_2 PARTITION OF closed FOR VALUES FROM (10000) TO (100000);
INSERT INTO closed SELECT i, repeat('x', 80) FROM generate_series(0, 69999) i;
CREATE INDEX closed_id ON closed USING bf (id);
SELECT relid, pages_per_range, ranges, groups FROM pg_partition_tree('closed_id'), bf_index_stats(relid) WHERE isleaf;
DROP TABLE closed;

-- the rate is an option of the index, and of the operator class for one column
CREATE TABLE rated (a integer, b text, c integer);
INSERT INTO rated SELECT i, i, i FROM generate_series(1, 20000) i;
CREATE INDEX rated_bf ON rated USING bf (a, b text_ops (false_positive_rate = 0.05), c int4_ops (false_positive_rate = 0.00001)) WITH (false_positive_rate = 0.01);
SELECT "column", level, false_positive_rate, hashes, current_false_positive_rate BETWEEN false_positive_rate / 3 AND false_positive_rate * 1.3 AS as_asked
	FROM bf_index_stats('rated_bf') ORDER BY 2, 1;
SELECT (SELECT count(*) FROM rated WHERE a = 77), (SELECT count(*) FROM rated WHERE b = '77'), (SELECT count(*) FROM rated WHERE c = 77), bf_index_check('rated_bf');
\d rated_bf
SELECT pg_get_indexdef('rated_bf'::regclass);
CREATE INDEX ON rated USING bf (b text_ops (false_positive_rate = 2));
CREATE INDEX ON rated USING bf (b text_ops (rate = 0.1));
DROP TABLE rated;

-- many conditions and many items: what is carried from level to level, and what begins at level 0
CREATE TABLE tall (id integer, filler text) WITH (autovacuum_enabled = off, fillfactor = 10);
ALTER TABLE tall ALTER filler SET STORAGE PLAIN;
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i;
CREATE INDEX tall_bf ON tall USING bf (id) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT n, (SELECT count(*) FROM tall WHERE id = ANY (ARRAY(SELECT i * 1000 / n FROM generate_series(1, n) i))) AS found
	FROM unnest('{0, 1, 2, 63, 64, 65, 200, 999}'::int[]) n;
SELECT count(*) FROM tall WHERE id = ANY (ARRAY(SELECT generate_series(1, 1000, 7))) AND id = ANY (ARRAY(SELECT generate_series(1, 1000, 101)));
SELECT count(*) FROM tall WHERE id = ANY ('{1, 500, 1000}') AND id = ANY (ARRAY(SELECT generate_series(1, 1000, 101)));
SELECT count(*) FROM tall WHERE id IS NOT NULL AND id = 17;
SELECT count(*) FROM tall WHERE id IS NULL;
INSERT INTO tall VALUES (NULL);
SELECT count(*) FROM tall WHERE id IS NULL;
RESET enable_seqscan;
-- a new schema of the table is one of its indexes, too, which are not locked then; a server with assertions would stop
CREATE SCHEMA index_levels;
ALTER TABLE tall SET SCHEMA index_levels;
DROP TABLE index_levels.tall;
DROP SCHEMA index_levels;
DROP FUNCTION pages_read;
