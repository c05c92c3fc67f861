-- functions that return rows leave no memory behind in the query, however often they are called
\set leaves_nothing 'AND (n < 3000 OR (SELECT sum(used_bytes) < 600000 FROM pg_backend_memory_contexts WHERE name = \'ExecutorState\')) AS leaves_nothing FROM generate_series(1, 3000) n'
CREATE TEMP TABLE filters AS SELECT bf_agg(i) AS b, sbf_add(sbf_empty(64), 1) AS s, tbf_add(tbf_empty(100, top => 5), 1, now()) AS t FROM generate_series(1, 100) i;

-- not in parallel, and each row calls the function
CREATE FUNCTION leaves(call text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	growth bigint;
BEGIN
	EXECUTE format('SELECT max(m) - min(m) FROM (SELECT n, EXISTS (SELECT FROM %s), CASE WHEN n IN (1000, 4000) THEN
		(SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = ''ExecutorState'' AND n > 0) END AS m
		FROM generate_series(1, 4000) n, filters OFFSET 0) each_row', call) INTO growth;
	RETURN growth > 30000;
END
$$;
