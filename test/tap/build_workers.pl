# CREATE INDEX and REINDEX with parallel workers. The index is the same, byte for byte, whichever process has read
# which part of the table. As many workers are used as PostgreSQL's settings allow. After a cancel or an error, in a
# worker or in the leader, nothing is left behind.
#
# The number of workers is in a line of DEBUG1.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(usleep);

StreambloomTap::require_cluster();
OwnCluster::start(max_worker_processes => 8, autovacuum => 'off', wal_level => 'logical');
my $db = StreambloomTap->new('046');

# SQL that allows a build this many workers, whatever the size of its table.
sub workers
{
	my ($workers) = @_;
	return "SET max_parallel_maintenance_workers = $workers; SET maintenance_work_mem = '256MB'; SET client_min_messages = debug1;\n";
}

# Runs SQL. Returns the exit code of psql, the numbers of workers that the builds had, in order, the output and the
# messages.
sub with_workers
{
	my ($workers, $sql) = @_;
	my ($code, $out, $err) = $db->try(workers($workers) . $sql);
	my @had = $err =~ /by (\d+) parallel workers and the leader/g;

	return ($code, "@had", $out, $err);
}

# content() returns the number of a relation's pages and a hash of their bytes, without the headers of pages, which say
# when the pages were written.
$db->sql(<<'SQL');
CREATE FUNCTION content(relation regclass) RETURNS text LANGUAGE sql AS $$
	SELECT count(*) || ' ' || md5(string_agg(md5(substr(pg_read_binary_file(pg_relation_filepath(relation), n * 8192, 8192), 25)), '' ORDER BY n))
	FROM generate_series(0, pg_relation_size(relation) / 8192 - 1) n $$;
CREATE TABLE log (id bigint, host text, doc jsonb, tags text[], words tsvector, line text) WITH (parallel_workers = 4);
INSERT INTO log SELECT i, 'host ' || i % 999, jsonb_build_object('request', i, 'status', i % 7, 'agent', md5((i % 500)::text)),
	ARRAY['tag' || i % 50, 'request' || i], to_tsvector('simple', 'page ' || i % 777 || ' by ' || md5((i / 3)::text)), format('10.0.%s.%s GET /page/%s', i % 251, i % 13, i)
FROM generate_series(1, 60000) i;
-- dead rows, changed rows, and pages of which no row is left
DELETE FROM log WHERE id % 17 = 0 OR id BETWEEN 20000 AND 24000;
UPDATE log SET host = 'changed ' || id WHERE id % 11 = 0;
VACUUM ANALYZE log;
DELETE FROM log WHERE id % 19 = 0;
-- the last pages are unlike the others
INSERT INTO log SELECT i, 'last', NULL, NULL, NULL, 'x' FROM generate_series(60001, 80000) i;
SQL

# ----------------------------------------------------------------------------- the same bytes

my %index = (
	numbers => 'id',
	text => 'host) WITH (pages_per_range = 3',
	documents => 'doc jsonb_path_ops',
	tags => 'tags',
	words => 'words',
	lines => 'line gram_ops',
	several => 'id, host, tags',
	'one level' => 'id) WITH (levels = 1',
	'one page a range' => 'host) WITH (pages_per_range = 1',
	'many items above level 0' => 'line gram_ops, words) WITH (pages_per_range = 1',
	'one range' => 'id) WITH (pages_per_range = 131072',
	expression => 'lower(host), (id / 10)',
	predicate => 'host) WHERE (id % 3 = 0'
);
foreach my $name (sort keys %index)
{
	my %content;

	foreach my $workers (0, 1, 2, 4)
	{
		my ($code, $had, $out, $err) = with_workers($workers, "DROP INDEX IF EXISTS built; CREATE INDEX built ON log USING bf ($index{$name}); CHECKPOINT; SELECT content('built')");

		is($had, $workers || '', "$name: $workers workers") or diag($err);
		push @{$content{$out}}, $workers;
	}
	is(scalar keys %content, 1, "$name: the same bytes") or diag(explain(\%content));
}

