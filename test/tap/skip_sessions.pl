# Several sessions at once and the node Skip: rows that change while another session waits for them (EvalPlanQual);
# SERIALIZABLE transactions that conflict over partitions which nobody reads; snapshots that are older than a row;
# partitions that come and go while a plan is kept; an access method bf of another extension.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('030');
my $load = "LOAD 'streambloom'; SET jit = off; SET max_parallel_workers_per_gather = 0;";

sub make_tables
{
	$db->sql(<<'SQL');
DROP TABLE IF EXISTS log, item;
CREATE TABLE log (id int NOT NULL, uid bigint, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 3000, (i + 1) * 3000) FROM generate_series(0, 3) i \gexec
INSERT INTO log SELECT i, i, repeat('x', 40) FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 8);
CREATE TABLE item (id int PRIMARY KEY, wanted bigint, note text);
INSERT INTO item SELECT i, i * 100, 'item' FROM generate_series(1, 100) i;
VACUUM ANALYZE log, item;
SQL
}

# Two sessions; in the second one the node is switched on or off.
sub sessions
{
	my ($enabled) = @_;
	my @sessions = map { PsqlSession->new($db->name) } 1 .. 2;

	$_->ask($load) foreach @sessions;
	$sessions[1]->ask('SET enable_hashjoin = off; SET enable_mergejoin = off');
	$sessions[1]->ask("SET streambloom.enable_skip = $enabled");
	return @sessions;
}

# Waits until some session waits for another one.
sub until_blocked
{
	StreambloomTap::wait_until($db, <<'SQL', 'a session waits for another');
SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
SQL
}

# Tests what the second session answers after it has waited for a change of the first one, with the node and without.
sub compare
{
	my ($name, $change, $question, $expected, $has_node) = @_;
	my @answers;

	foreach my $enabled ('on', 'off')
	{
		make_tables();
		my ($one, $two) = sessions($enabled);
		my ($plan) = $two->ask("EXPLAIN $question");
		is($plan =~ /Skip/ ? 'node' : 'no node', $enabled eq 'on' && $has_node ? 'node' : 'no node', "$name: the plan, switched $enabled");
		$one->ask("BEGIN; $change");
		$two->send($question);
		until_blocked();
		$one->ask('COMMIT');
		my ($answer, $state) = $two->answer;
		push @answers, "$state $answer";
		$_->close foreach $one, $two;
	}
	is($answers[0], $answers[1], "$name: the same with the node and without");
	like($answers[0], $expected, "$name: as it should be");
}

compare('a row locked and unchanged in what is asked', "UPDATE log SET note = 'new' WHERE uid = 5000",
	'SELECT id, note FROM log WHERE uid = 5000 FOR UPDATE', qr/^00000 5000\|new$/, 1);
compare('a row that no longer matches', 'UPDATE log SET uid = 5001 WHERE uid = 5000',
	'SELECT id, note FROM log WHERE uid = 5000 FOR UPDATE', qr/^00000 $/, 1);
compare('a row that goes to another partition', 'UPDATE log SET id = 9000 WHERE uid = 5000',
	'SELECT id, note FROM log WHERE uid = 5000 FOR UPDATE', qr/^40001 /, 1);
compare('a join whose other side changes what is looked up', 'UPDATE item SET wanted = 8000 WHERE id = 50',
	"SELECT item.note, log.id FROM item JOIN log ON uid = wanted WHERE item.id = 50 FOR UPDATE OF item",
	qr/^00000 $/, 1);
compare('a join whose other side changes otherwise', "UPDATE item SET note = 'new' WHERE id = 50",
	"SELECT item.note, log.id FROM item JOIN log ON uid = wanted WHERE item.id = 50 FOR UPDATE OF item",
	qr/^00000 new\|5000$/, 1);
compare('an update by what is looked up', "UPDATE item SET note = 'new' WHERE id = 50",
	"UPDATE item SET note = item.note || log.id FROM log WHERE uid = 5000 AND item.id = 50 RETURNING item.note", qr/^00000 new5000$/, 1);
compare('a delete', "UPDATE log SET note = 'new' WHERE uid = 5000", 'DELETE FROM log WHERE uid = 5000 RETURNING id, note',
	qr/^00000 5000\|new$/, 1);

