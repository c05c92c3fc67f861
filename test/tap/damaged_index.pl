# Damages the meta page, the directory and the filter pages of indexes, word by word. Every call must answer with the
# right rows or with XX002 (index_corrupted); with XX001 only where PostgreSQL itself checks the damaged word. Nothing
# may crash, and the file must not grow with the calls. REINDEX must mend the index.
#
# The words are written while the server is stopped, each into the index of a table of its own. A value that a word has
# already is left out. Two further subtests make calls of one damaged index again and again, and damage an index that is
# large enough for a directory page.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use DamagedIndex;
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
DamagedIndex::prepare();

my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
srand($seed);
diag("seed $seed");
my $db = StreambloomTap->new('024');
my $data = DamagedIndex::data();
DamagedIndex::install($db);

my @values = (0, 1, 0x7fffffff, 0xffffffff, 'random');

# Where to write: [a name, the offset in the file, whether PostgreSQL itself checks this word (page headers: XX001)].
# The first two words of a page are its LSN, which the server uses and the index does not.
sub words
{
	my ($name, $offset, @numbers) = @_;
	return map { ["$name, word $_", $offset + 4 * $_, 0] } @numbers;
}
# Behind the page header the meta page has 120 bytes, 24 bytes for each column, the block numbers of 500 directory
# pages, and then entries of the directory.
my $entries = 120 + 24 * 2 + 2000;
my @places = (
	(map { ["header of block $_->[0], word $_->[1]", $_->[0] * 8192 + 4 * $_->[1], 1] } map { my $b = $_; map { [$b, $_] } 2 .. 5 } 0, 1, 2),
	words('meta page', 24, 0 .. $entries / 4 - 501),
	words('directory', 24 + $entries - 2000, 0, 1, 499),
	words('entries', 24 + $entries, 0 .. 23),
	(map { words("block $_", $_ * 8192 + 24, 0 .. 8) } 1, 2, 6));
my @cases = map { my $place = $_; map { [@$place, $_ eq 'random' ? int(rand(2**32)) : $_] } @values } @places;
# the states of four ranges: full, and a state that does not exist
push @cases, map { my $place = $_; map { [@$place, $_] } 0x03030303, 0x04040404 } map { words("block $_", $_ * 8192 + 24, 8) } 1, 2, 6;
# and files that are too short
push @cases, map { ["a file of $_ bytes", 'cut', 0, $_] } 0, 100, 8192, 8192 + 100, 3 * 8192, 6 * 8192;

sub damage
{
	my ($path, $case) = @_;
	my ($name, $offset, $header, $value) = @$case;

	if ($offset eq 'cut')
	{
		truncate("$data/$path", $value) or die "cannot cut $path: $!";
		return;
	}
	open(my $file, '+<:raw', "$data/$path") or die "cannot open $path: $!";
	seek($file, $offset, 0);
	print $file pack('L', $value);
	close($file) or die "cannot write $path: $!";
}

sub word_at
{
	my ($path, $offset) = @_;

	open(my $file, '<:raw', "$data/$path") or die "cannot open $path: $!";
	seek($file, $offset, 0);
	read($file, my $word, 4);
	close($file);
	return unpack('L', $word);
}

