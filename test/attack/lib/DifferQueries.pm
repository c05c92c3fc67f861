# DifferQueries.pm: questions about the relations of a DifferSchema, for DifferRun::compare().
#
#   my $question = DifferQueries::question($run, $relation, %option);
#
# Most conditions can be answered by a bf index; others cannot, and are combined with them. The values are those of
# rows that exist, of rows that never existed, NULL, and special ones. Options: rls => a role to which row-level
# security applies.
package DifferQueries;

use strict;
use warnings;

use DifferSchema;
use DifferTypes;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

sub things { return map { DifferSchema::things($_) } @{$_[0]{columns}}; }
sub plain_things { return grep { $_->{plain} } things($_[0]); }
sub some_thing { my ($relation) = @_; return chance(0.75) ? pick(plain_things($relation)) : pick(things($relation)); }
sub at { my ($thing, $alias) = @_; return $thing->{sql} =~ s/\x01/$alias/gr; }

# A value to compare with, written in one of several ways.
sub value
{
	my ($relation, $thing) = @_;
	my $literal = DifferSchema::thing_literal($relation, $thing);
	my $kind = rand();

	return 'NULL' . (chance(0.5) ? "::$thing->{type}" : '') if $kind < 0.03;
	return "(SELECT $literal)" if $kind < 0.1;
	return "(SELECT max(v) FROM (VALUES ($literal)) q (v))" if $kind < 0.12 && $thing->{family} eq 'integer';
	return "coalesce(NULL, $literal)" if $kind < 0.15;
	if ($thing->{family} eq 'integer' && $kind < 0.5)
	{
		my $number = number($relation, $thing);
		return pick($number, "'$number'", "($number)::bigint", "($number)::numeric::bigint", "($number % 30000)::smallint", "($number % 30000)::int", "($number)::numeric", "($number)::float8");
	}
	return pick("($literal)::real", "($literal)::double precision", "($literal)::numeric") if $thing->{family} eq 'float' && $kind < 0.4;
	return pick("($literal)::text", "($literal)::name", "($literal)::varchar", "($literal)::text COLLATE \"C\"", "($literal)::bpchar") if $thing->{family} eq 'text' && $kind < 0.4;
	return $literal;
}

sub number
{
	my ($relation, $thing) = @_;
	my $column = $thing->{column};
	my $number = $column->{hash}->(DifferSchema::some_row($relation));
	$number %= 30000 if $column->{type}{name} eq 'smallint';
	return pick($number, $number, $number % 101, $number + 1, 32768, -1);
}

# A condition about keys inside the values of a column or expression.
sub key_condition
{
	my ($relation, $thing, $sql, $operator, $value) = @_;
	my $kind = rand();
	my (undef, $other) = DifferTypes::key_condition($thing->{type}, 7);
	return "$sql $operator NULL" if $kind < 0.03;
	return "$sql $operator (SELECT $value)" if $kind < 0.15;
	return "NOT $sql $operator $value" if $kind < 0.2;
	return "($sql $operator $value) IS " . pick('TRUE', 'NOT TRUE', 'FALSE') if $kind < 0.3;
	return "$value <@ $sql" if $operator eq '@>' && $kind < 0.4;
	return "$sql $operator ANY (ARRAY[$value, " . pick('NULL', $value) . '])' if $kind < 0.55 && $value !~ /ARRAY|\[\]|^'h/;
	return "$sql $operator $value";
}

