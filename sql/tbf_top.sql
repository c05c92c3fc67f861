-- tbf_top: hot items, from the filter alone and beside the exact answer

SET timezone = 'UTC';
-- a parameter of the filter: from 0 to 10,000
SELECT error_of('SELECT tbf_empty(top => -1)');
SELECT sqlstate_of('SELECT tbf_empty(top => 10001)'), sqlstate_of('SELECT tbf_empty(top => 65536)'), sqlstate_of('SELECT tbf_empty(top => 10000)');
SELECT tbf_empty(top => NULL) IS NULL AS null_parameter;
SELECT count(*) AS none FROM tbf_top(tbf_empty(top => 5));
SELECT count(*) AS none FROM tbf_top(NULL);
SELECT error_of('SELECT tbf_top(tbf_empty())');
SELECT error_of('SELECT tbf_top(tbf_empty(top => 3), -1)');

-- as long as there are no more items than it was told, and weights are whole: the exact counts
CREATE TEMP TABLE word AS SELECT word, n FROM string_to_table('the quick brown fox jumps over the lazy dog and the dog yawns', ' ') WITH ORDINALITY w(word, n);
SELECT * FROM tbf_top((SELECT tbf_agg_like(word, NULL, tbf_empty(100, 0.0001, NULL, top => 10)) FROM word));
SELECT * FROM tbf_top((SELECT tbf_agg_like(word, NULL, tbf_empty(100, 0.0001, NULL, top => 10), n) FROM word), 3);
SELECT count(*) FROM tbf_top((SELECT tbf_agg_like(word, NULL, tbf_empty(100, 0.0001, NULL, top => 10)) FROM word), 0);
-- 13 hits in a list of two: what exceeds a third of them would be listed; the error is at most 13 / 3
SELECT bool_and(hits_from <= exact) AS never_above, bool_and(hits_to >= exact) AS never_below, count(*) <= 2 AS two, max(hits_to - hits_from) <= 13.0 / 3 AS error
FROM tbf_top((SELECT tbf_agg_like(word, NULL, tbf_empty(100, 0.0001, NULL, top => 2)) FROM word)) JOIN (SELECT word AS item, count(*) AS exact FROM word GROUP BY word) e USING (item);

/*
 * The whole promise, beside the exact sums at a time. exact: item, hits. L <= hits <= upper bound for the listed; upper
 * bound - L and the hits of those that are not listed are at most W / (c + 1), up to the rounding that docs/tbf.md tells.
 */
CREATE TYPE pg_temp.promise AS (listed boolean, bounds boolean, error boolean, complete boolean);
CREATE FUNCTION pg_temp.kept(f tbf, c int, exact text, at timestamptz) RETURNS pg_temp.promise LANGUAGE plpgsql AS $$
DECLARE
	result pg_temp.promise;
