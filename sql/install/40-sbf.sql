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
CREATE FUNCTION sbf_lt(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_lt(sbf, sbf) IS 'implementation of the operator <';
CREATE FUNCTION sbf_le(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_le(sbf, sbf) IS 'implementation of the operator <=';
CREATE FUNCTION sbf_gt(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_gt(sbf, sbf) IS 'implementation of the operator >';
CREATE FUNCTION sbf_ge(sbf, sbf) RETURNS boolean AS 'MODULE_PATHNAME', 'value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_ge(sbf, sbf) IS 'implementation of the operator >=';
CREATE FUNCTION sbf_cmp(sbf, sbf) RETURNS integer AS 'MODULE_PATHNAME', 'value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_cmp(sbf, sbf) IS 'for sorting and btree indexes: -1, 0 or 1. Filters are ordered by size, then byte by byte; the order has no other meaning';
CREATE FUNCTION sbf_hash(sbf) RETURNS integer AS 'MODULE_PATHNAME', 'value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_hash(sbf) IS 'for hashing and hash indexes: equal filters have the same hash';
CREATE FUNCTION sbf_hash_extended(sbf, bigint) RETURNS bigint AS 'MODULE_PATHNAME', 'value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_hash_extended(sbf, bigint) IS 'for hashing with a seed: equal filters have the same hash';
CREATE OPERATOR = (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_eq, COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (sbf, sbf) IS 'same filter, byte for byte';
CREATE OPERATOR <> (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_ne, COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (sbf, sbf) IS 'different filters';
CREATE OPERATOR < (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_lt, COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (sbf, sbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR <= (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_le, COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (sbf, sbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR > (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_gt, COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (sbf, sbf) IS 'order of filters for sorting: by size, then byte by byte';
CREATE OPERATOR >= (LEFTARG = sbf, RIGHTARG = sbf, FUNCTION = sbf_ge, COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (sbf, sbf) IS 'order of filters for sorting: by size, then byte by byte';

-- Default operator classes: for DISTINCT, GROUP BY, joins, row comparison and logical replication.
CREATE OPERATOR CLASS sbf_ops DEFAULT FOR TYPE sbf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 sbf_cmp(sbf, sbf),
	FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS sbf_ops DEFAULT FOR TYPE sbf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 sbf_hash(sbf), FUNCTION 2 sbf_hash_extended(sbf, bigint);
COMMENT ON OPERATOR CLASS sbf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY sbf_ops USING btree IS 'compares whole filters, as = does';
COMMENT ON OPERATOR CLASS sbf_ops USING hash IS 'compares whole filters, as = does';
COMMENT ON OPERATOR FAMILY sbf_ops USING hash IS 'compares whole filters, as = does';

-- making and adding

CREATE FUNCTION sbf_empty(bytes bigint DEFAULT 262144, fpr double precision DEFAULT 0.01, hashes integer DEFAULT NULL,
		cell_bits integer DEFAULT NULL, evictions integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_empty(bigint, double precision, integer, integer, integer, bigint) IS 'an empty filter with this many bytes of cells (64 or more), whose false-positive rate stays below fpr (0.000001 to 0.5) on an endless stream (Deng, Rafiei 2006). hashes (1 to 16), bits of a cell (1 to 8) and evictions a step (0: never any) are chosen if they are null. seed: of its random numbers';

CREATE FUNCTION sbf_add(filter sbf, item "any") RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add(sbf, "any") IS 'the filter after one more item. The filter is copied, so sbf_add_all() is the way to add many';
CREATE FUNCTION sbf_add(filter sbf, item bf_untyped_item) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR || (LEFTARG = sbf, RIGHTARG = "any", FUNCTION = sbf_add);
COMMENT ON OPERATOR || (sbf, "any") IS 'add an item';

-- as for bf || text, see 10-bf.sql
CREATE FUNCTION _sbf_add_text(filter sbf, item bf_text_item) RETURNS sbf
	AS 'MODULE_PATHNAME', 'sbf_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _sbf_add_text(sbf, bf_text_item) IS 'implementation of the operator sbf || text: use sbf_add()';
CREATE OPERATOR || (LEFTARG = sbf, RIGHTARG = bf_text_item, FUNCTION = _sbf_add_text);
COMMENT ON OPERATOR || (sbf, bf_text_item) IS 'add a text';

CREATE FUNCTION sbf_add_all(filter sbf, items anyarray) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add_all(sbf, anyarray) IS 'the filter after all elements of the array that are not null, in their order';
CREATE FUNCTION sbf_add_all(filter sbf, items bf_untyped_item) RETURNS sbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_add_all(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION sbf_check_add(filter sbf, items anyarray, OUT updated sbf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_check_add(sbf, anyarray) IS 'the filter after all elements of the array, in their order; and for each of them: had it come before? (null for a null)';
CREATE FUNCTION sbf_check_add(filter sbf, items bf_untyped_item, OUT updated sbf, OUT duplicates boolean[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION sbf_check_add(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

-- asking

CREATE FUNCTION sbf_contains(filter sbf, item anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contains(sbf, anyelement) IS 'does the filter remember this item? Both answers may be wrong: true for the share current_false_positive_rate of other items (sbf_info), false for an item that it has forgotten. An error if the filter holds items of another kind';
CREATE FUNCTION sbf_contains(filter sbf, item bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contains(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION sbf_contained(item anyelement, filter sbf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contained(anyelement, sbf) IS 'does the filter remember this item? sbf_contains() with its arguments exchanged';
CREATE FUNCTION sbf_contained(item bf_untyped_item, filter sbf) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contained' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sbf_contained(bf_untyped_item, sbf) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE OPERATOR @> (LEFTARG = sbf, RIGHTARG = anyelement, FUNCTION = sbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = sbf, RIGHTARG = bf_untyped_item, FUNCTION = sbf_contains, COMMUTATOR = <@, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @> (sbf, anyelement) IS 'remembers the item';
COMMENT ON OPERATOR @> (sbf, bf_untyped_item) IS 'remembers the item';
CREATE OPERATOR <@ (LEFTARG = anyelement, RIGHTARG = sbf, FUNCTION = sbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR <@ (LEFTARG = bf_untyped_item, RIGHTARG = sbf, FUNCTION = sbf_contained, COMMUTATOR = @>, RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR <@ (anyelement, sbf) IS 'is remembered by the filter';
COMMENT ON OPERATOR <@ (bf_untyped_item, sbf) IS 'is remembered by the filter';
CREATE FUNCTION sbf_contains_any(filter sbf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_any(sbf, anyarray) IS 'does the filter remember one of these items? null elements are skipped; false for an empty array';
CREATE FUNCTION sbf_contains_any(filter sbf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_any' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_any(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';
CREATE FUNCTION sbf_contains_all(filter sbf, items anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_all(sbf, anyarray) IS 'does the filter remember all of these items? null elements are skipped; true for an empty array';
CREATE FUNCTION sbf_contains_all(filter sbf, items bf_untyped_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'stable_contains_all' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sbf_contains_all(sbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as an array of the type of the filter''s items';

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

-- The result of these aggregates depends on the order of the rows, so they have no combine function. With ORDER BY in
-- the call PostgreSQL writes all arguments of each row into the sort. So the parameters are a small value, and not an
-- empty filter.

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
