-- levels.sql: measurements, model and Markdown tables of bench/levels
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS streambloom;

CREATE TABLE peer (id serial, name text, label text, definition text, pages_per_range integer);
INSERT INTO peer (name, label, definition, pages_per_range) VALUES
	('btree', 'B-tree', 'USING btree (uid)', NULL),
	('hash', 'hash', 'USING hash (uid)', NULL),
	('brin', 'BRIN bloom', 'USING brin (uid int8_bloom_ops (n_distinct_per_range = 3000, false_positive_rate = 0.001)) WITH (pages_per_range = 32)', NULL),
	('bf', 'bf', 'USING bf (uid)', 0),
	('bf_4', 'bf, 4 pages a range', 'USING bf (uid) WITH (pages_per_range = 4)', 4),
	('bf_32', 'bf, 32 pages a range', 'USING bf (uid) WITH (pages_per_range = 32)', 32),
	('bf_one', 'bf, 32 pages, one level', 'USING bf (uid) WITH (pages_per_range = 32, levels = 1)', NULL);

-- what: 'build' has the ms of one build; a look-up has the median of ms and the mean of pages over the values
CREATE TABLE measured (heap_pages bigint, items_per_page float8, peer text, what text, ms float8, pages float8, bytes bigint, length integer);

-- A permutation of 0 .. 2^31 - 1, so that each value is in one row, and near values are in rows far apart.
CREATE FUNCTION strewn(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (i * 1103515245 + 12345) % 2147483648 $$;

-- Executes a look-up and returns its time, and the pages of index and table that it touches.
CREATE FUNCTION look_up(value bigint, OUT ms float8, OUT pages float8) LANGUAGE plpgsql SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 SET jit = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM big WHERE uid = ' || value || '::bigint' INTO plan;
	ms := plan -> 0 ->> 'Execution Time';
	pages := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::float8 + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::float8;
END
$$;

CREATE PROCEDURE measure(row_count bigint, values_asked integer) LANGUAGE plpgsql AS $$
DECLARE
	p peer;
	began timestamptz;
	heap_pages bigint;
	items float8;
	length integer;
BEGIN
	DROP TABLE IF EXISTS big;
	CREATE UNLOGGED TABLE big AS SELECT i AS id, strewn(i) AS uid, '/a/page/with/a/name/' || i % 3000 AS url, '2026-01-01'::timestamptz + i * interval '1 s' AS at, i AS bytes
		FROM generate_series(1, row_count) i;
	COMMIT;
	ANALYZE big;
	heap_pages := pg_relation_size('big') / current_setting('block_size')::int;
	items := row_count::float8 / heap_pages;
	FOR p IN SELECT * FROM peer ORDER BY id LOOP
		began := clock_timestamp();
		EXECUTE 'CREATE INDEX big_uid ON big ' || p.definition;
		SELECT max(pages_per_range) FROM bf_index_stats('big_uid') WHERE level = 0 AND p.definition LIKE 'USING bf%' INTO length;
		INSERT INTO measured VALUES (heap_pages, items, p.name, 'build', extract(epoch FROM clock_timestamp() - began) * 1000, NULL, pg_relation_size('big_uid'), length);
		COMMIT;
		-- warm
		PERFORM look_up(strewn(i * (row_count / values_asked))), look_up(-i) FROM generate_series(1, values_asked) i;
		INSERT INTO measured SELECT heap_pages, items, p.name, 'present', percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms), avg(l.pages)
			FROM generate_series(1, values_asked) i, look_up(strewn(i * (row_count / values_asked))) l;
		INSERT INTO measured SELECT heap_pages, items, p.name, 'absent', percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms), avg(l.pages)
			FROM generate_series(1, values_asked) i, look_up(-i) l;
		DROP INDEX big_uid;
		COMMIT;
	END LOOP;
END
$$;

/* ------------------------------------------------------------------ the model */

