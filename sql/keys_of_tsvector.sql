-- keys_of_tsvector: what PostgreSQL's own tests ask of GIN on tsvector, asked of a bf index: each answer is the one without an index
SET client_min_messages = warning;	-- an empty tsquery is noticed
CREATE TABLE texts (id int, words tsvector) WITH (fillfactor = 20);
-- Words that are in every row, in some pages, in single rows; positions for phrases, weights for some of them.
INSERT INTO texts SELECT i, to_tsvector('simple', concat_ws(' ', 'log', 'page' || i / 40, CASE WHEN i % 3 = 0 THEN 'get' ELSE 'post' END,
		CASE i % 500 WHEN 7 THEN 'quick brown fox' WHEN 8 THEN 'brown quick fox' WHEN 9 THEN 'quick and brown fox' WHEN 10 THEN 'fox' WHEN 11 THEN 'quicker' END,
		CASE WHEN i BETWEEN 1000 AND 1100 THEN 'needle' || i END))
	|| setweight(to_tsvector('simple', CASE WHEN i % 700 = 5 THEN 'quick title' ELSE '' END), 'A')
FROM generate_series(1, 3000) i;
INSERT INTO texts VALUES (3001, ''), (3002, NULL), (3003, strip(to_tsvector('simple', 'quick brown fox'))), (3004, 'quick:1A,9B brown:2C fox:3D'), (3005, 'äöü:1 straße:2'), (3006, ''' spaces '' ''''''quotes''');
ANALYZE texts;
CREATE TABLE questions (id serial, query text);
INSERT INTO questions (query) SELECT unnest(ARRAY['quick', 'quick|fox', 'quick&fox', '(quick&fox)|(page7&get)', '(quick|page7)&(fox|post)', 'log', 'absent', '!absent', '!log', 'log&absent', 'log|absent', 'absent|nowhere',
	'qui:*', 'qui:*|needle10:*', 'needle1:*', 'zz:*', 'page7:* & fox', '!qui:*', 'needle1050', 'quick <-> brown', 'brown <-> quick', 'quick <2> brown', 'quick <-> brown <-> fox', '!quick <-> brown', '!quick <-> !brown',
	'!brown <-> quick', '!(quick <-> brown)', 'quick <-> (brown|and)', 'quick <-> absent', 'qui:* <-> brown', 'quick:A', 'quick:D', 'quick:BC', '!quick:A', '!quick:D', 'quick:A & title:A', 'quick:*A', 'title',
	'page7 & !get', '!page7 & fox', '!!fox', '''straße''', '''STRASSE''', ''' spaces ''', '''''''quotes''', 'log & (absent | fox)', '(log <-> page7) | absent']);
CREATE INDEX texts_words ON texts USING bf (words) WITH (pages_per_range = 1);
SELECT kind_of(answer), count(*), count(*) FILTER (WHERE answer !~ '^0') AS with_rows, min(query) AS one
FROM questions, answers(format('SELECT * FROM texts WHERE words @@ %L::tsquery', query)) answer GROUP BY 1 ORDER BY 1;
-- the operator's other name; an empty query; lists; NULL
SELECT q, answers('SELECT * FROM texts WHERE ' || q) FROM (VALUES ('words @@@ ''quick & fox'''), ('words @@ ''''::tsquery'), ('words @@ ANY (''{quick,needle1001}''::tsquery[])'), ('words @@ ANY (''{}''::tsquery[])'),
	('words @@ ALL (''{quick,fox}''::tsquery[])'), ('words @@ ''title'' OR words @@ ''needle1002'''), ('words @@ ''title'' AND words @@ ''!fox'''), ('words @@ NULL'), ('words IS NULL'),
	('words @@ to_tsquery(''simple'', ''Quick & Fox'')'), ('words @@ phraseto_tsquery(''simple'', ''quick brown'')'), ('words @@ websearch_to_tsquery(''simple'', ''"brown quick" -absent'')')) t(q);
-- a word of few pages: few are read
CREATE FUNCTION reads_little(query text) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT * FROM texts WHERE words @@ %L::tsquery', query) INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int <= pg_relation_size('texts') / 8192 / 10;
END
$$;
SELECT q, reads_little(q) FROM unnest(ARRAY['page7', 'needle1050', 'absent', 'page7 & !fox', 'log & page7', 'page7 <-> get', 'page7 | needle1050', 'log', '!absent', 'needle:*']) q;
DROP INDEX texts_words;

-- the words of a line: an index on an expression, over a part of the table
CREATE TABLE lines (id int, line text);
INSERT INTO lines SELECT i, format('GET /page/%s from host-%s', i / 10, i % 900) FROM generate_series(1, 3000) i;
CREATE INDEX lines_words ON lines USING bf (to_tsvector('simple', line)) WITH (pages_per_range = 1) WHERE id > 100;
INSERT INTO lines SELECT i, 'POST ' || i FROM generate_series(3001, 3500) i;
SELECT bf_summarize_new_values('lines_words') > 0 AS summarized, bf_index_check('lines_words') AS rows;
SELECT q, answers('SELECT * FROM lines WHERE ' || q) FROM (VALUES ('id > 100 AND to_tsvector(''simple'', line) @@ ''host-77'''), ('id > 200 AND to_tsvector(''simple'', line) @@ ''post & 3100'''),
	('id > 50 AND to_tsvector(''simple'', line) @@ ''post''')) t(q);
DROP FUNCTION reads_little;
DROP TABLE texts, questions, lines;
