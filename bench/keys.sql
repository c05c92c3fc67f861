-- keys.sql: measurements and Markdown tables of bench/keys
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS streambloom;
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE UNLOGGED TABLE source_lines (n bigserial, line text);
CREATE UNLOGGED TABLE source_edits ("time" timestamptz, channel text, namespace text, page text, robot text, delta bigint, added bigint, deleted bigint);

-- A subject is a table and one column or expression of it, which is indexed by both methods.
CREATE TABLE subject (id serial, label text, relation text, bf text, gin text);
-- What is looked for in a subject. how: 'rare', 'absent' or 'frequent'. label: for the page, so it must not show data
-- of single clients.
CREATE TABLE asked (subject integer, how text, label text, condition text);
CREATE TABLE measured (subject integer, method text, what text, ms float8, pages float8, bytes bigint, found bigint);
CREATE TABLE growth (label text, row_count bigint, bytes bigint, build float8, rare float8, pages float8);

CREATE PROCEDURE add_lines() LANGUAGE plpgsql AS $$
DECLARE
	subject integer;
	rare text;
BEGIN
	CREATE TABLE lines AS SELECT n, line FROM source_lines ORDER BY n;
	COMMIT;
	ANALYZE lines;
	INSERT INTO subject (label, relation, bf, gin) VALUES ('lines, grams', 'lines', 'line gram_ops', 'line gin_trgm_ops') RETURNING id INTO subject;
	SELECT host INTO rare FROM (SELECT split_part(line, ' ', 1) AS host, count(*) AS n FROM lines GROUP BY 1) h WHERE length(host) > 12 ORDER BY abs(n - 13), host LIMIT 1;
	INSERT INTO asked VALUES
		(subject, 'rare', '%phpmyadmin%', 'line LIKE ''%phpmyadmin%'''),
		(subject, 'rare', 'an address of some 13 lines', format('line LIKE ''%%%s%%''', rare)),
		(subject, 'rare', '~ curl/7\.[0-9]+', 'line ~ ''curl/7\.[0-9]+'''),
		(subject, 'absent', '%sqlmap%', 'line LIKE ''%sqlmap%'''),
		(subject, 'frequent', '%Mozilla%', 'line LIKE ''%Mozilla%''');
	INSERT INTO subject (label, relation, bf, gin) VALUES ('lines, words', 'lines', 'to_tsvector(''simple'', line)', 'to_tsvector(''simple'', line)') RETURNING id INTO subject;
	INSERT INTO asked VALUES
		(subject, 'rare', 'an address of some 13 lines', format('to_tsvector(''simple'', line) @@ %L::tsquery', rare)),
		(subject, 'absent', 'a word that is nowhere', 'to_tsvector(''simple'', line) @@ ''sqlmap''::tsquery'),
		(subject, 'frequent', 'get', 'to_tsvector(''simple'', line) @@ ''get''::tsquery');
END
$$;

CREATE PROCEDURE add_edits() LANGUAGE plpgsql AS $$
DECLARE
	subject integer;
	rare text;
BEGIN
	CREATE TABLE edits AS
	SELECT row_number() OVER () AS n, jsonb_build_object('time', "time" + day * interval '1 day', 'channel', channel, 'namespace', namespace, 'page', CASE day WHEN 0 THEN page ELSE page || ' ' || day END,
		'robot', robot = 't', 'delta', delta, 'added', added, 'deleted', deleted) AS doc
	FROM generate_series(0, 4) day, source_edits ORDER BY day, "time";
	COMMIT;
	ANALYZE edits;
	SELECT doc ->> 'page' INTO rare FROM edits GROUP BY 1 HAVING count(*) = 3 ORDER BY md5(doc ->> 'page') LIMIT 1;
	FOR i IN 1 .. 2 LOOP
		INSERT INTO subject (label, relation, bf, gin) VALUES ('edits, ' || (ARRAY['jsonb_path_ops', 'jsonb_ops'])[i], 'edits', 'doc ' || (ARRAY['jsonb_path_ops', 'jsonb_ops'])[i],
			'doc ' || (ARRAY['jsonb_path_ops', 'jsonb_ops'])[i]) RETURNING id INTO subject;
		INSERT INTO asked VALUES
			(subject, 'rare', 'a page of 3 edits', format('doc @> %L', jsonb_build_object('page', rare))),
			(subject, 'absent', 'a page that is nowhere', 'doc @> ''{"page": "no such page"}'''),
			(subject, 'frequent', 'the English channel', 'doc @> ''{"channel": "#en.wikipedia"}''');
	END LOOP;
