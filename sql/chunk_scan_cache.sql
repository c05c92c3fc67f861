-- chunk_scan_cache: a session remembers how the indexes of partitions are asked. Whatever happens to an index or a
-- partition after it said no, chunk_scan() returns the rows that a plain query returns.

CREATE SCHEMA chunk_scan_cache;
SET search_path = chunk_scan_cache, public;
SET client_min_messages = warning;
SET streambloom.enable_skip = off;

-- five partitions; one has its columns in another order. Value 7 stands in the first, 1007 in the second, and so on.
CREATE TABLE p (k int, id int, a int, t text) PARTITION BY LIST (k);
SELECT format('CREATE TABLE p_%s PARTITION OF p FOR VALUES IN (%s)', i, i) FROM generate_series(1, 4) i \gexec
CREATE TABLE p_5 (t text, gone int, a int, id int, k int);
ALTER TABLE p_5 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p_5 FOR VALUES IN (5);
INSERT INTO p SELECT k, i, 1000 * (k - 1) + i, 'row ' || 1000 * (k - 1) + i FROM generate_series(1, 5) k, generate_series(0, 999) i;
CREATE INDEX p_a ON p USING bf (a);
CREATE INDEX p_t ON p USING bf (t);
VACUUM p;

-- The rows that have the value. They are asked for twice by chunk_scan(), and once by a plain query.
CREATE FUNCTION ask(value int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine text;
	plain text;
BEGIN
	FOR i IN 1 .. 2 LOOP
		EXECUTE format('SELECT string_agg(l::text, '' '' ORDER BY l::text) FROM chunk_scan(NULL::p, ''a'', %s) l', value) INTO mine;
		EXECUTE format('SELECT string_agg(l::text, '' '' ORDER BY l::text) FROM p l WHERE a + 0 = %s', value) INTO plain;
		IF mine IS DISTINCT FROM plain THEN
			RETURN format('WRONG: %s, but plain %s', mine, plain);
		END IF;
	END LOOP;
	RETURN coalesce(plain, 'nothing');
END
$$;
-- How many partitions are skipped?
CREATE FUNCTION skipped(value int) RETURNS bigint LANGUAGE sql AS
	$$ SELECT count(*) FILTER (WHERE NOT is_read) FROM chunk_scan_explain(NULL::p, 'a', value) $$;

-- what is remembered serves other values
SELECT v, ask(v), skipped(v) FROM unnest('{9999, 7, 2007, 4007, -1, 9999}'::int[]) v;

-- rows inside the ranges, behind them, in a new partition and in one that was empty
INSERT INTO p VALUES (1, 1, 9001, 'inside');
SELECT ask(9001);
INSERT INTO p SELECT 2, i, 20000 + i, 'behind' FROM generate_series(1, 5000) i;
SELECT ask(20001), ask(25000), ask(9002);
CREATE TABLE p_6 PARTITION OF p FOR VALUES IN (6);
SELECT ask(9003), ask(9003);
INSERT INTO p VALUES (6, 1, 9003, 'first');
SELECT ask(9003), ask(9004);
VACUUM p;
SELECT ask(20001), ask(25000), ask(9002), ask(9003), ask(9004), skipped(25000), skipped(9002), skipped(9003);
UPDATE p SET a = 9004 WHERE k = 3 AND id = 1;
UPDATE p SET k = 4 WHERE a = 9004;
SELECT ask(9004), ask(2001);
DELETE FROM p WHERE a = 9004;
VACUUM p_3, p_4;
SELECT ask(9004);
SELECT bf_desummarize_range('p_1_a_idx', 0);
INSERT INTO p VALUES (1, 2, 9005, 'in a range without a summary');
SELECT ask(9005), ask(9006);
SELECT bf_summarize_range('p_1_a_idx', 0);
SELECT ask(9005), ask(9006);

-- The statement stands between two questions: first nothing has the value, then one row has it that was written afterwards.
CREATE FUNCTION around(statement text, value int, k int DEFAULT 3) RETURNS TABLE (before text, after text, with_row text) LANGUAGE plpgsql AS $$
DECLARE
	part text;
BEGIN
	before := ask(value);
	FOREACH part IN ARRAY string_to_array(statement, ';') LOOP
		EXECUTE part;
	END LOOP;
	after := ask(value);
	INSERT INTO p VALUES (k, 0, value, 'new');
	with_row := ask(value);
	RETURN NEXT;
END
$$;
SELECT * FROM around('TRUNCATE p_3', 10001);
SELECT * FROM around($$TRUNCATE p_3; INSERT INTO p SELECT 3, i, 30000 + i FROM generate_series(1, 5000) i; INSERT INTO p VALUES (3, 1, 10002, 'n')$$, 10002);
SELECT * FROM around('REINDEX INDEX p_3_a_idx; INSERT INTO p VALUES (3, 1, 10003)', 10003);
SELECT * FROM around('DROP INDEX p_a; INSERT INTO p VALUES (3, 1, 10004)', 10004);
SELECT * FROM around('CREATE INDEX p_a ON p USING bf (a); INSERT INTO p VALUES (3, 1, 10005)', 10005);
SELECT * FROM around('ALTER TABLE p ALTER COLUMN id TYPE bigint; INSERT INTO p VALUES (3, 1, 10006)', 10006);
SELECT * FROM around('ALTER INDEX p_3_a_idx SET (pages_per_range = 1); REINDEX INDEX p_3_a_idx; INSERT INTO p VALUES (3, 1, 10007)', 10007);
SELECT * FROM around('ALTER TABLE p DETACH PARTITION p_3; ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3)', 10008);
SELECT * FROM around('ALTER TABLE p DETACH PARTITION p_3; TRUNCATE p_3; INSERT INTO p_3 VALUES (3, 1, 10009); ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3)', 10009);
SELECT * FROM around('ALTER TABLE p_3 SET UNLOGGED; INSERT INTO p VALUES (3, 1, 10010)', 10010);
SELECT * FROM around('ALTER TABLE p_3 SET LOGGED; INSERT INTO p VALUES (3, 1, 10011)', 10011);
SELECT * FROM around('ALTER TABLE p RENAME a TO b; ALTER TABLE p RENAME t TO a; ALTER TABLE p RENAME a TO t; ALTER TABLE p RENAME b TO a', 10013);
SELECT * FROM around('DROP TABLE p_3; CREATE TABLE p_3 PARTITION OF p FOR VALUES IN (3); INSERT INTO p VALUES (3, 1, 10014)', 10014);
SELECT * FROM around('ALTER TABLE p RENAME TO q; ALTER TABLE q RENAME TO p', 10015);
SELECT * FROM around('CREATE INDEX second ON p_3 USING bf (a); DROP INDEX second', 10016);

-- the column's name goes over to another column
BEGIN;
SELECT ask(10020);
ALTER TABLE p ADD COLUMN other int;
UPDATE p SET other = 10020 WHERE k = 1 AND id = 7;
ALTER TABLE p RENAME a TO former;
ALTER TABLE p RENAME other TO a;
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 10020);
SELECT count(*) FROM chunk_scan(NULL::p, 'former', 10020);
ROLLBACK;
SELECT ask(10020);

