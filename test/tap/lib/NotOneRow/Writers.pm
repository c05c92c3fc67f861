# Writers.pm: the parties (processes of the test) of NotOneRow.pm that write. They insert, copy, update, delete and
# merge rows, in transactions that commit, fail, roll back or are prepared, and in statements that pause between rows.
package NotOneRow::Writers;

use strict;
use warnings;

use Time::HiRes qw(sleep);

my $fresh = 0;

# A value of the indexed bigint column: NULL, or one of few values that many rows share, or one that no other row has.
sub value
{
	my $kind = rand();
	return 'NULL' if $kind < 0.04;
	return int rand 3000 if $kind < 0.5;
	return 1000000 + $$ * 1000000 + $fresh++;
}

sub words { return "'b" . int(rand 1500) . "'"; }
sub number { return rand() < 0.1 ? 'NULL' : int rand 100000; }
sub pad { return "repeat('y', " . (20 + int rand 250) . ')'; }

# A row to write, as SQL: id, k, a, b, c, pad.
sub row
{
	my ($id) = @_;
	return "$id, " . int(rand 4) . ', ' . join ', ', value(), words(), number(), pad();
}

sub new_row { return row("nextval('ids')"); }
sub rows { return join ', ', map { '(' . new_row() . ')' } 1 .. $_[0]; }

# Ids of the window that all parties prefer.
sub some_ids
{
	my ($run, $most) = @_;
	my ($low, $length) = NotOneRow::window($run);
	return join ', ', map { $low + int rand $length } 0 .. int rand $most;
}

sub insert { return "INSERT INTO $_[1] VALUES " . rows(1); }
sub insert_many { return "INSERT INTO $_[1] VALUES " . rows(2 + int rand 40); }

my $files = 0;

sub copy
{
	my ($run, $table) = @_;
	my $lines = '';
	my $first = 1000000 + $$ * 10000 + $fresh;
	foreach my $line (0 .. int rand 60)
	{
		my ($a, $b, $c) = (value(), 'b' . int rand 1500, number());
		$lines .= join("\t", $first * 100 + $line, int rand 4, map { $_ eq 'NULL' ? '\N' : $_ } $a, $b, $c, 'z' x rand 200) . "\n";
	}
	$fresh++;
	# Not from standard input: if COPY fails, psql takes its data for statements.
	my $file = "$run->{folder}/copy.$$." . $files++ % 8;
	StreambloomTap::write_file($file, $lines);
	return "\\copy $table from '$file'\n";
}

# No index has the column pad, so its update may be HOT. In version 15 an update of an indexed column is never HOT. From
# 16 on it may be, because bf is a summarizing access method.
sub hot_update { return "UPDATE $_[1] SET pad = " . pad() . ' WHERE id IN (' . some_ids($_[0], 6) . ')'; }
sub update { return "UPDATE $_[1] SET a = " . value() . ' WHERE id IN (' . some_ids($_[0], 6) . ')'; }
sub update_all { return "UPDATE $_[1] SET a = " . value() . ', b = ' . words() . ', c = ' . number() . ' WHERE id IN (' . some_ids($_[0], 6) . ')'; }
sub update_key { return "UPDATE $_[1] SET id = nextval('ids'), k = " . int(rand 4) . ' WHERE id IN (' . some_ids($_[0], 3) . ')'; }
sub update_by_value { return "UPDATE $_[1] SET a = " . value() . ' WHERE a = ' . int rand 3000; }
sub take_away { return "DELETE FROM $_[1] WHERE id IN (" . some_ids($_[0], 8) . ')'; }
sub take_away_by_value { return "DELETE FROM $_[1] WHERE a = " . int rand 3000; }

sub conflict_key { return $_[0] eq 't' ? '(id)' : '(id, k)'; }
sub on_conflict_update
{
	my ($run, $table) = @_;
	return "INSERT INTO $table VALUES (" . row(some_ids($run, 1)) . ') ON CONFLICT ' . conflict_key($table) . ' DO UPDATE SET a = excluded.a, b = excluded.b';
}
sub on_conflict_nothing
{
	my ($run, $table) = @_;
	return "INSERT INTO $table VALUES (" . row(some_ids($run, 1)) . ') ON CONFLICT DO NOTHING';
}

sub merge
{
	my ($run, $table) = @_;
	my $source = join ', ', map { "($_, " . (2 + int rand 3000) . ')' } split /, /, some_ids($run, 6);
	return "MERGE INTO $table USING (SELECT DISTINCT ON (id) * FROM (VALUES $source) v (id, a)) s ON $table.id = s.id " .
		'WHEN MATCHED AND s.a % 7 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET a = s.a ' .
		"WHEN NOT MATCHED THEN INSERT VALUES (s.id, " . int(rand 4) . ", s.a, 'b' || s.a % 1500, s.a::int, 'merged')";
}

# Single statements. The transactions below are made of them, too.
my @simple = (\&insert, \&insert, \&insert_many, \&copy, \&copy, \&hot_update, \&hot_update, \&update, \&update, \&update, \&update_all,
	\&update_key, \&update_by_value, \&take_away, \&take_away_by_value, \&on_conflict_update, \&on_conflict_update, \&on_conflict_nothing,
	\&merge, \&merge);

