# Values from outside are not trusted. Tens of thousands of mutations of valid values, from a seed, come in as text, as
# bytea and as binary. Most functions and operators read those that are accepted. Every refusal is an error of class 22
# (or 42804 if kinds do not agree, 54000 for sizes beyond the limit, 55000 if hits cannot be removed), and the server
# stays up. Arguments that are out of range, and calls of functions that only aggregates may call, are refused, too. The
# test is short; STREAMBLOOM_SECONDS=600 goes on with other seeds for that time, from STREAMBLOOM_SEED on.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('006');
my $rounds = $ENV{STREAMBLOOM_TAP_MUTATIONS} // 6000; # of each type
my $round = 2000;                                      # mutations in one statement
my $seconds = $ENV{STREAMBLOOM_SECONDS} // 0;
my $first_seed = $ENV{STREAMBLOOM_SEED} // 1;

# How the test notices a crash: if a backend crashes, unlogged tables are emptied; if the postmaster crashes, its start
# time changes.
$db->sql('CREATE UNLOGGED TABLE alive AS SELECT 1 AS row');
my $started = $db->sql('SELECT pg_postmaster_start_time()');

sub server_is_up
{
	my ($name) = @_;
	my ($code, $out, $err) = $db->try('SELECT pg_postmaster_start_time(), (SELECT count(*) FROM alive)');
	is($out, "$started|1", "$name: the server has not crashed") or BAIL_OUT("the server has crashed: $err");
}

$db->sql(<<'SQL');
CREATE TYPE pair AS (number int, name text);
CREATE TABLE valid (type text, n serial, value bytea);
INSERT INTO valid (type, value)
	SELECT 'bf', bytea(f) FROM (
		SELECT bf_empty(1) UNION ALL SELECT bf_empty(1000, 0.000001) UNION ALL SELECT bf_empty(300, 0.5)
		UNION ALL SELECT bf_agg(i) FROM generate_series(1, 20) i UNION ALL SELECT bf_agg(i, 500) FROM generate_series(1, 300) i
		UNION ALL SELECT bf_agg(i::text) FROM generate_series(1, 300) i UNION ALL SELECT bf_agg(i::numeric) FROM generate_series(1, 90) i
		UNION ALL SELECT bf_agg((i, 'x')::pair, 100, 0.3) FROM generate_series(1, 90) i UNION ALL SELECT bf_agg(md5(i::text)::uuid) FROM generate_series(1, 50) i
		UNION ALL SELECT bf_agg(i) | bf_agg(i * 64) FILTER (WHERE i < 20) FROM generate_series(1, 400) i) v(f);
INSERT INTO valid (type, value)
	SELECT 'tbf', bytea(f) FROM (
		SELECT tbf_empty(1) UNION ALL SELECT tbf_empty(3, 0.5, NULL) UNION ALL SELECT tbf_empty(600, 0.01)
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC') FROM generate_series(1, 9) i
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC'::timestamptz + i * interval '5 hours', interval '1 hour') FROM generate_series(1, 30) i
		UNION ALL SELECT tbf_agg(i, now(), NULL::interval) FROM generate_series(1, 30) i
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC', '7 days', 1e9) FROM generate_series(1, 5) i
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC', '3 days', 300) FROM generate_series(1, 700) i
		UNION ALL SELECT tbf_agg(i::text, '1800-05-01 UTC', '3 days', 5) FROM generate_series(1, 20) i
		UNION ALL SELECT tbf_agg((i, 'x')::pair, '2024-05-01 UTC') FROM generate_series(1, 5) i
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC', '1 microsecond', 1, NULL, NULL, '1 microsecond', NULL) FROM generate_series(1, 5) i
		UNION ALL SELECT tbf_agg(i, '2024-05-01 UTC', '13000000 days', 1, NULL, NULL, '13000000 days', NULL) FROM generate_series(1, 5) i
		UNION ALL SELECT tbf_decay(tbf_agg(i, '2024-05-01 UTC', '7 days', i), '2024-06-01 UTC') FROM generate_series(1, 40) i
		UNION ALL SELECT tbf_agg_like(i, '2024-05-01 UTC', tbf_empty(30, layout => 'flat'), i * i) FROM generate_series(1, 40) i
		UNION ALL SELECT tbf_agg_like(i, '2024-05-01 UTC', tbf_empty(600), i * i * 1e3) FROM generate_series(1, 900) i
		UNION ALL SELECT tbf_agg_in_order(i % 30, '2024-05-01 UTC', tbf_empty(9, minimum_increase => true, top => 4), i) FROM generate_series(1, 90) i
		UNION ALL SELECT tbf_agg_in_order(i, NULL, tbf_empty(20, 0.5, NULL, recurring_minimum => true)) FROM generate_series(1, 90) i
		UNION ALL SELECT tbf_agg_in_order(i, NULL, tbf_empty(20, 0.5, NULL, recurring_minimum => true, layout => 'flat'), 0.3) FROM generate_series(1, 90) i
		UNION ALL SELECT tbf_agg_like(i % 30, '2024-05-01 UTC'::timestamptz + i * interval '5 hours', tbf_empty(20, top => 20), i * 0.7) FROM generate_series(1, 90) i
		UNION ALL SELECT tbf_agg_like((i % 30)::text, NULL, tbf_empty(20, half_life => NULL, top => 50), 2) FROM generate_series(1, 90) i
		UNION ALL SELECT tbf_empty(20, top => 10000)) v(f);
INSERT INTO valid (type, value)
	SELECT 'sbf', bytea(f) FROM (
		SELECT sbf_empty(64) UNION ALL SELECT sbf_empty(100, 0.5, 3, 8, 2, -1) UNION ALL SELECT sbf_decay(sbf_empty(70, 0.1, cell_bits => 1), 9)
		UNION ALL SELECT sbf_agg(i, 200, 0.1) FROM generate_series(1, 300) i UNION ALL SELECT sbf_agg(i, 64, 0.5) FROM generate_series(1, 20) i
		UNION ALL SELECT sbf_agg(i::text, 300, 0.05) FROM generate_series(1, 30) i UNION ALL SELECT sbf_agg((i, 'x')::pair, 100, 0.3) FROM generate_series(1, 90) i
		UNION ALL SELECT sbf_agg_like(i, sbf_parameters(64, evictions => 0, cell_bits => 5)) FROM generate_series(1, 50) i
		UNION ALL SELECT sbf_agg(i, 200, 0.1) | sbf_agg(i * 64, 200, 0.1) FROM generate_series(1, 400) i) v(f);
