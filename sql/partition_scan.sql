-- partition_scan: a plain query plans and reads only the partitions that may hold rows, and loses no row by it

LOAD 'streambloom';
CREATE SCHEMA partition_scan;
SET search_path = partition_scan, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- 98 partitions of 50 rows. Each uid is in one of them. One partition has its columns in another order, one has no bf index, and
-- the default partition is itself partitioned.
CALL make_partitioned_log();
INSERT INTO log SELECT i / 50, i, 'h' || i % 1000, i % 50, i % 3 FROM generate_series(0, 4799) i;
INSERT INTO log VALUES (3, NULL, NULL, NULL, NULL);
CREATE INDEX log_bf ON ONLY log USING bf (uid, host);
CREATE INDEX log_rest_bf ON ONLY log_rest USING bf (uid, host);
DO $$
DECLARE
	partition regclass;
BEGIN
	FOR partition IN SELECT relid FROM pg_partition_tree('log') WHERE isleaf AND relid <> 'log_20'::regclass LOOP
		EXECUTE format('CREATE INDEX ON %s USING bf (uid, host)', partition);
	END LOOP;
END
$$;
VACUUM ANALYZE log;

-- The plan in EXPLAIN, or in EXPLAIN ANALYZE.
CREATE FUNCTION plan(query text, run bool DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	of_partition bool := false;
BEGIN
	FOR line IN SELECT plan_lines(query, run) LOOP
		-- of an ordinary plan, not each partition
		IF line ~ '->' THEN of_partition := line ~ 'log_'; END IF;
		CONTINUE WHEN of_partition;
		line := regexp_replace(line, '\(actual rows=(\d+) loops=1\)', '(rows \1)');
		-- PostgreSQL 17, 18 and 19 have changed these
		line := replace(line, '(uid = wanted.u)', '(wanted.u = uid)');
		line := regexp_replace(regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0'), '^( *InitPlan) .*', '\1');
		RETURN NEXT regexp_replace(line, '\(actual rows=[0-9.]+ loops=(\d+)\)', '(loops \1)');
	END LOOP;
END
$$;

CREATE FUNCTION compare(query text) RETURNS text LANGUAGE sql RETURN compare_partition_scan(query);

SET streambloom.enable_partition_scan = on;
SELECT * FROM plan('SELECT * FROM log WHERE uid = 1234');
SELECT * FROM plan('SELECT * FROM log WHERE uid = 1234', true);
SELECT * FROM plan('SELECT host FROM log WHERE v < 40 AND uid = 1234', true);
SELECT * FROM plan('SELECT host FROM log WHERE uid IN (1, 2, 101) AND random() >= 0 AND v < 40', true);
SELECT * FROM log WHERE uid = 1234;

-- No row is lost: partitions with other columns, without an index, at another level; columns in any order; the whole row; tableoid.
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM log WHERE uid = -1',
	'SELECT * FROM log WHERE uid = 0',
	'SELECT * FROM log WHERE 1234 = uid',
	'SELECT * FROM log WHERE uid = 1234::int',
	'SELECT * FROM log WHERE uid = 1234::smallint',
	'SELECT * FROM log WHERE uid = 370',
	'SELECT * FROM log WHERE uid = 1050',
	'SELECT * FROM log WHERE uid = 4750',
	'SELECT * FROM log WHERE uid = 4751',
	'SELECT * FROM log WHERE uid = 4799',
	'SELECT * FROM log WHERE uid = ANY (ARRAY[370, NULL, 4751, -3])',
	'SELECT * FROM log WHERE uid IN (SELECT 5)',
	'SELECT v, host, log, tableoid::regclass FROM log WHERE uid = 370',
	'SELECT tableoid::regclass, * FROM log WHERE uid = 4751 AND tableoid = ''log_rest_more''::regclass',
	'SELECT tableoid::regclass, * FROM log WHERE uid = 4751 AND tableoid = ''log_rest_0''::regclass',
	'SELECT row_to_json(log) FROM log WHERE uid = 370',
	'SELECT 1 FROM log WHERE uid = 370',
	'SELECT count(*) FROM log WHERE uid = 370',
	'SELECT sum(v), max(host) FROM log WHERE uid = 370 AND host = ''h370''',
	'SELECT min(uid) FROM log WHERE uid = 370',
	'SELECT uid FROM log WHERE uid = 370 AND log.v IS NOT NULL AND (log).host = ''h370''',
	'SELECT * FROM log WHERE host = ''h5'' AND uid = 1005',
	'SELECT * FROM log WHERE uid = 370 AND v / (v - 45) IS NOT NULL AND v <> 45',
	'SELECT * FROM log WHERE uid = 370 OR uid = 371',
	'SELECT * FROM log WHERE uid IS NULL',
	'SELECT * FROM log WHERE uid = NULL',
	'SELECT * FROM log WHERE uid = 370 AND false',
	'SELECT * FROM log WHERE uid = 370 AND (SELECT true)',
	'SELECT * FROM log WHERE uid = 370 AND (SELECT false)',
	'SELECT * FROM log WHERE uid = (SELECT 370)',
	'SELECT * FROM log WHERE uid = (SELECT NULL::int)',
	'SELECT * FROM log WHERE uid = abs(-370)',
	'SELECT * FROM log WHERE uid = 370 ORDER BY v LIMIT 3',
	'SELECT DISTINCT host FROM log WHERE uid = 370',
	'SELECT host, count(*) FROM log WHERE uid IN (1, 2, 3) GROUP BY GROUPING SETS ((host), ())',
	'SELECT v, row_number() OVER (ORDER BY v) FROM log WHERE uid IN (1, 2, 3)',
	'SELECT * FROM log WHERE uid = 370 AND EXISTS (SELECT FROM log l WHERE l.uid = log.uid + 1)',
	'WITH w AS MATERIALIZED (SELECT * FROM log WHERE uid = 370) SELECT * FROM w, w w2',
	'SELECT * FROM (SELECT * FROM log OFFSET 0) l WHERE uid = 370',
	'SELECT * FROM (SELECT DISTINCT uid, host FROM log) l WHERE uid = 370',
	'SELECT * FROM log a JOIN log b ON a.uid = b.uid - 1 WHERE a.uid = 370 AND b.uid = 371',
	'SELECT * FROM log a JOIN log b USING (uid) WHERE a.uid = 370',
	'SELECT * FROM (VALUES (370), (5)) x (u) JOIN log ON uid = 370',
	'SELECT * FROM (VALUES (370), (5)) x (u) LEFT JOIN log ON uid = u AND uid = 370',
	'SELECT * FROM (SELECT * FROM log WHERE uid = 370) a FULL JOIN (SELECT * FROM log WHERE uid = 371) b ON a.v = b.v',
	'SELECT x, l.* FROM generate_series(1, 3) x, LATERAL (SELECT * FROM log WHERE uid = 370 AND v > x LIMIT 1) l',
	'SELECT x, l.* FROM generate_series(368, 372) x, LATERAL (SELECT * FROM log WHERE uid = 370 AND v < x - 350 OFFSET 0) l'
	]) query;

