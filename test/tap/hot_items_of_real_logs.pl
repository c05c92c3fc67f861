# tbf_top on real data: the URLs of a web log, with decay and without; its hosts, whose hits weigh 1 or as much as the
# kilobytes sent; and the requests of a shop. For every listed item hits_from <= exact hits <= hits_to, and hits_to -
# hits_from <= W / (c + 1), where W is the weight of all hits and c the limit of entries. So every item with more than
# W / (c + 1) hits is listed. This holds for rows in any order, for lists that were split and merged in several ways,
# decayed in between, and filled day by day. The test reports how far hits_to - hits_from stays below its bound, and how
# many of the ten hottest items are among the list's first ten. Every third line of the data is taken, and every sixth
# for the hosts and for the shop's requests. If STREAMBLOOM_SECONDS is above 60, all are taken.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $log_file = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');
my $shop_file = StreambloomTap::require_data('shop-requests-2013-07.ids.txt.gz', 'gzip');

my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60;
my $db = StreambloomTap->new('009');
my $serial = StreambloomTap::parallel(0);
my $parallel = StreambloomTap::parallel(2);

$db->load_lines('log_lines', $log_file, 'gzip', $long ? 1 : 3);
$db->load_lines('shop_lines', $shop_file, 'gzip', $long ? 1 : 6);
my $of_hosts = $long ? '' : 'WHERE n % 2 = 0';
my $of_a_part = $long ? 20000 : 3000;
my $afterwards = $long ? 300 : 60;
$db->sql(<<"SQL");
CREATE UNLOGGED TABLE hits AS
	SELECT n, split_part(line, ' ', 1) AS host,
		CASE WHEN octet_length(url) <= 256 THEN url ELSE left(url, 100) || md5(url) END AS url, -- the list would cut a longer text
		to_timestamp(split_part(split_part(line, '[', 2), ']', 1), 'DD/Mon/YYYY:HH24:MI:SS TZHTZM') AS at,
		coalesce(substring(split_part(line, '"', 3) FROM '^ \\d+ (\\d+)')::bigint, 0) AS bytes
	FROM log_lines, split_part(split_part(line, '"', 2), ' ', 2) url ORDER BY n;
