# TimescaleDB in the same database. chunk_scan refuses its hypertables and their chunks, because only TimescaleDB's own
# plans find their rows. Plain queries on them give the same answers with bf indexes and Skip as without.
# chunk_scan of other tables works as ever. Filters work in continuous aggregates and in jobs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'timescaledb'");
plan skip_all => 'TimescaleDB is not installed (postgresql-NN-timescaledb of Debian and Ubuntu)' if $version eq '';

OwnCluster::start(shared_preload_libraries => 'timescaledb,streambloom', 'timescaledb.telemetry_level' => 'off',
	max_worker_processes => 20);
my $db = StreambloomTap->new('033');
$db->sql('CREATE EXTENSION timescaledb');
diag("TimescaleDB $version");

$db->sql(<<'SQL');
CREATE TABLE hyper (at timestamptz NOT NULL, uid bigint, filler text DEFAULT repeat('x', 100));
SELECT create_hypertable('hyper', 'at', chunk_time_interval => interval '1 day');
CREATE INDEX ON hyper USING bf (uid) WITH (pages_per_range = 8);
INSERT INTO hyper SELECT timestamptz '2024-01-01 UTC' + i * interval '1 minute', i FROM generate_series(0, 14399) i;
CREATE TABLE day (at timestamptz NOT NULL, uid bigint, filler text DEFAULT repeat('x', 100)) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE day_%s PARTITION OF day FOR VALUES FROM (%L) TO (%L)', i, timestamptz '2024-01-01 UTC' + i * interval '1 day',
	timestamptz '2024-01-02 UTC' + i * interval '1 day') FROM generate_series(0, 9) i \gexec
INSERT INTO day SELECT at, uid FROM hyper;
CREATE INDEX ON day USING bf (uid) WITH (pages_per_range = 8);
REINDEX TABLE hyper;
VACUUM ANALYZE;
CREATE TABLE summary AS SELECT tableoid::regclass AS chunk, bf_agg(uid) AS uids FROM hyper GROUP BY 1;
SQL
my $chunk = $db->sql("SELECT show_chunks('hyper') LIMIT 1");

foreach my $call ("chunk_scan(NULL::hyper, 'uid', 42)", "chunk_scan(NULL::hyper, 'uid', 42, 'summary')", "chunk_scan_any(NULL::hyper, 'uid', '{42}')",
	"chunk_scan_explain(NULL::hyper, 'uid', 42)", "chunk_scan(NULL::$chunk, 'uid', 42)")
{
	$db->fails_like("SELECT * FROM $call", '0A000', qr/beside the extension "timescaledb"/, "$call is refused");
}

foreach my $setting ('on', 'off')
{
	my $set = "SET streambloom.enable_skip = $setting;";
	is($db->sql("$set SELECT count(*), min(uid), max(uid) FROM hyper WHERE uid IN (42, 9000, 20000)"), '2|42|9000',
		"a hypertable's rows, Skip $setting");
	is($db->sql("$set SELECT count(*) FROM generate_series(0, 14399, 480) v, hyper WHERE uid = v"), 30,
		"a hypertable in a join, Skip $setting");
	is($db->sql("$set PREPARE p(bigint) AS SELECT count(*) FROM hyper WHERE uid = \$1; SET plan_cache_mode = force_generic_plan; " .
			'EXECUTE p(42); EXECUTE p(-1)'), "1\n0", "a generic plan, Skip $setting");
	is($db->sql("$set SELECT count(*) FROM day WHERE uid IN (42, 9000, 20000)"), 2, "a partitioned table's rows, Skip $setting");
}
is($db->sql(StreambloomTap::parallel(2) . 'SELECT count(*) FROM hyper WHERE uid = 42'), 1, "a parallel plan");

# Joins: docs/neighbours.md says with which conditions TimescaleDB's nodes keep Skip away, and how to write the
# conditions instead.
$db->sql('CREATE TABLE suspects AS SELECT unnest(ARRAY[42, 9000, -1]::bigint[]) AS uid; ANALYZE suspects');
my $hash_joins = 'SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_indexscan = off; SET max_parallel_workers_per_gather = 0; ' .
	'PREPARE since(timestamptz) AS SELECT uid FROM hyper JOIN suspects USING (uid) WHERE at > $1;';
