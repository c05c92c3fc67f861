-- skip_rescans: the later scans of a Skip in a nested loop: the values may be the same, or gone; and a cursor that is
-- read by another user than opened it

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_rescans;
SET search_path = skip_rescans, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET jit = off;
CREATE TABLE log (id int NOT NULL, n int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 3) i \gexec
INSERT INTO log SELECT i, i / 10 FROM generate_series(0, 3999) i;
CREATE INDEX ON log USING bf (n);
CREATE TABLE outer_rows AS SELECT i AS id, ARRAY(SELECT i * 100 + j FROM generate_series(1, 20) j) AS ns FROM generate_series(0, 5) i;
VACUUM ANALYZE;

-- Skip is switched off while a cursor has an array of an earlier scan
CREATE FUNCTION rows_left(cursor refcursor) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	moved bigint;
BEGIN
	MOVE ALL FROM cursor;
	GET DIAGNOSTICS moved = ROW_COUNT;
	RETURN moved;
END
$$;
BEGIN;
DECLARE rows CURSOR FOR SELECT o.id, l.id FROM outer_rows o, LATERAL (SELECT id FROM log WHERE n = ANY (o.ns) OFFSET 0) l;
MOVE 1 rows;
SET streambloom.enable_skip = off;
SELECT rows_left('rows');
SELECT count(*) - 1 AS rows_left FROM outer_rows o, LATERAL (SELECT id FROM log WHERE n = ANY (o.ns) OFFSET 0) l;
RESET streambloom.enable_skip;
COMMIT;

