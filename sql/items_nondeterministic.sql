-- items_nondeterministic: text under a nondeterministic collation has equal strings of different bytes, so it is refused.
-- Where the server has no ICU there are no such collations, and the checks are left out (they answer true).

CREATE SCHEMA nondeterministic;
SET search_path = nondeterministic, public;
CREATE FUNCTION made() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	CREATE COLLATION nondeterministic.caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE TYPE nondeterministic.composite AS (number int, word text COLLATE caseless);
	CREATE TYPE nondeterministic.deeper AS (list composite[]);
	CREATE TYPE nondeterministic.wordrange AS RANGE (subtype = text, collation = caseless);
	CREATE DOMAIN nondeterministic.word AS text COLLATE caseless;
	CREATE TABLE nondeterministic.words (word text COLLATE caseless, code char(3) COLLATE caseless, list text[] COLLATE caseless);
	INSERT INTO words VALUES ('a', 'a', '{a}');
	RETURN true;
EXCEPTION WHEN feature_not_supported THEN
	RETURN false;
END
$$;
SELECT made() AS icu \gset

-- each is refused with the same SQLSTATE and a message that names the collation
SELECT item, bool_and(:'icu' = 'f' OR error_of(format(command, item)) LIKE '0A000: % under the nondeterministic collation "caseless" cannot be hashed%') AS refused
FROM unnest(ARRAY['(''a'' COLLATE caseless)', '(''a''::varchar COLLATE caseless)', '(''a''::char(3) COLLATE caseless)', '(''a''::citext COLLATE caseless)', '''a''::word',
	'(''{a}''::text[] COLLATE caseless)', 'ROW(1, ''a'')::composite', 'ROW(ARRAY[ROW(1, ''a'')::composite])::deeper', 'ARRAY[ROW(1, ''a'')::composite]',
	'ROW(1, ''a'' COLLATE caseless)', '''[a,b)''::wordrange', '''{[a,b)}''::wordmultirange', '(SELECT word FROM words)', '(SELECT code FROM words)', '(SELECT list FROM words)', '(SELECT words FROM words)']) item,
	unnest(ARRAY['SELECT bf_empty() @> %s', 'SELECT %s <@ bf_empty()', 'SELECT bf_add(bf_empty(), %s)', 'SELECT bf_empty() || %s',
		'SELECT bf_agg(v) FROM (SELECT %s) s (v)', 'SELECT tbf_empty() -> %s', 'SELECT tbf_add(tbf_empty(), %s)', 'SELECT tbf_agg(v, now()) FROM (SELECT %s) s (v)']) command
GROUP BY item ORDER BY item COLLATE "C";

-- as elements
SELECT command, :'icu' = 'f' OR sqlstate_of(command) = '0A000' AS refused
FROM unnest(ARRAY['SELECT bf_contains_any(bf_empty(), ARRAY[''a'' COLLATE caseless])', 'SELECT bf_contains_all(bf_empty(), list) FROM words',
	'SELECT bf_add_all(bf_empty(), ARRAY[''a'']::text[] COLLATE caseless)', 'SELECT tbf_add_all(tbf_empty(), list) FROM words']) command;

-- the way out
SELECT bool_and(:'icu' = 'f' OR error_of(command) = 'no error') AS allowed
FROM unnest(ARRAY['SELECT bf_empty() @> (word COLLATE "C") FROM words', 'SELECT bf_agg(word COLLATE "C") FROM words', 'SELECT bf_add_all(bf_empty(), list COLLATE "C") FROM words']) command;

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA nondeterministic CASCADE;
