-- skip_aside: what works with the node as without it: changes, cursors, row locks, workers, pruning, privileges; and what cannot be asked

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_aside;
SET search_path = skip_aside, public;
SET client_min_messages = warning;
SET jit = off;
CREATE TABLE log (id int NOT NULL, uid bigint, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (8000) TO (12000);
INSERT INTO log SELECT i, i FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 8);
VACUUM ANALYZE log;
CREATE FUNCTION node(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes int := 0;
	workers bool := false;
BEGIN
	FOR line IN SELECT plan_lines(query) LOOP
		workers := workers OR line ~ 'Gather';
		nodes := nodes + (line ~ '\(Skip\)')::int;
	END LOOP;
	RETURN concat_ws(', ', CASE WHEN nodes > 0 THEN nodes || ' Skip' ELSE 'no node' END, CASE WHEN workers THEN 'workers' END);
END
$$;
SELECT node('SELECT * FROM log WHERE uid = 5000');

-- rows that the statement changes
SELECT node('DELETE FROM log WHERE uid = 5000');
SELECT node('UPDATE log SET id = id + 1 WHERE uid = 5000');
BEGIN;
UPDATE log SET id = id + 4000 WHERE uid = 5000 RETURNING tableoid::regclass, id, uid;
DELETE FROM log WHERE uid = 5000 RETURNING tableoid::regclass, id, uid;
SELECT count(*) FROM log WHERE uid = 5000;
ROLLBACK;
-- two tables with the node
SELECT node('UPDATE log l SET filler = o.filler FROM log o WHERE o.uid = 5000 AND l.uid = 4999');
SELECT node('INSERT INTO log SELECT * FROM log WHERE uid = 5000');
BEGIN;
INSERT INTO log SELECT id + 1, uid FROM log WHERE uid = 5000;
INSERT INTO log SELECT id + 4000, uid FROM log WHERE uid = 5000;
SELECT tableoid::regclass, id, uid FROM log WHERE uid = 5000 ORDER BY id;
ROLLBACK;

-- rows that the statement locks
SELECT node('SELECT * FROM log WHERE uid = 5000 FOR UPDATE');
SELECT id, uid FROM log WHERE uid = 5000 FOR UPDATE;

-- cursors: WHERE CURRENT OF works
BEGIN;
DECLARE c CURSOR FOR SELECT id, uid FROM log WHERE uid = 5000;
FETCH c;
UPDATE log SET filler = 'changed' WHERE CURRENT OF c RETURNING id, filler;
DECLARE d SCROLL CURSOR FOR SELECT id, uid FROM log WHERE uid IN (5000, 9000);
FETCH ALL FROM d;
FETCH BACKWARD ALL FROM d;
ROLLBACK;
DO $$
DECLARE
	c CURSOR FOR SELECT * FROM log WHERE uid = 5000;
	r record;
BEGIN
	OPEN c;
	FETCH c INTO r;
	UPDATE log SET filler = 'changed' WHERE CURRENT OF c;
	CLOSE c;
	FOR r IN SELECT id, filler FROM log WHERE uid = 5000 LOOP
		RAISE WARNING '%', r;
	END LOOP;
END
$$;
-- an older cursor sees its own snapshot
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM log WHERE uid = 77777;
INSERT INTO log VALUES (1, 77777);
SELECT bf_summarize_new_values(i.indexrelid) IS NOT NULL FROM pg_index i WHERE indrelid = 'log_0'::regclass;
FETCH c;
SELECT count(*) FROM log WHERE uid = 77777;
ROLLBACK;

-- parallel workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_bitmapscan = off;
SELECT node('SELECT * FROM log WHERE uid = 5000');
SELECT id, uid FROM log WHERE uid = 5000;
-- a subquery that workers run
SET enable_bitmapscan = on;
CREATE TABLE driver AS SELECT i AS n FROM generate_series(1, 2000) i;
ALTER TABLE driver SET (parallel_workers = 2);
ANALYZE driver;
SELECT node('SELECT sum(n), count(*) FROM driver WHERE n + 3500 NOT IN (SELECT id FROM log WHERE uid = 5000)');
SELECT sum(n), count(*) FROM driver WHERE n + 3500 NOT IN (SELECT id FROM log WHERE uid = 5000);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- partitions that are pruned, when the query is planned, and when it runs
SELECT node('SELECT * FROM log WHERE uid = 5000 AND id < 8000');
SELECT node('SELECT * FROM log WHERE uid = 5000 AND id < 8000 + length(now()::text) * 0');
PREPARE pruned(int) AS SELECT id FROM log WHERE uid = 5000 AND id < $1;
SET plan_cache_mode = force_generic_plan;
SELECT node('EXECUTE pruned(8000)');
EXECUTE pruned(8000);
EXECUTE pruned(4000);
RESET plan_cache_mode;

-- children whose scan is cheap: B-trees, tiny tables
CREATE INDEX btree ON log (uid);
SET streambloom.enable_index_estimates = off;
SELECT node('SELECT * FROM log WHERE uid = 5000');
RESET streambloom.enable_index_estimates;
DROP INDEX btree;

-- indexes that cannot answer: partial ones (unless the query implies the predicate), other expressions, other collations
DROP INDEX log_uid_idx;
CREATE INDEX ON log USING bf (uid) WHERE id % 2 = 0;
SELECT node('SELECT * FROM log WHERE uid = 5000');
SELECT node('SELECT * FROM log WHERE uid = 5000 AND id % 2 = 0');
DROP INDEX log_uid_idx;
CREATE INDEX ON log USING bf ((uid % 1000), lower(filler));
ANALYZE log;
SELECT node('SELECT * FROM log WHERE uid % 1000 = 1234567');
SELECT node('SELECT * FROM log WHERE uid % 100 = 1234567');
SELECT node('SELECT * FROM log WHERE lower(filler) = ''y''');
SELECT node('SELECT * FROM log WHERE lower(filler) = ''y'' COLLATE "POSIX"');
DROP INDEX log_expr_lower_idx;
CREATE INDEX log_uid_idx ON log USING bf (uid) WITH (pages_per_range = 8);

-- inheritance children, and the parent's own rows
CREATE TABLE event (id int, kind text);
CREATE TABLE event_a () INHERITS (event);
CREATE TABLE event_b (more int) INHERITS (event);
INSERT INTO event SELECT i, 'parent' FROM generate_series(0, 1999) i;
INSERT INTO event_a SELECT i, 'a' FROM generate_series(1000, 2999) i;
INSERT INTO event_b SELECT i, 'b' FROM generate_series(2000, 3999) i;
CREATE INDEX ON event USING bf (id) WITH (pages_per_range = 4);
CREATE INDEX ON event_a USING bf (id) WITH (pages_per_range = 4);
CREATE INDEX ON event_b USING bf (id) WITH (pages_per_range = 4);
VACUUM ANALYZE event, event_a, event_b;
SELECT node('SELECT * FROM event WHERE id = 500');
SELECT node('SELECT * FROM event WHERE id = 1500');
SELECT node('SELECT * FROM event WHERE id = 2500');
SELECT * FROM event WHERE id = 500;
SELECT * FROM event WHERE id = 1500 ORDER BY kind;
SELECT * FROM event WHERE id = 2500 ORDER BY kind;

-- privileges and row-level security are the query's, and EXPLAIN does not change them
CREATE ROLE regress_skip_reader;
GRANT USAGE ON SCHEMA skip_aside TO regress_skip_reader;
GRANT SELECT ON log TO regress_skip_reader;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON log USING (id % 2 = 0);
SET ROLE regress_skip_reader;
SELECT id FROM log WHERE uid IN (5000, 5001);
RESET ROLE;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON log FROM regress_skip_reader;
SET ROLE regress_skip_reader;
SELECT sqlstate_of('SELECT id FROM log WHERE uid = 5000');
RESET ROLE;

-- SERIALIZABLE: indexes that say no get the predicate locks that scans of them would take
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM log WHERE uid = 5000;
SELECT relation::regclass, locktype FROM pg_locks
WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation::regclass::text LIKE '%idx' ORDER BY 1;
ROLLBACK;

-- but a plain EXPLAIN takes no such lock, and is not counted as a scan of the index
SELECT pg_stat_force_next_flush();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT node('SELECT id FROM log WHERE uid = 5000');
SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation IN (SELECT indexrelid FROM pg_index WHERE indrelid::regclass::text LIKE 'log%');
SELECT relid::regclass, pg_stat_get_xact_numscans(relid) FROM unnest('{log_0_uid_idx,log_2_uid_idx}'::regclass[]) relid;
SELECT id FROM log WHERE uid = 5000;
SELECT relid::regclass, pg_stat_get_xact_numscans(relid) FROM unnest('{log_0_uid_idx,log_2_uid_idx}'::regclass[]) relid;
ROLLBACK;

-- the answer is right without summarizing: new rows, new ranges, and ranges that were made unsummarized
INSERT INTO log SELECT 3999, 500000 + i FROM generate_series(1, 3000) i;
SELECT count(*) FROM log WHERE uid = 502999;
SELECT node('SELECT * FROM log WHERE uid = 5000');
VACUUM log;
SELECT node('SELECT * FROM log WHERE uid = 5000');
SELECT count(*) FROM log WHERE uid = 502999;
SELECT bf_desummarize_range('log_2_uid_idx', 0);
SELECT node('SELECT * FROM log WHERE uid = 5000');

-- a plain EXPLAIN of a parameter without a value
SELECT node('SELECT * FROM log WHERE uid = (SELECT 5000 FROM pg_sleep(0))');

-- An operator that is not strict can be true for NULL. Then no index can answer it, although it is in the operator class.
CREATE TYPE lax_int;
CREATE FUNCTION lax_in(cstring) RETURNS lax_int LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION lax_out(lax_int) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE lax_int (INPUT = lax_in, OUTPUT = lax_out, LIKE = int4);
CREATE FUNCTION same(lax_int, lax_int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1::text IS NOT DISTINCT FROM $2::text; END';
CREATE OPERATOR === (LEFTARG = lax_int, RIGHTARG = lax_int, FUNCTION = same, COMMUTATOR = ===, HASHES);
CREATE FUNCTION lax_hash(lax_int) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION lax_hash(lax_int, int8) RETURNS int8 LANGUAGE internal IMMUTABLE STRICT AS 'hashint4extended';
CREATE OPERATOR CLASS lax_hash_ops DEFAULT FOR TYPE lax_int USING hash AS OPERATOR 1 ===, FUNCTION 1 lax_hash(lax_int), FUNCTION 2 lax_hash(lax_int, int8);
CREATE OPERATOR CLASS lax_ops DEFAULT FOR TYPE lax_int USING bf AS OPERATOR 1 ===;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'lax_ops';
CREATE TABLE lax (k int, a lax_int) PARTITION BY LIST (k);
CREATE TABLE lax_1 PARTITION OF lax FOR VALUES IN (1);
CREATE TABLE lax_2 PARTITION OF lax FOR VALUES IN (2);
INSERT INTO lax SELECT i % 2 + 1, NULLIF(i % 100, 0)::text::lax_int FROM generate_series(1, 20000) i;
CREATE INDEX ON lax USING bf (a);
CREATE TABLE lax_whole AS SELECT * FROM lax;
CREATE INDEX ON lax_whole USING bf (a);
CREATE TABLE lax_keys AS SELECT NULL::lax_int AS a;
VACUUM ANALYZE lax, lax_whole, lax_keys;
SET enable_bitmapscan = off;
SET enable_nestloop = off;
CREATE FUNCTION nodes_and_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	rows bigint;
	nodes text := '';
BEGIN
	FOR line IN SELECT plan_lines(query) LOOP
		nodes := nodes || coalesce(substring(line FROM '(Skip|PartitionScan)') || ', ', '');
	END LOOP;
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO rows;
	RETURN nodes || rows || ' rows';
END
$$;
CREATE VIEW queries AS SELECT query FROM unnest(ARRAY[
	'SELECT * FROM lax WHERE a === NULL',
	'SELECT * FROM lax WHERE NULL === a',
	'SELECT * FROM lax WHERE a IS NULL',
	'SELECT lax.* FROM lax JOIN lax_keys ON lax.a === lax_keys.a',
	'SELECT l.* FROM lax_whole l JOIN lax_keys ON l.a === lax_keys.a']) query;
SELECT query, nodes_and_rows(query) FROM queries;
SET streambloom.enable_partition_scan = always;
SELECT query, nodes_and_rows(query) FROM queries;
SET streambloom.enable_partition_scan = off;
RESET enable_bitmapscan;
RESET enable_nestloop;

DROP SCHEMA skip_aside CASCADE;
DROP ROLE regress_skip_reader;
