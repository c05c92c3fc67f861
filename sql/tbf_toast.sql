-- tbf_toast: asking a stored filter of megabytes reads the header and one block of it, not the whole

SET timezone = 'UTC';
CREATE FUNCTION pg_temp.buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE tbf_toast (f tbf);
CREATE TABLE tbf_toast_flat (f tbf);
INSERT INTO tbf_toast SELECT tbf_agg_like(i, '2024-01-01'::timestamptz - i * interval '1 second', tbf_empty(1000000), 1 + i % 100) FROM generate_series(1, 1000000) i;
INSERT INTO tbf_toast_flat SELECT tbf_layout(f, 'flat') FROM tbf_toast;
SELECT length(f::bytea) > 5000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM tbf_toast;
SELECT pg_temp.buffers('SELECT f @> 7 FROM tbf_toast') < 20 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM tbf_toast') < 20 AS few, pg_temp.buffers('SELECT f -> 7 FROM tbf_toast') < 20 AS few,
	pg_temp.buffers('SELECT tbf_count(f, 7, ''2024-01-02'') FROM tbf_toast') < 20 AS few, pg_temp.buffers('SELECT FROM tbf_toast WHERE tbf_rate(f, 42) > 1') < 20 AS few;
-- the flat layout too
SELECT pg_temp.buffers('SELECT f @> 7 FROM tbf_toast_flat') < 20 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM tbf_toast_flat') < 20 AS few, pg_temp.buffers('SELECT f -> 7 FROM tbf_toast_flat') < 20 AS few,
	pg_temp.buffers('SELECT tbf_count(f, 7, ''2024-01-02'') FROM tbf_toast_flat') < 20 AS few, pg_temp.buffers('SELECT FROM tbf_toast_flat WHERE tbf_rate(f, 42) > 1') < 20 AS few;
SELECT pg_temp.buffers('SELECT tbf_info(f) FROM tbf_toast') > 500 AS many, pg_temp.buffers('SELECT f + f FROM tbf_toast') > 500 AS many;
SELECT bool_and(tbf_count(a.f, i, '2024-01-01') = tbf_count(b.f, i, '2024-01-01')) AS same FROM tbf_toast a, tbf_toast_flat b, generate_series(1, 5000) i;
SELECT tbf_count(f, 7, '2024-01-01') BETWEEN 1 - 0.01 AND 1e300 AS found, f @> 7777777 AS other FROM tbf_toast;
DROP TABLE tbf_toast, tbf_toast_flat;

-- a few hot items: the list, and the block of each; for all of the list the whole filter is read
CREATE TABLE tbf_toast_top (layout text, f tbf);
INSERT INTO tbf_toast_top SELECT 'extensible', tbf_agg_like('item ' || i % 200000, NULL, tbf_empty(1000000, half_life => NULL, top => 50), 1 + 100000 * (i % 30000 = 0)::int) FROM generate_series(1, 300000) i;
INSERT INTO tbf_toast_top SELECT 'flat', tbf_layout(f, 'flat') FROM tbf_toast_top;
SELECT layout, length(f::bytea) > 1000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM tbf_toast_top;
SELECT layout, pg_temp.buffers(format('SELECT tbf_top(f, 5) FROM tbf_toast_top WHERE layout = %L', layout)) < 70 AS few, pg_temp.buffers(format('SELECT tbf_top(f, 0) FROM tbf_toast_top WHERE layout = %L', layout)) < 20 AS fewer,
	pg_temp.buffers(format('SELECT tbf_top(f, 1000) FROM tbf_toast_top WHERE layout = %L', layout)) > 100 AS many FROM tbf_toast_top;
SELECT layout, t.* FROM tbf_toast_top, tbf_top(f, 5) t;
-- the answers are those of the filter in memory
SELECT layout, k, count(s.item) AS stored, count(m.item) AS in_memory, bool_and(s = m) AS same
FROM tbf_toast_top, unnest('{0,1,5,50}'::int[]) k, LATERAL (SELECT * FROM tbf_top(f, k) WITH ORDINALITY) s FULL JOIN LATERAL (SELECT * FROM tbf_top(f::bytea::tbf, k) WITH ORDINALITY) m ON s.ordinality = m.ordinality
GROUP BY layout, k ORDER BY layout, k;
SELECT error_of('SELECT tbf_top(f, -1) FROM tbf_toast_top');
DROP TABLE tbf_toast_top;
