-- abf_parameters: what abf_empty() chooses, what it refuses, and the calculators

SELECT fpr, s.*, abf_false_positive_rate(s.hashes, s.generations, s.fill) BETWEEN fpr * 0.999 AND fpr AS rate FROM unnest('{0.5,0.1,0.01,0.001,0.0001,0.000001}'::float8[]) fpr,
	LATERAL (SELECT hashes, generations, fill, round(bits_per_item::numeric, 2) AS bits_per_item FROM abf_slices(fpr)) s;
SELECT hashes, generations, window_items, within, expected_items, generation_items, generation_length, slice_bits, bytes, items, newest, fill, current_false_positive_rate, cardinality, item_kind FROM abf_info(abf_empty());
SELECT hashes, generations, window_items, within, expected_items, generation_items, generation_length, slice_bits FROM abf_info(abf_empty(1000, 0.001, '1 day 2 hours', 10, 20));
SELECT (abf_info(abf_empty(3))).generations AS fewer, (abf_info(abf_empty(1))).generations AS one;
SELECT abf_empty(NULL) IS NULL AS items, abf_empty(fpr => NULL) IS NULL AS fpr, abf_empty(within => NULL) = abf_empty() AS within, abf_empty(100000, 0.01, NULL, NULL, NULL) = abf_empty() AS defaults;

-- bytes and windows are each other's inverse
SELECT items, fpr, abf_bytes(items, fpr) = (abf_info(f)).bytes AS bytes, abf_window(abf_bytes(items, fpr), fpr) >= items AND abf_bytes(abf_window(abf_bytes(items, fpr), fpr), fpr) <= abf_bytes(items, fpr) AS inverse
FROM unnest('{1000,50000}'::bigint[]) items, unnest('{0.1,0.001}'::float8[]) fpr, LATERAL (SELECT abf_agg(i, items, fpr ORDER BY i) AS f FROM generate_series(1, items) i) s;
SELECT abf_window(1), abf_bytes(1) < 1000 AS small;

-- what a full filter says of itself
CREATE TEMP TABLE filter AS SELECT abf_agg(i, 5000, 0.05 ORDER BY i) AS f FROM generate_series(1, 30000) i;
SELECT items, bytes = abf_bytes(5000, 0.05) AS bytes, abs(i.fill - s.fill) < 0.02 AS fill, current_false_positive_rate BETWEEN 0.03 AND 0.055 AS rate, cardinality BETWEEN 4900 AND 5000 * 1.15 AS cardinality FROM filter, abf_info(f) i, abf_slices(0.05) s;
SELECT count(*) / 20000.0 BETWEEN 0.03 AND 0.055 AS measured FROM filter, generate_series(1000001, 1020000) i WHERE f @> i;
SELECT count(*) AS slices, min(age), max(age), count(begins) AS times, sum(bits_set) > 0 AS bits, bool_and(h.fill BETWEEN 0 AND 1) AS fills FROM filter, abf_histogram(f) h;
SELECT count(DISTINCT begins) AS begins, max(begins) <= '2026-01-01' AS newest, max(begins) - min(begins) = (count(*) - 1) * max(generation_length) AS spread
FROM abf_add(abf_empty(within => '1 hour'), 1, '2026-01-01') f, abf_histogram(f), abf_info(f);
SELECT abf_sketch(abf_empty()), abf_sketch(abf_empty(10, within => '1 hour'));
SELECT regexp_replace(abf_sketch(f), '\d+\.?\d*', 'N', 'g') ~ '^abf of integer, last N: N items came, about N in it, fill N%, current fpr N \|.{16}\|$' AS sketch FROM filter;

\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT abf_empty(0)');
SELECT error_of('SELECT abf_empty(0, within => ''1 hour'')');
SELECT error_of('SELECT abf_empty(fpr => 0.6)');
SELECT error_of('SELECT abf_empty(fpr => ''NaN'')');
SELECT error_of('SELECT abf_empty(hashes => 33)');
SELECT error_of('SELECT abf_empty(generations => 0)');
SELECT error_of('SELECT abf_empty(within => ''0'')');
SELECT error_of('SELECT abf_empty(within => ''1 month'')');
SELECT error_of('SELECT abf_empty(within => ''-1 day'')');
SELECT error_of('SELECT abf_empty(1000000000)');
SELECT error_of('SELECT abf_empty(9223372036854775807)');
SELECT error_of('SELECT abf_agg(1, 0)');
SELECT error_of('SELECT abf_agg(NULL::int, 1000, 2)');
SELECT error_of('SELECT abf_false_positive_rate(0, 1)');
SELECT error_of('SELECT abf_false_positive_rate(1, 97)');
SELECT error_of('SELECT abf_false_positive_rate(1, 1, 1)');
SELECT error_of('SELECT * FROM abf_slices(0)');
SELECT error_of('SELECT abf_window(0)');
