-- tbf_agg: hits as an aggregate

SET timezone = 'UTC';
CREATE TEMP TABLE hit AS SELECT i, i % 50 AS item, '2024-01-01'::timestamptz + i * interval '1 hour' AS at FROM generate_series(1, 2000) i;

-- all overloads say the same of the same parameters: (item, at [, weight [, half_life [, expected_items, fpr [, epoch, not_after]]]]), (item, at, half_life)
SELECT (SELECT tbf_agg(item, at) FROM hit) = ALL (ARRAY[tbf_agg(item, at, '7 days', 1.0), tbf_agg(item, at, interval '7 days'), tbf_agg(item, at, interval '7 days'), tbf_agg(item, at, interval '7 days', 1, NULL, NULL),
	tbf_agg(item, at, interval '7 days', 1, NULL, 0.01), tbf_agg(item, at, interval '7 days', 1, NULL, 0.01, NULL, NULL), tbf_agg(item, at, interval '7 days', 1, NULL, NULL, interval '105 minutes', '2030-01-01')]) AS same FROM hit;
SELECT tbf_agg(item, at, interval '1 day') = tbf_agg(item, at, interval '1 day') AS same, tbf_agg(item, at, NULL::interval) = tbf_agg(item, at, NULL) AS undecayed,
	tbf_agg(item, at, interval '1 day', 1, 100, NULL) = tbf_agg(item, at, interval '1 day', 1, 100, 0.01) AS fpr FROM hit;
SELECT half_life, epoch, expected_items, false_positive_rate FROM (SELECT tbf_agg(item, at, interval '2 days', 1, 77, 0.02, interval '3 hours', NULL) AS f FROM hit) s, tbf_info(f);

-- no rows, or no items: NULL; items that are null leave no trace
SELECT tbf_agg(item, at), tbf_agg(item, at, '7 days', 1), tbf_merge_agg(NULL::tbf) FROM hit WHERE false;
SELECT tbf_agg(NULL::int, at), tbf_agg(NULL, at), tbf_agg(NULL::int, at, NULL), tbf_agg(NULL::int, NULL), tbf_merge_agg(NULL::tbf) FROM hit;
SELECT tbf_agg(nullif(item, 7), at) = tbf_agg(item, at) FILTER (WHERE item <> 7) AS skipped, tbf_agg(nullif(item, 7), CASE WHEN item <> 7 THEN at END) = tbf_agg(item, at) FILTER (WHERE item <> 7) AS skipped FROM hit;

-- a time or weight that is null is an error: to leave the hit out would undercount
SELECT tbf_agg(item, nullif(at, '2024-01-01 07:00')) FROM hit;
SELECT tbf_agg(item, at, '7 days', nullif(i, 7)) FROM hit;
SELECT sqlstate_of('SELECT tbf_agg(1, NULL)'), sqlstate_of('SELECT tbf_agg(1, now(), ''7 days'', NULL::float8)'), sqlstate_of('SELECT tbf_agg(1, NULL, NULL, 1, 10, 0.1)');

