-- tbf_minimum_increase: hits raise only the counters that have to be
SET client_min_messages = error; -- some of the filters are too full; from PostgreSQL 18 on, others

SET timezone = 'UTC';
-- 20,000 hits of 1,500 items, few of which have most hits, over ten days; and the true counts, decayed and not
CREATE TEMP TABLE hit AS
	SELECT i, floor(exp(ln(1500) * (hashint4(i) & 65535) / 65536.0))::int AS item, '2024-01-01'::timestamptz + i * interval '43 seconds' AS at
	FROM generate_series(1, 20000) i;
CREATE TEMP TABLE truth AS
	SELECT item, count(*)::float8 AS undecayed, sum(2 ^ (floor(extract(epoch FROM at - '2000-01-01') / 900) / 96 - floor(extract(epoch FROM timestamptz '2024-01-12' - '2000-01-01') / 900) / 96)) AS decayed
	FROM hit GROUP BY item;
SELECT count(*) AS items, sum(undecayed) AS hits FROM truth;

-- The same data, the same parameters and size, with and without. Told fewer items, the state goes over from items to
-- counters on its way. (A hit weighs 100, so that the rounding of counters to a sixteenth does not blur what is compared.)
CREATE TEMP TABLE built AS
	SELECT half_life, n, tbf_agg_like(item, at, tbf_empty(n, 0.01, half_life), 100) AS plain,
		tbf_agg_in_order(item, at, tbf_empty(n, 0.01, half_life, minimum_increase => true), 100 ORDER BY at) AS raised
	FROM hit, unnest(ARRAY[NULL, interval '1 day']) half_life, unnest(ARRAY[1500, 400, 200]) n GROUP BY half_life, n;
CREATE FUNCTION pg_temp.overcounts(f tbf, decays boolean, weight float8, OUT below bigint, OUT mean float8) LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE c BETWEEN x * (1 - 1e-12) AND 1e300 IS NOT TRUE), avg(c - x)
	FROM (SELECT tbf_count(f, item, '2024-01-12') AS c, weight * CASE WHEN decays THEN decayed ELSE undecayed END AS x FROM truth) counts $$;
SELECT half_life, n, p.below AS plain_below, r.below AS raised_below, r.mean < p.mean / 2 AS overcounts_halve, pg_column_size(raised) <= pg_column_size(plain) AS not_larger
FROM built, pg_temp.overcounts(plain, half_life IS NOT NULL, 100) p, pg_temp.overcounts(raised, half_life IS NOT NULL, 100) r ORDER BY half_life, n;

-- also when each hit comes to stored counters
CREATE TEMP TABLE added AS
	SELECT tbf_add_all(tbf_empty(n, 0.01, NULL), items) AS plain, tbf_add_all(tbf_empty(n, 0.01, NULL, minimum_increase => true), items) AS raised
	FROM unnest(ARRAY[1500, 700]) n, (SELECT array_agg(item ORDER BY i) AS items FROM hit) h;
SELECT p.below AS plain_below, r.below AS raised_below, r.mean < p.mean / 2 AS overcounts_halve FROM added, pg_temp.overcounts(plain, false, 1) p, pg_temp.overcounts(raised, false, 1) r;
DO $$
DECLARE
	one_by_one tbf := tbf_empty(100, 0.01, NULL, minimum_increase => true);
	plain tbf := tbf_empty(100, 0.01, NULL);
	h record;
BEGIN
	FOR h IN SELECT item FROM hit WHERE i <= 600 ORDER BY i LOOP
		one_by_one := tbf_add(one_by_one, h.item);
		plain := tbf_add(plain, h.item);
	END LOOP;
	ASSERT one_by_one = (SELECT tbf_add_all(tbf_empty(100, 0.01, NULL, minimum_increase => true), array_agg(item ORDER BY i)) FROM hit WHERE i <= 600), 'as tbf_add_all';
	ASSERT (SELECT bool_and(one_by_one -> item BETWEEN hits AND plain -> item) FROM (SELECT item, count(*) AS hits FROM hit WHERE i <= 600 GROUP BY item) t), 'never below';
	ASSERT (SELECT sum(plain -> item) > sum(one_by_one -> item) FROM (SELECT DISTINCT item FROM hit WHERE i <= 600) t), 'and less than without';
END $$;

-- the order of the rows leaves its traces, but no count below the truth
SELECT tbf_agg_in_order(item, at, like_this ORDER BY at) = tbf_agg_in_order(item, at, like_this ORDER BY i) AS same_order,
	tbf_agg_in_order(item, at, like_this ORDER BY at) = tbf_agg_in_order(item, at, like_this ORDER BY at DESC) AS same_backward
FROM hit, tbf_empty(100, minimum_increase => true) like_this;
SELECT below FROM (SELECT tbf_agg_in_order(item, at, tbf_empty(100, 0.01, '1 day', minimum_increase => true) ORDER BY at DESC) AS f FROM hit) b, pg_temp.overcounts(f, true, 1);

