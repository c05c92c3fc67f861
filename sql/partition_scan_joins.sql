-- partition_scan_joins: a table of many partitions on the outer side of a hash join is asked about the join's keys, and loses no row by it

LOAD 'streambloom';
CREATE SCHEMA partition_scan_joins;
SET search_path = partition_scan_joins, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_nestloop = off;
SET enable_mergejoin = off;

-- 98 partitions of 50 rows. Each uid is in one of them, each host in five. One partition has its columns in another order, one has no bf index, and
-- the default partition is itself partitioned.
CALL make_partitioned_log(more_columns => ', ids int[]');
INSERT INTO log SELECT i / 50, i, 'h' || i % 1000, i % 50, i % 3, ARRAY[i] FROM generate_series(0, 4799) i;
INSERT INTO log VALUES (3, NULL, NULL, NULL, NULL, NULL);
CREATE INDEX log_bf ON ONLY log USING bf (uid, host, ids array_eq_ops);
DO $$
DECLARE
	partition regclass;
BEGIN
	FOR partition IN SELECT relid FROM pg_partition_tree('log') WHERE isleaf AND relid <> 'log_20'::regclass LOOP
		EXECUTE format('CREATE INDEX ON %s USING bf (uid, host, ids array_eq_ops)', partition);
	END LOOP;
END
$$;
VACUUM ANALYZE log;
CREATE TABLE suspects (uid bigint, host text, n int, small smallint);
INSERT INTO suspects SELECT u, 'h' || u, n, u FROM unnest('{370,1050,1234,4751}'::int[]) WITH ORDINALITY t (u, n);
CREATE TABLE pairs (a bigint, b int);
INSERT INTO pairs VALUES (370, 1), (370, 2), (NULL, 3), (1234, NULL), (-1, 5);
CREATE TABLE nobody (uid bigint);
-- a table that takes longer to search than the partitions are asked
CREATE TABLE many AS SELECT i AS uid, i % 100 AS n, repeat('x', 500) AS filler FROM generate_series(0, 4999) i;
VACUUM ANALYZE suspects, pairs, nobody, many;

-- Runs a query with the node and without any. Says how many rows there are, whether they are the same, and how many partitions were skipped.
CREATE FUNCTION compare(query text, use text DEFAULT 'on') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	with_node text[];
	without text[];
	gather text := format('SELECT coalesce(array_agg(t::text ORDER BY t::text), ''{}'') FROM (%s) t', query);
BEGIN
	PERFORM set_config('streambloom.enable_partition_scan', use, true);
	SET LOCAL streambloom.enable_join_skip = on;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF) ' || gather LOOP plan := plan || line; END LOOP;
	EXECUTE gather INTO with_node;
	SET LOCAL streambloom.enable_partition_scan = off;
	SET LOCAL streambloom.enable_join_skip = off;
	EXECUTE gather INTO without;
	RETURN format('%s, %s rows%s', CASE WHEN with_node = without THEN 'the same' ELSE 'DIFFERENT' END, cardinality(with_node),
		CASE WHEN plan ~ 'PartitionScan' THEN ', PartitionScan, ' || CASE WHEN plan ~ 'ANY \(keys' THEN 'keys, ' END || 'skipped ' || substring(plan from 'Partitions Skipped: (\d+)') END);
END
$$;

SET streambloom.enable_partition_scan = on;
SELECT * FROM plan_lines('SELECT l.*, s.n FROM log l JOIN suspects s USING (uid)');
SELECT * FROM plan_lines('SELECT l.*, s.n FROM log l JOIN suspects s USING (uid) WHERE v < 45', true);
SELECT l.day, l.uid, l.v, s.n FROM log l JOIN suspects s USING (uid) ORDER BY l.uid;

-- joins that drop rows without a partner, and those that keep them
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM log l JOIN suspects s USING (uid)',
	'SELECT * FROM suspects s JOIN log l ON s.uid = l.uid AND s.n < l.v',
	'SELECT * FROM log WHERE uid IN (SELECT uid FROM suspects)',
	'SELECT * FROM log l WHERE EXISTS (SELECT FROM suspects s WHERE s.uid = l.uid AND s.n <> 3)',
	'SELECT * FROM pairs p LEFT JOIN log l ON l.uid = p.a',
	'SELECT * FROM pairs p LEFT JOIN log l ON l.uid = p.a AND l.v > 20',
	'SELECT * FROM log l RIGHT JOIN pairs p ON l.uid = p.a WHERE p.b > 1',
	'SELECT * FROM log l LEFT JOIN suspects s USING (uid)',
	'SELECT l.uid, s.n FROM log l LEFT JOIN suspects s ON l.uid = s.uid AND s.n > 1 WHERE l.v < 10',
	'SELECT * FROM log l FULL JOIN suspects s USING (uid)',
	'SELECT * FROM log l WHERE NOT EXISTS (SELECT FROM suspects s WHERE s.uid = l.uid)',
	'SELECT * FROM log l WHERE uid NOT IN (SELECT uid FROM suspects)'
	]) query;
