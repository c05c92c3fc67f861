-- ibf_parameters: what ibf_empty() accepts and chooses

SELECT scheme, low, high, hashes, cell_bits, evictions, round(stable_zeros::numeric, 4) AS stable_zeros, false_positive_bound <= 0.01 AS kept FROM unnest('{two_class,multi_class,value_weighted}'::text[]) s, ibf_info(ibf_empty(10000, scheme => s));
SELECT scheme, low, high FROM ibf_info(ibf_empty(scheme => 'two_class', low => -10, high => 30)) UNION ALL SELECT scheme, low, high FROM ibf_info(ibf_empty(scheme => 'two_class', threshold => 7.5));
SELECT hashes, cell_bits, max_value, evictions, seed, cells FROM ibf_info(ibf_empty(16384, hashes => 5, cell_bits => 3, evictions => 10, seed => 3));
SELECT ibf_empty() = ibf_empty(262144, 0.01, 'multi_class', 0, 1, NULL, NULL, NULL, NULL, 0) AS defaults, ibf_empty(scheme => NULL) IS NULL AND ibf_empty(low => NULL) IS NULL AS null;
SELECT ibf_empty(low => '-0') = ibf_empty(low => 0) AS zero_is_zero;

-- fewer evictions do where importances are uniform, and so items are remembered longer
SELECT scheme, evictions < as_planned AS fewer, false_positive_bound BETWEEN 0.001 AND 0.01 AS near_the_rate, missed_planned > missed AS longer
FROM unnest('{two_class,multi_class}'::text[]) s,
	LATERAL (SELECT evictions AS as_planned, hashes, cells, ibf_false_negative_rate(ibf_empty(65536, scheme => s), 0.8, 8000) AS missed_planned FROM ibf_info(ibf_empty(65536, scheme => s))) p,
	LATERAL (SELECT ibf_empty(65536, scheme => s, evictions => ibf_evictions(0.01, p.cells, p.hashes, scheme => s)::int) AS f) e, ibf_info(f), ibf_false_negative_rate(f, 0.8, 8000) missed;

-- value_weighted is planned for uniform importances, and then forgets what is important less often than multi_class
SELECT count(*) AS rates, bool_and(false_positive_bound BETWEEN 0.6 * rate AND rate) AS kept, bool_and(evictions = ibf_evictions(rate, cells, hashes, max_value, scheme)) AS as_calculated
FROM unnest('{0.000001,0.0001,0.01,0.05,0.1,0.2}'::float8[]) rate, ibf_info(ibf_empty(65536, rate, 'value_weighted'));
SELECT count(*) AS compared, bool_and(ibf_false_negative_rate(ibf_empty(65536, rate, 'value_weighted'), importance, gap) <= ibf_false_negative_rate(ibf_empty(65536, rate), importance, gap) + 1e-9) AS fewer_missed
FROM unnest('{0.00001,0.001,0.01,0.05,0.1,0.2}'::float8[]) rate, unnest('{0.87,0.95,1}'::float8[]) importance, unnest('{1000,3000,6000,12000,50000}'::int[]) gap;

\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT ibf_empty(scheme => ''three_class'')');
SELECT error_of('SELECT ibf_empty(threshold => 0.5)');
SELECT error_of('SELECT ibf_empty(scheme => ''two_class'', threshold => ''NaN'')');
SELECT error_of('SELECT ibf_empty(low => 2)');
SELECT error_of('SELECT ibf_empty(high => ''Infinity'')');
SELECT error_of('SELECT ibf_empty(cell_bits => 1)');
SELECT error_of('SELECT ibf_evictions(0.000001, 100, 16, 255)');
SELECT DISTINCT sqlstate_of(format('SELECT ibf_empty(%s)', arguments)) FROM unnest(ARRAY['63', '1000, 0.6', 'low => 1, high => 1', 'low => ''NaN''', 'low => -1e308, high => 1e308', 'hashes => 17', 'cell_bits => 9', 'evictions => -1',
	'scheme => ''two_class'', low => ''-Infinity''']) arguments;
SELECT DISTINCT sqlstate_of(format('SELECT ibf_agg(1, 1, %s)', arguments)) FROM unnest(ARRAY['1, 0', '''NaN'', 1', '0, 1, 10, 0.1', '0, 1, 1000, 2']) arguments;
