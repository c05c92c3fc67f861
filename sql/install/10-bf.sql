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
CREATE FUNCTION bf_lt(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_lt(bf, bf) IS 'implementation of the operator <';
CREATE FUNCTION bf_le(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_le(bf, bf) IS 'implementation of the operator <=';
CREATE FUNCTION bf_gt(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gt(bf, bf) IS 'implementation of the operator >';
CREATE FUNCTION bf_ge(bf, bf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_ge(bf, bf) IS 'implementation of the operator >=';
CREATE FUNCTION bf_cmp(bf, bf) RETURNS integer AS 'MODULE_PATHNAME', 'value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_cmp(bf, bf) IS 'for sorting and btree indexes: -1, 0 or 1. Filters are ordered by size, then byte by byte; the order has no other meaning';
CREATE FUNCTION bf_hash(bf) RETURNS integer AS 'MODULE_PATHNAME', 'value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_hash(bf) IS 'for hashing and hash indexes: equal filters have the same hash';
CREATE FUNCTION bf_hash_extended(bf, bigint) RETURNS bigint AS 'MODULE_PATHNAME', 'value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_hash_extended(bf, bigint) IS 'for hashing with a seed: equal filters have the same hash';
CREATE OPERATOR = (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (bf, bf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (bf, bf) IS 'different filters';
CREATE OPERATOR < (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_lt, COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (bf, bf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR <= (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_le, COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (bf, bf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR > (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_gt, COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (bf, bf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR >= (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_ge, COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (bf, bf) IS 'order of filters for sorting: by size, then byte by byte';

-- Default operator classes: for DISTINCT, GROUP BY, joins, row comparison and logical replication.
CREATE OPERATOR CLASS bf_ops DEFAULT FOR TYPE bf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 bf_cmp(bf, bf),
	FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS bf_ops DEFAULT FOR TYPE bf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 bf_hash(bf), FUNCTION 2 bf_hash_extended(bf, bigint);
COMMENT ON OPERATOR CLASS bf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY bf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR CLASS bf_ops USING hash IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY bf_ops USING hash IS 'compares whole filters, as = does';

-- items

-- Two types for items, bf_untyped_item and bf_text_item. An item may be of any type, so the functions below take "any".
-- The operators @> and <@ take anyelement instead, because f @> ANY (array) needs an operator whose argument has an
-- array type, and "any" has none. For both pseudo-types the parser refuses a parameter without a type, such as the $1
-- of f @> $1 that drivers send.

-- An untyped literal or parameter that is given as an item, or as an array of items, gets this type, which is stored
-- as text. When a function with such an argument runs, it reads the text as the type of the filter's items; so it is
-- STABLE, as the input function of that type may be. No other type is converted to bf_untyped_item. The type is in the
-- category of strings, because if an argument has no type the parser prefers the function that takes a string.
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
COMMENT ON TYPE bf_untyped_item IS 'the type of an untyped literal or parameter that is given as an item or an array of items; it is stored as text, and is not meant for any other use';
CREATE CAST (bf_untyped_item AS text) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bf_untyped_item AS text) IS 'for a parameter that the query also compares with text: f @> $1 AND url = $1';

-- For bf || text the parser finds PostgreSQL's operator anynonarray || text as good a match as bf || "any", and
-- raises an error. An operator bf || text would also take every type with a cast to text (citext, char(n)), whose
-- items would become text. bf_text_item is text under another name. It is a preferred type among strings, and only
-- text has a cast to it. So the operator of bf_text_item takes text, and literals and parameters without a type, but
-- nothing else.
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
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_empty(bigint, double precision) IS 'an empty filter for this many distinct items (1 or more; null: a filter that sizes itself, which holds up to 65,536 items exactly) at this false-positive rate (0.000001 to 0.5): Bloom 1970, in lines of 512 bits after Putze, Sanders, Singler 2007';

CREATE FUNCTION bf_add_support(internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_add_support(internal) IS 'planner support: from PostgreSQL 18 on PL/pgSQL may change a variable in place';
CREATE FUNCTION bf_add(filter bf, item "any") RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add(bf, "any") IS 'the filter with one item added. An error if the filter holds items of another kind. The filter is copied (but for a PL/pgSQL variable, from PostgreSQL 18 on), so bf_add_all() is the way to add many';
CREATE FUNCTION bf_add(filter bf, item bf_untyped_item) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';

CREATE OPERATOR || (LEFTARG = bf, RIGHTARG = "any", FUNCTION = bf_add);
COMMENT ON OPERATOR || (bf, "any") IS 'add an item';

CREATE FUNCTION _bf_add_text(filter bf, item bf_text_item) RETURNS bf
	AS 'MODULE_PATHNAME', 'bf_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT bf_add_support;
COMMENT ON FUNCTION _bf_add_text(bf, bf_text_item) IS 'implementation of the operator bf || text: use bf_add()';
CREATE OPERATOR || (LEFTARG = bf, RIGHTARG = bf_text_item, FUNCTION = _bf_add_text);
COMMENT ON OPERATOR || (bf, bf_text_item) IS 'add a text';

CREATE FUNCTION bf_add_all(filter bf, items anyarray) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add_all(bf, anyarray) IS 'the filter with all elements of the array added that are not null';
CREATE FUNCTION bf_add_all(filter bf, items bf_untyped_item) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 SUPPORT bf_add_support;
COMMENT ON FUNCTION bf_add_all(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- asking

CREATE FUNCTION bf_contains(filter bf, item anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contains(bf, anyelement) IS 'may the filter hold this item? false is certain; true is wrong for the share current_false_positive_rate of other items (bf_info). An error if the filter holds items of another kind';
CREATE FUNCTION bf_contains(filter bf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contains(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION bf_contained(item anyelement, filter bf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contained(anyelement, bf) IS 'may this item be in the filter? bf_contains() with its arguments exchanged';
CREATE FUNCTION bf_contained(item bf_untyped_item, filter bf) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION bf_contained(bf_untyped_item, bf) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR @> (LEFTARG = bf, RIGHTARG = anyelement, FUNCTION = bf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = bf, RIGHTARG = bf_untyped_item, FUNCTION = bf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (bf, anyelement) IS 'may hold the item';
COMMENT ON OPERATOR @> (bf, bf_untyped_item) IS 'may hold the item';
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = bf, FUNCTION = bf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = bf, FUNCTION = bf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ (anyelement, bf) IS 'may be in the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, bf) IS 'may be in the filter';

CREATE FUNCTION bf_contains_any(filter bf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_any(bf, anyarray) IS 'may the filter hold one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION bf_contains_any(filter bf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_any(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION bf_contains_all(filter bf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_all(bf, anyarray) IS 'may the filter hold all of these items? null elements are skipped; true for an empty array';
CREATE FUNCTION bf_contains_all(filter bf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_contains_all(bf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- combining

CREATE FUNCTION bf_union(filter bf, other bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union(bf, bf) IS 'the filter that holds the items of both. The union of two exact filters is exact up to 65,536 items; with more it gets lines with room for four times as many. The number of hashes must be the same, sizes of filters with lines may differ by a power of two, and an exact filter goes with any size. A warning if the rate of the result is more than twice the rate asked for';
CREATE FUNCTION bf_intersection(filter bf, other bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_intersection(bf, bf) IS 'a filter that holds the items that are in both; it has more false positives than one that is built from these items. If one of the two is exact, the result is exact, too. The parameters must be the same, but sizes may differ by a power of two';
CREATE OPERATOR | (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (bf, bf) IS 'union';
CREATE OPERATOR & (LEFTARG = bf, RIGHTARG = bf, FUNCTION = bf_intersection, COMMUTATOR = &);
COMMENT ON OPERATOR & (bf, bf) IS 'intersection';
CREATE FUNCTION bf_fold(filter bf, fpr double precision DEFAULT NULL) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_fold(bf, double precision) IS 'the filter, folded to half its size as often as the false-positive rate for its items stays at most fpr (0.000001 to 0.5; null: the rate that the filter was made for)';

CREATE FUNCTION bf_compact(filter bf, fpr double precision DEFAULT NULL) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_compact(bf, double precision) IS 'lines of bits for just the items of an exact filter, at this false-positive rate (0.000001 to 0.5; null: the rate that the filter was made for): the smallest filter of these items, without room for others. A filter that has lines is folded, as by bf_fold()';

-- looking inside

CREATE FUNCTION bf_cardinality(filter bf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_cardinality(bf) IS 'estimated number of distinct items, from the share of bits that are set (Swamidass, Baldi 2007); Infinity if all are set. Of an exact filter the number itself';
CREATE FUNCTION bf_info(filter bf,
		OUT item_kind text, OUT expected_items bigint, OUT false_positive_rate double precision, OUT hashes integer,
		OUT bits bigint, OUT layout text, OUT bytes bigint, OUT fill double precision, OUT current_false_positive_rate double precision,
		OUT cardinality double precision, OUT cardinality_error double precision, OUT used double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_info(bf) IS 'parameters and state of a filter: false_positive_rate is the rate asked for, current_false_positive_rate follows from the fill; fill: share of bits that are set; bytes: of the stored form; cardinality: estimated number of distinct items; cardinality_error: its standard error; used: cardinality as a share of the items that the filter has room for at the rate asked for, so above 1 it is too full (of an exact filter, as a share of 65,536); layout: lines, or exact for up to 65,536 items of a filter that sizes itself; that has no bits, no fill and no false positives, and cardinality is exact';
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
COMMENT ON AGGREGATE bf_agg("any") IS 'filter of the items that are not null. It sizes itself for a false-positive rate of 1 %, and is exact up to 65,536 distinct items';

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

-- The state is of type bytea, and not internal, so that an engine that splits a query over several machines can send
-- it from one machine to another.
CREATE FUNCTION bf_union_agg_add(bytea, bf) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union_agg_add(bytea, bf) IS 'transition function of bf_union_agg';
CREATE FUNCTION bf_union_agg_combine(bytea, bytea) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union_agg_combine(bytea, bytea) IS 'combine function of bf_union_agg';
CREATE FUNCTION bf_union_agg_final(bytea) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_union_agg_final(bytea) IS 'final function of bf_union_agg';
CREATE AGGREGATE bf_union_agg(filter bf) (
	SFUNC = bf_union_agg_add, STYPE = bytea, SSPACE = 4096,
	FINALFUNC = bf_union_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bf_union_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bf_union_agg(bf) IS 'the filter that holds the items of all filters. Of exact filters the union is exact up to 65,536 items; with more it gets lines with room for four times as many. The number of hashes must be the same, sizes of filters with lines may differ by a power of two, and an exact filter goes with any size. A warning if the rate of the result is more than twice the rate asked for';

CREATE FUNCTION bf_intersection_agg_add(bf, bf) RETURNS bf AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bf_intersection_agg_add(bf, bf) IS 'transition and combine function of bf_intersection_agg';
CREATE AGGREGATE bf_intersection_agg(filter bf) (SFUNC = bf_intersection_agg_add, STYPE = bf, COMBINEFUNC = bf_intersection_agg_add, PARALLEL = SAFE);
COMMENT ON AGGREGATE bf_intersection_agg(bf) IS 'a filter that holds the items that are in all filters, with more false positives than one that is built from these items';