-- commands that cannot run in a function
SELECT ask(10030);
REINDEX INDEX CONCURRENTLY p_3_a_idx;
INSERT INTO p VALUES (3, 1, 10030);
SELECT ask(10030), ask(10031);
DROP INDEX p_a;
SELECT format('CREATE INDEX CONCURRENTLY p_%s_a ON p_%s USING bf (a)', i, i) FROM generate_series(1, 6) i \gexec
SELECT ask(10030), ask(10031);
DROP INDEX CONCURRENTLY p_3_a;
INSERT INTO p VALUES (3, 1, 10031);
SELECT ask(10030), ask(10031), ask(10032);
CREATE INDEX p_3_a ON p_3 USING bf (a);
SELECT ask(10030), ask(10031), ask(10032);
VACUUM FULL p_3;
INSERT INTO p VALUES (3, 1, 10032);
SELECT ask(10032), ask(10033);
ALTER TABLE p DETACH PARTITION p_3 CONCURRENTLY;
INSERT INTO p_3 VALUES (3, 1, 10033);
SELECT ask(10032), ask(10033);
ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3);
SELECT ask(10032), ask(10033), ask(10034);

-- rolled back, as a whole or from a savepoint on
CREATE FUNCTION undone(statement text, value int) RETURNS TABLE (before text, inside text, after text, with_row text) LANGUAGE plpgsql AS $$
DECLARE
	part text;
BEGIN
	before := ask(value);
	BEGIN
		FOREACH part IN ARRAY string_to_array(statement, ';') LOOP
			EXECUTE part;
		END LOOP;
		inside := ask(value);
		RAISE EXCEPTION 'back';
	EXCEPTION WHEN raise_exception THEN
		after := ask(value);
	END;
	INSERT INTO p VALUES (3, 0, value, 'new');
	with_row := ask(value);
	RETURN NEXT;
