-- index_keys: operator classes whose items are keys inside values: what the index finds is what a sequential scan finds
CREATE TABLE doc (id int, j jsonb, a int[], t text[], v tsvector);
CREATE FUNCTION fill_doc(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO doc SELECT i,
		CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN '[]' WHEN 3 THEN to_jsonb(i) WHEN 4 THEN jsonb_build_array(i, 'x' || i, NULL)
			ELSE jsonb_build_object('host', i % 100, 'url', '/p/' || i, 'tags', jsonb_build_array(i % 7, 'x' || i, NULL, true)) END,
		CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[NULL, i] WHEN 3 THEN ARRAY[NULL]::int[] ELSE ARRAY[i, i + 1, i % 100] END,
		CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[NULL, 'a' || i] ELSE ARRAY['a' || i, 'b' || i % 30] END,
		CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE to_tsvector('simple', format('word%s common w%s', i, i % 40)) END
	FROM generate_series(first, last) i $$;
SELECT fill_doc(1, 3000);
CREATE INDEX doc_bf ON doc USING bf (j, a, t, v) WITH (pages_per_range = 1);
CREATE INDEX doc_path ON doc USING bf (j jsonb_path_ops) WITH (pages_per_range = 1);
-- rows into ranges that are summarized, and then into new ones
DELETE FROM doc WHERE id % 3 = 0;
VACUUM doc;
SELECT fill_doc(3001, 4000);
SELECT bf_index_check('doc_bf') = bf_index_check('doc_path') AS same;
SELECT fill_doc(4001, 6000), bf_summarize_new_values('doc_bf') > 0, bf_summarize_new_values('doc_path') > 0;
SELECT bf_index_check('doc_bf') = bf_index_check('doc_path') AS same;
SELECT fill_doc(6001, 6500);
SELECT "column", false_positive_rate FROM bf_index_stats('doc_bf') WHERE level = 0;
SELECT "column", false_positive_rate FROM bf_index_stats('doc_path') WHERE level = 0;

-- "left_out": did the index leave out pages? "wrong": rows that only one of the two scans finds
CREATE FUNCTION try(condition text, OUT rows bigint, OUT wrong bigint, OUT left_out boolean)
LANGUAGE plpgsql SET jit = off SET client_min_messages = warning SET streambloom.enable_skip = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'SET LOCAL enable_seqscan = off';
	EXECUTE 'CREATE TEMP TABLE by_index AS SELECT ctid AS tid FROM doc WHERE ' || condition;
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM doc WHERE ' || condition INTO plan;
	EXECUTE 'SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = off';
	EXECUTE 'CREATE TEMP TABLE by_scan AS SELECT ctid AS tid FROM doc WHERE ' || condition;
	rows := count(*) FROM by_scan;
	wrong := count(*) FROM by_scan FULL JOIN by_index USING (tid) WHERE by_scan IS NULL OR by_index IS NULL;
	left_out := plan->0->'Plan'->>'Node Type' = 'Bitmap Heap Scan' AND
		(plan->0->'Plan'->>'Lossy Heap Blocks')::int < pg_relation_size('doc') / 8192 * 0.9;
	DROP TABLE by_index, by_scan;
END
$$;
SELECT condition, t.* FROM (VALUES
	('j @> ''{"url": "/p/5003"}'''), ('j @> ''{"url": "nowhere"}'''), ('j @> ''{"host": 77}'''), ('j @> ''{"tags": ["x500"]}'''),
	('j @> ''[4448]'''), ('j @> ''{}'''), ('j @> ''[]'''), ('j @> ''{"tags": [null]}'''), ('j @> ''4447'''),
	('j ? ''x4184'''), ('j ? ''url'''), ('j ? ''no'''), ('j ?| ARRAY[''x4184'', NULL, ''x15'']'), ('j ?& ARRAY[''x4184'', ''no'']'), ('j ?| ''{}'''), ('j ?& ''{}'''),
	('j @? ''$.url ? (@ == "/p/5003")'''), ('j @? ''$.url ? (@ != "/p/77")'''), ('j @@ ''$.host == 3 && $.url == "/p/5003"'''), ('j @@ ''exists($.nowhere)'''),
	('j @@ ''!($.host == 3)'''), ('j IS NULL'), ('j IS NOT NULL AND id = 5'), ('j @> NULL'),
	('a @> ''{500}'''), ('a @> ''{500, 501, 5}'''), ('a @> ''{}'''), ('a @> ''{NULL}'''), ('a && ''{77, 6400}'''), ('a && ''{NULL}'''), ('a && ''{}'''), ('a && ''{NULL, 6400}'''),
	('a <@ ''{100, 101, 0}'''), ('a = ''{100, 101, 0}'''), ('a = ''{}'''), ('a = ''{NULL}'''), ('a IS NULL'),
	('a && (SELECT array_agg(i) FROM generate_series(-100, 77) i)'), ('a @> (SELECT array_agg(i) FROM generate_series(1, 100) i)'),
	('t @> ''{a77}'''), ('t && ''{a77,b9999}'''), ('t @> ''{A77}'''), ('t @> ''{a77}'' AND a @> ''{77}'''), ('t @> ''{a77}'' OR a @> ''{79}'''), ('t = ''{a77,b17}'''),
	('v @@ ''word77'''), ('v @@ ''word77 & common'''), ('v @@ ''word77 | word5000'''), ('v @@ ''!word77'''), ('v @@ ''word77 & !common'''), ('v @@ ''word7:*'''),
	('v @@ ''common <-> w37'''), ('v @@ ''word77:A'''), ('v @@ '''''), ('v @@@ ''word77'''), ('v @@ ANY (ARRAY[''word77'', ''word5000'', NULL]::tsquery[])'),
	('j @> ''{"url": "/p/5003"}'' AND a @> ''{5003}'' AND v @@ ''word5003'''),
	('j @> ANY (ARRAY[''{"url": "/p/5002"}'', ''{"url": "/p/5003"}'']::jsonb[])')
) c (condition), try(condition) t;

-- expressions, a partial index, and a column without keys beside one with keys
CREATE TABLE log (at int, line text, status int);
INSERT INTO log SELECT i, format('GET /page/%s by agent%s', i, i % 60), 200 + i % 5 FROM generate_series(1, 5000) i;
CREATE INDEX log_line ON log USING bf (to_tsvector('simple', line), status) WITH (pages_per_range = 1);
CREATE INDEX log_words ON log USING bf ((string_to_array(line, ' '))) WITH (pages_per_range = 1) WHERE status <> 200;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT at FROM log WHERE to_tsvector('simple', line) @@ 'agent7 & /page/67' AND status = 202;
SELECT at FROM log WHERE to_tsvector('simple', line) @@ 'agent7 & /page/67' AND status = 202;
EXPLAIN (COSTS OFF) SELECT at FROM log WHERE string_to_array(line, ' ') @> '{/page/67}' AND status <> 200;
SELECT at FROM log WHERE string_to_array(line, ' ') @> '{/page/67}' AND status <> 200;
RESET enable_seqscan;
SELECT bf_of('log_words', 0) @> 'x'::text;
DROP INDEX log_words;
CREATE INDEX log_words ON log USING bf ((string_to_array(line, ' '))) WITH (pages_per_range = 1);
SELECT count(*) FILTER (WHERE f @> '/page/67'::text) >= 1 AS has, count(*) FILTER (WHERE f @> '/page/none'::text) <= 4 AS has_not
FROM generate_series(0, pg_relation_size('log') / 8192 - 1) block, bf_of('log_words', block) f;

-- a prepared statement with a parameter, a nested loop, a NULL parameter
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
SET streambloom.enable_skip = off;
PREPARE words(text[]) AS SELECT at FROM log WHERE string_to_array(line, ' ') @> $1;
EXPLAIN (COSTS OFF) EXECUTE words('{/page/67}');
EXECUTE words('{/page/67}');
EXECUTE words(NULL);
EXECUTE words('{/page/67,nowhere}');
RESET streambloom.enable_skip;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT w, at FROM (VALUES ('{/page/67}'::text[]), ('{nowhere}'), ('{/page/4999,by}')) q (w), LATERAL (SELECT at FROM log WHERE string_to_array(line, ' ') @> w) l;
RESET plan_cache_mode;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_seqscan;

-- a class of another extension, without triConsistent: asked as GIN asks it
CREATE OPERATOR CLASS plain_array_ops FOR TYPE anyarray USING bf AS OPERATOR 1 &&, OPERATOR 2 @>, OPERATOR 3 <@, OPERATOR 4 =,
	FUNCTION 2 (anyarray) ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 (anyarray) ginqueryarrayextract(anyarray, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (anyarray) ginarrayconsistent(internal, int2, anyarray, int4, internal, internal, internal, internal),
	STORAGE anyelement;
DROP INDEX doc_bf, doc_path;
CREATE INDEX doc_plain ON doc USING bf (a plain_array_ops) WITH (pages_per_range = 1);
SELECT false_positive_rate FROM bf_index_stats('doc_plain') WHERE level = 0;
SELECT condition, t.* FROM (VALUES ('a @> ''{500}'''), ('a @> ''{500, 501, 5}'''), ('a @> ''{}'''), ('a && ''{77, 6400}'''), ('a = ''{100, 101, 0}'''),
	('a <@ ''{100, 101, 0}'''), ('a @> ''{1, 2, 3, 4, 5, 6, 7}''')) c (condition), try(condition) t;
DROP INDEX doc_plain;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'plain_array_ops';
-- a class whose consistent function relies on GIN to call it only if the row has at least one of the keys
CREATE OPERATOR CLASS plain_jsonb_ops FOR TYPE jsonb USING bf AS
	OPERATOR 7 @>, OPERATOR 9 ? (jsonb, text), OPERATOR 10 ?| (jsonb, text[]), OPERATOR 11 ?& (jsonb, text[]),
	FUNCTION 2 (jsonb) gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 (jsonb) gin_extract_jsonb_query(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (jsonb) gin_consistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal, internal),
	STORAGE text;
CREATE INDEX doc_plain ON doc USING bf (j plain_jsonb_ops) WITH (pages_per_range = 1);
SELECT condition, t.* FROM (VALUES ('j ? ''x4184'''), ('j ? ''url'''), ('j ? ''no'''), ('j ?| ARRAY[''x4184'', NULL, ''x15'']'), ('j ?& ARRAY[''x4184'', ''no'']'), ('j ?| ''{}'''), ('j ?& ''{}'''),
	('j ? ANY (ARRAY[''no'', ''x4184''])'), ('j @> ''{"url": "/p/5003"}'''), ('j @> ''{}''')) c (condition), try(condition) t;
DROP INDEX doc_plain;

-- equality classes of the same types
CREATE INDEX doc_eq ON doc USING bf (j jsonb_eq_ops, a array_eq_ops) WITH (pages_per_range = 1);
SELECT condition, t.* FROM (VALUES ('j = ''3''::jsonb'), ('a = ''{500, 501, 0}'''), ('a @> ''{500}''')) c (condition), try(condition) t;

-- errors
CREATE OPERATOR CLASS no_value_ops FOR TYPE int[] USING bf AS OPERATOR 2 @> (anyarray, anyarray),
	FUNCTION 3 ginqueryarrayextract(anyarray, internal, int2, internal, internal, internal, internal), STORAGE int4;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'no_value_ops';
CREATE INDEX ON doc USING bf (a no_value_ops);
CREATE FUNCTION compare_backward(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS backward_ops FOR TYPE int[] USING bf AS OPERATOR 2 @> (anyarray, anyarray),
	FUNCTION 1 compare_backward(int, int), FUNCTION 2 ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 ginqueryarrayextract(anyarray, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 ginarraytriconsistent(internal, int2, anyarray, int4, internal, internal, internal), STORAGE int4;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'backward_ops';
CREATE INDEX ON doc USING bf (a backward_ops);
CREATE INDEX doc_rate ON doc USING bf (a array_ops (false_positive_rate = 0.002), t, v) WITH (false_positive_rate = 0.03);
SELECT "column", false_positive_rate FROM bf_index_stats('doc_rate') WHERE level = 0;
-- a class of equality that has other operators, and one with the options of another extension
CREATE OPERATOR CLASS ordered_ops FOR TYPE int USING bf AS OPERATOR 1 =, OPERATOR 2 <;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'ordered_ops';
CREATE INDEX ON doc USING bf (id ordered_ops);
CREATE OPERATOR CLASS late_ops FOR TYPE int USING bf AS OPERATOR 1 =;
CREATE INDEX doc_late ON doc USING bf (id late_ops);
ALTER OPERATOR FAMILY late_ops USING bf ADD OPERATOR 3 < (int, int);
SET enable_seqscan = off;
SELECT count(*) FROM doc WHERE id < 5;
SELECT count(*) FROM doc WHERE id = 5;
RESET enable_seqscan;
DROP INDEX doc_late;
CREATE OPERATOR CLASS foreign_ops FOR TYPE tsvector USING bf AS OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 2 (tsvector) gin_extract_tsvector(tsvector, internal, internal),
	FUNCTION 3 (tsvector) gin_extract_tsquery(tsvector, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (tsvector) gin_tsquery_triconsistent(internal, int2, tsvector, int4, internal, internal, internal),
	FUNCTION 7 (tsvector) gtsvector_options(internal), STORAGE text;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'foreign_ops';
CREATE INDEX ON doc USING bf (v foreign_ops (siglen = 100));
-- a class whose functions raise an error for the operator: a query that uses the index raises it, one that is only planned does not
CREATE OPERATOR CLASS unasked_ops FOR TYPE jsonb USING bf AS OPERATOR 5 @> (jsonb, jsonb),
	FUNCTION 2 (jsonb) gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 (jsonb) gin_extract_jsonb_query(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (jsonb) gin_triconsistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal), STORAGE text;
CREATE INDEX doc_unasked ON doc USING bf (j unasked_ops);
SET enable_bitmapscan = off;
SET streambloom.enable_skip = off;
SELECT count(*) FROM doc WHERE j @> '{"url": "/p/5003"}';
RESET streambloom.enable_skip;
RESET enable_bitmapscan;
SET enable_seqscan = off;
SELECT error_of('SELECT count(*) FROM doc WHERE j @> ''{"url": "/p/5003"}''');
RESET enable_seqscan;
DROP INDEX doc_unasked;
CREATE TABLE points (p point[]);
CREATE INDEX ON points USING bf (p);

-- skipping partitions, and chunk_scan with another operator
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(line, ' \(actual.*\)', '') FROM plan_lines(query, true) line;
$$;
CREATE TABLE event (day int, tags text[], body jsonb) PARTITION BY LIST (day);
DO $$ BEGIN FOR d IN 1 .. 4 LOOP EXECUTE format('CREATE TABLE event_%s PARTITION OF event FOR VALUES IN (%s)', d, d); END LOOP; END $$;
INSERT INTO event SELECT d, ARRAY['d' || d, 't' || i], jsonb_build_object('day', d, 'n', i) FROM generate_series(1, 4) d, generate_series(1, 500) i;
INSERT INTO event VALUES (3, '{rare}', '{"rare": true}');
CREATE INDEX ON event USING bf (tags, body);
VACUUM ANALYZE event;
SELECT plan($$SELECT day FROM event WHERE tags @> '{rare}'$$);
SELECT * FROM event WHERE body ? 'rare';
SELECT * FROM chunk_scan(NULL::event, 'tags', '{rare}', operator => '@>');
SELECT chunk, is_read, because FROM chunk_scan_explain(NULL::event, 'tags', '{rare}', operator => '@>');
SELECT * FROM chunk_scan_any(NULL::event, 'body', '{rare,none}'::text[], operator => '?');
SELECT count(*) FROM chunk_scan(NULL::event, 'tags', '{t7}'::text[], operator => '&&');
SELECT count(*) FROM chunk_scan(NULL::event, 'day', 2, operator => '<');
SELECT * FROM chunk_scan(NULL::event, 'day', 2, operator => '+');
SELECT * FROM chunk_scan(NULL::event, 'day', 2, operator => NULL);
SELECT * FROM chunk_scan(NULL::event, 'day', 2, operator => 'nonsense');
SELECT * FROM chunk_scan(NULL::event, 'day', 2, operator => '');
DROP TABLE doc, log, points, event;
DROP OPERATOR FAMILY plain_array_ops USING bf;
DROP OPERATOR FAMILY plain_jsonb_ops USING bf;
DROP OPERATOR FAMILY no_value_ops USING bf;
DROP OPERATOR FAMILY backward_ops USING bf;
DROP OPERATOR FAMILY ordered_ops USING bf;
DROP OPERATOR FAMILY late_ops USING bf;
DROP OPERATOR FAMILY foreign_ops USING bf;
DROP FUNCTION try, fill_doc, compare_backward, plan;
