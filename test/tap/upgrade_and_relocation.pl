# The extension is installed in another schema, moved, dropped, created by a user who is no superuser, and used with an
# empty search_path. An upgrade leads to the same objects as a fresh installation, and the comparison of these objects
# notices what an upgrade script forgets. The objects have comments.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use ExtensionObjects;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $catalogue;

sub objects
{
	my ($db) = @_;
	return [sort split /\n/, $db->sql($catalogue)];
}

# One test: the extension's objects are the same as in a fresh installation in public.
my $fresh;

sub same_objects
{
	my ($db, $name) = @_;
	my %left = map { $_ => 1 } @$fresh;
	my @other = grep { !delete $left{$_} } @{objects($db)};
	ok(!@other && !%left, $name) or diag(join("\n", 'there should be:', sort(keys %left), 'there is:', @other));
}

# Statements that use the operators, the casts and many functions of bf and tbf. All names carry their schema, operators
# too: OPERATOR().
sub uses
{
	my ($s) = @_;
	return (
		['@>', "$s.bf_agg(i) OPERATOR($s.@>) 42", 't'],
		['@> an untyped literal', "$s.bf_agg('item ' || i) OPERATOR($s.@>) 'item 42'", 't'],
		['<@', "42 OPERATOR($s.<@) $s.bf_agg(i)", 't'],
		['||', "($s.bf_agg(i) OPERATOR($s.||) 1000) OPERATOR($s.@>) 1000", 't'],
		['|| a text', "($s.bf_agg(i::text) OPERATOR($s.||) 'x'::text) OPERATOR($s.@>) 'x'", 't'],
		['|', "($s.bf_agg(i) OPERATOR($s.|) $s.bf_agg(-i)) OPERATOR($s.@>) -42", 't'],
		['&', "($s.bf_agg(i) OPERATOR($s.&) $s.bf_agg(i)) OPERATOR($s.=) $s.bf_agg(i)", 't'],
		['<>', "$s.bf_agg(i) OPERATOR($s.<>) $s.bf_agg(-i)", 't'],
		['casts', "$s.bf_agg(i)::bytea::$s.bf::text::$s.bf OPERATOR($s.=) $s.bf_agg(i)", 't'],
		['defaults and named arguments', "($s.bf_info($s.bf_empty(fpr => 0.5))).expected_items", '10000'],
		['bf_info', "($s.bf_info($s.bf_agg(i))).item_kind", 'integer'],
		['bf_union_agg', "(SELECT $s.bf_union_agg(f) OPERATOR($s.@>) 2 FROM (VALUES ($s.bf_add($s.bf_empty(), 1)), ($s.bf_add($s.bf_empty(), 2))) v(f))", 't'],
		['tbf_count', "$s.tbf_count($s.tbf_agg(i, '2024-05-01 UTC'::timestamptz), 42, '2024-05-01 UTC') OPERATOR(pg_catalog.<) 1.1", 't'],
		['->', "($s.tbf_agg(i, pg_catalog.now()) OPERATOR($s.->) 42) OPERATOR(pg_catalog.>=) 1", 't'],
		['tbf @>', "$s.tbf_agg(i, pg_catalog.now()) OPERATOR($s.@>) 42", 't'],
		['+', "$s.tbf_count($s.tbf_agg(i, pg_catalog.now()) OPERATOR($s.+) $s.tbf_agg(i, pg_catalog.now()), 42) OPERATOR(pg_catalog.>=) 2", 't'],
		['tbf_merge_agg', "(SELECT $s.tbf_merge_agg(f) IS NULL FROM (VALUES ($s.tbf_empty())) v(f))", 'f'],
		['tbf_add', "$s.tbf_count($s.tbf_add($s.tbf_empty(), 1), 1) OPERATOR(pg_catalog.>=) 1", 't'],
		['tbf_decay', "$s.tbf_count($s.tbf_decay($s.tbf_agg(i, pg_catalog.now())), 42) OPERATOR(pg_catalog.>) 0.9", 't'],
		['bloom_optimal_bits', "$s.bloom_optimal_bits(1000, 0.01)::int", '9585'],
	);
}

