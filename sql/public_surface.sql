-- public_surface: everything that users of the extension can name. A change of this list is a change for them: release notes, and an
-- upgrade script, have to say it. Not here: the functions that only the server calls, for input, output, planning and aggregates, and what
-- has a name that begins with an underscore, which is the extension's own.

LOAD 'streambloom';
SET search_path = public;
SET IntervalStyle = postgres;
\pset format unaligned
\pset tuples_only on

CREATE TEMP VIEW member AS
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'streambloom' AND d.deptype = 'e' AND
		NOT EXISTS (SELECT FROM pg_type WHERE d.classid = 'pg_type'::regclass AND oid = d.objid AND
			(typcategory = 'A' OR EXISTS (SELECT FROM pg_class WHERE oid = typrelid AND relkind <> 'c')));
CREATE TEMP VIEW functions AS
	SELECT p.* FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
	WHERE proname NOT LIKE '\_%' AND NOT proargtypes::oid[] && '{internal,cstring}'::regtype[]::oid[] AND prorettype <> 'cstring'::regtype AND
		NOT EXISTS (SELECT FROM pg_type WHERE typsend = p.oid) AND NOT EXISTS (SELECT FROM pg_aggregate WHERE p.oid IN (aggtransfn, aggcombinefn, aggfinalfn));

-- the extension (that it is trusted is shown by test/tap/upgrade_and_relocation: the view that tells it does not know extensions that are tested before they are installed)
SELECT format('relocatable: %s', extrelocatable) FROM pg_extension WHERE extname = 'streambloom';

-- types: category, storage, alignment; composite types with their columns
SELECT format('%s: category %s%s, storage %s, alignment %s%s%s', t.oid::regtype, typcategory, CASE WHEN typispreferred THEN ' preferred' END, typstorage, typalign,
	CASE WHEN typcollation <> 0 THEN ', collatable' END,
	(SELECT ' (' || string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) || ')' FROM pg_attribute WHERE attrelid = typrelid AND attnum > 0))
FROM pg_type t JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid ORDER BY t.oid::regtype::text COLLATE "C";

-- casts
SELECT format('%s AS %s: %s, %s', castsource::regtype, casttarget::regtype,
	CASE castcontext WHEN 'i' THEN 'implicit' WHEN 'a' THEN 'assignment' ELSE 'explicit' END, CASE castmethod WHEN 'b' THEN 'binary' ELSE castfunc::regprocedure::text END)
FROM pg_cast c JOIN member m ON m.classid = 'pg_cast'::regclass AND m.objid = c.oid
ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";

-- functions: strict unless it says "called on null"; the cost is 1 (of SQL functions 100), and there is no support function, unless it says so
SELECT format('%s(%s) -> %s: %s%s, parallel %s%s%s%s%s%s%s%s', p.proname, pg_get_function_arguments(p.oid),
	pg_get_function_result(p.oid), CASE WHEN prokind = 'w' THEN 'window, ' WHEN prokind = 'p' THEN 'procedure, ' END,
	CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END, CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END,
	CASE WHEN NOT proisstrict AND prokind = 'f' THEN ', called on null' END,
	CASE WHEN procost <> CASE WHEN lanname IN ('c', 'internal') THEN 1 ELSE 100 END THEN ', cost ' || procost END, CASE WHEN proretset THEN ', rows ' || prorows END,
	CASE WHEN prosupport <> 0 THEN ', support ' || prosupport::regproc END, CASE WHEN prosecdef THEN ', security definer' END,
	', set ' || array_to_string(proconfig, '; '), CASE WHEN NOT has_function_privilege('public', p.oid, 'EXECUTE') THEN ', not for PUBLIC' END)
FROM functions p JOIN pg_language l ON l.oid = prolang WHERE prokind <> 'a' ORDER BY p.proname COLLATE "C", pg_get_function_arguments(p.oid) COLLATE "C";

-- aggregates: those with a combine function can be parallel
SELECT format('%s(%s) -> %s: parallel %s%s%s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
	CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END,
	CASE WHEN aggcombinefn <> 0 THEN ', combined' END, CASE WHEN aggfinalmodify <> 'r' AND aggfinalfn <> 0 THEN ', final function modifies' END)
FROM functions p JOIN pg_aggregate a ON a.aggfnoid = p.oid ORDER BY p.proname COLLATE "C", pg_get_function_arguments(p.oid) COLLATE "C";

-- operators: function, commutator, negator, estimators
SELECT concat_ws(', ', format('%s %s %s -> %s%s', oprleft::regtype, oprname, oprright::regtype, oprresult::regtype, (SELECT ': ' || oprcode::regprocedure FROM pg_proc WHERE oid = oprcode AND proname NOT LIKE '\_%')),
	nullif(oprcom, 0)::regoperator, nullif(oprnegate, 0)::regoperator, nullif(oprrest, 0)::regproc, nullif(oprjoin, 0)::regproc)
FROM pg_operator o JOIN member m ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
ORDER BY oprname COLLATE "C", oprleft::regtype::text COLLATE "C", oprright::regtype::text COLLATE "C";

