# DifferParties.pm: several parties work on a DifferSchema at once: some write, some change tables, partitions and
# indexes, some read. Each party is a process with a session of its own.
#
#   DifferParties::together($run, $schema, $seconds, reader => sub {...}, ...);    # forks, waits, adds up the counts
#
# Beside the random relations there is the table m (DifferParties::marked()). Each of its committed states has the same
# number of rows with one value, the marks, whatever is done to its partitions. So a single statement of a READ
# COMMITTED transaction has one right answer, and needs no second statement to compare with.
package DifferParties;

use strict;
use warnings;

use POSIX qw(_exit);
use Storable qw(store retrieve);
use Time::HiRes qw(time sleep);
use DifferChanges;
use DifferQueries;
use DifferSchema;
use DifferTypes;
use StreambloomTap;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# Errors that a session may get if it changes something while others do.
our $tolerated = qr/could not open relation with OID|tuple concurrently (?:updated|deleted)|cache lookup failed for (?:index|relation)|could not find pg_class entry|invalid arbiter index/;

# Runs each party in a process of its own. A party is called with the run, the schema, a session, and a sub that says
# whether to go on.
sub together
{
	my ($run, $schema, $seconds, %parties) = @_;
	my $folder = StreambloomTap::scratch();
	my $deadline = time() + $seconds;
	my %children;
	my $number = 0;

	foreach my $name (sort keys %parties)
	{
		$number++;
		my $child = fork();
		defined $child or die "cannot fork: $!";
		if ($child == 0)
		{
			srand($run->{seed} * 10000 + $schema->{number} * 10 + $number);
			my $parent = getppid();
			@$run{'counts', 'failures', 'process', 'log'} = ({}, [], "$schema->{number}-$name-", []);
			my $go_on = sub { time() < $deadline && getppid() == $parent && !$run->failures && !-e "$folder/stop" && !$run->{session_of}{lost} };
			my $ok = eval
			{
				my ($word, $port) = split /:/, $name;
				my $session = $run->session($name, $port ? (port => $port) : ());
				$run->{session_of} = $session if !$port;
				$session->sql("SET search_path = $schema->{name}, public; SET deadlock_timeout = '200ms'; SET lock_timeout = '" . ($port ? '20s' : '3s') . "'");
				push @{$run->{histories}{$name}}, "SET search_path = $schema->{name}, public";
				$parties{$name}->($run, $schema, $session, $go_on);
				1;
			};
			push @{$run->{failures}}, "$name: $@" if !$ok;
			# When one party has failed, the others stop and write their histories too.
			if ($run->failures) { StreambloomTap::write_file("$folder/stop", ''); }
			elsif (-e "$folder/stop") { $run->write_histories('beside'); }
			store([$run->{counts}, $run->{failures}, $run->{log}], "$folder/$name.result");
			_exit(0);
		}
		$children{$child} = $name;
	}
	foreach my $child (keys %children)
	{
		waitpid $child, 0;
		my $file = "$folder/$children{$child}.result";
		my $result = eval { retrieve($file) } || [{}, ["$children{$child} ended without a result"], []];
		unlink $file;
		$run->count($_, $result->[0]{$_}) foreach keys %{$result->[0]};
		push @{$run->{failures}}, @{$result->[1]};
		push @{$run->{log}}, @{$result->[2]};
	}
	unlink "$folder/stop";
}

# ------------------------------------------------------------- the table m

