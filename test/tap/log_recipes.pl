# The recipes of docs/logs.md, each with the files in test/logs that are in its formats. The hits are the same in all
# files, and broken lines stop nothing. scripts/demo recognizes the format of each file, and refuses files that are no
# logs.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $root = abs_path("$FindBin::Bin/../..");
my %recipe = StreambloomTap::recipes('docs/logs.md');
my $browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';

# The hits of each sample. A format may lack the last two columns, the referrer and the agent, or the referrer alone. If
# a HEAD has sent no bytes, their number is "-", 0 or empty in the sample.
my @hits = (
	['2026-03-01 10:00:00+00', '192.0.2.7', 'GET', '/index.html', 200, 5120, '', $browser],
	['2026-03-01 10:00:01+00', '198.51.100.23', 'GET', '/search?q=bloom+filter&n=10', 200, 812, 'https://www.example.com/', 'curl/7.88.1'],
	['2026-03-01 10:00:02+00', '2001:db8::17', 'POST', '/login', 302, 0, 'https://www.example.com/login', $browser],
	['2026-03-01 10:00:03+00', '203.0.113.99', 'GET', '/%C3%A9t%C3%A9/no-such-page', 404, 153, '', 'a "quoted" agent'],
	['2026-03-02 04:59:59+00', '192.0.2.7', 'HEAD', '/', 200, 0, '', 'monitor/1.0']);
my $broken = 2;

my %of = (    # the recipe of each sample, and which columns follow the first six
	common => ['apache', ''], combined => ['apache', 'referrer agent'], vhost_combined => ['apache', 'referrer agent'],
	forwarded => ['apache', 'referrer agent'], json => ['json', 'referrer agent'], caddy => ['caddy', 'referrer agent'],
	w3c => ['w3c', 'referrer agent'], cloudfront => ['w3c', 'referrer agent'], alb => ['alb', 'agent'], s3 => ['s3', 'referrer agent'],
	squid => ['squid', ''], haproxy => ['haproxy', '']);

sub shell { return (StreambloomTap::run_program('', 'bash', '-c', "set -euo pipefail; . '$root/scripts/lib/common.sh'; . '$root/scripts/lib/log.sh'; $_[0]"))[0, 1]; }

opendir my $folder, "$root/test/logs" or die "test/logs: $!";
is(join(' ', sort keys %of), join(' ', sort map { /^(.*)\.log$/ ? $1 : () } readdir $folder), 'each sample is tried');

my $db = StreambloomTap->new('050');
$db->sql("CREATE TABLE log_line (n bigint GENERATED ALWAYS AS IDENTITY, line text); $recipe{functions}");
my %tried = (functions => 1);