# Workers make filters of the levels above level 0 too. If they begin late, the leader has made all of these filters;
# then the index is built once more.
{
	my $rebuild = "DROP INDEX built; CREATE INDEX built ON log USING bf (line gram_ops, words) WITH (pages_per_range = 1); CHECKPOINT; SELECT content('built')";
	my $alone = $db->sql(workers(0) . $rebuild);
	my ($made, $of, $code, $out, $err) = (0, 0);

	for (my $trial = 0; $trial < 30 && $made == 0; $trial++)
	{
		($code, undef, $out, $err) = with_workers(4, $rebuild);
		($made, $of) = $err =~ /parallel workers have made the filters of (\d+) of (\d+) ranges of level 1/;
	}
	note("workers made $made of $of ranges of level 1");
	cmp_ok($made, '>', 0, 'workers make ranges of level 1');
	is($out, $alone, 'which have the same bytes');
	($code, undef, undef, $err) = with_workers(2, 'DROP INDEX built; CREATE INDEX built ON log USING bf (host, id) WITH (pages_per_range = 1, levels = 1)');
	is($code, 0, 'one level');
	unlike($err, qr/made the filters/, 'one level: no worker makes filters above it') or diag($err);
}

# The files in which workers keep filters obey temp_file_limit, too. Here each page has one row, so that the filters
# take more room than the items.
$db->sql("CREATE TABLE wide (id bigint, filler text) WITH (parallel_workers = 4); ALTER TABLE wide ALTER filler SET STORAGE PLAIN; INSERT INTO wide SELECT i, repeat('x', 5000) FROM generate_series(1, 3200) i");
{
	my $rebuild = "DROP INDEX IF EXISTS wide_id; CREATE INDEX wide_id ON wide USING bf (id) WITH (pages_per_range = 1); CHECKPOINT; SELECT content('wide_id')";
	my $alone = $db->sql(workers(0) . $rebuild);
	my $helped = 0;

	foreach my $limit ('100kB', '150kB', '200kB', '250kB', '300kB', '1MB')
	{
		my ($code, $had, $out, $err) = with_workers(2, "SET temp_file_limit = '$limit'; $rebuild");

		is((split /\n/, $out)[-1], $alone, "long rows, temp_file_limit = $limit: the same bytes") or diag($err);
		$helped += $err =~ /made the filters/;
	}
	cmp_ok($helped, '>', 0, 'long rows: the levels above had workers under some limit');
}

# A group has as many ranges as memory allows.
my @contents;
foreach my $workers (0, 2)
{
	push @contents, $db->sql(workers($workers) . "SET maintenance_work_mem = '1MB'; DROP INDEX built; CREATE INDEX built ON log USING bf (line gram_ops, id); CHECKPOINT; SELECT content('built')");
}
is($contents[0], $contents[1], 'the same groups where memory is short');

# --------------------------------------------------------------------------- how many there are

