# Calls::Arguments: for each type of argument a list of SQL expressions that are worth trying: NULL, empty, extreme,
# infinite, huge and hostile values. The test fails if a function of the catalogue takes a type that has no list here.
#
# An expression has its type, needs no FROM, and, but for a few, returns the same value each time. The first expression
# of a list is an ordinary value: every function has to succeed with the first of each list, or with its arguments in
# %ordinary. Heavy expressions take a large part of a second or much memory, and are used seldom.
#
# Some types stand for many ("any"). Their lists consist of groups, each of one type, because a column of rows has one
# type.
package Calls::Arguments;

use strict;
use warnings;

use Attack;

my @day_lengths = ('1 day', '0', '1 microsecond', '-1 microsecond', '-1 day', '1 month', '1 month -30 days', '7 days', '1 hour', '100 years',
	'178000000 years', '-178000000 years', '2147483647 days', '-2147483648 days', '2147483647 days 2562047788:00:54.775807', '13000000 days',
	'1 day -24:00:00.000001', '-1 month 31 days');
my @floats = ('0.01', '1', '0', '-1', '-0.0', '0.5', '2', '3', '7', '64', '1000', '1e6', '1e9', '12700000', '4294967296', '9007199254740993', '9223372036854775808',
	'1e-320', '5e-324', '2.2250738585072014e-308', '1e-300', '1e-100', '1e-20', '1e-9', '0.1', '0.9', '0.9999999999999999', '1.0000000000000002', '1e20', '1e30', '1e100',
	'1e300', '1.7976931348623157e308', '-1e-320', '-1e30', '-1.7976931348623157e308', 'NaN', 'Infinity', '-Infinity');
my @integers = (3, 0, 1, -1, 2, 4, 5, 7, 8, 9, 15, 16, 17, 32, 63, 64, 65, 100, 255, 256, 1000, 10000, 32767, 65536, 1000000, 2147483647, -2147483648, 2147483646);
my @bigints = (100, 0, 1, -1, 2, 3, 7, 63, 64, 65, 255, 1000, 262144, 2147483647, 2147483648, -2147483649, 4294967295, 4294967296,
	1000000000000, '9007199254740993', '9223372036854775807', '-9223372036854775808', '4611686018427387904', 511999873);
my @times = ('2024-05-01 UTC', '-infinity', 'infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2000-01-01 UTC', '1970-01-01 UTC',
	'1999-12-31 23:59:59.999999 UTC', '2024-05-01 00:00:00.000001 UTC', '2024-05-02 UTC', '2024-06-01 UTC', '1900-01-01 UTC', '2100-01-01 UTC', '10000-01-01 UTC', '0001-01-01 UTC');
my @texts = ('flat', 'extensible', 'multi_class', 'two_class', 'value_weighted', '', ' ', 'FLAT', 'x', "x''y", '\\\\x', '%s%n', 'é', '😀', 'flat ');

# Numbers that make loops long and sums overflow, although checks may let them pass. All pairs of them are among the
# first calls of a function.
my %worst = (
	'double precision' => ['1e-320', '1e-20', '0.9999999999999999', '1e30', '1.7976931348623157e308', 'NaN', 'Infinity'],
	integer => [1, 0, 2147483647, -2147483648],
	bigint => [1, '9223372036854775807', '-9223372036854775808', 511999873],
	interval => ['1 microsecond', '178000000 years', '-178000000 years', '2147483647 days 2562047788:00:54.775807'],
	'double precision[]' => ['{}', '{NaN}', '{1e-320,1e308}'],
	'interval[]' => ['{}', '{178000000 years,-178000000 years}'],
);

# Values of each type of filter, with items of several kinds, in several sizes and layouts. Mutants are made of the
# bytes of the short ones.
my %filters = (
	bf => [
		'bf_add_all(bf_empty(100), ARRAY[1, 2, 3]::bigint[])', 'bf_empty(1)', 'bf_empty(20, 0.5)', 'bf_empty(60, 1e-6)',
		"bf_add_all(bf_empty(20), ARRAY['a', 'b']::text[])", 'bf_add_all(bf_empty(20), ARRAY[1, 2.5]::numeric[])',
		"bf_add(bf_empty(5), (1, 'x')::attack.pair)", 'bf_add_all(bf_empty(10, 0.1), array_fill(7, ARRAY[30]))',
		"bf_add_all(bf_empty(40), string_to_array('1,2,3,4,5,6,7,8,9,10,11,12,13', ',')::bigint[])", 'bf_add_all(bf_empty(90) | bf_empty(200), ARRAY[9]::bigint[])',
		"bf_add(bf_empty(1), '1.1.1.1'::inet)", 'bf_add(bf_empty(3), 1::float8)', 'bf_fold(bf_add(bf_empty(300), 5::bigint), 0.5)', 'bf_empty()', 'bf_empty(1000000)'],
	tbf => [
		"tbf_add(tbf_empty(100), 7::bigint, '2024-05-01 UTC')", 'tbf_empty(1)', 'tbf_empty(3, 0.5, NULL)', 'tbf_empty(10, 0.1)',
		"tbf_add_all(tbf_empty(10, 0.1), ARRAY['a', 'b']::text[], '2024-05-01 UTC', 3)", "tbf_add(tbf_empty(5, 0.1, half_life => NULL), 7::bigint, '2024-05-01 UTC', 1)",
		"tbf_add(tbf_empty(10, 0.1, layout => 'flat'), 7::bigint, '2024-05-02 UTC', 1e9)", "tbf_add(tbf_empty(4, 0.3, '1 microsecond'), 7::bigint, '2024-05-01 UTC')",
		"tbf_add(tbf_empty(4, 0.3, '13000000 days'), 7::bigint, '1900-01-01 UTC')", "tbf_add(tbf_empty(9, 0.3, minimum_increase => true, top => 4), 7::bigint, '2024-05-01 UTC', 0.3)",
		"tbf_add_all(tbf_empty(9, 0.3, NULL, recurring_minimum => true), ARRAY[1, 2, 3, 7]::bigint[], '2024-05-01 UTC', 2)",
		"tbf_add_all(tbf_empty(9, 0.3, NULL, layout => 'flat', recurring_minimum => true), ARRAY[1, 2, 7]::bigint[], '2024-05-01 UTC', 0.25)",
		"tbf_add(tbf_empty(20, 0.1, top => 20), 'x'::text, '2024-05-01 UTC', 5)", "tbf_decay(tbf_add(tbf_empty(20), 7::bigint, '2024-05-01 UTC', 1e6), '2024-06-01 UTC')",
		"tbf_add(tbf_empty(20, 0.1, '7 days', '1 day'), 7::bigint, '2024-05-01 UTC')",
		'tbf_empty(20, top => 10000)', 'tbf_empty()', "tbf_add(tbf_empty(200000), 7::bigint, '2024-05-01 UTC')", "tbf_empty(100000, layout => 'flat')"],
	sbf => [
		'sbf_add_all(sbf_empty(200, 0.1), ARRAY[1, 2, 3]::bigint[])', 'sbf_empty(64)', 'sbf_empty(100, 0.5, 3, 8, 2, -1)', 'sbf_decay(sbf_empty(70, 0.1, cell_bits => 1), 9)',
		"sbf_add(sbf_empty(90, 0.3), 'x'::text)", "sbf_add(sbf_empty(64, 0.3), (1, 'x')::attack.pair)", 'sbf_add(sbf_empty(64, evictions => 0, cell_bits => 5), 7::bigint)',
		'sbf_add(sbf_empty(64, 0.1, hashes => 16, evictions => 1), 7::bigint) | sbf_add(sbf_empty(64, 0.1, hashes => 16, evictions => 1), 8::bigint)',
		'sbf_empty()', 'sbf_empty(100000, cell_bits => 8)'],
	abf => [
		'abf_add_all(abf_empty(100, 0.1), ARRAY[1, 2, 3]::bigint[])', 'abf_empty(1)', 'abf_empty(20, 0.5)', "abf_empty(60, 1e-6, '1 hour')",
		"abf_add_all(abf_empty(20, 0.2), ARRAY['a', 'b']::text[])", "abf_add(abf_empty(20, 0.3, '1 hour'), 7::bigint, '2024-05-01 UTC')",
		"abf_add(abf_add(abf_empty(20, 0.3, '10 minutes', 3, 5), 7::bigint, '2024-05-01 UTC'), 8::bigint, '2024-05-01 00:03 UTC')",
		"abf_add(abf_empty(9, 0.3, '1 microsecond'), 7::bigint, '1900-01-01 UTC')", "abf_add(abf_empty(9, 0.3, '13000000 days'), 'x'::text, '2024-05-01 UTC')",
		"abf_decay(abf_add(abf_empty(9, 0.3, '1 hour'), 7::bigint, '2024-05-01 UTC'), '2024-06-01 UTC')", "abf_add(abf_empty(5, 0.5), (1, 'x')::attack.pair)",
		'abf_empty()', "abf_empty(within => '7 days')", 'abf_add(abf_empty(100000), 7::bigint)'],
	ibf => [
		'ibf_add_all(ibf_empty(200, 0.1), ARRAY[1, 2, 3]::bigint[], ARRAY[0.1, 0.5, 1]::float8[])', 'ibf_empty(64)', "ibf_empty(100, 0.5, 'two_class', -1e9, 1e9, NULL, 3, 8, 2, -1)",
		"ibf_empty(64, 0.1, 'value_weighted', evictions => 3)", "ibf_add(ibf_empty(128, 0.3, 'two_class', threshold => 0.5), 'x'::text, 0.7)",
		"ibf_add(ibf_empty(100, 0.3, 'value_weighted', 1, 20, cell_bits => 4, evictions => 2), 7::bigint, 3)",
		"ibf_empty(64, 0.3, 'multi_class', -8e307, 8e307)", "ibf_empty(64, 0.3, 'value_weighted', 1e-320, 2e-320)",
		'ibf_decay(ibf_add(ibf_empty(100, 0.4), 7::bigint, 0.5), 20)', 'ibf_empty()', 'ibf_empty(100000, cell_bits => 8)'],
);

