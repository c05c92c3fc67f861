-- catalog: what the catalogs say of the extension's objects. Most queries list exceptions. (Array types and the row types of views
-- count as members of an extension in newer versions of PostgreSQL, in older ones not.)

CREATE TEMP VIEW member AS
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'streambloom' AND d.deptype = 'e' AND
		NOT EXISTS (SELECT FROM pg_type WHERE d.classid = 'pg_type'::regclass AND oid = d.objid AND
			(typcategory = 'A' OR EXISTS (SELECT FROM pg_class WHERE oid = typrelid AND relkind <> 'c')));
CREATE TEMP VIEW functions AS
	SELECT p.*, p.oid::regprocedure::text COLLATE "C" AS signature, substring(p.proname FROM '^_?[a-z]+') COLLATE "C" AS family
	FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;
CREATE TEMP VIEW aggregates AS
	SELECT f.*, a.* FROM functions f JOIN pg_aggregate a ON a.aggfnoid = f.oid;
CREATE TEMP VIEW operators AS
	SELECT o.*, o.oid::regoperator::text COLLATE "C" AS signature
	FROM pg_operator o JOIN member m ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid;
CREATE TEMP VIEW types AS
	SELECT t.* FROM pg_type t JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid;

-- there is something to look at
SELECT count(*) > 50 FROM functions;
SELECT count(*) > 10 FROM aggregates;
SELECT count(*) > 10 FROM operators;
SELECT count(*) >= 2 FROM types;

-- objects without a comment
SELECT pg_describe_object(classid, objid, 0) AS without_comment
FROM member WHERE obj_description(objid, classid::regclass::name) IS NULL
ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";
SELECT obj_description(oid, 'pg_extension') IS NOT NULL FROM pg_extension WHERE extname = 'streambloom';

-- functions for the extension's own use without an underscore in front of their names, or the other way round; those of =, <>, <, <=, > and >= have the names that PostgreSQL's have
SELECT signature FROM functions
WHERE (proname LIKE '\_%') <> (obj_description(oid, 'pg_proc') ~ '^(implementation of |trigger of )') AND proname !~ '^[a-z]+_(eq|ne|lt|le|gt|ge)$'
ORDER BY 1;

-- functions that no worker may run: those that write or lock an index, or read tables (of which a worker sees no temporary ones), and roll-ups, which set search_path
SELECT family, string_agg(DISTINCT proname, ' ') FROM functions WHERE proparallel <> 's' GROUP BY 1 ORDER BY 1;

-- volatile ones: those that look into an index; and stable ones: that look at the clock (a time that is not given, the
-- limit of the times of hits), at tables, or at the encoding of the client; and immutable ones that take a time
SELECT family, string_agg(DISTINCT proname, ' ') FROM functions WHERE provolatile = 'v' GROUP BY 1 ORDER BY 1;
SELECT family, string_agg(DISTINCT proname, ' ') FROM functions WHERE provolatile = 's' GROUP BY 1 ORDER BY 1;
SELECT signature FROM functions
WHERE provolatile = 'i' AND prokind = 'f' AND 'timestamptz'::regtype = ANY (proargtypes::oid[])
ORDER BY 1;

-- not strict: tbf_empty(half_life => NULL), where not_after may be null, chunk_scan(NULL::relation), bf_fold() at the filter's own rate, parameters, states
SELECT family, string_agg(DISTINCT proname, ' ') FROM functions WHERE NOT proisstrict AND prokind = 'f' GROUP BY 1 ORDER BY 1;

