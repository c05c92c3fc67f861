-- joins.sql: what bench/joins measures: joins of a large table with few and many keys, with JoinKeys and Skip and
-- without.

CREATE EXTENSION streambloom;
CREATE TABLE measured (id int GENERATED ALWAYS AS IDENTITY, relation text, keys int, spread text, skips bool, buffers bigint, rows_read numeric, ms float8, workers bool, node bool);

-- Makes a table of `total` rows in `partitions` partitions, or in one piece if that is 0. Each host is in one row.
CREATE PROCEDURE make(relation text, partitions int, total bigint, rate float8) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id bigint NOT NULL, host text, status int, bytes bigint, url text) %s', relation, CASE WHEN partitions > 0 THEN 'PARTITION BY RANGE (id)' END);
	FOR p IN 0 .. partitions - 1 LOOP
		EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', relation || '_' || p, relation, p * total / partitions, (p + 1) * total / partitions);
	END LOOP;
	EXECUTE format('INSERT INTO %I SELECT i, ''host-'' || i, 200, i %% 5000, ''/page/'' || i %% 97 FROM generate_series(0, %s) i', relation, total - 1);
	EXECUTE format('CREATE INDEX ON %I USING bf (host) WITH (false_positive_rate = %s)', relation, rate);
	COMMIT;
END $$;

-- Makes `keys` keys whose rows are in `parts` of the `of_parts` parts of the table. If parts is 0, no row has the
-- keys.
CREATE PROCEDURE make_keys(keys int, parts int, of_parts int, total bigint) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS suspects;
	CREATE TABLE suspects AS SELECT CASE WHEN parts = 0 THEN 'nobody-' || k
		ELSE 'host-' || ((k % parts) * (of_parts / parts) + (k * 7919::bigint % 10007) / 10007.0) * (total / of_parts)::bigint::numeric END AS host FROM generate_series(0, keys - 1) k;
	UPDATE suspects SET host = split_part(host, '.', 1);
	COMMIT;
END $$;

-- Runs the query with EXPLAIN ANALYZE for the counts, and, if `times` is set, once more without EXPLAIN for the time,
-- because EXPLAIN ANALYZE takes time itself. rows_read are the rows of the large table that its scans returned or
-- filtered out.
CREATE FUNCTION run(query text, relation text, times bool, OUT buffers bigint, OUT rows_read numeric, OUT ms float8, OUT workers bool, OUT node bool) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	began timestamptz := clock_timestamp();
BEGIN
	IF times THEN
		EXECUTE format('SELECT count(q.id) FROM (%s) q', query);
		ms := extract(epoch FROM clock_timestamp() - began) * 1000;
	END IF;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	buffers := (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
	SELECT coalesce(sum(((n ->> 'Actual Rows')::numeric + coalesce((n ->> 'Rows Removed by Filter')::numeric, 0) +
		coalesce((n ->> 'Rows Removed by Index Recheck')::numeric, 0)) * (n ->> 'Actual Loops')::numeric), 0) INTO rows_read
	FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Relation Name"))') n WHERE starts_with(n ->> 'Relation Name', relation);
	workers := plan::text LIKE '%"Workers Planned"%';
	node := plan::text LIKE '%Skip%';
END $$;

-- Measures the query with the nodes and without, in alternating rounds, and keeps the minimum of each.
CREATE PROCEDURE measure(relation text, keys int, spread text, rounds int, times bool) LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT l.* FROM %I l JOIN suspects s USING (host)', relation);
BEGIN
	FOR i IN 1 .. rounds LOOP
		SET streambloom.enable_skip = on;
		INSERT INTO measured (relation, keys, spread, skips, buffers, rows_read, ms, workers, node) SELECT measure.relation, measure.keys, measure.spread, true, (r).* FROM (SELECT run(query, relation, times) AS r OFFSET 0) x;
		SET streambloom.enable_skip = off;
		INSERT INTO measured (relation, keys, spread, skips, buffers, rows_read, ms, workers, node) SELECT measure.relation, measure.keys, measure.spread, false, (r).* FROM (SELECT run(query, relation, times) AS r OFFSET 0) x;
		COMMIT;
	END LOOP;
	RESET streambloom.enable_skip;
END $$;

CREATE VIEW page (id, line) AS
	WITH m AS (SELECT min(id) AS id, relation, keys, spread, min(buffers) FILTER (WHERE NOT skips) AS before, min(buffers) FILTER (WHERE skips) AS buffers, min(rows_read) FILTER (WHERE NOT skips) AS rows_before,
			min(rows_read) FILTER (WHERE skips) AS rows_read, min(ms) FILTER (WHERE NOT skips) AS ms_before, min(ms) FILTER (WHERE skips) AS ms,
			CASE WHEN bool_or(workers) FILTER (WHERE NOT skips) THEN 'workers' ELSE 'serial' END || ', ' || CASE WHEN bool_or(workers) FILTER (WHERE skips) THEN 'workers' WHEN bool_or(node) FILTER (WHERE skips) THEN 'Skip' ELSE 'serial' END AS plans
		FROM measured GROUP BY relation, keys, spread)
	SELECT 0, '| table | keys | rows are in | buffers | with Skip | ratio | rows read | with Skip |' || CASE WHEN count(ms) > 0 THEN ' ms | with Skip | ratio |' ELSE '' END || E' plan before, with |\n| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |' ||
		CASE WHEN count(ms) > 0 THEN ' ---: | ---: | ---: |' ELSE '' END || ' --- |' FROM m
	UNION ALL
	SELECT id, format('| %s | %s | %s | %s | %s | %s | %s | %s |', relation, keys, spread, before, buffers, round(buffers::numeric / before, 3), round(rows_before), round(rows_read)) ||
		CASE WHEN ms IS NOT NULL THEN format(' %s | %s | %s |', round(ms_before::numeric, 1), round(ms::numeric, 1), round((ms / ms_before)::numeric, 3)) ELSE '' END || format(' %s |', plans)
	FROM m;
