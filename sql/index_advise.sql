-- index_advise: what bf_index_advise() says before an index is made, beside the index that is then made

CREATE TABLE visits (id bigint, host text, page text, status integer, flag boolean, day date, note json, pair int4range);
INSERT INTO visits SELECT i, 'host ' || (i * 7919) % 20011, '/page/' || (i % 977), CASE WHEN i % 1000 = 0 THEN 404 ELSE 200 END, i % 2 = 0,
	date '2026-01-01' + i / 400, '{}', int4range(i, i + 10) FROM generate_series(1, 40000) i;
ANALYZE visits;

-- The whole table is read, so this is exact but for rounding.
SELECT "column", distinct_values, round(rows_per_value::numeric, 1) AS rows_per_value, table_pages = pg_relation_size('visits') / 8192 AS pages_right, gin_bytes, advice, statement
FROM bf_index_advise('visits');

-- The bytes are those of the indexes that are then made, and the pages of look-ups too.
CREATE FUNCTION pages_of(query text) RETURNS float8 LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::float8 + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::float8;
END $$;
CREATE FUNCTION compare(name text, absent text, rare text, frequent text, OUT bf boolean, OUT btree boolean, OUT pages_absent boolean, OUT pages_rare boolean, OUT pages_frequent boolean)
LANGUAGE plpgsql AS $$
DECLARE
	said record;
	built bigint;
BEGIN
	SELECT * INTO said FROM bf_index_advise('visits', ARRAY[name]);
	EXECUTE format('CREATE INDEX visits_bf ON visits USING bf (%I)', name);
	bf := said.bf_bytes BETWEEN 0.75 * pg_relation_size('visits_bf') AND 1.25 * pg_relation_size('visits_bf');
	pages_absent := said.pages_absent BETWEEN 0.5 AND 2 OR said.pages_absent / pages_of(format('SELECT * FROM visits WHERE %I = %s', name, absent)) BETWEEN 0.5 AND 2;
	pages_rare := said.pages_rare / pages_of(format('SELECT * FROM visits WHERE %I = %s', name, rare)) BETWEEN 0.5 AND 2;
	pages_frequent := said.pages_frequent / pages_of(format('SELECT * FROM visits WHERE %I = %s', name, frequent)) BETWEEN 0.5 AND 2;
	DROP INDEX visits_bf;
	EXECUTE format('CREATE INDEX visits_bt ON visits (%I)', name);
	btree := said.btree_bytes BETWEEN 0.75 * pg_relation_size('visits_bt') AND 1.25 * pg_relation_size('visits_bt');
	DROP INDEX visits_bt;