INSERT INTO valid (type, value)
	SELECT 'abf', bytea(f) FROM (
		SELECT abf_empty(64) UNION ALL SELECT abf_empty(100, 0.5, '1 hour', 3, 8) UNION ALL SELECT abf_empty(1) UNION ALL SELECT abf_empty(5, 0.000001, '36500 days')
		UNION ALL SELECT abf_agg(i, 40, 0.1) FROM generate_series(1, 300) i UNION ALL SELECT abf_agg(i, 9, 0.5) FROM generate_series(1, 20) i
		UNION ALL SELECT abf_agg(i::text, 50, 0.2) FROM generate_series(1, 30) i UNION ALL SELECT abf_agg((i, 'x')::pair, 20, 0.3) FROM generate_series(1, 90) i
		UNION ALL SELECT abf_agg(i, '2024-05-01 UTC'::timestamptz + i * interval '1 minute', '1 hour', 60, 0.2) FROM generate_series(1, 300) i
		UNION ALL SELECT abf_agg(i, '1800-05-01 UTC'::timestamptz, '1 microsecond', 60, 0.2) FROM generate_series(1, 30) i
		UNION ALL SELECT abf_decay(abf_agg(i, '2024-05-01 UTC'::timestamptz, '1 hour', 60, 0.2), '2024-05-01 00:50 UTC') FROM generate_series(1, 50) i
		UNION ALL SELECT abf_decay(abf_agg(i, '2024-05-01 UTC'::timestamptz, '1 hour', 60, 0.2), '2024-06-01 UTC') FROM generate_series(1, 50) i) v(f);
INSERT INTO valid (type, value)
	SELECT 'ibf', bytea(f) FROM (
		SELECT ibf_empty(64) UNION ALL SELECT ibf_empty(100, 0.5, 'two_class', -1e9, 1e9, NULL, 3, 8, 2, -1) UNION ALL SELECT ibf_empty(64, 0.1, 'value_weighted', evictions => 3)
		UNION ALL SELECT ibf_agg(i, i % 7, 0, 7, 200, 0.1) FROM generate_series(1, 300) i
		UNION ALL SELECT ibf_agg_like(i::text, i, ibf_parameters(128, 0.3, 'two_class', threshold => 9)) FROM generate_series(1, 30) i
		UNION ALL SELECT ibf_agg_like((i, 'x')::pair, i, ibf_parameters(100, 0.3, 'value_weighted', 1, 20, cell_bits => 4, evictions => 2)) FROM generate_series(1, 30) i
		UNION ALL SELECT ibf_agg_like(i, i, ibf_parameters(100, 0.3, 'value_weighted', 1, 90, evictions => 7)) FROM generate_series(1, 90) i
		UNION ALL SELECT ibf_decay(ibf_agg(i, i, 0, 100, 100, 0.4), 20) FROM generate_series(1, 90) i) v(f);

CREATE TABLE outcomes (type text, how text, state text, reason text, count bigint);
CREATE TABLE problems (type text, what text, state text, message text, value bytea, other bytea);

-- Eight little-endian bytes of a number: any, a small one, about a power of two, or about some limit.
CREATE FUNCTION odd_number() RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	borders bigint[] := ARRAY[0, 1, -1, 2, 16, 17, 64, 4096, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, 1 << 27,
		2::numeric ^ 46, 2::numeric ^ 53, 2::numeric ^ 60, 2::numeric ^ 61, 2::numeric ^ 62, 9223372036854775807, -9223372036854775808,
		-(2::numeric ^ 60), -(2::numeric ^ 61), 8000000, 512000000];
	number bigint;
	bytes bytea := '\x0000000000000000';
BEGIN
	CASE floor(random() * 4)
		WHEN 0 THEN number := (random() * 1.8e19 - 9e18)::bigint >> floor(random() * 64)::int;
		WHEN 1 THEN number := floor(random() * 20)::bigint;
		WHEN 2 THEN number := 1::bigint << floor(random() * 64)::int;
		ELSE number := borders[1 + floor(random() * cardinality(borders))::int];
	END CASE;
	IF number BETWEEN -9e18 AND 9e18 THEN
		number := number + floor(random() * 3)::bigint - 1;
	END IF;
	FOR i IN 0 .. 7 LOOP
		bytes := set_byte(bytes, i, ((number >> (8 * i)) & 255)::int);
	END LOOP;
	RETURN bytes;
END $$;

-- The little-endian number in some bytes of a value.
CREATE FUNCTION field(value bytea, at int, width int) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	number bigint := 0;
BEGIN
	FOR i IN REVERSE width - 1 .. 0 LOOP
		number := number << 8 | get_byte(value, at + i);
	END LOOP;
	RETURN number;
END $$;

-- Another payload of this length: bytes of 0, of 1 or of 255, or an odd_number() repeated.
CREATE FUNCTION payload(size int) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	pattern bytea := CASE floor(random() * 4) WHEN 0 THEN '\x00' WHEN 1 THEN '\x01' WHEN 2 THEN '\xff' ELSE odd_number() END;
BEGIN
	RETURN substring(decode(repeat(encode(pattern, 'hex'), size / length(pattern) + 1), 'hex') FROM 1 FOR size);
END $$;

-- Returns a value of a random size, with a header that agrees with this size. So the checks that come after the check of
-- the size are reached.
CREATE FUNCTION reshape(kind text, value bytea) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	number int;
	bits int;
	cells int;
