-- bf_agg_lent: a large filter that bf_agg() makes is not copied to be read, but is copied by whatever keeps it

SET max_parallel_workers_per_gather = 0;
CREATE TABLE bf_agg_lent AS SELECT i, i % 2 AS part, i / 2000 AS step FROM generate_series(0, 11999) i;
-- the expected filter, made in another way: so large that bf_agg() does not copy it
CREATE FUNCTION pg_temp.filter(wanted int[]) RETURNS bf LANGUAGE sql AS $$ SELECT bf_add_all(bf_empty(60000), wanted) $$;

SELECT pg_column_size(bf_agg(i, 60000)) > 65536 AS large, bf_agg(i, 60000) = pg_temp.filter(array_agg(i)) AS same,
	md5(bf_agg(i, 60000)::bytea) = md5(pg_temp.filter(array_agg(i))::bytea) AS same_bytes,
	octet_length(bf_agg(i, 60000)::text) = octet_length(pg_temp.filter(array_agg(i))::text) AS same_text,
	round(bf_cardinality(bf_agg(i, 60000))) AS items, bf_agg(i, 60000) @> 11999 AS found FROM bf_agg_lent;

-- groups one after the other, all at once, and with subtotals: what is kept of one is not touched by the next
SET enable_hashagg = off;
CREATE TEMP TABLE kept AS SELECT part, bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part;
RESET enable_hashagg;
SET enable_sort = off;
INSERT INTO kept SELECT part, bf_agg(i, 60000) FROM bf_agg_lent GROUP BY part;
RESET enable_sort;
INSERT INTO kept SELECT part, bf_agg(i, 60000) FROM bf_agg_lent GROUP BY ROLLUP (part);
SELECT part, count(*), bool_and(f = (SELECT pg_temp.filter(array_agg(i)) FROM bf_agg_lent l WHERE l.part = k.part OR k.part IS NULL)) AS same
	FROM kept k GROUP BY part ORDER BY part;

-- a window that moves on: its states go on after each result, and peers share one
SELECT step, count(*), bool_and(f = (SELECT pg_temp.filter(array_agg(i)) FROM bf_agg_lent l WHERE l.step <= s.step)) AS same
	FROM (SELECT DISTINCT ON (step, last) step, i = 1999 + 2000 * step AS last, bf_agg(i, 60000) OVER (ORDER BY step) AS f FROM bf_agg_lent ORDER BY step, last) s
	GROUP BY step ORDER BY step;
SELECT i, f = (SELECT pg_temp.filter(array_agg(l.i)) FROM bf_agg_lent l WHERE l.i <= s.i) AS same
	FROM (SELECT i, bf_agg(i, 60000) OVER (ORDER BY i) AS f FROM bf_agg_lent) s
	WHERE i IN (5119, 5120, 5121, 5999, 6000, 9999, 11999) ORDER BY i;

-- in arrays, records, other aggregates, subqueries, CTEs, unions, joins
SELECT (ARRAY[f, f])[2] = f AS in_array, (row_to_json(s) ->> 'f')::bf = f AS in_record, bf_union(f, f) = f AS united,
	(SELECT f @> 7) AS outside, coalesce(f, bf_empty()) = f AS coalesced
	FROM (SELECT bf_agg(i, 60000) AS f FROM bf_agg_lent OFFSET 0) s;
SELECT array_length(array_agg(f), 1), bf_union_agg(f) = (SELECT pg_temp.filter(array_agg(i)) FROM bf_agg_lent) AS united, count(DISTINCT f::bytea) AS different
	FROM (SELECT bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part) s;
WITH once AS MATERIALIZED (SELECT part, bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part)
	SELECT count(*) FROM once a JOIN once b ON a.f = b.f AND a.part = b.part;
SELECT count(*) FROM bf_agg_lent WHERE (SELECT bf_agg(i, 60000) FROM bf_agg_lent WHERE part = 1) @> i AND part = 1;
SELECT part, bool_and(l.f @> r.i) AS all_found FROM (SELECT part, bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part) l JOIN bf_agg_lent r USING (part)
	GROUP BY part ORDER BY part;

-- whatever changes the filter changes a copy
SELECT bf_add(f, -1) @> -1 AS changed, f @> -1 AS lent, bf_union(f, bf_add(bf_empty(60000), -1)) @> -1 AS united, f @> -1 AS still_lent
	FROM (SELECT bf_agg(i, 60000) AS f FROM bf_agg_lent OFFSET 0) s;
DO $$
DECLARE
	f bf := (SELECT bf_agg(i, 60000) FROM bf_agg_lent);
	g bf;
	many bf[];
BEGIN
	SELECT bf_agg(i, 60000) INTO g FROM bf_agg_lent WHERE part = 1;
	SELECT array_agg(s.f ORDER BY part) INTO many FROM (SELECT part, bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part) s;
	RAISE NOTICE 'in variables: % %', many[2] = g, f @> 0 AND NOT g @> 0;
	g := bf_add(g, -1);
	RAISE NOTICE 'changed: % %', many[2] = g, g @> -1 AND NOT many[2] @> -1;
END
$$;

-- asked again, a state that is kept gives the same (OFFSET 0: so that only what is read of the groups depends on n)
SET enable_sort = off;
CREATE TEMP VIEW asked_again AS SELECT n, (SELECT f = (SELECT k.f FROM kept k WHERE k.part = n % 2 LIMIT 1)
		FROM (SELECT part, bf_agg(i, 60000) AS f FROM bf_agg_lent GROUP BY part OFFSET 0) s WHERE part = n % 2) AS same
	FROM generate_series(1, 4) n;
DO $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXPLAIN (COSTS off) SELECT * FROM asked_again LOOP
		plan := plan || line;
	END LOOP;
	RAISE NOTICE 'one hash table for all: %', plan LIKE '%Subquery Scan on s%Filter: (s.part = %HashAggregate%Seq Scan on bf_agg_lent';
END
$$;
SELECT * FROM asked_again;
RESET enable_sort;
BEGIN;
DECLARE filters CURSOR FOR SELECT bf_agg(i, 60000) AS f, part FROM bf_agg_lent GROUP BY part ORDER BY part;
CREATE TEMP TABLE fetched (f bf, part int) ON COMMIT DROP;
DO $$
DECLARE
	c refcursor := 'filters';
	r record;
BEGIN
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		INSERT INTO fetched VALUES (r.f, r.part);
	END LOOP;
END
$$;
SELECT part, f = (SELECT k.f FROM kept k WHERE k.part = fetched.part LIMIT 1) AS same FROM fetched ORDER BY part;
COMMIT;
DROP TABLE bf_agg_lent;