END
$$;
SELECT s.* FROM unnest(ARRAY[
	'INSERT INTO p VALUES (3, 9, %s)',
	'TRUNCATE p_3; INSERT INTO p VALUES (3, 9, %s)',
	'TRUNCATE p_3',
	'REINDEX INDEX p_3_a; INSERT INTO p VALUES (3, 9, %s)',
	'DROP INDEX p_3_a; INSERT INTO p VALUES (3, 9, %s)',
	'DROP INDEX p_3_a; CREATE INDEX p_3_a ON p_3 USING bf (a)',
	'DROP TABLE p_3; CREATE TABLE p_3 PARTITION OF p FOR VALUES IN (3); CREATE INDEX p_3_a ON p_3 USING bf (a)',
	'CREATE TABLE p_7 PARTITION OF p FOR VALUES IN (7); CREATE INDEX ON p_7 USING bf (a); INSERT INTO p VALUES (7, 9, %s)',
	'ALTER TABLE p ALTER COLUMN id TYPE numeric; INSERT INTO p VALUES (3, 9, %s)',
	'ALTER TABLE p DETACH PARTITION p_3; TRUNCATE p_3; ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3); INSERT INTO p VALUES (3, 9, %s)',
	'ALTER TABLE p RENAME id TO b; INSERT INTO p VALUES (1, 9, %s)',
	'CREATE INDEX second ON p_3 USING bf (a)'
]) WITH ORDINALITY AS x (statement, number), undone(replace(statement, '%s', (11000 + number)::text), (11000 + number)::int) s;

BEGIN;
SELECT ask(12001), skipped(12001);
SAVEPOINT one;
TRUNCATE p_3;
INSERT INTO p VALUES (3, 1, 12002);
SELECT ask(12001), ask(12002);
SAVEPOINT two;
TRUNCATE p_3;
INSERT INTO p VALUES (3, 1, 12001);
SELECT ask(12001), ask(12002);
ROLLBACK TO two;
SELECT ask(12001), ask(12002);
ROLLBACK TO one;
SELECT ask(12001), ask(12002);
INSERT INTO p VALUES (3, 1, 12001);
SELECT ask(12001), ask(12002);
ROLLBACK;
SELECT ask(12001), ask(12002);

-- a partition that is emptied in place, because the transaction has made it
BEGIN;
CREATE TABLE p_7 PARTITION OF p FOR VALUES IN (7);
CREATE INDEX ON p_7 USING bf (a);
INSERT INTO p SELECT 7, i, 70000 + i FROM generate_series(1, 2000) i;
SELECT bf_summarize_new_values('p_7_a_idx') > 0;
SELECT ask(70001), ask(12003);
TRUNCATE p_7;
INSERT INTO p SELECT 7, i, 12000 + i FROM generate_series(1, 2000) i;
SELECT ask(70001), ask(12003);
SELECT bf_summarize_new_values('p_7_a_idx') > 0;
SELECT ask(70001), ask(12003);
ROLLBACK;
SELECT ask(70001), ask(12003);

-- the predicate of a partial index follows from one value and not from another
CREATE TABLE partial (k int, a int) PARTITION BY LIST (k);
CREATE TABLE partial_1 PARTITION OF partial FOR VALUES IN (1);
CREATE TABLE partial_2 PARTITION OF partial FOR VALUES IN (2);
INSERT INTO partial SELECT k, i FROM generate_series(1, 2) k, generate_series(1, 1000) i;
CREATE INDEX ON partial_1 USING bf (a);
CREATE INDEX ON partial_2 USING bf (a) WHERE a > 100;
VACUUM partial;
SELECT count(*) FROM chunk_scan(NULL::partial, 'a', 5000);
SELECT count(*) FROM chunk_scan(NULL::partial, 'a', 5000);
SELECT k FROM chunk_scan(NULL::partial, 'a', 50) ORDER BY 1;
SELECT k, a FROM chunk_scan_any(NULL::partial, 'a', '{5000, 6000}') ORDER BY 1;
SELECT k, a FROM chunk_scan_any(NULL::partial, 'a', '{5000, 50}') ORDER BY 1;
DROP INDEX partial_2_a_idx;
CREATE INDEX ON partial_2 USING bf (a) WHERE a IS NOT NULL;
SELECT count(*) FROM chunk_scan(NULL::partial, 'a', 5000);
SELECT k FROM chunk_scan(NULL::partial, 'a', 50) ORDER BY 1;

