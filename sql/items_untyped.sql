-- items_untyped: a literal or a parameter without a type, in the place of an item, is read as the type of the filter's items: drivers send
-- strings, numbers and dates so
CREATE TEMP TABLE filter AS
SELECT bf_agg(w) AS b, sbf_agg(w) AS s, ibf_agg(w, 0.5) AS i, tbf_agg(w, '2024-01-01', NULL) AS t, abf_agg(w) AS a,
	bf_agg(w::char(8)) AS padded, bf_agg(length(w)) AS numbers
FROM (VALUES ('one'::text), ('two'), ('three')) v(w);

-- operators: parameters, on both sides
PREPARE contains AS SELECT b @> $1 AS b, s @> $1 AS s, i @> $1 AS i, t @> $1 AS t, $1 <@ b AS bc, $1 <@ s AS sc, $1 <@ i AS ic, $1 <@ t AS tc, t -> $1 AS count FROM filter;
EXECUTE contains ('two');
EXECUTE contains ('four');
EXECUTE contains (NULL);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'contains';
PREPARE of_abf AS SELECT a @> $1 AS a, $1 <@ a AS ac, abf_contains(a, $1) AS function, abf_contained($1, a) AS contained, a || $1 @> $1 AS added, abf_add(a, $1) @> $1 AS with_function FROM filter;
EXECUTE of_abf ('two');
EXECUTE of_abf ('four');
PREPARE of_timed AS SELECT abf_contains(f, $1, $2) AS one, abf_contains_any(f, $3, $2) AS any, abf_contains_all(abf_add_all(f, $3, $2), $3) AS all, (abf_check_add(f, $3, $2)).duplicates, (abf_check_add_each(f, $3, ARRAY[$2, $2])).duplicates AS each,
	abf_add_each(f, $3, ARRAY[$2, $2]) = abf_add_all(f, $3, $2) AS same FROM abf_add(abf_empty(within => '1 hour'), $1, $2) f;
EXECUTE of_timed ('two', '2024-01-01', '{two,four}');
PREPARE of_arrays AS SELECT abf_contains_any(a, $1) AS any, abf_contains_all(a, $1) AS all, abf_contains_all(abf_add_all(a, $1), $1) AS added, (abf_check_add(a, $1)).duplicates FROM filter;
EXECUTE of_arrays ('{two,four}');
SELECT error_of('SELECT abf_add(abf_empty(), 3) @> ''x''') AS of_number, abf_add(abf_empty(), 3) @> '3' AS number;
-- and functions; the first parameter of each is the item
PREPARE asks AS SELECT bf_contains(b, $1) AS b, bf_contained($1, b) AS bc, sbf_contains(s, $1) AS s, sbf_contained($1, s) AS sc, ibf_contains(i, $1) AS i, ibf_contained($1, i) AS ic,
	tbf_contains(t, $1) AS t, tbf_contained($1, t) AS tc, tbf_count(t, $1) AS count, tbf_count(t, $1, '2024-01-02') AS count_at, tbf_share(t, $1) AS share, tbf_estimate(t, $1, '2024-01-02') AS estimate FROM filter;
EXECUTE asks ('two');
EXECUTE asks ('four');
PREPARE rate AS SELECT tbf_rate(tbf_add(tbf_empty(10, half_life => '1 day', epoch => '1 day'), $1, $2), $1, $2) AS half;
EXECUTE rate ('x', '2024-01-01');
PREPARE additions AS SELECT bf_add(b, $1) @> $1 AS b, b || $1 @> $1 AS bo, sbf_add(s, $1) @> $1 AS s, s || $1 @> $1 AS so, ibf_add(i, $1, $2) @> $1 AS i,
	tbf_count(tbf_add(t, $1, $3), $1) AS t, tbf_count(tbf_add(t, $1, $3, $4), $1) AS tw, tbf_count(tbf_remove(t, 'two', '2024-01-01'), 'two') AS removed,
	tbf_count(tbf_remove(t, $5, '2024-01-01'), $5) AS removed_too FROM filter;
