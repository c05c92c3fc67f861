-- gram_ops and bytea_gram_ops: which conditions they serve, that no row is lost, options, and what is refused.
SET extra_float_digits = 0;
SET enable_seqscan = off;
CREATE TABLE lines (id int, line text, bytes bytea) WITH (autovacuum_enabled = off);
INSERT INTO lines SELECT i, format('10.%s.%s.%s - [%s] "GET /shop/item-%s.html?q=Straße HTTP/1.1" Wget/1.%s', i % 7, i % 100, i, i * 37, i % 300, i % 9),
	decode(md5(i::text) || md5((i * 7)::text), 'hex') FROM generate_series(1, 6000) i;
INSERT INTO lines VALUES (-1, '', ''), (-2, 'a', 'a'), (-3, NULL, NULL), (-4, 'ΣΊΣΥΦΟΣ', '\x00'), (-5, 'ISPARTA İzmir', NULL), (-6, E'100%\t_\\', NULL), (-7, 'K', NULL);
CREATE INDEX lines_grams ON lines USING bf (line gram_ops (false_positive_rate = 0.01)) WITH (pages_per_range = 1);
CREATE INDEX lines_bytes ON lines USING bf (bytes bytea_gram_ops) WITH (pages_per_range = 1);
VACUUM ANALYZE lines;

