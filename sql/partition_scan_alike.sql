-- partition_scan_alike: beside its rows, a query with the node PartitionScan has the locks, the privileges, the errors and the
-- estimates of the same query without it

LOAD 'streambloom';
CREATE SCHEMA partition_scan_alike;
SET search_path = partition_scan_alike, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET streambloom.enable_partition_scan = on;

CALL make_partitioned_log();
INSERT INTO log SELECT i / 50, i, 'h' || i % 1000, i % 50, i % 3 FROM generate_series(0, 4799) i;
INSERT INTO log SELECT day, -7, 'x', n, 0 FROM (VALUES (1, 100), (30, 20)) d (day, rows), generate_series(1, rows) n;
CREATE INDEX ON log USING bf (uid, host);
VACUUM ANALYZE log;
CREATE TABLE other AS SELECT * FROM log LIMIT 1;

CREATE FUNCTION compare(query text) RETURNS text LANGUAGE sql RETURN compare_partition_scan(query);

-- The planner copies a CTE into each place that refers to it. Each copy must get the node, or none. A CTE that nobody refers to
-- does not matter.
SELECT query, compare(query) FROM unnest(ARRAY[
	'WITH w AS NOT MATERIALIZED (SELECT * FROM log) SELECT x.uid FROM w JOIN (SELECT uid FROM w UNION ALL SELECT uid FROM w) x ON x.uid = w.uid + 1 WHERE w.uid = 1234',
	'WITH w AS NOT MATERIALIZED (SELECT * FROM log) SELECT w.*, x.uid FROM w LEFT JOIN (SELECT uid FROM w UNION ALL SELECT uid FROM w) x ON x.uid = w.uid + 1 WHERE w.uid = 1234',
	'WITH w AS NOT MATERIALIZED (SELECT * FROM log) SELECT * FROM w a JOIN w b ON b.uid = a.uid + 1 WHERE a.uid = 370 AND b.uid = 371',
	'WITH w AS NOT MATERIALIZED (SELECT * FROM log) SELECT * FROM w a, w b WHERE a.uid = 370 AND b.uid = 371 AND b.uid IS NULL',
	'WITH w AS NOT MATERIALIZED (SELECT * FROM log) SELECT uid, (SELECT count(*) FROM w b WHERE b.uid = a.uid + 1) FROM w a WHERE uid = 370',
	'WITH w AS (SELECT * FROM log WHERE v = 3) SELECT * FROM log WHERE uid = 370',
	'WITH w AS (SELECT * FROM log) SELECT * FROM w WHERE uid = 370'
	]) query;

-- A session cannot take rows away from its own query that runs.
CREATE FUNCTION rows_beside(setting text, command text, query text DEFAULT 'SELECT * FROM log WHERE uid = -7') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('streambloom.enable_partition_scan', setting, true);
	RETURN rows_beside_command(command, query);
END
$$;
CREATE INDEX log_30_day ON log_30 (day);
SELECT command, rows_beside('on', command), rows_beside('off', command) FROM unnest(ARRAY[
	'TRUNCATE log_30',
	'TRUNCATE log_2, log_30',
	'DROP TABLE log_30',
	'ALTER TABLE log_30 SET UNLOGGED',
	'ALTER TABLE log_30 SET UNLOGGED, SET TABLESPACE pg_default',
	'DELETE FROM log_30 WHERE uid = -7; ALTER TABLE log_30 ADD CHECK (uid <> -7)',
	'CREATE INDEX ON log_30 (uid)',
	'CLUSTER log_30 USING log_30_day',
	'DELETE FROM log_30',
	'ALTER TABLE log_30 RENAME TO log_thirty',
	'ANALYZE log_30',
	'DROP INDEX log_30_day',
	'TRUNCATE partition_scan_alike.other',
	'ALTER TABLE partition_scan_alike.other ADD CHECK (uid <> -7)',
	'ALTER TABLE gone ADD CHECK (uid <> -7)'
	]) command;
