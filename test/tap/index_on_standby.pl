# A hot standby answers with the indexes while the primary writes and summarizes. The primary finds rows dead and leaves
# them out of its summaries. A snapshot that the standby has taken before still finds every row that it sees.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use NotOneRow;
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(max_prepared_transactions => 20, deadlock_timeout => '300ms', max_connections => 60, max_worker_processes => 16,
	autovacuum => 'off', wal_keep_size => '256MB', wal_level => 'logical');

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 15;
my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
my $db = StreambloomTap->new('022');

# The pages are 40 % full, and the fillfactor says afterwards that they may be filled up. PostgreSQL prunes only pages
# that are nearly full, so dead rows stay where they are.
$db->sql(<<'SQL');
CREATE TABLE old (id int PRIMARY KEY, a bigint, n int, pad text) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO old SELECT i, i * 10, 0, repeat('x', 100) FROM generate_series(1, 2000) i;
ALTER TABLE old SET (fillfactor = 100);
CREATE INDEX old_a ON old USING bf (a) WITH (pages_per_range = 1);
CREATE TABLE aborted (LIKE old);
CREATE INDEX aborted_a ON aborted USING bf (a) WITH (pages_per_range = 1);
INSERT INTO aborted SELECT i, i * 10, 0, repeat('x', 100) FROM generate_series(1, 500) i;
SELECT bf_summarize_new_values('aborted_a');
SQL
# The replication slot keeps the dead rows of catalogs, and only these. If the primary pruned rows of catalogs, the
# standby would not replay that before its old snapshots end.
$db->sql("SELECT pg_create_logical_replication_slot('catalogs', 'pgoutput')");
my $port = OwnCluster::start_standby(hot_standby_feedback => 'off', max_standby_streaming_delay => '-1', max_standby_archive_delay => '-1');

sub standby_sql
{
	my ($sql) = @_;
	local $ENV{PGPORT} = $port;
	return $db->sql($sql);
}

my $indexed = 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = on;';
my $plain = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;';
my @queries = (
	"SELECT count(*), sum(id) FROM old WHERE a = 1500",
	"SELECT count(*), sum(id) FROM old WHERE a = ANY (ARRAY[10, 1500, 2000, 20000, 1501]::bigint[])",
	"SELECT count(*) FROM (SELECT a, count(*) AS n FROM old WHERE id % 10 < 5 GROUP BY a) d WHERE n <> (SELECT count(*) FROM old o WHERE o.a = d.a)");

# The answers in the open transaction, with the index and without.
sub both
{
	my ($session) = @_;
	return map { $session->sql($_ . join ';', @queries) } $indexed, $plain;
}

# The number of pages that a query reads by the index.
sub pages
{
	my ($where, $condition) = @_;
	my $plan = $where->("$indexed EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM old WHERE $condition");
	return $plan =~ /Bitmap Index Scan on old_a/ ? $plan =~ /lossy=(\d+)/ ? $1 : 0 : -1;
}

subtest 'a snapshot that is older than what the primary has left out' => sub {
	my $old = PsqlSession->new($db->name, port => $port);
	$old->sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	my $cursor = PsqlSession->new($db->name, port => $port);
	$cursor->sql("BEGIN; $indexed DECLARE c CURSOR FOR SELECT id FROM old WHERE a = 1500");
	# Some rows are deleted, one changes in a column that is not indexed, and some change in the indexed column. All are
	# found by the primary key, so that no other pages are read.
	$db->sql("SET enable_seqscan = off; DELETE FROM old WHERE id IN (150, 151, 1999); UPDATE old SET n = 1 WHERE id = 200; " .
		'UPDATE old SET a = a + 1 WHERE id IN (1, 2, 2000)');
	is($db->sql("SELECT count(bf_desummarize_range('old_a', b)) FROM generate_series(0, 200) b"), 201, 'the primary forgets');
	cmp_ok($db->sql("SELECT bf_summarize_new_values('old_a')"), '>', 50, 'and summarizes anew');
	is(pages(sub { $db->sql(@_) }, 'a = 1500'), 0, 'without what is dead');
	OwnCluster::catch_up();
	is(standby_sql("SELECT count(*) FROM pg_stat_database_conflicts WHERE datname = '" . $db->name . "' AND confl_snapshot > 0"), 0, 'the standby has replayed it, and nobody was in its way');
	my ($with, $without) = both($old);
	is($with, $without, 'the old snapshot finds what it sees');
	like($without, qr/^1\|150\n4\|/, 'rows that are gone for everybody else');
	is($cursor->sql('FETCH ALL FROM c'), 150, 'so does a cursor');
	is(pages(\&standby_sql, 'a = 1500'), 0, 'a new snapshot skips them');
	cmp_ok(pages(\&standby_sql, 'a = 10000'), '>', 0, 'but not what is there');
	$_->close foreach $old, $cursor;
};

