# DifferChanges.pm: changes of a DifferSchema: of rows, tables, indexes, partitions. Each change is a word for the
# counts and a list of statements. The model is changed too.
#
#   my ($what, @sql) = DifferChanges::rows($relation);        # INSERT, UPDATE, DELETE, MERGE, COPY
#   my ($what, @sql) = DifferChanges::keep($relation);        # summaries, VACUUM, REINDEX, ...: hardly a row changes
#   my ($what, @sql) = DifferChanges::alter($relation);       # columns, partitions, TRUNCATE; {undo} of the
#                                                             # relation mends the model if a statement fails
#
# In a transaction block the statements of rows() are allowed, and of the others only those of transactional().
package DifferChanges;

use strict;
use warnings;

use DifferSchema;
use DifferTypes;
use StreambloomTap;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

sub some_ids
{
	my ($relation) = @_;
	my $from = int rand $relation->{next};
	my $kind = rand();
	return "id BETWEEN $from AND " . ($from + int rand 30) if $kind < 0.6;
	return "id IN ($from, " . int(rand $relation->{next}) . ', ' . int(rand $relation->{next}) . ')' if $kind < 0.8;
	return "id % 50 = " . int rand 50;
}

sub some_column { return pick(@{$_[0]{columns}}); }

# A condition that may use an index.
sub by_value
{
	my ($relation) = @_;
	my $thing = pick(DifferSchema::things(some_column($relation)));
	(my $sql = $thing->{sql}) =~ s/\x01//g;
	return "$sql = " . DifferSchema::thing_literal($relation, $thing);
}

