-- 73-rollup-refresh.sql: tbf_rollup_refresh(), which counts new hits and folds old buckets, and tbf_rollup_compare() (docs/rollups.md). 72-rollup.sql
-- explains the words. A step compares the hits that the source has of each item with those that the roll-up has, bucket by bucket, and adds the
-- difference. Hits that are later than all that the roll-up has are new. So a step may be repeated: it counts no hit twice, and lowers no count.

-- Two aggregates over the hits and the rows of a bucket and group (src/pg/tbf/rollup_count.c). PostgreSQL keeps one state for both. stored and id: a
-- row of the roll-up; item, at and weight: a hit of the source. bucket: a number in the array of buckets, which are rows with tier, starts, ends, and
-- closed if the bucket is to be closed. latest: the newest hit that the roll-up has of all these buckets; null: rows are made one, without hits.
CREATE TYPE _tbf_rollup_change AS (gone tid[], wider tid[], newest timestamptz, hits float8, hot_over float8, hot_rest float8, missing float8, left_source float8);
COMMENT ON TYPE _tbf_rollup_change IS 'implementation of tbf_rollup_refresh(): rows that are replaced, and rows whose bounds become wider';
CREATE FUNCTION _tbf_rollup_agg_add(internal, stored anyelement, id tid, item "any", at timestamptz, weight float8, bucket integer, buckets anyarray, latest timestamptz, top integer) RETURNS internal AS 'MODULE_PATHNAME', 'tbf_rollup_agg_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _tbf_rollup_agg_add(internal, anyelement, tid, "any", timestamptz, float8, integer, anyarray, timestamptz, integer) IS 'implementation of _tbf_rollup_made_agg and the like';
CREATE FUNCTION _tbf_rollup_agg_made(internal, stored anyelement, id tid, item "any", at timestamptz, weight float8, bucket integer, buckets anyarray, latest timestamptz, top integer) RETURNS anyelement AS 'MODULE_PATHNAME', 'tbf_rollup_agg_made' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _tbf_rollup_agg_made(internal, anyelement, tid, "any", timestamptz, float8, integer, anyarray, timestamptz, integer) IS 'implementation of _tbf_rollup_made_agg';
CREATE AGGREGATE _tbf_rollup_made_agg(stored anyelement, id tid, item "any", at timestamptz, weight float8, bucket integer, buckets anyarray, latest timestamptz, top integer) (SFUNC = _tbf_rollup_agg_add, STYPE = internal, SSPACE = 100000, FINALFUNC = _tbf_rollup_agg_made, FINALFUNC_EXTRA, PARALLEL = SAFE);
COMMENT ON AGGREGATE _tbf_rollup_made_agg(anyelement, tid, "any", timestamptz, float8, integer, anyarray, timestamptz, integer) IS 'implementation of tbf_rollup_refresh(): the row that is to be inserted';
CREATE FUNCTION _tbf_rollup_agg_change(internal, stored anyelement, id tid, item "any", at timestamptz, weight float8, bucket integer, buckets anyarray, latest timestamptz, top integer) RETURNS _tbf_rollup_change AS 'MODULE_PATHNAME', 'tbf_rollup_agg_change' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _tbf_rollup_agg_change(internal, anyelement, tid, "any", timestamptz, float8, integer, anyarray, timestamptz, integer) IS 'implementation of _tbf_rollup_change_agg';
CREATE AGGREGATE _tbf_rollup_change_agg(stored anyelement, id tid, item "any", at timestamptz, weight float8, bucket integer, buckets anyarray, latest timestamptz, top integer) (SFUNC = _tbf_rollup_agg_add, STYPE = internal, SSPACE = 100000, FINALFUNC = _tbf_rollup_agg_change, FINALFUNC_EXTRA, PARALLEL = SAFE);
COMMENT ON AGGREGATE _tbf_rollup_change_agg(anyelement, tid, "any", timestamptz, float8, integer, anyarray, timestamptz, integer) IS 'implementation of tbf_rollup_refresh(): what it replaces';

