-- abf_time: a filter with a window of time. Generations are those of a common clock: the order of the rows does not matter, filters of several
-- servers unite to the byte, idle time empties a filter, and no item is missed until one window after its own time, however late it came
SET timezone = 'UTC';

CREATE TEMP TABLE clicks (at timestamptz, id text);
INSERT INTO clicks VALUES ('2026-01-01 10:00', 'a'), ('2026-01-01 10:03', 'b'), ('2026-01-01 10:09', 'a'), ('2026-01-01 10:19', 'a'), ('2026-01-01 10:40', 'a'), ('2026-01-01 10:41', NULL);
SELECT to_char(at, 'HH24:MI') AS at, id, abf_duplicate(id, at, '10 minutes', 1000) OVER (ORDER BY at), abf_duplicate(id, at, abf_empty(1000, within => '10 minutes')) OVER (ORDER BY at) AS with_filter,
	abf_duplicate(id, at, abf_empty(1000, within => '1 hour')) OVER (ORDER BY at) AS within_an_hour FROM clicks ORDER BY clicks.at;

-- to the minute: yes until ten minutes after, no once its generation is out
SELECT minute, abf_contains(f, 'x', '2026-01-01 10:00'::timestamptz + minute * interval '1 minute') AS found
FROM abf_add(abf_empty(100, within => '10 minutes'), 'x', '2026-01-01 10:00') f, unnest('{-100,0,5,10,12,1000}'::int[]) minute;

-- a stream with late rows, of three servers
CREATE TEMP TABLE stream AS SELECT i, i % 3 AS server, '2026-01-01'::timestamptz + i * interval '1 second' - (i * 7919 % 601) * interval '1 second' * (i % 4 = 0)::int AS at, i * 31 % 409 AS item FROM generate_series(1, 20000) i;
ANALYZE stream;
CREATE TEMP TABLE whole AS SELECT abf_agg(item, at, interval '10 minutes', 800) AS f FROM stream;
SELECT f = (SELECT abf_agg(item, at, '10 minutes', 800 ORDER BY i) FROM stream) AS in_order, f = (SELECT abf_agg(item, at, '10 minutes', 800 ORDER BY md5(i::text)) FROM stream) AS in_any,
	f = (SELECT abf_union_agg(part) FROM (SELECT abf_agg(item, at, '10 minutes', 800) AS part FROM stream GROUP BY server) s) AS of_servers,
	f = (SELECT a.part | b.part | c.part FROM (SELECT abf_agg_like(item, at, abf_empty(800, within => '10 minutes')) FILTER (WHERE server = 0) AS part FROM stream) a, (SELECT abf_agg(item, at, '10 minutes', 800, 0.01) FILTER (WHERE server = 1) AS part FROM stream) b,
		(SELECT abf_agg(item, at, '10 minutes', 800, NULL, NULL) FILTER (WHERE server = 2) AS part FROM stream) c) AS by_operators,
	f = abf_add_each(abf_empty(800, within => '10 minutes'), ARRAY(SELECT item FROM stream ORDER BY i), ARRAY(SELECT at FROM stream ORDER BY i)) AS added FROM whole;
SELECT abf_contains_all(f, ARRAY(SELECT item FROM stream WHERE at >= (SELECT max(at) FROM stream) - interval '10 minutes')) AS none_missed,
	abf_contains_all(f, ARRAY(SELECT item FROM stream WHERE at >= (SELECT max(at) FROM stream) - interval '6 minutes'), (SELECT max(at) FROM stream) + interval '4 minutes') AS nor_later,
	abf_contains_any(f, ARRAY(SELECT item FROM stream), '2026-02-01') AS after_all FROM whole;

-- by workers, too
CREATE TABLE abf_rows AS SELECT item, at FROM stream;
ALTER TABLE abf_rows SET (parallel_workers = 2);
ANALYZE abf_rows;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS off) SELECT abf_agg(item, at, '10 minutes', 800) FROM abf_rows;
SELECT f = (SELECT abf_agg(item, at, '10 minutes', 800) FROM abf_rows) AS same FROM whole;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE abf_rows;

