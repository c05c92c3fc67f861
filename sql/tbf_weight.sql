-- tbf_weight: filters merged by weights, by age for example

SET timezone = 'UTC';
-- one filter times a weight: 10 and 1 hits. Whole weights are exact; else a sixteenth of a hit at most above
CREATE TEMP TABLE ten AS SELECT tbf_agg(item, NULL, NULL, 1, 1000, 0.0001) AS f FROM (SELECT 'a' FROM generate_series(1, 10) UNION ALL VALUES ('b')) v (item);
SELECT weight, (f * weight) -> 'a' AS a, (weight * f) -> 'b' AS b, (f * weight) -> 'c' AS c, (f * weight) @> 'b' AS holds_b, unit
FROM ten, unnest('{0,-0,5e-324,1e-300,0.001,0.0625,0.1,0.5,0.7,0.75,1,1.5,2,3,1000,123456789,8589934591}'::float8[]) WITH ORDINALITY w (weight, i), tbf_info(f * weight) ORDER BY i;
-- a weight of any numeric type; both sides, and by name
SELECT f * 2 = 2 * f AS int, f * 0.5 = 0.5 * f AS numeric, f * 2::smallint = f * 2::real AS others, tbf_scale(f, 2) = tbf_scale(2, f) AS named, tbf_scale(filter => f, weight => 2) = f * 2 AS named, tbf_scale(weight => 2, filter => f) = f * 2 AS named FROM ten;
SELECT f * NULL::float8 IS NULL AS no_weight, NULL::tbf * 2 IS NULL AS no_filter FROM ten;

-- with a half-life or without: times 1 is the filter itself, times 2 the filter and itself, times 0 an empty one of its kind; slack and total go along
CREATE TEMP TABLE any_tbf AS SELECT half_life, tbf_agg(i % 50, '2024-01-01'::timestamptz + i * interval '7 hours', half_life, 1 + i % 3 * CASE WHEN half_life IS NULL THEN 1 ELSE 0.3 END) AS f FROM unnest('{1 hour,1 day,30 days,NULL}'::interval[]) half_life, generate_series(1, 200) i GROUP BY half_life;
INSERT INTO any_tbf SELECT half_life, tbf_decay(f, '2024-03-05') FROM any_tbf WHERE half_life >= '1 day';
SELECT a.half_life, f * 1 = f AS once, f * 2 = f + f AS twice, f * 3 = f + f + f AS thrice, f * 0 @> 7 AS zero_holds, ((tbf_info(f * 0)).cells, (tbf_info(f * 0)).layout) IS NOT DISTINCT FROM (i.cells, i.layout) AS same_size, (d.base, d.newest) IS NOT DISTINCT FROM (i.base, i.newest) AS same_times,
	d.slack >= 0.3 * i.slack AS slack, d.slack <= 0.3001 * i.slack + 0.001 AS slack, d.total BETWEEN 0.3 * i.total AND 0.3001 * i.total + 0.001 AS total
FROM any_tbf a, tbf_info(f) i, tbf_info(f * 0.3) d ORDER BY a.half_life NULLS LAST, i.base;
-- of two filters: the sum of the products. (Where nothing is rounded: else + rounds once more than the aggregate.)
SELECT tbf_merge_agg(f, weight) = (SELECT f * 3 + tbf_scale(7, tbf_add(f, 99)) FROM any_tbf WHERE half_life IS NULL) AS same
FROM (SELECT f, 3 AS weight FROM any_tbf WHERE half_life IS NULL UNION ALL SELECT tbf_add(f, 99), 7 FROM any_tbf WHERE half_life IS NULL) s;

