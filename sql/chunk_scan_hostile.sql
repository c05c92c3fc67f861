-- chunk_scan_hostile: other things that a plain SELECT refuses, and senseless arguments. No error is an internal one (class XX).

CREATE SCHEMA chunk_scan_hostile;
SET search_path = chunk_scan_hostile, public;
SET client_min_messages = warning;

-- a materialized view that is not populated, with an index and summaries that say no
CREATE TABLE t (id int, name text, pair point, list int[], word "char");
INSERT INTO t VALUES (1, 'one', '(1,1)', '{1,2}', 'x');
CREATE MATERIALIZED VIEW m AS SELECT id, name FROM t WITH NO DATA;
CREATE INDEX ON m USING bf (id);
CREATE TABLE s AS SELECT 'm'::regclass AS chunk, bf_empty() AS id;
SELECT error_of('SELECT * FROM m WHERE id = 1');
SELECT error_of($$SELECT * FROM chunk_scan(NULL::m, 'id', 1)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::m, 'id', 2, 's')$$);
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::m, 'id', '{2}', 's')$$);
SELECT error_of($$SELECT * FROM chunk_scan_explain(NULL::m, 'id', 2)$$);
REFRESH MATERIALIZED VIEW m;
SELECT * FROM chunk_scan(NULL::m, 'id', 1);
SELECT * FROM chunk_scan(NULL::m, 'id', 1, 's');
REFRESH MATERIALIZED VIEW m WITH NO DATA;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::m, 'id', 1)$$);
-- and such a view as the summary table
CREATE MATERIALIZED VIEW summaries AS SELECT 't'::regclass AS chunk, bf_agg(t.id) AS id FROM t WITH NO DATA;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::t, 'id', 1, 'summaries')$$);

