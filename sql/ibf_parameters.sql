-- ibf_parameters: what ibf_empty() accepts and chooses

SELECT scheme, low, high, hashes, cell_bits, evictions, round(stable_zeros::numeric, 4) AS stable_zeros, false_positive_bound <= 0.01 AS kept FROM unnest('{two_class,multi_class,value_weighted}'::text[]) s, ibf_info(ibf_empty(10000, scheme => s));
SELECT scheme, low, high FROM ibf_info(ibf_empty(scheme => 'two_class', low => -10, high => 30)) UNION ALL SELECT scheme, low, high FROM ibf_info(ibf_empty(scheme => 'two_class', threshold => 7.5));
SELECT hashes, cell_bits, max_value, evictions, seed, cells FROM ibf_info(ibf_empty(16384, hashes => 5, cell_bits => 3, evictions => 10, seed => 3));
SELECT scheme, low, high, evictions, round(stable_zeros::numeric, 4) AS stable_zeros, false_positive_bound <= 0.01 AS kept FROM unnest('{two_class,multi_class,value_weighted}'::text[]) s, ibf_info(ibf_empty(10000, scheme => s, high => 1));
SELECT ibf_empty() = ibf_empty(262144, 0.01, 'multi_class', NULL, NULL, NULL, NULL, NULL, NULL, 0) AS defaults, ibf_empty(scheme => NULL) IS NULL AS null;
SELECT ibf_empty(low => '-0', high => 1) = ibf_empty(low => 0, high => 1) AND ibf_empty(high => 1) = ibf_empty(low => 0, high => 1) AS zero_is_zero;

-- multi_class is planned for uniform importances, as ranks are; two_class and the evictions of an sbf keep the rate whatever they are
SELECT ranked, scheme, evictions = ibf_evictions(0.01, cells, hashes, scheme => scheme) AS as_uniform, evictions = ceil(sbf_evictions(0.01, cells, hashes)) AS as_sbf, false_positive_bound BETWEEN 0.001 AND 0.01 AS near_the_rate
FROM unnest('{two_class,multi_class}'::text[]) s, unnest('{t,f}'::bool[]) ranked, ibf_info(ibf_empty(65536, scheme => s, high => CASE WHEN NOT ranked THEN 1 END));
SELECT scheme, ibf_false_negative_rate(ibf_empty(65536, scheme => scheme, high => 1, evictions => ibf_evictions(0.01, cells, hashes, scheme => scheme)::int), 0.8, 8000) <
	ibf_false_negative_rate(ibf_empty(65536, scheme => scheme, high => 1, evictions => ceil(sbf_evictions(0.01, cells, hashes))::int), 0.8, 8000) AS longer
FROM unnest('{two_class,multi_class}'::text[]) s, ibf_info(ibf_empty(65536, scheme => s));

-- the most important fifth is forgotten at most half as often as by an sbf of as many bytes, unless both forget most
SELECT count(*) AS compared, bool_and(missed < sbf / 2) AS half
FROM unnest('{0.00001,0.001,0.01,0.05,0.1,0.2}'::float8[]) rate, unnest('{1000,2000,3000,6000}'::int[]) gap,
	LATERAL (SELECT avg(ibf_false_negative_rate(ibf_empty(65536, rate, high => 1), importance, gap)) AS missed FROM unnest('{0.82,0.86,0.9,0.94,0.98}'::float8[]) importance) i,
	LATERAL (SELECT sbf_false_negative_rate(sbf_empty(65536, rate), gap) AS sbf) s
WHERE sbf BETWEEN 1e-9 AND 0.25;

-- value_weighted is planned for uniform importances, too, and then forgets what is important less often than an sbf's evictions with multi_class
SELECT count(*) AS rates, bool_and(false_positive_bound BETWEEN 0.6 * rate AND rate) AS kept, bool_and(evictions = ibf_evictions(rate, cells, hashes, max_value, scheme)) AS as_calculated
FROM unnest('{0.000001,0.0001,0.01,0.05,0.1,0.2}'::float8[]) rate, ibf_info(ibf_empty(65536, rate, 'value_weighted'));
SELECT count(*) AS compared, bool_and(ibf_false_negative_rate(ibf_empty(65536, rate, 'value_weighted', high => 1), importance, gap) <= ibf_false_negative_rate(ibf_empty(65536, rate, high => 1, evictions => s.evictions), importance, gap) + 1e-9) AS fewer_missed
FROM unnest('{0.00001,0.001,0.01,0.05,0.1,0.2}'::float8[]) rate, unnest('{0.87,0.95,1}'::float8[]) importance, unnest('{1000,3000,6000,12000,50000}'::int[]) gap, sbf_info(sbf_empty(65536, rate)) s;

\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT ibf_empty(scheme => ''three_class'')');
SELECT error_of('SELECT ibf_empty(threshold => 0.5)');
SELECT error_of('SELECT ibf_empty(scheme => ''two_class'', threshold => ''NaN'')');
SELECT error_of('SELECT ibf_empty(low => 2)');
SELECT error_of('SELECT ibf_empty(low => 2, high => 1)');
SELECT error_of('SELECT ibf_empty(high => ''Infinity'')');
SELECT error_of('SELECT ibf_empty(cell_bits => 1)');
SELECT error_of('SELECT ibf_evictions(0.000001, 100, 16, 255)');
SELECT DISTINCT sqlstate_of(format('SELECT ibf_empty(%s)', arguments)) FROM unnest(ARRAY['63', '1000, 0.6', 'low => 1, high => 1', 'low => ''NaN'', high => 1', 'high => ''NaN''', 'low => -1e308, high => 1e308', 'hashes => 17', 'cell_bits => 9', 'evictions => -1',
	'scheme => ''two_class'', low => ''-Infinity'', high => 1']) arguments;
SELECT DISTINCT sqlstate_of(format('SELECT ibf_agg(1, 1, %s)', arguments)) FROM unnest(ARRAY['1, 0', '''NaN'', 1', '0, 1, 10, 0.1', '0, 1, 1000, 2']) arguments;
