-- rollups.sql: what bench/rollups measures. Variable: hll (yes, no). Logs are tables (item, at), listed in the table
-- log.
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = off', current_database()); EXECUTE format('ALTER DATABASE %I SET max_parallel_workers_per_gather = 0', current_database()); END $$;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '512MB';
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE FUNCTION many(bigint) RETURNS text LANGUAGE sql RETURN coalesce(to_char($1, 'FM999,999,999,999'), '');
CREATE FUNCTION two(float8) RETURNS text LANGUAGE sql RETURN coalesce(to_char($1, 'FM999,990.00'), '');
CREATE FUNCTION milliseconds(since timestamptz) RETURNS float8 LANGUAGE sql VOLATILE RETURN 1000 * extract(epoch FROM clock_timestamp() - since);

\echo 'Made by bench/rollups; filters size themselves, no parameter is given but the half-life.'
\echo
SELECT split_part(version(), ' on ', 1) || '.';
\echo
\echo '| log | hits | items | from | to |'
\echo '| --- | ---: | ---: | --- | --- |'
CREATE TABLE described (id int, hits bigint, items bigint, lo timestamptz, hi timestamptz);
DO $$
DECLARE
	l log;
BEGIN
	FOR l IN SELECT * FROM log LOOP
		EXECUTE format('INSERT INTO described SELECT %s, count(*), count(DISTINCT item), min(at), max(at) FROM %I', l.id, l.tab);
	END LOOP;
END $$;
SELECT format('| %s | %s | %s | %s | %s |', name, many(hits), many(items), lo::date, hi::date) FROM log JOIN described USING (id) ORDER BY id;

-- ------------------------------------------------------------- rows, merged

-- width: the time that a row covers. f has no decay, g the default half-life.
CREATE TABLE part (id int, width text, at timestamptz, f tbf, g tbf);
CREATE TABLE peer (id int, width text, exact_table bigint, exact_index bigint, hll_rows bigint, hll_merged bigint);
CREATE TABLE merged (id int, width text, f tbf, g tbf);
CREATE TABLE judged (id int, width text, half_life text, items bigint, under bigint, over bigint, mean float8, most float8);

-- Undecayed counts are exact, so each excess is an overcount. The exact decayed sum counts times in whole epochs of
-- 6300 s. A decayed count may be above it by rounding: by 1/4096 of a hit for each hit and for each row that is
-- merged.
CREATE PROCEDURE fill(hll boolean) LANGUAGE plpgsql AS $$
DECLARE
	l record;
	w text;
