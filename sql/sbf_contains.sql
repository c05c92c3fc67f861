-- sbf_contains: asking, in all its forms; kinds of items as for bf

SELECT f @> 1, f @> 3, 2 <@ f, 4 <@ f, sbf_contains(f, 1), sbf_contained(3, f) FROM (SELECT sbf_empty() || 1 || 2 AS f) s;
-- equal items are found whatever their type, and untyped literals are text
SELECT f @> 1::smallint, f @> 1::bigint, f @> 1::int FROM (SELECT sbf_empty() || 1 AS f) s;
SELECT f @> 'a', f @> 'a'::text, f @> 'a'::varchar, f @> 'c', 'b' <@ f, f @> 'c'::text FROM (SELECT sbf_empty() || 'a' || 'b'::text AS f) s;
SELECT sbf_empty() || 'x'::citext @> 'X'::citext AS citext, sbf_empty() || 1.0 @> 1.00 AS numeric, sbf_empty() || 'a'::char(3) @> 'a'::char(5) AS character, sbf_empty() || ROW(1, 'a'::text) @> ROW(1, 'a'::text) AS composite;
SELECT sbf_empty() || 'a' = sbf_add(sbf_empty(), 'a'), sbf_empty() || 'a'::text = sbf_add(sbf_empty(), 'a'::text), sbf_empty() || 'a' = sbf_add_all(sbf_empty(), '{a}'::text[]);

-- arrays: nulls are skipped
SELECT sbf_contains_any(f, '{7,NULL,2}'::int[]), sbf_contains_any(f, '{7,8}'::int[]), sbf_contains_any(f, '{}'::int[]), sbf_contains_all(f, '{1,NULL,2}'::int[]), sbf_contains_all(f, '{1,3}'::int[]), sbf_contains_all(f, '{}'::int[])
FROM (SELECT sbf_add_all(sbf_empty(), '{1,2,NULL}'::int[]) AS f) s;
SELECT (sbf_info(sbf_add_all(sbf_empty(), '{{1,2},{NULL,4}}'::int[]))).items;

-- an empty filter says no, of whatever kind the item is
SELECT sbf_empty() @> 1, sbf_empty() @> 'a', sbf_contains_any(sbf_empty(), '{1}'::int[]);

-- NULL gives NULL
SELECT sbf_empty() @> NULL::int, NULL::sbf @> 1, sbf_empty() || NULL::int, NULL::sbf || 1, sbf_contains_any(sbf_empty(), NULL::int[]), sbf_add_all(NULL, '{1}'::int[]), sbf_union(NULL, sbf_empty()), sbf_decay(sbf_empty(), NULL);

-- the wrong kind is an error and not a no
SELECT error_of('SELECT (sbf_empty() || 1) @> ''a''');
SELECT error_of('SELECT (sbf_empty() || 1) || ''a''::text');
SELECT error_of('SELECT sbf_empty() || ''(1,2)''::point');
SELECT sqlstate_of('SELECT sbf_empty() || ''pg_class''::regclass'), sqlstate_of('SELECT sbf_contains_all(sbf_empty() || 1, ''{a}''::text[])');
