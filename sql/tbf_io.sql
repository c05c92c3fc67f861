-- tbf_io: text, binary and bytea, in and out; and what comes in is checked

SET timezone = 'UTC';
CREATE TEMP TABLE filter (name text, f tbf);
INSERT INTO filter VALUES ('empty', tbf_empty(1)), ('nothing', tbf_empty(10000)), ('integers', tbf_add_all(tbf_empty(10, 0.01, '1 day'), '{1,2,2}'::int[], '2024-01-01')), ('undecayed', tbf_add(tbf_empty(10, 0.01, NULL), 'a')),
	('heavy', tbf_add(tbf_empty(10, 0.01, NULL), 1, now(), 5e9)), ('fraction', tbf_add(tbf_empty(10, 0.01, NULL), 1, now(), 0.3)), ('numeric', tbf_add(tbf_empty(100), 1.5, '2024-01-01')), ('null', NULL);
INSERT INTO filter SELECT 'large', tbf_agg(i, '2024-01-01') FROM generate_series(1, 50000) i;
INSERT INTO filter SELECT 'widened', tbf_agg(i, '2024-01-01', '7 days', 1, 10, 0.01) FILTER (WHERE i <= 10) + tbf_agg(i, '2024-01-01', '7 days', 1, 100, 0.01) FROM generate_series(1, 100) i;
INSERT INTO filter SELECT 'forgetful', tbf_decay(tbf_agg(i, '2024-01-01', interval '1 day', 1.0 / i, 20, 0.01), '2024-01-03') FROM generate_series(1, 20) i;
INSERT INTO filter SELECT 'dropped', tbf_agg(i, '2023-01-01'::timestamptz + i * interval '20 days', interval '1 day', 1, 10, 0.01) FROM generate_series(1, 10) i;
INSERT INTO filter SELECT 'exact', tbf_agg(i % 100, '2024-01-01'::timestamptz + i * interval '1 hour', interval '1 day') FROM generate_series(1, 200) i;
INSERT INTO filter SELECT 'exact, undecayed', tbf_agg(i % 40, NULL, NULL) FROM generate_series(1, 200) i;
INSERT INTO filter SELECT 'exact, forgetful', tbf_decay(f, '2024-02-01') FROM filter WHERE name = 'exact';
INSERT INTO filter SELECT 'exact, dropped', tbf_agg(i, '2023-01-01'::timestamptz + i * interval '20 days', interval '1 day') FROM generate_series(1, 10) i;
INSERT INTO filter VALUES ('exact, empty', tbf_empty(NULL));
INSERT INTO filter SELECT name || ', flat', tbf_layout(f, 'flat') FROM filter WHERE name IN ('empty', 'integers', 'undecayed', 'heavy', 'large', 'forgetful', 'exact');

-- there and back again: text, bytea, send
SELECT name, f::text::tbf = f AS text, f::bytea::tbf = f AS bytea, tbf(bytea(f)) = f AS bytea, tbf_send(f)::tbf = f AS binary, tbf_send(f) = f::bytea AS same_bytes, f::text = f::bytea::text AS same_text FROM filter ORDER BY name;
SELECT left(f::text, 10) AS mark, (tbf_info(f)).bytes = length(f::bytea) AS bytes FROM filter WHERE name = 'empty';
SELECT count(*) FILTER (WHERE a.f = b.f) AS equal, count(*) FILTER (WHERE a.f <> b.f) AS different, bool_and((a.f = b.f) <> (a.f <> b.f)) AS opposites FROM filter a, filter b;

-- COPY: text, CSV and binary (which is what a dump, a replica and a driver use)
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TEMP TABLE copied (format text DEFAULT 'text', name text, f tbf);
\copy filter TO 'results/tbf_io.data'
\copy copied (name, f) FROM 'results/tbf_io.data'
ALTER TABLE copied ALTER format SET DEFAULT 'csv';
\copy filter TO 'results/tbf_io.data' (FORMAT csv)
\copy copied (name, f) FROM 'results/tbf_io.data' (FORMAT csv)
ALTER TABLE copied ALTER format SET DEFAULT 'binary';
\copy filter TO 'results/tbf_io.data' (FORMAT binary)
\copy copied (name, f) FROM 'results/tbf_io.data' (FORMAT binary)
SELECT format, count(*) AS rows, count(*) FILTER (WHERE c.f IS NOT DISTINCT FROM o.f) AS same FROM copied c JOIN filter o USING (name) GROUP BY format ORDER BY format;

-- wrong values, with their messages
SELECT 'x'::tbf;
SELECT '\x534204'::tbf;
SELECT tbf(set_byte(f::bytea, 0, 65)) FROM filter WHERE name = 'integers';
SELECT tbf(set_byte(f::bytea, 3, 2)) FROM filter WHERE name = 'integers';
SELECT tbf(set_byte(f::bytea, 46, 17)) FROM filter WHERE name = 'integers';
SELECT tbf(f::bytea || '\x00'::bytea) FROM filter WHERE name = 'integers';
SELECT bf_empty()::bytea::tbf;
SELECT bf_empty()::text::tbf;
-- a counter out of range
SELECT tbf(substr(f::bytea, 1, length(f::bytea) - 8) || '\xffffffffffffffff'::bytea) FROM filter WHERE name = 'heavy, flat';
-- the same through binary input
CREATE TEMP TABLE bytes (b bytea);
INSERT INTO bytes SELECT set_byte(f::bytea, 40, 255) FROM filter WHERE name = 'integers';
\copy bytes TO 'results/tbf_io.data' (FORMAT binary)
\copy copied (f) FROM 'results/tbf_io.data' (FORMAT binary)
TRUNCATE bytes;
INSERT INTO bytes VALUES ('');
\copy bytes TO 'results/tbf_io.data' (FORMAT binary)
\copy copied (f) FROM 'results/tbf_io.data' (FORMAT binary)

