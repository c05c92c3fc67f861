-- keys_range_length: the pages of a range are chosen from ranges all over the table, and by the keys that ranges of a length really
-- have: rows share keys, and the beginning of a table may be unlike the rest of it
CREATE TABLE alike (id int, tags int[]) WITH (fillfactor = 10);
-- a row on each page, with 200 tags: the same ones in the first pages, later half of them the same in a hundred rows
INSERT INTO alike SELECT i, ARRAY(SELECT CASE WHEN i <= 100 THEN j WHEN j <= 100 THEN i / 100 * 1000000 + j ELSE i * 1000 + j END FROM generate_series(1, 200) j) FROM generate_series(1, 4200) i;
CREATE INDEX alike_tags ON alike USING bf (tags);
SELECT pages_per_range FROM bf_index_stats('alike_tags') WHERE level = 0;
-- in a small table ranges are not longer
TRUNCATE alike;
INSERT INTO alike SELECT i, ARRAY(SELECT i * 1000 + j FROM generate_series(1, 200) j) FROM generate_series(1, 300) i;
REINDEX INDEX alike_tags;
SELECT pages_per_range, ranges FROM bf_index_stats('alike_tags');
DROP TABLE alike;
-- A table that is shorter than most of the lengths that are tried is not read for each of them.
CREATE TABLE short (j jsonb);
INSERT INTO short SELECT jsonb_object_agg('key' || i, i) FROM generate_series(1, 3000) i;
CREATE SEQUENCE calls;
CREATE FUNCTION counted(jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM nextval('public.calls'); RETURN $1; END $$;
CREATE INDEX short_bf ON short USING bf (counted(j));
SELECT last_value, (SELECT pages_per_range FROM bf_index_stats('short_bf') WHERE level = 0) FROM calls;
DROP TABLE short;
DROP FUNCTION counted;
DROP SEQUENCE calls;
-- One row with very many keys does not make room for as many as thousands of such rows would have, neither when the index is built
-- nor when a first range is summarized.
CREATE TABLE one (v tsvector);
CREATE INDEX one_empty ON one USING bf (v) WITH (pages_per_range = 16);
INSERT INTO one SELECT array_to_tsvector(ARRAY(SELECT 'w' || i FROM generate_series(1, 50000) i));
CREATE INDEX one_built ON one USING bf (v) WITH (pages_per_range = 16);
CALL bf_summarize('one');
SELECT index, pg_relation_size(index) < 20000000 AS small, (SELECT ranges FROM bf_index_stats(index) WHERE level = 0) FROM (VALUES ('one_built'::regclass), ('one_empty')) i (index);
-- It has room for all keys that are there.
SELECT current_false_positive_rate < 0.02 AS good FROM bf_index_stats('one_built') WHERE level = 0;
DROP TABLE one;
