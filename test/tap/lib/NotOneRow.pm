# NotOneRow.pm: writers, summarizers, readers and DDL work at once, at random, on a plain table and on a partitioned
# one. Each answer of a reader is compared with the answer to the same query, in the same snapshot, without the
# indexes.
#
#   my $report = NotOneRow::run(database => 'name', method => 'bf', seconds => 20, seed => 1);
#   $report->{differences}   what was lost, as text; must be empty
#   $report->{troubles}      errors that nobody expected; must be empty
#   $report->{counts}        how often each thing was done, so that a test can show that it was done at all
#
# With reader_port, the readers ask a standby; before_readers() waits for it first. With exports => 0 they export no
# snapshots. only => qr/.../ chooses parties. The relations are small and their ranges smaller, so that the parties
# meet. All prefer the ids of a window, which moves on every second or so. With method => 'brin' the same runs on
# BRIN's bloom operator classes. Each party is a process with sessions of its own (NotOneRow/Writers.pm, Readers.pm,
# Keepers.pm). The seed sets the random numbers of each party, but not how the parties interleave, nor what they find.
package NotOneRow;

use strict;
use warnings;

use POSIX qw(_exit);
use Time::HiRes qw(time sleep);
use NotOneRow::Keepers;
use NotOneRow::Readers;
use NotOneRow::Writers;
use PsqlSession;
use StreambloomTap;

# For each method: how its indexes are written, and the names of its functions.
my %methods = (
	bf => {
		columns => sub { return join ', ', @_ },
		options => sub { return sprintf 'pages_per_range = %d, false_positive_rate = 0.001', @_ },
		summarize_new => 'bf_summarize_new_values',
		summarize => 'bf_summarize_range',
		desummarize => 'bf_desummarize_range',
		check => 'bf_index_check',
		has_levels => 1,
	},
	brin => {
		columns => sub
		{
			my %class = (a => 'int8_bloom_ops', b => 'text_bloom_ops', '(c % 997)' => 'int4_bloom_ops', '(dawdle(c))' => 'int4_bloom_ops');
			return join ', ', map { "$_ $class{$_} (n_distinct_per_range = 100, false_positive_rate = 0.001)" } grep { $class{$_} } @_;
		},
		options => sub { return sprintf 'pages_per_range = %d', @_ },
		summarize_new => 'brin_summarize_new_values',
		summarize => 'brin_summarize_range',
		desummarize => 'brin_desummarize_range',
	});

sub method { return $methods{$_[0]}; }

# Keys inside values: a column whose rows have several items each.
our $keys = 'ARRAY[c, c / 7, c % 997, c % 11]';

# The indexes that each relation has, most of the time: name => columns and condition.
my %indexes = (
	a => [['a'], ''],
	ab => [['b', 'a', '(dawdle(c))', "($keys)"], ''],
	c => [['(c % 997)'], 'WHERE c IS NOT NULL']);

sub index_names { return sort keys %indexes; }

# The statement that makes one of these indexes; $how is '' or 'CONCURRENTLY'.
sub create_index
{
	my ($run, $table, $name, $how) = @_;
	my ($columns, $condition) = @{$indexes{$name}};
	my $method = method($run->{method});

	return "CREATE INDEX $how ${table}_$name ON $table USING $run->{method} (" . $method->{columns}->(@$columns) . ') WITH (' .
		$method->{options}->(1 + int rand 4) . ") $condition";
}

# The table and its partitions. (pg_partition_tree() returns no rows for a plain table.)
sub tables
{
	my ($table) = @_;
	return "(SELECT '$table'::regclass AS relid UNION SELECT relid FROM pg_partition_tree('$table'))";
}

# A query for the indexes of this method on a table and its partitions. Its rows are an index and its table.
sub index_query
{
	my ($run, $table) = @_;
	return "SELECT i.indexrelid::regclass || ' ' || i.indrelid::regclass FROM " . tables($table) . ' t ' .
		'JOIN pg_index i ON i.indrelid = t.relid JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam ' .
		"WHERE am.amname = '$run->{method}' AND c.relkind = 'i' AND i.indisready AND i.indislive ORDER BY 1";
}

