-- 20-tbf.sql: the type tbf (docs/tbf.md)

CREATE TYPE tbf;

CREATE FUNCTION tbf_in(cstring) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION tbf_out(tbf) RETURNS cstring AS 'MODULE_PATHNAME', 'value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION tbf_recv(internal) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION tbf_send(tbf) RETURNS bytea AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION tbf_in(cstring) IS 'I/O';
COMMENT ON FUNCTION tbf_out(tbf) IS 'I/O';
COMMENT ON FUNCTION tbf_recv(internal) IS 'I/O';
COMMENT ON FUNCTION tbf_send(tbf) IS 'I/O';

-- STORAGE external: the bits of a good filter do not compress, and only an uncompressed value can be read in slices.
CREATE TYPE tbf (
	INPUT = tbf_in,
	OUTPUT = tbf_out,
	RECEIVE = tbf_recv,
	SEND = tbf_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE tbf IS 'Time-decaying Bloom filter: hit counts that fade with time and are never too small';

CREATE FUNCTION tbf(bytea) RETURNS tbf
	AS 'MODULE_PATHNAME', 'tbf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf(bytea) IS 'the tbf that these bytes are; an error unless they are a valid one (docs/format.md)';
CREATE FUNCTION bytea(tbf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(tbf) IS 'the stored bytes of a tbf (docs/format.md)';
CREATE CAST (bytea AS tbf) WITH FUNCTION tbf(bytea);
CREATE CAST (tbf AS bytea) WITH FUNCTION bytea(tbf);
COMMENT ON CAST (bytea AS tbf) IS 'checked';
COMMENT ON CAST (tbf AS bytea) IS 'the stored bytes (docs/format.md)';

CREATE FUNCTION tbf_eq(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_eq(tbf, tbf) IS 'implementation of the operator =';
CREATE FUNCTION tbf_ne(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_ne(tbf, tbf) IS 'implementation of the operator <>';
CREATE FUNCTION tbf_lt(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_lt(tbf, tbf) IS 'implementation of the operator <';
CREATE FUNCTION tbf_le(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_le(tbf, tbf) IS 'implementation of the operator <=';
CREATE FUNCTION tbf_gt(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_gt(tbf, tbf) IS 'implementation of the operator >';
CREATE FUNCTION tbf_ge(tbf, tbf) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_ge(tbf, tbf) IS 'implementation of the operator >=';
CREATE FUNCTION tbf_cmp(tbf, tbf) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_cmp(tbf, tbf) IS 'for sorting and btree indexes: -1, 0 or 1. Filters are ordered by size, then byte by byte; the order has no other meaning';
CREATE FUNCTION tbf_hash(tbf) RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_hash(tbf) IS 'for hashing and hash indexes: equal filters have the same hash';
CREATE FUNCTION tbf_hash_extended(tbf, bigint) RETURNS bigint AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_hash_extended(tbf, bigint) IS 'for hashing with a seed: equal filters have the same hash';
CREATE OPERATOR = (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (tbf, tbf) IS 'same filter, byte for byte apart from the list of hot items';
CREATE OPERATOR <> (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (tbf, tbf) IS 'different filters';
CREATE OPERATOR < (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_lt, COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (tbf, tbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR <= (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_le, COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (tbf, tbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR > (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_gt, COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (tbf, tbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR >= (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_ge, COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (tbf, tbf) IS 'order of filters for sorting: by size, then byte by byte';

-- Default operator classes: for DISTINCT, GROUP BY, joins, row comparison and logical replication.
-- Equal filters can differ in their lists of hot items, so a btree index must not deduplicate them: there is no btequalimage.
CREATE OPERATOR CLASS tbf_ops DEFAULT FOR TYPE tbf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 tbf_cmp(tbf, tbf);
CREATE OPERATOR CLASS tbf_ops DEFAULT FOR TYPE tbf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 tbf_hash(tbf), FUNCTION 2 tbf_hash_extended(tbf, bigint);
COMMENT ON OPERATOR CLASS tbf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY tbf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR CLASS tbf_ops USING hash IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY tbf_ops USING hash IS 'compares whole filters, as = does';

-- making and adding

CREATE FUNCTION tbf_empty(expected_items bigint DEFAULT 10000, fpr double precision DEFAULT 0.01,
		half_life interval DEFAULT '7 days', epoch interval DEFAULT NULL, layout text DEFAULT 'extensible',
		minimum_increase boolean DEFAULT false, recurring_minimum boolean DEFAULT false, top integer DEFAULT 0) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION tbf_empty(bigint, double precision, interval, interval, text, boolean, boolean, integer) IS 'an empty filter for this many distinct items (1 or more; null: a filter that sizes itself, which holds up to 65,536 items exactly), of which at most the share fpr (0.000001 to 0.5) is overcounted (Cheng et al. 2005). half_life: from 1 microsecond to 36,500 years, not in months; null: no decay. epoch: the step of the decay; null: half_life / 96. layout: extensible or flat. minimum_increase, recurring_minimum: ways to overcount less (Cohen, Matias 2003), which need expected_items. top: 0 to 10,000 entries of a list of hot items';

CREATE FUNCTION tbf_add_support(internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tbf_add_support(internal) IS 'planner support: from PostgreSQL 18 on PL/pgSQL may change a variable in place';
CREATE FUNCTION tbf_add(filter tbf, item "any", at timestamptz DEFAULT now(), weight double precision DEFAULT 1,
		not_after timestamptz DEFAULT NULL) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 SUPPORT tbf_add_support;
COMMENT ON FUNCTION tbf_add(tbf, "any", timestamptz, double precision, timestamptz) IS 'the filter with one hit added. weight: how many hits it means, 0 or more. not_after: a later hit is an error (null: a day after the transaction began). The filter is copied (but for a PL/pgSQL variable, from PostgreSQL 18 on), so tbf_add_all() is the way to add many';
CREATE FUNCTION tbf_add(filter tbf, item bf_untyped_item, at timestamptz DEFAULT now(), weight double precision DEFAULT 1,
		not_after timestamptz DEFAULT NULL) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 SUPPORT tbf_add_support;
COMMENT ON FUNCTION tbf_add(tbf, bf_untyped_item, timestamptz, double precision, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION tbf_add_all(filter tbf, items anyarray, at timestamptz DEFAULT now(), weight double precision DEFAULT 1,
		not_after timestamptz DEFAULT NULL) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 SUPPORT tbf_add_support;
COMMENT ON FUNCTION tbf_add_all(tbf, anyarray, timestamptz, double precision, timestamptz) IS 'the filter with one hit added for each element of the array that is not null. weight: how many hits each means, 0 or more. not_after: a later hit is an error (null: a day after the transaction began)';
CREATE FUNCTION tbf_add_all(filter tbf, items bf_untyped_item, at timestamptz DEFAULT now(), weight double precision DEFAULT 1,
		not_after timestamptz DEFAULT NULL) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 SUPPORT tbf_add_support;
COMMENT ON FUNCTION tbf_add_all(tbf, bf_untyped_item, timestamptz, double precision, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- This operator always raises an error. Without it tbf || 'x' would be a text: the text form of the filter, and the string.
CREATE FUNCTION _tbf_add_operator(filter tbf, item "any") RETURNS tbf AS 'MODULE_PATHNAME', 'tbf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _tbf_add_operator(tbf, "any") IS 'implementation of the operator ||, which always raises an error: use tbf_add(), or + for two filters';
CREATE FUNCTION _tbf_add_operator(filter tbf, item bf_text_item) RETURNS tbf AS 'MODULE_PATHNAME', 'tbf_add_operator' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _tbf_add_operator(tbf, bf_text_item) IS 'implementation of the operator ||, which always raises an error: use tbf_add(), or + for two filters';
CREATE OPERATOR || (LEFTARG = tbf, RIGHTARG = "any", FUNCTION = _tbf_add_operator);
COMMENT ON OPERATOR || (tbf, "any") IS 'always an error: use tbf_add(), or + for two filters';
CREATE OPERATOR || (LEFTARG = tbf, RIGHTARG = bf_text_item, FUNCTION = _tbf_add_operator);
COMMENT ON OPERATOR || (tbf, bf_text_item) IS 'always an error: use tbf_add(), or + for two filters';

-- asking. A function with the argument `at` does not read the clock; tbf_count() without it does, so it is STABLE.
-- (Functions whose item is a bf_untyped_item are STABLE in any case: see 10-bf.sql.)

CREATE FUNCTION tbf_count(filter tbf, item "any", at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, "any", timestamptz) IS 'the item''s hits, decayed to this time: never less than the sum of weight * 2^(-age / half_life), age being counted in whole epochs (Cheng et al. 2005, claim 1). An error for a time more than a thousand half-lives before the hits';
CREATE FUNCTION tbf_count(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, "any") IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_count(filter tbf, item bf_untyped_item, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION tbf_count(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, bf_untyped_item) IS 'as for an item of any type, at the time of now(): for a literal or a parameter without a type, which is text';
CREATE OPERATOR -> (LEFTARG = tbf, RIGHTARG = "any", FUNCTION = tbf_count);
CREATE OPERATOR -> (LEFTARG = tbf, RIGHTARG = bf_untyped_item, FUNCTION = tbf_count);
COMMENT ON OPERATOR -> (tbf, "any") IS 'the item''s decayed count now';
COMMENT ON OPERATOR -> (tbf, bf_untyped_item) IS 'the item''s decayed count now';
CREATE FUNCTION tbf_rate(filter tbf, item "any", at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, "any", timestamptz) IS 'the item''s exponentially weighted moving average, in hits an epoch: (1 - lambda) * tbf_count(), lambda = 2^(-epoch / half_life) (Cheng et al. 2005, eq. 4). An error for a filter without a half-life';
CREATE FUNCTION tbf_rate(filter tbf, item bf_untyped_item, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';

CREATE FUNCTION tbf_contains(filter tbf, item anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contains(tbf, anyelement) IS 'may the filter hold hits of this item that decay has not dropped? false is certain. An error if the filter holds items of another kind';
CREATE FUNCTION tbf_contains(filter tbf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contains(tbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION tbf_contained(item anyelement, filter tbf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contained(anyelement, tbf) IS 'may this item have hits in the filter that decay has not dropped? tbf_contains() with its arguments exchanged';
CREATE FUNCTION tbf_contained(item bf_untyped_item, filter tbf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contained(bf_untyped_item, tbf) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR @> (LEFTARG = tbf, RIGHTARG = anyelement, FUNCTION = tbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = tbf, RIGHTARG = bf_untyped_item, FUNCTION = tbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (tbf, anyelement) IS 'may hold hits of the item';
COMMENT ON OPERATOR @> (tbf, bf_untyped_item) IS 'may hold hits of the item';
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = tbf, FUNCTION = tbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = tbf, FUNCTION = tbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ (anyelement, tbf) IS 'may have hits in the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, tbf) IS 'may have hits in the filter';

-- decaying and combining

CREATE FUNCTION tbf_decay(filter tbf, at timestamptz DEFAULT now()) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_decay(tbf, timestamptz) IS 'the filter brought to this time: what has faded below half a unit (tbf_info) is dropped, and its space given back. The filter itself if there is nothing to do, or if the time is earlier';
CREATE FUNCTION tbf_layout(filter tbf, layout text) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_layout(tbf, text) IS 'the same filter in another layout: extensible (small counters take few bits) or flat (all counters take as many as the largest). An exact filter gets counters, with room for four times its items';
CREATE FUNCTION tbf_merge(filter tbf, other tbf) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge(tbf, tbf) IS 'the hits of both. Half-life, epoch and item kind must be the same; sizes may differ by a power of two. An error for filters with recurring minimum';
CREATE OPERATOR + (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_merge, COMMUTATOR = +);
COMMENT ON OPERATOR + (tbf, tbf) IS 'merge: the hits of both filters';

-- looking inside

CREATE FUNCTION tbf_info(filter tbf,
		OUT item_kind text, OUT half_life interval, OUT epoch interval, OUT expected_items bigint,
		OUT false_positive_rate double precision, OUT hashes integer, OUT cells bigint, OUT layout text,
		OUT cell_bits integer, OUT unit double precision, OUT bytes bigint, OUT base timestamptz, OUT newest timestamptz,
		OUT slack double precision, OUT total double precision, OUT fill double precision,
		OUT current_false_positive_rate double precision, OUT cardinality double precision,
		OUT minimum_increase boolean, OUT recurring_minimum boolean, OUT top integer, OUT used double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_info(tbf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, current_false_positive_rate follows from the fill; unit: hits that a counter of 1 means at the time base; newest: begin of the epoch of the newest hit; slack: hits at the base that an item may have and that were dropped; total: all hits at the base; fill: share of counters that are not 0; bytes: of the stored form; cardinality: estimated number of distinct items; layout exact: the filter holds its items themselves, so there are no cells and no fill, cardinality is exact, and the rate is 0; top: entries of the list of hot items; used: cardinality as a share of the items that the filter has room for at the rate asked for, so above 1 it is too full (of an exact filter, as a share of 65,536)';
CREATE FUNCTION tbf_histogram(filter tbf, OUT hits_from double precision, OUT hits_to double precision, OUT cells bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION tbf_histogram(tbf) IS 'how many of the filter''s counters hold from hits_from to hits_to hits (as of the base), by powers of two; of an exact filter, how many of its items have so many';
CREATE FUNCTION tbf_sketch(filter tbf) RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_sketch(tbf) IS 'the filter as a line of text: number of items, fill, and how many counters (of an exact filter: items) hold how many hits, on a scale of logarithms. Hits are worth what they are at the base (tbf_info), which is not now';

-- aggregates

CREATE FUNCTION tbf_agg_add(internal, "any", timestamptz) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_add(internal, "any", timestamptz) IS 'transition function of tbf_agg';
CREATE FUNCTION tbf_agg_add(internal, "any", timestamptz, interval) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_add(internal, "any", timestamptz, interval) IS 'transition function of tbf_agg';
CREATE FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision) IS 'transition function of tbf_agg';
CREATE FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision, bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision, bigint, double precision) IS 'transition function of tbf_agg';
CREATE FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision, bigint, double precision, interval, timestamptz) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_add(internal, "any", timestamptz, interval, double precision, bigint, double precision, interval, timestamptz) IS 'transition function of tbf_agg';
CREATE FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf) IS 'transition function of tbf_agg_like';
CREATE FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf, double precision) IS 'transition function of tbf_agg_like';
CREATE FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf, double precision, timestamptz) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_like_add(internal, "any", timestamptz, tbf, double precision, timestamptz) IS 'transition function of tbf_agg_like';
CREATE FUNCTION tbf_merge_agg_add(bytea, tbf) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge_agg_add(bytea, tbf) IS 'transition function of tbf_merge_agg';
CREATE FUNCTION tbf_merge_agg_combine(bytea, bytea) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge_agg_combine(bytea, bytea) IS 'combine function of tbf_merge_agg';
CREATE FUNCTION tbf_agg_final(internal) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_final(internal) IS 'final function of tbf_agg';
CREATE FUNCTION tbf_merge_agg_final(bytea) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_merge_agg_final(bytea) IS 'final function of tbf_merge_agg';
CREATE FUNCTION tbf_agg_combine(internal, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_combine(internal, internal) IS 'combine function of tbf_agg';
CREATE FUNCTION tbf_agg_serialize(internal) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_serialize(internal) IS 'serialize function of tbf_agg';
CREATE FUNCTION tbf_agg_deserialize(bytea, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_deserialize(bytea, internal) IS 'deserialize function of tbf_agg';

-- All aggregates of items take their arguments in the same order: the item, its time, its decay (tbf_agg: a half-life;
-- tbf_agg_like: a filter with all parameters), its weight. So an untyped third argument of tbf_agg can only be a
-- half-life, and a number as third argument is an error.

CREATE AGGREGATE tbf_agg(item "any", at timestamptz) (
	SFUNC = tbf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg("any", timestamptz) IS 'decayed hit counts of the items that are not null; the filter sizes itself for a false-positive rate of 1 % and has a half-life of 7 days. A hit more than a day after the transaction began is an error';

CREATE AGGREGATE tbf_agg(item "any", at timestamptz, half_life interval) (
	SFUNC = tbf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg("any", timestamptz, interval) IS 'decayed hit counts of the items that are not null; half_life null: no decay';

CREATE AGGREGATE tbf_agg(item "any", at timestamptz, half_life interval, weight double precision) (
	SFUNC = tbf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg("any", timestamptz, interval, double precision) IS 'decayed hit counts of the items that are not null; weight: how many hits a row counts as, 0 or more; null is an error';

CREATE AGGREGATE tbf_agg(item "any", at timestamptz, half_life interval, weight double precision, expected_items bigint, fpr double precision) (
	SFUNC = tbf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg("any", timestamptz, interval, double precision, bigint, double precision) IS 'decayed hit counts of the items that are not null; expected_items: number of distinct items (null: the filter sizes itself); fpr: the share of items that may be overcounted, 0.000001 to 0.5 (null: 0.01)';

CREATE AGGREGATE tbf_agg(item "any", at timestamptz, half_life interval, weight double precision, expected_items bigint, fpr double precision, epoch interval, not_after timestamptz) (
	SFUNC = tbf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg("any", timestamptz, interval, double precision, bigint, double precision, interval, timestamptz) IS 'decayed hit counts of the items that are not null; epoch: step of the decay (null: half_life / 96); not_after: a later hit is an error (null: a day after the transaction began)';

CREATE AGGREGATE tbf_agg_like(item "any", at timestamptz, parameters tbf) (
	SFUNC = tbf_agg_like_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_like("any", timestamptz, tbf) IS 'decayed hit counts of the items that are not null, in a filter with the parameters of this empty filter, tbf_empty(...); each row is one hit';

CREATE AGGREGATE tbf_agg_like(item "any", at timestamptz, parameters tbf, weight double precision) (
	SFUNC = tbf_agg_like_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_like("any", timestamptz, tbf, double precision) IS 'decayed hit counts of the items that are not null, in a filter with the parameters of this empty filter, tbf_empty(...); weight: how many hits a row counts as, 0 or more; null is an error';

CREATE AGGREGATE tbf_agg_like(item "any", at timestamptz, parameters tbf, weight double precision, not_after timestamptz) (
	SFUNC = tbf_agg_like_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_like("any", timestamptz, tbf, double precision, timestamptz) IS 'decayed hit counts of the items that are not null, in a filter with the parameters of this empty filter, tbf_empty(...); weight: how many hits a row counts as, 0 or more; not_after: a later hit is an error (null: a day after the transaction began)';

CREATE AGGREGATE tbf_merge_agg(filter tbf) (
	SFUNC = tbf_merge_agg_add, STYPE = bytea, SSPACE = 4096,
	FINALFUNC = tbf_merge_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_merge_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_merge_agg(tbf) IS 'the hits of all filters. Half-life, epoch and item kind must be the same; sizes may differ by a power of two';