-- any decay: a row an hour, merged by the age of its end, against the exact sums of SQL. 300 hours, 40 pages.
CREATE TABLE tbf_weight (hour timestamptz, hits tbf, flat tbf, fading tbf);
CREATE TEMP TABLE hit AS SELECT 'page ' || (i * i % 79) AS page, '2024-01-01'::timestamptz + i * interval '53 seconds' AS at FROM generate_series(0, 20377) i;
INSERT INTO tbf_weight SELECT date_trunc('hour', at), tbf_agg(page, at, NULL, 1, 100, 0.0001), tbf_layout(tbf_agg(page, at, NULL, 1, 100, 0.0001), 'flat'), tbf_agg(page, at, interval '1 day', 1, 100, 0.0001) FROM hit GROUP BY 1;
ANALYZE tbf_weight;
CREATE TEMP TABLE decay AS SELECT name, hour, weight FROM (SELECT hour, '2024-01-14'::timestamptz - (hour + interval '1 hour') AS age FROM tbf_weight) a, LATERAL (VALUES
	('constant', 1), ('steps', CASE WHEN age < '1 day' THEN 3 WHEN age < '7 days' THEN 2 ELSE 0 END), ('window', decay_window(age, '7 days')), ('exp', exp(-extract(epoch FROM age)::float8 / 3e4)), ('steep', exp(-extract(epoch FROM age)::float8 / 1800)),
	('polynomial', decay_polynomial(age, 1, '1 day')), ('linear', decay_linear(age, '10 days')), ('small', 0.001), ('tiny', 1e-12), ('large', 1e6), ('quarter', 0.25)) w (name, weight);
CREATE TEMP TABLE truth AS SELECT name, page, sum(weight) AS exact, sum(weight * power(2::float8, -extract(epoch FROM '2024-01-14' - date_bin('15 minutes', at, '2000-01-01')) / 86400)) AS faded FROM hit JOIN decay ON hour = date_trunc('hour', at) GROUP BY name, page;
-- undecayed rows: never below, 0.1 % and a unit above at most; whole weights exactly
SELECT name, count(*) AS pages, bool_and(f -> page >= exact * (1 - 1e-14)) AS never_below, bool_and(f -> page <= exact * 1.001 + 0.0625) AS hardly_above, bool_and(f -> page = exact) AS exactly, min(f -> 'page never seen') AS never_seen, max(slack) AS slack, max(unit) AS unit
FROM (SELECT name, tbf_merge_agg(hits, weight) AS f FROM tbf_weight JOIN decay USING (hour) GROUP BY name) s JOIN truth USING (name), tbf_info(f) GROUP BY name ORDER BY name;
-- rows with a half-life of a day too: both fade. Each row was stored: a sixteenth, as of the start of its day
SELECT name, bool_and(tbf_count(f, page, '2024-01-14') >= faded * (1 - 1e-14)) AS never_below, bool_and(tbf_count(f, page, '2024-01-14') <= faded * 1.001 + 0.0625 + roundings) AS hardly_above, max(tbf_count(f, 'page never seen', '2024-01-14')) < 0.001 AS hardly_forgotten
FROM (SELECT name, tbf_merge_agg(fading, weight) AS f, sum(0.0625 * weight * power(2::float8, hour::date - '2024-01-14'::date)) AS roundings FROM tbf_weight JOIN decay USING (hour) GROUP BY name) s JOIN truth USING (name) GROUP BY name ORDER BY name;

-- the order of the rows leaves no trace, nor does a row of weight 0, nor one that is null
SELECT name, tbf_merge_agg(hits, weight ORDER BY hour) = tbf_merge_agg(hits, weight ORDER BY hour DESC) AS same, tbf_merge_agg(hits, weight ORDER BY weight, hour) = tbf_merge_agg(hits, weight ORDER BY md5(hour::text)) AS same,
	tbf_merge_agg(fading, weight ORDER BY hour) = tbf_merge_agg(fading, weight ORDER BY md5(hour::text)) AS same, tbf_merge_agg(hits, weight) = tbf_merge_agg(hits, weight) FILTER (WHERE weight <> 0) AS zero_leaves_no_trace,
	tbf_merge_agg(fading, weight) = tbf_merge_agg(fading, weight) FILTER (WHERE weight <> 0) AS zero_leaves_no_trace, tbf_merge_agg(hits, weight) -> 'page 1' = tbf_merge_agg(flat, weight) -> 'page 1' AS flat_counts_alike
