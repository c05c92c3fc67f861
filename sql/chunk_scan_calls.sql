-- chunk_scan_calls: chunk_scan() wherever a function can stand, beside a function that reads the whole table; its conditions, parameters,
-- cursors; kept plans; and tables that change while it runs

CREATE SCHEMA chunk_scan_calls;
SET search_path = chunk_scan_calls, public;
SET client_min_messages = warning;

-- ten partitions of 1,000 rows; one has its columns in another order, one has a dropped column
CREATE TABLE log (id int NOT NULL, uid bigint, url text, at date) PARTITION BY RANGE (id);
DO $$BEGIN
	FOR i IN 0 .. 7 LOOP
		EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 1000, (i + 1) * 1000);
	END LOOP;
END$$;
CREATE TABLE log_8 (at date, url text, uid bigint, id int NOT NULL);
CREATE TABLE log_9 (id int NOT NULL, gone int, uid bigint, url text, at date);
ALTER TABLE log_9 DROP COLUMN gone;
ALTER TABLE log ATTACH PARTITION log_8 FOR VALUES FROM (8000) TO (9000);
ALTER TABLE log ATTACH PARTITION log_9 FOR VALUES FROM (9000) TO (10000);
INSERT INTO log SELECT i, i, '/' || i % 100, date '2024-01-01' + i / 100 FROM generate_series(0, 9999) i;
INSERT INTO log VALUES (5, NULL, NULL, NULL), (9500, 42, '/twice', '2025-01-01');
CREATE INDEX ON log USING bf (uid, url) WITH (pages_per_range = 4);
CREATE INDEX ON log_2 (at);
CREATE TYPE event_type AS (id int, kind text);

-- What chunk_scan() promises, by reading the whole table.
CREATE FUNCTION plain_scan(relation anyelement, col name, value bigint) RETURNS SETOF anyelement STABLE LANGUAGE plpgsql AS
	$$BEGIN RETURN QUERY EXECUTE format('SELECT * FROM %s WHERE %I = $1', pg_typeof(relation), col) USING value; END$$;
CREATE FUNCTION plain_scan(relation anyelement, col name, value text) RETURNS SETOF anyelement STABLE LANGUAGE plpgsql AS
	$$BEGIN RETURN QUERY EXECUTE format('SELECT * FROM %s WHERE %I::text = $1', pg_typeof(relation), col) USING value; END$$;
CREATE FUNCTION plain_scan_any(relation anyelement, col name, items bigint[]) RETURNS SETOF anyelement STABLE LANGUAGE plpgsql AS
	$$BEGIN RETURN QUERY EXECUTE format('SELECT * FROM %s WHERE %I = ANY ($1)', pg_typeof(relation), col) USING items; END$$;
