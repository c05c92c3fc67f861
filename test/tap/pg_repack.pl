# pg_repack rewrites a table while others write to it. It copies the rows, makes the indexes of the copy from the
# output of pg_get_indexdef(), and swaps the files of both tables. Afterwards the bf indexes belong to the new rows,
# have their options, and miss no row.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_repack'");
my $program = StreambloomTap::client_program('pg_repack');
$program = StreambloomTap::server_program('pg_repack') if $program !~ m{/};
plan skip_all => 'pg_repack is not installed (postgresql-NN-repack of Debian and Ubuntu)' if $version eq '' || $program !~ m{/};
diag("pg_repack $version");

my $db = StreambloomTap->new('054');
$db->sql(<<'SQL');
CREATE EXTENSION pg_repack;
CREATE TABLE log (id bigint PRIMARY KEY, uid bigint, url text, tags text[], note text DEFAULT repeat('x', 60));
INSERT INTO log SELECT i, i * 7919 % 100003, '/page/' || i % 997, ARRAY['t' || i % 13] FROM generate_series(1, 30000) i;
CREATE INDEX log_uid ON log USING bf (uid int8_ops (false_positive_rate = 0.002)) WITH (pages_per_range = 8);
CREATE INDEX log_words ON log USING bf (url gram_ops);
CREATE INDEX log_tags ON log USING bf (tags array_ops);
CREATE INDEX log_even ON log USING bf (lower(url)) WHERE id % 2 = 0;
DELETE FROM log WHERE id % 3 = 0;
ANALYZE log;
SQL
my $definitions = "SELECT string_agg(pg_get_indexdef(indexrelid), E'\\n' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'log'::regclass";
my $before = $db->sql($definitions);
my $size = $db->sql("SELECT pg_table_size('log')");

sub same_answers
{
	my ($name) = @_;
	my $sum = 'count(*), sum(id), sum(uid)';
	foreach my $where ("uid IN (7919, 15838, 47514)", "url LIKE '%age/17%'", "tags @> ARRAY['t5']", "lower(url) = '/page/18' AND id % 2 = 0", "uid >= 0 AND uid IN (SELECT uid FROM log WHERE id > 90000)")
	{
		is($db->sql("SET enable_seqscan = off; SET enable_hashjoin = off; SELECT $sum FROM log WHERE $where"),
			$db->sql("SET enable_bitmapscan = off; SET enable_indexscan = off; SELECT $sum FROM log WHERE $where"), "$name: $where");
	}
	is($db->sql("SELECT count(bf_index_check(indexrelid)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
			WHERE indrelid = 'log'::regclass AND amname = 'bf'"), 4, "$name: no index lacks a row");
}

# A session writes at the same time. It waits while pg_repack has its locks, and pg_repack waits for it.
my $writer = PsqlSession->new($db->name);
$writer->send(join '', map { "INSERT INTO log SELECT 90000 + $_ * 10 + i, 200000 + $_ * 10 + i, '/page/17' || $_, ARRAY['t5'] FROM generate_series(0, 9) i; UPDATE log SET uid = uid + 1 WHERE id = $_ * 100 + 1;" } 1 .. 200);
my ($code, $out, $err) = StreambloomTap::run_program('', $program, '-d', $db->name, '-t', 'log', '--no-kill-backend', '-T', '120');
is($code, 0, 'pg_repack rewrites the table') or diag("$out$err");
my (undef, $state, $message) = $writer->answer;
is($state, '00000', 'while it is written to') or diag($message);
is($db->sql($definitions), $before, 'the indexes are what they were');
is($db->sql('SELECT count(*) FROM log WHERE id > 90000'), 2000, 'and so are the rows');
cmp_ok($db->sql("SELECT pg_table_size('log')"), '<', $size, 'the table is smaller');
same_answers('after the rewrite');

# New rows go into the new indexes.
$db->sql("INSERT INTO log SELECT 100000 + i, 300000 + i, '/page/176', ARRAY['t5'] FROM generate_series(1, 5000) i; CALL bf_summarize('log'); VACUUM log");
same_answers('with new rows');

# Only the indexes are rewritten.
($code, $out, $err) = StreambloomTap::run_program('', $program, '-d', $db->name, '-t', 'log', '--only-indexes', '--no-kill-backend', '-T', '120');
is($code, 0, 'pg_repack rewrites the indexes') or diag("$out$err");
is($db->sql($definitions), $before, 'which are what they were');
same_answers('after that');
$writer->close;

done_testing();
