# All objects of the extension as the system catalogs have them, to compare an upgraded extension with a fresh one.
#
# The query is made from the catalogs themselves: it takes all columns of the row of each object but a few (%different),
# so that nothing has to be listed here that an upgrade script may forget. OIDs are written as what they stand for.
package ExtensionObjects;

use strict;
use warnings;

# Columns that need not be the same: OIDs of the object itself or of its table, names of files, statistics, owners, and
# what ALTER TABLE ADD COLUMN leaves.
my %different = map { $_ => 1 } qw(oid extowner relfilenode relpages reltuples relallvisible relallfrozen reltoastrelid relfrozenxid relminmxid
	relnatts attrelid attnum attcacheoff atthasmissing attmissingval aggfnoid);

# For each catalog, SQL that shows what its columns of type pg_node_tree mean. The trees themselves are not compared,
# because they contain positions in the text of a script.
my %definition = (
	pg_proc => "concat_ws(' ', '(' || pg_get_function_arguments(x.oid) || ')', pg_get_function_result(x.oid), pg_get_function_sqlbody(x.oid))",
	pg_class => "CASE WHEN relkind = 'v' THEN pg_get_viewdef(x.oid) WHEN relkind = 'i' THEN pg_get_indexdef(x.oid) END",
	pg_rewrite => 'pg_get_ruledef(x.oid)',
	pg_constraint => 'pg_get_constraintdef(x.oid)',
	pg_trigger => 'pg_get_triggerdef(x.oid)',
	pg_attrdef => 'pg_get_expr(adbin, adrelid)',
);

# Objects of the extension, and what belongs to them, such as rules, constraints, triggers, defaults, and members of
# operator families.
my $members = <<'SQL';
WITH RECURSIVE extension AS (
	SELECT e.*, quote_ident(n.nspname) || '.' AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'streambloom'
), member AS (
	SELECT 'pg_extension'::regclass::oid AS classid, e.oid AS objid FROM extension e
	UNION
	SELECT d.classid, d.objid FROM member m JOIN pg_depend d ON d.refclassid = m.classid AND d.refobjid = m.objid
	WHERE d.deptype IN ('e', 'i', 'a') AND pg_describe_object(d.classid, d.objid, 0) !~ 'pg_toast'
)
SQL

# One expression of SQL for each column of a catalog: 'name=value', or NULL.
sub columns
{
	my ($db, $catalog) = @_;
	my %leads_to = map { $_->[0] => $_ } $db->rows("SELECT fkcols[1], pktable, is_array FROM pg_get_catalog_foreign_keys() WHERE fktable = '$catalog'::regclass AND cardinality(fkcols) = 1");
	my @found;

	foreach ($db->rows("SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = '$catalog'::regclass AND attnum > 0 ORDER BY attnum"))
	{
		my ($name, $type) = @$_;
		my (undef, $table, $is_array) = @{$leads_to{$name} // [$name, '', 'f']};
		my $value = "x.${name}::text";
		next if $different{$name} || $type eq 'pg_node_tree' || $table eq 'pg_authid';
		if ($type eq 'regproc') { $value = "nullif(x.${name}::oid, 0)::regprocedure::text"; }
		elsif ($type eq 'aclitem[]')
		{
			# without the rights of the role that has created the extension (72-rollup.sql)
			$value = "(SELECT array_agg(a ORDER BY a::text)::text FROM unnest(x.$name) a WHERE a::text NOT LIKE 'streambloom\\_tap\\_maker=%')";
		}
		elsif ($name eq 'attoptions')
		{
			# PostgreSQL 15.20 stores an option pg_attver of every column.
			$value = "(SELECT array_agg(o ORDER BY o)::text FROM unnest(x.$name) o WHERE o NOT LIKE 'pg\\_attver=%')";
		}
		elsif ($table && $is_array eq 't')
		{
			$value = "(SELECT string_agg(pg_describe_object('$table'::regclass, o, 0), ',' ORDER BY n) FROM unnest(x.${name}::oid[]) WITH ORDINALITY u (o, n))";
		}
		elsif ($table eq 'pg_namespace')
		{
			$value = "CASE WHEN x.$name <> (SELECT extnamespace FROM extension) THEN x.${name}::regnamespace::text END";
		}
		elsif ($table) { $value = "pg_describe_object('$table'::regclass, x.$name, 0)"; }
		push @found, "'$name=' || $value";
	}
	push @found, "'definition=' || $definition{$catalog}" if $definition{$catalog};
	return join(', ', @found);
}

# query($db): SQL that returns a line for each object of the extension, with all that the object has. It is made from
# the catalogs of the database $db, which must have the extension.
sub query
{
	my ($db) = @_;
	my $of_class = '';

	foreach ($db->rows("$members SELECT DISTINCT classid::regclass FROM member"))
	{
		my ($catalog) = @$_;
		$of_class .= "WHEN '$catalog'::regclass THEN (SELECT concat_ws(', ', " . columns($db, $catalog) . ") FROM $catalog x WHERE x.oid = m.objid) ";
	}
	my $columns = columns($db, 'pg_attribute');
	my $aggregate = columns($db, 'pg_aggregate');
	return <<"SQL";
SET search_path = '';
$members
SELECT translate(replace(concat_ws(' ; ', pg_describe_object(m.classid, m.objid, 0),
			(SELECT 'member' FROM pg_depend d, extension e WHERE d.deptype = 'e' AND d.classid = m.classid AND d.objid = m.objid AND d.refobjid = e.oid), CASE m.classid $of_class END,
			(SELECT concat_ws(', ', $aggregate) FROM pg_aggregate x WHERE x.aggfnoid = m.objid AND m.classid = 'pg_proc'::regclass),
			(SELECT string_agg(concat_ws(', ', $columns, 'comment=' || col_description(x.attrelid, x.attnum)), ' / ' ORDER BY attnum)
				FROM pg_attribute x WHERE x.attrelid = m.objid AND m.classid = 'pg_class'::regclass AND attnum > 0 AND NOT attisdropped),
			'comment=' || (SELECT obj_description(m.objid, relname) FROM pg_class WHERE oid = m.classid)), (SELECT schema FROM extension), ''), E'\\n', ' ')
FROM member m
SQL
}

1;
