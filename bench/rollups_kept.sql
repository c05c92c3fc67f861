-- rollups_kept.sql: how close the answers of kept roll-ups are, and what they cost. Variables: per_day, rounds, hll
-- (true, false). The rows of the blog are in the table sample.
SET client_min_messages = warning;
SET work_mem = '256MB';
CREATE FUNCTION many(numeric) RETURNS text LANGUAGE sql RETURN coalesce(to_char($1, 'FM999,999,999,990'), '');

SELECT split_part(version(), ' on ', 1) || '.';

-- at: the time of the hit. arrives: the time at which it is committed, up to two hours later.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE year_all AS SELECT timestamptz '2024-01-01' + (i + random()) * interval '1 day' / :per_day AS at, '/page/' || floor(exp(random() * ln(50000)))::int || CASE WHEN i > 300 * :per_day AND i % 97 = 0 THEN '/new' ELSE '' END AS url
	FROM generate_series(1, 366 * :per_day) i;
CREATE TABLE blog_all AS SELECT at, url FROM sample;
ALTER TABLE year_all ADD arrives timestamptz;
ALTER TABLE blog_all ADD arrives timestamptz;
UPDATE year_all SET arrives = at + CASE WHEN random() < 0.1 THEN random() * interval '119 minutes' ELSE '0' END;
UPDATE blog_all SET arrives = at + CASE WHEN random() < 0.1 THEN random() * interval '119 minutes' ELSE '0' END;
CREATE INDEX ON year_all (arrives);
CREATE INDEX ON blog_all (arrives);

-- Nine tenths come before the first refresh; the rest comes in batches of three hours, with a refresh after each.
CREATE TABLE refreshes (log text, first_seconds numeric, first_rows bigint, batches int, most_seconds numeric);
CREATE PROCEDURE fill(log text) LANGUAGE plpgsql AS $$
DECLARE
	first timestamptz;
	last timestamptz;
	split timestamptz;
	began timestamptz;
	took numeric;
	most numeric := 0;
	n int := 0;
	batch text := format('INSERT INTO %s SELECT at, url FROM %1$s_all WHERE arrives >= $1 AND arrives < $2', log);
	month timestamptz;
BEGIN
	EXECUTE format('SELECT min(at), max(arrives) FROM %s_all', log) INTO first, last;
	EXECUTE format('CREATE TABLE %s (at timestamptz NOT NULL, url text NOT NULL) PARTITION BY RANGE (at)', log);
	EXECUTE format('CREATE INDEX ON %s (at)', log);
	FOR month IN SELECT generate_series(date_trunc('month', first), last, '1 month') LOOP
		EXECUTE format('CREATE TABLE %s_%s PARTITION OF %1$s FOR VALUES FROM (%3$L) TO (%4$L)', log, to_char(month, 'YYYY_MM'), month, month + interval '1 month');
	END LOOP;
	PERFORM tbf_rollup_create(log || '_heat', log::regclass, 'url', 'at');
	split := last - (last - first) / 10;
	EXECUTE batch USING '-infinity'::timestamptz, split;
	GET DIAGNOSTICS n = ROW_COUNT;
	COMMIT;
	began := clock_timestamp();
	CALL tbf_rollup_refresh((log || '_heat')::regclass);
	INSERT INTO refreshes VALUES (log, extract(epoch FROM clock_timestamp() - began), n);
	n := 0;
	WHILE split <= last LOOP
		EXECUTE batch USING split, split + interval '3 hours';
		COMMIT;
		began := clock_timestamp();
		CALL tbf_rollup_refresh((log || '_heat')::regclass);
		took := extract(epoch FROM clock_timestamp() - began);
		most := greatest(most, took);
		split := split + interval '3 hours';
		n := n + 1;
	END LOOP;
	UPDATE refreshes r SET batches = n, most_seconds = most WHERE r.log = fill.log;
END $$;
CALL fill('year');
CALL fill('blog');
VACUUM ANALYZE year;
VACUUM ANALYZE blog;
VACUUM ANALYZE year_heat;
VACUUM ANALYZE blog_heat;
CREATE TABLE year_exact AS SELECT date_trunc('hour', at) AS hour, url, count(*) AS hits FROM year GROUP BY 1, 2;
CREATE TABLE blog_exact AS SELECT date_trunc('hour', at) AS hour, url, count(*) AS hits FROM blog GROUP BY 1, 2;
ALTER TABLE year_exact ADD PRIMARY KEY (hour, url);
ALTER TABLE blog_exact ADD PRIMARY KEY (hour, url);
VACUUM ANALYZE year_exact;
VACUUM ANALYZE blog_exact;

-- ------------------------------------------------------------------ bytes

