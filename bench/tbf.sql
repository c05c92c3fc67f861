-- tbf.sql: what bench/tbf measures. Variables: rounds. Logs are tables (item, at), listed in the table log.
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '512MB';
SET timezone = 'UTC';
SET client_min_messages = warning;

CREATE FUNCTION many(text) RETURNS text LANGUAGE sql RETURN to_char($1::bigint, 'FM999,999,999,999');
CREATE FUNCTION two(float8) RETURNS text LANGUAGE sql RETURN to_char($1, 'FM999990.00');
CREATE FUNCTION months_days(interval) RETURNS text LANGUAGE sql RETURN coalesce(replace($1::text, '1 days', '1 day'), 'none');

-- The items of each log with their exact counts, without decay and with the default half-life, whose epoch is 7 days
-- / 96 = 6300 s.
CREATE UNLOGGED TABLE truth (id int, item_text text, item_id bigint, hits float8, decayed float8);
CREATE PROCEDURE describe() LANGUAGE plpgsql AS $$
DECLARE
	l log;
	typed text;
BEGIN
	FOR l IN SELECT * FROM log LOOP
		EXECUTE format('UPDATE log SET (items, hits, lo, hi) = (SELECT count(DISTINCT item), count(*), min(at), max(at) FROM %I) WHERE id = %s', l.tab, l.id);
		EXECUTE format('SELECT pg_typeof(item) FROM %I LIMIT 1', l.tab) INTO typed;
		EXECUTE format($q$
			CREATE UNLOGGED TABLE %1$I AS
				SELECT item, count(*)::float8 AS hits,
					sum(0.5 ^ ((floor(extract(epoch FROM hi - timestamptz '2000-01-01 UTC') / 6300)
						- floor(extract(epoch FROM at - timestamptz '2000-01-01 UTC') / 6300)) / 96)::float8) AS decayed
				FROM %2$I, log WHERE id = %3$s GROUP BY 1 ORDER BY md5(item::text)$q$, l.tab || '_items', l.tab, l.id);
		EXECUTE format('CREATE UNLOGGED TABLE %I AS SELECT item FROM %I ORDER BY md5(item::text) LIMIT 20000', l.tab || '_asked', l.tab || '_items');
	END LOOP;
END $$;
CALL describe();
VACUUM ANALYZE;

\echo '# What a tbf costs, and how well it counts'
\echo
SELECT format('%s; JIT off, one process; medians of %s interleaved rounds. The machine was shared and noisy: quote ratios and bytes.',
	split_part(version(), ' on ', 1), :rounds);
\echo 'Made by bench/tbf; every figure was measured in the same run.'
\echo
\echo '| log | items | hits | from | to |'
\echo '| --- | ---: | ---: | --- | --- |'
SELECT format('| %s | %s | %s | %s | %s |', name, many(items::text), many(hits::text), lo::date, hi::date) FROM log ORDER BY id;
\echo
\echo 'The traces have no times: theirs are made up, evenly over 31 days. So are those of the uniform log (20,000 items, each as'
\echo 'likely as the other), which stands for the flat distribution of Cheng et al.'
\echo

-- ---------------------------------------------------------------- 1. bytes

-- cells_for(): the number of cells of a filter as tbf_empty() makes it. tell_for(): the expected number of items with
-- which a filter gets about this many cells.
CREATE FUNCTION cells_for(n bigint, fpr float8) RETURNS bigint LANGUAGE sql
	RETURN (SELECT cells FROM tbf_info(tbf_empty(greatest(n, 1), fpr)));
CREATE FUNCTION tell_for(cells float8, fpr float8) RETURNS bigint LANGUAGE sql
	RETURN round(cells * 1000000 / cells_for(1000000, fpr));

CREATE TABLE space (id int, sizing int, half_life interval, filter tbf);
CREATE PROCEDURE fill_space() LANGUAGE plpgsql AS $$
DECLARE
	l log;
	h interval;
