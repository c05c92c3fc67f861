# The memory that a function on filters takes beside its result is free when the function returns, not only at the end
# of the row: many calls in one row take no more than few calls. The test measures the highest memory that a backend
# ever had (VmHWM of Linux), with few calls and then, in the same session, with many.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('014');
plan skip_all => 'the memory of a backend is read from /proc'
  if $db->sql("SELECT count(*) FROM pg_stat_file('/proc/self/status', true) WHERE size IS NOT NULL") ne '1';

# tbf: two filters of 5.3 million counters, each in some 5 kB; at eight bytes a counter each would take 42 MB. bf, sbf
# and abf: 9.6, 8 and 8 MB in TOAST tables.
$db->sql(<<'SQL');
CREATE TABLE counts AS SELECT tbf_add(tbf_empty(500000), 1, '2026-01-01') AS g, tbf_add(tbf_empty(500000), 2, '2026-01-01') AS h;
CREATE TABLE bits AS SELECT bf_add(bf_empty(8000000), 1) AS f;
CREATE TABLE stable AS SELECT sbf_add(sbf_empty(8000000), 1) AS f;
CREATE TABLE aged AS SELECT abf_add(abf_empty(3200000, within => '1 hour'), 1, '2026-01-01') AS f;
CREATE TABLE packed (f bf);
ALTER TABLE packed ALTER f SET STORAGE EXTENDED;
INSERT INTO packed SELECT f::bytea::bf FROM bits;
CREATE TABLE items (a bigint[]);
ALTER TABLE items ALTER a SET STORAGE EXTERNAL;
INSERT INTO items SELECT array_agg(i::bigint) FROM generate_series(1, 400000) i;
CREATE TABLE many AS SELECT i, f FROM (SELECT g + h AS f FROM counts OFFSET 0) c, generate_series(1, 30) i;
CREATE TABLE few AS SELECT tbf_empty(10000) AS f;
SQL

# The peak memory, in megabytes, of a session that runs these statements, after each of them.
sub peaks
{
	my $status = $db->sql("SET jit = off; SET max_parallel_workers_per_gather = 0;\n" . join "\n", map {
		"\\o /dev/null\n$_;\n\\o\nSELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s*(\\d+)')::bigint / 1024;"
	} @_);
	return split /\n/, $status;
}

# One test: the peak grows by at most this many megabytes with each further call.
sub grows_by_at_most
{
	my ($most, $what, $sql_of) = @_;
	my ($few, $many) = peaks(map { $sql_of->($_) } 2, 7);
	my $growth = ($many - $few) / 5;

	cmp_ok($growth, '<=', $most, "$what: a further call takes at most $most MB more");
	note("$what: $few MB with 2 calls, $many MB with 7");
}

sub calls
{
	my ($call, $from) = @_;
	return sub { my ($times) = @_; return "SELECT num_nulls(" . join(', ', ($call) x $times) . ") FROM $from" };
}

my $at = "timestamptz '2026-01-01'";

# Calls on a tbf. Their results are small: each further call may take at most 2 MB.
grows_by_at_most(2, 'tbf +', sub { my ($times) = @_; return 'SELECT (' . join(' + ', map { $_ % 2 ? 'g' : 'h' } 1 .. $times) . ') IS NULL FROM counts' });
foreach my $call ("g * 0.3::float8", "tbf_add(g, 3, $at)", "tbf_add_all(g, ARRAY[1, 2, 3], $at)", "tbf_decay(g, timestamptz '2026-01-20')",
	"tbf_remove(g, 1, $at)", 'tbf_info(g)', 'tbf_cardinality(g)', 'g = h', "tbf_inner_product(g, h, $at)", "g::bytea::tbf")
{
	grows_by_at_most(2, $call, calls($call, 'counts'));
}

# the results of some of these have 9.6 and 8 MB
foreach my $call ('bf_cardinality(f)', 'bf_info(f)', 'bf_sketch(f)', 'f = f', 'bf_fold(f)', 'bf_contains_any(f, a)', 'bf_contains_all(f, a)')
{
	grows_by_at_most(2, $call, calls($call, 'bits, items'));
}
grows_by_at_most(2, "$_ of a compressed filter", calls($_, 'packed')) foreach 'f @> 1', 'bf_cardinality(f)';
grows_by_at_most(11.6, $_, calls($_, 'bits, items')) foreach 'f | f', 'f & f', 'bf_add(f, 2)', 'bf_add_all(f, a)', 'f::bytea';
grows_by_at_most(2, $_, calls($_, 'stable, items')) foreach 'sbf_info(f)', 'f = f', 'sbf_contains_any(f, a)';
grows_by_at_most(10, $_, calls($_, 'stable, items')) foreach 'sbf_union(f, f)', 'sbf_decay(f, 10)', 'sbf_add(f, 2)', 'sbf_add_all(f, a)';

