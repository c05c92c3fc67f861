# Calls::Caller: makes calls, many at a time, and tells how each ended: SQLSTATE, milliseconds, memory of the server
# process.
#
# A call is a hash; {sql} is one line for psql. Some hundred calls are sent to a session in one go, but each statement
# is a message of its own. The answers are watched: if one does not come although its statement_timeout has passed, the
# process is ended from outside. run() fills in:
#   state     SQLSTATE of the first error, 00000 without one, 'lost' if the server process ended by itself, 'deaf' if it
#             had to be ended because it did not obey the timeout, 'left out' if a call with the same {target} has ended
#             in one of these two ways before
#   ms        how long its longest statement took. After the timeout, time in which the process was ready to run but had
#             no processor does not count
#   suspect   why the call should be repeated alone: what verdict() returns, or 'memory' if some hundred calls took too
#             much and this one does so by itself
# alone() makes one call in a session of its own, and also gets the text of the error and the memory that was taken.
package Calls::Caller;

use strict;
use warnings;

use Calls::Session;
use Time::HiRes qw(time sleep);

# Options: database; memory, the bytes that a process may take; and three times in milliseconds: timeout is the
# statement_timeout, late is how much later a call may end, patience is how long after the timeout the process is ended.
sub new
{
	my ($class, %option) = @_;
	my $self = bless {timeout => 1000, late => 500, patience => 5000, memory => 1 << 30, has_run => 0, has_waited => 0, %option}, $class;
	return $self;
}

