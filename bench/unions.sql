-- unions.sql: what bench/unions measures. Variables: hll (yes, no), rounds. The table daily has the hosts of real logs.
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET client_min_messages = warning;

CREATE FUNCTION many(numeric) RETURNS text LANGUAGE sql RETURN coalesce(to_char($1, 'FM999,999,999,990'), '');
CREATE FUNCTION milliseconds(since timestamptz) RETURNS float8 LANGUAGE sql VOLATILE RETURN 1000 * extract(epoch FROM clock_timestamp() - since);

-- The share of 200,000 items that were not added which the filter seems to hold.
CREATE FUNCTION measured_rate(f bf) RETURNS float8 LANGUAGE sql AS $$ SELECT avg((f @> ('absent ' || i))::int) FROM generate_series(1, 200000) i $$;

-- The parts that are united: the last days of a log, and parts of made-up items.
CREATE TABLE part (series text, name text, number int, part int, item text);
INSERT INTO part SELECT log, log || ', ' || CASE days WHEN 100000 THEN 'all days' ELSE days || ' days' END, days, day, host
	FROM daily, unnest('{7,31,100000}'::int[]) days WHERE day < days;
INSERT INTO part SELECT 'made up', format('%s parts of %s', parts, each), 1000000 + parts * each, p, format('%s-%s', p, i)
	FROM (VALUES (24, 500), (60, 1000), (720, 64), (365, 1000)) v(parts, each), generate_series(1, parts) p, generate_series(1, each) i;
ANALYZE part;

CREATE TABLE filter AS SELECT name, number, part, bf_agg(item) AS f, bf_agg(item, 10000) AS told FROM part GROUP BY name, number, part;
CREATE TABLE answer AS
	SELECT p.*, f.parts, f.part_bytes, f.united, f.of_told
	FROM (SELECT name, min(number) AS number, count(DISTINCT item) AS items, sum(length(item) + 1) FILTER (WHERE first) AS text_bytes
		FROM (SELECT name, number, item, row_number() OVER (PARTITION BY name, item) = 1 AS first FROM part) s GROUP BY name) p
	JOIN (SELECT name, count(*) AS parts, avg(length(f::bytea)) AS part_bytes, bf_union_agg(f) AS united, bf_union_agg(told) AS of_told FROM filter GROUP BY name) f USING (name);

SELECT format('%s. The filters size themselves, for a rate of 1 %%; no parameter is given.', split_part(version(), ' on ', 1));
\echo
\echo '"Cardinality" is what the union says; for a list of hashes it is exact. "Rate" is the share of 200,000 absent items that the union'
\echo 'seems to hold. "Compact" is bf_compact() of the union. "Table" are the items as rows of a table, without an index. The last'
\echo 'column is the rate of the union of filters that were told 10,000 items each.'
\echo
\echo '| union | parts | items | cardinality | rate | layout | bytes | compact | bytes of a part | table | told 10,000: rate |'
\echo '| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |', name, parts, many(items), many(round(bf_cardinality(united)::numeric)), round(measured_rate(united)::numeric, 4), i.layout,
	many(i.bytes), many(length(bf_compact(united)::bytea)), many(part_bytes), many(36 * items + text_bytes), round(measured_rate(of_told)::numeric, 4))
FROM answer, bf_info(united) i ORDER BY number;
SELECT :'hll' = 'yes' AS hll \gset
\if :hll
\echo
\echo 'The same by hll, which says how many items there are, and not which (default parameters):'
\echo
\echo '| union | items | cardinality | bytes | bytes of a part |'
\echo '| --- | ---: | ---: | ---: | ---: |'
CREATE TABLE sketch AS SELECT name, number, part, hll_add_agg(hll_hash_text(item)) AS h FROM part GROUP BY name, number, part;
SELECT format('| %s | %s | %s | %s | %s |', name, many(items), many(round(hll_cardinality(h)::numeric)), many(pg_column_size(h)), many(each))
FROM answer JOIN (SELECT name, hll_union_agg(h) AS h, avg(pg_column_size(h)) AS each FROM sketch GROUP BY name) s USING (name) ORDER BY number;
\endif

\echo
\echo '## A look-up'
\echo
\echo 'Nanoseconds of f @> i for a filter in memory, half of the items in it, with the loop around it; the least of'
SELECT format('%s interleaved rounds of 200,000 look-ups. Pages: of one look-up in a stored filter, all that the query touches.', :rounds);
\echo
CREATE TABLE asked (n int, form text, f bf, ns float8, pages int);
INSERT INTO asked SELECT n, form, CASE form WHEN 'list' THEN list ELSE bf_compact(list) END
FROM (SELECT n, bf_agg(i) AS list FROM unnest('{64,1000,10000,65536}'::int[]) n, generate_series(1, n) i GROUP BY n) s, unnest('{list,lines}'::text[]) form;
ALTER TABLE asked ADD PRIMARY KEY (n, form);
CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	a record;
	began timestamptz;
	took float8;
	f bf;
	line text;
	plan text;
BEGIN
	FOR round IN 1 .. rounds LOOP
		FOR a IN SELECT n, form FROM asked ORDER BY n, form LOOP
			f := (SELECT bf(x.f::bytea) FROM asked x WHERE x.n = a.n AND x.form = a.form);
			began := clock_timestamp();
			PERFORM count(*) FILTER (WHERE f @> (i % (2 * a.n))) FROM generate_series(1, 200000) i;
			took := milliseconds(began);
			UPDATE asked SET ns = least(ns, took * 1e6 / 200000) WHERE n = a.n AND form = a.form;
		END LOOP;
	END LOOP;
	FOR a IN SELECT n, form FROM asked LOOP
		FOR round IN 1 .. 3 LOOP
			plan := '';
			FOR line IN EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) SELECT f @> 7 FROM asked WHERE n = %s AND form = %L', a.n, a.form) LOOP
				plan := plan || line;
				EXIT WHEN line LIKE '%Planning%';
			END LOOP;
		END LOOP;
		UPDATE asked SET pages = substring(plan FROM 'shared hit=(\d+)')::int WHERE n = a.n AND form = a.form;
	END LOOP;
END $$;
CALL measure(:rounds);
\echo '| items | list: ns | lines: ns | ratio | list: bytes | lines: bytes | list: pages | lines: pages |'
\echo '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', many(n), round(l.ns), round(k.ns), round((l.ns / k.ns)::numeric, 2), many(length(l.f::bytea)), many(length(k.f::bytea)), l.pages, k.pages)
FROM asked l JOIN asked k USING (n) WHERE l.form = 'list' AND k.form = 'lines' ORDER BY n;
