# Operations obey a cancel within half a second, however large their filters are. Each operation here would run for
# seconds; a statement_timeout ends it soon after its beginning. On a busy machine the operands may take longer than
# they did when they were measured: an operation that had not begun when it was cancelled is asked again, with more
# time.
#
# The test measures the processor time of the backend, not the time on the clock, so it is no stricter on a busy
# machine. The bound is twice what is promised.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my @working = (0.2, 1, 5);	# seconds for which the operation runs before it is cancelled; the next if it had not begun
my $bound = 1.0;		# seconds of processor time that it may take after that

my $db = StreambloomTap->new('013');
plan skip_all => 'the processor time of a backend is read from /proc'
  if $db->sql("SELECT count(*) FROM pg_stat_file('/proc/self/stat', true) WHERE size IS NOT NULL") ne '1';

# The operands are made in the same statement and are in memory, because PostgreSQL can interrupt reading them from a
# table. An operation that is too short is repeated in an expression of many terms: between these PostgreSQL does not
# look for interrupts.
my %source = (
	bits => 'SELECT bf_add(bf_empty(20000000 + n), 1) AS f FROM generate_series(0, 0) n',
	one_item => 'SELECT bf_add(bf_empty(1000 + n), 0::bigint) AS f FROM generate_series(0, 0) n',
	stable => 'SELECT sbf_add(sbf_empty(25000000 + n, cell_bits => 1), 1) AS f FROM generate_series(0, 0) n',
	stable_one_item => 'SELECT sbf_add(sbf_empty(1000000 + n), 0::bigint) AS f FROM generate_series(0, 0) n',
	aged => q(SELECT abf_add(abf_empty(10000000 + n, within => '1 hour'), 1, '2026-01-01') AS f FROM generate_series(0, 0) n),
	weighted => q(SELECT ibf_add(ibf_empty(25000000 + n, scheme => 'value_weighted', cell_bits => 2), 1, 1) AS f FROM generate_series(0, 0) n),
	half => q(SELECT tbf_add(tbf_empty(2000000 + n), 1, '2026-01-01') AS h FROM generate_series(0, 0) n),
	flat => q(SELECT tbf_layout(tbf_add(tbf_empty(2000000 + n), 1, '2026-01-01'), 'flat') AS f FROM generate_series(0, 0) n),
	whole => 'SELECT tbf_empty(2000000 + n, half_life => NULL, recurring_minimum => true) AS f FROM generate_series(0, 0) n',
	dense => 'SELECT f::bytea::tbf AS f FROM dense',
	items => 'SELECT a[1:] AS a FROM items',
	importances => 'SELECT x[1:] AS x FROM items',
	numbers => 'SELECT a[1:] AS a FROM numbers',
	item_rows => 'SELECT generate_series(1, 6000000)::bigint AS i FROM generate_series(0, 0)',
);

$db->sql(<<'SQL');
CREATE UNLOGGED TABLE dense AS SELECT tbf_agg(i, timestamptz '2026-01-01', interval '7 days', 1, 1000000, 0.01) AS f FROM generate_series(1, 800000) i;
-- not compressed, because they are read for each operation
CREATE UNLOGGED TABLE items (a bigint[], x float8[]);
CREATE UNLOGGED TABLE numbers (a numeric[]);
ALTER TABLE items ALTER a SET STORAGE external, ALTER x SET STORAGE external;
ALTER TABLE numbers ALTER a SET STORAGE external;
INSERT INTO items SELECT array_agg(i::bigint), array_agg(1::float8) FROM generate_series(1, 1000000) i;
INSERT INTO numbers SELECT array_agg(i::numeric) FROM generate_series(1, 1000000) i;
SQL

# A condition that contains the expression `count` times, and is true if it is never NULL.
sub repeated
{
	my ($count, $expression) = @_;
	return join ' AND ', ("($expression) IS NOT NULL") x $count;
}

