-- bf_agg_order: the same bytes whatever the order of the rows

SET client_min_messages = error; -- unions of filters that sized themselves are too full; sql/bf_exact.sql has the warning
CREATE FUNCTION pg_temp.different(items text, parameters text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	different bigint;
BEGIN
	EXECUTE format($f$
		SELECT count(DISTINCT coalesce(md5(f::bytea), 'none')) FROM (
			SELECT (SELECT bf_agg(v %2$s ORDER BY o) FROM (SELECT v, CASE r WHEN 1 THEN i WHEN 2 THEN -i ELSE random() END AS o FROM (%1$s) s (i, v)) t) AS f
			FROM generate_series(1, 8) r) u $f$, items, parameters) INTO different;
	RETURN different;
END
$$;
SELECT setseed(0.5);
SELECT pg_temp.different('SELECT i, i FROM generate_series(1, 10) i', ''),
	pg_temp.different('SELECT i, i FROM generate_series(1, 10000) i', ''),
	pg_temp.different('SELECT i, i % 700 FROM generate_series(1, 10000) i', ''),
	pg_temp.different('SELECT i, nullif(i % 700, 5) FROM generate_series(1, 10000) i', ', 700'),
	pg_temp.different('SELECT i, i FROM generate_series(1, 10000) i', ', 10'),
	pg_temp.different('SELECT i, i FROM generate_series(1, 10000) i', ', NULL, 0.0001'),
	pg_temp.different('SELECT i, i::text FROM generate_series(1, 10000) i', ', 20000, 0.2'),
	pg_temp.different('SELECT i, i::numeric / 3 FROM generate_series(1, 10000) i', '');

-- filters too: any order, any grouping
CREATE TEMP TABLE part AS SELECT i % 16 AS p, bf_agg(i) AS f FROM generate_series(1, 3000) i GROUP BY 1;
INSERT INTO part SELECT 16, bf_agg(i) FROM generate_series(1, 50) i;
INSERT INTO part SELECT 17, bf_agg(i) FROM generate_series(5000, 9000) i;
INSERT INTO part SELECT 18, bf_agg(i) FROM generate_series(1, 0) i;
SELECT count(DISTINCT coalesce(md5(u::bytea), 'none')) AS unions, count(DISTINCT coalesce(md5(n::bytea), 'none')) AS intersections
FROM (SELECT (SELECT bf_union_agg(f ORDER BY o) FROM (SELECT f, random() AS o FROM part WHERE r > 0) s) AS u,
		(SELECT bf_intersection_agg(f ORDER BY o) FROM (SELECT f, random() AS o FROM part WHERE r > 0) s) AS n
	FROM generate_series(1, 10) r) t;
SELECT (SELECT bf_union_agg(f) FROM part) = (SELECT bf_union_agg(u) FROM (SELECT bf_union_agg(f) AS u FROM part GROUP BY p % 4) s) AS unions,
	(SELECT bf_intersection_agg(f) FROM part) = (SELECT bf_intersection_agg(u) FROM (SELECT bf_intersection_agg(f) AS u FROM part GROUP BY p % 4) s) AS intersections;
