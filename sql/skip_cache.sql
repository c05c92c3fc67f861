-- skip_cache: Skip remembers how the indexes of partitions are asked. Whatever happens to an index or a partition
-- after it said no, a query returns the rows that it returns without the node.

CREATE SCHEMA skip_cache;
SET search_path = skip_cache, public;
SET client_min_messages = warning;
LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
SET plan_cache_mode = force_generic_plan;

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

PREPARE by_a AS SELECT * FROM p WHERE a = $1;
PREPARE by_any AS SELECT * FROM p WHERE a = ANY ($1);
PREPARE by_t AS SELECT * FROM p WHERE t = $1;
PREPARE by_both AS SELECT * FROM p WHERE a = $1 AND t = $2;

-- The rows of a prepared statement, asked for twice, must be those of a statement that no index can answer.
CREATE FUNCTION ask(prepared text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine text;
	plain text;
	line record;
BEGIN
	FOR i IN 1 .. 2 LOOP
		mine := NULL;
		FOR line IN EXECUTE 'EXECUTE ' || prepared LOOP
			mine := concat_ws(' ', mine, line::text);
		END LOOP;
		EXECUTE format('SELECT string_agg(p::text, '' '' ORDER BY k, id) FROM p WHERE %s', condition) INTO plain;
		IF mine IS DISTINCT FROM plain THEN
			RETURN format('WRONG: %s, but plain %s', mine, plain);
		END IF;
	END LOOP;
	RETURN coalesce(left(plain, 60), 'nothing');
END
$$;
CREATE FUNCTION a(value int) RETURNS text LANGUAGE sql AS $$ SELECT ask(format('by_a(%s)', value), format('a + 0 = %s', value)) $$;
-- How many partitions are skipped?
CREATE FUNCTION skipped(value int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	skipped text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE by_a(%s)', value) LOOP
		skipped := coalesce(substring(line FROM 'Verdicts: none \((\d+)\)'), skipped);
	END LOOP;
	RETURN skipped;
END
$$;

-- what is remembered serves other values
SELECT v, a(v), skipped(v) FROM unnest('{9999, 7, 2007, 4007, -1, 9999}'::int[]) v;
SELECT ask('by_any(''{7, NULL, 4007, 9999}'')', 'a + 0 IN (7, 4007, 9999)'), ask('by_any(''{-1, -2, NULL}'')', 'a + 0 IN (-1, -2)'), ask('by_any(''{}'')', 'false');
SELECT ask('by_t(''row 2007'')', 't || '''' = ''row 2007'''), ask('by_t(''row'')', 'false'), ask('by_both(2007, ''row 2007'')', 'a + 0 = 2007'), ask('by_both(2007, ''row 7'')', 'false');
-- a question from memory is no scan of the index
CREATE FUNCTION index_scans() RETURNS bigint LANGUAGE sql AS
	$$SELECT sum(idx_scan)::bigint FROM pg_stat_xact_user_tables WHERE schemaname = 'skip_cache'$$;
BEGIN;
SELECT skipped(9999), index_scans() AS before \gset
SELECT skipped(9998), index_scans() - :before AS scans;
COMMIT;

-- Partitions whose indexes have two operator classes, in turn. The search is hashed for each anew, so none is asked from memory.
CREATE OPERATOR CLASS grams_or_all_ops FOR TYPE text USING bf AS OPERATOR 1 =, OPERATOR 5 ~, FUNCTION 2 bf_gram_extract_value(text, internal),
	FUNCTION 3 bf_gram_extract_query(text, internal, int2, internal, internal, internal, internal), FUNCTION 6 bf_gram_triconsistent(internal, int2, text, int4, internal, internal, internal),
	FUNCTION 7 (text) bf_gram_class_options(internal), STORAGE int8;
CREATE TABLE mixed (k int, t text) PARTITION BY LIST (k);
SELECT format('CREATE TABLE mixed_%s PARTITION OF mixed FOR VALUES IN (%s)', k, k), format('CREATE INDEX ON mixed_%s USING bf (t %s)', k, CASE k % 2 WHEN 0 THEN 'grams_or_all_ops' ELSE '' END) FROM generate_series(1, 6) k \gexec
INSERT INTO mixed SELECT k, 'row ' || 1000 * (k - 1) + i FROM generate_series(1, 6) k, generate_series(0, 999) i;
VACUUM mixed;
PREPARE mixed_by_t AS SELECT * FROM mixed WHERE t = $1;
BEGIN;
EXECUTE mixed_by_t('another');
SELECT index_scans() AS before \gset
EXECUTE mixed_by_t('somewhere');
SELECT index_scans() - :before AS scans;
EXECUTE mixed_by_t('row 2007');
EXECUTE mixed_by_t('row 3007');
COMMIT;

-- another table, about whose indexes the same is asked, beside this one
CREATE TABLE other (k int, a int) PARTITION BY LIST (k);
CREATE TABLE other_1 PARTITION OF other FOR VALUES IN (1);
CREATE TABLE other_2 PARTITION OF other FOR VALUES IN (2);
INSERT INTO other SELECT k, 1000 * (5 - k) + i FROM generate_series(1, 2) k, generate_series(0, 999) i;
CREATE INDEX ON other USING bf (a);
VACUUM other;
PREPARE other_by_a AS SELECT k, a FROM other WHERE a = $1;
SELECT a(7), a(3007), a(4007);
EXECUTE other_by_a(7);
EXECUTE other_by_a(3007);
EXECUTE other_by_a(4007);
SELECT a(7), a(3007), a(4007);
EXECUTE other_by_a(3007);
EXECUTE other_by_a(4007);

-- rows inside the ranges, behind them, in a new partition
INSERT INTO p VALUES (1, 1, 9001, 'inside');
SELECT a(9001);
INSERT INTO p SELECT 2, i, 20000 + i, 'behind' FROM generate_series(1, 5000) i;
SELECT a(20001), a(25000), a(9002);
-- New groups that are published without a message to the relation caches. The first question is about a row in them.
SELECT bf_summarize_new_values('p_2_a_idx') > 0 AS summarized;
SELECT a(25000), a(20001), a(9002);
INSERT INTO p SELECT 2, i, 30000 + i, 'behind' FROM generate_series(1, 5000) i;
SELECT bf_summarize_new_values('p_2_a_idx') > 0 AS summarized;
SELECT a(35000), a(30001), a(25000), a(20001), a(9002);
CREATE TABLE p_6 PARTITION OF p FOR VALUES IN (6);
SELECT a(9003), a(9003);
INSERT INTO p VALUES (6, 1, 9003, 'first');
SELECT a(9003), a(9004);
VACUUM p;
SELECT a(20001), a(25000), a(9002), a(9003), a(9004), skipped(25000), skipped(9002), skipped(9003);
SELECT bf_desummarize_range('p_1_a_idx', 0);
INSERT INTO p VALUES (1, 2, 9005, 'in a range without a summary');
SELECT a(9005), a(9006);
SELECT bf_summarize_range('p_1_a_idx', 0);
SELECT a(9005), a(9006);

-- The statement stands between two questions: first nothing has the value, then one row has it that was written afterwards.
CREATE FUNCTION around(statement text, value int) RETURNS TABLE (before text, after text, with_row text) LANGUAGE plpgsql AS $$
BEGIN
	before := a(value);
	EXECUTE statement;
	after := a(value);
	EXECUTE format('INSERT INTO p VALUES (3, 1, %s, ''around'')', value);
	with_row := a(value);
	RETURN NEXT;
END
$$;
SELECT * FROM around('TRUNCATE p_3', 9010);
SELECT * FROM around('REINDEX INDEX p_3_a_idx', 9011);
SELECT * FROM around('ALTER TABLE p_3 SET UNLOGGED', 9012);
SELECT * FROM around('DROP INDEX p_a', 9013);
SELECT * FROM around('CREATE INDEX p_a ON p USING bf (a)', 9014);
SELECT * FROM around('ALTER TABLE p DETACH PARTITION p_3; TRUNCATE p_3; ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3)', 9016);
SELECT * FROM around('SELECT bf_desummarize_range(''p_3_a_idx'', 0)', 9017);
VACUUM (FULL) p_3;
SELECT a(9017), a(9018);
REINDEX INDEX CONCURRENTLY p_3_a_idx;
INSERT INTO p VALUES (3, 1, 9018, 'concurrently');
SELECT a(9017), a(9018), a(9019);

-- what a transaction does that is rolled back
BEGIN;
TRUNCATE p_3;
INSERT INTO p VALUES (3, 1, 9019, 'rolled back');
SELECT a(9018), a(9019);
SAVEPOINT s;
REINDEX INDEX p_3_a_idx;
INSERT INTO p VALUES (3, 1, 9020, 'rolled back');
SELECT a(9019), a(9020);
ROLLBACK TO s;
SELECT a(9019), a(9020);
ROLLBACK;
SELECT a(9018), a(9019), a(9020);

-- a cursor that is older than the row, and newer rows in the same transaction
BEGIN;
SELECT a(9021);
CREATE FUNCTION around_a_loop() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line record;
BEGIN
	FOR line IN SELECT * FROM p WHERE a = ANY ('{7, 1007, 2007, 9021}') LOOP
		RETURN NEXT line::text;
		INSERT INTO p VALUES (4, 1, 9021, 'in the loop');
		RETURN NEXT a(9021);
	END LOOP;
END
$$;
SELECT around_a_loop();
ROLLBACK;

-- in a nested loop the indexes are asked again for each value
SELECT v, (SELECT count(*) FROM p WHERE a = v + 0) AS rows FROM unnest('{7, 9999, 1007, -1, 9001}'::int[]) v;
-- SERIALIZABLE, where nothing is remembered
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT a(7), a(9999);
COMMIT;

DROP SCHEMA skip_cache CASCADE;
