# The pages that people read first: each block of SQL on them is typed into psql, one after the other, as the page prints it, beside a
# made-up log. A page that needs what another one makes is run behind it.
use strict;
use warnings;

use Cwd qw(getcwd abs_path);
use File::Basename;
use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $root = abs_path("$FindBin::Bin/../..");
my $scratch = tempdir(CLEANUP => 1);
system("$^X $root/scripts/generate-log --lines 20000 >$scratch/access.log") == 0 or die 'generate-log failed';

# The blocks of a page, as they are printed.
sub blocks
{
	my ($page) = @_;
	open my $file, '<', "$root/docs/$page" or die "$page: $!";
	my $text = do { local $/; <$file> };
	return $text =~ /^```sql\n(.*?)^```$/gms;
}

# Types the blocks into one psql. What is not printed on the page comes before and after.
sub run_page
{
	my ($db, $page, $before, @blocks) = @_;
	my $script = "$scratch/$page.sql";
	open my $file, '>', $script or die "$script: $!";
	print $file "\\set ON_ERROR_STOP on\n$before\n", join("\n", @blocks), "\n";
	close $file;
	my $here = getcwd();
	chdir $scratch or die "$scratch: $!";
	my $output = qx(psql -X -q -d '$db->{name}' -f '$script' 2>&1);
	my $status = $?;
	chdir $here or die "$here: $!";
	is($status, 0, "$page: each of its " . @blocks . ' blocks runs') or diag $output;
	return $output;
}

my $tutorial = StreambloomTap->new('018_tutorial');
plan skip_all => 'this PostgreSQL has no pg_trgm' if $tutorial->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'") == 0;

my @tutorial = blocks('tutorial.md');
my $output = run_page($tutorial, 'tutorial.md', '', @tutorial);
like($output, qr/^ +surely \| hardly\s*\n[-+ ]+\n t +\| f/m, 'tutorial.md: the filter knows what it holds');
like($output, qr/counted_too_low.*\n.*\n +\d+ \| +0 \| +0$/m, 'tutorial.md: the counts are right');
like($output, qr/Custom Scan \(ChunkSkip\)/, 'tutorial.md: partitions are skipped');

# What the tutorial has made, without its end, is what the other pages begin with.
my @made = grep { !/DROP EXTENSION/ } @tutorial;
foreach my $page ('how-to.md', 'faq.md')
{
	my $db = StreambloomTap->new('018_' . $page =~ s/\W/_/gr);
	run_page($db, $page, join("\n", @made), blocks($page));
}
my $db = StreambloomTap->new('018_what_for');
my @what_for = blocks('what-for.md');
my $table = shift @what_for;
like($table, qr/^CREATE TABLE access_log/, 'what-for.md: begins with the table');
run_page($db, 'what-for.md', join("\n", @made[0, 1]), @what_for);

done_testing();
