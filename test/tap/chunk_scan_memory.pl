# The node ChunkScan: a million rows take little more memory than a thousand, and no temporary file; 10,000 scans by one
# node take little more memory than 100. With LIMIT the node asks and reads no more partitions than it needs. There may
# be more partitions than files may be open at once. A cancel in the middle leaves the session as it was.
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
CREATE TABLE log (id int NOT NULL, uid bigint, kind int, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 5000, (i + 1) * 5000) FROM generate_series(0, 199) i \gexec
INSERT INTO log SELECT i, i, i / 500000, repeat('x', 40) FROM generate_series(0, 999999) i;
UPDATE log SET kind = 7 WHERE id % 50000 = 49999;
CREATE INDEX ON log USING bf (uid, kind);
VACUUM ANALYZE log;
SQL

# ------------------------------------------------------------------------- LIMIT

# The counts that EXPLAIN ANALYZE shows for a query.
sub counts
{
	my ($query) = @_;
	my $plan = $db->sql("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) $query");
	my ($asked, $skipped, $read, $vain) = map { $plan =~ /Partitions $_: (\d+)/ ? $1 : '?' } 'Asked', 'Skipped', 'Read', 'Read in Vain';
	return "$asked asked, $skipped skipped, $read read, $vain in vain";
}

is(counts("SELECT * FROM chunk_scan(NULL::log, 'uid', 500000)"), '200 asked, 199 skipped, 1 read, 0 in vain', 'all partitions are asked');
is(counts("SELECT * FROM chunk_scan(NULL::log, 'uid', 500000) LIMIT 1"), '101 asked, 100 skipped, 1 read, 0 in vain', 'LIMIT stops the asking');
is(counts("SELECT * FROM chunk_scan(NULL::log, 'kind', 0) LIMIT 1"), '1 asked, 0 skipped, 1 read, 0 in vain', 'LIMIT stops in the first partition');
is(counts("SELECT * FROM chunk_scan(NULL::log, 'kind', 1) LIMIT 7000"), '102 asked, 100 skipped, 2 read, 0 in vain', 'LIMIT stops in the second of those read');
is(counts("SELECT * FROM chunk_scan(NULL::log, 'kind', 7) WHERE id > 100000 LIMIT 1"), '30 asked, 27 skipped, 3 read, 2 in vain',
	'a condition leaves rows out');

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
	skip 'the memory of a backend is read from /proc', 5
	  if $db->sql("SELECT count(*) FROM pg_stat_file('/proc/self/status', true) WHERE size IS NOT NULL") ne '1';
	my $files = 'SELECT temp_files FROM pg_stat_database WHERE datname = current_database()';
	my $before = $db->sql($files);
	my $few = while_open("SELECT * FROM chunk_scan_any(NULL::log, 'kind', '{0,1}') LIMIT 1000");
	my $many = while_open("SELECT * FROM chunk_scan_any(NULL::log, 'kind', '{0,1}')");

	is($db->sql("SELECT count(*) FROM chunk_scan_any(NULL::log, 'kind', '{0,1}')"), 999980, 'a million rows');
	cmp_ok($many - $few, '<', 4000, 'a million rows take at most 4 MB more than a thousand, with 200 partitions more in the caches');
	note("$few kB for a thousand rows, $many kB for a million");
	is($db->sql($files), $before, 'and no temporary file');

	my $scans = sub { while_open("SELECT * FROM generate_series(1, $_[0]) i, LATERAL (SELECT * FROM chunk_scan(NULL::log_1, 'uid', $_[1]) l WHERE l.id + i > 0 LIMIT 1) l") };
	foreach my $case (['the same argument', '5001'], ['other arguments', '5000 + i % 100'])
	{
		my ($once, $often) = map { $scans->($_, $case->[1]) } 100, 10000;
		cmp_ok($often - $once, '<', 1000, "10,000 scans with $case->[0] take at most 1 MB more than 100");
		note("$once kB for 100 scans, $often kB for 10,000");
	}
}

# ----------------------------------------------------------------------- a cancel

my $session = PsqlSession->new($db->name);
$session->ask(q{CREATE FUNCTION slow(int) RETURNS boolean STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.01); RETURN true; END'});
$session->ask('BEGIN; SAVEPOINT s; SET LOCAL statement_timeout = 200');
my ($answer, $state) = $session->ask("SELECT count(*) FROM chunk_scan_any(NULL::log, 'kind', '{0,1}') WHERE slow(id)");
is($state, '57014', 'a timeout stops it in a condition that is tested in a partition');
$session->ask('ROLLBACK TO s; SET LOCAL statement_timeout = 0');
is(($session->ask("SELECT count(*) FROM chunk_scan(NULL::log, 'uid', 500000)"))[0], '1', 'and the transaction goes on');
is(($session->ask('TRUNCATE log_0'))[1], '00000', 'nothing is in use any more');
$session->ask('ROLLBACK');
$session->close;

done_testing();
