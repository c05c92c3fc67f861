# The node PartitionScan: on a hot standby; in statements that are prepared by the protocol; for many clients at once
# while DDL runs; with foreign partitions; beside a library that keeps our hook from being called; with damaged
# indexes. And how much memory a session has after a query over 300 partitions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use DamagedIndex;
use ProtocolSession;
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(autovacuum => 'off', session_preload_libraries => 'streambloom', max_locks_per_transaction => '2000');
my $db = StreambloomTap->new('052');
$db->sql(<<'SQL');
CREATE TABLE log (day int, uid int, host text) PARTITION BY RANGE (day);
DO $$ BEGIN FOR i IN 0..299 LOOP EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i, i + 1); END LOOP; END $$;
INSERT INTO log SELECT i / 40, i, 'h' || i % 100 FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid);
ANALYZE log;
SQL
my $on = 'SET streambloom.enable_partition_scan = on; SET jit = off; SET max_parallel_workers_per_gather = 0;';
my $off = 'SET streambloom.enable_partition_scan = off; SET jit = off; SET max_parallel_workers_per_gather = 0;';

# A statement that is prepared by the protocol takes its locks before its snapshot. So while it waits for a partition
# that is truncated and filled again, it has no snapshot yet.
foreach my $plan ('force_generic_plan', 'force_custom_plan')
{
	foreach my $switch ($on, $off)
	{
		my $case = "$plan, " . ($switch eq $on ? 'with the node' : 'without');
		my $reader = ProtocolSession->new($db->name);
		my $writer = PsqlSession->new($db->name);
		$reader->ask("$switch SET plan_cache_mode = $plan; BEGIN");
		$reader->open_portal('p', 'SELECT host FROM log WHERE uid = $1', 500);
		is(($reader->fetch('p', 0))[0], 'h0', "$case: the row");
		$reader->ask('COMMIT');
		$writer->ask("BEGIN; TRUNCATE log_12; INSERT INTO log VALUES (12, 500, 'h0'), (13, 500, 'new')");
		# Bind and Execute of this statement
		$reader->send_message('B', "q\0s_p\0" . pack('nn', 0, 1) . pack('N', 3) . '500' . pack('n', 0));
		$reader->send_message('E', "q\0" . pack('N', 0));
		$reader->send_message('S', '');
		$reader->{socket}->flush;
		$db->wait_until("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'log_12'::regclass", 'the reader to wait for the writer');
		$writer->ask('COMMIT');
		is(join(' ', $reader->answer), "h0\nnew 00000", "$case: the rows that were written while it waited");
		$db->sql("DELETE FROM log WHERE host = 'new'");
		$reader->close;
		$writer->close;
	}
}

# A hot standby.
my $port = OwnCluster::start_standby(max_standby_streaming_delay => '-1', hot_standby_feedback => 'on', wal_receiver_status_interval => '1s');
OwnCluster::catch_up();
{
	my $reader = PsqlSession->new($db->name, port => $port);
	$reader->ask($on);
	like(($reader->ask('EXPLAIN SELECT host FROM log WHERE uid = 700'))[0], qr/PartitionScan/, 'the node on a standby');
	is(($reader->ask('SELECT host FROM log WHERE uid = 700'))[0], 'h0', 'its row');
	$db->sql("UPDATE log SET host = 'changed' WHERE uid = 700; INSERT INTO log VALUES (299, 700, 'more')");
	OwnCluster::catch_up();
	is(($reader->ask('SELECT host FROM log WHERE uid = 700 ORDER BY 1'))[0], "changed\nmore", 'what the primary has written since');
	$db->sql("BEGIN; TRUNCATE log_17; INSERT INTO log VALUES (17, 700, 'after truncate'); COMMIT");
	OwnCluster::catch_up();
	is(($reader->ask('SELECT host FROM log WHERE uid = 700 ORDER BY 1'))[0], "after truncate\nmore", 'and after TRUNCATE');
	$db->sql('VACUUM FULL log_17; REINDEX TABLE log_299; ALTER TABLE log DETACH PARTITION log_17');
	OwnCluster::catch_up();
	is(($reader->ask('SELECT host FROM log WHERE uid = 700 ORDER BY 1'))[0], 'more', 'after VACUUM FULL, REINDEX and DETACH');
	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$db->sql("UPDATE log SET host = 'new' WHERE uid = 700");
	OwnCluster::catch_up();
	is(($reader->ask('SELECT host FROM log WHERE uid = 700'))[0], 'more', 'an older snapshot');
	$reader->ask('COMMIT');
	is(($reader->ask('SELECT host FROM log WHERE uid = 700'))[0], 'new', 'and a new one');
	$reader->close;
}

