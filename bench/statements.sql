-- statements.sql: statements of all kinds about few rows of many partitions, with the settings of streambloom as they
-- are by default, and with all of them off; for bench/partitions. Needs its tables log and suspects.

CREATE TABLE statement (id int GENERATED ALWAYS AS IDENTITY, label text, query text);
CREATE TABLE statement_cost (id int, way text, buffers bigint, ms float8);

-- The cost of a statement, planning included. What it changes is undone, and its locks are given back.
CREATE FUNCTION cost_of(query text) RETURNS TABLE (buffers bigint, ms float8) LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	began timestamptz := clock_timestamp();
BEGIN
	IF query ~ '^LOCK' THEN
		EXECUTE query;
		ms := 1000 * extract(epoch FROM clock_timestamp() - began);
	ELSE
		-- as text: 15 writes JSON of a MERGE that cannot be read
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ' || query LOOP
			plan := plan || line || E'\n';
		END LOOP;
		SELECT sum(m[1]::float8) INTO ms FROM regexp_matches(plan, '(?:Planning|Execution) Time: ([0-9.]+)', 'g') m;
		-- the first line is that of the uppermost node
		SELECT sum(m[1]::bigint) INTO buffers
		FROM regexp_matches(substring(plan, 'Buffers: shared([^\n]*)') || coalesce(substring(plan, 'Planning:\n *Buffers: shared([^\n]*)'), ''), '(?:hit|read)=([0-9]+)', 'g') m;
	END IF;
	RAISE EXCEPTION USING ERRCODE = 'UT000';
EXCEPTION WHEN SQLSTATE 'UT000' THEN
	RETURN NEXT;
END
$$;

INSERT INTO statement (label, query) VALUES
	('`LOCK TABLE log IN ACCESS SHARE MODE`', 'LOCK TABLE log IN ACCESS SHARE MODE'),
	('an absent value', 'SELECT * FROM log WHERE uid = -5'),
	('the same, a generic plan', 'EXECUTE by_uid(-5)'),
	('`AND day >= …` of a function of `now()`', 'SELECT * FROM log WHERE uid = 7 AND day >= 500 + 0 * extract(hour FROM now())::int'),
	('`OR`', 'SELECT * FROM log WHERE uid = -5 OR uid = 7'),
	('`= (SELECT …)`', 'SELECT * FROM log WHERE uid = (SELECT min(uid) FROM suspects)'),
	('`= ANY (ARRAY(SELECT …))`, 20 values', 'SELECT * FROM log WHERE uid = ANY (ARRAY(SELECT uid FROM suspects))'),
	('`= ANY ($1)`, 20 values, a generic plan', (SELECT format('EXECUTE by_uids(%L)', array_agg(uid)) FROM suspects)),
	('a join with 20 keys', 'SELECT l.* FROM log l JOIN suspects s USING (uid)'),
	('`LATERAL`, 20 outer rows', 'SELECT l.* FROM suspects s, LATERAL (SELECT * FROM log WHERE uid = s.uid LIMIT 1) l'),
	('`UPDATE`', 'UPDATE log SET status = 404 WHERE uid = 7'),
	('`DELETE`', 'DELETE FROM log WHERE uid = 7'),
	('`MERGE`', 'MERGE INTO log USING (SELECT 7 AS one) s ON uid = 7 WHEN MATCHED THEN UPDATE SET status = 404'),
	('`SELECT … FOR UPDATE`', 'SELECT * FROM log WHERE uid = 7 FOR UPDATE'),
	('`ORDER BY day DESC LIMIT 3`, of each partition', 'SELECT * FROM log WHERE uid = 8 ORDER BY day DESC LIMIT 3'),
	('`LIMIT 5`, of each partition', 'SELECT * FROM log WHERE uid = 8 LIMIT 5'),
	('a value of each partition', 'SELECT count(*) FROM log WHERE uid = 8'),
	('no index: all rows', 'SELECT count(*) FROM log WHERE host = ''host7''');
