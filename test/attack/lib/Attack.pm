# Attack.pm: what the tests of this folder share: the seed of the random numbers, the seconds that a test may take,
# random choices, and a limit of memory.
#
# STREAMBLOOM_SEED is a whole number. Each seed makes another run; the same seed makes the same one, as far as the time
# allows. STREAMBLOOM_SECONDS is how long the whole test may take; without it the test is in its short mode.
package Attack;

use strict;
use warnings;

use Time::HiRes ();

my $began = Time::HiRes::time();
my $seed = $ENV{STREAMBLOOM_SEED} || 1;
my $seconds = $ENV{STREAMBLOOM_SECONDS};

srand($seed);

sub seed { return $seed; }

# Returns whether the test is in the long mode.
sub is_long { return defined $seconds && $seconds ne ''; }

# Returns how many of the test's seconds are left. In the short mode it has SHORT seconds.
sub seconds_left
{
	my ($short) = @_;
	return (is_long() ? $seconds : $short) - (Time::HiRes::time() - $began);
}


# A random element of an array.
sub one_of { return $_[int(rand(scalar @_))]; }

# The elements of an array in a random order.
sub shuffled
{
	my @list = @_;
	for (my $i = $#list; $i > 0; $i--)
	{
		my $j = int(rand($i + 1));
		@list[$i, $j] = @list[$j, $i];
	}
	return @list;
}

# True with this probability.
sub chance { return rand() < $_[0]; }

# Limits the memory of each process that this test starts, and switches core files off. So a function that would take
# all memory gets an error (53200), and the machine goes on. Processes inherit the limit, so the test starts itself
# anew with it. To be called by a BEGIN block, before PostgreSQL's modules (OwnCluster.pm) take over the output.
sub limit_memory
{
	my ($megabytes) = @_;

	return if $ENV{STREAMBLOOM_ATTACK_LIMITED};
	$ENV{STREAMBLOOM_ATTACK_LIMITED} = 1;
	$ENV{PERL5LIB} = join(':', @INC);
	exec 'sh', '-c', 'ulimit -v "$1" && ulimit -c 0 && shift && exec "$@"', 'sh', $megabytes * 1024, $^X, $0, @ARGV;
	die "cannot run sh: $!";
}

1;
