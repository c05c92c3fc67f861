-- tbf_merge: the hits of both filters

SET timezone = 'UTC';
-- filters of several sizes with bases up to 32 half-lives apart
SELECT setseed(0.5);
CREATE TEMP TABLE hit AS SELECT p, n, floor(random() * n)::int AS item, '2024-01-01'::timestamptz - (p * 10 + i % 3) * interval '1 day' AS at, CASE WHEN i % 3 = 0 THEN random() * 20 ELSE 1 END AS weight FROM generate_series(0, 2) p, unnest('{4,30,400}'::int[]) n, generate_series(1, 3 * n) i;
CREATE TEMP TABLE filter AS SELECT p, n, tbf_agg(item, at, interval '1 day', weight) AS f, tbf_agg(item, at, NULL::interval) AS undecayed FROM hit GROUP BY p, n;
INSERT INTO filter SELECT 9, 0, tbf_empty(NULL, 0.01, '1 day'), tbf_empty(NULL, 0.01, NULL);
SELECT n, layout, cardinality FROM filter, tbf_info(f) WHERE p IN (0, 9) ORDER BY n;

-- commutative, associative to the byte
SELECT count(*) AS pairs, bool_and((a.f + b.f) = (b.f + a.f)) AS commutes, bool_and((a.undecayed + b.undecayed) = (b.undecayed + a.undecayed)) AS commutes, bool_and(tbf_merge(a.f, b.f) = (a.f + b.f)) AS named FROM filter a, filter b;
SELECT count(*) AS triples, bool_and((a.f + (b.f + c.f)) = ((a.f + b.f) + c.f)) AS associates, bool_and((a.undecayed + (b.undecayed + c.undecayed)) = ((a.undecayed + b.undecayed) + c.undecayed)) AS associates FROM filter a, filter b, filter c;
-- the same with counters, of three sizes
CREATE TEMP TABLE told AS SELECT p, n, tbf_agg(item, at, interval '1 day', weight, n, 0.01) AS f, tbf_agg(item, at, NULL, 1, n, 0.01) AS undecayed FROM hit GROUP BY p, n;
SELECT count(*) AS triples, bool_and((a.f + (b.f + c.f)) = ((a.f + b.f) + c.f)) AS associates, bool_and((a.undecayed + (b.undecayed + c.undecayed)) = ((a.undecayed + b.undecayed) + c.undecayed)) AS associates FROM told a, told b, told c;

-- nothing added changes nothing
SELECT f + e = f AS neutral, e + f = f AS neutral FROM unnest('{1 day,NULL}'::interval[]) half_life, tbf_empty(100, 0.01, half_life) e, tbf_add_all(e, '{1,2,3}'::int[], '2024-01-01', 0.3) f;
SELECT tbf_empty(10) + tbf_empty(10) = tbf_empty(10) AS nothing;

-- no count falls below the exact sum, nor below the sum of both counts
SELECT bool_and(tbf_count(a.f + b.f, item, '2024-01-01') BETWEEN exact * (1 - 1e-14) AND 1e300) AS never_below, bool_and((a.undecayed + b.undecayed) -> item BETWEEN hits AND 1e300) AS never_below,
	bool_and(tbf_count(a.f + b.f, item, '2024-01-01') >= tbf_count(a.f, item, '2024-01-01') + tbf_count(b.f, item, '2024-01-01')) AS never_below_both
FROM filter a, filter b, LATERAL (SELECT item, sum(weight * power(2::float8, -extract(epoch FROM '2024-01-01' - at) / 86400)) AS exact, count(*) AS hits FROM hit WHERE (p, n) IN ((a.p, a.n), (b.p, b.n)) GROUP BY item) s
WHERE (a.p, a.n) < (b.p, b.n);
-- it rises by no more than two roundings where items do not collide
SELECT bool_and(tbf_count(a + b, item, '2024-01-01') BETWEEN exact * (1 - 1e-14) AND exact * 1.001 + 2 * 0.0625) AS hardly_above
FROM (SELECT tbf_agg(item, at, interval '1 day', weight, 5000, 0.0001) FILTER (WHERE p = 0) AS a, tbf_agg(item, at, interval '1 day', weight, 5000, 0.0001) FILTER (WHERE p <> 0) AS b FROM hit) f,
	(SELECT item, sum(weight * power(2::float8, -extract(epoch FROM '2024-01-01' - at) / 86400)) AS exact FROM hit GROUP BY item) s;
