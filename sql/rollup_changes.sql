-- rollup_changes: hits are neither lost nor counted twice when rows go from the source, groups are equal but written
-- differently, clocks are put back, columns get other types, times to keep are changed, or filters count too high

SET timezone = 'UTC';
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never

-- Rows go from the source before all hits of their bucket are counted, as from a table that is emptied after each
-- refresh. Hits that are later than all counted ones are new.
CREATE TABLE log (at timestamptz, site text, url text);
CREATE INDEX ON log (at);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', group_by => '{site}');
INSERT INTO log SELECT timestamptz '2024-01-01 12:00' + i * interval '1 second', i % 2, '/x' FROM generate_series(1, 10) i;
CALL tbf_rollup_refresh('r');
TRUNCATE log;
INSERT INTO log SELECT timestamptz '2024-01-01 12:30' + i * interval '1 second', 1, '/x' FROM generate_series(1, 7) i;
CALL tbf_rollup_refresh('r');
CALL tbf_rollup_refresh('r');
SELECT groups, hits FROM r ORDER BY 1, 2;
-- one more that is late, and is not known to be new; and two that are
TRUNCATE log;
INSERT INTO log VALUES ('2024-01-01 12:10', 1, '/x'), ('2024-01-01 12:31', 1, '/x'), ('2024-01-01 12:32', 1, '/x');
CALL tbf_rollup_refresh('r');
SELECT groups, sum(hits) FROM r GROUP BY 1 ORDER BY 1;
-- the bucket is closed: none of its rows is made anew from less
INSERT INTO log SELECT timestamptz '2024-01-01 12:33' + i * interval '1 second', 1, '/x' FROM generate_series(1, 30) i;
INSERT INTO log VALUES ('2024-01-01 18:00', 1, '/x');
CALL tbf_rollup_refresh('r');
SELECT starts, groups, hits, closed FROM r ORDER BY 1, 2;
SELECT tbf_rollup_drop('r');
-- the same with weights
TRUNCATE log;
SELECT tbf_rollup_create('r', 'log', 'url', 'at', weight => 'site::numeric');
INSERT INTO log SELECT timestamptz '2024-01-01 12:00' + i * interval '1 second', '0.5', '/x' FROM generate_series(1, 10) i;
CALL tbf_rollup_refresh('r');
TRUNCATE log;
INSERT INTO log SELECT timestamptz '2024-01-01 12:30' + i * interval '1 second', '0.25', '/x' FROM generate_series(1, 7) i;
CALL tbf_rollup_refresh('r');
CALL tbf_rollup_refresh('r');
SELECT sum(hits) FROM r;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- Values of a grouping column that are equal but written differently are groups of their own.
CREATE TABLE log (at timestamptz, site interval, url text);
CREATE INDEX ON log (at);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', group_by => '{site}');
INSERT INTO log VALUES ('2024-01-01 12:30', '1 day', '/x');
CALL tbf_rollup_refresh('r');
INSERT INTO log VALUES ('2024-01-01 12:10', '24 hours', '/x'), ('2024-01-01 12:50', '24 hours', '/x');
DELETE FROM log WHERE site::text = '1 day';
INSERT INTO log VALUES ('2024-01-01 12:30', '1 day', '/x');
CALL tbf_rollup_refresh('r');
SELECT groups, sum(hits) FROM r GROUP BY 1 ORDER BY 1;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- Where clocks are put back by half an hour, two buckets overlap. Each is closed for itself.
CREATE TABLE log (at timestamptz, url text);
CREATE INDEX ON log (at);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', zone => 'Australia/Lord_Howe', lateness => '90 minutes');
INSERT INTO log VALUES ('2024-04-06 14:10', '/a'), ('2024-04-06 15:10', '/b');
CALL tbf_rollup_refresh('r');
DELETE FROM log WHERE url = '/a';
INSERT INTO log VALUES ('2024-04-06 16:35', '/c');
CALL tbf_rollup_refresh('r');
CALL tbf_rollup_refresh('r');
SELECT starts, ends, closed, hits FROM r ORDER BY starts;
SELECT tbf_rollup_drop('r');
-- Clocks are put back by three hours, from 2:00 to 23:00. The day begins at the first midnight, and has all that
-- comes after it.
TRUNCATE log;
SELECT tbf_rollup_create('r', 'log', 'url', 'at', tiers => '{day}', keep => '{null}', zone => 'Antarctica/Casey');
SELECT tbf_rollup_create('m', 'log', 'url', 'at', tiers => '{hour,day,month}', keep => '{1 day,3 days,null}', zone => 'Antarctica/Casey');
INSERT INTO log SELECT at, '/' || at FROM generate_series(timestamptz '2010-03-02', '2010-03-08', '20 minutes') at;
CALL tbf_rollup_refresh('r');
CALL tbf_rollup_refresh('r');
SELECT starts, ends, closed, hits, oldest, newest FROM r ORDER BY starts;
CALL tbf_rollup_refresh('m');
SELECT sum(hits) = (SELECT count(*) FROM log) AS all_hits, bool_and(oldest >= starts AND newest < ends) AS within FROM m;
INSERT INTO log SELECT at + interval '1 minute', '/late' FROM generate_series(timestamptz '2010-03-02', '2010-03-08', '20 minutes') at;
CALL tbf_rollup_refresh('m', '2010-03-01', NULL);
CALL tbf_rollup_refresh('m', '2010-03-01', NULL);
SELECT sum(hits) = (SELECT count(*) FROM log) AS all_hits, bool_and(oldest >= starts AND newest < ends) AS within FROM m;
SELECT tbf_rollup_drop('r'), tbf_rollup_drop('m');
-- Buckets follow each other without gaps, and each time is within its bucket.
CREATE FUNCTION pg_temp.wrong_buckets(zone text, first timestamptz, last timestamptz) RETURNS TABLE (unit text, n bigint) LANGUAGE sql AS $$
	SELECT unit, count(*) FROM unnest('{minute,hour,day,week,month,quarter,year}'::text[]) unit, generate_series(first, last, '30 minutes') at,
		_tbf_rollup_bucket_start(at, unit, zone) starts, _tbf_rollup_bucket_end(starts, unit, zone) ends
	WHERE starts > at OR ends <= at OR unit NOT IN ('minute', 'hour') AND (_tbf_rollup_bucket_start(starts, unit, zone) <> starts OR _tbf_rollup_bucket_start(ends, unit, zone) <> ends
		OR _tbf_rollup_bucket_start(ends - interval '1 microsecond', unit, zone) <> starts) GROUP BY unit
