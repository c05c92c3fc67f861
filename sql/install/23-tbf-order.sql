-- 23-tbf-order.sql: aggregates for filters that depend on the order of their hits; removing a hit (docs/tbf.md)

CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf) IS 'transition function of tbf_agg_in_order';
CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision) IS 'transition function of tbf_agg_in_order';
CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision, timestamptz) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, tbf, double precision, timestamptz) IS 'transition function of tbf_agg_in_order';

-- There is no combine function. With minimum increase the states of two workers could be merged, but the result would
-- differ from that of one worker. With recurring minimum they cannot be merged.
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

CREATE FUNCTION tbf_remove(filter tbf, item "any", at timestamptz DEFAULT now(), weight double precision DEFAULT 1) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, "any", timestamptz, double precision) IS 'the filter without one hit that was added at this time with this weight (Fan et al. 2000). An error if the item has fewer hits, if anything of the filter was dropped by decay, or if it has minimum increase, recurring minimum or a list of hot items';
CREATE FUNCTION tbf_remove(filter tbf, item bf_untyped_item, at timestamptz DEFAULT now(), weight double precision DEFAULT 1) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, bf_untyped_item, timestamptz, double precision) IS 'the same for a literal or a parameter without a type, which is read as the type of the filter''s items';