EXECUTE additions ('five', 0.5, '2024-01-01', 3, 'one');

-- a parameter that is also compared with text, before it or after it
CREATE TEMP TABLE page (url text, kind varchar(9), b bf);
INSERT INTO page VALUES ('/', '/', bf_empty(9) || '/');
PREPARE before AS SELECT url FROM page WHERE b @> $1 AND $1 <@ b AND url = $1 AND kind = $1 AND url LIKE $1;
EXECUTE before ('/');
PREPARE after AS SELECT url FROM page WHERE url = $1 AND b @> $1 AND bf_contains(b, $1) AND b || $1 @> $1;
EXECUTE after ('/');
PREPARE first_added AS UPDATE page SET b = b || $1 WHERE url = $1 AND bf_add(b, $1) @> $1 RETURNING url;
EXECUTE first_added ('/');
PREPARE of_an_aggregate AS SELECT bf_agg(x) @> $1 AS aggregated, bf_add(bf_empty(9), $1) @> $1::varchar AS varchar FROM (SELECT $1 AS x) s;
EXECUTE of_an_aggregate ('/');
SELECT name, parameter_types FROM pg_prepared_statements WHERE name IN ('before', 'after', 'first_added', 'of_an_aggregate') ORDER BY name;

-- literals, and the same filters as from text
SELECT b @> 'two' AS b, 'two' <@ b AS bc, s @> 'two' AS s, i @> 'two' AS i, t @> 'two' AS t, t -> 'two' AS count, b @> 'four' AS none FROM filter;
SELECT bf_add(bf_empty(9), 'x') = bf_add(bf_empty(9), 'x'::text) AS b, bf_empty(9) || 'x' = bf_add(bf_empty(9), 'x'::text) AS bo, sbf_add(sbf_empty(90), 'x') = sbf_add(sbf_empty(90), 'x'::text) AS s,
	ibf_add(ibf_empty(90), 'x', 1) = ibf_add(ibf_empty(90), 'x'::text, 1) AS i, tbf_add(tbf_empty(9), 'x', '2024-01-01') = tbf_add(tbf_empty(9), 'x'::text, '2024-01-01') AS t,
	(bf_info(bf_add(bf_empty(9), 'x'))).item_kind;
SELECT item FROM tbf_top(tbf_add(tbf_empty(9, top => 3), 'an item', '2024-01-01'), 3, '2024-01-01');

-- what has a type keeps it: no text is made of it
SELECT bf_add(bf_empty(9), 7) @> 7 AS integer, bf_add(bf_empty(9), 'x'::varchar) @> 'x'::text AS varchar, bf_add(bf_empty(9), 'x'::name) @> 'x' AS name, bf_add(bf_empty(9), '{1}'::int[]) @> '{1}'::int[] AS array,
	bf_add(bf_empty(9), 'X'::citext) @> 'x'::citext AS citext, bf_add(bf_empty(9), 'x'::bpchar) @> 'x  '::char(5) AS character, bf_add(bf_empty(9), '1 day'::interval) @> '24:00'::interval AS interval;
SELECT DISTINCT pg_typeof(item), (bf_info(bf_add(bf_empty(9), item))).item_kind FROM (VALUES ('x'::text)) v(item);

-- asked of char(n) it is char(n); other kinds are read by the input function of their type, with its errors. || takes it as text
SELECT padded @> 'two' AS found, padded @> 'two  ' AS padded, padded @> 'four' AS none FROM filter;
PREPARE padded AS SELECT padded @> $1 AS found FROM filter;
EXECUTE padded ('two  ');
SELECT error_of('SELECT padded @> ''two''::text FROM filter');
PREPARE numbers AS SELECT numbers @> $1 FROM filter;
EXECUTE numbers ('3');
SELECT error_of(format('SELECT %s FROM filter', e)) FROM unnest(ARRAY['numbers @> ''3''', '''3'' <@ numbers', 'numbers || ''3''', 'bf_add(numbers, ''3'')', 'bf_contains(numbers, ''3'')',
	'tbf_count(tbf_add(tbf_empty(9), 3), ''3'')', 'tbf_add(tbf_empty(9), 3) -> ''3''', 'sbf_add(sbf_empty(90), 3) @> ''3''', 'ibf_add(ibf_empty(90), 3, 1) @> ''3''', 'bf_add(bf_empty(), ''Ann''::citext) @> ''Ann''']) e;
