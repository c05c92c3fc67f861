#!/usr/bin/env perl
# site.pl: changes copies of our pages in place where MkDocs reads Markdown differently from the repository's viewer.
#
#   scripts/lib/site.pl PAGE...
use strict;
use warnings;
use File::Basename qw(dirname);

# The title of a page, for links whose words are only the name of its file.
my %titles;
sub title_of
{
	my ($page) = @_;
	return $titles{$page} //= do {
		open my $file, '<:encoding(UTF-8)', $page or die "$page: $!\n";
		my ($title) = grep { /^# / } <$file>;
		defined $title ? $title =~ s/^# +|\s+$//gr : '';
	};
}

for my $page (@ARGV)
{
	open my $in, '<:encoding(UTF-8)', $page or die "$page: $!\n";
	my (@lines, $code);
	for my $line (<$in>)
	{
		$code = !$code if $line =~ /^ *```/;
		if (!$code && $line !~ /^ *```/)
		{
			# In a table, \| inside of code means | for the repository's viewer, and both characters for MkDocs.
			$line =~ s/(`[^`]*`)/$1 =~ s{\\\|}{|}gr/ge if $line =~ /^\|/;
			# A link that has only the name of a file for words gets the title of that page.
			$line =~ s{\[([\w./-]+\.md)\]\(([^()\s#:]+\.md)(#[^()\s]*)?\)}{
				my ($words, $target, $anchor) = ($1, dirname($page) . "/$2", $3 // '');
				my $title = -e $target ? title_of($target) : '';
				'[' . ($title || $words) . "]($2$anchor)" }ge;
			# MkDocs takes an index.md for the front page of its folder. Our index.md describes the index, and our
			# front pages are README.md.
			$line =~ s{\]\((?:[^()\s]*/)?\Kindex\.md(?=[#)])}{index-method.md}g;
			# On a phone a picture is small, so it becomes a link to itself, where it can be enlarged.
			$line =~ s{^(!\[[^\]]*\]\(([^()\s]+\.svg)\))$}{[$1]($2)};
			# MkDocs wants a list inside of a list to be indented by four columns.
			$line =~ s/^ {2,3}(?=[-*] )/    /;
		}
		push @lines, $line;
	}
	open my $out, '>:encoding(UTF-8)', $page or die "$page: $!\n";
	print $out @lines;
	close $out or die "$page: $!\n";
}
