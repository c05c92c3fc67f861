# A look-up in a stored filter of several megabytes reads its header and the slices that hold the item's cells, not the
# whole value. It answers what the same filter answers in memory, also if the column is compressed.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use JSON::PP;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('005');

# 300 thousand items (30 thousand in "wide") in filters that have room for more. A bf takes 10 to 12 MB, a tbf 1 to 12.
$db->sql(<<'SQL');
CREATE TABLE stored (name text PRIMARY KEY, b bf, t tbf);
INSERT INTO stored SELECT 'integers', bf_agg(i, 8400000, 0.01), tbf_agg(i, '2024-05-01 UTC', '7 days', 1, 600000, 0.01)
	FROM generate_series(1, 300000) i;
INSERT INTO stored SELECT 'texts', bf_agg('item ' || i, 8400000, 0.01),
	tbf_agg('item ' || i, '2024-05-01 UTC', '7 days', 1 + 300 * (i % 100 = 0)::int, 600000, 0.01) FROM generate_series(1, 300000) i;
-- flat counters of eight bytes, so that a block of 4,096 cells has its largest size
INSERT INTO stored SELECT 'wide', NULL, tbf_layout(tbf_agg(i, '2024-05-01 UTC', '7 days', 1e9, 100000, 0.01), 'flat') FROM generate_series(1, 30000) i;
VACUUM ANALYZE stored;
SQL

# The number of pages that a query reads. The query has run twice before, so the pages of the catalogue do not count.
sub pages
{
	my ($query) = @_;
	my $explain = "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) $query;\n";
	my @plans = split /^\]\n?\K/m, $db->sql("SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off; $explain$explain$explain");
	my $plan = decode_json($plans[2])->[0]{Plan};

	return $plan->{'Shared Hit Blocks'} + $plan->{'Shared Read Blocks'};
}

sub of { return "FROM stored WHERE name = '$_[0]'"; }

subtest 'the stored filters are as large as the test means them to be' => sub {
	foreach (['integers', 'b', 10_000_000, 12_000_000], ['texts', 'b', 10_000_000, 12_000_000], ['integers', 't', 1_000_000, 4_000_000],
		['texts', 't', 1_000_000, 4_000_000], ['wide', 't', 4_000_000, 12_000_000])
	{
		my ($name, $column, $least, $most) = @$_;
		my $type = $column eq 'b' ? 'bf' : 'tbf';
		my ($bytes, $compression, $storage) = split /\|/, $db->sql("SELECT (${type}_info($column)).bytes, " .
				"pg_column_compression($column), attstorage " . of($name) =~ s/FROM stored/FROM pg_attribute a, stored/r .
				" AND attrelid = 'stored'::regclass AND attname = '$column'");
		cmp_ok($bytes, '>=', $least, "$name.$column: at least $least bytes");
		cmp_ok($bytes, '<=', $most, "$name.$column: at most $most bytes");
		is("$compression$storage", 'e', "$name.$column: stored as it is");
		diag("$name.$column: $bytes bytes, in cells of " . $db->sql("SELECT (tbf_info(t)).cell_bits " . of($name)) . ' bits') if $column eq 't';
	}
};

