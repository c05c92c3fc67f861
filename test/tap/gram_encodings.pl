# gram_ops in databases of other encodings than UTF8 (and of UTF8, for more collations). The lines are made of random
# characters of an encoding, and the patterns are cut out of them. LIKE, ILIKE, ~, ~*, ^@ and = must give the rows of a
# sequential scan, and lower() of a text must have the same grams as the text.
#
# STREAMBLOOM_SECONDS=600 asks as many questions as it can in that time. STREAMBLOOM_SEED chooses lines and patterns.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} || 0;
my $seed = $ENV{STREAMBLOOM_SEED} || 1;
# UTF8 is in the list because of collations that other tests do not use.
my @encodings = qw(SQL_ASCII LATIN1 LATIN5 LATIN9 WIN1251 WIN1254 WIN1253 KOI8R ISO_8859_7 EUC_JP EUC_KR EUC_CN EUC_TW EUC_JIS_2004 MULE_INTERNAL UTF8);

my $functions = <<'SQL';
CREATE TABLE letters (c text COLLATE "C");
-- The character that these bytes are, or NULL.
CREATE FUNCTION one_character(bytes bytea, encoding text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN CASE WHEN length(convert_from(bytes, encoding)) = 1 THEN convert_from(bytes, encoding) END;
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
	RETURN NULL;
END
$$;
-- The characters of one and of two bytes, and those of three and four bytes that begin with some of the possible bytes.
-- In UTF8 only a selection, since gram_folding.pl tests all of them.
CREATE PROCEDURE make_letters(encoding text) LANGUAGE plpgsql AS $$
BEGIN
	IF encoding = 'UTF8' THEN
		INSERT INTO letters SELECT chr(i) FROM generate_series(1, 8500) i UNION ALL SELECT chr(i) FROM generate_series(19968, 66700, 97) i WHERE i NOT BETWEEN 55296 AND 57343;
		RETURN;
	END IF;
	INSERT INTO letters
		WITH high(b) AS (SELECT set_byte('\x00', 0, i) FROM generate_series(128, 255) i), pairs(b) AS (SELECT a.b || b.b FROM high a, high b), sequences(b) AS (
			SELECT set_byte('\x00', 0, i) FROM generate_series(1, 255) i
			UNION ALL SELECT b FROM pairs WHERE pg_encoding_max_length(pg_char_to_encoding(encoding)) > 1
			UNION ALL SELECT lead || b FROM pairs, unnest(ARRAY['\x8e', '\x8f', '\x8ea2', '\x91', '\x9af0']::bytea[]) lead WHERE encoding ~ '^(EUC|MULE)' AND get_byte(b, 0) >= 160 AND get_byte(b, 1) >= 160)
		SELECT c FROM (SELECT one_character(b, encoding) AS c FROM sequences OFFSET 0) s WHERE c IS NOT NULL;
END
$$;
CREATE FUNCTION random_piece(letters text[], length int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(string_agg(CASE WHEN random() < 0.5 THEN (ARRAY['i', 'I', 's', 'ss', 'a', 'B', 'k', ' ', '/', '%', '_', '\', '.', '-', '1'])[1 + floor(random() * 15)::int]
		ELSE letters[1 + floor(random() * cardinality(letters))::int] END, ''), '') FROM generate_series(1, length)
$$;
-- A text that a collation cannot convert to another case is left as it is.
CREATE FUNCTION other_case(value text, how int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE how WHEN 0 THEN lower(value) WHEN 1 THEN upper(value) ELSE value END;
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
	RETURN value;
END
$$;
CREATE FUNCTION answer(how text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	PERFORM set_config('enable_seqscan', CASE how WHEN 'index' THEN 'off' ELSE 'on' END, true), set_config('enable_bitmapscan', CASE how WHEN 'index' THEN 'on' ELSE 'off' END, true);
	EXECUTE 'SELECT string_agg(id::text, '' '' ORDER BY id) FROM lines WHERE ' || condition INTO found;
	RETURN coalesce(found, 'none');
EXCEPTION WHEN OTHERS THEN
	RETURN 'ERROR ' || SQLSTATE;
END
$$;
-- Asks questions in one collation. Returns counts, and the questions that the index answers wrongly, with both answers.
-- Patterns are returned in hexadecimal digits, so that the result is ASCII.
CREATE TYPE asked AS (questions int, with_rows int, errors int, wrong text);
CREATE FUNCTION ask(coll text, questions int) RETURNS asked LANGUAGE plpgsql AS $$
DECLARE
	letters text[] := ARRAY(SELECT c FROM letters WHERE c <> E'\n' ORDER BY random() LIMIT 300);
	these asked := (0, 0, 0, '');
	line text;
	piece text;
	pattern text;
	operator text;
	condition text;
	mine text;
	plain text;
BEGIN
	these.wrong := '';
	EXECUTE format('CREATE TABLE lines (id serial, line text COLLATE %s) WITH (fillfactor = 10, autovacuum_enabled = off)', coll);
	INSERT INTO lines (line) SELECT i / 20 || random_piece(letters, (random() * 20)::int) FROM generate_series(1, 400) i;
	INSERT INTO lines (line) SELECT c FROM unnest(letters) c;
	EXECUTE format('CREATE INDEX ON lines USING bf (line gram_ops (n = 3, fold = %s, false_positive_rate = 0.001)) WITH (pages_per_range = 1)', random() < 0.75);
	EXECUTE 'ANALYZE lines';
	FOR i IN 1 .. questions LOOP
		SELECT l.line INTO line FROM lines l OFFSET floor(random() * 700) LIMIT 1;
		piece := substr(line, 1 + floor(random() * length(line))::int, (ARRAY[1, 2, 3, 3, 4, 5, 8, 30])[1 + floor(random() * 8)::int]);
		operator := (ARRAY['LIKE', 'LIKE', 'ILIKE', 'ILIKE', '~', '~', '~*', '~*', '^@', '='])[1 + floor(random() * 10)::int];
		IF operator IN ('ILIKE', '~*') THEN
			EXECUTE format('SELECT other_case(%L COLLATE %s, %s)', piece, coll, floor(random() * 3)::int) INTO piece;
		END IF;
		IF operator LIKE '%LIKE' THEN
			pattern := regexp_replace(piece, '([\\%_])', '\\\1', 'g');
			IF random() < 0.2 AND length(piece) > 2 AND piece !~ '[\\%_]' THEN
				pattern := overlay(pattern PLACING (ARRAY['_', '%', '\' || substr(pattern, 2, 1)])[1 + floor(random() * 3)::int] FROM 2 FOR 1);
			END IF;
			pattern := (ARRAY['%', '%', '%', ''])[1 + floor(random() * 4)::int] || pattern || (ARRAY['%', '%', '%', ''])[1 + floor(random() * 4)::int];
		ELSIF operator LIKE '~%' THEN
			pattern := regexp_replace(piece, '([].*+?^$(){}|\\[])', '\\\1', 'g');
			IF random() < 0.3 AND length(piece) > 2 AND piece !~ '[].*+?^$(){}|\\[]' THEN
				pattern := overlay(pattern PLACING (ARRAY['.', '[' || substr(pattern, 2, 1) || ']', substr(pattern, 2, 1) || '?', '(' || substr(pattern, 2, 1) || '|x)', substr(pattern, 2, 1) || '+', '[a' || substr(pattern, 2, 1) || ']'])[1 + floor(random() * 6)::int] FROM 2 FOR 1);
			END IF;
			pattern := (ARRAY['', '', '', '', '^', '(?:abc)?'])[1 + floor(random() * 6)::int] || pattern || (ARRAY['', '', '', '', '$', '|abcdef'])[1 + floor(random() * 6)::int];
		ELSE
			pattern := CASE operator WHEN '=' THEN line ELSE left(line, 1 + length(piece)) END;
		END IF;
		condition := format('line %s %L', operator, pattern);
		mine := answer('index', condition);
		plain := answer('table', condition);
		these.questions := these.questions + 1;
		these.with_rows := these.with_rows + CASE WHEN plain ~ '^\d' THEN 1 ELSE 0 END;
		these.errors := these.errors + CASE WHEN plain ~ '^E' THEN 1 ELSE 0 END;
		IF mine <> plain AND plain !~ '^E' OR mine ~ '^ERROR XX' THEN
			these.wrong := these.wrong || format(E'\n%s %s: %s, not %s', operator, encode(convert_to(pattern, getdatabaseencoding()), 'hex'), mine, plain);
		END IF;
	END LOOP;
	DROP TABLE lines;
	RETURN these;
END
$$;
-- Makes words of each character in the table letters, converts the words with lower(), and returns those whose grams
-- change. Words that cannot be converted are left out.
CREATE FUNCTION other_grams(coll text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	others text;
BEGIN
	EXECUTE format($create$CREATE OR REPLACE FUNCTION small_letters(word text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $body$
BEGIN
	RETURN lower(word COLLATE %s);
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
	RETURN NULL;
END
$body$ $create$, coll);
	SELECT string_agg(' ' || encode(convert_to(word, getdatabaseencoding()), 'hex') || '>' || encode(convert_to(small, getdatabaseencoding()), 'hex'), '') INTO others
	FROM (SELECT word, small_letters(word) AS small FROM letters, unnest(ARRAY['ab' || c || 'cd', 'I' || c || 'ii', c || c || 'SS']) word OFFSET 0) w
	WHERE bf_grams(word, 3) <> bf_grams(small, 3);
	RETURN coalesce(others, '');
END
$$;
SQL

# The collation as a text literal, for ask() and other_grams().
sub literal { return "'" . $_[0] =~ s/'/''/gr . "'"; }

# Collations of each kind that the encoding can have. Those of ICU and of the C library are taken only of some
# languages. Among these are languages with special cases of letters, such as Turkish.
sub collations_of
{
	my ($session) = @_;
	my @names = split /\n/, $session->sql(<<'SQL');
SELECT quote_ident(collname) FROM pg_collation
WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding())) AND collisdeterministic AND
	(collprovider NOT IN ('i', 'd') AND collname !~ '_' OR collname ~ '^(pg_|(tr|de|el|ru|ja|zh|ko)_[A-Z]{2})' OR collname ~ '^(und|az|lt|el|tr)-x-icu$')
ORDER BY 1
SQL
	# ICU does not support all encodings.
	return grep { ($session->ask("SELECT lower('A' COLLATE $_)"))[1] eq '00000' } @names;
}

my ($questions, $with_rows, $errors, $number) = (0, 0, 0, 0);
my (%session, %collations);

sub ask_all
{
	my ($encoding, $count) = @_;
	foreach my $collation (@{$collations{$encoding}})
	{
		$number++;
		my $setseed = sprintf 'SELECT NULL FROM setseed(%.6f)', (($seed * 7919 + $number * 104729) % 1000003) / 1000003;
		my $result = $session{$encoding}->sql("$setseed;\nSELECT a.questions, a.with_rows, a.errors, a.wrong FROM ask(" . literal($collation) . ", $count) a");
		my ($asked, $rows, $failed, $wrong) = $result =~ /^\n?(\d+)\|(\d+)\|(\d+)\|(.*)\z/s or die "no answer: $result";
		is($wrong, '', "$encoding, $collation: $asked questions, of which $rows have rows and $failed fail");
		($questions, $with_rows, $errors) = ($questions + $asked, $with_rows + $rows, $errors + $failed);
	}
}

# PostgreSQL 19 no longer has MULE_INTERNAL.
my (undef, $unknown) = StreambloomTap::psql('postgres', join ' ', map { "SELECT '$_' WHERE pg_char_to_encoding('$_') < 0;" } @encodings);
my %unknown = map { $_ => 1 } split /\n/, $unknown;
@encodings = grep { !$unknown{$_} } @encodings;
cmp_ok(scalar @encodings, '>=', 15, 'the server has these encodings');

foreach my $encoding (@encodings)
{
	my $db = StreambloomTap->new('043_' . lc $encoding, bare => 1, options => "TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	# The client has the encoding of the server, because UTF8 cannot be converted to all of these encodings. What psql
	# sends and gets is ASCII.
	local $ENV{PGCLIENTENCODING} = $encoding;
	my $session = $session{$encoding} = PsqlSession->new($db->name);
	$session->sql("CREATE EXTENSION streambloom;\n$functions\nCALL make_letters('$encoding')");
	$collations{$encoding} = [collations_of($session)];
	my $letters = $session->sql('SELECT count(*) FROM letters');
	cmp_ok($letters, '>=', 200, "$encoding: $letters characters");
	is($session->sql('SELECT left(other_grams(' . literal($_) . '), 1000)'), '', "$encoding, $_: lower() changes no grams") foreach @{$collations{$encoding}};
	ask_all($encoding, 40);
}
while (time() - $^T < $seconds)
{
	ask_all($_, 500) foreach @encodings;
}
$_->close foreach values %session;
diag("seed $seed: $questions questions, $with_rows with rows, $errors errors");
cmp_ok($with_rows, '>', $questions / 2, 'most questions have rows');
cmp_ok($errors, '<', $questions / 20, 'few of them are errors');

done_testing();
