-- tbf_estimate: totals, shares, the error bound, estimates that may be too small, and the product of two filters

SET timezone = 'UTC';
-- 3,000 items in a filter made for 200, so that items collide; the small numbers are the hot ones
CREATE TEMP TABLE hit AS SELECT (3000 * power(abs(sin(i)), 3))::int AS item, '2024-01-01'::timestamptz + i * interval '1 minute' AS at FROM generate_series(1, 30000) i;
CREATE TEMP TABLE filter AS SELECT tbf_agg(item, at, NULL, 1, 200, 0.01) AS plain, tbf_agg(item, at, interval '1 day', 1, 200, 0.01) AS fading FROM hit;
CREATE TEMP TABLE exact AS
	SELECT item, count(*) AS hits, sum(power(2::float8, -(floor(extract(epoch FROM '2024-02-01' - '2000-01-01 00:00+00'::timestamptz) / 900) - floor(extract(epoch FROM at - '2000-01-01 00:00+00'::timestamptz) / 900))::float8 / 96)) AS fading
	FROM hit GROUP BY item;

-- totals: exact, at any time
SELECT tbf_total(plain) AS plain, tbf_total(fading, '2024-02-01') / (SELECT sum(fading) FROM exact) BETWEEN 1 AND 1.001 AS fading, abs(tbf_total(fading, '2024-02-02') / tbf_total(fading, '2024-02-01') - 0.5) < 1e-9 AS halves FROM filter;
SELECT tbf_total(tbf_empty()) AS empty, tbf_total(tbf_empty(half_life => NULL), 'infinity') AS undecayed;
SELECT tbf_total(fading, 'infinity') FROM filter;
SELECT tbf_total(tbf_add(tbf_empty(half_life => '1 second'), 1, '2024-01-01'), '2023-01-01');

-- shares: never below the truth, of one item all; they do not change with time
SELECT bool_and(tbf_share(plain, item) >= hits / 30000.0) AS plain, bool_and(tbf_share(f.fading, item) >= e.fading / (SELECT sum(fading) FROM exact) * 0.999) AS fading, max(tbf_share(plain, item)) <= 1 AS no_more_than_all FROM filter f, exact e;
SELECT tbf_share(tbf_empty(), 1) AS nothing, tbf_share(tbf_add(tbf_empty(), 1), 1) AS all, tbf_share(tbf_add(tbf_empty(), 1), 2) AS none;
-- where the base lies thousands of half-lives before the hits, because an epoch is that long
SELECT tbf_share(f, 'hot') AS hot, tbf_share(f, 'rare') AS rare, tbf_share(f, 'none') AS none
FROM (SELECT tbf_agg(CASE i WHEN 1 THEN 'rare' ELSE 'hot' END, '2020-01-01'::timestamptz, interval '1 second', 1, NULL, NULL, interval '3600.5 seconds', NULL) AS f FROM generate_series(1, 1000) i) s;

-- the bound holds: no larger share of items is overcounted by more
SELECT over, avg((tbf_count(plain, item) - hits > over)::int) <= max(tbf_error_bound(plain, over)) AS holds, max(tbf_error_bound(plain, over)) < 1 AS says_something
FROM filter, exact, unnest('{16,64,128,256,512}'::float8[]) over GROUP BY over ORDER BY over;
SELECT over, avg((tbf_count(f.fading, item, '2024-02-01') - e.fading > over)::int) <= max(tbf_error_bound(f.fading, over, '2024-02-01')) AS holds FROM filter f, exact e, unnest('{0.0625,0.5,2}'::float8[]) over GROUP BY over ORDER BY over;
SELECT tbf_error_bound(tbf_empty(), 1) AS empty, tbf_error_bound(plain, 'infinity') AS infinite FROM filter;
SELECT tbf_error_bound(plain, 0) FROM filter;
SELECT tbf_error_bound(plain, 'NaN') FROM filter;
-- what decay has dropped is in every count: below that the bound is 1, above it only the rest is for other items' hits
CREATE TEMP TABLE dropped AS SELECT form, at, tbf_decay(tbf_add(tbf_add(f, 'a'::text, '2020-01-01'), 'b'::text, at), at) AS f
FROM (VALUES ('counters', tbf_empty(10000, 0.01, '1 day'), '2020-01-11'::timestamptz), ('exact', tbf_empty(NULL, 0.01, '1 day'), '2020-01-21')) v (form, f, at);
SELECT form, tbf_count(f, 'never'::text, at) AS of_absent, over, tbf_error_bound(f, over, at)::numeric(12, 11) AS bound, tbf_error_estimate(f, over, at)::numeric(12, 11) AS estimate
FROM dropped, unnest('{0.0001,0.02,0.04,1}'::float8[]) over ORDER BY form, over;
SELECT form, tbf_error_bound(f, tbf_count(f, 'never'::text, at + day) * 0.99, at + day) AS below, tbf_error_bound(f, tbf_count(f, 'never'::text, at + day) * 2, at + day) < 0.001 AS above FROM dropped, unnest('{-2 days,3 days}'::interval[]) day ORDER BY form, day;

