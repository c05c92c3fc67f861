-- 1-load.sql: makes access_log, in partitions by time, out of demo.hit (1-read.sql). Then makes the filters, and checks
-- that those of the partitions miss nothing.

CREATE TABLE access_log (at timestamptz NOT NULL, host text, method text, url text, status int, bytes bigint, referrer text, agent text)
	PARTITION BY RANGE (at);
-- A partition is a day, a week, a month or a year: the shortest of these that makes at most 100 partitions; a year if
-- none does.
SELECT unit, CASE unit WHEN 'day' THEN 'YYYY_MM_DD' WHEN 'week' THEN 'IYYY_"w"IW' WHEN 'month' THEN 'YYYY_MM' ELSE 'YYYY' END AS name
FROM (VALUES (1, 'day'), (2, 'week'), (3, 'month'), (4, 'year')) u (n, unit)
WHERE unit = 'year' OR (SELECT count(DISTINCT date_trunc(unit, at)) FROM demo.hit WHERE at <= now() + interval '1 day') <= 100
ORDER BY n LIMIT 1 \gset
SELECT format('CREATE TABLE %I PARTITION OF access_log FOR VALUES FROM (%L) TO (%L)', 'access_log_' || to_char(first, :'name'), first, first + ('1 ' || :'unit')::interval)
FROM (SELECT DISTINCT date_trunc(:'unit', at) AS first FROM demo.hit WHERE at <= now() + interval '1 day') d
ORDER BY first
\gexec
INSERT INTO access_log SELECT at, host, method, url, status, bytes, referrer, agent FROM demo.hit WHERE at <= now() + interval '1 day';
VACUUM ANALYZE access_log;

SELECT demo.number(count(*)) || ' hits of ' || demo.number(count(DISTINCT host)) || ' hosts on ' || demo.number(count(DISTINCT url)) || ' pages, '
	|| to_char(min(at), 'YYYY-MM-DD') || ' to ' || to_char(max(at), 'YYYY-MM-DD') || E' UTC, lie in the table\naccess_log, in '
	|| (SELECT count(*) FROM pg_partition_tree('access_log') WHERE isleaf) || ' partitions, one a ' || :'unit' || '.'
	|| coalesce((SELECT E'\n' || demo.number(count(*)) || ' lines are stamped in the future and were left out.' FROM demo.hit
		WHERE at > now() + interval '1 day' HAVING count(*) > 0), '') AS text,
	demo.verdict(count(*) = (SELECT count(*) FROM demo.hit WHERE at <= now() + interval '1 day') AND count(*) > 0, 'every hit is in the table or was counted as left out') AS verdict
FROM access_log \gset
DROP TABLE demo.hit;
\echo :text
\echo
\echo 'Now each partition gets two Bloom filters, of its hosts and of its pages, in a row of an ordinary table:'
\echo

\set ECHO queries
CREATE TABLE chunk_summary AS
SELECT tableoid::regclass AS chunk, min(at) AS lo, max(at) AS hi, count(*) AS hits,
	bf_agg(host) AS hosts, bf_agg(url) AS pages
FROM access_log GROUP BY 1 ORDER BY 2;
\set ECHO none
\echo
\echo 'And one filter counts the hits of every page, each hit fading by half in seven days:'
\echo

\set ECHO queries
CREATE TABLE page_hits AS
SELECT tbf_agg(url, at, '7 days') AS heat FROM access_log;
\set ECHO none
\echo
ANALYZE chunk_summary, page_hits;

\echo 'Nobody said how many hosts or pages there are: the filters size themselves. As lines of text:'
\echo
SELECT bf_sketch(hosts) AS hosts, bf_sketch(pages) AS pages FROM chunk_summary ORDER BY hits DESC LIMIT 1 \gset busiest_
SELECT tbf_sketch(heat) AS heat FROM page_hits \gset
\echo '  hosts of the busiest one  ' :busiest_hosts
\echo '  pages of the busiest one  ' :busiest_pages
\echo '  hits of all pages         ' :heat
\echo
\echo 'exact: up to 65,536 items the filter is a list of their hashes, and holds no others; beyond that it has a false-positive'
\echo 'rate, the share of other items for which it says yes. The bars: for the hits, how many pages have few (left) or many.'
\echo
\echo :verdict

-- No item is missed: asks the filters for everything that was added to them.
SELECT demo.verdict(asked > 0 AND missed = 0, format('the filters of the partitions miss %s of the %s hosts and pages that came', missed, demo.number(asked))) AS verdict
FROM (
	SELECT count(*) AS asked, count(*) FILTER (WHERE CASE WHEN is_host THEN c.hosts @> item ELSE c.pages @> item END IS NOT TRUE) AS missed
	FROM chunk_summary c
	JOIN (SELECT tableoid::regclass AS chunk, true AS is_host, host AS item FROM access_log
		UNION SELECT tableoid::regclass, false, url FROM access_log) i USING (chunk)
) a \gset
\echo :verdict
