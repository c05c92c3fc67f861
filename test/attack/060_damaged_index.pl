# Indexes that are damaged at random: words, bits and sequences of bytes on the meta page, on directory pages and at the
# beginnings of filter pages; pages that are missing, empty, garbage, or in each other's place. Every call must answer
# with the right rows or with XX002 (index_corrupted). Nothing may crash, take gigabytes, or make the file grow, and
# REINDEX must mend the index. The bits of a filter's lines are not damaged, because nothing can tell wrong bits from
# right ones. For longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/060_damaged_index.pl
#
# test/tap/damaged_index.pl does the same systematically, with a few values for each word.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use Attack;
BEGIN { Attack::limit_memory(3 * 1024); }
use DamagedIndex;
use OwnCluster;
use StreambloomTap;
use Test::More;

my $short = 12; # seconds; the round that has begun then takes some more
my $tables = 20; # tables in a round
my $page = 8192;

StreambloomTap::require_cluster();
DamagedIndex::prepare();

my $db = StreambloomTap->new('060');
DamagedIndex::install($db);

sub read_pages
{
	my ($path) = @_;
	my $all = StreambloomTap::read_file(DamagedIndex::data() . "/$path");
	return map { substr $all, $_ * $page, $page } 0 .. length($all) / $page - 1;
}

sub number { return Attack::one_of((0xffffffff) x 4, (0x7fffffff) x 2, 0, 1, 2, 3, 126, 127, 0x80000000, 0xfffffffe, int(rand(300)), int(rand(2**32))); }

# An offset on a page at which something other than the bits of a filter is read. On all pages: the header (without the
# place in WAL and the checksum), and the beginning of the content. On the meta page also the parameters, the
# directory, and the entries of the first groups.
sub offset
{
	my ($content) = @_;
	my $magic = substr $content, 24, 4;

	return 10 + int(rand(14)) if Attack::chance(0.1);
	return 24 + int(rand(32)) if $magic eq 'BfFl';
	return 24 + int(rand(400)) if $magic ne 'BfIx';
	my $directory = 24 + 120 + 24 * unpack('S', substr($content, 24 + 6, 2));
	return 24 + 16 + int(rand(48)) if Attack::chance(0.3); # publications; the numbers of pages, entries and groups
	return 24 + int(rand(96)) if Attack::chance(0.2);
	return $directory + int(rand(16)) if Attack::chance(0.15);
	return $directory + 2000 + int(rand(Attack::one_of(48, 48, 48, 3000)));
}

# Ways to damage pages. Each returns what it did, and whether PostgreSQL itself checks the damaged bytes.
my %ways = (
	word => sub {
		my ($pages, $n) = @_;
		my ($offset, $value) = (offset($pages->[$n]) & ~3, number());
		$offset = 12 if $offset < 12;
		substr($pages->[$n], $offset, 4) = pack('L', $value);
		return ("word $offset of block $n = $value", $offset < 24);
	},
	one_more => sub {
		my ($pages, $n) = @_;
		my $offset = offset($pages->[$n]) & ~3;
		$offset = 12 if $offset < 12;
		my $value = (unpack('L', substr($pages->[$n], $offset, 4)) + Attack::one_of(1, -1, 2, -2, 7, 100)) % 2**32;
		substr($pages->[$n], $offset, 4) = pack('L', $value);
		return ("word $offset of block $n changed to $value", $offset < 24);
	},
	bit => sub {
		my ($pages, $n) = @_;
		my ($offset, $bit) = (offset($pages->[$n]), int(rand(8)));
		substr($pages->[$n], $offset, 1) ^= chr(1 << $bit);
		return ("bit $bit of byte $offset of block $n", $offset < 24);
	},
	stretch => sub {
		my ($pages, $n) = @_;
		my ($offset, $length) = (offset($pages->[$n]), 8 + int(rand(100)));
		$length = 56 - $offset if substr($pages->[$n], 24, 4) eq 'BfFl' && $offset + $length > 56;
		substr($pages->[$n], $offset, $length) = join '', map { chr int rand 256 } 1 .. $length;
		return ("$length bytes from $offset on of block $n", $offset < 24);
	},
	empty => sub { $_[0][$_[1]] = "\0" x $page; return ("block $_[1] is empty", 0) },
	garbage => sub { $_[0][$_[1]] = join '', map { chr int rand 256 } 1 .. $page; return ("block $_[1] is garbage", 1) },
	another => sub {
		my ($pages, $n) = @_;
		my $other = int(rand(@$pages));
		$pages->[$n] = $pages->[$other];
		return ("block $n is a copy of block $other", 0);
	},
	exchanged => sub {
		my ($pages, $n) = @_;
		my $other = int(rand(@$pages));
		@$pages[$n, $other] = @$pages[$other, $n];
		return ("blocks $n and $other exchanged", 0);
	},
	cut => sub {
		my ($pages, $n) = @_;
		$n = int(rand(@$pages));
		splice @$pages, $n;
		push @$pages, 'x' x int(rand(4000)) if Attack::chance(0.5);
		return ("the file ends in block $n", 1);
	},
	longer => sub {
		push @{$_[0]}, Attack::chance(0.5) ? "\0" x $page : $_[0][int(rand(@{$_[0]}))];
		return ('a page more', 0);
	},
);