$$;
SELECT * FROM (VALUES ('Antarctica/Casey', timestamptz '2010-03-03', timestamptz '2010-03-07'), ('America/Havana', '2024-11-01', '2024-11-05'), ('America/Havana', '2024-03-08', '2024-03-12'), ('Pacific/Apia', '2011-12-28', '2012-01-02'),
	('Europe/Berlin', '2024-10-26', '2024-10-29'), ('America/Sao_Paulo', '2018-02-16', '2018-02-20'), ('UTC', '2024-12-30', '2025-01-02'), ('Asia/Kathmandu', '1985-12-30', '1986-01-02'), ('Pacific/Kwajalein', '1993-08-19', '1993-08-24'),
	('America/Juneau', '1867-10-16', '1867-10-21')) z(zone, first, last), LATERAL pg_temp.wrong_buckets(zone, first, last);
DROP TABLE log;

-- Times to keep are compared with months of 30 days, so the days of one tier may end later than those of the next one
-- by the calendar. No bucket is skipped by this.
CREATE TABLE log (at timestamptz, url text);
CREATE INDEX ON log (at);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', keep => '{31 days,1 month 2 days,null}');
CREATE PROCEDURE pg_temp.each_day() LANGUAGE plpgsql AS $$
BEGIN
	FOR day IN 57 .. 62 LOOP
		INSERT INTO log SELECT timestamptz '2023-01-01 01:00' + day * interval '1 day' - h * interval '1 hour', '/' FROM generate_series(0, CASE day WHEN 57 THEN 57 * 24 ELSE 23 END) h;
		CALL tbf_rollup_refresh('r');
	END LOOP;
