-- tbf_count: never less than the exact decayed sum, and not much more

SET timezone = 'UTC';
/* The weight at a time of a hit at another: 2^-(epochs between them * epoch / half_life), epochs counted from 2000. */
CREATE FUNCTION pg_temp.us(i interval) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT extract(epoch FROM i) * 1000000';
CREATE FUNCTION pg_temp.kept(hit timestamptz, at timestamptz, half_life interval, epoch interval) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN x > 1000 THEN 0 ELSE power(2::float8, -x::float8) END
	FROM (SELECT (floor(pg_temp.us(at - '2000-01-01 00:00+00') / pg_temp.us(epoch)) - floor(pg_temp.us(hit - '2000-01-01 00:00+00') / pg_temp.us(epoch))) * pg_temp.us(epoch) / pg_temp.us(half_life) AS x) s
$$;

-- undecayed whole hits are exact (as long as no items collide: with so much room none do)
CREATE TEMP TABLE visit AS SELECT (i * i) % 97 AS page, i % 3 AS weight FROM generate_series(1, 10000) i;
CREATE TEMP TABLE undecayed AS SELECT tbf_agg(page, NULL, NULL, 1, 20000, 0.001) AS plain, tbf_agg(page, '2024-01-01', NULL, weight, 20000, 0.001) AS weighted FROM visit;
SELECT count(*) AS pages, bool_and(tbf_count(plain, page) = n) AS plain, bool_and(tbf_count(plain, page, 'infinity') = n AND (plain -> page) = n) AS any_time, bool_and(tbf_count(weighted, page) = w) AS weighted
FROM (SELECT page, count(*) AS n, sum(weight) AS w FROM visit GROUP BY page) s, undecayed;
SELECT plain -> 1000, weighted -> -1, plain @> 1000 FROM undecayed;
-- in a crowded filter some are too large, none too small, and few of those too large
SELECT bool_and(f -> i BETWEEN i % 5 AND 1e300) AS never_below, count(*) FILTER (WHERE f -> i > i % 5) < 0.02 * count(*) AS seldom_above FROM generate_series(1, 20000) i, (SELECT tbf_agg(i, now(), NULL, i % 5, 20000, 0.01) AS f FROM generate_series(1, 20000) i) s;
SELECT bool_and(f -> i BETWEEN i % 5 AND 1e300) AS never_below FROM generate_series(1, 2000) i, (SELECT tbf_agg(i, now(), NULL, i % 5, 100, 0.1) AS f FROM generate_series(1, 2000) i) s;

-- half of it after each half-life, exactly; and twice of it before
SELECT bool_and(tbf_count(f, 'a', '2024-01-01'::timestamptz + h * interval '1 day') * power(2::float8, h) = tbf_count(f, 'a', '2024-01-01')) AS halves
FROM tbf_add(tbf_empty(half_life => '1 day'), 'a', '2024-01-01', 1000) f, generate_series(-50, 200) h;
SELECT bool_and(tbf_count(f, 'a', '2024-01-01'::timestamptz + h * interval '100 hours') * power(2::float8, h) = tbf_count(f, 'a', '2024-01-01')) AS halves
FROM tbf_add(tbf_empty(half_life => '100 hours', epoch => '100 hours'), 'a', '2024-01-01', 7) f, generate_series(0, 60) h;
-- it does not change within an epoch, and never grows
SELECT count(DISTINCT c) AS steps, bool_and(c <= before) AS falls FROM (SELECT c, lag(c, 1, c) OVER (ORDER BY at) AS before
	FROM tbf_add(tbf_empty(half_life => '1 day', epoch => '6 hours'), 'a', '2024-01-01', 16) f, generate_series('2024-01-01'::timestamptz, '2024-01-01 23:59', '7 minutes') at, tbf_count(f, 'a', at) c) s;

/*
 * Random hits over 200 half-lives, of 40 items with a weight of up to 1,000: half-lives and epochs that divide each other
 * and that do not. Asked at many times, before, between and after the hits.
 */
