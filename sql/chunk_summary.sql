-- chunk_summary: summary tables by hand, and PostgreSQL's own pruning of partitions while the query runs

CREATE SCHEMA chunk_summary;
SET search_path = chunk_summary, public;
SET client_min_messages = warning;

CREATE TABLE access_log (at timestamptz NOT NULL, uid bigint, url text) PARTITION BY RANGE (at);
CREATE TABLE day_1 PARTITION OF access_log FOR VALUES FROM ('2024-01-01') TO ('2024-01-02');
CREATE TABLE day_2 PARTITION OF access_log FOR VALUES FROM ('2024-01-02') TO ('2024-01-03');
CREATE TABLE day_3 PARTITION OF access_log FOR VALUES FROM ('2024-01-03') TO ('2024-01-04');
CREATE TABLE day_4 PARTITION OF access_log FOR VALUES FROM ('2024-01-04') TO ('2024-01-05');
INSERT INTO access_log SELECT timestamptz '2024-01-01' + i * interval '1 minute', i, '/' || i % 100 FROM generate_series(0, 4 * 24 * 60 - 1) i;
CREATE TABLE chunk_summary AS
	SELECT tableoid::regclass AS chunk, min(at) AS lo, max(at) AS hi, bf_agg(uid) AS uids FROM access_log GROUP BY 1;
ANALYZE access_log, chunk_summary;

-- Only the partition that may hold the value is executed. (OFFSET 0 keeps the inner query from being pulled up. Otherwise the
-- times would become a join condition, and all partitions would be read.)
PREPARE look(bigint) AS
	SELECT l.* FROM chunk_summary c,
		LATERAL (SELECT * FROM access_log l WHERE l.at BETWEEN c.lo AND c.hi AND l.tableoid = c.chunk AND l.uid = $1 OFFSET 0) l
	WHERE (c.uids @> $1) IS NOT FALSE;
EXECUTE look(2000);
-- The plan without what differs between versions.
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT line FROM plan_lines(query, true) line WHERE line !~ 'Filter|Rows Removed';
$$;
SELECT explain('EXECUTE look(2000)');
SELECT explain('EXECUTE look(99999999)');
SET plan_cache_mode = force_generic_plan;
SELECT explain('EXECUTE look(2000)');
EXECUTE look(2000);
RESET plan_cache_mode;

-- every value is found in this way
SELECT count(*) FROM generate_series(0, 5759, 97) v,
	LATERAL (SELECT l.* FROM chunk_summary c, LATERAL (SELECT * FROM access_log l WHERE l.at BETWEEN c.lo AND c.hi AND l.tableoid = c.chunk AND l.uid = v OFFSET 0) l
			 WHERE (c.uids @> v) IS NOT FALSE) l
WHERE l.uid = v;
SELECT count(*) FROM generate_series(0, 5759, 97) v, chunk_scan(NULL::access_log, 'uid', v, 'chunk_summary') l WHERE l.uid = v;

-- a chunk is summarized again: the new summary replaces the old one
INSERT INTO day_4 VALUES ('2024-01-04 12:00', -1, '/late');
SELECT count(*) FROM chunk_scan(NULL::access_log, 'uid', -1, 'chunk_summary');
UPDATE chunk_summary SET (lo, hi, uids) = (SELECT min(at), max(at), bf_agg(uid) FROM day_4) WHERE chunk = 'day_4'::regclass;
SELECT count(*) FROM chunk_scan(NULL::access_log, 'uid', -1, 'chunk_summary');

-- A default partition has rows from before and after the others. No row is returned twice.
CREATE TABLE rest PARTITION OF access_log DEFAULT;
INSERT INTO access_log VALUES ('2023-12-01', 2000, '/early'), ('2024-02-01', 2000, '/late');
CREATE UNIQUE INDEX ON chunk_summary (chunk);
INSERT INTO chunk_summary (chunk, lo, hi, uids)
SELECT 'rest'::regclass, min(at), max(at), bf_agg(uid) FROM rest
ON CONFLICT (chunk) DO UPDATE SET lo = excluded.lo, hi = excluded.hi, uids = excluded.uids;
SELECT at FROM (SELECT l.* FROM chunk_summary c, LATERAL (SELECT * FROM access_log l WHERE l.at BETWEEN c.lo AND c.hi AND l.tableoid = c.chunk AND l.uid = 2000 OFFSET 0) l
	WHERE (c.uids @> 2000) IS NOT FALSE) l ORDER BY 1;

-- a filter of many chunks is the union of their filters
SET client_min_messages = error; -- too full for the rate of one chunk; sql/bf_exact.sql has the warning
SELECT bf_union_agg(uids) @> 2000, bf_union_agg(uids) @> 7777777 FROM chunk_summary;
SET client_min_messages = warning;

DROP SCHEMA chunk_summary CASCADE;
