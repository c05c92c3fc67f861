-- trgm: the extension streambloom_trgm: what it has, what it needs, where it may be
SET client_min_messages = warning;
CREATE EXTENSION streambloom_trgm;	-- not without pg_trgm
CREATE EXTENSION streambloom_trgm CASCADE;
SELECT extversion = (SELECT extversion FROM pg_extension WHERE extname = 'streambloom') AS same_version, extrelocatable FROM pg_extension WHERE extname = 'streambloom_trgm';
SELECT pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
WHERE e.extname = 'streambloom_trgm' AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' ORDER BY 1;
-- The numbers are those of pg_trgm's own class. It has no operators for similarity, and an options function of its own.
SELECT coalesce(b.amopstrategy, g.amopstrategy) AS strategy, coalesce(b.amopopr, g.amopopr)::regoperator AS operator, b.amopopr IS NOT NULL AS trgm_ops
FROM (SELECT o.* FROM pg_amop o JOIN pg_opfamily f ON f.oid = amopfamily WHERE opfname = 'trgm_ops') b
	FULL JOIN (SELECT o.* FROM pg_amop o JOIN pg_opfamily f ON f.oid = amopfamily WHERE opfname = 'gin_trgm_ops') g USING (amopstrategy, amopopr) ORDER BY 1;
SELECT amprocnum, b.amproc::regproc, g.amproc::regproc IS NOT NULL AS in_gin
FROM (SELECT p.* FROM pg_amproc p JOIN pg_opfamily f ON f.oid = amprocfamily WHERE opfname = 'trgm_ops') b
	LEFT JOIN (SELECT p.* FROM pg_amproc p JOIN pg_opfamily f ON f.oid = amprocfamily WHERE opfname = 'gin_trgm_ops') g USING (amprocnum, amproc) ORDER BY 1;
SELECT opcname, opcintype::regtype, opckeytype::regtype, opcdefault, amvalidate(c.oid) FROM pg_opclass c WHERE opcname = 'trgm_ops';

-- the default class of text stays text_ops; options of the class
CREATE TABLE lines (line text);
INSERT INTO lines SELECT 'line ' || i FROM generate_series(1, 1000) i;
CREATE INDEX lines_plain ON lines USING bf (line);
CREATE INDEX lines_trgm ON lines USING bf (line trgm_ops);
CREATE INDEX lines_rate ON lines USING bf (line trgm_ops (false_positive_rate = 0.01));
SELECT i, "column", false_positive_rate FROM unnest(ARRAY['lines_plain', 'lines_trgm', 'lines_rate']) i, bf_index_stats(i::regclass) WHERE level = 0 ORDER BY 1;
SELECT sqlstate_of('CREATE INDEX ON lines USING bf (line trgm_ops (false_positive_rate = 2))'), sqlstate_of('CREATE INDEX ON lines USING bf (line trgm_ops (siglen = 2))');

-- what depends on it
SELECT error_of('DROP EXTENSION streambloom_trgm'), sqlstate_of('DROP EXTENSION pg_trgm'), sqlstate_of('DROP EXTENSION streambloom');
DROP EXTENSION streambloom_trgm CASCADE;
SELECT relname FROM pg_class WHERE relname LIKE 'lines\_%' ORDER BY 1;
SELECT count(*) FROM pg_opfamily WHERE opfname = 'trgm_ops';
DROP EXTENSION pg_trgm;

-- Each extension in a schema of its own, with objects in between whose names the script uses; then moved.
CREATE SCHEMA "Tri Grams";
CREATE SCHEMA home;
CREATE SCHEMA later;
CREATE FUNCTION home.caught(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;
CREATE OPERATOR home.= (LEFTARG = text, RIGHTARG = text, FUNCTION = home.caught);
CREATE OPERATOR home.~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = home.caught);
CREATE FUNCTION home.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;
CREATE FUNCTION home.gin_trgm_triconsistent(internal, int2, text, int4, internal, internal, internal) RETURNS "char" LANGUAGE internal AS 'gin_tsquery_triconsistent';
CREATE FUNCTION home.bf_many_key_class_options(internal) RETURNS void LANGUAGE internal AS 'gtsvector_options';
CREATE DOMAIN home.text AS int;
CREATE EXTENSION pg_trgm SCHEMA "Tri Grams";
SET search_path = home, pg_catalog;
CREATE EXTENSION streambloom_trgm SCHEMA home;
RESET search_path;
SELECT amproc::regproc FROM pg_amproc p JOIN pg_opfamily f ON f.oid = amprocfamily WHERE opfname = 'trgm_ops' ORDER BY amprocnum;
SELECT DISTINCT n.nspname FROM pg_amop o JOIN pg_opfamily f ON f.oid = amopfamily JOIN pg_operator p ON p.oid = amopopr JOIN pg_namespace n ON n.oid = oprnamespace WHERE opfname = 'trgm_ops';
CREATE INDEX lines_trgm ON lines USING bf (line home.trgm_ops);
ALTER EXTENSION pg_trgm SET SCHEMA later;
ALTER EXTENSION streambloom_trgm SET SCHEMA later;
SELECT pg_get_indexdef('lines_trgm'::regclass);
SELECT answers('SELECT * FROM lines WHERE line LIKE ''%ine 77%''');
-- The advisor says so too, with the schema that the class is in now. It has a figure for a GIN index of the trigrams.
INSERT INTO lines SELECT 'line ' || md5(i::text) FROM generate_series(1, 20000) i;
CREATE INDEX lines_gin ON lines USING gin (line later.gin_trgm_ops);
DROP INDEX lines_plain;
SELECT gin_bytes / pg_relation_size('lines_gin') BETWEEN 0.75 AND 1.25 AS gin, advice, statement FROM bf_index_advise('lines');
DROP TABLE lines;
DROP EXTENSION streambloom_trgm;
DROP EXTENSION pg_trgm;
SET client_min_messages = error;
DROP SCHEMA home, later, "Tri Grams" CASCADE;
