# Rights: what a role may do and learn by way of the extension, and whose code runs with whose rights.
#
# 1. Code of the caller never runs with another role's rights. A schema that is first in the search_path has functions
#    and operators with the names and argument types of most of those of pg_catalog. Each one tells when it runs with
#    another role's rights.
# 2. Code in an index belongs to the table's owner. Whoever summarizes, checks, vacuums or builds the index, this code
#    runs with the owner's rights, in a security-restricted operation, and leaves no setting behind.
# 3. Each function that takes a relation refuses a role without the right for it. A new function fails the test until it
#    is listed here.
# 4. Nothing answers for rows that row-level security or a security-barrier view hides, and EXPLAIN is the same whether
#    a hidden value exists or not.
# 5. The catalogue: no function is leakproof, none runs with its owner's rights. Only the three that are listed there
#    look names up in the caller's search_path. And roll-ups in sessions with a hostile search_path.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../tap/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('attack_rights');
# Only a superuser may LOAD the library.
$db->sql('ALTER DATABASE streambloom_tap_attack_rights SET session_preload_libraries = "streambloom"');
my $version = $db->sql("SELECT current_setting('server_version_num')::int / 10000");
$db->make_role("rights_$_", 'NOLOGIN NOSUPERUSER') foreach qw(owner none reader writer keeper mallory);

# Runs SQL as a role, in a session of its own, and returns what it wrote: answers, warnings, errors.
sub as_role
{
	my ($role, $sql) = @_;
	my $login = $role eq 'postgres' ? '' : "SET SESSION AUTHORIZATION rights_$role;\n";
	my ($code, $out, $err) = StreambloomTap::psql($db->name, "\\set ON_ERROR_STOP off\n$login$sql");
	return ($out, $err);
}

