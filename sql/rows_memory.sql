-- rows_memory: functions that return rows leave no memory behind in the query, however often it calls them
CREATE TEMP TABLE filters (b bf, s sbf, a abf, t tbf, i regclass, n int);
CREATE INDEX of_filters ON filters USING bf (n);
INSERT INTO filters VALUES (bf_empty(100) || 1, sbf_add(sbf_empty(64), 1), abf_empty(64) || 1, tbf_add(tbf_empty(100, top => 5), 1, '2026-01-01'), 'of_filters', 1);
-- Each row calls the function. What the query's own memory grows by from the 1,000th row to the 4,000th: without a mistake nothing.
CREATE FUNCTION leaves_memory(call text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	growth bigint;
	called bigint;
BEGIN
	EXECUTE format('SELECT max(m) - min(m), count(*) FILTER (WHERE has_rows) FROM (SELECT EXISTS (SELECT FROM %s) AS has_rows, CASE WHEN call_number IN (1000, 4000) THEN
		(SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = ''ExecutorState'' AND call_number > 0) END AS m
		FROM filters, generate_series(1, 4000) AS g (call_number) OFFSET 0) each_row', call) INTO growth, called;
	IF called <> 4000 THEN RAISE EXCEPTION 'called % times', called; END IF;
	RETURN growth > 30000;
END
$$;
SELECT call, leaves_memory(call) FROM unnest(ARRAY['bf_histogram(b)', 'sbf_histogram(s)', 'abf_histogram(a)', 'tbf_histogram(t)', 'tbf_top(t)', 'bf_index_stats(i)', 'generate_series(1, 2)']) call;
-- Nor do the nodes PartitionScan and Skip, however often they are scanned again.
CREATE TEMP TABLE parts (k int, n int, m int, filling text) PARTITION BY RANGE (k);
CREATE TEMP TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TEMP TABLE part_2 (filling text, m int, n int, k int);
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT i / 4500 * 1000, i % 4001, i, repeat('x', 200) FROM generate_series(1, 8999) i;
CREATE INDEX ON parts USING bf (n) WITH (pages_per_range = 1);
CREATE INDEX ON parts (m);
ANALYZE parts;
SELECT trim(line) FROM plan_lines($$SELECT EXISTS (SELECT FROM (SELECT FROM parts WHERE n = call_number) q) FROM generate_series(1, 4000) call_number$$) line WHERE line ~ 'Custom Scan';
SELECT trim(line) FROM plan_lines($$SELECT EXISTS (SELECT FROM (SELECT FROM part_1 WHERE n = ANY (ARRAY(SELECT generate_series(call_number, call_number + 9)))) q) FROM generate_series(1, 4000) call_number$$) line WHERE line ~ 'Custom Scan';
SELECT call, leaves_memory(call) FROM unnest(ARRAY['(SELECT FROM parts WHERE n = call_number) q',
	'(SELECT FROM part_1 WHERE n = ANY (ARRAY(SELECT generate_series(call_number, call_number + 9)))) q']) call;
DROP TABLE parts;
DROP FUNCTION leaves_memory;
