# abf on real streams: with a window of time, the requests of a blog's log, in which some rows come late; with a
# window of a number of items, the requests of a shop. The test compares with the exact answer of window functions
# over all rows. No repetition within the window is missed. New items are reported as repetitions at the rate that was
# asked for. The union of three servers' filters is the filter of all. The test also tries random clocks.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $log_file = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');
my $ids_file = StreambloomTap::require_data('shop-requests-2013-07.ids.txt.gz', 'gzip');

my $db = StreambloomTap->new('045');
$db->load_lines('log_lines', $log_file, 'gzip');
$db->load_lines('id_lines', $ids_file, 'gzip');
$db->sql(<<'SQL');
SET timezone = 'UTC';
CREATE UNLOGGED TABLE requests AS
	SELECT n::int AS n, to_timestamp(substring(line FROM '\[([^]]+)\]'), 'DD/Mon/YYYY:HH24:MI:SS TZHTZM') AS at,
		split_part(line, ' ', 1) || ' ' || split_part(split_part(line, '"', 2), ' ', 2) AS item FROM log_lines;
CREATE UNLOGGED TABLE ids AS SELECT n::int AS n, line::int AS id FROM id_lines;
-- the clock of the stream, and for each row the latest earlier time of the same item
CREATE UNLOGGED TABLE exact AS
	SELECT n, at, item, max(at) OVER (ORDER BY n) AS newest, max(at) OVER (PARTITION BY item ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM requests;
ALTER TABLE requests SET (parallel_workers = 2);
ANALYZE;
SQL
cmp_ok($db->sql('SELECT count(*) FROM exact WHERE at < newest'), '>', 1000, 'rows come late');

# A rate that is more than four standard errors above is too high.
sub rate_is_kept
{
	my ($what, $rate, $wrong, $of) = @_;
	cmp_ok($wrong, '<=', $of * $rate + 4 * sqrt($of * $rate) + 1, "$what: $wrong of $of new items are taken for known");
}

foreach my $case (['10 minutes', 0.01], ['1 hour', 0.001], ['1 day', 0.05])
{
	my ($within, $rate) = @$case;
	my $expected = $db->sql("SELECT max(c) FROM (SELECT count(*) OVER (ORDER BY at RANGE BETWEEN '$within'::interval PRECEDING AND CURRENT ROW) AS c FROM requests) s");
	my ($must, $missed, $new, $wrong) = @{($db->rows(<<"SQL"))[0]};
WITH answers AS (SELECT n, abf_duplicate(item, at, abf_empty($expected, $rate, '$within')) OVER (ORDER BY n) AS again FROM requests)
SELECT count(*) FILTER (WHERE before >= newest - interval '$within'), count(*) FILTER (WHERE before >= newest - interval '$within' AND NOT again),
	count(*) FILTER (WHERE before IS NULL), count(*) FILTER (WHERE before IS NULL AND again)
FROM exact JOIN answers USING (n)
SQL
	cmp_ok($must, '>', 1000, "within $within: there are repetitions");
	is($missed, 0, "within $within: of $must repetitions none is missed");
	rate_is_kept("within $within", $rate, $wrong, $new);

	# The same stored filter is built by one process, by workers, and by three servers.
	my $agg = "abf_agg(item, at, '$within', $expected, $rate)";
	my $whole = $db->sql("SET max_parallel_workers_per_gather = 0; SELECT md5($agg\::bytea) FROM requests");
	is($db->sql(StreambloomTap::parallel(2) . "SELECT md5($agg\::bytea) FROM requests"), $whole, "within $within: workers make the same bytes");
	is($db->sql("SELECT md5(abf_union_agg(f)::bytea) FROM (SELECT $agg AS f FROM requests GROUP BY hashtext(item) % 3) s"), $whole, "within $within: three servers, too");
	is($db->sql(<<"SQL"), 't', "within $within: the filter has all of the last window, for as long as it lasts");
SELECT bool_and(abf_contains(f, item, greatest(at + interval '$within', newest)))
FROM (SELECT $agg AS f FROM requests) a, (SELECT max(at) AS newest FROM requests) b, LATERAL (SELECT DISTINCT item, at FROM requests WHERE at >= newest - interval '$within') r
SQL
}

foreach my $window (100, 3000, 30000)
{
	my ($must, $missed, $new, $wrong) = @{($db->rows(<<"SQL"))[0]};
SELECT count(*) FILTER (WHERE gap <= $window), count(*) FILTER (WHERE gap <= $window AND NOT again), count(*) FILTER (WHERE gap IS NULL), count(*) FILTER (WHERE gap IS NULL AND again)
FROM (SELECT n - lag(n) OVER (PARTITION BY id ORDER BY n) AS gap, again FROM (SELECT n, id, abf_duplicate(id, abf_empty($window)) OVER (ORDER BY n) AS again FROM ids) s) s
SQL
	cmp_ok($must, '>', 1000, "last $window: there are repetitions");
	is($missed, 0, "last $window: of $must repetitions none is missed");
	rate_is_kept("last $window", 0.01, $wrong, $new);
}

# Random clocks for the items of the log: with jumps, idle times, and rows that are late by up to two windows.
foreach my $seed (1 .. 5)
{
	is($db->sql(<<"SQL"), '0|t', "random clock $seed: nothing is missed");
WITH steps AS (SELECT n, item, h, sum(CASE WHEN h % 97 = 0 THEN h % 5000 ELSE h % 4 END) OVER (ORDER BY n) AS clock
		FROM (SELECT n, item, abs(hashint8(n * 1000 + $seed)) AS h FROM requests WHERE n <= 40000) s),
	moments AS (SELECT n, item, timestamptz '2026-01-01 UTC' + (clock - CASE WHEN h % 5 = 0 THEN h % 1200 ELSE 0 END) * interval '1 s' AS at FROM steps),
	known AS (SELECT n, max(at) OVER (ORDER BY n) AS newest, max(at) OVER (PARTITION BY item ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
		abf_duplicate(item, at, abf_empty(1000, within => '10 minutes'), 'infinity') OVER (ORDER BY n) AS again FROM moments)
SELECT count(*) FILTER (WHERE NOT again) || '|' || (count(*) > 500)::text::char(1) FROM known WHERE before >= newest - interval '10 minutes'
SQL
}

done_testing();
