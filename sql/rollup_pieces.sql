-- rollup_pieces: the rows of an open bucket become fewer, however many items they have; and how many hits an item may
-- have that is in no list of a row that was made of others

SET timezone = 'UTC';
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on


-- 90 pieces of 1,500 items each, that is twice what an exact filter can hold; as refreshes would have written them,
-- before their hits left the source
CREATE TABLE many AS SELECT timestamptz '2024-01-01 00:00' + m * interval '30 seconds' AS at, m * 1500 + i AS n
	FROM generate_series(0, 89) m, generate_series(1, 1500) i, generate_series(1, greatest(4 - i, 1)) hit;
CREATE TABLE log (at timestamptz, n int);
CREATE INDEX ON log (at);
SELECT tbf_rollup_create('h', 'log', 'n', 'at', half_life => NULL, top => 20);
INSERT INTO h SELECT 1, '2024-01-01 00:00', '2024-01-01 01:00', false, '{}', at, at, count(*), tbf_agg(n, NULL::timestamptz, NULL::interval), '{}', '{}', 0, 3 FROM many GROUP BY at;
INSERT INTO log VALUES ('2024-01-01 00:50', 1);
INSERT INTO many TABLE log;
CALL tbf_rollup_refresh('h');
SELECT count(*) AS rows, sum(hits) = (SELECT count(*) FROM many) AS all_hits FROM h;
-- the next refresh leaves these rows alone
CREATE TEMP TABLE before AS SELECT ctid AS id, xmin::text AS made FROM h;
INSERT INTO log VALUES ('2024-01-01 00:51', 2);
INSERT INTO many VALUES ('2024-01-01 00:51', 2);
CALL tbf_rollup_refresh('h');
SELECT count(*) AS kept FROM h JOIN before ON h.ctid = id AND h.xmin::text = made;
-- closed: one row, whose filter has counters. No list has any of its items, and it says how many hits they have at most.
-- That is close to the truth: the rows that were gathered add up, and not the 90 pieces.
INSERT INTO log VALUES ('2024-01-01 09:00', 1);
CALL tbf_rollup_refresh('h');
SELECT layout, closed, hot, hot_rest FROM h, tbf_info(f) WHERE starts < '2024-01-01 09:00';
SELECT max(hits) AS hits_of_others FROM (SELECT n, count(*) AS hits FROM many WHERE n NOT IN (1, 2) GROUP BY n) s;
SELECT sum(hits) = (SELECT count(*) + 1 FROM many) AS all_hits FROM h;
SELECT tbf_rollup_drop('h');
DROP TABLE many, log;

-- a day of exact hours, each with the same nine hot items: others have at most what one of them has, not 24 times that
CREATE TABLE log (at timestamptz, n int);
CREATE INDEX ON log (at);
INSERT INTO log SELECT timestamptz '2024-01-01 00:00' + h * interval '1 hour' + i * interval '1 second', i FROM generate_series(0, 23) h, generate_series(1, 9) i, generate_series(1, 5) hit;
INSERT INTO log SELECT timestamptz '2024-01-01 00:00' + h * interval '1 hour' + i * interval '1 second', h * 100 + 10 + i % 50 FROM generate_series(0, 23) h, generate_series(1, 150) i;
SELECT tbf_rollup_create('h', 'log', 'n', 'at', half_life => NULL, top => 9, tiers => '{hour,day}', keep => '{5 days,null}');
CALL tbf_rollup_refresh('h');
INSERT INTO log VALUES ('2024-01-20 00:00', 1);
CALL tbf_rollup_refresh('h');
SELECT tier, starts, hits, hot, hot_hits, hot_over, hot_rest FROM h ORDER BY starts;
SELECT tbf_rollup_drop('h');
DROP TABLE log;

-- a few late hits are a piece without a list, which leaves room for them; more of them are listed, and so are the
-- hits of a bucket that is not over
CREATE TABLE log (at timestamptz, n int);
CREATE INDEX ON log (at);
INSERT INTO log SELECT timestamptz '2024-01-01 00:00' + i * interval '100 ms', i % 50 FROM generate_series(1, 5000) i;
SELECT tbf_rollup_create('h', 'log', 'n', 'at', half_life => NULL);
CALL tbf_rollup_refresh('h');
INSERT INTO log SELECT '2024-01-01 00:10', 6 FROM generate_series(1, 4);
CALL tbf_rollup_refresh('h');
INSERT INTO log VALUES ('2024-01-01 01:05', 1);
CALL tbf_rollup_refresh('h');
INSERT INTO log SELECT '2024-01-01 00:20', 7 FROM generate_series(1, 4);
CALL tbf_rollup_refresh('h');
INSERT INTO log SELECT '2024-01-01 00:30', 8 FROM generate_series(1, 6);
CALL tbf_rollup_refresh('h');
SELECT hits, cardinality(hot), CASE WHEN hits < 10 THEN hot::text END AS hot, hot_rest FROM h WHERE starts < '2024-01-01 01:00' ORDER BY hits, hot;
SELECT * FROM tbf_rollup_top('h', 3, '2024-01-01 00:40');
-- pieces without a list add up to no more than a twentieth of the hits
SELECT format('INSERT INTO log SELECT timestamptz ''2024-01-01 00:40'' + %s * interval ''1 ms'', 9 FROM generate_series(1, 4)', i), 'CALL tbf_rollup_refresh(''h'')' FROM generate_series(1, 70) i
\set ECHO none
\gexec
\set ECHO all
SELECT sum(hot_rest) * 20 <= sum(hits) AS little, count(*) < 62 AS gathered FROM h WHERE starts < '2024-01-01 01:00';
SELECT hits_from <= 380 AND hits_to >= 380 AND hits_to <= 380 + 0.05 * 5300 AS close FROM tbf_rollup_top('h', 1, '2024-01-01 00:50') WHERE item = '9';
-- a log whose newest hit stays in the last minutes of an hour: its pieces are gathered, too
INSERT INTO log VALUES ('2024-01-01 01:57', 1);
SELECT format('INSERT INTO log VALUES (timestamptz ''2024-01-01 01:40'' + %s * interval ''1 ms'', 10)', i), 'CALL tbf_rollup_refresh(''h'')' FROM generate_series(1, 130) i
\set ECHO none
\gexec
\set ECHO all
SELECT count(*) < 125 AS gathered, sum(hits) FROM h WHERE starts >= '2024-01-01 01:00';
SELECT tbf_rollup_drop('h');
DROP TABLE log;
