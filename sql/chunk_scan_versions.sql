-- chunk_scan_versions: chunk_scan() returns the rows that a plain query returns, of all kinds of row versions, columns
-- and values.

CREATE SCHEMA chunk_scan_versions;
SET search_path = chunk_scan_versions, public;
SET client_min_messages = warning;
SET streambloom.enable_skip = off;

-- Nothing is summarized, so each index names all pages of its partition. Partition 2 has its columns in another order, and
-- partition 3 has a column that was dropped.
CREATE TABLE p (k int, id int, a int8, t text) PARTITION BY LIST (k);
CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p_2 (t text, a int8, id int, k int);
CREATE TABLE p_3 (gone int, k int, id int, a int8, t text);
ALTER TABLE p_3 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p_2 FOR VALUES IN (2);
ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES IN (3);
CREATE INDEX p_a ON p USING bf (a);
CREATE INDEX p_t ON p USING bf (t);
INSERT INTO p SELECT k, i, 1000 * k + i, 'text ' || 1000 * k + i FROM generate_series(1, 3) k, generate_series(0, 99) i;

-- The rows of the relation $1 with the condition $2 = $3. They are asked for twice by chunk_scan(): the first time
-- may remember something, the second one may take it from memory.
CREATE FUNCTION ask(relation text, col text, value text, "any" bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine text;
	plain text;
	call text := format('chunk_scan%s(NULL::%s, %L, %s)', CASE WHEN "any" THEN '_any' ELSE '' END, relation, col, value);
BEGIN
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT string_agg(l::text, '' '' ORDER BY l::text) FROM %s l WHERE %I = %s(%s)', relation, col,
		CASE WHEN "any" THEN 'ANY ' ELSE '' END, value) INTO plain;
	SET LOCAL enable_bitmapscan = on;
	FOR i IN 1 .. 2 LOOP
		EXECUTE format('SELECT string_agg(l::text, '' '' ORDER BY l::text) FROM %s l', call) INTO mine;
		IF mine IS DISTINCT FROM plain THEN
			RETURN format('WRONG: %s, but plain %s', mine, plain);
		END IF;
	END LOOP;
	RETURN coalesce(left(plain, 60), 'nothing');
END
$$;
-- asked the first time, and from memory
SELECT ask('p', 'a', '1007'), ask('p', 'a', '2007'), ask('p', 'a', '3007'), ask('p', 'a', '7');
-- the same after the first question, from memory
VACUUM p;
SELECT ask('p', 'a', '7'), ask('p', 'a', '2007');
SELECT bf_desummarize_range('p_1_a_idx', 0), bf_desummarize_range('p_2_a_idx', 0), bf_desummarize_range('p_3_a_idx', 0);
-- chunk_scan_explain() says what the indexes say
SELECT * FROM chunk_scan_explain(NULL::p, 'a', 7);

