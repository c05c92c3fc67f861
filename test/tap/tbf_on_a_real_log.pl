# tbf on a real access log: the count of every URL and every host is compared with the exact decayed count that SQL
# computes. A count is never below the exact one. This is tested for several half-lives and for none, with rows in any
# order, with weights, with filters that were merged, decayed, or added to later, at times before and after the newest
# hit. The test reports how far counts are above the exact ones. The test takes all hits of the hottest URL, which are
# more than 65,536, and one in four of the others. Each half-life is tested with URLs, with hosts, or with both
# (%items). If STREAMBLOOM_SECONDS is more than 60, the test takes all hits, and each half-life but that of an hour has
# both.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $log_file = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');

my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60 ? 1 : 0;
my $db = StreambloomTap->new('002');
my $serial = StreambloomTap::parallel(0);
my $parallel = StreambloomTap::parallel(2);

$db->load_lines('log_lines', $log_file, 'gzip');
$db->sql(<<"SQL" . <<'SQL');
CREATE FUNCTION microseconds(t timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT ((extract(epoch FROM t) - 946684800) * 1000000)::bigint';
CREATE UNLOGGED TABLE log AS
	SELECT n, split_part(line, ' ', 1) AS host,
		split_part(split_part(line, '"', 2), ' ', 2) AS url,
		to_timestamp(split_part(split_part(line, '[', 2), ']', 1), 'DD/Mon/YYYY:HH24:MI:SS TZHTZM') AS at,
		CASE WHEN sent ~ '^[0-9]' THEN sent::bigint ELSE 0 END AS bytes
	FROM (SELECT *, split_part(split_part(line, '"', 3), ' ', 3) AS sent FROM log_lines) l ORDER BY n;
CREATE UNLOGGED TABLE hits AS SELECT *, microseconds(at) AS microseconds FROM log WHERE $long = 1 OR url = '/' OR n % 4 = 0 ORDER BY n;
SQL
VACUUM ANALYZE hits;
CREATE UNLOGGED TABLE hits_forward AS SELECT * FROM hits ORDER BY at, n;
CREATE UNLOGGED TABLE hits_backward AS SELECT * FROM hits ORDER BY at DESC, n DESC;
SELECT setseed(0.2016) \g /dev/null
CREATE UNLOGGED TABLE hits_shuffled AS SELECT * FROM hits ORDER BY random();
ALTER TABLE hits SET (parallel_workers = 2);
ALTER TABLE hits_shuffled SET (parallel_workers = 2);
CREATE VIEW days AS SELECT *, (at AT TIME ZONE 'UTC')::date AS day FROM hits;

-- The exact count at the time `now` is the sum of weight * 2^-((E(now) - E(t)) * T / half_life) over the hits. t is the
-- time of a hit, T = half_life / 96 the length of an epoch, and E(t) = floor(t / T) the number of t's epoch. Times are
-- whole microseconds since 2000-01-01 UTC. Only the last division and the power are computed in floating point. A
-- half-life of 0 means no decay.
CREATE FUNCTION epoch_of(microseconds bigint, half_life bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT CASE half_life WHEN 0 THEN 0 ELSE microseconds / (half_life / 96) END'; -- all times here are after 2000
CREATE FUNCTION kept(epochs bigint, half_life bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT CASE WHEN half_life = 0 THEN 1 WHEN epochs > 96 * 1000 THEN 0 -- where hardly a double would hold it
		ELSE 2::float8 ^ (-(epochs * (half_life / 96))::float8 / half_life) END';

-- The exact counts at the newest hit. At a time d half-lives later they are these counts times 2^-d, the same factor
-- for all items.
CREATE UNLOGGED TABLE exact (stream text, half_life bigint, item text, hits float8);
CREATE INDEX ON exact (stream, half_life);
CREATE UNLOGGED TABLE asked (half_life bigint, moment text, at timestamptz, scale float8);
CREATE TABLE built (stream text, half_life bigint, way text, f tbf);

CREATE FUNCTION newest_hit() RETURNS bigint LANGUAGE sql IMMUTABLE AS
	$$ SELECT microseconds('2016-03-28 18:59:20 UTC') $$;
CREATE PROCEDURE note_exact(stream text, half_life bigint, source text, item text, weight text DEFAULT '1')
LANGUAGE plpgsql AS $$
DECLARE
	newest_epoch bigint := epoch_of(newest_hit(), half_life);
BEGIN
	EXECUTE format('INSERT INTO exact SELECT $1, $2, item, sum(hits * kept($3 - epoch, $2)) ' ||
		'FROM (SELECT %s AS item, epoch_of(microseconds, $2) AS epoch, sum(%s)::float8 AS hits FROM %s GROUP BY 1, 2) e ' ||
		'GROUP BY item', item, weight, source) USING stream, half_life, newest_epoch;
	ANALYZE exact;
END $$;

-- Compares every count of a filter with the exact one. under: how many counts are too low by more than the rounding of
-- the doubles in this query. close: the share of counts that are too high by at most a unit of the counters, the slack
-- (what decay may have dropped) and 0.1 %; this is promised only for times that are not before the newest hit. (In an
-- exact filter the slack may be as much as a unit: once hits were dropped because they are too old, it is at least
-- 1/4096 of a hit.)
CREATE FUNCTION compare(stored tbf, stream text, half_life bigint)
RETURNS TABLE (moment text, items bigint, under bigint, example text, close float8, mean float8, p99 float8, most float8)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
	f tbf := bytea(stored)::tbf; -- in memory, so that thousands of look-ups do not read slices from the table
	unit float8 := CASE half_life WHEN 0 THEN 0 ELSE (SELECT i.unit + slack FROM tbf_info(f) i) END;
BEGIN
	RETURN QUERY
	SELECT moment, count(*), count(*) FILTER (WHERE counted BETWEEN hits * (1 - 1e-12) AND 1e300 IS NOT TRUE),
		min(format('%s has %s of %s', item, counted, hits)) FILTER (WHERE counted BETWEEN hits * (1 - 1e-12) AND 1e300 IS NOT TRUE),
		avg((counted <= hits * 1.001 + unit)::int)::float8,
		sum(counted - hits) / count(*), percentile_disc(0.99) WITHIN GROUP (ORDER BY counted - hits), max(counted - hits)
	FROM (SELECT a.moment, e.item, e.hits * a.scale AS hits, tbf_count(f, e.item, a.at) AS counted
		FROM exact e JOIN asked a USING (half_life)
		WHERE e.stream = compare.stream AND e.half_life = compare.half_life
		OFFSET 0) counts -- so that each count is computed once
	GROUP BY moment;
END $$;
SQL

my $count_hosts = $db->sql('SELECT count(DISTINCT host) FROM hits');
my $count_urls = $db->sql('SELECT count(DISTINCT url) FROM hits');
my ($oldest, $newest, $backward_steps) = map { @$_ } $db->rows(<<'SQL');
SELECT min(at) AT TIME ZONE 'UTC', max(at) AT TIME ZONE 'UTC', count(*) FILTER (WHERE at < before)
FROM (SELECT at, lag(at) OVER (ORDER BY n) AS before FROM log) h
SQL

subtest 'the log is the one that SOURCES.md describes' => sub {
	is($db->sql('SELECT count(*), count(DISTINCT host), count(DISTINCT url) FROM log'), '206860|8799|24903', 'hits, hosts and URLs');
	is($oldest, '2016-02-20 05:00:45', 'the oldest hit, -0500');
	is($newest, '2016-03-28 18:59:20', 'the newest hit, -0400 after the clock change');
	is($backward_steps, 5771, 'steps backward in time');
	is($db->sql('SELECT max(at) AT TIME ZONE \'UTC\' FROM hits'), $newest, 'the test takes the newest hit');
	cmp_ok($db->sql('SELECT count(*) FROM hits GROUP BY url ORDER BY 1 DESC LIMIT 1'), '>', 65536, 'and a URL with more than 65,536 hits');
};

my %half_lives = (
	'1 hour' => 3600e6,
	'6 hours' => 6 * 3600e6,
	'7 days' => 7 * 86400e6,
	'60 days' => 60 * 86400e6,
	'none' => 0,
);

# What is counted with each half-life: URLs, hosts or both. The log is 900 half-lives of an hour long. With a half-life
# as short as that, hosts are enough.
my %items = $long ? ('1 hour' => ['host'], map { $_ => ['url', 'host'] } 'none', '6 hours', '7 days', '60 days')
	: ('none' => ['url'], '1 hour' => ['host'], '6 hours' => ['url'], '7 days' => ['url', 'host'], '60 days' => ['host']);

sub interval { return $_[0] eq 'none' ? 'NULL::interval' : "interval '$_[0]'"; }

sub ask_at
{
	my ($half_life, $moment, $at) = @_;
	my $microseconds = $half_lives{$half_life};
	$db->sql("INSERT INTO asked VALUES ($microseconds, '$moment', '$at', " .
			"kept(epoch_of(microseconds('$at'), $microseconds) - epoch_of(newest_hit(), $microseconds), $microseconds))");
}

foreach my $half_life (sort keys %half_lives)
{
	ask_at($half_life, 'at the newest hit', "$newest UTC");
	next if $half_life eq 'none';
	ask_at($half_life, 'five days later', '2016-04-02 20:11:12.131415 UTC') if $half_life ne '1 hour';
	ask_at($half_life, 'a fortnight later', '2016-04-11 18:59:20 UTC') if $half_life ne '1 hour';
	ask_at($half_life, 'four months later', '2016-07-28 18:59:20 UTC') if $half_life ne '1 hour';
	ask_at($half_life, 'two days later', '2016-03-30 20:11:12.131415 UTC') if $half_life eq '1 hour';
	ask_at($half_life, 'three days before the newest hit', '2016-03-25 18:59:20 UTC');
	# counts at a time more than a thousand half-lives before the filter's base are refused
	ask_at($half_life, 'long before the newest hit', $half_life eq '1 hour' ? '2016-03-15 UTC' : "$oldest UTC");
}
foreach my $half_life (sort keys %half_lives)
{
	$db->sql("CALL note_exact('$_', $half_lives{$half_life}, 'hits', '$_')")
		foreach @{$items{$half_life}};
}

# Tests for each moment that no item is below the exact count. Returns what compare() reports, by moment.
sub never_below
{
	my ($filter, $stream, $half_life, $name, $items) = @_;
	my @moments = $db->rows("SELECT c.* FROM ($filter) built(f), compare(f, '$stream', " .
			"$half_lives{$half_life}) c");

	my %by_name;
	foreach (@moments)
	{
		my ($moment, $compared, $under, $example, @report) = @$_;
		$by_name{$moment} = [$compared, @report];
		is($compared, $items, "$name, $moment: compared all $items") if defined $items;
		is($under, 0, "$name, $moment: none of $compared below the exact count")
			or diag("below the exact count ($stream, half-life $half_life, $name, $moment): for example $example");
	}
	ok(@moments > 0, "$name: compared at all");
	return %by_name;
}

sub report
{
	my ($half_life, $stream, $name, $bytes, $moment, %by_name) = @_;
	my ($items, $close, $mean, $p99, $most) = @{$by_name{$moment}};
	diag(sprintf('half-life %-7s %-4s %-22s %7d bytes; %s: %.2f %% within a unit, over by %.4g on average, ' .
				'%.4g at 99 %%, %.4g at most', $half_life, $stream, $name, $bytes, $moment, 100 * $close, $mean, $p99, $most));
}

# Builds a filter under a name; returns its size in bytes.
sub build
{
	my ($half_life, $stream, $way, $query) = @_;
	return $db->sql($serial .
			"INSERT INTO built SELECT '$stream', $half_lives{$half_life}, '$way', f FROM ($query) q(f)" .
			" RETURNING (tbf_info(f)).bytes");
}

sub of
{
	my ($half_life, $stream, $way) = @_;
	return "SELECT f FROM built WHERE half_life = $half_lives{$half_life} AND stream = '$stream' AND way = '$way'";
}

sub bytes_of
{
	my ($half_life, $stream, $way) = @_;
	return $db->sql('SELECT (tbf_info(f)).bytes FROM (' . of($half_life, $stream, $way) . ') w');
}

sub same_bytes
{
	my ($half_life, $stream, $name, $first, @others) = @_;
	my %same = map { @$_ } $db->rows('SELECT way, b.f = first.f FROM built b, (' . of($half_life, $stream, $first) . ') first ' .
			"WHERE half_life = $half_lives{$half_life} AND stream = '$stream'");
	is($same{$_}, 't', "$name: same bytes as $first: $_") foreach @others;
}

foreach my $half_life ('none', '1 hour', '6 hours', '7 days', '60 days')
{
	foreach my $item (@{$items{$half_life}})
	{
		my $items = $item eq 'url' ? $count_urls : $count_hosts;
		my $interval = interval($half_life);

		my %sizes = ('self-sized' => "$item, at, $interval", 'told n' => "$item, at, $interval, 1, $items, 0.01");

		subtest "half-life $half_life, ${item}s: one pass" => sub {
			foreach my $size (sort keys %sizes)
			{
				my $query = "SELECT tbf_agg($sizes{$size}) FROM";
				my $bytes = build($half_life, $item, "$size in order", "$query hits_forward");

				build($half_life, $item, "$size backward", "$query hits_backward");
				build($half_life, $item, "$size shuffled", "$query hits_shuffled");
				build($half_life, $item, "$size as logged", "$query hits");
				$db->plan_is_parallel("$query hits", "$size: the plan is parallel");
				$db->sql("$parallel CREATE TABLE in_parallel AS $query hits; " .
						"CREATE TABLE in_parallel_shuffled AS $query hits_shuffled");
				build($half_life, $item, "$size in parallel", 'TABLE in_parallel');
				build($half_life, $item, "$size shuffled in parallel", 'TABLE in_parallel_shuffled');
				$db->sql('DROP TABLE in_parallel, in_parallel_shuffled');
				same_bytes($half_life, $item, $size, "$size in order",
					map { "$size $_" } 'backward', 'shuffled', 'as logged', 'in parallel', 'shuffled in parallel');

				my %result = never_below(of($half_life, $item, "$size in order"), $item, $half_life, $size, $items);
				my $close = $result{'at the newest hit'}[1];
				cmp_ok(1 - $close, '<=', 0.01 + 4 * sqrt(0.01 * 0.99 / $items),
					"$size: at most 1 % of the items are overcounted by more than a unit");
				report($half_life, $item, $size, $bytes, 'at the newest hit', %result);
			}
		};

		subtest "half-life $half_life, ${item}s: days merged" => sub {
			my $days = "SELECT day, tbf_agg($item, at, $interval, 1, $items, 0.01) AS f FROM days GROUP BY day";
			my $small_days = "SELECT day, tbf_agg($item, at, $interval) AS f FROM days GROUP BY day";

			$db->sql("CREATE TABLE day_filters AS $days; CREATE TABLE small_day_filters AS $small_days; " .
					"ALTER TABLE day_filters SET (parallel_workers = 2)");
			cmp_ok($db->sql('SELECT count(*) FROM day_filters'), '>=', 34, 'a filter for each day');
			is($db->sql("SELECT count(*) FILTER (WHERE layout = 'exact') = count(*) FROM small_day_filters, tbf_info(f)"), 't',
				'days that size themselves are exact');

			build($half_life, $item, 'merged', 'SELECT tbf_merge_agg(f ORDER BY day) FROM day_filters');
			build($half_life, $item, 'merged backward', 'SELECT tbf_merge_agg(f ORDER BY day DESC) FROM day_filters');
			$db->plan_is_parallel('SELECT tbf_merge_agg(f) FROM day_filters', 'the plan of the merge is parallel');
			$db->sql("$parallel CREATE TABLE in_parallel AS SELECT tbf_merge_agg(f) FROM day_filters");
			build($half_life, $item, 'merged in parallel', 'TABLE in_parallel');
			build($half_life, $item, 'merged of different sizes', 'SELECT tbf_merge_agg(f) FROM small_day_filters');
			same_bytes($half_life, $item, 'days', 'merged', 'merged backward', 'merged in parallel');
			same_bytes($half_life, $item, 'undecayed days', 'told n in order', 'merged') if $half_life eq 'none';

			$db->sql('DROP TABLE in_parallel');
			foreach (['added up', 'day_filters', 'ASC', 'sum + part'],
				['added up backward', 'day_filters', 'DESC', 'part + sum'],
				['added up of different sizes', 'small_day_filters', 'ASC', 'sum + part'])
			{
				my ($way, $table, $order, $add) = @$_;
				my ($code, $out, $err) = $db->try(<<"SQL");
DO \$\$
DECLARE
	part tbf;
	sum tbf;
BEGIN
	FOR part IN SELECT f FROM $table ORDER BY day $order LOOP
		sum := CASE WHEN sum IS NULL THEN part ELSE $add END;
	END LOOP;
	INSERT INTO built VALUES ('$item', $half_lives{$half_life}, '$way', sum);
END \$\$;
SQL
				is($code, 0, "$way: the days can be added up with +") or diag($err);
			}
			$db->sql('DROP TABLE day_filters, small_day_filters');
			foreach my $way ('merged', 'merged of different sizes', 'added up', 'added up backward', 'added up of different sizes')
			{
				next if $db->sql('SELECT count(*) FROM (' . of($half_life, $item, $way) . ') w') == 0;
				my %result = never_below(of($half_life, $item, $way), $item, $half_life, $way, $items);
				report($half_life, $item, $way, bytes_of($half_life, $item, $way), 'at the newest hit', %result);
			}
		};

		next if $half_life eq 'none' || $half_life eq '1 hour';
		subtest "half-life $half_life, ${item}s: decayed later" => sub {
			my $whole = of($half_life, $item, 'told n in order');
			my $bytes;
			foreach (['a day later', '2016-03-29 18:59:20 UTC', 'five days later'],
				['a week later', '2016-04-04 18:59:20 UTC', 'a fortnight later'],
				['a season later', '2016-06-28 00:00:00 UTC', 'four months later'])
			{
				my ($when, $at, $moment) = @$_;
				$bytes = build($half_life, $item, "decayed $when", "SELECT tbf_decay(f, '$at') FROM ($whole) w");
				is($db->sql("SELECT tbf_decay(f, '$at') = f FROM (" . of($half_life, $item, "decayed $when") . ') d'), 't',
					"decayed $when: decaying again changes nothing");
				my %result = never_below(of($half_life, $item, "decayed $when"), $item, $half_life, "decayed $when", $items);
				report($half_life, $item, "decayed $when", $bytes, $moment, %result);
			}
			is($db->sql("SELECT tbf_decay(f, '2016-06-28 UTC') = (" . of($half_life, $item, 'decayed a season later') .
					') FROM (' . of($half_life, $item, 'decayed a week later') . ') d'), 't',
				'decay in two steps gives the same bytes as in one');
			is($db->sql("SELECT tbf_decay(f, '2016-01-01 UTC') = f FROM ($whole) w"), 't',
				'decay to a time before the hits changes nothing');
			is($db->sql("SELECT tbf_decay(f, '1066-10-14 UTC') = f FROM ($whole) w"), 't',
				'decay to a time before all epochs changes nothing');
		};
	}
}

# A stored filter to which all hits of a day are added at once, with the time of the day's last hit.
$db->sql(<<'SQL');
CREATE TABLE daily AS SELECT *, microseconds(at) AS microseconds FROM (SELECT url, day, max(at) OVER (PARTITION BY day) AS at FROM days) d;
SQL
my @lives = (
	{name => 'late hits to early ones', first => "day < '2016-03-20'", step => 'tbf_add_all(f, batch.urls, batch.at)'},
	{name => 'early hits to late ones', first => "day >= '2016-03-20'", step => 'tbf_add_all(f, batch.urls, batch.at)',
		order => 'DESC'},
	{name => 'decayed every day before adding', step => 'tbf_add_all(tbf_decay(f, batch.at), batch.urls, batch.at)'},
	{name => 'decayed every day after adding', step => 'tbf_decay(tbf_add_all(f, batch.urls, batch.at), batch.at)'},
	{name => 'decayed ahead of its hits', step => "tbf_decay(tbf_add_all(f, batch.urls, batch.at), batch.at + interval '2 days')"},
);
foreach my $half_life ('none', '6 hours', '7 days', '60 days')
{
	subtest "half-life $half_life: further hits by tbf_add_all" => sub {
		my $interval = interval($half_life);

		$db->sql("CALL note_exact('daily', $half_lives{$half_life}, 'daily', 'url')");
		foreach my $life (@lives)
		{
			my $first = $life->{first} // 'false';
			my $order = $life->{order} // 'ASC';
			my ($code, $out, $err) = $db->try(<<"SQL");
DO \$\$
DECLARE
	f tbf := (SELECT coalesce(tbf_agg(url, at, $interval, 1, $count_urls, 0.01), tbf_empty($count_urls, 0.01, $interval))
		FROM daily WHERE $first);
	batch record;
	batches int := 0;
BEGIN
	FOR batch IN SELECT at, array_agg(url) AS urls FROM daily WHERE NOT ($first) GROUP BY at ORDER BY at $order LOOP
		f := $life->{step};
		batches := batches + 1;
	END LOOP;
	ASSERT batches >= 7;
	INSERT INTO built VALUES ('daily', $half_lives{$half_life}, '$life->{name}', f);
END \$\$;
SQL
			is($code, 0, "$life->{name}: they can be added") or diag($err);
			next if $code != 0;
			my $filter = of($half_life, 'daily', $life->{name});
			my %result = never_below($filter, 'daily', $half_life, $life->{name}, $count_urls);
			report($half_life, 'url', $life->{name}, bytes_of($half_life, 'daily', $life->{name}), 'at the newest hit', %result);
		}
	};
}

foreach my $half_life ('none', '7 days')
{
	subtest "half-life $half_life: hits weighted by kilobytes sent" => sub {
		my $interval = interval($half_life);
		$db->sql("CALL note_exact('weighted', $half_lives{$half_life}, 'hits', 'host', 'bytes / 1024.0')");
		$db->plan_is_parallel("SELECT tbf_agg(host, at, $interval, bytes / 1024.0) FROM hits", 'the plan is parallel');
		my $bytes = build($half_life, 'weighted', 'self-sized', "SELECT tbf_agg(host, at, $interval, bytes / 1024.0) FROM hits_forward");
		build($half_life, 'weighted', 'shuffled', "SELECT tbf_agg(host, at, $interval, bytes / 1024.0) FROM hits_shuffled");
		$db->sql("$parallel CREATE TABLE in_parallel AS SELECT tbf_agg(host, at, $interval, bytes / 1024.0) FROM hits");
		build($half_life, 'weighted', 'in parallel', 'TABLE in_parallel');
		$db->sql('DROP TABLE in_parallel');
		same_bytes($half_life, 'weighted', 'weighted', 'self-sized', 'shuffled', 'in parallel');
		my %result = never_below(of($half_life, 'weighted', 'self-sized'), 'weighted', $half_life, 'weighted', $count_hosts);
		report($half_life, 'host', 'weighted', $bytes, 'at the newest hit', %result);
	};
}

# The base of a filter is the half-life for which its counters are written down. A merge keeps the older of two bases if
# it can. Hits that are too old for the result go into the slack, which is added to every count. The test tries
# seventeen distances between the two filters, each from all 16 places in a plane (sums are kept by 16 half-lives).
subtest 'a thousand hits, and one of another item many half-lives later' => sub {
	my @cases = $db->rows(<<'SQL');
SELECT distance, count(*), count(*) FILTER (WHERE added BETWEEN 1000 * 2 ^ (-distance) AND 1e300 IS NOT TRUE),
	count(*) FILTER (WHERE summed BETWEEN 1000 * 2 ^ (-distance) AND 1e300 IS NOT TRUE), count(*) FILTER (WHERE merged BETWEEN 1000 * 2 ^ (-distance) AND 1e300 IS NOT TRUE),
	count(*) FILTER (WHERE one_pass BETWEEN 1000 * 2 ^ (-distance) AND 1e300 IS NOT TRUE), min(least(added, summed, merged)), 1000 * 2 ^ (-distance)
FROM (SELECT distance, tbf_count(tbf_add(old, 'new'::text, later), 'old'::text, later) AS added,
		tbf_count(old + new, 'old'::text, later) AS summed,
		tbf_count((SELECT tbf_merge_agg(f) FROM (VALUES (old), (new)) v(f)), 'old'::text, later) AS merged,
		tbf_count((SELECT tbf_agg(item, t, '1 hour', weight::float8) FROM (VALUES ('old'::text, at, 1000), ('new', later, 1)) v(item, t, weight)),
			'old'::text, later) AS one_pass
	FROM (SELECT distance, at, later, tbf_add(empty, 'old'::text, at, 1000) AS old, tbf_add(empty, 'new'::text, later) AS new
		FROM (SELECT distance::float8, '2020-01-01 00:00 UTC'::timestamptz + place * interval '1 hour' AS at,
				'2020-01-01 00:00 UTC'::timestamptz + (place + distance) * interval '1 hour' AS later,
				tbf_empty(100, 0.01, '1 hour') AS empty
			FROM generate_series(0, 15) place, unnest(ARRAY[1, 15, 16, 31, 32, 33, 47, 48, 49, 50, 56, 63, 64, 65, 80, 100, 300]) distance) times) filters
	) counts
GROUP BY distance ORDER BY distance
SQL
	is(scalar @cases, 17, 'seventeen distances');
	foreach (@cases)
	{
		my ($distance, $places, $added, $summed, $merged, $one_pass, $least, $exact) = @$_;
		my $note = "the exact count is $exact, the least answer $least, $distance half-lives later";
		is($added, 0, "$distance half-lives: not below after tbf_add, wherever in a plane") or diag($note);
		is($summed, 0, "$distance half-lives: not below after +") or diag($note);
		is($merged, 0, "$distance half-lives: not below after tbf_merge_agg") or diag($note);
		is($one_pass, 0, "$distance half-lives: not below in one pass") or diag($note);
	}
};

done_testing();