\echo
\echo '## Refreshes and bytes'
\echo
\echo 'The first refresh finds nine tenths of the log. The others come after each three hours of the rest. A tenth of all rows is committed up to two hours late.'
\echo
\echo '| log | rows | first refresh, s | rows of it | further refreshes | the longest, s | log with its index, MB | roll-up | exact counts by the hour, with their key | every hit counted once |'
\echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |'
CREATE FUNCTION size_of(regclass) RETURNS numeric LANGUAGE sql RETURN (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree($1));
CREATE FUNCTION line_of(log text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format('SELECT format(''| %1$s | %%s | %%s | %%s | %%s | %%s | %%s | %%s | %%s | %%s |'', many((SELECT count(*) FROM %1$s)), round(first_seconds, 1), many(first_rows), batches, round(most_seconds, 2),
		round(size_of(''%1$s'') / 1e6, 1), round(pg_total_relation_size(''%1$s_heat'') / 1e6, 1), round(pg_total_relation_size(''%1$s_exact'') / 1e6, 1),
		CASE WHEN (SELECT sum(hits) FROM %1$s_heat) = (SELECT count(*) FROM %1$s) THEN ''yes'' ELSE ''NO'' END) FROM refreshes r WHERE r.log = ''%1$s''', log) INTO said;
	RETURN said;
END $$;
SELECT line_of('year');
SELECT line_of('blog');

-- ------------------------------------------------------------------ answers

\echo
\echo '## What is hot now'
\echo
\echo 'Ten items of tbf_rollup_top() at the end of the log, beside the exact sums over the log. Wrong: items whose exact sum is not within the bounds. Ten: how many of the'
\echo 'exact ten are among them. Widest: the most that hits_to is above hits_from, of the ten. Pages: buffers that the question touches, those of the source among them.'
\echo 'Milliseconds: the fastest round; of the same by exact SQL over the log, and over the exact counts by the hour.'
\echo
\echo '| log | decay | counted | items | wrong | ten | widest | over others_to | pages | of the source | ms | SQL over the log | over exact counts |'
\echo '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
CREATE FUNCTION fastest(query text, rounds int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz;
	best numeric := 'infinity';
BEGIN
	FOR i IN 1 .. rounds LOOP
		began := clock_timestamp();
		EXECUTE query;
		best := least(best, 1000 * extract(epoch FROM clock_timestamp() - began)::numeric);
	END LOOP;
	RETURN round(best, 1);
END $$;
CREATE FUNCTION buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
CREATE FUNCTION answer(log text, decay text, counted boolean, rounds int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	asked timestamptz;
	top text;
	exact text;
	over_log text;
	over_hours text;
	said record;
	touched bigint;
BEGIN
	EXECUTE format('SELECT max(at) FROM %s', log) INTO asked;
	top := format('SELECT * FROM tbf_rollup_top(%L, 10, %L, %L, counted => %L)', log || '_heat', asked, decay, counted);
	over_log := format('SELECT url AS item, sum((%s)::float8) AS hits FROM (SELECT url, %L::timestamptz - at AS age FROM %s) s GROUP BY url', decay, asked, log);
	over_hours := format('SELECT url AS item, sum(hits * (%s)::float8) AS hits FROM (SELECT url, hits, greatest(%L::timestamptz - hour - interval ''1 hour'', ''0'') AS age FROM %s_exact) s GROUP BY url', decay, asked, log);
	EXECUTE format('WITH t AS MATERIALIZED (%s), e AS MATERIALIZED (%s), ten AS (SELECT * FROM e ORDER BY hits DESC LIMIT 10)
		SELECT (SELECT count(*) FROM t) AS items, (SELECT count(*) FROM t JOIN e USING (item) WHERE (e.hits BETWEEN hits_from * (1 - 1e-9) AND hits_to * (1 + 1e-9)) IS NOT TRUE) AS wrong,
			(SELECT count(*) FROM ten JOIN t USING (item)) AS ten, (SELECT max(hits_to / hits_from - 1) FROM t) AS widest,
			(SELECT count(*) FROM e WHERE item NOT IN (SELECT item FROM t) AND hits > (SELECT max(others_to) FROM t) * (1 + 1e-9)) AS others', top, over_log) INTO said;
	touched := buffers(top);
	RETURN format('| %s | %s | %s | %s | %s | %s | %s %% | %s | %s | %s | %s | %s | %s |', log, decay, CASE WHEN counted THEN 'yes' ELSE 'no' END, said.items, said.wrong, said.ten, round((100 * said.widest)::numeric, 2), said.others, many(touched),
		CASE WHEN top LIKE '%_all%' THEN '' ELSE '0' END, fastest(top, rounds), CASE WHEN counted THEN '' ELSE fastest(over_log || ' ORDER BY 2 DESC LIMIT 10', least(rounds, 3))::text END,
		CASE WHEN counted THEN '' ELSE fastest(over_hours || ' ORDER BY 2 DESC LIMIT 10', least(rounds, 3))::text END);
END $$;
SELECT answer(log, decay, counted, :rounds) FROM unnest('{year,blog}'::text[]) log, unnest(ARRAY['decay_exponential(age)', 'decay_polynomial(age, 1, ''1 day'')', 'decay_exponential(age, ''1 day'')', '1']) decay, unnest('{f,t}'::boolean[]) counted
\g

\echo
\echo '## Distinct items'
\echo
\echo '| log | days | exact | tbf_rollup_distinct | ms | hll by the hour | ms | hll, bytes of all rows | roll-up, bytes of all filters |'
\echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
CREATE FUNCTION distinct_of(log text, days int, hll boolean, rounds int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hi timestamptz;
	lo timestamptz;
	exact bigint;
	kept record;
	other bigint;
	other_bytes bigint;
	kept_bytes bigint;
	kept_query text;
	other_query text;
BEGIN
	EXECUTE format('SELECT date_trunc(''day'', max(at)) FROM %s', log) INTO hi;
	lo := hi - days * interval '1 day';
	EXECUTE format('SELECT count(DISTINCT url) FROM %s WHERE at >= $1 AND at < $2', log) INTO exact USING lo, hi;
	kept_query := format('SELECT * FROM tbf_rollup_distinct(%L, %L, %L)', log || '_heat', lo, hi);
	EXECUTE kept_query INTO kept;
	EXECUTE format('SELECT sum(pg_column_size(f)) FROM %s_heat', log) INTO kept_bytes;
	IF hll THEN
		EXECUTE format('CREATE TABLE IF NOT EXISTS %s_hll AS SELECT hour, hll_add_agg(hll_hash_text(url)) AS h FROM %1$s_exact GROUP BY 1', log);
		other_query := format('SELECT hll_cardinality(hll_union_agg(h)) FROM %s_hll WHERE hour >= %L AND hour < %L', log, lo, hi);
		EXECUTE other_query INTO other;
		EXECUTE format('SELECT sum(pg_column_size(h)) FROM %s_hll', log) INTO other_bytes;
	END IF;
	RETURN format('| %s | %s | %s | %s | %s | %s | %s | %s | %s |', log, days, many(exact), many(kept.items_from::numeric) || CASE WHEN kept.items_from <> kept.items_to THEN ' to ' || many(kept.items_to::numeric) ELSE '' END,
		fastest(kept_query, rounds), coalesce(many(other), ''), CASE WHEN hll THEN fastest(other_query, rounds)::text ELSE '' END, coalesce(many(other_bytes), ''), many(kept_bytes));
END $$;
SELECT distinct_of(log, days, :hll, :rounds) FROM unnest('{year,blog}'::text[]) log, unnest('{1,7,30}'::int[]) days;

-- ------------------------------------------------------------------ filling

\echo
\echo '## Filling'
\echo
\echo 'Microseconds a hit: of the first refresh, beside counting by hour and item in SQL with the 100 first items of each hour, tbf_agg by the hour, and hll by the hour.'
\echo
\echo '| log | first refresh | counted in SQL | tbf_agg | hll |'
\echo '| --- | ---: | ---: | ---: | ---: |'
CREATE FUNCTION filling_of(log text, rounds int, hll boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
	per_hit text := '(SELECT round(1000 * fastest(%L, %s) / count(*), 2) FROM %s)';
BEGIN
	EXECUTE format('SELECT format(''| %s | %%s | %%s | %%s | %%s |'', (SELECT round(1e6 * first_seconds / first_rows, 2) FROM refreshes r WHERE r.log = %1$L), %s, %s, %s)', log,
		format(per_hit, format('SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY hour ORDER BY n DESC) AS place FROM (SELECT date_trunc(''hour'', at) AS hour, url, count(*) AS n FROM %s GROUP BY 1, 2) c) s WHERE place <= 100', log), rounds, log),
		format(per_hit, format('SELECT count(f) FROM (SELECT tbf_agg(url, at, NULL) AS f FROM %s GROUP BY date_trunc(''hour'', at)) s', log), rounds, log),
		CASE WHEN hll THEN format(per_hit, format('SELECT count(f) FROM (SELECT hll_add_agg(hll_hash_text(url)) AS f FROM %s GROUP BY date_trunc(''hour'', at)) s', log), rounds, log) ELSE 'NULL::text' END) INTO said;
	RETURN said;
END $$;
SELECT filling_of('year', :rounds, :hll);
SELECT filling_of('blog', :rounds, :hll);
