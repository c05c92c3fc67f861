-- items_untyped: a literal or a parameter without a type, in the place of an item, is text: drivers send strings so
CREATE TEMP TABLE filter AS
SELECT bf_agg(w) AS b, sbf_agg(w) AS s, ibf_agg(w, 0.5) AS i, tbf_agg(w, '2024-01-01', NULL) AS t,
	bf_agg(w::char(8)) AS padded, bf_agg(length(w)) AS numbers
FROM (VALUES ('one'::text), ('two'), ('three')) v(w);

-- operators: parameters, on both sides
PREPARE contains AS SELECT b @> $1 AS b, s @> $1 AS s, i @> $1 AS i, t @> $1 AS t, $1 <@ b AS bc, $1 <@ s AS sc, $1 <@ i AS ic, $1 <@ t AS tc, t -> $1 AS count FROM filter;
EXECUTE contains ('two');
EXECUTE contains ('four');
EXECUTE contains (NULL);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'contains';
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

-- asked of char(n) it is char(n); other kinds say that it is to be cast
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
