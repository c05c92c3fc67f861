-- agg_order: with ORDER BY or DISTINCT in the call of an aggregate, PostgreSQL sorts all of its arguments, once for
-- each row. So the argument with the parameters must be small: 10,000 rows are sorted in 4 MB, without temporary
-- files.
SET client_min_messages = error; -- some of the filters are too full; from PostgreSQL 18 on, others
SET work_mem = '4MB';
SET max_parallel_workers_per_gather = 0;
CREATE TABLE visits AS SELECT i AS n, i * 7 % 3000 AS item, i % 100 AS bytes, timestamptz '2026-01-01' + i * interval '1 min' AS at FROM generate_series(1, 10000) i;
ANALYZE visits;
CREATE FUNCTION temporary_blocks(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Temp Written Blocks')::bigint + (plan->0->'Plan'->>'Temp Read Blocks')::bigint;
END
$$;
SELECT temporary_blocks, count(*) AS calls, min(call) AS one FROM (VALUES
	('bf_agg(DISTINCT item)'), ('bf_agg(DISTINCT item, 100000, 0.01)'),
	('sbf_agg(item ORDER BY at)'), ('sbf_agg(item, 65536 ORDER BY at)'), ('sbf_agg(item, 65536, 0.001 ORDER BY at)'),
	('sbf_agg_like(item, sbf_parameters(65536, cell_bits => 2) ORDER BY at)'), ('sbf_agg_like(DISTINCT item, sbf_parameters(65536, cell_bits => 2))'),
	('ibf_agg(item, bytes ORDER BY at)'), ('ibf_agg(item, bytes, 0, 100 ORDER BY at)'), ('ibf_agg(item, bytes, 0, 100, 65536, 0.01 ORDER BY at)'),
	('ibf_agg_like(item, bytes, ibf_parameters(65536, 0.01, ''two_class'', threshold => 1e5) ORDER BY at)'),
	('ibf_agg_like(DISTINCT item, bytes, ibf_parameters(high => 100))'),
	('tbf_agg(item, at, ''7 days'', 1 ORDER BY at)'), ('tbf_agg(DISTINCT item, at, ''1 day'', 1, 100000, 0.01, ''1 hour'', ''infinity'')'),
	('tbf_agg_like(item, at, tbf_empty(100000, 0.01, ''7 days'', top => 100) ORDER BY at)'),
	('tbf_agg_in_order(item, at, tbf_empty(100000, minimum_increase => true) ORDER BY at)'),
	('tbf_agg_in_order(item, NULL, tbf_empty(100000, half_life => NULL, recurring_minimum => true) ORDER BY at)'),
	('tbf_layout(tbf_agg_in_order(item, at, tbf_empty(100000, minimum_increase => true) ORDER BY at), ''flat'')')) c(call), temporary_blocks('SELECT ' || call || ' FROM visits') GROUP BY 1;
-- the test would notice temporary files
SELECT temporary_blocks('SELECT string_agg(x, '''' ORDER BY at) FROM (SELECT at, repeat(''x'', 1000) AS x FROM visits OFFSET 0) wide') > 0 AS seen;
-- tbf_layout() makes a flat filter, because an empty flat filter as argument is large; the result is the same
SELECT tbf_layout(tbf_agg_in_order(item, at, tbf_empty(1000, minimum_increase => true) ORDER BY at), 'flat') =
	tbf_agg_in_order(item, at, tbf_empty(1000, layout => 'flat', minimum_increase => true) ORDER BY at) AS same FROM visits;

DROP TABLE visits;
DROP FUNCTION temporary_blocks;
