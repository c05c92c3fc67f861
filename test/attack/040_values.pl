# Random histories of values, compared with the exact answers that SQL computes. (test/attack/values*.cpp tests the
# core alone, with millions of counts in seconds.)
#
# tbf: a history draws parameters at random: half-life, epoch, layout, minimum increase, recurring minimum, a list of
# hot items, size. It builds one to three filters in different ways: by aggregates in any order, in parallel, over a
# window, hit by hit, array by array. It merges them, with weights or without. Then it does a few random things to the
# result: decay, another layout, late and early hits, removed hits, weights, a merge with itself or with a larger
# filter. After each step no item may have less than its exact decayed sum, the list of hot items must keep its bounds,
# and the value must survive a cast to bytea and both layouts.
# bf: no item is missed after any adding, uniting, intersecting and folding. The bytes are the same in any order, by
# workers, and over a window.
# sbf, ibf, abf: the same items give the same bytes by an aggregate, as an array, one by one, and in two parts. Which of
# the items had come before is said alike for an array and by the window function.
#
# The test takes 30 seconds. To let it run longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/040_values.pl
#
# A run that has compared too little has failed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../tap/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time);

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} // 30;
my $seed = $ENV{STREAMBLOOM_SEED} // 1;

my $db = StreambloomTap->new('040');
$db->sql(<<'SQL');
CREATE UNLOGGED TABLE input (n int, part int, item int, us bigint, weight float8); -- us: microseconds since 2000
CREATE UNLOGGED TABLE hit (item int, us bigint, weight float8); -- the hits that the filter should hold
CREATE TABLE problem (history text, what text);
CREATE TABLE done (step text);
CREATE TABLE compared (what text, n bigint); -- how often each kind of comparison was made

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql AS 'SELECT choices[1 + floor(random() * cardinality(choices))::int]';
CREATE FUNCTION at(us bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	$$ SELECT '2000-01-01 UTC'::timestamptz + us / 86400000000 * interval '24 hours' + us % 86400000000 * interval '1 microsecond' $$;
CREATE FUNCTION epoch_start(us bigint, epoch bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT (us / epoch - CASE WHEN us % epoch < 0 THEN 1 ELSE 0 END) * epoch';
-- The factor by which a hit has decayed at the time asked. It is at least 2^-1000: sums of older hits are not
-- compared.
CREATE FUNCTION kept(hit bigint, asked bigint, half_life bigint, epoch bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT CASE WHEN half_life = 0 THEN 1 ELSE power(2::float8, greatest(-1000, (epoch_start(hit, epoch) - epoch_start(asked, epoch))::float8 / half_life)) END';

CREATE PROCEDURE check_filter(history text, f tbf, half_life bigint, epoch bigint, times bigint[], top int, rounding float8) LANGUAGE plpgsql AS $$
DECLARE
	asked bigint;
	all_hits float8;
BEGIN
	IF tbf(bytea(f)) <> f OR tbf_layout(tbf_layout(f, 'flat')::bytea::tbf, 'extensible') <> tbf_layout(f, 'extensible') THEN
		INSERT INTO problem VALUES (history, 'there and back is not the same');
	END IF;
	FOREACH asked IN ARRAY times LOOP
		INSERT INTO problem
		SELECT history, format('at %s item %s counts %s < %s', asked, item, tbf_count(f, item, at(asked)), exact)
		FROM (SELECT item, sum(weight * kept(us, asked, half_life, epoch)) AS exact FROM hit GROUP BY item) e
		WHERE exact > 1e-280 AND NOT tbf_count(f, item, at(asked)) BETWEEN exact * (1 - 1e-12) AND 1.7e308 LIMIT 3;
		INSERT INTO compared SELECT 'tbf: counts', count(DISTINCT item) FROM hit;
		CONTINUE WHEN top = 0;
		INSERT INTO compared SELECT 'tbf: bounds of hot items', count(DISTINCT item) FROM hit;
		SELECT coalesce(sum(weight * kept(us, asked, half_life, epoch)), 0) INTO all_hits FROM hit;
		CONTINUE WHEN all_hits < 1e-280;
		INSERT INTO problem SELECT history, format('at %s the total is %s < %s', asked, tbf_total(f, at(asked)), all_hits)
		WHERE NOT tbf_total(f, at(asked)) BETWEEN all_hits * (1 - 1e-9) AND 1.7e308;
		INSERT INTO problem
		SELECT history, format('at %s item %s, %s hits, is listed with %s to %s', asked, e.item, exact, hits_from, hits_to)
		FROM (SELECT item, sum(weight * kept(us, asked, half_life, epoch)) AS exact FROM hit GROUP BY item) e
			LEFT JOIN tbf_top(f, 100000, at(asked)) t ON t.item = e.item::text
		WHERE exact > 1e-280 AND (hits_from > exact * (1 + 1e-9) OR hits_to < exact * (1 - 1e-9) OR
			hits_from IS NULL AND exact > all_hits / (top + 1) * (1 + 1e-6) + all_hits * 1e-6 + rounding * greatest(1, kept(times[1], asked, half_life, epoch))) LIMIT 3;
	END LOOP;
END $$;

CREATE PROCEDURE history(seed int) LANGUAGE plpgsql AS $$
DECLARE
	-- parameters
	half_life_asked interval;
	epoch_asked interval;
	half_life bigint := 0; -- microseconds
	epoch bigint := 0;
	option text;
	top int := 0;
	rounding float8 := 1e-9; -- what the list may lose: it counts in 2^-40 hits, and later weights multiply losses
	expected bigint;
	like_this tbf;
	-- the stream
	items int;
	hits int;
	origin bigint;
	span bigint;
	weights text;
	parts int := 1;
	-- its filters
	history text;
	way text;
	step text;
	filters tbf[] := '{}';
	f tbf;
	w float8;
	newest bigint;
	r record;
BEGIN
	PERFORM setseed(sin(seed)); -- -1 to 1
	TRUNCATE hit, input;
	half_life_asked := pick(NULL, '13 seconds', '1 hour', '1 day', '7 days');
	option := pick('plain', 'plain', 'plain', 'minimum increase', CASE WHEN half_life_asked IS NULL THEN 'recurring minimum' ELSE 'minimum increase' END);
	expected := pick('1', '10', '100', '1000', '1000', '20000');
	IF half_life_asked IS NOT NULL THEN
		epoch_asked := pick(NULL, NULL, '7 seconds', '1 minute', CASE WHEN half_life_asked >= '1 hour' THEN '3 days' END);
		half_life := extract(epoch FROM half_life_asked) * 1000000;
		epoch := coalesce((extract(epoch FROM epoch_asked) * 1000000)::bigint, half_life / 96);
	END IF;
	IF option <> 'recurring minimum' THEN
		top := pick('0', '0', '1', '5', '60');
		parts := 1 + floor(random() * 3);
	END IF;
	like_this := tbf_empty(expected, 0.01, half_life_asked, epoch_asked, pick('extensible', 'flat'), option = 'minimum increase', option = 'recurring minimum', top);

	-- sometimes as many items as make a filter go over from sums of items to sums of cells
	items := pick('1', '3', '50', '50', '200', '3000', '9000');
	hits := items * (1 + floor(random() * 2));
	span := pick('0', '1', '20', '40', '70', '300')::bigint * CASE half_life WHEN 0 THEN 86400000000 ELSE half_life END;
	origin := pick('400000000000000', '0', '-300000000000000', '-100000');
	weights := pick('1', '1', 'fractions', 'large', 'zeros', 'tiny');
	INSERT INTO input SELECT n, floor(random() * parts), floor(random() * random() * items), origin + floor(random() * (span + 1)),
			CASE weights WHEN '1' THEN 1 WHEN 'fractions' THEN random() * 5 WHEN 'large' THEN floor(random() * 1e6) WHEN 'zeros' THEN floor(random() * 2)
				ELSE power(10::float8, -12 * random()) END
		FROM generate_series(1, hits) n;
	IF random() < 0.5 THEN -- hits come in order of time
		UPDATE input SET n = s.n FROM (SELECT ctid AS row, row_number() OVER (ORDER BY us) AS n FROM input) s WHERE input.ctid = s.row;
	END IF;
	history := format('%s: %s, half-life %s, epoch %s, top %s, %s, told %s items; %s hits of %s items in %s, weights %s;', seed, option, half_life_asked,
		epoch_asked, top, (SELECT layout FROM tbf_info(like_this)), expected, hits, items, span, weights);

	FOR k IN 0 .. parts - 1 LOOP
		CONTINUE WHEN NOT EXISTS (SELECT FROM input WHERE part = k);
		way := CASE option WHEN 'plain' THEN pick('like', 'like', 'in order', 'parallel', 'window', 'one by one', 'arrays') ELSE
			pick('in order', 'in order', 'window', 'one by one', 'arrays') END;
		IF way = 'window' AND hits > 3500 THEN
			way := 'in order';
		END IF;
		CASE way
		WHEN 'like' THEN
			SELECT tbf_agg_like(item, at(us), like_this, weight ORDER BY n) INTO f FROM input WHERE part = k;
		WHEN 'in order' THEN
			SELECT tbf_agg_in_order(item, at(us), like_this, weight ORDER BY n) INTO f FROM input WHERE part = k;
		WHEN 'parallel' THEN
			SET LOCAL parallel_setup_cost = 0;
			SET LOCAL parallel_tuple_cost = 0;
			SET LOCAL min_parallel_table_scan_size = 0;
			SET LOCAL max_parallel_workers_per_gather = 3;
			EXECUTE format('SELECT tbf_agg_like(item, at(us), %L, weight) FROM input WHERE part = %s', like_this, k) INTO f;
			SET LOCAL max_parallel_workers_per_gather = 0;
		WHEN 'window' THEN -- the final function runs in between, and the state is used further
			SELECT all_of_it INTO f FROM (SELECT n, tbf_agg_in_order(item, at(us), like_this, weight) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 77 FOLLOWING) AS all_of_it
				FROM input WHERE part = k OFFSET 0) s ORDER BY n DESC LIMIT 1;
		WHEN 'one by one' THEN -- the hits with n <= 40, after an aggregate of the others
			SELECT tbf_agg_in_order(item, at(us), like_this, weight ORDER BY n) INTO f FROM input WHERE part = k AND n > 40;
			f := coalesce(f, like_this);
			FOR r IN SELECT * FROM input WHERE part = k AND n <= 40 ORDER BY n LOOP
				f := tbf_add(f, r.item, at(r.us), r.weight);
			END LOOP;
		WHEN 'arrays' THEN -- all hits of an array have one time and one weight
			UPDATE input SET us = s.us, weight = s.weight FROM (SELECT n, first_value(us) OVER a AS us, first_value(weight) OVER a AS weight FROM input WHERE part = k WINDOW a AS (PARTITION BY n / 1000 ORDER BY n)) s
			WHERE input.n = s.n;
			f := like_this;
			FOR r IN SELECT array_agg(item ORDER BY n) AS items, min(us) AS us, min(weight) AS weight FROM input WHERE part = k GROUP BY n / 1000 LOOP
				f := tbf_add_all(f, r.items, at(r.us), r.weight);
			END LOOP;
		END CASE;
		IF random() < 0.3 THEN
			f := tbf_layout(f, pick('flat', 'extensible'));
		END IF;
		history := history || ' ' || way;
		INSERT INTO done VALUES (way);
		filters := filters || f;
	END LOOP;

	way := CASE cardinality(filters) WHEN 1 THEN 'one' ELSE pick('sum', 'tbf_merge_agg', 'weights') END;
	history := history || ', ' || way;
	CASE way
	WHEN 'weights' THEN
		w := pick('1', '2', '0.3', '1e-5', '1000', '0.7');
		rounding := rounding * greatest(1, w);
		SELECT tbf_merge_agg(g, w / i) INTO f FROM unnest(filters) WITH ORDINALITY u (g, i);
		UPDATE input SET weight = weight * w / i FROM (SELECT part, row_number() OVER (ORDER BY part) AS i FROM input GROUP BY part) p WHERE p.part = input.part;
	WHEN 'tbf_merge_agg' THEN
		SELECT tbf_merge_agg(g) INTO f FROM unnest(filters) g;
	ELSE
		f := filters[1];
		FOR i IN 2 .. cardinality(filters) LOOP
			f := f + filters[i];
		END LOOP;
	END CASE;
	INSERT INTO hit SELECT item, us, weight FROM input WHERE weight > 0;
	SELECT max(us) INTO newest FROM input;
	CALL check_filter(history, f, half_life, epoch, ARRAY[newest, newest + (span * random())::bigint + 12345678, newest - (span * random() * 0.3)::bigint], top, rounding);

	FOR k IN 1 .. 1 + floor(random() * 5) LOOP
		step := pick('decay', 'layout', 'add', 'add_all', 'late', 'early', 'remove', 'remove', 'scale', 'double', 'widen');
		history := history || '; ' || step;
		BEGIN
			CASE step
			WHEN 'decay' THEN
				newest := newest + (random() * 5 * half_life)::bigint;
				f := tbf_decay(f, at(newest));
			WHEN 'layout' THEN
				f := tbf_layout(f, pick('flat', 'extensible'));
			WHEN 'add' THEN
				f := tbf_add(f, 7, at(newest), 1.3);
				INSERT INTO hit VALUES (7, newest, 1.3);
			WHEN 'add_all' THEN
				f := tbf_add_all(f, ARRAY(SELECT i % 50 FROM generate_series(1, 100) i), at(newest - half_life), 0.7);
				INSERT INTO hit SELECT i % 50, newest - half_life, 0.7 FROM generate_series(1, 100) i;
			WHEN 'late' THEN
				f := tbf_add(f, 7, at(newest - 60 * half_life), 1e6);
				INSERT INTO hit VALUES (7, newest - 60 * half_life, 1e6);
			WHEN 'early' THEN
				newest := newest + (random() * 60 * half_life)::bigint;
				f := tbf_add(f, 9, at(newest), 3);
				INSERT INTO hit VALUES (9, newest, 3);
			WHEN 'remove' THEN
				SELECT ctid AS row, * INTO r FROM hit OFFSET floor(random() * 20) LIMIT 1;
				IF FOUND THEN
					f := tbf_remove(f, r.item, at(r.us), r.weight);
					DELETE FROM hit WHERE ctid = r.row;
				END IF;
			WHEN 'scale' THEN
				w := pick('2', '0.37', '1e-4', '12345');
				f := f * w;
				rounding := greatest(1e-9, rounding * w);
				UPDATE hit SET weight = weight * w;
			WHEN 'double' THEN
				f := f + f;
				rounding := 2 * rounding;
				INSERT INTO hit SELECT * FROM hit;
			WHEN 'widen' THEN
				f := f + tbf_add(tbf_empty(expected * pick('1', '4', '16')::int, 0.01, half_life_asked, epoch_asked, pick('flat', 'extensible'), option = 'minimum increase', false, top), 8, at(newest));
				INSERT INTO hit VALUES (8, newest, 1);
			END CASE;
		EXCEPTION -- not every filter can do every step; then the filter stays as it was
			WHEN object_not_in_prerequisite_state OR numeric_value_out_of_range OR invalid_parameter_value THEN
				history := history || ' (' || SQLERRM || ')';
				CONTINUE;
		END;
		INSERT INTO done VALUES (step);
		newest := greatest(newest, (SELECT max(us) FROM hit));
		CALL check_filter(history, f, half_life, epoch, ARRAY[newest, newest + (span * random())::bigint + 12345678, newest - (span * random() * 0.3)::bigint], top, rounding);
	END LOOP;
END $$;
SQL

# The histories of bf.
$db->sql(<<'SQL');
CREATE PROCEDURE bf_history(seed int) LANGUAGE plpgsql AS $$
DECLARE
	history text := format('bf %s:', seed);
	step text;
	f bf;
	g bf;
	expected bigint;
	rate float8;
	missed bigint;
	asked bigint;
	plan json;
BEGIN
	PERFORM setseed(sin(seed));
	TRUNCATE input, hit;
	expected := pick(NULL, '1', '100', '3000', '20000');
	rate := pick('0.3', '0.01', '0.0001');
	INSERT INTO input SELECT n, n % 3, floor(random() * random() * 4000) FROM generate_series(1, pick('1', '70', '1000', '9000')::int) n;
	f := (SELECT bf_agg(item, expected, rate ORDER BY n) FROM input WHERE part = 1);
	INSERT INTO hit SELECT DISTINCT item FROM input WHERE part = 1;
	-- any order, workers, a window: the same bytes
	SET LOCAL parallel_setup_cost = 0;
	SET LOCAL parallel_tuple_cost = 0;
	SET LOCAL min_parallel_table_scan_size = 0;
	SET LOCAL max_parallel_workers_per_gather = 3;
	INSERT INTO problem SELECT history, 'bytes depend on the order' WHERE f IS DISTINCT FROM (SELECT bf_agg(item, expected, rate ORDER BY md5(n::text)) FROM input WHERE part = 1);
	EXECUTE 'SELECT bf_agg(item, $1, $2) FROM input WHERE part = 1' INTO g USING expected, rate; -- PostgreSQL uses no workers for an INSERT
	INSERT INTO problem SELECT history, 'bytes depend on workers' WHERE f IS DISTINCT FROM g;
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT bf_agg(item, $1, $2) FROM input WHERE part = 1' INTO plan USING expected, rate;
	IF plan::text ~ '"Workers Launched": [1-9]' THEN
		INSERT INTO compared VALUES ('bf: workers', 1);
	END IF;
	INSERT INTO problem SELECT history, 'a window gives other bytes' WHERE f IS DISTINCT FROM (SELECT w FROM (SELECT n, bf_agg(item, expected, rate) OVER (ORDER BY n) AS w FROM input WHERE part = 1) s ORDER BY n DESC LIMIT 1);
	INSERT INTO compared VALUES ('bf: bytes', 3);
	SET LOCAL max_parallel_workers_per_gather = 0;
	f := coalesce(f, bf_empty(expected, rate));
	FOR k IN 1 .. 6 LOOP
		step := pick('bf add', 'bf add_all', 'bf unite', 'bf intersect', 'bf fold', 'bf store', 'bf double');
		history := history || ' ' || step;
		BEGIN
			CASE step
			WHEN 'bf add' THEN
				f := bf_add(f || k, -k);
				INSERT INTO hit VALUES (k), (-k);
			WHEN 'bf add_all' THEN
				f := bf_add_all(f, ARRAY(SELECT item FROM input WHERE part = 2));
				INSERT INTO hit SELECT DISTINCT item FROM input WHERE part = 2;
			WHEN 'bf unite' THEN
				g := (SELECT bf_agg(item * 7, expected, rate) FROM input WHERE part = 0);
				IF g IS NOT NULL THEN
					INSERT INTO problem SELECT history, 'f | g is not g | f' WHERE (f | g) IS DISTINCT FROM (g | f);
					f := f | g;
					INSERT INTO hit SELECT DISTINCT item * 7 FROM input WHERE part = 0;
				END IF;
			WHEN 'bf intersect' THEN
				g := (SELECT bf_agg(item, expected, rate) FROM hit WHERE item % 2 = 0);
				IF g IS NOT NULL THEN
					f := f & g;
					DELETE FROM hit WHERE item % 2 <> 0;
				END IF;
			WHEN 'bf fold' THEN
				f := bf_fold(f, pick('0.9', '0.1')::float8);
			WHEN 'bf store' THEN
				f := f::text::bf::bytea::bf;
			WHEN 'bf double' THEN
				INSERT INTO problem SELECT history, 'f | f is not f' WHERE (f | f) IS DISTINCT FROM f;
				f := bf_union(f, f);
			END CASE;
		EXCEPTION WHEN invalid_parameter_value THEN -- not every filter can do everything
			CONTINUE;
		END;
		INSERT INTO done VALUES (step);
		SELECT count(*) FILTER (WHERE (f @> item) IS NOT TRUE), count(*) INTO missed, asked FROM hit;
		INSERT INTO compared VALUES ('bf: items', asked);
		INSERT INTO problem SELECT history, format('%s of %s items are missed', missed, asked) WHERE missed <> 0;
		INSERT INTO problem SELECT history, 'bf_contains_all says no' WHERE bf_contains_all(f, ARRAY(SELECT item FROM hit)) IS NOT TRUE;
	END LOOP;
END $$;

-- The steps of sbf and ibf, and of an abf that counts items. An aggregate, one call for each item, an array, and two
-- parts must give the same bytes. An array and the window function must give the same flags: which items had come
-- before.
CREATE PROCEDURE stable_history(seed int) LANGUAGE plpgsql AS $$
DECLARE
	type text;
	empty text;
	like_this text;
	one text;
	importance text;
	f bytea;
	g bytea;
	flags boolean[];
	r record;
	what text;
BEGIN
	PERFORM setseed(sin(seed));
	TRUNCATE input;
	INSERT INTO input SELECT n, 0, floor(random() * pick('3', '50', '3000')::int), 0, random() * 12 - 1 FROM generate_series(1, pick('1', '40', '700')::int) n;
	type := pick('sbf', 'ibf', 'abf');
	IF type = 'sbf' THEN
		empty := format('sbf_empty(%s, 0.05, %s, %s, %s, %s)', pick('64', '200', '4000'), pick('NULL', '1', '6', '16'), pick('NULL', '1', '3', '8'), pick('0', '5', '40'), seed);
		importance := '';
		one := 'sbf_add(%1$L, %2$s)';
	ELSIF type = 'abf' THEN
		empty := format('abf_empty(%s, 0.05, NULL, %s, %s)', pick('1', '30', '400'), pick('NULL', '1', '6', '16'), pick('NULL', '1', '3', '40'));
		importance := '';
		one := 'abf_add(%1$L, %2$s)';
	ELSE
		empty := format('ibf_empty(%s, 0.05, %L, 0, 10, evictions => %s, seed => %s)', pick('64', '200', '4000'), pick('two_class', 'multi_class', 'value_weighted'), pick('0', '5', '40'), seed);
		importance := ', weight';
		one := 'ibf_add(%1$L, %2$s, %3$L)';
	END IF;
	EXECUTE format('SELECT bytea(%s)', empty) INTO g;
	like_this := CASE WHEN type = 'abf' THEN empty ELSE replace(empty, '_empty(', '_parameters(') END;
	EXECUTE format('SELECT bytea(%s_agg_like(item%s, %s ORDER BY n)) FROM input', type, importance, like_this) INTO f;
	-- one by one
	FOR r IN SELECT * FROM input ORDER BY n LOOP
		EXECUTE 'SELECT bytea(' || format(one, g::text, r.item, r.weight) || ')' INTO g;
	END LOOP;
	INSERT INTO problem SELECT format('%s %s: %s', type, seed, empty), 'one by one gives other bytes than the aggregate' WHERE f IS DISTINCT FROM g;
	-- as an array; the flags are the same as those of the window function
	EXECUTE format('SELECT bytea((c).updated), (c).duplicates FROM (SELECT %s_check_add(%s, array_agg(item ORDER BY n)%s) AS c FROM input) s', type, empty,
		CASE WHEN importance <> '' THEN ', array_agg(weight ORDER BY n)' ELSE '' END) INTO g, flags;
	INSERT INTO problem SELECT format('%s %s: %s', type, seed, empty), 'an array gives other bytes than the aggregate' WHERE f IS DISTINCT FROM g;
	EXECUTE format('SELECT array_agg(d ORDER BY n) = $1 FROM (SELECT n, %s_duplicate(item%s, %s) OVER (ORDER BY n) AS d FROM input) s', type, importance, empty) INTO r USING flags;
	INSERT INTO problem SELECT format('%s %s: %s', type, seed, empty), 'the window function has other flags' WHERE r IS DISTINCT FROM ROW(true);
	-- in two parts; the second part goes on from the value that the first one stored
	EXECUTE format('SELECT bytea(%1$s_agg_like(item%2$s, %3$s ORDER BY n)) FROM input WHERE n <= 20', type, importance, like_this) INTO g;
	EXECUTE format('SELECT bytea(%1$s_add_all(%2$L, array_agg(item ORDER BY n)%3$s)) FROM input WHERE n > 20', type, g::text,
		CASE WHEN importance <> '' THEN ', array_agg(weight ORDER BY n)' ELSE '' END) INTO g;
	INSERT INTO problem SELECT format('%s %s: %s', type, seed, empty), 'two parts give other bytes' WHERE g IS NOT NULL AND f IS DISTINCT FROM g;
	INSERT INTO compared SELECT type || ': flags', cardinality(flags) UNION ALL SELECT type || ': bytes', 3;
	INSERT INTO done VALUES (type);
END $$;
SQL

# Rounds of histories of all kinds, until the time is over.
my $began = time();
my ($rounds, $failed) = (0, 0);
my $session = PsqlSession->new($db->name);
$session->sql("SET timezone = 'UTC'");
while (!$failed && ($rounds < 20 || time() - $began < $seconds))
{
	my $n = $seed * 100000 + $rounds++;
	foreach my $procedure ('history', 'bf_history', 'stable_history', 'stable_history')
	{
		my (undef, $state, $message) = $session->ask("CALL $procedure($n)");
		is("$state $message", '00000 ', "$procedure($n) runs to its end") or $failed = 1 if $state ne '00000';
		$n += 50000 if $procedure eq 'stable_history';
	}
}
$session->close;
foreach my $problem ($db->rows('SELECT history, what FROM problem LIMIT 20'))
{
	fail("history $problem->[0]");
	diag($problem->[1]);
}
is($db->sql('SELECT count(*) FROM problem'), 0, 'no count below the exact sum, no list out of bounds, no miss, no other bytes');
diag('done: ' . $db->sql("SELECT string_agg(step || ' ' || n, ', ' ORDER BY step) FROM (SELECT step, count(*) AS n FROM done GROUP BY step) s"));
my ($compared) = $db->sql('SELECT coalesce(sum(n), 0) FROM compared');
diag(sprintf '%d rounds in %d s, seed %d, %d comparisons: %s', $rounds, time() - $began, $seed, $compared,
	$db->sql("SELECT string_agg(what || ' ' || n, ', ' ORDER BY what) FROM (SELECT what, sum(n) AS n FROM compared GROUP BY what) s"));
cmp_ok($compared, '>=', 20000, 'there was enough to compare');
is($db->sql('SELECT count(DISTINCT what) FROM compared'), 11, 'of each sort');
is($db->sql('SELECT count(DISTINCT step) FROM done'), 26, 'every way to build a filter and every step was taken') if $rounds >= 100;

done_testing();
