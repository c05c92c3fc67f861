# bf_index_advise() on three real logs. The bytes that it expects of bf indexes and B-trees are within 25 % of those of
# the indexes that are then made. The pages that it expects of a look-up are within a factor of two of the mean that is
# then read, for absent values, rare values and the most frequent one. The logs: a developer's blog, 90 thousand lines,
# or all 207 thousand if STREAMBLOOM_SECONDS is more than 60; an example log, 10 thousand; a million disk block numbers
# (see SOURCES.md of the data). The same is tested for the bytes of GIN indexes and of bf indexes of keys, on the words
# of a log's agents, on edits and on a shop's orders. There the filters have 0.45 to 1.1 times the false-positive rate
# that was asked for. Look-ups of absent keys read, in the mean, at most two and a half times the expected pages;
# they can read far fewer.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $blog = StreambloomTap::require_data('blog-2016.access.log.gz', 'gzip');
my $example = StreambloomTap::require_data('semicomplete-2015.access.log.gz', 'gzip');
my $blocks = StreambloomTap::require_data('block-ids-w106.ids.txt.xz', 'xz');
my $edits = StreambloomTap::require_data('wikipedia-edits-2015.tsv.gz', 'gzip');
my $orders = StreambloomTap::require_data('online-retail-2011.csv.gz', 'gzip');
my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60;
my $db = StreambloomTap->new('036');

