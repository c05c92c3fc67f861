-- 4-days-of-a-host.sql: a query that reads only the partitions whose filter says that they may hold a host.

-- Of the hosts that came on 2 to 12 days, the one with the most hits.
SELECT host, count(*) AS hits FROM access_log GROUP BY host
ORDER BY count(DISTINCT at::date) BETWEEN 2 AND 12 DESC, count(*) DESC, host
LIMIT 1 \gset

-- What EXPLAIN ANALYZE says of the partitions, in three numbers.
CREATE FUNCTION demo.partitions_read(query text, OUT of bigint, OUT read bigint, OUT in_vain bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	WITH scan AS (
		SELECT node ->> 'Relation Name' AS relation, sum((node ->> 'Actual Loops')::numeric) AS loops,
			sum((node ->> 'Actual Loops')::numeric * (node ->> 'Actual Rows')::numeric) AS rows
		FROM jsonb_path_query(plan, 'strict $.**') node
		WHERE jsonb_typeof(node) = 'object' AND node ? 'Relation Name'
		GROUP BY 1
	)
	SELECT count(*), count(*) FILTER (WHERE loops > 0), count(*) FILTER (WHERE loops > 0 AND rows = 0) INTO of, read, in_vain
	FROM pg_partition_tree('access_log') p LEFT JOIN scan ON scan.relation = p.relid::text
	WHERE p.isleaf;
END $$;

SET max_parallel_workers_per_gather = 0;

\echo 'On which days did a certain host come? There is no index. The summary says which partitions may know it, and'
\echo 'PostgreSQL reads no other. (OFFSET 0 has the subquery run once for each row of the summary, with its lo and hi.)'
\echo

\set ECHO queries
PREPARE days_of_host(text) AS
SELECT l.at::date AS day, count(*) AS hits
FROM chunk_summary c,
	LATERAL (SELECT * FROM access_log l WHERE l.at BETWEEN c.lo AND c.hi AND l.tableoid = c.chunk AND l.host = $1 OFFSET 0) l
WHERE (c.hosts @> $1) IS NOT FALSE
GROUP BY 1 ORDER BY 1 LIMIT 12;
\echo
EXECUTE days_of_host(:'host');
\set ECHO none

CREATE TEMP TABLE skipping AS EXECUTE days_of_host(:'host');
CREATE TEMP TABLE plain AS SELECT at::date AS day, count(*) AS hits FROM access_log WHERE host = :'host' GROUP BY 1 ORDER BY 1 LIMIT 12;

SELECT of, read, in_vain,
	demo.verdict((SELECT array_agg((day, hits) ORDER BY day) FROM skipping) = (SELECT array_agg((day, hits) ORDER BY day) FROM plain), 'the same answer as without the summary') AS same,
	demo.verdict(read = (SELECT count(*) FROM chunk_summary WHERE hosts @> :'host'), 'no partition was read whose filter says no') AS only
FROM demo.partitions_read(format('EXECUTE days_of_host(%L)', :'host')) \gset
SELECT read AS all_read FROM demo.partitions_read(format('SELECT count(*) FROM access_log WHERE host = %L', :'host')) \gset

\echo 'EXPLAIN ANALYZE:' :read 'of' :of 'partitions read,' :in_vain 'of them in vain. Without the summary:' :all_read 'of' :of
SELECT format(E'%s hosts, asked for in each partition in which they are not: %s questions, %s wrong yes (%s %%).',
	demo.number(count(DISTINCT host)), demo.number(count(*)), demo.number(count(*) FILTER (WHERE hosts @> host)),
	coalesce(round(100.0 * count(*) FILTER (WHERE hosts @> host) / nullif(count(*), 0), 2), 0)) AS text
FROM (SELECT c.hosts, h.host FROM chunk_summary c, (SELECT host FROM access_log GROUP BY host ORDER BY md5(host) LIMIT 2000) h
	WHERE NOT EXISTS (SELECT FROM (SELECT DISTINCT tableoid::regclass AS chunk, host FROM access_log) d WHERE d.chunk = c.chunk AND d.host = h.host)) a \gset
\echo :text
\echo
\echo :same
\echo :only
