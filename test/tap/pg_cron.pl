# Jobs of pg_cron: decay, an hourly roll-up, and the refresh of a roll-up, run by the real scheduler in a cluster of the
# test's own, over connections and in background workers. After decay and the hourly roll-up no count is below the exact
# answer of SQL. An additional run of the hourly roll-up changes nothing. If a run of decay was missed, the next one
# leaves the bytes that both would have left. pg_cron lives in one database; jobs in another database need
# cron.schedule_in_database. A job runs as the role that scheduled it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_cron'");
plan skip_all => 'pg_cron is not installed (postgresql-NN-cron of Debian and Ubuntu)' if $version eq '';

# As the manual says: first the database exists, then the library is preloaded and told the database's name, then comes
# CREATE EXTENSION. By default jobs connect to localhost. Here, as in many places, the server listens only on a socket.
OwnCluster::start();
my $db = StreambloomTap->new('008');
my $other = StreambloomTap->new('008_other');
OwnCluster::restart(
	shared_preload_libraries => 'pg_cron', 'cron.database_name' => $db->name, 'cron.host' => $ENV{PGHOST});
$db->sql('CREATE EXTENSION pg_cron');

# From pg_cron 1.5 on intervals may be given in seconds; before, a minute is the shortest.
my $seconds = $db->sqlstate("SELECT cron.schedule('try', '1 second', 'SELECT 1')") eq '00000';
my $often = $seconds ? '1 second' : '* * * * *';
my $short = $seconds ? '5 seconds' : '30 seconds';
$db->sql("SELECT cron.unschedule('try')") if $seconds;
diag("pg_cron $version, jobs run with '$often'");

# A query that counts the runs of a job that ended with this status and, if one is given, a message that matches.
sub runs
{
	my ($job, $status, $message) = @_;
	return "(SELECT count(*) FROM cron.job_run_details d JOIN jobs USING (jobid) WHERE name = '$job' AND d.status = '$status'" .
		(defined $message ? " AND d.return_message ~ '$message'" : '') . ')';
}

sub wait_for_runs
{
	my ($runs, $job, @which) = @_;
	eval { $db->wait_until('SELECT ' . runs($job, @which) . " >= $runs", "$runs runs of $job"); 1 } or do
	{
		diag($db->sql('SELECT name, d.status, d.return_message, d.start_time FROM cron.job_run_details d JOIN jobs USING (jobid) ORDER BY runid DESC LIMIT 20'));
		diag(substr(OwnCluster::server_log(), -3000));
		die "waited in vain for $job\n";
	};
}

# Schedules a job, or gives it another schedule, and notes its name: cron.job_run_details has only the numbers of jobs,
# and cron.job no longer has a job that was unscheduled.
sub schedule
{
	my ($job, $when, $command, %option) = @_;
	my $as = $option{role} ? "SET SESSION AUTHORIZATION $option{role};" : '';
	my $database = $option{database} ? ", '$option{database}'" : '';
	my $function = $database ? 'cron.schedule_in_database' : 'cron.schedule';
	my $jobid = $db->sql("$as SELECT $function('$job', '$when', \$job\$$command\$job\$$database)");
	$db->sql("INSERT INTO jobs VALUES ('$job', $jobid) ON CONFLICT DO NOTHING");
}

sub unschedule_all
{
	$db->sql('SELECT cron.unschedule(jobid) FROM cron.job');
	$db->wait_until("SELECT count(*) = 0 FROM cron.job_run_details WHERE status NOT IN ('succeeded', 'failed')", 'the last run to end');
}

my $decay = 'UPDATE heat SET f = tbf_decay(f, now()) WHERE f <> tbf_decay(f, now())';
my $decay_always = 'UPDATE short_heat SET f = tbf_decay(f, now())';
# The statement that docs/operations.md prints: it deletes exactly the rows that it counts.
my %recipe = StreambloomTap::recipes('docs/operations.md');
my ($hourly_table, $roll_up) = $recipe{'roll up and delete'} =~ /^(CREATE TABLE .*?;).*\$\$\n(.*)\$\$/s or die 'no job in the recipe';

# ------------------------------------------------------------- what there is