PREPARE cast_number AS SELECT numbers @> $1::int FROM filter;
EXECUTE cast_number (3);

-- each kind: what is added is found as it is written, and in another way of writing; other items are not; what is no value is the type's error
CREATE TEMP TABLE kinds (kind text, added text, same text, other text, wrong text);
INSERT INTO kinds VALUES ('integer', '7', ' +07', '8', 'seven'), ('smallint', '7', '7', '70000', '7.5'), ('bigint', '7', '7', '-7', '9223372036854775808'),
	('real', '1.5', '15e-1', '1.25', 'x'), ('float8', '0.1', '1e-1', '0.2', '1e999'), ('uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC999C0B4EF8BB6D6BB9BD380A11', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'a0'),
	('boolean', 'true', 'on', 'false', 'maybe'), ('bytea', '\x00ff', '\000\377', '\xff', '\xf'), ('date', '2024-01-31', '20240131', '2024-01-30', '2024-02-30'),
	('time', '12:30', '12:30:00.0', '12:31', '25:00'), ('timestamp', '2024-01-31 12:30', '20240131T123000', '2024-01-31', 'then'),
	('timestamptz', '2024-01-31 12:30+00', '2024-01-31 13:30+01', '2024-01-31 12:30+01', '2024-01-31 12:30 Nowhere');
CREATE FUNCTION pg_temp.read_as(kind text, added text, same text, other text, wrong text) RETURNS TABLE (found boolean, as_typed boolean, others boolean, listed boolean, error text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH f AS (SELECT bf_agg(v) AS b, bf_agg(v, 1000) AS l, sbf_agg(v) AS s, ibf_agg(v, 0.5) AS i, tbf_add(tbf_empty(9, top => 3, half_life => NULL), %2$L::%1$s, '2024-01-01') AS t, tbf_add(tbf_empty(9, half_life => NULL), %2$L::%1$s, '2024-01-01') AS r FROM (SELECT %2$L::%1$s) n(v))
		SELECT b @> %3$L AND %3$L <@ b AND l @> %3$L AND s @> %3$L AND %3$L <@ s AND i @> %3$L AND %3$L <@ i AND t @> %3$L AND %3$L <@ t AND t -> %3$L > 0 AND tbf_count(t, %3$L, '2024-01-01') = 1
				AND bf_contains_all(b, ARRAY[%3$L]::text::bf_untyped_item) AND bf_contains_any(l, ARRAY[%3$L, NULL]::text::bf_untyped_item) AND sbf_contains_all(s, ARRAY[%3$L]::text::bf_untyped_item) AND ibf_contains_any(i, ARRAY[%3$L]::text::bf_untyped_item),
			bf_add(b, %3$L) = b AND bf_add(l, %3$L) = l AND bf_add_all(l, ARRAY[%3$L]::text::bf_untyped_item) = l AND bf_add(l, %4$L) = bf_add_all(l, ARRAY[%4$L]::text::bf_untyped_item)
				AND sbf_add(s, %3$L) @> %3$L AND ibf_add(i, %3$L, 1) @> %3$L AND tbf_count(tbf_add(t, %3$L, '2024-01-01'), %3$L, '2024-01-01') = 2 AND tbf_count(tbf_add_all(t, ARRAY[%3$L]::text::bf_untyped_item, '2024-01-01'), %3$L, '2024-01-01') = 2
				AND tbf_count(tbf_remove(r, %3$L, '2024-01-01'), %3$L, '2024-01-01') = 0,
			b @> %4$L OR t @> %4$L OR bf_contains_any(b, ARRAY[%4$L]::text::bf_untyped_item),
			(SELECT bool_and(x.item = y.item) FROM tbf_top(tbf_add(tbf_empty(9, top => 3, half_life => NULL), %2$L::%1$s, '2024-01-01'), 3, '2024-01-01') x, tbf_top(tbf_add(t, %3$L, '2024-01-01'), 3, '2024-01-01') y),
			error_of(format('SELECT bf_add(bf_empty(9), %%L::%1$s) @> %%L', %2$L, %5$L)) FROM f$q$, kind, added, same, other, wrong);
