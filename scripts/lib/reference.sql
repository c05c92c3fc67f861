-- reference.sql: prints docs/reference.md from the comments of the SQL declarations. Run it by psql -Atq, in a
-- database that has the extension.
SET search_path = pg_catalog;
SET IntervalStyle = postgres;
LOAD 'streambloom';
CREATE TEMP VIEW member AS
	SELECT d.classid, d.objid
	FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE e.extname = 'streambloom' AND d.deptype = 'e';
-- Functions that users call. Not those that only the server calls (for input, output, planning and aggregates), nor
-- those behind operators.
CREATE TEMP VIEW function AS
	SELECT p.*, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result, obj_description(p.oid, 'pg_proc') AS comment
	FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
	WHERE NOT proargtypes::oid[] && '{internal,cstring}'::regtype[]::oid[] AND prorettype <> 'cstring'::regtype AND
		NOT EXISTS (SELECT FROM pg_type WHERE typsend = p.oid) AND NOT EXISTS (SELECT FROM pg_aggregate WHERE p.oid IN (aggtransfn, aggcombinefn, aggfinalfn)) AND
		NOT EXISTS (SELECT FROM pg_cast WHERE castfunc = p.oid) AND proname !~ '_(eq|ne|lt|le|gt|ge|cmp|hash|hash_extended)$' AND NOT pg_get_function_arguments(p.oid) LIKE '%bf_untyped_item%' AND
		proname NOT LIKE '\_%';
CREATE FUNCTION pg_temp.cell(text) RETURNS text LANGUAGE sql RETURN replace(replace(regexp_replace($1, 'public\.', '', 'g'), '|', '\|'), E'\n', ' ');
-- Writes types and defaults as users write them.
CREATE FUNCTION pg_temp.short(text) RETURNS text LANGUAGE sql RETURN replace(replace(replace(replace(regexp_replace(regexp_replace(regexp_replace($1,
	'public\.', '', 'g'), '::[a-z0-9_]+( precision| with time zone)?(\[\])?', '', 'g'), '^IN ', ''),
	'timestamp with time zone', 'timestamptz'), 'double precision', 'float8'), ' DEFAULT ', ' = '), '= NULL', '= null');
-- The anchor of a heading.
CREATE FUNCTION pg_temp.anchor(text) RETURNS text LANGUAGE sql RETURN '#' || replace(regexp_replace(lower($1), '[^a-z0-9_ -]', '', 'g'), ' ', '-');
-- The parts of the page, and the pattern of the functions that belong to each.
CREATE TEMP TABLE area (place int, name text, pattern text, title text, page text);
INSERT INTO area VALUES
	(1, 'bf', '^(bloom|bf)_(?!index|summarize|desummarize|of$|grams$)', 'Bloom filter: bf', 'bf.md'),
	(2, 'tbf', '^tbf_(?!rollup)', 'Time-decaying Bloom filter: tbf', 'tbf.md'),
	(3, 'sbf', '^sbf_', 'Stable Bloom filter: sbf', 'sbf.md'),
	(4, 'ibf', '^ibf_', 'Importance-aware Bloom filter: ibf', 'sbf.md'),
	(5, 'abf', '^abf_', 'Age-partitioned Bloom filter: abf', 'abf.md'),
	(6, 'rollups', '^tbf_rollup', 'Roll-ups', 'rollups.md'),
	(7, 'decay', '^decay_', 'Decay functions', 'tbf.md'),
	(8, 'index', '^bf_(index|summarize|desummarize|of$|grams$)', 'The index', 'index.md'),
	(9, 'partitions', '^chunk_', 'Skipping partitions', 'partitions.md');
-- The tasks in each part; `areas` is a pattern of the names of parts. A function belongs to the first task of its
-- part whose pattern matches. If there is none, this is an error.
CREATE TEMP TABLE task (place int GENERATED ALWAYS AS IDENTITY, areas text, title text, pattern text);
INSERT INTO task (areas, title, pattern) VALUES
	('.bf|bf', 'Make one', '^[a-z]*bf_(empty|parameters|agg|agg_like|agg_in_order)$'),
	('.bf|bf', 'Add and remove', '^[a-z]*bf_(add|add_all|add_each|remove)$'),
	('.bf|bf', 'Find duplicates', '^[a-z]*bf_(check_add|check_add_each|duplicate)$'),
	('.bf|bf', 'Ask for an item', '^[a-z]*bf_(contains|contained|contains_any|contains_all)$'),
	('.bf|bf', 'Count hits', '^[a-z]*bf_(count|estimate|rate|total|share|top|inner_product|error_bound|error_estimate)$'),
	('.bf|bf', 'Put several together', '^[a-z]*bf_(union|union_agg|intersection|intersection_agg|merge|merge_agg)$'),
	('.bf|bf', 'Let it fade, or weigh it', '^[a-z]*bf_(decay|scale)$'),
	('.bf|bf', 'Make it smaller', '^[a-z]*bf_(fold|compact|layout)$'),
	('.bf|bf', 'Look inside', '^[a-z]*bf_(info|sketch|histogram|cardinality)$'),
	('.bf|bf', 'Plan its size', '^bloom_|^[a-z]*bf_(evictions|stable_point|false_.*|slices|bytes|window)$'),
	('rollups', 'Make and keep one', '_(create|refresh|drop)$'), ('rollups', 'Ask it', ''),
	('decay', 'Weights by age', ''),
	('index', 'Does an index pay?', '_advise$'), ('index', 'Summarize', 'summarize'), ('index', 'Look inside', ''),
	('partitions', 'Read the partitions that may have a value', '');
