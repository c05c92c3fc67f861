-- bf_contains: what was added is always found, and other items seldom

CREATE TEMP TABLE number AS SELECT i, md5(i::text) AS word FROM generate_series(1, 50000) i;
CREATE TEMP TABLE filter AS SELECT bf_agg(i, 50000) AS numbers, bf_agg(word, 50000) AS words FROM number;

SELECT count(*) FILTER (WHERE numbers @> i) AS found, count(*) FILTER (WHERE words @> word) AS found FROM number, filter;
SELECT count(*) FILTER (WHERE numbers @> i AND i <@ numbers AND bf_contains(numbers, i) AND bf_contained(i, numbers)) AS found FROM number, filter WHERE i <= 1000;
SELECT bf_contains_all(numbers, i), bf_contains_all(words, w), bf_contains_all(words, w || 'absent'::text)
FROM filter, (SELECT array_agg(i) AS i, array_agg(word) AS w FROM number) s;

-- absent items: some are found, but at most at the rate
SELECT count(*) BETWEEN 1 AND 260 AS about_one_percent FROM generate_series(100001, 120000) i, filter WHERE numbers @> i;
SELECT count(*) BETWEEN 1 AND 260 AS about_one_percent FROM generate_series(100001, 120000) i, filter WHERE words @> md5(i::text);
SELECT bf_contains_any(numbers, ARRAY(SELECT generate_series(100001, 120000))) AS surely FROM filter;

-- an untyped literal is text
SELECT words @> 'c4ca4238a0b923820dcc509a6f75849b', 'c4ca4238a0b923820dcc509a6f75849b' <@ words, bf_contains(words, 'c4ca4238a0b923820dcc509a6f75849b'), words @> 'absent' FROM filter;

-- constants, columns, expressions, parameters of every plan, PL/pgSQL variables
SELECT numbers @> 7, numbers @> (3 + 4), numbers @> (SELECT 7), numbers @> (random() * 0)::int FROM filter;
PREPARE ask(int, text) AS SELECT numbers @> $1, words @> $2 FROM filter;
SET plan_cache_mode = force_generic_plan;
EXECUTE ask(7, 'c4ca4238a0b923820dcc509a6f75849b');
SET plan_cache_mode = force_custom_plan;
EXECUTE ask(7, 'c4ca4238a0b923820dcc509a6f75849b');
RESET plan_cache_mode;
DO $$
DECLARE
	f bf := bf_empty(1000);
	missed int := 0;
BEGIN
	FOR i IN 1 .. 1000 LOOP
		f := f || i;
	END LOOP;
	FOR i IN 1 .. 1000 LOOP
		missed := missed + (NOT f @> i)::int;
	END LOOP;
	RAISE NOTICE 'missed: %', missed;
END
$$;

-- one call site, several filters and several kinds of items
SELECT v.f @> v.i FROM (VALUES (bf_add(bf_empty(), 1), 1), (bf_add(bf_empty(), 2), 1), (bf_empty(), 1)) v (f, i);
SELECT f @> r FROM bf_add(bf_empty(), ROW(1, 'a'::text)) f, (VALUES (ROW(1, 'a'::text)), (ROW(2, 'a'::text))) v (r);

-- one item, many filters
SELECT 7 <@ ANY (ARRAY[bf_add(bf_empty(), 1), bf_add(bf_empty(), 7)]), 7 <@ ALL (ARRAY[bf_add(bf_empty(), 1), bf_add(bf_empty(), 7)]);

-- as the condition of a join and of a semi-join (any plan)
SELECT count(*) FROM number JOIN filter ON numbers @> i AND words @> word WHERE i % 10 = 0;
SELECT count(*) FROM number WHERE i % 10 = 0 AND EXISTS (SELECT FROM filter WHERE i <@ numbers);

-- a filter stored in every way a column can be stored: external, compressed, inline, short
CREATE TEMP TABLE stored (f bf);
INSERT INTO stored SELECT bf_agg(i) FROM number;
ALTER TABLE stored ALTER f SET STORAGE extended;
INSERT INTO stored SELECT bf_empty(50000) || 1;
ALTER TABLE stored ALTER f SET STORAGE main;
INSERT INTO stored SELECT bf_empty(1000) || 1;
ALTER TABLE stored ALTER f SET STORAGE plain;
INSERT INTO stored SELECT bf_empty(100) || 1;
ALTER TABLE stored ALTER f SET STORAGE external;
INSERT INTO stored SELECT bf_empty(1) || 1;
SELECT f @> 1 AS found, f @> 999999 AS other, f = bf(f::bytea) AS same FROM stored;

-- for arrays of any length the answer is that of their elements one by one, wherever the element is that decides; the
-- filter stored, and in memory
CREATE TABLE asked AS SELECT bf_agg(i, 1000000) AS f FROM generate_series(1, 300) i;
WITH arrays AS MATERIALIZED (
	SELECT n, odd, array_agg(CASE WHEN i % 7 <> 0 THEN CASE WHEN i = odd THEN CASE WHEN n % 2 = 0 THEN 1 + n % 300 ELSE -1 - n END
			WHEN n % 2 = 0 THEN -i ELSE 1 + i % 300 END END ORDER BY i) AS items
		FROM generate_series(0, 700, 53) n, LATERAL (VALUES (0), (1), (8), (9), (n / 2), (n)) o (odd), generate_series(1, n) i GROUP BY n, odd),
	answers AS (
	SELECT n, bf_contains_any(f, items) AS any_of, bf_contains_all(f, items) AS all_of,
		bf_contains_any(memory, items) AS any_of_memory, bf_contains_all(memory, items) AS all_of_memory, e.*
	FROM asked, (SELECT bf_union(f, f) AS memory FROM asked OFFSET 0) m, arrays,
		LATERAL (SELECT coalesce(bool_or(f @> i), false) AS one, coalesce(bool_and(f @> i), true) AS every FROM unnest(items) i WHERE i IS NOT NULL) e)
SELECT n % 2 = 0 AS mostly_absent, count(*), count(*) FILTER (WHERE one) AS one, count(*) FILTER (WHERE every) AS every,
	count(*) FILTER (WHERE (any_of = one AND any_of_memory = one AND all_of = every AND all_of_memory = every) IS NOT TRUE) AS wrong
FROM answers GROUP BY 1 ORDER BY 1;
DROP TABLE asked;