-- every argument NULL, of a wrong type, or of no sense
CREATE SEQUENCE q;
CREATE INDEX t_id ON t (id);
CREATE TYPE composite AS (chunk regclass, id bf);
CREATE VIEW v AS SELECT 't'::regclass AS chunk, bf_agg(id) AS id, bf_agg(name) AS name FROM t;
CREATE TABLE empty ();
CREATE TABLE wrong (chunk int, id bf);
CREATE TABLE wrong_too (chunk regclass[], id bf);
CREATE TABLE nulls AS SELECT NULL::regclass AS chunk, NULL::bf AS id UNION ALL SELECT 0, bf_empty() UNION ALL SELECT 't', NULL UNION ALL SELECT 4294967295::oid, bf_empty();
CREATE FUNCTION relations() RETURNS TABLE (n int, relation text) LANGUAGE sql AS $$SELECT * FROM (VALUES
	(1, 'NULL::t'), (2, 'NULL'), (3, '''(1,one,,,)''::t'), (4, 'NULL::m'), (5, 'NULL::v'), (6, 'NULL::composite'), (7, 'NULL::record'), (8, 'NULL::int'),
	(9, 'NULL::t[]'), (10, 'ROW(1)'), (11, 'NULL::empty'), (12, '''t''::regclass'), (13, 'NULL::pg_class'), (14, 'NULL::pg_toast.pg_toast_1255')) r$$;
CREATE FUNCTION columns() RETURNS TABLE (n int, name text) LANGUAGE sql AS $$SELECT * FROM (VALUES
	(1, '''id'''), (2, 'NULL'), (3, ''''''), (4, '''ctid'''), (5, '''"id"'''), (6, '''ID'''), (7, '''........pg.dropped.1........'''), (8, 'repeat(''x'', 70)'),
	(9, '1'), (10, '''pair'''), (11, '''name''')) c$$;
CREATE FUNCTION items() RETURNS TABLE (n int, item text) LANGUAGE sql AS $$SELECT * FROM (VALUES
	(1, '1'), (2, 'NULL'), (3, '''x'''), (4, '1.5'), (5, '''{1}'''), (6, '''{1}''::int[]'), (7, 'NULL::int[]'), (8, 'ROW(1, 2)'), (9, 'NULL::record'),
	(10, 'NULL::t'), (11, 'ARRAY[ROW(1, 2)]'), (12, '''{}''::text[]'), (13, 'true'), (14, 'now()'), (15, '''1''::xml'), (16, '''(1,1)''::point'),
	(17, '''[1,2]''::int4range'), (18, 'ARRAY[[1,2],[3,4]]'), (19, '''NaN''::float8'), (20, 'repeat(''x'', 100000)'), (21, 'array_fill(1, ARRAY[2000])'),
	(22, 'bf_empty()'), (23, 'pg_lsn(''0/1'')'), (24, 'current_setting(''server_version'')'), (25, 'cstring_out(''x'')'), (26, '''t''::regclass'),
	(27, 'void_out(NULL)'), (28, '9223372036854775807'), (29, '''x''::name'), (30, '(SELECT 1 WHERE false)')) i$$;
CREATE FUNCTION summary_tables() RETURNS TABLE (n int, summaries text) LANGUAGE sql AS $$SELECT * FROM (VALUES
	(1, '''s'''), (2, 'NULL'), (3, '''t'''), (4, '''q'''), (5, '''t_id'''), (6, '''composite'''), (7, '''v'''), (8, '''empty'''), (9, '''wrong'''), (10, '''wrong_too'''),
	(11, '''nulls'''), (12, '0'), (13, '4294967295::oid::regclass'), (14, '1::oid::regclass'), (15, '''nothing'''), (16, '''pg_class'''),
	(17, '''pg_catalog.pg_stat_activity'''), (18, '''summaries'''), (19, '1.5')) s$$;
-- All SQLSTATEs of class XX with their calls. There should be none.
CREATE FUNCTION internal_errors(calls text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	call text;
	error text;
BEGIN
	FOR call IN EXECUTE calls LOOP
		error := error_of('SELECT count(*) FROM ' || call);
		IF error LIKE 'XX%' THEN
			RETURN NEXT call || ': ' || error;
		END IF;
	END LOOP;
END
$$;
SELECT internal_errors($$SELECT format('%s(%s, %s, %s)', f, relation, name, item)
	FROM unnest('{chunk_scan,chunk_scan_any,chunk_scan_explain}'::text[]) f, relations(), columns(), items()$$);
SELECT internal_errors($$SELECT format('%s(NULL::t, %s, %s, %s, %s)', f, name, item, summaries, filters)
	FROM unnest('{chunk_scan,chunk_scan_any,chunk_scan_explain}'::text[]) f, columns() c, items() i, summary_tables(),
		unnest('{NULL,''id'','''',''chunk'',1}'::text[]) filters
	WHERE c.n IN (1, 10, 11) AND i.n IN (1, 3, 6, 8, 18)$$);
-- Some of the messages.
SELECT call, error_of('SELECT count(*) FROM ' || call) FROM unnest(ARRAY[
	$$chunk_scan(NULL, 'id', 1)$$, $$chunk_scan(ROW(1), 'id', 1)$$, $$chunk_scan(NULL::t, '', 1)$$, $$chunk_scan(NULL::t, 'id', ROW(1, 2))$$,
	$$chunk_scan(NULL::t, 'pair', '(1,1)')$$, $$chunk_scan_any(NULL::t, 'id', 1)$$, $$chunk_scan_any(NULL::t, 'list', ARRAY[[1, 2]])$$,
	$$chunk_scan(NULL::t, 'id', bf_empty())$$, $$chunk_scan(NULL::t, 'id', 1, 4294967295::oid::regclass)$$, $$chunk_scan(NULL::t, 'id', 1, 0::oid::regclass)$$,
	$$chunk_scan(NULL::t, 'id', 1, 'q')$$, $$chunk_scan(NULL::t, 'id', 1, 't_id')$$, $$chunk_scan(NULL::t, 'id', 1, 'composite')$$,
	$$chunk_scan(NULL::t, 'id', 1, 'nulls')$$, $$chunk_scan(NULL::t, 'id', 1, 'wrong_too')$$, $$chunk_scan(NULL::t, 'name', 'one', 'v')$$,
	$$chunk_scan(NULL::t, 'list', '{1,2}'::int[], 'nulls', 'id')$$, $$chunk_scan(NULL::empty, 'id', 1)$$]) call;

-- an operator named = that is not the type's equality: filters cannot answer for it
CREATE FUNCTION equal_ignoring_case(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN pg_catalog.texteq(pg_catalog.lower($1), pg_catalog.lower($2));
CREATE OPERATOR chunk_scan_hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = equal_ignoring_case);
CREATE TABLE paint (c text, n int, at date);
INSERT INTO paint VALUES ('red', 1, '2024-01-01'), ('blue', 2, '2024-01-02');
CREATE INDEX ON paint USING bf (c);
CREATE TABLE paint_summary AS SELECT tableoid::regclass AS chunk, bf_agg(c) AS c, bf_agg(n) AS n, bf_agg(at) AS at FROM paint GROUP BY 1;
SET search_path = chunk_scan_hostile, public, pg_catalog;
SELECT * FROM paint WHERE c = 'RED';
SELECT * FROM chunk_scan(NULL::paint, 'c', 'RED');
SELECT * FROM chunk_scan_any(NULL::paint, 'c', '{RED,Blue}');
SELECT error_of($$SELECT * FROM chunk_scan(NULL::paint, 'c', 'RED', 'paint_summary')$$);
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::paint, 'c', '{RED}', 'paint_summary')$$);
SET search_path = pg_catalog, chunk_scan_hostile, public;
SELECT * FROM chunk_scan(NULL::paint, 'c', 'blue', 'paint_summary');
SELECT * FROM chunk_scan_explain(NULL::paint, 'c', 'RED', 'paint_summary');
-- nor for an operator that is in the same family as =
SET search_path = chunk_scan_hostile, public;
SELECT error_of(format($$SELECT * FROM chunk_scan(NULL::paint, 'n', 2, 'paint_summary', operator => %L)$$, operator)) FROM unnest('{<,<=,>,>=,<>,!=}'::text[]) operator;
SELECT error_of(format($$SELECT * FROM chunk_scan_any(NULL::paint, 'n', '{2,3}', 'paint_summary', operator => %L)$$, operator)) FROM unnest('{<,>=}'::text[]) operator;
SELECT error_of($$SELECT * FROM chunk_scan_explain(NULL::paint, 'at', '2024-01-02', 'paint_summary', operator => '<')$$);
SELECT * FROM chunk_scan(NULL::paint, 'n', 2, 'paint_summary', operator => 'pg_catalog.=');
SELECT * FROM chunk_scan(NULL::paint, 'n', 2::int8, 'paint_summary', operator => '=');

-- spellings of an operator
CREATE SCHEMA "hostile schema.";
CREATE OPERATOR "hostile schema.".@= (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
SELECT operator, error_of(format($$SELECT * FROM chunk_scan(NULL::paint, 'n', 2, operator => %L)$$, operator)) FROM unnest(ARRAY[
	'!=', 'pg_catalog.!=', 'PG_Catalog.=', ' = ', 'pg_catalog . =', '"hostile schema.".@=',
	'', ' ', '.', 'like', 'LIKE', '"="', '= =', '=.', 'OPERATOR(pg_catalog.=)', 'operator(=)', 'é=', 'pg_catalog=', '= ANY', '.=', '"=', 'nosuch.=', 'a.b.c.=', '@@@@', 'a' || repeat('@', 70)]) operator;
SELECT * FROM chunk_scan(NULL::paint, 'n', 2, operator => '!=');
-- an operator that returns a set
CREATE FUNCTION equal_and_more(int, int) RETURNS SETOF boolean LANGUAGE sql AS 'VALUES ($1 = $2), (true)';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = equal_and_more);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::paint, 'n', 2, operator => '===')$$);
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::paint, 'n', '{2}', operator => '===')$$);
SET client_min_messages = error;
DROP SCHEMA "hostile schema." CASCADE;
SET client_min_messages = warning;

-- functions, aggregates, operators and types of the caller come first in search_path: none of them is called
SET search_path = chunk_scan_hostile, public, pg_catalog;
CREATE FUNCTION chunk_scan_hostile.bool_and_step(boolean, boolean) RETURNS boolean LANGUAGE sql RETURN true;
CREATE AGGREGATE chunk_scan_hostile.bool_and(boolean) (SFUNC = bool_and_step, STYPE = boolean, INITCOND = 'true');
CREATE FUNCTION chunk_scan_hostile.bf_contains(bf, int) RETURNS boolean LANGUAGE sql RETURN false;
CREATE FUNCTION chunk_scan_hostile.says_no(oid, oid) RETURNS boolean LANGUAGE sql RETURN false;
CREATE OPERATOR chunk_scan_hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = says_no);
CREATE DOMAIN chunk_scan_hostile.oid AS text;
SELECT n FROM chunk_scan(NULL::paint, 'n', 2, 'paint_summary');
SELECT * FROM chunk_scan_explain(NULL::paint, 'n', 3, 'paint_summary');

-- values of another type than the column
SELECT n FROM chunk_scan(NULL::paint, 'n', 2::bigint, 'paint_summary');
SELECT n FROM chunk_scan(NULL::paint, 'c', 'blue'::name, 'paint_summary');
SET timezone = 'UTC';
SELECT n FROM chunk_scan(NULL::paint, 'at', '2024-01-02'::timestamp);
SELECT n FROM chunk_scan(NULL::paint, 'at', '2024-01-02 00:00+00'::timestamptz);
SELECT error_of($$SELECT n FROM chunk_scan(NULL::paint, 'at', '2024-01-02'::timestamp, 'paint_summary')$$);
SELECT error_of($$SELECT n FROM chunk_scan_any(NULL::paint, 'at', ARRAY['2024-01-02'::timestamptz], 'paint_summary')$$);
RESET timezone;

-- privileges are needed on the table, or on the columns that the query uses and that are not dropped
RESET search_path;
SET search_path = chunk_scan_hostile, public;
CREATE TABLE columns_gone (a int, b int, c int);
INSERT INTO columns_gone VALUES (1, 2, 3);
CREATE ROLE regress_hostile_reader;
GRANT USAGE ON SCHEMA chunk_scan_hostile TO regress_hostile_reader;
GRANT SELECT (a, b) ON columns_gone TO regress_hostile_reader;
SET ROLE regress_hostile_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::columns_gone, 'a', 1)$$);
RESET ROLE;
ALTER TABLE columns_gone DROP c;
SET ROLE regress_hostile_reader;
SELECT * FROM chunk_scan(NULL::columns_gone, 'a', 1);
RESET ROLE;
REVOKE SELECT (b) ON columns_gone FROM regress_hostile_reader;
SET ROLE regress_hostile_reader;
SELECT error_of($$SELECT a FROM chunk_scan(NULL::columns_gone, 'a', 1)$$);
RESET ROLE;

-- A virtual column has the expression of the table that the query names, not the partition's. (Before PostgreSQL 18: a plain column.)
SELECT current_setting('server_version_num')::int >= 180000 AS has_virtual \gset
SELECT CASE WHEN :'has_virtual' THEN 'GENERATED ALWAYS AS (n * 2) VIRTUAL' ELSE '' END AS twice,
	CASE WHEN :'has_virtual' THEN 'GENERATED ALWAYS AS (n * 3) VIRTUAL' ELSE '' END AS thrice,
	CASE WHEN :'has_virtual' THEN 'DEFAULT' ELSE 'n * 2' END AS value \gset
CREATE TABLE doubles (n int, word text, d int :twice, e int) PARTITION BY RANGE (n);
CREATE TABLE doubles_1 PARTITION OF doubles FOR VALUES FROM (0) TO (50);
CREATE TABLE doubles_2 (e int, d int :thrice, n int, word text);
ALTER TABLE doubles ATTACH PARTITION doubles_2 FOR VALUES FROM (50) TO (100);
INSERT INTO doubles (n, word) SELECT i, 'word ' || i FROM generate_series(0, 99) i;
UPDATE doubles SET d = :value;
CREATE INDEX ON doubles USING bf (n);
SELECT * FROM chunk_scan(NULL::doubles, 'n', 60);
SELECT * FROM chunk_scan(NULL::doubles, 'd', 120);
SELECT * FROM chunk_scan(NULL::doubles, 'd', 180);
CREATE TABLE doubles_summary AS SELECT tableoid::regclass AS chunk, bf_agg(d) AS d FROM doubles GROUP BY 1;
SELECT * FROM chunk_scan(NULL::doubles, 'd', 180, 'doubles_summary');

DROP SCHEMA chunk_scan_hostile CASCADE;
DROP ROLE regress_hostile_reader;
