# Readers.pm: the parties (processes) of NotOneRow.pm that read. In one REPEATABLE READ or SERIALIZABLE transaction each
# query is answered without the indexes, with them, and without them again. If the first and the last answer agree, and
# the second one is different, a lost row is reported.
package NotOneRow::Readers;

use strict;
use warnings;

use Time::HiRes qw(sleep);

my $answer = "coalesce(string_agg(tableoid::regclass || ':' || id || '/' || ctid, ' ' ORDER BY tableoid, id, ctid), '-')";

# ---------------------------------------------------------------- questions

# Returns rows of the window (the ids that all parties prefer at the moment), or rows on some random pages, as hashes.
# So questions about these rows ask for values that are there, or were a moment ago. Returns undef if DDL of others was
# in the way; then the transaction is rolled back.
sub sample
{
	my ($run, $session, $table) = @_;
	my ($low, $length) = NotOneRow::window($run);
	my $tids = join ', ', map { "'(" . int(rand 150) . ',' . (1 + int rand 30) . ")'" } 1 .. 20;
	my $condition = rand() < 0.5 ? 'id BETWEEN ' . $low . ' AND ' . ($low + $length) . ' ORDER BY random() LIMIT 60' : "ctid = ANY (ARRAY[$tids]::tid[]) LIMIT 12";
	my ($found, $state) = NotOneRow::ask($run, $session, 'sample', "SELECT a, b, c FROM $table WHERE $condition");

	return undef if $state ne '00000';
	return [map { my %row; @row{'a', 'b', 'c'} = split /\|/, $_, -1; \%row } split /\n/, $found];
}

