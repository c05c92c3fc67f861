\echo Use "CREATE EXTENSION streambloom" to load this file. \quit
-- 10-bf.sql: the type bf (docs/bf.md)

CREATE TYPE bf;

CREATE FUNCTION bf_in(cstring) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION bf_out(bf) RETURNS cstring AS 'MODULE_PATHNAME', 'value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION bf_recv(internal) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION bf_send(bf) RETURNS bytea AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION bf_in(cstring) IS 'I/O';
COMMENT ON FUNCTION bf_out(bf) IS 'I/O';
COMMENT ON FUNCTION bf_recv(internal) IS 'I/O';
COMMENT ON FUNCTION bf_send(bf) IS 'I/O';

-- STORAGE external: the bits of a good filter do not compress, and only an uncompressed value can be read in slices.
CREATE TYPE bf (
	INPUT = bf_in,
	OUTPUT = bf_out,
	RECEIVE = bf_recv,
	SEND = bf_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE bf IS 'Bloom filter: an item that was added is always found, another item seldom';

CREATE FUNCTION bf(bytea) RETURNS bf
	AS 'MODULE_PATHNAME', 'bf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf(bytea) IS 'the bf that these bytes are; an error unless they are a valid one (docs/format.md)';
CREATE FUNCTION bytea(bf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(bf) IS 'the stored bytes of a bf (docs/format.md)';
CREATE CAST (bytea AS bf) WITH FUNCTION bf(bytea);
CREATE CAST (bf AS bytea) WITH FUNCTION bytea(bf);
COMMENT ON CAST (bytea AS bf) IS 'checked';
COMMENT ON CAST (bf AS bytea) IS 'the stored bytes (docs/format.md)';

CREATE FUNCTION bf_eq(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_eq(bf, bf) IS 'implementation of the operator =';
CREATE FUNCTION bf_ne(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_ne(bf, bf) IS 'implementation of the operator <>';
CREATE OPERATOR = (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel);
COMMENT ON OPERATOR = (bf, bf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (bf, bf) IS 'different filters';

-- items

-- Two types for items. An item may be of any type, so the functions below take "any". But for "any" the parser refuses a parameter
-- without a type, such as the $1 of f @> $1 that drivers send.

-- An untyped literal or parameter that is given as an item gets this type, which is text under another name. No other type is converted
-- to it. It is in the category of strings, because if an argument has no type the parser prefers the function that takes a string.
CREATE TYPE bf_untyped_item;
CREATE FUNCTION bf_untyped_item_in(cstring) RETURNS bf_untyped_item AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_untyped_item_in(cstring) IS 'I/O';
CREATE FUNCTION bf_untyped_item_out(bf_untyped_item) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_untyped_item_out(bf_untyped_item) IS 'I/O';
CREATE FUNCTION bf_untyped_item_recv(internal) RETURNS bf_untyped_item AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_untyped_item_recv(internal) IS 'I/O';
CREATE FUNCTION bf_untyped_item_send(bf_untyped_item) RETURNS bytea AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_untyped_item_send(bf_untyped_item) IS 'I/O';
CREATE TYPE bf_untyped_item (
	INPUT = bf_untyped_item_in,
	OUTPUT = bf_untyped_item_out,
	RECEIVE = bf_untyped_item_recv,
	SEND = bf_untyped_item_send,
	LIKE = text,
	CATEGORY = 'S',
	COLLATABLE = true
);
COMMENT ON TYPE bf_untyped_item IS 'the type of an untyped literal or parameter that is given as an item; it is text, and is not meant for any other use';
CREATE CAST (bf_untyped_item AS text) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bf_untyped_item AS text) IS 'for a parameter that the query also compares with text: f @> $1 AND url = $1';

-- For bf || text the parser finds PostgreSQL's operator anynonarray || text as good a match as bf || "any", and raises an error. An
-- operator bf || text would also take every type with a cast to text (citext, char(n)), whose items would become text. This type is text
-- under another name. It is preferred among strings, and only text has a cast to it, so its operator takes text and untyped literals
-- only.
CREATE TYPE bf_text_item;
CREATE FUNCTION bf_text_item_in(cstring) RETURNS bf_text_item AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_text_item_in(cstring) IS 'I/O';
CREATE FUNCTION bf_text_item_out(bf_text_item) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_text_item_out(bf_text_item) IS 'I/O';
CREATE FUNCTION bf_text_item_recv(internal) RETURNS bf_text_item AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_text_item_recv(internal) IS 'I/O';
CREATE FUNCTION bf_text_item_send(bf_text_item) RETURNS bytea AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_text_item_send(bf_text_item) IS 'I/O';
CREATE TYPE bf_text_item (
	INPUT = bf_text_item_in,
	OUTPUT = bf_text_item_out,
	RECEIVE = bf_text_item_recv,
	SEND = bf_text_item_send,
	LIKE = text,
	CATEGORY = 'S',
	PREFERRED = true,
	COLLATABLE = true
);
COMMENT ON TYPE bf_text_item IS 'the type of a text on the right of bf || and sbf ||; it is text, and is not meant for any other use';
CREATE CAST (text AS bf_text_item) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (text AS bf_text_item) IS 'for bf || text and sbf || text';
CREATE CAST (bf_text_item AS text) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bf_text_item AS text) IS 'for a parameter that the query also compares with text: f || $1 ... WHERE url = $1';
-- making and adding

CREATE FUNCTION bf_empty(expected_items bigint DEFAULT 10000, fpr double precision DEFAULT 0.01) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_empty(bigint, double precision) IS 'an empty filter for this many distinct items (1 or more) at this false-positive rate (0.000001 to 0.5): Bloom 1970, in lines of 512 bits after Putze, Sanders, Singler 2007';

CREATE FUNCTION bf_add_support(internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_add_support(internal) IS 'planner support: from PostgreSQL 18 on PL/pgSQL may change a variable in place';
CREATE FUNCTION bf_add(filter bf, item "any") RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add(bf, "any") IS 'the filter with one item added. An error if the filter holds items of another kind. The filter is copied (but for a PL/pgSQL variable, from PostgreSQL 18 on), so bf_add_all() is the way to add many';
CREATE FUNCTION bf_add(filter bf, item bf_untyped_item) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';

CREATE OPERATOR || (LEFTARG = bf, RIGHTARG = "any", FUNCTION = bf_add);
COMMENT ON OPERATOR || (bf, "any") IS 'add an item';

CREATE FUNCTION bf_add_text(filter bf, item bf_text_item) RETURNS bf
	AS 'MODULE_PATHNAME', 'bf_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add_text(bf, bf_text_item) IS 'implementation of the operator bf || text: use bf_add()';
CREATE OPERATOR || (LEFTARG = bf, RIGHTARG = bf_text_item, FUNCTION = bf_add_text);
COMMENT ON OPERATOR || (bf, bf_text_item) IS 'add a text';

CREATE FUNCTION bf_add_all(filter bf, items anyarray) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add_all(bf, anyarray) IS 'the filter with all elements of the array added that are not null';

-- asking

CREATE FUNCTION bf_contains(filter bf, item "any") RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contains(bf, "any") IS 'may the filter hold this item? false is certain; true is wrong for the share current_false_positive_rate of other items (bf_info). An error if the filter holds items of another kind';
CREATE FUNCTION bf_contains(filter bf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contains(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION bf_contained(item "any", filter bf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contained("any", bf) IS 'may this item be in the filter? bf_contains() with its arguments exchanged';
CREATE FUNCTION bf_contained(item bf_untyped_item, filter bf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contained(bf_untyped_item, bf) IS 'the same for a literal or a parameter without a type, which is text';
CREATE OPERATOR @> (LEFTARG = bf, RIGHTARG = "any", FUNCTION = bf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = bf, RIGHTARG = bf_untyped_item, FUNCTION = bf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (bf, "any") IS 'may hold the item';
COMMENT ON OPERATOR @> (bf, bf_untyped_item) IS 'may hold the item';
CREATE OPERATOR <@ (LEFTARG = "any", RIGHTARG = bf, FUNCTION = bf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = bf, FUNCTION = bf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ ("any", bf) IS 'may be in the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, bf) IS 'may be in the filter';

CREATE FUNCTION bf_contains_any(filter bf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_any(bf, anyarray) IS 'may the filter hold one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION bf_contains_all(filter bf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_all(bf, anyarray) IS 'may the filter hold all of these items? null elements are skipped; true for an empty array';

-- combining

CREATE FUNCTION bf_union(filter bf, other bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union(bf, bf) IS 'the filter that holds the items of both. The parameters must be the same, but sizes may differ by a power of two, and an exact filter goes with any size. A warning if the rate of the result is more than twice the rate asked for';
CREATE FUNCTION bf_intersection(filter bf, other bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_intersection(bf, bf) IS 'a filter that holds the items that are in both; it has more false positives than one that is built from these items. If one of the two is exact, the result is exact, too. The parameters must be the same, but sizes may differ by a power of two';
CREATE OPERATOR | (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (bf, bf) IS 'union';
CREATE OPERATOR & (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_intersection, COMMUTATOR = &);
COMMENT ON OPERATOR & (bf, bf) IS 'intersection';
CREATE FUNCTION bf_fold(filter bf, fpr double precision DEFAULT NULL) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_fold(bf, double precision) IS 'the filter, folded to half its size as often as the false-positive rate for its items stays at most fpr (0.000001 to 0.5; null: the rate that the filter was made for)';

-- looking inside

CREATE FUNCTION bf_cardinality(filter bf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_cardinality(bf) IS 'estimated number of distinct items, from the share of bits that are set (Swamidass, Baldi 2007); Infinity if all are set. Of an exact filter the number itself';
CREATE FUNCTION bf_info(filter bf,
		OUT item_kind text, OUT expected_items bigint, OUT false_positive_rate double precision, OUT hashes integer,
		OUT bits bigint, OUT layout text, OUT bytes bigint, OUT fill double precision, OUT current_false_positive_rate double precision,
		OUT cardinality double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_info(bf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, current_false_positive_rate follows from the fill; fill: share of bits that are set; bytes: of the stored form; cardinality: estimated number of distinct items; layout: lines, or exact for up to 64 items of a filter that sizes itself; that has no bits, no fill and no false positives, and cardinality is exact';
CREATE FUNCTION bf_histogram(filter bf, OUT bits_from integer, OUT bits_to integer, OUT lines bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 16;
COMMENT ON FUNCTION bf_histogram(bf) IS 'how many of the filter''s lines of 512 bits have from bits_from to bits_to bits set';
CREATE FUNCTION bf_sketch(filter bf) RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_sketch(bf) IS 'the filter as a line of text: number of items, fill, current false-positive rate, and how many lines are how full';

-- aggregates

CREATE FUNCTION bf_agg_add(internal, "any") RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION bf_agg_add(internal, "any", bigint) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION bf_agg_add(internal, "any", bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION bf_agg_final(internal) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION bf_agg_combine(internal, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION bf_agg_serialize(internal) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION bf_agg_deserialize(bytea, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_agg_add(internal, "any") IS 'transition function of bf_agg';
COMMENT ON FUNCTION bf_agg_add(internal, "any", bigint) IS 'transition function of bf_agg';
COMMENT ON FUNCTION bf_agg_add(internal, "any", bigint, double precision) IS 'transition function of bf_agg';
COMMENT ON FUNCTION bf_agg_final(internal) IS 'final function of bf_agg';
COMMENT ON FUNCTION bf_agg_combine(internal, internal) IS 'combine function of bf_agg';
COMMENT ON FUNCTION bf_agg_serialize(internal) IS 'serialize function of bf_agg';
COMMENT ON FUNCTION bf_agg_deserialize(bytea, internal) IS 'deserialize function of bf_agg';

CREATE AGGREGATE bf_agg(item "any") (
	SFUNC = bf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = bf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bf_agg_combine, SERIALFUNC = bf_agg_serialize, DESERIALFUNC = bf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bf_agg("any") IS 'filter of the items that are not null. It sizes itself for a false-positive rate of 1 %, and is exact up to 64 distinct items';

CREATE AGGREGATE bf_agg(item "any", expected_items bigint) (
	SFUNC = bf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = bf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bf_agg_combine, SERIALFUNC = bf_agg_serialize, DESERIALFUNC = bf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bf_agg("any", bigint) IS 'filter of the items that are not null, for this many distinct items (1 or more; null: it sizes itself) at a false-positive rate of 1 %';

CREATE AGGREGATE bf_agg(item "any", expected_items bigint, fpr double precision) (
	SFUNC = bf_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = bf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bf_agg_combine, SERIALFUNC = bf_agg_serialize, DESERIALFUNC = bf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bf_agg("any", bigint, double precision) IS 'filter of the items that are not null, for this many distinct items (1 or more; null: it sizes itself) at this false-positive rate (0.000001 to 0.5; null: 0.01)';

CREATE FUNCTION bf_union_agg_add(bf, bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union_agg_add(bf, bf) IS 'transition and combine function of bf_union_agg';
CREATE FUNCTION bf_union_agg_final(bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union_agg_final(bf) IS 'final function of bf_union_agg';
CREATE AGGREGATE bf_union_agg(filter bf) (
	SFUNC = bf_union_agg_add, STYPE = bf,
	FINALFUNC = bf_union_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bf_union_agg_add, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bf_union_agg(bf) IS 'the filter that holds the items of all filters. Their parameters must be the same, but sizes may differ by a power of two, and an exact filter goes with any size. A warning if the rate of the result is more than twice the rate asked for';

CREATE FUNCTION bf_intersection_agg_add(bf, bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_intersection_agg_add(bf, bf) IS 'transition and combine function of bf_intersection_agg';
CREATE AGGREGATE bf_intersection_agg(filter bf) (SFUNC = bf_intersection_agg_add, STYPE = bf, COMBINEFUNC = bf_intersection_agg_add, PARALLEL = SAFE);
COMMENT ON AGGREGATE bf_intersection_agg(bf) IS 'a filter that holds the items that are in all filters, with more false positives than one that is built from these items';
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
CREATE OPERATOR = (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel);
COMMENT ON OPERATOR = (tbf, tbf) IS 'same filter, byte for byte apart from the list of hot items';
CREATE OPERATOR <> (LEFTARG = tbf, RIGHTARG = tbf, FUNCTION = tbf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (tbf, tbf) IS 'different filters';

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
COMMENT ON FUNCTION tbf_add(tbf, bf_untyped_item, timestamptz, double precision, timestamptz) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_add_all(filter tbf, items anyarray, at timestamptz DEFAULT now(), weight double precision DEFAULT 1,
		not_after timestamptz DEFAULT NULL) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 SUPPORT tbf_add_support;
COMMENT ON FUNCTION tbf_add_all(tbf, anyarray, timestamptz, double precision, timestamptz) IS 'the filter with one hit added for each element of the array that is not null. weight: how many hits each means, 0 or more. not_after: a later hit is an error (null: a day after the transaction began)';

-- This operator always raises an error. Without it tbf || 'x' would be a text: the text form of the filter, and the string.
CREATE FUNCTION tbf_add_operator(filter tbf, item "any") RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_add_operator(tbf, "any") IS 'implementation of the operator ||, which always raises an error: use tbf_add(), or + for two filters';
CREATE FUNCTION tbf_add_operator(filter tbf, item bf_text_item) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_add_operator(tbf, bf_text_item) IS 'implementation of the operator ||, which always raises an error: use tbf_add(), or + for two filters';
CREATE OPERATOR || (LEFTARG = tbf, RIGHTARG = "any", FUNCTION = tbf_add_operator);
COMMENT ON OPERATOR || (tbf, "any") IS 'always an error: use tbf_add(), or + for two filters';
CREATE OPERATOR || (LEFTARG = tbf, RIGHTARG = bf_text_item, FUNCTION = tbf_add_operator);
COMMENT ON OPERATOR || (tbf, bf_text_item) IS 'always an error: use tbf_add(), or + for two filters';

-- asking. Each function of a time is immutable; the form without the time reads the clock.

CREATE FUNCTION tbf_count(filter tbf, item "any", at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, "any", timestamptz) IS 'the item''s hits, decayed to this time: never less than the sum of weight * 2^(-age / half_life), age being counted in whole epochs (Cheng et al. 2005, claim 1). An error for a time more than a thousand half-lives before the hits';
CREATE FUNCTION tbf_count(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, "any") IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_count(filter tbf, item bf_untyped_item, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_count(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_count(tbf, bf_untyped_item) IS 'as for an item of any type, at the time of now(): for a literal or a parameter without a type, which is text';
CREATE OPERATOR -> (LEFTARG = tbf, RIGHTARG = "any", FUNCTION = tbf_count);
CREATE OPERATOR -> (LEFTARG = tbf, RIGHTARG = bf_untyped_item, FUNCTION = tbf_count);
COMMENT ON OPERATOR -> (tbf, "any") IS 'the item''s decayed count now';
COMMENT ON OPERATOR -> (tbf, bf_untyped_item) IS 'the item''s decayed count now';
CREATE FUNCTION tbf_rate(filter tbf, item "any", at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, "any", timestamptz) IS 'the item''s exponentially weighted moving average, in hits an epoch: (1 - lambda) * tbf_count(), lambda = 2^(-epoch / half_life) (Cheng et al. 2005, eq. 4). An error for a filter without a half-life';
CREATE FUNCTION tbf_rate(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, "any") IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_rate(filter tbf, item bf_untyped_item, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_rate(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_rate(tbf, bf_untyped_item) IS 'as for an item of any type, at the time of now(): for a literal or a parameter without a type, which is text';

CREATE FUNCTION tbf_contains(filter tbf, item "any") RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contains(tbf, "any") IS 'may the filter hold hits of this item that decay has not dropped? false is certain. An error if the filter holds items of another kind';
CREATE FUNCTION tbf_contains(filter tbf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contains(tbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_contained(item "any", filter tbf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contained("any", tbf) IS 'may this item have hits in the filter that decay has not dropped? tbf_contains() with its arguments exchanged';
CREATE FUNCTION tbf_contained(item bf_untyped_item, filter tbf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_contained(bf_untyped_item, tbf) IS 'the same for a literal or a parameter without a type, which is text';
CREATE OPERATOR @> (LEFTARG = tbf, RIGHTARG = "any", FUNCTION = tbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = tbf, RIGHTARG = bf_untyped_item, FUNCTION = tbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (tbf, "any") IS 'may hold hits of the item';
COMMENT ON OPERATOR @> (tbf, bf_untyped_item) IS 'may hold hits of the item';
CREATE OPERATOR <@ (LEFTARG = "any", RIGHTARG = tbf, FUNCTION = tbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = tbf, FUNCTION = tbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ ("any", tbf) IS 'may have hits in the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, tbf) IS 'may have hits in the filter';

-- decaying and combining

CREATE FUNCTION tbf_decay(filter tbf, at timestamptz) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_decay(tbf, timestamptz) IS 'the filter brought to this time: what has faded below half a unit (tbf_info) is dropped, and its space given back. The filter itself if there is nothing to do, or if the time is earlier';
CREATE FUNCTION tbf_decay(filter tbf) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_decay(tbf) IS 'as the form with a time, at the time of now()';
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
		OUT minimum_increase boolean, OUT recurring_minimum boolean, OUT top integer)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_info(tbf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, current_false_positive_rate follows from the fill; unit: hits that a counter of 1 means at the time base; newest: begin of the epoch of the newest hit; slack: hits at the base that an item may have and that were dropped; total: all hits at the base; fill: share of counters that are not 0; bytes: of the stored form; cardinality: estimated number of distinct items; layout exact: the filter holds its items themselves, so there are no cells and no fill, cardinality is exact, and the rate is 0; top: entries of the list of hot items';
CREATE FUNCTION tbf_histogram(filter tbf, OUT hits_from double precision, OUT hits_to double precision, OUT cells bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 20;
COMMENT ON FUNCTION tbf_histogram(tbf) IS 'how many of the filter''s counters hold from hits_from to hits_to hits (as of the base), by powers of two; of an exact filter, how many of its items have so many';
CREATE FUNCTION tbf_sketch(filter tbf) RETURNS text AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_sketch(tbf) IS 'the filter as a line of text: number of items, fill, and how many counters hold how many hits, on a scale of logarithms';

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
CREATE FUNCTION tbf_merge_agg_add(internal, tbf) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge_agg_add(internal, tbf) IS 'transition function of tbf_merge_agg';
CREATE FUNCTION tbf_agg_final(internal) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_final(internal) IS 'final function of tbf_agg';
CREATE FUNCTION tbf_merge_agg_final(internal) RETURNS tbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_merge_agg_final(internal) IS 'final function of tbf_merge_agg';
CREATE FUNCTION tbf_agg_combine(internal, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_combine(internal, internal) IS 'combine function of tbf_agg and tbf_merge_agg';
CREATE FUNCTION tbf_agg_serialize(internal) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_serialize(internal) IS 'serialize function of tbf_agg and tbf_merge_agg';
CREATE FUNCTION tbf_agg_deserialize(bytea, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_deserialize(bytea, internal) IS 'deserialize function of tbf_agg and tbf_merge_agg';

-- All aggregates take their arguments in the same order: the item, its time, its decay (a half-life, or a filter with all parameters),
-- its weight. So an untyped third argument can only be a half-life, and a number as third argument is an error.

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
	SFUNC = tbf_merge_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_merge_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_merge_agg(tbf) IS 'the hits of all filters. Half-life, epoch and item kind must be the same; sizes may differ by a power of two';
-- 21-tbf-estimate.sql: for the expert (docs/tbf.md)

CREATE FUNCTION tbf_total(filter tbf, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_total(tbf, timestamptz) IS 'the hits of all items, decayed to this time, rounded up';
CREATE FUNCTION tbf_total(filter tbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_total(tbf) IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_share(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_share(tbf, "any") IS 'the item''s share of all hits, from 0 to 1. It may be too high, as tbf_count() may; null for a filter without hits';
CREATE FUNCTION tbf_share(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_share(tbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_error_bound(filter tbf, over double precision, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_error_bound(tbf, double precision, timestamptz) IS 'an upper bound of the probability that an item''s count at this time is too high by more than this many hits (more than 0): (k W / (m t))^k for k hashes, W hits in all, m counters, t hits too many (Markov''s inequality)';
CREATE FUNCTION tbf_error_bound(filter tbf, over double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_error_bound(tbf, double precision) IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_estimate(filter tbf, item "any", at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, "any", timestamptz) IS 'the item''s decayed count, less what other items add on average; it may be too small, so never use it for skipping: tbf_count() is the upper bound';
CREATE FUNCTION tbf_estimate(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, "any") IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_estimate(filter tbf, item bf_untyped_item, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_estimate(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, bf_untyped_item) IS 'as for an item of any type, at the time of now(): for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_cardinality(filter tbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_cardinality(tbf) IS 'estimated number of distinct items that have not faded, from the share of counters that are not 0 (Swamidass, Baldi 2007)';
CREATE FUNCTION tbf_inner_product(filter tbf, other tbf, at timestamptz) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_inner_product(tbf, tbf, timestamptz) IS 'an estimate of the sum over all items of the product of their decayed counts in two filters of the same size, parameters and item kind (undecayed: the number of rows of their join)';
CREATE FUNCTION tbf_inner_product(filter tbf, other tbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_inner_product(tbf, tbf) IS 'as the form with a time, at the time of now()';
-- 22-tbf-weight.sql: tbf filters times a weight

CREATE FUNCTION tbf_scale(filter tbf, weight double precision) RETURNS tbf
	AS 'MODULE_PATHNAME', 'tbf_scale' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_scale(tbf, double precision) IS 'the filter with all counts multiplied by a weight (finite, 0 or more, less than 2^33), rounded up';
-- The arguments have no names, so that a call with named arguments means the function above.
CREATE FUNCTION tbf_scale(double precision, tbf) RETURNS tbf
	AS 'MODULE_PATHNAME', 'tbf_scale_commuted' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_scale(double precision, tbf) IS 'implementation of the operator *: use tbf_scale(filter, weight)';
CREATE OPERATOR * (LEFTARG = tbf, RIGHTARG = double precision, FUNCTION = tbf_scale, COMMUTATOR = *);
COMMENT ON OPERATOR * (tbf, double precision) IS 'all counts multiplied by a weight';
CREATE OPERATOR * (LEFTARG = double precision, RIGHTARG = tbf, FUNCTION = tbf_scale, COMMUTATOR = *);
COMMENT ON OPERATOR * (double precision, tbf) IS 'all counts multiplied by a weight';

CREATE FUNCTION tbf_merge_agg_add(internal, tbf, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge_agg_add(internal, tbf, double precision) IS 'transition function of tbf_merge_agg';

CREATE AGGREGATE tbf_merge_agg(filter tbf, weight double precision) (
	SFUNC = tbf_merge_agg_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_merge_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_agg_combine, SERIALFUNC = tbf_agg_serialize, DESERIALFUNC = tbf_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_merge_agg(tbf, double precision) IS 'the hits of all filters, multiplied by each filter''s weight, for example a weight by age: decay_polynomial(now() - hour_end, 1, ''1 day'')';
-- 23-tbf-order.sql: filters that depend on the order of their hits, and taking hits out (docs/tbf.md)

CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf) IS 'transition function of tbf_agg_in_order';
CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision) IS 'transition function of tbf_agg_in_order';
CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision, timestamptz) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision, timestamptz) IS 'transition function of tbf_agg_in_order';

-- There is no combine function: the states of two workers could be merged, but the result would differ from that of one worker.
CREATE AGGREGATE tbf_agg_in_order(item "any", at timestamptz, parameters tbf) (
	SFUNC = tbf_agg_in_order_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_in_order("any", timestamptz, tbf) IS 'as tbf_agg_like, for filters with minimum increase or recurring minimum (Cohen, Matias 2003): the result depends on the order of the rows, so write ORDER BY at inside the call; never parallel';
CREATE AGGREGATE tbf_agg_in_order(item "any", at timestamptz, parameters tbf, weight double precision) (
	SFUNC = tbf_agg_in_order_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_in_order("any", timestamptz, tbf, double precision) IS 'as tbf_agg_like, for filters with minimum increase or recurring minimum (Cohen, Matias 2003): the result depends on the order of the rows, so write ORDER BY at inside the call; never parallel';
CREATE AGGREGATE tbf_agg_in_order(item "any", at timestamptz, parameters tbf, weight double precision, not_after timestamptz) (
	SFUNC = tbf_agg_in_order_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_in_order("any", timestamptz, tbf, double precision, timestamptz) IS 'as tbf_agg_like, for filters with minimum increase or recurring minimum (Cohen, Matias 2003): the result depends on the order of the rows, so write ORDER BY at inside the call; never parallel';

CREATE FUNCTION tbf_remove(filter tbf, item "any", at timestamptz, weight double precision DEFAULT 1) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, "any", timestamptz, double precision) IS 'the filter without one hit that was added at this time with this weight (Fan et al. 2000). An error if the item has fewer hits, if anything of the filter was dropped by decay, or if it has minimum increase, recurring minimum or a list of hot items';
CREATE FUNCTION tbf_remove(filter tbf, item "any") RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, "any") IS 'as the form with a time, at the time of now()';
CREATE FUNCTION tbf_remove(filter tbf, item bf_untyped_item, at timestamptz, weight double precision DEFAULT 1) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, bf_untyped_item, timestamptz, double precision) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION tbf_remove(filter tbf, item bf_untyped_item) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, bf_untyped_item) IS 'as for an item of any type, at the time of now(): for a literal or a parameter without a type, which is text';
-- 24-tbf-top.sql: hot items of a tbf (docs/tbf.md)

CREATE FUNCTION tbf_top(filter tbf, k integer, at timestamptz)
	RETURNS TABLE (item text, hits_from double precision, hits_to double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION tbf_top(tbf, integer, timestamptz) IS 'the k hottest items of a filter that was made with top => c, and bounds of their hits decayed to this time. Every item whose share of all hits exceeds 1 / (c + 1) is listed if k is large enough (Misra, Gries 1982). An error for a filter without a list';
CREATE FUNCTION tbf_top(filter tbf, k integer DEFAULT 10)
	RETURNS TABLE (item text, hits_from double precision, hits_to double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION tbf_top(tbf, integer) IS 'as the form with a time, at the time of now()';
-- 25-decay.sql: weights by age, for merging undecayed filters by any decay function (docs/decay.md)

CREATE FUNCTION decay_exponential(age interval, half_life interval DEFAULT '7 days') RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_exponential(interval, interval) IS 'weight of a hit of this age: 2^(-age / half_life). A negative age counts as 0. No interval may have months; half_life: from 1 microsecond to 36,500 years';
CREATE FUNCTION decay_window(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_window(interval, interval) IS 'weight of a hit of this age: 1 while the age is less than width, then 0 (sliding window)';
CREATE FUNCTION decay_polynomial(age interval, exponent double precision, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polynomial(interval, double precision, interval) IS 'weight of a hit of this age: (1 + age / scale)^(-exponent), exponent > 0 (Cohen, Strauss 2003)';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval) IS 'weight of a hit of this age: 1 until degree * scale, then x^k e^(-x) over its largest value, with x = age / scale, k = degree (0 or more) (Cohen, Strauss 2003)';
CREATE FUNCTION decay_polyexponential(age interval, degree integer, scale interval, bucket interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polyexponential(interval, integer, interval, interval) IS 'largest weight of a hit between age and age + bucket, by x^k e^(-x) over its largest value, with x = age / scale, k = degree (0 or more)';
CREATE FUNCTION decay_linear(age interval, width interval) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_linear(interval, interval) IS 'weight of a hit of this age: 1 - age / width, then 0 (chordal decay, Cohen, Strauss 2003)';
CREATE FUNCTION decay_polygonal(age interval, ages interval[], weights double precision[]) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION decay_polygonal(interval, interval[], double precision[]) IS 'weight of a hit of this age: straight lines between the points (ages[i], weights[i]), the last weight after them. Ages must not fall; weights must lie between 0 and 1 and not rise (Cohen, Strauss 2003)';
-- 30-formula.sql: calculators, for planning a filter before it is made (docs/bf.md, docs/sbf.md)

CREATE FUNCTION bloom_false_positive_rate(bits double precision, hashes double precision, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_false_positive_rate(double precision, double precision, double precision) IS 'the false-positive rate of the classic filter of m bits and k hashes (1 or more) that holds n items (0 or more): (1 - e^(-kn/m))^k (Bloom 1970)';
CREATE FUNCTION bloom_optimal_bits(items double precision, fpr double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_optimal_bits(double precision, double precision) IS 'the bits that the classic filter needs for n items at the false-positive rate p (between 0 and 1), with the best number of hashes: n ln(1/p) / ln(2)^2';
CREATE FUNCTION bloom_optimal_hashes(bits double precision, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_optimal_hashes(double precision, double precision) IS 'the number of hashes at which the classic filter of m bits and n items has the lowest false-positive rate: m/n ln 2, at least 1, not rounded';
CREATE FUNCTION bf_false_positive_rate(bits double precision, hashes integer, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_false_positive_rate(double precision, integer, double precision) IS 'the false-positive rate of a bf of this many bits and hashes (1 to 16) that holds this many items: exact for lines of 512 bits (Putze, Sanders, Singler 2007)';
-- 40-sbf.sql: the type sbf (docs/sbf.md)

CREATE TYPE sbf;

CREATE FUNCTION sbf_in(cstring) RETURNS sbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sbf_out(sbf) RETURNS cstring AS 'MODULE_PATHNAME', 'value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sbf_recv(internal) RETURNS sbf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sbf_send(sbf) RETURNS bytea AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION sbf_in(cstring) IS 'I/O';
COMMENT ON FUNCTION sbf_out(sbf) IS 'I/O';
COMMENT ON FUNCTION sbf_recv(internal) IS 'I/O';
COMMENT ON FUNCTION sbf_send(sbf) IS 'I/O';

-- STORAGE external: an uncompressed value can be read in slices.
CREATE TYPE sbf (
	INPUT = sbf_in,
	OUTPUT = sbf_out,
	RECEIVE = sbf_recv,
	SEND = sbf_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE sbf IS 'Stable Bloom filter: finds duplicates in an endless stream; its false-positive rate stays bounded, and it forgets old items';

CREATE FUNCTION sbf(bytea) RETURNS sbf
	AS 'MODULE_PATHNAME', 'sbf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf(bytea) IS 'the sbf that these bytes are; an error unless they are a valid one (docs/format.md)';
CREATE FUNCTION bytea(sbf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(sbf) IS 'the stored bytes of an sbf (docs/format.md)';
CREATE CAST (bytea AS sbf) WITH FUNCTION sbf(bytea);
CREATE CAST (sbf AS bytea) WITH FUNCTION bytea(sbf);
COMMENT ON CAST (bytea AS sbf) IS 'checked';
COMMENT ON CAST (sbf AS bytea) IS 'the stored bytes (docs/format.md)';

CREATE FUNCTION sbf_eq(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_eq(sbf, sbf) IS 'implementation of the operator =';
CREATE FUNCTION sbf_ne(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_ne(sbf, sbf) IS 'implementation of the operator <>';
CREATE OPERATOR = (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel);
COMMENT ON OPERATOR = (sbf, sbf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (sbf, sbf) IS 'different filters';

-- making and adding

CREATE FUNCTION sbf_empty(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, hashes integer DEFAULT NULL,
		cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_empty(bigint, double precision, integer, integer, integer, bigint) IS 'an empty filter with this many bytes of cells (64 or more), whose false-positive rate stays below fpr (0.000001 to 0.5) on an endless stream (Deng, Rafiei 2006). hashes (1 to 16), bits of a cell (1 to 8) and evictions a step (0: never any) are chosen if they are null. seed: of its random numbers';

CREATE FUNCTION sbf_add(filter sbf, item "any") RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add(sbf, "any") IS 'the filter after one more item. The filter is copied, so sbf_add_all() is the way to add many';
CREATE FUNCTION sbf_add(filter sbf, item bf_untyped_item) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE OPERATOR || (LEFTARG = sbf, RIGHTARG = "any", FUNCTION = sbf_add);
COMMENT ON OPERATOR || (sbf, "any") IS 'add an item';

-- as for bf || text, see 10-bf.sql
CREATE FUNCTION sbf_add_text(filter sbf, item bf_text_item) RETURNS sbf
	AS 'MODULE_PATHNAME', 'sbf_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add_text(sbf, bf_text_item) IS 'implementation of the operator sbf || text: use sbf_add()';
CREATE OPERATOR || (LEFTARG = sbf, RIGHTARG = bf_text_item, FUNCTION = sbf_add_text);
COMMENT ON OPERATOR || (sbf, bf_text_item) IS 'add a text';

CREATE FUNCTION sbf_add_all(filter sbf, items anyarray) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add_all(sbf, anyarray) IS 'the filter after all elements of the array that are not null, in their order';
CREATE FUNCTION sbf_check_add(filter sbf, items anyarray, OUT updated sbf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_check_add(sbf, anyarray) IS 'the filter after all elements of the array, in their order; and for each of them: had it come before? (null for a null)';

-- asking

CREATE FUNCTION sbf_contains(filter sbf, item "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contains(sbf, "any") IS 'does the filter remember this item? Both answers may be wrong: true for the share current_false_positive_rate of other items (sbf_info), false for an item that it has forgotten. An error if the filter holds items of another kind';
CREATE FUNCTION sbf_contains(filter sbf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contains(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION sbf_contained(item "any", filter sbf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contained("any", sbf) IS 'does the filter remember this item? sbf_contains() with its arguments exchanged';
CREATE FUNCTION sbf_contained(item bf_untyped_item, filter sbf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contained(bf_untyped_item, sbf) IS 'the same for a literal or a parameter without a type, which is text';
CREATE OPERATOR @> (LEFTARG = sbf, RIGHTARG = "any", FUNCTION = sbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = sbf, RIGHTARG = bf_untyped_item, FUNCTION = sbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (sbf, "any") IS 'remembers the item';
COMMENT ON OPERATOR @> (sbf, bf_untyped_item) IS 'remembers the item';
CREATE OPERATOR <@ (LEFTARG = "any", RIGHTARG = sbf, FUNCTION = sbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = sbf, FUNCTION = sbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ ("any", sbf) IS 'is remembered by the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, sbf) IS 'is remembered by the filter';
CREATE FUNCTION sbf_contains_any(filter sbf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_any(sbf, anyarray) IS 'does the filter remember one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION sbf_contains_all(filter sbf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_all(sbf, anyarray) IS 'does the filter remember all of these items? null elements are skipped; true for an empty array';

-- decaying and combining

CREATE FUNCTION sbf_decay(filter sbf, steps bigint) RETURNS sbf
	AS 'MODULE_PATHNAME', 'stable_decay' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_decay(sbf, bigint) IS 'the filter after this many steps of eviction (0 or more) without an arrival: as if as many other items had come and left no trace';
CREATE FUNCTION sbf_union(filter sbf, other sbf) RETURNS sbf AS 'MODULE_PATHNAME', 'stable_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_union(sbf, sbf) IS 'the larger of each two cells: remembers what either filter remembers, and has more false positives until it has decayed. The parameters must be the same';
CREATE OPERATOR | (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (sbf, sbf) IS 'union';

-- looking inside

CREATE FUNCTION sbf_info(filter sbf,
		OUT item_kind text, OUT false_positive_rate double precision, OUT hashes integer, OUT cell_bits integer,
		OUT max_value integer, OUT evictions integer, OUT seed bigint, OUT cells bigint, OUT bytes bigint, OUT items bigint,
		OUT steps bigint, OUT stable_zeros double precision, OUT zeros double precision,
		OUT false_positive_bound double precision, OUT current_false_positive_rate double precision,
		OUT cardinality double precision)
	AS 'MODULE_PATHNAME', 'stable_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_info(sbf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, false_positive_bound the one that it keeps on an endless stream, current_false_positive_rate follows from its cells; max_value: the largest of a cell; items, steps: so far; zeros: share of zero cells now; stable_zeros: the share where the filter is stable; bytes: of the stored form; cardinality: items that a filter without evictions would hold at this fill';
CREATE FUNCTION sbf_histogram(filter sbf, OUT value integer, OUT cells bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'stable_histogram' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 8;
COMMENT ON FUNCTION sbf_histogram(sbf) IS 'how many of the filter''s cells have which value';
CREATE FUNCTION sbf_sketch(filter sbf) RETURNS text AS 'MODULE_PATHNAME', 'stable_sketch' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_sketch(sbf) IS 'the filter as a line of text: number of items, share of zero cells now and where it is stable, current false-positive rate, and how many cells have which value';

-- The result of these aggregates depends on the order of the rows, so they have no combine function. With ORDER BY in the call
-- PostgreSQL sorts every argument with every row, so the parameters are a small value and not an empty filter.

CREATE TYPE sbf_parameters AS (bytes bigint, fpr double precision, hashes integer, cell_bits integer, evictions integer, seed bigint);
COMMENT ON TYPE sbf_parameters IS 'the parameters of an sbf, for sbf_agg_like()';
CREATE FUNCTION sbf_parameters(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, hashes integer DEFAULT NULL,
		cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS sbf_parameters
	AS 'MODULE_PATHNAME', 'stable_parameters' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_parameters(bigint, double precision, integer, integer, integer, bigint) IS 'the parameters that sbf_empty() takes, for sbf_agg_like()';

CREATE FUNCTION sbf_agg_add(internal, "any") RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sbf_agg_add(internal, "any", bigint) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sbf_agg_add(internal, "any", bigint, double precision) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sbf_agg_like_add(internal, "any", sbf_parameters) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sbf_agg_final(internal) RETURNS sbf AS 'MODULE_PATHNAME', 'stable_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION sbf_agg_add(internal, "any") IS 'transition function of sbf_agg';
COMMENT ON FUNCTION sbf_agg_add(internal, "any", bigint) IS 'transition function of sbf_agg';
COMMENT ON FUNCTION sbf_agg_add(internal, "any", bigint, double precision) IS 'transition function of sbf_agg';
COMMENT ON FUNCTION sbf_agg_like_add(internal, "any", sbf_parameters) IS 'transition function of sbf_agg_like';
COMMENT ON FUNCTION sbf_agg_final(internal) IS 'final function of sbf_agg';

CREATE AGGREGATE sbf_agg(item "any") (
	SFUNC = sbf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = sbf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sbf_agg("any") IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): 262,144 bytes of cells, false-positive rate 1 %';
CREATE AGGREGATE sbf_agg(item "any", bytes bigint) (
	SFUNC = sbf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = sbf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sbf_agg("any", bigint) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY), with this many bytes of cells (64 or more; null: 262,144) and a false-positive rate of 1 %';
CREATE AGGREGATE sbf_agg(item "any", bytes bigint, fpr double precision) (
	SFUNC = sbf_agg_add, STYPE = internal, SSPACE = 262400, FINALFUNC = sbf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sbf_agg("any", bigint, double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY), with this many bytes of cells (64 or more; null: 262,144) and this false-positive rate (0.000001 to 0.5; null: 0.01)';
CREATE AGGREGATE sbf_agg_like(item "any", parameters sbf_parameters) (
	SFUNC = sbf_agg_like_add, STYPE = internal, SSPACE = 262400, FINALFUNC = sbf_agg_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE
);
COMMENT ON AGGREGATE sbf_agg_like("any", sbf_parameters) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY), with all parameters that sbf_empty() takes: sbf_parameters(...)';

CREATE FUNCTION sbf_union_agg_add(sbf, sbf) RETURNS sbf AS 'MODULE_PATHNAME', 'stable_union_agg_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_union_agg_add(sbf, sbf) IS 'transition and combine function of sbf_union_agg';
CREATE AGGREGATE sbf_union_agg(filter sbf) (SFUNC = sbf_union_agg_add, STYPE = sbf, COMBINEFUNC = sbf_union_agg_add, PARALLEL = SAFE);
COMMENT ON AGGREGATE sbf_union_agg(sbf) IS 'the largest of each cell of all filters: remembers what one of them remembers. Their parameters must be the same';

-- window functions

CREATE FUNCTION sbf_duplicate(item "any") RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_duplicate("any") IS 'had the item come before in this partition, in the order of the window? null for null; 262,144 bytes of cells, false-positive rate 1 %';
CREATE FUNCTION sbf_duplicate(item "any", filter sbf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_duplicate("any", sbf) IS 'had the item come before in this partition, in the order of the window, or is it remembered by the filter of the partition''s first row?';

-- calculators

CREATE FUNCTION sbf_stable_point(cells double precision, hashes integer, evictions double precision,
		max_value integer DEFAULT 7, shares double precision[] DEFAULT NULL) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_stable_point(double precision, integer, double precision, integer, double precision[]) IS 'the share of zero cells that a filter tends to on a stream of distinct items (Deng, Rafiei 2006, theorem 2); shares: the shares of the items that set a cell to 1, 2, ... max_value, for the ibf schemes two_class and multi_class (Bhoraskar et al. 2013, theorems III.1 and III.5)';
CREATE FUNCTION sbf_false_positive_bound(cells double precision, hashes integer, evictions double precision,
		max_value integer DEFAULT 7, shares double precision[] DEFAULT NULL) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_false_positive_bound(double precision, integer, double precision, integer, double precision[]) IS 'the bound of the false-positive rate: (1 - sbf_stable_point(...))^hashes (Bhoraskar et al. 2013, corollary III.4)';
CREATE FUNCTION sbf_evictions(fpr double precision, cells double precision, hashes integer, max_value integer DEFAULT 7) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_evictions(double precision, double precision, integer, integer) IS 'the evictions per step that keep this false-positive rate (round them up): 1 / ((V0^(-1/max) - 1) (1/K - 1/m)), V0 = 1 - fpr^(1/K) (Deng, Rafiei 2006)';
CREATE FUNCTION sbf_false_negative_rate(filter sbf, gap bigint) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_false_negative_rate(sbf, bigint) IS 'the probability that a filter of these parameters has forgotten an item after gap (0 or more) other ones, all distinct (Bhoraskar et al. 2013, section III)';
-- 50-ibf.sql: the type ibf (docs/ibf.md)

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
CREATE OPERATOR = (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel);
COMMENT ON OPERATOR = (ibf, ibf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = ibf, RIGHTARG = ibf, FUNCTION = ibf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (ibf, ibf) IS 'different filters';

-- making and adding

CREATE FUNCTION ibf_empty(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, scheme text DEFAULT 'multi_class',
		low double precision DEFAULT 0, high double precision DEFAULT 1, threshold double precision DEFAULT NULL,
		hashes integer DEFAULT NULL, cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_empty(bigint, double precision, text, double precision, double precision, double precision, integer, integer, integer, bigint) IS 'an empty filter with this many bytes of cells (64 or more), whose false-positive rate stays below fpr (0.000001 to 0.5) whatever the importances (value_weighted: if they are uniform over their range, or lower; Bhoraskar et al. 2013). scheme: two_class (important from the threshold on; null: the middle of low and high), multi_class or value_weighted (importances from low to high in equal classes). hashes (1 to 16), bits of a cell (2 to 8) and evictions a step (0: never any) are chosen if they are null. seed: of its random numbers';

-- not strict: a null importance is an error
CREATE FUNCTION ibf_add(filter ibf, item "any", importance double precision) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add(ibf, "any", double precision) IS 'the filter after one more item. A null importance is an error. The filter is copied, so ibf_add_all() is the way to add many';
CREATE FUNCTION ibf_add(filter ibf, item bf_untyped_item, importance double precision) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add(ibf, bf_untyped_item, double precision) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION ibf_add_all(filter ibf, items anyarray, importances double precision[]) RETURNS ibf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_add_all(ibf, anyarray, double precision[]) IS 'the filter after all elements of the array that are not null, in their order, each with its importance';
CREATE FUNCTION ibf_check_add(filter ibf, items anyarray, importances double precision[], OUT updated ibf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_check_add(ibf, anyarray, double precision[]) IS 'the filter after all elements of the array, in their order, each with its importance; and for each of them: had it come before? (null for a null)';

-- This operator always raises an error. Without it ibf || 'x' would be a text: the text form of the filter, and the string.
CREATE FUNCTION ibf_add_operator(filter ibf, item "any") RETURNS ibf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_add_operator(ibf, "any") IS 'implementation of the operator ||, which always raises an error: use ibf_add(), or | for two filters';
CREATE FUNCTION ibf_add_operator(filter ibf, item bf_text_item) RETURNS ibf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_add_operator(ibf, bf_text_item) IS 'implementation of the operator ||, which always raises an error: use ibf_add(), or | for two filters';
CREATE OPERATOR || (LEFTARG = ibf, RIGHTARG = "any", FUNCTION = ibf_add_operator);
COMMENT ON OPERATOR || (ibf, "any") IS 'always an error: use ibf_add(), or | for two filters';
CREATE OPERATOR || (LEFTARG = ibf, RIGHTARG = bf_text_item, FUNCTION = ibf_add_operator);
COMMENT ON OPERATOR || (ibf, bf_text_item) IS 'always an error: use ibf_add(), or | for two filters';

-- asking

CREATE FUNCTION ibf_contains(filter ibf, item "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contains(ibf, "any") IS 'does the filter remember this item? Both answers may be wrong: true for the share current_false_positive_rate of other items (ibf_info), false for an item that it has forgotten. An error if the filter holds items of another kind';
CREATE FUNCTION ibf_contains(filter ibf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contains(ibf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is text';
CREATE FUNCTION ibf_contained(item "any", filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contained("any", ibf) IS 'does the filter remember this item? ibf_contains() with its arguments exchanged';
CREATE FUNCTION ibf_contained(item bf_untyped_item, filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_contained(bf_untyped_item, ibf) IS 'the same for a literal or a parameter without a type, which is text';
CREATE OPERATOR @> (LEFTARG = ibf, RIGHTARG = "any", FUNCTION = ibf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = ibf, RIGHTARG = bf_untyped_item, FUNCTION = ibf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (ibf, "any") IS 'remembers the item';
COMMENT ON OPERATOR @> (ibf, bf_untyped_item) IS 'remembers the item';
CREATE OPERATOR <@ (LEFTARG = "any", RIGHTARG = ibf, FUNCTION = ibf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = ibf, FUNCTION = ibf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ ("any", ibf) IS 'is remembered by the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, ibf) IS 'is remembered by the filter';
CREATE FUNCTION ibf_contains_any(filter ibf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_any(ibf, anyarray) IS 'does the filter remember one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION ibf_contains_all(filter ibf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION ibf_contains_all(ibf, anyarray) IS 'does the filter remember all of these items? null elements are skipped; true for an empty array';

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
COMMENT ON FUNCTION ibf_info(ibf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, false_positive_bound the one that it keeps on an endless stream, current_false_positive_rate follows from its cells; max_value: the largest of a cell; items, steps: so far; zeros: share of zero cells now; stable_zeros: the share where the filter is stable, if importances are uniform over their range; bytes: of the stored form; cardinality: items that a filter without evictions would hold at this fill; low, high: range of importances, for two_class both the threshold';
CREATE FUNCTION ibf_histogram(filter ibf, OUT value integer, OUT cells bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'stable_histogram' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 8;
COMMENT ON FUNCTION ibf_histogram(ibf) IS 'how many of the filter''s cells have which value';
CREATE FUNCTION ibf_sketch(filter ibf) RETURNS text AS 'MODULE_PATHNAME', 'stable_sketch' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_sketch(ibf) IS 'the filter as a line of text: number of items, share of zero cells now and where it is stable, current false-positive rate, and how many cells have which value';

-- The result of these aggregates depends on the order of the rows, so they have no combine function. With ORDER BY in the call
-- PostgreSQL sorts every argument with every row, so the parameters are a small value and not an empty filter.

CREATE TYPE ibf_parameters AS (bytes bigint, fpr double precision, scheme text, low double precision, high double precision,
	threshold double precision, hashes integer, cell_bits integer, evictions integer, seed bigint);
COMMENT ON TYPE ibf_parameters IS 'the parameters of an ibf, for ibf_agg_like()';
CREATE FUNCTION ibf_parameters(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, scheme text DEFAULT 'multi_class',
		low double precision DEFAULT 0, high double precision DEFAULT 1, threshold double precision DEFAULT NULL,
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
COMMENT ON AGGREGATE ibf_agg("any", double precision) IS 'filter of the items that are not null, in the order of the rows (use ORDER BY): item, importance from 0 to 1; scheme multi_class, 262,144 bytes of cells, false-positive rate 1 %';
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
COMMENT ON FUNCTION ibf_duplicate("any", double precision) IS 'had the item come before in this partition, in the order of the window? null for a null item. importance: from 0 to 1, null is an error; scheme multi_class, 262,144 bytes of cells, false-positive rate 1 %';
CREATE FUNCTION ibf_duplicate(item "any", importance double precision, filter ibf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C WINDOW IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ibf_duplicate("any", double precision, ibf) IS 'had the item come before in this partition, in the order of the window, or is it remembered by the filter of the partition''s first row?';

-- calculators; sbf_stable_point() and sbf_false_positive_bound() serve two_class and multi_class too

CREATE FUNCTION ibf_evictions(fpr double precision, cells double precision, hashes integer, max_value integer DEFAULT 7,
		scheme text DEFAULT 'multi_class') RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_evictions(double precision, double precision, integer, integer, text) IS 'the evictions a step that keep this false-positive rate where importances are uniform over their range. ibf_empty() takes as many as keep it whatever the importances are';
CREATE FUNCTION ibf_false_negative_rate(filter ibf, importance double precision, gap bigint) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION ibf_false_negative_rate(ibf, double precision, bigint) IS 'the probability that a filter of these parameters has forgotten an item of this importance after gap (0 or more) other ones, all distinct and of uniform importances (Bhoraskar et al. 2013, section III)';
-- The index access method bf (docs/index.md).
--
-- Names: functions that BRIN has too are called as BRIN's, with bf for brin (bf_summarize_new_values, bf_summarize_range,
-- bf_desummarize_range), and CALL bf_summarize does the same for a whole table. Functions that look into an index begin with
-- bf_index_. bf_of makes a value of type bf.

CREATE FUNCTION bf_index_handler(internal) RETURNS index_am_handler AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION bf_index_handler(internal) IS 'handler of the index access method bf';

CREATE ACCESS METHOD bf TYPE INDEX HANDLER bf_index_handler;
COMMENT ON ACCESS METHOD bf IS 'Bloom filters of ranges of pages, which say that a range does not hold a value';

-- The options of operator classes, as in (uid int8_ops (false_positive_rate = 0.0001)). The functions differ in the rate of a
-- class if neither the column nor the index says another one.

CREATE FUNCTION bf_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_class_options(internal) IS 'options of an operator class of the index access method bf: false_positive_rate, 0.001 if nothing is said';
CREATE FUNCTION bf_key_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_key_class_options(internal) IS 'options of an operator class for keys inside values: false_positive_rate, 0.01 if nothing is said';
CREATE FUNCTION bf_many_key_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_many_key_class_options(internal) IS 'options of an operator class for keys inside values whose queries have many keys, as those of trigrams: false_positive_rate, 0.05 if nothing is said';

-- Operator classes under which a value is an item. Each has one operator, which is the = by which items of the type are hashed.
-- Operators between two types are in a family only if equal values of the two types have the same hash.

CREATE OPERATOR FAMILY integer_ops USING bf;
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE int2 USING bf FAMILY integer_ops AS OPERATOR 1 =, FUNCTION 7 (int2) bf_class_options(internal);
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int4 USING bf FAMILY integer_ops AS OPERATOR 1 =, FUNCTION 7 (int4) bf_class_options(internal);
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE int8 USING bf FAMILY integer_ops AS OPERATOR 1 =, FUNCTION 7 (int8) bf_class_options(internal);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int2, int4);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int2, int8);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int4, int2);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int4, int8);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int8, int2);
ALTER OPERATOR FAMILY integer_ops USING bf ADD OPERATOR 1 = (int8, int4);

CREATE OPERATOR FAMILY float_ops USING bf;
CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE float4 USING bf FAMILY float_ops AS OPERATOR 1 =, FUNCTION 7 (float4) bf_class_options(internal);
CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING bf FAMILY float_ops AS OPERATOR 1 =, FUNCTION 7 (float8) bf_class_options(internal);
ALTER OPERATOR FAMILY float_ops USING bf ADD OPERATOR 1 = (float4, float8);
ALTER OPERATOR FAMILY float_ops USING bf ADD OPERATOR 1 = (float8, float4);

CREATE OPERATOR FAMILY text_ops USING bf;
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING bf FAMILY text_ops AS OPERATOR 1 =, FUNCTION 7 (text) bf_class_options(internal);
CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name USING bf FAMILY text_ops AS OPERATOR 1 =, FUNCTION 7 (name) bf_class_options(internal);
ALTER OPERATOR FAMILY text_ops USING bf ADD OPERATOR 1 = (text, name);
ALTER OPERATOR FAMILY text_ops USING bf ADD OPERATOR 1 = (name, text);

CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean USING bf AS OPERATOR 1 =, FUNCTION 7 (boolean) bf_class_options(internal);
CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char" USING bf AS OPERATOR 1 =, FUNCTION 7 ("char") bf_class_options(internal);
CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE character USING bf AS OPERATOR 1 =, FUNCTION 7 (character) bf_class_options(internal);
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING bf AS OPERATOR 1 =, FUNCTION 7 (bytea) bf_class_options(internal);
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING bf AS OPERATOR 1 =, FUNCTION 7 (date) bf_class_options(internal);
CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet USING bf AS OPERATOR 1 =, FUNCTION 7 (inet) bf_class_options(internal);
CREATE OPERATOR CLASS interval_ops DEFAULT FOR TYPE interval USING bf AS OPERATOR 1 =, FUNCTION 7 (interval) bf_class_options(internal);
CREATE OPERATOR CLASS jsonb_eq_ops FOR TYPE jsonb USING bf AS OPERATOR 1 =, FUNCTION 7 (jsonb) bf_class_options(internal);
CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr USING bf AS OPERATOR 1 =, FUNCTION 7 (macaddr) bf_class_options(internal);
CREATE OPERATOR CLASS macaddr8_ops DEFAULT FOR TYPE macaddr8 USING bf AS OPERATOR 1 =, FUNCTION 7 (macaddr8) bf_class_options(internal);
CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING bf AS OPERATOR 1 =, FUNCTION 7 (numeric) bf_class_options(internal);
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING bf AS OPERATOR 1 =, FUNCTION 7 (oid) bf_class_options(internal);
CREATE OPERATOR CLASS pg_lsn_ops DEFAULT FOR TYPE pg_lsn USING bf AS OPERATOR 1 =, FUNCTION 7 (pg_lsn) bf_class_options(internal);
CREATE OPERATOR CLASS tid_ops DEFAULT FOR TYPE tid USING bf AS OPERATOR 1 =, FUNCTION 7 (tid) bf_class_options(internal);
CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time USING bf AS OPERATOR 1 =, FUNCTION 7 (time) bf_class_options(internal);
CREATE OPERATOR CLASS timetz_ops DEFAULT FOR TYPE timetz USING bf AS OPERATOR 1 =, FUNCTION 7 (timetz) bf_class_options(internal);
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING bf AS OPERATOR 1 =, FUNCTION 7 (timestamp) bf_class_options(internal);
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING bf AS OPERATOR 1 =, FUNCTION 7 (timestamptz) bf_class_options(internal);
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING bf AS OPERATOR 1 =, FUNCTION 7 (uuid) bf_class_options(internal);
CREATE OPERATOR CLASS xid8_ops DEFAULT FOR TYPE xid8 USING bf AS OPERATOR 1 =, FUNCTION 7 (xid8) bf_class_options(internal);
CREATE OPERATOR CLASS array_eq_ops FOR TYPE anyarray USING bf AS OPERATOR 1 =, FUNCTION 7 (anyarray) bf_class_options(internal);
CREATE OPERATOR CLASS range_ops DEFAULT FOR TYPE anyrange USING bf AS OPERATOR 1 =, FUNCTION 7 (anyrange) bf_class_options(internal);
CREATE OPERATOR CLASS multirange_ops DEFAULT FOR TYPE anymultirange USING bf AS OPERATOR 1 =, FUNCTION 7 (anymultirange) bf_class_options(internal);

-- Operator classes for keys inside values (docs/searching.md). They are named as GIN's, have the operators and strategy numbers
-- of GIN's, and use the support functions of PostgreSQL's GIN operator classes as they are.

CREATE OPERATOR CLASS jsonb_ops DEFAULT FOR TYPE jsonb USING bf AS
	OPERATOR 7 @>, OPERATOR 9 ? (jsonb, text), OPERATOR 10 ?| (jsonb, text[]), OPERATOR 11 ?& (jsonb, text[]),
	OPERATOR 15 @? (jsonb, jsonpath), OPERATOR 16 @@ (jsonb, jsonpath),
	FUNCTION 1 (jsonb) gin_compare_jsonb(text, text),
	FUNCTION 2 (jsonb) gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 (jsonb) gin_extract_jsonb_query(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (jsonb) gin_consistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal, internal),
	FUNCTION 6 (jsonb) gin_triconsistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal),
	FUNCTION 7 (jsonb) bf_many_key_class_options(internal),
	STORAGE text;
CREATE OPERATOR CLASS jsonb_path_ops FOR TYPE jsonb USING bf AS
	OPERATOR 7 @>, OPERATOR 15 @? (jsonb, jsonpath), OPERATOR 16 @@ (jsonb, jsonpath),
	FUNCTION 2 (jsonb) gin_extract_jsonb_path(jsonb, internal, internal),
	FUNCTION 3 (jsonb) gin_extract_jsonb_query_path(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (jsonb) gin_consistent_jsonb_path(internal, int2, jsonb, int4, internal, internal, internal, internal),
	FUNCTION 6 (jsonb) gin_triconsistent_jsonb_path(internal, int2, jsonb, int4, internal, internal, internal),
	FUNCTION 7 (jsonb) bf_key_class_options(internal),
	STORAGE int4;
CREATE OPERATOR CLASS tsvector_ops DEFAULT FOR TYPE tsvector USING bf AS
	OPERATOR 1 @@ (tsvector, tsquery), OPERATOR 2 @@@ (tsvector, tsquery),
	FUNCTION 1 (tsvector) gin_cmp_tslexeme(text, text),
	FUNCTION 2 (tsvector) gin_extract_tsvector(tsvector, internal, internal),
	FUNCTION 3 (tsvector) gin_extract_tsquery(tsvector, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (tsvector) gin_tsquery_consistent(internal, int2, tsvector, int4, internal, internal, internal, internal),
	FUNCTION 6 (tsvector) gin_tsquery_triconsistent(internal, int2, tsvector, int4, internal, internal, internal),
	FUNCTION 7 (tsvector) bf_key_class_options(internal),
	STORAGE text;
CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray USING bf AS
	OPERATOR 1 &&, OPERATOR 2 @>, OPERATOR 3 <@, OPERATOR 4 =,
	FUNCTION 2 (anyarray) ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 (anyarray) ginqueryarrayextract(anyarray, internal, int2, internal, internal, internal, internal),
	FUNCTION 4 (anyarray) ginarrayconsistent(internal, int2, anyarray, int4, internal, internal, internal, internal),
	FUNCTION 6 (anyarray) ginarraytriconsistent(internal, int2, anyarray, int4, internal, internal, internal),
	FUNCTION 7 (anyarray) bf_key_class_options(internal),
	STORAGE anyelement;

-- The comments are shown by \dAc+ and \dAf+.
COMMENT ON OPERATOR FAMILY integer_ops USING bf IS 'bf indexes on integers of all sizes';
COMMENT ON OPERATOR FAMILY float_ops USING bf IS 'bf indexes on floating-point numbers of both sizes';
COMMENT ON OPERATOR FAMILY text_ops USING bf IS 'bf indexes on text and name';
COMMENT ON OPERATOR FAMILY bool_ops USING bf IS 'bf indexes on boolean';
COMMENT ON OPERATOR FAMILY char_ops USING bf IS 'bf indexes on char';
COMMENT ON OPERATOR FAMILY bpchar_ops USING bf IS 'bf indexes on character';
COMMENT ON OPERATOR FAMILY bytea_ops USING bf IS 'bf indexes on bytea';
COMMENT ON OPERATOR FAMILY date_ops USING bf IS 'bf indexes on date';
COMMENT ON OPERATOR FAMILY inet_ops USING bf IS 'bf indexes on inet';
COMMENT ON OPERATOR FAMILY interval_ops USING bf IS 'bf indexes on interval';
COMMENT ON OPERATOR FAMILY jsonb_eq_ops USING bf IS 'bf indexes on jsonb: whole values';
COMMENT ON OPERATOR FAMILY jsonb_ops USING bf IS 'bf indexes on jsonb: keys and values in it';
COMMENT ON OPERATOR FAMILY jsonb_path_ops USING bf IS 'bf indexes on jsonb: values in it with their paths';
COMMENT ON OPERATOR FAMILY tsvector_ops USING bf IS 'bf indexes on tsvector: words in it';
COMMENT ON OPERATOR FAMILY macaddr_ops USING bf IS 'bf indexes on macaddr';
COMMENT ON OPERATOR FAMILY macaddr8_ops USING bf IS 'bf indexes on macaddr8';
COMMENT ON OPERATOR FAMILY numeric_ops USING bf IS 'bf indexes on numeric';
COMMENT ON OPERATOR FAMILY oid_ops USING bf IS 'bf indexes on oid';
COMMENT ON OPERATOR FAMILY pg_lsn_ops USING bf IS 'bf indexes on pg_lsn';
COMMENT ON OPERATOR FAMILY tid_ops USING bf IS 'bf indexes on tid';
COMMENT ON OPERATOR FAMILY time_ops USING bf IS 'bf indexes on time';
COMMENT ON OPERATOR FAMILY timetz_ops USING bf IS 'bf indexes on timetz';
COMMENT ON OPERATOR FAMILY timestamp_ops USING bf IS 'bf indexes on timestamp';
COMMENT ON OPERATOR FAMILY timestamptz_ops USING bf IS 'bf indexes on timestamptz';
COMMENT ON OPERATOR FAMILY uuid_ops USING bf IS 'bf indexes on uuid';
COMMENT ON OPERATOR FAMILY xid8_ops USING bf IS 'bf indexes on xid8';
COMMENT ON OPERATOR FAMILY array_eq_ops USING bf IS 'bf indexes on anyarray: whole arrays';
COMMENT ON OPERATOR FAMILY array_ops USING bf IS 'bf indexes on anyarray: elements of it';
COMMENT ON OPERATOR FAMILY range_ops USING bf IS 'bf indexes on anyrange';
COMMENT ON OPERATOR FAMILY multirange_ops USING bf IS 'bf indexes on anymultirange';
COMMENT ON OPERATOR CLASS int2_ops USING bf IS 'bf indexes on int2';
COMMENT ON OPERATOR CLASS int4_ops USING bf IS 'bf indexes on int4';
COMMENT ON OPERATOR CLASS int8_ops USING bf IS 'bf indexes on int8';
COMMENT ON OPERATOR CLASS float4_ops USING bf IS 'bf indexes on float4';
COMMENT ON OPERATOR CLASS float8_ops USING bf IS 'bf indexes on float8';
COMMENT ON OPERATOR CLASS text_ops USING bf IS 'bf indexes on text';
COMMENT ON OPERATOR CLASS name_ops USING bf IS 'bf indexes on name';
COMMENT ON OPERATOR CLASS bool_ops USING bf IS 'bf indexes on boolean';
COMMENT ON OPERATOR CLASS char_ops USING bf IS 'bf indexes on char';
COMMENT ON OPERATOR CLASS bpchar_ops USING bf IS 'bf indexes on character';
COMMENT ON OPERATOR CLASS bytea_ops USING bf IS 'bf indexes on bytea';
COMMENT ON OPERATOR CLASS date_ops USING bf IS 'bf indexes on date';
COMMENT ON OPERATOR CLASS inet_ops USING bf IS 'bf indexes on inet';
COMMENT ON OPERATOR CLASS interval_ops USING bf IS 'bf indexes on interval';
COMMENT ON OPERATOR CLASS jsonb_eq_ops USING bf IS 'bf indexes on jsonb: whole values';
COMMENT ON OPERATOR CLASS jsonb_ops USING bf IS 'bf indexes on jsonb: keys and values in it';
COMMENT ON OPERATOR CLASS jsonb_path_ops USING bf IS 'bf indexes on jsonb: values in it with their paths';
COMMENT ON OPERATOR CLASS tsvector_ops USING bf IS 'bf indexes on tsvector: words in it';
COMMENT ON OPERATOR CLASS macaddr_ops USING bf IS 'bf indexes on macaddr';
COMMENT ON OPERATOR CLASS macaddr8_ops USING bf IS 'bf indexes on macaddr8';
COMMENT ON OPERATOR CLASS numeric_ops USING bf IS 'bf indexes on numeric';
COMMENT ON OPERATOR CLASS oid_ops USING bf IS 'bf indexes on oid';
COMMENT ON OPERATOR CLASS pg_lsn_ops USING bf IS 'bf indexes on pg_lsn';
COMMENT ON OPERATOR CLASS tid_ops USING bf IS 'bf indexes on tid';
COMMENT ON OPERATOR CLASS time_ops USING bf IS 'bf indexes on time';
COMMENT ON OPERATOR CLASS timetz_ops USING bf IS 'bf indexes on timetz';
COMMENT ON OPERATOR CLASS timestamp_ops USING bf IS 'bf indexes on timestamp';
COMMENT ON OPERATOR CLASS timestamptz_ops USING bf IS 'bf indexes on timestamptz';
COMMENT ON OPERATOR CLASS uuid_ops USING bf IS 'bf indexes on uuid';
COMMENT ON OPERATOR CLASS xid8_ops USING bf IS 'bf indexes on xid8';
COMMENT ON OPERATOR CLASS array_eq_ops USING bf IS 'bf indexes on anyarray: whole arrays';
COMMENT ON OPERATOR CLASS array_ops USING bf IS 'bf indexes on anyarray: elements of it';
COMMENT ON OPERATOR CLASS range_ops USING bf IS 'bf indexes on anyrange';
COMMENT ON OPERATOR CLASS multirange_ops USING bf IS 'bf indexes on anymultirange';

-- summarizing

CREATE FUNCTION bf_summarize_new_values(index regclass) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION bf_summarize_new_values(regclass) IS 'summarizes all ranges of all levels of a bf index that are not summarized, and returns how many these were; above level 0 only full ranges';
CREATE FUNCTION bf_summarize_range(index regclass, block bigint, level integer DEFAULT 0) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION bf_summarize_range(regclass, bigint, integer) IS 'summarizes the range of a level that has this block of the table, and returns 1; returns 0 if the range was summarized before';
CREATE FUNCTION bf_desummarize_range(index regclass, block bigint, level integer DEFAULT 0) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION bf_desummarize_range(regclass, bigint, integer) IS 'removes the summary of the range of a level that has this block of the table, until it is summarized anew; on level 0 the range is always read meanwhile, unless a level above rules it out';
CREATE PROCEDURE bf_summarize(relation regclass) AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE bf_summarize(regclass) IS 'summarizes all ranges of all bf indexes of a table, its partitions and children, or of an index and those of its partitions; commits after each index, which suits pg_cron';

-- functions that look into an index (PARALLEL RESTRICTED, because workers cannot read temporary tables)

CREATE FUNCTION bf_index_check(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION bf_index_check(regclass) IS 'checks that the index has every row of the table; returns the number of row versions that it looked at, or raises an error';
CREATE FUNCTION bf_index_stats(
	index regclass,
	OUT "column" text,
	OUT level integer,
	OUT pages_per_range integer,
	OUT ranges bigint,
	OUT summarized bigint,
	OUT placeholders bigint,
	OUT unsummarized bigint,
	OUT groups integer,
	OUT index_pages bigint,
	OUT hashes integer,
	OUT fill double precision,
	OUT false_positive_rate double precision,
	OUT current_false_positive_rate double precision
) RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL RESTRICTED COST 10000 ROWS 2;
COMMENT ON FUNCTION bf_index_stats(regclass) IS 'one row for each column and level of a bf index: ranges and their states, pages, fill, the false-positive rate asked for, and the one that follows from the bits';
CREATE FUNCTION bf_of(index regclass, block bigint DEFAULT NULL, "column" integer DEFAULT 1, level integer DEFAULT 0) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION bf_of(regclass, bigint, integer, integer) IS 'the filter of the range of a level that has this block of the table; without a block that of all ranges of the level together, which is an error if they have filters of different sizes; NULL if one of the ranges is not summarized';
-- The view bf_indexes over the bf indexes of the tables that one may read (docs/operations.md). Functions and types are named with
-- their schema, because whoever reads the view runs them. The constant of type regproc is the procedure itself, wherever the extension
-- is, and is written with the schema if it needs one.

CREATE FUNCTION bf_index_overview(
	index regclass,
	OUT state text,
	OUT detail text,
	OUT bytes bigint,
	OUT ranges bigint,
	OUT summarized bigint,
	OUT levels integer,
	OUT too_full boolean
) RETURNS record AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION bf_index_overview(regclass) IS 'what two pages of a bf index tell, without waiting for locks: its state (good, damaged, table damaged, locked, not valid, unlogged), bytes, ranges of the table, how many of them are summarized, levels, and whether filters say yes too often; NULL if this is no bf index that the user may look at';

CREATE VIEW bf_indexes AS
WITH RECURSIVE leaf AS MATERIALIZED (
	SELECT c.oid AS index, o.*, pg_catalog.pg_stat_get_numscans(c.oid) AS lookups
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam, LATERAL bf_index_overview(c.oid::pg_catalog.regclass) o
	WHERE a.amname = 'bf' AND c.relkind = 'i' AND o.state IS NOT NULL
), above AS (
	SELECT l.index AS leaf, l.index FROM leaf l
	UNION ALL
	SELECT a.leaf, h.inhparent FROM above a JOIN pg_catalog.pg_inherits h ON h.inhrelid = a.index
), figures AS (
	SELECT a.index, pg_catalog.count(*) AS leaves, pg_catalog.sum(l.bytes)::bigint AS bytes, pg_catalog.sum(l.ranges)::bigint AS ranges,
		pg_catalog.sum(l.summarized)::bigint AS summarized, pg_catalog.max(l.levels) AS levels, pg_catalog.sum(l.lookups)::bigint AS lookups,
		pg_catalog.count(*) FILTER (WHERE l.state = 'damaged') AS damaged, pg_catalog.min(l.index) FILTER (WHERE l.state = 'damaged') AS a_damaged_one,
		pg_catalog.count(*) FILTER (WHERE l.state = 'table damaged') AS tables_damaged,
		pg_catalog.min(l.detail) AS detail, pg_catalog.count(*) FILTER (WHERE l.state = 'locked') AS locked,
		pg_catalog.count(*) FILTER (WHERE l.state = 'not valid') AS not_valid, pg_catalog.count(*) FILTER (WHERE l.state = 'unlogged') AS unlogged,
		pg_catalog.count(*) FILTER (WHERE l.summarized < l.ranges) AS incomplete, pg_catalog.count(*) FILTER (WHERE l.too_full) AS too_full
	FROM above a JOIN leaf l ON l.index = a.leaf GROUP BY a.index
), known AS (
	SELECT i.indrelid AS relation, i.indexrelid AS index, h.inhparent AS parent, c.relkind = 'I' AS is_parent, i.indisvalid,
		coalesce(f.leaves, 0) AS leaves, f.bytes, f.ranges, f.summarized, f.levels, f.lookups, f.damaged, f.a_damaged_one, f.tables_damaged, f.detail, f.locked, f.not_valid,
		f.unlogged, f.incomplete, f.too_full,
		CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'on the primary server: ' ELSE '' END AS there,
		'bf_summarize'::pg_catalog.regproc::pg_catalog.text AS summarize
	FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am a ON a.oid = c.relam
		LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = i.indexrelid LEFT JOIN figures f ON f.index = i.indexrelid
	WHERE a.amname = 'bf' AND (f.index IS NOT NULL OR c.relkind = 'I') AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace) AND
		pg_catalog.has_table_privilege(i.indrelid, 'SELECT') AND NOT pg_catalog.row_security_active(i.indrelid)
)
SELECT k.relation::pg_catalog.regclass AS relation, k.index::pg_catalog.regclass AS index, k.parent::pg_catalog.regclass AS parent, k.leaves, k.bytes, k.ranges,
	k.summarized, k.summarized::double precision / nullif(k.ranges, 0)::double precision AS summarized_share, k.levels, k.lookups,
	coalesce(nullif(CASE WHEN k.is_parent THEN
		pg_catalog.concat_ws('; ',
			CASE WHEN k.leaves = 0 AND k.indisvalid THEN 'there are no partitions: nothing to do' END,
			CASE WHEN NOT k.indisvalid THEN 'not valid: some partition lacks the index, so make it there and ALTER INDEX ... ATTACH PARTITION it' END,
			CASE WHEN k.damaged > 0 THEN pg_catalog.format('%s partitions are damaged: %sREINDEX INDEX CONCURRENTLY %s', k.damaged, k.there,
				CASE WHEN k.damaged = 1 THEN k.a_damaged_one::pg_catalog.regclass::text ELSE 'each' END) END,
			CASE WHEN k.tables_damaged > 0 THEN pg_catalog.format('%s partitions cannot be read themselves', k.tables_damaged) END,
			CASE WHEN k.not_valid > 0 THEN pg_catalog.format('%s partitions are not valid: their build has failed or is not finished', k.not_valid) END,
			CASE WHEN k.locked > 0 THEN pg_catalog.format('%s partitions are locked by other sessions and not counted: ask again later', k.locked) END,
			CASE WHEN k.unlogged > 0 THEN pg_catalog.format('%s partitions are unlogged, of which standbys have nothing', k.unlogged) END,
			CASE WHEN k.incomplete > 0 THEN pg_catalog.format('%s of %s partitions are not summarized to their end: %sCALL %s(%L)', k.incomplete, k.leaves,
				k.there, k.summarize, k.relation::pg_catalog.regclass::text) END,
			CASE WHEN k.too_full > 0 THEN pg_catalog.format('%s partitions are too full: %sREINDEX INDEX CONCURRENTLY each', k.too_full, k.there) END,
			CASE WHEN k.lookups = 0 AND k.parent IS NULL AND k.ranges > 0 THEN 'never asked: if that stays so, drop it' END)
	ELSE
		pg_catalog.concat_ws('; ',
			CASE WHEN k.tables_damaged > 0 THEN pg_catalog.format('the table itself cannot be read: %s', k.detail) END,
			CASE WHEN k.damaged > 0 THEN pg_catalog.format('%s: %sREINDEX INDEX CONCURRENTLY %s', k.detail, k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.not_valid > 0 THEN pg_catalog.format('not valid: its build has failed or is not finished; if nobody is building it, %sREINDEX INDEX CONCURRENTLY %s',
				k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.locked > 0 THEN 'locked by another session: ask again later' END,
			CASE WHEN k.unlogged > 0 THEN 'unlogged: standbys have nothing of it' END,
			CASE WHEN k.ranges = 0 THEN 'the table is empty: nothing to do' END,
			CASE WHEN k.incomplete > 0 THEN pg_catalog.format('%s of %s ranges are not summarized and always read: %sCALL %s(%L)',
				k.ranges OPERATOR(pg_catalog.-) k.summarized, k.ranges, k.there, k.summarize, k.relation::pg_catalog.regclass::text) END,
			CASE WHEN k.too_full > 0 THEN pg_catalog.format('too full: %sREINDEX INDEX CONCURRENTLY %s', k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.lookups = 0 AND k.parent IS NULL AND k.ranges > 0 THEN 'never asked: if that stays so, drop it' END)
	END, ''), 'as full as it should be: nothing to do') AS advice
FROM known k;
GRANT SELECT ON bf_indexes TO PUBLIC;
COMMENT ON VIEW bf_indexes IS 'the bf indexes of the tables that one may read, and what to do with each; a partitioned index has a row that sums up its partitions (WHERE parent IS NULL shows these and no partitions)';
COMMENT ON COLUMN bf_indexes.relation IS 'the table';
COMMENT ON COLUMN bf_indexes.index IS 'the index; of a partitioned table, the partitioned index or that of a partition';
COMMENT ON COLUMN bf_indexes.parent IS 'the partitioned index that this one is directly a part of; NULL: none';
COMMENT ON COLUMN bf_indexes.leaves IS 'how many indexes with a file are summed up: 1, or those of the partitions at the lowest level';
COMMENT ON COLUMN bf_indexes.bytes IS 'size of the file; NULL: it could not be looked at';
COMMENT ON COLUMN bf_indexes.ranges IS 'ranges of level 0 that the table has now';
COMMENT ON COLUMN bf_indexes.summarized IS 'how many of these are summarized, so that they need not always be read; too large only if a range was made unsummarized, or left by an interrupted summarizer, before the last group of ranges that began';
COMMENT ON COLUMN bf_indexes.summarized_share IS 'summarized / ranges; NULL: the table is empty';
COMMENT ON COLUMN bf_indexes.levels IS 'how many levels the index has, 0 if nothing is summarized; of partitions, the most';
COMMENT ON COLUMN bf_indexes.lookups IS 'how often the index was asked since the statistics were reset (idx_scan of pg_stat_all_indexes)';
COMMENT ON COLUMN bf_indexes.advice IS 'what to do, in words; a command stands behind the colon';
-- The advisor (docs/index.md).

CREATE FUNCTION bf_index_advise(
	relation regclass,
	columns text[] DEFAULT NULL,
	sample_pages integer DEFAULT 16384,
	OUT "column" text,
	OUT distinct_values bigint,
	OUT rows_per_value double precision,
	OUT pages_per_value double precision,
	OUT table_pages bigint,
	OUT bf_bytes bigint,
	OUT btree_bytes bigint,
	OUT gin_bytes bigint,
	OUT pages_absent double precision,
	OUT pages_rare double precision,
	OUT pages_frequent double precision,
	OUT advice text,
	OUT statement text
) RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION bf_index_advise(regclass, text[], integer) IS 'samples a table and says for each column what an index on it would take and read: distinct values, on how many pages one lies, bytes of a bf index, a B-tree and a GIN index, pages that a look-up reads for a value that is absent, rare or the most frequent one, whether a bf index pays, and the statement that makes it';
-- chunk_scan: the rows of a relation that have a value, read only from those of its chunks that may hold it (docs/chunks.md).
--
-- PARALLEL UNSAFE: the functions plan queries. Planner hooks of other extensions read their catalogs or assign
-- transaction ids, and fail in parallel workers and in leaders while workers run.

CREATE FUNCTION chunk_scan_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION chunk_scan_support(internal) IS 'planner support for chunk_scan() and chunk_scan_any(): how many rows they return';

CREATE FUNCTION chunk_scan(relation anyelement, "column" name, value "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan(anyelement, name, "any", regclass, name, text) IS 'the rows of a relation whose column equals the value, or satisfies the other operator with it; partitions whose summary or bf index says no are not read';

CREATE FUNCTION chunk_scan_any(relation anyelement, "column" name, items "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan_any(anyelement, name, "any", regclass, name, text) IS 'the rows of a relation whose column equals one of the array''s items, or satisfies the other operator with one; partitions whose summary or bf index says no are not read';

CREATE FUNCTION chunk_scan_explain(relation anyelement, "column" name, value "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=',
		OUT chunk regclass, OUT is_read boolean, OUT because text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100;
COMMENT ON FUNCTION chunk_scan_explain(anyelement, name, "any", regclass, name, text) IS 'which chunks chunk_scan() would read with the same arguments, and why or why not; reads none of them';
-- chunk-scan-untyped.sql: the functions of chunk-scan.sql for a value that has no type. It becomes of the column's type (bf.sql says what
-- bf_untyped_item is).

CREATE FUNCTION chunk_scan(relation anyelement, "column" name, value bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan(anyelement, name, bf_untyped_item, regclass, name, text) IS 'as for a value of any type: for a literal or a parameter without a type, which becomes of the column''s type';
CREATE FUNCTION chunk_scan_any(relation anyelement, "column" name, items bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan_any(anyelement, name, bf_untyped_item, regclass, name, text) IS 'as for an array of any type: for a literal or a parameter without a type, which becomes an array of the column''s type';
CREATE FUNCTION chunk_scan_explain(relation anyelement, "column" name, value bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=',
		OUT chunk regclass, OUT is_read boolean, OUT because text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100;
COMMENT ON FUNCTION chunk_scan_explain(anyelement, name, bf_untyped_item, regclass, name, text) IS 'as for a value of any type: for a literal or a parameter without a type, which becomes of the column''s type';
