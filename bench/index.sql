-- index.sql: tables, measurements and Markdown tables of bench/index.
SET client_min_messages = warning;
SET check_function_bodies = off;
CREATE EXTENSION streambloom;
-- enable_seqscan = off adds so much to the cost of a sequential scan that plans with one would be JIT-compiled.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); END $$;
DO $$ BEGIN
	IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bloom') THEN CREATE EXTENSION bloom; END IF;
END $$;

CREATE TABLE kind (id serial, name text, label text, definition text, settings text);
INSERT INTO kind (name, label, definition, settings) VALUES
	('none', 'no index', NULL, ''),
	('btree', 'B-tree', 'USING btree (uid)', ''),
	('hash', 'hash', 'USING hash (uid)', ''),
	('brin', 'BRIN bloom', 'USING brin (uid int8_bloom_ops (n_distinct_per_range = 3000, false_positive_rate = 0.001)) WITH (pages_per_range = 32)', 'enable_seqscan=off'),
	('bloom', 'contrib/bloom', 'USING bloom (uid int8_as_int4_ops)', 'enable_seqscan=off'),
	('bf', 'bf', 'USING bf (uid)', '');
-- contrib/bloom has no operator class for bigint, so this makes one that hashes the integer.
DO $$ BEGIN
	IF EXISTS (SELECT FROM pg_extension WHERE extname = 'bloom') THEN
		CREATE OPERATOR CLASS int8_as_int4_ops FOR TYPE bigint USING bloom AS OPERATOR 1 =, FUNCTION 1 hashint8(bigint);
	ELSE
		DELETE FROM kind WHERE name = 'bloom';
	END IF;
END $$;

CREATE FUNCTION milliseconds(since timestamptz) RETURNS float8 LANGUAGE sql VOLATILE RETURN 1000 * extract(epoch FROM clock_timestamp() - since);

-- Maps i to a number below 2^40. Different i give different numbers, which are in no order.
CREATE FUNCTION shuffled(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN ((i * 2654435761) % 1099511627689);

/* ------------------------------------------------------------- partitions */

CREATE TABLE lookup (kind text, value text, step text, ms float8, buffers bigint);
CREATE TABLE built (kind text, ms float8, bytes bigint);
CREATE TABLE cold (kind text, pages bigint, ms float8);

-- a table for each kind of index, with the same rows
CREATE PROCEDURE build_partitioned(partitions integer, each integer) LANGUAGE plpgsql AS $$
DECLARE
	k kind;
	began timestamptz;
BEGIN
	TRUNCATE lookup, built, cold;
	FOR k IN SELECT * FROM kind ORDER BY id LOOP
		CONTINUE WHEN k.name = 'bloom' AND partitions > 200;
		EXECUTE format('CREATE TABLE p_%s (day integer, uid bigint, url text, at timestamptz) PARTITION BY RANGE (day)', k.name);
		FOR p IN 1 .. partitions LOOP
			EXECUTE format('CREATE TABLE p_%s_%s PARTITION OF p_%1$s FOR VALUES FROM (%2$s) TO (%3$s)', k.name, p, p + 1);
			EXECUTE format($q$INSERT INTO p_%s_%s SELECT %2$s, shuffled(%2$s * %3$s::bigint + i), '/a/page/with/a/name/' || i %% 3000, '2026-01-01'::timestamptz + i * interval '1 s'
				FROM generate_series(1, %3$s) i$q$, k.name, p, each);
			COMMIT;
		END LOOP;
		IF k.definition IS NOT NULL THEN
			began := clock_timestamp();
			EXECUTE format('CREATE INDEX p_%s_uid ON p_%1$s %s', k.name, k.definition);
			INSERT INTO built SELECT k.name, milliseconds(began), sum(pg_relation_size(i.inhrelid))
			FROM pg_inherits i WHERE i.inhparent = format('p_%s_uid', k.name)::regclass;
		END IF;
		COMMIT;
	END LOOP;
	FOR k IN SELECT * FROM kind ORDER BY id LOOP
		CONTINUE WHEN k.name = 'bloom' AND partitions > 200;
		EXECUTE format('ANALYZE p_%s', k.name);
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE drop_partitioned() LANGUAGE plpgsql AS $$
DECLARE
	k kind;
	p regclass;
BEGIN
	FOR k IN SELECT * FROM kind LOOP
		CONTINUE WHEN to_regclass('p_' || k.name) IS NULL;
		FOR p IN SELECT inhrelid FROM pg_inherits WHERE inhparent = format('p_%s', k.name)::regclass LOOP
			EXECUTE format('DROP TABLE %s', p);
			COMMIT;
		END LOOP;
		EXECUTE format('DROP TABLE p_%s', k.name);
		COMMIT;
	END LOOP;
END $$;

-- The pages of tables and indexes that this transaction has touched. (EXPLAIN does not count pages that are read by
-- planning, or by a node like Skip when it is initialized.)
CREATE FUNCTION fetched() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) FROM pg_class WHERE relname LIKE 'p\_%' $$;

