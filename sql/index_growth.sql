-- index_growth: what an index costs while its table grows: WAL of new groups, sizes of their filters, ranges summarized anew
SET enable_seqscan = off;

-- a group is made for ranges to come: its pages are logged without the lines that nothing has been written to
CREATE TABLE young (id integer, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE young ALTER filler SET STORAGE PLAIN;
CREATE FUNCTION wal_bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'WAL Bytes';
END
$$;
CREATE INDEX young_1 ON young USING bf (id) WITH (pages_per_range = 64);
CREATE INDEX young_2 ON young USING bf (id) WITH (pages_per_range = 64);
CREATE INDEX young_3 ON young USING bf (id) WITH (pages_per_range = 64);
INSERT INTO young SELECT i, repeat('x', 10) FROM generate_series(1, 10000) i;
-- one of eight ranges has rows; of three indexes the one that no checkpoint came between
SELECT min(wal_bytes(format('SELECT bf_summarize_new_values(%L)', i)) / (pg_relation_size(i) / 8192.0)) < 3000 AS little_wal
	FROM unnest('{young_1, young_2, young_3}'::regclass[]) i;
SELECT ranges, summarized, index_pages > 20 AS many_pages FROM bf_index_stats('young_1');
SELECT count(*) FROM young WHERE id = 4711;
INSERT INTO young SELECT i, repeat('x', 10) FROM generate_series(10001, 30000) i;
SELECT count(*) FROM young WHERE id = 14711;
SELECT bf_summarize_new_values('young_1'), bf_index_check('young_1');
SELECT count(*) FROM young WHERE id = 14711;
DROP TABLE young;

-- the filters of a group that takes the place of another one on level 1 have the size that its ranges need, although each page has few lines of a range
CREATE TABLE tall (id integer, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE tall ALTER filler SET STORAGE PLAIN;
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(1, 7 * 125 * 63) i;
CREATE INDEX tall_bf ON tall USING bf (id) WITH (pages_per_range = 1);
SELECT ranges, groups FROM bf_index_stats('tall_bf') WHERE level = 1;
SELECT index_pages AS pages_before FROM bf_index_stats('tall_bf') WHERE level = 1 \gset
INSERT INTO tall SELECT i, repeat('x', 1000) FROM generate_series(7 * 125 * 63 + 1, 7 * 125 * 125) i;
SELECT bf_summarize_new_values('tall_bf');
SELECT ranges, groups, index_pages - :pages_before <= :pages_before * 1.15 AS no_larger FROM bf_index_stats('tall_bf') WHERE level = 1;
DROP TABLE tall;

-- a range of level 1 that has far more items than the others is full: no run summarizes it anew
CREATE FUNCTION pages_touched(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END
$$;
CREATE TABLE tall (id integer, filler text) WITH (autovacuum_enabled = off, fillfactor = 50);
ALTER TABLE tall ALTER filler SET STORAGE PLAIN;
INSERT INTO tall SELECT CASE WHEN i BETWEEN 90 * 125 AND 2 * 85 * 125 THEN i ELSE i % 200 END, repeat('x', 10) FROM generate_series(1, 90 * 125 * 4) i;
CREATE INDEX tall_bf ON tall USING bf (id) WITH (pages_per_range = 1);
CREATE VIEW tall_rate AS SELECT ranges, summarized, full_ranges, current_false_positive_rate > 4 * false_positive_rate AS too_full, round(current_false_positive_rate::numeric, 1) AS about
	FROM bf_index_stats('tall_bf') WHERE level = 1;
SELECT * FROM tall_rate;
SELECT pages_touched('SELECT bf_summarize_new_values(''tall_bf'')') >= 125 AS anew;
-- but another one that becomes too full is
UPDATE tall SET id = 1000000 + (ctid::text::point)[0]::integer * 100 + (ctid::text::point)[1]::integer WHERE ctid < '(50,0)';
UPDATE tall SET id = id % 200 WHERE id > 1000000;
VACUUM (INDEX_CLEANUP off) tall;
SELECT * FROM tall_rate;
SELECT pages_touched('SELECT bf_summarize_new_values(''tall_bf'')') >= 125 AS anew;
SELECT * FROM tall_rate;
SELECT pages_touched('SELECT bf_summarize_new_values(''tall_bf'')') >= 125 AS anew;
SELECT bf_index_check('tall_bf') > 0 AS checked;
DROP VIEW tall_rate;
DROP TABLE tall;
DROP FUNCTION wal_bytes, pages_touched;