-- How many rows, and whether they are the same.
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest CONSTANT text := format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(q::text, '';'' ORDER BY q::text)), '''') FROM (%s) q', query);
	mine text;
	plain text;
BEGIN
	EXECUTE digest INTO mine;
	EXECUTE replace(digest, 'chunk_scan', 'plain_scan') INTO plain;
	RETURN CASE WHEN mine = plain THEN 'same, ' || split_part(mine, ' ', 1) || ' rows' ELSE mine || ' but plain ' || plain END;
END
$$;

-- It is an ordinary function: conditions are tested above it, on rows that have the value only. id = 7 is in a partition that is read.
EXPLAIN (COSTS OFF) SELECT id FROM chunk_scan(NULL::log, 'url', '/8') WHERE 1 / (id - 7) = 0;
SELECT id FROM chunk_scan(NULL::log, 'url', '/8') WHERE 1 / (id - 7) = 0 ORDER BY id LIMIT 2;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 8008) WHERE substr(url, 2)::int + 1 / (id - 8009) > 0;
SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/8') WHERE at = '2024-01-25';

-- the same rows
SELECT query, compare(query) FROM unnest(ARRAY[
	$$SELECT * FROM chunk_scan(NULL::log, 'uid', 8005)$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'uid', 9005)$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'url', '/7')$$,
	$$SELECT * FROM chunk_scan_any(NULL::log, 'uid', ARRAY[42, 8005, NULL])$$,
	$$SELECT * FROM chunk_scan_any(NULL::log, 'uid', '{}'::int[])$$,
	$$SELECT * FROM chunk_scan(NULL::log_8, 'uid', 8005)$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'uid', NULL)$$,
	$$SELECT l FROM chunk_scan(NULL::log, 'url', '/9') l$$,
	$$SELECT (l).url, l.uid FROM chunk_scan(NULL::log, 'url', '/9') l WHERE l.id > 100 AND l IS NOT NULL$$,
	$$SELECT 1 FROM chunk_scan(NULL::log, 'url', '/9')$$,
	$$SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/9') WHERE at IN ('2024-01-01', '2024-03-01') OR id BETWEEN 100 AND 300$$,
	$$SELECT length(url), max(at) FROM chunk_scan(NULL::log, 'url', '/9') GROUP BY 1$$,
	$$SELECT l.* FROM generate_series(1, 300) i, chunk_scan(NULL::log, 'uid', i * 33) l WHERE l.id = i * 33$$,
	$$SELECT i, l.* FROM generate_series(1, 30) i LEFT JOIN chunk_scan(NULL::log, 'uid', i * 3333) l ON l.at > '2024-01-01' AND l.id <> i$$,
	$$SELECT i, l.* FROM generate_series(1, 30) i LEFT JOIN LATERAL (SELECT id FROM chunk_scan(NULL::log, 'url', '/' || i) WHERE id / 1000 = i LIMIT 2) l ON true$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'url', '/9') a JOIN chunk_scan(NULL::log, 'url', '/9') b USING (id)$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'url', '/9') a FULL JOIN chunk_scan(NULL::log, 'url', '/8') b ON a.at = b.at AND a.id > 5000$$,
	$$SELECT id, (SELECT count(*) FROM chunk_scan(NULL::log, 'uid', l.uid) x WHERE x.id >= l.id) FROM log l WHERE uid % 500 = 0$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'uid', (SELECT max(uid) FROM log)) WHERE id > (SELECT min(id) FROM log)$$,
	$$SELECT * FROM log WHERE id IN (SELECT id FROM chunk_scan(NULL::log, 'url', '/9'))$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'url', '/9') UNION ALL SELECT * FROM chunk_scan(NULL::log, 'uid', 5) ORDER BY id LIMIT 5$$,
	$$WITH RECURSIVE r(i) AS (SELECT 7::bigint UNION SELECT uid + 1000 FROM r, chunk_scan(NULL::log, 'uid', r.i) l) SELECT * FROM r$$,
	$$SELECT * FROM chunk_scan(NULL::log, 'uid', 5) WITH ORDINALITY$$,
	$$SELECT * FROM ROWS FROM (chunk_scan(NULL::log, 'url', '/9'), generate_series(1, 200))$$,
	$$SELECT chunk_scan(NULL::log, 'uid', 5)$$,
	$$SELECT (chunk_scan(NULL::log, 'url', '/9')).id LIMIT 5$$]) query;

-- rescans without a materialized result: with the same arguments and other ones
SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off;
SELECT compare($$SELECT i, l.* FROM generate_series(1, 50) i LEFT JOIN chunk_scan(NULL::log, 'url', '/9') l ON l.id = i * 100 + 9$$);
SELECT compare($$SELECT i, l.* FROM generate_series(1, 5) i, LATERAL (SELECT * FROM chunk_scan(NULL::log, 'url', '/9') l WHERE l.id % 5 = i LIMIT 3) l$$);
RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize;

-- parameters: generic plans, no type, NULL; a subquery in a condition is not run if no row needs it
PREPARE look(bigint, int) AS SELECT id FROM chunk_scan(NULL::log, 'uid', $1) WHERE id > $2;
PREPARE untyped AS SELECT id FROM chunk_scan(NULL::log, 'uid', $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE look(42, 0);
EXECUTE look(42, 100);
EXECUTE look(42, NULL);
EXECUTE look(NULL, 0);
EXECUTE untyped('77');
SELECT error_of('EXECUTE untyped(''x'')');
RESET plan_cache_mode;
SELECT id FROM chunk_scan(NULL::log, 'uid', 42) WHERE url < '' AND id > (SELECT 1 / (random() * 0)::int);
SELECT error_of($$SELECT id FROM chunk_scan(NULL::log, 'uid', 42) WHERE id > (SELECT 1 / (random() * 0)::int)$$);
SELECT id FROM chunk_scan(NULL::log, 'uid', 123456789) WHERE id > (SELECT 1 / (random() * 0)::int);
CREATE FUNCTION loops(wanted bigint, above int, OUT ids text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id FROM chunk_scan(NULL::log, 'uid', wanted) WHERE id > above LOOP
		BEGIN
			ids := concat_ws(' ', ids, r.id);
			PERFORM 1 / (r.id - 42);
		EXCEPTION WHEN division_by_zero THEN
			ids := ids || '!';
		END;
	END LOOP;
END
$$;
SELECT loops(42, 0), loops(42, 42), loops(42, 10000);

-- cursors: backwards, held, used in a subtransaction that is rolled back. At the first row all partitions have been read
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM chunk_scan(NULL::log, 'url', '/7');
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH LAST FROM c;
FETCH ABSOLUTE 12 FROM c;
DECLARE d NO SCROLL CURSOR FOR SELECT id FROM chunk_scan(NULL::log, 'url', '/7');
FETCH 1 FROM d;
SAVEPOINT s;
FETCH 11 FROM d;
ROLLBACK TO s;
FETCH 1 FROM d;
TRUNCATE log_5;
FETCH 100 FROM d;
ROLLBACK;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM chunk_scan(NULL::log, 'url', '/7');
FETCH 1 FROM h;
COMMIT;
DELETE FROM log WHERE id = 107;
FETCH 2 FROM h;
CLOSE h;
INSERT INTO log VALUES (107, 107, '/7', '2024-01-02');

-- it does not see what the query itself does
WITH new AS (INSERT INTO log SELECT id, uid, url, '2026-01-01' FROM chunk_scan(NULL::log, 'url', '/7') RETURNING id)
SELECT (SELECT count(*) FROM new), count(*) FROM chunk_scan(NULL::log, 'url', '/7');
INSERT INTO log SELECT id, uid, url, '2026-01-01' FROM chunk_scan(NULL::log, 'url', '/7');
UPDATE log SET uid = l.uid + 0 FROM chunk_scan(NULL::log, 'url', '/7') l WHERE log.id = l.id AND log.url = l.url AND l.at = log.at AND l.id = 9907;
DELETE FROM log WHERE at = '2026-01-01';
SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/7');

-- nor, where a function is run row by row, what is done between two rows
CREATE FUNCTION row_by_row() RETURNS SETOF int LANGUAGE sql AS $$SELECT id FROM chunk_scan(NULL::log, 'url', '/7')$$;
CREATE FUNCTION stable_row_by_row() RETURNS SETOF int STABLE LANGUAGE sql AS $$SELECT id FROM chunk_scan(NULL::log, 'url', '/7')$$;
CREATE FUNCTION adds() RETURNS bigint LANGUAGE sql AS $$INSERT INTO log VALUES (9998, 9998, '/7'); SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/7')$$;
BEGIN;
SELECT count(*), max(seen) FROM (SELECT row_by_row(), adds() AS seen OFFSET 0) s;
SELECT count(*), max(seen) FROM (SELECT stable_row_by_row(), adds() AS seen OFFSET 0) s;
ROLLBACK;

-- errors in the middle leave nothing open
SELECT error_of($$SELECT count(1 / (id - 5007)) FROM chunk_scan(NULL::log, 'url', '/7')$$);
SELECT error_of($$SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/7') WHERE 1 / (id - 5007) = 0$$);

-- values of types that cannot be compared with the column's
CREATE TABLE shapes (r int4range, a int[], e bit(2), c event_type, n numeric);
INSERT INTO shapes SELECT int4range(0, i % 3 + 1), ARRAY[i % 3], B'01', ROW(i % 3, 'x')::event_type, i % 3 FROM generate_series(1, 100) i;
SELECT arguments, sqlstate_of('SELECT * FROM chunk_scan(NULL::shapes, ' || arguments || ')')
FROM unnest(ARRAY[$$'r', '[0,2)'::int4range$$, $$'r', '[0,2)'::numrange$$, $$'r', '[0,2)'$$, $$'a', ARRAY[1]$$, $$'a', ARRAY['1']$$, $$'a', 1$$,
	$$'c', ROW(1, 'x')::event_type$$, $$'c', ROW(1, 2)$$, $$'e', B'01'$$, $$'e', 1$$, $$'n', 1$$, $$'n', 1::float8$$, $$'n', now()$$]) arguments;

-- whose rights count
CREATE ROLE regress_call_reader;
GRANT USAGE ON SCHEMA chunk_scan_calls TO regress_call_reader;
SET ROLE regress_call_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 7)$$);
RESET ROLE;
GRANT SELECT (id, uid, url) ON log TO regress_call_reader;
SET ROLE regress_call_reader;
SELECT error_of($$SELECT id FROM chunk_scan(NULL::log, 'uid', 7)$$);
RESET ROLE;
GRANT SELECT (at) ON log TO regress_call_reader;
SET ROLE regress_call_reader;
SELECT id FROM chunk_scan(NULL::log, 'uid', 7) WHERE at = '2024-01-01';
RESET ROLE;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
SET ROLE regress_call_reader;
SELECT error_of($$SELECT id FROM chunk_scan(NULL::log, 'uid', 7)$$);
RESET ROLE;
ALTER TABLE log DISABLE ROW LEVEL SECURITY;
BEGIN;
REVOKE EXECUTE ON FUNCTION chunk_scan(anycompatible, name, "any", regclass, name, text) FROM PUBLIC;
SET ROLE regress_call_reader;
SELECT error_of($$SELECT id FROM chunk_scan(NULL::log, 'uid', 7)$$);
ROLLBACK;

-- plans that are kept while the table changes
SET plan_cache_mode = force_generic_plan;
PREPARE kept(bigint) AS SELECT * FROM chunk_scan(NULL::log, 'uid', $1);
PREPARE kept_some(bigint) AS SELECT id, url FROM chunk_scan(NULL::log, 'uid', $1);
PREPARE kept_row(bigint) AS SELECT l FROM chunk_scan(NULL::log, 'uid', $1) l;
EXECUTE kept(1234);
EXECUTE kept_some(1234);
EXECUTE kept_row(1234);
CREATE TABLE log_10 PARTITION OF log FOR VALUES FROM (10000) TO (11000);
INSERT INTO log VALUES (10000, 1234);
DROP TABLE log_4;
EXECUTE kept(1234);
ALTER TABLE log ADD more int DEFAULT 3;
EXECUTE kept(1234);
EXECUTE kept_row(1234);
ALTER TABLE log DROP at;
EXECUTE kept_some(1234);
EXECUTE kept_row(1234);
EXECUTE kept(1234);
ALTER TABLE log ALTER url TYPE varchar(10);
EXECUTE kept_some(1234);
ALTER TABLE log RENAME uid TO other;
EXECUTE kept_row(1234);
CREATE TABLE dropped (a int);
PREPARE of_dropped AS SELECT * FROM chunk_scan(NULL::dropped, 'a', 1);
EXECUTE of_dropped;
DROP TABLE dropped;
SELECT regexp_replace(error_of('EXECUTE of_dropped'), 'OID \d+', 'OID ...');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- no partitions; a table with children; a materialized view
CREATE TABLE nothing (a int) PARTITION BY LIST (a);
CREATE TABLE event (id int, kind text);
CREATE TABLE event_a (at date) INHERITS (event);
CREATE TABLE event_b (more int, kind text, id int);
ALTER TABLE event_b INHERIT event;
INSERT INTO event SELECT i, 'parent' FROM generate_series(1, 100) i;
INSERT INTO event_a SELECT i, 'a' FROM generate_series(51, 150) i;
INSERT INTO event_b SELECT -i, 'b', i FROM generate_series(76, 175) i;
CREATE INDEX ON event_a USING bf (id);
SELECT * FROM chunk_scan(NULL::event, 'id', 80);
-- A cursor locks and reads the tables when its first row is fetched, with the snapshot of its declaration. What was changed
-- in between is noticed, or does no harm.
INSERT INTO event SELECT 300, 'parent' FROM generate_series(1, 100);
INSERT INTO event_b SELECT i, 'b', 300 FROM generate_series(1, 20) i;
CREATE FUNCTION rows_after(command text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	n int := 0;
BEGIN
	OPEN c FOR EXECUTE query;
	EXECUTE command;
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
	END LOOP;
	RAISE '% rows', n USING ERRCODE = 'ZZ000';	-- undoes the command
EXCEPTION WHEN OTHERS THEN
	RETURN format('%s %s', nullif(SQLSTATE, 'ZZ000'), SQLERRM);
END
$$;
SELECT command, rows_after(command, 'SELECT * FROM chunk_scan(NULL::event, ''id'', 300)')
FROM unnest(ARRAY['TRUNCATE event_b', 'DROP TABLE event_b', 'DELETE FROM event_b']) command;
CREATE MATERIALIZED VIEW m AS SELECT * FROM event;
SELECT compare($$SELECT kind FROM chunk_scan(NULL::m, 'id', 80)$$);
-- a virtual column has the parent's expression in conditions too (before PostgreSQL 18: a plain column)
SELECT current_setting('server_version_num')::int >= 180000 AS has_virtual \gset
SELECT CASE WHEN :'has_virtual' THEN 'GENERATED ALWAYS AS (n * 2) VIRTUAL' ELSE '' END AS twice,
	CASE WHEN :'has_virtual' THEN 'GENERATED ALWAYS AS (n * 3) VIRTUAL' ELSE '' END AS thrice,
	CASE WHEN :'has_virtual' THEN 'DEFAULT' ELSE 'n * 2' END AS value \gset
CREATE TABLE doubles (n int, d int :twice) PARTITION BY RANGE (n);
CREATE TABLE doubles_1 (d int :thrice, n int);
ALTER TABLE doubles ATTACH PARTITION doubles_1 FOR VALUES FROM (0) TO (100);
INSERT INTO doubles (n) SELECT i FROM generate_series(0, 99) i;
UPDATE doubles SET d = :value;
SELECT x, d FROM chunk_scan(NULL::doubles, 'n', 60) x WHERE d = 120;
SELECT count(*) FROM chunk_scan(NULL::doubles, 'd', 120) x WHERE n = 60;

-- A column may become NOT NULL that is NULL in rows which the query sees.
CREATE TABLE late (id int, k int, a int) PARTITION BY LIST (k);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1);
CREATE TABLE late_2 PARTITION OF late FOR VALUES IN (2);
INSERT INTO late SELECT CASE WHEN i > 60 THEN 5 END, 1, 7 FROM generate_series(1, 120) i;
INSERT INTO late SELECT NULL, 2, 7 FROM generate_series(1, 3);
CREATE INDEX ON late USING bf (a);
CREATE FUNCTION late_rows(condition text) RETURNS text LANGUAGE sql AS
	$$ SELECT rows_after('UPDATE late_2 SET id = 0 WHERE id IS NULL; ALTER TABLE late_2 ALTER id SET NOT NULL', 'SELECT * FROM chunk_scan(NULL::late, ''a'', 7) ' || condition) $$;
SELECT condition, late_rows(condition) FROM unnest(ARRAY['', 'WHERE id IS NULL', 'WHERE id IS NOT NULL', 'WHERE coalesce(id, 5) = 5']) condition;
-- Nor does a CHECK that is true by now.
SET constraint_exclusion = on;
SELECT rows_after('UPDATE late_2 SET a = 0 WHERE a = 7; ALTER TABLE late_2 ADD CHECK (a <> 7)', 'SELECT * FROM chunk_scan(NULL::late, ''a'', 7)');
RESET constraint_exclusion;
-- the same with rows taken apart by machine code
SET jit = on;
SET jit_above_cost = 0;
SELECT condition, late_rows(condition) FROM unnest(ARRAY['', 'WHERE id IS NULL', 'WHERE id IS NOT NULL', 'WHERE coalesce(id, 5) = 5']) condition;
RESET jit_above_cost;
SET jit = off;

DROP SCHEMA chunk_scan_calls CASCADE;
DROP ROLE regress_call_reader;
