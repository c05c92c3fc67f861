-- 73-rollup-refresh.sql: tbf_rollup_refresh(), which counts new hits and folds old buckets (docs/rollups.md).
--
-- A step compares the hits that the source has of each item, bucket by bucket, with the hits that the roll-up has, and
-- adds the difference. Hits that are later than all that the roll-up has of the step's buckets are new, even if the
-- source has lost rows meanwhile. One statement does all this, so it reads both tables in one snapshot. So a step may
-- be repeated: it counts no hit twice, and lowers no count. (72-rollup.sql explains the words tier, bucket, group,
-- closed and folded.)
--
-- The planner does not know how many groups a bucket has, and estimates a few rows for each CTE. So it would choose
-- nested loops, which compare every group with every other: too slow with thousands of groups, such as tenants. Hash
-- joins cost about the same for few groups. So _tbf_rollup_step() and _tbf_rollup_fold() set enable_nestloop off. They
-- set jit off, too: up to PostgreSQL 17, if the planner cannot avoid a nested loop, enable_nestloop = off adds so much
-- to its cost that each step would be JIT-compiled. _tbf_rollup_step() sets enable_sort off: with an estimate of a few
-- rows the planner would sort all hits of some hours by their items, which takes twice as long as hashing them.

CREATE FUNCTION _tbf_rollup_weight(weight double precision, bad boolean) RETURNS double precision LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF bad THEN
		RAISE EXCEPTION 'weight of a hit is null or out of range' USING ERRCODE = 'numeric_value_out_of_range',
			HINT = 'Weights are 0 or more, and less than 2^33. Leave such rows out with the condition of the roll-up, or give an expression such as coalesce(column, 0).';
	END IF;
	RETURN weight;
END $$;
COMMENT ON FUNCTION _tbf_rollup_weight(double precision, boolean) IS 'implementation of tbf_rollup_refresh(): an error if a weight is bad';

CREATE FUNCTION _tbf_rollup_packed(list anyarray) RETURNS anyarray AS 'MODULE_PATHNAME', 'tbf_rollup_packed' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _tbf_rollup_packed(anyarray) IS 'implementation of tbf_rollup_refresh(): the same list, compressed if that makes it smaller';

CREATE FUNCTION _tbf_rollup_unlisted(filter tbf, list anyarray) RETURNS double precision AS 'MODULE_PATHNAME', 'tbf_rollup_unlisted' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _tbf_rollup_unlisted(tbf, anyarray) IS 'implementation of tbf_rollup_refresh(): the most hits, at the base, of an item of an exact filter that is not in the list; null for a filter with counters';

