-- tbf_recurring_minimum: items whose minimum only one counter holds are counted apart
SET client_min_messages = error; -- some of the filters are too full; from PostgreSQL 18 on, others

SET timezone = 'UTC';
CREATE TEMP TABLE hit AS SELECT i, floor(exp(ln(1500) * (hashint4(i) & 65535) / 65536.0))::int AS item FROM generate_series(1, 20000) i;
CREATE TEMP TABLE truth AS SELECT item, count(*)::float8 AS hits FROM hit GROUP BY item;

-- never below the truth, and less above it than without, at the same number of counters; the table is found behind the counters of either layout
CREATE TEMP TABLE built AS
	SELECT n, tbf_agg_like(item, NULL, tbf_empty(n, 0.01, NULL)) AS plain,
		tbf_agg_in_order(item, NULL, tbf_empty(n, 0.01, NULL, recurring_minimum => true) ORDER BY i) AS apart
	FROM hit, unnest(ARRAY[3000, 1500, 700, 300]) n GROUP BY n;
SELECT n, bool_and(apart -> item BETWEEN hits AND 1e300) AS none_below, bool_and(apart -> item <= plain -> item) AS none_above, sum((apart -> item) - hits) <= sum((plain -> item) - hits) / 2 AS overcounts_halve, bool_and(tbf_layout(apart, 'flat') -> item = apart -> item) AS layouts_agree
FROM built, truth GROUP BY n ORDER BY n;
SELECT n, (tbf_info(apart)).cells = (tbf_info(plain)).cells AS same_counters, (tbf_info(apart)).total, (get_byte(bytea(apart), 4) & 8) > 0 AS flagged,
	(pg_column_size(apart) - pg_column_size(plain)) % 16 = 0 AS entries, (SELECT count(*) FROM tbf_histogram(apart)) = (SELECT count(*) FROM tbf_histogram(plain)) AS same_histogram
FROM built ORDER BY n;

-- every hit on its own, arrays, an aggregate: the same bytes of the same order
DO $$
DECLARE
	one_by_one tbf := tbf_empty(60, 0.01, NULL, recurring_minimum => true);
	h record;
BEGIN
	FOR h IN SELECT item FROM hit WHERE i <= 500 ORDER BY i LOOP
		one_by_one := tbf_add(one_by_one, h.item);
	END LOOP;
	ASSERT one_by_one = (SELECT tbf_add_all(tbf_empty(60, 0.01, NULL, recurring_minimum => true), array_agg(item ORDER BY i)) FROM hit WHERE i <= 500), 'as tbf_add_all';
	ASSERT one_by_one = (SELECT tbf_agg_in_order(item, NULL, tbf_empty(60, 0.01, NULL, recurring_minimum => true) ORDER BY i) FROM hit WHERE i <= 500), 'as tbf_agg_in_order';
	ASSERT one_by_one <> (SELECT tbf_agg_in_order(item, NULL, tbf_empty(60, 0.01, NULL, recurring_minimum => true) ORDER BY i DESC) FROM hit WHERE i <= 500), 'the order matters';
END $$;
SELECT bool_and(f = (SELECT tbf_agg_in_order(item, NULL, tbf_empty(60, 0.01, NULL, recurring_minimum => true) ORDER BY i) FROM hit WHERE i <= w.i)) AS frames_agree
FROM (SELECT i, tbf_agg_in_order(item, NULL, tbf_empty(60, 0.01, NULL, recurring_minimum => true)) OVER (ORDER BY i) AS f FROM hit WHERE i <= 2000) w WHERE i % 250 = 0;

-- weights, whole ones and fractions
SELECT bool_and(f -> item >= weight) AS none_below, bool_and(f -> item <= weight + 0.0625 + 0.001) AS exact
FROM (SELECT tbf_agg_in_order(i, NULL, tbf_empty(1000, 0.000001, NULL, recurring_minimum => true), i * 0.37) AS f FROM generate_series(1, 300) i) s, LATERAL (SELECT i AS item, i * 0.37 AS weight FROM generate_series(1, 300) i) t;
SELECT bool_and(f -> item BETWEEN 1e9 * item AND 1e300) AS none_below FROM (SELECT tbf_agg_in_order(i % 50, NULL, tbf_empty(20, 0.1, NULL, recurring_minimum => true), 1e9 * (i % 50) / 6) AS f FROM generate_series(1, 300) i) s, generate_series(0, 49) item;
SELECT bool_and(tbf_add(f, 0, weight => 0.1) -> item BETWEEN 12 AND 1e300) AS fractions_later FROM (SELECT tbf_agg_in_order(i % 50, NULL, tbf_empty(20, 0.1, NULL, recurring_minimum => true), 2) AS f FROM generate_series(1, 300) i) s, generate_series(0, 49) item;

