-- sbf_check_add: a stored filter is brought up to date a batch at a time, with a flag for each item

SELECT duplicates, (sbf_info(updated)).items FROM sbf_check_add(sbf_empty(), '{1,2,NULL,1,3,2}'::int[]);
SELECT duplicates, updated = sbf_add_all(f, '{b,a,c}'::text[]) AS as_added FROM (SELECT sbf_empty() || 'a' AS f) s, sbf_check_add(f, '{b,a,c}'::text[]);
-- nothing to add; an array of several dimensions is read as one list, in its order
SELECT updated = sbf_empty() AS same, duplicates FROM sbf_check_add(sbf_empty(), '{}'::int[]);
SELECT updated = sbf_empty() AS same, duplicates FROM sbf_check_add(sbf_empty(), '{NULL,NULL}'::int[]);
SELECT duplicates FROM sbf_check_add(sbf_empty(), '[5:6][2:3]={{1,2},{2,1}}'::int[]);
SELECT * FROM sbf_check_add(NULL, '{1}'::int[]);
SELECT sqlstate_of('SELECT sbf_check_add(sbf_empty() || 1, ''{a}''::text[])');

-- the flags are those of the window function
WITH stream AS (SELECT i AS at, i * i % 911 AS item FROM generate_series(1, 2000) i),
	in_window AS (SELECT array_agg(duplicate ORDER BY at) AS flags FROM (SELECT at, sbf_duplicate(item, sbf_empty(300, 0.05)) OVER (ORDER BY at) AS duplicate FROM stream) s)
SELECT flags = duplicates AS same, true = ANY (flags) AND false = ANY (flags) AS both FROM in_window, sbf_check_add(sbf_empty(300, 0.05), ARRAY(SELECT item FROM stream ORDER BY at));
