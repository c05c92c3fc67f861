# Logical replication of tables with filters, with REPLICA IDENTITY FULL and with a key. Inserts, updates and deletes
# arrive, the subscriber's worker raises no error, and the values are the same to the byte. With REPLICA IDENTITY FULL
# the subscriber finds the old row by comparing whole rows, so it needs an equality operator for each column's type.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(wal_level => 'logical', max_replication_slots => 10, max_worker_processes => 16);
my $publisher = StreambloomTap->new('037_publisher');
my $subscriber = StreambloomTap->new('037_subscriber');
my @identities = ('whole_rows', 'by_key');

foreach my $db ($publisher, $subscriber)
{
	$db->sql(<<'SQL');
CREATE TABLE whole_rows (id int, b bf, s sbf, i ibf, t tbf);
ALTER TABLE whole_rows REPLICA IDENTITY FULL;
CREATE TABLE by_key (LIKE whole_rows, PRIMARY KEY (id));
SQL
}
# Both databases are in one cluster. There CREATE SUBSCRIPTION would wait for itself if it created the slot.
my $from = $publisher->name;
$publisher->sql("CREATE PUBLICATION filters FOR TABLE whole_rows, by_key; SELECT pg_create_logical_replication_slot('filters', 'pgoutput')");
$subscriber->sql("CREATE SUBSCRIPTION filters CONNECTION 'host=$ENV{PGHOST} port=$ENV{PGPORT} user=$ENV{PGUSER} dbname=$from' PUBLICATION filters WITH (create_slot = false, copy_data = false)");

sub content
{
	my ($db, $table) = @_;
	return $db->sql("SELECT string_agg(concat_ws(':', id, md5(b::bytea), md5(s::bytea), md5(i::bytea), md5(t::bytea)), ' ' ORDER BY id, b) FROM $table");
}

# Waits until the subscriber has applied all that was written so far, or its worker has raised an error, and then
# compares the tables.
sub arrives
{
	my ($what) = @_;
	my $written = $publisher->sql('SELECT pg_current_wal_lsn()');

	foreach (1 .. 600)
	{
		last if $publisher->sql("SELECT confirmed_flush_lsn >= '$written' FROM pg_replication_slots WHERE slot_name = 'filters'") eq 't';
		last if OwnCluster::server_log() =~ /ERROR:.*(?:equality operator|could not)/;
		select(undef, undef, undef, 0.2);
	}
	foreach my $table (@identities)
	{
		is(content($subscriber, $table), content($publisher, $table), "$what: $table");
	}
}

foreach my $table (@identities)
{
	$publisher->sql(<<"SQL");
INSERT INTO $table SELECT n, bf_empty(100) || n, sbf_add(sbf_empty(90), n), ibf_add(ibf_empty(90), n, 1), tbf_add(tbf_empty(10, top => 2), n, '2024-01-01') FROM generate_series(1, 20) n;
INSERT INTO $table SELECT 21, bf_agg(n), NULL, ibf_empty(90), tbf_agg(n, '2024-01-01') FROM generate_series(1, 100000) n;
SQL
}
arrives('INSERT');
foreach my $table (@identities)
{
	$publisher->sql(<<"SQL");
UPDATE $table SET b = b || 1000 WHERE id % 4 = 0;
UPDATE $table SET t = tbf_add(t, 7, '2024-01-02'), s = sbf_add(s, 7) WHERE id % 3 = 0;
UPDATE $table SET i = ibf_add(i, 1001, 0.5) WHERE id = 21;
UPDATE $table SET id = 22 WHERE id = 21;
SQL
}
arrives('UPDATE');
$publisher->sql("DELETE FROM $_ WHERE id % 5 = 0 OR id > 20") foreach @identities;
arrives('DELETE');
is($subscriber->sql("SELECT count(*) FROM $_"), 16, "$_ has its rows") foreach @identities;
unlike(OwnCluster::server_log(), qr/ERROR:/, 'nothing failed meanwhile');

$subscriber->sql('ALTER SUBSCRIPTION filters DISABLE; ALTER SUBSCRIPTION filters SET (slot_name = NONE); DROP SUBSCRIPTION filters');
$publisher->wait_until("SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'filters'", 'the worker to end');
$publisher->sql("SELECT pg_drop_replication_slot('filters')");
done_testing();