-- Measures one query: the times of planning and execution that EXPLAIN shows, the time of the whole query, that of a
-- generic plan, and, in one round, the pages.
CREATE PROCEDURE measure_query(kind text, value text, query text, generic text) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	began timestamptz;
	n bigint;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	INSERT INTO lookup VALUES (kind, value, 'plan', (plan -> 0 ->> 'Planning Time')::float8, NULL),
		(kind, value, 'execute', (plan -> 0 ->> 'Execution Time')::float8, NULL);
	began := clock_timestamp();
	EXECUTE query INTO n;
	INSERT INTO lookup VALUES (kind, value, 'client', milliseconds(began), NULL);
	IF generic IS NOT NULL THEN
		began := clock_timestamp();
		EXECUTE generic INTO n;
		INSERT INTO lookup VALUES (kind, value, 'generic', milliseconds(began), NULL);
	END IF;
	IF NOT EXISTS (SELECT FROM lookup l WHERE (l.kind, l.value, l.step) = (measure_query.kind, measure_query.value, 'pages')) THEN
		n := fetched();
		EXECUTE query;
		INSERT INTO lookup VALUES (kind, value, 'pages', NULL, fetched() - n);
	END IF;
END $$;

-- The literals are bigints, because with literals of type int4 neither BRIN bloom nor contrib/bloom can use an index
-- on a bigint.
CREATE PROCEDURE measure_lookups(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	k kind;
	v record;
BEGIN
	SET plan_cache_mode = auto;
	DEALLOCATE ALL;
	FOR k IN SELECT * FROM kind ORDER BY id LOOP
		CONTINUE WHEN to_regclass('p_' || k.name) IS NULL;
		EXECUTE format('PREPARE g_%s(bigint) AS SELECT count(*) FROM p_%1$s WHERE uid = $1', k.name);
	END LOOP;
	PREPARE g_skip(bigint) AS SELECT count(*) FROM p_bf WHERE uid = $1;
	FOR round IN 0 .. rounds LOOP			-- round 0 warms up
		FOR v IN SELECT * FROM (VALUES ('absent', -5000000000::bigint), ('present', (SELECT uid FROM p_none OFFSET 12345 LIMIT 1))) x(name, uid) LOOP
			FOR k IN SELECT * FROM kind ORDER BY id LOOP
				CONTINUE WHEN to_regclass('p_' || k.name) IS NULL OR (k.name IN ('none', 'bloom') AND round > 3);
				PERFORM set_config('enable_seqscan', CASE WHEN k.settings = '' THEN 'on' ELSE 'off' END, false);
				PERFORM set_config('streambloom.enable_skip', 'off', false);
				SET plan_cache_mode = force_generic_plan;
				CALL measure_query(k.name, v.name, format('SELECT count(*) FROM p_%s WHERE uid = %s', k.name, v.uid),
					format('EXECUTE g_%s(%s)', k.name, v.uid));
				IF k.name = 'bf' THEN
					PERFORM set_config('streambloom.enable_skip', 'on', false);
					CALL measure_query('skip', v.name, format('SELECT count(*) FROM p_bf WHERE uid = %s', v.uid), format('EXECUTE g_skip(%s)', v.uid));
					CALL measure_query('chunk_scan', v.name, format('SELECT count(*) FROM chunk_scan(NULL::p_bf, ''uid'', %s)', v.uid), NULL);
				END IF;
			END LOOP;
		END LOOP;
		IF round = 0 THEN TRUNCATE lookup; END IF;
	END LOOP;
END $$;

CREATE FUNCTION median_of(k text, v text, s text) RETURNS text LANGUAGE sql AS $$
	SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2)::text FROM lookup WHERE (kind, value, step) = (k, v, s) $$;

