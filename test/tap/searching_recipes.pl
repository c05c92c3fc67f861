# The recipes of docs/searching.md, as they are printed: lines, JSON events, tags, an operator class of another
# extension. The answers are the same as by sequential scans, the indexes are used, and a search for a rare word reads
# few pages.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my %recipe = StreambloomTap::recipes('docs/searching.md');
my $db = StreambloomTap->new('017');
my $extensions = $db->sql("SELECT string_agg(name, ' ') FROM pg_available_extensions WHERE name = 'hstore'") // '';

# Each SELECT of a recipe returns the same rows with the index as without it, and uses the index.
sub same_rows
{
	my ($recipe, @counts) = @_;
	my @questions = map { s/;.*//sr } grep { /^SELECT/ } split /\n(?=SELECT)/, $recipe{$recipe};
	is(scalar @questions, scalar @counts, "$recipe: all are asked");
	foreach my $question (@questions)
	{
		my $digest = "SELECT count(*) || ' ' || coalesce(md5(string_agg(q::text, ';' ORDER BY q::text)), '') FROM ($question) q";
		my $plain = $db->sql("SET enable_bitmapscan = off; $digest");
		is($db->sql("SET enable_seqscan = off; $digest"), $plain, "$recipe: $question");
		like($db->sql("SET enable_seqscan = off; EXPLAIN (COSTS OFF) $question"), qr/Bitmap Index Scan/, '... uses the index');
		like($plain, '/^' . shift(@counts) . ' /', '... finds its rows');
	}
}

subtest 'lines' => sub {
	$db->sql("SET client_min_messages = error; $recipe{lines}");
	$db->sql($recipe{'lines to try'});
	same_rows('questions to lines', 1, 1, 1, 1, 1);
	like($db->sql($recipe{'many partitions'}), qr{\A[^\n]*GET /phpmyadmin/"\z}, 'chunk_scan() finds the row');
	is($db->sql("SELECT string_agg(chunk::text, ' ') FROM chunk_scan_explain(NULL::log, 'line', '%phpmyadmin%', operator => '~~') WHERE is_read"), 'log_2026_11_22', '... and reads one partition');
	# docs/searching.md says what is fast and what is slow: a search for a few hexadecimal digits by grams is slow.
	my $read = sub {
		my ($pages) = $db->sql("SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM log_2026_11_22 WHERE $_[0]") =~ /Heap Blocks: lossy=(\d+)/;
		return ($pages // 0) / $db->sql("SELECT pg_relation_size('log_2026_11_22') / 8192");
	};
	my $id = $db->sql("SELECT substring(line FROM 'id=(\\w+)') FROM log_2026_11_22 LIMIT 1");
	cmp_ok($read->("line LIKE '%phpmyadmin%'"), '<=', 0.15, 'a rare word by grams reads few pages');
	cmp_ok($read->("line LIKE '%" . substr($id, 3, 4) . "%'"), '>=', 0.05, 'a few hexadecimal digits by grams read a good part of the table');
	# A single word may be unlucky: words that occur in every range set the same bits in all of them. The rate of 1 %
	# is the mean over many words.
	my $sum = 0;
	$sum += $read->("to_tsvector('simple', line) @@ 'absent$_'") foreach 1 .. 100;
	cmp_ok($sum / 100, '<=', 0.015, 'absent words read little, in the mean');
	cmp_ok($sum, '>', 0, '... and the index says maybe at times');
};

subtest 'events' => sub {
	$db->sql($recipe{events});
	$db->sql($recipe{'events to try'});
	same_rows('questions to events', 3, $db->sql("SELECT count(*) FROM generate_series(0, 19999) i WHERE i % 97 = 0 AND i % 1000 < 98"), 40);
};

subtest 'tags' => sub {
	$db->sql($recipe{tags});
	$db->sql($recipe{'tags to try'});
	same_rows('questions to tags', 1, 1000);
};

subtest 'an adopted class' => sub {
	plan skip_all => 'this PostgreSQL has no hstore' if $extensions !~ /hstore/;
	$db->sql($recipe{hstore});
	is($db->sql("SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'hstore_ops'"), 't', 'it is valid');
	$db->sql("INSERT INTO items SELECT i, hstore(ARRAY['number', (i / 20)::text, 'color', CASE i WHEN 9 THEN 'red' ELSE 'blue' END]) FROM generate_series(1, 40000) i; INSERT INTO items VALUES (0, NULL), (-1, ''); VACUUM ANALYZE items");
	foreach ("attributes @> 'color=>red'", "attributes @> 'number=>77'", "attributes @> 'number=>77, color=>blue'", "attributes @> 'number=>77, color=>red'", "attributes ? 'color'", "attributes ? 'size'",
		"attributes ?| '{size,color}'", "attributes ?& '{size,color}'", "attributes @> ''", "attributes ?& '{}'", "attributes ?| '{}'", 'attributes IS NULL', "attributes @> 'a=>1,b=>2,c=>3,d=>4,e=>5,f=>6'")
	{
		my $digest = "SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM items WHERE $_";
		is($db->sql("SET enable_seqscan = off; $digest"), $db->sql("SET enable_bitmapscan = off; $digest"), $_);
	}
	my ($pages) = $db->sql("SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM items WHERE attributes @> 'number=>77'") =~ /Heap Blocks: lossy=(\d+)/;
	cmp_ok($pages // 0, '<=', $db->sql("SELECT pg_relation_size('items') / 8192") / 4, 'it leaves pages out');
};

done_testing();