my $at = "timestamptz '2026-01-01'";
my $marked = "CASE WHEN i = 100000 THEN i + 0 * setval('begun', :number) ELSE i END";	# for aggregates
my @operations = (
	[ 'bf_union', repeated(96, 'f | f'), 'bits' ],
	[ 'bf_intersection', repeated(96, 'f & f'), 'bits' ],
	[ 'bf =', repeated(480, 'f = f'), 'bits' ],
	[ 'bf as text', repeated(32, 'bf_out(f)'), 'bits' ],
	[ 'bf from text', repeated(20, 'bf_in(bf_out(f))'), 'bits' ],
	[ 'bf as bytea', repeated(120, 'f::bytea'), 'bits' ],
	[ 'bf from bytea', repeated(96, 'f::bytea::bf'), 'bits' ],
	[ 'bf_add', repeated(96, 'bf_add(f, 2)'), 'bits' ],
	[ 'bf_add_all', repeated(72, 'bf_add_all(f, a)'), 'bits', 'items' ],
	[ 'bf_add_all, numeric', repeated(72, 'bf_add_all(bf_empty(1000), a)'), 'numbers' ],
	[ 'bf_contains_any', repeated(300, 'bf_contains_any(f, a)'), 'one_item', 'items' ],
	[ 'bf_fold', repeated(960, 'bf_fold(f)'), 'bits' ],
	[ 'bf_cardinality', repeated(960, 'bf_cardinality(f)'), 'bits' ],
	[ 'bf_info', repeated(480, 'bf_info(f)'), 'bits' ],
	[ 'bf_histogram', repeated(480, 'bf_sketch(f)'), 'bits' ],

	[ 'tbf +', repeated(24, 'f + f'), 'dense' ],
	[ 'tbf + of another size', repeated(20, 'f + h'), 'dense', 'half' ],
	[ 'tbf *', repeated(24, 'f * 0.3::float8'), 'dense' ],
	[ 'tbf_add', repeated(24, "tbf_add(f, 3, $at)"), 'dense' ],
	[ 'tbf_add_all', repeated(15, "tbf_add_all(f, a, $at)"), 'dense', 'items' ],
	[ 'tbf_add_all, recurring minimum', repeated(12, "tbf_add_all(f, a, $at)"), 'whole', 'items' ],
	[ 'tbf_remove', repeated(160, "tbf_remove(f, 1, $at)"), 'flat' ],
	[ 'tbf_layout', repeated(240, "tbf_layout(f, 'extensible')"), 'flat' ],
	[ 'tbf_decay', repeated(160, "tbf_decay(f, timestamptz '2026-02-01')"), 'flat' ],
	[ 'tbf_decay, extensible', repeated(60, "tbf_decay(f, timestamptz '2026-01-20')"), 'dense' ],
	[ 'tbf from bytea', repeated(30, 'f::bytea::tbf'), 'dense' ],
	[ 'tbf_info', repeated(96, 'tbf_info(f)::text'), 'flat' ],
	[ 'tbf_inner_product', repeated(160, "tbf_inner_product(f, f, $at)"), 'flat' ],

	[ 'sbf_union', repeated(160, 'sbf_union(f, f)'), 'stable' ],
	[ 'sbf_decay', repeated(1, 'sbf_decay(f, 3000000000)'), 'stable' ],
	[ 'ibf_decay', repeated(1, 'ibf_decay(f, 1000000000)'), 'weighted' ],
	[ 'sbf_add_all', repeated(30, 'sbf_add_all(f, a)'), 'stable', 'items' ],
	[ 'sbf_check_add', repeated(72, 'sbf_check_add(sbf_empty(1000000), a)'), 'items' ],
	[ 'ibf_add_all', repeated(12, 'ibf_add_all(f, a, x)'), 'weighted', 'items', 'importances' ],
	[ 'sbf_contains_any', repeated(180, 'sbf_contains_any(f, a)'), 'stable_one_item', 'items' ],
	[ 'sbf_info', repeated(32, 'sbf_info(f)'), 'stable' ],
	[ 'sbf from bytea', repeated(120, 'f::bytea::sbf'), 'stable' ],

	[ 'abf_union', repeated(160, 'abf_union(f, f)'), 'aged' ],
	[ 'abf_add, moving on', repeated(160, "abf_add(f, 2, timestamptz '2026-01-01 00:50')"), 'aged' ],
	[ 'abf_decay', repeated(160, "abf_decay(f, timestamptz '2026-01-02')"), 'aged' ],
	[ 'abf_check_add', repeated(36, 'abf_check_add(abf_empty(1000000), a)'), 'items' ],
	[ 'abf_info', repeated(160, 'abf_info(f)::text'), 'aged' ],
	[ 'abf from bytea', repeated(120, 'f::bytea::abf'), 'aged' ],

	[ 'bf_agg', "bf_agg($marked, 300000000) IS NOT NULL", 'item_rows' ],
	[ 'tbf_agg', "tbf_agg($marked, $at) IS NOT NULL", 'item_rows' ],
);

# The user and system time of this backend in seconds, and the time on the clock.
my $times = <<'SQL';
SELECT (field[12]::bigint + field[13]::bigint) / 100.0 AS processor, extract(epoch FROM clock_timestamp()) AS clock
FROM string_to_array(substring(pg_read_file('/proc/self/stat') FROM '\) (.*)'), ' ') AS field \gset
SQL