sub has_workers
{
	my ($had, $sql, $name, %option) = @_;
	my ($code, $has, $out, $err) = with_workers($option{workers} // 2, $sql);

	ok($code == 0 && $has eq $had, "$name: " . ($had eq '' ? 'none' : $had)) or diag("$has\n$err");
	return $out;
}

has_workers('2', 'REINDEX INDEX built', 'REINDEX');
has_workers('2', 'REINDEX INDEX CONCURRENTLY built', 'REINDEX CONCURRENTLY');
has_workers('2', 'CREATE INDEX CONCURRENTLY beside ON log USING bf (id); DROP INDEX beside', 'CREATE INDEX CONCURRENTLY');
has_workers('2', 'VACUUM FULL log', 'VACUUM FULL');
has_workers('', 'SET max_parallel_workers = 0; REINDEX INDEX built', 'when none can be started');
has_workers('1', 'SET max_parallel_workers = 1; REINDEX INDEX built', 'when one can be started');
has_workers('', 'REINDEX INDEX built', 'when none is allowed', workers => 0);
has_workers('', 'ALTER TABLE log SET (parallel_workers = 0); REINDEX INDEX built; ALTER TABLE log SET (parallel_workers = 4)', 'when the table forbids them');
has_workers('', "ALTER TABLE log RESET (parallel_workers); SET maintenance_work_mem = '32MB'; REINDEX INDEX built; ALTER TABLE log SET (parallel_workers = 4)", 'with too little memory for two');
has_workers('', 'CREATE TEMP TABLE t WITH (parallel_workers = 2) AS SELECT * FROM log; CREATE INDEX ON t USING bf (id)', 'temporary tables');
has_workers('', 'CREATE TABLE t (id int) WITH (parallel_workers = 2); CREATE INDEX ON t USING bf (id); DROP TABLE t', 'empty tables');
has_workers('2', 'CREATE UNLOGGED TABLE t WITH (parallel_workers = 2) AS SELECT * FROM log; CREATE INDEX ON t USING bf (id); DROP TABLE t', 'unlogged tables');
has_workers('2', 'BEGIN; CREATE TABLE t WITH (parallel_workers = 2) AS SELECT * FROM log; UPDATE t SET id = -id; CREATE INDEX t_id ON t USING bf (id); '
	  . 'SET LOCAL enable_seqscan = off; SELECT count(*) FROM t WHERE id = -7; ROLLBACK', 'tables of the same transaction');
has_workers('2 2', "CREATE TABLE parts (id bigint) PARTITION BY RANGE (id); CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (40000) WITH (parallel_workers = 2); "
	  . "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (40000) TO (90000) WITH (parallel_workers = 2); INSERT INTO parts SELECT id FROM log; CREATE INDEX ON parts USING bf (id)", 'partitions');
has_workers('', 'CALL bf_summarize(\'built\'); VACUUM log', 'summaries and VACUUM');
$db->sql("CREATE FUNCTION unsafe(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN \$1; END'");
has_workers('', 'CREATE INDEX unsafe ON log USING bf (unsafe(id)); DROP INDEX unsafe', 'functions that are not parallel safe');

# The owner's code runs in workers as in the leader: as the owner, and with a search_path that no user has set.
$db->make_role('streambloom_046', '');
$db->sql(<<'SQL');
CREATE FUNCTION as_whom(bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN current_user || $$ $$ || current_setting($$search_path$$); END';
CREATE TABLE owned WITH (parallel_workers = 2) AS SELECT i::bigint AS id FROM generate_series(1, 50000) i;
ALTER TABLE owned OWNER TO streambloom_046;
SQL
$db->sql(workers(2) . 'SET search_path = public, pg_temp; CREATE INDEX owned_whom ON owned USING bf (as_whom(id))');
# Returns how many rows an index scan for this value finds, and its recheck removes. The filters hold what the
# expression returned for the owner. The recheck runs as another user, for whom the expression returns another value, so
# it removes all rows that are found.
sub rows_rechecked
{
	my ($value) = @_;
	my $plan = $db->sql("SET enable_seqscan = off; SET max_parallel_workers_per_gather = 0; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM owned WHERE as_whom(id) = '$value'");

	return $plan =~ /Bitmap Index Scan/ && ($plan =~ /Rows Removed by Index Recheck: (\d+)/ ? $1 : 0);
}
is(rows_rechecked('streambloom_046 pg_catalog, pg_temp'), 50000, 'expressions run as the owner of the table');
is(rows_rechecked($db->sql('SELECT current_user') . ' public, pg_temp'), 0, 'and not as who builds the index');

# Settings that use parallel mode for other statements change nothing.
my $debug_parallel = $db->sql(q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
foreach my $value ('on', 'regress')
{
	my $out = has_workers('2', "SET $debug_parallel = $value; DROP INDEX built; CREATE INDEX built ON log USING bf (lower(host), id); CHECKPOINT; SELECT content('built')", "$debug_parallel = $value");
	my $alone = $db->sql(workers(0) . "DROP INDEX built; CREATE INDEX built ON log USING bf (lower(host), id); CHECKPOINT; SELECT content('built')");

	is((split /\n/, $out)[-1], $alone, "$debug_parallel = $value: the same bytes");
}

# ------------------------------------------------------------------------- no row is lost

my $lost = $db->sql(workers(2) . <<'SQL');
REINDEX TABLE log;
SET enable_seqscan = off;
SELECT count(*) FROM generate_series(1, 80000, 61) i
WHERE (SELECT count(*) FROM log WHERE id = i) <> (SELECT count(*) FROM log WHERE id + 0 = i);
SQL
is($lost, '0', 'an index scan finds what a sequential one finds');

# A row is deleted before a build with workers, while another session has a snapshot that sees it. The index that is
# made does not hide the row from that snapshot; and a row that is written afterwards is found.
{
	my $old = PsqlSession->new($db->name);
	my $find = 'SET enable_seqscan = off; SELECT count(*) FROM log WHERE id = 77777';

	# It does not touch the table, so that REINDEX need not wait for its locks.
	$old->sql('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	is($db->sql($find), 1, 'there is a row');
	$db->sql('DELETE FROM log WHERE id = 77777');
	has_workers('2', 'REINDEX INDEX built', 'a build after the row was deleted');
	like($old->sql('EXPLAIN (COSTS OFF) SELECT count(*) FROM log WHERE id = 77777'), qr/Bitmap Index Scan/, 'the older snapshot asks the index');
	is($old->sql($find), 1, 'and sees the row');
	is($db->sql($find), 0, 'which newer ones do not');
	$old->sql('COMMIT');
	$db->sql('INSERT INTO log (id) VALUES (77777)');
	is($db->sql($find), 1, 'and find when it is written again');
	$old->close;
}

# --------------------------------------------------------------- what is left behind: nothing

sub nothing_is_left
{
	my ($name) = @_;
	is($db->sql(q{SELECT (SELECT count(*) FROM pg_ls_tmpdir()), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'),
		(SELECT count(*) FROM pg_class WHERE relname = 'fails' OR (relkind = 'i' AND relpages = 0 AND relname LIKE 'fail%'))}), '0|0|0', "$name: nothing is left");
}

$db->sql("CREATE FUNCTION one_by(bigint, bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN 1000000 / (\$1 - \$2); END'");
foreach my $row (1, 30000, 79999)
{
	$db->fails_like(workers(2) . "CREATE INDEX fails ON log USING bf (one_by(id, $row))", '22012', qr/division by zero.*row version \(\d+,\d+\) of table "log" for index "fails"/s, "an expression fails on row $row");
	nothing_is_left("row $row");
}
$db->sql("CREATE FUNCTION sleeps(bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.001); RETURN \$1; END'");
$db->fails_like(workers(2) . "SET statement_timeout = 700; CREATE INDEX fails ON log USING bf (sleeps(id))", '57014', qr/statement timeout/, 'statement_timeout');
nothing_is_left('statement_timeout');
$db->sql(q{CREATE FUNCTION kills(bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN
	IF $1 > 1000 AND (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = ''parallel worker'' THEN
		PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
	RETURN $1; END'});
$db->fails_like(workers(2) . "CREATE INDEX fails ON log USING bf (kills(id))", '57P01', qr/terminating/, 'a worker is terminated');
nothing_is_left('a worker that was terminated');


# An expression that waits at some rows until a file is removed, so that the processes of a build can be examined. (The
# length of ranges is given, because otherwise the leader reads rows to choose it before there are workers.)
my $gate = StreambloomTap::scratch() . '/gate';
$db->sql(<<"SQL");
CREATE FUNCTION gated(bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS \$\$
BEGIN
	WHILE \$1 % 3000 = 0 AND (SELECT size FROM pg_stat_file('$gate', true)) IS NOT NULL LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN \$1;
END \$\$;
SQL
chmod 0755, StreambloomTap::scratch();

# Begins a build whose processes come to a row at which they wait, and returns when its two workers wait there. Returns
# its session and what $pids returns.
sub begin_build
{
	my ($name, $pids) = @_;
	my $builder = PsqlSession->new($db->name);

	StreambloomTap::write_file($gate, 'shut');
	$builder->send(workers(2) . "CREATE INDEX fails ON log USING bf (gated(id)) WITH (pages_per_range = 2);");
	$db->wait_until(q{SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
		AND query LIKE 'CREATE INDEX fails%' AND wait_event = 'PgSleep'}, "two workers that wait: $name");
	return ($builder, $db->sql($pids));
}
my $leader = q{SELECT DISTINCT leader_pid FROM pg_stat_activity WHERE backend_type = 'parallel worker'};
my $one_worker = q{SELECT min(pid) FROM pg_stat_activity WHERE backend_type = 'parallel worker'};

foreach my $case (
	['the leader is canceled', 'pg_cancel_backend', $leader, '57014'],
	['a worker is canceled', 'pg_cancel_backend', $one_worker, '57014'],
	['the leader is terminated', 'pg_terminate_backend', $leader, '57P01'],
	['a worker that waits is terminated', 'pg_terminate_backend', $one_worker, '57P01'])
{
	my ($name, $function, $whom, $expected) = @$case;
	my ($builder, $pid) = begin_build($name, $whom);

	$db->sql("SELECT $function($pid)");
	my (undef, $state) = $builder->answer;
	is($state, $expected, $name);
	unlink $gate;
	$builder->close;
	$db->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}, "their end: $name");
	nothing_is_left($name);
}

# The progress view shows what all processes have done. The build goes on when the file $gate is removed.
{
	my ($builder) = begin_build('progress', $leader);

	$db->wait_until(q{SELECT phase = 'building index: reading table' AND blocks_done > 0 AND blocks_done < blocks_total
		FROM pg_stat_progress_create_index WHERE relid = 'log'::regclass}, 'progress');
	unlink $gate;
	my (undef, $state) = $builder->answer;
	is($state, '00000', 'a build that waited in all processes ends');
	$builder->close;
	$db->sql('DROP INDEX fails');
	nothing_is_left('a build that waited');
}

# Workers that have finished level 0 wait for the levels above it, here for a leader that is waiting itself.
$db->sql(<<"SQL");
CREATE FUNCTION leader_gated(bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS \$\$
BEGIN
	WHILE \$1 % 3000 = 0 AND (SELECT size FROM pg_stat_file('$gate', true)) IS NOT NULL
		AND (SELECT backend_type <> 'parallel worker' FROM pg_stat_activity WHERE pid = pg_backend_pid()) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN \$1;
END \$\$;
SQL
foreach my $case (
	['the leader is canceled while workers wait', 'SELECT pg_cancel_backend(pid)', $leader, '57014'],
	['a worker is terminated while it waits', 'SELECT pg_terminate_backend(pid)', $one_worker, '57P01'],
	['workers wait and go on', undef, $leader, '00000'])
{
	my ($name, $ends, $whom, $expected) = @$case;
	my $builder = PsqlSession->new($db->name);

	StreambloomTap::write_file($gate, 'shut');
	$builder->send(workers(2) . 'CREATE INDEX fails ON log USING bf (leader_gated(id), line gram_ops) WITH (pages_per_range = 1);');
	$db->wait_until(q{SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
		AND query LIKE 'CREATE INDEX fails%' AND wait_event = 'ParallelCreateIndexScan'}, "two workers that wait: $name");
	$db->sql("$ends FROM ($whom) s(pid)") if defined $ends;
	unlink $gate if !defined $ends;
	my (undef, $state) = $builder->answer;
	is($state, $expected, $name);
	unlink $gate;
	$builder->close;
	$db->wait_until(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'}, "their end: $name");
	$db->sql('DROP INDEX IF EXISTS fails');
	nothing_is_left($name);
}

# A build is canceled, or one of its workers terminated, at any time: while the table is read for level 0, while workers
# make the filters of the levels above, or between these two.
{
	my $build = 'CREATE INDEX fails ON log USING bf (line gram_ops) WITH (pages_per_range = 1)';
	my ($ms) = $db->sql(workers(2) . "\\timing on\n$build; DROP INDEX fails") =~ /Time: ([\d.]+) ms/;
	my %states;

	foreach my $part (1 .. 12)
	{
		my $builder = PsqlSession->new($db->name);
		my $by_timeout = $part % 2;

		$builder->send(workers(2) . sprintf('SET statement_timeout = %d;', $by_timeout ? 1 + $ms * $part / 12 : 0) . " $build;");
		# On a busy machine the build may have ended when its worker is to be terminated. The first time, the worker is
		# waited for, so that at least one build loses a worker.
		if ($part == 2)
		{
			$db->sql(<<'SQL');
DO $$BEGIN
	FOR i IN 1 .. 5000 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN (SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity WHERE backend_type = 'parallel worker');
		PERFORM pg_sleep(0.001);
	END LOOP;
END$$
SQL
		}
		elsif (!$by_timeout)
		{
			usleep(1000 * $ms * $part / 12);
			$db->sql(q{SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity WHERE backend_type = 'parallel worker'});
		}
		$states{($builder->answer)[1]}++;
		$builder->close;
		$db->sql('DROP INDEX IF EXISTS fails');
		nothing_is_left("ended at any time, $part");
	}
	is(join(' ', grep { !/^(?:00000|57014|57P01)$/ } keys %states), '', 'ended at any time: the build is complete, or it was canceled') or diag(explain(\%states));
	ok($states{57014} && $states{'57P01'}, 'some were canceled, and some lost a worker') or diag(explain(\%states));
}

# An expression fails as if memory were short, in the leader or in a worker: in the one that reads row 30000.
$db->sql(q{CREATE FUNCTION large(bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN
	IF $1 = 30000 THEN RAISE out_of_memory USING MESSAGE = ''out of memory'', DETAIL = ''Failed on request of size 42.''; END IF;
	RETURN $1; END'});
$db->fails_like(workers(2) . 'CREATE INDEX fails ON log USING bf (large(id))', '53200', qr/out of memory/, 'memory is short');
nothing_is_left('memory that is short');
$db->fails_like(workers(2) . 'CREATE INDEX fails ON log USING bf ((repeat(host, 200000000)::bytea))', '54000', qr/requested length too large/, 'a value that is too long');
nothing_is_left('a value that is too long');

# An error is caught, and the same transaction builds another index.
has_workers('2 2', <<'SQL', 'an error that is caught');
DO $$ BEGIN
	CREATE INDEX fails ON log USING bf (one_by(id, 30000));
EXCEPTION WHEN division_by_zero THEN
	CREATE INDEX caught ON log USING bf (id);
END $$;
DROP INDEX caught;
SQL
nothing_is_left('an error that is caught');

# Workers connect to the database anew. If this is refused, the build fails or goes on without workers; nothing waits
# for them for ever.
$db->make_role('streambloom_046_gone', 'LOGIN');
$db->sql('GRANT CREATE, USAGE ON SCHEMA public TO streambloom_046_gone');
my $gone = do { local $ENV{PGUSER} = 'streambloom_046_gone'; PsqlSession->new($db->name) };
$gone->sql('CREATE TABLE own WITH (parallel_workers = 2) AS SELECT i::bigint AS id FROM generate_series(1, 50000) i; ' . workers(2));
$db->sql('REVOKE CONNECT ON DATABASE ' . $db->name . ' FROM PUBLIC');
my ($answer, $refused) = $gone->ask('CREATE INDEX fails ON own USING bf (id)');
diag("workers that may not connect: $refused");
like($refused, qr/^(?:00000|42501)$/, 'workers that may not connect');
$gone->sql('DROP TABLE own');
$gone->close;
nothing_is_left('workers that may not connect');

# Workers that have reached the limit of their temporary files stop, and the leader reads the rest.
foreach my $of ('line gram_ops', 'id) WITH (pages_per_range = 1, false_positive_rate = 0.000001')
{
	my $rebuild = "DROP INDEX built; CREATE INDEX built ON log USING bf ($of); CHECKPOINT; SELECT content('built')";
	my $alone = $db->sql(workers(0) . $rebuild);

	foreach my $limit ('0', '64kB', '160kB', '300kB', '500kB', '2MB')
	{
		my $out = has_workers('2', "SET temp_file_limit = '$limit'; $rebuild", "temp_file_limit = $limit");

		is((split /\n/, $out)[-1], $alone, "temp_file_limit = $limit: the same bytes");
		nothing_is_left("temp_file_limit = $limit");
	}
}

# The numbers that a build reports are those of all its processes.
my @tuples = split /\|/, $db->sql(workers(2) . "DROP INDEX built; ANALYZE log; CREATE INDEX built ON log USING bf (id); SELECT (SELECT reltuples FROM pg_class WHERE relname = 'log'), count(*) FROM log");
is($tuples[0], $tuples[1], 'all rows are counted');

is(OwnCluster::crashes(), '', 'no server process crashed');
done_testing();
