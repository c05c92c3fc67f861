# OwnCluster.pm: a cluster of the test's own, and a standby of it, by PostgreSQL's module for its own tests.
#
# For tests that need settings which a server takes only at its start, that stop or kill the server, or look into its
# files. From start() on, PGHOST, PGPORT and PGUSER name the new cluster, so that StreambloomTap works in it. Both
# servers share one folder for sockets, and are stopped when the test ends, also by a signal.
package OwnCluster;

use strict;
use warnings;

use Test::More;
use Time::HiRes qw(sleep);

# PostgreSQL's module removes the variables that name a server or a locale from the environment. They are put back after
# it was loaded, since a test may decide only later whether it wants a cluster of its own.
my %environment;
BEGIN { %environment = map { ($_ => $ENV{$_}) } grep { /^(?:PG|L)/ } keys %ENV; }

# The folder of the module, and its program for pg_hba.conf. scripts/test gives both; a test that is run by itself finds
# them by pg_config.
BEGIN
{
	my $pgxs = `${\($ENV{PG_CONFIG} || 'pg_config')} --pgxs`;
	$pgxs =~ s{/src/makefiles/pgxs\.mk\s*\z}{};
	push @INC, "$pgxs/src/test/perl";
	$ENV{PG_REGRESS} //= "$pgxs/src/test/regress/pg_regress";
	$environment{PG_REGRESS} = $ENV{PG_REGRESS};
}
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils qw(slurp_file);
# In INIT, because the module sets PGHOST and PGDATABASE in an INIT block of its own.
INIT
{
	delete @ENV{'PGHOST', 'PGDATABASE'};
	@ENV{keys %environment} = values %environment;
}

use StreambloomTap;

my ($primary, $standby);

# In place of those that the module writes for its own tests.
my %usual = (
	fsync => 'off',
	shared_buffers => '64MB',
	max_connections => 100,
	max_wal_size => '1GB',
	wal_log_hints => 'off',
	restart_after_crash => 'on',
	log_statement => 'none',
	log_replication_commands => 'off',
	dynamic_shared_memory_type => 'mmap',
	jit => 'off',
	timezone => 'UTC',
	log_timezone => 'UTC');

sub lines_of
{
	my (%setting) = @_;
	return join '', map { "$_ = '$setting{$_}'\n" } sort keys %setting;
}

# Makes a cluster and starts it, with these settings besides the usual ones.
sub start
{
	my (%setting) = @_;

	plan skip_all => 'root cannot start a second cluster' if $> == 0;
	$SIG{$_} = sub { exit(1) } foreach 'INT', 'TERM', 'HUP';
	$primary = PostgreSQL::Test::Cluster->new('primary');
	$primary->init(allows_streaming => 1, extra => ['-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8']);
	$primary->append_conf('postgresql.conf', lines_of(%usual, %setting));
	$primary->start;
	@ENV{'PGHOST', 'PGPORT', 'PGUSER'} = ($primary->host, $primary->port, 'postgres');
}

# Restarts it with further settings, or starts it if it was stopped.
sub restart
{
	my (%setting) = @_;

	$primary->append_conf('postgresql.conf', lines_of(%setting));
	$primary->stop;
	$primary->start;
}

# Stops it after all changed pages were written.
sub stop { $primary->stop; }

# Kills all processes of the cluster at once, as if the machine had failed.
sub kill_all
{
	my (undef, $listed) = StreambloomTap::psql('postgres', 'SELECT pid FROM pg_stat_activity');
	my @pids = (split(/\n/, $listed), slurp_file(data_dir() . '/postmaster.pid') =~ /^(\d+)/);

	$primary->kill9;
	kill 'KILL', @pids;
	# A killed process holds the shared memory until it is really gone.
	for (my $waited = 0; $waited < 60; $waited += 0.1)
	{
		return if !grep { kill 0, $_ } @pids;
		sleep(0.1);
	}
	diag('a process that was killed is still there');
}

# Starts the cluster after it was killed.
sub recover { $primary->start; }

sub data_dir { return $primary->data_dir; }

# The log of the cluster.
sub server_log { return $primary && -e $primary->logfile ? slurp_file($primary->logfile) : ''; }

# What both servers' logs say of processes that crashed and of pages that differ, with the statement.
sub crashes
{
	my $log = server_log() . standby_log();
	return join "\n", $log =~ /^.*(?:terminated by signal|PANIC|TRAP:|inconsistent page).*(?:\n.*DETAIL:.*|\n\t.*)*/mg;
}

# Starts a standby that streams from the cluster, and returns its port.
sub start_standby
{
	my (%setting) = @_;

	$primary->backup('for_standby');
	$standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'for_standby', has_streaming => 1);
	$standby->append_conf('postgresql.conf', lines_of(%setting));
	$standby->start;
	return $standby->port;
}

# Waits until the standby has replayed what the primary has written so far.
sub catch_up { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); }

sub promote_standby { $standby->promote; }

sub standby_log { return $standby && -e $standby->logfile ? slurp_file($standby->logfile) : ''; }

1;
