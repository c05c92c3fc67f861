-- limits: each limit of docs/limits.md at its edge: what is just accepted, and what is just refused
SET timezone = 'UTC';

-- "yes" if a call succeeds, else its SQLSTATE and message.
CREATE FUNCTION accepts(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT (' || call || ') IS NULL';
	RETURN 'yes';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END
$$;
CREATE TABLE edge (n int GENERATED ALWAYS AS IDENTITY, call text, inside text, outside text);

-- parameters of filters
INSERT INTO edge (call, inside, outside) VALUES
	('bf_empty(%s)', '1', '0'),
	('tbf_empty(%s)', '1', '0'),
	('tbf_empty(%s)', '12700000', '12800000'),
	('tbf_empty(%s, layout => ''flat'')', '12700000', '12800000'),
	('bf_empty(10, %s)', '0.5', '0.500001'),
	('bf_empty(10, %s)', '0.000001', '0.00000099'),
	('tbf_empty(10, %s)', '0.5', '0.500001'),
	('tbf_empty(10, %s)', '0.000001', '0.00000099'),
	('sbf_empty(1000000, %s)', '0.5', '0.500001'),
	('tbf_empty(half_life => %s)', '''1 microsecond''', '''0'''),
	('tbf_empty(half_life => %s)', '''13343998 days''', '''13343999 days'''),
	('tbf_empty(half_life => %s)', '''30 days''', '''1 month'''),
	('tbf_empty(epoch => %s)', '''1 microsecond''', '''0'''),
	('tbf_empty(10, top => %s)', '0', '-1'),
	('tbf_empty(10, top => %s)', '10000', '10001'),
	('sbf_empty(%s)', '64', '63'),
	('sbf_empty(%s)', '1000000', '511999873'),
	('ibf_empty(%s)', '64', '63'),
	('ibf_empty(%s)', '1000000', '511999353'),
	('sbf_empty(1000, hashes => %s)', '1', '0'),
	('sbf_empty(1000, hashes => %s)', '16', '17'),
	('sbf_empty(1000, cell_bits => %s)', '1', '0'),
	('sbf_empty(100000, cell_bits => %s)', '8', '9'),
	('ibf_empty(1000, cell_bits => %s)', '2', '1'),
	('ibf_empty(100000, cell_bits => %s)', '8', '9'),
	('sbf_empty(1000, evictions => %s)', '0', '-1'),
	('sbf_empty(1000000, evictions => %s)', '65535', '65536'),
	('sbf_empty(64, cell_bits => 8, evictions => %s)', '64', '65'),
	('ibf_empty(1000, low => %s, high => 1)', '0.99', '1'),
	('ibf_empty(1000, high => %s)', '1e308', '''Infinity'''),
	('abf_empty(1000, %s)', '0.000001', '0.0000009'),
	('abf_empty(1000, %s)', '0.5', '0.500001'),
	('abf_empty(%s)', '1', '0'),
	('abf_empty(%s)', '180000000', '9223372036854775807'),
	('abf_empty(%s, within => ''1 day'')', '1', '0'),
	('abf_empty(1000, hashes => %s)', '1', '0'),
	('abf_empty(1000, hashes => %s)', '32', '33'),
	('abf_empty(1000, generations => %s)', '1', '0'),
	('abf_empty(1000, generations => %s)', '96', '97'),
	('abf_empty(within => %s)', '''1 microsecond''', '''0'''),
	('abf_empty(within => make_interval(days => %s))', '13343998', '13343999'),
	('abf_false_positive_rate(%s, 3)', '32', '33'),
	('abf_false_positive_rate(3, %s)', '96', '97'),
	('abf_false_positive_rate(3, 3, %s)', '0', '-0.1'),
	('abf_window(%s)', '512000000', '512000001'),
	('sbf_decay(sbf_empty(64), %s)', '0', '-1'),
	('ibf_add(ibf_empty(64), 1, %s)', '''Infinity''', '''NaN''');

-- times and weights of hits
INSERT INTO edge (call, inside, outside) VALUES
	('tbf_add(tbf_empty(), 1, timestamptz ''2000-01-01 UTC'' + interval %s, 1, ''infinity'')', '''13343998 days''', '''13343999 days'''),
	('tbf_add(tbf_empty(), 1, %s)', '''4714-11-24 BC''', '''-infinity'''),
	('tbf_add(tbf_empty(), 1, now() + interval %s)', '''23 hours''', '''25 hours'''),
	('tbf_add(tbf_empty(half_life => NULL), 1, now(), %s)', '0', '-1'),
	('tbf_add(tbf_empty(half_life => NULL), 1, now(), %s)', '17179869183', '17179869184'),
	('tbf_add(tbf_empty(), 1, now(), %s)', '8589934591.9', '17179869184'),
	('tbf_empty() * %s', '0', '-1'),
	('tbf_empty() * %s', '8589934591.9', '8589934592');

-- decay functions
INSERT INTO edge (call, inside, outside) VALUES
	('decay_exponential(''1 day'', %s)', '''1 microsecond''', '''0'''),
	('decay_exponential(''1 day'', %s)', '''13343998 days''', '''13343999 days'''),
	('decay_polynomial(''1 day'', %s, ''1 day'')', '1e-300', '0'),
	('decay_polyexponential(''1 day'', %s, ''1 day'')', '0', '-1'),
	('decay_polygonal(''1 day'', ''{0}'', ARRAY[%s]::float8[])', '1', '1.01');

-- calculators
INSERT INTO edge (call, inside, outside) VALUES
	('bloom_false_positive_rate(%s, 1, 1)', '1', '0.99'),
	('bloom_false_positive_rate(%s, 1, 1)', '1e18', '1.01e18'),
	('bloom_optimal_bits(1000, %s)', '1e-300', '0'),
	('bloom_optimal_bits(1000, %s)', '0.999', '1'),
	('bf_false_positive_rate(%s, 1, 1)', '512', '511'),
	('bf_false_positive_rate(%s, 1, 1)', '512.0 * 7999999', '512.0 * 8000000'),
	('bf_false_positive_rate(512, %s, 1)', '16', '17'),
	('sbf_evictions(0.01, %s, 3, 1)', '64', '63'),
	('sbf_evictions(0.01, %s, 3, 1)', '8.0 * 511999872', '8.0 * 511999872 + 1'),
	('sbf_evictions(0.01, 1000, %s, 1)', '16', '17'),
	('sbf_evictions(0.01, 100000, 3, %s)', '255', '256'),
	('ibf_evictions(0.01, 100000, 3, %s)', '2', '1'),
	('sbf_stable_point(1e6, 3, %s, 1)', '65535', '65536'),
	('sbf_false_negative_rate(sbf_empty(64), %s)', '9223372036854775807', '-1');
SELECT count(*) AS edges FROM edge;
SELECT format(call, inside) AS inside, accepts(format(call, inside)) AS error FROM edge WHERE accepts(format(call, inside)) <> 'yes' ORDER BY n;
SELECT regexp_replace(format(call, outside) || ': ' || accepts(format(call, outside)), '"\d{4}-\d\d-\d\d .*?"', '"..."', 'g') AS outside FROM edge ORDER BY n;

-- the largest filters: 7,999,999 lines, 511,999,872 bytes of cells
SELECT accepts('bf_empty(412000000)') AS bf, accepts('bf_empty(413000000)') AS larger;
SELECT accepts('sbf_empty(511999872)') AS sbf;

-- the index: options, columns, blocks
CREATE FUNCTION accepts_index(definition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX limited_bf ON limited USING bf ' || definition;
	DROP INDEX limited_bf;
	RETURN 'yes';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END
$$;
DO $$ BEGIN EXECUTE (SELECT format('CREATE TABLE limited (%s)', string_agg('c' || i || ' int', ', ')) FROM generate_series(1, 33) i); END $$;
SELECT options, accepts_index(format('(c1) WITH (%s)', options)) FROM (VALUES ('pages_per_range = 0'), ('pages_per_range = 1'), ('pages_per_range = 131072'),
	('pages_per_range = 131073'), ('false_positive_rate = 0.0000009'), ('false_positive_rate = 0.000001'), ('false_positive_rate = 0.5'), ('false_positive_rate = 0.51')) v(options);
SELECT columns, accepts_index((SELECT format('(%s)', string_agg('c' || i, ', ')) FROM generate_series(1, columns) i)) FROM (VALUES (32), (33)) v(columns);
CREATE INDEX limited_bf ON limited USING bf (c1, c2);
SELECT block, accepts(format('bf_of(''limited_bf'', %s)', block)) FROM (VALUES (-1), (0), (4294967294), (4294967295)) v(block);
SELECT place, accepts(format('bf_of(''limited_bf'', 0, %s)', place)) FROM (VALUES (0), (1), (2), (3)) v(place);

-- a long item of the list of hot items is shown by its beginning
SELECT length(item) FROM tbf_top(tbf_add(tbf_empty(top => 1), repeat('x', 1000), '2024-01-01'), 1, '2024-01-01');
DROP TABLE edge, limited;
DROP FUNCTION accepts, accepts_index;

-- Short values that stand for many cells, with this number of blocks (tbf) or cells (sbf, ibf) in their header: at the cap and above it.
CREATE FUNCTION with_number(value bytea, number bigint) RETURNS bytea LANGUAGE sql AS
	$$SELECT overlay(value PLACING set_byte(set_byte(set_byte(set_byte('\x00000000'::bytea, 0, (number & 255)::int), 1, (number >> 8 & 255)::int),
			2, (number >> 16 & 255)::int), 3, (number >> 24 & 255)::int) FROM 41)$$;
CREATE FUNCTION refusal(type text, value bytea, OUT code text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %L::%s', value, type);
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END
$$;
SELECT type, number, refusal.*
FROM (VALUES
		('tbf', tbf_empty(1000000)::bytea, 32768), ('tbf', tbf_empty(1000000)::bytea, 32769),
		('sbf', sbf_empty(64, cell_bits => 8, evictions => 1)::bytea, 511999872), ('sbf', sbf_empty(64, cell_bits => 8, evictions => 1)::bytea, 511999873),
		('ibf', ibf_empty(64, cell_bits => 8, evictions => 1, high => 1)::bytea, 511999872), ('ibf', ibf_empty(64, cell_bits => 8, evictions => 1, high => 1)::bytea, 511999873),
		('ibf', ibf_empty(64, cell_bits => 8, evictions => 1)::bytea, 511999352), ('ibf', ibf_empty(64, cell_bits => 8, evictions => 1)::bytea, 511999353)) v(type, value, number),
	refusal(type, with_number(value, number));
SELECT type, refusal.*
FROM (VALUES ('bf', with_number(bf_empty()::bytea, 8000000)), ('tbf', with_number((SELECT tbf_agg(1, now()) FROM (SELECT) s)::bytea, 65537))) v(type, value),
	refusal(type, value);
SELECT (tbf_info(with_number(tbf_empty(1000000)::bytea, 32768)::tbf)).cells, (sbf_info(with_number(sbf_empty(64, cell_bits => 8, evictions => 1)::bytea, 511999872)::sbf)).cells AS sbf_cells;
DROP FUNCTION with_number, refusal;
