-- bf_agg_parallel: parallel plans give the same bytes as serial ones, in both forms of the state (a set of hashes, bits)

CREATE UNLOGGED TABLE bf_agg_parallel (i int, word text, small int, f bf);
INSERT INTO bf_agg_parallel SELECT i, NULL, i % 500, NULL FROM generate_series(1, 1350000) i;
UPDATE bf_agg_parallel SET word = md5(i::text), f = bf_add(bf_empty(1), i % 20) WHERE i <= 20000;
ANALYZE bf_agg_parallel;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

/*
 * The query by a serial plan and by two parallel ones: with four workers, and with two that get no help
 * from the leader. Whether the plans are what they should be, and whether the results are the same.
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
		EXECUTE format('ALTER TABLE bf_agg_parallel SET (parallel_workers = %s)', workers);
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

-- small sets of hashes; larger ones; bits, because fewer items are expected
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(small)::bytea) FROM bf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i)::bytea) FROM bf_agg_parallel WHERE i % 10 = 3');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i, 1000)::bytea) FROM bf_agg_parallel WHERE i % 10 = 3');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i, 1000000, 0.001)::bytea) FROM bf_agg_parallel WHERE i % 10 = 3');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(word)::bytea) FROM bf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i::numeric / 7)::bytea) FROM bf_agg_parallel WHERE i <= 20000');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(ROW(i, word))::bytea) FROM bf_agg_parallel WHERE i <= 20000');

-- a filter that sizes itself goes over to bits past 655,360 items; here not at all, when states are combined, and in
-- a worker
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i)::bytea) FROM bf_agg_parallel WHERE i <= 655000');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(i)::bytea) FROM bf_agg_parallel WHERE i <= 900000');
SELECT * FROM pg_temp.compare('SELECT md5(bf_agg(v)::bytea) FROM (SELECT CASE k WHEN 0 THEN i ELSE -i END FROM bf_agg_parallel, generate_series(0, 1) k) s (v)');

-- groups, of which some have no items
SELECT * FROM pg_temp.compare('SELECT md5(string_agg(md5(f::bytea), '','' ORDER BY g)) FROM (SELECT small % 20 AS g, bf_agg(word) AS f FROM bf_agg_parallel GROUP BY 1) s');
SELECT * FROM pg_temp.compare('SELECT md5(string_agg(coalesce(md5(f::bytea), ''none''), '','' ORDER BY g)) FROM (SELECT i > 20000 AS g, bf_agg(word, 50) AS f FROM bf_agg_parallel GROUP BY 1) s');

-- filters
SELECT * FROM pg_temp.compare('SELECT md5(bf_union_agg(f)::bytea) FROM bf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(bf_intersection_agg(f)::bytea) FROM bf_agg_parallel');
SELECT * FROM pg_temp.compare('SELECT md5(bf_union_agg(CASE WHEN i % 3 = 0 THEN bf_add(bf_empty(1000), i) WHEN i % 3 = 1 THEN bf_empty(1000) END)::bytea) FROM bf_agg_parallel WHERE i <= 3000');

-- asking in parallel
SELECT * FROM pg_temp.compare('SELECT count(*)::text FROM bf_agg_parallel WHERE i <= 20000 AND f @> i % 20');

DROP TABLE bf_agg_parallel;
