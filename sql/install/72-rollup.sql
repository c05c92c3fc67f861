-- 72-rollup.sql: the table of definitions, the functions that make and drop a roll-up (docs/rollups.md), and what the others share.
--
-- A roll-up is a table that tbf_rollup_refresh() fills from a log: each row has the hits of a bucket, such as an hour, in a filter, and a list of the
-- hottest items. A group is one combination of values of the grouping columns. A bucket is closed when it is over and the lateness has passed. A tier
-- has all buckets of one length; old ones are folded, that is, merged into longer buckets of the next tier.
--
--   source -> hits by bucket and group (_query) -> C aggregate: what is new (rollup_count.c) -> one row for each bucket and group (_step)
--          -> rows of a bucket, or of an older tier, become one (_fold, rollup_merge.c); _work says which of these comes next
--   question -> weights of the rows (_weights) -> C aggregate: items and bounds (rollup_top.c)
--
-- Functions run with the rights of their caller. In PL/pgSQL they set search_path, and write the schema of this extension before its names; those that
-- cannot set it say why. Functions in SQL have parsed bodies (BEGIN ATOMIC).

-- PUBLIC has no rights on this table: a role with UPDATE or DELETE could stop all roll-ups by LOCK TABLE, and one with SELECT read last_error, which may
-- hold values of rows. Owners write their definitions through the view tbf_rollup, and all others read them through tbf_rollups.
CREATE TABLE tbf_rollup_definitions (
	rollup regclass PRIMARY KEY, source regclass NOT NULL, item text NOT NULL, time_column name NOT NULL, condition text, weight text,
	group_columns name[] NOT NULL, column_types text[] NOT NULL, tiers text[] NOT NULL, keep interval[] NOT NULL, lateness interval NOT NULL,
	top integer NOT NULL, zone text NOT NULL, half_life interval, folded timestamptz[] NOT NULL, counted_to timestamptz,
	open_from timestamptz NOT NULL DEFAULT '-infinity', filled boolean NOT NULL DEFAULT false, last_error text, last_error_at timestamptz
) WITH (fillfactor = 20);
COMMENT ON TABLE tbf_rollup_definitions IS 'what all roll-ups are made of, and how far they are: the table beneath the views tbf_rollup and tbf_rollups';
COMMENT ON COLUMN tbf_rollup_definitions.column_types IS 'the types of the time column and of these columns, as the rows were counted; numeric(1000,2): of any precision, with two digits after the point';
COMMENT ON COLUMN tbf_rollup_definitions.folded IS 'for each tier: what is before this time is in a later tier, or has been deleted from the last one';
COMMENT ON COLUMN tbf_rollup_definitions.counted_to IS 'time of the newest hit at the beginning of the last refresh';
COMMENT ON COLUMN tbf_rollup_definitions.open_from IS 'no row that is not closed starts earlier';
COMMENT ON COLUMN tbf_rollup_definitions.filled IS 'the roll-up has rows; if it has none all the same, they were deleted, and the next refresh counts them anew';
COMMENT ON COLUMN tbf_rollup_definitions.last_error IS 'why the last refresh failed; null: it did not';

-- pg_dump leaves out definitions of roll-ups that DROP TABLE has dropped.
SELECT pg_catalog.pg_extension_config_dump('tbf_rollup_definitions', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rollup)');
-- The table belongs to a superuser. The role that has created the extension can dump the table with its database, and restore it.
DO $$ BEGIN EXECUTE pg_catalog.format('GRANT SELECT, INSERT ON tbf_rollup_definitions TO %s', (SELECT extowner::pg_catalog.regrole FROM pg_catalog.pg_extension WHERE extname = 'streambloom')); END $$;

-- LOCK TABLE needs UPDATE or DELETE on the whole relation. So PUBLIC has UPDATE only column by column, and _tbf_rollup_dropped deletes instead of DELETE.
CREATE VIEW tbf_rollup WITH (security_barrier) AS SELECT * FROM tbf_rollup_definitions d
	WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = d.rollup AND pg_catalog.pg_has_role(c.relowner, 'USAGE'));
DO $$ BEGIN
	EXECUTE (SELECT pg_catalog.format('GRANT SELECT, INSERT, UPDATE (%s) ON tbf_rollup TO PUBLIC', pg_catalog.string_agg(attname, ', '))
		FROM pg_catalog.pg_attribute WHERE attrelid = 'tbf_rollup'::pg_catalog.regclass AND attnum > 0);
END $$;
COMMENT ON VIEW tbf_rollup IS 'what one''s own roll-ups are made of, and how far they are; UPDATE changes a definition. The view tbf_rollups shows all that one may read, with advice';