-- Returns a query of what is to be changed in the buckets from lo to before hi, which are starts of buckets: for each bucket and group the row `made`
-- and the `change`. Buckets that end at `closing` or earlier are to be closed. Hits from the future are left out.
CREATE FUNCTION _tbf_rollup_query(rollup regclass, lo timestamptz, hi timestamptz, closing timestamptz) RETURNS text LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record; place text := (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE oid = rollup); item record; at text;
	bound text; columns text; groups text; changed record; latest timestamptz; tier smallint; cut timestamptz := lo; starts timestamptz;
	ends timestamptz; cuts timestamptz[] := '{}'; all_tiers smallint[] := '{}'; all_starts timestamptz[] := '{}'; all_ends timestamptz[] := '{}';
	buckets text; arguments text;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	EXECUTE format('SELECT c, now_, made FROM ROWS FROM (unnest($1), unnest(%s._tbf_rollup_types($2, $1)), unnest($3)) u(c, now_, made) WHERE coalesce(now_, '''') <> made LIMIT 1', extension) INTO changed
		USING def.group_columns || def.time_column, def.source, def.column_types[2:] || def.column_types[1];
	IF changed.now_ IS NULL AND changed.made IS NOT NULL THEN
		RAISE EXCEPTION '% has no grouping column %', def.source, quote_ident(changed.c) USING ERRCODE = 'undefined_column', DETAIL = 'Grouping columns of a roll-up cannot be changed, because its rows were made by them.',
			HINT = format('If the column was renamed, make a view in which it is called %s, and change source in the row of the roll-up in tbf_rollup to it. If it is gone, make the roll-up anew.', quote_ident(changed.c));
	ELSIF changed.made IS NOT NULL THEN
		RAISE EXCEPTION 'column % of % is of type %, and was of type %', quote_ident(changed.c), def.source, changed.now_, changed.made USING ERRCODE = 'datatype_mismatch', DETAIL = 'Hits that are counted already might not be found under the new values, and be counted again.',
			HINT = 'If its values mean the same as before, change column_types in the row of the roll-up in tbf_rollup. Otherwise make the roll-up anew.';
	END IF;
	-- A time without zone is read as UTC. In comparisons the bounds are converted, and not the column, so that an index on the column can be used.
	SELECT format(CASE WHEN atttypid = 'timestamp'::regtype THEN '%I AT TIME ZONE ''UTC''' ELSE '%I' END, def.time_column),
			CASE WHEN atttypid = 'timestamp'::regtype THEN '%I %s %L::timestamptz AT TIME ZONE ''UTC''' ELSE '%I %s %L::timestamptz' END
		INTO at, bound FROM pg_attribute WHERE attrelid = def.source AND attname = def.time_column AND NOT attisdropped AND atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype);
	SELECT coalesce(string_agg(format(', %I AS g%s', c, n), '' ORDER BY n), ''),
			CASE WHEN cardinality(def.group_columns) = 0 THEN '''{}''::jsonb' ELSE 'jsonb_build_object(' || coalesce(string_agg(format('%L, g%s', c, n), ', ' ORDER BY n), '') || ')' END
		INTO columns, groups FROM unnest(def.group_columns) WITH ORDINALITY u(c, n);
	-- Where clocks are put back by half an hour, the buckets of two hours overlap: the second one starts before its first hit (cut).
	WHILE cut < hi LOOP
		tier := 1;
		WHILE tier < cardinality(def.tiers) AND cut < def.folded[tier] LOOP tier := tier + 1; END LOOP;
		EXECUTE format('SELECT s, %1$s._tbf_rollup_bucket_end(s, $2, $3) FROM %1$s._tbf_rollup_bucket_start($1, $2, $3) s', extension) INTO starts, ends USING cut, def.tiers[tier], def.zone;
		IF starts >= lo THEN
			cuts := cuts || cut; all_tiers := all_tiers || tier; all_starts := all_starts || starts;
			all_ends := all_ends || ends;
		END IF;
		cut := ends;
	END LOOP;
	EXECUTE format('SELECT max(newest) FROM %s WHERE starts >= $1 AND starts < $2', place) INTO latest USING lo, hi;
	EXECUTE format('SELECT array_agg(jsonb_populate_record(NULL::%s, to_jsonb(u) || jsonb_build_object(''closed'', ends <= $4)) ORDER BY n) FROM unnest($1, $2, $3) WITH ORDINALITY u(tier, starts, ends, n)', place)
		INTO buckets USING all_tiers, all_starts, all_ends, closing;
	-- Items are cast to their type in the roll-up, or an error is raised. They have the collation of its lists.
	SELECT format('%I.%I', n.nspname, t.typname) AS type, CASE WHEN c.oid IS NULL THEN '' ELSE format('COLLATE %s.%I', c.collnamespace::regnamespace, c.collname) END AS collation INTO item
		FROM pg_attribute a JOIN pg_type l ON l.oid = a.atttypid JOIN pg_type t ON t.oid = l.typelem JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_collation c ON c.oid = a.attcollation
		WHERE a.attrelid = rollup AND a.attname = 'hot';
	arguments := format('stored, id, item, at, weight, bucket, %L::%s[], %L, %s', buckets, place, latest, def.top);
	-- Groups are compared as they are stored (jsonb): equal values, such as '1 day' and '24 hours', may be written differently.
	RETURN format($sql$
		SELECT %1$s AS groups, (%2$L::timestamptz[])[bucket] AS starts, (%3$L::timestamptz[])[bucket] AS ends, %4$s._tbf_rollup_made_agg(%5$s) AS made, %4$s._tbf_rollup_change_agg(%5$s) AS change
		FROM (SELECT NULL::%6$s AS stored, NULL::tid AS id, coalesce(item, NULL::%7$s)::%7$s %8$s AS item, at, w AS weight, width_bucket(at, %9$L::timestamptz[]) AS bucket, %10$s AS groups
			FROM (SELECT %11$s AS at, (%12$s
				) AS item, coalesce((%13$s
				), NULL::float8) AS w %14$s FROM %15$s WHERE (%16$s
				) AND %17$s) hit WHERE item IS NOT NULL
			UNION ALL SELECT r, r.ctid, NULL, NULL, NULL, array_position(%2$L::timestamptz[], r.starts), r.groups FROM %6$s r
			WHERE r.starts >= %18$L AND r.starts < %19$L AND r.tier = (%20$L::smallint[])[array_position(%2$L::timestamptz[], r.starts)]) s GROUP BY bucket%21$s$sql$,
		CASE WHEN cardinality(def.group_columns) > 0 THEN 'groups' ELSE '''{}''::jsonb' END, all_starts, all_ends, extension, arguments, place, item.type, item.collation, cuts, groups, at, def.item, coalesce(def.weight, '1'), columns,
		(SELECT quote_ident(nspname) || '.' || quote_ident(relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = def.source), coalesce(def.condition, 'true'),
		concat_ws(' AND ', format(bound, def.time_column, '>=', greatest(cuts[1], lo, '4712-01-01 00:00 UTC BC')), format(bound, def.time_column, '<', hi), format(bound, def.time_column, '<=', clock_timestamp())),
		lo, hi, all_tiers, CASE WHEN cardinality(def.group_columns) > 0 THEN ', groups' END);