END $$;
SELECT name, c.* FROM (VALUES ('id', '-1::bigint', '4711::bigint', '4712::bigint'), ('host', '''none''', '''host 7919''', '''host 15838'''), ('page', '''none''', '''/page/1''', '''/page/2'''),
	('status', '-1', '404', '200'), ('day', '''1999-01-01''::date', '''2026-02-01''::date', '''2026-03-01''::date')) v(name, absent, rare, frequent), compare(name, absent, rare, frequent) c;

-- the first third of the table is unlike the rest of it: the bytes are near all the same, also of a level above
CREATE TABLE unlike AS SELECT CASE WHEN i > 200000 THEN i ELSE 0 END AS v, repeat('x', 120) AS rest FROM generate_series(1, 600000) i;
CREATE INDEX unlike_v ON unlike USING bf (v);
SELECT count(*) AS levels, min(pages_per_range) FROM bf_index_stats('unlike_v');
SELECT round(bf_bytes / pg_relation_size('unlike_v')::numeric, 2) BETWEEN 0.75 AND 1.25 AS bf FROM bf_index_advise('unlike', '{v}', '1 hour');
DROP TABLE unlike;

-- some columns, in this order
SELECT "column" FROM bf_index_advise('visits', '{status, id}');
SELECT count(*) FROM bf_index_advise('visits', '{}');
SELECT count(*) FROM bf_index_advise(NULL);

-- a sample: if there is no time, 512 pages are read
CREATE TABLE many_visits AS SELECT i AS id, '/page/' || (i % 977) AS page, CASE WHEN i % 1000 = 0 THEN 404 ELSE 200 END AS status, repeat('x', 40) AS rest
	FROM generate_series(1, 200000) i;
SELECT "column", distinct_values BETWEEN 0.7 * n AND 1.4 * n AS distinct_near, bf_bytes > 0, statement, table_pages > 2048 AS is_part
FROM bf_index_advise('many_visits', '{id, page, status}', '1 us') JOIN (VALUES ('id', 200000), ('page', 977), ('status', 2)) v(name, n) ON name = "column";
DROP TABLE many_visits;

-- partitions: the statement is for the partitioned table
CREATE TABLE daily (day date, uid bigint) PARTITION BY RANGE (day);
CREATE TABLE daily_1 PARTITION OF daily FOR VALUES FROM ('2026-01-01') TO ('2026-01-02');
CREATE TABLE daily_2 (extra text, uid bigint, day date);
ALTER TABLE daily_2 DROP COLUMN extra;
ALTER TABLE daily ATTACH PARTITION daily_2 FOR VALUES FROM ('2026-01-02') TO ('2026-01-03');
CREATE TABLE daily_3 PARTITION OF daily FOR VALUES FROM ('2026-01-03') TO ('2026-01-04');
INSERT INTO daily SELECT date '2026-01-01' + i % 2, i / 2 FROM generate_series(1, 60000) i;
SELECT "column", distinct_values, table_pages > 200 AS all_pages, pages_absent < 20 AS few, advice, statement FROM bf_index_advise('daily');
SELECT statement FROM bf_index_advise('daily_2', '{uid}');
CREATE INDEX daily_uid ON daily USING bf (uid);
SELECT sum(pg_relation_size(inhrelid)) = (SELECT bf_bytes FROM bf_index_advise('daily', '{uid}')) AS exact FROM pg_inherits WHERE inhparent = 'daily_uid'::regclass;

-- Of many partitions some are read, and a large one among small ones is always one of these: none of the others could stand for it, nor it for them.
CREATE TABLE sized (p integer, v integer, pad text) PARTITION BY LIST (p);
DO $$ BEGIN FOR p IN 1 .. 101 LOOP EXECUTE format('CREATE TABLE sized_%s PARTITION OF sized FOR VALUES IN (%s)', p, p); END LOOP; END $$;
INSERT INTO sized SELECT p, p * 1000 + i, repeat('x', 100) FROM generate_series(1, 101) p, generate_series(1, CASE p WHEN 53 THEN 120000 ELSE 200 END) i;
CREATE INDEX sized_bf ON sized USING bf (v);
CREATE INDEX sized_bt ON sized (v);
SELECT bf_bytes / (SELECT sum(pg_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'sized_bf'::regclass) BETWEEN 0.8 AND 1.25 AS bf,
	btree_bytes / (SELECT sum(pg_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'sized_bt'::regclass) BETWEEN 0.8 AND 1.25 AS btree,
	table_pages = (SELECT sum(pg_relation_size(inhrelid)) / 8192 FROM pg_inherits WHERE inhparent = 'sized'::regclass) AS pages, pages_absent BETWEEN 101 AND 120 AS absent,
	regexp_replace(advice, '.*; ', '') AS advice
FROM bf_index_advise('sized', '{v}', '1 hour');
DROP TABLE sized;

-- The column that partitions are ranges of: PostgreSQL leaves all but one of them out by itself. Partitions by hash are no such ranges.
CREATE TABLE stamped (at timestamptz, id integer, pad text) PARTITION BY RANGE (at);
CREATE TABLE stamped_1 PARTITION OF stamped FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY HASH (id);
CREATE TABLE stamped_1_0 PARTITION OF stamped_1 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO stamped SELECT '2026-01-01'::timestamptz + i * interval '1 s', i, repeat('x', 100) FROM generate_series(1, 40000) i;
SELECT t, "column", advice, statement FROM unnest('{stamped, stamped_1, stamped_1_0}'::regclass[]) t, bf_index_advise(t, '{at, id}', '1 hour');
DROP TABLE stamped;

-- gram_ops is named where it leaves pages out, with the n that leaves out more: a few pages of addresses have nearly all runs of four characters, and pages of bits have all of six.
CREATE TABLE lines AS SELECT format('%s.%s.%s.%s', 1 + i * 7919 % 223, i * 104729 % 256, i * 31337 % 256, i * 613 % 256) AS address,
	format('%s GET /page/%s/%s HTTP/1.1 200 Mozilla/5.0', i, i % 977, md5((i / 3)::text)) AS line FROM generate_series(1, 60000::bigint) i;
ALTER TABLE lines ADD bits text;
UPDATE lines SET bits = (hashtext(line)::bit(32))::text;
VACUUM FULL lines;
SELECT "column", substring(advice FROM 'gram_ops[^,;]*') AS names_grams FROM bf_index_advise('lines', budget => '1 hour');
DROP TABLE lines;

-- A value can be in every partition: then its look-up reads pages of each.
CREATE TABLE flagged (p integer, id integer, flag boolean, pad text) PARTITION BY LIST (p);
SELECT format('CREATE TABLE flagged_%s PARTITION OF flagged FOR VALUES IN (%s)', p, p) FROM generate_series(1, 6) p \gexec
INSERT INTO flagged SELECT i % 6 + 1, i, hashint4(i) % 2 = 0, repeat('x', 200) FROM generate_series(1, 60000) i;
SELECT "column", advice, round((pages_rare / table_pages)::numeric, 1) AS share, pages_absent < pages_rare AS more FROM bf_index_advise('flagged', '{id, flag}', '1 hour');
DROP TABLE flagged;

-- A rare value is seldom in more than one range of a small sample, but may be in many ranges of the table.
CREATE TABLE strewn (id integer, v integer, pad text);
INSERT INTO strewn SELECT i, abs(hashint4(i)) % 500, repeat('x', 1000) FROM generate_series(1, 13000) i;
SELECT "column", regexp_replace(advice, '\d+ %', '... %') AS advice, pages_rare > 0.25 * table_pages AS many_pages FROM bf_index_advise('strewn', '{id, v}', '1 us');
DROP TABLE strewn;

-- Out-of-line values of one partition, more than are read of a table, leave something for the others.
CREATE TABLE scans (month integer, id integer, picture text) PARTITION BY LIST (month);
ALTER TABLE scans ALTER picture SET STORAGE EXTERNAL;
CREATE UNLOGGED TABLE scans_1 PARTITION OF scans FOR VALUES IN (1);
CREATE UNLOGGED TABLE scans_2 PARTITION OF scans FOR VALUES IN (2);
INSERT INTO scans SELECT 1, i, repeat('x', 90000000) FROM generate_series(1, 3) i;
INSERT INTO scans SELECT 2, i FROM generate_series(1, 40000) i;
SELECT distinct_values, advice FROM bf_index_advise('scans', '{id, picture}') WHERE "column" = 'id';
-- A sample that ends on its first page, after a few of the page's rows, stands for the rest of the page, too.
INSERT INTO scans SELECT 1, 100000 + i FROM generate_series(1, 40000) i;
SELECT a.distinct_values / b.distinct_values::numeric BETWEEN 0.8 AND 1.25 AS distinct_values, a.rows_per_value, a.table_pages = b.table_pages AS pages,
	a.bf_bytes / b.bf_bytes::numeric BETWEEN 0.67 AND 1.5 AS bf, a.btree_bytes / b.btree_bytes::numeric BETWEEN 0.67 AND 1.5 AS btree
FROM bf_index_advise('scans', '{id, picture}') a JOIN bf_index_advise('scans', '{id}') b USING ("column");
DROP TABLE scans;
-- Out-of-line values are read once if there is time, and are left out of the figures if there is not.
CREATE UNLOGGED TABLE albums (id integer, picture text, pad text);
ALTER TABLE albums ALTER picture SET STORAGE EXTERNAL, ALTER pad SET STORAGE PLAIN;
INSERT INTO albums SELECT i, CASE WHEN i % 128 IN (1, 2) THEN repeat('x', 8000000) END, repeat('x', 1900) FROM generate_series(1, 1024) i;
SELECT reltoastrelid AS toast FROM pg_class WHERE oid = 'albums'::regclass \gset
BEGIN;
SELECT pg_stat_get_xact_blocks_fetched(:toast) AS before \gset
SELECT count(hashtext(picture)) AS read_once FROM albums;
SELECT pg_stat_get_xact_blocks_fetched(:toast) AS once \gset
SELECT count(*) FROM bf_index_advise('albums', budget => '1 hour');
SELECT pg_stat_get_xact_blocks_fetched(:toast) AS twice \gset
SELECT advice FROM bf_index_advise('albums', '{picture}', '1 us');
SELECT (:twice - :once) / (:once - :before)::numeric BETWEEN 0.9 AND 1.1 AS once, (pg_stat_get_xact_blocks_fetched(:toast) - :twice) / (:once - :before)::numeric < 0.1 AS none;
COMMIT;
DROP TABLE albums;

-- empty tables, tables without columns, materialized views
CREATE TABLE nothing (a integer);
CREATE TABLE no_columns ();
CREATE MATERIALIZED VIEW seen AS SELECT * FROM visits WHERE id <= 100;
SELECT * FROM bf_index_advise('nothing');
SELECT count(*) FROM bf_index_advise('no_columns');
SELECT "column", advice FROM bf_index_advise('seen', '{id}');
SELECT advice FROM bf_index_advise('daily_3', '{uid}');
CREATE TABLE parent (a integer);
CREATE TABLE child () INHERITS (parent);
INSERT INTO child VALUES (1);
SELECT advice FROM bf_index_advise('parent');
SELECT advice FROM bf_index_advise('child');

-- columns on which CREATE INDEX makes an index that does not answer their =, or not only: of keys inside values, or of another type
CREATE TABLE other_kinds (a integer[], j jsonb, w tsvector, c citext, v varchar, n name, r int4range, o regclass, i cidr);
INSERT INTO other_kinds SELECT ARRAY[k], to_jsonb(k), 'word', 'C' || k, k, k, int4range(k, k + 1), k::oid, '10.0.0.0/8' FROM generate_series(1, 30000) k;
SELECT "column", advice, statement FROM bf_index_advise('other_kinds');

-- keys inside values: a value means a key, and GIN's figure is of the same keys. The statement names the operator class, with its schema, so
-- that it can be run with any search_path.
CREATE TABLE documents (id integer, doc jsonb, tags text[], words tsvector, line text);
INSERT INTO documents SELECT i, jsonb_build_object('id', i, 'kind', 'kind ' || i % 3, 'trace', md5(i::text)), ARRAY['tag ' || (i * 7919) % 3000, 'all', NULL],
	to_tsvector('simple', 'w' || i || ' and word ' || i % 50), 'line ' || md5(i::text) FROM generate_series(1, 20000) i;
INSERT INTO documents SELECT NULL, NULL, NULL, NULL, NULL FROM generate_series(1, 100);
INSERT INTO documents VALUES (0, '{}', '{}', '', '');
SELECT "column", distinct_values, btree_bytes IS NOT NULL AS btree, gin_bytes IS NOT NULL AS gin, statement FROM bf_index_advise('documents');
CREATE FUNCTION compare_keys(name text, gin_class text, OUT bf boolean, OUT gin boolean) LANGUAGE plpgsql AS $$
DECLARE
	said record;
BEGIN
	SELECT * INTO said FROM bf_index_advise('documents', ARRAY[name]);
	SET LOCAL search_path = pg_catalog;
	EXECUTE replace(coalesce(said.statement, format('CREATE INDEX ON public.documents USING bf (%I)', name)), 'CREATE INDEX', 'CREATE INDEX documents_bf');
	bf := said.bf_bytes BETWEEN 0.75 * pg_relation_size('public.documents_bf') AND 1.25 * pg_relation_size('public.documents_bf');
	EXECUTE format('CREATE INDEX documents_gin ON public.documents USING gin (%I %s)', name, gin_class);
	gin := said.gin_bytes BETWEEN 0.75 * pg_relation_size('public.documents_gin') AND 1.25 * pg_relation_size('public.documents_gin');
	DROP INDEX public.documents_bf, public.documents_gin;
	SET LOCAL search_path = public;
END $$;
SELECT name, c.* FROM (VALUES ('doc', 'jsonb_path_ops'), ('tags', 'array_ops'), ('words', 'tsvector_ops')) v(name, class), compare_keys(name, class) c;
-- a part of the table
SELECT "column", gin_bytes > 0 AS gin, bf_bytes > 0 AS bf FROM bf_index_advise('documents', '{doc, tags, words}', '1 us');
-- partitions, an empty one of them
CREATE TABLE document_parts (id integer, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE document_parts_1 PARTITION OF document_parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE document_parts_2 PARTITION OF document_parts FOR VALUES FROM (10000) TO (30000);
CREATE TABLE document_parts_3 PARTITION OF document_parts FOR VALUES FROM (30000) TO (40000);
INSERT INTO document_parts SELECT id, doc FROM documents WHERE id IS NOT NULL;
CREATE INDEX document_parts_gin ON document_parts USING gin (doc jsonb_path_ops);
SELECT gin_bytes / sum(pg_relation_size(inhrelid)) BETWEEN 0.75 AND 1.25 AS gin, statement
FROM bf_index_advise('document_parts', '{doc}'), pg_inherits WHERE inhparent = 'document_parts_gin'::regclass GROUP BY gin_bytes, statement;

-- only NULLs, only empty values, no pages, and a value with very many keys
CREATE TABLE without_keys (nulls jsonb, empty integer[], word text);
SELECT "column", gin_bytes, advice FROM bf_index_advise('without_keys');
INSERT INTO without_keys SELECT NULL, '{}', 'word' FROM generate_series(1, 10) i;
SELECT "column", distinct_values, gin_bytes IS NOT NULL AS gin, advice FROM bf_index_advise('without_keys', '{nulls, empty}', '1 hour');
INSERT INTO without_keys SELECT jsonb_object_agg('key ' || i, i), array_agg(i) FROM generate_series(1, 200000) i;
SELECT "column", distinct_values BETWEEN 190000 AND 210000 AS distinct_near FROM bf_index_advise('without_keys', '{nulls, empty}', '1 hour');

-- An index that would be larger than the table, or than a GIN index of the same keys, does not pay. Where the values are spread evenly it is smaller.
CREATE TABLE uneven (a smallint[], id integer);
INSERT INTO uneven SELECT CASE WHEN i % 1000 = 500 THEN (SELECT array_agg(n) FROM generate_series(1, 30000) n) ELSE ARRAY[i] END, CASE WHEN i % 1000 = 500 THEN 0 ELSE i END FROM generate_series(1, 30000) i;
CREATE INDEX uneven_a ON uneven USING bf (a);
CREATE INDEX uneven_gin ON uneven USING gin (a);
SELECT "column", bf_bytes = pg_relation_size('uneven_a') AS exact, bf_bytes > gin_bytes AS larger, bf_bytes > pg_table_size('uneven') AS than_table,
	regexp_replace(advice, '\d+ [kM]B', '... kB', 'g') AS advice, statement FROM bf_index_advise('uneven', budget => '1 hour');
SELECT pg_relation_size('uneven_a') > pg_relation_size('uneven_gin') AS is_so;
UPDATE uneven SET a = (SELECT array_agg(i) FROM generate_series(1, 30000) i) WHERE id = 0;
VACUUM FULL uneven;
SELECT bf_bytes > gin_bytes AS larger, bf_bytes > pg_table_size('uneven') AS than_table, regexp_replace(advice, '\d+ [kM]B', '... kB', 'g') AS advice FROM bf_index_advise('uneven', '{a}', '1 hour');
DROP TABLE uneven;

-- The beginning of the table is unlike the rest: a column that was added later.
CREATE TABLE later AS SELECT CASE WHEN i > 300000 THEN i END AS v FROM generate_series(1, 3000000) i;
CREATE INDEX later_v ON later USING bf (v);
SELECT bf_bytes BETWEEN 0.88 * pg_relation_size('later_v') AND 1.15 * pg_relation_size('later_v') AS about_as_large FROM bf_index_advise('later', NULL, '1 us');
DROP TABLE later;

-- Ranges with many values and ranges with few by turns: a part of the table is sampled, and the groups of level 0 end where the ranges change.
CREATE TABLE turns AS SELECT CASE WHEN i / 100000 % 2 = 0 THEN i % 100 ELSE i END AS v FROM generate_series(1, 2000000) i;
CREATE INDEX turns_v ON turns USING bf (v);
SELECT bf_bytes BETWEEN 0.9 * pg_relation_size('turns_v') AND 1.1 * pg_relation_size('turns_v') AS about_as_large FROM bf_index_advise('turns', NULL, '1 us');
DROP TABLE turns;

-- a key that GIN cannot store
CREATE TABLE wide_keys AS SELECT ARRAY[(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) i)] AS a FROM generate_series(1, 3);
SELECT gin_bytes, bf_bytes > 0 AS bf FROM bf_index_advise('wide_keys');

-- A function of an operator class raises an error: the column is refused, the others are not.
CREATE FUNCTION gives_up(circle, internal, internal) RETURNS internal LANGUAGE internal IMMUTABLE STRICT AS 'any_in';
CREATE OPERATOR CLASS failing_ops DEFAULT FOR TYPE circle USING bf AS OPERATOR 1 @> (circle, circle), FUNCTION 2 (circle) gives_up(circle, internal, internal),
	FUNCTION 3 (circle) gin_extract_jsonb_query_path(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (circle) gin_triconsistent_jsonb_path(internal, int2, jsonb, int4, internal, internal, internal), STORAGE int4;
CREATE TABLE circles AS SELECT i AS id, circle(point(i, i), 1) AS area, ARRAY[i] AS a FROM generate_series(1, 100) i;
SELECT "column", distinct_values, bf_bytes IS NULL AS no_bf, gin_bytes IS NULL AS no_gin, advice FROM bf_index_advise('circles');
DROP OPERATOR CLASS failing_ops USING bf CASCADE;
DROP FUNCTION gives_up;


-- the statement would be refused
SELECT advice, statement FROM bf_index_advise('pg_proc', '{oid}');

-- PostgreSQL 18 has virtual columns, which have no values in the table.
DO $$
BEGIN
	IF current_setting('server_version_num')::integer >= 180000 THEN
		EXECUTE 'CREATE TABLE with_virtual (a integer, b integer GENERATED ALWAYS AS (a + 1) VIRTUAL)';
		INSERT INTO with_virtual SELECT generate_series(1, 30000);
		ASSERT (SELECT advice FROM bf_index_advise('with_virtual', '{b}')) = 'no index can be made on a virtual generated column';
		DROP TABLE with_virtual;
	END IF;
END $$;

-- what is refused
CREATE VIEW a_view AS SELECT 1 AS a;
SELECT error_of(format('SELECT * FROM bf_index_advise(%s)', arguments)) FROM (VALUES ('''a_view'''), ('''visits_none'''), ('4711'), ('''daily_uid'''), ('''visits'', ''{nope}'''),
	('''visits'', ''{id, id}'''), ('''visits'', ''{id, NULL}'''), ('''visits'', ''{ctid}'''), ('''visits'', NULL, ''0'''), ('''visits'', NULL, ''1 month''')) v(arguments);
SELECT error_of('SELECT * FROM bf_index_advise(''visits'', ''{{id, page}, {status, day}}'')');

-- what there is already is not advised again, unless it has some rows only, or whole values where keys are meant
SELECT "column", advice, statement FROM bf_index_advise('visits', '{id}');
CREATE INDEX visits_some ON visits USING bf (id) WHERE id > 10;
SELECT statement FROM bf_index_advise('visits', '{id}');
CREATE INDEX visits_two ON visits USING bf (status, id);
SELECT "column", advice, statement FROM bf_index_advise('visits', '{id}');
-- its bytes are known, also if only a part of the table is read
CREATE INDEX visits_own ON visits USING bf (host) WITH (pages_per_range = 2);
SELECT bf_bytes = pg_relation_size('visits_own') AS is_that_one FROM bf_index_advise('visits', '{host}', '1 us');
DROP INDEX visits_some, visits_two, visits_own;
CREATE INDEX documents_whole ON documents USING bf (doc jsonb_eq_ops);
SELECT count(statement) FROM bf_index_advise('documents', '{doc}');
CREATE INDEX documents_keys ON documents USING bf (doc jsonb_path_ops);
SELECT advice ~ '^has the index public.documents_keys; pays', statement FROM bf_index_advise('documents', '{doc}');
DROP INDEX documents_whole, documents_keys;
SELECT advice, statement FROM bf_index_advise('daily', '{uid}');

-- who may ask: whoever may read the columns
CREATE ROLE streambloom_reader;
SET ROLE streambloom_reader;
SELECT error_of('SELECT * FROM bf_index_advise(''visits'')');
RESET ROLE;
GRANT SELECT (id, status) ON visits TO streambloom_reader;
SET ROLE streambloom_reader;
SELECT string_agg("column", ' ') FROM bf_index_advise('visits');
SELECT error_of('SELECT * FROM bf_index_advise(''visits'', ''{id, host}'')');
RESET ROLE;
GRANT SELECT ON visits, daily TO streambloom_reader;
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON visits USING (id < 10);
SET ROLE streambloom_reader;
SELECT error_of('SELECT * FROM bf_index_advise(''visits'')');
SELECT count(*) AS partitions_by_their_table FROM bf_index_advise('daily');
SELECT error_of('SELECT * FROM bf_index_advise(''daily_1'')');
SET row_security = off;
SELECT error_of('SELECT * FROM bf_index_advise(''visits'')');
RESET row_security;
RESET ROLE;

SET client_min_messages = warning;
DROP TABLE visits, daily, nothing, no_columns, parent, other_kinds, documents, document_parts, without_keys, wide_keys, circles CASCADE;
DROP VIEW a_view;
DROP FUNCTION pages_of, compare, compare_keys;
DROP ROLE streambloom_reader;