-- INSERT of a roll-up deletes its definition, and those of roll-ups that DROP TABLE has dropped, but for ones that another transaction is deleting. The
-- rule deletes with the rights of its owner; _tbf_rollup_guard() checks those of the current user.
CREATE VIEW _tbf_rollup_dropped AS SELECT NULL::pg_catalog.regclass AS rollup WHERE false;
CREATE RULE forget AS ON INSERT TO _tbf_rollup_dropped DO INSTEAD
	DELETE FROM tbf_rollup_definitions d WHERE d.rollup = NEW.rollup
		OR d.rollup IN (SELECT r.rollup FROM tbf_rollup_definitions r WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = r.rollup) FOR UPDATE OF r SKIP LOCKED);
GRANT INSERT ON _tbf_rollup_dropped TO PUBLIC;
COMMENT ON VIEW _tbf_rollup_dropped IS 'implementation of tbf_rollup_drop(): INSERT of a roll-up deletes its definition';

-- Raises an error if a roll-up cannot have these parameters. (The first rule that is broken is raised. PostgreSQL compares intervals as if each month had
-- thirty days, so one whose fields differ in sign may be longer than any that a timestamp can be moved by. What an abbreviation of a zone means depends
-- on timezone_abbreviations; each refresh comes here, so that list is not read for UTC.)
CREATE FUNCTION _tbf_rollup_check(tiers text[], keep interval[], lateness interval, top integer, zone text, half_life interval) RETURNS void
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	units CONSTANT text[] := '{minute,hour,day,week,month,quarter,year}'; given CONSTANT text := format('tiers is %s, keep is %s.', tiers, keep); wrong record;
BEGIN
	SELECT * INTO wrong FROM (
		SELECT 'null_value_not_allowed' AS state, 'tiers, keep, lateness, top and zone of a roll-up must not be null' AS message, 'The definition of a roll-up has all of them.' AS detail, 'Make roll-ups with tbf_rollup_create(). It also takes over a table whose definition is lost.' AS hint
			WHERE num_nulls(tiers, keep, lateness, top, zone) > 0
		UNION ALL SELECT NULL, format('a roll-up with %s tiers and %s times to keep them', cardinality(tiers), cardinality(keep)), given, 'Give tiers such as ''{hour,day,month}'' and as many times to keep them, such as ''{35 days,2 years,null}''.'
			WHERE cardinality(tiers) NOT BETWEEN 1 AND 7 OR cardinality(keep) <> cardinality(tiers)
		UNION ALL SELECT NULL, format('tier %s of a roll-up cannot be %s', i, coalesce(quote_literal(tiers[i]), 'null')), given, 'The tiers rise: minute, hour or day, and then any of hour, day, week, month, quarter, year. Weeks are parts of no longer tier.'
			FROM generate_subscripts(tiers, 1) i WHERE array_position(units, tiers[i]) IS NULL OR i = 1 AND NOT tiers[i] = ANY ('{minute,hour,day}') OR i > 1 AND (array_position(units, tiers[i]) <= array_position(units, tiers[i - 1]) OR tiers[i - 1] = 'week')
		UNION ALL SELECT NULL, format('tier %s of a roll-up cannot be kept for %s', i, coalesce(quote_literal(keep[i]), 'null')), given, 'The times rise from tier to tier. Only that of the last tier may be null, which means for ever.'
			FROM generate_subscripts(tiers, 1) i WHERE keep[i] IS NULL AND i < cardinality(tiers) OR NOT keep[i] > interval '0' OR NOT keep[i] < interval '10000 years' OR i > 1 AND NOT keep[i] > keep[i - 1]
		UNION ALL SELECT NULL, format('lateness %L of a roll-up is out of range', lateness), coalesce(format('The first tier is kept for %L.', keep[1]), 'The first tier is kept for ever.'), 'It is 0 or more, and less than the first tier is kept. A number without a unit means seconds.'
			WHERE NOT (lateness >= interval '0' AND lateness < keep[1] IS NOT FALSE AND lateness < interval '1000 years')
		UNION ALL SELECT NULL, format('times of a roll-up cannot go back: keep is %s, lateness %L', keep, lateness), given, 'Give intervals without a negative field, such as 23 hours instead of 1 day -1 hours.'
			FROM unnest(keep || lateness) i WHERE least(extract(year FROM i), extract(month FROM i), extract(day FROM i), extract(hour FROM i), extract(minute FROM i), extract(second FROM i)) < 0
		UNION ALL SELECT NULL, format('a list of %s hot items is out of range', top), format('top is %s.', top), 'top is from 1 to 10000.' WHERE top NOT BETWEEN 1 AND 10000
		UNION ALL SELECT NULL, format('the zone of a roll-up cannot be the abbreviation %s', zone), format('zone is %L.', zone), 'Give a name, such as ''Europe/Berlin'': the view pg_timezone_names has all.'
			WHERE zone <> 'UTC' AND EXISTS (SELECT FROM pg_timezone_abbrevs WHERE abbrev = upper(zone) AND utc_offset <> interval '0')) rules LIMIT 1;
	IF wrong.message IS NOT NULL THEN
		RAISE EXCEPTION '%', wrong.message USING ERRCODE = coalesce(wrong.state, 'invalid_parameter_value'), DETAIL = wrong.detail, HINT = wrong.hint;
	END IF;
	BEGIN
		PERFORM timestamptz '2000-01-01' AT TIME ZONE zone;
	EXCEPTION WHEN invalid_parameter_value THEN
		RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'invalid_parameter_value', HINT = 'The view pg_timezone_names has all zones, such as ''Europe/Berlin''.';
	END;
	-- (The notice of a short half-life, which would come at each refresh, is not shown. tbf_rollup_create() warns.)
	IF half_life IS NOT NULL THEN EXECUTE format('SELECT %s.decay_exponential(interval ''0'', $1)', extension) USING half_life; END IF;
