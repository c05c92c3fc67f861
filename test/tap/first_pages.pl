# Types the SQL of README.md and of each page of docs/ into psql as it is printed, block after block, each page into a
# fresh database that has nothing. No block may fail, but those marked <!-- needs X -->, which want pg_cron or another
# extension and are not typed. Then the extension is removed as operations.md says.
use strict;
use warnings;

use Cwd qw(getcwd abs_path);
use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $root = abs_path("$FindBin::Bin/../..");
my $scratch = tempdir(CLEANUP => 1);

# The made-up log that the pages read. There are no hits on 5, 6, 11 and 12 March.
sub make_log
{
	my ($options) = @_;
	system("$^X $root/scripts/generate-log $options | grep -v '\\[\\(05\\|06\\|11\\|12\\)/Mar' >$scratch/access.log") == 0 or die 'generate-log failed';
}

# The blocks of a page as they are printed, and how many are marked. A block in a list is indented.
sub blocks
{
	my ($page) = @_;
	my $text = StreambloomTap::read_file("$root/" . ($page eq 'README.md' ? $page : "docs/$page"));
	my (@typed, $marked);
	while ($text =~ /((?:<!--(?:(?!-->).)*-->\s*)*)^([ \t]*)```sql\n(.*?)^[ \t]*```$/gms)
	{
		my ($marks, $indent, $sql) = ($1, $2, $3);
		$sql =~ s/^\Q$indent\E//gm;
		if ($marks =~ /<!-- needs /) { $marked++ } else { push @typed, $sql }
	}
	return (\@typed, $marked // 0);
}

# Types blocks into one psql. One test: no block fails.
my $count = 0;
sub type
{
	my ($db, $name, @blocks) = @_;
	my $script = "$scratch/page.sql";
	my $number = 0;
	StreambloomTap::write_file($script, "\\set ON_ERROR_STOP on\n" . join("\n", map { $number++; "\\echo block $number\n$_" } @blocks) . "\n\\echo all blocks\n");
	my $here = getcwd();
	chdir $scratch or die "$scratch: $!";
	my ($status, $output, $errors) = StreambloomTap::run_program('', StreambloomTap::client_program('psql'), '-X', '-q', '-d', $db->name, '-f', $script);
	chdir $here or die "$here: $!";
	ok($status == 0 && $output =~ /^all blocks$/m && $errors !~ /ERROR:/, "$name: each of its " . @blocks . ' blocks runs')
		or diag('in ', ($output =~ /^(block \d+)$/mg)[-1] // 'what comes before', ": $errors");
	return $output;
}

make_log('--lines 20000');
my ($tutorial) = blocks('tutorial.md');
my @made = grep { !/DROP EXTENSION/ } @$tutorial;
is(scalar(@made), @$tutorial - 1, 'tutorial.md: the last block removes everything');
my %recipe = StreambloomTap::recipes('docs/operations.md');

opendir my $docs, "$root/docs" or die "docs: $!";
my @pages = sort grep { /\.md$/ && $_ ne 'README.md' } readdir $docs;
my @listed = StreambloomTap::read_file("$root/docs/README.md") =~ /^- \[[^]]+\]\(([\w-]+\.md)\)/gm;
is(join(' ', sort @listed), join(' ', @pages), 'the index has all pages');

my $marked = 0;
foreach my $page ('README.md', @pages)
{
	my ($blocks, $not_typed) = blocks($page);
	my @blocks = grep { $page ne 'tutorial.md' || !/DROP EXTENSION/ } @$blocks;
	$marked += $not_typed;
	next if !@blocks;
	my $db = StreambloomTap->new('first_pages_' . lc($page =~ s{\.md$}{}r), bare => 1);
	my $output = type($db, $page, @blocks);
	$count += @blocks;
	if ($page eq 'tutorial.md')
	{
		my $lines = () = StreambloomTap::read_file("$scratch/access.log") =~ /\n/g;
		like($output, qr/^ +$lines \| \d/m, "$page: the lines are loaded");
		is($db->sql('SELECT count(*) FROM access_log'), $lines, "$page: each is a hit");
		like($output, qr/^ +surely \| hardly\s*\n[-+ ]+\n t +\| f/m, "$page: the filter knows what it holds");
		like($output, qr/counted_too_low.*\n.*\n +[1-9]\d* \| +0 \| +1\.\d+$/m, "$page: the counts are right");
		like($output, qr/Custom Scan \((?:Skip|PartitionScan)\)/, "$page: partitions are skipped");
		# For the day after one without hits, the page must say that it does not know the day before.
		my ($again) = map { /^(SELECT d\.day.*?of_the_day_before.*?);/ms ? $1 : () } @blocks;
		$again =~ s/ LIMIT 10//;
		is($db->sql("SELECT count(*) FILTER (WHERE of_the_day_before IS NULL) > 2, count(*) FILTER (WHERE of_the_day_before <> exact), count(of_the_day_before) > 5 FROM ($again) q, LATERAL
			(SELECT count(*) AS exact FROM (SELECT DISTINCT host FROM access_log WHERE (at AT TIME ZONE 'UTC')::date = q.day) a
				JOIN (SELECT DISTINCT host FROM access_log WHERE (at AT TIME ZONE 'UTC')::date = q.day - 1) b USING (host)) e"),
			't|0|t', "$page: hosts of the day before");
	}
	# The roll-up of the tutorial is a table afterwards, as all that had filters.
	type($db, "$page, and removing", $recipe{remove}) if !grep { /DROP EXTENSION/ } @blocks;
	is($db->sql("SELECT count(*) FROM pg_extension WHERE extname = 'streambloom'"), '0', "$page: the extension is removed");
	is($db->sql("SELECT count(*) > 10 FROM log_heat WHERE f IS NOT NULL"), 't', "$page: a roll-up is kept") if $page eq 'tutorial.md';
}
diag("$count blocks typed, $marked marked as needing an extension");

# The end of the tutorial removes all that it has made.
my $whole = StreambloomTap->new('first_pages_tutorial_whole', bare => 1);
type($whole, 'tutorial.md, whole', @$tutorial);
is($whole->sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"), '0', 'tutorial.md leaves nothing');

# A log of twelve years gets partitions by month.
make_log('--lines 500');
my $lines_of_a_year = StreambloomTap::read_file("$scratch/access.log");
StreambloomTap::write_file("$scratch/access.log", join('', map { my $year = $_; $lines_of_a_year =~ s{/20\d\d:}{/$year:}gr } 2013 .. 2024));
my $years = StreambloomTap->new('first_pages_years', bare => 1);
my $output = type($years, 'tutorial.md with a log of years', @made);
cmp_ok($years->sql('SELECT count(DISTINCT at::date) FROM access_log'), '>=', 12, 'the log has years');
is($years->sql("SELECT count(*) FROM pg_partition_tree('access_log') WHERE isleaf"), $years->sql("SELECT count(DISTINCT date_trunc('month', at)) FROM access_log"), 'it has a partition for each month');
like($output, qr/counted_too_low.*\n.*\n +[1-9]\d* \| +0 \| +1\.\d+$/m, 'the counts are right');

done_testing();
