-- index_errors: what a bf index refuses, and with which messages
CREATE TABLE t (v integer, w text);
INSERT INTO t SELECT i, i FROM generate_series(1, 1000) i;
CREATE INDEX t_bf ON t USING bf (v, w);
CREATE INDEX t_brin ON t USING brin (v);
CREATE VIEW a_view AS SELECT * FROM t;
CREATE TABLE parted (v integer) PARTITION BY LIST (v);
CREATE INDEX parted_bf ON parted USING bf (v);

SELECT option, error_of(format('CREATE INDEX ON t USING bf (v) WITH (%s)', option)) FROM (VALUES
	('pages_per_range = 0'), ('pages_per_range = 131073'), ('pages_per_range = x'), ('false_positive_rate = 0'),
	('false_positive_rate = 2'), ('false_positive_rate = NaN'), ('fillfactor = 50')) o(option);
SELECT command, error_of(command) FROM (VALUES
	('CREATE UNIQUE INDEX ON t USING bf (v)'), ('CREATE INDEX ON t USING bf (v DESC)'), ('CREATE INDEX ON t USING bf (v) INCLUDE (w)'),
	('ALTER TABLE t ADD EXCLUDE USING bf (v WITH =)'), ('CLUSTER t USING t_bf')) c(command);
SELECT command, error_of(command) FROM (VALUES
	('SELECT bf_summarize_new_values(''t'')'), ('SELECT bf_summarize_new_values(''t_brin'')'), ('SELECT bf_summarize_new_values(''parted_bf'')'),
	('SELECT bf_summarize_new_values(0)'), ('SELECT bf_summarize_range(''a_view'', 1)'), ('SELECT bf_desummarize_range(''pg_class'', 1)'),
	('SELECT bf_summarize_range(''t_bf'', -1)'), ('SELECT bf_desummarize_range(''t_bf'', 4294967295)'), ('SELECT brin_summarize_new_values(''t_bf'')'),
	('SELECT bf_index_check(''t'')'), ('SELECT bf_index_stats(''t_brin'')'), ('SELECT bf_of(''t'')'),
	('SELECT bf_of(''t_bf'', 0, 3)'), ('SELECT bf_of(''t_bf'', 0, 0)'), ('SELECT bf_of(''t_bf'', -1)'),
	('CALL bf_summarize(''a_view'')'), ('CALL bf_summarize(0)'), ('CALL bf_summarize(NULL)')) c(command);
SELECT bf_of('t_bf', 1000), bf_of(NULL), bf_of('t_bf', 0, 2) @> '77'::text;

-- privileges: the owner summarizes and checks; a user who may read the table looks into the index (more in index_rights)
CREATE ROLE streambloom_reader;
CREATE ROLE streambloom_nobody;
GRANT SELECT ON t TO streambloom_reader;
SET ROLE streambloom_reader;
SELECT bf_of('t_bf', 0) @> 5, (SELECT count(*) FROM bf_index_stats('t_bf'));
SELECT error_of('SELECT bf_index_check(''t_bf'')');
SELECT error_of('SELECT bf_summarize_new_values(''t_bf'')');
SELECT error_of('SELECT bf_desummarize_range(''t_bf'', 0)');
SELECT error_of('CALL bf_summarize(''t'')');
SET ROLE streambloom_nobody;
SELECT error_of('SELECT bf_index_check(''t_bf'')');
SELECT error_of('SELECT bf_of(''t_bf'', 0)');
SELECT error_of('SELECT * FROM bf_index_stats(''t_bf'')');
RESET ROLE;

-- an index whose build failed is left alone, with a message
CREATE TABLE fails (v integer);
INSERT INTO fails VALUES (1), (0);
CREATE INDEX CONCURRENTLY fails_bf ON fails USING bf ((1 / v));
SELECT bf_summarize_new_values('fails_bf');
SELECT error_of('SELECT bf_index_check(''fails_bf'')');
SET enable_seqscan = off;
DO $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM fails WHERE 1 / v = 1' INTO plan;
	RAISE NOTICE 'read by a %', plan->0->'Plan'->>'Node Type';