END $$;
COMMENT ON FUNCTION _tbf_rollup_check(text[], interval[], interval, integer, text, interval) IS 'implementation of tbf_rollup_create(): an error if there can be no roll-up with these parameters';

-- A refresh runs the expressions of a definition with the rights of the roll-up's owner, so only roles with these rights write it. By tiers,
-- group_columns and zone a refresh finds what is counted, so they stay.
CREATE FUNCTION _tbf_rollup_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); wrong record;
BEGIN
	SELECT * INTO wrong FROM (
		SELECT 'wrong_object_type' AS state, format('%s is no table', coalesce(NEW.rollup::text, 'null')) AS message, 'The definition of a roll-up names its table.' AS detail, 'Make roll-ups with tbf_rollup_create().' AS hint
			WHERE TG_OP <> 'DELETE' AND NOT EXISTS (SELECT FROM pg_class WHERE oid = NEW.rollup AND relkind = 'r')
		UNION ALL SELECT 'insufficient_privilege', format('must be owner of roll-up %s', oid::regclass), 'Its owner runs the expressions that its definition holds.', 'Ask its owner, or SET ROLE to a role that has the owner''s rights.'
			FROM pg_class WHERE oid IN (OLD.rollup, NEW.rollup) AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE')
		UNION ALL SELECT 'object_not_in_prerequisite_state', format('tiers, grouping columns and zone of roll-up %s cannot be changed', OLD.rollup), 'Its rows were made by them.', 'Make another roll-up.'
			WHERE TG_OP = 'UPDATE' AND (NEW.rollup, NEW.tiers, NEW.group_columns, NEW.zone) IS DISTINCT FROM (OLD.rollup, OLD.tiers, OLD.group_columns, OLD.zone)
		UNION ALL SELECT 'invalid_parameter_value', format('a roll-up with %s tiers cannot be folded to %s', cardinality(NEW.tiers), NEW.folded), 'folded has a time for each tier.', 'Only tbf_rollup_refresh() changes this column.'
			WHERE cardinality(NEW.folded) <> cardinality(NEW.tiers) OR array_position(NEW.folded, NULL) IS NOT NULL
		UNION ALL SELECT 'datetime_field_overflow', format('a roll-up cannot be folded to %s, have counted to %s, or be open from %s', NEW.folded, coalesce(quote_literal(NEW.counted_to), 'null'), quote_literal(NEW.open_from)),
			'The view tbf_rollups would fail for all.', 'Only tbf_rollup_refresh() changes these columns.'
			FROM unnest(NEW.folded || NEW.counted_to || NEW.open_from) t WHERE t <> '-infinity' AND NOT (t >= '4713-01-01 00:00 UTC BC' AND t < '200000-01-01 00:00 UTC')
		UNION ALL SELECT 'invalid_parameter_value', format('a roll-up with %s grouping columns cannot have the types %s', cardinality(NEW.group_columns), NEW.column_types), 'Hits are found again only under the types with which they were counted.',
			'Give the type of the time column, and then one for each grouping column.' WHERE cardinality(NEW.column_types) <> 1 + cardinality(NEW.group_columns) OR array_position(NEW.column_types, NULL) IS NOT NULL) rules LIMIT 1;
	IF wrong.state IS NOT NULL THEN
		RAISE EXCEPTION '%', wrong.message USING ERRCODE = wrong.state, DETAIL = wrong.detail, HINT = wrong.hint;
	ELSIF TG_OP = 'DELETE' THEN RETURN OLD;
	END IF;
	-- A source that was dropped becomes 0, written as "-": a dump would hold its OID, which another table may have where the dump is restored.
	IF NEW.source IS NOT NULL AND has_table_privilege(NEW.source, 'SELECT') IS NULL THEN NEW.source := 0; END IF;
	EXECUTE format('SELECT %s._tbf_rollup_check($1, $2, $3, $4, $5, $6)', extension) USING NEW.tiers, NEW.keep, NEW.lateness, NEW.top, NEW.zone, NEW.half_life;
	RETURN NEW;
END $$;
COMMENT ON FUNCTION _tbf_rollup_guard() IS 'trigger of tbf_rollup_definitions: only the owner of a roll-up changes its definition, and only what the rows do not depend on';
CREATE TRIGGER _tbf_rollup_guard BEFORE INSERT OR UPDATE OR DELETE ON tbf_rollup_definitions FOR EACH ROW EXECUTE FUNCTION _tbf_rollup_guard();

