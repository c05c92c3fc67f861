-- types_shared: what all five types share, asked of each: text, binary and bytea, in and out, what comes in damaged, and what is read of a stored
-- value. (Comparison is in types_compare; expanded has variables of PL/pgSQL.)
SET timezone = 'UTC';
CREATE TEMP TABLE filter (name text, bf bf, sbf sbf, ibf ibf, abf abf, tbf tbf);
INSERT INTO filter (name, bf) VALUES ('empty', bf_empty(1)), ('nothing', bf_empty(10000)), ('integers', bf_empty(10) || 1 || 2), ('text', bf_empty(100) || 'a'),
	('numeric', bf_empty(100) || 1.5), ('composite', bf_empty(100) || ROW(1, 'a'::text));
INSERT INTO filter (name, bf) SELECT 'large', bf_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO filter (name, bf) SELECT 'widened', bf_agg(i) FILTER (WHERE i <= 10) | bf_agg(i) FROM generate_series(1, 1000) i;
INSERT INTO filter (name, sbf) VALUES ('empty', sbf_empty(64)), ('decayed', sbf_decay(sbf_empty(64), 3)), ('integers', sbf_empty(70, cell_bits => 5, evictions => 9) || 1 || 2), ('text', sbf_empty(1000) || 'a');
INSERT INTO filter (name, sbf) SELECT 'large', sbf_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO filter (name, ibf) VALUES ('empty', ibf_empty(64)), ('decayed', ibf_decay(ibf_empty(64), 3)), ('integers', ibf_add_all(ibf_empty(70, cell_bits => 5, evictions => 9), '{1,2}'::int[], '{0,1}'::int[])),
	('weighted', ibf_add(ibf_empty(70, 0.1, 'value_weighted', -5, 1e9, evictions => 2), 1, 3)), ('two_class', ibf_add(ibf_empty(70, 0.1, 'two_class', threshold => 3), 1, 3)), ('text', ibf_add(ibf_empty(1000), 'a', 0.5));
INSERT INTO filter (name, ibf) SELECT 'large', ibf_agg(i, i % 7, 0, 7) FROM generate_series(1, 100000) i;
INSERT INTO filter (name, abf) VALUES ('empty', abf_empty(64)), ('timed', abf_empty(64, within => '1 hour')), ('integers', abf_empty(50, 0.1) || 1 || 2), ('text', abf_empty(1000) || 'a'),
	('gone', abf_decay(abf_add(abf_empty(within => '1 hour'), 1, '2026-01-01'), '2026-01-02'));
INSERT INTO filter (name, abf) SELECT 'moments', abf_agg(i, '2026-01-01'::timestamptz + i * interval '1 second', '1 minute', 40, 0.1) FROM generate_series(1, 100) i;
INSERT INTO filter (name, abf) SELECT 'large', abf_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO filter (name, tbf) VALUES ('empty', tbf_empty(1)), ('nothing', tbf_empty(10000)), ('integers', tbf_add_all(tbf_empty(10, 0.01, '1 day'), '{1,2,2}'::int[], '2024-01-01')), ('undecayed', tbf_add(tbf_empty(10, 0.01, NULL), 'a')),
	('heavy', tbf_add(tbf_empty(10, 0.01, NULL), 1, now(), 5e9)), ('fraction', tbf_add(tbf_empty(10, 0.01, NULL), 1, now(), 0.3)), ('numeric', tbf_add(tbf_empty(100), 1.5, '2024-01-01')), ('exact, empty', tbf_empty(NULL));