# Runs pieces of SQL as a role, one after another in one session, after SQL that prepares the session. Returns what each
# piece wrote, as as_role() does. If the connection is lost, the pieces after that have an error that says so.
sub as_role_each
{
	my ($role, $before, @pieces) = @_;
	my @wrote = as_role($role, "$before\n" . join '', map { "\\echo a-piece\n\\warn a-piece\n$_\n;\n" } @pieces);
	my ($out, $err) = map { [split /^a-piece(?:\n|\z)/m, $_, -1] } @wrote;
	return map { [($out->[$_] // '') =~ s/\n\z//r, $err->[$_] // 'server closed the connection'] } 1 .. @pieces;
}

# The SQLSTATE of the first error in what psql wrote; 00000 if there is none.
sub state_of
{
	my ($err) = @_;
	return $err =~ /ERROR:\s+([0-9A-Z]{5}):/ ? $1 : '00000';
}

# ------------------------------------------------------------------ the table of the owner, and a hostile schema

$db->sql(<<'SQL');
CREATE SCHEMA app AUTHORIZATION rights_owner;
CREATE SCHEMA eve AUTHORIZATION rights_mallory;
GRANT USAGE ON SCHEMA app, eve TO PUBLIC;

-- The owner's functions name what they call without its schema, as people do.
SET SESSION AUTHORIZATION rights_owner;
CREATE FUNCTION app.norm_sql(w text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower(w) || repeat(w, 0)';
CREATE FUNCTION app.norm_pl(w text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN upper(w) || length(w); END';
CREATE FUNCTION app.is_wanted(v int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN abs(v) >= 0 AND v + 1 > v; END';
CREATE TABLE app.words (v int, w text) PARTITION BY RANGE (v);
CREATE TABLE app.words_1 PARTITION OF app.words FOR VALUES FROM (0) TO (10000);
CREATE TABLE app.words_2 PARTITION OF app.words FOR VALUES FROM (10000) TO (100000);
CREATE INDEX words_bf ON app.words USING bf (app.norm_sql(w), app.norm_pl(w), v) WITH (pages_per_range = 1)
	WHERE app.is_wanted(v);
-- This index has no predicate, because under a hostile search_path a predicate would leave all rows out.
CREATE INDEX words_whole ON app.words USING bf (app.norm_pl(w)) WITH (pages_per_range = 1);
CREATE INDEX words_plain ON app.words USING bf (v, w) WITH (pages_per_range = 1);
INSERT INTO app.words SELECT p + i, 'word ' || p + i FROM generate_series(0, 10000, 10000) p, generate_series(0, 1999) i;
GRANT SELECT ON app.words, app.words_1, app.words_2 TO rights_reader;
GRANT INSERT ON app.words, app.words_1, app.words_2 TO rights_writer;
RESET SESSION AUTHORIZATION;
SQL
$db->sql('GRANT MAINTAIN ON app.words, app.words_1, app.words_2 TO rights_keeper') if $version >= 17;

# Copies of most functions and binary operators of pg_catalog: not of functions that return sets, are variadic, or have
# pseudo-types, and not of prefix operators. Each copy returns a wrong result, and warns if it runs with the rights of
# the owner or of a superuser.
my $twins = $db->sql(<<'SQL');
CREATE FUNCTION eve.tell(what text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	IF current_user NOT IN ('rights_mallory', 'rights_reader', 'rights_writer', 'rights_none', 'rights_keeper') THEN
		RAISE WARNING 'eve: % runs with the rights of %', what, current_user;
	END IF;
END $$;
GRANT CREATE ON SCHEMA eve TO rights_mallory;
SET check_function_bodies = off;
DO $$
DECLARE
	f record;
	made int := 0;
BEGIN
	FOR f IN
		SELECT p.oid, p.proname, p.proretset, format_type(p.prorettype, NULL) AS result, array_length(p.proargtypes, 1) AS arguments,
			(SELECT string_agg(format_type(a, NULL), ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY u(a, n)) AS types
		FROM pg_proc p
		WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset AND provariadic = 0
			AND (SELECT bool_and(t.typtype <> 'p' AND t.typname <> 'pg_node_tree') FROM pg_type t WHERE t.oid = ANY (p.proargtypes) OR t.oid = p.prorettype)
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION eve.%I(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS %L',
				f.proname, coalesce(f.types, ''), f.result, format('BEGIN PERFORM eve.tell(%L); RETURN NULL; END', f.oid::regprocedure));
			made := made + 1;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	FOR f IN
		SELECT o.oprname, l.oid::regtype AS left_type, r.oid::regtype AS right_type, p.proname
		FROM pg_operator o JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright JOIN pg_proc p ON p.oid = o.oprcode
		WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND l.typtype <> 'p' AND r.typtype <> 'p'
	LOOP
		BEGIN
			EXECUTE format('CREATE OPERATOR eve.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = eve.%I)', f.oprname, f.left_type, f.right_type, f.proname);
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END $$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA eve TO PUBLIC;
SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = 'eve'::regnamespace) || ' ' || (SELECT count(*) FROM pg_operator WHERE oprnamespace = 'eve'::regnamespace);
SQL
like($twins, qr/^[12]\d{3} [4-9]\d\d$/, 'most of what pg_catalog has can be hijacked') or diag($twins);

my $hostile = "SET search_path = eve, pg_catalog, public;\n";

# The trap works: it tells when a role that uses the hostile schema runs it with the rights of another role.
my (undef, $trapped) = as_role('owner', "$hostile SELECT app.norm_pl('x'::text);");
like($trapped, qr/eve: .* runs with the rights of rights_owner/, 'the hostile schema tells when it runs with the rights of the owner');

# -------------------------------------------------------------------- 1. code of the caller

my @calls = (
	['bf_index_check' => "SELECT bf_index_check('app.words_1_norm_sql_norm_pl_v_idx');"],
	['bf_index_stats' => "SELECT * FROM bf_index_stats('app.words_1_norm_sql_norm_pl_v_idx');"],
	['bf_of' => "SELECT bf_of('app.words_1_norm_sql_norm_pl_v_idx', 0, 1);"],
	['bf_of of plain columns' => "SELECT bf_of('app.words_1_v_w_idx', 0, 2);"],
	['bf_summarize_new_values' => "SELECT bf_summarize_new_values('app.words_1_norm_sql_norm_pl_v_idx');"],
	['bf_desummarize_range' => "SELECT bf_desummarize_range('app.words_1_norm_sql_norm_pl_v_idx', 0);"],
	['bf_summarize_range' => "SELECT bf_summarize_range('app.words_1_norm_sql_norm_pl_v_idx', 0);"],
	['bf_summarize' => "CALL bf_summarize('app.words');"],
	['chunk_scan' => "SELECT count(*) FROM chunk_scan(NULL::app.words, 'w', 'word 5'::text);"],
	['chunk_scan_any' => "SELECT count(*) FROM chunk_scan_any(NULL::app.words, 'w', ARRAY['word 5']);"],
	['chunk_scan_explain' => "SELECT count(*) FROM chunk_scan_explain(NULL::app.words, 'w', 'word 5'::text);"],
	['a query' => "SELECT count(*) FROM app.words WHERE app.norm_sql(w) = 'word 5' AND app.is_wanted(v);"],
	['EXPLAIN' => "EXPLAIN SELECT count(*) FROM app.words WHERE app.norm_pl(w) = 'WORD 56' AND app.is_wanted(v);"],
	['INSERT' => "INSERT INTO app.words SELECT i OPERATOR(pg_catalog.%) 10000, pg_catalog.repeat('x', 200) FROM pg_catalog.generate_series(1, 1000) i;"],
	['VACUUM' => 'VACUUM app.words;'],
	['ANALYZE' => 'ANALYZE app.words;'],
	['REINDEX' => 'REINDEX TABLE app.words_1;'],
);
foreach my $role (qw(none reader writer keeper))
{
	# Before PostgreSQL 17 there is no right MAINTAIN, so keeper would have no rights, like the role none.
	my @told;
	foreach my $call (@calls)
	{
		next if $role eq 'keeper' && $version < 17;
		my (undef, $err) = as_role($role, "$hostile$call->[1]");
		push @told, "$call->[0]: $1" if $err =~ /(eve: [^\n]*)/;
		push @told, "$call->[0]: lost" if $err =~ /server closed the connection|terminat/;
	}
	is(join("\n", @told), '', "$role: no code of the caller runs with another role's rights");
}

# The owner of the index or a superuser may have the hostile search_path by accident. The owner's expressions do not see
# it then either. (The server evaluates the expressions in an INSERT, a query and ANALYZE, as for every other index. So
# for the rows that were inserted above, the index has what the writer's own functions returned, until it is rebuilt.)
$db->sql('REINDEX TABLE app.words_1');
foreach my $role (qw(owner postgres))
{
	my @told;
	foreach my $call (grep { $_->[0] =~ /^(?:bf_(?:index_check|summarize.*|desummarize.*)|VACUUM|REINDEX)$/ } @calls)
	{
		my (undef, $err) = as_role($role, "$hostile$call->[1]");
		push @told, "$call->[0]: $1" if $err =~ /(eve: [^\n]*)/;
		push @told, "$call->[0]: " . state_of($err) if $err =~ /server closed the connection|terminat/ || state_of($err) ne '00000';
	}
	is(join("\n", @told), '', "$role: what keeps an index does not look into the search_path");
}

# ------------------------------------------------------------------- 2. code in the index

$db->sql(<<'SQL');
GRANT CREATE ON DATABASE :"DBNAME" TO rights_mallory;
SET SESSION AUTHORIZATION rights_mallory;
CREATE SCHEMA evil;
CREATE FUNCTION evil.attempt(what text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	EXECUTE what;
	RAISE WARNING 'evil: could do: %', what;
EXCEPTION WHEN OTHERS THEN
	NULL;
END $$;
CREATE FUNCTION evil.steal(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF pg_catalog.current_user() IS DISTINCT FROM 'rights_mallory' AND v IS NOT NULL THEN
		RAISE WARNING 'evil: runs with the rights of %', pg_catalog.current_user();
	END IF;
	IF v IN (1, 17) AND pg_catalog.session_user() <> 'rights_mallory' THEN
		PERFORM evil.attempt('RESET SESSION AUTHORIZATION'), evil.attempt('SET ROLE postgres'), evil.attempt('RESET ROLE'),
			evil.attempt('CREATE TEMP TABLE evil_temp (v int)'), evil.attempt('DECLARE evil_cursor CURSOR WITH HOLD FOR SELECT 1'),
			evil.attempt('PREPARE evil_statement AS SELECT 1'), evil.attempt('LISTEN evil'), evil.attempt('ALTER ROLE rights_mallory SUPERUSER');
		PERFORM pg_catalog.set_config('search_path', 'evil', false), pg_catalog.set_config('work_mem', '64kB', false);
	END IF;
	RETURN v;
END $$;
CREATE TABLE evil.t (v int, w text) WITH (autovacuum_enabled = off);
INSERT INTO evil.t SELECT i, 'w' || i FROM generate_series(1, 3000) i;
CREATE INDEX t_bf ON evil.t USING bf (evil.steal(v)) WITH (pages_per_range = 1);
RESET SESSION AUTHORIZATION;
SQL
sub evil_leaves_nothing
{
	my ($name, $sql) = @_;
	# the settings before and after, in the same session
	my $shown = "SELECT 'shown ' || current_user || ' ' || session_user || ' ' || current_setting('search_path') || ' ' || current_setting('work_mem') || "
		. "' ' || count(*) FROM pg_class WHERE relname = 'evil_temp';\n";
	my ($out, $err) = as_role('postgres', "SET search_path = public;\n$shown$sql\n$shown");
	my @shown = $out =~ /^(shown .*)$/mg;
	ok(@shown == 2 && $shown[0] eq $shown[1] && $err !~ /evil:/, $name) or diag("$out\n$err");
}
my $add = 'SET SESSION AUTHORIZATION rights_mallory; INSERT INTO evil.t SELECT i, repeat($$x$$, 100) FROM generate_series(1, 2000) i; RESET SESSION AUTHORIZATION;';
evil_leaves_nothing('a superuser checks a hostile index', "SELECT bf_index_check('evil.t_bf');");
evil_leaves_nothing('a superuser summarizes a hostile index', "$add SELECT bf_summarize_new_values('evil.t_bf');");
evil_leaves_nothing('a superuser summarizes one range', "SELECT bf_desummarize_range('evil.t_bf', 0); SELECT bf_summarize_range('evil.t_bf', 0);");
evil_leaves_nothing('a superuser summarizes a hostile table', "$add CALL bf_summarize('evil.t');");
evil_leaves_nothing('a superuser vacuums it', "$add VACUUM evil.t;");
evil_leaves_nothing('a superuser rebuilds its index', 'REINDEX INDEX evil.t_bf;');
evil_leaves_nothing('a superuser rebuilds it beside writers', 'REINDEX INDEX CONCURRENTLY evil.t_bf;') if $version >= 17;
evil_leaves_nothing('a superuser makes another', 'CREATE INDEX t_other ON evil.t USING bf (w) WHERE evil.steal(v) > 0; DROP INDEX evil.t_other;');
evil_leaves_nothing('a superuser asks bf_of', "SELECT bf_of('evil.t_bf', 0) IS NULL;");
$db->sql(<<'SQL');
SET SESSION AUTHORIZATION rights_mallory;
CREATE FUNCTION evil.fails(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM evil.steal(v);
	IF v = 2000 AND session_user <> 'rights_mallory' THEN
		PERFORM set_config('search_path', 'evil', false);
		RAISE EXCEPTION 'planned';
	END IF;
	RETURN v;
END $$;
CREATE INDEX t_fails ON evil.t USING bf (evil.fails(v)) WITH (pages_per_range = 1);
SQL
evil_leaves_nothing("its error in $_->[0] leaves nothing either", "DO \$\$ BEGIN $_->[1]; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'failed'; END \$\$;")
	foreach ['bf_index_check', "PERFORM bf_index_check('evil.t_fails')"],
	['bf_summarize_range', "PERFORM bf_desummarize_range('evil.t_fails', n), bf_summarize_range('evil.t_fails', n) FROM generate_series(0, 20) n"],
	['REINDEX', 'REINDEX INDEX evil.t_fails'];

# ------------------------------------------------------- 3. functions that take a relation

# The SQLSTATE that each of five roles gets. The index has no expressions. The roles, in this order: one without any
# right, the reader (SELECT), the writer (INSERT), the keeper (MAINTAIN, from PostgreSQL 17 on), the owner.
my $keeper = $version >= 17 ? '00000' : '42501';
my $index = "'app.words_2_v_w_idx'";
my %expected = (
	'bf_index_check(regclass)' => ["SELECT bf_index_check($index)", '42501', '42501', '42501', $keeper, '00000'],
	'bf_index_stats(regclass)' => ["SELECT * FROM bf_index_stats($index)", '42501', '00000', '42501', '42501', '00000'],
	# a role that may not look gets NULL, which divides by zero here, and no error of the function
	'bf_index_overview(regclass)' => ["SELECT 1 / ((bf_index_overview($index)).state IS NOT NULL)::int", '22012', '00000', '22012', '22012', '00000'],
	'bf_index_advise(regclass,text[],interval)' => ["SELECT * FROM bf_index_advise('app.words_2', (SELECT ARRAY[attname::text] FROM pg_attribute WHERE attrelid = 'app.words_2'::regclass AND attnum = 1))", '42501', '00000', '42501', '42501', '00000'],
	'bf_of(regclass,bigint,integer,integer)' => ["SELECT bf_of($index, 0, 1, 0)", '42501', '00000', '42501', '42501', '00000'],
	'bf_summarize_new_values(regclass)' => ["SELECT bf_summarize_new_values($index)", '42501', '42501', '42501', $keeper, '00000'],
	'bf_summarize_range(regclass,bigint,integer)' => ["SELECT bf_summarize_range($index, 0, 1)", '42501', '42501', '42501', $keeper, '00000'],
	'bf_desummarize_range(regclass,bigint,integer)' => ["SELECT bf_desummarize_range($index, 0, 1)", '42501', '42501', '42501', $keeper, '00000'],
	'bf_summarize(regclass)' => ["CALL bf_summarize('app.words')", '42501', '42501', '42501', $keeper, '00000'],
	# the types of columns, which everybody reads in the catalogue
	'_tbf_rollup_item_of(regclass,text)' => ["SELECT _tbf_rollup_item_of('app.words', 'page')", ('00000') x 5],
	'_tbf_rollup_unknown(regclass)' => ["SELECT _tbf_rollup_unknown('app.words')", ('00000') x 5],
	'_tbf_rollup_types(regclass,name[])' => ["SELECT _tbf_rollup_types('app.words', '{v}')", ('00000') x 5],
	'chunk_scan' => ["SELECT count(*) FROM chunk_scan(NULL::app.words, 'v', 5)", '42501', '00000', '42501', '42501', '00000'],
	'chunk_scan_any' => ["SELECT count(*) FROM chunk_scan_any(NULL::app.words, 'v', ARRAY[5])", '42501', '00000', '42501', '42501', '00000'],
	'chunk_scan_explain' => ["SELECT count(*) FROM chunk_scan_explain(NULL::app.words, 'v', 5)", '42501', '00000', '42501', '42501', '00000'],
);
# The roll-up of the owner, which the reader may read. Functions that only help other functions have the rights of
# their caller, too.
$db->sql(<<'SQL');
SET SESSION AUTHORIZATION rights_owner;
CREATE TABLE app.hits (at timestamptz, url text, site text);
INSERT INTO app.hits SELECT '2026-01-01 UTC'::timestamptz + i * interval '1 minute', 'page ' || i % 7, 'site ' || i % 2 FROM generate_series(1, 300) i;
SELECT tbf_rollup_create('app.heat', 'app.hits', 'url', 'at', group_by => '{site}');
CALL tbf_rollup_refresh('app.heat');
SELECT tbf_rollup_create('app.dropped', 'app.hits', 'url', 'at');
GRANT SELECT ON app.heat TO rights_reader;
GRANT INSERT, UPDATE, DELETE ON app.heat TO rights_writer;
SQL
$db->sql('GRANT MAINTAIN ON app.heat TO rights_keeper') if $version >= 17;
my ($path, $heat, $at, $span) = ("'public'", "'app.heat'", "timestamptz '2026-01-02 UTC'", "timestamptz '2026-01-01 UTC', timestamptz '2026-01-02 UTC'");
my @answers_who_reads = ('42501', '00000', '42501', '42501', '00000');
my @answers_the_owner = ('42501', '42501', '42501', '42501', '00000');
my %of_rollups = (
	(map { $_->[0] => ["SELECT count(*) FROM $_->[1]", @answers_who_reads] }
		['_tbf_rollup_definition(regclass,boolean,boolean,boolean)', "_tbf_rollup_definition($heat)"],
		['tbf_rollup_top(regclass,integer,timestampwithtimezone,text,jsonb,boolean)', "tbf_rollup_top($heat, 3, $at)"],
		['tbf_rollup_top_by_group(regclass,integer,timestampwithtimezone,text,boolean)', "tbf_rollup_top_by_group($heat, 3, $at)"],
		['tbf_rollup_top_between(regclass,timestampwithtimezone,timestampwithtimezone,integer,jsonb,boolean)', "tbf_rollup_top_between($heat, $span)"],
		['tbf_rollup_count(regclass,anycompatible,timestampwithtimezone,text,jsonb)', "tbf_rollup_count($heat, 'page 1', $at)"],
		['tbf_rollup_count_between(regclass,anycompatible,timestampwithtimezone,timestampwithtimezone,jsonb)', "tbf_rollup_count_between($heat, 'page 1', $span)"],
		['tbf_rollup_distinct(regclass,timestampwithtimezone,timestampwithtimezone,jsonb)', "tbf_rollup_distinct($heat)"],
		['tbf_rollup_filter(regclass,timestampwithtimezone,text,jsonb)', "tbf_rollup_filter($heat, $at)"],
		['tbf_rollup_filter_between(regclass,timestampwithtimezone,timestampwithtimezone,jsonb)', "tbf_rollup_filter_between($heat, $span)"],
		['tbf_rollup_risers(regclass,integer,timestampwithtimezone,interval,interval,doubleprecision,jsonb)', "tbf_rollup_risers($heat, 3, $at)"],
		['_tbf_rollup_pieces(regclass,timestampwithtimezone)', "_tbf_rollup_pieces($heat, $at)"],
		['_tbf_rollup_weights(text,regclass,timestampwithtimezone,text,timestampwithtimezone,timestampwithtimezone,jsonb)', "_tbf_rollup_weights($path, $heat, $at, NULL, NULL, NULL, '{}')"],
		['_tbf_rollup_hottest(text,regclass,integer,timestampwithtimezone,text,timestampwithtimezone,timestampwithtimezone,jsonb,boolean,boolean)',
			"_tbf_rollup_hottest($path, $heat, 3, $at, NULL, NULL, NULL, '{}', false, true)"],
		['_tbf_rollup_counted(text,regclass,text,timestampwithtimezone,text,timestampwithtimezone,timestampwithtimezone,jsonb)',
			"_tbf_rollup_counted($path, $heat, 'page 1', $at, NULL, NULL, NULL, '{}')"],
		['_tbf_rollup_merged(text,regclass,timestampwithtimezone,text,timestampwithtimezone,timestampwithtimezone,jsonb,boolean)',
			"_tbf_rollup_merged($path, $heat, $at, NULL, NULL, NULL, '{}', true)"],
		['_tbf_rollup_rising(text,regclass,integer,timestampwithtimezone,interval,interval,doubleprecision,jsonb)',
			"_tbf_rollup_rising($path, $heat, 3, $at, '1 day', '7 days', 1, '{}')"]),
	(map { $_->[0] => [$_->[1], @answers_the_owner] }
		['_tbf_rollup_no_row_security(regclass)', "SELECT _tbf_rollup_no_row_security('app.hits')"],
		['tbf_rollup_create(text,regclass,text,name,text,text,name[],text[],interval[],interval,integer,text,interval)', "SELECT tbf_rollup_create('app.' || current_user, 'app.hits', 'url', 'at')"],
		['_tbf_rollup_make(name,text,regclass,text,name,text,text,name[],text[],interval[],interval,integer,text,interval)',
			"SELECT _tbf_rollup_make('app', 'app.made_by_' || current_user, 'app.hits', 'url', 'at', NULL, NULL, '{}', '{hour}', '{NULL}', '2 hours', 10, 'UTC', NULL)"],
		['tbf_rollup_compare(regclass,timestampwithtimezone,timestampwithtimezone)', "SELECT count(*) FROM tbf_rollup_compare($heat)"],
		['tbf_rollup_drop(regclass)', "SELECT tbf_rollup_drop('app.dropped')"],
		['tbf_rollup_refresh(regclass,timestampwithtimezone,timestampwithtimezone)', "CALL tbf_rollup_refresh($heat)"],
		['_tbf_rollup_step(regclass,timestampwithtimezone,timestampwithtimezone,timestampwithtimezone)', "SELECT _tbf_rollup_step($heat, '-infinity', '-infinity', '-infinity')"],
		['_tbf_rollup_fold(regclass,text,boolean,integer,timestampwithtimezone,timestampwithtimezone)', "SELECT _tbf_rollup_fold($heat, 'false', true)"],
		['_tbf_rollup_hit(regclass,timestampwithtimezone,timestampwithtimezone,boolean)', "SELECT _tbf_rollup_hit($heat, $span, true)"],
		['_tbf_rollup_range(regclass,timestampwithtimezone,timestampwithtimezone,integer,boolean)', "SELECT _tbf_rollup_range($heat, $span, 1, true)"],
		['_tbf_rollup_query(regclass,timestampwithtimezone,timestampwithtimezone,timestampwithtimezone)', "SELECT _tbf_rollup_query($heat, '-infinity', '-infinity', '-infinity')"],
		['_tbf_rollup_work(regclass,timestampwithtimezone,timestampwithtimezone,timestampwithtimezone,timestampwithtimezone,integer)',
			"SELECT * FROM _tbf_rollup_work($heat, NULL, NULL, NULL, NULL, NULL)"]),
);
@expected{keys %of_rollups} = values %of_rollups;
my @takes_relations = split /\n/, $db->sql(<<'SQL');
SELECT DISTINCT CASE WHEN 'regclass'::regtype = ANY (p.proargtypes) AND p.proname !~ '^chunk_scan' THEN replace(p.oid::regprocedure::text, ' ', '') ELSE p.proname::text END
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'streambloom'
WHERE 'regclass'::regtype = ANY (p.proargtypes) OR p.proname ~ '^chunk_' AND p.proname <> 'chunk_scan_support' OR 'oid'::regtype = ANY (p.proargtypes)
ORDER BY 1;
SQL
is(join(' ', @takes_relations), join(' ', sort keys %expected), 'every function that takes a relation is listed in this test');
my @functions = sort keys %expected;
my @of_roles = map { [map { state_of($_->[1]) } as_role_each($_, '', map { $expected{$_}[0] } @functions)] } qw(none reader writer keeper owner);
foreach my $n (0 .. $#functions)
{
	my (undef, @states) = @{$expected{$functions[$n]}};
	is(join(' ', map { $_->[$n] } @of_roles), "@states", "$functions[$n]: none, SELECT, INSERT, MAINTAIN, owner");
}

# A role without the right takes no lock that would disturb others: it is refused even while another session holds the
# strongest lock.
{
	my $holder = PsqlSession->new($db->name);
	$holder->sql('BEGIN; LOCK TABLE app.words_2 IN ACCESS EXCLUSIVE MODE');
	my @refused = grep { /^bf_(index_check|summarize_|desummarize_)/ } @functions;
	my @answers = as_role_each('reader', "SET lock_timeout = '2s';", map { $expected{$_}[0] } @refused);
	my @waited = @refused[grep { state_of($answers[$_][1]) ne '42501' } 0 .. $#refused];
	is("@waited", '', 'who has no right to change an index is refused before any lock is waited for');
	$holder->close;
}

# ------------------------------------------------------------- 4. hidden rows stay hidden

# Each column has values made of the numbers 0 to 299, in all partitions. Another value, made of -4711, is in one row,
# which the policy hides.
my %types = (
	int => ['int', 'i', 1], bigint => ['bigint', 'i', 1], text => ['text', "'t' || i", 1], uuid => ['uuid', 'md5(i::text)::uuid', 1],
	numeric => ['numeric', 'i + 0.5', 0], jsonb => ['jsonb', "jsonb_build_object('k', i)", 0], array => ['int[]', 'ARRAY[i, i]', 0],
	bool => ['boolean', 'i < 0', 1],
);
my @names = sort keys %types;
$db->sql("CREATE TABLE app.secret (part int, visible boolean NOT NULL, " . join(', ', map { "c_$_ $types{$_}[0]" } @names) . ", pad text) PARTITION BY LIST (part);\n"
	. join('', map { "CREATE TABLE app.secret_$_ PARTITION OF app.secret FOR VALUES IN ($_);\n" } 1 .. 3)
	. "INSERT INTO app.secret SELECT p, true, " . join(', ', map { $types{$_}[1] } @names) . ", repeat('x', 300) FROM generate_series(1, 3) p, generate_series(0, 299) i;\n"
	. "INSERT INTO app.secret SELECT 3, false, " . join(', ', map { $types{$_}[1] } @names) . ", '' FROM (SELECT -4711 AS i) hidden;\n"
	. join('', map { "CREATE INDEX ON app.secret USING bf (c_$_) WITH (pages_per_range = 1);\n" } @names)
	. 'ANALYZE app.secret; GRANT SELECT ON app.secret, app.secret_3 TO rights_reader; ALTER TABLE app.secret ENABLE ROW LEVEL SECURITY; ALTER TABLE app.secret_3 ENABLE ROW LEVEL SECURITY;'
	. 'CREATE POLICY seen ON app.secret USING (visible); CREATE POLICY seen ON app.secret_3 USING (visible);'
	. 'CREATE VIEW app.open_secret WITH (security_barrier) AS SELECT * FROM app.secret WHERE visible; GRANT SELECT ON app.open_secret TO rights_reader;'
	. 'CREATE TABLE app.secret_copy (LIKE app.secret) PARTITION BY LIST (part);'
	. join('', map { "CREATE TABLE app.secret_copy_$_ PARTITION OF app.secret_copy FOR VALUES IN ($_);\n" } 1 .. 3)
	. 'INSERT INTO app.secret_copy SELECT * FROM app.secret;'
	. join('', map { "CREATE INDEX ON app.secret_copy USING bf (c_$_) WITH (pages_per_range = 1);\n" } @names)
	. 'ANALYZE app.secret_copy; CREATE VIEW app.barrier WITH (security_barrier) AS SELECT * FROM app.secret_copy WHERE visible; GRANT SELECT ON app.barrier TO rights_reader;');

my $secret_index = $db->sql("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'app.secret_3'::regclass ORDER BY 1 LIMIT 1");
my @refused = ("bf_of('$secret_index')", "bf_of('$secret_index', 0)", "bf_index_stats('$secret_index')", "chunk_scan(NULL::app.secret, 'c_int', 5)",
	"chunk_scan_any(NULL::app.secret, 'c_int', ARRAY[5])", "chunk_scan_explain(NULL::app.secret, 'c_int', 5)", "chunk_scan(NULL::app.secret_3, 'c_int', 5)", "bf_index_advise('app.secret')", "bf_index_advise('app.secret_3', '{c_int}')");
my @answers = as_role_each('reader', '', map { "SELECT * FROM $_" } @refused);
is(state_of($answers[$_][1]), '0A000', "row-level security: $refused[$_] refuses") foreach 0 .. $#refused;
is((as_role('reader', "SELECT count(*) FROM bf_indexes WHERE relation IN (SELECT oid FROM pg_class WHERE relname ~ '^secret(_[0-9])?\$');"))[0], 0,
	'row-level security: bf_indexes shows no row');
$db->sql('GRANT rights_owner TO CURRENT_USER; ALTER TABLE app.secret OWNER TO rights_owner; ALTER TABLE app.secret_3 OWNER TO rights_owner');
is(state_of((as_role('owner', "SELECT bf_index_check('$secret_index');"))[1]), '00000', 'the owner, for whom the policies do not count, may check');
$db->sql('ALTER TABLE app.secret_3 FORCE ROW LEVEL SECURITY');
is(state_of((as_role('owner', "SELECT bf_index_check('$secret_index');"))[1]), '0A000', 'the owner under forced row-level security may not');
$db->sql('ALTER TABLE app.secret_3 NO FORCE ROW LEVEL SECURITY');

# The text of each value, and that of the value which no row has.
my $absent = -815;
my %literal;
foreach my $value (-4711, $absent)
{
	my @literals = split /\n/, $db->sql(join '', map { "SELECT quote_literal((" . ($types{$_}[1] =~ s/\bi\b/($value)/gr) . ")::$types{$_}[0]::text);\n" } @names);
	@{$literal{$value}}{@names} = @literals;
}

# EXPLAIN of queries for values of columns of a relation, all in one session, with the value replaced by VALUE. A case
# is [options of EXPLAIN, name of the column, value, setting].
sub explained
{
	my ($relation, @cases) = @_;
	my @pieces = map {
		my ($how, $name, $value, $setting) = @$_;
		my ($type, $literal) = ($types{$name}[0], $literal{$value}{$name});
		"RESET plan_cache_mode; RESET enable_seqscan; DEALLOCATE ALL; $setting\nPREPARE q($type) AS SELECT * FROM $relation WHERE c_$name = \$1;\n"
			. "EXPLAIN ($how) SELECT * FROM $relation WHERE c_$name = ${literal}::$type;\nEXPLAIN ($how) EXECUTE q($literal);\n"
			. "EXPLAIN ($how) SELECT * FROM $relation WHERE c_$name IN (${literal}::$type, ${literal}::$type);\n"
			. "EXPLAIN ($how) SELECT count(*) FROM $relation a WHERE c_$name = (SELECT ${literal}::$type OFFSET 0)"
	} @cases;
	my @answers = as_role_each('reader', 'SET jit = off; SET streambloom.enable_partition_scan = off;', @pieces);
	my @explained;
	foreach my $n (0 .. $#cases)
	{
		my ($how, $name, $value) = @{$cases[$n]};
		my ($out, $err) = @{$answers[$n]};
		fail("EXPLAIN of $relation.c_$name") || diag($err) if $err =~ /ERROR|server closed/;
		my $literal = $literal{$value}{$name};
		$out =~ s/\Q$literal\E/VALUE/g;
		(my $bare = $literal) =~ s/^'|'$//g;
		$out =~ s/\Q$bare\E/VALUE/g;
		$out =~ s/\Q$value\E/VALUE/g;	# also within arrays and documents, where quotes differ
		push @explained, $out;
	}
	return @explained;
}
foreach my $relation (qw(app.secret app.barrier))
{
	my (@cases, @differ);
	my $seen_skip = 0;
	foreach my $name (grep { $_ ne 'bool' } @names)
	{
		foreach my $setting ('', "SET plan_cache_mode = force_generic_plan;", "SET enable_seqscan = off;")
		{
			push @cases, map { [$_, $name, $setting] } 'COSTS OFF', $types{$name}[2] ? () : 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF';
		}
	}
	my @explained = explained($relation, map { my ($how, $name, $setting) = @$_; map { [$how, $name, $_, $setting] } -4711, $absent } @cases);
	foreach my $case (@cases)
	{
		my ($how, $name, $setting) = @$case;
		my ($hidden, $none) = splice @explained, 0, 2;
		if ($how =~ /^ANALYZE/)
		{
			# the server's own nodes tell how many rows a filter removed; the extension cannot help that
			s/^.*Rows Removed by.*\n//mg, s/^\s*Buffers:.*\n//mg foreach $hidden, $none;
		}
		elsif ($hidden =~ /Skip/)
		{
			$seen_skip++;
		}
		push @differ, "EXPLAIN ($how) of $name ($setting):\n$hidden\nbeside:\n$none" if $hidden ne $none || $hidden !~ /Scan/;
	}
	is(join("\n", @differ[0 .. ($#differ > 1 ? 1 : $#differ)]), '', "$relation: EXPLAIN does not tell whether a hidden value exists");
	# The node Skip, which leaves partitions unread, must have been in some of these plans, or they prove nothing.
	# If = is leakproof, PostgreSQL uses an index before it applies the policy, so hidden rows could decide which
	# partitions are skipped.
	cmp_ok($seen_skip, '>=', 4, "$relation: and Skip was in plans that were compared");
}
# Without hidden rows EXPLAIN ANALYZE does differ: the test can see what it looks for. (A plain EXPLAIN asks no index.)
$db->sql('GRANT SELECT ON app.secret_copy TO rights_reader');
my ($hidden, $none) = explained('app.secret_copy', map { ['ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF', 'int', $_, ''] } -4711, $absent);
isnt($hidden, $none, 'without row-level security EXPLAIN ANALYZE does tell');
foreach my $value (-4711, $absent, 17)
{
	my @rows = map { $_->[0] } as_role_each('reader', '', map { "SELECT count(*) FROM $_ WHERE c_numeric = $value + 0.5" } qw(app.secret app.barrier));
	is("@rows", $value == 17 ? '3 3' : '0 0', "rows with the value $value under a policy and through a barrier");
}

# ------------------------------------------------------------------ 5. the catalogue

my $members = "pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'streambloom' JOIN pg_language l ON l.oid = p.prolang";
cmp_ok($db->sql("SELECT count(*) FROM $members"), '>', 150, 'the catalogue has the functions of the extension');
is($db->sql("SELECT string_agg(p.oid::regprocedure::text, ' ') FROM $members WHERE p.proleakproof"), '', 'none is leakproof: each can raise an error that shows its argument');
is($db->sql("SELECT string_agg(p.oid::regprocedure::text, ' ') FROM $members WHERE p.prosecdef"), '', 'none runs with the rights of its owner');

# Functions in a language that looks names up when it runs must look them up in pg_catalog, or have bodies in which the
# names are already resolved. The three exceptions (@by_hand) are called below with a hostile search_path.
my $open = "l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}'))";
my @looks_up = sort split /\n/, $db->sql("SELECT replace(p.oid::regprocedure::text, ' ', '') FROM $members WHERE $open");
my @by_hand = sort 'tbf_rollup_count(regclass,anycompatible,timestampwithtimezone,text,jsonb)', 'tbf_rollup_count_between(regclass,anycompatible,timestampwithtimezone,timestampwithtimezone,jsonb)',
	'tbf_rollup_refresh(regclass,timestampwithtimezone,timestampwithtimezone)';
is("@looks_up", "@by_hand", 'but for those that are tried below, no function looks names up in the search_path of its caller');

# What distributors look for in install scripts (pgspot): nothing is replaced or passed over that somebody else has
# made before, and dynamic SQL is put together by format(), or is a variable that was. sql/rollup_refused.sql has
# names with quotes in them.
my ($folder) = $db->sql("SELECT setting || '/extension/streambloom--' || (SELECT extversion FROM pg_extension WHERE extname = 'streambloom') || '.sql' FROM pg_config WHERE name = 'SHAREDIR'");
my $script = StreambloomTap::read_file($folder);
is(join(' ', $script =~ /^CREATE OR REPLACE.*|^CREATE \w+ IF NOT EXISTS.*/mg), '', 'the install script replaces nothing');
my $dynamic = $db->sql("SELECT string_agg(p.prosrc, E'\\n') FROM $members WHERE l.lanname = 'plpgsql'");
my %known = map { $_ => 1 } qw(ask asked before bucket_end bucket_start fold write);
my @executed = $dynamic =~ /\bEXECUTE\s+((?:\w+\.)?\w+\(?|\S+)/g;
cmp_ok(scalar(@executed), '>', 50, 'functions run dynamic SQL');
is(join(' ', grep { !/^(?:pg_catalog\.)?format\($/ && !$known{$_} && $_ ne '$jobs$SELECT' } @executed), '', 'all of it comes from format()');
is(join(' ', grep { $dynamic !~ /\b$_ (?:CONSTANT text )?:= format\(|\bSELECT (?:replace\()?format\([^;]*\bINTO $_\b/ } sort keys %known), '', 'as do the variables');

# First in the search_path is a schema whose functions and operators say so whenever they run, whoever calls them.
# Relations of the session hide those of pg_catalog.
$db->sql(<<'SQL');
CREATE OR REPLACE FUNCTION eve.tell(what text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
	RAISE WARNING 'eve: % runs', what;
END $$;
GRANT CREATE ON SCHEMA eve TO PUBLIC;
SQL
my $hiding = 'SET client_min_messages = error; ' . join('', map { "CREATE TEMP TABLE $_ (oid oid); " } qw(pg_class pg_extension pg_namespace pg_attribute pg_type pg_roles pg_proc)) . "RESET client_min_messages;\n";
(undef, $trapped) = as_role('owner', "${hostile}SELECT lower('X'::text);");
like($trapped, qr/eve: .* runs/, 'the hostile schema tells when anything of it runs');
foreach my $path ('eve, pg_catalog, public', 'pg_temp, eve, pg_catalog, public')
{
	my @told;
	my @called = grep { !/_(?:create|make|drop)\(/ } sort keys %of_rollups;
	my @answers = as_role_each('owner', "${hiding}SET search_path = $path;", map { $of_rollups{$_}[0] =~ s/count\(\*\)/*/r =~ s/current_user/pg_catalog.current_user()/r } @called);
	foreach my $n (0 .. $#called)
	{
		my $err = $answers[$n][1];
		push @told, "$called[$n]: $1" if $err =~ /(eve: [^\n]*)/;
		push @told, "$called[$n]: $1" if $err =~ /(ERROR: [^\n]*|server closed the connection)/;
	}
	my ($out, $err) = as_role('owner', "${hiding}SET search_path = $path;\nSELECT public.tbf_rollup_create('app.other', 'app.hits', 'url', 'at'); CALL public.tbf_rollup_refresh('app.other'); SELECT public.tbf_rollup_drop('app.other');");
	push @told, "create, refresh, drop: $err" if $err =~ /eve: |ERROR: /;
	is(join("\n", @told), '', "roll-ups do not look into the search_path $path");
}

# The expressions of a roll-up are code of its owner. Nobody else runs them, not even a superuser.
$db->sql(<<'SQL');
SET SESSION AUTHORIZATION rights_mallory;
CREATE TABLE evil.hits (at timestamptz, v int);
INSERT INTO evil.hits VALUES ('2026-01-01 UTC', 1);
SELECT tbf_rollup_create('evil.heat', 'evil.hits', 'evil.steal(v)', 'at');
SQL
foreach my $sql ("CALL tbf_rollup_refresh('evil.heat')", "SELECT _tbf_rollup_step('evil.heat', '-infinity', 'infinity', 'infinity')", "SELECT * FROM _tbf_rollup_work('evil.heat', NULL, NULL, NULL, NULL, NULL)",
	"SELECT * FROM tbf_rollup_top('evil.heat')", "SELECT * FROM tbf_rollup_distinct('evil.heat')", 'SELECT * FROM tbf_rollups', "SELECT * FROM _tbf_rollup_definition('evil.heat')")
{
	evil_leaves_nothing("a superuser: $sql", "$sql;");
}
$db->sql("SET SESSION AUTHORIZATION rights_mallory; CALL tbf_rollup_refresh('evil.heat')");
is($db->sql("SELECT item || ' ' || hits_from FROM tbf_rollup_top('evil.heat', 1, '2026-01-01 UTC', '1')"), '1 1', 'its owner runs them');

done_testing();
