-- joins_logs.sql: what bench/joins_logs measures: joins of real logs with sets of keys, as planned and with each plan
-- forced.

CREATE EXTENSION streambloom;
CREATE TABLE blog_lines (n bigserial, line text);
CREATE TABLE retail_lines (n bigserial, line text);
CREATE TABLE block_lines (n bigserial, line text);

-- The tables, each in one piece and with partitions by day or by position. Their bf indexes have no options.
CREATE PROCEDURE make_tables() LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE blog AS SELECT n, substring(line FROM '\[(\d+/\w+/\d+)')::date AS day, split_part(line, ' ', 1) AS host, split_part(line, '"', 2) AS request, line FROM blog_lines ORDER BY n;
	CREATE INDEX ON blog USING bf (host);
	CREATE INDEX ON blog USING bf (request);
	CREATE TABLE blog_days (LIKE blog) PARTITION BY RANGE (day);
	FOR i IN 0 .. (SELECT max(day) - min(day) FROM blog) LOOP
		EXECUTE format('CREATE TABLE blog_day_%s PARTITION OF blog_days FOR VALUES FROM (%L) TO (%L)', i, (SELECT min(day) FROM blog) + i, (SELECT min(day) FROM blog) + i + 1);
	END LOOP;
	INSERT INTO blog_days SELECT * FROM blog ORDER BY n;
	CREATE INDEX ON blog_days USING bf (host);
	CREATE INDEX ON blog_days USING bf (request);
	CREATE TABLE retail AS SELECT n, split_part(line, ',', 1) AS invoice, split_part(line, ',', 2) AS stock, line FROM retail_lines ORDER BY n;
	CREATE INDEX ON retail USING bf (invoice);
	CREATE INDEX ON retail USING bf (stock);
	CREATE TABLE blocks (n bigint, block bigint, filler text) PARTITION BY RANGE (n);
	FOR i IN 0 .. 49 LOOP
		EXECUTE format('CREATE TABLE blocks_%s PARTITION OF blocks FOR VALUES FROM (%s) TO (%s)', i, i * 20000, (i + 1) * 20000);
	END LOOP;
	INSERT INTO blocks SELECT n - 1, line::bigint, repeat('x', 60) FROM block_lines ORDER BY n;
	CREATE INDEX ON blocks USING bf (block);
END $$;

CREATE TABLE measured (id int GENERATED ALWAYS AS IDENTITY, relation text, kind text, keys int, way text, cost float8, buffers bigint, cpu float8, node bool, hash bool);

-- The milliseconds that this session has run on a processor. The kernel adds them up when the session leaves the
-- processor, so the function sleeps first.
CREATE FUNCTION cpu() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.0005);
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
END $$;