END $$;
CREATE CAST (text AS bf_untyped_item) WITHOUT FUNCTION;
SELECT kind, r.* FROM kinds k, pg_temp.read_as(kind, added, same, other, wrong) r;
DROP CAST (text AS bf_untyped_item);
-- the kind of each row's filter says how the same parameter is read
PREPARE of_each AS SELECT item_kind, bool_and(f @> $1) AS item, bool_and(bf_contains_any(f, $2)) AS items
FROM (SELECT bf_agg(7) AS f UNION ALL SELECT bf_agg('7'::text) UNION ALL SELECT bf_agg(7.0::float8) UNION ALL SELECT bf_agg('7'::char(3)) UNION ALL SELECT bf_empty(10)) s, bf_info(f) GROUP BY item_kind ORDER BY item_kind;
EXECUTE of_each ('7', '{7}');
SET plan_cache_mode = force_generic_plan;
EXECUTE of_each ('7', '{8,NULL}');
RESET plan_cache_mode;
-- settings say how a date is read, at each execution
PREPARE of_date AS SELECT bf_add(bf_empty(9), date '2024-02-01') @> $1 AS first_of_february;
SET datestyle = 'ISO, DMY';
EXECUTE of_date ('1/2/2024');
SET datestyle = 'ISO, MDY';
EXECUTE of_date ('1/2/2024');
RESET datestyle;

-- the list of hot items shows what was read, not what was written
SELECT item FROM tbf_top(tbf_add_all(tbf_add(tbf_add(tbf_empty(9, top => 3, half_life => NULL), 7, '2024-01-01'), ' +008', '2024-01-01'), '{0009}', '2024-01-01'), 3, '2024-01-01') ORDER BY item;
-- filters that are stored out of line
CREATE TEMP TABLE large AS SELECT bf_agg(x, 100000) AS b, sbf_agg(x, 100000) AS s FROM generate_series(1, 9) x;
SELECT bf_contains_all(b, '{7,8}') AS b, bf_contains_any(b, '{-1}') AS other, sbf_contains_all(s, '{7,8}') AS s, b @> '9' AS nine, s @> '9' AS s_nine FROM large;

-- arrays without a type: functions of arrays
PREPARE arrays AS SELECT bf_contains_any(b, $1) AS b_any, bf_contains_all(b, $1) AS b_all, sbf_contains_any(s, $1) AS s_any, sbf_contains_all(s, $1) AS s_all, ibf_contains_any(i, $1) AS i_any, ibf_contains_all(i, $1) AS i_all FROM filter;
EXECUTE arrays ('{two,four}');
EXECUTE arrays ('{}');
EXECUTE arrays (NULL);
PREPARE added_arrays AS SELECT bf_contains_all(bf_add_all(b, $1), $1) AS b, sbf_contains_all(sbf_add_all(s, $1), $1) AS s, ibf_contains_all(ibf_add_all(i, $1, $2), $1) AS i, tbf_add_all(t, $1, $3) @> 'five' AS t,
	(sbf_check_add(s, $1)).duplicates AS s_again, (ibf_check_add(i, $1, $2)).duplicates AS i_again, bf_contains_all(bf_add_all(numbers, $4), '{3,100}') AS numbers FROM filter;
