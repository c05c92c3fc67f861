-- skip_security: behind row-level security and security barriers, a plain EXPLAIN does not depend on hidden rows, and an
-- execution asks only about conditions with leakproof operators

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA skip_security;
SET search_path = skip_security, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE log (id int NOT NULL, tenant int, uid bigint, name text, amount numeric, doc jsonb, tags int[], filler text DEFAULT repeat('x', 50))
	PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_rest PARTITION OF log DEFAULT PARTITION BY RANGE (id);
CREATE TABLE log_2 PARTITION OF log_rest FOR VALUES FROM (8000) TO (12000);
CREATE TABLE log_3 PARTITION OF log_rest DEFAULT;
INSERT INTO log SELECT i, i % 2, i, 'n' || i, i, to_jsonb(i), ARRAY[i] FROM generate_series(0, 15999) i;
CREATE INDEX ON log USING bf (uid, name, amount, doc jsonb_eq_ops, tags, lower(name)) WITH (pages_per_range = 8);
VACUUM ANALYZE log;
CREATE TABLE wanted AS SELECT 5001::bigint AS uid UNION ALL SELECT 99999;
ANALYZE wanted;

-- The node's lines in a plain EXPLAIN, and how much an execution asked and skipped.
CREATE FUNCTION node(query text, run bool DEFAULT false) RETURNS text LANGUAGE sql AS $$
	SELECT (count(*) FILTER (WHERE line ~ '\(Skip\)')) || ' Skip' || coalesce(', ' || string_agg(line, '; ') FILTER (WHERE line ~ 'Verdicts: '),
		', ' || string_agg(line, '; ') FILTER (WHERE line ~ 'Verdict: '), CASE WHEN run THEN ', not asked' ELSE '' END)
	FROM (SELECT btrim(line) AS line FROM plan_lines(query, run) line) l WHERE line ~ '\(Skip\)|Verdict';
