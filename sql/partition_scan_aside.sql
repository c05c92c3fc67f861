-- partition_scan_aside: where a table with partitions is planned as always, and what EXPLAIN (VERBOSE) says about it

LOAD 'streambloom';
CREATE SCHEMA partition_scan_aside;
SET search_path = partition_scan_aside, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET streambloom.enable_partition_scan = on;

-- 40 partitions with enough rows for Skip; each uid is in one of them, 7 is in eight
CREATE TABLE log (day int, uid int, host text, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (day);
DO $$ BEGIN FOR i IN 0..39 LOOP EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); END LOOP; END $$;
INSERT INTO log SELECT i / 300, CASE WHEN i % 1500 = 0 THEN 7 ELSE i + 1000 END, 'h' || i % 50 FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 2);
VACUUM ANALYZE log;
CREATE TABLE other AS SELECT * FROM log WHERE day = 3;

-- Does a query get the node? And if it has the node Skip instead, why is this so?
CREATE FUNCTION why(query text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	last text := '';
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF, VERBOSE%s) %s', options, query) LOOP
		CONTINUE WHEN line !~ 'No PartitionScan Because|Custom Scan \(';
		line := regexp_replace(regexp_replace(line, '^[ >-]*', ''), '\(Skip\).*', '(Skip)');
		IF line <> last THEN -- a Skip for each partition is one line
			RETURN NEXT line;
		END IF;
		last := line;
	END LOOP;
END
$$;
SELECT why('SELECT * FROM log WHERE uid = 1001');
SELECT why('SELECT * FROM log WHERE uid = 1001');
SET streambloom.enable_partition_scan = off;
SELECT why('SELECT * FROM log WHERE uid = 1001');
SET streambloom.enable_partition_scan = on;

SELECT query, coalesce(string_agg(w, ' | '), 'neither node') AS why FROM unnest(ARRAY[
	-- the statement
	'SELECT * FROM log WHERE uid = 1001 FOR UPDATE',
	'SELECT * FROM log WHERE uid = 1001 FOR KEY SHARE',
	'SELECT * FROM log, (SELECT * FROM other WHERE uid = 5 FOR SHARE) o WHERE log.uid = 1001',
	'WITH w AS (DELETE FROM other RETURNING *) SELECT * FROM log, w WHERE log.uid = 1001',
	'UPDATE log SET host = '''' WHERE uid = 1001',
	'DELETE FROM log WHERE uid = 1001',
	'UPDATE other SET host = l.host FROM (SELECT * FROM log WHERE uid = 1001) l WHERE l.day = other.day',
	'INSERT INTO other SELECT * FROM log WHERE uid = 1001',
	'CREATE TABLE another AS SELECT * FROM log WHERE uid = 1001',
	-- the table
	'SELECT * FROM ONLY log WHERE uid = 1001',
	'SELECT * FROM log TABLESAMPLE BERNOULLI (100) WHERE uid = 1001',
	'SELECT * FROM log_3 WHERE uid = 1001',
	'SELECT * FROM log WHERE uid = 1001 UNION ALL SELECT * FROM log WHERE uid = 1002',
	'SELECT * FROM (SELECT * FROM log UNION ALL SELECT * FROM other) l WHERE uid = 1001',
	'SELECT * FROM other WHERE uid IN (SELECT uid FROM log WHERE uid = 1001)',
	'SELECT (SELECT count(*) FROM log WHERE uid = 1001)',
	-- what is asked for
	'SELECT ctid, * FROM log WHERE uid = 1001',
	'SELECT * FROM log WHERE uid = 1001 AND xmin <> ''1''',
	'SELECT * FROM log WHERE uid > 1001 AND uid < 1003',
	'SELECT * FROM log WHERE host = ''h1'' AND uid = day',
	'SELECT * FROM log',
	'SELECT * FROM log WHERE uid::text = ''1001''',
	-- what is expected
	'SELECT * FROM log WHERE uid = 7',
	'SELECT * FROM log WHERE uid = 1001 AND day BETWEEN 3 AND 5',
	'SELECT * FROM log WHERE uid = (SELECT 1001)',
	'SELECT * FROM log WHERE uid = (SELECT 1001) LIMIT 3',
	'SELECT * FROM log WHERE uid = (SELECT 1001) ORDER BY day',
	'SELECT * FROM log WHERE uid = 1001 ORDER BY day LIMIT 3',
	'SELECT * FROM log WHERE uid = (SELECT 1001) + random()::int'
	]) WITH ORDINALITY query (query, number) LEFT JOIN LATERAL why(query.query) w ON true GROUP BY query, number ORDER BY number;

-- without statistics nothing is known of a value that comes later
DELETE FROM pg_statistic WHERE starelid = 'log'::regclass;
SELECT why('SELECT * FROM log WHERE uid = (SELECT 1001)');
SELECT why('SELECT * FROM log WHERE uid = 1001');
ANALYZE log;

-- cursors may be used by WHERE CURRENT OF
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM log WHERE uid = 1001;
FETCH 1 FROM c;
UPDATE log SET host = 'current' WHERE CURRENT OF c RETURNING day, uid, host;
ROLLBACK;

-- Row-level security and security-barrier views: nobody learns from the node what is hidden from him.
CREATE ROLE partition_scan_aside_user;
GRANT USAGE ON SCHEMA partition_scan_aside TO partition_scan_aside_user;
GRANT SELECT ON log, other TO partition_scan_aside_user;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM log WHERE host = 'h1';
GRANT SELECT ON barrier TO partition_scan_aside_user;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON log USING (host = 'h1');
SET ROLE partition_scan_aside_user;
SELECT why('SELECT * FROM log WHERE uid = 1001');
SELECT why('SELECT * FROM log WHERE uid = 1002');
SELECT count(*) FROM log WHERE uid = 1001;
SELECT count(*) FROM log WHERE uid = 1002;
SELECT why('SELECT * FROM barrier WHERE uid = 1001');
RESET ROLE;
SELECT why('SELECT * FROM log WHERE uid = 1001');
-- A plan that is kept is made again when it is for another user.
PREPARE kept AS SELECT count(*) FROM log WHERE uid = 1002;
EXECUTE kept;
SET ROLE partition_scan_aside_user;
EXECUTE kept;
RESET ROLE;
EXECUTE kept;
DEALLOCATE kept;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;

-- an inheritance tree, and tables without the index
CREATE TABLE parent (uid int);
DO $$ BEGIN FOR i IN 1..12 LOOP EXECUTE format('CREATE TABLE child_%s () INHERITS (parent)', i); END LOOP; END $$;
CREATE INDEX ON parent USING bf (uid);
SELECT * FROM why('SELECT * FROM parent WHERE uid = 1');
DROP INDEX log_uid_idx;
SELECT why('SELECT * FROM log WHERE uid = 1001');
SELECT count(*) FROM log WHERE uid = 1001;

-- a table without partitions
CREATE TABLE nothing (day int, uid int) PARTITION BY RANGE (day);
CREATE INDEX ON nothing USING bf (uid);
SELECT count(*) FROM nothing WHERE uid = 1;
CREATE TABLE nothing_1 PARTITION OF nothing FOR VALUES FROM (1) TO (2);
INSERT INTO nothing VALUES (1, 1);
SELECT count(*) FROM nothing WHERE uid = 1;

DROP SCHEMA partition_scan_aside CASCADE;
DROP ROLE partition_scan_aside_user;