END
$$;

-- Five tags for each row: one of 4 levels, one of 50 services, one of 1,000 hosts, a user with ten consecutive rows,
-- and a request that is in this row only.
CREATE FUNCTION tags_of(i bigint) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT ARRAY['level:' || CASE WHEN i % 1000 = 0 THEN 'fatal' WHEN i % 50 = 0 THEN 'error' WHEN i % 7 = 0 THEN 'warning' ELSE 'info' END,
		'service:' || (i * 7919) % 50, 'host:' || (i * 104729) % 1000, 'user:' || i / 10, 'request:' || md5(i::text)] $$;

CREATE PROCEDURE add_tags(row_count bigint) LANGUAGE plpgsql AS $$
DECLARE
	subject integer;
BEGIN
	CREATE TABLE tags AS SELECT i AS n, tags_of(i) AS tags FROM generate_series(1, row_count) i;
	COMMIT;
	ANALYZE tags;
	INSERT INTO subject (label, relation, bf, gin) VALUES ('tags', 'tags', 'tags', 'tags') RETURNING id INTO subject;
	INSERT INTO asked VALUES
		(subject, 'rare', 'a user of 10 rows', format('tags @> ''{user:%s}''', row_count / 20)),
		(subject, 'rare', 'one request', format('tags @> ''{request:%s}''', md5((row_count / 3)::text))),
		(subject, 'absent', 'a user that is nowhere', 'tags @> ''{user:none}'''),
		(subject, 'frequent', 'level:info', 'tags @> ''{level:info}''');
END
$$;

-- Executes a look-up and returns its time, the pages of index and table that it touches, and the rows found.
CREATE FUNCTION look_up(relation text, condition text, by_index boolean, OUT ms float8, OUT pages float8, OUT matched bigint) LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 SET jit = off AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('enable_seqscan', CASE WHEN by_index THEN 'off' ELSE 'on' END, true), set_config('enable_bitmapscan', CASE WHEN by_index THEN 'on' ELSE 'off' END, true);
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM %I WHERE %s', relation, condition) INTO plan;
	ms := plan -> 0 ->> 'Execution Time';
	pages := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::float8 + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::float8;
	matched := (plan -> 0 -> 'Plan' ->> 'Actual Rows')::numeric::bigint;
END
$$;

CREATE FUNCTION ms_since(began timestamptz) RETURNS float8 LANGUAGE sql AS $$ SELECT extract(epoch FROM clock_timestamp() - began) * 1000 $$;

CREATE PROCEDURE measure_look_ups(of subject, by_method text) LANGUAGE plpgsql AS $$
DECLARE
	a asked;
BEGIN
	FOR a IN SELECT * FROM asked WHERE subject = of.id LOOP
		PERFORM look_up(of.relation, a.condition, by_method <> 'none');
		INSERT INTO measured SELECT of.id, by_method, a.label, percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms), avg(l.pages), NULL, max(l.matched)
			FROM generate_series(1, 3), look_up(of.relation, a.condition, by_method <> 'none') l;
	END LOOP;
END
$$;

-- One round. Measures for each subject: the look-ups without an index; for each method the build and the look-ups;
-- and rows that are written into new pages of a table that has 20,000 rows already, without an index and with each.
CREATE PROCEDURE measure_round(to_write bigint) LANGUAGE plpgsql AS $$
DECLARE
	s subject;
	method text;
	began timestamptz;
	took float8;