END $$;
COMMENT ON FUNCTION _tbf_rollup_query(regclass, timestamptz, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh() and tbf_rollup_compare(): a query of what is to be changed';

-- Counts the hits of the buckets from lo to before hi, and returns how many hits the new rows have. One session at a time has its lock. REQUIRES: READ
-- COMMITTED, so that the statements after the lock see what the previous holder has written. The planner cannot know how few buckets and groups there
-- are, and would sort all hits. (But the query of a view may need a sort of its own.)
CREATE FUNCTION _tbf_rollup_step(rollup regclass, lo timestamptz, hi timestamptz, closing timestamptz) RETURNS float8
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
	SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' SET lc_numeric = 'C' SET lc_time = 'C' SET enable_sort = off SET jit = off SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); query text; counted float8;
BEGIN
	EXECUTE format('SELECT pg_advisory_xact_lock((%L::regclass::oid::bigint << 32) | %s)', extension || '.tbf_rollup', rollup::oid);
	EXECUTE format('SELECT %s._tbf_rollup_query($1, $2, $3, $4)', extension) INTO query USING rollup, lo, hi, closing;
	EXECUTE format('SELECT set_config(''enable_sort'', ''on'', true) FROM pg_class c JOIN %s.tbf_rollup r ON c.oid = r.source WHERE r.rollup = $1 AND relkind = ''v''', extension) USING rollup;
	EXECUTE format($sql$
		WITH counted AS MATERIALIZED (%1$s
		), gone AS (
			DELETE FROM %2$s WHERE ctid = ANY (ARRAY(SELECT unnest((change).gone) FROM counted))
		), wider AS (
			UPDATE %2$s r SET oldest = starts, newest = greatest(r.newest, w.newest), hits = r.hits + w.hits, hot_over = r.hot_over + w.hot_over, hot_rest = r.hot_rest + w.hot_rest
			FROM (SELECT id, newest, CASE n WHEN 1 THEN hits ELSE 0 END AS hits, CASE n WHEN 1 THEN hot_over ELSE 0 END AS hot_over, CASE n WHEN 1 THEN hot_rest ELSE 0 END AS hot_rest
				FROM (SELECT (change).* FROM counted) c, unnest(wider) WITH ORDINALITY u(id, n)) w WHERE r.ctid = w.id AND (w.newest > r.newest OR w.hits > 0 OR w.hot_over > 0 OR w.hot_rest > 0)
		), made AS (
			INSERT INTO %2$s (tier, starts, ends, closed, groups, oldest, newest, hits, f, hot, hot_hits, hot_over, hot_rest)
			SELECT (made).tier, (made).starts, (made).ends, (made).closed, groups, (made).oldest, (made).newest, (made).hits, (made).f, (made).hot, (made).hot_hits, (made).hot_over, (made).hot_rest
			FROM counted WHERE (made).tier IS NOT NULL
			-- The largest row begins a new page, as a rule, and small rows of late hits follow there: older pages stay unchanged, and out of the WAL.
			ORDER BY (made).hits DESC
		)
		SELECT sum((made).hits) FROM counted$sql$, query, (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE oid = rollup)) INTO counted;
	RETURN coalesce(counted, 0);
END $$;
COMMENT ON FUNCTION _tbf_rollup_step(regclass, timestamptz, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh(): counts what is new in some buckets';

-- Rows of open buckets that start at lo or later, which are to become one row for each bucket and group: each has at most an eighth of its hits, and
-- together they have no more items than one exact filter can hold (a filter with counters may take late hits for counted ones). number: how many rows.
CREATE FUNCTION _tbf_rollup_pieces(rollup regclass, lo timestamptz) RETURNS TABLE (id tid, tier smallint, starts timestamptz, ends timestamptz, number bigint)
	LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
BEGIN
	RETURN QUERY EXECUTE format($sql$
		SELECT id, tier, starts, ends, number FROM (SELECT *, count(*) OVER (PARTITION BY tier, starts, groups) AS number FROM (
			SELECT p.*, sum(cardinality) OVER (PARTITION BY tier, starts, groups ORDER BY cardinality, id ROWS UNBOUNDED PRECEDING) AS items
			FROM (SELECT ctid AS id, tier, starts, ends, groups, f, hits, sum(hits) OVER (PARTITION BY tier, starts, groups) AS all_hits FROM %1$s WHERE starts >= $1 AND NOT closed) p, %2$s.tbf_info(f)
			WHERE 8 * hits <= all_hits AND layout = 'exact') s WHERE items <= 65536) t WHERE number > 1$sql$, rollup, extension) USING lo;
END $$;
COMMENT ON FUNCTION _tbf_rollup_pieces(regclass, timestamptz) IS 'implementation of tbf_rollup_refresh(): small rows of open buckets';

-- Replaces the rows for which `which` is true, an SQL condition, by one row for each bucket and group, which has exactly their hits. Their bucket is
-- the same, or becomes that of a tier from lo to hi. Returns how many rows were made. REQUIRES: the lock of _tbf_rollup_step().
CREATE FUNCTION _tbf_rollup_fold(rollup regclass, which text, closed boolean, tier integer DEFAULT NULL, lo timestamptz DEFAULT NULL, hi timestamptz DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); made bigint;
BEGIN
	EXECUTE format($sql$
		WITH gone AS (
			DELETE FROM %1$s r WHERE %3$s RETURNING groups, r, coalesce($2, tier) AS tier, coalesce($3, starts) AS starts, coalesce($4, ends) AS ends
		)
		INSERT INTO %1$s (tier, starts, ends, closed, groups, oldest, newest, hits, f, hot, hot_hits, hot_over, hot_rest)
		SELECT (m).tier, (m).starts, (m).ends, (m).closed, groups, (m).oldest, (m).newest, (m).hits, (m).f, (m).hot, (m).hot_hits, (m).hot_over, (m).hot_rest
		FROM (SELECT groups, %2$s._tbf_rollup_made_agg(r, NULL, ((r).hot)[1], NULL, NULL, 1,
				ARRAY[jsonb_populate_record(NULL::%1$s, jsonb_build_object('tier', tier, 'starts', starts, 'ends', ends, 'closed', $5))], NULL, top) AS m
			FROM gone, (SELECT top FROM %2$s._tbf_rollup_definition($1, true, true)) d GROUP BY tier, starts, ends, groups OFFSET 0) m$sql$,
		(SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE oid = rollup), extension, which) USING rollup, tier, lo, hi, closed;
	GET DIAGNOSTICS made = ROW_COUNT;
	RETURN made;
END $$;
COMMENT ON FUNCTION _tbf_rollup_fold(regclass, text, boolean, integer, timestamptz, timestamptz) IS 'implementation of tbf_rollup_refresh(): replaces rows by fewer ones';

-- The first hit of the source from lo to hi, or the last one; null: there is none. A source with partitions by its time is asked for the time of one
-- partition after the other, without the empty ones, so that not all are planned and locked. (A default partition may have any time.)
CREATE FUNCTION _tbf_rollup_hit(rollup regclass, lo timestamptz, hi timestamptz, newest boolean) RETURNS timestamptz LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); def record; ask text; span record; hit timestamptz;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	SELECT replace(format('SELECT %s(%I)@ FROM %s WHERE %2$I >= $1@ AND %2$I <= $2@', CASE WHEN newest THEN 'max' ELSE 'min' END, def.time_column, def.source), '@', CASE atttypid WHEN 'timestamp'::regtype THEN ' AT TIME ZONE ''UTC''' ELSE '' END)
		INTO ask FROM pg_attribute WHERE attrelid = def.source AND attname = def.time_column AND NOT attisdropped AND atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype);
	IF NOT FOUND THEN
		RAISE EXCEPTION '% has no column % with the time of a hit', def.source, quote_ident(def.time_column) USING ERRCODE = 'undefined_column',
			HINT = 'If the column has another name or type now, change time_column in the row of the roll-up in tbf_rollup, or make the roll-up anew.';
	END IF;
	-- Earlier hits are not counted: see _tbf_rollup_before().
	lo := greatest(lo, '4712-01-01 00:00 UTC BC');
	FOR span IN WITH part AS (
			SELECT c.oid, c.relkind, substring(bound FROM 'FROM \(''([^'']+)''')::timestamptz AS starts, substring(bound FROM 'TO \(''([^'']+)''')::timestamptz AS ends
			FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] JOIN pg_inherits i ON i.inhparent = p.partrelid JOIN pg_class c ON c.oid = i.inhrelid, pg_get_expr(c.relpartbound, c.oid) bound
			WHERE p.partrelid = def.source AND p.partstrat = 'r' AND a.attname = def.time_column AND (CASE WHEN lo < hi THEN hi > lo + interval '32 days' END))
		SELECT greatest(starts, lo) AS starts, least(ends, hi) AS ends, CASE WHEN newest THEN -extract(epoch FROM least(ends, hi)) ELSE extract(epoch FROM greatest(starts, lo)) END AS place FROM part WHERE relkind <> 'r' OR pg_relation_size(oid) > 0
		UNION ALL SELECT lo, hi, 0 WHERE NOT EXISTS (SELECT FROM part) ORDER BY place LOOP
		EXECUTE ask INTO hit USING span.starts, span.ends;
		EXIT WHEN hit IS NOT NULL;
	END LOOP;
	RETURN hit;
