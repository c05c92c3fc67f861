-- tbf_now: a function of a filter and a time is immutable; without the time, which is now by default, a call of it is not
SET timezone = 'UTC';
CREATE TABLE tbf_now (f tbf, g tbf);
INSERT INTO tbf_now SELECT tbf_agg_like(i % 10, now() - i * interval '1 hour', tbf_empty(100, top => 20)) AS f, tbf_agg_like(i % 20, now() - i * interval '1 hour', tbf_empty(100)) AS g FROM generate_series(1, 100) i;

-- the same answers as with now()
BEGIN;
SELECT tbf_count(f, 7) = tbf_count(f, 7, now()) AS count, f -> 7 = tbf_count(f, 7, now()) AS operator, tbf_rate(f, 7) = tbf_rate(f, 7, now()) AS rate, tbf_total(f) = tbf_total(f, now()) AS total,
	tbf_estimate(f, 7) = tbf_estimate(f, 7, now()) AS estimate, tbf_error_bound(f, 3) = tbf_error_bound(f, 3, now()) AS error_bound, tbf_inner_product(g, g) = tbf_inner_product(g, g, now()) AS product,
	tbf_decay(f) = tbf_decay(f, now()) AS decay, tbf_remove(tbf_add(g, 3), 3) = tbf_remove(tbf_add(g, 3, now()), 3, now(), 1) AS remove FROM tbf_now;
SELECT bool_and(a = b) AS top, count(*) FROM tbf_now, ROWS FROM (tbf_top(f), tbf_top(f, 10, now())) t(item, a, a_to, other, b, b_to);
SELECT tbf_count(f, 'x') = tbf_count(f, 'x', now()) AS untyped FROM tbf_add(tbf_empty(), 'x') f;
COMMIT;

-- index expressions and generated columns may have the forms with a time, and not the others
CREATE FUNCTION in_index(expression text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX ON tbf_now ((%s))', expression);
	RETURN 'an index';
EXCEPTION WHEN invalid_object_definition THEN
	RETURN SQLERRM;
END $$;
SELECT with_time, in_index(with_time), replace(with_time, ', ''2024-01-01''', '') AS without, in_index(replace(with_time, ', ''2024-01-01''', ''))
FROM unnest(ARRAY['tbf_count(f, 7, ''2024-01-01'')', 'tbf_rate(f, 7, ''2024-01-01'')', 'tbf_total(f, ''2024-01-01'')', 'tbf_estimate(f, 7, ''2024-01-01'')', 'tbf_error_bound(f, 3, ''2024-01-01'')',
	'tbf_inner_product(g, g, ''2024-01-01'')', 'bytea(tbf_decay(f, ''2024-01-01''))']) with_time;
ALTER TABLE tbf_now ADD hot float8 GENERATED ALWAYS AS (tbf_count(f, 7, '2026-01-01')) STORED;
ALTER TABLE tbf_now ADD faded tbf GENERATED ALWAYS AS (tbf_decay(f, timestamptz '2100-01-01')) STORED;
SELECT hot = tbf_count(f, 7, '2026-01-01') AS hot, faded = tbf_decay(f, '2100-01-01') AS faded FROM tbf_now;
-- what still reads the clock, or settings: a hit is compared with now, unless the limit is given, and a list of hot items has them as text
SELECT proname, pg_get_function_arguments(oid) AS arguments FROM pg_proc WHERE proname LIKE 'tbf\_%' AND proname NOT LIKE '%\_agg%' AND proname NOT LIKE 'tbf\_rollup%' AND provolatile <> 'i' ORDER BY proname COLLATE "C", pg_get_function_arguments(oid) COLLATE "C";

-- NULL
SELECT tbf_count(f, 7, NULL) IS NULL AS count, tbf_decay(f, NULL) IS NULL AS decay, tbf_total(f, NULL) IS NULL AS total, tbf_count(NULL, 7) IS NULL AS no_filter FROM tbf_now;
DROP FUNCTION in_index;
DROP TABLE tbf_now;