BEGIN
	EXECUTE format('SELECT count(t.item) <= $2 AND count(DISTINCT t.item) = count(t.item) AND count(*) FILTER (WHERE e.item IS NULL) = 0,
			bool_and(t.item IS NULL OR (t.hits_from <= e.hits * (1 + 1e-12) AND t.hits_to >= e.hits * (1 - 1e-12) AND t.hits_to <= tbf_count($1, e.item, $3))),
			bool_and(t.item IS NULL OR t.hits_to - t.hits_from <= w * (1.0 / ($2 + 1) + 1e-8)),
			bool_and(t.item IS NOT NULL OR e.hits <= w * (1.0 / ($2 + 1) + 1e-8))
		FROM (%s) e FULL JOIN tbf_top($1, $2, $3) t USING (item), (SELECT sum(hits) AS w FROM (%1$s) e) w', exact)
		INTO result USING f, c, at;
	RETURN result;
END
$$;
CREATE FUNCTION pg_temp.bools(pg_temp.promise) RETURNS boolean LANGUAGE sql RETURN $1 = (true, true, true, true)::pg_temp.promise;

-- a log: a few hot pages, each for some days, and many that hardly anybody reads; 60 half-lives
SELECT setseed(0.5);
CREATE UNLOGGED TABLE tbf_top_log AS
	SELECT i AS n, '/page/' || CASE WHEN i % 3 = 0 THEN 'hot' || at / 960 ELSE floor(3000 ^ random())::int::text END AS url, '2023-11-01'::timestamptz + at * interval '15 minutes' AS at, 1 + i % 4 AS weight
	FROM generate_series(1, 20000) i, LATERAL (SELECT floor(random() * 60 * 96)::int + i * 0 AS at) t;
CREATE FUNCTION pg_temp.exact(at timestamptz, weight text DEFAULT '1', until timestamptz DEFAULT 'infinity') RETURNS text LANGUAGE sql
	RETURN format('SELECT url AS item, sum(%s * power(2::float8, -extract(epoch FROM %L - at) / 86400)) AS hits FROM tbf_top_log WHERE at < %L GROUP BY url', weight, at, until);

-- in any order, for any number of items; at the newest hit, before it, later
SELECT way, c, bool_and(pg_temp.bools(pg_temp.kept(f, c, pg_temp.exact(at), at))) AS kept
FROM unnest('{1,2,10,100,5000}'::int[]) c, LATERAL (
	SELECT 'forward', tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c) ORDER BY at) FROM tbf_top_log
	UNION ALL SELECT 'backward', tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c) ORDER BY at DESC) FROM tbf_top_log
	UNION ALL SELECT 'any', tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c) ORDER BY n) FROM tbf_top_log) b(way, f),
	unnest('{2023-12-31,2023-12-24,2024-02-01}'::timestamptz[]) at
GROUP BY way, c ORDER BY way, c;
SELECT c, pg_temp.kept(f, c, pg_temp.exact('2023-12-31', 'weight'), '2023-12-31') AS weighted
FROM unnest('{1,30,5000}'::int[]) c, LATERAL (SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c), weight) FROM tbf_top_log) b(f) ORDER BY c;
-- split into weeks, merged by the aggregate and by +; decayed in between; brought in by tbf_add_all and tbf_add
CREATE TEMP TABLE week AS SELECT c, date_trunc('week', at) AS week, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c)) AS f FROM tbf_top_log, unnest('{3,40}'::int[]) c GROUP BY c, week;
SELECT c, pg_temp.kept(tbf_merge_agg(f ORDER BY week), c, pg_temp.exact('2023-12-31'), '2023-12-31') AS merged, pg_temp.kept(tbf_merge_agg(f ORDER BY week DESC), c, pg_temp.exact('2023-12-31'), '2023-12-31') AS backward,
	pg_temp.kept(tbf_merge_agg(tbf_decay(f, '2023-12-30')), c, pg_temp.exact('2023-12-31'), '2023-12-31') AS decayed FROM week GROUP BY c ORDER BY c;
DO $$
DECLARE
	f tbf;
	g tbf;
	part record;
	n int := 0;
BEGIN
	FOREACH n IN ARRAY ARRAY[3, 40] LOOP
		f := tbf_empty(3000, 0.01, '1 day', top => n);
		FOR part IN SELECT w.f FROM week w WHERE c = n ORDER BY week LOOP
			f := part.f + f;
		END LOOP;
		RAISE INFO '% added up: %', n, pg_temp.kept(f, n, pg_temp.exact('2023-12-31'), '2023-12-31');
		g := tbf_empty(3000, 0.01, '1 day', top => n);
		FOR part IN SELECT at, array_agg(url) AS urls FROM tbf_top_log WHERE at < '2023-11-08' GROUP BY at ORDER BY at LOOP
			g := CASE WHEN cardinality(part.urls) = 1 THEN tbf_add(g, part.urls[1], part.at) ELSE tbf_add_all(tbf_decay(g, part.at), part.urls, part.at) END;
		END LOOP;
		RAISE INFO '% one by one: %', n, pg_temp.kept(g, n, pg_temp.exact('2023-11-08', '1', '2023-11-08'), '2023-11-08');
	END LOOP;
