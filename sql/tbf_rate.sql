-- tbf_rate: the exponentially weighted moving average of hits an epoch, (1 - lambda) times the count (Cheng et al., eq. 4)

SET timezone = 'UTC';
SELECT abs(tbf_rate(f, 1, at) - (1 - power(2::float8, -6.0 / 24)) * tbf_count(f, 1, at)) < 1e-12 AS agrees FROM tbf_add(tbf_empty(10, 0.01, '1 day', '6 hours'), 1, '2024-01-01', 100) f, unnest('{2024-01-01,2024-01-02 07:00,2024-02-01,2023-12-31}'::timestamptz[]) at;
-- a steady stream of three hits an epoch
SELECT tbf_rate(f, 'a', '2024-02-01') BETWEEN 3 AND 3.05 AS three, tbf_rate(f, 'b', '2024-02-01') < 0.01 AS none, tbf_rate(f, 'a', '2024-02-02') BETWEEN 1.49 AND 1.53 AS halves
FROM (SELECT tbf_agg('a'::text, at, interval '1 day', 3, 100, 0.01, interval '1 hour', NULL) AS f FROM generate_series('2024-01-01'::timestamptz, '2024-02-01', '1 hour') at) s;
-- an epoch of one half-life: half the count
SELECT tbf_rate(f, 1, '2024-01-01') = tbf_count(f, 1, '2024-01-01') / 2 AS half FROM tbf_add(tbf_empty(10, 0.01, '1 day', '1 day'), 1, '2024-01-01', 8) f;
SELECT tbf_rate(tbf_empty(), 1) AS nothing;
-- without decay there is no such rate
SELECT tbf_rate(tbf_add(tbf_empty(half_life => NULL), 1), 1);
SELECT sqlstate_of('SELECT tbf_rate(tbf_empty(half_life => NULL), 1)');
