-- sbf_parameters: what sbf_empty() accepts and chooses

-- chosen: three bits, the hashes and evictions of the formula
SELECT fpr, hashes, cell_bits, evictions = ceil(sbf_evictions(fpr, cells, hashes, max_value)) AS evictions, false_positive_bound <= fpr AS kept, bytes - 128 AS bytes, cells = 10000 * 8 / 3 AS cells
FROM unnest('{0.5,0.1,0.01,0.001,0.0001,0.000001}'::float8[]) fpr, sbf_info(sbf_add(sbf_empty(10000, fpr), 1));
SELECT cell_bits, max_value, hashes, cells, false_positive_bound <= 0.01 AS kept FROM generate_series(1, 8) bits, sbf_info(sbf_empty(10000, cell_bits => bits));
-- given
SELECT hashes, cell_bits, max_value, evictions, seed FROM sbf_info(sbf_empty(16384, hashes => 5, cell_bits => 4, evictions => 10, seed => -1));
SELECT evictions, stable_zeros, false_positive_bound FROM sbf_info(sbf_empty(evictions => 0));
SELECT sbf_empty() = sbf_empty(262144, 0.01, NULL, NULL, NULL, 0) AS defaults;
SELECT sbf_empty(NULL) IS NULL AND sbf_empty(1000, NULL) IS NULL AND sbf_empty(seed => NULL) IS NULL AS null;

-- refused
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT sbf_empty(63)');
SELECT error_of('SELECT sbf_empty(512000000)');
SELECT error_of('SELECT sbf_empty(1000, 0.6)');
SELECT error_of('SELECT sbf_empty(hashes => 17)');
SELECT error_of('SELECT sbf_empty(cell_bits => 9)');
SELECT error_of('SELECT sbf_empty(1000, evictions => 2667)');
SELECT error_of('SELECT sbf_empty(64, 0.000001, cell_bits => 8)');
SELECT DISTINCT sqlstate_of(format('SELECT sbf_empty(%s)', arguments)) FROM unnest(ARRAY['-1', '0', '9223372036854775807', '1000, 0', '1000, ''NaN''', '1000, -1', 'hashes => 0', 'hashes => -1', 'cell_bits => 0',
	'cell_bits => -1', 'evictions => -1', 'evictions => 65536']) arguments;
\pset tuples_only off
\pset format aligned

-- calculators: the IBF paper's parameters give 0.74, 0.52 and 0.37 and not 0.2, for which P must be 25
SELECT round(sbf_false_positive_bound(43690, 5, 10)::numeric, 2) AS sbf, round(sbf_false_positive_bound(43690, 5, 10, 7, '{0,0,0.5,0,0,0,0.5}')::numeric, 2) AS two_class,
	round(sbf_false_positive_bound(43690, 5, 10, 7, array_fill(1/7.0::float8, '{7}'))::numeric, 2) AS multi_class, ceil(sbf_evictions(0.2, 43690, 5)) AS evictions;
SELECT sbf_stable_point(1000, 5, 0) AS never_evicts, sbf_stable_point(1000, 5, NULL) IS NULL AS null;
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT sbf_stable_point(1000, 0, 10)');
SELECT error_of('SELECT sbf_stable_point(5, 5, 1)');
SELECT error_of('SELECT sbf_stable_point(1000, 5, 1001)');
SELECT error_of('SELECT sbf_stable_point(1000, 5, 10, 2, ''{0.5,0.4}'')');
SELECT error_of('SELECT sbf_stable_point(1000, 5, 10, 2, ''{1}'')');
SELECT error_of('SELECT sbf_evictions(1, 1000, 5)');
SELECT error_of('SELECT sbf_false_negative_rate(sbf_empty(), -1)');
