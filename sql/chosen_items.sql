-- chosen_items: the hash is public, and that of an integer can be undone. Who chooses the items can spoil a filter's rate, but not
-- its answers; and aggregates stay quick, because the places in their sets of hashes follow from a secret then, which leaves no trace.
SET client_min_messages = error; -- some of the filters are too full; from PostgreSQL 18 on, others

-- The integer whose hash is y: XXH3 of eight bytes (docs/format.md), step by step backwards.
CREATE FUNCTION times(a bigint, b numeric) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN p >= 9223372036854775808 THEN p - 18446744073709551616 ELSE p END::bigint
	FROM (SELECT mod(mod(a + 18446744073709551616, 18446744073709551616) * b, 18446744073709551616) AS p) s
$$;
CREATE FUNCTION shifted(a bigint, bits int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT (a >> bits) & ((1::bigint << (64 - bits)) - 1)';
CREATE FUNCTION item_of_hash(y bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	h bigint := y # shifted(y, 28) # shifted(y, 56);
	r int;
	s int;
BEGIN
	h := times(h, 192419422752744621);
	h := h # (shifted(h, 35) + 8);
	h := times(h, 192419422752744621);
	FOR j IN 0..5 LOOP
		r := 49 * (1 << j) % 64;
		s := 24 * (1 << j) % 64;
		h := h # (h << r | CASE r WHEN 0 THEN 0 ELSE shifted(h, 64 - r) END) # (h << s | CASE s WHEN 0 THEN 0 ELSE shifted(h, 64 - s) END);
	END LOOP;
	h := h # -4090762196417718878;
	RETURN h << 32 | shifted(h, 32);
END
$$;

-- all of these hashes begin with 33 bits that are 0; a bf has the first 48 bits of a hash
CREATE TABLE chosen (i int, item bigint);
INSERT INTO chosen SELECT i, item_of_hash(i::bigint << 16) FROM generate_series(1, 20000) i;
ANALYZE chosen;

-- what they do to a filter: they fill one line of it, and the estimate does not know it; but each of them is found
CREATE TEMP TABLE filter AS SELECT bf_agg(item, 100000) AS f FROM chosen;
SELECT sum(lines) FILTER (WHERE bits_from > 256) AS full_lines, sum(lines) > 1000 AS of_many FROM filter, bf_histogram(f);
SELECT bool_and(f @> item) AS found FROM filter, chosen;
SELECT current_false_positive_rate < 0.001 AS low_on_average, (SELECT count(*) > 4900 FROM generate_series(1000001, 1005000) i WHERE f @> item_of_hash(i::bigint << 16)) AS chosen_are_false_positives,
	(SELECT count(*) < 50 FROM generate_series(1, 5000) i WHERE f @> -i) AS others_are_not FROM filter, bf_info(f);

-- aggregates give what they give otherwise: as an array that is added at once, in the other order, from groups that are united
SELECT bf_agg(item, 50000 ORDER BY i) = bf_add_all(bf_empty(50000), array_agg(item)) AS added, bf_agg(item ORDER BY i) = bf_agg(item ORDER BY i DESC) AS backwards,
	bf_agg(item) = bf_add_all(bf_empty(20000), array_agg(item)) OR bf_contains_all(bf_agg(item), array_agg(item)) AS sizes_itself FROM chosen;
SELECT tbf_agg(item, '2026-01-01', '7 days', 1 ORDER BY i) = tbf_agg(item, '2026-01-01', '7 days', 1 ORDER BY i DESC) AS backwards,
	tbf_agg(item, '2026-01-01', '1 day', 1, 20000, 0.01) = tbf_add_all(tbf_empty(20000, 0.01, '1 day'), array_agg(item), '2026-01-01', 1, 'infinity') AS added,
	tbf_layout(tbf_agg_like(item, '2026-01-01', tbf_empty(20000), i), 'flat') = tbf_agg_like(item, '2026-01-01', tbf_empty(20000, layout => 'flat'), i) AS flat FROM chosen;
SELECT bool_and(tbf_count(f, item, '2026-01-01') >= 1) AS never_less FROM chosen, (SELECT tbf_agg(item, '2026-01-01') AS f FROM chosen) s;
-- hits of many half-lives: words of several planes beside the hashes
SELECT tbf_agg(item, '2026-01-01'::timestamptz + i % 5 * interval '20 days', '1 day' ORDER BY i) = tbf_agg(item, '2026-01-01'::timestamptz + i % 5 * interval '20 days', '1 day' ORDER BY -i) AS planes FROM chosen;
-- minimum increase and recurring minimum: the same as hit by hit
CREATE FUNCTION one_by_one(f tbf) RETURNS tbf LANGUAGE plpgsql AS $$
DECLARE
	c chosen;
BEGIN
	FOR c IN SELECT * FROM chosen WHERE i <= 2500 ORDER BY i LOOP
		f := tbf_add(f, c.item, '2026-01-01', 1 + c.i % 3, 'infinity');
	END LOOP;
	RETURN f;
END
$$;
SELECT tbf_agg_in_order(item, '2026-01-01', tbf_empty(500, half_life => NULL, recurring_minimum => true), 1 + i % 3 ORDER BY i) =
	one_by_one(tbf_empty(500, half_life => NULL, recurring_minimum => true)) AS recurring_minimum FROM chosen WHERE i <= 2500;
SELECT bool_and(tbf_count(f, item) >= 1 + i % 3) AS minimum_increase
FROM chosen, (SELECT tbf_agg_in_order(item, '2026-01-01', tbf_empty(20000, half_life => NULL, minimum_increase => true), 1 + i % 3 ORDER BY i) AS f FROM chosen) s;

-- a moving window goes on after each result; so does a union of states
SELECT bool_and(f = expected) AS window FROM (SELECT i, bf_agg(item) OVER (ORDER BY i) AS f FROM chosen WHERE i <= 3000) s,
	LATERAL (SELECT bf_agg(item) AS expected FROM chosen c WHERE c.i <= s.i) e WHERE s.i IN (1, 1000, 3000);
SELECT bool_and(f = expected) AS window FROM (SELECT i, tbf_agg(item, '2026-01-01') OVER (ORDER BY i) AS f FROM chosen WHERE i <= 3000) s,
	LATERAL (SELECT tbf_agg(item, '2026-01-01') AS expected FROM chosen c WHERE c.i <= s.i) e WHERE s.i IN (1, 1000, 3000);

-- workers have secrets of their own
CREATE FUNCTION with_workers(query text, OUT parallel boolean, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	expected text;
	actual text;
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 0;
	EXECUTE query INTO expected;
	SET LOCAL max_parallel_workers_per_gather = 2;
	SET LOCAL parallel_setup_cost = 0;
	SET LOCAL parallel_tuple_cost = 0;
	SET LOCAL min_parallel_table_scan_size = 0;
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
		plan := plan || line;
	END LOOP;
	EXECUTE query INTO actual;
	parallel := plan LIKE '%Finalize%Gather%Partial%';
	same := actual = expected;
END
$$;
SELECT query, w.* FROM (VALUES ('bf_agg(item)'), ('bf_agg(item, 100000)'), ('tbf_agg(item, ''2026-01-01'')'),
	('tbf_agg(item, ''2026-01-01''::timestamptz + i % 5 * interval ''20 days'', ''1 day'', i)')) q(query), with_workers('SELECT ' || query || ' FROM chosen') w;

-- an index on them
CREATE INDEX chosen_bf ON chosen USING bf (item) WITH (pages_per_range = 16);
SELECT bf_index_check('chosen_bf') > 0 AS covered;
SELECT answers('SELECT * FROM chosen WHERE item = ' || item) FROM chosen WHERE i IN (1, 777, 20000);

-- A level above 0 estimates its items from those whose hashes end with zero bits (count.c). Where chosen items all end so, an index is not larger
-- than one of other items, whether it is built or grows. (The one that grows replaces filters that are too large, but they have taken their space.)
CREATE TABLE ending (v bigint) WITH (autovacuum_enabled = off);
CREATE TABLE others (v bigint) WITH (autovacuum_enabled = off);
CREATE INDEX ending_grown ON ending USING bf (v) WITH (pages_per_range = 4);
CREATE INDEX others_grown ON others USING bf (v) WITH (pages_per_range = 4);
INSERT INTO ending SELECT item_of_hash(hashint8extended(i, 1) & -64) FROM generate_series(1, 66000) i;
INSERT INTO ending SELECT i FROM generate_series(1, 164000) i;
INSERT INTO others SELECT i FROM generate_series(1, 230000) i;
SELECT bf_summarize_new_values('ending_grown') = bf_summarize_new_values('others_grown') AS summarized;
CREATE INDEX ending_built ON ending USING bf (v) WITH (pages_per_range = 4);
CREATE INDEX others_built ON others USING bf (v) WITH (pages_per_range = 4);
SELECT kind, (SELECT count(*) FROM bf_index_stats(('ending_' || kind)::regclass)) AS levels,
	pg_relation_size('ending_' || kind) <= 1.2 * pg_relation_size('others_' || kind) AS no_larger FROM unnest('{built, grown}'::text[]) kind;
SELECT bf_index_check('ending_built') = bf_index_check('ending_grown') AS both_covered;
DROP TABLE ending, others;

DROP TABLE chosen CASCADE;
DROP FUNCTION one_by_one, item_of_hash, shifted, times, with_workers;
