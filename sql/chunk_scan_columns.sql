-- chunk_scan_columns: which columns a user must be allowed to read, and statements that are kept while columns are added

CREATE SCHEMA chunk_scan_columns;
SET search_path = chunk_scan_columns, public;
CREATE TABLE p (a int, b int, c int) PARTITION BY RANGE (a);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p_2 (c int, b int, a int);
ALTER TABLE p ATTACH PARTITION p_2 FOR VALUES FROM (10) TO (20);
INSERT INTO p SELECT i, i, i % 3 FROM generate_series(0, 19) i;
CREATE INDEX ON p USING bf (b);
CREATE TABLE other (b int, d int);
INSERT INTO other VALUES (1, 1), (2, 2);
ANALYZE;

-- chunk_scan() reads all columns, so a query with it needs SELECT on all of them, whatever the same query of the table needs
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'allowed';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION compare(OUT query text, OUT plain text, OUT scan text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOREACH query IN ARRAY ARRAY['SELECT a FROM %s', 'SELECT b FROM %s', 'SELECT a, b FROM %s', 'SELECT c FROM %s', 'SELECT * FROM %s', 'SELECT p FROM %s',
		'SELECT count(*) FROM %s', 'SELECT 1 FROM %s', 'SELECT a FROM %s WHERE a > 3', 'SELECT a FROM %s WHERE c > 1', 'SELECT a FROM %s WHERE c > 1 AND random() < 2',
		'SELECT a FROM %s ORDER BY c', 'SELECT max(c) FROM %s', 'SELECT a FROM %s WHERE p IS NOT NULL', 'SELECT o.d, p.a FROM other o, %s FOR UPDATE OF o',
		'SELECT o.d, p.c FROM other o, %s FOR UPDATE OF o', 'SELECT o.d, p FROM other o, %s FOR UPDATE OF o', 'UPDATE other o SET d = p.a FROM %s WHERE p.b = o.b',
		'UPDATE other o SET d = p.a FROM %s WHERE p.b = o.b RETURNING p', 'UPDATE other o SET d = p.c FROM %s WHERE p.b = o.b', 'DELETE FROM other o USING %s WHERE p.a = o.b + 1000',
		'SELECT o.d FROM other o WHERE EXISTS (SELECT FROM %s WHERE p.c = o.d)', 'SELECT o.d FROM other o WHERE d IN (SELECT p.a FROM %s)',
		'SELECT (SELECT max(x.d) FROM other x WHERE x.b = p.c) FROM %s', 'SELECT (SELECT p FROM other x LIMIT 1) FROM %s',
		'SELECT n FROM %s, LATERAL (SELECT p.c AS n OFFSET 0) l', 'SELECT n FROM %s, LATERAL (SELECT p AS n OFFSET 0) l',
		'SELECT p FROM %1$s UNION ALL SELECT p FROM %1$s', 'SELECT to_jsonb(p) FROM %1$s UNION ALL SELECT NULL',
		'SELECT a FROM %1$s UNION ALL SELECT b FROM %1$s', 'SELECT a FROM %1$s UNION ALL SELECT c FROM %1$s']
	LOOP
		plain := outcome(format(query, 'p'));
		scan := outcome(format(query, 'chunk_scan(NULL::p, ''b'', 1) AS p'));
		RETURN NEXT;
	END LOOP;
END $$;
CREATE ROLE regress_column_reader;
GRANT USAGE ON SCHEMA chunk_scan_columns TO regress_column_reader;
GRANT SELECT, UPDATE, DELETE ON other TO regress_column_reader;
GRANT SELECT (a, b) ON p TO regress_column_reader;
SET ROLE regress_column_reader;
SELECT plain, scan, count(*) FROM compare() GROUP BY 1, 2 ORDER BY 1, 2;
-- the column that is compared
SELECT outcome($$SELECT a FROM chunk_scan(NULL::p, 'c', 1)$$) AS of_c, outcome($$SELECT a FROM chunk_scan(NULL::p, 'a', 1)$$) AS of_a,
	outcome($$SELECT * FROM chunk_scan_explain(NULL::p, 'b', 1)$$) AS explain_b, outcome($$SELECT * FROM chunk_scan_explain(NULL::p, 'c', 1)$$) AS explain_c;
RESET ROLE;
REVOKE SELECT (a, b) ON p FROM regress_column_reader;
SET ROLE regress_column_reader;
SELECT bool_and(scan = '42501') AS refused FROM compare();
RESET ROLE;
GRANT SELECT ON p TO regress_column_reader;
SET ROLE regress_column_reader;
SELECT bool_and(scan = 'allowed') AS allowed FROM compare();
RESET ROLE;

-- A kept statement goes on with the columns that the table had when it was parsed, as with any function that returns a row type.
CREATE TABLE one (a int);
INSERT INTO one VALUES (1);
CREATE FUNCTION kept(query text, OUT how text, OUT before text, OUT first text, OUT second text, OUT prepared_again text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	alter_table text := CASE WHEN query ~ 'NULL::one' THEN 'ALTER TABLE one ' ELSE 'ALTER TABLE p ' END;
BEGIN
	FOREACH how IN ARRAY ARRAY['force_generic_plan', 'force_custom_plan']
	LOOP
		PERFORM set_config('plan_cache_mode', how, true);
		EXECUTE 'PREPARE k AS ' || query;
		before := row_of('EXECUTE k');
		EXECUTE alter_table || 'ADD more int DEFAULT 7';
		first := row_of('EXECUTE k');
		second := row_of('EXECUTE k');
		DEALLOCATE k;
		EXECUTE 'PREPARE k AS ' || query;
		prepared_again := row_of('EXECUTE k');
		DEALLOCATE k;
		EXECUTE alter_table || 'DROP more';
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION row_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result record;
BEGIN
	EXECUTE query INTO result;
	RETURN result::text;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || CASE WHEN SQLERRM ~ '^cached' THEN ' (result type)' ELSE '' END;
END $$;
CREATE VIEW a_view AS SELECT * FROM chunk_scan(NULL::p, 'b', 1);
CREATE FUNCTION kept_body() RETURNS TABLE (a int, b int, c int) LANGUAGE sql BEGIN ATOMIC SELECT * FROM chunk_scan(NULL::p, 'b', 1); END;
CREATE FUNCTION text_body() RETURNS TABLE (a int, b int, c int) STABLE LANGUAGE sql AS $$ SELECT a, b, c FROM chunk_scan(NULL::p, 'b', 1) $$;
SELECT query, k.* FROM unnest(ARRAY[$$SELECT * FROM chunk_scan(NULL::p, 'b', 1)$$, $$SELECT p.* FROM other, chunk_scan(NULL::p, 'b', d) p WHERE d = 1$$,
	$$SELECT * FROM other JOIN chunk_scan(NULL::p, 'b', 1) p USING (b)$$, $$SELECT * FROM chunk_scan(NULL::p, 'b', 1) WITH ORDINALITY$$,
	$$SELECT * FROM ROWS FROM (generate_series(1, 2), chunk_scan(NULL::p, 'b', 1))$$, $$SELECT row(p.*) FROM chunk_scan(NULL::p, 'b', 1) p$$,
	$$SELECT * FROM (SELECT * FROM chunk_scan(NULL::p, 'b', 1) OFFSET 0) s$$, $$UPDATE other SET d = d FROM chunk_scan(NULL::p, 'b', 1) p RETURNING p.*$$,
	$$SELECT * FROM chunk_scan(NULL::one, 'a', 1)$$, $$SELECT p FROM chunk_scan(NULL::p, 'b', 1) p$$, $$SELECT a, b, c FROM chunk_scan(NULL::p, 'b', 1)$$,
	$$SELECT b, count(*) FROM chunk_scan(NULL::p, 'b', 1) GROUP BY b$$, $$SELECT other.*, p.a FROM other, chunk_scan(NULL::p, 'b', 1) p WHERE d = 1$$,
	$$SELECT * FROM a_view$$, $$SELECT * FROM kept_body()$$, $$SELECT * FROM text_body()$$]) query, kept(query) k;
-- as a member of a UNION ALL
SELECT query ~ '\*' AS star, k.* FROM unnest(ARRAY[$$SELECT * FROM chunk_scan(NULL::p, 'b', 1) UNION ALL SELECT * FROM chunk_scan(NULL::p, 'b', 2)$$,
	$$SELECT a, c FROM chunk_scan(NULL::p, 'b', 1) UNION ALL SELECT c, b FROM chunk_scan(NULL::p, 'b', 2)$$]) query, kept(query) k;

-- PL/pgSQL parses its statements again
CREATE FUNCTION in_plpgsql() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	found record;
BEGIN
	FOR found IN SELECT * FROM chunk_scan(NULL::p, 'b', 1) LOOP
		RETURN NEXT found::text;
	END LOOP;
END $$;
SELECT in_plpgsql() LIMIT 1;
ALTER TABLE p ADD more int DEFAULT 7;
SELECT in_plpgsql() LIMIT 1;
SELECT in_plpgsql() LIMIT 1;

SET client_min_messages = warning;
DROP SCHEMA chunk_scan_columns CASCADE;
DROP ROLE regress_column_reader;
