-- plans_run.sql: the queries of bench/plans, and its tables. Variables: rounds, only, peers.
LOAD 'streambloom';
SET jit = off;
\o /dev/null

-- ------------------------------------------------------------ real logs
CREATE TABLE blog AS SELECT n, split_part(line, ' ', 1) AS host, coalesce(substring(line, '" ([0-9]{3}) '), '0')::integer AS status, substring(line, '"[A-Z]+ ([^ "]*)') AS path, line, to_tsvector('simple', line) AS words
FROM source_lines ORDER BY n;
CREATE TABLE edits AS SELECT "time", channel, jsonb_build_object('channel', channel, 'namespace', namespace, 'page', CASE day WHEN 0 THEN page ELSE page || ' ' || day END, 'robot', robot, 'delta', delta) AS doc
FROM generate_series(0, 4) day, source_edits ORDER BY day, "time";
DROP TABLE source_lines, source_edits;
VACUUM ANALYZE;

-- -------------------------------------------------------------- queries

CREATE TABLE layout AS SELECT unnest('{strewn,runs,sorted}'::text[]) AS layout;
-- for each column a value of each share, and what a query on it selects
CREATE TABLE valued AS
SELECT layout, share, CASE share WHEN 'half' THEN 1 WHEN '5 %' THEN 2 WHEN '0.1 %' THEN 3 WHEN 'absent' THEN -1
	ELSE (SELECT CASE layout WHEN 'strewn' THEN strewn WHEN 'runs' THEN runs ELSE sorted END FROM one WHERE least(strewn, runs, sorted) > 3 ORDER BY scattered(i, 5) LIMIT 1) END AS value, target
FROM layout, (VALUES ('half', 'count(*)'), ('5 %', 'count(*)'), ('0.1 %', '*'), ('rare', '*'), ('absent', '*')) s(share, target);
CREATE TABLE rare_values AS
SELECT layout, (array_agg(value ORDER BY scattered(value, 6)))[1:200] AS vals FROM layout, LATERAL (SELECT CASE layout WHEN 'strewn' THEN strewn WHEN 'runs' THEN runs ELSE sorted END AS value FROM one) v WHERE value > 3 GROUP BY layout;

CREATE FUNCTION add(label text, layout text, share text, relation text, target text, condition text, peers text[]) RETURNS void LANGUAGE sql AS $$
	INSERT INTO query (label, layout, share, relation, statement, peers) SELECT label, layout, share, relation, format('SELECT %s FROM %I WHERE %s', target, relation, condition), peers WHERE condition IS NOT NULL AND to_regclass(relation) IS NOT NULL
$$;