-- an anti join that keeps the rows of the small side, from PostgreSQL 16 on by hashing this side
SELECT split_part(compare('SELECT * FROM pairs p LEFT JOIN log l ON l.uid = p.a WHERE l.uid IS NULL'), ' rows', 1);

-- keys: NULL, none, twice, of other types, of expressions, of several columns; conditions; what is returned
CREATE DOMAIN whole AS bigint;
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM log l JOIN pairs p ON l.uid = p.a',
	'SELECT * FROM log l JOIN nobody s USING (uid)',
	'SELECT * FROM nobody s LEFT JOIN log l USING (uid)',
	'SELECT * FROM log l JOIN (SELECT a FROM pairs WHERE a IS NULL) p ON l.uid = p.a',
	'SELECT * FROM log l JOIN (SELECT * FROM suspects WHERE n < 3 UNION ALL SELECT * FROM suspects WHERE n < 2) s USING (uid)',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.small',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.n',
	'SELECT * FROM log l JOIN (SELECT uid::whole, n FROM suspects) s ON l.uid = s.uid',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.uid + 1',
	'SELECT * FROM log l JOIN suspects s ON l.uid + 1 = s.uid + 1',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.uid::numeric',
	'SELECT * FROM log l JOIN suspects s USING (uid, host)',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.uid AND l.v = s.n + 19',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.uid AND l.v > s.n',
	'SELECT * FROM log l JOIN (SELECT DISTINCT host FROM suspects LIMIT 1) s ON l.host = s.host',
	'SELECT * FROM log l JOIN (SELECT upper(host) AS host FROM suspects LIMIT 1) s ON l.host = lower(s.host)',
	'SELECT * FROM log l JOIN (SELECT upper(host) AS host FROM suspects LIMIT 1) s ON l.host = s.host COLLATE nocase',
	'SELECT * FROM log l JOIN (SELECT ARRAY[uid::int] AS ids FROM suspects) s USING (ids)',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE v > 30',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE v > 30 AND day BETWEEN 5 AND 60 AND l.host <> ''h235'' AND n > 1',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE uid = 1234',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE uid = 1234 OR n = 1',
	'SELECT l, l.tableoid::regclass FROM log l JOIN suspects s USING (uid)',
	'SELECT s.n FROM log l JOIN suspects s USING (uid)',
	'SELECT 1 FROM log l JOIN suspects s USING (uid)',
	'SELECT count(*), max(v) FROM log l JOIN suspects s USING (uid)',
	'SELECT DISTINCT s.n FROM log l JOIN suspects s USING (uid) ORDER BY 1',
	'SELECT * FROM log l JOIN suspects s USING (uid) ORDER BY l.day',
	'SELECT * FROM log a JOIN log b USING (uid) JOIN suspects s USING (uid)',
	'SELECT * FROM log a JOIN suspects s USING (uid) LEFT JOIN log b ON b.uid = a.uid + 1',
	'SELECT * FROM log l JOIN (VALUES (370), (5)) x (u) ON uid = u',
	'SELECT * FROM log l JOIN generate_series(368, 372) u ON uid = u',
	'WITH w AS MATERIALIZED (SELECT * FROM suspects WHERE n > 1) SELECT * FROM log l JOIN w USING (uid)',
	'WITH w AS MATERIALIZED (SELECT l.*, n FROM log l JOIN suspects s USING (uid)) SELECT * FROM w, w w2'
	]) query;

-- It is not noticed that fewer rows are looked at.
CREATE SEQUENCE calls;
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE nextval(''calls'') > v - 1000000',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE v >= (SELECT min(n) FROM suspects)',
	'SELECT * FROM log l JOIN suspects s USING (uid) WHERE v IN (SELECT b FROM pairs) OR v > 3',
	'SELECT * FROM log l JOIN suspects s ON l.uid = s.uid AND random() < 2'
	]) query;

