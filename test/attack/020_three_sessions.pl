# Three sessions work at once on random relations with bf indexes, at all isolation levels: one writes, one changes
# tables, partitions and indexes, one reads. In each snapshot a query must have the same rows with the indexes as
# without. A single statement must see every row of a committed state. If each of two SERIALIZABLE transactions writes
# what the other one has looked for in vain, one of them must fail. The test is short; for longer, in the environment
# of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/020_three_sessions.pl
#
# The seed settles what each session does, but not how the sessions interleave.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use DifferParties;
use DifferQueries;
use DifferRun;
use DifferSchema;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time);

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 30;
my $seed = $ENV{STREAMBLOOM_SEED} // 1;
my $db = StreambloomTap->new('a020');
diag("seed $seed");
srand($seed);

my $run = DifferRun->new(database => $db->name, name => '020', seed => $seed);
# If the conditions of a query are false for all rows, its chunk_scan() is not executed, and does not refuse a literal
# that the type of the column cannot hold. A plain query refuses it even then.
$run->{left_out} = qr/with: 0 0 without: (ERROR 22003 value "\d+" is out of range for type)/;
my @kinds = ('plain', 'unlogged', 'partitioned', 'partitioned', 'partitioned', 'sub-partitioned', 'sub-partitioned', 'inherited', 'materialized');

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# Two transactions: each looks for a value, and writes a row with the value that the other one looks for.
sub write_skew
{
	my ($one, $two, $relation, $number) = @_;
	my @things = grep { $_->{column}{type}{name} !~ /^(?:boolean|"char"|regtype)$/ && $_->{type} ne 'boolean' } DifferQueries::things($relation);
	return if !@things || $relation->{kind} eq 'materialized';
	my $thing = pick(@things);
	my $column = $thing->{column};
	my @literals = map { DifferTypes::value($column->{type}, 100000 + $number * 2 + $_) } 0, 1;
	my @values = map { my $literal = $_; $thing->{pattern} ? $thing->{pattern} =~ s/%c/($literal)/gr : $literal } @literals;
	my $sql = DifferQueries::at($thing, '');
	my $name = $relation->{name};
	my @states;
	my $way = int rand 5;
	my $rows = '';

	foreach my $n (0, 1)
	{
		my $session = ($one, $two)[$n];
		my $value = $values[$n];
		my $question = $way == 0 && $thing->{plain} ? "SELECT count(*) FROM chunk_scan(NULL::$name, '$column->{name}', $value)"
			: $way == 1 && $thing->{plain} && $thing->{type} !~ /\[\]|_domain/ ? "SELECT count(*) FROM chunk_scan_any(NULL::$name, '$column->{name}', ARRAY[$value, NULL]::$thing->{type}\[])"
			: $way == 2 ? "SELECT count(*) FROM (VALUES ($value)) q (v) CROSS JOIN LATERAL (SELECT * FROM $name WHERE $sql = q.v OFFSET 0) r"
			: $way == 3 ? "SELECT count(*) FROM $name WHERE $sql IN ($value, NULL)" : "SELECT count(*) FROM $name WHERE $sql = $value";
		my ($state, undef, $answer) = $run->act($session, 'BEGIN', DifferRun::message('BEGIN ISOLATION LEVEL SERIALIZABLE', DifferQueries::settings($run), $question));
		push @states, $state;
		$rows .= " $answer";
	}
	foreach my $n (0, 1)
	{
		my $k = int rand $relation->{count};
		my $target = $relation->{kind} eq 'inherited' ? pick(DifferSchema::leaves($relation)) : $name;
		my $write = chance(0.7) ? "INSERT INTO $target (id, k, $column->{name}) VALUES (1, $k, $literals[1 - $n]) RETURNING 'written'"
			: "UPDATE $target SET $column->{name} = $literals[1 - $n] WHERE ctid = (SELECT ctid FROM $target WHERE id % 2 = $n LIMIT 1) RETURNING 'written'";
		my ($state, undef, $answer) = $run->act(($one, $two)[$n], 'write', $write);
		# An UPDATE may find no row to change.
		push @states, $state eq '00000' && $answer !~ /written/ ? 'no row' : $state;
	}
	push @states, map { ($run->act($_, 'COMMIT', 'COMMIT'))[0] } $one, $two;
	$_->ask('ROLLBACK') foreach $one, $two;
	my $refused = grep { $_ eq '40001' } @states;
	$run->count('pairs of transactions');
	$run->count('pairs of which one was refused') if $refused;
	$run->count('pairs that failed otherwise') if !$refused && grep { $_ ne '00000' } @states;
	$run->fail_with($one, "both transactions committed, having read$rows: @states") if !$refused && !grep { $_ ne '00000' } @states;
}

