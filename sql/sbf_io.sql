-- sbf_io: text, binary and bytea, in and out; and what comes in is checked

CREATE TEMP TABLE filter (name text, f sbf);
INSERT INTO filter VALUES ('empty', sbf_empty(64)), ('decayed', sbf_decay(sbf_empty(64), 3)), ('integers', sbf_empty(70, cell_bits => 5, evictions => 9) || 1 || 2), ('text', sbf_empty(1000) || 'a'), ('null', NULL);
INSERT INTO filter SELECT 'large', sbf_agg(i) FROM generate_series(1, 100000) i;

-- there and back again: text, bytea, send
SELECT name, f::text::sbf = f AS text, f::bytea::sbf = f AS bytea, sbf(bytea(f)) = f AS bytea, sbf_send(f)::sbf = f AS binary, sbf_send(f) = f::bytea AS same_bytes, f::text = f::bytea::text AS same_text, (sbf_info(f)).bytes = length(f::bytea) AS bytes FROM filter ORDER BY name;
SELECT left(f::text, 10) AS mark FROM filter WHERE name = 'empty';
SELECT count(*) FILTER (WHERE a.f = b.f) AS equal, count(*) FILTER (WHERE a.f <> b.f) AS different FROM filter a, filter b;
-- the bytes are these on every machine and every version: the test/unit/golden files come from a second implementation
SELECT md5(sbf_add_all(sbf_empty(100, 0.01, 5, 3, 10, 42), ARRAY(SELECT i * i % 211 FROM generate_series(0, 499) i))::bytea) = md5(sbf_agg_like(i * i % 211, sbf_parameters(100, 0.01, 5, 3, 10, 42) ORDER BY i)::bytea) AS same,
	md5(sbf_agg_like(i * i % 211, sbf_parameters(100, 0.01, 5, 3, 10, 42) ORDER BY i)::bytea) AS md5 FROM generate_series(0, 499) i;

-- COPY, text and binary
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TEMP TABLE copied (format text DEFAULT 'text', name text, f sbf);
\copy filter TO 'results/sbf_io.data'
\copy copied (name, f) FROM 'results/sbf_io.data'
ALTER TABLE copied ALTER format SET DEFAULT 'binary';
\copy filter TO 'results/sbf_io.data' (FORMAT binary)
\copy copied (name, f) FROM 'results/sbf_io.data' (FORMAT binary)
SELECT format, count(*) AS rows, count(*) FILTER (WHERE c.f IS NOT DISTINCT FROM o.f) AS same FROM copied c JOIN filter o USING (name) GROUP BY format ORDER BY format;

-- wrong values, with their messages
SELECT 'x'::sbf;
SELECT '\x534202'::sbf;
SELECT bf_empty(10)::bytea::sbf;
SELECT ibf_empty(64)::bytea::sbf;
SELECT sbf(set_byte(f::bytea, 3, 2)) FROM filter WHERE name = 'text';
SELECT sbf(f::bytea || '\x00'::bytea) FROM filter WHERE name = 'text';
-- cells that no items can have set: some in an empty filter, more than its items set, some behind the last cell
SELECT sbf(f::bytea || '\x0001') FROM filter WHERE name = 'empty';
SELECT sqlstate_of(format('SELECT sbf(%L::bytea)', substr(f::bytea, 1, 128) || decode(repeat('21', 70), 'hex'))) FROM filter WHERE name = 'integers';
SELECT sbf(set_byte(f::bytea, 63 + 128, 255)) FROM (SELECT sbf_add_all(sbf_empty(64, cell_bits => 5, evictions => 0), ARRAY(SELECT generate_series(1, 100))) AS f) s;

/* Whatever comes in is refused with an SQLSTATE of class 22, or is a filter with which everything can be done. */
CREATE FUNCTION pg_temp.outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	f sbf;
	i record;
BEGIN
	f := value::sbf;
	IF (f::text::sbf <> f OR f::bytea <> value OR sbf_send(f) <> value) IS NOT FALSE THEN
		RETURN 'changed by input';
	END IF;
	i := sbf_info(f);
	IF (NOT i.false_positive_rate BETWEEN 0.000001 AND 0.5 OR NOT i.hashes BETWEEN 1 AND 16 OR NOT i.cell_bits BETWEEN 1 AND 8 OR (i.items > 0 AND i.cells * i.cell_bits > (i.bytes - 128) * 8) OR i.bytes <> length(value) OR
		NOT i.evictions BETWEEN 0 AND i.cells OR i.items > i.steps OR NOT i.zeros BETWEEN 0 AND 1 OR NOT i.stable_zeros BETWEEN 0 AND 1 OR NOT i.current_false_positive_rate BETWEEN 0 AND 1 OR NOT i.cardinality BETWEEN 0 AND 1e300 OR i.item_kind = '') IS NOT FALSE THEN
		RETURN 'absurd';
	END IF;
	IF (sbf_sketch(f) = '' OR (SELECT sum(cells) FROM sbf_histogram(f)) <> i.cells OR sbf_decay(f, 3) IS NULL OR sbf_decay(f | f, 3)::bytea::sbf IS NULL OR sbf_false_negative_rate(f, 100) IS NULL) IS NOT FALSE THEN
		RETURN 'unusable';
	END IF;
	BEGIN
		IF (f @> 1 IS NULL OR sbf_contains_any(f, '{1}'::int[]) IS NULL) IS NOT FALSE THEN
			RETURN 'look-up fails';
		END IF;
		-- the first item brings all the cells of an empty filter: where these are many megabytes it is not added
		IF i.cells * i.cell_bits < 10000000 AND (NOT f || 1 @> 1 OR (sbf_check_add(f, '{1,1}'::int[])).updated::bytea::sbf IS NULL) IS NOT FALSE THEN
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
SELECT pg_temp.outcome(f::bytea || more) AS outcome, count(*) FROM filter, unnest(ARRAY['\x00'::bytea, '\xff', decode(repeat('00', 70), 'hex')]) more WHERE name = 'integers' GROUP BY 1;
-- every byte of the header set to every value
SELECT name, outcome, count(*) > 0 AS some
FROM filter, generate_series(0, 127) byte, generate_series(0, 255) value, pg_temp.outcome(set_byte(f::bytea, byte, value)) outcome
WHERE name IN ('empty', 'integers') GROUP BY name, outcome ORDER BY name, outcome;
-- random damage to several bytes
SELECT setseed(0.25);
CREATE FUNCTION pg_temp.damaged(value bytea, how_often int) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. how_often LOOP
		value := set_byte(value, floor(random() * length(value))::int, floor(random() * 256)::int);
	END LOOP;
	RETURN value;
END
$$;
SELECT outcome, count(*) > 0 AS some FROM filter, generate_series(1, 2000) i, pg_temp.outcome(pg_temp.damaged(f::bytea, 1 + i % 4)) outcome
WHERE name = 'integers' GROUP BY outcome ORDER BY outcome;
