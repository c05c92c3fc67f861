-- decay: weights by age, for merging undecayed filters by any decay function

-- each formula at ages where its value can be written down
SELECT days, decay_exponential(age, '1 day') AS exponential, decay_window(age, '2 days') AS "window", decay_polynomial(age, 1, '1 day') AS polynomial,
	decay_linear(age, '4 days') AS linear, decay_polygonal(age, '{1 day,3 days}', '{1,0.25}') AS polygonal
FROM (SELECT days, days * interval '1 day' AS age FROM unnest('{-1,0,1,2,3,4,7}'::float8[]) days) s;
-- x^k e^-x / k! over its largest value (at x = k): as it is for a single hit, the largest of an hour's, and held at 1 until the peak
SELECT hours, round(power(hours, 2) * exp(2 - hours) / 4, 12) AS formula, round(decay_polyexponential(age, 2, '1 hour', '0')::numeric, 12) AS hit,
	round(decay_polyexponential(age, 2, '1 hour', '1 hour')::numeric, 12) AS hour, round(decay_polyexponential(age, 2, '1 hour')::numeric, 12) AS held
FROM (SELECT hours, hours * interval '1 hour' AS age FROM unnest('{0,0.5,1,1.5,2,3,5,12}'::numeric[]) hours) s;
SELECT decay_polyexponential('1 hour', 0, '1 hour') - exp(-1::float8) BETWEEN 0 AND 1e-15 AS degree_0_is_exponential;

-- names, defaults: a tbf's half-life
SELECT decay_exponential(age => '14 days') AS weeks, decay_exponential(age => '2 hours', half_life => '1 hour') AS hours, decay_window(age => '1 hour', width => '1 day') AS "window",
	decay_polynomial(age => '3 days', exponent => 0.5, scale => '1 day') AS root, decay_polyexponential(age => '1 day', degree => 1, scale => '1 day') AS peak,
	decay_polyexponential(age => '0', degree => 1, scale => '1 day', bucket => '1 day') AS peak_in_bucket, decay_linear(age => '1 hour', width => '2 hours') AS half,
	decay_polygonal(age => '1 day', ages => '{0,2 days}', weights => '{1,0.5}') AS between;

-- a window of a day, seen at the full hour, holds 24 hourly rows, not 25
SELECT sum(decay_window(timestamptz '2024-01-08 00:00 UTC' - hour_end, '1 day')) AS rows
FROM generate_series(timestamptz '2024-01-01 00:00 UTC', '2024-01-08 00:00 UTC', '1 hour') hour_end;

-- a polygon: before the first point and after the last one their weights; of a step the lower side
SELECT hours, decay_polygonal(hours * interval '1 hour', '{2 hours,4 hours,4 hours,6 hours}', '{1,0.75,0.5,0.25}') AS weight FROM unnest('{0,2,3,4,5,6,1000000}'::float8[]) hours;
SELECT decay_polygonal('1 hour', '{1 day}', '{0.5}') AS one_point, decay_polygonal('1 day', '{1 day}', '{0}') AS none;

-- properties of all: in 0 .. 1, 1 for age 0 and before, not rising with age
CREATE TEMP VIEW weights AS
SELECT age, name, weight
FROM (SELECT (2 ^ e - 4) * interval '1 second' AS age FROM generate_series(0, 40, 0.25) e) a,
	LATERAL (VALUES ('exponential', decay_exponential(age, '1 day')), ('exponential, short', decay_exponential(age, '1 microsecond')), ('exponential, long', decay_exponential(age, '13000000 days')),
		('window', decay_window(age, '1 day')), ('polynomial', decay_polynomial(age, 1.5, '1 day')), ('polynomial, steep', decay_polynomial(age, 1e300, '1 day')), ('polyexponential', decay_polyexponential(age, 3, '1 day')),
		('linear', decay_linear(age, '30 days')), ('polygonal', decay_polygonal(age, '{0,1 day,1 day,7 days}', '{1,0.9,0.8,0.1}'))) w (name, weight);
SELECT name, count(*) AS ages, bool_and(weight BETWEEN 0 AND 1) AS in_range, bool_and(weight = 1) FILTER (WHERE age <= '0') AS new_is_1, bool_and(weight <= before * (1 + 1e-12)) AS not_rising
FROM (SELECT *, lag(weight, 1, 1) OVER (PARTITION BY name ORDER BY age) AS before FROM weights) s GROUP BY name ORDER BY name COLLATE "C";

