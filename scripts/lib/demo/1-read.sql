-- 1-read.sql: shows what docs/logs.md has made of log_line: some hits of demo.hit, the columns that stayed empty, and
-- some lines that are no hits. Variable: source, the name of the log.

CREATE FUNCTION demo.verdict(ok boolean, what text) RETURNS text LANGUAGE sql
	RETURN CASE WHEN ok THEN '[ok]   ' ELSE '[FAIL] ' END || what;
CREATE FUNCTION demo.number(numeric) RETURNS text LANGUAGE sql
	RETURN to_char($1, 'FM999,999,999,999,990');
CREATE FUNCTION demo.in_column(numeric) RETURNS text LANGUAGE sql
	RETURN to_char($1, '99,999,999,990');
CREATE FUNCTION demo.is_computer(host text) RETURNS boolean LANGUAGE sql
	RETURN host ~* '^[0-9a-f:]*:[0-9a-f:.]*$|^localhost$|^[\w-]+(\.[\w-]+)+\.?$';

SELECT count(*) AS lines FROM log_line WHERE (line ~ '^#(Software|Version|Date|Start-Date|End-Date|Fields|Remark):') IS NOT TRUE \gset
SELECT format('%s lines of %s. %s are hits%s', demo.number(:lines), :'source', demo.number(count(*)), CASE count(*) WHEN 0 THEN '.' ELSE ', as these:' END) AS text,
	:lines - count(*) AS others, count(*) = 0 AS none,
	concat_ws(', ', CASE WHEN count(method) = 0 THEN 'method' END, CASE WHEN count(status) = 0 THEN 'status' END, CASE WHEN count(bytes) = 0 THEN 'bytes' END,
		CASE WHEN count(referrer) = 0 THEN 'referrer' END, CASE WHEN count(agent) = 0 THEN 'agent' END) AS empty
FROM demo.hit \gset
\echo :text
\echo
\if :none
\else
	SELECT at AS time, left(host, 40) AS client, method, left(url, 56) AS url, status FROM demo.hit ORDER BY n LIMIT 3;
	SELECT CASE :'empty' WHEN '' THEN 'No column stayed empty.' ELSE 'These columns stayed empty: ' || :'empty' || '.' END AS text \gset
	\echo :text
\endif
SELECT CASE :others WHEN 0 THEN 'Every line was read.' ELSE demo.number(:others) || ' lines do not parse and were left out, such as:' END AS text \gset
\echo :text
SELECT '  ' || left(line, 116) FROM log_line l
WHERE NOT EXISTS (SELECT FROM demo.hit h WHERE h.n = l.n) AND line ~ '\S' AND line !~ '^#(Software|Version|Date|Start-Date|End-Date|Fields|Remark):' ORDER BY n LIMIT 3 \g (format=unaligned tuples_only=on)
\echo