# A snapshot that is older than a deletion. Summaries of expressions, of values stored out of line, and of indexes with
# a predicate leave the deleted rows out. For their ranges bf_of() must refuse to answer; other summaries must have the
# rows.
sub old_snapshot
{
	my ($one, $two, $relation) = @_;
	my $name = $relation->{name};

	return if $relation->{kind} eq 'materialized';
	$run->act($two, 'BEGIN', "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM $name");
	$run->act($one, 'DELETE', "DELETE FROM $name WHERE id % 5 = 0");
	$run->act($one, 'forget and summarize', "SELECT differ.each('$name', 'SELECT bf_desummarize_range(%L, b) FROM generate_series(0, 50) b')");
	$run->act($one, 'forget and summarize', "SELECT differ.each('$name', 'SELECT bf_summarize_new_values(%L)')");
	$run->compare($two, DifferQueries::filters_of_ranges($run, $relation));
	$run->act($two, 'COMMIT', 'COMMIT');
}

sub one_schema
{
	my ($number, $length) = @_;
	my $schema = DifferSchema->new(number => $number, kinds => \@kinds, calm => chance(0.3));
	my ($one, $two) = ($run->session('one'), $run->session('two'));

	$run->begin_history();
	$run->act($one, /^(CREATE INDEX|CREATE \w+|ALTER \w+|INSERT)/ ? "make: $1" : 'make', $_) foreach $schema->create, DifferParties::marked($schema);
	$run->act($two, 'make', "SET search_path = $schema->{name}, public");
	foreach my $relation (@{$schema->{relations}})
	{
		$relation->{has_key} = 0 if $relation->{kind} ne 'materialized';
		$run->act($one, 'no key', "DROP INDEX IF EXISTS $relation->{name}_key");
		$run->act($one, 'ANALYZE', "ANALYZE $relation->{name}") if chance(0.5);
		$run->count("relations: $relation->{kind}");
		write_skew($one, $two, $relation, $_) foreach 1 .. 5;
		old_snapshot($one, $two, $relation);
	}
	$run->act($two, 'end', 'RESET ALL');
	return $run->wait_for_server if $run->full || $one->{lost} || $two->{lost};
	DifferParties::together($run, $schema, $length, reader => \&DifferParties::reader, writer => \&DifferParties::writer, changer => \&DifferParties::changer);
	foreach my $relation (@{$schema->{relations}}, {name => 'm'})
	{
		$run->act($one, 'bf_index_check', "SELECT differ.each('$relation->{name}', 'SELECT bf_index_check(%L)')");
		$run->compare($one, DifferQueries::filters_of_ranges($run, $relation), map { DifferQueries::question($run, $relation) } 1 .. 30) if $relation->{columns} && !$run->full;
	}
	$run->close_session($_) foreach $one, $two;
	$db->sql("DROP SCHEMA $schema->{name} CASCADE") if !$run->full;
}

# Counted from the beginning of the test ($^T), so that the short mode ends within 60 s.
my $deadline = $^T + $seconds;
my $length = $seconds > 100 ? 8 : 5;
my $number = 0;
my $longest = 0;
# Another schema is begun if there is time for it, assuming that it takes as long as the longest one so far.
while (!$run->full && ($number < 2 || time() + $longest < $deadline))
{
	my $began = time();
	one_schema(++$number, $length);
	$longest = time() - $began if $longest < time() - $began;
}

my $counts = $run->counts;
diag("$number schemas, " . ($counts->{comparisons} // 0) . ' comparisons, ' . ($counts->{'comparisons with rows'} // 0) . ' with rows, ' . ($counts->{'marks asked for'} // 0) . ' times all marks, ' .
	($counts->{'pairs of transactions'} // 0) . ' pairs');
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
	my %seen;
	diag(join "\n", grep { my $kind = s/\d+/N/gr; ($seen{substr $kind, 0, 60} // 0) < 2 && ++$seen{substr $kind, 0, 60} } @{$run->{log} // []}) if $ENV{STREAMBLOOM_HISTORY};
}
# after the counts, so that a report of which only the end is kept has it
ok(!$run->failures, "each answer is the one without an index (seed $seed)") or diag('failures: ' . $run->failures . join '', map { "\n" . substr $_, 0, 4000 } $run->failures);
subtest 'it was a test of something' => sub {
	cmp_ok($counts->{comparisons} // 0, '>=', 300, 'comparisons');
	cmp_ok($counts->{'comparisons with rows'} // 0, '>=', ($counts->{comparisons} // 0) / 5, 'many had rows');
	cmp_ok($counts->{'marks asked for'} // 0, '>=', 50, 'marks asked for');
	cmp_ok($counts->{'marks: 40001'} // 0, '<', ($counts->{'marks asked for'} // 0) / 2, 'few of these were refused');
	cmp_ok($counts->{'pairs of which one was refused'} // 0, '>=', 5, 'pairs of SERIALIZABLE transactions');
};
done_testing();
