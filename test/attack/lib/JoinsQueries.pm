# JoinsQueries.pm: random queries with joins, over the tables of JoinsSchema.
#
# rows() returns a query that returns rows. digest() makes a query of it that returns a single text, which does not
# depend on the order of the rows. The queries of writing() and with_parameter() return such a text.
package JoinsQueries;

use strict;
use warnings;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

sub digest { return "SELECT count(*) || ' ' || coalesce(md5(string_agg(q::text, ',' ORDER BY q::text COLLATE \"C\")), '') FROM ($_[0]) q"; }

# The fact side, with the alias l: id, k, a, b, t. Two of the forms have no b.
sub fact
{
	my ($schema) = @_;
	my $name = pick('f1', 'f1', 'f2');
	my $kind = rand();
	return "$name l" if $kind < 0.75;
	return "(SELECT id, k, a, b, t FROM $name OFFSET 0) l" if $kind < 0.8;
	return "(SELECT id, k, a, b, t FROM f1 UNION ALL SELECT id, k, a, b, t FROM f2) l" if $kind < 0.88;
	return "(SELECT id, k, a, b, t FROM f1 WHERE k > 3 UNION ALL SELECT id, k, a, b, t FROM f2 WHERE id < 250) l" if $kind < 0.92;
	return "(SELECT max(id) AS id, max(k) AS k, a, max(b::text) AS bt, max(t) AS t FROM $name GROUP BY a) l" if $kind < 0.94;
	return "(SELECT *, row_number() OVER (ORDER BY id) AS r FROM $name) l" if $kind < 0.96;
	return "(SELECT * FROM $name ORDER BY id LIMIT 200) l" if $kind < 0.98;
	return "(SELECT DISTINCT id, k, a, t FROM $name) l";
}

# The condition of a join between l and a dimension.
sub on
{
	my ($schema, $dimension, $l) = @_;
	my $kind = rand();
	my $has_b = $l !~ /\bbt\b|DISTINCT/;
	my $on = $kind < 0.5 || !$has_b && $kind < 0.8 ? "l.a = $dimension.x" : $kind < 0.65 ? "l.b = $dimension.y" : $kind < 0.75 ? "l.a = $dimension.x AND l.b = $dimension.y" : $kind < 0.8 ? "$dimension.x = l.a AND l.k = $dimension.z" :
		$kind < 0.86 ? "l.k = $dimension.z" : $kind < 0.9 ? "l.k + 1 = $dimension.z + 1" : $kind < 0.94 ? "lower(l.t) = 't' || $dimension.z" : $kind < 0.97 ? "l.t = 'T' || $dimension.z" : "l.k = $dimension.z::numeric";
	$on .= ' AND ' . pick("l.id > $dimension.z", "$dimension.z % 2 = 0", "l.k > 4", "$dimension.id <> l.id") if chance(0.15);
	return $on;
}

sub where
{
	my (@aliases) = @_;
	return '' if chance(0.7);
	my $d = $aliases[-1];
	my $n = int rand 300;
	return ' WHERE ' . pick("l.id > $n", "l.k < $n", 'l.t IS NOT NULL', $d ? ("$d.z < $n", "l.id + $d.z > $n", "$d.filler = ''") : (), "l.id > (SELECT min(z) FROM d3)", "l.k IN (SELECT z FROM d2)", 'l.id >= 0 AND l.k > 2');
}