EXECUTE added_arrays ('{five,two}', '{0.5,0.5}', '2024-01-01', '{100,101}');
SELECT error_of(format('SELECT %s FROM filter', e)) FROM unnest(ARRAY['bf_contains_any(numbers, ''3'')', 'bf_add_all(numbers, ''{3,x}'')', 'bf_contains_all(b, ''{'')', 'tbf_add_all(NULL, ''{a}'')']) e;

-- operators with ANY and ALL of an array
PREPARE of_array AS SELECT b @> ANY ($1) AS b_any, b @> ALL ($1) AS b_all, s @> ANY ($1) AS s, i @> ANY ($1) AS i, t @> ANY ($1) AS t FROM filter;
EXECUTE of_array ('{two,four}');
SELECT b @> ANY (ARRAY['two', 'four']) AS texts, b @> ALL (ARRAY['two', 'one']::varchar[]) AS varchars, numbers @> ANY (ARRAY[3, 99]) AS integers, numbers @> ANY ('{9,10}') AS untyped, numbers @> ALL ('{}'::bigint[]) AS none,
	'two' <@ ANY (ARRAY[b, padded]) AS filters, 3 <@ ALL (ARRAY[numbers, numbers]) AS of_integer FROM filter;
SELECT error_of(format('SELECT %s FROM filter', e)) FROM unnest(ARRAY['numbers @> ANY (ARRAY[''x'', ''3''])', 'b @> ANY (ARRAY[b])', 'numbers @> ANY (''{x}'')']) e;
SELECT count(*) FROM generate_series(1, 9) x, filter WHERE numbers @> ANY (ARRAY[x, -x]);

-- a filter in the place of an item is not what an untyped value becomes
SELECT error_of('SELECT b @> b FROM filter') ~ '^42|^0A' AS refused, b @> '\x00' AS text_of_bytes FROM filter;

-- collations
CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT b @> 'two' COLLATE "C" AS c FROM filter;
SELECT error_of('SELECT b @> ''two'' COLLATE any_case FROM filter');

-- a view, whose text is read again; a generic plan; PL/pgSQL
CREATE TEMP VIEW seen AS SELECT b @> 'two' AS two, tbf_count(t, 'two') AS count FROM filter;
SELECT pg_get_viewdef('seen') ~ 'bf_untyped_item' AS names_the_type;
SELECT * FROM seen;
SET plan_cache_mode = force_generic_plan;
EXECUTE contains ('three');
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE padded ('two  ');
RESET plan_cache_mode;
DO $$
DECLARE
	f bf := bf_empty(100);
BEGIN
	FOR i IN 1 .. 100 LOOP
		f := bf_add(f, 'item');
	END LOOP;
	RAISE NOTICE '%', f @> 'item';
END $$;

-- chunk_scan: the value is what the column is
CREATE TEMP TABLE hit (id bigint, word text, day date);
INSERT INTO hit SELECT i, 'word ' || i % 5, '2024-01-01'::date + i FROM generate_series(1, 20) i;
PREPARE by_id AS SELECT id, word FROM chunk_scan(NULL::hit, 'id', $1);
EXECUTE by_id ('7');
PREPARE by_word AS SELECT count(*) FROM chunk_scan(NULL::hit, 'word', $1);
EXECUTE by_word ('word 3');
SELECT id FROM chunk_scan(NULL::hit, 'day', '2024-01-05');
PREPARE by_words AS SELECT count(*) FROM chunk_scan_any(NULL::hit, 'word', $1);
EXECUTE by_words ('{word 3,word 4}');
PREPARE what_for AS SELECT is_read, because FROM chunk_scan_explain(NULL::hit, 'id', $1);
EXECUTE what_for (7);
SELECT error_of('SELECT * FROM chunk_scan(NULL::hit, ''id'', ''seven'')');
EXECUTE by_id (NULL);
SELECT count(*) FROM chunk_scan(NULL::hit, 'id', NULL), chunk_scan_any(NULL::hit, 'id', NULL);
