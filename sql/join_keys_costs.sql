-- join_keys_costs: joins whose keys can be asked of bf indexes get the cost that is expected, and no other cost is changed

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA join_keys_costs;
SET search_path = join_keys_costs, public;
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = '1MB';
SET parallel_setup_cost = 100;

CREATE TABLE big (id int, host text, n int, filler text DEFAULT repeat('x', 300));
INSERT INTO big SELECT i, 'h' || i, i % 20 FROM generate_series(0, 39999) i;
CREATE TABLE log (id int NOT NULL, host text, filler text DEFAULT repeat('x', 300)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (10000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (10000) TO (20000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (20000) TO (30000);
CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (30000) TO (40000);
INSERT INTO log SELECT id, host FROM big;
CREATE TABLE suspects AS SELECT 'h' || i AS host, i AS n FROM unnest('{7,8,300}'::int[]) i;
CREATE TABLE many AS SELECT 'h' || i AS host FROM generate_series(1, 20000) i;
VACUUM ANALYZE big, suspects, many;
VACUUM ANALYZE log;

CREATE FUNCTION shape(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		result := concat(result, CASE WHEN line ~ 'Gather' THEN 'workers, ' WHEN line ~ 'Nested Loop' THEN 'nested loop, ' WHEN line ~ 'Hash.* Join' THEN 'hash join, '
			WHEN line ~ 'Skip' AND result !~ 'Skip' THEN 'Skip, ' WHEN line ~ 'Skip' THEN 'Skip, ' END);
	END LOOP;
	RETURN rtrim(result, ', ');
END
$$;
CREATE FUNCTION costs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		result := result || line;
	END LOOP;
	RETURN result;
END
$$;

-- without an index nothing changes, whatever is switched on
CREATE TABLE seen AS SELECT query, costs(query) AS costs FROM unnest(ARRAY['SELECT * FROM big JOIN suspects USING (host)', 'SELECT * FROM log JOIN suspects USING (host)',
	'SELECT * FROM log WHERE host IN (SELECT host FROM suspects)', 'SELECT * FROM suspects LEFT JOIN log USING (host)']) query;
SET streambloom.enable_skip = off;
SELECT query, costs(query) = costs AS same FROM seen;
RESET streambloom.enable_skip;

CREATE INDEX ON big USING bf (host);
CREATE INDEX ON log USING bf (host);
-- few keys: not by workers
SELECT shape('SELECT * FROM big JOIN suspects USING (host)');
SELECT shape('SELECT * FROM log JOIN suspects USING (host)');
SELECT shape('SELECT * FROM log WHERE host IN (SELECT host FROM suspects)');
SELECT shape('SELECT * FROM suspects LEFT JOIN log USING (host)');
-- not the fortieth time either: nothing that is noted of one planning may count in the next, whose memory has the same addresses
CREATE FUNCTION shapes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..40 LOOP
		RETURN NEXT shape(query);
	END LOOP;
END
$$;
SELECT shapes, count(*) FROM shapes('SELECT * FROM big JOIN suspects USING (host)') shapes GROUP BY 1;
SELECT shapes, count(*) FROM shapes('SELECT * FROM log WHERE host IN (SELECT host FROM suspects)') shapes GROUP BY 1;
-- many keys, a column without an index, joins that keep rows
SELECT shape('SELECT * FROM big JOIN many USING (host)');
SELECT shape('SELECT * FROM big JOIN suspects USING (n)');
SELECT shape('SELECT * FROM big LEFT JOIN suspects USING (host)');
-- with a switch off
SET streambloom.enable_skip = off;
SELECT shape('SELECT * FROM log WHERE host IN (SELECT host FROM suspects)') ~ 'Skip' AS skips;
RESET streambloom.enable_skip;

-- What is skipped depends on the keys alone, however few rows other conditions leave. Keys that are expected on all pages may be on few:
-- then a join with the nodes is expected to cost a tenth less.
CREATE FUNCTION total(query text) RETURNS float8 LANGUAGE sql AS $$ SELECT substring(costs(query) from '\.\.([0-9.]+)')::float8 $$;
-- Is the query expected to cost less where the nodes are expected to be of use?
CREATE FUNCTION costs_less(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	with_nodes float8 := total(query);
	without float8;
BEGIN
	PERFORM set_config('streambloom.enable_skip', 'off', false);
	without := total(query);
	PERFORM set_config('streambloom.enable_skip', 'on', false);
	RETURN with_nodes < without;
END
$$;
SET max_parallel_workers_per_gather = 0;
SET enable_nestloop = off;
SELECT costs_less('SELECT * FROM big l JOIN suspects s USING (host) WHERE l.id % 1000 = 7');
SELECT costs_less('SELECT * FROM log l JOIN suspects s USING (host) WHERE l.id % 1000 = 7');
SELECT costs_less('SELECT * FROM big l WHERE host IN (SELECT host FROM suspects) AND l.id % 1000 = 7');
CREATE TABLE classes (id int NOT NULL, n int, filler text DEFAULT repeat('x', 300)) PARTITION BY RANGE (id);
CREATE TABLE classes_0 PARTITION OF classes FOR VALUES FROM (0) TO (20000);
CREATE TABLE classes_1 PARTITION OF classes FOR VALUES FROM (20000) TO (40000);
INSERT INTO classes SELECT id, n FROM big;
CREATE INDEX ON classes USING bf (n);
CREATE INDEX big_n ON big USING bf (n);
VACUUM ANALYZE classes;
SELECT costs_less('SELECT * FROM big l JOIN suspects s USING (n) WHERE l.id % 1000 = 7');
SELECT costs_less('SELECT * FROM big l WHERE n IN (SELECT n FROM suspects) AND l.id % 1000 = 7');
SELECT costs_less('SELECT * FROM classes l JOIN suspects s USING (n) WHERE l.id % 1000 = 7');

-- rows that the statement changes are skipped too; but the keys of such rows are not collected
SELECT costs_less('DELETE FROM big l USING suspects s WHERE s.host = l.host');
SELECT costs_less('DELETE FROM log l USING suspects s WHERE s.host = l.host');
SELECT costs_less('UPDATE log l SET filler = NULL FROM suspects s WHERE s.host = l.host');
SELECT costs_less('DELETE FROM suspects s USING log l WHERE s.host = l.host');
SET max_parallel_workers_per_gather = 2;

CREATE FUNCTION workers_of_subquery(query text) RETURNS text LANGUAGE sql
	RETURN CASE WHEN costs(query) ~ 'Gather.*SubPlan' THEN 'run by workers' WHEN costs(query) ~ 'SubPlan.*Gather' THEN 'has workers' ELSE 'run by the leader' END;
-- a subquery of a condition stays one that workers can run, unless it would have workers of its own
SELECT workers_of_subquery('SELECT count(*) FROM big o WHERE o.host < ''a'' OR o.host IN (SELECT l.host FROM big l JOIN suspects s USING (host))');
ALTER TABLE log_0 SET (parallel_workers = 0);
ALTER TABLE log_1 SET (parallel_workers = 0);
ALTER TABLE log_2 SET (parallel_workers = 0);
ALTER TABLE log_3 SET (parallel_workers = 0);
SET enable_parallel_append = off;
SELECT workers_of_subquery('SELECT count(*) FROM big o WHERE o.host < ''a'' OR o.host IN (SELECT l.host FROM log l JOIN suspects s USING (host))');
RESET enable_nestloop;

-- a nested loop whose inner side are partitions costs what Skip makes of it
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT shape('SELECT * FROM log JOIN suspects USING (host)'), costs_less('SELECT * FROM log JOIN suspects USING (host)');
SELECT costs_less('SELECT * FROM log l JOIN suspects s USING (host) WHERE l.id % 1000 = 7');
-- but not if its keys are in all of them; and workers may run it
SELECT costs_less('SELECT * FROM classes l JOIN suspects s USING (n) WHERE l.id % 1000 = 7 AND l.id % 999 = 8');
SELECT costs_less('DELETE FROM log l USING suspects s WHERE s.host = l.host');
SELECT workers_of_subquery('SELECT count(*) FROM big o WHERE o.host < ''a'' OR o.host IN (SELECT l.host FROM log l JOIN suspects s USING (host))');

DROP SCHEMA join_keys_costs CASCADE;
