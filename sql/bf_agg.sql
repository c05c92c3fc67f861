-- bf_agg: filters as an aggregate

-- no rows, or only nulls: NULL
SELECT bf_agg(i), bf_agg(i, 10), bf_agg(i, 10, 0.1) FROM generate_series(1, 0) i;
SELECT bf_agg(NULL::int), bf_agg(NULL::int, 10), bf_agg(NULL::int, NULL, NULL), bf_agg(NULL) FROM generate_series(1, 5);
SELECT bf_union_agg(f), bf_intersection_agg(f) FROM (VALUES (NULL::bf), (NULL)) v (f);

-- nulls leave no trace, whenever they come
SELECT bf_agg(v, 10) = bf_agg(v, 10) FILTER (WHERE v IS NOT NULL), bf_agg(v) = bf_agg(v) FILTER (WHERE v > 0)
FROM (VALUES (NULL), (1), (NULL), (2), (NULL)) s (v);

-- an aggregate is as good as adding one by one
SELECT bf_agg(i, 100) = bf_add_all(bf_empty(100), array_agg(i)), bf_agg(i::text, 100, 0.001) = bf_add_all(bf_empty(100, 0.001), array_agg(i::text))
FROM generate_series(1, 100) i;

-- repeats change nothing, DISTINCT and ORDER BY neither
SELECT bf_agg(i) = bf_agg(DISTINCT i), bf_agg(i ORDER BY i DESC) = bf_agg(i), bf_agg(i % 10) = bf_agg(DISTINCT i % 10), bf_agg(i % 10, 10) = bf_agg(DISTINCT i % 10, 10)
FROM generate_series(1, 10000) i;

-- FILTER, GROUP BY, GROUPING SETS, HAVING, more than one in a query
SELECT bf_agg(i) FILTER (WHERE i <= 500) = (SELECT bf_agg(i) FROM generate_series(1, 500) i), bf_agg(i) FILTER (WHERE i > 1000) FROM generate_series(1, 1000) i;
CREATE TEMP TABLE grouped AS SELECT i % 7 AS g, bf_agg(i) AS f, bf_agg(i::text) AS t FROM generate_series(1, 7000) i GROUP BY 1;
SELECT count(*) AS groups, count(DISTINCT md5(f::bytea)) AS different FROM grouped;
SELECT count(*) FILTER (WHERE f @> i AND t @> i::text) AS found, count(*) AS all FROM generate_series(1, 7000) i JOIN grouped ON g = i % 7;
SELECT g, f = (SELECT f FROM grouped s WHERE s.g = r.g) AS same_group, f = (SELECT bf_agg(i) FROM generate_series(1, 7000) i) AS whole
FROM (SELECT i % 7 AS g, bf_agg(i) AS f FROM generate_series(1, 7000) i GROUP BY GROUPING SETS ((i % 7), ())) r ORDER BY g;
SET enable_hashagg = off;
SELECT count(*) FILTER (WHERE n.f = grouped.f) FROM (SELECT i % 7 AS g, bf_agg(i) AS f FROM generate_series(1, 7000) i GROUP BY 1) n JOIN grouped USING (g);
RESET enable_hashagg;
SELECT count(*) FROM (SELECT i % 100 FROM generate_series(1, 1000) i GROUP BY 1 HAVING bf_agg(i) @> 42) s;

-- many small groups
SELECT count(*) FILTER (WHERE bf_agg @> g) AS found, count(*) AS all FROM (SELECT g, bf_agg(g) FROM generate_series(1, 20000) g GROUP BY g) s;

-- with an expected number of items: the size follows from it alone; with more items the rate is higher, but no item
-- is missed
CREATE TEMP TABLE told AS SELECT bf_agg(i, 10) AS few, bf_agg(i, 1000000) AS many FROM generate_series(1, 1000) i;
SELECT (bf_info(few)).bits = (bf_info(bf_empty(10))).bits, (bf_info(many)).bits = (bf_info(bf_empty(1000000))).bits, (bf_info(few)).expected_items, (bf_info(many)).expected_items FROM told;
SELECT count(*) FILTER (WHERE few @> i AND many @> i) FROM told, generate_series(1, 1000) i;

-- without it: exact up to 65,536 items, then lines of 512 bits, whose number is a power of two; and no expected
-- number
SELECT n, bits / 512 AS lines, expected_items, current_false_positive_rate < 0.0125 AS good, bits < 2.2 * bloom_optimal_bits(n, 0.01) + 512 AS small
FROM unnest('{1,500,65536,65537,100000}'::int[]) n, LATERAL (SELECT bf_agg(i) AS f FROM generate_series(1, n) i) s, bf_info(f)
ORDER BY n;
SELECT (bf_info(bf_agg(1, NULL, 0.001))).false_positive_rate;

-- integers of every size, and types that are stored as integers, are added in batches: below and above zero, none is
-- lost
SELECT bf_agg(i::int2, 5001) = bf_add_all(bf_empty(5001), array_agg(i::int2)) AS int2, bf_agg(i, 5001) = bf_add_all(bf_empty(5001), array_agg(i)) AS int4,
	bf_agg(i * 3000000000000001, 5001) = bf_add_all(bf_empty(5001), array_agg(i * 3000000000000001)) AS int8,
	bf_agg(date '2000-01-01' + i, 5001) = bf_add_all(bf_empty(5001), array_agg(date '2000-01-01' + i)) AS date,
	bf_agg(timestamptz '2000-01-01 UTC' + i * interval '1 s', 5001) = bf_add_all(bf_empty(5001), array_agg(timestamptz '2000-01-01 UTC' + i * interval '1 s')) AS timestamptz,
	bf_agg(i::int2, 5001) = bf_agg(i::int8, 5001) AS small_and_large
FROM generate_series(-2500, 2500) i;
SELECT bool_and(bf_contains_all(f, items)) AS all_found
FROM generate_series(1000, 1300, 7) n, LATERAL (SELECT bf_agg(i::int2) AS f, array_agg(i::int8) AS items FROM generate_series(-n, n) i) s;

-- sets of hashes of every size, also those that have to grow for the last hash
SELECT bool_and(bf_contains_all(f, items)) AS all_found
FROM (SELECT bf_agg(i) AS f, array_agg(i) AS items FROM generate_series(1, 300) n, generate_series(1, n) i GROUP BY n) s;
SELECT bool_and(bf_contains_all(f, items)) AS all_found
FROM (SELECT bf_agg(i, 50) AS f, array_agg(i) AS items FROM generate_series(1, 300) n, generate_series(1, n) i GROUP BY n) s;

-- a state that goes over from items to bits while its last batch of items is added: nothing is lost
SELECT count(*) AS counts, bool_and(whole = halves) AS same
FROM generate_series(1200, 1400, 3) n, LATERAL (SELECT bf_agg(i, 10000, 0.01) AS whole, bf_agg(i, 10000, 0.01) FILTER (WHERE i % 2 = 0) | bf_agg(i, 10000, 0.01) FILTER (WHERE i % 2 = 1) AS halves FROM generate_series(1, n) i) s;
