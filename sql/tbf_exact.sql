-- tbf_exact: small filters that size themselves hold their items, so that filters an hour merge into days without any loss

SET timezone = 'UTC';
CREATE TEMP TABLE hit AS SELECT 'page ' || (i * i % 997) AS page, '2024-01-01'::timestamptz + i * interval '41 seconds' AS at FROM generate_series(0, 40000) i;
CREATE TEMP TABLE hour AS SELECT date_trunc('hour', at) AS hour, tbf_agg(page, at, NULL) AS hits, tbf_agg(page, at, '7 days') AS fading FROM hit GROUP BY 1;
SELECT count(*) AS hours, bool_and((tbf_info(hits)).layout = 'exact') AS exact, bool_and((tbf_info(fading)).layout = 'exact') AS exact FROM hour;

-- undecayed: merged, they are the filter of all rows to the byte, and its counts are those of SQL
CREATE TEMP TABLE truth AS SELECT page, count(*) AS hits, sum(power(2::float8, -extract(epoch FROM '2024-01-20' - date_bin('1 hour 45 minutes', at, '2000-01-01')) / 604800)) AS faded FROM hit GROUP BY page;
SELECT (SELECT tbf_merge_agg(hits) FROM hour) = (SELECT tbf_agg(page, at, NULL) FROM hit) AS same;
SELECT count(*) AS pages, bool_and(f -> page = hits) AS exact, min(f -> ('no ' || page)) AS never_seen FROM (SELECT tbf_merge_agg(hits) AS f FROM hour) s, truth;
-- decayed: hour after hour on top of the last, a merge adds at most 1/4096 of a hit
DO $$
DECLARE
	day tbf;
	h tbf;
BEGIN
	FOR h IN SELECT fading FROM hour ORDER BY hour LOOP
		day := coalesce(day + h, h);
	END LOOP;
	PERFORM set_config('test.day', day::text, false);
END $$;
SELECT bool_and(tbf_count(f, page, '2024-01-20') >= faded * (1 - 1e-9)) AS never_below, max(tbf_count(f, page, '2024-01-20') - faded) < (SELECT count(*) FROM hour) / 4096.0 AS at_most_one_unit_an_hour FROM truth, (SELECT current_setting('test.day')::tbf AS f) s;
SELECT bool_and(tbf_count(f, page, '2024-01-20') BETWEEN faded * (1 - 1e-9) AND faded + 0.01) AS at_once FROM truth, (SELECT tbf_merge_agg(fading) AS f FROM hour) s;

-- neither the order nor the workers leave a trace
SELECT tbf_merge_agg(fading ORDER BY hour) = tbf_merge_agg(fading ORDER BY md5(hour::text)) AS order_is_nothing FROM hour;
CREATE TABLE tbf_exact_hour AS SELECT * FROM hour;
ALTER TABLE tbf_exact_hour SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT tbf_merge_agg(fading) FROM tbf_exact_hour;
SELECT tbf_merge_agg(fading) = (SELECT tbf_merge_agg(fading) FROM hour) AS workers_are_nothing, tbf_merge_agg(hits) = (SELECT tbf_merge_agg(hits) FROM hour) AS workers_are_nothing FROM tbf_exact_hour;

-- up to 65,536 items; with more there are counters, with room for four times as many if filters were merged, and the
-- filter never becomes exact again
CREATE TABLE tbf_exact_part AS SELECT p, tbf_agg(i, NULL, NULL) AS f FROM generate_series(0, 65537) i, LATERAL (SELECT CASE WHEN i < 65535 THEN i % 5 WHEN i = 65535 THEN 5 ELSE 6 END) s (p) GROUP BY p;
ALTER TABLE tbf_exact_part SET (parallel_workers = 2);
SELECT layout, cells, cardinality FROM tbf_info((SELECT tbf_merge_agg(f) FROM tbf_exact_part WHERE p < 6));
SELECT layout, cells, cells >= (SELECT cells FROM tbf_info(tbf_empty(4 * 65538, half_life => NULL))) AS room, abs(cardinality - 65538) < 500 AS sane FROM tbf_info((SELECT tbf_merge_agg(f) FROM tbf_exact_part));
SELECT layout, cells FROM tbf_info((SELECT tbf_agg(i, NULL, NULL) FROM generate_series(0, 65537) i));
SELECT layout, bytes FROM tbf_info((SELECT tbf_decay(tbf_agg(i, '2024-01-01'), '2034-01-01') FROM generate_series(1, 70000) i));
SELECT layout, bytes FROM tbf_info((SELECT tbf_decay(tbf_agg(i, '2024-01-01'), '2034-01-01') FROM generate_series(1, 60000) i));
-- an aggregate and a chain of + have the same items
SELECT bool_and(big -> i >= 1) AS never_below, count(*) FILTER (WHERE big -> i > 1) < 100 AS rarely_above FROM (SELECT tbf_merge_agg(f) AS big FROM tbf_exact_part) s, generate_series(0, 65537) i;