CREATE TEMP VIEW placed AS
	SELECT f.*, a.name AS area, t.title AS task, a.place AS area_place, t.place AS task_place
	FROM function f LEFT JOIN LATERAL (SELECT * FROM area WHERE proname ~ pattern ORDER BY place LIMIT 1) a ON true
		LEFT JOIN LATERAL (SELECT * FROM task WHERE a.name ~ ('^(' || areas || ')$') AND proname ~ task.pattern ORDER BY place LIMIT 1) t ON true;
DO $$DECLARE lost text; BEGIN
	SELECT string_agg(DISTINCT proname::text, ', ') INTO lost FROM pg_temp.placed WHERE task IS NULL;
	IF lost IS NOT NULL THEN RAISE 'scripts/lib/reference.sql knows no task for %: add one', lost; END IF;
END$$;
-- The entry of one function: its arguments, its result, its comment, and its columns if it returns several.
CREATE FUNCTION pg_temp.entry(f pg_temp.placed) RETURNS text LANGUAGE sql AS $$
	SELECT format('- `%s(%s)`%s%s', f.proname, taken, CASE WHEN f.prokind = 'p' THEN '' ELSE format(' → `%s`', pg_temp.short(f.result)) END,
		CASE f.prokind WHEN 'a' THEN ', aggregate' WHEN 'w' THEN ', window function' WHEN 'p' THEN ', procedure' ELSE '' END)
		|| E'  \n  ' || upper(left(said, 1)) || rtrim(substr(said, 2), '.') || '.' || coalesce(E'  \n  Columns: ' || given || '.', '')
	FROM (SELECT regexp_replace(coalesce(regexp_replace(f.comment, 'public\.', '', 'g'), ''), E'\\s*\n\\s*', ' ', 'g')) c (said),
		(SELECT string_agg(pg_temp.short(a), ', ') FILTER (WHERE a !~ '^OUT '), string_agg(format('`%s`', pg_temp.short(substr(a, 5))), ', ') FILTER (WHERE a ~ '^OUT ')
			FROM regexp_split_to_table(f.arguments, ', (?=(?:OUT |VARIADIC )?"?[a-z_]+"? )') a) s (taken, given)
$$;

SELECT $$# Reference

Every function by what it is for, then operators, operator classes and settings. Made by `scripts/generate-reference` from the comments in
`sql/install`; `\df+`, `\do+` and `\dAc+` in psql show the same. `= value` is the value of an argument that is not given; arguments can
be named: `bf_empty(fpr => 0.001)`. Functions that take an item of any type have a second form for untyped literals and parameters, which
is not listed.

## What do you want to do?

| with a filter | $$ || string_agg(format('[%s](%s)', name, pg_temp.anchor(title)), ' | ' ORDER BY place) || E' |\n| --- |' || repeat(' --- |', count(*)::int)
FROM area WHERE name LIKE '%bf' AND name IN (SELECT area FROM placed);
SELECT format('| %s | %s |', t.title, string_agg(coalesce((SELECT string_agg(format('[`%s`](#%s)', regexp_replace(proname, '^[a-z]?bf_', ''), proname), ' ' ORDER BY proname COLLATE "C")
	FROM (SELECT DISTINCT proname::text FROM placed p WHERE p.area = a.name AND p.task = t.title) n), ''), ' | ' ORDER BY a.place))