subtest 'pages that a look-up touches' => sub {
	my $whole_bf = pages('SELECT bf_cardinality(b) ' . of('integers'));
	my $whole_tbf = pages('SELECT tbf_sketch(t) ' . of('integers'));
	cmp_ok($whole_bf, '>', 1000, 'a bf read as a whole takes thousands');
	cmp_ok($whole_tbf, '>', 150, 'a tbf hundreds');
	cmp_ok(pages('SELECT tbf_sketch(t) ' . of('wide')), '>', 500, 'and more of flat counters');

	my %item = (integers => 4242, texts => "'item 4242'", wide => 4242);
	my $most = {bf => 0, tbf => 0};
	foreach my $name (sort keys %item)
	{
		foreach my $item ($item{$name}, $name eq 'texts' ? "'absent'" : -1)
		{
			my $all = [
				$name eq 'wide' ? () : (['bf', "b \@> $item"], ['bf', "$item <\@ b"], ['bf', "bf_contains(b, $item)"]),
				['tbf', "t \@> $item"], ['tbf', "$item <\@ t"], ['tbf', "tbf_contains(t, $item)"],
				['tbf', "tbf_count(t, $item, '2024-06-01 UTC')"], ['tbf', "t -> $item"], ['tbf', "tbf_rate(t, $item, '2024-06-01 UTC')"]];
			foreach (@$all)
			{
				my ($type, $expression) = @$_;
				my $limit = $type eq 'bf' ? 8 : 20; # bf: the page of the row, and three for each slice (header, line); tbf: longer slices
				my $pages = pages("SELECT $expression " . of($name));
				cmp_ok($pages, '<=', $limit, "$name: $expression touches at most $limit pages");
				$most->{$type} = $pages if $pages > $most->{$type};
			}
		}
	}
	diag("pages touched: bf $most->{bf} of $whole_bf, tbf at most $most->{tbf} of $whole_tbf");

	cmp_ok(pages("SELECT 1 FROM stored WHERE b \@> 4242 AND name = 'integers'"), '<=', 8, 'in a WHERE clause');
	cmp_ok(pages("SELECT b \@> i FROM stored, generate_series(1, 10) i WHERE name = 'integers'"), '<=', 1 + 3 + 10 * 4,
		'ten look-ups read the header once');
	foreach my $expression ('bf_contains_any(b, ARRAY[-1, -2, -3])', 'bf_contains_all(b, ARRAY[1, 2, 3])')
	{
		cmp_ok(pages("SELECT $expression " . of('integers')), '<=', 1 + 4 + 3 * 4, "$expression reads lines, not all");
	}
	is($db->sql("SELECT count(*) FILTER (WHERE (bf_contains_any(b, a) = y.any AND bf_contains_all(b, a) = y.all) IS NOT TRUE), count(*) FROM stored, (SELECT array_agg(i * 7919 % 900000) AS a FROM generate_series(1, 3000) i GROUP BY i % 1000 UNION ALL SELECT array_agg(i) FROM generate_series(1, 900000, 7) i) x, " .
			'LATERAL (SELECT bool_or(b @> i) AS "any", bool_and(b @> i) AS "all" FROM unnest(a) i) y ' .
			"WHERE name = 'integers'"), '0|1001', 'arrays have the answers of their elements');
	foreach my $expression ('b @> 4242', 'b @> -1', 't @> 4242', "tbf_count(t, 4242, '2024-06-01 UTC') > 0")
	{
		my $once = pages("SELECT $expression FROM stored WHERE name = 'integers'");
		is(pages("SELECT count(*) FROM stored, generate_series(1, 1000) i WHERE name = 'integers' AND ($expression OR i < 0)"), $once,
			"$expression, a thousand times in a query, touches what it touches once");
	}
	# Asks both filters in turn. Their cells take more memory than work_mem allows; the answers are the same.
	is($db->sql("SET work_mem = '64kB'; SET enable_material = off; SELECT count(*), count(*) FILTER (WHERE b \@> i AND t \@> i) FROM generate_series(1, 2000) i, stored WHERE name = 'integers'"),
		'2000|2000', 'none missed with little memory');
};