INSERT INTO filter (name, tbf) SELECT 'large', tbf_agg(i, '2024-01-01') FROM generate_series(1, 50000) i;
INSERT INTO filter (name, tbf) SELECT 'widened', tbf_agg(i, '2024-01-01', '7 days', 1, 10, 0.01) FILTER (WHERE i <= 10) + tbf_agg(i, '2024-01-01', '7 days', 1, 100, 0.01) FROM generate_series(1, 100) i;
INSERT INTO filter (name, tbf) SELECT 'forgetful', tbf_decay(tbf_agg(i, '2024-01-01', interval '1 day', 1.0 / i, 20, 0.01), '2024-01-03') FROM generate_series(1, 20) i;
INSERT INTO filter (name, tbf) SELECT 'dropped', tbf_agg(i, '2023-01-01'::timestamptz + i * interval '20 days', interval '1 day', 1, 10, 0.01) FROM generate_series(1, 10) i;
INSERT INTO filter (name, tbf) SELECT 'exact', tbf_agg(i % 100, '2024-01-01'::timestamptz + i * interval '1 hour', interval '1 day') FROM generate_series(1, 200) i;
INSERT INTO filter (name, tbf) SELECT 'exact, undecayed', tbf_agg(i % 40, NULL, NULL) FROM generate_series(1, 200) i;
INSERT INTO filter (name, tbf) SELECT 'exact, forgetful', tbf_decay(tbf, '2024-02-01') FROM filter WHERE name = 'exact';
INSERT INTO filter (name, tbf) SELECT 'exact, dropped', tbf_agg(i, '2023-01-01'::timestamptz + i * interval '20 days', interval '1 day') FROM generate_series(1, 10) i;
INSERT INTO filter (name, tbf) SELECT name || ', flat', tbf_layout(tbf, 'flat') FROM filter WHERE tbf IS NOT NULL AND name IN ('empty', 'integers', 'undecayed', 'heavy', 'large', 'forgetful', 'exact');
INSERT INTO filter (name) VALUES ('null');

-- The types, and what is particular to each: what its _info() cannot say of a filter i, what does not work with a filter f, or not with an integer
-- item; the length of its header, and the filters whose header is changed, at every value of a byte or at some.
CREATE TEMP TABLE types (type text, absurd text, unusable text, adding text, header int, each_value text[], some_values text[]);
INSERT INTO types VALUES
	('bf', 'i.hashes > 16 OR i.bits <> (i.bytes - 64) * 8 OR NOT i.fill BETWEEN 0 AND 1',
		'(f | f) <> f OR (f & f) <> f OR bf_cardinality(f) <> i.cardinality OR (SELECT sum(lines) FROM bf_histogram(f)) <> i.bits / 512 OR bf_fold(f) IS NULL',
		'NOT f || 1 @> 1 OR NOT bf_add_all(f, ''{1,2}''::int[]) @> 2 OR bf_contains_any(f, ''{1}''::int[]) IS NULL', 64, '{integers}', '{empty,numeric}'),
	('sbf', 'i.hashes > 16 OR NOT i.cell_bits BETWEEN 1 AND 8 OR (i.items > 0 AND i.cells * i.cell_bits > (i.bytes - 128) * 8) OR NOT i.evictions BETWEEN 0 AND i.cells OR i.items > i.steps OR NOT i.zeros BETWEEN 0 AND 1 OR NOT i.stable_zeros BETWEEN 0 AND 1',
		'(SELECT sum(cells) FROM sbf_histogram(f)) <> i.cells OR sbf_decay(f, 3) IS NULL OR sbf_decay(f | f, 3)::bytea::sbf IS NULL OR sbf_false_negative_rate(f, 100) IS NULL',
		-- the first item brings all the cells of an empty filter: where these are many megabytes it is not added
		'sbf_contains_any(f, ''{1}''::int[]) IS NULL OR i.cells * i.cell_bits < 10000000 AND (NOT f || 1 @> 1 OR (sbf_check_add(f, ''{1,1}''::int[])).updated::bytea::sbf IS NULL)', 128, '{integers}', '{empty}'),
	('ibf', 'i.hashes > 16 OR NOT i.cell_bits BETWEEN 1 AND 8 OR (i.items > 0 AND i.cells * i.cell_bits > (i.bytes - 128) * 8) OR NOT i.evictions BETWEEN 0 AND i.cells OR i.items > i.steps OR NOT i.zeros BETWEEN 0 AND 1 OR NOT i.stable_zeros BETWEEN 0 AND 1',
		'(SELECT sum(cells) FROM ibf_histogram(f)) <> i.cells OR ibf_decay(f, 3) IS NULL OR ibf_decay(f | f, 3)::bytea::ibf IS NULL OR ibf_false_negative_rate(f, 1, 100) IS NULL',
		'ibf_contains_any(f, ''{1}''::int[]) IS NULL OR i.cells * i.cell_bits < 10000000 AND (NOT ibf_add(f, 1, 5) @> 1 OR (ibf_check_add(f, ''{1,1}''::int[], ''{0,9}''::int[])).updated::bytea::ibf IS NULL)', 128, '{two_class}', '{weighted}'),
	('abf', 'i.hashes > 32 OR NOT i.generations BETWEEN 1 AND 96 OR i.expected_items < 1 OR i.items < 0 OR (i.within IS NULL) = (i.window_items IS NULL) OR NOT i.fill BETWEEN 0 AND 1',
		'(SELECT count(*) FROM abf_histogram(f)) <> i.hashes + i.generations OR i.within IS NOT NULL AND (abf_decay(f, ''2030-01-01'')::bytea::abf IS NULL OR i.hashes * 1.0 * i.slice_bits < 10000000 AND (f | f)::bytea::abf IS NULL)',
		'abf_contains_any(f, ''{1}''::int[]) IS NULL OR i.hashes * 1.0 * i.slice_bits < 1000000 AND i.within IS NULL AND i.items < 1e18 AND (NOT f || 1 @> 1 OR (abf_check_add(f, ''{1,1}''::int[])).updated::bytea::abf IS NULL)
		OR i.hashes * 1.0 * i.slice_bits < 1000000 AND i.within IS NOT NULL AND i.newest > ''-infinity'' AND i.newest < ''infinity'' AND NOT abf_contains(abf_add(f, 1, coalesce(i.newest, ''2026-01-01''), ''infinity''), 1)', 128, '{integers}', '{empty}'),
	('tbf', 'i.hashes > 16 OR coalesce(i.expected_items, 1) < 1 OR (i.layout = ''flat'' AND i.bytes <> 128 + i.cells * i.cell_bits / 8) OR coalesce(least(i.half_life, i.epoch), ''1 day'') <= ''0'' OR NOT coalesce(i.fill, 0) BETWEEN 0 AND 1 OR
			NOT i.slack BETWEEN 0 AND 1e300 OR NOT i.total BETWEEN 0 AND 1e300 OR (i.half_life IS NULL) <> (i.epoch IS NULL)',
		'(SELECT coalesce(sum(cells), 0) FROM tbf_histogram(f)) <> coalesce(i.cells, i.cardinality)',
		-- a few bytes can say that there are a hundred million counters, all zero: true, but slow to do anything with
		'coalesce(i.cells, 0) <= 1000000 AND (((tbf_info(f + f)).base IS NOT DISTINCT FROM i.base AND (tbf_info(f + f)).total < 2 * i.total * (1 - 1e-9) - 0.01) OR tbf_decay(f, ''2030-01-01'') <> tbf_decay(tbf_decay(f, ''2030-01-01''), ''2030-01-01'') OR
			NOT (tbf_count(f, 1, ''2024-01-01'') >= 0 AND tbf_count(f, 1, ''2024-01-01'') < ''infinity'') OR NOT (tbf_count(f, 1, ''2030-01-01'') >= 0 AND tbf_count(f, 1, ''2030-01-01'') < ''infinity'') OR
			NOT ((f -> 1) >= 0 AND (f -> 1) < ''infinity'') OR NOT (tbf_count(tbf_add(f, 1, ''2024-01-01''), 1, ''2024-01-01'') >= 1 AND tbf_count(tbf_add(f, 1, ''2024-01-01''), 1, ''2024-01-01'') < ''infinity''))',
		128, '{integers}', '{empty,undecayed,heavy,forgetful,dropped,widened,"integers, flat","undecayed, flat",exact,"exact, undecayed","exact, forgetful","exact, dropped","exact, empty","exact, flat"}');