-- A command on a partitioned table below the parent is refused if it reaches partitions of the query.
SELECT command, rows_beside('on', command), rows_beside('off', command) FROM unnest(ARRAY[
	'ALTER TABLE log_rest ADD CHECK (uid <> -8)',
	'ALTER TABLE log_rest DETACH PARTITION log_rest_0',
	'CREATE INDEX ON log_rest (host)'
	]) command;
-- The parent itself is in use. An ordinary plan that does not prune when it is executed opens only its partitions, so there some of these commands run.
CREATE TABLE log_new (LIKE log);
SELECT command, rows_beside('on', command), rows_beside('off', command) FROM unnest(ARRAY[
	'CREATE TABLE log_500 PARTITION OF log FOR VALUES FROM (500) TO (501)',
	'ALTER TABLE log ATTACH PARTITION log_new FOR VALUES FROM (500) TO (501)',
	'ALTER TABLE log DETACH PARTITION log_30',
	'ALTER TABLE log DETACH PARTITION log_30; ALTER TABLE log ATTACH PARTITION log_30 FOR VALUES FROM (30) TO (31)',
	'ALTER TABLE log DETACH PARTITION log_30; DROP TABLE log_30',
	'ALTER TABLE log DETACH PARTITION log_rest',
	'ALTER TABLE log OWNER TO CURRENT_USER',
	'ALTER TABLE log ADD CHECK (uid <> -8)',
	'ALTER TABLE log ADD more int',
	'ALTER TABLE log DROP v',
	'ALTER TABLE log RENAME v TO w',
	'CREATE INDEX ON log (host)',
	'TRUNCATE log',
	'DROP TABLE log'
	]) command;
-- A scan that begins later may read partitions that the first one has skipped.
SELECT setting, rows_beside(setting, 'TRUNCATE log_24', 'SELECT l.* FROM (VALUES (-7), (1234)) d (u), LATERAL (SELECT * FROM log WHERE uid = d.u OFFSET 0) l')
FROM (VALUES ('on'), ('off')) s (setting);
-- A subquery that gives a value may run commands, too.
CREATE FUNCTION after_command(command text) RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE command; RETURN -7; END';
SELECT command, setting, rows_beside(setting, 'SELECT', format('SELECT * FROM log WHERE uid = (SELECT after_command(%L))', command)) FROM unnest(ARRAY[
	'TRUNCATE log_30',
	'DROP TABLE log_30'
	]) command, unnest(ARRAY['on', 'off']) setting;
-- If a partition could be made meanwhile, a scan that begins later would prune by its bounds, and lose rows that stood elsewhere.
SELECT query, rows_beside('on', 'CREATE TABLE log_500 PARTITION OF log FOR VALUES FROM (500) TO (501); ALTER TABLE log DETACH PARTITION log_30', query)
FROM unnest(ARRAY[
	'SELECT l.* FROM (VALUES (1), (30), (500)) d (day), LATERAL (SELECT * FROM log WHERE uid = -7 AND day = d.day OFFSET 0) l',
	'SELECT x FROM log x WHERE uid = -7 AND v > 0 AND tableoid > 0']) query;
-- A constraint that is true for rows of now need not be true for those that the query sees: a default partition gets such a one if its rows are
-- deleted and another partition is attached. A row that is NULL is seen although its column is NOT NULL now.
BEGIN;
SET LOCAL constraint_exclusion = on;
INSERT INTO log SELECT day, -8, 'x', n, 5 FROM (VALUES (1, 100), (200, 3)) d (day, rows), generate_series(1, rows) n;
UPDATE log SET host = NULL WHERE uid = -7;
SELECT command, rows_beside('on', command, query), rows_beside('off', command, query) FROM (VALUES (
	'DELETE FROM log_rest_more WHERE kind = 5; CREATE TABLE log_rest_5 PARTITION OF log_rest FOR VALUES IN (5)',
	'SELECT * FROM log WHERE uid = -8 AND kind = 5'), (
	'UPDATE log_30 SET host = ''y'' WHERE host IS NULL; ALTER TABLE log_30 ALTER host SET NOT NULL',
	'SELECT * FROM log WHERE uid = -7 AND host IS NULL')) t (command, query);
