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
SELECT error_of('SELECT tbf_agg(1, NULL)');
SELECT error_of('SELECT tbf_agg(1, now(), ''7 days'', NULL::float8)');
SELECT error_of('SELECT tbf_count(tbf_add(tbf_empty(half_life => ''1 second''), 1, ''2024-01-01''), 1, ''2023-01-01'')');
SELECT error_of('SELECT tbf_rate(tbf_empty(half_life => NULL), 1)');

-- values
SELECT error_of('SELECT ''a filter''::bf');
SELECT error_of('SELECT ''\x5342''::bf');
SELECT error_of('SELECT tbf_empty()::bytea::bf');
SELECT error_of('SELECT bf(set_byte(bf_empty()::bytea, 3, 2))');
SELECT error_of('SELECT tbf(set_byte(tbf_empty()::bytea, 4, 255))');

-- calculators
SELECT error_of('SELECT bloom_false_positive_rate(0, 1, 1)');
SELECT error_of('SELECT bloom_optimal_bits(1, 0)');
SELECT error_of('SELECT bf_false_positive_rate(512, 0, 1)');