END $$;
COMMENT ON FUNCTION _tbf_rollup_hit(regclass, timestamptz, timestamptz, boolean) IS 'implementation of tbf_rollup_refresh(): the first or the last hit of a time';

-- The buckets of the next step, from the first hit on: `pace` hours of minutes, days of hours, or buckets of another tier. Null: there is no hit.
-- stored: rows of the roll-up are looked for, too.
CREATE FUNCTION _tbf_rollup_range(rollup regclass, place timestamptz, until timestamptz, pace integer, stored boolean, OUT lo timestamptz, OUT hi timestamptz) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); def record; first timestamptz; tier integer := 1; unit text;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	place := greatest(place, def.folded[cardinality(def.folded)]);
	EXECUTE format('SELECT least(coalesce(%1$s._tbf_rollup_hit($1, $2, least($2 + interval ''32 days'', $3), false), %1$s._tbf_rollup_hit($1, $2, $3, false)), (SELECT min(starts) FROM %2$s WHERE $4 AND starts >= $2 AND starts <= $3))', extension, rollup) INTO first USING rollup, place, until, stored;
	IF first IS NULL OR first >= until THEN RETURN; END IF;
	WHILE tier < cardinality(def.tiers) AND first < def.folded[tier] LOOP tier := tier + 1; END LOOP;
	unit := CASE def.tiers[tier] WHEN 'minute' THEN 'hour' WHEN 'hour' THEN 'day' ELSE def.tiers[tier] END;
	EXECUTE format('SELECT %1$s._tbf_rollup_bucket_start($1, $2, $4), %1$s._tbf_rollup_bucket_start($1, $3, $4)', extension) INTO lo, hi USING first, def.tiers[tier], unit, def.zone;
	FOR i IN 1 .. pace LOOP
		EXECUTE format('SELECT %s._tbf_rollup_bucket_end($1, $2, $3)', extension) INTO hi USING hi, unit, def.zone;
		EXIT WHEN hi > until;
	END LOOP;
