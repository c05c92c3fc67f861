-- chunk_scan_refused: what chunk_scan refuses, and whose privileges count

CREATE SCHEMA chunk_scan_refused;
SET search_path = chunk_scan_refused, public;
SET client_min_messages = warning;

CREATE TABLE log (at date, uid bigint, host text, small char(5), amount numeric, folded citext) PARTITION BY RANGE (at);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO log VALUES ('2024-01-01', 1, 'a', 'a', 1.0, 'a'), ('2024-02-01', 2, 'b', 'b', 2.0, 'B');
CREATE TABLE summary AS
	SELECT tableoid::regclass AS chunk, bf_agg(uid) AS uids, bf_agg(host) AS by_host, bf_agg(small) AS small, bf_agg(amount) AS amount,
		bf_agg(folded) AS folded, 1 AS at FROM log GROUP BY 1;

-- relations
SELECT error_of($$SELECT * FROM chunk_scan(42, 'uid', 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(ROW(1, 2), 'uid', 42) AS l(a int, b int)$$);
CREATE VIEW log_view AS SELECT * FROM log;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log_view, 'uid', 42)$$);
CREATE TYPE pair AS (uid bigint, host text);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::pair, 'uid', 42)$$);

-- columns
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'user', 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, NULL, 42)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'tableoid', 42)$$);

-- values: types that = accepts, and values for which the column would have to be converted
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 'x')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', '1'::text)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1.0)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'small', 'a'::text)$$);
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::log, 'uid', 1)$$);
SELECT error_of($$SELECT * FROM chunk_scan_any(NULL::log, 'uid', '{1.0}'::numeric[])$$);
SELECT host FROM chunk_scan(NULL::log, 'small', 'a', 'summary');
SELECT host FROM chunk_scan(NULL::log, 'small', 'a'::char(20), 'summary');
SELECT host FROM chunk_scan(NULL::log, 'amount', 2, 'summary');
SELECT host FROM chunk_scan(NULL::log, 'folded', 'b', 'summary');
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'folded', 'b'::text, 'summary')$$);

-- summary tables
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1, 'nothing')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1, 'log')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'host', 'a', 'summary')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'host', 'a', 'summary', 'hosts')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'at', '2024-01-01', 'summary', 'at')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'at', '2024-01-01', 'summary')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'host', 'a', summary_column => 'by_host')$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'host', 'a', 'summary', 'uids')$$);
SELECT host FROM chunk_scan(NULL::log, 'host', 'a', 'summary', 'by_host');
SELECT * FROM chunk_scan_explain(NULL::log, 'host', 'a', 'summary', 'by_host');
ALTER TABLE summary ADD uid bf;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1, 'summary')$$);
SELECT host FROM chunk_scan(NULL::log, 'uid', 1, 'summary', 'uids');
-- a view as a summary table
CREATE VIEW newest AS SELECT chunk::oid, uids FROM summary;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1, 'newest');

-- privileges: those of the parent, on the table or on all of its columns; and the summary table's own
CREATE ROLE regress_reader;
GRANT USAGE ON SCHEMA chunk_scan_refused TO regress_reader;
SET ROLE regress_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1)$$);
RESET ROLE;
GRANT SELECT (at, uid, host, small, amount) ON log TO regress_reader;
SET ROLE regress_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1)$$);
RESET ROLE;
GRANT SELECT (folded) ON log TO regress_reader;
SET ROLE regress_reader;
SELECT host FROM chunk_scan(NULL::log, 'uid', 1);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log_1, 'uid', 1)$$);
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1, 'newest')$$);
RESET ROLE;
GRANT SELECT ON newest TO regress_reader;
SET ROLE regress_reader;
SELECT host FROM chunk_scan(NULL::log, 'uid', 1, 'newest');
RESET ROLE;

-- row-level security of the parent is refused, unless it is bypassed. A partition's own policies do not apply to queries of the parent.
ALTER TABLE log_1 ENABLE ROW LEVEL SECURITY;
SET ROLE regress_reader;
SELECT host FROM chunk_scan(NULL::log, 'uid', 1);
RESET ROLE;
ALTER TABLE log ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON log USING (uid % 2 = 0);
SET ROLE regress_reader;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1)$$);
SET row_security = off;
SELECT error_of($$SELECT * FROM chunk_scan(NULL::log, 'uid', 1)$$);
RESET row_security;
RESET ROLE;
SELECT host FROM chunk_scan(NULL::log, 'uid', 1);
ALTER TABLE log DISABLE ROW LEVEL SECURITY;

-- row-level security of the summary table hides summaries, and chunks without a summary are read
ALTER TABLE summary ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON summary TO regress_reader;
SET ROLE regress_reader;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1, 'summary', 'uids');
RESET ROLE;

-- a foreign partition is read by its wrapper, or left alone like other partitions
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE log_3 PARTITION OF log FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')
	SERVER files OPTIONS (program 'echo 2024-03-01,3,c,c,3,c', format 'csv');
SELECT host FROM chunk_scan(NULL::log, 'uid', 3, 'summary', 'uids');
INSERT INTO summary (chunk, uids) SELECT 'log_3', bf_agg(uid) FROM log_3;
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 3, 'summary', 'uids');
SELECT * FROM chunk_scan_explain(NULL::log, 'uid', 1, 'summary', 'uids');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT host FROM chunk_scan(NULL::log, 'uid', 1, 'summary', 'uids');
COMMIT;

-- a nondeterministic collation: filters of another one cannot answer for it
CREATE COLLATION insensitive (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE word (word text COLLATE insensitive);
INSERT INTO word VALUES ('Word');
CREATE TABLE word_summary AS SELECT tableoid::regclass AS chunk, bf_agg(word COLLATE "C") AS words FROM word GROUP BY 1;
SELECT * FROM chunk_scan(NULL::word, 'word', 'WORD');
SELECT error_of($$SELECT * FROM chunk_scan(NULL::word, 'word', 'WORD', 'word_summary')$$);

DROP SCHEMA chunk_scan_refused CASCADE;
DROP ROLE regress_reader;
