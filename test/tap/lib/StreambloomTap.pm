# StreambloomTap.pm: a database of its own for each test file, and the real data loaded into it.
#
# Tests run against a cluster that is already there (PGHOST, PGPORT, PGUSER: a superuser), with streambloom installed. A
# test makes a database with StreambloomTap->new('name') and talks to it through psql: one call is one session. All
# databases and roles made here are dropped when the test ends. A test that needs settings of its own which the server
# takes only at its start calls start_own_cluster(): from then on it talks to that one.
package StreambloomTap;

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use POSIX qw(_exit);
use Test::More;
use Time::HiRes qw(sleep);

my @databases;
my @roles;
my $scratch = tempdir('streambloom-tap-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $maker = $$;

# A scratch folder that is removed in the end.
sub scratch { return $scratch; }

# Runs a program with files for its input and output; returns exit code, output and errors.
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

# Where a client program of the installation that is tested lies: pg_dump must not be older than the server, and what
# distributions put in front of psql takes longer to start than psql.
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

# Skips the whole file if there is no cluster to talk to.
sub require_cluster
{
	plan skip_all => 'no cluster: PGHOST is not set (scripts/test starts one)' if !$ENV{PGHOST};
}

# The path of a file of the real data, or skips the whole file.
sub require_data
{
	my ($name, $unpacker) = @_;
	my $folder = $ENV{STREAMBLOOM_DATA} // '';

	plan skip_all => 'no real data: STREAMBLOOM_DATA is not set' if $folder eq '';
	plan skip_all => "no real data: $name is not in STREAMBLOOM_DATA" if !-r "$folder/$name";
	plan skip_all => "no $unpacker to unpack $name with" if system("command -v $unpacker >/dev/null 2>&1") != 0;
	return "$folder/$name";
}

# Where a program of the server lies: scripts/test puts those of the private copy with the extension first in the path.
sub server_program
{
	my ($name) = @_;
	my ($found) = grep { -x $_ } map { "$_/$name" } split /:/, $ENV{PATH} // '';
	return $found // client_program($name);
}

# A cluster of the test's own, beside the one that is there, with a socket directory of its own: two tests that start
# one at the same time do not meet. It is stopped in the end, also if the test is told to stop before.
my $own_cluster;

sub start_own_cluster
{
	my $folder = $scratch;
	my $port = 5432;

	plan skip_all => 'root cannot start a second cluster' if $> == 0;
	plan skip_all => "no place for a second cluster: $folder is too long for a socket" if length $folder > 90;
	$own_cluster = "$scratch/data";
	$SIG{$_} = sub { exit(1) } foreach 'INT', 'TERM', 'HUP';
	my ($code, $out, $err) = run_program('', server_program('initdb'), '-D', $own_cluster, '-U', 'postgres', '-A', 'trust',
		'-E', 'UTF8', '--locale=C.UTF-8', '--no-sync');
	BAIL_OUT("initdb failed: $err") if $code != 0;
	@ENV{'PGHOST', 'PGPORT', 'PGUSER'} = ($folder, $port, 'postgres');
	restart_own_cluster(
		listen_addresses => '', unix_socket_directories => $folder, port => $port, fsync => 'off', shared_buffers => '64MB',
		dynamic_shared_memory_type => 'mmap', timezone => 'UTC', log_timezone => 'UTC');
}

# Starts it anew, with further settings.
sub restart_own_cluster
{
	my (%setting) = @_;
	my $way = -e "$own_cluster/postmaster.pid" ? 'restart' : 'start';

	open(my $file, '>>', "$own_cluster/postgresql.conf") or die "cannot write postgresql.conf: $!";
	print $file "$_ = '$setting{$_}'\n" foreach sort keys %setting;
	close($file) or die "cannot write postgresql.conf: $!";
	my ($code, $out, $err) = run_program('', server_program('pg_ctl'), '-D', $own_cluster, '-w', '-m', 'fast',
		'-l', "$own_cluster/server.log", $way);
	BAIL_OUT("cannot $way a cluster: $err" . own_log()) if $code != 0;
}

# Kills all processes of that cluster at once, as if the machine had gone.
sub kill_own_cluster
{
	my (undef, $pids) = psql('postgres', 'SELECT pid FROM pg_stat_activity');
	my ($postmaster) = read_file("$own_cluster/postmaster.pid") =~ /^(\d+)/;

	kill 'KILL', $postmaster, split /\n/, $pids;
	sleep(0.1);
}

# Starts it when it was killed.
sub recover_own_cluster
{
	# What a process has left of the shared memory goes when it is gone.
	foreach (1 .. 50)
	{
		my ($code) = run_program('', server_program('pg_ctl'), '-D', $own_cluster, '-w', '-l', "$own_cluster/server.log", 'start');
		return if $code == 0;
		sleep(0.2);
	}
	BAIL_OUT('the server does not start again: ' . substr(own_log(), -3000));
}

# A standby of that cluster, on the next port: returns the port. It streams, and is stopped in the end too.
my ($standby, $standby_port);

sub start_standby
{
	my (%setting) = @_;
	$standby_port = $ENV{PGPORT} + 1;
	$standby = "$scratch/standby";
	my ($code, $out, $err) = run_program('', server_program('pg_basebackup'), '-D', $standby, '-R', '-X', 'stream', '-c', 'fast', '--no-sync');
	BAIL_OUT("pg_basebackup failed: $err") if $code != 0;
	open(my $file, '>>', "$standby/postgresql.conf") or die "cannot write postgresql.conf: $!";
	print $file "$_ = '$setting{$_}'\n" foreach sort keys %setting;
	print $file "port = '$standby_port'\n";
	close($file) or die "cannot write postgresql.conf: $!";
	($code, $out, $err) = run_program('', server_program('pg_ctl'), '-D', $standby, '-w', '-l', "$standby/server.log", 'start');
	BAIL_OUT("cannot start a standby: $err" . read_file("$standby/server.log")) if $code != 0;
	return $standby_port;
}

# The standby is one no longer.
sub promote_standby
{
	my ($code, $out, $err) = run_program('', server_program('pg_ctl'), '-D', $standby, '-w', 'promote');
	BAIL_OUT("cannot promote the standby: $err") if $code != 0;
}

sub standby_log { return $standby && -e "$standby/server.log" ? read_file("$standby/server.log") : ''; }

# What that server has to say.
sub own_log { return $own_cluster && -e "$own_cluster/server.log" ? read_file("$own_cluster/server.log") : ''; }

# Asks again until the answer is 't'; dies when that takes five minutes. For what other processes do in their own time.
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

# Waits until the standby has done what the primary had written so far.
sub catch_up
{
	my ($self) = @_;
	my $lsn = $self->sql('SELECT pg_current_wal_insert_lsn()');
	local $ENV{PGPORT} = $standby_port;
	return if eval { $self->wait_until("SELECT pg_last_wal_replay_lsn() >= '$lsn'", "the standby to come to $lsn"); 1 };
	diag("the standby does not come to $lsn; the end of its log:\n" . substr(standby_log(), -3000));
	die "no standby\n";
}

# A new database with the extension. Options: options (for CREATE DATABASE), bare (without the extension).
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

# Makes a role that is dropped in the end, after the databases.
sub make_role
{
	my ($self, $role, $attributes) = @_;
	push @roles, $role;
	$self->sql("DROP ROLE IF EXISTS $role; CREATE ROLE $role $attributes");
}

# Exit code, output and errors of some SQL.
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

# Rows of the output as references to arrays of columns.
sub rows
{
	my ($self, $sql) = @_;
	return map { [split /\|/, $_, -1] } split /\n/, $self->sql($sql);
}

# The SQLSTATE that some SQL fails with, '00000' if it does not fail, 'lost' if the server went away.
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

# Loads the lines of a packed file into a table (n, line), each as one value. n counts lines: COPY fills gaps in earlier
# pages, so that the order of rows in the table is not that of the file.
sub load_lines
{
	my ($self, $table, $path, $unpacker) = @_;
	$path =~ s/'/'\\''/g;
	my $command = "$unpacker -dc '$path'";
	$command =~ s/'/''/g;
	$self->sql("CREATE UNLOGGED TABLE $table (n bigserial, line text);\n" .
		"\\copy $table (line) from program '$command' with (format csv, quote e'\\x01', delimiter e'\\x02')\n" .
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

# SQL that turns a parallel plan on for whatever follows in the same call, or off.
sub parallel
{
	my ($workers) = @_;
	return "SET max_parallel_workers_per_gather = $workers; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; " .
		"SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = on;\n";
}

# One test: the plan of a query has aggregates in its workers.
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
		run_program('', server_program('pg_ctl'), '-D', $_, '-m', 'immediate', 'stop') foreach grep { $_ } $standby, $own_cluster;
	}
	$? = $status;
}

1;
