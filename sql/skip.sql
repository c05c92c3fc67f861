-- skip: queries skip the partitions whose bf indexes say no, and lose no row by it

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip;
SET search_path = skip, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- six partitions of 4,000 rows each. Each uid is in one of them, but 7 is in all. One partition has its columns in another
-- order, one has no bf index, and the default partition is itself partitioned.
CREATE TABLE log (id int NOT NULL, uid bigint, url text, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 (url text, gone int, filler text DEFAULT repeat('x', 50), uid bigint, id int NOT NULL);
ALTER TABLE log_1 DROP gone;
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (8000) TO (12000);
CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (12000) TO (16000);
CREATE TABLE log_rest PARTITION OF log DEFAULT PARTITION BY LIST (id);
CREATE TABLE log_4 PARTITION OF log_rest FOR VALUES IN (16000);
CREATE TABLE log_5 PARTITION OF log_rest DEFAULT;
INSERT INTO log SELECT i, CASE WHEN i % 1000 = 0 THEN 7 ELSE i + 100000 END, '/' || i % 4000 FROM generate_series(0, 19999) i;
INSERT INTO log (id, uid) VALUES (15999, NULL);
CREATE INDEX ON log USING bf (uid, url) WITH (pages_per_range = 8);
DROP INDEX log_uid_url_idx;
CREATE INDEX ON log_0 USING bf (uid, url) WITH (pages_per_range = 8);
CREATE INDEX ON log_1 USING bf (uid, url) WITH (pages_per_range = 8);
CREATE INDEX ON log_2 USING bf (uid) WITH (pages_per_range = 8);
CREATE INDEX ON log_2 USING bf (url) WITH (pages_per_range = 8);
CREATE INDEX ON log_4 USING bf (uid, url) WITH (pages_per_range = 8);
CREATE INDEX ON log_5 USING bf (uid, url) WITH (pages_per_range = 8);
VACUUM ANALYZE log;

-- The node and its children in EXPLAIN, or in EXPLAIN ANALYZE.
CREATE FUNCTION plan(query text, run bool DEFAULT false) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(line, '\(actual rows=(\d+) loops=1\)', '(rows \1)'), '\(actual rows=[0-9.]+ loops=(\d+)\)', '(loops \1)')
	FROM plan_lines(query, run) line WHERE line !~ '(Filter|Cond|Blocks|Recheck|Removed|Bitmap Index)';
