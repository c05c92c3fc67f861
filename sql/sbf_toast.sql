-- sbf_toast: asking a stored filter of megabytes reads its header and the slices of the item's cells, not the whole

CREATE FUNCTION pg_temp.buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE sbf_toast (f sbf);
INSERT INTO sbf_toast SELECT sbf_add_all(sbf_empty(4000000), ARRAY(SELECT generate_series(1, 1000)));
SELECT length(f::bytea) > 4000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM sbf_toast;

-- all six cells of an item that is there; for one that is not, mostly the first
SELECT pg_temp.buffers('SELECT f @> 7 FROM sbf_toast') < 60 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM sbf_toast') < 20 AS few, pg_temp.buffers('SELECT FROM sbf_toast WHERE sbf_contains(f, 42)') < 60 AS few;
-- of a few items; of many the whole is read
SELECT pg_temp.buffers('SELECT sbf_contains_any(f, ARRAY[7777777, 8888888, 7]) FROM sbf_toast') < 80 AS few, pg_temp.buffers('SELECT sbf_contains_all(f, ARRAY[7, 8, 7777777]) FROM sbf_toast') < 80 AS few,
	pg_temp.buffers('SELECT sbf_contains_all(f, ARRAY(SELECT generate_series(1, 1000))) FROM sbf_toast') > 500 AS many;
SELECT sbf_contains_any(f, ARRAY[7777777, NULL, 7]) AS any, sbf_contains_any(f, ARRAY[7777777, 8888888]) AS neither, sbf_contains_all(f, ARRAY[7, NULL, 8]) AS all, sbf_contains_all(f, ARRAY[7, 8888888]) AS not_all,
	sbf_contains_any(f, '{}'::int[]) AS any_of_none, sbf_contains_all(f, '{}'::int[]) AS all_of_none FROM sbf_toast;
SELECT pg_temp.buffers('SELECT sbf_info(f) FROM sbf_toast') > 500 AS many;
-- the answers are those of the whole
SELECT count(*) AS rows, bool_and((s.f @> i) = (w.f @> i)) AS same, count(*) FILTER (WHERE s.f @> i) >= 990 AS some FROM sbf_toast s, (SELECT f | f AS f FROM sbf_toast OFFSET 0) w, generate_series(1, 2000) i;
SELECT error_of('SELECT f @> ''a'' FROM sbf_toast');
INSERT INTO sbf_toast SELECT sbf_empty(3000000);
SELECT pg_temp.buffers('SELECT a.f = b.f FROM sbf_toast a, sbf_toast b WHERE a.ctid < b.ctid') < 20 AS few;
SELECT f @> 1, f @> 'a' FROM sbf_toast WHERE pg_column_size(f) < 4000000;

DROP TABLE sbf_toast;

-- an ibf, too
CREATE TABLE ibf_toast AS SELECT ibf_agg(i, (i % 10) / 10.0, 0, 1, 3000000, 0.01) AS f FROM generate_series(1, 1000) i;
SELECT length(f::bytea) > 3000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM ibf_toast;
SELECT pg_temp.buffers('SELECT f @> 7 FROM ibf_toast') < 60 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM ibf_toast') < 20 AS few, pg_temp.buffers('SELECT ibf_contains_any(f, ARRAY[7777777, 7]) FROM ibf_toast') < 80 AS few;
SELECT count(*) AS rows, bool_and((s.f @> i) = (w.f @> i)) AS same, count(*) FILTER (WHERE s.f @> i) >= 900 AS some FROM ibf_toast s, (SELECT f | f AS f FROM ibf_toast OFFSET 0) w, generate_series(1, 2000) i;
DROP TABLE ibf_toast;