-- what is likely, where the bound says nothing: within a tenth of the share of 20,000 absent items that is overcounted by more
SELECT over, (SELECT avg((tbf_count(plain, -item) > over)::int) FROM generate_series(1, 20000) item) BETWEEN 0.9 * likely AND 1.1 * likely AS close, likely < tbf_error_bound(plain, over) AS below_the_bound
FROM filter, unnest('{1,2,4,8,12}'::float8[]) over, tbf_error_estimate(plain, over) likely ORDER BY over;
SELECT over, (SELECT avg((tbf_count(f.fading, -item, '2024-02-01') > over)::int) FROM generate_series(1, 20000) item) BETWEEN 0.9 * likely AND 1.1 * likely AS close
FROM filter f, unnest('{0.001,0.002}'::float8[]) over, tbf_error_estimate(f.fading, over, '2024-02-01') likely ORDER BY over;
SELECT tbf_error_estimate(tbf_empty(), 1) AS empty, tbf_error_estimate(tbf_add(tbf_empty(NULL), 1), 0.5) AS exact, tbf_error_estimate(plain, 'infinity') AS infinite FROM filter;
SELECT tbf_error_estimate(plain, 0) FROM filter;

-- the estimate is in the mean as much too low as too high, or nearly, and never above the count
SELECT abs(avg(tbf_estimate(plain, item) - hits)) < 0.4 * avg(tbf_count(plain, item) - hits) AS less_biased, bool_and(tbf_estimate(plain, item) <= tbf_count(plain, item)) AS never_above, bool_or(tbf_estimate(plain, item) < hits) AS may_be_too_small FROM filter, exact;
SELECT abs(avg(tbf_estimate(f.fading, item, '2024-02-01') - e.fading)) < 0.9 * avg(tbf_count(f.fading, item, '2024-02-01') - e.fading) AS less_biased FROM filter f, exact e;
SELECT abs(tbf_estimate(fading, item, '2024-02-02') / tbf_estimate(fading, item, '2024-02-01') - 0.5) < 1e-9 AS halves FROM filter, (SELECT item FROM exact ORDER BY hits DESC LIMIT 1) e;
SELECT tbf_estimate(tbf_empty(), 1) AS empty, tbf_estimate(tbf_add(tbf_empty(), 1, '2024-01-01', 10), 1, '2024-01-01') BETWEEN 9.9 AND 10.1 AS alone;
SELECT tbf_estimate(plain, 'text') FROM filter;
SELECT tbf_estimate(fading, 1, 'infinity') FROM filter;

-- distinct items, and those of them that are left
SELECT abs(tbf_cardinality(plain) / (SELECT count(*) FROM exact) - 1) < 0.05 AS all, tbf_cardinality(tbf_decay(fading, '2024-02-10')) < tbf_cardinality(fading) AS fewer, tbf_cardinality(tbf_empty()) AS none FROM filter;

-- the inner product: the size of a join, decayed or not
CREATE TEMP TABLE other AS SELECT (3000 * power(abs(sin(i + 0.5)), 3))::int AS item, '2024-01-01'::timestamptz + i * interval '2 minutes' AS at FROM generate_series(1, 10000) i;
CREATE TEMP TABLE others AS SELECT tbf_agg(item, at, NULL, 1, 200, 0.01) AS plain, tbf_agg(item, at, interval '1 day', 1, 200, 0.01) AS fading FROM other;
SELECT abs(tbf_inner_product(f.plain, o.plain) / (SELECT count(*) FROM hit JOIN other USING (item)) - 1) < 0.05 AS join_size, tbf_inner_product(f.plain, o.plain) = tbf_inner_product(o.plain, f.plain) AS commutes FROM filter f, others o;
SELECT abs(tbf_inner_product(f.fading, o.fading, '2024-02-01') /
	(SELECT sum(power(2::float8, -(extract(epoch FROM '2024-02-01' - h.at) + extract(epoch FROM '2024-02-01' - o.at))::float8 / 86400)) FROM hit h JOIN other o USING (item)) - 1) < 0.05 AS decayed
FROM filter f, others o;
SELECT tbf_inner_product(f.fading, o.fading, '2024-02-02') / tbf_inner_product(f.fading, o.fading, '2024-02-01') AS a_quarter FROM filter f, others o;
SELECT tbf_inner_product(tbf_empty(), tbf_empty()) AS nothing;
SELECT tbf_inner_product(tbf_empty(100), tbf_empty(10000));
SELECT tbf_inner_product(plain, fading) FROM filter;

-- a time so long before the hits that no double holds what they were is refused, as by tbf_count()
SELECT tbf_estimate(tbf_add(tbf_empty(10, 0.01, '1 hour'), 1, '2024-01-01'), 1, '2000-01-01');
SELECT tbf_inner_product(f, f, '2000-01-01') FROM tbf_add(tbf_empty(10, 0.01, '1 hour'), 1, '2024-01-01') f;
-- the product of two numbers that a double holds may be one that it does not
SELECT tbf_estimate(f, 1, '2023-12-08') > 1e150 AS held, tbf_inner_product(f, f, '2023-12-01') FROM tbf_add(tbf_empty(10, 0.01, '1 hour'), 1, '2024-01-01') f;
