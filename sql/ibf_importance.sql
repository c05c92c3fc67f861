-- ibf_importance: what importances do

-- what an item sets its cells to: seven classes of equal width, clipped outside the range
CREATE FUNCTION pg_temp.value_of(f ibf, importance float8) RETURNS int LANGUAGE sql RETURN (SELECT max(value) FROM ibf_histogram(ibf_add(f, 1, importance)) WHERE cells > 0);
SELECT importance, pg_temp.value_of(ibf_empty(1000, low => 0, high => 70), importance) AS multi_class, pg_temp.value_of(ibf_empty(1000, scheme => 'two_class', low => 0, high => 70), importance) AS two_class,
	pg_temp.value_of(ibf_empty(1000, scheme => 'two_class', threshold => 10), importance) AS threshold_10, pg_temp.value_of(ibf_empty(1000, scheme => 'value_weighted', low => 0, high => 70, cell_bits => 4), importance) AS value_weighted
FROM unnest('{-Infinity,-1,0,9.99,10,34.9,35,50,69.9,70,1000,Infinity}'::float8[]) importance;
-- any type of number
SELECT pg_temp.value_of(f, 5::smallint) AS int2, pg_temp.value_of(f, 5) AS int4, pg_temp.value_of(f, 5::bigint) AS int8, pg_temp.value_of(f, 5.0) AS numeric, pg_temp.value_of(f, 5::real) AS float4 FROM (SELECT ibf_empty(1000, high => 10) AS f) s;
-- the cell keeps the larger value
SELECT importances, (SELECT array_agg(value) FROM ibf_histogram(ibf_add_all(ibf_empty(1000, high => 7, evictions => 0), '{a,a,a}'::text[], importances)) WHERE cells > 0 AND value > 0)
FROM (VALUES ('{1,6,3}'::int[]), ('{6,3,1}')) v (importances);

-- what is important is remembered longer, in the recursion and in fact
CREATE TEMP TABLE filter AS
SELECT scheme, ibf_agg_like(i, i % 10, ibf_parameters(8192, 0.1, scheme, 0, 10) ORDER BY i) AS f FROM unnest('{two_class,multi_class,value_weighted}'::text[]) scheme, generate_series(1, 50000) i GROUP BY scheme;
SELECT scheme, missed_of_unimportant > missed_of_important + 0.2 AS fact, ibf_false_negative_rate(f, 1, gap) > ibf_false_negative_rate(f, 9, gap) + 0.2 AS recursion
FROM filter JOIN (VALUES ('two_class', 1500), ('multi_class', 1500), ('value_weighted', 400)) v (scheme, gap) USING (scheme), LATERAL (SELECT avg((NOT f @> i)::int) FILTER (WHERE i % 10 < 2) AS missed_of_unimportant, avg((NOT f @> i)::int) FILTER (WHERE i % 10 > 7) AS missed_of_important FROM generate_series(50000 - gap - 200, 50000 - gap + 200) i) s ORDER BY scheme;

-- the range taken from the data, in two steps: percentiles, so that a few outliers do not squeeze the others together
CREATE TEMP TABLE orders AS SELECT i AS at, 'o' || i AS item, CASE WHEN i % 100 = 0 THEN 100000 ELSE i % 50 END AS quantity FROM generate_series(1, 5000) i;
SELECT percentile_disc(0.05) WITHIN GROUP (ORDER BY quantity) AS low, percentile_disc(0.95) WITHIN GROUP (ORDER BY quantity) AS high FROM orders \gset
SELECT low, high, items FROM (SELECT ibf_agg(item, quantity, :low, :high ORDER BY at) AS f FROM orders) s, ibf_info(f);
-- or by rank, as the paper's second experiment does: without a range importances are ranked among the latest
SELECT low, high, items FROM (SELECT ibf_agg(item, quantity ORDER BY at) AS f FROM orders) s, ibf_info(f);

-- not null, not NaN
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT ibf_add(ibf_empty(), 1, NULL)');
SELECT error_of('SELECT ibf_add(ibf_empty(), 1, ''NaN'')');
SELECT sqlstate_of(command) FROM unnest(ARRAY['SELECT ibf_agg(1, NULL)', 'SELECT ibf_agg(1, ''NaN'')', 'SELECT ibf_add_all(ibf_empty(), ''{1,2}''::int[], ''{1,NULL}'')', 'SELECT ibf_check_add(ibf_empty(), ''{1}''::int[], ''{NaN}'')',
	'SELECT ibf_duplicate(1, NULL) OVER ()', 'SELECT ibf_duplicate(1, ''NaN'') OVER ()', 'SELECT ibf_false_negative_rate(ibf_empty(), ''NaN'', 1)']) command;
-- but of a null item nobody asks the importance
SELECT ibf_add(ibf_empty(), NULL::int, NULL) IS NULL, ibf_agg(NULL::int, NULL) IS NULL, ibf_add(NULL, 1, NULL) IS NULL;
SELECT error_of('SELECT ibf_add_all(ibf_empty(), ''{1,2}''::int[], ''{1}'')');
