-- tbf-order.sql: filters that depend on the order of their hits, and taking hits out (docs/tbf.md)

CREATE FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, double precision, tbf) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION tbf_agg_in_order_add(internal, "any", timestamptz, double precision, tbf) IS 'transition function of tbf_agg_in_order';

-- No combine function: what two workers have built could be added, but not to what one would have built.
CREATE AGGREGATE tbf_agg_in_order("any", timestamptz, double precision, tbf) (
	SFUNC = tbf_agg_in_order_add, STYPE = internal, SSPACE = 1024,
	FINALFUNC = tbf_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_agg_in_order("any", timestamptz, double precision, tbf) IS 'as tbf_agg_like, for filters with minimum increase or recurring minimum: the result depends on the order of the rows, so write ORDER BY at inside the call; never parallel';

CREATE FUNCTION tbf_remove(filter tbf, item "any", at timestamptz DEFAULT now(), weight double precision DEFAULT 1) RETURNS tbf
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_remove(tbf, "any", timestamptz, double precision) IS 'the filter without one hit that was added at this time with this weight; only while nothing was forgotten; an error if the item has fewer hits';