BEGIN
	FOR l IN SELECT * FROM log LOOP
		FOREACH h IN ARRAY '{NULL,30 days,7 days,1 day}'::interval[] LOOP
			EXECUTE format('INSERT INTO space SELECT %s, 1, %L, tbf_agg_like(item, at, tbf_empty(%s, 0.01, %L::interval)) FROM %I', l.id, h, l.items, h, l.tab);
			CONTINUE WHEN h NOT IN ('7 days');
			EXECUTE format('INSERT INTO space SELECT %s, 2, %L, tbf_agg(item, at, %L::interval) FROM %I', l.id, h, h, l.tab);
			EXECUTE format('INSERT INTO space SELECT %s, 3, %L, tbf_agg_like(item, at, tbf_empty(%s, 0.00031, %L::interval)) FROM %I',
				l.id, h, tell_for(7 / ln(2) * l.items, 0.00031), h, l.tab);
		END LOOP;
	END LOOP;
END $$;
CALL fill_space();

\echo '## Bytes'
\echo
\echo 'All bytes count the whole value with its header of 128. "16 bits": 2 bytes for each of the same m cells, whether they would'
\echo 'hold the counts or not; "past 16 bits": counters that they would not hold. "As stored": layout flat, the narrowest of 8, 16,'
\echo '32, 64 bits that holds the largest counter. Sizing: *told* n items and 1 %; *itself*, m a power of two; *ln 2*, the'
\echo 'parameters of the papers, k = ln 2 · m/n with k = 7 (0.8 %), where half of the counters are not zero. Without decay a'
\echo 'counter is a number of hits, with a half-life one of 1/16 hits at the newest hit''s half-life.'
\echo
\echo '| log | sizing | k | m | half-life | 16 bits | past 16 bits | as stored | extensible | 16 bits / extensible | as stored / extensible |'
\echo '| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
CREATE TABLE bytes AS
SELECT s.id, name, sizing, s.half_life, i.hashes, i.cells, 2 * i.cells + 128 AS flat16, i.bytes AS extensible, f.bytes AS flat, f.cell_bits,
	(SELECT coalesce(sum(h.cells), 0) FROM tbf_histogram(filter) h WHERE hits_from >= 65536 * i.unit) AS past
FROM space s JOIN log USING (id), tbf_info(filter) i, LATERAL (SELECT * FROM tbf_info(tbf_layout(filter, 'flat'))) f;
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s (%s bits) | %s | %s | %s |', name, (ARRAY['told', 'itself', 'ln 2'])[sizing], hashes, many(cells::text),
	months_days(half_life), many(flat16::text), past, many(flat::text), cell_bits, many(extensible::text), two(flat16::float8 / extensible), two(flat::float8 / extensible))
FROM bytes ORDER BY id, sizing, half_life DESC NULLS FIRST;
\echo
SELECT format('Smallest of "16 bits / extensible" on the logs and traces: %s without decay (wanted: 3.5), %s with a half-life (wanted: 2.4).',
	two(min(flat16::float8 / extensible) FILTER (WHERE half_life IS NULL)), two(min(flat16::float8 / extensible) FILTER (WHERE half_life IS NOT NULL))) FROM bytes WHERE id < 5;

-- Bytes over the decay factor: of the filter that the aggregate stores, and of a filter that gets its hits day by day
-- and is decayed each day.
CREATE TABLE curve (id int, lambda float8, flat16 bigint, flat bigint, extensible bigint, daily bigint);
CREATE PROCEDURE draw() LANGUAGE plpgsql AS $$
DECLARE
	l log;
	lambda float8;
	h interval;
	fresh tbf;
	at_once tbf;
	kept tbf;
	day timestamptz;