-- The index is asked once for each value, however many scans there are: an index that is not remembered counts them.
CREATE TABLE single AS SELECT * FROM log;
CREATE INDEX single_n ON single USING bf (n) WITH (pages_per_range = 1);
VACUUM ANALYZE single;
CREATE FUNCTION asked(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_numscans('single_n'::regclass);
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN format('%s, asked %s times', result, pg_stat_get_xact_numscans('single_n'::regclass) - before);
END
$$;
SET plan_cache_mode = force_generic_plan;
PREPARE rows_of(int[]) AS SELECT count(*) FROM outer_rows o, LATERAL (SELECT s.id FROM single s WHERE n = ANY ($1) AND s.id > o.id OFFSET 0) l;
BEGIN ISOLATION LEVEL SERIALIZABLE; -- nothing is remembered
SELECT asked('EXECUTE rows_of(''{7,8,9,10,11,12,13,14,15,16}'')');
SELECT asked('EXECUTE rows_of(''{-7}'')');
SELECT asked('SELECT count(*) FROM outer_rows o, LATERAL (SELECT id FROM single WHERE n = ANY (o.ns) OFFSET 0) l');
SELECT asked('SELECT count(*) FROM outer_rows o, LATERAL (SELECT id FROM single WHERE n = (SELECT min(id) FROM outer_rows) AND single.id > o.id OFFSET 0) l');
SELECT asked('SELECT sum(c) FROM (SELECT (SELECT count(*) FROM single WHERE n = o.id AND single.id < i) c FROM outer_rows o, generate_series(1, 2) i OFFSET 0) s');
SET streambloom.enable_skip = off;
SELECT asked('EXECUTE rows_of(''{7,8,9,10,11,12,13,14,15,16}'')');
SELECT asked('EXECUTE rows_of(''{-7}'')');
SELECT asked('SELECT count(*) FROM outer_rows o, LATERAL (SELECT id FROM single WHERE n = ANY (o.ns) OFFSET 0) l');
SELECT asked('SELECT count(*) FROM outer_rows o, LATERAL (SELECT id FROM single WHERE n = (SELECT min(id) FROM outer_rows) AND single.id > o.id OFFSET 0) l');
SELECT asked('SELECT sum(c) FROM (SELECT (SELECT count(*) FROM single WHERE n = o.id AND single.id < i) c FROM outer_rows o, generate_series(1, 2) i OFFSET 0) s');
COMMIT;
RESET streambloom.enable_skip;

-- a stable function may give another value in the next scan
CREATE TABLE settings AS SELECT * FROM (VALUES (1, '900000', '{3,5,900001,900002,900003,900004,900005,900006,900007}'), (2, '7', '{7,8,9,10,11,12,13,14,15,16}'),
	(3, '900000', '{-1}'), (4, '8', '{8,20,21,22,23,24,25,26,27,28,29}')) v(i, n, ns);
SET my.n = 0;
SET my.ns = '{}';
CREATE FUNCTION rows_by_settings() RETURNS TABLE (i int, skip text, rows bigint, rows_of_array bigint, rows_of_partitions bigint) LANGUAGE sql SET search_path FROM CURRENT AS $$
	SELECT o.i, current_setting('streambloom.enable_skip'), a.*, b.*, c.*
	FROM (SELECT s.i, set_config('my.n', s.n, true), set_config('my.ns', s.ns, true) FROM settings s ORDER BY s.i OFFSET 0) o,
		LATERAL (SELECT count(*) FROM single WHERE n = current_setting('my.n')::int AND id <> -o.i OFFSET 0) a,
		LATERAL (SELECT count(*) FROM single WHERE n = ANY (current_setting('my.ns')::int[]) AND id <> -o.i OFFSET 0) b,
		LATERAL (SELECT count(*) FROM log WHERE n = current_setting('my.n')::int AND id <> -o.i OFFSET 0) c
$$;
SELECT * FROM rows_by_settings();
SET streambloom.enable_skip = off;
SELECT * FROM rows_by_settings();
RESET streambloom.enable_skip;
SET streambloom.enable_partition_scan = always;
SELECT * FROM rows_by_settings();
SET my.n = 900000;
BEGIN;
DECLARE rows SCROLL CURSOR FOR SELECT n FROM single WHERE n = current_setting('my.n')::int;
MOVE ALL rows;
SET my.n = 7;
MOVE ABSOLUTE 0 rows;
SELECT rows_left('rows');
ROLLBACK;
SET streambloom.enable_partition_scan = off;

-- whoever may not call the function by which values are hashed has them compared
REVOKE ALL ON FUNCTION hashint4(int), int8(int) FROM PUBLIC;
SELECT format('regress_reader_%s', pg_backend_pid()) AS reader \gset
CREATE ROLE :reader;
GRANT USAGE ON SCHEMA skip_rescans TO :reader;
GRANT SELECT ON single, log TO :reader;
SET ROLE :reader;
PREPARE by_int4(int[]) AS SELECT count(*) FROM single WHERE n = ANY ($1);
PREPARE by_int8(int8[]) AS SELECT count(*) FROM single WHERE n = ANY ($1);
EXECUTE by_int4('{1,2,3,4,5,6,7,8,9,10}');
EXECUTE by_int8('{1,2,3,4,5,6,7,8,9,10}');
SET streambloom.enable_partition_scan = always;
PREPARE by_partitions(int8[]) AS SELECT count(*) FROM log WHERE n = ANY ($1);
EXECUTE by_partitions('{1,2,3,4,5,6,7,8,9,10}');
SET streambloom.enable_partition_scan = off;
RESET ROLE;
GRANT EXECUTE ON FUNCTION hashint4(int), int8(int) TO PUBLIC;

-- hash tables do not fill the memory: one array is hashed, and no second one that makes more than half a million
SELECT count(*) FILTER (WHERE line ~ 'by hash') AS by_hash, count(*) FILTER (WHERE line ~ 'Custom Scan') AS skips
FROM plan_lines('SELECT * FROM log WHERE n = ANY ((SELECT array_agg(i) FROM generate_series(1, 300000) i)::int[])', true) line;

-- functions are called with the rights of who opened the cursor, whoever reads it
CREATE FUNCTION is_even(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN i % 2 = 0; END';
CREATE FUNCTION numbers() RETURNS int[] LANGUAGE plpgsql STABLE AS 'BEGIN RETURN ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 350]; END';
REVOKE ALL ON FUNCTION is_even, numbers FROM PUBLIC;
CREATE FUNCTION open_rows(scan text) RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER SET search_path = skip_rescans, pg_temp AS $$
DECLARE
	opened refcursor := 'opened';
BEGIN
	PERFORM set_config('streambloom.enable_partition_scan', scan, false);
	OPEN opened NO SCROLL FOR SELECT id FROM log WHERE n = ANY (numbers()) AND is_even(id);
	RETURN opened;
END
$$;
SET ROLE :reader;
BEGIN;
SELECT open_rows('off');
FETCH 2 opened;
CLOSE opened;
SELECT open_rows('always');
FETCH 2 opened;
ROLLBACK;
RESET ROLE;
SET streambloom.enable_partition_scan = off;
BEGIN;
SET LOCAL ROLE :reader;
DECLARE opened CURSOR FOR SELECT id FROM log WHERE n = 7 AND is_even(id);
RESET ROLE;
SELECT error_of('FETCH opened');
ROLLBACK;

DROP SCHEMA skip_rescans CASCADE;
DROP ROLE :reader;