CREATE FUNCTION _tbf_rollup_unknown(relation regclass) RETURNS text LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT CASE WHEN (SELECT pg_catalog.array_agg(a.attname ORDER BY a.attnum) FROM pg_catalog.pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped)
			= '{tier,starts,ends,closed,groups,oldest,newest,hits,f,hot,hot_hits,hot_over,hot_rest}'::pg_catalog.name[]
		THEN 'Its definition is lost. Call tbf_rollup_create() again as its owner, with the arguments that made it.'
		ELSE 'The view tbf_rollups has all. Make one with tbf_rollup_create().' END;
END;
COMMENT ON FUNCTION _tbf_rollup_unknown(regclass) IS 'implementation of the functions of roll-ups: the hint for a table without a definition';

-- The definition of a roll-up, or an error. Without `own` it is for a question: only group_columns, half_life and counted_to are set, the current
-- user must have SELECT on the roll-up, and if `notify`, a NOTICE says that nothing was counted yet. With `own` the current user must have the rights
-- of the roll-up's owner. runs: the caller will run the expressions of the definition. Then the current user must be the owner itself, so that what
-- the owner has written never runs with the rights of another role.
CREATE FUNCTION _tbf_rollup_definition(rollup regclass, own boolean DEFAULT false, runs boolean DEFAULT false, notify boolean DEFAULT false) RETURNS tbf_rollup LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	definition record; hint text; owner regrole := (SELECT relowner FROM pg_class WHERE oid = rollup);
BEGIN
	EXECUTE format(CASE WHEN own THEN 'SELECT * FROM %1$s.tbf_rollup r WHERE r.rollup = $1' ELSE 'SELECT (jsonb_populate_record(NULL::%1$s.tbf_rollup, to_jsonb(s))).* FROM (SELECT r.rollup, r.group_columns, r.half_life, r.counted_to FROM %1$s.tbf_rollups r WHERE r.rollup = $1) s' END, extension) INTO definition USING rollup;
	IF NOT own AND NOT has_table_privilege(rollup, 'SELECT') THEN
		RAISE EXCEPTION 'permission denied for roll-up %', rollup USING ERRCODE = 'insufficient_privilege', HINT = 'Its owner may GRANT SELECT on it.';
	ELSIF definition.rollup IS NULL AND (NOT own OR pg_has_role(owner, 'USAGE') IS NOT FALSE) THEN
		EXECUTE format('SELECT %s._tbf_rollup_unknown($1)', extension) INTO hint USING rollup;
		RAISE EXCEPTION '% is no roll-up', coalesce(quote_literal(rollup::text), 'null') USING ERRCODE = CASE WHEN rollup IS NULL THEN 'null_value_not_allowed' ELSE 'wrong_object_type' END, HINT = hint;
	ELSIF own AND (NOT pg_has_role(owner, 'USAGE') OR runs AND owner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)) THEN
		RAISE EXCEPTION 'must be owner of roll-up %', rollup USING ERRCODE = 'insufficient_privilege',
			DETAIL = CASE WHEN runs THEN 'A refresh runs the expressions that its owner has given.' ELSE format('It belongs to %s.', owner) END,
			HINT = CASE WHEN runs THEN format('SET ROLE %s, or schedule the refresh as that role.', owner) ELSE format('Ask a member of %s.', owner) END;
	ELSIF notify AND definition.counted_to IS NULL THEN
		RAISE NOTICE 'roll-up % has counted nothing yet', rollup USING HINT = format('CALL tbf_rollup_refresh(%L)', rollup);
	END IF;
	RETURN definition;
END $$;
COMMENT ON FUNCTION _tbf_rollup_definition(regclass, boolean, boolean, boolean) IS 'implementation of the functions of roll-ups: the definition, or an error';

-- at - span, in UTC, or -infinity if that is before 4712 BC: no earlier hits are counted, since times around them would be out of range.
CREATE FUNCTION _tbf_rollup_before(at timestamptz, span interval) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE SET timezone = 'UTC'
BEGIN ATOMIC
	SELECT CASE WHEN extract(epoch FROM at) - extract(epoch FROM span) < extract(epoch FROM timestamptz '4712-01-01 00:00 UTC BC') THEN timestamptz '-infinity' ELSE at - span END;
END;
COMMENT ON FUNCTION _tbf_rollup_before(timestamptz, interval) IS 'implementation of the functions of roll-ups: the time so long before another one; -infinity: before all hits';

-- Raises an error if row-level security applies to the source, or to a table that it reads as a view. With row_security off, as the functions that read
-- the source have it, PostgreSQL refuses the query instead of hiding rows. If it is refused with row_security on, too, that error is raised.
CREATE FUNCTION _tbf_rollup_no_row_security(source regclass) RETURNS void LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE reason text;
BEGIN
	EXECUTE format('SELECT FROM %s WHERE false', source);
