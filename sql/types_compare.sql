-- types_compare: = and the default operator classes of all types agree: what is equal sorts alike and hashes alike, in every
-- place where PostgreSQL compares whole values
LOAD 'streambloom';
\set VERBOSITY terse

-- values of all forms: empty, exact, of lines, of sizes that differ, with lists of hot items that differ, and values with one changed bit
CREATE FUNCTION pg_temp.with_bit(value bytea, at int, type text) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	place int := at % (8 * length(value));
	changed bytea := set_bit(value, place, 1 - get_bit(value, place));
	same bytea;
BEGIN
	EXECUTE format('SELECT ($1::%s)::bytea', type) INTO same USING changed;
	RETURN same;
EXCEPTION WHEN invalid_binary_representation THEN
	RETURN value;
END $$;
CREATE TEMP TABLE b (id int GENERATED ALWAYS AS IDENTITY, f bf);
INSERT INTO b (f) SELECT bf_empty(n) FROM unnest(ARRAY[1, 10, 10, 1000]) n;
INSERT INTO b (f) SELECT bf_agg(x % m) FROM generate_series(1, 40) x, unnest(ARRAY[2, 3, 4, 40]) m GROUP BY m;
INSERT INTO b (f) SELECT bf_agg(x) FROM generate_series(1, 3000) x, generate_series(1, 3) m GROUP BY x % 3, m;
INSERT INTO b (f) SELECT bf_agg(x ORDER BY x DESC) FROM generate_series(1, 3000) x GROUP BY x % 3;
INSERT INTO b (f) SELECT pg_temp.with_bit(f::bytea, 512 + id * 37 + n, 'bf')::bf FROM b, generate_series(1, 3) n;
CREATE TEMP TABLE s (id int GENERATED ALWAYS AS IDENTITY, f sbf);
INSERT INTO s (f) SELECT sbf_empty(n, seed => n / 100) FROM unnest(ARRAY[90, 90, 100, 1000]) n;
INSERT INTO s (f) SELECT sbf_add(f, x % 3) FROM s, generate_series(1, 6) x;
INSERT INTO s (f) SELECT pg_temp.with_bit(f::bytea, 1024 + id * 7 + n, 'sbf')::sbf FROM s, generate_series(1, 3) n WHERE length(f::bytea) > 200;
CREATE TEMP TABLE i (id int GENERATED ALWAYS AS IDENTITY, f ibf);
INSERT INTO i (f) SELECT ibf_empty(n, seed => n / 100) FROM unnest(ARRAY[90, 90, 100, 1000]) n;
INSERT INTO i (f) SELECT ibf_add(f, x % 3, 0.5) FROM i, generate_series(1, 6) x;
INSERT INTO i (f) SELECT pg_temp.with_bit(f::bytea, 1024 + id * 7 + n, 'ibf')::ibf FROM i, generate_series(1, 3) n WHERE length(f::bytea) > 200;
CREATE TEMP TABLE a (id int GENERATED ALWAYS AS IDENTITY, f abf);
INSERT INTO a (f) SELECT abf_empty(n, within => CASE WHEN n < 100 THEN interval '1 day' END) FROM unnest(ARRAY[90, 90, 100, 1000]) n;
INSERT INTO a (f) SELECT CASE WHEN (abf_info(f)).within IS NULL THEN abf_add(f, x % 3) ELSE abf_add(f, x % 3, '2024-01-01') END FROM a, generate_series(1, 6) x;
CREATE TEMP TABLE t (id int GENERATED ALWAYS AS IDENTITY, f tbf);
INSERT INTO t (f) SELECT tbf_empty(10, top => top) FROM unnest(ARRAY[NULL, NULL, 3, 3, 4]) top;
INSERT INTO t (f) SELECT tbf_agg(x % m, '2024-01-01') FROM generate_series(1, 40) x, unnest(ARRAY[2, 3, 4, 40]) m GROUP BY m;
INSERT INTO t (f) SELECT tbf_agg(x, '2024-01-01') FROM generate_series(1, 3000) x, generate_series(1, 2) m GROUP BY x % 3, m;
CREATE FUNCTION pg_temp.hits(items int[], top int, minimum boolean) RETURNS tbf LANGUAGE plpgsql AS $$
DECLARE
	f tbf := tbf_empty(20, top => top);
	item int;
