# Calls::Forms: the statements in which a callable (a function, operator, cast, aggregate or procedure) is called. It is
# called with constants, which are folded while the query is planned; with columns, which are not; prepared with
# parameters of unknown type; as an aggregate with FILTER, DISTINCT and ORDER BY; as a window function with frames; over
# the rows of a parallel plan; and in other ways (see %forms).
#
# A statement is one line for psql. It needs nothing but relations.sql, and large.sql if its arguments are large.
package Calls::Forms;

use strict;
use warnings;

use Attack;
use Calls::Catalogue;
use List::Util;

my @frames = ('', 'ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING', 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW',
	'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING', 'GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES', 'RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING',
	'ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING', 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP');

# The forms, each with its weight. Forms with a table or workers take some milliseconds; most calls take much less than
# one.
my %forms = (
	function => [[\&folded, 20], [\&text_of, 10], [\&from_columns, 20], [\&from_stored_columns, 10], [\&from_a_table, 1], [\&prepared, 7], [\&over_rows, 15], [\&in_where, 10],
		[\&explained, 5], [\&named, 8], [\&chained, 8], [\&in_plpgsql, 6], [\&in_parallel, 0.3]],
	set => [[\&rows_of, 20], [\&rows_in_list, 10], [\&rows_limited, 10], [\&rows_of_columns, 20], [\&prepared, 10], [\&rows_joined, 10], [\&rows_of_cursor, 10], [\&explained, 5], [\&named, 10]],
	aggregate => [[\&aggregated, 60], [\&in_parallel, 1]],
	window => [[\&windowed, 60], [\&in_parallel, 0.2]],
	procedure => [[\&called, 1]],
);
$forms{$_} = [grep { $_->[0] != \&named } @{$forms{function}}] foreach 'operator', 'cast';

# Returns a statement of a random form that calls the callable with these arguments. $is_heavy says that they are
# large. $more->(type, count) returns further arguments of one type.
sub statement
{
	my ($callable, $arguments, $more, $is_heavy) = @_;
	my @candidates = @{$forms{$callable->{kind}}};

	# Large constants are not given to workers, to EXPLAIN or to a table. In these forms the server itself writes them
	# out, byte for byte, before it looks at its timeout.
	@candidates = grep { my $form = $_->[0]; !grep { $form == $_ } \&explained, \&from_a_table, \&in_parallel } @candidates if $is_heavy;
	my $at = rand(List::Util::sum(map { $_->[1] } @candidates));
	my $form = List::Util::first { ($at -= $_->[1]) < 0 } @candidates;
	return ($form // $candidates[0])->[0]->($callable, $arguments, $more);
}

# The simplest form.
sub plain
{
	my ($callable, $arguments) = @_;
	my $kind = $callable->{kind};

	return 'CALL ' . Calls::Catalogue::expression($callable, @$arguments) if $kind eq 'procedure';
	return 'SELECT count(*) FROM ' . Calls::Catalogue::expression($callable, @$arguments) . ' r' if $kind eq 'set';
	return 'SELECT ' . Calls::Catalogue::expression($callable, @$arguments) . ($kind eq 'window' ? ' OVER ()' : '') . ' IS NULL';
}

# A call with these arguments. Sometimes the last ones are left out, if they have defaults.
sub call
{
	my ($callable, @arguments) = @_;
	my $left_out = $callable->{defaults} > 0 && Attack::chance(0.2) ? int(rand($callable->{defaults} + 1)) : 0;

	splice @arguments, @arguments - $left_out if $left_out > 0;
	return Calls::Catalogue::expression($callable, @arguments);
}

# Makes columns a0, a1, ... of the arguments that can be columns; the others stay as they are.
sub columns
{
	my ($callable, $arguments) = @_;
	my @places = grep { $callable->{types}[$_] ne 'internal' } 0 .. $#$arguments;
	my @names = @$arguments;
	$names[$_] = "a$_" foreach @places;
	return (join(', ', 'true AS a', map { "$arguments->[$_] AS a$_" } @places), \@names);
}

sub folded { return 'SELECT ' . call($_[0], @{$_[1]}) . ' IS NULL'; }

# The cast to text copies the result of the output function once more. This is the server's own work and obeys no
# cancel: textin() of 800 MB takes seconds. So results of 100 MB and more are left out here. Output functions are also
# called by themselves.
sub written
{
	my ($call, $from) = @_;

	return "SELECT octet_length(r::text) FROM (SELECT $call AS r$from OFFSET 0) s WHERE pg_column_size(r) < 100000000";
}

sub text_of { return written(call($_[0], @{$_[1]}), ''); }

# Not VERBOSE, because this writes the constants. To quote a constant of hundreds of megabytes is the server's own
# work, which obeys no cancel.
sub explained { return 'EXPLAIN ' . Attack::one_of('', '(ANALYZE) ') . 'SELECT ' . call($_[0], @{$_[1]}); }

# Named arguments, some of those with defaults left out.
sub named
{
	my ($callable, $arguments) = @_;
	my @names = @{$callable->{names}};

	return plain($callable, $arguments) if @names < @$arguments || grep { $_ eq '' } @names;
	my $first_default = @$arguments - $callable->{defaults};
	my @given = map { "\"$names[$_]\" => $arguments->[$_]" } grep { $_ < $first_default || Attack::chance(0.6) } 0 .. $#$arguments;
	return plain($callable, [Attack::shuffled(@given)]);
}

sub from_columns
{
	my ($callable, $arguments) = @_;
	my ($list, $names) = columns($callable, $arguments);
	return 'SELECT ' . call($callable, @$names) . " IS NULL FROM (SELECT $list OFFSET 0) v";
}

# Arguments come from a stored tuple: short values are not aligned there.
sub from_stored_columns
{
	my ($callable, $arguments) = @_;
	my ($list, $names) = columns($callable, $arguments);
	return "WITH v AS MATERIALIZED (SELECT $list) SELECT " . call($callable, @$names) . ' IS NULL FROM v, generate_series(1, 2)';
}

# Arguments come from a table: long values are stored out of line there.
sub from_a_table
{
	my ($callable, $arguments) = @_;
	my ($list, $names) = columns($callable, $arguments);
	return "CREATE TEMP TABLE v ON COMMIT DROP AS SELECT $list\\; SELECT " . call($callable, @$names) . ' IS NULL FROM v';
}

# Parameters have no type, and half of the literals have none. The plan is a generic or a custom one.
sub prepared
{
	my ($callable, $arguments) = @_;
	my @parameters = map { "\$$_" } 1 .. @$arguments;
	my $what = $callable->{kind} eq 'set' ? 'count(*) FROM ' . Calls::Catalogue::expression($callable, @parameters) : Calls::Catalogue::expression($callable, @parameters) . ' IS NULL';
	my $how = Attack::one_of('auto', 'force_generic_plan', 'force_custom_plan');
	my @values = map { Attack::chance(0.5) ? s/\A('[^']*')::[\w \[\]]+\z/$1/r : $_ } @$arguments;
	return "DEALLOCATE ALL; SET plan_cache_mode = $how; PREPARE p AS SELECT $what; EXECUTE p(" . join(', ', @values) . '); RESET plan_cache_mode';
}

# Several rows, which differ in some of the arguments.
sub rows
{
	my ($callable, $arguments, $more, $count) = @_;
	my @columns;
	my @names;

	foreach my $place (0 .. $#$arguments)
	{
		if ($callable->{types}[$place] eq 'internal' || Attack::chance(0.3))
		{
			push @names, $arguments->[$place];
			next;
		}
		my @others = Attack::chance(0.2) ? ($arguments->[$place]) x ($count - 1) : $more->($callable->{types}[$place], $count - 1);
		push @columns, [Attack::shuffled($arguments->[$place], @others)];
		push @names, "a$place";
	}
	my @rows = map { my $row = $_; '(' . join(', ', $row + 1, map { $_->[$row] } @columns) . ')' } 0 .. $count - 1;
	return ('(VALUES ' . join(', ', @rows) . ') v(' . join(', ', 'n', grep { /^a\d+$/ } @names) . ')', \@names);
}

sub over_rows
{
	my ($callable, $arguments, $more) = @_;
	my ($rows, $names) = rows($callable, $arguments, $more, 3);
	return 'SELECT count(' . call($callable, @$names) . ") FROM $rows" . Attack::one_of('', '', ', generate_series(1, 20)');
}

sub in_where
{
	my ($callable, $arguments) = @_;
	my ($list, $names) = columns($callable, $arguments);
	my $what = call($callable, @$names);
	return "SELECT count(*) FROM (SELECT $list OFFSET 0) v WHERE " . ($callable->{result} eq 'boolean' ? "NOT ($what)" : "$what IS NOT NULL");
}

# a + b + a + b + a, for callables that return the type that they take.
sub chained
{
	my ($callable, $arguments) = @_;
	my ($one, $other) = @$arguments;

	return folded($callable, $arguments) if @$arguments != 2 || grep { $_ ne $callable->{result} } @{$callable->{types}};
	my $what = 'a0';
	$what = Calls::Catalogue::expression($callable, $what, $_) foreach 'a1', 'a0', 'a1', 'a0';
	return "SELECT $what IS NULL FROM (SELECT $one AS a0, $other AS a1 OFFSET 0) v";
}

# A variable to which results are assigned again and again.
sub in_plpgsql
{
	my ($callable, $arguments) = @_;
	my ($first, @others) = @$arguments;

	return folded($callable, $arguments) if $callable->{result} =~ /^(?:internal|record|cstring|any.*|.*handler)$/ || !@$arguments;
	my $starts = $callable->{result} eq $callable->{types}[0];
	my $start = $starts ? $first : 'NULL';
	my $call = Calls::Catalogue::expression($callable, $starts ? 'v' : $first, @others);
	return "DO \$do\$ DECLARE v $callable->{result} := $start; w $callable->{result}; BEGIN FOR i IN 1 .. 3 LOOP w := v; v := $call; END LOOP; END \$do\$";
}

# A pattern that finds the declaration of the variable and the call in a statement of in_plpgsql().
sub of_plpgsql { return qr/^DO \$do\$ DECLARE (v .*?); w \S+; BEGIN FOR i IN 1 \.\. 3 LOOP w := v; v := (.*); END LOOP; END \$do\$$/s; }

# Arguments come from a table that parallel workers read, and differ between its rows.
sub in_parallel
{
	my ($callable, $arguments, $more) = @_;
	my @names;

	foreach my $place (0 .. $#$arguments)
	{
		push(@names, $arguments->[$place]), next if $callable->{types}[$place] eq 'internal' || Attack::chance(0.5);
		my ($other) = $more->($callable->{types}[$place], 1);
		push @names, "CASE n % 2 WHEN 0 THEN $arguments->[$place] ELSE $other END";
	}
	my $call = call($callable, @names);
	my $what = $callable->{kind} eq 'aggregate' ? "$call IS NULL" : "count($call)";
	return "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SELECT $what FROM attack.many_rows" .
		($callable->{kind} eq 'aggregate' ? Attack::one_of('', ' GROUP BY n % 3', ' GROUP BY n % 700') : ' WHERE n < 50') . '; RESET parallel_setup_cost';
}

sub rows_of { return 'SELECT count(*) FROM ' . call($_[0], @{$_[1]}) . ' r'; }

sub rows_in_list { return 'SELECT count(*) FROM (SELECT ' . call($_[0], @{$_[1]}) . ' OFFSET 0) r'; }

sub rows_limited { return 'SELECT ' . call($_[0], @{$_[1]}) . ' IS NULL FROM generate_series(1, 3) LIMIT 1'; }

sub rows_joined
{
	my ($callable, $arguments) = @_;
	my $call = call($callable, @$arguments);
	return "SELECT count(*) FROM ROWS FROM ($call, $call) WITH ORDINALITY r" if Attack::chance(0.5);
	return "SELECT count(*) FROM generate_series(1, 2) x WHERE EXISTS (SELECT FROM $call r)";
}

sub rows_of_columns
{
	my ($callable, $arguments, $more) = @_;
	my ($rows, $names) = rows($callable, $arguments, $more, 3);
	return "SELECT count(*) FROM $rows, LATERAL " . call($callable, @$names) . ' r';
}

sub rows_of_cursor
{
	my ($callable, $arguments) = @_;
	my $hold = Attack::one_of('', ' WITH HOLD');
	return "BEGIN; DECLARE c SCROLL CURSOR$hold FOR SELECT * FROM " . call($callable, @$arguments) . ' r; FETCH 2 FROM c; FETCH BACKWARD ALL FROM c; COMMIT; CLOSE ALL';
}

sub aggregated
{
	my ($callable, $arguments, $more) = @_;

	return prepared($callable, $arguments) if Attack::chance(0.05);
	my $count = Attack::one_of(1, 2, 3, 3, 5);
	my ($rows, $names) = rows($callable, $arguments, $more, $count);
	my @columns = grep { /^a\d+$/ } @$names;
	my @inside = @$names;
	my $order = '';
	if (Attack::chance(0.3))
	{
		$order = @columns && Attack::chance(0.3) ? Attack::one_of(@columns) : 'n';
		$order = " ORDER BY $order" . Attack::one_of('', ' DESC', ' NULLS FIRST');
	}
	my $distinct = '';
	if (Attack::chance(0.15))
	{
		$distinct = 'DISTINCT ';
		$order = '' if $order =~ /\bn\b/;
	}
	my $call = "$callable->{name}($distinct" . join(', ', @inside) . "$order)";
	$call .= ' FILTER (WHERE ' . Attack::one_of('n % 2 = 0', 'n > 1', 'false', 'n IS NULL') . ')' if Attack::chance(0.3);
	my $source = $rows;
	$source .= ', generate_series(1, ' . Attack::one_of(1, 20, 100) . ')' if Attack::chance(0.4);
	$source .= ' WHERE false' if Attack::chance(0.03);
	if (Attack::chance(0.3) && $distinct eq '' && $order eq '')
	{
		my $window = join(' ', Attack::one_of('', 'PARTITION BY n % 2'), Attack::one_of('ORDER BY n', 'ORDER BY n DESC'), Attack::one_of(@frames));
		# Not count() of the result itself: the server would make two copies of the first result, which may be large.
		return "SELECT count(r) FROM (SELECT $call OVER ($window) IS NULL FROM $source) w(r)";
	}
	return written($call, " FROM $source") if Attack::chance(0.1);
	return "SELECT $call IS NULL FROM $source" . Attack::one_of('', '', ' GROUP BY n', ' GROUP BY n % 2', ' GROUP BY GROUPING SETS ((), (n), (n % 2))', " HAVING $call IS NOT NULL");
}

sub windowed
{
	my ($callable, $arguments, $more) = @_;
	my ($rows, $names) = rows($callable, $arguments, $more, 4);
	my $call = Calls::Catalogue::expression($callable, @$names);
	$call .= Attack::one_of('', '', '', ' FILTER (WHERE n > 1)');
	my $window = join(' ', Attack::one_of('', '', 'PARTITION BY n % 2'), Attack::one_of('', 'ORDER BY n', 'ORDER BY n DESC'), Attack::one_of(@frames));
	my $source = $rows . Attack::one_of('', '', ', generate_series(1, 50)');
	return "SELECT count(r) FROM (SELECT $call OVER ($window) FROM $source) w(r)" . Attack::one_of('', '', ' WHERE r');
}

sub called
{
	my ($callable, $arguments) = @_;
	my $call = 'CALL ' . Calls::Catalogue::expression($callable, @$arguments);
	return Attack::one_of($call, $call, "$call; $call", "BEGIN; $call; ROLLBACK");
}

1;
