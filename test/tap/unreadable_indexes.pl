# The view bf_indexes when it cannot read some indexes. Damaged indexes are named, and the others are shown. On a
# standby unlogged indexes are named, the others are shown as on the primary, and the view says that its commands are
# for the primary.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use DamagedIndex;
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
DamagedIndex::prepare();
my $db = StreambloomTap->new('035');
my $data = DamagedIndex::data();
DamagedIndex::install($db);

# Index 0 is not damaged.
my @damage = (
	undef,
	['the meta page', 24 + 4 * 20],
	['the magic number of the meta page', 24],
	['the first entry of the directory', 24 + 120 + 24 * 2 + 2000 + 4],
	['the header of the meta page', 12],
	['filter pages', map { $_ * 8192 + 24 } 1 .. 6]);

$db->sql(join '', map { DamagedIndex::make_table($_) } 0 .. $#damage + 3);
$db->sql('CREATE UNLOGGED TABLE unlogged (a int); INSERT INTO unlogged SELECT generate_series(1, 1000); CREATE INDEX unlogged_a ON unlogged USING bf (a)');
my ($empty, $gone, $no_table) = ($#damage + 1, $#damage + 2, $#damage + 3);
my @paths = DamagedIndex::paths($db, map { "t${_}_bf" } 0 .. $gone);
my ($table_path) = DamagedIndex::paths($db, "t$no_table");
OwnCluster::stop();
foreach my $i (grep { defined $damage[$_] } 0 .. $#damage)
{
	open(my $file, '+<:raw', "$data/$paths[$i]") or die "cannot open $paths[$i]: $!";
	my (undef, @offsets) = @{$damage[$i]};
	foreach my $offset (@offsets)
	{
		seek($file, $offset, 0);
		print $file pack('L', 0xfffffff0);
	}
	close($file) or die "cannot write $paths[$i]: $!";
}
truncate("$data/$paths[$empty]", 0) or die "cannot cut $paths[$empty]: $!";
unlink("$data/$paths[$gone]") or die "cannot remove $paths[$gone]: $!";
unlink("$data/$table_path") or die "cannot remove $table_path: $!";
OwnCluster::restart();

sub advice
{
	my ($i) = @_;
	return $db->sql("SELECT advice FROM bf_indexes WHERE index = 't${i}_bf'::regclass");
}

is($db->sql('SELECT count(*) FROM bf_indexes'), $gone + 3, 'every index has a row');
unlike(advice(0), qr/damaged/, 'an index that is not damaged');
like(advice($_), qr/(index "t${_}_bf" is damaged|invalid page).*: REINDEX INDEX CONCURRENTLY t${_}_bf/, "damaged: $damage[$_][0]") foreach 1 .. $#damage;
like(advice($empty), qr/the file is empty: REINDEX INDEX CONCURRENTLY/, 'an empty file');
like(advice($gone), qr/could not open file.*: REINDEX INDEX CONCURRENTLY/, 'a file that is gone');
like(advice($no_table), qr/^the table itself cannot be read: could not open file "[^"]+": No such file or directory$/, 'a table whose file is gone');
mkdir("$data/$paths[$gone]") or die "cannot make $paths[$gone]: $!";
like(advice($gone), qr/could not open file.*: REINDEX INDEX CONCURRENTLY/, 'a directory instead of a file');
rmdir("$data/$paths[$gone]") or die "cannot remove $paths[$gone]: $!";
open(my $forbidden, '>', "$data/$paths[$gone]") or die "cannot make $paths[$gone]: $!";
close($forbidden);
chmod(0, "$data/$paths[$gone]") or die "cannot change $paths[$gone]: $!";
like(advice($gone), qr/could not open file.*: REINDEX INDEX CONCURRENTLY/, 'a file that the server may not open');
unlink("$data/$paths[$gone]") or die "cannot remove $paths[$gone]: $!";
is($db->sql("BEGIN; SELECT count(*) FROM bf_indexes WHERE advice LIKE '%REINDEX%'; SELECT count(*) > 0 FROM t0; COMMIT"), ($gone) . "\nt",
	'the transaction goes on');
$db->sql("REINDEX INDEX t${_}_bf") foreach 1 .. $empty;
unlike(advice($_), qr/damaged/, "t${_}_bf after REINDEX") foreach 1 .. $empty;
$db->sql("DROP TABLE t$gone, t$no_table");

# a standby
$db->sql('CREATE TABLE late (a int); CREATE INDEX late_a ON late USING bf (a); INSERT INTO late SELECT generate_series(1, 10000)');
my $port = OwnCluster::start_standby();
$db->sql("CREATE TABLE web (at timestamptz, url text); SELECT tbf_rollup_create('heat', 'web', 'url', 'at')");
my $shown = 'SELECT index, bytes, ranges, summarized FROM bf_indexes WHERE bytes IS NOT NULL AND index <> \'unlogged_a\'::regclass ORDER BY index::text';
my $on_primary = $db->sql($shown);
{
	OwnCluster::catch_up();
	local $ENV{PGPORT} = $port;
	is($db->sql($shown), $on_primary, 'a standby shows the same');
	is($db->sql("SELECT bytes IS NULL, advice FROM bf_indexes WHERE index = 'unlogged_a'::regclass"), 't|unlogged: standbys have nothing of it', 'but of unlogged indexes');
	like($db->sql("SELECT advice FROM bf_indexes WHERE index = 'late_a'::regclass"), qr/always read: on the primary server: CALL bf_summarize\('late'\)/,
		'commands are for the primary');
	$db->fails_like("CALL $_", '55000', qr/recovery is in progress.*HINT:.*on the primary server/s, "$_ says where to go")
		foreach "bf_summarize('late')", "tbf_rollup_refresh('heat')";
	$db->fails_like("SELECT tbf_rollup_create('heat2', 'web', 'url', 'at')", '25006', qr/read-only transaction/, 'no roll-up is made there');
}

is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