END $$;
COMMENT ON FUNCTION _tbf_rollup_range(regclass, timestamptz, timestamptz, integer, boolean) IS 'implementation of tbf_rollup_refresh() and tbf_rollup_compare(): the buckets of the next step';

-- One step of a refresh, for a transaction of its own; it gets what the step before has returned. goal: the time up to which this refresh counts.
-- place: the time up to which it has counted; infinity if only closing, gathering and folding are left.
CREATE FUNCTION _tbf_rollup_work(rollup regclass, from_time timestamptz, to_time timestamptz, INOUT goal timestamptz, INOUT place timestamptz, INOUT pace integer, OUT done boolean)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record; ordinary CONSTANT boolean := from_time IS NULL AND to_time IS NULL;
	bucket_start CONSTANT text := format('SELECT %s._tbf_rollup_bucket_start($1, $2, $3)', extension);
	bucket_end CONSTANT text := format('SELECT %s._tbf_rollup_bucket_end($1, $2, $3)', extension);
	before CONSTANT text := format('SELECT %s._tbf_rollup_before($1, $2)', extension);
	fold CONSTANT text := format('SELECT %s._tbf_rollup_fold($1, $2, $3, $4, $5, $6)', extension);
	write CONSTANT text := format('UPDATE %s.tbf_rollup r SET counted_to = $2, open_from = $3, filled = $4, folded = $5, last_error = $6, last_error_at = CASE WHEN $6 IS NOT NULL THEN last_error_at END
		WHERE r.rollup = $1 AND (counted_to, open_from, filled, folded, last_error) IS DISTINCT FROM ($2, $3, $4, $5, $6)', extension);
	self CONSTANT text := (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE oid = rollup); first timestamptz; target timestamptz; lo timestamptz;
	hi timestamptz; closing timestamptz; tier integer := 1; tiers integer; empty boolean; counted float8;
	many_pieces CONSTANT integer := 60; few_pieces integer; gathered boolean := false; number bigint;
BEGIN
	done := false; pace := coalesce(pace, 1);
	IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE EXCEPTION 'a roll-up is refreshed in transactions of the level READ COMMITTED' USING ERRCODE = 'invalid_transaction_state', HINT = 'CALL tbf_rollup_refresh(), which sees to that.';
	END IF;
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	EXECUTE format('SELECT pg_advisory_xact_lock((%L::regclass::oid::bigint << 32) | %s)', extension || '.tbf_rollup', rollup::oid);
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	tiers := cardinality(def.tiers);
	IF NOT EXISTS (SELECT FROM pg_class WHERE oid = def.source) THEN
		RAISE EXCEPTION 'the source of the roll-up does not exist any more' USING ERRCODE = 'undefined_table',
			HINT = 'What was counted can still be asked. To count another table, change the column source of its row in tbf_rollup.';
	END IF;
	IF goal IS NULL THEN EXECUTE format('SELECT %s._tbf_rollup_no_row_security($1)', extension) USING def.source; END IF;
	EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', rollup) INTO empty;
	IF empty AND def.filled THEN
		-- TRUNCATE or DELETE has taken all rows.
		def.counted_to := NULL; def.open_from := '-infinity'; def.filled := false;
		EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, def.last_error;
		place := CASE WHEN goal IS NOT NULL AND ordinary THEN '-infinity' ELSE place END;
	END IF;
	-- up to when (goal), and from when (place)
	IF goal IS NULL THEN
		IF ordinary THEN
			EXECUTE before INTO place USING def.counted_to, def.lateness;
			place := coalesce(place, '-infinity');
		ELSE
			place := CASE WHEN isfinite(from_time) AND from_time >= '4712-01-01 00:00 UTC BC' THEN least(from_time, clock_timestamp() + interval '1 day') ELSE '-infinity' END;
		END IF;
		EXECUTE format('SELECT %s._tbf_rollup_hit($1, $2, $3, true)', extension) INTO goal USING rollup, place, least(clock_timestamp(), to_time);
		goal := CASE WHEN ordinary THEN greatest(goal, def.counted_to) ELSE coalesce(goal, '-infinity') END;
		IF goal IS NULL THEN done := true; RETURN; END IF;
		IF ordinary AND empty THEN
			-- The first refresh counts old hits in the tier to which their age belongs.
			FOR i IN 1 .. tiers LOOP
				IF isfinite(def.keep[i]) THEN
					EXECUTE before INTO target USING goal, greatest(def.keep[i], def.lateness);
					EXECUTE bucket_start INTO target USING least(target, def.folded[i - 1]), def.tiers[least(i + 1, tiers)], def.zone;
					def.folded[i] := greatest(def.folded[i], target);
				END IF;
			END LOOP;
			EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, def.last_error;
		END IF;
		IF isfinite(place) THEN
			WHILE tier < tiers AND place < def.folded[tier] LOOP tier := tier + 1; END LOOP;
			EXECUTE bucket_start INTO place USING place, def.tiers[tier], def.zone;
		END IF;
	END IF;
	EXECUTE before INTO closing USING CASE WHEN ordinary THEN goal ELSE coalesce(def.counted_to, '-infinity') END, def.lateness;
	IF place < 'infinity' THEN
		-- A refresh up to to_time counts no hit at that time.
		EXECUTE format('SELECT * FROM %s._tbf_rollup_range($1, $2, $3, $4, false)', extension) INTO lo, hi USING rollup, place, least(goal + interval '1 microsecond', to_time), pace;
		IF lo IS NULL THEN place := 'infinity'; RETURN; END IF;
		EXECUTE format('SELECT %s._tbf_rollup_step($1, $2, $3, $4)', extension) INTO counted USING rollup, lo, hi, closing;
		pace := CASE WHEN counted < 100000 THEN least(2 * pace, 32) WHEN counted > 1000000 THEN greatest(pace / 2, 1) ELSE pace END;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s)', self) INTO def.filled;
		def.counted_to := CASE WHEN ordinary THEN greatest(def.counted_to, least(goal, hi)) ELSE def.counted_to END;
		def.open_from := least(def.open_from, lo);
		EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, def.last_error;
		place := CASE WHEN hi > goal THEN 'infinity' ELSE hi END;
		RETURN;
	END IF;
	-- Closing does not read the source, so hits that it no longer has stay counted.
	EXECUTE format('SELECT min(starts) FROM %s WHERE starts >= $1 AND NOT closed', self) INTO first USING def.open_from;
	EXECUTE fold INTO number USING rollup, format('starts >= %1$L AND (tier, starts, groups) IN (SELECT tier, starts, groups FROM %2$s WHERE starts >= %1$L AND NOT closed AND ends <= %3$L)', first, self, closing), true, NULL::integer, NULL::timestamptz, NULL::timestamptz;
	IF number > 0 THEN
		def.open_from := greatest(def.open_from, first);
		EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, def.last_error;
		RETURN;
	END IF;
	-- Gathering: when an open bucket has many pieces (rows with some of its hits), those of all open buckets of the last days are replaced by fewer
	-- rows at once. They are in the same pages, which would otherwise go into the WAL once for each bucket that is closed.
	IF ordinary THEN
		-- Filters of 64 kB and more are gathered already, or have too many items. In the last tenth of the current bucket gathering waits for 120 pieces,
		-- so that it comes just after a bucket is closed, with seldom a checkpoint between.
		EXECUTE bucket_start INTO lo USING goal, def.tiers[1], def.zone;
		EXECUTE bucket_end INTO hi USING lo, def.tiers[1], def.zone;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE starts >= $1 AND NOT closed AND pg_column_size(f) < 65536 GROUP BY tier, starts, groups HAVING count(*) >= $2)', rollup)
			INTO gathered USING closing - interval '2 days', CASE WHEN hi - goal > (hi - lo) / 10 THEN many_pieces ELSE 2 * many_pieces END;
		-- If the pieces have more items than one exact filter can hold, they become several rows.
		few_pieces := 2;
		WHILE gathered LOOP
			EXECUTE fold INTO number USING rollup, format('ctid IN (SELECT id FROM %s._tbf_rollup_pieces(%s::oid, %L) WHERE number >= %s)', extension, rollup::oid, closing - interval '2 days', few_pieces), false, NULL::integer, NULL::timestamptz, NULL::timestamptz;
			EXIT WHEN number = 0;
			few_pieces := 4;
		END LOOP;
		IF few_pieces = 4 THEN RETURN; END IF;
	END IF;
	IF ordinary THEN
		FOR i IN 1 .. tiers LOOP
			CONTINUE WHEN def.keep[i] IS NULL;
			EXECUTE before INTO target USING goal, greatest(def.keep[i], def.lateness);
			-- A tier is never folded further than the one before it. (Rising values of `keep` do not ensure that: months differ.)
			EXECUTE bucket_start INTO target USING least(target, def.folded[i - 1]), def.tiers[least(i + 1, tiers)], def.zone;
			CONTINUE WHEN def.folded[i] >= target;
			IF i = tiers THEN
				EXECUTE format('DELETE FROM %s WHERE tier = $1 AND starts < $2', rollup) USING i, target;
				EXECUTE format('SELECT EXISTS (SELECT FROM %s)', self) INTO def.filled;
			ELSE
				EXECUTE format('SELECT min(starts) FROM %s WHERE tier = $1 AND starts < $2', rollup) INTO lo USING i, target;
				IF lo IS NOT NULL THEN
					EXECUTE bucket_start INTO lo USING lo, def.tiers[i + 1], def.zone;
					EXECUTE bucket_end INTO target USING lo, def.tiers[i + 1], def.zone;
					EXECUTE fold INTO number USING rollup, format('tier = %s AND starts >= %L AND starts < %L', i, lo, target), true, i + 1, lo, target;
				END IF;
			END IF;
			def.folded[i] := target;
			EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, def.last_error;
			RETURN;
		END LOOP;
		-- A step that counts earlier hits sets open_from back.
		EXECUTE bucket_start INTO target USING goal, def.tiers[1], def.zone;
		def.counted_to := greatest(def.counted_to, goal);
		def.open_from := greatest(def.open_from, coalesce(first, target));
	END IF;
	EXECUTE write USING rollup, def.counted_to, def.open_from, def.filled, def.folded, NULL::text;
	done := true;