SELECT add('=', layout, share, 'one', target, format('%I = %s', layout, value), '{btree,brin}') FROM valued;
SELECT add(format('IN (%s)', n), layout, 'rare', 'one', '*', format('%I IN (%s)', layout, array_to_string(vals[1:n], ', ')), '{btree,brin}') FROM rare_values, unnest(ARRAY[3, 20, 200]) n;
SELECT add('IN (3)', layout, '5 % and rare', 'one', 'count(*)', format('%I IN (2, %s, %s)', layout, vals[1], vals[2]), '{btree,brin}') FROM rare_values;
SELECT add('LIKE', layout, share, 'one', target, format('line LIKE ''%%%s-%s %%''', layout, named(value)), '{gin}') FROM valued WHERE layout <> 'sorted' OR share = '5 %';
SELECT add('LIKE', layout, share, 'small', target, format('line LIKE ''%%%s-%s %%''', layout, named(value)), '{gin}') FROM valued WHERE layout <> 'sorted' AND share <> '0.1 %';
SELECT add('ILIKE', layout, share, 'one', target, format('line ILIKE ''%%%s-%s %%''', layout, upper(named(value))), '{gin}') FROM valued WHERE share IN ('5 %', 'rare') AND layout <> 'sorted';
SELECT add('~', layout, 'rare', 'one', '*', format('line ~ ''%s-(n%s|n%s) ''', layout, vals[1], vals[2]), '{gin}') FROM rare_values;
SELECT add('~*', 'strewn', 'absent', 'one', '*', 'line ~* ''wget|sqlmap''', '{gin}');
SELECT add('~', 'strewn', 'half', 'one', 'count(*)', 'line ~ ''strewn-h.lf''', '{gin}');
SELECT add('array @>', layout, share, 'one', target, format('tags @> ''{%s:%s}''', layout, named(value)), '{gin}') FROM valued WHERE layout <> 'sorted' OR share = '5 %';
SELECT add('array &&', layout, 'rare', 'one', '*', format('tags && ''{%s:n%s,%1$s:n%s}''', layout, vals[1], vals[2]), '{gin}') FROM rare_values;
SELECT add('array @>, all different', 'strewn', 'rare', 'one', '*', 'ids @> ''{request:12345}''', '{gin}');
SELECT add('array @>, all different', 'strewn', 'absent', 'one', '*', 'ids @> ''{request:none}''', '{gin}');
SELECT add('array &&, all different', 'strewn', 'rare', 'one', '*', 'ids && ''{request:12345,request:1234,request:123}''', '{gin}');
SELECT add('jsonb @>', layout, share, 'one', target, format('doc @> ''{"%s": "%s"}''', layout, named(value)), '{gin}') FROM valued WHERE layout <> 'sorted' OR share = '5 %';
SELECT add('tsvector @@', layout, share, 'one', target, format('words @@ ''%s%s''', layout, named(value)), '{gin}') FROM valued WHERE layout <> 'sorted' OR share = '5 %';
SELECT add('tsvector @@ &', 'strewn', 'rare', 'one', '*', format('words @@ ''strewntwentieth & runsn%s''', vals[1]), '{gin}') FROM rare_values WHERE layout = 'runs';
SELECT add('AND', 'strewn, runs', '5 % and 5 %', 'one', '*', 'strewn = 2 AND runs = 2', '{btree,brin}');
SELECT add('AND', 'strewn, sorted', 'rare and half', 'one', '*', format('strewn = %s AND sorted = 1', vals[1]), '{btree,brin}') FROM rare_values WHERE layout = 'strewn';
SELECT add('AND', 'strewn, runs', '5 % and 0.1 %', 'one', '*', 'strewn = 2 AND runs = 3', '{btree,brin}');
SELECT add('AND', 'strewn, runs', '= 5 %, @> 5 %', 'one', '*', 'strewn = 2 AND tags @> ''{runs:twentieth}''', '{}');
SELECT add('OR', 'strewn, runs', 'rare or rare', 'one', '*', format('strewn = %s OR runs = %s', a.value, b.value), '{btree,brin}') FROM valued a, valued b WHERE a.layout = 'strewn' AND b.layout = 'runs' AND a.share = 'rare' AND b.share = 'rare';
SELECT add('OR', 'runs, sorted', '5 % or 5 %', 'one', 'count(*)', 'runs = 2 OR sorted = 2', '{btree,brin}');
SELECT add('OR', 'strewn, runs', '= rare, LIKE rare', 'one', '*', format('strewn = %s OR line LIKE ''%%runs-n%s%%''', a.value, b.value), '{}') FROM valued a, valued b WHERE a.layout = 'strewn' AND b.layout = 'runs' AND a.share = 'rare' AND b.share = 'rare';
SELECT add('OR', 'strewn', 'half or rare', 'one', 'count(*)', format('strewn = 1 OR runs = %s', value), '{btree,brin}') FROM valued WHERE layout = 'runs' AND share = 'rare';

