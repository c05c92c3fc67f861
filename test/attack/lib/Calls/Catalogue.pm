# Calls::Catalogue: everything of an extension that SQL can call, read from the server's catalogue. Nothing is listed
# here, so functions that a later version adds are called without a change of the test.
#
# A callable is a hash:
#   kind      function, set (a function that returns rows), aggregate, window, procedure, operator or cast
#   name      how it is written
#   label     its name with the types of its arguments, for people
#   types     the types of its arguments
#   names     the names of its arguments, empty where they have none
#   defaults  how many of the last arguments may be left out
#   result    the type of its result
#   inner     only the server can call it with success: a support function, or a part of an aggregate
package Calls::Catalogue;

use strict;
use warnings;

sub new
{
	my ($class, $database, $extension) = @_;
	my $self = bless {callables => [], types => {}}, $class;
	my $members = "pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid " .
		"AND e.extname = '$extension' AND d.deptype = 'e'";

	foreach my $row ($database->rows(<<"SQL"))
SELECT CASE WHEN p.prokind = 'a' THEN 'aggregate' WHEN p.prokind = 'w' THEN 'window' WHEN p.prokind = 'p' THEN 'procedure'
		WHEN p.proretset THEN 'set' ELSE 'function' END,
	p.oid::regproc, p.oid::regprocedure,
	(SELECT string_agg(format_type(t, NULL), ';' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY x(t, n)),
	array_to_string(p.proargnames[1:p.pronargs], ';'), p.pronargdefaults, format_type(p.prorettype, NULL), quote_ident(p.proname),
	'internal'::regtype = ANY (p.proargtypes::oid[]) OR EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn))
FROM pg_proc p JOIN $members ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
ORDER BY p.oid::regprocedure::text
SQL
	{
		my ($kind, $qualified, $label, $types, $names, $defaults, $result, $name, $inner) = @$row;
		push @{$self->{callables}}, {inner => $inner eq 't', kind => $kind, name => $qualified =~ /\./ ? $qualified : $name, label => $label,
			types => [split /;/, $types], names => [split /;/, $names], defaults => $defaults, result => $result};
	}

	# A bar separates the columns of the answer, so a letter stands for it in operators, which have no letters.
	foreach my $row ($database->rows(<<"SQL"))
SELECT replace(o.oprname, '|', 'l'), format_type(o.oprleft, NULL), format_type(o.oprright, NULL), format_type(o.oprresult, NULL), o.oprleft = 0
FROM pg_operator o JOIN $members ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid
ORDER BY o.oid::regoperator::text
SQL
	{
		my ($name, $left, $right, $result, $is_prefix) = @$row;
		$name =~ tr/l/|/;
		my @types = $is_prefix eq 't' ? ($right) : ($left, $right);
		push @{$self->{callables}}, {kind => 'operator', name => $name, label => "operator $name (" . join(', ', @types) . ')',
			types => \@types, names => [], defaults => 0, result => $result};
	}

	# Casts, and the casts from and to text that use a type's input and output functions.
	foreach my $row ($database->rows(<<"SQL"))
SELECT format_type(c.castsource, NULL), format_type(c.casttarget, NULL)
FROM pg_cast c JOIN $members ON d.classid = 'pg_cast'::regclass AND d.objid = c.oid
UNION
SELECT s, t FROM (SELECT format_type(t.oid, NULL) FROM pg_type t JOIN $members ON d.classid = 'pg_type'::regclass AND d.objid = t.oid
	WHERE t.typtype = 'b' AND t.typcategory <> 'A') x(name), LATERAL (VALUES ('text', name), (name, 'text')) y(s, t)
ORDER BY 1, 2
SQL
	{
		my ($from, $to) = @$row;
		push @{$self->{callables}}, {kind => 'cast', name => $to, label => "cast ($from as $to)", types => [$from], names => [],
			defaults => 0, result => $to};
	}
	push @{$self->{by_result}{$_->{result}}}, $_ foreach grep { $_->{kind} =~ /^(?:function|operator|cast|aggregate)$/ } @{$self->{callables}};
	return $self;
}

sub callables { return @{$_[0]{callables}}; }

# The callables that return this type, for arguments that are themselves calls.
sub that_return { return @{$_[0]{by_result}{$_[1]} // []}; }

# The types of all arguments, each once, with the callables that take it.
sub argument_types
{
	my ($self) = @_;
	my %users;
	foreach my $callable ($self->callables)
	{
		my %seen;
		push @{$users{$_}}, $callable->{label} foreach grep { !$seen{$_}++ } @{$callable->{types}};
	}
	return \%users;
}

# A call as an expression; its arguments are expressions.
sub expression
{
	my ($callable, @arguments) = @_;

	return "$callable->{name}(" . join(', ', @arguments) . ')' if $callable->{kind} !~ /^(?:operator|cast)$/;
	return "CAST($arguments[0] AS $callable->{name})" if $callable->{kind} eq 'cast';
	return @arguments == 1 ? "($callable->{name} $arguments[0])" : "($arguments[0] $callable->{name} $arguments[1])";
}

1;
