# The recipes that docs/tbf.md prints for filters by the hour that one keeps by hand, and for a list of hot items, run
# hour by hour over a whole log. Jobs run twice, or not at all for a time. Hits are committed out of order and up to two
# hours late. In the middle of the log there is a gap of some weeks. After each run the last hours are compared with the
# log: no hit is lost or doubled. Now and then each count, also with other weights by age, is compared with the exact
# answer of SQL. A made-up log is always used. If the test data has the log of a blog, this is used too: a third of the
# lines of twelve days, or all lines if STREAMBLOOM_SECONDS is more than 60.
#
# Smaller tests: more than 65,536 items; hits with times in the future; tables without hits.
#
# The clock follows the log: there is a function now() in a schema that is searched before pg_catalog.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60;
my %tbf = StreambloomTap::recipes('docs/tbf.md');
my %bf = StreambloomTap::recipes('docs/bf.md');

# The clock, and procedures that compare a filter with exact counts.
my $harness = <<'SQL';
CREATE SCHEMA replay;
CREATE FUNCTION replay.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$SELECT current_setting('replay.now')::timestamptz$$;
CREATE TABLE replay.job (name text PRIMARY KEY, command text);
CREATE TABLE replay.recipe (name text PRIMARY KEY, query text);
CREATE TABLE replay.result (at timestamptz, recipe text, items bigint, under bigint, over bigint, mean float8, most float8);
CREATE TABLE access_log (at timestamptz NOT NULL, url text NOT NULL);
CREATE INDEX ON access_log (at);
CREATE TABLE new_hits (at timestamptz NOT NULL, url text NOT NULL);

-- Compares the counts in a filter that one query returns with the exact counts of another query (url, hits, and how
-- much rounding may add to them).
CREATE PROCEDURE replay.compare(recipe text, query text, exact text) LANGUAGE plpgsql AS $$
DECLARE
	filter tbf;
