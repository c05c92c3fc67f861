-- comparison.sql: the tables and measurements of bench/comparison, which says what it needs. Prints Markdown.
CREATE EXTENSION streambloom;
CREATE EXTENSION pg_trgm;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '256MB';

-- A log of 30 days in the order of its time: the number of a request, which never comes again; hosts, of which some
-- come often and most seldom; tags; and the line with all of it.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE log AS
SELECT at, host, request, ARRAY['host:' || host, 'status:' || status, 'request:' || request] AS tags,
	format('%s - - [%s] "GET /page/%s HTTP/1.1" %s %s "request=%s"', host, to_char(at, 'DD/Mon/YYYY:HH24:MI:SS +0000'), n % 5000, status, 200 + n % 9000, request) AS line
FROM (SELECT n, timestamptz '2026-10-01 00:00+00' + n * (interval '30 days' / :rows) AS at, md5(n::text)::uuid::text AS request,
		format('10.%s.%s.%s', h / 65536, h / 256 % 256, h % 256) AS host, CASE WHEN n % 50 = 0 THEN 404 ELSE 200 END AS status
	FROM (SELECT n, (20000 * random() ^ 3)::int AS h FROM generate_series(1, :rows) n) r) s;
VACUUM ANALYZE log;

-- The pages of tables and indexes that a query touches, without those that planning touches.
CREATE FUNCTION pages(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json; total bigint;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END$$;

-- BRIN bloom has to be told how many values a range has: 128 pages of 25 rows.
CREATE TABLE kind (place int GENERATED ALWAYS AS IDENTITY, subject text, name text, definition text);
INSERT INTO kind (subject, name, definition) VALUES
	('request', 'none', NULL), ('request', 'B-tree', 'USING btree (request)'), ('request', 'hash', 'USING hash (request)'), ('request', 'BRIN minmax', 'USING brin (request)'),
	('request', 'BRIN bloom', 'USING brin (request text_bloom_ops (n_distinct_per_range = 3200, false_positive_rate = 0.01))'), ('request', 'bf', 'USING bf (request)'),
	('host', 'none', NULL), ('host', 'B-tree', 'USING btree (host)'), ('host', 'hash', 'USING hash (host)'), ('host', 'BRIN minmax', 'USING brin (host)'),
	('host', 'BRIN bloom', 'USING brin (host text_bloom_ops (n_distinct_per_range = 3200, false_positive_rate = 0.01))'), ('host', 'bf', 'USING bf (host)'),
	('tags', 'none', NULL), ('tags', 'GIN', 'USING gin (tags)'), ('tags', 'bf', 'USING bf (tags)'),
	('line', 'none', NULL), ('line', 'GIN, pg_trgm', 'USING gin (line gin_trgm_ops)'), ('line', 'bf', 'USING bf (line gram_ops)');
CREATE TABLE measured (place int, bytes bigint, absent bigint, rare bigint, wal numeric);

-- The rarest host, and a request in the middle.
SELECT host AS rare_host FROM log GROUP BY host ORDER BY count(*), host LIMIT 1 \gset
SELECT request AS one_request FROM log OFFSET :rows / 2 LIMIT 1 \gset
CREATE TABLE question (subject text, absent text, rare text);
INSERT INTO question VALUES
	('request', $$request = '00000000-0000-0000-0000-000000000000'$$, format('request = %L', :'one_request')),
	('host', $$host = '192.0.2.1'$$, format('host = %L', :'rare_host')),
	('tags', $$tags @> '{request:00000000-0000-0000-0000-000000000000}'$$, format('tags @> ARRAY[%L]', 'request:' || :'one_request')),
	('line', $$line LIKE '%request=00000000-0000-0000-0000-000000000000%'$$, format('line LIKE %L', '%request=' || :'one_request' || '%'));

-- Makes each index alone on the table, and measures it. Then makes it alone on an empty table, into which a tenth of
-- the rows is inserted.
CREATE FUNCTION measure() RETURNS void LANGUAGE plpgsql AS $$
DECLARE k record; q record; since pg_lsn;
BEGIN
	CREATE TABLE fresh AS SELECT * FROM log WHERE false;
	FOR k IN SELECT * FROM kind ORDER BY place LOOP
		SELECT * INTO q FROM question WHERE subject = k.subject;
		IF k.definition IS NOT NULL THEN EXECUTE 'CREATE INDEX measured_index ON log ' || k.definition; END IF;
		PERFORM set_config('enable_seqscan', CASE WHEN k.definition IS NULL THEN 'on' ELSE 'off' END, true);
		INSERT INTO measured SELECT k.place, pg_relation_size(to_regclass('measured_index')),
			pages('SELECT * FROM log WHERE ' || q.absent), pages('SELECT * FROM log WHERE ' || q.rare);
		DROP INDEX IF EXISTS measured_index;
		TRUNCATE fresh;
		IF k.definition IS NOT NULL THEN EXECUTE 'CREATE INDEX fresh_index ON fresh ' || k.definition; END IF;
		since := pg_current_wal_insert_lsn();
		INSERT INTO fresh SELECT * FROM log TABLESAMPLE SYSTEM (10) REPEATABLE (1);
		-- What VACUUM or a summarizer would write later is part of the cost of a row.
		CASE
			WHEN k.definition LIKE 'USING brin%' THEN PERFORM brin_summarize_new_values('fresh_index');
			WHEN k.definition LIKE 'USING gin%' THEN PERFORM gin_clean_pending_list('fresh_index');
			WHEN k.definition LIKE 'USING bf%' THEN PERFORM bf_summarize_new_values('fresh_index');
			ELSE NULL;
		END CASE;
		UPDATE measured SET wal = (pg_current_wal_insert_lsn() - since) / (SELECT count(*) FROM fresh) WHERE place = k.place;
		DROP INDEX IF EXISTS fresh_index;
	END LOOP;
END$$;
SELECT measure() \g /dev/null

-- For filters that each cover rows_each rows, and are all read for each value: their number, their bytes, and how
-- many rows are read in vain for an absent value. bits: an expression for the size of a filter of d distinct values.
CREATE FUNCTION in_batches(rows_each int, bits text, rate float8, OUT filters bigint, OUT bytes numeric, OUT in_vain float8) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$ SELECT count(*), sum(ceil(bits / 8)), count(*) * $2 * $1
		FROM (SELECT %s AS bits FROM (SELECT count(DISTINCT request)::float8 AS d FROM (SELECT request, (row_number() OVER ()) / $1 AS batch FROM log) r GROUP BY batch) b) s $q$, bits)
		INTO filters, bytes, in_vain USING rows_each, rate;
