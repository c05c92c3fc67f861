-- reference.sql: prints docs/reference.md from the comments of the SQL declarations. For psql -Atq, in a database with the extension.
SET search_path = pg_catalog;
SET IntervalStyle = postgres;
LOAD 'streambloom';
CREATE TEMP VIEW member AS
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'streambloom' AND d.deptype = 'e';
-- What people call: not the functions that only the server calls, for input, output, planning and aggregates, nor those behind operators.
CREATE TEMP VIEW function AS
	SELECT p.*, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result, obj_description(p.oid, 'pg_proc') AS comment
	FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
	WHERE NOT proargtypes::oid[] && '{internal,cstring}'::regtype[]::oid[] AND prorettype <> 'cstring'::regtype AND
		NOT EXISTS (SELECT FROM pg_type WHERE typsend = p.oid) AND NOT EXISTS (SELECT FROM pg_aggregate WHERE p.oid IN (aggtransfn, aggcombinefn, aggfinalfn)) AND
		NOT EXISTS (SELECT FROM pg_cast WHERE castfunc = p.oid) AND proname !~ '_(eq|ne|lt|le|gt|ge|cmp|hash|hash_extended|add_text|add_operator)$' AND NOT pg_get_function_arguments(p.oid) LIKE '%bf_untyped_item%' AND
		NOT (proname LIKE 'tbf_rollup%' AND obj_description(p.oid, 'pg_proc') ~ '^(implementation|trigger) of ');
CREATE FUNCTION pg_temp.cell(text) RETURNS text LANGUAGE sql RETURN replace(replace(regexp_replace($1, 'public\.', '', 'g'), '|', '\|'), E'\n', ' ');
CREATE FUNCTION pg_temp.section(title text, pattern text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT E'\n## ' || title || E'\n\n| function | returns | |\n| --- | --- | --- |'
	UNION ALL
	(SELECT format('| `%s(%s)` | %s | %s%s |', proname, pg_temp.cell(arguments), CASE WHEN prokind = 'p' THEN '' ELSE '`' || pg_temp.cell(result) || '`' END,
		CASE prokind WHEN 'a' THEN 'aggregate: ' WHEN 'w' THEN 'window function: ' WHEN 'p' THEN 'procedure: ' ELSE '' END, coalesce(pg_temp.cell(comment), ''))
	FROM pg_temp.function WHERE proname ~ pattern ORDER BY proname COLLATE "C", arguments COLLATE "C")
$$;

SELECT $$# Reference

Every function, operator, operator class and setting, with its comment. Made by `scripts/generate-reference` from the comments in
[../sql/install](../sql/install); `\df+`, `\do+` and `\dAc+` in psql show the same. Functions that take an item of any type have a
second form for untyped literals and parameters, which is not listed.$$;
SELECT pg_temp.section('Bloom filter: bf', '^bf_(?!index|summarize|desummarize|of$|class|key|many)|^bloom_');
SELECT pg_temp.section('Time-decaying Bloom filter: tbf', '^tbf_(?!rollup)');
SELECT pg_temp.section('Roll-ups', '^tbf_rollup');
SELECT pg_temp.section('Stable Bloom filter: sbf', '^sbf');
SELECT pg_temp.section('Importance-aware Bloom filter: ibf', '^ibf');
SELECT pg_temp.section('Decay functions', '^decay');
SELECT pg_temp.section('The index', '^bf_(index|summarize|desummarize|of$)');
SELECT pg_temp.section('Skipping partitions', '^chunk_');

SELECT E'\n## Views and tables\n\n| view or table | |\n| --- | --- |';
SELECT format('| `%s` | %s |', relname, pg_temp.cell(obj_description(c.oid, 'pg_class')))
FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid WHERE relkind IN ('v', 'r') ORDER BY relname COLLATE "C";

SELECT E'\n## Operators\n\n| left | | right | returns | |\n| --- | --- | --- | --- | --- |';
SELECT format('| `%s` | `%s` | `%s` | `%s` | %s |', pg_temp.cell(oprleft::regtype::text), pg_temp.cell(oprname), pg_temp.cell(oprright::regtype::text), pg_temp.cell(oprresult::regtype::text),
	coalesce(pg_temp.cell(obj_description(o.oid, 'pg_operator')), ''))
FROM pg_operator o JOIN member m ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
WHERE NOT EXISTS (SELECT FROM pg_type WHERE oid IN (oprleft, oprright) AND typname IN ('bf_untyped_item', 'bf_text_item'))
ORDER BY oprleft::regtype::text COLLATE "C", oprname COLLATE "C", oprright::regtype::text COLLATE "C";

SELECT E'\n## Operator classes of the index\n\n| class | for | default | operators | |\n| --- | --- | --- | --- | --- |';
SELECT format('| `%s` | `%s` | %s | %s | %s |', opcname, opcintype::regtype, CASE WHEN opcdefault THEN 'yes' ELSE '' END,
	(SELECT string_agg('`' || pg_temp.cell(oprname) || '`', ' ' ORDER BY oprname COLLATE "C")
		FROM (SELECT DISTINCT oprname::text FROM pg_amop JOIN pg_operator ON pg_operator.oid = amopopr WHERE amopfamily = opcfamily AND amoplefttype = opcintype) n),
	coalesce(pg_temp.cell(obj_description(c.oid, 'pg_opclass')), ''))
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod AND amname = 'bf' JOIN member m ON m.classid = 'pg_opclass'::regclass AND m.objid = c.oid ORDER BY opcname COLLATE "C";

SELECT E'\n## Settings\n\n| setting | default | |\n| --- | --- | --- |';
SELECT format('| `%s` | %s | %s |', name, boot_val, pg_temp.cell(short_desc)) FROM pg_settings WHERE name LIKE 'streambloom.%' ORDER BY name COLLATE "C";
