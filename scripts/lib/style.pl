#!/usr/bin/env perl
# style.pl: finds what is not as .editorconfig wants it: bytes that are not UTF-8, ends of lines, white space at the end
# of lines, indentation, lines that are too long. Ends with status 1 if there is something.
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

# What is checked: sources, pages, scripts and settings, but not what other programs write.
sub is_ours
{
	my ($name) = @_;
	return 0 if $name =~ m{^(?:expected|test/\w+/expected|test/logs|test/fuzz/corpus|test/unit/golden/.*\.(?:hex|txt)$|test/tap/golden|test/planted|bench/results|build)/?};
	return $name =~ m{\.(?:c|h|cpp|hpp|pl|pm|sql|md|sh|spec|control|py|yml|json|cmake|css|awk|in)$|(?:^|/)(?:CMakeLists\.txt|Makefile|Dockerfile|\.editorconfig|\.clang-format|\.gitignore|\.gitattributes|\.dockerignore)$|^(?:scripts|bench|\.ci|debian)/[\w-]+$}
		&& $name !~ m{^streambloom--};
}

sub look_at
{
	my ($path) = @_;
	(my $name = $path) =~ s{^\Q$folder\E/}{};
	return if !is_ours($name);
	my $is_c = $name =~ /\.(?:c|h|cpp|hpp)$/;
	my $is_perl = $name =~ /\.(?:pl|pm)$/;
	# pages show what programs print, and their code is indented as code
	my $is_page = $name =~ /\.md$/;
	my $indent = $is_page || $name =~ m{^debian/|^test/drivers/|(?:^|/)CMakeLists\.txt$|\.cmake$} ? 'any' : $name =~ /\.(?:yml|json)$/ ? 'space' : 'tab';
	my ($last, $number) = ('', 0);

	open(my $file, '<:raw', $path) or die "cannot read $path: $!\n";
	while (my $line = <$file>)
	{
		$number++;
		$last = $line;
		complain($name, $number, 'not UTF-8') if !utf8::decode($line);
		complain($name, $number, 'a byte order mark') if $number == 1 && $line =~ /^\x{feff}/;
		chomp $line;
		complain($name, $number, 'white space at its end') if $line =~ /\s$/ && !$is_page;
		complain($name, $number, 'a carriage return') if $line =~ /\r/;
		complain($name, $number, 'indented by spaces') if $indent eq 'tab' && $line =~ /^\t*(?: {4,}\S| +\t)/;
		complain($name, $number, 'indented by tabs') if $indent eq 'space' && $line =~ /^ *\t/;
		next if !($is_c && $line !~ /"/ || $is_perl && $line =~ /^\s*#/);
		my $columns = columns($line);
		complain($name, $number, "$columns columns") if $columns > 120 && $line !~ m{https?://};
	}
	complain($name, $number, 'no end of line') if $number > 0 && $last !~ /\n\z/;
}

find({wanted => sub { look_at($File::Find::name) if -f && !-l }, no_chdir => 1}, grep { -d } map { "$folder/$_" } qw(src sql test scripts bench docs debian .ci .github));
look_at($_) foreach grep { -f } glob("$folder/* $folder/.[a-z]*");
exit($bad > 0 ? 1 : 0);