-- twice the same filter: twice the counts
SELECT bool_and(tbf_count(f + f, item, '2024-01-01') = 2 * tbf_count(f, item, '2024-01-01')) AS twice FROM filter JOIN hit USING (p, n);

-- where nothing is rounded, parts merge to the whole, byte for byte
SELECT tbf_merge_agg(f) = (SELECT tbf_agg(item, at, NULL, 1, 1000, 0.01) FROM hit) AS same FROM (SELECT tbf_agg(item, at, NULL, 1, 1000, 0.01) AS f FROM hit GROUP BY p, n) s;
SELECT tbf_agg(item, at, NULL, 1, 1000, 0.01) FILTER (WHERE p = 0) + tbf_agg(item, at, NULL, 1, 1000, 0.01) FILTER (WHERE p <> 0) = tbf_agg(item, at, NULL, 1, 1000, 0.01) AS same FROM hit;
-- the aggregate is the operator
SELECT tbf_merge_agg(f) = (SELECT a.f + b.f + c.f FROM filter a, filter b, filter c WHERE (a.n, b.n, c.n) = (4, 30, 400) AND (a.p, b.p, c.p) = (0, 0, 0)) AS same FROM filter WHERE p = 0 AND n IN (4, 30, 400);
SELECT tbf_merge_agg(f) = tbf_merge_agg(f) FILTER (WHERE f IS NOT NULL) AS nulls_are_skipped FROM (SELECT f FROM filter UNION ALL SELECT NULL) s;

-- bases far apart: the newer one sets the scale, what is too old becomes slack; no count is too small
SELECT weight, bool_and(tbf_count(f, 'a', at) >= weight * power(2::float8, -n)) AS never_below, bool_and(tbf_count(f, 'b', at) >= 100) AS never_below, bool_and(tbf_count(f, 'b', at) <= 100 * 1.001 + 0.125) AS hardly_above
FROM unnest('{1,100,1e6,8e9}'::float8[]) weight, generate_series(0, 15) start, generate_series(0, 70) n, LATERAL (SELECT '2000-01-01'::timestamptz + start * interval '1 day' AS begin_at, tbf_empty(10, 0.01, '1 day') AS e) s,
	LATERAL (SELECT begin_at + n * interval '1 day' AS at) t, LATERAL (SELECT tbf_add(e, 'a', begin_at, weight) + tbf_add(e, 'b', at, 100) AS f) u GROUP BY weight ORDER BY weight;
SELECT bool_and((a + b) = (b + a)) AS commutes FROM generate_series(0, 70) n, LATERAL (SELECT tbf_empty(10, 0.01, '1 day') AS e) s,
	LATERAL (SELECT tbf_add(e, 'a', '2023-01-01', 100) AS a, tbf_add(e, 'b', '2023-01-01'::timestamptz + n * interval '1 day', 100) AS b) t;
-- whether a filter is too old for the result depends on its newest hits, which may lie far above its base
SELECT tbf_count(a + b + c, 'b', '2000-03-05') >= 67108864 * power(2::float8, -32) AS never_below
FROM tbf_empty(10, 0.01, '1 day') e, tbf_add(e, 'a', '2000-01-01') a, tbf_add(e, 'b', '2000-02-02', 67108864) b, tbf_add(e, 'c', '2000-03-05') c;

-- what cannot be merged says which parameter differs
SELECT tbf_empty(10, 0.01, '1 day') + tbf_empty(10, 0.01, '2 days');
SELECT tbf_empty(10, 0.01, '1 day') + tbf_empty(10, 0.01, NULL);
SELECT tbf_empty(10, 0.01, '1 day') + tbf_empty(10, 0.01, '1 day', '1 day');
SELECT tbf_empty(10, 0.01) + tbf_empty(10, 0.0001);
SELECT tbf_empty(10000) + tbf_empty(17000);
SELECT tbf_merge_agg(f) FROM (VALUES (tbf_empty(10000)), (tbf_empty(17000))) v (f);
SELECT sqlstate_of('SELECT tbf_empty(10, 0.01, ''1 day'') + tbf_empty(10, 0.01, ''2 days'')'), sqlstate_of('SELECT tbf_empty(10000) + tbf_empty(17000)');
-- a total that would overflow: 2^51 hits and more
SELECT error_of(format('SELECT %1$L::tbf + %1$L::tbf + %1$L::tbf', f)) LIKE '22003: %' AS refused FROM (SELECT tbf_merge_agg(f) AS f FROM (SELECT tbf_agg(1, NULL, NULL, 8e9, 1, 0.01) AS f FROM generate_series(1, 130000)) s) t;