-- the purpose of the weights: a row for each hour, weighted by the age of its end, never undercounts. By the age of
-- its start it would, if weights fall from age 0 on. Asked when the last hour is over, and in its middle.
CREATE TEMP TABLE hits AS SELECT 'page' AS item, timestamptz '2024-01-01 00:00 UTC' + i * interval '7 minutes 11 seconds' AS at FROM generate_series(0, 1400) i;
CREATE TEMP TABLE hours AS SELECT date_bin('1 hour', at, '2000-01-01 00:00 UTC') + interval '1 hour' AS hour_end, tbf_agg(item, at, NULL) AS heat FROM hits GROUP BY 1;
CREATE FUNCTION pg_temp.weight(name text, age interval) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE name WHEN 'exponential' THEN decay_exponential(age, '5 hours') WHEN 'window' THEN decay_window(age, '1 day') WHEN 'polynomial' THEN decay_polynomial(age, 2, '1 hour') WHEN 'polyexponential, held' THEN decay_polyexponential(age, 2, '3 hours')
		WHEN 'polyexponential, hour' THEN decay_polyexponential(age, 2, '3 hours', '1 hour') WHEN 'linear' THEN decay_linear(age, '3 days') WHEN 'polygonal' THEN decay_polygonal(age, '{1 hour,1 day,6 days}', '{1,0.5,0}') END $$;
-- the weight of a single hit: the same function, but the polyexponential without its bucket
CREATE FUNCTION pg_temp.hit_weight(name text, age interval) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE WHEN name LIKE 'polyexp%' THEN decay_polyexponential(age, 2, '3 hours', '0') ELSE pg_temp.weight(name, age) END $$;
SELECT name, bool_and(by_end >= exact * (1 - 1e-12)) AS never_less, bool_and(by_start < exact) AS from_the_start_less
FROM unnest('{exponential,window,polynomial,"polyexponential, held","polyexponential, hour",linear,polygonal}'::text[]) name, unnest('{2024-01-08 00:00 UTC,2024-01-07 23:40 UTC}'::timestamptz[]) seen,
	LATERAL (SELECT sum(pg_temp.hit_weight(name, seen - at)) AS exact FROM hits WHERE at <= seen) e,
	LATERAL (SELECT sum(tbf_count(heat, 'page'::text) * pg_temp.weight(name, seen - hour_end)) AS by_end, sum(tbf_count(heat, 'page'::text) * pg_temp.weight(name, seen - hour_end + interval '1 hour')) AS by_start FROM hours) h
GROUP BY name ORDER BY name COLLATE "C";
-- the polyexponential alone: weighed as if all hits came at the end of the hour, it would be too little while it rises
SELECT sum(decay_polyexponential(hour_end - at, 1, '1 day', '0')) > count(*) * decay_polyexponential('0', 1, '1 day', '0') AS needs_its_bucket,
	sum(decay_polyexponential(hour_end - at, 1, '1 day', '0')) <= count(*) * decay_polyexponential('0', 1, '1 day', '1 hour') AS with_bucket
FROM (SELECT at, timestamptz '2024-01-01 01:00 UTC' AS hour_end FROM hits WHERE at < '2024-01-01 01:00 UTC') s;

-- ages of any size; an age beyond what 64 bits hold is finite all the same
SELECT decay_exponential('2147483647 days') AS exponential, decay_exponential('-2147483648 days') AS to_come, decay_polynomial('2147483647 days', 1, '1 day') > 9e-9 AS polynomial,
	decay_window('2147483647 days', '13000000 days') AS "window", decay_polygonal('2147483647 days', '{0}', '{0.5}') AS polygonal;
-- infinite ages, since PostgreSQL 17: the limits. Before, there are none.
CREATE FUNCTION pg_temp.limits(age text) RETURNS SETOF float8 LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('server_version_num')::int >= 170000 THEN
		RETURN QUERY EXECUTE format('SELECT w FROM (SELECT %L::interval AS age) a, unnest(ARRAY[decay_exponential(age), decay_window(age, ''1 day''), decay_polynomial(age, 1, ''1 day''), decay_polyexponential(age, 1, ''1 day''),
			decay_polyexponential(age, 1, ''1 day'', ''1 day''), decay_linear(age, ''1 day''), decay_polygonal(age, ''{0,1 day}'', ''{1,0.5}'')]) w', age);
	ELSIF age = 'infinity' THEN
		RETURN QUERY VALUES (0::float8), (0), (0), (0), (0), (0), (0.5);
	ELSE
		RETURN QUERY VALUES (1::float8), (1), (1), (1), (1), (1), (1);
	END IF;