sub simple { return $simple[rand @simple]->(@_); }

sub subtransaction
{
	my $sql = "BEGIN;\n" . simple(@_) . ";\nSAVEPOINT one;\n" . simple(@_) . ";\nSAVEPOINT two;\n" . simple(@_) . ";\n";
	return $sql . (rand() < 0.7 ? 'ROLLBACK TO ' : 'RELEASE ') . (rand() < 0.5 ? 'one' : 'two') . ";\n" . simple(@_) . ";\nCOMMIT";
}

sub caught { return "DO \$\$ BEGIN " . insert_many(@_) . '; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN ' . insert(@_) . '; END $$'; }
sub aborted { return "BEGIN;\n" . simple(@_) . ";\n" . simple(@_) . ";\nROLLBACK"; }
sub long { return "BEGIN;\n" . simple(@_) . ";\nSELECT pg_sleep(" . rand(0.3) . ");\n" . simple(@_) . ";\nCOMMIT"; }

my $prepared = 0;

sub prepare_transaction
{
	my ($run, $table) = @_;
	my $name = "'$$-" . $prepared++ . "'";
	return "BEGIN;\n" . simple(@_) . ";\n" . simple(@_) . ";\nPREPARE TRANSACTION $name;\nSELECT pg_sleep(" . rand(0.3) . ");\n" .
		(rand() < 0.7 ? 'COMMIT' : 'ROLLBACK') . " PREPARED $name";
}

# A statement calls a function that looks into the table which the statement writes. In REPEATABLE READ all queries of
# the function have one snapshot, and also see what the statement itself has written so far.
sub peeking
{
	my ($run, $table) = @_;
	my $value = value();
	$value = 1 if $value eq 'NULL';
	return "BEGIN ISOLATION LEVEL REPEATABLE READ;\nINSERT INTO $table SELECT nextval('ids'), i % 4, CASE WHEN i % 2 = 0 THEN $value ELSE i END, 'b' || i, " .
		"peek('$table', $value)::int, 'peeked' FROM generate_series(1, " . (3 + int rand 10) . ") i;\n" .
		"UPDATE $table SET c = peek('$table', $value)::int, a = $value + 1 WHERE a = $value;\nCOMMIT";
}

# The queries of a transaction see what it has done before.
sub own_rows
{
	my ($run, $table) = @_;
	return "BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . simple(@_) . ";\n" . simple(@_) . ";\nSELECT peek('$table', a) FROM (SELECT a FROM $table WHERE a IS NOT NULL AND id IN (" .
		some_ids($run, 5) . ")) o;\nROLLBACK";
}

my %kinds = (
	simple => [60, \&simple], subtransaction => [10, \&subtransaction], caught => [4, \&caught], aborted => [5, \&aborted], long => [4, \&long],
	'prepared transaction' => [4, \&prepare_transaction], peeking => [4, \&peeking], 'own rows' => [4, \&own_rows]);
my @kinds = map { my $kind = $_; map { $kind } 1 .. $kinds{$kind}[0] } sort keys %kinds;

sub work
{
	my ($run) = @_;
	my $session = NotOneRow::open_session($run, dawdle => 0.03);

	while (NotOneRow::go_on($run, 40))
	{
		my $kind = $kinds[rand @kinds];
		my $table = rand() < 0.6 ? 't' : 'p';
		my ($answer, $state) = NotOneRow::ask($run, $session, "write: $kind", $kinds{$kind}[1]->($run, $table));
		# If COMMIT or ROLLBACK PREPARED failed, the prepared transaction is still there.
		if ($state ne '00000' && $kind eq 'prepared transaction')
		{
			$session->ask("ROLLBACK PREPARED '$$-" . ($prepared - 1) . "'");
		}
		sleep(rand 0.02);
	}
	$session->close;
}

# A statement that pauses between rows, so that ranges change their state while it runs.
sub work_slowly
{
	my ($run) = @_;
	my $session = NotOneRow::open_session($run, dawdle => 0.03);

	while (NotOneRow::go_on($run, 10))
	{
		my $table = rand() < 0.7 ? 't' : 'p';
		my $pause = 0.001 + rand 0.02;
		my $how_many = 5 + int rand 40;
		my $base = 1000000 + $$ * 1000000 + ($fresh += 100);
		my $sql = rand() < 0.6
			? "INSERT INTO $table SELECT nextval('ids'), i % 4, CASE WHEN pg_sleep($pause) IS NOT NULL THEN $base + i END, 'b' || i, i, repeat('s', i) FROM generate_series(1, $how_many) i"
			: "UPDATE $table SET a = CASE WHEN pg_sleep($pause) IS NOT NULL THEN $base + id % 50 END WHERE id IN (" . some_ids($run, 20) . ')';
		NotOneRow::ask($run, $session, 'write: slowly', $sql);
	}
	$session->close;
}

1;
