-- index_relations: bf indexes on all kinds of relations, and after everything that is done to relations
SET streambloom.enable_partition_scan = off;
-- partitioned: an index on the parent makes indexes on its partitions: existing, new and attached ones
CREATE TABLE access_log (at date, host integer, url text) PARTITION BY RANGE (at);
CREATE TABLE access_log_1 PARTITION OF access_log FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO access_log SELECT '2026-01-01', i, 'u' || i FROM generate_series(1, 20000) i;
CREATE INDEX access_log_bf ON access_log USING bf (host, url) WITH (pages_per_range = 4);
CREATE TABLE access_log_2 PARTITION OF access_log FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO access_log SELECT '2026-02-01', i, 'u' || i FROM generate_series(20001, 40000) i;
CREATE TABLE attached (url text, host integer, dropped integer, at date);
ALTER TABLE attached DROP COLUMN dropped;
INSERT INTO attached SELECT 'u' || i, i, '2026-03-01' FROM generate_series(40001, 60000) i;
ALTER TABLE access_log ATTACH PARTITION attached FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE TABLE access_log_rest PARTITION OF access_log DEFAULT PARTITION BY LIST (host);
CREATE TABLE access_log_rest_all PARTITION OF access_log_rest DEFAULT;
INSERT INTO access_log VALUES ('2020-01-01', -1, 'old');
SELECT q, answers('SELECT * FROM access_log WHERE ' || q)
FROM (VALUES ('host = 7'), ('host = 20007'), ('host = 50007'), ('host = -1'), ('url = ''u60000'''), ('host = 0')) t(q);
CALL bf_summarize('access_log');
SELECT i, unsummarized FROM unnest(ARRAY['access_log_1_host_url_idx', 'access_log_2_host_url_idx', 'attached_host_url_idx',
	'access_log_rest_all_host_url_idx']::regclass[]) i, bf_index_stats(i) WHERE "column" = 'host';
SELECT q, answers('SELECT * FROM access_log WHERE ' || q)
FROM (VALUES ('host = 7'), ('host = 20007'), ('host = 50007'), ('host = -1'), ('url = ''u60000'''), ('host = 0')) t(q);
-- a row that moves to another partition
UPDATE access_log SET at = '2026-02-02' WHERE host = 7;
ALTER TABLE access_log DETACH PARTITION access_log_1;
SELECT answers('SELECT * FROM access_log WHERE host = 7'), answers('SELECT * FROM access_log_1 WHERE host = 8');
CALL bf_summarize('access_log_bf');

-- inheritance children, each with an index of its own
CREATE TABLE child () INHERITS (access_log_1);
INSERT INTO child SELECT '2026-01-01', i, 'u' || i FROM generate_series(100001, 110000) i;
CREATE INDEX child_bf ON child USING bf (host) WITH (pages_per_range = 4);
SELECT answers('SELECT * FROM access_log_1 WHERE host = 100007');
CALL bf_summarize('access_log_1');

-- in a transaction block CALL cannot commit, and works without commits
BEGIN;
CALL bf_summarize('access_log');
COMMIT;

-- expressions, and a predicate
CREATE TABLE events (id integer, doc jsonb, kind text);
INSERT INTO events SELECT i, jsonb_build_object('user', i), CASE WHEN i % 1000 = 0 THEN 'error' ELSE 'info' END
FROM generate_series(1, 20000) i;
CREATE INDEX events_user ON events USING bf ((doc ->> 'user'), lower(kind)) WITH (pages_per_range = 4);
CREATE INDEX events_errors ON events USING bf (id) WITH (pages_per_range = 4) WHERE kind = 'error';
INSERT INTO events VALUES (-1, '{"user": "x"}', 'ERROR'), (-2, '{}', 'error');
SELECT q, answers('SELECT id FROM events WHERE ' || q)
FROM (VALUES ('doc ->> ''user'' = ''777'''), ('doc ->> ''user'' = ''x'''), ('lower(kind) = ''error'' AND doc ->> ''user'' IS NULL'),
	('kind = ''error'' AND id = 5000'), ('kind = ''error'' AND id = -2'), ('kind = ''error'' AND id = 5001')) t(q);