# Many clients query at once, while partitions are truncated, rewritten, detached and attached. The rows of uid 3,999
# and 8,000 are always there.
{
	my @readers = map { PsqlSession->new($db->name) } 1 .. 20;
	$_->ask("$on SET plan_cache_mode = " . (rand() < 0.5 ? 'auto' : 'force_generic_plan') . "; PREPARE q AS SELECT host FROM log WHERE uid = \$1") foreach @readers;
	my $writer = PsqlSession->new($db->name);
	my @ddl = ('TRUNCATE log_50', 'INSERT INTO log VALUES (50, 2000, \'again\')', 'VACUUM FULL log_99', 'ALTER TABLE log DETACH PARTITION log_51', 'ALTER TABLE log ATTACH PARTITION log_51 FOR VALUES FROM (51) TO (52)',
		'REINDEX TABLE log_200', 'DROP INDEX log_uid_idx', 'CREATE INDEX ON log USING bf (uid)', 'ANALYZE log', 'ALTER TABLE log DETACH PARTITION log_52 CONCURRENTLY', 'DROP TABLE log_52');
	my %answers;
	foreach my $ddl (@ddl)
	{
		$_->send('SELECT host FROM log WHERE uid = 3999; EXECUTE q (8000); SELECT count(*) FROM log WHERE uid IN (3999, 8000)') foreach @readers;
		$writer->ask($ddl);
		$answers{join ' ', ($_->answer)[0, 1]}++ foreach @readers;
	}
	is_deeply(\%answers, {"h99\nh0\n2 00000" => 20 * @ddl}, 'no row is lost beside DDL, and no query fails');
	$_->close foreach @readers, $writer;
}

# A query that finds nothing makes the memory of a session grow. With the node it grows by less than three quarters of
# what it grows by without (bench/partitions has figures).
{
	my $memory = sub {
		my ($switch) = @_;
		my $session = PsqlSession->new($db->name);
		$session->ask("$switch SELECT count(*) FROM pg_class");
		my ($before) = $session->ask('SELECT sum(total_bytes) FROM pg_backend_memory_contexts');
		$session->ask('SELECT host FROM log WHERE uid = -1');
		my ($after) = $session->ask('SELECT sum(total_bytes) FROM pg_backend_memory_contexts');
		$session->close;
		return $after - $before;
	};
	my ($with, $without) = ($memory->($on), $memory->($off));
	cmp_ok($with, '<', $without * 0.75, "memory: $with bytes, without the node $without");
}

# A foreign partition below a view is read as the owner of the view, who alone has a user mapping.
SKIP: {
	skip 'postgres_fdw is not installed', 2 if !$db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
	$db->sql(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$ENV{PGHOST}', port '$ENV{PGPORT}', dbname '@{[$db->name]}');
CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user 'postgres');
CREATE TABLE far (day int, uid int, host text);
INSERT INTO far VALUES (1000, 900, 'far');
CREATE FOREIGN TABLE log_far PARTITION OF log FOR VALUES FROM (1000) TO (1001) SERVER here OPTIONS (table_name 'far');
CREATE VIEW view AS SELECT * FROM log;
SQL
	$db->make_role('reader_052', '');
	$db->sql('GRANT SELECT ON view TO reader_052');
	is($db->sql("$on SET ROLE reader_052; SELECT host FROM view WHERE uid = 900 ORDER BY host"), "far\nh0", 'a foreign partition below a view');
	is($db->sql("$off SET ROLE reader_052; SELECT host FROM view WHERE uid = 900 ORDER BY host"), "far\nh0", 'the same without the node');
	$db->sql('DROP VIEW view; DROP EXTENSION postgres_fdw CASCADE; DROP TABLE far');
}

# A library that is loaded later has the last hook for the paths of a table, and does not call ours.
my $scratch = StreambloomTap::scratch();
StreambloomTap::write_file("$scratch/last.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "optimizer/paths.h"
PG_MODULE_MAGIC;
extern PGDLLEXPORT void _PG_init(void);
static void do_nothing(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte) {}
void _PG_init(void) { set_rel_pathlist_hook = do_nothing; }
C
my (undef, $include) = StreambloomTap::run_program('', $ENV{PG_CONFIG} // 'pg_config', '--includedir-server');
chomp $include;
SKIP:
{
	my ($code) = StreambloomTap::run_program('', 'cc', '-shared', '-fPIC', "-I$include", '-o', "$scratch/last.so", "$scratch/last.c");
	skip 'there is no C compiler, or there are no headers of PostgreSQL', 1 if $code != 0;
	is($db->sql("$on LOAD '$scratch/last.so'; SELECT host FROM log WHERE uid = 900"), 'h0', 'the row beside such a library');
}

# A damaged index gives no estimate, but the planner raises no error.
$db->sql('CREATE TABLE few AS SELECT i * 1000 AS uid FROM generate_series(1, 4) i; ANALYZE few');
my ($path) = DamagedIndex::paths($db, 'log_0_uid_idx');
OwnCluster::stop();
open(my $file, '+<:raw', DamagedIndex::data() . "/$path") or die "cannot open $path: $!";
seek($file, 24, 0);
print $file pack('L', 0xffffffff);
close($file) or die "cannot write $path: $!";
OwnCluster::restart(ignore_checksum_failure => 'on');
foreach my $query ('SELECT host FROM log WHERE uid = 700', 'SELECT * FROM log JOIN few USING (uid)', 'SELECT * FROM log_0 JOIN few USING (uid)')
{
	is($db->sqlstate("$on EXPLAIN $query"), '00000', "a damaged index, and EXPLAIN $query");
}
is($db->sqlstate("$on SELECT host FROM log WHERE uid = 700"), 'XX002', 'but the query fails');

done_testing();
