# KeysValues.pm: random values that have keys inside (lines of text, jsonb, tsvector, arrays), and random conditions on
# them.
#
# row() and condition() return SQL. line(), doc(), words() and list() return the text of one value, undef for NULL;
# literal() makes SQL of it. All strings are in characters, not bytes. Neighbouring rows have similar values ($place is
# the number of the row), so that some keys occur on few pages. Conditions are made from values that were made before
# (seen()), or from new ones.
package KeysValues;

use strict;
use warnings;
use utf8;

my @words = qw(get post alpha beta gamma quick brown fox page index html php admin Größe straße ßß item red blue green log error x yz abc ABC aBc aaaa the 日本語 naïve I i İ ſ 10.2.33.104 /wp-login.php);
# Words with letters of which pg_trgm does not know all cases: its indexes lose rows that have them.
my @words_of_several_cases = qw(ı ΣΊΣΥΦΟΣ σίσυφος K ǰ Ǆ ẞ Ì ì İSTANBUL ıspanak);
my @odd = ('%', '_', '\\', "'", '"', '/', '-', '.', '  ', '100%', 'a_b', 'C:\\dir', '%%', '{', '}', "\t", "\n", '$', '^', '(', '٣', 'ﬀ', '😀');
my @keys = ('a', 'b', 'tags', 'who', 'name', 'state', '', 'Größe', 'x y', 'long');
my %seen;
my %recent;
# The factor by which some values may be longer than usual.
our $wide = 1;
# Set if the words above may be used, because no pg_trgm index is asked.
our $any_case = 0;

sub add_any_case { push @words, @words_of_several_cases; $any_case = 1; }

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

sub literal
{
	my ($text) = @_;
	return 'NULL' if !defined $text;
	$text =~ s/'/''/g;
	return "'$text'";
}

# Remembers a value for later conditions, and returns it.
sub remember
{
	my ($kind, $value) = @_;
	my $list = $seen{$kind} //= [];
	my $last = $recent{$kind} //= [];
	push @$last, $value;
	shift @$last if @$last > 6;
	if (@$list < 300) { push @$list, $value; }
	else { $list->[rand @$list] = $value; }
	return $value;
}

sub seen
{
	my ($kind, $make) = @_;
	my $list = $seen{$kind};
	return pick(@{$recent{$kind}}) if $recent{$kind} && chance(0.3);
	return $list && @$list ? pick(@$list) : $make->(int rand 1000);
}

sub forget { %seen = (); %recent = (); }


# How many parts a value gets: usually fewer than $_[0].
sub parts { return chance(0.2) ? int rand($_[0] * $wide) : int rand $_[0]; }

sub word
{
	my ($place) = @_;
	my $kind = rand();
	return $kind < 0.35 ? 'w' . int($place / 12) : $kind < 0.45 ? 'W' . int($place / 12) : $kind < 0.5 ? "id$place" : $wide > 1 && $kind < 0.7 ? 'v' . int rand 100000 : pick(@words);
}

sub line
{
	my ($place) = @_;
	my $kind = rand();
	return undef if $kind < 0.05;
	return remember('line', pick('', ' ', 'a', 'ab', 'abc', '%', '_', '\\', pick(@words))) if $kind < 0.15;
	my $line = join pick(' ', ' ', ' ', '/', ', '), map { chance(0.12) ? pick(@odd) : word($place) } 1 .. 1 + parts(9);
	$line = pick(' ', '') . uc($line) if chance(0.06);
	return remember('line', $line);
}

sub number { return pick(0, 1, -1, int(rand 5), '1.0', '1.50', '25', '25.0', '1e2', '100', '-0.0', '0.00', int($_[0] / 12) . pick('', '.0'), '12345678901234567890'); }