# Relations, columns and values for the functions that read chunks.
my @chunks = (['NULL::attack.log', "'word'", "'word 7'::text", "'attack.log_summaries'", "'words'"], ['NULL::attack.log', "'flag'", 'true', 'NULL', 'NULL'],
	['NULL::attack.log', "'id'", '7::bigint', "'attack.log_summaries'", "'ids'"], ['NULL::attack.log', "'at'", "timestamptz '2024-01-01 UTC'", 'NULL', 'NULL'],
	['NULL::attack.plain', "'number'", '7::numeric', 'NULL', 'NULL'], ['NULL::attack.plain', "'mood'", "'low'::attack.mood", 'NULL', 'NULL'],
	['NULL::attack.plain', "'many'", 'ARRAY[7, NULL]', 'NULL', 'NULL'], ['NULL::attack.parent', "'id'", '7::bigint', 'NULL', 'NULL'], ['NULL::attack.toasted', "'word'", "'x'::text", 'NULL', 'NULL'],
	['NULL::attack.log', "'id'", '7', 'NULL', 'NULL'], ['NULL::attack.plain', "'many'", 'ARRAY[7, NULL]', 'NULL', 'NULL', "'@>'"],
	['NULL::attack.log', "'word'", "'%7%'::text", 'NULL', 'NULL', "'pg_catalog.~~'"]);
my @untyped_chunks = (['NULL::attack.log', "'word'", "'word 7'::bf_untyped_item", "'attack.log_summaries'", "'words'"], ['NULL::attack.log', "'id'", "'7'::bf_untyped_item", "'attack.log_summaries'", "'ids'"],
	['NULL::attack.plain', "'number'", "'7'::bf_untyped_item", 'NULL', 'NULL']);
# The last argument is the operator: = unless the list has another one.
push @$_, "'='" foreach grep { @$_ == 5 } @chunks, @untyped_chunks;

# Filters of texts. They hold 'x'.
my %of_texts = (
	bf => "bf_add(bf_empty(20), 'x'::text)", tbf => "tbf_add(tbf_empty(20), 'x'::text, '2024-05-01 UTC')",
	abf => "abf_add(abf_empty(90), 'x'::text)", sbf => "sbf_add(sbf_empty(90), 'x'::text)", ibf => "ibf_add(ibf_empty(90), 'x'::text, 0.5)",
);

