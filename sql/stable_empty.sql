-- An empty sbf or ibf is stored as its header alone: cells come into being with the first item.
-- Output: the answers of filters without items, and what becomes of them.

-- The bytes of the largest and the smallest filter are the same, with steps too.
SELECT pg_column_size(f) - 4 AS bytes, pg_column_size(sbf_decay(f, 1000000000)) - 4 AS decayed, pg_column_size(f | f) - 4 AS united
FROM unnest(ARRAY[sbf_empty(64), sbf_empty(511999872)]) AS f;
SELECT pg_column_size(f) - 4 AS bytes, pg_column_size(ibf_decay(f, 1000)) - 4 AS decayed
FROM unnest(ARRAY[ibf_empty(), ibf_empty(511999872, scheme => 'value_weighted', high => 1, evictions => 3)]) AS f;

-- Nothing is in it, whatever is asked.
SELECT f @> 1 AS one, i.items, i.steps, i.cells, i.bytes, i.current_false_positive_rate AS rate
FROM sbf_empty(511999872) AS f, sbf_info(f) AS i;
SELECT * FROM sbf_histogram(sbf_empty(511999872));
SELECT sbf_empty(511999872)::text = sbf_empty(511999872)::text::sbf::text AS same;

-- Adding nothing leaves it as it is; so does a null in a group.
SELECT pg_column_size(sbf_add_all(sbf_empty(511999872), '{}'::int[])) - 4 AS none,
	pg_column_size(sbf_add_all(sbf_empty(511999872), '{NULL}'::int[])) - 4 AS a_null,
	pg_column_size(c.filter) - 4 AS checked
FROM sbf_check_add(sbf_empty(511999872), '{NULL}'::int[]) AS c (filter, duplicates);
SELECT sbf_duplicate(x, sbf_empty(511999872)) OVER () FROM (VALUES (NULL::int), (NULL)) AS v (x);

-- The first item brings the cells.
SELECT pg_column_size(sbf_add(sbf_empty(1000), 1)) - 4 AS one, sbf_add(sbf_empty(1000), 1) @> 1 AS added,
	pg_column_size(ibf_add(ibf_empty(1000, high => 1), 1, 0.5)) - 4 AS of_ibf, pg_column_size(ibf_add(ibf_empty(1000), 1, 0.5)) - 4 AS of_ranks;
-- A filter that was empty once is the same as one that aged in memory.
SELECT sbf_add(sbf_decay(sbf_empty(1000, seed => 5), 3), 1)::text = sbf_add(sbf_decay(sbf_decay(sbf_empty(1000, seed => 5), 1), 2), 1)::text AS same;
SELECT sbf_duplicate(x, sbf_empty(1000)) OVER (ORDER BY n) FROM (VALUES (1, 7), (2, 8), (3, 7)) AS v (n, x);

-- Unions with empty filters, on either side, in an operator and in an aggregate.
SELECT (a | e)::text = (e | a)::text AS both_ways, (a | e) @> 1 AS there, pg_column_size(a | e) = pg_column_size(a) AS size
FROM sbf_add(sbf_empty(1000), 1) AS a, sbf_empty(1000) AS e;
SELECT pg_column_size(sbf_union_agg(f)) - 4 AS bytes, (sbf_union_agg(f)) @> 1 AS one, (sbf_union_agg(f)) @> 2 AS two
FROM (VALUES (1, sbf_empty(1000)), (2, sbf_empty(1000)), (3, sbf_add(sbf_empty(1000), 1)), (4, sbf_empty(1000)), (5, sbf_add(sbf_empty(1000), 2))) AS v (n, f);
SELECT pg_column_size(sbf_union_agg(f)) - 4 AS bytes FROM (VALUES (sbf_empty(1000)), (sbf_empty(1000))) AS v (f);

-- There is one form only: cells after a header without items are refused, as are items without cells.
\set VERBOSITY sqlstate
SELECT (substr(f::text, 1) || repeat('00', 1000))::sbf FROM sbf_empty(1000) AS f;
SELECT substr(f::text, 1, 2 + 2 * 128)::sbf FROM sbf_add(sbf_empty(1000), 1) AS f;
