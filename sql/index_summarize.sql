-- index_summarize: ranges are summarized by a build, by VACUUM and on demand, and can be made unsummarized
CREATE TABLE grown (v integer, filler text) WITH (autovacuum_enabled = off);
CREATE INDEX grown_bf ON grown USING bf (v) WITH (pages_per_range = 4);
CREATE VIEW states AS
	SELECT s.ranges, s.summarized, s.placeholders, s.unsummarized, s.groups FROM bf_index_stats('grown_bf') s WHERE "column" = 'v' AND level = 0;
SELECT * FROM states;

-- rows that are added to an empty table are not summarized, so they are always read
INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
SELECT * FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 500');
-- VACUUM summarizes all ranges, also the last one; the size of the filters is found then
VACUUM grown;
SELECT * FROM states;
-- on demand the same is done
SELECT bf_summarize_new_values('grown_bf'), bf_summarize_new_values('grown_bf');
SELECT * FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 1000'), answers('SELECT v FROM grown WHERE v = -1');
-- a row is added to a summarized range
INSERT INTO grown VALUES (-5, '');
SELECT answers('SELECT v FROM grown WHERE v = -5'), bf_index_check('grown_bf');

-- one range
SELECT bf_desummarize_range('grown_bf', 5);
SELECT * FROM states;
INSERT INTO grown VALUES (-6, '');
SELECT bf_summarize_range('grown_bf', 6), bf_summarize_range('grown_bf', 6), bf_summarize_range('grown_bf', 1000000);
SELECT * FROM states;
SELECT bf_desummarize_range('grown_bf', 1000000);

-- the table goes on growing: there are more groups, with more ranges
INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(1001, 20000) i;
SELECT bf_summarize_new_values('grown_bf') > 200;
SELECT ranges = summarized AS all_summarized, groups FROM states;
SELECT answers(format('SELECT v FROM grown WHERE v = %s', i)), count(*) AS times FROM generate_series(1, 20000, 997) i GROUP BY 1;
SELECT bf_index_check('grown_bf');
-- a value is in one of hundreds of ranges: few other ranges are read for it
SELECT sum((bf_of('grown_bf', block * 4) @> 12345)::integer) BETWEEN 1 AND 5 AS few FROM generate_series(0, 300) block
WHERE bf_of('grown_bf', block * 4) IS NOT NULL;

-- the groups have filters of different sizes, which have no union
SELECT bf_of('grown_bf');

-- ranges whose rows are all dead: a new summary does not have their values any more
DELETE FROM grown WHERE v BETWEEN 100 AND 15000;
VACUUM grown;
SELECT bf_of('grown_bf', 100) @> 1420 AS before;
SELECT bf_desummarize_range('grown_bf', 100), bf_summarize_range('grown_bf', 100);
SELECT bf_of('grown_bf', 100) @> 1420 AS after, round((bf_info(bf_of('grown_bf', 100))).cardinality) AS items;
SELECT answers('SELECT v FROM grown WHERE v = 15001'), bf_index_check('grown_bf');

-- VACUUM cuts off the end of the table, and then rows are added there again
DELETE FROM grown WHERE v > 5000 OR v > 50;
VACUUM (TRUNCATE) grown;
SELECT ranges < 20 AS truncated FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 19999');
INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(30001, 36000) i;
SELECT ranges > 50 AS grown_again, unsummarized FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 35999'), answers('SELECT v FROM grown WHERE v = 19999'), bf_index_check('grown_bf');

TRUNCATE grown;
SELECT * FROM states;
INSERT INTO grown VALUES (1, 'a');
SELECT bf_summarize_new_values('grown_bf');
SELECT * FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 1');

-- rows that are rolled back leave nothing but bits
CREATE TABLE filled (v integer, filler text);
CREATE INDEX filled_bf ON filled USING bf (v) WITH (pages_per_range = 2);
INSERT INTO filled SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i;
SELECT bf_summarize_new_values('filled_bf') > 60 AS summarized;
BEGIN;
INSERT INTO filled SELECT i, repeat('y', 500) FROM generate_series(5001, 7000) i;
ROLLBACK;
INSERT INTO filled SELECT i, repeat('z', 500) FROM generate_series(7001, 8000) i;
SELECT answers('SELECT v FROM filled WHERE v = 6000'), answers('SELECT v FROM filled WHERE v = 7999'), bf_index_check('filled_bf');

-- the parameters of the last build hold; changed ones take effect with the next build
ALTER INDEX filled_bf SET (pages_per_range = 16, false_positive_rate = 0.1);
SELECT DISTINCT pages_per_range, false_positive_rate FROM bf_index_stats('filled_bf');
REINDEX INDEX filled_bf;
SELECT DISTINCT pages_per_range, false_positive_rate FROM bf_index_stats('filled_bf');

-- the rate is the one that was asked for; a column with more values than planned shows a higher rate, and its answers stay right
CREATE TABLE rates (id integer, few integer) WITH (fillfactor = 50);
INSERT INTO rates SELECT i, i % 10 FROM generate_series(1, 200000) i;
CREATE INDEX rates_bf ON rates USING bf (id, few) WITH (pages_per_range = 16, false_positive_rate = 0.01);
SELECT "column", current_false_positive_rate BETWEEN 0.0001 AND 0.0101 AS as_asked, false_positive_rate FROM bf_index_stats('rates_bf') WHERE "column" = 'id';
SELECT sum((bf_of('rates_bf', block * 16) @> -value)::integer) / count(*)::float8 < 0.012 AS measured
FROM generate_series(0, 100) block, generate_series(1, 100) value WHERE bf_of('rates_bf', block * 16) IS NOT NULL;
UPDATE rates SET few = id WHERE id <= 20000;
SELECT answers('SELECT * FROM rates WHERE few = 12345'), bf_index_check('rates_bf') BETWEEN 200000 AND 220000 AS checked;
SELECT current_false_positive_rate > 0.0101 AS degraded FROM bf_index_stats('rates_bf') WHERE "column" = 'few';

DROP VIEW states;
DROP TABLE grown, filled, rates;
