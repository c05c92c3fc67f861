# DifferSchema.pm: random relations with bf indexes. A DifferSchema is a model of a schema in the database. It knows
# the relations and their columns, so that DifferChanges.pm can change them and DifferQueries.pm can ask about values
# that exist.
#
#   my $schema = DifferSchema->new(number => 1, kinds => [...]);
#   foreach ($schema->create) { ...run it... }
#
# A relation (a hash) has a name, a kind, columns, parts (its partitions or children, each with whether it is attached)
# and "next", the number of the next row. Row i has the id i. In a column c it has the value with the number hash(i),
# so values can be computed again from the numbers of rows. The only outside input is rand(): the same seed makes the
# same schema.
package DifferSchema;

use strict;
use warnings;

use DifferTypes;

our @kinds = ('plain', 'plain', 'unlogged', 'temporary', 'partitioned', 'partitioned', 'partitioned', 'sub-partitioned', 'sub-partitioned', 'inherited', 'materialized', 'foreign');

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }
sub shuffled
{
	my @list = @_;
	foreach my $i (reverse 1 .. $#list)
	{
		my $j = int rand($i + 1);
		@list[$i, $j] = @list[$j, $i];
	}
	return @list;
}

sub new
{
	my ($class, %option) = @_;
	my $self = bless {kinds => \@kinds, relations => [], %option}, $class;
	$self->{name} = "s$self->{number}";
	$self->{parts} = $option{parts};
	foreach my $number (1 .. $self->{relations_wanted} // (chance(0.3) ? 2 : 1))
	{
		push @{$self->{relations}}, $self->relation("r$number", pick(@{$self->{kinds}}));
	}
	return $self;
}

# How the number of a value follows from the number of its row: as SQL with %i, and as Perl. If equal values lie
# together in the table, ranges and partitions can be skipped.
sub hashing
{
	my ($wide) = @_;
	my $few = $wide ? 40 : 20 + int rand 500;
	my $width = 2 + int rand 50;
	my $factor = pick(7919, 31, 104729);

	my $chosen = pick(
		['%i', sub { $_[0] }, 'unique'],
		["%i / $width", sub { int($_[0] / $width) }, 'together'],
		["%i / $width", sub { int($_[0] / $width) }, 'together'],
		["%i * $factor % $few", sub { $_[0] * $factor % $few }, 'scattered'],
		['%i % 5', sub { $_[0] % 5 }, 'five']);
	return @$chosen;
}

sub column
{
	my ($self, $name, $type_name) = @_;
	$type_name //= pick(chance(0.3) ? ('bigint', 'integer', 'text', 'boolean', 'wide') : DifferTypes::names());
	my $type = DifferTypes::type($type_name);
	my ($sql, $perl, $how) = hashing($type->{external});
	my $nulls = $type->{external} ? 70 : pick(0, 0, 3, 20);
	return {name => $name, type => $type, hash_sql => $sql, hash => $perl, how => $how, nulls => $nulls, specials => chance(0.6) ? pick(1, 10) : 0};
}

# The value of a column in row %i, as SQL.
sub column_sql
{
	my ($column, $i) = @_;
	(my $hash = $column->{hash_sql}) =~ s/%i/$i/g;
	my $type = $column->{type};
	my $sql = '';
	$sql .= "WHEN $i * 31 % 97 < $column->{nulls} THEN NULL " if $column->{nulls};
	my @special = @{$type->{special}};
	$sql .= "WHEN $i * 17 % 83 < $column->{specials} THEN CASE $i % " . scalar(@special) . join('', map { " WHEN $_ THEN $special[$_]::$type->{cast}" } 0 .. $#special) . ' END ' if $column->{specials};
	my $value = DifferTypes::value($type, "($hash)");
	return $sql ? "CASE ${sql}ELSE $value END" : $value;
}

# A literal of the value that row i has, or of a special value. There may never have been a row i.
sub literal
{
	my ($relation, $column, $i) = @_;
	return pick(@{$column->{type}{special}}) . "::$column->{type}{cast}" if chance(0.1);
	$i //= some_row($relation);
	return DifferTypes::value($column->{type}, $column->{hash}->($i));
}

sub some_row
{
	my ($relation) = @_;
	return chance(0.15) ? $relation->{next} + int rand 5000 : int rand $relation->{next};
}

# The things that can be indexed and asked about: the column, and expressions over it. The byte 1 in {sql} stands where
# the name of the relation may go. Literals of an expression are made from literals of the column.
sub things
{
	my ($column) = @_;
	my $type = $column->{type};
	my @things = {sql => "\x01$column->{name}", column => $column, type => $type->{cast}, family => $type->{family} // '', plain => 1};
	foreach (@{$type->{expressions}})
	{
		my ($sql, $result) = @$_;
		(my $here = $sql) =~ s/%c/\x01$column->{name}/g;
		push @things, {sql => $here, column => $column, type => $result, pattern => $sql, plain => 0,
			family => $result =~ /int/ ? 'integer' : $result eq 'text' ? 'text' : $result =~ /^(?:real|double)/ ? 'float' : ''};
	}
	return @things;
}

sub thing_literal
{
	my ($relation, $thing, $i) = @_;
	my $literal = literal($relation, $thing->{column}, $i);
	return $literal if !$thing->{pattern};
	(my $sql = $thing->{pattern}) =~ s/%c/($literal)/g;
	return $sql;
}

# A thing is a column or an expression over it (see things()). Returns an operator for keys inside its values, and the
# operator's right side, made from the number of a row. Returns nothing if there is no such operator.
sub key_condition
{
	my ($relation, $thing, $i) = @_;
	return DifferTypes::key_condition($thing->{type}, $thing->{column}{hash}->($i // some_row($relation)));
}

sub relation
{
	my ($self, $name, $kind) = @_;
	my $relation = {name => $name, kind => $kind, next => 0, added => 0, parts => [], schema => $self,
		divisor => pick(1, 40 + int rand 150), padding => pick(90, 90, 90, 700), count => pick(2, 2, 2, 3, 3, 5)};
	$relation->{columns} = [map { $self->column("c$_") } 1 .. 1 + int rand 4];
	$relation->{divided} = $kind =~ /partitioned|foreign|inherited/;
	$relation->{strategy} = pick('LIST', 'RANGE', 'HASH');
	$relation->{strategy} = 'LIST' if $kind eq 'foreign' || $self->{no_hash} && $relation->{strategy} eq 'HASH';
	return $relation;
}

sub bound
{
	my ($relation, $k) = @_;
	my $count = $relation->{count};
	return "WITH (MODULUS $count, REMAINDER $k)" if $relation->{strategy} eq 'HASH';
	return $k == $count - 1 && $relation->{with_default} ? 'DEFAULT' : $relation->{strategy} eq 'LIST' ? "IN ($k)" : "FROM ($k) TO (" . ($k + 1) . ')';
}

sub bound_clause
{
	my ($relation, $k) = @_;
	my $bound = bound($relation, $k);
	return $bound eq 'DEFAULT' ? $bound : "FOR VALUES $bound";
}

sub column_list
{
	my ($relation, @columns) = @_;
	return map { "$_->{name} $_->{type}{ddl}" . ($_->{type}{external} ? '' : '') } @columns;
}

# Options of a table. A low fillfactor leaves few rows on many pages: questions are quick, there are many ranges, and
# dead rows lie beside new ones.
sub table_options { return ' WITH (' . join(', ', 'autovacuum_enabled = ' . 'off', 'fillfactor = ' . pick(10, 10, 10, 20, 40, 100)) . ')'; }

sub create
{
	my ($self) = @_;
	my @sql = ("CREATE SCHEMA $self->{name}", "GRANT USAGE ON SCHEMA $self->{name} TO PUBLIC", "SET search_path = $self->{name}, public");
	foreach my $relation (@{$self->{relations}})
	{
		push @sql, create_relation($self, $relation);
		push @sql, map { create_index($relation) } 1 .. 1 + int rand 3;
	}
	return @sql;
}

sub external
{
	my ($relation, $table) = @_;
	return map { "ALTER TABLE $table ALTER $_->{name} SET STORAGE EXTERNAL" } grep { $_->{type}{external} } @{$relation->{columns}};
}

sub create_relation
{
	my ($self, $relation) = @_;
	my ($name, $kind) = @$relation{'name', 'kind'};
	my @list = ('id bigint NOT NULL', 'k int NOT NULL', column_list($relation, @{$relation->{columns}}), "pad text");
	my $list = join ', ', @list;
	my @sql;
	my $rows = $self->{rows} // (chance(0.1) ? 500 + int rand 2500 : 100 + int rand 500);

	if ($kind eq 'plain' || $kind eq 'unlogged' || $kind eq 'temporary')
	{
		my $word = {plain => '', unlogged => 'UNLOGGED', temporary => 'TEMPORARY'}->{$kind};
		push @sql, "CREATE $word TABLE $name ($list)" . table_options() . ($kind eq 'temporary' && chance(0.25) ? ' ON COMMIT DELETE ROWS' : ''), external($relation, $name);
		push @sql, "CREATE UNIQUE INDEX ${name}_key ON $name (id)" if $relation->{has_key} = !$self->{bf_only} && chance(0.6);
	}
	elsif ($kind eq 'materialized')
	{
		push @sql, "CREATE TABLE ${name}_base ($list)", external($relation, "${name}_base");
		$relation->{base} = "${name}_base";
	}
	elsif ($kind eq 'inherited')
	{
		push @sql, "CREATE TABLE $name ($list)" . table_options(), external($relation, $name);
		foreach my $k (0 .. $relation->{count} - 1)
		{
			push @sql, "CREATE TABLE ${name}_$k (extra int DEFAULT $k) INHERITS ($name)" . table_options();
			push @{$relation->{parts}}, {name => "${name}_$k", k => $k, attached => 1};
		}
	}
	else
	{
		my $by = $relation->{strategy};
		$relation->{with_default} = $by ne 'HASH' && !$self->{no_default} && chance(0.3);
		push @sql, "CREATE TABLE $name ($list) PARTITION BY $by (k)";
		foreach my $k (0 .. $relation->{count} - 1)
		{
			my $part = {name => "${name}_$k", k => $k, attached => 1};
			push @{$relation->{parts}}, $part;
			if ($kind eq 'sub-partitioned' && chance(0.6))
			{
				$part->{divided} = 1;
				push @sql, other_order($relation, $part->{name}, 'PARTITION BY ' . ($self->{by_id} // pick('HASH', 'HASH')) . ' (id)');
				foreach my $sub (0 .. 1)
				{
					my $deep = "$part->{name}_$sub";
					push @{$part->{parts}}, $deep;
					push @sql, other_order($relation, $deep, table_options()), "ALTER TABLE $part->{name} ATTACH PARTITION $deep FOR VALUES WITH (MODULUS 2, REMAINDER $sub)";
				}
				push @sql, "ALTER TABLE $name ATTACH PARTITION $part->{name} " . bound_clause($relation, $k);
			}
			elsif ($kind eq 'foreign' && $k == 0)
			{
				$part->{foreign} = 1;
				push @sql, "CREATE TABLE ${name}_remote ($list)" . table_options(),
					"CREATE FOREIGN TABLE $part->{name} PARTITION OF $name FOR VALUES IN (0) SERVER loopback OPTIONS (schema_name '$self->{name}', table_name '${name}_remote'" .
					(chance(0.4) ? ", async_capable 'true'" : '') . ')';
				push @sql, create_index($relation, "${name}_remote") if chance(0.5);
			}
			elsif (chance(0.4))
			{
				push @sql, other_order($relation, $part->{name}, table_options()), "ALTER TABLE $name ATTACH PARTITION $part->{name} " . bound_clause($relation, $k);
			}
			else
			{
				push @sql, "CREATE TABLE $part->{name} PARTITION OF $name " . bound_clause($relation, $k) . table_options();
			}
			push @sql, external($relation, $part->{name}) if !$part->{foreign};
		}
	}
	# Some indexes are made before the rows, some afterwards.
	push @sql, create_index($relation) if $kind ne 'materialized' && chance(0.4);
	push @sql, insert($relation, $rows);
	push @sql, "CREATE MATERIALIZED VIEW $name" . table_options() . " AS SELECT * FROM $relation->{base}" if $kind eq 'materialized';
	push @sql, "CREATE UNIQUE INDEX ON $name (id)" if $kind eq 'materialized' && ($relation->{has_key} = !$self->{bf_only} && chance(0.5));
	push @sql, keys_table($relation);
	# Indexes of other kinds, which are used beside these.
	push @sql, map { "CREATE INDEX ON $_ USING " . pick('btree', 'btree', 'hash') . ' (' . pick('k', 'id', pick(@{$relation->{columns}})->{name}) . ')' } leaves($relation) if chance(0.25) && !$self->{bf_only};
	push @sql, views($relation) if chance(0.25);
	return @sql;
}

# Views through which the relation is asked, too.
sub views
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $columns = join ', ', 'id', 'k', (map { $_->{name} } @{$relation->{columns}}), 'pad';
	$relation->{views} = ["${name}_barrier", "${name}_both", "${name}_some"];
	return ("CREATE VIEW ${name}_barrier WITH (security_barrier) AS SELECT $columns FROM $name WHERE id % 5 > 0 AND length(pad) >= 0",
		"CREATE VIEW ${name}_both AS SELECT $columns FROM $name WHERE id % 2 = 0 UNION ALL SELECT $columns FROM $name WHERE k = 0",
		"CREATE VIEW ${name}_some AS SELECT DISTINCT $columns FROM $name WHERE k >= 0");
}

# A table whose columns are in another order; one column was dropped.
sub other_order
{
	my ($relation, $name, $tail) = @_;
	my @list = column_list($relation, @{$relation->{columns}});
	@list = shuffled(@list);
	@list = ('pad text', @list, 'gone int DEFAULT 5', 'k int NOT NULL', 'id bigint NOT NULL');
	return ("CREATE TABLE $name (" . join(', ', @list) . ") $tail", "ALTER TABLE $name DROP COLUMN gone", external($relation, $name));
}

# A table of values to join with: some are those of rows that exist, some are not.
sub keys_table
{
	my ($relation) = @_;
	my @columns = map { column_sql($_, 'i') . " AS $_->{name}" } @{$relation->{columns}};
	my $step = 1 + int($relation->{next} / 13);
	return ("CREATE TABLE $relation->{name}_keys AS SELECT n, i % 7 AS small, " . join(', ', @columns) . " FROM (SELECT n, (n * $step)::bigint AS i FROM generate_series(0, 15) n) s",
		"GRANT SELECT ON $relation->{name}_keys TO PUBLIC", "ANALYZE $relation->{name}_keys");
}

sub k_sql
{
	my ($relation, $i) = @_;
	return "($i / $relation->{divisor} % $relation->{count})::int";
}

# An INSERT of more rows.
sub insert
{
	my ($relation, $rows, %option) = @_;
	my $from = $relation->{next};
	my $to = $from + $rows - 1;
	my @columns = @{$relation->{columns}};
	my $target = $relation->{base} // $relation->{name};
	my $where = '';

	$relation->{next} = $to + 1;
	if ($relation->{kind} eq 'inherited')
	{
		my $part = pick({name => $relation->{name}}, @{$relation->{parts}});
		$target = $part->{name};
		# Many rows at once go to all children.
		if ($rows > 100 && !$option{one})
		{
			return map { rows($relation, $relation->{parts}[$_]{name}, $from, $to, 'WHERE i ' . "/ $relation->{divisor} % $relation->{count} = $_") } 0 .. $relation->{count} - 1;
		}
	}
	return rows($relation, $target, $from, $to, '');
}

sub rows
{
	my ($relation, $target, $from, $to, $where) = @_;
	my @columns = @{$relation->{columns}};
	# No rows for partitions that are detached.
	my @missing = map { $_->{k} } grep { !$_->{attached} } @{$relation->{parts}};
	if (@missing && $relation->{kind} ne 'inherited')
	{
		$where = 'WHERE ' . k_sql($relation, 'i') . ' NOT IN (' . join(', ', @missing) . ')';
	}
	return "INSERT INTO $target (" . join(', ', 'id', 'k', (map { $_->{name} } @columns), 'pad') . ') SELECT i, ' . k_sql($relation, 'i') . ', ' .
		join('', map { column_sql($_, 'i') . ', ' } @columns) . "repeat('x', (i * 13 % $relation->{padding})::int) FROM generate_series($from\::bigint, $to) i $where";
}

# The tables that have storage: all of them, or those that belong to the relation now.
sub leaves
{
	my ($relation, %option) = @_;
	my @parts = grep { !$_->{foreign} && ($option{detached} || $_->{attached}) } @{$relation->{parts}};
	my @leaves = map { $_->{parts} ? @{$_->{parts}} : $_->{name} } @parts;
	push @leaves, $relation->{name} if !@{$relation->{parts}} || $relation->{kind} eq 'inherited';
	return @leaves;
}

# CREATE INDEX on a relation or on one of its tables, over columns and expressions, sometimes partial.
sub create_index
{
	my ($relation, $table, %option) = @_;
	my @things = map { things($_) } @{$relation->{columns}};
	my @plain = grep { $_->{plain} } @things;
	my @chosen = map { chance(0.7) ? pick(@plain) : pick(@things) } 1 .. pick(1, 1, 2, 3);
	my %seen;
	@chosen = grep { !$seen{$_->{sql}}++ } @chosen;
	my $list = join ', ', map { my @classes = DifferTypes::classes($_->{type}); ($_->{sql} =~ s/\x01//gr) . (@classes && chance(0.4) ? ' ' . pick(@classes) : '') } @chosen;
	my $where = '';
	if (chance(0.2))
	{
		my $thing = pick(@plain);
		(my $sql = $thing->{sql}) =~ s/\x01//g;
		my $condition = predicate($relation, $thing, $sql);
		$relation->{predicates}{$condition} = 1;
		$where = "WHERE $condition";
	}
	my $options = 'pages_per_range = ' . pick(1, 1, 2, 3, 4) . (chance(0.3) ? ', false_positive_rate = ' . pick(0.5, 0.1, 0.00001) : '');
	my @tables = $table // ($relation->{kind} eq 'inherited' || $relation->{kind} eq 'foreign' || $relation->{divided} && chance(0.2) ? (leaves($relation)) : $relation->{name});
	@tables = grep { chance(0.8) } @tables if @tables > 1;
	return map { my $how = $option{how} // ''; "CREATE INDEX $how ON $_ USING bf ($list) WITH ($options) $where" } @tables;
}

sub predicate
{
	my ($relation, $thing, $sql) = @_;
	my $kind = rand();
	return $thing->{type} eq 'boolean' ? pick($sql, "NOT $sql", "$sql IS TRUE") : "$sql IS NOT NULL" if $kind < 0.4;
	return "$sql IS NULL" if $kind < 0.5;
	return 'id % 2 = 0' if $kind < 0.75;
	return "$sql = " . thing_literal($relation, $thing) if $kind < 0.85;
	return "id > " . int(rand $relation->{next});
}

1;