ROLLBACK;
-- Columns may be renamed while the query runs. The index of the column that the query compares is asked, not that of the column which has its name now.
BEGIN;
INSERT INTO log SELECT day, -9, 'x', 500, 3 FROM (VALUES (1, 100), (30, 3)) d (day, rows), generate_series(1, rows) n;
CREATE INDEX ON log USING bf (v);
CREATE INDEX ON log USING bf (kind);
SELECT query, rows_beside(setting, 'ALTER TABLE log RENAME v TO gone; ALTER TABLE log RENAME kind TO v', query) FROM (VALUES
	('on', 'SELECT * FROM log WHERE v = 500'),
	('off', 'SELECT * FROM log WHERE v = 500'),
	('off', 'SELECT * FROM chunk_scan(NULL::log, ''v'', 500)')) t (setting, query);
ROLLBACK;
-- partitions that the same transaction has created are truncated in place
BEGIN;
CREATE TABLE log_rest_77 PARTITION OF log_rest FOR VALUES IN (77);
INSERT INTO log SELECT 200, -7, 'x', n, 77 FROM generate_series(1, 3) n;
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT * FROM log WHERE uid = -7 LOOP
		n := n + 1;
		IF n = 1 THEN TRUNCATE log_rest_77; END IF;
	END LOOP;
	RAISE WARNING '% rows', n;
END
$$;
ROLLBACK;
-- partitions that are not in the plan, and after the query
SELECT rows_beside('on', 'TRUNCATE log_30', 'SELECT * FROM log WHERE uid = -7 AND day < 30');
SELECT query, rows_beside('on', 'TRUNCATE log_30', query), rows_beside('off', 'TRUNCATE log_30', query) FROM unnest(ARRAY[
	'SELECT * FROM log WHERE uid = -7 AND day < 31 + coalesce(length(current_setting(''no.day'', true)), -5)',
	'SELECT * FROM log WHERE uid = -7 AND day < 31 + coalesce(length(current_setting(''no.day'', true)), 0)',
	'SELECT * FROM log WHERE uid = -7 AND day < (SELECT 20)'
	]) query;
-- The same holds for the partitioned tables below.
INSERT INTO log (day, uid, v, kind) SELECT 200, -9, n, CASE WHEN n > 100 THEN 5 ELSE 0 END FROM generate_series(1, 103) n;
SELECT setting, rows_beside(setting, 'DELETE FROM log WHERE uid = -9 AND kind = 5; CREATE TABLE log_rest_5 PARTITION OF log_rest FOR VALUES IN (5)',
	'SELECT l.* FROM (VALUES (0), (5)) d (kind), LATERAL (SELECT * FROM log WHERE uid = -9 AND day = 200 AND kind = d.kind OFFSET 0) l')
FROM (VALUES ('on'), ('off')) s (setting);
DELETE FROM log WHERE uid = -9;
-- pruned when the execution begins, although the scan is begun later, when the loop has fetched its first ten rows
SELECT rows_beside(setting, 'TRUNCATE log_30', 'SELECT * FROM generate_series(-20, 1) n LEFT JOIN LATERAL (SELECT * FROM log WHERE uid = -7 AND day < 31 + coalesce(length(current_setting(''no.day'', true)), -5) AND n > 0 OFFSET 0) l ON true')
FROM (VALUES ('on'), ('off')) s (setting);
SELECT count(*) FROM log WHERE uid = -7;
TRUNCATE log_30;
SELECT count(*) FROM log WHERE uid = -7;

