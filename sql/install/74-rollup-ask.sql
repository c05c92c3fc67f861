-- 74-rollup-ask.sql: questions to a roll-up (docs/rollups.md). The hits of a row differ in age, so each row gets two weights: each of its hits is worth
-- at least low and at most high. So every answer has a lower and an upper bound.

-- The two weights of each row that a question concerns. With from_time and to_time, a hit counts 1 from from_time to before to_time. If both are null,
-- the hits up to asked_at count, and decay by `weight`, an SQL expression of age (of a hit) and width (the time between the oldest and the newest hit
-- of the row) whose names are looked up in `path`, the search_path of the caller; null: by the half-life of the roll-up.
CREATE FUNCTION _tbf_rollup_weights(path text, rollup regclass, asked_at timestamptz, weight text, from_time timestamptz, to_time timestamptz, only_groups jsonb)
	RETURNS TABLE (id tid, low float8, high float8) LANGUAGE plpgsql STABLE ROWS 1000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom');
	def record; ids tid[]; ages interval[]; widths interval[]; newer boolean[]; weights float8[]; decay text; wanted text; asked text;
	messages text := current_setting('client_min_messages'); n integer;
BEGIN
	EXECUTE format('SELECT * FROM %s._tbf_rollup_definition($1)', extension) INTO def USING rollup;
	IF NOT (SELECT coalesce(bool_and(key = ANY (def.group_columns)), true) FROM jsonb_object_keys(CASE jsonb_typeof(only_groups) WHEN 'object' THEN only_groups ELSE '{}' END) key) OR jsonb_typeof(only_groups) <> 'object' THEN
		RAISE EXCEPTION 'roll-up % has no groups %', rollup, only_groups USING ERRCODE = 'invalid_parameter_value',
			DETAIL = CASE cardinality(def.group_columns) WHEN 0 THEN 'It was made without group_by.' ELSE format('It was made with group_by => %L.', def.group_columns) END,
			HINT = 'groups is an object with some of these columns and their values, such as {"country": "NL"}.';
	ELSIF from_time > to_time AND isfinite(from_time) AND isfinite(to_time) THEN
		RAISE EXCEPTION 'from_time % is later than to_time %', quote_literal(from_time), quote_literal(to_time) USING ERRCODE = 'invalid_parameter_value', HINT = 'The time goes from from_time to before to_time.';
	END IF;
	-- The values are compared by =, because @> would also find an array that has these elements and others.
	SELECT coalesce(string_agg(format('AND groups -> %L = %L', key, value), ' '), '') INTO wanted FROM jsonb_each(only_groups);
	IF from_time IS NOT NULL THEN RETURN QUERY EXECUTE format('SELECT ctid, (oldest >= $1 AND newest < $2)::integer::float8, 1::float8 FROM %1$s
			WHERE starts < $2 AND newest >= $1 AND oldest < $2 %2$s', rollup, wanted) USING from_time, to_time;
		RETURN;
	END IF;
	IF asked_at IS NULL OR NOT isfinite(asked_at) THEN
		RAISE EXCEPTION 'cannot ask a roll-up for the time %', coalesce(quote_literal(asked_at), 'null') USING ERRCODE = 'datetime_field_overflow', HINT = 'Ask for a finite time.';
	END IF;
	-- Of each row the expression is computed three times: with the age of the newest hit and the width of the row, and with the ages of the newest and of
	-- the oldest hit and width 0. The least weight in the row is one of the last two; for its width the expression has to return the largest.
	EXECUTE format('SELECT array_agg(ctid), array_agg(newest > $1), array_agg(age) || array_agg(age) || array_agg(age + width), array_agg(width) || array_fill(interval ''0'', ARRAY[2 * count(*)::integer])
		FROM (SELECT ctid, newest, greatest($1 - newest, ''0'') AS age, $1 - oldest - greatest($1 - newest, ''0'') AS width FROM %1$s WHERE starts <= $1 AND oldest <= $1 %2$s) s', rollup, wanted)
		INTO ids, newer, ages, widths USING asked_at;
	decay := CASE WHEN weight IS NOT NULL THEN weight WHEN def.half_life IS NULL THEN '1' ELSE format('%s.decay_exponential(age, %L)', extension, def.half_life) END;
	-- Only the expression runs with the caller's search_path. Between the two calls of set_config() each name needs its schema.
	asked := format(E'SELECT pg_catalog.array_agg(coalesce((%s\n), NULL::pg_catalog.float8) ORDER BY n) FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) WITH ORDINALITY s(age, width, n)', decay);
	path := CASE WHEN weight IS NULL THEN 'pg_catalog, pg_temp' ELSE path END;
	-- Whoever made the roll-up has been warned of a short half-life. Who asks it gave none.
	PERFORM set_config('client_min_messages', 'warning', true) WHERE weight IS NULL;
	PERFORM pg_catalog.set_config('search_path', path, true);
	BEGIN
		EXECUTE asked INTO weights USING ages, widths;
	EXCEPTION WHEN OTHERS THEN
		RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE, DETAIL = format('The weight was given as %L.', decay), HINT = 'It is an expression of age (an interval), such as decay_exponential(age, ''1 day'').';
	END;
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	PERFORM set_config('client_min_messages', messages, true);
	IF EXISTS (SELECT FROM unnest(weights) w WHERE (w >= 0 AND w < 8589934592) IS NOT TRUE) THEN
		RAISE EXCEPTION 'weight of hits is null or out of range' USING ERRCODE = 'numeric_value_out_of_range', HINT = 'The weight is an expression of age (an interval) whose values are 0 or more, and less than 2^33.';
	END IF;
	n := cardinality(ids);
	RETURN QUERY SELECT s.id, CASE WHEN s.newer THEN 0 ELSE least(s.wide, s.young, s.old) END, greatest(s.wide, s.young, s.old)
		FROM unnest(ids, newer, weights[:n], weights[n + 1:2 * n], weights[2 * n + 1:]) s(id, newer, wide, young, old) WHERE greatest(s.wide, s.young, s.old) > 0;
END $$;
COMMENT ON FUNCTION _tbf_rollup_weights(text, regclass, timestamptz, text, timestamptz, timestamptz, jsonb) IS 'implementation of the questions to roll-ups: what a hit of each row counts at least and at most';

-- The aggregate over the rows that a question concerns (src/pg/tbf/rollup_top.c): the items of the answer, as text, and their bounds.
CREATE TYPE _tbf_rollup_hot AS (items text[], bounds float8[]);
COMMENT ON TYPE _tbf_rollup_hot IS 'implementation of tbf_rollup_top() and tbf_rollup_risers(): items and their bounds';
CREATE FUNCTION _tbf_rollup_agg_hot(internal, hot anyarray, hot_hits float8[], hot_over float8, hot_rest float8, f tbf, weights float8[], wanted float8, counted boolean) RETURNS internal AS 'MODULE_PATHNAME', 'tbf_rollup_agg_hot' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _tbf_rollup_agg_hot(internal, anyarray, float8[], float8, float8, tbf, float8[], float8, boolean) IS 'implementation of _tbf_rollup_hot_agg';
CREATE FUNCTION _tbf_rollup_agg_hot_final(internal) RETURNS _tbf_rollup_hot AS 'MODULE_PATHNAME', 'tbf_rollup_agg_hot_final' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION _tbf_rollup_agg_hot_final(internal) IS 'implementation of _tbf_rollup_hot_agg';
CREATE AGGREGATE _tbf_rollup_hot_agg(hot anyarray, hot_hits float8[], hot_over float8, hot_rest float8, f tbf, weights float8[], wanted float8, counted boolean) (SFUNC = _tbf_rollup_agg_hot, STYPE = internal, SSPACE = 10000, FINALFUNC = _tbf_rollup_agg_hot_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE _tbf_rollup_hot_agg(anyarray, float8[], float8, float8, tbf, float8[], float8, boolean) IS 'implementation of tbf_rollup_top() and tbf_rollup_risers()';

-- A question runs with the rights of whoever asks. A cast may be a function that the owner of the items' type has written, but the functions that
-- read and print a type are a superuser's. So text becomes an item by this SQL expression and not by a cast. (A domain has no such function of its
-- own, so text is cast to it, which runs its CHECK.)
CREATE FUNCTION _tbf_rollup_item_of(rollup regclass, item text) RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT format(CASE WHEN t.typtype = 'd' THEN '%L::text::%I.%I' ELSE '%L::%I.%I' END, item, n.nspname, t.typname)
		FROM pg_attribute a JOIN pg_type l ON l.oid = a.atttypid JOIN pg_type t ON t.oid = l.typelem JOIN pg_namespace n ON n.oid = t.typnamespace WHERE a.attrelid = rollup AND a.attname = 'hot'
$$;
COMMENT ON FUNCTION _tbf_rollup_item_of(regclass, text) IS 'implementation of the questions to roll-ups: an SQL expression for an item that is given as text';

-- The k hottest items; if each_group is true, those of each group. counted: their bounds come from the filters, too.
CREATE FUNCTION _tbf_rollup_hottest(path text, rollup regclass, k integer, asked_at timestamptz, weight text, from_time timestamptz, to_time timestamptz, only_groups jsonb, each_group boolean, counted boolean)
	RETURNS TABLE (groups jsonb, item text, hits_from float8, hits_to float8, others_to float8)
	LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp SET jit = off SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); ids tid[]; lows float8[]; highs float8[];
BEGIN
	IF k IS NULL OR k < 0 THEN
		RAISE EXCEPTION 'number of items % is out of range', coalesce(k::text, 'null') USING ERRCODE = 'invalid_parameter_value', HINT = 'It must not be negative.';
	END IF;
	EXECUTE format('SELECT %s._tbf_rollup_definition($1, notify => true)', extension) USING rollup;
	-- The weights come from a query of their own, so that an error in them does not show the long one below.
	EXECUTE format('SELECT array_agg(id), array_agg(low), array_agg(high) FROM %s._tbf_rollup_weights($1, $2, $3, $4, $5, $6, $7)', extension)
		INTO ids, lows, highs USING path, rollup, asked_at, weight, from_time, to_time, only_groups;
	RETURN QUERY EXECUTE format($sql$
		SELECT groups, item, (hot).bounds[2 * n - 1], (hot).bounds[2 * n], (hot).bounds[2 * cardinality((hot).items) + 1]
		FROM (SELECT %3$s AS groups, %2$s._tbf_rollup_hot_agg(hot, hot_hits, hot_over, hot_rest, f, ARRAY[low, high], $4, $5) AS hot
			FROM %1$s r JOIN unnest($1, $2, $3) w(id, low, high) ON r.ctid = w.id %4$s OFFSET 0) s, unnest((hot).items) WITH ORDINALITY u(item, n) ORDER BY groups, n$sql$,
		rollup, extension, CASE WHEN each_group THEN 'r.groups' ELSE '''{}''::jsonb' END, CASE WHEN each_group THEN 'GROUP BY r.groups' END) USING ids, lows, highs, k, counted;
END $$;
COMMENT ON FUNCTION _tbf_rollup_hottest(text, regclass, integer, timestamptz, text, timestamptz, timestamptz, jsonb, boolean, boolean) IS 'implementation of tbf_rollup_top() and the like';
CREATE FUNCTION tbf_rollup_top(rollup regclass, k integer DEFAULT 10, at timestamptz DEFAULT now(), weight text DEFAULT NULL, groups jsonb DEFAULT '{}', counted boolean DEFAULT false,
		OUT item text, OUT hits_from float8, OUT hits_to float8, OUT others_to float8) RETURNS SETOF record LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
	SELECT h.item, h.hits_from, h.hits_to, h.others_to FROM _tbf_rollup_hottest(pg_catalog.current_setting('search_path'), rollup, k, at, weight, NULL, NULL, groups, false, counted) h;
END;
COMMENT ON FUNCTION tbf_rollup_top(regclass, integer, timestamptz, text, jsonb, boolean) IS 'the k hottest items of a roll-up at a time, from its lists, with bounds of their decayed hits; no item that is not among them has more than others_to. weight: an expression of age (an interval), such as decay_polynomial(age, 1, ''1 day'') (null: by the half-life of the roll-up); where it rises with age it must be the largest between age and age + width. groups: only these values of the grouping columns. counted: bounds by the filters, which differ only by the lengths of buckets';
CREATE FUNCTION tbf_rollup_top_by_group(rollup regclass, k integer DEFAULT 10, at timestamptz DEFAULT now(), weight text DEFAULT NULL, counted boolean DEFAULT false,
		OUT groups jsonb, OUT item text, OUT hits_from float8, OUT hits_to float8, OUT others_to float8) RETURNS SETOF record LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
	SELECT h.groups, h.item, h.hits_from, h.hits_to, h.others_to FROM _tbf_rollup_hottest(pg_catalog.current_setting('search_path'), rollup, k, at, weight, NULL, NULL, '{}', true, counted) h;
END;
COMMENT ON FUNCTION tbf_rollup_top_by_group(regclass, integer, timestamptz, text, boolean) IS 'as tbf_rollup_top(), for each combination of the grouping columns';
CREATE FUNCTION tbf_rollup_top_between(rollup regclass, from_time timestamptz, to_time timestamptz, k integer DEFAULT 10, groups jsonb DEFAULT '{}', counted boolean DEFAULT false,
		OUT item text, OUT hits_from float8, OUT hits_to float8, OUT others_to float8) RETURNS SETOF record LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
	SELECT h.item, h.hits_from, h.hits_to, h.others_to
	FROM _tbf_rollup_hottest(pg_catalog.current_setting('search_path'), rollup, k, NULL, NULL, coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity'), groups, false, counted) h;
END;
COMMENT ON FUNCTION tbf_rollup_top_between(regclass, timestamptz, timestamptz, integer, jsonb, boolean) IS 'as tbf_rollup_top(), of the undecayed hits from from_time to before to_time (null: all). Rows of which a part lies within count in hits_to only';
CREATE FUNCTION _tbf_rollup_counted(path text, rollup regclass, item text, asked_at timestamptz, weight text, from_time timestamptz, to_time timestamptz, only_groups jsonb,
		OUT hits_from float8, OUT hits_to float8) LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); asked text;
BEGIN
	EXECUTE format('SELECT %s._tbf_rollup_definition($1, notify => true)', extension) USING rollup;
	EXECUTE format('SELECT %s._tbf_rollup_item_of($1, $2)', extension) INTO asked USING rollup, item;
	EXECUTE format($sql$
		SELECT coalesce(sum(w.low * CASE WHEN i.layout = 'exact' THEN n ELSE coalesce(r.hot_hits[array_position(r.hot, %3$s)], 0) END), 0), coalesce(sum(w.high * n), 0)
		FROM %1$s r JOIN %2$s._tbf_rollup_weights($1, $2, $3, $4, $5, $6, $7) w ON r.ctid = w.id, %2$s.tbf_count(r.f, %3$s) n, %2$s.tbf_info(r.f) i$sql$, rollup, extension, asked)
		INTO hits_from, hits_to USING path, rollup, asked_at, weight, from_time, to_time, only_groups;
	IF item IS NULL THEN hits_from := NULL; hits_to := NULL; END IF;
END $$;
COMMENT ON FUNCTION _tbf_rollup_counted(text, regclass, text, timestamptz, text, timestamptz, timestamptz, jsonb) IS 'implementation of tbf_rollup_count() and the like';
CREATE FUNCTION tbf_rollup_count(rollup regclass, item anycompatible, at timestamptz DEFAULT now(), weight text DEFAULT NULL, groups jsonb DEFAULT '{}',
		OUT hits_from float8, OUT hits_to float8) LANGUAGE plpgsql STABLE SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' AS $$
BEGIN
	-- The names in `weight` are looked up in the caller's search_path, so this function sets none, and every name has its schema.
	EXECUTE pg_catalog.format('SELECT * FROM %I._tbf_rollup_counted(pg_catalog.current_setting(''search_path''), $1, $2, $3, $4, NULL, NULL, $5)', (SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'streambloom')) INTO hits_from, hits_to USING rollup, item::pg_catalog.text, at, weight, groups;
END $$;
COMMENT ON FUNCTION tbf_rollup_count(regclass, anycompatible, timestamptz, text, jsonb) IS 'bounds of the decayed hits of an item at a time. weight, groups: see tbf_rollup_top()';
CREATE FUNCTION tbf_rollup_count_between(rollup regclass, item anycompatible, from_time timestamptz, to_time timestamptz, groups jsonb DEFAULT '{}',
		OUT hits_from float8, OUT hits_to float8) LANGUAGE plpgsql STABLE SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' AS $$
BEGIN
	EXECUTE pg_catalog.format('SELECT * FROM %I._tbf_rollup_counted(pg_catalog.current_setting(''search_path''), $1, $2, NULL, NULL, $3, $4, $5)', (SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'streambloom')) INTO hits_from, hits_to USING rollup, item::pg_catalog.text, coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity'), groups;
END $$;
COMMENT ON FUNCTION tbf_rollup_count_between(regclass, anycompatible, timestamptz, timestamptz, jsonb) IS 'bounds of the undecayed hits of an item from from_time to before to_time (null: all)';

-- The merged filter of all rows, each with its weight `high`; null: there are none. of_low: only of rows whose weight `low` is not 0.
CREATE FUNCTION _tbf_rollup_merged(path text, rollup regclass, asked_at timestamptz, weight text, from_time timestamptz, to_time timestamptz, only_groups jsonb, of_low boolean) RETURNS tbf
	LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); merged record;
BEGIN
	EXECUTE format('SELECT %s._tbf_rollup_definition($1, notify => true)', extension) USING rollup;
	EXECUTE format('SELECT %2$s.tbf_merge_agg(r.f, w.high) AS f FROM %1$s r JOIN %2$s._tbf_rollup_weights($1, $2, $3, $4, $5, $6, $7) w ON r.ctid = w.id WHERE w.low > 0 OR NOT $8', rollup, extension)
		INTO merged USING path, rollup, asked_at, weight, from_time, to_time, only_groups, of_low;
	RETURN merged.f;
END $$;
COMMENT ON FUNCTION _tbf_rollup_merged(text, regclass, timestamptz, text, timestamptz, timestamptz, jsonb, boolean) IS 'implementation of tbf_rollup_filter() and the like';
CREATE FUNCTION tbf_rollup_filter(rollup regclass, at timestamptz DEFAULT now(), weight text DEFAULT NULL, groups jsonb DEFAULT '{}') RETURNS tbf LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT _tbf_rollup_merged(pg_catalog.current_setting('search_path'), rollup, at, weight, NULL, NULL, groups, false);
END;
COMMENT ON FUNCTION tbf_rollup_filter(regclass, timestamptz, text, jsonb) IS 'all hits of a roll-up before a time, with their weights, in one filter, which can be asked for any item and undercounts none; null: there are none. weight, groups: see tbf_rollup_top()';
CREATE FUNCTION tbf_rollup_filter_between(rollup regclass, from_time timestamptz, to_time timestamptz, groups jsonb DEFAULT '{}') RETURNS tbf LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT _tbf_rollup_merged(pg_catalog.current_setting('search_path'), rollup, NULL, NULL, coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity'), groups, false);
END;
COMMENT ON FUNCTION tbf_rollup_filter_between(regclass, timestamptz, timestamptz, jsonb) IS 'the undecayed hits from from_time to before to_time (null: all) in one filter, with those of rows of which a part lies within; null: there are none';
CREATE FUNCTION tbf_rollup_distinct(rollup regclass, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL, groups jsonb DEFAULT '{}', OUT items_from float8, OUT items_to float8) LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT coalesce(tbf_cardinality(_tbf_rollup_merged(pg_catalog.current_setting('search_path'), rollup, NULL, NULL, coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity'), groups, true)), 0),
		coalesce(tbf_cardinality(_tbf_rollup_merged(pg_catalog.current_setting('search_path'), rollup, NULL, NULL, coalesce(from_time, '-infinity'), coalesce(to_time, 'infinity'), groups, false)), 0);
END;
COMMENT ON FUNCTION tbf_rollup_distinct(regclass, timestamptz, timestamptz, jsonb) IS 'how many different items have hits from from_time to before to_time (null: all): in the rows that lie within, and in those of which a part does. Exact up to 65,536 items, then an estimate';
CREATE FUNCTION _tbf_rollup_rising(path text, rollup regclass, k integer, at timestamptz, recent interval, before interval, at_least float8, only_groups jsonb)
	RETURNS TABLE (item text, hits_from float8, hits_to float8, before_from float8, before_to float8, rise float8)
	LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp SET jit = off SET timezone = 'UTC' SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' SET xmloption = 'content' SET lc_monetary = 'C' AS $$
DECLARE
	extension text := (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'streambloom'); first timestamptz; times float8;
	place text := (SELECT format('%s.%I', relnamespace::regnamespace, relname) FROM pg_class WHERE oid = rollup);
BEGIN
	IF (recent > '0' AND before > '0' AND recent < '10000 years' AND before < '10000 years' AND k >= 0 AND isfinite(at) AND at_least >= 0) IS NOT TRUE THEN
		RAISE EXCEPTION 'risers of % against % at % are out of range', recent, before, at USING ERRCODE = 'invalid_parameter_value', HINT = 'The intervals are longer than 0, the time is finite, and the numbers are not negative.';
	END IF;
	IF least(recent, before) < interval '1 minute' THEN
		RAISE NOTICE 'the time "%" is shorter than a minute, the shortest bucket of a roll-up', least(recent, before) USING HINT = 'A number without a unit means seconds. For another unit write it, as in ''7 days''.';
	END IF;
	EXECUTE format('SELECT %s._tbf_rollup_definition($1, notify => true)', extension) USING rollup;
	EXECUTE format('SELECT count(*) FROM %s._tbf_rollup_weights(NULL, $1, NULL, NULL, ''-infinity'', ''-infinity'', $2)', extension) USING rollup, only_groups;
	EXECUTE format('SELECT min(oldest) FROM %s', rollup) INTO first;
	-- The length of the time `before`, from the first hit of the roll-up on, divided by that of `recent`; at least 1.
	times := greatest(extract(epoch FROM at - recent - greatest(first, at - recent - before)) / extract(epoch FROM at - (at - recent)), 1);
	RETURN QUERY EXECUTE format($sql$
		WITH row AS MATERIALIZED (
			SELECT id, coalesce(n.low, 0) AS low, coalesce(n.high, 0) AS high, coalesce(b.low, 0) AS low_before, coalesce(b.high, 0) AS high_before
			FROM %2$s._tbf_rollup_weights($1, $2, NULL, NULL, $3 - $4, $3 + interval '1 microsecond', $6) n
				FULL JOIN %2$s._tbf_rollup_weights($1, $2, NULL, NULL, $3 - $4 - $5, $3 - $4, $6) b USING (id)
		)
		SELECT item, b[4 * n - 3], b[4 * n - 2], b[4 * n - 1] / $8, b[4 * n] / $8, b[4 * n - 2] / (b[4 * n] / $8 + 1)
		FROM (SELECT %2$s._tbf_rollup_hot_agg(hot, hot_hits, hot_over, hot_rest, f, ARRAY[low, high, low_before, high_before], $7, true) AS hot FROM row w JOIN %1$s r ON r.ctid = w.id OFFSET 0) s,
			LATERAL (SELECT (hot).bounds AS b) c, unnest((hot).items) WITH ORDINALITY u(item, n) ORDER BY 6 DESC, b[4 * n - 2] DESC, item COLLATE "C" LIMIT $9$sql$, place, extension)
		USING path, rollup, at, recent, before, only_groups, at_least, times, k;
END $$;
COMMENT ON FUNCTION _tbf_rollup_rising(text, regclass, integer, timestamptz, interval, interval, float8, jsonb) IS 'implementation of tbf_rollup_risers()';
CREATE FUNCTION tbf_rollup_risers(rollup regclass, k integer DEFAULT 10, at timestamptz DEFAULT now(), recent interval DEFAULT '1 day', before interval DEFAULT '7 days', at_least float8 DEFAULT 10, groups jsonb DEFAULT '{}',
		OUT item text, OUT hits_from float8, OUT hits_to float8, OUT before_from float8, OUT before_to float8, OUT rise float8) RETURNS SETOF record LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
	SELECT r.item, r.hits_from, r.hits_to, r.before_from, r.before_to, r.rise FROM _tbf_rollup_rising(pg_catalog.current_setting('search_path'), rollup, k, at, recent, before, at_least, groups) r;
END;
COMMENT ON FUNCTION tbf_rollup_risers(regclass, integer, timestamptz, interval, interval, float8, jsonb) IS 'items with far more hits in the time recent before at than in the time before that, of which before_from and before_to are the hits in a part as long as recent. rise: hits_to / (before_to + 1). Only items of the lists of hot items, with at_least so many hits';