-- functions that run with other rights, that claim to leak nothing, or that are not in C (those of roll-ups; bf_text_item and bf_untyped_item are text and have text's)
SELECT family, string_agg(DISTINCT proname, ' ') FROM functions
WHERE prosecdef OR proleakproof OR (prokind = 'f' AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')) GROUP BY 1 ORDER BY 1;

-- functions over whole filters that the planner would think as cheap as an addition
SELECT signature FROM functions
WHERE prokind = 'f' AND procost < 5 AND proname !~ '^(bloom_|decay_|bytea$)|_(in|out|recv|send|support|handler|class_options)$|_agg_'
ORDER BY 1;

-- aggregates that cannot be parallel, or cannot be window aggregates
SELECT signature FROM aggregates
WHERE proparallel <> 's' OR aggcombinefn = 0 OR aggkind <> 'n' OR
	(aggtranstype = 'internal'::regtype AND (aggserialfn = 0 OR aggdeserialfn = 0 OR aggfinalfn = 0)) OR
	(aggfinalfn <> 0 AND aggfinalmodify <> 'r')
ORDER BY 1;

-- JDBC and ODBC take ? for a placeholder; bf @> bf and bf || bf would capture untyped literals
-- (bf || bf_text_item and the operators of bf_untyped_item are there to do so)
SELECT signature FROM operators WHERE oprname LIKE '%?%' ORDER BY 1;
SELECT signature FROM operators
WHERE oprname IN ('@>', '<@', '||', '->') AND (oprleft IN (SELECT oid FROM types)) = (oprright IN (SELECT oid FROM types))
ORDER BY 1;

-- functions and operators that take an item of any type, or an array of items, but no literal or parameter without a type (|| takes those as bf_text_item)
SELECT f.signature FROM functions f
WHERE proargtypes::oid[] && ARRAY['"any"', 'anyelement', 'anyarray']::regtype[]::oid[] AND 'bf_untyped_item'::regtype <> ALL (proargtypes::oid[])
	AND prokind = 'f' AND 'internal'::regtype <> ALL (prorettype || proargtypes::oid[]) AND NOT EXISTS (
	SELECT FROM functions u, unnest(ARRAY['"any"', 'anyelement', 'anyarray']::regtype[]::oid[]) generic
	WHERE u.proname = f.proname AND generic = ANY (f.proargtypes::oid[]) AND u.proargtypes::oid[] = array_replace(f.proargtypes::oid[], generic, 'bf_untyped_item'::regtype::oid))
ORDER BY 1;
SELECT o.signature FROM operators o
WHERE ARRAY[oprleft, oprright] && ARRAY['"any"', 'anyelement']::regtype[]::oid[] AND NOT EXISTS (
	SELECT FROM operators u WHERE u.oprname = o.oprname AND
		(u.oprleft, u.oprright) IN ((o.oprleft, 'bf_untyped_item'::regtype), ('bf_untyped_item'::regtype, o.oprright)))
ORDER BY 1;
-- operators that return boolean and take "any" cannot be used as f @> ANY (array)
SELECT signature FROM operators WHERE oprresult = 'boolean'::regtype AND '"any"'::regtype IN (oprleft, oprright) ORDER BY 1;
-- what reads an untyped item depends on settings such as DateStyle
SELECT signature FROM functions WHERE 'bf_untyped_item'::regtype = ANY (proargtypes::oid[]) AND provolatile = 'i' AND proname NOT LIKE 'bf\_untyped\_item%' ORDER BY 1;

-- operators that ask without an estimator, or without the other way round; = without <>
SELECT signature FROM operators
WHERE oprname IN ('@>', '<@', '=', '<>') AND (oprrest = 0 OR oprjoin = 0 OR oprcom = 0)
ORDER BY 1;
SELECT signature FROM operators WHERE oprname IN ('=', '<>') AND oprnegate = 0 ORDER BY 1;
SELECT o.signature FROM operators o JOIN operators c ON c.oid = o.oprcom
WHERE o.oprleft <> c.oprright OR o.oprright <> c.oprleft OR c.oprcom <> o.oid
ORDER BY 1;

-- types that are compressed, or lack binary input and output (bf_text_item, bf_untyped_item and parameters are never stored)
SELECT typname FROM types WHERE typstorage <> 'e' OR typreceive = 0 OR typsend = 0 OR typlen <> -1 OR typcategory <> 'U' ORDER BY typname COLLATE "C";

-- casts: to and from bytea, each only when asked for; and those of the two types that are text
SELECT castsource::regtype, casttarget::regtype, castcontext
FROM pg_cast c JOIN member m ON m.classid = 'pg_cast'::regclass AND m.objid = c.oid
ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";

-- the extension can be moved, and goes on working
BEGIN;
CREATE SCHEMA elsewhere;
ALTER EXTENSION streambloom SET SCHEMA elsewhere;
SELECT elsewhere.bf_contains(elsewhere.bf_agg(i), 7) FROM generate_series(1, 10) i;
SELECT elsewhere.bf_agg(i) OPERATOR(elsewhere.@>) 7 FROM generate_series(1, 10) i;
SELECT elsewhere.tbf_count(elsewhere.tbf_agg(7, now(), interval '1 day'), 7) >= 1;
SELECT elsewhere.bf_contains(elsewhere.bf_agg(i::text), '7') AS untyped, elsewhere.bf_agg(i::char(9)) OPERATOR(elsewhere.@>) '7  ' AS padded FROM generate_series(1, 10) i;
ROLLBACK;

-- aggregates of filters have states of ordinary types, so that an engine that splits a query over machines can split these
SELECT a.aggfnoid::regprocedure AS aggregate, a.aggtranstype::regtype AS state, t.typtype <> 'p' AS ordinary, a.aggcombinefn <> 0 AS combines
FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_type t ON t.oid = a.aggtranstype
WHERE p.proargtypes[0] IN ('bf'::regtype, 'sbf'::regtype, 'ibf'::regtype, 'tbf'::regtype, 'abf'::regtype) ORDER BY a.aggfnoid::regprocedure::text COLLATE "C";

-- how aggregates travel: for each design of a state what combines, sends and receives it, and whose state it is. An aggregate that loses one of these comes to
-- stand in another line. (The order of items is part of what sbf, ibf, tbf_agg_in_order and abf by items say: nothing combines those.)
SELECT aggtranstype::regtype AS state, aggcombinefn AS combines, nullif(aggserialfn::oid, 0)::regproc AS sends, nullif(aggdeserialfn::oid, 0)::regproc AS receives,
	aggtransspace AS space, array_agg(DISTINCT proname ORDER BY proname) AS aggregates, count(*) AS signatures
FROM aggregates GROUP BY 1, 2, 3, 4, 5 ORDER BY aggcombinefn::text COLLATE "C", 1, 3, 4, 5;

-- combine functions of states that are internal get NULL when a worker has seen no row: they may not be strict, and what sends and receives has to be
SELECT signature FROM aggregates
WHERE (aggtranstype = 'internal'::regtype AND (SELECT proisstrict FROM pg_proc WHERE oid = aggcombinefn)) OR
	EXISTS (SELECT FROM pg_proc WHERE oid IN (aggserialfn, aggdeserialfn) AND NOT proisstrict) OR
	EXISTS (SELECT FROM pg_proc WHERE oid IN (aggtransfn, aggcombinefn, aggserialfn, aggdeserialfn, aggfinalfn) AND proparallel <> 's');