BEGIN
	FOR l IN SELECT * FROM log WHERE id < 5 LOOP
		EXECUTE format('CREATE INDEX ON %I USING brin (at) WITH (pages_per_range = 16)', l.tab);
		FOREACH lambda IN ARRAY '{0.05,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,0.95,0.98,1}'::float8[] LOOP
			CONTINUE WHEN l.id = 4 AND lambda NOT IN (0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1);        -- it takes its time
			h := CASE WHEN lambda < 1 THEN make_interval(secs => round(86400 * ln(2) / -ln(lambda))) END;
			fresh := tbf_empty(l.items, 0.01, h, CASE WHEN lambda < 1 THEN interval '1 day' END);
			EXECUTE format('SELECT tbf_agg_like(item, at, $1) FROM %I', l.tab) INTO at_once USING fresh;
			kept := fresh;
			FOR day IN SELECT generate_series(date_trunc('day', l.lo), l.hi, '1 day') LOOP
				EXECUTE format('SELECT coalesce(tbf_decay($2 + tbf_agg_like(item, at, $1), $3), $2) FROM %I WHERE at >= $3 AND at < $3 + interval ''1 day''', l.tab)
					INTO kept USING fresh, kept, day;
			END LOOP;
			INSERT INTO curve SELECT l.id, lambda, 2 * i.cells + 128, f.bytes, i.bytes, k.bytes
				FROM tbf_info(at_once) i, tbf_info(tbf_layout(at_once, 'flat')) f, tbf_info(kept) k;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
CALL draw();

\echo
\echo '### Over the decay factor'
\echo
\echo 'As Figure 3 of the letter: B-TBF with 16-bit counters beside extensible ones, for decay by λ in each epoch of a day (told n,'
\echo '1 %). *At once*: the result of one aggregate over the log, in which every item keeps at least a unit; *each day*: what a'
\echo 'filter holds that got the hits of each day and a tbf_decay(), as a job of pg_cron does it. At λ = 1 nothing decays, and a unit'
\echo 'is a hit instead of 1/16. Counters are stored at a scale that is a whole number of half-lives, up to one before the newest'
\echo 'hit, hence the saw teeth.'
\echo
SELECT '![Bytes over the decay factor](tbf-space.svg)' WHERE EXISTS (SELECT FROM curve);
\echo
SELECT '| λ | ' || string_agg(name || ': 16 bits | at once | each day', ' | ' ORDER BY id) || ' |' FROM log WHERE id < 3 HAVING count(*) > 0;
SELECT '| ---: |' || string_agg(' ---: | ---: | ---: |', '') FROM log WHERE id < 3 HAVING count(*) > 0;
SELECT '| ' || lambda || ' | ' || string_agg(many(flat16::text) || ' | ' || many(extensible::text) || ' | ' || many(daily::text), ' | ' ORDER BY id) || ' |'
FROM curve WHERE id < 3 GROUP BY lambda ORDER BY lambda;
\echo

-- ---------------------------------------------------------------- 2. time

CREATE TABLE stored (id int, half_life interval, layout text, filter tbf);
CREATE TABLE query (id serial, log int, half_life interval, what text, layout text, sql text, repeat int DEFAULT 1);
CREATE PROCEDURE prepare_queries() LANGUAGE plpgsql AS $$
DECLARE
	l log;
	h interval;
	y text;
	source text;
	counted text;