$$;
-- Is the whole plain EXPLAIN, with costs, the same for a value that is only in hidden rows and for one that does not occur?
CREATE FUNCTION tells(query text, hidden text, absent text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	texts text[] := '{"", ""}';
BEGIN
	FOR i IN 1 .. 2 LOOP
		FOR line IN EXECUTE 'EXPLAIN ' || replace(query, '?', CASE i WHEN 1 THEN hidden ELSE absent END) LOOP
			texts[i] := texts[i] || replace(line, CASE i WHEN 1 THEN hidden ELSE absent END, '?') || E'\n';
		END LOOP;
	END LOOP;
	RETURN CASE WHEN texts[1] = texts[2] THEN 'nothing' ELSE E'something:\n' || texts[1] || texts[2] END;
END
$$;

CREATE ROLE regress_skip_even;
CREATE ROLE regress_skip_all;
GRANT USAGE ON SCHEMA skip_security TO regress_skip_even, regress_skip_all;
GRANT SELECT ON log, log_rest, log_1, wanted TO regress_skip_even, regress_skip_all;
CREATE POLICY even ON log TO regress_skip_even USING (tenant = 0);
CREATE POLICY everything ON log TO regress_skip_all USING (true);
ALTER TABLE log ENABLE ROW LEVEL SECURITY;

-- policies do not apply to the owner: the node asks
SELECT node('SELECT * FROM log WHERE uid = 5001');
SELECT node('SELECT * FROM log WHERE doc = ''5001''');

-- a plain EXPLAIN asks nothing
SET ROLE regress_skip_even;
SELECT node('SELECT * FROM log WHERE uid = 5001');
SELECT node('SELECT * FROM log WHERE uid IS NULL');
SELECT tells('SELECT * FROM log WHERE uid = ?', '5001', '9999999');
SELECT tells('SELECT * FROM log WHERE uid IN (?, 9999998)', '5001', '9999999');
SELECT tells('SELECT * FROM log WHERE name = ''?''', 'n5001', 'n9999999');
SELECT tells('SELECT * FROM log WHERE lower(name) = ''?''', 'n5001', 'n9999999');
SELECT tells('SELECT * FROM log WHERE amount = ?', '5001', '9999999');
SELECT tells('SELECT * FROM log WHERE doc = ''?''', '5001', '9999999');
SELECT tells('SELECT * FROM log WHERE tags = ''{?}''', '5001', '9999999');
SELECT tells('SELECT * FROM log l WHERE EXISTS (SELECT FROM log WHERE uid = ?)', '5001', '9999999');
SELECT tells('SELECT * FROM (SELECT * FROM log UNION ALL SELECT * FROM log) l WHERE uid = ?', '5001', '9999999');
SELECT tells('WITH l AS MATERIALIZED (SELECT * FROM log WHERE uid = ?) SELECT * FROM l', '5001', '9999999');

-- an execution asks about integers and texts, whose = is leakproof; not about jsonb, arrays, numeric and an index expression
SELECT node('SELECT * FROM log WHERE uid = 5001', true);
SELECT node('SELECT * FROM log WHERE uid = 5002', true);
SELECT node('SELECT * FROM log WHERE uid IN (5002, 9002)', true);
SELECT node('SELECT * FROM log WHERE uid IS NULL', true);
SELECT node('SELECT * FROM log WHERE name = ''n5002''', true);
SELECT node('SELECT * FROM log WHERE lower(name) = ''n5002''', true);
SELECT node('SELECT * FROM log WHERE amount = 5002', true);
SELECT node('SELECT * FROM log WHERE doc = ''5002''', true);
SELECT node('SELECT * FROM log WHERE tags = ''{5002}''', true);
SELECT node('SELECT * FROM log WHERE doc = ''5002'' AND uid = 5002', true);
SELECT node('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE uid = w.uid OFFSET 0) l', true);
SELECT node('SELECT * FROM wanted w, LATERAL (SELECT * FROM log WHERE doc = to_jsonb(w.uid) OFFSET 0) l', true);
SELECT id FROM log WHERE uid IN (5001, 5002);
SELECT id FROM log WHERE doc IN ('5001', '5002');
SELECT id FROM log WHERE amount IN (5001, 5002);

-- policies of the parent do not apply to a partition that is named itself
SELECT node('SELECT * FROM log_rest WHERE uid = 5001');

-- the same table twice, once behind security quals: in a view of its owner
RESET ROLE;
CREATE VIEW of_owner AS SELECT * FROM log;
GRANT SELECT ON of_owner TO regress_skip_even;
SET ROLE regress_skip_even;
SELECT node('SELECT * FROM of_owner WHERE doc = ''5001''');
SELECT node('SELECT count(*) FROM of_owner v WHERE uid = 5001 AND NOT EXISTS (SELECT FROM log WHERE uid = 5002)');
SELECT tells('SELECT count(*) FROM of_owner v WHERE uid = 6001 AND NOT EXISTS (SELECT FROM log WHERE doc = ''?'')', '5001', '9999999');
RESET ROLE;

-- security barriers: conditions of the outer query, and conditions of the view itself
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM log WHERE tenant = 0;
CREATE VIEW setting WITH (security_barrier) AS SELECT id FROM log WHERE tenant = 0 AND uid = current_setting('app.uid')::bigint;
CREATE VIEW nested AS SELECT * FROM (SELECT * FROM barrier OFFSET 0) b UNION ALL SELECT * FROM barrier;
CREATE VIEW constant WITH (security_barrier) AS SELECT id FROM log WHERE tenant = 0 AND uid = 5001;
GRANT SELECT ON barrier, setting, nested, constant TO regress_skip_even;
SET ROLE regress_skip_even;
SELECT node('SELECT * FROM barrier WHERE uid = 5001');
SELECT tells('SELECT * FROM barrier WHERE uid = ?', '5001', '9999999');
SELECT tells('SELECT * FROM barrier WHERE doc = ''?''', '5001', '9999999');
SELECT tells('SELECT * FROM nested WHERE uid = ?', '5001', '9999999');
SELECT tells('SELECT count(*) FROM (SELECT * FROM barrier OFFSET 0) l WHERE uid = ?', '5001', '9999999');
SELECT node('SELECT * FROM constant');
SET app.uid = 5001;
SELECT node('SELECT * FROM setting');
SET app.uid = 9999999;
SELECT node('SELECT * FROM setting');
SELECT node('SELECT * FROM barrier WHERE uid = 5001', true);
SELECT id FROM barrier WHERE uid IN (5001, 5002);
RESET app.uid;
RESET ROLE;

-- kept plans: made for one role, and executed by another
PREPARE look(bigint) AS SELECT id FROM log WHERE uid = $1;
PREPARE look_doc(jsonb) AS SELECT id FROM log WHERE doc = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE look(5001);
SELECT node('EXECUTE look(5001)');
SELECT node('EXECUTE look_doc(''5001'')');
SET ROLE regress_skip_even;
EXECUTE look(5001);
SELECT node('EXECUTE look(5001)');
SELECT node('EXECUTE look(9999999)');
SELECT node('EXECUTE look(5001)', true);
SELECT node('EXECUTE look_doc(''5001'')');
SELECT node('EXECUTE look_doc(''5001'')', true);
SET ROLE regress_skip_all;
EXECUTE look(5001);
SELECT node('EXECUTE look(5001)');
RESET ROLE;
EXECUTE look(5001);
SELECT node('EXECUTE look(5001)');
RESET plan_cache_mode;

-- a function that is evaluated during planning plans a statement that fails, and catches the error: nothing is forgotten
CREATE FUNCTION fails() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	EXECUTE 'SELECT 1 / 0';
	RETURN 1;
EXCEPTION WHEN division_by_zero THEN
	PERFORM count(*) FROM wanted;
	RETURN 0;
END
$$;
SET ROLE regress_skip_even;
SELECT tells('SELECT * FROM log, generate_series(1, fails() + 1) WHERE uid = ?', '5001', '9999999');
SELECT tells('SELECT * FROM log WHERE uid = ? AND id >= ALL (SELECT fails() FROM log WHERE id < fails() OFFSET 0)', '5001', '9999999');
RESET ROLE;

-- the indexes are asked about a policy's own condition if its operator is leakproof
DROP POLICY even ON log;
CREATE POLICY mine ON log TO regress_skip_even USING (uid = current_setting('app.uid')::bigint);
SET ROLE regress_skip_even;
SET app.uid = 5001;
SELECT node('SELECT id FROM log');
SELECT node('SELECT id FROM log', true);
SELECT id FROM log;
RESET ROLE;

DROP SCHEMA skip_security CASCADE;
DROP ROLE regress_skip_even, regress_skip_all;