END $$;
DROP TABLE week;

-- no decay: whole weights are counted exactly, so that the bounds are those of the textbook
SELECT c, pg_temp.kept(f, c, 'SELECT url AS item, count(*) AS hits FROM tbf_top_log GROUP BY url', now()) AS kept, (SELECT bool_and(hits_from = trunc(hits_from) AND hits_to = trunc(hits_to)) FROM tbf_top(f, c)) AS whole
FROM unnest('{1,9,5000}'::int[]) c, LATERAL (SELECT tbf_agg_like(url, NULL, tbf_empty(3000, 0.01, NULL, top => c)) FROM tbf_top_log) b(f) ORDER BY c;

-- decay leaves the list what it is, at its new scale; so does the other layout
CREATE TEMP TABLE hot AS SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 50)) AS f FROM tbf_top_log;
SELECT count(*) AS times, bool_and(pg_temp.bools(pg_temp.kept(tbf_decay(f, at), 50, pg_temp.exact(at), at))) AS kept FROM hot, unnest('{2023-12-31,2024-01-01,2024-01-03,2024-01-09,2024-01-31}'::timestamptz[]) at;
SELECT tbf_decay(tbf_decay(f, '2024-01-05'), '2024-01-05') = tbf_decay(f, '2024-01-05') AS idempotent, (SELECT count(*) FROM tbf_top(tbf_decay(f, '2030-01-01'), 50)) AS all_gone FROM hot;
SELECT count(*) AS items, bool_and(a = b) AS same FROM hot, tbf_top(f, 50, '2024-01-01') a JOIN tbf_top(tbf_layout(f, 'flat'), 50, '2024-01-01') b USING (item);
SELECT bool_and(a = b) AS same FROM hot, tbf_top(f, 50, '2024-01-01') a JOIN tbf_top(f::text::tbf::bytea::tbf, 50, '2024-01-01') b USING (item);
-- hottest first; a small k gives the first of them
SELECT bool_and(hits_from <= before) AS sorted FROM (SELECT hits_from, lag(hits_from) OVER (ORDER BY n) AS before FROM hot, tbf_top(f, 50, '2024-01-01') WITH ORDINALITY t(item, hits_from, hits_to, n)) s;
SELECT (SELECT array_agg(item) FROM tbf_top(f, 4, '2024-01-01')) = (SELECT array_agg(item ORDER BY n) FROM tbf_top(f, 50, '2024-01-01') WITH ORDINALITY t(item, hits_from, hits_to, n) WHERE n <= 4) AS first_four FROM hot;
SELECT count(*) AS ten_unless_told FROM hot, tbf_top(f);
-- asked now, like tbf_count()
SELECT bool_and(hits_to <= (f -> item) AND (f -> item) < 'infinity') AS now FROM hot, tbf_top(f);
SELECT error_of('SELECT tbf_top(f, 1, ''infinity'') FROM hot') LIKE '22008:%' AS refused, error_of('SELECT tbf_top(f, 1, ''0500-01-01'') FROM hot') LIKE '22003: count at%' AS refused;

