-- 71-chunk-scan-untyped.sql: the functions of 70-chunk-scan.sql for a literal or a parameter without a type
-- (bf_untyped_item, see 10-bf.sql). The literal or parameter is read as a value of the column's type, in
-- chunk_scan_any() as an array of that type.

CREATE FUNCTION chunk_scan(relation anycompatible, "column" name, value bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anycompatible
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan(anycompatible, name, bf_untyped_item, regclass, name, text) IS 'as for a value of any type: for a literal or a parameter without a type, which becomes of the column''s type';
CREATE FUNCTION chunk_scan_any(relation anycompatible, "column" name, items bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anycompatible
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan_any(anycompatible, name, bf_untyped_item, regclass, name, text) IS 'as for an array of any type: for a literal or a parameter without a type, which becomes an array of the column''s type';
CREATE FUNCTION chunk_scan_explain(relation anycompatible, "column" name, value bf_untyped_item,
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=',
		OUT chunk regclass, OUT is_read boolean, OUT because text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100;
COMMENT ON FUNCTION chunk_scan_explain(anycompatible, name, bf_untyped_item, regclass, name, text) IS 'as for a value of any type: for a literal or a parameter without a type, which becomes of the column''s type';