# Says what is wrong with the way in which a call ended; '' if nothing is.
sub verdict
{
	my ($self, $call) = @_;

	return 'internal error' if $call->{state} =~ /^XX/;
	return 'lost connection' if $call->{state} eq 'lost';
	return 'timeout not heeded' if $call->{state} eq 'deaf';
	return 'timeout late' if $call->{ms} > $self->{timeout} + $self->{late};
	return 'memory' if $call->{state} eq '53200' || ($call->{growth} // 0) > $self->{memory};
	return '';
}

# The largest memory that a process has had so far, in bytes.
sub peak
{
	my ($pid) = @_;
	open(my $file, '<', "/proc/$pid/status") or return 0;
	while (my $line = readline $file)
	{
		return $1 * 1024 if $line =~ /^VmHWM:\s+(\d+) kB/;
	}
	return 0;
}

# How many milliseconds a process has run, and how many milliseconds it was ready to run but had no processor.
sub run_and_waited
{
	my ($pid) = @_;
	open(my $file, '<', "/proc/$pid/schedstat") or return (0, 0);
	return (readline($file) // '') =~ /^(\d+) (\d+)/ ? ($1 / 1e6, $2 / 1e6) : (0, 0);
}

sub open_session
{
	my ($self) = @_;
	my $patience = time() + 60;
	my $options = "-c client_min_messages=warning -c statement_timeout=$self->{timeout} -c jit=off -c search_path=public";

	while (1)
	{
		my $session = Calls::Session->new(folder => $ENV{PGHOST}, port => $ENV{PGPORT}, user => $ENV{PGUSER}, database => $self->{database}, options => $options);
		if ($session && $session->{backend})
		{
			my ($row) = $session->ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
			$session->{checkpointer} = $row->[0] // 0 if $row;
			$session->{base} = peak($session->{backend});
		}
		# After a crash the server starts again with another checkpointer. A session that was opened before would be
		# ended then, so it is not used.
		if ($session && $session->{base} && ($session->{checkpointer} || time() > $patience - 40) && (($self->{crashed} // 0) != $session->{checkpointer} || time() > $self->{crash} + 20))
		{
			delete $self->{crashed};
			return $session;
		}
		$session->close if $session;
		die "the server does not come back\n" if time() > $patience;
		sleep(0.05);
	}
}

sub close_session
{
	my ($session) = @_;
	$session->close if $session;
}

sub finish
{
	my ($self) = @_;
	close_session(delete $self->{session});
}

# How many milliseconds the current statement of a process has taken; 0 if there is none.
sub age_of_statement
{
	my ($self, $backend) = @_;
	my $observer = $self->open_session;
	my ($row) = $observer->ask("SELECT extract(epoch FROM clock_timestamp() - query_start) * 1000 FROM pg_stat_activity WHERE pid = $backend AND state = 'active'");
	close_session($observer);
	return $row ? $row->[0] : 0;
}

# Makes calls in one session, from the first one on. Returns how many of them have ended, in whatever way. If another
# process crashes, this session ends, too. Then the call under way is not counted, so that the caller makes it again;
# but this happens to a call twice at most. With $is_alone a call gets the text of its error. $meanwhile is called while
# the server is at work.
sub run_calls
{
	my ($self, $session, $calls, $is_alone, $meanwhile) = @_;
	my $at_timeout; # how long the process had waited for a processor when the timeout of its current statement came
	my ($killed, $is_bystander) = (0, 0);
	my @owners; # for each statement, the number of its call

	foreach my $number (0 .. $#$calls)
	{
		my $call = $calls->[$number];
		@$call{'state', 'ms'} = ('00000', 0);
		# If an error leaves a transaction block open, the ROLLBACK closes it.
		foreach my $statement (Calls::Session::statements($call->{sql}), $call->{sql} =~ /^BEGIN\b/ ? 'ROLLBACK' : ())
		{
			$session->add($statement);
			push @owners, $number;
		}
	}
	my $began = time();
	if ($meanwhile)
	{
		$session->send;
		$meanwhile->();
	}
	my ($heard, $last) = ($began, $began);
	my $ended = 0; # statements that have ended
	while ($ended < @owners && $session->{is_open})
	{
		my $until_timeout = $self->{timeout} / 1000 - (time() - $last);
		my @answers = $session->answers($until_timeout > 0 ? $until_timeout + 0.001 : 0.5);
		my $now = time();
		my $waited = 0;
		if (($now - $last) * 1000 > $self->{timeout})
		{
			my (undef, $total) = run_and_waited($session->{backend});
			$waited = $total - ($at_timeout //= $total) if $total;
		}
		if (@answers)
		{
			foreach my $answer (@answers)
			{
				my ($type, $body) = @$answer;
				my $call = $calls->[$owners[$ended] // last];
				if ($type eq 'Z')
				{
					my $ms = ($now - $last) * 1000 - $waited;
					$call->{ms} = $ms if $ms > $call->{ms};
					$ended++;
					$last = $now;
					($at_timeout, $waited) = (undef, 0);
				}
				elsif ($type eq 'E' || $type eq 'N')
				{
					my %field = Calls::Session::fields($body);
					if ($type eq 'N') { $is_bystander = 1 if $field{C} eq '57P02'; }
					elsif ($call->{state} eq '00000')
					{
						$call->{state} = $field{C};
						@$call{'message', 'location'} = (substr($field{M} // '', 0, 300), join(', ', map { $_ // '' } @field{'R', 'F', 'L'})) if $is_alone;
					}
				}
			}
			$heard = $now;
		}
		elsif (!$killed && ($now - $heard) * 1000 > $self->{timeout} + $self->{patience} + $waited &&
			$self->age_of_statement($session->{backend}) > $self->{timeout} + $self->{patience} + $waited)
		{
			# SIGQUIT ends a process at once, whatever it does. Then the server restarts.
			kill 'QUIT', $session->{backend};
			$killed = 1;
		}
		die "the server does not answer\n" if $now - $heard > 600;
	}
	return scalar @$calls if $ended == @owners;
	$session->{is_over} = 1;
	@$self{'crashed', 'crash'} = ($session->{checkpointer}, time());
	my $current = $owners[$ended];
	# The session was ended because another process crashed, so the call is made again. The other process may be one of
	# the call's own workers.
	return $current if $is_bystander && !$killed && $calls->[$current]{repeated}++ < 2;
	$calls->[$current]{state} = $killed ? 'deaf' : 'lost';
	$calls->[$current]{ms} = $self->{timeout} + $self->{patience} if $killed;
	return $current + 1;
}

# Makes calls, and returns those that are suspect. $meanwhile is called once: while the server is at work, or at once if
# there are no calls.
sub run
{
	my ($self, $calls, $meanwhile) = @_;
	my @calls = @$calls;
	my @left = @calls;

	$meanwhile->() if !@left;
	while (@left)
	{
		my $session = $self->{session} //= $self->open_session;
		my @before = run_and_waited($session->{backend});
		my $done = $self->run_calls($session, \@left, 0, $meanwhile);
		$meanwhile = undef;
		my @after = run_and_waited($session->{backend});
		$self->{has_run} += $after[0] - $before[0] if $after[0];
		$self->{has_waited} += $after[1] - $before[1] if $after[0];
		my $growth = peak($session->{backend}) - $session->{base};
		my @ended = splice @left, 0, $done;
		my $is_lost = $session->{is_over};
		if (!$is_lost && $growth > $self->{memory})
		{
			# Finds the calls that took the memory.
			$self->finish;
			$self->find_hungry(@ended);
		}
		if ($is_lost && @ended && $ended[-1]{state} =~ /^(?:lost|deaf)$/ && $ended[-1]{target})
		{
			$_->{state} = 'left out' foreach grep { $_->{target} == $ended[-1]{target} } @left;
			@left = grep { $_->{state} ne 'left out' } @left;
		}
		$self->finish if $is_lost || $growth > $self->{memory} / 4;
	}
	foreach my $call (@calls)
	{
		$call->{suspect} = $self->verdict($call) || $call->{suspect};
	}
	return grep { $_->{suspect} } @calls;
}

# Some calls took too much memory together. Marks those that take too much by themselves.
sub find_hungry
{
	my ($self, @calls) = @_;
	my $session;

	foreach my $call (@calls)
	{
		$session //= $self->open_session;
		my %copy = (sql => $call->{sql});
		$self->run_calls($session, [\%copy]);
		my $growth = peak($session->{backend}) - $session->{base};
		$call->{suspect} = 'memory' if $growth > $self->{memory};
		if ($growth > $self->{memory} || $session->{is_over})
		{
			close_session($session);
			$session = undef;
		}
	}
	close_session($session);
}

# Makes a call in a session of its own, once or $times times. Returns how it ended (if verdict() finds fault with one of
# these times, how that one ended), with the text of its error and the memory that was taken.
sub alone
{
	my ($self, $sql, $times) = @_;
	my @calls = map { +{sql => $sql} } 1 .. $times // 1;
	my ($session, $done) = (undef, 0);

	while (!$done)
	{
		close_session($session);
		$session = $self->open_session;
		$done = $self->run_calls($session, \@calls, 1);
	}
	my $result = $calls[$done - 1];
	foreach my $call (@calls[0 .. $done - 1])
	{
		$result = $call if $self->verdict($call) ne '';
	}
	my $peak = peak($session->{backend});
	$result->{growth} = $peak ? $peak - $session->{base} : 0; # 0 if the process is gone
	close_session($session);
	$result->{$_} //= '' foreach 'message', 'location';
	return $result;
}

# Repeats a suspect call alone, and then twice in one session. Returns undef if nothing is wrong, else how the call
# ended, with {kind}. A call that was late must be late in two repetitions.
sub confirm
{
	my ($self, $sql) = @_;
	my $result;

	foreach my $repetition (1, 2)
	{
		$result = $self->alone($sql);
		$result->{kind} = $self->verdict($result);
		last if $result->{kind} eq '';
		return $result if $result->{kind} !~ /^timeout late/;
	}
	return $result if $result->{kind} ne '';
	# Some faults show only when a call is made twice in a session.
	$result = $self->alone($sql, 2);
	$result->{kind} = $self->verdict($result);
	return $result->{kind} =~ /^(?:|timeout late|memory)$/ ? undef : $result;
}

1;
