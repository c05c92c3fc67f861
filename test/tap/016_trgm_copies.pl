# streambloom_trgm: made by a user who is no superuser, dumped and restored, in a database whose schemas are somebody else's.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('016_trgm', bare => 1);
plan skip_all => 'this PostgreSQL has no pg_trgm' if !$db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'");

my $role = 'streambloom_tap_searcher';
my $as_role = "SET SESSION AUTHORIZATION $role;";
my $searched = "SET enable_seqscan = off; SELECT string_agg(id::text, ',' ORDER BY id) FROM lines WHERE line LIKE '%line 77%'";

subtest 'by a user who may create in the database and is no superuser' => sub {
	$db->make_role($role, 'NOSUPERUSER');
	like($db->sqlstate("$as_role CREATE EXTENSION streambloom_trgm CASCADE"), qr/^42501$/, 'not without CREATE on the database');
	$db->sql('GRANT CREATE ON DATABASE ' . $db->name . " TO $role");
	$db->sql("$as_role CREATE SCHEMA bloom; CREATE SCHEMA grams; CREATE SCHEMA search; CREATE EXTENSION streambloom SCHEMA bloom; CREATE EXTENSION pg_trgm SCHEMA grams; " .
			'CREATE EXTENSION streambloom_trgm SCHEMA search');
	is($db->sql("SELECT extowner::regrole FROM pg_extension WHERE extname = 'streambloom_trgm'"), $role, 'the user owns the extension');
	$db->sql("$as_role CREATE SCHEMA mine; SET search_path = mine; CREATE TABLE lines (id int, line text); INSERT INTO lines SELECT i, 'line ' || i FROM generate_series(1, 2000) i; " .
			'CREATE INDEX lines_trgm ON lines USING bf (line search.trgm_ops (false_positive_rate = 0.02), id)');
	is($db->sql("$as_role SET search_path = mine; $searched"), join(',', 77, 770 .. 779), 'the index answers');
	like($db->sql("$as_role SET search_path = mine; SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT * FROM lines WHERE line ~ 'line 77'"), qr/Bitmap Index Scan on lines_trgm/, 'it is used');
};

subtest 'dumped and restored' => sub {
	my ($code, $dump, $err) = StreambloomTap::run_program('', StreambloomTap::client_program('pg_dump'), $db->name);
	is($code, 0, 'pg_dump') or diag($err);
	unlike($dump, qr/CREATE OPERATOR CLASS/, 'the class is not dumped by itself');
	my $new = StreambloomTap->new('016_new', bare => 1);
	$new->sql($dump);
	is($new->sql("SET search_path = mine; $searched"), join(',', 77, 770 .. 779), 'the restored index answers');
	is($new->sql("SELECT pg_get_indexdef('mine.lines_trgm'::regclass)"), $db->sql("SELECT pg_get_indexdef('mine.lines_trgm'::regclass)"), 'it is defined alike');
	is($new->sql("SELECT bloom.bf_index_check('mine.lines_trgm')"), 2000, 'it has every row');
};

subtest 'dropped' => sub {
	is($db->sqlstate("$as_role DROP EXTENSION pg_trgm"), '2BP01', 'pg_trgm is needed');
	is($db->sqlstate("$as_role DROP EXTENSION streambloom_trgm"), '2BP01', 'it is needed by the index');
	$db->sql("$as_role DROP EXTENSION streambloom_trgm CASCADE; DROP EXTENSION pg_trgm; DROP EXTENSION streambloom");
	is($db->sql("SELECT count(*) FROM pg_opclass WHERE opcname = 'trgm_ops'"), 0, 'nothing is left');
	$db->sql("DROP OWNED BY $role CASCADE");
};

subtest 'what is too old is refused' => sub {
	my $old = StreambloomTap->new('016_old');
	$old->sql('CREATE EXTENSION pg_trgm; ALTER EXTENSION pg_trgm DROP FUNCTION gin_trgm_triconsistent(internal, int2, text, int4, internal, internal, internal)');
	$old->fails_like('CREATE EXTENSION streambloom_trgm', '55000', qr/the extension pg_trgm is too old/, 'pg_trgm without a function that is needed');
};

done_testing();