-- between the join and the table: other joins, subqueries; a set of keys from each join
SET join_collapse_limit = 1;
SELECT * FROM plan_lines('SELECT l.v FROM log l JOIN suspects s USING (uid) JOIN pairs p ON l.uid = p.a', true);
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT * FROM log l JOIN suspects s USING (uid) JOIN pairs p ON l.uid = p.a',
	'SELECT * FROM log l JOIN suspects s USING (uid) JOIN nobody p ON l.uid = p.uid',
	'SELECT * FROM log l JOIN suspects s USING (uid) LEFT JOIN pairs p ON l.uid = p.a',
	'SELECT * FROM log l JOIN suspects s USING (uid) JOIN pairs p ON s.uid = p.a',
	'SELECT * FROM log l JOIN pairs p ON l.v = p.b JOIN suspects s USING (uid)',
	'SELECT * FROM log l LEFT JOIN pairs p ON l.uid = p.a JOIN suspects s USING (uid)',
	'SELECT * FROM log l FULL JOIN pairs p ON l.uid = p.a JOIN suspects s USING (uid)',
	'SELECT * FROM (log l JOIN suspects s USING (uid)) FULL JOIN pairs p ON l.uid = p.a',
	'SELECT * FROM (SELECT uid + 0 AS uid, v FROM log) l JOIN suspects s USING (uid)',
	'SELECT * FROM (SELECT uid, v FROM log OFFSET 0) l JOIN suspects s USING (uid)',
	'SELECT * FROM (SELECT uid, max(v) FROM log GROUP BY uid) l JOIN suspects s USING (uid)',
	'SELECT * FROM (SELECT uid, v FROM log UNION ALL SELECT a, b FROM pairs) l JOIN suspects s USING (uid)'
	]) query;
RESET join_collapse_limit;

-- The keys come first, also if they take longer than the questions.
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT l.v, m.n FROM log l JOIN many m USING (uid) WHERE m.n = 7 AND m.uid < 400',
	'SELECT l.v, m.n FROM log l JOIN many m USING (uid) JOIN suspects s USING (uid) WHERE m.n = 70',
	'SELECT l.v, m.n FROM log l JOIN (SELECT uid, n FROM many WHERE n < 3 ORDER BY uid LIMIT 3) m USING (uid)',
	'SELECT * FROM log l WHERE uid IN (SELECT uid FROM many WHERE filler LIKE ''x%'' AND n = 0 AND uid > 4600)'
	]) query;