-- a window's frames: what an aggregate over the same rows says
SELECT bool_and(f = (SELECT tbf_agg_in_order(item, at, tbf_empty(10, minimum_increase => true) ORDER BY at) FROM hit WHERE i <= w.i)) AS frames_agree, count(*)
FROM (SELECT i, tbf_agg_in_order(item, at, tbf_empty(10, minimum_increase => true)) OVER (ORDER BY at) AS f FROM hit WHERE i <= 3000) w WHERE i % 250 = 0;

-- the same in a state so large that hits wait for its memory: they arrive in their order, whenever somebody looks
CREATE TEMP TABLE many AS SELECT i, abs(hashint4(i)) % 6000 AS item FROM generate_series(1, 8000) i;
SELECT cells FROM tbf_info(tbf_empty(390, minimum_increase => true));
SELECT bool_and(f = (SELECT tbf_agg_in_order(item, '2024-01-01', tbf_empty(390, minimum_increase => true) ORDER BY i) FROM many WHERE i / 57 <= w.part)) AS frames_agree, count(*)
FROM (SELECT DISTINCT ON (part) part, f FROM (SELECT i, i / 57 AS part, tbf_agg_in_order(item, '2024-01-01', tbf_empty(390, minimum_increase => true)) OVER (ORDER BY i / 57) AS f FROM (SELECT * FROM many ORDER BY i) m) w ORDER BY part) w WHERE part > 20 AND part % 4 = 0;

-- fades, changes its layout and is stored as others are
SELECT bool_and(tbf_count(tbf_decay(raised, '2024-01-15'), item, '2024-01-15') BETWEEN 100 * decayed * 2 ^ -3 * (1 - 1e-12) AND 1e300) AS none_below FROM built, truth WHERE half_life IS NOT NULL;
SELECT bool_and(raised::bytea::tbf = raised AND tbf_layout(tbf_layout(raised, 'flat'), 'extensible') = raised AND raised <> plain) AS same FROM built;
SELECT bool_and(tbf_layout(raised, 'flat') -> item = raised -> item) AS same FROM built, truth WHERE n = 200;

-- merging adds counters: never below the truth, and never above what filters without minimum increase come to. It keeps
-- the flag, and further hits raise.
CREATE TEMP TABLE part AS
	SELECT i % 3 AS part, tbf_agg_like(item, at, tbf_empty(300, 0.01, NULL)) AS plain, tbf_agg_in_order(item, at, tbf_empty(300, 0.01, NULL, minimum_increase => true) ORDER BY at) AS raised
	FROM hit GROUP BY 1;
CREATE TEMP TABLE whole AS SELECT tbf_merge_agg(plain ORDER BY part) AS plain, tbf_merge_agg(raised ORDER BY part) AS raised, tbf_merge_agg(raised ORDER BY part DESC) AS backward FROM part;
SELECT raised = backward AS any_order, bool_and(raised -> item BETWEEN undecayed AND 1e300) AS none_below, bool_and(raised -> item <= plain -> item) AS none_above, sum(raised -> item) < sum(plain -> item) AS less
FROM whole, truth GROUP BY 1;
SELECT a.raised + b.raised = b.raised + a.raised AS commutes, (a.raised + b.plain) = (b.plain + a.raised) AS mixed FROM part a, part b WHERE a.part = 0 AND b.part = 1;
SELECT sum(more_raised -> item) < sum(more_plain -> item) AS raised_further, bool_and(more_raised -> item BETWEEN undecayed + 1 AND 1e300) AS none_below
FROM (SELECT tbf_add_all(raised, items) AS more_raised, tbf_add_all(plain, items) AS more_plain FROM whole, (SELECT array_agg(item) AS items FROM truth) i) m, truth;
-- but it may overcount where neither did: there are items of which each knows that it has none, and their sum does not
SELECT count(*) > 0 AS only_the_sum_overcounts
FROM (SELECT tbf_agg_in_order(i, NULL, tbf_empty(60, 0.01, NULL, minimum_increase => true)) FILTER (WHERE i % 2 = 1) AS f, tbf_agg_in_order(i, NULL, tbf_empty(60, 0.01, NULL, minimum_increase => true)) FILTER (WHERE i % 2 = 0) AS g
	FROM generate_series(1, 200) i) s, generate_series(201, 1200) x WHERE f -> x = 0 AND g -> x = 0 AND (f + g) -> x > 0;

-- no aggregate whose workers share the rows
SELECT tbf_agg_like(1, now(), tbf_empty(minimum_increase => true));
SELECT tbf_agg_in_order(1, now(), tbf_add(tbf_empty(minimum_increase => true), 1));
SELECT sqlstate_of('SELECT tbf_agg_in_order(1, now(), NULL)'), sqlstate_of('SELECT tbf_agg_in_order(1, NULL, tbf_empty())'), sqlstate_of('SELECT tbf_agg_in_order(1, now(), tbf_empty(), NULL)'), sqlstate_of('SELECT tbf_agg_in_order(1, now(), tbf_empty(), -1)');
SELECT tbf_agg_in_order(NULL::int, now(), tbf_empty(minimum_increase => true)), tbf_agg_in_order(1, now(), tbf_empty()) FILTER (WHERE false);
SELECT tbf_agg_in_order(item, at, tbf_empty(100)) = tbf_agg_like(item, at, tbf_empty(100)) AS without_the_option FROM hit;
