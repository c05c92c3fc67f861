-- lookups.sql: what bench/lookups measures. Variables: sizes (bytes, separated by commas), rounds, asked (look-ups in
-- a join).
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION streambloom;
SELECT count(*) > 0 AS hll FROM pg_available_extensions WHERE name = 'hll' \gset
\if :hll
CREATE EXTENSION hll;
\else
CREATE DOMAIN hll AS text;
\endif

-- A row for each size. The values are out of line and not compressed, as the storage of the types wants it. Each
-- filter holds 1,000 items only, and gets its size from the expected number of items: a look-up reads as much of a
-- filter whatever that holds.
CREATE TABLE stored (size bigint PRIMARY KEY, f bf, s sbf, t tbf, raw bytea, h hll, bytes bigint);
ALTER TABLE stored ALTER raw SET STORAGE EXTERNAL;
CREATE PROCEDURE fill(sizes bigint[], with_hll boolean) LANGUAGE plpgsql AS $$
DECLARE
	wanted bigint;
	per_item float8 := (SELECT bytes FROM bf_info(bf_empty(10000000))) / 1e7;
	per_count float8 := (SELECT bytes FROM tbf_info(tbf_layout(tbf_agg(i, 'epoch', interval '7 days', 1, 100000, 0.01), 'flat'))) / 1e5
		FROM generate_series(1::bigint, 1000) i;
BEGIN
	FOREACH wanted IN ARRAY sizes LOOP
		INSERT INTO stored (size, f, s, t)
		SELECT wanted, bf_agg(i, (wanted / per_item)::bigint), sbf_agg(i, wanted),
			tbf_layout(tbf_agg(i, 'epoch', interval '7 days', 1, (wanted / per_count)::bigint, 0.01), 'flat')
		FROM generate_series(1::bigint, 1000) i;
		UPDATE stored SET bytes = (SELECT i.bytes FROM bf_info(f) i), raw = f::bytea WHERE size = wanted;
		COMMIT;
	END LOOP;
	IF with_hll THEN
		-- the size of an hll does not depend on the number of items
		EXECUTE 'UPDATE stored SET h = (SELECT hll_add_agg(hll_hash_bigint(i)) FROM generate_series(1::bigint, 100000) i)';
	END IF;
END $$;
CALL fill(string_to_array(:'sizes', ',')::bigint[], :'hll');
VACUUM ANALYZE stored;

-- The look-ups. The first one finds the row and reads nothing of the value.
CREATE TABLE question (id int PRIMARY KEY, label text, expression text, plot text);
INSERT INTO question VALUES
	(1, 'the row alone', 'f IS NOT NULL', NULL),
	(2, '`f @> x`, absent', 'f @> $2', 'f @> x'),
	(3, '`f @> x`, present', 'f @> 1 + $2 % 1000', NULL),
	(4, '`bf_contains_any(f, 10 items)`', 'bf_contains_any(f, ARRAY[$2, $2 + 1, $2 + 2, $2 + 3, $2 + 4, $2 + 5, $2 + 6, $2 + 7, $2 + 8, $2 + 9])', '10 items'),
	(5, '`sbf @> x`', 's @> $2', 'sbf @> x'),
	(6, '`tbf_count(t, x)`', 'tbf_count(t, $2)', 'tbf_count(t, x)'),
	(7, 'the same bytes detoasted', 'get_byte(raw, 0)', 'detoasted'),
	(8, '`bf_info(f)`', '(bf_info(f)).bytes', 'bf_info(f)');
INSERT INTO question SELECT 9, '`hll_cardinality(h)`', 'hll_cardinality(h)', 'hll' WHERE :'hll';

CREATE TABLE timing (question int, size bigint, ms float8, buffers bigint);
CREATE TABLE many (size bigint, id int, label text, ns float8, buffers bigint);
CREATE FUNCTION milliseconds(since timestamptz) RETURNS float8 LANGUAGE sql VOLATILE RETURN 1000 * extract(epoch FROM clock_timestamp() - since);
CREATE FUNCTION pages(plan json) RETURNS bigint LANGUAGE sql
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;

CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	q question;
	wanted bigint;
	plan json;
	began timestamptz;
	calls int;
	elapsed float8;