-- = compares the counters and that there is a list, not what the order of the hits has left in it
SELECT a.f = b.f AS equal, a.f <> b.f AS different, a.f::bytea = b.f::bytea AS same_bytes, a.f = hot.f AS other_number, a.f = c.f AS no_list, c.f = a.f AS no_list, a.f = d.f AS other_hits FROM hot,
	(SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 10) ORDER BY at) FROM tbf_top_log) a(f), (SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 10) ORDER BY at DESC) FROM tbf_top_log) b(f),
	(SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day')) FROM tbf_top_log) c(f), (SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 10)) FROM tbf_top_log WHERE n > 1) d(f);

-- merging: the smaller of two lists' numbers; no list where one has none, empty or not
SELECT l.c AS left, r.c AS right, (SELECT count(*) FROM tbf_top(l.f, 100)) AS of_left, (SELECT count(*) FROM tbf_top(r.f, 100)) AS of_right, (SELECT count(*) FROM tbf_top(l.f + r.f, 100)) AS of_both, (l.f + r.f) = (r.f + l.f) AS commutes,
	pg_temp.kept(l.f + r.f, least(l.c, r.c), pg_temp.exact('2024-01-01'), '2024-01-01') AS kept
FROM (SELECT c, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c)) AS f FROM tbf_top_log, unnest('{5,50}'::int[]) c WHERE n % 2 = 0 GROUP BY c) l, (SELECT c, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c)) AS f FROM tbf_top_log, unnest('{5,50}'::int[]) c WHERE n % 2 = 1 GROUP BY c) r ORDER BY 1, 2;
SELECT error_of('SELECT tbf_top(f + tbf_empty(3000, 0.01, ''1 day'')) FROM hot') LIKE '22023: the filter keeps no list%' AS none, error_of('SELECT tbf_top(tbf_empty(3000, 0.01, ''1 day'') + f) FROM hot') LIKE '22023: the filter keeps no list%' AS none,
	(f + tbf_empty(3000, 0.01, '1 day', top => 50)) = f AS neutral, (SELECT count(*) FROM tbf_top(f + tbf_empty(3000, 0.01, '1 day', top => 7), 50)) AS seven FROM hot;
SELECT error_of('SELECT tbf_top(tbf_merge_agg(f)) FROM (SELECT f FROM hot UNION ALL SELECT tbf_add(tbf_empty(3000, 0.01, ''1 day''), ''/''::text, ''2023-12-01'')) s') LIKE '22023: the filter keeps no list%' AS none;

-- parallel workers keep lists of their own
ANALYZE tbf_top_log;
ALTER TABLE tbf_top_log SET (parallel_workers = 2);
CREATE TEMP TABLE hotter AS SELECT c, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => c)) AS f FROM tbf_top_log, unnest('{3,40}'::int[]) c GROUP BY c;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
EXPLAIN (COSTS off) SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 3)) FROM tbf_top_log;
CREATE TEMP TABLE in_parallel AS SELECT 3 AS c, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 3)) AS f FROM tbf_top_log UNION ALL SELECT 40, tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 40)) AS f FROM tbf_top_log;
COMMIT;
SELECT c, a.f = b.f AS same_counters, pg_temp.kept(a.f, c, pg_temp.exact('2024-01-01'), '2024-01-01') AS kept FROM in_parallel a JOIN hotter b USING (c) ORDER BY c;
DROP TABLE in_parallel, hotter;
-- a window's state goes on after it was stored
SELECT bool_and(hits_from <= exact AND hits_to >= exact) AS kept, count(DISTINCT n) AS rows FROM (SELECT n, array_agg(url) OVER w AS urls, tbf_agg_like(url, NULL, tbf_empty(300, 0.01, NULL, top => 30)) OVER w AS f FROM tbf_top_log WHERE n <= 300 WINDOW w AS (ORDER BY n)) s,
	tbf_top(f), LATERAL (SELECT count(*) AS exact FROM unnest(urls) url WHERE url = item) e;

