-- calculators: whatever their arguments are, they return a number or refuse, and never loop. They are immutable, so with
-- constants they run during planning, where a loop would end EXPLAIN too. (The timeout only ends what would not end.)
SET statement_timeout = '60s';

-- what a call gives: "number", "NULL", "not finite", or the SQLSTATE
CREATE FUNCTION outcome_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result double precision;
BEGIN
	EXECUTE 'SELECT ' || call INTO result;
	RETURN CASE WHEN result IS NULL THEN 'NULL' WHEN result - result = 0 THEN 'number' ELSE 'not finite' END;
EXCEPTION WHEN query_canceled THEN
	RETURN 'took too long';
WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;

-- every function with every combination of these arguments, for each parameter those of its type
CREATE TEMP TABLE arguments (type text, value text);
INSERT INTO arguments SELECT 'float8', unnest(ARRAY['0', '-0', '-1', '1e-320', '1e-20', '0.01', '0.5', '1', '1000', '4095998976', '1e30', '1.7e308', '''NaN''', '''Infinity''', '''-Infinity''', 'NULL']);
INSERT INTO arguments SELECT 'int4', unnest(ARRAY['-2147483648', '-1', '0', '1', '7', '16', '255', '256', '2147483647', 'NULL']);
INSERT INTO arguments SELECT 'int8', unnest(ARRAY['-9223372036854775808', '-1', '0', '1', '1000', '4294967296', '9223372036854775807', 'NULL']);
INSERT INTO arguments SELECT 'share', unnest(ARRAY['NULL', '''{}''', '''{1}''', '''{NULL}''', '''{NaN}''', '''{-1,2}''', '''{0,0,0,0,0,0,1}''', '''{1e308,1e308}''']);
INSERT INTO arguments SELECT 'scheme', unnest(ARRAY['''two_class''', '''multi_class''', '''value_weighted''', '''stable''', 'NULL']);
INSERT INTO arguments SELECT 'age', unnest(ARRAY['''-1 day''', '''0''', '''1 microsecond''', '''1 day''', '''100000000 days''', '''2147483647 days 2562047788 hours''', '''-2147483648 days -2562047788 hours''', '''1 month''', 'NULL']);
INSERT INTO arguments SELECT 'ages', unnest(ARRAY['''{}''', '''{0}''', '''{1 day,2 days}''', '''{2 days,1 day}''', '''{NULL}''', '''{{1 day}}''', '''{1 month}''', '''{-1 day}''', 'NULL']);
INSERT INTO arguments SELECT 'weights', unnest(ARRAY['''{}''', '''{1}''', '''{1,0.5}''', '''{0.5,1}''', '''{NaN}''', '''{Infinity,-Infinity}''', '''{{1}}''', '''{NULL}''', 'NULL']);
INSERT INTO arguments SELECT 'sbf', unnest(ARRAY['sbf_empty(64)', 'sbf_empty(cell_bits => 8)', 'sbf_empty(2000, evictions => 0)', 'NULL']);
INSERT INTO arguments SELECT 'ibf', unnest(ARRAY['ibf_empty(64, 0.5)', 'ibf_empty(1000000, cell_bits => 8, scheme => ''value_weighted'')', 'ibf_empty(1000000, cell_bits => 8, low => -1e307, high => 1e307)',
	'ibf_empty(2000, evictions => 0, scheme => ''two_class'')', 'NULL']);
CREATE TEMP TABLE calculators (name text, types text[]);
INSERT INTO calculators VALUES ('bloom_false_positive_rate', '{float8,float8,float8}'), ('bloom_optimal_bits', '{float8,float8}'), ('bloom_optimal_hashes', '{float8,float8}'),
	('bf_false_positive_rate', '{float8,int4,float8}'), ('sbf_stable_point', '{float8,int4,float8,int4,share}'), ('sbf_false_positive_bound', '{float8,int4,float8,int4,share}'),
	('sbf_evictions', '{float8,float8,int4,int4}'), ('ibf_evictions', '{float8,float8,int4,int4,scheme}'), ('sbf_false_negative_rate', '{sbf,int8}'), ('ibf_false_negative_rate', '{ibf,float8,int8}'),
	('abf_false_positive_rate', '{int4,int4,float8}'), ('abf_bytes', '{int8,float8,int4,int4}'), ('abf_window', '{int8,float8}'),
	('decay_exponential', '{age,age}'), ('decay_window', '{age,age}'), ('decay_polynomial', '{age,float8,age}'), ('decay_polyexponential', '{age,int4,age}'), ('decay_polyexponential', '{age,int4,age,age}'),
	('decay_linear', '{age,age}'), ('decay_polygonal', '{age,ages,weights}');
-- all of them are here: functions of the extension that return a number and take no filter, or foretell what a filter forgets
SELECT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'streambloom'
WHERE prorettype = 'float8'::regtype AND NOT (proname LIKE '%\_rate' AND proname <> 'tbf_rate' OR '{bf,tbf,sbf,ibf,abf}'::regtype[] && proargtypes::regtype[]) AND proname NOT LIKE '%tbf\_rollup\_%' AND proname NOT IN (SELECT name FROM calculators);
CREATE FUNCTION calls_of(name text, types text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	calls text[] := ARRAY[name || '('];
BEGIN
	FOR i IN 1..cardinality(types) LOOP
		-- of functions with many parameters a part of the combinations, the same each time
		SELECT array_agg(call || CASE WHEN i > 1 THEN ', ' ELSE '' END || value ORDER BY call COLLATE "C", value COLLATE "C") INTO calls
		FROM unnest(calls) call, arguments WHERE type = types[i] AND (i < 3 OR hashtext(call || value) % 4 = 0);
	END LOOP;
	RETURN QUERY SELECT call || ')' FROM unnest(calls) call;
END
$$;
SELECT name, cardinality(types) AS arguments, count(*) > 15 AS many, array_agg(DISTINCT outcome ORDER BY outcome) AS outcomes
FROM calculators, calls_of(name, types) call, outcome_of(call) outcome GROUP BY name, types ORDER BY name COLLATE "C", types;

-- the messages
\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT ibf_evictions(1e-20, 1e30, 1)');
SELECT error_of('EXPLAIN SELECT ibf_evictions(1e-20, 1e30, 1)');
SELECT error_of('SELECT ibf_evictions(1e-20, 1e9, 1)');
SELECT error_of('SELECT sbf_evictions(1e-20, 1e9, 1)');
SELECT error_of('SELECT sbf_evictions(0, 1e9, 1)');
SELECT error_of('SELECT sbf_stable_point(63, 1, 1)');
SELECT error_of('SELECT sbf_stable_point(1e6, 1, 65536)');
SELECT error_of('SELECT sbf_stable_point(1e6, 1, 1, 256)');
SELECT error_of('SELECT bf_false_positive_rate(1e10, 1, 1)');
SELECT error_of('SELECT bf_false_positive_rate(512, 1, 1e300)');
SELECT error_of('SELECT bloom_optimal_hashes(''Infinity'', 1)');
\pset tuples_only off
\pset format aligned

-- the largest filters, cells of eight bits and any gap: the recursion's end is the stable point
SELECT s.gap, round((1 - sbf_false_negative_rate(f, s.gap))::numeric, 6) AS kept, round((sbf_info(f)).false_positive_bound::numeric, 6) AS bound
FROM sbf_empty(1000000, 0.1, cell_bits => 8) f, unnest('{254,255,20000,1000000,1000000000,9223372036854775807}'::bigint[]) s (gap);

RESET statement_timeout;
DROP FUNCTION outcome_of, calls_of;
