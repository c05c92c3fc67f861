# Calls::Mutations: makes filters out of the bytes of valid ones, with changed bits, odd numbers in their headers, and
# pieces of other filters. The server tells which of these mutants it accepts as values. Those are arguments of the
# functions that take filters. Functions that make filters of bytes or texts also get some that the server refuses.
package Calls::Mutations;

use strict;
use warnings;

use Attack;

# Numbers of eight bytes that are at some limit, as doubles and as integers.
my @odd_words = ("\0" x 8, "\xff" x 8, "\xff" x 7 . "\x7f", "\0" x 7 . "\x80", "\1" . "\0" x 7, (map { pack('d<', $_) } 1e-320, 5e-324, 2.2e-308, 1e308, 1, -1, 0.5, 1e-20, 1e30, 9**9**9, -9**9**9, -sin(9**9**9)),
	map { pack('q<', $_) } 2, 16, 64, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, 1 << 53, 1 << 60, 1 << 62, -2, -(1 << 53));

# Returns one mutant of some bytes. It may have a part of another filter.
sub mutant
{
	my ($value, $stranger) = @_;
	my $header = length($value) < 128 ? 64 : 128;

	foreach (1 .. 1 + int(rand(3)))
	{
		my $size = length $value;
		last if $size < 8;
		my $at = int(rand(Attack::chance(0.8) && $size > $header ? $header : $size));
		my $way = int(rand(8));
		if ($way < 2) { substr($value, $at, 1) ^= chr(1 << int(rand(8))); }
		elsif ($way == 2) { substr($value, $at, 1) = chr(int(rand(256))); }
		elsif ($way == 3) { substr($value, $at & ~7, 8) = Attack::one_of(@odd_words) if ($at & ~7) + 8 <= $size; }
		elsif ($way == 4) { substr($value, $at & ~3, 4) = substr(Attack::one_of(@odd_words), 0, 4) if ($at & ~3) + 4 <= $size; }
		elsif ($way == 5) { substr($value, $header) = Attack::one_of("\0", "\1", "\xff", "\x80", "\x55") x ($size - $header) if $size > $header; }
		elsif ($way == 6) { substr($value, $header, 8) = Attack::one_of(@odd_words) if $size >= $header + 8; }
		else { substr($value, $at & ~7, 8) = substr($stranger, $at & ~7, 8) if ($at & ~7) + 8 <= $size && length $stranger >= ($at & ~7) + 8; }
	}
	$value = substr($value, 0, int(rand(length $value))) if Attack::chance(0.02);
	$value .= "\0" x (1 + int(rand(64))) if Attack::chance(0.02);
	return $value;
}

# Adds mutants of each type to the arguments: at most `count` that are accepted, and a few that are refused.
sub add_to
{
	my ($arguments, $database, $count) = @_;
	my @values = $arguments->bytes_of_filters;

	$database->sql(<<'SQL');
CREATE FUNCTION attack.is_taken(digits text, type text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %L::%s', '\x' || digits, type);
	RETURN true;
EXCEPTION WHEN OTHERS THEN
	RETURN false;
END $$
SQL
	foreach my $type ('bf', 'tbf', 'sbf', 'ibf', 'abf')
	{
		my @own = map { pack('H*', $_->[1]) } grep { $_->[0] eq $type } @values;
		my @mutants = map { unpack('H*', mutant(Attack::one_of(@own), pack('H*', Attack::one_of(@values)->[1]))) } 1 .. 4 * $count;
		my @rows = $database->rows("SELECT m, attack.is_taken(m, '$type') FROM unnest('{" . join(',', map { qq("$_") } @mutants) . "}'::text[]) m");
		my @taken = map { $_->[0] } grep { $_->[1] eq 't' } @rows;
		my @refused = map { $_->[0] } grep { $_->[1] eq 'f' } @rows;
		splice @taken, $count if @taken > $count;
		splice @refused, 20 if @refused > 20;
		$arguments->add_mutants($type, \@taken, \@refused);
	}
}

1;