BEGIN
	FOR s IN SELECT * FROM subject ORDER BY id LOOP
		CALL measure_look_ups(s, 'none');
		FOREACH method IN ARRAY ARRAY['bf', 'gin'] LOOP
			began := clock_timestamp();
			EXECUTE format('CREATE INDEX it ON %I USING %s (%s)', s.relation, method, CASE method WHEN 'bf' THEN s.bf ELSE s.gin END);
			took := ms_since(began);
			INSERT INTO measured VALUES (s.id, method, 'build', took, NULL, pg_relation_size('it'));
			COMMIT;
			CALL measure_look_ups(s, method);
			DROP INDEX it;
			COMMIT;
		END LOOP;
		FOREACH method IN ARRAY ARRAY['none', 'bf', 'gin'] LOOP
			EXECUTE format('CREATE TABLE written AS SELECT * FROM %I ORDER BY n LIMIT least(20000, %s)', s.relation, to_write);
			IF method <> 'none' THEN
				EXECUTE format('CREATE INDEX ON written USING %s (%s)', method, CASE method WHEN 'bf' THEN s.bf ELSE s.gin END);
			END IF;
			COMMIT;
			-- The rows are in memory, so that only writing is measured.
			EXECUTE format('CREATE TEMP TABLE batch AS SELECT * FROM %I ORDER BY n DESC LIMIT %s', s.relation, to_write);
			PERFORM count(*) FROM batch;
			COMMIT;
			began := clock_timestamp();
			INSERT INTO written SELECT * FROM batch;
			COMMIT;
			took := ms_since(began);
			INSERT INTO measured VALUES (s.id, method, 'insert', took);
			IF method = 'none' AND s.bf LIKE '%(%' THEN
				-- PostgreSQL computes the expression of an index for each row, whatever the method of the index. This
				-- time is measured alone.
				began := clock_timestamp();
				EXECUTE format('SELECT count(%s) FROM batch', s.bf);
				INSERT INTO measured VALUES (s.id, method, 'expression', ms_since(began));
			END IF;
			DROP TABLE written, batch;
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;

-- Measures how two subjects grow: tags by both methods, and lines by grams. (GIN by trigrams takes so long that it is
-- measured only up to gin_lines rows.)
CREATE PROCEDURE measure_growth(row_count bigint, gin_lines bigint) LANGUAGE plpgsql AS $$
DECLARE
	method text;
	began timestamptz;
	took float8;
	lines bigint;
	thing record;
	condition text;
BEGIN
	SELECT count(*) INTO lines FROM source_lines;
	FOR thing IN SELECT * FROM (VALUES ('tags', 'tags', 'tags'), ('lines, grams', 'line gram_ops', 'line gin_trgm_ops')) v(label, bf, gin) LOOP
		CONTINUE WHEN thing.label <> 'tags' AND lines = 0;
		IF thing.label = 'tags' THEN
			CREATE UNLOGGED TABLE grown AS SELECT i AS n, tags_of(i) AS tags FROM generate_series(1, row_count) i;
			condition := format('tags @> ''{user:%s}''', row_count / 20);
		ELSE
			-- ten neighboring rows have a word of their own
			CREATE UNLOGGED TABLE grown AS SELECT i AS n, line || CASE WHEN i / 10 = row_count / 20 THEN ' rareneedle' ELSE '' END AS line
				FROM generate_series(0, row_count - 1) i JOIN (SELECT row_number() OVER (ORDER BY n) - 1 AS k, line FROM source_lines) l ON l.k = i % lines ORDER BY i;
			condition := 'line LIKE ''%rareneedle%''';
		END IF;
		COMMIT;
		ANALYZE grown;
		FOREACH method IN ARRAY ARRAY['bf', 'gin'] LOOP
			CONTINUE WHEN method = 'gin' AND thing.label <> 'tags' AND row_count > gin_lines;
			began := clock_timestamp();
			EXECUTE format('CREATE INDEX it ON grown USING %s (%s)', method, CASE method WHEN 'bf' THEN thing.bf ELSE thing.gin END);
			took := ms_since(began);
			COMMIT;
			PERFORM look_up('grown', condition, true);
			INSERT INTO growth SELECT thing.label || ': ' || method, row_count, pg_relation_size('it'), took, percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms), avg(l.pages)
				FROM generate_series(1, 5), look_up('grown', condition, true) l;
			DROP INDEX it;
			COMMIT;
		END LOOP;
		DROP TABLE grown;
		COMMIT;
	END LOOP;
END
$$;

/* ---------------------------------------------------------------------- tables */

CREATE FUNCTION number(x float8) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN x IS NULL THEN '' WHEN x >= 100 THEN to_char(round(x::numeric), 'FM999,999,999') WHEN x >= 1 THEN round(x::numeric, 1)::text ELSE round(x::numeric, 3)::text END $$;