BEGIN
	SET plan_cache_mode = force_generic_plan;
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	FOR q IN SELECT * FROM question LOOP
		EXECUTE format('PREPARE q%s(bigint, bigint) AS SELECT %s FROM stored WHERE size = $1', q.id, q.expression);
	END LOOP;
	FOR round IN 0 .. rounds LOOP           -- round 0 warms up
		FOR wanted IN SELECT size FROM stored ORDER BY 1 LOOP
			FOR q IN SELECT * FROM question ORDER BY id LOOP
				EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE q%s(%s, %s)', q.id, wanted, 1000000 + 7919 * round) INTO plan;
				-- repeats the look-up for a few milliseconds
				calls := 0;
				began := clock_timestamp();
				LOOP
					EXECUTE format('EXECUTE q%s(%s, %s)', q.id, wanted, 1000000 + 104729 * round + calls);
					calls := calls + 1;
					elapsed := milliseconds(began);
					EXIT WHEN elapsed > 5 OR calls = 200;
				END LOOP;
				IF round > 0 THEN
					INSERT INTO timing VALUES (q.id, wanted, elapsed / calls, pages(plan));
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CALL measure(:rounds);

-- A join asks one stored filter for each row of another table.
CREATE TABLE asked AS SELECT (i * 2654435761) % 1099511627689 AS x FROM generate_series(1000001::bigint, 1000000 + :asked) i;
VACUUM ANALYZE asked;
CREATE PROCEDURE ask_often(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	wanted bigint;
	plan json;
	way text[];
	n bigint := (SELECT count(*) FROM asked);
BEGIN
	SET enable_seqscan = on;
	FOR round IN 0 .. rounds LOOP
		FOR wanted IN SELECT size FROM stored ORDER BY 1 LOOP
			FOREACH way SLICE 1 IN ARRAY ARRAY[
				['1', 'no question', 'SELECT count(*) FROM stored, asked WHERE size = %s AND x > 0'],
				['2', '`FROM stored, asked WHERE f @> x`', 'SELECT count(*) FROM stored, asked WHERE size = %s AND f @> x'],
				['3', '`WHERE (SELECT f FROM stored …) @> x`', 'SELECT count(*) FROM asked WHERE (SELECT f FROM stored WHERE size = %s) @> x'],
				['4', '`WHERE (SELECT f @> x FROM stored …)`', 'SELECT count(*) FROM asked WHERE (SELECT f @> x FROM stored WHERE size = %s)']] LOOP
				EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || way[3], wanted) INTO plan;
				IF round > 0 THEN
					INSERT INTO many VALUES (wanted, way[1]::int, way[2], (plan -> 0 ->> 'Execution Time')::float8 * 1e6 / n, pages(plan));
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CALL ask_often(greatest(3, :rounds / 3));

CREATE TABLE figures AS
	SELECT question, size, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms, min(ms) AS low, max(ms) AS high, max(buffers) AS buffers
	FROM timing GROUP BY 1, 2;
CREATE FUNCTION human(bytes bigint) RETURNS text LANGUAGE sql
	RETURN CASE WHEN bytes < 1000000 THEN format('%s kB', round(bytes / 1e3)) ELSE format('%s MB', round(bytes / 1e6, 1)) END;

\echo '# Asking stored filters'
\echo
SELECT format('%s, %s; medians of %s interleaved rounds (least to most in brackets), warm, JIT off. "Buffers" are the pages that the query touches; of them',
	split_part(version(), ' on ', 1), 'shared_buffers ' || current_setting('shared_buffers'), :rounds);
\echo '"beyond" are those that finding the row does not. "Detoasted": `get_byte(bytea, 0)` of the same bytes, which reads the whole value and'
\echo 'does nothing with it. Times are of prepared statements, called in PL/pgSQL; they hold some microseconds of call and row.'
\echo '`tbf` is in the flat layout.'
SELECT format(E'\n## %s\n\n| | buffers | beyond | ms | times faster than detoasting |\n| --- | ---: | ---: | ---: | ---: |\n', human(s.bytes)) ||
	string_agg(format('| %s | %s | %s | %s (%s to %s) | %s |', label, f.buffers, f.buffers - r.buffers, round(f.ms::numeric, 3), round(f.low::numeric, 3),
		round(f.high::numeric, 3), CASE WHEN id BETWEEN 2 AND 6 THEN round((w.ms / f.ms)::numeric, 1)::text END), E'\n' ORDER BY id)
FROM stored s JOIN figures f USING (size) JOIN question ON id = question JOIN figures r ON r.size = s.size AND r.question = 1
	JOIN figures w ON w.size = s.size AND w.question = 7
GROUP BY s.size, s.bytes ORDER BY s.bytes;
\echo
\echo '## One stored filter asked many times'
\echo
SELECT format('%s values that are not in it, asked in one query. "ns a value": the whole query, divided. "No question": the same join with `x > 0`.', :asked);
\echo
\echo '| filter | query | ns a value | least to most | buffers of the query |'
\echo '| ---: | --- | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s to %s | %s |', human(bytes), label, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ns))::numeric),
	round(min(ns)::numeric), round(max(ns)::numeric), max(buffers))
FROM many JOIN stored USING (size) GROUP BY size, bytes, id, label ORDER BY bytes, id;
