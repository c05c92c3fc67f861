-- tbf_decay: the filter brought to a time; what has faded is dropped, and no count is ever too small

SET timezone = 'UTC';
SELECT setseed(0.5);
CREATE TEMP TABLE hit AS SELECT floor(power(random(), 2) * 60)::int AS item, '2024-01-01'::timestamptz - random() * interval '20 days' AS at, CASE WHEN i % 4 = 0 THEN random() * 1000 ELSE 1 END AS weight FROM generate_series(1, 600) i;
CREATE TEMP TABLE filter AS SELECT tbf_agg(item, at, interval '1 day', weight, 1000, 0.001, interval '1 day', NULL) AS f FROM hit;
CREATE TEMP TABLE later AS SELECT n, '2024-01-01'::timestamptz + n * interval '8 hours' AS at FROM generate_series(0, 90) n;

-- idempotent; two steps are one step, byte for byte; never back
SELECT bool_and(tbf_decay(tbf_decay(f, at), at) = tbf_decay(f, at)) AS idempotent, bool_and(tbf_decay(tbf_decay(f, at), '2024-01-01') = tbf_decay(f, at)) AS never_back FROM filter, later;
SELECT count(*) AS pairs, bool_and(tbf_decay(tbf_decay(f, a.at), b.at)::bytea = tbf_decay(f, b.at)::bytea) AS one_step FROM filter, later a, later b WHERE a.n < b.n AND a.n % 2 = 0 AND b.n % 3 = 0;
-- many small steps are one large one: it does not matter how often the job runs
DO $$
DECLARE
	stepwise tbf;
	at_once tbf;
	t timestamptz;
BEGIN
	SELECT f INTO stepwise FROM filter;
	FOR t IN SELECT at FROM later ORDER BY at LOOP
		stepwise := tbf_decay(stepwise, t);
	END LOOP;
	SELECT tbf_decay(f, t) INTO at_once FROM filter;
	RAISE NOTICE 'same: %', stepwise::bytea = at_once::bytea;
END
$$;

-- never too small, at the time and later; and too large by at most a unit and a half
CREATE TEMP TABLE exact AS SELECT item, n, l.at, sum(weight * power(2::float8, -(floor(extract(epoch FROM l.at - '2000-01-01 00:00+00') / 86400) - floor(extract(epoch FROM hit.at - '2000-01-01 00:00+00') / 86400))::float8)) AS exact FROM hit, later l GROUP BY item, n, l.at;
SELECT bool_and(tbf_count(decayed, item, asked.at) >= asked.exact) AS never_below, bool_and(tbf_count(decayed, item, asked.at) >= tbf_count(f, item, asked.at)) AS never_below_undecayed,
	bool_and(tbf_count(decayed, item, asked.at) <= asked.exact * 1.001 + (1 + 1.5) * 0.0625) AS hardly_above
FROM filter, (SELECT n, tbf_decay(f, at) AS decayed FROM filter, later) d, exact asked WHERE d.n <= asked.n AND d.n % 10 = 0 AND asked.n % 4 = 0;
-- nor before: a decayed filter cannot know what was there, and says more
SELECT bool_and(tbf_count(tbf_decay(f, '2024-01-09'), item, at) BETWEEN exact AND 1e300) AS never_below FROM filter, exact WHERE n % 10 = 0 AND n < 24;

-- it drops counts below half a unit, and adds what it drops to the slack; so the count of an item never seen rises by
-- at most half a unit
SELECT before.fill > after.fill AS forgets, before.slack < after.slack AS slack_grows, after.slack <= before.slack / 64 + 0.0625 / 2 + 0.001 AS by_half_a_unit, tbf_count(tbf_decay(f, '2024-01-06'), 1000, '2024-01-06') BETWEEN 0.01 AND 0.04 AS a_little,
	before.total / 64 BETWEEN after.total - 0.001 AND after.total AS total_decays, after.base - before.base AS moved
