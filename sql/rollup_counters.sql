-- rollup_counters: the bounds of a roll-up of more than 65,536 items in an hour, whose filters have counters

SET timezone = 'UTC';
SET client_min_messages = error;
\pset format unaligned
\pset tuples_only on

-- Filters with counters may count an item too high, so that a new hit of it seems to be counted already. Then the row
-- stands for the hit: its hits, the bounds of its list, and its times have room for it.
CREATE TABLE many (at timestamptz, n int);
CREATE INDEX ON many (at);
SELECT tbf_rollup_create('h', 'many', 'n', 'at', half_life => NULL, top => 100);
INSERT INTO many SELECT timestamptz '2024-01-01 00:00' + i * interval '30 milliseconds', i FROM generate_series(1, 66000) i;
CALL tbf_rollup_refresh('h');
SELECT layout, hits, hot_over, hot_rest FROM h, tbf_info(f);
-- wrong bounds of all hits, and of the hits since a time
CREATE FUNCTION pg_temp.wrong(since timestamptz) RETURNS TABLE (wrong text, n bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY WITH e AS MATERIALIZED (SELECT many.n::text AS item, count(*) AS hits FROM many GROUP BY many.n), t AS MATERIALIZED (SELECT * FROM tbf_rollup_top('h', 100, '2024-01-03', weight => '1')),
			w AS MATERIALIZED (SELECT many.n::text AS item, count(*) AS hits FROM many WHERE at >= since GROUP BY many.n), l AS MATERIALIZED (SELECT * FROM tbf_rollup_top_between('h', since, NULL, 100)),
			s AS MATERIALIZED (SELECT * FROM e ORDER BY hits DESC, item LIMIT 60)
		SELECT 'listed', count(*) FROM t JOIN e USING (item) WHERE hits NOT BETWEEN hits_from AND hits_to
		UNION ALL SELECT 'others', count(*) FROM e WHERE item NOT IN (SELECT item FROM t) AND hits > (SELECT max(others_to) FROM t)
		UNION ALL SELECT 'listed since', count(*) FROM l JOIN w USING (item) WHERE hits NOT BETWEEN hits_from AND hits_to
		UNION ALL SELECT 'others since', count(*) FROM w WHERE item NOT IN (SELECT item FROM l) AND hits > (SELECT max(others_to) FROM l)
		UNION ALL SELECT 'counted', count(*) FROM s, tbf_rollup_count('h', item, '2024-01-03', '1') WHERE hits NOT BETWEEN hits_from AND hits_to
		UNION ALL SELECT 'counted since', count(*) FROM s JOIN w USING (item), tbf_rollup_count_between('h', item, since, NULL) WHERE w.hits NOT BETWEEN hits_from AND hits_to
		UNION ALL SELECT 'all hits', (SELECT sum(hits)::bigint FROM h) - (SELECT count(*) FROM many);
END $$;
-- hits of items that the filter counts too high, all before the newest hit
CREATE TEMP TABLE over AS SELECT n FROM many, h, tbf_count(f, n) c WHERE c > 1;
SELECT count(*) > 20 AS over FROM over;
INSERT INTO many SELECT '2024-01-01 00:30', n FROM over;
CALL tbf_rollup_refresh('h');
SELECT count(*) FROM h;
SELECT * FROM pg_temp.wrong('2024-01-01 00:29');
-- the same beside a new item, so that the bucket gets a piece
INSERT INTO many SELECT '2024-01-01 00:31', n FROM over;
INSERT INTO many VALUES ('2024-01-01 00:31', 900001);
CALL tbf_rollup_refresh('h');
INSERT INTO many VALUES ('2024-01-01 00:31', 900002);
CALL tbf_rollup_refresh('h');
SELECT count(*) FROM h;
SELECT * FROM pg_temp.wrong('2024-01-01 00:29');
CREATE TEMP TABLE before AS SELECT ctid AS id, xmin::text AS made FROM h;
CALL tbf_rollup_refresh('h');
SELECT count(*) AS changed FROM (SELECT ctid AS id, xmin::text AS made FROM h) a FULL JOIN before b USING (id, made) WHERE a.id IS NULL OR b.id IS NULL;
-- packed
SELECT _tbf_rollup_fold('h', $$ctid IN (SELECT id FROM public._tbf_rollup_pieces('public.h', '2024-01-01 00:00'))$$, false);
SELECT count(*) FROM h;
SELECT * FROM pg_temp.wrong('2024-01-01 00:29');
-- a second row with counters, and hits that it takes for counted ones
INSERT INTO many SELECT timestamptz '2024-01-01 00:40' + i * interval '1 millisecond', i + 200000 FROM generate_series(1, 66000) i;
CALL tbf_rollup_refresh('h');
SELECT layout FROM h, tbf_info(f) ORDER BY 1;
TRUNCATE over;
INSERT INTO over SELECT item FROM (SELECT n AS item, count(*) AS known FROM many GROUP BY n OFFSET 0) m, h, tbf_count(f, item) c GROUP BY item, known HAVING sum(c) > known;
SELECT count(*) > 20 AS over FROM over;
INSERT INTO many SELECT '2024-01-01 00:40', n FROM over;
CALL tbf_rollup_refresh('h');
SELECT * FROM pg_temp.wrong('2024-01-01 00:39');
-- closed, and folded into a day
INSERT INTO many VALUES ('2024-01-01 04:00', 1);
CALL tbf_rollup_refresh('h');
SELECT count(*), count(*) FILTER (WHERE closed) AS closed FROM h;
SELECT * FROM pg_temp.wrong('2024-01-01 00:29');
INSERT INTO many VALUES ('2024-02-07 04:00', 1);
CALL tbf_rollup_refresh('h');
DELETE FROM many WHERE at > '2024-02-01';
DELETE FROM h WHERE starts > '2024-02-01';
SELECT tier, count(*) FROM h GROUP BY tier;
SELECT * FROM pg_temp.wrong('2024-01-01 00:29');
SELECT tbf_rollup_drop('h');
DROP TABLE many;
