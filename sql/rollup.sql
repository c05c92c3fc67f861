-- rollup: making, refreshing, asking and dropping roll-ups. Each count is compared with the exact answer of SQL over the rows that the
-- source had. test/tap/rollups_that_keep_themselves.pl replays logs; sql/rollup_refused.sql has what is refused.

SET timezone = 'UTC';
SET client_min_messages = warning;

-- Counts of all items beside exact ones: rows that differ. Where nothing was folded into filters with counters, counts are exact.
CREATE FUNCTION pg_temp.differences(rollup regclass, exact text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) e, tbf_rollup_count_between(%L, e.item::text, NULL, NULL) c WHERE (c.hits_from = e.hits AND c.hits_to = e.hits) IS NOT TRUE', exact, rollup) INTO n;
	EXECUTE format('SELECT $1 + CASE WHEN (SELECT coalesce(sum(hits), 0) FROM %s) = (SELECT coalesce(sum(hits), 0) FROM (%s) e) THEN 0 ELSE 1000000 END', rollup, exact) INTO n USING n;
	RETURN n;
END $$;

CREATE TABLE access_log (at timestamptz, site text, url text, bytes int);
CREATE INDEX ON access_log (at);
SELECT tbf_rollup_create('page_heat', 'access_log', 'url', 'at');
SELECT tbf_rollup_create('site_heat', 'access_log', 'lower(url)', 'at', condition => 'bytes > 0', weight => 'bytes', group_by => '{site}', half_life => NULL, top => 3,
	tiers => '{day,week}', keep => '{10 days,20 days}', lateness => '1 day', zone => 'Europe/Berlin');

-- an empty source
CALL tbf_rollup_refresh('page_heat');
SELECT count(*) FROM page_heat;
SELECT count(*) AS none FROM tbf_rollup_top('page_heat');
SELECT * FROM tbf_rollup_count('page_heat', '/');
SELECT * FROM tbf_rollup_distinct('page_heat');
SELECT tbf_rollup_filter('page_heat') IS NULL AS no_filter;
SELECT count(*) AS none FROM tbf_rollup_risers('page_heat');
SELECT rollup, counted_to, complete_to, last_error, next_step FROM tbf_rollups ORDER BY 1;

-- 100 days, out of order, with NULLs, a row of 1970, and one of tomorrow
INSERT INTO access_log
SELECT timestamptz '2024-03-01 UTC' + (i * 7919 % 8640000) * interval '1 second', CASE WHEN i % 5 = 0 THEN NULL ELSE 's' || i % 3 END, CASE WHEN i % 97 > 0 THEN '/' || (i * 31 % 1009) * (i * 31 % 1009) / 10000 END, i % 13
FROM generate_series(1, 20000) i;
INSERT INTO access_log VALUES ('1970-01-01 00:00 UTC', 's1', '/old', 1), (now() + interval '1 day', 's1', '/tomorrow', 1), (NULL, 's1', '/never', 1), ('infinity', 's1', '/never', 1), ('-infinity', 's1', '/never', 1);
CREATE TEMP VIEW counted AS SELECT * FROM access_log WHERE at > '-infinity' AND at < now();
CREATE TEMP VIEW pages AS SELECT url AS item, count(*) AS hits FROM counted WHERE url IS NOT NULL GROUP BY 1;
CALL tbf_rollup_refresh('page_heat');
SELECT pg_temp.differences('page_heat', 'TABLE pages');
SELECT tier, min(starts), max(ends), count(*) > 20 AS many, sum(hits) FROM page_heat GROUP BY tier ORDER BY tier;
SELECT count(*) AS rows_of_a_bucket_that_overlap FROM page_heat a JOIN page_heat b ON a.ctid < b.ctid AND a.starts < b.ends AND b.starts < a.ends AND (a.closed OR b.closed OR a.tier <> b.tier);
SELECT counted_to, complete_to, folded FROM tbf_rollups WHERE rollup = 'page_heat'::regclass;

