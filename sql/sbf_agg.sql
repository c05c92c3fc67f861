-- sbf_agg: the filter of a stream is built in the order of its rows, the same bytes each time; NULL items are skipped

-- all ways to build the same filter
CREATE TEMP TABLE stream AS SELECT i AS at, i * 7 % 1000 AS item FROM generate_series(1, 3000) i;
ANALYZE stream;
CREATE TEMP VIEW built AS SELECT
	(SELECT sbf_agg_like(item, sbf_parameters(1000, 0.05) ORDER BY at) FROM stream) AS aggregate,
	(SELECT sbf_add_all(sbf_empty(1000, 0.05), ARRAY(SELECT item FROM stream ORDER BY at))) AS added,
	(SELECT (sbf_check_add(sbf_empty(1000, 0.05), ARRAY(SELECT item FROM stream ORDER BY at))).updated) AS checked,
	(SELECT sbf_agg(item, 1000, 0.05 ORDER BY at) FROM stream) AS with_parameters;
SELECT aggregate = added AS added, aggregate = checked AS checked, aggregate = with_parameters AS with_parameters, aggregate = (SELECT aggregate FROM built) AS again,
	(sbf_info(aggregate)).items, (sbf_info(aggregate)).steps FROM built;
CREATE FUNCTION pg_temp.one_by_one() RETURNS sbf LANGUAGE plpgsql AS $$
DECLARE
	f sbf := sbf_empty(1000, 0.05);
	i int;
BEGIN
	FOR i IN SELECT item FROM stream ORDER BY at LOOP
		f := f || i;
	END LOOP;
	RETURN f;
END
$$;
SELECT aggregate = pg_temp.one_by_one() AS one_by_one FROM built;

-- the order and the seed make a difference; the seed of an empty filter is its own
SELECT sbf_agg(item ORDER BY at) = sbf_agg(item ORDER BY at DESC) AS backwards FROM stream;
SELECT sbf_agg_like(item, sbf_parameters(1000, seed => 1) ORDER BY at) = sbf_agg_like(item, sbf_parameters(1000, seed => 2) ORDER BY at) AS other_seed FROM stream;
SELECT (sbf_info(sbf_agg_like(item, sbf_parameters(seed => -5)))).seed FROM stream;

-- defaults
SELECT sbf_agg(item ORDER BY at) = sbf_agg(item, 262144, 0.01 ORDER BY at), sbf_agg(item ORDER BY at) = sbf_agg(item, NULL, NULL ORDER BY at),
	sbf_agg(item, 5000 ORDER BY at) = sbf_agg(item, 5000, 0.01 ORDER BY at), sbf_agg(item ORDER BY at) = sbf_agg_like(item, sbf_parameters() ORDER BY at) FROM stream;

SELECT sbf_agg_like(item, sbf_parameters(NULL, NULL, seed => NULL) ORDER BY at) = sbf_agg(item ORDER BY at) AS null_is_default,
	sbf_info(sbf_agg_like(item, sbf_parameters(1000, 0.05, 3, 4, 20, 7) ORDER BY at)) = sbf_info(sbf_add_all(sbf_empty(1000, 0.05, 3, 4, 20, 7), array_agg(item ORDER BY at))) AS all FROM stream;

-- NULL items are skipped: no step either; nothing else gives NULL
SELECT sbf_agg(nullif(item, 5) ORDER BY at) = sbf_agg(item ORDER BY at) FILTER (WHERE item <> 5) AS skipped FROM stream;
SELECT sbf_agg(NULL::int) IS NULL AS all_null, sbf_agg(item) FILTER (WHERE false) IS NULL AS no_rows, sbf_agg_like(NULL::int, sbf_parameters()) IS NULL AS all_null FROM stream;

-- a moving window: the state goes on after each result
SELECT at, items FROM (SELECT at, (sbf_info(sbf_agg(item, 1000) OVER (ORDER BY at))).items AS items FROM stream) s WHERE at IN (1, 2, 1000, 3000) ORDER BY at;
SELECT bool_and(f = expected) AS as_alone
FROM (SELECT at, sbf_agg(item, 100) OVER (ORDER BY at) AS f FROM stream WHERE at <= 30) s,
	LATERAL (SELECT sbf_agg(item, 100 ORDER BY i.at) AS expected FROM stream i WHERE i.at <= s.at) e;

-- groups have filters of their own
SELECT g, f = (SELECT sbf_agg(item, 200 ORDER BY at) FROM stream WHERE item % 3 = g) AS as_alone FROM (SELECT item % 3 AS g, sbf_agg(item, 200 ORDER BY at) AS f FROM stream GROUP BY 1) s ORDER BY g;

-- two halves of a stream cannot be put together again: no parallel plan
SELECT oid::regprocedure AS aggregate, aggcombinefn = 0 AS not_parallel FROM pg_aggregate JOIN pg_proc ON oid = aggfnoid WHERE proname ~ '^sbf_agg' ORDER BY oid::regprocedure::text COLLATE "C";

-- the template must be there, and empty
SELECT error_of('SELECT sbf_agg_like(1, NULL)');
SELECT error_of('SELECT sbf_agg_like(1, sbf_parameters(63))');
SELECT error_of('SELECT sbf_agg_like(1, sbf_empty())');
SELECT error_of('SELECT sbf_agg(1, 10)');
SELECT error_of('SELECT sbf_agg(NULL::int, 1000, 2)');
