-- join_skip_costs: joins whose keys can be asked of bf indexes get the cost that is expected, and no other cost is changed

LOAD 'streambloom';
CREATE SCHEMA join_skip_costs;
SET search_path = join_skip_costs, public;
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
			WHEN line ~ 'JoinSkip' AND result !~ 'JoinSkip' THEN 'JoinSkip, ' WHEN line ~ 'ChunkSkip' THEN 'ChunkSkip, ' END);
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
SET streambloom.enable_join_skip = off;
SET streambloom.prefer_chunk_skip = off;
SELECT query, costs(query) = costs AS same FROM seen;
RESET streambloom.enable_join_skip;
RESET streambloom.prefer_chunk_skip;

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
SET streambloom.enable_join_skip = off;
SELECT shape('SELECT * FROM log WHERE host IN (SELECT host FROM suspects)') ~ 'JoinSkip' AS skips;
RESET streambloom.enable_join_skip;

-- a nested loop whose inner side are partitions costs what ChunkSkip makes of it
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE FUNCTION total(query text) RETURNS float8 LANGUAGE sql AS $$ SELECT substring(costs(query) from '\.\.([0-9.]+)')::float8 $$;
SET streambloom.prefer_chunk_skip = off;
CREATE TABLE before AS SELECT total('SELECT * FROM log JOIN suspects USING (host)') AS total;
SET streambloom.prefer_chunk_skip = on;
SELECT shape('SELECT * FROM log JOIN suspects USING (host)'), total('SELECT * FROM log JOIN suspects USING (host)') < total AS costs_less FROM before;

DROP SCHEMA join_skip_costs CASCADE;