subtest 'each word of a small index' => sub {
	$db->sql(DamagedIndex::make_table('model'));
	my ($model) = DamagedIndex::paths($db, 'tmodel_bf');
	@cases = grep { $_->[1] eq 'cut' || word_at($model, $_->[1]) != $_->[3] } @cases;
	$db->sql(join '', map { DamagedIndex::make_table($_) } 0 .. $#cases);
	my @paths = DamagedIndex::paths($db, map { "t${_}_bf" } 0 .. $#cases);
	OwnCluster::stop();
	damage($paths[$_], $cases[$_]) foreach 0 .. $#cases;
	OwnCluster::restart();
	my ($bad, $noticed) = (0, 0);
	my $session = PsqlSession->new($db->name);
	foreach my $i (0 .. $#cases)
	{
		my ($errors, @wrong) = DamagedIndex::wrongs($session, "t$i", $cases[$i][2] || $cases[$i][1] eq 'cut', 1, 20);
		$noticed++ if $errors > 0;
		next if !@wrong;
		$bad++;
		my %seen;
		diag("$cases[$i][0] = $cases[$i][3]: " . join('; ', grep { !$seen{$_}++ } @wrong));
	}
	$session->close;
	is($bad, 0, scalar(@cases) . ' damaged words and files: right rows or XX002, and REINDEX mends them');
	cmp_ok($noticed, '>', @cases / 2, "$noticed were noticed");
};

subtest 'errors leave no memory behind' => sub {
	$db->sql(DamagedIndex::make_table('m'));
	my ($path) = DamagedIndex::paths($db, 'tm_bf');
	OwnCluster::stop();
	# the number of groups in an entry
	damage($path, ['groups', 24 + $entries + 4, 0, 100]);
	OwnCluster::restart();
	my $grown = $db->sql(<<'SQL');
SELECT ends('SELECT * FROM bf_index_stats(''tm_bf'')') FROM generate_series(1, 100) \g /dev/null
SELECT sum(total_bytes) AS before FROM pg_backend_memory_contexts \gset
SELECT ends('SELECT * FROM bf_index_stats(''tm_bf'')') FROM generate_series(1, 2000) \g /dev/null
SELECT sum(total_bytes) - :before < 1000000 FROM pg_backend_memory_contexts;
SQL
	is($grown, 't', '2,000 of them');
};

# 32 columns, so that 34 entries fill the meta page and the others are on a directory page. The groups, of 125 pages
# each, have filters of alternating sizes, so each group needs an entry of its own. For that, every other group has
# pages whose one row brings so many items that they need more than one line of a filter.
subtest 'a directory page' => sub {
	my $columns = join ', ', 'items integer[]', map { "v$_ integer" } 4 .. 32;
	my $names = join ', ', 'v', 'w', 'items', map { "v$_" } 4 .. 32;
	my $directory = 24 + 96 + 24 * 32;
	my $entries = $directory + 2000;
	my @words = ([0, 24 + 28], [0, 24 + 32], [0, $directory], [0, $entries], [0, $entries + 4], ['directory', 24], ['directory', 28],
		['directory', 32], ['directory', 36], ['directory', 40], ['directory', 48], ['directory', 56], ['directory', 64]);
	$db->sql(<<"SQL");
CREATE TABLE large (v integer, w text, filler text, $columns) WITH (autovacuum_enabled = off);
ALTER TABLE large ALTER filler SET STORAGE plain;
INSERT INTO large SELECT i, '', repeat('x', 5000), CASE WHEN (i - 1) / 125 % 2 = 0 THEN ARRAY(SELECT generate_series(i, i + 19)) END FROM generate_series(1, 36 * 125) i;
CREATE INDEX large_bf ON large USING bf ($names) WITH (pages_per_range = 1, false_positive_rate = 0.000001, levels = 1);
SQL
	is($db->sql("SELECT DISTINCT groups FROM bf_index_stats('large_bf')"), '36', 'there are many groups');
	cmp_ok(word_at(DamagedIndex::paths($db, 'large_bf'), $directory), '>', 0, 'and a directory page');
	my ($bad, $number) = (0, 0);
	foreach (@words)
	{
		my ($where, $offset) = @$_;
		my ($path) = DamagedIndex::paths($db, 'large_bf');
		my $place = $offset + ($where eq 'directory' ? 8192 * word_at($path, $directory) : 0);
		# the second value replaces the first; then the index is mended
		my @other = grep { $_ != word_at($path, $place) } 0, 0xffffffff;
		foreach my $value (@other)
		{
			OwnCluster::stop();
			damage($path, ['', $place, 0, $value]);
			OwnCluster::restart();
			my (undef, @wrong) = DamagedIndex::wrongs($db, 'large', 0, 1, 4500, damaged_again => $value != $other[-1]);
			$number++;
			next if !@wrong;
			$bad++;
			my %seen;
			diag("$where $offset = $value: " . join('; ', grep { !$seen{$_}++ } @wrong));
		}
	}
	is($bad, 0, "$number damaged words: right rows or XX002, and REINDEX mends them");
};
is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