BEGIN
	IF kind = 'bf' AND get_byte(value, 4) = 1 THEN
		number := 1 + floor(random() * 66)::int; -- items
		cells := 5 * number + floor(random() * 40)::int; -- bytes
		value := set_byte(set_byte(set_byte(value, 40, number), 48, cells & 255), 49, cells >> 8);
		RETURN substring(value FROM 1 FOR 64) || payload(cells);
	END IF;
	IF kind = 'bf' THEN
		number := 1 + floor(random() * random() * 70)::int; -- lines
		value := overlay(value PLACING int4send(0) FROM 41);
		value := set_byte(value, 40, number);
		value := set_byte(value, 44, floor(random() * 18)::int); -- hashes
		value := set_byte(value, 45, floor(random() * 7)::int); -- widened
		RETURN substring(value FROM 1 FOR 64) || CASE WHEN random() < 0.5 THEN payload(number * 64) ELSE
			substring(substring(value FROM 65) || payload(number * 64) FROM 1 FOR number * 64) END;
	END IF;
	IF kind IN ('sbf', 'ibf') THEN
		number := 64 + floor(random() * random() * 100)::int; -- bytes
		bits := 1 + floor(random() * 8)::int;
		value := overlay(value PLACING int4send(0) FROM 41);
		value := set_byte(value, 40, number * 8 / bits % 256);
		value := set_byte(value, 41, number * 8 / bits / 256);
		value := set_byte(value, 44, bits);
		value := set_byte(value, 45, floor(random() * 18)::int); -- hashes
		value := set_byte(value, 48, floor(random() * 70)::int); -- evictions
		RETURN substring(value FROM 1 FOR 128) || CASE WHEN random() < 0.5 THEN payload(number) ELSE
			substring(substring(value FROM 129) || payload(number) FROM 1 FOR number) END;
	END IF;
	IF kind = 'abf' THEN
		bits := 1 + floor(random() * 16)::int; -- 64-bit words of a slice in a block
		number := 1 + floor(random() * 4)::int; -- hashes
		cells := 1 + floor(random() * 6)::int; -- generations
		value := overlay(value PLACING '\x0100000000000000'::bytea FROM 41); -- one block
		value := set_byte(set_byte(set_byte(set_byte(value, 44, bits * 64 & 255), 45, bits * 64 >> 8), 46, number), 47, cells);
		value := set_byte(value, 4, 3); -- by time, and not empty
		RETURN substring(value FROM 1 FOR 128) || CASE WHEN random() < 0.5 THEN payload(bits * 8 * (number + cells)) ELSE
			substring(substring(value FROM 129) || payload(bits * 8 * (number + cells)) FROM 1 FOR bits * 8 * (number + cells)) END;
	END IF;
	-- a flat filter that ends with its counters
	value := overlay(set_byte(set_byte(set_byte(value, 47, 0), 52, 0), 53, 0) PLACING '\x0000000000000000'::bytea FROM 121);
	bits := 8 << floor(random() * 4)::int;
	cells := 64 << floor(random() * 7)::int;
	number := CASE WHEN cells = 4096 THEN 1 + floor(random() * 3)::int ELSE 1 END; -- blocks
	value := overlay(value PLACING '\x00000000000000'::bytea FROM 41);
	value := set_byte(value, 40, number);
	value := set_byte(value, 44, cells & 255);
	value := set_byte(value, 45, cells >> 8);
	value := set_byte(value, 46, floor(random() * 18)::int);
	value := set_byte(value, 48, bits);
	value := set_byte(value, 49, CASE WHEN random() < 0.5 THEN 4 ELSE get_byte(value, 49) END);
	value := set_byte(value, 50, floor(random() * 7)::int);
	value := substring(value FROM 1 FOR 128) || payload(cells * number * bits / 8);
	IF random() < 0.5 THEN
		-- zeros and a few large counters, because cells that are wider than the largest counter needs are refused
		value := substring(value FROM 1 FOR 128) || decode(repeat('00', cells * number * bits / 8), 'hex');
		FOR i IN 1 .. 3 LOOP
			value := set_byte(value, 128 + floor(random() * cells * number)::int * bits / 8 + bits / 8 - 1, 1 + floor(random() * 63)::int);
		END LOOP;
	END IF;
	RETURN value;
END $$;

CREATE FUNCTION mutate(kind text, value bytea, other bytea) RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	header int := CASE kind WHEN 'bf' THEN 64 ELSE 128 END;
	at int;
	width int;
BEGIN
	FOR i IN 1 .. 1 + floor(random() * 2.5)::int LOOP
		IF length(value) <= header THEN
			RETURN value;
		END IF;
		CASE floor(random() * 12)
			WHEN 0 THEN
				value := set_bit(value, (random() * (length(value) * 8::bigint - 1))::bigint, floor(random() * 2)::int);
			WHEN 1 THEN
				value := set_byte(value, floor(random() * header)::int, floor(random() * 256)::int);
			WHEN 2 THEN
				at := floor(random() * header * 8)::int;
				value := set_bit(value, at::bigint, 1 - get_bit(value, at::bigint));
			WHEN 3, 4, 5 THEN -- a field of the header
				width := 1 << floor(random() * 4)::int;
				at := (40 + floor(random() * (header - 40))::int) / width * width;
				value := overlay(value PLACING substring(odd_number() FROM 1 FOR width) FROM at + 1 FOR width);
			WHEN 6 THEN
				value := substring(value FROM 1 FOR floor(random() * length(value))::int);
			WHEN 7 THEN
				value := value || payload(floor(random() * 130)::int);
			WHEN 8 THEN -- the beginning of one value and the end of another
				at := floor(random() * least(length(value), length(other)))::int;
				value := substring(other FROM 1 FOR at) || substring(value FROM at + 1);
			WHEN 9 THEN -- the bytes behind the header
				value := set_byte(value, header + floor(random() * (length(value) - header))::int, floor(random() * 256)::int);
			ELSE
				value := reshape(kind, value);
		END CASE;
	END LOOP;
	RETURN value;
END $$;
SQL

# Returns whether the total is at least as large as the largest counter. The bytes of a filter allow no stricter test.
$db->sql('CREATE FUNCTION honest(f tbf) RETURNS boolean LANGUAGE sql IMMUTABLE AS ' .
		"'SELECT (tbf_info(f)).total >= (SELECT max(hits_from) FROM tbf_histogram(f) WHERE cells > 0)'");

# Returns whether x can be a count, a rate or a number of items: finite and not negative. (x >= 0 is not enough: NaN is
# greater than every number.)
$db->sql("CREATE FUNCTION is_number(x float8) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT coalesce(x >= 0 AND x < ''infinity'', false)'");

# Makes one PL/pgSQL function in which each use is a block of its own, so that an error in one use does not hide the
# next.
sub user_function
{
	my ($type, @uses) = @_;
	my $blocks = '';
	foreach (@uses)
	{
		my ($what, $expression, $must_hold) = @$_;
		my $quoted = $what =~ s/'/''/gr;
		$blocks .= "\tBEGIN\n\t\tholds := $expression;\n" . ($must_hold ?
				"\t\tIF holds IS NOT TRUE THEN INSERT INTO problems VALUES ('$type', '$quoted', '', 'does not hold', bytea(v), bytea(o)); END IF;\n" : '') .
			"\tEXCEPTION WHEN OTHERS THEN\n" .
			"\t\tIF SQLSTATE !~ '^(22...|42804|54000|55000)\$' THEN INSERT INTO problems VALUES ('$type', '$quoted', SQLSTATE, SQLERRM, bytea(v), bytea(o)); END IF;\n" .
			"\tEND;\n";
	}
	$db->sql("CREATE FUNCTION use_$type(v $type, o $type) RETURNS void LANGUAGE plpgsql AS \$f\$\nDECLARE\n\tholds boolean;\nBEGIN\n$blocks" .
		"END \$f\$");
}

my @items = ('7', "'7'::text", "'\\x07'::bytea", '7::numeric', "(7, 'x')::pair", "'7'::float8", "md5('7')::uuid", "'7'");
my @some_items = @items[0, 1, 4];
my @times = map { "'$_'::timestamptz" } ('2024-05-01 UTC', '2000-01-01 UTC', '4713-01-01 BC', '294276-12-31 UTC', '36000-01-01 UTC', 'infinity',
	'-infinity', '1066-10-14 UTC');