-- a refresh without new rows changes nothing
CREATE TEMP TABLE before AS SELECT ctid AS id, xmin::text AS made, tier, starts FROM page_heat;
CREATE TEMP TABLE state_before AS SELECT ctid AS id FROM tbf_rollup_definitions WHERE rollup = 'page_heat'::regclass;
CALL tbf_rollup_refresh('page_heat');
SELECT count(*) AS changed FROM (SELECT ctid AS id, xmin::text AS made, tier, starts FROM page_heat) a FULL JOIN before b USING (id, made, tier, starts) WHERE a.id IS NULL OR b.id IS NULL;
SELECT s.id = r.ctid AS same_state FROM state_before s, tbf_rollup_definitions r WHERE rollup = 'page_heat'::regclass;

-- late rows within the lateness are counted by the next refresh, others by a refresh from and to
INSERT INTO access_log SELECT counted_to - i * interval '10 minutes', 's0', '/late', 1 FROM tbf_rollups, generate_series(0, 11) i WHERE rollup = 'page_heat'::regclass;
CALL tbf_rollup_refresh('page_heat');
SELECT pg_temp.differences('page_heat', 'TABLE pages');
INSERT INTO access_log VALUES ('2024-03-05 10:00 UTC', 's0', '/later', 5), ('2024-06-01 10:00 UTC', 's0', '/later', 5), ('2024-06-01 12:00 UTC', 's0', '/later', 5), ('1999-12-31 23:59 UTC', 's0', '/later', 5);
CALL tbf_rollup_refresh('page_heat');
SELECT hits_to FROM tbf_rollup_count_between('page_heat', '/later', NULL, NULL);
CALL tbf_rollup_refresh('page_heat', '2024-06-01 11:30 UTC', '2024-06-01 12:01 UTC');
SELECT hits_to FROM tbf_rollup_count_between('page_heat', '/later', NULL, NULL);
CALL tbf_rollup_refresh('page_heat', NULL, '2024-03-05 10:01 UTC');
CALL tbf_rollup_refresh('page_heat', '2024-06-01 10:00 UTC', NULL);
SELECT pg_temp.differences('page_heat', 'TABLE pages');
SELECT count(*) AS several FROM (SELECT FROM page_heat GROUP BY tier, starts, groups HAVING count(*) > 1 AND bool_or(closed)) s;

-- the bounds of what is hot beside the exact sums, for three decays and two times
CREATE FUNCTION pg_temp.decayed(asked timestamptz, decay text) RETURNS TABLE (item text, hits float8) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT url, sum((%s)::float8) FROM (SELECT url, $1 - at AS age, interval ''0'' AS width FROM counted WHERE url IS NOT NULL AND at <= $1) s GROUP BY url', decay) USING asked;
END $$;
SELECT asked, decay, count(*) AS items, count(*) FILTER (WHERE t.item IS NOT NULL) AS listed,
	count(*) FILTER (WHERE e.hits < t.hits_from * (1 - 1e-9)) AS below, count(*) FILTER (WHERE e.hits > t.hits_to * (1 + 1e-9)) AS above, count(*) FILTER (WHERE t.item IS NULL AND e.hits > others_to_ * (1 + 1e-9)) AS others,
	count(*) FILTER (WHERE c.item IS NOT NULL) AS counted, count(*) FILTER (WHERE e.hits NOT BETWEEN c.hits_from * (1 - 1e-9) AND c.hits_to * (1 + 1e-9)) AS counted_wrong,
	round(max(c.hits_to / nullif(c.hits_from, 0))::numeric, 2) AS widest
FROM unnest(ARRAY[timestamptz '2024-06-08 18:00 UTC', '2024-04-15 12:34:56 UTC']) asked,
	unnest('{decay_exponential(age),"decay_polynomial(age, 1, ''1 day'')","decay_polyexponential(age, 2, ''1 day'', width)",1}'::text[]) decay,
	LATERAL (SELECT * FROM pg_temp.decayed(asked, decay)) e LEFT JOIN LATERAL (SELECT * FROM tbf_rollup_top('page_heat', 1000, asked, decay)) t USING (item) LEFT JOIN LATERAL (SELECT * FROM tbf_rollup_top('page_heat', 10, asked, decay, counted => true)) c USING (item),
	LATERAL (SELECT max(others_to) AS others_to_ FROM tbf_rollup_top('page_heat', 1, asked, decay)) o
