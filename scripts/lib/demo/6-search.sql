-- 6-search.sql: a word somewhere in the lines, beside GIN.

SELECT count(*) = 2 AS has_trgm FROM pg_available_extensions WHERE name IN ('pg_trgm', 'streambloom_trgm') \gset
\if :has_trgm
\else
	\echo 'Searching for parts of lines needs the extension pg_trgm, which this PostgreSQL does not have (it is in contrib).'
	\q
\endif
CREATE EXTENSION streambloom_trgm CASCADE;
SET maintenance_work_mem = '512MB';
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;
VACUUM ANALYZE log_line;

-- Which of these stands in the fewest lines, but in some? Break-in attempts and crawlers leave such lines in all logs.
SELECT word FROM unnest(ARRAY['phpmyadmin', 'sqlmap', 'wp-config', '.env', 'curl/7', 'favicon', 'robots.txt']) WITH ORDINALITY w (word, n)
ORDER BY (SELECT count(*) FROM log_line WHERE line LIKE '%' || word || '%') BETWEEN 1 AND 500 DESC, n LIMIT 1 \gset
SELECT format('SELECT * FROM log_line WHERE line LIKE %L', '%' || :'word' || '%') AS query \gset

CREATE FUNCTION demo.takes_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Scan' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
CREATE TABLE demo.searched (n int, how text, seconds numeric, bytes bigint, pages bigint, ms numeric);
INSERT INTO demo.searched SELECT 1, 'no index', NULL, NULL, c.* FROM demo.cost(:'query') c;
\echo 'The lines themselves, and a word somewhere in them:' :query
\echo
SELECT clock_timestamp() AS start \gset
\set ECHO queries
CREATE INDEX log_line_bf ON log_line USING bf (line trgm_ops);
\set ECHO none
-- PostgreSQL estimates the rows of LIKE from its characters alone, and reads the table if it thinks that there are many.
SELECT demo.takes_index(:'query') AS taken \gset
SET enable_seqscan = off;
INSERT INTO demo.searched SELECT 2, 'USING bf (line trgm_ops)', extract(epoch FROM clock_timestamp() - :'start'), pg_relation_size('log_line_bf'), c.* FROM demo.cost(:'query') c;
SELECT count(*) AS by_bf FROM log_line WHERE line LIKE '%' || :'word' || '%' \gset
DROP INDEX log_line_bf;
SELECT clock_timestamp() AS start \gset
CREATE INDEX log_line_gin ON log_line USING gin (line gin_trgm_ops);
INSERT INTO demo.searched SELECT 3, 'USING gin (line gin_trgm_ops)', extract(epoch FROM clock_timestamp() - :'start'), pg_relation_size('log_line_gin'), c.* FROM demo.cost(:'query') c;
DROP INDEX log_line_gin;
RESET enable_seqscan;
\echo
SELECT how, round(seconds, 1) AS "built in, s", demo.in_column(bytes) AS bytes, demo.in_column(pages) AS "pages read", ms FROM demo.searched ORDER BY n;
SELECT demo.number(pg_table_size('log_line')) AS size, round(max(bytes) FILTER (WHERE n = 3) / max(bytes) FILTER (WHERE n = 2)::numeric) AS times FROM demo.searched \gset
\echo 'The table has' :size 'bytes. The index with Bloom filters takes 1 /' :times 'of the bytes of GIN.'
\if :taken
\else
	\echo '(Looked up with enable_seqscan = off: PostgreSQL expects so many of these lines that by itself it would read the table.)'
\endif
\echo 'docs/searching.md: words, JSON documents, tags; and what is not fast.'
\echo
SELECT demo.verdict(:by_bf = (SELECT count(*) FROM log_line WHERE line LIKE '%' || :'word' || '%'), format('the index finds the %s lines that a scan finds', :by_bf)) AS verdict \gset
\echo :verdict