CREATE FUNCTION lookup_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| | index MB | build s | absent: plan ms | execute ms | client ms | generic plan, client ms | buffers | present: client ms | buffers |'
	UNION ALL SELECT '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', label, round(bytes / 1e6, 1), round((ms / 1000)::numeric, 1),
		median_of(k, 'absent', 'plan'), median_of(k, 'absent', 'execute'), median_of(k, 'absent', 'client'), median_of(k, 'absent', 'generic'),
		(SELECT max(buffers) FROM lookup WHERE kind = k AND value = 'absent'), median_of(k, 'present', 'client'),
		(SELECT max(buffers) FROM lookup WHERE kind = k AND value = 'present'))
	FROM (SELECT id, name AS k, label FROM kind UNION ALL VALUES (100, 'skip', 'bf, chunks skipped'), (101, 'chunk_scan', 'bf, chunk_scan()')) x
	LEFT JOIN built ON built.kind = k
	WHERE EXISTS (SELECT FROM lookup WHERE kind = k)
	ORDER BY id) $$;

CREATE PROCEDURE measure_cold(k text) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
	plan json;
	began timestamptz := clock_timestamp();
	query text := CASE k WHEN 'chunk_scan' THEN 'SELECT count(*) FROM chunk_scan(NULL::p_bf, ''uid'', -5)' ELSE format('SELECT count(*) FROM p_%s WHERE uid = -5', k) END;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	INSERT INTO cold VALUES (k, (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint + coalesce((plan -> 0 -> 'Planning' ->> 'Shared Read Blocks')::bigint, 0),
		milliseconds(began));
END $$;

CREATE FUNCTION cold_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT format('| %s | %s | %s |', kind, percentile_disc(0.5) WITHIN GROUP (ORDER BY pages), round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1))
	FROM cold GROUP BY kind ORDER BY array_position(ARRAY['btree', 'hash', 'bf', 'chunk_scan'], kind) $$;

/* ------------------------------------------------------------- one table */

CREATE TABLE large_result (kind text, build_ms float8, bytes bigint, ms float8, index_pages bigint, heap_pages bigint);

