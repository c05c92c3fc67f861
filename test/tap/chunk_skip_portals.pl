# Portals and the nodes ChunkSkip and PartitionScan. WHERE CURRENT OF works for a portal that a client has opened by the
# protocol, and for cursors of SQL and PL/pgSQL. Only a portal for which WHERE CURRENT OF is impossible has a node. The
# ids of the nodes of a plan are unique.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use ProtocolSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('031');

$db->sql(<<'SQL');
CREATE TABLE log (id int NOT NULL, uid bigint, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 3000, (i + 1) * 3000) FROM generate_series(0, 3) i \gexec
INSERT INTO log SELECT i, i, repeat('x', 40) FROM generate_series(0, 11999) i;
CREATE INDEX ON log USING bf (uid) WITH (pages_per_range = 8);
VACUUM ANALYZE log;
CREATE FUNCTION has_node(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'ChunkSkip|PartitionScan' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END
$$;
-- counts how often indexes have been asked
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index WHERE indexrelid::regclass::text LIKE 'log%uid_idx'
$$;
SQL

my $load = "LOAD 'streambloom'; SET jit = off; SET max_parallel_workers_per_gather = 0;";
my $session = ProtocolSession->new($db->name);
$session->ask($load);

# Opens a portal, fetches a row, and changes that row. Returns the answer of each step.
sub change_current
{
	my ($portal, $query, @values) = @_;
	my @answers;

	$session->ask('BEGIN');
	push @answers, join(' ', $session->open_portal($portal, $query, @values));
	push @answers, join(' ', $session->fetch($portal, 1));
	push @answers, join(' ', $session->ask(qq{UPDATE log SET note = 'changed' WHERE CURRENT OF "$portal" RETURNING id, note}));
	push @answers, join(' ', $session->fetch($portal, 1));
	$session->ask('ROLLBACK; DEALLOCATE ALL');
	return join('; ', @answers);
}

foreach my $plan ('force_custom_plan', 'force_generic_plan')
{
	$session->ask("SET plan_cache_mode = $plan");
	foreach my $enabled ('on', 'off', 'always')
	{
		my $case = "$plan, switched $enabled";
		# In the case "always" the node is PartitionScan, with the same queries.
		$session->ask('SET streambloom.enable_chunk_skip = ' . ($enabled eq 'on' ? 'on' : 'off') . '; SET streambloom.enable_partition_scan = ' . ($enabled eq 'always' ? 'always' : 'off'));
		is(($session->ask(q{SELECT has_node('SELECT id, uid FROM log WHERE uid IN (5000, 8000)')}))[0], $enabled eq 'off' ? 'f' : 't',
			"$case: the node is there but for portals");
		is(change_current('p', 'SELECT id, uid FROM log WHERE uid IN (5000, 8000)'),
			' 00000; 5000|5000 00000; 5000|changed 00000; 8000|8000 00000', "$case: constants");
		is(change_current('p', 'SELECT id, uid FROM log WHERE uid IN ($1, $2)', 5000, 8000),
			' 00000; 5000|5000 00000; 5000|changed 00000; 8000|8000 00000', "$case: parameters");
		is(change_current('Portal 1', 'SELECT id FROM log WHERE uid = $1::text::bigint LIMIT 5', 5000),
			' 00000; 5000 00000; 5000|changed 00000;  00000', "$case: below a limit, a name in quotes, a cast");
		is(change_current('p', 'SELECT note, id FROM (SELECT * FROM log WHERE uid = $1 OFFSET 0) l WHERE id > 1', 5000),
			' 00000; ' . 'x' x 40 . '|5000 00000; 5000|changed 00000;  00000', "$case: a subquery");
		is(change_current('p', 'SELECT id FROM log WHERE uid = $1 AND uid > (SELECT min(uid) FROM log)', 5000),
			' 00000; 5000 00000; 5000|changed 00000;  00000', "$case: with a subquery's result");
		is(change_current('p', 'SELECT id, uid FROM log WHERE uid IN (5000, 8000) FOR UPDATE'),
			' 00000; 5000|5000 00000; 5000|changed 00000; 8000|8000 00000', "$case: with locks");
		is(change_current('p', 'SELECT id FROM log WHERE uid = $1 ORDER BY id', 5000),
			' 00000; 5000 00000;  24000;  25P02', "$case: sorted rows are no such cursor");
	}
}

# Which portals have the node is seen by how often the indexes of partitions are asked. A session remembers how an index
# is asked, and a question that it answers from memory is not counted. So the transactions are SERIALIZABLE: in these
# nothing is answered from memory.
{
	$session->ask('SET streambloom.enable_chunk_skip = on; SET streambloom.enable_partition_scan = off; SET plan_cache_mode = force_custom_plan');
	my $scans = sub {
		my ($portal, $query) = @_;
		$session->ask('BEGIN ISOLATION LEVEL SERIALIZABLE');
		my ($before) = $session->ask('SELECT scans()');
		$session->open_portal($portal, $query);
		$session->fetch($portal, 0);
		my ($after) = $session->ask('SELECT scans()');
		$session->ask('ROLLBACK; DEALLOCATE ALL');
		return $after - $before;
	};
	# With the node: four indexes are asked, and one partition is read by a bitmap scan. Without it: four bitmap scans.
	# The partitions are so small that the planner could prefer a sequential scan of one that was changed.
	$session->ask('SET enable_seqscan = off');
	is($scans->('', 'SELECT id FROM log WHERE uid = 5000'), 5, 'a portal without a name has the node')
		or diag($db->sql('EXPLAIN SELECT id FROM log WHERE uid = 5000'));
	is($scans->('p', 'SELECT id FROM log WHERE uid = 5000'), 4, 'one with a name has not');
	is($scans->('p', 'SELECT id FROM log WHERE uid = 5000 ORDER BY id'), 5, 'but where WHERE CURRENT OF is impossible');
	# a query in a function, when a portal with a name calls the function
	$session->ask('CREATE FUNCTION found() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id FROM log WHERE uid = 5000; END $$');
	is($scans->('p', 'SELECT * FROM found()'), 5, 'a function in such a portal has the node');
}

# Cursors of SQL and of PL/pgSQL, also for queries in strings.
is(($session->ask('BEGIN; DECLARE c CURSOR FOR SELECT id FROM log WHERE uid = 5000; FETCH c'))[0], '5000', 'a declared cursor');
is(($session->ask("UPDATE log SET note = 'changed' WHERE CURRENT OF c RETURNING id"))[0], '5000', 'and its row');
$session->ask('ROLLBACK');
foreach my $open ('OPEN c FOR SELECT id FROM log WHERE uid = 5000', q{OPEN c FOR EXECUTE 'SELECT id FROM log WHERE uid = 5000'})
{
	my ($answer, $state) = $session->ask(<<"SQL");
DO \$\$
DECLARE
	c refcursor;
	r record;
BEGIN
	$open;
	FETCH c INTO r;
	UPDATE log SET note = 'by ' || r.id WHERE CURRENT OF c;
	CLOSE c;
END
\$\$;
SELECT note FROM log WHERE uid = 5000
SQL
	is("$state $answer", '00000 by 5000', $open);
	$session->ask("UPDATE log SET note = '' WHERE uid = 5000");
}
$session->close;

# The ids of the nodes of a plan must be unique, because the instrumentation relies on that.
foreach my $query ('SELECT id FROM log WHERE uid = 5000',
	'SELECT (SELECT max(id) FROM log WHERE uid = l.id) FROM log l WHERE uid = (SELECT max(id) FROM log WHERE uid = 5000)')
{
	my (undef, undef, $log) = StreambloomTap::psql($db->name, "$load SET debug_print_plan = on; SET client_min_messages = log; $query;");
	my @ids = $log =~ /:(?:\w+\.)*plan_node_id (\d+)/g;
	my %seen;
	$seen{$_}++ foreach @ids;
	ok($log =~ /ChunkSkip/ && @ids > 4 && !grep({ $_ > 1 } values %seen), "unique ids: $query") or diag("@ids");
}

done_testing();