BEGIN
	FOR l IN SELECT * FROM log JOIN described USING (id) ORDER BY id LOOP
		FOREACH w IN ARRAY '{hour,day,week}'::text[] LOOP
			EXECUTE format('INSERT INTO part SELECT %s, %L, date_trunc(%2$L, at), tbf_agg(item, at, NULL), tbf_agg(item, at) FROM %I GROUP BY 3', l.id, w, l.tab);
			EXECUTE format('CREATE TABLE exact_counts AS SELECT date_trunc(%L, at) AS at, item, count(*) AS hits FROM %I GROUP BY 1, 2', w, l.tab);
			ALTER TABLE exact_counts ADD PRIMARY KEY (at, item);
			INSERT INTO peer SELECT l.id, w, pg_table_size('exact_counts'), pg_indexes_size('exact_counts');
			IF hll THEN
				EXECUTE 'UPDATE peer SET (hll_rows, hll_merged) = (SELECT sum(pg_column_size(h)), max(pg_column_size(u)) FROM (SELECT h, hll_union_agg(h) OVER () AS u
					FROM (SELECT hll_add_agg(hll_hash_text(item)) AS h FROM exact_counts GROUP BY at) s) s) WHERE id = $1 AND width = $2' USING l.id, w;
			END IF;
			DROP TABLE exact_counts;
			INSERT INTO merged SELECT l.id, w, tbf_merge_agg(f), tbf_merge_agg(g) FROM part p WHERE p.id = l.id AND width = w;
			EXECUTE format('INSERT INTO judged
				WITH m AS MATERIALIZED (SELECT f, g, (SELECT count(*) FROM part WHERE id = %1$s AND width = %2$L) AS rows FROM merged WHERE id = %1$s AND width = %2$L),
					e AS MATERIALIZED (SELECT item, count(*)::float8 AS n, sum(2 ^ ((floor(extract(epoch FROM at - timestamptz ''2000-01-01 UTC'') / 6300)
						- floor(extract(epoch FROM %3$L::timestamptz - timestamptz ''2000-01-01 UTC'') / 6300)) / 96)::float8) AS faded FROM %4$I GROUP BY item),
					c AS (SELECT n AS hits, 0 AS rounding, tbf_count(f, item) AS counted, ''none'' AS half_life FROM m, e
						UNION ALL SELECT faded, (n + rows) / 4096, tbf_count(g, item, %3$L), ''7 days'' FROM m, e)
				SELECT %1$s, %2$L, half_life, count(*), count(*) FILTER (WHERE counted < hits * (1 - 1e-12)), count(*) FILTER (WHERE counted > hits * (1 + 1e-12) + rounding),
					avg(counted - hits), max(counted - hits) FROM c GROUP BY half_life', l.id, w, l.hi, l.tab);
		END LOOP;
	END LOOP;
END $$;
SELECT CASE :'hll' WHEN 'yes' THEN 'true' ELSE 'false' END AS with_hll \gset
CALL fill(:with_hll);

\echo
\echo '## Bytes'
\echo
\echo 'Rows: the filters of all rows together. Merged: tbf_merge_agg of them. An item: bytes of an exact filter without the 128 of its header,'
\echo 'divided by its items. Exact counts: a table (time, item, hits) with its primary key. hll, which estimates how many items there are'
\echo 'and counts no hits: the values alone.'
\echo
\echo '| log | a row is of | rows | half-life | bytes of rows | an item | merged | layout | an item | exact counts | its key | hll rows | hll merged |'
\echo '| --- | --- | ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |'
WITH both_ AS (
	SELECT id, width, 'none' AS half_life, f FROM part UNION ALL SELECT id, width, '7 days', g FROM part),
rows AS (SELECT id, width, both_.half_life, count(*) AS rows, sum(bytes) AS bytes, sum(bytes - 128) FILTER (WHERE layout = 'exact') / sum(cardinality) FILTER (WHERE layout = 'exact') AS item
	FROM both_, tbf_info(f) GROUP BY 1, 2, 3),
whole AS (SELECT id, width, m.half_life, bytes, layout, CASE layout WHEN 'exact' THEN (bytes - 128) / cardinality END AS item
	FROM (SELECT id, width, 'none' AS half_life, f FROM merged UNION ALL SELECT id, width, '7 days', g FROM merged) m, tbf_info(f))
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', name, r.width, rows, r.half_life, many(r.bytes::bigint), two(r.item), many(w.bytes), layout, two(w.item),
	many(exact_table), many(exact_index), many(hll_rows), many(hll_merged))
FROM rows r JOIN whole w USING (id, width, half_life) JOIN peer USING (id, width) JOIN log USING (id)
ORDER BY id, array_position('{hour,day,week}', r.width), half_life DESC;

\echo
\echo '## Counts'
\echo
\echo 'The merged filter beside the exact counts, at the time of the last hit. Rounding: 1/4096 of a hit for each hit and row, only with decay.'
\echo
\echo '| log | a row is of | half-life | items | undercounted | overcounted beyond rounding | share | mean overcount | largest |'
\echo '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s | %s %% | %s | %s |', name, width, half_life, many(items), under, over, two(100.0 * over / items), to_char(mean, 'FM0.0000'), to_char(most, 'FM990.0000'))
FROM judged JOIN log USING (id) ORDER BY id, array_position('{hour,day,week}', width), half_life DESC;

-- ------------------------------------------------------------- time, memory

-- The largest resident size of this session so far, in bytes; NULL if the system does not report it.
CREATE FUNCTION most_memory() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+) kB')::bigint * 1024;
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END $$;

-- arguments: a query that returns the filters to merge, one per row. operation: a query that merges them into one
-- filter.
CREATE TABLE merging (id serial PRIMARY KEY, name text, operation text, arguments text);
CREATE TABLE timing (id int, ms float8, memory bigint, taken bigint, result bigint, layout text);

CREATE PROCEDURE make_merged(rows int) LANGUAGE plpgsql AS $$
DECLARE
	least int := (SELECT min(id) FROM part);