-- Returns a query of the items that the source has from lo ($1) to before hi ($2), except hits from the future, bucket by
-- bucket. lo and hi are starts of buckets. n: the item's hits. old: those that may be counted already, which are not
-- later than the newest time in the CTE latest.
CREATE FUNCTION _tbf_rollup_items(rollup regclass, lo timestamptz, hi timestamptz) RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record;
	at text;
	bound text;
	start_of text := '';
	tier_of text := '';
	many_tiers boolean := false;
	columns text;
	groups text;
	changed record;
	-- In UTC every day has 24 hours, so date_bin() finds the start of a bucket of up to a week. For each row it costs
	-- far less than date_trunc(). date_bin() counts the buckets from this origin. It is the first day of timestamptz,
	-- and a Monday, on which weeks begin.
	origin CONSTANT timestamptz := '4714-11-24 00:00 UTC BC';
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	-- SQL expressions for the tier of a time, and for the start and the end of its bucket. Tiers that end at lo or
	-- earlier are left out.
	FOR i IN REVERSE cardinality(def.tiers) .. 1 LOOP
		CONTINUE WHEN lo >= def.folded[i - 1];
		many_tiers := many_tiers OR i > 1;
		start_of := start_of || CASE i WHEN 1 THEN ' ELSE ' ELSE format(' WHEN at < %L::timestamptz THEN ', def.folded[i - 1]) END || CASE WHEN def.zone = 'UTC' AND def.tiers[i] IN ('minute', 'hour', 'day', 'week') THEN format('date_bin(interval ''1 %s'', at, %L::timestamptz)', def.tiers[i], origin) ELSE format('%s._tbf_rollup_bucket_start(at, %L, %L)', extension, def.tiers[i], def.zone) END;
		tier_of := tier_of || CASE i WHEN 1 THEN ' ELSE ' ELSE format(' WHEN at < %L::timestamptz THEN ', def.folded[i - 1]) END || i;
	END LOOP;
	IF many_tiers THEN
		start_of := 'CASE' || start_of || ' END';
		tier_of := 'CASE' || tier_of || ' END';
	ELSE
		start_of := replace(start_of, ' ELSE ', '');
		tier_of := '1';
	END IF;

	FOR changed IN EXECUTE format('SELECT c, now_, made FROM ROWS FROM (unnest($1), unnest(%s._tbf_rollup_types($2, $1)), unnest($3)) u(c, now_, made) WHERE now_ IS DISTINCT FROM made', extension)
			USING def.group_columns || def.time_column, def.source, def.column_types[2:] || def.column_types[1] LOOP
		IF changed.now_ IS NULL AND changed.c = ANY (def.group_columns) THEN
			RAISE EXCEPTION '% has no grouping column %', def.source, quote_ident(changed.c) USING ERRCODE = 'undefined_column',
				DETAIL = 'Grouping columns of a roll-up cannot be changed, because its rows were made by them.',
				HINT = format('If the column was renamed, make a view in which it is called %s, and change source in the row of the roll-up in tbf_rollup to it. If it is gone, make the roll-up anew.', quote_ident(changed.c));
		END IF;
		CONTINUE WHEN changed.now_ IS NULL;
		RAISE EXCEPTION 'column % of % is of type %, and was of type %', quote_ident(changed.c), def.source, changed.now_, changed.made USING ERRCODE = 'datatype_mismatch',
			DETAIL = 'Hits that are counted already might not be found under the new values, and be counted again.',
			HINT = 'If its values mean the same as before, change column_types in the row of the roll-up in tbf_rollup. Otherwise make the roll-up anew.';
	END LOOP;

	-- A time without zone is read as UTC. In comparisons the bounds are converted, and not the column, so that an
	-- index on the column can be used.
	SELECT format(CASE WHEN atttypid = 'timestamp'::regtype THEN '%I AT TIME ZONE ''UTC''' ELSE '%I' END, def.time_column),
			CASE WHEN atttypid = 'timestamp'::regtype THEN '%I %s %L::timestamptz AT TIME ZONE ''UTC''' ELSE '%I %s %L::timestamptz' END
		INTO at, bound FROM pg_attribute WHERE attrelid = def.source AND attname = def.time_column AND NOT attisdropped AND atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype);
	IF NOT FOUND THEN
		RAISE EXCEPTION '% has no column % with the time of a hit', def.source, quote_ident(def.time_column) USING ERRCODE = 'undefined_column',
			HINT = 'If the column has another name or type now, change time_column in the row of the roll-up in tbf_rollup, or make the roll-up anew.';
	END IF;
	SELECT coalesce(string_agg(format(', %I AS g%s', c, n), '' ORDER BY n), ''),
			CASE WHEN cardinality(def.group_columns) = 0 THEN '''{}''::jsonb' ELSE 'jsonb_build_object(' || coalesce(string_agg(format('%L, g%s', c, n), ', ' ORDER BY n), '') || ')' END
		INTO columns, groups FROM unnest(def.group_columns) WITH ORDINALITY u(c, n);

	RETURN format($sql$
			-- The query groups by groups in the form that is stored (jsonb), in which equal values, such as '1 day' and
			-- '24 hours', may be written differently.
			SELECT * FROM (SELECT %9$s AS tier, %10$s AS starts, coalesce(item, NULL::%13$s)::%13$s AS item, %8$s AS groups, %12$s AS n, %11$s AS old, min(at) AS oldest, max(at) AS newest
				FROM (SELECT %1$s AS at, (%2$s
				) AS item, coalesce((%3$s
				), NULL::double precision) AS w %4$s
					FROM %5$s WHERE (%6$s
				) AND %7$s) hit WHERE item IS NOT NULL GROUP BY 1, 2, 3%14$s) s
			-- Where clocks are put back by half an hour, the buckets of two hours overlap. A bucket that begins
			-- before lo does not belong to this step.
			WHERE n > 0 AND starts >= $1 AND starts < $2$sql$,
		at, def.item, coalesce(def.weight, '1'), columns, (SELECT quote_ident(nspname) || '.' || quote_ident(relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = def.source), coalesce(def.condition, 'true'),
		concat_ws(' AND ', format(bound, def.time_column, '>=', greatest(lo, '4712-01-01 00:00 UTC BC')), format(bound, def.time_column, '<', hi), format(bound, def.time_column, '<=', clock_timestamp())),
		groups, tier_of, start_of,
		CASE WHEN def.weight IS NULL THEN 'count(*) FILTER (WHERE at <= (SELECT newest FROM latest))::double precision' ELSE 'coalesce(sum(ceil(w * 4096) / 4096) FILTER (WHERE at <= (SELECT newest FROM latest)), 0)' END,
		CASE WHEN def.weight IS NULL THEN 'count(*)::double precision' ELSE format('%s._tbf_rollup_weight(sum(ceil(w * 4096) / 4096), bool_or((w >= 0 AND w < 8589934592) IS NOT TRUE))', extension) END,
		-- The type of the items in the roll-up. If the expression has another type by now, its values are cast to
		-- this one, or an error is raised.
		(SELECT format('%I.%I', n.nspname, t.typname) FROM pg_attribute a JOIN pg_type l ON l.oid = a.atttypid JOIN pg_type t ON t.oid = l.typelem JOIN pg_namespace n ON n.oid = t.typnamespace
			WHERE a.attrelid = rollup AND a.attname = 'hot'),
		CASE WHEN cardinality(def.group_columns) > 0 THEN ', 4' END);
END $$;
COMMENT ON FUNCTION _tbf_rollup_items(regclass, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh() and tbf_rollup_compare(): a query of the items that the source has';

-- Counts the hits of the source from lo to before hi, except hits from the future. lo and hi are starts of buckets.
-- Returns by how many hits the roll-up has grown. A new row that has all hits of its bucket and group is marked as
-- closed if the bucket ends at the time `closing` or earlier. The function takes a lock, so that only one session at a
-- time changes the roll-up. REQUIRES: the isolation level is READ COMMITTED, so that the statement after the lock sees
-- what the previous holder of the lock has written.
CREATE FUNCTION _tbf_rollup_step(rollup regclass, lo timestamptz, hi timestamptz, closing timestamptz) RETURNS double precision
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
	SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' SET lc_numeric = 'C' SET lc_time = 'C' SET enable_nestloop = off SET enable_sort = off SET jit = off SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record;
	items text;
	place text;
	counted double precision;
BEGIN
	EXECUTE format('SELECT pg_advisory_xact_lock((%L::regclass::oid::bigint << 32) | %s)', extension || '.tbf_rollup', rollup::oid);
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	-- The query of a view may need a sort of its own (ORDER BY ... LIMIT for each row), so for a view sorts are on
	-- again.
	PERFORM set_config('enable_sort', 'on', true) FROM pg_class WHERE oid = def.source AND relkind = 'v';
	EXECUTE format('SELECT %1$s._tbf_rollup_items($1, $2, $3), %1$s._tbf_rollup_table($1)', extension) INTO items, place USING rollup, lo, hi;
	EXECUTE format($sql$
		WITH stored AS MATERIALIZED (
			SELECT ctid AS id, tier, starts, groups, newest, hits, closed, f, hot, hot_hits, hot_over, hot_rest FROM %1$s WHERE starts >= $1 AND starts < $2
		), latest AS MATERIALIZED (
			SELECT max(newest) AS newest FROM stored
		), bucket AS MATERIALIZED (
			SELECT b.*, i.layout = 'exact' AS exact
			FROM (SELECT tier, starts, groups, count(*) AS rows, sum(hits) AS hits, sum(hot_rest) AS rest, bool_and(closed) AS closed, %2$s.tbf_merge_agg(f) AS f FROM stored GROUP BY tier, starts, groups) b, %2$s.tbf_info(b.f) i
		), filter AS MATERIALIZED (
			-- the single filters of the buckets whose merged filter has counters
			SELECT s.tier, s.starts, s.groups, s.f, i.layout = 'exact' AS exact FROM bucket b JOIN stored s USING (tier, starts, groups), %2$s.tbf_info(s.f) i WHERE NOT b.exact
		), item AS MATERIALIZED (%3$s
		), compared AS MATERIALIZED (
			-- before: how many hits of the item the filters of its bucket and group count together. certain: how many
			-- of them the exact filters count; null if the merged filter is exact, or if there is no filter yet. fresh:
			-- new hits.
			SELECT *, greatest(old - before, 0) + n - old AS fresh FROM (
				SELECT i.tier, i.starts, i.groups, i.item, i.n, i.old, i.oldest, i.newest, coalesce(%2$s.tbf_count(b.f, i.item), 0) AS before, NULL::double precision AS certain, true AS exact
				FROM item i LEFT JOIN bucket b USING (tier, starts, groups) WHERE b.exact IS NOT FALSE
				UNION ALL
				SELECT i.tier, i.starts, i.groups, i.item, i.n, i.old, i.oldest, i.newest, sum(%2$s.tbf_count(f.f, i.item)),
					coalesce(sum(%2$s.tbf_count(f.f, i.item)) FILTER (WHERE f.exact), 0), bool_and(f.exact)
				FROM item i JOIN filter f USING (tier, starts, groups)
				GROUP BY i.tier, i.starts, i.groups, i.item, i.n, i.old, i.oldest, i.newest) s
		), span AS MATERIALIZED (
			SELECT tier, starts, groups, bool_and(exact) AS exact, sum(least(old, before)) AS covered, sum(fresh) AS new, max(newest) AS newest, sum(n - fresh) AS counted FROM compared GROUP BY tier, starts, groups
		), verdict AS MATERIALIZED (
			-- whole: the new row gets all hits of the bucket, and replaces its rows. This is so if there are no rows
			-- yet. It is also so if the bucket is to be closed, its counts are exact, and the source still has all hits
			-- that they count. Otherwise the new row gets the new hits only.
			SELECT tier, starts, groups, ends, closing, c.exact, b.rows IS NULL OR closing AND c.exact AND covered >= b.hits AS whole, b.hits AS of_bucket, b.rest AS rest_of_bucket
			FROM (SELECT *, %4$s AS ends, (%4$s) <= $3 AS closing FROM span) c
				LEFT JOIN bucket b USING (tier, starts, groups)
			WHERE new > 0 OR closing AND c.exact AND covered >= b.hits AND NOT (b.closed AND b.rows = 1)
		), gone AS (
			DELETE FROM %1$s r USING verdict v WHERE v.whole AND r.starts >= $1 AND r.starts < $2 AND r.tier = v.tier AND r.starts = v.starts AND r.groups = v.groups
			RETURNING r.hits
		),
		-- A filter with counters may count an item too high, so that a new hit of the item seems to be counted already.
		-- No new row has such a hit: the row with the filter stands for it. So the newest time of this row must not be
		-- before the hit, its hits must include the hit, and the bounds of its list must leave room for it. If a bucket
		-- has several such rows of one group, the first one gets the hits and the room.
		-- The same holds for an exact filter that knows another item with the same 48 bits of hash. Then an item may have
		-- more hits there (twin) than all lists leave to one that they do not have.
		twin AS MATERIALIZED (
			SELECT c.*, least(old, before) AS needed FROM compared c JOIN (SELECT tier, starts, groups, sum(hot_rest) AS rest FROM stored GROUP BY tier, starts, groups) s USING (tier, starts, groups)
			WHERE exact AND least(old, before) > rest
		), rough AS MATERIALIZED (
			SELECT s.*, i.layout = 'exact' AS exact, row_number() OVER (PARTITION BY tier, starts, groups ORDER BY hits DESC, id) = 1 AS first FROM stored s, %2$s.tbf_info(s.f) i
			WHERE i.layout <> 'exact' OR (tier, starts, groups) IN (SELECT tier, starts, groups FROM twin)
		), room AS MATERIALIZED (
			-- The rows of rough may stand for more hits of an item than the bounds of their lists allow. over: the
			-- largest excess for an item in the list of the first row. rest: the largest excess for another item.
			SELECT o.tier, o.starts, o.groups, max(needed - rest) FILTER (WHERE listed) AS over, max(needed - rest) FILTER (WHERE NOT listed) AS rest
			FROM (SELECT tier, starts, groups, item, sum(needed) AS needed, bool_or(listed) AS listed
				FROM (SELECT tier, starts, groups, item, least(old, before) - certain AS needed, false AS listed FROM compared WHERE NOT exact
					UNION ALL SELECT tier, starts, groups, item, needed, false FROM twin
					UNION ALL SELECT tier, starts, groups, u.item%7$s, hot_rest - hot_over - u.hits, first FROM rough, unnest(hot, hot_hits) u(item, hits)) s
				GROUP BY tier, starts, groups, item) o
				JOIN (SELECT tier, starts, groups, sum(hot_rest) AS rest FROM rough GROUP BY tier, starts, groups) r USING (tier, starts, groups)
			GROUP BY o.tier, o.starts, o.groups
		), wider AS MATERIALIZED (
			SELECT r.id, r.starts, greatest(r.newest, n.newest) AS newest, CASE WHEN first THEN greatest(n.counted - b.hits, 0) ELSE 0 END AS hits,
				CASE WHEN first THEN greatest(m.over, 0) ELSE 0 END AS over, CASE WHEN first THEN greatest(m.rest, 0) ELSE 0 END AS rest, r.newest AS newest_before
			FROM rough r JOIN span n USING (tier, starts, groups) JOIN bucket b USING (tier, starts, groups) JOIN room m USING (tier, starts, groups)
			WHERE NOT r.exact OR m.over > 0 OR m.rest > 0
		), widened AS (
			UPDATE %1$s r SET oldest = r.starts, newest = w.newest, hits = r.hits + w.hits, hot_over = r.hot_over + w.over, hot_rest = r.hot_rest + w.rest FROM wider w
			WHERE r.ctid = w.id AND r.starts >= $1 AND r.starts < $2 AND (w.newest > w.newest_before OR w.hits > 0 OR w.over > 0 OR w.rest > 0)
		), difference AS (
			SELECT c.*, v.ends, v.closing, v.whole, v.of_bucket, v.rest_of_bucket, CASE WHEN v.whole THEN n ELSE fresh END AS d
			FROM compared c JOIN verdict v USING (tier, starts, groups) WHERE v.whole OR fresh > 0
		), ranked AS MATERIALIZED (
			-- A row that is not whole is a piece of its bucket; each refresh that finds new hits adds one. The list of
			-- a whole row has the first `top` items, a setting of the roll-up. The list of a piece has the first five
			-- items, and those of the first top / 20 that have more than 1.5 times the mean number of hits. An item of
			-- these is left out again if an item that is not among them has as many hits or more. Items longer than
			-- 1,000 bytes are not listed. A piece has no list at all if its bucket is over (some bucket of this step
			-- has newer hits) and the piece has less than a thousandth of the hits of the bucket. Without a list, the
			-- bounds of answers about the bucket become wider by the most hits that an item has in the piece. Before
			-- the sum of these numbers comes to a twentieth of the hits of the bucket, pieces have lists again.
			SELECT *, likely AND (whole OR d > coalesce(unlisted, 0)
				AND (ends > (SELECT newest FROM latest) OR 1000 * of_piece >= of_bucket OR 20 * (rest_of_bucket + most) >= of_bucket)) AS listed FROM (SELECT *, max(d) FILTER (WHERE NOT likely) OVER (PARTITION BY tier, starts, groups) AS unlisted
			FROM (SELECT *, length < 1001 AND place <= CASE WHEN whole THEN $4 WHEN d > 1.5 * mean THEN greatest(least($4, 5), $4 / 20) ELSE least($4, 5) END AS likely
			FROM (SELECT *, row_number() OVER (PARTITION BY tier, starts, groups ORDER BY (length < 1001) DESC, d DESC, item::text) AS place, avg(d) OVER (PARTITION BY tier, starts, groups) AS mean, sum(d) OVER (PARTITION BY tier, starts, groups) AS of_piece, max(d) OVER (PARTITION BY tier, starts, groups) AS most
				FROM (SELECT *, octet_length(item::text) AS length FROM difference) s) s) s) s
		), list AS (
			SELECT tier, starts, groups, ends, whole AND closing AS closed, min(oldest) AS oldest, max(newest) AS newest, sum(d) AS hits,
				array_agg(item ORDER BY d DESC, item::text) FILTER (WHERE listed) AS hot, array_agg(d ORDER BY d DESC, item::text) FILTER (WHERE listed) AS hot_hits,
				coalesce(max(d) FILTER (WHERE listed IS NOT TRUE), 0) AS hot_rest
			FROM ranked GROUP BY tier, starts, groups, ends, whole, closing
		), filled AS (
			SELECT tier, starts, groups, %2$s.tbf_agg(item, NULL::timestamptz, NULL::interval, %5$s) AS f FROM ranked %6$s GROUP BY tier, starts, groups
		), made AS (
			INSERT INTO %1$s (tier, starts, ends, closed, groups, oldest, newest, hits, f, hot, hot_hits, hot_over, hot_rest)
			SELECT tier, starts, ends, closed, groups, CASE layout WHEN 'exact' THEN l.oldest ELSE starts END, CASE layout WHEN 'exact' THEN l.newest ELSE s.newest END, hits, f,
				%2$s._tbf_rollup_packed(coalesce(hot, '{}')), %2$s._tbf_rollup_packed(coalesce(hot_hits, '{}')), 0, hot_rest
			FROM list l JOIN filled USING (tier, starts, groups) JOIN span s USING (tier, starts, groups), LATERAL (SELECT layout FROM %2$s.tbf_info(f)) i
			-- The largest row is inserted first. As a rule it begins a new page, and PostgreSQL then inserts the small
			-- rows of late hits there too, not into older pages that have room. An older page that is changed goes into
			-- the WAL as a whole at its first change after a checkpoint.
			ORDER BY hits DESC
			RETURNING hits
		)
		SELECT coalesce((SELECT sum(hits) FROM made), 0) - coalesce((SELECT sum(hits) FROM gone), 0) + coalesce((SELECT sum(hits) FROM wider), 0)$sql$,
		place, extension, items,
		(SELECT ' CASE tier ' || string_agg(format('WHEN %s THEN %s._tbf_rollup_bucket_end(starts, %L, %L)', n, extension, t, def.zone), ' ') || ' END' FROM unnest(def.tiers) WITH ORDINALITY u(t, n)),
		-- tbf_agg() takes only weights below 2^33, and a sum of weights may be larger. So the sum is added in parts of
		-- at most 2^32.
		CASE WHEN def.weight IS NULL THEN 'd' ELSE 'least(d - p * 4294967296, 4294967296)' END,
		CASE WHEN def.weight IS NULL THEN '' ELSE 'CROSS JOIN LATERAL generate_series(0, ceil(d / 4294967296)::integer - 1) p' END,
		-- The lists have the collation of the column hot. The items of the source may have another one, so it has to be
		-- named.
		(SELECT format(' COLLATE %I.%I', c.collnamespace::regnamespace, c.collname) FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation WHERE a.attrelid = rollup AND a.attname = 'hot'))
		INTO counted USING lo, hi, closing, def.top;
	RETURN counted;
END $$;
COMMENT ON FUNCTION _tbf_rollup_step(regclass, timestamptz, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh(): counts what is new in some buckets';

-- Returns rows of open buckets that start at lo or later. The returned rows of a bucket and group are to become one
-- row. They have exact filters, and each has at most an eighth of the hits of its bucket and group. The rows with the
-- fewest items come first, as many of them as one exact filter can hold (65,536 items). With more items the new filter
-- would have counters, which may count too high, so that late hits would seem to be counted already. A row that would
-- be alone is not returned. number: how many rows of this bucket and group are returned.
CREATE FUNCTION _tbf_rollup_pieces(rollup regclass, lo timestamptz) RETURNS TABLE (id tid, tier smallint, starts timestamptz, ends timestamptz, number bigint)
	LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
BEGIN
	RETURN QUERY EXECUTE format($sql$
		SELECT id, tier, starts, ends, number FROM (SELECT *, count(*) OVER (PARTITION BY tier, starts, groups) AS number FROM (
			SELECT p.*, sum(cardinality) OVER (PARTITION BY tier, starts, groups ORDER BY cardinality, id ROWS UNBOUNDED PRECEDING) AS items
			FROM (SELECT ctid AS id, tier, starts, ends, groups, f, hits, sum(hits) OVER (PARTITION BY tier, starts, groups) AS all_hits FROM %1$s WHERE starts >= $1 AND NOT closed) p, %2$s.tbf_info(f)
			WHERE 8 * hits <= all_hits AND layout = 'exact') s
			WHERE items <= 65536) t
		WHERE number > 1$sql$, rollup, extension) USING lo;
END $$;
COMMENT ON FUNCTION _tbf_rollup_pieces(regclass, timestamptz) IS 'implementation of tbf_rollup_refresh(): small rows of open buckets';

-- Replaces rows of from_tier that start from lo to before hi by one row for each group, whose bucket is from lo to hi.
-- to_tier: the tier of the new rows, which is the next one or the same. If it is the same, only groups with a row that
-- is not closed are replaced. pieces: if true, only the rows that _tbf_rollup_pieces() returns of the open bucket that
-- starts at lo are replaced. The new rows have exactly the hits of the old ones. REQUIRES: the lock of
-- _tbf_rollup_step().
CREATE FUNCTION _tbf_rollup_fold(rollup regclass, from_tier integer, lo timestamptz, hi timestamptz, to_tier integer, pieces boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record;
	place text;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	EXECUTE format('SELECT %s._tbf_rollup_table($1)', extension) INTO place USING rollup;
	EXECUTE format($sql$
		WITH gone AS (
			-- Where clocks are put back by half an hour, the next bucket starts before this one ends, so starts = lo is
			-- asked.
			DELETE FROM %1$s r WHERE tier = $1 AND starts >= $2 AND starts < $3
				AND CASE WHEN $6 THEN starts = $2 AND ctid IN (SELECT id FROM %2$s._tbf_rollup_pieces($7, $2))
					ELSE $1 <> $4 OR starts = $2 AND groups IN (SELECT o.groups FROM %1$s o WHERE o.tier = $1 AND o.starts = $2 AND NOT o.closed) END
			RETURNING *
		), merged AS MATERIALIZED (
			SELECT groups, min(oldest) AS oldest, max(newest) AS newest, sum(hits) AS hits, %2$s.tbf_merge_agg(f) AS f, sum(hot_rest) AS rest FROM gone GROUP BY groups
		), known AS MATERIALIZED (
			SELECT m.*, i.layout = 'exact' AS exact, i.cardinality FROM merged m, %2$s.tbf_info(m.f) i
		), old AS MATERIALIZED (
			SELECT g.starts, g.groups, g.hits, g.f, g.hot, g.hot_hits, g.hot_over, g.hot_rest, i.layout = 'exact' AS exact, i.cardinality, row_number() OVER () AS number
			FROM gone g, %2$s.tbf_info(g.f) i
		), candidate AS MATERIALIZED (
			-- Each item of the lists, with the rows that list it and its hits there. GROUP BY finds the operator = of
			-- the type by itself. An operator that is written here would be looked up in search_path, which may lack
			-- the schema of the type.
			SELECT row_number() OVER () AS id, c.*
			FROM (SELECT o.groups, u.item, array_agg(o.number) AS numbers, array_agg(u.hits) AS hits FROM old o, unnest(o.hot, o.hot_hits) u(item, hits) GROUP BY o.groups, u.item) c
		), counted AS MATERIALIZED (
			SELECT c.id, c.groups, c.item, k.exact, %2$s.tbf_count(k.f, c.item) AS merged FROM candidate c JOIN known k USING (groups)
		), part AS MATERIALIZED (
			-- The counts are taken here, before the joins and sorts below, which would copy a whole filter for each
			-- item.
			SELECT c.id, c.groups, c.item, c.merged, o.number, o.starts, o.exact, %2$s.tbf_count(o.f, c.item) AS n, o.hot_over, o.hot_rest
			FROM counted c JOIN old o USING (groups) WHERE NOT c.exact
		), listed AS MATERIALIZED (
			SELECT c.id, u.number, u.hits FROM candidate c, unnest(c.numbers, c.hits) u(number, hits)
		), bounded AS MATERIALIZED (
			SELECT groups, item, merged AS low, merged AS high FROM counted WHERE exact
			UNION ALL
			-- If the merged filter has counters, its count may be too high. The old rows give a lower bound, and
			-- perhaps a closer upper bound: in each bucket the lesser of two sums, that of the counts and that of the
			-- bounds of the lists. (The lesser of the two in each row might be too low: if a bucket has several rows
			-- with counters, only the list of the first one has room for the hits that the others stand for.)
			SELECT groups, c.item, sum(low), least(sum(least(counts, bounds)), min(merged))
			FROM (SELECT groups, id, min(merged) AS merged, sum(n) AS counts, sum(CASE WHEN exact THEN n ELSE coalesce(hits, 0) END) AS low,
					sum(CASE WHEN exact THEN n ELSE coalesce(hits + hot_over, hot_rest) END) AS bounds
				FROM part LEFT JOIN listed USING (id, number) GROUP BY groups, id, starts) s
				JOIN candidate c USING (id, groups)
			GROUP BY groups, id, c.item
		), ranked AS (
			SELECT *, row_number() OVER (PARTITION BY groups ORDER BY low DESC, item::text) AS place FROM bounded
		), list AS (
			SELECT groups, array_agg(item) AS candidates, array_agg(item ORDER BY place) FILTER (WHERE place <= $5) AS hot, array_agg(low ORDER BY place) FILTER (WHERE place <= $5) AS hot_hits,
				coalesce(max(high - low) FILTER (WHERE place <= $5), 0) AS hot_over, coalesce(max(high) FILTER (WHERE place > $5), 0) AS rest
			FROM ranked GROUP BY groups
		),
		-- The most hits of an item that is in no list. For a row with counters it is hot_rest; an exact filter tells it
		-- itself. If the merged filter has counters, the exact filters of the old rows are merged in several parts,
		-- here called heaps. A heap has fewer than 65,536 items, so that its filter is exact. An exact filter of more
		-- than 32,768 items is a heap of its own.
		heap AS (
			SELECT groups, sum(hot_rest) AS rest, %2$s.tbf_merge_agg(f) AS f
			FROM (SELECT o.groups, o.f, o.hot_rest, CASE WHEN o.exact AND o.cardinality <= 32768
					THEN ceil(sum(o.cardinality) FILTER (WHERE o.exact AND o.cardinality <= 32768) OVER (PARTITION BY o.groups ORDER BY o.starts, o.hits ROWS UNBOUNDED PRECEDING) / 32768)
					ELSE -o.number END AS heap
				FROM old o JOIN known k USING (groups) WHERE NOT k.exact) s
			GROUP BY groups, heap
			UNION ALL SELECT groups, rest, f FROM known WHERE exact
		), unlisted AS (
			SELECT h.groups, sum(least(h.rest, %2$s._tbf_rollup_unlisted(h.f, coalesce(l.candidates, '{}')))) AS rest FROM heap h LEFT JOIN list l USING (groups) GROUP BY h.groups
		)
		INSERT INTO %1$s (tier, starts, ends, closed, groups, oldest, newest, hits, f, hot, hot_hits, hot_over, hot_rest)
		SELECT $4, $2, $3, NOT $6, groups, CASE WHEN k.exact THEN k.oldest ELSE $2 END, k.newest, k.hits, k.f,
			%2$s._tbf_rollup_packed(coalesce(l.hot, '{}')), %2$s._tbf_rollup_packed(coalesce(l.hot_hits, '{}')), coalesce(l.hot_over, 0),
			greatest(coalesce(l.rest, 0), u.rest)
		FROM known k LEFT JOIN list l USING (groups) JOIN unlisted u USING (groups)$sql$, place, extension)
		USING from_tier, lo, hi, to_tier, def.top, pieces, rollup;
END $$;
COMMENT ON FUNCTION _tbf_rollup_fold(regclass, integer, timestamptz, timestamptz, integer, boolean) IS 'implementation of tbf_rollup_refresh(): folds rows into one of the next tier, or several of a bucket into one';

-- One step of a refresh, for a transaction of its own. tbf_rollup_refresh() repeats the step until done is true, with
-- the goal and place of the step before. goal: the time up to which this refresh counts; null in the first step.
-- place: the time up to which it has counted; infinity if only closing, gathering and folding are left.
CREATE FUNCTION _tbf_rollup_work(rollup regclass, from_time timestamptz, to_time timestamptz, INOUT goal timestamptz, INOUT place timestamptz, OUT done boolean)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record;
	ordinary CONSTANT boolean := from_time IS NULL AND to_time IS NULL;
	bucket_start CONSTANT text := format('SELECT %s._tbf_rollup_bucket_start($1, $2, $3)', extension);
	bucket_end CONSTANT text := format('SELECT %s._tbf_rollup_bucket_end($1, $2, $3)', extension);
	-- Earlier hits are not counted: see _tbf_rollup_before().
	earliest CONSTANT timestamptz := '4712-01-01 00:00 UTC BC';
	before CONSTANT text := format('SELECT %s._tbf_rollup_before($1, $2)', extension);
	asked text;
	first timestamptz;
	target timestamptz;
	lo timestamptz;
	hi timestamptz;
	closing timestamptz;
	tier integer := 1;
	tiers integer;
	empty boolean;
	many_pieces CONSTANT integer := 60;
	few_pieces CONSTANT integer := 4;
	gathered boolean;
	number bigint;
BEGIN
	done := false;
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'a roll-up is refreshed in transactions of the level READ COMMITTED' USING ERRCODE = 'invalid_transaction_state',
			HINT = 'CALL tbf_rollup_refresh(), which sees to that.';
	END IF;
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	EXECUTE format('SELECT pg_advisory_xact_lock((%L::regclass::oid::bigint << 32) | %s)', extension || '.tbf_rollup', rollup::oid);
	-- Reads the definition again: another session may have changed it while this one waited for the lock.
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	tiers := cardinality(def.tiers);
	IF NOT EXISTS (SELECT FROM pg_class WHERE oid = def.source) THEN
		RAISE EXCEPTION 'the source of the roll-up does not exist any more' USING ERRCODE = 'undefined_table',
			HINT = 'What was counted can still be asked. To count another table, change the column source of its row in tbf_rollup.';
	END IF;
	IF goal IS NULL THEN
		EXECUTE format('SELECT %s._tbf_rollup_no_row_security($1)', extension) USING def.source;
	END IF;
	SELECT CASE WHEN atttypid = 'timestamp'::regtype THEN format('(SELECT %I AT TIME ZONE ''UTC'' AS at FROM %s WHERE %1$I >= greatest($1, %3$L) AT TIME ZONE ''UTC'' AND %1$I <= $2 AT TIME ZONE ''UTC'') s', def.time_column, def.source, earliest)
			ELSE format('(SELECT %I AS at FROM %s WHERE %1$I >= greatest($1, %3$L) AND %1$I <= $2) s', def.time_column, def.source, earliest) END
		INTO asked FROM pg_attribute WHERE attrelid = def.source AND attname = def.time_column AND NOT attisdropped AND atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype);
	IF NOT FOUND THEN
		RAISE EXCEPTION '% has no column % with the time of a hit', def.source, quote_ident(def.time_column) USING ERRCODE = 'undefined_column',
			HINT = 'If the column has another name or type now, change time_column in the row of the roll-up in tbf_rollup, or make the roll-up anew.';
	END IF;

	EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', rollup) INTO empty;
	IF empty AND def.filled THEN
		-- TRUNCATE or DELETE has taken all rows.
		EXECUTE format('UPDATE %s.tbf_rollup r SET counted_to = NULL, open_from = ''-infinity'', filled = false WHERE r.rollup = $1', extension) USING rollup;
		def.counted_to := NULL;
		place := CASE WHEN goal IS NOT NULL AND ordinary THEN '-infinity' ELSE place END;
	END IF;

	-- up to when (goal), and from when (place)
	IF goal IS NULL THEN
		IF ordinary THEN
			EXECUTE before INTO place USING def.counted_to, def.lateness;
			place := coalesce(place, '-infinity');
		ELSE
			place := CASE WHEN from_time < earliest THEN '-infinity' ELSE coalesce(from_time, '-infinity') END;
		END IF;
		EXECUTE format('SELECT max(at) FROM %s', asked) INTO goal USING place, clock_timestamp();
		IF NOT ordinary THEN
			goal := CASE WHEN to_time < earliest THEN '-infinity' ELSE least(coalesce(goal, '-infinity'), to_time) END;
		END IF;
		IF ordinary THEN
			goal := greatest(goal, def.counted_to);
		END IF;
		IF goal IS NULL THEN
			done := true;
			RETURN;
		END IF;
		IF ordinary AND empty THEN
			-- In the first refresh, old hits are counted in the tier to which their age belongs, without being folded
			-- from one tier to the next. So folded is set first.
			FOR i IN 1 .. tiers LOOP
				IF isfinite(def.keep[i]) THEN
					EXECUTE before INTO target USING goal, greatest(def.keep[i], def.lateness);
					EXECUTE bucket_start INTO target USING least(target, def.folded[i - 1]), def.tiers[least(i + 1, tiers)], def.zone;
					def.folded[i] := greatest(def.folded[i], target);
				END IF;
			END LOOP;
			EXECUTE format('UPDATE %s.tbf_rollup r SET folded = $2 WHERE r.rollup = $1 AND folded <> $2', extension) USING rollup, def.folded;
		END IF;
		IF isfinite(place) THEN
			WHILE tier < tiers AND place < def.folded[tier] LOOP
				tier := tier + 1;
			END LOOP;
			EXECUTE bucket_start INTO place USING place, def.tiers[tier], def.zone;
		END IF;
	END IF;
	EXECUTE before INTO closing USING CASE WHEN ordinary THEN goal ELSE coalesce(def.counted_to, '-infinity') END, def.lateness;

	-- counting
	IF place < 'infinity' THEN
		place := greatest(place, def.folded[tiers]);
		-- The next day is searched first: then a source with partitions by time, but without an index on the time, is
		-- not read to its end in each step.
		IF isfinite(place) AND place < goal - interval '1 day' THEN
			EXECUTE format('SELECT min(at) FROM %s', asked) INTO first USING place, place + interval '1 day';
		END IF;
		IF first IS NULL THEN
			EXECUTE format('SELECT min(at) FROM %s', asked) INTO first USING place, goal;
		END IF;
		IF first IS NULL OR NOT ordinary AND first >= to_time THEN
			place := 'infinity';
			RETURN;
		END IF;
		tier := 1;
		WHILE tier < tiers AND first < def.folded[tier] LOOP
			tier := tier + 1;
		END LOOP;
		-- A step counts an hour of minutes, a day of hours, or one bucket of another tier.
		EXECUTE bucket_start INTO lo USING first, def.tiers[tier], def.zone;
		EXECUTE bucket_start INTO hi USING first, CASE def.tiers[tier] WHEN 'minute' THEN 'hour' WHEN 'hour' THEN 'day' ELSE def.tiers[tier] END, def.zone;
		EXECUTE bucket_end INTO hi USING hi, CASE def.tiers[tier] WHEN 'minute' THEN 'hour' WHEN 'hour' THEN 'day' ELSE def.tiers[tier] END, def.zone;
		EXECUTE format('SELECT %s._tbf_rollup_step($1, $2, $3, $4)', extension) USING rollup, lo, hi, closing;
		EXECUTE format('UPDATE %1$s.tbf_rollup r SET counted_to = greatest(counted_to, $2), open_from = least(open_from, $3), filled = f FROM (SELECT EXISTS (SELECT FROM %2$s)) s(f)
			WHERE r.rollup = $1 AND ($2 > counted_to OR $2 IS NOT NULL AND counted_to IS NULL OR open_from > $3 OR filled <> f)', extension, rollup)
			USING rollup, CASE WHEN ordinary THEN least(goal, hi) END, lo;
		place := CASE WHEN hi > goal THEN 'infinity' ELSE hi END;
		RETURN;
	END IF;

	-- closing: makes one closed row (for each group) of the rows of a bucket. It does not read the source, so hits
	-- that the source no longer has stay counted.
	EXECUTE format('SELECT starts FROM %s WHERE starts >= $1 AND NOT closed ORDER BY starts LIMIT 1', rollup) INTO first USING def.open_from;
	EXECUTE format('SELECT tier, starts, ends FROM %s WHERE starts >= $2 AND NOT closed AND ends <= $1 ORDER BY starts, ends LIMIT 1', rollup) INTO tier, lo, hi USING closing, first;
	IF lo IS NOT NULL THEN
		EXECUTE format('SELECT %s._tbf_rollup_fold($1, $2, $3, $4, $2)', extension) USING rollup, tier, lo, hi;
		EXECUTE format('UPDATE %s.tbf_rollup r SET open_from = $2 WHERE r.rollup = $1 AND open_from < $2', extension) USING rollup, first;
		RETURN;
	END IF;

	-- Gathering: a piece is a row that has only some hits of its bucket and group. When an open bucket has many pieces
	-- of one group, the small pieces of all open buckets of the last days are replaced by fewer rows. A refresh writes
	-- pieces of the current bucket, and of buckets of late hits, into the same pages. So all these pieces are replaced
	-- in one step. Otherwise each bucket that is closed would change these pages again, and a full image of them would
	-- be written to the WAL each time.
	IF ordinary THEN
		-- Counting the rows of open buckets is cheap. In most refreshes no open bucket has 60 rows of one group, and
		-- then nothing else is read. Filters of 64 kB and more are not counted: their rows are gathered already, or
		-- have so many items that one exact filter can hold the items of only a few such rows.
		-- In the last tenth of the current bucket, gathering waits for 120 pieces instead of 60. So a log that is
		-- refreshed each minute is gathered just after a bucket was closed, if the lateness is a whole number of
		-- buckets. Closing and gathering delete rows from the same pages, and so there is less often a checkpoint
		-- between the two.
		EXECUTE bucket_start INTO lo USING goal, def.tiers[1], def.zone;
		EXECUTE bucket_end INTO hi USING lo, def.tiers[1], def.zone;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE starts >= $1 AND NOT closed AND pg_column_size(f) < 65536 GROUP BY tier, starts, groups HAVING count(*) >= $2)', rollup)
			INTO gathered USING closing - interval '2 days', CASE WHEN hi - goal > (hi - lo) / 10 THEN many_pieces ELSE 2 * many_pieces END;
		IF gathered THEN
			gathered := false;
			FOR tier, lo, hi IN EXECUTE format('SELECT tier, starts, ends FROM %s._tbf_rollup_pieces($1, $2) GROUP BY tier, starts, ends', extension)
					USING rollup, closing - interval '2 days' LOOP
				-- If the pieces have more items than one exact filter can hold, they become several rows.
				LOOP
					EXECUTE format('SELECT %s._tbf_rollup_fold($1, $2, $3, $4, $2, pieces => true)', extension) USING rollup, tier, lo, hi;
					gathered := true;
					EXECUTE format('SELECT coalesce(max(number), 0) FROM %s._tbf_rollup_pieces($1, $2) p WHERE p.tier = $3 AND p.starts = $2', extension) INTO number USING rollup, lo, tier;
					EXIT WHEN number < few_pieces;
				END LOOP;
			END LOOP;
		END IF;
		IF gathered THEN
			RETURN;
		END IF;
	END IF;

	-- folding
	IF ordinary THEN
		FOR i IN 1 .. tiers LOOP
			CONTINUE WHEN def.keep[i] IS NULL;
			EXECUTE before INTO target USING goal, greatest(def.keep[i], def.lateness);
			-- A tier is never folded further than the tier before it. Values of `keep` that rise from tier to tier do
			-- not ensure this. PostgreSQL compares intervals as if each month had 30 days, so the time that lies a
			-- larger `keep` before the goal may be the later one.
			EXECUTE bucket_start INTO target USING least(target, def.folded[i - 1]), def.tiers[least(i + 1, tiers)], def.zone;
			CONTINUE WHEN def.folded[i] >= target;
			IF i = tiers THEN
				EXECUTE format('DELETE FROM %s WHERE tier = $1 AND starts < $2', rollup) USING i, target;
				EXECUTE format('UPDATE %s.tbf_rollup r SET filled = EXISTS (SELECT FROM %s) WHERE r.rollup = $1', extension, rollup) USING rollup;
			ELSE
				EXECUTE format('SELECT min(starts) FROM %s WHERE tier = $1 AND starts < $2', rollup) INTO lo USING i, target;
				IF lo IS NOT NULL THEN
					EXECUTE bucket_start INTO lo USING lo, def.tiers[i + 1], def.zone;
					EXECUTE bucket_end INTO target USING lo, def.tiers[i + 1], def.zone;
					EXECUTE format('SELECT %s._tbf_rollup_fold($1, $2, $3, $4, $5)', extension) USING rollup, i, lo, target, i + 1;
				END IF;
			END IF;
			def.folded[i] := target;
			EXECUTE format('UPDATE %s.tbf_rollup r SET folded = $2 WHERE r.rollup = $1', extension) USING rollup, def.folded;
			RETURN;
		END LOOP;
		-- open_from becomes the start of the first open row. If no row is open, it becomes the start of the bucket of
		-- the newest hit; a step that counts earlier hits sets it back.
		EXECUTE bucket_start INTO target USING goal, def.tiers[1], def.zone;
		EXECUTE format('UPDATE %s.tbf_rollup r SET counted_to = greatest(counted_to, $2), open_from = greatest(open_from, $3)
			WHERE r.rollup = $1 AND ((counted_to >= $2) IS NOT TRUE OR open_from < $3)', extension) USING rollup, goal, coalesce(first, target);
	END IF;
	EXECUTE format('UPDATE %s.tbf_rollup r SET last_error = NULL, last_error_at = NULL WHERE r.rollup = $1 AND last_error IS NOT NULL', extension) USING rollup;
	done := true;
END $$;
COMMENT ON FUNCTION _tbf_rollup_work(regclass, timestamptz, timestamptz, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh(): one step';

-- A procedure with a SET clause cannot commit. So this one sets search_path in each transaction, before it uses names
-- without a schema.
CREATE PROCEDURE tbf_rollup_refresh(rollup regclass, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	extension pg_catalog.text;
	goal pg_catalog.timestamptz;
	place pg_catalog.timestamptz;
	done pg_catalog.bool := false;
	failed pg_catalog.text;
	message pg_catalog.text;
	detail pg_catalog.text;
	hint pg_catalog.text;
BEGIN
	IF pg_catalog.pg_is_in_recovery() THEN
		RAISE EXCEPTION 'recovery is in progress' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Refresh the roll-up on the primary server.';
	END IF;
	-- Loads the library, which gives the error of a COMMIT within a transaction block its hint (hints.c).
	extension := (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n
		ON n.oid OPERATOR(pg_catalog.=) e.extnamespace WHERE e.extname OPERATOR(pg_catalog.=) 'streambloom');
	EXECUTE pg_catalog.format('SELECT %s._tbf_rollup_packed(''{}''::pg_catalog.int4[])', extension);
	EXECUTE pg_catalog.format('SELECT %s._tbf_rollup_own_definition($1)', extension) USING rollup;
	IF pg_catalog.current_setting('transaction_read_only')::pg_catalog.bool THEN
		RAISE EXCEPTION 'cannot refresh roll-up % in a read-only transaction', rollup USING ERRCODE = 'read_only_sql_transaction', HINT = 'SET default_transaction_read_only = off.';
	END IF;
	LOOP
		-- No expression may stand between these two statements: it might take a snapshot, and after that the
		-- isolation level cannot be set.
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
		extension := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
		BEGIN
			EXECUTE format('SELECT * FROM %s._tbf_rollup_work($1, $2, $3, $4, $5)', extension) INTO goal, place, done USING rollup, from_time, to_time, goal, place;
		EXCEPTION WHEN query_canceled OR OTHERS THEN
			GET STACKED DIAGNOSTICS failed = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		END;
		IF failed IS NOT NULL THEN
			-- The definition keeps the error, unless the caller is not the owner, or
			-- another session has locked the row or the table: a session that was canceled must end soon.
			IF EXISTS (SELECT FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner WHERE c.oid = rollup AND o.rolname = current_user) THEN
				PERFORM set_config('lock_timeout', '100ms', true);
				BEGIN
					EXECUTE format('UPDATE %s.tbf_rollup r SET last_error = $2, last_error_at = now()
						WHERE r.rollup = (SELECT l.rollup FROM %1$s.tbf_rollup l WHERE l.rollup = $1 FOR NO KEY UPDATE SKIP LOCKED) AND last_error IS DISTINCT FROM $2', extension) USING rollup, message;
				EXCEPTION WHEN lock_not_available OR query_canceled THEN NULL;
				END;
				COMMIT;
				PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
			END IF;
			RAISE EXCEPTION 'roll-up % could not be refreshed: %', rollup, message USING ERRCODE = failed,
				DETAIL = coalesce(nullif(detail, ''), 'It stays as the last finished step has left it.'),
				HINT = coalesce(nullif(hint, ''), CASE WHEN failed LIKE '42%' AND failed <> '42501' THEN 'If the source was changed, change the row of the roll-up in tbf_rollup too, or make the roll-up anew.' END,
					'The next refresh goes on from there.');
		END IF;
		IF done THEN
			COMMIT;
			EXIT;
		END IF;
	END LOOP;
END $$;
COMMENT ON PROCEDURE tbf_rollup_refresh(regclass, timestamptz, timestamptz) IS 'brings a roll-up up to date: counts the hits that were written since the last refresh, at most the lateness after their time, and folds old buckets. It commits after each step, so it cannot be called within a transaction; after an interruption the next call goes on. With from_time and to_time it looks at all buckets with hits from from_time to before to_time, for hits that came later (null: the beginning, now). Only for the owner of the roll-up';

-- Compares buckets that overlap the time from from_time to to_time. An item is missing as often as the source has more
-- hits of it than the filters count.
CREATE FUNCTION tbf_rollup_compare(rollup regclass, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL)
	RETURNS TABLE (starts timestamptz, ends timestamptz, missing double precision, gone double precision) LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
	SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' SET lc_numeric = 'C' SET lc_time = 'C' SET enable_nestloop = off SET jit = off SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record;
	tier integer := 1;
	lo timestamptz := '-infinity';
	hi timestamptz;
	items text;
	place text;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_own_definition($1)', extension) INTO def USING rollup;
	IF from_time > to_time THEN
		RAISE EXCEPTION 'from_time % is later than to_time %', quote_literal(from_time), quote_literal(to_time) USING ERRCODE = 'invalid_parameter_value', HINT = 'The time goes from from_time to before to_time.';
	END IF;
	EXECUTE format('SELECT coalesce($1, complete_to, ''-infinity'') FROM %s.tbf_rollups r WHERE r.rollup = $2', extension) INTO hi USING to_time, rollup;
	IF isfinite(to_time) THEN
		WHILE tier < cardinality(def.tiers) AND to_time <= def.folded[tier] LOOP
			tier := tier + 1;
		END LOOP;
		EXECUTE format('SELECT %1$s._tbf_rollup_bucket_end(%1$s._tbf_rollup_bucket_start($1, $2, $3), $2, $3)', extension) INTO hi USING to_time - interval '1 microsecond', def.tiers[tier], def.zone;
	END IF;
	IF isfinite(from_time) THEN
		tier := 1;
		WHILE tier < cardinality(def.tiers) AND from_time < def.folded[tier] LOOP
			tier := tier + 1;
		END LOOP;
		EXECUTE format('SELECT %s._tbf_rollup_bucket_start($1, $2, $3)', extension) INTO lo USING from_time, def.tiers[tier], def.zone;
	END IF;
	lo := greatest(lo, def.folded[cardinality(def.tiers)]);
	EXECUTE format('SELECT %1$s._tbf_rollup_items($1, $2, $3), %1$s._tbf_rollup_table($1)', extension) INTO items, place USING rollup, lo, hi;
	RETURN QUERY EXECUTE format($sql$
		WITH latest AS (
			SELECT timestamptz 'infinity' AS newest
		), stored AS MATERIALIZED (
			SELECT tier, starts, groups, hits, f FROM %1$s WHERE starts >= $1 AND starts < $2
		), item AS MATERIALIZED (%3$s
		), counted AS (
			SELECT tier, starts, groups, sum(n) AS n, sum(greatest(n - before, 0)) AS missing
			FROM (SELECT tier, starts, groups, item, n, coalesce(sum(%2$s.tbf_count(s.f, item)), 0) AS before FROM item LEFT JOIN stored s USING (tier, starts, groups) GROUP BY tier, starts, groups, item, n) i
			GROUP BY tier, starts, groups
		), compared AS (
			SELECT tier, starts, sum(coalesce(c.missing, 0)) AS missing, sum(greatest(coalesce(hits, 0) - coalesce(n, 0) + coalesce(c.missing, 0), 0)) AS gone
			FROM counted c FULL JOIN (SELECT tier, starts, groups, sum(hits) AS hits FROM stored GROUP BY tier, starts, groups) s USING (tier, starts, groups)
			GROUP BY tier, starts
		)
		SELECT starts, %2$s._tbf_rollup_bucket_end(starts, ($3)[tier], $4), missing, gone FROM compared WHERE missing > 0 OR gone > 0 ORDER BY starts$sql$, place, extension, items)
		USING lo, hi, def.tiers, def.zone;
END $$;
COMMENT ON FUNCTION tbf_rollup_compare(regclass, timestamptz, timestamptz) IS 'buckets of a roll-up that differ from its source between from_time and to_time (null: the beginning, complete_to): missing: hits that the source has and the roll-up lacks, which tbf_rollup_refresh(rollup, starts, ends) counts; gone: hits that the source no longer has. Reads all rows of that time. Only for the owner of the roll-up';
