-- items_refused: types that cannot be hashed so that equal items always hash alike are refused, with a way out

CREATE TYPE mood AS ENUM ('low', 'high');
CREATE DOMAIN mood_domain AS mood;
CREATE TYPE mood_range AS RANGE (subtype = mood);
CREATE TYPE with_mood AS (number int, mood mood);
CREATE TYPE deeper AS (list with_mood[], number int);
CREATE DOMAIN deep_domain AS deeper;
CREATE TYPE with_class AS (number int, class regclass);
CREATE TYPE nohash_range AS RANGE (subtype = money);
CREATE FUNCTION mood_of(number int) RETURNS record LANGUAGE sql IMMUTABLE AS $$SELECT number, 'low'::mood$$;

-- the messages
SELECT bf_add(bf_empty(), '(1,2)'::point);
SELECT bf_agg('low'::mood);
SELECT tbf_add(tbf_empty(), ROW(1, 'low')::with_mood);
SELECT bf_empty() @> ARRAY['pg_class'::regclass];

-- no (extended) hash function: asked, added, aggregated
SELECT states, count(*) AS items, min(item) AS one FROM (
SELECT item, array_agg(DISTINCT sqlstate_of(format(command, item))) AS states
FROM unnest(ARRAY['''(1,2)''::point', '''{}''::json', '''1''::money', '''101''::bit(3)', '''a b''::tsvector',
	'''{"(1,2)"}''::point[]', 'ARRAY[''1''::json]', 'ROW(1, ''{}''::json)', '''[1,2]''::nohash_range']) item,
	unnest(ARRAY['SELECT bf_empty() @> %s', 'SELECT %s <@ bf_empty()', 'SELECT bf_add(bf_empty(), %s)', 'SELECT bf_empty() || %s',
		'SELECT bf_agg(v) FROM (SELECT %s) s (v)', 'SELECT tbf_empty() -> %s', 'SELECT tbf_add(tbf_empty(), %s)', 'SELECT tbf_agg(v, now()) FROM (SELECT %s) s (v)']) command
GROUP BY item) i GROUP BY states;

-- object numbers: enums, the names of objects, access rights; and whatever contains them
SELECT states, count(*) AS items, min(item) AS one FROM (
SELECT item, array_agg(DISTINCT sqlstate_of(format(command, item))) AS states
FROM unnest(ARRAY['''low''::mood', '''low''::mood_domain', '''{low}''::mood[]', '''{low}''::mood_domain[]', '''[low,high]''::mood_range', '''{[low,high]}''::mood_multirange',
	'ROW(1, ''low'')::with_mood', 'ROW(ARRAY[ROW(1, ''low'')::with_mood], 1)::deeper', 'ROW(NULL, 1)::deep_domain', 'ARRAY[ROW(NULL, 1)::deeper]',
	'ROW(1, ''low''::mood)', 'ROW(1, ''{low}''::mood[])', 'mood_of(1)',
	'''pg_class''::regclass', '''now''::regproc', '''now()''::regprocedure', '''||/''::regoper', '''+(int,int)''::regoperator', '''int''::regtype',
	'''english''::regconfig', '''simple''::regdictionary', '''pg_database_owner''::regrole', '''pg_catalog''::regnamespace', '''"C"''::regcollation',
	'''{pg_class}''::regclass[]', 'ROW(1, ''pg_class'')::with_class', 'makeaclitem(10, 10, ''SELECT'', false)', 'ARRAY[makeaclitem(10, 10, ''SELECT'', false)]']) item,
	unnest(ARRAY['SELECT bf_empty() @> %s', 'SELECT %s <@ bf_empty()', 'SELECT bf_add(bf_empty(), %s)', 'SELECT bf_empty() || %s',
		'SELECT bf_agg(v) FROM (SELECT %s) s (v)', 'SELECT tbf_empty() -> %s', 'SELECT tbf_add(tbf_empty(), %s)', 'SELECT tbf_agg(v, now()) FROM (SELECT %s) s (v)']) command
GROUP BY item) i GROUP BY states;
-- anonymous records within others say even less of themselves: refused, for one reason or the other
SELECT item, bool_and(sqlstate_of(format(command, item)) IN ('0A000', '42883')) AS refused
FROM unnest(ARRAY['ARRAY[ROW(1, ''low''::mood)]', 'ROW(1, ROW(2, ''low''::mood))', 'ROW(1, mood_of(1))', 'ROW(1, ARRAY[ROW(2, ''low''::mood)])', 'ARRAY[ROW(''(1,2)''::point)]', 'ROW(1, ROW(2, ''1''::money))']) item,
	unnest(ARRAY['SELECT bf_empty() @> %s', 'SELECT bf_add(bf_empty(), %s)', 'SELECT bf_agg(v) FROM (SELECT %s) s (v)', 'SELECT tbf_add(tbf_empty(), %s)']) command
GROUP BY item ORDER BY item COLLATE "C";
-- the way out
SELECT bf_agg('low'::mood::text) @> 'low'::mood::text AS found;

-- as elements of an array of items
SELECT item, array_agg(DISTINCT sqlstate_of(format(command, item))) AS states
FROM unnest(ARRAY['''{low}''::mood[]', '''{pg_class}''::regclass[]', '''{}''::point[]', 'ARRAY[ROW(1, ''low'')::with_mood]', 'ARRAY[ROW(1, ''low''::mood)]']) item,
	unnest(ARRAY['SELECT bf_contains_any(bf_empty(), %s)', 'SELECT bf_contains_all(bf_empty(), %s)', 'SELECT bf_add_all(bf_empty(), %s)', 'SELECT tbf_add_all(tbf_empty(), %s)']) command
GROUP BY item ORDER BY item COLLATE "C";

-- refused even where every item is null: the statement is wrong, not the data
SELECT sqlstate_of('SELECT bf_agg(NULL::mood)'), sqlstate_of('SELECT tbf_agg(NULL::point, now())');

-- a type whose operator class has the plain hash function alone
CREATE TYPE miles;
SET client_min_messages = warning;
CREATE FUNCTION miles_in(cstring) RETURNS miles LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION miles_out(miles) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
RESET client_min_messages;
CREATE TYPE miles (INPUT = miles_in, OUTPUT = miles_out, LIKE = int4);
CREATE FUNCTION miles_eq(miles, miles) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION miles_hash(miles) RETURNS int4 LANGUAGE internal IMMUTABLE STRICT AS 'hashint4';
CREATE FUNCTION miles_hash_extended(miles, int8) RETURNS int8 LANGUAGE internal IMMUTABLE STRICT AS 'hashint4extended';
CREATE OPERATOR = (LEFTARG = miles, RIGHTARG = miles, FUNCTION = miles_eq, COMMUTATOR = =, HASHES);
SELECT bf_agg('1'::miles);
CREATE OPERATOR CLASS miles_ops DEFAULT FOR TYPE miles USING hash AS OPERATOR 1 =, FUNCTION 1 miles_hash(miles);
SELECT bf_agg('1'::miles);
ALTER OPERATOR FAMILY miles_ops USING hash ADD FUNCTION 2 (miles) miles_hash_extended(miles, int8);
-- (a new session would see it at once)
\c
SELECT (bf_info(f)).item_kind, f @> '1'::miles AS found, f @> '2'::miles AS other FROM bf_add(bf_empty(), '1'::miles) f;

DROP FUNCTION mood_of;
DROP DOMAIN deep_domain;
DROP TYPE deeper, with_mood, with_class, mood_range, nohash_range;
DROP DOMAIN mood_domain;
DROP TYPE mood;
SET client_min_messages = warning;
DROP TYPE miles CASCADE;