-- subpartitions of log_rest alone
SELECT compare('SELECT * FROM log_rest WHERE uid = 4751');

-- conditions on the partition key leave fewer partitions in the plan
SELECT * FROM plan('SELECT * FROM log WHERE uid = 1234 AND day BETWEEN 5 AND 60');
SELECT compare('SELECT * FROM log WHERE uid = 1234 AND day BETWEEN 5 AND 60'),
	compare('SELECT * FROM log WHERE uid = 1234 AND day BETWEEN 25 AND 60'),
	compare('SELECT * FROM log WHERE uid = 4751 AND day > 20 AND kind = 2'),
	compare('SELECT * FROM log WHERE uid = 4751 AND day > 20 AND kind = 1'),
	compare('SELECT * FROM log WHERE uid = 1234 AND day = 24');

-- Partitions are pruned when the query is executed, as soon as the values are known.
PREPARE days (bigint, int, int) AS SELECT day, host FROM log WHERE uid = $1 AND day BETWEEN $2 AND $3;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM plan('EXECUTE days (1234, 5, 60)', true);
EXECUTE days (1234, 5, 60);
EXECUTE days (1234, 25, 60);
EXECUTE days (1234, NULL, 60);
EXECUTE days (4751, 5, 60);
EXECUTE days (4751, 5, 100);
RESET plan_cache_mode;
DEALLOCATE days;
SELECT line FROM plan('SELECT s, l.* FROM generate_series(23, 25) s, LATERAL (SELECT host FROM log WHERE uid = 1234 AND day = s OFFSET 0) l', true) line WHERE line LIKE '%Partitions%';
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT s, l.* FROM generate_series(23, 25) s, LATERAL (SELECT host FROM log WHERE uid = 1234 AND day = s OFFSET 0) l',
	'SELECT s, l.* FROM generate_series(23, 25) s, LATERAL (SELECT host FROM log WHERE uid = s * 50 AND day = s OFFSET 0) l',
	'SELECT s, l.* FROM generate_series(0, 2) s, LATERAL (SELECT * FROM log WHERE uid = 4751 AND kind = s OFFSET 0) l',
	'SELECT s, l.* FROM generate_series(94, 96) s, LATERAL (SELECT * FROM log WHERE uid = 4751 AND kind = 2 AND s <= day OFFSET 0) l',
	'SELECT * FROM log WHERE uid = 1234 AND day = (SELECT 24)',
	'SELECT * FROM log WHERE uid = 1234 AND day = (SELECT NULL::int)',
	'SELECT * FROM log WHERE uid = 1234 AND (SELECT 24) >= day',
	'SELECT * FROM log WHERE uid = 1234 AND (day = (SELECT 24) OR day = (SELECT 25))',
	'SELECT * FROM log WHERE uid = 1234 AND day = ANY (ARRAY[(SELECT 24), 3])',
	'SELECT * FROM log WHERE uid = 1234 AND day IS NOT NULL AND day <> (SELECT 24)',
	'SELECT * FROM log WHERE uid = 4751 AND kind IN ((SELECT 1), 2)',
	'SELECT * FROM log WHERE uid = 1234 AND day < extract(year FROM now())::int'
	]) query;
