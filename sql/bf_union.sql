-- bf_union: union and intersection of filters, of one size or sizes that differ by a power of two

SET client_min_messages = error; -- some of the unions are too full; sql/bf_exact.sql has the warning
-- exact filters, and filters with lines of three sizes that are powers of two; those of a size overlap by halves
CREATE TEMP TABLE filter AS
	SELECT p, n, bf_agg(i, CASE n WHEN 500 THEN 820 WHEN 1000 THEN 1640 WHEN 8000 THEN 13200 END) AS f
	FROM generate_series(0, 3) p, unnest('{30,500,1000,8000}'::int[]) n, generate_series(p * n / 2, p * n / 2 + n - 1) i GROUP BY p, n;
SELECT n, (bf_info(f)).bits / 512 AS lines FROM filter WHERE p = 0 ORDER BY n;

-- the laws of sets (an exact filter that is added to lines keeps them if no larger filter widens these lines later); a union of parts of one size is the filter of the whole
SELECT count(*) AS pairs, bool_and((a.f | b.f) = (b.f | a.f)) AS union_commutes, bool_and((a.f & b.f) = (b.f & a.f)) AS intersection_commutes,
	bool_and((a.f | a.f) = a.f AND (a.f & a.f) = a.f) AS idempotent,
	bool_and(bf_union(a.f, b.f) = (a.f | b.f) AND bf_intersection(a.f, b.f) = (a.f & b.f)) AS named
FROM filter a, filter b;
SELECT count(*) AS triples, bool_and((a.f | (b.f | c.f)) = ((a.f | b.f) | c.f)) AS union_associates, bool_and((a.f & (b.f & c.f)) = ((a.f & b.f) & c.f)) AS intersection_associates,
	bool_and(((a.f | b.f) & c.f) = ((a.f & c.f) | (b.f & c.f))) AS distributes
FROM filter a, filter b, filter c WHERE least(a.n, b.n, c.n) > 30;
SELECT count(*) AS triples, bool_and((a.f | (b.f | c.f)) = ((a.f | b.f) | c.f)) AS union_associates, bool_and((a.f & (b.f & c.f)) = ((a.f & b.f) & c.f)) AS intersection_associates
FROM filter a, filter b, filter c WHERE a.n IN (30, 500) AND b.n IN (30, 500) AND c.n IN (30, 500);
SELECT bf_agg(i, 1000) FILTER (WHERE i <= 500) | bf_agg(i, 1000) FILTER (WHERE i > 300) = bf_agg(i, 1000) FROM generate_series(1, 1000) i;

-- a union loses no item of either filter, an intersection no item that both have; absent items are found as seldom as
-- they should be
SELECT bool_and(bf_contains_all(a.f | b.f, ARRAY(SELECT generate_series(a.p * a.n / 2, a.p * a.n / 2 + a.n - 1)))) AS holds_all,
	bool_and(bf_contains_all(a.f & b.f, ARRAY(SELECT generate_series(a.p * a.n / 2, a.p * a.n / 2 + a.n - 1) INTERSECT SELECT generate_series(b.p * b.n / 2, b.p * b.n / 2 + b.n - 1)))) AS holds_common
FROM filter a, filter b;
SELECT count(*) FILTER (WHERE f @> i) < 1.2 * 0.01 * count(*) AS rate_holds
FROM (SELECT bf_agg(i, 1600) FILTER (WHERE i <= 800) | bf_agg(i, 1600) FILTER (WHERE i > 800) AS f FROM generate_series(1, 1600) i) s, generate_series(100001, 130000) i;

-- the size is the larger one; the number of items is estimated at the smaller one's
SELECT a.n AS left, b.n AS right, (bf_info(a.f | b.f)).bits = greatest((bf_info(a.f)).bits, (bf_info(b.f)).bits) AS larger,
	bf_cardinality(a.f | b.f) BETWEEN 0.85 * n.distinct AND 1.15 * n.distinct AS estimate_is_sane
FROM filter a, filter b, LATERAL (SELECT count(*) AS distinct FROM (SELECT generate_series(0, a.n - 1) UNION SELECT generate_series(b.n / 2, b.n / 2 + b.n - 1)) s) n
WHERE a.p = 0 AND b.p = 1 AND a.n IN (500, 1000) AND b.n IN (500, 1000) ORDER BY 1, 2;
SELECT count(*) FILTER (WHERE bf_cardinality(f) BETWEEN 0.9 * n AND 1.1 * n) AS sane, count(*) AS all FROM filter WHERE n > 30;

-- the expected items and the rate of a union: the greater ones of both
SELECT expected_items, false_positive_rate FROM bf_info(bf_empty(1000, 0.01) | bf_empty(999, 0.0101));

-- aggregates
SELECT bf_union_agg(f) = (SELECT bf_agg(i, 20000) FROM generate_series(0, 19999) i) AS same_bytes FROM (SELECT bf_agg(i, 20000) AS f FROM generate_series(0, 19999) i GROUP BY i % 9) s;
SELECT bf_union_agg(f) = (SELECT a.f | b.f | c.f | d.f FROM filter a, filter b, filter c, filter d WHERE (a.n, b.n, c.n, d.n) = (30, 500, 1000, 8000) AND (a.p, b.p, c.p, d.p) = (0, 0, 0, 0)) AS as_the_operator,
	bf_intersection_agg(f) = (SELECT a.f & b.f & c.f & d.f FROM filter a, filter b, filter c, filter d WHERE (a.n, b.n, c.n, d.n) = (30, 500, 1000, 8000) AND (a.p, b.p, c.p, d.p) = (0, 0, 0, 0)) AS as_the_operator
FROM filter WHERE p = 0;
SELECT bf_union_agg(f) = bf_union_agg(f) FILTER (WHERE f IS NOT NULL) AS nulls_are_skipped FROM (SELECT f FROM filter UNION ALL SELECT NULL) s;

-- what cannot be combined says which parameter differs
SELECT bf_empty(1000, 0.01) | bf_empty(1000, 0.001);
SELECT bf_empty(1000) & bf_empty(1700);
SELECT bf_union_agg(f) FROM (VALUES (bf_empty(1000)), (bf_empty(1700))) v (f);
SELECT bf_intersection_agg(f) FROM (VALUES (bf_empty(1000, 0.1)), (bf_empty(1000))) v (f);
SELECT sqlstate_of('SELECT bf_empty(1000, 0.01) | bf_empty(1000, 0.001)'), sqlstate_of('SELECT bf_empty(1000) & bf_empty(1700)');