# Comparison and hashing, which every type has.
sub ordered_and_hashed
{
	my ($type) = @_;
	return (
		['comparisons agree', "(v < o) = (o > v) AND (v <= o) = NOT (v > o) AND (v >= o) = (v > o OR v = o) AND (v = o) = (${type}_cmp(v, o) = 0) AND sign(${type}_cmp(v, o)) = -sign(${type}_cmp(o, v))", 1],
		['equal values hash alike', "v <> o OR ${type}_hash(v) = ${type}_hash(o) AND ${type}_hash_extended(v, 7) = ${type}_hash_extended(o, 7)", 1],
		['a copy hashes alike', "${type}_hash(v) = ${type}_hash(v::text::$type) AND ${type}_hash_extended(v, 7) = ${type}_hash_extended(v::text::$type, 7)", 1],
	);
}

user_function('bf',
	ordered_and_hashed('bf'),
	['bf_compact', 'bf_compact(v)::bytea::bf IS NOT NULL', 1],
	['what is compact keeps its items', 'bf_compact(bf_add(v, 7)) @> 7', 1],
	['|| an untyped literal', "(v || 'x') \@> 'x'::text", 1],
	(map { ["\@> $_", "v \@> $_"] } @items),
	['<@', '7 <@ v'],
	(map { ["added is found: $_", "bf_add(v, $_) \@> $_", 1] } @some_items),
	(map { ["|| $_", "(v || $_) IS NULL"] } @some_items[0, 1]),
	['bf_add_all', 'bf_contains_all(bf_add_all(v, ARRAY[1, NULL, 3]), ARRAY[1, 3])', 1],
	['bf_contains_any', 'bf_contains_any(v, ARRAY[1, 2])'],
	['bf_contains_all', 'bf_contains_all(v, ARRAY[1, 2])'],
	['v | v', '(v | v) = v', 1],
	['v & v', '(v & v) = v', 1],
	['v | o', '(v | o) = (o | v)', 1],
	['v & o', '(v & o) = (o & v)', 1],
	['bf_fold', 'bf_fold(v) IS NULL'],
	['bf_fold at a half', 'bf_fold(v, 0.5) IS NULL'],
	['what is folded keeps its items', 'bf_fold(bf_add(v, 7), 0.5) @> 7', 1],
	['bf_cardinality', "CASE WHEN (bf_info(v)).fill = 1 THEN bf_cardinality(v) = 'infinity' ELSE is_number(bf_cardinality(v)) END", 1],
	['bf_info', "bf_info(v)::text !~ 'NaN'", 1],
	['rates of bf_info', 'coalesce((bf_info(v)).fill, 0) BETWEEN 0 AND 1 AND (bf_info(v)).current_false_positive_rate BETWEEN 0 AND 1', 1],
	['expected_items of bf_info', 'coalesce((bf_info(v)).expected_items, 1) > 0', 1],
	['bf_histogram', '(SELECT sum(lines) * 512 FROM bf_histogram(v)) = coalesce((bf_info(v)).bits, 0)', 1],
	['layout of bf_info', "(bf_info(v)).bits IS NULL = ((bf_info(v)).layout = 'exact')", 1],
	['bf_sketch', "bf_sketch(v) ~ '^bf of .+: ([0-9]+|Infinity) items, (exact|[0-9.]+% full, current fpr [0-9.e+-]+ \\|[^|]+\\|)\$'", 1],
	['text and back', 'v::text::bf = v AND NOT v <> v', 1],
	['bytea and back', 'bf(bytea(v)) = v', 1],
	['bf_send', 'bf_send(v) = bytea(v)', 1],
	['bf_union_agg', '(SELECT bf_union_agg(f) FROM (VALUES (v), (o), (v)) x(f)) IS NULL'],
	['bf_intersection_agg', '(SELECT bf_intersection_agg(f) FROM (VALUES (v), (o), (v)) x(f)) IS NULL'],
	['an aggregate of a window', '(SELECT count(u) FROM (SELECT bf_union_agg(f) OVER (ORDER BY i) u FROM (VALUES (1, v), (2, o), (3, v)) x(i, f)) w) = 3'],
);