FROM task t, area a WHERE t.areas ~ 'bf' AND a.name LIKE '%bf' AND a.name IN (SELECT area FROM placed) GROUP BY t.title, t.place ORDER BY t.place;
SELECT E'\n| with a table | |\n| --- | --- |';
SELECT format('| %s: %s | %s |', a.title, lower(left(t.title, 1)) || substr(t.title, 2), (SELECT string_agg(format('[`%s`](#%s)', proname, proname), ' ' ORDER BY proname COLLATE "C")
	FROM (SELECT DISTINCT proname::text FROM placed p WHERE p.area = a.name AND p.task = t.title) n))
FROM task t JOIN area a ON a.name = t.areas ORDER BY a.place, t.place;

SELECT line FROM (
	SELECT place, 0 AS task_place, '' AS name, format(E'\n## %s\n\nThe page about it: [%s](%s).', title, page, page) AS line FROM area WHERE name IN (SELECT area FROM placed)
	UNION ALL
	SELECT DISTINCT area_place, task_place, '', format(E'\n### %s', task) FROM placed
	UNION ALL
	SELECT area_place, task_place, proname::text, format(E'\n#### `%s`\n\n%s', proname, string_agg(pg_temp.entry(p), E'\n' ORDER BY pronargs, arguments COLLATE "C"))
	FROM placed p GROUP BY area_place, task_place, proname
) l ORDER BY place, task_place, name COLLATE "C";

SELECT E'\n## Views and tables\n\n| view or table | |\n| --- | --- |';
SELECT format('| `%s` | %s |', relname, pg_temp.cell(obj_description(c.oid, 'pg_class')))
FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid WHERE relkind IN ('v', 'r') AND obj_description(c.oid, 'pg_class') !~ '^implementation of ' ORDER BY relname COLLATE "C";

-- Operators that are the same for several types, in one line.
SELECT E'\n## Operators\n\n| left | | right | returns | |\n| --- | --- | --- | --- | --- |';
WITH operator AS (
	SELECT pg_temp.cell(oprleft::regtype::text) AS l, CASE WHEN oprright = oprleft THEN 'the same' ELSE format('`%s`', pg_temp.cell(oprright::regtype::text)) END AS r,
		pg_temp.cell(oprname) AS name, CASE WHEN oprresult = oprleft THEN 'the same' ELSE format('`%s`', pg_temp.short(oprresult::regtype::text)) END AS result,
		coalesce(pg_temp.cell(obj_description(o.oid, 'pg_operator')), '') AS comment
	FROM pg_operator o JOIN member m ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
	WHERE NOT EXISTS (SELECT FROM pg_type WHERE oid IN (oprleft, oprright) AND typname IN ('bf_untyped_item', 'bf_text_item'))
), of_types AS (
	SELECT name, r, result, comment, string_agg(format('`%s`', l), ' ' ORDER BY l COLLATE "C") AS l FROM operator GROUP BY name, r, result, comment
)
SELECT format('| %s | %s | %s | %s | %s |', l, string_agg(format('`%s`', name), ' ' ORDER BY name COLLATE "C"), r, result, comment)
FROM of_types GROUP BY l, r, result, comment ORDER BY l COLLATE "C", min(name COLLATE "C"), r COLLATE "C";

SELECT E'\n## Operator classes of the index\n\n| class | for | default | operators | |\n| --- | --- | --- | --- | --- |';
CREATE TEMP VIEW class AS
	SELECT opcname::text AS name, opcintype::regtype::text AS type, opcdefault AS is_default, obj_description(c.oid, 'pg_opclass') AS comment,
		(SELECT string_agg('`' || pg_temp.cell(oprname) || '`', ' ' ORDER BY oprname COLLATE "C")
			FROM (SELECT DISTINCT oprname::text FROM pg_amop JOIN pg_operator ON pg_operator.oid = amopopr WHERE amopfamily = opcfamily AND amoplefttype = opcintype) n) AS operators
	FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod AND amname = 'bf' JOIN member m ON m.classid = 'pg_opclass'::regclass AND m.objid = c.oid;
SELECT format('| `%s` | `%s` | %s | %s | %s |', name, type, CASE WHEN is_default THEN 'yes' ELSE '' END, operators, coalesce(pg_temp.cell(comment), ''))
FROM class WHERE NOT is_default OR operators <> '`=`' ORDER BY name COLLATE "C";
SELECT E'\nThe default classes of all other types have `=` alone: ' || string_agg(format('`%s` (`%s`)', name, pg_temp.short(type)), ', ' ORDER BY name COLLATE "C") || '.'
FROM class WHERE is_default AND operators = '`=`';

SELECT E'\n## Settings\n\n| setting | default | |\n| --- | --- | --- |';
SELECT format('| `%s` | %s | %s |', name, boot_val, pg_temp.cell(short_desc)) FROM pg_settings WHERE name LIKE 'streambloom.%' ORDER BY name COLLATE "C";