CREATE PROCEDURE measure_large(row_count bigint, rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	k kind;
	began timestamptz;
	build float8;
	plan json;
	line text;
	wanted bigint;
BEGIN
	CREATE TABLE large AS SELECT i AS id, shuffled(i) AS uid, '/a/page/with/a/name/' || i % 3000 AS url, '2026-01-01'::timestamptz + i * interval '1 s' AS at, i AS bytes
		FROM generate_series(1, row_count) i;
	COMMIT;
	ANALYZE large;
	SELECT uid INTO wanted FROM large OFFSET row_count / 2 LIMIT 1;
	FOR k IN SELECT * FROM kind ORDER BY id LOOP
		CONTINUE WHEN k.definition IS NULL;
		SET enable_seqscan = off;
		FOR round IN 1 .. 3 LOOP
			began := clock_timestamp();
			EXECUTE format('CREATE INDEX large_uid ON large %s', k.definition);
			build := milliseconds(began);
			INSERT INTO large_result (kind, build_ms, bytes) VALUES (k.name, build, pg_relation_size('large_uid'));
			EXIT WHEN round = 3;
			DROP INDEX large_uid;
		END LOOP;
		FOR round IN 0 .. rounds LOOP
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM large WHERE uid = ' || wanted INTO plan;
			CONTINUE WHEN round = 0;
			INSERT INTO large_result (kind, ms, index_pages, heap_pages) SELECT k.name, (plan -> 0 ->> 'Execution Time')::float8, i,
				(plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint - i
			FROM (SELECT coalesce((plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' -> 'Plans' -> 0 ->> 'Shared Read Blocks')::bigint, 0) AS i) x;
		END LOOP;
		DROP INDEX large_uid;
		COMMIT;
	END LOOP;
END $$;

CREATE FUNCTION large_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT format('The table has %s pages (%s MB).', pg_relation_size('large') / current_setting('block_size')::int, round(pg_relation_size('large') / 1e6))
	UNION ALL SELECT ''
	UNION ALL SELECT '| index | MB | build s | a look-up, ms | pages of the index | pages of the table | of all pages |'
	UNION ALL SELECT '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s %% |', label, round(max(bytes) / 1e6, 1), round((percentile_cont(0.5) WITHIN GROUP (ORDER BY build_ms) / 1000)::numeric, 2),
		round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 3), CASE WHEN max(index_pages) > 0 THEN max(index_pages)::text ELSE 'see next' END, max(heap_pages),
		round(100.0 * max(heap_pages + index_pages) / (pg_relation_size('large') / current_setting('block_size')::int), 3))
	FROM large_result JOIN kind ON kind.name = large_result.kind GROUP BY id, label ORDER BY id) $$;

/* ---------------------------------------------------------------- writing */

CREATE TABLE written (kind text, how text, ms float8, wal bigint);

-- The rows to write: values that each range has already, values that occur once, and further values that occur once.
CREATE PROCEDURE make_rows(row_count bigint) LANGUAGE plpgsql AS $$ BEGIN
	CREATE UNLOGGED TABLE rows_repeated AS SELECT i AS id, i % 1000 AS uid, '/a/page/with/a/name/' || i % 3000 AS url, '2026-01-01'::timestamptz + i * interval '1 s' AS at
		FROM generate_series(1, row_count) i;
	CREATE UNLOGGED TABLE rows_once AS SELECT id, shuffled(id) AS uid, url, at FROM rows_repeated;
	CREATE UNLOGGED TABLE rows_other AS SELECT id, shuffled(id + row_count) AS uid, url, at FROM rows_repeated;
	CREATE TABLE writer AS SELECT id, name, label, definition FROM kind WHERE name IN ('none', 'btree', 'brin', 'bf');
END
$$;

CREATE FUNCTION start_writing(kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	definition text := (SELECT w.definition FROM writer w WHERE name = kind);
BEGIN
	DROP TABLE IF EXISTS target;
	CREATE TABLE target (LIKE rows_once) WITH (autovacuum_enabled = off);
	IF definition IS NOT NULL THEN EXECUTE 'CREATE INDEX target_uid ON target ' || definition; END IF;
END $$;

-- Summarizes what is there, and deletes all rows. The caller runs VACUUM afterwards.
CREATE FUNCTION empty_target(kind text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF kind = 'bf' THEN PERFORM bf_summarize_new_values('target_uid'); END IF;
	IF kind = 'brin' THEN PERFORM brin_summarize_new_values('target_uid'); END IF;
	DELETE FROM target;
END $$;

CREATE PROCEDURE insert_singly(source text, row_count bigint) LANGUAGE plpgsql AS $$
DECLARE
	r rows_once;
BEGIN
	FOR r IN EXECUTE format('SELECT * FROM %I LIMIT %s', source, row_count) LOOP
		INSERT INTO target VALUES (r.*);
	END LOOP;
END $$;

CREATE FUNCTION write_table(row_count bigint) RETURNS TABLE (line text) LANGUAGE sql AS $$
	WITH how(how, per) AS (VALUES ('new', 1), ('copy', 1), ('single', 5), ('repeated', 1), ('fresh', 1)),
	figures AS (
		SELECT w.id, w.label, h.how, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) * 1e6 * h.per / row_count AS ns,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY wal::float8) * h.per / row_count AS wal
		FROM written JOIN writer w ON w.name = written.kind JOIN how h USING (how) GROUP BY w.id, w.label, h.how, h.per),
	cells AS (
		SELECT f.id, f.label, f.how, CASE WHEN f.label = 'no index' THEN format('%s | %s', round(f.ns), round(f.wal::numeric, 0))
			ELSE format('+%s | +%s', round(f.ns - n.ns), round((f.wal - n.wal)::numeric, 0)) END AS cell
		FROM figures f JOIN figures n ON n.label = 'no index' AND n.how = f.how)
	SELECT '| | new pages, INSERT: ns | WAL | new pages, COPY: ns | WAL | one row a statement: ns | WAL | summarized, values that are there: ns | WAL | summarized, fresh values: ns | WAL |'
	UNION ALL SELECT '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL (SELECT format('| %s | %s | %s | %s | %s | %s |', label, max(cell) FILTER (WHERE how = 'new'), max(cell) FILTER (WHERE how = 'copy'),
		max(cell) FILTER (WHERE how = 'single'), coalesce(max(cell) FILTER (WHERE how = 'repeated'), ' | '), coalesce(max(cell) FILTER (WHERE how = 'fresh'), ' | '))
	FROM cells GROUP BY id, label ORDER BY id) $$;