# A condition about one column or expression.
sub simple
{
	my ($relation, $alias, $thing) = @_;
	$thing //= some_thing($relation);
	my $sql = at($thing, $alias);
	my $kind = int rand 24;
	my @keys = DifferSchema::key_condition($relation, $thing);

	return key_condition($relation, $thing, $sql, @keys) if @keys && chance(0.6);
	if ($thing->{type} eq 'boolean' && chance(0.6))
	{
		return pick($sql, "NOT $sql", "$sql IS TRUE", "$sql IS NOT TRUE", "$sql IS FALSE", "$sql IS NOT FALSE", "$sql IS UNKNOWN", "$sql = true", "$sql <> true", "$sql = ANY ('{t,NULL}')");
	}
	return "$sql = " . value($relation, $thing) if $kind <= 7;
	return value($relation, $thing) . " = $sql" if $kind == 8;
	return "$sql IS NULL" if $kind == 9;
	return "$sql IS NOT NULL AND $sql = " . value($relation, $thing) if $kind == 10;
	return "$sql IN (" . join(', ', map { value($relation, $thing) } 1 .. 1 + int rand 5) . (chance(0.2) ? ', NULL' : '') . ')' if $kind <= 12;
	return "$sql = ANY (ARRAY[" . join(', ', map { DifferSchema::thing_literal($relation, $thing) } 1 .. 1 + int rand 8) . (chance(0.3) ? ', NULL' : '') . "]::$thing->{type}\[])" if $kind == 13 && $thing->{type} !~ /\[\]|_domain/;
	return "$sql = ANY (ARRAY(SELECT " . DifferSchema::thing_literal($relation, $thing) . ' FROM generate_series(0, ' . int(rand 2) . ')))' if $kind == 14 && $thing->{type} !~ /\[\]|_domain/;
	return "$sql = ANY ('{}')" if $kind == 15 && chance(0.2) && $thing->{type} !~ /\[\]/;
	return "$sql IS NOT DISTINCT FROM " . value($relation, $thing) if $kind == 16;
	return "NOT ($sql <> " . value($relation, $thing) . ')' if $kind == 17;
	return "$sql IN (SELECT " . DifferSchema::thing_literal($relation, $thing) . ' UNION ALL SELECT ' . DifferSchema::thing_literal($relation, $thing) . ')' if $kind == 18;
	return "$sql = (SELECT q.$thing->{column}{name} FROM $relation->{name}_keys q WHERE q.n = " . int(rand 17) . ')' if $kind == 19 && $thing->{plain};
	return "$sql = ALL (ARRAY[" . DifferSchema::thing_literal($relation, $thing) . "]::$thing->{type}\[])" if $kind == 20 && $thing->{type} !~ /\[\]|_domain/;
	return "NOT $sql IS NOT NULL" if $kind == 21;
	return "CASE WHEN $sql = " . value($relation, $thing) . ' THEN true ELSE false END' if $kind == 22;
	return "($sql, ${alias}k) = (" . value($relation, $thing) . ', ' . int(rand $relation->{count}) . ')' if $kind == 23;
	return "$sql = " . DifferSchema::thing_literal($relation, $thing);
}