-- Each condition: does the plan use the index, how many rows, are these those of a sequential scan, and is most of the table left unread?
CREATE FUNCTION ask(condition text, OUT is_used bool, OUT rows bigint, OUT same bool, OUT skips bool) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	exact bigint;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF, COSTS OFF) SELECT id FROM lines WHERE ' || condition INTO plan;
	is_used := plan::text LIKE '%Bitmap Index Scan%';
	skips := coalesce((plan #>> '{0,Plan,Lossy Heap Blocks}')::int < (SELECT pg_relation_size('lines') / 8192 / 4), is_used);
	EXECUTE 'SELECT count(*) FROM lines WHERE ' || condition INTO rows;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE 'SELECT count(*) FROM lines WHERE ' || condition INTO exact;
	RESET enable_bitmapscan;
	SET LOCAL enable_seqscan = off;
	same := rows = exact;
END
$$;
SELECT condition, a.* FROM unnest(ARRAY[
	$$line LIKE '%10.3.17.4217 %'$$,
	$$line LIKE '10.3.17.4217%'$$,
	$$line LIKE '%[44400] %'$$,
	$$line LIKE '%wget%'$$,
	$$line ILIKE '%[44400] "get%'$$,
	$$line ILIKE '%STRASSE%'$$,
	$$line ILIKE '%straße http%'$$,
	$$line ILIKE '%σίσυφοσ%'$$,
	$$line ~* 'σίσυφος'$$,
	$$line ILIKE '%ısparta%'$$,
	$$line ILIKE 'k'$$,
	$$line LIKE 'K'$$,
	$$line = 'a'$$,
	$$line = ''$$,
	$$line LIKE ''$$,
	$$line LIKE 'a'$$,
	$$line LIKE '100\%%\\'$$,
	$$line LIKE E'%\t\\_%'$$,
	$$line ^@ '10.3.17.4217'$$,
	$$line ^@ ''$$,
	$$line ~ '\[(44400|44437)\]'$$,
	$$line ~ '^10\.3\.17\.4217 '$$,
	$$line ~ 'item-29[0-9]\.html.*\[44400'$$,
	$$line ~* 'WGET/1\.[89]$'$$,
	$$line ~ 'xyz(abc)?'$$,
	$$line LIKE ANY (ARRAY['%[44400]%', '%[44437]%', NULL])$$,
	$$line LIKE '%[44400]%' AND line LIKE '%[44437]%'$$,
	$$line LIKE '%[44400]%' OR line = 'a'$$,
	$$line LIKE '%ab%'$$,
	$$line LIKE '%_%'$$,
	$$line IS NULL$$,
	$$bytes LIKE '%' || decode(substr(md5('4217'), 5, 12), 'hex') || '%'$$,
	$$bytes = decode(md5('4217') || md5('29519'), 'hex')$$,
	$$bytes = ''$$,
	$$bytes LIKE '\\000'$$]) condition, ask(condition) a;

-- An error of the comparison stays an error.
SELECT count(*) FROM lines WHERE line LIKE '%10.3.17.4217\';
SELECT count(*) FROM lines WHERE line ~ 'wget**';

-- Options.
CREATE INDEX ON lines USING bf (line gram_ops (n = 2));
CREATE INDEX ON lines USING bf (line gram_ops (n = 9));
CREATE INDEX ON lines USING bf (bytes bytea_gram_ops (fold = on));
DROP INDEX lines_grams;
CREATE INDEX lines_exact ON lines USING bf (line gram_ops (n = 6, fold = off, false_positive_rate = 0.01)) WITH (pages_per_range = 1);
SELECT condition, a.* FROM unnest(ARRAY[
	$$line LIKE '%10.3.17.4217 %'$$,
	$$line ILIKE '%[44400] "get%'$$,
	$$line ILIKE '%σίσυφοσ%'$$,
	$$line ~ '\[(44400|44437)\]'$$,
	$$line ~* '\[44400\]'$$,
	$$line = 'K'$$]) condition, ask(condition) a;
-- Indexes with other grams in one statement; partitions, too.
CREATE INDEX lines_three ON lines USING bf (lower(line) gram_ops (n = 3, false_positive_rate = 0.001)) WITH (pages_per_range = 1);
SELECT condition, a.* FROM unnest(ARRAY[
	$$line LIKE '%10.3.17.4217 %' AND lower(line) LIKE '%4217 %'$$,
	$$lower(line) LIKE '%421%'$$]) condition, ask(condition) a;
CREATE TABLE parts (line text, part int) PARTITION BY LIST (part);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT line, 1 + id / 3001 FROM lines WHERE id > 0;
CREATE INDEX ON parts_1 USING bf (line gram_ops (n = 3));
CREATE INDEX ON parts_2 USING bf (line gram_ops (n = 5, fold = off));
SELECT count(*) FROM parts WHERE line LIKE '%10.3.17.4217 %';
SELECT count(*) FROM parts WHERE line ILIKE '%10.3.17.1217 - [45029] "get%';
SELECT count(*) FROM chunk_scan(NULL::parts, 'line', '%10.3.17.4217 %', operator => '~~');

-- What would lose rows is refused.
CREATE COLLATION grams_nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE INDEX ON lines USING bf (line COLLATE grams_nocase gram_ops);
SELECT bf_index_check('lines_exact'), bf_index_check('lines_three'), bf_index_check('lines_bytes');

-- The operators of citext are its own: they use no index of grams. Those of varchar and of a domain are those of text.
CREATE DOMAIN grams_word AS text;
CREATE DOMAIN grams_caseless AS citext;
CREATE TABLE kinds (c citext, v varchar(20), d grams_word, e grams_caseless, w tsvector, a text[]);
CREATE INDEX kinds_usual ON kinds USING bf (v gram_ops, d gram_ops, lower(c::text) gram_ops, (c::text) gram_ops, w, a);
CREATE INDEX kinds_unasked ON kinds USING bf (lower(v) gram_ops, c gram_ops, (coalesce(c, '')) gram_ops, e gram_ops);
DROP TABLE kinds;
DROP DOMAIN grams_word, grams_caseless;

-- bf_grams() shows what a text is taken apart into.
SELECT bf_grams('Straße'), bf_grams('a'), bf_grams(''), bf_grams('AbC', 3, false), bf_grams(NULL);
SELECT bf_grams('a', 2);
SELECT bf_grams('a', n => 9);
DROP TABLE lines, parts;
DROP FUNCTION ask;
DROP COLLATION grams_nocase;

-- Short values have few different grams, so that a range of some pages has most of them. Ranges are as short as it takes
-- to tell them apart.
CREATE TABLE hosts AS SELECT i, format('%s.%s.%s.%s', hashint4extended(i, 1) & 255, hashint4extended(i, 2) & 255, hashint4extended(i, 3) & 255, hashint4extended(i, 4) & 255) AS host, 'same' AS word FROM generate_series(1, 100000) i;
CREATE INDEX hosts_host ON hosts USING bf (host gram_ops);
CREATE INDEX hosts_word ON hosts USING bf (word gram_ops);
SELECT i.index, pages_per_range FROM unnest(ARRAY['hosts_host', 'hosts_word']) i (index), bf_index_stats(i.index::regclass) WHERE level = 0;
DROP TABLE hosts;
