-- The aggregates that add up lists of hot items, beside the exact answer of SQL, over random lists with many ties.
CREATE TABLE lists AS SELECT i AS id, i % 3 AS g, (random() * 3)::int::float8 / 2 AS low, 2 + (random() * 3)::int::float8 / 2 AS high, (random() * 4)::int::float8 - 1 AS over,
	array_agg('/' || n % 97) AS hot, array_agg((random() * 5)::int::float8) AS hot_hits
FROM generate_series(1, 200) i, LATERAL (SELECT DISTINCT (i * 7919 + j * j * 31) % 311 AS n FROM generate_series(1, 20) j) s GROUP BY i;
INSERT INTO lists SELECT id + 1000, g, NULL, high, over, hot, hot_hits FROM lists WHERE id = 5;
INSERT INTO lists SELECT id + 2000, g, low, high, over, NULL, hot_hits FROM lists WHERE id = 6;
INSERT INTO lists SELECT id + 3000, g, low, high, over, '{}', '{}' FROM lists WHERE id = 7;
INSERT INTO lists SELECT id + 4000, g, low, high, over, hot, hot_hits[2:] FROM lists WHERE id = 8;
CREATE VIEW exact AS SELECT g, item, sum(low * hits) AS low, sum(high * (hits + over)) AS over
	FROM lists, unnest(hot, hot_hits) u(item, hits) WHERE low IS NOT NULL AND hits IS NOT NULL AND item IS NOT NULL GROUP BY g, item;

-- Items that are missing or wrong, whatever is added to the second sum, among the first keep by the larger one.
CREATE FUNCTION differences(keep bigint) RETURNS TABLE (kept_and_exact bigint, wrong bigint, lost bigint, too_many bigint) LANGUAGE sql AS $$
	WITH kept AS MATERIALIZED (
		SELECT g, unnest(items) AS item, unnest(f) AS low, unnest(o) AS over FROM (SELECT g, _tbf_rollup_lists_items_agg(hot, hot_hits, low, high, over, keep) AS items,
			_tbf_rollup_lists_from_agg(hot, hot_hits, low, high, over, keep) AS f, _tbf_rollup_lists_over_agg(hot, hot_hits, low, high, over, keep) AS o FROM lists GROUP BY g) s
	)
	SELECT (SELECT count(*) FROM kept JOIN exact USING (g, item, low, over)), (SELECT count(*) FROM kept LEFT JOIN exact USING (g, item, low, over) WHERE exact IS NULL),
		(SELECT count(*) FROM generate_series(0, 500, 20) rest, LATERAL
			(SELECT g, item, rank() OVER (PARTITION BY g ORDER BY greatest(low, over + rest) DESC) AS place FROM exact) e WHERE place <= keep AND NOT EXISTS (SELECT FROM kept k WHERE (k.g, k.item) = (e.g, e.item))),
		(SELECT count(*) FROM (SELECT g, item, rank() OVER (PARTITION BY g ORDER BY low DESC) AS a, rank() OVER (PARTITION BY g ORDER BY over DESC) AS b FROM exact) e JOIN kept USING (g, item) WHERE a > keep AND b > keep)
$$;
SELECT keep, kept_and_exact >= least(3 * keep, 3 * 97 - 10) AS enough, wrong, lost, too_many FROM unnest('{1,2,7,50,96}'::bigint[]) keep, differences(keep) ORDER BY keep;
SELECT keep, kept_and_exact = (SELECT count(*) FROM exact) AS all_of_them, wrong, lost FROM unnest('{97,98,1000000000000,9223372036854775807}'::bigint[]) keep, differences(keep) ORDER BY keep;
SELECT keep, kept_and_exact FROM unnest('{0,-1,-9223372036854775808}'::bigint[]) keep, differences(keep);

-- items of other types: by value, of a fixed length, and what is equal without having the same bytes
SELECT items, f, o FROM (SELECT _tbf_rollup_lists_items_agg(hot, hits, 1, 2, 0.5, 9) AS items, _tbf_rollup_lists_from_agg(hot, hits, 1, 2, 0.5, 9) AS f,
	_tbf_rollup_lists_over_agg(hot, hits, 1, 2, 0.5, 9) AS o FROM (VALUES ('{7}'::int[], '{3}'::float8[]), ('{7}', '{4}')) v(hot, hits)) s;
SELECT _tbf_rollup_lists_items_agg(hot, '{3}', 1, 1, 0, 9), _tbf_rollup_lists_from_agg(hot, '{3}', 1, 1, 0, 9) FROM (VALUES ('{1.0}'::numeric[]), ('{1.00}')) v(hot);
SELECT _tbf_rollup_lists_items_agg(ARRAY[u], '{3}', 1, 1, 0, 9), _tbf_rollup_lists_from_agg(ARRAY[u], '{3}', 1, 1, 0, 9) FROM (VALUES (uuid '00000000-0000-0000-0000-000000000001'), ('00000000-0000-0000-0000-000000000001')) v(u);
SELECT _tbf_rollup_lists_items_agg(ARRAY[r], '{3}', 1, 1, 0, 9), _tbf_rollup_lists_from_agg(ARRAY[r], '{3}', 1, 1, 0, 9) FROM (VALUES (int4range(1, 5)), ('[1,4]')) v(r);

-- no rows, only null ones, and a growing window
SELECT _tbf_rollup_lists_items_agg(hot, hot_hits, low, high, over, 3), _tbf_rollup_lists_from_agg(hot, hot_hits, low, high, over, 3), _tbf_rollup_lists_over_agg(hot, hot_hits, low, high, over, 3) FROM lists WHERE hot IS NULL;
SELECT _tbf_rollup_lists_items_agg(hot, hot_hits, low, high, over, 3) FROM lists WHERE false;
SELECT n, _tbf_rollup_lists_items_agg(ARRAY[n % 2], '{1}', 1, 1, 0, 5) OVER w, _tbf_rollup_lists_from_agg(ARRAY[n % 2], '{1}', 1, 1, 0, 5) OVER w FROM generate_series(1, 5) n WINDOW w AS (ORDER BY n);

-- what nobody but tbf_rollup_refresh() should have written
SELECT _tbf_rollup_lists_items_agg('{a}'::text[], ARRAY[NULL::float8], 1, 1, 0, 3);
SELECT _tbf_rollup_lists_items_agg(ARRAY['a', NULL]::text[], '{1,2}', 1, 1, 0, 3);
SELECT _tbf_rollup_lists_items_agg(ARRAY['1'::json], '{1}', 1, 1, 0, 3);

CREATE TABLE two_types AS SELECT i % 3 AS a, 'text ' || i % 3 AS b FROM generate_series(1, 300) i;
ANALYZE two_types;
SELECT _tbf_rollup_lists_items_agg(most_common_vals, most_common_freqs::float8[], 1, 1, 0, 3 ORDER BY attname) IS NULL FROM pg_stats WHERE tablename = 'two_types';
DROP TABLE two_types;

DROP FUNCTION differences;
DROP VIEW exact;
DROP TABLE lists;