-- The largest number of items that a line of 512 bits can have at this rate, over all numbers of hashes.
CREATE FUNCTION load_at(rate float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	best float8 := 0;
	low float8;
	high float8;
BEGIN
	FOR hashes IN 1 .. 16 LOOP
		low := 0.01;
		high := 200;
		FOR step IN 1 .. 40 LOOP
			IF bf_false_positive_rate(512, hashes, (low + high) / 2) <= rate THEN
				low := (low + high) / 2;
			ELSE
				high := (low + high) / 2;
			END IF;
		END LOOP;
		best := greatest(best, low);
	END LOOP;
	RETURN best;
END
$$;

-- The pages of a group of `ranges` ranges with `items` items each. Sizes go up in steps of an eighth;
-- src/pg/index/sizes.c now has steps of a sixteenth.
CREATE FUNCTION pages_of_group(ranges integer, items float8, load float8) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	positions CONSTANT integer := (8168 - 32 - (ranges + 7) / 8 * 8) / (ranges * 64);
	pages bigint := ceil(ceil(items / load) / positions);
	step bigint := 1;
BEGIN
	WHILE pages > 16 * step LOOP
		step := step * 2;
	END LOOP;
	RETURN (pages + step - 1) / step * step;
END
$$;

-- The pages that a look-up reads on average, and the bytes of the index, if the index is built when the table has all
-- its rows. All values differ.
CREATE FUNCTION model(heap_pages float8, items_per_page float8, pages_per_range integer, OUT present float8, OUT absent float8, OUT bytes float8)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	load CONSTANT float8[] := ARRAY[load_at(0.001), load_at(0.01)];
	rate CONSTANT float8[] := ARRAY[0.001, 0.01];
	length float8[] := ARRAY[pages_per_range];
	ranges float8[] := ARRAY[ceil(heap_pages / pages_per_range)];
	groups float8[] := ARRAY[ceil(ceil(heap_pages / pages_per_range) / 125)];
	top integer := 1;
	factor float8;
	asked float8 := 1;	-- ranges of the level above that are gone into, in vain; all of the heap at first
	visited float8;
	pages float8 := 0;
	index_pages float8 := 1;
BEGIN
	LOOP
		factor := least(125, floor(131072 / length[top]));
		EXIT WHEN top = 4 OR factor < 8 OR floor(heap_pages / (length[top] * factor)) < CASE top WHEN 1 THEN 2 ELSE 1 END OR (top > 1 AND groups[top] <= 8);
		length := length || length[top] * factor;
		ranges := ranges || floor(heap_pages / length[top + 1]);
		groups := groups || ceil(ranges[top + 1] / 125);
		top := top + 1;
	END LOOP;
	-- absent value: each level says yes falsely at its rate
	FOR level IN REVERSE top .. 1 LOOP
		visited := CASE WHEN level = top THEN groups[level]
			ELSE asked * length[level + 1] / length[level] / 125 + (heap_pages - ranges[level + 1] * length[level + 1]) / length[level] / 125 END;
		pages := pages + CASE WHEN level = top THEN visited ELSE least(groups[level], greatest(asked, visited) + CASE WHEN heap_pages > ranges[level + 1] * length[level + 1] THEN 1 ELSE 0 END) END;
		asked := least(ranges[level], CASE WHEN level = top THEN ranges[level] ELSE visited * 125 END) * rate[least(level, 2)];
		index_pages := index_pages + floor(ranges[level] / 125) * pages_of_group(125, length[level] * items_per_page, load[least(level, 2)]) +
			CASE WHEN ranges[level]::bigint % 125 > 0 THEN pages_of_group((ranges[level]::bigint % 125)::integer, length[level] * items_per_page, load[least(level, 2)]) ELSE 0 END;
	END LOOP;
	absent := pages + asked * pages_per_range;
	-- present value: in addition, one page on each level below the top, and the pages of one range
	present := absent + top - 1 + pages_per_range;
	bytes := index_pages * 8192;
END
$$;

/* ---------------------------------------------------------------------- tables */

CREATE FUNCTION number(x float8) RETURNS text LANGUAGE sql AS $$ SELECT CASE WHEN x IS NULL THEN '' WHEN x >= 100 THEN to_char(round(x::numeric), 'FM999,999,999') ELSE round(x::numeric, 1)::text END $$;

CREATE FUNCTION measured_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| table, pages | index | pages a range | MB | build s | a value in one row: pages | ms | a value that is nowhere: pages | ms |'
	UNION ALL SELECT '| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s |', to_char(heap_pages, 'FM999,999,999'), label, max(length), round((max(bytes) / 1e6)::numeric, 1),
		round((max(ms) FILTER (WHERE what = 'build') / 1000)::numeric, 1), number(max(pages) FILTER (WHERE what = 'present')), round((max(ms) FILTER (WHERE what = 'present'))::numeric, 3),
		number(max(pages) FILTER (WHERE what = 'absent')), round((max(ms) FILTER (WHERE what = 'absent'))::numeric, 3))
	FROM measured JOIN peer ON peer.name = peer GROUP BY heap_pages, id, label ORDER BY heap_pages, id) $$;

-- The model beside what was measured, and the model alone for larger tables. These have as many items per page as the
-- largest table that was made.
CREATE FUNCTION model_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| table, pages | pages a range | a value in one row: pages, computed | measured | a value that is nowhere: computed | measured | MB, computed | measured |'
	UNION ALL SELECT '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', to_char(heap_pages, 'FM999,999,999'), length, number(m.present), number(x.present), number(m.absent), number(x.absent),
		round((m.bytes / 1e6)::numeric, 1), round((x.bytes / 1e6)::numeric, 1))
	FROM (SELECT heap_pages, items_per_page, peer.pages_per_range AS asked, max(length) AS length, max(bytes) AS bytes, max(pages) FILTER (WHERE what = 'present') AS present,
			max(pages) FILTER (WHERE what = 'absent') AS absent
		FROM measured JOIN peer ON peer.name = peer WHERE peer.pages_per_range > 0 GROUP BY 1, 2, 3) x, model(heap_pages, items_per_page, length) m
	ORDER BY heap_pages, length)
	UNION ALL
	(SELECT format('| %s | %s | %s | | %s | | %s | |', to_char(size, 'FM999,999,999'), length, number(m.present), number(m.absent), to_char(round((m.bytes / 1e6)::numeric), 'FM999,999'))
	FROM (SELECT items_per_page FROM measured ORDER BY heap_pages DESC LIMIT 1) x, unnest(ARRAY[13107200, 134217728]::bigint[]) size, unnest(ARRAY[4, 32]) length,
		model(size, items_per_page, length) m ORDER BY size, length) $$;