# Returns the statements that make m. Its column v gets a type that has many values.
sub marked
{
	my ($schema) = @_;
	my $name;
	do { $name = pick(DifferTypes::names()) } while $name =~ /^(?:boolean|"char"|wide|array_domain)$/;
	my $type = DifferTypes::type($name);
	my $parts = 3 + int rand 3;
	my $m = $schema->{m} = {type => $type, parts => $parts, marks => 2 * $parts, locks => chance(0.5), literal => DifferTypes::value($type, 25555)};
	my $index = "CREATE INDEX ON m USING bf (v) WITH (pages_per_range = " . pick(1, 2, 4) . ')';

	return ("CREATE TABLE m (id bigint, k int NOT NULL, v $type->{ddl}, pad text) PARTITION BY LIST (k)",
		(map { "CREATE TABLE m_$_ PARTITION OF m FOR VALUES IN ($_) WITH (autovacuum_enabled = off)" } 0 .. $parts - 1),
		chance(0.5) ? $index : (),
		"INSERT INTO m SELECT i, i % $parts, " . DifferTypes::value($type, 'i') . ", repeat('x', 100) FROM generate_series(1, 600) i",
		"INSERT INTO m SELECT -i, i % $parts, $m->{literal}, 'mark' FROM generate_series(1, $m->{marks}) i",
		$index,
		"CREATE FUNCTION marks() RETURNS bigint LANGUAGE plpgsql AS \$\$ BEGIN RETURN (SELECT count(*) FROM m WHERE v = $m->{literal}); END \$\$",
		"CREATE FUNCTION marks_of(x $type->{cast}) RETURNS bigint LANGUAGE plpgsql AS \$\$ BEGIN RETURN (SELECT count(*) FROM m WHERE v = x); END \$\$",
		"CREATE TABLE m_keys AS SELECT $m->{literal} AS v");
}

# Changes of m that leave the number of marks as it was. Each is one transaction.
sub change_marked
{
	my ($schema) = @_;
	my $m = $schema->{m};
	my $part = int rand $m->{parts};
	my $p = "m_$part";
	my $other = int rand $m->{parts};
	my $literal = $m->{literal};
	my $kind = int rand 16;
	my $pause = chance(0.5) ? 'SELECT pg_sleep(' . (int rand 30) / 1000 . '); ' : '';

	return ('TRUNCATE and INSERT', "BEGIN; LOCK TABLE $p; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM $p; TRUNCATE $p; ${pause}INSERT INTO $p (id, k, v, pad) SELECT id, k, v, pad FROM kept; COMMIT") if $kind <= 2;
	return ('DELETE and INSERT', "BEGIN; LOCK TABLE $p IN SHARE ROW EXCLUSIVE MODE; CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM $p; DELETE FROM $p; ${pause}INSERT INTO $p (id, k, v, pad) SELECT id, k, v, pad FROM kept; COMMIT") if $kind == 3 && !$m->{locks};
	return ('DETACH and ATTACH', "BEGIN; LOCK TABLE m; ALTER TABLE m DETACH PARTITION $p; ${pause}ALTER TABLE m ATTACH PARTITION $p FOR VALUES IN ($part); COMMIT") if $kind <= 5;
	return ('another partition', "BEGIN; LOCK TABLE m; CREATE TABLE another AS SELECT pad, v, id, k FROM $p; ALTER TABLE another ALTER k SET NOT NULL; " .
		"CREATE INDEX ON another USING bf (v) WITH (pages_per_range = 1); ALTER TABLE m DETACH PARTITION $p; DROP TABLE $p; ALTER TABLE another RENAME TO $p; ${pause}ALTER TABLE m ATTACH PARTITION $p FOR VALUES IN ($part); COMMIT") if $kind == 6;
	return ('VACUUM FULL of m', "VACUUM FULL $p") if $kind == 7;
	return ('CLUSTER of m', "BEGIN; CREATE INDEX m_cluster ON $p (id); CLUSTER $p USING m_cluster; ${pause}DROP INDEX m_cluster; COMMIT") if $kind == 8;
	return ('ALTER TYPE of m', 'ALTER TABLE m ALTER id TYPE ' . pick('numeric', 'bigint')) if $kind == 9;
	return ('REINDEX of m', "REINDEX TABLE " . pick('', DifferChanges::concurrently($schema)) . " $p") if $kind == 10;
	return ('UPDATE of the partition key', "UPDATE m SET k = $other WHERE v = $literal AND id = -" . (1 + int rand $m->{marks})) if $kind <= 12;
	return ('UPDATE of m', "UPDATE m SET pad = pad || 'x' WHERE k = $part AND id % 7 = " . int rand 7) if $kind == 13;
	return ('VACUUM of m', "VACUUM (INDEX_CLEANUP on) $p") if $kind == 14;
	return ('summaries of m', "SELECT differ.each('m', 'SELECT bf_desummarize_range(%L, b) FROM generate_series(0, 50) b'), differ.each('m', 'SELECT bf_summarize_new_values(%L)')");
}