# The functions of roll-ups, each with arguments that lead to an answer or to a step of a refresh.
my ($heat, $asked_at) = ("'attack.heat'", "'2024-05-01 UTC'");
my @span = ("'2024-04-30 UTC'", "'2024-05-01 UTC'");
my @nothing_new = ("'-infinity'", "'-infinity'");
my %of_rollups = (
	'_tbf_rollup_check(text[],interval[],interval,integer,text,interval)' => ["'{hour,day}'", "'{1 day,NULL}'", "'1 hour'", '10', "'UTC'", 'NULL'],
	'_tbf_rollup_definition(regclass,boolean,boolean,boolean)' => [$heat, 'false', 'false', 'true'],
	'_tbf_rollup_no_row_security(regclass)' => ["'attack.hits'"],
	'_tbf_rollup_before(timestamp with time zone,interval)' => [$asked_at, "'2 hours'"],
	'_tbf_rollup_bucket_start(timestamp with time zone,text,text)' => [$asked_at, "'day'", "'Europe/Berlin'"],
	'_tbf_rollup_item_of(regclass,text)' => [$heat, "'page 1'"],
	'_tbf_rollup_unknown(regclass)' => ["'attack.hits'"],
	'_tbf_rollup_volatile(text)' => ["'SELECT random()'"],
	'tbf_rollup_compare(regclass,timestamp with time zone,timestamp with time zone)' => [$heat, @span],
	'_tbf_rollup_types(regclass,name[])' => ["'attack.hits'", "'{at}'"],
	'_tbf_rollup_bucket_end(timestamp with time zone,text,text)' => [$asked_at, "'day'", "'Europe/Berlin'"],
	'tbf_rollup_create(text,regclass,text,name,text,text,name[],text[],interval[],interval,integer,text,interval)' =>
		["'attack.made_' || translate(gen_random_uuid()::text, '-', '')", "'attack.hits'", "'url'", "'at'", 'NULL', 'NULL', "'{}'", "'{day}'", "'{NULL}'", "'1 hour'", '10', "'UTC'", "'1 day'"],
	'_tbf_rollup_make(name,text,regclass,text,name,text,text,name[],text[],interval[],interval,integer,text,interval)' =>
		["'attack'", "quote_ident('made_' || gen_random_uuid())", "'attack.hits'", "'url'", "'at'", 'NULL', 'NULL', "'{}'", "'{day}'", "'{NULL}'", "'1 hour'", '10', "'UTC'", "'1 day'"],
	'tbf_rollup_drop(regclass)' => ["'attack.lost_heat'"],
	'_tbf_rollup_step(regclass,timestamp with time zone,timestamp with time zone,timestamp with time zone)' => [$heat, @nothing_new, "'-infinity'"],
	(map { ("_tbf_rollup_${_}_agg(anyelement,tid,\"any\",timestamp with time zone,double precision,integer,anyarray,timestamp with time zone,integer)" =>
		['NULL::attack.heat', "'(0,1)'", "'page 1'::text", $asked_at, '1', '1', "ARRAY(SELECT h FROM attack.heat h LIMIT 1)", 'NULL', '10']) } 'made', 'change'),
	'_tbf_rollup_pieces(regclass,timestamp with time zone)' => [$heat, "'-infinity'"],
	'_tbf_rollup_fold(regclass,text,boolean,integer,timestamp with time zone,timestamp with time zone)' => [$heat, "'false'", 'true', '2', @nothing_new],
	'_tbf_rollup_hit(regclass,timestamp with time zone,timestamp with time zone,boolean)' => [$heat, @span, 'true'],
	'_tbf_rollup_range(regclass,timestamp with time zone,timestamp with time zone,integer,boolean)' => [$heat, @span, '3', 'true'],
	'_tbf_rollup_query(regclass,timestamp with time zone,timestamp with time zone,timestamp with time zone)' => [$heat, @nothing_new, "'-infinity'"],
	'_tbf_rollup_work(regclass,timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone,integer)' => [$heat, ('NULL') x 5],
	'tbf_rollup_refresh(regclass,timestamp with time zone,timestamp with time zone)' => [$heat, 'NULL', 'NULL'],
	'_tbf_rollup_weights(text,regclass,timestamp with time zone,text,timestamp with time zone,timestamp with time zone,jsonb)' => ["'public'", $heat, $asked_at, 'NULL', 'NULL', 'NULL', "'{}'"],
	'_tbf_rollup_hottest(text,regclass,integer,timestamp with time zone,text,timestamp with time zone,timestamp with time zone,jsonb,boolean,boolean)' =>
		["'public'", $heat, '3', $asked_at, 'NULL', 'NULL', 'NULL', "'{}'", 'true', 'true'],
	'tbf_rollup_top(regclass,integer,timestamp with time zone,text,jsonb,boolean)' => [$heat, '3', $asked_at, "'decay_window(age, ''1 day'')'", "'{}'", 'true'],
	'tbf_rollup_top_by_group(regclass,integer,timestamp with time zone,text,boolean)' => [$heat, '3', $asked_at, 'NULL', 'true'],
	'tbf_rollup_top_between(regclass,timestamp with time zone,timestamp with time zone,integer,jsonb,boolean)' => [$heat, @span, '3', "'{}'", 'true'],
	'_tbf_rollup_counted(text,regclass,text,timestamp with time zone,text,timestamp with time zone,timestamp with time zone,jsonb)' => ["'public'", $heat, "'page 1'", $asked_at, 'NULL', 'NULL', 'NULL', "'{}'"],
	'tbf_rollup_count(regclass,anycompatible,timestamp with time zone,text,jsonb)' => [$heat, "'page 1'::varchar", $asked_at, 'NULL', "'{}'"],
	'tbf_rollup_count_between(regclass,anycompatible,timestamp with time zone,timestamp with time zone,jsonb)' => [$heat, "'page 1'::varchar", @span, "'{}'"],
	'_tbf_rollup_merged(text,regclass,timestamp with time zone,text,timestamp with time zone,timestamp with time zone,jsonb,boolean)' =>
		["'public'", $heat, $asked_at, 'NULL', 'NULL', 'NULL', "'{}'", 'true'],
	'tbf_rollup_filter(regclass,timestamp with time zone,text,jsonb)' => [$heat, $asked_at, 'NULL', "'{}'"],
	'tbf_rollup_filter_between(regclass,timestamp with time zone,timestamp with time zone,jsonb)' => [$heat, @span, "'{}'"],
	'tbf_rollup_distinct(regclass,timestamp with time zone,timestamp with time zone,jsonb)' => [$heat, 'NULL', 'NULL', "'{}'"],
	'_tbf_rollup_rising(text,regclass,integer,timestamp with time zone,interval,interval,double precision,jsonb)' => ["'public'", $heat, '3', $asked_at, "'1 day'", "'7 days'", '1', "'{}'"],
	'tbf_rollup_risers(regclass,integer,timestamp with time zone,interval,interval,double precision,jsonb)' => [$heat, '3', $asked_at, "'1 day'", "'7 days'", '1', "'{}'"],
);