subtest 'the same on level 1' => sub {
	is($db->sql("SELECT bf_summarize_range('old_a', 0, 1)"), 1, 'a range of level 1 has the whole table');
	OwnCluster::catch_up();
	my $old = PsqlSession->new($db->name, port => $port);
	$old->sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$db->sql("SET enable_seqscan = off; DELETE FROM old WHERE id IN (170, 171, 1998); UPDATE old SET a = a + 1 WHERE id IN (3, 4, 1997)");
	$db->sql("SELECT bf_desummarize_range('old_a', 0, 1), bf_summarize_range('old_a', 0, 1)");
	is(pages(sub { $db->sql(@_) }, 'a = 1'), 0, 'the primary skips the table');
	OwnCluster::catch_up();
	my $query = 'SELECT count(*), sum(id) FROM old WHERE a = ANY (ARRAY[1700, 1710, 19980, 30, 40, 19970]::bigint[])';
	is($old->sql("$indexed $query"), $old->sql("$plain $query"), 'an old snapshot finds what it sees');
	is($old->sql($query), '6|' . (170 + 171 + 1998 + 3 + 4 + 1997), 'rows that are gone for everybody else');
	is(pages(\&standby_sql, 'a = 1'), 0, 'a new snapshot skips the table');
	$old->close;
};

subtest 'what never committed needs no horizon' => sub {
	my $old = PsqlSession->new($db->name, port => $port);
	$old->sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$db->sql("BEGIN; INSERT INTO aborted SELECT i, -i, 0, 'never' FROM generate_series(501, 700) i; ROLLBACK");
	$db->sql("SELECT count(bf_desummarize_range('aborted_a', b)) FROM generate_series(0, 200) b; SELECT bf_summarize_new_values('aborted_a')");
	OwnCluster::catch_up();
	is($old->sql("$indexed SELECT count(*) FROM aborted WHERE a = -600; SELECT count(*) FROM aborted WHERE a = 4000"), "0\n1", 'an old snapshot has its answers');
	$old->close;
};

