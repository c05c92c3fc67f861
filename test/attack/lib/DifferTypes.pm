# DifferTypes.pm: the column types that a bf index supports. Each has SQL that makes its i-th value, special values,
# and expressions over a column of the type that can be indexed.
#
# In "value", %i stands for an integer expression: a column or a number. Equal numbers give equal values. In
# "expressions", %c stands for a column or a literal of the type; each has the type of its result.
package DifferTypes;

use strict;
use warnings;

my @integer_expressions = (['(%c::int8 % 101)', 'bigint'], ['(%c::int8 / 3 + 1)', 'bigint'], ['(%c IS NULL)', 'boolean'], ['(%c::text)', 'text'], ['(%c::int8 % 2 = 0)', 'boolean']);
my @text_expressions = (['lower(%c::text)', 'text'], ['md5(%c::text)', 'text'], ['length(%c::text)', 'integer'], ["(%c::text || 'x')", 'text'],
	["(%c::text = 'host-7')", 'boolean'], ['(%c IS NOT NULL)', 'boolean'], ["string_to_array(%c::text, '-')", 'text[]']);

my %types = (
	smallint => {value => '(%i % 30000)::smallint', special => ["'32767'", "'-32768'", "'0'"], expressions => \@integer_expressions, number => 30000, family => 'integer'},
	integer => {value => '(%i)::integer', special => ["'2147483647'", "'-2147483648'", "'-1'"], expressions => \@integer_expressions, number => 2000000000, family => 'integer'},
	bigint => {value => '(%i)::bigint', special => ["'9223372036854775807'", "'-9223372036854775808'", "'2147483648'"], expressions => \@integer_expressions, number => 2000000000, family => 'integer'},
	real => {value => '((%i) / 4.0)::real', special => ["'NaN'", "'-0'", "'0'", "'Infinity'", "'-Infinity'"], family => 'float', expressions => [['(%c * 2)', 'real'], ['(%c::float8)', 'double precision']]},
	'double precision' => {value => '((%i) / 4.0)::double precision', special => ["'NaN'", "'-0'", "'0'", "'Infinity'", "'1e-320'"], family => 'float', expressions => [['(%c + 1)', 'double precision'], ['abs(%c)', 'double precision']]},
	text => {value => "('host-' || (%i))", special => ["''", "'Ä€😀'", "' '", "'HOST-7'", "repeat('long', 500)"], family => 'text', expressions => \@text_expressions},
	'text COLLATE "C"' => {value => "('host-' || (%i))", special => ["''", "'Ä€😀'"], type => 'text', family => 'text', expressions => \@text_expressions},
	varchar => {value => "('host-' || (%i))::varchar", special => ["''", "'HOST-7'"], family => 'text', expressions => \@text_expressions},
	'varchar(30)' => {value => "('host-' || (%i))::varchar", special => ["''", "'HOST-7'"], type => 'varchar', family => 'text', expressions => \@text_expressions},
	name => {value => "('host-' || (%i))::name", special => ["''", "'HOST-7'"], family => 'text', expressions => [['(%c::text)', 'text'], ['(%c IS NULL)', 'boolean']]},
	'char(12)' => {value => "('h' || (%i))::char(12)", special => ["''", "'h '"], type => 'bpchar', expressions => [['(%c::text)', 'text'], ['upper(%c)', 'text']]},
	'"char"' => {value => "chr(33 + ((%i) % 90)::int)::\"char\"", special => ["''", "'\\377'"], expressions => []},
	bytea => {value => "decode(lpad(to_hex(%i), 8, '0'), 'hex')", special => ["''", "'\\x00'"], expressions => [["encode(%c, 'hex')", 'text'], ['length(%c)', 'integer'], ['sha256(%c)', 'bytea']]},
	uuid => {value => "lpad(to_hex(%i), 32, '0')::uuid", special => ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"], expressions => []},
	date => {value => "('2026-01-01'::date + ((%i) % 30000)::int)", special => ["'infinity'", "'-infinity'", "'4713-01-01 BC'"], expressions => [['(%c + 1)', 'date']]},
	time => {value => "('00:00'::time + (%i) * interval '1 s')", special => ["'24:00'", "'00:00'"], expressions => []},
	timetz => {value => "('00:00+01'::timetz + (%i) * interval '1 s')", special => ["'24:00+15'", "'00:00-15'"], expressions => []},
	timestamp => {value => "('2026-01-01'::timestamp + (%i) * interval '1 min')", special => ["'infinity'", "'-infinity'"], expressions => [["date_trunc('hour', %c)", 'timestamp']]},
	timestamptz => {value => "('2026-01-01'::timestamptz + (%i) * interval '1 min')", special => ["'infinity'", "'-infinity'"], expressions => [["(%c AT TIME ZONE 'UTC')", 'timestamp']]},
	interval => {value => "((%i) * interval '1 hour')", special => ["'1 month'", "'30 days'", "'-1 year'", "'24 hours'", "'1 day'"], expressions => []},
	numeric => {value => '((%i) / 100.0)::numeric', special => ["'NaN'", "'Infinity'", "'-Infinity'", "'1.500'", "'1.5'", "'0'", "'-0.000'", "'1e100'"], expressions => [['round(%c, 1)', 'numeric'], ['trim_scale(%c)', 'numeric']]},
	'numeric(12,3)' => {value => '((%i) / 100.0)::numeric', special => ["'NaN'", "'1.500'"], type => 'numeric', expressions => [['(-%c)', 'numeric']]},
	inet => {value => "('10.0.0.0'::inet + (%i))", special => ["'::1'", "'10.0.0.0/8'", "'0.0.0.0/0'"], expressions => [['host(%c)', 'text'], ['network(%c)', 'cidr']]},
	cidr => {value => "('10.0.0.0'::inet + (%i))::cidr", special => ["'::/0'", "'10.0.0.0/8'"], expressions => []},
	macaddr => {value => "lpad(to_hex(%i), 12, '0')::macaddr", special => ["'ff:ff:ff:ff:ff:ff'"], expressions => []},
	macaddr8 => {value => "lpad(to_hex(%i), 16, '0')::macaddr8", special => ["'ff:ff:ff:ff:ff:ff:ff:ff'"], expressions => []},
	oid => {value => '(%i)::oid', special => ["'4294967295'", "'0'"], expressions => [['(%c::bigint)', 'bigint']]},
	regtype => {value => '(%i)::int::oid::regtype', special => ["'int4'", "'0'"], expressions => [['(%c::oid)', 'oid']]},
	tid => {value => "format('(%%s,1)', (%i) % 4000000)::tid", special => ["'(4294967295,65535)'"], expressions => []},
	pg_lsn => {value => "('0/0'::pg_lsn + (%i))", special => ["'FFFFFFFF/FFFFFFFF'"], expressions => []},
	xid8 => {value => '(%i)::text::xid8', special => ["'18446744073709551615'"], expressions => []},
	tsvector => {value => "to_tsvector('simple', 'all host-' || (%i) || CASE (%i) % 3 WHEN 0 THEN ' third' ELSE '' END)", special => ["''", "'host'", "'%'"], expressions => []},
	jsonb => {value => "jsonb_build_object('host', %i)", special => ["'null'", "'{}'", "'[]'", "'{\"host\": 7.0}'", "'{\"host\": 7}'"], expressions => [["(%c ->> 'host')", 'text'], ["(%c -> 'host')", 'jsonb'], ["(%c @> '{\"host\": 7}')", 'boolean']]},
	boolean => {value => '((%i) % 2 = 0)', special => ["'t'"], expressions => [['(NOT %c)', 'boolean'], ['(%c IS TRUE)', 'boolean'], ['(%c::int)', 'integer']]},
	'integer[]' => {value => 'ARRAY[%i, (%i) + 1]::int[]', special => ["'{}'", "'{NULL}'", "'[0:1]={7,8}'", "'{7,8}'", "'{{7,8}}'"], expressions => [['cardinality(%c)', 'integer'], ['((%c)[1])', 'integer']]},
	'text[]' => {value => "ARRAY['a', (%i)::text]", special => ["'{}'", "'{NULL,a}'"], expressions => [['((%c)[2])', 'text'], ["array_to_string_immutable(%c)", 'text']]},
	'numeric[]' => {value => 'ARRAY[(%i) / 10.0]::numeric[]', special => ["'{1.50}'", "'{1.5}'", "'{NaN}'"], expressions => []},
	int4range => {value => 'int4range((%i)::int, (%i)::int + 10)', special => ["'empty'", "'(,)'", "'[1,2]'", "'[1,3)'"], expressions => [['lower(%c)', 'integer'], ['isempty(%c)', 'boolean']]},
	numrange => {value => 'numrange((%i), (%i) + 1.0)', special => ["'empty'", "'[1.0,2.00]'", "'[1,2]'"], expressions => []},
	int8multirange => {value => 'int8multirange(int8range((%i)::bigint, (%i)::bigint + 10))', special => ["'{}'", "'{[1,2],[2,3]}'", "'{[1,4)}'"], expressions => []},
	bigint_domain => {value => '(%i)::bigint::bigint_domain', special => ["'7'"], family => 'integer', number => 2000000000, expressions => [['(%c / 3 + 1)', 'bigint']]},
	text_domain => {value => "('host-' || (%i))::text_domain", special => ["''"], family => 'text', expressions => \@text_expressions},
	array_domain => {value => 'ARRAY[%i]::int[]::array_domain', special => ["'{}'"], expressions => []},
	# stored out of line (STORAGE EXTERNAL); most rows have NULL instead of such a value
	wide => {value => "repeat(md5((%i)::text), 70)", type => 'text', external => 1, special => ["''", "'host-7'"], family => 'text', expressions => \@text_expressions},
);
my @names = sort keys %types;

# Operators that ask for keys inside values of a type: each with its right side.
my @of_jsonb = (['@>', "jsonb_build_object('host', %i)"], ['@>', "'{\"host\": 7}'::jsonb"], ['@>', "to_jsonb(%i)"], ['?', "'host'"], ['?', "'h'"], ['?|', "ARRAY['x', (%i)::text]"], ['?&', "ARRAY['host', NULL]"], ['@>', "'{}'::jsonb"],
	['@@', "'\$.host == 7'::jsonpath"], ['@?', "('\$.host ? (@ == ' || (%i) || ')')::jsonpath"], ['@@', "'\$ == null'::jsonpath"]);
my @of_words = (['@@', "to_tsquery('simple', 'host-' || (%i))"], ['@@', "to_tsquery('simple', 'third & !host')"], ['@@', "'ho:*'::tsquery"], ['@@', "'!third'::tsquery"], ['@@@', "phraseto_tsquery('simple', 'all host-' || (%i))"], ['@@', "''::tsquery"]);

sub of_arrays
{
	my (@arrays) = @_;
	return [map { my $operator = $_; map { [$operator, $_] } @arrays } '@>', '&&', '<@', '='];
}

my %keys = (
	'integer[]' => of_arrays('ARRAY[%i]::int[]', 'ARRAY[%i, (%i) + 1]::int[]', 'ARRAY[(%i) + 1, (%i) + 2]::int[]', "'{}'::int[]", "'{NULL}'::int[]"),
	'text[]' => of_arrays("ARRAY[(%i)::text]", "ARRAY['a', (%i)::text]", "ARRAY['a', NULL]::text[]", "ARRAY['host', 'x']"),
	'numeric[]' => of_arrays('ARRAY[(%i) / 10.0]::numeric[]', "'{1.500}'::numeric[]", "'{NaN}'::numeric[]"),
	array_domain => of_arrays('ARRAY[%i]::int[]', 'ARRAY[(%i), NULL]::int[]'),
	jsonb => \@of_jsonb,
	tsvector => \@of_words,
);

# The operator classes of a type, other than the default one.
my %classes = ((map { $_ => ['array_eq_ops'] } 'integer[]', 'text[]', 'numeric[]', 'array_domain'), jsonb => ['jsonb_path_ops', 'jsonb_eq_ops']);

# An operator that asks for keys inside a value of this type, and its right side for an integer expression. Returns
# nothing if there is no such operator.
sub key_condition
{
	my ($type, $i) = @_;
	my $list = $keys{$type} or return;
	my ($operator, $value) = @{$list->[rand @$list]};
	$value =~ s/%i/$i/g;
	return ($operator, $value);
}

sub classes { return @{$classes{$_[0]} // []}; }

# Objects that the types above need. Run once in each database.
sub prelude
{
	return <<'SQL';
CREATE DOMAIN bigint_domain AS bigint CHECK (value > -100);
CREATE DOMAIN text_domain AS text;
CREATE DOMAIN array_domain AS int[];
CREATE FUNCTION array_to_string_immutable(a text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT array_to_string(a, ',')$$;
SQL
}

sub names { return @names; }

# A type by its name: {ddl} is for CREATE TABLE, {cast} is the type to which literals are cast.
sub type
{
	my ($name) = @_;
	my $type = $types{$name} or die "no type $name";
	return {%$type, name => $name, ddl => $name eq 'wide' ? 'text' : $name, cast => $type->{type} // $name};
}

# The value of a type for an integer expression.
sub value
{
	my ($type, $i) = @_;
	my $value = $type->{value};
	$value =~ s/%i/$i/g;
	$value =~ s/%%/%/g;
	return $value;
}

1;
