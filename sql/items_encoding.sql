-- items_encoding: text hashes by its bytes in the server's encoding, so a filter that was built in a database of
-- another encoding is refused: it would say no to what it holds.

SELECT current_database() AS here \gset
CREATE DATABASE streambloom_latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C';
\c streambloom_latin1
SET client_min_messages = warning;
CREATE EXTENSION citext;
CREATE EXTENSION streambloom;
CREATE TYPE coded AS (number int, code text);
CREATE TYPE coderange AS RANGE (subtype = text, collation = "C");
SELECT bf_add(bf_empty(10), chr(233)) AS text, bf_add(bf_empty(10), chr(233)::char(3)) AS character, bf_add(bf_empty(10), chr(233)::citext) AS citext,
	bf_add(bf_empty(10), ARRAY[chr(233)]) AS array, bf_add(bf_empty(10), ARRAY[chr(233)]::char(3)[]) AS characters, bf_add(bf_empty(10), to_jsonb(chr(233))) AS jsonb,
	bf_add(bf_empty(10), ROW(1, chr(233))::coded) AS composite, bf_add(bf_empty(10), ROW(1, chr(233))) AS record,
	bf_add(bf_empty(10), ARRAY[ROW(1, chr(233))::coded]) AS composites, bf_add(bf_empty(10), coderange(chr(233), NULL)) AS range,
	bf_add(bf_empty(10), 1) AS integer, bf_add(bf_empty(10), 1.5) AS numeric, bf_add(bf_empty(10), '{1}'::int[]) AS integers, bf_add(bf_empty(10), ROW(1, 2)) AS numbers
\gset
SELECT tbf_add(tbf_empty(10), chr(233)) AS text_hits, tbf_add(tbf_empty(10), ARRAY[chr(233)]) AS array_hits \gset
\c :here
DROP DATABASE streambloom_latin1;
CREATE TYPE coded AS (number int, code text);
CREATE TYPE coderange AS RANGE (subtype = text, collation = "C");

-- refused: all items that contain text
SELECT kind, sqlstate_of(format('SELECT %L::bf @> %s', filter, item)) AS asked
FROM (VALUES ('text', 'chr(233)', :'text'), ('character', 'chr(233)::char(3)', :'character'), ('citext', 'chr(233)::citext', :'citext'),
	('array', 'ARRAY[chr(233)]', :'array'), ('characters', 'ARRAY[chr(233)]::char(3)[]', :'characters'), ('jsonb', 'to_jsonb(chr(233))', :'jsonb'),
	('composite', 'ROW(1, chr(233))::coded', :'composite'), ('record', 'ROW(1, chr(233))', :'record'),
	('composites', 'ARRAY[ROW(1, chr(233))::coded]', :'composites'), ('range', 'coderange(chr(233), NULL)', :'range')) v (kind, item, filter);
SELECT sqlstate_of(format('SELECT %L::tbf -> chr(233)', :'text_hits')), sqlstate_of(format('SELECT %L::tbf -> ARRAY[chr(233)]', :'array_hits'));

-- accepted: items without text
SELECT :'integer'::bf @> 1, :'numeric'::bf @> 1.50, :'integers'::bf @> '{1}'::int[], :'numbers'::bf @> ROW(1, 2);

DROP TYPE coded, coderange;