SELECT setseed(0.125);
CREATE TEMP TABLE clock (half_life interval, epoch interval);
INSERT INTO clock VALUES ('1 day', '15 minutes'), ('1 day', '1 day'), ('7 days', '105 minutes'), ('1 day', '1 microsecond'), ('90 minutes', '7 minutes'), ('1 day', '3 days 01:00'), ('11.123457 seconds', '1.1 seconds');
CREATE TEMP TABLE hit AS
	SELECT half_life, epoch, floor(random() * 40)::int AS item, '2024-01-01'::timestamptz - power(random(), 3) * 200 * half_life AS at, CASE WHEN i % 2 = 0 THEN 1 ELSE random() * 1000 END AS weight
	FROM clock, generate_series(1, 400) i;
CREATE TEMP TABLE exact AS
	SELECT half_life, epoch, item, t.at, sum(weight * pg_temp.kept(hit.at, t.at, half_life, epoch)) AS exact
	FROM hit, LATERAL (VALUES ('2024-01-01'::timestamptz), ('2024-01-01'::timestamptz + 0.3 * half_life), ('2024-01-01'::timestamptz + 77.77 * half_life), ('2024-01-01'::timestamptz - 0.5 * half_life), ('2024-01-01'::timestamptz - 30 * half_life),
		('2024-01-01'::timestamptz - 210 * half_life)) t (at) GROUP BY half_life, epoch, item, t.at;
CREATE TEMP TABLE filter AS SELECT half_life, epoch, tbf_agg(item, at, half_life, weight, 10000, 0.001, epoch, NULL) AS f FROM hit GROUP BY half_life, epoch;
-- never below; above by a thousandth and one unit (1/16 at the base) and what was forgotten
SELECT half_life, epoch, bool_and(tbf_count(f, item, e.at) BETWEEN exact * (1 - 1e-14) AND 1e300) AS never_below,
	bool_and(tbf_count(f, item, e.at) <= exact * 1.001 + 1.01 * (unit + slack) * pg_temp.kept(newest, e.at, half_life, epoch) * 2) AS hardly_above
FROM exact e JOIN filter USING (half_life, epoch), LATERAL (SELECT unit, slack, newest FROM tbf_info(f)) i GROUP BY half_life, epoch ORDER BY half_life, epoch;
-- an item never seen has next to nothing
SELECT half_life, epoch, f -> 1000 <= slack AS next_to_nothing FROM filter, LATERAL (SELECT slack FROM tbf_info(f)) i ORDER BY half_life, epoch;
SELECT tbf_count(f, 2, '2024-01-01') FROM tbf_add(tbf_empty(), 1, '2024-01-01') f;

/*
 * What is dropped because it is too old counts nevertheless, however heavy it was: a thousand hits of 8 billion (bytes, say)
 * some 50 half-lives before the newest one. An error would do, too.
 */
CREATE FUNCTION pg_temp.at_least(query text, expected float8) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	counted float8;
BEGIN
	EXECUTE query INTO counted;
	RETURN counted >= expected;
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN true;
END
$$;
SELECT n, pg_temp.at_least(format($q$
	SELECT tbf_count(tbf_agg(item, at, interval '1 day', weight ORDER BY i), 'old', '2000-01-01'::timestamptz + %1$s * interval '1 day')
	FROM (SELECT i, CASE i WHEN 1 THEN 'new' ELSE 'old' END, '2000-01-01'::timestamptz + CASE i WHEN 1 THEN %1$s ELSE 15 END * interval '1 day', CASE i WHEN 1 THEN 1 ELSE 8e9 END FROM generate_series(1, 1001) i) v (i, item, at, weight)$q$, n),
	1000 * 8e9 * power(2::float8, 15 - n)) AS never_below
FROM generate_series(60, 68) n;

-- times out of reach
SELECT sqlstate_of('SELECT tbf_count(tbf_empty(), 1, ''infinity'')'), sqlstate_of('SELECT tbf_count(tbf_empty(), 1, ''-infinity'')'), sqlstate_of('SELECT tbf_count(tbf_empty(), 1, ''290000-01-01'')'),
	sqlstate_of('SELECT tbf_count(tbf_add(tbf_empty(half_life => ''1 second''), 1, ''2024-01-01''), 1, ''2023-01-01'')');
SELECT tbf_count(f, 1, '30000-01-01') BETWEEN 0 AND 1e-300 AS faded FROM tbf_add(tbf_empty(half_life => '1 second'), 1, '2024-01-01', 1e9) f;
SELECT tbf_count(tbf_empty(), 1, 'infinity');
SELECT tbf_count(tbf_add(tbf_empty(half_life => '1 second'), 1, '2024-01-01'), 1, '2023-01-01');
