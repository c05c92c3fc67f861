-- abf_items: a filter that remembers the last items. None of these is ever missed; the answers of all ways to add are the same

CREATE TEMP TABLE visits (at int, page text);
INSERT INTO visits VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, NULL), (5, 'c'), (6, 'b'), (7, NULL), (8, 'd');
SELECT at, page, abf_duplicate(page) OVER (ORDER BY at), abf_duplicate(page, abf_empty(1000) || 'd') OVER (ORDER BY at) AS known, abf_duplicate('x') OVER (ORDER BY at) AS literal FROM visits ORDER BY at;

-- a long stream, in which each item comes back after 1 to 2,000 others
CREATE TEMP TABLE stream AS SELECT i AS at, (i * 7919 % 4001) % (1 + i % 2003) AS item FROM generate_series(1, 20000) i;
ANALYZE stream;
CREATE TEMP TABLE answers AS SELECT at, item, at - lag(at) OVER (PARTITION BY item ORDER BY at) AS gap,
	abf_duplicate(item, abf_empty(500)) OVER (ORDER BY at) AS again FROM stream;
SELECT count(*) FILTER (WHERE gap <= 500) > 1000 AS some_inside, count(*) FILTER (WHERE gap <= 500 AND NOT again) AS missed_inside,
	count(*) FILTER (WHERE again AND gap IS NULL) * 1.0 / count(*) FILTER (WHERE gap IS NULL) < 0.02 AS false_positives, count(*) FILTER (WHERE gap > 900 AND again) * 1.0 / count(*) FILTER (WHERE gap > 900) < 0.05 AS forgets FROM answers;
CREATE TEMP TABLE checked AS SELECT c.* FROM abf_check_add(abf_empty(500), ARRAY(SELECT item FROM stream ORDER BY at)) c;
SELECT duplicates = (SELECT array_agg(again ORDER BY at) FROM answers) AS as_in_window, updated = (SELECT abf_agg_like(item, abf_empty(500) ORDER BY at) FROM stream) AS aggregate,
	updated = (SELECT abf_agg(item, 500 ORDER BY at) FROM stream) AS with_parameters, updated = (SELECT abf_agg(item, 500, 0.01 ORDER BY at) FROM stream) AS with_rate,
	updated = abf_add_all(abf_empty(500), ARRAY(SELECT item FROM stream ORDER BY at)) AS added, updated = (SELECT abf_agg(item, 500 ORDER BY at DESC) FROM stream) AS backwards FROM checked;
SELECT abf_contains_all(f, ARRAY(SELECT item FROM stream WHERE at > 19500)) AS last_500, (abf_info(f)).items FROM (SELECT abf_agg(item, 500 ORDER BY at) AS f FROM stream) s;

-- one after the other
CREATE FUNCTION pg_temp.one_by_one() RETURNS abf LANGUAGE plpgsql AS $$
DECLARE
	f abf := abf_empty(100);
	i int;
BEGIN
	FOR i IN SELECT item FROM stream ORDER BY at LIMIT 1000 LOOP
		f := f || i;
		IF NOT f @> i OR NOT i <@ f THEN
			RAISE 'lost';
		END IF;
	END LOOP;
	RETURN f;
END
$$;
SELECT pg_temp.one_by_one() = (SELECT abf_agg(item, 100 ORDER BY at) FROM (SELECT * FROM stream ORDER BY at LIMIT 1000) s) AS same;

-- what abf_check_add() says of nulls and of empty arrays
SELECT duplicates, (abf_info(updated)).items FROM abf_check_add(abf_empty(), '{1,2,NULL,1,3,2}'::int[]);
SELECT updated = abf_empty() AS same, duplicates FROM abf_check_add(abf_empty(), '{NULL,NULL}'::int[]);
SELECT updated = abf_empty() AS same, duplicates FROM abf_check_add(abf_empty(), '{}'::int[]);
SELECT * FROM abf_check_add(NULL, '{1}'::int[]);
SELECT abf_agg(NULL::int) IS NULL AS all_null, abf_agg(item) FILTER (WHERE false) IS NULL AS no_rows, abf_agg(item ORDER BY at) = abf_agg(item, NULL, NULL ORDER BY at) AS defaults,
	abf_agg(nullif(item, 5) ORDER BY at) = abf_agg(item ORDER BY at) FILTER (WHERE item <> 5) AS nulls_are_skipped FROM stream;
SELECT abf_contains_any(f, '{7,NULL,1}'::int[]) AS any, abf_contains_all(f, '{7,1}'::int[]) AS all, abf_contains_any(f, '{}'::int[]) AS any_of_none, abf_contains_all(f, '{}'::int[]) AS all_of_none FROM (SELECT abf_empty() || 1 AS f) s;

-- each partition begins anew; frames play no part; a moving window of an aggregate goes on after each result
SELECT count(*) AS rows, count(*) FILTER (WHERE again) AS duplicates FROM (SELECT abf_duplicate(i % 10, abf_empty(1000)) OVER (PARTITION BY i % 7 ORDER BY i) AS again FROM generate_series(1, 7000) i) s;
SELECT bool_and(f = expected) AS as_alone
FROM (SELECT at, abf_agg(item, 10) OVER (ORDER BY at) AS f FROM stream WHERE at <= 30) s, LATERAL (SELECT abf_agg(item, 10 ORDER BY i.at) AS expected FROM stream i WHERE i.at <= s.at) e;

-- the order of the rows matters, so there is no parallel plan; with a window of time there is one
SELECT oid::regprocedure AS aggregate, aggcombinefn <> 0 AS parallel FROM pg_aggregate JOIN pg_proc ON oid = aggfnoid WHERE proname ~ '^abf_' ORDER BY oid::regprocedure::text COLLATE "C";

-- kinds, and filters that count items among those with a window of time
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT (abf_empty() || 1) @> ''a''::text');
SELECT error_of('SELECT abf_empty() | abf_empty()');
SELECT error_of('SELECT abf_union_agg(f) FROM (VALUES (abf_empty() || 1), (abf_empty() || 2)) v (f)');
SELECT error_of('SELECT abf_add(abf_empty(), 1, now())');
SELECT error_of('SELECT abf_contains(abf_empty() || 1, 1, now())');
SELECT error_of('SELECT abf_decay(abf_empty(), now())');
SELECT error_of('SELECT abf_empty(within => ''1 hour'') || 1');
SELECT error_of('SELECT abf_add_all(abf_empty(within => ''1 hour''), ARRAY[1])');
SELECT error_of('SELECT abf_duplicate(1, abf_empty(within => ''1 hour'')) OVER ()');
SELECT error_of('SELECT abf_duplicate(1, now(), abf_empty()) OVER ()');
SELECT error_of('SELECT abf_duplicate(1, NULL) OVER ()');
SELECT error_of('SELECT abf_agg_like(1, NULL::abf)');
SELECT error_of('SELECT abf_agg_like(1, abf_empty() || 1)');
SELECT error_of('SELECT abf_agg_like(1, abf_empty(within => ''1 hour''))');
SELECT error_of('SELECT abf_agg_like(1, now(), abf_empty())');
SELECT sqlstate_of('SELECT abf_duplicate(1)'), sqlstate_of('SELECT abf_duplicate(1, abf_empty() || ''a'') OVER ()'), sqlstate_of('SELECT abf_add(abf_empty(), abf_empty())');
