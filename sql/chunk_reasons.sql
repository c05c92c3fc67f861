-- chunk_reasons: why partitions are read, in the words of chunk_scan_explain() and of EXPLAIN (ANALYZE).

CREATE SCHEMA chunk_reasons;
SET search_path = chunk_reasons, public;
SET client_min_messages = warning;

-- one partition has the value, one has a range without a summary, one has many, one has none, one has no index
CREATE TABLE log (k int, a int) PARTITION BY LIST (k);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES IN (%s)', i, i) FROM generate_series(1, 5) i \gexec
INSERT INTO log SELECT k, k * 10000 + i FROM generate_series(1, 5) k, generate_series(1, 1000) i;
SELECT format('CREATE INDEX ON log_%s USING bf (a) WITH (pages_per_range = 1)', i) FROM generate_series(1, 4) i \gexec
INSERT INTO log VALUES (1, 7);
SELECT bf_desummarize_range('log_2_a_idx', 0);
SELECT bf_desummarize_range('log_3_a_idx', i) FROM generate_series(0, 2) i;

CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(line, ' \(actual.*\)| \(never executed\)', '') FROM plan_lines(query, true) line WHERE line ~ 'Custom Scan|Partitions|Read Because|Scans|Verdict';
$$;

SELECT * FROM chunk_scan_explain(NULL::log, 'a', 7) ORDER BY 1;
SELECT * FROM chunk_scan_explain(NULL::log, 'a', 20001) ORDER BY 1;
SELECT plan($$SELECT * FROM log WHERE a = 7$$);
-- a value in a range that has a summary, beside ranges that have none
SELECT * FROM chunk_scan_explain(NULL::log, 'a', (SELECT max(a) FROM log_3)) ORDER BY 1;
-- The parameter is known when the first row is wanted: the reasons are counted for each scan.
SELECT plan($$SELECT * FROM (VALUES (7), (8)) v (x), LATERAL (SELECT * FROM log WHERE a = v.x OFFSET 0) l$$);
SELECT bf_summarize_range('log_2_a_idx', 0);
SELECT sum(bf_summarize_range('log_3_a_idx', i)) FROM generate_series(0, 2) i;
SELECT plan($$SELECT * FROM log WHERE a = 7$$);

-- The length of an index's ranges is not chosen while its table is empty. What comes then is counted as bf_indexes does.
CREATE TABLE late (k int, a int) PARTITION BY LIST (k);
CREATE TABLE late_1 PARTITION OF late FOR VALUES IN (1) WITH (autovacuum_enabled = off);
CREATE INDEX ON late USING bf (a);
INSERT INTO late SELECT 1, i FROM generate_series(1, 30000) i;
SELECT because, b.ranges, b.summarized, s.unsummarized FROM chunk_scan_explain(NULL::late, 'a', -1), bf_indexes b, bf_index_stats('late_1_a_idx') s
	WHERE b.index = 'late_1_a_idx'::regclass;
VACUUM late;
INSERT INTO late SELECT 1, i FROM generate_series(1, 30000) i;
SELECT (regexp_match(because, '^\d+'))[1]::int = b.ranges - b.summarized AS same, b.ranges - b.summarized > 1 AS many,
	s.unsummarized = b.ranges - b.summarized AS same_in_stats
	FROM chunk_scan_explain(NULL::late, 'a', -1), bf_indexes b, bf_index_stats('late_1_a_idx') s WHERE b.index = 'late_1_a_idx'::regclass;

DROP SCHEMA chunk_reasons CASCADE;