-- the access method; families of operators with their classes and members
SELECT format('%s: %s %s', amname, CASE amtype WHEN 'i' THEN 'index' ELSE 'table' END, amhandler) FROM pg_am a JOIN member m ON m.classid = 'pg_am'::regclass AND m.objid = a.oid;
SELECT format('%s using %s: classes %s; operators %s', opfname, amname,
	(SELECT string_agg(format('%s for %s%s', opcname, opcintype::regtype, CASE WHEN NOT opcdefault THEN ' (not default)' END), ', ' ORDER BY opcname COLLATE "C") FROM pg_opclass WHERE opcfamily = f.oid),
	(SELECT string_agg(format('%s %s', amopstrategy, amopopr::regoperator), ', ' ORDER BY amopopr::regoperator::text COLLATE "C") FROM pg_amop WHERE amopfamily = f.oid))
FROM pg_opfamily f JOIN pg_am a ON a.oid = opfmethod JOIN member m ON m.classid = 'pg_opfamily'::regclass AND m.objid = f.oid ORDER BY opfname COLLATE "C", amname COLLATE "C";
SELECT format('support function %s of %s using %s: %s', amprocnum, opfname, amname, amproc::regproc) FROM pg_amproc p JOIN pg_opfamily f ON f.oid = amprocfamily JOIN pg_am a ON a.oid = opfmethod JOIN member m ON m.classid = 'pg_opfamily'::regclass AND m.objid = f.oid
ORDER BY opfname COLLATE "C", amname COLLATE "C", amprocnum, amproclefttype::regtype::text COLLATE "C";

-- views and tables, what PUBLIC may do with them, and their columns
SELECT format('%s: %s, PUBLIC: %s%s', c.oid::regclass, CASE relkind WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' ELSE relkind::text END,
	coalesce((SELECT string_agg(privilege_type, ', ' ORDER BY privilege_type COLLATE "C") FROM aclexplode(relacl) WHERE grantee = 0), 'nothing'),
	(SELECT string_agg(format(E'\n  %s %s%s%s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' not null' END, ' default ' || pg_get_expr(adbin, adrelid)),
		'' ORDER BY attnum) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped))
FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid WHERE relkind <> 'c' AND relname NOT LIKE '\_%' ORDER BY relname COLLATE "C";

-- settings
SELECT format('%s %s = %s%s%s%s: %s', name, vartype, boot_val, ' ' || unit, ' (' || min_val || ' to ' || max_val || ')', ' ' || enumvals::text, context)
FROM pg_settings WHERE name LIKE 'streambloom.%' ORDER BY name COLLATE "C";
-- EXPLAIN (SETTINGS) shows each that is changed
SELECT name FROM pg_settings WHERE name LIKE 'streambloom.%' AND NOT 'EXPLAIN' = ANY (pg_settings_get_flags(name));

-- options of an index and of its columns: the hints of errors about them name all
CREATE TEMP TABLE option (v text);
SELECT error_of('CREATE INDEX ON option USING bf (v) WITH (none = 1)');
CREATE INDEX ON option USING bf (v text_ops (none = 1));
CREATE INDEX ON option USING bf (v gram_ops (none = 1));
CREATE INDEX ON option USING bf (v gram_ops (n = 3, fold = off, false_positive_rate = 0.1)) WITH (pages_per_range = 1, false_positive_rate = 0.1, levels = 1);

-- defaults of these options: an index without options, and one that has them written down, have the same filters
CREATE TEMP TABLE without (i int, t text, n text, fold text, e int[], j jsonb, d jsonb, w tsvector, b bytea);
INSERT INTO without
	SELECT i, 'item ' || i, 'a Line ' || i, 'a Line ' || i, ARRAY[i], jsonb_build_object('k', i), jsonb_build_object('k', i), to_tsvector('simple', 'word ' || i), convert_to('a line ' || i, 'UTF8')
	FROM generate_series(1, 2000) i;
CREATE TEMP TABLE written (LIKE without);
INSERT INTO written SELECT * FROM without;
CREATE TEMP TABLE other (LIKE without);
INSERT INTO other SELECT * FROM without;
CREATE INDEX without_bf ON without USING bf (i, t, n gram_ops, fold gram_ops, e, j, d jsonb_path_ops, w, b bytea_gram_ops);
CREATE INDEX other_bf ON other USING bf (i, t, n gram_ops (n = 3), fold gram_ops (fold = off), e, j, d jsonb_path_ops, w, b bytea_gram_ops (n = 3));
-- the lengths of ranges and the rates
SELECT DISTINCT pages_per_range FROM bf_index_stats('without_bf');
SELECT "column", opcname, false_positive_rate FROM bf_index_stats('without_bf'), pg_attribute a, pg_index x, pg_opclass c
WHERE level = 0 AND attrelid = 'without_bf'::regclass AND attname = "column" AND indexrelid = attrelid AND c.oid = indclass[attnum - 1] ORDER BY attnum;
CREATE INDEX written_bf ON written USING bf (i, t, n gram_ops (n = 4), fold gram_ops (fold = on), e, j, d jsonb_path_ops, w, b bytea_gram_ops (n = 4)) WITH (levels = auto);
SELECT string_agg(c::text, ' ') FILTER (WHERE bf_of('without_bf', NULL, c) = bf_of('written_bf', NULL, c)) AS as_written,
	string_agg(c::text, ' ') FILTER (WHERE bf_of('without_bf', NULL, c) = bf_of('other_bf', NULL, c)) AS as_other FROM generate_series(1, 9) c;
