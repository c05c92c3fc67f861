-- 24-tbf-top.sql: hot items of a tbf (docs/tbf.md)

CREATE FUNCTION tbf_top(filter tbf, k integer DEFAULT 10, at timestamptz DEFAULT now())
	RETURNS TABLE (item text, hits_from double precision, hits_to double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION tbf_top(tbf, integer, timestamptz) IS 'the k hottest items of a filter that was made with top => c, and bounds of their hits decayed to this time. Every item whose share of all hits exceeds 1 / (c + 1) is listed if k is large enough (Misra, Gries 1982). An error for a filter without a list';
