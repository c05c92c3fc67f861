# docs/reference.md must be what scripts/generate-reference writes now.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $root = abs_path("$FindBin::Bin/../..");
my $db = StreambloomTap->new('019');

my ($code, $written, $errors) = StreambloomTap::run_program('', "$root/scripts/generate-reference");
is($code, 0, 'it can be generated') or diag $errors;
open my $file, '<', "$root/docs/reference.md" or die "docs/reference.md: $!";
my $page = do { local $/; <$file> };
ok($page eq $written, 'docs/reference.md is current') or diag 'run: scripts/with-cluster scripts/generate-reference >docs/reference.md';
my @functions = $page =~ /^#### `(\w+)`$/gm;
my %linked;
$linked{$_}++ for $page =~ /\]\(#((?:bf|tbf|sbf|ibf|abf|bloom|decay|chunk)_\w+)\)/g;
cmp_ok(scalar @functions, '>', 100, 'it has functions');
is_deeply([ sort keys %linked ], [ sort @functions ], 'the tables at its beginning lead to each function');
is_deeply([ grep { $linked{$_} != 1 } @functions ], [], 'once');
my @entries = $page =~ /^(- `\w+\(.*\n.*)/gm;
cmp_ok(scalar @entries, '>=', scalar @functions, 'each has its calls');
is_deeply([ grep { !/\n  \S.{10}/ } @entries ], [], 'and each call a comment');
is_deeply([ grep { length > 800 } split /\n/, $page =~ s/^## Operators.*//msr ], [], 'no entry has a line that nobody reads to its end');
unlike($page =~ s{.*^(?=## Views)}{}msr, qr/\|  \|$/m, 'so have operators, classes and settings');

done_testing();
