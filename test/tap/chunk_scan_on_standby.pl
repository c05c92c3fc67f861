# chunk_scan on a hot standby returns the rows of its snapshot, or fails with 40001 if the primary has truncated or
# detached a partition since. Unlogged tables are refused as by a plain SELECT, even if no row matches by a bf index or
# by the filters of a table of summaries.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(autovacuum => 'off');
my $db = StreambloomTap->new('032');
$db->sql(<<'SQL');
CREATE TABLE t (k int, a int) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);
INSERT INTO t SELECT 1 + i % 2, i % 10 FROM generate_series(0, 199) i;
CREATE INDEX ON t USING bf (a);
CREATE UNLOGGED TABLE u AS SELECT 7 AS a;
CREATE INDEX ON u USING bf (a);
CREATE TABLE s AS SELECT 'u'::regclass AS chunk, bf_agg(a) AS a FROM u;
SQL
# The primary keeps the rows that the standby's snapshots see. Otherwise it could prune old rows of the catalogue at
# any time, and the replay would wait.
my $port = OwnCluster::start_standby(max_standby_streaming_delay => '-1', hot_standby_feedback => 'on', wal_receiver_status_interval => '1s');
$db->wait_until('SELECT backend_xmin IS NOT NULL FROM pg_stat_replication', 'the standby to tell the primary of its snapshots');

OwnCluster::catch_up();
my $scan = "SELECT count(*) FROM chunk_scan(NULL::t, 'a', 7);";
my @old = map { PsqlSession->new($db->name, port => $port) } 1 .. 2;
$_->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1') foreach @old;
$db->sql('GRANT SELECT ON t, t_1 TO PUBLIC; DELETE FROM t WHERE k = 2');
OwnCluster::catch_up();
is(($old[0]->ask($scan))[0], 20, 'the rows of the snapshot');
$old[0]->ask('COMMIT');
$db->sql('BEGIN; TRUNCATE t_1; INSERT INTO t SELECT 1, 7 FROM generate_series(1, 3); COMMIT');
OwnCluster::catch_up();
is(($old[1]->ask($scan))[1], '40001', 'a partition that was truncated since');
is(($old[0]->ask($scan))[0], 3, 'a new snapshot');
$old[0]->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$db->sql('ALTER TABLE t DETACH PARTITION t_1');
OwnCluster::catch_up();
is(($old[0]->ask($scan))[1], '40001', 'a partition that was detached since');

{
	local $ENV{PGPORT} = $port;
	# The advisor writes nothing, so it reads a table here too, under the snapshot of the standby.
	is($db->sql(q{SELECT string_agg(concat_ws(' ', "column", distinct_values, table_pages > 0), ', ') FROM bf_index_advise('t_1')}), 'k 1 t, a 1 t', 'bf_index_advise()');
	foreach my $query ('SELECT * FROM u WHERE a = 8', "SELECT * FROM chunk_scan(NULL::u, 'a', 8)", "SELECT * FROM chunk_scan(NULL::u, 'a', 8, 's')",
		"SELECT * FROM chunk_scan_explain(NULL::u, 'a', 8)")
	{
		$db->fails_like($query, '0A000', qr/unlogged relations during recovery/, "$query is refused");
		$db->fails_like($query, '0A000', qr/"u".*\nHINT:  Ask on the primary server/, "$query is refused with a hint") if $query =~ /chunk_scan/;
	}
}

done_testing();
