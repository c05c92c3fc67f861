-- 50-ibf.sql: the type ibf (docs/sbf.md)

CREATE TYPE ibf;

CREATE FUNCTION ibf_in(cstring) RETURNS ibf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION ibf_out(ibf) RETURNS cstring AS 'MODULE_PATHNAME', 'value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION ibf_recv(internal) RETURNS ibf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION ibf_send(ibf) RETURNS bytea AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION ibf_in(cstring) IS 'I/O';
COMMENT ON FUNCTION ibf_out(ibf) IS 'I/O';
COMMENT ON FUNCTION ibf_recv(internal) IS 'I/O';
COMMENT ON FUNCTION ibf_send(ibf) IS 'I/O';

-- STORAGE external: an uncompressed value can be read in slices.
CREATE TYPE ibf (
	INPUT = ibf_in,
	OUTPUT = ibf_out,
	RECEIVE = ibf_recv,
	SEND = ibf_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE ibf IS 'Importance-aware Bloom filter: an sbf that forgets unimportant items first';

CREATE FUNCTION ibf(bytea) RETURNS ibf
	AS 'MODULE_PATHNAME', 'ibf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf(bytea) IS 'the ibf that these bytes are; an error unless they are a valid one (docs/format.md)';
CREATE FUNCTION bytea(ibf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(ibf) IS 'the stored bytes of an ibf (docs/format.md)';
CREATE CAST (bytea AS ibf) WITH FUNCTION ibf(bytea);
CREATE CAST (ibf AS bytea) WITH FUNCTION bytea(ibf);
COMMENT ON CAST (bytea AS ibf) IS 'checked';
COMMENT ON CAST (ibf AS bytea) IS 'the stored bytes (docs/format.md)';

CREATE FUNCTION ibf_eq(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_eq(ibf, ibf) IS 'implementation of the operator =';
CREATE FUNCTION ibf_ne(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_ne(ibf, ibf) IS 'implementation of the operator <>';
CREATE FUNCTION ibf_lt(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_lt(ibf, ibf) IS 'implementation of the operator <';
CREATE FUNCTION ibf_le(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_le(ibf, ibf) IS 'implementation of the operator <=';
CREATE FUNCTION ibf_gt(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_gt(ibf, ibf) IS 'implementation of the operator >';
CREATE FUNCTION ibf_ge(ibf, ibf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_ge(ibf, ibf) IS 'implementation of the operator >=';
CREATE FUNCTION ibf_cmp(ibf, ibf) RETURNS integer AS 'MODULE_PATHNAME', 'value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_cmp(ibf, ibf) IS 'for sorting and btree indexes: -1, 0 or 1. Filters are ordered by size, then byte by byte; the order has no other meaning';
CREATE FUNCTION ibf_hash(ibf) RETURNS integer AS 'MODULE_PATHNAME', 'value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_hash(ibf) IS 'for hashing and hash indexes: equal filters have the same hash';
CREATE FUNCTION ibf_hash_extended(ibf, bigint) RETURNS bigint AS 'MODULE_PATHNAME', 'value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_hash_extended(ibf, bigint) IS 'for hashing with a seed: equal filters have the same hash';
CREATE OPERATOR = (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (ibf, ibf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (ibf, ibf) IS 'different filters';
CREATE OPERATOR < (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_lt, COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (ibf, ibf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR <= (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_le, COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (ibf, ibf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR > (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_gt, COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (ibf, ibf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR >= (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_ge, COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (ibf, ibf) IS 'order of filters for sorting: by size, then byte by byte';

-- Default operator classes: for DISTINCT, GROUP BY, joins, row comparison and logical replication.
CREATE OPERATOR CLASS ibf_ops DEFAULT FOR TYPE ibf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 ibf_cmp(ibf, ibf),
	FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS ibf_ops DEFAULT FOR TYPE ibf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 ibf_hash(ibf), FUNCTION 2 ibf_hash_extended(ibf, bigint);
COMMENT ON OPERATOR CLASS ibf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY ibf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR CLASS ibf_ops USING hash IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY ibf_ops USING hash IS 'compares whole filters, as = does';

-- making and adding

CREATE FUNCTION ibf_empty(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, scheme text DEFAULT 'multi_class',
		low double precision DEFAULT NULL, high double precision DEFAULT NULL, threshold double precision DEFAULT NULL,
		hashes integer DEFAULT NULL, cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_empty(bigint, double precision, text, double precision, double precision, double precision, integer, integer, integer, bigint) IS 'an empty filter with this many bytes of cells (64 or more), whose false-positive rate stays below fpr (0.000001 to 0.5; Bhoraskar et al. 2013). scheme: two_class (important from the threshold on; null: the middle of low and high), multi_class or value_weighted (importances from low to high in equal classes). high null: importances are ranked among those of about the latest 4,096 items, and the rate holds whatever they are. With high (low null: 0) it holds if importances are uniform over this range, or lower; for two_class always. hashes (1 to 16), bits of a cell (2 to 8) and evictions a step (0: never any) are chosen if they are null. seed: of its random numbers';

-- not strict: a null importance is an error
CREATE FUNCTION ibf_add(filter ibf, item "any", importance double precision) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add(ibf, "any", double precision) IS 'the filter after one more item. A null importance is an error. The filter is copied, so ibf_add_all() is the way to add many';
CREATE FUNCTION ibf_add(filter ibf, item bf_untyped_item, importance double precision) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add(ibf, bf_untyped_item, double precision) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION ibf_add_all(filter ibf, items anyarray, importances double precision[]) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add_all(ibf, anyarray, double precision[]) IS 'the filter after all elements of the array that are not null, in their order, each with its importance';
CREATE FUNCTION ibf_add_all(filter ibf, items bf_untyped_item, importances double precision[]) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add_all(ibf, bf_untyped_item, double precision[]) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION ibf_check_add(filter ibf, items anyarray, importances double precision[], OUT updated ibf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_check_add(ibf, anyarray, double precision[]) IS 'the filter after all elements of the array, in their order, each with its importance; and for each of them: had it come before? (null for a null)';
CREATE FUNCTION ibf_check_add(filter ibf, items bf_untyped_item, importances double precision[], OUT updated ibf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_check_add(ibf, bf_untyped_item, double precision[]) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- This operator raises an error, unless an argument is null. Without it ibf || 'x' would be a text: the text form of
-- the filter, and the string.
CREATE FUNCTION _ibf_add_operator(filter ibf, item "any") RETURNS ibf AS 'MODULE_PATHNAME', 'ibf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _ibf_add_operator(ibf, "any") IS 'implementation of the operator ||, which always raises an error: use ibf_add(), or | for two filters';
CREATE FUNCTION _ibf_add_operator(filter ibf, item bf_text_item) RETURNS ibf AS 'MODULE_PATHNAME', 'ibf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _ibf_add_operator(ibf, bf_text_item) IS 'implementation of the operator ||, which always raises an error: use ibf_add(), or | for two filters';
CREATE OPERATOR || (LEFTARG = ibf, RIGHTARG = "any", FUNCTION = _ibf_add_operator);
COMMENT ON OPERATOR || (ibf, "any") IS 'always an error: use ibf_add(), or | for two filters';
CREATE OPERATOR || (LEFTARG = ibf, RIGHTARG = bf_text_item, FUNCTION = _ibf_add_operator);
COMMENT ON OPERATOR || (ibf, bf_text_item) IS 'always an error: use ibf_add(), or | for two filters';

-- asking

CREATE FUNCTION ibf_contains(filter ibf, item anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contains(ibf, anyelement) IS 'does the filter remember this item? Both answers may be wrong: true for the share current_false_positive_rate of other items (ibf_info), false for an item that it has forgotten. An error if the filter holds items of another kind';
CREATE FUNCTION ibf_contains(filter ibf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contains(ibf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION ibf_contained(item anyelement, filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contained(anyelement, ibf) IS 'does the filter remember this item? ibf_contains() with its arguments exchanged';
CREATE FUNCTION ibf_contained(item bf_untyped_item, filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contained(bf_untyped_item, ibf) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR @> (LEFTARG = ibf, RIGHTARG = anyelement, FUNCTION = ibf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = ibf, RIGHTARG = bf_untyped_item, FUNCTION = ibf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (ibf, anyelement) IS 'remembers the item';
COMMENT ON OPERATOR @> (ibf, bf_untyped_item) IS 'remembers the item';
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = ibf, FUNCTION = ibf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = ibf, FUNCTION = ibf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ (anyelement, ibf) IS 'is remembered by the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, ibf) IS 'is remembered by the filter';
CREATE FUNCTION ibf_contains_any(filter ibf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_any(ibf, anyarray) IS 'does the filter remember one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION ibf_contains_any(filter ibf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_any(ibf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION ibf_contains_all(filter ibf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_all(ibf, anyarray) IS 'does the filter remember all of these items? null elements are skipped; true for an empty array';
CREATE FUNCTION ibf_contains_all(filter ibf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_all(ibf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- decaying and combining

CREATE FUNCTION ibf_decay(filter ibf, steps bigint) RETURNS ibf
	AS 'MODULE_PATHNAME', 'stable_decay' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_decay(ibf, bigint) IS 'the filter after this many steps of eviction (0 or more) without an arrival: as if as many other items had come and left no trace';
CREATE FUNCTION ibf_union(filter ibf, other ibf) RETURNS ibf AS 'MODULE_PATHNAME', 'stable_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_union(ibf, ibf) IS 'the larger of each two cells: remembers what either filter remembers, and has more false positives until it has decayed. The parameters must be the same';
CREATE OPERATOR | (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (ibf, ibf) IS 'union';

-- looking inside

CREATE FUNCTION ibf_info(filter ibf,
		OUT item_kind text, OUT false_positive_rate double precision, OUT hashes integer, OUT cell_bits integer,
		OUT max_value integer, OUT evictions integer, OUT seed bigint, OUT cells bigint, OUT bytes bigint, OUT items bigint,
		OUT steps bigint, OUT stable_zeros double precision, OUT zeros double precision,
		OUT false_positive_bound double precision, OUT current_false_positive_rate double precision,
		OUT cardinality double precision, OUT scheme text, OUT low double precision, OUT high double precision)
	AS 'MODULE_PATHNAME', 'stable_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_info(ibf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, false_positive_bound the one that it keeps on an endless stream, current_false_positive_rate follows from its cells; max_value: the largest of a cell; items, steps: so far; zeros: share of zero cells now; stable_zeros: the share where the filter is stable, if importances are uniform over their range; bytes: of the stored form; cardinality: items that a filter without evictions would hold at this fill; low, high: range of importances, for two_class both the threshold, null where importances are ranked';
CREATE FUNCTION ibf_histogram(filter ibf, OUT value integer, OUT cells bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'stable_histogram' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 8;
COMMENT ON FUNCTION ibf_histogram(ibf) IS 'how many of the filter''s cells have which value';
CREATE FUNCTION ibf_sketch(filter ibf) RETURNS text AS 'MODULE_PATHNAME', 'stable_sketch' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_sketch(ibf) IS 'the filter as a line of text: number of items, share of zero cells now and where it is stable, current false-positive rate, and how many cells have which value';

-- Aggregates. Their result depends on the order of the rows, so they have no combine function. With ORDER BY in the
-- call PostgreSQL writes all arguments of each row into the sort. So ibf_agg_like() takes the parameters of its filter
-- as a small value (ibf_parameters), and not as an empty filter.

CREATE TYPE ibf_parameters AS (bytes bigint, fpr double precision, scheme text, low double precision, high double precision,
	threshold double precision, hashes integer, cell_bits integer, evictions integer, seed bigint);
COMMENT ON TYPE ibf_parameters IS 'the parameters of an ibf, for ibf_agg_like()';
CREATE FUNCTION ibf_parameters(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, scheme text DEFAULT 'multi_class',
		low double precision DEFAULT NULL, high double precision DEFAULT NULL, threshold double precision DEFAULT NULL,
		hashes integer DEFAULT NULL, cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS ibf_parameters
	AS 'MODULE_PATHNAME', 'stable_parameters' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_parameters(bigint, double precision, text, double precision, double precision, double precision, integer, integer, integer, bigint) IS 'the parameters that ibf_empty() takes, for ibf_agg_like()';

CREATE FUNCTION ibf_agg_add(internal, "any", double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION ibf_agg_add(internal, "any", double precision, double precision, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION ibf_agg_add(internal, "any", double precision, double precision, double precision, bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION ibf_agg_like_add(internal, "any", double precision, ibf_parameters) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION ibf_agg_final(internal) RETURNS ibf AS 'MODULE_PATHNAME', 'stable_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ibf_agg_add(internal, "any", double precision) IS 'transition function of ibf_agg';
COMMENT ON FUNCTION ibf_agg_add(internal, "any", double precision, double precision, double precision) IS 'transition function of ibf_agg';
COMMENT ON FUNCTION ibf_agg_add(internal, "any", double precision, double precision, double precision, bigint, double precision) IS 'transition function of ibf_agg';
COMMENT ON FUNCTION ibf_agg_like_add(internal, "any", double precision, ibf_parameters) IS 'transition function of ibf_agg_like';
COMMENT ON FUNCTION ibf_agg_final(internal) IS 'final function of ibf_agg';

CREATE AGGREGATE ibf_agg(item "any", importance double precision) (
	SFUNC = ibf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = ibf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE ibf_agg("any", double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): item, importance, which is ranked among those before; scheme multi_class, 262,144 bytes of cells, false-positive rate 1 %';
CREATE AGGREGATE ibf_agg(item "any", importance double precision, low double precision, high double precision) (
	SFUNC = ibf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = ibf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE ibf_agg("any", double precision, double precision, double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): item, importance, its range from low to high; scheme multi_class, 262,144 bytes of cells, false-positive rate 1 %';
CREATE AGGREGATE ibf_agg(item "any", importance double precision, low double precision, high double precision, bytes bigint, fpr double precision) (
	SFUNC = ibf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = ibf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE ibf_agg("any", double precision, double precision, double precision, bigint, double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): item, importance, its range from low to high, bytes of cells, false-positive rate; scheme multi_class';
CREATE AGGREGATE ibf_agg_like(item "any", importance double precision, parameters ibf_parameters) (
	SFUNC = ibf_agg_like_add, STYPE = internal, SSPACE = 262400, FINALFUNC = ibf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE ibf_agg_like("any", double precision, ibf_parameters) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): item, importance, and all parameters that ibf_empty() takes: ibf_parameters(...)';

CREATE FUNCTION ibf_union_agg_add(ibf, ibf) RETURNS ibf AS 'MODULE_PATHNAME', 'stable_union_agg_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_union_agg_add(ibf, ibf) IS 'transition and combine function of ibf_union_agg';
CREATE AGGREGATE ibf_union_agg(filter ibf) (SFUNC = ibf_union_agg_add, STYPE = ibf, COMBINEFUNC = ibf_union_agg_add, PARALLEL = SAFE);
COMMENT ON AGGREGATE ibf_union_agg(ibf) IS 'the largest of each cell of all filters: remembers what one of them remembers. Their parameters must be the same';

-- window functions

CREATE FUNCTION ibf_duplicate(item "any", importance double precision) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_duplicate("any", double precision) IS 'had the item come before in this partition, in the order of the window? null for a null item. importance: any number, ranked among those before, null is an error; scheme multi_class, 262,144 bytes of cells, false-positive rate 1 %';
CREATE FUNCTION ibf_duplicate(item "any", importance double precision, filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_duplicate("any", double precision, ibf) IS 'had the item come before in this partition, in the order of the window, or is it remembered by the filter of the partition''s first row?';

-- calculators. For the schemes two_class and multi_class, sbf_stable_point() and sbf_false_positive_bound() can be
-- used too, with shares.

CREATE FUNCTION ibf_evictions(fpr double precision, cells double precision, hashes integer, max_value integer DEFAULT 7,
		scheme text DEFAULT 'multi_class') RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_evictions(double precision, double precision, integer, integer, text) IS 'the evictions a step that keep this false-positive rate if importances are uniform over their range, as ranks are. If they may be anything, take the evictions that sbf_evictions() returns: they keep the rate for any importances, but not in value_weighted with cells of 7 or 8 bits (ibf_info() tells the rate for uniform ones)';
CREATE FUNCTION ibf_false_negative_rate(filter ibf, importance double precision, gap bigint) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_false_negative_rate(ibf, double precision, bigint) IS 'the probability that a filter of these parameters has forgotten an item of this importance after gap (0 or more) other ones, all distinct and of uniform importances (Bhoraskar et al. 2013, section III)';
