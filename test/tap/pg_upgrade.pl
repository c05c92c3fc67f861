# pg_upgrade carries filters, indexes and roll-ups over to the new cluster as they are. The files of the indexes are
# not made again. Indexes and filters of every kind give the same answers, and rows that are written afterwards are
# found, too.
#
# The cluster is upgraded to another cluster of the same version, which pg_upgrade allows. If STREAMBLOOM_OLD_BINDIR
# names the programs of an older server that has streambloom, the old cluster is one of that server.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $new_programs = dirname(StreambloomTap::server_program('pg_upgrade'));
my $old_programs = $ENV{STREAMBLOOM_OLD_BINDIR} // $new_programs;
plan skip_all => 'there is no pg_upgrade' if !-x "$new_programs/pg_upgrade";
my $new_path = $ENV{PATH};
$ENV{PATH} = "$old_programs:$new_path";

OwnCluster::start(autovacuum => 'off');
my $data = OwnCluster::data_dir();
my $scratch = StreambloomTap::scratch();
my $db = StreambloomTap->new('056');
my $old_version = $db->sql('SHOW server_version');

# Items whose hashes come from PostgreSQL's own functions (numeric, inet, interval, jsonb, arrays, ranges), and items
# whose hashes come from streambloom.
my @items = ('i', 'i::float8', "i::text", "i::char(12)", "md5(i::text)::uuid", "(i * 1.10)::numeric", "('10.0.0.0'::inet + i)",
	"i * interval '1 hour'", "jsonb_build_object('id', i)", "ARRAY[i, i + 1]", "int4range(i, i + 5)", "timestamptz '2026-01-01 UTC' + i * interval '1 s'");
$db->sql(<<'SQL');
CREATE TABLE log (at timestamptz NOT NULL, id int, host text, price numeric, line text, doc jsonb, tags text[]) PARTITION BY RANGE (at);
CREATE TABLE log_03 PARTITION OF log FOR VALUES FROM ('2026-03-01 UTC') TO ('2026-04-01 UTC');
CREATE TABLE log_04 PARTITION OF log FOR VALUES FROM ('2026-04-01 UTC') TO ('2026-05-01 UTC');
CREATE FUNCTION rows_of_log(first int, last int) RETURNS SETOF log LANGUAGE sql AS $$
	SELECT '2026-03-01 UTC'::timestamptz + i * interval '3 min', i, 'host' || i / 7, i * 1.10,
		'GET /page/' || md5(i::text) || ' HTTP/1.1', jsonb_build_object('user', i / 3), ARRAY['user:' || i / 5, 'all']
	FROM generate_series(first, last) i $$;
INSERT INTO log SELECT * FROM rows_of_log(1, 20000);
CREATE INDEX log_plain ON log USING bf (host, price, id);
CREATE INDEX log_keys ON log USING bf (line gram_ops, doc jsonb_path_ops, tags) WITH (pages_per_range = 1);
VACUUM ANALYZE log;
CREATE TABLE filter (name text, b bf, t tbf, s sbf, x ibf, a abf);
CREATE TABLE dead (f bf);
ALTER TABLE dead DROP COLUMN f;
SQL
$db->sql("INSERT INTO filter SELECT '" . $_ =~ s/'/''/gr . "', bf_agg($_), tbf_agg($_, '2026-03-01 UTC'::timestamptz, '7 days'), sbf_agg($_ ORDER BY i), ibf_agg($_, i ORDER BY i), abf_agg($_ ORDER BY i) " .
	'FROM generate_series(1, 3000) i') foreach @items;
$db->sql("SELECT tbf_rollup_create('heat', 'log', 'host', 'at')");
$db->sql("CALL tbf_rollup_refresh('heat')");

my $by_index = 'SET enable_seqscan = off;';
my %questions = (
	'indexes' => $by_index . join(' UNION ALL ', map { "SELECT count(*), min(id), max(id) FROM log WHERE $_" }
		"host = 'host77'", 'price = 1100.0', 'id = 19999', "line LIKE '%' || md5('777') || '%'", qq(doc \@> '{"user": 4711}'), "tags \@> '{user:1234}'",
		"host = 'nowhere'", "line LIKE '%nowhere%'") . ' ORDER BY 1, 2, 3',
	'chunk_scan()' => qq(SELECT id FROM chunk_scan(NULL::log, 'host', 'host2000') ORDER BY 1),
	'what indexes tell of themselves' => "SELECT p.relid::regclass, s.* FROM pg_partition_tree('log_keys') p, bf_index_stats(p.relid) s WHERE p.isleaf ORDER BY 1, 2, 3",
	'the bytes of the indexes' => "SELECT relid, pg_relation_filenode(relid), pg_relation_size(relid) FROM pg_partition_tree('log_plain') WHERE isleaf ORDER BY 1",
	'the bytes of the filters' => 'SELECT name, md5(b::bytea), md5(t::bytea), md5(s::bytea), md5(x::bytea), md5(a::bytea) FROM filter ORDER BY 1',
	'the roll-up' => "SELECT * FROM tbf_rollup_top('heat', 10, '2026-04-13 UTC', counted => true)");
# For each kind of item, the answers for the items 2001 to 4000. Half of these are in the filters.
my $of_items = join ' UNION ALL ', map {
	my $name = $_ =~ s/'/''/gr;
	"SELECT name, " . join(', ', map { "count(*) FILTER (WHERE $_)" }
		"b \@> ($_)", "tbf_count(t, $_, '2026-03-02 UTC') >= 0.9", "s \@> ($_)", "x \@> ($_)", "a \@> ($_)") . " FROM filter, generate_series(2001, 4000) AS i WHERE name = '$name' GROUP BY 1"
	} @items;
