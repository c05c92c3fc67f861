# No mistake of mistakes/list.txt is answered with a bare message: there is a SQLSTATE that is not an internal error's,
# what was wrong is shown, and a hint or, where there is nothing to be done but to look, a detail says how to go on.
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

# What some SQL is answered with: severity, SQLSTATE, and all of the message. Each statement is taken back.
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
	# PostgreSQL refuses these before it asks the extension.
	if (($whose // '') ne 'postgresql')
	{
		push @missing, "'$shown'" if index(lc $text, lc $shown) < 0;
		push @missing, 'a hint' if $text !~ /^HINT: /m;
	}
	ok(!@missing, $sql) or diag('lacks ' . join(', ', @missing) . ":\n$text");
}
cmp_ok($number, '>=', 193, "$number mistakes");

done_testing();
