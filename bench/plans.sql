-- plans.sql: the made-up tables of bench/plans, and the functions that measure. Variable: rows, of each table.
LOAD 'streambloom';
CREATE EXTENSION streambloom;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TABLE source_lines (n serial, line text);
CREATE TABLE source_edits ("time" timestamptz, channel text, namespace text, page text, robot text, delta bigint, added bigint, deleted bigint);

-- ------------------------------------------------------------------ rows

-- A number from 0 to below 1 that follows from n and the seed.
CREATE FUNCTION scattered(n bigint, seed bigint) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN (hashint8extended(n, seed) & 4294967295) / 4294967296.0;
-- The value that u stands for: 1 for half of the rows, 2 for 5 %, 3 for 0.1 %; the other rows get `rare`, a value
-- with five rows.
CREATE FUNCTION valued(u float8, rare integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN CASE WHEN u < 0.5 THEN 1 WHEN u < 0.55 THEN 2 WHEN u < 0.551 THEN 3 ELSE rare END;
CREATE FUNCTION named(value integer) RETURNS text LANGUAGE sql IMMUTABLE RETURN CASE value WHEN 1 THEN 'half' WHEN 2 THEN 'twentieth' WHEN 3 THEN 'thousandth' ELSE 'n' || value END;

-- Columns: strewn, runs (equal values lie in runs of 200 rows), sorted; as numbers, in a line, as words, tags, and
-- fields of a document. All elements of ids differ.
CREATE TABLE one AS
SELECT i, strewn, runs, sorted,
	format('10.%s.%s.%s - - "GET /%s?request=%s HTTP/1.1" 200 "strewn-%s runs-%s sorted-%s" "Mozilla/5.0 (X11; Linux x86_64)"', i % 7, i % 250, i % 199, md5((i % 1000)::text), i, named(strewn), named(runs), named(sorted)) AS line,
	ARRAY['strewn:' || named(strewn), 'runs:' || named(runs), 'sorted:' || named(sorted), 'client:' || i % 1000] AS tags,
	ARRAY['request:' || i, 'trace:' || md5(i::text)] AS ids,
	jsonb_build_object('strewn', named(strewn), 'runs', named(runs), 'sorted', named(sorted), 'request', i) AS doc,
	array_to_tsvector(ARRAY['strewn' || named(strewn), 'runs' || named(runs), 'sorted' || named(sorted), 'request' || i]) AS words
FROM (SELECT i, valued(scattered(i, 1), (1000000 + floor(scattered(i, 2) * :rows * 0.449 / 5))::integer) AS strewn,
		valued(scattered(i / 200, 3), 1000000 + i / 5) AS runs, valued(i / :rows::float8, 1000000 + i / 5) AS sorted
	FROM generate_series(0, :rows - 1) i) s ORDER BY i;
-- A table of some dozens of pages, such as people use for a first try.
CREATE TABLE small AS SELECT * FROM one ORDER BY i LIMIT 5000;

CREATE PROCEDURE make_partitions(parts integer) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE parts_%s (LIKE one, part integer) PARTITION BY LIST (part)', parts);
	FOR p IN 0 .. parts - 1 LOOP
		EXECUTE format('CREATE TABLE parts_%s_%s PARTITION OF parts_%1$s FOR VALUES IN (%2$s)', parts, p);
	END LOOP;
	EXECUTE format('INSERT INTO parts_%s SELECT *, (i::bigint * %1$s / (SELECT count(*) FROM one))::integer FROM one ORDER BY i', parts);
END
$$;
CALL make_partitions(10);
CALL make_partitions(100);
CALL make_partitions(1000);
-- for joins: keys of rows that lie far apart
CREATE TABLE suspects AS SELECT strewn, runs, tags[1:1] AS tags, ids[1:1] AS ids FROM one WHERE strewn > 3 AND runs > 3 ORDER BY scattered(i, 9) LIMIT 20;

-- --------------------------------------------------------------- measuring

-- The queries. A method is an access method whose indexes serve the condition: bf, btree, brin or gin. peers: the
-- methods besides bf.
CREATE TABLE query (id serial, label text, layout text, share text, relation text, statement text, peers text[], is_join boolean DEFAULT false);
-- The plans of a query with the indexes of a method. The first one is the plan that the planner chooses.
CREATE TABLE plan (id serial, query integer, method text, settings text[], shape text, is_chosen boolean, ms float8, planning float8, pages bigint, found bigint, made integer DEFAULT 0);

CREATE TABLE switch (name text, off text, usual text);
INSERT INTO switch SELECT name, 'off', setting FROM pg_settings WHERE name IN ('enable_seqscan', 'enable_bitmapscan', 'enable_indexscan', 'enable_indexonlyscan', 'enable_nestloop', 'enable_hashjoin',
	'enable_mergejoin', 'streambloom.enable_skip', 'max_parallel_workers_per_gather', 'parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size', 'min_parallel_index_scan_size');
UPDATE switch SET usual = current_setting(name);

-- Sets the planner's switches. Those that are not given get their usual values.
CREATE PROCEDURE set_switches(settings text[]) LANGUAGE sql AS $$
	SELECT set_config(name, coalesce((SELECT split_part(s, '=', 2) FROM unnest(settings) s WHERE split_part(s, '=', 1) = name), usual), false) FROM switch
$$;

-- All settings that may lead to different plans.
CREATE FUNCTION combinations(is_join boolean, is_partitioned boolean, method text) RETURNS SETOF text[] LANGUAGE sql AS $$
	SELECT scan || index || parallel || skip || kind
	FROM (VALUES (0, '{}'::text[]), (1, '{enable_seqscan=off}'), (2, '{enable_bitmapscan=off}'), (3, '{enable_seqscan=off,enable_bitmapscan=off}')) a(x1, scan),
		(VALUES (0, '{}'::text[]), (1, '{enable_indexscan=off,enable_indexonlyscan=off}')) b(x2, index),
		(VALUES (0, '{}'::text[]), (1, '{max_parallel_workers_per_gather=0}'), (2, '{parallel_setup_cost=0,parallel_tuple_cost=0,min_parallel_table_scan_size=0,min_parallel_index_scan_size=0}')) c(x3, parallel),
		(VALUES (0, '{}'::text[]), (1, '{streambloom.enable_skip=off}')) d(x4, skip),
		(VALUES (0, '{}'::text[]), (1, '{enable_hashjoin=off,enable_mergejoin=off}'), (2, '{enable_nestloop=off,enable_mergejoin=off}'), (3, '{enable_nestloop=off,enable_hashjoin=off}')) e(x5, kind)
	WHERE (x2 = 0 OR method = 'btree') AND (x4 = 0 OR is_partitioned AND method = 'bf') AND (x5 = 0 OR is_join)
	ORDER BY x1 + x2 + x3 + x4 + x5, x1, x2, x3, x4, x5
$$;

-- The nodes of a plan from the top down. Equal nodes that follow each other are written once, with their number.
CREATE FUNCTION shape_of(plan jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE n WHEN 1 THEN node ELSE format('%s %s', n, node) END, ', ' ORDER BY first)
	FROM (SELECT node, count(*) AS n, min(place) AS first
		FROM (SELECT coalesce(x ->> 'Custom Plan Provider', x ->> 'Node Type') AS node, place
			FROM jsonb_path_query(plan, 'strict $.** ? (@.type() == "object" && exists (@."Node Type"))') WITH ORDINALITY AS _(x, place)) s WHERE node NOT IN ('Aggregate', 'Result') GROUP BY node) t
$$;

CREATE FUNCTION blocks(plan jsonb) RETURNS bigint LANGUAGE sql RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::bigint + (plan #>> '{0,Plan,Shared Read Blocks}')::bigint;

-- Makes the plans of a query.
CREATE PROCEDURE make_plans(query integer, method text) LANGUAGE plpgsql AS $$
DECLARE
	q query;
	settings text[];
	seen text[] := '{}';
	text_of_plan text;
	line text;
	as_json json;
BEGIN
	SELECT * INTO q FROM query x WHERE x.id = make_plans.query;
	FOR settings IN SELECT * FROM combinations(q.is_join, q.relation LIKE 'parts%', method) LOOP
		CALL set_switches(settings);
		text_of_plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q.statement LOOP
			text_of_plan := text_of_plan || line || E'\n';
		END LOOP;
		CONTINUE WHEN md5(text_of_plan) = ANY (seen);
		EXECUTE 'EXPLAIN (FORMAT JSON) ' || q.statement INTO as_json;
		INSERT INTO plan (query, method, settings, shape, is_chosen) VALUES (q.id, make_plans.method, settings, shape_of(as_json::jsonb), seen = '{}');
		seen := seen || md5(text_of_plan);
	END LOOP;
	CALL set_switches('{}');
END
$$;

-- Executes the plans of a query in turn. Plans that take more than three times as long as the best one are left out
-- after two rounds, except for the one that was chosen.
CREATE PROCEDURE measure_plans(query integer, method text, rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	q query;
	p plan;
	as_json json;
	result jsonb;
	best float8;
BEGIN
	SELECT * INTO q FROM query x WHERE x.id = measure_plans.query;
	FOR round IN 1 .. rounds LOOP
		SELECT min(ms) INTO best FROM plan x WHERE x.query = q.id AND x.method = measure_plans.method;
		FOR p IN SELECT * FROM plan x WHERE x.query = q.id AND x.method = measure_plans.method AND (round <= 2 OR ms <= 3 * best OR is_chosen) ORDER BY x.id LOOP
			CALL set_switches(p.settings);
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || q.statement INTO as_json;
			result := as_json;
			UPDATE plan x SET planning = least(x.planning, (result #>> '{0,Planning Time}')::float8),
				ms = least(x.ms, (result #>> '{0,Planning Time}')::float8 + (result #>> '{0,Execution Time}')::float8),
				pages = least(x.pages, blocks(result)), made = made + 1
			WHERE x.id = p.id;
		END LOOP;
	END LOOP;
	CALL set_switches('{}');
END
$$;

CREATE PROCEDURE measure(method text, rounds integer, only_ones text) LANGUAGE plpgsql AS $$
DECLARE
	q query;
	note text;
BEGIN
	FOR q IN SELECT * FROM query x WHERE (method = 'bf' OR method = ANY (x.peers)) AND concat_ws(' ', label, layout, share, relation) ~ only_ones ORDER BY id LOOP
		CALL make_plans(q.id, method);
		CALL measure_plans(q.id, method, rounds);
		COMMIT;
		SELECT format('%s %s %s, %s, %s, %s: %s ms, best %s ms of %s plans', measure.method, q.id, q.label, q.layout, q.share, q.relation, round(min(ms) FILTER (WHERE is_chosen)::numeric, 2), round(min(ms)::numeric, 2), count(*))
			INTO note FROM plan x WHERE x.query = q.id AND x.method = measure.method;
		RAISE NOTICE '%', note;
	END LOOP;
END
$$;

-- How many times as long as the best plan the chosen one takes; 1 if the difference is less than 0.2 ms.
CREATE VIEW verdict AS
SELECT query, method, c.shape AS chosen, c.ms, c.planning, c.pages, b.shape AS best, b.ms AS best_ms, b.pages AS best_pages, b.settings AS best_settings, CASE WHEN c.ms - b.ms < 0.2 THEN 1 ELSE c.ms / b.ms END AS ratio
FROM (SELECT * FROM plan WHERE is_chosen) c
	JOIN (SELECT DISTINCT ON (query, method) * FROM plan ORDER BY query, method, ms) b USING (query, method);
