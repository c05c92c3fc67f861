-- 45-abf.sql: the type abf (docs/abf.md)

CREATE TYPE abf;

CREATE FUNCTION abf_in(cstring) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION abf_out(abf) RETURNS cstring AS 'MODULE_PATHNAME', 'value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION abf_recv(internal) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION abf_send(abf) RETURNS bytea AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION abf_in(cstring) IS 'I/O';
COMMENT ON FUNCTION abf_out(abf) IS 'I/O';
COMMENT ON FUNCTION abf_recv(internal) IS 'I/O';
COMMENT ON FUNCTION abf_send(abf) IS 'I/O';

-- STORAGE external: an uncompressed value can be read in slices.
CREATE TYPE abf (
	INPUT = abf_in,
	OUTPUT = abf_out,
	RECEIVE = abf_recv,
	SEND = abf_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE abf IS 'age-partitioned Bloom filter: never misses an item that came within a window, the last so many items or so much time, and forgets what is older';

CREATE FUNCTION abf(bytea) RETURNS abf
	AS 'MODULE_PATHNAME', 'abf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf(bytea) IS 'the abf that these bytes are; an error unless they are a valid one (docs/format.md)';
CREATE FUNCTION bytea(abf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(abf) IS 'the stored bytes of an abf (docs/format.md)';
CREATE CAST (bytea AS abf) WITH FUNCTION abf(bytea);
CREATE CAST (abf AS bytea) WITH FUNCTION bytea(abf);
COMMENT ON CAST (bytea AS abf) IS 'checked';
COMMENT ON CAST (abf AS bytea) IS 'the stored bytes (docs/format.md)';

CREATE FUNCTION abf_eq(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_eq(abf, abf) IS 'implementation of the operator =';
CREATE FUNCTION abf_ne(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_ne(abf, abf) IS 'implementation of the operator <>';
CREATE FUNCTION abf_lt(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_lt(abf, abf) IS 'implementation of the operator <';
CREATE FUNCTION abf_le(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_le(abf, abf) IS 'implementation of the operator <=';
CREATE FUNCTION abf_gt(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_gt(abf, abf) IS 'implementation of the operator >';
CREATE FUNCTION abf_ge(abf, abf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_ge(abf, abf) IS 'implementation of the operator >=';
CREATE FUNCTION abf_cmp(abf, abf) RETURNS integer AS 'MODULE_PATHNAME', 'value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_cmp(abf, abf) IS 'for sorting and btree indexes: -1, 0 or 1. Filters are ordered by size, then byte by byte; the order has no other meaning';
CREATE FUNCTION abf_hash(abf) RETURNS integer AS 'MODULE_PATHNAME', 'value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_hash(abf) IS 'for hashing and hash indexes: equal filters have the same hash';
CREATE FUNCTION abf_hash_extended(abf, bigint) RETURNS bigint AS 'MODULE_PATHNAME', 'value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_hash_extended(abf, bigint) IS 'for hashing with a seed: equal filters have the same hash';
CREATE OPERATOR = (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (abf, abf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (abf, abf) IS 'different filters';
CREATE OPERATOR < (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_lt, COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (abf, abf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR <= (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_le, COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (abf, abf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR > (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_gt, COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (abf, abf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR >= (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_ge, COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (abf, abf) IS 'order of filters for sorting: by size, then byte by byte';

-- Default operator classes: for DISTINCT, GROUP BY, joins, row comparison and logical replication.
CREATE OPERATOR CLASS abf_ops DEFAULT FOR TYPE abf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 abf_cmp(abf, abf),
	FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS abf_ops DEFAULT FOR TYPE abf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 abf_hash(abf), FUNCTION 2 abf_hash_extended(abf, bigint);
COMMENT ON OPERATOR CLASS abf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY abf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR CLASS abf_ops USING hash IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY abf_ops USING hash IS 'compares whole filters, as = does';


-- making and adding. If the filter has a window of time, the functions that add read the clock, so they are STABLE: an
-- item later than not_after is an error, and the default of not_after depends on the clock.

CREATE FUNCTION abf_empty(items bigint DEFAULT 100000, fpr double precision DEFAULT 0.01, within interval DEFAULT NULL,
		hashes integer DEFAULT NULL, generations integer DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_empty(bigint, double precision, interval, integer, integer) IS 'an empty filter with a window and at most the false-positive rate fpr (0.000001 to 0.5). Without within, the window is the last so many items (1 or more). With within (1 microsecond to 36,500 years, not in months) the window is that time, and items says how many items are expected in it (Shtul, Baquero, Almeida 2020). hashes (1 to 32) and generations of a window (1 to 96) are chosen if they are null';

-- An item must have a time if the filter has a window of time, and must have none if the window is a number of items.
CREATE FUNCTION abf_add(filter abf, item "any", at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add(abf, "any", timestamptz, timestamptz) IS 'the filter after one more item. at: the time of the item, if the filter has a window of time, and only then; items may come late, and in any order. not_after: a later item is an error (null: the window, but at least a minute and at most a day, after the transaction began). The filter is copied, so abf_add_all() is the way to add many';
CREATE FUNCTION abf_add(filter abf, item bf_untyped_item, at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add(abf, bf_untyped_item, timestamptz, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION _abf_add_operator(filter abf, item "any") RETURNS abf AS 'MODULE_PATHNAME', 'abf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _abf_add_operator(abf, "any") IS 'implementation of the operator ||: use abf_add()';
CREATE OPERATOR || (LEFTARG = abf, RIGHTARG = "any", FUNCTION = _abf_add_operator);
COMMENT ON OPERATOR || (abf, "any") IS 'add an item, to a filter that counts items';

-- as for bf || text, see 10-bf.sql
CREATE FUNCTION _abf_add_operator(filter abf, item bf_text_item) RETURNS abf AS 'MODULE_PATHNAME', 'abf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _abf_add_operator(abf, bf_text_item) IS 'implementation of the operator abf || text: use abf_add()';
CREATE OPERATOR || (LEFTARG = abf, RIGHTARG = bf_text_item, FUNCTION = _abf_add_operator);
COMMENT ON OPERATOR || (abf, bf_text_item) IS 'add a text, to a filter that counts items';

CREATE FUNCTION abf_add_all(filter abf, items anyarray, at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add_all(abf, anyarray, timestamptz, timestamptz) IS 'the filter after all elements of the array that are not null, in their order; with a window of time all of them have the time at. not_after: as for abf_add()';
CREATE FUNCTION abf_add_all(filter abf, items bf_untyped_item, at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add_all(abf, bf_untyped_item, timestamptz, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION abf_add_each(filter abf, items anyarray, times timestamptz[], not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add_each(abf, anyarray, timestamptz[], timestamptz) IS 'the filter with all elements of the array that are not null, each with its own time; the filter has a window of time. not_after: as for abf_add()';
CREATE FUNCTION abf_add_each(filter abf, items bf_untyped_item, times timestamptz[], not_after timestamptz DEFAULT NULL) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_add_each(abf, bf_untyped_item, timestamptz[], timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION abf_check_add(filter abf, items anyarray, at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL,
		OUT updated abf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_check_add(abf, anyarray, timestamptz, timestamptz) IS 'the filter after all elements of the array, in their order; and for each of them: had it come within the window? null for a null. at, not_after: as for abf_add_all()';
CREATE FUNCTION abf_check_add(filter abf, items bf_untyped_item, at timestamptz DEFAULT NULL, not_after timestamptz DEFAULT NULL,
		OUT updated abf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_check_add(abf, bf_untyped_item, timestamptz, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION abf_check_add_each(filter abf, items anyarray, times timestamptz[], not_after timestamptz DEFAULT NULL, OUT updated abf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_check_add_each(abf, anyarray, timestamptz[], timestamptz) IS 'the filter with all elements of the array, each with its own time; and for each of them: had it come within the window before that time? (null for a null)';
CREATE FUNCTION abf_check_add_each(filter abf, items bf_untyped_item, times timestamptz[], not_after timestamptz DEFAULT NULL, OUT updated abf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_check_add_each(abf, bf_untyped_item, timestamptz[], timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- asking

CREATE FUNCTION abf_contains(filter abf, item anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contains(abf, anyelement) IS 'has the item come within the window, as of the newest item? Never false if it has; true also for the share current_false_positive_rate of other items (abf_info). An error if the filter holds items of another kind';
CREATE FUNCTION abf_contains(filter abf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contains(abf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION abf_contains(filter abf, item anyelement, at timestamptz) RETURNS boolean
	AS 'MODULE_PATHNAME', 'abf_contains_at' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contains(abf, anyelement, timestamptz) IS 'has the item come within the window before this time? Never false if it has, unless the time lies before the newest item: then the answer is that of the newest item';
CREATE FUNCTION abf_contains(filter abf, item bf_untyped_item, at timestamptz) RETURNS boolean
	AS 'MODULE_PATHNAME', 'abf_contains_at' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contains(abf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION abf_contained(item anyelement, filter abf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contained(anyelement, abf) IS 'has the item come within the window? abf_contains() with its arguments exchanged';
CREATE FUNCTION abf_contained(item bf_untyped_item, filter abf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_contained(bf_untyped_item, abf) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR @> (LEFTARG = abf, RIGHTARG = anyelement, FUNCTION = abf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = abf, RIGHTARG = bf_untyped_item, FUNCTION = abf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (abf, anyelement) IS 'has had the item within its window';
COMMENT ON OPERATOR @> (abf, bf_untyped_item) IS 'has had the item within its window';
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = abf, FUNCTION = abf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = abf, FUNCTION = abf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ (anyelement, abf) IS 'came within the window of the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, abf) IS 'came within the window of the filter';
CREATE FUNCTION abf_contains_any(filter abf, items anyarray, at timestamptz DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_contains_any(abf, anyarray, timestamptz) IS 'has one of these items come within the window, before this time (null: as of the newest item)? null elements are skipped; false for an empty array';
CREATE FUNCTION abf_contains_any(filter abf, items bf_untyped_item, at timestamptz DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_contains_any(abf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION abf_contains_all(filter abf, items anyarray, at timestamptz DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_contains_all(abf, anyarray, timestamptz) IS 'have all of these items come within the window, before this time (null: as of the newest item)? null elements are skipped; true for an empty array';
CREATE FUNCTION abf_contains_all(filter abf, items bf_untyped_item, at timestamptz DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_contains_all(abf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- clock, union

CREATE FUNCTION abf_decay(filter abf, at timestamptz DEFAULT now()) RETURNS abf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_decay(abf, timestamptz) IS 'the filter as of this time: what is out of the window then is cleared, and a filter in which nothing is left takes its header alone. It never has to be called: look-ups leave out what is too old. A time before the newest item changes nothing';
CREATE FUNCTION abf_union(filter abf, other abf) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_union(abf, abf) IS 'the filter of both streams, to the byte. Both must have the same window of time and the same parameters; filters that count items cannot be united';
CREATE OPERATOR | (LEFTARG = abf, RIGHTARG = abf, FUNCTION = abf_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (abf, abf) IS 'union';

-- looking inside

CREATE FUNCTION abf_info(filter abf,
		OUT item_kind text, OUT false_positive_rate double precision, OUT hashes integer, OUT generations integer,
		OUT window_items bigint, OUT within interval, OUT expected_items bigint, OUT generation_items bigint,
		OUT generation_length interval, OUT slice_bits bigint, OUT bytes bigint, OUT items bigint, OUT newest timestamptz,
		OUT fill double precision, OUT current_false_positive_rate double precision, OUT cardinality double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_info(abf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, current_false_positive_rate follows from its bits; window_items and generation_items: of a filter that counts items; within and generation_length: of one with a window of time; expected_items: within the window; slice_bits: of one of the hashes + generations slices; bytes: of the stored form; items: that have come so far; newest: the begin of the generation of the newest item; fill: the share of bits that are set, in slices that have had all their items; cardinality: an estimate of the distinct items of the window, those of each generation by themselves';
CREATE FUNCTION abf_histogram(filter abf, OUT age integer, OUT begins timestamptz, OUT bits_set bigint, OUT fill double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 30;
COMMENT ON FUNCTION abf_histogram(abf) IS 'the slices of the filter, the newest first: how many generations old it is, when that generation began (null if the filter counts items), how many bits are set, and which share of them';
CREATE FUNCTION abf_sketch(filter abf) RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_sketch(abf) IS 'the filter as a line of text: its window, number of items, fill, current false-positive rate, and how many bits the slices have, the oldest first';

-- Aggregates. If the window is a number of items, the result depends on the order of the rows, so there is no combine
-- function. With a window of time the result does not depend on the order, and there is one.

CREATE FUNCTION abf_agg_add(internal, "any") RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any") IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", bigint) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", bigint) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", bigint, double precision) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", timestamptz, interval) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", timestamptz, interval) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint, double precision) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint, double precision, timestamptz) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_add(internal, "any", timestamptz, interval, bigint, double precision, timestamptz) IS 'transition function of abf_agg';
CREATE FUNCTION abf_agg_like_add(internal, "any", abf) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_like_add(internal, "any", abf) IS 'transition function of abf_agg_like';
CREATE FUNCTION abf_agg_like_add(internal, "any", timestamptz, abf) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_like_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_like_add(internal, "any", timestamptz, abf) IS 'transition function of abf_agg_like';
CREATE FUNCTION abf_agg_like_add(internal, "any", timestamptz, abf, timestamptz) RETURNS internal AS 'MODULE_PATHNAME', 'abf_agg_like_add_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_like_add(internal, "any", timestamptz, abf, timestamptz) IS 'transition function of abf_agg_like';
CREATE FUNCTION abf_agg_final(internal) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_final(internal) IS 'final function of abf_agg';
CREATE FUNCTION abf_agg_combine(internal, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_combine(internal, internal) IS 'combine function of abf_agg';
CREATE FUNCTION abf_agg_serialize(internal) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_serialize(internal) IS 'serialize function of abf_agg';
CREATE FUNCTION abf_agg_deserialize(bytea, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION abf_agg_deserialize(bytea, internal) IS 'deserialize function of abf_agg';

CREATE AGGREGATE abf_agg(item "any") (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any") IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): it remembers the last 100,000 items, false-positive rate 1 %';
CREATE AGGREGATE abf_agg(item "any", items bigint) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", bigint) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): it remembers this number of the last items (1 or more; null: 100,000), false-positive rate 1 %';
CREATE AGGREGATE abf_agg(item "any", items bigint, fpr double precision) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", bigint, double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): it remembers this number of the last items (1 or more; null: 100,000), with this false-positive rate (0.000001 to 0.5; null: 0.01)';
CREATE AGGREGATE abf_agg(item "any", at timestamptz, within interval) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", timestamptz, interval) IS 'filter of the items that are not null, in any order: it remembers those within this time before the newest one; 100,000 are expected, false-positive rate 1 %';
CREATE AGGREGATE abf_agg(item "any", at timestamptz, within interval, items bigint) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", timestamptz, interval, bigint) IS 'filter of the items that are not null, in any order: it remembers those within this time before the newest one; items: how many are expected within it (null: 100,000); false-positive rate 1 %';
CREATE AGGREGATE abf_agg(item "any", at timestamptz, within interval, items bigint, fpr double precision) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", timestamptz, interval, bigint, double precision) IS 'filter of the items that are not null, in any order: it remembers those within this time before the newest one; items: how many are expected within it (null: 100,000); fpr: 0.000001 to 0.5 (null: 0.01)';
CREATE AGGREGATE abf_agg(item "any", at timestamptz, within interval, items bigint, fpr double precision, not_after timestamptz) (
	SFUNC = abf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg("any", timestamptz, interval, bigint, double precision, timestamptz) IS 'filter of the items that are not null, in any order: it remembers those within this time before the newest one; items: how many are expected within it (null: 100,000); fpr: 0.000001 to 0.5 (null: 0.01); not_after: a later item is an error (null: the window, but at least a minute and at most a day, after the transaction began)';
CREATE AGGREGATE abf_agg_like(item "any", parameters abf) (
	SFUNC = abf_agg_like_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg_like("any", abf) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY), with the parameters of this empty filter, abf_empty(...)';
CREATE AGGREGATE abf_agg_like(item "any", at timestamptz, parameters abf) (
	SFUNC = abf_agg_like_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg_like("any", timestamptz, abf) IS 'filter of the items that are not null, in any order, with the parameters of this empty filter, abf_empty(within => ...)';
CREATE AGGREGATE abf_agg_like(item "any", at timestamptz, parameters abf, not_after timestamptz) (
	SFUNC = abf_agg_like_add, STYPE = internal, SSPACE = 262400, FINALFUNC = abf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_agg_combine, SERIALFUNC = abf_agg_serialize, DESERIALFUNC = abf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_agg_like("any", timestamptz, abf, timestamptz) IS 'filter of the items that are not null, in any order, with the parameters of this empty filter, abf_empty(within => ...); not_after: a later item is an error (null: the window, but at least a minute and at most a day, after the transaction began)';

CREATE FUNCTION abf_union_agg_add(abf, abf) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_union_agg_add(abf, abf) IS 'transition and combine function of abf_union_agg';
CREATE FUNCTION abf_union_agg_final(abf) RETURNS abf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_union_agg_final(abf) IS 'final function of abf_union_agg';
CREATE AGGREGATE abf_union_agg(filter abf) (
	SFUNC = abf_union_agg_add, STYPE = abf, FINALFUNC = abf_union_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = abf_union_agg_add, PARALLEL = SAFE
);
COMMENT ON AGGREGATE abf_union_agg(abf) IS 'the filter of all their streams. All must have the same window of time and the same parameters';

-- window functions

CREATE FUNCTION abf_duplicate(item "any") RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_duplicate("any") IS 'was the item among the last 100,000 of this partition, in the order of the window? null for null; false-positive rate 1 %';
CREATE FUNCTION abf_duplicate(item "any", filter abf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_duplicate("any", abf) IS 'was the item among the last items of the filter? The filter of the partition''s first row is taken, and the items of the rows before this one are added to it, in the order of the window. The filter must have a window of items';
CREATE FUNCTION abf_duplicate(item "any", at timestamptz, filter abf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'abf_duplicate_at' LANGUAGE C WINDOW STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_duplicate("any", timestamptz, abf) IS 'had the item come within the filter''s window of time? The filter of the partition''s first row is taken, and the items of the rows before this one are added to it, in the order of the window';
CREATE FUNCTION abf_duplicate(item "any", at timestamptz, filter abf, not_after timestamptz) RETURNS boolean
	AS 'MODULE_PATHNAME', 'abf_duplicate_at' LANGUAGE C WINDOW STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_duplicate("any", timestamptz, abf, timestamptz) IS 'the same; not_after: a later item is an error (null: the window, but at least a minute and at most a day, after the transaction began)';
CREATE FUNCTION abf_duplicate(item "any", at timestamptz, within interval, items bigint) RETURNS boolean
	AS 'MODULE_PATHNAME', 'abf_duplicate_within' LANGUAGE C WINDOW STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_duplicate("any", timestamptz, interval, bigint) IS 'had the item come in an earlier row of this partition, at most this time before? Rows are taken in the order of the window. items: how many items are expected within that time; false-positive rate 1 %';

-- calculators

CREATE FUNCTION abf_false_positive_rate(hashes integer, generations integer, fill double precision DEFAULT 0.5) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION abf_false_positive_rate(integer, integer, double precision) IS 'the false-positive rate of a filter of hashes + generations slices, at the end of a generation, if complete slices have this fill: the probability that so many consecutive slices as there are hashes have the bit of a new item (Shtul, Baquero, Almeida 2020, section 4)';
CREATE FUNCTION abf_slices(fpr double precision, OUT hashes integer, OUT generations integer, OUT fill double precision, OUT bits_per_item double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_slices(double precision) IS 'the hashes and generations that abf_empty() chooses for this rate, the fill of complete slices that keeps it, and the bits that an item of the window takes: k (k + l) / (l ln(1 / (1 - fill))) for k hashes and l generations (Shtul, Baquero, Almeida 2020)';
CREATE FUNCTION abf_bytes(items bigint, fpr double precision DEFAULT 0.01, hashes integer DEFAULT NULL, generations integer DEFAULT NULL) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION abf_bytes(bigint, double precision, integer, integer) IS 'the bytes that a filter for a window of so many items takes: 1/8 of items times bits_per_item of abf_slices(), rounded up to blocks, and the header';
CREATE FUNCTION abf_window(bytes bigint, fpr double precision DEFAULT 0.01) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION abf_window(bigint, double precision) IS 'the largest number of items for which a filter of this rate takes at most so many bytes; the inverse of abf_bytes()';