# While CREATE INDEX CONCURRENTLY reads the table, a row is written to a page that it has read already. The row is
# deleted before the index is validated. So no session puts the row into the index, and no snapshot of the primary
# sees it any more.
subtest 'a snapshot that is older than the validation of an index' => sub {
	$db->sql(<<'SQL');
CREATE FUNCTION gated(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = 10000 AND current_setting('gate.waits', true) = 'yes' THEN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
	END IF;
	RETURN v;
END $$;
CREATE TABLE built (id int PRIMARY KEY, a bigint, pad text) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO built SELECT i, i * 10, repeat('x', 100) FROM generate_series(1, 2000) i;
ALTER TABLE built SET (fillfactor = 100);
SQL
	my $gate = PsqlSession->new($db->name);
	$gate->sql('SELECT pg_advisory_lock(1)');
	my $builder = PsqlSession->new($db->name);
	$builder->send("SET gate.waits = 'yes'; CREATE INDEX CONCURRENTLY built_a ON built USING bf (a, gated(a)) WITH (pages_per_range = 1)");
	$db->wait_until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'advisory')", 'the builder to stand still');
	$db->sql('SET enable_seqscan = off; UPDATE built SET a = -1 WHERE id = 1');
	is($db->sql("SELECT split_part(ctid::text, ',', 1) FROM built WHERE id = 1"), '(0', 'a row on a page that was read already');
	OwnCluster::catch_up();
	my $old = PsqlSession->new($db->name, port => $port);
	is($old->sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class WHERE relname = 'built'"), 1, 'a snapshot that sees it');
	$db->sql('SET enable_seqscan = off; DELETE FROM built WHERE id = 1');
	$gate->sql('SELECT pg_advisory_unlock(1)');
	my ($answer, $state, $message) = $builder->answer;
	is($state, '00000', 'it is deleted, and the index finished') or diag($message);
	OwnCluster::catch_up();
	like($old->sql("$indexed EXPLAIN (COSTS OFF) SELECT id FROM built WHERE a = -1"), qr/built_a/, 'the snapshot gets the index');
	is($old->sql("$indexed SELECT id FROM built WHERE a = -1"), 1, 'and its row');
	my $new = sub { standby_sql(@_) };
	is($new->("$indexed SELECT count(*) FROM built WHERE a = -1"), 0, 'a new one does not');
	is($new->("$indexed EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM built WHERE a = -1") =~ /lossy=(\d+)/ ? $1 : 0, 0,
		'and reads nothing of the table');
	$_->close foreach $old, $gate, $builder;
};

# As in the subtest before, a row is deleted before the index is validated. This index has no expression, so
# bf_index_check() looks at deleted rows too. It must know that this row need not be in the index. (The builder stops
# at a page with an out-of-line value, because the index of the TOAST table is locked.)
subtest 'bf_index_check() and what was deleted before the validation' => sub {
	$db->sql(<<'SQL');
CREATE TABLE checked (id int PRIMARY KEY, a bigint, w text) WITH (fillfactor = 40, autovacuum_enabled = off);
ALTER TABLE checked ALTER w SET STORAGE external;
INSERT INTO checked SELECT i, i * 10, CASE WHEN i = 1999 THEN repeat('long', 3000) ELSE repeat('x', 100) END FROM generate_series(1, 2000) i;
ALTER TABLE checked SET (fillfactor = 100);
SQL
	my $gate = PsqlSession->new($db->name);
	my $toast = $db->sql("SELECT indexrelid::regclass FROM pg_index, pg_class c WHERE indrelid = reltoastrelid AND c.oid = 'checked'::regclass");
	$gate->sql("BEGIN; REINDEX INDEX $toast");
	my $builder = PsqlSession->new($db->name);
	$builder->send('CREATE INDEX CONCURRENTLY checked_bf ON checked USING bf (a, w) WITH (pages_per_range = 1)');
	$db->wait_until("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = '$toast'::regclass)", 'the builder to stand still');
	$db->sql('SET enable_seqscan = off; UPDATE checked SET a = -1 WHERE id = 1');
	is($db->sql("SELECT split_part(ctid::text, ',', 1) FROM checked WHERE id = 1"), '(0', 'a row on a page that was read already');
	OwnCluster::catch_up();
	my $old = PsqlSession->new($db->name, port => $port);
	is($old->sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class WHERE relname = 'checked'"), 1, 'a snapshot that sees it');
	$db->sql('SET enable_seqscan = off; DELETE FROM checked WHERE id = 1');
	$gate->sql('COMMIT');
	my ($answer, $state, $message) = $builder->answer;
	is($state, '00000', 'it is deleted, and the index finished') or diag($message);
	OwnCluster::catch_up();
	is($old->sql("$indexed SELECT id FROM checked WHERE a = -1"), 1, 'the snapshot has its row');
	my $rows = eval { standby_sql("SELECT bf_index_check('checked_bf')") };
	cmp_ok($rows // 0, '>=', 1999, 'the index is in order') or diag($@);
	$_->close foreach $old, $gate, $builder;
};

# Nothing keeps summarizers out while bf_index_check() runs on a standby. A row may be deleted, and left out of a new
# summary, after the check has read its page; this is no error. (The check stops at the first row of the page.)
subtest 'bf_index_check() while ranges are summarized' => sub {
	$db->sql(<<'SQL');
CREATE TABLE stirred (id int, a bigint) WITH (autovacuum_enabled = off);
INSERT INTO stirred VALUES (1, 10000), (2, 20), (3, 30);
CREATE INDEX stirred_a ON stirred USING bf (gated(a)) WITH (pages_per_range = 1);
SQL
	OwnCluster::catch_up();
	my $gate = PsqlSession->new($db->name, port => $port);
	$gate->sql('SELECT pg_advisory_lock(1)');
	my $checker = PsqlSession->new($db->name, port => $port);
	$checker->send("SET gate.waits = 'yes'; SELECT bf_index_check('stirred_a')");
	{
		local $ENV{PGPORT} = $port;
		$db->wait_until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'advisory')", 'the check to stand still');
	}
	$db->sql("DELETE FROM stirred WHERE id = 2; SELECT bf_desummarize_range('stirred_a', 0), bf_summarize_range('stirred_a', 0)");
	OwnCluster::catch_up();
	$gate->sql('SELECT pg_advisory_unlock(1)');
	my ($answer, $state, $message) = $checker->answer;
	is($state, '00000', 'no error') or diag($message);
	is($answer, 3, 'all three rows were looked at');
	is(standby_sql("SELECT bf_index_check('stirred_a')"), 2, 'a new check sees two');
	$_->close foreach $gate, $checker;
};

# Before 15.19, 17.11 and 18.6, a snapshot that is exported on a standby while subtransactions have overflowed lacks
# the running transactions. A session that uses it takes these transactions for aborted, and marks this on the pages of
# the standby, for ever. Rows that they delete then stay there, and no index finds them. PostgreSQL does that even
# without an index; so this sub tries it with a table that has none.
sub exports_whole_snapshots
{
	my ($writer, $exporter, $importer) = (PsqlSession->new($db->name), map { PsqlSession->new($db->name, port => $port) } 1 .. 2);
	$db->sql("CREATE TABLE deleted (id int); INSERT INTO deleted VALUES (1); BEGIN; DELETE FROM deleted; PREPARE TRANSACTION 'deleter'");
	$writer->sql('BEGIN; CREATE TABLE others (id int); ' . 'SAVEPOINT s; INSERT INTO others VALUES (1); ' x 70);
	$db->sql('CREATE TABLE later ()');
	OwnCluster::catch_up();
	my $snapshot = $exporter->sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
	is($importer->sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'; SELECT count(*) FROM deleted"), 1, 'a row is deleted, but not yet for everybody');
	$_->close foreach $exporter, $importer;
	$db->sql("COMMIT PREPARED 'deleter'");
	$writer->sql('ROLLBACK');
	$writer->close;
	OwnCluster::catch_up();
	return standby_sql('SELECT count(*) FROM deleted') == 0;
}

# NotOneRow runs many sessions at once. Here its readers are on the standby, and all its other sessions on the primary.
# The replay waits for readers that are in its way.
subtest 'at random' => sub {
	my $exports = exports_whole_snapshots();
	diag('this PostgreSQL exports snapshots from a standby without the transactions that run: left out') if !$exports;
	my $report = NotOneRow::run(database => $db->name, seconds => $seconds, seed => $seed, reader_port => $port, exports => $exports,
		before_readers => sub { OwnCluster::catch_up() });
	is($report->{differences}, '', "no row was lost (seed $seed)");
	is($report->{troubles}, '', 'and nothing else went wrong');
	cmp_ok($report->{counts}{$_} // 0, '>', 0, $_) foreach 'comparisons with rows', 'plans with an index', 'keep: summarize', 'read: late';
	diag(sprintf '%10d %s', $report->{counts}{$_}, $_) foreach $ENV{STREAMBLOOM_SECONDS} ? sort keys %{$report->{counts}} : ();
};

my $check_all = <<'SQL';
SELECT count(bf_index_check(indexrelid)) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE amname = 'bf' AND relkind = 'i' AND indisvalid
SQL

subtest 'the planner of a standby asks the index' => sub {
	$db->sql("CREATE TABLE asked (tags text[]) WITH (autovacuum_enabled = off); INSERT INTO asked SELECT ARRAY['request ' || i, 'host ' || i % 100] FROM generate_series(1, 20000) i;"
		  . "ALTER TABLE asked ALTER tags SET STATISTICS 0; CREATE INDEX asked_tags ON asked USING bf (tags) WITH (pages_per_range = 4); VACUUM ANALYZE asked");
	OwnCluster::catch_up();
	my %plan;
	foreach my $tag ('request 7777', 'nobody', 'host 7')
	{
		$plan{$tag} = $db->sql("EXPLAIN SELECT * FROM asked WHERE tags @> '{$tag}'");
		is(standby_sql("EXPLAIN SELECT * FROM asked WHERE tags @> '{$tag}'"), $plan{$tag}, "$tag: the plan of the primary");
	}
	like($plan{'request 7777'}, qr/Bitmap Index Scan on asked_tags/, 'which is that of the index where few pages are left');
	like($plan{'host 7'}, qr/Seq Scan/, 'and none where all are');
};

subtest 'it becomes the primary' => sub {
	OwnCluster::catch_up();
	my $indexes = $db->sql($check_all);
	cmp_ok($indexes, '>=', 2, 'there are indexes');
	is(standby_sql($check_all), $indexes, 'the indexes of the standby are whole');
	OwnCluster::promote_standby();
	is(standby_sql($check_all), $indexes, 'and are when it is one no longer');
	standby_sql("INSERT INTO old SELECT i, i * 10, 0, 'new' FROM generate_series(3001, 3200) i; SELECT bf_summarize_new_values('old_a')");
	is(standby_sql("$indexed SELECT id FROM old WHERE a = 31000"), 3100, 'new rows are found');
	is(standby_sql($check_all), $indexes, 'and covered');
};
is(OwnCluster::crashes(), '', 'no server process crashed');

done_testing();
