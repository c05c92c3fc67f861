# Indexes of tables that get their rows from elsewhere: a logical subscriber, whose partitions are indexed while it
# receives rows, and a dump that is restored. Every row is covered there too, and the indexes have the same definitions.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(wal_level => 'logical', max_worker_processes => 16, max_logical_replication_workers => 8);

my $here = StreambloomTap->new('023');
my $there = StreambloomTap->new('023_there');

my $indexed = 'SET enable_seqscan = off; SET enable_indexscan = off;';

# Every index is whole; an index finds every value that is there; and for a value that is not there it leaves out
# nearly all pages.
sub all_covered
{
	my ($db, $table, $name) = @_;
	my ($indexes, $rows) = split /\|/, $db->sql(<<"SQL");
SELECT count(*), sum(bf_index_check(indexrelid)) FROM pg_partition_tree('$table') t JOIN pg_index i ON i.indrelid = t.relid JOIN pg_class c ON c.oid = indexrelid
JOIN pg_am am ON am.oid = c.relam WHERE amname = 'bf' AND relkind = 'i'
SQL
	cmp_ok($indexes, '>', 0, "$name: there are indexes");
	cmp_ok($rows, '>', 0, "$name: they cover all rows");
	is($db->sql("$indexed SELECT count(*) FROM (SELECT uid, count(*) AS n FROM $table GROUP BY uid) d WHERE n <> (SELECT count(*) FROM $table i WHERE i.uid = d.uid)"),
		0, "$name: each value is found");
	my $plan = $db->sql("$indexed EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM $table WHERE uid = -1");
	like($plan, qr/Bitmap Index Scan|\(PartitionScan\)|Verdict: none/, "$name: by an index");
	unlike($plan, qr/lossy=[0-9]{2}/, "$name: which skips");
}

# ------------------------------------------------------------- logical replication

my $table = <<'SQL';
CREATE TABLE log (id bigint, day int, uid bigint, url text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%1$s) TO (%s)', d, d + 1) FROM generate_series(1, 4) d \gexec
SQL
$here->sql("$table INSERT INTO log SELECT i, 1 + i % 4, i * 7919 % 100000, '/' || i FROM generate_series(1, 8000) i");
$there->sql("$table CREATE INDEX log_uid ON log USING bf (uid) WITH (pages_per_range = 2);" .
	'CREATE INDEX log_both ON log USING bf (url, uid) WITH (pages_per_range = 4, false_positive_rate = 0.01) WHERE uid >= 0;');
$here->sql('CREATE PUBLICATION log_rows FOR TABLE log WITH (publish_via_partition_root = true)');
$here->sql("SELECT pg_create_logical_replication_slot('log_rows', 'pgoutput')");
$there->sql("CREATE SUBSCRIPTION log_rows CONNECTION 'host=$ENV{PGHOST} port=$ENV{PGPORT} user=$ENV{PGUSER} dbname=" . $here->name .
	"' PUBLICATION log_rows WITH (create_slot = false, slot_name = 'log_rows')");

sub catch_up
{
	$there->wait_until("SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel", 'the first copy');
	my $lsn = $here->sql('SELECT pg_current_wal_lsn()');
	$here->wait_until("SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 'log_rows'", "the subscriber to come to $lsn");
}

