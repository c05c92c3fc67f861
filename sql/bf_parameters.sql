-- bf_parameters: what bf_empty(), bf_agg() and bf_fold() accept, and what NULL does to each function

-- rates from 0.000001 to 0.5
SELECT (bf_info(bf_empty(1, 0.5))).false_positive_rate, (bf_info(bf_empty(1, 0.000001))).false_positive_rate;
SELECT rate, array_agg(DISTINCT sqlstate_of(format(command, rate))) AS states
FROM unnest(ARRAY['0', '-1', '-0.01', '0.6', '1', '2', '0.0000009', '''NaN''', '''Infinity''', '''-Infinity''']) WITH ORDINALITY r (rate, i),
	unnest(ARRAY['SELECT bf_empty(10, %s)', 'SELECT bf_empty(fpr => %s)', 'SELECT bf_agg(1, 10, %s)', 'SELECT bf_agg(NULL::int, 10, %s)', 'SELECT bf_agg(1, NULL, %s)',
		'SELECT bf_agg(NULL::int, NULL, %s)', 'SELECT bf_fold(bf_empty(), %s)']) command
GROUP BY i, rate ORDER BY i;

-- numbers of items from 1 up to what fits half a gigabyte
SELECT (bf_info(bf_empty(1))).expected_items, (bf_info(bf_empty(1))).bits >= 512 AS a_line;
SELECT number, array_agg(DISTINCT sqlstate_of(format(command, number))) AS states
FROM unnest(ARRAY['0', '-5', '-9223372036854775808', '1000000000', '1000000000000000000', '9223372036854775807']) WITH ORDINALITY n (number, i),
	unnest(ARRAY['SELECT bf_empty(%s)', 'SELECT bf_empty(expected_items => %s, fpr => 0.001)', 'SELECT bf_agg(1, %s)', 'SELECT bf_agg(1, %s, 0.1)']) command
GROUP BY i, number ORDER BY i;
-- an aggregate looks at its parameters even if the item is null
SELECT sqlstate_of('SELECT bf_agg(NULL::int, 0)'), sqlstate_of('SELECT bf_agg(NULL::int, -5, 0.01)');

-- defaults
SELECT bf_empty() = bf_empty(10000, 0.01), bf_empty(5) = bf_empty(5, 0.01), bf_empty(fpr => 0.1) = bf_empty(10000, 0.1);
SELECT bf_agg(i, 1000) = bf_agg(i, 1000, 0.01), bf_agg(i, 1000) = bf_agg(i, 1000, NULL), bf_agg(i) = bf_agg(i, NULL), bf_agg(i) = bf_agg(i, NULL, 0.01)
FROM generate_series(1, 1000) i;

-- more items and lower rates take more bits, and never fewer hashes for a lower rate
SELECT bool_and(bits >= before) AS grows_with_items
FROM (SELECT (bf_info(bf_empty(n))).bits, lag((bf_info(bf_empty(n))).bits) OVER (ORDER BY n) AS before FROM unnest('{1,10,100,1000,10000,100000,1000000}'::int[]) n) s;
SELECT bool_and(bits > before) AS grows_with_accuracy, bool_and(hashes >= hashes_before) AS hashes_too
FROM (SELECT bits, hashes, lag(bits) OVER w AS before, lag(hashes) OVER w AS hashes_before
	FROM unnest('{0.5,0.1,0.01,0.001,0.0001,0.00001,0.000001}'::float8[]) p, bf_info(bf_empty(10000, p)) WINDOW w AS (ORDER BY p DESC)) s;

-- a filter that sizes itself, as that of bf_agg()
SELECT layout, expected_items, false_positive_rate FROM bf_info(bf_empty(NULL, 0.001));
SELECT bf_add_all(bf_empty(NULL), '{1,2,3}'::int[]) = bf_agg(i) AS few FROM generate_series(1, 3) i;
SELECT layout, f @> ALL ('{1,35000,70000}'::int[]) AS has_all, current_false_positive_rate < 0.01 AS good
FROM (SELECT bf_add_all(bf_empty(NULL), array_agg(i)) AS f FROM generate_series(1, 70000) i) s, bf_info(f);

-- NULL in any argument gives NULL (except the rate of bf_fold(), and a number of items)
SELECT bf_empty(10, NULL), bf_empty(NULL, NULL), bf_add(NULL, 1), bf_add(bf_empty(), NULL::int), bf_empty() || NULL::text, NULL::bf || 1,
	bf_add_all(NULL, '{1}'::int[]), bf_add_all(bf_empty(), NULL::int[]);
SELECT bf_empty() @> NULL::int, bf_empty() @> NULL, NULL::bf @> 1, 1 <@ NULL::bf, NULL::int <@ bf_empty(), bf_contains(NULL, 1), bf_contains(bf_empty(), NULL::int),
	bf_contains_any(NULL, '{1}'::int[]), bf_contains_any(bf_empty(), NULL::int[]), bf_contains_all(NULL, '{1}'::int[]), bf_contains_all(bf_empty(), NULL::int[]);
SELECT bf_empty() | NULL, NULL | bf_empty(), bf_empty() & NULL, NULL & bf_empty(), bf_empty() = NULL, NULL <> bf_empty(),
	bf_cardinality(NULL), bf_info(NULL), bf_sketch(NULL), NULL::bf::bytea, NULL::bytea::bf;
SELECT count(*) FROM bf_histogram(NULL);

-- arrays: empty, with nulls, of more dimensions, with other lower bounds
SELECT bf_add_all(f, '{}'::int[]) = f, bf_add_all(f, '{NULL,NULL}'::int[]) = f FROM bf_add(bf_empty(10), 1) f;
SELECT bf_add_all(bf_empty(10), '{}'::int[]) = bf_empty(10), bf_add_all(bf_empty(10), '{NULL}'::int[]) = bf_empty(10);
SELECT bf_add_all(bf_empty(10), '{{1,2},{3,NULL}}'::int[]) = bf_add_all(bf_empty(10), '{1,2,3}'::int[]),
	bf_add_all(bf_empty(10), '[5:7]={3,2,1}'::int[]) = bf_add_all(bf_empty(10), '{1,2,3,3,2,1}'::int[]),
	bf_add_all(bf_empty(10), '{1,2,3}'::int[]) = bf_empty(10) || 1 || 2 || 3,
	bf_add_all(bf_empty(10), ARRAY['a', 'b']) = bf_empty(10) || 'a' || 'b'::text;
SELECT bf_contains_any(f, '{}'::int[]), bf_contains_any(f, '{NULL}'::int[]), bf_contains_any(f, '{9,NULL}'::int[]), bf_contains_any(f, '{9,NULL,1}'::int[]), bf_contains_any(f, '{{9,8},{7,1}}'::int[])
FROM bf_add(bf_empty(10), 1) f;
SELECT bf_contains_all(f, '{}'::int[]), bf_contains_all(f, '{NULL}'::int[]), bf_contains_all(f, '{1,NULL,1}'::int[]), bf_contains_all(f, '{1,NULL,9}'::int[]), bf_contains_all(f, '{{1,1},{1,9}}'::int[])
FROM bf_add(bf_empty(10), 1) f;
