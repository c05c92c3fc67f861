-- bf_exact: the exact form of filters that size themselves, up to 65,536 items; filters made smaller; and the warnings of filters that are too full

CREATE FUNCTION pg_temp.made(first int, last int) RETURNS bf LANGUAGE sql AS 'SELECT bf_agg(i) FROM generate_series(first, last) i';
CREATE FUNCTION pg_temp.told(first int, last int, expected int) RETURNS bf LANGUAGE sql AS 'SELECT bf_agg(i, expected) FROM generate_series(first, last) i';
CREATE FUNCTION pg_temp.shows(f bf, OUT layout text, OUT cardinality text, OUT rate float8, OUT bits bigint, OUT expected_items bigint, OUT fill float8, OUT small boolean) LANGUAGE sql AS $$
	SELECT i.layout, CASE WHEN i.layout = 'exact' THEN i.cardinality::text END, CASE WHEN i.layout = 'exact' THEN i.current_false_positive_rate END, i.bits,
		i.expected_items, CASE WHEN i.layout = 'exact' THEN i.fill END, i.bytes <= 64 + 5.3 * greatest(i.cardinality, 200) AND i.bytes = length(f::bytea) FROM bf_info(f) i $$;

-- up to 65,536 items; with one more the filter has lines. A told size means lines
SELECT n, s.* FROM unnest('{1,2,64,65,1000,65536,65537}'::int[]) n, pg_temp.shows(pg_temp.made(1, n)) s;
SELECT n, s.* FROM unnest('{1,64}'::int[]) n, pg_temp.shows(pg_temp.told(1, n, 64)) s;
SELECT s.* FROM (SELECT bf_agg(i % 64, NULL, 0.000001) AS f FROM generate_series(1, 100000) i) t, pg_temp.shows(f) s;
SELECT bf_sketch(pg_temp.made(1, 64)), bf_cardinality(pg_temp.made(1, 64)), bf_fold(pg_temp.made(1, 64), 0.5) = pg_temp.made(1, 64) AS unchanged;
SELECT sum(lines) FROM bf_histogram(pg_temp.made(1, 64));
SELECT bf_fold(pg_temp.made(1, 64), 2);

-- it finds its items and no others, whole or by slices, one by one or many at once
CREATE TEMP TABLE stored (f bf);
INSERT INTO stored VALUES (pg_temp.made(1, 64));
SELECT count(*) FILTER (WHERE f @> i) AS found, count(*) FILTER (WHERE i <@ f) AS found, count(*) FILTER (WHERE f @> i AND NOT i BETWEEN 1 AND 64) AS wrong,
	count(*) FILTER (WHERE bf_contains_any(f, ARRAY[i, NULL])) AS any, count(*) FILTER (WHERE bf_contains_all(f, ARRAY[1, i, 64])) AS all
FROM stored, generate_series(-5000, 5000) i;
SELECT bf_contains_any(f, ARRAY[]::int[]), bf_contains_all(f, ARRAY[]::int[]), bf_contains_any(f, ARRAY(SELECT generate_series(65, 1000))),
	bf_contains_all(f, ARRAY(SELECT generate_series(1, 64))), bf_contains_all(f, ARRAY(SELECT generate_series(1, 65))) FROM stored;
SELECT f @> 'one'::text FROM stored;

-- items are added
SELECT bf_add(pg_temp.made(1, 63), 64) = pg_temp.made(1, 64) AS one, bf_add(pg_temp.made(1, 64), 7) = pg_temp.made(1, 64) AS known, pg_temp.made(2, 64) || 1 = pg_temp.made(1, 64) AS operator,
	bf_add_all(pg_temp.made(1, 1), ARRAY(SELECT generate_series(64, 1, -1)) || NULL::int) = pg_temp.made(1, 64) AS many, bf_add_all(pg_temp.made(1, 5), '{}'::int[]) = pg_temp.made(1, 5) AS none;
SELECT s.layout, s.bits, bf_contains_all(f, ARRAY(SELECT generate_series(1, 65))) AS holds_all, f = bf_add_all(pg_temp.made(1, 1), ARRAY(SELECT generate_series(65, 1, -1))) AS same,
	f = pg_temp.made(1, 40) | pg_temp.made(30, 65) AS same_as_the_union, f @> -1 AS more FROM (SELECT bf_add(pg_temp.made(1, 64), 65) AS f) t, pg_temp.shows(f) s;
