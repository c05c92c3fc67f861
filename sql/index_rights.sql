-- index_rights: with whose rights and search_path the expressions of an index run, and who may call which function
CREATE ROLE streambloom_app;
CREATE ROLE streambloom_eve;
CREATE SCHEMA app AUTHORIZATION streambloom_app;
CREATE SCHEMA eve AUTHORIZATION streambloom_eve;
GRANT USAGE ON SCHEMA app TO PUBLIC;
GRANT USAGE ON SCHEMA eve TO PUBLIC;

-- The owner's functions call others without naming their schema: as plpgsql, as SQL that is inlined, by an operator.
SET ROLE streambloom_app;
CREATE FUNCTION app.norm(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE t text := lower($1); BEGIN RETURN t || 'x'; END $$;
CREATE FUNCTION app.norm_sql(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower($1) || 'x' $$;
CREATE FUNCTION app.keeps(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN length($1) > 0; END $$;
CREATE FUNCTION app.keeps_sql(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT length($1) > 0 $$;
CREATE TABLE app.t (w text, filler text);
CREATE INDEX t_bf ON app.t USING bf (app.norm(w), app.norm_sql(w)) WITH (pages_per_range = 1)
	WHERE app.keeps(w) AND app.keeps_sql(w);
INSERT INTO app.t SELECT 'One', repeat('x', 1000) FROM generate_series(1, 20);
CREATE INDEX t_w ON app.t (w);
GRANT SELECT, INSERT ON app.t TO streambloom_eve;

-- Eve's functions of the same names record when the owner calls them.
SET ROLE streambloom_eve;
CREATE TABLE eve.caught (what text);
GRANT INSERT ON eve.caught TO PUBLIC;
CREATE FUNCTION eve.note(text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF current_user = 'streambloom_app' THEN INSERT INTO eve.caught VALUES ($1); END IF;
END $$;
CREATE FUNCTION eve.lower(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM eve.note('lower'); RETURN pg_catalog.lower($1); END $$;
CREATE FUNCTION eve.length(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM eve.note('length'); RETURN pg_catalog.length($1); END $$;
CREATE FUNCTION eve.cat(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM eve.note('||'); RETURN pg_catalog.textcat($1, $2); END $$;
CREATE OPERATOR eve.|| (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = eve.cat);
CREATE FUNCTION eve.greater(integer, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM eve.note('>'); RETURN pg_catalog.int4gt($1, $2); END $$;
CREATE OPERATOR eve.> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = eve.greater);
CREATE FUNCTION eve.checked(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM eve.note('domain'); RETURN true; END $$;
RESET ROLE;

-- Runs a command as a role, with Eve's schema first in search_path, and returns whom her functions caught.
CREATE FUNCTION by_eve(command text, role text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('role', role, true), set_config('search_path', 'eve, pg_catalog, public', true);
	result := public.error_of(command);
	PERFORM pg_catalog.set_config('role', 'none', true), pg_catalog.set_config('search_path', 'public', true);
	SELECT concat_ws('; ', result, 'caught by ' OPERATOR(pg_catalog.||) string_agg(DISTINCT what, ' ')) INTO result FROM eve.caught;
	DELETE FROM eve.caught;
	RETURN result;
END
$$;

-- Eve's own session has cached everything that can be cached
SELECT by_eve('SELECT count(*) FROM app.t WHERE app.norm(w) = ''onex'' AND app.norm_sql(w) = ''onex'' AND app.keeps(w) AND app.keeps_sql(w)', 'streambloom_eve');
SELECT command, by_eve(command, 'streambloom_app') FROM (VALUES
	('SELECT bf_index_check(''app.t_bf'')'),
	('SELECT bf_desummarize_range(''app.t_bf'', 0), bf_summarize_new_values(''app.t_bf'')'),
	('SELECT bf_desummarize_range(''app.t_bf'', 0), bf_summarize_range(''app.t_bf'', 0)')) c(command);
-- with INSERT alone
SELECT by_eve('INSERT INTO app.t SELECT i::pg_catalog.text, repeat(''x'', 1000) FROM generate_series(1, 50) i', 'streambloom_eve');

-- the superuser, who has her schema first in search_path by accident
SELECT by_eve(command, 'none') FROM (VALUES
	('SELECT bf_index_check(''app.t_bf'')'),
	('SELECT bf_desummarize_range(''app.t_bf'', 0), bf_summarize_new_values(''app.t_bf'')'),
	('REINDEX INDEX app.t_bf'),
	('CREATE INDEX t_bf_2 ON app.t USING bf (app.norm(w), app.norm_sql(w)) WHERE app.keeps(w) AND app.keeps_sql(w)'),
	('CLUSTER app.t USING t_w'), ('TRUNCATE app.t')) c(command);
INSERT INTO app.t SELECT i, repeat('x', 1000) FROM generate_series(1, 50) i;
SET search_path = eve, pg_catalog, public;
SELECT bf_desummarize_range('app.t_bf', 0);
VACUUM app.t;
CALL bf_summarize('app.t');
SHOW search_path;
SELECT * FROM eve.caught;
-- after an error the session has its own search_path and role again
SELECT error_of('CREATE INDEX ON app.t USING bf ((1 / (pg_catalog.length(w) - 2)))');
SELECT current_setting('search_path'), current_user;
RESET search_path;

-- The owner may summarize and check an index, and from 17 on also a user who may maintain the table. A user who may read the
-- table may look into the index. A user who may not neither waits for a lock nor gets one.
CREATE FUNCTION by(who text, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('role', who, true);
	BEGIN
		EXECUTE command;
		result := 'done';
	EXCEPTION WHEN OTHERS THEN
		result := SQLSTATE || ': ' || SQLERRM;
	END;
	PERFORM set_config('role', 'none', true);
	RETURN result;
END
$$;
CREATE TABLE eve_reads (v integer);
CREATE INDEX eve_reads_bf ON eve_reads USING bf (v);
INSERT INTO eve_reads SELECT generate_series(1, 10);
ALTER TABLE eve_reads OWNER TO streambloom_app;
GRANT SELECT ON eve_reads TO streambloom_eve;
CREATE TABLE commands (n serial, command text);
INSERT INTO commands (command) VALUES ('SELECT bf_index_check(''eve_reads_bf'')'), ('SELECT bf_summarize_new_values(''eve_reads_bf'')'),
	('SELECT bf_summarize_range(''eve_reads_bf'', 0)'), ('SELECT bf_desummarize_range(''eve_reads_bf'', 0)'),
	('CALL bf_summarize(''eve_reads'')'), ('CALL bf_summarize(''eve_reads_bf'')'),
	('SELECT bf_of(''eve_reads_bf'')'), ('SELECT bf_index_stats(''eve_reads_bf'')');
SELECT command, by('streambloom_eve', command) FROM commands ORDER BY n;
SELECT string_agg(DISTINCT by('streambloom_app', command), ' ') AS by_owner FROM commands;
DO $$
BEGIN
	IF current_setting('server_version_num')::integer >= 170000 THEN
		REVOKE SELECT ON eve_reads FROM streambloom_eve;
		GRANT MAINTAIN ON eve_reads TO streambloom_eve;
	ELSE
		-- all who have the rights of the owner
		GRANT streambloom_app TO streambloom_eve;
	END IF;
END $$;
SELECT command, by('streambloom_eve', command) FROM commands WHERE command NOT LIKE '%bf\_of%' AND command NOT LIKE '%stats%' ORDER BY n;
SELECT by('streambloom_eve', 'SELECT bf_of(''eve_reads_bf'')') IN ('done', '42501: permission denied for table eve_reads') AS reading_is_another_right;
DO $$
BEGIN
	IF current_setting('server_version_num')::integer >= 170000 THEN
		REVOKE MAINTAIN ON eve_reads FROM streambloom_eve;
	ELSE
		REVOKE streambloom_app FROM streambloom_eve;
	END IF;
END $$;

-- row-level security
GRANT SELECT ON eve_reads TO streambloom_eve;
ALTER TABLE eve_reads ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON eve_reads USING (v < 3);
SELECT by('streambloom_eve', command) FROM commands WHERE command LIKE '%bf\_of%' OR command LIKE '%stats%' ORDER BY n;
SET ROLE streambloom_eve;
SELECT error_of('SELECT bf_of(''eve_reads_bf'')');
SET row_security = off;
SELECT error_of('SELECT bf_of(''eve_reads_bf'')');
RESET row_security;
RESET ROLE;
SELECT string_agg(DISTINCT by('streambloom_app', command), ' ') AS by_owner FROM commands;
ALTER TABLE eve_reads FORCE ROW LEVEL SECURITY;
SELECT command, by('streambloom_app', command) AS by_owner_who_forced_himself FROM commands ORDER BY n;
SELECT string_agg(DISTINCT by('none', command), ' ') AS by_superuser FROM commands;

DROP TABLE eve_reads, commands;
DROP FUNCTION by, by_eve;
SET client_min_messages = warning;
DROP SCHEMA app, eve CASCADE;
DROP ROLE streambloom_app, streambloom_eve;
