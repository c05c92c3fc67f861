# A hot standby answers queries on random relations with bf indexes, while the primary writes to these and changes
# them. Snapshots of the standby stay open while the primary works. In each of them a query must have the same rows
# with the indexes as without. The primary writes with wal_consistency_checking, so the standby compares each index
# page that it replays with the primary's page. In the end the standby is promoted, its indexes are checked, and writes
# go on. The test is short; for longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/030_standby.pl
#
# No query can use a B-tree here. A B-tree that the primary builds leaves out rows that are dead on the primary. The
# standby uses it for older snapshots too, and these snapshots miss such rows. Against this the filter pages of a bf
# index have horizons, transaction ids: older snapshots do not rely on the page. A row that is committed and deleted
# during CREATE INDEX CONCURRENTLY is missing in both kinds of index, so such builds are made only if
# STREAMBLOOM_CONCURRENTLY is set.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use DifferParties;
use DifferQueries;
use DifferRun;
use DifferSchema;
use OwnCluster;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time sleep);

StreambloomTap::require_cluster();
OwnCluster::start();
# All resource managers except heap and heap2, whose check gives a false alarm even without this extension (README.md
# has the statements). A transaction inserts a row, and deletes it in a savepoint that is rolled back; the flag
# HEAP_COMBOCID stays in the row. SELECT ... FOR UPDATE keeps the flag on the primary, but its replay clears it. After
# VACUUM (FREEZE) the check compares the flag. The extension writes no heap pages.
my $checked = 'generic, btree, hash, gin, gist, spgist, brin, sequence';
OwnCluster::restart(max_prepared_transactions => 20, max_connections => 40, max_worker_processes => 8, jit => 'off', autovacuum => 'off', wal_keep_size => '512MB',
	wal_consistency_checking => $checked, max_locks_per_transaction => 512, synchronous_commit => 'off');

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 30;
my $seed = $ENV{STREAMBLOOM_SEED} // 1;
my $db = StreambloomTap->new('a030');
diag("seed $seed");
srand($seed);

my $run = DifferRun->new(database => $db->name, name => '030', seed => $seed);
# Readers on the standby are cancelled when replay has waited for them for two seconds.
my $port = OwnCluster::start_standby(hot_standby_feedback => 'off', max_standby_streaming_delay => '2s', max_standby_archive_delay => '2s', autovacuum => 'off');
my @kinds = ('plain', 'plain', 'partitioned', 'partitioned', 'sub-partitioned', 'sub-partitioned', 'inherited', 'materialized');

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

sub standby_sql
{
	my ($sql) = @_;
	local $ENV{PGPORT} = $port;
	return $db->sql($sql);
}

# Errors that leave a comparison out. On a standby a query fails if it reads an unlogged table, which only one of two
# plans may do. And a row that only an old snapshot sees may have lost its out-of-line values: both plans fail then.
my $left_out = qr/ERROR (0A000 cannot access temporary or unlogged relations|XX001 missing chunk number \d+ for toast .* without: ERROR XX001 missing chunk number)/;

# Transactions on the standby whose one snapshot grows old while they ask their questions. Half of them ask at the
# beginning too, and so take their locks then.
sub standby_reader
{
	my ($run, $schema, $session, $go_on) = @_;
	# If the server has ended the session, psql no longer reads, and to write to it is an error that Perl warns of.
	no warnings 'io';

	# 57P01 and 40001 are the errors of a conflict with recovery. A session that was ended is opened again.
	$run->{expected} = qr/^(?:40|55P03|25P02|57P01|57014|lost)/;
	$run->{left_out} = $left_out;
	$run->{before} = 1;
	while ($go_on->())
	{
		my ($state) = ($session->ask("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1"))[1];
		if ($state =~ /lost|57P01/ || $session->{lost})
		{
			$run->count('sessions that were ended');
			$run->close_session($session);
			my $party = $session->{party};
			# The new session may be ended before it has begun.
			$session = undef;
			$session = eval { $run->session($party, port => $port) } while !$session && $go_on->();
			last if !$session;
			$session->ask("SET search_path = $schema->{name}, public");
			next;
		}
		if (chance(0.5))
		{
			$run->compare($session, map { DifferQueries::question($run, pick(@{$schema->{relations}}), read_only => 1) } 1 .. 15);
		}
		foreach (1 .. 1 + int rand 3)
		{
			sleep(rand() < 0.3 ? rand 2 : rand 0.4);
			my ($failed, $ended) = $run->compare($session, map { DifferQueries::question($run, pick(@{$schema->{relations}}), read_only => 1) } 1 .. 15);
			last if $ended ne '00000';
			$run->count('old snapshots asked');
		}
		$session->ask('COMMIT');
	}
}

# Counts the records that the extension has written since this place of the primary's WAL (in the last 256 MB, which
# are still there). Adds those that have a page without its image to @not_compared: a standby cannot compare such a
# page after the replay.
my ($records, @not_compared) = (0);

sub records_since
{
	my ($lsn) = @_;
	my $wal = $db->sql('SHOW data_directory') . '/pg_wal';
	my ($end, $begin) = split /\|/, $db->sql("SELECT l, greatest('$lsn', CASE WHEN l > '0/10000000' THEN l - 268435456 END) FROM pg_current_wal_flush_lsn() l");
	my ($code, $out, $err) = StreambloomTap::run_program('', StreambloomTap::server_program('pg_waldump'), '-p', $wal, '-s', $begin, '-e', $end, '-r', 'Generic');

	die "pg_waldump failed: $err\n" if $code != 0;
	foreach my $record (grep { /^rmgr: Generic/ } split /\n/, $out)
	{
		my (undef, @pages) = split /blkref #/, $record;
		$records++;
		push @not_compared, $record if !@pages || grep { !/ FPW/ } @pages;
	}
}