END $$;
CALL pg_temp.each_day();
SELECT folded[2] <= folded[1] AS in_order, folded FROM tbf_rollup;
INSERT INTO log SELECT timestamptz '2023-01-30' + h * interval '1 hour', '/late' FROM generate_series(0, 47) h;
CALL tbf_rollup_refresh('r', '2023-01-30', '2023-02-01');
SELECT sum(hits) = (SELECT count(*) FROM log) AS all_hits FROM r;
SELECT count(*) AS twice FROM r a JOIN r b ON a.ctid <> b.ctid AND a.tier < b.tier AND a.starts < b.ends AND b.starts < a.ends;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- A publication of all tables needs to know which rows are changed.
CREATE TABLE log (at timestamptz, url text);
CREATE INDEX ON log (at);
SET client_min_messages = error;
CREATE PUBLICATION everything FOR ALL TABLES;
SET client_min_messages = warning;
SELECT tbf_rollup_create('r', 'log', 'url', 'at');
INSERT INTO log VALUES ('2024-01-01 12:00', '/');
CALL tbf_rollup_refresh('r');
INSERT INTO log VALUES ('2024-01-01 12:10', '/'), ('2024-01-01 20:00', '/');
CALL tbf_rollup_refresh('r');
SELECT starts, hits FROM r ORDER BY 1;
DROP PUBLICATION everything;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- The groups and times that are counted are those of the types that the columns had. With others the refresh fails,
-- unless the owner says that they mean the same.
CREATE TABLE log (at timestamp, site int, url text);
CREATE INDEX ON log (at);
INSERT INTO log SELECT timestamp '2024-01-01 12:00', 1, '/x' FROM generate_series(1, 10);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', group_by => '{site}');
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER site TYPE text;
CALL tbf_rollup_refresh('r');
SELECT sum(hits) FROM r;
ALTER TABLE log ALTER site TYPE bigint USING site::bigint;
CALL tbf_rollup_refresh('r');
UPDATE tbf_rollup SET column_types[2] = 'bigint';
INSERT INTO log VALUES ('2024-01-01 12:01', 1, '/x');
CALL tbf_rollup_refresh('r');
SELECT groups, sum(hits) FROM r GROUP BY 1;
SET timezone = 'Europe/Berlin';
ALTER TABLE log ALTER at TYPE timestamptz;
SET timezone = 'UTC';
CALL tbf_rollup_refresh('r');
SELECT sum(hits), (SELECT last_error FROM tbf_rollups) FROM r;
SELECT error_of($$UPDATE tbf_rollup SET column_types = '{text}'$$);
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- values of numeric are rounded to another scale; another precision changes none
CREATE TABLE log (at timestamptz, url text, price numeric(10, 2));
CREATE INDEX ON log (at);
INSERT INTO log VALUES ('2024-01-01 00:10', '/a', 1.26);
SELECT tbf_rollup_create('r', 'log', 'url', 'at', group_by => '{price}');
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER price TYPE numeric(12, 2);
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER price TYPE numeric(12, 1);
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER price TYPE numeric;
CALL tbf_rollup_refresh('r');
SELECT sum(hits) FROM r;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- lateness of a day where clocks change: what is complete does not depend on the zone of the session
CREATE TABLE log (at timestamptz, url text);
CREATE INDEX ON log (at);
INSERT INTO log VALUES ('2024-03-31 10:00', '/a');
SELECT tbf_rollup_create('r', 'log', 'url', 'at', lateness => '1 day');
CALL tbf_rollup_refresh('r');
SET timezone = 'Europe/Berlin';
SELECT complete_to AT TIME ZONE 'UTC' FROM tbf_rollups WHERE rollup = 'r'::regclass;
SET timezone = 'UTC';
SELECT complete_to FROM tbf_rollups WHERE rollup = 'r'::regclass;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- Settings that change how a value is written
CREATE TABLE log (at timestamptz, b bytea, m money);
CREATE INDEX ON log (at);
INSERT INTO log VALUES ('2024-01-01 12:00', '\x00ff', '1');
SELECT tbf_rollup_create('r', 'log', 'b::text', 'at', group_by => '{b,m}');
SET bytea_output = 'escape';
CALL tbf_rollup_refresh('r');
SET bytea_output = 'hex';
CALL tbf_rollup_refresh('r');
SELECT groups, hits, hot FROM r;
RESET bytea_output;
SELECT tbf_rollup_drop('r');
DROP TABLE log;

