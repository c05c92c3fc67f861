-- keys_of_arrays: what PostgreSQL's own tests ask of GIN on arrays, asked of bf indexes: each answer is the one without an index
CREATE TABLE lists (id int, numbers int[], words text[]) WITH (fillfactor = 20);
INSERT INTO lists SELECT i, ARRAY[i / 40, i % 7 + 1000000, i], ARRAY['tag' || i / 40, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END] || CASE i % 300 WHEN 1 THEN ARRAY['rare', NULL] WHEN 2 THEN ARRAY['Rare', ''] END
FROM generate_series(1, 3000) i;
INSERT INTO lists VALUES (3001, '{}', '{}'), (3002, '{NULL}', '{NULL}'), (3003, NULL, NULL), (3004, '{17,NULL,17}', '{a,NULL,a}'), (3005, '{{17,32},{89,7}}', '{{tag7,odd},{a,b}}'), (3006, '[5:6]={17,32}', '[0:1]={a,b}'),
	(3007, '{17,32}', '{a,b}'), (3008, '{32,17}', '{b,a}'), (3009, '{NULL,NULL}', '{"",NULL}'), (3010, '{0}', '{""}');
ANALYZE lists;
CREATE TABLE operators (id serial, operator text);
INSERT INTO operators (operator) VALUES ('@>'), ('&&'), ('<@'), ('=');
CREATE TABLE questions (id serial, attribute text, operand text);
INSERT INTO questions (attribute, operand) SELECT 'numbers', unnest(ARRAY['{32}', '{17}', '{32,17}', '{17,32}', '{38,34,32,89}', '{}', '{NULL}', '{17,NULL}', '{32,32}', '{{17,32}}', '{-1}', '{1000003}', '{7,1000003,300}', '{1,2,3,17,32,7,89}']);
INSERT INTO questions (attribute, operand) SELECT 'words', unnest(ARRAY['{rare}', '{Rare}', '{tag7}', '{tag7,even}', '{even,odd}', '{}', '{NULL}', '{"NULL"}', '{""}', '{a,b}', '{b,a,c}', '{nowhere}', '{nowhere,rare}', '{tag7,odd,a,b}']);
-- "with_rows": those that have an answer
CREATE FUNCTION ask(of text) RETURNS TABLE (question text, kind text, count bigint, with_rows bigint, one text) LANGUAGE sql AS $$
	SELECT concat_ws(' ', attribute, operator), kind_of(answer), count(*), count(*) FILTER (WHERE answer !~ '^0'), min(operand)
	FROM questions, operators, answers(format('SELECT * FROM lists WHERE %s %s %L', attribute, operator, operand)) answer WHERE attribute = of GROUP BY 1, 2 ORDER BY 1, 2 $$;

CREATE INDEX lists_numbers ON lists USING bf (numbers) WITH (pages_per_range = 1);
SELECT * FROM ask('numbers');
CREATE INDEX lists_words ON lists USING bf (words) WITH (pages_per_range = 1);
SELECT * FROM ask('words');
DROP INDEX lists_numbers, lists_words;

-- one index on both, and a plain column with them
CREATE INDEX lists_all ON lists USING bf (numbers, id, words) WITH (pages_per_range = 1);
SELECT q, answers('SELECT * FROM lists WHERE ' || q) FROM (VALUES ('numbers @> ''{32}'''), ('words && ''{rare}'''), ('id = 77'), ('numbers @> ''{32}'' AND words && ''{rare}'''), ('numbers && ''{32}'' AND id = 1300'),
	('numbers @> ''{32}'' OR words @> ''{rare}'''), ('words = ''{a,b}'''), ('numbers @> ''{}'' AND words @> ''{Rare}'''), ('words <@ ''{a,b,NULL}'' AND numbers <@ ''{17,32}'''),
	('words IS NULL'), ('words IS NULL AND numbers IS NULL'), ('numbers @> NULL'), ('words @> ARRAY(SELECT ''rare'')'), ('17 = ANY (numbers)')) t(q);
SELECT bf_index_check('lists_all') AS rows;

-- few pages are read for what few pages have
CREATE FUNCTION reads_little(query text) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT * FROM lists WHERE ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int <= pg_relation_size('lists') / 8192 / 10;
END
$$;
SELECT q, reads_little(q) FROM unnest(ARRAY['numbers @> ''{32}''', 'words && ''{tag7,nowhere}''', 'words @> ''{even,tag7}''', 'numbers = ''{17,32}''', 'words && ''{even}''', 'numbers @> ''{}''']) q;
DROP TABLE lists;

-- Elements that are equal without being the same bytes: numbers with other digits. Collations that know no case are refused.
CREATE COLLATION keys_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE kinds (id int, amounts numeric[], names text[] COLLATE keys_nocase, floats float8[], ids uuid[]);
INSERT INTO kinds SELECT i, ARRAY[i / 10.0], ARRAY['Name' || i], ARRAY[i / 8.0], ARRAY[lpad(to_hex(i), 32, '0')::uuid] FROM generate_series(1, 3000) i;
INSERT INTO kinds VALUES (3001, '{1.50,NaN}', '{ÄPFEL,name7}', '{-0,NaN}', NULL);
SELECT error_of('CREATE INDEX kinds_all ON kinds USING bf (amounts, names, floats, ids)');
CREATE INDEX kinds_all ON kinds USING bf (amounts, names COLLATE "C", floats, ids) WITH (pages_per_range = 1);
SELECT q, answers('SELECT * FROM kinds WHERE ' || q) FROM (VALUES ('amounts @> ''{1.5}'''), ('amounts && ''{1.500,2.0}'''), ('amounts @> ''{NaN}'''), ('names @> ''{äpfel}'''), ('names && ''{NAME7,NAME8}'''),
	('names @> ''{NAME9}'' COLLATE "C"'), ('names <@ ''{name10}'''), ('names = ''{nAME10}'''), ('floats && ''{0}'''), ('floats @> ''{NaN}'''), ('floats @> ''{1.125}'''),
	('ids && ''{00000000-0000-0000-0000-0000000000ff}''')) t(q);

-- the class for plain equality
CREATE INDEX kinds_equal ON kinds USING bf (amounts array_eq_ops) WITH (pages_per_range = 1);
DROP INDEX kinds_all;
SELECT q, answers('SELECT * FROM kinds WHERE ' || q) FROM (VALUES ('amounts = ''{1.5}'''), ('amounts = ''{NaN,1.5}'''), ('amounts = ''{1.5,NaN}'''), ('amounts @> ''{1.5}''')) t(q);
DROP TABLE kinds, questions, operators;
DROP COLLATION keys_nocase;
DROP FUNCTION ask, reads_little;