-- types: the value may have another one than the column
SELECT ask('p', 'a', '1007::int2'), ask('p', 'a', '1007::int4'), ask('p', 'a', '1007::int8'), ask('p', 'a', '''1007''');
SELECT ask('p', 'a', '''{7, 1007, NULL, 3099}''::int8[]', true), ask('p', 'a', '''{7, 8, NULL}''::int4[]', true), ask('p', 'a', '''{}''::int8[]', true);
SELECT ask('p', 'a', 'ARRAY(SELECT i::int8 FROM generate_series(1050, 3000, 50) i)', true);
SELECT ask('p', 't', '''text 2042'''), ask('p', 't', '''text 2142'''), ask('p', 't', 'NULL::text');

-- row versions: those of HOT updates, deleted ones, those of this transaction and of its subtransactions
UPDATE p_1 SET t = 'again' WHERE id = 7;
UPDATE p_1 SET t = 'and again' WHERE id = 7;
SELECT ask('p', 'a', '1007'), ask('p', 't', '''again'''), ask('p', 't', '''and again''');
UPDATE p_2 SET id = 700 WHERE id = 7;
UPDATE p_2 SET id = 7 WHERE id = 700;
SELECT ask('p', 'a', '2007');
DELETE FROM p WHERE a = 1008;
SELECT ask('p', 'a', '1008');
BEGIN;
INSERT INTO p VALUES (2, 1, 7, 'mine');
SELECT ask('p', 'a', '7');
SAVEPOINT s;
UPDATE p SET a = 8 WHERE a = 7;
SELECT ask('p', 'a', '7'), ask('p', 'a', '8');
ROLLBACK TO s;
SELECT ask('p', 'a', '7'), ask('p', 'a', '8');
DECLARE before CURSOR FOR SELECT * FROM chunk_scan(NULL::p, 'a', 7);
DECLARE before_8 CURSOR FOR SELECT * FROM chunk_scan(NULL::p, 'a', 8);
UPDATE p SET a = 8 WHERE a = 7;
FETCH ALL FROM before;
FETCH ALL FROM before_8;
ROLLBACK;
SELECT ask('p', 'a', '7'), ask('p', 'a', '8');
-- a statement does not see what it writes itself
INSERT INTO p SELECT 3, 1, v, 'copy' FROM generate_series(7, 8) v WHERE NOT EXISTS (SELECT FROM chunk_scan(NULL::p, 'a', v));
SELECT ask('p', 'a', '7'), ask('p', 'a', '8');
DELETE FROM p WHERE t = 'copy';
-- pages that are all visible, and those that are so no more
VACUUM (FREEZE) p;
SELECT ask('p', 'a', '1007'), ask('p', 'a', '1008'), ask('p', 'a', '7');
DELETE FROM p WHERE a IN (1007, 2007);
SELECT ask('p', 'a', '1007'), ask('p', 'a', '2007'), ask('p', 'a', '3007');

-- a column that was added: the rows that were there have its value in the catalog only
ALTER TABLE p ADD COLUMN b int DEFAULT 5, ADD COLUMN c text DEFAULT 'added';
CREATE INDEX p_b ON p USING bf (b);
CREATE INDEX p_c ON p USING bf (c);
INSERT INTO p (k, id, a, b, c) VALUES (1, 1, 1, 6, NULL), (2, 2, 2, NULL, 'given');
SELECT count(*) FROM chunk_scan(NULL::p, 'b', 5);
SELECT count(*) FROM chunk_scan(NULL::p, 'c', 'added'::text);
SELECT ask('p', 'b', '6'), ask('p', 'c', '''given'''), ask('p', 'b', '7');
ALTER TABLE p DROP COLUMN c;

-- conditions of the query, and an index with more columns
CREATE INDEX p_several ON p USING bf (id, t, b);
SELECT id, t FROM chunk_scan(NULL::p, 't', 'text 1042'::text) WHERE id = 42;
SELECT id, t FROM chunk_scan(NULL::p, 't', 'text 1042'::text) WHERE id = 43;
-- a partial index
DROP INDEX p_a;
CREATE INDEX p_part ON p USING bf (a) WHERE a > 1000;
SELECT bf_desummarize_range('p_1_a_idx', 0);
SELECT ask('p', 'a', '1042'), ask('p', 'a', '1008');

-- 64 pages are few, 65 are more
CREATE TABLE many (k int, a int, pad text) PARTITION BY LIST (k);
CREATE TABLE many_1 PARTITION OF many FOR VALUES IN (1);
CREATE TABLE many_2 PARTITION OF many FOR VALUES IN (2);
ALTER TABLE many_1 ALTER pad SET STORAGE PLAIN;
ALTER TABLE many_2 ALTER pad SET STORAGE PLAIN;
CREATE INDEX ON many USING bf (a);
INSERT INTO many SELECT 1, i, repeat('x', 5000) FROM generate_series(1, 64) i;
INSERT INTO many SELECT 2, i, repeat('x', 5000) FROM generate_series(1, 65) i;
SELECT relname, pg_relation_size(oid) / 8192 AS pages FROM pg_class WHERE relname ~ '^many_.$' ORDER BY 1;
SELECT ask('many', 'a', '64') LIKE '(1,64,%', ask('many', 'a', '65') LIKE '(2,65,%';
-- the pages that were named may be gone: VACUUM cuts off the end of a table, and leaves the summaries of this end
VACUUM many;
SELECT ask('many', 'a', '65') LIKE '(2,65,%', ask('many', 'a', '0');
DELETE FROM many WHERE a > 1;
VACUUM many;
SELECT ask('many', 'a', '65'), ask('many', 'a', '1') LIKE '(1,1,%';

-- values of all kinds: out of line, compressed, packed, of every width
CREATE DOMAIN posint AS int CHECK (VALUE > 0);
CREATE TABLE kinds (k int, b bool, i2 int2, i4 int4, f4 float4, f8 float8, n numeric, c char(6), v varchar, u uuid, d date, ts timestamptz,
	by bytea, nm name, j jsonb, ar int[], r int4range, po posint, long text, inet inet) PARTITION BY LIST (k);
CREATE TABLE kinds_1 PARTITION OF kinds FOR VALUES IN (1);
CREATE TABLE kinds_2 PARTITION OF kinds FOR VALUES IN (2);
ALTER TABLE kinds_1 ALTER long SET STORAGE EXTERNAL;
DO $$
DECLARE
	col text;
BEGIN
	FOR col IN SELECT attname FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attnum > 1 LOOP
		EXECUTE format('CREATE INDEX ON kinds USING bf (%I %s)', col,
			CASE col WHEN 'j' THEN 'jsonb_eq_ops' WHEN 'ar' THEN 'array_eq_ops' END);
	END LOOP;
END
$$;
INSERT INTO kinds SELECT k, true, 1, 1, -0.0, 'NaN', 1.50, 'ab', 'ab', '00000000-0000-0000-0000-000000000001', '2026-01-01', '2026-01-01 00:00+00',
	'\x00ff', 'name', '{"a": 1}', '{1,NULL}', '[1,3)', 4, repeat('long', 20000), '10.0.0.1'
	FROM generate_series(1, 2) k;
INSERT INTO kinds (k) VALUES (1), (2);
SELECT col, value, ask('kinds', col, value) ~ '^\(1,' AS right
FROM (VALUES ('b', 'true'), ('i2', '1::int8'), ('i4', '1'), ('f4', '0::float8'), ('f8', '''NaN''::float4'), ('n', '1.5'),
	('c', '''ab   '''), ('v', '''ab'''), ('u', '''00000000-0000-0000-0000-000000000001'''), ('d', 'date ''2026-01-01'''),
	('ts', 'timestamptz ''2026-01-01 01:00+01'''), ('by', '''\x00ff'''), ('nm', '''name'''), ('j', '''{"a": 1.0}'''),
	('ar', '''{1,NULL}'''), ('r', '''[1,2]'''), ('po', '4'), ('long', 'repeat(''long'', 20000)'), ('inet', '''10.0.0.1''')) v (col, value);
SELECT col, value, ask('kinds', col, value) AS found
FROM (VALUES ('b', 'false'), ('i2', '2::int8'), ('i4', '2'), ('f4', '1::float8'), ('f8', '0::float4'), ('n', '1.51'), ('c', '''abc'''),
	('v', '''ab '''), ('u', '''00000000-0000-0000-0000-000000000002'''), ('d', 'date ''2026-01-02'''),
	('ts', 'timestamptz ''2026-01-01 01:00+00'''), ('by', '''\x00'''), ('nm', '''nam'''), ('j', '''{"a": 2}'''), ('ar', '''{1}'''),
	('r', '''[1,4)'''), ('po', '5'), ('long', 'repeat(''long'', 20001)'), ('inet', '''10.0.0.2''')) v (col, value);
SELECT count(*) FROM chunk_scan(NULL::kinds, 'long', repeat('long', 20000));

-- one table, and inheritance
SELECT ask('kinds_1', 'i4', '2');
CREATE TABLE parent (a int);
CREATE TABLE child_1 (extra int) INHERITS (parent);
CREATE INDEX ON parent USING bf (a);
CREATE INDEX ON child_1 USING bf (a);
INSERT INTO parent VALUES (1);
INSERT INTO child_1 VALUES (2, 0);
SELECT ask('parent', 'a', '1'), ask('parent', 'a', '2'), ask('parent', 'a', '3');

-- in a loop
SELECT v, n FROM generate_series(1041, 1043) v, LATERAL (SELECT count(*) AS n FROM chunk_scan(NULL::p, 't', ('text ' || v)::text)) s;

DROP SCHEMA chunk_scan_versions CASCADE;