-- values of other types, arrays, and NULL, after each other
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 12004);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 7::int2);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 7::int8);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 12004::int8);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 1007::int8);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', '7');
SELECT count(*) FROM chunk_scan(NULL::p, 'a', NULL);
SELECT count(*) FROM chunk_scan(NULL::p, 't', 'row 9999');
SELECT count(*) FROM chunk_scan(NULL::p, 't', 'row 7');
SELECT count(*) FROM chunk_scan(NULL::p, 't', 'row 1007'::varchar);
SELECT count(*) FROM chunk_scan(NULL::p, 't', 'row 1007' COLLATE "C");
SELECT count(*) FROM chunk_scan_any(NULL::p, 'a', '{12004, 12005}');
SELECT count(*) FROM chunk_scan_any(NULL::p, 'a', '{7, 1007, NULL}');
SELECT count(*) FROM chunk_scan_any(NULL::p, 'a', '{}');
SELECT count(*) FROM chunk_scan_any(NULL::p, 'a', (SELECT array_agg(i) FROM generate_series(-100, 7) i));
SELECT count(*) FROM chunk_scan_any(NULL::p, 'a', '{4007}'::int8[]);

-- Two indexes on a column: what is remembered of one may say no when the other is gone, and the other way round.
SELECT ask(13001);
CREATE INDEX second ON p_3 USING bf (a) WITH (false_positive_rate = 0.2);
SELECT ask(13001);
DROP INDEX p_3_a;
INSERT INTO p VALUES (3, 1, 13001);
SELECT ask(13001), ask(13002);
CREATE INDEX p_3_a ON p_3 USING bf (a);
DROP INDEX second;
SELECT ask(13001), ask(13002);

-- A cursor keeps the snapshot with which it was opened, whatever later queries remember.
BEGIN;
DECLARE c CURSOR FOR SELECT k, a FROM chunk_scan_any(NULL::p, 'a', '{7, 13002}');
INSERT INTO p VALUES (4, 1, 13002);
SELECT ask(13002);
FETCH ALL FROM c;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT k, a FROM chunk_scan(NULL::p, 'a', 4007);
TRUNCATE p_5;
INSERT INTO p SELECT 5, i, 50000 + i FROM generate_series(1, 3000) i;
SELECT bf_summarize_new_values('p_5_a') > 0;
SELECT ask(4007);
FETCH ALL FROM c;
ROLLBACK;
SELECT ask(4007);

-- what a snapshot that does not see a partition has found out about it is not for one that sees it with older storage
CREATE TABLE late (k int, a int) PARTITION BY LIST (k);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1);
INSERT INTO late SELECT 1, 1000 + i FROM generate_series(1, 99) i;
CREATE INDEX ON late USING bf (a);
SELECT count(*) FROM chunk_scan(NULL::late, 'a', 7);
BEGIN;
DECLARE before CURSOR FOR SELECT * FROM chunk_scan(NULL::late, 'a', 7);
CREATE TABLE late_2 PARTITION OF late FOR VALUES IN (2);
INSERT INTO late VALUES (2, 7);
DECLARE after CURSOR FOR SELECT * FROM chunk_scan(NULL::late, 'a', 7);
SAVEPOINT s;
TRUNCATE late_2;
RELEASE s;
FETCH ALL FROM before;
FETCH ALL FROM after;
ROLLBACK;

-- REPEATABLE READ and SERIALIZABLE see their own rows
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT ask(14001), ask(7);
INSERT INTO p VALUES (1, 1, 14001);
SELECT ask(14001), ask(7);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT ask(14002), ask(7);
INSERT INTO p VALUES (1, 1, 14002);
SELECT ask(14002), ask(7);
SELECT count(*) > 0 FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'p_2_a'::regclass;
COMMIT;
SELECT ask(14001), ask(14002);

-- Other users: the parent's privileges are asked for each time.
CREATE ROLE chunk_scan_cache_reader;
GRANT USAGE ON SCHEMA chunk_scan_cache TO chunk_scan_cache_reader;
SET ROLE chunk_scan_cache_reader;
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 14003);
RESET ROLE;
GRANT SELECT ON p TO chunk_scan_cache_reader;
SET ROLE chunk_scan_cache_reader;
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 14003);
SELECT count(*) FROM chunk_scan(NULL::p, 'a', 7);
RESET ROLE;

DROP SCHEMA chunk_scan_cache CASCADE;
DROP ROLE chunk_scan_cache_reader;
