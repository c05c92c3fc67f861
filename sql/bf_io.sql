-- bf_io: text, binary and bytea, in and out; and what comes in is checked

CREATE TEMP TABLE filter (name text, f bf);
INSERT INTO filter VALUES ('empty', bf_empty(1)), ('nothing', bf_empty(10000)), ('integers', bf_empty(10) || 1 || 2), ('text', bf_empty(100) || 'a'),
	('numeric', bf_empty(100) || 1.5), ('composite', bf_empty(100) || ROW(1, 'a'::text)), ('null', NULL);
INSERT INTO filter SELECT 'large', bf_agg(i) FROM generate_series(1, 100000) i;
INSERT INTO filter SELECT 'widened', bf_agg(i) FILTER (WHERE i <= 10) | bf_agg(i) FROM generate_series(1, 1000) i;

-- there and back again: text, bytea, send
SELECT name, f::text::bf = f AS text, f::bytea::bf = f AS bytea, bf(bytea(f)) = f AS bytea, bf_send(f)::bf = f AS binary, bf_send(f) = f::bytea AS same_bytes, f::text = f::bytea::text AS same_text FROM filter ORDER BY name;
SELECT left(f::text, 10) AS mark, length(f::text) = 2 + 2 * length(f::bytea) AS two_digits_a_byte, (bf_info(f)).bytes = length(f::bytea) AS bytes FROM filter WHERE name = 'empty';
-- capital digits are read, too; = and <> compare bytes
SELECT (E'\\x' || upper(substr(f::text, 3)))::bf = f FROM filter WHERE name = 'text';
SELECT count(*) FILTER (WHERE a.f = b.f) AS equal, count(*) FILTER (WHERE a.f <> b.f) AS different, bool_and((a.f = b.f) <> (a.f <> b.f)) AS opposites FROM filter a, filter b;
SELECT bf_empty(10) || 1 = bf_empty(10) || 1, bf_empty(10) || 1 <> bf_empty(10) || 2, bf_empty(10) = bf_empty(11);

-- COPY: text, CSV and binary (which is what a dump, a replica and a driver use)
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TEMP TABLE copied (format text DEFAULT 'text', name text, f bf);
\copy filter TO 'results/bf_io.data'
\copy copied (name, f) FROM 'results/bf_io.data'
ALTER TABLE copied ALTER format SET DEFAULT 'csv';
\copy filter TO 'results/bf_io.data' (FORMAT csv)
\copy copied (name, f) FROM 'results/bf_io.data' (FORMAT csv)
ALTER TABLE copied ALTER format SET DEFAULT 'binary';
\copy filter TO 'results/bf_io.data' (FORMAT binary)
\copy copied (name, f) FROM 'results/bf_io.data' (FORMAT binary)
SELECT format, count(*) AS rows, count(*) FILTER (WHERE c.f IS NOT DISTINCT FROM o.f) AS same FROM copied c JOIN filter o USING (name) GROUP BY format ORDER BY format;

-- wrong values, with their messages
SELECT 'x'::bf;
SELECT '\x5'::bf;
SELECT '\x534201'::bf;
SELECT '\x53420101xy'::bf;
SELECT ''::bf;
SELECT '\x'::bf;
SELECT repeat('a streambloom value, not ', 20)::bf;
SELECT bf(set_byte(f::bytea, 0, 65)) FROM filter WHERE name = 'text';
SELECT bf(set_byte(f::bytea, 3, 2)) FROM filter WHERE name = 'text';
SELECT bf(set_byte(f::bytea, 4, 1)) FROM filter WHERE name = 'text';
SELECT bf(f::bytea || '\x00'::bytea) FROM filter WHERE name = 'text';
SELECT tbf_empty()::bytea::bf;
SELECT tbf_empty()::text::bf;
-- the same through binary input
CREATE TEMP TABLE bytes (b bytea);
INSERT INTO bytes SELECT set_byte(f::bytea, 40, 255) FROM filter WHERE name = 'text';
\copy bytes TO 'results/bf_io.data' (FORMAT binary)
\copy copied (f) FROM 'results/bf_io.data' (FORMAT binary)
TRUNCATE bytes;
INSERT INTO bytes VALUES ('');
\copy bytes TO 'results/bf_io.data' (FORMAT binary)
\copy copied (f) FROM 'results/bf_io.data' (FORMAT binary)

/*
 * Whatever comes in is refused with an SQLSTATE of class 22, or is a filter with which everything can be done. (The kind
 * may have become another: then asking and adding is an error about that.)
 */
CREATE FUNCTION pg_temp.outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	f bf;
	i record;
