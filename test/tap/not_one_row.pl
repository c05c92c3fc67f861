# Not one row is lost: writers, summarizers, readers and DDL work at once, at random, and each answer with an index is
# the same as without (test/tap/lib/NotOneRow.pm). The test is short; for longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/tap/not_one_row.pl
#
# STREAMBLOOM_METHOD=brin runs the same on BRIN's bloom operator classes. The test starts a cluster of its own, because
# it must be the only one there that holds snapshots, and needs prepared transactions. STREAMBLOOM_HERE=1 uses the
# running cluster instead.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use NotOneRow;
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 20;
my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
my $method = $ENV{STREAMBLOOM_METHOD} // 'bf';
my %settings = (max_prepared_transactions => 20, deadlock_timeout => '300ms', autovacuum_naptime => '1s', max_connections => 60,
	max_worker_processes => 16);

if (!$ENV{STREAMBLOOM_HERE})
{
	OwnCluster::start(%settings);
}
my $db = StreambloomTap->new('020', bare => $method ne 'bf');
my $witness = PsqlSession->new($db->name);
my $started = $db->sql('SELECT pg_postmaster_start_time()');
diag("seed $seed");
my $report = NotOneRow::run(database => $db->name, method => $method, seconds => $seconds, seed => $seed);
my $counts = $report->{counts};

is($report->{differences}, '', "no row was lost (seed $seed)");
is($report->{troubles}, '', 'and nothing else went wrong');
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
	diag(sprintf 'ran for %.1f s', $report->{seconds});
}

subtest 'it was a test of something' => sub {
	foreach ('comparisons with rows', 'index scans', 'plans with an index', 'write: simple', 'write: subtransaction', 'write: prepared transaction',
		'keep: summarize', 'keep: summarize what is new', 'keep: desummarize', 'keep: VACUUM', 'read: late', 'answers of cursors')
	{
		cmp_ok($counts->{$_} // 0, '>', 0, $_);
	}
	cmp_ok($counts->{'plans with Skip'} // 0, '>', 0, 'plans with Skip') if $method eq 'bf';
	cmp_ok($counts->{'keep: desummarize and summarize above'} // 0, '>', 0, 'ranges of upper levels are summarized anew') if $method eq 'bf';
	cmp_ok($counts->{'indexes checked'} // 0, '>=', 3 * 15, 'each index was checked') if $method eq 'bf';
	my ($read, $all) = map { $_ // -1 } @$counts{'pages read for an absent value', 'pages of t'};
	ok($read >= 0 && $all > 100 && $read < $all / ($method eq 'bf' ? 4 : 1), 'the index skips most of the table') or diag("$read of $all pages");
};
if ($ENV{STREAMBLOOM_HERE})
{
	# A crash of another process ends the session that started before it.
	is($db->sql('SELECT pg_postmaster_start_time()') . '|' . ($witness->ask('SELECT 1'))[0], "$started|1", 'no server process crashed');
}
else
{
	is(OwnCluster::crashes(), '', 'no server process crashed');
}

done_testing();
