-- relations.sql: makes relations of all kinds, for the functions that take one, and some types. The statements that
-- calls.pl prints refer to them; "psql -f" of this file makes them in a database that has the extension.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE SCHEMA attack;
SET search_path = attack, public;

CREATE TYPE mood AS ENUM ('low', 'high');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN short_text AS text;
CREATE TYPE pair AS (number int, name text);
CREATE TYPE nested AS (a pair, b pair[]);
CREATE TYPE no_fields AS ();

CREATE TABLE plain (id bigint PRIMARY KEY, word text, at timestamptz DEFAULT '2024-01-01 UTC', flag boolean, mood mood, number numeric, many int[]);
INSERT INTO plain SELECT i, 'word ' || i % 50, '2024-01-01 UTC', i % 2 = 0, 'low', i, ARRAY[i, NULL] FROM generate_series(1, 3000) i;
CREATE INDEX plain_bf ON plain USING bf (id, word, at, flag, number, many) WITH (pages_per_range = 4);
CREATE INDEX plain_partial ON plain USING bf (word) WHERE id > 100;
CREATE INDEX plain_expression ON plain USING bf (lower(word));
CREATE INDEX plain_btree ON plain (word);
CREATE INDEX plain_brin ON plain USING brin (at);
CREATE INDEX plain_invalid ON plain USING bf (number);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'plain_invalid'::regclass;

-- Values that are stored out of line.
CREATE TABLE toasted (id bigint, word text);
ALTER TABLE toasted ALTER word SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT i, repeat('word ' || i, 1000) FROM generate_series(1, 60) i;
CREATE INDEX toasted_bf ON toasted USING bf (word) WITH (pages_per_range = 1);

-- Rows that are not summarized yet.
CREATE TABLE growing (id bigint, word text);
ALTER TABLE growing ALTER word SET STORAGE EXTERNAL;
CREATE INDEX growing_bf ON growing USING bf (id, word) WITH (pages_per_range = 1);
INSERT INTO growing SELECT i, repeat('growing ' || i, 300) FROM generate_series(1, 2000) i;

CREATE TABLE log (id bigint, word text, at timestamptz, flag boolean) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (1000) TO (2000) PARTITION BY LIST (flag);
CREATE TABLE log_2_true PARTITION OF log_2 FOR VALUES IN (true);
CREATE TABLE log_2_rest PARTITION OF log_2 DEFAULT;
CREATE TABLE log_rest (flag boolean, gone int, word text, at timestamptz, id bigint);
ALTER TABLE log_rest DROP gone;
ALTER TABLE log ATTACH PARTITION log_rest DEFAULT;
INSERT INTO log SELECT i, 'word ' || i % 50, '2024-01-01 UTC', i % 2 = 0 FROM generate_series(1, 3000) i;
CREATE INDEX log_bf ON log USING bf (id, word, flag);
CREATE TABLE log_summaries AS
	SELECT c.oid::regclass AS chunk, bf_agg(l.id) AS ids, bf_agg(l.word) AS words, 'x'::text AS wrong FROM log l JOIN pg_class c ON c.oid = l.tableoid GROUP BY c.oid;
CREATE TABLE log_empty (id bigint) PARTITION BY RANGE (id);

CREATE TABLE parent (id bigint, word text);
CREATE TABLE child (extra int) INHERITS (parent);
INSERT INTO parent SELECT i, 'parent' FROM generate_series(1, 100) i;
INSERT INTO child SELECT i, 'child', i FROM generate_series(1, 100) i;
CREATE INDEX parent_bf ON parent USING bf (id);
CREATE INDEX child_bf ON child USING bf (id);

CREATE TABLE no_rows (id bigint, word text);
CREATE INDEX no_rows_bf ON no_rows USING bf (id);
CREATE TABLE no_columns ();
INSERT INTO no_columns DEFAULT VALUES;
CREATE TABLE dropped (a int, id bigint, b text);
ALTER TABLE dropped DROP a, DROP b;
INSERT INTO dropped VALUES (1);
CREATE UNLOGGED TABLE unlogged (id bigint, word text);
INSERT INTO unlogged SELECT i, 'x' FROM generate_series(1, 100) i;
CREATE INDEX unlogged_bf ON unlogged USING bf (id);
CREATE TABLE secret (id bigint, word text);
INSERT INTO secret VALUES (1, 'x');
CREATE INDEX secret_bf ON secret USING bf (id);
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE TABLE filters (id bigint, b bf, t tbf, s sbf, i ibf, a abf);
INSERT INTO filters VALUES (1, bf_empty(), tbf_empty(), sbf_empty(), ibf_empty(), abf_empty()), (2, NULL, NULL, NULL, NULL, NULL);

CREATE VIEW plain_view AS SELECT * FROM plain;
CREATE MATERIALIZED VIEW stored_view AS SELECT * FROM plain;
CREATE INDEX stored_view_bf ON stored_view USING bf (id);
CREATE MATERIALIZED VIEW unpopulated AS SELECT * FROM plain WITH NO DATA;
CREATE INDEX unpopulated_bf ON unpopulated USING bf (id);
CREATE SEQUENCE numbers;
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE elsewhere (id bigint, word text) SERVER nowhere;

-- Three roll-ups: one that is filled and cannot be dropped, one that is empty, and one whose source is gone.
CREATE TABLE hits (at timestamptz, url text, size bigint, site text);
INSERT INTO hits SELECT '2024-04-30 UTC'::timestamptz + i * interval '1 minute', 'page ' || i % 20, i, 'site ' || i % 2 FROM generate_series(1, 600) i;
SELECT tbf_rollup_create('attack.heat', 'attack.hits', 'url', 'at', group_by => '{site}');
CALL tbf_rollup_refresh('attack.heat');
CREATE VIEW hottest AS SELECT hot FROM heat;
SELECT tbf_rollup_create('attack.no_heat', 'attack.hits', 'size', 'at', weight => '2', half_life => NULL);
CREATE TABLE lost_hits (at timestamptz, url text);
SELECT tbf_rollup_create('attack.lost_heat', 'attack.lost_hits', 'url', 'at');
DROP TABLE lost_hits;

-- Enough rows for a parallel plan.
CREATE TABLE many_rows AS SELECT n FROM generate_series(1, 2000) n;
ALTER TABLE many_rows SET (parallel_workers = 2);
ANALYZE;