BEGIN
	CREATE TABLE repeated AS
		SELECT n, f, g FROM generate_series(0, rows - 1) n JOIN (SELECT row_number() OVER (ORDER BY at) - 1 AS i, count(*) OVER () AS hours, f, g FROM part WHERE id = least AND width = 'hour') p
			ON i = n % hours;
	CREATE TABLE growing AS
		SELECT n, f FROM generate_series(0, rows - 1) n, LATERAL (SELECT tbf_agg(i, NULL, NULL) AS f FROM generate_series(n * greatest(10, 100000 / rows), n * greatest(10, 100000 / rows) + 999) i) s;
	CREATE TABLE two_filters AS SELECT tbf_merge_agg(f) AS f, tbf_merge_agg(g) AS g FROM repeated;
	CREATE TABLE two_large AS SELECT tbf_add(tbf_empty(12700000), 'a') AS f, tbf_add(tbf_empty(12700000), 'b') AS g;
	INSERT INTO merging (name, operation, arguments) VALUES
		('`tbf_merge_agg(f)`, undecayed', 'SELECT tbf_merge_agg(f) FROM repeated', 'SELECT f FROM repeated'),
		('`tbf_merge_agg(f)`, half-life of 7 days', 'SELECT tbf_merge_agg(g) FROM repeated', 'SELECT g FROM repeated'),
		('`tbf_merge_agg(f, weight)`', 'SELECT tbf_merge_agg(f, decay_exponential(n * interval ''1 hour'')) FROM repeated', 'SELECT f FROM repeated'),
		('`tbf_merge_agg(f)`, past 65,536 items', 'SELECT tbf_merge_agg(f) FROM growing', 'SELECT f FROM growing'),
		('the same with `tbf_empty(1000000)` among them', 'SELECT tbf_merge_agg(f) FROM (SELECT f FROM growing UNION ALL SELECT tbf_empty(1000000, half_life => NULL)) s', 'SELECT f FROM growing'),
		('`f + f`, undecayed', 'SELECT f + f FROM two_filters', 'SELECT unnest(ARRAY[f, f]) FROM two_filters'),
		('`g + g`, half-life of 7 days', 'SELECT g + g FROM two_filters', 'SELECT unnest(ARRAY[g, g]) FROM two_filters'),
		('`f * 0.5`', 'SELECT f * 0.5 FROM two_filters', 'SELECT f FROM two_filters'),
		('`tbf_decay(g)` a half-life later', 'SELECT tbf_decay(g, i.newest + interval ''8 days'') FROM two_filters, tbf_info(g) i', 'SELECT g FROM two_filters'),
		('`tbf_add(f, item)`', 'SELECT tbf_add(f, ''/'') FROM two_filters', 'SELECT f FROM two_filters'),
		('`g + h` of two `tbf_empty(12700000)` with a hit each', 'SELECT f + g FROM two_large', 'SELECT unnest(ARRAY[f, g]) FROM two_large');
	ANALYZE;
END $$;

-- REQUIRES: a fresh session
CREATE PROCEDURE measure(wanted int) LANGUAGE plpgsql AS $$
DECLARE
	m merging := x FROM merging x WHERE id = wanted;
	before bigint;
	began timestamptz;
	elapsed float8;
	f tbf;
	grown bigint;
	argument_bytes bigint;
BEGIN
	-- Memory that the first use of the extension and of the executor takes is not counted, nor are the pages of the
	-- arguments.
	EXECUTE 'SELECT tbf_merge_agg(x + x, 0.5) FROM (SELECT tbf_agg(i, now()) AS x FROM generate_series(1, 10) i) s' INTO f;
	EXECUTE format('SELECT sum(octet_length(f::bytea)) FROM (%s) s (f)', m.arguments) INTO argument_bytes;
	before := most_memory();
	began := clock_timestamp();
	EXECUTE m.operation INTO f;
	elapsed := milliseconds(began);
	grown := most_memory() - before;
	INSERT INTO timing SELECT wanted, elapsed, grown, argument_bytes, i.bytes, i.layout FROM tbf_info(f) i;
END $$;

CREATE FUNCTION merging_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| operation | ms | bytes of arguments | bytes of the result | layout | memory | times |' UNION ALL SELECT '| --- | ---: | ---: | ---: | --- | ---: | ---: |' UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s |', name, two(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)), many(max(taken)), many(max(result)), max(layout),
		many(percentile_disc(0.5) WITHIN GROUP (ORDER BY memory)), two(percentile_disc(0.5) WITHIN GROUP (ORDER BY memory)::float8 / (max(taken) + max(result))))
	FROM timing JOIN merging USING (id) GROUP BY id, name ORDER BY id)
$$;
