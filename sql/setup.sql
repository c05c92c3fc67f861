-- setup: the extension, citext for the tests of items, and functions by which tests look at errors and compare answers
SET client_min_messages = warning;
CREATE EXTENSION citext;
-- STREAMBLOOM_FROM=0.9.0 scripts/test regress: all tests on an extension that was upgraded to the current version
\getenv from STREAMBLOOM_FROM
\if :{?from}
CREATE EXTENSION streambloom VERSION :'from';
ALTER EXTENSION streambloom UPDATE;
\else
CREATE EXTENSION streambloom;
\endif

-- The whole error that a command raises. From PostgreSQL 19 on the hint about functions and operators that do not fit
-- is in two parts, or a detail alone where there is none of that name.
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
	IF detail ~ '^No (function|operator) of that name accepts the given argument types\.$' THEN
		hint := regexp_replace(detail, '^No (\w+) of that name accepts the given argument types', 'No \1 matches the given name and argument types') || ' ' || hint;
		detail := '';
	ELSIF detail ~ '^There is no (function|operator) of that name\.$' AND hint = '' THEN
		hint := regexp_replace(detail, '^There is no (\w+) of that name', 'No \1 matches the given name and argument types') || ' You might need to add explicit type casts.';
		detail := '';
	END IF;
	RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, 'DETAIL: ' || nullif(detail, ''), 'HINT: ' || nullif(hint, ''));
END
$$;

-- Only the SQLSTATE.
CREATE FUNCTION sqlstate_of(command text) RETURNS text LANGUAGE sql RETURN left(error_of(command), 5);

-- The rows of a query by way of an index and without one: how many there are, and by which index, or how the answers differ.
CREATE FUNCTION answers(query text) RETURNS text LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
	digest CONSTANT text := format('SELECT count(*) || '' rows, '' || coalesce(md5(string_agg(q::text, '';'' ORDER BY q::text)), '''') FROM (%s) q', query);
	by_index text;
	without_index text;
	line text;
	index text := 'no index';
BEGIN
	SET LOCAL enable_bitmapscan = on;
	EXECUTE digest INTO by_index;
	-- what was not run does not count: a Skip leaves it out
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Bitmap Index Scan on %' AND line NOT LIKE '%(never executed)' THEN
			index := substring(line FROM 'Bitmap Index Scan on (\w+)');
		END IF;
	END LOOP;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL streambloom.enable_skip = off;
	EXECUTE digest INTO without_index;
	SET LOCAL streambloom.enable_skip = on;
	IF by_index <> without_index THEN
		RETURN format('by %s: %s; without: %s', index, by_index, without_index);
	END IF;
	RETURN format('%s by %s', split_part(by_index, ',', 1), index);
END
$$;

-- What an answer has in common with others: all but the number of rows.
CREATE FUNCTION kind_of(answer text) RETURNS text LANGUAGE sql RETURN regexp_replace(answer, '^\d+ rows by', 'the same rows by');

-- The lines of a query's plan, run or not, without those that have memory, and without what only some versions of PostgreSQL write.
CREATE FUNCTION plan_lines(query text, run boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF%s) %s', CASE WHEN run THEN ', ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF' END, query) LOOP
		CONTINUE WHEN line ~ '^ *(Storage|Buffers|Index Searches|Disabled)\y|\yMemory\y';
		RETURN NEXT regexp_replace(line, '(rows=\d+)\.00', '\1');
	END LOOP;
END
$$;

-- Makes the table log with 98 partitions in the current schema: one for each day from 0 to 94, of which that of day 7 has its columns in another
-- order, and a default partition that is itself partitioned. more_columns are behind the others, and begin with a comma.
CREATE PROCEDURE make_partitioned_log(more_columns text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE log (day int NOT NULL, uid bigint, host text, v int, kind int%s) PARTITION BY RANGE (day)', more_columns);
	FOR i IN 0..94 LOOP
		CONTINUE WHEN i = 7;
		EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
	EXECUTE format('CREATE TABLE log_7 (host text, gone int%s, v int, uid bigint, kind int, day int NOT NULL)', more_columns);
	ALTER TABLE log_7 DROP gone;
	ALTER TABLE log ATTACH PARTITION log_7 FOR VALUES FROM (7) TO (8);
	CREATE TABLE log_rest PARTITION OF log DEFAULT PARTITION BY LIST (kind);
	CREATE TABLE log_rest_0 PARTITION OF log_rest FOR VALUES IN (0);
	CREATE TABLE log_rest_1 PARTITION OF log_rest FOR VALUES IN (1);
	CREATE TABLE log_rest_more PARTITION OF log_rest DEFAULT;
END
$$;

-- Runs a query with the node PartitionScan and without it. Says how many rows there are, whether they are the same, and whether the node was used.
CREATE FUNCTION compare_partition_scan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	with_node text[];
	without text[];
	gather text := format('SELECT coalesce(array_agg(t::text ORDER BY t::text), ''{}'') FROM (%s) t', query);
BEGIN
	SET LOCAL streambloom.enable_partition_scan = on;
	FOR line IN EXECUTE 'EXPLAIN ' || gather LOOP plan := plan || line; END LOOP;
	EXECUTE gather INTO with_node;
	SET LOCAL streambloom.enable_partition_scan = off;
	EXECUTE gather INTO without;
	RETURN format('%s, %s rows%s', CASE WHEN with_node = without THEN 'the same' ELSE 'DIFFERENT' END, cardinality(with_node),
		CASE WHEN plan ~ 'PartitionScan' THEN ', PartitionScan' END);
END
$$;

-- Runs a query in a cursor, and a command after its first row. Says how many rows there were, or which error came. All is undone.
CREATE FUNCTION rows_beside_command(command text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN EXECUTE query LOOP
		n := n + 1;
		IF n = 1 THEN EXECUTE command; END IF;
	END LOOP;
	RAISE '% rows', n USING ERRCODE = 'ZZ000';	-- undoes the command
EXCEPTION WHEN OTHERS THEN
	RETURN format('%s %s', nullif(SQLSTATE, 'ZZ000'), SQLERRM);
END
$$;
