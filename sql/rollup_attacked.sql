-- rollup_attacked: what attacks on roll-ups found: rows and definitions that are lost, items under other settings, hits that came too late, names of a
-- source, items with the same hash, and messages

SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SET client_min_messages = warning;

CREATE TABLE log (at timestamptz, url text, n int);
CREATE INDEX ON log (at);
INSERT INTO log SELECT timestamptz '2024-01-01 00:30' + i * interval '6 minutes', '/' || i % 7, i % 7 FROM generate_series(0, 479) i;

-- A roll-up whose rows were deleted is counted anew. What was forgotten on purpose is not counted again.
SELECT tbf_rollup_create('heat', 'log', 'url', 'at', half_life => NULL);
CALL tbf_rollup_refresh('heat');
TRUNCATE heat;
CALL tbf_rollup_refresh('heat');
SELECT sum(hits) FROM heat;
DELETE FROM heat;
INSERT INTO log VALUES ('2024-01-03 00:20', '/late', 1);
CALL tbf_rollup_refresh('heat');
SELECT sum(hits), complete_to FROM heat, tbf_rollups GROUP BY complete_to;
SELECT tbf_rollup_create('brief', 'log', 'url', 'at', tiers => '{hour}', keep => '{3 hours}', lateness => '1 hour');
CALL tbf_rollup_refresh('brief');
TRUNCATE brief;
CALL tbf_rollup_refresh('brief');
SELECT min(starts), sum(hits) FROM brief;
SELECT tbf_rollup_drop('brief');
-- an hour of which rows were deleted is found by a comparison, and counted by a refresh of its time
DELETE FROM heat WHERE starts = '2024-01-01 05:00';
CALL tbf_rollup_refresh('heat');
SELECT * FROM tbf_rollup_compare('heat');
CALL tbf_rollup_refresh('heat', '2024-01-01 05:00', '2024-01-01 06:00');
SELECT count(*) FROM tbf_rollup_compare('heat');

-- Hits that came too late are missing until their time is refreshed. Hits that have left the source stay counted.
INSERT INTO log SELECT '2024-01-01 10:15', '/too late', 1 FROM generate_series(1, 500);
DELETE FROM log WHERE at >= '2024-01-01 12:00' AND at < '2024-01-01 12:20';
INSERT INTO log VALUES ('2024-01-01 12:45', '/0', 1);
CALL tbf_rollup_refresh('heat');
SELECT * FROM tbf_rollup_compare('heat', '2024-01-01', '2024-01-02');
SELECT * FROM tbf_rollup_compare('heat', '2024-01-01 10:30', '2024-01-01 10:31');
SELECT format('CALL tbf_rollup_refresh(%L, %L, %L)', 'heat', starts, ends) FROM tbf_rollup_compare('heat', '2024-01-01', '2024-01-02') WHERE missing > 0 \gexec
SELECT starts, missing, gone FROM tbf_rollup_compare('heat');
SELECT * FROM tbf_rollup_count_between('heat', '/too late', NULL, NULL);
SELECT error_of($$SELECT * FROM tbf_rollup_compare('log')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_compare('heat', '2024-01-02', '2024-01-01')$$);
SELECT tbf_rollup_drop('heat');
-- the same by group, in days of a zone, with weights
SELECT tbf_rollup_create('heat', 'log', 'url', 'at', weight => 'n', group_by => '{n}', tiers => '{day}', keep => '{NULL}', zone => 'Asia/Kolkata');
CALL tbf_rollup_refresh('heat');
SELECT count(*) FROM tbf_rollup_compare('heat');
INSERT INTO log VALUES ('2024-01-01 01:00', '/x', 5), ('2024-01-02 01:00', '/x', 6);
SELECT * FROM tbf_rollup_compare('heat');
SELECT tbf_rollup_drop('heat');