user_function('tbf',
	ordered_and_hashed('tbf'),
	['tbf_error_estimate', "is_number(tbf_error_estimate(v, 1, $times[0]))", 1],
	(map { ["\@> $_", "v \@> $_"] } @items),
	['<@', '7 <@ v'],
	(map { ["tbf_count at $_", "is_number(tbf_count(v, 7, $_))", 1] } @times),
	(map { ["tbf_count of $_", "is_number(tbf_count(v, $_, $times[0]))", 1] } @some_items),
	['->', 'is_number(v -> 7)', 1],
	['tbf_rate', "is_number(tbf_rate(v, 7, $times[0]))", 1],
	(map { ["tbf_decay to $_", "tbf_decay(v, $_) IS NULL"] } @times),
	(map { ["decay never loses: $_", "tbf_count(tbf_decay(v, $_), 7, $_) >= tbf_count(v, 7, $_) * (1 - 1e-9)", 1] } @times[0, 3, 4]),
	(map { ["decay is idempotent: $_", "tbf_decay(tbf_decay(v, $_), $_) = tbf_decay(v, $_)", 1] } @times[0, 4]),
	(map { ["tbf_add at $_", "tbf_count(tbf_add(v, 7, $_, 3, 'infinity'), 7, $_) >= 3 + tbf_count(v, 7, $_) * (1 - 1e-9)", 1] } @times[0, 1, 2, 4, 7]),
	['tbf_add of much', "tbf_count(tbf_add(v, 7, $times[0], 8e9), 7, $times[0]) BETWEEN 8e9 AND 1.7e308", 1],
	['tbf_add of next to nothing', "tbf_count(tbf_add(v, 7, $times[0], 1e-300), 7, $times[0]) BETWEEN 1e-307 AND 1.7e308", 1],
	['tbf_add of nothing', "is_number(tbf_count(tbf_add(v, 7, $times[0], 0), 7, $times[0]))", 1],
	(map { ["tbf_add of $_", "tbf_add(v, $_, $times[0]) IS NULL"] } @some_items[1, 2]),
	['tbf_add_all', "tbf_count(tbf_add_all(v, ARRAY[7, NULL, 8, 7], $times[0]), 7, $times[0]) BETWEEN 2 AND 1.7e308", 1],
	# A count that is too small for a double becomes the smallest double, hence the 1e-300. If the total is wrong, a
	# merge may drop a wrong number of hits, so such filters are left out.
	['v + v', "NOT honest(v) OR tbf_count(v + v, 7, $times[0]) >= 2 * tbf_count(v, 7, $times[0]) * (1 - 1e-9) - 1e-300", 1],
	['v + o', "NOT (honest(v) AND honest(o)) OR tbf_count(v + o, 7, $times[0]) >= (tbf_count(v, 7, $times[0]) + tbf_count(o, 7, $times[0])) * (1 - 1e-9) - 1e-300", 1],
	['v + o is o + v', '(v + o) = (o + v)', 1],
	['tbf_merge_agg', '(SELECT tbf_merge_agg(f) FROM (VALUES (v), (o), (v)) x(f)) IS NULL'],
	['an aggregate of a window', '(SELECT count(u) FROM (SELECT tbf_merge_agg(f) OVER (ORDER BY i) u FROM (VALUES (1, v), (2, o), (3, v)) x(i, f)) w) = 3'],
	['tbf_info', "tbf_info(v)::text !~ 'NaN'", 1],
	['rates of tbf_info', 'coalesce((tbf_info(v)).fill, 0) BETWEEN 0 AND 1 AND (tbf_info(v)).current_false_positive_rate BETWEEN 0 AND 1', 1],
	['expected_items of tbf_info', 'coalesce((tbf_info(v)).expected_items, 1) > 0', 1],
	['tbf_histogram', '(SELECT coalesce(sum(cells), 0) FROM tbf_histogram(v)) = coalesce((tbf_info(v)).cells, (tbf_info(v)).cardinality)', 1],
	['tbf_sketch', "tbf_sketch(v) ~ '^tbf of .+: ([0-9]+|Infinity) items, (exact|[0-9.]+% full), (counts|counters) below [0-9.e+-]+ hits( as of the base)? \\|[^|]*\\|\$'", 1],
	['both layouts say the same', "tbf_count(tbf_layout(v, 'flat'), 7, $times[0]) = tbf_count(tbf_layout(v, 'extensible'), 7, $times[0])", 1],
	['layouts there and back', "tbf_layout(tbf_layout(v, 'flat')::bytea::tbf, 'extensible')::bytea::tbf = tbf_layout(v, 'extensible')", 1],
	['tbf_top', "(SELECT bool_and(hits_from <= hits_to) FROM tbf_top(v, 100000, $times[0])) IS NOT FALSE", 1],
	['tbf_top of a merged one', "(SELECT count(*) FROM tbf_top(tbf_add(v, 7, $times[0], 1e9) + v, 100000, $times[0])) > 0", 1],
	(map { ["times $_", "NOT honest(v) OR tbf_count(v * $_, 7, $times[0]) >= $_ * tbf_count(v, 7, $times[0]) * (1 - 1e-9) - 1e-300", 1] } ('2', '0.3', '1e-9', '1e9')),
	['weighted', "(SELECT tbf_merge_agg(f, w) FROM (VALUES (v, 0.1), (o, 3), (v, 1e-5)) x(f, w))::bytea::tbf IS NOT NULL", 1],
	['a hit there and back', "tbf_count(tbf_remove(tbf_add(v, 7, $times[0], 3), 7, $times[0], 3), 7, $times[0]) >= tbf_count(v, 7, $times[0]) * (1 - 1e-9) - 1e-300", 1],
	['tbf_remove', "tbf_remove(v, 7, $times[0], 0.001)::bytea::tbf IS NOT NULL", 1],
	['what comes of it can be read', "(v + coalesce(o, v))::bytea::tbf IS NOT NULL AND tbf_decay(v, $times[0])::bytea::tbf IS NOT NULL AND tbf_add(v, 7, $times[0])::bytea::tbf IS NOT NULL", 1],
	['tbf_share', 'CASE WHEN (tbf_info(v)).total = 0 THEN tbf_share(v, 7) IS NULL ELSE tbf_share(v, 7) BETWEEN 0 AND 1 END', 1],
	['tbf_total', "is_number(tbf_total(v, $times[0]))", 1],
	['tbf_error_bound', "tbf_error_bound(v, 1, $times[0]) BETWEEN 0 AND 1", 1],
	['tbf_estimate', "is_number(tbf_estimate(v, 7, $times[0]))", 1],
	['tbf_cardinality', "CASE WHEN (tbf_info(v)).fill = 1 THEN tbf_cardinality(v) = 'infinity' ELSE is_number(tbf_cardinality(v)) END", 1],
	['tbf_inner_product', "is_number(tbf_inner_product(v, o, $times[0]))", 1],
	['text and back', 'v::text::tbf = v AND NOT v <> v', 1],
	['bytea and back', 'tbf(bytea(v)) = v', 1],
	['tbf_send', 'tbf_send(v) = bytea(v)', 1],
);

# For both stable types. They differ in the arguments of the functions that add items, and of the false-negative rate,
# and only for an sbf does || add an item.
foreach my $type ('sbf', 'ibf')
{
	my ($one, $many) = $type eq 'sbf' ? ('', '') : (', 0.7', ', ARRAY[0, NULL, 1e9]');
	my @gap = $type eq 'sbf' ? '100' : '0.5, 100';
	user_function($type,
		ordered_and_hashed($type),
		($type eq 'sbf' ? ['|| an untyped literal', "(v || 'x') \@> 'x'::text", 1] : ()),
		(map { ["\@> $_", "v \@> $_"] } @items),
		['<@', '7 <@ v'],
		(map { ["added is found: $_", "${type}_add(v, $_$one) \@> $_", 1] } @some_items),
		["${type}_add_all", "${type}_contains_any(${type}_add_all(v, ARRAY[1, NULL, 3]$many), ARRAY[1, 3])", 1],
		["${type}_check_add", "cardinality((${type}_check_add(v, ARRAY[1, NULL, 3]$many)).duplicates) = 3", 1],
		["what ${type}_check_add makes can be read", "(${type}_check_add(v, ARRAY[1, NULL, 3]$many)).updated::bytea::$type IS NOT NULL", 1],
		["${type}_contains_any", "${type}_contains_any(v, ARRAY[1, 2])"],
		["${type}_contains_all", "${type}_contains_all(v, ARRAY[1, 2])"],
		["decayed can be read", "${type}_decay(v, 5)::bytea::$type = ${type}_decay(${type}_decay(v, 2), 3)", 1],
		['v | v', "(v | v)::bytea::$type IS NOT NULL", 1],
		['v | o', '(v | o) = (o | v)', 1],
		["${type}_info", "${type}_info(v)::text !~ 'NaN'", 1],
		["rates of ${type}_info", "(${type}_info(v)).zeros BETWEEN 0 AND 1 AND (${type}_info(v)).stable_zeros BETWEEN 0 AND 1 AND (${type}_info(v)).current_false_positive_rate BETWEEN 0 AND 1", 1],
		["${type}_histogram", "(SELECT sum(cells) FROM ${type}_histogram(v)) = (${type}_info(v)).cells", 1],
		["${type}_sketch", "${type}_sketch(v) ~ '^$type of .+: [0-9]+ items, [0-9.]+% zeros \\(stable at [0-9.]+%\\), current fpr [0-9.e+-]+ \\|[^|]+\\|\$'", 1],
		["${type}_false_negative_rate", "${type}_false_negative_rate(v, $gap[0]) BETWEEN 0 AND 1", 1],
		['text and back', "v::text::$type = v AND NOT v <> v", 1],
		['bytea and back', "$type(bytea(v)) = v", 1],
		["${type}_send", "${type}_send(v) = bytea(v)", 1],
		["${type}_union_agg", "(SELECT ${type}_union_agg(f) FROM (VALUES (v), (o), (v)) x(f)) IS NULL"],
		['window function', "(SELECT count(d) FROM (SELECT ${type}_duplicate(i$one, v) OVER (ORDER BY i) d FROM (VALUES (1), (2), (1)) x(i)) w) = 3", 1],
	);
}

