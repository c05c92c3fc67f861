-- Makes what the mistakes of list.txt use: a log, filters of it, a table with partitions, indexes, a view, a roll-up.
CREATE EXTENSION citext;
CREATE EXTENSION pg_trgm;
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE log (id bigserial, at timestamptz, host text, path text, bytes int, tags text[], folded citext, size numeric, how mood, body jsonb);
INSERT INTO log (at, host, path, bytes, tags, folded, size, how, body)
	SELECT '2024-05-01 UTC'::timestamptz + i * interval '1 minute', 'h' || i % 20, '/p/' || i % 100, i, ARRAY['t' || i % 7, 'u'], 'A' || i % 50, i, 'good', '{"a": 1}'
	FROM generate_series(1, 2000) i;
CREATE TABLE filters AS SELECT bf_agg(id) AS numbers, bf_agg(host) AS hosts, bf_agg(tags) AS arrays, sbf_agg(host) AS seen, ibf_agg(host, 0.5) AS important,
	tbf_agg(host, at) AS hits, tbf_agg(host, at, NULL) AS counts FROM log;
CREATE INDEX log_host ON log USING bf (host);
CREATE INDEX log_id ON log USING btree (id);
CREATE TABLE parted (day date, host text) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2024-05-01') TO ('2024-06-01');
CREATE INDEX parted_host ON parted USING bf (host);
CREATE TABLE days (chunk regclass, host bf);
CREATE VIEW seen_hosts AS SELECT DISTINCT host FROM log;
SELECT tbf_rollup_create('hot', 'log', 'host', 'at', group_by => '{how}');
CALL tbf_rollup_refresh('hot');
ANALYZE log;