-- past the limit with room for four times as many: with that many the rate is still the one asked for
SELECT (bf_info(f)).layout, (bf_info(bf_add_all(f, ARRAY(SELECT generate_series(70001, 280000))))).current_false_positive_rate < 0.01 AS has_room
FROM (SELECT bf_add_all(pg_temp.made(1, 2), ARRAY(SELECT generate_series(1, 70000))) AS f) t;
SELECT s.layout, s.bits, bf_contains_all(f, ARRAY(SELECT generate_series(1, 65537))) AS holds_all, f = pg_temp.made(1, 40000) | pg_temp.made(30000, 65537) AS same_as_the_union
FROM (SELECT bf_add(pg_temp.made(1, 65536), 65537) AS f) t, pg_temp.shows(f) s;
SELECT bf_add(pg_temp.made(1, 3), 'text'::text);
SELECT bf_add_all(pg_temp.made(1, 3), ARRAY['text'::text]);
DO $$
DECLARE
	f bf := (SELECT bf_agg(0));
BEGIN
	FOR i IN 1 .. 300 LOOP
		f := bf_add(f, i);
		IF i IN (62, 63, 64, 300) THEN
			RAISE INFO '%: %, all: %', i, (bf_info(f)).layout, bf_contains_all(f, ARRAY(SELECT generate_series(0, i)));
		END IF;
	END LOOP;
END $$;

-- unions: exact, or lines from 65,537 items on, with the same bytes however the items were split
SELECT pg_temp.made(1, 40) | pg_temp.made(30, 64) = pg_temp.made(1, 64) AS exact, pg_temp.made(1, 40) | pg_temp.made(30, 64) = pg_temp.made(30, 64) | pg_temp.made(1, 40) AS commutes;
SELECT items, count(*) AS splits, count(DISTINCT f::bytea) AS results, min((bf_info(f)).layout) AS layout, bool_and(bf_contains_all(f, ARRAY(SELECT generate_series(1, items)))) AS holds_all
FROM (SELECT items, split, (SELECT bf_union_agg(p ORDER BY md5(k::text || split)) FROM (SELECT i % split AS k, bf_agg(i) AS p FROM generate_series(1, items) i GROUP BY 1) s) AS f
	FROM unnest('{20,64,65,300,65536,65537,100000}'::int[]) items, unnest('{3,7,30}'::int[]) split) t
GROUP BY items ORDER BY items;
-- united with lines, of any number, an exact filter sets the bits of its items only
SELECT expected, pg_temp.told(100, 150, expected) | pg_temp.made(1, 40) = (SELECT bf_agg(i, expected) FROM (SELECT generate_series(1, 40) UNION ALL SELECT generate_series(100, 150)) s(i)) AS as_one,
	pg_temp.told(100, 150, expected) | pg_temp.made(1, 40) = pg_temp.made(1, 40) | pg_temp.told(100, 150, expected) AS commutes
FROM unnest('{91,100,700,12345}'::int[]) expected;
-- intersections: the items of the exact filter that the other filter contains
SELECT pg_temp.made(1, 40) & pg_temp.made(30, 64) = pg_temp.made(30, 40) AS exact, pg_temp.told(30, 5000, 10000) & pg_temp.made(1, 40) @> 35 AS holds, i.layout, i.cardinality BETWEEN 11 AND 14 AS sane
FROM bf_info(pg_temp.told(30, 5000, 10000) & pg_temp.made(1, 40)) i;
SELECT bf_sketch(f), length(f::bytea), bf_add(f, 3) = pg_temp.made(3, 3) AS added, f @> 1 AS found FROM (SELECT pg_temp.made(1, 9) & pg_temp.made(10, 64) AS f) t;
SELECT bf_intersection_agg(f) = pg_temp.made(21, 40) AS common FROM (SELECT pg_temp.made(i, i + 40) AS f FROM generate_series(0, 20) i UNION ALL SELECT pg_temp.told(21, 40, 1000)) t;
SELECT pg_temp.made(1, 2) | bf_agg('a'::text) FROM generate_series(1, 2);
SELECT pg_temp.made(1, 2) | bf_agg(1, NULL, 0.0001);