# An abf with a window of time takes items with times, other abf take items without.
my $time = "'2024-05-01 UTC'";
my $zoned = 'timestamp with time zone';
my ($timed, $timed_texts) = ("abf_add(abf_empty(20, 0.3, '1 hour'), 7::bigint, '2024-05-01 UTC')", "abf_add(abf_empty(20, 0.3, '1 hour'), 'x'::text, '2024-05-01 UTC')");
my %of_timed_abf = (
	(map { ("${_}(abf,\"any\",$zoned,$zoned)" => [$timed, '7::bigint', $time, 'NULL'], "${_}(abf,bf_untyped_item,$zoned,$zoned)" => [$timed_texts, "'x'::bf_untyped_item", $time, 'NULL']) } 'abf_add'),
	(map { ("${_}(abf,anyarray,$zoned,$zoned)" => [$timed, "'{1,2,3}'::bigint[]", $time, 'NULL'], "${_}(abf,bf_untyped_item,$zoned,$zoned)" => [$timed_texts, "'{x,y}'::bf_untyped_item", $time, 'NULL']) } 'abf_add_all', 'abf_check_add'),
	(map { ("${_}(abf,anyarray,${zoned}[],$zoned)" => [$timed, "'{1,2}'::bigint[]", "'{2024-05-01 UTC,2024-05-02 UTC}'::timestamptz[]", 'NULL'],
		"${_}(abf,bf_untyped_item,${zoned}[],$zoned)" => [$timed_texts, "'{x,y}'::bf_untyped_item", "'{2024-05-01 UTC,2024-05-02 UTC}'::timestamptz[]", 'NULL']) } 'abf_add_each', 'abf_check_add_each'),
	"abf_contains(abf,anyelement,$zoned)" => [$timed, '7::bigint', $time], "abf_contains(abf,bf_untyped_item,$zoned)" => [$timed_texts, "'x'::bf_untyped_item", $time],
	(map { ("${_}(abf,anyarray,$zoned)" => [$timed, "'{1,2,3}'::bigint[]", $time], "${_}(abf,bf_untyped_item,$zoned)" => [$timed_texts, "'{x,y}'::bf_untyped_item", $time]) } 'abf_contains_any', 'abf_contains_all'),
	"abf_decay(abf,$zoned)" => [$timed, $time], 'abf_union(abf,abf)' => [$timed, $timed], 'operator | (abf, abf)' => [$timed, $timed], 'abf_union_agg(abf)' => [$timed],
	'abf_agg_like("any",abf)' => ['7::bigint', 'abf_empty(20)'], "abf_agg_like(\"any\",$zoned,abf)" => ['7::bigint', $time, "abf_empty(20, within => '1 hour')"],
	"abf_agg_like(\"any\",$zoned,abf,$zoned)" => ['7::bigint', $time, "abf_empty(20, within => '1 hour')", 'NULL'],
	"abf_duplicate(\"any\",$zoned,abf)" => ['7::bigint', $time, $timed], "abf_duplicate(\"any\",$zoned,abf,$zoned)" => ['7::bigint', $time, $timed, 'NULL'],
	"abf_duplicate(\"any\",$zoned,interval,bigint)" => ['7::bigint', $time, "interval '1 hour'", '100'],
	"abf_agg(\"any\",$zoned,interval,bigint,double precision)" => ['7::bigint', $time, "interval '1 hour'", '100', '0.01'],
	"abf_agg(\"any\",$zoned,interval,bigint,double precision,$zoned)" => ['7::bigint', $time, "interval '1 hour'", '100', '0.01', 'NULL'],
);

