-- growth.sql: measurements and Markdown tables of bench/growth. index.sql, which is loaded before it, has those of
-- partitions.
SET client_min_messages = warning;
SELECT count(*) > 0 AS hll FROM pg_available_extensions WHERE name = 'hll' \gset
\if :hll
CREATE EXTENSION hll;
\endif

-- The aggregates. In sql, %1$s stands for the number of rows, which is the expected number of items. most_rows,
-- most_groups: the largest sizes at which the aggregate is measured. slow_groups: with so many groups or more it is
-- measured only once.
CREATE TABLE aggregate (id serial, name text, sql text, most_rows bigint, most_groups bigint, slow_groups bigint DEFAULT 1e9);
INSERT INTO aggregate (name, sql, most_rows, most_groups) VALUES
	('no aggregate', 'count(*)', 1e9, 1e9),
	('bf_agg(x)', 'bf_agg(x)', 1e9, 1e9),
	('bf_agg(x, n)', 'bf_agg(x, %1$s)', 1e9, 0),
	('bf_agg(x, 1000)', 'bf_agg(x, 1000)', 0, 1e9),
	('tbf_agg(x, at)', 'tbf_agg(x, at)', 1e7, 1e9),
	('sbf_agg(x)', 'sbf_agg(x)', 1e7, 0);
INSERT INTO aggregate (name, sql, most_rows, most_groups, slow_groups) SELECT 'hll_add_agg', 'hll_add_agg(hll_hash_bigint(x))', 1e9, 10000, 10000 WHERE :'hll';
INSERT INTO aggregate (name, sql, most_rows, most_groups) VALUES
	('array_agg(x)', 'array_agg(x)', 1e7, 1e9),
	('count(DISTINCT x)', 'count(DISTINCT x)', 1e7, 0);

CREATE TABLE timing (series text, name text, rows bigint, groups bigint, ms float8, memory bigint, bytes bigint);

-- The largest resident size of this session so far, in bytes; NULL if the system does not report it.
CREATE FUNCTION most_memory() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+) kB')::bigint * 1024;
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END $$;

-- REQUIRES: a fresh session
CREATE PROCEDURE measure(series text, wanted text, rows bigint, groups bigint) LANGUAGE plpgsql AS $$
DECLARE
	a aggregate := x FROM aggregate x WHERE name = wanted;
	before bigint;
	after bigint;
	began timestamptz;
	elapsed float8;
	bytes bigint;
	query text;
	grouping text;
BEGIN
	SET LOCAL jit = off;
	SET LOCAL max_parallel_workers_per_gather = 0;
	SET LOCAL work_mem = '2GB';
	SET LOCAL enable_sort = off;
	-- The factor is prime, so consecutive items go to different groups.
	query := 'SELECT sum(size) FROM (SELECT pg_column_size(%s) AS size FROM (SELECT generate_series(1::bigint, %s) AS x, timestamptz ''2026-01-01'' AS at) s %s OFFSET 0) t';
	grouping := CASE WHEN series = 'groups' THEN format('GROUP BY x * 1048573 %% %s', groups) ELSE '' END;
	-- Memory that the first use of the extension and of the executor takes is not counted.
	EXECUTE format(query, format(a.sql, 10), 10, grouping);
	before := most_memory();
	began := clock_timestamp();
	EXECUTE format(query, format(a.sql, rows), rows, grouping) INTO bytes;
	elapsed := milliseconds(began);
	after := most_memory();
	INSERT INTO timing VALUES (series, wanted, rows, groups, elapsed, after - before, bytes);
END $$;

CREATE VIEW figures AS
	SELECT series, id, name, rows, groups, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, min(ms) AS low, max(ms) AS high,
		percentile_disc(0.5) WITHIN GROUP (ORDER BY memory) AS memory, max(bytes) AS bytes
	FROM timing JOIN aggregate USING (name) GROUP BY 1, 2, 3, 4, 5;

CREATE FUNCTION many(bigint) RETURNS text LANGUAGE sql RETURN to_char($1, 'FM999,999,999,999');
CREATE FUNCTION megabytes(bigint) RETURNS text LANGUAGE sql RETURN coalesce(round($1 / 1e6, 1)::text, '?');

