-- index_types: a bf index finds the rows of each type that it has an operator class for, built before and after the rows
CREATE TABLE samples (type text, item text, class text);	-- how to make the i-th value; an operator class, unless it is the default one
INSERT INTO samples (type, item) VALUES
	('smallint', '(i % 1000)::smallint'), ('integer', 'i'), ('bigint', 'i * 10000000000::bigint'),
	('real', 'i / 7.0'), ('double precision', 'i / 7.0'),
	('text', '''host-'' || i'), ('varchar', '''host-'' || i'), ('name', '(''host-'' || i)::name'), ('char(12)', '''h'' || i'),
	('"char"', '(chr(33 + i % 90))::"char"'), ('bytea', 'decode(lpad(to_hex(i), 8, ''0''), ''hex'')'),
	('uuid', 'lpad(to_hex(i), 32, ''0'')::uuid'), ('date', '''2026-01-01''::date + i'), ('time', '''00:00''::time + i * interval ''1 s'''),
	('timetz', '''00:00+01''::timetz + i * interval ''1 s'''), ('timestamp', '''2026-01-01''::timestamp + i * interval ''1 min'''),
	('timestamptz', '''2026-01-01''::timestamptz + i * interval ''1 min'''), ('interval', 'i * interval ''1 hour'''),
	('numeric', 'i / 100.0'), ('inet', '''10.0.0.0''::inet + i'), ('cidr', '(''10.0.0.0''::inet + i)::cidr'),
	('macaddr', '(lpad(to_hex(i), 12, ''0''))::macaddr'), ('macaddr8', '(lpad(to_hex(i), 16, ''0''))::macaddr8'),
	('oid', 'i::oid'), ('tid', 'format(''(%s,1)'', i)::tid'), ('pg_lsn', '''0/0''::pg_lsn + i'), ('xid8', 'i::text::xid8'),
	('integer[]', 'ARRAY[i, i + 1]'), ('text[]', 'ARRAY[''a'', i::text]'),
	('int4range', 'int4range(i, i + 10)'), ('int8multirange', 'int8multirange(int8range(i, i + 10))');
INSERT INTO samples VALUES ('jsonb', 'jsonb_build_object(''host'', i)', 'jsonb_eq_ops'), ('integer[]', 'ARRAY[i, i + 1]', 'array_eq_ops'),
	('text[]', 'ARRAY[''a'', i::text]', 'array_eq_ops');

-- Rows found of all those whose value was looked up, by index and without; "wrong" counts values with different answers.
CREATE FUNCTION try_type(type text, item text, class text) RETURNS TABLE (of_type text, asked bigint, wrong bigint, by_index boolean)
LANGUAGE plpgsql SET jit = off SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
	plan text;
	line text;
BEGIN
	EXECUTE format('CREATE TEMP TABLE t (v %s)', type);
	EXECUTE format('INSERT INTO t SELECT %s FROM generate_series(1, 1500) i', item);
	EXECUTE format('CREATE INDEX t_v ON t USING bf (v %s) WITH (pages_per_range = 1)', class);
	EXECUTE format('INSERT INTO t SELECT %s FROM generate_series(1501, 3000) i', item);
	PERFORM bf_summarize_new_values('t_v'), bf_index_check('t_v');
	EXECUTE format('CREATE TEMP TABLE asked AS SELECT DISTINCT (%s)::%s AS v FROM generate_series(1, 3600, 37) i', item, type);
	EXECUTE 'CREATE TEMP TABLE found AS SELECT a.v, n FROM asked a, LATERAL (SELECT count(*) AS n FROM t WHERE t.v = a.v) c';
	FOR line IN EXPLAIN SELECT a.v, n FROM asked a, LATERAL (SELECT count(*) AS n FROM t WHERE t.v = a.v) c LOOP
		plan := concat(plan, line);
	END LOOP;
	SET LOCAL enable_bitmapscan = off;
	RETURN QUERY EXECUTE format($q$
		SELECT %L, count(*), count(*) FILTER (WHERE n IS DISTINCT FROM m), %L LIKE '%%Bitmap Index Scan on t_v%%'
		FROM found f, LATERAL (SELECT count(*) AS m FROM t WHERE t.v = f.v) c$q$, type, plan);
	DROP TABLE t, asked, found;
END
$$;
SELECT count(*) AS types, sum(asked) AS asked FROM samples, try_type(type, item, class) r WHERE wrong = 0 AND by_index;
SELECT r.* FROM samples, try_type(type, item, class) r WHERE wrong <> 0 OR NOT by_index;

-- types that can be compared with each other have the same hashes: an untyped or smaller literal uses the index
CREATE TABLE numbers (small smallint, big bigint, single real, double double precision, word text, label name);
INSERT INTO numbers SELECT i, i, i + 0.5, i + 0.5, 'w' || i, 'w' || i FROM generate_series(1, 20000) i;
CREATE INDEX numbers_bf ON numbers USING bf (small, big, single, double, word, label) WITH (pages_per_range = 2);
SELECT q, answers('SELECT * FROM numbers WHERE ' || q) FROM (VALUES
	('big = 123'), ('big = 123::smallint'), ('big = 123::bigint'), ('small = 123'), ('small = 123::bigint'), ('small = 123456789'),
	('double = 99.5'), ('double = 99.5::real'), ('single = 99.5::double precision'),
	('word = ''w7'''), ('word = ''w7''::name'), ('label = ''w7'''), ('label = ''w7''::text'), ('word = ''w7''::varchar'),
	('big = ANY (ARRAY[5, 7, NULL]::smallint[])')) t(q);

-- this is not so where equal values have different bytes: comparing numeric and bigint takes another operator
SELECT answers('SELECT * FROM numbers WHERE big = 123.0');

-- -0 and 0, NaN, 1.0 and 1.00, char(n) and its padding, citext
CREATE TABLE specials (f float8, n numeric, c char(8), ci citext);
INSERT INTO specials SELECT i, i, i, 'Host' || i FROM generate_series(1, 5000) i;
INSERT INTO specials VALUES ('-0', 1.500, 'a', 'ABC'), ('NaN', 'NaN', 'a  ', 'abc');
CREATE INDEX specials_bf ON specials USING bf (f, n, c) WITH (pages_per_range = 2);
SELECT q, answers('SELECT * FROM specials WHERE ' || q)
FROM (VALUES ('f = 0'), ('f = ''-0'''), ('f = ''NaN'''), ('n = 1.5'), ('n = ''NaN'''), ('c = ''a'''), ('c = ''a       ''')) t(q);

-- a type of an extension: under text_ops it is hashed as text
CREATE INDEX specials_text ON specials USING bf (ci) WITH (pages_per_range = 2);
SELECT q, answers('SELECT * FROM specials WHERE ' || q)
FROM (VALUES ('ci = ''aBc'''), ('ci::text = ''ABC'''), ('ci::text = ''aBc'''), ('ci::text = ''ABC''::name COLLATE "default"')) t(q);
DROP INDEX specials_text;
-- a partitioned table says so once
CREATE TABLE people (id int, ci citext) PARTITION BY RANGE (id);
CREATE TABLE people_0 PARTITION OF people FOR VALUES FROM (0) TO (10);
CREATE TABLE people_1 PARTITION OF people FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
CREATE TABLE people_10 PARTITION OF people_1 FOR VALUES FROM (10) TO (15);
CREATE INDEX people_text ON people USING bf (ci);
DROP TABLE people;
-- under an operator class of its own it is hashed as itself; the = of the class must agree with the hashes
CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING bf AS OPERATOR 1 = (citext, citext);
CREATE INDEX specials_ci ON specials USING bf (ci) WITH (pages_per_range = 2);
SELECT answers('SELECT * FROM specials WHERE ci = ''aBc''');
CREATE OPERATOR CLASS by_pattern FOR TYPE citext USING bf AS OPERATOR 1 ~~ (citext, citext);
SELECT sqlstate_of('CREATE INDEX ON specials USING bf (ci by_pattern)');
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcmethod = (SELECT oid FROM pg_am WHERE amname = 'bf') AND NOT amvalidate(oid);

-- types that cannot be hashed are refused when the index is made
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE refused (m mood, ms mood[], t text COLLATE ignoring_case, p point);
SELECT error_of('CREATE INDEX ON refused USING bf (m)');
SELECT sqlstate_of('CREATE INDEX ON refused USING bf (ms)');
SELECT error_of('CREATE INDEX ON refused USING bf (t)');
SELECT error_of('CREATE INDEX ON refused USING bf (p)');
CREATE INDEX refused_t ON refused USING bf (t COLLATE "C");

DROP TABLE samples, numbers, specials, refused;
DROP FUNCTION try_type;
DROP OPERATOR FAMILY citext_ops USING bf;
DROP OPERATOR FAMILY by_pattern USING bf;
DROP TYPE mood;
DROP COLLATION ignoring_case;