-- Partitions that pruning rules out are not locked.
CREATE TABLE tree (k int, u int) PARTITION BY LIST (k);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2) PARTITION BY LIST (u);
CREATE TABLE tree_2_1 PARTITION OF tree_2 FOR VALUES IN (1);
CREATE TABLE tree_2_2 PARTITION OF tree_2 FOR VALUES IN (2);
CREATE FUNCTION locked(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN QUERY SELECT relname::text FROM pg_locks JOIN pg_class ON pg_class.oid = relation WHERE pid = pg_backend_pid() AND relname LIKE 'tree%' AND relkind IN ('r', 'p') ORDER BY 1;
END
$$;
SELECT * FROM locked('SELECT FROM tree WHERE k = 1');
SELECT * FROM locked('SELECT FROM tree WHERE k = 2 AND u = 1');
CREATE INDEX ON tree_1 USING bf (u);
SELECT * FROM locked('SELECT FROM tree WHERE k = 2 AND u = 1');
CREATE INDEX ON tree USING bf (u);
SELECT * FROM locked('SELECT FROM tree WHERE k = 1 AND u = 1');
SELECT * FROM locked('SELECT FROM tree WHERE k = 2 AND u = 1');
SELECT compare('SELECT * FROM tree WHERE u = 1');

-- Planning asks no index about a column that the user may not read. (PostgreSQL itself refuses views before tables are planned.)
CREATE ROLE partition_scan_alike_user;
GRANT USAGE ON SCHEMA partition_scan_alike TO partition_scan_alike_user;
CREATE VIEW view AS SELECT uid FROM log;
GRANT SELECT ON view TO partition_scan_alike_user;
SET client_min_messages = debug1;
SELECT FROM log WHERE uid = ANY ('{0,100,200,300,400,500,600,700,800,900,1000}');
CREATE VIEW hidden AS SELECT uid FROM log;
SET ROLE partition_scan_alike_user;
SELECT FROM log WHERE uid = ANY ('{0,100,200,300,400,500,600,700,800,900,1000}');
SELECT FROM log WHERE uid = ANY ('{-11,-12,-13,-14,-15,-16,-17,-18,-19,-20,-21}');
SELECT FROM view WHERE uid = ANY ('{0,100,200,300,400,500,600,700,800,900,1000}');
SELECT FROM hidden WHERE uid = ANY ('{0,100,200,300,400,500,600,700,800,900,1000}');
RESET ROLE;
GRANT SELECT (uid) ON log TO partition_scan_alike_user;
SET ROLE partition_scan_alike_user;
SELECT FROM log WHERE uid = ANY ('{0,100,200,300,400,500,600,700,800,900,1000}');
RESET ROLE;
SET client_min_messages = warning;

-- min() and max(), which are planned twice, with a value that is not known
SET plan_cache_mode = force_generic_plan;
CREATE INDEX ON log (day);
PREPARE last (bigint) AS SELECT max(day), min(day) FROM log WHERE uid = $1;
PREPARE first (bigint) AS SELECT day FROM log WHERE uid = $1 ORDER BY day LIMIT 1;
SELECT line FROM plan_lines('EXECUTE last (1)') line WHERE line LIKE '%PartitionScan%';
EXECUTE last (1234);
EXECUTE last (-7);
EXECUTE last (-1);
SELECT line FROM plan_lines('EXECUTE first (1)') line WHERE line LIKE '%PartitionScan%';
EXECUTE first (1234);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- extended statistics of the whole table
CREATE FUNCTION estimate(query text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;
SET streambloom.enable_partition_scan = on;
ANALYZE log;
SELECT estimate($$SELECT * FROM log WHERE uid = -7 AND host = 'x'$$) > 50 AS knows_both;
CREATE STATISTICS together (mcv) ON uid, host FROM log;
ANALYZE log;
SELECT estimate($$SELECT * FROM log WHERE uid = -7 AND host = 'x'$$) > 50 AS knows_both;

-- Values of other tables: the conditions of the join are tested, whatever PostgreSQL has made of the table before. A part of an OR that no index
-- answers.
CREATE TABLE wanted AS SELECT i * 370 AS u, i AS n FROM generate_series(1, 3) i;
ANALYZE wanted;
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT w.n, l.* FROM wanted w, LATERAL (SELECT l.uid, w.n AS m FROM log l WHERE l.uid = w.u AND l.uid = 370) l',
	'SELECT w.n, l.* FROM wanted w LEFT JOIN LATERAL (SELECT l.uid, w.n AS m FROM log l WHERE l.uid = w.u) l ON l.m < 3',
	'SELECT w.n, l.*, x.n FROM wanted w LEFT JOIN LATERAL (SELECT l.uid, w.n AS m FROM log l WHERE l.uid IN (370, 740)) l ON l.uid = w.u JOIN wanted x ON x.n = l.m',
	'SELECT count(*) FROM log WHERE uid = 370 OR day = 5',
	'SELECT count(*) FROM log WHERE uid = 370 OR (uid = 371 AND day = 7) OR host = ''h5'''
	]) query;