# Arguments with which a function must succeed, if the first values of its types' lists do not make sense together.
my %ordinary = (
	'bf_empty(bigint,double precision)' => ['100', '0.01'],
	'bloom_optimal_hashes(double precision,double precision)' => ['1000', '100'],
	'tbf_empty(bigint,double precision,interval,interval,text,boolean,boolean,integer)' => ['100', '0.01', "'7 days'", "'1 day'", "'extensible'", 'false', 'false', '3'],
	'_bf_add_text(bf,bf_text_item)' => ["bf_add(bf_empty(20), 'a'::text)", "'x'"],
	'operator || (bf, bf_text_item)' => ["bf_add(bf_empty(20), 'a'::text)", "'x'::bf_text_item"],
	# These functions refuse all arguments but NULL.
	(map { my $type = $_; map { ("_${type}_add_operator($type,$_->[0])" => ["${type}_empty()", $_->[1]], "operator || ($type, $_->[0])" => ["${type}_empty()", $_->[1]]) }
		['"any"', 'NULL::bigint'], ['bf_text_item', 'NULL::bf_text_item'] } 'tbf', 'ibf'),
	%of_timed_abf,
	'abf_empty(bigint,double precision,interval,integer,integer)' => ['1000', '0.01', "'1 hour'", '3', '5'],
	'_abf_add_operator(abf,bf_text_item)' => ["abf_add(abf_empty(90), 'a'::text)", "'x'"],
	'operator || (abf, bf_text_item)' => ["abf_add(abf_empty(90), 'a'::text)", "'x'::bf_text_item"],
	'abf_false_positive_rate(integer,integer,double precision)' => ['3', '5', '0.5'],
	'abf_bytes(bigint,double precision,integer,integer)' => ['1000', '0.01', '3', '5'],
	'abf_window(bigint,double precision)' => ['10000', '0.01'],
	'_sbf_add_text(sbf,bf_text_item)' => ["sbf_add(sbf_empty(90), 'a'::text)", "'x'"],
	'operator || (sbf, bf_text_item)' => ["sbf_add(sbf_empty(90), 'a'::text)", "'x'::bf_text_item"],
	'ibf_agg("any",double precision,double precision,double precision)' => ['7::bigint', '0.5', '0', '1'],
	'ibf_agg("any",double precision,double precision,double precision,bigint,double precision)' => ['7::bigint', '0.5', '0', '1', '1000', '0.01'],
	'ibf_agg_like("any",double precision,ibf)' => ['7::bigint', '0.5', 'ibf_empty(64)'],
	'sbf_agg_like("any",sbf)' => ['7::bigint', 'sbf_empty(64)'],
	'ibf_agg_like("any",double precision,ibf_parameters)' => ['7::bigint', '0.5', 'ibf_parameters(1000, 0.1)'],
	'sbf_agg_like("any",sbf_parameters)' => ['7::bigint', 'sbf_parameters(1000, 0.1)'],
	'tbf_agg_like("any",timestamp with time zone,tbf)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty(10)'],
	'tbf_agg_like("any",timestamp with time zone,tbf,double precision)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty(10)', '1'],
	'tbf_agg_like("any",timestamp with time zone,tbf,double precision,timestamp with time zone)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty(10)', '1', 'NULL'],
	'bf_contained("any",bf)' => ['7::bigint', 'bf_empty()'],
	'decay_exponential(interval,interval)' => ["interval '1 day'", "interval '7 days'"],
	'decay_polyexponential(interval,integer,interval,interval)' => ["interval '1 day'", '2', "interval '7 days'", "interval '1 day'"],
	'decay_polygonal(interval,interval[],double precision[])' => ["interval '1 day'", "'{0,1 day,2 days}'::interval[]", "'{1,0.5,0}'::float8[]"],
	'sbf_empty(bigint,double precision,integer,integer,integer,bigint)' => ['1000', '0.01', '3', '3', '10', '5'],
	'ibf_empty(bigint,double precision,text,double precision,double precision,double precision,integer,integer,integer,bigint)' =>
		['1000', '0.01', "'two_class'", '0', '1', '0.5', '3', '3', '10', '5'],
	'sbf_stable_point(double precision,integer,double precision,integer,double precision[])' => ['1000', '3', '10', '1', "'{1}'::float8[]"],
	'sbf_false_positive_bound(double precision,integer,double precision,integer,double precision[])' => ['1000', '3', '10', '1', "'{1}'::float8[]"],
	'sbf_evictions(double precision,double precision,integer,integer)' => ['0.01', '1000', '3', '7'],
	'ibf_evictions(double precision,double precision,integer,integer,text)' => ['0.01', '1000', '3', '7', "'multi_class'"],
	'ibf_add_all(ibf,anyarray,double precision[])' => ['ibf_empty()', "'{1,2,3}'::bigint[]", "'{0.1,0.5,1}'::float8[]"],
	'ibf_check_add(ibf,anyarray,double precision[])' => ['ibf_empty()', "'{1,2,3}'::bigint[]", "'{0.1,0.5,1}'::float8[]"],
	'tbf_agg("any",timestamp with time zone,interval,double precision,bigint,double precision,interval,timestamp with time zone)' =>
		['7::bigint', "'2024-05-01 UTC'", "interval '7 days'", '1', '100', '0.01', "interval '1 day'", 'NULL'],
	'tbf_agg("any",timestamp with time zone,interval,double precision,bigint,double precision)' => ['7::bigint', "'2024-05-01 UTC'", "interval '7 days'", '1', '100', '0.01'],
	'bloom_false_positive_rate(double precision,double precision,double precision)' => ['1000', '3', '100'],
	'bloom_optimal_hashes(double precision,double precision)' => ['1000', '100'],
	'bf_false_positive_rate(double precision,integer,double precision)' => ['1024', '3', '100'],
	'tbf_remove(tbf,"any",timestamp with time zone,double precision)' => ["tbf_add(tbf_empty(10, half_life => NULL), 7::bigint, '2024-05-01 UTC', 1)", '7::bigint', "'2024-05-01 UTC'", '1'],
	'tbf_remove(tbf,"any")' => ["tbf_add(tbf_empty(10, half_life => NULL), 7::bigint, '2024-05-01 UTC', 1)", '7::bigint'],
	'tbf_remove(tbf,bf_untyped_item)' => ["tbf_add(tbf_empty(10, half_life => NULL), 'x'::text, '2024-05-01 UTC', 1)", "'x'::bf_untyped_item"],
	'tbf_top(tbf,integer)' => ["tbf_add(tbf_empty(9, top => 4), 7::bigint, '2024-05-01 UTC')", '3'],
	'tbf_top(tbf,integer,timestamp with time zone)' => ["tbf_add(tbf_empty(9, top => 4), 7::bigint, '2024-05-01 UTC')", '3', "'2024-05-01 UTC'"],
	'tbf_agg_in_order("any",timestamp with time zone,tbf)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty()'],
	'tbf_agg_in_order("any",timestamp with time zone,tbf,double precision)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty()', '1'],
	'tbf_agg_in_order("any",timestamp with time zone,tbf,double precision,timestamp with time zone)' => ['7::bigint', "'2024-05-01 UTC'", 'tbf_empty()', '1', 'NULL'],
	'bf_of(regclass,bigint,integer,integer)' => ["'attack.plain_bf'", '0', '1', '0'],
	'bf_summarize_range(regclass,bigint,integer)' => ["'attack.plain_bf'", '0', '0'],
	'bf_desummarize_range(regclass,bigint,integer)' => ["'attack.plain_bf'", '0', '0'],
	'bf_index_advise(regclass,text[],interval)' => ["'attack.plain'", 'NULL', "'1 s'"],
	'chunk_scan(anycompatible,name,"any",regclass,name,text)' => [@chunks],
	'chunk_scan_any(anycompatible,name,"any",regclass,name,text)' => [map { my @list = @$_; $list[2] = "ARRAY[$list[2], NULL, $list[2]]"; \@list } @chunks],
	'chunk_scan_explain(anycompatible,name,"any",regclass,name,text)' => [@chunks],
	'chunk_scan(anycompatible,name,bf_untyped_item,regclass,name,text)' => [@untyped_chunks],
	'chunk_scan_any(anycompatible,name,bf_untyped_item,regclass,name,text)' => [map { my @list = @$_; $list[2] =~ s/'(.*)'/'{$1,NULL,$1}'/; \@list } @untyped_chunks],
	'chunk_scan_explain(anycompatible,name,bf_untyped_item,regclass,name,text)' => [@untyped_chunks],
	%of_rollups,
	'tbf_add_all(tbf,bf_untyped_item,timestamp with time zone,double precision,timestamp with time zone)' => [$of_texts{tbf}, "'{x,y}'::bf_untyped_item", "'2024-05-01 UTC'", '1', 'NULL'],
	'tbf_add(tbf,bf_untyped_item,timestamp with time zone,double precision,timestamp with time zone)' => [$of_texts{tbf}, "'x'::bf_untyped_item", "'2024-05-01 UTC'", '1', 'NULL'],
	'tbf_remove(tbf,bf_untyped_item,timestamp with time zone,double precision)' => ["tbf_add(tbf_empty(10, half_life => NULL), 'x'::text, '2024-05-01 UTC', 1)", "'x'::bf_untyped_item", "'2024-05-01 UTC'", '1'],
);

