-- chunk_boolean: boolean columns. The planner rewrites their comparisons: flag = true becomes flag, flag = false NOT flag

LOAD 'streambloom';
SET streambloom.enable_partition_scan = off;
CREATE SCHEMA chunk_boolean;
SET search_path = chunk_boolean, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- partitions in which flag is true, false, NULL, and all of these
CREATE DOMAIN answer AS boolean;
CREATE TABLE t (k int, id int, flag boolean, d answer, filler text DEFAULT repeat('x', 100)) PARTITION BY LIST (k);
CREATE TABLE t_true PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_false PARTITION OF t FOR VALUES IN (2);
CREATE TABLE t_null PARTITION OF t FOR VALUES IN (3);
CREATE TABLE t_all PARTITION OF t FOR VALUES IN (4);
INSERT INTO t SELECT 1, i, true, true FROM generate_series(0, 999) i;
INSERT INTO t SELECT 2, i * 100, false, false FROM generate_series(0, 999) i;
INSERT INTO t SELECT 3, i, NULL, NULL FROM generate_series(0, 999) i;
INSERT INTO t SELECT 4, i, v, v FROM generate_series(0, 1499) i, (VALUES (0, true), (1, false), (2, NULL)) v(m, v) WHERE i % 3 = m;
CREATE INDEX ON t USING bf (flag, d, (id % 100 > 50)) WITH (pages_per_range = 8);
VACUUM ANALYZE t;
CREATE TABLE s AS SELECT tableoid::regclass AS chunk, bf_agg(flag) AS flags, bf_agg(d::boolean) AS d FROM t GROUP BY 1;

