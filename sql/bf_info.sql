-- bf_info: parameters and measures of a filter, its histogram, its sketch

CREATE TEMP TABLE filter (name text, f bf, n int);
INSERT INTO filter VALUES ('empty', bf_empty(1000), 0), ('one', bf_empty(1000) || 1, 1);
INSERT INTO filter SELECT 'told', bf_agg(i, 1000), 1000 FROM generate_series(1, 1000) i;
INSERT INTO filter SELECT 'crowded', bf_agg(i, 100), 300 FROM generate_series(1, 300) i;
INSERT INTO filter SELECT 'self-sized', bf_agg(i), 70000 FROM generate_series(1, 70000) i;
INSERT INTO filter SELECT 'compact', bf_compact(bf_agg(i::text), 0.0001), 5000 FROM generate_series(1, 5000) i;
INSERT INTO filter SELECT 'full', bf_agg(i, 1), 0 FROM generate_series(1, 5000) i;

SELECT name, item_kind, expected_items, false_positive_rate, hashes, bits, bytes FROM filter, bf_info(f) ORDER BY name;
-- an empty filter has nothing, a full one everything
SELECT name, fill, current_false_positive_rate, cardinality, bf_cardinality(f) FROM filter, bf_info(f) WHERE name IN ('empty', 'full') ORDER BY name;
-- one item sets one bit a hash, unless two fall together
SELECT fill * bits BETWEEN 1 AND hashes AS few_bits, abs(cardinality - 1) < 0.25 AS one FROM filter, bf_info(f) WHERE name = 'one';

-- measures agree with each other
SELECT name, bits = (bytes - 64) * 8 AS bits, bytes = length(f::bytea) AS bytes, bf_cardinality(f) = cardinality AS cardinality, abs(cardinality - n) <= 0.05 * n + 0.25 AS sane,
	current_false_positive_rate <= 1.15 * false_positive_rate AS rate_holds
FROM filter, bf_info(f) WHERE name <> 'full' ORDER BY name;
-- the estimate is off by no more than some of its standard errors; a filter says how much of its room is used
SELECT name, abs(cardinality - n) <= 4 * cardinality_error + 0.25 AS as_said, (cardinality_error / greatest(n, 1))::numeric(5,4) AS relative, used::numeric(4,2) FROM filter, bf_info(f) WHERE name <> 'full' ORDER BY name;
SELECT cardinality_error, used::numeric(4,2) FROM (SELECT bf_agg(i) AS f FROM generate_series(1, 16384) i) s, bf_info(f);
-- the current rate is that at which absent items are found
SELECT name, abs(measured - current_false_positive_rate) < 0.1 * current_false_positive_rate + 0.001 AS as_measured
FROM filter, bf_info(f), LATERAL (SELECT count(*) FILTER (WHERE f @> i) / 20000.0 AS measured FROM generate_series(1000001, 1020000) i) s WHERE item_kind IN ('integer', 'none') ORDER BY name;
-- and what the formula foretells
SELECT name, abs(current_false_positive_rate - bf_false_positive_rate(bits, hashes, n)) < 0.15 * current_false_positive_rate + 0.0001 AS as_foretold FROM filter, bf_info(f) WHERE name <> 'full' ORDER BY name;

-- the histogram counts every line once, its buckets cover 0 to 512 without gap or overlap, and the fill lies within them
SELECT bits_from, bits_to, lines FROM filter, bf_histogram(f) WHERE name = 'empty' ORDER BY bits_from;
SELECT name, sum(lines) = bits / 512 AS all_lines, min(bits_from) = 0 AND max(bits_to) = 512 AND sum(bits_to - bits_from + 1) = 513 AS covers,
	fill * bits BETWEEN sum(lines * bits_from) AND sum(lines * bits_to) AS agrees_with_fill
FROM filter, bf_info(f), bf_histogram(f) GROUP BY name, bits, fill ORDER BY name;
SELECT lines FROM filter, bf_histogram(f) WHERE name = 'full' AND bits_to = 512;
-- it can be used as a row source of any sort
SELECT count(*) FROM bf_histogram(bf_empty()) LIMIT 1;
SELECT (bf_histogram(f)).bits_to FROM filter WHERE name = 'one' LIMIT 2;

-- the sketch
SELECT bf_sketch(f) FROM filter ORDER BY name;
