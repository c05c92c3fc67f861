-- index_sizes: ranges and filters are as large as what is there needs, also if the first part of a table is unlike the rest
CREATE SCHEMA sizes;
SET search_path = sizes, public;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

-- How many pages, of index and table, a query reads.
CREATE FUNCTION pages_read(query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::integer + (plan #>> '{0,Plan,Shared Read Blocks}')::integer;
END $$;
-- How many pages a query for a value that is not in the table reads, in the mean over 40 values.
CREATE FUNCTION in_vain(relation text, of_column text, parameter text DEFAULT '-%s') RETURNS numeric LANGUAGE sql AS $$
	SELECT round(avg(pages_read(format('SELECT * FROM %I WHERE %I = %s', relation, of_column, format(parameter, i)))), 1) FROM generate_series(1, 40) i
$$;

-- Equal values first, then as many different ones as ten times the rows; and the other way round.
CREATE TABLE equal_first (v integer) WITH (autovacuum_enabled = off);
INSERT INTO equal_first SELECT CASE WHEN i <= 100000 THEN 0 ELSE i END FROM generate_series(1, 1100000) i;
CREATE TABLE equal_last (v integer) WITH (autovacuum_enabled = off);
INSERT INTO equal_last SELECT CASE WHEN i > 1000000 THEN 0 ELSE i END FROM generate_series(1, 1100000) i;
CREATE INDEX equal_first_v ON equal_first USING bf (v);
CREATE INDEX equal_last_v ON equal_last USING bf (v);
SELECT relation, s.level, s.pages_per_range, s.current_false_positive_rate < 3 * s.false_positive_rate AS as_asked, in_vain(relation, 'v') <= 12 AS few_pages
FROM unnest(ARRAY['equal_first', 'equal_last']) relation, bf_index_stats(format('%I', relation || '_v')::regclass) s ORDER BY relation, level;
-- with ranges of a given length, and two levels
CREATE INDEX equal_first_1 ON equal_first USING bf (v) WITH (pages_per_range = 1);
SELECT level, current_false_positive_rate < 3 * false_positive_rate AS as_asked FROM bf_index_stats('equal_first_1') ORDER BY level;
DROP INDEX equal_first_v;
SELECT in_vain('equal_first', 'v') <= 12 AS few_pages;

-- A column that was added later, to a table that grows: its first half is NULL.
CREATE TABLE grown (i integer) WITH (autovacuum_enabled = off);
INSERT INTO grown SELECT i FROM generate_series(1, 150000) i;
ALTER TABLE grown ADD v integer;
CREATE INDEX grown_v ON grown USING bf (v) WITH (pages_per_range = 1);
DO $$ BEGIN
	FOR part IN 1 .. 6 LOOP
		INSERT INTO grown SELECT i, i FROM generate_series(part * 150000, part * 150000 + 149999) i;
		CALL bf_summarize('grown');
	END LOOP;
END $$;
SELECT level, current_false_positive_rate < 3 * false_positive_rate AS as_asked FROM bf_index_stats('grown_v') ORDER BY level;
SELECT in_vain('grown', 'v') <= 20 AS few_pages;

-- More items than 64 go down the levels too, and 65 take about as much as 64.
SELECT pages_read('SELECT * FROM grown WHERE v = ANY (ARRAY(SELECT -generate_series(1, 64)))') AS of_64 \gset
SELECT items, pages_read(format('SELECT * FROM grown WHERE v = ANY (ARRAY(SELECT -generate_series(1, %s)))', items)) <= ceil(items / 64.0) * :of_64 * 1.2 AS in_proportion FROM unnest(ARRAY[128, 300, 1000]) items
UNION ALL SELECT 65, pages_read('SELECT * FROM grown WHERE v = ANY (ARRAY(SELECT -generate_series(1, 65)))') <= :of_64 * 1.2;

-- One row with a hundred thousand elements among small ones: first, in the middle, last, and written later. It costs the
-- index its own bytes, and makes no other filter larger.
CREATE FUNCTION bytes_with(big integer, built boolean) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS tagged;
	CREATE TABLE tagged (i integer, tags integer[]) WITH (autovacuum_enabled = off);
	IF NOT built THEN
		CREATE INDEX tagged_bf ON tagged USING bf (tags);
	END IF;
	INSERT INTO tagged SELECT i, CASE i WHEN big THEN (SELECT array_agg(n) FROM generate_series(1, 100000) n) ELSE ARRAY[i % 1000, i % 77, -i] END FROM generate_series(1, 60000) i ORDER BY i;
	IF built THEN
		CREATE INDEX tagged_bf ON tagged USING bf (tags);
	ELSE
		PERFORM bf_summarize_new_values('tagged_bf');
	END IF;
	PERFORM bf_index_check('tagged_bf');
	RETURN pg_relation_size('tagged_bf');
END $$;
SELECT big, built, bytes_with(big, built) - bytes_with(-1, built) <= 3 * 100000 AS little_more FROM unnest(ARRAY[1, 30000, 60000]) big, unnest(ARRAY[true, false]) built;
SELECT count(*) FROM tagged WHERE tags @> '{99999}';
SELECT count(*) FROM tagged WHERE tags @> '{-500}';

-- If such a row comes into a range whose group was made without it, the range is full when it is summarized: it is
-- always read, writers leave it alone, and it makes no filter larger. The functions show how many there are, and where.
CREATE TABLE odd (i integer, tags integer[], v integer) WITH (autovacuum_enabled = off, fillfactor = 90);
INSERT INTO odd SELECT i, ARRAY[i % 1000, -i], i FROM generate_series(1, 40000) i;
CREATE INDEX odd_bf ON odd USING bf (tags, v) WITH (pages_per_range = 4);
SELECT (ctid::text::point)[0]::bigint AS place FROM odd WHERE i = 20000 \gset
SELECT bf_desummarize_range('odd_bf', :place);
UPDATE odd SET tags = (SELECT array_agg(n) FROM generate_series(1, 50000) n) WHERE i = 20000;
SELECT bf_summarize_range('odd_bf', :place);
CREATE VIEW odd_stats AS SELECT "column", level, summarized + full_ranges + unsummarized = ranges AS all_told, full_ranges,
	full_block = (SELECT (ctid::text::point)[0]::bigint / 4 * 4 FROM odd WHERE i = 20000) AS is_that_one FROM bf_index_stats('odd_bf');
SELECT * FROM odd_stats;
SELECT full_ranges, advice FROM bf_indexes WHERE index = 'odd_bf'::regclass;
SELECT bf_index_check('odd_bf');
SELECT count(*) FROM odd WHERE tags @> '{49999}';
SELECT count(*) FROM odd WHERE tags @> '{-777}' AND v = 777;
-- what searches in the other column, or for what is elsewhere, reads no more than that range
SELECT pages_read('SELECT FROM odd WHERE v = -1') <= 6 AS other_column, pages_read('SELECT FROM odd WHERE tags @> ''{-777}'' AND v = 777') <= 12 AS both;
SELECT bf_of('odd_bf', :place) IS NULL AS no_filter, bf_of('odd_bf', :place, 2) IS NULL AS of_v;
-- writers pass it; VACUUM gives it a group of its own
INSERT INTO odd SELECT i, ARRAY[i], i FROM generate_series(100001, 100100) i;
UPDATE odd SET tags = tags || 777777, v = -20000 WHERE i = 20000;
SELECT count(*) FROM odd WHERE tags @> '{777777}';
SELECT count(*) FROM odd WHERE v = -20000;
VACUUM odd;
SELECT full_ranges FROM odd_stats;
-- when the row is gone, its range is like the others
DELETE FROM odd WHERE i = 20000;
VACUUM odd;
CALL bf_summarize('odd');
SELECT "column", all_told, full_ranges FROM odd_stats;
SELECT full_ranges FROM bf_indexes WHERE index = 'odd_bf'::regclass;
SELECT bf_index_check('odd_bf');
DROP TABLE odd CASCADE;

-- Groups of an index that grows range by range: 8, 8, 15, 31, 63, and then 125 ranges. So many are ready with each number of ranges.
CREATE TABLE steps (v integer) WITH (autovacuum_enabled = off);
CREATE INDEX steps_v ON steps USING bf (v) WITH (pages_per_range = 1, levels = 1);
CREATE TABLE groups_seen (ranges bigint, groups integer);
DO $$ BEGIN
	FOR range IN 0 .. 140 LOOP
		INSERT INTO steps SELECT range * 226 + i FROM generate_series(1, 226) i;
		PERFORM bf_summarize_new_values('steps_v');
		INSERT INTO groups_seen SELECT ranges, groups FROM bf_index_stats('steps_v');
	END LOOP;
END $$;
SELECT groups, min(ranges) AS from_range, max(ranges) AS to_range FROM groups_seen GROUP BY groups ORDER BY groups;
-- Such an index takes hardly more than one that is built, when its last group is full.
SELECT pg_relation_size('steps_v') AS grown_size, (SELECT ranges FROM bf_index_stats('steps_v')) AS ranges \gset
INSERT INTO steps SELECT :ranges * 226 + i FROM generate_series(1, 226 * (250 - :ranges)) i;
SELECT bf_summarize_new_values('steps_v') > 0 AS more;
SELECT pg_relation_size('steps_v') AS grown_size \gset
REINDEX INDEX steps_v;
SELECT :grown_size <= 1.3 * pg_relation_size('steps_v') AS as_small_as_built;
DROP TABLE steps, groups_seen;

-- A month of updates of a tenth of the rows each day: VACUUM summarizes anew the ranges that have many bits of old
-- values.
CREATE TABLE updated (i integer, v integer) WITH (autovacuum_enabled = off, fillfactor = 80);
INSERT INTO updated SELECT i, i FROM generate_series(1, 100000) i;
CREATE INDEX updated_v ON updated USING bf (v) WITH (pages_per_range = 2);
SELECT in_vain('updated', 'v') AS fresh \gset
SELECT format('UPDATE updated SET v = %s + i WHERE hashint4extended(i, %s) %% 10 = 0', day * 1000000, day), 'VACUUM updated' FROM generate_series(1, 30) day \gexec
SELECT in_vain('updated', 'v') <= 12 AS few_pages, s.current_false_positive_rate < 8 * s.false_positive_rate AS as_asked FROM bf_index_stats('updated_v') s WHERE level = 0;
SELECT bf_index_check('updated_v') > 0 AS checked;
-- nothing is left to be done
CREATE FUNCTION wal_of(statement text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	before pg_lsn := pg_current_wal_insert_lsn();
BEGIN
	EXECUTE statement;
	RETURN pg_current_wal_insert_lsn() - before;
END $$;
DO $$ BEGIN
	FOR run IN 1 .. 12 LOOP
		PERFORM bf_summarize_new_values('updated_v');
	END LOOP;
END $$;
SELECT wal_of('SELECT bf_summarize_new_values(''updated_v'')') < 1000 AS nothing_written;

DROP SCHEMA sizes CASCADE;
