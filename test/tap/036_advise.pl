# bf_index_advise() on three real logs: the bytes that it expects of bf indexes and B-trees are within 25 % of those of the indexes that are
# then made, and the pages of look-ups within a factor of two, for values that are absent, rare and the most frequent one. (A
# developer's blog, 207 thousand lines; an example log, 10 thousand; a million disk block numbers; see SOURCES.md of the data.)
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
my $db = StreambloomTap->new('036');

$db->load_lines('blog_lines', $blog, 'gzip');
$db->load_lines('example_lines', $example, 'gzip');
$db->load_lines('block_lines', $blocks, 'xz');
foreach my $log ('blog', 'example')
{
	$db->sql(<<"SQL");
CREATE UNLOGGED TABLE $log AS
	SELECT n AS id, f[1] AS host, f[2]::timestamptz AS at, split_part(f[3], ' ', 2) AS url, f[4]::int AS status, nullif(f[5], '-')::bigint AS bytes, f[7] AS agent
	FROM (SELECT n, regexp_match(line, '^(\\S+) \\S+ \\S+ \\[([^]]+)\\] "(.*?)" (\\d+) (\\S+)( "[^"]*" "([^"]*))?') AS f
		FROM (SELECT n, regexp_replace(line, '\\[(\\d+)/(\\w+)/(\\d+):', '[\\1 \\2 \\3 ') AS line FROM ${log}_lines) t) l
	WHERE f IS NOT NULL ORDER BY n;
DROP TABLE ${log}_lines;
SQL
}
$db->sql('CREATE UNLOGGED TABLE blocks AS SELECT n AS id, line::int AS block FROM block_lines WHERE n <= 1000000 ORDER BY n; DROP TABLE block_lines; VACUUM ANALYZE');

$db->sql(<<'SQL');
CREATE FUNCTION pages_of(query text) RETURNS float8 LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::float8 + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::float8;
END $$;
-- The mean over some values. Rare ones are of the tenth that has the fewest rows; absent ones are of the same type. The table "counts" has
-- the values of the column.
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

foreach (['blog', 16384], ['example', 16384], ['blocks', 16384], ['blocks', 2000])
{
	my ($log, $sample) = @$_;

	$db->sql("CREATE TABLE said AS SELECT * FROM bf_index_advise('$log', sample_pages => $sample)");
	foreach my $row ($db->rows(q{SELECT "column", btree_bytes IS NOT NULL, coalesce(substring(statement FROM 'WITH .*'), '') FROM said}))
	{
		my ($column, $has_btree, $with) = @$row;
		my $keep = sub {
			my ($what, $said, $found) = @_;
			$db->sql("INSERT INTO result (log, name, what, said, found) SELECT '$log, $sample pages', '$column', '$what', $said, $found FROM said WHERE \"column\" = '$column'");
		};

		$db->sql("DROP TABLE IF EXISTS counts; CREATE TABLE counts AS SELECT $column\::text AS v, count(*) AS n, hashtext($column\::text) AS mix " .
				"FROM $log WHERE $column IS NOT NULL GROUP BY $column");
		$db->sql("CREATE INDEX said_bf ON $log USING bf ($column) $with");
		$keep->('bf bytes', 'bf_bytes', "pg_relation_size('said_bf')");
		$keep->("pages $_", "pages_$_", "measured('$log', '$column', '$_')") foreach 'absent', 'rare', 'frequent';
		$db->sql('DROP INDEX said_bf');
		next if $has_btree ne 't';
		$db->sql("CREATE INDEX said_btree ON $log ($column)");
		$keep->('B-tree bytes', 'btree_bytes', "pg_relation_size('said_btree')");
		$db->sql('DROP INDEX said_btree');
	}
	$db->sql('DROP TABLE said');
}

foreach my $row ($db->rows('SELECT log, name, what, round(said::numeric, 1), round(found::numeric, 1), round((said / found)::numeric, 2) FROM result ORDER BY n'))
{
	my ($log, $name, $what, $said, $found, $ratio) = @$row;
	my $bound = $what =~ /bytes/ ? 1.25 : 2;

	ok($ratio <= $bound && $ratio >= ($what =~ /bytes/ ? 0.75 : 0.5), "$log, $name, $what: said $said, found $found, ratio $ratio");
}

done_testing();
