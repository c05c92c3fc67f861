# JoinsSchema.pm: random tables for joins of a fact table with dimensions, which leave pages of the fact table unread
# (the node Skip). A fact table has many pages, and rows with the same key lie together. Most dimensions have few
# keys.
#
# Every key is made of an integer. The same integer gives equal values in columns of different types.
package JoinsSchema;

use strict;
use warnings;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# Families of types. The values of two types of a family that are made of the same integer are equal; %s is the
# integer. Some dimensions get another type of the family than the facts.
my @families = (
	[['int2', '%s::int2'], ['int4', '%s'], ['int8', '%s::int8']],
	[['int4', '%s'], ['int8', '%s::int8'], ['whole', '%s']],
	[['float4', '%s::float4 / 2'], ['float8', '%s::float8 / 2']],
	[['numeric', "%s + 0.50"], ['numeric(10,3)', '%s + 0.5']],
	[['text', "'k' || %s"], ['varchar(30)', "'k' || %s"], ['phrase', "'k' || %s"]],
	[['text', "'K' || %s"]],
	[['text COLLATE nocase', "CASE WHEN %1\$s %% 2 = 0 THEN 'k' ELSE 'K' END || %1\$s / 2 * 2", 'COLLATE "C"']],
	[['text COLLATE "POSIX"', "'p' || %s"]],
	[['char(12)', "'c' || %s"]],
	[['name', "'n' || %s"]],
	[['bytea', "sha256(('b' || %s)::bytea)"]],
	[['uuid', "md5(%s::text)::uuid"]],
	[['date', "DATE '2020-01-01' + %s"]],
	[['timestamp', "TIMESTAMP '2020-01-01' + %s * interval '1 hour'"]],
	[['timestamptz', "TIMESTAMPTZ '2020-01-01 UTC' + %s * interval '1 hour'"]],
	[['interval', "%s * interval '1 hour'"]],
	[['inet', "('10.0.' || %1\$s / 250 || '.' || %1\$s %% 250)::inet"]],
	[['int4[]', "ARRAY[%1\$s, 7]", 'array_eq_ops']],
	[['jsonb', "jsonb_build_object('k', %s)", 'jsonb_eq_ops']],
	[['bool', '(%s / 16 %% 2 = 0)']],
);

our $types = <<'SQL';
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN whole AS int4 CHECK (value IS NULL OR value > -100000);
CREATE DOMAIN phrase AS text;
SQL

