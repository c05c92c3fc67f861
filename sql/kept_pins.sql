-- From its second row on, an INSERT, UPDATE or MERGE keeps the meta page of a bf index pinned. The pin must be gone when
-- the statement has ended, whichever way it ended.
SET client_min_messages = warning;
CREATE EXTENSION pg_buffercache;

-- The sessions that have the meta page of the index pinned. The checkpointer may have it pinned for a moment.
CREATE FUNCTION pins_now(index regclass) RETURNS bigint LANGUAGE sql VOLATILE AS $$
SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache
WHERE relfilenode = pg_relation_filenode(index) AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND relforknumber = 0 AND relblocknumber = 0
$$;
CREATE FUNCTION pins(index regclass) RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT least(pins_now(index), pins_now(index), pins_now(index)) $$;
CREATE TABLE t (i int, pinned bigint);
CREATE INDEX t_i ON t USING bf (i);
CREATE FUNCTION fails_at(i int, wrong int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = wrong THEN RAISE 'row %', i; END IF;
	RETURN i;
END
$$;

-- kept from the second row on
INSERT INTO t SELECT i, pins('t_i') FROM generate_series(1, 4) i;
SELECT * FROM t ORDER BY i;
SELECT pins('t_i');

-- errors: of a statement, of a subtransaction, of one inside another, and a subtransaction that is released
INSERT INTO t SELECT fails_at(i, 5) FROM generate_series(1, 6) i;
SELECT pins('t_i');
BEGIN;
SAVEPOINT a;
INSERT INTO t SELECT fails_at(i, 5) FROM generate_series(1, 6) i;
ROLLBACK TO a;
SELECT pins('t_i');
SAVEPOINT b;
INSERT INTO t SELECT i, pins('t_i') FROM generate_series(1, 4) i;
RELEASE b;
SELECT pins('t_i');
TRUNCATE t;
COMMIT;
SELECT pins('t_i');

-- a subtransaction that fails inside a statement leaves the pin of the statement
CREATE FUNCTION survives(i int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT fails_at(j, 3) FROM generate_series(1, 4) j;
	RETURN NULL;
EXCEPTION WHEN raise_exception THEN
	RETURN pins('t_i');
END
$$;
INSERT INTO t SELECT i, survives(i) FROM generate_series(1, 4) i;
SELECT i, pinned FROM t ORDER BY i;
SELECT pins('t_i');

-- a table that is truncated in the transaction that made it: after a subtransaction of a statement has failed, and
-- after a statement
DO $$
BEGIN
	CREATE TABLE made_here (i int, pinned bigint);
	CREATE INDEX made_here_i ON made_here USING bf (i);
	BEGIN
		INSERT INTO made_here SELECT fails_at(j, 3) FROM generate_series(1, 4) j;
	EXCEPTION WHEN raise_exception THEN
		TRUNCATE made_here;
	END;
	INSERT INTO made_here SELECT j, pins('made_here_i') FROM generate_series(1, 3) j;
	TRUNCATE made_here;
	INSERT INTO made_here SELECT j, pins('made_here_i') FROM generate_series(1, 3) j;
	EXECUTE 'REINDEX TABLE made_here';
END
$$;
SELECT * FROM made_here ORDER BY i;
SELECT pins('made_here_i');

-- A table whose files are deleted because the (sub)transaction that made it fails, before the memory of the statement is
-- freed that has failed. A function in a query has its memory in that of the transaction.
CREATE FUNCTION makes_and_fails(temporary text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE %s TABLE never (i int)', temporary);
	CREATE INDEX ON never USING bf (i);
	INSERT INTO never SELECT fails_at(j, 3) FROM generate_series(1, 4) j;
END
$$;
CREATE FUNCTION makes_and_goes_on(temporary text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM makes_and_fails(temporary);
EXCEPTION WHEN raise_exception THEN
	RETURN 'goes on';
END
$$;
SELECT makes_and_fails('');
SELECT makes_and_fails('TEMP');
SELECT makes_and_goes_on(''), makes_and_goes_on('TEMP');
DO $$ BEGIN PERFORM makes_and_goes_on(''); PERFORM makes_and_goes_on('TEMP'); END $$;
BEGIN;
SAVEPOINT a;
SELECT makes_and_fails('');
ROLLBACK TO a;
SELECT makes_and_fails('TEMP');
ROLLBACK TO a;
COMMIT;

-- UPDATE and MERGE
CREATE TABLE changed (i int, pinned bigint) WITH (fillfactor = 10);
CREATE INDEX changed_i ON changed USING bf (i);
INSERT INTO changed SELECT i FROM generate_series(1, 4) i;
UPDATE changed SET i = i + 10, pinned = pins('changed_i');
SELECT * FROM changed ORDER BY i;
MERGE INTO changed USING generate_series(13, 16) s (i) ON changed.i = s.i
	WHEN MATCHED THEN UPDATE SET i = 100 + s.i, pinned = pins('changed_i') WHEN NOT MATCHED THEN INSERT VALUES (s.i, pins('changed_i'));
SELECT * FROM changed ORDER BY i;
SELECT pins('changed_i');

-- COPY and CREATE INDEX CONCURRENTLY, whose memory is not an executor's, and tables that are emptied ON COMMIT
BEGIN;
CREATE TABLE copied (i int);
CREATE INDEX copied_i ON copied USING bf (i);
COPY copied FROM PROGRAM 'printf "1\n2\n3\n"';
SELECT pins('copied_i');
TRUNCATE copied;
COPY copied FROM PROGRAM 'printf "1\n2\n3\n"';
COMMIT;
CREATE INDEX CONCURRENTLY copied_again ON copied USING bf (i);
REINDEX INDEX CONCURRENTLY copied_i;
CREATE TEMP TABLE emptied (i int) ON COMMIT DELETE ROWS;
CREATE INDEX ON emptied USING bf (i);
BEGIN;
INSERT INTO emptied SELECT generate_series(1, 10);
COMMIT;
SELECT count(*) FROM emptied;

-- A session keeps at most four pins, however many partitions a statement writes.
CREATE PROCEDURE make_partitions(parent name, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('CREATE TABLE %1$s_%2$s PARTITION OF %1$s FOR VALUES IN (%2$s)', parent, i);
	END LOOP;
END
$$;
CREATE TABLE parts (i int, pinned bigint) PARTITION BY LIST (i);
CALL make_partitions('parts', 1, 12);
CREATE INDEX parts_i ON parts USING bf (i);
CREATE FUNCTION all_pins() RETURNS bigint LANGUAGE sql VOLATILE AS $$
SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache
	JOIN pg_class c ON pg_buffercache.relfilenode = pg_relation_filenode(c.oid) AND c.relname LIKE 'parts_%_i_idx'
WHERE reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relforknumber = 0 AND relblocknumber = 0
$$;
INSERT INTO parts SELECT 1 + i % 12, CASE WHEN i >= 36 THEN all_pins() END FROM generate_series(0, 47) i;
SELECT max(pinned), all_pins() FROM parts;
-- one statement in another, into the same table
CREATE TABLE outer_rows (i int, pinned bigint);
CREATE INDEX outer_rows_i ON outer_rows USING bf (i);
CREATE FUNCTION also_into(i int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO outer_rows SELECT -j FROM generate_series(1, 3) j;
	RETURN pins('outer_rows_i');
END
$$;
INSERT INTO outer_rows SELECT i, also_into(i) FROM generate_series(1, 3) i;
SELECT i, pinned FROM outer_rows WHERE i > 0 ORDER BY i;
SELECT pins('outer_rows_i');

DROP TABLE t, made_here, changed, copied, emptied, parts, outer_rows;
DROP FUNCTION pins, pins_now, fails_at, survives, makes_and_fails, makes_and_goes_on, all_pins, also_into;
DROP EXTENSION pg_buffercache;

-- A trigger gives the index another file while the page of the old one is pinned. (Before, all pages are written: an assertion of PostgreSQL does not
-- expect that the session itself has a page pinned that it writes for this.)
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_kept_pins LOCATION '';
CREATE ROLE regress_kept_pins;
CREATE TABLE moved (i int);
ALTER TABLE moved OWNER TO regress_kept_pins;
CREATE INDEX moved_i ON moved USING bf (i) WITH (pages_per_range = 1);
CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.i = 300 THEN
		CHECKPOINT;
		ALTER INDEX ALL IN TABLESPACE pg_default OWNED BY regress_kept_pins SET TABLESPACE regress_kept_pins;
		PERFORM bf_summarize_new_values('moved_i');
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER moves BEFORE INSERT ON moved FOR EACH ROW EXECUTE FUNCTION moves();
INSERT INTO moved SELECT i FROM generate_series(1, 1000) i;
SET enable_seqscan = off;
SELECT count(*) FROM generate_series(1, 1000) n, LATERAL (SELECT FROM moved WHERE i = n OFFSET 0) found;
EXPLAIN (COSTS OFF) SELECT FROM moved WHERE i = 7;
SELECT bf_index_check('moved_i') > 0 AS checked;
RESET enable_seqscan;
DROP TABLE moved;
DROP FUNCTION moves;
DROP TABLESPACE regress_kept_pins;
DROP ROLE regress_kept_pins;

-- a session with few buffers for temporary tables, and more such partitions than buffers
\c
SET temp_buffers = '800kB';
CREATE TEMP TABLE temporary (i int) PARTITION BY LIST (i);
SET search_path = pg_temp, public;
CALL make_partitions('temporary', 0, 119);
CREATE INDEX ON temporary USING bf (i);
INSERT INTO temporary SELECT i % 120 FROM generate_series(1, 1000) i;
SELECT count(*) FROM temporary;
DROP TABLE temporary;
DROP PROCEDURE make_partitions;