# 32 columns and 5,000 ranges. As in test/tap/damaged_index.pl the groups of 125 ranges have filters of alternating
# sizes, so each of the 40 groups needs an entry of its own in the index's directory of groups. The meta page has room
# for 34 entries; the others are on a directory page.
sub make_large
{
	my ($i) = @_;
	my $names = join ', ', 'v', 'w', map { "v$_" } 3 .. 32;
	return "CREATE TABLE t$i (v integer, w text, filler text, " . join(', ', map { "v$_ integer DEFAULT $_" } 3 .. 32) . ") WITH (autovacuum_enabled = off);\n"
		. "ALTER TABLE t$i ALTER filler SET STORAGE plain;\nINSERT INTO t$i SELECT i, '', repeat('x', 400) FROM generate_series(1, 200) i;\nSELECT count(*) AS a_page FROM t$i WHERE ctid < '(1,0)' \\gset\n"
		. "INSERT INTO t$i SELECT CASE WHEN i / (125 * :a_page) % 2 = 0 THEN i ELSE 0 END, '', repeat('x', 400) FROM generate_series(201, 40 * 125 * :a_page) i;\n"
		. "CREATE INDEX t${i}_bf ON t$i USING bf ($names) WITH (pages_per_range = 1, false_positive_rate = 0.000001, levels = 1);\n";
}

# One round: makes tables, damages each index, and makes all calls. Counts the damages and those that were noticed, and
# adds to the failures. The first round damages a word of a directory page, and then one index in each way; which pages,
# words and values is left to chance. Later rounds leave all to chance.
my (@failures, %times, %noticed, %pages);
sub round
{
	my ($number) = @_;
	my $large = $number * 1000;
	my $is_large = $number % 3 == 1; # its first table is large
	my @names = map { $large + $_ } 0 .. $tables - 1;
	my @in_turn = $number == 1 ? ('word', sort keys %ways) : ();
	$db->sql(join '', map { $is_large && $_ == $large ? make_large($_) : DamagedIndex::make_table($_) } @names);
	my @paths = DamagedIndex::paths($db, map { "t${_}_bf" } @names);
	OwnCluster::stop();
	my @what;
	foreach my $i (0 .. $#names)
	{
		my @pages = read_pages($paths[$i]);
		my @directory = grep { substr($pages[$_], 24, 4) eq 'BfDr' } 0 .. $#pages;
		die "there is no directory page\n" if $i == 0 && $is_large && !@directory;
		my $n = $number == 1 && $i == 0 ? $directory[0] : Attack::chance(0.6) ? 0 : @directory && Attack::chance(0.6) ? $directory[0] : int(rand(@pages));
		my $way = $in_turn[$i] // Attack::one_of(('word') x 12, ('one_more') x 4, ('bit') x 4, ('stretch') x 2, sort keys %ways);
		# these two choose the page themselves, or add one
		$pages{substr($pages[$n], 24, 4)}++ if $way !~ /^(?:cut|longer)$/;
		my ($text, $is_cores) = $ways{$way}->(\@pages, $n);
		push @what, [$way, $text, $is_cores];
		StreambloomTap::write_file(DamagedIndex::data() . "/$paths[$i]", join '', @pages);
	}
	OwnCluster::restart();
	foreach my $i (0 .. $#names)
	{
		last if $number > 1 && Attack::seconds_left($short + 15) < 0;
		my ($way, $text, $is_cores) = @{$what[$i]};
		my ($errors, @wrong) = DamagedIndex::wrongs($db, "t$names[$i]", $is_cores, 1, $i == 0 && $is_large ? 3800 : 20);
		my %seen;
		@wrong = grep { !$seen{$_}++ } @wrong;
		$times{$way}++;
		$noticed{$way}++ if $errors > 0;
		next if !@wrong;
		push @failures, "round $number, table $i: $text: " . join('; ', @wrong);
		diag($failures[-1]);
		# The server may have crashed.
		my ($code) = StreambloomTap::psql($db->name, 'SELECT 1');
		OwnCluster::restart() if $code != 0;
	}
	$db->sql('DROP TABLE ' . join ', ', map { "t$_" } @names);
}

my $round = 0;
round(++$round) while $round < 1 || Attack::seconds_left($short) > 0 && @failures < 10;

my ($times, $noticed) = (0, 0);
$times += $_ foreach values %times;
$noticed += $_ foreach values %noticed;
is(scalar @failures, 0, 'right rows or XX002, and REINDEX mends it (seed ' . Attack::seed() . ')');
diag('seed ' . Attack::seed() . ": $times damaged indexes, $noticed of them noticed: " . join ', ', map { "$_ " . ($noticed{$_} // 0) . "/$times{$_}" } sort keys %times);
cmp_ok($noticed, '>=', $times / 3, 'many were noticed');
is(join(' ', grep { !$times{$_} } sort keys %ways), '', 'indexes were damaged in every way');
is(join(' ', grep { !$pages{$_} } qw(BfIx BfDr BfFl)), '', 'and a page of each kind: the meta page, a directory page, pages of filters');
is(OwnCluster::crashes(), '', 'no server process crashed');
done_testing();
