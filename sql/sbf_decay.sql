-- sbf_decay: eviction without arrivals lets a filter fade

CREATE TEMP TABLE filter AS SELECT sbf_agg(i, 1000, 0.05 ORDER BY i) AS f FROM generate_series(1, 5000) i;
SELECT n, i.zeros > (sbf_info(f)).zeros AS more_zeros, i.steps, i.items FROM filter, unnest('{10,100,1000}'::int[]) n, sbf_info(sbf_decay(f, n)) i ORDER BY n;
-- in one go as in many, and until nothing is left
SELECT sbf_decay(f, 777) = sbf_decay(sbf_decay(sbf_decay(f, 7), 70), 700) AS composes, sbf_decay(f, 0) = f AS none FROM filter;
SELECT sbf_decay(f, 100000) = sbf_decay(sbf_decay(f, 50000), 50000) AS composes, (sbf_info(sbf_decay(f, 100000))).zeros AS zeros FROM filter;
SELECT steps, zeros FROM filter, sbf_info(sbf_decay(f, 9223372036854775807));
SELECT count(*) FROM filter, generate_series(1, 5000) i WHERE sbf_decay(f, 3000) @> i;
-- a filter that never evicts does not fade
SELECT sbf_decay(f, 1000000) @> 1 AS stays FROM (SELECT sbf_empty(1000, evictions => 0) || 1 AS f) s;
SELECT error_of('SELECT sbf_decay(sbf_empty(), -1)');
