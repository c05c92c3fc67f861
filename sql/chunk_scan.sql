-- chunk_scan: it returns what a plain SELECT returns, and leaves alone the chunks that summaries rule out

CREATE SCHEMA chunk_scan;
SET search_path = chunk_scan, public;
SET client_min_messages = warning;

-- partitions of two levels, a default partition, one whose columns are in another order, one with a dropped column
CREATE TABLE log (at date NOT NULL, uid bigint, url text, note varchar(20)) PARTITION BY RANGE (at);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY HASH (uid);
CREATE TABLE log_2a PARTITION OF log_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE log_2b PARTITION OF log_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE log_3 (note varchar(20), gone int, url text, uid bigint, at date NOT NULL);
ALTER TABLE log_3 DROP COLUMN gone;
ALTER TABLE log ATTACH PARTITION log_3 FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
CREATE TABLE log_rest PARTITION OF log DEFAULT;
ALTER TABLE log ADD COLUMN gone int, ADD COLUMN last text DEFAULT 'end';
ALTER TABLE log DROP COLUMN gone;
INSERT INTO log
	SELECT date '2024-01-01' + i / 100, i, '/' || i % 1000, CASE WHEN i % 7 = 0 THEN 'seven' END FROM generate_series(1, 10000) i;
INSERT INTO log VALUES ('2024-01-15', 42, '/twice', NULL), ('2024-03-15', 42, '/twice', NULL), ('2025-01-01', 42, NULL, NULL), ('2024-02-02', NULL, '/', NULL);
CREATE TABLE chunk_summary AS
	SELECT tableoid::regclass AS chunk, min(at) AS lo, max(at) AS hi, bf_agg(uid) AS uids, bf_agg(url) AS url FROM log GROUP BY 1;

-- without summaries, and with them
SELECT * FROM chunk_scan(NULL::log, 'uid', 42) ORDER BY at;
SELECT * FROM chunk_scan(NULL::log, 'uid', 42, summaries => 'chunk_summary') ORDER BY at;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 42, 'chunk_summary');
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 123456789, 'chunk_summary');
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 42);
SELECT * FROM chunk_scan_explain(NULL::log_2, 'uid', 42, 'chunk_summary');
SELECT * FROM chunk_scan_explain(NULL::log_1, 'uid', 42, 'chunk_summary');

-- for every value of both columns, all rows are those of a plain SELECT
CREATE FUNCTION difference(plain text, scanned text, OUT rows bigint, OUT different bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH a AS (%s), b AS (%s) SELECT (SELECT count(*) FROM a), count(*) FROM ((TABLE a EXCEPT ALL TABLE b) UNION ALL (TABLE b EXCEPT ALL TABLE a)) d', plain, scanned)
		INTO rows, different;
END
$$;
SELECT * FROM difference('SELECT l.* FROM generate_series(1, 300) i, log l WHERE l.uid = i * 40',
				  $$SELECT l.* FROM generate_series(1, 300) i, chunk_scan(NULL::log, 'uid', i * 40, 'chunk_summary') l$$);
SELECT * FROM difference('SELECT l.* FROM generate_series(1, 50) i, log l WHERE l.url = ''/'' || i * 40',
				  $$SELECT l.* FROM generate_series(1, 50) i, chunk_scan(NULL::log, 'url', '/' || i * 40, 'chunk_summary') l$$);

-- chunks that are read are read by the indexes that they have; the others are not read at all
CREATE INDEX ON log_1 (uid);
ANALYZE log;
CREATE FUNCTION reads() RETURNS TABLE (chunk name, seq_scan bigint, idx_scan bigint) LANGUAGE sql STABLE AS
	$$SELECT relname, seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'chunk_scan' AND relname LIKE 'log%' ORDER BY 1$$;
BEGIN;
CREATE TEMP TABLE before ON COMMIT DROP AS SELECT * FROM reads();
SELECT url FROM chunk_scan(NULL::log, 'uid', 1234, 'chunk_summary');
SELECT chunk, r.seq_scan - b.seq_scan AS seq_scan, r.idx_scan - b.idx_scan AS idx_scan FROM reads() r JOIN before b USING (chunk) ORDER BY chunk;
COMMIT;

-- types: an untyped literal gets the column's type; other integers; domains; varchar; an expression; a parameter; NULL
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', '42', 'chunk_summary');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 42::smallint, 'chunk_summary');
SELECT count(*) FROM chunk_scan(NULL::log, 'at', '2024-01-15');
SELECT count(*) FROM chunk_scan(NULL::log, 'note', 'seven');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', (SELECT max(uid) FROM log), 'chunk_summary');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', NULL, 'chunk_summary');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', NULL::int);
SELECT * FROM chunk_scan_explain(NULL::log_1, 'uid', NULL);
PREPARE look(bigint) AS SELECT url FROM chunk_scan(NULL::log, 'uid', $1, 'chunk_summary') ORDER BY at;
SET plan_cache_mode = force_generic_plan;
EXECUTE look(42);
EXECUTE look(NULL);
EXECUTE look(4321);
RESET plan_cache_mode;
SELECT i, array_agg(l.url ORDER BY at) FROM unnest(ARRAY[42, 777]) i, chunk_scan(NULL::log, 'uid', i, 'chunk_summary') l GROUP BY i;
SELECT (chunk_scan(NULL::log, 'uid', 4321, 'chunk_summary')).url;
SELECT at FROM (SELECT chunk_scan(NULL::log, 'uid', 42, 'chunk_summary') AS l) s, LATERAL (SELECT (l).*) r ORDER BY at LIMIT 1;