-- items are shown as their type writes them, and are what the filter takes them for
SELECT name, array_agg(item) FROM (SELECT 'integer', tbf_add_all(e, '{7,-3,7}'::int[]) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'mixed integers', tbf_add(tbf_add(e, 7::smallint, weight => 2), 8::bigint) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'bytea', tbf_add(e, '\x00ff'::bytea) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'date', tbf_add(e, '2024-02-29'::date) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'timestamptz', tbf_add(e, '2024-02-29 12:00+2'::timestamptz) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'uuid', tbf_add(e, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'numeric', tbf_add(tbf_add(e, 1.50), 1.5) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'array', tbf_add(e, '{a,"b c",NULL}'::text[]) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'row', tbf_add(e, ROW(1, 'x'::text)) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'character', tbf_add(tbf_add(e, 'ab'::char(5)), 'ab'::char(2)) FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'literal', tbf_add(e, 'ab') FROM tbf_empty(top => 9) e
	UNION ALL SELECT 'letters', tbf_add_all(e, '{ä,€,"",ä}'::text[]) FROM tbf_empty(top => 9) e) v(name, f), tbf_top(f) GROUP BY name ORDER BY name;
-- no weight, no entry
SELECT count(*) AS none FROM tbf_top(tbf_add(tbf_empty(top => 3), 'a', now(), 0));
SELECT item, hits_from > 1e-6 * 0.999 AS not_zero, hits_from <= 1e-6 AS below FROM tbf_top(tbf_add(tbf_empty(top => 3), 'a', now(), 1e-6), 10, now());

-- of a long item the first 256 bytes are shown, cut between letters; it is still the item that it is
SELECT length(item), octet_length(item), hits_from, hits_to FROM (SELECT tbf_agg_like(item, NULL, tbf_empty(100, 0.0001, NULL, top => 9), n) AS f FROM (VALUES (repeat('x', 255), 1), (repeat('x', 256), 2), (repeat('x', 257), 3), (repeat('x', 100000), 4), (repeat('€', 100), 5)) v(item, n)) s, tbf_top(f);

-- what comes in is checked: the list's length, order, numbers, letters
CREATE TEMP TABLE forged AS SELECT f::bytea AS b, length(f::bytea) - length(tbf_layout(e, 'flat')::bytea) AS list, length(f::bytea) AS size FROM tbf_empty(10, 0.01, NULL, layout => 'flat', top => 3) e, tbf_add_all(e, '{a,bb}'::text[]) f;
SELECT list, size - list AS starts, size FROM forged;
SELECT error_of(format('SELECT %L::tbf', set_byte(b, size - list, 1))) FROM forged;
SELECT error_of(format('SELECT %L::tbf', set_byte(b, size - list, 4))) FROM forged;
SELECT error_of(format('SELECT %L::tbf', set_byte(b, size - list + 2, 41))) FROM forged;
SELECT sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 3, 1))) AS reserved, sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 15, 255))) AS error, sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 16 + 7, 255))) AS hashes_sorted,
	sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 16 + 15, 255))) AS least, sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 16 + 13, 100))) AS more_than_all, sqlstate_of(format('SELECT %L::tbf', set_byte(b, size - list + 16 + 17, 9))) AS length,
	sqlstate_of(format('SELECT %L::tbf', substr(b, 1, size - 1))) AS cut FROM forged;
SELECT sqlstate_of(format('SELECT %L::tbf', substr(set_byte(b, 124, 0), 1, size - list))) AS no_list FROM forged;
SELECT error_of(format('SELECT tbf_top(%L::tbf)', set_byte(b, size - 1, 255))) FROM forged;
SELECT sqlstate_of(format('SELECT tbf_top(%L::tbf)', set_byte(b, size - 1, 0))) FROM forged;
SELECT sqlstate_of(format('SELECT tbf_top(%L::tbf)', set_byte(b, size - 1, 97))) AS harmless FROM forged;

