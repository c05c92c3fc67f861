-- duplicates.sql: the window functions beside lag(), on the requests of a log: what the functions miss, and the time
-- of both. For bench/duplicates.
SET client_min_messages = warning;
SET jit = off;
SET work_mem = '64MB';
CREATE TABLE requests (n bigint GENERATED ALWAYS AS IDENTITY, microseconds bigint, item text, at timestamptz);
\copy requests (microseconds, item) FROM pstdin
UPDATE requests SET at = to_timestamp(microseconds / 1e6);
VACUUM FULL requests;
ANALYZE requests;
CREATE TABLE ways (place int GENERATED ALWAYS AS IDENTITY, name text, expression text);
INSERT INTO ways (name, expression) VALUES
	('lag(), exact', 'coalesce(at - lag(at) OVER (PARTITION BY item ORDER BY at, n) <= interval ''1 hour'', false)'),
	('abf_duplicate()', 'abf_duplicate(item, at, interval ''1 hour'', 4000) OVER (ORDER BY at, n)'),
	('sbf_duplicate(), 256 kB', 'sbf_duplicate(item) OVER (ORDER BY at, n)'),
	('sbf_duplicate() by the hour', 'sbf_duplicate(item, sbf_empty(16384)) OVER (PARTITION BY date_bin(''1 hour'', at, ''2000-01-01'') ORDER BY at, n)');
CREATE TABLE answers (name text, n bigint, again boolean);
CREATE TABLE times (name text, ms double precision);
DO $$
DECLARE
	way ways;
	plan json;
BEGIN
	FOR round IN 1 .. 3 LOOP
		FOR way IN SELECT * FROM ways ORDER BY place LOOP
			EXECUTE format('EXPLAIN (ANALYZE, TIMING off, FORMAT json) SELECT count(*) FILTER (WHERE again) FROM (SELECT %s AS again FROM requests) s', way.expression) INTO plan;
			INSERT INTO times VALUES (way.name, (plan -> 0 ->> 'Execution Time')::float8);
			IF round = 1 THEN
				EXECUTE format('INSERT INTO answers SELECT $1, n, again FROM (SELECT n, %s AS again FROM requests) s', way.expression) USING way.name;
			END IF;
		END LOOP;
	END LOOP;
END $$;
\qecho
\qecho '## In SQL: within an hour, requests of the blog log'
\qecho
\qecho '`abf_duplicate()` and `sbf_duplicate()` keep a filter; `lag()` sorts all rows by item. Times are the least of three interleaved runs, of'
\qecho 'the whole query, in which all ways sort the rows.'
\qecho
\qecho '| way | repetitions within the hour | missed | others called repetitions (mostly older ones) | µs a row |'
\qecho '| --- | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s |', w.name, count(*) FILTER (WHERE e.again), count(*) FILTER (WHERE e.again AND NOT a.again), count(*) FILTER (WHERE a.again AND NOT e.again),
	round((1000 * (SELECT min(ms) FROM times t WHERE t.name = w.name) / count(*))::numeric, 2))
FROM ways w JOIN answers a USING (name) JOIN answers e ON e.n = a.n AND e.name = 'lag(), exact' GROUP BY w.name, w.place ORDER BY w.place;
