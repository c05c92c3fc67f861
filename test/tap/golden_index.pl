# The pages of bf indexes, byte by byte. A patch version must write them as the patches before it do, and must be able
# to read the pages that those have written (docs/limits.md).
#
# golden/index*.txt have the pieces of 32 bytes that are not all zeros (of one index, a digest instead of its filter
# pages). Bytes that differ each time an index is made count as zeros: LSN, checksum, and the transaction ids of the
# horizons on filter pages. With STREAMBLOOM_GOLDEN=FOLDER the test writes files that differ into this folder, which the
# user who runs the server has to be able to write to.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Digest::MD5 qw(md5_hex);
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start();

my $db = StreambloomTap->new('048');
my $page = 8192;

# The size of each row is the same everywhere, so the rows lie on the same pages everywhere (src/pg/index/README.md
# explains the words).
#
# t_bf: NULLs and keys are among the items; rows that come later make a second stretch in the directory.
#
# levels_bf: 450 ranges, most of which are empty. Three groups of 125 of them are one stretch, and level 1 has a group
# with three ranges. One range of the column with grams is full: its row
# became long after the build.
#
# directory_bf: of 125 ranges the 40 in the middle have 100 times as many items as the others, so they are three groups,
# and each begins a stretch. The directory goes on on a page of its own. Its filter pages are known by a digest of all.
my @indexes = (
	{
		table => 't', index => 't_bf', golden => 'index', rows => 900, ranges => 'a 0: 8 ranges, 2 groups, 0 full; b 0: 8 ranges, 2 groups, 0 full; c 0: 8 ranges, 2 groups, 0 full', sql => <<'SQL',
CREATE TABLE t (a integer, b text, c text[]);
INSERT INTO t SELECT i, CASE WHEN i % 10 > 0 THEN 'item ' || i % 50 END, ARRAY['x' || i % 7, 'y'] FROM generate_series(1, 600) i;
CREATE INDEX t_bf ON t USING bf (a, b, c) WITH (pages_per_range = 1, false_positive_rate = 0.1, levels = 2);
INSERT INTO t SELECT 10000 + i, 'late', '{}' FROM generate_series(1, 300) i;
SELECT bf_summarize_new_values('t_bf');
SQL
		answers => [["a = 234", 1], ["b = 'item 7'", 12], ['b IS NULL', 60], ["c \@> '{x3}'", 86], ["b = 'late'", 300], ['a = -1', 0]],
		new => "(-1, 'new', NULL)", found => 'a = -1',
	},
	{
		table => 'levels', index => 'levels_bf', golden => 'index_levels', rows => 45,
		ranges => 'a 0: 450 ranges, 4 groups, 0 full; g 0: 450 ranges, 4 groups, 1 full; a 1: 4 ranges, 1 groups, 0 full; g 1: 4 ranges, 1 groups, 0 full', sql => <<'SQL',
CREATE TABLE levels (a integer, g text, filler text) WITH (fillfactor = 10);
ALTER TABLE levels ALTER g SET STORAGE PLAIN, ALTER filler SET STORAGE PLAIN;
INSERT INTO levels SELECT i, 'line ' || i % 7, repeat('x', 800) FROM generate_series(0, 449) i;
CREATE INDEX levels_bf ON levels USING bf (a, g gram_ops (n = 3, false_positive_rate = 0.2)) WITH (pages_per_range = 1, false_positive_rate = 0.2) WHERE a % 10 = 0;
SELECT bf_desummarize_range('levels_bf', 200);
UPDATE levels SET g = (SELECT string_agg(md5(j::text), '') FROM generate_series(1, 200) j) WHERE a = 200;
SELECT bf_summarize_range('levels_bf', 200);
SQL
		answers => [['a = 230 AND a % 10 = 0', 1], ["g LIKE '%ne 3%' AND a % 10 = 0", 7], ["g LIKE '%zebra%' AND a % 10 = 0", 0], ['a = -10 AND a % 10 = 0', 0]],
		new => "(-10, 'a zebra')", found => "g LIKE '%zebra%' AND a % 10 = 0",
	},
	{
		table => 'directory', index => 'directory_bf', golden => 'index_directory', rows => 9125, ranges => 'a 0: 9125 ranges, 219 groups, 0 full; a 1: 73 ranges, 2 groups, 0 full', digest => 1, sql => <<'SQL',
CREATE TABLE directory (a integer[]) WITH (fillfactor = 10);
ALTER TABLE directory ALTER a SET STORAGE PLAIN;
INSERT INTO directory SELECT ARRAY(SELECT i * 1000 + CASE WHEN i % 125 BETWEEN 40 AND 79 THEN j ELSE 0 END FROM generate_series(1, 100) j) || array_fill(i, ARRAY[100])
	FROM generate_series(0, 9124) i;
CREATE INDEX directory_bf ON directory USING bf (a) WITH (pages_per_range = 1, false_positive_rate = 0.000001);
SQL
		answers => [["a \@> '{5060007}'", 1], ["a \@> '{17}'", 1], ["a \@> '{5060007, 5060100}'", 1], ["a \@> '{5060101}'", 0]],
		new => "('{-1}')", found => "a \@> '{-1}'",
	},
);

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
	return $lines;
}