my $checks = 0;
my $check_all = <<'SQL';
SELECT count(bf_index_check(indexrelid)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE amname = 'bf' AND relkind = 'i' AND indisvalid AND relpersistence = 'p'
SQL

sub one_schema
{
	my ($number, $length) = @_;
	my $lsn = $db->sql('SELECT pg_current_wal_flush_lsn()');
	my $schema = DifferSchema->new(number => $number, kinds => \@kinds, calm => chance(0.5), permanent => chance(0.8), no_concurrently => !$ENV{STREAMBLOOM_CONCURRENTLY}, bf_only => 1);
	my $one = $run->session('one');

	$run->begin_history();
	$run->act($one, /^(CREATE INDEX|CREATE \w+|ALTER \w+|INSERT)/ ? "make: $1" : 'make', $_) foreach $schema->create, $schema->{calm} ? () : DifferParties::marked($schema);
	$run->count("relations: $_->{kind}") foreach @{$schema->{relations}};
	OwnCluster::catch_up();
	DifferParties::together($run, $schema, $length, "reader1:$port" => \&standby_reader, "reader2:$port" => \&standby_reader, writer => \&DifferParties::writer, changer => \&DifferParties::changer);
	return if $run->failures;
	OwnCluster::catch_up();
	my $two = $run->session('quiet', port => $port);
	$two->sql("SET search_path = $schema->{name}, public");
	local $run->{left_out} = $left_out;
	$run->compare($two, map({ DifferQueries::filters_of_ranges($run, $_) } @{$schema->{relations}}), map { DifferQueries::question($run, $_, read_only => 1) } (@{$schema->{relations}}) x 25);
	$run->close_session($_) foreach $one, $two;
	my ($here, $there) = ($db->sql($check_all), standby_sql($check_all));
	$checks++;
	records_since($lsn);
	$run->fail_with($one, "$here indexes are whole on the primary, $there on the standby") if $here ne $there;
	$db->sql("DROP SCHEMA $schema->{name} CASCADE") if $number % 3;
	return;
}

# The deadline counts from the beginning of the test ($^T), so that the short mode ends within 60 s. The promotion comes
# after the deadline.
my $deadline = $^T + $seconds;
my $length = $seconds > 100 ? 15 : 8;
my $number = 0;
my $longest = 0;
# After the second schema, another schema is begun only if there is time for it and for the promotion. The next schema
# is expected to take as long as the longest one so far.
while (!$run->failures && ($number < 2 || time() + $longest + 5 < $deadline))
{
	my $began = time();
	one_schema(++$number, $length);
	$longest = time() - $began if $longest < time() - $began;
}

subtest 'it becomes the primary' => sub {
	plan skip_all => 'there were failures' if $run->failures;
	my $schema = DifferSchema->new(number => $number + 1, kinds => ['plain', 'partitioned', 'sub-partitioned']);
	my $one = $run->session('one');
	$run->act($one, 'make', $_) foreach $schema->create;
	# A transaction that inserts rows is prepared before the promotion, and committed after it.
	my ($relation) = @{$schema->{relations}};
	$run->act($one, 'prepare', join ";\n", 'BEGIN', DifferSchema::insert($relation, 50, one => 1), "PREPARE TRANSACTION 'over'");
	OwnCluster::catch_up();
	my $indexes = $db->sql($check_all);
	OwnCluster::promote_standby();
	is(standby_sql($check_all), $indexes, 'all its indexes are whole');
	my $two = $run->session('promoted', port => $port);
	$two->sql("SET search_path = $schema->{name}, public");
	$run->act($two, 'COMMIT PREPARED', "COMMIT PREPARED 'over'");
	foreach (1 .. 10)
	{
		foreach my $change (DifferChanges::rows($relation), DifferChanges::keep($relation))
		{
			$run->act($two, 'after the promotion', $change) if $change =~ /^[A-Z]+ .*[a-z0-9_]/ && $change =~ /$relation->{name}/;
		}
		$run->compare($two, map { DifferQueries::question($run, $relation) } 1 .. 10);
	}
	is(standby_sql('SELECT count(*) > 0 FROM (' . ($check_all =~ s/count\((.*?\))\)/$1/r) . ') s'), 't', 'and after writes');
	$run->close_session($_) foreach $one, $two;
};

my $counts = $run->counts;
is(OwnCluster::crashes(), '', 'no server process crashed, no page differed from the primary\'s');
diag("$number schemas, " . ($counts->{comparisons} // 0) . ' comparisons, ' . ($counts->{'comparisons with rows'} // 0) . " with rows; $records records of the extension");
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
}
# after the counts, so that a report of which only the end is kept has it
ok(!$run->failures, "each answer is the one without an index (seed $seed)") or diag('failures: ' . $run->failures . join '', map { "\n" . substr $_, 0, 4000 } $run->failures);
subtest 'it was a test of something' => sub {
	cmp_ok($counts->{comparisons} // 0, '>=', 200, 'comparisons');
	cmp_ok($counts->{'comparisons with rows'} // 0, '>=', ($counts->{comparisons} // 0) / 5, 'many had rows');
	cmp_ok($counts->{'plans with an index'} // 0, '>', 0, 'plans with an index');
	cmp_ok($counts->{'old snapshots asked'} // 0, '>=', 5, 'old snapshots');
	cmp_ok($checks, '>=', 2, 'indexes were checked on both');
	cmp_ok($records, '>=', 50, 'the extension wrote to WAL');
	is("@not_compared[0 .. ($#not_compared < 2 ? $#not_compared : 2)]", '', 'the standby compared each page in each of these records');
};
done_testing();