# If the window of an abf is a time, items are added at the time that abf_info() calls newest, or on 1 May 2024 if that
# is not finite. If the window is a number of items, no time is needed. Filters are the columns w and p here. If they
# were constants, the planner would unite them or add to them in advance, whatever a CASE says.
sub of_columns { return "(SELECT $_[0] FROM (SELECT v AS w, o AS p OFFSET 0) c)"; }
my $timed = '(abf_info(w)).within IS NOT NULL';
my $near = "coalesce(CASE WHEN isfinite((abf_info(w)).newest) THEN (abf_info(w)).newest END, '2024-05-01 UTC')";
my $added = "CASE WHEN $timed THEN abf_add(w, %s, $near, 'infinity') ELSE abf_add(w, %s) END";
user_function('abf',
	ordered_and_hashed('abf'),
	['abf_add_each', of_columns("CASE WHEN $timed THEN abf_add_each(w, ARRAY[1, NULL, 3], ARRAY[$near, $near, NULL], 'infinity')::bytea::abf IS NOT NULL ELSE true END"), 1],
	['abf_agg_like', of_columns("CASE WHEN $timed THEN (SELECT abf_agg_like(i, $near, f, 'infinity') FROM (VALUES (7, w)) x(i, f)) ELSE (SELECT abf_agg_like(i, f) FROM (VALUES (7, w)) x(i, f)) END::bytea::abf IS NOT NULL"), 1],
	(map { ["\@> $_", "v \@> $_"] } @items),
	['<@', '7 <@ v'],
	(map { ["added is found: $_", of_columns('(NOT isfinite((abf_info(w)).newest)) IS TRUE OR (' . ($added =~ s/%s/$_/gr) . ") \@> $_"), 1] } @some_items),
	['abf_check_add', of_columns("CASE WHEN $timed THEN cardinality((abf_check_add(w, ARRAY[1, NULL, 3], $near, 'infinity')).duplicates) ELSE cardinality((abf_check_add(w, ARRAY[1, NULL, 3])).duplicates) END = 3"), 1],
	['what abf_check_add makes can be read', of_columns("CASE WHEN $timed THEN (abf_check_add_each(w, ARRAY[1, NULL], ARRAY[$near, NULL], 'infinity')).updated ELSE (abf_check_add(w, ARRAY[1, NULL, 3])).updated END::bytea::abf IS NOT NULL"), 1],
	['abf_contains_any', 'abf_contains_any(v, ARRAY[1, 2])'],
	['abf_contains_all, of a time', of_columns("CASE WHEN $timed THEN abf_contains_all(w, ARRAY[1, 2], '2024-05-01 UTC') END")],
	['decayed can be read', of_columns("CASE WHEN $timed THEN abf_decay(w, '2024-06-01 UTC')::bytea::abf = abf_decay(abf_decay(w, '2024-05-01 UTC'), '2024-06-01 UTC') ELSE true END"), 1],
	['v | v', of_columns("CASE WHEN $timed THEN (w | w)::bytea::abf IS NOT NULL ELSE true END"), 1],
	['v | o', of_columns("CASE WHEN $timed AND (abf_info(p)).within IS NOT NULL THEN (w | p) = (p | w) ELSE true END"), 1],
	['abf_info', "abf_info(v)::text !~ 'NaN' AND (abf_info(v)).current_false_positive_rate BETWEEN 0 AND 1 AND (abf_info(v)).fill BETWEEN 0 AND 1", 1],
	['abf_histogram', '(SELECT count(*) FROM abf_histogram(v)) = (abf_info(v)).hashes + (abf_info(v)).generations', 1],
	['abf_sketch', "abf_sketch(v) ~ '^abf of .+, (last|within) .+: [0-9]+ items came, about [0-9]+ in it, fill [0-9.]+%, current fpr [0-9.e+-]+ \\|[^|]+\\|\$'", 1],
	['text and back', 'v::text::abf = v AND NOT v <> v', 1],
	['bytea and back', 'abf(bytea(v)) = v', 1],
	['abf_send', 'abf_send(v) = bytea(v)', 1],
	['window function', of_columns("CASE WHEN $timed THEN true ELSE (SELECT count(d) FROM (SELECT abf_duplicate(i, w) OVER (ORDER BY i) d FROM (VALUES (1), (2), (1)) x(i)) w) = 3 END"), 1],
);