sub new
{
	my ($class, $database) = @_;
	my $self = bless {database => $database, groups => {}, heavy => {}}, $class;
	my $version = $database->sql('SHOW server_version_num');
	my @relations = map { $_->[0] } $database->rows("SELECT oid::regclass FROM pg_class WHERE relnamespace = 'attack'::regnamespace AND relkind <> 'c' ORDER BY relname");
	my @row_types = map { $_->[0] } $database->rows("SELECT reltype::regtype FROM pg_class WHERE relnamespace = 'attack'::regnamespace AND reltype <> 0 ORDER BY relkind <> 'p', relname");

	$self->simple('double precision', @floats);
	$self->simple('integer', @integers);
	$self->simple('bigint', @bigints);
	$self->simple('smallint', 3, 0, 1, -1, 7, 8, 9, 32767, -32768);
	$self->simple('jsonb', '{}', '{"site": "site 1"}', '{"site": null}', '{"site": "none"}', '{"none": 1}', '[]', 'null', '"x"', '{"site": {"site": 1}}');
	$self->add('name[]', ['NULL::name[]', map { "'$_'::name[]" } '{}', '{site}', '{site,url}', '{site,site}', '{NULL}', '{none}', '{ctid}', '{{site,url}}', '[5:5]={site}', '{""}']);
	$self->simple('boolean', 'true', 'false');
	$self->simple('tid', '(0,1)', '(0,0)', '(4294967295,65535)');
	$self->simple('interval', @day_lengths, $version >= 170000 ? ('infinity', '-infinity') : ());
	$self->simple('timestamp with time zone', @times);
	$self->add('timestamp with time zone[]', ["'{2024-05-01 UTC,2024-05-02 UTC,2024-05-01 UTC}'::timestamptz[]", (map { "'$_'::timestamptz[]" } '{}', '{NULL}', '{2024-05-01 UTC}', '{infinity,-infinity,2024-05-01 UTC}',
		'{{2024-05-01 UTC,2024-05-02 UTC},{1900-01-01 UTC,2000-01-01 UTC}}', '[5:7]={2024-05-01 UTC,2024-05-01 UTC,2024-05-01 UTC}', '{2100-01-01 UTC,NULL,2024-05-01 UTC}'), 'array_fill(now(), ARRAY[1000])', 'NULL::timestamptz[]']);
	$self->add('timestamp with time zone', ["timestamptz '2024-05-01 UTC'", 'now()', "now() + interval '1 day'"]);
	$self->simple('text', @texts);
	$self->add('text', ["repeat('x', 1000000)", "repeat('é', 500)", "chr(1)", "repeat('extensible', 20)"]);
	$self->simple('name', 'word', 'id', '', 'flag', 'at', 'words', 'ids', 'wrong', 'number', 'mood', 'many', 'ctid', 'tableoid', 'xmin', 'Word', 'x' x 63, '*', 'é', '"', 'id; DROP TABLE attack.plain');
	$self->simple($_, 'x', '', 'é', '\\\\x00') foreach 'bf_text_item', 'bf_untyped_item';
	$self->add($_, ["repeat('x', 1000000)::text::$_"]) foreach 'bf_text_item', 'bf_untyped_item';
	$self->add('regclass', [(map { "'$_'::regclass" } 'attack.plain_bf', @relations, 'pg_class', 'pg_class_oid_index', 'pg_toast.pg_toast_1255', 'pg_toast.pg_toast_1255_index'),
		'0::oid::regclass', '4294967295::oid::regclass', '4294967294::oid::regclass', "'attack.pair'::regclass", 'NULL::regclass']);
	$self->add('regclass', ["'attack.growing_bf'::regclass", "'attack.toasted_bf'::regclass", "'attack.log_bf'::regclass"]);
	$self->add('internal', ['NULL']);
	$self->add('text[]', ['NULL::text[]', map { "'$_'::text[]" } '{}', '{id}', '{word}', '{id,word}', '{NULL}', '{none}', '{ctid}', '{{id,word},{number,many}}', '[5:6]={id,word}', '{id,id}']);
	$self->add('double precision[]', ["'{0.1,0.5,1}'::float8[]", map { "'$_'::float8[]" } '{}', '{NULL}', '{1}', '{0.5,NULL,1}', '{{1,2},{3,4}}', '[5:7]={1,2,3}', '{NaN}', '{Infinity,-Infinity}',
		'{1e-320,1e308}', '{0}', '{-1,2}', '{1,0.5,0}', '{0.3,0.7}']);
	$self->add('double precision[]', ['array_fill(0.5::float8, ARRAY[3])', 'array_fill(0.0001::float8, ARRAY[10000])', 'array_fill(NULL::float8, ARRAY[10])', 'NULL::float8[]']);
	$self->{heavy}{'double precision[]'} = ['array_fill(0.5::float8, ARRAY[10000000])', 'array_fill(1e-7::float8, ARRAY[10000000])'];
	$self->add('interval[]', ["'{0,1 day,2 days}'::interval[]", map { "'$_'::interval[]" } '{}', '{NULL}', '{1 day,NULL,3 days}', '{{1 day},{2 days}}', '[5:7]={1 day,2 days,3 days}', '{3 days,1 day}',
		'{178000000 years,-178000000 years}', '{1 month,30 days,31 days}', '{0,0,0}', $version >= 170000 ? '{0,infinity}' : ()]);
	$self->add('interval[]', ["array_fill(interval '1 day', ARRAY[3])", 'NULL::interval[]']);
	$self->{heavy}{'interval[]'} = ["array_fill(interval '1 day', ARRAY[5000000])"];

	$self->add('sbf_parameters', ['sbf_parameters(1000, 0.1)', 'sbf_parameters()', 'sbf_parameters(64)', 'sbf_parameters(100, 0.5, 3, 8, 2, -1)', 'sbf_parameters(NULL, NULL, 1, 1, 1, NULL)',
		(map { "'$_'::sbf_parameters" } '(,,,,,)', '(64,0.5,,,,)', '(-1,NaN,0,99,-1,-9223372036854775808)', '(9223372036854775807,1e-320,2147483647,8,2147483647,7)', '(1000,0.1,16,1,0,0)', '(1000,Infinity,-2147483648,0,5,1)'),
		"ROW(1000, 0.1, 3, 3, 10, 5)::sbf_parameters", 'NULL::sbf_parameters']);
	$self->add('ibf_parameters', ['ibf_parameters(1000, 0.1)', 'ibf_parameters()', 'ibf_parameters(64)', "ibf_parameters(100, 0.5, 'two_class', -1e9, 1e9, NULL, 3, 8, 2, -1)", "ibf_parameters(1000, 0.3, 'value_weighted', 1, 20)",
		(map { "'$_'::ibf_parameters" } '(,,,,,,,,,)', '(64,0.5,two_class,0,1,0.5,,,,)', '(64,0.5,"",NaN,NaN,NaN,,,,)', '(-1,NaN,x,Infinity,-Infinity,Infinity,0,99,-1,-9223372036854775808)', '(1000,0.1,value_weighted,-1e308,1e308,,,,,0)',
			'(9223372036854775807,1e-320,multi_class,1e-320,2e-320,,2147483647,8,2147483647,7)', '(1000,0.3,multi_class,5,5,5,16,1,0,0)'),
		"ROW(1000, 0.1, repeat('x', 1000000), 0, 1, NULL, NULL, NULL, NULL, 0)::ibf_parameters", 'NULL::ibf_parameters']);

	$self->items($version, \@row_types);
	foreach my $type (sort keys %filters)
	{
		$self->add($type, [@{$filters{$type}}, "NULL::$type"]);
		$self->{heavy}{$type} = [map { "attack.large_$type($_)" } 1 .. ($type eq 'tbf' ? 4 : 3)];
	}
	# Bytes and texts from outside: valid values, parts of them, and garbage. The mutants are added later.
	my @values = $self->bytes_of_filters;
	my @parts = map { my $value = $_; map { substr($value, 0, 2 * $_) } 0, 1, 4, 63, 64, 65, 127, 128, length($value) / 2 - 1 } map { $_->[1] } @values[0, -1];
	my @bytes = ((map { $_->[1] } @values), @parts, '00', 'ff' x 128, '53' x 200);
	$self->add('bytea', [(map { "'\\x$_'::bytea" } @bytes), "decode(repeat('5342', 500000), 'hex')", 'NULL::bytea']);
	$self->add('text', [map { "'\\x$_'::text" } map { $_->[1] } @values]);
	$self->add('cstring', [(map { "'\\x$_'::cstring" } @bytes), map { "'$_'::cstring" } '', '\\x', '\\x5', 'x', '{}', 'é', "\\xg342"]);
	$self->add('cstring', ['NULL::cstring']);
	return $self;
}