# 3,000 pages with 1 to 100 hits each, 40 to 75 days old. A few pages are hot, so the counters are wide. In the 5
# half-lives since then the counts have become small enough for narrower counters.
my $make_heat = <<'SQL';
CREATE TABLE past AS
	SELECT 'page ' || i AS url, now() - interval '40 days' - CASE WHEN i % 500 = 0 THEN 0 ELSE i * 7919 % 50000 END * interval '1 minute' AS at,
		CASE WHEN i % 500 = 0 THEN 30000 ELSE i % 100 + 1 END AS weight
	FROM generate_series(1, 3000) i;
CREATE TABLE heat (id int PRIMARY KEY, f tbf NOT NULL);
INSERT INTO heat SELECT id, tbf_agg(url, at, interval '7 days', weight, 3000, 0.01) FROM past, generate_series(1, 2) id GROUP BY id;
CREATE TABLE heat_before AS TABLE heat;
SQL
$_->sql($make_heat) foreach $db, $other;

# Hits with so short a half-life that nearly each run has something to do. Large weights keep them from fading at once.
$db->sql(<<"SQL");
CREATE TABLE jobs (name text, jobid bigint PRIMARY KEY);
CREATE TABLE short_past AS SELECT 'page ' || i AS url, now() - i * interval '1 millisecond' AS at, 100.0 * i * i AS weight
	FROM generate_series(1, 3000) i;
CREATE TABLE short_heat AS SELECT tbf_agg(url, at, interval '$short', weight, 3000, 0.01) AS f FROM short_past;
CREATE TABLE short_alone AS TABLE short_heat;
CREATE TABLE hits (url text, at timestamptz);
$hourly_table
-- Five hours that are closed, and one that cannot close during the test.
INSERT INTO hits SELECT 'page ' || i % (200 * abs(h)), date_trunc('hour', now(), 'UTC') + h * interval '1 hour' + i * interval '1 second'
	FROM unnest(ARRAY[-5, -4, -3, -2, -1, 3]) h, generate_series(0, 3599) i;
CREATE TABLE all_hits AS SELECT *, date_trunc('hour', at, 'UTC') AS hour FROM hits;

-- Computed from the definition in docs/tbf.md, with an epoch of 1/96 of the half-life, in microseconds.
CREATE FUNCTION microseconds(t timestamptz) RETURNS numeric LANGUAGE sql IMMUTABLE AS
	\$\$SELECT (extract(epoch FROM t) - 946684800) * 1000000\$\$;
CREATE FUNCTION exact(weight float8, hit timestamptz, at timestamptz, half_life interval) RETURNS float8 LANGUAGE sql IMMUTABLE AS
	\$\$SELECT weight * 2 ^ (-((floor(microseconds(at) / epoch) - floor(microseconds(hit) / epoch)) * epoch / life)::float8)
	FROM (SELECT extract(epoch FROM half_life) * 1000000 AS life, floor(extract(epoch FROM half_life) * 1000000 / 96) AS epoch) h\$\$;
SQL

# One test: no page counts less than the exact answer.
sub never_below
{
	my ($where, $filters, $past, $half_life, $name) = @_;
	my ($pages, $below, $worst) = split /\|/, $db->sql(<<"SQL");
SELECT count(*), count(*) FILTER (WHERE counted BETWEEN exact * (1 - 1e-12) AND 1e300 IS NOT TRUE), max(exact - counted)
FROM (SELECT tbf_count(f, url, now()) AS counted, exact(weight, at, now(), '$half_life') AS exact FROM $filters, $past) c
SQL
	ok($pages >= 3000 && $below == 0, $name) or diag("$below of $pages, by up to $worst");
}

is($db->sql('SELECT count(*) FROM heat WHERE f <> tbf_decay(f)'), 2, 'the decay is due');

# ----------------------------------------------------- jobs run over sockets

$db->make_role('streambloom_tap_fader', 'LOGIN');
$db->make_role('streambloom_tap_stranger', 'LOGIN');
$db->make_role('streambloom_tap_nobody', 'NOLOGIN');
$db->sql(<<'SQL');
GRANT USAGE ON SCHEMA cron TO streambloom_tap_fader, streambloom_tap_stranger, streambloom_tap_nobody;
CREATE TABLE role_heat AS SELECT * FROM heat WHERE id = 1;
ALTER TABLE role_heat OWNER TO streambloom_tap_fader;
SQL
my $role_decay = 'UPDATE role_heat SET f = tbf_decay(f, now()) WHERE f <> tbf_decay(f, now())';

