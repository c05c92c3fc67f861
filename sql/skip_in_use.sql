-- skip_in_use: partitions that the node Skip leaves out are in use by the query, as those that it reads

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_in_use;
SET search_path = skip_in_use, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_bitmapscan = off;

CREATE TABLE log (day int, uid int) PARTITION BY RANGE (day);
DO $$
BEGIN
	FOR i IN 1..20 LOOP
		EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END
$$;
INSERT INTO log SELECT 1 + i % 20, i FROM generate_series(1, 40000) i;
INSERT INTO log SELECT 3, -7 FROM generate_series(1, 100);
CREATE INDEX ON log USING bf (uid);
CREATE INDEX log_5_day ON log_5 (day);
VACUUM ANALYZE log;
SELECT line FROM plan_lines('SELECT * FROM log WHERE uid = -7', true) line WHERE line ~ 'Verdicts';

CREATE FUNCTION rows_beside(setting text, command text, query text DEFAULT 'SELECT * FROM log WHERE uid = -7') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('streambloom.enable_skip', setting, true);
	RETURN rows_beside_command(command, query);
END
$$;
SELECT command, rows_beside('on', command), rows_beside('off', command) FROM unnest(ARRAY[
	'TRUNCATE log_5',
	'DROP TABLE log_5',
	'ALTER TABLE log_5 ADD CHECK (uid <> -7)',
	'CLUSTER log_5 USING log_5_day',
	'TRUNCATE log_3',
	'DELETE FROM log_5',
	'DROP INDEX log_5_day'
	]) command;
-- an index by which a partition is read later
SET enable_seqscan = off;
SELECT rows_beside('on', 'DROP INDEX log_5_day', query), rows_beside('off', 'DROP INDEX log_5_day', query)
FROM (VALUES ('SELECT * FROM log WHERE uid IN (-7, 4) AND day IN (3, 5)')) v (query);
RESET enable_seqscan;
-- partitions that are not in the plan, and after the query
SELECT rows_beside('on', 'TRUNCATE log_5', 'SELECT * FROM log WHERE uid = -7 AND day < 5'), rows_beside('off', 'TRUNCATE log_5', 'SELECT * FROM log WHERE uid = -7 AND day < 5');
SELECT count(*) FROM log WHERE uid = -7;
TRUNCATE log_5;
SELECT count(*) FROM log;

-- nor after an error that was caught, although PL/pgSQL keeps the memory of an SQL function until the transaction ends
CREATE FUNCTION quotient(u int, d int) RETURNS bigint LANGUAGE sql AS 'SELECT sum(1 / d) FROM log WHERE uid = u';
DO $$
DECLARE
	n bigint;
BEGIN
	BEGIN
		n := quotient(-7, 0);
	EXCEPTION WHEN division_by_zero THEN
		RAISE WARNING '%', SQLERRM;
	END;
	TRUNCATE log_5;
END
$$;
-- the same for a cursor that has failed and is not closed
BEGIN;
DECLARE c CURSOR FOR SELECT quotient(-7, 1 - n) FROM generate_series(0, 1) n;
FETCH 1 FROM c;
SAVEPOINT s;
FETCH 1 FROM c;
ROLLBACK TO s;
TRUNCATE log_5;
ROLLBACK;

DROP SCHEMA skip_in_use CASCADE;
