-- rollup_refused: what tbf_rollup_create() and the questions refuse, what happens to a roll-up whose source changes, whose rights count,
-- and hostile names

SET timezone = 'UTC';
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never

CREATE TABLE log (at timestamptz, day date, local timestamp, url text, n int, tags text[], "odd ""name%" text);

-- parameters
SELECT error_of($$SELECT tbf_rollup_create('r', 'no_such_table', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', NULL, 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'no_such_column')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'day')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'no_such_column', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', condition => 'n')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', weight => 'url')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', group_by => '{site}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'tags', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', '(url, n)', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'count(*)', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'n::regclass', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', zone => 'ist')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', lateness => '-71000000 months 2130000010 days')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', tiers => '{hour,day}', keep => '{71000000 months -2129999990 days,NULL}')$$);
CREATE TYPE pair AS (host text, url text);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'row(url, url)::public.pair', 'at')$$);
DROP TYPE pair;
CREATE TYPE method AS ENUM ('GET', 'HEAD');
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url::public.method', 'at')$$);
DROP TYPE method;
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', tiers => '{hour,week,month}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', tiers => '{day,hour}', keep => '{1 day,2 days}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', tiers => '{second}', keep => '{1 day}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', keep => '{1 day}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', keep => '{2 days,1 day,null}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', keep => '{null,1 day,null}')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', lateness => '-1 hour')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', lateness => '36 days')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', top => 0)$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', zone => 'Mars/Olympus')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at', half_life => '1 month')$$);
SELECT error_of($$SELECT tbf_rollup_create('a.b.c', 'log', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('log', 'log', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r', 'pg_class_oid_index', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_drop('log')$$);
SELECT error_of($$SELECT tbf_rollup_drop(NULL)$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('log')$$);
SELECT count(*) FROM tbf_rollups;

-- questions
SELECT tbf_rollup_create('r', 'log', 'url', 'at');
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', -1)$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', 1, 'infinity')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', 1, NULL)$$);
INSERT INTO log VALUES ('2024-01-01 12:00', NULL, '2024-01-01 12:00', '/', 3, '{a,b}', 'x');
CALL tbf_rollup_refresh('r');
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', weight => 'nonsense')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', weight => '-1')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', weight => 'NULL')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_top('r', weight => '''NaN''')$$);
SELECT error_of($$SELECT * FROM tbf_rollup_risers('r', at => '2024-01-02', recent => '0')$$);
SELECT * FROM tbf_rollup_top('r', weight => '2 -- twice');
SELECT * FROM tbf_rollup_top('r', 2147483647, '290000-01-01');
SELECT * FROM tbf_rollup_top('r', 1, '4700-01-01 BC');
SELECT * FROM tbf_rollup_count_between('r', '/', '-infinity', 'infinity'), tbf_rollup_count('r', NULL::text) n(null_from, null_to);
SELECT * FROM tbf_rollup_distinct('r', 'infinity', '-infinity');
-- untyped parameters
PREPARE ask AS SELECT * FROM tbf_rollup_count_between('r', $1, $2, $3);
EXECUTE ask('/', NULL, NULL);
DEALLOCATE ask;
-- within a transaction a refresh cannot commit
SELECT error_of($$CALL tbf_rollup_refresh('r')$$);
-- weights that are wrong fail the refresh, and the view says so until it succeeds
SELECT tbf_rollup_create('w', 'log', 'url', 'at', weight => 'n');
INSERT INTO log VALUES ('2024-01-01 12:01', NULL, NULL, '/', NULL, NULL, NULL);
CALL tbf_rollup_refresh('w');
SELECT last_error, next_step FROM tbf_rollups WHERE rollup = 'w'::regclass;
UPDATE log SET n = 4 WHERE n IS NULL;
CALL tbf_rollup_refresh('w');
SELECT last_error, hits FROM tbf_rollups, w WHERE rollup = 'w'::regclass;
-- sums above what one hit may weigh
UPDATE log SET n = 2147483647;
INSERT INTO log SELECT timestamptz '2024-01-01 12:02' + i * interval '1 second', NULL, NULL, '/', 2147483647, NULL, NULL FROM generate_series(1, 9) i;
CALL tbf_rollup_refresh('w', NULL, NULL);
SELECT hits_from = 2147483647.0 * 11 AS sum FROM tbf_rollup_count_between('w', '/', NULL, NULL);
SELECT tbf_rollup_drop('w');

-- what the rows depend on cannot be changed, and the rest only to what a roll-up can have; the view works for all whatever somebody writes
SELECT error_of($$UPDATE tbf_rollup SET tiers = '{day,week,month}'$$), error_of($$UPDATE tbf_rollup SET zone = 'Europe/Berlin'$$), error_of($$UPDATE tbf_rollup SET group_columns = '{n}'$$);
SELECT error_of($$UPDATE tbf_rollup SET keep = '{2 days,1 day,null}'$$), error_of($$UPDATE tbf_rollup SET lateness = '-1 day'$$), error_of($$UPDATE tbf_rollup SET top = 0$$);
SELECT error_of($$UPDATE tbf_rollup SET folded = '{}'$$);
SELECT error_of($$UPDATE tbf_rollup SET folded = array_fill(timestamptz '294276-12-31', '{3}')$$), error_of($$UPDATE tbf_rollup SET counted_to = 'infinity'$$);
CREATE VIEW no_table AS SELECT 1;
SELECT error_of($$INSERT INTO tbf_rollup SELECT (jsonb_populate_record(r, '{"rollup": "no_table"}')).* FROM tbf_rollup r$$);
DROP VIEW no_table;
UPDATE tbf_rollup SET keep = '{40 days,3 years,null}', lateness = '3 hours', top = 50, half_life = '1 day';
SELECT keep, lateness, top, half_life FROM tbf_rollups;

-- elements of arrays, and times without zone
SELECT tbf_rollup_create('t', 'log', 'unnest(tags)', 'local', half_life => NULL);
CALL tbf_rollup_refresh('t');
SELECT * FROM tbf_rollup_top('t');
SELECT starts, oldest, hits FROM t;
SELECT tbf_rollup_drop('t');
-- items that are no texts
SELECT tbf_rollup_create('t', 'log', 'n % 10', 'at', half_life => NULL);
CALL tbf_rollup_refresh('t');
SELECT * FROM tbf_rollup_top('t');
SELECT * FROM tbf_rollup_count('t', 7), tbf_rollup_count('t', '7') u(from_text, to_text);
SELECT sqlstate_of($$SELECT * FROM tbf_rollup_count('t', 'seven')$$);
PREPARE untyped AS SELECT c.*, b.* FROM tbf_rollup_count('t', $1) c, tbf_rollup_count_between('t', $1, NULL, NULL) b;
EXECUTE untyped ('7');
DEALLOCATE untyped;
SELECT tbf_rollup_drop('t');

-- a column of the source is renamed, or gets another type; the source is dropped
ALTER TABLE log RENAME at TO ts;
CALL tbf_rollup_refresh('r');
SELECT last_error, next_step FROM tbf_rollups;
UPDATE tbf_rollup SET time_column = 'ts' WHERE rollup = 'r'::regclass;
CALL tbf_rollup_refresh('r');
SELECT last_error FROM tbf_rollups;
ALTER TABLE log ALTER ts TYPE text;
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER ts TYPE timestamptz USING ts::timestamptz, ALTER url TYPE int USING 1;
INSERT INTO log (ts, url) VALUES ('2024-01-02 13:00', 2);
CALL tbf_rollup_refresh('r');
ALTER TABLE log ALTER url TYPE text;
DROP TABLE log;
CALL tbf_rollup_refresh('r');
SELECT source, next_step FROM tbf_rollups;
SELECT item, hits_from FROM tbf_rollup_top('r', weight => '1');
SELECT tbf_rollup_drop('r');
-- a roll-up whose table was dropped by hand leaves nothing behind
CREATE TABLE log (at timestamptz, url text);
SELECT tbf_rollup_create('r', 'log', 'url', 'at');
DROP TABLE r;
SELECT count(*) FROM tbf_rollups;
SELECT tbf_rollup_create('r2', 'log', 'url', 'at');
SELECT count(*) FROM tbf_rollup_definitions;
SELECT tbf_rollup_drop('r2');
SELECT count(*) FROM tbf_rollup_definitions;
-- a grouping column is renamed
CREATE TABLE visits (at timestamptz, site text, url text);
INSERT INTO visits VALUES ('2024-01-01 12:00', 's', '/');
SELECT tbf_rollup_create('by_site', 'visits', 'url', 'at', group_by => '{site}');
CALL tbf_rollup_refresh('by_site');
ALTER TABLE visits RENAME site TO host;
INSERT INTO visits VALUES ('2024-01-01 12:01', 's', '/');
CALL tbf_rollup_refresh('by_site');
CREATE VIEW visits_of_sites AS SELECT at, host AS site, url FROM visits;
UPDATE tbf_rollup SET source = 'visits_of_sites' WHERE rollup = 'by_site'::regclass;
CALL tbf_rollup_refresh('by_site');
SELECT groups, sum(hits) FROM by_site GROUP BY groups;
SELECT tbf_rollup_drop('by_site');
DROP TABLE visits CASCADE;

-- hostile names
CREATE SCHEMA "eve's ""%I$1";
SET search_path = "eve's ""%I$1", public;
CREATE TABLE "log'; DROP TABLE x; --%s" ("at""'%L" timestamptz, "url%1$s" text, "gr'oup" text);
INSERT INTO "log'; DROP TABLE x; --%s" SELECT '2024-01-01'::timestamptz + i * interval '1 hour', 'it''s %s $1 "' || i % 2, 'g''"%' FROM generate_series(1, 10) i;
SELECT public.tbf_rollup_create('"r''%s"', '"log''; DROP TABLE x; --%s"', '"url%1$s" -- comment', 'at"''%L', condition => '"url%1$s" <> ''%s'' -- comment', weight => '1 -- comment', group_by => ARRAY['gr''oup']);
CALL public.tbf_rollup_refresh('"r''%s"');
SELECT * FROM public.tbf_rollup_top_by_group('"r''%s"', weight => '1');
SELECT * FROM public.tbf_rollup_count('"r''%s"', 'it''s %s $1 "1', weight => '1');
SELECT rollup, next_step FROM public.tbf_rollups;
SELECT public.tbf_rollup_drop('"r''%s"');
RESET search_path;
DROP SCHEMA "eve's ""%I$1" CASCADE;

-- a hostile search_path
CREATE SCHEMA evil;
CREATE FUNCTION evil.fail() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil code runs'; END $$;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT evil.fail()::timestamptz';
CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT evil.fail()';
CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT evil.fail()';
CREATE FUNCTION evil.quote_ident(text) RETURNS text LANGUAGE sql AS 'SELECT evil.fail()';
CREATE FUNCTION evil.eq(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT evil.fail() IS NULL';
CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.eq);
CREATE FUNCTION evil.eq(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT evil.fail() IS NULL';
CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = evil.eq);
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (VALUE = 'never');
CREATE DOMAIN evil.timestamptz AS pg_catalog.timestamptz CHECK (VALUE IS NULL);
CREATE TABLE evil.pg_class (oid oid);
CREATE TABLE evil.tbf_rollup (rollup regclass);
INSERT INTO log SELECT '2024-01-01'::timestamptz + i * interval '1 hour', '/' || i % 2 FROM generate_series(1, 10) i;
SET search_path = evil, pg_catalog, public;
SELECT public.tbf_rollup_create('public.r', 'public.log', 'url', 'at');
CALL public.tbf_rollup_refresh('public.r');
SELECT item, hits_from FROM public.tbf_rollup_top('public.r', at => '2024-02-01', weight => '1'::pg_catalog.text);
SELECT hits_from FROM public.tbf_rollup_count('public.r', '/1'::varchar, '2024-02-01'::pg_catalog.timestamptz);
SELECT rollup, last_error FROM public.tbf_rollups;
RESET search_path;
DROP SCHEMA evil CASCADE;
SELECT tbf_rollup_drop('r');

-- rights
CREATE ROLE streambloom_owner;
CREATE ROLE streambloom_reader;
GRANT CREATE ON SCHEMA public TO streambloom_owner;
SET ROLE streambloom_owner;
SELECT error_of($$SELECT tbf_rollup_create('r', 'log', 'url', 'at')$$);
RESET ROLE;
GRANT SELECT ON log TO streambloom_owner;
SET ROLE streambloom_owner;
SELECT tbf_rollup_create('r', 'log', 'url', 'at', half_life => NULL);
CALL tbf_rollup_refresh('r');
SET ROLE streambloom_reader;
SELECT sqlstate_of($$SELECT * FROM tbf_rollup_top('r')$$), (SELECT count(*) FROM tbf_rollups);
CALL tbf_rollup_refresh('r');
UPDATE tbf_rollup SET item = 'evil()';
SELECT error_of($$DELETE FROM tbf_rollup$$), sqlstate_of($$UPDATE tbf_rollup_definitions SET item = 'evil()'$$), sqlstate_of($$DELETE FROM tbf_rollup_definitions$$);
SELECT error_of($$INSERT INTO tbf_rollup VALUES ('r', 'log', 'evil()', 'at', NULL, NULL, '{}', '{timestamptz}', '{day}', '{NULL}', '0', 1, 'UTC', NULL, '{-infinity}')$$);
SELECT error_of($$SELECT tbf_rollup_drop('r')$$), error_of($$INSERT INTO _tbf_rollup_dropped VALUES ('r')$$);
SELECT sqlstate_of($$TRUNCATE tbf_rollup_definitions$$);
-- Nobody learns from the definition of a roll-up what he may not read, not even by a function that the planner calls
-- first.
CREATE FUNCTION pg_temp.tell(item text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE WARNING 'told: %', item; RETURN true; END $$;
SELECT error_of($$SELECT FROM tbf_rollup_definitions$$), error_of($$SELECT _tbf_rollup_definition('r')$$), error_of($$SELECT _tbf_rollup_definition('r', true)$$);
SELECT (SELECT count(*) FROM tbf_rollup WHERE pg_temp.tell(item)), (SELECT count(*) FROM tbf_rollups WHERE pg_temp.tell(item));
DROP FUNCTION pg_temp.tell(text);
SET ROLE streambloom_owner;
GRANT SELECT ON r TO streambloom_reader;
SET ROLE streambloom_reader;
SELECT item, hits_from, hits_to FROM tbf_rollup_top('r');
SELECT rollup, owner FROM tbf_rollups;
-- who may only read locks nothing that a refresh, or a question of others, would wait for
SELECT (SELECT count(*) FROM (SELECT FROM tbf_rollup FOR UPDATE) s), (SELECT count(*) FROM (SELECT FROM tbf_rollup FOR KEY SHARE) s), sqlstate_of($$SELECT FROM tbf_rollups FOR KEY SHARE$$);
SELECT relation, mode, sqlstate_of(format('LOCK TABLE %s IN %s MODE', relation, mode)) FROM unnest('{tbf_rollup,tbf_rollups,tbf_rollup_definitions,_tbf_rollup_dropped}'::text[]) relation,
	unnest('{SHARE,SHARE ROW EXCLUSIVE,EXCLUSIVE,ACCESS EXCLUSIVE}'::text[]) mode ORDER BY relation, mode;
RESET ROLE;
-- a superuser does not run what others wrote either
CALL tbf_rollup_refresh('r');
REVOKE SELECT ON log FROM streambloom_owner;
SET ROLE streambloom_owner;
CALL tbf_rollup_refresh('r');
SELECT last_error, next_step FROM tbf_rollups;
-- a refresh that is canceled says so, too
RESET ROLE;
GRANT SELECT ON log TO streambloom_owner;
SET ROLE streambloom_owner;
UPDATE tbf_rollup SET condition = 'pg_sleep(60) IS NOT NULL';
SET statement_timeout = '1s';
CALL tbf_rollup_refresh('r');
RESET statement_timeout;
SELECT last_error, next_step FROM tbf_rollups;
UPDATE tbf_rollup SET condition = NULL;
CALL tbf_rollup_refresh('r');
SELECT last_error FROM tbf_rollups;
RESET ROLE;
REVOKE SELECT ON log FROM streambloom_owner;
SET ROLE streambloom_owner;
-- where nothing can be written
SET default_transaction_read_only = on;
CALL tbf_rollup_refresh('r');
RESET default_transaction_read_only;
SET default_transaction_isolation = serializable;
CALL tbf_rollup_refresh('r');
RESET default_transaction_isolation;
RESET ROLE;
-- row-level security
GRANT SELECT ON log TO streambloom_owner;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
SET ROLE streambloom_owner;
CALL tbf_rollup_refresh('r');
SELECT error_of($$SELECT tbf_rollup_create('r2', 'log', 'url', 'at')$$);
SELECT tbf_rollup_drop('r');
-- The same of a view that reads the table with the rights of a role to which it applies, of a view over this view, of
-- one that reads it with the rights of its user, and of one that a function reads it for.
RESET ROLE;
CREATE POLICY half ON log USING (url = '/1');
GRANT SELECT ON log TO streambloom_reader;
GRANT CREATE ON SCHEMA public TO streambloom_reader;
CREATE VIEW of_all AS SELECT * FROM log;
CREATE VIEW of_invoker WITH (security_invoker) AS SELECT * FROM log;
GRANT SELECT ON of_all, of_invoker TO streambloom_owner;
CREATE FUNCTION rows_of_log() RETURNS SETOF log LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN QUERY SELECT * FROM public.log; END $$;
SET ROLE streambloom_reader;
CREATE VIEW of_reader AS SELECT * FROM log;
GRANT SELECT ON of_reader TO streambloom_owner;
SET ROLE streambloom_owner;
CREATE VIEW of_owner AS SELECT * FROM of_reader;
CREATE VIEW of_function AS SELECT * FROM rows_of_log();
SELECT error_of($$SELECT tbf_rollup_create('r2', 'of_reader', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r2', 'of_owner', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r2', 'of_invoker', 'url', 'at')$$);
SELECT error_of($$SELECT tbf_rollup_create('r2', 'of_function', 'url', 'at')$$);
-- It does not apply to a superuser, whose view shows all rows. When the view is given to somebody else, the refresh
-- notices.
SELECT tbf_rollup_create('r2', 'of_all', 'url', 'at');
CALL tbf_rollup_refresh('r2');
SELECT sum(hits) FROM r2;
RESET ROLE;
ALTER VIEW of_all OWNER TO streambloom_reader;
INSERT INTO log VALUES ('2024-01-02', '/1');
SET ROLE streambloom_owner;
CALL tbf_rollup_refresh('r2');
SELECT last_error, (SELECT sum(hits) FROM r2) FROM tbf_rollups;
SELECT tbf_rollup_drop('r2');
DROP VIEW of_owner, of_function;
RESET ROLE;
DROP VIEW of_all, of_invoker, of_reader;
DROP FUNCTION rows_of_log;
REVOKE CREATE ON SCHEMA public FROM streambloom_reader;
REVOKE SELECT ON log FROM streambloom_reader;
REVOKE CREATE ON SCHEMA public FROM streambloom_owner;
REVOKE SELECT ON log FROM streambloom_owner;
DROP ROLE streambloom_owner, streambloom_reader;
DROP TABLE log;