sub other
{
	my ($relation, $alias) = @_;
	my $row = int rand $relation->{next};
	return pick("${alias}id % 3 = 0", "${alias}id < $row", "${alias}k = " . int(rand $relation->{count}), "${alias}k IN (0, 1)", "length(${alias}pad) > 20", "${alias}id <> $row",
		"${alias}id > (SELECT $row)", "random() >= 0", 'true', (keys %{$relation->{predicates} // {}}) && $alias eq '' ? sort keys %{$relation->{predicates}} : 'true');
}

sub condition
{
	my ($relation, $alias) = @_;
	my $kind = rand();
	my @parts = (simple($relation, $alias));

	push @parts, simple($relation, $alias) if chance(0.35);
	push @parts, other($relation, $alias) if chance(0.35);
	return $parts[0] if @parts == 1;
	@parts = DifferSchema::shuffled(@parts);
	return join ' OR ', @parts if $kind < 0.25;
	return "$parts[0] AND ($parts[1] OR " . simple($relation, $alias) . ')' if $kind < 0.35;
	return "NOT ($parts[0]) AND " . simple($relation, $alias) if $kind < 0.38;
	return join ' AND ', @parts;
}

sub columns
{
	my ($relation, $alias) = @_;
	my $name = $alias || "$relation->{name}.";
	(my $row = $name) =~ s/\.$//;
	return pick('*', '*', '*', "${alias}id", "${alias}id, ${alias}tableoid::regclass", $row, "${alias}ctid, ${alias}id", "1", "${alias}id + 1 AS n, ${alias}pad, $row AS r");
}

# A query on one relation.
sub single
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my @leaves = DifferSchema::leaves($relation);
	$name = pick(@leaves) if @leaves && chance(0.1);
	$name = "ONLY $name" if $relation->{kind} eq 'inherited' && chance(0.1);
	my $where = condition($relation, '');
	my $kind = rand();
	(my $bare = $name) =~ s/^ONLY //;
	my $columns = columns({%$relation, name => $bare}, '');

	return "SELECT $columns FROM $name WHERE $where" if $kind < 0.6;
	return "SELECT $columns FROM $name WHERE $where ORDER BY id" . (chance(0.5) ? ', k' : '') if $kind < 0.66;
	# With LIMIT the answer is unique only if the order covers all rows.
	return "SELECT id FROM $name WHERE $where ORDER BY id LIMIT " . int(rand 20) . ' OFFSET ' . int(rand 4) if $kind < 0.72;
	return "SELECT count(*), min(id), max(k) FROM $name WHERE $where" if $kind < 0.78;
	return "SELECT k, count(*), sum(id) FROM $name WHERE $where GROUP BY k" if $kind < 0.84;
	return "SELECT * FROM (SELECT $columns FROM $name WHERE $where OFFSET 0) s" if $kind < 0.87;
	return "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM $name WHERE $where" if $kind < 0.9 && $relation->{kind} ne 'inherited';
	return "SELECT id FROM $name WHERE $where UNION ALL SELECT id FROM $relation->{name} WHERE " . condition($relation, '') if $kind < 0.94;
	return "WITH c AS " . pick('', 'MATERIALIZED', 'NOT MATERIALIZED') . " (SELECT * FROM $name WHERE $where) SELECT a.id FROM c a" if $kind < 0.97;
	return "SELECT EXISTS (SELECT FROM $name WHERE $where)";
}

# A query on a view.
sub of_view
{
	my ($relation) = @_;
	my $where = condition($relation, '');
	return 'SELECT ' . pick('*', 'id', 'count(*), max(id)') . ' FROM ' . pick(@{$relation->{views}}) . " WHERE $where";
}

# A join with a table of values, by which the index is asked again and again.
sub join_query
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $thing = some_thing($relation);
	my ($left, $right) = (at($thing, 'r.'), at($thing, 'q.'));
	my $also = chance(0.3) ? 'AND ' . simple($relation, 'r.') : chance(0.3) ? 'AND ' . other($relation, 'r.') : '';
	my $keys = "${name}_keys";
	my $some = chance(0.5) ? 'WHERE q.n < ' . int(rand 16) : '';
	my $limit = int rand 3;
	my ($operator) = DifferSchema::key_condition($relation, $thing);
	my $inside = $operator && $operator =~ /^(?:@>|&&|<@)$/ ? "SELECT q.n, r.id FROM $keys q JOIN $name r ON $left $operator $right $also $some" : '';
	my $array = $thing->{type} =~ /\[\]|_domain/ ? '' : "$left = ANY (ARRAY[$right, " . DifferSchema::thing_literal($relation, $thing) . ']) ';
	my $kind = int rand 20;

	return $inside if $inside && chance(0.5);
	return "SELECT q.n, r.id FROM $keys q JOIN $name r ON $left = $right $also $some" if $kind <= 2;
	return "SELECT q.n, r.id FROM $keys q LEFT JOIN $name r ON $left = $right $also $some" if $kind == 3;
	return "SELECT q.n, s.* FROM $keys q, LATERAL (SELECT r.id, r.k FROM $name r WHERE $left = $right $also ORDER BY r.id, r.k LIMIT $limit) s $some" if $kind <= 5;
	return "SELECT q.n, (SELECT count(*) FROM $name r WHERE $left = $right $also) FROM $keys q $some" if $kind <= 7;
	return "SELECT q.n FROM $keys q WHERE EXISTS (SELECT FROM $name r WHERE $left = $right $also)" if $kind == 8;
	return "SELECT q.n FROM $keys q WHERE NOT EXISTS (SELECT FROM $name r WHERE $left = $right $also)" if $kind == 9;
	return "SELECT r.id FROM $name r WHERE $left IN (SELECT $right FROM $keys q $some) $also" if $kind == 10;
	return "SELECT q.n, r.id FROM $keys q JOIN $name r ON $left = $right OR " . simple($relation, 'r.') . " WHERE q.n < 8" if $kind == 11;
	return "SELECT q.n, r.id FROM $keys q JOIN $name r ON $array WHERE q.n < 12" if $kind == 12 && $array;
	return "SELECT (SELECT count(*) FROM $name r WHERE " . simple($relation, 'r.') . " AND r.id <> q.n), q.n FROM $keys q" if $kind == 13;
	return "SELECT a.id, b.id FROM $name a JOIN $name b ON " . at($thing, 'a.') . ' = ' . at($thing, 'b.') . ' AND a.id % 500 = 1 AND ' . simple($relation, 'b.') if $kind == 14;
	# A subquery that each worker runs.
	return "SELECT a.id FROM $name a WHERE a.id NOT IN (SELECT r.id FROM $name r WHERE " . simple($relation, 'r.') . ')' if $kind == 15;
	return "SELECT q.n, q.small FROM $keys q WHERE q.small NOT IN (SELECT r.k FROM $name r WHERE " . simple($relation, 'r.') . ") OR q.n IN (SELECT r.id FROM $name r WHERE " . simple($relation, 'r.') . ')' if $kind == 16;
	return "SELECT a.id, a.id IN (SELECT r.id FROM $name r WHERE " . simple($relation, 'r.') . ") AS i FROM $name a WHERE a.id % 7 = 0" if $kind == 17;
	# The parts of a UNION ALL have conditions and subqueries of their own, which depend on the outer row.
	if ($kind == 18)
	{
		my @parts = map { "SELECT r.id FROM " . pick($name, DifferSchema::leaves($relation)) . " r WHERE $left = " . (chance(0.7) ? "(SELECT $right)" : $right) . (chance(0.6) ? ' AND ' . simple($relation, 'r.') : '') } 1 .. 2 + int rand 2;
		return "SELECT q.n, u.id FROM $keys q, LATERAL (" . join(' UNION ALL ', @parts) . pick('', ' OFFSET 0') . ') u WHERE q.n < 12';
	}
	my $w = chance(0.5) ? 'q.small' : 'q.small::bigint';
	return "SELECT q.n, r.id FROM $keys q JOIN $name r ON $left = $w" if $thing->{family} eq 'integer';
	return "SELECT q.n, r.id FROM (SELECT * FROM $keys WHERE n < 9) q CROSS JOIN LATERAL (SELECT * FROM $name r WHERE $left = $right OFFSET 0) r";
}

# A query by chunk_scan(), and the same by a plain query without an index.
sub chunk_scan
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $thing = pick(plain_things($relation));
	my $column = $thing->{column}{name};
	my $kind = rand();
	my ($operator, $inside) = DifferSchema::key_condition($relation, $thing);

	if ($operator && $kind < 0.6)
	{
		my $also = chance(0.4) ? 'WHERE ' . simple($relation, 'r.') : '';
		my $named = pick($operator, $operator, "pg_catalog.$operator");
		my @any = chance(0.3) && $inside !~ /ARRAY|\[\]|^'h/ ? ('_any', "ARRAY[$inside, $inside]", "ANY (ARRAY[$inside])") : ('', $inside, $inside);
		return ("SELECT r.id, r.k FROM chunk_scan$any[0](NULL::$name, '$column', $any[1], operator => '$named') r $also", "SELECT r.id, r.k FROM (SELECT * FROM $name WHERE $column $operator $any[2]) r $also");
	}
	if ($kind < 0.55)
	{
		my $value = $thing->{family} eq 'integer' && chance(0.5) ? do { my $n = number($relation, $thing); pick($n, "'$n'", "($n)::bigint", "($n % 30000)::smallint") } : DifferSchema::thing_literal($relation, $thing);
		# Conditions outside chunk_scan() are tested in the partitions.
		my $also = chance(0.6) ? 'WHERE ' . simple($relation, 'r.') . (chance(0.3) ? ' AND ' . simple($relation, 'r.') : '') : '';
		my $columns = pick('*', '*', 'r.id', 'r', 'count(*), min(r.id)', 'r.k, r AS whole');
		return ("SELECT $columns FROM chunk_scan(NULL::$name, '$column', $value) r $also", "SELECT $columns FROM (SELECT * FROM $name WHERE $column = $value) r $also") if $columns !~ /^r$|whole/;
		return ("SELECT $columns FROM chunk_scan(NULL::$name, '$column', $value) r $also", "SELECT $columns FROM $name r WHERE r.$column = $value " . ($also =~ s/^WHERE/AND/r));
	}
	if ($kind < 0.75 && $thing->{type} !~ /\[\]|_domain/)
	{
		my $array = 'ARRAY[' . join(', ', (map { DifferSchema::thing_literal($relation, $thing) } 0 .. int rand 5), chance(0.3) ? 'NULL' : ()) . "]::$thing->{type}\[]";
		return ("SELECT id, k FROM chunk_scan_any(NULL::$name, '$column', $array)", "SELECT id, k FROM $name WHERE $column = ANY ($array)");
	}
	if ($kind < 0.85)
	{
		my $condition = simple($relation, 'r.');
		return ("SELECT q.n, r.id FROM ${name}_keys q LEFT JOIN LATERAL chunk_scan(NULL::$name, '$column', q.$column) r ON r.id % 3 <> q.n % 3 AND $condition WHERE q.n < 12", "SELECT q.n, r.id FROM ${name}_keys q LEFT JOIN $name r ON r.$column = q.$column AND r.id % 3 <> q.n % 3 AND $condition WHERE q.n < 12");
	}
	return ("SELECT q.n, r.id FROM ${name}_keys q, LATERAL chunk_scan(NULL::$name, '$column', q.$column) r WHERE q.n < 12", "SELECT q.n, r.id FROM ${name}_keys q JOIN $name r ON r.$column = q.$column WHERE q.n < 12");
}

