-- sizes.sql: what bench/sizes measures. Variable: scale, the share of the rows.
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SET jit = off;
SET enable_seqscan = off;

-- The pages of index and table that a query reads.
CREATE FUNCTION pages_read(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::integer + (plan #>> '{0,Plan,Shared Read Blocks}')::integer;
END $$;
-- The mean over the values that a query gives.
CREATE FUNCTION mean_pages(pattern text, vals text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	mean numeric;
BEGIN
	EXECUTE format('SELECT round(avg(pages_read(format(%L, v))), 1) FROM (%s) s(v)', pattern, vals) INTO mean;
	RETURN mean;
END $$;
CREATE FUNCTION megabytes(bytes bigint) RETURNS text LANGUAGE sql RETURN to_char(bytes / 1e6, 'FM999990.0');

CREATE FUNCTION of_levels(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s (%s)', pages_per_range, round(current_false_positive_rate::numeric, 4)), ', ' ORDER BY level) FROM bf_index_stats(index)
$$;
CREATE FUNCTION line(what text, relation regclass, index regclass, pattern text, absent text, present text) RETURNS text LANGUAGE sql AS $$
	SELECT format('| %s | %s | %s | %s | %s | %s |', what, megabytes(pg_table_size(relation)), megabytes(pg_relation_size(index)), of_levels(index), mean_pages(pattern, absent), mean_pages(pattern, present))
$$;

SELECT format('%s. Pages are those of index and table that one look-up reads, in the mean of 50.', split_part(version(), ' on ', 1));
\echo
\echo '| table | MB | index, MB | pages of a range (rate) on each level | absent value | value in one row |'
\echo '| --- | ---: | ---: | --- | ---: | ---: |'
CREATE TABLE equal_first (v integer);
INSERT INTO equal_first SELECT CASE WHEN i <= 600000 * :scale THEN 0 ELSE i END FROM generate_series(1, (6600000 * :scale)::integer) i;
VACUUM equal_first;
CREATE INDEX equal_first_v ON equal_first USING bf (v);
SELECT line('600,000 equal values, then 6 million different ones', 'equal_first', 'equal_first_v', 'SELECT * FROM equal_first WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	format('SELECT i * %s FROM generate_series(1, 50) i', (6000000 * :scale)::integer / 51));
DROP INDEX equal_first_v;
CREATE INDEX equal_first_v ON equal_first USING bf (v) WITH (pages_per_range = 1);
SELECT line('the same, `pages_per_range = 1`', 'equal_first', 'equal_first_v', 'SELECT * FROM equal_first WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	format('SELECT i * %s FROM generate_series(1, 50) i', (6000000 * :scale)::integer / 51));
DROP TABLE equal_first;

CREATE TABLE added (i integer);
INSERT INTO added SELECT i FROM generate_series(1, (1500000 * :scale)::integer) i;
ALTER TABLE added ADD v integer;
CREATE INDEX added_v ON added USING bf (v) WITH (pages_per_range = 1);
SELECT format('INSERT INTO added SELECT i, i FROM generate_series(%s, %s) i', part * 500000 * :scale, part * 500000 * :scale + 500000 * :scale - 1), 'VACUUM added' FROM generate_series(1, 6) part \gexec
SELECT line('a column that was added later: 1.5 million NULLs, then 3 million values in six steps', 'added', 'added_v', 'SELECT * FROM added WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	format('SELECT i * %s FROM generate_series(20, 69) i', (3000000 * :scale)::integer / 71));
REINDEX INDEX added_v;
SELECT line('the same after REINDEX', 'added', 'added_v', 'SELECT * FROM added WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	format('SELECT i * %s FROM generate_series(20, 69) i', (3000000 * :scale)::integer / 71));
DROP TABLE added;

CREATE TABLE tagged (i integer, tags integer[]);
INSERT INTO tagged SELECT i, CASE i WHEN (200000 * :scale)::integer THEN (SELECT array_agg(-n) FROM generate_series(1, (1000000 * :scale)::integer) n) ELSE ARRAY[i % 1000, i % 77, i + 1000000] END
	FROM generate_series(1, (400000 * :scale)::integer) i;
VACUUM tagged;
CREATE INDEX tagged_bf ON tagged USING bf (tags);
SELECT line('400,000 arrays of three elements, and one of a million', 'tagged', 'tagged_bf', 'SELECT * FROM tagged WHERE tags @> ''{%s}''', 'SELECT 900000000 + i FROM generate_series(1, 50) i',
	format('SELECT 1000000 + i * %s FROM generate_series(1, 50) i', (400000 * :scale)::integer / 51));
DROP TABLE tagged;

CREATE TABLE updated (i integer, v integer) WITH (fillfactor = 80);
INSERT INTO updated SELECT i, i FROM generate_series(1, (2000000 * :scale)::integer) i;
CREATE INDEX updated_v ON updated USING bf (v);
SELECT line('2 million values', 'updated', 'updated_v', 'SELECT * FROM updated WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i', format('SELECT i * %s FROM generate_series(1, 50) i', (2000000 * :scale)::integer / 51));
SELECT format('UPDATE updated SET v = %s * 10000000 + i WHERE hashint4extended(i, %s) %% 10 = 0', day, day), 'VACUUM updated' FROM generate_series(1, 30) day \gexec
SELECT line('the same after thirty days, on each of which a tenth is updated, and VACUUM', 'updated', 'updated_v', 'SELECT * FROM updated WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	'SELECT v FROM (SELECT v FROM updated ORDER BY hashint4(i) LIMIT 50) s');
REINDEX INDEX updated_v;
SELECT line('the same after REINDEX', 'updated', 'updated_v', 'SELECT * FROM updated WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i',
	'SELECT v FROM (SELECT v FROM updated ORDER BY hashint4(i) LIMIT 50) s');
DROP TABLE updated;

CREATE TABLE grown (v integer);
CREATE INDEX grown_v ON grown USING bf (v) WITH (pages_per_range = 4);
SELECT format('INSERT INTO grown SELECT i FROM generate_series(%s, %s) i', part * 20000 * :scale + 1, (part + 1) * 20000 * :scale), 'VACUUM grown' FROM generate_series(0, 299) part \gexec
SELECT line('6 million values that came in 300 steps', 'grown', 'grown_v', 'SELECT * FROM grown WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i', format('SELECT i * %s FROM generate_series(1, 50) i', (6000000 * :scale)::integer / 51));
REINDEX INDEX grown_v;
SELECT line('the same after REINDEX', 'grown', 'grown_v', 'SELECT * FROM grown WHERE v = %s', 'SELECT -i FROM generate_series(1, 50) i', format('SELECT i * %s FROM generate_series(1, 50) i', (6000000 * :scale)::integer / 51));
\echo
\echo 'Lists of absent values, `v = ANY`, in the last of these tables:'
\echo
\echo '| values | 1 | 64 | 65 | 256 | 1,000 |'
\echo '| --- | ---: | ---: | ---: | ---: | ---: |'
SELECT '| pages | ' || string_agg(pages_read(format('SELECT * FROM grown WHERE v = ANY (ARRAY(SELECT -generate_series(1, %s)))', n))::text, ' | ' ORDER BY n) || ' |' FROM unnest(ARRAY[1, 64, 65, 256, 1000]) n;