$db->sql("CREATE TABLE log (at timestamptz, url text); INSERT INTO log SELECT now() - i * interval '1 hour', '/' || i % 7 FROM generate_series(0, 1000) i; SELECT tbf_rollup_create('kept', 'log', 'url', 'at')");
my @jobs = (
	['keep', "CALL tbf_rollup_refresh('kept')"],
	['fade', $decay],
	['fade always', $decay_always],
	['roll up', $roll_up],
	['fade elsewhere', $decay, database => $other->name],
	['fade the wrong one', "UPDATE only_there SET f = tbf_decay(f, now())"],
	['fade as a role', $role_decay, role => 'streambloom_tap_fader'],
	['fade as a stranger', $role_decay, role => 'streambloom_tap_stranger'],
	['fade as nobody', $role_decay, role => 'streambloom_tap_nobody']);
sub schedule_all
{
	my ($when) = @_;
	foreach (@jobs)
	{
		my ($job, @what) = @$_;
		schedule($job, $when, @what);
	}
}
$other->sql('CREATE TABLE only_there AS TABLE heat');

subtest 'pg_cron lives in one database' => sub {
	like(($other->try('CREATE EXTENSION pg_cron'))[2], qr/can only create extension in database/, 'and in no other');
	is($db->sqlstate("SET SESSION AUTHORIZATION streambloom_tap_fader; SELECT cron.schedule_in_database('x', '$often', '', '" . $other->name . "')"),
		'42501', 'an ordinary role may not schedule for another database');
};

# Where jobs run each minute, the first run is made when the server starts, so that the test waits only for the second.
schedule_all($seconds ? $often : '@reboot');
OwnCluster::restart() if !$seconds;
wait_for_runs(1, $_, 'succeeded') foreach 'fade', 'fade always', 'roll up', 'fade elsewhere', 'fade as a role', 'keep';
wait_for_runs(1, $_, 'failed') foreach 'fade the wrong one', 'fade as a stranger', 'fade as nobody';

schedule_all($often) if !$seconds;

# Rows for the next run of 'keep'.
$db->sql("INSERT INTO log SELECT now() - i * interval '1 minute', '/late' FROM generate_series(0, 100) i");

# Late hits: some in an hour that is rolled up already, some in an hour without hits so far.
$db->sql(<<'SQL');
CREATE TEMP TABLE late AS SELECT 'late ' || i AS url, date_trunc('hour', now(), 'UTC') - h * interval '1 hour' + i * interval '1 second' AS at
	FROM unnest(ARRAY[3, 8]) h, generate_series(0, 99) i;
INSERT INTO all_hits SELECT *, date_trunc('hour', at, 'UTC') FROM late;
INSERT INTO hits TABLE late;
SQL
$db->wait_until('SELECT (SELECT sum(hits) FROM kept) = (SELECT count(*) FROM log)', 'the roll-up to be refreshed');
wait_for_runs(1, 'fade', 'succeeded', '^UPDATE 0$');
wait_for_runs(1, 'fade elsewhere', 'succeeded', '^UPDATE 0$');
wait_for_runs(2, 'fade always', 'succeeded', '^UPDATE 1$');
$db->wait_until("SELECT count(*) = 3600 FROM hits", 'the late hits to be rolled up');
unschedule_all();

# The time of the last run that changed something: the filters must have the bytes of a decay at that time.
sub due
{
	my ($job) = @_;
	return "(SELECT max(d.start_time) FROM cron.job_run_details d JOIN jobs USING (jobid) WHERE name = '$job' AND d.return_message = 'UPDATE 2')";
}

