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
-- The mean of pages_read() over the values that the query `vals` returns; `pattern` is the query of one value.
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
DROP TABLE grown;

-- Columns: the bytes of the index beside the least bytes that its filters could have, the measured rate beside the
-- one asked for, and a B-tree.
CREATE FUNCTION load_at(rate double precision, hashes integer) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
	low double precision := 0;
	high double precision := 512;
BEGIN
	FOR step IN 1 .. 40 LOOP
		IF bf_false_positive_rate(512 * 1000, hashes, (low + high) / 2 * 1000) <= rate THEN
			low := (low + high) / 2;
		ELSE
			high := (low + high) / 2;
		END IF;
	END LOOP;
	RETURN low;
END $$;
-- The pages of the table that a query reads, all of them in vain if the value is absent.
CREATE FUNCTION heap_pages_read(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	line text;
	pages integer := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, COSTS OFF) ' || query LOOP
		pages := pages + coalesce(substring(line FROM 'Heap Blocks:.* lossy=(\d+)')::integer, 0);
	END LOOP;
	RETURN pages;
END $$;
-- `items` are those of a row; `absent` is a pattern of a value that is not there.
CREATE FUNCTION column_line(what text, of_column text, items text, absent text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	on_level record;
	ideal double precision := 0;
	lines double precision;
	per_range double precision;
	of_range double precision;
	bytes bigint;
	btree_bytes bigint;
	read double precision;
	allowed double precision;
	rates text;
BEGIN
	EXECUTE format('CREATE INDEX measured ON columns USING bf (%I)', of_column);
	FOR on_level IN SELECT * FROM bf_index_stats('measured') LOOP
		EXECUTE format($q$SELECT sum(n) / %s * 64, avg(n) FROM (SELECT count(DISTINCT item) AS n FROM (SELECT (ctid::text::point)[0]::bigint / %s AS range, %s AS item FROM columns) r
			WHERE %s = 0 OR (range + 1) * %s <= pg_relation_size('columns') / 8192 GROUP BY range) s$q$,
			load_at(on_level.false_positive_rate, on_level.hashes), on_level.pages_per_range, items, on_level.level, on_level.pages_per_range) INTO lines, per_range;
		ideal := ideal + coalesce(lines, 0);
		IF on_level.level = 0 THEN
			of_range := per_range;
			allowed := on_level.false_positive_rate * on_level.ranges * on_level.pages_per_range;
			EXECUTE format('SELECT avg(heap_pages_read(format(%L, i))) FROM generate_series(1, 100) i', format('SELECT * FROM columns WHERE %I %s', of_column, absent)) INTO read;
		END IF;
	END LOOP;
	SELECT string_agg(round((current_false_positive_rate / false_positive_rate)::numeric, 2)::text, ', ' ORDER BY level) INTO rates FROM bf_index_stats('measured');
	bytes := pg_relation_size('measured');
	DROP INDEX measured;
	EXECUTE format('CREATE INDEX measured ON columns (%I)', of_column);
	btree_bytes := pg_relation_size('measured');
	DROP INDEX measured;
	RETURN format('| %s | %s | %s | %s | %s | %s / %s | %s | %s |', what, round(of_range::numeric), megabytes(bytes), round((bytes / ideal)::numeric, 2), rates,
		round(read::numeric, 1), round(allowed::numeric, 1), megabytes(btree_bytes), round(btree_bytes::numeric / bytes, 1));
END $$;
\echo
\echo '# Columns'
\echo
\echo 'Ideal are filters of each range of all levels, as a `bf` value has them, for its distinct items at the rate asked for. Rates are multiples of the one asked for, on each level.'
\echo 'The pages of the table that a look-up of an absent value reads, in the mean of 100, stand beside the rate times all pages.'
\echo
\echo '| column | items of a range | index, MB | of the ideal | rate / asked | pages in vain / allowed | B-tree, MB | B-tree / index |'
\echo '| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |'
CREATE TABLE columns AS SELECT i AS i4, i::bigint AS i8, 'visitor ' || i AS name, md5(i::text)::uuid AS id, i * 7919::bigint % (200000 * :scale)::bigint AS five_times, i / 5 AS five_in_a_row,
	i % 20 AS of_twenty, i * 7919::bigint % 30000 AS often, ARRAY['day ' || i / 5000, 'request ' || i, 'agent ' || i % 300] AS tags,
	CASE WHEN i / 50000 % 2 = 0 THEN i % 100 ELSE i END AS by_turns FROM generate_series(1, (1000000 * :scale)::integer) i;
VACUUM ANALYZE columns;
SELECT column_line('int4, each once', 'i4', 'i4', '= -%s');
SELECT column_line('int8, each once', 'i8', 'i8', '= -%s');
SELECT column_line('text of 14 characters, each once', 'name', 'name', '= ''nobody %s''');
SELECT column_line('uuid, each once', 'id', 'id', '= md5(''-%s'')::uuid');
SELECT column_line('int8, each five times, strewn', 'five_times', 'five_times', '= -%s');
SELECT column_line('int4, each five times, together', 'five_in_a_row', 'five_in_a_row', '= -%s');
SELECT column_line('int8, each 33 times, strewn', 'often', 'often', '= -%s');
SELECT column_line('int4, 50,000 rows of 100 values and 50,000 different ones by turns', 'by_turns', 'by_turns', '= -%s');
SELECT column_line('int4, 20 values', 'of_twenty', 'of_twenty', '= -%s');
SELECT column_line('tags', 'tags', 'unnest(tags)', '@> ''{nothing %s}''');
DROP TABLE columns;
SELECT to_regclass('log_lines') IS NOT NULL AS has_logs \gset
\if :has_logs
CREATE TABLE columns AS SELECT split_part(line, ' ', 1) AS host, split_part(split_part(line, '"', 2), ' ', 2) AS path, split_part(line, '"', 6) AS agent, split_part(split_part(line, '"', 3), ' ', 3) AS bytes,
	substr(line, strpos(line, '[') + 1, 20) AS at FROM log_lines WHERE octet_length(line) < 2000 ORDER BY n;
VACUUM ANALYZE columns;
SELECT column_line('a blog''s log: host', 'host', 'host', '= ''0.0.0.%s''');
SELECT column_line('path', 'path', 'path', '= ''/nothing/%s''');
SELECT column_line('agent', 'agent', 'agent', '= ''nobody %s''');
SELECT column_line('bytes', 'bytes', 'bytes', '= ''-%s''');
SELECT column_line('second', 'at', 'at', '= ''never %s''');
DROP TABLE columns;
\endif
