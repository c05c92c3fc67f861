# Sequential scans of a large table are synchronized: a scan that begins joins those that are running, at their page. A
# Skip reads only some pages of the table. It must not take part in this, also not after it has read the whole table
# in an earlier scan of the same query.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
# A table is large if it has more pages than a quarter of these 128 buffers.
OwnCluster::start(autovacuum => 'off', shared_buffers => '1MB', max_connections => 10);
my $db = StreambloomTap->new('059');
$db->sql(<<'SQL');
CREATE TABLE facts AS SELECT i AS uid, repeat('x', 600) AS filler FROM generate_series(1, 5000) i;
CREATE INDEX ON facts USING bf (uid) WITH (pages_per_range = 32);
CREATE TABLE keys AS SELECT 1 AS step, i AS uid FROM generate_series(1, 5000, 10) i UNION ALL SELECT 2, 3500 UNION ALL SELECT 3, i FROM generate_series(3, 5000, 10) i;
VACUUM ANALYZE facts, keys;
SQL
# The keys of the steps 1 and 3 are in all pages. Step 2, which runs twice, has one key.
my $settings = "LOAD 'streambloom'; SET max_parallel_workers_per_gather = 0; SET enable_mergejoin = off; SET enable_bitmapscan = off;";
my $query = 'SELECT step, found FROM (VALUES (1), (2), (3), (2)) steps(step), LATERAL (SELECT count(*) AS found FROM facts JOIN keys USING (uid) WHERE keys.step = steps.step OFFSET 0) f';
my $plan = $db->sql("$settings EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query");
like($plan, qr/Custom Scan \(Skip\).*Verdict: some pages/s, 'pages are skipped in the second step') or diag($plan);
is($db->sql("$settings $query"), "1|500\n2|1\n3|500\n2|1", 'the rows of scans of the whole table and of some of its pages');
# The last scan of the whole table began and ended at the first row. So this scan begins there, unless a Skip that
# read only some pages has noted another place.
is($db->sql('SELECT uid FROM facts LIMIT 1'), 1, 'other scans do not begin where the Skip has read');
done_testing();