-- Sets the planner's switches for one of four ways: the plan that is chosen, with the node and without; and a hash
-- join over sequential scans, with the node and without.
CREATE PROCEDURE set_way(way text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config(name, setting, false) FROM (VALUES ('max_parallel_workers_per_gather', '0'),
			('streambloom.enable_skip', CASE WHEN way IN ('chosen', 'hash join with Skip') THEN 'on' ELSE 'off' END)) s(name, setting);
	PERFORM set_config(name, CASE WHEN way LIKE 'hash%' THEN 'off' ELSE 'on' END, false) FROM unnest('{enable_nestloop,enable_mergejoin,enable_indexscan,enable_bitmapscan}'::text[]) name;
END $$;

CREATE PROCEDURE measure(relation text, key text, kind text, keys int, way text) LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT l.* FROM %I l JOIN suspects s ON l.%I = s.key', relation, key);
	plan jsonb;
	began float8;
	spent float8;
BEGIN
	CALL set_way(way);
	began := cpu();
	EXECUTE format('SELECT count(q.n) FROM (%s) q', query);
	spent := cpu() - began;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	INSERT INTO measured (relation, kind, keys, way, cost, buffers, cpu, node, hash) VALUES (relation || '.' || key, kind, keys, way, (plan #>> '{0,Plan,Total Cost}')::float8,
		(plan #>> '{0,Plan,Shared Hit Blocks}')::bigint + (plan #>> '{0,Plan,Shared Read Blocks}')::bigint, spent, plan::text LIKE '%Skip%', plan::text LIKE '%Hash Join%');
	CALL set_way('chosen');
END $$;

-- Makes a table of keys: rare ones, random ones, the most frequent ones, or absent ones.
CREATE PROCEDURE make_suspects(relation text, key text, kind text, keys int) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS suspects;
	EXECUTE format('CREATE TABLE suspects AS SELECT key FROM (SELECT %1$I AS key, count(*) AS rows FROM %2$I WHERE %1$I IS NOT NULL GROUP BY 1) k %3$s LIMIT %4$s', key, relation,
		CASE kind WHEN 'rare' THEN 'WHERE rows <= 3 ORDER BY md5(key::text)' WHEN 'any' THEN 'ORDER BY md5(key::text)' WHEN 'frequent' THEN 'ORDER BY rows DESC, key' ELSE 'ORDER BY md5(key::text)' END, keys);
	IF kind = 'absent' THEN
		EXECUTE CASE WHEN key = 'block' THEN 'UPDATE suspects SET key = -key - 1' ELSE 'UPDATE suspects SET key = ''nobody '' || key' END;
	END IF;
	ANALYZE suspects;
END $$;

CREATE PROCEDURE measure_all(sizes int[], rounds int) LANGUAGE plpgsql AS $$
DECLARE
	t record;
	k text;
	size int;
	ways CONSTANT text[] := '{chosen,without,hash join with Skip,hash join}';
BEGIN
	FOR t IN SELECT * FROM (VALUES ('blog', 'host'), ('blog', 'request'), ('blog_days', 'host'), ('blog_days', 'request'), ('retail', 'invoice'), ('retail', 'stock'), ('blocks', 'block')) t(relation, key) LOOP
		FOREACH k IN ARRAY '{rare,any,frequent,absent}'::text[] LOOP
			FOREACH size IN ARRAY sizes LOOP
				CALL make_suspects(t.relation, t.key, k, size);
				CONTINUE WHEN (SELECT count(*) FROM suspects) < size;
				FOR i IN 1 .. rounds LOOP
					-- Each way comes first in some rounds.
					FOR j IN 0 .. 3 LOOP
						CALL measure(t.relation, t.key, k, size, ways[1 + (i + j) % 4]);
					END LOOP;
				END LOOP;
				COMMIT;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;

CREATE VIEW ways AS
	SELECT min(id) AS id, relation, kind, keys, min(cost) FILTER (WHERE way = 'hash join with Skip') / min(cost) FILTER (WHERE way = 'hash join') AS expected,
		min(buffers) FILTER (WHERE way = 'hash join with Skip')::float8 / min(buffers) FILTER (WHERE way = 'hash join') AS buffers,
		min(cpu) FILTER (WHERE way = 'hash join with Skip') / min(cpu) FILTER (WHERE way = 'hash join') AS cpu,
		min(buffers) FILTER (WHERE way = 'chosen')::float8 / least(min(buffers) FILTER (WHERE way = 'without'), min(buffers) FILTER (WHERE way = 'hash join with Skip')) AS chosen_buffers,
		min(cpu) FILTER (WHERE way = 'chosen') / least(min(cpu) FILTER (WHERE way = 'without'), min(cpu) FILTER (WHERE way = 'hash join with Skip')) AS chosen_cpu,
		min(cpu) FILTER (WHERE way = 'chosen') AS chosen_ms, min(cpu) FILTER (WHERE way = 'without') AS without_ms, bool_or(node) FILTER (WHERE way = 'chosen') AS node,
		bool_or(hash) FILTER (WHERE way = 'without') AS was_hash
	FROM measured GROUP BY relation, kind, keys;

CREATE VIEW page (part, id, line) AS
	SELECT 1, 0, E'| table and key | keys | expected cost | buffers | CPU | chosen | buffers | CPU | ms of CPU | without Skip |\n| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |'
	UNION ALL
	SELECT 1, id, format('| %s | %s %s | %s | %s | %s | %s | %s | %s | %s | %s |', relation, keys, kind, round(expected::numeric, 3), round(buffers::numeric, 3), round(cpu::numeric, 3),
		CASE WHEN node THEN 'Skip' ELSE 'another plan' END, round(chosen_buffers::numeric, 2), round(chosen_cpu::numeric, 2), round(chosen_ms::numeric, 2), round(without_ms::numeric, 2)) FROM ways
	UNION ALL
	SELECT 2, 0, format(E'\n%s queries. The node was chosen in %s of them. The plan that was chosen takes more than 1.1 times the CPU of the better one of Skip and of what is chosen without it in %s, more than 1.5 times in %s, the most is %s. Expected and measured ratio (CPU) differ by a factor of %s in the median, %s in nine of ten.',
		count(*), count(*) FILTER (WHERE node), count(*) FILTER (WHERE chosen_cpu > 1.1), count(*) FILTER (WHERE chosen_cpu > 1.5), round(max(chosen_cpu)::numeric, 2),
		round(exp(percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(ln(expected / cpu))))::numeric, 2), round(exp(percentile_cont(0.9) WITHIN GROUP (ORDER BY abs(ln(expected / cpu))))::numeric, 2)) FROM ways;
