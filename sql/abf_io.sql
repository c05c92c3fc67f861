-- abf_io: text, binary and bytea, in and out; and what comes in is checked

CREATE TEMP TABLE filter (name text, f abf);
INSERT INTO filter VALUES ('empty', abf_empty(64)), ('timed', abf_empty(64, within => '1 hour')), ('integers', abf_empty(50, 0.1) || 1 || 2), ('text', abf_empty(1000) || 'a'),
	('gone', abf_decay(abf_add(abf_empty(within => '1 hour'), 1, '2026-01-01'), '2026-01-02')), ('null', NULL);
INSERT INTO filter SELECT 'moments', abf_agg(i, '2026-01-01'::timestamptz + i * interval '1 second', '1 minute', 40, 0.1) FROM generate_series(1, 100) i;
INSERT INTO filter SELECT 'large', abf_agg(i) FROM generate_series(1, 100000) i;

-- there and back again: text, bytea, send
SELECT name, f::text::abf = f AS text, f::bytea::abf = f AS bytea, abf(bytea(f)) = f AS bytea, abf_send(f)::abf = f AS binary, abf_send(f) = f::bytea AS same_bytes, f::text = f::bytea::text AS same_text, (abf_info(f)).bytes = length(f::bytea) AS bytes FROM filter ORDER BY name;
SELECT left(f::text, 10) AS mark FROM filter WHERE name = 'empty';
SELECT count(*) FILTER (WHERE a.f = b.f) AS equal, count(*) FILTER (WHERE a.f <> b.f) AS different FROM filter a, filter b;
-- the bytes are these on every machine and every version: the test/unit/golden files come from a second implementation
SELECT md5(abf_agg_like(i * i % 83, abf_empty(100, 0.05, hashes => 4, generations => 6) ORDER BY i)::bytea) AS items, md5(abf_agg_like(i * i % 83, '2026-01-01'::timestamptz + i * interval '1 second', abf_empty(100, 0.05, '1 minute', 5, 7))::bytea) AS moments FROM generate_series(0, 249) i;

-- COPY, text and binary
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TEMP TABLE copied (format text DEFAULT 'text', name text, f abf);
\copy filter TO 'results/abf_io.data'
\copy copied (name, f) FROM 'results/abf_io.data'
ALTER TABLE copied ALTER format SET DEFAULT 'binary';
\copy filter TO 'results/abf_io.data' (FORMAT binary)
\copy copied (name, f) FROM 'results/abf_io.data' (FORMAT binary)
SELECT format, count(*) AS rows, count(*) FILTER (WHERE c.f IS NOT DISTINCT FROM o.f) AS same FROM copied c JOIN filter o USING (name) GROUP BY format ORDER BY format;

-- wrong values, with their messages
SELECT 'x'::abf;
SELECT '\x534205'::abf;
SELECT bf_empty(10)::bytea::abf;
SELECT abf_empty(64)::bytea::sbf;
SELECT abf(set_byte(f::bytea, 3, 2)) FROM filter WHERE name = 'text';
SELECT abf(f::bytea || '\x00'::bytea) FROM filter WHERE name = 'text';
-- bits that no items can have set: some in an empty filter, more than its items set, none at all
SELECT abf(f::bytea || '\x0001') FROM filter WHERE name = 'empty';
SELECT abf(overlay(f::bytea PLACING decode(repeat('ff', 20), 'hex') FROM 129)) FROM filter WHERE name = 'integers';
SELECT abf(substr(f::bytea, 1, 128) || decode(repeat('00', length(f::bytea) - 128), 'hex')) FROM filter WHERE name = 'integers';

/* Whatever comes in is refused with an SQLSTATE of class 22, or is a filter with which everything can be done. */
CREATE FUNCTION pg_temp.outcome(value bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	f abf;
	i record;
BEGIN
	f := value::abf;
	IF (f::text::abf <> f OR f::bytea <> value OR abf_send(f) <> value) IS NOT FALSE THEN
		RETURN 'changed by input';
	END IF;
	i := abf_info(f);
	IF (NOT i.false_positive_rate BETWEEN 0.000001 AND 0.5 OR NOT i.hashes BETWEEN 1 AND 32 OR NOT i.generations BETWEEN 1 AND 96 OR i.bytes <> length(value) OR i.expected_items < 1 OR i.items < 0 OR
		(i.within IS NULL) = (i.window_items IS NULL) OR NOT i.fill BETWEEN 0 AND 1 OR NOT i.current_false_positive_rate BETWEEN 0 AND 1 OR NOT i.cardinality BETWEEN 0 AND 1e300 OR i.item_kind = '') IS NOT FALSE THEN
		RETURN 'absurd';
	END IF;
	IF (abf_sketch(f) = '' OR (SELECT count(*) FROM abf_histogram(f)) <> i.hashes + i.generations) IS NOT FALSE THEN
		RETURN 'unusable';
	END IF;
	IF i.within IS NOT NULL AND (abf_decay(f, '2030-01-01')::bytea::abf IS NULL OR i.hashes * 1.0 * i.slice_bits < 10000000 AND (f | f)::bytea::abf IS NULL) IS NOT FALSE THEN
		RETURN 'unusable';
	END IF;
	BEGIN
		IF (f @> 1 IS NULL OR abf_contains_any(f, '{1}'::int[]) IS NULL) IS NOT FALSE THEN
			RETURN 'look-up fails';
		END IF;
		-- the first item brings all the slices of an empty filter: where these are many megabytes it is not added
		IF i.hashes * 1.0 * i.slice_bits < 1000000 THEN
			IF i.within IS NULL THEN
				BEGIN
					IF (NOT f || 1 @> 1 OR (abf_check_add(f, '{1,1}'::int[])).updated::bytea::abf IS NULL) IS NOT FALSE THEN
						RETURN 'adding fails';
					END IF;
				EXCEPTION WHEN numeric_value_out_of_range THEN
					NULL; -- more items than can be counted
				END;
			ELSIF (NOT abf_contains(abf_add(f, 1, coalesce(i.newest, '2026-01-01'), 'infinity'), 1)) IS NOT FALSE AND i.newest > '-infinity' AND i.newest < 'infinity' THEN
				RETURN 'adding fails';
			END IF;
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
