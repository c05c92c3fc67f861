# Calls::Caller: makes calls, many at a time, and says how each ended: SQLSTATE, milliseconds, memory of the server process.
#
# A call is a hash; {sql} is one line for psql, {memory} the bytes it may take if that is more than for others. One session runs a file of some hundred calls; the session is watched, so
# that one which does not end, although its statement_timeout has passed, is ended from outside. run() fills in:
#   state     SQLSTATE of the first error, 00000 without one, 'lost' if the server process ended by itself, 'deaf' if it had
#             to be ended because it did not heed the timeout, 'left out' if one with the same {target} has ended so before
#   ms        how long its longest statement took; from alone(), without the time after the timeout in which the process was
#             ready to run but had no processor
#   suspect   why it should be repeated alone: what verdict() says, or 'memory' for all calls of a file that took too much
# alone() makes one call in a session of its own, and has also the text of the error and the memory taken.
package Calls::Caller;

use strict;
use warnings;

use IO::Handle;
use IPC::Open2;
use POSIX ();
use Time::HiRes qw(time sleep);
use StreambloomTap;

# Options: database; timeout, late and patience in milliseconds: statement_timeout, how much later it may be honoured, and
# after how much more the process is ended; memory: the bytes that a process may take.
sub new
{
	my ($class, %option) = @_;
	my $self = bless {timeout => 1000, late => 500, patience => 5000, memory => 1 << 30, files => 0, %option}, $class;
	return $self;
}

