-- items_equal_hash_alike: items that SQL's = calls equal are found, however the filter is built and asked.
-- A filter may say yes wrongly, but never no (docs/bf.md).

SET timezone = 'UTC';
CREATE DOMAIN whole AS int4;
CREATE DOMAIN word AS text;
CREATE DOMAIN padded AS char(6);
CREATE DOMAIN amount AS numeric;
CREATE DOMAIN caseless AS citext;
CREATE DOMAIN wholes AS int4[];
CREATE TYPE two AS (number int4, word text);
CREATE TYPE exact AS (number numeric, code char(4), at timestamptz);
CREATE TYPE nested AS (pair two, list numeric[]);
CREATE DOMAIN two_domain AS two;
CREATE TYPE floatrange AS RANGE (subtype = float8);
CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
CREATE TABLE lost_column (gone int, number int4, word text);
ALTER TABLE lost_column DROP COLUMN gone;
CREATE FUNCTION pair_of(number int4, word text) RETURNS record LANGUAGE sql IMMUTABLE AS 'SELECT number, word';

-- each row: expressions that are equal to each other
CREATE TEMP TABLE equals (family text, items text[]);
INSERT INTO equals VALUES
	('integer', ARRAY['0::int2', '0::int4', '0::int8', '0::whole']),
	('integer', ARRAY['1::int2', '1::int4', '1::int8', '1::whole']),
	('integer', ARRAY['(-1)::int2', '(-1)::int4', '(-1)::int8']),
	('integer', ARRAY['32767::int2', '32767::int4', '32767::int8']),
	('integer', ARRAY['(-32768)::int2', '(-32768)::int4', '(-32768)::int8']),
	('integer', ARRAY['2147483647::int4', '2147483647::int8']),
	('integer', ARRAY['(-2147483648)::int4', '(-2147483648)::int8']),
	('integer', ARRAY['9223372036854775807::int8', '9223372036854775807']),
	('float', ARRAY['0::float4', '0::float8', '''-0''::float4', '''-0''::float8', '(0::float8 * (-1))']),
	('float', ARRAY['1.5::float4', '1.5::float8']),
	('float', ARRAY['0.1::float4', '0.1::float4::float8']),
	('float', ARRAY['1e-42::float4', '1e-42::float4::float8']),
	('float', ARRAY['''NaN''::float4', '''NaN''::float8', '(-''NaN''::float8)', '(-''NaN''::float4)',
					'(''inf''::float8 - ''inf''::float8)', '(''inf''::float4 - ''inf''::float4)']),
	('float', ARRAY['''inf''::float4', '''inf''::float8', '''Infinity''::float8']),
	('float', ARRAY['''-inf''::float4', '''-inf''::float8']),
	('text', ARRAY['''a''', '''a''::text', '''a''::varchar', '''a''::varchar(9)', '''a''::name', '''a''::word']),
	('text', ARRAY['''''', '''''::text', '''''::varchar', '''''::name']),
	('text', ARRAY['''a ''', '''a ''::text', '''a ''::varchar', '''a ''::varchar(2)', '''a ''::name']),
	('text', ARRAY['''é''', '''é''::text', '''é''::varchar(1)', '''é''::name']),
	('text', ARRAY['repeat(''ab'', 5000)', 'repeat(''abab'', 2500)::varchar']),
	('text', ARRAY['''a''::text COLLATE "C"', '''a''', '''a''::varchar', '''a''::name']),
	('character', ARRAY['''ab''::char(2)', '''ab''::char(5)', '''ab  ''::char(9)', '''ab''::bpchar', '''ab   ''::bpchar', '''ab''::padded']),
	('character', ARRAY['''''::char(1)', '''  ''::char(5)', '''''::bpchar']),
	('numeric', ARRAY['1::numeric', '1.0', '1.00', '1.000000000000000000000000', '1::amount']),
	('numeric', ARRAY['0::numeric', '0.0', '0.00', '(-0.0)', '(1.5 - 1.50)']),
	('numeric', ARRAY['100::numeric', '1e2::numeric', '100.000']),
	('numeric', ARRAY['12345678901234567890.5', '12345678901234567890.500', '(12345678901234567890 + 0.5)']),
	('numeric', ARRAY['(-10000::numeric)', '-1e4::numeric', '-10000.0']),
	('numeric', ARRAY['''NaN''::numeric', '(''NaN''::numeric + 1)']),
	('numeric', ARRAY['''inf''::numeric', '''Infinity''::amount']),
	('citext', ARRAY['''abc''::citext', '''ABC''::citext', '''aBc''::citext', '''Abc''::caseless']),
	('citext', ARRAY['''''::citext', '''''::caseless']),
	('jsonb', ARRAY['''{"a": 1, "b": [2, {"c": 3}]}''::jsonb', '''{"b": [2, {"c": 3.0}], "a": 1.00}''::jsonb', '''{"a": 0, "b": [2, {"c": 3}], "a": 1}''::jsonb']),
	('jsonb', ARRAY['''1''::jsonb', '''1.0''::jsonb', '''1e0''::jsonb']),
	('jsonb', ARRAY['''null''::jsonb', ''' null ''::jsonb']),
	('jsonb', ARRAY['''[]''::jsonb', '''[ ]''::jsonb']),
	('array', ARRAY['''{1,2}''::int4[]', 'ARRAY[1, 2]', '''[1:2]={1,2}''::int4[]', '''{1,2}''::wholes']),
	('array', ARRAY['''{}''::int4[]', 'ARRAY[]::int4[]', '''{}''::wholes']),
	('array', ARRAY['''{1,NULL,3}''::int8[]', 'ARRAY[1, NULL, 3]::int8[]']),
	('array', ARRAY['''{{1,2},{3,4}}''::int2[]', 'ARRAY[ARRAY[1, 2], ARRAY[3, 4]]::int2[]']),
	('array', ARRAY['''[0:1]={a,b}''::text[]', '''[0:1]={"a",b}''::text[]']),
	('array', ARRAY['''{1.0,2}''::numeric[]', '''{1.00,2.000}''::numeric[]', '''{1,2}''::amount[]::numeric[]']),
	('array', ARRAY['''{-0,NaN}''::float8[]', 'ARRAY[0, -''NaN''::float8]::float8[]']),
	('array', ARRAY['''{ABC}''::citext[]', '''{abc}''::citext[]']),
	('array', ARRAY['''{a,b}''::varchar[]', '''{a,b}''::varchar(5)[]']),
	('array', ARRAY['''{ab}''::char(2)[]', '''{ab}''::char(5)[]']),
	('array', ARRAY['ARRAY[ROW(1, ''x'')::two]', 'ARRAY[ROW(1, ''x'')]::two[]']),
	('array', ARRAY['ARRAY[''[1,3)''::int4range]', 'ARRAY[''[1,2]''::int4range]']),
	('array', ARRAY['array_fill(7, ARRAY[9000])', 'array_fill(7, ARRAY[4500]) || array_fill(7, ARRAY[4500])']),
	('range', ARRAY['''[1,3)''::int4range', '''[1,2]''::int4range', '''(0,3)''::int4range', 'int4range(1, 2, ''[]'')']),
	('range', ARRAY['''empty''::int4range', '''(1,1)''::int4range', '''[5,5)''::int4range']),
	('range', ARRAY['''(,5)''::int8range', '''[,4]''::int8range', '''[,5)''::int8range']),
	('range', ARRAY['''[1.0,2.50]''::numrange', '''[1,2.5]''::numrange', '''[1.000,2.500]''::numrange']),
	('range', ARRAY['''[-0,1]''::floatrange', '''[0,1]''::floatrange']),
	('range', ARRAY['''[a,b)''::textrange', 'textrange(''a'', ''b'')']),
	('range', ARRAY['''[2024-01-01,2024-02-01)''::daterange', '''[2024-01-01,2024-01-31]''::daterange']),
	('range', ARRAY['''[2024-01-01 00:00+00,2024-01-01 02:00+00)''::tstzrange', '''[2024-01-01 01:00+01,2024-01-01 04:00+02)''::tstzrange']),
	('multirange', ARRAY['''{[1,2),[2,4)}''::int4multirange', '''{[1,3]}''::int4multirange', '''{[3,4),[1,3)}''::int4multirange']),
	('multirange', ARRAY['''{[1.0,2)}''::nummultirange', '''{[1,2.00)}''::nummultirange']),
	('multirange', ARRAY['''{}''::int4multirange', '''{empty}''::int4multirange']),
	('network', ARRAY['''10.0.0.1''::inet', '''10.0.0.1/32''::inet']),
	('network', ARRAY['''::1''::inet', '''0:0:0:0:0:0:0:1/128''::inet']),
	('network', ARRAY['''10.1.0.0/16''::cidr', '''10.1/16''::cidr', '''10.1.0.0/16''::inet']),
	('network', ARRAY['''08:00:2b:01:02:03''::macaddr', '''08002B-010203''::macaddr']),
	('network', ARRAY['''08:00:2b:01:02:03:04:05''::macaddr8', '''08002b0102030405''::macaddr8']),
	('composite', ARRAY['ROW(1, ''x'')::two', '''(1,x)''::two', 'ROW(1, ''x''::text)', 'pair_of(1, ''x'')', 'ROW(1, ''x'')::two_domain']),
	('composite', ARRAY['ROW(1, ''x'')::lost_column', 'jsonb_populate_record(NULL::lost_column, ''{"number": 1, "word": "x"}'')', 'ROW(1, ''x''::text)']),
	('composite', ARRAY['ROW(NULL, ''x'')::two', '''(,x)''::two']),
	('composite', ARRAY['ROW(1.0, ''ab'', ''2024-01-01 00:00+00'')::exact', 'ROW(1.00, ''ab  '', ''2024-01-01 01:00+01'')::exact']),
	('composite', ARRAY['ROW(1.0, ''NaN''::float8)', 'ROW(1.00, -''NaN''::float8)']),
	('composite', ARRAY['ROW(ROW(1, ''x''), ''{1.0}'')::nested', '''("(1,x)",{1.00})''::nested']),
	('uuid', ARRAY['''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''::uuid', '''{A0EEBC999C0B4EF8BB6D6BB9BD380A11}''::uuid']),
	('bytea', ARRAY['''\x00ff41''::bytea', 'E''\\000\\377A''::bytea']),
	('bytea', ARRAY['''''::bytea', '''\x''::bytea']),
	('boolean', ARRAY['true', '''t''::boolean', '(1 = 1)']),
	('boolean', ARRAY['false', '''off''::boolean']),
	('date', ARRAY['''2024-02-29''::date', '(''2024-03-01''::date - 1)']),
	('date', ARRAY['''infinity''::date', '''infinity''::timestamp::date']),
	('time', ARRAY['''04:05:06.5''::time', '''04:05:06.500 AM''::time']),
	('time', ARRAY['''04:05+02''::timetz', '''04:05:00+02:00''::timetz']),
	('timestamp', ARRAY['''2024-01-01 00:00''::timestamp', '''2023-12-31 24:00''::timestamp']),
	('timestamptz', ARRAY['''2024-01-01 00:00+00''::timestamptz', '''2024-01-01 05:30+05:30''::timestamptz', '''2023-12-31 19:00 America/New_York''::timestamptz']),
	('timestamptz', ARRAY['''-infinity''::timestamptz', '''-infinity''::timestamp::timestamptz']),
	('interval', ARRAY['''1 day''::interval', '''24:00''::interval', '''86400 s''::interval']),
	('interval', ARRAY['''1 mon''::interval', '''30 days''::interval', '''720 hours''::interval', '''1 mon 1 day -24:00''::interval']),
	('other', ARRAY['42::oid', '''42''::oid']),
	('other', ARRAY['''16/B374D848''::pg_lsn', '''16/b374d848''::pg_lsn']),
	('other', ARRAY['''7''::xid8', '''007''::xid8']);
CREATE TEMP TABLE pairs AS
	SELECT e.family, a, b FROM equals e, unnest(e.items) a, unnest(e.items) b;

-- how a filter is built from %s, and how it is asked for it
CREATE TEMP TABLE route (build text, asks text[]);
INSERT INTO route VALUES
	('bf_add(bf_empty(100), %s)', ARRAY['f @> %s', '%s <@ f', 'bf_contains(f, %s)', 'bf_contained(%s, f)']),
	('bf_empty(100) || %s', ARRAY['f @> %s', '%s <@ f']),
	('(SELECT bf_agg(v) FROM (SELECT %s) s (v))', ARRAY['f @> %s', '%s <@ f', 'bf_contains(f, %s)']),
	('(SELECT bf_agg(v, 100) FROM (SELECT %s) s (v))', ARRAY['f @> %s', 'bf_contains_any(f, ARRAY[%s])', 'bf_contains_all(f, ARRAY[%s])']),
	('bf_add_all(bf_empty(100), ARRAY[%s])', ARRAY['f @> %s', '%s <@ f', 'bf_contains_any(f, ARRAY[NULL, %s])', 'bf_contains_all(f, ARRAY[%s, NULL])']),
	('tbf_add(tbf_empty(100), %s)', ARRAY['f @> %s', '%s <@ f', 'tbf_contains(f, %s)', 'tbf_contained(%s, f)', 'tbf_count(f, %s) BETWEEN 1 AND 1.1', '(f -> %s) BETWEEN 1 AND 1.1', 'tbf_rate(f, %s) BETWEEN 0.0001 AND 1.1']),
	('(SELECT tbf_agg(v, now()) FROM (SELECT %s) s (v))', ARRAY['f @> %s', '(f -> %s) >= 1']),
	('tbf_add_all(tbf_empty(100), ARRAY[%s])', ARRAY['f @> %s', '%s <@ f', '(f -> %s) >= 1']);

/*
 * The routes that go wrong for a pair. Each is gone once with the expressions themselves (constants, which the planner
 * folds), once with columns of their types. An array of arrays holds their elements: those routes are left out.
 */
CREATE FUNCTION pg_temp.misses(a text, b text, is_array boolean) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	source text;
	r route;
	asks text;
	found boolean[];
	missed text[] := '{}';
BEGIN
	EXECUTE format('SELECT ARRAY[a = b] FROM (SELECT %s, %s) s (a, b)', a, b) INTO found;
	IF found <> ARRAY[true] THEN
		missed := ARRAY['SQL does not call them equal'];
	END IF;
	FOREACH source IN ARRAY ARRAY['(SELECT 1) s', format('(SELECT %s AS a, %s AS b OFFSET 0) s', a, b)] LOOP
		IF source <> '(SELECT 1) s' THEN
			a := 'a';
			b := 'b';
		END IF;
		FOR r IN SELECT * FROM route LOOP
			CONTINUE WHEN is_array AND r.build LIKE '%ARRAY%';
			SELECT string_agg(format(ask, '(' || b || ')'), ', ') INTO asks
			FROM unnest(r.asks) ask WHERE NOT (is_array AND ask LIKE '%ARRAY%');
			BEGIN
				EXECUTE format('SELECT ARRAY[%s] FROM (SELECT %s AS f, s.* FROM %s OFFSET 0) t',
							   asks, format(r.build, '(' || a || ')'), source) INTO found;
				IF NOT true = ALL (found) OR found IS NULL OR array_position(found, NULL) IS NOT NULL THEN
					missed := missed || concat_ws(': ', r.build, a, found);
				END IF;
			EXCEPTION WHEN OTHERS THEN
				missed := missed || concat_ws(': ', r.build, a, SQLERRM);
			END;
		END LOOP;
	END LOOP;
	RETURN missed;
END
$$;
CREATE TEMP TABLE result AS
	SELECT family, a, b, pg_temp.misses(a, b, family = 'array') AS misses FROM pairs;

SELECT count(DISTINCT family) AS families, count(*) AS pairs, count(*) FILTER (WHERE misses = '{}') AS found FROM result;
SELECT a, b, cardinality(misses) AS misses, misses[1] AS one FROM result WHERE misses <> '{}' ORDER BY a COLLATE "C", b COLLATE "C" LIMIT 10;

-- an untyped literal is text; asked of a filter of char(n) it is char(n), as it would be in a comparison
SELECT 'ab'::char(5) = 'ab', 'ab'::char(5) = 'ab   ';
SELECT f @> 'ab', f @> 'ab   ', 'ab ' <@ f, bf_contains(f, 'ab'), f @> 'a' AS other FROM bf_add(bf_empty(), 'ab'::char(5)) f;
SELECT f @> 'ab', f @> 'ab   ', 'ab ' <@ f, f -> 'ab' >= 1 AS count, f @> 'a' AS other FROM tbf_add(tbf_empty(), 'ab'::char(5)) f;
-- and added to one it is char(n) too, and the filter stays one of char(n)
SELECT f @> 'cd'::char(7), f @> 'ab'::char(2) FROM bf_add(bf_add(bf_empty(), 'ab'::char(5)), 'cd   ') f;
SELECT f @> 'cd'::char(7), f @> 'ab'::char(2) FROM tbf_add(tbf_add(tbf_empty(), 'ab'::char(5)), 'cd   ') f;

-- arrays of types that share one = are of one kind; SQL compares them when both are cast to one type
SELECT bf_add(bf_empty(), '{a,b}'::varchar[]) @> '{a,b}'::text[] AS varchars, bf_add(bf_empty(), '{10.0.0.0/8}'::cidr[]) @> '{10.0.0.0/8}'::inet[] AS cidrs;

-- ("char" || would be ambiguous to PostgreSQL: it casts to text as well as it is "any")
SELECT bf_add(bf_empty(), 'a'::"char") @> 97::"char" AS found, tbf_add(tbf_empty(), 97::"char") @> 'a'::"char" AS found;

DROP TABLE lost_column;
DROP FUNCTION pair_of;
DROP TYPE textrange, floatrange, nested, exact;
DROP DOMAIN two_domain;
DROP TYPE two;
DROP DOMAIN whole, word, padded, amount, caseless, wholes;