# A statement that changes or locks the rows for which a condition is true. Its answer is a digest of these rows; the
# changes are undone.
sub change
{
	my ($relation) = @_;
	my $name = $relation->{name};
	my $where = condition($relation, '');
	my $kind = rand();
	my $digest = "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(d::text, 0)), 0) FROM d";

	return "WITH d AS (DELETE FROM $name WHERE $where RETURNING id, k) $digest" if $kind < 0.3;
	return "WITH d AS (UPDATE $name SET pad = 'changed' WHERE $where RETURNING id, k, pad) $digest" if $kind < 0.6;
	return "WITH d AS (SELECT id, k, pad FROM $name WHERE $where FOR UPDATE) $digest" if $kind < 0.75 && $relation->{kind} ne 'foreign';
	my $thing = some_thing($relation);
	my ($left, $right) = (at($thing, 'r.'), at($thing, 'q.'));
	return "WITH d AS (DELETE FROM $name r USING ${name}_keys q WHERE $left = $right AND q.n < 9 RETURNING r.id) $digest" if $kind < 0.87 || $relation->{kind} eq 'foreign';
	return "WITH d AS (UPDATE $name r SET k = 0 FROM ${name}_keys q WHERE $left = $right AND q.n < 9 RETURNING r.id, r.k) $digest";
}

