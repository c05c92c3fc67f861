-- The aggregates that answer what is hot, beside the exact answer of SQL, over random rows with many ties.
CREATE TABLE rows AS SELECT i AS id, i % 3 AS g, (random() * 3)::int::float8 / 2 AS low, 2 + (random() * 3)::int::float8 / 2 AS high, (random() * 2)::int::float8 AS over, (random() * 2)::int::float8 AS rest,
	array_agg('/' || n ORDER BY h DESC, n) AS hot, array_agg(h ORDER BY h DESC, n) AS hot_hits
FROM generate_series(1, 200) i, LATERAL (SELECT n, 1 + (random() * 5)::int::float8 AS h FROM (SELECT DISTINCT (i * 7919 + j * j * 31) % 97 AS n FROM generate_series(1, 20) j) d) s GROUP BY i;
INSERT INTO rows SELECT id + 3000, g, low, high, over, rest, '{}', '{}' FROM rows WHERE id = 7;
ALTER TABLE rows ADD f tbf;
UPDATE rows SET f = coalesce((SELECT tbf_agg(item, NULL::timestamptz, NULL::interval, hits) FROM unnest(hot, hot_hits) u(item, hits)), tbf_empty());
CREATE VIEW exact AS SELECT g, item, sum(low * hits) AS low, greatest(sum(low * hits), sum(high * (hits + over - rest)) + (SELECT sum(high * rest) FROM rows r WHERE r.g = rows.g)) AS high
	FROM rows, unnest(hot, hot_hits) u(item, hits) GROUP BY g, item;
CREATE VIEW counted AS SELECT g, item, sum(low * hits) AS low, sum(high * hits) AS high FROM rows, unnest(hot, hot_hits) u(item, hits) GROUP BY g, item;

-- What differs from the first `wanted` items of `exact`: items, their bounds, and the most of all others.
CREATE FUNCTION differences(wanted float8, by_filters boolean) RETURNS TABLE (answers bigint, wrong bigint, too_low bigint) LANGUAGE sql AS $$
	WITH answer AS MATERIALIZED (
		SELECT g, item, n, bounds[2 * n - 1] AS low, bounds[2 * n] AS high, bounds[2 * cardinality(items) + 1] AS others
		FROM (SELECT g, (_tbf_rollup_hot_agg(hot, hot_hits, over, rest, f, ARRAY[low, high]::float8[], wanted, by_filters)).items AS items,
			(_tbf_rollup_hot_agg(hot, hot_hits, over, rest, f, ARRAY[low, high]::float8[], wanted, by_filters)).bounds AS bounds FROM rows GROUP BY g) s, unnest(items) WITH ORDINALITY u(item, n)
	), right_one AS MATERIALIZED (
		SELECT *, row_number() OVER (PARTITION BY g ORDER BY low DESC, high DESC, item) AS n FROM (SELECT * FROM exact WHERE NOT by_filters UNION ALL SELECT * FROM counted WHERE by_filters) e WHERE high > 0
	)
	SELECT (SELECT count(*) FROM answer), (SELECT count(*) FROM (SELECT g, item, n, low, high FROM answer) a FULL JOIN (SELECT * FROM right_one WHERE n <= wanted) r USING (g, n)
			WHERE (a.item, a.low, a.high) IS DISTINCT FROM (r.item, r.low, r.high)),
		(SELECT count(*) FROM right_one r JOIN (SELECT DISTINCT g, others FROM answer) a USING (g) WHERE r.n > wanted AND r.high > a.others)
$$;
SELECT wanted, by_filters, d.* FROM unnest('{1,2,7,50,97,1000000000000,Infinity}'::float8[]) wanted, unnest('{false}'::boolean[]) by_filters, differences(wanted, by_filters) d ORDER BY 2, 1;
-- by the filters: those that may be among the first are at most ten times as many, so all are looked up here
SELECT wanted, d.* FROM unnest('{97,98,1000}'::float8[]) wanted, differences(wanted, true) d ORDER BY 1;
SELECT wanted, answers, too_low FROM unnest('{1,5,9}'::float8[]) wanted, differences(wanted, true) ORDER BY 1;
SELECT wanted, answers FROM unnest('{0,-1,-Infinity,NaN}'::float8[]) wanted, differences(wanted, false);

