# The reader of docs/logs.md. test/logs/formats.txt has a line of each format, which is read right or refused. The other
# files of test/logs have the same five hits in one format each, and broken lines, which stop nothing.
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
is(join(' ', sort keys %recipe), 'hits partitions reader', 'the recipes');
my $db = StreambloomTap->new('050');
$db->sql("CREATE TABLE log_line (n bigint GENERATED ALWAYS AS IDENTITY, line text); $recipe{reader}");

sub shell { return (StreambloomTap::run_program('', 'bash', '-c', "set -euo pipefail; . '$root/scripts/lib/common.sh'; . '$root/scripts/lib/log.sh'; $_[0]"))[0, 1]; }

# read_lines(TEXT, WANTED): loads the lines and returns these columns of their hits.
sub read_lines
{
	my ($text, $wanted) = @_;
	$db->sql("DROP TABLE IF EXISTS hit; TRUNCATE log_line RESTART IDENTITY;\nCOPY log_line (line) FROM STDIN (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02');\n$text\n\\.\n");
	return $db->rows("SET TimeZone = 'UTC'; $recipe{hits} SELECT $wanted FROM hit ORDER BY n");
}

# A format is some lines that begin with its name. The line itself may have a header, "#Fields:", in front, and
# corrections of the expected hit behind.
my (undef, @formats) = split /\n\n/, StreambloomTap::read_file("$root/test/logs/formats.txt");
cmp_ok(scalar @formats, '>=', 50, 'fifty formats, and more');
my (@names, @expected);
my $lines = '';
my $n = 0;
foreach my $format (@formats)
{
	my %hit = (time => '2026-03-01 10:00:00+00', client => '192.0.2.7', method => 'GET', url => '/search?q=bloom&n=10', status => 404);
	my ($name, @rest) = split /\n/, $format;
	foreach (@rest)
	{
		if (/^= refused$/) { %hit = () }
		elsif (/^= (\w+) (.*)/) { exists $hit{$1} or die "no field $1"; $hit{$1} = $2 eq '-' ? '' : $2 }
		else { $lines .= "$_\n"; $n++ }
	}
	push @names, $name =~ s/^# //r;
	push @expected, [$n, %hit ? @hit{qw(time client method url status)} : 'refused'];
}
my %found = map { (shift(@$_), $_) } read_lines($lines, 'n, at, host, method, url, status, bytes, agent');
foreach my $i (0 .. $#names)
{
	my ($number, @hit) = @{$expected[$i]};
	my ($bytes, $agent) = splice @{$found{$number} // []}, 5;
	is_deeply($found{$number} // ['refused'], \@hit, $names[$i]) or diag(explain($found{$number}));
	like($bytes // '', qr/^(?:512)?$/, "$names[$i]: bytes");
	like($agent // '', qr{^(?:curl/8\.5\.0)?$}, "$names[$i]: agent");
}

# The hits of each other sample. A format may lack the last two columns, the referrer and the agent, or the referrer
# alone. If a HEAD has sent no bytes, their number is "-", 0 or empty in the sample.
my $browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
my @hits = (
	['2026-03-01 10:00:00+00', '192.0.2.7', 'GET', '/index.html', 200, 5120, '', $browser],
	['2026-03-01 10:00:01+00', '198.51.100.23', 'GET', '/search?q=bloom+filter&n=10', 200, 812, 'https://www.example.com/', 'curl/7.88.1'],
	['2026-03-01 10:00:02+00', '2001:db8::17', 'POST', '/login', 302, 0, 'https://www.example.com/login', $browser],
	['2026-03-01 10:00:03+00', '203.0.113.99', 'GET', '/%C3%A9t%C3%A9/no-such-page', 404, 153, '', 'a "quoted" agent'],
	['2026-03-02 04:59:59+00', '192.0.2.7', 'HEAD', '/', 200, 0, '', 'monitor/1.0']);
my $broken = 2;

foreach my $file (sort glob "$root/test/logs/*.log")
{
	my ($sample) = $file =~ m{([^/]+)\.log$};
	my ($code, $text) = shell("read_log '$file'");
	my @found = read_lines($text, 'at, host, method, url, status, bytes, referrer, agent');
	my @expected = map { [@$_] } @hits;
	foreach my $hit (@found)
	{
		$hit->[3] =~ s{^http://www\.example\.com}{} if $sample eq 'squid';
		$hit->[5] = 0 if $hit->[5] eq '';
		$hit->[7] =~ s/\\"|%22/"/g;
	}
	foreach my $hit (@expected)
	{
		$hit->[6] = '' if $sample =~ /^(?:common|alb|squid|haproxy)$/;
		$hit->[7] = '' if $sample =~ /^(?:common|squid|haproxy)$/;
	}
	is_deeply(\@found, \@expected, "$sample: its hits") or diag(explain(\@found));
	my $lines = () = StreambloomTap::read_file($file) =~ /^[^#\xef]/gm;
	cmp_ok($lines, '>=', @hits + $broken, "$sample: and lines that are none");
}

is((shell('recipe nothing'))[0], 1, 'no such recipe');

# A partition is a day, or a month if the log is longer than a hundred days.
foreach (['01/Mar/2026 02/Mar/2026 09/Jun/2026', '2026_03_01 2026_03_02 2026_06_09'], ['01/Mar/2026 02/Mar/2026 10/Jun/2026', '2026_03_01 2026_06_01'])
{
	my ($days, $partitions) = @$_;
	read_lines(join("\n", map { qq(192.0.2.7 - - [$_:10:00:00 +0000] "GET / HTTP/1.1" 200 1) } split / /, $days), 'n');
	$db->sql("SET TimeZone = 'UTC'; DROP TABLE IF EXISTS access_log; $recipe{partitions}");
	is($db->sql("SELECT string_agg(substr(relid::text, 12), ' ' ORDER BY 1) FROM pg_partition_tree('access_log') WHERE isleaf"), $partitions, "partitions of $days");
}

# Times in the forms in which programs write them.
is($db->sql("SET TimeZone = 'UTC'; SELECT string_agg(coalesce(log_time(t)::text, 'none'), ', ' ORDER BY n) FROM unnest(ARRAY['1772359200', '1772359200123', '1772359200.5',
	'1772359200123456', '1772359200123456789', '01/Mar/2026:10:00:00 +0100', '2026-03-01T10:00:00.5Z', '2026-03-01 10:00:00', 'now', 'infinity', '', '-', '99999999999999999999',
	'31/Feb/2026:10:00:00 +0000', NULL, '20260301', '20260231', '0.005', '260301', '99999999.5', '100000000', '01.03.2026 10:00:00', 'Sun Mar  1 10:00:00 2026',
	'Sun, 01 Mar 2026 10:00:00 GMT']) WITH ORDINALITY u (t, n)"),
	'2026-03-01 10:00:00+00, 2026-03-01 10:00:00.123+00, 2026-03-01 10:00:00.5+00, 2026-03-01 10:00:00.123456+00, 2026-03-01 10:00:00.123457+00, ' .
	'2026-03-01 09:00:00+00, 2026-03-01 10:00:00.5+00, 2026-03-01 10:00:00+00, none, none, none, none, none, none, none, ' .
	'2026-03-01 00:00:00+00, none, none, none, none, 1973-03-03 09:46:40+00, 2026-01-03 10:00:00+00, 2026-03-01 10:00:00+00, 2026-03-01 10:00:00+00', 'log_time()');
is($db->sql(q!SELECT log_json('{"a": "\x22b\u0000"}'), log_json('{"a": '), log_json('[1]')!), '{"a": "\"b"}||[1]', 'log_json()');
is($db->sql(q!SELECT log_json('{"a": ' || repeat('[', 100000) || repeat(']', 100000) || '}') IS NULL!), 't', 'log_json() of a document that is nested too deeply');
is($db->sql("SELECT string_agg(coalesce(log_address(a), 'none'), ' ' ORDER BY n) FROM unnest(ARRAY['192.0.2.7', '192.0.2.7:80', '[2001:db8::1]:443', '2001:db8::1', '192.0.2.1, 192.0.2.2',
	'unknown, 192.0.2.1', '::ffff:192.0.2.7', '::1', '2001:db8:0:0:0:0:0:1', '10:00:00', '1.2.3.4.example.net', 'Foo::bar', '1.2.3', '']) WITH ORDINALITY u (a, n)"),
	'192.0.2.7 192.0.2.7 2001:db8::1 2001:db8::1 192.0.2.1 192.0.2.1 192.0.2.7 ::1 2001:db8:0:0:0:0:0:1 none none none none none', 'log_address()');
is($db->sql(q!SELECT log_first('{"a": "-", "b": {"c": "", "d": 5}, "b.e": "x", "f": {}}', 'a b b.c f ' || unnest(ARRAY['none', 'b.d', 'b.e']))!), "\n5\nx", 'log_first()');

# Status and bytes of other programs under the same names, lines that are null or empty, names in place of addresses.
is($db->sql(q!SELECT string_agg(concat_ws(' ', host, status, bytes), ', ' ORDER BY n) FROM unnest(ARRAY['{"status": "20000000000", "size": "x", "url": "/", "ip": "a.example"}', NULL, '', '[1]', '{"a": ',
	'{"log": "{\"log\": \"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] \\\\\"GET / HTTP/1.1\\\\\" 200 7\"}"}', 'client.example.net - john.doe [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 7',
	'www.example.com:80 client.example.net - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 7', '- client.example.net - [01/Mar/2026:10:00:00 +0000] "-" 408 0',
	'- - frank [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 7']) WITH ORDINALITY u (t, n), log_hit(t)!),
	'a.example, , , , , 192.0.2.7 200 7, client.example.net 200 7, client.example.net 200 7, client.example.net 408 0, 200 7', 'log_hit()');

done_testing();