$$;
-- The answer with the node and without, and its verdicts.
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest CONSTANT text := format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(q::text, '';'' ORDER BY q::text)), '''') FROM (%s) q', query);
	line text;
	verdicts text := 'no node';
	mine text;
	plain text;
BEGIN
	EXECUTE digest INTO mine;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		-- those of all partitions together, or that of a single table
		verdicts := coalesce(substring(line FROM 'Verdicts: (.*)'), CASE verdicts WHEN 'no node' THEN substring(line FROM 'Verdict: (.*)') END, verdicts);
	END LOOP;
	SET LOCAL streambloom.enable_skip = off;
	EXECUTE digest INTO plain;
	SET LOCAL streambloom.enable_skip = on;
	RETURN CASE WHEN mine = plain THEN split_part(mine, ' ', 1) || ' rows, ' || verdicts ELSE format('WRONG: %s instead of %s', mine, plain) END;
END
$$;

-- EXPLAIN shows what is skipped, and by which columns
SELECT plan('SELECT * FROM log WHERE uid = 100001');
SELECT plan('SELECT * FROM log WHERE uid = 100001', true);
SELECT plan('SELECT * FROM log WHERE uid = 1');
SELECT plan('SELECT * FROM log WHERE uid = 1', true);
SELECT plan('SELECT * FROM log WHERE uid = 7 AND id = 4000 AND filler LIKE ''x%''', true);
SELECT plan('SELECT * FROM log WHERE uid = 7 AND filler = ''y''', true);
EXPLAIN (VERBOSE, COSTS OFF) SELECT id + 1, tableoid::regclass FROM log WHERE uid = 1 AND url = '/1' ORDER BY id;
CREATE FUNCTION plan_as_json(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	result json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query INTO result;
	RETURN result;
END
$$;
SELECT p->'Custom Plan Provider', p->'bf Index', p->'Verdict', p->'Partitions with bf Index', p->'Partitions Asked', p->'Verdicts', p->'Partitions Read in Vain'
FROM (SELECT plan_as_json('SELECT count(*) FROM log WHERE uid = 1 AND id < 12000')->0->'Plan'->'Plans'->0->'Plans'->0 AS p) s;

-- values, expressions, types, both columns, NULL
SELECT answer('SELECT * FROM log WHERE uid = 100001');
SELECT answer('SELECT * FROM log WHERE 104001 = uid');
SELECT answer('SELECT * FROM log WHERE uid = 7');
SELECT answer('SELECT * FROM log WHERE uid = 7::smallint');
SELECT answer('SELECT * FROM log WHERE uid = (-7)::smallint');
SELECT answer('SELECT * FROM log WHERE uid = 1 + length(now()::text) * 0');
SELECT answer('SELECT * FROM log WHERE uid = ANY (''{1,2,100001}'')');
SELECT answer('SELECT * FROM log WHERE uid IN (1, NULL, 104001)');
SELECT answer('SELECT * FROM log WHERE uid = ANY (''{}'')');
SELECT answer('SELECT * FROM log WHERE uid IS NULL');
SELECT answer('SELECT * FROM log WHERE url = ''/3999''');
SELECT answer('SELECT * FROM log WHERE url = ''/3999'' AND uid = 103999');
SELECT answer('SELECT * FROM log WHERE url = ''/1'' AND uid = 108001');
SELECT answer('SELECT * FROM log WHERE uid = 100001 OR uid = 104001');
SELECT answer('SELECT * FROM log WHERE uid = 100001 OR id = 4001');
SELECT answer('SELECT * FROM log WHERE uid <> 7 AND id % 1000 = 0');
SELECT answer('SELECT * FROM log WHERE uid = 100001.0');
SELECT answer('SELECT * FROM log WHERE uid = 100001 + (random() * 0)::int');
SELECT answer('SELECT 1 FROM log WHERE uid = 100001');
SELECT answer('SELECT log FROM log WHERE uid = 100001');
SELECT answer('SELECT tableoid::regclass, ctid, id FROM log WHERE uid = 104001');
SELECT answer('SELECT count(*), min(uid) FROM log WHERE uid = 1');
SELECT answer('SELECT uid, count(*) FROM log WHERE uid IN (7, 100001) GROUP BY uid');
SELECT answer('SELECT * FROM log_rest WHERE uid = 100001');
SELECT answer('SELECT * FROM log_0 WHERE uid = 100001');

-- MergeAppend, ordered Append, LIMIT, a window, a union, a common table expression, a subquery
SET enable_sort = off;
CREATE INDEX ON log (url);
SELECT plan('SELECT * FROM log WHERE uid = 100001 ORDER BY url');
SELECT answer('SELECT * FROM log WHERE uid IN (1, 100001, 116001) ORDER BY url');
SELECT answer('SELECT * FROM log WHERE uid = 7 ORDER BY url LIMIT 3');
RESET enable_sort;
DROP INDEX log_url_idx;
SELECT answer('SELECT * FROM log WHERE uid = 7 LIMIT 100');
SELECT answer('SELECT *, row_number() OVER (ORDER BY id) FROM log WHERE uid = 7');
SELECT answer('SELECT * FROM log WHERE uid = 100001 UNION ALL SELECT * FROM log WHERE uid = 104001');
SELECT answer('WITH l AS MATERIALIZED (SELECT * FROM log WHERE uid = 104001) SELECT * FROM l');
SELECT answer('SELECT * FROM (SELECT * FROM log WHERE uid = 104001 OFFSET 0) l WHERE id > 0');

-- Sorts below the node keep only the rows that a LIMIT above it lets through, whatever stands between; where it changes, as many as then.
CREATE TABLE kinds (id int NOT NULL, kind int, v int) PARTITION BY RANGE (id);
CREATE TABLE kinds_0 PARTITION OF kinds FOR VALUES FROM (0) TO (4000);
CREATE TABLE kinds_1 PARTITION OF kinds FOR VALUES FROM (4000) TO (8000);
CREATE TABLE kinds_2 PARTITION OF kinds FOR VALUES FROM (8000) TO (12000);
INSERT INTO kinds SELECT i, i / 8000, i * 7 % 12000 FROM generate_series(0, 11999) i;
CREATE INDEX ON kinds USING bf (kind);
CREATE INDEX ON kinds_1 (v);
CREATE INDEX ON kinds_2 (v);
VACUUM ANALYZE kinds;
CREATE FUNCTION sorts(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	nodes text[] = '{}';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		CONTINUE WHEN line !~ 'Append|Sort Method';
		nodes := nodes || coalesce(substring(line FROM 'Sort Method: (\S+)'), substring(line FROM 'Merge Append|Append'));
	END LOOP;
	RETURN concat_ws(', ', answer(query), array_to_string(nodes, ', '));
END
$$;
SELECT sorts('SELECT * FROM kinds WHERE kind = 0 ORDER BY v LIMIT 3');
SELECT sorts('SELECT * FROM kinds WHERE kind = 0 ORDER BY v LIMIT 3 OFFSET 4');
SELECT sorts('SELECT v + 1 FROM (SELECT id AS i, v FROM kinds WHERE kind = 0 ORDER BY v OFFSET 0) l LIMIT 3');
SELECT sorts('SELECT * FROM (SELECT v, id + 1 AS n FROM kinds WHERE kind = 0 ORDER BY v OFFSET 0) l WHERE n > 3000 LIMIT 3');
SELECT sorts('SELECT * FROM kinds WHERE kind = 0 ORDER BY v FETCH FIRST 3 ROWS WITH TIES');
SELECT sorts('SELECT n, (SELECT array_agg(v) FROM (SELECT v FROM kinds WHERE kind = 0 ORDER BY v LIMIT n OFFSET 1) l) FROM unnest(''{1,9,NULL,2,30}''::int[]) n');
SET enable_material = off; -- now the Sort keeps its rows for the inner loop
SELECT sorts('SELECT * FROM unnest(''{1,9,NULL,2,30}''::int[]) n, LATERAL (SELECT * FROM unnest(''{1,2}''::int[]) x LEFT JOIN (SELECT v FROM kinds WHERE kind = 0'
	' ORDER BY v LIMIT n) l ON true OFFSET 0) x');
RESET enable_material;

-- values that become known while the query runs: of a subquery, a nested loop, a correlated or lateral subquery; rescans without a change
CREATE TABLE wanted AS SELECT v::bigint AS uid FROM unnest('{100001,104001,1,NULL,116001}'::bigint[]) v;
ANALYZE wanted;
SELECT answer('SELECT * FROM log WHERE uid = (SELECT max(uid) FROM wanted)');
SELECT answer('SELECT * FROM log WHERE uid = (SELECT max(uid) FROM wanted WHERE false)');
SELECT answer('SELECT * FROM log WHERE uid = (SELECT min(uid) FROM wanted) AND url = ''/1''');
SELECT answer('SELECT * FROM log WHERE uid = 104001 AND url >= (SELECT min(uid)::text FROM wanted)');
SELECT answer('SELECT * FROM log WHERE uid = 1 AND url >= (SELECT min(uid)::text FROM wanted)');
SELECT answer('SELECT (SELECT max(id) FROM log WHERE uid = w.uid) FROM wanted w');
SELECT answer('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE uid = (SELECT w.uid + 0) OFFSET 0) l');
SELECT answer('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE uid = (SELECT w.uid + 0) AND url <> (SELECT ''/'' || w.uid) OFFSET 0) l');
SELECT answer('SELECT w.uid, (SELECT max(id) FROM log WHERE url = ''/1'' AND (uid = w.uid OR w.uid IS NULL)) FROM wanted w');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_seqscan = off;
SELECT plan('SELECT * FROM wanted JOIN log USING (uid)', true);
SELECT answer('SELECT * FROM wanted JOIN log USING (uid)');
SELECT answer('SELECT * FROM wanted w LEFT JOIN LATERAL (SELECT * FROM log WHERE uid = w.uid AND url = ''/1'' OFFSET 0) l ON true');
SELECT answer('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE uid = w.uid ORDER BY id LIMIT 2) l');
SELECT answer('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE uid = ANY (ARRAY[w.uid, 7]) OFFSET 0) l');
SELECT answer('SELECT * FROM wanted w LEFT JOIN log l ON l.uid = 104001 AND l.id > w.uid - 200000');
SELECT answer('SELECT * FROM wanted w WHERE EXISTS (SELECT FROM log WHERE uid = w.uid)');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
RESET enable_seqscan;

-- prepared statements: custom and generic plans, NULL, another value with the same plan
PREPARE look(bigint) AS SELECT id, uid FROM log WHERE uid = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE look(100001);
EXECUTE look(104001);
EXECUTE look(1);
EXECUTE look(NULL);
SELECT plan('EXECUTE look(104001)');
SELECT plan('EXECUTE look(NULL)', true);
-- an existing plan finds new rows, and rows of a table whose index was dropped
INSERT INTO log VALUES (9999, 104001, '/new');
EXECUTE look(104001);
DROP INDEX log_0_uid_url_idx;
EXECUTE look(100001);
SELECT plan('EXECUTE look(1)', true);
CREATE INDEX log_0_uid_url_idx ON log_0 USING bf (uid, url) WITH (pages_per_range = 8);
EXECUTE look(100001);
SELECT plan('EXECUTE look(1)', true);
-- the setting works for existing plans
SET streambloom.enable_skip = off;
SELECT plan('EXECUTE look(1)');
EXECUTE look(104001);
RESET streambloom.enable_skip;
RESET plan_cache_mode;


-- variables of PL/pgSQL, and a plan that is used again by a function that calls itself
CREATE FUNCTION ids(wanted bigint, depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	result text := '';
BEGIN
	FOR r IN SELECT id FROM log WHERE uid = wanted ORDER BY id LOOP
		result := concat_ws(' ', result, r.id, CASE WHEN depth > 0 THEN ids(wanted - 4000, depth - 1) END);
	END LOOP;
	RETURN result;
END
$$;
SELECT ids(104001, 2), ids(108001, 0), ids(1, 1);
SELECT ids(104001, 2), ids(108001, 0), ids(1, 1);
SELECT string_agg(ids(100000 + i, 0), ',') FROM generate_series(1, 8) i;
CREATE TABLE copy AS SELECT * FROM log WHERE uid = 116001;
SELECT id, uid FROM copy;

DROP SCHEMA skip CASCADE;