sub target { return $_[0]{base} // $_[0]{name}; }

sub new_value
{
	my ($relation, $column) = @_;
	my $i = chance(0.5) ? 'id + ' . int rand 10000 : int rand 10000;
	return 'NULL' if chance(0.1);
	return DifferSchema::literal($relation, $column) if chance(0.5);
	(my $hash = $column->{hash_sql}) =~ s/%i/($i)/g;
	return DifferTypes::value($column->{type}, $hash);
}

my @files;

sub rows
{
	my ($relation, %option) = @_;
	my $target = target($relation);
	my $kind = int rand 13;
	my $column = some_column($relation);
	my $set = "$column->{name} = " . new_value($relation, $column);

	return ('INSERT of many rows', DifferSchema::insert($relation, 30 + int rand 120, one => 1)) if $kind <= 1;
	return ('INSERT of a few rows', DifferSchema::insert($relation, 1 + int rand 5, one => 1)) if $kind == 2;
	return ('UPDATE', "UPDATE $target SET $set WHERE " . some_ids($relation)) if $kind <= 4;
	return ('UPDATE of what has no index', "UPDATE $target SET pad = repeat('y', " . int(rand 120) . ') WHERE ' . some_ids($relation)) if $kind == 5;
	return ('UPDATE by a value', "UPDATE $target SET $set WHERE " . by_value($relation)) if $kind == 6;
	# PostgreSQL does not check that the rows of a foreign table stay within the bounds of the partition.
	return ('UPDATE of the partition key', "UPDATE $target SET k = " . int(rand $relation->{count}) . ' WHERE ' . some_ids($relation)) if $kind == 7 && $relation->{kind} ne 'foreign';
	return ('DELETE', "DELETE FROM $target WHERE " . some_ids($relation)) if $kind == 8;
	return ('DELETE by a value', "DELETE FROM $target WHERE " . by_value($relation) . ' AND id % 3 > 0') if $kind == 9;
	if ($kind == 10 && chance(0.3))
	{
		my $from = int rand $relation->{next};
		return ('DELETE of a part', "DELETE FROM $target WHERE id BETWEEN $from AND $from + 80");
	}
	if ($kind == 11 && $relation->{kind} ne 'foreign' && $relation->{has_key} && $relation->{kind} ne 'materialized')
	{
		my ($insert) = DifferSchema::insert($relation, 20, one => 1);
		my $back = int rand 20;
		$insert =~ s/SELECT i,/SELECT i - $back,/;
		return ('ON CONFLICT', "$insert ON CONFLICT (id) DO UPDATE SET $column->{name} = excluded.$column->{name}");
	}
	if ($kind == 12 && $relation->{kind} ne 'foreign' && $relation->{kind} ne 'inherited')
	{
		my $low = int rand $relation->{next};
		return ('MERGE', "MERGE INTO $target m USING generate_series($low, $low + 20) s (i) ON m.id = s.i WHEN MATCHED AND i % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET $set");
	}
	if ($relation->{files} && $relation->{kind} ne 'inherited')
	{
		my ($insert) = DifferSchema::insert($relation, 100, one => 1);
		my ($columns, $select) = $insert =~ /^INSERT INTO \S+ (\(.*?\)) (SELECT .*)$/s;
		my $file = "$relation->{files}/copy." . $files[0]++ % 4;
		return ('COPY', "COPY ($select) TO '$file'", "COPY $target $columns FROM '$file'");
	}
	return ('INSERT of a few rows', DifferSchema::insert($relation, 30, one => 1));
}

sub some_leaf { return pick(DifferSchema::leaves($_[0], detached => 1)); }
sub some_table { my ($relation) = @_; return chance(0.5) && $relation->{kind} ne 'inherited' && $relation->{kind} ne 'foreign' ? $relation->{name} : some_leaf($relation); }
sub block { return chance(0.7) ? int rand 60 : int rand 3; }
sub number { return chance(0.4) ? '' : ', ' . int rand 100; }

# The word CONCURRENTLY, unless the schema does without such index builds.
sub concurrently { return $_[0]{no_concurrently} ? '' : 'CONCURRENTLY'; }

# Changes of indexes and of how rows are stored. Rows change only by REFRESH of a materialized view, and with an
# unfinished index, after which rows are inserted.
sub keep
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $block = block();
	my $n = number();
	my $kind = int rand 25;

	return ('bf_summarize_new_values', "SELECT differ.each('$name', 'SELECT bf_summarize_new_values(%L)'$n)") if $kind <= 2;
	return ('bf_summarize_range', "SELECT differ.each('$name', 'SELECT bf_summarize_range(%L, $block)'$n)") if $kind == 3;
	return ('bf_desummarize_range', "SELECT differ.each('$name', 'SELECT bf_desummarize_range(%L, $block)'$n)") if $kind <= 5;
	return ('forget and summarize', "SELECT differ.each('$name', 'SELECT bf_desummarize_range(%L, b) FROM generate_series(0, 50) b'$n)",
		"SELECT differ.each('$name', 'SELECT bf_summarize_new_values(%L)'$n)") if $kind == 6;
	return ('CALL bf_summarize', "CALL bf_summarize('$name')") if $kind <= 8;
	return ('VACUUM', 'VACUUM (' . pick('INDEX_CLEANUP on', 'FREEZE', 'ANALYZE', 'INDEX_CLEANUP auto', 'TRUNCATE on') . ') ' . some_table($relation)) if $kind <= 10;
	return ('VACUUM FULL', 'VACUUM FULL ' . some_table($relation)) if $kind == 11 && $relation->{kind} ne 'foreign';
	return ('ANALYZE', "ANALYZE $name") if $kind == 12;
	return ('REINDEX', "SELECT differ.each('$name', 'REINDEX INDEX %s'$n)") if $kind == 13;
	return ('REINDEX TABLE', 'REINDEX TABLE ' . pick('', concurrently($relation->{schema})) . ' ' . some_leaf($relation)) if $kind == 14;
	return ('CLUSTER', cluster($relation)) if $kind == 15;
	return ('CREATE INDEX', DifferSchema::create_index($relation)) if $kind == 16;
	return ('CREATE INDEX CONCURRENTLY', grep { defined } (DifferSchema::create_index($relation, some_leaf($relation), how => 'CONCURRENTLY'))[0]) if $kind == 17 && concurrently($relation->{schema});
	return ('DROP INDEX', "DO \$\$ DECLARE i regclass; BEGIN SELECT index INTO i FROM differ.indexes('$name') WHERE index NOT IN (SELECT inhrelid FROM pg_inherits) " .
		'ORDER BY md5(index::text || ' . int(rand 1000) . ") LIMIT 1; IF (SELECT count(*) FROM differ.indexes('$name')) > 1 AND i IS NOT NULL THEN EXECUTE format('DROP INDEX %s', i); END IF; END \$\$")
		if $kind == 18;
	return ('ALTER INDEX SET', "SELECT differ.each('$name', 'ALTER INDEX %s SET (pages_per_range = " . (1 + int rand 4) . ")'$n)") if $kind == 19;
	return ('bf_index_check', "SELECT differ.each('$name', 'SELECT bf_index_check(%L)')") if $kind == 20;
	return ('SET LOGGED', 'ALTER TABLE ' . some_leaf($relation) . ' SET ' . pick('LOGGED', 'UNLOGGED')) if $kind == 21 && !$relation->{schema}{permanent} && ($relation->{kind} eq 'unlogged' || $relation->{kind} eq 'plain');
	return ('CREATE INDEX ON ONLY', only($relation)) if $kind == 22 && $relation->{divided} && $relation->{kind} =~ /partitioned/;
	return ('an index that is not valid', unfinished($relation)) if $kind == 24;
	return ('another index', 'CREATE INDEX ON ' . some_leaf($relation) . ' (' . pick('k', some_column($relation)->{name}) . ')') if $kind == 23 && !$relation->{schema}{bf_only};
	return ('REFRESH', 'REFRESH MATERIALIZED VIEW ' . ($relation->{has_key} && chance(0.5) ? 'CONCURRENTLY ' : '') . $name) if $relation->{kind} eq 'materialized';
	return ('index statistics', "SELECT differ.each('$name', 'SELECT count(*) FROM bf_index_stats(%L)')");
}

