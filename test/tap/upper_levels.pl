# The levels above 1 of a bf index. Only an index on a large table has them, so the table has two gigabytes, but takes
# hardly any room on disk. Nearly all its pages are holes in the files; PostgreSQL reads these as empty pages. Rows are
# at the beginning, in the middle and at the end.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
OwnCluster::start(autovacuum => 'off');

my $db = StreambloomTap->new('025');
my $data = OwnCluster::data_dir();
my $segment = 1 << 30;

$db->sql(<<'SQL');
CREATE TABLE vast (id bigint, pad text) WITH (autovacuum_enabled = off);
INSERT INTO vast SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i;
CREATE INDEX grown ON vast USING bf (id) WITH (pages_per_range = 1);
CREATE FUNCTION pages_read(query text, OUT index_pages integer, OUT heap_pages integer) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	index_pages := (plan -> 'Plans' -> 0 ->> 'Shared Hit Blocks')::int + (plan -> 'Plans' -> 0 ->> 'Shared Read Blocks')::int;
	heap_pages := plan ->> 'Lossy Heap Blocks';
END
$$;
SQL

# Lengthens the table to this many bytes, while the server is stopped.
sub lengthen
{
	my ($bytes) = @_;
	my $path = "$data/" . $db->sql("CHECKPOINT;\nSELECT pg_relation_filepath('vast')");
	OwnCluster::stop();
	foreach my $number (0 .. int(($bytes - 1) / $segment))
	{
		my $file = $number ? "$path.$number" : $path;
		my $left = $bytes - $number * $segment;
		open(my $handle, '>>:raw', $file) or die "cannot open $file: $!";
		truncate($handle, $left > $segment ? $segment : $left) or die "cannot lengthen $file: $!";
		close $handle;
	}
	OwnCluster::restart();
}

# Rows at the end. Empty pages are not in the free space map, so the rows are written to the last page and to new ones.
lengthen($segment + $segment / 4);
$db->sql("INSERT INTO vast SELECT i, repeat('m', 200) FROM generate_series(1001, 2000) i");
lengthen(2 * $segment + 37 * 8192);
$db->sql("INSERT INTO vast SELECT i, repeat('e', 200) FROM generate_series(2001, 3000) i");
my $places = $db->sql("SELECT count(DISTINCT (ctid::text::point)[0]::bigint / 10000) FROM vast WHERE id IN (1, 1999, 2999)");

sub check
{
	my ($index, $levels, $how) = @_;
	subtest $how => sub {
		is($db->sql("SELECT array_agg(level || ':' || (summarized >= ranges - 125) ORDER BY level) FROM bf_index_stats('$index')"),
			'{' . join(',', map { "$_:true" } 0 .. $levels - 1) . '}', 'levels');
		foreach my $id (1, 500, 1000, 1001, 1500, 2000, 2001, 2500, 3000)
		{
			my ($index_pages, $heap_pages) = split /\|/, $db->sql("SELECT * FROM pages_read('SELECT * FROM vast WHERE id = $id')");
			cmp_ok($index_pages, '<', 16, "row $id: $index_pages pages of the index");
			cmp_ok($heap_pages, '<', 8, "and $heap_pages of the table");
			is($db->sql("SET enable_seqscan = off; SELECT count(*) FROM vast WHERE id = $id"), 1, 'and it is found');
		}
		my ($index_pages, $heap_pages) = split /\|/, $db->sql("SELECT * FROM pages_read('SELECT * FROM vast WHERE id = -5')");
		cmp_ok($index_pages + $heap_pages, '<', 16, "an absent value: $index_pages and $heap_pages pages");
		is($db->sql("SELECT bf_index_check('$index')"), 3000, 'every row is in it');
	};
}

is($places, 3, 'the rows lie in three places');
$db->sql('VACUUM vast');
# By now VACUUM may have cut off the empty pages at the end.
check('grown', 3, 'an index that has grown');
$db->sql('CREATE INDEX built ON vast USING bf (id) WITH (pages_per_range = 1)');
$db->sql('DROP INDEX grown');
check('built', 3, 'an index that was built');
$db->sql('DROP INDEX built; CREATE INDEX two ON vast USING bf (id) WITH (pages_per_range = 1, levels = 2)');
is($db->sql("SELECT max(level) FROM bf_index_stats('two')"), 1, 'two levels, if no more are asked for');
is($db->sql("SELECT bf_index_check('two')"), 3000, 'it has every row');

done_testing();
