# StreambloomTap.pm: makes a database for each test file, runs SQL and programs, and finds and loads the real data.
#
# Tests run in an existing cluster (PGHOST, PGPORT, and PGUSER, a superuser) in which streambloom is installed. A test
# makes a database with StreambloomTap->new('name') and talks to it through psql; each call is a session of its own.
# All databases and roles that were made are dropped when the test ends. A test that needs settings which the server
# takes only at its start makes a cluster of its own (OwnCluster.pm).
package StreambloomTap;

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use POSIX qw(_exit);
use Test::More;

my @databases;
my @roles;
my $scratch = tempdir('streambloom-tap-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $maker = $$;

# A scratch folder, which is removed at the end.
sub scratch { return $scratch; }

# Runs a program, with files for its input and output. Returns its exit code, output and errors.
sub run_program
{
	my ($input, @command) = @_;
	my ($in, $out, $err) = map { "$scratch/$_.$$" } qw(stdin stdout stderr);

	write_file($in, $input);
	my $child = fork();
	defined $child or die "cannot fork: $!";
	if ($child == 0)
	{
		open(STDIN, '<', $in) && open(STDOUT, '>', $out) && open(STDERR, '>', $err) or _exit(126);
		exec { $command[0] } @command or _exit(127);
	}
	waitpid($child, 0);
	my $code = $? >> 8 || ($? & 127 ? 128 : 0);
	my @result = ($code, read_file($out), read_file($err));
	$result[2] .= "cannot run $command[0]\n" if $code == 127;
	return @result;
}

sub write_file
{
	my ($path, $content) = @_;
	open(my $file, '>:raw', $path) or die "cannot write $path: $!";
	print $file $content;
	close($file) or die "cannot write $path: $!";
}

sub read_file
{
	my ($path) = @_;
	open(my $file, '<:raw', $path) or die "cannot read $path: $!";
	local $/;
	my $content = <$file>;
	return $content // '';
}

# The path of a client program of the installation that is tested. pg_dump must not be older than the server, and the
# wrapper that distributions put in front of psql takes longer to start than psql.
my %client_programs;

sub client_program
{
	my ($name) = @_;
	return $client_programs{$name} //= do
	{
		my ($code, $folder) = run_program('', $ENV{PG_CONFIG} // 'pg_config', '--bindir');
		chomp $folder;
		$code == 0 && -x "$folder/$name" ? "$folder/$name" : $name;
	};
}

sub psql
{
	my ($database, $sql, %option) = @_;
	my @command = (client_program('psql'), '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', $database);

	push @command, '-v', 'VERBOSITY=' . ($option{verbosity} // 'verbose');
	local $ENV{PGCLIENTENCODING} = $option{encoding} // 'UTF8';
	local $ENV{PGOPTIONS} = ($ENV{PGOPTIONS} // '') . ' -c client_min_messages=warning';
	my ($code, $out, $err) = run_program($sql, @command);
	$out =~ s/\n\z//;
	return ($code, $out, $err);
}

# Skips the whole file if there is no cluster.
sub require_cluster
{
	plan skip_all => 'no cluster: PGHOST is not set (scripts/test starts one)' if !$ENV{PGHOST};
}

# Returns the path of a file of the real data, or skips the whole file.
sub require_data
{
	my ($name, $unpacker) = @_;
	my $folder = $ENV{STREAMBLOOM_DATA} // '';

	plan skip_all => 'no real data: STREAMBLOOM_DATA is not set' if $folder eq '';
	plan skip_all => "no real data: $name is not in STREAMBLOOM_DATA" if !-r "$folder/$name";
	plan skip_all => "no $unpacker to unpack $name with" if system("command -v $unpacker >/dev/null 2>&1") != 0;
	return "$folder/$name";
}

# The path of a program of the server. scripts/test puts the programs of the private copy of PostgreSQL first in the
# path.
sub server_program
{
	my ($name) = @_;
	my ($found) = grep { -x $_ } map { "$_/$name" } split /:/, $ENV{PATH} // '';
	return $found // client_program($name);
}

# Waits for other processes: asks again until the answer is 't', and dies after five minutes.
sub wait_until
{
	my ($self, $query, $what) = @_;
	foreach (1 .. 1000)
	{
		return if $self->sql($query) eq 't';
		select(undef, undef, undef, 0.3);
	}
	diag("waited in vain: $what");
	die "waited in vain\n";
}

# Makes a new database with the extension. Options: options (for CREATE DATABASE), bare (without the extension).
sub new
{
	my ($class, $name, %option) = @_;
	my $self = bless {name => "streambloom_tap_$name"}, $class;

	my ($code, $out, $err) = psql('postgres', "DROP DATABASE IF EXISTS $self->{name} WITH (FORCE)");
	if ($code == 0)
	{
		push @databases, $self->{name};
		($code, $out, $err) = psql('postgres', "CREATE DATABASE $self->{name} " . ($option{options} // ''));
	}
	BAIL_OUT("cannot make the database $self->{name}: $err") if $code != 0;
	$self->sql('CREATE EXTENSION streambloom') if !$option{bare};
	return $self;
}

sub name { return $_[0]{name}; }

# Makes a role. It is dropped at the end, after the databases.
sub make_role
{
	my ($self, $role, $attributes) = @_;
	push @roles, $role;
	$self->sql("DROP ROLE IF EXISTS $role; CREATE ROLE $role $attributes");
}

# Runs some SQL. Returns exit code, output and errors.
sub try
{
	my ($self, $sql, %option) = @_;
	return psql($self->{name}, $sql, %option);
}

# The output of SQL that must succeed; the test ends if it does not.
sub sql
{
	my ($self, $sql, %option) = @_;
	my ($code, $out, $err) = $self->try($sql, %option);
	if ($code != 0)
	{
		diag("this failed:\n" . substr($sql, 0, 2000) . "\nwith:\n" . substr($err, 0, 4000));
		die "psql failed with code $code\n";
	}
	return $out;
}

# The rows of the output; each is a reference to an array of columns.
sub rows
{
	my ($self, $sql) = @_;
	return map { [split /\|/, $_, -1] } split /\n/, $self->sql($sql);
}

# The SQLSTATE with which some SQL fails; '00000' if it does not fail, 'lost' if the server went away.
sub sqlstate
{
	my ($self, $sql, %option) = @_;
	my ($code, $out, $err) = $self->try($sql, %option);

	return '00000' if $code == 0;
	return $err =~ /(?:ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/ ? $1 : 'lost';
}

# One test: this SQL fails with this SQLSTATE and a message that matches.
sub fails_like
{
	my ($self, $sql, $state, $pattern, $name) = @_;
	my ($code, $out, $err) = $self->try($sql);
	my $ok = $code != 0 && $err =~ /ERROR:\s+\Q$state\E:/ && $err =~ $pattern;

	ok($ok, $name) or diag($code == 0 ? "no error, but: " . substr($out, 0, 500) : substr($err, 0, 1000));
}

# The source of a \copy of a packed file's lines. With $each, it has only the first line, the line $each lines after it,
# and so on.
sub lines_of
{
	my ($path, $unpacker, $each) = @_;
	$path =~ s/'/'\\''/g;
	my $command = "$unpacker -dc '$path'" . (($each // 1) > 1 ? " | awk 'NR % $each == 1'" : '');
	$command =~ s/'/''/g;
	return "program '$command'";
}

# Loads the lines of a packed file into a table (n, line), each line as one value. n counts the lines, because COPY
# fills gaps in earlier pages: rows are not stored in the order of the file.
sub load_lines
{
	my ($self, $table, $path, $unpacker, $each) = @_;
	my $lines = lines_of($path, $unpacker, $each);
	$self->sql("CREATE UNLOGGED TABLE $table (n bigserial, line text);\n" .
		"\\copy $table (line) from $lines with (format csv, quote e'\\x01', delimiter e'\\x02')\n" .
		"ANALYZE $table;");
}

# The recipes of a page of the documentation, by name: the SQL that follows each <!-- recipe: NAME -->.
sub recipes
{
	my ($page) = @_;
	my $text = read_file(dirname(__FILE__) . "/../../../$page");
	my %found;

	while ($text =~ /<!-- recipe: (.+?) -->\n\n?```sql\n(.*?)```\n/gs)
	{
		die "$page has two recipes named $1\n" if exists $found{$1};
		$found{$1} = $2;
	}
	my $marks = () = $text =~ /<!-- recipe:/g;
	die "$page has $marks recipes, of which " . keys(%found) . " are followed by SQL\n" if $marks != keys %found || !$marks;
	return %found;
}

# SQL that switches parallel plans on, or off, for the statements after it in the same call.
sub parallel
{
	my ($workers) = @_;
	return "SET max_parallel_workers_per_gather = $workers; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; " .
		"SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = on;\n";
}

# One test: in the plan of a query, workers aggregate.
sub plan_is_parallel
{
	my ($self, $query, $name) = @_;
	my $plan = $self->sql(parallel(2) . "EXPLAIN (COSTS OFF) $query");
	ok($plan =~ /Finalize Aggregate/ && $plan =~ /Gather/ && $plan =~ /Partial Aggregate/, $name) or diag($plan);
}

END
{
	my $status = $?;
	if ($$ == $maker)
	{
		psql('postgres', "DROP DATABASE IF EXISTS $_ WITH (FORCE)") foreach @databases;
		psql('postgres', "DROP ROLE IF EXISTS $_") foreach @roles;
	}
	$? = $status;
}

1;
