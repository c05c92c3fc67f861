-- tbf_threshold: partitions that can hold enough hits of an item, and no others, are read

SET timezone = 'UTC';
CREATE TABLE access_log (at timestamptz, client text) PARTITION BY RANGE (at);
DO $$
BEGIN
	FOR day IN 1 .. 10 LOOP
		EXECUTE format('CREATE TABLE access_log_%s PARTITION OF access_log FOR VALUES FROM (%L) TO (%L)', day, date '2024-01-01' + day, date '2024-01-02' + day);
	END LOOP;
END
$$;
-- client 1 comes once a day and 60 times on days 3 and 7; client i some i times a day
INSERT INTO access_log SELECT timestamptz '2024-01-01' + day * interval '1 day' + n * interval '1 second', 'client ' || i
FROM generate_series(1, 10) day, generate_series(1, 80) i, LATERAL generate_series(1, CASE WHEN i > 1 THEN i WHEN day IN (3, 7) THEN 60 ELSE 1 END) n;
CREATE TABLE heat_of_chunk AS
	SELECT tableoid::regclass AS chunk, min(at) AS lo, max(at) AS hi, tbf_agg(client, at, NULL) AS clients
	FROM access_log GROUP BY 1;
VACUUM ANALYZE access_log;

-- as docs/tbf.md has it
PREPARE rows_of_busy_days(text, int) AS
	SELECT l.* FROM heat_of_chunk c,
		LATERAL (SELECT * FROM access_log l WHERE l.at BETWEEN c.lo AND c.hi AND l.tableoid = c.chunk AND l.client = $1 OFFSET 0) l
	WHERE tbf_count(c.clients, $1) >= $2;
CREATE FUNCTION pg_temp.scans(node jsonb) RETURNS SETOF boolean LANGUAGE sql AS $$
	SELECT (node ->> 'Actual Loops')::numeric > 0 WHERE node ->> 'Relation Name' LIKE 'access\_log\_%'
	UNION ALL SELECT pg_temp.scans(child) FROM jsonb_array_elements(node -> 'Plans') child
$$;
CREATE FUNCTION pg_temp.read(statement text, OUT partitions bigint, OUT read bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) ' || statement INTO plan;
	SELECT count(*), count(*) FILTER (WHERE s) INTO partitions, read FROM pg_temp.scans(plan -> 0 -> 'Plan') s;
END
$$;
SET max_parallel_workers_per_gather = 0;
SELECT * FROM pg_temp.read($$EXECUTE rows_of_busy_days('client 1', 50)$$);
SELECT * FROM pg_temp.read($$EXECUTE rows_of_busy_days('client 1', 1)$$);
SELECT * FROM pg_temp.read($$EXECUTE rows_of_busy_days('nobody', 1)$$);
-- and it finds all there is to find: for every client and threshold what SQL finds
CREATE TEMP TABLE found AS SELECT client, at::date AS day, count(*) AS hits FROM access_log GROUP BY 1, 2;
SELECT count(*) AS pairs, bool_and((SELECT count(*) FROM heat_of_chunk c WHERE tbf_count(c.clients, f.client) >= n AND c.lo::date = f.day) = 1) AS none_missed
FROM found f, generate_series(1, 80) n WHERE f.hits >= n;
DROP TABLE access_log, heat_of_chunk;