END$$;

\pset recordsep '\n'
SELECT format($$# Beside other tools: bytes, pages, WAL

Made by `bench/comparison`: %s, a made-up log of %s rows in %s MB (%s pages), in the order of its time. Every index stands alone on the table.
"Absent" and "rare" are the pages of table and index that a query touches for a value that is nowhere, and for one that few rows have (a request: one row). "WAL" are
bytes for each new row, beyond those of the table without an index, with what summarizing (BRIN, bf) and the pending list (GIN) write later.$$,
	split_part(version(), ' (', 1), to_char(:rows, 'FM999,999,999'), pg_table_size('log') / 1000000, to_char(pg_relation_size('log') / 8192, 'FM999,999,999'));
SELECT E'\n## An index\n\n| column | index | MB | absent | rare | WAL |\n| --- | --- | ---: | ---: | ---: | ---: |';
SELECT format('| %s | %s | %s | %s | %s | %s |', k.subject, k.name, coalesce(to_char(m.bytes / 1e6, 'FM999,990.0'), ''), to_char(m.absent, 'FM999,999,999'), to_char(m.rare, 'FM999,999,999'),
	CASE WHEN k.definition IS NULL THEN '' ELSE to_char(m.wal - first_value(m.wal) OVER (PARTITION BY k.subject ORDER BY k.place), 'FM999,990') END)