sub json_string
{
	my ($text) = @_;
	$text =~ s/(["\\])/\\$1/g;
	$text =~ s/\n/\\n/g;
	$text =~ s/\t/\\t/g;
	return "\"$text\"";
}

sub json_scalar
{
	my ($place) = @_;
	my $kind = rand();
	return $kind < 0.35 ? json_string(word($place)) : $kind < 0.6 ? number($place) : $kind < 0.7 ? 'true' : $kind < 0.8 ? 'false' : $kind < 0.9 ? 'null' :
		json_string(pick('', '1', 'true', 'null', 'a', 'tags', '25', 'x' x (100 + rand 60), pick(@odd)));
}

sub json
{
	my ($place, $depth) = @_;
	my $kind = rand();
	return json_scalar($place) if $depth <= 0 || $kind < 0.3;
	return '[' . join(', ', map { json($place, $depth - 1) } 1 .. parts(4)) . ']' if $kind < 0.5;
	return '{' . join(', ', map { json_string(chance(0.15) ? word($place) : pick(@keys)) . ': ' . json($place, $depth - 1) } 1 .. int rand 5) . '}';
}

sub doc { return chance(0.05) ? undef : remember('doc', chance(0.1) ? pick('{}', '[]', 'null', '""', '{"a": {}}', '{"a": []}', '[[]]', '[{}]') : json($_[0], pick(1, 2, 3, 4))); }

sub lexeme
{
	my ($word) = @_;
	$word =~ s/(['\\])/$1$1/g;
	return "'$word'";
}

# The text of a tsvector. A word must not consist of blanks, or it would be no word.
sub words
{
	my ($place) = @_;
	my $n = 0;
	return undef if chance(0.05);
	return remember('words', join ' ', map { lexeme(lc(chance(0.05) ? pick('%', "a'b", 'a\\b', 'c d') : word($place))) .
		(chance(0.15) ? '' : ':' . join(',', map { ($n += 1 + int rand 3) . pick('', '', '', 'A', 'B', 'C') } 1 .. pick(1, 1, 1, 2))) } 1 .. parts(8));
}

sub element
{
	my ($kind, $place) = @_;
	return 'NULL' if chance(0.08);
	return pick(int($place / 12), int($place / 12), int(rand 6), $wide > 1 ? int(rand 1000000) : 7, -1, 2147483647) if $kind eq 'ints';
	return pick(number($place), int($place / 12) . pick('.5', '.50', ''), 'NaN', 'Infinity') if $kind eq 'nums';
	my $text = chance(0.1) ? pick('', 'NULL', '{', ',', '"', '\\', pick(@odd)) : $kind eq 'names' && chance(0.5) ? pick(uc word($place), ucfirst word($place)) : word($place);
	$text =~ s/(["\\])/\\$1/g;
	return "\"$text\"";
}

# The text of an array: ints, nums, tags (text) or names (text under a collation that ignores case).
sub array
{
	my ($kind, $place) = @_;
	my $form = rand();
	return '{' . join(',', map { element($kind, $place) } 1 .. parts(5)) . '}' if $form < 0.85;
	return pick('{}', '{NULL}', '{NULL,NULL}') if $form < 0.93;
	my $columns = 1 + int rand 2;
	return '{' . join(',', map { '{' . join(',', map { element($kind, $place) } 1 .. $columns) . '}' } 1 .. 1 + int rand 2) . '}';
}

sub list { return chance(0.05) ? undef : remember($_[0], array(@_)); }

# A row for the columns in columns(), as SQL.
sub row
{
	my ($place) = @_;
	return join ', ', int($place / 12), literal(chance(0.05) ? undef : word($place)), literal(line($place)), literal(doc($place)), literal(words($place)), map { literal(list($_, $place)) } 'ints', 'tags', 'names', 'nums';
}

sub columns { return 'n, t, line, doc, words, ints, tags, names, nums'; }

# ---------------------------------------------------------------- conditions

# A part of a line that was seen, or of a new one.
sub piece
{
	my $line = chance(0.85) ? seen('line', \&line) // '' : join '', map { pick('a' .. 'f', 'x', ' ', pick(@words)) } 1 .. int rand 5;
	my $from = int rand(1 + length $line);
	return substr($line, $from, pick(0, 1, 2, 3, 3, 3, 4, 5, 8, 20));
}

sub like_escaped { my ($text) = @_; $text =~ s/([\\%_])/\\$1/g; return $text; }

sub like_pattern
{
	my $text = piece();
	my $pattern = '';
	foreach my $character (split //, $text)
	{
		my $kind = rand();
		$pattern .= $kind < 0.05 ? '_' : $kind < 0.08 ? '%' : $kind < 0.11 ? "\\$character" : like_escaped($character);
	}
	$pattern .= '%' . like_escaped(piece()) if chance(0.15);
	my $whole = rand();
	return $whole < 0.75 ? "%$pattern%" : $whole < 0.85 ? "$pattern%" : $whole < 0.95 ? "%$pattern" : $pattern;
}

sub piece_of_regular { my $piece = piece(); return $any_case ? $piece : $piece =~ tr/ſ/s/r; }

sub regular_piece { return piece_of_regular() =~ s/[^\w ]/./gr; }

# A regular expression. Unless $any_case is set, it has s instead of ſ. For "(?i)ſ" pg_trgm (with GIN) would lose rows
# with S, which is the capital letter of both.
sub regular
{
	my $pattern = '';
	foreach my $character (split //, piece_of_regular())
	{
		my $kind = rand();
		my $escaped = $character =~ /[\w ]/ ? $character : $character eq "\n" ? '\\n' : $character eq "\t" ? '\\t' : "\\$character";
		$pattern .= $kind < 0.06 ? '.' : $kind > 0.985 && $character =~ /\w/ ? "[\U$character\L$character\E]" : $kind > 0.97 && $character =~ /[\w.\/]/ ? "[$character]" : $kind > 0.96 ? "(?:$escaped)" : $kind > 0.95 ? "$escaped\{2}" : $kind > 0.945 ? '[[:alnum:]]' :
			$kind > 0.94 ? "($escaped)?" : $kind < 0.1 ? '[' . ($character =~ /\w/ ? $character : 'a') . 'bx]' : $kind < 0.13 ? "$escaped+" : $kind < 0.15 ? "$escaped?" : $kind < 0.17 ? "$escaped*" :
			$kind < 0.19 ? "(?:$escaped|xy)" : $kind < 0.2 ? "$escaped\{1,2}" : $escaped;
	}
	$pattern = "($pattern|" . regular_piece() . ')' if chance(0.12);
	$pattern = "^$pattern" if chance(0.1);
	$pattern .= '$' if chance(0.1);
	$pattern = '\\m' . $pattern if chance(0.04);
	$pattern = '***=' . piece_of_regular() if chance(0.02);
	$pattern = "(?:$pattern)" . pick('', '', '+', '?', '{0,1}', '{1,3}') . regular_piece() if chance(0.06);
	$pattern .= pick('(?!foo)', '.*', '\\M', '[a-z]{3}', '\\d', '\\w+') if chance(0.12);
	$pattern = "(?i)$pattern" if chance(0.04);
	return $pattern;
}

sub array_of { return 'ARRAY[' . join(', ', map { literal($_) } @_) . ']'; }

sub on_line
{
	my ($column) = @_;
	my $kind = rand();
	return "$column " . pick('LIKE', 'LIKE', 'ILIKE') . ' ' . literal(like_pattern()) if $kind < 0.42;
	return "$column " . pick('~', '~', '~*') . ' ' . literal(regular()) if $kind < 0.72;
	return "$column = " . literal(seen('line', \&line)) if $kind < 0.79;
	return "$column ^@ " . literal(substr(seen('line', \&line) // 'x', 0, int rand 12)) if $kind < 0.82;
	return "$column " . pick('LIKE', 'ILIKE') . pick(' ANY (', ' ANY (', ' ALL (') . array_of(map { chance(0.1) ? undef : like_pattern() } 0 .. int rand 3) . '::text[])' if $kind < 0.9;
	return "$column ~ ANY (" . array_of(regular(), regular()) . ')' if $kind < 0.93;
	return "$column = ANY (" . array_of(map { seen('line', \&line) } 1 .. 3) . '::text[])' if $kind < 0.96;
	return "$column " . pick('NOT LIKE', '!~~*') . ' ' . literal(like_pattern()) if $kind < 0.98;
	return "$column " . pick('IS NULL', 'IS NOT NULL', 'LIKE NULL');
}

# A part of a document, mostly such that the document contains it: elements and members are left out, and now and then
# one is changed.
sub part_of
{
	my ($doc) = @_;
	my ($value) = parse($doc);
	return write_json(thin($value));
}

# Documents as Perl values: ['scalar', text], ['array', ...], ['object', key, value, ...].
sub parse
{
	local $_ = $_[0];
	my $value = parse_here();
	return $value;
}

sub parse_here
{
	/\G\s*/gc;
	if (/\G\[/gc)
	{
		my @list;
		until (/\G\s*\]/gc)
		{
			push @list, parse_here();
			/\G\s*,/gc;
		}
		return ['array', @list];
	}
	if (/\G\{/gc)
	{
		my @list;
		until (/\G\s*\}/gc)
		{
			/\G\s*("(?:[^"\\]|\\.)*")\s*:/gc or die "no key in $_";
			my $key = $1;
			push @list, $key, parse_here();
			/\G\s*,/gc;
		}
		return ['object', @list];
	}
	/\G("(?:[^"\\]|\\.)*"|[^\s,\]\}]+)/gc or die "no value in $_";
	return ['scalar', $1];
}

sub thin
{
	my ($value) = @_;
	my ($kind, @list) = @$value;
	return ['scalar', chance(0.06) ? json_scalar(int rand 300) : chance(0.1) && $list[0] =~ /^-?\d+$/ ? "$list[0].0" : $list[0]] if $kind eq 'scalar';
	return ['array', map { thin($_) } grep { chance(0.6) } @list] if $kind eq 'array';
	my @members;
	while (my ($key, $member) = splice @list, 0, 2)
	{
		push @members, chance(0.04) ? json_string(pick(@keys)) : $key, thin($member) if chance(0.6);
	}
	return ['object', @members];
}

sub write_json
{
	my ($kind, @list) = @{$_[0]};
	return $list[0] if $kind eq 'scalar';
	return '[' . join(', ', map { write_json($_) } @list) . ']' if $kind eq 'array';
	my @members;
	while (my ($key, $member) = splice @list, 0, 2)
	{
		push @members, "$key: " . write_json($member);
	}
	return '{' . join(', ', @members) . '}';
}

sub path_step
{
	my $kind = rand();
	return $kind < 0.6 ? '.' . json_string(chance(0.15) ? word(int rand 300) : pick(@keys)) : $kind < 0.75 ? '[*]' : $kind < 0.82 ? '.*' : $kind < 0.88 ? '.**' : $kind < 0.92 ? '[0]' : $kind < 0.95 ? '[last]' :
		pick('.size()', '.type()', '.double()', '.**{1 to 2}', '[0 to 1]');
}

sub path { return join '', $_[0], map { path_step() } 1 .. int rand 4; }

sub path_scalar { my $scalar = json_scalar(int rand 300); return $scalar =~ /^-/ ? "($scalar)" : $scalar; }

sub path_predicate
{
	my ($root, $depth) = @_;
	my $kind = rand();
	if ($depth > 0 && $kind < 0.4)
	{
		return '(' . path_predicate($root, $depth - 1) . pick(' && ', ' || ') . path_predicate($root, $depth - 1) . ')' if $kind < 0.24;
		return '!(' . path_predicate($root, $depth - 1) . ')' if $kind < 0.3;
		return 'exists(' . path($root) . ' ? (' . path_predicate('@', $depth - 1) . '))' if $kind < 0.36;
		return '(' . path_predicate($root, $depth - 1) . ') is unknown';
	}
	return 'exists(' . path($root) . ')' if $kind < 0.5;
	return path($root) . ' ' . pick('==', '==', '==', '==', '!=', '<', '>=') . ' ' . path_scalar() if $kind < 0.85;
	return path_scalar() . ' == ' . path($root) if $kind < 0.92;
	return path($root) . ' starts with ' . json_string(pick('w', 'a', 'id')) if $kind < 0.96;
	return path($root) . ' like_regex ' . json_string(pick('^w', 'a', '\\\\d'));
}

# Returns a JSON path, now and then a strict one. A path that compares the document itself with a text is never strict:
# for a strict one, in some versions (18.6), GIN's support functions lose documents that consist of this text alone.
sub strictly
{
	my ($path) = @_;
	my $how = pick('', '', 'strict ');
	return $path =~ /\$ == "|== \$|\$ \? .*\@ == "|== \@/ ? $path : "$how$path";
}

sub on_doc
{
	my ($column) = @_;
	my $kind = rand();
	my $doc = seen('doc', \&doc) // '{}';
	return "$column @> " . literal(part_of($doc)) . '::jsonb' if $kind < 0.35;
	return "$column ? " . literal(chance(0.5) ? pick(@keys) : word(int rand 300)) if $kind < 0.45;
	return "$column " . pick('?|', '?&') . ' ' . array_of(map { chance(0.08) ? undef : chance(0.6) ? pick(@keys) : word(int rand 300) } 1 .. int rand 4) . '::text[]' if $kind < 0.55;
	return "$column @@ " . literal(strictly(path_predicate('$', pick(0, 1, 2)))) . '::jsonpath' if $kind < 0.72;
	return "$column @? " . literal(strictly(path('$') . (chance(0.7) ? ' ? (' . path_predicate('@', pick(0, 1, 2)) . ')' . (chance(0.2) ? path('') : '') : ''))) . '::jsonpath' if $kind < 0.87;
	return "$column = " . literal($doc) . '::jsonb' if $kind < 0.9;
	return "$column @> ANY (" . array_of(part_of($doc), part_of(seen('doc', \&doc) // '{}')) . '::jsonb[])' if $kind < 0.94;
	return "$column @> " . pick("'{}'", "'[]'", "'null'", "'\"a\"'", "'[1]'", "'{\"a\": {}}'", "'{\"tags\": []}'") . '::jsonb' if $kind < 0.98;
	return "$column " . pick('IS NULL', 'IS NOT NULL', '@> NULL');
}

sub query_word
{
	# half of the words come from one tsvector that was seen, so that several of them occur in one row
	my ($of) = @_;
	return pick(@$of) if $of && @$of && chance(0.5);
	my $word = lc(chance(0.05) ? pick('%', "a'b", 'c d') : word(int rand 900));
	my $weight = chance(0.15) ? pick('A', 'B', 'AB', 'D', 'CD') : '';
	my $prefix = chance(0.2) ? '*' : '';
	$word = substr($word, 0, 1 + int rand length $word) if $prefix;
	return lexeme($word) . ($weight . $prefix ne '' ? ":$weight$prefix" : '');
}

sub query_of_words
{
	my ($depth, $of) = @_;
	my $kind = rand();
	$of //= [(seen('words', \&words) // '') =~ /('(?:[^'\\]|''|\\\\)*')/g];
	return query_word($of) if $depth <= 0 || $kind < 0.25;
	return '!' . query_of_words($depth - 1, $of) if $kind < 0.35;
	return '(' . query_of_words($depth - 1, $of) . ' & !' . query_of_words($depth - 1, $of) . ')' if $kind < 0.45;
	return '(' . query_of_words($depth - 1, $of) . pick(' & ', ' & ', ' | ', ' <-> ', ' <2> ', ' <0> ') . query_of_words($depth - 1, $of) . ')';
}

sub on_words
{
	my ($column) = @_;
	my $kind = rand();
	return "$column @@ " . literal(query_of_words(pick(0, 1, 1, 2, 3))) . '::tsquery' if $kind < 0.88;
	return "$column @@ ANY (" . array_of(query_of_words(1), query_of_words(1)) . '::tsquery[])' if $kind < 0.92;
	return "$column @@@ " . literal(query_of_words(1)) . '::tsquery' if $kind < 0.95;
	return "$column " . pick('IS NULL', 'IS NOT NULL', "@@ ''::tsquery", '@@ NULL');
}

my %type = (ints => 'int[]', tags => 'text[]', names => 'text[]', nums => 'numeric[]');

sub on_array
{
	my ($column, $which) = @_;
	return "$column " . pick('IS NULL', 'IS NOT NULL', '@> NULL') if chance(0.03);
	my $array = chance(0.6) ? seen($which, sub { array($which, $_[0]) }) // '{}' : array($which, int rand 900);
	# a part of the array; arrays whose elements hold commas or braces inside quotes are left whole
	if (chance(0.4) && $array =~ /^\{([^{}"\\]*(?:"[^"\\{},]*"[^{}"\\]*)*)\}$/)
	{
		$array = '{' . join(',', grep { chance(0.5) } split /,/, $1) . '}';
	}
	return "$column " . pick('@>', '@>', '&&', '&&', '<@', '=') . ' ' . literal($array) . "::$type{$which}";
}

sub on_plain
{
	return chance(0.5) ? 'n = ' . pick(int rand 80, 'ANY (ARRAY[3, 5, NULL])', '-5') : 't ' . (chance(0.1) ? 'IS NULL' : '= ' . literal(word(int rand 900)));
}

# Conditions on one thing: a column of columns(), or an expression of %thing in 080_keys.pl.
my %conditions = (
	n => \&on_plain,
	t => \&on_plain,
	line => sub { on_line('line') },
	lower => sub { on_line('lower(line)') },
	vector => sub { on_words("to_tsvector('simple', line)") },
	doc => sub { on_doc('doc') },
	member => sub { on_doc("(doc -> 'a')") },
	text => sub { on_line("(doc ->> 'name')") },
	words => sub { on_words('words') },
	split => sub { on_array("string_to_array(line, ' ')", 'tags') },
	(map { my $kind = $_; ($kind => sub { on_array($kind, $kind) }) } grep { $_ ne 'names' } keys %type),
	names => sub { on_array(pick('names', 'names COLLATE "C"'), 'names') },
);

sub condition { return $conditions{$_[0]}->(); }
sub things { return sort keys %conditions; }

1;