BEGIN
	f := value::bf;
	IF (f::text::bf <> f OR f::bytea <> value OR bf_send(f) <> value) IS NOT FALSE THEN
		RETURN 'changed by input';
	END IF;
	i := bf_info(f);
	IF (coalesce(i.expected_items, 1) < 1 OR NOT i.false_positive_rate BETWEEN 0.000001 AND 0.5 OR NOT i.hashes BETWEEN 1 AND 16 OR i.bits <> (i.bytes - 64) * 8 OR i.bytes <> length(value) OR
		NOT i.fill BETWEEN 0 AND 1 OR NOT i.current_false_positive_rate BETWEEN 0 AND 1 OR NOT i.cardinality BETWEEN 0 AND 1e300 OR i.item_kind = '') IS NOT FALSE THEN
		RETURN 'absurd';
	END IF;
	IF ((f | f) <> f OR (f & f) <> f OR bf_cardinality(f) <> i.cardinality OR bf_sketch(f) = '' OR (SELECT sum(lines) FROM bf_histogram(f)) <> i.bits / 512 OR bf_fold(f) IS NULL) IS NOT FALSE THEN
		RETURN 'unusable';
	END IF;
	BEGIN
		IF (f @> 1 IS NULL OR NOT f || 1 @> 1 OR NOT bf_add_all(f, '{1,2}'::int[]) @> 2 OR bf_contains_any(f, '{1}'::int[]) IS NULL) IS NOT FALSE THEN
			RETURN 'adding fails';
		END IF;
	EXCEPTION WHEN datatype_mismatch THEN
		IF i.item_kind IN ('integer', 'none') THEN
			RETURN 'refuses its own kind';
		END IF;
	END;
	RETURN 'usable';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE LIKE '22%' THEN 'refused' ELSE SQLSTATE || ': ' || SQLERRM END;
END
$$;

-- every prefix, and longer ones
SELECT pg_temp.outcome(substr(f::bytea, 1, n)) AS outcome, count(*) = length(f::bytea) AS all FROM filter, generate_series(0, length(f::bytea) - 1) n WHERE name = 'integers' GROUP BY 1, f::bytea;
SELECT pg_temp.outcome(f::bytea || more) AS outcome, count(*) FROM filter, unnest(ARRAY['\x00'::bytea, '\xff', decode(repeat('00', 63), 'hex'), decode(repeat('00', 64), 'hex'), decode(repeat('41', 640), 'hex')]) more WHERE name = 'integers' GROUP BY 1;
-- every byte of the header set to every value: three filters
SELECT name, outcome, count(*) > 0 AS some
FROM filter, generate_series(0, 63) byte, generate_series(0, 255) value, pg_temp.outcome(set_byte(f::bytea, byte, value)) outcome
WHERE name IN ('empty', 'integers', 'numeric') GROUP BY name, outcome ORDER BY name, outcome;
-- a number of lines that lies about the size (little-endian; 1 is the truth)
SELECT lines, pg_temp.outcome(substr(f::bytea, 1, 40) || decode(lines, 'hex') || substr(f::bytea, 45)) AS outcome
FROM filter, unnest('{00000000,01000000,02000000,00010000,00000001,ffffff7f,ffffffff}'::text[]) lines WHERE name = 'empty' ORDER BY lines;
-- random damage to several bytes, within the header and beyond it
SELECT setseed(0.25);
CREATE FUNCTION pg_temp.damaged(value bytea, how_often int, within int) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. how_often LOOP
		value := set_byte(value, floor(random() * within)::int, floor(random() * 256)::int);
	END LOOP;
	RETURN value;
END
$$;
SELECT outcome, count(*) > 0 AS some FROM filter, generate_series(1, 2000) i, pg_temp.outcome(pg_temp.damaged(f::bytea, 1 + i % 4, CASE i % 2 WHEN 0 THEN 64 ELSE length(f::bytea) END)) outcome
WHERE name = 'integers' GROUP BY outcome ORDER BY outcome;
-- all bits set is a filter, too: a full one; but bits are refused if the filter has no kind of items
SELECT cardinality, fill, current_false_positive_rate, full_one @> 1 AS found, full_one @> -1 AS found
FROM (SELECT bf(substr(f::bytea, 1, 64) || decode(repeat('ff', 64), 'hex')) AS full_one FROM filter WHERE name = 'integers') s, bf_info(full_one);
SELECT pg_temp.outcome(substr(f::bytea, 1, 64) || decode(repeat('ff', 64), 'hex')) AS outcome FROM filter WHERE name = 'empty';