# An index of a partitioned table that is invalid until all partitions have theirs. Some of the partitions get one.
sub only
{
	my ($relation) = @_;
	my $name = 'only_' . int rand 1000000;
	my ($index) = DifferSchema::create_index({%$relation, divided => 0}, $relation->{name});
	(my $on_only = $index) =~ s/CREATE INDEX  ON (\S+)/CREATE INDEX $name ON ONLY $1/;
	my @parts = grep { !$_->{foreign} && $_->{attached} && chance(0.7) } @{$relation->{parts}};
	return ($on_only, map { my $on_part = $index; $on_part =~ s/CREATE INDEX  ON \S+/CREATE INDEX ${name}_$_->{k} ON $_->{name}/; ($on_part, "ALTER INDEX $name ATTACH PARTITION ${name}_$_->{k}") } @parts);
}

# The state that CREATE INDEX CONCURRENTLY leaves if it is cancelled early: rows that are written from now on are not
# put into the index.
sub unfinished
{
	my ($relation) = @_;
	my $name = 'unfinished_' . int rand 1000000;
	my ($index) = DifferSchema::create_index($relation, some_leaf($relation));
	$index =~ s/CREATE INDEX  ON/CREATE INDEX $name ON/;
	return ($index, "UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = '$name'::regclass",
		$relation->{kind} eq 'materialized' ? () : DifferSchema::insert($relation, 50, one => 1));
}

sub cluster
{
	my ($relation) = @_;
	my $leaf = some_leaf($relation);
	return () if $relation->{kind} eq 'materialized';
	my $name = "cluster_" . int rand 1000000;
	my @sql = ("CREATE INDEX $name ON $leaf (" . pick('pad', 'id DESC', 'k, id') . ')', "CLUSTER $leaf USING $name");
	# In one transaction, so that no query uses the B-tree.
	return join "\\;\n", @sql, "DROP INDEX $name" if $relation->{schema}{bf_only};
	return (@sql, chance(0.8) ? "DROP INDEX $name" : ());
}