# Adds a group of expressions of one type to the list of `type`.
sub add
{
	my ($self, $type, $group) = @_;
	push @{$self->{groups}{$type}}, $group;
}

# Adds a group of literals of one type, and NULL.
sub simple
{
	my ($self, $type, @literals) = @_;
	$self->add($type, [(map { "'$_'::$type" } @literals), "NULL::$type"]);
}

# Adds items of many types, and values that stand for the rows of a relation.
sub items
{
	my ($self, $version, $row_types) = @_;
	my %items = (
		int2 => [1, 0, 32767, -32768], int4 => [7, 0, -1, 2147483647, -2147483648], oid => [1, 0, 4294967295],
		numeric => [1, 0, -1, '1.50', '1.5', 'NaN', 'Infinity', '1e131071', '1e-16383', '-0', '123456789012345678901234567890.123'],
		float4 => [1, '-0', 0, 'NaN', 'Infinity', '1e-45', '3.4e38'], float8 => [1, '-0', 0, 'NaN', 'Infinity', '-Infinity', '5e-324', '1.7e308'],
		varchar => ['x', ''], bpchar => ['x', 'x  ', ''], '"char"' => ['x', ''], name => ['x', '', 'n' x 63], text => ['x', '', 'word 7', ' ', 'é', '😀'],
		bytea => ['x', '', '\\x00', '\\x' . 'ff' x 300], uuid => ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
		inet => ['1.1.1.1', '::1', '1.1.1.0/24'], cidr => ['10.0.0.0/8', '::/0'], macaddr => ['08:00:2b:01:02:03'], macaddr8 => ['08:00:2b:01:02:03:04:05'],
		date => ['2024-01-01', 'infinity', '-infinity', '4714-11-24 BC', '5874897-12-31'], time => ['00:00', '24:00', '23:59:59.999999'],
		timetz => ['24:00-15:59', '00:00+15:59'], timestamp => ['2024-01-01', 'infinity', '-infinity'], timestamptz => ['2024-01-01 UTC', 'infinity', '-infinity'],
		interval => ['1 day', '24:00', '1 month', '178000000 years', '-1 day 24:00', $version >= 170000 ? 'infinity' : ()], boolean => ['t', 'f'],
		'bit(8)' => ['10101010'], varbit => ['', '1', '0' x 500], json => ['{}'], jsonb => ['{}', 'null', '[1, 1.0]', '{"a": [1, {"b": null}]}', '"\\\\u00e9"'],
		money => ['1.50'], point => ['(1,2)'], box => ['(1,2),(3,4)'], circle => ['<(0,0),1>'], tsvector => ['a b'], tsquery => ['a & b'], pg_lsn => ['0/0', 'FFFFFFFF/FFFFFFFF'], tid => ['(0,1)', '(4294967295,65535)'],
		xid => ['3'], xid8 => ['18446744073709551615'], cid => ['1'], regclass => ['pg_class', '-'], regtype => ['bf'], int4range => ['empty', '[1,2)', '(,)', '[1,)'],
		numrange => ['[1.0,2.00]', '[1,2]', '(,)'], tstzrange => ['[2024-01-01 UTC,infinity]'], int4multirange => ['{}', '{[1,2),[5,9)}'],
		'attack.mood' => ['low', 'high'], 'attack.positive' => [5], 'attack.short_text' => ['x'], 'attack.pair' => ['(1,x)', '(,)', '(,"")'],
		'attack.nested' => ['("(1,x)","{""(1,x)"",NULL}")', '(,)'], 'attack.no_fields' => ['()'],
		int2vector => ['1 2', ''], oidvector => ['1 2', ''], txid_snapshot => ['10:20:10,14'], refcursor => ['x'], aclitem => ['=r/postgres'], jsonpath => ['$'], 'pg_snapshot' => ['10:20:'],
		'int4[]' => ['{}', '{1,NULL}', '{{1,2},{3,4}}', '[0:1]={1,2}'], 'text[]' => ['{}', '{x}'], 'attack.pair[]' => ['{}', '{"(1,x)",NULL}'], 'float8[]' => ['{NaN,-0,0}'], 'json[]' => ['{}', '{"{}"}'],
		'point[]' => ['{}', '{"(1,2)"}'], 'attack.mood[]' => ['{low}'], 'int4range[]' => ['{empty,"[1,2)"}'], 'attack.positive[]' => ['{1,2}'], 'varchar[]' => ['{x}'],
	);
	my @any;
	push @any, [(map { "'$_'::bigint" } 7, 0, 1, -1, '9223372036854775807', '-9223372036854775808'), 'NULL::bigint'];
	push @any, [(map { "'$_'::text" } @{delete $items{text}}), "repeat('x', 1000000)", "repeat('x', 120)", "repeat('x', 127)", 'NULL::text'];
	foreach my $type (sort keys %items)
	{
		push @any, [(map { "'$_'::$type" } @{$items{$type}}), "NULL::$type"];
	}
	push @any, ["ROW(1, 'x')", "ROW(2, 'y')"], ['ROW()'], ['ROW(' x 10 . '1' . ')' x 10], ['ROW(' . join(', ', 1 .. 1600) . ')'], ["'x'::text COLLATE \"C\"", "'y'::text COLLATE \"C\""], ["ROW('{}'::json)"], ['ROW(NULL::bigint, ROW(1, NULL::text))'], ["'x'"], ['NULL'], ["'x'::cstring"],
		["decode(repeat('00', 1000000), 'hex')"], ["array_fill(7, ARRAY[10000])"], ["array_fill('x'::text, ARRAY[3, 3, 3])"];
	push @any, map { my $type = $_; [(map { $_ } @{$filters{$type}}[0, 1]), "NULL::$type"] } sort keys %filters;
	my @rows = map { ["NULL::$_"] } @$row_types;
	$self->{groups}{'"any"'} = [@any, map { [@$_] } grep { Attack::chance(0.3) } @rows];
	$self->add('"any"', ['pg_sleep(0)']); # its type is void
	$self->{groups}{anyelement} = [@rows, @any[0 .. 8], ["ROW(1, 'x'::text, NULL, NULL)::attack.log"], ["ROW(1, 'x')"], ['NULL'], ["'{}'::int4[]"], ['NULL::attack.pair']];
	$self->{groups}{anycompatible} = $self->{groups}{anyelement};

	my @arrays = ([(map { "'$_'::bigint[]" } '{1,2,3}', '{}', '{NULL}', '{1,NULL,3}', '{{1,2},{3,4}}', '[-5:-3]={1,2,3}', '{{{1}}}', '{9223372036854775807,-9223372036854775808}'), 'array_fill(7::bigint, ARRAY[1000])', 'NULL::bigint[]'],
		[(map { "'$_'::text[]" } '{a,b}', '{}', '{NULL,NULL}', '{"",a}', '{{a},{b}}'), "array_fill(repeat('x', 1000), ARRAY[1000])", "ARRAY[repeat('x', 1000000), NULL]", 'NULL::text[]'],
		(map { my ($type, $values) = @$_; [(map { "'$_'::$type\[]" } @$values), "NULL::$type\[]"] }
			['int4', ['{1,2}']], ['int2', ['{1}']], ['float8', ['{NaN,-0,0}', '{Infinity}']], ['numeric', ['{NaN,1.50,1e1000}']], ['boolean', ['{t,f,NULL}']], ['bytea', ['{x,NULL}']], ['"char"', ['{a,b}']],
			['attack.pair', ['{"(1,x)",NULL,"(,)"}', '{}']], ['attack.nested', ['{"(,)"}']], ['attack.mood', ['{low,high}']], ['attack.positive', ['{1,2}']], ['json', ['{"{}"}', '{}']], ['point', ['{"(1,2)"}']],
			['inet', ['{1.1.1.1,::1}']], ['uuid', ['{00000000-0000-0000-0000-000000000000}']], ['int4range', ['{empty,"[1,2)"}']], ['timestamptz', ['{infinity,2024-01-01 UTC}']], ['interval', ['{1 day,24:00}']],
			['varchar', ['{x}']], ['bpchar', ['{x,"x "}']], ['name', ['{x}']], ['jsonb', ['{"{}","null"}']], ['bit', ['{1,0}']], ['time', ['{24:00}']], ['tid', ['{"(0,1)"}']]),
		["'1 2'::int2vector"], ["'1 2'::oidvector"], ['ARRAY[ROW(1, \'x\')]'], ['ARRAY[bf_empty(1)]'], ['NULL'], ["'{1}'"], ['7::bigint'], ['array_fill(1::int4, ARRAY[10, 10, 10, 10, 10, 1])']);
	$self->{groups}{anyarray} = \@arrays;
	$self->{heavy}{anyarray} = ['array_fill(7::bigint, ARRAY[10000000])', 'array_fill(7::int4, ARRAY[30000000])', "array_fill('x'::text, ARRAY[10000000])", 'array_fill(1.5::numeric, ARRAY[5000000])',
		"array_fill('(1,x)'::attack.pair, ARRAY[1000000])", 'array_fill(NULL::bigint, ARRAY[50000000])'];
	$self->{heavy}{'"any"'} = ["repeat(repeat('x', 1000000), 100)", "convert_to(repeat(repeat('x', 1000000), 50), 'UTF8')", 'array_fill(7::int4, ARRAY[10000000])', "('[' || repeat('1,', 2000000) || '1]')::jsonb",
		"array_fill('(1,x)'::attack.pair, ARRAY[300000])"];
	$self->{heavy}{text} = ["repeat(repeat('x', 1000000), 30)"];
	$self->{heavy}{bytea} = ["convert_to(repeat(repeat('SB', 500000), 50), 'UTF8')", 'bytea(attack.large_tbf(1))', 'bytea(attack.large_bf(2))', 'bytea(attack.large_sbf(2))'];
	$self->{heavy}{$_} = ["repeat(repeat('x', 1000000), 100)::$_"] foreach 'bf_text_item', 'bf_untyped_item';
}