# Each session looks for what the other one will write, finds it in no partition, and writes. Only one may commit.
foreach my $way ('SELECT count(*) FROM log WHERE uid = %d', "SELECT count(*) FROM chunk_scan(NULL::log, 'uid', %d)")
{
	make_tables();
	my ($one, $two) = sessions('on');
	my @found = map { ($_->[0]->ask('BEGIN ISOLATION LEVEL SERIALIZABLE; ' . sprintf($way, $_->[1])))[0] } [$one, 77777], [$two, 88888];
	is("@found", '0 0', "$way: neither finds anything");
	my @states = map { ($_->[0]->ask("INSERT INTO log VALUES ($_->[1], $_->[1] * 0 + $_->[2])"))[1] } [$one, 1, 88888], [$two, 11000, 77777];
	push @states, map { ($_->ask('COMMIT'))[1] } $one, $two;
	is(scalar(grep { $_ eq '40001' } @states), 1, "$way: one of the two is refused") or diag("@states");
	is($db->sql('SELECT count(*) FROM log WHERE uid IN (77777, 88888)'), 1, "$way: and the other's row is there");
	$_->close foreach $one, $two;
}

# An old snapshot looks for a row that has been deleted since. All ranges of its partition were summarized again.
{
	make_tables();
	my ($one, $two) = sessions('on');
	$two->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM item');
	$one->ask('DELETE FROM log WHERE uid = 5000');
	$one->ask("SELECT bf_desummarize_range('log_1_uid_idx', first) FROM generate_series(0, pg_relation_size('log_1') / 8192 - 1) first");
	$one->ask("SELECT bf_summarize_new_values('log_1_uid_idx')");
	$one->ask('VACUUM log');
	is(($two->ask('SELECT id FROM log WHERE uid = 5000'))[0], '5000', 'an old snapshot still finds its row');
	is(($two->ask("SELECT id FROM chunk_scan(NULL::log, 'uid', 5000)"))[0], '5000', 'by chunk_scan() too');
	is(($one->ask('SELECT id FROM log WHERE uid = 5000'))[0], '', 'a new one does not');
	$_->close foreach $one, $two;
}

# A plan is kept while partitions and indexes come and go.
{
	make_tables();
	my ($one, $two) = sessions('on');
	$two->ask('SET plan_cache_mode = force_generic_plan; PREPARE look(bigint) AS SELECT id FROM log WHERE uid = $1 ORDER BY id');
	my $look = sub { my ($answer, $state) = $two->ask("EXECUTE look($_[0])"); return "$state $answer"; };
	is($look->(5000), '00000 5000', 'a kept plan');
	foreach my $change (
		['REINDEX INDEX CONCURRENTLY log_1_uid_idx', '5000'],
		['REINDEX TABLE log_1', '5000'],
		['DROP INDEX log_uid_idx', '5000'],
		['CREATE INDEX CONCURRENTLY late ON log_1 USING bf (uid); CREATE INDEX ON log_2 USING bf (uid)', '5000'],
		['ALTER TABLE log DETACH PARTITION log_1 CONCURRENTLY', ''],
		['INSERT INTO log_1 VALUES (3001, 5000); ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (3000) TO (6000)', "3001\n5000"],
		['TRUNCATE log_1', ''],
		['INSERT INTO log VALUES (3002, 5000)', '3002'],
		['VACUUM FULL log_1', '3002'],
		['DROP TABLE log_0; INSERT INTO log VALUES (3003, 5000)', "3002\n3003"],
		['ALTER TABLE log ALTER uid TYPE bigint USING uid + 1', ''],
		['UPDATE log SET uid = 5000 WHERE uid = 5001', "3002\n3003"])
	{
		$one->ask($_) foreach split /; /, $change->[0];
		is($look->(5000), "00000 $change->[1]", "a kept plan after: $change->[0]");
	}
	$_->close foreach $one, $two;
}

# An access method of another extension may be called bf too. The library, loaded where streambloom is not installed,
# does not take the indexes of that access method for its own. (Its handler is that of contrib/bloom: those of
# PostgreSQL's own access methods assert that the index is of theirs.)
{
	my $other = StreambloomTap->new('030_other', bare => 1);
	$other->sql(<<'SQL');
CREATE EXTENSION bloom;
CREATE ACCESS METHOD bf TYPE INDEX HANDLER blhandler;
CREATE OPERATOR CLASS int_ops DEFAULT FOR TYPE int USING bf AS OPERATOR 1 =, FUNCTION 1 hashint4(int);
CREATE TABLE log (id int NOT NULL, uid int, filler text DEFAULT repeat('x', 50)) PARTITION BY RANGE (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (4000);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (4000) TO (8000);
INSERT INTO log SELECT i, i FROM generate_series(0, 7999) i;
CREATE INDEX ON log USING bf (uid);
VACUUM ANALYZE log;
SQL
	my $settings = "$load SET enable_indexscan = off; SET enable_bitmapscan = off;";
	is($other->sql("$settings SELECT id FROM log WHERE uid = 5001"), '5001', 'an access method of others with this name: a query');
	unlike($other->sql("$settings EXPLAIN SELECT id FROM log WHERE uid = 5001"), qr/Skip/, 'has no node');
	is($other->sql("$settings SELECT count(*) FROM log JOIN (VALUES (5001), (7)) v(uid) USING (uid)"), '2', 'a join');
}

done_testing();
