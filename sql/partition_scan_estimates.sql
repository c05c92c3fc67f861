-- partition_scan_estimates: how many rows the planner expects of the node PartitionScan, if partitions are of uneven size or were not analyzed

LOAD 'streambloom';
CREATE SCHEMA partition_scan_estimates;
SET search_path = partition_scan_estimates, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET streambloom.enable_partition_scan = always;

-- The planner's estimate, for the node PartitionScan at the top of the plan, as a multiple of the number of rows that there are.
CREATE FUNCTION estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	rows float8;
	ratio float8;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO rows;
	ratio := (plan->0->'Plan'->>'Plan Rows')::float8 / rows;
	RETURN CASE WHEN plan->0->'Plan'->>'Custom Plan Provider' IS DISTINCT FROM 'PartitionScan' THEN 'no PartitionScan'
		WHEN ratio BETWEEN 0.7 AND 1.4 THEN 'near' ELSE round(ratio::numeric, 1) || ' times as many' END;
END
$$;
-- Partitions k of a table, from one number to another, with rows of which one in ten has u = 3.
CREATE PROCEDURE make(parent text, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first..last LOOP
		EXECUTE format('CREATE TABLE part_%s PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', i, parent, i, i + 1);
	END LOOP;
END
$$;

-- One of a hundred partitions has nine rows in ten. It must not matter whether it is among the 16 that are looked at.
CREATE TABLE uneven (k int, u int) PARTITION BY RANGE (k);
CALL make('uneven', 1, 100);
CREATE INDEX ON uneven USING bf (u);
CREATE FUNCTION estimates_if_large(partition int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE uneven;
	INSERT INTO uneven SELECT k, i % 10 FROM generate_series(1, 100) k, generate_series(1, CASE WHEN k = partition THEN 18000 ELSE 20 END) i;
	ANALYZE uneven;
	RETURN NEXT estimate('SELECT * FROM uneven WHERE u = 3');
	RETURN NEXT estimate('SELECT * FROM uneven WHERE u = 3 AND k <= 80');
END
$$;
SELECT p, estimates_if_large(p) FROM unnest(ARRAY[51, 52]) p;
-- The table has grown since it was analyzed, and its partitions were analyzed (autovacuum does not analyze a partitioned table).
SELECT k, estimates_if_large(k) FROM (VALUES (51)) t (k);
INSERT INTO uneven SELECT k, i % 10 FROM generate_series(1, 100) k, generate_series(1, 2000) i;
CREATE PROCEDURE analyze_partitions(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first..last LOOP
		EXECUTE format('ANALYZE part_%s', i);
	END LOOP;
END
$$;
CALL analyze_partitions(1, 100);
SELECT estimate('SELECT * FROM uneven WHERE u = 3');
DROP TABLE uneven;

-- A partition that is itself partitioned, of which nothing is known but its own partitions' sizes, is ruled out.
CREATE TABLE deep (k int, u int) PARTITION BY RANGE (k);
CALL make('deep', 1, 10);
CREATE TABLE rest PARTITION OF deep FOR VALUES FROM (11) TO (101) PARTITION BY RANGE (k);
CALL make('rest', 11, 100);
CREATE INDEX ON deep USING bf (u);
INSERT INTO deep SELECT k, i % 10 FROM generate_series(1, 100) k, generate_series(1, 100) i;
ANALYZE deep;
SELECT estimate('SELECT * FROM deep WHERE u = 3 AND k <= 10'), estimate('SELECT * FROM deep WHERE u = 3 AND k > 10');
ALTER TABLE deep DETACH PARTITION rest;
CREATE TABLE other PARTITION OF deep FOR VALUES FROM (11) TO (101) PARTITION BY RANGE (k);
DO $$
BEGIN
	FOR i IN 11..100 LOOP
		EXECUTE format('ALTER TABLE rest DETACH PARTITION part_%s', i);
		EXECUTE format('ALTER TABLE other ATTACH PARTITION part_%s FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END
$$;
SELECT relname, reltuples FROM pg_class WHERE oid IN ('deep'::regclass, 'other'::regclass, 'part_50'::regclass) ORDER BY 1;
SELECT estimate('SELECT * FROM deep WHERE u = 3 AND k <= 10'), estimate('SELECT * FROM deep WHERE u = 3 AND k > 10');
-- Half of the partitions were never analyzed: they count as large as the others.
UPDATE pg_class SET reltuples = -1 WHERE relname LIKE 'part__' AND relname ~ '[02468]$' AND relnamespace = 'partition_scan_estimates'::regnamespace;
SELECT estimate('SELECT * FROM deep WHERE u = 3 AND k <= 10'), estimate('SELECT * FROM deep WHERE u = 3 AND k > 10');

DROP SCHEMA partition_scan_estimates CASCADE;
