-- The view bf_indexes over the bf indexes of the tables that one may read (docs/operations.md). PostgreSQL's functions
-- and most of its types are written with their schema, so that CREATE EXTENSION does not take others of the same name.
-- (PostgreSQL looks up the names in a view when the view is created, and not when it is read.) A constant of type
-- regproc holds the OID of the function, so it is right in whatever schema the extension is. It is printed with this
-- schema if the reader's search_path lacks the schema.

CREATE FUNCTION bf_index_overview(
	index regclass,
	OUT state text,
	OUT detail text,
	OUT bytes bigint,
	OUT ranges bigint,
	OUT summarized bigint,
	OUT levels integer,
	OUT groups bigint,
	OUT table_bytes bigint,
	OUT full_ranges bigint,
	OUT other_options boolean,
	OUT off_groups bigint,
	OUT mostly_off boolean
) RETURNS record AS 'MODULE_PATHNAME' LANGUAGE C STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION bf_index_overview(regclass) IS 'what some pages of a bf index tell, without waiting for locks: its state (good, damaged, table damaged, locked, not valid, unlogged), bytes, ranges of the table, how many of them are summarized, levels, groups of filters, the bytes of its table; ranges that are full; whether ALTER INDEX has given it options that it was not built with; how many groups are many times too full or too large, so that VACUUM makes them anew, and whether these are more than half of the table (up to 32 groups of each level are measured, and stand for the others); NULL if this is no bf index that the user may look at';

