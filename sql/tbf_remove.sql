-- tbf_remove: hits are removed again

SET timezone = 'UTC';

-- undecayed whole hits: the bytes from before, whatever the layout
SELECT layout, bool_and(tbf_remove(tbf_add(f, item, weight => hits), item, now(), hits) = f) AS same, bool_and(tbf_add(f, item, weight => hits) <> f) AS was_there
FROM unnest('{flat,extensible}'::text[]) layout, tbf_add_all(tbf_empty(100, 0.01, NULL, layout => layout), '{1,2,2,3,3,3}'::int[]) f, generate_series(1, 40) item, unnest('{1,7,300,100000}'::float8[]) hits
GROUP BY layout;
-- only what a first hit notes remains: the kind of the items
SELECT f = tbf_empty(half_life => NULL) AS same, f -> 'a' AS count, f @> 'a' AS found, item_kind, total, fill, bytes FROM tbf_remove(tbf_add(tbf_empty(half_life => NULL), 'a'::text), 'a'::text) f, tbf_info(f);
SELECT f -> 2 AS two, f -> 3 AS three, (tbf_info(f)).total FROM tbf_remove(tbf_add_all(tbf_empty(half_life => NULL), '{1,2,2,3,3,3}'::int[]), 2) f;

-- random hits added and removed: never below the exact table
CREATE FUNCTION pg_temp.lives(empty tbf, steps int) RETURNS TABLE (removals int, below int) LANGUAGE plpgsql AS $$
DECLARE
	f tbf := empty;
	t timestamptz := '2024-01-01';
	hits int[] := '{}';		-- items that have a hit each, and of what weight
	weights int[] := '{}';
	which int;
BEGIN
	removals := 0;
	below := 0;
	FOR step IN 1 .. steps LOOP
		IF hashint4(step) % 3 <> 0 OR hits = '{}' THEN
			hits := hits || abs(hashint4(-step)) % 20;
			weights := weights || abs(hashint4(step)) % 5 + 1;
			f := tbf_add(f, hits[cardinality(hits)], t, weights[cardinality(hits)]);
		ELSE
			which := abs(hashint4(step + 7)) % cardinality(hits) + 1;
			f := tbf_remove(f, hits[which], t, weights[which]);
			hits := hits[:which - 1] || hits[which + 1:];
			weights := weights[:which - 1] || weights[which + 1:];
			removals := removals + 1;
		END IF;
		below := below + (SELECT count(*) FROM (SELECT item, sum(weight) AS hits FROM unnest(hits, weights) h (item, weight) GROUP BY item) e WHERE tbf_count(f, item, t) BETWEEN e.hits AND 1e300 IS NOT TRUE);
	END LOOP;
	RETURN NEXT;
END $$;
SELECT half_life, layout, removals > 60 AS removed, below FROM unnest(ARRAY[NULL, interval '1 day']) half_life, unnest('{flat,extensible}'::text[]) layout, pg_temp.lives(tbf_empty(4, 0.1, half_life, layout => layout), 250);

-- with decay a hit is taken out for what it weighs at the filter's base; less than a unit may remain
CREATE TEMP TABLE decaying AS SELECT tbf_agg(item, at, interval '1 day') AS f FROM (VALUES ('a'::text, '2024-01-01'::timestamptz), ('a', '2024-01-03'), ('b', '2024-01-03')) v (item, at);
SELECT tbf_count(f, 'a', '2024-01-03') AS before, tbf_count(tbf_remove(f, 'a', '2024-01-03'), 'a', '2024-01-03') AS without_new, tbf_count(tbf_remove(f, 'a', '2024-01-01'), 'a', '2024-01-03') AS without_old,
	tbf_count(tbf_remove(f, 'a', '2024-01-01'), 'b', '2024-01-03') AS other, (tbf_info(f)).total, (tbf_info(tbf_remove(f, 'a', '2024-01-01'))).total AS less FROM decaying;
SELECT tbf_count(tbf_remove(tbf_decay(f, '2024-01-04'), 'a', '2024-01-03'), 'a', '2024-01-04') AS later FROM decaying;
SELECT tbf_remove(f, 'a', '1950-01-01') = f AS nothing_left_of_it, tbf_remove(f, 'a', '2024-01-03', 0) = f AS of_no_weight, tbf_remove(f, NULL::text) IS NULL AND tbf_remove(f, 'a', NULL) IS NULL AND tbf_remove(NULL, 'a') IS NULL AS nulls FROM decaying;

-- an item that has fewer hits, none, or none at that time
SELECT tbf_remove(tbf_add(tbf_empty(half_life => NULL), 1, weight => 2.5), 1, now(), 3);
SELECT tbf_remove(f, 'a', '2024-01-03', 2) FROM decaying;
SELECT tbf_remove(f, 'b', '2024-01-03 12:00') FROM decaying;
SELECT tbf_remove(tbf_empty(), 1, '2024-01-01');
SELECT sqlstate_of('SELECT tbf_remove(f, 1) FROM decaying'), sqlstate_of('SELECT tbf_remove(f, ''a''::text, ''infinity'') FROM decaying'), sqlstate_of('SELECT tbf_remove(f, ''a''::text, ''2024-01-03'', -1) FROM decaying'),
	sqlstate_of('SELECT tbf_remove(f, ''a''::text, ''2024-01-03'', ''NaN'') FROM decaying');

-- filters that do not know what a hit is part of
SELECT tbf_remove(tbf_add(tbf_empty(half_life => NULL, minimum_increase => true), 1), 1);
SELECT tbf_remove(tbf_decay(f, '2024-01-20'), 'a', '2024-01-01') FROM decaying;
SELECT tbf_remove(tbf_agg(item, at, interval '1 hour'), 2, '2024-01-31') FROM (VALUES (1, '2024-01-01'::timestamptz), (2, '2024-01-31')) v (item, at);