BEGIN
	EXECUTE query INTO filter;
	EXECUTE format('INSERT INTO replay.result SELECT now(), $1, count(*), count(*) FILTER (WHERE (counted >= hits * (1 - 1e-12)) IS NOT TRUE),
		count(*) FILTER (WHERE counted > hits * (1 + 1e-12) + rounding), avg(counted - hits), max(counted - hits)
		FROM (SELECT *, coalesce(tbf_count($2, url, now()), CASE WHEN hits = 0 THEN 0 END) AS counted FROM (%s) e) c', exact) USING recipe, filter;
END $$;

-- Compares a query for the ten hottest items (url, hits, place) with a query that returns all items exactly; "place"
-- is the value by which items are ranked. Counts as errors the rows whose hits are wrong, and the ranks whose place is
-- not that of the exact answer.
CREATE PROCEDURE replay.compare_ten(recipe text, query text, exact text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO replay.result
		WITH ten AS MATERIALIZED (%s), e AS MATERIALIZED (%s), e10 AS (SELECT place, row_number() OVER (ORDER BY place DESC) AS n FROM e ORDER BY n LIMIT 10),
			t10 AS (SELECT place, row_number() OVER (ORDER BY place DESC) AS n FROM ten)
		SELECT now(), $1, (SELECT count(*) FROM ten), (SELECT count(*) FROM ten LEFT JOIN e USING (url) WHERE (ten.hits BETWEEN e.hits * (1 - 1e-12) AND e.hits * 1.0002 + 0.0003) IS NOT TRUE)
			+ (SELECT count(*) FROM e10 FULL JOIN t10 USING (n) WHERE (t10.place BETWEEN e10.place * (1 - 1e-12) AND e10.place * 1.0002 + 0.0003) IS NOT TRUE), 0, 0, 0', query, exact) USING recipe;
END $$;

-- Asks all questions at this moment.
CREATE PROCEDURE replay.ask(suffix text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
	asked record;
	of_hours text := 'SELECT *, date_trunc(''hour'', at, ''UTC'') AS hour FROM access_log';
	age text := 'greatest(extract(epoch FROM now() - (hour + interval ''1 hour''))::float8, 0)';
	hot text := 'SELECT url, sum(2::float8 ^ (-%1$s / 604800)) AS hits, sum(2::float8 ^ (-%1$s / 604800)) AS place FROM (%2$s) s GROUP BY url';
BEGIN
	FOR asked IN SELECT name || suffix AS name, r.name AS recipe, CASE suffix WHEN '' THEN query ELSE replace(query, 'now()', '(SELECT max(at) FROM access_log)') END AS query
		FROM replay.recipe r LOOP
		CASE asked.recipe
		WHEN 'any window' THEN
			CALL replay.compare(asked.name, asked.query, format('SELECT url, count(*) FILTER (WHERE hour > now() - interval ''24 hours'') AS hits, 0 AS rounding FROM (%s) s GROUP BY url', of_hours));
		WHEN 'any decay' THEN
			CALL replay.compare(asked.name, asked.query, format('SELECT url, hits, of_rows * 1.00013 + 0.00025 - hits AS rounding FROM (SELECT url, sum(1 / (1 + %s / 86400)) AS hits, sum(1 / (1 + %s / 86400)) AS of_rows FROM (%s) s GROUP BY url) e',
				age, age, of_hours));
		WHEN 'one_table' THEN
			CALL replay.compare_ten(asked.name, format('SELECT *, hits AS place FROM (%s) q', rtrim(asked.query, E';\n')), format(hot, age, of_hours));
		WHEN 'the heat' THEN
			CALL replay.compare(asked.name, asked.query, 'SELECT *, hits * 0.00025 + (SELECT runs + 1 FROM replay.state) / 4096.0 AS rounding FROM (
				SELECT url, sum(2::float8 ^ ((floor(extract(epoch FROM at - timestamptz ''2000-01-01 UTC'') / 6300) - floor(extract(epoch FROM now() - timestamptz ''2000-01-01 UTC'') / 6300)) / 96)::float8) AS hits
				FROM access_log GROUP BY url) e');
		WHEN 'ask the list' THEN
			EXECUTE format('INSERT INTO replay.result SELECT now(), %L, count(*), count(*) FILTER (WHERE (hits BETWEEN hits_from AND hits_to) IS NOT TRUE), 0, 0, 0 FROM (%s) q LEFT JOIN (
				SELECT url AS item, sum(2::float8 ^ ((floor(extract(epoch FROM at - timestamptz ''2000-01-01 UTC'') / 6300) - floor(extract(epoch FROM now() - timestamptz ''2000-01-01 UTC'') / 6300)) / 96)::float8) AS hits
				FROM access_log GROUP BY url) e USING (item)', asked.name, rtrim(asked.query, E';\n'));
		END CASE;
	END LOOP;
END $$;

-- How often the jobs have run, and a procedure that runs a job.
CREATE TABLE replay.state (runs int);
INSERT INTO replay.state VALUES (0);
CREATE PROCEDURE replay.run(job text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE (SELECT command FROM replay.job j WHERE j.name = job);
END $$;
-- Compares the hits of each URL in the table with those in the log, and notes how
-- many are missing or too many. It compares the last 12 hours, and if at_all is true the whole log, too.
CREATE TABLE replay.step (at timestamptz, source text, hits bigint, wrong bigint);
CREATE PROCEDURE replay.look(at_all boolean) LANGUAGE plpgsql AS $$
DECLARE
	looked record;
	filter tbf;
BEGIN
	FOR looked IN SELECT * FROM (VALUES ('one_table', 'SELECT tbf_merge_agg(f) FROM url_hour WHERE hour > now() - interval ''12 hours''', 'at > now() - interval ''12 hours'' AND date_trunc(''hour'', at, ''UTC'') > now() - interval ''12 hours'''),
		('all of one table', 'SELECT tbf_merge_agg(f) FROM url_hour', 'true')) s (source, query, condition) WHERE condition <> 'true' OR at_all LOOP
		EXECUTE looked.query INTO filter;
		EXECUTE format('INSERT INTO replay.step SELECT now(), $1, coalesce(sum(hits), 0), coalesce(sum(abs(hits - coalesce(tbf_count($2, url), 0))), 0) + abs(coalesce(sum(hits), 0) - coalesce(tbf_total($2), 0))
			FROM (SELECT url, count(*) AS hits FROM access_log WHERE %s GROUP BY url) e', looked.condition) USING looked.source, filter;
	END LOOP;
END $$;
-- Replays the whole log. Each batch has the rows that were written since the batch before. There is one batch each
-- hour, at a changing minute. All questions are asked after one batch in `every`, and replay.look() looks at the whole
-- log after one batch in `look`.
CREATE PROCEDURE replay.all(every int, look int) LANGUAGE plpgsql AS $$
DECLARE
	batch int := 0;
	hour timestamptz := (SELECT date_trunc('hour', min(written)) FROM source);
	last_hour timestamptz := (SELECT max(written) FROM source);
	before timestamptz := '-infinity';
	n int := 0;
BEGIN
	WHILE hour <= last_hour + interval '1 hour' LOOP
		-- Of a gap of weeks only the first day is replayed.
		IF hour > (SELECT max(written) + interval '1 day' FROM source WHERE written < hour) THEN
			hour := coalesce((SELECT date_trunc('hour', min(written)) FROM source WHERE written > hour), hour);
		END IF;
		PERFORM set_config('replay.now', (hour + batch * 7 % 60 * interval '1 minute')::text, false);
		-- in the first run nothing has been written yet
		IF batch > 0 THEN
			WITH rows AS (INSERT INTO access_log SELECT at, url FROM source WHERE written > before AND written <= now() RETURNING *)
			INSERT INTO new_hits SELECT * FROM rows;
			before := now();
		END IF;
		-- some runs are left out, and some are made twice
		FOR i IN 1 .. CASE WHEN batch % every = 0 THEN 1 WHEN batch % 11 IN (3, 4, 5) THEN 0 WHEN batch % 7 = 0 THEN 2 ELSE 1 END LOOP
			CALL replay.run('new hits');
			CALL replay.run('one_table');
			UPDATE replay.state SET runs = runs + 1;
			-- the whole log is looked at in another hour each day, so that in time every hour of the day has its turn
			CALL replay.look((batch + batch / 24) % look = 0);
		END LOOP;
		IF batch % every = 0 THEN
			CALL replay.ask();
		END IF;
		COMMIT;
		batch := batch + 1;
		hour := hour + interval '1 hour';
	END LOOP;
	CALL replay.run('new hits');
	CALL replay.run('one_table');
	CALL replay.ask();
	-- the same questions, as if the log were an old one
	PERFORM set_config('replay.now', (SELECT max(at)::text FROM access_log), false);
	CREATE TABLE replay.last_time AS SELECT now() AS at;
	CALL replay.ask(', by max(at)');
END $$;
SQL

# The three statements of the recipe, for the table of this test.
sub one_table { return map { s/\bvisit\b/access_log/gr } split /(?<=;)\n\n/, $tbf{'one table'}; }

sub replay
{
	my ($name, $every, $look, $gap, $part, $load) = @_;
	my $db = StreambloomTap->new("015_$name");
	my $path = "SET search_path = replay, pg_catalog, public; SET timezone = 'America/New_York'; SET jit = off; SET max_parallel_workers_per_gather = 0;\n";
	my ($one_table_table, $one_table_job, $one_table_query) = one_table();

	$db->sql($harness);
	$load->($db);
	# The log gets a gap of $gap days in the middle. One hit in 20 is committed up to two hours late, one in four up to
	# twenty minutes.
	$db->sql(<<"SQL");
CREATE TABLE source AS SELECT at, url, at + CASE WHEN late < 0.05 THEN 7199 WHEN late < 0.3 THEN 1200 ELSE 30 END * later * interval '1 second' AS written FROM (
	SELECT url, at + CASE WHEN at > (min(at) OVER () + (max(at) OVER () - min(at) OVER ()) / 2) THEN interval '$gap days' ELSE interval '0' END AS at, late, later FROM (
		SELECT split_part(split_part(line, '"', 2), ' ', 2) AS url, to_timestamp(substring(line FROM '\\[([^]]+)\\]'), 'DD/Mon/YYYY:HH24:MI:SS TZHTZM') AS at,
			abs(hashint8(n)::bigint) / 2147483648.0 AS late, abs(hashint8(-n)::bigint) / 2147483648.0 AS later
		FROM log_lines WHERE n % $part = 0) l) m;
CREATE INDEX ON source (written);
ANALYZE source;
SQL
	$db->sql("SET search_path = public; $tbf{'a list of what is hot'} $one_table_table");
	$db->sql("INSERT INTO replay.job VALUES ('one_table', \$q\$$one_table_job\$q\$), ('new hits', \$q\$$tbf{'add new hits'}\$q\$)");
	my %question = ('one_table' => $one_table_query, 'ask the list' => $tbf{'ask the list'},
		'any window' => "SELECT tbf_merge_agg(f) AS f FROM url_hour WHERE hour > now() - interval '24 hours'",
		'any decay' => "SELECT tbf_merge_agg(f, decay_polynomial(now() - (hour + interval '1 hour'), 1, '1 day')) AS f FROM url_hour");
	$db->sql("INSERT INTO replay.recipe VALUES ('$_', \$q\$$question{$_}\$q\$)") foreach sort keys %question;
	$db->sql("INSERT INTO replay.recipe VALUES ('the heat', 'SELECT f FROM heat')");
	$db->sql("$path CALL replay.all($every, $look)");

	is($db->sql('SELECT count(*) FROM new_hits'), 0, 'all hits were taken');
	cmp_ok($db->sql('SELECT count(DISTINCT at) FROM replay.result'), '>=', 5, 'asked at several times');
	foreach ($db->rows('SELECT recipe, count(*), max(items), sum(under), sum(over), max(mean), max(most) FROM replay.result GROUP BY 1 ORDER BY 1'))
	{
		my ($recipe, $times, $items, $under, $over, $mean, $most) = @$_;
		cmp_ok($items, '>=', $recipe =~ /list|one_table/ ? 3 : 100, "$recipe: asked for items");
		is($under, 0, "$recipe: no count is too low, and none of the wanted is missing");
		is($over, 0, "$recipe: no count is too high by more than rounding");
		diag(sprintf('%s: %-32s asked %d times, %6d items, too high by %.4f on average, %.4f at most', $name, $recipe, $times, $items, $mean, $most));
	}
	foreach ($db->rows('SELECT source, count(*), max(hits), sum(wrong), min(at) FILTER (WHERE wrong > 0) FROM replay.step GROUP BY 1 ORDER BY 1'))
	{
		my ($source, $steps, $hits, $wrong, $first) = @$_;
		cmp_ok($steps, '>=', $source eq 'one_table' ? 200 : 30, "$source: looked at after the runs");
		cmp_ok($hits, '>=', 300, "$source: has hits");
		is($wrong, 0, "$source: no hit is lost or doubled") or diag("first at $first");
	}
	# each row has the bytes of one aggregate over its hits, except for hits that came after the last run
	is($db->sql("SELECT count(*) FILTER (WHERE h.f IS DISTINCT FROM e.f), count(*) > 100 FROM url_hour h FULL JOIN (SELECT date_trunc('hour', at, 'UTC') AS hour, tbf_agg(url, at, NULL) AS f
		FROM access_log GROUP BY 1) e USING (hour)"), '0|t', 'each hour has the bytes of one aggregate over its hits');
	is($db->sql("SELECT bool_and((tbf_info(f)).layout = 'exact') FROM (SELECT f FROM url_hour UNION ALL SELECT f FROM heat) s"), 't', 'all are exact');
	my $again = $db->sql("SELECT md5(string_agg(f::text, '' ORDER BY hour)) FROM url_hour");
	$db->sql("$path SET replay.now = '2030-01-01'; CALL replay.run('one_table'); CALL replay.run('one_table'); CALL replay.run('new hits')");
	is($db->sql("SELECT md5(string_agg(f::text, '' ORDER BY hour)) FROM url_hour"), $again, 'one more run changes nothing');
	return $db;
}

sub bare { my ($sql) = @_; $sql =~ s/;?\s*$//; $sql =~ s/\s+/ /g; $sql =~ s/^ //; return $sql; }

subtest 'a made-up log' => sub {
	replay('made_up', 50, 4, 33, 1, sub {
		my ($db) = @_;
		my $file = StreambloomTap::scratch() . '/log.gz';
		is(system("'$^X' '$FindBin::Bin/../../scripts/generate-log' --lines 20000 --days 12 | gzip -1 >'$file'"), 0, 'a log is made');
		$db->load_lines('log_lines', $file, 'gzip');
	});
};

subtest "a blog's log" => sub {
	my $file = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');
	replay('blog', $long ? 150 : 80, $long ? 17 : 8, $long ? 20 : 33, $long ? 1 : 3, sub {
		my ($db) = @_;
		$db->load_lines('log_lines', $file, 'gzip');
		$db->sql('DELETE FROM log_lines WHERE n NOT BETWEEN 70001 AND 135000') if !$long;
	});
};

subtest 'more than 65,536 items' => sub {
	my $db = StreambloomTap->new('015_many');

	$db->sql("CREATE TABLE hourly (hour timestamptz PRIMARY KEY, f tbf NOT NULL); INSERT INTO hourly SELECT '2026-01-01'::timestamptz + i % 300 * interval '1 hour', tbf_agg(i, NULL, NULL) FROM generate_series(1, 300000) i GROUP BY 1");
	foreach ('SELECT tbf_merge_agg(f) AS f FROM hourly', $tbf{'more than 65,536 items'} =~ s/^CREATE TABLE \w+ AS//r)
	{
		my ($layout, $under, $share, $mean) = split /\|/, $db->sql('WITH s AS MATERIALIZED (' . bare($_) . ') SELECT (SELECT i.layout FROM s, tbf_info(f) i), ' .
			'sum((hits < 1)::int), avg((hits > 1)::int), avg(hits - 1) FROM (SELECT f -> i AS hits FROM s, generate_series(1, 300000, 7) i) c');
		is($layout, 'extensible', 'counters');
		is($under, 0, 'no count is too low');
		cmp_ok($share, '<=', 0.01, 'at most 1 % are too high');
		cmp_ok($mean, '<=', 0.1, 'by at most 0.1 on average');
	}
};

# A hit with a wrong time must not stop the jobs: hits that are written after it are counted as before, also after runs
# that were missed. It is counted itself when its hour comes.
subtest 'hits from the future' => sub {
	my $db = StreambloomTap->new('015_future');
	my ($one_table_table, $one_table_job, $one_table_query) = one_table();
	my $write = sub { $db->sql("INSERT INTO access_log VALUES ($_[0], '$_[1]'); INSERT INTO new_hits VALUES ($_[0], '$_[1]')") };
	my $run = sub { $db->sql("$tbf{'add new hits'} $one_table_job") };

	$db->sql('CREATE TABLE access_log (at timestamptz NOT NULL, url text NOT NULL); CREATE TABLE new_hits (LIKE access_log)');
	$db->sql("$tbf{'a list of what is hot'} $one_table_table");
	$write->("now() - interval '3 days'", '/old');
	$run->();
	$write->($_, '/future') foreach "now() + interval '1 year'", "now() + interval '2 hours'";
	$run->();
	$write->('now()', '/new');
	$run->();
	$run->();
	is($db->sql("SELECT f -> '/old', f -> '/future', f -> '/new' FROM (SELECT tbf_merge_agg(f) AS f FROM url_hour) s"), '1|0|1', 'each hit is in its hour, but those of the future');
	is($db->sql("SELECT count(*) FROM url_hour h FULL JOIN (SELECT date_trunc('hour', at, 'UTC') AS hour, tbf_agg(url, at, NULL) AS f FROM access_log WHERE at <= now() GROUP BY 1) e USING (hour)
		WHERE h.f IS DISTINCT FROM e.f"), 0, 'and only there');
	is($db->sql("SELECT tbf_count(f, '/new', now()) > 0.9, tbf_count(f, '/future', now()) BETWEEN 1.9 AND 2.1 FROM heat"), 't|t', 'the list has all of them');
	is($db->sql("SELECT count(*) FROM ($one_table_query) q" =~ s/;\s*\) q/) q/r), 3, 'they can be asked for');

	# A run at midnight finds a hit of six o'clock. The next one is at eight.
	$db->sql('TRUNCATE access_log, url_hour');
	my $run_at = sub { my ($time) = @_; $db->sql($one_table_job =~ s/now\(\)/timestamptz '$time'/gr) };
	$db->sql("INSERT INTO access_log VALUES ('2026-05-01 00:00 UTC', '/midnight'), ('2026-05-01 06:00 UTC', '/ahead')");
	$run_at->('2026-05-01 00:05 UTC');
	$db->sql("INSERT INTO access_log VALUES ('2026-05-01 02:10 UTC', '/missed')");
	$run_at->('2026-05-01 08:00 UTC');
	is($db->sql("SELECT f -> '/midnight', f -> '/ahead', f -> '/missed' FROM (SELECT tbf_merge_agg(f) AS f FROM url_hour) s"), '1|1|1', 'after runs that were missed');
};

subtest 'where there is nothing yet' => sub {
	my $db = StreambloomTap->new('015_nothing');

	$db->sql("$tbf{'a list of what is hot'}");
	is($db->sql("$tbf{'add new hits'} SELECT f IS NULL FROM heat"), 't', 'no hits, no filter');
	$db->sql("INSERT INTO new_hits VALUES (now(), '/a'), (now(), '/a'), (now(), '/b')");
	is($db->sql("$tbf{'add new hits'} SELECT tbf_count(f, '/a', now()) BETWEEN 1.9 AND 2.1 FROM heat"), 't', 'the first hits');
	is($db->sql("$tbf{'add new hits'} SELECT tbf_count(f, '/a', now()) BETWEEN 1.9 AND 2.1 FROM heat"), 't', 'each counts once');
	$db->sql("INSERT INTO new_hits VALUES (now(), '/a'), (now() + interval '1 year', '/a')");
	is($db->sql("$tbf{'add new hits'} SELECT tbf_count(f, '/a', now()) BETWEEN 3.9 AND 4.1 FROM heat"), 't', 'more of them, one of the future');
	is($db->sql("$tbf{'add new hits'} SELECT tbf_count(f, '/a', now()) BETWEEN 3.9 AND 4.1 FROM heat"), 't', 'and none');
	is($db->sql("$bf{'seen before'} SELECT f @> '/a'::text, f @> '/c'::text FROM seen"), "f\nt|f", 'seen before');
};

done_testing();