-- the rows in the order of their arrival: a repetition is reported if the row before it was at most one window older
-- than the newest row so far
CREATE TEMP TABLE answers AS SELECT i, item, at, max(at) OVER (ORDER BY i) AS newest, abf_duplicate(item, at, abf_empty(800, within => '10 minutes')) OVER (ORDER BY i) AS again FROM stream;
SELECT count(*) > 2000 AS some, count(*) FILTER (WHERE NOT again) AS missed
FROM answers a WHERE EXISTS (SELECT FROM stream s WHERE s.item = a.item AND s.i < a.i AND s.at >= a.newest - interval '10 minutes');
SELECT array_agg(again ORDER BY i) = (SELECT duplicates FROM abf_check_add_each(abf_empty(800, within => '10 minutes'), ARRAY(SELECT item FROM stream ORDER BY i), ARRAY(SELECT at FROM stream ORDER BY i))) AS as_checked FROM answers;
SELECT duplicates FROM abf_check_add(abf_add(abf_empty(within => '1 hour'), 'a', '2026-01-01 10:00'), '{a,b,NULL,b}'::text[], '2026-01-01 10:30');
SELECT duplicates FROM abf_check_add(abf_add(abf_empty(within => '1 hour'), 'a', '2026-01-01 10:00'), '{a,b,NULL,b}'::text[], '2026-01-01 12:30');
SELECT abf_add_all(abf_empty(within => '1 hour'), '{1,2}'::int[], '2026-01-01') = abf_add_each(abf_empty(within => '1 hour'), '{1,2}'::int[], '{2026-01-01,2026-01-01}') AS same;

-- idle time: the filter is as if it were empty, and abf_decay() gives back its bytes
SELECT (abf_info(f)).bytes > 1000 AS before, (abf_info(abf_decay(f, '2026-01-02'))).bytes AS after, (abf_info(abf_decay(f, '2026-01-02'))).items = (abf_info(f)).items AS counted,
	abf_decay(f, '2025-01-01') = f AS earlier, abf_add(abf_decay(f, at), 1, at) = abf_add(f, 1, at) AS never_needed
FROM whole, (SELECT max(at) + interval '5 minutes' AS at FROM stream) s;
-- a row that comes so late that its generation is gone is counted, but sets no bit
SELECT abf_contains(f, 'late') AS late, abf_contains(f, 'new') AS new, (abf_info(f)).items FROM abf_add(abf_add(abf_empty(within => '1 hour'), 'new', '2026-01-02'), 'late', '2026-01-01') f;

-- rows from the future: not_after is the window, but at least a minute and at most a day, after the transaction began
SELECT command, split_part(error_of('SELECT ' || command), ':', 1) AS state FROM unnest(ARRAY[
	'abf_add(abf_empty(within => ''1 second''), 1, now() + interval ''1 minute'')', 'abf_add(abf_empty(within => ''1 second''), 1, now() + interval ''61 seconds'')',
	'abf_add(abf_empty(within => ''1 hour''), 1, now() + interval ''1 hour'')', 'abf_add(abf_empty(within => ''1 hour''), 1, now() + interval ''61 minutes'')',
	'abf_add(abf_empty(within => ''7 days''), 1, now() + interval ''1 day'')', 'abf_add(abf_empty(within => ''7 days''), 1, now() + interval ''25 hours'')',
	'abf_add(abf_empty(within => ''1 hour''), 1, now() + interval ''9 days'', now() + interval ''10 days'')', 'abf_add(abf_empty(within => ''1 hour''), 1, ''2024-01-02'', ''2024-01-01'')',
	'abf_add_all(abf_empty(within => ''1 hour''), ''{1}''::int[], now() + interval ''2 hours'')', 'abf_add_each(abf_empty(within => ''1 hour''), ''{1,2}''::int[], ARRAY[now(), now() + interval ''2 hours''])',
	'abf_agg(1, now() + interval ''2 hours'', interval ''1 hour'')', 'abf_agg(1, now() + interval ''2 hours'', interval ''1 hour'', 10, 0.1, now() + interval ''3 hours'')', 'abf_agg_like(1, now() + interval ''2 hours'', abf_empty(within => ''1 hour''))',
	'abf_agg_like(1, now() + interval ''2 hours'', abf_empty(within => ''1 hour''), now() + interval ''3 hours'')', 'abf_duplicate(1, now() + interval ''2 hours'', ''1 hour'', 10) OVER ()',
	'abf_duplicate(1, now() + interval ''2 hours'', abf_empty(within => ''1 hour''), now() + interval ''3 hours'') OVER ()',
	'abf_add(abf_empty(within => ''1 hour''), 1, ''infinity'', ''infinity'')', 'abf_add(abf_empty(within => ''1 hour''), 1, ''-infinity'')', 'abf_agg(1, ''-infinity''::timestamptz, ''1 hour'')',
	'abf_contains(abf_empty(within => ''1 hour''), 1, ''infinity'')', 'abf_decay(abf_empty(within => ''1 hour''), ''infinity'')']) command;
