-- 8-bytes.sql: the size of the filters, compared with the table and with the usual indexes.

-- A B-tree takes no entry above a third of a page: a log may hold such a host or URL.
DO $$ BEGIN CREATE INDEX access_log_host ON access_log (host); EXCEPTION WHEN program_limit_exceeded THEN NULL; END $$;
DO $$ BEGIN CREATE INDEX access_log_url ON access_log (url); EXCEPTION WHEN program_limit_exceeded THEN NULL; END $$;

WITH thing AS (
	SELECT 1 AS n, 'table access_log' AS what, sum(pg_table_size(relid)) AS bytes FROM pg_partition_tree('access_log')
	UNION ALL SELECT 2, 'its B-tree indexes on host', sum(pg_relation_size(relid)) FROM pg_partition_tree(to_regclass('access_log_host'))
	UNION ALL SELECT 3, 'its B-tree indexes on url', sum(pg_relation_size(relid)) FROM pg_partition_tree(to_regclass('access_log_url'))
	UNION ALL SELECT 4, 'bf of the hosts, one a partition', sum(pg_column_size(hosts)) FROM chunk_summary
	UNION ALL SELECT 5, 'bf of the pages, one a partition', sum(pg_column_size(pages)) FROM chunk_summary
	UNION ALL SELECT 4.5, 'the same by bf_compact(), 1 % wrong', sum(pg_column_size(bf_compact(hosts))) FROM chunk_summary
	UNION ALL SELECT 5.5, 'the same by bf_compact(), 1 % wrong', sum(pg_column_size(bf_compact(pages))) FROM chunk_summary
	UNION ALL SELECT 6, 'table chunk_summary, as it lies on disk', pg_total_relation_size('chunk_summary')
	UNION ALL SELECT 7, 'bf index on host and url', sum(pg_relation_size(relid)) FROM pg_partition_tree('access_log_bf')
	UNION ALL SELECT 8, 'table of exact hits of all pages, no index', pg_table_size('demo.page')
	UNION ALL SELECT 9, 'tbf of all pages', sum(pg_column_size(heat)) FROM page_hits
	UNION ALL SELECT 10, 'tbf an hour, of all hours together', sum(pg_column_size(f)) FROM hourly
)
SELECT what, coalesce(demo.in_column(bytes), 'cannot be made: a text is too long') AS bytes,
	to_char(100 * bytes / first_value(bytes) OVER (ORDER BY n), '990.00') || ' %' AS "of the table"
FROM thing ORDER BY n;

SELECT coalesce(', in 1 / ' || round((SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(to_regclass('access_log_host'))) / sum(pg_column_size(hosts)))
	|| ' of the bytes of the index on host', '') AS times FROM chunk_summary \gset
\echo 'Indexes lead to the rows. The filters say which partitions to look at':times','
\echo 'and what is hot, for which an index does not help.'
DROP INDEX IF EXISTS access_log_host, access_log_url;
