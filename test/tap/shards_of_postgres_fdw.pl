# A table in shards that postgres_fdw reads (docs/operations.md). With `extensions 'streambloom'` each shard makes its
# own filter, and the filters travel instead of the rows. The union of the bf is the bf that a single table would have
# given; merged tbf count the same as one tbf, but for rounding.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $hub = StreambloomTap->new('012');
plan skip_all => 'postgres_fdw is not installed'
  if !$hub->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");

# A shard has the requests of two of four sites. Some users and pages are on both shards.
my $rows = 20000;
my @shards = map { StreambloomTap->new("012_shard_$_") } 0, 1;
my $requests = <<"SQL";
SELECT i % 4 AS site, (i * 7919::bigint) % 6007 AS uid, '/page/' || i % 997 AS url, timestamptz '2026-10-01 UTC' + i * interval '1 minute' AS at
FROM generate_series(1, $rows) i
SQL

$hub->sql('CREATE EXTENSION postgres_fdw; CREATE TABLE requests (site int, uid bigint, url text, at timestamptz) PARTITION BY LIST (site)');
foreach my $number (0, 1)
{
	my $sites = join ', ', 2 * $number, 2 * $number + 1;
	my $name = $shards[$number]->name;
	$shards[$number]->sql("CREATE TABLE requests AS SELECT * FROM ($requests) s WHERE site IN ($sites); ANALYZE requests;
		CREATE TABLE profiles AS SELECT site, bf_agg(uid, 10000) AS users FROM requests GROUP BY site");
	foreach my $server ("shard_$number", "plain_$number")
	{
		my $extensions = $server =~ /shard/ ? ", extensions 'streambloom'" : '';
		$hub->sql("CREATE SERVER $server FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$ENV{PGHOST}', port '@{[$ENV{PGPORT} // 5432]}', dbname '$name', use_remote_estimate 'true'$extensions);
			CREATE USER MAPPING FOR CURRENT_USER SERVER $server OPTIONS (user '@{[$ENV{PGUSER} // 'postgres']}')");
	}
	$hub->sql("CREATE FOREIGN TABLE requests_$number PARTITION OF requests FOR VALUES IN ($sites) SERVER shard_$number OPTIONS (table_name 'requests');
		CREATE FOREIGN TABLE plain_requests_$number (site int, uid bigint, url text, at timestamptz) SERVER plain_$number OPTIONS (table_name 'requests');
		CREATE FOREIGN TABLE profiles_$number (site int, users bf) SERVER shard_$number OPTIONS (table_name 'profiles')");
}
$hub->sql("CREATE TABLE here AS $requests; ANALYZE");

sub remote_sql
{
	my ($query, $settings) = @_;
	return join "\n", $hub->sql(($settings // '') . "EXPLAIN (VERBOSE, COSTS OFF) $query") =~ /Remote SQL: (.*)/g;
}

# The union of the filters of the shards.
my $users = 'SELECT bf_union_agg(f) FROM (SELECT bf_agg(uid, 10000) AS f FROM requests_0 UNION ALL SELECT bf_agg(uid, 10000) FROM requests_1) s';
is(() = remote_sql($users) =~ /SELECT \S*bf_agg\(uid, /g, 2, 'bf_agg runs on each shard');
is($hub->sql("SELECT ($users) = bf_agg(uid, 10000) FROM here"), 't', 'and the union of their filters is the filter of all rows');
(my $plain = $users) =~ s/requests_/plain_requests_/g;
unlike(remote_sql($plain), qr/bf_agg/, 'without the option the rows travel');
is($hub->sql("SELECT ($users) = ($plain)"), 't', 'to the same result');

# GROUP BY on the column that determines the shard.
my $sites = 'SELECT site, bf_agg(url, 1000) AS f FROM requests GROUP BY site';
my $partitionwise = "SET enable_partitionwise_aggregate = on;\n";
like(remote_sql($sites, $partitionwise), qr/bf_agg\(url, /, 'a GROUP BY of the shards\' column runs on them');
is($hub->sql($partitionwise . "SELECT count(*) FROM ($sites) r JOIN (SELECT site, bf_agg(url, 1000) AS f FROM here GROUP BY site) h USING (site)
	WHERE r.f = h.f"), 4, 'to the filters of each site');

# Hits: the counters of each shard are rounded up before they travel. (Ages are counted in epochs of 1/96 of a
# half-life.)
my $hits = "SELECT tbf_merge_agg(f) AS f FROM (SELECT tbf_agg(url, at, interval '7 days', 1, 1000, 0.01) AS f FROM requests_0
	UNION ALL SELECT tbf_agg(url, at, interval '7 days', 1, 1000, 0.01) FROM requests_1) s";
is(() = remote_sql($hits) =~ /SELECT \S*tbf_agg\(url, at, /g, 2, 'tbf_agg runs on each shard');
is($hub->sql("SELECT count(*), count(*) FILTER (WHERE merged BETWEEN exact * 2 ^ (-1 / 96.0) AND 1e300 IS NOT TRUE), count(*) FILTER (WHERE merged BETWEEN 0 AND whole * 1.01 IS NOT TRUE)
	FROM (SELECT tbf_count(m.f, url, time) AS merged, tbf_count(one.f, url, time) AS whole, exact
		FROM ($hits) m, (SELECT tbf_agg(url, at, interval '7 days', 1, 1000, 0.01) AS f FROM here) one,
			(SELECT url, time, sum(2 ^ (-extract(epoch FROM time - at) / (7 * 86400.0))) AS exact
			 FROM here, (VALUES (timestamptz '2026-10-15 UTC'), ('2026-12-01 UTC')) v (time) GROUP BY 1, 2) h) c"),
	'1994|0|0', 'what they merge to undercounts no page, and is what one table says but for the rounding');

# A look-up in filters that are stored on a shard.
my $asked = 'SELECT count(*) FROM profiles_0 WHERE users @> 5005::bigint';
like(remote_sql($asked), qr/\@>/, 'a shard answers @> itself');
is($hub->sql($asked), $hub->sql('SELECT count(*) FROM (SELECT bf_agg(uid, 10000) AS users FROM here WHERE site < 2 GROUP BY site) s WHERE users @> 5005::bigint'),
	'as the hub would');

done_testing();
