-- skip_costs: where no bf index answers, the library changes no plan: no cost, no path, no parallel safety

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_costs;
SET search_path = skip_costs, public;
SET client_min_messages = warning;
SET jit = off;

-- Small partitioned tables: two without a bf index, one whose index is on another column, one whose index answers.
DO $$DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{bare,plain,other,asked}'::text[] LOOP
		EXECUTE format('CREATE TABLE %I (a int, b int, c varchar) PARTITION BY RANGE (a)', name);
		FOR i IN 0 .. 3 LOOP
			EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', name || '_' || i, name, i * 250, i * 250 + 250);
		END LOOP;
		EXECUTE format('INSERT INTO %I SELECT i, i %% 25, to_char(i, ''FM0000'') FROM generate_series(0, 999) i', name);
	END LOOP;
END$$;
CREATE INDEX ON plain (a);
CREATE INDEX ON other USING bf (c);
CREATE INDEX ON asked USING bf (a) WITH (pages_per_range = 1);
CREATE TABLE heir (a int, b int, c varchar);
CREATE TABLE heir_1 () INHERITS (heir);
CREATE TABLE heir_2 () INHERITS (heir);
INSERT INTO heir_1 SELECT * FROM bare WHERE a < 500;
INSERT INTO heir_2 SELECT * FROM bare WHERE a >= 500;
VACUUM ANALYZE bare, plain, other, asked, heir;

-- The plan with its costs.
CREATE FUNCTION plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lines text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || query LOOP
		lines := lines || line;
	END LOOP;
	RETURN array_to_string(lines, E'\n');
END
$$;
-- Those combinations of the planner's settings and the library's switches with which the plan is not that of the library
-- being switched off.
CREATE FUNCTION changed(query text, OUT changed text, OUT gathered int) LANGUAGE plpgsql AS $$
DECLARE
	settings text;
	off text;
BEGIN
	changed := '';
	gathered := 0;
	FOREACH settings IN ARRAY ARRAY[
		'{}',
		'{enable_hashjoin, off}',
		'{enable_hashjoin, off, enable_mergejoin, off}',
		'{enable_partitionwise_join, on, enable_partitionwise_aggregate, on}',
		'{min_parallel_table_scan_size, 0}',
		'{min_parallel_table_scan_size, 0, parallel_setup_cost, 10, parallel_tuple_cost, 0}',
		'{min_parallel_table_scan_size, 0, parallel_setup_cost, 0, parallel_tuple_cost, 0, enable_hashjoin, off}',
		'{min_parallel_table_scan_size, 0, parallel_setup_cost, 0, parallel_tuple_cost, 0, enable_parallel_append, off}'] LOOP
		SET LOCAL enable_hashjoin = on;
		SET LOCAL enable_mergejoin = on;
		SET LOCAL enable_partitionwise_join = off;
		SET LOCAL enable_partitionwise_aggregate = off;
		SET LOCAL enable_parallel_append = on;
		SET LOCAL min_parallel_table_scan_size = '8MB';
		SET LOCAL parallel_setup_cost = 1000;
		SET LOCAL parallel_tuple_cost = 0.1;
		PERFORM set_config(key, value, true) FROM jsonb_each_text(jsonb_object(settings::text[]));
		SET LOCAL streambloom.enable_skip = off;
		off := plan(query);
		gathered := gathered + (off ~ 'Gather')::int;
		SET LOCAL streambloom.enable_skip = on;
		IF plan(query) <> off THEN
			changed := changed || settings;
		END IF;
	END LOOP;
END
$$;

-- Each query of these tables has the same plan. Some of the plans are parallel, as the number of them tells.
SELECT query, c.changed, c.gathered > 0 AS gathered FROM (SELECT format(query, t) AS query FROM unnest('{bare,plain,other,heir}'::text[]) t, unnest(ARRAY[
	'SELECT * FROM %1$I WHERE b = 0',
	'SELECT * FROM %1$I WHERE a = 7',
	'SELECT count(*) FROM %1$I WHERE a IN (7, 300)',
	'SELECT * FROM %1$I x JOIN bare y ON x.a = y.b WHERE y.b = 0 ORDER BY x.a, y.b',
	'SELECT * FROM %1$I x JOIN plain y USING (a) WHERE x.b = 0 AND y.b = 0 ORDER BY 1',
	'SELECT * FROM %1$I x LEFT JOIN bare y ON x.a = y.b WHERE x.a < 450 AND x.c = x.c ORDER BY x.a, y.b',
	'SELECT x.c, sum(y.a) FROM %1$I x JOIN heir y USING (b) WHERE x.a = 7 GROUP BY 1',
	'SELECT * FROM %1$I x, LATERAL (SELECT * FROM plain WHERE plain.a = x.b AND plain.b = 0) y WHERE x.b = 1']) query) q,
	changed(query) c ORDER BY query;
-- An index is there, and answers the second query.
SELECT query, c.changed <> '' AS changed FROM unnest(ARRAY[
	'SELECT * FROM other x JOIN asked y ON x.b = y.b WHERE x.b = 0 AND y.b = 0',
	'SELECT * FROM bare JOIN asked USING (a) WHERE bare.b = 0 AND asked.a IN (7, 300)']) query, changed(query) c;
-- It answers for large partitions.
CREATE TABLE large (a int, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE large_0 PARTITION OF large FOR VALUES FROM (0) TO (20000);
CREATE TABLE large_1 PARTITION OF large FOR VALUES FROM (20000) TO (40000);
CREATE TABLE large_2 PARTITION OF large FOR VALUES FROM (40000) TO (60000);
INSERT INTO large SELECT i, i, repeat('x', 100) FROM generate_series(0, 59999) i;
CREATE INDEX ON large USING bf (b);
VACUUM ANALYZE large;
SELECT query, c.changed <> '' AS changed FROM unnest(ARRAY[
	'SELECT * FROM bare x JOIN large y ON x.a = y.a WHERE x.b = 0 AND y.b = 4711']) query, changed(query) c;

DROP SCHEMA skip_costs CASCADE;