CREATE FUNCTION microseconds(t timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT ((extract(epoch FROM t) - 946684800) * 1000000)::bigint';
-- Each stream as (n, item, at, part, weight). A part is a day; in the shop's requests it has $of_a_part rows.
CREATE TABLE stream (stream text, n bigint, item text, at timestamptz, part int, weight float8) PARTITION BY LIST (stream);
CREATE TABLE shuffled (LIKE stream) PARTITION BY LIST (stream);
SELECT format('CREATE UNLOGGED TABLE %1\$s_%2\$s PARTITION OF %1\$s FOR VALUES IN (%2\$L) WITH (parallel_workers = 2)', t, s) FROM unnest('{stream,shuffled}'::text[]) t, unnest('{url,host,kilobytes,shop}'::text[]) s \\gexec
INSERT INTO stream SELECT 'url', n, url, at, (at AT TIME ZONE 'UTC')::date - '2016-02-01'::date, 1 FROM hits
	UNION ALL SELECT 'host', n, host, at, (at AT TIME ZONE 'UTC')::date - '2016-02-01'::date, 1 FROM hits $of_hosts
	UNION ALL SELECT 'kilobytes', n, host, at, (at AT TIME ZONE 'UTC')::date - '2016-02-01'::date, bytes / 1024.0 FROM hits $of_hosts
	UNION ALL SELECT 'shop', n, line, '2013-07-01', n / $of_a_part, 1 FROM shop_lines;
SELECT setseed(0.2016) \\g /dev/null
INSERT INTO shuffled SELECT * FROM stream ORDER BY random();
VACUUM ANALYZE stream;
ANALYZE shuffled;
SQL

$db->sql(<<'SQL');
-- As in tbf_on_a_real_log.pl: epochs of half_life / 96, counted from 2000-01-01 UTC; half-life 0: no decay.
CREATE FUNCTION epoch_of(microseconds bigint, half_life bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT CASE half_life WHEN 0 THEN 0 ELSE microseconds / (half_life / 96) END';
CREATE FUNCTION kept(epochs bigint, half_life bigint) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
	'SELECT CASE WHEN half_life = 0 THEN 1 WHEN epochs > 96 * 1000 THEN 0
		ELSE 2::float8 ^ (-(epochs * (half_life / 96))::float8 / half_life) END';
-- Exact counts at the time of the newest hit. place: 1 for the hottest item; w: the weight of all hits.
CREATE UNLOGGED TABLE exact (stream text, half_life bigint, item text, hits float8, place bigint, w float8);
CREATE TABLE built (stream text, half_life bigint, c int, way text, f tbf);

-- Tests the promise for one filter at one time. scale: how much a hit weighs at that time if it weighs 1 at the time
-- of the newest hit.
CREATE FUNCTION promise(stored tbf, stream text, half_life bigint, c int, at timestamptz, scale float8)
RETURNS TABLE (listed bigint, foreign_items bigint, above bigint, below bigint, missed bigint, widest float8, first_ten bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
	f tbf := bytea(stored)::tbf;
BEGIN
	RETURN QUERY
	WITH t AS MATERIALIZED (SELECT item, hits_from, hits_to, row_number() OVER (ORDER BY hits_from DESC) AS place FROM tbf_top(f, c, at)),
		-- the items that are listed or must be, and the ten hottest
		e AS MATERIALIZED (SELECT item, hits * scale AS hits, place, w * scale AS w FROM exact e
			WHERE e.stream = promise.stream AND e.half_life = promise.half_life AND (e.place <= 10 OR e.hits > e.w / (c + 1) OR e.item IN (SELECT item FROM t)))
	SELECT count(t.item), count(*) FILTER (WHERE e.item IS NULL),
		count(*) FILTER (WHERE NOT t.hits_from BETWEEN 0 AND e.hits * (1 + 1e-12)), count(*) FILTER (WHERE NOT t.hits_to BETWEEN e.hits * (1 - 1e-12) AND 1e300),
		count(*) FILTER (WHERE t.item IS NULL AND e.hits > e.w / (c + 1) * (1 + 1e-6)),
		coalesce(max(t.hits_to - t.hits_from) / max(e.w) * (c + 1), 0),
		count(*) FILTER (WHERE e.place <= 10 AND t.place <= 10)
	FROM t FULL JOIN e USING (item);
END $$;
SQL

is($db->sql("SELECT string_agg(stream || ' ' || n, ', ' ORDER BY stream) FROM (SELECT stream, count(*) AS n FROM stream GROUP BY 1) s"),
	$long ? 'host 206860, kilobytes 206860, shop 76118, url 206860' : 'host 34477, kilobytes 34477, shop 12687, url 68954', 'the streams');

my %half_lives = ('6 hours' => 6 * 3600e6, '7 days' => 7 * 86400e6, '60 days' => 60 * 86400e6, 'none' => 0);
my $newest = '2016-03-28 18:59:20 UTC';

sub interval { return $_[0] eq 'none' ? 'NULL::interval' : "interval '$_[0]'"; }

sub build
{
	my ($stream, $half_life, $c, $way, $query) = @_;
	$db->sql($serial . "INSERT INTO built SELECT '$stream', $half_lives{$half_life}, $c, '$way', f FROM ($query) q(f)");
}

foreach (['url', '7 days'], ['url', '6 hours'], ['url', 'none'], ['host', '60 days'], ['kilobytes', '7 days'], ['shop', 'none'])
{
	my ($stream, $half_life) = @$_;
	my $microseconds = $half_lives{$half_life};

	$db->sql(<<"SQL");
INSERT INTO exact SELECT '$stream', $microseconds, item, hits, row_number() OVER (ORDER BY hits DESC), sum(hits) OVER () FROM (
	SELECT item, sum(hits * kept(epoch_of(microseconds('$newest'), $microseconds) - epoch, $microseconds)) AS hits
	FROM (SELECT item, epoch_of(microseconds(at), $microseconds) AS epoch, sum(weight) AS hits FROM stream WHERE stream = '$stream' GROUP BY 1, 2) e
	GROUP BY item) s;
ANALYZE exact;
SQL
	foreach my $c ("$stream $half_life" eq 'url 7 days' ? (10, 100, 1000, 10000) : $stream eq 'url' ? 100 : (10, 1000))
	{
		subtest "$stream, half-life $half_life, a list of $c" => sub {
			my $of = "item, at, tbf_empty(25000, 0.01, " . interval($half_life) . ", top => $c), weight";
			my $from = "FROM %s WHERE stream = '$stream'";

			build($stream, $half_life, $c, 'in order', "SELECT tbf_agg_like($of ORDER BY n) " . sprintf($from, 'stream'));
			build($stream, $half_life, $c, 'backward', "SELECT tbf_agg_like($of ORDER BY n DESC) " . sprintf($from, 'stream'));
			build($stream, $half_life, $c, 'shuffled', "SELECT tbf_agg_like($of) " . sprintf($from, 'shuffled'));
			my $query = "SELECT tbf_agg_like($of) AS f " . sprintf($from, 'stream');
			$db->plan_is_parallel($query, 'the plan is parallel');
			$db->sql("$parallel CREATE TABLE in_parallel AS $query");
			build($stream, $half_life, $c, 'in parallel', 'TABLE in_parallel');
			$db->sql('DROP TABLE in_parallel');
			is($db->sql("SELECT string_agg(way, ', ') FROM built b WHERE c = $c AND stream = '$stream' AND half_life = $microseconds AND " .
					"f <> (SELECT f FROM built WHERE way = 'in order' AND c = $c AND stream = '$stream' AND half_life = $microseconds)"), '',
				'the counters do not depend on the order, whatever the list does');

			$db->sql("CREATE TABLE parts AS SELECT part, max(at) AS at, tbf_agg_like($of) AS f " . sprintf($from, 'stream') . ' GROUP BY part; ' .
				'ALTER TABLE parts SET (parallel_workers = 2)');
			cmp_ok($db->sql('SELECT count(*) FROM parts'), '>', 3, 'split into parts');
			build($stream, $half_life, $c, 'merged', 'SELECT tbf_merge_agg(f ORDER BY part) FROM parts');
			build($stream, $half_life, $c, 'merged backward', 'SELECT tbf_merge_agg(f ORDER BY part DESC) FROM parts');
			$db->sql("$parallel CREATE TABLE in_parallel AS SELECT tbf_merge_agg(f) AS f FROM parts");
			build($stream, $half_life, $c, 'merged in parallel', 'TABLE in_parallel');
			build($stream, $half_life, $c, 'decayed and merged', "SELECT tbf_merge_agg(tbf_decay(f, '$newest')) FROM parts") if $half_life ne 'none';
			$db->sql(<<"SQL");
DO \$\$
DECLARE
	part record;
	sum tbf := tbf_empty(25000, 0.01, @{[interval($half_life)]}, top => $c);
	daily tbf := sum;
BEGIN
	FOR part IN SELECT * FROM parts ORDER BY at LOOP
		sum := sum + part.f;
		daily := part.f + tbf_decay(daily, part.at);
	END LOOP;
	INSERT INTO built VALUES ('$stream', $microseconds, $c, 'added up', sum), ('$stream', $microseconds, $c, 'added up, decayed every day', daily);
END \$\$;
DROP TABLE parts, in_parallel;
SQL
			# The filter is built without the last hits. These are added afterwards, one or a few at a time, the newest
			# first.
			my $last = "(SELECT max(n) - $afterwards FROM stream WHERE stream = '$stream')";
			$db->sql(<<"SQL") if $stream ne 'kilobytes';
DO \$\$
DECLARE
	f tbf := (SELECT tbf_agg_like($of) FROM stream WHERE stream = '$stream' AND n <= $last);
	batch record;
BEGIN
	FOR batch IN SELECT at, array_agg(item) AS items FROM stream WHERE stream = '$stream' AND n > $last GROUP BY at, n % 50 ORDER BY at DESC LOOP
		f := tbf_add_all(f, batch.items, batch.at);
	END LOOP;
	INSERT INTO built VALUES ('$stream', $microseconds, $c, 'the last hits one by one', f);
END \$\$;
SQL
			my @times = ([$newest, 1]);
			push @times, ['2016-03-25 12:00:00 UTC', 0], ['2016-04-02 20:11:12.131415 UTC', 0] if $half_life ne 'none';
			foreach (@times)
			{
				my ($at, $scale) = @$_;
				$scale = "kept(epoch_of(microseconds('$at'), $microseconds) - epoch_of(microseconds('$newest'), $microseconds), $microseconds)" if !$scale;
				my @rows = $db->rows("SELECT way, length(f::bytea), p.* FROM built b, promise(f, '$stream', $microseconds, $c, '$at', $scale) p " .
					"WHERE b.stream = '$stream' AND b.half_life = $microseconds AND b.c = $c ORDER BY way");
				cmp_ok(scalar @rows, '>=', 8, "$at: ways");
				foreach (@rows)
				{
					my ($way, $bytes, $listed, $foreign, $above, $below, $missed, $widest, $first_ten) = @$_;
					ok($listed <= $c && $foreign == 0, "$way, $at: lists $listed items of the stream");
					is($above, 0, "$way, $at: no lower bound is above the exact count");
					is($below, 0, "$way, $at: no upper bound is below the exact count");
					is($missed, 0, "$way, $at: no item with a share of more than 1 / (c + 1) is missed");
					cmp_ok($widest, '<=', 1 + 1e-6, "$way, $at: the bounds are no further apart than W / (c + 1)");
					diag(sprintf('%-9s %-7s c %4d %-27s %7d bytes, %4d listed, bounds apart at most %.3f W / (c + 1), %d of the first ten',
						$stream, $half_life, $c, $way, $bytes, $listed, $widest, $first_ten)) if $at eq $newest;
				}
			}
		};
	}
}

done_testing();
