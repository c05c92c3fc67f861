-- sbf_union: the larger of each two cells; stale until it has decayed

CREATE TEMP TABLE filter AS SELECT g, sbf_agg(i, 4096, 0.1 ORDER BY i) AS f FROM generate_series(1, 3) g, generate_series(g * 100000, g * 100000 + 30000) i GROUP BY g;
SELECT bool_and(a.f | b.f @> i) AS all_last_ones FROM filter a, filter b, generate_series(0, 99) n, LATERAL (VALUES (130000 - n), (230000 - n)) v (i) WHERE a.g = 1 AND b.g = 2;
SELECT a.f | b.f = b.f | a.f AS commutes, a.f | a.f = a.f AS itself, (sbf_info(a.f | b.f)).items, (sbf_info(a.f | b.f)).zeros < (sbf_info(a.f)).zeros AS fuller,
	abs((sbf_info(a.f | b.f)).zeros - (sbf_info(a.f)).zeros * (sbf_info(b.f)).zeros) < 0.02 AS the_product FROM filter a, filter b WHERE a.g = 1 AND b.g = 2;
-- the union comes back to the stable point by further steps
SELECT abs(zeros - stable_zeros) < 0.02 AS stable FROM filter a, filter b, sbf_info(sbf_add_all(a.f | b.f, ARRAY(SELECT generate_series(500001, 520000)))) WHERE a.g = 1 AND b.g = 2;
-- many; the order makes no difference; nulls are skipped
SELECT sbf_union_agg(f) = (SELECT a.f | b.f | c.f FROM filter a, filter b, filter c WHERE a.g = 1 AND b.g = 2 AND c.g = 3) AS same, sbf_union_agg(f ORDER BY g) = sbf_union_agg(f ORDER BY g DESC) AS any_order,
	sbf_union_agg(f) FILTER (WHERE false) IS NULL AS no_rows, sbf_union_agg(nullif(f, f)) IS NULL AS nulls FROM filter;
SELECT bool_and(s.f = o.f) AS untouched, bool_and(s.f <> u) AS united FROM (SELECT g, f, sbf_union_agg(f) OVER () AS u FROM filter OFFSET 0) s JOIN filter o USING (g);
-- an empty filter changes nothing
SELECT f | sbf_empty(4096, 0.1) = f AS same FROM filter WHERE g = 1;

\pset format unaligned
\pset tuples_only on
SELECT error_of('SELECT sbf_empty(1000) | sbf_empty(2000)');
SELECT error_of('SELECT sbf_empty(hashes => 3) | sbf_empty(hashes => 4)');
SELECT error_of('SELECT sbf_empty(evictions => 3) | sbf_empty(evictions => 4)');
SELECT error_of('SELECT (sbf_empty() || 1) | (sbf_empty() || ''a'')');
