-- skip_late: arguments whose evaluation may fail are evaluated when the first row is wanted, and not before

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_late;
SET search_path = skip_late, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE log (id int NOT NULL, uid bigint, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (8000) TO (12000);
INSERT INTO log SELECT i, i FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 8);
VACUUM ANALYZE log;
CREATE FUNCTION node(query text, run bool DEFAULT false) RETURNS text LANGUAGE sql AS $$
	SELECT (count(*) FILTER (WHERE line ~ '\(Skip\)')) || ' Skip' || coalesce(', ' || string_agg(line, '; ') FILTER (WHERE line ~ 'Verdicts: '),
		', ' || string_agg(line, '; ') FILTER (WHERE line ~ 'Verdict: '), CASE WHEN run THEN ', not asked' ELSE '' END)
	FROM (SELECT btrim(line) AS line FROM plan_lines(query, run) line) l WHERE line ~ '\(Skip\)|Verdict';
$$;
CREATE SEQUENCE calls;
-- declared STABLE, although it counts how often it is called
CREATE FUNCTION called(v bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM nextval('skip_late.calls'); RETURN v; END $$;
CREATE FUNCTION calls_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := nextval('calls');
BEGIN
	EXECUTE query;
	RETURN CASE nextval('calls') - before - 1 WHEN 0 THEN 'none' ELSE 'some' END;
END
$$;

-- known when the execution begins: constants, and parameters of the statement
SET plan_cache_mode = force_generic_plan;
PREPARE bare(bigint) AS SELECT id FROM log WHERE uid = $1;
PREPARE bare_list(bigint, bigint) AS SELECT id FROM log WHERE uid IN ($1, $2, 9000);
PREPARE bare_array(bigint[]) AS SELECT id FROM log WHERE uid = ANY ($1);
SELECT node('EXECUTE bare(5000)');
SELECT node('EXECUTE bare_list(5000, NULL)');
SELECT node('EXECUTE bare_array(''{5000,1}'')');
EXECUTE bare(5000);
EXECUTE bare_list(5000, NULL);
EXECUTE bare_array('{5000,1}');

-- known later: casts of parameters, and functions
PREPARE converted(text) AS SELECT id FROM log WHERE uid = $1::bigint;
SELECT node('EXECUTE converted(''5000'')');
SELECT node('EXECUTE converted(''5000'')', true);
EXECUTE converted('5000');
EXECUTE converted(NULL);
SELECT node('EXECUTE converted(''no number'')');
SELECT sqlstate_of('EXECUTE converted(''no number'')');
-- one condition whose value is known at once, and one whose value is not
PREPARE two(bigint, text) AS SELECT id FROM log WHERE uid IN ($1, 9000) AND uid = $2::bigint;
SELECT node('EXECUTE two(5000, ''no number'')');
SELECT node('EXECUTE two(5000, ''5000'')', true);
SELECT node('EXECUTE two(5000, ''9000'')', true);
SELECT node('EXECUTE two(5000, ''1'')', true);
EXECUTE two(5000, '5000');
EXECUTE two(5000, '9000');
EXECUTE two(5000, '1');

-- a branch that is not taken
PREPARE branch(text) AS SELECT CASE WHEN $1 ~ '^[0-9]+$' THEN (SELECT id FROM log WHERE uid = $1::bigint) END;
EXECUTE branch('5000');
EXECUTE branch('no number');
SELECT node('EXECUTE branch(''no number'')');
SELECT node('EXECUTE branch(''no number'')', true);
PREPARE gate(text) AS SELECT count(*) FROM (SELECT * FROM log WHERE uid = $1::bigint OFFSET 0) l WHERE $1 ~ '^[0-9]+$';
EXECUTE gate('5000');
EXECUTE gate('no number');
PREPARE gate_within(text) AS SELECT count(*) FROM log WHERE $1 ~ '^[0-9]+$' AND uid = $1::bigint;
EXECUTE gate_within('5000');
EXECUTE gate_within('no number');
PREPARE none(text, int) AS SELECT id FROM log WHERE uid = $1::bigint LIMIT $2;
EXECUTE none('5000', 1);
EXECUTE none('no number', 0);
PREPARE no_outer(text) AS SELECT l.id FROM (SELECT 1 WHERE $1 ~ '^[0-9]+$') o, LATERAL (SELECT * FROM log WHERE uid = $1::bigint OFFSET 0) l;
EXECUTE no_outer('5000');
EXECUTE no_outer('no number');

-- a plain EXPLAIN calls no function, nor does a scan that is never executed
PREPARE by_call(bigint, int) AS SELECT id FROM log WHERE uid = called($1) LIMIT $2;
SELECT node('EXECUTE by_call(5000, 1)');
SELECT calls_of('EXPLAIN EXECUTE by_call(5000, 1)'), calls_of('EXECUTE by_call(5000, 0)'), calls_of('EXECUTE by_call(5000, 1)');
SELECT node('SELECT id FROM log WHERE uid = called(5000)', true);
SELECT id FROM log WHERE uid = called(5000);

-- rescans: before the first row, with a change, and without one
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;
SELECT w, l.id FROM unnest('{5000,9000,1}'::bigint[]) w LEFT JOIN LATERAL (SELECT id FROM log WHERE uid = called(w) OFFSET 0) l ON true;
SELECT w, l.id FROM unnest('{5000,9000,1}'::bigint[]) w LEFT JOIN LATERAL (SELECT id FROM log WHERE uid = called(5000) OFFSET 0) l ON l.id >= w;
SELECT w, l.id FROM unnest('{5000,9000,1}'::bigint[]) w LEFT JOIN LATERAL (SELECT id FROM log WHERE uid = called(-1) OFFSET 0) l ON l.id >= w;
SET enable_memoize = on;
SELECT w, l.id FROM unnest('{5000,9000,5000,1,9000,5000}'::bigint[]) w, LATERAL (SELECT id FROM log WHERE uid = called(w) OFFSET 0) l;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;
RESET enable_material;

-- PL/pgSQL: a field of a record that has no value, in a branch that is not taken; variables
CREATE FUNCTION by_record(known bool) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	IF known THEN
		SELECT 5000::bigint AS uid INTO r;
	END IF;
	RETURN CASE WHEN known THEN (SELECT id FROM log WHERE uid = r.uid) END;
END
$$;
SELECT by_record(true), by_record(false), by_record(true);
CREATE FUNCTION by_variable(v text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	IF v ~ '^[0-9]+$' THEN
		n := v;
	END IF;
	RETURN (SELECT id FROM log WHERE uid = n);
END
$$;
SELECT by_variable('5000'), by_variable('no number'), by_variable('9000');
RESET plan_cache_mode;

-- parts of a UNION ALL: each part has its own argument or subquery, which is evaluated only if the part is reached
SET enable_bitmapscan = off;
CREATE INDEX ON log_0 USING bf (uid, filler);
CREATE TABLE outer_rows AS SELECT n, n * 1500 AS uid FROM generate_series(0, 7) n;
ANALYZE outer_rows;
-- the subqueries depend on the outer row
SELECT o.n, array_agg(u.id ORDER BY u.id) FROM outer_rows o, LATERAL (SELECT id FROM log_0 WHERE uid = (SELECT o.uid) UNION ALL SELECT id FROM log_1 WHERE uid = (SELECT o.uid) UNION ALL SELECT id FROM log_2 WHERE uid = (SELECT o.uid + 1) OFFSET 0) u GROUP BY o.n ORDER BY o.n;
SELECT o.n, (SELECT sum(id) FROM (SELECT id FROM log_0 WHERE uid = ANY (ARRAY(SELECT o.uid + g FROM generate_series(0, 9) g)) UNION ALL SELECT id FROM log_1 WHERE uid = ANY (ARRAY(SELECT o.uid + g FROM generate_series(0, 9) g)) OFFSET 0) u) FROM outer_rows o ORDER BY o.n;
-- the subquery of a part that is left out has no value
SELECT node($$SELECT id FROM log_0 WHERE filler = 'absent' AND uid = ANY (ARRAY(SELECT g FROM generate_series(1, 20) g)) UNION ALL SELECT id FROM log_1 WHERE uid IN (4000, 4001)$$, true);
SELECT id FROM log_0 WHERE filler = 'absent' AND uid = ANY (ARRAY(SELECT g FROM generate_series(1, 20) g)) UNION ALL SELECT id FROM log_1 WHERE uid IN (4000, 4001);
SELECT id FROM log_0 WHERE uid = 9000 AND filler = lower((SELECT 'X')) UNION ALL SELECT id FROM log_1 WHERE uid = called(4001) ORDER BY id;
-- a subquery whose part is never reached is not run
SELECT id FROM log_0 WHERE uid = 1 UNION ALL SELECT id FROM log_1 WHERE uid = (SELECT uid FROM outer_rows) LIMIT 1;
-- nor is the argument of a part that is never reached, or that is left out, evaluated
SET plan_cache_mode = force_generic_plan;
PREPARE not_reached(text) AS SELECT id FROM log_0 WHERE uid = 1 UNION ALL SELECT id FROM log_1 WHERE uid = $1::bigint LIMIT 1;
SELECT node('EXECUTE not_reached(''4000'')'), sqlstate_of('EXECUTE not_reached(''no number'')');
PREPARE left_out(text) AS SELECT id FROM log_0 WHERE filler = 'absent' AND uid = $1::bigint UNION ALL SELECT id FROM log_1 WHERE uid IN (4000, 9000);
SELECT node('EXECUTE left_out(''4000'')'), sqlstate_of('EXECUTE left_out(''no number'')');
-- both parts have the argument
PREPARE in_both(text) AS SELECT id FROM log_0 WHERE uid = $1::bigint UNION ALL SELECT id FROM log_1 WHERE uid = $1::bigint;
SELECT node('EXECUTE in_both(''4000'')', true), sqlstate_of('EXECUTE in_both(''no number'')');
EXECUTE in_both('4000');
-- a sorted UNION ALL begins with all of its parts
SET enable_sort = off;
SET enable_seqscan = off;
CREATE INDEX log_0_sorted ON log_0 (id);
CREATE INDEX log_1_sorted ON log_1 (id);
SELECT regexp_replace(line, ' \(actual.*', '') AS line FROM plan_lines('SELECT * FROM ((SELECT id FROM log_0 WHERE uid = 1 ORDER BY id) UNION ALL (SELECT id FROM log_1 WHERE uid = called(4001) ORDER BY id)) u ORDER BY id', true) line WHERE line ~ 'Append|Custom|Verdict';
SELECT o.n, array_agg(u.id) FROM outer_rows o, LATERAL (SELECT * FROM ((SELECT id FROM log_0 WHERE uid = (SELECT o.uid) ORDER BY id) UNION ALL (SELECT id FROM log_1 WHERE uid = (SELECT o.uid) ORDER BY id)) b ORDER BY id LIMIT 9) u GROUP BY o.n ORDER BY o.n;
DROP INDEX log_0_sorted, log_1_sorted;
RESET enable_sort;
RESET enable_bitmapscan;
RESET enable_seqscan;
-- a table whose first partition is read by an index-only scan
CREATE INDEX log_0_only ON log_0 (uid);
VACUUM log_0;
PREPARE only_first(text) AS SELECT count(*) FROM log WHERE uid = $1::bigint;
SELECT node('EXECUTE only_first(''5000'')', true);
DROP INDEX log_0_only;
-- the parameter of a nested loop in one part
SELECT node('SELECT o.n, u.id FROM outer_rows o, LATERAL (SELECT id FROM log_0 WHERE uid = 7 UNION ALL SELECT id FROM log_1 WHERE uid = o.uid OFFSET 0) u', true);
SELECT o.n, u.id FROM outer_rows o, LATERAL (SELECT id FROM log_0 WHERE uid = 7 UNION ALL SELECT id FROM log_1 WHERE uid = o.uid OFFSET 0) u ORDER BY o.n, u.id;
RESET plan_cache_mode;
DROP TABLE outer_rows;

-- a cursor whose first fetch is of the last row
BEGIN;
SELECT set_config('plan_cache_mode', 'force_generic_plan', true);
DECLARE c SCROLL CURSOR FOR SELECT id FROM log WHERE uid IN (called(5000), 9000);
FETCH ABSOLUTE -1 FROM c;
FETCH BACKWARD ALL FROM c;
FETCH ALL FROM c;
ROLLBACK;

-- empty partitions: an argument is evaluated when the scan begins and fails then, as in bitmap scans of the partitions
SET plan_cache_mode = force_generic_plan;
DELETE FROM log;
SELECT node('EXECUTE by_call(5000, 1)', true);
SELECT calls_of('EXECUTE by_call(5000, 1)'), sqlstate_of('EXECUTE converted(''no number'')');
-- without a page nothing is evaluated, nor is it without the node
TRUNCATE log;
SET enable_bitmapscan = off;
SELECT node('EXECUTE by_call(5000, 1)', true), calls_of('EXECUTE by_call(5000, 1)'), sqlstate_of('EXECUTE converted(''no number'')');
SET streambloom.enable_skip = off;
SELECT calls_of('EXECUTE by_call(5000, 1)'), sqlstate_of('EXECUTE converted(''no number'')');

DROP SCHEMA skip_late CASCADE;