# Before an operation, its operands alone are made: the time that this takes tells when the operation will begin. It is
# measured once for all operations that have the same operands. The sequence "begun" is set to the number of the
# operation as soon as the operands are there; a cancel does not undo this. An aggregate sets it when it gets its row
# 100,000, and is cancelled some time after half of the time that its 6,000,000 rows alone take.
my %is_measured;
sub session
{
	my ($working, $number, $name, $condition, @sources) = @_;
	my $from = join ', ', map { "($source{$_} OFFSET 0) $_" } @sources;
	my $columns = join ', ', map { "count($_." . ($source{$_} =~ /AS (\w) FROM/)[0] . ')' } @sources;
	my $alone = 'alone_' . join '_', @sources;
	my $measure = $is_measured{$alone}++ ? '' : "$times
		SELECT $columns FROM $from \\g /dev/null
		\\set before :clock\n$times
		SELECT :clock - :before AS $alone \\gset\n";
	my $is_aggregate = $condition =~ /_agg\(/;

	return "\\echo operation\n$measure$times
		SELECT round(1000 * (:$alone" . ($is_aggregate ? ' / 2' : '') . " + $working)) AS timeout, :processor AS processor_before \\gset
		\\set number $number
		SELECT setval('begun', 9999) \\g /dev/null
		SET statement_timeout = :timeout;
		SELECT " . ($is_aggregate ? $condition : "setval('begun', :number) IS NOT NULL AND $condition") . " FROM $from;
		\\set state :SQLSTATE
		RESET statement_timeout;
		$times
		SELECT :'state', :processor - :processor_before, :timeout / 1000.0, last_value = :number FROM begun;";
}

$db->sql('CREATE SEQUENCE begun');
my (%answer, $err);
foreach my $working (@working)
{
	my @left = grep { ($answer{$_}[3] // '') ne 't' } 0 .. $#operations;
	last if !@left;
	%is_measured = ();
	(my $code, my $out, $err) = StreambloomTap::psql($db->name,
		"\\set ON_ERROR_STOP off\nSET jit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = '1GB';\n" .
		  join("\n", map { session($working, $_ + 1, @{$operations[$_]}) } @left));
	my @answers = split /^operation\n/m, $out;
	shift @answers;
	is(scalar @answers, scalar @left, 'all were asked') or diag($err);
	$answer{$left[$_]} = [split /\|/, (split /\n/, $answers[$_] // '')[-1] // ''] foreach 0 .. $#left;
}
foreach my $i (0 .. $#operations)
{
	my ($name) = @{ $operations[$i] };
	my ($state, $taken, $timeout, $has_begun) = @{ $answer{$i} };

	is($has_begun, 't', "$name: it had begun");
	is($state, '57014', "$name: cancelled") or diag($err);
	cmp_ok($taken, '<', $timeout + $bound, "$name: in time");
	note(sprintf('%s: %.2f s, cancelled after %.2f s', $name, $taken, $timeout));
}

# A PL/pgSQL variable that is changed in place (from PostgreSQL 18 on) survives the cancel: it is a valid filter, and
# still has the item -7, which was added before.
foreach my $filter ("bf 'bf_empty(3000000)' 'bf_add_all(f, items)' 'bf_contains(f, -7::bigint)'",
	"tbf 'tbf_empty(1000000)' 'tbf_add_all(f, items, timestamptz ''2026-01-01'')' 'tbf_count(f, -7::bigint, timestamptz ''2026-01-01'') >= 1'",
	"tbf 'tbf_empty(1000000, half_life => NULL, recurring_minimum => true)' 'tbf_add_all(f, items)' 'tbf_count(f, -7::bigint) >= 1'")
{
	my ($type, $empty, $add, $holds) = $filter =~ /^(\w+) '(.*?)' '(.*)' '(.*)'$/;
	s/''/'/g foreach $add, $holds;
	(my $first = $add) =~ s/items/ARRAY[-7::bigint]/;
	my $result = $db->sql(<<"SQL");
SET statement_timeout = '700ms';
DO \$\$
DECLARE
	f $type := $empty;
	items bigint[] := (SELECT a FROM items);
	number int := 0;
BEGIN
	f := $first;
	BEGIN
		LOOP
			f := $add;
			items := (SELECT array_agg(i + 1000000) FROM unnest(items) i);
		END LOOP;
	EXCEPTION WHEN query_canceled THEN
		NULL;
	END;
	RESET statement_timeout;
	PERFORM set_config('test.result', format('%s %s', f::bytea::$type IS NOT NULL, $holds), false);
END \$\$;
RESET statement_timeout;
SELECT current_setting('test.result');
SQL
	is($result, 't t', "a variable after a cancelled $add");
}

done_testing();
