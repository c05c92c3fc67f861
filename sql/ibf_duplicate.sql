-- ibf_duplicate: the window function with importances

CREATE TEMP TABLE objects (at int, object text, size int);
INSERT INTO objects VALUES (1, 'a', 10), (2, 'b', 900), (3, 'a', 10), (4, NULL, NULL), (5, 'b', 900), (6, 'c', 1);
SELECT at, object, ibf_duplicate(object, size / 1000.0) OVER (ORDER BY at) AS ranked, ibf_duplicate(object, size, ibf_empty(low => 0, high => 1000)) OVER (ORDER BY at) AS in_range FROM objects ORDER BY at;
SELECT at, object, ibf_duplicate(object, size, ibf_add(ibf_empty(high => 1000), 'c', 5)) OVER (ORDER BY at) AS with_c, ibf_duplicate(object, size) OVER (PARTITION BY at % 2 ORDER BY at) AS parted FROM objects ORDER BY at;

-- after a long gap the important ones are still known, the others less
SELECT important, count(*) FILTER (WHERE NOT duplicate) > 300 AS many_missed, count(*) FILTER (WHERE NOT duplicate) < 30 AS few_missed
FROM (SELECT i, i % 2 = 0 AS important, ibf_duplicate(i % 600, CASE WHEN i % 2 = 0 THEN 1 ELSE 0 END, ibf_empty(4096, 0.1, 'two_class', threshold => 1)) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 2600) i) s
WHERE i > 600 GROUP BY important ORDER BY important;
-- the same without a threshold: what is above the median is important; and with sizes of which most are small
SELECT important, count(*) FILTER (WHERE NOT duplicate) > 300 AS many_missed, count(*) FILTER (WHERE NOT duplicate) < 30 AS few_missed
FROM (SELECT i, i % 2 = 0 AS important, ibf_duplicate(i % 600, CASE WHEN i % 2 = 0 THEN 1 ELSE 0 END, ibf_empty(4096, 0.1, 'two_class')) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 2600) i) s
WHERE i > 600 GROUP BY important ORDER BY important;
SELECT large, count(*) FILTER (WHERE NOT duplicate) > 300 AS many_missed, count(*) FILTER (WHERE NOT duplicate) < 30 AS few_missed
FROM (SELECT i, i % 900 % 5 = 0 AS large, ibf_duplicate(i % 900, CASE WHEN i % 900 % 5 = 0 THEN 1e6 + i % 900 ELSE i % 900 END, ibf_empty(4096, 0.1)) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 4500) i) s
WHERE i > 900 GROUP BY large ORDER BY large;

-- the flags are those of ibf_check_add
SELECT flags = duplicates AS same, true = ANY (flags) AND false = ANY (flags) AS both
FROM (SELECT array_agg(duplicate ORDER BY i) AS flags FROM (SELECT i, ibf_duplicate(i * i % 911, i % 10, ibf_empty(300, 0.05, 'value_weighted', 0, 10)) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 2000) i) w) s,
	ibf_check_add(ibf_empty(300, 0.05, 'value_weighted', 0, 10), ARRAY(SELECT i * i % 911 FROM generate_series(1, 2000) i), ARRAY(SELECT i % 10 FROM generate_series(1, 2000) i));
SELECT flags = duplicates AS same, true = ANY (flags) AND false = ANY (flags) AS both
FROM (SELECT array_agg(duplicate ORDER BY i) AS flags FROM (SELECT i, ibf_duplicate(i * i % 911, i % 10, ibf_empty(300, 0.05)) OVER (ORDER BY i) AS duplicate FROM generate_series(1, 2000) i) w) s,
	ibf_check_add(ibf_empty(300, 0.05), ARRAY(SELECT i * i % 911 FROM generate_series(1, 2000) i), ARRAY(SELECT i % 10 FROM generate_series(1, 2000) i));
SELECT sqlstate_of('SELECT ibf_duplicate(1, 1, NULL) OVER ()'), sqlstate_of('SELECT ibf_duplicate(1, 1, ibf_add(ibf_empty(), ''a'', 1)) OVER ()');