-- A table whose definition is lost, as pg_dump -t leaves it, gets one by the call that made it.
SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}', tiers => '{hour,day,month}', keep => '{6 hours,1 day,NULL}', half_life => NULL);
CALL tbf_rollup_refresh('heat');
CREATE TABLE was AS SELECT sum(hits) AS hits, count(*) AS rows FROM heat;
CREATE TABLE folded_before AS SELECT folded, counted_to FROM tbf_rollup;
DELETE FROM tbf_rollup_definitions;
CALL tbf_rollup_refresh('heat');
SELECT error_of($$SELECT * FROM tbf_rollup_top('heat')$$);
SELECT error_of($$SELECT tbf_rollup_drop('heat')$$);
SELECT error_of($$INSERT INTO tbf_rollup (rollup, source, item, time_column) VALUES ('heat', 'log', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('heat', 'log', 'n', 'at', group_by => '{n}')$$);
SELECT error_of($$SELECT tbf_rollup_create('heat', 'log', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}', tiers => '{hour}', keep => '{NULL}')$$);
SELECT error_of($$SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}', zone => 'Asia/Kolkata')$$);
SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}', tiers => '{hour,day,month}', keep => '{6 hours,1 day,NULL}', half_life => NULL);
SELECT d.counted_to = b.counted_to, d.folded FROM tbf_rollup d, folded_before b;
CALL tbf_rollup_refresh('heat');
SELECT sum(h.hits) = w.hits, count(*) = w.rows FROM heat h, was w GROUP BY w.hits, w.rows;
DELETE FROM log WHERE at < '2024-01-02';
INSERT INTO log VALUES ('2024-01-03 00:45', '/new', 1);
CALL tbf_rollup_refresh('heat');
SELECT sum(h.hits) - w.hits FROM heat h, was w GROUP BY w.hits;
SELECT error_of($$SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}')$$);
SELECT tbf_rollup_drop('heat');
DROP TABLE was, folded_before;

-- items under other settings: each is found by its value, and by its text in an answer
SET extra_float_digits = 0;
CREATE TABLE stamps (at timestamptz, t timestamptz, i interval, b bytea, f float8, d date);
INSERT INTO stamps SELECT timestamptz '2024-07-01 UTC' + s * interval '1 minute', timestamptz '2024-07-01 22:00 UTC' + s * interval '7 hours', s * interval '-1 day 2 hours', sha224(s::text::bytea), s / 3.0::float8, date '2024-01-01' + s
	FROM generate_series(1, 8) s;
CREATE TABLE wrong (what text);
SELECT tbf_rollup_create('of_' || kind, 'stamps', kind, 'at', half_life => NULL) FROM unnest('{t,i,b,f,d}'::text[]) kind;
SELECT format('CALL tbf_rollup_refresh(%L)', 'of_' || kind) FROM unnest('{t,i,b,f,d}'::text[]) kind \gexec
DO $$
DECLARE
	style text;
	zone text;
	kind text;
BEGIN
	SET LOCAL bytea_output = escape;
	FOREACH style IN ARRAY '{"SQL, DMY","Postgres, MDY","German, YMD","ISO, DMY"}'::text[] LOOP
		PERFORM set_config('datestyle', style, true), set_config('intervalstyle', CASE WHEN style ~ 'SQL' THEN 'sql_standard' WHEN style ~ 'German' THEN 'iso_8601' ELSE 'postgres_verbose' END, true);
		FOREACH zone IN ARRAY '{Asia/Kolkata,Asia/Shanghai,Europe/Dublin,America/New_York}'::text[] LOOP
			PERFORM set_config('timezone', zone, true);
			FOREACH kind IN ARRAY '{t,i,b,f,d}'::text[] LOOP
				EXECUTE format($q$INSERT INTO wrong
					SELECT format('%%s %%s %%s: %%s', %1$L, %2$L, %3$L, x) FROM (SELECT %3$I AS x FROM stamps) s
						WHERE (SELECT (hits_from, hits_to) FROM tbf_rollup_count(%4$L, x)) IS DISTINCT FROM (1::float8, 1::float8) OR (SELECT (hits_from, hits_to) FROM tbf_rollup_count_between(%4$L, x, NULL, NULL)) IS DISTINCT FROM (1::float8, 1::float8)
					UNION ALL SELECT format('%%s %%s %%s, as text: %%s', %1$L, %2$L, %3$L, item) FROM tbf_rollup_top(%4$L, 100)
						WHERE (SELECT hits_from FROM tbf_rollup_count(%4$L, item)) <> 1
					UNION ALL SELECT format('%%s %%s %%s, as text of risers: %%s', %1$L, %2$L, %3$L, item) FROM tbf_rollup_risers(%4$L, 100, '2024-07-01 01:00 UTC', at_least => 1)
						WHERE (SELECT hits_from FROM tbf_rollup_count(%4$L, item)) <> 1$q$, style, zone, kind, 'of_' || kind);
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
SELECT count(*) FROM wrong;
SELECT what FROM wrong ORDER BY what LIMIT 5;
SELECT item FROM tbf_rollup_top('of_t', 1);
SELECT count(tbf_rollup_drop(('of_' || kind)::regclass)) FROM unnest('{t,i,b,f,d}'::text[]) kind;
DROP TABLE stamps, wrong;
RESET extra_float_digits;

-- names of temporary tables that the SQL of this extension may use, too
SELECT format('CREATE TEMP TABLE %I (at timestamptz, url text)', name) FROM unnest('{stored,filter,latest,bucket,hit,item,gone,part,live}'::text[]) name \gexec
SELECT format('INSERT INTO pg_temp.%I VALUES (%L, %L)', name, '2024-01-01', '/'), format('SELECT tbf_rollup_create(%L, %L, %L, %L, half_life => NULL)', 'of_' || name, 'pg_temp.' || name, 'url', 'at'),
	format('CALL tbf_rollup_refresh(%L)', 'of_' || name), format('SELECT hits_from FROM tbf_rollup_top(%L)', 'of_' || name), format('SELECT missing FROM tbf_rollup_compare(%L)', 'of_' || name), format('SELECT tbf_rollup_drop(%L)', 'of_' || name)
FROM unnest('{stored,filter,latest,bucket,hit,item}'::text[]) name \gexec
SELECT format('DROP TABLE pg_temp.%I', name), format('SELECT tbf_rollup_create(%L, %L, %L, %L, half_life => NULL)', 'pg_temp.' || name, 'log', 'url', 'at'),
	format('CALL tbf_rollup_refresh(%L)', name), format('SELECT item, hits_from FROM tbf_rollup_top(%L, 1)', name), format('SELECT item FROM tbf_rollup_risers(%L, 1, %L)', name, '2024-01-03 01:00'), format('SELECT missing FROM tbf_rollup_compare(%L)', name), format('SELECT tbf_rollup_drop(%L)', name)
FROM unnest('{stored,gone,part,live}'::text[]) name \gexec
DROP TABLE filter, latest, bucket, hit, item;

-- Two items of which filters keep the same 48 bits. The late hits of one are taken for those of the other; the upper bound leaves room for them.
CREATE TABLE pairs (at timestamptz, n int);
CREATE INDEX ON pairs (at);
SELECT tbf_rollup_create('twins', 'pairs', 'n', 'at', half_life => NULL);
INSERT INTO pairs VALUES ('2024-01-01 00:30', 1217509), ('2024-01-01 00:40', 1), ('2024-01-01 00:40', 2);
CALL tbf_rollup_refresh('twins');
INSERT INTO pairs SELECT '2024-01-01 00:20', 31017174 FROM generate_series(1, 2);
CALL tbf_rollup_refresh('twins');
SELECT item, hits_from, hits_to >= 2 AS two, others_to FROM tbf_rollup_top('twins') WHERE item = '31017174';
SELECT sum(hits) FROM twins;
INSERT INTO pairs VALUES ('2024-01-01 06:40', 1);
CALL tbf_rollup_refresh('twins');
SELECT item, hits_from, hits_to FROM tbf_rollup_top('twins') ORDER BY item::int;
SELECT tbf_rollup_drop('twins');
-- so that it is in no list: others_to has room
SELECT tbf_rollup_create('twins', 'pairs', 'n', 'at', half_life => NULL, top => 1);
TRUNCATE pairs;
INSERT INTO pairs SELECT '2024-01-01 00:30', 1217509 FROM generate_series(1, 9);
CALL tbf_rollup_refresh('twins');
INSERT INTO pairs SELECT '2024-01-01 00:20', 31017174 FROM generate_series(1, 5);
CALL tbf_rollup_refresh('twins');
SELECT item, hits_from, hits_to, others_to >= 5 AS others FROM tbf_rollup_top('twins');
SELECT tbf_rollup_drop('twins');
DROP TABLE pairs;

-- messages
SELECT tbf_rollup_create('heat', 'log', 'url', 'at', group_by => '{n}');
CREATE ROLE streambloom_other;
SET ROLE streambloom_other;
SELECT error_of($$SELECT tbf_rollup_drop('heat')$$);
RESET ROLE;
DROP ROLE streambloom_other;
CALL tbf_rollup_refresh('log');
CALL tbf_rollup_refresh(NULL);
SET default_transaction_read_only = on;
CALL tbf_rollup_refresh('heat');
RESET default_transaction_read_only;
CALL tbf_rollup_refresh('heat');
SELECT error_of($$SELECT * FROM tbf_rollup_top_between('heat', '2024-01-02', '2024-01-01')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'count(*)', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', weight => 'sum(n)')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', condition => 'row_number() OVER () > 1')$$);
SET client_min_messages = notice;
SELECT tbf_rollup_create('r', 'log', 'url || random()', 'at');
SELECT tbf_rollup_drop('r');
SELECT tbf_rollup_create('r', 'log', 'url', 'at', condition => 'clock_timestamp() > at', weight => 'length(url)');
SELECT tbf_rollup_drop('r');
SELECT tbf_rollup_create('r', 'log', 'concat_ws('' '', url, at)', 'at', weight => 'n + random()');
SELECT tbf_rollup_drop('r');
CREATE TABLE bare (at timestamptz, local timestamp, url text);
SELECT tbf_rollup_create('r', 'bare', 'url', 'at');
SELECT tbf_rollup_drop('r');
CREATE INDEX ON bare (url, at);
CREATE INDEX ON bare (local) WHERE url = '/';
SELECT tbf_rollup_create('r', 'bare', 'url', 'at'), tbf_rollup_create('r2', 'bare', 'url', 'local');
SELECT tbf_rollup_drop('r'), tbf_rollup_drop('r2');
CREATE INDEX ON bare USING brin (at);
SELECT tbf_rollup_create('r', 'bare', 'url', 'at');
SELECT tbf_rollup_drop('r');
CREATE TABLE parts (at timestamptz, url text) PARTITION BY RANGE (at);
SELECT tbf_rollup_create('r', 'parts', 'url', 'at');
SELECT tbf_rollup_drop('r');
CREATE VIEW seen AS TABLE bare;
SELECT tbf_rollup_create('r', 'seen', 'url', 'at');
SELECT tbf_rollup_drop('r');
DROP TABLE bare, parts CASCADE;
-- a bad weight, and bad groups: the context is short
DO $$
DECLARE
	context text;
	question text;