FROM filter, tbf_info(f) before, tbf_info(tbf_decay(f, '2024-01-06')) after;
-- as long as nothing was forgotten it is 0
SELECT tbf_count(tbf_decay(f, '2024-01-02'), 2, '2024-01-02') AS never_seen, tbf_count(tbf_decay(f, '2024-01-02'), 1, '2024-01-02') AS seen FROM tbf_add(tbf_empty(10, 0.01, '1 day'), 1, '2024-01-01', 16) f;
-- exactly half a unit goes, more stays
SELECT weight, f @> 1 AS found, tbf_decay(f, '2024-01-02') @> 1 AS after_one, tbf_decay(f, '2024-01-03') @> 1 AS after_two, tbf_decay(f, '2024-01-04') @> 1 AS after_three, tbf_count(tbf_decay(f, '2024-01-03'), 1, '2024-01-03') >= weight / 4 AS never_below
FROM unnest('{0.0625,0.125,0.1875,0.25,0.3125}'::float8[]) weight, tbf_add(tbf_empty(10, 0.01, '1 day'), 1, '2024-01-01', weight) f ORDER BY weight;

-- it gives back space
SELECT (tbf_info(f)).cell_bits, (tbf_info(tbf_decay(f, '2024-01-08'))).cell_bits, (tbf_info(f)).bytes > (tbf_info(tbf_decay(f, '2024-01-08'))).bytes AS smaller FROM filter;
-- in the end there is nothing left, and then nothing changes any more but the base
SELECT fill, cardinality, cell_bits, total <= 0.001 AS no_total, slack <= 0.0625 / 2 + 0.001 AS little_slack FROM filter, tbf_info(tbf_decay(f, '30000-01-01'));
SELECT tbf_decay(f, '30000-01-01') @> 1 AS found, tbf_count(tbf_decay(f, '30000-01-01'), 1, '30000-01-01') <= 0.04 AS next_to_nothing FROM filter;

-- nothing to do: the same value
SELECT tbf_decay(f, '2024-01-01') = f AS same_time, tbf_decay(f, '2023-01-01') = f AS earlier, tbf_decay(f, '2023-12-31 12:00') = f AS same_half_life FROM tbf_add(tbf_empty(10, 0.01, '1 day'), 1, '2024-01-01') f;
SELECT tbf_decay(tbf_empty()) = tbf_empty() AS empty, tbf_decay(tbf_empty(), '30000-01-01') = tbf_empty() AS empty, tbf_decay(f, '30000-01-01') = f AS undecaying FROM tbf_add(tbf_empty(10, 0.01, NULL), 1) f;
-- an UPDATE then writes no new TOAST value: the pointer is the same (that is as far as SQL can see)
CREATE TABLE tbf_decay (f tbf);
INSERT INTO tbf_decay SELECT tbf_agg(i, '2024-01-01', interval '1 day', 1, 100000, 0.01) FROM generate_series(1, 100000) i;
SELECT reltoastrelid::regclass AS toast FROM pg_class WHERE oid = 'tbf_decay'::regclass \gset
SELECT count(DISTINCT chunk_id) AS values, count(*) > 100 AS large FROM :toast;
UPDATE tbf_decay SET f = tbf_decay(f, '2024-01-01 12:00');
SELECT count(DISTINCT chunk_id) AS values FROM :toast;
UPDATE tbf_decay SET f = tbf_decay(f, '2024-01-04');
SELECT f @> 1 AS found, tbf_count(f, 1, '2024-01-04') BETWEEN 0.125 AND 1e300 AS never_below FROM tbf_decay;
DROP TABLE tbf_decay;

-- life goes on afterwards: hits, late hits, merging with the undecayed one
SELECT tbf_count(tbf_add(d, 5, '2024-01-07'), 5, '2024-01-07') >= tbf_count(f, 5, '2024-01-07') + 1 AS added, tbf_count(tbf_add(d, 5, '2024-01-01'), 5, '2024-01-07') >= tbf_count(f, 5, '2024-01-07') + 1.0 / 64 AS added_late,
	tbf_count(d + f, 5, '2024-01-07') >= 2 * tbf_count(f, 5, '2024-01-07') AS merged, (d + f) = (f + d) AS commutes, tbf_count(tbf_decay(d + f, '2024-01-20'), 5, '2024-01-20') >= 2 * tbf_count(f, 5, '2024-01-20') AS decayed_again
FROM filter, tbf_decay(f, '2024-01-06') d;
