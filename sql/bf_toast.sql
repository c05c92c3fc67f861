-- bf_toast: asking a stored filter of megabytes reads the header and one line of it, not the whole

CREATE FUNCTION pg_temp.buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE bf_toast (f bf);
INSERT INTO bf_toast SELECT bf_add_all(bf_empty(4000000), ARRAY(SELECT generate_series(1, 1000)));
SELECT length(f::bytea) > 4000000 AS large, pg_column_size(f) = length(f::bytea) AS uncompressed FROM bf_toast;

-- found and not found, either way round; one and many
SELECT pg_temp.buffers('SELECT f @> 7 FROM bf_toast') < 20 AS few, pg_temp.buffers('SELECT 7777777 <@ f FROM bf_toast') < 20 AS few, pg_temp.buffers('SELECT bf_contains(f, 1000) FROM bf_toast') < 20 AS few,
	pg_temp.buffers('SELECT FROM bf_toast WHERE f @> 42') < 20 AS few;
-- what looks at the whole filter reads it all
SELECT pg_temp.buffers('SELECT bf_cardinality(f) FROM bf_toast') > 500 AS many, pg_temp.buffers('SELECT f | f FROM bf_toast') > 500 AS many;
-- filters of different sizes are told apart without reading them
INSERT INTO bf_toast SELECT bf_empty(1000000) || 1;
SELECT pg_temp.buffers('SELECT a.f = b.f FROM bf_toast a, bf_toast b WHERE a.ctid < b.ctid') < 20 AS few;
SELECT a.f = b.f AS equal FROM bf_toast a, bf_toast b WHERE a.ctid < b.ctid;

DROP TABLE bf_toast;
