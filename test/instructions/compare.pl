#!/usr/bin/env perl
# compare.pl: counts the instructions of operations, and compares them with their bounds. Called by the suite
# `instructions` of scripts/test, which reads its output. A line that begins with ok, FAIL or skip is about an
# operation, or about a variant of the kernels that has failed or cannot run here; the operations of such a variant have
# no lines. Other lines explain the last one.
#
#   compare.pl PROGRAM BOUNDS FOLDER base|measured|other
#
# PROGRAM is what operations*.cpp are compiled to; BOUNDS is bounds.txt; FOLDER is for what callgrind writes. With
# "base", the first column of the file is of this compiler. Then an operation also fails if it takes less than three
# quarters of its number: its line has to be written anew. With "other", nobody has counted with this compiler. Then an
# operation above its bound is skipped, and does not fail.
use strict;
use warnings;

# glibc chooses among several memcpy(), memset(), exp2() and so on, by what the processor has. This leaves those that
# every x86-64 processor has. Names that a glibc does not know are ignored.
$ENV{GLIBC_TUNABLES} = 'glibc.cpu.hwcaps=' . join ',', map { "-$_" } qw(SSSE3 SSE4_1 SSE4_2 AVX AVX2 AVX512F FMA FMA4 ERMS FSRM
	AVX_Fast_Unaligned_Load);
# Without this, the search for a library's function is counted with the first call of the function.
$ENV{LD_BIND_NOW} = 1;

my ($program, $bounds, $folder, $compiler) = @ARGV;
my $failed = 0;

sub fail
{
	print "FAIL @_\n";
	$failed++;
}

# Begins to count one variant of the kernels.
sub begin
{
	my ($variant) = @_;
	my $out = "$folder/$variant";
	mkdir $out or die "cannot make $out: $!\n";
	my $pid = open(my $pipe, '-|') // die "cannot fork: $!\n";
	if ($pid == 0)
	{
		open(STDERR, '>', "$out/messages") or die "cannot write to $out: $!\n";
		exec 'bash', '-c', 'ulimit -Sn 1024 && exec "$@"', 'bash', 'valgrind', '--tool=callgrind', '--quiet', '--instr-atstart=no', "--callgrind-out-file=$out/counts", $program, $variant;
		exit 127;
	}
	return {variant => $variant, out => $out, pipe => $pipe};
}

# Waits for the end of a run, and returns the instructions for an item, by the name of the operation. undef if the
# variant does not run here, or failed.
sub end
{
	my ($run) = @_;
	my ($pipe, $out, $variant) = @$run{qw(pipe out variant)};
	my (%items, %counted);
	while (<$pipe>)
	{
		$items{$1} = $2 if /^(\S+) (\d+)$/;
	}
	close $pipe;
	if ($? == 77 << 8)
	{
		print "skip with $variant: this processor lacks the instructions, or this valgrind does not know them\n";
		return;
	}
	if ($? != 0)
	{
		fail("with $variant: the program ended with status " . ($? >> 8 || "signal $?"));
		system 'cat', "$out/messages";
		return;
	}
	for my $path (glob "$out/counts.*")
	{
		my ($name, $total);
		open(my $file, '<', $path) or die "cannot read $path: $!\n";
		while (<$file>)
		{
			$name = $1 if /^desc: Trigger: Client Request: (\S+)$/;
			$total = $1 if /^totals: (\d+)$/;
		}
		$counted{$name} = $total / $items{$name} if defined $name && $total && $items{$name};
	}
	for my $name (sort keys %items)
	{
		fail("$name: callgrind has counted nothing") if !exists $counted{$name};
	}
	return \%counted;
}

my (@names, %written, %bound);
open(my $file, '<', $bounds) or die "cannot read $bounds: $!\n";
while (<$file>)
{
	next if /^(?:#|$)/;
	my ($name, $counted, $most) = /^(\S+) +([0-9.]+) +([0-9.]+)  \S/ or die "$bounds, line $.: not a name, two numbers and an item\n";
	die "$bounds, line $.: $name is there twice\n" if exists $bound{$name};
	my $right = 1.25 * $counted;
	$right = 1.05 * $1 if /\(\S+ \d+: ([0-9.]+)\)$/ && 1.05 * $1 > $right;
	die "$bounds, line $.: the bound of $name should be $right\n" if abs($most - $right) > 0.005 * $right;
	$written{$name} = $counted;
	push @names, $name;
	$bound{$name} = $most;
}
close $file;

my %counted;
my %missing;
for my $run (map { begin($_) } qw(portable avx2))
{
	my $of_run = end($run);
	$missing{$run->{variant}} = 1 if !$of_run;
	%counted = (%counted, %{$of_run // {}});
}
for my $name (@names)
{
	my $number = delete $counted{$name};
	if (defined $number)
	{
		my $said = sprintf '%s: %.2f instructions, at most %s', $name, $number, $bound{$name};
		if ($number > $bound{$name} && $compiler eq 'other') { print "skip $said, of a compiler that nobody has counted with\n" }
		elsif ($number > $bound{$name}) { fail($said) }
		elsif ($compiler eq 'base' && $number < 0.75 * $written{$name}) { fail("$said, and so few that its line has to be written anew") }
		else { print "ok $said\n" }
	}
	elsif (!$missing{$name =~ m{/avx2$} ? 'avx2' : 'portable'})
	{
		fail("$name: has a bound, but was not counted");
	}
}
fail(sprintf '%s: %.2f instructions, but it has no line in %s', $_, $counted{$_}, $bounds) for sort keys %counted;
exit($failed > 0 ? 1 : 0);
