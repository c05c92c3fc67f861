-- keys_range_length: the pages of a range are chosen from ranges all over the table, and by the keys that ranges of a length really
-- have: rows share keys, and the beginning of a table may be unlike the rest of it
CREATE TABLE alike (id int, tags int[]) WITH (fillfactor = 10);
-- a row on each page, with 200 tags: the same ones in the first pages, later half of them the same in a hundred rows
INSERT INTO alike SELECT i, ARRAY(SELECT CASE WHEN i <= 100 THEN j WHEN j <= 100 THEN i / 100 * 1000000 + j ELSE i * 1000 + j END FROM generate_series(1, 200) j) FROM generate_series(1, 4200) i;
CREATE INDEX alike_tags ON alike USING bf (tags);
SELECT pages_per_range FROM bf_index_stats('alike_tags') WHERE level = 0;
-- a smaller table gets one group all the same
DELETE FROM alike WHERE id > 300;
VACUUM alike;
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
