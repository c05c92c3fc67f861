# The fixed folding table of gram_ops, compared over all of Unicode with lower() of every kind of collation that the
# server has, and with its regular expressions. If ILIKE or ~* take two letters for the same, these letters must have
# the same grams. Otherwise a row could be lost.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('041');
plan skip_all => 'the encoding of the server is not UTF-8' if $db->sql('SHOW server_encoding') ne 'UTF8';

# At least one collation for each way of converting to lower case, and for each language that may have a way of its own.
my @collations = split /\n/, $db->sql(<<'SQL');
SELECT quote_ident(collname) FROM pg_collation
WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, 6) AND collisdeterministic AND
	(collprovider NOT IN ('i', 'd') AND collname !~ '\.utf8$|_' OR collname ~ '^(pg_|C\.utf8$|(tr|de|az|lt|el|nl)_[A-Z]{2}(\.utf8)?$)' OR collname ~ '^(und|az|de|el|lt|nl|tr|hy)-x-icu$')
ORDER BY 1
SQL
cmp_ok(scalar @collations, '>', 1, "collations: @collations");

# All code points except surrogates, which are no characters.
$db->sql(<<'SQL');
CREATE TABLE letters AS SELECT i, chr(i) AS c FROM generate_series(1, 1114111) i WHERE i NOT BETWEEN 55296 AND 57343;
CREATE FUNCTION same_grams(a text, b text) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT bf_grams('ab' || a || 'cd', 3) = bf_grams('ab' || b || 'cd', 3) $$;
SQL

# Pairs of letters that may be taken for the same somewhere.
$db->sql('CREATE TABLE pairs (a text, b text)');
foreach my $collation (@collations)
{
	$db->sql("CREATE TABLE small AS SELECT c, lower(c COLLATE $collation) AS small FROM letters WHERE lower(c COLLATE $collation) <> c");
	my $count = $db->sql('SELECT count(*) FROM small');
	cmp_ok($count, '>=', 26, "lower() under $collation changes $count letters");
	is($db->sql('SELECT coalesce(string_agg(to_hex(ascii(c)), \' \'), \'none\') FROM small WHERE NOT same_grams(c, small)'), 'none', '... and the grams of none of them');
	# Whole words, too: at the end of a word the Greek sigma has another lower-case form.
	is( $db->sql(
			"SELECT count(*) FROM small s, LATERAL (VALUES ('αβ' || c), (c || 'αβ'), ('I' || c), (c || chr(775)), ('n' || c || ' ' || c || c)) v(word) WHERE NOT same_grams(word, lower(word COLLATE $collation))"
		),
		0, '... in words neither');
	$db->sql("INSERT INTO pairs SELECT c, small FROM small WHERE length(small) = 1 UNION SELECT c, upper(c COLLATE $collation) FROM letters WHERE upper(c COLLATE $collation) <> c AND length(upper(c COLLATE $collation)) = 1; DROP TABLE small");
}

# Regular expressions have their own rules: the engine looks up the lower-case and the upper-case letter of each single
# character.
$db->sql('CREATE TABLE candidates AS SELECT DISTINCT least(a COLLATE "C", b) AS a, greatest(a COLLATE "C", b) AS b FROM pairs');
cmp_ok($db->sql('SELECT count(*) FROM candidates'), '>', 1000, 'pairs of letters to try');
foreach my $collation (@collations)
{
	my $same = "FROM candidates WHERE a COLLATE $collation ~* b";
	cmp_ok($db->sql("SELECT count(*) $same"), '>=', 26, "~* under $collation takes some of them for the same");
	is($db->sql("SELECT coalesce(string_agg(a || b, ' '), 'none') $same AND NOT same_grams(a, b)"), 'none', '... and none of these has other grams');
}

# The test can fail: without folding, lower-case and upper-case letters have different grams.
is($db->sql(q{SELECT bf_grams('ABC', 3, false) = bf_grams('abc', 3, false)}), 'f', 'without folding they differ');

done_testing();