-- there and back again: text with small and capital digits, bytea by both forms of the cast, send
CREATE FUNCTION pg_temp.as_text(what text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE result text; BEGIN EXECUTE what INTO result; RETURN result; END $$;
SELECT type, pg_temp.as_text(format($q$SELECT count(*) || ' filters, changed: ' || count(*) FILTER (WHERE (f::text::%1$s = f AND (E'\\x' || upper(substr(f::text, 3)))::%1$s = f AND f::bytea::%1$s = f AND %1$s(bytea(f)) = f AND %1$s_send(f)::%1$s = f
	AND %1$s_send(f) = f::bytea AND f::text = f::bytea::text AND (%1$s_info(f)).bytes = length(f::bytea)) IS NOT TRUE) FROM filter, LATERAL (SELECT %1$s AS f) g WHERE f IS NOT NULL$q$, type)) AS there_and_back,
	pg_temp.as_text(format('SELECT left(%s::text, 10) FROM filter WHERE name = ''integers'' AND %1$s IS NOT NULL', type)) AS mark FROM types;
-- COPY: text, CSV and binary (which is what a dump, a replica and a driver use)
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TEMP TABLE copied (LIKE filter, format text DEFAULT 'text');
\copy filter TO 'results/types_shared.data'
\copy copied (name, bf, sbf, ibf, abf, tbf) FROM 'results/types_shared.data'
ALTER TABLE copied ALTER format SET DEFAULT 'csv';
\copy filter TO 'results/types_shared.data' (FORMAT csv)
\copy copied (name, bf, sbf, ibf, abf, tbf) FROM 'results/types_shared.data' (FORMAT csv)
ALTER TABLE copied ALTER format SET DEFAULT 'binary';
\copy filter TO 'results/types_shared.data' (FORMAT binary)
\copy copied (name, bf, sbf, ibf, abf, tbf) FROM 'results/types_shared.data' (FORMAT binary)
SELECT format, count(*) AS rows, count(*) FILTER (WHERE EXISTS (SELECT FROM filter f WHERE ROW(f.name, f.bf, f.sbf, f.ibf, f.abf, f.tbf) IS NOT DISTINCT FROM ROW(c.name, c.bf, c.sbf, c.ibf, c.abf, c.tbf))) AS same
FROM copied c GROUP BY format ORDER BY format;

-- wrong values, with their messages
SELECT 'x'::bf;
SELECT wrong, replace(replace(error_of(format(wrong, type)), 'type ' || type, 'type T'), type || '_', 'T_') AS error, string_agg(type, ' ') AS of
FROM types, unnest(ARRAY['SELECT ''x''::%1$s', 'SELECT ''\x5''::%1$s', 'SELECT ''\x53420101xy''::%1$s', 'SELECT ''''::%1$s', 'SELECT repeat(''a streambloom value, not '', 20)::%1$s', 'SELECT ''\x''::%1$s', 'SELECT ''\x534201''::%1$s',
	'SELECT %1$s(set_byte(%1$s::bytea, 0, 65)) FROM filter WHERE name = ''integers''', 'SELECT %1$s(set_byte(%1$s::bytea, 3, 2)) FROM filter WHERE name = ''integers''', 'SELECT %1$s(%1$s::bytea || ''\x00'') FROM filter WHERE name = ''integers''',
	'SELECT %1$s(set_byte(%1$s::bytea, 2, get_byte(%1$s::bytea, 2) %% 5 + 1)) FROM filter WHERE name = ''integers''', 'SELECT %1$s(set_byte(%1$s::bytea, 2, (get_byte(%1$s::bytea, 2) + 1) %% 5 + 1)::text) FROM filter WHERE name = ''integers'''])
	WITH ORDINALITY w(wrong, n) GROUP BY n, 1, 2 ORDER BY n;
-- the same through binary input
CREATE TEMP TABLE bytes (b bytea);
INSERT INTO bytes VALUES ('');
\copy bytes TO 'results/types_shared.data' (FORMAT binary)
\copy copied (bf) FROM 'results/types_shared.data' (FORMAT binary)
\copy copied (sbf) FROM 'results/types_shared.data' (FORMAT binary)
\copy copied (ibf) FROM 'results/types_shared.data' (FORMAT binary)
\copy copied (abf) FROM 'results/types_shared.data' (FORMAT binary)
\copy copied (tbf) FROM 'results/types_shared.data' (FORMAT binary)

/*
 * Whatever comes in is refused with an SQLSTATE of class 22, or is a filter with which everything can be done, or fails with class 22 (counters
 * and times at the ends of their ranges). The kind may have become another: then asking and adding is an error about that.
 */
DO $do$
DECLARE
	t types;
BEGIN
	FOR t IN SELECT * FROM types LOOP
		EXECUTE format($f$
			CREATE FUNCTION pg_temp.%1$s_outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
			DECLARE
				f %1$s;
				i record;
			BEGIN
				f := value::%1$s;
				IF (f::text::%1$s <> f OR f::bytea <> value OR %1$s_send(f) <> value) IS NOT FALSE THEN
					RETURN 'changed by input';
				END IF;
				i := %1$s_info(f);
				IF (i.bytes <> length(value) OR NOT i.false_positive_rate BETWEEN 0.000001 AND 0.5 OR i.hashes < 1 OR NOT i.current_false_positive_rate BETWEEN 0 AND 1 OR NOT i.cardinality BETWEEN 0 AND 1e300 OR i.item_kind = '' OR %2$s) IS NOT FALSE THEN
					RETURN 'absurd';
				END IF;
				IF (%1$s_sketch(f) = '' OR %3$s) IS NOT FALSE THEN
					RETURN 'unusable';
				END IF;
				BEGIN
					IF (f @> 1 IS NULL OR %4$s) IS NOT FALSE THEN
						RETURN 'asking or adding fails';
					END IF;
				EXCEPTION WHEN datatype_mismatch THEN
					IF i.item_kind IN ('integer', 'none') THEN
						RETURN 'refuses its own kind';
					END IF;
				END;
				RETURN 'usable';
			EXCEPTION WHEN OTHERS THEN
				RETURN CASE WHEN SQLSTATE LIKE '22%%' THEN 'refused' ELSE SQLSTATE || ': ' || SQLERRM END;
			END
			$$ $f$, t.type, t.absurd, t.unusable, t.adding);
	END LOOP;
END $do$;
CREATE FUNCTION pg_temp.damaged(value bytea, how_often int, within int) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. how_often LOOP
		value := set_byte(value, floor(random() * within)::int, floor(random() * 256)::int);
	END LOOP;
	RETURN value;
END
$$;
SELECT setseed(0.25);
-- every prefix of a filter, and longer ones; every byte of a header set to other values; random damage to several bytes, within the header and beyond it
SET client_min_messages = error;	-- which of the damaged filters warns first depends on the order of their rows
SELECT damage, outcomes, string_agg(type, ' ' ORDER BY type) AS of FROM types, (VALUES
	('prefix', 'SELECT array_agg(DISTINCT pg_temp.%1$s_outcome(substr(%1$s::bytea, 1, n))) FROM filter, generate_series(0, length(%1$s::bytea) - 1) n WHERE name = ''integers'''),
	('longer', 'SELECT array_agg(DISTINCT pg_temp.%1$s_outcome(%1$s::bytea || more)) FROM filter, unnest(ARRAY[''\x00''::bytea, ''\xff'', decode(repeat(''00'', 63), ''hex''), decode(repeat(''00'', 64), ''hex''), decode(repeat(''00'', 70), ''hex''), decode(repeat(''00'', 128), ''hex''), decode(repeat(''41'', 640), ''hex'')]) more WHERE name = ''integers'' AND %1$s IS NOT NULL'),
	('every byte', 'SELECT array_agg(DISTINCT outcomes::text) FROM (SELECT name, array_agg(DISTINCT pg_temp.%1$s_outcome(set_byte(%1$s::bytea, byte, value))) AS outcomes FROM filter, generate_series(0, %2$s - 1) byte, generate_series(0, 255, CASE WHEN name = ANY (%3$L) THEN 1 ELSE 15 END) value
		WHERE name = ANY (%3$L::text[] || %4$L) AND %1$s IS NOT NULL GROUP BY name) each_of_them'),
	('random', 'SELECT array_agg(DISTINCT pg_temp.%1$s_outcome(pg_temp.damaged(%1$s::bytea, 1 + n %% 4, CASE n %% 2 WHEN 0 THEN %2$s ELSE length(%1$s::bytea) END))) FROM filter, generate_series(1, 2000) n
		WHERE name IN (''integers'', ''heavy'', ''forgetful'', ''integers, flat'', ''heavy, flat'') AND %1$s IS NOT NULL')) d(damage, command), pg_temp.as_text(format(command, type, header, each_value, some_values)) outcomes
GROUP BY 1, 2 ORDER BY 1, 2;
RESET client_min_messages;
-- what only one type can have wrong. bf: a number of lines that lies about the size (little-endian; 1 is the truth); all bits set is a filter, too: a full
-- one; but bits are refused if the filter has no kind of items
SELECT lines, pg_temp.bf_outcome(substr(bf::bytea, 1, 40) || decode(lines, 'hex') || substr(bf::bytea, 45)) AS outcome
FROM filter, unnest('{00000000,01000000,02000000,00010000,00000001,ffffff7f,ffffffff}'::text[]) lines WHERE name = 'empty' AND bf IS NOT NULL ORDER BY lines;
SELECT cardinality, fill, current_false_positive_rate, full_one @> 1 AS found, full_one @> -1 AS found
FROM (SELECT bf(substr(bf::bytea, 1, 64) || decode(repeat('ff', 64), 'hex')) AS full_one FROM filter WHERE name = 'integers' AND bf IS NOT NULL) s, bf_info(full_one);
-- cells and bits that no items can have set: some in an empty filter, more than its items set, some behind the last cell, none at all; a counter out of range
SELECT damage, error_of(format(damage, name, type)) FROM (VALUES ('empty', 'bf', 'SELECT bf(substr(bf::bytea, 1, 64) || decode(repeat(''ff'', 64), ''hex'')) FROM filter WHERE name = %L'),
	('empty', 'sbf', 'SELECT %2$s(%2$s::bytea || ''\x0001'') FROM filter WHERE name = %1$L'), ('empty', 'ibf', 'SELECT %2$s(%2$s::bytea || ''\x0001'') FROM filter WHERE name = %1$L'), ('empty', 'abf', 'SELECT %2$s(%2$s::bytea || ''\x0001'') FROM filter WHERE name = %1$L'),
	('integers', 'sbf', 'SELECT sbf(substr(sbf::bytea, 1, 128) || decode(repeat(''21'', 70), ''hex'')) FROM filter WHERE name = %L'),
	('', 'sbf', 'SELECT sbf(set_byte(f::bytea, 63 + 128, 255)) FROM (SELECT sbf_add_all(sbf_empty(64, cell_bits => 5, evictions => 0), ARRAY(SELECT generate_series(1, 100))) AS f) s'),
	('integers', 'abf', 'SELECT abf(overlay(abf::bytea PLACING decode(repeat(''ff'', 20), ''hex'') FROM 129)) FROM filter WHERE name = %L'),
	('integers', 'abf', 'SELECT abf(substr(abf::bytea, 1, 128) || decode(repeat(''00'', length(abf::bytea) - 128), ''hex'')) FROM filter WHERE name = %L'),
	('integers', 'tbf', 'SELECT tbf(set_byte(tbf::bytea, 46, 17)) FROM filter WHERE name = %L'),
	('heavy, flat', 'tbf', 'SELECT tbf(substr(tbf::bytea, 1, length(tbf::bytea) - 8) || ''\xffffffffffffffff'') FROM filter WHERE name = %L')) d(name, type, damage);
-- the bytes are these on every machine and every version: the test/unit/golden files come from a second implementation
SELECT md5(sbf_add_all(sbf_empty(100, 0.01, 5, 3, 10, 42), ARRAY(SELECT i * i % 211 FROM generate_series(0, 499) i))::bytea) = md5(sbf_agg_like(i * i % 211, sbf_parameters(100, 0.01, 5, 3, 10, 42) ORDER BY i)::bytea) AS same,
	md5(sbf_agg_like(i * i % 211, sbf_parameters(100, 0.01, 5, 3, 10, 42) ORDER BY i)::bytea) AS sbf FROM generate_series(0, 499) i;
SELECT scheme, md5(ibf_agg_like(i * i % 211, i * 7 % 53, ibf_parameters(100, 0.01, scheme, 0, 50, NULL, 5, 4, 10, 42) ORDER BY i)::bytea) AS ibf FROM unnest('{two_class,multi_class,value_weighted}'::text[]) scheme, generate_series(0, 499) i GROUP BY scheme ORDER BY scheme;
SELECT md5(abf_agg_like(i * i % 83, abf_empty(100, 0.05, hashes => 4, generations => 6) ORDER BY i)::bytea) AS abf_items, md5(abf_agg_like(i * i % 83, '2026-01-01'::timestamptz + i * interval '1 second', abf_empty(100, 0.05, '1 minute', 5, 7))::bytea) AS abf_moments FROM generate_series(0, 249) i;

/*
 * Asking a stored filter of megabytes reads its header and the item's line, block or cells, not the whole. Without an item most
 * look-ups end at the first cell. What looks at the whole filter reads it all.
 */
CREATE FUNCTION pg_temp.buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;	-- what the catalogs say is known then
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END
$$;
CREATE TABLE types_stored AS SELECT bf_add_all(bf_empty(4000000), items) AS bf, sbf_add_all(sbf_empty(4000000), items) AS sbf, ibf_agg AS ibf, abf_add_all(abf_empty(1500000), items) AS abf,
	abf_add_all(abf_empty(1500000, within => '1 hour'), items, '2026-01-01 00:00+00') AS abf_timed, tbf_layout(tbf_agg_like, 'flat') AS tbf
FROM (SELECT array_agg(i) AS items, ibf_agg(i, (i % 10) / 10.0, 0, 1, 3000000, 0.01), tbf_agg_like(i, '2024-01-01', tbf_empty(2000000)) FROM generate_series(1, 1000) i) s;
-- the same values, smaller ones that are told apart without reading them
CREATE TABLE types_others AS SELECT bf_empty(1000000) || 1 AS bf, sbf_empty(3000000) AS sbf, ibf_empty(2000000) AS ibf, abf_empty(3000000) AS abf, tbf_empty(1000) AS tbf;
SELECT type, pg_temp.as_text(format('SELECT length(%s::bytea) > 3000000 AND pg_column_size(%1$s) = length(%1$s::bytea) FROM types_stored', type)) AS large_and_uncompressed FROM types;
CREATE TEMP TABLE question (types text[], most int, least int, query text);
INSERT INTO question VALUES ('{bf,tbf}', 20, 0, 'SELECT %1$s @> 7 FROM types_stored'), ('{sbf,ibf,abf}', 60, 0, 'SELECT %1$s @> 7 FROM types_stored'),
	('{bf,sbf,ibf,tbf}', 20, 0, 'SELECT 7777777 <@ %1$s FROM types_stored'), ('{abf}', 60, 0, 'SELECT 7777777 <@ %1$s FROM types_stored'),
	('{bf,tbf}', 20, 0, 'SELECT FROM types_stored WHERE %1$s_contains(%1$s, 42)'), ('{sbf,ibf,abf}', 60, 0, 'SELECT FROM types_stored WHERE %1$s_contains(%1$s, 42)'),
	('{sbf,ibf,abf}', 120, 0, 'SELECT %1$s_contains_any(%1$s, ARRAY[7777777, 8888888, 7]) FROM types_stored'), ('{sbf,ibf}', 80, 0, 'SELECT %1$s_contains_all(%1$s, ARRAY[7, 8, 7777777]) FROM types_stored'),
	('{sbf,ibf,abf}', NULL, 300, 'SELECT %1$s_contains_all(%1$s, ARRAY(SELECT generate_series(1, 1000))) FROM types_stored'),
	('{bf,sbf,ibf,abf,tbf}', NULL, 300, 'SELECT %1$s_info(%1$s) FROM types_stored'), ('{bf}', NULL, 300, 'SELECT bf | bf FROM types_stored'), ('{tbf}', NULL, 300, 'SELECT tbf + tbf FROM types_stored'),
	('{abf}', 40, 0, 'SELECT abf_contains(abf_timed, 42, ''2026-01-01 00:30+00'') FROM types_stored'), ('{tbf}', 20, 0, 'SELECT tbf -> 7 FROM types_stored'),
	('{bf,sbf,ibf,abf,tbf}', 30, 0, 'SELECT s.%1$s = o.%1$s FROM types_stored s, types_others o');
SELECT count(*) AS questions, count(*) FILTER (WHERE of BETWEEN least AND coalesce(most, 1000000)) AS within_bounds, string_agg(of || ' buffers: ' || asked, E'\n') FILTER (WHERE NOT of BETWEEN least AND coalesce(most, 1000000)) AS beyond
FROM question, unnest(types) type, format(query, type) asked, pg_temp.buffers(asked) of;
-- the answers are those of the whole; an error comes before anything more is read
SELECT type, pg_temp.as_text(format('SELECT count(*) || '' answers, others: '' || count(*) FILTER (WHERE s.%1$s @> i <> w.f @> i) || '', found: '' || (count(*) FILTER (WHERE s.%1$s @> i) BETWEEN 900 AND 1100) FROM types_stored s, (SELECT %1$s::bytea::%1$s AS f FROM types_stored OFFSET 0) w, generate_series(1, 2000) i', type)) AS stored FROM types;
SELECT error_of(format('SELECT %s @> ''a'' FROM types_stored', type)) AS error, string_agg(type, ' ') AS of FROM types GROUP BY 1;
SELECT sbf @> 1, sbf @> 'a' FROM types_others;
SELECT sbf_contains_any(sbf, ARRAY[7777777, NULL, 7]) AS any, sbf_contains_any(sbf, ARRAY[7777777, 8888888]) AS neither, sbf_contains_all(sbf, ARRAY[7, NULL, 8]) AS all, sbf_contains_all(sbf, ARRAY[7, 8888888]) AS not_all,
	sbf_contains_any(sbf, '{}'::int[]) AS any_of_none, sbf_contains_all(sbf, '{}'::int[]) AS all_of_none FROM types_stored;
DROP TABLE types_stored, types_others;
