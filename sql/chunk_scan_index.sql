-- chunk_scan_index: chunk_scan with bf indexes, which need no loaded library and are always up to date

CREATE SCHEMA chunk_scan_index;
SET search_path = chunk_scan_index, public;
SET client_min_messages = warning;

CREATE DOMAIN user_id AS bigint;
CREATE TABLE log (id int NOT NULL, uid user_id, url varchar(30), at date, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 (url varchar(30), gone int, at date, filler text DEFAULT repeat('x', 50), uid user_id, id int NOT NULL);
ALTER TABLE log_1 DROP gone;
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (4000) TO (8000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (8000) TO (12000) PARTITION BY LIST (id);
CREATE TABLE log_2a PARTITION OF log_2 FOR VALUES IN (8000, 8001);
CREATE TABLE log_2b PARTITION OF log_2 DEFAULT;
CREATE TABLE log_3 PARTITION OF log DEFAULT;
INSERT INTO log SELECT i, CASE WHEN i % 1000 = 0 THEN 7 ELSE i + 100000 END, '/' || i / 10, date '2024-01-01' + i % 4000 / 100 FROM generate_series(0, 15999) i;
INSERT INTO log (id, uid) VALUES (15999, NULL);
CREATE INDEX ON log USING bf (uid, url) WITH (pages_per_range = 8);
CREATE INDEX ON log USING bf (at) WITH (pages_per_range = 8);
VACUUM ANALYZE log;

SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 104001);
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1);
SELECT * FROM chunk_scan_explain(NULL::log, 'url', '/401');
SELECT * FROM chunk_scan_explain(NULL::log, 'at', '2023-12-31');
SELECT * FROM chunk_scan_explain(NULL::log, 'filler', 'y');
SELECT * FROM chunk_scan_explain(NULL::log_1, 'uid', 104001);
SELECT id, uid, url, at FROM chunk_scan(NULL::log, 'uid', 104001);
SELECT id, uid, url, at FROM chunk_scan(NULL::log, 'uid', '104001');
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 7::smallint);
SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/401');
SELECT count(*) FROM chunk_scan(NULL::log, 'url', '/401'::varchar);
SELECT count(*) FROM chunk_scan(NULL::log, 'at', '2024-01-02');
SELECT id FROM chunk_scan_any(NULL::log, 'uid', '{1,104001,115999,NULL}');

-- no value is lost, whichever index finds it
SELECT count(*) FROM generate_series(0, 15999, 61) i, chunk_scan(NULL::log, 'uid', CASE WHEN i % 1000 = 0 THEN 7 ELSE i + 100000 END) l WHERE l.id = i;
SELECT count(*) FROM generate_series(0, 1599, 31) i, chunk_scan(NULL::log, 'url', '/' || i) l;

-- a chunk that is read is read by its index; one that is left alone is not scanned and does not stay locked
BEGIN;
SELECT id FROM chunk_scan(NULL::log, 'uid', 104001);
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation::regclass::text ~ '^log_.$|^log_..$|^log$' ORDER BY relation::regclass::text;
COMMIT;

-- indexes that have the column in other places: the items are hashed once and found in all of them
CREATE TABLE shape (id int, v bigint, tags int[], note text) PARTITION BY LIST (id);
CREATE TABLE shape_1 PARTITION OF shape FOR VALUES IN (1);
CREATE TABLE shape_2 PARTITION OF shape FOR VALUES IN (2);
CREATE TABLE shape_3 PARTITION OF shape FOR VALUES IN (3);
CREATE TABLE shape_4 PARTITION OF shape FOR VALUES IN (4);
INSERT INTO shape SELECT i % 4 + 1, i, ARRAY[i, i + 1], 'note ' || i FROM generate_series(1, 4000) i;
CREATE INDEX shape_1_bf ON shape_1 USING bf (v, tags, note);
CREATE INDEX shape_2_bf ON shape_2 USING bf (note COLLATE "C", v, tags);
CREATE INDEX shape_3_bf ON shape_3 USING bf (tags, note, v);
CREATE INDEX shape_4_bf ON shape_4 USING bf (v, tags, note);
SELECT chunk, is_read FROM chunk_scan_explain(NULL::shape, 'v', 1001);
SELECT chunk, is_read FROM chunk_scan_explain(NULL::shape, 'v', 1002::smallint);
SELECT chunk, is_read FROM chunk_scan_explain(NULL::shape, 'tags', ARRAY[1003, 1004]);
SELECT count(*), min(l.id), max(l.id) FROM generate_series(1, 4000, 37) i, chunk_scan(NULL::shape, 'v', i) l WHERE l.v = i;
SELECT count(*), min(l.id), max(l.id) FROM generate_series(1, 4000, 37) i, chunk_scan(NULL::shape, 'tags', ARRAY[i, i + 1]) l;
SELECT count(*), min(l.id), max(l.id) FROM generate_series(1, 4000, 37) i, chunk_scan(NULL::shape, 'note', 'note ' || i) l;
SELECT count(*), min(id), max(id) FROM chunk_scan_any(NULL::shape, 'v', ARRAY(SELECT i::int FROM generate_series(1, 4000, 37) i));
SET plan_cache_mode = force_generic_plan;
PREPARE by_v (bigint) AS SELECT id, v FROM shape WHERE v = $1;
EXECUTE by_v (1001);
EXECUTE by_v (1002);
EXECUTE by_v (1003);
DEALLOCATE by_v;
RESET plan_cache_mode;
-- the outer side of a nested loop gives a new value for each scan
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*), min(s.id), max(s.id) FROM generate_series(1, 4000, 37) i JOIN shape s ON s.v = i;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- new rows in summarized ranges and in new ones; other rows of the same transaction; rows that are rolled back
INSERT INTO log VALUES (4001, 999), (8000, 999);
SELECT id FROM chunk_scan(NULL::log, 'uid', 999);
BEGIN;
INSERT INTO log SELECT 3999, 5000000 + i FROM generate_series(1, 2000) i;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5001999);
SAVEPOINT s;
UPDATE log SET uid = 5009999 WHERE uid = 5001999;
SELECT id FROM chunk_scan(NULL::log, 'uid', 5009999);
ROLLBACK TO s;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5009999);
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5001999);
COMMIT;
SELECT sum(bf_summarize_new_values(indexrelid)) > 0 FROM pg_index WHERE indrelid = 'log_0'::regclass;
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5001999);
SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5009999);

