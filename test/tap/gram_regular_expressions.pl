# gram_ops with all literals of PostgreSQL's own tests of patterns. Each literal of these files is a pattern for ~, ~*,
# LIKE and ILIKE, also with something in front, such as the embedded option (?x) of regular expressions. All valid
# literals are rows, too. The answers must be those of a sequential scan.
#
# STREAMBLOOM_PG_SOURCE names the folder of PostgreSQL's source. Without it, only the patterns in this file are used,
# with all embedded options. With it, all embedded options are tried only if STREAMBLOOM_SECONDS is at least 600, which
# takes some minutes.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $source = $ENV{STREAMBLOOM_PG_SOURCE} // '';
my @files = ((map { "src/test/regress/sql/$_.sql" } qw(regex strings collate.icu.utf8)), (map { "src/test/modules/test_regex/sql/$_.sql" } qw(test_regex test_regex_utf8)), 'contrib/pg_trgm/sql/pg_trgm.sql');
my $all_prefixes = $source eq '' || ($ENV{STREAMBLOOM_SECONDS} // 0) >= 600;
my @prefixes = $all_prefixes ? ('', '(?i)', '(?n)', '(?x)', '(?p)', '(?w)', '(?c)', '(?st)', '(?e)', '(?b)', '(?q)', '***:', '***=', '^', '(?:', 'xyz') : ('', '(?x)', '(?:');

# The literals of a file as they are written there. Comments and commands of psql are skipped.
sub literals
{
	my ($text) = @_;
	my @found;
	$text =~ s/^\\.*$//mg;
	while ($text =~ /--[^\n]*|\/\*.*?\*\/|\$(\w*)\$.*?\$\1\$|((?:\b[eE])?)'((?:[^'\\]|''|\\(?=')|\\.)*)'/gs)
	{
		# If a literal is not E'...', a backslash before a quote does not escape it.
		next if !defined $3;
		my ($kind, $content) = ($2, $3);
		if ($kind eq '' && $content =~ /^((?:[^'\\]|''|\\(?!'))*\\)'(?!')/s)
		{
			pos($text) -= length($content) - length $1;
			$content = $1;
		}
		push @found, "$kind'$content'";
	}
	return @found;
}

my @literals = map { "'$_'" } '(ab)*c', '(?:abcd)+?ef', 'abc(?=def)', 'abc(?<!x)def', 'a{,3}', 'abc{1,2}def', '[[:<:]]abcd[[:>:]]', '[^[:space:]]+abcd', '\\Aabcd\\Z', '(a)(b)\\2', 'ab\\cdef', '\\u0061bcd', 'abc\\Bdef', '[a\\]bc]def', '[]a]bcd',
	'a|abcd|', 'abcd(|e)fgh', '((a|b)cd(e|f))', 'abcd.*?efgh$', '^abcd', '(^abcd|efgh$)', 'abc\\_def', '[[.hyphen.]]abcd', '[[=a=]]bcd', 'x{0}abcd', '(?#comment)abcd', 'ab c d', 'a\\b',
	'[\\c]]abcdefgh', '[\\c\\|x]abcdefgh', '[\\c[:]|x:]y]abcdefgh', '[a\\c]bcdefgh';
if ($source eq '') { diag('STREAMBLOOM_PG_SOURCE is not set: PostgreSQL\'s own tests are left out'); }
else
{
	foreach my $file (@files)
	{
		my @these = literals(StreambloomTap::read_file("$source/$file"));
		cmp_ok(scalar @these, '>', 20, "$file: " . @these . ' literals');
		push @literals, @these;
	}
}