# The text of a golden file: its pages, and for an index with a digest instead of filter pages, the digest.
sub golden_of
{
	my ($index, $bytes) = @_;
	my $filters = '';

	for (my $at = 0; $at < length($bytes); $at += $page)
	{
		substr($bytes, $at, 10, "\0" x 10);    # LSN and checksum
		next if substr($bytes, $at + 24, 4) ne 'BfFl';
		substr($bytes, $at + 48, 16, "\0" x 16);    # horizons of a filter page
		$filters .= substr($bytes, $at, $page, "\0" x $page) if $index->{digest};
	}
	return length($bytes) / $page . " pages\n" . ($index->{digest} ? md5_hex($filters) . " filter pages\n" : '') . lines_of($bytes);
}

# The ranges, groups and full ranges of each column and level.
sub levels_of
{
	my ($index) = @_;
	return $db->sql(<<"SQL");
SELECT string_agg(format('%s %s: %s ranges, %s groups, %s full', "column", level, ranges, groups, full_ranges), '; ' ORDER BY level, "column") FROM bf_index_stats('$index->{index}')
SQL
}

foreach my $index (@indexes)
{
	$db->sql($index->{sql});
	is(levels_of($index), $index->{ranges}, "$index->{index} has the ranges that it is made for");
}
$db->sql('CHECKPOINT');
foreach my $index (@indexes)
{
	$index->{path} = $db->sql("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('$index->{index}')");
	my $bytes = StreambloomTap::read_file($index->{path});
	my $golden = StreambloomTap::read_file("$FindBin::Bin/golden/$index->{golden}.txt");
	is(length($bytes) % $page, 0, "$index->{index} has whole pages");
	my $now = golden_of($index, $bytes);
	if (!ok($now eq $golden, "$index->{index} is written as it was"))
	{
		StreambloomTap::write_file("$ENV{STREAMBLOOM_GOLDEN}/$index->{golden}.txt", $now) if $ENV{STREAMBLOOM_GOLDEN};
		my @was = split /\n/, $golden;
		my @is = split /\n/, $now;
		my @differ = grep { ($was[$_] // '') ne ($is[$_] // '') } 0 .. ($#was > $#is ? $#was : $#is);
		diag(@differ . " lines differ, the first:\n" . ($was[$differ[0]] // '') . "\n" . ($is[$differ[0]] // ''));
	}

	# The golden bytes, to be written over the index: this version must read them. Filter pages of which only the digest
	# is known stay as they are.
	my ($first, @lines) = split /\n/, $golden;
	my ($pages) = $first =~ /^(\d+) pages$/ or die "golden/$index->{golden}.txt does not begin with its number of pages";
	my $old = "\0" x ($pages * $page);
	if ($index->{digest})
	{
		shift @lines;
		for (my $at = 0; $at < length($old); $at += $page)
		{
			substr($old, $at, $page, substr($bytes, $at, $page)) if substr($bytes, $at + 24, 4) eq 'BfFl';
		}
	}
	foreach (@lines)
	{
		my ($at, $piece) = split / /;
		substr($old, hex $at, 32, pack('H*', $piece));
	}
	$index->{old} = $old;
}
OwnCluster::stop();
StreambloomTap::write_file($_->{path}, $_->{old}) foreach @indexes;
OwnCluster::restart(ignore_checksum_failure => 'on');

my $ask = 'SET enable_seqscan = off; SET enable_indexonlyscan = off; SET client_min_messages = error;';
foreach my $index (@indexes)
{
	my ($table, $name) = @$index{'table', 'index'};
	is($db->sql("SELECT bf_index_check('$name')"), $index->{rows}, "the old $name has every row");
	is(levels_of($index), $index->{ranges}, "$name: and the same ranges");
	foreach (@{$index->{answers}})
	{
		my ($condition, $rows) = @$_;
		like($db->sql("$ask EXPLAIN (COSTS OFF) SELECT count(*) FROM $table WHERE $condition"), qr/Bitmap Index Scan on $name/, "$condition: by the index");
		is($db->sql("$ask SELECT count(*) FROM $table WHERE $condition"), $rows, "$condition: its rows");
		next if $rows > 0;
		my $plan = $db->sql("$ask EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM $table WHERE $condition");
		is($plan =~ /Heap Blocks|actual rows=[1-9]/ ? $plan : 'nothing', 'nothing', "$condition, which no filter has: no page is read");
	}
	is($db->sql("INSERT INTO $table VALUES $index->{new}; $ask SELECT count(*) FROM $table WHERE $index->{found}"), 1, "$name is written to");
	is($db->sql("SELECT bf_index_check('$name')"), $index->{rows} + 1, "$name has that row too");
}

done_testing();