-- chunk_scan and its kin, with indexes and with summaries: 1000 rows and 500
SELECT v, c,
	(SELECT count(*) FROM t WHERE flag = v) AS plain,
	(SELECT count(*) FROM chunk_scan(NULL::t, 'flag', v)) AS flag,
	(SELECT count(*) FROM chunk_scan(NULL::t, 'flag', v, 's')) AS with_summaries,
	(SELECT count(*) FROM chunk_scan(NULL::t, 'd', v, 's')) AS domain,
	(SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', ARRAY[v])) AS "any",
	(SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', ARRAY[v, NULL], 's')) AS any_with_summaries,
	(SELECT string_agg(chunk || ' ' || because, '; ') FROM chunk_scan_explain(NULL::t, 'flag', v) WHERE NOT is_read) AS skipped
FROM (VALUES (true, 1), (false, 2), (NULL, 3)) v(v, c) ORDER BY c;
SELECT count(*) FROM chunk_scan(NULL::t, 'flag', true);
SELECT count(*) FROM chunk_scan(NULL::t, 'flag', 'f');
SELECT count(*) FROM chunk_scan(NULL::t, 'flag', true::answer);
SELECT count(*) FROM chunk_scan(NULL::t, 'd', false);
SELECT count(*) FROM chunk_scan(NULL::t, 'd', 'yes');
SELECT count(*) FROM chunk_scan(NULL::t, 'd', 'yes'::answer, 's');
SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', '{t}');
SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', '{t,f}');
SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', '{}');
SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', '{NULL}');
SELECT count(*) FROM chunk_scan_any(NULL::t, 'flag', NULL::boolean[]);
SELECT count(*) FROM chunk_scan_any(NULL::t, 'd', '{f}', 's');
SELECT * FROM chunk_scan_explain(NULL::t, 'd', true, 's');
SELECT * FROM chunk_scan_explain(NULL::t, 'd', true);
PREPARE look(boolean) AS SELECT count(*) FROM chunk_scan(NULL::t, 'flag', $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE look(true);
EXECUTE look(false);
EXECUTE look(NULL);
RESET plan_cache_mode;

-- an operator of an SQL function, which the planner replaces by the function's body
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE FUNCTION same(a colour, b text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT a::text LIKE b';
CREATE OPERATOR = (LEFTARG = colour, RIGHTARG = text, FUNCTION = same);
CREATE TABLE paint (c colour);
INSERT INTO paint VALUES ('red'), ('blue');
SELECT * FROM chunk_scan(NULL::paint, 'c', 'r%'::text);
SELECT * FROM chunk_scan_any(NULL::paint, 'c', ARRAY['b%', NULL]);
SELECT * FROM chunk_scan_explain(NULL::paint, 'c', 'r%'::text);

-- a value whose conversion depends on a setting
CREATE TABLE clock (at timetz);
INSERT INTO clock VALUES ('10:00+00'), ('10:00+01');
SET timezone = 'UTC';
SELECT * FROM chunk_scan(NULL::clock, 'at', '10:00'::time);
SET timezone = 'Etc/GMT-1';
SELECT * FROM chunk_scan(NULL::clock, 'at', '10:00'::time);
SELECT * FROM chunk_scan_any(NULL::clock, 'at', ARRAY['10:00'::time, '11:00']);
RESET timezone;

SET streambloom.enable_partition_scan = off;
-- Plain queries: the answer with Skip and without, and its verdicts. (PostgreSQL 15 does not use a bf index
-- for a scan of a boolean column; later versions do.)
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest CONSTANT text := format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(q::text, '';'' ORDER BY q::text)), '''') FROM (%s) q', query);
	line text;
	skipped text := 'no node';
	mine text;
	plain text;
BEGIN
	EXECUTE digest INTO mine;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		skipped := coalesce(substring(line FROM 'Verdicts: (.*)'), skipped);
	END LOOP;
	SET LOCAL streambloom.enable_skip = off;
	EXECUTE digest INTO plain;
	SET LOCAL streambloom.enable_skip = on;
	RETURN CASE WHEN mine = plain THEN 'same, ' || split_part(mine, ' ', 1) || ' rows' ELSE mine || ' but plain ' || plain END || ', ' || skipped;
END
$$;
SELECT clause, compare('SELECT * FROM t WHERE ' || clause)
FROM unnest(ARRAY['flag', 'NOT flag', 'flag = true', 'flag = false', 'true = flag', 'flag <> true', 'flag IS TRUE', 'flag IS FALSE',
	'flag IS UNKNOWN', 'flag IS NULL', 'flag IS NOT TRUE', 'flag IS NOT FALSE', 'flag IS NOT UNKNOWN', 'NOT (flag IS TRUE)',
	'flag AND d', 'flag AND NOT d', 'flag OR d', 'flag IN (true)', 'flag IN (false, NULL)', 'flag = ANY (''{t,f}'')', 'flag = ANY (''{}'')',
	'd', 'NOT d', 'd = true', 'd IS FALSE', 'd::boolean IS TRUE',
	'id % 100 > 50', '(id % 100 > 50) = true', '(id % 100 > 50) IS TRUE', '(id % 100 > 50) IS FALSE', 'NOT (id % 100 > 50)',
	'(id % 100 > 50) = false', 'id % 100 > 51', 'flag AND id % 100 > 50',
	'CASE WHEN k > 0 THEN flag END', 'coalesce(flag, false)']) clause;
PREPARE by_value(boolean) AS SELECT count(*) FROM t WHERE flag = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_value(true);
EXECUTE by_value(false);
EXECUTE by_value(NULL);
RESET plan_cache_mode;
SELECT compare('SELECT * FROM (VALUES (true)) v(v), t WHERE flag = v');

-- a partial index, with a predicate that is a boolean column
DROP TABLE s;
DROP INDEX t_flag_d_expr_idx;
CREATE INDEX ON t USING bf (d) WHERE flag;
SELECT clause, compare('SELECT * FROM t WHERE ' || clause)
FROM unnest(ARRAY['d', 'flag AND d', 'flag = true AND d = false', 'flag AND d IS UNKNOWN', 'NOT flag AND d']) clause;

-- an index on the comparison itself, beside one on the column: the search is for true, and another value is none of its
CREATE TABLE w (k int, h text) PARTITION BY LIST (k);
CREATE TABLE w_1 PARTITION OF w FOR VALUES IN (1);
CREATE TABLE w_2 PARTITION OF w FOR VALUES IN (2);
INSERT INTO w SELECT i % 2 + 1, 'h' || i / 400 FROM generate_series(0, 3999) i;
CREATE INDEX ON w USING bf ((h = 'absent'));
CREATE INDEX ON w USING bf (h);
VACUUM ANALYZE w;
SELECT value, compare(format('SELECT * FROM w WHERE h = %L', value)), (SELECT count(*) FROM chunk_scan(NULL::w, 'h', value))
FROM unnest(ARRAY['absent', 'absent', 'h3', 'h4']) value;
SET streambloom.enable_partition_scan = on;
SELECT count(*) FROM w WHERE h = 'absent';
SELECT count(*) FROM w WHERE h = 'h3';

DROP SCHEMA chunk_boolean CASCADE;