subtest 'decay in the database of pg_cron' => sub {
	is($db->sql('SELECT ' . runs('fade', 'failed')), 0, 'no run failed');
	is($db->sql('SELECT count(*) FROM heat h JOIN heat_before b USING (id) WHERE h.f = tbf_decay(b.f, ' . due('fade') . ') AND h.f <> b.f'),
		2, 'the bytes are those of a decay at that time');
	my ($before, $after) = split /\|/, $db->sql('SELECT (SELECT sum(octet_length(f::bytea)) FROM heat_before), (SELECT sum(octet_length(f::bytea)) FROM heat)');
	cmp_ok($after, '<', $before, 'fewer than before');
	is($db->sql('SELECT count(*) FROM heat h JOIN heat_before b USING (id), tbf_info(h.f) hi, tbf_info(b.f) bi WHERE hi.base > bi.base AND hi.newest = bi.newest'),
		2, 'at a newer base');
	never_below('heat', 'heat', 'past', '7 days', 'no page counts less than the exact answer');
};

subtest 'a run that was missed' => sub {
	is($db->sql('SELECT k.f <> a.f FROM short_heat k, short_alone a'), 't', 'runs have decayed one of two filters');
	is($db->sql("SELECT bool_and(tbf_decay(k.f, t) = tbf_decay(a.f, t)) FROM short_heat k, short_alone a, unnest(ARRAY[now(), now() + interval '1 minute']) t"),
		't', 'one decay of the other leads to the same bytes');
	is($db->sql("BEGIN; $decay_always; SELECT k.f = tbf_decay(a.f, now()) FROM short_heat k, short_alone a; ROLLBACK"), 't',
		'and so does one more run of the job');
	never_below('short_heat', 'short_heat', 'short_past', $short, 'no page counts less than the exact answer with them');
	never_below('short_alone', 'short_alone', 'short_past', $short, 'nor without them');
};

my $rolled = <<'SQL';
SELECT count(*), count(*) FILTER (WHERE h.f = a.f)
FROM hits_by_hour h FULL JOIN (SELECT hour, tbf_agg(url, at, NULL) AS f FROM all_hits WHERE hour < now() GROUP BY hour) a USING (hour)
SQL
subtest 'roll-up by the hour' => sub {
	is($db->sql('SELECT ' . runs('roll up', 'failed')), 0, 'no run failed');
	is($db->sql($rolled), '6|6', 'each closed hour has a row, with the bytes of one aggregate over all its hits, late ones too');
	is($db->sql("SELECT count(*) FROM hits h JOIN all_hits a USING (url, at) WHERE at > now()"), 3600, 'the raw hits of other hours are all left');
	my ($pairs, $below) = split /\|/, $db->sql(<<'SQL');
SELECT count(*), count(*) FILTER (WHERE tbf_count(f, url) BETWEEN exact AND 1e300 IS NOT TRUE)
FROM hits_by_hour JOIN (SELECT hour, url, count(*) AS exact FROM all_hits GROUP BY hour, url) a USING (hour)
SQL
	ok($pairs > 3000 && $below == 0, 'no page counts less than the exact answer in any hour') or diag("$below of $pairs");
	is($db->sql("SELECT count(*) > 100, count(*) FILTER (WHERE tbf_count(f, url) BETWEEN exact AND 1e300 IS NOT TRUE) FROM (SELECT tbf_merge_agg(f) AS f FROM hits_by_hour) m, " .
			'(SELECT url, count(*) AS exact FROM all_hits WHERE hour < now() GROUP BY url) a'), 't|0', 'nor over all hours');
	$db->sql("$roll_up; $roll_up");
	is($db->sql($rolled), '6|6', 'running it twice more changes nothing');
};

subtest 'decay in another database, by cron.schedule_in_database' => sub {
	is($db->sql("SELECT count(*) > 0, count(*) FILTER (WHERE d.database <> '" . $other->name . "') FROM cron.job_run_details d JOIN jobs USING (jobid) WHERE name = 'fade elsewhere'"),
		't|0', 'it ran there');
	is($db->sql('SELECT ' . runs('fade elsewhere', 'failed')), 0, 'no run failed');
	my $due = $db->sql('SELECT ' . due('fade elsewhere'));
	is($other->sql("SELECT count(*) FROM heat h JOIN heat_before b USING (id) WHERE h.f = tbf_decay(b.f, '$due') AND h.f <> b.f"), 2,
		'the bytes are those of a decay at that time');
	like($db->sql("SELECT max(return_message) FROM cron.job_run_details d JOIN jobs USING (jobid) WHERE name = 'fade the wrong one' AND status = 'failed'"),
		qr/relation "only_there" does not exist/, 'cron.schedule runs in the database where it was called');
	is($other->sql('SELECT count(*) FROM only_there o JOIN heat_before b USING (id) WHERE o.f = b.f'), 2, 'not where the table is');
};

