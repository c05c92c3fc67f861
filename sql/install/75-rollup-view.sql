-- 75-rollup-view.sql: the view tbf_rollups over the roll-ups that one may read (docs/rollups.md)
CREATE VIEW tbf_rollups WITH (security_barrier) AS
SELECT r.rollup, c.relowner::pg_catalog.regrole AS owner, r.source, r.item, r.time_column, r.condition, r.weight, r.group_columns, r.tiers, r.keep, r.lateness, r.top, r.zone, r.half_life,
	r.counted_to, _tbf_rollup_bucket_start(_tbf_rollup_before(r.counted_to, r.lateness), r.tiers[1], r.zone) AS complete_to, r.folded, pg_catalog.pg_total_relation_size(r.rollup) AS bytes, r.last_error, r.last_error_at,
	CASE WHEN s.oid IS NULL THEN 'the source is gone: what was counted can be asked'
		WHEN pg_catalog.row_security_active(r.source) THEN 'the source has row-level security that applies to you'
		WHEN r.last_error IS NOT NULL THEN 'the last refresh failed: see last_error'
		WHEN r.counted_to IS NULL THEN pg_catalog.format('not refreshed yet: CALL %s(%L)', refresh.name, r.rollup::pg_catalog.text)
		ELSE pg_catalog.format('refresh it regularly: CALL %s(%L)', refresh.name, r.rollup::pg_catalog.text)
			|| CASE WHEN r.keep[1] IS NOT NULL AND pg_catalog.array_length(r.tiers, 1) > 1 THEN pg_catalog.format('; the next %s is folded when it has counted to %s', r.tiers[2],
				pg_catalog.to_char((_tbf_rollup_bucket_end(r.folded[1], r.tiers[2], r.zone) + r.keep[1]) AT TIME ZONE r.zone, 'YYYY-MM-DD HH24:MI')) ELSE '' END
	END AS next_step
FROM tbf_rollup_definitions r JOIN pg_catalog.pg_class c ON c.oid = r.rollup LEFT JOIN pg_catalog.pg_class s ON s.oid = r.source,
	(SELECT (SELECT pg_catalog.min(p.oid::pg_catalog.regproc::pg_catalog.text) FROM pg_catalog.pg_proc p WHERE p.oid = 'tbf_rollup_refresh'::pg_catalog.regproc) AS name) refresh
WHERE pg_catalog.has_table_privilege(r.rollup, 'SELECT');
GRANT SELECT ON tbf_rollups TO PUBLIC;
COMMENT ON VIEW tbf_rollups IS 'the roll-ups that one may read: what they are made of, how far they are, and what to do with each';
COMMENT ON COLUMN tbf_rollups.owner IS 'the role that refreshes it';
COMMENT ON COLUMN tbf_rollups.counted_to IS 'time of the newest hit at the beginning of the last refresh';
COMMENT ON COLUMN tbf_rollups.complete_to IS 'buckets before this time are counted for good: later hits in them came later than the lateness, and only a refresh from and to these times counts them';
COMMENT ON COLUMN tbf_rollups.folded IS 'for each tier: what is before this time is in a later tier, or has been deleted from the last one';
COMMENT ON COLUMN tbf_rollups.bytes IS 'size of the table with its indexes and TOAST';
COMMENT ON COLUMN tbf_rollups.last_error IS 'why the last refresh failed; null: it did not';
COMMENT ON COLUMN tbf_rollups.next_step IS 'what to do, in words';
