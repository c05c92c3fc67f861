# No mistake of mistakes/list.txt may be answered with a bare message. The SQLSTATE must not be that of an internal
# error, the answer must show what was wrong, and a hint must say how to go on. Only an answer to what PostgreSQL itself
# refuses needs no hint. Each mistake is made in two new sessions: in one the statement is the first that uses the
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

# The answer to a statement in a new session: severity, SQLSTATE, and the whole message. The statement is rolled back,
# unless it cannot be in a transaction block.
sub answer
{
	my ($before, $sql, $alone) = @_;
	my ($code, $out, $err) = $db->try($alone ? "$before$sql" : "${before}BEGIN;\nSET LOCAL client_min_messages = notice;\n$sql;\nROLLBACK;");
	my ($severity, $state) = $err =~ /\b(ERROR|FATAL|PANIC):\s+([0-9A-Z]{5}):/;
	($severity, $state) = $err =~ /\b(NOTICE|WARNING):\s+([0-9A-Z]{5}):/ if !defined $severity;
	$err =~ s/^LOCATION:.*\n//mg;
	return ($severity // 'nothing', $state // '', $err);
}

# What an answer lacks. $shown: what it must contain; $notice: the statement is accepted, with a NOTICE or WARNING;
# $by_postgresql: it needs no hint.
sub missing
{
	my ($severity, $state, $text, $shown, $notice, $by_postgresql) = @_;
	my ($hint) = $text =~ /^HINT: +(.*(?:\n(?![A-Z]+: ).*)*)/m;
	my @missing;

	push @missing, $notice ? 'a notice' : 'an error' if $severity !~ ($notice ? qr/NOTICE|WARNING/ : qr/ERROR/);
	push @missing, 'a SQLSTATE of its own' if $state =~ /^XX/;
	# If $shown has one or two characters, it must not be found by accident: in the SQLSTATE, in the hint, or as a part
	# of another word.
	my $said = $text =~ s/^HINT: .*(?:\n(?![A-Z]+: ).*)*//mgr =~ s/\b(?:ERROR|NOTICE|WARNING):\s+\K[0-9A-Z]{5}://gr;
	my $found = length $shown > 2 ? index(lc $text, lc $shown) >= 0 : $said =~ /(?<![\w.])\Q$shown\E(?!\w|\.\d)/i;
	push @missing, "'$shown'" if !$found;
	return @missing if $by_postgresql;
	return (@missing, 'a hint') if !defined $hint;
	push @missing, "a hint that is not PostgreSQL's for every name that it does not find" if $hint =~ /You might need to add explicit type casts/;
	return @missing;
}

my $other = PsqlSession->new($db->name);
$other->ask('CREATE TEMP TABLE others (host text)');
my $others = $db->sql("SELECT n.nspname || '.' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relname = 'others'");
my $number = 0;
foreach my $line (split /\n/, StreambloomTap::read_file("$FindBin::Bin/mistakes/list.txt"))
{
	next if $line =~ /^#|^$/;
	my @field = split /\t/, $line;
	my $sql = (pop @field) =~ s/OTHERS/$others/r;
	my ($shown, $kind) = (@field, '');
	my $notice = $shown =~ s/^notice://;

	$number++;
	foreach my $loaded (0, 1)
	{
		my $late = $kind eq 'later' && !$loaded;
		my @answer = answer(($loaded ? "LOAD 'streambloom';\n" : ''), $late ? "$sql;\nLOAD 'streambloom'" : $sql, $kind eq 'alone');
		my @missing = missing(@answer, $shown, $notice || $late, $kind eq 'postgresql' || $kind eq 'later');

		ok(!@missing, $sql . ($loaded ? ', with the library loaded' : '')) or diag('lacks ' . join(', ', @missing) . ":\n$answer[2]");
	}
}
cmp_ok($number, '>=', 270, "$number mistakes");

done_testing();
