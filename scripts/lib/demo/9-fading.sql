-- 9-fading.sql: how much space tbf_decay gives back as time goes by and nothing new comes.

SELECT max(at) AS now FROM access_log \gset

CREATE TABLE demo.faded AS
SELECT weeks, tbf_decay(heat, :'now'::timestamptz + weeks * interval '1 week') AS heat
FROM page_hits, unnest(ARRAY[0, 4, 8, 16]) AS weeks;

\echo 'tbf_decay drops what has faded below half a unit and gives its space back. A nightly job would run:'
\echo
\echo '  UPDATE page_hits SET heat = tbf_decay(heat, now());'
\echo
\echo 'The filter, decayed to later times with no new hits:'
\echo
SELECT CASE weeks WHEN 0 THEN 'now' ELSE format('in %s weeks', weeks) END AS "read",
	demo.in_column(pg_column_size(heat)) AS bytes,
	demo.in_column(round((fill * cells)::numeric)) AS "counters in use",
	to_char(100 * fill, '990.00') || ' %' AS fill,
	demo.in_column(greatest(cardinality, 0)::numeric) AS "pages, estimated",
	to_char(slack, '990.99999') AS slack
FROM demo.faded, tbf_info(heat) ORDER BY weeks;

SELECT CASE WHEN bool_or(fill IS NULL) THEN E'Counters and fill are empty where the filter is exact: it lists its items, and has no counters to share.\n' ELSE '' END AS exact
FROM demo.faded, tbf_info(heat) \gset
\echo :exact'slack: what decay has forgotten at most, in hits; every count includes it, so that none becomes too small.'
\echo
SELECT format('  %-12s %s', CASE weeks WHEN 0 THEN 'now' ELSE format('in %s weeks', weeks) END, tbf_sketch(heat)) AS line
FROM demo.faded ORDER BY weeks
\g (format=unaligned tuples_only)
\echo

-- A week is a half-life: after w weeks the exact counts are 2^-w of those now.
SELECT demo.verdict(count(*) > 0 AND count(*) FILTER (WHERE (counted >= faded * (1 - 1e-12)) IS NOT TRUE) = 0,
	format('pages undercounted after 4, 8 and 16 weeks of decay: %s of %s', count(*) FILTER (WHERE (counted >= faded * (1 - 1e-12)) IS NOT TRUE), demo.number(count(DISTINCT url)))) AS verdict
FROM (SELECT url, exact * 2::float8 ^ -weeks AS faded, tbf_count(heat, url, :'now'::timestamptz + weeks * interval '1 week') AS counted
	FROM demo.page, demo.faded) c \gset
\echo :verdict
