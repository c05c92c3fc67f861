-- skip_workers: sub-plans that parallel workers run, or only initialize

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_workers;
SET search_path = skip_workers, public;
SET client_min_messages = warning;
SET jit = off;
-- the plans here are those of statistics alone; index_estimates.sql has the others
SET streambloom.enable_index_estimates = off;
CREATE TABLE log (id int NOT NULL, uid bigint, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (8000) TO (12000);
INSERT INTO log SELECT i, i FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 8);
VACUUM ANALYZE log;
CREATE TABLE driver AS SELECT i AS n, i % 7 AS m FROM generate_series(4501, 5500) i;
ALTER TABLE driver SET (parallel_workers = 2);
ANALYZE driver;
CREATE TABLE few AS SELECT i AS n FROM generate_series(4998, 5002) i;
ANALYZE few;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;

-- What is in the plan, whether EXPLAIN ANALYZE works, and the answer, which must be the same without the node and without workers.
CREATE FUNCTION run(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes text[] := '{}';
	answers text[];
	answer text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		nodes := nodes || substring(line FROM '(Gather|Skip)');
	END LOOP;
	FOR i IN 1 .. 4 LOOP
		EXECUTE format('SET LOCAL streambloom.enable_skip = %s', i % 2 = 1);
		EXECUTE format('SET LOCAL max_parallel_workers_per_gather = %s', CASE WHEN i > 2 THEN 2 ELSE 0 END);
		EXECUTE 'SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (' || query || ') q' INTO answer;
		answers := answers || answer;
	END LOOP;
	SET LOCAL streambloom.enable_skip = on;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, VERBOSE) ' || query LOOP END LOOP;
	RETURN coalesce((SELECT string_agg(DISTINCT n, ' and ') FROM unnest(nodes) n), 'neither') || ': ' ||
		CASE WHEN cardinality(ARRAY(SELECT DISTINCT unnest(answers))) = 1 THEN answers[1] ELSE answers::text END;
END
$$;

-- a sub-plan in a condition that workers test; hashed, and correlated
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n NOT IN (SELECT id FROM log WHERE uid = 5000)');
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n NOT IN (SELECT id FROM log WHERE uid = -1)');
SELECT run('SELECT sum(n), count(*) FROM driver WHERE (SELECT max(id) FROM log WHERE uid = 5000 AND id >= n) = 5000');
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n > 5490 AND (SELECT max(id) FROM log WHERE uid = n) = n');
-- in the target list, within another sub-plan, in a join below Gather
SELECT run('SELECT sum((SELECT max(id) FROM log WHERE uid = 5000 AND id > n)) FROM driver');
SELECT run('SELECT count(*) FROM driver WHERE n IN (SELECT n FROM few WHERE n NOT IN (SELECT id FROM log WHERE uid = 5000) OFFSET 0)');
SELECT run('SELECT count(*) FROM driver d WHERE NOT EXISTS (SELECT FROM few f WHERE f.n = d.n AND f.n NOT IN (SELECT id FROM log WHERE uid = 5000))');
-- run by the leader and initialized by the workers: results of subqueries, common table expressions
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n = (SELECT max(id) FROM log WHERE uid = 5000)');
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n = (SELECT max(id) FROM log WHERE uid = (SELECT max(id) FROM log WHERE uid = 5001))');
SELECT run('WITH l AS MATERIALIZED (SELECT id FROM log WHERE uid = 5000) SELECT (SELECT count(*) FROM driver), count(*) FROM l');
SELECT run('WITH l AS MATERIALIZED (SELECT id FROM log WHERE uid = 5000) SELECT count(*) FROM driver WHERE n IN (SELECT id FROM l)');
SELECT run('SELECT count(*), (SELECT max(id) FROM log WHERE uid = 5000) FROM driver');
SELECT run('SELECT m, count(*), (SELECT max(id) FROM log WHERE uid = 5000 + 0 * m) FROM driver GROUP BY m');
-- beside a Gather
SELECT run('SELECT count(*) FROM (SELECT n FROM driver WHERE m = 3 UNION ALL (SELECT id FROM log WHERE uid = 5000 ORDER BY id LIMIT 1)) u');
-- partitions that all have a value
SELECT run('SELECT count(*) FROM driver WHERE n NOT IN (SELECT id FROM log WHERE uid IN (1, 5000, 9000))');

-- a worker runs everything
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT run('SELECT count(*) FROM few WHERE n NOT IN (SELECT id FROM log WHERE uid = 5000)');
SELECT run('SELECT id FROM log WHERE uid = 5000');
-- (15 does not let workers run this)
SELECT regexp_replace(run('SELECT id FROM log WHERE uid = (SELECT max(id) FROM log WHERE uid = 5000)'), '.*: ', '');
SELECT set_config(name, 'regress', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT run('SELECT count(*) FROM few WHERE n NOT IN (SELECT id FROM log WHERE uid = 5000)');
SELECT run('SELECT id FROM log WHERE uid = (SELECT max(id) FROM log WHERE uid = 5000)');
-- a function that workers call, with queries of its own
CREATE FUNCTION found(v bigint) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$ BEGIN RETURN (SELECT max(id) FROM log WHERE uid = v); END $$;
SELECT run('SELECT sum(found(n)) FROM few');
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT run('SELECT sum(found(n)), count(*) FROM driver WHERE n > 5490');

-- JIT compilation, in the leader and in workers
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = -1;
SET jit_optimize_above_cost = -1;
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n NOT IN (SELECT id FROM log WHERE uid = 5000)');
SELECT run('SELECT sum(n), count(*) FROM driver WHERE n = (SELECT max(id) FROM log WHERE uid = 5000)');

DROP SCHEMA skip_workers CASCADE;