-- A value is evaluated only if a partition has a row to compare with it.
CREATE TABLE empty (k int, u int) PARTITION BY LIST (k);
CREATE TABLE empty_1 PARTITION OF empty FOR VALUES IN (1);
CREATE TABLE empty_2 PARTITION OF empty FOR VALUES IN (2);
CREATE INDEX ON empty USING bf (u);
CREATE INDEX ON empty (u);
SELECT * FROM empty WHERE u = 1 / (SELECT 0);
INSERT INTO empty VALUES (2, 2);
SELECT * FROM empty WHERE u = 1 / (SELECT 0);
-- If a table is expanded after all, here because of xmin, a join costs what it costs in an ordinary plan, in whatever order the tables stand.
CREATE TABLE large AS SELECT i AS u FROM generate_series(1, 20000) i;
CREATE INDEX ON large (u);
ANALYZE large;
CREATE FUNCTION cost(query text, setting text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('streambloom.enable_partition_scan', setting, true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Total Cost';
END
$$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT query, cost(query, 'on') / cost(query, 'off') BETWEEN 0.99 AND 1.01 AS alike FROM unnest(ARRAY[
	'SELECT * FROM large, log WHERE large.u = log.uid AND log.xmin <> ''1''',
	'SELECT * FROM log, large WHERE large.u = log.uid AND log.xmin <> ''1'''
	]) query;

RESET enable_hashjoin;
RESET enable_mergejoin;
-- A function changes a partition before the node's first row: an ordinary plan refuses the command, here the query ends with the same error.
CREATE FUNCTION change(command text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; RETURN 1; END $$;
CREATE TABLE one AS SELECT 1 AS u;
CREATE FUNCTION outcome(command text, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found bigint;
BEGIN
	PERFORM set_config('streambloom.enable_partition_scan', setting, true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_material', 'off', true);
	EXECUTE format('SELECT count(*) FROM (SELECT change(%L) AS c FROM one LIMIT 1) o, LATERAL (SELECT FROM empty WHERE u = 2 AND o.c = 1 OFFSET 0) e', command) INTO found;
	RETURN found;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;
SELECT command, outcome(command, 'off') AS plain, outcome(command, 'always') AS node
FROM unnest(ARRAY['DROP TABLE empty_2', 'TRUNCATE empty_2', 'DROP TABLE empty_1', 'INSERT INTO empty VALUES (2, 3)', 'SELECT 1']) command;
BEGIN;
TRUNCATE empty_1;
SELECT outcome('INSERT INTO empty VALUES (2, 3)', 'off') AS plain, outcome('INSERT INTO empty VALUES (2, 3)', 'always') AS node;
ROLLBACK;

-- a partition that the transaction had locked before
BEGIN;
LOCK TABLE empty_2;
SELECT command, outcome(command, 'off') AS plain, outcome(command, 'always') AS node
FROM unnest(ARRAY['DROP TABLE empty_2', 'TRUNCATE empty_2', 'INSERT INTO empty VALUES (2, 3)']) command;
ROLLBACK;

-- a table whose last partition is gone
CREATE TABLE bare (k int, v int) PARTITION BY LIST (k);
CREATE TABLE bare_1 PARTITION OF bare FOR VALUES IN (1);
CREATE INDEX ON bare USING bf (v);
DROP TABLE bare_1;
SELECT count(*) FROM other JOIN bare ON bare.v = other.v;
SELECT count(*) FROM bare WHERE v = 1;

DROP SCHEMA partition_scan_alike CASCADE;
DROP ROLE partition_scan_alike_user;