BEGIN
	FOREACH question IN ARRAY ARRAY['SELECT * FROM tbf_rollup_top(''heat'', weight => ''nonsense'')', 'SELECT * FROM tbf_rollup_top(''heat'', weight => ''-1'')', 'SELECT * FROM tbf_rollup_top(''heat'', groups => ''{"m": 1}'')',
			'SELECT * FROM tbf_rollup_top_by_group(''heat'', weight => ''nonsense'')', 'SELECT * FROM tbf_rollup_count(''heat'', ''/'', weight => ''nonsense'')', 'SELECT tbf_rollup_filter(''heat'', weight => ''nonsense'')',
			'SELECT * FROM tbf_rollup_risers(''heat'', groups => ''[]'')', 'SELECT * FROM tbf_rollup_distinct(''heat'', groups => ''{"m": 1}'')'] LOOP
		BEGIN
			EXECUTE question;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			RAISE NOTICE '%: %', SQLERRM, CASE WHEN length(context) < 1200 AND context !~ 'WITH' THEN 'short' ELSE context END;
		END;
	END LOOP;
END $$;
SET client_min_messages = warning;
SELECT tbf_rollup_drop('heat');
DROP TABLE log;
-- A log of many partitions: a step plans and locks only those whose hours it counts, also where it looks for the first hit and the last one.
CREATE TABLE parts (at timestamptz, url text) PARTITION BY RANGE (at);
DO $$
BEGIN
	FOR d IN 1 .. 300 LOOP
		EXECUTE format('CREATE TABLE part_%s PARTITION OF parts FOR VALUES FROM (%L) TO (%L)', d, timestamptz '2022-01-01' + d * interval '1 day', timestamptz '2022-01-02' + d * interval '1 day');
	END LOOP;