BEGIN
	FOREACH item IN ARRAY items LOOP
		f := tbf_add(f, item, '2024-01-01');
	END LOOP;
	RETURN f;
END $$;
-- the same hits in different orders: equal filters whose lists of hot items differ
INSERT INTO t (f) SELECT pg_temp.hits(items, top, false)
FROM (VALUES ('{1,2,3,4,5,6,6,1}'::int[]), ('{6,6,5,4,3,2,1,1}'), ('{1,1,2,3,4,5,6,6}'), ('{1,1,2,3,4,5,6}')) v(items), unnest(ARRAY[NULL, 2, 3]) top;
INSERT INTO t (f) SELECT pg_temp.with_bit(f::bytea, 1024 + id * 37 + n, 'tbf')::tbf FROM t, generate_series(1, 3) n WHERE length(f::bytea) > 600 AND id % 2 = 0;
SELECT (SELECT count(*) FROM b) AS b, (SELECT count(*) FROM s) AS s, (SELECT count(*) FROM i) AS i, (SELECT count(*) FROM a) AS a, (SELECT count(*) FROM t) AS t;
SELECT count(*) > 0 AS equal_with_other_lists FROM t x, t y WHERE x.f = y.f AND x.f::bytea <> y.f::bytea;

-- a = b <=> cmp = 0 <=> the hashes are equal; all operators follow from cmp; equal bytes are equal
CREATE FUNCTION pg_temp.law(type text, name text) RETURNS TABLE (filters bigint, classes bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		SELECT (SELECT count(*) FROM %1$s), (SELECT count(DISTINCT f) FROM %1$s), count(*)
		FROM %1$s x, %1$s y, %2$s_cmp(x.f, y.f) AS c
		WHERE (x.f = y.f) <> (c = 0) OR (x.f <> y.f) <> (c <> 0) OR (x.f < y.f) <> (c < 0) OR (x.f <= y.f) <> (c <= 0)
			OR (x.f > y.f) <> (c > 0) OR (x.f >= y.f) <> (c >= 0) OR sign(c) <> -sign(%2$s_cmp(y.f, x.f))
			OR (%2$s_hash_extended(x.f, 0) = %2$s_hash_extended(y.f, 0)) <> (c = 0)
			OR (%2$s_hash_extended(x.f, 7) = %2$s_hash_extended(y.f, 7)) <> (c = 0)
			OR (c = 0 AND %2$s_hash(x.f) <> %2$s_hash(y.f))
			OR %2$s_hash(x.f)::bigint & 4294967295 <> %2$s_hash_extended(x.f, 0) & 4294967295
			OR (x.f::bytea = y.f::bytea AND c <> 0)
			OR (%2$L <> 'tbf' AND (c = 0) <> (x.f::bytea = y.f::bytea))$q$, name, type);
