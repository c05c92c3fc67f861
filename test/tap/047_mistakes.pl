# No mistake of mistakes/list.txt may be answered with a bare message. The SQLSTATE must not be that of an internal
# error, the answer must show what was wrong, and a hint must say how to go on. Of what PostgreSQL itself refuses, only
# the SQLSTATE is looked at. Each mistake is made in two new sessions: in one the statement is the first that uses the
# extension, in the other one the library has been loaded before.
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

# The answer to a statement in a new session: severity, SQLSTATE, and the whole message. The statement is rolled back.
sub answer
{
	my ($sql, $before) = @_;
	my ($code, $out, $err) = $db->try("${before}BEGIN;\nSET LOCAL client_min_messages = notice;\n$sql;\nROLLBACK;");
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
	$number++;
	foreach my $before ('', "LOAD 'streambloom';\n")
	{
		my ($severity, $state, $text) = answer($sql, $before);
		my @missing;

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
		ok(!@missing, $sql . ($before ? ', with the library loaded' : '')) or diag('lacks ' . join(', ', @missing) . ":\n$text");
	}
}
cmp_ok($number, '>=', 253, "$number mistakes");

done_testing();
