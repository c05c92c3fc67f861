# Calls every function, operator, aggregate and cast of the extension with arguments from a list for each type, in many
# forms, under a statement_timeout of one second. A call fails if it ends with an error of class XX, ends the server
# process, obeys the timeout more than half a second late, or takes too much memory. README.md tells how to run the
# test for longer, and what to do with a failure.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use Attack;
BEGIN { Attack::limit_memory(5 * 1024); }
use Calls::Arguments;
use Calls::Caller;
use Calls::Catalogue;
use Calls::Forms;
use Calls::Mutations;
use List::Util;
use OwnCluster;
use StreambloomTap;
use Test::More;

# Megabytes that one call may take beyond the memory of a new session. The largest need: merging tbf filters of the
# largest size takes up to 8 bytes for each of 2^27 counters (docs/limits.md), and the memory of the arguments.
my $memory = 1300;

my $short = 24; # seconds; the calls that have begun then take some more
my $patience = 100; # seconds in which a busy machine has to make the calls that every run makes
our $batch = 500; # calls that are sent together
our $at_least = 3000; # calls that a run must make
our $heavy_share = 0.2; # the share of the time for calls with large values
our $share = 0.02; # the share of the time that one callable may take
our $nesting = 0.15; # the probability that an argument is itself a call
our $enough = 3; # failures after which a callable is no longer called; 20 times as many if they are errors of class XX, which are quick; in the short mode one is enough if it ignores the timeout

StreambloomTap::require_cluster();
# The test makes errors on purpose, so the log does not have them; it has the crashes.
OwnCluster::start(log_min_messages => 'log', log_min_error_statement => 'panic', restart_after_crash => 'on', max_parallel_workers_per_gather => 2,
	wal_level => 'minimal', max_wal_senders => 0);

subtest 'a planted fault of each kind is found' => \&self_check;

my $db = StreambloomTap->new('calls');
$db->sql(StreambloomTap::read_file("$FindBin::Bin/calls/$_.sql")) foreach 'relations', 'large';
my $catalogue = Calls::Catalogue->new($db, 'streambloom');
my $arguments = Calls::Arguments->new($db);
Calls::Mutations::add_to($arguments, $db, 40);
# After a checkpoint the server is back soon if it crashes.
$db->sql('CHECKPOINT');

types_are_known($catalogue, $arguments);
cmp_ok(scalar($catalogue->callables), '>', 150, 'the catalogue has many functions');

my %outcomes;
my $first_calls; # how many of the calls that come first have not been made
my ($calls, @failures) = attack($catalogue, $arguments, Calls::Caller->new(database => $db->name, memory => $memory << 20), \&time_left);
cmp_ok($calls, '>=', $at_least, 'there was time for many calls');
is($first_calls, 0, 'the first calls of everything were made: ordinary arguments, and all pairs of the worst numbers');
report(@failures);
done_testing();

# The seconds that are left for calls. In the short mode (without STREAMBLOOM_SECONDS) the test takes $short seconds. On
# a busy machine it goes on, for up to $patience seconds in all, until it has made $at_least calls and all first calls,
# and all that SQL can call has succeeded once.
sub time_left
{
	my ($calls) = @_;
	return Attack::seconds_left($calls < $at_least || $first_calls > 0 || never_succeeded() ? $patience : $short);
}

# What SQL can call and has not been called with success so far.
sub never_succeeded { return map { $_->{label} } grep { !$_->{inner} && !$outcomes{$_->{label}}{'00000'} } $catalogue->callables; }

# One test: each type that a function takes has a list of arguments.
sub types_are_known
{
	my ($catalogue, $arguments) = @_;
	my $users = $catalogue->argument_types;
	my @unknown = grep { !$arguments->know($_) } sort keys %$users;

	is("@unknown", '', 'Arguments.pm has a list for each type of argument') or
		diag(map { "no list for $_, which is taken by " . join(', ', @{$users->{$_}}) . "\n" } @unknown);
}