BEGIN
	FOR l IN SELECT * FROM log ORDER BY id LOOP
		FOREACH h IN ARRAY '{NULL,7 days}'::interval[] LOOP
			FOREACH y IN ARRAY '{flat,extensible}'::text[] LOOP
				EXECUTE format('INSERT INTO stored SELECT %s, %L, %L, tbf_agg_like(item, at, tbf_empty(%s, 0.01, %L::interval, layout => %L)) FROM %I',
					l.id, h, y, l.items, h, y, l.tab);
				-- A build that takes only some ms is timed five times in each round, in turns with that of the other
				-- layout.
				INSERT INTO query (log, half_life, what, layout, sql, repeat)
					SELECT l.id, h, 'build', y, format('SELECT tbf_agg_like(item, at, tbf_empty(%s, 0.01, %L::interval, layout => %L)) IS NULL FROM %I', l.items, h, y, l.tab), r
					FROM generate_series(1, CASE WHEN l.hits < 1000000 THEN 5 ELSE 1 END) r;
				-- The time of sum(1) over the same join is subtracted, so that only the counting is left.
				counted := format('tbf_count(filter, item, %L::timestamptz)', l.hi);
				source := format('FROM stored, %I WHERE id = %s AND half_life IS NOT DISTINCT FROM %L AND layout = %L', l.tab || '_asked', l.id, h, y);
				INSERT INTO query (log, half_life, what, layout, sql) VALUES
					(l.id, h, 'stored', y, format('SELECT sum(%s) %s', counted, source)),
					(l.id, h, 'stored scan', y, format('SELECT sum(CASE WHEN filter IS NULL THEN 0.0::float8 ELSE 1 END) %s', source));
				-- The cast through bytea puts the value into memory, so that it is no pointer to the TOAST table. As
				-- this takes a while, each item is asked for ten times.
				source := format('WITH f AS MATERIALIZED (SELECT filter::bytea::tbf AS filter FROM stored WHERE id = %s AND half_life IS NOT DISTINCT FROM %L AND layout = %L) SELECT %%s FROM f, %I, generate_series(1, 10)',
					l.id, h, y, l.tab || '_asked');
				INSERT INTO query (log, half_life, what, layout, sql) VALUES
					(l.id, h, 'memory', y, format(source, format('sum(%s)', counted))),
					(l.id, h, 'memory scan', y, format(source, 'sum(CASE WHEN filter IS NULL THEN 0.0::float8 ELSE 1 END)'));
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CALL prepare_queries();
VACUUM ANALYZE stored;

CREATE TABLE timing (id int, round int, ms float8);
CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	q query;
	began timestamptz;
BEGIN
	FOR round IN 0 .. rounds LOOP           -- round 0 warms up; the layouts go one after the other, and take turns at being first
		FOR q IN SELECT * FROM query ORDER BY log, half_life, what, repeat, CASE WHEN round % 2 = 0 THEN id ELSE -id END LOOP
			began := clock_timestamp();
			EXECUTE q.sql;
			IF round > 0 THEN
				INSERT INTO timing VALUES (q.id, round, 1000 * extract(epoch FROM clock_timestamp() - began));
			END IF;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;
CALL measure(:rounds);

-- A ratio is the median of the ratios of the rounds, because other work on the machine then affects both layouts.
CREATE TABLE took AS
WITH rounds AS (
	SELECT log AS id, half_life, round,
		avg(ms) FILTER (WHERE what = 'build' AND layout = 'flat') AS build_flat,
		avg(ms) FILTER (WHERE what = 'build' AND layout = 'extensible') AS build_extensible,
		sum(CASE what WHEN 'stored' THEN ms WHEN 'stored scan' THEN -ms END) FILTER (WHERE layout = 'flat') AS stored_flat,
		sum(CASE what WHEN 'stored' THEN ms WHEN 'stored scan' THEN -ms END) FILTER (WHERE layout = 'extensible') AS stored_extensible,
		sum(CASE what WHEN 'memory' THEN ms WHEN 'memory scan' THEN -ms END) FILTER (WHERE layout = 'flat') AS memory_flat,
		sum(CASE what WHEN 'memory' THEN ms WHEN 'memory scan' THEN -ms END) FILTER (WHERE layout = 'extensible') AS memory_extensible
	FROM query JOIN timing USING (id) GROUP BY 1, 2, 3)
SELECT id, half_life,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY build_flat) AS build_flat,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY build_extensible) AS build_extensible,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY build_extensible / build_flat) AS build,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY stored_flat) AS stored_flat,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY stored_extensible) AS stored_extensible,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY stored_extensible / stored_flat) AS stored,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY memory_flat) AS memory_flat,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY memory_extensible) AS memory_extensible,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY memory_extensible / nullif(memory_flat, 0)) AS memory
FROM rounds GROUP BY 1, 2;
CREATE TABLE asked (id int, n bigint);
SELECT format('INSERT INTO asked SELECT %s, count(*) FROM %I', id, tab || '_asked') FROM log \gexec