EXCEPTION WHEN insufficient_privilege THEN
	reason := SQLERRM;
	PERFORM set_config('row_security', 'on', true);
	EXECUTE format('SELECT FROM %s WHERE false', source);
	RAISE EXCEPTION 'cannot roll up % under row-level security', source USING ERRCODE = 'feature_not_supported',
		DETAIL = format('A roll-up counts the rows of all, and everybody who may read it would see them: %s.', reason),
		HINT = 'Make and refresh it as a role that row-level security does not apply to. In a view it is that of the owner of the view, unless the view is a security_invoker.';
END $$;
COMMENT ON FUNCTION _tbf_rollup_no_row_security(regclass) IS 'implementation of the functions of roll-ups: an error if row-level security applies to the source, or to a table that it reads as a view';

-- The types of columns; null for one that does not exist. What only limits values is left out: a length, and a precision, which is written as 1000.
CREATE FUNCTION _tbf_rollup_types(source regclass, columns name[]) RETURNS text[] LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT pg_catalog.array_agg(pg_catalog.format_type(a.atttypid, CASE WHEN a.atttypid = pg_catalog.regtype 'numeric' AND a.atttypmod >= 4 THEN ((1000 << 16) | ((a.atttypmod - 4) & 65535)) + 4
			WHEN a.atttypid NOT IN (pg_catalog.regtype 'varchar', pg_catalog.regtype 'varbit') THEN a.atttypmod END) ORDER BY u.n)
		FROM ROWS FROM (pg_catalog.unnest(columns)) WITH ORDINALITY u(c, n) LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = source AND a.attname = u.c AND a.attnum > 0 AND NOT a.attisdropped;
END;
COMMENT ON FUNCTION _tbf_rollup_types(regclass, name[]) IS 'implementation of the functions of roll-ups: the types of columns';

