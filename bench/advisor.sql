-- advisor.sql: what bench/advisor measures. Variable: scale, the share of the made rows.
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SET jit = off;

CREATE FUNCTION pages_read(query text) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::integer + (plan #>> '{0,Plan,Shared Read Blocks}')::integer;
END $$;
CREATE TABLE built (tab text, col text, bf bigint, btree bigint, gin bigint, absent float8, rare float8);
CREATE TABLE said (tab text, budget text, col text, bf bigint, btree bigint, gin bigint, absent float8, rare float8);
CREATE TABLE called (tab text, budget text, seconds float8, pages bigint);

-- Makes the indexes of a column and measures them.
CREATE PROCEDURE build(tab text, col text, class text, gin_class text) LANGUAGE plpgsql AS $$
DECLARE
	type regtype := (SELECT atttypid FROM pg_attribute WHERE attrelid = tab::regclass AND attname = col);
	m built;
	is_key boolean := class <> '' OR type IN ('integer[]'::regtype, 'tsvector'::regtype);
	operator text := CASE WHEN type = 'tsvector'::regtype THEN '@@' WHEN is_key THEN '@>' ELSE '=' END;
BEGIN
	m.tab := tab; m.col := col;
	EXECUTE format('CREATE INDEX b ON %s USING bf (%I %s)', tab, col, class);
	m.bf := pg_relation_size('b');
	EXECUTE format('SELECT avg(pages_read(format(%L, v))) FROM (SELECT %s FROM generate_series(1, 60) i) a(v)', format('SELECT * FROM %s WHERE %I %s %%L', tab, col, operator),
		CASE type WHEN 'text'::regtype THEN '''nowhere '' || i' WHEN 'jsonb'::regtype THEN 'jsonb_build_object(''id'', -i)::text' WHEN 'integer[]'::regtype THEN 'ARRAY[-i]::text'
			WHEN 'tsvector'::regtype THEN '''nowhere'' || i' WHEN 'timestamptz'::regtype THEN '(''1999-01-01''::timestamptz + i * interval ''1 s'')::text' WHEN 'boolean'::regtype THEN 'NULL' ELSE '(-i * 1000)::text' END) INTO m.absent;
	IF NOT is_key THEN
		EXECUTE format('SELECT avg(pages_read(format(%L, v))) FROM (SELECT v FROM (SELECT %I::text AS v, count(*) AS n FROM %s WHERE %2$I IS NOT NULL GROUP BY 1 ORDER BY n, md5(%2$I::text)
			LIMIT greatest((SELECT count(DISTINCT %2$I) / 10 FROM %3$s), 1)) c ORDER BY md5(v) LIMIT 10) a', format('SELECT * FROM %s WHERE %I = %%L', tab, col), col, tab) INTO m.rare;
	END IF;
	DROP INDEX b;
	IF NOT is_key THEN
		BEGIN
			EXECUTE format('CREATE INDEX b ON %s (%I)', tab, col);
			m.btree := pg_relation_size('b');
			DROP INDEX b;
		EXCEPTION WHEN program_limit_exceeded THEN	-- a value is too long for a B-tree
		END;
	END IF;
	IF gin_class <> '' THEN
		EXECUTE format('CREATE INDEX b ON %s USING gin (%I %s)', tab, col, gin_class);
		m.gin := pg_relation_size('b');
		DROP INDEX b;
	END IF;
	INSERT INTO built SELECT m.*;
END $$;
CREATE PROCEDURE ask(tab text, budget text) LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	INSERT INTO said SELECT tab, budget, "column", bf_bytes, btree_bytes, gin_bytes, pages_absent, pages_rare FROM bf_index_advise(tab::regclass, NULL, budget::interval);
	INSERT INTO called VALUES (tab, budget, extract(epoch FROM clock_timestamp() - begun), pg_relation_size(tab) / 8192);
END $$;

SELECT setseed(0.5);
CREATE TABLE made AS
	SELECT i AS in_order, (random() * 1e9)::integer AS random, (i / 40 * 7919) % 1000003 AS clustered, (exp(random() * 14))::integer AS skewed, CASE WHEN random() < 0.5 THEN i END AS half_null,
		7 AS equal, CASE WHEN i / 100000 % 4 = 0 THEN i % 100 ELSE i END AS uneven, random() < 0.5 AS flag, md5((i / 3)::text) AS trace, 'host ' || (i * 7919::bigint) % 20011 AS host,
		'2026-01-01'::timestamptz + i * interval '0.2 s' AS at, (i % 977)::text AS page, ARRAY[i % 1000, i, (i / 100) % 500] AS tags,
		jsonb_build_object('id', i, 'kind', i % 7, 'user', (random() * 5000)::integer) AS doc,
		to_tsvector('simple', format('user%s got page%s in ms%s', (random() * 20000)::integer, i % 977, (random() * 999)::integer)) AS words
	FROM generate_series(1, (1500000 * :scale)::integer) i;
CREATE TABLE blog AS SELECT n AS id, split_part(line, ' ', 1) AS host, substring(line FROM '\[([^]]+)') AS at, split_part(line, ' ', 7) AS url, split_part(line, ' ', 9) AS status,
	split_part(line, '"', 6) AS agent, line FROM log_lines ORDER BY n;
DROP TABLE log_lines;
VACUUM ANALYZE;
SELECT format('CALL build(%L, %L, %L, %L)', tab, attname, CASE WHEN atttypid = 'jsonb'::regtype THEN 'jsonb_path_ops' ELSE '' END,
	CASE WHEN atttypid = 'jsonb'::regtype THEN 'jsonb_path_ops' WHEN attname IN ('tags', 'words') THEN '' || CASE attname WHEN 'tags' THEN 'array_ops' ELSE 'tsvector_ops' END WHEN attname IN ('line', 'url', 'host') THEN 'gin_trgm_ops' ELSE '' END)
FROM unnest('{made, blog, blocks}'::text[]) tab JOIN pg_attribute ON attrelid = tab::regclass AND attnum > 0 WHERE pg_relation_size(tab::regclass) > 0 ORDER BY tab, attnum \gexec
SELECT format('CALL ask(%L, %L)', tab, budget) FROM unnest('{made, blog, blocks}'::text[]) tab, unnest('{1 hour, 2 s, 1 us}'::text[]) budget WHERE pg_relation_size(tab::regclass) > 0 \gexec

SELECT format('%s. Ratios: said to built.', split_part(version(), ' on ', 1));
\echo
\echo '| budget | what | columns | median | least | most | outside |'
\echo '| --- | --- | ---: | ---: | ---: | ---: | --- |'
CREATE VIEW ratios AS SELECT tab, budget, col, what, said, built, said / nullif(built, 0) AS ratio, bound FROM said s JOIN built b USING (tab, col),
	LATERAL (VALUES ('bf bytes', s.bf::float8, b.bf::float8, 1.25), ('B-tree bytes', s.btree, b.btree, 1.5), ('GIN bytes', s.gin, b.gin, 1.5), ('pages, absent value', s.absent, b.absent, 2), ('pages, rare value', s.rare, b.rare, 2)) v(what, said, built, bound)
	WHERE said IS NOT NULL AND built IS NOT NULL AND NOT (what = 'pages, absent value' AND col IN ('flag', 'tags', 'doc', 'words'));
SELECT format('| %s | %s | %s | %s | %s | %s | %s |', budget, what, count(*), round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio))::numeric, 2), round(min(ratio)::numeric, 2), round(max(ratio)::numeric, 2),
	coalesce(string_agg(format('%s.%s %s', tab, col, round(ratio::numeric, 2)), ', ' ORDER BY ratio) FILTER (WHERE ratio > bound OR ratio < 1 / bound), 'none'))
FROM ratios GROUP BY budget, what ORDER BY budget::interval DESC, what;
\echo
\echo '| table | pages | budget | seconds |'
\echo '| --- | ---: | --- | ---: |'
SELECT format('| %s | %s | %s | %s |', tab, pages, budget, round(seconds::numeric, 2)) FROM called ORDER BY tab, budget::interval DESC;
