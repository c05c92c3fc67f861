-- sbf_info: a filter shows where it is stable and where it is now

CREATE TEMP TABLE filter AS SELECT sbf_agg(i, 4096, 0.1 ORDER BY i) AS f FROM generate_series(1, 50000) i;
SELECT item_kind, false_positive_rate, hashes, cell_bits, max_value, evictions, seed, cells, bytes, items, steps FROM filter, sbf_info(f);
SELECT abs(zeros - stable_zeros) < 0.02 AS stable, false_positive_bound <= 0.1 AS bound, abs(current_false_positive_rate - false_positive_bound) < 0.02 AS rate, cardinality BETWEEN 1000 AND 5000 AS of_one_fill FROM filter, sbf_info(f);
-- the measured rate of items that never came
SELECT count(*) / 20000.0 BETWEEN 0.07 AND 0.115 AS as_bounded FROM filter, generate_series(1000001, 1020000) i WHERE f @> i;
-- the last items are remembered, the first ones forgotten; the rest as the recursion says
SELECT count(*) FILTER (WHERE f @> i) AS of_last_hundred FROM filter, generate_series(49901, 50000) i;
SELECT gap, abs(missed - foretold) < 0.15 AS as_foretold
FROM unnest('{100,500,800,1200}'::int[]) gap,
	LATERAL (SELECT avg((NOT f @> 50000 - gap - i)::int) AS missed, avg(sbf_false_negative_rate(f, gap)) AS foretold FROM filter, generate_series(-50, 49) i) s ORDER BY gap;
SELECT sbf_false_negative_rate(f, 6) AS too_soon, sbf_false_negative_rate(f, 1000000) > 0.85 AS long_ago FROM filter;

-- all cells are in the histogram
SELECT count(*) AS values, min(value), max(value), sum(h.cells) AS all_cells, bool_or(h.cells = round(zeros * i.cells)) FILTER (WHERE value = 0) AS zeros
FROM filter, sbf_histogram(f) h, sbf_info(f) i;
SELECT value, cells FROM sbf_histogram(sbf_empty(64, cell_bits => 1) || 'a');

SELECT sbf_sketch(sbf_empty());
SELECT regexp_replace(sbf_sketch(f), '\d+\.?\d*', 'N', 'g') ~ '^sbf of integer: N items, N% zeros \(stable at N%\), current fpr N \|.{8}\|$' AS sketch FROM filter;