SELECT bf_index_check('events_user'), bf_index_check('events_errors');
-- an expression runs as the table's owner, and sees only what the owner may see
CREATE FUNCTION who(integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN current_user; END';
CREATE ROLE streambloom_owner;
CREATE TABLE owned (v integer);
INSERT INTO owned VALUES (1);
CREATE INDEX owned_bf ON owned USING bf (who(v));
ALTER TABLE owned OWNER TO streambloom_owner;
SELECT bf_desummarize_range('owned_bf', 0), bf_summarize_range('owned_bf', 0);
SELECT bf_of('owned_bf', 0) @> 'streambloom_owner';

-- temporary, unlogged, materialized
CREATE TEMP TABLE passing (v integer) ON COMMIT DELETE ROWS;
CREATE INDEX passing_bf ON passing USING bf (v) WITH (pages_per_range = 2);
BEGIN;
INSERT INTO passing SELECT generate_series(1, 5000);
SELECT bf_summarize_new_values('passing_bf') > 5;
SELECT answers('SELECT * FROM passing WHERE v = 4000');
COMMIT;
BEGIN;
INSERT INTO passing SELECT generate_series(5001, 10000);
SELECT answers('SELECT * FROM passing WHERE v = 9000'), answers('SELECT * FROM passing WHERE v = 4000');
SELECT bf_summarize_new_values('passing_bf') > 5, bf_index_check('passing_bf');
COMMIT;
-- in a parallel plan only the leader calls functions that look into an index
CREATE TEMP TABLE mine (v integer);
INSERT INTO mine SELECT generate_series(1, 100);
CREATE INDEX mine_bf ON mine USING bf (v);
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
SELECT count(*) FROM pg_class WHERE (bf_of('mine_bf', 0) @> 5) IS NULL;
SELECT count(*) FROM pg_class WHERE (SELECT summarized FROM bf_index_stats('mine_bf') WHERE oid = oid) IS NULL;
RESET parallel_leader_participation; RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
DROP TABLE mine;
CREATE UNLOGGED TABLE unlogged (v integer);
CREATE INDEX unlogged_bf ON unlogged USING bf (v) WITH (pages_per_range = 2);
INSERT INTO unlogged SELECT generate_series(1, 5000);
SELECT bf_summarize_new_values('unlogged_bf') > 5, answers('SELECT * FROM unlogged WHERE v = 4000');
ALTER TABLE unlogged SET LOGGED;
SELECT answers('SELECT * FROM unlogged WHERE v = 4000'), bf_index_check('unlogged_bf');
CREATE MATERIALIZED VIEW seen AS SELECT i AS v FROM generate_series(1, 5000) i;
CREATE INDEX seen_bf ON seen USING bf (v);
REFRESH MATERIALIZED VIEW seen;
SELECT answers('SELECT * FROM seen WHERE v = 4000');

-- CREATE INDEX CONCURRENTLY, REINDEX, and a rewrite of the table
CREATE INDEX CONCURRENTLY events_id ON events USING bf (id) WITH (pages_per_range = 4);
REINDEX INDEX CONCURRENTLY events_user;
SELECT answers('SELECT id FROM events WHERE id = 19999'), answers('SELECT id FROM events WHERE doc ->> ''user'' = ''777''');
ALTER TABLE events ALTER COLUMN id TYPE bigint;
VACUUM FULL events;
SELECT answers('SELECT id FROM events WHERE id = 19999'), bf_index_check('events_id'), bf_index_check('events_errors');
BEGIN;
TRUNCATE events;
INSERT INTO events VALUES (5, '{}', 'error');
SELECT answers('SELECT id FROM events WHERE id = 5'), answers('SELECT id FROM events WHERE id = 19999');
ROLLBACK;
SELECT answers('SELECT id FROM events WHERE id = 5'), answers('SELECT id FROM events WHERE id = 19999');

-- values stored out of line
CREATE TABLE long_values (id integer, v text);
ALTER TABLE long_values ALTER COLUMN v SET STORAGE external;
INSERT INTO long_values SELECT i, repeat(i::text, 2000) FROM generate_series(1, 300) i;
CREATE INDEX long_values_bf ON long_values USING bf (v) WITH (pages_per_range = 1);
UPDATE long_values SET v = repeat('x' || id, 2000) WHERE id % 7 = 0;
SELECT bf_desummarize_range('long_values_bf', 0), bf_summarize_range('long_values_bf', 0);
SELECT answers('SELECT id FROM long_values WHERE v = repeat(''14'', 2000)'), answers('SELECT id FROM long_values WHERE v = repeat(''x14'', 2000)'),
	answers('SELECT id FROM long_values WHERE v = repeat(''15'', 2000)'), bf_index_check('long_values_bf') BETWEEN 300 AND 342 AS checked;

-- A build counts the rows that the table has when its transaction has ended.
CREATE TABLE rewritten (id integer PRIMARY KEY, h integer);
INSERT INTO rewritten SELECT i, i FROM generate_series(1, 3000) i;
CREATE INDEX rewritten_bf ON rewritten USING bf (h);
ANALYZE rewritten;
ALTER TABLE rewritten ADD COLUMN u uuid DEFAULT gen_random_uuid();
SELECT reltuples FROM pg_class WHERE relname = 'rewritten';
BEGIN;
DELETE FROM rewritten WHERE id <= 1000;
INSERT INTO rewritten VALUES (-1, -1);
REINDEX INDEX rewritten_bf;
SELECT reltuples FROM pg_class WHERE relname = 'rewritten';
ROLLBACK;

-- an index that is emptied at COMMIT, where no function may run
CREATE FUNCTION next_number(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 1; END';
CREATE TEMP TABLE emptied (a integer, h text) ON COMMIT DELETE ROWS;
CREATE INDEX ON emptied USING bf (a) WHERE a > next_number(1);
CREATE INDEX ON emptied USING bf (next_number(a));
BEGIN;
INSERT INTO emptied SELECT i FROM generate_series(1, 1000) i;
SELECT count(*) FROM emptied WHERE a = 7 AND a > next_number(1);
COMMIT;
SELECT count(*) FROM emptied;

DROP TABLE access_log, access_log_1, child, events, owned, passing, unlogged, long_values, rewritten, emptied;
DROP MATERIALIZED VIEW seen;
DROP FUNCTION who, next_number;
DROP ROLE streambloom_owner;
