-- gram_queries: what pg_trgm's own tests ask of its GIN class, and more, asked of gram_ops: each answer is the one without an index
CREATE TABLE lines (id int, line text) WITH (fillfactor = 20);
INSERT INTO lines SELECT i, format('%s /list/%s/item-%s.html HTTP/1.1" %s host%s', CASE WHEN i % 3 = 0 THEN 'POST' ELSE 'GET' END, i / 40, i, CASE WHEN i % 50 = 0 THEN 404 ELSE 200 END, i % 11) FROM generate_series(1, 3000) i;
INSERT INTO lines SELECT 3000 + i, line FROM unnest(ARRAY['', ' ', 'a', 'ab', 'abc', 'ABC', 'abcdef', 'abCdEf', 'quark', 'Quark', 'a quark', ' z foo bar', '  z foo bar', 'z foo', '/123/-45/', '100% sure', 'under_score', 'back\slash', 'two
lines', 'Größe', 'GRÖSSE', 'straße', '日本語の行', 'phpMyAdmin/setup', 'x', '%%%', '___', 'aaaaaaaaaa', NULL, 'tab	tab', 'l''apostrophe', '٣٤٥', 'ﬀ']) WITH ORDINALITY u(line, i);
ANALYZE lines;
CREATE TABLE questions (id serial, operator text, pattern text);
INSERT INTO questions (operator, pattern) SELECT o, p FROM unnest(ARRAY['LIKE', 'ILIKE']) o, unnest(ARRAY['%phpmyadmin%', '%phpMyAdmin%', '%abc%', '%ABC%', 'abc', 'abc%', '%abc', '%bcd%', '%\bcd%', 'qua%', '%z foo bar%', '  z foo%', ' z foo%',
	'%404%', '%item-77.%', '%item-77_.%', '%list/7/%', '%', '%%', '', '_', '__', '___', '%a%', '%ab%', '%_bc%', '%a_c%', 'GET %7.html%', '%100\%%', '%under\_score%', '%back\\slash%', '%größe%', '%GRÖSSE%', '%日本語%', '%本%', '%nowhere%', '%zzz%yyy%',
	'%two%lines%', '%''apo%', '%host1', '%host10', 'POST%404 host%', '%٣٤٥%', '%ﬀ%', '% /l%', '%\%\%\%%']) p;
INSERT INTO questions (operator, pattern) SELECT o, p FROM unnest(ARRAY['~', '~*']) o, unnest(ARRAY['[abc]{3}', 'a[bc]+d', '(abc)*$', 'DEF', 'dEf', '^q', '[abc]{3}[def]{3}', 'ab[a-z]{3}', '(^| )qua', 'q.*rk$', 'q', '[a-z]{3}',
	'(a{10}|b{10}|c{10}){10}', 'a{10}', 'z foo bar', ' z foo bar', '  z foo bar', '  z foo', 'qua(?!foo)', '/\d+/-\d', 'item-(77|78)\.html', 'item-77.*404', '^GET /list/7/', 'phpmyadmin|sqlmap', 'nowhere|anywhere', '', '.', '^$', '^.?$',
	'\mquark\M', 'größe', '日本', '(item-7)7\.|abc', 'x*', 'list/(7|8)/item', '(?i)GRÖSSE', '[[:digit:]]{5}', 'a|b', '***=back\slash', 'back\\slash', '(?:two)\nlines', 'host(1)0 .*\1']) p;
INSERT INTO questions (operator, pattern) SELECT '=', unnest(ARRAY['abc', 'ABC', '', ' ', 'a', 'quark', 'Größe', 'nowhere', 'under_score', '100% sure', 'phpMyAdmin/setup', 'GET /list/0/item-1.html HTTP/1.1" 200 host1']);
CREATE INDEX lines_grams ON lines USING bf (line gram_ops (false_positive_rate = 0.001)) WITH (pages_per_range = 1);
-- "with_rows": those that have an answer
SELECT operator, kind_of(answer), count(*), count(*) FILTER (WHERE answer !~ '^0') AS with_rows, min(pattern) AS one
FROM questions, answers(format('SELECT * FROM lines WHERE line %s %L', operator, pattern)) answer GROUP BY 1, 2 ORDER BY 1, 2;
-- several patterns, lists, what is not in the class
SELECT q, answers('SELECT * FROM lines WHERE ' || q) FROM (VALUES ('line LIKE ''%404%'' AND line LIKE ''%item-7%'''), ('line LIKE ''%404%'' AND line LIKE ''%it%'''), ('line LIKE ''%sqlmap%'' OR line ~ ''quark'''),
	('line LIKE ANY (ARRAY[''%quark%'', ''%item-77.%'', NULL])'), ('line LIKE ANY (''{}''::text[])'), ('line LIKE ALL (ARRAY[''%404%'', ''%item-7_0.%''])'), ('line ILIKE ANY (ARRAY[''%QUARK%'', ''%x%''])'), ('line ~ ANY (ARRAY[''quark'', ''item-77\.''])'),
	('line = ANY (ARRAY[''abc'', ''quark''])'), ('line IS NULL'), ('line LIKE NULL'), ('line NOT LIKE ''%html%'''), ('line !~ ''html'''), ('line LIKE ''%quark'' || ''%'''), ('line ILIKE (SELECT ''%item-77.%'')')) t(q);
SELECT bf_index_check('lines_grams') AS rows;
-- few pages are read for what few pages have
CREATE FUNCTION reads_little(query text) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT * FROM lines WHERE ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int <= pg_relation_size('lines') / 8192 / 10;
END
$$;
SELECT q, reads_little(q) FROM unnest(ARRAY['line LIKE ''%phpMyAdmin%''', 'line ILIKE ''%PHPMYADMIN%''', 'line LIKE ''%list/7/%''', 'line ~ ''phpMyAdmin|quark''', 'line ~* ''sqlmap''', 'line = ''quark''', 'line LIKE ''%html%''', 'line LIKE ''%ht%''']) q;

-- of many alternatives, each keeps grams
SELECT n, reads_little(format('line ~ %L', string_agg(translate(substr(md5(i::text), 1, 8), '0123456789', 'ghijklmnop'), '|'))) FROM unnest('{20,200}'::int[]) n, generate_series(1, n) i GROUP BY n ORDER BY n;
SELECT n, reads_little(format('line ~ %L', string_agg('(optional)?' || translate(substr(md5(i::text), 1, 8), '0123456789', 'ghijklmnop'), '|'))) FROM unnest('{20,200}'::int[]) n, generate_series(1, n) i GROUP BY n ORDER BY n;

-- Of thousands of grams, those that every match must have are looked for: where they are not, no other is looked for.
CREATE FUNCTION index_blocks(query text) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT * FROM lines WHERE ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Plans,0,Shared Hit Blocks}')::int + (plan #>> '{0,Plan,Plans,0,Shared Read Blocks}')::int;
END
$$;
SELECT n, index_blocks(format('line ~ %L', 'is nowhere in these lines.*(' || words || ')')) <= index_blocks('line ~ ''nowhere in''') + 4 AS few,
	answers(format('SELECT * FROM lines WHERE line ~ %L', 'abc.*(' || words || '|def)'))
	FROM (SELECT n, string_agg(translate(substr(md5(i::text), 1, 8), '0123456789', 'ghijklmnop'), '|') AS words FROM unnest('{10,1000}'::int[]) n, generate_series(1, n) i GROUP BY n) w ORDER BY n;
DROP FUNCTION index_blocks;
-- Where each line has them, the others decide.
SELECT n, reads_little(format('line ~ %L', ' /list/.*(' || words || ')')) AS few
	FROM (SELECT n, string_agg(translate(substr(md5(i::text), 1, 8), '0123456789', 'ghijklmnop'), '|') AS words FROM unnest('{10,100,1000}'::int[]) n, generate_series(1, n) i GROUP BY n) w ORDER BY n;

-- expressions, and a part of the table; the rows that come later
CREATE INDEX lines_lower ON lines USING bf (lower(line) gram_ops) WITH (pages_per_range = 1) WHERE id > 500;
DROP INDEX lines_grams;
INSERT INTO lines SELECT 4000 + i, 'LATER ' || i FROM generate_series(1, 500) i;
UPDATE lines SET line = 'CHANGED ' || id WHERE id % 300 = 0;
SELECT bf_summarize_new_values('lines_lower') > 0 AS summarized;
SELECT q, answers('SELECT * FROM lines WHERE ' || q) FROM (VALUES ('id > 500 AND lower(line) LIKE ''%later 77%'''), ('id > 600 AND lower(line) ~ ''changed'''), ('lower(line) ~ ''changed'''), ('id > 500 AND lower(line) LIKE ''%größe%''')) t(q);
SELECT bf_index_check('lines_lower') BETWEEN 3033 AND 3133 AS checked;
DROP FUNCTION reads_little;
DROP TABLE lines, questions;
