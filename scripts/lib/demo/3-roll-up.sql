-- 3-roll-up.sql: one filter per hour, and what was hot in any window of hours, compared with exact SQL.

\set ECHO queries
CREATE TABLE hourly AS
SELECT date_trunc('hour', at, 'UTC') AS hour, tbf_agg(url, at, NULL) AS f FROM access_log GROUP BY 1;
\set ECHO none
ANALYZE hourly;
SELECT count(*) AS hours, demo.number(sum(pg_column_size(f))) AS bytes FROM hourly \gset
\echo
\echo :hours 'hours,' :bytes 'bytes together. Any window of them can be merged, with any weights. The last seven days:'
\echo

\set ECHO queries
WITH week AS MATERIALIZED (
	SELECT tbf_merge_agg(f) AS f FROM hourly WHERE hour >= (SELECT max(hour) FROM hourly) - interval '7 days')
SELECT left(url, 56) AS page, f -> url AS hits
FROM (SELECT DISTINCT url FROM access_log) u, week ORDER BY hits DESC, url LIMIT 5;
\set ECHO none

-- Exact: the same hours, counted.
SELECT demo.number(count(*)) AS pages,
	demo.verdict(count(*) > 0 AND count(*) FILTER (WHERE (counted >= exact) IS NOT TRUE) = 0,
		format('pages of these days that the merged filter undercounts: %s of %s', count(*) FILTER (WHERE (counted >= exact) IS NOT TRUE), demo.number(count(*)))) AS verdict,
	count(*) FILTER (WHERE counted > exact * 1.001 + 0.5) AS over
FROM (SELECT url, count(*) AS exact FROM access_log, (SELECT max(hour) AS last FROM hourly) h WHERE at >= last - interval '7 days' GROUP BY url) e,
	LATERAL (SELECT tbf_count(f, url) AS counted
		FROM (SELECT tbf_merge_agg(f) AS f FROM hourly, (SELECT max(hour) AS last FROM hourly) h WHERE hour >= last - interval '7 days' OFFSET 0) w) c \gset
\echo :pages 'pages in these days,' :over 'of them overcounted by more than rounding.'
\echo
\echo :verdict
