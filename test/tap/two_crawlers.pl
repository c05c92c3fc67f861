# Two workers of a crawler share one stored sbf, which remembers the links that were seen (docs/sbf.md). Each batch of
# links is one statement, which locks the filter's row. The worker that comes second sees what the first has remembered.
# So no link gets into the table `frontier` (links to visit) twice, and no worker overwrites what the other has
# remembered.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use POSIX qw(_exit);
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('010');
my $batches = 150;
my $links = 20;

$db->sql(<<'SQL');
CREATE TABLE seen (crawl text PRIMARY KEY, urls sbf NOT NULL);
CREATE TABLE frontier (url text NOT NULL, worker int NOT NULL);
INSERT INTO seen VALUES ('web', sbf_empty(262144, 0.0001));
SQL

# Both workers get the same links in the same order, so they collide as often as possible.
sub worker
{
	my ($number) = @_;
	my $sql = <<'SQL';
PREPARE add_links(int, text[]) AS
WITH locked AS MATERIALIZED (
	SELECT urls FROM seen WHERE crawl = 'web' FOR UPDATE
), checked AS MATERIALIZED (
	SELECT c.* FROM locked, sbf_check_add(locked.urls, $2) c
), remembered AS (
	UPDATE seen SET urls = checked.updated FROM checked WHERE crawl = 'web'
)
INSERT INTO frontier SELECT l.url, $1 FROM checked, unnest($2, checked.duplicates) l (url, duplicate) WHERE NOT l.duplicate;
SQL
	foreach my $batch (1 .. $batches)
	{
		my $urls = join ',', map { "/page/" . ($batch * $links + $_) } 0 .. $links - 1;
		$sql .= "EXECUTE add_links($number, '{$urls}');\n";
	}
	return $db->try($sql);
}

my @children;
foreach my $number (1, 2)
{
	my $child = fork();
	defined $child or die "cannot fork: $!";
	if ($child == 0)
	{
		my ($code, $out, $err) = worker($number);
		print STDERR $err if $code != 0;
		_exit($code == 0 ? 0 : 1);
	}
	push @children, $child;
}
foreach my $child (@children)
{
	waitpid($child, 0);
	is($?, 0, 'a worker had no error');
}

my $all = $batches * $links;
is($db->sql('SELECT count(*) - count(DISTINCT url) FROM frontier'), 0, 'no link is in the frontier twice');
cmp_ok($db->sql('SELECT count(*) FROM frontier'), '>=', $all - 5, 'nearly all links are in it: a false positive is rare');
is($db->sql('SELECT (sbf_info(urls)).items FROM seen'), 2 * $all, 'the filter has taken all steps of both');
is($db->sql("SELECT count(*) FROM seen, generate_series($links, $links + $all - 1) i WHERE urls @> ('/page/' || i)"), $all,
	'and remembers all links');

done_testing();