# Makes calls for as long as there is time. Returns their number and the failures, each with kind, label and sql.
sub attack
{
	my ($catalogue, $arguments, $caller, $time_left) = @_;
	# The parser refuses arguments of type internal: a few calls show that.
	my @targets = map { {callable => $_, calls => 0, seconds => 0, limit => (grep { $_ eq 'internal' } @{$_->{types}}) ? 20 : 9**9**9} }
		grep { !grep { !$arguments->know($_) } @{$_->{types}} } $catalogue->callables;
	foreach my $target (@targets)
	{
		($target->{soon}, $target->{next}) = first_calls($target->{callable}, $arguments);
		$target->{is_formula} = !grep { !/^(?:double precision|integer|bigint|text|interval)(?:\[\])?$/ } @{$target->{callable}{types}};
	}
	my @heavy_targets = grep { my $types = $_->{callable}{types}; grep { $arguments->heavy($_) } @$types } @targets;
	my @queue = (Attack::shuffled(@targets), Attack::shuffled(map { ($_) x ($_->{soon} - 1) } @targets));
	my (@failures, %known, @heavy_queue);
	my ($calls, $callables, $heavy_time, $began) = (0, scalar @targets, 0, Time::HiRes::time());
	my $told = $began;

	# These are made as soon as everything was called once.
	my @long = Attack::shuffled(long_calls(@targets));
	my $next_batch = sub
	{
		my @batch;
		my $passed = Time::HiRes::time() - $began;
		@targets = grep { !$_->{is_bad} && $_->{calls} < $_->{limit} } @targets;
		if ($calls >= $callables && @long)
		{
			push @batch, grep { !$_->{target}{is_bad} } splice @long, 0, 3;
		}
		# Calls with large values are sent in small batches. If a batch takes too much memory, only these few calls are
		# repeated alone.
		elsif (@heavy_targets && $heavy_time < $heavy_share * $passed)
		{
			@heavy_targets = grep { !$_->{is_bad} && !$_->{is_slow} } @heavy_targets;
			@heavy_queue = Attack::shuffled(@heavy_targets) if !@heavy_queue;
			push @batch, map { {target => $_, is_heavy => 1, sql => heavy_call($_->{callable}, $arguments)} } splice @heavy_queue, 0, 3;
		}
		my $tries = @batch ? 0 : 10 * $batch;
		while ($tries-- > 0 && @batch < $batch && @targets)
		{
			# Two sorts of functions are called more often. Formulas are quick, and only certain combinations of
			# extremes make their loops long. And of a function that has not succeeded yet, perhaps only some forms of a
			# call can succeed.
			if (!@queue)
			{
				my %wanted = map { $_ => 1 } never_succeeded();
				@queue = Attack::shuffled(@targets, (grep { $_->{is_formula} } @targets) x 5, (grep { $wanted{$_->{callable}{label}} } @targets) x 20);
			}
			my $target = shift @queue;
			# A callable that has taken more than its share of the time has to wait.
			next if $target->{is_bad} || ($target->{calls} > $target->{soon} && $target->{seconds} > $share * ($passed + 10));
			$target->{calls}++;
			push @batch, {target => $target, sql => $target->{next}->()};
		}
		return @batch;
	};
	my @next = $next_batch->();
	my $left = sub { @long + List::Util::sum0(map { List::Util::max(0, $_->{soon} - $_->{calls}) } grep { $_->{limit} > $_->{soon} } @targets) };
	$first_calls = $left->();
	while ($time_left->($calls) > 0)
	{
		# While the server makes these calls, the next ones are prepared.
		my @batch = grep { !$_->{target}{is_bad} } @next;
		my @suspects = $caller->run(\@batch, sub { @next = $next_batch->() });
		$calls += @batch;
		$first_calls = $left->();
		$outcomes{$_->{target}{callable}{label}}{$_->{state}}++ foreach @batch;
		$heavy_time += $_->{ms} / 1000 foreach grep { $_->{is_heavy} } @batch;
		$_->{target}{seconds} += $_->{ms} / 1000 foreach grep { !$_->{is_heavy} } @batch;
		if (Attack::is_long() && Time::HiRes::time() - $told > 60)
		{
			$told = Time::HiRes::time();
			diag(sprintf('%.0f s: %d calls', $told - $began, $calls));
		}
		foreach my $call (@suspects)
		{
			my $label = $call->{target}{callable}{label};
			next if $call->{target}{is_bad};
			my $confirming = Time::HiRes::time();
			my $failure = $caller->confirm($call->{sql});
			$heavy_time += Time::HiRes::time() - $confirming if $call->{is_heavy};
			next if !$failure && $call->{suspect} =~ /^timeout|memory/;
			next if $failure && $call->{is_heavy} && $failure->{kind} =~ /^timeout|memory/ && is_due_to_arguments($caller, $arguments, $call->{sql});
			next if $failure && $failure->{kind} eq 'memory' && is_due_to_copies($caller, $call->{sql}, $failure->{growth});
			# The call did nothing wrong when it was alone: calls before it may be the cause.
			$failure //= {%$call, kind => "$call->{suspect}, but not alone"};
			# The same fault is reported once. A callable whose faults take long to show is not called again and again.
			my $what = "$label $failure->{kind} " . ($failure->{message} // '') =~ s/\d+/N/gr;
			my ($count, $flag) = $call->{is_heavy} ? ('heavy_faults', 'is_slow') : ('faults', 'is_bad');
			$call->{target}{$flag} = 1 if ++$call->{target}{$count} >= ($failure->{state} =~ /^XX/ ? 20 : 1) * $enough || ($failure->{state} eq 'deaf' && !Attack::is_long());
			next if $known{$what}++;
			push @failures, {%$failure, label => $label};
			diag("$failure->{kind} in $label: $failure->{state} " . ($failure->{message} // '') . "\n$failure->{sql};") if Attack::is_long();
		}
	}
	$caller->finish;
	my $seconds = Time::HiRes::time() - $began + 0.001;
	diag(sprintf('seed %d: %d calls of %d callables in %.0f s, %d a second; the server ran for %.0f s and waited for a processor for %.0f s; %.0f s for large values',
			Attack::seed(), $calls, $callables, $seconds, $calls / $seconds, $caller->{has_run} / 1000, $caller->{has_waited} / 1000, $heavy_time));
	return ($calls, @failures);
}

# Calls that take seconds if their loops do not look for interrupts. They are made in every run, because a short run has
# only few random calls with large values.
sub long_calls
{
	my (@targets) = @_;
	my %target_of = map { $_->{callable}{label} => $_ } @targets;
	my $items = 'array_fill(7::int4, ARRAY[30000000])';
	my %sql_of = (
		'operator + (tbf, tbf)' => 'SELECT a + b + a + b + a + b IS NULL FROM (SELECT attack.large_tbf(1) AS a, attack.large_tbf(1) AS b OFFSET 0) v',
		'operator * (tbf, double precision)' => 'SELECT attack.large_tbf(4) * 0.5 * 0.5 * 0.5 * 0.5 * 0.5 IS NULL',
		'bf_add_all(bf,anyarray)' => "SELECT bf_add_all(attack.large_bf(2), $items) IS NULL",
		'tbf_add_all(tbf,anyarray,timestamp with time zone,double precision,timestamp with time zone)' => "SELECT tbf_add_all(attack.large_tbf(2), $items, '2024-05-01 UTC') IS NULL",
		'sbf_check_add(sbf,anyarray)' => "SELECT sbf_check_add(sbf_empty(), $items) IS NULL",
		'abf_check_add(abf,anyarray,timestamp with time zone,timestamp with time zone)' => "SELECT abf_check_add(abf_empty(), $items) IS NULL",
		'ibf_contains_all(ibf,anyarray)' => "SELECT ibf_contains_all(attack.large_ibf(2), $items)",
	);
	return () if !grep { $target_of{$_} } keys %sql_of;
	return map { {target => $target_of{$_} // die("there is no $_\n"), is_heavy => 1, sql => $sql_of{$_}} } sort keys %sql_of;
}

# Returns the number of calls that should come soon, and a function that returns the calls of one callable, one by one.
# First come the ordinary calls, which should succeed, and all pairs of the worst numbers (Arguments.pm) for the first
# five arguments. Then come, mixed at random, each value of one argument with ordinary other arguments, pairs of values
# of two arguments, and calls with random arguments.
sub first_calls
{
	my ($callable, $arguments) = @_;
	my @types = @{$callable->{types}};
	my @lists = map { [$arguments->all_of($_)] } @types;
	my @ordinary = $arguments->ordinary($callable);
	my @singles = Attack::shuffled(map { my $place = $_; map { [$place, $_] } 0 .. $#{$lists[$place]} } 0 .. $#types);
	my (undef, $pairs) = pairs(map { scalar @$_ } @lists);
	my @worst = map { [$arguments->worst($_)] } @types;
	# If there are more arguments, the others have defaults.
	my ($count, $worst_pairs) = pairs(map { scalar @$_ } @worst[0 .. ($#worst < 4 ? $#worst : 4)]);
	my @first = @ordinary;

	return @first + $count, sub {
		return Calls::Forms::plain($callable, shift @first) if @first;
		my $ordinary = Attack::one_of(@ordinary);
		my @chosen = @$ordinary;
		if (my ($one, $which_one, $other, $which_other) = $worst_pairs->())
		{
			$chosen[$one] = $worst[$one][$which_one];
			$chosen[$other] = $worst[$other][$which_other];
			return Calls::Forms::folded($callable, \@chosen);
		}
		if (@singles && Attack::chance(0.6))
		{
			my ($place, $which) = @{shift @singles};
			$chosen[$place] = $lists[$place][$which];
		}
		elsif (Attack::chance(0.7) && (my ($one, $which_one, $other, $which_other) = $pairs->()))
		{
			$chosen[$one] = $lists[$one][$which_one];
			$chosen[$other] = $lists[$other][$which_other];
		}
		else
		{
			# Mostly two arguments that are not ordinary, because more of them would hide what these two do together.
			my @places = Attack::shuffled(0 .. $#types);
			splice @places, Attack::one_of(2, 2, 2, 3, scalar @places) if @places > 2;
			$chosen[$_] = any_value($arguments, $types[$_], 0) foreach @places;
		}
		return Calls::Forms::statement($callable, \@chosen, sub { more($arguments, @_) });
	};
}

# Pairs the values of different arguments of a call. Takes the number of values of each argument. Returns the number of
# all pairs, and a function that returns each pair once, as four numbers: argument, value, argument, value; and then an
# empty list. The order looks random and begins elsewhere for each seed: it goes on in steps that have no common divisor
# with the number of pairs.
sub pairs
{
	my @sizes = @_;
	my @places;

	foreach my $one (0 .. $#sizes - 1)
	{
		push @places, map { [$one, $_, $sizes[$one] * $sizes[$_]] } $one + 1 .. $#sizes;
	}
	my $left = my $count = List::Util::sum0(map { $_->[2] } @places);
	my $at = int(rand($count));
	my $step = int($count * 0.618) || 1;
	$step++ while divisor($step, $count) > 1;

	return $count, sub {
		return () if $left-- <= 0;
		my $rest = $at = ($at + $step) % $count;
		foreach my $pair (@places)
		{
			my ($one, $other, $size) = @$pair;
			return ($one, $rest % $sizes[$one], $other, int($rest / $sizes[$one])) if $rest < $size;
			$rest -= $size;
		}
	};
}

sub divisor
{
	my ($one, $other) = @_;
	($one, $other) = ($other, $one % $other) while $other;
	return $one;
}

# Returns values of one type for the further rows of a column.
sub more
{
	my ($arguments, $type, $count) = @_;
	return map { any_value($arguments, $type, 1) } 1 .. $count if $type !~ /^"?any/;
	return $arguments->column($type, $count);
}

# Returns a value of a type: an expression of its list, or a call that returns the type.
sub any_value
{
	my ($arguments, $type, $depth) = @_;
	my @makers = $depth < 2 && Attack::chance($nesting) ? $catalogue->that_return($type) : ();

	return ($arguments->column($type, 1))[0] if !@makers;
	my $maker = Attack::one_of(@makers);
	return ($arguments->column($type, 1))[0] if grep { !$arguments->know($_) || $_ eq 'internal' } @{$maker->{types}};
	my $ordinary = Attack::one_of($arguments->ordinary($maker));
	my @types = @{$maker->{types}};
	my @chosen = map { Attack::chance(0.6) ? $ordinary->[$_] : any_value($arguments, $types[$_], $depth + 1) } 0 .. $#types;
	my $call = Calls::Catalogue::expression($maker, @chosen);
	return $maker->{kind} eq 'aggregate' ? "(SELECT $call)" : $call;
}

# Returns whether the large arguments of a call fail by themselves, without the call. Some functions of the server that
# make large arguments are slow. So is the server's cast of the rows of a column to one type: while it casts the
# elements of an array it does not look for a cancel.
sub is_due_to_arguments
{
	my ($caller, $arguments, $sql) = @_;
	my @large = grep { index($sql, $_) >= 0 } $arguments->all_heavy;
	my ($rows) = $sql =~ /FROM (\(VALUES .*\) v\(n[^()]*\))/;

	return List::Util::any { $caller->verdict($caller->alone($_)) ne '' }
		'SELECT ' . join(', ', map { "$_ IS NULL" } @large), $rows ? "SELECT count(v) FROM $rows" : ();
}

# Returns whether copies that the server makes explain the memory: the same without them is no failure, and the memory
# is at most four times as much, and 64 MB more. In the form in_plpgsql(), PL/pgSQL holds a large result four times: in
# the variables v and w, as it came, and as the copy that will be assigned. A cast to text holds two digits for each
# byte twice, as text and as the string that the output function has returned.
sub is_due_to_copies
{
	my ($caller, $sql, $growth) = @_;
	my $without = $sql =~ s/\bCAST\((a\d+) AS text\)/$1/gr;

	if (my ($variable, $call) = $sql =~ Calls::Forms::of_plpgsql())
	{
		$without = "DO \$do\$ DECLARE $variable; BEGIN PERFORM ($call) IS NULL; END \$do\$";
	}
	return 0 if $without eq $sql;
	my $alone = $caller->alone($without);
	return $caller->verdict($alone) eq '' && $growth <= 4 * $alone->{growth} + (64 << 20);
}

# Returns a call with a large value for at least one argument.
sub heavy_call
{
	my ($callable, $arguments) = @_;
	my @types = @{$callable->{types}};
	my @chosen = @{Attack::one_of($arguments->ordinary($callable))};
	my @places = Attack::shuffled(grep { $arguments->heavy($types[$_]) } 0 .. $#types);

	foreach my $place (@places)
	{
		$chosen[$place] = Attack::one_of($arguments->heavy($types[$place])) if $place == $places[0] || Attack::chance(0.5);
	}
	my $more = sub { map { Attack::one_of($arguments->heavy($_[0]), $arguments->column($_[0], 1)) } 1 .. $_[1] };
	return Calls::Forms::statement($callable, \@chosen, $more, 1);
}

# One test for each failure, one that no call failed, and one that all that SQL can call was called with success.
sub report
{
	my @failures = @_;

	foreach my $failure (@failures)
	{
		fail("$failure->{label}: $failure->{kind}");
		diag(sprintf("%s: SQLSTATE %s, %.0f ms, %.0f MB; %s %s\n%s;", $failure->{kind}, $failure->{state}, $failure->{ms}, ($failure->{growth} // 0) / (1 << 20),
				$failure->{message} // '', $failure->{location} // '', $failure->{sql}));
	}
	is(scalar @failures, 0, 'no call failed');
	my %total;
	foreach my $states (values %outcomes)
	{
		$total{$_} += $states->{$_} foreach keys %$states;
	}
	diag('SQLSTATEs: ' . join(', ', map { "$_: $total{$_}" } sort { $total{$b} <=> $total{$a} } keys %total));
	is(join("\n", never_succeeded()), '', 'everything that SQL can call was called with success');
}

# Runs the test with functions that each have a fault, and with one that has none. All faults must be found, and none in
# the function without a fault. A type without a list of arguments must be found, too.
sub self_check
{
	my $db = StreambloomTap->new('calls_self_check');
	$db->sql(StreambloomTap::read_file("$FindBin::Bin/calls/$_.sql")) foreach 'relations', 'planted';
	$catalogue = Calls::Catalogue->new($db, 'streambloom');
	my $arguments = Calls::Arguments->new($db);
	my @planted = grep { $_->{label} =~ /^planted_/ } $catalogue->callables;
	my $users = $catalogue->argument_types;
	my @unknown = grep { !$arguments->know($_) } sort keys %$users;
	is("@unknown", 'planted_type', 'a type without a list');
	@{$catalogue->{callables}} = @planted;

	my $caller = Calls::Caller->new(database => $db->name, memory => 60 << 20, timeout => 300, late => 400, patience => 1000);
	my $rounds = 100;
	local ($batch, $enough, $nesting) = (24, 1, 0);
	my %found;
	my (undef, @failures) = attack($catalogue, $arguments, $caller, sub { $rounds-- });
	$found{$_->{label} =~ s/\(.*//r} .= $_->{kind} foreach @failures;
	my %expected = (planted_internal_error => 'internal error', planted_operator_error => 'internal error', planted_pair => 'internal error', planted_crash => 'lost connection',
		planted_late => 'timeout late', planted_deaf => 'timeout not heeded', planted_hungry => 'memory', planted_aggregate => 'internal error');
	is($found{$_} // 'nothing', $expected{$_}, $_) foreach sort keys %expected;
	is($found{planted_harmless} // 'nothing', 'nothing', 'planted_harmless');
	foreach my $failure (grep { $_->{kind} eq 'internal error' } @failures)
	{
		is($db->sqlstate($failure->{sql}), 'XX000', "what is printed for $failure->{label} repeats it in psql");
	}
	%outcomes = ();
}
