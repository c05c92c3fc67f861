# Calls::Session: a session that is sent many statements in one go and whose answers are read as they come. Each
# statement is a message of its own to the server, with its own answer, so the server runs it just as if it had been
# sent alone: by itself, in its own transaction, under its own statement_timeout.
#
# psql waits for each answer before it sends the next statement, and what a call costs is mostly that. So this speaks
# the protocol of PostgreSQL itself, as far as it is needed for that: queries without parameters, to a server that asks
# for no password.
package Calls::Session;

use strict;
use warnings;

use IO::Handle;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

# Of an answer that is longer only the beginning is kept.
my $longest = 1 << 20;

# A new session, or undef if the server takes none now. Options: folder and port of the socket, user, database, options
# (as PGOPTIONS has them).
sub new
{
	my ($class, %option) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$option{folder}/.s.PGSQL.$option{port}") or return undef;
	my $self = bless {socket => $socket, input => '', output => '', skip => 0, is_open => 1}, $class;
	my $start = join("\0", 'user', $option{user}, 'database', $option{database}, 'options', $option{options}, 'client_encoding', 'UTF8', '', '');

	$socket->blocking(0);
	$self->{output} = pack('N N', 8 + length $start, 196608) . $start;
	my $patience = time() + 10;
	while ($self->{is_open} && time() < $patience)
	{
		foreach my $answer ($self->answers(0.5))
		{
			my ($type, $body) = @$answer;
			die "the server asks for a password\n" if $type eq 'R' && unpack('N', $body) != 0;
			$self->{backend} = unpack('N', $body) if $type eq 'K';
			return $self if $type eq 'Z';
		}
	}
	return undef;
}

# Adds a query to what is sent when answers() is called.
sub add
{
	my ($self, $query) = @_;
	$self->{output} .= 'Q' . pack('N', 5 + length $query) . "$query\0";
}

# Sends as much of what there is to send as the connection takes now.
sub send
{
	my ($self) = @_;
	local $SIG{PIPE} = 'IGNORE';

	while ($self->{output} ne '')
	{
		my $sent = syswrite($self->{socket}, $self->{output});
		if (!defined $sent)
		{
			# What the server said before it ended is still read.
			$self->{output} = '' if !$!{EAGAIN};
			return;
		}
		substr($self->{output}, 0, $sent) = '';
	}
}

# Sends what there is to send, and returns the answers that come within some seconds, as pairs of type and body; of
# those that come before a query is done, only errors, warnings and rows. When the server closes the session, is_open is
# false.
sub answers
{
	my ($self, $seconds) = @_;
	my ($reads, $writes) = ('', '');
	my @answers;

	vec($reads, fileno($self->{socket}), 1) = 1;
	$writes = $reads if $self->{output} ne '';
	return () if select($reads, $writes, undef, $seconds) <= 0;
	$self->send;
	return () if !vec($reads, fileno($self->{socket}), 1);
	my $got = sysread($self->{socket}, $self->{input}, 65536, length $self->{input});
	if (!$got)
	{
		$self->{is_open} = 0 if defined $got || !$!{EAGAIN};
		return ();
	}
	my $at = 0;
	my $end = length $self->{input};
	if ($self->{skip} > 0)
	{
		$at = $self->{skip} < $end ? $self->{skip} : $end;
		$self->{skip} -= $at;
	}
	while ($end - $at >= 5)
	{
		my ($type, $length) = unpack('a N', substr($self->{input}, $at, 5));
		my $is_long = $length > $longest;
		last if $end - $at < ($is_long ? 8192 : $length + 1);
		push @answers, [$type, substr($self->{input}, $at + 5, $is_long ? 8000 : $length - 4)] if index('ENZDRK', $type) >= 0;
		$at += $length + 1;
		next if $at <= $end;
		$self->{skip} = $at - $end;
		$at = $end;
	}
	substr($self->{input}, 0, $at) = '';
	return @answers;
}

# The fields of an error or a warning, by their letters: C is the SQLSTATE, M the message, R, F and L the place in the
# source.
sub fields
{
	my ($body) = @_;
	return map { (substr($_, 0, 1), substr($_, 1)) } grep { $_ ne '' } split /\0/, $body;
}

# The columns of a row as texts.
sub columns
{
	my ($body) = @_;
	my $count = unpack('n', $body);
	my $at = 2;
	my @columns;

	foreach (1 .. $count)
	{
		my $length = unpack('l>', substr($body, $at, 4));
		push @columns, $length < 0 ? undef : substr($body, $at + 4, $length);
		$at += 4 + ($length < 0 ? 0 : $length);
	}
	return @columns;
}

# The rows that a query returns. Answers to others must not be under way. An error dies.
sub ask
{
	my ($self, $query) = @_;
	my @rows;

	$self->add($query);
	while ($self->{is_open})
	{
		foreach my $answer ($self->answers(60))
		{
			my ($type, $body) = @$answer;
			push @rows, [columns($body)] if $type eq 'D';
			die "$query: " . substr($body, 0, 500) . "\n" if $type eq 'E';
			return @rows if $type eq 'Z';
		}
	}
	return ();
}

sub close
{
	my ($self) = @_;
	CORE::close($self->{socket});
}

# The statements of a line for psql, each a query: a semicolon ends one, but one that is written \; does not.
sub statements
{
	my ($line) = @_;
	my ($statement, @statements) = ('');

	return ($line) if index($line, ';') < 0;
	while ($line =~ /\G('[^']*'|"[^"]*"|\$do\$.*?\$do\$|\\;|;|[^;'"\$\\]+|.)/gcs)
	{
		my $part = $1;
		if ($part eq ';')
		{
			push @statements, $statement if $statement =~ /\S/;
			$statement = '';
		}
		else { $statement .= $part eq '\\;' ? ';' : $part; }
	}
	push @statements, $statement if $statement =~ /\S/;
	return @statements;
}

1;
