-- 2-hot-pages.sql: compares tbf_count with the exact decayed counts, for every page.

SELECT max(at) AS now FROM access_log \gset

-- Exact: the sum of 2^(-(E(now) - E(at)) T / half-life), where E(t) is the number of the epoch of length T in which t
-- lies, counted from 2000-01-01 UTC. T is half_life / 96 by default.
CREATE TABLE demo.page AS
WITH epoch AS (
	SELECT interval '7 days' / 96 AS length
), hits AS (
	SELECT url, floor(extract(epoch FROM at - '2000-01-01 00:00+00') / extract(epoch FROM length)) AS e, count(*) AS n
	FROM access_log, epoch GROUP BY 1, 2
)
SELECT url, sum(n) AS hits,
	sum(n * 2::float8 ^ ((e - floor(extract(epoch FROM :'now'::timestamptz - '2000-01-01 00:00+00') / extract(epoch FROM length)))::float8 / 96)) AS exact
FROM hits, epoch GROUP BY url;

\echo '"Now" is the time of the newest hit:' :now
\echo 'demo.page has the exact hits of every page, counted by plain SQL to compare them.'
\echo

\set ECHO queries
SELECT CASE WHEN length(url) > 56 THEN left(url, 55) || '…' ELSE url END AS page,
	hits, rank() OVER (ORDER BY hits DESC) AS "rank by hits",
	round(exact::numeric, 2) AS "exact, decayed",
	round(tbf_count(heat, url, :'now')::numeric, 2) AS tbf_count
FROM demo.page, page_hits ORDER BY exact DESC, url LIMIT 10;
\set ECHO none

-- Sums of floating-point numbers are rounded, also the exact ones. So a difference of 1e-12 of a count is allowed.
SELECT demo.number(count(*)) AS pages, to_char(max(counted - exact), 'FM999990.00') AS worst,
	demo.number(count(*) FILTER (WHERE counted <= exact * 1.001 + unit)) AS good,
	to_char(max(unit), 'FM0.0999') AS unit, demo.number(sum(hits)) AS hits,
	CASE WHEN count(*) FILTER (WHERE counted > exact * 1.001 + unit) > 0 THEN E'; the others share their counters\nwith other pages and count too much' ELSE '' END AS others,
	demo.verdict(count(*) > 0 AND count(*) FILTER (WHERE (counted >= exact * (1 - 1e-12)) IS NOT TRUE) = 0,
		format('pages that tbf_count undercounts: %s of %s', count(*) FILTER (WHERE (counted >= exact * (1 - 1e-12)) IS NOT TRUE), demo.number(count(*)))) AS verdict
FROM (SELECT hits, exact, tbf_count(heat, url, :'now') AS counted FROM demo.page, page_hits) p,
	(SELECT unit FROM page_hits, tbf_info(heat)) i
\gset
\echo 'hits: all that the log holds. The last two columns: what is left of them, each halved for every 7 days of its age.'
\echo 'Of' :pages 'pages' :good 'are right to the rounding (a thousandth and' :unit 'hits)':others'.'
\echo 'The largest overcount of any page:' :worst 'hits.'
\echo
\echo :verdict