# Questions about these rows. Each is (condition, EXECUTE of a prepared statement that asks the same, or undef). A
# third element replaces both: two whole queries, one to ask with an index and one without.
sub questions
{
	my ($run, $table, @rows) = @_;
	my @questions;
	my @values = map { $_->{a} ne '' ? $_->{a} : () } @rows;

	foreach my $row (@rows[0 .. ($#rows < 8 ? $#rows : 8)])
	{
		my ($a, $b, $c) = @$row{'a', 'b', 'c'};
		# Without the cast, a small number is an integer for the parser. Then the condition needs the operator between
		# bigint and integer, which the bloom operator classes of BRIN do not have.
		$a .= '::bigint' if $a ne '' && ($run->{method} eq 'brin' || rand() < 0.5);
		my $kind = rand();
		if ($a eq '') { push @questions, ['a IS NULL', "EXECUTE ${table}_null"]; }
		elsif ($kind < 0.35) { push @questions, ["a = $a", "EXECUTE ${table}_eq($a)"]; }
		elsif ($kind < 0.5) { push @questions, ["a = $a AND b = '$b'", "EXECUTE ${table}_and($a, '$b')"]; }
		elsif ($kind < 0.6) { push @questions, ["a = $a OR b = '$b'", undef]; }
		elsif ($kind < 0.7) { push @questions, ["a IN (SELECT $a)", undef]; }
		elsif ($kind < 0.8) { push @questions, ["b = '$b'", undef]; }
		elsif ($c ne '' && $kind < 0.85) { push @questions, ["dawdle(c) = $c", undef]; }
		elsif ($c ne '' && $kind < 0.9) { push @questions, ["$NotOneRow::keys @> ARRAY[$c / 7, $c % 11]", undef]; }
		elsif ($c ne '' && $kind < 0.93) { push @questions, ["$NotOneRow::keys && ARRAY[$c, -1]", undef]; }
		elsif ($c ne '') { push @questions, ['c % 997 = ' . ($c % 997) . ' AND c IS NOT NULL', undef]; }
		else { push @questions, ["a = $a AND c IS NULL", undef]; }
	}
	if (@values)
	{
		my $list = join ', ', @values, 'NULL', -1;
		push @questions, ["a = ANY (ARRAY[$list]::bigint[])", "EXECUTE ${table}_any(ARRAY[$list]::bigint[])"];
	}
	if ($table eq 'p' && $run->{skipping} && @values)
	{
		my ($one, $list) = ($values[rand @values], join ', ', @values, 'NULL', -1);
		my $ids = "coalesce(string_agg(id::text, ' ' ORDER BY id), '-')";
		push @questions, ["a = $one", undef, ["SELECT $ids FROM chunk_scan(NULL::p, 'a', ${one}::bigint)", "SELECT $ids FROM p WHERE a = $one"]],
			["a IN ($list)", undef, ["SELECT $ids FROM chunk_scan_any(NULL::p, 'a', ARRAY[$list]::bigint[])", "SELECT $ids FROM p WHERE a IN ($list)"]];
	}
	push @questions, ["a = " . int(rand 3000) . '::bigint', undef], ['a = -1::bigint', undef];
	return @questions;
}

sub prepare_questions
{
	my ($session) = @_;
	foreach my $table ('t', 'p')
	{
		$session->sql(<<"SQL");
PREPARE ${table}_eq(bigint) AS SELECT $answer FROM $table WHERE a = \$1;
PREPARE ${table}_any(bigint[]) AS SELECT $answer FROM $table WHERE a = ANY (\$1);
PREPARE ${table}_and(bigint, text) AS SELECT $answer FROM $table WHERE a = \$1 AND b = \$2;
PREPARE ${table}_null AS SELECT $answer FROM $table WHERE a IS NULL;
-- Looks up some of the existing values by the index, in a nested loop. Returns how many of these values have lost a
-- row.
PREPARE ${table}_sweep(int) AS SELECT count(*) FROM (SELECT a, count(*) AS n FROM $table WHERE a % 10 = \$1 GROUP BY a LIMIT 300) d
	WHERE n <> (SELECT count(*) FROM $table i WHERE i.a = d.a);
SQL
	}
	$session->sql('SET plan_cache_mode = force_generic_plan');
}

# --------------------------------------------------------------- comparing

# Turns Skip and PartitionScan on or off.
sub nodes
{
	my ($run, $skip, $partition_scan) = @_;
	return $run->{skipping} ? " SET LOCAL streambloom.enable_skip = $skip; SET LOCAL streambloom.enable_partition_scan = $partition_scan;" : '';
}

sub pick_node { return rand() < 0.5 ? 'on' : 'off' }

# Returns the settings with which queries use the indexes. In some, sequential scans are allowed too; then the indexes
# may decide only which partitions are read.
sub index_on
{
	my ($run, $table) = @_;
	return 'SET LOCAL enable_bitmapscan = on; SET LOCAL enable_seqscan = ' . (rand() < ($table eq 'p' ? 0.6 : 0.95) ? 'off' : 'on') . ';' .
		nodes($run, 'on', pick_node()) . "\n";
}

sub index_off
{
	my ($run) = @_;
	return 'SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = on;' . nodes($run, 'off', 'off') . "\n";
}

# Asks the questions in the open transaction, after the SQL in $before. The answers with the index come between two
# answers without it, and are compared if these two agree. A row that ATTACH makes visible in the middle of a
# transaction, or that is gone without the index too, is not a lost row.
sub compare
{
	my ($run, $session, $table, $how, $before, @questions) = @_;
	my @with = map { $_->[2] ? $_->[2][0] : defined $_->[1] && rand() < 0.5 ? $_->[1] : "SELECT $answer FROM $table WHERE $_->[0]" } @questions;
	my @without = map { $_->[2] ? $_->[2][1] : "SELECT $answer FROM $table WHERE $_->[0]" } @questions;
	my $sql = join ";\n", $before . index_off($run) . join(";\n", @without), index_on($run, $table) . join(";\n", @with),
		index_off($run) . join(";\n", @without);
	my ($found, $state) = NotOneRow::ask($run, $session, "read: $how", $sql);
	my @answers = split /\n/, $found;
	my $n = @questions;

	return 0 if $state ne '00000';
	@answers == 3 * $n or return NotOneRow::trouble($run, @answers . " answers to $n questions:\n$sql\n$found");
	foreach my $i (0 .. $n - 1)
	{
		my ($off, $on, $off_again) = @answers[$i, $n + $i, 2 * $n + $i];
		$run->{counts}{'comparisons'}++;
		$run->{counts}{'comparisons with rows'}++ if $off ne '-';
		$run->{counts}{'comparisons left out'}++ if $off ne $off_again;
		$run->{counts}{'answers of sequential scans that changed under a snapshot'}++ if $off ne $off_again && $table eq 't';
		next if $off ne $off_again || $on eq $off;
		if ($table eq 'p' && $with[$i] =~ /^EXECUTE/ && only_of_the_detached($run, $session, $on, $off))
		{
			$run->{counts}{'comparisons left out'}++;
			next;
		}
		NotOneRow::difference($run, "$how\n$with[$i]\nwith an index:    $on\nwithout an index: $off");
		describe($run, $session, $table);
		describe_rows($run, $session, $table, $with[$i], $on, $off);
	}
	return 1;
}

# Does the answer with the indexes have all rows of the other one, and beside them only rows of a detached partition?
# This happens while DETACH CONCURRENTLY waits for older transactions: a generic plan that was made before still reads
# the partition, even in a transaction that sees it detached.
sub only_of_the_detached
{
	my ($run, $session, $with, $without) = @_;
	my ($attached) = $session->ask("SELECT string_agg(relid::regclass::text, ' ') FROM pg_partition_tree('p')");
	my %attached = map { $_ => 1 } split / /, $attached;
	my %with = map { $_ => 1 } grep { $_ ne '-' } split / /, $with;

	foreach (grep { $_ ne '-' } split / /, $without)
	{
		return 0 if !delete $with{$_};
	}
	return !grep { my ($partition) = split /:/; $attached{$partition} } keys %with;
}

# Notes the state of the snapshot and of the indexes when a row is lost.
sub describe
{
	my ($run, $session, $table) = @_;
	my ($found) = $session->ask("SELECT 'snapshot ' || pg_current_snapshot(), 'isolation ' || current_setting('transaction_isolation');\n" .
		"SELECT indexrelid::regclass, indisvalid, indcheckxmin, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN (SELECT relid FROM " . NotOneRow::tables($table) . ' t)');
	NotOneRow::note_down($run, 'differences', $found);
}

# Notes the plan that has lost rows, its answer now, and which transactions wrote the rows. The transaction is still
# open.
sub describe_rows
{
	my ($run, $session, $table, $query, $on, $off) = @_;
	my %with = map { $_ => 1 } split / /, $on;
	my @lost = grep { !$with{$_} } split / /, $off;
	my $places = join ' OR ', map { m{^(\S+):\d+/(\(\d+,\d+\))$} ? "tableoid = '$1'::regclass AND ctid = '$2'" : () } @lost[0 .. ($#lost < 4 ? $#lost : 4)];
	my ($plan) = $session->ask(index_on($run, $table) . "EXPLAIN (COSTS OFF) $query");
	my ($again) = $session->ask("$query");
	my ($rows) = $places ? $session->ask(index_off($run) . "SELECT tableoid::regclass, ctid, xmin, xmax, a, b, c FROM $table WHERE $places") : '';

	NotOneRow::note_down($run, 'differences', join "\n", "lost: @lost", $plan // '', 'again: ' . ($again // ''), $rows // '');
}

# Returns false if DDL of others was in the way; then the transaction is rolled back.
sub sweep
{
	my ($run, $session, $table, $before) = @_;
	my ($found, $state) = NotOneRow::ask($run, $session, 'sweep', $before . index_on($run, $table) . "EXECUTE ${table}_sweep(" . int(rand 10) . ")");
	return 0 if $state ne '00000';
	$found =~ /(\d+)$/ or return NotOneRow::trouble($run, "the sweep answered $found");
	return 1 if $1 == 0;
	my $count = $1;
	my ($which) = $session->ask("SELECT a, n, (SELECT count(*) FROM $table i WHERE i.a = d.a), tids, xmins, xmaxs FROM (SELECT a, count(*) AS n, array_agg(ctid) AS tids, " .
		"array_agg(xmin) AS xmins, array_agg(xmax) AS xmaxs FROM $table GROUP BY a HAVING a IS NOT NULL) d WHERE n <> (SELECT count(*) FROM $table i WHERE i.a = d.a) LIMIT 20");
	NotOneRow::difference($run, "$count values of $table have lost a row in a sweep:\n$which");
	describe($run, $session, $table);
}

# Counts whether the plan uses an index at all.
sub look_at_plan
{
	my ($run, $session, $table) = @_;
	my ($plan, $state) = NotOneRow::ask($run, $session, 'look at a plan', nodes($run, 'on', 'off') . ' SET LOCAL enable_bitmapscan = on; SET LOCAL enable_seqscan = off; ' .
		"EXPLAIN (COSTS OFF) SELECT * FROM $table WHERE a = 1::bigint");
	$run->{counts}{'plans with an index'}++ if $state eq '00000' && $plan =~ /Bitmap Index Scan on/;
	$run->{counts}{'plans with Skip'}++ if $state eq '00000' && $plan =~ /Skip/;
}

sub begin
{
	my ($run) = @_;
	# A standby has no SERIALIZABLE transactions.
	return 'BEGIN ISOLATION LEVEL ' . (rand() < 0.25 && !$run->{reader_port} ? 'SERIALIZABLE' : 'REPEATABLE READ') . (rand() < 0.2 ? ' READ ONLY' : '') . ";\n";
}

sub set_up
{
	my ($run) = @_;
	my $session = NotOneRow::open_session($run, port => $run->{reader_port}, patience => '60s');
	if ($run->{method} eq 'bf')
	{
		# The library must be loaded when the plan is made, or no partitions are skipped.
		$session->sql("LOAD 'streambloom'");
		$run->{skipping} = $session->sql("SELECT name FROM pg_settings WHERE name = 'streambloom.enable_skip'");
	}
	prepare_questions($session);
	$session->sql("SET lock_timeout = '4s'");
	return $session;
}

# ---------------------------------------------------------------- the parties

# Takes a snapshot and asks at once, sometimes with parallel workers.
sub read_once
{
	my ($run) = @_;
	my $session = set_up($run);

	while (NotOneRow::go_on($run, 10))
	{
		my $table = rand() < 0.6 ? 't' : 'p';
		my $rows = sample($run, $session, $table) or next;
		my $parallel = rand() < 0.1;
		my $settings = $parallel
			? "SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0;\n"
			: '';
		compare($run, $session, $table, $parallel ? 'with workers' : 'at once', begin($run) . $settings, questions($run, $table, @$rows));
		look_at_plan($run, $session, $table) if rand() < 0.4;
		sweep($run, $session, $table, '') if rand() < 0.03;
		$session->ask('COMMIT');
		sweep($run, $session, $table, '') if rand() < 0.03;
	}
	$session->close;
}

# Takes a snapshot, lets the others work, and then asks about rows that were there before, and that others may have
# changed or deleted since. Sometimes it asks by cursors that were opened before.
sub read_late
{
	my ($run) = @_;
	my $session = set_up($run);
	my $other = set_up($run);

	while (NotOneRow::go_on($run, 10))
	{
		my $table = rand() < 0.7 ? 't' : 'p';
		# If the snapshot is taken without a lock on the table, DDL is possible.
		my $locked = rand() < 0.6;
		my $with_cursor = $locked && rand() < 0.5;
		my $cursors = '';
		$session->ask(begin($run) . 'SELECT 1');
		my $rows = sample($run, $locked ? $session : $other, $table);
		if (!$rows)
		{
			$session->ask('ROLLBACK');
			next;
		}
		my @questions = questions($run, $table, @$rows);
		if ($with_cursor)
		{
			$cursors = index_on($run, $table) . join '', map { "DECLARE c$_ CURSOR FOR SELECT $answer FROM $table WHERE $questions[$_][0];\n" } 0 .. $#questions;
			my (undef, $state) = NotOneRow::ask($run, $session, 'open cursors', $cursors);
			next if $state ne '00000';
		}
		sleep(rand() < 0.2 ? rand 3 : rand 0.8);
		my ($found, $state) = $with_cursor ? NotOneRow::ask($run, $session, 'fetch', join ";\n", map { "FETCH ALL FROM c$_" } 0 .. $#questions) : ('', '00000');
		if ($state ne '00000' || !compare($run, $session, $table, 'late', '', @questions))
		{
			$session->ask('ROLLBACK');
			next;
		}
		if ($with_cursor)
		{
			my ($again, $state) = $session->ask(index_off($run) . join ";\n", map { "SELECT $answer FROM $table WHERE $questions[$_][0]" } 0 .. $#questions);
			$run->{counts}{'answers of cursors'} += @questions;
			NotOneRow::difference($run, "cursors\n$cursors\nwith an index:\n$found\nwithout an index:\n$again")
				if $state eq '00000' && $table eq 't' && $found ne $again;
		}
		next if rand() < 0.2 && !sweep($run, $session, $table, '');
		exported($run, $session, $other, $table, @questions) if $run->{exports} && rand() < 0.2;
		$session->ask('COMMIT');
	}
	$_->close foreach $session, $other;
}

# Asks with the same snapshot in another session, which remembers nothing of this one.
sub exported
{
	my ($run, $session, $other, $table, @questions) = @_;
	my ($snapshot, $state) = $session->ask('SELECT pg_export_snapshot()');

	return if $state ne '00000' || $snapshot !~ /^[0-9A-F-]+$/;
	compare($run, $other, $table, 'exported snapshot', "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSET TRANSACTION SNAPSHOT '$snapshot';\n", @questions);
	$other->ask('COMMIT');
}

1;
