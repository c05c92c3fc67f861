-- 30-formula.sql: calculators for planning a filter before it is made: the classic Bloom filter, and bf (docs/bf.md)

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
