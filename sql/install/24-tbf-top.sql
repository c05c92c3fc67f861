-- 24-tbf-top.sql: hot items of a tbf (docs/tbf.md)

CREATE FUNCTION tbf_top(filter tbf, k integer, at timestamptz)
	RETURNS TABLE (item text, hits_from double precision, hits_to double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION tbf_top(tbf, integer, timestamptz) IS 'the k hottest items of a filter that was made with top => c, with bounds of their hits, decayed to this time; if k is large enough, every item with a larger share of all hits than 1 / (c + 1) is among them';
CREATE FUNCTION tbf_top(filter tbf, k integer DEFAULT 10)
	RETURNS TABLE (item text, hits_from double precision, hits_to double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION tbf_top(tbf, integer) IS 'the same, at the time now()';
