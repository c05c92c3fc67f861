# No mistake of mistakes/list.txt may be answered with a bare message. The SQLSTATE must not be that of an internal
# error, the answer must show what was wrong, and a hint must say how to go on. Of what PostgreSQL itself refuses, only
# the SQLSTATE is looked at.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('047');
$db->sql(StreambloomTap::read_file("$FindBin::Bin/mistakes/setup.sql"));

# The answer to a statement: severity, SQLSTATE, and the whole message. The statement is rolled back.
sub answer
{
	my ($sql) = @_;
	my ($code, $out, $err) = $db->try("LOAD 'streambloom';\nBEGIN;\nSET LOCAL client_min_messages = notice;\n$sql;\nROLLBACK;");
	my ($severity, $state) = $err =~ /\b(ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/;
	($severity, $state) = $err =~ /\b(NOTICE|WARNING):\s+([0-9A-Z]{5}):/ if !defined $severity;
	$err =~ s/^LOCATION:.*\n//mg;
	return ($severity // 'nothing', $state // '', $err);
}

my $number = 0;
foreach my $line (split /\n/, StreambloomTap::read_file("$FindBin::Bin/mistakes/list.txt"))
{
	next if $line =~ /^#|^$/;
	my @field = split /\t/, $line;
	my $sql = pop @field;
	my ($shown, $whose) = @field;
	my $accepted = $shown =~ s/^notice://;
	my ($severity, $state, $text) = answer($sql);
	my @missing;

	$number++;
	push @missing, $accepted ? 'a notice' : 'an error' if $severity !~ ($accepted ? qr/NOTICE|WARNING/ : qr/ERROR/);
	push @missing, 'a SQLSTATE of its own' if $state =~ /^XX/;
	# PostgreSQL refuses these statements before it calls the extension.
	if (($whose // '') ne 'postgresql')
	{
		# What is short must not be found by accident: in the SQLSTATE, in the hint, or as a part of another word.
		my $said = $text =~ s/^HINT: .*(?:\n(?![A-Z]+: ).*)*//mgr =~ s/\b(?:ERROR|NOTICE|WARNING):\s+\K[0-9A-Z]{5}://gr;
		my $found = length $shown > 2 ? index(lc $text, lc $shown) >= 0 : $said =~ /(?<![\w.])\Q$shown\E(?!\w|\.\d)/i;
		push @missing, "'$shown'" if !$found;
		push @missing, 'a hint' if $text !~ /^HINT: /m;
	}
	ok(!@missing, $sql) or diag('lacks ' . join(', ', @missing) . ":\n$text");
}
cmp_ok($number, '>=', 193, "$number mistakes");

done_testing();
