-- index_summarize: ranges become summarized at build, by VACUUM, on demand and as they fill, and can be made to forget
CREATE TABLE grown (v integer, filler text) WITH (autovacuum_enabled = off);
CREATE INDEX grown_bf ON grown USING bf (v) WITH (pages_per_range = 4);
CREATE VIEW states AS
	SELECT s.ranges, s.summarized, s.placeholders, s.unsummarized, s.groups FROM bf_index_stats('grown_bf') s WHERE "column" = 'v';
SELECT * FROM states;

-- rows of an empty table are not summarized: always read
INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
SELECT * FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 500');
-- VACUUM summarizes full ranges, and settles the size of the filters then
VACUUM grown;
SELECT * FROM states;
-- on demand also the last one
SELECT bf_summarize_new_values('grown_bf'), bf_summarize_new_values('grown_bf');
SELECT * FROM states;
SELECT answers('SELECT v FROM grown WHERE v = 1000'), answers('SELECT v FROM grown WHERE v = -1');
-- into a summarized range
INSERT INTO grown VALUES (-5, '');
SELECT answers('SELECT v FROM grown WHERE v = -5'), bf_index_check('grown_bf');

-- one range
SELECT bf_desummarize_range('grown_bf', 5);
SELECT * FROM states;
INSERT INTO grown VALUES (-6, '');
SELECT bf_summarize_range('grown_bf', 6), bf_summarize_range('grown_bf', 6), bf_summarize_range('grown_bf', 1000000);
SELECT * FROM states;
SELECT bf_desummarize_range('grown_bf', 1000000);

-- the table grows on: more groups, of more ranges
INSERT INTO grown SELECT i, repeat('x', 500) FROM generate_series(1001, 20000) i;
SELECT bf_summarize_new_values('grown_bf') > 200;
SELECT ranges = summarized AS all_summarized, groups FROM states;
SELECT answers(format('SELECT v FROM grown WHERE v = %s', i)), count(*) AS times FROM generate_series(1, 20000, 997) i GROUP BY 1;
SELECT bf_index_check('grown_bf');
-- a value in one range of hundreds: few other ranges are read for it
SELECT sum((bf_of('grown_bf', block * 4) @> 12345)::integer) BETWEEN 1 AND 5 AS few FROM generate_series(0, 300) block
WHERE bf_of('grown_bf', block * 4) IS NOT NULL;

-- groups have filters of sizes of their own, which do not unite
SELECT bf_of('grown_bf');

-- ranges whose rows are all dead: their old values go with a new summary
DELETE FROM grown WHERE v BETWEEN 100 AND 15000;
VACUUM grown;
SELECT bf_of('grown_bf', 100) @> 1420 AS before;
SELECT bf_desummarize_range('grown_bf', 100), bf_summarize_range('grown_bf', 100);
SELECT bf_of('grown_bf', 100) @> 1420 AS after, round((bf_info(bf_of('grown_bf', 100))).cardinality) AS items;
SELECT answers('SELECT v FROM grown WHERE v = 15001'), bf_index_check('grown_bf');

-- VACUUM cuts off the end of the table; rows come again where it was
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

-- as they fill, by who fills them; also in the transaction that made the table
BEGIN;
CREATE TABLE filled (v integer, filler text);
CREATE INDEX filled_bf ON filled USING bf (v) WITH (pages_per_range = 2, autosummarize = on);
INSERT INTO filled SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i;
COMMIT;
SELECT unsummarized <= 1 AS all_but_the_last FROM bf_index_stats('filled_bf');
-- what is rolled back leaves nothing but bits
BEGIN;
INSERT INTO filled SELECT i, repeat('y', 500) FROM generate_series(5001, 7000) i;
ROLLBACK;
INSERT INTO filled SELECT i, repeat('z', 500) FROM generate_series(7001, 8000) i;
SELECT answers('SELECT v FROM filled WHERE v = 6000'), answers('SELECT v FROM filled WHERE v = 7999'), bf_index_check('filled_bf');
ALTER INDEX filled_bf SET (autosummarize = off);
INSERT INTO filled SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
SELECT unsummarized > 10 AS no_more FROM bf_index_stats('filled_bf');

-- parameters are those of the build; a changed one takes effect with the next
ALTER INDEX filled_bf SET (pages_per_range = 16, false_positive_rate = 0.1);
SELECT DISTINCT pages_per_range, false_positive_rate FROM bf_index_stats('filled_bf');
REINDEX INDEX filled_bf;
SELECT DISTINCT pages_per_range, false_positive_rate FROM bf_index_stats('filled_bf');

-- the rate that was asked for is the rate that there is; a column that grows beyond its plan says so and stays right
CREATE TABLE rates (id integer, few integer) WITH (fillfactor = 50);
INSERT INTO rates SELECT i, i % 10 FROM generate_series(1, 200000) i;
CREATE INDEX rates_bf ON rates USING bf (id, few) WITH (pages_per_range = 16, false_positive_rate = 0.01);
SELECT "column", current_false_positive_rate BETWEEN 0.0001 AND 0.0101 AS as_asked, false_positive_rate FROM bf_index_stats('rates_bf') WHERE "column" = 'id';
SELECT sum((bf_of('rates_bf', block * 16) @> -value)::integer) / count(*)::float8 < 0.012 AS measured
FROM generate_series(0, 100) block, generate_series(1, 100) value WHERE bf_of('rates_bf', block * 16) IS NOT NULL;
UPDATE rates SET few = id WHERE id <= 20000;
SELECT answers('SELECT * FROM rates WHERE few = 12345'), bf_index_check('rates_bf');
SELECT current_false_positive_rate > 0.0101 AS degraded FROM bf_index_stats('rates_bf') WHERE "column" = 'few';

DROP VIEW states;
DROP TABLE grown, filled, rates;
