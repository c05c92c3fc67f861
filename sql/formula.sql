-- formula: calculators, for planning a filter before it is made

-- the slides' example, 10^9 bits, 5 hashes, 10^8 items: they round the density to 0.393 before they raise it to the fifth
SELECT round(power(round((1 - exp(-0.5))::numeric, 3), 5), 5) AS slides, round(bloom_false_positive_rate(1e9, 5, 1e8)::numeric, 6) AS exact,
	abs(bloom_false_positive_rate(1e9, 5, 1e8) / 0.00937 - 1) < 0.01 AS reproduced;

-- (1 - e^(-kn/m))^k, in SQL
SELECT bool_and(abs(bloom_false_positive_rate(m, k, n) - power(1 - exp(-k * n / m), k)) <= 1e-12 * power(1 - exp(-k * n / m), k) + 1e-15) AS agrees
FROM unnest('{100,1e6,1e12}'::float8[]) m, unnest('{1,2.5,7,20}'::float8[]) k, unnest('{1,1000,1e6,1e9}'::float8[]) n WHERE k * n / m BETWEEN 0.0001 AND 500;
SELECT bloom_false_positive_rate(1000, 3, 0) AS nothing, bloom_false_positive_rate(1, 1, 1e18) AS full, bloom_false_positive_rate(1e18, 1, 1) < 1.1e-18 AS roomy;

-- the optimum: at that many bits and hashes the rate is what was asked
SELECT p, abs(bloom_false_positive_rate(bloom_optimal_bits(1000, p), bloom_optimal_hashes(bloom_optimal_bits(1000, p), 1000), 1000) / p - 1) < 1e-9 AS round_trip,
	abs(bloom_optimal_hashes(bloom_optimal_bits(1000, p), 1000) - log(2, (1 / p)::numeric)::float8) < 1e-9 AS log2_of_1_over_p
FROM unnest('{0.5,0.1,0.01,0.0001,0.000000001}'::float8[]) p ORDER BY p DESC;
SELECT round(bloom_optimal_bits(1, 0.01)::numeric, 3) AS bits_an_item, bloom_optimal_bits(0, 0.01) AS none, round(bloom_optimal_hashes(10, 1)::numeric, 3) AS hashes, bloom_optimal_hashes(1, 1000) AS at_least_one;
-- no other number of hashes does better
SELECT bool_and(bloom_false_positive_rate(1000, k, 100) >= bloom_false_positive_rate(1000, bloom_optimal_hashes(1000, 100), 100)) AS best FROM generate_series(1, 20) k;

-- a bf: lines of 512 bits cost a little, more for low rates, and by this formula filters are sized
SELECT k, bf_false_positive_rate(512 * 100, k, 5000) > bloom_false_positive_rate(512 * 100, k, 5000) AS more, bf_false_positive_rate(512 * 100, k, 5000) < 2 * bloom_false_positive_rate(512 * 100, k, 5000) AS not_much FROM generate_series(2, 8) k;
SELECT p, n, bf_false_positive_rate(bits, hashes, n) <= p AS holds FROM unnest('{0.5,0.1,0.01,0.001,0.00001,0.000001}'::float8[]) p, unnest('{100,100000}'::int[]) n, bf_info(bf_empty(n, p)) ORDER BY 1 DESC, 2;
SELECT bf_false_positive_rate(512, 1, 0) AS nothing, abs(bf_false_positive_rate(512, 1, 1) - 1.0 / 512) < 1e-5 AS one_item, bf_false_positive_rate(512, 16, 1e9) AS full;
SELECT bool_and(a <= b) AS grows_with_items FROM (SELECT bf_false_positive_rate(51200, 6, n) AS a, lead(bf_false_positive_rate(51200, 6, n)) OVER (ORDER BY n) AS b FROM generate_series(0, 20000, 500) n) s;

-- NULL
SELECT bloom_false_positive_rate(NULL, 5, 1), bloom_optimal_bits(NULL, 0.1), bloom_optimal_hashes(1, NULL), bf_false_positive_rate(512, NULL, 1);

-- what is out of range is refused
SELECT bloom_false_positive_rate(0, 5, 100);
SELECT bloom_false_positive_rate(100, 5, -1);
SELECT bloom_optimal_bits(100, 1);
SELECT bf_false_positive_rate(512, 17, 1);
SELECT bf_false_positive_rate(511, 1, 1);
SELECT command, sqlstate_of('SELECT ' || command) AS state
FROM unnest(ARRAY['bloom_false_positive_rate(-1, 1, 1)', 'bloom_false_positive_rate(''NaN'', 1, 1)', 'bloom_false_positive_rate(''Infinity'', 1, 1)', 'bloom_false_positive_rate(100, 0, 1)', 'bloom_false_positive_rate(100, ''NaN'', 1)',
	'bloom_false_positive_rate(100, 1, ''NaN'')', 'bloom_false_positive_rate(100, 1, ''Infinity'')', 'bloom_optimal_bits(-1, 0.1)', 'bloom_optimal_bits(1, 0)', 'bloom_optimal_bits(1, -0.5)', 'bloom_optimal_bits(1, ''NaN'')', 'bloom_optimal_bits(''Infinity'', 0.5)',
	'bloom_optimal_hashes(0, 1)', 'bloom_optimal_hashes(1, 0)', 'bloom_optimal_hashes(''NaN'', 1)', 'bf_false_positive_rate(512, 0, 1)', 'bf_false_positive_rate(512, -1, 1)', 'bf_false_positive_rate(''NaN'', 1, 1)', 'bf_false_positive_rate(0, 1, 1)', 'bf_false_positive_rate(512, 1, -1)']) command
WHERE sqlstate_of('SELECT ' || command) <> '22023';