-- values that the planner does not know
SELECT add('= a value not known', layout, share, 'one', target, format('%I = (SELECT %s)', layout, value), '{btree,brin}') FROM valued WHERE share IN ('rare', 'absent');
SELECT add('= ANY a list not known', 'strewn', 'rare', 'one', '*', 'strewn = ANY (ARRAY(SELECT strewn FROM suspects))', '{btree,brin}');
SELECT add('array @> not known', 'strewn', 'rare', 'one', '*', format('tags @> (SELECT ''{strewn:%s}''::text[])', named(value)), '{gin}') FROM valued WHERE layout = 'strewn' AND share = 'rare';
SELECT add('array @> not known, all different', 'strewn', 'rare', 'one', '*', 'ids @> (SELECT ''{request:12345}''::text[])', '{gin}');
SELECT add('array && not known, all different', 'strewn', 'rare', 'one', '*', 'ids && (SELECT ''{request:12345,request:1}''::text[])', '{gin}');
SELECT add('jsonb @> not known', 'strewn', 'rare', 'one', '*', 'doc @> (SELECT ''{"request": 12345}''::jsonb)', '{gin}');
SELECT add('tsvector @@ not known', 'strewn', 'rare', 'one', '*', 'words @@ (SELECT ''request12345''::tsquery)', '{gin}');
SELECT add('LIKE not known', 'strewn', 'rare', 'one', '*', 'line LIKE (SELECT ''%request=12345 %'')', '{gin}');
INSERT INTO query (label, layout, share, relation, statement, peers, is_join) VALUES
	('join, =', 'strewn', '20 rare', 'one', 'SELECT one.* FROM suspects JOIN one USING (strewn)', '{btree,brin}', true),
	('join, array &&, all different', 'strewn', '20 rare', 'one', 'SELECT one.* FROM suspects JOIN one ON one.ids && suspects.ids', '{gin}', true),
	('join, =', 'strewn', '20 rare', 'parts_100', 'SELECT p.* FROM suspects JOIN parts_100 p USING (strewn)', '{btree,brin}', true);

-- partitions
SELECT add('=', layout, share, relation, target, format('%I = %s', layout, value), '{btree,brin}') FROM unnest(ARRAY['parts_10', 'parts_100', 'parts_1000']) relation, valued
	WHERE (layout, share) IN (('strewn', 'absent'), ('strewn', 'rare'), ('strewn', '5 %'), ('runs', '0.1 %'), ('runs', '5 %'), ('sorted', '5 %'), ('sorted', 'half'));
SELECT add('IN (20)', layout, 'rare', relation, '*', format('%I IN (%s)', layout, array_to_string(vals[1:20], ', ')), '{btree,brin}') FROM unnest(ARRAY['parts_10', 'parts_100', 'parts_1000']) relation, rare_values WHERE layout <> 'sorted';
SELECT add('LIKE', 'strewn', 'rare', relation, '*', format('line LIKE ''%%strewn-%s %%''', named(value)), '{}') FROM unnest(ARRAY['parts_10', 'parts_100', 'parts_1000']) relation, valued WHERE layout = 'strewn' AND share = 'rare';
SELECT add('array @>, all different', 'strewn', 'rare', relation, '*', 'ids @> ''{request:12345}''', '{gin}') FROM unnest(ARRAY['parts_10', 'parts_100', 'parts_1000']) relation;
SELECT add('array @>', 'strewn', '5 %', relation, 'count(*)', 'tags @> ''{strewn:twentieth}''', '{gin}') FROM unnest(ARRAY['parts_10', 'parts_100', 'parts_1000']) relation;

-- real logs
SELECT add('=', 'log', share, 'blog', target, format('host = %L', host), '{btree,brin}')
FROM (SELECT host, share, target, row_number() OVER (PARTITION BY share ORDER BY abs(n - wanted), host) AS place FROM (SELECT host, count(*) AS n FROM blog GROUP BY host) h,
	(VALUES ('rare', '*', 3), ('0.1 %', '*', 207), ('5 %', 'count(*)', 10343)) s(share, target, wanted)) t WHERE place = 1;
