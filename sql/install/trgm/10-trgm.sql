-- streambloom_trgm: the operator class trgm_ops, with which a bf index finds substrings and regular expressions
-- (docs/searching.md). It takes pg_trgm's functions for GIN as they are, with the numbers of pg_trgm's gin_trgm_ops.
--
-- The operators for similarity are left out: they ask for a share of the trigrams, which nearly every range of pages has.
--
-- Before PostgreSQL 16 a script cannot name the schema of another extension (@extschema:name@). So this block finds out in
-- which schemas the functions of the two extensions are. It names everything with its schema, since users may have put
-- objects of their own into the schema in which the class is made.

DO $install$
DECLARE
	home CONSTANT pg_catalog.text := pg_catalog.current_schema();
	bloom pg_catalog.text;
	trgm pg_catalog.text;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

	SELECT max(n.nspname::text) FILTER (WHERE e.extname = 'streambloom' AND p.proname = 'bf_many_key_class_options'),
		max(n.nspname::text) FILTER (WHERE e.extname = 'pg_trgm' AND p.proname = 'gin_trgm_triconsistent')
	INTO bloom, trgm
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid;
	IF bloom IS NULL OR trgm IS NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
			MESSAGE = format('the extension %s is too old for streambloom_trgm', CASE WHEN bloom IS NULL THEN 'streambloom' ELSE 'pg_trgm' END),
			HINT = format('Use ALTER EXTENSION %s UPDATE first.', CASE WHEN bloom IS NULL THEN 'streambloom' ELSE 'pg_trgm' END);
	END IF;

	EXECUTE format($class$
		CREATE OPERATOR CLASS %1$I.trgm_ops FOR TYPE text USING bf AS
			OPERATOR 3 pg_catalog.~~ (text, text),
			OPERATOR 4 pg_catalog.~~* (text, text),
			OPERATOR 5 pg_catalog.~ (text, text),
			OPERATOR 6 pg_catalog.~* (text, text),
			OPERATOR 11 pg_catalog.= (text, text),
			FUNCTION 2 %2$I.gin_extract_value_trgm (text, internal),
			FUNCTION 3 %2$I.gin_extract_query_trgm (text, internal, int2, internal, internal, internal, internal),
			FUNCTION 4 %2$I.gin_trgm_consistent (internal, int2, text, int4, internal, internal, internal, internal),
			FUNCTION 6 %2$I.gin_trgm_triconsistent (internal, int2, text, int4, internal, internal, internal),
			FUNCTION 7 (text) %3$I.bf_many_key_class_options (internal),
			STORAGE int4
		$class$, home, trgm, bloom);
	EXECUTE format('COMMENT ON OPERATOR CLASS %I.trgm_ops USING bf IS %L', home, 'bf indexes on the trigrams of text: LIKE, ILIKE, ~, ~* and =');
	EXECUTE format('COMMENT ON OPERATOR FAMILY %I.trgm_ops USING bf IS %L', home, 'bf indexes on the trigrams of text: LIKE, ILIKE, ~, ~* and =');
END
$install$;
