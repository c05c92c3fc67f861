-- untyped_kinds: a literal or a parameter without a type is read as what the filter holds, by the type's input function and with its errors
SET datestyle = 'ISO, YMD';
SET timezone = 'UTC';
CREATE TEMP TABLE held AS
SELECT bf_agg(i) AS b, bf_agg('2024-01-01'::date + i) AS d, bf_agg(md5(i::text)::uuid) AS u, bf_agg(i::float8) AS x, bf_agg(i % 2 = 0) AS o, bf_agg('2024-01-01'::timestamptz + i * interval '1 day') AS z,
	bf_agg('2024-01-01'::timestamp + i * interval '1 day') AS s, bf_agg('00:00'::time + i * interval '1 minute') AS m, bf_agg(decode(md5(i::text), 'hex')) AS y, bf_agg(i::text) AS t, bf_agg(i::text::char(9)) AS c
FROM generate_series(1, 100) i;
SELECT b @> '7' AS b, b @> ' 007 ' AS spelled, b @> '7000' AS absent, d @> '2024-01-08' AS d, d @> 'Jan 8, 2024' AS spelled, u @> '{8F14E45F-CEEA-167A-5A36-DEDD4BEA2543}' AS u, x @> '7.0' AS x, x @> '7e0' AS spelled, o @> 'yes' AS o,
	z @> '2024-01-08 00:00' AS z, s @> '2024-01-08' AS s, m @> '0:07' AS m, y @> '\x8f14e45fceea167a5a36dedd4bea2543' AS y, t @> '7' AS t, t @> '007' AS other, c @> '7  ' AS c FROM held;
SELECT '7' <@ b AS contained, bf_contains(b, '7') AS contains, NULL <@ b IS NULL AS nothing FROM held;
-- each error is that of the type
SELECT e, error_of(format('SELECT %s FROM held', e)) FROM unnest(ARRAY['b @> ''x''', 'b @> ''12345678901234567890''', 'u @> ''7''', 'd @> ''2024-02-30''', 'z @> ''soon''', 'y @> ''\x7''', 'bf_add(b, ''''), 1']) e;
-- parameters: the same statement for filters of different kinds
PREPARE asked AS SELECT b @> $1 AS numbers, t @> $1 AS texts FROM held;
EXECUTE asked ('7');
EXECUTE asked ('007');
EXECUTE asked (NULL);
SELECT k, f @> '7' AS found FROM (SELECT 1 AS k, b AS f FROM held UNION ALL SELECT 2, t FROM held UNION ALL SELECT 3, c FROM held UNION ALL SELECT 4, bf_empty() UNION ALL SELECT 5, b FROM held) v ORDER BY k;
-- what is added has the hash of the number, and its name in a list of hot items
SELECT bf_cardinality(bf_add(bf_add(b, '007'), '777')) - bf_cardinality(b) AS added, bf_add(b, '778') @> 778 AS found, error_of('SELECT b || ''778'' FROM held') AS operator FROM held;
SELECT item FROM tbf_top(tbf_add(tbf_add(tbf_empty(10, top => 3), 7, '2024-01-01'), '007', '2024-01-01'));
SELECT tbf_count(f, '7', '2024-01-01') = tbf_count(f, 7, '2024-01-01') AS t, sbf_add(sbf_empty(90), 7) @> '7' AS s, ibf_add(ibf_empty(90), 7, 1) @> '7' AS i FROM tbf_add(tbf_empty(10), 7, '2024-01-01') f;
-- kinds that several types have, or types of others, are not guessed
SELECT error_of('SELECT bf_agg(i::numeric) @> ''7'' FROM generate_series(1, 3) i');