my $sum = 'SELECT count(*), sum(id), sum(uid), md5(string_agg(url, \' \' ORDER BY id)) FROM log';
subtest 'a logical subscriber' => sub {
	catch_up();
	is($there->sql($sum), $here->sql($sum), 'has the rows that were there');
	$there->sql('CALL bf_summarize(\'log\')');
	all_covered($there, 'log', 'copied');
	foreach my $round (1 .. 5)
	{
		$here->sql("INSERT INTO log SELECT i, 1 + i % 4, i * 7919 % 100000, '/new/' || i FROM generate_series(10000 + $round * 1000, 10500 + $round * 1000) i;" .
			"UPDATE log SET uid = uid + 1000000 WHERE id % 50 = $round; UPDATE log SET url = url || '!' WHERE id % 60 = $round; DELETE FROM log WHERE id % 70 = $round;" .
			"UPDATE log SET day = 1 + day % 4 WHERE id % 80 = $round");
		# summaries come and go while the rows arrive
		$there->sql("SELECT bf_summarize_new_values(indexrelid), bf_desummarize_range(indexrelid, $round) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = relam WHERE amname = 'bf' AND relkind = 'i'");
		$there->sql('VACUUM log') if $round % 2 == 0;
	}
	catch_up();
	is($there->sql($sum), $here->sql($sum), 'has the rows that came');
	all_covered($there, 'log', 'streamed');
	is($there->sql("$indexed SELECT count(*) FROM log WHERE uid >= 0 AND url = '/new/12345' AND uid = 12345::bigint * 7919 % 100000"),
		$here->sql("SELECT count(*) FROM log WHERE url = '/new/12345'"), 'a row of the stream is found by two columns');
	$here->sql('TRUNCATE log');
	$here->sql("INSERT INTO log SELECT i, 1 + i % 4, i, '/after/' || i FROM generate_series(1, 2000) i");
	catch_up();
	is($there->sql($sum), $here->sql($sum), 'and those after a TRUNCATE');
	$there->sql('CALL bf_summarize(\'log\')');
	all_covered($there, 'log', 'after TRUNCATE');
};
$there->sql('ALTER SUBSCRIPTION log_rows DISABLE; ALTER SUBSCRIPTION log_rows SET (slot_name = NONE); DROP SUBSCRIPTION log_rows');
$here->wait_until("SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'log_rows'", 'the slot to be free');
$here->sql("SELECT pg_drop_replication_slot('log_rows')");

# ------------------------------------------------------------------ dump and restore

$there->sql(<<'SQL');
CREATE TABLE kinds (uid bigint, small smallint, word text, at timestamptz, amount numeric, tags text[], doc jsonb, address inet);
INSERT INTO kinds SELECT i * 31, i % 30000, 'word ' || i, timestamptz '2026-01-01' + i * interval '1 minute', i / 7.0, ARRAY['t' || i % 50], jsonb_build_object('i', i), '10.0.0.0'::inet + i
	FROM generate_series(1, 5000) i;
CREATE INDEX kinds_all ON kinds USING bf (uid, small, word, at, amount, tags, doc, address) WITH (pages_per_range = 4);
CREATE INDEX kinds_lower ON kinds USING bf (lower(word), (uid % 1000)) WITH (pages_per_range = 8) WHERE small > 100;
CREATE UNLOGGED TABLE unlogged AS SELECT uid FROM kinds;
CREATE INDEX unlogged_uid ON unlogged USING bf (uid);
CREATE MATERIALIZED VIEW seen AS SELECT uid, word FROM kinds;
CREATE INDEX seen_uid ON seen USING bf (uid);
SQL
my $definitions = "SELECT c.oid::regclass, pg_get_indexdef(c.oid), reloptions FROM pg_class c JOIN pg_am am ON am.oid = relam WHERE amname = 'bf' ORDER BY c.oid::regclass::text";

foreach my $way (['plain', 'psql'], ['custom', 'pg_restore'])
{
	my ($format, $program) = @$way;
	my $name = "023_restored_$format";
	my $restored = StreambloomTap->new($name, bare => 1);
	my $file = StreambloomTap::scratch() . "/dump.$format";
	subtest "dump and restore, $format" => sub {
		my ($code, $out, $err) = StreambloomTap::run_program('', StreambloomTap::client_program('pg_dump'), "--format=$format", '-f', $file, $there->name);
		is($code, 0, 'dumped') or diag($err);
		my @command = $format eq 'plain' ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file) : ('pg_restore', '-e', '-j', '2', $file);
		($code, $out, $err) = StreambloomTap::run_program('', StreambloomTap::client_program(shift @command), '-d', $restored->name, @command);
		is($code, 0, 'restored') or diag($err);
		is($restored->sql($definitions), $there->sql($definitions), 'each index is what it was');
		all_covered($restored, 'log', 'partitions');
		cmp_ok($restored->sql('SELECT sum(bf_index_check(i)) FROM unnest(ARRAY[\'kinds_all\', \'kinds_lower\', \'unlogged_uid\', \'seen_uid\']::regclass[]) i'), '>=', 4 * 4800, 'other tables');
		is($restored->sql("$indexed SELECT count(*) FROM kinds WHERE small = 4000 AND word = 'word 4000' AND amount = 4000 / 7.0 AND doc = '{\"i\": 4000}'"), 1, 'a row is found');
	};
}
is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
