-- 6-search.sql: searches lines for a word and an address, and compares with GIN and the trigrams of pg_trgm, if that
-- is there.

SELECT count(*) = 1 AS has_trgm FROM pg_available_extensions WHERE name = 'pg_trgm' \gset
SET maintenance_work_mem = '512MB';
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;
VACUUM ANALYZE log_line;

-- The first of these words that stands in 1 to 500 lines; the first word if none does. Break-in attempts and crawlers
-- leave such lines in all logs.
SELECT word FROM unnest(ARRAY['phpmyadmin', 'sqlmap', 'wp-config', '.env', 'curl/7', 'favicon', 'robots.txt']) WITH ORDINALITY w (word, n)
ORDER BY (SELECT count(*) FROM log_line WHERE line LIKE '%' || word || '%') BETWEEN 1 AND 500 DESC, n LIMIT 1 \gset
-- An address with few hits; of IPv4, if there is one.
SELECT host AS address FROM access_log GROUP BY host ORDER BY host ~ '\d+\.\d+\.\d+\.\d+' DESC, count(*) BETWEEN 2 AND 20 DESC, count(*) DESC, host LIMIT 1 \gset
SELECT format('SELECT * FROM log_line WHERE line LIKE %L', '%' || :'word' || '%') AS word_query, format('SELECT * FROM log_line WHERE line LIKE %L', '%' || :'address' || '%') AS address_query \gset

CREATE FUNCTION demo.takes_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Scan' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
CREATE TABLE demo.searched (n int, how text, seconds numeric, bytes bigint, pages bigint, address_pages bigint, ms numeric);
INSERT INTO demo.searched SELECT 1, 'no index', NULL, NULL, c.pages, a.pages, a.ms FROM demo.cost(:'word_query') c, demo.cost(:'address_query') a;
\echo 'The lines themselves, and a word and an address somewhere in them:'
\echo '  ' :word_query
\echo '  ' :address_query
\echo
SELECT clock_timestamp() AS start \gset
\set ECHO queries
CREATE INDEX log_line_bf ON log_line USING bf (line gram_ops);
\set ECHO none
SELECT demo.takes_index(:'word_query') AND demo.takes_index(:'address_query') AS taken \gset
INSERT INTO demo.searched SELECT 2, 'USING bf (line gram_ops)', extract(epoch FROM clock_timestamp() - :'start'), pg_relation_size('log_line_bf'), c.pages, a.pages, a.ms
	FROM demo.cost(:'word_query') c, demo.cost(:'address_query') a;
SELECT (SELECT count(*) FROM log_line WHERE line LIKE '%' || :'word' || '%') AS words_by_bf, (SELECT count(*) FROM log_line WHERE line LIKE '%' || :'address' || '%') AS addresses_by_bf \gset
DROP INDEX log_line_bf;
\if :has_trgm
	CREATE EXTENSION IF NOT EXISTS pg_trgm;
	SELECT clock_timestamp() AS start \gset
	CREATE INDEX log_line_gin ON log_line USING gin (line gin_trgm_ops);
	-- The planner estimates by the pattern of LIKE alone, and might read the whole table. But the pages that the index
	-- reads are to be compared.
	SET enable_seqscan = off;
	INSERT INTO demo.searched SELECT 3, 'USING gin (line gin_trgm_ops)', extract(epoch FROM clock_timestamp() - :'start'), pg_relation_size('log_line_gin'), c.pages, a.pages, a.ms
		FROM demo.cost(:'word_query') c, demo.cost(:'address_query') a;
	RESET enable_seqscan;
	DROP INDEX log_line_gin;
\endif
\echo
SELECT how, round(seconds, 1) AS "built in, s", demo.in_column(bytes) AS bytes, demo.in_column(pages) AS "pages read: word", demo.in_column(address_pages) AS "address", ms FROM demo.searched ORDER BY n;
SELECT demo.number(pg_table_size('log_line')) AS size, round(max(bytes) FILTER (WHERE n = 3) / max(bytes) FILTER (WHERE n = 2)::numeric) AS times FROM demo.searched \gset
\if :has_trgm
	\echo 'The table has' :size 'bytes. The index with Bloom filters takes 1 /' :times 'of the bytes of GIN.'
\else
	\echo 'The table has' :size 'bytes. (Without the extension pg_trgm there is no GIN index to compare with.)'
\endif
\if :taken
\else
	\echo '(PostgreSQL reads this table rather than the index: it is small, or too many of its pages have these lines.)'
\endif
\echo 'docs/searching.md: words, JSON documents, tags; and what is not fast.'
\echo
SELECT demo.verdict(:words_by_bf = (SELECT count(*) FROM log_line WHERE line LIKE '%' || :'word' || '%') AND :addresses_by_bf = (SELECT count(*) FROM log_line WHERE line LIKE '%' || :'address' || '%'),
	format('the index finds the %s and %s lines that a scan finds', :words_by_bf, :addresses_by_bf)) AS verdict \gset
\echo :verdict
