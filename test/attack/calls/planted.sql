-- planted.sql: functions that each have a fault, as members of the extension. calls.pl has to report each of them.
-- Only planted_harmless() has no fault, and must not be reported.
CREATE FUNCTION planted_harmless(number bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1 / nullif(number, 0)';

-- An error of class XX for one of the extremes.
CREATE FUNCTION planted_internal_error(number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF number = -9223372036854775808 THEN
		RAISE EXCEPTION 'planted' USING ERRCODE = 'XX000';
	END IF;
	RETURN 1;
END $$;

-- An error of class XX for two extremes together.
CREATE FUNCTION planted_pair(rate double precision, cells double precision, hashes integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF rate BETWEEN 1e-320 AND 1e-9 AND cells BETWEEN 1e9 AND 1e308 THEN
		RAISE EXCEPTION 'planted' USING ERRCODE = 'XX000';
	END IF;
	RETURN true;
END $$;

-- An operator with an error of class XX for one value of its second argument.
CREATE FUNCTION planted_operator_error(one interval, other double precision) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF other = 'NaN' THEN
		RAISE EXCEPTION 'planted' USING ERRCODE = 'XX000';
	END IF;
	RETURN true;
END $$;

-- An aggregate that fails for a NULL.
CREATE FUNCTION planted_step(state bigint, number integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF number IS NULL THEN
		RAISE EXCEPTION 'planted' USING ERRCODE = 'XX000';
	END IF;
	RETURN 1;
END $$;
CREATE AGGREGATE planted_aggregate(integer) (SFUNC = planted_step, STYPE = bigint);

-- Takes an integer for the address of a text, and returns the length of that text.
CREATE FUNCTION planted_crash(number integer) RETURNS integer LANGUAGE internal AS 'textlen';

-- Goes on after the timeout, for some time or for ever. (A timeout is sent only once.)
CREATE FUNCTION planted_late(flag boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(10);
	RETURN flag;
EXCEPTION WHEN query_canceled THEN
	PERFORM pg_sleep(0.8);
	RETURN flag;
END $$;
CREATE FUNCTION planted_deaf(flag boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(10);
	RETURN flag;
EXCEPTION WHEN query_canceled THEN
	PERFORM pg_sleep(600);
	RETURN flag;
END $$;

CREATE FUNCTION planted_hungry(flag boolean) RETURNS integer LANGUAGE sql AS $$ SELECT CASE WHEN flag THEN octet_length(repeat(repeat('x', 1000000), 90)) END $$;

CREATE TYPE planted_type AS ENUM ('x');
CREATE FUNCTION planted_unknown_type(thing planted_type) RETURNS integer LANGUAGE sql AS 'SELECT 1';

ALTER EXTENSION streambloom ADD FUNCTION planted_harmless(bigint);
ALTER EXTENSION streambloom ADD FUNCTION planted_internal_error(bigint);
ALTER EXTENSION streambloom ADD FUNCTION planted_pair(double precision, double precision, integer);
ALTER EXTENSION streambloom ADD FUNCTION planted_operator_error(interval, double precision);
ALTER EXTENSION streambloom ADD AGGREGATE planted_aggregate(integer);
ALTER EXTENSION streambloom ADD FUNCTION planted_crash(integer);
ALTER EXTENSION streambloom ADD FUNCTION planted_late(boolean);
ALTER EXTENSION streambloom ADD FUNCTION planted_deaf(boolean);
ALTER EXTENSION streambloom ADD FUNCTION planted_hungry(boolean);
ALTER EXTENSION streambloom ADD FUNCTION planted_unknown_type(planted_type);
