-- 22-tbf-weight.sql: multiplies the counts of a tbf by a weight

CREATE FUNCTION tbf_scale(filter tbf, weight double precision) RETURNS tbf
	AS 'MODULE_PATHNAME', 'tbf_scale' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_scale(tbf, double precision) IS 'the filter with all counts multiplied by a weight (finite, 0 or more, less than 2^33), rounded up';
-- The arguments have no names, so that a call with named arguments means the function above.
CREATE FUNCTION tbf_scale(double precision, tbf) RETURNS tbf
	AS 'MODULE_PATHNAME', 'tbf_scale_commuted' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_scale(double precision, tbf) IS 'the operator * with the weight on its left: as tbf_scale(filter, weight)';
CREATE OPERATOR * (LEFTARG = tbf, RIGHTARG = double precision, FUNCTION = tbf_scale, COMMUTATOR = *);
COMMENT ON OPERATOR * (tbf, double precision) IS 'all counts multiplied by a weight';
CREATE OPERATOR * (LEFTARG = double precision, RIGHTARG = tbf, FUNCTION = tbf_scale, COMMUTATOR = *);
COMMENT ON OPERATOR * (double precision, tbf) IS 'all counts multiplied by a weight';

CREATE FUNCTION tbf_merge_agg_add(bytea, tbf, double precision) RETURNS bytea AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION tbf_merge_agg_add(bytea, tbf, double precision) IS 'transition function of tbf_merge_agg';

CREATE AGGREGATE tbf_merge_agg(filter tbf, weight double precision) (
	SFUNC = tbf_merge_agg_add, STYPE = bytea, SSPACE = 4096,
	FINALFUNC = tbf_merge_agg_final, FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = tbf_merge_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE tbf_merge_agg(tbf, double precision) IS 'the hits of all filters, multiplied by each filter''s weight, for example a weight by age: decay_polynomial(now() - hour_end, 1, ''1 day'')';
