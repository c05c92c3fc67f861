-- chunk_scan_engines: tables whose rows another extension keeps elsewhere. The extensions are stubs: a row in pg_extension, and the
-- table in which they list their relations.

LOAD 'streambloom';
CREATE SCHEMA chunk_scan_engines;
SET search_path = chunk_scan_engines, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

-- A hypertable is the parent of its chunks. hyper_1 is compressed: its rows are in another table, which only TimescaleDB knows.
CREATE TABLE hyper (at date, uid bigint);
CREATE TABLE hyper_1 () INHERITS (hyper);
CREATE TABLE hyper_2 () INHERITS (hyper);
CREATE TABLE above (at date, uid bigint);
ALTER TABLE hyper INHERIT above;
CREATE TABLE plain (at date, uid bigint) PARTITION BY RANGE (at);
CREATE TABLE plain_1 PARTITION OF plain FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE plain_2 PARTITION OF plain FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO hyper_1 SELECT '2024-01-01', i FROM generate_series(1, 2000) i;
INSERT INTO hyper_2 SELECT '2024-02-01', i FROM generate_series(1, 2000) i;
INSERT INTO plain SELECT date '2024-01-01' + i % 2 * 31, i FROM generate_series(1, 4000) i;
CREATE INDEX ON hyper USING bf (uid);
CREATE INDEX ON hyper_1 USING bf (uid);
CREATE INDEX ON hyper_2 USING bf (uid);
CREATE INDEX ON plain USING bf (uid);
ANALYZE;
CREATE TABLE summary AS SELECT tableoid::regclass AS chunk, bf_agg(uid) AS uids FROM above GROUP BY 1;
CREATE FUNCTION tries() RETURNS TABLE (relation text, outcome text, with_summaries text) LANGUAGE sql AS $$
	SELECT r, split_part(error_of(format('SELECT count(*) FROM chunk_scan(NULL::%s, ''uid'', 42)', r)), E'\n', 1),
		sqlstate_of(format('SELECT count(*) FROM chunk_scan(NULL::%s, ''uid'', 42, ''summary'')', r))
	FROM unnest(ARRAY['hyper', 'hyper_1', 'above', 'plain', 'plain_1']) r
$$;
SELECT * FROM tries();

-- TimescaleDB, with a search_path that leads to another catalog first
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (60001, 'timescaledb', 10, 'pg_catalog'::regnamespace, false, 'stub');
SELECT * FROM tries();
CREATE SCHEMA _timescaledb_catalog;
CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name NOT NULL, table_name name NOT NULL);
SELECT * FROM tries();
CREATE TABLE _timescaledb_catalog.chunk (id int, hypertable_id int, schema_name name NOT NULL, table_name name NOT NULL, compressed_chunk_id int);
SELECT * FROM tries();
INSERT INTO _timescaledb_catalog.hypertable VALUES (1, 'chunk_scan_engines', 'hyper'), (2, 'public', 'plain');
CREATE TABLE hypertable AS SELECT * FROM _timescaledb_catalog.hypertable LIMIT 0;
SET search_path = chunk_scan_engines, _timescaledb_catalog, public, pg_catalog;
SELECT * FROM tries();
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::hyper, 'uid', '{42}')$$);
SELECT error_of($$SELECT * FROM chunk_scan_explain(NULL::hyper, 'uid', 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::hyper, 'uid', NULL)$$);
-- plain queries work
SELECT count(*) FROM hyper WHERE uid = 42;
SELECT count(*) FROM plain WHERE uid = 42;
-- a chunk in another tree
ALTER TABLE hyper NO INHERIT above;
ALTER TABLE hyper_1 INHERIT above;
INSERT INTO _timescaledb_catalog.chunk VALUES (1, 1, 'chunk_scan_engines', 'hyper_1', 2);
SELECT * FROM tries();
-- a user who may not read the catalog gets the same error
CREATE ROLE regress_engine_reader;
GRANT USAGE ON SCHEMA chunk_scan_engines TO regress_engine_reader;
GRANT SELECT ON hyper, plain TO regress_engine_reader;
SET ROLE regress_engine_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::hyper, 'uid', 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::plain, 'uid', 42)$$);
RESET ROLE;
-- a version that lists chunks by OID, as 2.31 does
ALTER TABLE _timescaledb_catalog.chunk ADD relid regclass, DROP schema_name, DROP table_name;
UPDATE _timescaledb_catalog.chunk SET relid = 'hyper_1';
SELECT * FROM tries();
UPDATE _timescaledb_catalog.chunk SET relid = 'hyper_2';
SELECT * FROM tries();
-- A version with other columns. Only parents and children by inheritance may be its relations.
ALTER TABLE _timescaledb_catalog.hypertable RENAME table_name TO relid;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::hyper, 'uid', 42)$$);
SELECT * FROM tries();
ALTER TABLE _timescaledb_catalog.hypertable RENAME relid TO table_name;
ALTER TABLE _timescaledb_catalog.hypertable ALTER table_name TYPE text, ALTER schema_name TYPE bigint USING 1;
SELECT * FROM tries();
-- Any table of the extension may name its relations then, by an OID or by two neighbouring names.
ALTER EXTENSION timescaledb ADD TABLE _timescaledb_catalog.chunk;
ALTER TABLE _timescaledb_catalog.chunk RENAME relid TO table_of_chunk;
UPDATE _timescaledb_catalog.chunk SET table_of_chunk = 'plain_1';
SELECT * FROM tries();
ALTER TABLE _timescaledb_catalog.chunk ALTER table_of_chunk TYPE name USING 'chunk_scan_engines', ADD named_so text DEFAULT 'plain';
SELECT * FROM tries();
ALTER EXTENSION timescaledb DROP TABLE _timescaledb_catalog.chunk;
DELETE FROM pg_extension WHERE oid = 60001;
SELECT * FROM tries();

-- Citus
RESET search_path;
SET search_path = chunk_scan_engines, public;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (60002, 'citus', 10, 'pg_catalog'::regnamespace, false, 'stub');
SELECT * FROM tries();
CREATE TABLE pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
SELECT * FROM tries();
ALTER TABLE pg_dist_partition SET SCHEMA pg_catalog;
INSERT INTO pg_dist_partition VALUES ('plain_2', 'h');
SELECT * FROM tries();
INSERT INTO pg_dist_partition VALUES ('hyper', 'h');
SELECT * FROM tries();
SELECT count(*) FROM plain WHERE uid = 42;
DELETE FROM pg_extension WHERE oid = 60002;
DROP TABLE pg_catalog.pg_dist_partition;
SELECT * FROM tries();

-- a query with one of these functions has no parallel plan
SELECT DISTINCT proname, proparallel FROM pg_proc WHERE proname LIKE 'chunk\_scan%' ORDER BY 1;

DROP SCHEMA chunk_scan_engines, _timescaledb_catalog CASCADE;
DROP ROLE regress_engine_reader;
