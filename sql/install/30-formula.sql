-- 30-formula.sql: calculators, for planning a filter before it is made (docs/bf.md, docs/sbf.md)

CREATE FUNCTION bloom_false_positive_rate(bits double precision, hashes double precision, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_false_positive_rate(double precision, double precision, double precision) IS 'the classic filter''s rate (1 - e^(-kn/m))^k for m bits, k hashes, n items (Bloom 1970)';
CREATE FUNCTION bloom_optimal_bits(items double precision, fpr double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_optimal_bits(double precision, double precision) IS 'the bits that the classic filter needs at its best number of hashes: n ln(1/p) / ln(2)^2';
CREATE FUNCTION bloom_optimal_hashes(bits double precision, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_optimal_hashes(double precision, double precision) IS 'the number of hashes at which the classic filter is best: m/n ln 2, at least 1; round it';
CREATE FUNCTION bf_false_positive_rate(bits double precision, hashes integer, items double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bf_false_positive_rate(double precision, integer, double precision) IS 'the false-positive rate of a bf of this many bits and hashes (1 to 16) that holds this many items, by the exact formula for lines of 512 bits';