my $join = 'SELECT uid FROM hyper JOIN suspects USING (uid)';
my $both_off = 'SET timescaledb.enable_chunk_append = off; SET timescaledb.enable_constraint_aware_append = off;';
foreach (
	['no condition on time', '', $join, 1, '42 9000'],
	['a constant of the type of the column', '', "$join WHERE at > '2024-01-04'", 1, '9000'],
	['a custom plan', 'SET plan_cache_mode = force_custom_plan;', "EXECUTE since('2024-01-04')", 1, '9000'],
	['a generic plan', 'SET plan_cache_mode = force_generic_plan;', "EXECUTE since('2024-01-04')", 0, '9000'],
	['a date', '', "$join WHERE at > date '2024-01-04'", 0, '9000'],
	['now()', '', "$join WHERE at < now() - interval '1 day'", 0, '42 9000'],
	['a subquery', '', "$join WHERE at > (SELECT timestamptz '2024-01-04')", 0, '9000'],
	['now() with ConstraintAwareAppend', 'SET timescaledb.enable_chunk_append = off;', "$join WHERE at < now() - interval '1 day'", 0, '42 9000'],
	['now() without both nodes', $both_off, "$join WHERE at < now() - interval '1 day'", 1, '42 9000'],
	['a date without both nodes', $both_off, "$join WHERE at > date '2024-01-04'", 1, '9000'])
{
	my ($name, $set, $query, $skips, $rows) = @$_;
	my $plan = $db->sql("$hash_joins $set EXPLAIN (COSTS OFF) $query");
	is(($plan =~ /Skip/ ? 1 : 0) . ($plan =~ /(?:Chunk|ConstraintAware)Append/ ? 1 : 0), $skips ? '10' : '01', "the plan of a join, $name") or diag($plan);
	is(join(' ', sort { $a <=> $b } split /\n/, $db->sql("$hash_joins $set $query")), $rows, "its rows, $name");
}


is($db->sql("SELECT count(*) FROM generate_series(0, 14399, 480) v, chunk_scan(NULL::day, 'uid', v)"), 30, 'chunk_scan of a partitioned table');
is($db->sql("SELECT string_agg(chunk::text, ',') FROM chunk_scan_explain(NULL::day, 'uid', 42) WHERE is_read"), 'day_0', 'which skips partitions');
is($db->sql(StreambloomTap::parallel(2) . "SELECT count(*) FROM day d, LATERAL chunk_scan(NULL::day, 'uid', d.uid) WHERE d.uid < 3"), 3,
	'and goes into no parallel plan');

# chunk_scan refuses all tables with inheritance
$db->sql("CREATE TABLE alone AS SELECT * FROM day; CREATE INDEX ON alone USING bf (uid)");
is($db->sql("SELECT count(*) FROM chunk_scan(NULL::alone, 'uid', 42)"), 1, 'chunk_scan of a table without inheritance');
$db->sql('CREATE TABLE heir () INHERITS (alone)');
$db->fails_like("SELECT * FROM chunk_scan(NULL::heir, 'uid', 42)", '0A000', qr/beside the extension "timescaledb"/, 'of a child');
$db->sql('DROP TABLE alone CASCADE');
# a chunk that is also the child of another table
$db->sql("CREATE TABLE above (at timestamptz NOT NULL, uid bigint, filler text)");
if ($db->sqlstate("ALTER TABLE $chunk INHERIT above") eq '00000')
{
	$db->fails_like("SELECT * FROM chunk_scan(NULL::above, 'uid', 42)", '0A000', qr/beside the extension "timescaledb"/, 'a chunk in another tree is refused');
	$db->sql("ALTER TABLE $chunk NO INHERIT above");
}
# A later chunk has the index too, and CALL bf_summarize of the hypertable summarizes the indexes of all chunks.
$db->sql("INSERT INTO hyper SELECT timestamptz '2024-02-01 UTC' + i * interval '1 minute', 100000 + i FROM generate_series(0, 1439) i; CALL bf_summarize('hyper')");
is($db->sql("SELECT count(*) FROM bf_indexes WHERE relation IN (SELECT show_chunks('hyper'))"), 11, 'bf_indexes shows the index of each chunk');
is($db->sql("SELECT count(*) FROM bf_indexes WHERE relation IN (SELECT show_chunks('hyper')) AND summarized < ranges"), 0, 'all are summarized');
is($db->sql('SELECT count(*) FROM hyper WHERE uid = 100042'), 1, 'and asked');
like($db->sql("SELECT advice FROM bf_index_advise('$chunk', '{uid}')"), qr/the table is small/, 'advice on a chunk');
like($db->sql("SELECT advice FROM bf_index_advise('hyper', '{uid}')"), qr/ask for one of its children/, 'a hypertable has no rows of its own');

