# Calls::Session: a session to which many statements are sent in one go, and whose answers are read as they come. Each
# statement is a message of its own with an answer of its own. So the server runs it as if it had been sent alone: in
# its own transaction, under its own statement_timeout.
#
# psql would wait for each answer before it sends the next statement, and most of a call's cost is this waiting. So
# this class speaks PostgreSQL's protocol itself, as far as it needs it: queries without parameters, to a server that
# asks for no password.
package Calls::Session;

use strict;
use warnings;

use IO::Handle;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

# Of a longer answer only the beginning is kept.
my $longest = 1 << 20;

# Returns a new session, or undef if the server accepts none now. Options: folder and port of the socket, user,
# database, options (as in PGOPTIONS).
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

# Adds a query to those that the next answers() sends.
sub add
{
	my ($self, $query) = @_;
	$self->{output} .= 'Q' . pack('N', 5 + length $query) . "$query\0";
}

# Sends as much of the waiting output as the connection accepts now.
sub send
{
	my ($self) = @_;
	local $SIG{PIPE} = 'IGNORE';

	while ($self->{output} ne '')
	{
		my $sent = syswrite($self->{socket}, $self->{output});
		if (!defined $sent)
		{
			# What the server wrote before it ended can still be read.
			$self->{output} = '' if !$!{EAGAIN};
			return;
		}
		substr($self->{output}, 0, $sent) = '';
	}
}

# Waits up to $seconds for the server, sends waiting output, and returns the messages that have come, as pairs of type
# and body: rows (D), errors (E), warnings and notices (N), the end of a query (Z), and those of the login (R, K).
# Others are left out. When the server closes the session, is_open becomes false.
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

# The fields of an error or a warning, by their letters: C is the SQLSTATE, M the message; R, F and L are the place in
# the source.
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

# Returns the rows of a query; none if the server closes the session. No other query may be waiting for its answer. Dies
# on an error.
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

# The statements of a line for psql, each as one query. A semicolon ends a statement, but \; does not.
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
