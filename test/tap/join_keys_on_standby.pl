# Joins that skip on a hot standby have the same rows as without skipping, those of the standby's snapshot. This holds
# while the primary writes, vacuums, and changes its indexes, and after the standby was promoted.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(autovacuum => 'off', session_preload_libraries => 'streambloom');
my $db = StreambloomTap->new('040');
$db->sql(<<'SQL');
CREATE TABLE facts (id int NOT NULL, host text, status int, filler text DEFAULT repeat('x', 300)) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE facts_%s PARTITION OF facts FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 4) i \gexec
INSERT INTO facts SELECT i, 'h' || i / 10, i / 500 FROM generate_series(0, 3999) i;
CREATE INDEX ON facts USING bf (host) WITH (pages_per_range = 2);
CREATE INDEX ON facts USING bf (status) WITH (pages_per_range = 2);
CREATE TABLE whole AS SELECT * FROM facts;
CREATE INDEX ON whole USING bf (host) WITH (pages_per_range = 2);
CREATE TABLE suspects AS SELECT 'h' || i AS host FROM unnest('{7, 8, 251, 9999}'::int[]) i;
CREATE TABLE states AS SELECT 0 AS status;
VACUUM ANALYZE;
SQL
# The primary keeps the rows that the standby's snapshots see.
my $port = OwnCluster::start_standby(max_standby_streaming_delay => '-1', hot_standby_feedback => 'on', wal_receiver_status_interval => '1s');
$db->wait_until('SELECT backend_xmin IS NOT NULL FROM pg_stat_replication', 'the standby to tell the primary of its snapshots');

my %joins = (
	'an inner join' => 'SELECT l.id, l.host FROM facts l JOIN suspects s USING (host)',
	'a table in one piece' => 'SELECT l.id, l.host FROM whole l JOIN suspects s USING (host)',
	'IN' => 'SELECT id FROM facts WHERE host IN (SELECT host FROM suspects)',
	'EXISTS' => 'SELECT id FROM whole l WHERE EXISTS (SELECT FROM suspects s WHERE s.host = l.host)',
	'a join that keeps the keys' => 'SELECT l.id, s.host FROM suspects s LEFT JOIN facts l ON l.host = s.host',
	'a star' => 'SELECT l.id FROM facts l JOIN suspects s USING (host) JOIN states t USING (status)',
	'a generic plan' => 'EXECUTE generic(-1)',
);
my $begin = 'SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0; ' .
	'PREPARE generic(int) AS SELECT l.id, s.host FROM facts l JOIN suspects s ON l.host = s.host AND l.id > $1; SET plan_cache_mode = force_generic_plan;';

sub begin
{
	my ($of_port) = @_;
	my $session = PsqlSession->new($db->name, port => $of_port);
	$session->sql($begin);
	return $session;
}

# The rows of all joins in this session.
sub rows_of
{
	my ($session, $skip) = @_;
	my $all = "SET streambloom.enable_skip = $skip;";
	return map { $_ => join(' ', sort split /\n/, $session->sql("$all $joins{$_}")) } keys %joins;
}

my $new = begin($port);
my $primary = begin($ENV{PGPORT});

# One test: with joins that skip, the standby returns the same rows as without them, and the same as the primary.
sub compare
{
	my ($when) = @_;
	OwnCluster::catch_up();
	my %with = rows_of($new, 'on');
	is_deeply(\%with, {rows_of($new, 'off')}, "the rows of the standby, $when");
	is_deeply(\%with, {rows_of($primary, 'off')}, "those of the primary, $when");
}

# How many of the tables that a join reads have a Skip whose verdict is none or some pages.
sub skipped
{
	my ($join) = @_;
	my $plan = $new->sql("SET streambloom.enable_skip = on; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $joins{$join}");
	return scalar(() = $plan =~ /Verdict: (?:none|some pages)/g);
}

