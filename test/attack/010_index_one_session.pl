# One session makes random relations of every kind with bf indexes on random columns, random changes, and random
# queries. Each query must have the same rows with the indexes, Skip and chunk_scan() as without all of them. The
# test is short; for longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/010_index_one_session.pl
#
# A failure leaves a history that psql can run again (test/attack/lib/DifferRun.pm). The seed settles every statement.
# STREAMBLOOM_KNOWN is a regular expression: failures that match it are counted, and the run goes on.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use DifferChanges;
use DifferQueries;
use DifferRun;
use DifferSchema;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time);

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 30;
my $seed = $ENV{STREAMBLOOM_SEED} // 1;
my $db = StreambloomTap->new('a010');
my $role = "streambloom_reader_$$";
diag("seed $seed");
srand($seed);

my $run = DifferRun->new(database => $db->name, name => '010', seed => $seed);
$db->make_role($role, '');
$db->sql("CREATE EXTENSION postgres_fdw; CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$ENV{PGHOST}', port '" . ($ENV{PGPORT} // 5432) . "', dbname '" . $db->name .
	"'); CREATE USER MAPPING FOR PUBLIC SERVER loopback OPTIONS (user '" . ($ENV{PGUSER} // 'postgres') . "', password_required 'false')");
my $prepared_transactions = $db->sql('SHOW max_prepared_transactions') > 0;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# Row-level security with one of four policies. Two call functions that are not leakproof, and two have a condition on a
# column that may be indexed.
sub row_level_security
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $thing = pick(DifferQueries::plain_things($relation));
	(my $sql = $thing->{sql}) =~ s/\x01//g;
	return () if $relation->{kind} eq 'materialized';
	return ("GRANT ALL ON $name TO $role", "ALTER TABLE $name ENABLE ROW LEVEL SECURITY", "CREATE POLICY those ON $name FOR ALL TO $role USING (" .
		pick('id % 3 > 0', "length(pad) > 10 OR $sql IS NULL", "$sql = " . DifferSchema::thing_literal($relation, $thing) . ' OR k = 1', "pad::text <> 'xxx'") . ') WITH CHECK (true)');
}

# A cursor that was opened before some changes, and is read after them.
sub old_cursor
{
	my ($session, $relation) = @_;
	my $query = DifferQueries::single($relation);
	my $settings = DifferQueries::settings($run);
	my $hold = chance(0.3);
	my $scroll = chance(0.6);
	my @sql = ('BEGIN', $settings, 'DECLARE c ' . ($scroll ? 'SCROLL' : 'NO SCROLL') . ' CURSOR ' . ($hold ? 'WITH HOLD ' : '') . "FOR $query", $run->{off}, "SELECT differ.answer('digest', '', " . DifferRun::quote($query) . ', false)');
	return if $query =~ /random\(\)/;
	my ($state, $message, $before) = $run->act($session, 'DECLARE', DifferRun::message(@sql));
	my $after = '';
	if ($state eq '00000')
	{
		foreach (1 .. int rand 3)
		{
			my ($what, @change) = DifferChanges::rows($relation);
			($state) = $run->act($session, $what, join ";\n", @change);
			last if $state ne '00000';
		}
		$run->act($session, 'COMMIT', 'COMMIT') if $hold && $state eq '00000';
		my @steps = ('SELECT differ.drain(\'c\', false)', $scroll ? "SELECT differ.drain('c', true)" : ());
		($state, $message, $after) = $run->act($session, 'FETCH', join ";\n", @steps) if $state eq '00000';
		if ($state eq '00000')
		{
			$before =~ s/^\("?(.*?)"?,\)$/$1/;
			$run->count('old cursors');
			$run->count('comparisons', scalar @steps);
			foreach (split /\n/, $after)
			{
				$run->fail_with($session, "an old cursor has $after instead of $before\n$settings\n$query") if $_ ne $before && $before !~ /^ERROR/;
			}
		}
		elsif ($before =~ /^\("?\d/ && $message =~ /./ && $state !~ /^(?:XX|40)/)
		{
			$run->count("an old cursor could not be read: $state");
		}
	}
	$run->act($session, 'ROLLBACK', $hold ? 'ROLLBACK; CLOSE ALL' : 'ROLLBACK');
}

# chunk_scan() with a summary table that is made of the current rows.
sub summaries
{
	my ($session, $relation) = @_;
	my $name = $relation->{name};
	my $column = pick(@{$relation->{columns}});
	my $of = chance(0.4) ? "SELECT heap AS chunk, bf_of(index) AS f FROM differ.indexes('$name')" : "SELECT tableoid::regclass AS chunk, bf_agg($column->{name}" . pick('', ', 1000', ', 100, 0.2') . ") AS f FROM $name GROUP BY 1";
	# bf_of() returns filters of the first column of each index.
	if ($of =~ /bf_of/)
	{
		my ($n) = (($column->{name}) =~ /(.*)/);
		$of .= " JOIN pg_index ON indexrelid = index JOIN pg_attribute a ON a.attrelid = indrelid AND a.attnum = indkey[0] AND a.attname = '$n' JOIN pg_opclass c ON c.oid = indclass[0] AND opcname !~ '^(array|jsonb|jsonb_path|tsvector)_ops\$' ORDER BY 1 LIMIT 20";
	}
	my ($state) = $run->act($session, 'summaries', "CREATE TABLE ${name}_summary AS $of");
	if ($state eq '00000')
	{
		my @questions;
		foreach (1 .. 6)
		{
			my $literal = DifferSchema::literal($relation, $column);
			push @questions, {mode => 'digest', kind => 'chunk_scan with summaries', settings => DifferQueries::settings($run), look => 0,
				on => "SELECT * FROM chunk_scan(NULL::$name, '$column->{name}', $literal, '${name}_summary', 'f')", off => "SELECT * FROM $name WHERE $column->{name} = $literal"};
		}
		$run->compare($session, @questions);
	}
	$run->act($session, 'summaries', "DROP TABLE IF EXISTS ${name}_summary");
}

# A transaction with savepoints, and with questions in the middle.
sub transaction
{
	my ($session, $relation, $ask) = @_;
	my $next = $relation->{next};
	my $savepoints = 0;

	$run->act($session, 'BEGIN', 'BEGIN' . pick('', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE'));
	foreach (1 .. 2 + int rand 5)
	{
		my ($what, @sql) = DifferChanges::transactional($relation);
		$run->act($session, 'SAVEPOINT', 'SAVEPOINT a' . ++$savepoints);
		my ($state) = $run->act($session, $what, join ";\n", @sql);
		$run->act($session, 'ROLLBACK TO', "ROLLBACK TO a$savepoints") if $state ne '00000' || chance(0.25);
		if (chance(0.1))
		{
			$savepoints = 1 + int rand $savepoints;
			$run->act($session, 'ROLLBACK TO', "ROLLBACK TO a$savepoints");
		}
		$ask->(3) if chance(0.3);
	}
	my $name = "'${seed}_" . ++$run->{prepared} . "'";
	if ($prepared_transactions && chance(0.3) && $relation->{kind} ne 'temporary' && $relation->{kind} ne 'foreign')
	{
		my ($state) = $run->act($session, 'PREPARE TRANSACTION', "PREPARE TRANSACTION $name");
		if ($state eq '00000')
		{
			# The locks of the prepared transaction may be in the way.
			$run->act($session, 'lock_timeout', "SET lock_timeout = '50ms'");
			$ask->(3);
			$run->act($session, 'COMMIT PREPARED', pick('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED $name");
			$run->act($session, 'lock_timeout', "SET lock_timeout = '20s'");
		}
		$run->act($session, 'ROLLBACK', 'ROLLBACK');
	}
	else
	{
		$run->act($session, 'COMMIT', pick('COMMIT', 'COMMIT', 'ROLLBACK'));
	}
	$ask->(3);
}

# One schema, from its beginning to its end.
sub one_schema
{
	my ($number) = @_;
	my $schema = DifferSchema->new(number => $number);
	my $session = $run->session('one', patience => 0);
	my @kept;

	$run->begin_history();
	foreach ($schema->create)
	{
		$run->act($session, /^(CREATE INDEX|CREATE \w+|ALTER \w+|INSERT)/ ? "make: $1" : 'make', $_);
	}
	foreach my $relation (@{$schema->{relations}})
	{
		$relation->{files} = StreambloomTap::scratch();
		$run->count("relations: $relation->{kind}");
		$run->count("columns: $_->{type}{name}") foreach @{$relation->{columns}};
		$run->act($session, 'ANALYZE', "ANALYZE $relation->{name}") if chance(0.7);
		if (chance(0.6))
		{
			my ($what, @sql) = ('an index that is not valid', DifferChanges::unfinished($relation));
			foreach (@sql)
			{
				last if $run->act($session, $what, $_) ne '00000';
			}
		}
		if (chance(0.3))
		{
			my @sql = row_level_security($relation);
			$relation->{rls} = $role if @sql;
			$run->act($session, 'row-level security', $_) foreach @sql;
		}
		foreach my $n (1 .. int rand 5)
		{
			my ($make, $question) = DifferQueries::kept($run, $relation, "kept_$relation->{name}_$n");
			my ($state) = $run->act($session, 'make what is kept', $make);
			push @kept, $question if $state eq '00000';
		}
	}
	my $ask = sub {
		my ($n) = @_;
		my @questions = map { my $relation = pick(@{$schema->{relations}});
			@kept && chance(0.2) ? pick(@kept)->() : DifferQueries::question($run, $relation, rls => $relation->{rls} && chance(0.5) ? $role : undef) } 1 .. $n;
		$run->compare($session, @questions);
	};
	$ask->(25);
	foreach my $round (1 .. 8)
	{
		last if $run->full || $session->{lost} || time() > $run->{deadline};
		my $relation = pick(@{$schema->{relations}});
		my $kind = rand();
		# A cursor over a foreign table opens its cursor on the other server only when it is first read, so it would
		# see the changes.
		if ($kind < 0.12 && $relation->{kind} ne 'foreign') { old_cursor($session, $relation); }
		elsif ($kind < 0.18) { summaries($session, $relation); }
		elsif ($kind < 0.38 && $relation->{kind} ne 'foreign') { transaction($session, $relation, sub { $ask->(@_) }); }
		else
		{
			foreach (1 .. 1 + int rand 4)
			{
				my $which = rand();
				my ($what, @sql) = $which < 0.4 ? DifferChanges::rows($relation) : $which < 0.85 ? DifferChanges::keep($relation) : DifferChanges::alter($relation);
				foreach my $n (0 .. $#sql)
				{
					my ($state) = $run->act($session, $what, $sql[$n]);
					next if $state eq '00000';
					$relation->{undo}->() if $relation->{undo} && ($n == 0 || $what eq 'ATTACH');
					last;
				}
				delete $relation->{undo};
			}
		}
		$ask->(20);
	}
	$run->compare($session, map { DifferQueries::filters_of_ranges($run, $_) } @{$schema->{relations}}) if !$run->full;
	$run->act($session, 'bf_index_check', "SELECT differ.each('$_->{name}', 'SELECT bf_index_check(%L)')") foreach @{$schema->{relations}};
	# This is not in the history, and not done by the session that may hold locks.
	$run->wait_for_server if $session->{lost};
	$run->close_session($session);
	$db->sql("SELECT format('ROLLBACK PREPARED %L', gid) FROM pg_prepared_xacts WHERE database = current_database() \\gexec\nDROP SCHEMA $schema->{name} CASCADE");
}

# Counted from the beginning of the test ($^T), so that the short mode ends within 60 s.
$run->{deadline} = $^T + $seconds;
my $number = 0;
one_schema(++$number) while !$run->full && (time() < $run->{deadline} || $number < 3);

my $counts = $run->counts;
diag("$number schemas, " . ($counts->{comparisons} // 0) . ' comparisons, ' . ($counts->{'comparisons with rows'} // 0) . ' with rows');
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
	my %seen;
	diag(join "\n", grep { my $kind = s/\d+/N/gr; ($seen{substr $kind, 0, 60} // 0) < 2 && ++$seen{substr $kind, 0, 60} } @{$run->{log} // []}) if $ENV{STREAMBLOOM_HISTORY};
}
# after the counts, so that a report of which only the end is kept has it
ok(!$run->failures, "each answer is the one without an index (seed $seed)") or diag('failures: ' . $run->failures . join '', map { "\n" . substr $_, 0, 4000 } $run->failures);
subtest 'it was a test of something' => sub {
	cmp_ok($counts->{comparisons} // 0, '>=', 500, 'comparisons');
	cmp_ok($counts->{'comparisons with rows'} // 0, '>=', ($counts->{comparisons} // 0) / 4, 'many had rows');
	cmp_ok($counts->{'comparisons of errors'} // 0, '<', ($counts->{comparisons} // 0) / 10, 'few were errors on both sides');
	# One session meets only the locks of its own prepared transactions.
	cmp_ok($counts->{'comparisons left out'} // 0, '<=', ($counts->{comparisons} // 0) / 100, 'hardly any was left out');
	cmp_ok($counts->{'plans with an index'} // 0, '>=', ($counts->{'plans looked at'} // 0) / 6, 'many plans use an index');
};
done_testing();
