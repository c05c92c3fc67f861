# Runs the programs of test/drivers with the drivers that are installed. All must print what docs/drivers.md says, and
# have the lines that it prints. `scripts/test drivers` installs the drivers and sets STREAMBLOOM_DRIVERS; then programs
# that take long to compile run too.
use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use FindBin;
use IO::Socket::INET;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $page = StreambloomTap::read_file(abs_path("$FindBin::Bin/../../docs/drivers.md"));
my %program = map { s{.*/}{}r => StreambloomTap::read_file($_) } glob("$FindBin::Bin/../drivers/*");
my %printed = $page =~ /<!-- from: (\S+) -->\n\n```\w+\n(.*?)```\n/gs;
my %recipe = StreambloomTap::recipes('docs/drivers.md');
my ($output) = $page =~ /<!-- output -->\n\n```text\n(.*?)```/s or die 'no output';
my $all = $ENV{STREAMBLOOM_DRIVERS};

sub run { return StreambloomTap::run_program('', @_); }
sub can { return (run(@_))[0] == 0; }

# The first of these interpreters that can import all of these modules. (An interpreter that a user has put first in
# the path may lack the distribution's modules.)
sub python
{
	my (@modules) = @_;
	my ($found) = grep { can($_, '-c', 'import ' . join(', ', @modules)) } 'python3', '/usr/bin/python3';
	return $found;
}

# For each program: the commands that run it, or the reason why it cannot run.
my $jar = '/usr/share/java/postgresql.jar';
my $go = '/usr/share/gocode/src/github.com/jackc/pgx';
my %runner = (
	'psycopg.py' => sub { my $python = python('psycopg') // return 'there is no psycopg'; [[$python, 'psycopg_.py']] },
	'sqlalchemy.py' => sub { my $python = python('pandas', 'sqlalchemy', 'psycopg2') // return 'there is no pandas with SQLAlchemy and psycopg2'; [[$python, 'sqlalchemy_.py']] },
	'django.py' => sub { my $python = python('django', 'psycopg2') // return 'there is no Django with psycopg2'; [[$python, 'django_.py']] },
	'Visits.java' => sub {
		-e $jar && can('javac', '-version') or return 'there is no JDBC driver with javac';
		[['javac', '-cp', $jar, 'Visits.java'], ['java', '-cp', "$jar:.", 'Visits', "jdbc:postgresql://127.0.0.1:$ENV{PGPORT}/$ENV{PGDATABASE}?user=$ENV{PGUSER}"]]
	},
	'visits.js' => sub { can('node', '-e', 'require("pg")') or return 'there is no node-pg'; [['node', 'visits.js']] },
	'visits.go' => sub {
		can('go', 'version') && (-d "$go/v4" || -d "$go/v5") or return 'there is no pgx with go';
		$all or return 'it takes half a minute to compile: scripts/test drivers';
		[['go', 'run', 'visits.go']]
	},
	'visits.R' => sub { can('Rscript', '-e', 'library(RPostgreSQL)') or return 'there is no RPostgreSQL'; [['Rscript', 'visits.R']] });

my @names = grep { ref $runner{$_}() } sort keys %runner;
plan skip_all => 'there is no driver (scripts/test drivers installs them)' if !@names;

is(join(' ', sort keys %program), join(' ', sort keys %runner), 'each program is tried');
is(join(' ', sort keys %printed), join(' ', sort keys %program), 'the page has lines of each');
foreach my $name (sort keys %printed)
{
	is(join("\n", grep { index($program{$name} // '', $_) < 0 } split /\n/, $printed{$name}), '', "$name has the lines that the page prints");
}
# JDBC cannot use Unix sockets, so the server listens on a port that was free a moment ago.
OwnCluster::start();
my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1', LocalPort => 0) or die "no port: $!";
my $port = $socket->sockport;
close($socket);
OwnCluster::restart(listen_addresses => '127.0.0.1', port => $port);
$ENV{PGPORT} = $port;
my $folder = StreambloomTap::scratch() . '/programs';
mkdir $folder or die "$folder: $!";
# Files that a program writes beside itself or in its home directory go into this folder.
$ENV{HOME} = $folder;
$ENV{PYTHONDONTWRITEBYTECODE} = 1;
$ENV{NODE_PATH} = join(':', grep { defined && length } $ENV{NODE_PATH}, '/usr/share/nodejs');
# Without cgo, which takes longest to compile.
@ENV{'GOPATH', 'GO111MODULE', 'GOCACHE', 'GOFLAGS', 'CGO_ENABLED'} = ('/usr/share/gocode', 'off', "$folder/go", '', 0);

my $number = 0;
foreach my $name (sort keys %runner)
{
	SKIP:
	{
		my $db = StreambloomTap->new('051_' . ++$number);
		$ENV{PGDATABASE} = $db->name;
		my $commands = $runner{$name}();
		skip("$name: $commands", 1) if !ref $commands;
		$db->sql($recipe{tables});
		my $text = $program{$name};
		$text =~ s{jackc/pgx/v4}{jackc/pgx/v5} if !-d "$go/v4";
		# A module must not have the same name as a module that it imports.
		StreambloomTap::write_file("$folder/" . $name =~ s/\.py$/_.py/r, $text);
		my $here = getcwd();
		chdir $folder or die "$folder: $!";
		my ($code, $out, $err);
		foreach my $command (@$commands)
		{
			($code, $out, $err) = run(@$command);
			last if $code != 0;
		}
		chdir $here or die "$here: $!";
		ok($code == 0 && $out eq $output, "$name prints what the page says") or diag("$code\n$out\n$err");
	}
}

done_testing();