\echo '## Time'
\echo
\echo 'Build: tbf_agg_like(item, at, tbf_empty(n, 0.01, half-life, layout => …)) over the whole log, ms. Count: µs for one'
\echo 'tbf_count() of an item that has hits, over the time of the same query without it (up to 20,000 items asked of one filter);'
\echo '*stored*: the value lies in the TOAST table, and each count reads what it needs of it; *in memory*: the value was read once'
\echo '(a materialised CTE), and each count looks into it. Ratio: the median of the ratios of the rounds.'
\echo
\echo '| log | half-life | build: flat | extensible | ratio | stored: flat | extensible | ratio | in memory: flat | extensible | ratio |'
\echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', name, months_days(half_life), two(build_flat), two(build_extensible), two(build),
	two(stored_flat * 1e3 / n), two(stored_extensible * 1e3 / n), two(stored),
	round((memory_flat * 1e2 / n)::numeric, 3), round((memory_extensible * 1e2 / n)::numeric, 3), two(memory))
FROM took JOIN log USING (id) JOIN asked USING (id) ORDER BY id, half_life NULLS FIRST;
\echo
SELECT format('On the logs and traces the largest ratio is %s for building (wanted: 1.1) and %s for a count in a stored value (wanted: 1.5).',
	two(max(build)), two(max(stored))) FROM took WHERE id < 5;
\echo

-- ------------------------------------------------------------- 3. buffers

CREATE TABLE large (layout text, filter tbf);
INSERT INTO large SELECT 'extensible', tbf_agg_like(i, timestamptz '2026-01-01', tbf_empty(2200000, 0.01, NULL), 1 + i % 100) FROM generate_series(1, 2200000) i;
INSERT INTO large SELECT 'flat', tbf_layout(filter, 'flat') FROM large;
VACUUM large;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'large'::regclass \gset
CREATE TABLE buffers (layout text, n int);
CREATE PROCEDURE count_buffers() LANGUAGE plpgsql AS $$
DECLARE
	y text;
	plan json;
BEGIN
	FOREACH y IN ARRAY '{flat,extensible}'::text[] LOOP
		FOR i IN 0 .. 200 LOOP              -- 0: what a session looks up once
			EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT tbf_count(filter, %s) FROM large WHERE layout = %L', i * 10007, y) INTO plan;
			IF i > 0 THEN
				INSERT INTO buffers SELECT y, (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
			END IF;
		END LOOP;
	END LOOP;
END $$;
CALL count_buffers();

\echo '## Buffers of a count in a large stored filter'
\echo
\echo '2.2 million items (bigint) that weigh 1 to 100, told so, no decay; 200 items asked, each with an'
\echo '`EXPLAIN (ANALYZE, BUFFERS)` of its own. All buffers of the query: the table''s page, the pages of the TOAST index and those of'
\echo 'its table.'
\echo
\echo '| layout | bytes | TOAST chunks | pages of the TOAST table and index that hold both | buffers of a count: least | median | most |'
\echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s | %s |', layout, many(bytes::text), many(((bytes + 4 + 1995) / 1996)::text),
	many(((pg_table_size(:'toast') + pg_indexes_size(:'toast')) / 8192)::text), min(n), percentile_cont(0.5) WITHIN GROUP (ORDER BY n), max(n))
FROM buffers JOIN (SELECT large.layout, i.bytes FROM large, tbf_info(filter) i OFFSET 0) f USING (layout) GROUP BY layout, bytes ORDER BY layout DESC;
\echo
\echo '```'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT tbf_count(filter, 123456) FROM large WHERE layout = 'extensible';
\echo '```'
\echo

-- ------------------------------------------------------------ 4. the counts

SELECT to_regprocedure('tbf_agg_in_order("any", timestamptz, tbf, double precision)') IS NOT NULL AS has_increase \gset
CREATE TABLE answer (id int, half_life interval, way text, bytes bigint, items bigint, exact bigint, mean float8, largest float8, under bigint, hits float8);
CREATE PROCEDURE compare(with_increase boolean) LANGUAGE plpgsql AS $$
DECLARE
	l log;
	h interval;
	way text;
	filter tbf;
