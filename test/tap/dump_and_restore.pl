# Values survive pg_dump and COPY byte for byte, and give the same answers afterwards, even if the types of their items
# have got other OIDs in the new database. A value that cannot answer rightly any more (text in another encoding) raises
# an error.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $old = StreambloomTap->new('003_old', options => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
my $new = StreambloomTap->new('003_new', bare => 1, options => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
my $has_citext = $old->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'");
my $scratch = StreambloomTap::scratch();

# Items of many types, each of which gets a bf and a tbf: name, type, and an expression over i.
my @types = (
	['integers', 'bigint', 'i * 7919'],
	['texts', 'text', "'page ' || i"],
	['accents', 'text', "repeat('Größe ', i % 5) || i"],
	['characters', 'char(12)', "('c' || i)::char(12)"],
	['bytes', 'bytea', "decode(md5(i::text), 'hex')"],
	['uuids', 'uuid', 'md5(i::text)::uuid'],
	['floats', 'float8', 'i / 7.0'],
	['days', 'date', "'2000-01-01'::date + i"],
	['instants', 'timestamptz', "'2000-01-01 UTC'::timestamptz + i * interval '1.5 hours'"],
	['numerics', 'numeric', '(i / 8.0)::numeric(20, 4)'],
	['addresses', 'inet', "'10.0.0.0'::inet + i"],
	['documents', 'jsonb', "jsonb_build_object('id', i, 'tags', jsonb_build_array(i % 3))"],
	['ranges', 'int4range', 'int4range(i, i + 10)'],
	['arrays', 'int[]', 'ARRAY[i, i + 1]'],
	['pairs', 'pair', "(i, 'name ' || i)::pair"],
	['nested', 'nested', "((i, 'name ' || i)::pair, ARRAY[i])::nested"],
	['domains', 'code', "('K' || i)::code"],
	['domain_arrays', 'code[]', "ARRAY['K' || i, 'L' || i]::code[]"],
	['pair_arrays', 'pair[]', "ARRAY[(i, 'name ' || i)::pair, NULL]"],
	$has_citext ? ['citexts', 'citext', "('Page ' || i)::citext"] : (),
);
my @moved_types = ('pair', 'nested', 'code', $has_citext ? 'citext' : ());

# 500 items are in the filters; 501 to 1500 are not.
sub fill
{
	$old->sql('CREATE EXTENSION citext') if $has_citext;
	$old->sql(<<'SQL');
CREATE TYPE pair AS (number int, name text);
CREATE TYPE nested AS (first pair, rest int[]);
CREATE DOMAIN code AS text CHECK (VALUE <> '');
CREATE TABLE filters (name text PRIMARY KEY, b bf NOT NULL, t tbf NOT NULL);
CREATE TABLE large (b bf, t tbf);
CREATE TABLE few (b bf DEFAULT bf_empty(100, 0.001), t tbf DEFAULT tbf_empty(100, 0.001, NULL));
SQL
	foreach (@types)
	{
		my ($name, $type, $item) = @$_;
		$old->sql(<<"SQL");
CREATE TABLE items_$name AS SELECT i, ($item)::$type AS item FROM generate_series(1, 1500) i;
INSERT INTO filters SELECT '$name', bf_agg(item, NULL, 0.001),
	tbf_agg(item, '2024-05-01 UTC'::timestamptz + i * interval '1 hour', interval '30 days', i % 7 + 1, NULL, 0.001)
FROM items_$name WHERE i <= 500;
SQL
	}
	$old->sql(<<'SQL');
INSERT INTO large SELECT bf_agg(i, 4000000), tbf_agg(i, '2024-05-01 UTC'::timestamptz) FROM generate_series(1, 100000) i;
INSERT INTO few DEFAULT VALUES;
INSERT INTO few VALUES (NULL, NULL);
INSERT INTO few SELECT bf_agg(i), tbf_agg(i, now()) FROM generate_series(1, 1) i;
INSERT INTO few SELECT bf_fold(bf_agg(i, 100000)), tbf_decay(tbf_agg(i, '2024-05-01 UTC'), '2024-08-01 UTC') FROM generate_series(1, 900) i;
-- objects whose definitions name operators, untyped literals and functions
CREATE VIEW asked AS SELECT b @> 'page 1' AS literal, 'page 1' <@ b AS commuted, tbf_count(t, 'page 1', '2024-06-01 UTC') AS count,
	t -> 'page 1' IS NOT NULL AS now, bf_contains_any(b, ARRAY['page 1', 'page 2']) AS any FROM filters WHERE name = 'texts';
CREATE TABLE generated (b bf, has_42 boolean GENERATED ALWAYS AS (b @> 42) STORED, CHECK (b @> 42 OR b @> 43));
INSERT INTO generated SELECT bf_agg(i) FROM generate_series(1, 100) i;
CREATE INDEX ON generated ((bf_cardinality(b))) WHERE b @> 42;
CREATE FUNCTION unite(bf, bf) RETURNS bf LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT $1 | $2; END;
SQL
}

my @tables = (['filters', 'name'], ['few', 'b::text'], ['large', 'b::text'], ['generated', 'b::text']);

sub digest
{
	my ($database) = @_;
	my %digest;
	foreach (@tables)
	{
		my ($table, $order) = @$_;
		my $t = $table eq 'generated' ? "''" : 't::text';
		$digest{$table} = $database->sql("SELECT md5(string_agg(concat_ws(',', b::text, $t), ';' ORDER BY $order)) FROM $table");
	}
	return %digest;
}

# The answers for present and absent items. Those of the restored filters must be the same as those of the old ones.
sub answers
{
	my ($database, $name) = @_;
	return $database->sql(<<"SQL");
SELECT count(*), count(*) FILTER (WHERE i <= 500 AND (b @> item) IS NOT TRUE), count(*) FILTER (WHERE i <= 500 AND (t @> item) IS NOT TRUE),
	count(*) FILTER (WHERE i <= 500 AND tbf_count(t, item, '2024-07-01 UTC') < (i % 7 + 1) *
		2 ^ (-extract(epoch FROM '2024-07-01 UTC'::timestamptz - ('2024-05-01 UTC'::timestamptz + i * interval '1 hour')) / 2592000 - 1.0 / 96)),
	count(*) FILTER (WHERE i > 500 AND b @> item) < 20,
	sum(tbf_count(t, item, '2024-07-01 UTC'))::numeric(20, 6), count(*) FILTER (WHERE b @> item)
FROM filters, items_$name WHERE name = '$name'
SQL
}

fill();
my %old_digest = digest($old);
my %old_answers = map { $_->[0] => answers($old, $_->[0]) } @types;

subtest 'before the dump every filter holds its items' => sub {
	like($old_answers{$_->[0]}, qr/^1500\|0\|0\|0\|t\|/, $_->[0]) foreach @types;
};

my $pg_dump = StreambloomTap::client_program('pg_dump');
my ($code, $dump, $err) = StreambloomTap::run_program('', $pg_dump, '-d', $old->name);
my $dumped = $code == 0;
ok($dumped || $err =~ /server version mismatch/, 'pg_dump dumps the database, or is of an older version') or diag($err);

sub restored_answers_are_right
{
	my ($database, $how) = @_;
	my %digest = digest($database);

	is($digest{$_->[0]}, $old_digest{$_->[0]}, "$how: same bytes in $_->[0]") foreach @tables;
	foreach (@types)
	{
		my $name = $_->[0];
		is(answers($database, $name), $old_answers{$name}, "$how: same answers for $name");
	}
}

subtest 'pg_dump | psql into a database where other objects were made first' => sub {
	plan skip_all => "pg_dump cannot dump this server: $err" if !$dumped;

	# Creates other types of the same names. (The OIDs differ anyway: all databases of a server share one counter.)
	$new->sql('CREATE SCHEMA before; CREATE TYPE before.pair AS (x float8); CREATE DOMAIN before.code AS int; ' .
			'CREATE TABLE before.nested (y numeric)');
	my ($restored, $out, $errors) = $new->try($dump);
	is($restored, 0, 'the dump can be restored') or diag(substr($errors, 0, 2000));
	foreach my $type (@moved_types)
	{
		isnt($new->sql("SELECT 'public.$type'::regtype::oid"), $old->sql("SELECT 'public.$type'::regtype::oid"),
			"$type has another object number");
	}
	restored_answers_are_right($new, 'pg_dump');
	is($new->sql('SELECT * FROM asked'), $old->sql('SELECT * FROM asked'), 'a view with operators and untyped literals');
	like($new->sql('SELECT * FROM asked'), qr/^t\|t\|0\.9786\d+\|t\|t$/, 'it finds what it should');
	is($new->sql('SELECT has_42 FROM generated'), 't', 'a generated column');
	is($new->sqlstate('INSERT INTO generated VALUES (bf_empty())'), '23514', 'the check constraint is enforced');
	is($new->sql('SELECT unite(b, b) = b FROM generated'), 't', 'an SQL function with operators');
	is($new->sql("SELECT b = bf_empty(100, 0.001) AND t = tbf_empty(100, 0.001, NULL) FROM (SELECT * FROM few ORDER BY b::text LIMIT 1) f"), 't',
		'column defaults made the same empty filters');
	is($new->sql('INSERT INTO few DEFAULT VALUES RETURNING (bf_info(b)).expected_items, (tbf_info(t)).half_life IS NULL'), '100|t',
		'and make them again');
};

subtest 'pg_dump --format=custom --compress and pg_restore' => sub {
	plan skip_all => 'pg_dump cannot dump this server' if !$dumped;
	my $custom = StreambloomTap->new('003_custom', bare => 1, options => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");

	my ($made, undef, $dump_errors) = StreambloomTap::run_program('', $pg_dump, '-d', $old->name, '-Fc', '-f', "$scratch/old.dump");
	is($made, 0, 'dumped') or diag($dump_errors);
	my ($restored, undef, $restore_errors) = StreambloomTap::run_program('', StreambloomTap::client_program('pg_restore'),
		'-d', $custom->name, '-e', "$scratch/old.dump");
	is($restored, 0, 'restored') or diag(substr($restore_errors, 0, 2000));
	restored_answers_are_right($custom, 'pg_restore');
};

subtest 'pg_dump --inserts of a few' => sub {
	plan skip_all => 'pg_dump cannot dump this server' if !$dumped;
	my $inserts = StreambloomTap->new('003_inserts', options => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");

	my ($made, $sql, $errors) = StreambloomTap::run_program('', $pg_dump, '-d', $old->name, '--inserts', '-t', 'few', '-O');
	is($made, 0, 'dumped') or diag($errors);
	my ($restored, undef, $restore_errors) = $inserts->try($sql);
	is($restored, 0, 'restored') or diag(substr($restore_errors, 0, 2000));
	is($inserts->sql("SELECT md5(string_agg(concat_ws(',', b::text, t::text), ';' ORDER BY b::text)) FROM few"), $old_digest{few},
		'same bytes');
};

foreach my $format ('binary', 'text', 'csv')
{
	subtest "COPY in $format format" => sub {
		my $copy = StreambloomTap->new('003_copy');
		foreach (@tables)
		{
			my ($table, $order) = @$_;
			next if $table eq 'generated';
			my $columns = $table eq 'filters' ? 'name text, b bf, t tbf' : 'b bf, t tbf';
			$old->sql("\\copy $table to '$scratch/$table.$format' with (format $format)\n");
			$copy->sql("CREATE TABLE $table ($columns);\n\\copy $table from '$scratch/$table.$format' with (format $format)\n");
			is($copy->sql("SELECT md5(string_agg(concat_ws(',', b::text, t::text), ';' ORDER BY $order)) FROM $table"),
				$old_digest{$table}, "same bytes in $table");
		}
		is($copy->sql("SELECT count(*), count(*) FILTER (WHERE b @> (i * 7919)) FROM filters, generate_series(1, 500) i WHERE name = 'integers'"), '500|500',
			'none missed after it');
		is($copy->sql("SELECT count(*) FILTER (WHERE (b @> i AND tbf_count(t, i, '2024-05-01 UTC') BETWEEN 1 AND 1e300) IS NOT TRUE), count(*) >= 2000 FROM large, generate_series(1, 100000, 50) i"), '0|t',
			'none missed in large ones');
	};
}

subtest 'through bytea and back' => sub {
	is($old->sql('SELECT count(*) > 5, count(*) FILTER (WHERE (b = bf(bytea(b)) AND t = tbf(bytea(t)) AND b = b::text::bf AND t = t::text::tbf) IS NOT TRUE) FROM filters'), 't|0',
		'casts to bytea and text and back');
};

subtest 'a filter of text in a database of another encoding is refused, not silently wrong' => sub {
	my $latin1 = StreambloomTap->new('003_latin1', options => "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");

	is($latin1->sql('SHOW server_encoding'), 'LATIN1', 'the other database is LATIN1');
	$latin1->sql("CREATE TABLE filters (name text, b bf, t tbf);\n\\copy filters from '$scratch/filters.text'\n");
	is($latin1->sql("SELECT md5(string_agg(concat_ws(',', b::text, t::text), ';' ORDER BY name)) FROM filters"), $old_digest{filters},
		'the values can be carried there');

	my $both = qr/(UTF8.*LATIN1|LATIN1.*UTF8)/s;
	foreach my $name ('texts', 'accents')
	{
		my $of = "FROM filters WHERE name = '$name'";
		foreach my $item ("'page 1'", "'Größe 1'::text", "'page 1'::varchar", "'page 1'::name")
		{
			$latin1->fails_like("SELECT b @> $item $of", '42804', $both, "$name: b \@> $item names both encodings");
			$latin1->fails_like("SELECT $item <@ b $of", '42804', $both, "$name: $item <\@ b");
			$latin1->fails_like("SELECT tbf_count(t, $item) $of", '42804', $both, "$name: tbf_count(t, $item)");
			$latin1->fails_like("SELECT bf_add(b, $item) $of", '42804', $both, "$name: bf_add(b, $item)");
			$latin1->fails_like("SELECT b || $item $of", '42804', $both, "$name: b || $item");
		}
		$latin1->fails_like("SELECT t @> 'page 1' $of", '42804', $both, "$name: t \@> ...");
		$latin1->fails_like("SELECT t -> 'page 1' $of", '42804', $both, "$name: t -> ...");
		$latin1->fails_like("SELECT tbf_add(t, 'page 1') $of", '42804', $both, "$name: tbf_add");
		$latin1->fails_like("SELECT tbf_add_all(t, ARRAY['page 1']) $of", '42804', $both, "$name: tbf_add_all");
		$latin1->fails_like("SELECT bf_contains_any(b, ARRAY['page 1']) $of", '42804', $both, "$name: bf_contains_any");
		$latin1->fails_like("SELECT bf_contains_all(b, ARRAY['page 1']) $of", '42804', $both, "$name: bf_contains_all");
		$latin1->fails_like("SELECT bf_add_all(b, ARRAY['page 1']) $of", '42804', $both, "$name: bf_add_all");
		$latin1->fails_like("SELECT b | (SELECT bf_agg('page 1'::text)) $of", '42804', $both, "$name: b | ...");
		$latin1->fails_like("SELECT t + (SELECT tbf_agg('page 1'::text, now())) $of", '42804', $both, "$name: t + ...");
		$latin1->fails_like("SELECT bf_union_agg(f) FROM (SELECT b $of UNION ALL SELECT bf_agg('page 1'::text)) u(f)", '42804', $both,
			"$name: bf_union_agg");
		like($latin1->sql("SELECT (bf_info(b)).item_kind || (tbf_info(t)).item_kind $of"), qr/UTF8.*UTF8/, "$name: the info names the encoding");
	}
	$latin1->fails_like("SELECT b @> 'c1'::char(12) FROM filters WHERE name = 'characters'", '42804', $both, 'char(n) too');

	my @portable = grep { $_->[0] =~ /^(integers|bytes|uuids|floats|days|instants|numerics|addresses|ranges|arrays)$/ } @types;
	foreach (@portable)
	{
		my ($name, $type, $item) = @$_;
		$latin1->sql("CREATE TABLE items_$name AS SELECT i, ($item)::$type AS item FROM generate_series(1, 1500) i");
		is(answers($latin1, $name), $old_answers{$name}, "filters of $name answer as before");
	}
	like($latin1->sql("SELECT bf_sketch(b) FROM filters WHERE name = 'texts'"), qr/^bf of text \(UTF8\)/, 'a sketch can be drawn');
};

subtest 'composite, jsonb and citext items hold text too: another encoding must not miss silently' => sub {
	my $latin1 = StreambloomTap->new('003_latin1', options => "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
	$latin1->sql('CREATE EXTENSION citext') if $has_citext;
	$latin1->sql("CREATE TYPE pair AS (number int, name text); CREATE DOMAIN code AS text; CREATE TABLE filters (name text, b bf, t tbf);\n" .
			"\\copy filters from '$scratch/filters.text'\n");
	$old->sql(<<'SQL');
CREATE TABLE accented AS SELECT bf_agg(item) AS pairs, bf_agg(document) AS documents, bf_agg(codes) AS codes
FROM (SELECT (i, 'Größe')::pair AS item, jsonb_build_object('id', i, 'name', 'Größe') AS document,
	ARRAY['Größe' || i]::code[] AS codes FROM generate_series(1, 50) i) x;
SQL
	my %literal = (
		pairs => "(1, 'Größe')::pair",
		documents => "jsonb_build_object('id', 1, 'name', 'Größe')",
		codes => "ARRAY['Größe1']::code[]",
		$has_citext ? (citexts => "'Größe1'::citext") : (),
	);
	$old->sql("ALTER TABLE accented ADD citexts bf; UPDATE accented SET citexts = (SELECT bf_agg(('Größe' || i)::citext) FROM generate_series(1, 50) i)")
		if $has_citext;
	foreach my $column (sort keys %literal)
	{
		my $value = $old->sql("SELECT $column FROM accented");
		is($old->sql("SELECT '$value'::bf @> $literal{$column}"), 't', "$column: found where it was built");
		my ($failed, $answer, $error) = $latin1->try("SELECT '$value'::bf @> $literal{$column}");
		ok($failed != 0 && $error =~ /ERROR:\s+42804:/ || $answer eq 't',
			"$column: in LATIN1 an error or the right answer, not a silent no") or diag($failed ? $error : "it answered $answer");
	}
};

done_testing();
