-- tbf_agg_parallel: parallel plans give the same bytes as serial ones, in both forms of the state (sums of items, of counters)

SET timezone = 'UTC';
CREATE UNLOGGED TABLE tbf_agg_parallel (i int, item int, at timestamptz, old timestamptz, weight float8, f tbf);
SELECT setseed(0.5);
INSERT INTO tbf_agg_parallel
	SELECT i, i % 500, '2024-01-01'::timestamptz - (i % 1000) * interval '10 minutes', '2024-01-01'::timestamptz - (i % 10 + 5 * (i % 3)) * interval '30 days', (i % 7) * 0.5,
		CASE WHEN i % 100 = 1 AND i <= 20000 THEN tbf_add(tbf_empty(10, 0.01, '1 day'), i % 20, '2024-01-01'::timestamptz - (i % 3000) * interval '10 minutes', i % 9) END
	FROM generate_series(1, 700000) i;
ANALYZE tbf_agg_parallel;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

/*
 * The query by a serial plan and by two parallel ones: with four workers, and with two that get no help from the leader.
 * Whether the plans are what they should be, and whether the results are the same.
 */
CREATE FUNCTION pg_temp.compare(query text, OUT serial boolean, OUT parallel boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	expected text;
	actual text;
	workers int;
BEGIN
	serial := true;
	parallel := true;
	same := true;
	FOREACH workers IN ARRAY ARRAY[0, 2, 4] LOOP
		EXECUTE format('ALTER TABLE tbf_agg_parallel SET (parallel_workers = %s)', workers);
		PERFORM set_config('max_parallel_workers_per_gather', workers::text, true), set_config('parallel_leader_participation', (workers <> 2)::text, true);
		actual := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
			actual := actual || line;
		END LOOP;
		IF workers = 0 THEN
			serial := actual NOT LIKE '%Gather%' AND actual NOT LIKE '%Partial%';
		ELSE
			parallel := parallel AND actual LIKE '%Finalize%Gather%Partial%Parallel Seq Scan%';
		END IF;
		EXECUTE query INTO actual;
		IF workers = 0 THEN
			expected := actual;
		END IF;
		same := same AND actual = expected AND actual <> '';
	END LOOP;
END
$$;

-- few items, recent hits and old ones that are dropped
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(item, at)::bytea) FROM tbf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(item, at, ''7 days'', weight)::bytea) FROM tbf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(item, at, NULL::interval)::bytea) FROM tbf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(item, old, interval ''1 day'', weight)::bytea) FROM tbf_agg_parallel');
-- many items, as a set
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, at, ''7 days'', weight)::bytea) FROM tbf_agg_parallel WHERE i <= 100000');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i::text, old, interval ''1 day'')::bytea) FROM tbf_agg_parallel WHERE i <= 100000');
-- with an expected number of items: counters from the beginning, or soon
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(item, old, interval ''1 day'', weight, 10, 0.1)::bytea) FROM tbf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, old, interval ''1 day'', weight, 10000, 0.01)::bytea) FROM tbf_agg_parallel WHERE i <= 100000');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, at, NULL, 1, 100000, 0.01, NULL, ''2024-01-02'')::bytea) FROM tbf_agg_parallel WHERE i <= 100000');

-- many items: 655,000; twice as many; with hits that are dropped
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, at)::bytea) FROM tbf_agg_parallel WHERE i <= 655000');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, at)::bytea) FROM tbf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(v, at)::bytea) FROM (SELECT CASE k WHEN 0 THEN i ELSE -i END, at FROM tbf_agg_parallel, generate_series(0, 1) k) s (v, at)');
SELECT * FROM pg_temp.compare('SELECT md5(tbf_agg(i, CASE WHEN i % 3 = 0 THEN at ELSE ''2023-01-01'' END, interval ''1 day'')::bytea) FROM tbf_agg_parallel');

-- groups, of which some have no items
SELECT * FROM pg_temp.compare('SELECT md5(string_agg(md5(f::bytea), '','' ORDER BY g)) FROM (SELECT item % 5 AS g, tbf_agg(i, at) AS f FROM tbf_agg_parallel WHERE i <= 50000 GROUP BY 1) s');
SELECT * FROM pg_temp.compare('SELECT md5(string_agg(coalesce(md5(f::bytea), ''none''), '','' ORDER BY g)) FROM (SELECT i > 20000 AS g, tbf_agg(CASE WHEN i <= 20000 THEN item END, at, interval ''1 hour'', 1, 50, 0.01) AS f FROM tbf_agg_parallel GROUP BY 1) s');

-- filters
SELECT * FROM pg_temp.compare('SELECT md5(tbf_merge_agg(f)::bytea) FROM tbf_agg_parallel');

-- asking in parallel
SELECT * FROM pg_temp.compare('SELECT count(*)::text FROM tbf_agg_parallel WHERE f @> i % 20 AND tbf_count(f, i % 20, ''2024-01-01'') > 0');

DROP TABLE tbf_agg_parallel;