# Perl takes the lines of the logs apart, because PostgreSQL's regular expressions take a minute for that.
my $parser = StreambloomTap::scratch() . '/parse.pl';
StreambloomTap::write_file($parser, <<'PERL');
while (<STDIN>)
{
	chomp;
	my @f = /^(\S+) \S+ \S+ \[([^]]+)\] "(.*?)" (\d+) (\S+)(?: "[^"]*" "([^"]*))?/ or next;
	$f[1] =~ s{^(\d+)/(\w+)/(\d+):}{$1 $2 $3 };
	$f[2] = (split / /, $f[2])[1] // '';
	undef $f[4] if $f[4] eq '-';
	print join("\t", $., map { defined $_ ? s/\\/\\\\/gr =~ s/\t/\\t/gr : '\N' } @f), "\n";
}
PERL
my $blog_lines = $long ? 206860 : 90000;
foreach (['blog', $blog, $blog_lines], ['example', $example, 10000])
{
	my ($log, $path, $lines) = @$_;
	$path =~ s/'/''/g;
	$db->sql(<<"SQL");
CREATE UNLOGGED TABLE $log (id bigint, host text, at timestamptz, url text, status int, bytes bigint, agent text);
\\copy $log from program 'gzip -dc "$path" | head -n $lines | perl "$parser"'
SQL
}
(my $quoted = $blocks) =~ s/'/''/g;
$db->sql(<<"SQL");
CREATE UNLOGGED TABLE blocks (id bigserial, block int);
\\copy blocks (block) from program 'xz -dc "$quoted" | head -n 1000000'
VACUUM ANALYZE;
SQL
is($db->sql('SELECT count(*) FROM blog; SELECT count(*) FROM example; SELECT count(*) FROM blocks'), "$blog_lines\n10000\n1000000", 'the logs are loaded');

$db->sql(<<'SQL');
CREATE FUNCTION pages_of(query text) RETURNS float8 LANGUAGE plpgsql SET streambloom.enable_skip = off SET enable_seqscan = off SET enable_indexscan = off SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::float8 + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::float8;
END $$;
-- The mean number of pages over some values. Rare values are among the tenth of the values with the fewest rows.
-- Absent values have the type of the column. The table "counts" has the values of the column.
CREATE FUNCTION measured(t regclass, name text, kind text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	type text;
	result float8;
BEGIN
	SELECT format_type(atttypid, atttypmod) INTO type FROM pg_attribute WHERE attrelid = t AND attname = name;
	EXECUTE format('SELECT avg(pages_of(format(''SELECT * FROM %s WHERE %I = %%L::%s'', v))) FROM (%s) c', t, name, type, CASE kind
		WHEN 'frequent' THEN 'SELECT v FROM counts ORDER BY n DESC LIMIT 1'
		WHEN 'rare' THEN 'SELECT v FROM (SELECT v FROM counts ORDER BY n, mix LIMIT (SELECT greatest(count(*) / 10, 1) FROM counts)) c ORDER BY md5(v) LIMIT 10'
		ELSE format('SELECT CASE %L WHEN ''text'' THEN ''absent '' || i WHEN ''timestamp with time zone'' THEN (timestamptz ''1999-01-01 UTC'' + i * interval ''1 s'')::text ELSE (-i * 1000)::text END AS v FROM generate_series(1, 20) i', type) END) INTO result;
	RETURN result;
END $$;
CREATE TABLE result (n serial, log text, name text, what text, said float8, found float8);
SQL

# What is measured depends on the index alone, so it is the same for both samples of the blocks.
my (%found, %btree);
foreach (['blog', '1 hour'], ['example', '1 hour'], ['blocks', '1 hour'], ['blocks', '1 us'])
{
	my ($log, $budget) = @$_;

	$db->sql("CREATE TABLE said AS SELECT * FROM bf_index_advise('$log', budget => '$budget')");
	foreach my $row ($db->rows(q{SELECT "column", btree_bytes IS NOT NULL, coalesce(substring(statement FROM 'WITH .*'), '') FROM said}))
	{
		my ($column, $has_btree, $with) = @$row;
		my $keep = sub {
			my ($what, $said, $found) = @_;
			return "('$log, $budget', '$column', '$what', (SELECT $said FROM said WHERE \"column\" = '$column'), $found)";
		};
		my $found = $found{"$log $column $with"} //= ($db->rows(<<"SQL"))[0];
CREATE TABLE counts AS SELECT $column\::text AS v, count(*) AS n, hashtext($column\::text) AS mix FROM $log WHERE $column IS NOT NULL GROUP BY $column;
CREATE INDEX said_bf ON $log USING bf ($column) $with;
SELECT pg_relation_size('said_bf'), ${\join ', ', map { "measured('$log', '$column', '$_')" } 'absent', 'rare', 'frequent'};
DROP TABLE counts;
DROP INDEX said_bf;
SQL
		my @rows = map { $keep->(@$_) } ['bf bytes', 'bf_bytes', $found->[0]], ['pages absent', 'pages_absent', $found->[1]],
			['pages rare', 'pages_rare', $found->[2]], ['pages frequent', 'pages_frequent', $found->[3]];
		if ($has_btree eq 't')
		{
			$btree{"$log $column"} //= $db->sql("CREATE INDEX said_btree ON $log ($column); SELECT pg_relation_size('said_btree'); DROP INDEX said_btree");
			push @rows, $keep->('B-tree bytes', 'btree_bytes', $btree{"$log $column"});
		}
		$db->sql('INSERT INTO result (log, name, what, said, found) VALUES ' . join ', ', @rows);
	}
	$db->sql('DROP TABLE said');
}

$db->load_lines('edit_lines', $edits, 'gzip');
$db->load_lines('order_lines', $orders, 'gzip');
$db->sql(<<'SQL');
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE UNLOGGED TABLE edits AS
	SELECT jsonb_build_object('time', f[1], 'channel', f[2], 'namespace', f[3], 'page', f[4], 'robot', f[5], 'delta', f[6]::int, 'added', f[7]::int) AS doc,
		to_tsvector('simple', f[4]) AS words, regexp_split_to_array(lower(f[4]), '[^[:alnum:]]+') AS parts, f[4] AS title
	FROM (SELECT n, string_to_array(line, E'\t') AS f FROM edit_lines WHERE n > 1 OFFSET 0) l ORDER BY n;
CREATE UNLOGGED TABLE orders AS
	SELECT array_agg(f[2] ORDER BY n) AS items, jsonb_build_object('invoice', f[1], 'country', min(f[array_length(f, 1)]), 'lines', jsonb_agg(jsonb_build_object('stock', f[2], 'rest', f[3]) ORDER BY n)) AS doc
	FROM (SELECT n, string_to_array(line, ',') AS f FROM order_lines WHERE n BETWEEN 2 AND 200000 OFFSET 0) l GROUP BY f[1] ORDER BY min(n);
CREATE UNLOGGED TABLE agents AS SELECT to_tsvector('simple', agent) AS words, url FROM blog ORDER BY id;
DROP TABLE edit_lines, order_lines;
SQL
is($db->sql('SELECT count(*) FROM edits; SELECT count(*) FROM orders; SELECT count(*) FROM agents'), "39244\n10204\n$blog_lines", 'and the tables of keys');
foreach my $table ('edits', 'orders', 'agents')
{
	$db->sql("CREATE TABLE said AS SELECT * FROM bf_index_advise('$table', budget => '1 hour')");
	foreach my $row ($db->rows(qq{SELECT "column", format_type(atttypid, NULL), coalesce(replace(statement, 'CREATE INDEX', 'CREATE INDEX said_bf'), '')
		FROM said JOIN pg_attribute ON attrelid = '$table'::regclass AND attname = "column"}))
	{
		my ($column, $type, $statement) = @$row;
		my $class = $type eq 'jsonb' ? 'jsonb_path_ops' : $type eq 'text' ? 'gin_trgm_ops' : '';

		$db->sql("CREATE INDEX said_gin ON $table USING gin ($column $class)");
		$db->sql("INSERT INTO result (log, name, what, said, found) SELECT '$table', '$column', 'GIN bytes', gin_bytes, pg_relation_size('said_gin') FROM said WHERE \"column\" = '$column'");
		$db->sql('DROP INDEX said_gin');
		next if $statement eq '' || $type eq 'text';
		$db->sql($statement);
		$db->sql("INSERT INTO result (log, name, what, said, found) SELECT '$table', '$column', 'bf bytes of keys', bf_bytes, pg_relation_size('said_bf') FROM said WHERE \"column\" = '$column'");
		my ($rate) = map { $_->[0] } $db->rows(q{SELECT round((current_false_positive_rate / false_positive_rate)::numeric, 2) FROM bf_index_stats('said_bf') WHERE level = 0});
		ok($rate >= 0.45 && $rate <= 1.1, "$table, $column: the rate of the filters is $rate times the one asked for");
		# keys that no row has
		my ($pages) = map { $_->[0] } $db->rows("SELECT avg(pages_of(format('SELECT * FROM $table WHERE $column %s', q))) FROM " .
				($type eq 'jsonb' ? q[(SELECT format('@> %L::jsonb', jsonb_build_object('page', 'none ' || i)) AS q FROM generate_series(1, 200) i) a] :
					$type eq 'tsvector' ? q[(SELECT format('@@ %L::tsquery', 'none' || i) AS q FROM generate_series(1, 200) i) a] :
					q[(SELECT format('@> %L::text[]', ARRAY['none ' || i]) AS q FROM generate_series(1, 200) i) a]));
		$db->sql("INSERT INTO result (log, name, what, said, found) SELECT '$table', '$column', 'pages of an absent key', pages_absent, $pages FROM said WHERE \"column\" = '$column'");
		$db->sql('DROP INDEX said_bf');
	}
	$db->sql('DROP TABLE said');
}

foreach my $row ($db->rows('SELECT log, name, what, round(said::numeric, 1), round(found::numeric, 1), round((said / found)::numeric, 2) FROM result ORDER BY n'))
{
	my ($log, $name, $what, $said, $found, $ratio) = @$row;
	# A filter of keys is often emptier than planned, and then it says "maybe" less often than expected.
	my $bound = $what =~ /bytes/ ? 1.25 : $what eq 'pages of an absent key' ? 1000 : 2;
	# It may also say "maybe" more often: the rate is a mean over all keys, and a few of the 200 keys decide their
	# mean. For example, among 200 absent keys in a table of the orders' documents, 199 read 2 or 3 pages, and one read
	# 89: its few bits were also bits of frequent keys.
	my $least = $what =~ /bytes/ ? 0.75 : $what eq 'pages of an absent key' ? 0.4 : 0.5;

	# a tenth of the table, which is the least that is read, tells less, and little of the pages of a rare value
	next if $log =~ /1 us/ && $what eq 'pages rare';
	($least, $bound) = ($least / 1.4, $bound * 1.4) if $log =~ /1 us/;

	# Of an index of two or three pages one page is much, and so is a page or two of a look-up that reads one.
	my $close = abs($said - $found) <= ($what =~ /bytes/ ? 8192 : 2);

	ok($close || ($ratio <= $bound && $ratio >= $least), "$log, $name, $what: said $said, found $found, ratio $ratio");
}

# The logs have 18 columns, with those of the second sample of the blocks; the other tables have 8, of which 6 have
# keys.
my %number = map { $_->[0] => $_->[1] } $db->rows('SELECT what, count(*) FROM result GROUP BY what');
cmp_ok($number{$_} // 0, '>=', 16, "many columns: $_") foreach 'bf bytes', 'B-tree bytes', 'pages absent', 'pages rare', 'pages frequent';
cmp_ok($number{$_} // 0, '>=', 5, "many columns: $_") foreach 'GIN bytes', 'bf bytes of keys', 'pages of an absent key';

done_testing();
