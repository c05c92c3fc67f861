#!/usr/bin/env perl
# links.pl: finds links in the pages (*.md) of a folder that lead to a file that does not exist, or to a heading that
# the page does not have; and in a folder that has the tests, names of test programs that are not there. Links to other
# machines are not checked. Ends with status 1 if anything is broken, or if the pages have no link at all.
#
#   scripts/lib/links.pl FOLDER
use strict;
use warnings;
use Cwd qw(realpath);
use File::Basename qw(dirname);
use File::Find;

my $folder = realpath($ARGV[0] // '.') or die "there is no folder $ARGV[0]\n";
my @pages;
find({ no_chdir => 1, wanted => sub {
	$File::Find::prune = 1 if -d && m{/(?:\.git|build|regress|debian/.*)$};
	push @pages, $_ if /\.md$/ && -f;
} }, $folder);

# The names of a page's headings, made as web sites make them: lower case, hyphens for spaces, no punctuation.
my %anchors;
sub anchors_of
{
	my ($page) = @_;
	return $anchors{$page} //= do {
		my (%found, %times);
		for (grep { /^#+ / } split /\n/, text_of($page))
		{
			my $name = lc s/^#+ +//r;
			$name =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
			$name =~ s/[^\w\- ]//g;
			$name =~ tr/ /-/;
			my $again = $times{$name}++;
			$found{ $again ? "$name-$again" : $name } = 1;
		}
		\%found;
	};
}

# The text of a page without its blocks of code.
sub text_of
{
	my ($page) = @_;
	open my $file, '<:encoding(UTF-8)', $page or die "$page: $!\n";
	my $text = do { local $/; <$file> };
	$text =~ s/^( *)(```+).*?^\1\2 *$//gms;
	return $text;
}

my ($links, @broken) = (0);
for my $page (sort @pages)
{
	my $text = text_of($page);
	push @broken, map { ($page =~ s{^\Q$folder\E/}{}r) . ": there is no $_" } grep { -d "$folder/test" && !-e "$folder/$_" } $text =~ m{`(test/[\w/]+\.pl)`}g;
	$text =~ s/`[^`\n]*`/`/g;
	while ($text =~ /\]\(([^()\s]+)\)/g)
	{
		my ($path, $anchor) = $1 =~ /^([^#]*)(?:#(.*))?$/;
		next if $path =~ /^[a-z]+:/;
		$links++;
		my $target = $path eq '' ? $page : dirname($page) . "/$path";
		my $name = $page =~ s{^\Q$folder\E/}{}r;
		if (!-e $target) { push @broken, "$name: there is no $path" }
		elsif (defined $anchor && $target =~ /\.md$/ && !anchors_of($target)->{$anchor}) { push @broken, "$name: " . ($path || 'it') . " has no heading #$anchor" }
	}
}
binmode STDOUT, ':encoding(UTF-8)';
print map { "$_\n" } @broken;
printf "%d links in %d pages, %d of them broken\n", $links, scalar @pages, scalar @broken;
exit(@broken || !$links ? 1 : 0);