-- exact ones and counters together: an item goes to its counters and to no others, whatever comes first
CREATE TEMP TABLE told AS SELECT tbf_agg(i, NULL, NULL, 1, 3000, 0.01) AS f FROM generate_series(1, 2000) i;
CREATE TEMP TABLE few AS SELECT tbf_agg(i, NULL, NULL) AS f FROM generate_series(1900, 2500) i;
SELECT a.f + b.f = b.f + a.f AS commutes, a.f + b.f = (SELECT tbf_agg(i, NULL, NULL, 1, 3000, 0.01) FROM (SELECT generate_series(1, 2000) UNION ALL SELECT generate_series(1900, 2500)) s (i)) AS as_if_told FROM told a, few b;
SELECT tbf_merge_agg(f ORDER BY o) = tbf_merge_agg(f ORDER BY o DESC) AS order_is_nothing FROM (SELECT f, 1 FROM told UNION ALL SELECT f, 2 FROM few UNION ALL SELECT f, 3 FROM tbf_exact_part WHERE p > 4) s (f, o);
INSERT INTO tbf_exact_part SELECT 7, f FROM told UNION ALL SELECT 8, f FROM told;
SELECT tbf_merge_agg(f) = (SELECT (a.f + a.f) + (SELECT tbf_merge_agg(f) FROM tbf_exact_part WHERE p IN (5, 6)) FROM told a) AS workers_are_nothing FROM tbf_exact_part WHERE p > 4;
-- counters that have sized themselves are widened for the items of exact filters
WITH both_ AS MATERIALIZED (SELECT f + big AS f FROM (SELECT tbf_merge_agg(f) FROM tbf_exact_part WHERE p < 5) a (f), (SELECT tbf_agg(i, NULL, NULL) FROM generate_series(100001, 166000) i) b (big))
SELECT (SELECT (tbf_info(f)).cells FROM both_) AS cells, bool_and(f -> i >= 1) AS never_below FROM both_, generate_series(0, 65534, 97) i;

-- hits added and taken out, one by one
SELECT f = g AS as_before, (f -> 'a', f -> 'b') AS counts, layout FROM (SELECT tbf_add(tbf_empty(NULL, 0.01, NULL), 'a', now(), 3) AS f) s, LATERAL (SELECT tbf_remove(tbf_add(f, 'b', now(), 2), 'b', now(), 2) AS g) t, tbf_info(g);
SELECT tbf_remove(tbf_add(tbf_empty(NULL, 0.01, NULL), 'a', now(), 3), 'a', now(), 4);
SELECT tbf_remove(tbf_add(tbf_empty(NULL, 0.01, NULL), 'a'), 'b');
SELECT layout, cells IS NOT NULL AS cells FROM tbf_info((SELECT tbf_add_all(tbf_empty(NULL), array_agg(i), '2024-01-01') FROM generate_series(1, 65537) i));
-- decay composes, and what it forgets is in the slack
SELECT bool_and(tbf_decay(tbf_decay(f, '2024-03-01'), at) = tbf_decay(f, at)) AS composes, bool_and(tbf_count(tbf_decay(f, at), page, at) >= 0.999999 * tbf_count(f, page, at)) AS never_below FROM (SELECT tbf_merge_agg(fading) AS f FROM hour) s, generate_series('2024-03-01'::timestamptz, '2024-08-01', '31 days') at, (SELECT page FROM truth LIMIT 50) t;
SELECT cardinality, slack > 0 AS slack, bytes FROM tbf_info((SELECT tbf_decay(tbf_agg(page, at, '1 hour'), '2024-02-20') FROM hit));
-- parameters: an empty filter that sizes itself says them, too
SELECT layout, half_life, top, minimum_increase FROM tbf_info((SELECT tbf_agg_in_order(page, at, tbf_empty(NULL, half_life => '3 days', top => 5)) FROM hit));
SELECT tbf_empty(NULL, minimum_increase => true);
SELECT tbf_empty(NULL, half_life => NULL, recurring_minimum => true);
SELECT tbf_empty(NULL, 0.01) + tbf_empty(NULL, 0.0001);

