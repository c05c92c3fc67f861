-- bf_agg_window: as window aggregates they give what the plain aggregate gives on the rows of the frame

CREATE TEMP TABLE item AS
	SELECT i, (i * 7919) % 101 AS v, CASE WHEN i % 11 > 0 THEN (i * 31) % 17 END AS n, bf_agg(x) AS f
	FROM generate_series(1, 120) i, generate_series(i, i + i % 5 * 20) x GROUP BY i;

-- growing, moving, shrinking and empty frames
SELECT count(*) AS rows,
	count(*) FILTER (WHERE a IS DISTINCT FROM (SELECT bf_agg(v) FROM item j WHERE j.i <= w.i)) AS wrong,
	count(*) FILTER (WHERE b IS DISTINCT FROM (SELECT bf_agg(v, 20) FROM item j WHERE j.i BETWEEN w.i - 5 AND w.i + 5)) AS wrong,
	count(*) FILTER (WHERE c IS DISTINCT FROM (SELECT bf_agg(v) FROM item j WHERE j.i >= w.i)) AS wrong,
	count(*) FILTER (WHERE d IS DISTINCT FROM (SELECT bf_agg(v) FROM item j WHERE j.i BETWEEN w.i - 3 AND w.i - 1)) AS wrong,
	count(*) FILTER (WHERE e IS DISTINCT FROM (SELECT bf_agg(n, NULL, 0.001) FROM item j WHERE j.i BETWEEN w.i - 1 AND w.i)) AS wrong,
	count(*) FILTER (WHERE g IS DISTINCT FROM (SELECT bf_agg(v) FROM item j WHERE j.i % 3 = w.i % 3)) AS wrong,
	count(*) FILTER (WHERE h IS DISTINCT FROM (SELECT bf_agg(v) FROM item j WHERE j.i BETWEEN w.i - 5 AND w.i + 5 AND j.i <> w.i)) AS wrong
FROM (SELECT i, bf_agg(v) OVER (ORDER BY i) AS a,
		bf_agg(v, 20) OVER (ORDER BY i ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS b,
		bf_agg(v) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c,
		bf_agg(v) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS d,
		bf_agg(n, NULL, 0.001) OVER (ORDER BY i ROWS 1 PRECEDING) AS e,
		bf_agg(v) OVER (PARTITION BY i % 3) AS g,
		bf_agg(v) OVER (ORDER BY i ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING EXCLUDE CURRENT ROW) AS h
	FROM item) w;

SET client_min_messages = error; -- unions of filters that sized themselves are too full; sql/bf_exact.sql has the warning
-- filters: the state is a value, and a row that was given out must not change afterwards
SELECT count(*) AS rows,
	count(*) FILTER (WHERE a IS DISTINCT FROM (SELECT bf_union_agg(f ORDER BY i) FROM item j WHERE j.i <= w.i)) AS wrong,
	count(*) FILTER (WHERE b IS DISTINCT FROM (SELECT bf_union_agg(f ORDER BY i) FROM item j WHERE j.i BETWEEN w.i - 2 AND w.i)) AS wrong,
	count(*) FILTER (WHERE c IS DISTINCT FROM (SELECT bf_intersection_agg(f) FROM item j WHERE j.i <= w.i)) AS wrong,
	count(*) FILTER (WHERE before IS DISTINCT FROM (SELECT bf_union_agg(f ORDER BY i) FROM item j WHERE j.i <= w.i - 1)) AS wrong
FROM (SELECT *, lag(a) OVER (ORDER BY i) AS before FROM (SELECT i, bf_union_agg(f) OVER (ORDER BY i) AS a,
		bf_union_agg(f) OVER (ORDER BY i ROWS 2 PRECEDING) AS b,
		bf_intersection_agg(f) OVER (ORDER BY i) AS c
	FROM item) s) w;
-- the filters of the table are as they were
SELECT count(*) AS rows, count(*) FILTER (WHERE f IS DISTINCT FROM (SELECT bf_agg(x) FROM generate_series(i, i + i % 5 * 20) x)) AS changed FROM item;
