-- sbf_duplicate: a window function that keeps one filter a partition and answers row by row

CREATE TEMP TABLE visits (at int, page text);
INSERT INTO visits VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, NULL), (5, 'c'), (6, 'b'), (7, NULL), (8, 'd');
SELECT at, page, sbf_duplicate(page) OVER (ORDER BY at) FROM visits ORDER BY at;
-- in the other order; with a filter that already knows 'd'; with untyped literals
SELECT at, page, sbf_duplicate(page) OVER (ORDER BY at DESC) AS backwards, sbf_duplicate(page, sbf_empty(1000) || 'd') OVER (ORDER BY at) AS known, sbf_duplicate('x') OVER (ORDER BY at) AS literal FROM visits ORDER BY at;

-- each partition begins anew
SELECT count(*) AS rows, count(*) FILTER (WHERE duplicate) AS duplicates FROM (SELECT sbf_duplicate(i % 10, sbf_empty(1000)) OVER (PARTITION BY i % 7 ORDER BY i) AS duplicate FROM generate_series(1, 7000) i) s;
-- partitions may bring filters of their own: that of the first row
SELECT p, at, sbf_duplicate(at, CASE WHEN p = 1 THEN sbf_empty(100) || 2 ELSE sbf_empty(100) END) OVER (PARTITION BY p ORDER BY at) FROM generate_series(1, 2) p, generate_series(1, 2) at ORDER BY p, at;

-- frames play no part
SELECT bool_and(a = b) AS same FROM (SELECT sbf_duplicate(i % 50) OVER (ORDER BY i) AS a, sbf_duplicate(i % 50) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM generate_series(1, 500) i) s;

-- a long stream: as many false positives as the bound allows, no repeat of the last moment missed
SELECT count(*) FILTER (WHERE duplicate AND i % 100 > 0 AND i > 10000) / 38610.0 BETWEEN 0.06 AND 0.11 AS false_positives, bool_and(duplicate) FILTER (WHERE i % 100 = 0) AS repeats_found
FROM (SELECT i, sbf_duplicate(CASE WHEN i % 100 = 0 THEN i - 1 ELSE i END, sbf_empty(2000, 0.1)) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 49000) i) s;

-- errors
SELECT error_of('SELECT sbf_duplicate(1, NULL) OVER ()');
SELECT sqlstate_of('SELECT sbf_duplicate(1)'), sqlstate_of('SELECT sbf_duplicate(1, sbf_empty() || ''a'') OVER ()'), sqlstate_of('SELECT sbf_duplicate(''(1,2)''::point) OVER ()');