grows_by_at_most(2, $_, calls($_, 'aged, items')) foreach 'abf_info(f)', 'f = f', 'abf_contains_any(f, a)';
grows_by_at_most(10, $_, calls($_, 'aged, items')) foreach 'abf_union(f, f)', "abf_decay(f, $at + interval '10 minutes')", "abf_add(f, 2, $at)", "abf_add_all(f, a, $at)";

# Many calls in several rows, in an aggregate or in a loop take no more memory than few, either.
sub takes_as_much
{
	my ($what, $few_sql, $many_sql) = @_;
	my ($few, $many) = peaks($few_sql, $many_sql);

	cmp_ok($many - $few, '<=', 20, "$what takes as much memory for many rows as for few");
	note("$what: $few MB, $many MB");
}

takes_as_much('a function of each row', map { "SELECT count(f + f) FROM many WHERE i <= $_" } 5, 25);
takes_as_much('tbf_merge_agg', map { "SELECT tbf_merge_agg(f) IS NULL FROM many WHERE i <= $_" } 5, 30);
takes_as_much('several aggregates of one row',
	map { 'SELECT num_nulls(' . join(', ', map { "bf_union_agg(f) FILTER (WHERE i > $_)" } 1 .. 3) . ") FROM bits, generate_series(1, $_) i" } 5, 15);
takes_as_much('1,000 rows', map { "SELECT count(f + f) FROM few, generate_series(1, $_)" } 10, 1000);
takes_as_much('a loop in PL/pgSQL', map { "DO \$\$ DECLARE f tbf := tbf_empty(10000); g tbf := tbf_add(tbf_empty(10000), 1, '2026-01-01');
	BEGIN FOR i IN 1 .. $_ LOOP f := f + g; END LOOP; END \$\$" } 10, 1000);

# Items that are spread over a large filter lie in nearly all of its blocks of 4,096 cells, with few items in each
# block. Here 49,152 items lie in some 21,000 of 24,000 blocks. With eight bytes for each cell these blocks would take
# 690 MB; with packed counters they take 11 MB.
$db->sql(<<'SQL');
CREATE TABLE keys AS SELECT array_agg(i::bigint) AS a FROM generate_series(1, 49152) i;
CREATE TABLE spread AS SELECT tbf_add_all(tbf_empty(NULL), a, '2026-01-01') AS exact, tbf_empty(9500000) AS empty FROM keys;
ALTER TABLE spread ADD f tbf, ADD g tbf;
UPDATE spread SET f = exact + empty, g = tbf_add_all(empty, ARRAY(SELECT generate_series(100001, 149152)), '2026-01-02');
SQL
my ($before) = peaks('SELECT count(f) FROM spread');
foreach my $call ('exact + empty', 'f + g', "tbf_decay(f, timestamptz '2026-01-05')", 'f * 0.3::float8', "tbf_add(f, 3, $at)", "tbf_add_all(empty, a, $at)", 'tbf_merge_agg(m)')
{
	my $from = $call =~ /agg/ ? 'spread, unnest(ARRAY[f, g, f, g, exact]) m' : 'spread, keys';
	my ($peak) = peaks("SELECT ($call) IS NULL FROM $from");

	cmp_ok($peak - $before, '<=', 225, "$call: of a large filter that holds few items it takes at most 20 times the bytes of the result");
	note("$call: $peak MB, of which $before MB before");
}

# The text of 16 MB below has at most 65,536 different grams. Each is taken once. Until the repetitions are left out,
# the grams take 8 bytes for each byte of the text. If the repetitions stayed, they would take 16 bytes more.
$db->sql(<<'SQL');
CREATE TABLE long_text (t text);
ALTER TABLE long_text ALTER t SET STORAGE EXTERNAL;
INSERT INTO long_text SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500000) i;
SQL
my ($reading) = peaks(q{SELECT octet_length(t || '') FROM long_text});
my ($indexing) = peaks('CREATE INDEX ON long_text USING bf (t gram_ops)');
cmp_ok($indexing - $reading, '<=', 200, 'grams that a long text repeats take no memory');
note("an index on a text of 16 MB: $indexing MB, of which $reading MB to read it");

done_testing();