CREATE VIEW medians AS
	SELECT subject, method, what, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, avg(pages) AS pages, max(bytes) AS bytes, max(found) AS found FROM measured GROUP BY 1, 2, 3;

CREATE FUNCTION ratios_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| subject | bytes of bf, of GIN''s (at most 1/8) | build (at most 1/8) | INSERT, of no index''s: bf (at most 1.3) | GIN | rare, of the sequential scan''s time: bf (at most 1/20) | GIN |'
	UNION ALL SELECT '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | 1/%s | 1/%s | %s | %s | %s | %s |', s.label, number(g.bytes::float8 / b.bytes), number(g.ms / b.ms), round((bi.ms / n.ms)::numeric, 2), round((gi.ms / n.ms)::numeric, 2), r.bf, r.gin)
	FROM subject s JOIN medians b ON b.subject = s.id AND b.method = 'bf' AND b.what = 'build' JOIN medians g ON g.subject = s.id AND g.method = 'gin' AND g.what = 'build'
		JOIN medians n ON n.subject = s.id AND n.method = 'none' AND n.what = 'insert' JOIN medians bi ON bi.subject = s.id AND bi.method = 'bf' AND bi.what = 'insert'
		JOIN medians gi ON gi.subject = s.id AND gi.method = 'gin' AND gi.what = 'insert',
		LATERAL (SELECT string_agg('1/' || number(n.ms / b.ms), ', ') AS bf, string_agg('1/' || number(n.ms / g.ms), ', ') AS gin
			FROM asked a JOIN medians n ON n.subject = s.id AND n.what = a.label AND n.method = 'none' JOIN medians b ON b.subject = s.id AND b.what = a.label AND b.method = 'bf'
				JOIN medians g ON g.subject = s.id AND g.what = a.label AND g.method = 'gin'
			WHERE a.subject = s.id AND a.how = 'rare') r
	ORDER BY s.id) $$;

CREATE FUNCTION sizes_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| subject | table, MB | index | MB | of the table | build s | INSERT ms |'
	UNION ALL SELECT '| --- | ---: | --- | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s |', s.label, number(pg_table_size(s.relation::regclass) / 1e6), m.method, number(b.bytes / 1e6), round((100.0 * b.bytes / pg_table_size(s.relation::regclass))::numeric, 1) || ' %',
		number(b.ms / 1000), number(i.ms) || coalesce('; to compute the expression alone: ' || nullif(number(x.ms), ''), ''))
	FROM subject s CROSS JOIN (VALUES (1, 'none'), (2, 'bf'), (3, 'gin')) m(place, method) LEFT JOIN medians b ON b.subject = s.id AND b.method = m.method AND b.what = 'build'
		JOIN medians i ON i.subject = s.id AND i.method = m.method AND i.what = 'insert'
		LEFT JOIN medians x ON x.subject = s.id AND x.method = m.method AND x.what = 'expression'
	ORDER BY s.id, m.place) $$;

CREATE FUNCTION lookups_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| subject | looked for | | rows | sequential scan: ms | pages | bf: ms | pages | GIN: ms | pages |'
	UNION ALL SELECT '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | `%s` | %s | %s | %s | %s | %s | %s | %s | %s |', s.label, a.label, a.how, to_char(n.found, 'FM999,999,999'), number(n.ms), number(n.pages), number(b.ms), number(b.pages), number(g.ms), number(g.pages))
	FROM subject s JOIN asked a ON a.subject = s.id JOIN medians n ON n.subject = s.id AND n.what = a.label AND n.method = 'none'
		JOIN medians b ON b.subject = s.id AND b.what = a.label AND b.method = 'bf' JOIN medians g ON g.subject = s.id AND g.what = a.label AND g.method = 'gin'
	ORDER BY s.id, CASE a.how WHEN 'rare' THEN 1 WHEN 'absent' THEN 2 ELSE 3 END, a.label) $$;

CREATE FUNCTION growth_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| rows | index | MB | bytes per row | build s | rare ms | pages |'
	UNION ALL SELECT '| ---: | --- | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s |', to_char(row_count, 'FM999,999,999'), label, number(bytes / 1e6), number(bytes::float8 / row_count), number(build / 1000), number(rare), number(pages))
	FROM growth ORDER BY label, row_count) $$;