GROUP BY asked, decay ORDER BY asked, decay;

-- groups and weights
CREATE TEMP VIEW sites AS SELECT lower(url) AS item, sum(bytes) AS hits FROM counted WHERE bytes > 0 AND url IS NOT NULL AND at >= '2024-05-20 00:00 Europe/Berlin' GROUP BY 1;
CALL tbf_rollup_refresh('site_heat');
SELECT pg_temp.differences('site_heat', 'TABLE sites');
SELECT tier, min(starts AT TIME ZONE 'Europe/Berlin'), max(ends AT TIME ZONE 'Europe/Berlin'), count(*), count(DISTINCT groups) FROM site_heat GROUP BY tier ORDER BY tier;
SELECT groups, item, hits_from, hits_to, hits = hits_to AS exact FROM tbf_rollup_top_by_group('site_heat', 2, counted => true) t
	JOIN (SELECT site, lower(url) AS item, sum(bytes) AS hits FROM counted WHERE bytes > 0 AND at >= '2024-05-20 00:00 Europe/Berlin' GROUP BY 1, 2) e USING (item) WHERE site IS NOT DISTINCT FROM groups ->> 'site' ORDER BY groups, hits_from DESC, item;
SELECT hits_to = (SELECT sum(bytes) FROM counted WHERE lower(url) = '/3' AND site = 's1' AND bytes > 0 AND at >= '2024-05-20 00:00 Europe/Berlin') AS of_a_group FROM tbf_rollup_count('site_heat', '/3', groups => '{"site": "s1"}');
SELECT hits_to = (SELECT sum(bytes) FROM counted WHERE lower(url) = '/3' AND site IS NULL AND bytes > 0 AND at >= '2024-05-20 00:00 Europe/Berlin') AS of_none FROM tbf_rollup_count('site_heat', '/3'::text, groups => '{"site": null}');

-- windows: the hits of a window that ends where buckets end are exact
SELECT count(*) FILTER (WHERE hits_from = hits AND hits_to = hits) AS exact, count(*) FROM (SELECT url, count(*) AS hits FROM counted WHERE at >= '2024-05-20' AND at < '2024-05-23' AND url IS NOT NULL GROUP BY 1) e,
	tbf_rollup_count_between('page_heat', url, '2024-05-20', '2024-05-23');
SELECT count(*) FILTER (WHERE hits BETWEEN hits_from AND hits_to) AS within, count(*) FILTER (WHERE hits_to - hits_from > 20) AS wide, count(*) FROM (SELECT url, count(*) AS hits FROM counted WHERE at >= '2024-03-20 10:15' AND at < '2024-05-23 02:20' AND url IS NOT NULL GROUP BY 1) e,
	tbf_rollup_count_between('page_heat', url, '2024-03-20 10:15', '2024-05-23 02:20');
SELECT items_from = items_to AND items_to = (SELECT count(DISTINCT url) FROM counted WHERE at >= '2024-05-20' AND at < '2024-05-23') AS distinct_items FROM tbf_rollup_distinct('page_heat', '2024-05-20', '2024-05-23');
SELECT count(*) AS ten, bool_and(hits BETWEEN hits_from AND hits_to) AS within FROM tbf_rollup_top_between('page_heat', '2024-05-20', '2024-05-23') t JOIN (SELECT url AS item, count(*) AS hits FROM counted WHERE at >= '2024-05-20' AND at < '2024-05-23' GROUP BY 1) e USING (item);

-- what rises: one page has hits on the last day only
INSERT INTO access_log SELECT timestamptz '2024-06-09 10:00' + i * interval '1 minute', 's0', '/new', 1 FROM generate_series(1, 60) i;
CALL tbf_rollup_refresh('page_heat');
SELECT item, hits_from, hits_to, before_from, before_to, rise FROM tbf_rollup_risers('page_heat', 1, '2024-06-09 12:00');