# A join: what follows FROM, and the aliases of the dimensions whose columns can be used.
sub join_of
{
	my ($schema) = @_;
	my $l = fact($schema);
	my $kind = rand();
	my $d = pick('d1', 'd2', 'd3');
	my $on = on($schema, 'd', $l);
	my $dimension = chance(0.12) ? "(SELECT * FROM $d UNION ALL SELECT * FROM $d)" : chance(0.06) ? "(SELECT * FROM $d WHERE z > 2 OFFSET 0)" : $d;

	return ("$l JOIN $dimension d ON $on", 'd') if $kind < 0.35;
	return ("$dimension d LEFT JOIN $l ON $on", 'd') if $kind < 0.43;
	return ("$l LEFT JOIN $dimension d ON $on", 'd') if $kind < 0.48;
	return ("$l FULL JOIN $dimension d ON " . ($on =~ s/ AND .*//r), 'd') if $kind < 0.52;
	return ("$l JOIN $d d ON $on JOIN " . pick('d1', 'd2', 'd3') . ' e ON ' . on($schema, 'e', $l), 'd', 'e') if $kind < 0.65;
	return ("$l JOIN $d d ON $on JOIN d1 e ON " . on($schema, 'e', $l) . ' JOIN d2 g ON ' . on($schema, 'g', $l), 'd', 'e', 'g') if $kind < 0.69;
	return ("($l LEFT JOIN $d d ON $on) JOIN d2 e ON " . on($schema, 'e', $l), 'd', 'e') if $kind < 0.73;
	return ("($l FULL JOIN $d d ON " . ($on =~ s/ AND .*//r) . ') JOIN d2 e ON ' . pick('d.z = e.z', on($schema, 'e', $l)), 'd', 'e') if $kind < 0.75;
	return ("($l JOIN $d d ON $on) LEFT JOIN d2 e ON " . on($schema, 'e', $l), 'd', 'e') if $kind < 0.78;
	return ("d3 e JOIN ($l JOIN $d d ON $on) ON e.z = " . pick('l.k', 'd.z'), 'd', 'e') if $kind < 0.81;
	return ("$l WHERE EXISTS (SELECT FROM $dimension d WHERE $on)") if $kind < 0.87;
	return ("$l WHERE NOT EXISTS (SELECT FROM $dimension d WHERE $on)") if $kind < 0.9;
	my $column = $l =~ /\bbt\b|DISTINCT/ ? 'a' : pick('a', 'a', 'b');
	return ("$l WHERE $column " . (chance(0.15) ? 'NOT ' : '') . 'IN (SELECT ' . {a => 'x', b => 'y'}->{$column} . " FROM $dimension s" . pick('', '', ' WHERE z > 3') . ')');
}

sub columns { return 'l.id, l.a, l.t' . join('', map { ", $_.z, $_.id AS id_$_" } @_); }

# A join that is executed again and again with other keys, some of which no row has. The join is alone or a part of a
# star join.
sub again
{
	my ($schema) = @_;
	my $l = pick('f1 l', 'f2 l', '(SELECT id, k, a, b, t FROM f1 UNION ALL SELECT id, k, a, b, t FROM f2) l');
	my $values = join ', ', map { '(' . (chance(0.45) ? 650 + int rand 140 : int rand $schema->{keys}) . ')' } 1 .. 2 + int rand 5;
	my $d = '(SELECT * FROM w WHERE ' . pick('z = o.v', 'z = o.v', 'z BETWEEN o.v AND o.v + 1', '(z = o.v OR z = 799)') . ' OFFSET 0)';
	my $star = pick('', '', ' JOIN d1 e ON ' . on($schema, 'e', $l), ' LEFT JOIN d1 e ON ' . on($schema, 'e', $l), " JOIN (SELECT * FROM w WHERE z < $schema->{keys} OFFSET 0) e ON " . on($schema, 'e', $l));
	my $join = chance(0.8) ? "$l$star JOIN $d d" : "$l$star RIGHT JOIN $d d";
	return "SELECT o.v, c.* FROM (VALUES $values) o(v), LATERAL (SELECT count(l.id), sum(l.id), count(*) FROM $join ON " . pick('l.a = d.x', 'l.a = d.x', 'l.b = d.y', 'l.k = d.z') . ') c';
}

# A query that returns rows.
sub rows
{
	my ($schema) = @_;
	return again($schema) if chance(0.12);
	my ($from, @dimensions) = join_of($schema);
	my $columns = columns(@dimensions);
	my $has_where = $from =~ / WHERE (?!.*\) l\b)/ && !@dimensions;
	my $where = $has_where ? '' : where(@dimensions);
	my $query = "SELECT $columns FROM $from$where";
	my $kind = rand();

	return $query if $kind < 0.5;
	if ($kind < 0.62 && @dimensions && $from !~ /WHERE/)
	{
		# The join is a sub-plan or below LATERAL, and one of its sides has a parameter.
		my $parameter = pick('l.id > o.z', 'd.z > o.z', 'd.z = o.z', "l.id + o.z > 40", 'o.z IS NOT NULL', 'o.z < 30', 'd.z + o.z = l.k + o.z', 'd.id <> o.id');
		my $inner = "SELECT count(*) AS c, sum(l.id) AS s FROM $from" . ($where ? "$where AND " : ' WHERE ') . $parameter;
		return chance(0.5) ? "SELECT o.id, o.z, i.* FROM d3 o, LATERAL ($inner) i" : "SELECT o.id, o.z, (SELECT c + coalesce(s, 0) FROM ($inner) i) FROM d3 o";
	}
	if ($kind < 0.66 && @dimensions && $from =~ / ON l\.(a|b) = d\.(x|y)/ && $from !~ /^d|FULL|LEFT/)
	{
		my $side = pick('l.k = o.z', 'd.z = o.z', 'd.z <= o.z');
		return "SELECT o.id, o.z FROM d3 o WHERE EXISTS (SELECT FROM $from WHERE $side)";
	}
	return "WITH w AS MATERIALIZED (SELECT * FROM d1 WHERE z > " . int(rand 5) . ") SELECT l.id, w.z FROM f1 l JOIN w ON " . on($schema, 'w', 'f1 l') if $kind < 0.7;
	return "WITH RECURSIVE w(n) AS (SELECT z FROM d1 UNION SELECT l.k + " . pick(1, 2, 7) . " FROM w JOIN f1 l ON l.k = w.n WHERE l.k < " . int(rand 60) . ') SELECT n FROM w' if $kind < 0.73;
	return "$query UNION ALL $query" if $kind < 0.75;
	return "SELECT * FROM ($query ORDER BY " . join(', ', map { $_ + 1 } 0, 2 .. 2 + 2 * @dimensions) . ' LIMIT ' . pick(1, 5, 50) . ' OFFSET ' . pick(0, 3) . ') o' if $kind < 0.83;
	return "SELECT l.k, count(*), min(l.id) FROM $from$where GROUP BY l.k" if $kind < 0.9;
	return "$query" . ($has_where || $where ? ' AND ' : ' WHERE ') . '(l.id % 7 <> 1 OR random() < 2)' if $kind < 0.93 && $from !~ /WHERE/;
	return "$query FOR UPDATE OF " . pick('d', 'd', 'l') if $kind < 0.97 && @dimensions == 1 && $from =~ /^f\d l JOIN d\d d /;
	return $query;
}

# A statement that changes rows and returns them.
sub writing
{
	my ($schema) = @_;
	my $f = pick('f1', 'f2');
	my $d = pick('d1', 'd2', 'd3');
	my $on = on($schema, 'd', "$f l");
	my $statement = pick(
		"UPDATE $f l SET t = 'U' FROM $d d WHERE $on RETURNING l.id, l.t", "UPDATE $d d SET filler = 'u' FROM $f l WHERE $on RETURNING d.id, d.filler", "DELETE FROM $f l USING $d d WHERE $on RETURNING l.id",
		"DELETE FROM $d d USING $f l WHERE $on RETURNING d.id", "INSERT INTO d3 SELECT l.id, d.x, d.y, d.z, '' FROM $f l JOIN (SELECT DISTINCT ON (z) * FROM d1 ORDER BY z, id) d ON $on ON CONFLICT DO NOTHING RETURNING z");
	return "WITH m AS ($statement) " . digest('SELECT * FROM m');
}

# A query with a parameter of type int: its text with $1, and a value.
sub with_parameter
{
	my ($schema) = @_;
	my ($from, @dimensions) = join_of($schema);
	($from, @dimensions) = join_of($schema) while !@dimensions || $from =~ /WHERE/;
	my $condition = pick('d.z > $1', 'd.z = $1', 'l.id > $1', 'd.z <> $1', 'l.k + d.z > $1', '($1 > 20 OR d.z < 9)');
	return (digest('SELECT ' . columns(@dimensions) . " FROM $from WHERE $condition"), int rand(chance(0.5) ? $schema->{keys} : 8));
}

1;