sub make_relations
{
	my ($run) = @_;
	my $db = PsqlSession->new($run->{database});
	my $columns = 'id bigint, k int, a bigint, b text, c int, pad text';
	# A page holds about 30 rows.
	my $rows = 'SELECT nextval(\'ids\'), i % 4, CASE WHEN i % 29 > 0 THEN i * 7919 % 3000 END, \'b\' || i * 31 % 1500, ' .
		'i * 17 % 100000, repeat(\'x\', 50 + i * 13 % 200) FROM generate_series(1, 4000) i';

	$db->sql(<<"SQL");
CREATE SEQUENCE ids;
CREATE TABLE t ($columns, PRIMARY KEY (id)) WITH (fillfactor = 80, autovacuum_enabled = off, parallel_workers = 2);
CREATE TABLE p ($columns, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
SELECT format('CREATE TABLE p_%s PARTITION OF p FOR VALUES IN (%1\$s) WITH (fillfactor = 80, autovacuum_enabled = off, parallel_workers = 2)', k)
FROM generate_series(0, 3) k \\gexec
INSERT INTO t $rows;
INSERT INTO p $rows;
-- An index on this function is slow. The function delays a summarizer after it has marked a range (as a placeholder)
-- and before it sets the bits of the range. It delays a writer between its row and the index entry. Without the delays
-- it would take hours until another party gets in between.
CREATE FUNCTION dawdle(v int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS \$\$
BEGIN
	IF random() < coalesce(current_setting('not_one_row.dawdle', true)::float8, 0) THEN
		PERFORM pg_sleep(random() * 0.02);
	END IF;
	RETURN v;
END
\$\$;
-- peek() counts the rows with a value in the middle of the statement that calls it, with an index and without. If the
-- counts differ, they are put into the table peeks.
CREATE TABLE peeks (relation regclass, value bigint, with_index bigint, without bigint);
CREATE FUNCTION peek(relation regclass, value bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS \$\$
DECLARE
	with_index bigint;
	without bigint;
	again bigint;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE format('SELECT count(*) FROM %s WHERE a = %s', relation, value) INTO with_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT count(*) FROM %s WHERE a = %s', relation, value) INTO without;
	IF with_index <> without THEN
		INSERT INTO peeks VALUES (relation, value, with_index, without);
	END IF;
	RETURN with_index;
END
\$\$;
SQL
	foreach my $table ('t', 'p')
	{
		$db->sql(create_index($run, $table, $_, '')) foreach index_names();
	}
	$db->close;
}

# ------------------------------------------------------------ what a party uses

sub open_session
{
	my ($run, %option) = @_;
	my ($patience, $dawdle) = ($option{patience} // '4s', $option{dawdle} // 0);
	my $session = PsqlSession->new($run->{database}, port => $option{port});
	# The planner takes an index whenever it can, and nothing waits for ever.
	$session->sql("SET enable_seqscan = off; SET enable_indexscan = off; SET lock_timeout = '$patience'; SET not_one_row.dawdle = $dawdle; SET statement_timeout = '300s'; " .
		'SET max_parallel_workers_per_gather = 0; SET jit = off');
	return $session;
}

# Errors that any party may get because other parties run at once: SQLSTATE and message. (The arbiter index list is a
# problem of PostgreSQL itself: ON CONFLICT into a partition whose primary key is just being rebuilt CONCURRENTLY.)
my %expected = (
	'40001' => qr/./, '40P01' => qr/./, '55P03' => qr/./, '23505' => qr/./,
	'23514' => qr/no partition of relation/,
	'42P01' => qr/./, '42704' => qr/./, '42P07' => qr/already exists/,
	'55000' => qr/pending detach|cannot detach partition|incomplete detach|not valid|is not a partition|is not ready/,
	'XX000' => qr/could not open relation with OID|invalid arbiter index list|tuple concurrently (?:updated|deleted)|cache lookup failed for (?:index|relation)/);

# Asks a question, counts it, and keeps unexpected errors.
sub ask
{
	my ($run, $session, $what, $sql) = @_;
	my ($answer, $state, $message) = $session->ask($sql);

	$run->{counts}{$what}++;
	if ($state ne '00000')
	{
		$run->{counts}{"$what: $state"}++;
		trouble($run, "$what: $state $message\n$sql")
			if !($expected{$state} && $message =~ $expected{$state}) && !($state eq '57014' && $what =~ /be stopped/);
		$session->ask('ROLLBACK');
	}
	return ($answer, $state);
}

sub note_down
{
	my ($run, $file, $text) = @_;
	open(my $out, '>>', "$run->{folder}/$file") or _exit(1);
	syswrite $out, "--- $run->{party}, seed $run->{seed}, " . sprintf('%.1f s', time() - $run->{began}) . "\n$text\n";
	CORE::close($out);
}

sub trouble { note_down($_[0], 'troubles', $_[1]); }
sub difference { note_down($_[0], 'differences', $_[1]); }

# On a slow machine a party goes on after the deadline, until it has done a minimum number of rounds.
sub go_on
{
	my ($run, $least) = @_;
	my $done = $run->{rounds}++;
	return (time() < $run->{deadline} || $done < $least) && !-s "$run->{folder}/differences" && !-s "$run->{folder}/troubles" && getppid() == $run->{parent};
}

# The ids that all parties prefer at this moment: a window within all ids.
sub window
{
	my ($run) = @_;
	my $tick = int(($run->{seed} * 7 + time() - $run->{began}) / 1.5);
	my $low = ($tick * 2654435761 % 4294967296) / 4294967296 * 4000;
	return rand() < 0.8 ? (int $low, 150) : (0, 6000);
}

# ------------------------------------------------------------------------- run

sub run
{
	my (%option) = @_;
	my $run = {method => 'bf', seconds => 20, seed => 1, exports => 1, %option, counts => {}};
	$run->{folder} = StreambloomTap::scratch() . "/not-one-row-$$-$run->{seed}";
	mkdir $run->{folder} or die "cannot make $run->{folder}: $!";
	$run->{parent} = $$;
	srand($run->{seed});
	make_relations($run);
	$run->{before_readers}->() if $run->{before_readers};

	my @parties = (
		(map { ["writer $_", \&NotOneRow::Writers::work] } 1 .. 3), ['slow writer', \&NotOneRow::Writers::work_slowly],
		['summarizer 1', \&NotOneRow::Keepers::summarize], ['summarizer 2', \&NotOneRow::Keepers::summarize],
		['DDL', \&NotOneRow::Keepers::change],
		(map { ["reader $_", \&NotOneRow::Readers::read_once] } 1 .. 2),
		(map { ["patient reader $_", \&NotOneRow::Readers::read_late] } 1 .. 2));
	$run->{began} = time();
	$run->{deadline} = $run->{began} + $run->{seconds};
	my @children;
	foreach my $number (0 .. $#parties)
	{
		my ($party, $work) = @{$parties[$number]};
		next if $party !~ ($run->{only} // qr/./);
		my $child = fork();
		defined $child or die "cannot fork: $!";
		if ($child == 0)
		{
			$run->{party} = $party;
			srand($run->{seed} * 1000 + $number);
			eval { $work->($run, $number); 1 } or trouble($run, $@);
			note_counts($run, $number);
			_exit(0);
		}
		push @children, $child;
	}
	waitpid $_, 0 foreach @children;
	$run->{ended} = time();
	add_counts($run, $_) foreach 0 .. $#parties;
	$run->{party} = 'the end';
	$run->{deadline} = time() + 3600;
	NotOneRow::Keepers::check_all($run);
	return {counts => $run->{counts}, seconds => $run->{ended} - $run->{began},
		map { ($_ => -e "$run->{folder}/$_" ? StreambloomTap::read_file("$run->{folder}/$_") : '') } 'differences', 'troubles'};
}

sub note_counts
{
	my ($run, $number) = @_;
	StreambloomTap::write_file("$run->{folder}/counts.$number", join '', map { "$run->{counts}{$_} $_\n" } keys %{$run->{counts}});
}

sub add_counts
{
	my ($run, $number) = @_;
	return if !-e "$run->{folder}/counts.$number";
	foreach (split /\n/, StreambloomTap::read_file("$run->{folder}/counts.$number"))
	{
		my ($count, $what) = split / /, $_, 2;
		$run->{counts}{$what} += $count;
	}
}

1;