-- rows that vanish from the source stay counted, and what is made anew is never lower
CREATE TEMP TABLE pages_before AS TABLE pages;
DELETE FROM access_log WHERE at < '2024-06-09 11:00';
CALL tbf_rollup_refresh('page_heat');
CALL tbf_rollup_refresh('page_heat', '2024-01-01', now());
SELECT pg_temp.differences('page_heat', 'TABLE pages_before');
INSERT INTO access_log VALUES ('2024-06-12 00:00', 's0', '/', 1);
CALL tbf_rollup_refresh('page_heat');
SELECT pg_temp.differences('page_heat', 'SELECT item, hits + (item = ''/'')::int AS hits FROM pages_before UNION ALL SELECT ''/'', 1 WHERE NOT EXISTS (SELECT FROM pages_before WHERE item = ''/'')');
SELECT count(*) AS open FROM page_heat WHERE NOT closed;

-- a late hit of an hour that was closed long ago: its row is closed by the refresh that finds it
SELECT open_from > '2024-06-01' AS later FROM tbf_rollup WHERE rollup = 'page_heat'::regclass;
INSERT INTO access_log VALUES ('2024-06-01 00:30', 's0', '/late', 1);
CALL tbf_rollup_refresh('page_heat', '2024-06-01', '2024-06-02');
SELECT count(*) FILTER (WHERE NOT closed) AS open, count(*) FILTER (WHERE NOT closed AND starts < open_from) AS forgotten FROM page_heat, tbf_rollup WHERE rollup = 'page_heat'::regclass;

-- retention: the last tier forgets
INSERT INTO access_log VALUES ('2024-08-12 00:00', 's0', '/x', 7);
CALL tbf_rollup_refresh('site_heat');
SELECT tier, starts AT TIME ZONE 'Europe/Berlin' AS starts, hits FROM site_heat;
CALL tbf_rollup_refresh('site_heat', '-infinity', 'infinity');
SELECT count(*) FROM site_heat;

-- A filter with counters may count an item too high, so that a new hit seems to be counted already. Then the row
-- stands for this hit too, and gets its time. Otherwise a window, or a decay, would miss the hit.
CREATE TABLE many (at timestamptz, n int);
CREATE INDEX ON many (at);
SELECT tbf_rollup_create('many_heat', 'many', 'n', 'at', half_life => NULL);
INSERT INTO many SELECT timestamptz '2024-01-01 00:00' + i * interval '1 millisecond', i FROM generate_series(1, 70000) i;
CALL tbf_rollup_refresh('many_heat');
SELECT layout FROM many_heat, tbf_info(f);
INSERT INTO many SELECT timestamptz '2024-01-01 00:30' + i * interval '1 millisecond', i FROM generate_series(63001, 105000) i;
CALL tbf_rollup_refresh('many_heat');
SELECT count(*) AS items, count(*) FILTER (WHERE c.hits_to < e.hits) AS too_low FROM (SELECT n, count(*) AS hits FROM many WHERE at >= '2024-01-01 00:20' GROUP BY n) e, tbf_rollup_count_between('many_heat', n, '2024-01-01 00:20', '2024-01-01 02:00') c WHERE n % 1009 = 0;
SELECT count(*) AS items, count(*) FILTER (WHERE c.hits_to < e.hits OR c.hits_from > e.hits) AS wrong FROM (SELECT n, count(*) AS hits FROM many GROUP BY n) e, tbf_rollup_count_between('many_heat', n, NULL, NULL) c WHERE n % 1009 = 0;
CREATE TEMP TABLE many_before AS SELECT ctid AS id, xmin::text AS made FROM many_heat;
CALL tbf_rollup_refresh('many_heat');
SELECT count(*) AS changed FROM (SELECT ctid AS id, xmin::text AS made FROM many_heat) a FULL JOIN many_before b USING (id, made) WHERE a.id IS NULL OR b.id IS NULL;
SELECT tbf_rollup_drop('many_heat');
DROP TABLE many;