sub value
{
	my ($type, $integer) = @_;
	return "(CASE WHEN $integer IS NULL THEN NULL ELSE " . sprintf($type->[1], "($integer)") . " END)::" . ($type->[0] =~ s/ COLLATE.*//r);
}

sub new
{
	my ($class) = @_;
	my $self = bless {facts => [], dimensions => []}, $class;

	$self->{a} = pick(@families);
	$self->{b} = pick(@families[0 .. 5], @families);
	$self->{type}{a} = pick(@{$self->{a}});
	$self->{type}{b} = pick(@{$self->{b}});
	# The number of consecutive rows that have the same key.
	$self->{same} = pick(1, 1, 2, 5, 20);
	$self->{rows} = pick(100, 300, 600, 600);
	$self->{keys} = 1 + int($self->{rows} / $self->{same});
	return $self;
}

# Two fact tables with the same columns.
sub make_facts
{
	my ($self) = @_;
	my @sql;

	foreach my $name ('f1', 'f2')
	{
		my $columns = "id int NOT NULL, k int, a $self->{type}{a}[0], b $self->{type}{b}[0], t text, filler text DEFAULT repeat('x', 300)";
		my $filled = ' WITH (fillfactor = ' . pick(10, 10, 10, 30, 100) . ')';
		my $by = pick('', '', 'range', 'range', 'list', 'hash', 'inherit');
		my $parts = 2 + int rand 5;
		my $step = 1 + int($self->{rows} / $parts);

		push @sql, "DROP TABLE IF EXISTS $name CASCADE";
		if ($by eq '' || $by eq 'inherit')
		{
			push @sql, 'CREATE ' . ($by eq '' ? pick('', '', 'TEMP ', 'UNLOGGED ') : '') . "TABLE $name ($columns)$filled";
			push @sql, map { "CREATE TABLE ${name}_$_ (extra int DEFAULT 3) INHERITS ($name)$filled" } 0 .. 1 if $by eq 'inherit';
		}
		else
		{
			push @sql, "CREATE TABLE $name ($columns) PARTITION BY " . {range => 'RANGE (id)', list => "LIST ((id % $parts))", hash => 'HASH (id)'}->{$by};
			foreach my $i (0 .. $parts - 1)
			{
				my $bounds = {range => 'FROM (' . $i * $step . ') TO (' . ($i + 1) * $step . ')', list => "IN ($i)", hash => "WITH (modulus $parts, remainder $i)"}->{$by};
				# A partition whose columns are in another order.
				push @sql, chance(0.2) ? ("CREATE TABLE ${name}_$i (b $self->{type}{b}[0], gone int, t text, filler text DEFAULT repeat('x', 300), id int NOT NULL, a $self->{type}{a}[0], k int)$filled",
					"ALTER TABLE ${name}_$i DROP gone", "ALTER TABLE $name ATTACH PARTITION ${name}_$i FOR VALUES $bounds") : "CREATE TABLE ${name}_$i PARTITION OF $name FOR VALUES $bounds$filled";
			}
			push @sql, "CREATE TABLE ${name}_rest PARTITION OF $name DEFAULT" if $by ne 'hash';
		}
		push @{$self->{facts}}, {name => $name, by => $by};
		push @sql, $self->insert_facts($name, 0, $self->{rows} - 1);
		push @sql, map { $self->insert_facts("${name}_$_", 1000 + 100 * $_, 1000 + 100 * $_ + 60) } $by eq 'inherit' ? (0, 1) : ();
		push @sql, map { $self->index_on($_) } $name, $by eq 'inherit' ? ("${name}_0", "${name}_1") : ();
	}
	return @sql;
}

sub insert_facts
{
	my ($self, $name, $first, $last) = @_;
	my $k = "i / $self->{same} % $self->{keys}";
	my $null = pick(0, 0, 13, 50);
	my $key = $null ? "CASE WHEN i % $null = 3 THEN NULL ELSE $k END" : $k;
	return "INSERT INTO $name (id, k, a, b, t) SELECT i, $k, " . value($self->{type}{a}, $key) . ', ' . value($self->{type}{b}, $k) . ", 'T' || $k FROM generate_series($first, $last) i";
}

sub index_on
{
	my ($self, $name) = @_;
	my $class = sub { defined $self->{type}{$_[0]}[2] ? "$_[0] $self->{type}{$_[0]}[2]" : $_[0]; };
	my @columns = map { chance(0.85) ? pick([$class->('a')], [$class->('a')], [$class->('a'), $class->('b')], [$class->('b')], ['k'], ['(k + 1)'], ['lower(t)', $class->('a')], ['t']) : () } 1 .. 3;
	my %seen;
	return map { "CREATE INDEX ON $name USING bf (" . join(', ', @$_) . ') WITH (pages_per_range = ' . pick(1, 1, 2, 4) . (chance(0.2) ? ', false_positive_rate = 0.1' : '') . (chance(0.2) ? ', levels = 1' : '') . ')' .
		(chance(0.1) ? ' WHERE ' . pick('k > 10', 'a IS NOT NULL', 'id >= 0') : '') } grep { !$seen{"@$_"}++ } [$class->('a')], @columns;
}

# Dimensions. Their columns x and y have the types of the columns a and b of the facts, or other types of the same
# families; z is the integer that x and y are made of.
sub make_dimensions
{
	my ($self) = @_;
	my @sql;

	foreach my $name ('d1', 'd2', 'd3')
	{
		my ($x, $y) = (pick(@{$self->{a}}), pick(@{$self->{b}}));
		my $count = pick(1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 5, 5, 10, 30, 100, 0);
		push @sql, "DROP TABLE IF EXISTS $name CASCADE", "CREATE TABLE $name (id int, x $x->[0], y $y->[0], z int, filler text)";
		push @{$self->{dimensions}}, {name => $name, x => $x, y => $y};
		push @sql, $self->insert_dimension($self->{dimensions}[-1], $count) if $count;
		push @sql, "ALTER TABLE $name ADD PRIMARY KEY (id)" if chance(0.3);
	}
	# The table w has the keys 0 to 799. No fact has those far above {keys}, so a search for them finds nothing.
	my ($x, $y) = (pick(@{$self->{a}}), pick(@{$self->{b}}));
	push @sql, 'DROP TABLE IF EXISTS w CASCADE', "CREATE TABLE w (id int, x $x->[0], y $y->[0], z int, filler text)", 'INSERT INTO w SELECT i, ' . value($x, 'i') . ', ' . value($y, 'i') . ", i, '' FROM generate_series(0, 799) i";
	return @sql;
}

sub insert_dimension
{
	my ($self, $dimension, $count) = @_;
	my $from = int rand($self->{keys});
	my $spread = pick(1, 1, 1, 1, 2, 7, $self->{keys});
	# 100 keys with large distances must still be valid values of int2 and of the address types.
	my $z = chance(0.15) ? "$from + i * 300" : chance(0.25) ? "(CASE WHEN i % 3 <> 1 THEN ($from + i / 2 * $spread) % $self->{keys} END)" : "($from + i / " . pick(1, 2) . " * $spread) % $self->{keys}";
	my $id = 'i + ' . int(rand 1e8);
	return "INSERT INTO $dimension->{name} SELECT $id, " . value($dimension->{x}, $z) . ', ' . value($dimension->{y}, $z) . ", $z, " . pick("''", "''", "repeat('y', 400)") . " FROM generate_series(1, $count) i";
}

# A statement that changes a table, its indexes, or what the indexes know.
sub change
{
	my ($self) = @_;
	my $fact = pick(@{$self->{facts}})->{name};
	my $dimension = pick(@{$self->{dimensions}});
	my $kind = rand();
	my $from = int rand($self->{rows});
	my $some = "id BETWEEN $from AND $from + " . int rand 30;
	my $k = int rand($self->{keys} * 1.2);

	return $self->insert_facts($fact, $from, $from + int rand 40) if $kind < 0.15;
	return "UPDATE $fact SET k = $k, a = " . value($self->{type}{a}, $k) . " WHERE $some" if $kind < 0.25;
	return "UPDATE $fact SET b = NULL, t = 'T$k' WHERE $some" if $kind < 0.3;
	return "DELETE FROM $fact WHERE $some" if $kind < 0.35;
	return $self->insert_dimension($dimension, 1 + int rand 3) if $kind < 0.42;
	return "DELETE FROM $dimension->{name} WHERE z % 3 = " . int rand 3 if $kind < 0.55;
	return "VACUUM $fact" if $kind < 0.62;
	return "ANALYZE $fact, $dimension->{name}" if $kind < 0.7;
	return "REINDEX TABLE $fact" if $kind < 0.73;
	return ($self->index_on($fact))[0] // 'SELECT 1' if $kind < 0.78;
	return "DROP INDEX IF EXISTS ${fact}_a_idx" if $kind < 0.8;
	return "ALTER TABLE $fact ALTER k TYPE int8" if $kind < 0.81;
	return "SELECT bf_summarize_new_values(index) FROM indexes('$fact')" if $kind < 0.9;
	return "SELECT bf_desummarize_range(index, b) FROM indexes('$fact'), generate_series(0, pg_relation_size(heap) / 8192 - 1, " . pick(1, 3, 7) . ') b';
}

1;