-- summaries and indexes together: a chunk is left alone if either says no
CREATE TABLE summary AS SELECT tableoid::regclass AS chunk, bf_agg(uid::bigint) AS uids FROM log WHERE id < 8000 GROUP BY 1;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 100001, 'summary');

-- indexes that cannot answer: partial, on an expression, not valid, of other columns
DROP INDEX log_uid_url_idx;
CREATE INDEX partial ON log USING bf (uid) WHERE id % 2 = 0;
CREATE INDEX expression ON log USING bf ((uid + 0));
CREATE INDEX only_this ON ONLY log USING bf (uid);
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1);
CREATE INDEX on_0 ON log_0 USING bf (uid);
CREATE INDEX on_2b ON log_2b USING bf (uid);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'on_2b'::regclass;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1);
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'on_2b'::regclass;
DROP INDEX partial, expression, only_this;

-- a user without privileges on the partitions
CREATE ROLE regress_index_reader;
GRANT USAGE ON SCHEMA chunk_scan_index TO regress_index_reader;
GRANT SELECT ON log TO regress_index_reader;
SET ROLE regress_index_reader;
SELECT id FROM chunk_scan(NULL::log, 'uid', 100001);
RESET ROLE;

-- SERIALIZABLE: an index that says no gets the predicate lock that a scan of it would take
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM chunk_scan(NULL::log_0, 'uid', 1);
SELECT relation::regclass, locktype FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;

-- inheritance children, a materialized view, a temporary table, an empty one, a truncated one
CREATE TABLE event (id int, kind text);
CREATE TABLE event_a () INHERITS (event);
INSERT INTO event SELECT i, 'parent' FROM generate_series(0, 1999) i;
INSERT INTO event_a SELECT i, 'child' FROM generate_series(1000, 2999) i;
CREATE INDEX event_id ON event USING bf (id);
CREATE INDEX event_a_id ON event_a USING bf (id);
SELECT kind FROM chunk_scan(NULL::event, 'id', 500);
SELECT kind FROM chunk_scan(NULL::event, 'id', 1500) ORDER BY kind;
SELECT * FROM chunk_scan_explain(NULL::event, 'id', 2500);
CREATE MATERIALIZED VIEW event_view AS SELECT * FROM event;
CREATE INDEX event_view_id ON event_view USING bf (id);
SELECT * FROM chunk_scan_explain(NULL::event_view, 'id', -1);
SELECT count(*) FROM chunk_scan(NULL::event_view, 'id', 1500);
CREATE TEMP TABLE event_t AS SELECT * FROM event;
CREATE INDEX event_t_id ON event_t USING bf (id);
SELECT * FROM chunk_scan_explain(NULL::event_t, 'id', -1);
SELECT count(*) FROM chunk_scan(NULL::event_t, 'id', 1500);
TRUNCATE event_a;
SELECT * FROM chunk_scan_explain(NULL::event_a, 'id', 1500);
INSERT INTO event_a VALUES (1, 'new');
SELECT kind FROM chunk_scan(NULL::event_a, 'id', 1);

DROP SCHEMA chunk_scan_index CASCADE;
DROP ROLE regress_index_reader;
