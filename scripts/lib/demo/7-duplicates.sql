-- 7-duplicates.sql: marks duplicates in a stream with memory that does not grow, and compares with exact SQL.

\echo 'Which hits repeat a page that the same host has asked for? A stable Bloom filter answers for each row as it comes, in'
\echo 'memory that does not grow however long the stream is:'
\echo
\set ECHO queries
CREATE TABLE marked AS
SELECT row_number() OVER w AS nr, host, url, sbf_duplicate((host, url)) OVER w AS seen
FROM access_log WINDOW w AS (ORDER BY at, host, url);
\set ECHO none

SELECT format(E'Of %s hits %s are repetitions. It missed %s of them (%s %%),\nand took %s of the %s first hits for repetitions (%s %%).',
		demo.number(count(*)), demo.number(repeated), demo.number(missed), to_char(100.0 * missed / greatest(repeated, 1), 'FM990.00'),
		demo.number(wrong), demo.number(count(*) - repeated), to_char(100.0 * wrong / greatest(count(*) - repeated, 1), 'FM990.00')) AS text,
	demo.verdict(missed <= 0.5 * repeated, 'it has found at least half of the repetitions') AS verdict
FROM (SELECT count(*) FILTER (WHERE n > 1) AS repeated, count(*) FILTER (WHERE n > 1 AND seen IS NOT TRUE) AS missed, count(*) FILTER (WHERE n = 1 AND seen) AS wrong
	FROM (SELECT seen, row_number() OVER (PARTITION BY host, url ORDER BY nr) AS n FROM marked) m) c, marked
GROUP BY repeated, missed, wrong \gset
\echo
\echo :text
\echo 'A Bloom filter (bf) would miss none, but fills up. This one forgets what came long ago, to stay as good as it is.'
\echo
\echo :verdict