SET enable_partition_pruning = off;
SELECT compare('SELECT * FROM log WHERE uid = 1234 AND day = (SELECT 24)'), compare('SELECT * FROM log WHERE uid = 1234 AND day < 30');
RESET enable_partition_pruning;

-- Of conditions on the partition key, only the values that PostgreSQL's own pruning needs are evaluated: the query raises the errors
-- that it raises without the node, and no others.
CREATE TABLE by_hash (a int, b int, uid bigint) PARTITION BY HASH (a, b);
CREATE TABLE by_range (a int, b int, uid bigint) PARTITION BY RANGE (a, b);
DO $$
BEGIN
	FOR i IN 0..11 LOOP
		EXECUTE format('CREATE TABLE by_hash_%s PARTITION OF by_hash FOR VALUES WITH (MODULUS 12, REMAINDER %s)', i, i);
		EXECUTE format('CREATE TABLE by_range_%s PARTITION OF by_range FOR VALUES FROM (%s, %s) TO (%s, %s)', i, i / 3, i % 3, (i + 1) / 3, (i + 1) % 3);
	END LOOP;
END
$$;
INSERT INTO by_hash SELECT i / 3 % 4, i % 3, i FROM generate_series(0, 1199) i;
INSERT INTO by_range SELECT * FROM by_hash;
CREATE INDEX ON by_hash USING bf (uid);
CREATE INDEX ON by_range USING bf (uid);
VACUUM ANALYZE by_hash, by_range;
CREATE FUNCTION errors(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	with_node text;
	without text;
BEGIN
	SET LOCAL streambloom.enable_partition_scan = always;
	with_node := error_of(query);
	SET LOCAL streambloom.enable_partition_scan = off;
	without := error_of(query);
	RETURN CASE WHEN with_node = without THEN without ELSE format('DIFFERENT: %s, not %s', with_node, without) END;
END
$$;
SELECT query, errors('SELECT * FROM ' || query) FROM unnest(ARRAY[
	'log WHERE uid = -1 AND day < 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day + 0 < 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day <> 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day::int8 = 1 / (SELECT 0)',
	'log WHERE uid = -1 AND 1 / (SELECT 0) <= day',
	'log WHERE uid = 1 / (SELECT 0) AND day = (SELECT NULL::int)',
	'log WHERE uid = -1 AND day = (SELECT 100) AND kind = 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day = (SELECT 100) AND kind <> 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day = (SELECT 24) AND kind = 1 / (SELECT 0)',
	'by_hash WHERE uid = -1 AND a = 1 / (SELECT 0)',
	'by_hash WHERE uid = -1 AND a = 1 AND b = 1 / (SELECT 0)',
	'by_hash WHERE uid = -1 AND a > 1 AND b = 1 / (SELECT 0)',
	'by_range WHERE uid = -1 AND a > 1 / (SELECT 0)',
	'by_range WHERE uid = -1 AND b = 1 / (SELECT 0)',
	'by_range WHERE uid = -1 AND a = (SELECT 1) AND b = 1 / (SELECT 0)',
	'by_range WHERE uid = -1 AND a > (SELECT 1) AND b = 1 / (SELECT 0)',
	-- no partition has NULL in a: b does not matter
	'by_range WHERE uid = -1 AND a = (SELECT NULL::int) AND b = 1 / (SELECT 0)',
	'by_range WHERE uid = -1 AND b = 1 / (SELECT 0) AND a = (SELECT NULL::int)',
	'by_range WHERE uid = -1 AND a = (SELECT NULL::int) AND a = 1 / (SELECT 0)',
	'by_hash WHERE uid = -1 AND b = 1 / (SELECT 0) AND a = (SELECT NULL::int)',
	'by_hash WHERE uid = -1 AND b = (SELECT NULL::int) AND a = 1 / (SELECT 0)',
	-- Values that a subquery gives are evaluated later than others, and only if these leave a partition.
	'log WHERE uid = -1 AND day = current_setting(''no.day'', true)::int AND day <= 1 / (SELECT 0)',
	'log WHERE uid = -1 AND day <= 1 / (SELECT 0) AND day = current_setting(''no.day'', true)::int',
	'log WHERE uid = -1 AND day = (SELECT NULL::int) AND day <= 1 / (length(current_setting(''search_path'')) * 0)'
	]) query;
-- A comparison that depends on a setting, here on the time zone, prunes nothing.
CREATE TABLE by_date (d date, uid bigint) PARTITION BY RANGE (d);
CREATE TABLE by_date_1 PARTITION OF by_date FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE by_date_2 PARTITION OF by_date FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO by_date SELECT date '2026-01-01' + i, i FROM generate_series(0, 58) i;
CREATE INDEX ON by_date USING bf (uid);
SET streambloom.enable_partition_scan = always;
SELECT * FROM plan('SELECT * FROM by_date WHERE uid = 50 AND d >= timestamptz ''2026-02-10 12:00''', true);
SELECT * FROM plan('SELECT * FROM by_date WHERE uid = 50 AND d >= (SELECT date ''2026-02-10'')', true);
SET streambloom.enable_partition_scan = always;
SELECT query, max(line), compare('SELECT * FROM ' || query) FROM unnest(ARRAY[
	'by_hash WHERE uid IN (0, 5, 700) AND a = (SELECT 1) AND b = (SELECT 2)',
	'by_hash WHERE uid IN (0, 5, 700) AND a = 1 AND b = (SELECT 2)',
	'by_hash WHERE uid IN (0, 5, 700) AND a = (SELECT 1)',
	'by_range WHERE uid IN (0, 5, 700) AND a = (SELECT 1)',
	'by_range WHERE uid IN (0, 5, 700) AND a = (SELECT 1) AND b = (SELECT 2)',
	'by_range WHERE uid IN (0, 5, 700) AND a > (SELECT 1) AND b = (SELECT 2)',
	'by_range WHERE uid IN (0, 5, 700) AND (SELECT 2) = b'
	]) query LEFT JOIN LATERAL plan('SELECT * FROM ' || query, true) line ON line LIKE '%Pruned%' GROUP BY query ORDER BY query;
-- The partitioned table below the parent has its columns in another order.
CREATE TABLE turned (k int, j int, uid int) PARTITION BY LIST (k);
CREATE TABLE turned_1 (k int, uid int, j int) PARTITION BY LIST (j);
CREATE TABLE turned_1_1 PARTITION OF turned_1 FOR VALUES IN (1);
CREATE TABLE turned_1_7 PARTITION OF turned_1 FOR VALUES IN (7);
ALTER TABLE turned ATTACH PARTITION turned_1 FOR VALUES IN (1);
INSERT INTO turned VALUES (1, 1, 7), (1, 7, 1);
CREATE INDEX ON turned USING bf (uid);
SELECT compare('SELECT * FROM turned WHERE uid = (SELECT 7)'), compare('SELECT * FROM turned WHERE uid = 7 AND j = (SELECT 1)');
SET streambloom.enable_partition_scan = on;
-- A whole row has no value before it is read.
PREPARE whole_row (int) AS SELECT uid, host FROM log WHERE uid = 1234 AND (day = $1 OR log IS NULL);
SET plan_cache_mode = force_generic_plan;
SELECT * FROM plan('EXECUTE whole_row (24)', true) line WHERE line LIKE '%Partitions%';
EXECUTE whole_row (24);
RESET plan_cache_mode;
DEALLOCATE whole_row;

-- JIT compiles the expressions of the node once, not for each scan.
CREATE FUNCTION compiled(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL jit = on;
	SET LOCAL jit_above_cost = 0;
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	RETURN plan->0->'JIT'->>'Functions';
END
$$;
SELECT query, compiled(format(query, 2)) IS NOT DISTINCT FROM compiled(format(query, 9)) AS once FROM unnest(ARRAY[
	'SELECT * FROM generate_series(1, %s) s, LATERAL (SELECT * FROM log WHERE uid = 370 AND v > s - 50 OFFSET 0) l',
	'SELECT * FROM generate_series(1, %s) s, LATERAL (SELECT * FROM log WHERE uid = 370 AND day <> s AND day IN (7, s) OFFSET 0) l',
	'SELECT * FROM generate_series(1, %s) s, LATERAL (SELECT * FROM chunk_scan(NULL::log, ''uid'', 370) WHERE v > s - 50 OFFSET 0) l'
	]) query;

-- the inner side of a nested loop: the partitions are asked for each row of the outer side
CREATE TABLE wanted AS SELECT i * 370 AS u, i AS n FROM generate_series(1, 3) i;
INSERT INTO wanted VALUES (NULL, 4), (-1, 5), (4751, 6), (370, 7);
ANALYZE wanted;
SET enable_memoize = off;
SET enable_hashjoin = off;	-- see partition_scan_joins
SELECT * FROM plan('SELECT n, host FROM wanted JOIN log ON uid = u WHERE v < 48', true);
SELECT * FROM plan('SELECT n, host FROM log RIGHT JOIN wanted ON u = uid AND v < n + 40', true);
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM wanted JOIN log ON uid = u',
	'SELECT * FROM wanted LEFT JOIN log ON uid = u AND v > n',
	'SELECT * FROM wanted a JOIN wanted b ON a.n < 4 JOIN log ON uid = a.u + b.n',
	'SELECT * FROM wanted JOIN log ON uid = ANY (ARRAY[u, u + 1])',
	'SELECT * FROM log a JOIN log b ON b.uid = a.uid + 1 WHERE a.uid = 370',
	'SELECT * FROM log a JOIN log b ON b.uid = a.v WHERE a.uid = 370',
	'SELECT * FROM wanted, LATERAL (SELECT count(*), max(host) FROM log WHERE uid = u) l',
	'SELECT * FROM wanted, LATERAL (SELECT host FROM log WHERE uid = u LIMIT 1) l',
	'SELECT log.* FROM wanted JOIN log ON uid = u AND log.tableoid <> ''log_1''::regclass AND random() >= 0'
	]) query;