$of_items .= ' ORDER BY 1';

sub answers { return map { $_ => scalar $db->sql($questions{$_}) } keys %questions; }
my %before = answers();
my $found_before = $db->sql($of_items);
is((split /\|/, (split /\n/, $before{'what indexes tell of themselves'})[0])[0] =~ /^log_03/, 1, 'the old cluster has something to carry');

# ------------------------------------------------------------- the upgrade

# One test. If the command fails, its output and the logs of pg_upgrade are shown.
sub run_ok
{
	my ($name, @command) = @_;
	my ($code, $out, $err) = StreambloomTap::run_program('', @command);
	ok($code == 0, $name) and return 1;
	diag("$out\n$err", map { "$_:\n" . substr(StreambloomTap::read_file($_), -3000) } glob "$data/pg_upgrade_output.d/*/log/pg_upgrade_{dump_*,server,internal}.log");
	return 0;
}

# PostgreSQL 15.20 and 17.12 store an option pg_attver for every column of every table. Older releases, also of later
# major versions, refuse it when pg_upgrade restores the schema, with or without streambloom.
StreambloomTap::read_file("$new_programs/postgres") =~ /pg_attver/
	or $db->sql("UPDATE pg_attribute SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) o WHERE o !~ '^pg_attver='), '{}') WHERE attoptions::text ~ 'pg_attver='");
OwnCluster::stop();
rename $data, "$scratch/old" or die "rename: $!";
my ($version) = (StreambloomTap::run_program('', "$new_programs/postgres", '--version'))[1] =~ /(\d+)/;
# From PostgreSQL 18 on checksums are the default. Both clusters must have the same setting.
run_ok('the new cluster is made', "$new_programs/initdb", '-D', $data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync',
	$version >= 18 && $old_version !~ /^(?:1[89]|[2-9]\d)/ ? '--no-data-checksums' : ());
chdir $scratch or die "chdir: $!";
run_ok("pg_upgrade from $old_version to $version", "$new_programs/pg_upgrade", '-b', $old_programs, '-B', $new_programs, '-d', "$scratch/old", '-D', $data,
	'-U', 'postgres', '-s', $scratch) or BAIL_OUT('nothing to compare');
$ENV{PATH} = $new_path;
OwnCluster::restart(listen_addresses => '', unix_socket_directories => $ENV{PGHOST}, port => $ENV{PGPORT}, fsync => 'off', timezone => 'UTC',
	autovacuum => 'off');

# ------------------------------------------------------------ what is there

my %after = answers();
is($after{$_}, $before{$_}, "$_: as before") foreach grep { $_ ne 'the bytes of the indexes' } sort keys %questions;
# From version 15 on pg_upgrade keeps the file numbers, so these are the old files.
is($after{'the bytes of the indexes'}, $before{'the bytes of the indexes'}, 'the files of the indexes are those of before');

my $found_after = $db->sql($of_items);
is($found_after, $found_before, 'filters of ' . @items . ' kinds find the same items');
my @lacks = grep { $_->[1] < 1000 || $_->[2] < 1000 || $_->[5] < 1000 } map { [split /\|/] } split /\n/, $found_after;
is(scalar(@lacks), 0, 'and none lacks an item that was added') or diag join "\n", map { join '|', @$_ } @lacks;
is($db->sql("SELECT count(bf_index_check(relid)) > 0 FROM (SELECT relid FROM pg_partition_tree('log_plain') WHERE isleaf UNION ALL SELECT relid FROM pg_partition_tree('log_keys') WHERE isleaf) i"),
	't', 'no index lacks a row');
is($db->sql('SELECT count(*) FROM bf_indexes WHERE advice ~ \'damaged|cannot be read|not valid\''), 0, 'bf_indexes has nothing to complain of');

$db->sql("INSERT INTO log SELECT * FROM rows_of_log(20001, 21000); VACUUM ANALYZE log");
is($db->sql("$by_index SELECT count(*) FROM log WHERE host = 'host2900' UNION ALL SELECT count(*) FROM log WHERE line LIKE '%' || md5('20500') || '%'"), "7\n1",
	'what is written after it is found');
$db->sql("CALL tbf_rollup_refresh('heat')");
is($db->sql("SELECT (SELECT sum(hits) FROM heat), (SELECT round(sum(tbf_count(f, host))) FROM (SELECT DISTINCT host FROM log) h, (SELECT tbf_rollup_filter('heat', '2026-04-14 12:00 UTC', '1') AS f OFFSET 0) r)"), '21000|21000',
	'the roll-up goes on and counts each row once');
# Each call reads the whole roll-up, so only every 30th host is asked for. host2857 has rows of both clusters.
is($db->sql("SELECT count(*), count(*) FILTER (WHERE round(hits_from) = n AND round(hits_to) = n), count(*) FILTER (WHERE host = 'host2857' AND ids @> '{20000,20001}') " .
		"FROM (SELECT host, count(*) AS n, array_agg(id) AS ids FROM log WHERE substr(host, 5)::int % 30 = 7 GROUP BY host) h, tbf_rollup_count('heat', host, '2026-04-14 12:00 UTC', '1')"), '100|100|1',
	'also by tbf_rollup_count()');
is($db->sql("UPDATE filter SET b = bf_add(b, 5000), t = tbf_add(t, 5000, '2026-03-03 UTC') WHERE name = 'i' RETURNING b \@> 5000, tbf_count(t, 5000, '2026-03-03 UTC') >= 1"), 't|t',
	'filters of before take new items');

done_testing();