subtest 'a job runs as the role that scheduled it' => sub {
	is($db->sql("SELECT r.f = tbf_decay(b.f, d.start_time) FROM role_heat r JOIN heat_before b USING (id), cron.job_run_details d JOIN jobs USING (jobid) " .
			"WHERE name = 'fade as a role' AND d.username = 'streambloom_tap_fader' AND d.status = 'succeeded' AND d.return_message = 'UPDATE 1'"),
		't', 'one that owns the table');
	is($db->sql("SELECT count(*) FROM role_heat, tbf_info(f) WHERE base > (SELECT base FROM heat_before, tbf_info(f) WHERE id = 1)"), 1,
		'and has decayed it');
	is($db->sql('SELECT ' . runs('fade as a stranger', 'succeeded')), 0, 'one without rights fails');
	like($db->sql("SELECT max(return_message) FROM cron.job_run_details d JOIN jobs USING (jobid) WHERE name = 'fade as a stranger'"),
		qr/permission denied for table role_heat/, 'and says so');
	is($db->sql('SELECT ' . runs('fade as nobody', 'succeeded')), 0, 'one that may not log in fails');
};

# ------------------------------------------- jobs run as background workers

# With the schedule @reboot a job runs once each time the server starts.
$_->sql('UPDATE heat SET f = b.f FROM heat_before b WHERE b.id = heat.id') foreach $db, $other;
schedule('fade at the start', '@reboot', $decay);
schedule('fade elsewhere at the start', '@reboot', $decay, database => $other->name);
$db->sql("INSERT INTO log SELECT now() - i * interval '1 minute', '/later' FROM generate_series(0, 100) i");
schedule('keep at the start', '@reboot', "CALL tbf_rollup_refresh('kept')");
OwnCluster::restart('cron.use_background_workers' => 'on', 'cron.host' => 'nowhere.invalid');
wait_for_runs(1, $_, 'succeeded') foreach 'fade at the start', 'fade elsewhere at the start', 'keep at the start';
unschedule_all();

subtest 'cron.use_background_workers needs no connection' => sub {
	is($db->sql('SELECT (SELECT sum(hits) FROM kept) = (SELECT count(*) FROM log)'), 't', 'a roll-up is refreshed');
	foreach ($db, $other)
	{
		is($_->sql('SELECT count(*) FROM heat h JOIN heat_before b USING (id), tbf_info(h.f) hi, tbf_info(b.f) bi ' .
					"WHERE hi.base > bi.base AND tbf_decay(h.f, now() + interval '9 days') = tbf_decay(b.f, now() + interval '9 days')"),
			2, 'decayed in ' . $_->name);
	}
};

subtest 'a roll-up that is dropped has jobs' => sub {
	$db->sql("SELECT tbf_rollup_create('keptx', 'log', 'url', 'at')");
	my @ids = map { $db->sql("SELECT cron.schedule('$_->[0]', '0 0 1 1 *', \$job\$$_->[1]\$job\$)") } ['short', "CALL tbf_rollup_refresh('kept')"],
		['long', "CALL public.tbf_rollup_refresh( rollup => 'public.Kept', from_time => now())"], ['another', "CALL tbf_rollup_refresh('keptx')"];
	my (undef, undef, $err) = $db->try("SET client_min_messages = notice; SELECT tbf_rollup_drop('kept')");
	is(join(' ', sort { $a <=> $b } $err =~ /job (\d+) of pg_cron/g), join(' ', sort { $a <=> $b } @ids[0, 1]), 'the drop names those that refresh it') or diag($err);
	like($err, qr/cron\.unschedule\($ids[0]\)/, 'and says how to end them');
	is($db->sqlstate("SELECT tbf_rollup_drop('keptx')"), '00000', 'another');
	$db->sql('SELECT cron.unschedule(jobid) FROM cron.job');
};

is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
