-- pieces.sql: pieces cut out of lines at random, looked up by bf indexes with gram_ops and by GIN with trigrams; for
-- bench/keys.
--
-- A log is a table with a column "line". An index has to read the ranges that hold a match; all other pages that it
-- reads are read in vain.

CREATE TABLE log_with_pieces (label text, relation text);
CREATE TABLE pieces (relation text, id int, kind text, piece text, pages bigint, on_pages int[]);
CREATE TABLE piece_index (relation text, class text, pages_per_range int, build float8, bytes bigint);
CREATE TABLE piece_read (relation text, class text, id int, pages bigint, PRIMARY KEY (relation, class, id));

-- The heap pages that a bitmap scan reads, and the rows that it finds.
CREATE FUNCTION heap_pages_read(query text) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 SET jit = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Lossy Heap Blocks}')::bigint + (plan #>> '{0,Plan,Exact Heap Blocks}')::bigint;
END
$$;

-- Cuts pieces of 8 to 24 characters out of rows, from a seed. Half of them are whole words (addresses, paths, ids,
-- names of programs); the others begin and end anywhere.
CREATE PROCEDURE cut_pieces(of_label text, of_relation text, count int) LANGUAGE plpgsql AS $$
DECLARE
	rows_of bigint;
	cut text;
	lines text[];
BEGIN
	PERFORM setseed(0.4);
	INSERT INTO log_with_pieces VALUES (of_label, of_relation);
	EXECUTE format('SELECT array_agg(line ORDER BY random()) FROM (SELECT line FROM %I WHERE length(line) >= 24 ORDER BY md5(line), line LIMIT 5000) l', of_relation) INTO lines;
	FOR id IN 1 .. count LOOP
		IF id % 2 = 0 THEN
			SELECT left(w[1], 24) INTO cut FROM regexp_matches(lines[id], '[^\s"\[\](),;<>=]{8,}', 'g') w ORDER BY random() LIMIT 1;
		ELSE
			cut := substr(lines[id], 1 + floor(random() * (length(lines[id]) - 23))::int, 8 + id % 17);
		END IF;
		CONTINUE WHEN cut IS NULL;
		EXECUTE format('INSERT INTO pieces SELECT %L, $1, CASE $1 %% 2 WHEN 0 THEN ''words'' ELSE ''any piece'' END, $2, pg_relation_size(%1$L) / 8192,
			coalesce(array_agg(DISTINCT (ctid::text::point)[0]::int), ''{}'') FROM %1$I WHERE strpos(line, $2) > 0', of_relation) USING id, cut;
	END LOOP;
END
$$;

-- Builds an index and asks for each piece.
CREATE PROCEDURE measure_pieces(of_relation text, class text, with_index text, pages_per_range int) LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
BEGIN
	EXECUTE format('CREATE INDEX it ON %I %s', of_relation, with_index);
	INSERT INTO piece_index VALUES (of_relation, class, pages_per_range, extract(epoch FROM clock_timestamp() - began) * 1000, pg_relation_size('it'));
	INSERT INTO piece_read
	SELECT of_relation, class, id, heap_pages_read(format('SELECT * FROM %I WHERE line LIKE %L', of_relation, '%' || replace(replace(replace(piece, '\', '\\'), '%', '\%'), '_', '\_') || '%'))
	FROM pieces p WHERE p.relation = of_relation;
	DROP INDEX it;
END
$$;

-- The classes, with one and two pages in a range, and GIN.
CREATE PROCEDURE measure_all_pieces() LANGUAGE plpgsql AS $$
DECLARE
	log log_with_pieces;
	way record;
BEGIN
	FOR log IN SELECT * FROM log_with_pieces LOOP
		FOR way IN SELECT * FROM (VALUES ('gram_ops, 1 page', 'USING bf (line gram_ops) WITH (pages_per_range = 1)', 1), ('gram_ops (n = 6), 1 page', 'USING bf (line gram_ops (n = 6)) WITH (pages_per_range = 1)', 1),
			('gram_ops, 2 pages', 'USING bf (line gram_ops) WITH (pages_per_range = 2)', 2), ('GIN, trigrams', 'USING gin (line gin_trgm_ops)', 1)) w (class, with_index, pages_per_range) LOOP
			CALL measure_pieces(log.relation, way.class, way.with_index, way.pages_per_range);
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;

-- The last column is the share of the pieces that meet two bounds: in vain they read at most 0.5 % of the table, or
-- two ranges; and in all they read at most 3 t + 3 ranges, where t ranges hold a match.
CREATE FUNCTION pieces_table() RETURNS TABLE (line text) LANGUAGE sql AS $$
	SELECT '| log | pages | index | MB | build s | what is looked up | pages in vain: median | 9 in 10 | as few as asked for |'
	UNION ALL SELECT '| --- | ---: | --- | ---: | ---: | --- | ---: | ---: | ---: |'
	UNION ALL
	(SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s |', l.label, max(p.pages), i.class, round(i.bytes / 1e6, 1), round(i.build::numeric / 1000, 1), p.kind,
		percentile_disc(0.5) WITHIN GROUP (ORDER BY v.in_vain), percentile_disc(0.9) WITHIN GROUP (ORDER BY v.in_vain),
		round(100.0 * count(*) FILTER (WHERE v.in_vain <= greatest(0.005 * p.pages, 2 * i.pages_per_range) AND ceil(r.pages::numeric / i.pages_per_range) <= 3 * t.ranges + 3) / count(*)) || ' %')
	FROM log_with_pieces l JOIN piece_index i USING (relation) JOIN pieces p USING (relation) JOIN piece_read r ON r.relation = p.relation AND r.class = i.class AND r.id = p.id,
		LATERAL (SELECT count(DISTINCT page / i.pages_per_range) AS ranges FROM unnest(p.on_pages) page) t,
		LATERAL (SELECT greatest(0, r.pages - least(p.pages, t.ranges * i.pages_per_range)) AS in_vain) v
	GROUP BY l.label, l.relation, i.class, i.bytes, i.build, i.pages_per_range, p.kind ORDER BY l.label, i.class, p.kind) $$;