foreach my $type ('bf', 'sbf', 'ibf', 'abf', 'tbf')
{
	$db->sql(<<"SQL");
CREATE FUNCTION fuzz_$type(seed float8, mutations int) RETURNS bigint LANGUAGE plpgsql AS \$f\$
DECLARE
	pool bytea[] := (SELECT array_agg(value ORDER BY n) FROM valid WHERE type = '$type');
	strangers bytea[] := (SELECT array_agg(value ORDER BY n) FROM valid);
	taken $type\[] := (SELECT array_agg(value::$type ORDER BY n) FROM valid WHERE type = '$type');
	first int := cardinality(pool);
	mutant bytea;
	v $type;
	how text;
	accepted bigint := 0;
	-- how each mutant came in and what became of it, in the same order
	ways text[] := '{}';
	states text[] := '{}';
	reasons text[] := '{}';
	reason text;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. mutations LOOP
		mutant := mutate('$type', pool[1 + floor(random() * first)::int], strangers[1 + floor(random() * cardinality(strangers))::int]);
		how := CASE WHEN random() < 0.5 THEN 'text' ELSE 'bytea' END;
		v := NULL;
		ways := ways || how;
		BEGIN
			IF how = 'text' THEN
				v := mutant::text::$type;
			ELSE
				v := mutant::$type;
			END IF;
			states := states || 'accepted'::text;
			reasons := reasons || ''::text;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
			states := states || SQLSTATE;
			reasons := reasons || concat(SQLERRM, ' ', reason);
			IF SQLSTATE !~ '^22...\$' THEN
				INSERT INTO problems VALUES ('$type', 'input as ' || how, SQLSTATE, SQLERRM, mutant, NULL);
			END IF;
		END;
		IF v IS NOT NULL THEN
			accepted := accepted + 1;
			PERFORM use_$type(v, coalesce(taken[1 + floor(random() * cardinality(taken))::int], v));
			-- later mutants are combined with this one
			taken[first + 1 + accepted % 30] := v;
		END IF;
	END LOOP;
	INSERT INTO outcomes SELECT '$type', w, s, r, count(*) FROM unnest(ways, states, reasons) u (w, s, r) GROUP BY w, s, r;
	RETURN accepted;
END \$f\$;
SQL

	subtest "$type: the valid values themselves" => sub {
		$db->sql("SELECT use_$type(a.value::$type, b.value::$type) FROM valid a, valid b WHERE a.type = '$type' AND b.type = '$type'");
		problems($type, 'valid values');
	};

	subtest "$type: $rounds mutations" => sub {
		my $accepted = 0;
		my $done = 0;
		my $began = time();
		for (my $number = $first_seed; $done < $rounds || time() < $began + $seconds / 5; $number++)
		{
			my $seed = $number / 1000 - int($number / 1000);
			my ($code, $out, $err) = $db->try("SET statement_timeout = '30s'; SELECT fuzz_$type($seed, $round)");
			is($code, 0, "mutations of seed $seed run to their end") or diag($err);
			$accepted += $out if $code == 0;
			$done += $round;
			server_is_up("seed $seed");
		}
		my ($text, $bytea) = map { $db->sql("SELECT string_agg(state || ': ' || count, ', ' ORDER BY state) FROM (SELECT state, sum(count) AS count FROM outcomes " .
					"WHERE type = '$type' AND how = '$_' GROUP BY state) o") } ('text', 'bytea');
		my $reasons = $db->sql("SELECT count(DISTINCT regexp_replace(reason, '[0-9]+', '0', 'g')) FROM outcomes WHERE type = '$type' AND state <> 'accepted'");
		diag("$type as text: $text; as bytea: $bytea; $reasons reasons to refuse");
		cmp_ok($reasons, '>=', 6, "they are refused for $reasons reasons");
		cmp_ok($accepted, '>', $done / 20, 'many are accepted and used');
		cmp_ok($accepted, '<', $done * 19 / 20, 'many are refused');
		problems($type, 'mutations');
	};
}

# One test for each thing that went wrong, and one that there is none.
sub problems
{
	my ($type, $name) = @_;
	my @problems = $db->rows("SELECT what, state, min(message), count(*), min(substr(value::text, 1, 400)), min(substr(other::text, 1, 400)) " .
			"FROM problems WHERE type = '$type' GROUP BY what, state ORDER BY what");
	fail("$name: $_->[0]: $_->[1] $_->[2], $_->[3] times") || diag("for example with\n$_->[4]\nand\n$_->[5]") foreach @problems;
	is(scalar @problems, 0, "$name: all errors are of class 22, 42804, 54000 or 55000, and what must hold does");
	$db->sql("DELETE FROM problems WHERE type = '$type'");
}

# Runs SQL in a session that all calls share. Returns the SQLSTATE of the first error, '00000' without an error.
my $session = PsqlSession->new($db->name);
sub state_of { return ($session->ask($_[0]))[1]; }

subtest 'text that is no value' => sub {
	foreach my $type ('bf', 'sbf', 'ibf', 'abf', 'tbf')
	{
		foreach my $text ('', ' ', 'x', '\\x', '\\x5', '\\x53', '\\x5342', '5342', '\\X5342', '\\x53 42', '\\x534g', '\\xg342', '\\x' . '00' x 64,
			'\\x' . 'ff' x 128, '\\x' . '53' x 200, '\\xéé', '{}', 'null', '\\x5342' . 'é' x 50, '\\x53420101' . '00' x 60, '\\x53420401' . '00' x 124)
		{
			my $shown = substr($text, 0, 24) =~ s/[^ -~]/?/gr;
			like(state_of("SELECT '$text'::$type"), qr/^22/, "$type: '$shown' is refused");
		}
		is(state_of("SELECT repeat('5342', 2000000)::$type"), '22P02', "$type: a long text is refused");
		is(state_of("SELECT ('\\x' || repeat('53', 20000000))::$type"), '22P03', "$type: a long hexadecimal text is refused");
		is(state_of("SELECT ''::bytea::$type"), '22P03', "$type: no bytes are refused");
	}
	is(state_of('SELECT bytea(bf_empty())::tbf'), '22P03', 'a bf is no tbf');
	is(state_of('SELECT bytea(tbf_empty())::bf'), '22P03', 'a tbf is no bf');
	is(state_of('SELECT bytea(sbf_empty())::ibf'), '22P03', 'an sbf is no ibf');
	is(state_of('SELECT bytea(ibf_empty())::sbf'), '22P03', 'an ibf is no sbf');
	server_is_up('text');
};

# A file for COPY BINARY that has one row with one value.
sub binary_file
{
	my ($value) = @_;
	my $file = StreambloomTap::scratch() . '/hostile.bin';
	StreambloomTap::write_file($file, "PGCOPY\n\xff\r\n\0" . pack('NN', 0, 0) . pack('n', 1) . pack('N', length $value) . $value .
			pack('n', 65535));
	return $file;
}

subtest 'binary input' => sub {
	srand(42);
	foreach my $type ('bf', 'sbf', 'ibf', 'abf', 'tbf')
	{
		$db->sql("CREATE TABLE received_$type (f $type)");
		my @values = map { pack('H*', substr($_, 2)) } split /\n/, $db->sql("SELECT value FROM valid WHERE type = '$type' ORDER BY n");
		is(state_of("\\copy received_$type from '" . binary_file($values[4]) . "' with (format binary)\n"), '00000', "$type: a valid one is taken");
		is($db->sql("SELECT count(*) FROM received_$type, valid v WHERE f::bytea = v.value"), 1, "$type: as it was sent");

		my $script = '';
		my $refused = 0;
		for my $i (1 .. 40)
		{
			my $value = $values[$i % @values];
			my $at = int(rand(length($value) < 128 || $type eq 'bf' ? 64 : 128));
			my @ways = (
				sub { substr($value, 0, int(rand(length $value))) },
				sub { $value . "\0" x (1 + int(rand(100))) },
				sub { substr($value, $at, 1) = chr(int(rand(256))); $value },
				sub { substr($value, $at & ~7, 8) = ("\xff" x 8, "\0" x 8, "\xff" x 7 . "\x7f", "\0" x 7 . "\x80", "\0\0\0\x80\0\0\0\0")[int(rand(5))]; $value },
				sub { '' },
			);
			my $mutant = $ways[$i % @ways]->();
			my $state = state_of("\\copy received_$type from '" . binary_file($mutant) . "' with (format binary)\n");
			$refused++ if $state ne '00000';
			like($state, qr/^(00000|22...)$/, "$type, mutation $i: taken or refused with class 22");
		}
		cmp_ok($refused, '>=', 15, "$type: many are refused");
		is(state_of("SELECT use_$type(a.f, b.f) FROM received_$type a, received_$type b"), '00000', "$type: those taken can be used");
		problems($type, 'binary');
	}
	server_is_up('binary');
};