# A query with a cast that fails for some rows, in a branch of a CASE that is not for these rows.
sub guarded
{
	my ($relation) = @_;
	my ($thing) = grep { $_->{family} eq 'integer' && $_->{plain} } things($relation);
	return single($relation) if !$thing;
	my $word = pick("'17'", "'none'", "'0'");
	my $sql = at($thing, '');
	return "SELECT v, CASE WHEN v ~ '^[0-9]+\$' THEN (SELECT count(*) FROM $relation->{name} WHERE $sql = v::bigint) END FROM (VALUES ($word), ('nothing')) q (v)" if chance(0.5);
	return "SELECT CASE WHEN p.v ~ '^[0-9]+\$' THEN (SELECT count(*) FROM $relation->{name} WHERE $sql = p.v::bigint) END FROM (SELECT $word\::text AS v OFFSET 0) p";
}

my $digest_of = "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(q::text, 0)), 0)";

# A query whose plan is kept: a prepared statement, or a function. Returns the SQL that makes it, and a sub that
# returns a question.
sub kept
{
	my ($run, $relation, $name) = @_;
	my ($thing, $second) = (some_thing($relation), some_thing($relation));
	my $sql = at($thing, 'r.');
	my $sql2 = at($second, 'r.');
	my @forms = ("$sql = \$1", "\$1 = $sql", "$sql = \$1 OR $sql2 = " . DifferSchema::thing_literal($relation, $second), "$sql IN (\$1, " . DifferSchema::thing_literal($relation, $thing) . ')',
		"$sql = \$1 AND $sql2 IS NULL", "$sql IS NOT DISTINCT FROM \$1", "$sql = \$1 AND r.id % 2 = 0");
	my ($operator) = DifferSchema::key_condition($relation, $thing);
	push @forms, ("$sql $operator \$1") x 4 if $operator && $operator =~ /^(?:@>|&&|<@)$/;
	push @forms, ("$sql = ANY (\$1)") x 3 if $thing->{type} !~ /\[\]|_domain/;
	my $form = pick(@forms);
	my $array = $form =~ /ANY/ ? '[]' : '';
	my $family = $thing->{family};
	my $type = $family eq 'integer' && chance(0.6) ? pick('int2', 'int4', 'int8') : $family eq 'float' && chance(0.5) ? pick('float4', 'float8') : $family eq 'text' && chance(0.5) ? pick('text', 'name', 'varchar') : $thing->{type};
	my $untyped = chance(0.3) && $type eq $thing->{type};
	my $body = "FROM (SELECT r.id, r.k FROM $relation->{name} r WHERE $form) q";
	my $kind = $untyped ? 0 : rand();
	my @make = $kind < 0.6 ? "PREPARE $name" . ($untyped ? '' : "($type$array)") . " AS $digest_of $body"
		: $kind < 0.85 ? "CREATE FUNCTION $name($type$array) RETURNS text LANGUAGE plpgsql AS \$body\$ BEGIN RETURN ($digest_of $body); END \$body\$"
		: "CREATE FUNCTION $name($type$array) RETURNS text LANGUAGE sql STABLE AS \$body\$ $digest_of $body \$body\$";

	my $was = $thing->{column}{type}{name} . $second->{column}{type}{name};
	my $question = sub {
		# The parameter has the type that the column had then; the column may be gone by now.
		return question($run, $relation) if 2 > grep({ $_ == $thing->{column} } @{$relation->{columns}}) + grep({ $_ == $second->{column} } @{$relation->{columns}}) || $was ne $thing->{column}{type}{name} . $second->{column}{type}{name};
		my @literals = map { my $literal = chance(0.05) ? 'NULL' : DifferSchema::thing_literal($relation, $thing);
			$literal = "($literal % 30000)" if $type eq 'int2' && $literal =~ /^[^']*$/ && $literal ne 'NULL' && $thing->{type} ne 'smallint'; $literal } 0 .. ($array ? int rand 5 : 0);
		my $value = $array ? 'ARRAY[' . join(', ', @literals) . ']' . "::$type\[]" : "($literals[0])::$type";
		$value = "NULL::$type$array" if chance(0.03);
		return {mode => 'value', kind => $kind < 0.6 ? 'prepared statement' : 'function', settings => settings($run), look => 0, off => "$digest_of " . ($body =~ s/\$1/$value/gr),
			on => $kind < 0.6 ? "EXECUTE $name($value)" : "SELECT $name($value)"};
	};
	return ($make[0], $question);
}

sub settings
{
	my ($run) = @_;
	my $debug = $run->debug_parallel;
	my @settings = ("role = 'none'", 'streambloom.enable_skip = on', 'streambloom.enable_skip = on', 'streambloom.enable_partition_scan = ' . pick('off', 'off', 'always'), 'enable_bitmapscan = on', 'enable_seqscan = ' . (chance(0.8) ? 'off' : 'on'),
		'enable_indexscan = ' . (chance(0.4) ? 'on' : 'off'), 'enable_indexonlyscan = off', 'plan_cache_mode = auto', 'max_parallel_workers_per_gather = 0', "$debug = off",
		'parallel_leader_participation = on', 'auto_explain.log_min_duration = -1');
	my %plans = (enable_hashjoin => 0.6, enable_mergejoin => 0.6, enable_nestloop => 0.05, enable_material => 0.2, enable_memoize => 0.3, enable_sort => 0.1, enable_hashagg => 0.1,
		enable_partition_pruning => 0.2, enable_incremental_sort => 0.2, enable_async_append => 0.3, enable_parallel_append => 0.2);
	push @settings, map { "$_ = " . (chance($plans{$_}) ? 'off' : 'on') } sort keys %plans;
	push @settings, map { "$_ = " . (chance(0.3) ? 'on' : 'off') } 'enable_partitionwise_join', 'enable_partitionwise_aggregate';
	push @settings, "work_mem = '64kB'" if chance(0.1);
	push @settings, 'constraint_exclusion = on' if chance(0.1);
	push @settings, 'from_collapse_limit = 1', 'join_collapse_limit = 1' if chance(0.1);
	push @settings, 'plan_cache_mode = ' . pick('force_generic_plan', 'force_custom_plan') if chance(0.5);
	push @settings, 'cursor_tuple_fraction = ' . pick('1', '0.001') if chance(0.2);
	push @settings, 'auto_explain.log_min_duration = 0', 'auto_explain.log_timing = ' . pick('on', 'off'), 'auto_explain.log_format = ' . pick('text', 'json') if chance(0.25);
	# Starting workers takes longer than most questions, so only a few questions get them.
	if (!$run->{no_workers} && chance(0.08))
	{
		# If a Gather has no setup cost and nothing keeps its rows, the planner puts it under a nested loop, which
		# starts workers for each row. Such a query may take a minute.
		push @settings, chance(0.3) ? ('parallel_setup_cost = 0', 'enable_material = on') : 'parallel_setup_cost = 10';
		push @settings, 'max_parallel_workers_per_gather = 2', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0', 'min_parallel_index_scan_size = 0',
			'parallel_leader_participation = ' . pick('on', 'off');
		push @settings, "$debug = " . pick('on', 'regress') if chance(0.4);
	}
	elsif (!$run->{no_workers} && chance(0.03))
	{
		# The usual plan, but run by a worker.
		push @settings, 'max_parallel_workers_per_gather = 2', "$debug = " . pick('on', 'regress');
	}
	return join '; ', map { "SET LOCAL $_" } @settings;
}

# A question whether bf_of() returns for each range a filter with all its rows, or none.
sub filters_of_ranges
{
	my ($run, $relation) = @_;
	return {settings => settings($run), look => 0, mode => 'value', kind => 'bf_of', on => "SELECT differ.missing('$relation->{name}')", off => 'SELECT 0'};
}

sub question
{
	my ($run, $relation, %option) = @_;
	my %question = (settings => settings($run), look => chance(0.2), mode => 'digest');
	my $kind = rand();

	if ($kind < 0.5)
	{
		$question{kind} = 'one relation';
		$question{on} = $relation->{views} && chance(0.3) ? of_view($relation) : single($relation);
	}
	elsif ($kind < 0.72)
	{
		$question{kind} = 'join';
		my $thing = pick(plain_things($relation));
		my $equal = at($thing, 'r.') . ' = ' . DifferSchema::thing_literal($relation, $thing);
		$question{on} = $relation->{divided} && !$run->{no_workers} && chance(0.2) ? "SELECT q.n FROM $relation->{name}_keys q WHERE q.n NOT IN (SELECT r.id FROM $relation->{name} r WHERE $equal)" : join_query($relation);
		# A sub-plan that a worker runs.
		$question{settings} .= join '', map { "; SET LOCAL $_" } 'max_parallel_workers_per_gather = 2', 'parallel_setup_cost = 1000', 'min_parallel_table_scan_size = 8192', $run->debug_parallel . ' = on', 'auto_explain.log_min_duration = 0'
			if !$run->{no_workers} && $question{on} =~ / IN \(SELECT r\.(?:id|k) / && chance(0.25);
	}
	elsif ($kind < 0.88 && !$option{no_chunk_scan})
	{
		$question{kind} = 'chunk_scan';
		@question{'on', 'off'} = chunk_scan($relation);
	}
	elsif ($kind < 0.96 && !$option{read_only} && $relation->{kind} ne 'materialized')
	{
		$question{kind} = 'change';
		$question{mode} = 'undo';
		$question{on} = change($relation);
	}
	elsif ($kind < 0.962 && !$option{rls})
	{
		return filters_of_ranges($run, $relation);
	}
	else
	{
		$question{kind} = 'guarded cast';
		$question{on} = guarded($relation);
	}
	$question{mode} = chance(0.12) ? 'loop' : chance(0.12) ? 'cursor' : 'digest' if $question{mode} eq 'digest';
	$question{off} //= $question{on};
	if ($option{rls} && $question{kind} ne 'chunk_scan')
	{
		$question{settings} .= "; SET LOCAL role = $option{rls}";
		$question{off_settings} = "; SET LOCAL role = $option{rls}";
		$question{kind} .= ' with row-level security';
	}
	return \%question;
}

1;
