-- tbf_agg_window: as window aggregates they give what the plain aggregate gives on the rows of the frame

SET timezone = 'UTC';
CREATE TEMP TABLE hit AS
	SELECT i, (i * 7919) % 31 AS item, CASE WHEN i % 11 > 0 THEN (i * 31) % 17 END AS n, '2024-01-01'::timestamptz + i * i * interval '1 hour' AS at, (i % 5) / 2.0 AS weight,
		tbf_add(tbf_empty(10, 0.01, '1 day'), i % 9, '2024-01-01'::timestamptz + i * interval '5 hours', i % 3) AS f
	FROM generate_series(1, 100) i;

-- growing, moving, shrinking and empty frames; hits over hundreds of half-lives
SELECT count(*) AS rows,
	count(*) FILTER (WHERE a IS DISTINCT FROM (SELECT tbf_agg(item, at, interval '1 day', weight) FROM hit j WHERE j.i <= w.i)) AS wrong,
	count(*) FILTER (WHERE b IS DISTINCT FROM (SELECT tbf_agg(item, at, interval '2 days', 1, 20, 0.01) FROM hit j WHERE j.i BETWEEN w.i - 5 AND w.i + 5)) AS wrong,
	count(*) FILTER (WHERE c IS DISTINCT FROM (SELECT tbf_agg(item, at) FROM hit j WHERE j.i >= w.i)) AS wrong,
	count(*) FILTER (WHERE d IS DISTINCT FROM (SELECT tbf_agg(item, at, NULL::interval) FROM hit j WHERE j.i BETWEEN w.i - 3 AND w.i - 1)) AS wrong,
	count(*) FILTER (WHERE e IS DISTINCT FROM (SELECT tbf_agg(n, at, '7 days', weight) FROM hit j WHERE j.i BETWEEN w.i - 1 AND w.i)) AS wrong,
	count(*) FILTER (WHERE g IS DISTINCT FROM (SELECT tbf_agg(item, at) FROM hit j WHERE j.i % 3 = w.i % 3)) AS wrong,
	count(*) FILTER (WHERE h IS DISTINCT FROM (SELECT tbf_merge_agg(f) FROM hit j WHERE j.i <= w.i)) AS wrong,
	count(*) FILTER (WHERE k IS DISTINCT FROM (SELECT tbf_merge_agg(f) FROM hit j WHERE j.i BETWEEN w.i - 4 AND w.i)) AS wrong
FROM (SELECT i, tbf_agg(item, at, interval '1 day', weight) OVER (ORDER BY i) AS a,
		tbf_agg(item, at, interval '2 days', 1, 20, 0.01) OVER (ORDER BY i ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS b,
		tbf_agg(item, at) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c,
		tbf_agg(item, at, NULL::interval) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS d,
		tbf_agg(n, at, '7 days', weight) OVER (ORDER BY i ROWS 1 PRECEDING) AS e,
		tbf_agg(item, at) OVER (PARTITION BY i % 3) AS g,
		tbf_merge_agg(f) OVER (ORDER BY i) AS h,
		tbf_merge_agg(f) OVER (ORDER BY i ROWS 4 PRECEDING) AS k
	FROM hit) w;