-- with one hash every minimum is held by one counter alone: all items are in the table
SELECT hashes, (pg_column_size(apart) - pg_column_size(plain)) / 16 = (SELECT count(*) FROM truth) AS all_apart, bool_and(apart -> item BETWEEN hits AND plain -> item) AS between
FROM (SELECT tbf_agg_in_order(item, NULL, tbf_empty(50, 0.5, NULL, recurring_minimum => true)) AS apart, tbf_agg_like(item, NULL, tbf_empty(50, 0.5, NULL)) AS plain FROM hit) s, tbf_info(plain), truth
GROUP BY hashes, pg_column_size(apart), pg_column_size(plain);

-- stored in the TOAST table, where the table is searched by slices: the same answers as in memory, of items that are there and not
CREATE TABLE pg_temp.stored AS SELECT tbf_agg_in_order(i % 60000, NULL, tbf_empty(6000, 0.5, NULL, recurring_minimum => true)) AS f FROM generate_series(1, 65000) i;
DO $$
DECLARE
	in_memory tbf := (SELECT bytea(f)::tbf FROM pg_temp.stored);
BEGIN
	ASSERT (SELECT pg_column_size(f) > 60000 * 16 FROM pg_temp.stored), 'is large';
	ASSERT (SELECT bool_and(f -> item = in_memory -> item) FROM pg_temp.stored, generate_series(0, 80000, 97) item), 'same';
	ASSERT (SELECT bool_and(f -> item BETWEEN CASE WHEN item BETWEEN 1 AND 5000 THEN 2 ELSE 1 END AND 1e300) FROM pg_temp.stored, generate_series(0, 59999, 97) item), 'none below';
	ASSERT (SELECT count(DISTINCT f -> item) > 5 FROM pg_temp.stored, generate_series(0, 59999, 97) item), 'of all sorts';
END $$;

-- goes through its bytes and its text
SELECT bool_and(apart::bytea::tbf = apart AND apart::text::tbf = apart) AS same FROM built;
SELECT tbf_decay(apart, '2030-01-01') = apart AS never_fades FROM built WHERE n = 300;

-- tables that are refused: entries that do not ascend, that have no hits or fractions of hits, or that are cut
CREATE TEMP TABLE bytes AS SELECT bytea(apart) AS b, length(bytea(apart)) AS n FROM built WHERE n = 300;
SELECT sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 32) || substring(b FROM n - 15) || substring(b FROM n - 31 FOR 16))) AS descending,
	sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 16) || substring(b FROM n - 31 FOR 16))) AS twice,
	sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 8) || '\x0000000000000000'::bytea)) AS no_hits,
	sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 8) || '\x0000000000000040'::bytea)) AS too_many,
	sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 8) || '\x0110000000000000'::bytea)) AS broken,
	sqlstate_of(format('SELECT %L::bytea::tbf', substring(b FROM 1 FOR n - 16))) AS one_less,
	sqlstate_of(format('SELECT %L::bytea::tbf', set_byte(substring(b FROM 1 FOR n - 8), 124, get_byte(b, 124) - 8))) AS half,
	sqlstate_of(format('SELECT %L::bytea::tbf', set_byte(b, 4, get_byte(b, 4) - 8))) AS no_flag,
	sqlstate_of(format('SELECT %L::bytea::tbf', b)) AS as_it_is
FROM bytes;

-- what such a filter cannot have: decay, other options, merging, removing, workers
SELECT tbf_empty(recurring_minimum => true);
SELECT tbf_empty(half_life => NULL, minimum_increase => true, recurring_minimum => true);
SELECT sqlstate_of('SELECT tbf_empty(half_life => NULL, top => 10, recurring_minimum => true)');
SELECT apart + apart FROM built;
SELECT sqlstate_of('SELECT apart + plain FROM built'), sqlstate_of('SELECT plain + apart FROM built'), sqlstate_of('SELECT tbf_merge_agg(apart) FROM built'), sqlstate_of('SELECT tbf_merge_agg(apart) FROM built WHERE n = 300');
SELECT tbf_remove(apart, 1) FROM built;
SELECT tbf_agg_like(1, NULL, tbf_empty(half_life => NULL, recurring_minimum => true));