# The bytes of the short filters in hexadecimal digits, as pairs of type and digits.
sub bytes_of_filters
{
	my ($self) = @_;
	my @parts = map { my $type = $_; map { "SELECT '$type', encode(v, 'hex') FROM (SELECT bytea($_)) x(v) WHERE length(v) <= 420" } @{$filters{$type}} } sort keys %filters;
	return @{$self->{bytes} //= [$self->{database}->rows(join(' UNION ALL ', @parts))]};
}

# Adds mutants (Mutations.pm: valid values with random changes) of a type: those that the type has accepted as values,
# and those that it has refused.
sub add_mutants
{
	my ($self, $type, $taken, $refused) = @_;
	push @{$self->{groups}{$type}[0]}, map { "'\\x$_'::$type" } @$taken;
	push @{$self->{groups}{$type}[0]}, "'\\x$refused->[0]'::$type" if @$refused;
	push @{$self->{groups}{bytea}[0]}, map { "'\\x$_'::bytea" } @$taken[0 .. ($#$taken < 9 ? $#$taken : 9)], @$refused;
	push @{$self->{groups}{cstring}[0]}, map { "'\\x$_'::cstring" } @$refused;
	push @{$self->{groups}{text}[0]}, map { "'\\x$_'::text" } @$refused[0 .. ($#$refused < 9 ? $#$refused : 9)];
}

# Returns whether there is a list for this type.
sub know { return exists $_[0]{groups}{$_[1]}; }

# All expressions that are not heavy.
sub all_of { return map { @$_ } @{$_[0]{groups}{$_[1]}}; }

# The worst numbers of a type; nothing for other types.
sub worst
{
	my ($self, $type) = @_;
	return map { "'$_'::$type" } @{$worst{$type} // []};
}

# Some expressions, all of one type, for an argument of this type.
sub column
{
	my ($self, $type, $count) = @_;
	my $group = Attack::one_of(@{$self->{groups}{$type}});
	return map { $self->one_of($group) } 1 .. $count;
}

# A random expression of a group. Those that take some milliseconds are chosen seldom.
sub one_of
{
	my ($self, $group) = @_;
	my $chosen = Attack::one_of(@$group);
	$chosen = Attack::one_of(@$group) if Attack::chance(0.9) && $chosen =~ /_(?:empty|parameters)\(\)|(?:_empty|repeat|array_fill)\b.*\b\d{5,}/;
	return $chosen;
}

sub all_heavy { return map { @$_ } values %{$_[0]{heavy}}; }

sub heavy { return @{$_[0]{heavy}{$_[1]} // []}; }

# The arguments with which the callable must succeed: one list of them, or several.
sub ordinary
{
	my ($self, $callable) = @_;

	if (my $given = $ordinary{$callable->{label}})
	{
		return ref $given->[0] ? @$given : $given;
	}
	my @types = @{$callable->{types}};
	return ["'\\x" . $self->example($callable->{result}) . "'::$types[0]"] if @types && $types[0] =~ /^(?:bytea|text|cstring)$/ && $filters{$callable->{result}};
	# An item without a type is a text, so the filter must be one of texts. Some functions take an array of items.
	my %untyped = (%of_texts, $callable->{label} =~ /_(?:add_all|check_add|contains_all|contains_any)\(/ ? (bf_untyped_item => "'{x,y,z}'::bf_untyped_item") : ());
	return [map { $untyped{$_} // ($self->all_of($_))[0] } @types] if grep { $_ eq 'bf_untyped_item' } @types;
	return [map { ($self->all_of($_))[0] } @{$callable->{types}}];
}

# The bytes of a value of this type.
sub example
{
	my ($self, $type) = @_;
	my ($pair) = grep { $_->[0] eq $type } $self->bytes_of_filters;
	return $pair->[1];
}

1;