-- weights: zero or more, finite, fractions too
SELECT weight, array_agg(DISTINCT sqlstate_of(format(command, weight))) AS states
FROM unnest(ARRAY['-1', '-0.001', '''NaN''::float8', '''Infinity''::float8', '''-Infinity''::float8', '1e300', '1e15']) WITH ORDINALITY w (weight, i),
	unnest(ARRAY['SELECT tbf_agg(1, now(), ''7 days'', %s)', 'SELECT tbf_agg(1, now(), NULL, %s)', 'SELECT tbf_agg(1, now(), interval ''1 day'', %s, 10, 0.1)', 'SELECT tbf_add(tbf_empty(), 1, now(), %s)', 'SELECT tbf_add_all(tbf_empty(), ''{1,2}''::int[], now(), %s)']) command
GROUP BY i, weight ORDER BY i;
SELECT tbf_agg(1, now(), '7 days', -1);
SELECT tbf_agg(1, now(), '7 days', 1e300);
SELECT f -> 1, f -> 2, f @> 2 AS found FROM (SELECT tbf_agg(item, now(), NULL, weight) AS f FROM (VALUES (1, 3), (2, 0), (1, 0), (1, 4)) v (item, weight)) s;
SELECT (tbf_info(f)).item_kind, f -> 1, f @> 1 AS found FROM (SELECT tbf_agg(1, now(), '7 days', 0) AS f) s;
SELECT tbf_agg(1, now(), '7 days', '-0'::float8) -> 1 AS minus_zero_is_zero;
SELECT f -> 'a' BETWEEN 1 AND 1 + 0.0625 + 0.001 AS ten_tenths, f -> 'b' BETWEEN 0.75 AND 0.75 + 0.0625 AS quarters, f -> 'c' BETWEEN 1e-9 AND 0.0625 AS tiny, f -> 'd' BETWEEN 8e9 AND 8.008e9 AS huge
FROM (SELECT tbf_agg(item, now(), NULL, weight) AS f FROM (SELECT 'a', 0.1 FROM generate_series(1, 10) UNION ALL SELECT 'b', 0.25 FROM generate_series(1, 3) UNION ALL VALUES ('c', 1e-9), ('d', 8e9)) v (item, weight)) s;
SELECT tbf_count(f, 'a', '2024-01-01') BETWEEN 1 AND 1 + 0.0625 + 0.001 AS ten_tenths, tbf_count(f, 'c', '2024-01-01') BETWEEN 1e-9 AND 0.0625 AS tiny, tbf_count(f, 'd', '2024-01-01') BETWEEN 8e9 AND 8.008e9 AS huge
FROM (SELECT tbf_agg(item, '2024-01-01', '7 days', weight) AS f FROM (SELECT 'a', 0.1 FROM generate_series(1, 10) UNION ALL VALUES ('c', 1e-9), ('d', 8e9)) v (item, weight)) s;

-- GROUP BY, FILTER, DISTINCT, ORDER BY, GROUPING SETS
CREATE TEMP TABLE grouped AS SELECT i % 7 AS g, tbf_agg(item, at) AS f FROM hit GROUP BY 1;
SELECT count(*) AS groups, count(DISTINCT md5(f::bytea)) AS different, bool_and(f = (SELECT tbf_agg(item, at) FILTER (WHERE i % 7 = g) FROM hit)) AS as_filtered FROM grouped;
SELECT tbf_agg(item, at ORDER BY at DESC) = tbf_agg(item, at) AS ordered, tbf_agg(DISTINCT item, NULL, NULL::interval) -> 7 AS distinct_items FROM hit;
SELECT g, f = (SELECT f FROM grouped s WHERE s.g = r.g) AS same_group, f = (SELECT tbf_agg(item, at) FROM hit) AS whole FROM (SELECT i % 7 AS g, tbf_agg(item, at) AS f FROM hit GROUP BY GROUPING SETS ((i % 7), ())) r ORDER BY g;

-- as good as adding one by one, where nothing is rounded
SELECT tbf_agg(item, at, NULL, 1, 100, 0.01) = tbf_add_all(tbf_empty(100, 0.01, NULL), array_agg(item)) AS same FROM hit;

-- with an expected number of items the size follows from it; without it: exact, or from 65,537 items on a power of
-- two of counters
SELECT (tbf_info(f)).cells = (tbf_info(tbf_empty(1000))).cells AS as_told, (tbf_info(f)).expected_items FROM (SELECT tbf_agg(item, at, interval '7 days', 1, 1000, 0.01) AS f FROM hit) s;
SELECT n, layout, cells, expected_items, current_false_positive_rate <= 0.013 AS rate_holds FROM unnest('{1,10,1000,65536,65537,150000}'::int[]) n, LATERAL (SELECT tbf_agg(i, now()) AS f FROM generate_series(1, n) i) s, tbf_info(f) ORDER BY n;

-- the hits of sets of every size, also those that have to grow for the last item
SELECT bool_and(f -> i BETWEEN 1 AND 1e300) AS all_found FROM (SELECT n, tbf_agg(i, now(), NULL::interval) AS f FROM generate_series(1, 150) n, generate_series(1, n) i GROUP BY n) s, generate_series(1, n) i;
SELECT bool_and(f -> i BETWEEN 1 AND 1e300) AS all_found FROM (SELECT n, tbf_agg(i, now(), NULL, 1, 20, 0.01) AS f FROM generate_series(1, 150) n, generate_series(1, n) i GROUP BY n) s, generate_series(1, n) i;

-- a state that goes over from items to counters while its last batch of hits is added: the same as the sum of two
-- halves
SELECT count(*) AS counts, bool_and(whole = halves) AS same
FROM generate_series(2540, 2600) n, LATERAL (SELECT tbf_agg(i, now(), NULL, 1, 1000, 0.01) AS whole, tbf_agg(i, now(), NULL, 1, 1000, 0.01) FILTER (WHERE i % 2 = 0) + tbf_agg(i, now(), NULL, 1, 1000, 0.01) FILTER (WHERE i % 2 = 1) AS halves FROM generate_series(1, n) i) s;

-- a filter that sizes itself holds its rate however many items there are
WITH built AS MATERIALIZED (SELECT tbf_agg(i, '2024-01-01') AS f FROM generate_series(1, 2000000) i)
SELECT count(*) FILTER (WHERE i <= 2000000 AND hits BETWEEN 1 AND 1e300 IS NOT TRUE) AS undercounted, count(*) FILTER (WHERE i > 2000000 AND hits > 0) <= 300 AS at_most_one_percent
	FROM built, generate_series(1970001, 2030000) i, LATERAL tbf_count(f, i, '2024-01-01') AS hits;

-- The third argument says how hits decay: an untyped literal is a half-life, NULL is no decay, and a number (a weight by mistake) does not resolve.
SELECT (tbf_info(tbf_agg(1, '2024-01-01', '36 hours'))).half_life, (tbf_info(tbf_agg(1, '2024-01-01', NULL))).half_life IS NULL AS no_decay,
	tbf_count(tbf_agg(1, '2024-01-01', '36 hours', 2.5), 1, '2024-01-01'), tbf_count(tbf_agg(1, '2024-01-01', NULL, 3), 1);
SELECT error_of(format('SELECT tbf_agg(1, now(), %s)', arguments))
FROM unnest(ARRAY['2', '2.5', '2::float8', '2, ''7 days''', '''two''', '''7 days'', ''two''']) arguments;
PREPARE half_life_and_weight AS SELECT tbf_agg(1, '2024-01-01', $1, $2) = tbf_agg(1, '2024-01-01', interval '36 hours', 2.5) AS same;
EXECUTE half_life_and_weight ('36 hours', 2.5);
SELECT tbf_agg_like(i, '2024-01-01', tbf_empty(100, 0.01, '36 hours')) = tbf_agg(i, '2024-01-01', '36 hours', 1, 100, 0.01) AS one,
	tbf_agg_like(i, '2024-01-01', tbf_empty(100, 0.01, '36 hours'), i) = tbf_agg(i, '2024-01-01', '36 hours', i, 100, 0.01) AS weighted,
	tbf_agg_in_order(i, '2024-01-01', tbf_empty(100, 0.01, '36 hours')) = tbf_agg(i, '2024-01-01', '36 hours', 1, 100, 0.01) AS one_in_order
FROM generate_series(1, 50) i;
SELECT name, limits, sqlstate_of(format('SELECT %s(1, now() + interval ''2 days'', tbf_empty(10), 1%s) IS NULL', name, limits))
FROM (VALUES ('tbf_agg_like', ''), ('tbf_agg_like', ', NULL'), ('tbf_agg_like', ', ''infinity'''),
	('tbf_agg_in_order', ', now() + interval ''3 days'''), ('tbf_agg_in_order', '')) t(name, limits);
