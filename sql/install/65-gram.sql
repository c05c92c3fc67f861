-- gram_ops and bytea_gram_ops: operator classes of bf indexes with which queries skip pages of the table
-- (docs/searching.md): on text those with LIKE, ILIKE, a regular expression, ^@ or =, on bytea those with LIKE or =.
-- bf_grams() shows the grams of a text.

CREATE FUNCTION bf_gram_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_gram_class_options(internal) IS 'options of gram_ops: n, the characters of a gram (3 to 8, 4 if nothing is said); fold (on), false_positive_rate (0.1)';
CREATE FUNCTION bf_bytea_gram_class_options(internal) RETURNS void AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bf_bytea_gram_class_options(internal) IS 'options of bytea_gram_ops: n, the bytes of a gram (3 to 8, 4 if nothing is said); false_positive_rate (0.1)';
CREATE FUNCTION bf_gram_extract_value(text, internal) RETURNS internal AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_extract_value(text, internal) IS 'support function of gram_ops: the n-grams of a text';
CREATE FUNCTION bf_gram_extract_value(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bf_gram_extract_value_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_extract_value(bytea, internal) IS 'support function of bytea_gram_ops: the n-grams of bytes';
CREATE FUNCTION bf_gram_extract_query(text, internal, int2, internal, internal, internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_extract_query(text, internal, int2, internal, internal, internal, internal) IS 'support function of gram_ops: the n-grams that a pattern requires';
CREATE FUNCTION bf_gram_extract_query(bytea, internal, int2, internal, internal, internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bf_gram_extract_query_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_extract_query(bytea, internal, int2, internal, internal, internal, internal) IS 'support function of bytea_gram_ops: the n-grams that a pattern requires';
CREATE FUNCTION bf_gram_triconsistent(internal, int2, text, int4, internal, internal, internal) RETURNS "char"
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_triconsistent(internal, int2, text, int4, internal, internal, internal) IS 'support function of gram_ops: can a text match without some n-grams?';
CREATE FUNCTION bf_gram_triconsistent(internal, int2, bytea, int4, internal, internal, internal) RETURNS "char"
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_gram_triconsistent(internal, int2, bytea, int4, internal, internal, internal) IS 'support function of bytea_gram_ops: can bytes match without some n-grams?';

CREATE OPERATOR CLASS gram_ops FOR TYPE text USING bf AS
	OPERATOR 1 =, OPERATOR 2 ^@ (text, text), OPERATOR 3 ~~ (text, text), OPERATOR 4 ~~* (text, text),
	OPERATOR 5 ~ (text, text), OPERATOR 6 ~* (text, text),
	FUNCTION 2 (text) bf_gram_extract_value(text, internal),
	FUNCTION 3 (text) bf_gram_extract_query(text, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (text) bf_gram_triconsistent(internal, int2, text, int4, internal, internal, internal),
	FUNCTION 7 (text) bf_gram_class_options(internal),
	STORAGE int8;
CREATE OPERATOR CLASS bytea_gram_ops FOR TYPE bytea USING bf AS
	OPERATOR 1 =, OPERATOR 3 ~~ (bytea, bytea),
	FUNCTION 2 (bytea) bf_gram_extract_value(bytea, internal),
	FUNCTION 3 (bytea) bf_gram_extract_query(bytea, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (bytea) bf_gram_triconsistent(internal, int2, bytea, int4, internal, internal, internal),
	FUNCTION 7 (bytea) bf_bytea_gram_class_options(internal),
	STORAGE int8;
COMMENT ON OPERATOR FAMILY gram_ops USING bf IS 'bf indexes on text: pieces of it, for LIKE, ILIKE, ~, ~*, ^@ and =';
COMMENT ON OPERATOR FAMILY bytea_gram_ops USING bf IS 'bf indexes on bytea: pieces of it, for LIKE and =';
COMMENT ON OPERATOR CLASS gram_ops USING bf IS 'bf indexes on text: pieces of it, for LIKE, ILIKE, ~, ~*, ^@ and =';
COMMENT ON OPERATOR CLASS bytea_gram_ops USING bf IS 'bf indexes on bytea: pieces of it, for LIKE and =';

CREATE FUNCTION bf_grams(value text, n integer DEFAULT 4, fold boolean DEFAULT true) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bf_grams(text, integer, boolean) IS 'the n-grams of a text, as gram_ops makes them: runs of n characters (3 to 8), folded if fold is true, with ^ and $ for the beginning and the end';