-- The start of the bucket that has the time `at`. Days, and longer buckets, begin at midnight in the zone, or with the first moment after it. If clocks
-- are put back over midnight, they show it twice, and the day begins at the first one. (date_trunc() takes the second, which may be later than `at`.)
-- `earlier` is before `midnight` by as much as clocks were put back in the 24 hours before: it is the first midnight if clocks showed it then.
CREATE FUNCTION _tbf_rollup_bucket_start(at timestamptz, unit text, zone text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN unit IN ('minute', 'hour') OR NOT pg_catalog.isfinite(at) THEN pg_catalog.date_trunc(unit, at, zone) ELSE (
		SELECT CASE WHEN pg_catalog.max(start) <= at THEN pg_catalog.max(start) ELSE pg_catalog.min(start) END
		FROM (SELECT CASE WHEN earlier < midnight AND earlier AT TIME ZONE zone >= midnight AT TIME ZONE zone THEN earlier ELSE midnight END AS start
			FROM (SELECT midnight, midnight - interval '24 hours' + (midnight AT TIME ZONE zone - (midnight - interval '24 hours') AT TIME ZONE zone) AS earlier
				FROM (VALUES (pg_catalog.date_trunc(unit, at, zone)), (pg_catalog.date_trunc(unit, at + interval '24 hours', zone))) m(midnight)) e) s) END;
END;
COMMENT ON FUNCTION _tbf_rollup_bucket_start(timestamptz, text, text) IS 'implementation of the functions of roll-ups: the start of the bucket that has this time';
CREATE FUNCTION _tbf_rollup_bucket_end(starts timestamptz, unit text, zone text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN unit IN ('minute', 'hour') THEN starts + ('1 ' || unit)::pg_catalog.interval
		ELSE _tbf_rollup_bucket_start((starts AT TIME ZONE zone + CASE unit WHEN 'quarter' THEN interval '3 months' ELSE ('1 ' || unit)::pg_catalog.interval END
			+ interval '12 hours') AT TIME ZONE zone, unit, zone) END;
END;
COMMENT ON FUNCTION _tbf_rollup_bucket_end(timestamptz, text, text) IS 'implementation of the functions of roll-ups: the end of the bucket that starts at this time';
CREATE FUNCTION _tbf_rollup_volatile(query text) RETURNS boolean AS 'MODULE_PATHNAME', 'tbf_rollup_volatile' LANGUAGE C STABLE STRICT COST 1000;
COMMENT ON FUNCTION _tbf_rollup_volatile(text) IS 'implementation of tbf_rollup_create(): whether a query calls a volatile function';
CREATE FUNCTION _tbf_rollup_make(default_schema name, name text, source regclass, item text, time_column name, condition text, weight text, group_by name[],
		tiers text[], keep interval[], lateness interval, top integer, zone text, half_life interval) RETURNS regclass LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	parts text[]; wrong record; place text; made regclass; type record; short record; failed text; hint text; lost boolean; volatile boolean;
	messages text := current_setting('client_min_messages'); folded timestamptz[]; counted_to timestamptz;
BEGIN
	SELECT * INTO wrong FROM (
		SELECT 'null_value_not_allowed' AS state, 'only condition, weight and half_life of a roll-up may be null' AS message, 'Leave a parameter out, and it has its default. Name, source, item and time_column have none.' AS hint
			WHERE num_nulls(name, source, item, time_column, group_by, tiers, keep, lateness, top, zone) > 0
		UNION ALL SELECT 'wrong_object_type', format('cannot roll up %s: it is no table', source), 'The source is a table, a partitioned or foreign table, a hypertable, or a view.'
			WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = source AND relkind IN ('r', 'p', 'f', 'v', 'm'))
		UNION ALL SELECT 'undefined_column', format('column %s of %s does not exist', coalesce(quote_ident(part), 'null'), source), c.hint
			FROM (SELECT time_column AS part, 'time_column is the name of the column with the time of a hit.' AS hint UNION ALL SELECT unnest(group_by), 'group_by has names of columns.') c
			WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = part AND (attnum > 0 OR part = time_column) AND NOT attisdropped)
		UNION ALL SELECT 'datatype_mismatch', format('column %I of %s is of type %s', time_column, source, atttypid::regtype), 'The time of a hit is a timestamp with time zone, or one without, which is read as UTC.'
			FROM pg_attribute WHERE attrelid = source AND attname = time_column AND NOT attisdropped AND atttypid NOT IN ('timestamptz'::regtype, 'timestamp'::regtype)) rules LIMIT 1;
	IF wrong.state IS NOT NULL THEN RAISE EXCEPTION '%', wrong.message USING ERRCODE = wrong.state, HINT = wrong.hint; END IF;
	BEGIN
		parts := parse_ident(name);
	EXCEPTION WHEN invalid_parameter_value THEN
		RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'invalid_name', HINT = 'The name of a roll-up is written as that of a table: name, schema.name or "a Name".';
	END;
	IF cardinality(parts) > 2 OR cardinality(parts) = 1 AND default_schema IS NULL THEN
		RAISE EXCEPTION 'no schema to make % in', quote_literal(name) USING ERRCODE = 'invalid_schema_name', HINT = 'Write the name as schema.name.';
	END IF;
	place := format('%I.%I', CASE cardinality(parts) WHEN 2 THEN parts[1] ELSE default_schema END, parts[cardinality(parts)]);
	IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = source AND (relkind NOT IN ('r', 'p', 'm') OR EXISTS (SELECT FROM pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] WHERE p.partrelid = source AND attname = time_column)))
			AND NOT EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = source AND a.attnum = i.indkey[0] WHERE i.indrelid = source AND attname = time_column AND indisvalid AND indpred IS NULL) THEN
		RAISE NOTICE '% has no index that begins with %', source, quote_ident(time_column) USING DETAIL = 'Each step of a refresh will read the whole table.', HINT = format('CREATE INDEX ON %s (%I)', source, time_column);
	END IF;
	PERFORM set_config('client_min_messages', 'warning', true) WHERE messages <> 'error';
	EXECUTE format('SELECT %s._tbf_rollup_check($1, $2, $3, $4, $5, $6)', extension) USING tiers, keep, lateness, top, zone, half_life;
	EXECUTE format('SELECT %s._tbf_rollup_no_row_security($1)', extension) USING source;
	FOR short IN SELECT * FROM (SELECT 'half-life', half_life UNION ALL SELECT 'time to keep a tier', k FROM unnest(keep) k UNION ALL SELECT 'lateness', lateness) t (what, span)
			WHERE span > interval '0' AND span < interval '1 minute' LOOP
		RAISE WARNING 'the % "%" is shorter than a minute, the shortest bucket of a roll-up', short.what, short.span USING HINT = 'A number without a unit means seconds. For another unit write it, as in ''7 days''.';
	END LOOP;
	-- With the time column, PostgreSQL refuses the query of an item such as count(*).
	FOR type IN VALUES ('item', item, E'SELECT (%1$s\n), %3$I FROM %2$s WHERE false', 'It is a column of the source or an expression over its columns, such as ''lower(url)''.'),
			('condition', condition, E'SELECT FROM %2$s WHERE (%1$s\n) AND false', 'It is an expression of type boolean over the columns of the source, such as ''status = 404''.'),
			('weight', weight, E'SELECT coalesce((%1$s\n), 0::float8), %3$I FROM %2$s WHERE false', 'It is a number over the columns of the source, such as ''bytes''.') LOOP
		CONTINUE WHEN type.column2 IS NULL;
		BEGIN
			EXECUTE format(type.column3, type.column2, source, time_column);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS failed = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
			RAISE EXCEPTION '%', CASE WHEN failed IN ('42803', '42P20') THEN format('the %s of a roll-up cannot have aggregates or window functions', type.column1) ELSE SQLERRM END USING ERRCODE = failed, DETAIL = format('The %s was given as %L.', type.column1, type.column2), HINT = coalesce(nullif(hint, ''), type.column4);
		END;
		EXECUTE format('SELECT %s._tbf_rollup_volatile($1)', extension) INTO volatile USING format(type.column3, type.column2, source, time_column);
		IF volatile THEN
			RAISE WARNING 'the % of roll-up % calls a volatile function', type.column1, name USING DETAIL = format('The %s was given as %L.', type.column1, type.column2),
				HINT = 'If it gives another value for a row each time, as random() does, each refresh counts the row again. If it does not, declare the function STABLE.';
		END IF;
	END LOOP;
	EXECUTE format(E'SELECT t.typname, n.nspname, t.oid AS atttypid, t.typarray, e.typname AS array_name, t.typtype FROM (SELECT pg_typeof((SELECT (%s\n) FROM %s WHERE false)) AS item) i
		JOIN pg_type t ON t.oid = i.item JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type e ON e.oid = t.typarray', item, source) INTO type;
	IF type.typarray = 0 OR type.typtype = 'c' OR type.atttypid = 'record'::regtype THEN
		RAISE EXCEPTION '%', CASE type.atttypid WHEN 'record'::regtype THEN 'items of a roll-up cannot be rows without a type' ELSE format('items of type %s cannot be rolled up', type.atttypid::regtype) END USING ERRCODE = 'datatype_mismatch',
			HINT = CASE type.atttypid WHEN 'record'::regtype THEN '' ELSE 'To count the elements of an array, give unnest(column). ' END || 'To count other values, give an expression of a type of their own, such as text or concat_ws('' '', host, url).';
	END IF;
	-- tbf_agg() raises an error if the type cannot be that of an item, even for a null item.
	EXECUTE format(E'SELECT %1$s.tbf_agg(coalesce((SELECT (%4$s\n) FROM %5$s WHERE false), NULL::%2$s.%3$I), NULL::timestamptz, NULL::interval)',
		extension, type.nspname, type.typname, item, source);
	-- A table whose definition is lost gets one. Its rows say how far it is.
	made := to_regclass(place);
	EXECUTE format('SELECT %s._tbf_rollup_unknown($1) ~ ''lost'' AND NOT EXISTS (SELECT FROM %1$s.tbf_rollup r WHERE r.rollup = $1) AND EXISTS (SELECT FROM pg_class WHERE oid = $1 AND relkind = ''r'' AND pg_has_role(relowner, ''USAGE''))', extension) INTO lost USING made;
	IF lost THEN
		EXECUTE format('SELECT format(''a row of tier %%s from %%s to %%s, groups %%s'', tier, starts, ends, groups) FROM %1$s WHERE (starts, ends) IS DISTINCT FROM (%2$s._tbf_rollup_bucket_start(starts, $1[tier], $2), %2$s._tbf_rollup_bucket_end(starts, $1[tier], $2))
			OR ARRAY(SELECT jsonb_object_keys(groups) ORDER BY 1) <> ARRAY(SELECT unnest($3)::text ORDER BY 1) LIMIT 1', place, extension) INTO failed USING tiers, zone, group_by;
		IF failed IS NULL AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = made AND attname = 'hot' AND atttypid = type.typarray) THEN
			failed := 'items of a type other than ' || type.atttypid::regtype;
		END IF;
		IF failed IS NOT NULL THEN
			RAISE EXCEPTION 'roll-up % was made with other arguments', made USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = 'It has ' || failed || '.',
				HINT = 'Its definition is lost. Give the item, tiers, zone and group_by that it was made with, or another name.';
		END IF;
		EXECUTE format('SELECT max(newest), array_agg(greatest(coalesce((SELECT max(ends) FROM %1$s WHERE tier > i), ''-infinity''), CASE WHEN $1 IS NOT NULL THEN (SELECT min(starts) FROM %1$s) END) ORDER BY i)
			FROM generate_series(1, $2) i LEFT JOIN (SELECT max(newest) AS newest FROM %1$s) n ON true', place) INTO counted_to, folded USING keep[cardinality(keep)], cardinality(tiers);
	ELSE
		folded := array_fill(timestamptz '-infinity', ARRAY[cardinality(tiers)]);
		BEGIN
			EXECUTE format('CREATE TABLE %s (
			tier smallint NOT NULL, starts timestamptz NOT NULL, ends timestamptz NOT NULL, closed boolean NOT NULL, groups jsonb NOT NULL,
			oldest timestamptz NOT NULL, newest timestamptz NOT NULL, hits double precision NOT NULL, f %s.tbf NOT NULL,
			hot %s.%I NOT NULL, hot_hits double precision[] NOT NULL, hot_over double precision NOT NULL, hot_rest double precision NOT NULL) WITH (toast_tuple_target = 8160)', place, extension, type.nspname, type.array_name);
		EXCEPTION WHEN duplicate_table THEN
			RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'duplicate_table', HINT = 'Give the roll-up another name, or drop the old one with tbf_rollup_drop().';
		END;
		made := place::regclass;
		-- The lists stay in the table, and filters that do not fit into a page go to TOAST, where questions for lists do not read them.
		EXECUTE format('ALTER TABLE %s ALTER hot SET STORAGE main, ALTER hot_hits SET STORAGE main', made);
		EXECUTE format('CREATE INDEX ON %s (starts)', made);
		-- The table has no key, and so needs this to be published. It makes the WAL longer only if wal_level is logical.
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', made);
		EXECUTE format('COMMENT ON TABLE %s IS %L', made, 'roll-up of ' || source || ' (streambloom): read it, but let only tbf_rollup_refresh() write it');
	END IF;
	-- The table may have got the OID of a roll-up that DROP TABLE has dropped.
	EXECUTE format('INSERT INTO %s._tbf_rollup_dropped VALUES ($1)', extension) USING made;
	EXECUTE format('INSERT INTO %s.tbf_rollup VALUES ($1, $2, $3, $4, $5, $6, $7, %1$s._tbf_rollup_types($2, $4 || $7), $8, $9, $10, $11, $12, $13, $14, $15, ''-infinity'', $15 IS NOT NULL)', extension)
		USING made, source, item, time_column, condition, weight, group_by, tiers, keep, lateness, top, zone, half_life, folded, counted_to;
	-- finds the errors in expressions that the checks above did not find
	EXECUTE format('SELECT %s._tbf_rollup_step($1, ''-infinity'', ''-infinity'', ''-infinity'')', extension) USING made;
	PERFORM set_config('client_min_messages', messages, true);
	RETURN made;
END $$;
COMMENT ON FUNCTION _tbf_rollup_make(name, text, regclass, text, name, text, text, name[], text[], interval[], interval, integer, text, interval) IS 'implementation of tbf_rollup_create()';
CREATE FUNCTION tbf_rollup_create(name text, source regclass, item text, time_column name, condition text DEFAULT NULL, weight text DEFAULT NULL, group_by name[] DEFAULT '{}',
		tiers text[] DEFAULT '{hour,day,month}', keep interval[] DEFAULT '{35 days,2 years,null}', lateness interval DEFAULT '2 hours', top integer DEFAULT 100,
		zone text DEFAULT 'UTC', half_life interval DEFAULT '7 days') RETURNS regclass LANGUAGE sql
BEGIN ATOMIC
	SELECT _tbf_rollup_make(pg_catalog.current_schema(), name, source, item, time_column, condition, weight, group_by, tiers, keep, lateness, top, zone, half_life);
END;
COMMENT ON FUNCTION tbf_rollup_create(text, regclass, text, name, text, text, name[], text[], interval[], interval, integer, text, interval) IS 'makes a roll-up: an empty table for tbf_rollup_refresh(), or a table whose definition is lost. item: an expression over the columns of the source; time_column: of the type timestamptz, or timestamp, which is read as UTC; condition: which rows are counted (null: all); weight: an expression, how many hits a row counts as, 0 or more and less than 2^33 (null: 1); group_by: columns whose values are counted apart; tiers: minute, hour, day, week, month, quarter or year; keep: how long each tier is kept; lateness: how late rows may be committed; top: 1 to 10,000 entries of the list of hot items of a row; zone: in which days begin; half_life: what questions use if they name no decay (null: none). Functions and operators in the expressions need their schemas, unless it is pg_catalog';
CREATE FUNCTION tbf_rollup_drop(rollup regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); names text[]; job bigint;
BEGIN
	EXECUTE format('SELECT %s._tbf_rollup_definition($1, true)', extension) USING rollup;
	-- A step locks rows of the table first and its definition later, and this function the other way round: without the lock there could be a deadlock.
	EXECUTE format('SELECT pg_advisory_xact_lock((%L::regclass::oid::bigint << 32) | %s)', extension || '.tbf_rollup', rollup::oid);
	EXECUTE format('INSERT INTO %s._tbf_rollup_dropped VALUES ($1)', extension) USING rollup;
	SELECT ARRAY[quote_ident(relname), quote_ident(nspname) || '.' || quote_ident(relname)] INTO names FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = rollup;
	EXECUTE format('DROP TABLE %s', rollup);
	-- pg_cron shows each role its own jobs.
	IF to_regclass('cron.job') IS NOT NULL AND has_schema_privilege('cron', 'USAGE') AND has_table_privilege('cron.job', 'SELECT') THEN
		FOR job IN EXECUTE $jobs$SELECT jobid FROM cron.job WHERE database = current_database()
				AND EXISTS (SELECT FROM regexp_matches(command, 'tbf_rollup_refresh\s*\(\s*(?:rollup\s*:?=>?\s*)?E?''((?:[^'']|'''')+)''', 'gi') m WHERE replace(m[1], '''''', '''') = ANY ($1) OR lower(m[1]) = ANY ($1))$jobs$ USING names LOOP
			RAISE NOTICE 'job % of pg_cron will fail: it refreshes roll-up %', job, names[1] USING HINT = format('SELECT cron.unschedule(%s)', job);
		END LOOP;
	END IF;
END $$;
COMMENT ON FUNCTION tbf_rollup_drop(regclass) IS 'drops a roll-up: its table and its definition. The source stays as it is. A NOTICE names the jobs of pg_cron that refresh it';
