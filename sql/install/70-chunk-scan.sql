-- chunk_scan: the rows of a relation that have a value, read only from those of its chunks that may hold it
-- (docs/partitions.md). A chunk is a partition, an inheritance child, or the relation itself.
--
-- PARALLEL UNSAFE: the functions plan queries. Planner hooks of other extensions read their catalogs or assign
-- transaction ids, and fail in parallel workers and in leaders while workers run.
--
-- The relation is an anycompatible and not an anyelement. PostgreSQL takes a literal for the type text then, and calls
-- the function, whose error says how to name a relation. For an anyelement it raises an error of its own.

CREATE FUNCTION chunk_scan_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION chunk_scan_support(internal) IS 'planner support for chunk_scan() and chunk_scan_any(): kept plans depend on the relation';

CREATE FUNCTION chunk_scan(relation anycompatible, "column" name, value "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anycompatible
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan(anycompatible, name, "any", regclass, name, text) IS 'the rows of a relation whose column equals the value, or satisfies the other operator with it; partitions whose summary or bf index says no are not read';

CREATE FUNCTION chunk_scan_any(relation anycompatible, "column" name, items "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=') RETURNS SETOF anycompatible
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100 SUPPORT chunk_scan_support;
COMMENT ON FUNCTION chunk_scan_any(anycompatible, name, "any", regclass, name, text) IS 'the rows of a relation whose column equals one of the array''s items, or satisfies the other operator with one; partitions whose summary or bf index says no are not read';

CREATE FUNCTION chunk_scan_explain(relation anycompatible, "column" name, value "any",
		summaries regclass DEFAULT NULL, summary_column name DEFAULT NULL, operator text DEFAULT '=',
		OUT chunk regclass, OUT is_read boolean, OUT because text) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE COST 10000 ROWS 100;
COMMENT ON FUNCTION chunk_scan_explain(anycompatible, name, "any", regclass, name, text) IS 'which chunks chunk_scan() would read with the same arguments, and why or why not; reads none of them';