-- bf_compact(), for filters that are never united: an exact filter becomes lines for just its items; lines are folded
SELECT p, bf_compact(f, p) = told AS as_told, length(told::bytea) AS bytes, length(f::bytea) AS exact
FROM unnest('{0.1,0.01,0.001}'::float8[]) p, LATERAL (SELECT bf_agg(i) AS f, bf_agg(i, 5000, p) AS told FROM generate_series(1, 5000) i) s ORDER BY p;
SELECT bf_compact(pg_temp.made(1, 1000)) = pg_temp.told(1, 1000, 1000) AS own_rate, bf_compact(f) = bf_fold(f) AS folded, bf_compact(NULL) IS NULL AS null_is_null,
	(bf_info(bf_compact(pg_temp.made(1, 9) & pg_temp.made(10, 64)))).bits AS of_none FROM (SELECT pg_temp.told(1, 1000, 128000) AS f) t;
SELECT bf_compact(pg_temp.made(1, 3), 0.7);

-- parallel workers
CREATE TABLE many AS SELECT i % 64 AS few, i % 1000 AS more, i FROM generate_series(1, 100000) i;
SELECT bf_agg(few) AS few, bf_agg(more) AS more FROM many \gset
SELECT bf_union_agg(f)::text AS united FROM (SELECT bf_agg(few) AS f FROM many GROUP BY i % 1000) s \gset
CREATE TABLE filters AS SELECT i % 1000 AS part, bf_agg(few) AS f, bf_agg(i) AS g FROM many GROUP BY 1;
SELECT bf_union_agg(g)::text AS large FROM filters \gset
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SELECT bf_agg(few) = :'few' AS few, bf_agg(more) = :'more' AS more FROM many;
SELECT bf_union_agg(f) = :'united' AS united, bf_union_agg(f) = :'few' AS united, bf_union_agg(g) = :'large' AS large FROM filters;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- what comes in is checked: text, binary, bytea
SELECT pg_temp.made(1, 64)::text::bf = pg_temp.made(1, 64) AS text, pg_temp.made(1, 64)::bytea::bf = pg_temp.made(1, 64) AS bytea;
CREATE FUNCTION pg_temp.with_byte(f bf, at int, value int) RETURNS bf LANGUAGE sql AS 'SELECT set_byte(f::bytea, at, value)::bf';
\set VERBOSITY sqlstate
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 40, 2);
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 42, 1);
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 45, 1);
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 46, 23);
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 48, 3);
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 4, 0);
SELECT (pg_temp.made(1, 3)::bytea || '\x00')::bf;
SELECT pg_temp.with_byte(pg_temp.made(1, 64), 64, 255);
\set VERBOSITY default
SELECT pg_temp.with_byte(pg_temp.made(1, 3), 40, 4);

-- the warning: a union has more than twice the rate asked for, and more than each of the two had
CREATE TEMP TABLE small AS SELECT p, bf_agg(p * 1000 + i, 100) AS f FROM generate_series(1, 10) p, generate_series(1, 100) i GROUP BY p;
SELECT count(bf_union(a.f, b.f)) FROM small a JOIN small b ON a.p = 1 AND b.p = 2;
SELECT count(f) FROM (SELECT bf_union_agg(f) AS f FROM small) s;
SELECT count(bf_union_agg) FROM (SELECT bf_union_agg(s.f) FROM small s, generate_series(1, 5) g GROUP BY g) s;
DO $$
BEGIN
	FOR i IN 1 .. 5 LOOP
		PERFORM bf_union_agg(f) FROM small;
	END LOOP;
