-- skip_parallel: where Skip is expected to leave most partitions out, the planner takes no parallel plan; otherwise workers have Skips too

CREATE SCHEMA skip_parallel;
SET search_path = skip_parallel, public;
SET client_min_messages = warning;
LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
SET jit = off;
-- the plans here are those of statistics alone; index_estimates.sql has the others
SET streambloom.enable_index_estimates = off;
SET parallel_setup_cost = 50;
SET parallel_tuple_cost = 0.001;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;

CREATE TABLE log (id int NOT NULL, uid bigint, kind int, word numeric) PARTITION BY RANGE (id);
DO $$BEGIN
	FOR i IN 0 .. 19 LOOP
		EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 2000, (i + 1) * 2000);
	END LOOP;
END$$;
INSERT INTO log SELECT i, i, i % 5, i FROM generate_series(0, 39999) i;
CREATE INDEX ON log USING bf (uid, kind, word) WITH (pages_per_range = 32);
CREATE TABLE big (id int, uid bigint);
INSERT INTO big SELECT i, i FROM generate_series(1, 40000) i;
VACUUM ANALYZE log, big;

-- which of the two nodes a plan has, and Skip with the node off
CREATE FUNCTION node(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes text[] := '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		nodes := array_remove(nodes, substring(line FROM 'Skip|Gather')) || substring(line FROM 'Skip|Gather');
	END LOOP;
	nodes := array_remove(nodes, NULL);
	RETURN CASE WHEN nodes = '{}' THEN 'none' ELSE array_to_string(nodes, ' and ') END;
END
$$;
CREATE FUNCTION nodes(query text, OUT chosen text, OUT without text) LANGUAGE plpgsql AS $$
BEGIN
	chosen := node(query);
	SET LOCAL streambloom.enable_skip = off;
	without := node(query);
	SET LOCAL streambloom.enable_skip = on;
END
$$;

SELECT query, n.* FROM unnest(ARRAY[
	-- few rows are expected, and an index answers
	'SELECT * FROM log WHERE uid = 5000',
	'SELECT count(*) FROM log WHERE uid = 5000',
	'SELECT * FROM log WHERE uid = 5000 ORDER BY id',
	'SELECT kind, count(*) FROM log WHERE uid IN (5000, 6000) AND id % 2 = 0 GROUP BY kind',
	'SELECT * FROM log WHERE uid = 5000 AND kind = 0',
	'SELECT * FROM (SELECT * FROM log WHERE uid = 5000 OFFSET 0) l WHERE kind = 0',
	'WITH l AS MATERIALIZED (SELECT * FROM log WHERE uid = 5000) SELECT count(*) FROM l',
	-- many rows are expected, no index answers, or nothing is asked
	'SELECT count(*) FROM log WHERE kind = 1',
	'SELECT count(*) FROM log WHERE id % 1000 = 1',
	'SELECT count(*) FROM log WHERE uid > 39990',
	'SELECT count(*) FROM log WHERE uid = 5000 OR id % 1000 = 1',
	'SELECT count(*) FROM log WHERE kind = 1 AND id % 1000 = 1',
	'SELECT count(*) FROM log',
	-- partitions are pruned at run time
	'SELECT count(*) FROM log WHERE uid = 5000 AND id > length(now()::text)',
	'SELECT count(*) FROM log WHERE uid = 5000 AND id > 10',
	-- a subquery in an expression: the outer query is still parallel
	'SELECT count(*) FROM big WHERE id + 3500 NOT IN (SELECT id FROM log WHERE uid = 5000)',
	-- joins: the planner decides, and knows what skipping saves
	'SELECT count(*) FROM log JOIN big ON big.uid = log.id WHERE log.uid = 5000',
	'SELECT count(*) FROM log JOIN big ON big.uid = log.id WHERE log.kind = 1']) query, nodes(query) n;
SELECT query, n.* FROM unnest(ARRAY[
	'SELECT * FROM log_1 WHERE uid = 5000',
	'UPDATE log SET kind = 1 WHERE uid = 5000',
	'SELECT * FROM log WHERE uid = 5000 FOR UPDATE']) query, nodes(query) n;

-- the rows are the same
SELECT count(*), sum(id) FROM log WHERE uid IN (5000, 6000, -1);
SELECT count(*) FROM log JOIN big ON big.uid = log.id WHERE log.uid = 5000;
-- without the node
SET streambloom.enable_skip = off;
SELECT node('SELECT count(*) FROM log WHERE uid = 5000');
RESET streambloom.enable_skip;
-- a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE look(bigint) AS SELECT count(*) FROM log WHERE uid = $1;
SELECT node('EXECUTE look(5000)');
EXECUTE look(5000);
RESET plan_cache_mode;

-- Row-level security: the node asks only about leakproof conditions, so only these have the effect.
CREATE ROLE regress_parallel_reader;
GRANT USAGE ON SCHEMA skip_parallel TO regress_parallel_reader;
GRANT SELECT ON log TO regress_parallel_reader;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON log USING (id % 2 = 0);
SET ROLE regress_parallel_reader;
SELECT node('SELECT count(*) FROM log WHERE uid = 5000'), node('SELECT count(*) FROM log WHERE word = 5000');
SELECT count(*) FROM log WHERE uid = 5000;
RESET ROLE;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;
SELECT node('SELECT count(*) FROM log WHERE uid = 5000'), node('SELECT count(*) FROM log WHERE word = 5000');

-- a partition without the index: it would have to be read anyway
DROP INDEX log_uid_kind_word_idx;
CREATE INDEX ON log_0 USING bf (uid);
SELECT node('SELECT count(*) FROM log WHERE uid = 5000');

-- inheritance children, and partitions of two levels
CREATE TABLE event (id int, uid bigint);
DO $$BEGIN
	FOR i IN 0 .. 9 LOOP
		EXECUTE format('CREATE TABLE event_%1$s () INHERITS (event); INSERT INTO event_%1$s SELECT i, i FROM generate_series(%1$s * 5000 + 1, %1$s * 5000 + 5000) i; CREATE INDEX ON event_%1$s USING bf (uid) WITH (pages_per_range = 32)', i);
	END LOOP;
END$$;
CREATE INDEX ON event USING bf (uid) WITH (pages_per_range = 32);
CREATE TABLE tree (id int NOT NULL, uid bigint) PARTITION BY RANGE (id);
CREATE TABLE tree_a PARTITION OF tree FOR VALUES FROM (0) TO (10000) PARTITION BY HASH (id);
CREATE TABLE tree_b PARTITION OF tree FOR VALUES FROM (10000) TO (20000) PARTITION BY HASH (id);
DO $$BEGIN
	FOR i IN 0 .. 4 LOOP
		EXECUTE format('CREATE TABLE tree_a%1$s PARTITION OF tree_a FOR VALUES WITH (MODULUS 5, REMAINDER %1$s)', i);
		EXECUTE format('CREATE TABLE tree_b%1$s PARTITION OF tree_b FOR VALUES WITH (MODULUS 5, REMAINDER %1$s)', i);
	END LOOP;
END$$;
INSERT INTO tree SELECT i, i FROM generate_series(0, 19999) i;
CREATE INDEX ON tree USING bf (uid) WITH (pages_per_range = 32);
VACUUM ANALYZE event, tree;
SELECT query, n.* FROM unnest(ARRAY[
	'SELECT count(*) FROM event WHERE uid = 5000',
	'SELECT count(*) FROM tree WHERE uid = 5000',
	'SELECT count(*) FROM tree WHERE uid = 5000 AND id = length(now()::text)']) query, nodes(query) n;
SELECT count(*) FROM event WHERE uid = 5000;
SELECT count(*) FROM tree WHERE uid = 5000;

DROP SCHEMA skip_parallel CASCADE;
DROP ROLE regress_parallel_reader;
