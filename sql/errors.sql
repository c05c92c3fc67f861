-- errors: the whole text of each error, with its SQLSTATE

SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on

-- parameters
SELECT error_of('SELECT bf_empty(10, 2)');
SELECT error_of('SELECT bf_empty(0)');
SELECT error_of('SELECT bf_empty(1000000000000)');
SELECT error_of('SELECT tbf_empty(1000000000000)');
SELECT error_of('SELECT tbf_empty(half_life => ''0'')');
SELECT error_of('SELECT tbf_empty(half_life => ''1 month'')');
SELECT error_of('SELECT tbf_empty(epoch => ''1 year'')');
SELECT error_of('SELECT tbf_empty(half_life => NULL, epoch => ''1 hour'')');

-- items
SELECT error_of('SELECT bf_add(bf_empty(), ''(1,2)''::point)');
SELECT error_of('SELECT bf_add(bf_empty(), ''pg_class''::regclass)');
SELECT error_of('SELECT bf_add(bf_empty(), ''{pg_class}''::regclass[])');
SELECT error_of('SELECT bf_add(bf_empty(), 1) @> ''1''');
SELECT error_of('SELECT bf_add(bf_empty(), 1) @> ''1''::text');
SELECT error_of('SELECT tbf_add(tbf_empty(), 1) -> 1.0');

-- combining
SELECT error_of('SELECT bf_empty(1000) | bf_empty(1700)');
SELECT error_of('SELECT bf_empty(1000) & bf_empty(1000, 0.1)');
SELECT error_of('SELECT bf_add(bf_empty(), 1) | bf_add(bf_empty(), true)');
SELECT error_of('SELECT tbf_empty(half_life => ''1 day'') + tbf_empty(half_life => ''2 days'')');
SELECT error_of('SELECT tbf_add(tbf_empty(), 1) + tbf_add(tbf_empty(), true)');

-- hits
SELECT error_of('SELECT tbf_add(tbf_empty(), 1, ''2024-01-02'', 1, ''2024-01-01'')');
SELECT error_of('SELECT tbf_add(tbf_empty(), 1, ''-infinity'')');
SELECT error_of('SELECT tbf_add(tbf_empty(), 1, now(), -1)');
SELECT error_of('SELECT tbf_add(tbf_empty(), 1, now(), 1e12)');
SELECT error_of('SELECT tbf_merge_agg(f, 8589934591) FROM (SELECT tbf_agg(i, NULL, NULL, 2 ^ 16) AS f FROM generate_series(1, 5) i) s');
SELECT form, n, split_part(error_of(format('SELECT f * 8589934591 FROM (SELECT tbf_agg_like(i, NULL, tbf_empty(10, half_life => NULL, %s), 2 ^ 16) AS f FROM generate_series(1, %s) i) s', form, n)), E'\n', 1)
FROM unnest('{layout => $$flat$$,layout => $$extensible$$,top => 3}'::text[]) form, unnest('{3,5}'::int[]) n ORDER BY form COLLATE "C", n;
SELECT left(error_of('SELECT f + f + f FROM (SELECT tbf_agg_like(i, NULL, tbf_empty(10, half_life => NULL), 2 ^ 16) * 8589934591 AS f FROM generate_series(1, 2) i) s'), 54);
SELECT error_of('SELECT tbf_agg(1, NULL)');
SELECT error_of('SELECT tbf_agg(1, now(), ''7 days'', NULL::float8)');
SELECT error_of('SELECT tbf_count(tbf_add(tbf_empty(half_life => ''1 second''), 1, ''2024-01-01''), 1, ''2023-01-01'')');
SELECT error_of('SELECT tbf_rate(tbf_empty(half_life => NULL), 1)');

-- values
SELECT error_of('SELECT ''a filter''::bf');
SELECT error_of('SELECT ''\x5342''::bf');
SELECT error_of(format('SELECT ''\x5g''::%s', type)) FROM unnest('{bf,sbf,ibf,abf,tbf}'::text[]) type;
SELECT type, sqlstate_of(format('SELECT %L::%s', text, type)), text FROM unnest('{bf,sbf,ibf,abf,tbf}'::text[]) type, unnest(ARRAY['', 'x', '\x', '\x5', ' \x53', '\x5342 ']) text ORDER BY text COLLATE "C", type;
SELECT error_of('SELECT tbf_empty()::bytea::bf');
SELECT error_of('SELECT bf(set_byte(bf_empty()::bytea, 3, 2))');
SELECT error_of('SELECT tbf(set_byte(tbf_empty()::bytea, 4, 255))');

-- calculators
SELECT error_of('SELECT bloom_false_positive_rate(0, 1, 1)');
SELECT error_of('SELECT bloom_optimal_bits(1, 0)');
SELECT error_of('SELECT bf_false_positive_rate(512, 0, 1)');
