-- skip_paths: the paths of Skip and JoinKeys beside those of PostgreSQL

-- the first statement of a connection has the node: the index's access method loads the library
CREATE SCHEMA skip_paths;
CREATE TABLE skip_paths.log (day int, uid int, v int) PARTITION BY RANGE (day);
CREATE TABLE skip_paths.log_0 PARTITION OF skip_paths.log FOR VALUES FROM (0) TO (10);
CREATE TABLE skip_paths.log_1 PARTITION OF skip_paths.log FOR VALUES FROM (10) TO (20);
INSERT INTO skip_paths.log SELECT i % 20, (i % 20) * 10000 + i / 20, i FROM generate_series(0, 39999) i;
CREATE INDEX ON skip_paths.log USING bf (uid);
VACUUM ANALYZE skip_paths.log;
\c -
SET streambloom.enable_partition_scan = off;
EXPLAIN (COSTS OFF) SELECT * FROM skip_paths.log WHERE uid = 7;
\c -
SET streambloom.enable_partition_scan = off;
EXPLAIN (COSTS OFF) UPDATE skip_paths.log SET v = 1 WHERE uid = 7;
\c -
SET streambloom.enable_partition_scan = off;
EXPLAIN (COSTS OFF) DELETE FROM skip_paths.log WHERE uid = 7;
LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
SET search_path = skip_paths, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- A condition without columns: its Result stands above the node, and not between the node and the scan.
SET plan_cache_mode = force_generic_plan;
PREPARE gated(bool) AS SELECT v + 1 FROM log WHERE $1 AND uid = 7 AND day < 10;
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE gated(true);
EXECUTE gated(true);
EXECUTE gated(false);
RESET plan_cache_mode;

-- A nested loop keeps its parameterized Append, although one partition has no index for the join.
CREATE TABLE par (a int, kind int, v int) PARTITION BY LIST (a);
CREATE TABLE par_0 PARTITION OF par FOR VALUES IN (0);
CREATE TABLE par_1 PARTITION OF par FOR VALUES IN (1);
INSERT INTO par SELECT (i > 20000)::int, 1, i FROM generate_series(1, 20100) i;
CREATE INDEX ON par USING bf (kind);
CREATE INDEX par_0_v ON par_0 (v);
CREATE TABLE few AS SELECT i * 20050 AS v FROM generate_series(0, 1) i;
VACUUM ANALYZE par, few;
EXPLAIN (COSTS OFF) SELECT * FROM few JOIN par USING (v) WHERE kind = 1;
SELECT * FROM few JOIN par USING (v) WHERE kind = 1;

-- A nested loop between partitions: the arguments are columns of the partition's partner.
CREATE TABLE twin (day int, uid int) PARTITION BY RANGE (day);
CREATE TABLE twin_0 (uid int, gone int, day int);
ALTER TABLE twin_0 DROP gone;
ALTER TABLE twin ATTACH PARTITION twin_0 FOR VALUES FROM (0) TO (10);
CREATE TABLE twin_1 PARTITION OF twin FOR VALUES FROM (10) TO (20);
CREATE TABLE twin_2 PARTITION OF twin FOR VALUES FROM (20) TO (30);
INSERT INTO twin VALUES (0, 7), (3, 30007), (12, 120009), (12, 7);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (20) TO (30);
CREATE INDEX ON log (day, uid);
VACUUM ANALYZE twin;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_partitionwise_join = on;
EXPLAIN (COSTS OFF) SELECT twin.*, v FROM twin JOIN log USING (day, uid);
SELECT twin.*, v FROM twin JOIN log USING (day, uid) ORDER BY v;
RESET enable_partitionwise_join;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- A merge join marks and restores the scan below the node.
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE INDEX log_0_v ON log_0 (v);
CREATE INDEX log_1_v ON log_1 (v);
EXPLAIN (COSTS OFF) SELECT count(*) FROM log_0 JOIN log_1 USING (v) WHERE log_1.uid IN (100000, 7);
SELECT count(*) FROM log_0 a JOIN log_0 b USING (v) WHERE b.uid IN (7, 10008);
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- A cursor that may go backward reads all pages, one that may not only some.
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SELECT line FROM plan_lines('SELECT uid FROM log_1 WHERE uid IN (100000, 100500, 191999)', true) line WHERE line ~ 'Verdict';
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT uid FROM log_1 WHERE uid IN (100000, 100500, 191999);
FETCH 2 FROM c;
FETCH BACKWARD ALL FROM c;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
DECLARE d NO SCROLL CURSOR FOR SELECT uid FROM log_1 WHERE uid IN (100000, 100500, 191999);
FETCH ALL FROM d;
ROLLBACK;
RESET enable_bitmapscan;
RESET enable_indexscan;

-- MERGE, and an UPDATE of a table by the keys of another, with JoinKeys below Gather and without
CREATE TABLE news AS SELECT 30000 + i AS uid, i AS v FROM generate_series(0, 5) i;
ANALYZE news;
SET enable_nestloop = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) MERGE INTO log USING news ON log.uid = news.uid WHEN MATCHED THEN UPDATE SET v = -news.v WHEN NOT MATCHED THEN INSERT VALUES (25, news.uid, news.v);
MERGE INTO log USING news ON log.uid = news.uid WHEN MATCHED THEN UPDATE SET v = -news.v WHEN NOT MATCHED THEN INSERT VALUES (25, news.uid, news.v);
SELECT uid, v FROM log WHERE v <= 0 ORDER BY uid;
UPDATE log SET v = 0 FROM news WHERE log.uid = news.uid AND news.v > 3 RETURNING log.uid;
DELETE FROM log USING news WHERE log.uid = news.uid AND news.v > 4 RETURNING log.uid;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_parallel_hash = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(log.v) FROM log JOIN news USING (uid);
SELECT count(*), sum(log.v) FROM log JOIN news USING (uid);
SET streambloom.enable_skip = off;
SELECT count(*), sum(log.v) FROM log JOIN news USING (uid);

DROP SCHEMA skip_paths CASCADE;