# A filter with the hits of each bucket, and the merge of all of them: as a view that is refreshed, and as a continuous
# aggregate. Continuous aggregates belong to the part of TimescaleDB that has another licence.
my $buckets = "SELECT time_bucket(interval '1 day', at) AS day, tbf_agg(uid, at, interval '7 days', 1, 20000, 0.01) AS f FROM hyper GROUP BY 1";
my $merged = "SELECT count(*) FROM generate_series(0, 14399, 480) v, (SELECT tbf_merge_agg(f) AS f FROM %s) m WHERE tbf_count(f, v::bigint, '2024-02-02 UTC') > 0";

$db->sql("CREATE MATERIALIZED VIEW days AS $buckets; REFRESH MATERIALIZED VIEW days");
is($db->sql(sprintf $merged, 'days'), 30, 'tbf_agg of time_bucket() in a materialized view');
my ($code, $out, $err) = $db->try("CREATE MATERIALIZED VIEW hyper_days WITH (timescaledb.continuous) AS $buckets WITH NO DATA; CALL refresh_continuous_aggregate('hyper_days', NULL, NULL)");
if ($code == 0)
{
	is($db->sql(sprintf $merged, 'hyper_days'), 30, 'tbf_agg in a continuous aggregate');
}
else
{
	like($err, qr/not supported under the current .*license/, 'continuous aggregates are not in this part of TimescaleDB');
}

# A job that decays stored filters. Its body is run even if jobs are not available.
$db->sql(<<'SQL');
CREATE TABLE heat AS SELECT 1 AS id, tbf_agg(uid, at, interval '1 day', 1, 20000, 0.01) AS f FROM hyper;
CREATE PROCEDURE fade(job_id int, config jsonb) LANGUAGE plpgsql AS $$ BEGIN UPDATE heat SET f = tbf_decay(f, now()) WHERE f <> tbf_decay(f, now()); END $$;
SQL
($code, $out, $err) = $db->try("SELECT add_job('fade', '1 day') AS job \\gset\nCALL run_job(:job)");
if ($code == 0) { pass('a job with tbf_decay') }
else
{
	like($err, qr/not supported under the current .*license/, 'jobs are not in this part of TimescaleDB');
	$db->sql('CALL fade(0, NULL)');
}
is($db->sql('SELECT f = tbf_decay(f) FROM heat'), 't', 'what the job does is done');

# Compression belongs to the part with another licence, which distributions leave out.
if ($db->sqlstate("ALTER TABLE hyper SET (timescaledb.compress); SELECT compress_chunk(c) FROM show_chunks('hyper') c LIMIT 5") eq '00000')
{
	is($db->sql('SELECT count(*) FROM hyper WHERE uid IN (42, 9000, 20000)'), 2, 'plain queries of compressed chunks');
	$db->fails_like("SELECT * FROM chunk_scan(NULL::hyper, 'uid', 42)", '0A000', qr/timescaledb/, 'with compressed chunks it is refused');
}

is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
