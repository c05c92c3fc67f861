-- tbf_info: parameters and measures of a filter, its histogram, its sketch

SET timezone = 'UTC';
CREATE TEMP TABLE filter (name text, f tbf, n int);
INSERT INTO filter VALUES ('empty', tbf_empty(1000, 0.01, '1 day'), 0), ('undecayed', tbf_add(tbf_empty(100, 0.01, NULL), 'a', '2024-01-01', 1000), 1), ('one', tbf_add(tbf_empty(1000, 0.01, '1 day'), 1, '2024-01-01 12:00'), 1);
INSERT INTO filter SELECT 'told', tbf_agg(i, '2024-01-01', interval '7 days', i % 10 + 1, 1000, 0.01), 1000 FROM generate_series(1, 1000) i;
INSERT INTO filter SELECT 'crowded', tbf_agg(i, '2024-01-01', interval '1 day', 1, 100, 0.01), 300 FROM generate_series(1, 300) i;
INSERT INTO filter SELECT 'exact', tbf_agg(i, '2024-01-01'::timestamptz - i * interval '1 minute'), 20000 FROM generate_series(1, 20000) i;
INSERT INTO filter SELECT 'self-sized', tbf_agg(i, '2024-01-01'::timestamptz - i % 20000 * interval '1 minute'), 70000 FROM generate_series(1, 70000) i;

SELECT name, item_kind, half_life, epoch, expected_items, false_positive_rate, hashes, cells, layout, cell_bits, unit, bytes FROM filter, tbf_info(f) ORDER BY name;
-- the scale: the base is a whole half-life at or before the newest hit's epoch; the total is the decayed weight of all hits
SELECT name, base, newest, slack, round(total::numeric, 1) AS total FROM filter, tbf_info(f) ORDER BY name;
SELECT base <= newest AND newest < base + half_life AS newest_follows_base FROM tbf_info(tbf_add(tbf_empty(10, 0.01, '1 day', '7 minutes'), 1, '2024-01-01 12:34'));
-- options: what tbf_empty() was told, also in what comes of it
SELECT name, minimum_increase, recurring_minimum, top FROM (VALUES ('plain', tbf_empty()), ('minimum increase', tbf_empty(minimum_increase => true, top => 7)), ('recurring minimum', tbf_empty(half_life => NULL, recurring_minimum => true)),
	('added to', tbf_add(tbf_empty(minimum_increase => true, top => 7), 1)), ('merged, one with a list', tbf_empty(minimum_increase => true, top => 7) + tbf_empty())) v (name, f), tbf_info(f) ORDER BY name;
-- measures agree with each other
SELECT name, flat.bytes = 128 + flat.cells * flat.cell_bits / 8 AS flat_bytes, i.bytes = length(f::bytea) AS bytes, i.bytes <= flat.bytes AS no_larger, abs(i.cardinality - n) <= 0.05 * n + 0.25 AS sane, abs(i.current_false_positive_rate - coalesce(power(i.fill, i.hashes), 0)) < 1e-12 AS rate, i.current_false_positive_rate <= 1.15 * i.false_positive_rate AS rate_holds FROM filter, tbf_info(f) i, tbf_info(tbf_layout(f, 'flat')) flat ORDER BY name;
SELECT fill, current_false_positive_rate, cardinality FROM filter, tbf_info(f) WHERE name = 'empty';
-- the current rate is that at which absent items are found
SELECT name, abs(measured - current_false_positive_rate) < 0.1 * current_false_positive_rate + 0.001 AS as_measured
FROM filter, tbf_info(f), LATERAL (SELECT count(*) FILTER (WHERE f @> i) / 20000.0 AS measured FROM generate_series(1000001, 1020000) i) s WHERE item_kind IN ('integer', 'none') ORDER BY name;
-- if every counter is zero: no items; if none is: infinitely many
SELECT cardinality, fill, current_false_positive_rate FROM (SELECT tbf_agg(i, now(), NULL, 1, 1, 0.5) AS f FROM generate_series(1, 1000) i) s, tbf_info(f);

-- the histogram counts every counter once (of an exact filter: every item); its buckets are powers of two of units, the first is zero
SELECT hits_from, hits_to, cells FROM filter, tbf_histogram(f) WHERE name = 'empty' ORDER BY hits_from;
SELECT hits_from, hits_to, cells FROM filter, tbf_histogram(f) WHERE name = 'undecayed' ORDER BY hits_from;
SELECT name, sum(h.cells) = coalesce(i.cells, n) AS all_cells, min(h.cells) FILTER (WHERE hits_to = 0) IS NOT DISTINCT FROM round((1 - fill) * i.cells) AS zeros, bool_and(hits_from <= hits_to) AS ordered FROM filter, tbf_info(f) i, tbf_histogram(f) h GROUP BY name, i.cells, fill, n ORDER BY name;
SELECT name, bool_and(hits_from = before + unit OR hits_from = 0) AS no_gaps FROM (SELECT name, unit, hits_from, lag(hits_to) OVER (PARTITION BY name ORDER BY hits_from) AS before FROM filter, tbf_info(f) i, tbf_histogram(f) h) s GROUP BY name ORDER BY name;

-- the sketch
SELECT tbf_sketch(f) FROM filter ORDER BY name;