END
$$;
RESET enable_seqscan;

SELECT error_of('SELECT bf_of(''fails_bf'', 0)');
SELECT error_of('SELECT * FROM bf_index_stats(''fails_bf'')');
-- the index of a canceled build is empty, and would say no to every value
DROP INDEX fails_bf;
SET statement_timeout = '1s';
CREATE FUNCTION takes_long(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_sleep(1000); RETURN $1; END';
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY fails_bf ON fails USING bf (v, takes_long(v));
\set VERBOSITY default
RESET statement_timeout;
SELECT error_of('SELECT bf_of(''fails_bf'') @> 1');
-- A cancel ends the union of the filters of many ranges. Whatever comes after bf_of() in the same expression is not reached: between two calls of
-- an expression PostgreSQL does not look for a cancel. The call takes many times as long as the timeout.
CREATE TABLE many_ranges (a integer[]);
ALTER TABLE many_ranges ALTER a SET STORAGE PLAIN;
INSERT INTO many_ranges SELECT (SELECT array_agg(i * 1900 + j) FROM generate_series(1, 1900) j) FROM generate_series(1, 1250) i;
CREATE INDEX many_ranges_bf ON many_ranges USING bf (a) WITH (pages_per_range = 1, levels = 1, false_positive_rate = 0.000001);
SELECT bf_of('many_ranges_bf') IS NOT NULL AS united;
CREATE SEQUENCE after_bf_of;
SET statement_timeout = '5ms';
\set VERBOSITY terse
SELECT bf_of('many_ranges_bf') IS NOT NULL AND nextval('after_bf_of') > 0;
\set VERBOSITY default
RESET statement_timeout;
SELECT is_called FROM after_bf_of;
DROP TABLE many_ranges;
DROP SEQUENCE after_bf_of;
-- a partial index lacks rows, and so may an index that the planner does not use yet
CREATE INDEX partial_bf ON fails USING bf (v) WHERE v > 0;
SELECT error_of('SELECT bf_of(''partial_bf'', 0) @> 0'), bf_index_check('partial_bf'), (SELECT count(*) FROM bf_index_stats('partial_bf'));
CREATE INDEX young_bf ON fails USING bf (v);
BEGIN;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'young_bf'::regclass;
SELECT error_of('SELECT bf_of(''young_bf'', 0) @> 0');
COMMIT;
SELECT bf_of('young_bf', 0) @> 0;

-- An expression fails for a row: the error says for which row, and how VACUUM can go on.
CREATE SCHEMA "odd schema";
CREATE TABLE "odd schema".fails (v integer);
CREATE FUNCTION inverse(v integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = 0 AND current_setting('streambloom_test.fails', true) = 'on' THEN RAISE 'there is no inverse of 0'; END IF;
	RETURN 1000 / greatest(v, 1);
END $$;
INSERT INTO "odd schema".fails VALUES (1), (0);
CREATE INDEX "odd index" ON "odd schema".fails USING bf (inverse(v)) WITH (pages_per_range = 1);
SELECT bf_desummarize_range('"odd schema"."odd index"', 0);
SET streambloom_test.fails = on;
VACUUM "odd schema".fails;
SELECT bf_summarize_new_values('"odd schema"."odd index"');
SELECT bf_index_check('"odd schema"."odd index"');
REINDEX TABLE "odd schema".fails;
-- the index of a partition can only be dropped with the index of the partitioned table
CREATE TABLE "odd schema".parts (v integer) PARTITION BY RANGE (v);
CREATE TABLE part PARTITION OF "odd schema".parts FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (v);
CREATE TABLE part_of_part PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE INDEX "odd parts" ON "odd schema".parts USING bf (inverse(v)) WITH (pages_per_range = 1);
SET streambloom_test.fails = off;
INSERT INTO part VALUES (0);
SET streambloom_test.fails = on;
VACUUM part_of_part;
DROP INDEX "odd schema"."odd parts";
VACUUM part_of_part;
DROP TABLE "odd schema".parts;
-- expressions are not evaluated for deleted rows
DELETE FROM "odd schema".fails WHERE v = 0;
REINDEX TABLE "odd schema".fails;
VACUUM "odd schema".fails;
RESET streambloom_test.fails;
DROP TABLE "odd schema".fails;
DROP SCHEMA "odd schema";

-- an expression that calls a function which summarizes, or one which makes the range unsummarized again
CREATE TABLE nested (v integer);
CREATE FUNCTION from_within(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('streambloom_test.nested', true) = 'on' THEN PERFORM public.bf_summarize_new_values('public.t_bf'); END IF;
	IF current_setting('streambloom_test.nested', true) = 'desummarize' THEN PERFORM public.bf_desummarize_range('public.nested_bf', 0); END IF;
	RETURN $1;
END $$;
CREATE INDEX nested_bf ON nested USING bf (from_within(v)) WITH (pages_per_range = 1);
INSERT INTO nested VALUES (1);
SET streambloom_test.nested = on;
SELECT error_of('SELECT bf_summarize_new_values(''nested_bf'')');
SET streambloom_test.nested = desummarize;
SELECT error_of('SELECT bf_summarize_new_values(''nested_bf'')');
RESET streambloom_test.nested;
SELECT bf_summarize_new_values('nested_bf');

DROP TABLE t, parted, fails, nested CASCADE;
DROP FUNCTION from_within, takes_long, inverse;
DROP ROLE streambloom_reader, streambloom_nobody;

-- the rate of an index, and that of a column
CREATE TABLE rates (v integer);
INSERT INTO rates SELECT generate_series(1, 10000);
CREATE INDEX rates_index ON rates USING bf (v) WITH (false_positive_rate = 0.1);
CREATE INDEX rates_class ON rates USING bf (v int4_ops (false_positive_rate = 0.1));
SELECT i, (SELECT false_positive_rate FROM bf_index_stats(i) LIMIT 1), pg_relation_size(i) = pg_relation_size('rates_index') AS same_size FROM unnest('{rates_index,rates_class}'::regclass[]) i;
DROP TABLE rates;

-- VACUUM finds an index whose CREATE INDEX CONCURRENTLY failed at its end. Expressions of other indexes keep their search_path. (From
-- PostgreSQL 17 on VACUUM itself runs them with another one.)
CREATE TABLE left_over (i integer) WITH (autovacuum_enabled = off);
INSERT INTO left_over SELECT generate_series(1, 5000);
CREATE FUNCTION with_path(i integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('server_version_num')::integer < 170000 AND current_setting('search_path') !~ 'public' THEN RAISE 'search_path is %', current_setting('search_path'); END IF;
	RETURN i;
END $$;
CREATE FUNCTION fails_at_the_end(i integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('public.left_over_bf') AND indisready) THEN RAISE 'this row is not entered'; END IF;
	RETURN i;
END $$;
CREATE INDEX left_over_brin ON left_over USING brin (with_path(i)) WITH (pages_per_range = 1);
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY left_over_bf ON left_over USING bf (fails_at_the_end(i));
\set VERBOSITY default
SELECT indisready, indisvalid FROM pg_index WHERE indexrelid = 'left_over_bf'::regclass;
CREATE OR REPLACE FUNCTION fails_at_the_end(i integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT i';
SET search_path = public, pg_temp;
INSERT INTO left_over SELECT generate_series(1, 5000);
DELETE FROM left_over WHERE i % 2 = 0;
VACUUM (INDEX_CLEANUP on) left_over;
RESET search_path;
DROP TABLE left_over;
DROP FUNCTION with_path, fails_at_the_end;