# A single statement that must see all the marks.
sub ask_marked
{
	my ($run, $schema, $session) = @_;
	my $m = $schema->{m};
	my $literal = $m->{literal};
	my @ways = ("SELECT count(*) FROM chunk_scan(NULL::m, 'v', $literal)", "SELECT count(*) FROM chunk_scan(NULL::m, 'v', $literal)",
		"SELECT count(*) FROM m WHERE v = $literal", "SELECT count(*) FROM m WHERE v IN ($literal, NULL)", 'SELECT marks()', "SELECT marks_of($literal)",
		'SELECT count(*) FROM m_keys q JOIN m r ON r.v = q.v', 'SELECT count(r.k) FROM m_keys q LEFT JOIN LATERAL (SELECT * FROM m WHERE m.v = q.v OFFSET 0) r ON true',
		"SELECT count(*) FROM m_keys q, LATERAL chunk_scan(NULL::m, 'v', q.v) r");
	push @ways, "SELECT count(*) FROM chunk_scan_any(NULL::m, 'v', ARRAY[$literal])" if $m->{type}{ddl} !~ /\[\]|domain/;
	# Rows that are locked: if they were changed meanwhile, PostgreSQL looks at the new versions. (No mark is deleted.)
	push @ways, ("WITH d AS (SELECT id FROM m WHERE v = $literal FOR " . pick('UPDATE', 'SHARE') . ') SELECT count(*) FROM d',
		"WITH d AS (UPDATE m SET pad = pad WHERE v = $literal RETURNING id) SELECT count(*) FROM d") x 2 if $m->{locks};
	my $way = pick(@ways);
	my $settings = DifferQueries::settings($run) =~ s/SET LOCAL/SET/gr;
	my $sql = DifferRun::message($settings, $way);
	my ($answer, $state, $message) = $session->ask($sql);

	$run->remember($session, $sql);
	$run->count('marks asked for');
	$run->count("marks: $state") if $state ne '00000';
	# The plan takes no lock on m. So ALTER TYPE may change the type of m's rows before chunk_scan() runs.
	my $changed = $way =~ /chunk_scan/ && $message =~ /function return row and query-specified return row do not match|cached plan must not change/;
	if ($state eq '00000' ? $answer ne $m->{marks} : $state !~ /^(?:40001|40P01|55P03)$/ && !$changed)
	{
		$run->fail_with($session, "$state $message: $answer marks instead of $m->{marks}\n$way\n$settings");
	}
}

# --------------------------------------------------------------- parties

