-- index_scan: all conditions that a bf index can answer; each answer is that of a sequential scan
CREATE TABLE hits (id integer, host bigint, url text, status smallint, secure boolean);
INSERT INTO hits SELECT i, i / 50, '/page/' || i % 4000, CASE WHEN i % 3000 = 0 THEN NULL ELSE 200 + i % 3 END, i % 2 = 0
FROM generate_series(1, 60000) i;
CREATE INDEX hits_bf ON hits USING bf (host, url, status, secure) WITH (pages_per_range = 4);

SELECT q, answers('SELECT * FROM hits WHERE ' || q) FROM (VALUES
	('host = 77'), ('host = -1'), ('host = 77 AND url = ''/page/3870'''), ('url = ''/page/5'' AND host = 77'),
	('host = NULL'), ('host = (SELECT NULL::bigint)'), ('host = (SELECT 77)'), ('secure = (SELECT true)'),
	('status IS NULL'), ('status IS NULL AND host = 60'), ('host IS NOT NULL AND url = ''/page/5'''), ('status IS NOT NULL'),
	('host = ANY (ARRAY[1, 500, 1000, NULL, -5])'), ('host IN (1, 500) AND url IN (''/page/60'', ''/page/3'')'),
	('host = ANY (ARRAY[]::bigint[])'), ('host = ANY (ARRAY[NULL]::bigint[])'), ('host = ANY (NULL)'),
	('host = 77 OR url = ''/page/9'''), ('host = 77 OR status IS NULL'), ('(host = 77 OR host = 99) AND url = ''/page/3870'''),
	('host = ANY (SELECT generate_series(1, 900, 300))'),
	('EXISTS (SELECT FROM (VALUES (5::bigint), (6)) v(x) WHERE x = host)')) t(q);

-- the plan in EXPLAIN: whole ranges are read and rechecked
SET enable_seqscan = off;
SET jit = off;
EXPLAIN (COSTS OFF) SELECT * FROM hits WHERE host = 77 AND url = '/page/3870';
-- parameters of a generic plan, of a nested loop, and of an outer query
SET plan_cache_mode = force_generic_plan;
PREPARE by_host(bigint) AS SELECT count(*) FROM hits WHERE host = $1;
EXPLAIN (COSTS OFF) EXECUTE by_host(77);
EXECUTE by_host(77);
EXECUTE by_host(-1);
EXECUTE by_host(NULL);
PREPARE by_hosts(bigint[]) AS SELECT count(*) FROM hits WHERE host = ANY ($1);
EXECUTE by_hosts('{1,2,3,NULL}');
EXECUTE by_hosts(NULL);
RESET plan_cache_mode;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM generate_series(1::bigint, 2000, 100) g JOIN hits ON host = g;
SELECT count(*) FROM generate_series(1::bigint, 2000, 100) g JOIN hits ON host = g;
SELECT g, (SELECT count(*) FROM hits WHERE host = g) FROM generate_series(1190::bigint, 1210, 5) g;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET enable_memoize;

-- rows that are found by the index are changed, and found again
EXPLAIN (COSTS OFF) UPDATE hits SET host = -host WHERE host = 77;
UPDATE hits SET host = -host WHERE host = 77;
DELETE FROM hits WHERE host = 78;
MERGE INTO hits USING (VALUES (-77::bigint, '/merged')) v(host, url) ON hits.host = v.host AND id % 2 = 0
WHEN MATCHED THEN UPDATE SET url = v.url;
SELECT q, answers('SELECT * FROM hits WHERE ' || q)
FROM (VALUES ('host = 77'), ('host = -77'), ('host = 78'), ('url = ''/merged''')) t(q);
SELECT bf_index_check('hits_bf') BETWEEN 59950 AND 60150 AS checked;

-- from 18 on EXPLAIN ANALYZE shows how often an index was searched
CREATE FUNCTION searches(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	RETURN substring(plan::text FROM '"Index Searches": (\d+)');
END $$;
SELECT coalesce(searches('SELECT * FROM hits WHERE host = 80'), 1) AS searches
WHERE (current_setting('server_version_num')::integer < 180000) = (searches('SELECT * FROM hits WHERE host = 80') IS NULL);
DROP FUNCTION searches;

-- a cursor goes on with its snapshot, whatever is done meanwhile
BEGIN;
DECLARE c CURSOR FOR SELECT id, host FROM hits WHERE host = 80;
FETCH 2 FROM c;
UPDATE hits SET host = 1000000 + id WHERE host = 80;
SELECT bf_desummarize_range('hits_bf', 0), bf_summarize_new_values('hits_bf');
SELECT count(*) FROM hits WHERE host = 80;
FETCH 3 FROM c;
MOVE FORWARD ALL FROM c;
COMMIT;

-- many items in one array, and a parallel scan of the ranges that are found
ANALYZE hits;
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM hits WHERE status = 200;
SELECT count(*) FROM hits WHERE status = 200;
SELECT count(*) FROM hits WHERE host = ANY (ARRAY(SELECT generate_series(1::bigint, 300)));

-- more items than are asked about
SET max_parallel_workers_per_gather = 0;
SELECT count(*), count(DISTINCT host) FROM hits WHERE host = ANY (ARRAY(SELECT generate_series(1000::bigint, 66535)));
SELECT count(*), count(DISTINCT host) FROM hits WHERE host = ANY (ARRAY(SELECT generate_series(1000::bigint, 66536)));

DROP TABLE hits;