END $$;
-- a function that hides warnings does not use up the one of its statement
CREATE FUNCTION pg_temp.quiet(bf, bf) RETURNS bf LANGUAGE plpgsql SET client_min_messages = error AS 'BEGIN RETURN $1 | $2; END';
SELECT count(pg_temp.quiet(a.f, b.f)), count(bf_union(a.f, b.f)) FROM small a JOIN small b ON a.p = 1 AND b.p = 2;
SELECT count(pg_temp.quiet(a.f, b.f)) FROM small a JOIN small b ON a.p = 1 AND b.p = 2;
-- no warning for a filter that was too full before and gets nothing new (except by the aggregate, which does not know
-- this), for a union that has room, and for exact filters
SET client_min_messages = error;
SELECT bf_union_agg(f) AS full FROM small \gset
RESET client_min_messages;
SELECT count(:'full'::bf | f) FROM small;
SELECT count(f) FROM (SELECT bf_union_agg(:'full'::bf) AS f) s;
SELECT count(f) FROM (SELECT bf_union_agg(f) AS f FROM small WHERE p = 1) s;
SELECT count(f) FROM (SELECT bf_union_agg(f) AS f FROM (SELECT bf_agg(p * 1000 + i, 1000) AS f FROM generate_series(1, 10) p, generate_series(1, 100) i GROUP BY p) s) t;
SELECT count(f) FROM (SELECT bf_union_agg(f) AS f FROM (SELECT bf_agg(p * 1000 + i) AS f FROM generate_series(1, 10) p, generate_series(1, 50) i GROUP BY p) s) t;
SELECT count(:'full'::bf & f) FROM small;
-- whatever adds items warns, too: an aggregate, an array, one item after the other; not if there is room
SELECT count(f) FROM (SELECT bf_agg(i, 1000) AS f FROM generate_series(1, 20000) i GROUP BY i % 2) s;
SELECT count(bf_add_all(bf_empty(1000), ARRAY(SELECT generate_series(1, 20000))));
SELECT count(f || 1) FROM small;
SELECT count(:'full'::bf || i) FROM generate_series(1, 100) i;
SELECT count(bf_add_all(bf_empty(1000), ARRAY(SELECT generate_series(1, 1000))) || 0);
-- if workers make the union, only the leader warns, once
CREATE TABLE full_ones AS SELECT p, bf_agg(p * 1000 + i, 100) AS f FROM generate_series(1, 200) p, generate_series(1, 100) i GROUP BY p;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off;
SELECT count(f) FROM (SELECT bf_union_agg(f) AS f FROM full_ones) s;
-- of a filter that is made in a worker the worker warns: here once, because only one worker gets the table's only page
CREATE TABLE one_page AS SELECT p FROM generate_series(1, 5) p;
ALTER TABLE one_page SET (parallel_workers = 2);
EXPLAIN (COSTS OFF) SELECT count(bf_add(bf_empty(100), p)) FROM one_page;
SELECT count(bf_add_all(bf_empty(100 + p), ARRAY(SELECT generate_series(1, 20000)))) FROM one_page;
SELECT count(bf_add_all(bf_empty(100 + p), ARRAY(SELECT generate_series(1, 100))) | bf_add_all(bf_empty(100 + p), ARRAY(SELECT generate_series(101, 200)))) FROM one_page;
DROP TABLE one_page;
DROP TABLE many, filters, full_ones;

-- lines of an index, of any number, at the rate of the index: a few items go into them, for many they are widened
CREATE TABLE indexed AS SELECT i FROM generate_series(1, 50000) i;
CREATE INDEX indexed_bf ON indexed USING bf (i);
SELECT n, i.layout, i.bits % (bf_info(f)).bits = 0 AS widened, i.bits > (bf_info(f)).bits AS larger, (f | g) = (g | f) AS commutes,
	bf_contains_all(f | g, ARRAY(SELECT generate_series(100001, 100000 + n))) AS holds_list, bf_contains_all(f | g, ARRAY(SELECT i FROM indexed WHERE f @> i)) AS holds_lines, i.current_false_positive_rate < 0.002 AS rate_holds
FROM (SELECT bf_of('indexed_bf', 0) AS f) s, unnest('{10,20000}'::int[]) n, LATERAL (SELECT bf_agg(j, NULL, 0.001) AS g FROM generate_series(100001, 100000 + n) j) t, bf_info(f | g) i ORDER BY n;
SELECT bf_of('indexed_bf', 0) | bf_agg(1);
DROP TABLE indexed;
