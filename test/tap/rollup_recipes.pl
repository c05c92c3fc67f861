# Runs the statements that docs/rollups.md prints, in the order of the page, over the whole log of a blog; only the job
# of pg_cron is left out. Each answer is compared with exact SQL over the log. (039 tests late hits, kills and folds.)
# The times of the log are moved so that its last hit was a moment ago, because the statements of the page use now().
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $data = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');

my $page = StreambloomTap::read_file("$FindBin::Bin/../../docs/rollups.md");
my $printed = join "\n", $page =~ /```sql\n(.*?)```\n/gs;
$printed =~ s/[ \t]*--[^\n]*//g;
my @statements = grep { /\S/ } map { s/^\s+|\s+$//gr } split /;\s*(?:\n|$)/, $printed;

my $db = StreambloomTap->new('057');
$db->sql('ALTER DATABASE ' . $db->name . " SET timezone = 'UTC'");
$db->load_lines('lines', "$data", 'gzip');
$db->sql(<<'SQL');
CREATE TABLE moved AS SELECT split_part(split_part(line, '[', 2), ']', 1)::timestamptz AS at, split_part(split_part(line, '"', 2), ' ', 2) AS url, substring(line FROM '" (\d\d\d) [\d-]')::int AS status FROM lines;
DROP TABLE lines;
UPDATE moved SET at = at + (SELECT now() - interval '2 seconds' - max(at) FROM moved);
CREATE TABLE access_log (at timestamptz NOT NULL, url text NOT NULL, status int);
CREATE INDEX ON access_log (at);
-- the rows of nine tenths of the time come before the first refresh
INSERT INTO access_log SELECT * FROM moved WHERE at < (SELECT max(at) - (max(at) - min(at)) / 10 FROM moved);
SQL

# The rest of the log comes in steps of nine hours, a tenth of its rows up to two hours late. After each step the
# page's refresh runs.
sub follow
{
	my ($refresh) = @_;
	$db->sql("SELECT setseed(0.5); ALTER TABLE moved ADD arrives timestamptz; UPDATE moved SET arrives = at + CASE WHEN random() < 0.1 THEN random() * interval '119 minutes' ELSE '0' END");
	my $from = $db->sql('SELECT max(at) FROM access_log');
	$db->sql("DELETE FROM moved WHERE at <= '$from'");
	while ($db->sql("SELECT count(*) FROM moved WHERE arrives >= '$from'") > 0)
	{
		my $to = $db->sql("SELECT '$from'::timestamptz + interval '9 hours'");
		$db->sql("INSERT INTO access_log SELECT at, url, status FROM moved WHERE arrives >= '$from' AND arrives < '$to' ORDER BY md5(url || at)");
		$db->sql($refresh);
		$from = $to;
	}
}

# Returns whether an answer has rows, the number of rows whose bounds do not hold the exact hits, and the number of
# left-out items that have more hits than others_to. $by: the columns by which items are matched.
sub wrong
{
	my ($answer, $exact, $by) = @_;
	return $db->sql(<<"SQL");
WITH t AS MATERIALIZED ($answer), e AS MATERIALIZED ($exact)
SELECT (SELECT count(*) FROM t) > 0, (SELECT count(*) FROM t LEFT JOIN e USING ($by) WHERE (e.hits BETWEEN hits_from * (1 - 1e-9) AND hits_to * (1 + 1e-9)) IS NOT TRUE),
	(SELECT count(*) FROM e WHERE ($by) NOT IN (SELECT $by FROM t) AND hits > (SELECT max(others_to) FROM t WHERE @{[$by eq 'item' ? 'true' : 't.groups = e.groups']}) * (1 + 1e-9))
SQL
}

my $exact = "SELECT url AS item, sum(%s)::float8 AS hits FROM (SELECT url, now() - at AS age FROM access_log) s GROUP BY url";
my %answers = (
	"SELECT * FROM tbf_rollup_top('page_heat', 10)" => [sprintf($exact, 'decay_exponential(age)'), 'item'],
	"SELECT * FROM tbf_rollup_top('page_heat', 10, weight => \$\$decay_polynomial(age, 1, '1 day')\$\$)" => [sprintf($exact, "decay_polynomial(age, 1, '1 day')"), 'item'],
	"SELECT * FROM tbf_rollup_top_between('page_heat', now() - interval '24 hours', now())" => [sprintf($exact, 'CASE WHEN age <= \'24 hours\' AND age > \'0\' THEN 1 ELSE 0 END'), 'item'],
	"SELECT * FROM tbf_rollup_top_by_group('site_heat', 3)" =>
		["SELECT jsonb_build_object('status', status) AS groups, url AS item, sum(decay_exponential(now() - at))::float8 AS hits FROM access_log WHERE status < 400 GROUP BY 1, 2", 'groups, item'],
);

# Other statements of the page, each with a query that must be true afterwards.
my %checks = (
	"SELECT tbf_rollup_create('page_heat', 'access_log', 'url', 'at')" => "SELECT count(*) = 0 FROM page_heat",
	"CALL tbf_rollup_refresh('page_heat')" => 'SELECT (SELECT sum(hits) FROM page_heat) = (SELECT count(*) FROM access_log)',
	"SELECT cron.schedule('page heat', '* * * * *', \$\$CALL tbf_rollup_refresh('page_heat')\$\$)" => undef,
	"CALL tbf_rollup_refresh('page_heat', '2026-05-02 00:00 UTC', '2026-05-03 00:00 UTC')" => 'SELECT (SELECT sum(hits) FROM page_heat) = (SELECT count(*) FROM access_log)',
	"SELECT * FROM tbf_rollup_compare('page_heat', now() - interval '7 days', now())" => "SELECT count(*) = 0 FROM tbf_rollup_compare('page_heat', NULL, 'infinity')",
	"SELECT rollup, source, counted_to, complete_to, bytes, last_error, next_step FROM tbf_rollups" =>
		"SELECT counted_to = (SELECT max(at) FROM access_log) AND complete_to = date_trunc('hour', counted_to - interval '2 hours') AND last_error IS NULL FROM tbf_rollups",
	"SELECT * FROM tbf_rollup_count('page_heat', '/page/0')" =>
		"SELECT bool_and(hits BETWEEN hits_from * (1 - 1e-9) AND hits_to * (1 + 1e-9)) AND count(*) = 20 FROM (SELECT url, sum(decay_exponential(now() - at)) AS hits FROM access_log GROUP BY url ORDER BY md5(url) LIMIT 20) e, tbf_rollup_count('page_heat', url) c",
	"SELECT * FROM tbf_rollup_risers('page_heat', recent => '1 day', before => '7 days')" =>
		"SELECT bool_and(n BETWEEN hits_from AND hits_to AND b / 7.0 BETWEEN before_from * (1 - 1e-9) AND before_to * (1 + 1e-9)) AND count(*) = 10 FROM tbf_rollup_risers('page_heat', recent => '1 day', before => '7 days'),
			LATERAL (SELECT count(*) FILTER (WHERE at >= now() - interval '1 day') AS n, count(*) FILTER (WHERE at < now() - interval '1 day') AS b FROM access_log WHERE url = item AND at >= now() - interval '8 days') e",
	"SELECT * FROM tbf_rollup_distinct('page_heat', now() - interval '7 days', now())" =>
		"SELECT (SELECT count(DISTINCT url) FROM access_log WHERE at >= now() - interval '7 days') BETWEEN items_from AND items_to AND items_to < 1.02 * items_from FROM tbf_rollup_distinct('page_heat', now() - interval '7 days', now())",
	"SELECT tbf_rollup_create('site_heat', 'access_log', 'url', 'at', condition => 'status < 400', group_by => '{status}',\n\ttiers => '{hour,day}', keep => '{10 days,1 year}', zone => 'Europe/Berlin')" => 'SELECT count(*) = 0 FROM site_heat',
	"CALL tbf_rollup_refresh('site_heat')" =>
		"SELECT count(*) > 2 AND bool_and(n = hits) FROM (SELECT status, count(*) AS n FROM access_log WHERE status < 400 GROUP BY 1) e FULL JOIN (SELECT (groups ->> 'status')::int AS status, sum(hits) AS hits FROM site_heat GROUP BY 1) r USING (status)",
	"SELECT tbf_rollup_drop('site_heat')" => "SELECT to_regclass('site_heat') IS NULL AND count(*) = 1 FROM tbf_rollups",
	"GRANT SELECT ON page_heat TO PUBLIC" => "SELECT has_table_privilege('public', 'page_heat', 'SELECT')",
	"SELECT tbf_rollup_drop('page_heat')" => "SELECT to_regclass('page_heat') IS NULL AND count(*) = 0 FROM tbf_rollups",
);

my $refreshed = 0;
foreach my $statement (@statements)
{
	(my $first = $statement) =~ s/\n.*//s;
	# The page makes a small log of its own.
	next if $first =~ /^CREATE (?:EXTENSION|TABLE access_log|INDEX)/;
	if (exists $answers{$statement})
	{
		is(wrong($statement, @{$answers{$statement}}), 't|0|0', $first);
		is(wrong($statement =~ s/\)$/, counted => true)/r, @{$answers{$statement}}), 't|0|0', "$first, counted") if $statement =~ /tbf_rollup_top/;
	}
	elsif (exists $checks{$statement})
	{
		next if !defined $checks{$statement};
		$db->sql($statement);
		is($db->sql($checks{$statement}), 't', $first);
		follow($statement) if $statement eq "CALL tbf_rollup_refresh('page_heat')" && !$refreshed++;
	}
	else
	{
		fail("the page prints a statement that is not compared here: $statement");
	}
	if ($refreshed == 1)
	{
		$refreshed++;
		is($db->sql('SELECT (SELECT sum(hits) FROM page_heat) = (SELECT count(*) FROM access_log)'), 't', 'each hit is counted once, those that came late, too');
		is($db->sql("SELECT count(*) FROM (SELECT url, count(*) AS n FROM access_log GROUP BY url) e, tbf_rollup_filter_between('page_heat', NULL, NULL) f WHERE tbf_count(f, url) <> n"), '0', 'and those of each page');
	}
}

done_testing();