FROM tbf_weight JOIN decay USING (hour) GROUP BY name ORDER BY name;
SELECT tbf_merge_agg(hits, weight) = (SELECT tbf_merge_agg(hits, 0.3) FROM tbf_weight) AS null_rows_are_skipped FROM (SELECT hits, 0.3 AS weight FROM tbf_weight UNION ALL SELECT NULL, NULL UNION ALL SELECT NULL, -1) s;
SELECT tbf_merge_agg(hits, 1) = tbf_merge_agg(hits) AS weight_1_is_no_weight, tbf_merge_agg(fading, 1) = tbf_merge_agg(fading) AS weight_1_is_no_weight FROM tbf_weight;
-- no rows, or none with a filter: NULL. All of weight 0: an empty filter
SELECT tbf_merge_agg(hits, 1) IS NULL AS no_rows, tbf_merge_agg(NULL, 1) IS NULL AS no_rows FROM tbf_weight WHERE false;
SELECT tbf_merge_agg(NULL, 1) IS NULL AS no_filters, tbf_merge_agg(NULL, NULL) IS NULL AS no_filters, tbf_merge_agg(hits, 0) -> 'page 1' AS nothing, tbf_merge_agg(hits, 0) @> 'page 1' AS nothing FROM tbf_weight;
SELECT item_kind, total, fill FROM (SELECT tbf_merge_agg(hits, 0) AS f FROM tbf_weight) s, tbf_info(f);

-- several sizes: that of the largest, also if its weight is 0
SELECT weight, cells, f -> 1, f -> 2 FROM unnest('{0,0.5,2}'::float8[]) weight, LATERAL (SELECT tbf_merge_agg(tbf_add(tbf_empty(n, 0.01, NULL), i), CASE n WHEN 400 THEN weight ELSE 1 END) AS f FROM (VALUES (4, 1), (400, 2), (30, 1)) v (n, i)) s, tbf_info(f) ORDER BY weight;
-- what is stored may be merged again
SELECT bool_and(f -> page >= exact * (1 - 1e-14)) AS never_below, bool_and(f -> page <= exact * 1.001 + 13 * 0.0625) AS hardly_above
FROM (SELECT tbf_merge_agg(day, 0.001) AS f FROM (SELECT tbf_merge_agg(hits, 0.7) AS day FROM tbf_weight GROUP BY hour::date) s) t, (SELECT page, 0.7 * 0.001 * count(*) AS exact FROM hit GROUP BY page) u;
-- a filter with minimum increase (flag 4 at byte 4) is weighted as any other
SELECT bool_and(f -> page = plain -> page) AS same_counts FROM (SELECT tbf_merge_agg(set_byte(hits::bytea, 4, 5)::tbf, 0.7) AS f, tbf_merge_agg(hits, 0.7) AS plain FROM tbf_weight) s, (SELECT DISTINCT page FROM hit) u;
-- as a window aggregate
SELECT bool_and(running -> 'page 1' = (SELECT tbf_merge_agg(hits, 0.5) -> 'page 1' FROM tbf_weight u WHERE u.hour <= s.hour)) AS same FROM (SELECT hour, tbf_merge_agg(hits, 0.5) OVER (ORDER BY hour) AS running FROM tbf_weight WHERE hour < '2024-01-02') s;

