#!/usr/bin/env perl
# style.pl: finds lines that are not as .editorconfig wants them: ends of lines, white space at the end of lines, lines
# that are too long. Ends with status 1 if there is one.
#
#   scripts/lib/style.pl FOLDER
#
# A line of C or C++ has at most 120 columns, a tab counted as four, unless it has a string: messages stay in one line,
# so that they can be found. In Perl only comments are checked, since test data and SQL have long lines.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

use File::Find;

my ($folder) = @ARGV;
my $bad = 0;

sub complain
{
	my ($file, $line, $what) = @_;
	print "$file:$line: $what\n";
	$bad++;
}

sub columns
{
	my ($text) = @_;
	1 while $text =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
	return length $text;
}

sub look_at
{
	my ($path) = @_;
	(my $name = $path) =~ s{^\Q$folder\E/}{};
	return if $name =~ m{^(?:expected|test/\w+/expected|test/logs|test/fuzz/corpus|test/unit/golden|test/planted|bench/results|debian|regress|output_iso|build)/};
	return if $name !~ m{\.(?:c|h|cpp|hpp|pl|pm|sql|md|sh|spec|control)$|^scripts/[\w-]+$|^Makefile$} || $name =~ m{^streambloom--};
	my $is_c = $name =~ /\.(?:c|h|cpp|hpp)$/;
	my $is_perl = $name =~ /\.(?:pl|pm)$/;
	my ($last, $number) = ('', 0);

	open(my $file, '<', $path) or die "cannot read $path: $!\n";
	while (my $line = <$file>)
	{
		$number++;
		$last = $line;
		chomp $line;
		complain($name, $number, 'white space at its end') if $line =~ /\s$/ && $name !~ /\.md$/;
		complain($name, $number, 'a carriage return') if $line =~ /\r/;
		next if !($is_c && $line !~ /"/ || $is_perl && $line =~ /^\s*#/);
		my $columns = columns($line);
		complain($name, $number, "$columns columns") if $columns > 120 && $line !~ m{https?://};
	}
	complain($name, $number, 'no end of line') if $number > 0 && $last !~ /\n\z/;
}

find({wanted => sub { look_at($File::Find::name) if -f && !-l }, no_chdir => 1}, map { "$folder/$_" } qw(src sql test scripts bench docs));
exit($bad > 0 ? 1 : 0);
