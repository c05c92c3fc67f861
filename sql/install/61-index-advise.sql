-- The advisor (docs/index.md).

CREATE FUNCTION bf_index_advise(
	relation regclass,
	columns text[] DEFAULT NULL,
	budget interval DEFAULT '2 seconds',
	OUT "column" text,
	OUT distinct_values bigint,
	OUT rows_per_value double precision,
	OUT pages_per_value double precision,
	OUT table_pages bigint,
	OUT bf_bytes bigint,
	OUT btree_bytes bigint,
	OUT gin_bytes bigint,
	OUT pages_absent double precision,
	OUT pages_rare double precision,
	OUT pages_frequent double precision,
	OUT advice text,
	OUT statement text
) RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION bf_index_advise(regclass, text[], interval) IS 'samples a table, for about the time of the budget, and says for each column what an index on it would take and read: distinct values, on how many pages one lies, bytes of a bf index, a B-tree and a GIN index, pages that a look-up reads for a value that is absent, rare or the most frequent one, whether a bf index pays, and the statement that makes it';