-- Pieces: each refresh with new hits writes one for each open bucket and its groups. Of sixty all become one row, of
-- each open bucket, and no hit is lost or doubled. A group of few pieces keeps them.
CREATE TABLE busy (at timestamptz, n int, site int);
CREATE INDEX ON busy (at);
SELECT tbf_rollup_create('busy_heat', 'busy', 'n', 'at', group_by => '{site}', half_life => NULL, top => 5);
CREATE TEMP VIEW busy_items AS SELECT n AS item, count(*) AS hits FROM busy GROUP BY n;
CREATE TEMP VIEW busy_rows AS SELECT to_char(starts, 'HH24:MI') AS starts, groups, closed, count(*), sum(hits) AS hits, max(cardinality(hot)) AS listed, max(hot_rest) AS rest FROM busy_heat GROUP BY starts, groups, closed ORDER BY starts, groups;
-- in each minute seven hits of site 1, and one of the hour before; one of site 2 in each tenth
CREATE PROCEDURE pg_temp.busy_minutes(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR m IN first .. last LOOP
		INSERT INTO busy SELECT timestamptz '2024-01-01 13:00' + m * interval '1 minute' + i * interval '1 second', (i * m) % 11, 1 FROM generate_series(1, 7) i;
		INSERT INTO busy VALUES (timestamptz '2024-01-01 12:00' + m * interval '1 minute', 100 + m, 1);
		INSERT INTO busy SELECT timestamptz '2024-01-01 13:00' + m * interval '1 minute', 200, 2 WHERE m % 10 = 0;
		CALL tbf_rollup_refresh('busy_heat');
	END LOOP;
END $$;
CALL pg_temp.busy_minutes(1, 59);
TABLE busy_rows;
CALL pg_temp.busy_minutes(60, 61);
TABLE busy_rows;
CALL pg_temp.busy_minutes(62, 70);
TABLE busy_rows;
SELECT pg_temp.differences('busy_heat', 'TABLE busy_items');
CREATE TEMP TABLE busy_before AS SELECT ctid AS id, xmin::text AS made FROM busy_heat;
CALL tbf_rollup_refresh('busy_heat');
SELECT count(*) AS changed FROM (SELECT ctid AS id, xmin::text AS made FROM busy_heat) a FULL JOIN busy_before b USING (id, made) WHERE a.id IS NULL OR b.id IS NULL;
-- a window inside of the hour, and the bounds of the lists
SELECT count(*) FILTER (WHERE e.hits BETWEEN hits_from AND hits_to) AS within, count(*) FROM (SELECT n, count(*) AS hits FROM busy WHERE at >= '2024-01-01 13:10' AND at < '2024-01-01 13:40' GROUP BY n) e, tbf_rollup_count_between('busy_heat', n, '2024-01-01 13:10', '2024-01-01 13:40');
SELECT count(*) FILTER (WHERE e.hits BETWEEN t.hits_from AND t.hits_to) AS within, count(t.item), count(*) FILTER (WHERE t.item IS NULL AND e.hits > (SELECT max(others_to) FROM tbf_rollup_top('busy_heat'))) AS others
FROM (SELECT n::text AS item, count(*) AS hits FROM busy GROUP BY n) e LEFT JOIN tbf_rollup_top('busy_heat') t USING (item);
-- closed: one row for each bucket and group
INSERT INTO busy VALUES ('2024-01-01 16:00', 1, 1);
CALL tbf_rollup_refresh('busy_heat');
TABLE busy_rows;
SELECT pg_temp.differences('busy_heat', 'TABLE busy_items');
DROP VIEW busy_rows;
SELECT tbf_rollup_drop('busy_heat');
-- Of pieces that together might have more items than an exact filter holds, as many are taken as it holds.
TRUNCATE busy;
SELECT tbf_rollup_create('busy_heat', 'busy', 'n', 'at', half_life => NULL);
CREATE PROCEDURE pg_temp.many_items(first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR m IN first .. last LOOP
		INSERT INTO busy SELECT timestamptz '2024-01-01 12:00' + m * interval '1 minute', i + 7300 * m FROM generate_series(1, 7300) i;
		CALL tbf_rollup_refresh('busy_heat');
	END LOOP;
END $$;
CALL pg_temp.many_items(1, 8);
SELECT count(*) AS pieces, max(number) AS number FROM _tbf_rollup_pieces('busy_heat', '-infinity');
CALL pg_temp.many_items(9, 9);
SELECT count(*) AS pieces, max(number) AS number FROM _tbf_rollup_pieces('busy_heat', '-infinity');
SELECT tbf_rollup_drop('busy_heat');
DROP TABLE busy CASCADE;

-- Times near the limits of the types: nothing is counted that is infinite, in the future, or before 4712 BC, and none
-- of it stops a refresh. Times in between are counted, whatever the tiers, the zone, and how long they are kept.
CREATE TABLE old (at timestamptz, local timestamp, url text);
INSERT INTO old SELECT t::timestamptz, t::timestamp, t
FROM unnest('{-infinity,4714-11-24 00:00 UTC BC,4714-11-25 12:34:56 UTC BC,4713-01-01 00:00 UTC BC,4713-12-31 23:59:59.999999 UTC BC,4712-01-01 00:00 UTC BC,4001-02-29 12:00 UTC BC,0001-01-01 00:00 UTC,1900-01-01 00:00 UTC,294276-12-31 23:59:59.999999 UTC,infinity}'::text[]) t;
CREATE PROCEDURE pg_temp.refresh_old() LANGUAGE plpgsql AS $$
DECLARE
	column_ name;
	zone text;
	shape record;
BEGIN
	FOREACH column_ IN ARRAY '{at,local}'::name[] LOOP
		FOREACH zone IN ARRAY '{UTC,America/New_York,Pacific/Kiritimati}'::text[] LOOP
			FOR shape IN VALUES ('{hour,day,month}'::text[], '{35 days,2 years,null}'::interval[]), ('{day,week}', '{35 days,9999 years}'), ('{hour,quarter,year}', '{5000 years,9000 years,null}') LOOP
				PERFORM tbf_rollup_create('old_heat', 'old', 'url', column_, zone => zone, tiers => shape.column1, keep => shape.column2, lateness => '30 days');
				CALL tbf_rollup_refresh('old_heat');
				CALL tbf_rollup_refresh('old_heat', '4714-11-24 00:00 UTC BC', '294276-12-31 UTC');
				CALL tbf_rollup_refresh('old_heat', '294276-12-31 UTC', '4714-11-24 00:00 UTC BC');
				CALL tbf_rollup_refresh('old_heat', '-infinity', '4714-11-24 00:00 UTC BC');
				EXECUTE format('ALTER TABLE old_heat RENAME TO %I', concat_ws(' ', 'old', column_, zone, shape.column1));
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CALL pg_temp.refresh_old();
SELECT rollup, counted_to, last_error, (SELECT array_agg(item ORDER BY item) FROM tbf_rollup_top(rollup, weight => '1', counted => true)) AS items FROM tbf_rollups WHERE rollup::text ~ 'old' ORDER BY rollup::text;
-- a log that has ended then
DELETE FROM old WHERE at > '3000-01-01 BC';
SELECT tbf_rollup_create('old_heat', 'old', 'url', 'at', tiers => '{hour,year}', keep => '{999 years,5000 years}', lateness => '998 years', zone => 'America/New_York');
CALL tbf_rollup_refresh('old_heat');
CALL tbf_rollup_refresh('old_heat');
SELECT tier, starts, ends, closed, hits FROM old_heat ORDER BY starts;
SELECT counted_to, complete_to, folded, last_error FROM tbf_rollups WHERE rollup = 'old_heat'::regclass;
SELECT count(tbf_rollup_drop(rollup)) FROM tbf_rollup WHERE rollup::text ~ 'old';
DROP TABLE old;

SELECT tbf_rollup_drop('page_heat');
SELECT tbf_rollup_drop('site_heat');
SELECT to_regclass('page_heat'), (SELECT count(*) FROM tbf_rollups) AS left, (SELECT count(*) > 0 FROM access_log) AS source_stays;
DROP TABLE access_log CASCADE;
