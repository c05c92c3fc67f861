-- bf_fpr: the rate that was asked is kept, at close to the bits of the classic optimum

CREATE TEMP TABLE measured AS
SELECT p, n, (bf_info(f)).bits, (SELECT count(*) FILTER (WHERE f @> i) FROM generate_series(1000001, 1100000) i) AS wrong
FROM unnest('{0.1,0.03,0.01,0.001,0.0001}'::float8[]) p, unnest('{1000,20000}'::int[]) n, LATERAL (SELECT bf_agg(i, n, p) AS f FROM generate_series(1, n) i) s;
-- with an expected number of items: the rate over 100,000 absent items, with a margin of a fifth and of 8 items for
-- chance
SELECT p, n, wrong <= 1.2 * p * 100000 + 8 AS rate_holds, bits <= 1.25 * bloom_optimal_bits(n, p) + 512 AS bits_are_few FROM measured ORDER BY p DESC, n;
-- the bits for the rate that is asked for, down to 0.001 %
SELECT p, (bf_info(bf_empty(1000000, p))).bits <= 1.25 * bloom_optimal_bits(1000000, p) AS bits_are_few, (bf_info(bf_empty(1000000, p))).bits >= 0.99 * bloom_optimal_bits(1000000, p) AS no_wonder
FROM unnest('{0.1,0.01,0.001,0.0001,0.00001}'::float8[]) p ORDER BY p DESC;

-- without an expected number, beyond the exact form: up to twice as many bits, because of the next power of two
SELECT n, (SELECT count(*) FILTER (WHERE f @> i) FROM generate_series(1000001, 1100000) i) <= 1.2 * 0.01 * 100000 AS rate_holds, (bf_info(f)).bits <= 2.2 * bloom_optimal_bits(n, 0.01) AS bits_are_few
FROM unnest('{66000,100000,140000}'::int[]) n, LATERAL (SELECT bf_agg(i) AS f FROM generate_series(1, n) i) s ORDER BY n;
-- at another rate
SELECT p, (SELECT count(*) FILTER (WHERE f @> i) FROM generate_series(1000001, 1100000) i) <= 1.2 * p * 100000 + 8 AS rate_holds, (bf_info(f)).bits <= 2.5 * bloom_optimal_bits(70000, p) AS bits_are_few
FROM unnest('{0.1,0.001,0.0001}'::float8[]) p, LATERAL (SELECT bf_agg(i, NULL, p) AS f FROM generate_series(1, 70000) i) s ORDER BY p DESC;
-- for text, and for types that are hashed by their operator class
SELECT (SELECT count(*) FILTER (WHERE f @> ('x' || i)) FROM generate_series(1, 50000) i) <= 1.2 * 0.01 * 50000 AS text, (SELECT count(*) FILTER (WHERE g @> (i + 0.5)) FROM generate_series(1, 50000) i) <= 1.2 * 0.01 * 50000 AS numeric,
	(SELECT count(*) FILTER (WHERE h @> ROW(i, -i)) FROM generate_series(1, 50000) i) <= 1.2 * 0.01 * 50000 AS composite
FROM (SELECT bf_agg(i::text, 5000) AS f, bf_agg(i::numeric, 5000) AS g, bf_agg(ROW(i, i), 5000) AS h FROM generate_series(1, 5000) i) s;