-- groups: an array that has other elements too is another group
CREATE TABLE log (at timestamptz, x float8, tags text[]);
INSERT INTO log VALUES ('2024-01-01 12:00', 0.1::float8 + 0.2::float8, '{a}'), ('2024-01-01 12:00', 0.1::float8 + 0.2::float8, '{a,b}'), ('2024-01-01 12:00', 0.3, NULL);
SELECT tbf_rollup_create('r', 'log', 'x', 'at', group_by => '{tags}');
CALL tbf_rollup_refresh('r');
SELECT groups.*, c.* FROM (VALUES ('{"tags": ["a"]}'::jsonb), ('{"tags": []}'), ('{"tags": null}'), ('{}')) groups(g), tbf_rollup_top_between('r', NULL, NULL, groups => g) c ORDER BY g::text, c.item;
-- An item is found whatever the session prints of a number.
SET extra_float_digits = 0;
SELECT DISTINCT x, c.* FROM log, tbf_rollup_count_between('r', x, NULL, NULL) c WHERE tags IS NOT NULL;
SELECT DISTINCT x, c.* FROM log, tbf_rollup_count('r', x, '2024-01-02', '1') c WHERE tags IS NOT NULL;
RESET extra_float_digits;
SELECT tbf_rollup_drop('r');

-- A question runs no cast that the owner of the items' type has written.
CREATE TYPE span AS RANGE (subtype = integer);
CREATE FUNCTION text_of(span) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a cast ran'; RETURN 'cast'; END $$;
CREATE FUNCTION span_of(text) RETURNS span LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a cast ran'; RETURN 'empty'; END $$;
SELECT tbf_rollup_create('r', 'log', 'public.span(x::integer, x::integer + 1)', 'at');
CALL tbf_rollup_refresh('r');
CREATE CAST (span AS text) WITH FUNCTION text_of(span);
CREATE CAST (text AS span) WITH FUNCTION span_of(text);
SELECT item, hits_from, hits_to FROM tbf_rollup_top('r', at => '2024-01-02', weight => '1');
SELECT item, hits_from, hits_to FROM tbf_rollup_top_by_group('r', at => '2024-01-02', weight => '1', counted => true);
SELECT item, hits_from, hits_to FROM tbf_rollup_risers('r', at => '2024-01-02', at_least => 1);
SELECT * FROM tbf_rollup_count('r', '[0,1)', '2024-01-02', '1');
SELECT tbf_rollup_drop('r');
DROP TYPE span CASCADE;

-- The definition tells from when rows are open: with each hour of an ordinary refresh this is later.
TRUNCATE log;
SELECT tbf_rollup_create('r', 'log', 'x', 'at');
CREATE PROCEDURE hours(first integer, last integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR h IN first .. last LOOP
		INSERT INTO log SELECT '2024-01-01'::timestamptz + h * interval '1 hour' + i * interval '10 minutes', i FROM generate_series(1, 5) i;
		COMMIT;
		CALL tbf_rollup_refresh('r');
	END LOOP;
END $$;
CALL hours(0, 9);
SELECT open_from, (SELECT min(starts) FROM r WHERE NOT closed) AS open, counted_to FROM tbf_rollup;
CALL hours(10, 12);
SELECT open_from, (SELECT min(starts) FROM r WHERE NOT closed) AS open, counted_to FROM tbf_rollup;
CALL tbf_rollup_refresh('r');
SELECT open_from, (SELECT min(starts) FROM r WHERE NOT closed) AS open, counted_to FROM tbf_rollup;
DROP PROCEDURE hours(integer, integer);
SELECT tbf_rollup_drop('r');
DROP TABLE log;