CREATE FUNCTION rows_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| rows | aggregate | ms | least to most | ns a row beyond count(\*) | memory, MB | the value, MB | times the value |'
	UNION ALL SELECT '| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL (SELECT format('| %s | %s | %s | %s to %s | %s | %s | %s | %s |', many(f.rows), replace(f.name, 'no aggregate', 'count(\*)'), round(f.ms::numeric, 1),
		round(f.low::numeric, 1), round(f.high::numeric, 1), CASE WHEN f.name <> 'no aggregate' THEN round(((f.ms - n.ms) * 1e6 / f.rows)::numeric, 1)::text END,
		megabytes(f.memory), CASE WHEN f.name !~ '^no|count' THEN megabytes(f.bytes) END,
		CASE WHEN f.name !~ '^no|count' AND f.bytes > 100000 THEN round(f.memory::numeric / f.bytes, 2)::text END)
	FROM figures f JOIN figures n ON n.series = 'rows' AND n.rows = f.rows AND n.name = 'no aggregate'
	WHERE f.series = 'rows' ORDER BY f.rows, f.id) $$;

CREATE FUNCTION groups_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| groups | aggregate | ms | least to most | ns a row beyond count(\*) | memory, MB | bytes a group | the values, bytes a group |'
	UNION ALL SELECT '| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL (SELECT format('| %s | %s | %s | %s to %s | %s | %s | %s | %s |', many(f.groups), replace(f.name, 'no aggregate', 'count(\*)'), round(f.ms::numeric, 1),
		round(f.low::numeric, 1), round(f.high::numeric, 1), CASE WHEN f.name <> 'no aggregate' THEN round(((f.ms - n.ms) * 1e6 / f.rows)::numeric, 1)::text END,
		megabytes(f.memory), many(f.memory / f.groups), CASE WHEN f.name <> 'no aggregate' THEN many(f.bytes / f.groups) END)
	FROM figures f JOIN figures n ON n.series = 'groups' AND n.groups = f.groups AND n.name = 'no aggregate'
	WHERE f.series = 'groups' ORDER BY f.groups, f.id) $$;

/* ------------------------------------------------------------------- core */

CREATE TABLE core (size bigint, what text, operation text, ns float8, low float8, high float8, bytes bigint);

CREATE FUNCTION core_table(wanted text) RETURNS TABLE (line text) LANGUAGE sql AS $$
	WITH named AS (SELECT DISTINCT what FROM core WHERE operation = wanted)
	SELECT '| keys | MB | ' || string_agg(what, ' | ' ORDER BY what) || ' |' FROM named
	UNION ALL SELECT '| ---: | ---: | ' || string_agg('---:', ' | ') || ' |' FROM named
	UNION ALL (SELECT format('| %s | %s | %s |', many(size), round(max(bytes) / 1e6, 2),
		string_agg(format('%s (%s to %s)', round(ns::numeric, 2), round(low::numeric, 2), round(high::numeric, 2)), ' | ' ORDER BY what))
	FROM core WHERE operation = wanted GROUP BY size ORDER BY size) $$;

CREATE FUNCTION whole_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| bytes | | GB/s | over memcpy |' UNION ALL SELECT '| ---: | --- | ---: | ---: |'
	UNION ALL (SELECT format('| %s | %s | %s | %s |', many(c.size), c.what, to_char(1000 / c.ns, 'FM9990.0000'), to_char(m.ns / c.ns, 'FM9990.0000'))
	FROM core c JOIN core m ON m.operation = 'whole' AND m.size = c.size AND m.what = split_part(c.what, ':', 1) || ': memcpy'
	WHERE c.operation = 'whole' ORDER BY c.bytes, split_part(c.what, ':', 1), c.what <> m.what, c.what) $$;

/* ------------------------------------------------------------- partitions */

CREATE TABLE chunk (id int, label text, partitions int, plan float8, execute float8, client float8, generic float8, buffers bigint, bytes bigint);

CREATE PROCEDURE keep_lookups(count integer) LANGUAGE sql AS $$
	INSERT INTO chunk
	SELECT x.id, x.label, count, median_of(k, 'absent', 'plan')::float8, median_of(k, 'absent', 'execute')::float8, median_of(k, 'absent', 'client')::float8,
		median_of(k, 'absent', 'generic')::float8, (SELECT max(buffers) FROM lookup WHERE kind = k AND value = 'absent'), (SELECT max(bytes) FROM built WHERE kind = k)
	FROM (SELECT id, name AS k, label FROM kind UNION ALL VALUES (100, 'skip', 'bf, chunks skipped'), (101, 'chunk_scan', 'bf, chunk_scan()')) x
	WHERE EXISTS (SELECT FROM lookup WHERE kind = k) $$;

CREATE FUNCTION partitions_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| partitions | index | plan ms | execute ms | client ms | generic plan, client ms | pages | index MB |'
	UNION ALL SELECT '| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL (SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', many(partitions), label, plan, execute, client, generic, buffers, round(bytes / 1e6, 2))
	FROM chunk ORDER BY partitions, id) $$;
