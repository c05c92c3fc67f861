# The pages of a bf index, byte by byte. A patch version must write them as the patches before it do, and must be able
# to read the pages that those have written (docs/compatibility.md).
#
# golden/index.txt has the pieces of 32 bytes that are not all zeros. Bytes that differ each time an index is made count
# as zeros: LSN, checksum, and the transaction ids of the horizons on filter pages.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start();

my $db = StreambloomTap->new('048');
my $golden = StreambloomTap::read_file("$FindBin::Bin/golden/index.txt");
my $page = 8192;

# The size of each row is the same everywhere, so the rows lie on the same pages everywhere. There are NULLs and keys
# among the items, and two stretches in the directory; level 1 is allowed, but has no groups yet
# (src/pg/index/README.md explains the words).
$db->sql(<<'SQL');
CREATE TABLE t (a integer, b text, c text[]);
INSERT INTO t SELECT i, CASE WHEN i % 10 > 0 THEN 'item ' || i % 50 END, ARRAY['x' || i % 7, 'y'] FROM generate_series(1, 600) i;
CREATE INDEX t_bf ON t USING bf (a, b, c) WITH (pages_per_range = 1, false_positive_rate = 0.1, levels = 2);
INSERT INTO t SELECT 10000 + i, 'late', '{}' FROM generate_series(1, 300) i;
SELECT bf_summarize_new_values('t_bf');
CHECKPOINT;
SQL
my $path = $db->sql("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('t_bf')");
my $bytes = StreambloomTap::read_file($path);
is(length($bytes) % $page, 0, 'the index has whole pages');

# The bytes as lines of an offset and 32 bytes; lines of zeros are left out.
sub lines_of
{
	my ($bytes) = @_;
	my $lines = '';

	for (my $at = 0; $at < length($bytes); $at += 32)
	{
		my $piece = substr($bytes, $at, 32);
		$lines .= sprintf("%06x %s\n", $at, unpack('H*', $piece)) if $piece =~ /[^\0]/;
	}
	return sprintf("%d pages\n%s", length($bytes) / $page, $lines);
}

my $masked = $bytes;
for (my $at = 0; $at < length($masked); $at += $page)
{
	substr($masked, $at, 10, "\0" x 10);                                                  # LSN and checksum
	substr($masked, $at + 48, 16, "\0" x 16) if substr($masked, $at + 24, 4) eq 'BfFl';    # horizons of a filter page
}
my $same = lines_of($masked) eq $golden;
ok($same, 'the index is written as it was');
if (!$same)
{
	StreambloomTap::write_file(StreambloomTap::scratch() . '/index.txt', lines_of($masked));
	my @was = split /\n/, $golden;
	my @is = split /\n/, lines_of($masked);
	my @differ = grep { ($was[$_] // '') ne ($is[$_] // '') } 0 .. ($#was > $#is ? $#was : $#is);
	diag(@differ . " lines differ, the first:\n" . ($was[$differ[0]] // '') . "\n" . ($is[$differ[0]] // ''));
	diag(lines_of($masked)) if $ENV{STREAMBLOOM_SHOW_GOLDEN};
}

# The golden bytes are written over the index, and this version reads them.
my ($first, @lines) = split /\n/, $golden;
my ($pages) = $first =~ /^(\d+) pages$/ or die 'golden/index.txt does not begin with its number of pages';
my $old = "\0" x ($pages * $page);
foreach (@lines)
{
	my ($at, $piece) = split / /;
	substr($old, hex $at, 32, pack('H*', $piece));
}
OwnCluster::stop();
StreambloomTap::write_file($path, $old);
OwnCluster::restart(ignore_checksum_failure => 'on');
is($db->sql("SELECT bf_index_check('t_bf')"), 900, 'the old index has every row');
my $ask = 'SET enable_seqscan = off; SET enable_indexonlyscan = off;';
foreach (["a = 234", 1], ["b = 'item 7'", 12], ['b IS NULL', 60], ["c \@> '{x3}'", 86], ["b = 'late'", 300], ['a = -1', 0])
{
	my ($condition, $rows) = @$_;
	like($db->sql("$ask EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE $condition"), qr/Bitmap Index Scan on t_bf/, "$condition: by the index");
	is($db->sql("$ask SELECT count(*) FROM t WHERE $condition"), $rows, "$condition: its rows");
}
is($db->sql("$ask SET client_min_messages = error; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM t WHERE a = -1") =~ /Heap Blocks|actual rows=[1-9]/ ? 'read' : 'nothing', 'nothing',
	'a value that no filter has: no page is read');
is($db->sql("INSERT INTO t VALUES (-1, 'new', NULL); $ask SELECT b FROM t WHERE a = -1"), 'new', 'and it is written to');
is($db->sql("SELECT bf_index_check('t_bf')"), 901, 'and has that row too');

done_testing();