-- risers: bounds of two times, by merged filters; each weight is 0 or 1
SELECT count(*) > 50 AS items, count(*) FILTER (WHERE bounds[4 * n - 3 : 4 * n] IS DISTINCT FROM ARRAY[e.low, e.high, e.low_before, e.high_before]) AS wrong
FROM (SELECT (_tbf_rollup_hot_agg(hot, hot_hits, over, rest, f, ARRAY[(id % 4 = 0)::int, (id % 4 < 2)::int, (id % 4 = 2)::int, (id % 4 > 1)::int]::float8[], 9, true)).items AS items,
		(_tbf_rollup_hot_agg(hot, hot_hits, over, rest, f, ARRAY[(id % 4 = 0)::int, (id % 4 < 2)::int, (id % 4 = 2)::int, (id % 4 > 1)::int]::float8[], 9, true)).bounds AS bounds FROM rows) s, unnest(items) WITH ORDINALITY u(item, n)
	LEFT JOIN (SELECT item, sum(hits) FILTER (WHERE id % 4 = 0) AS low, sum(hits) FILTER (WHERE id % 4 < 2) AS high, coalesce(sum(hits) FILTER (WHERE id % 4 = 2), 0) AS low_before, coalesce(sum(hits) FILTER (WHERE id % 4 > 1), 0) AS high_before
		FROM rows, unnest(hot, hot_hits) u(item, hits) GROUP BY item) e USING (item);

-- items of other types: by value, of a fixed length, and what is equal without having the same bytes
CREATE FUNCTION top_of(anyarray, tbf) RETURNS text LANGUAGE sql AS 'SELECT concat_ws('' '', (_tbf_rollup_hot_agg($1, ''{3}'', 0, 0, $2, ARRAY[1, 1]::float8[], 9, false)).items, (_tbf_rollup_hot_agg($1, ''{3}'', 0, 0, $2, ARRAY[1, 1]::float8[], 9, false)).bounds)';
SELECT top_of('{7}'::int[], tbf_empty()), top_of('{1.00}'::numeric[], tbf_empty()), top_of('{00000000-0000-0000-0000-000000000001}'::uuid[], tbf_empty()), top_of(ARRAY[int4range(1, 5)], tbf_empty());
SELECT (_tbf_rollup_hot_agg(hot, '{3}', 0, 0, tbf_empty(), ARRAY[1, 1]::float8[], 9, false)).items, (_tbf_rollup_hot_agg(hot, '{3}', 0, 0, tbf_empty(), ARRAY[1, 1]::float8[], 9, false)).bounds FROM (VALUES ('{1.0}'::numeric[]), ('{1.00}')) v(hot);

-- no rows, and what nobody but tbf_rollup_refresh() should have written
SELECT (_tbf_rollup_hot_agg(hot, hot_hits, over, rest, f, ARRAY[low, high]::float8[], 9, false)).items FROM rows WHERE false;
SELECT sqlstate_of(format('SELECT (_tbf_rollup_hot_agg(%s, 0, 0, tbf_empty(), ARRAY[1, 1]::float8[], 3, true)).items', lists)) FROM unnest(ARRAY['''{a}''::text[], ARRAY[NULL::float8]', 'ARRAY[''a'', NULL]::text[], ''{1,2}''',
	'''{a,b}''::text[], ''{1}''', 'NULL::text[], ''{1}''', 'ARRAY[''1''::json], ''{1}''', '7, ''{1}''']) lists;
CREATE TABLE two_types AS SELECT i % 3 AS a, 'text ' || i % 3 AS b FROM generate_series(1, 300) i;
ANALYZE two_types;
SELECT sqlstate_of($$SELECT (_tbf_rollup_hot_agg(most_common_vals, most_common_freqs::float8[], 0, 0, tbf_empty(), ARRAY[1, 1]::float8[], 3, false ORDER BY attname)).items IS NULL FROM pg_stats WHERE tablename = 'two_types'$$);
-- rows that are none of a roll-up, and aggregates of a refresh with other arguments
SELECT sqlstate_of(format('SELECT _tbf_rollup_made_agg(%s)', arguments)) FROM unnest(ARRAY['NULL::rows, NULL, ''a''::text, now(), 1, 1, NULL, NULL, 3', 'r, NULL, ''a''::text, now(), 1, 1, ARRAY[r], NULL, 3) FROM (SELECT NULL::rows) v(r',
	'7, NULL, ''a''::text, now(), 1, 1, ''{7}'', NULL, 3', 'NULL::rows, NULL, ''a''::text, now(), 1, 1, ''{}''::rows[], NULL, NULL']) arguments;
DROP TABLE two_types;
DROP FUNCTION top_of, differences;
DROP VIEW exact, counted;
DROP TABLE rows;
