# chunk_scan(): the rows come in the order of the partitions. There may be more partitions than files may be open at
# once. 10,000 calls in one query take little more memory than 100. A cancel in the middle leaves the session as it was.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('034');
$db->sql(<<'SQL');
CREATE TABLE log (id int NOT NULL, uid bigint, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 100, (i + 1) * 100) FROM generate_series(0, 199) i \gexec
INSERT INTO log SELECT i, i, repeat('x', 40) FROM generate_series(0, 19999) i;
CREATE INDEX ON log USING bf (uid);
VACUUM ANALYZE log;
SQL

# There are more partitions than files may be open at once. Each scan but the first leaves most of them out without
# opening them.
$db->sql(<<'SQL');
CREATE TABLE many (id int NOT NULL, uid int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i, i + 1) FROM generate_series(0, current_setting('max_files_per_process')::int) i \gexec
INSERT INTO many SELECT i, i % 100 FROM generate_series(0, 1000) i;
CREATE INDEX ON many USING bf (uid);
SQL
my $look = "SELECT string_agg(id::text, ' ') FROM (SELECT id FROM chunk_scan(NULL::many, 'uid', 7) LIMIT 3) m;";
is($db->sql($look x 4), join("\n", ('7 107 207') x 4), 'the order of the rows is always that of the partitions');
is($db->sql("SELECT count(*) FROM chunk_scan(NULL::many, 'uid', 7); SELECT count(*) FROM chunk_scan(NULL::many, 'uid', 7)"), "10\n10", 'and all rows come');

# ------------------------------------------------------------------------ memory

sub peak
{
	my ($sql) = @_;
	my $status = $db->sql("SET jit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = '64kB'; $sql;
		\\o
		SELECT substring(pg_read_file('/proc/self/status') FROM 'VmRSS:\\s*(\\d+)')::bigint -
			substring(pg_read_file('/proc/self/status') FROM 'RssShmem:\\s*(\\d+)')::bigint");
	my ($kilobytes) = $status =~ /(\d+)\s*\z/;
	return $kilobytes;
}

# The memory of a session while a query still runs: its cursor is at the end.
sub while_open
{
	my ($query) = @_;
	return peak("BEGIN; DECLARE c NO SCROLL CURSOR FOR $query; MOVE ALL FROM c");
}

SKIP:
{
	skip 'the memory of a backend is read from /proc', 2
	  if $db->sql("SELECT count(*) FROM pg_stat_file('/proc/self/status', true) WHERE size IS NOT NULL") ne '1';
	my $scans = sub { while_open("SELECT * FROM generate_series(1, $_[0]) i, LATERAL (SELECT * FROM chunk_scan(NULL::log_1, 'uid', $_[1]) l WHERE l.id + i > 0 LIMIT 1) l") };
	foreach my $case (['the same argument', '101'], ['other arguments', '100 + i % 100'])
	{
		my ($once, $often) = map { $scans->($_, $case->[1]) } 100, 10000;
		cmp_ok($often - $once, '<', 1000, "10,000 scans with $case->[0] take at most 1 MB more than 100");
		note("$once kB for 100 scans, $often kB for 10,000");
	}
}

# ----------------------------------------------------------------------- a cancel

my $session = PsqlSession->new($db->name);
$session->ask(q{CREATE FUNCTION slow(bigint, bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN true; END'});
$session->ask('CREATE OPERATOR === (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = slow)');
$session->ask('BEGIN; SAVEPOINT s; SET LOCAL statement_timeout = 200');
my ($answer, $state) = $session->ask("SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 1::bigint, operator => '===')");
is($state, '57014', 'a timeout stops it');
$session->ask('ROLLBACK TO s; SET LOCAL statement_timeout = 0');
is(($session->ask("SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 5000)"))[0], '1', 'and the transaction goes on');
is(($session->ask('TRUNCATE log_0'))[1], '00000', 'nothing is in use any more');
$session->ask('ROLLBACK');
$session->close;

done_testing();