END $$;
COMMENT ON FUNCTION _tbf_rollup_work(regclass, timestamptz, timestamptz, timestamptz, timestamptz, integer) IS 'implementation of tbf_rollup_refresh(): one step';

-- A procedure with a SET clause cannot commit. So this one sets search_path in each transaction, before it uses names without a schema.
CREATE FUNCTION _tbf_rollup_may_commit() RETURNS void AS 'MODULE_PATHNAME', 'tbf_rollup_may_commit' LANGUAGE C VOLATILE STRICT COST 1000;
COMMENT ON FUNCTION _tbf_rollup_may_commit() IS 'implementation of tbf_rollup_refresh(): raises an error if the procedure that asks cannot commit';
CREATE PROCEDURE tbf_rollup_refresh(rollup regclass, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	extension pg_catalog.text; goal pg_catalog.timestamptz; place pg_catalog.timestamptz; pace pg_catalog.int4;
	told pg_catalog.timestamptz := pg_catalog.clock_timestamp(); done pg_catalog.bool := false; failed pg_catalog.text; message pg_catalog.text;
	detail pg_catalog.text; hint pg_catalog.text;
BEGIN
	IF pg_catalog.pg_is_in_recovery() THEN
		RAISE EXCEPTION 'recovery is in progress' USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Refresh the roll-up on the primary server.';
	END IF;
	extension := (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n
		ON n.oid OPERATOR(pg_catalog.=) e.extnamespace WHERE e.extname OPERATOR(pg_catalog.=) 'streambloom');
	EXECUTE pg_catalog.format('SELECT %s._tbf_rollup_may_commit()', extension);
	IF pg_catalog.current_setting('transaction_read_only')::pg_catalog.bool THEN
		RAISE EXCEPTION 'cannot refresh roll-up % in a read-only transaction', rollup USING ERRCODE = 'read_only_sql_transaction', HINT = 'SET default_transaction_read_only = off.';
	END IF;
	LOOP
		-- No expression may stand between these two statements: it might take a snapshot, and after that the isolation level cannot be set.
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
		extension := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
		BEGIN
			EXECUTE format('SELECT * FROM %s._tbf_rollup_work($1, $2, $3, $4, $5, $6)', extension) INTO goal, place, pace, done USING rollup, from_time, to_time, goal, place, pace;
		EXCEPTION WHEN query_canceled OR OTHERS THEN
			GET STACKED DIAGNOSTICS failed = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
		END;
		IF failed IS NOT NULL THEN
			-- The definition keeps the error, unless another session has locked it: a session that was canceled must end soon.
			IF failed IN ('42809', '22004') OR NOT EXISTS (SELECT FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner WHERE c.oid = rollup AND o.rolname = current_user) THEN
				RAISE EXCEPTION '%', message USING ERRCODE = failed, DETAIL = coalesce(nullif(detail, ''), 'Nothing was refreshed.'), HINT = hint;
			END IF;
			PERFORM set_config('lock_timeout', '100ms', true);
			BEGIN
				EXECUTE format('UPDATE %s.tbf_rollup r SET last_error = $2, last_error_at = now()
					WHERE r.rollup = (SELECT l.rollup FROM %1$s.tbf_rollup l WHERE l.rollup = $1 FOR NO KEY UPDATE SKIP LOCKED) AND last_error IS DISTINCT FROM $2', extension) USING rollup, message;
			EXCEPTION WHEN lock_not_available OR query_canceled THEN NULL;
			END;
			COMMIT;
			PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
			RAISE EXCEPTION 'roll-up % could not be refreshed: %', rollup, message USING ERRCODE = failed,
				DETAIL = coalesce(nullif(detail, ''), 'It stays as the last finished step has left it.'), HINT = coalesce(nullif(hint, ''),
					CASE WHEN failed LIKE '42%' AND failed <> '42501' THEN 'If the source was changed, change the row of the roll-up in tbf_rollup too, or make the roll-up anew.' END, 'The next refresh goes on from there.');
		END IF;
		EXIT WHEN done;
		IF isfinite(place) AND clock_timestamp() > told + interval '10 seconds' THEN
			RAISE NOTICE 'roll-up % has counted the hits up to %, of those up to %', rollup, place, goal;
			told := clock_timestamp();
		END IF;
	END LOOP;
	COMMIT;
END $$;
COMMENT ON PROCEDURE tbf_rollup_refresh(regclass, timestamptz, timestamptz) IS 'brings a roll-up up to date: counts the hits that were written since the last refresh, at most the lateness after their time, and folds old buckets. It commits after each step, so it cannot be called within a transaction; after an interruption the next call goes on. With from_time and to_time it looks at all buckets with hits from from_time to before to_time, for hits that came later (null: the beginning, now). Only for the owner of the roll-up';
CREATE FUNCTION tbf_rollup_compare(rollup regclass, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL)
	RETURNS TABLE (starts timestamptz, ends timestamptz, missing float8, gone float8) LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
	SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' SET lc_numeric = 'C' SET lc_time = 'C' SET enable_sort = off SET jit = off SET row_security = off AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record; tier integer := 1; lo timestamptz := '-infinity'; hi timestamptz; next timestamptz; query text;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1, true, true)', extension) INTO def USING rollup;
	IF from_time > to_time THEN
		RAISE EXCEPTION 'from_time % is later than to_time %', quote_literal(from_time), quote_literal(to_time) USING ERRCODE = 'invalid_parameter_value', HINT = 'The time goes from from_time to before to_time.';
	END IF;
	EXECUTE format('SELECT coalesce($1, complete_to, ''-infinity'') FROM %s.tbf_rollups r WHERE r.rollup = $2', extension) INTO hi USING to_time, rollup;
	lo := CASE WHEN from_time >= '4712-01-01 00:00 UTC BC' THEN least(from_time, clock_timestamp()) ELSE '-infinity' END;
	hi := CASE WHEN hi >= '4712-01-01 00:00 UTC BC' THEN least(hi, clock_timestamp() + interval '1 day') ELSE '-infinity' END;
	SELECT coalesce(min(i), cardinality(def.tiers)) INTO tier FROM generate_subscripts(def.folded, 1) i WHERE lo >= def.folded[i];
	EXECUTE format('SELECT %s._tbf_rollup_bucket_start($1, $2, $3)', extension) INTO lo USING lo, def.tiers[tier], def.zone;
	SELECT coalesce(min(i), cardinality(def.tiers)) INTO tier FROM generate_subscripts(def.folded, 1) i WHERE hi > def.folded[i];
	EXECUTE format('SELECT %1$s._tbf_rollup_bucket_end(%1$s._tbf_rollup_bucket_start($1, $2, $3), $2, $3)', extension) INTO hi USING hi - interval '1 microsecond', def.tiers[tier], def.zone;
	LOOP
		EXECUTE format('SELECT * FROM %s._tbf_rollup_range($1, $2, $3, 8, true)', extension) INTO lo, next USING rollup, lo, hi;
		EXIT WHEN lo IS NULL;
		EXECUTE format('SELECT %s._tbf_rollup_query($1, $2, $3, ''-infinity'')', extension) INTO query USING rollup, lo, least(next, hi);
		RETURN QUERY EXECUTE format('SELECT starts, ends, sum((change).missing), sum((change).left_source) FROM (%s) s GROUP BY starts, ends HAVING sum((change).missing + (change).left_source) > 0 ORDER BY starts', query);
		lo := next;
	END LOOP;
END $$;
COMMENT ON FUNCTION tbf_rollup_compare(regclass, timestamptz, timestamptz) IS 'buckets of a roll-up that differ from its source between from_time and to_time (null: the beginning, complete_to): missing: hits that the source has and the roll-up lacks, which tbf_rollup_refresh(rollup, starts, ends) counts; gone: hits that the source no longer has. Reads all rows of that time. Only for the owner of the roll-up';