END $$;
SELECT type, l.filters > 15 AS many, l.classes < l.filters AND l.classes > 8 AS some_equal, l.wrong
FROM (VALUES ('bf', 'b'), ('sbf', 's'), ('ibf', 'i'), ('abf', 'a'), ('tbf', 't')) v(type, name), pg_temp.law(type, name) l;
-- a total order: in the order in which sorting puts them, no filter is greater than a later one
CREATE FUNCTION pg_temp.out_of_order(name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	EXECUTE format('CREATE TEMP TABLE %1$s_sorted AS SELECT f, row_number() OVER (ORDER BY f) AS place FROM %1$s', name);
	EXECUTE format('SELECT count(*) FROM %1$s_sorted x, %1$s_sorted y WHERE x.place < y.place AND NOT x.f <= y.f', name) INTO result;
	RETURN result;
END $$;
SELECT name, pg_temp.out_of_order(name) FROM unnest(ARRAY['b', 's', 'i', 'a', 't']) name;
-- smaller values come first
SELECT count(*) AS wrong FROM b x, b y WHERE length(x.f::bytea) < length(y.f::bytea) AND x.f >= y.f;
-- a hash never changes: hash indexes store it
SELECT bf_hash(bf_add(bf_empty(10), 7)) AS b, sbf_hash(sbf_empty(90)) AS s, ibf_hash(ibf_empty(90)) AS i, abf_hash(abf_empty(90) || 7) AS a, tbf_hash(tbf_add(tbf_empty(10), 7, '2024-01-01')) AS t, bf_hash_extended(bf_empty(10), 5) AS extended;

-- as stored: in line, with a header of one byte, compressed, out of line, as an expanded object of an aggregate or a variable
CREATE TEMP TABLE stored (way text, f bf, t tbf);
ALTER TABLE stored ALTER f SET STORAGE plain, ALTER t SET STORAGE plain;
INSERT INTO stored SELECT 'in line', bf_empty(3000) || 1, tbf_agg(x, '2024-01-01') FROM generate_series(1, 300) x;
ALTER TABLE stored ALTER f SET STORAGE extended, ALTER t SET STORAGE extended;
INSERT INTO stored SELECT 'compressed', f || 1, t FROM stored;
ALTER TABLE stored ALTER f SET STORAGE external, ALTER t SET STORAGE external;
INSERT INTO stored SELECT 'out of line', f || 1, tbf(t::bytea) FROM stored LIMIT 1;
SELECT count(pg_column_compression(f)) AS compressed, (SELECT pg_relation_size(reltoastrelid) > 0 FROM pg_class WHERE oid = 'stored'::regclass) AS out_of_line,
	count(DISTINCT f) AS f, count(DISTINCT t) AS t, count(DISTINCT bf_hash(f)) AS f_hash, count(DISTINCT tbf_hash(t)) AS t_hash, min(tbf_cmp(t, (SELECT t FROM stored LIMIT 1))) AS least, max(tbf_cmp(t, (SELECT t FROM stored LIMIT 1))) AS most FROM stored;
SELECT (SELECT bf_agg(x, 100000) FROM generate_series(1, 300) x) = f AND bf_hash((SELECT bf_agg(x, 100000) FROM generate_series(1, 300) x)) = bf_hash(f) AND bf_cmp(f, (SELECT bf_agg(x, 100000) FROM generate_series(1, 300) x)) = 0 AS lent
FROM (SELECT bf(bf_agg(x, 100000)::bytea) AS f FROM generate_series(1, 300) x) s;
DO $$
DECLARE
	f bf := bf_empty(300);
	t tbf := tbf_empty(300, top => 3);
BEGIN
	FOR x IN 1 .. 300 LOOP
		f := bf_add(f, x);
		t := tbf_add(t, x, '2024-01-01');
	END LOOP;
	RAISE NOTICE '%', f = bf(f::bytea) AND bf_hash(f) = bf_hash(bf(f::bytea)) AND t = tbf(t::bytea) AND tbf_hash(t) = tbf_hash(tbf(t::bytea)) AND tbf_cmp(t, tbf(t::bytea)) = 0;
END $$;

-- each place where a query compares filters, by sorting and by hashing
CREATE TEMP TABLE k AS SELECT x AS id, bf_empty(100) || x % 5 AS b, sbf_add(sbf_empty(90), x % 5) AS s, ibf_add(ibf_empty(90), x % 5, 1) AS i, abf_add(abf_empty(90), x % 5) AS a,
	pg_temp.hits(CASE x % 2 WHEN 0 THEN ARRAY[1, 2, 3, 4, x % 5] ELSE ARRAY[x % 5, 4, 3, 2, 1] END, 2, false) AS t
FROM generate_series(1, 20) x;
CREATE FUNCTION pg_temp.places(type text) RETURNS TABLE (distinct_rows bigint, grouped bigint, counted bigint, united bigint, without bigint, common bigint, joined bigint, full_joined bigint, of_any boolean, ordered boolean)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$SELECT (SELECT count(*) FROM (SELECT DISTINCT %1$s FROM k) d), (SELECT count(*) FROM (SELECT %1$s, count(*) FROM k GROUP BY %1$s) g),
		(SELECT count(DISTINCT %1$s) FROM k), (SELECT count(*) FROM (SELECT %1$s FROM k UNION SELECT %1$s FROM k) u),
		(SELECT count(*) FROM (SELECT %1$s FROM k EXCEPT SELECT %1$s FROM k WHERE id %% 5 < 2) e), (SELECT count(*) FROM (SELECT %1$s FROM k INTERSECT SELECT %1$s FROM k WHERE id %% 5 < 2) e),
		(SELECT count(*) FROM k x JOIN k y USING (%1$s)), (SELECT count(*) FROM k x FULL JOIN (SELECT * FROM k WHERE id <= 3) y USING (%1$s)),
		(SELECT bool_and(%1$s = ANY (ARRAY(SELECT %1$s FROM k))) FROM k), (SELECT bool_and(o.%1$s >= o.before) FROM (SELECT %1$s, lag(%1$s) OVER (ORDER BY %1$s) AS before FROM k) o WHERE before IS NOT NULL)$q$, type);
