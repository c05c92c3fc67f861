-- abf_toast: asking a stored filter of megabytes reads its header and the item's block, not the whole

CREATE FUNCTION pg_temp.buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE abf_toast AS SELECT abf_add_all(abf_empty(1500000), ARRAY(SELECT generate_series(1, 1000))) AS f;
INSERT INTO abf_toast SELECT abf_add_all(abf_empty(1500000, within => '1 hour'), ARRAY(SELECT generate_series(1, 1000)), '2026-01-01 00:00+00');
SELECT length(f::bytea) > 3000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM abf_toast;

SELECT pg_temp.buffers('SELECT f @> 7 FROM abf_toast') < 60 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM abf_toast') < 60 AS few, pg_temp.buffers('SELECT abf_contains(f, 42, ''2026-01-01 00:30+00'') FROM abf_toast WHERE (abf_info(f)).within IS NOT NULL') > 500 AS info_reads_all;
SELECT pg_temp.buffers('SELECT abf_contains(f, 42, ''2026-01-01 00:30+00'') FROM abf_toast WHERE ctid = ''(0,2)''') < 40 AS few, pg_temp.buffers('SELECT abf_contains_any(f, ARRAY[7777777, 8888888, 7]) FROM abf_toast') < 120 AS few,
	pg_temp.buffers('SELECT abf_contains_all(f, ARRAY(SELECT generate_series(1, 1000))) FROM abf_toast') > 500 AS many;
-- an error comes before anything more is read; two filters of other parameters are compared by their sizes
SELECT error_of('SELECT f @> ''a'' FROM abf_toast');
INSERT INTO abf_toast SELECT abf_empty(3000000);
SELECT pg_temp.buffers('SELECT a.f = b.f FROM abf_toast a, abf_toast b WHERE a.ctid < b.ctid AND pg_column_size(a.f) <> pg_column_size(b.f)') < 30 AS few;
-- the answers are those of the whole
SELECT count(*) AS rows, bool_and((s.f @> i) = (w.f @> i)) AS same, count(*) FILTER (WHERE s.f @> i) >= 2000 AS some
FROM (SELECT f, ctid AS c FROM abf_toast) s, (SELECT f::bytea::abf AS f, ctid AS c FROM abf_toast OFFSET 0) w, generate_series(1, 2000) i WHERE s.c = w.c;

DROP TABLE abf_toast;