SELECT add('=', 'log', label, 'blog', target, format('status = %s', status), '{btree,brin}') FROM (VALUES ('status 404', 'count(*)', 404), ('status 500', '*', 500), ('status 200', 'count(*)', 200)) s(label, target, status);
SELECT add('IN (20)', 'log', 'rare', 'blog', '*', (SELECT format('host IN (%s)', string_agg(quote_literal(host), ', ')) FROM (SELECT host FROM blog GROUP BY host HAVING count(*) < 5 ORDER BY md5(host) LIMIT 20) h), '{btree,brin}');
SELECT add(operator || ' ' || pattern, 'log', '', 'blog', target, format('line %s %L', operator, pattern), '{gin}')
FROM (VALUES ('LIKE', '%phpmyadmin%', '*'), ('LIKE', '%sqlmap%', '*'), ('ILIKE', '%googlebot%', 'count(*)'), ('LIKE', '%Mozilla%', 'count(*)'), ('~*', 'wget|sqlmap', '*'), ('~', 'curl/7\.[0-9]+', '*'), ('LIKE', '%/robots.txt%', 'count(*)')) s(operator, pattern, target);
SELECT add('tsvector @@ ' || word, 'log', '', 'blog', target, format('words @@ %L', word), '{gin}') FROM (VALUES ('post', '*'), ('get', 'count(*)'), ('nowhere', '*')) s(word, target);
SELECT add('jsonb @>', 'log', share, 'edits', target, format('doc @> %L', doc), '{gin}')
FROM (VALUES ('absent', '*', '{"page": "no such page"}'::jsonb), ('the English channel', 'count(*)', '{"channel": "#en.wikipedia"}')) s(share, target, doc);
SELECT add('jsonb @>', 'log', '3 edits', 'edits', '*', (SELECT format('doc @> %L', jsonb_build_object('page', page)) FROM (SELECT doc ->> 'page' AS page FROM edits GROUP BY 1 HAVING count(*) = 3 ORDER BY md5(doc ->> 'page') LIMIT 1) p), '{gin}');
SELECT add('jsonb ?', 'log', 'absent', 'edits', '*', 'doc ? ''nothing''', '{gin}');

-- -------------------------------------------------------------- indexes

CREATE TABLE indexed (relation text, columns text[]);
INSERT INTO indexed VALUES ('one', '{strewn,runs,sorted,line,tags,ids,doc,words}'), ('small', '{line}'), ('parts_10', '{strewn,runs,sorted,line,tags,ids}'), ('parts_100', '{strewn,runs,sorted,line,tags,ids}'),
	('parts_1000', '{strewn,runs,sorted,line,tags,ids}'), ('blog', '{host,status,line,words}'), ('edits', '{doc}');