is($new->sql('SELECT pg_is_in_recovery()'), 't', 'this is the standby');
compare('as they were copied');
# The keys are on a few pages of two of the five partitions. The last partition is empty.
cmp_ok(skipped($_), '>=', $joins{$_} =~ /whole/ ? 1 : 5, "$_ skips partitions and ranges on the standby") foreach sort keys %joins;

# A snapshot and a cursor that are older than all later changes.
my $old = begin($port);
$old->sql('BEGIN ISOLATION LEVEL REPEATABLE READ');
my %before = rows_of($old, 'on');
isnt($before{$_}, '', "$_ has rows") foreach sort keys %joins;
$old->sql("SET streambloom.enable_skip = on; DECLARE c CURSOR FOR $joins{'an inner join'}");
my $fetched = $old->sql('FETCH 2 FROM c');

$db->sql(<<'SQL');
INSERT INTO facts SELECT 4000 + i, 'h8', 0 FROM generate_series(0, 99) i;
INSERT INTO whole SELECT 4000 + i, 'h8', 0 FROM generate_series(0, 999) i;
SQL
compare('rows in ranges that have no summary');
$db->sql(<<'SQL');
DELETE FROM facts WHERE host = 'h7';
DELETE FROM whole WHERE host = 'h7';
UPDATE facts SET host = 'h251' WHERE id BETWEEN 1500 AND 1520;
VACUUM (TRUNCATE off) facts, whole;
SQL
compare('rows that were deleted, updated and vacuumed');
$db->sql(q{INSERT INTO suspects VALUES ('h300'), (NULL); UPDATE suspects SET host = 'h12' WHERE host = 'h8'});
compare('other keys');
$db->sql(<<'SQL');
SELECT bf_desummarize_range(indexrelid, b) FROM pg_index JOIN pg_class c ON c.oid = indrelid, generate_series(0, 40, 6) b WHERE relname IN ('whole', 'facts_0', 'facts_2') AND b < relpages;
INSERT INTO facts SELECT i, 'h12', 0 FROM generate_series(2000, 2010) i;
SQL
compare('ranges whose summaries were removed');

is_deeply({rows_of($old, 'on')}, \%before, 'the rows of an older snapshot');
is_deeply({rows_of($old, 'off')}, \%before, 'the same without the nodes');
is(join(' ', sort split /\n/, "$fetched\n" . $old->sql('SET streambloom.enable_skip = on; FETCH ALL FROM c')), $before{'an inner join'}, 'an older cursor');
$old->sql('COMMIT');

# Most of these statements take exclusive locks. The standby would not replay them before the old snapshot ends, so its
# transaction was ended first. The other sessions keep their prepared plans.
$db->sql('SELECT bf_summarize_new_values(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam ' .
		"WHERE amname = 'bf' AND relkind = 'i'");
compare('ranges that were summarized');
$db->sql('REINDEX INDEX facts_0_host_idx; REINDEX TABLE whole');
compare('indexes that were built anew');
$db->sql(q{BEGIN; TRUNCATE facts_2; INSERT INTO facts SELECT 2000 + i, 'h' || i / 300, 0 FROM generate_series(0, 999) i; COMMIT});
compare('a partition that was truncated and filled');
$db->sql('DROP INDEX facts_host_idx');
compare('an index that was dropped');
$db->sql('CREATE INDEX ON facts USING bf (host) WITH (pages_per_range = 2)');
compare('an index that was made');
cmp_ok(skipped($_), '>', 0, "$_ still skips pages on the standby") foreach sort keys %joins;

$_->close foreach $old, $primary;
OwnCluster::promote_standby();
is($new->sql('SELECT pg_is_in_recovery()'), 'f', 'the standby was promoted');
$new->sql(q{INSERT INTO facts SELECT 3000 + i, 'h12', 0 FROM generate_series(0, 9) i; DELETE FROM whole WHERE id < 80; VACUUM whole});
is_deeply({rows_of($new, 'on')}, {rows_of($new, 'off')}, 'its rows, after it was promoted');
cmp_ok(skipped('an inner join'), '>', 0, 'it skips pages then');
$new->close;

done_testing();
