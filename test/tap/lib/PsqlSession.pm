# PsqlSession.pm: a session that stays open, so that a test can have several at once: one psql behind two pipes.
#
#   my $one = PsqlSession->new('database');
#   my ($answer, $state, $message) = $one->ask('SELECT 1');   # '00000', or the first SQLSTATE of a failure
#   $one->send('UPDATE ...'); ...; ($answer, $state) = $one->answer;   # meanwhile others do something
#
# The text that is sent may hold any number of statements and psql commands, also COPY with its data. Only one question
# can be unanswered at a time. If the server goes away, the state is 'lost' for all further questions.
#
# PostgreSQL's BackgroundPsql does less: it waits for the answer of what it sends, and knows no SQLSTATE. It also reads
# psql's output through IPC::Run, which takes longer; the tests in test/attack ask some thousand questions each.
package PsqlSession;

use strict;
use warnings;

use IO::Handle;
use IPC::Open2;
use StreambloomTap;

sub new
{
	my ($class, $database, %option) = @_;
	my $self = bless {marker => 0}, $class;
	my @psql = (StreambloomTap::client_program('psql'), '-X', '-q', '-A', '-t', '-v', 'VERBOSITY=verbose', '-d', $database);

	local $ENV{PGOPTIONS} = ($ENV{PGOPTIONS} // '') . ' -c client_min_messages=warning';
	local $ENV{PGPORT} = $option{port} // $ENV{PGPORT};
	# A shell merges standard error into standard output, so that errors come in their place among the answers.
	$self->{pid} = open2($self->{out}, $self->{in}, 'sh', '-c', 'exec "$@" 2>&1', 'sh', @psql);
	$self->{in}->autoflush(1);
	return $self;
}

sub send
{
	my ($self, $sql) = @_;
	local $SIG{PIPE} = 'IGNORE';

	$self->{marker}++;
	print {$self->{in}} "$sql\n;\\echo end-of-answer $self->{marker}\n";
}

sub answer
{
	my ($self) = @_;
	my @lines;
	my ($state, $message) = ('lost', 'the server went away');

	while (defined(my $line = readline $self->{out}))
	{
		chomp $line;
		if ($line eq "end-of-answer $self->{marker}")
		{
			$state = '00000' if $state eq 'lost';
			last;
		}
		elsif ($line =~ /^(?:psql:.*?)?(?:ERROR|FATAL|PANIC):  ([0-9A-Z]{5}): (.*)/)
		{
			($state, $message) = ($1, $2) if $state eq 'lost';
		}
		elsif ($line !~ /^(?:LOCATION|DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LINE \d+|WARNING|psql:.*)[: ]/)
		{
			push @lines, $line;
		}
	}
	return (join("\n", @lines), $state, $state eq '00000' ? '' : $message);
}

sub ask
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->answer;
}

# The answer of a statement that must succeed.
sub sql
{
	my ($self, $sql) = @_;
	my ($answer, $state, $message) = $self->ask($sql);
	die "this failed with $state: $message\n$sql\n" if $state ne '00000';
	return $answer;
}

# Closes psql. The server then ends the session, whatever it is doing.
sub close
{
	my ($self) = @_;
	return if !$self->{pid};
	close $self->{in};
	close $self->{out};
	waitpid $self->{pid}, 0;
	delete $self->{pid};
}

1;