foreach my $sample (sort keys %of)
{
	my ($name, $columns) = @{$of{$sample}};
	my $file = "$root/test/logs/$sample.log";
	my $lines = () = StreambloomTap::read_file($file) =~ /^[^#\xef]/gm;

	$tried{$name} = 1;
	is_deeply([shell("format_of '$file'")], [0, $name], "$sample: scripts/demo knows it");
	my ($code, $text) = shell("read_log '$file'");
	$db->sql("TRUNCATE log_line, hit RESTART IDENTITY;\nCOPY log_line (line) FROM STDIN (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');\n$text\\.\n");
	$db->sql("SET TimeZone = 'UTC'; $recipe{$name}");
	my @found = $db->rows("SET TimeZone = 'UTC'; SELECT * FROM hit WHERE at IS NOT NULL AND host IS NOT NULL AND url IS NOT NULL ORDER BY at");
	my @expected = map { [@$_] } @hits;
	foreach my $hit (@found)
	{
		$hit->[3] =~ s{^http://www\.example\.com}{} if $sample eq 'squid';
		$hit->[5] = 0 if $hit->[5] eq '';
		$hit->[6] = '' if $hit->[6] eq '-';
		$hit->[7] =~ s/\\"|%22/"/g;
	}
	foreach my $hit (@expected)
	{
		$hit->[6] = '' if $columns !~ /referrer/;
		$hit->[7] = '' if $columns !~ /agent/;
	}
	is_deeply(\@found, \@expected, "$sample: its hits") or diag(explain(\@found));
	cmp_ok($lines, '>=', @hits + $broken, "$sample: and lines that are none");

	# The other recipes must not accept lines of this sample.
	my %names = map { $$_[0] => 1 } values %of;
	my @others = grep { $_ ne $name } sort keys %names;
	is($db->sql("SET TimeZone = 'UTC'; " . join('', map { "TRUNCATE hit; $recipe{$_}; SELECT count(*) FROM hit WHERE at IS NOT NULL AND host IS NOT NULL AND url IS NOT NULL;" } @others)),
		join("\n", map { 0 } @others), "$sample: nothing for @others");
}
is_deeply([sort grep { !$tried{$_} } keys %recipe], [], 'no recipe is left');

# Packed files are recognized whatever their name; files that are no logs are refused.
my $scratch = StreambloomTap::scratch();
is_deeply([shell("gzip -c '$root/test/logs/json.log' >'$scratch/json.log.1'; format_of '$scratch/json.log.1'")], [0, 'json'], 'a packed log');
StreambloomTap::write_file("$scratch/$$.none", "no log\n\n{\"a\": 1}\n");
is_deeply([shell("format_of '$scratch/$$.none'")], [1, ''], 'no log');
StreambloomTap::write_file("$scratch/$$.empty", "\n\n");
is_deeply([shell("format_of '$scratch/$$.empty'")], [2, ''], 'no line');
is((shell('recipe nothing'))[0], 1, 'no such recipe');

# Times in the forms in which programs write them.
is($db->sql("SET TimeZone = 'UTC'; SELECT string_agg(coalesce(log_time(t)::text, 'none'), ', ' ORDER BY n) FROM unnest(ARRAY['1772359200', '1772359200123', '1772359200.5',
	'1772359200123456', '1772359200123456789', '01/Mar/2026:10:00:00 +0100', '2026-03-01T10:00:00.5Z', '2026-03-01 10:00:00', 'now', 'infinity', '', '-', '99999999999999999999',
	'31/Feb/2026:10:00:00 +0000', NULL, '20260301', '20260231', '0.005', '260301', '99999999.5', '100000000', '01.03.2026 10:00:00']) WITH ORDINALITY u (t, n)"),
	'2026-03-01 10:00:00+00, 2026-03-01 10:00:00.123+00, 2026-03-01 10:00:00.5+00, 2026-03-01 10:00:00.123456+00, 2026-03-01 10:00:00.123457+00, ' .
	'2026-03-01 09:00:00+00, 2026-03-01 10:00:00.5+00, 2026-03-01 10:00:00+00, none, none, none, none, none, none, none, ' .
	'2026-03-01 00:00:00+00, none, none, none, none, 1973-03-03 09:46:40+00, 2026-01-03 10:00:00+00', 'log_time()');
is($db->sql("SELECT log_status('404'), log_status('503 '), log_status('20000000000'), log_status('-')"), '404|503||', 'log_status()');
is($db->sql(q!SELECT log_json('{"a": "\x22b\u0000"}'), log_json('{"a": '), log_json('null'), log_json('[1]')!), '{"a": "\"b"}|||', 'log_json()');
is($db->sql(q!SELECT log_json('{"a": ' || repeat('[', 100000) || repeat(']', 100000) || '}') IS NULL!), 't', 'log_json() of a document that is nested too deeply');
is($db->sql("SELECT string_agg(log_address(a), ' ' ORDER BY n) FROM unnest(ARRAY['192.0.2.7', '192.0.2.7:80', '[2001:db8::1]:443', '2001:db8::1', '192.0.2.1, 192.0.2.2']) WITH ORDINALITY u (a, n)"),
	'192.0.2.7 192.0.2.7 2001:db8::1 2001:db8::1 192.0.2.1', 'log_address()');

done_testing();
