-- 21-tbf-estimate.sql: totals, shares, bounds of errors, and estimates of a tbf (docs/tbf.md)

CREATE FUNCTION tbf_total(filter tbf, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_total(tbf, timestamptz) IS 'the hits of all items, decayed to this time, rounded up';
CREATE FUNCTION tbf_share(filter tbf, item "any") RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_share(tbf, "any") IS 'the item''s share of all hits, from 0 to 1. It may be too high, as tbf_count() may; null for a filter without hits';
CREATE FUNCTION tbf_share(filter tbf, item bf_untyped_item) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_share(tbf, bf_untyped_item) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION tbf_error_bound(filter tbf, over double precision, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION tbf_error_bound(tbf, double precision, timestamptz) IS 'a bound on the share of items whose count at this time is too high by more than this many hits (more than 0) because of other items'' hits: (k W / (m t))^k for k hashes, W hits in all, m counters and t hits too many, the slack of tbf_info() not counted (Markov''s inequality; the counters of an item are taken as independent). 1 if the slack alone is so high, otherwise 0 for an exact filter. What is rounded comes on top';
CREATE FUNCTION tbf_error_estimate(filter tbf, over double precision, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_error_estimate(tbf, double precision, timestamptz) IS 'an estimate of the share of items whose count at this time is too high by more than this many hits (more than 0): the share of counters that are above it, to the power of the number of hashes. It may be too low; tbf_error_bound() is a bound';
CREATE FUNCTION tbf_estimate(filter tbf, item "any", at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, "any", timestamptz) IS 'the item''s decayed count, less what other items add on average; it may be too small, so never use it for skipping: tbf_count() is the upper bound';
CREATE FUNCTION tbf_estimate(filter tbf, item bf_untyped_item, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_estimate(tbf, bf_untyped_item, timestamptz) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
CREATE FUNCTION tbf_cardinality(filter tbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_cardinality(tbf) IS 'estimated number of distinct items that have not faded, from the share of counters that are not 0 (Swamidass, Baldi 2007)';
CREATE FUNCTION tbf_inner_product(filter tbf, other tbf, at timestamptz DEFAULT now()) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_inner_product(tbf, tbf, timestamptz) IS 'an estimate of the sum over all items of the product of their decayed counts in two filters of the same size, parameters and item kind (undecayed: the number of rows of their join)';