-- icebergs: all pages above a threshold now. From the log itself, ...
CREATE TEMP TABLE now AS SELECT '2023-12-31'::timestamptz AS at;
CREATE TEMP TABLE summary AS SELECT tbf_agg_like(url, at, tbf_empty(3000, 0.01, '1 day', top => 100)) AS heat FROM tbf_top_log;
CREATE TEMP TABLE exact AS SELECT url, sum(power(2::float8, -extract(epoch FROM now.at - l.at) / 86400)) AS hits FROM tbf_top_log l, now GROUP BY url;
CREATE TEMP TABLE iceberg AS SELECT url, tbf_count(heat, url, at) AS hits FROM (SELECT DISTINCT url FROM tbf_top_log) l, summary, now WHERE tbf_count(heat, url, at) >= 3;
SELECT count(*) AS missed FROM exact WHERE hits >= 3 AND url NOT IN (SELECT url FROM iceberg);
SELECT count(*) FILTER (WHERE e.hits >= 3) > 5 AS found, count(*) FILTER (WHERE e.hits < 3) < 0.03 * (SELECT count(*) FROM exact) AS few_too_many FROM iceberg JOIN exact e USING (url);
-- ... from a dimension table, where pages without hits cost nothing but the look, ...
CREATE TEMP TABLE page AS SELECT url FROM exact UNION SELECT '/page/never' || i FROM generate_series(1, 1000) i;
SELECT array_agg(url ORDER BY url) = (SELECT array_agg(url ORDER BY url) FROM iceberg WHERE url IN (SELECT url FROM page)) AS same FROM (SELECT url FROM page, summary, now WHERE tbf_count(heat, url, at) >= 3 AND url NOT LIKE '%never%') p;
SELECT count(*) <= 30 AS few_never_read FROM page, summary, now WHERE tbf_count(heat, url, at) >= 3 AND url LIKE '%never%';
-- ... and from the list alone: no page is missed whose share of all hits exceeds 1 / 101
SELECT bool_and(url IN (SELECT item FROM tbf_top(heat, 100, at))) AS all_listed, count(*) > 5 AS some FROM exact, summary, now WHERE hits > (SELECT sum(hits) FROM exact) / 101;
-- certain ones, those that may be; and the top five beside the exact ones
SELECT bool_and(e.hits >= 3) FILTER (WHERE hits_from >= 3) AS certain, bool_and(e.hits < 3) FILTER (WHERE hits_to < 3) AS certainly_not FROM summary, now, tbf_top(heat, 100, now.at) t JOIN exact e ON url = item;
SELECT (SELECT array_agg(item) FROM (SELECT item FROM tbf_top(heat, 5, at)) t) = (SELECT array_agg(url ORDER BY hits DESC) FROM (SELECT url, hits FROM exact ORDER BY hits DESC LIMIT 5) e) AS top_five FROM summary, now;
SELECT (SELECT array_agg(url ORDER BY hits DESC) FROM (SELECT url, tbf_count(heat, url, at) AS hits FROM page ORDER BY hits DESC LIMIT 5) p) = (SELECT array_agg(url ORDER BY hits DESC) FROM (SELECT url, hits FROM exact ORDER BY hits DESC LIMIT 5) e) AS top_five FROM summary, now;

DROP TABLE tbf_top_log;

-- weights of merging are weights of the list: never too much from below, never too little from above
CREATE TEMP TABLE weighted AS
	SELECT n, tbf_agg_like(i % (10 * n), '2024-01-01', tbf_empty(100, half_life => NULL, top => 20), i % 3) AS f, power(0.7, n) AS weight FROM generate_series(1, 600) i, generate_series(1, 4) n GROUP BY n;
WITH merged AS (SELECT tbf_merge_agg(f, weight) AS f FROM weighted),
	exact AS (SELECT i % (10 * n) AS item, sum(i % 3 * power(0.7, n)) AS hits FROM generate_series(1, 600) i, generate_series(1, 4) n GROUP BY 1)
SELECT count(*) AS listed, bool_and(hits_from <= hits * (1 + 1e-12)) AS from_below, bool_and(hits_to >= hits * (1 - 1e-12)) AS from_above, max(hits_to - hits_from) <= (SELECT sum(hits) FROM exact) / 21 + 0.1 AS near
FROM merged, tbf_top(f, 20) t JOIN exact e ON e.item = t.item::int;
SELECT bool_and(a.hits_from = 3 * b.hits_from) AS three_times FROM weighted, tbf_top(f * 3, 100) a JOIN tbf_top(f, 100) b USING (item) WHERE n = 1;
SELECT count(*) AS nothing FROM weighted, tbf_top(f * 0, 10) WHERE n = 1;
