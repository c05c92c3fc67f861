-- join_keys: hash joins ask bf indexes about their keys, and lose no row

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA join_keys;
SET search_path = join_keys, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET enable_indexscan = off;
SET jit = off;
SET work_mem = '4MB';

-- rows with the same key lie together: the keys 0 to 499 in pages that follow each other
CREATE TABLE big (id int, host text, n int, filler text DEFAULT repeat('x', 100));
INSERT INTO big SELECT i, 'h' || i / 20, i / 20 FROM generate_series(0, 9999) i;
INSERT INTO big VALUES (10000, NULL, NULL);
CREATE INDEX big_host ON big USING bf (host) WITH (pages_per_range = 4);
CREATE INDEX big_n ON big USING bf (n, (id + 1)) WITH (pages_per_range = 4);
CREATE TABLE log (id int NOT NULL, host text, n int, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (3000);
CREATE TABLE log_1 (n int, gone int, host text, id int NOT NULL, filler text DEFAULT repeat('x', 100)); -- columns in another order
ALTER TABLE log_1 DROP gone;
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (3000) TO (6000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (6000) TO (20000);
INSERT INTO log SELECT * FROM big;
CREATE INDEX ON log USING bf (host) WITH (pages_per_range = 4);
CREATE TABLE suspects (host text, n int, big bigint, PRIMARY KEY (n));
INSERT INTO suspects SELECT 'h' || i, i, i FROM unnest('{7,8,300}'::int[]) i;
CREATE TABLE pairs (a text, b int);
INSERT INTO pairs VALUES ('h300', 300), ('h300', 301), ('h8', 300), (NULL, 8), (NULL, NULL);
CREATE TABLE nobody (host text);
VACUUM ANALYZE;

-- What a query does with the nodes: how many Skip, whether they skipped pages, and whether its rows are those of the query without them
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO result;
	RETURN result;
END
$$;
CREATE FUNCTION skips(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes int := 0;
	sources int := 0;
	skipped bigint := 0;
	expected text;
	got text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		sources := sources + (line ~ 'JoinKeys')::int;
		nodes := nodes + (line ~ '\(Skip\)')::int;
		skipped := skipped + (line ~ 'Verdicts?: (none|some pages)')::int;
	END LOOP;
	got := rows_of(query);
	PERFORM set_config('streambloom.enable_skip', 'off', false);
	expected := rows_of(query);
	PERFORM set_config('streambloom.enable_skip', 'on', false);
	IF got IS DISTINCT FROM expected THEN
		RETURN format('WRONG: %s instead of %s', got, expected);
	END IF;
	RETURN format('%s, %s', split_part(got, ' rows', 1) || ' rows',
		CASE WHEN nodes = 0 THEN 'no node' ELSE sources || ' JoinKeys, ' || nodes || ' Skip, ' || CASE WHEN skipped > 0 THEN 'some' ELSE 'no' END || ' pages skipped' END);
END
$$;

-- the plan
SELECT plan_lines('SELECT l.* FROM big l JOIN suspects s USING (host)');
SELECT plan_lines('SELECT l.* FROM big l JOIN suspects s USING (host)', true);
SELECT plan_lines('SELECT l.id FROM log l JOIN suspects s USING (host)', true);

-- joins that drop rows without a partner
SELECT skips('SELECT l.* FROM big l JOIN suspects s USING (host)');
SELECT skips('SELECT l.*, s.* FROM log l JOIN suspects s USING (host)');
SELECT skips('SELECT * FROM big WHERE host IN (SELECT host FROM suspects)');
SELECT skips('SELECT * FROM log l WHERE EXISTS (SELECT FROM suspects s WHERE s.host = l.host AND s.n <> 8)');
SELECT skips('SELECT l.id, p.* FROM big l RIGHT JOIN pairs p ON l.host = p.a');
SELECT skips('SELECT l.id, p.* FROM pairs p LEFT JOIN log l ON l.host = p.a AND l.n > 3');
-- those that keep them
SELECT skips('SELECT l.id, s.* FROM big l LEFT JOIN suspects s USING (host)');
SELECT skips('SELECT l.id, s.* FROM big l FULL JOIN suspects s USING (host)');
SELECT skips('SELECT l.id FROM big l WHERE NOT EXISTS (SELECT FROM suspects s WHERE s.host = l.host)');
SELECT skips('SELECT l.id FROM big l WHERE host NOT IN (SELECT host FROM suspects)');

-- several keys, keys of another type, expressions, no keys, keys that are NULL, keys twice
SELECT skips('SELECT l.* FROM big l JOIN pairs p ON l.host = p.a AND l.n = p.b');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.n = s.big');
CREATE INDEX big_ratio ON big USING bf ((n::real)) WITH (pages_per_range = 4);
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.n::real = s.n::float8');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.id + 1 = s.big * 20 + 1');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.host = upper(lower(s.host))');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.host = lower(upper(s.host))');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON lower(l.host) = s.host');
SELECT skips('SELECT l.* FROM big l JOIN nobody s USING (host)');
SELECT skips('SELECT l.* FROM big l JOIN (SELECT a FROM pairs WHERE a IS NULL) s ON l.host = s.a');
SELECT skips('SELECT l.id, s.a FROM (SELECT a FROM pairs WHERE a IS NULL) s LEFT JOIN big l ON l.host = s.a');
SELECT skips('SELECT l.* FROM big l JOIN (SELECT host FROM suspects UNION ALL SELECT host FROM suspects) s USING (host)');
SELECT skips('SELECT l.* FROM big l JOIN suspects s ON l.host = s.host COLLATE "POSIX"');

-- below other nodes
SELECT skips('SELECT l.* FROM (SELECT * FROM big UNION ALL SELECT * FROM log) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM (SELECT host AS h, id FROM big OFFSET 0) l JOIN suspects s ON l.h = s.host');
SELECT skips('SELECT l.* FROM (SELECT max(id) AS id, host FROM big GROUP BY host) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM (SELECT DISTINCT ON (n) * FROM big ORDER BY n, id) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM (SELECT * FROM big ORDER BY id LIMIT 6500) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM (SELECT *, row_number() OVER (ORDER BY id) FROM big) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM (SELECT unnest(ARRAY[host, ''h7'']) AS host, id FROM big) l JOIN suspects s USING (host)');
SELECT skips('SELECT l.id, s.n FROM big l JOIN suspects s USING (host) WHERE l.id > (SELECT min(n) FROM suspects)');
SELECT skips('SELECT l.id, s.n FROM big l JOIN suspects s USING (host) WHERE l.id + s.n > (SELECT min(n) FROM suspects)');
-- a condition with side effects is tested for all rows
CREATE SEQUENCE calls;
SELECT skips('SELECT l.id FROM big l JOIN suspects s USING (host) WHERE nextval(''calls'') > l.id - 1000000');
-- and so is one of a join below, on its inner side, or in its clause: as many calls as without the nodes
CREATE FUNCTION calls(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	nodes bigint;
	got bigint;
	expected bigint;
BEGIN
	SELECT count(*) INTO nodes FROM plan_lines(query) AS line WHERE line ~ 'Skip';
	PERFORM setval('calls', 1);
	PERFORM rows_of(query);
	got := nextval('calls') - 2;
	PERFORM set_config('streambloom.enable_skip', 'off', false);
	PERFORM setval('calls', 1);
	PERFORM rows_of(query);
	expected := nextval('calls') - 2;
	PERFORM set_config('streambloom.enable_skip', 'on', false);
	RETURN format('%s calls instead of %s, %s Skip', got, expected, nodes);
END
$$;
SET join_collapse_limit = 1;
SELECT calls('SELECT l.id, v.c FROM big l CROSS JOIN LATERAL (SELECT nextval(''calls'') + l.id AS c OFFSET 0) v JOIN suspects s ON l.host = s.host');
SELECT calls('SELECT l.id, v.c FROM big l LEFT JOIN (SELECT b, nextval(''calls'') AS c FROM pairs OFFSET 0) v ON l.n = v.b JOIN (SELECT upper(host) AS host FROM suspects OFFSET 0) s ON l.host = s.host');
SELECT calls('SELECT l.id, v.c FROM big l LEFT JOIN (WITH w AS MATERIALIZED (SELECT b, nextval(''calls'') AS c FROM pairs) SELECT * FROM w) v ON l.n = v.b JOIN (SELECT upper(host) AS host FROM suspects OFFSET 0) s ON l.host = s.host');
SELECT calls('SELECT l.id, v.c FROM big l CROSS JOIN LATERAL (VALUES (nextval(''calls'') + l.id), (1)) v(c) JOIN suspects s ON l.host = s.host');
SELECT calls('SELECT l.id, p.big FROM big l LEFT JOIN suspects p ON p.n = (SELECT l.n + 0 * nextval(''calls'')) JOIN suspects s ON l.host = s.host');
SELECT calls('SELECT l.id FROM big l JOIN suspects s ON l.host = s.host AND s.n = (SELECT l.n + 0 * nextval(''calls''))');
SELECT skips('WITH w AS MATERIALIZED (SELECT b FROM pairs) SELECT l.id, g.i, v.n FROM big l JOIN w ON l.n = w.b JOIN (VALUES (300), (8)) v(n) ON l.n = v.n'
	' JOIN generate_series(1, 300) g(i) ON l.n = g.i JOIN (SELECT n, count(*) FROM suspects GROUP BY n LIMIT 10) a ON l.n = a.n JOIN suspects s ON l.host = s.host');
-- nor is the inner side run although there is no outer row, if that would be noticed
SELECT calls('SELECT l.id FROM big l JOIN (SELECT host, nextval(''calls'') AS c FROM suspects OFFSET 0) s USING (host) WHERE l.n < 0');
SELECT calls('SELECT l.id FROM big l JOIN (SELECT host FROM suspects WHERE n > (SELECT nextval(''calls'')) - 1000000 OFFSET 0) s USING (host) WHERE l.n < 0');
SELECT calls('SELECT l.id FROM big l JOIN (SELECT host FROM suspects s WHERE n = (SELECT s.n + 0 * nextval(''calls'')) OFFSET 0) s USING (host) WHERE l.n < 0');
SELECT calls('SELECT l.id FROM (SELECT nextval(''calls'')::text AS host, n AS id FROM suspects UNION ALL SELECT host, id FROM big) l JOIN (SELECT host FROM suspects WHERE n < 0 OFFSET 0) s USING (host)');
SELECT skips('SELECT l.id FROM big l JOIN (SELECT host FROM suspects FOR UPDATE) s USING (host)');
-- nobody notices that a query without side effects is run, or one that is run in any case
SELECT calls('SELECT l.id FROM big l RIGHT JOIN (SELECT host, nextval(''calls'') AS c FROM suspects OFFSET 0) s USING (host)');
SELECT skips('SELECT l.id FROM big l JOIN (SELECT host FROM suspects s WHERE n > (SELECT min(n) FROM suspects) OR n = (SELECT b + s.n FROM pairs LIMIT 1) OFFSET 0) s USING (host)');
SELECT skips('SELECT l.id FROM big l JOIN (SELECT host FROM suspects TABLESAMPLE SYSTEM (100) WHERE ctid >= ''(0,0)'') s USING (host)');
SELECT plan_lines('WITH u AS (UPDATE suspects SET n = n + 1 RETURNING host) SELECT l.id FROM big l JOIN u USING (host)');
-- a subquery with side effects that is evaluated once, for the first row
SELECT calls('SELECT l.id FROM big l JOIN (SELECT upper(host) AS host FROM suspects OFFSET 0) s ON l.host = s.host WHERE l.id > (SELECT nextval(''calls'')) - 1000000');
SELECT calls('SELECT l.id FROM big l JOIN pairs p ON l.n = p.b AND l.id > (SELECT nextval(''calls'')) - 1000000 + p.b JOIN (SELECT upper(host) AS host FROM suspects OFFSET 0) s ON l.host = s.host');
RESET join_collapse_limit;

-- a star: the scan is asked about the keys of several joins, unless an outer join in between adds rows
SELECT skips('SELECT l.id FROM big l JOIN suspects s USING (host) JOIN pairs p ON l.n = p.b');
SET join_collapse_limit = 1;
SELECT plan_lines('SELECT l.id FROM big l JOIN suspects s USING (host) JOIN pairs p ON l.n = p.b', true);
SELECT skips('SELECT l.id, s.n FROM (big l LEFT JOIN suspects s USING (host)) JOIN pairs p ON l.n = p.b');
SELECT skips('SELECT l.id, p.b FROM (big l FULL JOIN suspects s USING (host)) JOIN pairs p ON l.n = p.b');
SELECT skips('SELECT l.id, s.n FROM (big l JOIN suspects s USING (host)) LEFT JOIN pairs p ON l.n = p.b');
RESET join_collapse_limit;

-- rescans: the table of the join is kept, made again, or depends on a parameter
SELECT skips('SELECT o.n, (SELECT count(*) FROM big l JOIN suspects s USING (host) WHERE l.id > o.n) FROM suspects o');
SELECT skips('SELECT o.n, (SELECT count(*) FROM big l JOIN suspects s USING (host) WHERE s.n = o.n) FROM suspects o');
SELECT skips('SELECT o.n, (SELECT count(*) FROM big l JOIN suspects s USING (host) WHERE s.n = (SELECT max(n) FROM suspects)) FROM suspects o');
SELECT skips('SELECT o.a, c.* FROM pairs o, LATERAL (SELECT count(*) FROM big l JOIN suspects s ON l.host = s.host AND s.n < o.b) c');
SELECT skips('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT count(*) FROM big l JOIN (SELECT host FROM suspects OFFSET 0) s ON l.n = o.n OR l.host = s.host AND o.n = 8) c');
SET join_collapse_limit = 1;
SELECT skips('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT count(*) FROM big l JOIN suspects s USING (host) JOIN pairs p ON l.n = p.b AND p.b = o.n) c');
SELECT skips('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT count(*) FROM big l JOIN (SELECT * FROM suspects OFFSET 0) s USING (host) JOIN (SELECT b FROM pairs WHERE b = o.n OFFSET 0) p ON l.n = p.b) c');
RESET join_collapse_limit;
SELECT skips('SELECT o.n, c.* FROM suspects o, LATERAL (SELECT count(l.id) FROM big l RIGHT JOIN (SELECT host FROM suspects s WHERE s.n = o.n) s USING (host)) c');
SELECT skips('WITH RECURSIVE w(n) AS (SELECT 7 UNION SELECT l.n + 1 FROM w JOIN big l ON l.n = w.n WHERE l.n < 12) SELECT * FROM w');
SELECT skips('WITH w AS MATERIALIZED (SELECT host FROM suspects WHERE n > 7) SELECT l.* FROM big l JOIN w USING (host)');

-- tables in several batches, and too many keys
CREATE TABLE many AS SELECT CASE WHEN i < 4 THEN 'h' ELSE 'k' END || i AS host, repeat('y', 500) AS filler FROM generate_series(1, 600) i;
CREATE TABLE more AS SELECT 'k' || i AS host FROM generate_series(1, 70000) i;
VACUUM ANALYZE many, more;
SET work_mem = '64kB';
SELECT skips('SELECT l.id, m.filler FROM log l JOIN many m USING (host)');
SELECT skips('SELECT o.n, (SELECT count(m.filler) FROM log l JOIN many m USING (host) WHERE l.id > o.n) FROM suspects o');
SET work_mem = '4MB';
SELECT plan_lines('SELECT l.id FROM big l JOIN more m USING (host)', true);

-- an inner side that costs more than the node can save: PostgreSQL would not run it if the outer side were empty
CREATE INDEX big_id ON big (id);
SELECT skips('SELECT l.id FROM big l JOIN (SELECT host FROM more WHERE host LIKE ''%99'') m USING (host) WHERE l.id BETWEEN 5000 AND 5500');
SELECT skips('SELECT l.id FROM big l JOIN suspects s USING (host) WHERE l.id BETWEEN 5000 AND 5500');
DROP INDEX big_id;
-- the keys of a join are there before the first row of its outer side is wanted: of the upper one in a star, whose table is expensive to make, and
-- in a rescan after one without rows
CREATE TABLE everywhere AS SELECT 'h' || i AS host FROM generate_series(0, 499) i;
VACUUM ANALYZE everywhere;
SET join_collapse_limit = 1;
SELECT skips('SELECT l.id FROM big l JOIN everywhere e USING (host) JOIN (SELECT substr(host, 2)::int AS n FROM many WHERE host = ''k8'' OFFSET 0) s ON l.n = s.n');
SELECT skips('SELECT o.v, c.* FROM (VALUES (599), (7), (598), (8)) o(v), LATERAL (SELECT count(*) FROM big l JOIN everywhere e USING (host) JOIN (SELECT substr(host, 2)::int AS n FROM many WHERE host = ''k'' || o.v OFFSET 0) s ON l.n = s.n) c');
RESET join_collapse_limit;

-- partial indexes, keys inside values, DESC, several indexes
DROP INDEX big_host;
CREATE INDEX big_partial ON big USING bf (host) WITH (pages_per_range = 4) WHERE n < 100;
SELECT skips('SELECT l.* FROM big l JOIN suspects s USING (host)');
SELECT skips('SELECT l.* FROM big l JOIN suspects s USING (host) WHERE l.n < 100');
SELECT skips('SELECT l.* FROM big l JOIN suspects s USING (host) WHERE l.n < 101');
CREATE INDEX big_grams ON big USING bf (host gram_ops);
SELECT skips('SELECT l.* FROM big l JOIN suspects s USING (host)');
DROP INDEX big_partial, big_grams;

-- rows that were written, updated and deleted since
CREATE INDEX big_host ON big USING bf (host) WITH (pages_per_range = 4);
INSERT INTO big SELECT i, 'h300', i FROM generate_series(20000, 20010) i;
UPDATE big SET host = 'h8' WHERE id = 4000;
DELETE FROM big WHERE id = 6000;
SELECT skips('SELECT l.id, l.host FROM big l JOIN suspects s USING (host)');
SELECT bf_desummarize_range('big_host', 20);
SELECT skips('SELECT l.id, l.host FROM big l JOIN suspects s USING (host)');

-- rows that are changed are read as always, by the keys of others; others that are joined are not
CREATE TABLE changes (id int, host text);
WITH u AS (UPDATE big l SET n = 0 FROM suspects s WHERE l.host = s.host RETURNING l.id, l.host) INSERT INTO changes SELECT * FROM u;
DELETE FROM suspects s USING big l WHERE l.host = s.host AND l.id > 20000 RETURNING s.host;
SELECT count(*), count(DISTINCT host) FROM changes;
SELECT host FROM suspects ORDER BY 1;

-- cursors, LIMIT, prepared statements whose plans are kept
BEGIN;
DECLARE c CURSOR FOR SELECT l.id FROM log l JOIN suspects s USING (host) ORDER BY l.id;
FETCH 2 FROM c;
INSERT INTO suspects VALUES ('h499', 499);
FETCH 3 FROM c;
COMMIT;
SELECT skips('SELECT l.id FROM log l JOIN suspects s USING (host) ORDER BY l.id LIMIT 5');
SET plan_cache_mode = force_generic_plan;
PREPARE those(int) AS SELECT count(*) FROM log l JOIN suspects s USING (host) WHERE s.n >= $1;
EXECUTE those(0);
EXECUTE those(400);
DROP INDEX log_host_idx;
EXECUTE those(0);
CREATE INDEX ON log USING bf (host) WITH (pages_per_range = 4);
EXECUTE those(0);
SELECT plan_lines('EXECUTE those(400)', true);
SET streambloom.enable_skip = off;
EXECUTE those(400);
SELECT plan_lines('EXECUTE those(400)');
SET streambloom.enable_skip = on;
RESET plan_cache_mode;

-- rows that are hidden from the user: only leakproof comparisons are asked about
CREATE ROLE join_keys_reader;
GRANT USAGE ON SCHEMA join_keys TO join_keys_reader;
GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA join_keys TO join_keys_reader;
ALTER TABLE big ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON big USING (id % 2 = 1);
SET ROLE join_keys_reader;
SELECT skips('SELECT l.id FROM big l JOIN suspects s USING (host)');
SELECT skips('SELECT l.id FROM big l JOIN suspects s ON l.id + 1 = s.n');
RESET ROLE;
ALTER TABLE big DISABLE ROW LEVEL SECURITY;

-- A deep plan: the nodes get numbers of their own, for which the plan was once searched twice at each of its levels.
WITH RECURSIVE deep(depth, query) AS (
	SELECT 0, 'SELECT host FROM suspects'
	UNION ALL
	SELECT depth + 1, format('SELECT host FROM (%s OFFSET 0) q WHERE host <> %L', query, depth) FROM deep WHERE depth < 40)
SELECT skips(format('SELECT l.id FROM big l JOIN (%s) s USING (host)', query)) FROM deep WHERE depth = 40;

-- A table without pages: no index is asked, and no scan begins. SERIALIZABLE needs a lock all the same.
CREATE TABLE nothing_yet (host text);
CREATE INDEX ON nothing_yet USING bf (host);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT plan_lines('SELECT count(*) FROM nothing_yet l JOIN suspects s USING (host)');
SELECT count(*) FROM nothing_yet l JOIN suspects s USING (host);
SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND relation IN ('nothing_yet'::regclass, 'nothing_yet_host_idx'::regclass) AND pid = pg_backend_pid();
COMMIT;

-- A key that PostgreSQL does not evaluate where the key before it is NULL is not evaluated by the node either.
CREATE TABLE doubtful (host text, z int);
INSERT INTO doubtful VALUES ('h40', 2), (NULL, 0);
ANALYZE doubtful;
SELECT count(*) FROM big l JOIN doubtful s ON l.host = s.host AND l.n = 80 / s.z;
SELECT skips('SELECT l.id FROM big l JOIN doubtful s ON l.host = s.host AND l.n = 80 / s.z');

-- Keys that are all in the first partition, where nothing can be skipped: the index after it is passed over, and the others are asked.
CREATE TABLE ahead (id int, k int, filler text) PARTITION BY RANGE (id);
ALTER TABLE ahead ALTER filler SET STORAGE PLAIN;
CREATE TABLE ahead_0 PARTITION OF ahead FOR VALUES FROM (0) TO (1000);
SELECT format('CREATE TABLE ahead_%s PARTITION OF ahead FOR VALUES FROM (%s) TO (%s)', i, 980 + 20 * i, 1000 + 20 * i) FROM generate_series(1, 5) i \gexec
INSERT INTO ahead SELECT i, i, repeat('x', 8000) FROM generate_series(0, 1099) i;
CREATE INDEX ON ahead USING bf (k) WITH (pages_per_range = 1, false_positive_rate = 0.00001);
CREATE TABLE first_keys AS SELECT i AS k FROM generate_series(0, 999) i;
ANALYZE ahead, first_keys;
SELECT skips('SELECT l.id FROM ahead l JOIN first_keys s USING (k)');
SELECT line FROM plan_lines('SELECT l.id FROM ahead l JOIN first_keys s USING (k)', true) line WHERE line ~ 'Scans|Asked|Verdicts';

DROP SCHEMA join_keys CASCADE;
DROP ROLE join_keys_reader;
