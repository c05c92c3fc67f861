# Clients behind pgBouncer in transaction mode: two sessions of the server serve them all. The libraries, the settings
# and the prepared plans of a session are those that other clients have left. The answers must not depend on these.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my ($bouncer) = grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgBouncer is not installed (pgbouncer of Debian and Ubuntu)' if !$bouncer;
plan skip_all => 'root cannot start pgBouncer' if $> == 0;

my $db = StreambloomTap->new('052');
my $name = $db->name;
$db->sql(<<'SQL');
CREATE TABLE log (at timestamptz NOT NULL, uid bigint, url text) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%L) TO (%L)', i, timestamptz '2026-03-01 UTC' + i * interval '1 day',
	timestamptz '2026-03-02 UTC' + i * interval '1 day') FROM generate_series(0, 9) i \gexec
CREATE INDEX log_bf ON log USING bf (uid);
CREATE INDEX log_words ON log USING bf (url gram_ops);
INSERT INTO log SELECT timestamptz '2026-03-01 UTC' + i * interval '1 minute', i, '/page/' || i % 997 FROM generate_series(0, 14399) i;
CALL bf_summarize('log');
ANALYZE log;
SELECT tbf_rollup_create('heat', 'log', 'url', 'at');
SQL
$db->sql("ALTER DATABASE $name SET session_preload_libraries = 'streambloom'; ALTER DATABASE $name SET enable_seqscan = off");

# Starts pgBouncer beside the server, with a socket of its own.
my ($server, $port) = @ENV{'PGHOST', 'PGPORT'};
my $folder = StreambloomTap::scratch();
$port //= 5432;
plan skip_all => "no place for a socket: $folder is too long" if length $folder > 90;
StreambloomTap::write_file("$folder/bouncer.ini", <<"INI");
[databases]
$name = host=$server port=$port dbname=$name user=@{[$ENV{PGUSER} // 'postgres']} pool_size=2
[pgbouncer]
listen_port = 6432
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
ignore_startup_parameters = options
max_client_conn = 100
logfile = $folder/bouncer.log
INI
my $pid = fork() // die "cannot fork: $!";
if ($pid == 0)
{
	open(STDERR, '>', "$folder/bouncer.err");
	exec($bouncer, '-q', "$folder/bouncer.ini") or StreambloomTap::_exit(127);
}
END { my $status = $?; kill 'TERM', $pid and waitpid $pid, 0 if $pid; $? = $status; }
$SIG{$_} = sub { exit(1) } foreach 'INT', 'TERM', 'HUP';
@ENV{'PGHOST', 'PGPORT'} = ($folder, 6432);
my $up = 0;
foreach (1 .. 100)
{
	last if $up = $db->sqlstate('SELECT 1') eq '00000';
	select(undef, undef, undef, 0.1);
}
ok($up, 'pgBouncer is there') or diag(map { -e $_ ? StreambloomTap::read_file($_) : () } "$folder/bouncer.err", "$folder/bouncer.log");
BAIL_OUT('pgBouncer did not start') if !$up;

# Settings of the database hold in each session of the pool.
my $skipped = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM log WHERE uid = 4711';
like($db->sql($skipped), qr/Custom Scan \((?:Skip|PartitionScan)\)/, 'partitions are skipped');
is($db->sql("SELECT count(*), min(uid) FROM chunk_scan(NULL::log, 'uid', 4711)"), '1|4711', 'chunk_scan()');
is($db->sql("SELECT count(*) FROM log WHERE url LIKE '%age/99_'"), $db->sql("SELECT count(*) FROM log WHERE right(url, -6)::int BETWEEN 990 AND 999"), 'LIKE');

# Twelve clients at a time share two sessions. Each asks for values of its own, in transactions that change a setting,
# with statements that are prepared and dropped.
my @clients = map { PsqlSession->new($name) } 1 .. 12;
my $wrong = 0;
foreach my $round (1 .. 5)
{
	my @asked = map { ($_ * 997 + $round * 131) % 14400 } 0 .. $#clients;
	foreach my $i (0 .. $#clients)
	{
		my $off = ($i + $round) % 3 == 0 ? 'SET LOCAL streambloom.enable_skip = off;' : '';
		my $mode = ($i + $round) % 2 ? 'force_generic_plan' : 'force_custom_plan';
		$clients[$i]->send("BEGIN; $off SET LOCAL plan_cache_mode = $mode; PREPARE p$i(bigint) AS SELECT count(*), min(uid), max(uid) FROM log WHERE uid = \$1; " .
			"EXECUTE p$i($asked[$i]); EXECUTE p$i(-1); DEALLOCATE p$i; COMMIT;");
	}
	foreach my $i (0 .. $#clients)
	{
		my ($answer, $state, $message) = $clients[$i]->answer;
		next if $state eq '00000' && $answer eq "1|$asked[$i]|$asked[$i]\n0||";
		$wrong++;
		diag("client $i, round $round: $state $message\n$answer");
	}
}
is($wrong, 0, 'twelve clients get their answers');
is($db->sql("SHOW streambloom.enable_skip"), 'on', 'SET LOCAL leaves nothing to the next client');

# An index that the questions of the clients use is dropped and made again between them.
$db->sql('DROP INDEX log_bf');
is((join ' ', map { ($_->ask('SELECT count(*) FROM log WHERE uid = 4711'))[0] } @clients), join(' ', (1) x 12), 'without the index');
$db->sql('CREATE INDEX log_bf ON log USING bf (uid)');
is((join ' ', map { ($_->ask('SELECT count(*) FROM log WHERE uid = 4711'))[0] } @clients), join(' ', (1) x 12), 'with another one');

# Procedures that commit.
is($db->sqlstate("INSERT INTO log VALUES ('2026-03-05 UTC', 99999, '/new'); CALL bf_summarize('log')"), '00000', 'bf_summarize()');
is($db->sqlstate("CALL tbf_rollup_refresh('heat')"), '00000', 'tbf_rollup_refresh()');
is($db->sql('SELECT sum(hits) FROM heat'), 14401, 'which has counted all hits');
is($db->sql('SELECT count(*) FROM log WHERE uid = 99999'), 1, 'a new row');

$_->close foreach @clients;
@ENV{'PGHOST', 'PGPORT'} = ($server, $port);
kill 'TERM', $pid;
waitpid $pid, 0;
undef $pid;

done_testing();