-- the ends of time
SELECT bool_and(abf_contains(f, 1, at) AND abf_contains(f, 1, at + within)) AS found, bool_and((abf_info(f)).newest <= at) AS newest
FROM unnest('{4713-01-01 BC,1969-12-31 23:59:59.999999+00,1999-12-31 23:59:59.999999+00,2000-01-01 00:00:00+00,38000-01-01}'::timestamptz[]) at, unnest('{1 microsecond,10 minutes,7 days,10000 days}'::interval[]) within,
	abf_add(abf_empty(10, within => within), 1, at, 'infinity') f;
-- the time zone of the session does not matter
SET timezone = 'Asia/Kathmandu';
SELECT abf_agg(1, timestamptz '2024-01-01 00:00+00', '1 hour') = (SELECT abf_agg(1, timestamptz '2024-01-01 05:45', '1 hour')) AS same;
SET timezone = 'UTC';

-- more items than were expected: never a miss, but a warning of the rate
SELECT abf_contains_all(f, ARRAY(SELECT generate_series(1, 3000))) AS all_found FROM (SELECT abf_agg(i, '2026-01-01', '1 hour', 300) AS f FROM generate_series(1, 3000) i) s;

\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT abf_add(abf_empty(within => ''1 hour''), 1, ''2100-01-01'', ''2099-01-01'')');
SELECT error_of('SELECT abf_agg(1, NULL::timestamptz, ''1 hour'')');
SELECT error_of('SELECT abf_agg(1, now(), NULL::interval)');
SELECT error_of('SELECT abf_duplicate(1, NULL, ''1 hour'', 10) OVER ()');
SELECT error_of('SELECT abf_duplicate(1, now(), ''1 hour'', NULL::int) OVER ()');
SELECT error_of('SELECT abf_add_each(abf_empty(within => ''1 hour''), ''{1,2}''::int[], ''{2026-01-01}'')');
SELECT error_of('SELECT abf_add_each(abf_empty(within => ''1 hour''), ''{1}''::int[], ''{NULL}'')');
SELECT error_of('SELECT abf_empty(within => ''1 hour'') | abf_empty(within => ''2 hours'')');
SELECT error_of('SELECT abf_empty(within => ''1 hour'') | abf_empty(within => ''1 hour'', hashes => 3)');
SELECT error_of('SELECT abf_empty(within => ''1 hour'') | abf_empty(200000, within => ''1 hour'')');
SELECT error_of('SELECT abf_add(abf_empty(within => ''1 hour''), 1, now()) | abf_add(abf_empty(within => ''1 hour''), ''a'', now())');
SELECT abf_add(NULL, 1, now()) IS NULL, abf_add(abf_empty(within => '1 hour'), NULL::int, now()) IS NULL;
-- the filter decides whether there is a time: a time that is NULL must not make the whole filter NULL
SELECT error_of('SELECT abf_add(abf_empty(within => ''1 hour''), 1, NULL)');
SELECT error_of('SELECT abf_check_add(abf_empty(within => ''1 hour''), ARRAY[1])');
SELECT error_of('SELECT abf_add(abf_empty(), 1, not_after => now())');
SELECT error_of('SELECT abf_contains_all(abf_empty() || 1, ARRAY[1], now())');
SELECT abf_add(abf_empty(), 1, NULL, NULL) = abf_empty() || 1 AS no_time, abf_contains_any(f, '{1,7}'::int[]) AS as_of_newest, abf_contains_any(f, '{1,7}'::int[], NULL) AS null_time,
	abf_contains_any(f, '{1,7}'::int[], '2026-01-01 12:00') AS later, abf_contains_any(NULL, '{1}'::int[]) IS NULL AS no_filter, abf_contains_all(f, NULL::int[]) IS NULL AS no_items
FROM abf_add(abf_empty(within => '1 hour'), 7, '2026-01-01 10:00') f;

-- slices from before any timestamp: their beginnings, as microseconds, need more than 64 bits
SELECT begins, min(age) AS first, max(age) AS last
FROM abf_histogram(abf_add(abf_empty(within => '13000000 days', hashes => 12, generations => 1), 1, '2026-01-01'))
GROUP BY 1 ORDER BY 2;
