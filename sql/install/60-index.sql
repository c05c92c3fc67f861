-- The index access method bf (docs/index.md).
--
-- Names: functions that BRIN has too are called like BRIN's, with bf instead of brin (bf_summarize_new_values,
-- bf_summarize_range, bf_desummarize_range). The procedure bf_summarize summarizes all bf indexes of a table.
-- Functions that look into an index begin with bf_index_. bf_of makes a value of type bf.

CREATE FUNCTION bf_index_handler(internal) RETURNS index_am_handler AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION bf_index_handler(internal) IS 'handler of the index access method bf';

CREATE ACCESS METHOD bf TYPE INDEX HANDLER bf_index_handler;
COMMENT ON ACCESS METHOD bf IS 'Bloom filters of ranges of pages, which say that a range does not hold a value';

-- The options of operator classes, as in (uid int8_ops (false_positive_rate = 0.0001)). The functions differ in the
-- default of the rate, which holds if neither the column nor the index gives a rate.

CREATE FUNCTION bf_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_class_options(internal) IS 'options of an operator class of the index access method bf: false_positive_rate, 0.001 if nothing is said';
CREATE FUNCTION bf_key_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_key_class_options(internal) IS 'options of an operator class for keys inside values: false_positive_rate, 0.01 if nothing is said';
CREATE FUNCTION bf_many_key_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_many_key_class_options(internal) IS 'the options of an operator class for keys inside values whose queries have many keys (trigrams, for example): false_positive_rate, default 0.05';

-- Operator classes for which a value of the column is an item. Each has one operator: the = that agrees with the hash
-- of the type's items. A family has an operator between two types only if equal values of the two types have the same
-- hash.

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

-- Operator classes for keys inside values (docs/searching.md). They have the names, the operators and the strategy
-- numbers of PostgreSQL's GIN operator classes, and use their support functions as they are.

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

-- In psql, \dAc+ and \dAf+ show these comments.
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
COMMENT ON FUNCTION bf_desummarize_range(regclass, bigint, integer) IS 'removes the summary of one range: that of this level which contains this block of the table. Until it is summarized anew, a range of level 0 is always read, unless a level above rules it out';
CREATE PROCEDURE bf_summarize(relation regclass) AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE bf_summarize(regclass) IS 'summarizes all ranges of all bf indexes of a table, its partitions and children, or of an index and those of its partitions; commits after each index, which suits pg_cron';

-- Functions that look into an index. bf_index_stats() and bf_of() are PARALLEL RESTRICTED, because workers cannot read
-- temporary tables.

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
	OUT current_false_positive_rate double precision,
	OUT full_ranges bigint,
	OUT full_block bigint
) RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL RESTRICTED COST 10000 ROWS 2;
COMMENT ON FUNCTION bf_index_stats(regclass) IS 'one row for each column and level of a bf index: ranges and their states, pages, fill, the false-positive rate asked for, and the one that follows from the bits; ranges that have far more items than the others (full), which are always read, and the first block of the first of them';
CREATE FUNCTION bf_of(index regclass, block bigint DEFAULT NULL, "column" integer DEFAULT 1, level integer DEFAULT 0) RETURNS bf
	AS 'MODULE_PATHNAME' LANGUAGE C PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION bf_of(regclass, bigint, integer, integer) IS 'the filter of the range of a level that has this block of the table; without a block that of all ranges of the level together, which is an error if they have filters of different sizes; NULL if one of the ranges is full or not summarized';
