# Types pages of the documentation into psql as they are printed, block after block: README.md and the pages of docs/,
# in the order of its index, into one database, with a made-up log that has no rows on some days. No block may fail.
# logs.md has a database of its own. The pages that end with DROP EXTENSION are also typed whole, into databases of
# their own.
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
# There are no hits on 5, 6, 11 and 12 March.
system("$^X $root/scripts/generate-log --lines 20000 | grep -v '\\[\\(05\\|06\\|11\\|12\\)/Mar' >$scratch/access.log") == 0 or die 'generate-log failed';

# The blocks of a page as they are printed.
sub blocks
{
	my ($page) = @_;
	my $text = StreambloomTap::read_file("$root/" . ($page eq 'README.md' ? $page : "docs/$page"));
	# a block in a list is indented
	return map { my ($indent, $sql) = @$_; $sql =~ s/^\Q$indent\E//gm; $sql } map { [$_->[0], $_->[1]] } do
	{
		my @found;
		push @found, [$1, $2] while $text =~ /^([ \t]*)```sql\n(.*?)^[ \t]*```$/gms;
		@found;
	};
}

# Types the blocks into one psql; $before is SQL that is not printed on the page. One test: no block fails.
sub run_page
{
	my ($db, $page, $before, @blocks) = @_;
	my $script = "$scratch/page.sql";
	my $number = 0;
	StreambloomTap::write_file($script, "\\set ON_ERROR_STOP on\n$before\n" . join("\n", map { $number++; "\\echo block $number\n$_" } @blocks) . "\n\\echo all blocks\n");
	my $here = getcwd();
	chdir $scratch or die "$scratch: $!";
	my ($status, $output, $errors) = StreambloomTap::run_program('', StreambloomTap::client_program('psql'), '-X', '-q', '-d', $db->{name}, '-f', $script);
	chdir $here or die "$here: $!";
	ok($status == 0 && $output =~ /^all blocks$/m && $errors !~ /ERROR:/, "$page: each of its " . @blocks . ' blocks runs')
		or diag('in ', ($output =~ /^(block \d+)$/mg)[-1] // 'what comes before', ": $errors");
	return $output;
}

my $tutorial = StreambloomTap->new('018_tutorial');

my @tutorial = blocks('tutorial.md');
my $output = run_page($tutorial, 'tutorial.md', '', @tutorial);
my $lines = () = StreambloomTap::read_file("$scratch/access.log") =~ /\n/g;
like($output, qr/^ +count +\|.*\n.*\n +$lines \| 2024-03-/m, 'tutorial.md: each line of the log is a hit');
like($output, qr/^ +surely \| hardly\s*\n[-+ ]+\n t +\| f/m, 'tutorial.md: the filter knows what it holds');
like($output, qr/counted_too_low.*\n.*\n +[1-9]\d* \| +0 \| +0$/m, 'tutorial.md: the counts are right');
like($output, qr/Custom Scan \(Skip\)/, 'tutorial.md: partitions are skipped');

# The other pages begin with what the tutorial has made, without its last block.
my @made = grep { !/DROP EXTENSION/ } @tutorial;
is(scalar(@made), @tutorial - 1, 'tutorial.md: the last block removes everything');
run_page(StreambloomTap->new('018_how_to'), 'how-to.md', join("\n", @made), blocks('how-to.md'));

# What pages need but do not make: pg_cron, another server, partitions by month.
my $cron = <<'SQL';
CREATE SCHEMA cron;
CREATE TABLE cron.job_run_details (jobid bigint, runid bigint, database text, username text, status text, return_message text, start_time timestamptz);
CREATE FUNCTION cron.schedule(name text, schedule text, command text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	-- pg_cron checks a command only when it runs it; a procedure that commits cannot be run here
	IF command NOT LIKE 'CALL tbf_rollup_refresh(%)' THEN
		EXECUTE command;
	END IF;
	RETURN 1;
END $$;
CREATE FUNCTION cron.schedule_in_database(name text, schedule text, command text, database text) RETURNS bigint LANGUAGE sql AS 'SELECT 1';
SQL
my $server = <<'SQL';
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
SELECT current_setting('port') AS port, split_part(current_setting('unix_socket_directories'), ',', 1) AS host, current_database() AS name \gset
CREATE SERVER IF NOT EXISTS p0 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'host', port :'port', dbname :'name', extensions 'streambloom');
CREATE USER MAPPING IF NOT EXISTS FOR CURRENT_USER SERVER p0;
SQL
my $months = <<'SQL';
CREATE TABLE access_log_2026_10 PARTITION OF access_log FOR VALUES FROM ('2026-10-01 UTC') TO ('2026-11-01 UTC');
CREATE TABLE access_log_2026_11 PARTITION OF access_log FOR VALUES FROM ('2026-11-01 UTC') TO ('2026-12-01 UTC');
INSERT INTO access_log SELECT '2026-10-15 UTC'::timestamptz + i * interval '1 hour', 'host' || i, '/' || i, 200, NULL FROM generate_series(1, 500) i;
SQL
my %needs = (
	'index.md' => $months,
	'operations.md' => $server . 'CREATE FOREIGN TABLE requests_on_a (at timestamptz, host text, url text) SERVER p0 OPTIONS (table_name \'access_log\');
		CREATE FOREIGN TABLE requests_on_b (at timestamptz, host text, url text) SERVER p0 OPTIONS (table_name \'access_log\');',
	'neighbours.md' => $server . 'CREATE TABLE seen_there AS SELECT i AS uid FROM generate_series(1, 1000) i; CREATE TABLE small AS SELECT i AS uid FROM generate_series(1, 5) i;
		CREATE FOREIGN TABLE remote_log (uid int) SERVER p0 OPTIONS (table_name \'seen_there\'); CREATE TABLE visits (tenant int, uid int);',
	'ibf.md' => $server,
);

my $all = StreambloomTap->new('018_all_pages');
# logs.md is typed into a database of its own, in which it takes the place of the beginning of the tutorial.
# (log_recipes.pl tries its recipes with the right logs.)
run_page(StreambloomTap->new('018_logs'), 'logs.md', '', blocks('logs.md'));
my @pages = grep { $_ !~ /^(tutorial|logs)\.md$/ } StreambloomTap::read_file("$root/docs/README.md") =~ /^- \[[^]]+\]\(([\w-]+\.md)\)/gm;
opendir my $docs, "$root/docs" or die "docs: $!";
is(join(' ', sort 'README.md', 'tutorial.md', 'logs.md', 'layouts.md', @pages), join(' ', sort grep { /\.md$/ } readdir $docs), 'the index has all pages');
run_page($all, 'tutorial.md, without its end', '', @made);
$all->sql($cron);
$all->make_role('owner_of_web', 'NOLOGIN');
foreach my $page ('README.md', @pages)
{
	my @blocks = grep { !/DROP EXTENSION/ } blocks($page);
	run_page($all, $page, $needs{$page} // '', @blocks) if @blocks;
}

# The log has no rows on some days. For the day after such a day, what-for.md must say that it does not know the day
# before.
my ($again) = map { /^(SELECT d\.day.*?of_the_day_before.*?);/ms ? $1 : () } blocks('what-for.md');
is($all->sql("SELECT count(*) FILTER (WHERE of_the_day_before IS NULL) > 2, count(*) FILTER (WHERE NOT abs(of_the_day_before - exact) <= 10 + exact * 0.05), count(of_the_day_before) > 5 FROM ($again) q, LATERAL
	(SELECT count(*) AS exact FROM (SELECT DISTINCT host FROM access_log WHERE at::date = q.day) a JOIN (SELECT DISTINCT host FROM access_log WHERE at::date = q.day - 1) b USING (host)) e"),
	't|0|t', 'what-for.md: hosts of the day before');

$all->sql('REVOKE SET ON PARAMETER session_preload_libraries FROM owner_of_web');

done_testing();