RESET enable_hashjoin;
-- Where all partitions have to be read, the table is planned as always.
SELECT * FROM plan('SELECT count(*) FROM log a JOIN log b USING (uid) WHERE a.v < 10');

-- The estimates are those of all partitions together.
CREATE FUNCTION estimates(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;
CREATE FUNCTION hosts(first int, count int) RETURNS text[] LANGUAGE sql IMMUTABLE AS
	$$SELECT array_agg('h' || i) FROM generate_series(first, first + count - 1) i$$;
SELECT setting AS partition_scan, estimates('SELECT * FROM log WHERE uid = 1234'),
	estimates('SELECT host FROM log WHERE uid IN (1, 2, 3) AND v > 50')
	FROM (VALUES ('on'), ('off')) s (setting), LATERAL set_config('streambloom.enable_partition_scan', setting, false);
-- Conditions on the partition key, which have ruled partitions out already, do not count twice.
CREATE FUNCTION is_near(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	rows float8;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO rows;
	RETURN estimates(query)::float8 BETWEEN rows / 1.3 AND rows * 1.3;
END
$$;
SET streambloom.enable_partition_scan = always;
SELECT is_near('SELECT * FROM log WHERE host = ANY (hosts(0, 500))') AS all_partitions,
	is_near('SELECT * FROM log WHERE host = ANY (hosts(0, 100)) AND day < 20') AS first_ones,
	is_near('SELECT * FROM log WHERE host = ANY (hosts(0, 500)) AND day >= 60') AS last_ones;

-- prepared statements: with plans for the value, and with one for all
SET streambloom.enable_partition_scan = on;
PREPARE one (bigint, int) AS SELECT uid, host FROM log WHERE uid = $1 AND v < $2;
SET plan_cache_mode = force_custom_plan;
SELECT * FROM plan('EXECUTE one (1234, 40)', true);
SET plan_cache_mode = force_generic_plan;
SELECT * FROM plan('EXECUTE one (1234, 40)', true);
EXECUTE one (1234, 40);
EXECUTE one (1234, 34);
EXECUTE one (NULL, 40);
EXECUTE one (4751, 40);
-- What is done meanwhile is noticed.
CREATE TABLE log_rest_77 PARTITION OF log_rest FOR VALUES IN (77);
INSERT INTO log VALUES (100, 1234, 'new', 1, 77), (100, 1234, 'default', 2, 78), (20, 1234, 'no index', 3, 1);
UPDATE log SET v = 2 WHERE uid = 1234 AND v = 34;
EXECUTE one (1234, 79);
ALTER TABLE log DETACH PARTITION log_20;
EXECUTE one (1234, 79);
TRUNCATE log_24;
EXECUTE one (1234, 79);
ALTER TABLE log ADD COLUMN more text DEFAULT 'more';
EXECUTE one (1234, 79);
SELECT compare('SELECT * FROM log WHERE uid = 1234');
DROP TABLE log_rest_77;
EXECUTE one (1234, 79);
VACUUM FULL log_7;
EXECUTE one (370, 79);
REINDEX TABLE log_7;
EXECUTE one (370, 79);
DROP INDEX log_7_uid_host_idx;
EXECUTE one (370, 79);
ALTER TABLE log ATTACH PARTITION log_20 FOR VALUES FROM (20) TO (21);	-- lacks the column
ALTER TABLE log_20 ADD COLUMN more text;
ALTER TABLE log ATTACH PARTITION log_20 FOR VALUES FROM (20) TO (21);
EXECUTE one (1234, 79);
DEALLOCATE one;
RESET plan_cache_mode;

-- PL/pgSQL, with a plan for all values from the sixth call on; its own rows; cursors
CREATE FUNCTION host_of(u bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT min(host) FROM log WHERE uid = u);
END
$$;
SELECT u, host_of(u) FROM generate_series(365, 372) u;
BEGIN;
INSERT INTO log VALUES (9, -9, 'mine', 1, 1);
SELECT * FROM log WHERE uid = -9;
SAVEPOINT s;
DELETE FROM log WHERE uid = -9;
SELECT * FROM log WHERE uid = -9;
ROLLBACK TO s;
SELECT * FROM log WHERE uid = -9;
DECLARE c SCROLL CURSOR FOR SELECT uid, v FROM log WHERE uid IN (1, 350, 399) ORDER BY uid;
FETCH 2 FROM c;
INSERT INTO log VALUES (9, 350, 'later', 1, 1);
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT uid, v FROM log WHERE uid IN (1, 350, 399);
COMMIT;
FETCH ALL FROM h;
CLOSE h;

-- privileges are those of the parent
CREATE ROLE partition_scan_user;
GRANT USAGE ON SCHEMA partition_scan TO partition_scan_user;
GRANT SELECT (uid, v) ON log TO partition_scan_user;
SET ROLE partition_scan_user;
SELECT v FROM log WHERE uid = 399;
SELECT host FROM log WHERE uid = 399;
SELECT v FROM log WHERE uid = 399 AND host = 'h399';
RESET ROLE;
REVOKE ALL ON log FROM partition_scan_user;
GRANT SELECT ON log_7 TO partition_scan_user;
SET ROLE partition_scan_user;
SELECT v FROM log WHERE uid = 399;
RESET ROLE;
-- a view reads with the rights of its owner
CREATE VIEW view AS SELECT uid, v FROM log;
GRANT SELECT ON view TO partition_scan_user;
SET ROLE partition_scan_user;
SET streambloom.enable_partition_scan = on;
SELECT plan FROM plan('SELECT * FROM view WHERE uid = 399');
SELECT * FROM view WHERE uid = 399;
RESET ROLE;

DROP SCHEMA partition_scan CASCADE;
DROP ROLE partition_scan_user;
