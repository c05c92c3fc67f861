-- planning.sql: how much longer the planning of a query on one table takes because the planner asks its bf indexes
-- (streambloom.enable_index_estimates on and off). Each statement is explained 200 times in a row, in nine
-- interleaved rounds; the minima count, in microseconds. Run it on a quiet machine: scripts/with-cluster --set
-- shared_buffers=2GB -- psql -X -f bench/planning.sql
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION streambloom;
CREATE TABLE planned AS
SELECT i::bigint AS n, 'host ' || i * 7919::bigint % 500009 AS host, md5(i::text) || ' GET /page/' || i % 9973 AS line,
	jsonb_build_object('request', i, 'status', (ARRAY[200, 304, 404, 500])[1 + i % 4]) AS doc, ARRAY['day ' || i / 5000, 'request ' || i] AS tags
FROM generate_series(1, 1000000) i;
CREATE INDEX ON planned USING bf (n);
CREATE INDEX ON planned USING bf (host);
CREATE INDEX ON planned USING bf (line gram_ops);
CREATE INDEX ON planned USING bf (doc);
CREATE INDEX ON planned USING bf (tags);
VACUUM ANALYZE planned;

CREATE FUNCTION n_in(many int) RETURNS text LANGUAGE sql AS
$$ SELECT format('n = ANY (%L)', array_agg(i * 997)) FROM generate_series(1, many) i $$;
CREATE TABLE asked AS SELECT * FROM (VALUES
	('=, there', 'n = 77'), ('=, absent', 'n = -5'), ('= of text', 'host = ''host 77'''), ('IN, 3', 'n IN (1, 2, 3)'), ('= ANY, 20', n_in(20)), ('= ANY, 200', n_in(200)),
	('LIKE, a path', 'line LIKE ''%/page/77%'''), ('LIKE, 16 letters', 'line LIKE ''%c4ca4238a0b92382%'''), ('~', 'line ~ ''c4ca42[0-9]+a0b'''),
	('jsonb @>', 'doc @> ''{"request": 77}'''), ('array @>', 'tags @> ''{request 77}'''), ('AND of two columns', 'n = 5 AND host = ''host 9''')
) v (name, condition);

CREATE TABLE measured (name text, asking bool, us float);
DO $$
DECLARE
	query record;
	asking bool;
	began timestamptz;
BEGIN
	FOR round IN 1 .. 9 LOOP
		FOR query IN SELECT * FROM asked LOOP
			FOREACH asking IN ARRAY ARRAY[true, false] LOOP
				PERFORM set_config('streambloom.enable_index_estimates', asking::text, false);
				began := clock_timestamp();
				FOR i IN 1 .. 200 LOOP
					EXECUTE 'EXPLAIN SELECT * FROM planned WHERE ' || query.condition;
				END LOOP;
				INSERT INTO measured VALUES (query.name, asking, extract(epoch FROM clock_timestamp() - began) * 1e6 / 200);
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
SELECT name, round(min(us) FILTER (WHERE asking)) AS asking, round(min(us) FILTER (WHERE NOT asking)) AS "not asking",
	round(min(us) FILTER (WHERE asking) - min(us) FILTER (WHERE NOT asking)) AS more
FROM measured GROUP BY name ORDER BY more;
