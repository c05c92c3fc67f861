-- items_kinds: a filter knows what kind of items it holds, and asking for another kind is an error, not a silent no.
-- (The database is one in UTF8.)

CREATE DOMAIN whole AS int;
CREATE TYPE two AS (number int, word text);
CREATE TYPE wide AS (a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 text);
CREATE TYPE wider AS (a1 int, a2 int, a3 int, a4 int, a5 int, a6 int, a7 int, a8 text, a9 text);
CREATE TEMP TABLE kind (item text);
INSERT INTO kind VALUES
	('1::int2'), ('1::int4'), ('1::int8'), ('1::whole'), ('1::float4'), ('1::float8'), ('1::numeric'),
	('''a'''), ('''a''::text'), ('''a''::varchar'), ('''a''::name'), ('''a''::char(3)'), ('''a''::citext'),
	('''a''::bytea'), ('true'), ('''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''::uuid'),
	('''2024-01-01''::date'), ('''2024-01-01''::timestamp'), ('''2024-01-01''::timestamptz'), ('''10:00''::time'), ('''10:00+00''::timetz'), ('''1 day''::interval'),
	('''1''::jsonb'), ('''10.0.0.1''::inet'), ('''{1}''::int4[]'), ('''{1}''::int8[]'), ('''{a}''::text[]'), ('''{1}''::whole[]'),
	('''[1,2]''::int4range'), ('''{[1,2]}''::int4multirange'), ('''[1,2]''::numrange'),
	('ROW(1, ''a'')::two'), ('ROW(1, ''a''::text)'), ('ROW(1::int8, ''a''::text)'), ('ARRAY[ROW(1, ''a'')::two]'),
	('ROW(1,1,1,1,1,1,1,1)::wide'), ('ROW(1,1,1,1,1,1,1,1,1)::wider'),
	('''1 2''::oidvector'), ('''{1,2}''::oid[]'), ('''[0:1]={1,2}''::int2[]'), ('''1 2''::int2vector'), ('ARRAY[''1 2''::oidvector]'), ('ROW(''1 2''::oidvector)');

CREATE FUNCTION pg_temp.value_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
BEGIN
	EXECUTE 'SELECT ' || expression INTO value;
	RETURN value;
END
$$;

-- the names of kinds, the same for both types of filter; a domain is its base type, a composite type its columns
CREATE TEMP TABLE filter AS
SELECT item, pg_temp.value_of(format('bf_add(bf_empty(10), %s)', item)) AS bf,
	pg_temp.value_of(format('tbf_add(tbf_empty(10), %s, ''2024-01-01'')', item)) AS tbf
FROM kind;
SELECT item, b.item_kind, b.item_kind = t.item_kind AS same
FROM filter, bf_info(bf::bf) b, tbf_info(tbf::tbf) t ORDER BY b.item_kind COLLATE "C", item COLLATE "C";
SELECT (bf_info(bf_empty())).item_kind, (tbf_info(tbf_empty())).item_kind;
SELECT (bf_info(bf_agg(i))).item_kind, (tbf_info(tbf_agg(i, now()))).item_kind FROM generate_series(1, 3) i;

/*
 * Every pair of different kinds: asked and added by each way, united, intersected, merged. (The name of a kind is cut, so
 * the two long ones look alike. oidvector has a hash of its own, so it is not of the kind oid[].) An untyped literal is read as
 * the kind of the filter, so it is cast to text here: see items_untyped.
 */
CREATE TEMP TABLE pairs AS
SELECT f.item AS holds, CASE o.item WHEN '''a''' THEN '''a''::text' ELSE o.item END AS other, f.bf, o.bf AS other_bf, f.tbf, o.tbf AS other_tbf
FROM filter f, filter o
WHERE substr(f.bf, 15, 68) <> substr(o.bf, 15, 68);
CREATE TEMP TABLE outcome AS
SELECT holds, other, left(command, 30) AS command, sqlstate_of(format(command, p.bf, p.other, p.tbf, p.other_bf, p.other_tbf)) AS state
FROM pairs p, unnest(ARRAY[
	'SELECT %1$L::bf @> %2$s', 'SELECT %2$s <@ %1$L::bf', 'SELECT bf_contains(%1$L, %2$s)', 'SELECT bf_contained(%2$s, %1$L)',
	'SELECT %1$L::bf || %2$s', 'SELECT bf_add(%1$L, %2$s)',
	'SELECT %1$L::bf | %4$L::bf', 'SELECT %1$L::bf & %4$L::bf',
	'SELECT bf_union_agg(f) FROM (VALUES (%1$L::bf), (%4$L::bf)) s (f)',
	'SELECT %3$L::tbf @> %2$s', 'SELECT %2$s <@ %3$L::tbf', 'SELECT %3$L::tbf -> %2$s',
	'SELECT tbf_count(%3$L, %2$s)', 'SELECT tbf_rate(%3$L, %2$s)', 'SELECT tbf_contains(%3$L, %2$s)',
	'SELECT tbf_add(%3$L, %2$s, ''2024-01-01'')', 'SELECT %3$L::tbf + %5$L::tbf']) command;
SELECT count(*) > 15000 AS many, bool_and(state = '42804') AS all_refused FROM outcome;
SELECT command, holds, other, state FROM outcome WHERE state <> '42804'
ORDER BY command COLLATE "C", holds COLLATE "C", other COLLATE "C" LIMIT 10;

-- elements of arrays are items of their own kind
SELECT sqlstate_of(format('SELECT %s(%s_add(%s_empty(10), 1), ARRAY[''a''])', f, t, t))
FROM (VALUES ('bf_contains_any', 'bf'), ('bf_contains_all', 'bf'), ('bf_add_all', 'bf'), ('tbf_add_all', 'tbf')) v (f, t);

-- within one aggregate all items are of one kind; of filters, too
SELECT sqlstate_of('SELECT bf_agg(v) FROM (VALUES (ROW(1, 2)), (ROW(1, 2::numeric))) s (v)'),
	sqlstate_of('SELECT tbf_merge_agg(f) FROM (VALUES (tbf_add(tbf_empty(), 1)), (tbf_add(tbf_empty(), true))) s (f)'),
	sqlstate_of('SELECT bf_intersection_agg(f) FROM (VALUES (bf_add(bf_empty(), 1)), (bf_add(bf_empty(), true))) s (f)');

-- the messages
SELECT bf_add(bf_empty(), 1) @> '1'::text;
SELECT bf_add(bf_empty(), '1'::text) @> 1;
SELECT tbf_add(tbf_empty(), 1.0) -> 1;
SELECT bf_add(bf_empty(), 1) | bf_add(bf_empty(), 'a'::text);
SELECT bf_add(bf_empty(), 1) & bf_add(bf_empty(), 1.0);
SELECT tbf_add(tbf_empty(), 1) + tbf_add(tbf_empty(), 'a'::text);
-- a name that is cut ends with an ellipsis; that of the item is whole
SELECT bf_add(bf_empty(), ROW(1,1,1,1,1,1,1,1)::wide) @> ROW(1,1,1,1,1,1,1,1,1)::wider;
SELECT bf_add(bf_empty(), ROW(1,1,1,1,1,1,1,1)::wide) @> ROW(1,1,1,1,1,1,1,1,1,1);
SELECT bf_add(bf_empty(), ROW(1,1,1,1,1,1,1,1)::wide) | bf_add(bf_empty(), ROW(1,1,1,1,1,1,1,1,1)::wider);

-- an empty filter is of no kind yet, answers no to everything, and takes the kind of whatever joins it
SELECT e.item FROM kind e WHERE
	pg_temp.value_of(format('bf_empty(10) @> %s', item)) IS DISTINCT FROM 'false' OR
	pg_temp.value_of(format('%s <@ tbf_empty(10)', item)) IS DISTINCT FROM 'false' OR
	pg_temp.value_of(format('tbf_empty(10) -> %s', item)) IS DISTINCT FROM '0';
SELECT bf_contains_any(bf_empty(), ARRAY[1, 2]), bf_contains_all(bf_empty(), ARRAY['a']), bf_contains_all(bf_empty(), '{}'::int[]);
SELECT item FROM filter WHERE
	((bf_empty(10) | bf::bf) = bf::bf AND (bf::bf | bf_empty(10)) = bf::bf AND
	(tbf_empty(10) + tbf::tbf) = tbf::tbf AND (tbf::tbf + tbf_empty(10)) = tbf::tbf) IS NOT TRUE;
SELECT (bf_info(bf_add(bf_empty(), 1) & bf_empty())).item_kind, (bf_info(bf_empty() & bf_add(bf_empty(), 1))).item_kind;

-- a hit of no weight gives no kind away that it should not: asking for the same kind is fine
SELECT tbf_add(tbf_empty(), 1, '2024-01-01', 0) -> 1;

-- text is hashed in the server's encoding, and the kind says in which: 6 is UTF8, 8 is LATIN1
SELECT get_byte(f::bytea, 8) = 6, get_byte(f::bytea, 9) FROM bf_add(bf_empty(), 'a'::text) f;
CREATE TEMP TABLE latin1 AS
	SELECT bf(set_byte(bf_add(bf_empty(), 'a'::text)::bytea, 8, 8)) AS bf, tbf(set_byte(tbf_add(tbf_empty(), 'a'::char(1))::bytea, 8, 8)) AS tbf;
SELECT (bf_info(bf)).item_kind, (tbf_info(tbf)).item_kind FROM latin1;
SELECT bf @> 'a'::text FROM latin1;
SELECT bf || 'a'::text FROM latin1;
SELECT tbf -> 'a'::char(1) FROM latin1;
SELECT tbf -> 'a' FROM latin1;
SELECT bf | bf_add(bf_empty(), 'a'::text) FROM latin1;
SELECT (bf_info(bf(set_byte(bf::bytea, 9, 99)))).item_kind FROM latin1;

-- kinds have no object numbers in them: types made anew are the same, as after a dump and restore
CREATE TEMP TABLE kept AS SELECT bf_add(bf_empty(10), ROW(1, 'a')::two) AS bf, bf_add(bf_empty(10), ARRAY[ROW(1, 'a')::two]) AS bfs,
	bf_add(bf_empty(10), 'A'::citext) AS caseless, bf_add(bf_empty(10), 1::whole) AS whole;
DROP TYPE two;
DROP DOMAIN whole;
CREATE TYPE two AS (n int, w text);
CREATE DOMAIN whole AS int8;
SELECT bf @> ROW(1, 'a')::two, bf @> ROW(2, 'a')::two, bfs @> ARRAY[ROW(1, 'a')::two], caseless @> 'a'::citext, whole @> 1::whole FROM kept;
-- nor schemas
BEGIN;
CREATE SCHEMA elsewhere;
ALTER EXTENSION citext SET SCHEMA elsewhere;
ALTER TYPE two SET SCHEMA elsewhere;
SELECT caseless @> 'a'::elsewhere.citext, bf @> ROW(1, 'a')::elsewhere.two FROM kept;
ROLLBACK;

DROP TYPE two, wide, wider;
DROP DOMAIN whole;
