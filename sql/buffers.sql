-- buffers: how many pages some operations touch, so that a change which makes one of them dearer is seen. Pages are counted, not times, so the
-- machine does not matter. A bound is a quarter above what was counted when it was set: lower it when an operation has become cheaper.
-- Raise it only in a commit that says why the operation may touch more. (test/instructions bounds the instructions of the core in the same way.)
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;

-- The pages that a statement touches. EXPLAIN shows a part of them: those of planning ("Planning"), and those of the plan once it runs ("Plan").
-- It does not show what is read in between, when the execution begins. "first" is all that the first run of the statement reads, but only of the
-- tables and indexes of this test: not of catalogs, nor of what is stored out of line. For "Planning" and "Plan" the run with the fewest pages of
-- three counts: the first finds the catalogs not in memory, and a later one does so if other sessions have changed much. The statement's changes
-- are taken back.
CREATE FUNCTION pg_temp.fetched() RETURNS bigint LANGUAGE sql AS
	'SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) FROM pg_class WHERE relnamespace = ''public''::regnamespace';
CREATE FUNCTION pg_temp.pages(part text, statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	before bigint;
	fewest bigint;
BEGIN
	FOR i IN 1 .. 3 LOOP
		before := pg_temp.fetched();
		BEGIN
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || statement INTO plan;
			RAISE EXCEPTION 'take it back' USING ERRCODE = 'TB000';
		EXCEPTION WHEN SQLSTATE 'TB000' THEN
			NULL;
		END;
		IF part = 'first' THEN
			RETURN pg_temp.fetched() - before;
		END IF;
		fewest := least(fewest, (plan->0->part->>'Shared Hit Blocks')::bigint + (plan->0->part->>'Shared Read Blocks')::bigint);
	END LOOP;
	RETURN fewest;
END $$;

CREATE TABLE log (id integer, host text, line text, body jsonb) WITH (autovacuum_enabled = off);
INSERT INTO log SELECT i, 'host ' || i / 100, 'GET /' || md5(i::text) || ' HTTP/1.1', jsonb_build_object('user', i / 10) FROM generate_series(1, 50000) i;
CREATE INDEX log_bf ON log USING bf (id, host, line gram_ops, body jsonb_path_ops) WITH (pages_per_range = 16);
CREATE TABLE parted (id integer, day integer) PARTITION BY LIST (day);
SELECT format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES IN (%s) WITH (autovacuum_enabled = off)', i, i) FROM generate_series(1, 20) i \gexec
INSERT INTO parted SELECT i, 1 + i / 1000 FROM generate_series(0, 19999) i;
CREATE INDEX parted_bf ON parted USING bf (id) WITH (pages_per_range = 1);
CREATE TABLE filters AS SELECT bf_agg(id, 1000000) AS f, tbf_agg(host, '2024-05-01 UTC', '7 days', 1, 1000000, 0.01) AS t FROM log;
CREATE TABLE lists AS SELECT bf_agg(i) AS f FROM generate_series(1, 1000) i;
-- The filters of 20 hours: each is stored out of line, in some pages, and has room for the items of all.
CREATE TABLE hours AS
	SELECT hour, bf_agg(i, 40000) AS f, tbf_agg(i, '2024-05-01 UTC', '7 days', 1, 40000, 0.01) AS t
	FROM generate_series(1, 20) hour, generate_series(hour * 1000, hour * 1000 + 9999) i GROUP BY hour;
VACUUM ANALYZE log, parted, filters, lists, hours;

-- operation, the most pages that it may touch, the statement, and which pages are counted
CREATE TEMP TABLE operation (n serial, name text, most bigint, statement text, part text DEFAULT 'Plan');
INSERT INTO operation (name, most, statement, part) VALUES
	('a plain query of partitions, for a value of one of them', 37, 'SELECT * FROM parted WHERE id = 12345', 'first');
INSERT INTO operation (name, most, statement) VALUES
	('the index, for a value that is absent', 3, 'SELECT * FROM log WHERE id = -1'),
	('the index, for a value of one row', 23, 'SELECT * FROM log WHERE id = 12345'),
	('the index, for ten values', 212, 'SELECT * FROM log WHERE id = ANY (''{1,5001,10001,15001,20001,25001,30001,35001,40001,45001}'')'),
	('the index, for two columns', 24, 'SELECT * FROM log WHERE id = 12345 AND host = ''host 123'''),
	('the index, for a substring', 33, 'SELECT * FROM log WHERE line LIKE ''%' || left(md5('12345'), 12) || '%'''),
	('the index, for a key of a jsonb', 23, 'SELECT * FROM log WHERE body @> ''{"user": 1234}'''),
	('the index, when a row is inserted', 9, 'INSERT INTO log SELECT 60000, ''new'', ''new'', ''{}'''),
	('a stored bf, asked for an item', 9, 'SELECT f @> 12345 FROM filters'),
	('a stored list of 1,000 items, asked for an item', 6, 'SELECT f @> 12345 FROM lists'),
	('a stored tbf, asked for a count', 13, 'SELECT tbf_count(t, ''host 7'', ''2024-05-01 UTC'') FROM filters'),
	('partitions, for a value of one of them', 62, 'SELECT * FROM chunk_scan(NULL::parted, ''id'', 12345)'),
	('bf_union_agg() of 20 stored bf', 226, 'SELECT bf_union_agg(f) FROM hours'),
	('tbf_merge_agg() of 20 stored tbf', 326, 'SELECT tbf_merge_agg(t) FROM hours');
INSERT INTO operation (name, most, statement, part) VALUES
	('the planning of a plain query of partitions', 20, 'SELECT * FROM parted WHERE id = 12345', 'Planning'),
	('the planning of a query of the index', 4, 'SELECT * FROM log WHERE id = 12345', 'Planning');
SELECT name, CASE WHEN pages <= most THEN 'as few as before' ELSE format('%s pages, not %s', pages, most) END AS pages
FROM (SELECT *, pg_temp.pages(part, statement) AS pages FROM operation OFFSET 0) o ORDER BY n;

DROP TABLE log, parted, filters, lists, hours;
