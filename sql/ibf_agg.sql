-- ibf_agg: the filter of a stream with importances, the same bytes each time, and by which way it was built

CREATE TEMP TABLE stream AS SELECT i AS at, i * 7 % 1000 AS item, i * 31 % 50 AS importance FROM generate_series(1, 3000) i;
ANALYZE stream;
SELECT scheme, a = added AS added, a = updated AS checked, a = (SELECT ibf_agg_like(item, importance, ibf_parameters(1000, 0.05, scheme, 0, 50) ORDER BY at) FROM stream) AS again
FROM unnest('{two_class,multi_class,value_weighted}'::text[]) scheme,
	LATERAL (SELECT ibf_agg_like(item, importance, ibf_parameters(1000, 0.05, scheme, 0, 50) ORDER BY at) AS a FROM stream) b,
	LATERAL (SELECT array_agg(item ORDER BY at) AS items, array_agg(importance ORDER BY at) AS importances FROM stream) c,
	ibf_add_all(ibf_empty(1000, 0.05, scheme, 0, 50), items, importances) added,
	ibf_check_add(ibf_empty(1000, 0.05, scheme, 0, 50), items, importances) checked
ORDER BY scheme;
-- the same where importances are ranked, in one go or in two
SELECT scheme, a = added AS added, a = updated AS checked, a = ibf_add_all(ibf_add_all(ibf_empty(1000, 0.05, scheme), items[:70], importances[:70]), items[71:], importances[71:]) AS in_two
FROM unnest('{two_class,multi_class,value_weighted}'::text[]) scheme,
	LATERAL (SELECT ibf_agg_like(item, importance, ibf_parameters(1000, 0.05, scheme) ORDER BY at) AS a FROM stream) b,
	LATERAL (SELECT array_agg(item ORDER BY at) AS items, array_agg(importance ORDER BY at) AS importances FROM stream) c,
	ibf_add_all(ibf_empty(1000, 0.05, scheme), items, importances) added,
	ibf_check_add(ibf_empty(1000, 0.05, scheme), items, importances) checked
ORDER BY scheme;
SELECT ibf_agg(item, importance ORDER BY at) = ibf_agg_like(item, importance, ibf_parameters() ORDER BY at) AS with_defaults, ibf_agg(item, importance ORDER BY at)::bytea::ibf = ibf_agg(item, importance ORDER BY at) AS again,
	(ibf_agg(item, importance ORDER BY at) | ibf_empty()) = ibf_agg(item, importance ORDER BY at) AS united FROM stream;
SELECT ibf_agg(item, importance, 0, 50, 1000, 0.05 ORDER BY at) = ibf_agg_like(item, importance, ibf_parameters(1000, 0.05, low => 0, high => 50) ORDER BY at) AS with_parameters,
	ibf_agg(item, importance, 0, 50 ORDER BY at) = ibf_agg_like(item, importance, ibf_parameters(low => 0, high => 50) ORDER BY at) AS with_range,
	ibf_agg(item, importance / 50.0 ORDER BY at) = ibf_agg_like(item, importance / 50.0, ibf_parameters() ORDER BY at) AS with_defaults,
	ibf_agg(item, importance, 0, 50 ORDER BY at) = ibf_agg(item, importance, 0, 50 ORDER BY at DESC) AS backwards FROM stream;
-- one at a time
CREATE FUNCTION pg_temp.one_by_one() RETURNS ibf LANGUAGE plpgsql AS $$
DECLARE
	f ibf := ibf_empty(1000, 0.05, 'value_weighted', 0, 50);
	r record;
BEGIN
	FOR r IN SELECT * FROM stream ORDER BY at LOOP
		f := ibf_add(f, r.item, r.importance);
	END LOOP;
	RETURN f;
END
$$;
SELECT pg_temp.one_by_one() = ibf_agg_like(item, importance, ibf_parameters(1000, 0.05, 'value_weighted', 0, 50) ORDER BY at) AS one_by_one FROM stream;

-- NULL items are skipped; no rows give NULL; a moving window goes on
SELECT ibf_agg(nullif(item, 5), importance ORDER BY at) = ibf_agg(item, importance ORDER BY at) FILTER (WHERE item <> 5) AS skipped, ibf_agg(NULL::int, 1) IS NULL AS all_null, ibf_agg(item, 1) FILTER (WHERE false) IS NULL AS no_rows FROM stream;
SELECT at, items FROM (SELECT at, (ibf_info(ibf_agg(item, importance, 0, 50, 1000, 0.01) OVER (ORDER BY at))).items FROM stream) s WHERE at IN (1, 2, 3000) ORDER BY at;

-- asking, uniting, fading: the same functions as of an sbf
SELECT f @> 1, 3 <@ f, ibf_contains(f, 2), ibf_contained(4, f), ibf_contains_any(f, '{9,2}'::int[]), ibf_contains_all(f, '{1,9}'::int[]) FROM (SELECT ibf_add_all(ibf_empty(), '{1,2}'::int[], '{0,1}'::int[]) AS f) s;
SELECT f @> 'a', 'b' <@ f FROM (SELECT ibf_add(ibf_empty(), 'a', 0.5) AS f) s;
SELECT (f | g) @> 1 AND (f | g) @> 2 AS both, (SELECT ibf_union_agg(x) FROM unnest(ARRAY[f, g]) x) = (f | g) AS united, ibf_decay(f, 100000) @> 1 AS faded FROM (SELECT ibf_add(ibf_empty(1000), 1, 1) AS f, ibf_add(ibf_empty(1000), 2, 0) AS g) s;
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT ibf_agg_like(1, 1, NULL)');
SELECT error_of('SELECT ibf_agg_like(1, 1, ibf_parameters(scheme => ''stable''))');
SELECT error_of('SELECT ibf_agg_like(1, 1, ibf_parameters(threshold => 1))');
SELECT error_of('SELECT ibf_add(ibf_empty(), 1, 1) @> ''a''');
SELECT error_of('SELECT ibf_empty(scheme => ''two_class'') | ibf_empty()');
SELECT error_of('SELECT ibf_empty(high => 2) | ibf_empty()');