END $$;
SELECT array_agg(w) AS over FROM pg_temp.limits('infinity') w;
SELECT array_agg(w) AS never_over FROM pg_temp.limits('-infinity') w;

-- NULL
SELECT decay_exponential(NULL), decay_exponential('1 day', NULL), decay_window('1 day', NULL), decay_polynomial('1 day', NULL, '1 day'), decay_polyexponential('1 day', NULL, '1 day'), decay_polyexponential('1 day', 1, '1 day', NULL),
	decay_linear(NULL, '1 day'), decay_polygonal('1 day', NULL, '{1}');

-- what is out of range is refused
SELECT decay_exponential(interval '1 month');
SELECT decay_exponential('1 day', '1 year');
SELECT decay_exponential('1 day', '0');
SELECT decay_window('1 day', '-1 hour');
SELECT decay_linear('1 day', '2147483647 days');
SELECT decay_polynomial('1 day', 0, '1 day');
SELECT decay_polynomial('1 day', 1, '0');
SELECT decay_polyexponential('1 day', -1, '1 day');
SELECT decay_polyexponential('1 day', 1, '0');
SELECT decay_polyexponential('1 day', 1, '1 day', '-1 day');
SELECT decay_polygonal('1 day', '{0,1 day}', '{1}');
SELECT decay_polygonal('1 day', '{}', '{}');
SELECT decay_polygonal('1 day', '{{0,1 day}}', '{1,0}');
SELECT decay_polygonal('1 day', '{0,NULL}', '{1,0}');
SELECT decay_polygonal('1 day', '{0,1 day}', '{1,NULL}');
SELECT decay_polygonal('1 day', '{0,-1 day}', '{1,0}');
SELECT decay_polygonal('1 day', '{2 days,1 day}', '{1,0}');
SELECT decay_polygonal('1 day', '{0,1 day}', '{2,1}');
SELECT decay_polygonal('1 day', '{0,1 day}', '{0.5,1}');
-- a bad parameter is refused whatever the age
SELECT command, sqlstate_of('SELECT ' || command) AS state
FROM unnest(ARRAY['decay_exponential(''-1 day'', ''0'')', 'decay_exponential(''1 day'', ''-1 month'')', 'decay_exponential(''1 day'', ''14000000 days'')', 'decay_window(''-1 day'', ''0'')', 'decay_window(''1 year'', ''1 day'')', 'decay_linear(''-1 day'', ''0'')', 'decay_linear(''1 month'', ''1 day'')',
	'decay_polynomial(''1 month'', 1, ''1 day'')', 'decay_polynomial(''0'', -1, ''1 day'')', 'decay_polynomial(''0'', ''NaN'', ''1 day'')', 'decay_polynomial(''0'', ''Infinity'', ''1 day'')', 'decay_polynomial(''0'', 1, ''1 month'')',
	'decay_polyexponential(''1 month'', 1, ''1 day'')', 'decay_polyexponential(''0'', 1, ''1 month'')', 'decay_polyexponential(''0'', 1, ''1 day'', ''1 month'')', 'decay_polyexponential(''0'', 1, ''1 day'', ''14000000 days'')',
	'decay_polygonal(''1 month'', ''{0}'', ''{1}'')', 'decay_polygonal(''0'', ''{1 month}'', ''{1}'')', 'decay_polygonal(''0'', ''{14000000 days}'', ''{1}'')', 'decay_polygonal(''0'', ''{0}'', ''{NaN}'')', 'decay_polygonal(''0'', ''{0}'', ''{-0.1}'')', 'decay_polygonal(''0'', ''{0}'', ''{Infinity}'')',
	-- infinite lengths: before PostgreSQL 17 no interval at all
	'decay_exponential(''1 day'', ''infinity'')', 'decay_window(''1 day'', ''infinity'')', 'decay_polynomial(''1 day'', 1, ''-infinity'')', 'decay_polyexponential(''1 day'', 1, ''1 day'', ''infinity'')', 'decay_linear(''1 day'', ''infinity'')', 'decay_polygonal(''0'', ''{infinity}'', ''{1}'')']) command
WHERE sqlstate_of('SELECT ' || command) <> CASE WHEN command LIKE '%infinity%' AND current_setting('server_version_num')::int < 170000 THEN '22007' ELSE '22023' END;
SELECT proname, count(*) FROM pg_proc WHERE proname LIKE 'decay\_%' AND NOT (provolatile = 'i' AND proisstrict AND proparallel = 's' AND obj_description(oid, 'pg_proc') IS NOT NULL) GROUP BY 1;
