-- keys_of_jsonb: what PostgreSQL's own tests ask of GIN on jsonb, asked of bf indexes of both classes: each answer is the one
-- without an index
CREATE TABLE docs (id int, doc jsonb) WITH (fillfactor = 20);
-- objects whose keys are not in all of them, numbers written in two ways, booleans, null, arrays, objects in objects
INSERT INTO docs SELECT i, jsonb_strip_nulls(jsonb_build_object(
		'row', CASE WHEN i % 3 > 0 THEN i END,
		'node', CASE WHEN i % 7 > 0 THEN 'node-' || i / 40 END,
		'state', CASE i / 500 % 4 WHEN 0 THEN 'open' WHEN 1 THEN 'shut' END,
		'age', CASE i % 250 WHEN 17 THEN 25::numeric WHEN 18 THEN 25.0 END,
		'tags', CASE i % 400 WHEN 3 THEN '["red", "blue"]' WHEN 4 THEN '["red", 7, null]' WHEN 5 THEN '[]' WHEN 6 THEN '[["red"]]' END::jsonb,
		'who', CASE i % 600 WHEN 8 THEN '{"name": "Ada", "mail": {"home": "a@b"}}' WHEN 9 THEN '{"name": {}, "deep": [{"name": "Ada"}]}' END::jsonb))
	|| CASE i % 900 WHEN 11 THEN '{"state": null}' WHEN 12 THEN '{"public": true}' WHEN 13 THEN '{"public": "true"}' WHEN 14 THEN '{"": ""}' ELSE '{}' END::jsonb
FROM generate_series(1, 3000) i;
-- what is no object, what is empty, what is missing, and a string that is too long for a key of its own
INSERT INTO docs SELECT 3000 + i, doc::jsonb FROM unnest(ARRAY['{}', '[]', 'null', '"red"', '25', 'true', '["red"]', '[25.0, [14, 2, 3]]', '[[14, 2, 3]]',
	'{"a": [["b", {"x": 1}], ["b", {"x": 2}]], "c": 3}', '"state"', '["state", "open"]', NULL, '{"state": {"open": 1}}', '[{"state": "open"}]']) WITH ORDINALITY u(doc, i);
INSERT INTO docs VALUES (4000, jsonb_build_object('state', repeat('long ', 100), 'tags', jsonb_build_array(repeat('longer ', 60))));
ANALYZE docs;

CREATE TABLE questions (id serial, operator text, operand text);
INSERT INTO questions (operator, operand) SELECT '@>', unnest(ARRAY['{"state": null}', '{"state": "open"}', '{"state": "open", "public": true}', '{"public": true}', '{"public": "true"}',
	'{"age": 25}', '{"age": 25.00}', '{"age": 26}', '{"node": "node-7"}', '{"node": "node-7", "state": "open"}', '{"node": "nowhere"}', '{}', '[]', 'null', '"red"', '25', '["red"]', '[25]',
	'{"tags": ["red"]}', '{"tags": ["blue", "red"]}', '{"tags": [null]}', '{"tags": [["red"]]}', '{"tags": []}', '{"tags": "red"}', '{"who": {"name": "Ada"}}', '{"who": {"name": {}}}', '{"who": {}}',
	'{"who": {"mail": {"home": "a@b"}}}', '{"who": {"deep": [{"name": "Ada"}]}}', '{"who": {"deep": [{}]}}', '{"a": [[{"x": 2}]]}', '{"a": [[{"x": 3}]]}', '{"c": 3}', '[[14]]', '[14]', '{"": ""}',
	'{"state": {"open": 1}}', '[{"state": "open"}]', '{"row": 77}', '{"row": 78}', '{"row": "77"}']);
INSERT INTO questions (operator, operand) SELECT '@>', jsonb_build_object('state', repeat('long ', 100))::text UNION ALL SELECT '@>', jsonb_build_object('state', repeat('long ', 101))::text;
INSERT INTO questions (operator, operand) SELECT '?', unnest(ARRAY['public', 'state', 'open', 'bar', 'red', '', 'name', 'c', '25', 'tags']);
INSERT INTO questions (operator, operand) SELECT o, a FROM unnest(ARRAY['?|', '?&']) o, unnest(ARRAY['{public,age}', '{public,bar}', '{bar}', '{}', '{NULL}', '{public,NULL}', '{state,open}', '{red,red}']) a;
INSERT INTO questions (operator, operand) SELECT '@@', unnest(ARRAY['$.state == null', 'exists($ ? (@.state == null))', 'exists($.state ? (@ == null))', '"open" == $.state',
	'$.state == "open" && true == $.public', '$.state == "none" || $.public == true', '$.age == 25', '$.age == 25.0', '$.age > 24', '$.tags[*] == "red"', '$.tags[*] == "green"', '$.tags[*] == 7',
	'exists($ ? (@.tags[*] == "blue"))', 'exists($.tags ? (@[*] == "blue"))', 'exists($.tags[*] ? (@ == "blue"))', 'exists($)', '!($.public == true)', '$.*.name == "Ada"', '$.**.name == "Ada"',
	'$.who.mail.home == "a@b"', '$.node starts with "node-7"', '$.state like_regex "^op"', '$.row == 77', '$[*] == 25', '$ == 25', '$ == "red"', '1 == 1', '$.tags.size() == 2', '$.row.type() == "number"']);