-- = ANY
SELECT uid, url FROM chunk_scan_any(NULL::log, 'uid', ARRAY[42, NULL, 4321], 'chunk_summary') ORDER BY uid, at;
SELECT uid FROM chunk_scan_any(NULL::log, 'uid', '{77,4321}', 'chunk_summary') ORDER BY uid;
SELECT count(*) FROM chunk_scan_any(NULL::log, 'url', '{/twice,/77}', 'chunk_summary');
SELECT count(*) FROM chunk_scan_any(NULL::log, 'uid', '{}', 'chunk_summary');
SELECT count(*) FROM chunk_scan_any(NULL::log, 'uid', '{NULL}', 'chunk_summary');
SELECT count(*) FROM chunk_scan_any(NULL::log, 'uid', NULL::int[], 'chunk_summary');
SELECT count(*) FROM chunk_scan_any(NULL::log, 'uid', NULL, 'chunk_summary');

-- chunks without a summary, with a NULL, and with several summaries are read unless all of their summaries say no
DELETE FROM chunk_summary WHERE chunk = 'log_3'::regclass;
UPDATE chunk_summary SET uids = NULL WHERE chunk = 'log_rest'::regclass;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 123456789, 'chunk_summary');
INSERT INTO chunk_summary (chunk, uids) VALUES ('log_2a', bf_add(bf_empty(), 123456789)), ('log_1', bf_empty()), ('log_1', NULL), (NULL, NULL), ('chunk_summary', bf_empty());
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 123456789, 'chunk_summary');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 42, 'chunk_summary');

-- the query's snapshot is used: rows that the query itself inserts are not seen, nor those that a function inserts meanwhile
WITH new AS (INSERT INTO log VALUES ('2024-03-03', 42, '/new', NULL) RETURNING uid)
SELECT count(*), (SELECT count(*) FROM log WHERE uid = 42) AS plain FROM new, chunk_scan(NULL::log, 'uid', new.uid);
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 42);
CREATE FUNCTION insert_one() RETURNS bigint LANGUAGE plpgsql VOLATILE AS
	$$BEGIN INSERT INTO log VALUES ('2024-03-04', 42, '/newer', NULL); RETURN 42; END$$;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', insert_one());
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 42);
-- a cursor opened before
BEGIN;
DECLARE before CURSOR FOR SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 42);
SELECT insert_one();
FETCH before;
ROLLBACK;

-- inheritance children, and the parent's own rows; a child with more columns; a child of two parents
CREATE TABLE event (id int, kind text);
CREATE TABLE event_a (at date) INHERITS (event);
CREATE TABLE other (kind text, id int, more int);
CREATE TABLE event_b () INHERITS (other, event);
CREATE TABLE event_aa () INHERITS (event_a);
INSERT INTO event VALUES (1, 'parent'), (2, 'parent');
INSERT INTO event_a VALUES (1, 'a', '2024-01-01'), (3, 'a', '2024-01-01');
INSERT INTO event_b VALUES ('b', 1, 4), ('b', 5, 5);
INSERT INTO event_aa VALUES (3, 'aa', '2024-01-01');
CREATE TABLE event_summary AS SELECT tableoid::regclass AS chunk, bf_agg(id) AS "id" FROM event GROUP BY 1;
SELECT * FROM chunk_scan(NULL::event, 'id', 1, 'event_summary') ORDER BY kind;
SELECT * FROM chunk_scan(NULL::event_a, 'id', 3, 'event_summary') ORDER BY kind;
SELECT * FROM chunk_scan_explain(NULL::event, 'id', 3, 'event_summary');
SELECT * FROM chunk_scan_explain(NULL::event, 'id', 5, 'event_summary');

-- a table without children is itself one chunk
SELECT * FROM chunk_scan(NULL::event_aa, 'id', 3);
CREATE MATERIALIZED VIEW event_view AS SELECT * FROM event;
SELECT count(*) FROM chunk_scan(NULL::event_view, 'id', 3);

-- SERIALIZABLE: chunks that are not read get predicate locks too
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 8881, 'chunk_summary');
SELECT relation::regclass, locktype, bool_or(page IS NULL) FROM pg_locks
WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation::regclass::text LIKE '%log%'
GROUP BY 1, 2 ORDER BY 1, 2;
ROLLBACK;
-- chunk_scan_explain reads nothing with which others could conflict
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM chunk_scan_explain(NULL::log, 'uid', 8881, 'chunk_summary');
SELECT count(*) FROM chunk_scan_explain(NULL::log, 'uid', 8881);
SELECT relation::regclass FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation::regclass::text LIKE '%log%';
ROLLBACK;

-- cidr uses the = of inet: a summary of one answers for the other
CREATE TABLE net (c cidr, i inet);
INSERT INTO net SELECT ('10.0.0.0'::inet + i)::cidr, '10.0.0.0'::inet + i FROM generate_series(1, 100) i;
CREATE TABLE net_summary AS SELECT 'net'::regclass AS chunk, bf_agg(c) AS c, bf_agg(i) AS i FROM net;
SELECT (SELECT count(*) FROM chunk_scan(NULL::net, 'c', '10.0.0.5/32'::cidr, 'net_summary')) AS cidr_cidr,
	(SELECT count(*) FROM chunk_scan(NULL::net, 'c', '10.0.0.5'::inet, 'net_summary')) AS cidr_inet,
	(SELECT count(*) FROM chunk_scan(NULL::net, 'i', '10.0.0.5/32'::cidr, 'net_summary')) AS inet_cidr;
CREATE INDEX net_c ON net USING bf (c);
SELECT bool_and(bf_of('net_c', 0) @> c) AND bool_and(bf_of('net_c', 0) @> i) AS found FROM net;

DROP SCHEMA chunk_scan CASCADE;