BEGIN
	FOR l IN SELECT * FROM log ORDER BY id LOOP
		FOREACH h IN ARRAY '{NULL,7 days}'::interval[] LOOP
			FOREACH way IN ARRAY CASE WHEN with_increase THEN '{tbf,minimum increase}' ELSE '{tbf}' END::text[] LOOP
				IF way = 'tbf' THEN
					EXECUTE format('SELECT tbf_agg_like(item, at, tbf_empty(%s, 0.01, %L::interval)) FROM %I', l.items, h, l.tab) INTO filter;
				ELSE
					EXECUTE format('SELECT tbf_agg_in_order(item, at, tbf_empty(%s, 0.01, %L::interval, minimum_increase => true) ORDER BY at) FROM %I', l.items, h, l.tab) INTO filter;
				END IF;
				-- An overcount of 1/1000 and a unit is rounding, as docs/tbf.md promises. The exact count is a sum of
				-- doubles, with an error of at most 1e-9.
				EXECUTE format($q$
					INSERT INTO answer
					SELECT %s, %L, %L, (SELECT bytes FROM tbf_info($1)), count(*), count(*) FILTER (WHERE over <= CASE WHEN %L IS NULL THEN 0 ELSE truth * 0.001 + 0.0625 END),
						avg(over), max(over), count(*) FILTER (WHERE over < -1e-9 * truth), avg(truth)
					FROM (SELECT tbf_count($1, item, %L) - t AS over, t AS truth FROM (SELECT item, %I AS t FROM %I) s) o $q$,
					l.id, h, way, h, l.hi, CASE WHEN h IS NULL THEN 'hits' ELSE 'decayed' END, l.tab || '_items') USING filter;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CALL compare(:'has_increase');

\echo '## Counts against the exact answer'
\echo
\echo 'Every item of the log asked, beside GROUP BY (with a half-life: Σ 2^(−age in whole epochs / 96), in doubles), at the time of'
\echo 'the newest hit; told n, 1 %. *Exact*: the same number without decay; with it, not over by more than rounding, which is 1/1000'
\echo 'and 1/16 hit. Over: hits. Mean hits: of an item, in truth. µs: a count in memory, from above.'
\echo
\echo '| log | half-life | counting | bytes | mean hits | exact | mean over | largest over | under | µs, flat | µs, extensible |'
\echo '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s %% | %s | %s | %s | %s | %s |', name, months_days(a.half_life), way, many(bytes::text), two(a.hits), two(100.0 * exact / a.items),
	round(mean::numeric, 4), two(largest), under,
	CASE WHEN way = 'tbf' THEN round((memory_flat * 1e2 / n)::numeric, 3)::text END, CASE WHEN way = 'tbf' THEN round((memory_extensible * 1e2 / n)::numeric, 3)::text END)
FROM answer a JOIN log USING (id) JOIN asked USING (id) JOIN took t ON t.id = a.id AND t.half_life IS NOT DISTINCT FROM a.half_life
ORDER BY a.id, a.half_life NULLS FIRST, way DESC;
\echo
SELECT format('Undercounts: %s of %s counts.', sum(under), many(sum(items)::text)) FROM answer;
\if :has_increase
SELECT format('Minimum increase at the same size: without decay the mean overcount is divided by %s to %s (wanted: 2); with a half-life, where most of it is rounding, by %s to %s.',
	two(min(t.mean / nullif(i.mean, 0)) FILTER (WHERE t.half_life IS NULL)), two(max(t.mean / nullif(i.mean, 0)) FILTER (WHERE t.half_life IS NULL)),
	two(min(t.mean / nullif(i.mean, 0)) FILTER (WHERE t.half_life IS NOT NULL)), two(max(t.mean / nullif(i.mean, 0)) FILTER (WHERE t.half_life IS NOT NULL)))
FROM answer t JOIN answer i ON i.id = t.id AND i.half_life IS NOT DISTINCT FROM t.half_life WHERE t.way = 'tbf' AND i.way <> 'tbf';
\else
\echo 'Minimum increase was not measured: this streambloom has no tbf_agg_in_order(item, at, like, weight).'
\endif
