-- tbf_contains: may the filter hold hits of an item that decay has not forgotten? No is certain

SET timezone = 'UTC';
CREATE TEMP TABLE number AS SELECT i, md5(i::text) AS word FROM generate_series(1, 20000) i;
CREATE TEMP TABLE filter AS SELECT tbf_agg(i, '2024-01-01') AS numbers, tbf_agg(word, '2024-01-01', NULL, 1, 20000, 0.01) AS words FROM number;
SELECT count(*) FILTER (WHERE numbers @> i AND words @> word) AS found FROM number, filter;
SELECT count(*) FILTER (WHERE i <@ numbers AND tbf_contains(numbers, i) AND tbf_contained(i, numbers) AND tbf_count(numbers, i, '2024-01-01') >= 1) AS found FROM number, filter WHERE i <= 1000;
SELECT count(*) FILTER (WHERE numbers @> i) <= 1.2 * 0.01 * count(*) AS numbers, count(*) FILTER (WHERE words @> md5(i::text)) <= 1.2 * 0.01 * count(*) AS words FROM generate_series(100001, 120000) i, filter;
-- an untyped literal is text; one item and many filters
SELECT words @> 'c4ca4238a0b923820dcc509a6f75849b', 'c4ca4238a0b923820dcc509a6f75849b' <@ words, words -> 'c4ca4238a0b923820dcc509a6f75849b', words @> 'absent' FROM filter;
SELECT 7 <@ ANY (ARRAY[tbf_add(tbf_empty(), 1), tbf_add(tbf_empty(), 7)]), 7 <@ ALL (ARRAY[tbf_add(tbf_empty(), 1), tbf_add(tbf_empty(), 7)]);
-- the rate that was asked, for other rates: overcounts among items that were hit once
SELECT p, n, count(*) FILTER (WHERE f -> i > 1) <= 1.2 * p * n + 8 AS rate_holds FROM unnest('{0.1,0.01,0.001}'::float8[]) p, unnest('{500,20000}'::int[]) n, LATERAL (SELECT tbf_agg(i, NULL, NULL, 1, n, p) AS f FROM generate_series(1, n) i) s, generate_series(1, n) i GROUP BY p, n ORDER BY p, n;
-- time does not matter to it, until tbf_decay() forgets
SELECT f @> 1 AS found, tbf_decay(f, '2024-01-05') @> 1 AS just, tbf_decay(f, '2024-01-06') @> 1 AS forgotten FROM tbf_add(tbf_empty(10, 0.01, '1 day'), 1, '2024-01-01') f;
