# How much memory the state of an aggregate takes: in 25 thousand groups of four items each, in two thousand groups of
# 200, and in one group of many million. The results must be right. And 250 thousand calls in one query leave no memory
# behind. If STREAMBLOOM_SECONDS is above 60, there are 100 thousand groups of four items, and a million calls.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('004');
my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60;
my $groups = $long ? 100_000 : 25_000;
my $calls = $long ? 1_000_000 : 250_000;

# Rows of the groups: each group has 4 distinct items, some of them twice.
$db->sql(<<"SQL");
CREATE UNLOGGED TABLE visits AS
	SELECT g, (g * 31 + i % 4) AS item, '2024-05-01 UTC'::timestamptz + i * interval '5 hours' AS at
	FROM generate_series(1, $groups) g, generate_series(0, 5) i;
CREATE UNLOGGED TABLE dense AS SELECT g, i AS item, '2024-05-01 UTC'::timestamptz + i * interval '1 hour' AS at
	FROM generate_series(1, 2000) g, generate_series(1, 200) i;
ANALYZE;
-- The bytes of all memory contexts of this backend. A query calls the function while it runs; with a column as
-- argument it is not called before there is a row.
CREATE FUNCTION memory_now(text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS
	'BEGIN RETURN (SELECT sum(total_bytes) FROM pg_backend_memory_contexts); END';
-- The largest resident size that this backend has had, in kilobytes; NULL if the system does not tell.
CREATE FUNCTION peak_now(text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS \$\$
BEGIN
	RETURN substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)');
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END \$\$;
SQL

my $settings = <<'SQL';
SET max_parallel_workers_per_gather = 0; SET work_mem = '2GB'; SET enable_sort = off; SET jit = off;
SQL

# Returns whether the aggregate is hashed, and the bytes of memory per group while all states exist. They are measured
# at the first row that a hashed aggregate returns.
sub bytes_of_group
{
	my ($aggregate, $count, $table) = @_;
	my ($plan) = $db->sql("$settings EXPLAIN (COSTS OFF) SELECT g, $aggregate FROM $table GROUP BY g");
	my $bytes = $db->sql(<<"SQL");
$settings
SELECT memory_now('warm') \\g /dev/null
SELECT memory_now('before') AS before \\gset
SELECT memory_now(f::text) - :before FROM (SELECT g, $aggregate AS f FROM $table GROUP BY g OFFSET 0) s LIMIT 1;
SQL
	return ($plan =~ /HashAggregate/ ? 1 : 0, $bytes / $count);
}

my @aggregates = (
	['bf_agg(item)', 'bf, self-sized'],
	['bf_agg(item, 1000)', 'bf, told a thousand'],
	['bf_agg(item, 1000000)', 'bf, told a million'],
	['bf_agg(item, NULL, 0.0001)', 'bf, self-sized at 0.01 %'],
	['tbf_agg(item, at)', 'tbf, self-sized'],
	["tbf_agg(item, at, interval '1 hour')", 'tbf, half-life of an hour'],
	["tbf_agg(item, at, interval '30 days')", 'tbf, half-life of 30 days'],
	['tbf_agg(item, at, NULL::interval)', 'tbf, no decay'],
	["tbf_agg(item, at, interval '7 days', 1, 1000000, 0.01)", 'tbf, told a million'],
);

subtest "memory of $groups groups with four items each" => sub {
	my (undef, $plain) = bytes_of_group('count(item)', $groups, 'visits');

	diag(sprintf('bytes a group: count() %.0f', $plain));
	foreach (@aggregates)
	{
		my ($aggregate, $name) = @$_;
		my ($hashed, $bytes) = bytes_of_group($aggregate, $groups, 'visits');
		ok($hashed, "$name: all groups are in memory at once");
		cmp_ok($bytes, '<', 2500, "$name: less than 2.5 KB a group");
		diag(sprintf('bytes a group: %-26s %.0f', $name, $bytes));
	}
	my @others = (['array_agg(item)', 'array_agg']);
	if ($db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'hll'"))
	{
		$db->sql('CREATE EXTENSION hll');
		push @others, ['hll_add_agg(hll_hash_integer(item))', 'hll_add_agg'];
	}
	foreach (@others)
	{
		my ($aggregate, $name) = @$_;
		my ($hashed, $bytes) = bytes_of_group($aggregate, 5000, '(SELECT * FROM visits WHERE g <= 5000) v');
		diag(sprintf('bytes a group: %-26s %.0f (of 5,000 groups)', $name, $bytes));
	}
};

subtest 'memory of 2,000 groups with 200 items each' => sub {
	foreach (@aggregates)
	{
		my ($aggregate, $name) = @$_;
		my ($hashed, $bytes) = bytes_of_group($aggregate, 2000, 'dense');
		my $limit = $name =~ /^bf/ ? 128 : 512;
		ok($hashed, "$name: all groups are in memory at once");
		cmp_ok($bytes / 200, '<', $limit, "$name: less than $limit bytes an item");
		diag(sprintf('200 items, bytes a group: %-26s %.0f', $name, $bytes));
	}
};

subtest 'the results of many groups are right' => sub {
	my $groups = $db->sql('SELECT count(DISTINCT g) FROM visits');
	cmp_ok($groups, '>', 1000, 'there are many groups');
	is($db->sql("$settings SELECT count(*), count(*) FILTER (WHERE (f @> (g * 31) AND f @> (g * 31 + 3)) IS NOT TRUE) FROM (SELECT g, bf_agg(item) f FROM visits GROUP BY g OFFSET 0) s"), "$groups|0", 'bf: none missed');
	is($db->sql("$settings SELECT count(*), count(*) FILTER (WHERE (tbf_count(f, g * 31) BETWEEN 2 AND 1e300 AND tbf_count(f, g * 31 + 3) BETWEEN 1 AND 1e300) IS NOT TRUE) " .
			"FROM (SELECT g, tbf_agg(item, at, NULL::interval) f FROM visits GROUP BY g OFFSET 0) s"), "$groups|0", 'tbf: no count too small');
	is($db->sql("SET max_parallel_workers_per_gather = 0; SET work_mem = '4MB'; SELECT count(*), count(*) FILTER (WHERE (f @> (g * 31) AND t @> (g * 31 + 3)) IS NOT TRUE) FROM " .
			"(SELECT g, bf_agg(item) f, tbf_agg(item, at) t FROM visits GROUP BY g OFFSET 0) s"), "$groups|0", 'with so little memory that groups are sorted or spilled');
	is($db->sql(StreambloomTap::parallel(2) . "SET work_mem = '1GB'; SELECT count(*), count(*) FILTER (WHERE (f @> (g * 31) AND t @> (g * 31 + 3)) IS NOT TRUE) FROM " .
			"(SELECT g, bf_agg(item) f, tbf_agg(item, at) t FROM visits GROUP BY g OFFSET 0) s"), "$groups|0", 'with workers');
};

subtest 'memory of one filter with many million items' => sub {
	plan skip_all => 'the server does not tell its memory (no /proc)' if $db->sql("SELECT peak_now('') IS NULL") eq 't';
	# A filter that sizes itself has 32 MB of lines in memory from some 650,000 items on. For 5 million items that would
	# be more than twice the stored value, so this filter gets 20 million.
	foreach (['bf_agg(x, :n)', 5_000_000], ['bf_agg(x)', 20_000_000])
	{
		my ($aggregate, $items) = @$_;
		my $query = "SELECT sum(size) FROM (SELECT pg_column_size($aggregate) AS size FROM (SELECT generate_series(1::bigint, :n) AS x) s OFFSET 0) t";
		my $warm = $query =~ s/:n/10/gr;
		my $large = $query =~ s/:n/$items/gr;
		my (undef, $before, $size, $after) = split /\n/, $db->sql("$settings $warm; SELECT peak_now('1'); $large; SELECT peak_now('2');");
		my $times = ($after - $before) * 1024 / $size;
		cmp_ok($size, '>', $items, "$aggregate: a large value");
		cmp_ok($times, '<', 2, "$aggregate: the state and the value together take less than two such values");
		diag(sprintf('%s: %.2f times the value', $aggregate, $times));
	}
};

# The peak memory of a session after a run with a tenth of the calls, and after one with all of them.
sub growth
{
	my ($query) = @_;
	my $few = $query =~ s{:calls}{$calls / 10}egr;
	my $many = $query =~ s/:calls/$calls/gr;
	my $out = $db->sql(<<"SQL");
SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '64kB';
SELECT peak_now('') \\g /dev/null
$few \\g /dev/null
SELECT peak_now('');
$many \\g /dev/null
SELECT peak_now('');
SQL
	return split /\n/, $out;
}

$db->sql(<<'SQL');
CREATE TABLE stored AS SELECT bf_agg(i, 20000) AS b, tbf_agg(i, '2024-05-01 UTC') AS t, bf_agg(i::text, 20000) AS bt
	FROM generate_series(1, 1000) i;
CREATE FUNCTION loop_bf(calls int) RETURNS bf LANGUAGE plpgsql AS $$
DECLARE
	f bf := bf_empty(20, 0.1);
BEGIN
	FOR i IN 1 .. calls LOOP
		f := bf_add(f, i);
	END LOOP;
	RETURN f;
END $$;
CREATE FUNCTION loop_tbf(calls int) RETURNS tbf LANGUAGE plpgsql AS $$
DECLARE
	f tbf := tbf_empty(5, 0.1);
BEGIN
	FOR i IN 1 .. calls LOOP
		f := tbf_add(f, i % 100, '2024-05-01 UTC');
	END LOOP;
	RETURN f;
END $$;
CREATE FUNCTION loop_ask(calls int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	f bf := (SELECT bf(bytea(b)) FROM stored);
	t tbf := (SELECT tbf(bytea(stored.t)) FROM stored);
	found bigint := 0;
BEGIN
	FOR i IN 1 .. calls LOOP
		found := found + (f @> i)::int + (tbf_count(t, i, '2024-06-01 UTC') > 1)::int;
	END LOOP;
	RETURN found;
END $$;
SQL

subtest "$calls calls in one query leave nothing behind" => sub {
	plan skip_all => 'the server does not tell its memory (no /proc)' if $db->sql("SELECT peak_now('') IS NULL") eq 't';
	my $small = '(SELECT bf_agg(i) AS b, tbf_agg(i, \'2024-05-01 UTC\') AS t, bf_agg(i::text) AS bt FROM generate_series(1, 20) i OFFSET 0) f';

	foreach (
		['f @> i', "SELECT count(*) FILTER (WHERE b @> i) FROM generate_series(1, :calls) i, $small"],
		['f @> text', "SELECT count(*) FILTER (WHERE bt @> i::text) FROM generate_series(1, :calls) i, $small"],
		['f @> i of a stored filter', "SELECT count(*) FILTER (WHERE b @> i) FROM generate_series(1, :calls / 4) i, stored"],
		['tbf_count', "SELECT sum(tbf_count(t, i, '2024-06-01 UTC')) FROM generate_series(1, :calls) i, $small"],
		['tbf_count of a stored filter', "SELECT sum(tbf_count(t, i, '2024-06-01 UTC')) FROM generate_series(1, :calls / 10) i, stored"],
		['bf_add', "SELECT count(bf_add(b, i)) FROM generate_series(1, :calls) i, $small"],
		['bf_add_all', "SELECT count(bf_add_all(b, ARRAY[i, i + 1])) FROM generate_series(1, :calls) i, $small"],
		['bf_contains_any', "SELECT count(*) FILTER (WHERE bf_contains_any(b, ARRAY[i, i + 1])) FROM generate_series(1, :calls) i, $small"],
		['bf_union', "SELECT count(b | b) FROM generate_series(1, :calls) i, $small"],
		['bf_info', "SELECT count((bf_info(b)).bits) FROM generate_series(1, :calls / 4) i, $small"],
		['tbf_add', "SELECT count(tbf_add(t, i, '2024-05-02 UTC')) FROM generate_series(1, :calls / 4) i, $small"],
		['tbf_merge', "SELECT count(t + t) FROM generate_series(1, :calls / 4) i, $small"],
		['tbf_decay', "SELECT count(tbf_decay(t, '2024-05-01 UTC'::timestamptz + i * interval '1 hour')) FROM generate_series(1, :calls / 4) i, $small"],
		['text and back', "SELECT count((b::text)::bf) FROM generate_series(1, :calls / 4) i, $small"],
		['bf_agg, one group', "SELECT bf_agg(i % 1000) FROM generate_series(1, :calls) i"],
		['tbf_agg, one group', "SELECT tbf_agg(i % 1000, '2024-05-01 UTC'::timestamptz + i * interval '1 second') FROM generate_series(1, :calls) i"],
		['bf_agg of text', "SELECT bf_agg((i % 1000)::text) FROM generate_series(1, :calls) i"],
		['bf_agg of numeric', "SELECT bf_agg((i % 1000)::numeric) FROM generate_series(1, :calls) i"],
		['bf_agg of records', "SELECT bf_agg(ROW(i % 1000, (i % 1000)::text)) FROM generate_series(1, :calls / 4) i"],
		['bf_union_agg', "SELECT bf_union_agg(bf_add(b, i % 100)) FROM generate_series(1, :calls / 4) i, $small"],
		['tbf_merge_agg', "SELECT tbf_merge_agg(t) FROM generate_series(1, :calls / 4) i, $small"],
		['bf_agg over a window', "SELECT count(f) FROM (SELECT bf_agg(i % 100) OVER (ORDER BY i) f FROM generate_series(1, :calls / 40) i) w"],
		['tbf_agg over a window', "SELECT count(f) FROM (SELECT tbf_agg(i % 100, '2024-05-01 UTC') OVER (ORDER BY i) f FROM generate_series(1, :calls / 100) i) w"],
		['bf_add in a PL/pgSQL loop', 'SELECT loop_bf(:calls) IS NULL'],
		['tbf_add in a PL/pgSQL loop', 'SELECT loop_tbf(:calls / 10) IS NULL'],
		['@> and tbf_count in a PL/pgSQL loop', 'SELECT loop_ask(:calls)'],
		['group after group', "SELECT count(bf_agg) FROM (SELECT g, bf_agg(item), tbf_agg(item, at) FROM visits WHERE g <= :calls / 20 GROUP BY g ORDER BY g) s"],
	)
	{
		my ($name, $query) = @$_;
		my ($before, $after) = growth($query);
		cmp_ok(($after - $before) * 1024, '<=', 2 * $calls, "$name: no more than 2 bytes a call after nine tenths more") or diag("$before kB, then $after kB");
	}
};

done_testing();