# What is wrong with how a call ended, or ''.
sub verdict
{
	my ($self, $call) = @_;

	return 'internal error' if $call->{state} =~ /^XX/;
	return 'lost connection' if $call->{state} eq 'lost';
	return 'timeout not heeded' if $call->{state} eq 'deaf';
	return 'timeout late' if $call->{ms} > $self->{timeout} + $self->{late};
	return 'memory' if $call->{state} eq '53200' || ($call->{growth} // 0) > ($call->{memory} // $self->{memory});
	return '';
}

# The peak of a process's memory in bytes.
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

# How many milliseconds a process was ready to run and had no processor, on a machine that is busy with other things.
sub waited
{
	my ($pid) = @_;
	open(my $file, '<', "/proc/$pid/schedstat") or return 0;
	return (readline($file) // '') =~ /^\d+ (\d+)/ ? $1 / 1e6 : 0;
}

sub open_session
{
	my ($self, $verbosity) = @_;
	my @psql = (StreambloomTap::client_program('psql'), '-X', '-q', '-A', '-t', '-v', "VERBOSITY=$verbosity", '-d', $self->{database});
	my $patience = time() + 60;

	local $ENV{PGOPTIONS} = "-c client_min_messages=warning -c statement_timeout=$self->{timeout} -c jit=off -c search_path=public";
	local $ENV{PGCONNECT_TIMEOUT} = 10;
	while (1)
	{
		my ($out, $in);
		my $pid = open2($out, $in, 'sh', '-c', 'exec "$@" 2>&1', 'sh', @psql);
		my $session = {psql => $pid, in => $in, out => $out, rest => ''};
		$in->autoflush(1);
		local $SIG{PIPE} = 'IGNORE';
		print $in "SELECT 'backend', pg_backend_pid(), (SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer');\n";
		while (defined(my $line = readline $out))
		{
			next if $line !~ /^backend\|(\d+)\|(\d+)$/;
			@$session{'backend', 'base', 'checkpointer'} = ($1, peak($1), $2);
			last;
		}
		# After a crash the server starts anew, with another checkpointer, and a session that comes too early is ended.
		if ($session->{backend} && (($self->{crashed} // 0) != $session->{checkpointer} || time() > $self->{crash} + 20))
		{
			delete $self->{crashed};
			return $session;
		}
		close_session($session);
		die "the server does not come back\n" if time() > $patience;
		sleep(0.1);
	}
}

sub close_session
{
	my ($session) = @_;
	return if !$session;
	close $session->{in};
	close $session->{out};
	waitpid $session->{psql}, 0;
}

sub finish
{
	my ($self) = @_;
	close_session(delete $self->{session});
}

# How many milliseconds the statement under way in a process has taken; 0 if there is none.
sub age_of_statement
{
	my ($self, $backend) = @_;
	my ($code, $out, $err) = StreambloomTap::psql($self->{database},
		"SELECT extract(epoch FROM clock_timestamp() - query_start) * 1000 FROM pg_stat_activity WHERE pid = $backend AND state = 'active'");
	return $code == 0 && $out =~ /^([\d.]+)/ ? $1 : 0;
}

# Runs calls in one session, from the first on: returns how many have ended, in whatever way (0 if the session was no good). With $note each line of output
# goes there, and the process is observed closely from the timeout on.
sub run_file
{
	my ($self, $session, $calls, $note) = @_;
	my ($waited_before, $waited) = (undef, 0);
	my $path = StreambloomTap::scratch() . '/calls.' . $self->{files}++ % 3 . '.sql';
	my $text = "\\timing on\n\\o /dev/null\n";
	my ($current, $ended, $killed, $is_bystander) = (-1, 0, 0, 0);
	my $heard = time();

	# A block that an error has left open is closed.
	$text .= "\\echo \@$_\n$calls->[$_]{sql};\n" . ($calls->[$_]{sql} =~ /^BEGIN\b/ ? "ROLLBACK;\n" : '') foreach 0 .. $#$calls;
	StreambloomTap::write_file($path, "$text\\echo \@end\n\\o\n\\timing off\n");
	foreach my $call (@$calls)
	{
		@$call{'state', 'ms'} = ('00000', 0);
	}
	local $SIG{PIPE} = 'IGNORE';
	print {$session->{in}} "\\i $path\n";
	my $began = time();
	while (!$ended)
	{
		my $ready = '';
		vec($ready, fileno($session->{out}), 1) = 1;
		my $got_something = select($ready, undef, undef, $note ? 0.05 : 1) > 0;
		if ($note && (time() - $began) * 1000 > $self->{timeout})
		{
			my $now = waited($session->{backend});
			$waited = $now - ($waited_before //= $now) if $now;
		}
		if ($got_something)
		{
			$heard = time();
			my $got = sysread($session->{out}, $session->{rest}, 65536, length $session->{rest});
			last if !$got;
			# Some messages repeat a value of many megabytes.
			$session->{rest} = substr($session->{rest}, 0, 8192) if length $session->{rest} > 1 << 20 && index($session->{rest}, "\n") < 0;
			while ($session->{rest} =~ s/\A([^\n]*)\n//)
			{
				my $line = $1;
				my $call = $current >= 0 ? $calls->[$current] : {};
				if ($line =~ /^@(\d+)$/) { $current = $1; }
				elsif ($line eq '@end') { $ended = 1; }
				elsif ($line =~ /^(?:psql:\S+ )?WARNING:  57P02/) { $is_bystander = 1; }
				elsif ($line =~ /^Time: ([\d.]+) ms/) { $call->{ms} = $1 if $1 > $call->{ms}; }
				elsif ($line =~ /^(?:psql:\S+ )?(?:ERROR|FATAL|PANIC):  ([0-9A-Z]{5})\b/) { $call->{state} = $1 if $call->{state} eq '00000'; }
				$note->($line) if $note;
			}
		}
		elsif (!$killed && (time() - $heard) * 1000 > $self->{timeout} + $self->{patience} + $waited &&
			$self->age_of_statement($session->{backend}) > $self->{timeout} + $self->{patience} + $waited)
		{
			# SIGQUIT ends a process at once, whatever it does; the server starts anew.
			kill 'QUIT', $session->{backend};
			$killed = 1;
		}
		die "psql does not answer\n" if time() - $heard > 600;
	}
	$calls->[-1]{ms} -= $waited if $note && $ended && $calls->[-1]{ms} > $self->{timeout};
	return scalar @$calls if $ended;
	$session->{is_over} = 1;
	@$self{'crashed', 'crash'} = ($session->{checkpointer}, time());
	$current = 0 if $current < 0;
	# The session was ended because another process crashed: the call is made again.
	return $current if $is_bystander && !$killed;
	$calls->[$current]{state} = $killed ? 'deaf' : 'lost';
	$calls->[$current]{ms} = $self->{timeout} + $self->{patience} if $killed;
	return $current + 1;
}

# Makes calls; returns those that are suspect.
sub run
{
	my ($self, @calls) = @_;
	my @left = @calls;

	while (@left)
	{
		my $session = $self->{session} //= $self->open_session('sqlstate');
		my $done = $self->run_file($session, \@left);
		my $growth = peak($session->{backend}) - $session->{base};
		my @ended = splice @left, 0, $done;
		my $is_lost = $session->{is_over};
		if (!$is_lost && $growth > $self->{memory})
		{
			# Which of them was it?
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

# Marks the calls, of some that together took too much, that do so by themselves.
sub find_hungry
{
	my ($self, @calls) = @_;
	my $session;

	foreach my $call (@calls)
	{
		$session //= $self->open_session('sqlstate');
		my %copy = (sql => $call->{sql});
		$self->run_file($session, [\%copy]);
		my $growth = peak($session->{backend}) - $session->{base};
		$call->{suspect} = 'memory' if $growth > ($call->{memory} // $self->{memory});
		if ($growth > $self->{memory} || $session->{is_over})
		{
			close_session($session);
			$session = undef;
		}
	}
	close_session($session);
}

# One call in a session of its own, with all that is known of its error.
sub alone
{
	my ($self, $sql, $memory, $times) = @_;
	my @calls = map { +{sql => $sql, memory => $memory} } 1 .. $times // 1;
	my @lines;
	my ($session, $done) = (undef, 0);

	while (!$done)
	{
		close_session($session);
		$session = $self->open_session('verbose');
		$done = $self->run_file($session, \@calls, sub { push @lines, $_[0] });
	}
	my $result = $calls[$done - 1];
	foreach my $call (@calls[0 .. $done - 1])
	{
		$result = $call if $self->verdict($call) ne '';
	}
	$result->{growth} = peak($session->{backend}) - $session->{base};
	close_session($session);
	my ($message) = map { /(?:ERROR|FATAL|PANIC):  \w{5}: (.*)/ ? $1 : () } @lines;
	my ($location) = map { /^LOCATION:  (.*)/ ? $1 : () } @lines;
	@$result{'message', 'location'} = (substr($message // '', 0, 300), $location // '');
	return $result;
}

# Repeats a suspect call alone. Returns undef if nothing is wrong with it then, else how it ended, with {kind}. What was late
# has to be late twice more.
sub confirm
{
	my ($self, $sql, $memory) = @_;
	my $result;

	foreach my $repetition (1, 2)
	{
		$result = $self->alone($sql, $memory);
		$result->{kind} = $self->verdict($result);
		last if $result->{kind} eq '';
		return $result if $result->{kind} !~ /^timeout late/;
	}
	return $result if $result->{kind} ne '';
	# Something may go wrong the second time only.
	$result = $self->alone($sql, $memory, 2);
	$result->{kind} = $self->verdict($result);
	return $result->{kind} =~ /^(?:|timeout late|memory)$/ ? undef : $result;
}

1;
