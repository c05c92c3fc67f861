# docs/reference.md is what scripts/generate-reference writes now.
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
cmp_ok(scalar(() = $page =~ /^\| `bf_/gm), '>', 20, 'it has functions');
unlike($page, qr/\|  \|$/m, 'each has a comment');

done_testing();