/*
 * Whatever comes in is refused with an SQLSTATE of class 22, or is a filter with which everything can be done, or fails with
 * class 22 (counters and times at the ends of their ranges). The kind may have become another: then asking is an error.
 */
CREATE FUNCTION pg_temp.outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	f tbf;
	i record;
BEGIN
	f := value::tbf;
	IF (f::text::tbf <> f OR f::bytea <> value OR tbf_send(f) <> value) IS NOT FALSE THEN
		RETURN 'changed by input';
	END IF;
	i := tbf_info(f);
	IF (coalesce(i.expected_items, 1) < 1 OR NOT i.false_positive_rate BETWEEN 0.000001 AND 0.5 OR NOT i.hashes BETWEEN 1 AND 16 OR (i.layout = 'flat' AND i.bytes <> 128 + i.cells * i.cell_bits / 8) OR i.bytes <> length(value) OR coalesce(least(i.half_life, i.epoch), '1 day') <= '0' OR
		NOT coalesce(i.fill, 0) BETWEEN 0 AND 1 OR NOT i.current_false_positive_rate BETWEEN 0 AND 1 OR NOT i.cardinality BETWEEN 0 AND 1e300 OR NOT i.slack BETWEEN 0 AND 1e300 OR NOT i.total BETWEEN 0 AND 1e300 OR i.item_kind = '' OR (i.half_life IS NULL) <> (i.epoch IS NULL)) IS NOT FALSE THEN
		RETURN 'absurd';
	END IF;
	IF ((SELECT coalesce(sum(cells), 0) FROM tbf_histogram(f)) <> coalesce(i.cells, i.cardinality) OR tbf_sketch(f) = '') IS NOT FALSE THEN
		RETURN 'unusable';
	END IF;
	-- a few bytes can say that there are a hundred million counters, all zero: true, but slow to do anything with
	IF i.cells > 1000000 THEN
		RETURN 'usable';
	END IF;
	BEGIN
		IF (f @> 1 IS NULL OR ((tbf_info(f + f)).base IS NOT DISTINCT FROM i.base AND (tbf_info(f + f)).total < 2 * i.total * (1 - 1e-9) - 0.01) OR tbf_decay(f, '2030-01-01') <> tbf_decay(tbf_decay(f, '2030-01-01'), '2030-01-01') OR
			NOT (tbf_count(f, 1, '2024-01-01') >= 0 AND tbf_count(f, 1, '2024-01-01') < 'infinity') OR NOT (tbf_count(f, 1, '2030-01-01') >= 0 AND tbf_count(f, 1, '2030-01-01') < 'infinity') OR
			NOT ((f -> 1) >= 0 AND (f -> 1) < 'infinity') OR NOT (tbf_count(tbf_add(f, 1, '2024-01-01'), 1, '2024-01-01') >= 1 AND tbf_count(tbf_add(f, 1, '2024-01-01'), 1, '2024-01-01') < 'infinity')) IS NOT FALSE THEN
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
SELECT pg_temp.outcome(f::bytea || more) AS outcome, count(*) FROM filter, unnest(ARRAY['\x00'::bytea, '\xff', decode(repeat('00', 64), 'hex'), decode(repeat('00', 128), 'hex'), decode(repeat('41', 640), 'hex')]) more WHERE name = 'integers' GROUP BY 1;
-- every byte of the header set to many values
-- (of which filter a warning is given first depends on the order of the rows, and that on the server's settings)
SET client_min_messages = error;
SELECT outcomes, count(*) AS filters, min(name) AS one FROM (SELECT name, array_agg(DISTINCT outcome) AS outcomes
FROM filter, generate_series(0, 127) byte, generate_series(0, 255, CASE WHEN name = 'integers' THEN 1 ELSE 5 END) value, pg_temp.outcome(set_byte(f::bytea, byte, value)) outcome
WHERE name IN ('empty', 'integers', 'undecayed', 'heavy', 'forgetful', 'dropped', 'widened', 'integers, flat', 'undecayed, flat') OR name LIKE 'exact%' GROUP BY name) o GROUP BY outcomes ORDER BY outcomes;
RESET client_min_messages;
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
SET client_min_messages = error;	-- which of the damaged filters warns first depends on the order of their rows
SELECT outcome, count(*) > 0 AS some FROM filter, generate_series(1, 4000) i, pg_temp.outcome(pg_temp.damaged(f::bytea, 1 + i % 4, CASE i % 2 WHEN 0 THEN 128 ELSE length(f::bytea) END)) outcome
WHERE name IN ('integers', 'heavy', 'forgetful', 'integers, flat', 'heavy, flat') GROUP BY outcome ORDER BY outcome;