/* ------------------------------------------------------ queries without bf */

CREATE TABLE plain (query text, loaded text, ms float8);

CREATE PROCEDURE make_plain() LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE plain_one (id integer PRIMARY KEY, v text);
	INSERT INTO plain_one SELECT i, i FROM generate_series(1, 10000) i;
	CREATE TABLE plain_many (id integer, v text) PARTITION BY HASH (id);
	FOR p IN 0 .. 15 LOOP
		EXECUTE format('CREATE TABLE plain_many_%s PARTITION OF plain_many FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', p);
	END LOOP;
	INSERT INTO plain_many SELECT i, i FROM generate_series(1, 10000) i;
	CREATE INDEX ON plain_many (v);
	ANALYZE plain_one, plain_many;
END $$;

-- Each query is planned and executed again each time.
CREATE PROCEDURE measure_plain(is_loaded text, repeats integer) LANGUAGE plpgsql AS $$
DECLARE
	q record;
	began timestamptz;
	n bigint;
BEGIN
	FOR q IN SELECT * FROM (VALUES
		('by primary key', 'SELECT count(*) FROM plain_one WHERE id = 77'),
		('one partition of 16, pruned', 'SELECT count(*) FROM plain_many WHERE id = 77'),
		('all of 16 partitions by B-tree', 'SELECT count(*) FROM plain_many WHERE v = ''77'''),
		('a join of both', 'SELECT count(*) FROM plain_one a JOIN plain_many b USING (id) WHERE a.id = 77')) v(name, query) LOOP
		EXECUTE q.query INTO n;
		began := clock_timestamp();
		FOR i IN 1 .. repeats LOOP
			EXECUTE q.query INTO n;
		END LOOP;
		INSERT INTO plain VALUES (q.name, is_loaded, milliseconds(began));
	END LOOP;
END $$;

CREATE FUNCTION plain_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| query | without | with the library | ratio |'
	UNION ALL SELECT '| --- | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s |', query, round(without::numeric, 1), round(loaded::numeric, 1), round((loaded / without)::numeric, 3))
	FROM (SELECT query, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE p.loaded = 'no') AS without,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE p.loaded = 'yes') AS loaded
		FROM plain p GROUP BY query) m ORDER BY query) $$;
