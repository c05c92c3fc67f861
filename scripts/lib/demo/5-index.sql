-- 5-index.sql: the index access method bf: what plain queries read with it and without it, what chunk_scan() reads, and
-- the size of the index compared with a B-tree.

-- A host with few hits, as one looks for in a log.
SELECT host FROM access_log GROUP BY host ORDER BY count(*) BETWEEN 2 AND 20 DESC, count(*) DESC, host LIMIT 1 \gset

-- The pages of tables and indexes that a query reads, including planning, and the time of the second of two runs. The
-- pages are those that the session has counted for these relations. The plan's own count would include the catalogs
-- that chunk_scan() reads, and would lack what Skip asks before the first node begins.
CREATE FUNCTION demo.pages_read() RETURNS bigint LANGUAGE sql AS
	'SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::bigint FROM pg_class WHERE relnamespace = ''public''::regnamespace AND relkind IN (''r'', ''i'')';
CREATE FUNCTION demo.cost(query text, OUT pages bigint, OUT ms numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1 .. 2 LOOP
		pages := demo.pages_read();
		EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON, FORMAT JSON) ' || query INTO plan;
	END LOOP;
	pages := demo.pages_read() - pages;
	ms := round((plan->0->>'Planning Time')::numeric + (plan->0->>'Execution Time')::numeric, 1);
END $$;
CREATE TABLE demo.asked (n int, how text, pages bigint, ms numeric);

\echo 'The summaries of section 4 are a table that somebody has to keep. An index keeps such filters by itself, for each few'
\echo 'pages of the table:'
\echo
INSERT INTO demo.asked SELECT 1, 'without an index', c.* FROM demo.cost(format('SELECT * FROM access_log WHERE host = %L', :'host')) c;
\set ECHO queries
CREATE INDEX access_log_bf ON access_log USING bf (host, url);
\set ECHO none
VACUUM access_log;
SET streambloom.enable_skip = off;
INSERT INTO demo.asked SELECT 2, 'by the index', c.* FROM demo.cost(format('SELECT * FROM access_log WHERE host = %L', :'host')) c;
RESET streambloom.enable_skip;
INSERT INTO demo.asked SELECT 3, 'partitions skipped, too (LOAD ''streambloom'')', c.* FROM demo.cost(format('SELECT * FROM access_log WHERE host = %L', :'host')) c;
INSERT INTO demo.asked SELECT 4, 'chunk_scan(), which does not even plan them', c.* FROM demo.cost(format('SELECT * FROM chunk_scan(NULL::access_log, %L, %L::text)', 'host', :'host')) c;
\echo
\echo 'SELECT * FROM access_log WHERE host =' :'host' 'then reads'
\echo
SELECT how, demo.in_column(pages) AS "pages", ms FROM demo.asked ORDER BY n;
\echo 'pages: of the table and its indexes. ms: of the second run, with its planning. Before chunk_scan() plans a'
\echo 'partition it looks whether the pages that its index names hold such a row, so it may read them twice.'

-- A B-tree takes no entry above a third of a page. A log may hold a host longer than that, from a header
-- X-Forwarded-For.
DO $$ BEGIN CREATE INDEX access_log_host ON access_log (host); EXCEPTION WHEN program_limit_exceeded THEN NULL; END $$;
SELECT demo.number(sum(pg_relation_size(relid))) AS bf_bytes FROM pg_partition_tree('access_log_bf') \gset
SELECT coalesce('takes ' || demo.number(sum(pg_relation_size(relid))), 'cannot be made: a host is too long') AS btree FROM pg_partition_tree(to_regclass('access_log_host')) \gset
DROP INDEX IF EXISTS access_log_host;
\echo 'The index on both columns takes' :bf_bytes 'bytes; a B-tree on host alone' :btree'.'
\echo

SELECT demo.verdict((SELECT array_agg(l::text ORDER BY l::text) FROM access_log l WHERE host = :'host') =
		(SELECT array_agg(l::text ORDER BY l::text) FROM chunk_scan(NULL::access_log, 'host', :'host'::text) l), 'the index and chunk_scan() find the same rows') AS same \gset
SET enable_bitmapscan = off;
SET streambloom.enable_skip = off;
SELECT count(*) AS exact FROM access_log WHERE host = :'host' \gset
RESET enable_bitmapscan;
RESET streambloom.enable_skip;
SELECT demo.verdict(:exact = (SELECT count(*) FROM access_log WHERE host = :'host'), 'and as many as a scan of the whole table') AS whole \gset
\echo :same
\echo :whole