INSERT INTO questions (operator, operand) SELECT '@?', unnest(ARRAY['$.state ? (@ == null)', '$.state ? ("open" == @)', '$ ? (@.state == "open" && true == @.public)', '$.age ? (@ == 25)', '$ ? (@.age == 25.0)',
	'$ ? (@.tags[*] == "blue")', '$.tags ? (@[*] == "blue")', '$.tags[*] ? (@ == "blue")', '$', '$.public', '$.bar', '$.who.name', '$.who.*', '$.**.home', '$.tags[0]', '$.tags[last] ? (@ == null)', '$[*]', '$."" ',
	'$.who.deep[*].name ? (@ == "Ada")', '$.row ? (@ > 2990)', 'strict $.bar']);

CREATE FUNCTION ask() RETURNS TABLE (question text, answer text) LANGUAGE sql AS $$
	SELECT left(operator || ' ' || operand, 60), answers(format('SELECT * FROM docs WHERE doc %s %L', operator, operand)) FROM questions ORDER BY id $$;
-- The share of the table that a query reads is at most a tenth.
CREATE FUNCTION reads_little(query text) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int <= pg_relation_size('docs') / 8192 / 10;
END
$$;

-- jsonb_ops, the default class
CREATE INDEX docs_keys ON docs USING bf (doc) WITH (pages_per_range = 1);
SELECT * FROM ask();
SELECT q, reads_little('SELECT * FROM docs WHERE ' || q) FROM (VALUES ('doc @> ''{"node": "node-7"}'''), ('doc ? ''public'''), ('doc @? ''$.tags ? (@[*] == "blue")'''),
	('doc @@ ''$.row == 77'''), ('doc @> ''{"state": "open"}''')) t(q);
DROP INDEX docs_keys;

-- jsonb_path_ops, which has no ?
CREATE INDEX docs_paths ON docs USING bf (doc jsonb_path_ops) WITH (pages_per_range = 1);
SELECT * FROM ask();
SELECT q, reads_little('SELECT * FROM docs WHERE ' || q) FROM (VALUES ('doc @> ''{"node": "node-7"}'''), ('doc @? ''$.tags ? (@[*] == "blue")'''), ('doc @@ ''$.row == 77'''),
	('doc @> ''{"state": "open"}''')) t(q);
-- of several conditions, of a list, of NULL
SELECT q, answers('SELECT * FROM docs WHERE ' || q) FROM (VALUES ('doc @> ''{"state": "open"}'' AND doc @> ''{"public": true}'''), ('doc @> ''{"age": 25}'' OR doc @> ''{"public": true}'''),
	('doc @> ANY (ARRAY[''{"age": 25}'', ''{"public": true}'', NULL]::jsonb[])'), ('doc @> ALL (ARRAY[''{"age": 25}'', ''{"row": 17}'']::jsonb[])'), ('doc @> ANY (''{}''::jsonb[])'),
	('doc @> NULL'), ('doc IS NULL'), ('doc IS NOT NULL AND doc @> ''{"c": 3}''')) t(q);
DROP INDEX docs_paths;

-- an expression, and the class for plain equality
CREATE INDEX docs_tags ON docs USING bf ((doc -> 'tags')) WITH (pages_per_range = 1);
CREATE INDEX docs_equal ON docs USING bf (doc jsonb_eq_ops) WITH (pages_per_range = 1);
SELECT q, answers('SELECT * FROM docs WHERE ' || q) FROM (VALUES ('doc -> ''tags'' ? ''blue'''), ('doc -> ''tags'' ? ''green'''), ('doc -> ''tags'' @> ''["red"]'''), ('doc -> ''tags'' IS NULL'),
	('doc = ''{"c": 3, "a": [["b", {"x": 1}], ["b", {"x": 2}]]}'''), ('doc = ''{}'''), ('doc = ANY (''{null,[],25.0}''::jsonb[])')) t(q);
DROP FUNCTION ask, reads_little;
DROP TABLE docs, questions;