-- workers leave no trace
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ALTER TABLE tbf_weight SET (parallel_workers = 3);
SET max_parallel_workers_per_gather = 3;
EXPLAIN (COSTS off) SELECT tbf_merge_agg(hits, exp(-extract(epoch FROM '2024-01-14' - hour) / 3e4)) FROM tbf_weight;
CREATE TEMP TABLE by_workers AS SELECT tbf_merge_agg(hits, exp(-extract(epoch FROM '2024-01-14' - hour) / 3e4)) AS f, tbf_merge_agg(fading, decay_polynomial('2024-01-14' - hour, 2, '1 hour')) AS g, tbf_merge_agg(hits, 1e9 / extract(epoch FROM '2024-01-14' - hour) ^ 3) AS h FROM tbf_weight;
SET max_parallel_workers_per_gather = 0;
SELECT tbf_merge_agg(hits, exp(-extract(epoch FROM '2024-01-14' - hour) / 3e4)) = (SELECT f FROM by_workers) AS same, tbf_merge_agg(fading, decay_polynomial('2024-01-14' - hour, 2, '1 hour')) = (SELECT g FROM by_workers) AS same,
	tbf_merge_agg(hits, 1e9 / extract(epoch FROM '2024-01-14' - hour) ^ 3) = (SELECT h FROM by_workers) AS same FROM tbf_weight;
RESET max_parallel_workers_per_gather;
DROP TABLE tbf_weight;

-- errors: a weight that is null (of a filter that is not) or out of range
SELECT error_of('SELECT tbf_merge_agg(tbf_empty(), NULL::float8)');
SELECT error_of('SELECT tbf_empty() * -1');
SELECT weight, sqlstate_of(format('SELECT tbf_empty() * %L::float8', weight)) AS operator, sqlstate_of(format('SELECT %L::float8 * tbf_empty()', weight)) AS commuted, sqlstate_of(format('SELECT tbf_merge_agg(tbf_empty(), %L::float8)', weight)) AS aggregate
FROM unnest('{-1,-5e-324,NaN,Infinity,-Infinity,8589934592,8589934591.999999,0}'::float8[]) weight;
-- what cannot be merged cannot with weight 0 either
SELECT error_of('SELECT tbf_merge_agg(f, 0) FROM (VALUES (tbf_add(tbf_empty(), 1)), (tbf_add(tbf_empty(), ''x''))) v (f)');
SELECT error_of('SELECT tbf_merge_agg(f, 0) FROM (VALUES (tbf_empty(10, 0.01, ''1 day'')), (tbf_empty(10, 0.01, NULL))) v (f)');
SELECT sqlstate_of(format('SELECT tbf_merge_agg(f, %s) FROM (VALUES (tbf_empty(10)), (%s)) v (f)', weight, other)) AS state, weight, other
FROM unnest('{0,1}'::int[]) weight, unnest(ARRAY['tbf_empty(10, 0.01, ''1 day'')', 'tbf_empty(10, 0.01, ''7 days'', ''1 hour'')', 'tbf_empty(10, 0.3)', 'tbf_empty(20000)']) other ORDER BY weight, other;
-- filters with recurring minimum cannot be merged, weighted or not (flag 8 at byte 4)
CREATE FUNCTION pg_temp.recurring() RETURNS tbf LANGUAGE sql AS $$SELECT set_byte(tbf_empty(10, 0.01, NULL)::bytea, 4, 8)::tbf$$;
SELECT error_of('SELECT tbf_merge_agg(pg_temp.recurring())');
SELECT array_agg(DISTINCT error_of(command) = error_of('SELECT tbf_merge_agg(pg_temp.recurring())')) AS same_error
FROM unnest(ARRAY['SELECT pg_temp.recurring() * 0.5', 'SELECT pg_temp.recurring() * 1', 'SELECT tbf_merge_agg(pg_temp.recurring(), 0)', 'SELECT pg_temp.recurring() + tbf_empty(10, 0.01, NULL)', 'SELECT tbf_empty(10, 0.01, NULL) + pg_temp.recurring()']) command;
-- a counter that would overflow: never a wrap
SELECT n, error_of(format('SELECT tbf_merge_agg(f, 8589934591) -> 1 = 2 ^ 18 * 8589934591.0 * %s FROM (SELECT tbf_agg(1, NULL, NULL, 2 ^ 18) AS f) s, generate_series(1, %s)', n, n)) FROM unnest('{1,2}'::int[]) n;
SELECT error_of('SELECT tbf_agg(1, ''2024-01-01'', ''7 days'', 8e9) * 8e9');