END $$;
SET enable_hashagg = off; SET enable_hashjoin = off; SET enable_nestloop = off;
SELECT v, p.* FROM unnest(ARRAY['b', 's', 'i', 'a', 't']) v, pg_temp.places(v) p;
EXPLAIN (COSTS OFF) SELECT FROM k x JOIN k y USING (b);
SET enable_hashagg = on; SET enable_hashjoin = on; SET enable_mergejoin = off; SET enable_sort = off;
SELECT v, p.* FROM unnest(ARRAY['b', 's', 'i', 'a', 't']) v, pg_temp.places(v) p;
EXPLAIN (COSTS OFF) SELECT FROM k x JOIN k y USING (t);
EXPLAIN (COSTS OFF) SELECT t FROM k GROUP BY t;
RESET ALL;

-- rows and arrays
SELECT (k.*) = (k.*) AS same_row, (k.*) IS DISTINCT FROM (l.*) AS other_row, ROW(k.b, k.t) = ROW(l.b, l.t) AS rows, ROW(k.b, 1) < ROW(k.b, 2) AS less, ARRAY[k.b] = ARRAY[l.b] AS arrays, ARRAY[k.b, l.b] @> ARRAY[k.b] AS contained, k.b IN (l.b) AS in_list, greatest(k.s, l.s) = l.s OR greatest(k.s, l.s) = k.s AS greatest
FROM k, k l WHERE k.id = 5 AND l.id = 10;
SELECT count(DISTINCT k) AS rows, count(DISTINCT ROW(b, s, i, t)) AS distinct_rows, count(DISTINCT ARRAY[b]) AS arrays FROM k;

-- a row trigger that looks for what changed
CREATE FUNCTION pg_temp.if_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.* IS DISTINCT FROM NEW.* THEN
		RAISE NOTICE 'changed';
	ELSE
		RAISE NOTICE 'as before';
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER watch BEFORE UPDATE ON k FOR EACH ROW EXECUTE FUNCTION pg_temp.if_changed();
UPDATE k SET b = b WHERE id = 1;
UPDATE k SET b = b || 77 WHERE id = 1;
UPDATE k SET t = tbf_add(t, 9, '2024-01-01') WHERE id = 2;

-- indexes; a filter that is too large for one is PostgreSQL's own error
CREATE INDEX k_b ON k USING btree (b);
CREATE INDEX k_s ON k USING btree (s DESC);
CREATE INDEX k_i ON k USING hash (i);
CREATE INDEX k_t ON k USING hash (t);
CREATE INDEX k_tt ON k USING btree (t);
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM k ORDER BY b;
SELECT array_agg(id ORDER BY id) AS b FROM k WHERE b = (SELECT b FROM k WHERE id = 5);
SELECT array_agg(id ORDER BY id) AS s FROM k WHERE s = (SELECT s FROM k WHERE id = 5);
SELECT array_agg(id ORDER BY id) AS i FROM k WHERE i = (SELECT i FROM k WHERE id = 5);
SELECT array_agg(id ORDER BY id) AS t FROM k WHERE t = (SELECT t FROM k WHERE id = 5);
RESET ALL;
CREATE TEMP TABLE large AS SELECT bf_empty(100000) AS f;
SELECT error_of('CREATE INDEX ON large (f)') ~ '^54000: index row ' AS too_large;
CREATE UNIQUE INDEX ON large USING btree (bf_hash_extended(f, 0));
SELECT error_of('CREATE UNIQUE INDEX ON k (i)') ~ '^23505' AS not_unique;

-- no class of a bf index, and no operator that would take an item
SELECT error_of('CREATE INDEX ON k USING bf (b)') AS filter, error_of('CREATE INDEX ON k USING bf ((ARRAY[b]))') AS filters;
SELECT oprname, oprleft::regtype, oprright::regtype FROM pg_operator
WHERE oprleft = oprright AND oprleft IN ('bf'::regtype, 'sbf'::regtype, 'ibf'::regtype, 'tbf'::regtype) AND oprname IN ('@>', '<@', '||', '->');
-- statistics and plans of a table of filters
ANALYZE k;
SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'k' AND attname IN ('s', 'i', 't') ORDER BY attname;
