#!/usr/bin/env perl
# site.pl: changes copies of our pages in place where MkDocs reads Markdown in another way than the repository's own
# view.
#
#   scripts/lib/site.pl PAGE...
use strict;
use warnings;

for my $page (@ARGV)
{
	open my $in, '<:encoding(UTF-8)', $page or die "$page: $!\n";
	my (@lines, $code);
	for my $line (<$in>)
	{
		$code = !$code if $line =~ /^ *```/;
		if (!$code && $line !~ /^ *```/)
		{
			# In a table \| inside of code is a | for the one, and both characters for the other.
			$line =~ s/(`[^`]*`)/$1 =~ s{\\\|}{|}gr/ge if $line =~ /^\|/;
			# MkDocs takes an index.md for the front page of its folder; ours are about the index, and front pages are
			# README.md.
			$line =~ s{\]\((?:[^()\s]*/)?\Kindex\.md(?=[#)])}{index-method.md}g;
			# On a phone a picture is small: it leads to itself, where it can be made larger.
			$line =~ s{^(!\[[^\]]*\]\(([^()\s]+\.svg)\))$}{[$1]($2)};
			# A list inside of a list begins at the fourth column.
			$line =~ s/^ {2,3}(?=[-*] )/    /;
		}
		push @lines, $line;
	}
	open my $out, '>:encoding(UTF-8)', $page or die "$page: $!\n";
	print $out @lines;
	close $out or die "$page: $!\n";
}
