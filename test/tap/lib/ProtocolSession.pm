# ProtocolSession.pm: a session that speaks PostgreSQL's protocol itself, because psql cannot open portals with a name
# and fetch only some of their rows. ask(), open_portal() and fetch() send their messages and return the answer.
package ProtocolSession;

use strict;
use warnings;

use IO::Socket::INET;
use IO::Socket::UNIX;

sub new
{
	my ($class, $database) = @_;
	my ($host, $port) = ($ENV{PGHOST}, $ENV{PGPORT} // 5432);
	my $socket = $host =~ m{^/} ? IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL.$port") :
		IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port);
	my $self = bless { socket => $socket }, $class;

	die "cannot connect to $host: $!" if !$socket;
	my $startup = pack('N', 196608) . join("\0", user => $ENV{PGUSER} // 'postgres', database => $database) . "\0\0";
	print $socket pack('N', 4 + length $startup) . $startup;
	$socket->flush;
	$self->answer;
	return $self;
}

sub send_message
{
	my ($self, $type, $body) = @_;
	my $socket = $self->{socket};

	print $socket $type . pack('N', 4 + length $body) . $body;
}

sub receive
{
	my ($self, $length) = @_;
	my $bytes = '';

	while (length $bytes < $length)
	{
		read($self->{socket}, $bytes, $length - length $bytes, length $bytes) or die 'the server closed the connection';
	}
	return $bytes;
}

# Reads until the server is ready. Returns the rows, with | between their columns, and the SQLSTATE; '00000' if nothing
# failed.
sub answer
{
	my ($self) = @_;
	my @rows;
	my $state = '00000';

	$self->{socket}->flush;
	while (1)
	{
		my ($type, $length) = unpack('aN', $self->receive(5));
		my $body = $self->receive($length - 4);

		if ($type eq 'R' && unpack('N', $body) != 0)
		{
			die 'the server asks for a password';
		}
		elsif ($type eq 'D')
		{
			my ($columns, $rest) = unpack('na*', $body);
			my @values;
			foreach (1 .. $columns)
			{
				(my $size, $rest) = unpack('Na*', $rest);
				push @values, $size == 0xFFFFFFFF ? '' : substr($rest, 0, $size, '');
			}
			push @rows, join('|', @values);
		}
		elsif ($type eq 'E')
		{
			($state) = $body =~ /(?:\A|\0)C([^\0]*)/;
			($self->{message}) = $body =~ /(?:\A|\0)M([^\0]*)/;
		}
		elsif ($type eq 'Z')
		{
			return (join("\n", @rows), $state);
		}
	}
}

# Sends a query by the simple protocol.
sub ask
{
	my ($self, $sql) = @_;

	$self->send_message('Q', "$sql\0");
	return $self->answer;
}

# Prepares a statement and opens a portal for it. The parameters are texts.
sub open_portal
{
	my ($self, $portal, $sql, @values) = @_;

	$self->send_message('P', "s_$portal\0$sql\0" . pack('n', 0));
	$self->send_message('B', "$portal\0s_$portal\0" . pack('nn', 0, scalar @values) .
		join('', map { pack('N', length $_) . $_ } @values) . pack('n', 0));
	$self->send_message('S', '');
	return $self->answer;
}

# Fetches this many rows from a portal.
sub fetch
{
	my ($self, $portal, $rows) = @_;

	$self->send_message('E', "$portal\0" . pack('N', $rows));
	$self->send_message('S', '');
	return $self->answer;
}

sub message { return $_[0]->{message} // ''; }

sub close
{
	my ($self) = @_;

	$self->send_message('X', '');
	CORE::close($self->{socket});
}

1;
