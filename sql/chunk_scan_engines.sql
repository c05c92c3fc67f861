-- chunk_scan_engines: beside extensions that keep rows elsewhere. The extensions are stubs: a row in pg_extension.

LOAD 'streambloom';
CREATE SCHEMA chunk_scan_engines;
SET search_path = chunk_scan_engines, public;
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;

-- A hypertable is the parent of its chunks.
CREATE TABLE hyper (at date, uid bigint);
CREATE TABLE hyper_1 () INHERITS (hyper);
CREATE TABLE above (at date, uid bigint);
ALTER TABLE hyper INHERIT above;
CREATE TABLE alone (at date, uid bigint);
CREATE TABLE plain (at date, uid bigint) PARTITION BY RANGE (at);
CREATE TABLE plain_1 PARTITION OF plain FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE plain_2 PARTITION OF plain FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO hyper_1 SELECT '2024-01-01', i FROM generate_series(1, 2000) i;
INSERT INTO plain SELECT date '2024-01-01' + i % 2 * 31, i FROM generate_series(1, 4000) i;
INSERT INTO alone VALUES ('2024-01-01', 42);
CREATE INDEX ON hyper_1 USING bf (uid);
CREATE INDEX ON plain USING bf (uid);
ANALYZE;
CREATE FUNCTION tries() RETURNS TABLE (relation text, outcome text) LANGUAGE sql AS $$
	SELECT r, split_part(error_of(format('SELECT count(*) FROM chunk_scan(NULL::%s, ''uid'', 42)', r)), E'\n', 1)
	FROM unnest(ARRAY['hyper', 'hyper_1', 'above', 'alone', 'plain', 'plain_1']) r
$$;
SELECT * FROM tries();

-- TimescaleDB: parents and children by inheritance may be its own
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (60001, 'timescaledb', 10, 'pg_catalog'::regnamespace, false, 'stub');
SELECT * FROM tries();
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::hyper, 'uid', '{42}')$$);
SELECT error_of($$SELECT * FROM chunk_scan_explain(NULL::hyper, 'uid', 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::hyper, 'uid', NULL)$$);
-- plain queries work
SELECT count(*) FROM hyper WHERE uid = 42;
SELECT count(*) FROM plain WHERE uid = 42;
DELETE FROM pg_extension WHERE oid = 60001;

-- Citus: any table may be its own
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (60002, 'citus', 10, 'pg_catalog'::regnamespace, false, 'stub');
SELECT * FROM tries();
SELECT count(*) FROM plain WHERE uid = 42;
DELETE FROM pg_extension WHERE oid = 60002;
SELECT * FROM tries();

-- a query with one of these functions has no parallel plan
SELECT DISTINCT proname, proparallel FROM pg_proc WHERE proname LIKE 'chunk\_scan%' ORDER BY 1;

DROP SCHEMA chunk_scan_engines CASCADE;