# Changes the relations, one change after the other.
sub changer
{
	my ($run, $schema, $session, $go_on) = @_;
	@$run{'tolerated', 'may_be_cancelled'} = ($tolerated, 1);
	while ($go_on->())
	{
		my $relation = pick(@{$schema->{relations}});
		if ($schema->{m} && chance(0.5))
		{
			my ($what, $sql) = change_marked($schema);
			my ($state) = $run->act($session, $what, $sql);
			$session->ask('ROLLBACK') if $state ne '00000';
			next;
		}
		my $kind = rand();
		my ($what, @sql) = $kind < 0.65 ? DifferChanges::keep($relation) : $schema->{calm} ? DifferChanges::rows($relation) : alter($relation);
		if (chance(0.1) && !$schema->{no_concurrently})
		{
			my @index = DifferSchema::create_index($relation, pick(DifferSchema::leaves($relation), $relation->{divided} ? () : $relation->{name}), how => 'CONCURRENTLY');
			($what, @sql) = ('CREATE INDEX CONCURRENTLY that is cancelled', "SET statement_timeout = '" . (1 + int rand 40) . "ms'", $index[0]) if @index;
		}
		foreach my $n (0 .. $#sql)
		{
			my ($state) = $run->act($session, $what, $sql[$n]);
			next if $state eq '00000';
			$relation->{undo}->() if $relation->{undo} && ($n == 0 || $what eq 'ATTACH');
			last;
		}
		# Completes a DETACH CONCURRENTLY that was stopped.
		$session->ask("ALTER TABLE $relation->{name} DETACH PARTITION $_->{name} FINALIZE") foreach $what eq 'DETACH' ? grep { !$_->{attached} } @{$relation->{parts}} : ();
		$session->ask("SET statement_timeout = '120s'");
		delete $relation->{undo};
		sleep(rand 0.02);
	}
}

# Returns a change of the relation that leaves its columns as they are. Each process has a model of the relation of its
# own, and would not learn of other columns.
sub alter
{
	my ($relation) = @_;
	my @columns = @{$relation->{columns}};
	foreach (1 .. 10)
	{
		my $added = $relation->{added};
		my @change = DifferChanges::alter($relation);
		return @change if $change[0] !~ /COLUMN|ALTER TYPE/;
		$relation->{undo}->() if $relation->{undo};
		$relation->{columns} = [@columns];
	}
	return DifferChanges::rows($relation);
}

sub writer
{
	my ($run, $schema, $session, $go_on) = @_;
	$run->{tolerated} = $tolerated;
	# A comparison may end with these errors: a serialization failure or a deadlock, a lock that was not granted in
	# time, a transaction that had failed before.
	$run->{expected} = qr/^(?:40|55P03|25P02)/;
	$run->{before} = 1;
	while ($go_on->())
	{
		my $relation = pick(@{$schema->{relations}});
		my $level = pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
		my $how_many = 1 + int rand 4;
		if (chance(0.3))
		{
			my ($what, @sql) = DifferChanges::rows($relation);
			$run->act($session, $what, $_) foreach @sql;
			next;
		}
		my ($state) = $run->act($session, 'BEGIN', "BEGIN ISOLATION LEVEL $level");
		foreach (1 .. $how_many)
		{
			my ($what, @sql) = DifferChanges::rows($relation);
			my $savepoint = chance(0.4);
			$run->act($session, 'SAVEPOINT', 'SAVEPOINT a') if $savepoint;
			($state) = $run->act($session, $what, join ";\n", @sql);
			if ($savepoint && ($state ne '00000' || chance(0.3)))
			{
				$run->act($session, 'ROLLBACK TO', 'ROLLBACK TO a');
				$state = '00000' if $state !~ /^40/;
			}
			last if $state ne '00000';
			if ($level ne 'READ COMMITTED' && chance(0.4))
			{
				my ($failed, $compared) = $run->compare($session, map { question($run, $schema, $relation) } 1 .. 8);
				last if $compared ne '00000';
			}
			sleep(rand 0.02) if chance(0.3);
		}
		$run->act($session, 'COMMIT', pick('COMMIT', 'COMMIT', 'ROLLBACK'));
		sleep(rand 0.01);
	}
}

sub question
{
	my ($run, $schema, $relation, %option) = @_;
	return DifferQueries::question($run, $relation, %option);
}

# The party that reads. It begins transactions with one snapshot, in which it asks each question with indexes and
# without; or it asks about the marks in single statements.
sub reader
{
	my ($run, $schema, $session, $go_on) = @_;
	my @kept;

	$run->{expected} = qr/^(?:40|55P03|25P02)/;
	foreach my $relation (@{$schema->{relations}})
	{
		foreach my $n (1 .. 3)
		{
			my ($make, $question) = DifferQueries::kept($run, $relation, "kept_$relation->{name}_$n");
			next if $make !~ /^PREPARE/;
			my ($state) = $run->act($session, 'make what is kept', $make);
			push @kept, $question if $state eq '00000';
		}
	}
	while ($go_on->())
	{
		if ($schema->{m} && chance(0.5))
		{
			ask_marked($run, $schema, $session) foreach 1 .. 8;
			next;
		}
		# {before}: a question is asked without an index before and after it is asked with one. So a row that ATTACH or
		# DETACH makes visible or invisible in the middle of a transaction is not taken for a lost row. (In a calm
		# schema no other session attaches or detaches partitions.)
		$run->{before} = !$schema->{calm} || chance(0.3);
		my $level = $session->{standby} ? 'REPEATABLE READ' : pick('REPEATABLE READ', 'SERIALIZABLE', 'SERIALIZABLE READ ONLY');
		$run->act($session, 'BEGIN', "BEGIN ISOLATION LEVEL $level;\nSELECT 1");
		sleep(rand 0.3) if chance(0.3);
		foreach (1 .. 1 + int rand 3)
		{
			my @questions = map { @kept && chance(0.2) ? pick(@kept)->() : question($run, $schema, pick(@{$schema->{relations}}), read_only => $level ne 'SERIALIZABLE') } 1 .. 20;
			my ($failed, $state) = $run->compare($session, @questions);
			last if $state ne '00000';
			sleep(rand 0.2) if chance(0.2);
		}
		$run->act($session, 'COMMIT', 'COMMIT');
	}
}

1;