-- what else can be asked of it
SELECT tbf_cardinality(f), tbf_error_bound(f, 0.5), tbf_estimate(f, 'page 1') = f -> 'page 1' AS estimate, round(tbf_inner_product(f, f)) = (SELECT sum(hits * hits) FROM truth) AS self_join, tbf_total(f) FROM (SELECT tbf_merge_agg(hits) AS f FROM hour) s;
-- with minimum increase counters are no sums of hits
SELECT tbf_estimate(tbf_add(tbf_empty(100, half_life => NULL, minimum_increase => true), 7), 7);
SELECT tbf_inner_product(f, f) FROM tbf_add(tbf_empty(100, half_life => NULL, minimum_increase => true), 7) f;
SELECT tbf_estimate(tbf_add(tbf_empty(100, half_life => NULL, recurring_minimum => true), 7), 7);
SELECT layout, cells, (tbf_info(tbf_layout(f, 'flat'))).layout AS flat, bool_and(tbf_layout(f, 'flat') -> page >= hits) AS never_below FROM (SELECT tbf_merge_agg(hits) AS f FROM hour) s, tbf_info(tbf_layout(f, 'extensible')), truth GROUP BY 1, 2, 3;
SELECT f = g AS different_forms_differ, f * 2 = f + f AS twice, (f * 0.5) -> 'page 1' = (f -> 'page 1') / 2 AS half FROM (SELECT tbf_merge_agg(hits) AS f, tbf_layout(tbf_merge_agg(hits), 'extensible') AS g FROM hour) s;
-- a warning if the counters became too few, once per statement, and no warning without this reason
SELECT count(tbf_merge(f, few)) AS merged FROM (SELECT tbf_agg(i, NULL, NULL, 1, 10, 0.01) FROM generate_series(1, 10) i) a (f), (SELECT tbf_agg(i, NULL, NULL) FROM generate_series(1, 500) i) b (few), generate_series(1, 3);
SELECT layout FROM tbf_info((SELECT tbf_merge_agg(f) FROM (SELECT tbf_agg(i, NULL, NULL, 1, 10, 0.01) AS f FROM generate_series(1, 60) i GROUP BY i / 6) s));
SELECT f + f = f * 2 AS not_lifted FROM (SELECT tbf_agg(i, NULL, NULL, 1, 10, 0.01) AS f FROM generate_series(1, 100) i) s;
SELECT layout FROM tbf_info((SELECT tbf_merge_agg(f) FROM (SELECT tbf_agg(i, NULL, NULL, 1, 100, 0.01) AS f FROM generate_series(1, 100) i GROUP BY i / 6) s));
-- no warning either if workers merge filters that were as full before
CREATE TABLE tbf_exact_full AS SELECT tbf_agg(i, NULL, NULL, 1, 10, 0.01) AS f FROM generate_series(1, 100) i, generate_series(1, 200) part GROUP BY part;
ALTER TABLE tbf_exact_full SET (parallel_workers = 2);
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT tbf_merge_agg(f) FROM tbf_exact_full;
SELECT tbf_merge_agg(f) -> 7 AS parts FROM tbf_exact_full;
-- a worker says itself that a half-life is short, and that a filter that it makes is too full: here once, because only
-- one worker gets the table's only page
CREATE TABLE tbf_exact_page AS SELECT p FROM generate_series(1, 5) p;
ALTER TABLE tbf_exact_page SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT count(tbf_add(tbf_empty(10), p)) FROM tbf_exact_page;
SELECT count(tbf_add_all(tbf_empty(10 + p, 0.01, '1 second'), ARRAY(SELECT generate_series(1, 1000)))) FROM tbf_exact_page;
DROP TABLE tbf_exact_page;
RESET parallel_leader_participation;
DROP TABLE tbf_exact_full;
DROP TABLE tbf_exact_hour, tbf_exact_part;