subtest 'arguments that are out of range' => sub {
	my %states = (
		'bf_empty(0)' => '22023', 'bf_empty(-1)' => '22023', 'bf_empty(9223372036854775807)' => '54000', 'bf_empty(-9223372036854775808)' => '22023',
		'bf_empty(1000000000000, 0.01)' => '54000', "bf_empty(1, 'NaN')" => '22023', "bf_empty(1, 'infinity')" => '22023', 'bf_empty(1, 0)' => '22023',
		'bf_empty(1, 1)' => '22023', 'bf_empty(1, 1e-300)' => '22023', 'bf_empty(1, -0.1)' => '22023',
		'tbf_empty(0)' => '22023', 'tbf_empty(9223372036854775807)' => '54000', "tbf_empty(1, 'NaN')" => '22023', "tbf_empty(1, 0.01, '0')" => '22023',
		"tbf_empty(1, 0.01, '-1 day')" => '22023', "tbf_empty(1, 0.01, '1 month')" => '22023', "tbf_empty(1, 0.01, '178000000 years')" => '22023',
		"tbf_empty(1, 0.01, '2147483647 days')" => '22023', "tbf_empty(1, 0.01, '1 day', '0')" => '22023', "tbf_empty(1, 0.01, '1 day', '-1 s')" => '22023',
		"tbf_empty(1, 0.01, NULL, '1 s')" => '22023', "tbf_empty(1, 0.01, '1 microsecond', '13000000 days')" => '00000',
		"tbf_add(tbf_empty(), 1, 'infinity')" => '22008', "tbf_add(tbf_empty(), 1, '-infinity')" => '22008',
		"tbf_add(tbf_empty(), 1, 'infinity', 1, 'infinity')" => '22008', "tbf_add(tbf_empty(), 1, now(), 'NaN')" => '22023',
		"tbf_add(tbf_empty(), 1, now(), -1)" => '22023', "tbf_add(tbf_empty(), 1, now(), 'infinity')" => '22023',
		"tbf_add(tbf_empty(), 1, now(), 1e300)" => '22003', "tbf_add(tbf_empty(), 1, now(), 1e-320)" => '00000', "tbf_add(tbf_empty(), 1, now(), -0.0::float8)" => '00000',
		"tbf_count(tbf_empty(), 1, 'infinity')" => '22008', "tbf_decay(tbf_empty(), '-infinity')" => '22008', "bf_fold(bf_empty(), 'NaN')" => '22023',
		"bf_fold(bf_empty(), 0)" => '22023', "(SELECT bf_agg(1, 0))" => '22023', "(SELECT bf_agg(1, 1, 'NaN'))" => '22023',
		"(SELECT bf_agg(1, 9223372036854775807))" => '54000', "(SELECT tbf_agg(1, now(), '7 days', 'NaN'::float8))" => '22023',
		"(SELECT tbf_agg(1, now(), '1 day', 1, 0, 0.01))" => '22023', "(SELECT tbf_agg(1, now(), '1 day', 1, 9223372036854775807, 0.01))" => '54000',
		"(SELECT tbf_agg(1, NULL::timestamptz))" => '22004', "(SELECT tbf_agg(1, now() + interval '2 days'))" => '22008',
		"bloom_optimal_bits('NaN', 'NaN')" => '22023', "bloom_false_positive_rate(0, 0, 0)" => '22023', "bloom_optimal_hashes('infinity', 0)" => '22023',
		"bf_false_positive_rate(512, 16, 1e18)" => '00000', "bf_false_positive_rate(512, 16, 1e308)" => '22023',
		"ibf_evictions(1e-20, 1e30, 1)" => '22023', "sbf_stable_point(1e30, 1, 1)" => '22023',
	);
	foreach my $call (sort keys %states)
	{
		is(state_of("SET statement_timeout = '30s'; SELECT $call"), $states{$call}, "SELECT $call");
	}
	server_is_up('arguments');
};

# SQL cannot call these functions, because no SQL can make a value of type internal, not even NULL.
subtest 'functions that only aggregates may call' => sub {
	my @functions = split /\n/, $db->sql(<<'SQL');
SELECT format('%s(%s)', proname, (SELECT string_agg(CASE t WHEN 'internal'::regtype THEN 'NULL' WHEN '"any"'::regtype THEN '1' ELSE format('NULL::%s', t::regtype) END, ', ' ORDER BY n)
	FROM unnest(proargtypes::oid[]) WITH ORDINALITY a (t, n)))
FROM pg_proc WHERE probin LIKE '%streambloom%' AND 'internal'::regtype = ANY (proargtypes::oid[]) AND proname ~ '_agg_' ORDER BY 1
SQL
	cmp_ok(scalar @functions, '>=', 25, 'there are such functions');
	foreach my $call (@functions)
	{
		is(state_of("SELECT $call"), '42883', "SELECT $call is refused");
		is(state_of('SELECT ' . $call =~ s/\bNULL(?!:)/NULL::internal/gr), '42846', "and with NULL::internal");
	}
	is(state_of("SELECT ${_}_union_agg_add(${_}_empty(), ${_}_empty())"), '00000', "${_}_union_agg_add takes filters, and unites them") foreach 'sbf', 'ibf';
	is(state_of('SELECT bf_union_agg_final(bf_union_agg_add(NULL, bf_empty()))'), '00000', 'the state of bf_union_agg is bytes');
	is(state_of('SELECT tbf_merge_agg_final(tbf_merge_agg_add(NULL, tbf_empty()))'), '00000', 'that of tbf_merge_agg, too');
	is(state_of("SELECT $_"), '22P03', "$_: what is no state is refused") foreach "bf_union_agg_final('\\x00')", "bf_union_agg_add('\\x5342', bf_empty())",
		"bf_union_agg_combine(NULL, bytea(bf_empty()))", "tbf_merge_agg_final('\\x00')", "tbf_merge_agg_combine(NULL, bytea(tbf_empty()))";
	is(state_of('SELECT bf_intersection_agg_add(bf_empty(), bf_empty())'), '00000', 'so does bf_intersection_agg_add');
	server_is_up('calls');
};
$session->close;

done_testing();