-- several batches, and too many keys for the node
SET work_mem = '64kB';
SELECT query, compare(query, 'always') FROM unnest(ARRAY[
	'SELECT l.v, m.filler FROM log l JOIN (SELECT 1000 + uid % 3 AS uid, filler || '''' AS filler FROM many WHERE n < 40 OFFSET 0) m USING (uid)',
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT count(*) FROM log l JOIN (SELECT o.uid + uid % 3 AS uid, filler FROM many WHERE n < 20 OFFSET 0) m USING (uid) OFFSET 0) c'
	]) query;
RESET work_mem;
SET streambloom.enable_partition_scan = always;
SELECT * FROM plan_lines('SELECT count(*) FROM log l JOIN many m USING (uid)', true);
SET streambloom.enable_partition_scan = on;
SELECT compare('SELECT count(*) FROM log l JOIN many m USING (uid)');
-- keys that take too much memory: two together, and one alone
CREATE TABLE long_hosts AS SELECT n, repeat('h', 600000 * n) || n AS host FROM generate_series(1, 2) n UNION ALL SELECT 1, 'h7';
VACUUM ANALYZE long_hosts;
SET streambloom.enable_partition_scan = always;
SELECT line FROM plan_lines('SELECT count(*) FROM log l JOIN long_hosts h USING (host)', true) line WHERE line ~ 'PartitionScan|Collected';
SELECT line FROM plan_lines('SELECT count(*) FROM log l JOIN long_hosts h USING (host) WHERE n = 2', true) line WHERE line ~ 'PartitionScan|Collected';
SET streambloom.enable_partition_scan = on;
SELECT compare('SELECT l.* FROM log l JOIN long_hosts h USING (host)', 'always');

-- rescans: the table of the join is kept, made again, or depends on a parameter
SELECT * FROM plan_lines('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) WHERE s.n = o.n OFFSET 0) c', true);
SELECT query, compare(query) FROM unnest(ARRAY[
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) WHERE s.n = o.n OFFSET 0) c',
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) WHERE l.v > o.n * 10 OFFSET 0) c',
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) WHERE l.day > o.n * 10 OFFSET 0) c',
	'SELECT o.b, c.* FROM pairs o, LATERAL (SELECT count(l.v), count(*) FROM log l RIGHT JOIN (SELECT uid FROM suspects s WHERE s.n < o.b OFFSET 0) s USING (uid)) c',
	'SELECT o.b, c.* FROM pairs o, LATERAL (SELECT count(*) FROM log l JOIN suspects s USING (uid) WHERE l.uid = s.uid AND s.n <> o.b) c',
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) JOIN (SELECT a FROM pairs WHERE b >= o.n OFFSET 0) p ON l.uid = p.a OFFSET 0) c',
	'SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN (SELECT uid FROM many WHERE uid = o.uid AND n >= 0 OFFSET 0) m USING (uid) JOIN suspects s USING (uid) OFFSET 0) c',
	'WITH RECURSIVE w (n) AS (SELECT 7::bigint UNION SELECT l.uid + 1 FROM w JOIN log l ON l.uid = w.n WHERE l.uid < 12) SELECT * FROM w'
	]) query;

-- PostgreSQL 15 does not call the hook for a join with such a condition, later versions do
SELECT split_part(compare('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT l.v FROM log l JOIN suspects s USING (uid) WHERE o.n > 2 OFFSET 0) c'), ' rows', 1);
SELECT split_part(compare('SELECT * FROM log l JOIN suspects s USING (uid) WHERE (SELECT true)'), ' rows', 1);

-- Where the keys are expected in many partitions, the table is planned as always.
CREATE FUNCTION why(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		IF line ~ 'No PartitionScan Because|PartitionScan\)' THEN
			RETURN NEXT regexp_replace(line, '^[ >-]*', '');
		END IF;
	END LOOP;
END
$$;
CREATE TABLE thick (day int, uid bigint, host text, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (day);
DO $$ BEGIN FOR i IN 0..39 LOOP EXECUTE format('CREATE TABLE thick_%s PARTITION OF thick FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); END LOOP; END $$;
INSERT INTO thick SELECT i / 400, i, 'h' || i % 50 FROM generate_series(0, 15999) i;
CREATE INDEX ON thick USING bf (uid, host) WITH (pages_per_range = 2);
VACUUM ANALYZE thick;
SELECT why('SELECT * FROM thick l JOIN suspects s USING (uid)');
SELECT why('SELECT * FROM thick l JOIN suspects s USING (uid) LIMIT 3');
SELECT why('SELECT * FROM thick l JOIN (SELECT * FROM many WHERE n = 3) m USING (uid)');
SELECT why('SELECT * FROM thick l JOIN suspects s ON l.host = s.host');
DELETE FROM pg_statistic WHERE starelid = 'thick'::regclass;
SELECT why('SELECT * FROM thick l JOIN suspects s USING (uid)');
-- or where a hash join is dear
SET enable_hashjoin = off;
SET enable_nestloop = on;
SELECT why('SELECT * FROM log l JOIN suspects s USING (uid) ORDER BY l.day');
RESET enable_hashjoin;
SET enable_nestloop = off;
SET streambloom.enable_join_skip = off;
SELECT why('SELECT * FROM log l JOIN suspects s USING (uid) ORDER BY l.day');
RESET streambloom.enable_join_skip;

-- plans that are kept: other keys, changed tables, a setting that was switched off since
SET plan_cache_mode = force_generic_plan;
PREPARE of_some (int) AS SELECT l.uid, l.v, s.n FROM log l JOIN suspects s USING (uid) WHERE s.n <= $1;
EXECUTE of_some (2);
INSERT INTO suspects VALUES (20, 'h20', 0, 20);
EXECUTE of_some (1);
INSERT INTO log VALUES (90, 20, 'again', 1, 1), (100, 20, 'rest', 2, 0);
EXECUTE of_some (0);
TRUNCATE log_7;
EXECUTE of_some (1);
DROP INDEX log_24_uid_host_ids_idx;
EXECUTE of_some (3);
SET streambloom.enable_join_skip = off;
SELECT * FROM plan_lines('EXECUTE of_some (3)', true);
EXECUTE of_some (3);
RESET streambloom.enable_join_skip;
DEALLOCATE of_some;
RESET plan_cache_mode;

-- a cursor keeps its keys
BEGIN;
DECLARE c CURSOR FOR SELECT l.uid, l.v FROM log l JOIN suspects s USING (uid) ORDER BY l.uid;
SELECT name, statement IS NOT NULL AS is_open FROM pg_cursors;
DELETE FROM suspects;
FETCH ALL FROM c;
ROLLBACK;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT l.uid, l.v FROM log l JOIN suspects s USING (uid) ORDER BY l.uid LOOP
		DELETE FROM suspects WHERE uid > r.uid;
		RAISE WARNING '%', r;
	END LOOP;
END
$$;
SELECT count(*) FROM suspects;

-- A statement of a function that runs in a parallel worker: the keys are collected there, too.
CREATE FUNCTION asked() RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	RETURN (SELECT string_agg(line, ' ') FROM plan_lines('SELECT l.*, s.n FROM log l JOIN suspects s USING (uid)', true) line WHERE line ~ 'Partitions (Skipped|Read):');
END
$$;
SET max_parallel_workers_per_gather = 1;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'force_parallel_mode' ELSE 'debug_parallel_query' END, 'on', false);
EXPLAIN (COSTS OFF) SELECT asked();
SELECT asked();

DROP SCHEMA partition_scan_joins CASCADE;
