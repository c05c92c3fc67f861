-- index_estimates: the planner asks a bf index how much of a table a condition leaves
CREATE SCHEMA estimates;
SET search_path = estimates, public;
SET streambloom.enable_partition_scan = off;
SET max_parallel_workers_per_gather = 0;

-- The scans of a plan, with their indexes.
CREATE FUNCTION scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '(Seq Scan|Bitmap Heap Scan|Index Scan) ' AND line !~ 'Custom' THEN
			result := concat_ws(', ', nullif(result, ''), substring(line, '((?:Seq|Bitmap Heap|Bitmap Index|Index) Scan (?:on|using) \S+)'));
		END IF;
	END LOOP;
	RETURN result;
END $$;
-- With the estimates, and without.
CREATE FUNCTION plans(query text, OUT asked text, OUT guessed text) LANGUAGE plpgsql AS $$
BEGIN
	asked := scans(query);
	SET LOCAL streambloom.enable_index_estimates = off;
	guessed := scans(query);
	SET LOCAL streambloom.enable_index_estimates = on;
END $$;
-- Where reading a page costs 1 and all else nothing, the cost is the number of pages: here as a share of the table's pages, with or without those of the index.
CREATE FUNCTION pages_costed(query text, relation regclass, of_index boolean DEFAULT true) RETURNS float8 LANGUAGE plpgsql
	SET enable_seqscan = off SET seq_page_cost = 1 SET random_page_cost = 1 SET cpu_tuple_cost = 0 SET cpu_index_tuple_cost = 0 SET cpu_operator_cost = 0 AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN ((plan #>> '{0,Plan,Total Cost}')::float8 - CASE WHEN of_index THEN 0 ELSE (plan #>> '{0,Plan,Plans,0,Total Cost}')::float8 END) * current_setting('block_size')::float8 / pg_relation_size(relation);
END $$;

-- Keys of which each is in one row, lines, and values that lie together: the statistics do not know how few pages have them.
CREATE TABLE event (id integer, tags text[], doc jsonb, run integer, line text);
INSERT INTO event SELECT i, ARRAY['req:' || i, 'host:' || i % 100], jsonb_build_object('req', i, 'host', i % 100), i / 2000,
	format('GET /page/%s?session=%s HTTP/1.1 200', i % 50, md5(i::text)) FROM generate_series(1, 40000) i;
CREATE INDEX event_tags ON event USING bf (tags) WITH (pages_per_range = 4);
CREATE INDEX event_doc ON event USING bf (doc) WITH (pages_per_range = 4);
CREATE INDEX event_run ON event USING bf (run) WITH (pages_per_range = 4);
CREATE INDEX event_line ON event USING bf (line gram_ops) WITH (pages_per_range = 4);
-- no statistics of the elements
ALTER TABLE event ALTER tags SET STATISTICS 0, ALTER doc SET STATISTICS 0, ALTER line SET STATISTICS 0;
VACUUM ANALYZE event;
SELECT condition, (plans(format('SELECT * FROM event WHERE %s', condition))).* FROM unnest(ARRAY[
	$$tags @> '{req:20000}'$$, $$tags && '{req:20000,req:30000}'$$, $$tags @> '{host:7}'$$, $$tags @> '{nobody}'$$,
	$$doc @> '{"req": 20000}'$$, $$doc @> '{"host": 7}'$$, $$doc ? 'nowhere'$$,
	$$run = 7$$, $$run IN (3, 4)$$, $$run IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19)$$,
	$$line LIKE '%' || md5('777') || '%'$$, $$line ~* 'wget|sqlmap'$$, $$line ~ 'page/7\?'$$, $$line LIKE '%HTTP%'$$]) condition;

-- One of several patterns or alternatives is enough: each has many grams, all of which a line must have, so that the index leaves little.
ALTER TABLE event ALTER line SET STATISTICS 100;
ANALYZE event;
CREATE TABLE words AS SELECT i, word FROM unnest('{masscan,sqlmap/1,nikto/2,zgrab/0,phpmyadmin,wp-login,xmlrpc.php,eval-stdin,boaform,/.git/config,hnap1/,jndi:ldap,cgi-bin/luci,shell?cd,actuator/}'::text[]) WITH ORDINALITY w(word, i);
SELECT name, (plans(format('SELECT * FROM event WHERE %s', condition))).* FROM (
	SELECT format('%s LIKE ANY', n), format('line LIKE ANY (%L::text[])', array_agg('%' || word || '%')) FROM words, unnest('{2,15}'::int[]) n WHERE i <= n GROUP BY n
	UNION ALL SELECT format('%s alternatives', n), format('line ~ %L', string_agg(word, '|')) FROM words, unnest('{2,15}'::int[]) n WHERE i <= n GROUP BY n
	UNION ALL SELECT '15 LIKE ANY, one on every page', format('line LIKE ANY (%L::text[])', array_agg(CASE i WHEN 8 THEN '%HTTP/1%' ELSE '%' || word || '%' END)) FROM words
) t(name, condition);

-- With a page of the index for each of a few hundred ranges, and levels above, some pages are read and stand for all.
CREATE TABLE wide (v integer, strewn integer, pad text);
INSERT INTO wide SELECT i / 1000, i % 500, repeat('x', 300) FROM generate_series(0, 59999) i;
CREATE INDEX wide_bf ON wide USING bf (v, strewn) WITH (pages_per_range = 1, levels = 1);
VACUUM ANALYZE wide;
SELECT condition, (plans(format('SELECT * FROM wide WHERE %s', condition))).* FROM unnest(ARRAY['v = 30', 'v = -1', 'strewn = 3', 'strewn = -1',
	'v = 30 AND strewn = 3', 'v BETWEEN 1 AND 2', 'v IN (SELECT 30)', 'v = 1 OR strewn = -1']) condition;
-- at most sixteen pages, and the same for no other path of the statement
CREATE FUNCTION asked_pages(query text, relation regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	scans bigint := pg_stat_get_xact_numscans(relation);
	pages bigint[] := '{}';
	line text;
BEGIN
	FOR i IN 0 .. 2 LOOP
		-- the first time what is remembered of the index is read
		PERFORM set_config('streambloom.enable_index_estimates', (i = 2)::text, true);
		pages := pages || pg_stat_get_xact_blocks_fetched(relation);
		EXECUTE 'EXPLAIN ' || query INTO line;
	END LOOP;
	pages[1] := pg_stat_get_xact_blocks_fetched(relation) - pages[3] - (pages[3] - pages[2]);
	RETURN CASE WHEN pages[1] > 18 THEN pages[1] || ' pages' WHEN pages[1] > 0 THEN 'some pages' ELSE 'none' END
		|| CASE WHEN pg_stat_get_xact_numscans(relation) > scans THEN ', scans counted' ELSE '' END;
END $$;
SELECT query, asked_pages(query, 'wide_bf') FROM unnest(ARRAY['SELECT * FROM wide WHERE v = 30', 'SELECT * FROM wide WHERE v IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)',
	'SELECT * FROM wide a JOIN wide b USING (strewn) WHERE a.v = 30 AND b.pad > a.pad', 'SELECT * FROM wide WHERE v = (SELECT 30 OFFSET 0)', 'SELECT * FROM wide WHERE v = NULL']) query;
-- A statement with many conditions asks about some of them, and of the others the statistics decide.
SELECT arms, split_part(asked_pages('SELECT * FROM wide WHERE ' || string_agg(format('v = %s AND strewn = %s', i, i), ' OR '), 'wide_bf'), ' pages', 1)::integer <= 128 * 17 AS bounded
	FROM unnest(ARRAY[200, 400]) arms, generate_series(1, arms) i GROUP BY arms ORDER BY arms;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM (SELECT scans('SELECT * FROM wide WHERE v = 30') OFFSET 0) s;
SELECT count(*) AS predicate_locks FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'wide_bf'::regclass;
COMMIT;

-- Parameters: known to a custom plan, not to a generic one.
PREPARE by_tag(text[]) AS SELECT * FROM event WHERE tags @> $1;
SET plan_cache_mode = force_custom_plan;
SELECT scans('EXECUTE by_tag(''{req:20000}'')');
SET plan_cache_mode = force_generic_plan;
SELECT scans('EXECUTE by_tag(''{req:20000}'')') IS NOT NULL;
RESET plan_cache_mode;

-- A value that is not known, of a column whose values stand in the table in their order.
PREPARE by_run(integer) AS SELECT * FROM event WHERE run = $1;
SET plan_cache_mode = force_generic_plan;
SELECT scans('EXECUTE by_run(3)');
RESET plan_cache_mode;
-- Nearly all rows have one value, and the others are strewn over the table: such a column looks ordered.
CREATE TABLE mostly (v integer, state integer, late integer, pad text);
INSERT INTO mostly SELECT CASE WHEN i % 100 > 0 THEN i END, CASE WHEN hashint4(i) % 50 = 0 THEN 1 + i % 10 ELSE 0 END, CASE WHEN i > 59000 THEN i / 100 ELSE 0 END, repeat('x', 50) FROM generate_series(1, 60000) i;
CREATE INDEX mostly_state ON mostly USING bf (state) WITH (pages_per_range = 4);
CREATE INDEX mostly_late ON mostly USING bf (late) WITH (pages_per_range = 4);
CREATE INDEX mostly_v ON mostly USING bf (v) WITH (pages_per_range = 4);
VACUUM ANALYZE mostly;
PREPARE by_state(integer) AS SELECT * FROM mostly WHERE state = $1;
SET plan_cache_mode = force_generic_plan;
SELECT scans('EXECUTE by_state(3)');
-- This one is ordered.
PREPARE by_late(integer) AS SELECT * FROM mostly WHERE late = $1;
SELECT scans('EXECUTE by_late(3)');
RESET plan_cache_mode;
-- Where the NULLs are, the order of the values does not tell.
SELECT (plans('SELECT * FROM mostly WHERE v IS NULL')).*;

-- Of a long list of values or patterns a few are looked for, and stand for the others. What is common by the statistics stands for itself alone, wherever it is in
-- the list: a value of 99 % of the rows, one of 20 % that lie together, a pattern.
CREATE TABLE listed (most integer, apart integer, strewn integer, line text, pad text);
INSERT INTO listed SELECT CASE WHEN hashint4(i) % 100 = 0 THEN i ELSE 0 END, CASE WHEN i BETWEEN 20000 AND 31999 THEN 7 ELSE -i END, hashint4(i) % 200, format('GET /page/%s', i % 50), repeat('x', 50) FROM generate_series(1, 60000) i;
CREATE INDEX listed_bf ON listed USING bf (strewn, most, apart) WITH (pages_per_range = 16, false_positive_rate = 0.00001);
CREATE INDEX listed_line ON listed USING bf (line gram_ops) WITH (pages_per_range = 4);
VACUUM ANALYZE listed;
SELECT condition, contains, min(round(pages::numeric, 1)) AS min_pages, max(round(pages::numeric, 1)) AS max_pages FROM (
	SELECT condition, contains, pages_costed(format('SELECT * FROM listed WHERE ' || condition, (SELECT array_agg(CASE WHEN n = place AND contains IS NOT NULL THEN contains
			WHEN condition LIKE '%LIKE%' THEN '%' || translate(substr(md5((place * 1000 + n)::text), 1, 8), '0123456789', 'ghijklmnop') || '%' ELSE (place * 1000000 + n * 997)::text END ORDER BY n) FROM generate_series(1, 200) n)), 'listed', false) AS pages
		FROM (VALUES ('most = ANY (%L)', '0'), ('apart = ANY (%L)', '7'), ('apart = ANY (%L)', NULL), ('apart = 7 AND most = ANY (%L)', '0'), ('line LIKE ANY (%L)', '%GET /pa%'), ('line LIKE ANY (%L)', NULL)) c(condition, contains), unnest('{3,30,77,111,158,199}'::int[]) place) p
	GROUP BY condition, contains ORDER BY condition, contains;
-- A value that stands in the list a thousand times is still one value.
SELECT round(pages_costed('SELECT * FROM listed WHERE apart = ANY (array_fill(7, ARRAY[1000]) || -5)', 'listed', false)::numeric, 1) AS many_times, round(pages_costed('SELECT * FROM listed WHERE apart = ANY (''{7,-5}'')', 'listed', false)::numeric, 1) AS once;
-- A thousand values: ranges that say "maybe" to several of them in vain count once. (Of 20 groups of the index some are asked, and for a few of the values.)
CREATE TABLE unique_values AS SELECT hashint4(i) AS v, repeat('x', 300) AS pad FROM generate_series(1, 60000) i;
CREATE INDEX unique_values_v ON unique_values USING bf (v) WITH (pages_per_range = 1, levels = 1);
VACUUM ANALYZE unique_values;
SELECT absent, pages_costed(format('SELECT * FROM unique_values WHERE v = ANY (%L)', list), 'unique_values', false) BETWEEN 0.02 AND 0.6 AS some_pages, scans(format('SELECT * FROM unique_values WHERE v = ANY (%L)', list))
	FROM (SELECT absent, array_agg(hashint4(CASE WHEN absent THEN -i * 7 ELSE i * 59 END)) AS list FROM generate_series(1, 1000) i, unnest('{f,t}'::boolean[]) absent GROUP BY absent) lists ORDER BY absent;

-- A table with fewer rows than pages: all pages are read, and all of them have a cost (twice: an index that leaves nothing out costs a sequential scan more).
CREATE TABLE sparse (id integer, v integer, pad text) WITH (autovacuum_enabled = off);
INSERT INTO sparse SELECT i, 1, repeat('x', 500) FROM generate_series(0, 15000) i;
DELETE FROM sparse WHERE id % 150 > 0;
CREATE INDEX sparse_v ON sparse USING bf (v) WITH (pages_per_range = 16);
VACUUM ANALYZE sparse;
SELECT pages_costed('SELECT * FROM sparse WHERE v = 1', 'sparse') BETWEEN 1.99 AND 2.2 AS all_pages, pages_costed('SELECT * FROM sparse WHERE v = 2', 'sparse') < 0.1 AS few_pages;

-- Partitions: of many some are asked, and stand for the others.
CREATE TABLE part (p integer, tags text[]) PARTITION BY LIST (p);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES IN (%s)', p, p) FROM generate_series(1, 12) p \gexec
INSERT INTO part SELECT i % 12 + 1, ARRAY['req:' || i] FROM generate_series(1, 60000) i;
CREATE INDEX ON part USING bf (tags) WITH (pages_per_range = 2);
ALTER TABLE part ALTER tags SET STATISTICS 0;
VACUUM ANALYZE part;
SET streambloom.enable_skip = off;
SELECT scans('SELECT * FROM part WHERE tags @> ''{req:20000}''') ~ 'Seq' AS asked, (SELECT count(*) FROM generate_series(1, 12) p WHERE asked_pages('SELECT * FROM part WHERE tags @> ''{req:20000}''', format('part_%s_tags_idx', p)::regclass) <> 'none') AS partitions;
-- whatever the order of their columns
CREATE TABLE part_13 (tags text[], gone integer, p integer);
ALTER TABLE part_13 DROP gone;
INSERT INTO part_13 SELECT ARRAY['req:' || i], 13 FROM generate_series(1, 5000) i;
ALTER TABLE part ATTACH PARTITION part_13 FOR VALUES IN (13);
VACUUM ANALYZE part_13;
SELECT sum((asked_pages('SELECT * FROM part WHERE tags @> ''{req:20000}''', format('part_%s_tags_idx', p)::regclass) <> 'none')::integer) AS partitions FROM generate_series(1, 13) p;
DROP TABLE part_13;
-- The partitions that are asked are spread evenly over all: here the first ones have other rows than the rest.
CREATE TABLE ordered (p integer, v integer, pad text) PARTITION BY LIST (p);
DO $$ BEGIN FOR p IN 1 .. 64 LOOP EXECUTE format('CREATE TABLE ordered_%s PARTITION OF ordered FOR VALUES IN (%s)', p, p); END LOOP; END $$;
INSERT INTO ordered SELECT p, CASE WHEN p <= 8 THEN 0 ELSE p END, repeat('x', 100) FROM generate_series(1, 64) p, generate_series(1, 1000);
CREATE INDEX ON ordered USING bf (v) WITH (pages_per_range = 2);
VACUUM ANALYZE ordered;
SELECT (SELECT count(*) FROM regexp_matches(scans('SELECT * FROM ordered WHERE v = 0'), 'Seq Scan', 'g')) <= 8 AS few_read_whole,
	(SELECT count(*) FROM generate_series(1, 64) p WHERE asked_pages('SELECT * FROM ordered WHERE v = 0', format('ordered_%s_v_idx', p)::regclass) <> 'none') AS partitions;
-- likewise with an index on an expression
CREATE INDEX ON ordered USING bf ((v * 2)) WITH (pages_per_range = 2);
ANALYZE ordered;
SELECT (SELECT count(*) FROM regexp_matches(scans('SELECT * FROM ordered WHERE v * 2 = 0'), 'Seq Scan', 'g')) <= 8 AS few_read_whole,
	(SELECT count(*) FROM generate_series(1, 64) p WHERE asked_pages('SELECT * FROM ordered WHERE v * 2 = 0', format('ordered_%s_expr_idx', p)::regclass) <> 'none') AS partitions;
-- An index that has nothing yet leaves all of its partition to be read, whatever the others say.
CREATE TABLE newest (p integer, v integer, pad text) PARTITION BY LIST (p);
DO $$ BEGIN FOR p IN 1 .. 20 LOOP EXECUTE format('CREATE TABLE newest_%s PARTITION OF newest FOR VALUES IN (%s) WITH (autovacuum_enabled = off)', p, p); END LOOP; END $$;
CREATE INDEX ON newest USING bf (v) WITH (pages_per_range = 2);
CREATE INDEX newest_btree ON newest (v);
INSERT INTO newest SELECT p, CASE i % 100 WHEN 0 THEN -1 ELSE i END, repeat('x', 100) FROM generate_series(1, 20) p, generate_series(1, 20000) i WHERE p IN (19, 20) OR i % 100 > 0;
VACUUM ANALYZE newest_1, newest_2, newest_3, newest_4, newest_5, newest_6, newest_7, newest_8, newest_9, newest_10, newest_11, newest_12, newest_13, newest_14, newest_15,
	newest_16, newest_17, newest_18;
ANALYZE newest_19, newest_20;
SELECT substring(scans('SELECT * FROM newest WHERE v = -1'), '[^,]*newest_20.*') AS of_the_newest, amname
	FROM pg_class i JOIN pg_am a ON relam = a.oid WHERE relname = 'newest_20_v_idx1';
RESET streambloom.enable_skip;
-- a plan for all parameters is made as before: planning many partitions takes longer than leaving them out
ALTER TABLE part ADD v integer;
UPDATE part SET v = substr(tags[1], 5)::integer;
CREATE INDEX ON part USING bf (v) WITH (pages_per_range = 2);
VACUUM ANALYZE part;
PREPARE of_part(integer) AS SELECT * FROM part WHERE v = $1;
DO $$ BEGIN FOR i IN 1 .. 8 LOOP EXECUTE format('EXPLAIN EXECUTE of_part(%s)', i); END LOOP; END $$;
SELECT generic_plans > 0 AS generic FROM pg_prepared_statements WHERE name = 'of_part';
-- But a plan that is left few partitions by its parameters asks these.
SET plan_cache_mode = force_custom_plan;
PREPARE of_few(integer, integer) AS SELECT * FROM part WHERE p BETWEEN $1 AND $1 + 1 AND v = $2;
SELECT count(*) AS asked FROM generate_series(1, 12) p WHERE asked_pages('EXECUTE of_few(5, 20000)', format('part_%s_v_idx', p)::regclass) <> 'none';
-- and partitions of partitions are counted too
CREATE TABLE regional (p integer, q integer, v integer) PARTITION BY LIST (p);
DO $$ BEGIN
	FOR p IN 1 .. 3 LOOP
		EXECUTE format('CREATE TABLE regional_%s PARTITION OF regional FOR VALUES IN (%s) PARTITION BY LIST (q)', p, p);
		FOR q IN 1 .. 4 LOOP EXECUTE format('CREATE TABLE regional_%s_%s PARTITION OF regional_%s FOR VALUES IN (%s)', p, q, p, q); END LOOP;
	END LOOP;
END $$;
INSERT INTO regional SELECT i % 3 + 1, i % 4 + 1, i FROM generate_series(1, 60000) i;
CREATE INDEX ON regional USING bf (v) WITH (pages_per_range = 2);
VACUUM ANALYZE regional;
PREPARE of_regional(integer, integer[]) AS SELECT * FROM regional WHERE v = $1 AND q = ANY ($2);
SELECT q, (SELECT count(*) FROM generate_series(1, 3) a, generate_series(1, 4) b
		WHERE asked_pages(format('EXECUTE of_regional(20000, %L)', q), format('regional_%s_%s_v_idx', a, b)::regclass) <> 'none') AS asked
	FROM unnest(ARRAY['{1,2,3,4}', '{1}']) q;
RESET plan_cache_mode;

-- What a pattern requires is found out for each partition that is asked, at most eight, and not for each path. A function in C that changes the user is counted.
SELECT probin FROM pg_proc WHERE oid = 'bf_gram_triconsistent(internal, int2, text, int4, internal, internal, internal)'::regprocedure \gset
CREATE FUNCTION counted(internal, int2, text, int4, internal, internal, internal) RETURNS "char" LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE SECURITY DEFINER AS :'probin', 'bf_gram_triconsistent';
CREATE FUNCTION counted_query(text, internal, int2, internal, internal, internal, internal) RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE SECURITY DEFINER AS :'probin', 'bf_gram_extract_query';
CREATE OPERATOR CLASS counted_ops FOR TYPE text USING bf AS OPERATOR 1 =, OPERATOR 5 ~, FUNCTION 2 bf_gram_extract_value(text, internal),
	FUNCTION 3 counted_query(text, internal, int2, internal, internal, internal, internal), FUNCTION 6 counted(internal, int2, text, int4, internal, internal, internal),
	FUNCTION 7 (text) bf_gram_class_options(internal), STORAGE int8;
CREATE TABLE spread (p integer, line text) PARTITION BY LIST (p);
SELECT format('CREATE TABLE spread_%s PARTITION OF spread FOR VALUES IN (%s)', p, p) FROM generate_series(1, 12) p \gexec
INSERT INTO spread SELECT i % 12 + 1, format('GET /page/%s', i) FROM generate_series(1, 24000) i;
CREATE INDEX ON spread USING bf (line counted_ops) WITH (pages_per_range = 1);
VACUUM ANALYZE spread;
CREATE FUNCTION counted_calls(query text) RETURNS bigint LANGUAGE plpgsql
	SET track_functions = 'all' SET streambloom.enable_skip = off AS $$
DECLARE
	before bigint := coalesce(pg_stat_get_xact_function_calls('counted'::regproc), 0);
	line text;
BEGIN
	EXECUTE 'EXPLAIN ' || query INTO line;
	RETURN pg_stat_get_xact_function_calls('counted'::regproc) - before;
END $$;
SELECT counted_calls('SELECT * FROM spread_7 WHERE line ~ ''sqlmap|nikto''') > 0 AS tried, counted_calls('SELECT * FROM spread WHERE line ~ ''sqlmap|nikto''') <= 8 * counted_calls('SELECT * FROM spread_7 WHERE line ~ ''sqlmap|nikto''') AS few;
-- Likewise if the partitions have indexes of two kinds, and both are asked, one after the other: the search is prepared once for each kind.
CREATE INDEX ON spread USING bf (line) WITH (pages_per_range = 1);
VACUUM ANALYZE spread;
CREATE FUNCTION execution_calls(query text) RETURNS bigint LANGUAGE plpgsql SET track_functions = 'all' SET streambloom.enable_index_estimates = off AS $$
DECLARE
	before bigint := coalesce(pg_stat_get_xact_function_calls('counted_query'::regproc), 0);
	found text;
BEGIN
	EXECUTE query INTO found;
	RETURN coalesce(pg_stat_get_xact_function_calls('counted_query'::regproc), 0) - before;
END $$;
SELECT execution_calls('SELECT count(*) FROM spread WHERE line = ''GET /page/77''') <= 4 AS prepared_once;

-- Costs tell nothing of rows that are hidden, nor of columns that may not be read.
CREATE ROLE estimates_user;
GRANT USAGE ON SCHEMA estimates TO estimates_user;
CREATE TABLE secret (owner name, v integer, w integer, pad text);
INSERT INTO secret SELECT CASE i % 2 WHEN 0 THEN 'estimates_user' ELSE 'nobody' END, i, i, repeat('x', 100) FROM generate_series(1, 20000) i;
CREATE INDEX secret_bf ON secret USING bf (v) WITH (pages_per_range = 1);
CREATE INDEX secret_w ON secret USING bf (w) WITH (pages_per_range = 1);
VACUUM ANALYZE secret;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM secret WHERE owner = current_user;
CREATE VIEW seen AS SELECT * FROM secret WHERE v > 0;
GRANT SELECT ON barrier, seen TO estimates_user;
GRANT SELECT (owner, v) ON secret TO estimates_user;
CREATE FUNCTION costs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		result := result || coalesce(substring(line, '\(cost.*'), '');
	END LOOP;
	RETURN result;
END $$;
SET ROLE estimates_user;
SET enable_seqscan = off;
SELECT relation, costs(format('SELECT v FROM %s WHERE v = 10001', relation)) = costs(format('SELECT v FROM %s WHERE v = 30001', relation)) AS tells_nothing FROM unnest(ARRAY['secret', 'seen', 'barrier']) relation;
RESET ROLE;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
GRANT SELECT ON secret TO estimates_user;
SET ROLE estimates_user;
SELECT relation, costs(format('SELECT v FROM %s WHERE v = 10001', relation)) = costs(format('SELECT v FROM %s WHERE v = 30001', relation)) AS tells_nothing FROM unnest(ARRAY['secret', 'barrier', 'seen']) relation;
RESET ROLE;
ALTER TABLE secret DISABLE ROW LEVEL SECURITY;
-- A column that the user may not read: EXPLAIN is refused, but not before the query is planned.
REVOKE SELECT ON secret FROM estimates_user;
GRANT SELECT (owner, v) ON secret TO estimates_user;
SET ROLE estimates_user;
SELECT costs('SELECT v FROM secret WHERE w = 10001');
RESET ROLE;
RESET enable_seqscan;

-- A table that is a member of a UNION ALL has no table above it.
SELECT asked FROM plans($$SELECT * FROM (SELECT id, tags FROM event UNION ALL SELECT id, tags FROM event WHERE id > 0) e WHERE tags @> '{req:20000}'$$);

-- The advisor, the planner and the index agree on the pages of a look-up (sizes.c computes them for both): of a value that is not known when
-- the query is planned, in a column whose values are all different. Where reading a page costs 1 and all else nothing, the cost is the pages.
CREATE TABLE agreed (v integer) WITH (autovacuum_enabled = off);
INSERT INTO agreed SELECT i FROM generate_series(1, 400000) i ORDER BY hashint4(i);
ANALYZE agreed;
SELECT pages_absent, pages_rare, bf_bytes, coalesce(substring(statement FROM 'WITH .*'), '') AS options FROM bf_index_advise('agreed') \gset
CREATE INDEX agreed_v ON agreed USING bf (v) :options;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
SET random_page_cost = 1;
SET seq_page_cost = 1;
SET cpu_tuple_cost = 0;
SET cpu_index_tuple_cost = 0;
SET cpu_operator_cost = 0;
PREPARE look_up(integer) AS SELECT * FROM agreed WHERE v = $1;
CREATE FUNCTION pages_read(value integer) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM agreed WHERE v = %s', value) INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::float8 + (plan #>> '{0,Plan,Shared Read Blocks}')::float8;
END $$;
CREATE FUNCTION pages_planned() RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) EXECUTE look_up(1)' INTO plan;
	RETURN (plan #>> '{0,Plan,Total Cost}')::float8;
END $$;
SELECT levels, bytes FROM (SELECT count(*) AS levels, pg_relation_size('agreed_v') AS bytes FROM bf_index_stats('agreed_v')) s \gset
SELECT :levels AS levels, :bf_bytes BETWEEN 0.8 * :bytes AND 1.25 * :bytes AS bytes_agree,
	pages_planned() BETWEEN 0.8 * :pages_rare AND 1.25 * :pages_rare AS planner_and_advisor,
	(SELECT avg(pages_read(i * 1999)) FROM generate_series(1, 200) i) BETWEEN 0.8 * :pages_rare AND 1.25 * :pages_rare AS a_value_that_is_there,
	(SELECT avg(pages_read(-i)) FROM generate_series(1, 400) i) BETWEEN 0.7 * :pages_absent AND 1.35 * :pages_absent AS a_value_that_is_not;
DEALLOCATE look_up;
RESET ALL;
SET streambloom.enable_partition_scan = off;
SET search_path = estimates, public;

-- Of the partitions of a table eight are asked, by the blocks that are counted for their indexes. What each index says of itself is read
-- in the statement before.
SET streambloom.enable_skip = off;
CREATE TABLE hundred (part integer, v text) PARTITION BY RANGE (part);
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE hundred_%s PARTITION OF hundred FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END $$;
INSERT INTO hundred SELECT i % 100, 'v' || i FROM generate_series(1, 100000) i;
CREATE INDEX ON hundred USING bf (v);
VACUUM ANALYZE hundred;
CREATE TABLE blocks_before (indexrelid oid, blocks bigint);
CREATE VIEW blocks_of AS SELECT indexrelid, idx_blks_hit + idx_blks_read AS blocks FROM pg_statio_user_indexes WHERE relname LIKE 'hundred%';
SELECT scans('SELECT * FROM hundred WHERE v = ''v17''') LIKE '%hundred_17%' AS planned;
SELECT pg_stat_force_next_flush();
INSERT INTO blocks_before SELECT * FROM blocks_of;
SELECT scans('SELECT * FROM hundred WHERE v = ''v18''') LIKE '%hundred_18%' AS planned;
SELECT pg_stat_force_next_flush();
SELECT count(*) AS asked FROM blocks_of JOIN blocks_before USING (indexrelid) WHERE blocks_of.blocks > blocks_before.blocks;
RESET streambloom.enable_skip;

-- An index that leaves nothing out for a condition does not hide another one, here of the same class with other options.
CREATE TABLE two AS SELECT md5(i::text) || ' ' || md5((i * 7)::text) AS line FROM generate_series(1, 20000) i;
VACUUM ANALYZE two;
CREATE INDEX folded ON two USING bf (line gram_ops);
CREATE INDEX exact ON two USING bf (line gram_ops (fold = off));
CREATE INDEX long ON two USING bf (line gram_ops (n = 8, fold = off));
SELECT scans($$SELECT * FROM two WHERE line ILIKE '%sqlmap%'$$);
DROP INDEX exact;
SELECT scans($$SELECT * FROM two WHERE line LIKE '%sqlmap%'$$);
DROP INDEX folded;
SELECT scans($$SELECT * FROM two WHERE line LIKE '%sqlmap%'$$);
-- Nor does it speak for another one: the indexes of some partitions are asked for those of the others.
SET streambloom.enable_skip = off;
CREATE TABLE twenty (part int, line text) PARTITION BY LIST (part);
DO $$ BEGIN FOR i IN 1 .. 20 LOOP EXECUTE format('CREATE TABLE twenty_%s PARTITION OF twenty FOR VALUES IN (%1$s)', i); END LOOP; END $$;
INSERT INTO twenty SELECT i % 20 + 1, line FROM (SELECT row_number() OVER () AS i, line FROM two) t;
VACUUM ANALYZE twenty;
CREATE INDEX folded ON twenty USING bf (line gram_ops);
CREATE INDEX exact ON twenty USING bf (line gram_ops (fold = off));
SELECT string_agg(DISTINCT scan, ', ') FROM regexp_split_to_table(scans($$SELECT * FROM twenty WHERE line ILIKE '%sqlmap%'$$), ', ') s, regexp_replace(s, '_\d+', '_N') scan;
DROP INDEX folded;
CREATE INDEX folded ON twenty USING bf (line gram_ops);
SELECT string_agg(DISTINCT scan, ', ') FROM regexp_split_to_table(scans($$SELECT * FROM twenty WHERE line ILIKE '%sqlmap%'$$), ', ') s, regexp_replace(s, '_\d+', '_N') scan;
-- Nor do the partitions of one table speak for those of another one in a subquery, where both have the same place in the lists of tables.
CREATE TABLE everywhere (p integer, v integer, pad text) PARTITION BY LIST (p);
CREATE TABLE nowhere (p integer, v integer, pad text) PARTITION BY LIST (p);
DO $$ BEGIN
	FOR i IN 1 .. 12 LOOP
		EXECUTE format('CREATE TABLE everywhere_%s PARTITION OF everywhere FOR VALUES IN (%1$s)', i);
		EXECUTE format('CREATE TABLE nowhere_%s PARTITION OF nowhere FOR VALUES IN (%1$s)', i);
	END LOOP;
END $$;
INSERT INTO everywhere SELECT i % 12 + 1, 5, repeat('x', 100) FROM generate_series(1, 60000) i;
INSERT INTO nowhere SELECT i % 12 + 1, i % 12 + i * 12, repeat('x', 100) FROM generate_series(1, 60000) i;
CREATE INDEX ON everywhere USING bf (v) WITH (pages_per_range = 2);
CREATE INDEX ON nowhere USING bf (v) WITH (pages_per_range = 2);
VACUUM ANALYZE everywhere, nowhere;
SELECT DISTINCT substring(scan, '(Seq Scan|Bitmap Heap Scan|Index Scan) on [a-z]+') AS scan, substring(scan, 'on ([a-z]+)') AS relation
	FROM regexp_split_to_table(scans('SELECT (SELECT count(*) FROM everywhere WHERE v = 5), (SELECT count(*) FROM nowhere WHERE v = 5)'), ', ') scan WHERE scan !~ 'Bitmap Index' ORDER BY 2, 1;
RESET streambloom.enable_skip;

-- A thousand values that are not there: level 1 leaves hardly any range, and values that are looked for together share
-- the pages of the index.
CREATE TABLE keyed (id integer, pad text);
INSERT INTO keyed SELECT i, repeat('x', 300) FROM generate_series(1, 300000) i;
CREATE INDEX keyed_id ON keyed USING bf (id) WITH (pages_per_range = 8);
VACUUM ANALYZE keyed;
SELECT literals, scans(query), pages_costed(query, 'keyed') < 0.25 AS few_pages
	FROM unnest(ARRAY[100, 1000]) literals, LATERAL (SELECT format('SELECT * FROM keyed WHERE id IN (%s)', string_agg((-i * 7919)::text, ',')) AS query FROM generate_series(1, literals) i) q;
-- Where a unique key names the row, the index is not asked.
SELECT asked_pages('SELECT * FROM keyed WHERE id = 7', 'keyed_id') AS without_key;
ALTER TABLE keyed ADD PRIMARY KEY (id);
SELECT asked_pages('SELECT * FROM keyed WHERE id = 7', 'keyed_id') AS with_key, scans('SELECT * FROM keyed WHERE id = 7');

-- Two expressions of one table, and two classes with the same operator, are different questions to its partitions' indexes.
SET streambloom.enable_skip = off;
SET streambloom.enable_partition_scan = off;
CREATE TABLE apart (d integer, a text, b text) PARTITION BY RANGE (d);
CREATE TABLE apart_1 PARTITION OF apart FOR VALUES FROM (0) TO (30000);
CREATE TABLE apart_2 PARTITION OF apart FOR VALUES FROM (30000) TO (60000);
INSERT INTO apart SELECT i, md5(i::text), 'B' || i % 3 FROM generate_series(0, 59999) i;
CREATE INDEX ON apart USING bf (lower(a));
CREATE INDEX ON apart USING bf (upper(b));
CREATE INDEX ON apart USING bf (a);
CREATE INDEX ON apart USING bf (a gram_ops);
VACUUM ANALYZE apart;
SELECT scans($$SELECT * FROM apart WHERE lower(a) = 'B1' AND upper(b) = 'B1'$$);
SELECT scans($$SELECT * FROM apart WHERE a = 'ab'$$);
RESET streambloom.enable_skip;
RESET streambloom.enable_partition_scan;

DROP SCHEMA estimates CASCADE;
DROP ROLE estimates_user;
