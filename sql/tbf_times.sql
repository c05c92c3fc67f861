-- tbf_times: hits in the future, at the ends of time, and out of order

SET timezone = 'UTC';

-- a hit after not_after is an error; not_after is a day after the transaction began if not given
SELECT tbf_add(tbf_empty(), 1, '2024-01-03', 1, '2024-01-02');
SELECT tbf_add(tbf_empty(), 1, '2024-01-02', 1, '2024-01-02') @> 1 AS just_allowed, tbf_add(tbf_empty(), 1, now() + interval '1 day') @> 1 AS just_allowed, tbf_add(tbf_empty(), 1, now() + interval '9 days', 1, now() + interval '10 days') @> 1 AS allowed;
SELECT command, sqlstate_of('SELECT ' || command) AS state FROM unnest(ARRAY[
	'tbf_add(tbf_empty(), 1, now() + interval ''25 hours'')', 'tbf_add_all(tbf_empty(), ''{1}''::int[], now() + interval ''25 hours'')', 'tbf_agg(1, now() + interval ''25 hours'')',
	'tbf_agg(1, now() + interval ''25 hours'', ''7 days'', 1)', 'tbf_agg(1, now() + interval ''25 hours'', interval ''1 year'' - interval ''1 year'' + interval ''1 day'')', 'tbf_agg(1, now() + interval ''25 hours'', interval ''1 day'')',
	'tbf_agg(1, now() + interval ''25 hours'', interval ''1 day'', 1, 10, 0.1)', 'tbf_agg(1, now() + interval ''25 hours'', interval ''1 day'', 1, 10, 0.1, NULL, NULL)',
	'tbf_agg(1, ''2024-01-02'', interval ''1 day'', 1, 10, 0.1, NULL, ''2024-01-01'')', 'tbf_add(tbf_empty(), 1, ''2024-01-01'', 1, ''-infinity'')',
	'tbf_add(tbf_empty(), 1, ''infinity'', 1, ''infinity'')', 'tbf_add(tbf_empty(), 1, ''-infinity'')', 'tbf_add(tbf_empty(), 1, ''infinity'')', 'tbf_agg(1, ''infinity'')', 'tbf_agg(1, ''-infinity'')',
	'tbf_agg(1, ''infinity'', interval ''1 day'', 1, NULL, NULL, NULL, ''infinity'')', 'tbf_agg(1, ''290000-01-01'', interval ''1 day'', 1, NULL, NULL, NULL, ''infinity'')',
	'tbf_decay(tbf_empty(), ''infinity'')', 'tbf_decay(tbf_add(tbf_empty(), 1), ''-infinity'')', 'tbf_rate(tbf_empty(), 1, ''infinity'')']) command ORDER BY command COLLATE "C";
-- without decay time does not matter
SELECT tbf_agg(1, at, NULL::interval) -> 1 FROM (VALUES ('infinity'::timestamptz), ('-infinity'), (NULL), ('290000-01-01'), ('4713-01-01 BC'), (now())) v (at);
SELECT tbf_add(tbf_empty(half_life => NULL), 1, 'infinity') -> 1, tbf_decay(tbf_add(tbf_empty(half_life => NULL), 1), 'infinity') -> 1;

-- the ends of time
SELECT bool_and(tbf_count(f, 1, at) BETWEEN 1 AND 1.001 + 0.0625) AS one, bool_and(tbf_count(f, 1, at + half_life) BETWEEN 0.5 AND 0.5005 + 0.03125) AS half
FROM unnest('{4713-01-01 BC,1969-12-31 23:59:59.999999+00,1999-12-31 23:59:59.999999+00,2000-01-01 00:00:00+00,38000-01-01}'::timestamptz[]) at, unnest('{1 microsecond,1 day,7 days}'::interval[]) half_life,
	tbf_add(tbf_empty(10, 0.01, half_life), 1, at, 1, 'infinity') f;

-- a hit in the future that was allowed: everything is still there, on a scale that shifts what is old
SELECT tbf_count(f, 'old', '2024-01-01') BETWEEN 16 AND 1e300 AS never_below, tbf_count(f, 'new', '2030-01-01') BETWEEN 1 AND 1e300 AS never_below
FROM tbf_add(tbf_add(tbf_empty(), 'old', '2024-01-01', 16), 'new', '2030-01-01', 1, '2030-01-01') f;

-- late and out of order: never too small
SELECT bool_and(tbf_count(f, 'a', '2024-01-01') BETWEEN 1 + power(2::float8, -n) AND 3) AS never_below
FROM generate_series(0, 80, 4) n, LATERAL (SELECT '2024-01-01'::timestamptz - n * interval '1 day' AS late) l,
	tbf_add(tbf_add(tbf_empty(half_life => '1 day'), 'a', '2024-01-01'), 'a', late) f;
-- the time zone of the session does not matter
SET timezone = 'Asia/Kathmandu';
SELECT tbf_agg(1, '2024-01-01 00:00+00') = (SELECT tbf_agg(1, '2024-01-01 05:45')) AS same;
SET timezone = 'UTC';
