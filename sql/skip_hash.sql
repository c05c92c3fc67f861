-- skip_hash: arrays that PartitionScan and scans below Skip compare with are tested by hash, with the same result

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_hash;
SET search_path = skip_hash, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_bitmapscan = off;
SET enable_indexscan = off;
SET jit = off;
CREATE TABLE log (id int NOT NULL, host text, n int, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (1000) TO (2000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (2000) TO (3000);
INSERT INTO log SELECT i, CASE WHEN i % 50 <> 3 THEN 'h' || i / 10 END, i / 10 FROM generate_series(0, 2999) i;
CREATE INDEX ON log USING bf (host, n) WITH (pages_per_range = 4);
VACUUM ANALYZE log;
CREATE FUNCTION hashed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	hashed int := 0;
	verdicts text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		hashed := hashed + (line ~ 'by hash')::int;
		verdicts := coalesce(substring(line FROM 'Verdicts: (.*)'), verdicts);
	END LOOP;
	RETURN hashed || ' by hash; ' || verdicts;
END
$$;

SET plan_cache_mode = force_generic_plan;
PREPARE hosts(text[]) AS SELECT count(*), sum(id) FROM log WHERE host = ANY ($1);
PREPARE two(text[], int[]) AS SELECT count(*), sum(id) FROM log WHERE host = ANY ($1) AND n = ANY ($2);
PREPARE others(text[]) AS SELECT count(*), sum(id) FROM log WHERE host = ANY ($1) OR n = 7;
-- nine elements or more, with NULL or twice; fewer; none; NULL
SELECT hashed('EXECUTE hosts(''{h7,h8,h150,a,b,c,d,e,f,g}'')');
SELECT hashed('EXECUTE hosts(''{h7,h7,h7,h150,NULL,NULL,h150,h150,h150,h7}'')');
SELECT hashed('EXECUTE hosts(''{h7,h8,h150}'')');
SELECT hashed('EXECUTE hosts(''{}'')');
SELECT hashed('EXECUTE hosts(NULL)');
SELECT hashed('EXECUTE two(''{h7,h8,h150,a,b,c,d,e,f,g}'', ''{7,150,1000,1001,1002,1003,1004,1005,1006}'')');
EXECUTE hosts('{h7,h8,h150,a,b,c,d,e,f,g}');
EXECUTE hosts('{h7,h7,h7,h150,NULL,NULL,h150,h150,h150,h7}');
EXECUTE hosts('{h7,h8,h150}');
EXECUTE hosts('{}');
EXECUTE hosts(NULL);
EXECUTE two('{h7,h8,h150,a,b,c,d,e,f,g}', '{7,150,1000,1001,1002,1003,1004,1005,1006}');
EXECUTE others('{h7,h8,h150,a,b,c,d,e,f,g}');
SET streambloom.enable_skip = off;
EXECUTE hosts('{h7,h8,h150,a,b,c,d,e,f,g}');
EXECUTE hosts('{h7,h7,h7,h150,NULL,NULL,h150,h150,h150,h7}');
EXECUTE two('{h7,h8,h150,a,b,c,d,e,f,g}', '{7,150,1000,1001,1002,1003,1004,1005,1006}');
RESET streambloom.enable_skip;

-- the result of a subquery, and an array that changes from scan to scan: it is tested by hash in the first one only
SELECT hashed('SELECT id FROM log WHERE host = ANY (ARRAY(SELECT ''h'' || i FROM generate_series(7, 18) i))');
SELECT count(*), sum(id) FROM log WHERE host = ANY (ARRAY(SELECT 'h' || i FROM generate_series(7, 18) i));
SELECT hashed('SELECT id FROM log WHERE host = ANY (ARRAY(SELECT ''h'' || i FROM generate_series(7, 18) i WHERE i > 100))');
SELECT a[1], (SELECT count(*) FROM log WHERE host = ANY (a)), (SELECT min(id) FROM log WHERE host = ANY (a))
FROM (VALUES ('{h7,h8,h150,a,b,c,d,e,f,g}'::text[]), (NULL), ('{h9,h10,h250,a,b,c,d,e,f,g}'), ('{h7}'), ('{h11,h12,h13,h14,h15,h16,h17,h18,h19,NULL}')) v(a);

-- hash tables of later scans do not fill the memory
CREATE FUNCTION executor_bytes() RETURNS numeric LANGUAGE sql VOLATILE AS
	'SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name = ''ExecutorState''';
SELECT sum(found), max(bytes) - min(bytes) < 20 * 1024 * 1024 AS memory_is_bounded FROM (
	SELECT (SELECT count(*) FROM log WHERE n = ANY (a)) AS found, executor_bytes() AS bytes
	FROM (SELECT i, (SELECT array_agg(i + j) FROM generate_series(0, 1999) j) AS a FROM generate_series(0, 400) i OFFSET 0) arrays
	OFFSET 0) counts;

-- int8 values for an int4 column are tested by hash too, by the hash of int8
PREPARE numbers(int8[]) AS SELECT count(*), sum(id) FROM log WHERE n = ANY ($1);
SELECT hashed('EXECUTE numbers(''{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}'')');
EXECUTE numbers('{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}');
EXECUTE numbers('{7,7,7,150,NULL,NULL,150,150,-7}');
SET enable_seqscan = off; -- the pages of a bitmap that are rechecked
SELECT hashed('EXECUTE numbers(''{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}'')');
EXECUTE numbers('{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}');
CREATE TABLE single AS SELECT * FROM log;
CREATE INDEX ON single USING bf (n) WITH (pages_per_range = 4);
VACUUM ANALYZE single;
PREPARE single_numbers(int8[]) AS SELECT count(*), sum(id) FROM single WHERE n = ANY ($1);
SELECT line FROM plan_lines('EXECUTE single_numbers(''{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}'')', true) line WHERE line ~ 'Custom|by hash|Index Scan';
EXECUTE single_numbers('{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}');
RESET enable_seqscan;
SET streambloom.enable_skip = off;
EXECUTE numbers('{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}');
EXECUTE numbers('{7,7,7,150,NULL,NULL,150,150,-7}');
EXECUTE single_numbers('{7,150,1000,1001,1002,1003,1004,1005,9223372036854775807}');
RESET streambloom.enable_skip;

-- only numbers are cast: name cuts a text, and a timestamp does not reach as far as a date
CREATE TABLE cut AS SELECT repeat('x', 62 + i) AS t, CASE WHEN i = 0 THEN timestamp '2020-01-01' END AS at,
	CASE WHEN i < 3 THEN date '2020-01-01' ELSE date '5000000-01-01' END AS day FROM generate_series(0, 3) i;
CREATE INDEX ON cut USING bf (t, at);
SELECT length(t) FROM cut WHERE t = ANY (ARRAY(SELECT repeat('x', i)::name FROM generate_series(50, 63) i));
PREPARE days(timestamp[]) AS SELECT length(t) FROM cut WHERE day = ANY ($1) AND at = ANY ($1);
EXECUTE days('{2020-01-01,2020-01-02,2020-01-03,2020-01-04,2020-01-05,2020-01-06,2020-01-07,2020-01-08,2020-01-09}');

-- with JIT, and partitions whose columns are in another order
CREATE TABLE wide (id int NOT NULL, gone text DEFAULT repeat('x', 100), n int, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE wide_%s PARTITION OF wide FOR VALUES FROM (%s) TO (%s)', i, i * 500, i * 500 + 500) FROM generate_series(2, 4) i \gexec
INSERT INTO wide (id, n) SELECT i, i FROM generate_series(1000, 2499) i;
ALTER TABLE wide DROP gone;
CREATE TABLE wide_0 (filler text DEFAULT repeat('x', 100), n int, id int NOT NULL);
CREATE TABLE wide_1 (id int NOT NULL, gone int DEFAULT 1, n int, filler text DEFAULT repeat('x', 100));
INSERT INTO wide_0 (id, n) SELECT i, i FROM generate_series(0, 499) i;
INSERT INTO wide_1 (id, n) SELECT i, i FROM generate_series(500, 999) i;
ALTER TABLE wide_1 DROP gone;
ALTER TABLE wide ATTACH PARTITION wide_0 FOR VALUES FROM (0) TO (500);
ALTER TABLE wide ATTACH PARTITION wide_1 FOR VALUES FROM (500) TO (1000);
CREATE INDEX ON wide USING bf (n);
VACUUM ANALYZE wide;
SET jit = on;
SET jit_above_cost = 0;
SET jit_tuple_deforming = on;
PREPARE wide(int[]) AS SELECT count(*), sum(id) FROM wide WHERE n = ANY ($1);
EXECUTE wide('{1,3,5,7,501,503,505,601,1001,1003,1005,1501,1503,7999}');
RESET jit_above_cost;
SET jit = off;


-- PartitionScan: a parameter, an array for each row outside, which is another one in the second scan, and NULL in it
SET streambloom.enable_partition_scan = always;
DEALLOCATE wide;
PREPARE wide(int[]) AS SELECT count(*), sum(id) FROM wide WHERE n = ANY ($1);
EXECUTE wide('{1,3,5,7,501,503,505,601,1001,1003,1005,1501,1503,7999}');
SELECT line FROM plan_lines('EXECUTE wide(''{1,3,5,7,501,503,505,601,1001,1003,1005,1501,1503,7999}'')', true) line WHERE line ~ 'PartitionScan|Array';
SELECT lists.*, found.* FROM (VALUES (1, 12, 1), (990, 1100, 7), (1, 3, 1)) lists (a, b, step),
	LATERAL (SELECT count(*), sum(id) FROM wide WHERE n = ANY (ARRAY(SELECT nullif(i, b) FROM generate_series(a, b, step) i))) found;
SET streambloom.enable_partition_scan = off;
SELECT lists.*, found.* FROM (VALUES (1, 12, 1), (990, 1100, 7), (1, 3, 1)) lists (a, b, step),
	LATERAL (SELECT count(*), sum(id) FROM wide WHERE n = ANY (ARRAY(SELECT nullif(i, b) FROM generate_series(a, b, step) i))) found;

DROP SCHEMA skip_hash CASCADE;
