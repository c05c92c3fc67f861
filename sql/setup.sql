-- setup: the extension, citext for the tests of items, and two functions by which tests look at errors
SET client_min_messages = warning;
CREATE EXTENSION citext;
CREATE EXTENSION streambloom;

-- The whole error that a command raises.
CREATE FUNCTION error_of(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, 'DETAIL: ' || nullif(detail, ''), 'HINT: ' || nullif(hint, ''));
END
$$;

-- Only the SQLSTATE.
CREATE FUNCTION sqlstate_of(command text) RETURNS text LANGUAGE sql RETURN left(error_of(command), 5);