CREATE VIEW bf_indexes AS
WITH RECURSIVE leaf AS MATERIALIZED (
	SELECT c.oid AS index, o.*, pg_catalog.pg_stat_get_numscans(c.oid) AS lookups, coalesce(o.state IN ('damaged', 'table damaged', 'not valid') OR o.mostly_off OR
		o.other_options OR (o.state = 'good' AND o.bytes > 1048576 AND o.bytes > o.table_bytes) OR 4 * o.summarized < 3 * o.ranges, false) AS needs_attention,
		o.state = 'good' AND o.bytes > 1048576 AND o.bytes > o.table_bytes AS is_large
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_am a ON a.oid = c.relam, LATERAL bf_index_overview(c.oid::pg_catalog.regclass) o
	WHERE a.amname = 'bf' AND c.relkind = 'i' AND o.state IS NOT NULL
), above AS (
	SELECT l.index AS leaf, l.index FROM leaf l
	UNION ALL
	SELECT a.leaf, h.inhparent FROM above a JOIN pg_catalog.pg_inherits h ON h.inhrelid = a.index
), figures AS (
	SELECT a.index, pg_catalog.count(*) AS leaves, pg_catalog.sum(l.bytes)::bigint AS bytes, pg_catalog.sum(l.ranges)::bigint AS ranges,
		pg_catalog.sum(l.summarized)::bigint AS summarized, pg_catalog.max(l.levels) AS levels, pg_catalog.sum(l.lookups)::bigint AS lookups,
		pg_catalog.count(*) FILTER (WHERE l.state = 'damaged') AS damaged, pg_catalog.min(l.index) FILTER (WHERE l.state = 'damaged') AS a_damaged_one,
		pg_catalog.count(*) FILTER (WHERE l.state = 'table damaged') AS tables_damaged,
		pg_catalog.min(l.detail) AS detail, pg_catalog.count(*) FILTER (WHERE l.state = 'locked') AS locked,
		pg_catalog.count(*) FILTER (WHERE l.state = 'not valid') AS not_valid, pg_catalog.count(*) FILTER (WHERE l.state = 'unlogged') AS unlogged,
		pg_catalog.count(*) FILTER (WHERE l.summarized < l.ranges) AS incomplete, pg_catalog.count(*) FILTER (WHERE l.mostly_off) AS mostly_off,
		pg_catalog.sum(l.groups)::bigint AS groups, pg_catalog.sum(l.off_groups)::bigint AS off_groups,
		pg_catalog.sum(l.table_bytes)::bigint AS table_bytes, pg_catalog.count(*) FILTER (WHERE l.is_large) AS large,
		pg_catalog.count(*) FILTER (WHERE l.other_options) AS other_options, pg_catalog.bool_or(l.needs_attention) AS needs_attention,
		pg_catalog.sum(l.full_ranges)::bigint AS full_ranges
	FROM above a JOIN leaf l ON l.index = a.leaf GROUP BY a.index
), known AS (
	SELECT i.indrelid AS relation, i.indexrelid AS index, h.inhparent AS parent, c.relkind = 'I' AS is_parent, i.indisvalid,
		NOT i.indislive OR c.relname ~ '_cc(new|old)[0-9]*$' AS is_left_over,
		coalesce(f.leaves, 0) AS leaves, f.bytes, f.ranges, f.summarized, f.levels, f.lookups, f.damaged, f.a_damaged_one, f.tables_damaged, f.detail, f.locked, f.not_valid,
		f.unlogged, f.incomplete, f.mostly_off, f.groups, f.off_groups, f.table_bytes, f.large, f.full_ranges, f.other_options,
		NOT i.indisvalid OR coalesce(f.needs_attention, false) AS needs_attention,
		CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'on the primary server: ' ELSE '' END AS there,
		pg_catalog.format('never asked on this server since it was built%s: if that stays so, and no other server asks it, drop it',
			(SELECT ', or since ' || d.stats_reset::timestamp(0)::text FROM pg_catalog.pg_stat_database d WHERE d.datname = pg_catalog.current_database())) AS never_asked,
		'bf_summarize'::pg_catalog.regproc::pg_catalog.text AS summarize, pg_catalog.regexp_replace('bf_index_check'::pg_catalog.regproc::pg_catalog.text, 'check$', 'advise') AS advise
	FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am a ON a.oid = c.relam
		LEFT JOIN pg_catalog.pg_inherits h ON h.inhrelid = i.indexrelid LEFT JOIN figures f ON f.index = i.indexrelid
	WHERE a.amname = 'bf' AND (f.index IS NOT NULL OR c.relkind = 'I') AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace) AND
		pg_catalog.has_table_privilege(i.indrelid, 'SELECT') AND NOT pg_catalog.row_security_active(i.indrelid)
)
SELECT k.relation::pg_catalog.regclass AS relation, k.index::pg_catalog.regclass AS index, k.parent::pg_catalog.regclass AS parent, k.leaves, k.bytes, k.table_bytes, k.ranges,
	k.summarized, k.summarized::double precision / nullif(k.ranges, 0)::double precision AS summarized_share, k.full_ranges, k.levels, k.lookups, k.needs_attention,
	coalesce(nullif(CASE WHEN k.is_parent THEN
		pg_catalog.concat_ws('; ',
			CASE WHEN k.leaves = 0 AND k.indisvalid THEN 'there are no partitions: nothing to do' END,
			CASE WHEN NOT k.indisvalid THEN 'not valid: some partition lacks the index, so make it there and ALTER INDEX ... ATTACH PARTITION it' END,
			CASE WHEN k.damaged > 0 THEN pg_catalog.format('%s partitions are damaged: %sREINDEX INDEX CONCURRENTLY %s', k.damaged, k.there,
				CASE WHEN k.damaged = 1 THEN k.a_damaged_one::pg_catalog.regclass::text ELSE 'each' END) END,
			CASE WHEN k.tables_damaged > 0 THEN pg_catalog.format('%s partitions cannot be read themselves', k.tables_damaged) END,
			CASE WHEN k.not_valid > 0 THEN pg_catalog.format('%s partitions are not valid: their build has failed or is not finished', k.not_valid) END,
			CASE WHEN k.locked > 0 THEN pg_catalog.format('%s partitions are locked by other sessions and not counted: ask again later', k.locked) END,
			CASE WHEN k.unlogged > 0 THEN pg_catalog.format('%s partitions are unlogged, of which standbys have nothing', k.unlogged) END,
			CASE WHEN k.incomplete > 0 THEN pg_catalog.format('%s of %s partitions are not summarized to their end: %sCALL %s(%L)', k.incomplete, k.leaves,
				k.there, k.summarize, k.relation::pg_catalog.regclass::text) END,
			CASE WHEN k.off_groups > 0 THEN pg_catalog.format('%s of %s groups of filters do not fit what is there: VACUUM makes them anew', k.off_groups, k.groups) END,
			CASE WHEN k.mostly_off > 0 THEN pg_catalog.format('%s partitions do not fit for the most part: %sREINDEX INDEX CONCURRENTLY each', k.mostly_off, k.there) END,
			CASE WHEN k.other_options > 0 THEN pg_catalog.format('%s partitions were built with other options than they have now: %sREINDEX INDEX CONCURRENTLY each', k.other_options, k.there) END,
			CASE WHEN k.large > 0 THEN pg_catalog.format('%s partitions have an index that is larger than they are: see their rows', k.large) END,
			CASE WHEN k.lookups = 0 AND k.parent IS NULL AND k.ranges > 0 THEN k.never_asked END)
	ELSE
		pg_catalog.concat_ws('; ',
			CASE WHEN k.tables_damaged > 0 THEN pg_catalog.format('the table itself cannot be read: %s', k.detail) END,
			CASE WHEN k.damaged > 0 THEN pg_catalog.format('%s: %sREINDEX INDEX CONCURRENTLY %s', k.detail, k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.not_valid > 0 AND k.is_left_over THEN pg_catalog.format('not valid: left by a REINDEX or DROP INDEX CONCURRENTLY; if that is not running any more, %sDROP INDEX CONCURRENTLY %s',
					k.there, k.index::pg_catalog.regclass::text)
				WHEN k.not_valid > 0 THEN pg_catalog.format('not valid: its build has failed or is not finished; if nobody is building it, %sREINDEX INDEX CONCURRENTLY %s',
				k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.locked > 0 THEN 'locked by another session: ask again later' END,
			CASE WHEN k.unlogged > 0 THEN 'unlogged: standbys have nothing of it' END,
			-- The ranges are unknown if the index could not be looked at.
			CASE WHEN k.ranges > 0 OR k.ranges IS NULL THEN NULL
				WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits c WHERE c.inhparent = k.relation) THEN 'the table itself has no rows: nothing to do; those of its children, or of a hypertable''s chunks, are in indexes of their own'
				WHEN EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname = 'citus') THEN 'the table is empty here: nothing to do; if Citus distributes it, ask where its shards are'
				ELSE 'the table is empty: nothing to do' END,
			CASE WHEN k.incomplete > 0 THEN pg_catalog.format('%s of %s ranges are not summarized and always read: %sCALL %s(%L)',
				k.ranges OPERATOR(pg_catalog.-) k.summarized, k.ranges, k.there, k.summarize, k.relation::pg_catalog.regclass::text) END,
			CASE WHEN k.off_groups > 0 THEN pg_catalog.format('%s of %s groups of filters do not fit what is there: ', k.off_groups, k.groups) OPERATOR(pg_catalog.||)
				CASE WHEN k.mostly_off > 0 THEN pg_catalog.format('VACUUM makes them anew, half of the table at a time, or %sREINDEX INDEX CONCURRENTLY %s', k.there, k.index::pg_catalog.regclass::text)
				ELSE 'VACUUM makes them anew' END END,
			CASE WHEN k.other_options > 0 THEN pg_catalog.format('built with other options than it has now: %sREINDEX INDEX CONCURRENTLY %s', k.there, k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.large > 0 THEN pg_catalog.format('larger than its table (%s, the table %s): SELECT * FROM %s(%L), or if the table has shrunk, %sREINDEX INDEX CONCURRENTLY %s',
				pg_catalog.pg_size_pretty(k.bytes), pg_catalog.pg_size_pretty(k.table_bytes), k.advise, k.relation::pg_catalog.regclass::text, k.there,
				k.index::pg_catalog.regclass::text) END,
			CASE WHEN k.lookups = 0 AND k.parent IS NULL AND k.ranges > 0 THEN k.never_asked END)
	END, ''), 'as full as it should be: nothing to do') AS advice
FROM known k;
GRANT SELECT ON bf_indexes TO PUBLIC;
COMMENT ON VIEW bf_indexes IS 'the bf indexes of the tables that one may read, and what to do with each; a partitioned index has a row that sums up its partitions (WHERE parent IS NULL shows these and no partitions)';
COMMENT ON COLUMN bf_indexes.relation IS 'the table';
COMMENT ON COLUMN bf_indexes.index IS 'the index; of a partitioned table, the partitioned index or that of a partition';
COMMENT ON COLUMN bf_indexes.parent IS 'the partitioned index that this one is directly a part of; NULL: none';
COMMENT ON COLUMN bf_indexes.leaves IS 'how many indexes with a file are summed up: 1, or those of the partitions at the lowest level';
COMMENT ON COLUMN bf_indexes.bytes IS 'size of the file; NULL: it could not be looked at';
COMMENT ON COLUMN bf_indexes.table_bytes IS 'size of the table and its out-of-line values; NULL: it could not be looked at';
COMMENT ON COLUMN bf_indexes.ranges IS 'ranges of level 0 that the table has now';
COMMENT ON COLUMN bf_indexes.summarized IS 'how many of these are summarized, so that they need not always be read. The number is too large only if a range before the last group was made unsummarized, or was left by a summarizer that was interrupted';
COMMENT ON COLUMN bf_indexes.summarized_share IS 'summarized / ranges; NULL: the table is empty';
COMMENT ON COLUMN bf_indexes.full_ranges IS 'how many of the summarized ranges have far more items than the others, so that they are always read until the next VACUUM; of an index of more than 32 groups, in those that were measured';
COMMENT ON COLUMN bf_indexes.levels IS 'how many levels the index has, 0 if nothing is summarized; of partitions, the most';
COMMENT ON COLUMN bf_indexes.lookups IS 'how often the index was asked since the statistics were reset (idx_scan of pg_stat_all_indexes)';
COMMENT ON COLUMN bf_indexes.needs_attention IS 'whether somebody should act: the index is damaged, not valid, does not fit most of what is there, larger than its table or built with other options than it has now, or more than a quarter of its ranges are not summarized; of a partitioned index, whether that holds for one of its partitions';
COMMENT ON COLUMN bf_indexes.advice IS 'what to do, in words; a command stands behind the colon';