my $db = StreambloomTap->new('044');
plan skip_all => 'the encoding of the server is not UTF-8' if $db->sql('SHOW server_encoding') ne 'UTF8';
$db->sql(<<'SQL');
CREATE TABLE patterns (id serial, pattern text UNIQUE);
CREATE PROCEDURE add(literal text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'INSERT INTO patterns (pattern) VALUES (' || literal || ') ON CONFLICT DO NOTHING';
EXCEPTION WHEN OTHERS THEN
	NULL;	-- not a valid text literal: the file tests that it is refused
END
$$;
-- The numbers of the rows, or an error.
CREATE FUNCTION answer(how text, operator text, pattern text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('enable_seqscan', CASE how WHEN 'index' THEN 'off' ELSE 'on' END, true), set_config('enable_bitmapscan', CASE how WHEN 'index' THEN 'on' ELSE 'off' END, true);
	EXECUTE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM lines WHERE line %s %L', operator, pattern) INTO found;
	RETURN coalesce(found, 'none');
EXCEPTION WHEN OTHERS THEN
	RETURN 'ERROR ' || SQLSTATE;
END
$$;
-- Asks all patterns. Returns what differs, and how much was asked.
CREATE FUNCTION ask(operator text, prefix text, OUT asked int, OUT with_rows int, OUT errors int, OUT wrong text) LANGUAGE plpgsql AS $$
DECLARE
	each text;
	mine text;
	plain text;
BEGIN
	asked := 0;
	with_rows := 0;
	errors := 0;
	wrong := '';
	FOR each IN SELECT prefix || pattern || CASE prefix WHEN '(?:' THEN '){1,2}' ELSE '' END FROM patterns ORDER BY id LOOP
		mine := answer('index', operator, each);
		plain := answer('table', operator, each);
		asked := asked + 1;
		with_rows := with_rows + CASE WHEN plain ~ '^\d' THEN 1 ELSE 0 END;
		errors := errors + CASE WHEN plain ~ '^E' THEN 1 ELSE 0 END;
		-- It is no difference if only the query without the index fails: with the index there may be no row to
		-- compare.
		IF mine <> plain AND plain !~ '^E' OR mine ~ '^ERROR XX' THEN
			wrong := wrong || format(E'\n%s %L: %s, not %s', operator, each, left(mine, 200), left(plain, 200));
		END IF;
	END LOOP;
END
$$;
SQL
$db->sql(join "\n", map { "CALL add(\$streambloom\$$_\$streambloom\$);" } @literals);
# The rows are the texts alone, and the texts inside other text. Each row has a range of its own, or shares one with
# few rows.
$db->sql(<<'SQL');
CREATE TABLE lines (id serial, line text) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO lines (line) SELECT t FROM (SELECT pattern AS t, id FROM patterns UNION ALL SELECT 'x' || pattern || 'yz', id FROM patterns UNION ALL SELECT upper(pattern) || E'\n' || pattern, id FROM patterns) texts ORDER BY id;
INSERT INTO lines (line) SELECT repeat(t, n) FROM unnest(ARRAY['abcd', 'abc', 'abcdefgh', 'ABCD', 'aab', 'ef gh', 'abcdabcdef']) t, generate_series(1, 3) n;
-- \c] in a set is the character 29, \c\ is 28, and \c[ is 27.
INSERT INTO lines (line) SELECT chr(c) || t FROM generate_series(27, 29) c, unnest(ARRAY['', 'abcdefgh', 'bcdefgh']) t;
CREATE INDEX ON lines USING bf (line gram_ops (n = 3, false_positive_rate = 0.001)) WITH (pages_per_range = 1);
ANALYZE lines;
SQL
diag($db->sql("SELECT (SELECT count(*) FROM patterns) || ' patterns, ' || (SELECT count(*) FROM lines) || ' rows on ' || pg_relation_size('lines') / 8192 || ' pages'"));
my ($asked, $with_rows, $errors) = (0, 0, 0);
foreach my $operator ('~', '~*', 'LIKE', 'ILIKE')
{
	foreach my $prefix ($operator =~ /~/ ? @prefixes : ('', '%', 'x'))
	{
		my ($these, $rows, $failed, $wrong) = $db->sql("SELECT a.* FROM ask('$operator', '$prefix') a") =~ /^(\d+)\|(\d+)\|(\d+)\|(.*)\z/s;
		is($wrong, '', "$operator with '$prefix': $these patterns, of which $rows have rows and $failed are refused");
		$asked += $these, $with_rows += $rows, $errors += $failed;
	}
}
diag("$asked questions, $with_rows with rows, $errors errors");
cmp_ok($with_rows, '>', $asked / 5, 'many have rows');
# A pattern that requires no grams tests nothing.
my $used = $db->sql(<<'SQL');
CREATE FUNCTION skips(pattern text) RETURNS bool LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF, COSTS OFF) SELECT id FROM lines WHERE line ~ %L', pattern) INTO plan;
	RETURN coalesce((plan #>> '{0,Plan,Lossy Heap Blocks}')::int < pg_relation_size('lines') / 8192 * 3 / 4, false);
EXCEPTION WHEN OTHERS THEN
	RETURN false;
END
$$;
SELECT count(*) FROM patterns WHERE skips(pattern);
SQL
my $all = $db->sql('SELECT count(*) FROM patterns');
cmp_ok($used, '>', $all / 10, "$used of $all patterns leave pages out");

done_testing();