sub everything_works
{
	my ($db, $schema, $settings, $how) = @_;
	foreach (uses($schema))
	{
		my ($name, $expression, $expected) = @$_;
		my ($code, $out, $err) = $db->try("$settings SELECT $expression FROM pg_catalog.generate_series(1, 100) i" .
				($expression =~ /_agg\(i|_agg\('item|_agg\(-i/ ? '' : ' LIMIT 1'));
		is($code == 0 ? $out : $err, $expected, "$how: $name");
	}
}

my $plain = StreambloomTap->new('007_plain');
$catalogue = ExtensionObjects::query($plain);
$fresh = objects($plain);

subtest 'in another schema' => sub {
	my $db = StreambloomTap->new('007_schema', bare => 1);
	$db->sql('CREATE SCHEMA "Bloom Filters"; CREATE SCHEMA moved; CREATE EXTENSION streambloom SCHEMA "Bloom Filters"');
	same_objects($db, 'the same objects as in public');
	is($db->sql("SELECT count(*) > 50, count(*) FILTER (WHERE pronamespace <> '\"Bloom Filters\"'::regnamespace) FROM pg_proc p WHERE probin LIKE '%streambloom%'"), 't|0',
		'nothing outside of it');
	everything_works($db, '"Bloom Filters"', "SET search_path = '';", 'search_path empty');
	everything_works($db, '"Bloom Filters"', 'SET search_path = "Bloom Filters", public;', 'schema in the search_path');

	$db->sql(<<'SQL');
SET search_path = public, "Bloom Filters";
CREATE TYPE pair AS (number int, name text);
CREATE TABLE kept AS SELECT bf_agg(i) AS b, tbf_agg(i, '2024-05-01 UTC') AS t, bf_agg((i, 'x')::pair) AS p, bf_agg(i::numeric) AS n
	FROM generate_series(1, 100) i;
CREATE VIEW asked AS SELECT b @> 42 AS has, 'x' <@ bf_add(bf_empty(), 'x'::text) AS literal, tbf_count(t, 42, '2024-05-01 UTC') AS count, p @> (42, 'x')::pair AS pair,
	n @> 42.00 AS number FROM kept;
ALTER TABLE kept ADD has boolean GENERATED ALWAYS AS (b @> 42) STORED;
CREATE FUNCTION has(f bf, i int) RETURNS boolean LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT f @> i; END;
SQL
	my $before = $db->sql('SET search_path = public, "Bloom Filters"; SELECT * FROM asked, kept');
	$db->sql('ALTER EXTENSION streambloom SET SCHEMA moved');
	is($db->sql('SELECT * FROM public.asked, public.kept'), $before, 'moved: a view, a generated column and values stay as they are');
	is($db->sql('SELECT public.has(b, 42) FROM kept'), 't', 'moved: an SQL function still works');
	is($db->sql('UPDATE kept SET b = moved.bf_add(b, 7) RETURNING has'), 't', 'moved: the generated column is computed again');
	same_objects($db, 'moved: the same objects');
	everything_works($db, 'moved', "SET search_path = '';", 'moved, search_path empty');
	like($db->sqlstate('SELECT bf_empty()'), qr/^42883$/, 'moved: not found without the schema');

	my ($code, $out, $err) = $db->try('DROP EXTENSION streambloom');
	like($err, qr/ERROR:\s+2BP01:/, 'DROP EXTENSION is refused while columns need it');
	$db->sql('DROP EXTENSION streambloom CASCADE');
	is($db->sql("SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'kept'::regclass AND attnum > 0 AND NOT attisdropped"),
		'', 'with CASCADE the columns go');
	is($db->sql("SELECT count(*) FROM pg_proc WHERE probin LIKE '%streambloom%'"), 0, 'no function is left');
	is($db->sql("SELECT count(*) FROM pg_type WHERE typname IN ('bf', 'tbf', '_bf', '_tbf')"), 0, 'no type is left');
	is($db->sql("SELECT count(*) FROM pg_depend WHERE classid = 'pg_extension'::regclass AND objid NOT IN (SELECT oid FROM pg_extension)"), 0,
		'no dependency is left');
	$db->sql('CREATE EXTENSION streambloom SCHEMA moved');
	same_objects($db, 'it can be made again');
};

subtest 'DROP EXTENSION and CREATE EXTENSION in one session' => sub {
	is($plain->sql('BEGIN; CREATE TEMP TABLE v AS SELECT bf_agg(i)::text AS b FROM generate_series(1, 10) i; DROP EXTENSION streambloom; ' .
				'CREATE EXTENSION streambloom; SELECT b::bf @> 7 FROM v; ROLLBACK; SELECT bf_agg(1) @> 1'), "t\nt", 'the session goes on');
};

subtest 'by a user who may create in the database and is no superuser' => sub {
	my $db = StreambloomTap->new('007_user', bare => 1);
	$db->make_role('streambloom_tap_maker', 'NOSUPERUSER');
	$db->make_role('streambloom_tap_other', 'NOSUPERUSER');
	my $as_maker = 'SET SESSION AUTHORIZATION streambloom_tap_maker;';

	is($db->sqlstate("$as_maker CREATE EXTENSION streambloom"), '42501', 'not without CREATE on the database');
	$db->sql('GRANT CREATE ON DATABASE ' . $db->name . ' TO streambloom_tap_maker');
	$db->sql("$as_maker CREATE SCHEMA mine; CREATE EXTENSION streambloom SCHEMA mine");
	is($db->sql("SELECT extowner::regrole FROM pg_extension WHERE extname = 'streambloom'"), 'streambloom_tap_maker', 'the user owns the extension');
	same_objects($db, 'the same objects');
	everything_works($db, 'mine', "$as_maker SET search_path = '';", 'as the user');

	# another user needs only the right to use the schema
	$db->sql("$as_maker GRANT USAGE ON SCHEMA mine TO streambloom_tap_other; CREATE TABLE mine.kept AS SELECT mine.bf_agg(i) AS b FROM generate_series(1, 9) i; " .
			'GRANT SELECT ON mine.kept TO streambloom_tap_other');
	is($db->sql('SET SESSION AUTHORIZATION streambloom_tap_other; SELECT b OPERATOR(mine.@>) 7 FROM mine.kept'), 't', 'another user asks');
	is($db->sqlstate('SET SESSION AUTHORIZATION streambloom_tap_other; DROP EXTENSION streambloom'), '42501', 'but may not drop it');
	$db->sql("$as_maker CREATE SCHEMA mine_too; ALTER EXTENSION streambloom UPDATE; COMMENT ON EXTENSION streambloom IS 'mine'");
	$db->sql("$as_maker DROP EXTENSION streambloom CASCADE");
	is($db->sql("SELECT count(*) FROM pg_extension WHERE extname = 'streambloom'"), 0, 'the user may drop it');
	$db->sql('DROP OWNED BY streambloom_tap_maker CASCADE; DROP OWNED BY streambloom_tap_other CASCADE');
};

subtest 'no name of the search_path can get between' => sub {
	my $db = StreambloomTap->new('007_trap', bare => 1);
	$db->sql(<<'SQL');
CREATE SCHEMA trap; CREATE SCHEMA bloom; CREATE EXTENSION streambloom SCHEMA bloom;
CREATE FUNCTION trap.caught(bloom.bf, anyelement) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;
CREATE OPERATOR trap.@> (LEFTARG = bloom.bf, RIGHTARG = anyelement, FUNCTION = trap.caught);
CREATE FUNCTION trap.hashint4extended(int, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;
CREATE FUNCTION trap.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;
SQL
	everything_works($db, 'bloom', 'SET search_path = trap, pg_catalog, bloom;', 'names in front of it');
};

subtest 'two databases, two schemas: values mean the same' => sub {
	my $db = StreambloomTap->new('007_other', bare => 1);
	$db->sql('CREATE SCHEMA bloom; CREATE EXTENSION streambloom SCHEMA bloom; CREATE SCHEMA types; CREATE TYPE types.pair AS (a int, b text)');
	$plain->sql('CREATE TYPE pair AS (number int, name text)');
	foreach (['i', '42'], ["i::numeric", '42.0'], ["(i, 'x')::pair", "(42, 'x')::types.pair"], ["int4range(i, i + 5)", "int4range(42, 47)"],
		["ARRAY[(i, 'x')::pair]", "ARRAY[(42, 'x')::types.pair]"])
	{
		my ($built, $asked) = @$_;
		my $value = $plain->sql("SELECT bf_agg($built) FROM generate_series(1, 100) i");
		is($db->sql("SELECT '$value'::bloom.bf OPERATOR(bloom.\@>) $asked"), 't', "a filter of $built, asked in another schema for $asked");
	}
};

subtest 'upgrades' => sub {
	my @paths = $plain->rows("SELECT source, target, path FROM pg_extension_update_paths('streambloom') WHERE path IS NOT NULL " .
			"AND target = (SELECT default_version FROM pg_available_extensions WHERE name = 'streambloom')");
	my %installable = map { $_->[0] => 1 } $plain->rows("SELECT version FROM pg_available_extension_versions WHERE name = 'streambloom'");

	is($plain->sql("SELECT extversion = (SELECT default_version FROM pg_available_extensions WHERE name = 'streambloom') FROM pg_extension WHERE extname = 'streambloom'"),
		't', 'a new installation is of the default version');
	is($plain->sql('ALTER EXTENSION streambloom UPDATE; SELECT 1'), 1, 'an update to the same version does nothing');
	same_objects($plain, 'and changes nothing');
	@paths = grep { $installable{$_->[0]} } @paths;
  SKIP:
	{
		skip 'there is no earlier version to upgrade from: the next subtest makes up a later one', 1 if !@paths;
	}
	foreach (@paths)
	{
		my ($source, $target, $path) = @$_;
		my $db = StreambloomTap->new('007_upgrade', bare => 1);
		$db->sql("CREATE EXTENSION streambloom VERSION '$source'; ALTER EXTENSION streambloom UPDATE TO '$target'");
		same_objects($db, "$path: the same objects as a fresh installation");
		everything_works($db, 'public', '', $path);
	}
};

# A rehearsal of the upgrade to the next version, which is made up: a function is new, one is gone, one costs more, a
# view has a column more and another comment. scripts/generate-upgrade writes the upgrade script, but for what is
# gone.
subtest 'an upgrade to the next version' => sub {
	my ($folder) = $plain->sql("SELECT setting || '/extension' FROM pg_config WHERE name = 'SHAREDIR'");
	my ($current) = $plain->sql("SELECT default_version FROM pg_available_extensions WHERE name = 'streambloom'");
	my ($first, $next, $upgrade) = map { "$folder/streambloom--$_.sql" } 'first', 'next', "$current--next";

	plan skip_all => "the installation $folder cannot be written to" if !-w $folder;
	my $script = StreambloomTap::read_file("$folder/streambloom--$current.sql");
	my $new = "CREATE FUNCTION bf_is_new(f bf) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$SELECT 'new; ' || bf_sketch(f)\$\$;\nCOMMENT ON FUNCTION bf_is_new(bf) IS 'new; it isn''t old';\n";
	$script =~ s/^(COMMENT ON FUNCTION bf_sketch.*\n)/$1$new/m or die 'there is no bf_sketch';
	$script =~ s/^(CREATE FUNCTION bf_histogram\(.*?) COST 1000/$1 COST 1001/ms or die 'there is no bf_histogram';
	$script =~ s/^CREATE FUNCTION ibf_sketch\(.*\nCOMMENT .*\n//m or die 'there is no ibf_sketch';
	$script =~ s/^(CREATE VIEW tbf_rollups\b.*?)(?=\nFROM )/$1, 1 AS more/ms or die 'there is no view tbf_rollups';
	$script =~ s/^COMMENT ON VIEW tbf_rollups IS '/$&next: /m or die 'the view has no comment';
	StreambloomTap::write_file($next, $script);
	StreambloomTap::write_file($first, "DROP FUNCTION ibf_sketch(ibf);\n");
	my ($code, $written, $errors) = StreambloomTap::run_program('', $^X, "$FindBin::Bin/../../scripts/generate-upgrade", "$folder/streambloom--$current.sql", $first, 'next', $next);
	is($code, 0, 'the upgrade script is generated') or diag($errors);
	cmp_ok($written =~ tr/\n//, '<', 100, 'it has what differs');
	StreambloomTap::write_file($upgrade, $written);

	my ($db, $other) = map { StreambloomTap->new("007_$_", bare => 1) } 'upgraded', 'next';
	$other->sql("CREATE EXTENSION streambloom VERSION 'next'");
	$db->sql(<<'SQL');
CREATE EXTENSION streambloom;
CREATE TABLE kept AS SELECT i AS a, 'x' || i AS b FROM generate_series(1, 1000) i;
CREATE INDEX kept_bf ON kept USING bf (a, b);
CREATE TABLE filters AS SELECT bf_agg(a) AS f, tbf_agg(b, '2024-05-01 UTC') AS t FROM kept;
CREATE VIEW asked AS SELECT f @> 42 AS f, t @> 'x42' AS t, (SELECT count(*) FROM bf_histogram(f)) > 0 AS histogram FROM filters;
ALTER EXTENSION streambloom UPDATE TO 'next';
SQL
	is(join("\n", @{objects($db)}), join("\n", @{objects($other)}), 'after it the objects are those of a fresh installation');
	isnt(join("\n", @{objects($db)}), join("\n", @$fresh), 'which are others than before');
	everything_works($db, 'public', '', 'upgraded');
	is($db->sql("SELECT * FROM asked; SET enable_seqscan = off; SELECT b FROM kept WHERE a = 42; SELECT bf_index_check('kept_bf')"), "t|t|t\nx42\n1000",
		'a view, filters and an index from before answer');
	unlink($first, $next, $upgrade);
};

# Each statement here makes a fresh extension what it would be if an upgrade script had forgotten one thing: an object
# of some kind, or a property. The comparison with a fresh extension must notice it.
subtest 'the comparison notices whatever an upgrade script forgets' => sub {
	my $db = StreambloomTap->new('007_compared');
	my $update = 'UPDATE pg_catalog.pg_';

	is(join("\n", sort split /\n/, $db->sql("BEGIN; $catalogue; ROLLBACK")), join("\n", @$fresh), 'nothing is forgotten: the same');
	foreach (
		['a function', 'ALTER EXTENSION streambloom DROP FUNCTION bf_sketch(bf)'],
		['an operator', 'ALTER EXTENSION streambloom DROP OPERATOR |(bf, bf)'],
		['a cast', 'ALTER EXTENSION streambloom DROP CAST (bf AS bytea)'],
		['an operator class', 'ALTER EXTENSION streambloom DROP OPERATOR CLASS uuid_ops USING bf'],
		['a member of a family', 'ALTER OPERATOR FAMILY integer_ops USING bf DROP OPERATOR 1 (int2, int8)'],
		['a support function of a class', "DELETE FROM pg_amproc WHERE amproc = 'bf_key_class_options'::regproc AND amproclefttype = 'tsvector'::regtype"],
		['a view', 'ALTER EXTENSION streambloom DROP VIEW bf_indexes'],
		['a default of an argument', "${update}proc SET proargdefaults = (SELECT proargdefaults FROM pg_proc WHERE proname = 'sbf_empty'), pronargdefaults = 1 WHERE proname = 'bf_grams'"],
		['the name of an argument', "${update}proc SET proargnames = '{f}' WHERE proname = 'bf_sketch'"],
		['the type of a result', "${update}proc SET prorettype = 'name'::regtype WHERE proname = 'bf_sketch'"],
		['COST', 'ALTER FUNCTION bf_sketch(bf) COST 1'],
		['ROWS', 'ALTER FUNCTION bf_histogram(bf) ROWS 1000'],
		['SUPPORT', "${update}proc SET prosupport = 0 WHERE proname = 'tbf_add'"],
		['SET of a function', 'ALTER FUNCTION tbf_rollup_drop(regclass) RESET search_path'],
		['IMMUTABLE', 'ALTER FUNCTION bf_sketch(bf) STABLE'],
		['STRICT', 'ALTER FUNCTION bf_sketch(bf) CALLED ON NULL INPUT'],
		['PARALLEL', 'ALTER FUNCTION bf_sketch(bf) PARALLEL RESTRICTED'],
		['PARALLEL of an aggregate', "${update}proc SET proparallel = 'r' WHERE oid = 'bf_union_agg(bf)'::regprocedure"],
		['LEAKPROOF', 'ALTER FUNCTION bf_sketch(bf) LEAKPROOF'],
		['SECURITY INVOKER', 'ALTER FUNCTION bf_sketch(bf) SECURITY DEFINER'],
		['the C function', "${update}proc SET prosrc = 'tbf_sketch' WHERE proname = 'bf_sketch'"],
		['the right to call a function', 'REVOKE EXECUTE ON FUNCTION bf_sketch(bf) FROM PUBLIC'],
		['COMBINEFUNC', "${update}aggregate SET aggcombinefn = 0 WHERE aggfnoid = 'bf_union_agg(bf)'::regprocedure"],
		['SSPACE', "${update}aggregate SET aggtransspace = 1 WHERE aggfnoid = 'bf_union_agg(bf)'::regprocedure"],
		['MSFUNC', "${update}aggregate SET aggmtransfn = aggtransfn WHERE aggfnoid = 'bf_union_agg(bf)'::regprocedure"],
		['HASHES', "${update}operator SET oprcanhash = false WHERE oid = '=(bf, bf)'::regoperator"],
		['MERGES', "${update}operator SET oprcanmerge = false WHERE oid = '=(bf, bf)'::regoperator"],
		['COMMUTATOR', "${update}operator SET oprcom = 0 WHERE oid = '<(bf, bf)'::regoperator"],
		['NEGATOR', "${update}operator SET oprnegate = 0 WHERE oid = '<(bf, bf)'::regoperator"],
		['RESTRICT', 'ALTER OPERATOR < (bf, bf) SET (RESTRICT = NONE)'],
		['JOIN', 'ALTER OPERATOR < (bf, bf) SET (JOIN = NONE)'],
		['STORAGE', 'ALTER TYPE bf SET (STORAGE = extended)'],
		['RECEIVE', 'ALTER TYPE bf SET (RECEIVE = NONE)'],
		['PREFERRED', "${update}type SET typispreferred = false WHERE typname = 'bf_text_item'"],
		['a column of a type', 'ALTER TYPE sbf_parameters DROP ATTRIBUTE seed'],
		['AS ASSIGNMENT', "${update}cast SET castcontext = 'a' WHERE castsource = 'bf'::regtype"],
		['DEFAULT of a class', "${update}opclass SET opcdefault = false WHERE opcname = 'uuid_ops' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'bf')"],
		['STORAGE of a class', "${update}opclass SET opckeytype = 0 WHERE opcname = 'tsvector_ops' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'bf')"],
		['the handler of the access method', "${update}am SET amhandler = 'brinhandler'::regproc WHERE amname = 'bf'"],
		['the query of a view', 'CREATE OR REPLACE VIEW _tbf_rollup_dropped AS SELECT NULL::pg_catalog.regclass AS rollup'],
		['security_barrier', 'ALTER VIEW tbf_rollups RESET (security_barrier)'],
		['a rule', 'DROP RULE forget ON _tbf_rollup_dropped'],
		['the right to read a view', 'REVOKE SELECT ON tbf_rollups FROM PUBLIC'],
		['the right to write a column', "${update}attribute SET attacl = NULL WHERE attrelid = 'tbf_rollup'::regclass AND attname = 'folded'"],
		['a storage parameter of the table', 'ALTER TABLE tbf_rollup_definitions RESET (fillfactor)'],
		['the default of a column', 'ALTER TABLE tbf_rollup_definitions ALTER open_from DROP DEFAULT'],
		['NOT NULL', 'ALTER TABLE tbf_rollup_definitions ALTER zone DROP NOT NULL'],
		['a column', 'ALTER TABLE tbf_rollup_definitions ADD forgotten int'],
		['a primary key', 'ALTER TABLE tbf_rollup_definitions DROP CONSTRAINT tbf_rollup_definitions_pkey'],
		['a trigger', 'DROP TRIGGER _tbf_rollup_guard ON tbf_rollup_definitions'],
		['which rows a dump has', "${update}extension SET extcondition = '{NULL}'"],
		['that a dump has rows', "${update}extension SET extconfig = NULL, extcondition = NULL"],
		(map { ["the comment on $_", "COMMENT ON $_ IS NULL"] } 'FUNCTION bf_sketch(bf)', 'AGGREGATE bf_union_agg(bf)', 'OPERATOR |(bf, bf)', 'TYPE bf', 'VIEW tbf_rollups',
			'COLUMN tbf_rollup_definitions.counted_to', 'ACCESS METHOD bf', 'OPERATOR CLASS uuid_ops USING bf', 'OPERATOR FAMILY uuid_ops USING bf'),
	)
	{
		my ($what, $break) = @$_;
		my ($code, $out, $err) = $db->try("BEGIN; $break; $catalogue; ROLLBACK");
		$code == 0 or diag($err);
		ok($code == 0 && join("\n", sort split /\n/, $out) ne join("\n", @$fresh), "without $what it is not the same");
	}
};

subtest 'every object of the extension has a comment but for input and output functions' => sub {
	my $without = $plain->sql(<<'SQL');
SELECT string_agg(pg_describe_object(d.classid, d.objid, 0), ', ') FILTER (WHERE obj_description(d.objid, d.classid::regclass::name) IS NULL), count(*) > 100
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid LEFT JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE e.extname = 'streambloom' AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND d.classid <> 'pg_cast'::regclass
	AND NOT EXISTS (SELECT FROM pg_type t WHERE d.objid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
	AND NOT EXISTS (SELECT FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE t.oid = d.objid AND (t.typelem <> 0 OR c.relkind <> 'c'))
SQL
	is($without, '|t', 'none is without');
};

done_testing();