# The answers are the same as those of a filter in memory, which is a PL/pgSQL variable that was cast to bytea and
# back.
$db->sql(<<'SQL');
-- The number of answers that differ; NULL if there was nothing to compare. (The wide filter is a tbf only.)
CREATE FUNCTION differences(which text, step int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	memory_b bf := (SELECT bf(bytea(b)) FROM stored WHERE name = which);
	memory_t tbf := (SELECT tbf(bytea(t)) FROM stored WHERE name = which);
	query text := 'SELECT sum((((name = ''wide'' OR (b @> item) = ($3 @> item)) AND (t @> item) = ($4 @> item) AND ' ||
		'tbf_count(t, item, ''2024-06-01 UTC'') = tbf_count($4, item, ''2024-06-01 UTC'')) IS NOT TRUE)::int) ' ||
		'FROM stored, (SELECT %s AS item FROM generate_series(1, 600000, $2) i) x WHERE name = $1';
	wrong bigint;
BEGIN
	EXECUTE format(query, CASE which WHEN 'texts' THEN '''item '' || i' ELSE 'i' END) INTO wrong USING which, step, memory_b, memory_t;
	RETURN wrong;
END $$;
CREATE FUNCTION missed(which text, step int) RETURNS bigint LANGUAGE sql AS $$
	SELECT CASE which WHEN 'texts' THEN
		(SELECT sum(((b @> ('item ' || i) AND tbf_count(t, 'item ' || i, '2024-05-01 UTC') BETWEEN 1 AND 1e300) IS NOT TRUE)::int)
			FROM stored, generate_series(1, 300000, step) i WHERE name = which)
	ELSE
		(SELECT sum((((which = 'wide' OR b @> i) AND tbf_count(t, i, '2024-05-01 UTC') BETWEEN 1 AND 1e300) IS NOT TRUE)::int)
			FROM stored, generate_series(1, CASE which WHEN 'wide' THEN 30000 ELSE 300000 END, step) i WHERE name = which) END
$$;
SQL

sub answers_are_right
{
	my ($how, $step) = @_; # steps are large for compressed values, because each look-up decompresses all that lies before its slice
	foreach my $name ('integers', 'texts', 'wide')
	{
		is($db->sql("SELECT differences('$name', $step)"), 0, "$how, $name: the same answers as in memory");
		is($db->sql("SELECT missed('$name', $step / 2)"), 0, "$how, $name: none missed");
	}
}

subtest 'stored filters answer as filters in memory' => sub {
	answers_are_right('external', 149);
};

my @methods = ('pglz');
push @methods, 'lz4' if $db->sqlstate("SET default_toast_compression = 'lz4'") eq '00000';
foreach my $method (@methods)
{
	subtest "a column that is compressed with $method" => sub {
		$db->sql(<<"SQL");
CREATE TABLE packed (LIKE stored);
ALTER TABLE packed ALTER b SET STORAGE EXTENDED, ALTER t SET STORAGE EXTENDED;
ALTER TABLE packed ALTER b SET COMPRESSION $method, ALTER t SET COMPRESSION $method;
INSERT INTO packed SELECT name, b || 0, tbf_add(t, 0, '2024-05-01 UTC') FROM stored WHERE name <> 'texts';
INSERT INTO packed SELECT name, b || 'item 0', tbf_add(t, 'item 0', '2024-05-01 UTC') FROM stored WHERE name = 'texts';
-- small ones, which are compressed inside the row
INSERT INTO packed SELECT 'small', bf_agg(i, 3000), tbf_layout(tbf_agg(i, '2024-05-01 UTC', '7 days', 1, 300, 0.01), 'flat') FROM generate_series(1, 20) i;
ALTER TABLE stored RENAME TO stored_as_is; ALTER TABLE packed RENAME TO stored;
SQL
		my $compressed = $db->sql("SELECT string_agg(concat_ws(' ', name, pg_column_compression(b), pg_column_compression(t)), ', ' ORDER BY name) FROM stored");
		is(() = $compressed =~ /$method/g, 7, "all are compressed: $compressed");
		is($db->sql("SELECT bool_and(pg_column_size(b) < (bf_info(b)).bytes) FROM stored WHERE name = 'small'"), 't', 'the small one inside the row');
		answers_are_right($method, 15013);
		is($db->sql("SELECT count(*), count(*) FILTER (WHERE b \@> i AND tbf_count(t, i, '2024-05-01 UTC') BETWEEN 1 AND 1e300) FROM stored, generate_series(1, 20) i WHERE name = 'small'"),
			'20|20', "$method, small: none missed");
		is($db->sql("SELECT count(*) FROM stored, generate_series(21, 2020) i WHERE name = 'small' AND b \@> i") < 60 ? 1 : 0, 1,
			"$method, small: absent ones are seldom found");
		is($db->sql("SELECT count(*), count(*) FILTER (WHERE s.b IS NOT DISTINCT FROM a.b || 0 AND s.t = tbf_add(a.t, 0, '2024-05-01 UTC')) FROM stored s JOIN stored_as_is a USING (name) WHERE s.name <> 'texts'"),
			'2|2', 'same values as uncompressed');
		is($db->sql("SELECT bool_and(bf_cardinality(s.b) >= bf_cardinality(a.b) AND (tbf_info(s.t)).total >= (tbf_info(a.t)).total) " .
				"FROM stored s JOIN stored_as_is a USING (name) WHERE name <> 'wide'"), 't', 'functions that read it all');
		$db->sql('DROP TABLE stored; ALTER TABLE stored_as_is RENAME TO stored');
	};
}

foreach my $storage ('MAIN', 'PLAIN')
{
	subtest "small filters with STORAGE $storage" => sub {
		$db->sql(<<"SQL");
CREATE TABLE small (b bf, t tbf);
ALTER TABLE small ALTER b SET STORAGE $storage, ALTER t SET STORAGE $storage;
INSERT INTO small SELECT bf_agg(i), tbf_agg(i, '2024-05-01 UTC') FROM generate_series(1, 300) i, generate_series(1, 50) g GROUP BY g;
SQL
		is($db->sql("SELECT count(*), count(*) FILTER (WHERE b \@> i AND t \@> i AND tbf_count(t, i, '2024-05-01 UTC') BETWEEN 1 AND 1e300) FROM small, generate_series(1, 300) i"),
			'15000|15000', 'none missed');
		$db->sql('DROP TABLE small');
	};
}

subtest 'UPDATE, VACUUM FULL, ALTER TABLE keep a stored filter' => sub {
	my $digest = "SELECT md5(string_agg(concat_ws(',', name, b::text, t::text), ';' ORDER BY name)) FROM stored";
	my $before = $db->sql($digest);
	$db->sql('ALTER TABLE stored ADD note text DEFAULT now()::text; UPDATE stored SET note = note || 1; VACUUM FULL stored');
	is($db->sql($digest), $before, 'the same bytes after it');
	cmp_ok(pages('SELECT b @> 4242 ' . of('integers')), '<=', 8, 'and still few pages');
	my $size = $db->sql("SELECT pg_total_relation_size('stored')");
	$db->sql("UPDATE stored SET t = tbf_decay(t, '2024-05-01 UTC') WHERE name = 'integers'");
	is($db->sql("SELECT pg_total_relation_size('stored')"), $size, 'an UPDATE to a decay with nothing to do writes no second copy');
};

done_testing();