FROM kind k JOIN measured m USING (place) ORDER BY place;

SELECT E'\n## Filters in batches of rows\n\nThe column request, as filters that are read one after the other: calculated from the parameters that the sources of the two servers name, not measured there.'
	' bf: measured above.\n\n| | filters | MB | MB read for a value that is nowhere | rows read in vain |\n| --- | ---: | ---: | ---: | ---: |';
-- ClickHouse, index type bloom_filter with its defaults: a granule of 8,192 rows, 8 bits for each distinct value, 4
-- hashes.
SELECT format('| ClickHouse, `bloom_filter`, GRANULARITY 1 | %s | %s | %s | %s |', to_char(filters, 'FM999,999'), to_char(bytes / 1e6, 'FM990.00'), to_char(bytes / 1e6, 'FM990.00'), to_char(in_vain, 'FM999,999'))
FROM in_batches(8192, 'd * 8', (1 - exp(-4.0 / 8)) ^ 4);
-- TimescaleDB, sparse index bloom: a batch of 1,000 rows, 6 hashes, the next power of two above the bits for a rate
-- of 0.022.
SELECT format('| TimescaleDB, sparse index `bloom` | %s | %s | %s | %s |', to_char(filters, 'FM999,999'), to_char(bytes / 1e6, 'FM990.00'), to_char(bytes / 1e6, 'FM990.00'), to_char(in_vain, 'FM999,999'))
FROM in_batches(1000, '2 ^ greatest(6, ceil(log(2, (-6 * d / ln(1 - 0.022 ^ (1.0 / 6)))::numeric)))', (1 - exp(-6.0 * 1000 / 8192)) ^ 6);
SELECT format('| `bf`, whose ranges have levels above them | | %s | %s | |', to_char(bytes / 1e6, 'FM990.00'), to_char(absent * 8192 / 1e6, 'FM990.00'))
FROM measured JOIN kind USING (place) WHERE subject = 'request' AND name = 'bf';

SELECT E'\n## How many hosts, which hosts, how often\n\nOne value for each of the 30 days, and all of them united: bytes of a day on average, bytes of the union, and what it says.\n\n'
	'| | bytes of a day | bytes of all | distinct hosts | says also |\n| --- | ---: | ---: | ---: | --- |';
CREATE TABLE daily AS SELECT at::date AS day, bf_agg(host) AS f, tbf_agg(host, at, NULL) AS t FROM log GROUP BY 1;
SELECT format('| exact | | | %s | |', count(DISTINCT host)) FROM log;
\if :has_hll
CREATE EXTENSION hll;
CREATE TABLE daily_hll AS SELECT at::date AS day, hll_add_agg(hll_hash_text(host)) AS h FROM log GROUP BY 1;
SELECT format('| hll | %s | %s | %s | |', (SELECT avg(pg_column_size(h))::int FROM daily_hll), pg_column_size(hll_union_agg(h)), round(hll_cardinality(hll_union_agg(h)))) FROM daily_hll;
\endif
SELECT format('| `bf` | %s | %s | %s | which hosts, on which days |', (SELECT avg(pg_column_size(f))::int FROM daily), pg_column_size(bf_union_agg(f)), round(bf_cardinality(bf_union_agg(f)))) FROM daily;
SELECT format('| `bf`, 1 %%, by `bf_compact` | %s | %s | %s | the same |', (SELECT avg(pg_column_size(bf_compact(f)))::int FROM daily), pg_column_size(bf_compact(bf_union_agg(f))), round(bf_cardinality(bf_compact(bf_union_agg(f))))) FROM daily;
SELECT format('| `tbf` | %s | %s | %s | which hosts, and how often each |', (SELECT avg(pg_column_size(t))::int FROM daily), pg_column_size(tbf_merge_agg(t)), round(tbf_cardinality(tbf_merge_agg(t)))) FROM daily;