END $$;
CREATE TABLE part_d PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT timestamptz '2022-01-03 12:00' + d * interval '40 days', '/' || d FROM generate_series(0, 6) d;
CREATE FUNCTION locked(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN (SELECT count(*) FROM pg_locks JOIN pg_class c ON c.oid = relation WHERE pid = pg_backend_pid() AND relname ~ '^part_');
END $$;
SELECT locked($$SELECT tbf_rollup_create('r', 'parts', 'url', 'at', half_life => NULL)$$) < 12;
SELECT locked($$SELECT _tbf_rollup_work('r', NULL, NULL, NULL, NULL, NULL)$$) < 12;
CALL tbf_rollup_refresh('r');
SELECT sum(hits) FROM r;
INSERT INTO parts VALUES ('2022-09-01', '/new');
SELECT locked($$SELECT _tbf_rollup_work('r', NULL, NULL, NULL, NULL, NULL)$$) < 12;
SELECT count(*), sum(hits) FROM r;
SELECT locked($$SELECT tbf_rollup_compare('r', '2022-01-01', '2022-12-31')$$) > 0;
SELECT tbf_rollup_drop('r');
-- a question to a roll-up that has counted nothing says so
SET client_min_messages = notice;
SELECT tbf_rollup_create('r', 'parts', 'url', 'at');
SELECT * FROM tbf_rollup_top('r');
SELECT tbf_rollup_count('r', '/'), tbf_rollup_distinct('r');
CALL tbf_rollup_refresh('r');
SELECT count(*) FROM tbf_rollup_top('r', at => '2023-01-01', weight => '1');
SET client_min_messages = warning;
SELECT tbf_rollup_drop('r');
DROP FUNCTION locked;
DROP TABLE parts;