# Changes of the shape of the relation, or of all its rows at once.
sub alter
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $kind = int rand 9;
	my @parts = @{$relation->{parts}};

	# With changed columns a partition that is detached could not be attached again.
	$kind = 5 if $kind >= 1 && $kind <= 4 && grep { !$_->{attached} } @parts;
	delete $relation->{undo};
	if ($kind == 0) { return ('TRUNCATE', 'TRUNCATE ' . some_leaf($relation)) if $relation->{kind} ne 'materialized'; }
	elsif ($kind == 1 && $relation->{kind} ne 'materialized' && $relation->{kind} ne 'foreign')
	{
		my $type = pick(DifferTypes::names());
		my $column = $relation->{schema}->column('d' . ++$relation->{added}, $type);
		push @{$relation->{columns}}, $column;
		$relation->{undo} = sub { pop @{$relation->{columns}} };
		my $default = chance(0.5) ? ' DEFAULT ' . DifferSchema::literal($relation, $column) : '';
		return ('ADD COLUMN', "ALTER TABLE $name ADD COLUMN $column->{name} $column->{type}{ddl}$default", DifferSchema::external($relation, $name), keys_again($relation));
	}
	elsif ($kind == 2 && @{$relation->{columns}} > 1 && $relation->{kind} ne 'materialized' && $relation->{kind} ne 'foreign')
	{
		my ($column) = splice @{$relation->{columns}}, int rand @{$relation->{columns}}, 1;
		$relation->{undo} = sub { push @{$relation->{columns}}, $column };
		return ('DROP COLUMN', "ALTER TABLE $name DROP COLUMN $column->{name} CASCADE", keys_again($relation), DifferSchema::create_index($relation));
	}
	elsif ($kind <= 4 && $relation->{kind} ne 'materialized' && $relation->{kind} ne 'foreign')
	{
		my %other = (smallint => 'bigint', integer => 'bigint', text => 'varchar', varchar => 'text', 'varchar(30)' => 'text', real => 'double precision', 'numeric(12,3)' => 'numeric',
			inet => 'text', date => 'timestamp', timestamp => 'timestamptz', 'text COLLATE "C"' => 'text', name => 'text', bigint_domain => 'bigint', text_domain => 'text', bigint => 'numeric', oid => 'bigint',
			'"char"' => 'text', uuid => 'text', cidr => 'inet', macaddr => 'macaddr8', array_domain => 'integer[]', 'char(12)' => 'text', jsonb => 'text', boolean => 'text', int4range => 'text');
		my @columns = grep { $other{$_->{type}{name}} } @{$relation->{columns}};
		if (@columns)
		{
			my $column = pick(@columns);
			my $type = DifferTypes::type($other{$column->{type}{name}});
			my $was = $column->{type};
			$relation->{undo} = sub { $column->{type} = $was };
			$column->{type} = {%$type};
			return ('ALTER TYPE', "ALTER TABLE $name ALTER $column->{name} TYPE $type->{ddl}" . ($type->{ddl} eq 'text' || chance(0.7) ? " USING $column->{name}::$type->{ddl}" : ''), keys_again($relation));
		}
	}
	elsif ($kind <= 7 && @parts && $relation->{kind} ne 'inherited')
	{
		my $part = pick(@parts);
		my $bound = DifferSchema::bound_clause($relation, $part->{k});
		if ($part->{attached} && $relation->{strategy} ne 'HASH')
		{
			$part->{attached} = 0;
			$relation->{undo} = sub { $part->{attached} = 1 };
			return ('DETACH', "ALTER TABLE $name DETACH PARTITION $part->{name}" . (chance(0.4) && !$relation->{with_default} ? ' CONCURRENTLY' : ''));
		}
		elsif (!$part->{attached})
		{
			$part->{attached} = 1;
			$relation->{undo} = sub { $part->{attached} = 0 };
			return ('ATTACH', ($relation->{with_default} ? "DELETE FROM $name WHERE k = $part->{k}" : ()), "ALTER TABLE $name ATTACH PARTITION $part->{name} $bound");
		}
	}
	elsif ($relation->{kind} eq 'inherited')
	{
		my $part = pick(@parts);
		$part->{attached} = !$part->{attached};
		$relation->{undo} = sub { $part->{attached} = !$part->{attached} };
		return ('INHERIT', "ALTER TABLE $part->{name} " . ($part->{attached} ? '' : 'NO ') . "INHERIT $name");
	}
	return ('INSERT of many rows', DifferSchema::insert($relation, 100, one => 1)) if $relation->{kind} ne 'materialized';
	return keep($relation);
}

sub keys_again
{
	my ($relation) = @_;
	return ("DROP TABLE $relation->{name}_keys", DifferSchema::keys_table($relation));
}

# Changes that are allowed in a transaction block and leave the model as it is.
sub transactional
{
	my ($relation) = @_;
	my $kind = rand();
	return rows($relation) if $kind < 0.75 || $relation->{kind} eq 'materialized';
	return ('TRUNCATE', 'TRUNCATE ' . some_leaf($relation)) if $kind < 0.8;
	return ('REINDEX', "SELECT differ.each('$relation->{name}', 'REINDEX INDEX %s'" . number() . ')') if $kind < 0.85;
	return ('bf_summarize_new_values', "SELECT differ.each('$relation->{name}', 'SELECT bf_summarize_new_values(%L)')") if $kind < 0.93;
	return ('CREATE INDEX', DifferSchema::create_index($relation)) if $kind < 0.97;
	return ('CLUSTER', cluster($relation));
}

1;
