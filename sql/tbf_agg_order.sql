-- tbf_agg_order: the same bytes whatever the order of the rows

SET timezone = 'UTC';
SELECT setseed(0.5);
-- hits over a few and over hundreds of half-lives (then old ones are dropped on the way), few items and many, whole hits and fractions
CREATE TEMP TABLE hit AS
	SELECT i, i % 700 AS few, i AS many, '2024-01-01'::timestamptz - random() * interval '3 days' AS recent, '2024-01-01'::timestamptz - power(random(), 2) * interval '300 days' AS old, random() * 10 AS weight FROM generate_series(1, 6000) i;
CREATE FUNCTION pg_temp.different(arguments text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	different bigint;
BEGIN
	EXECUTE format($f$
		SELECT count(DISTINCT coalesce(md5(f::bytea), 'none')) FROM (
			SELECT (SELECT tbf_agg(%1$s ORDER BY o) FROM (SELECT *, CASE r WHEN 1 THEN extract(epoch FROM old)::float8 WHEN 2 THEN -extract(epoch FROM old)::float8 WHEN 3 THEN i ELSE random() END AS o FROM hit) t) AS f
			FROM generate_series(1, 8) r) u $f$, arguments) INTO different;
	RETURN different;
END
$$;
SELECT different, count(*) AS calls, min(arguments) AS one
FROM unnest(ARRAY['few, recent', 'few, old', 'many, old', 'few, old, interval ''1 day''', 'many, old, ''1 day''', 'few, old, ''7 days'', weight', 'many, old, ''1 day'', weight', 'few, old, NULL', 'many, old, NULL, weight',
	'few, old, ''1 day'', weight, 1000, 0.01', 'many, old, ''1 day'', 1, 100, 0.1', 'few, old, NULL, weight, 100, NULL', 'few, old, ''1 hour'', weight, NULL, 0.001, ''7 minutes'', NULL',
	'many, old, ''1 hour'', weight, 50, 0.1, ''1 day'', ''2030-01-01''', 'many::text, old, ''11 minutes''']) arguments, pg_temp.different(arguments) GROUP BY 1;

-- filters too: any order, any grouping, of bases at most 32 half-lives apart
CREATE TEMP TABLE part AS SELECT i % 16 AS p, tbf_agg(few, '2024-01-01'::timestamptz - (i % 32) * interval '1 day', interval '1 day', weight) AS f FROM hit GROUP BY 1;
INSERT INTO part SELECT 16, tbf_agg(few, '2024-01-01'::timestamptz - (i % 32) * interval '1 day', interval '1 day') FROM hit WHERE i <= 50;
INSERT INTO part SELECT 17, tbf_agg(many, '2024-01-01'::timestamptz - (i % 32) * interval '1 day', interval '1 day') FROM hit;
SELECT count(DISTINCT coalesce(md5(f::bytea), 'none')) AS different FROM (SELECT (SELECT tbf_merge_agg(f ORDER BY o) FROM (SELECT f, random() AS o FROM part WHERE r > 0) s) AS f FROM generate_series(1, 10) r) t;
SELECT (SELECT tbf_merge_agg(f) FROM part) = (SELECT tbf_merge_agg(u) FROM (SELECT tbf_merge_agg(f) AS u FROM part GROUP BY p % 4) s) AS grouped;