-- The definition of an index of a column by a method. NULL if the method cannot serve the column, or if the build
-- would take too long.
CREATE FUNCTION index_on(relation text, col text, method text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN method = 'bf' THEN col || CASE col WHEN 'line' THEN ' gram_ops' ELSE '' END
		WHEN col IN ('line', 'tags', 'ids', 'doc', 'words') <> (method = 'gin') THEN NULL
		WHEN col = 'line' AND relation LIKE 'parts%' THEN NULL
		WHEN method = 'gin' AND col = 'line' THEN 'line gin_trgm_ops'
		WHEN method = 'brin' AND col <> 'sorted' THEN col || CASE col WHEN 'host' THEN ' text_bloom_ops' ELSE ' int4_bloom_ops' END
		ELSE col END
$$;
CREATE PROCEDURE make_indexes(method text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT c.oid::regclass AS index FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid JOIN indexed x ON x.relation = t.relname WHERE c.relkind IN ('i', 'I') LOOP
		EXECUTE format('DROP INDEX %s', r.index);
		COMMIT;
	END LOOP;
	FOR r IN SELECT relation, index_on(relation, col, method) AS definition FROM indexed, unnest(columns) col WHERE index_on(relation, col, method) IS NOT NULL AND to_regclass(relation) IS NOT NULL LOOP
		EXECUTE format('CREATE INDEX ON %I USING %s (%s)', r.relation, method, r.definition);
		COMMIT;
	END LOOP;
END
$$;

SET maintenance_work_mem = '512MB';
SELECT 'CALL make_indexes(''bf'')', 'VACUUM ANALYZE', format('CALL measure(''bf'', %s, %L)', :rounds, :'only') \gexec
SELECT format('CALL make_indexes(%L)', method), 'VACUUM ANALYZE', format('CALL measure(%L, %s, %L)', method, :rounds, :'only') FROM unnest('{btree,brin,gin}'::text[]) method WHERE :'peers'::boolean \gexec

-- --------------------------------------------------------------- the page

\o
CREATE FUNCTION tenths(ms float8) RETURNS text LANGUAGE sql RETURN CASE WHEN ms < 10 THEN round(ms::numeric, 2) ELSE round(ms::numeric, 0) END;
SELECT format(E'# Plans\n\n%s. %s executions of each plan, in turn; the minimum of planning + execution in ms. Differences below 0.2 ms do not count. A plan is chosen with\nthe usual settings; the best one is found by all `enable_*` switches, parallel plans included. Pages are those of indexes and tables.\n', split_part(version(), ' on ', 1), :rounds);
SELECT '| index | queries | the chosen plan takes at most 1.5 × the best | at most 5 × | worst |' || E'\n' || '| --- | ---: | ---: | ---: | --- |';
SELECT format('| %s | %s | %s %% | %s %% | %s × (%s) |', method, count(*), round(100.0 * count(*) FILTER (WHERE ratio <= 1.5) / count(*), 1), round(100.0 * count(*) FILTER (WHERE ratio <= 5) / count(*), 1),
	round(max(ratio)::numeric, 1), (array_agg(concat_ws(', ', label, layout, nullif(share, ''), relation) ORDER BY ratio DESC))[1])
FROM verdict JOIN query ON query.id = verdict.query GROUP BY method ORDER BY array_position('{bf,btree,brin,gin}', method);
SELECT E'\n## Plans that take more than 1.5 × the best\n\n| index | query | layout | share | table | chosen plan | ms | pages | best plan | ms | pages | × |\n| --- | --- | --- | --- | --- | --- | ---: | ---: | --- | ---: | ---: | ---: |';
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', method, replace(label, '|', '\|'), layout, share, relation, chosen, tenths(ms), pages, best, tenths(best_ms), best_pages, round(ratio::numeric, 1))
FROM verdict JOIN query ON query.id = verdict.query WHERE ratio > 1.5 ORDER BY array_position('{bf,btree,brin,gin}', method), ratio DESC;
SELECT E'\n## All queries\n\nms of the chosen plan (and how many times as long as the best, if more than 1.0) with each index.\n\n| query | layout | share | table | plan with bf | pages | bf | B-tree | BRIN | GIN |\n| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |';
SELECT format('| %s | %s | %s | %s | %s | %s | %s |', replace(label, '|', '\|'), layout, share, relation, max(chosen) FILTER (WHERE method = 'bf'), max(pages) FILTER (WHERE method = 'bf'),
	string_agg(coalesce(tenths(ms) || CASE WHEN round(ratio::numeric, 1) > 1 THEN format(' (%s ×)', round(ratio::numeric, 1)) ELSE '' END, ''), ' | ' ORDER BY array_position('{bf,btree,brin,gin}', m)))
FROM query CROSS JOIN unnest('{bf,btree,brin,gin}'::text[]) m LEFT JOIN verdict ON verdict.query = query.id AND verdict.method = m
WHERE query.id IN (SELECT query FROM verdict) GROUP BY query.id, label, layout, share, relation ORDER BY query.id;
