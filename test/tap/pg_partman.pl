# pg_partman makes and drops the partitions. New partitions have the bf indexes of the table. Rows that pg_partman moves
# out of the default partition are found before and after. The hits that a roll-up has counted stay when the retention
# drops a partition.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'");
plan skip_all => 'pg_partman is not installed (postgresql-NN-partman of Debian and Ubuntu)' if $version eq '';
diag("pg_partman $version");

my $db = StreambloomTap->new('053');
# Version 5 takes other arguments.
my $parent = $version =~ /^[1-4]\./
  ? "SELECT partman.create_parent('public.log', 'at', 'native', 'daily', p_premake := 3, p_start_partition := (now() - interval '6 days')::text)"
  : "SELECT partman.create_parent('public.log', 'at', '1 day', p_type := 'range', p_premake := 3, p_start_partition := (now() - interval '6 days')::text)";
$db->sql(<<"SQL");
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;
CREATE TABLE log (at timestamptz NOT NULL, uid bigint, url text) PARTITION BY RANGE (at);
CREATE INDEX log_bf ON log USING bf (uid) WITH (pages_per_range = 4);
CREATE INDEX log_words ON log USING bf (url gram_ops);
$parent;
SQL
my $indexed = <<'SQL';
SELECT count(*) = count(*) FILTER (WHERE (SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indrelid = relid AND amname = 'bf' AND indisvalid) = 2) AND count(*) > 8 FROM pg_partition_tree('log') WHERE isleaf
SQL
is($db->sql($indexed), 't', 'each partition that it has made has both indexes');

# Rows of five days, and of a day that has no partition. The latter go to the default one.
$db->sql(<<'SQL');
INSERT INTO log SELECT date_trunc('day', now(), 'UTC') - interval '5 days' + i * interval '30 seconds', i, '/page/' || i % 97 FROM generate_series(0, 14399) i;
INSERT INTO log SELECT date_trunc('day', now(), 'UTC') + interval '20 days' + i * interval '1 second', 100000 + i, '/late/' || i % 97 FROM generate_series(0, 1999) i;
CALL bf_summarize('log');
ANALYZE log;
SQL

sub answers
{
	my ($name, $rows) = @_;
	foreach my $skip ('on', 'off')
	{
		is($db->sql("LOAD 'streambloom'; SET streambloom.enable_skip = $skip; SET enable_seqscan = off; SELECT count(*), sum(uid) FROM log WHERE uid IN (20, 14000, 100042)"), $rows, "$name: Skip $skip");
	}
	is($db->sql("SELECT count(*), sum(uid) FROM chunk_scan_any(NULL::log, 'uid', '{20,14000,100042}'::bigint[])"), $rows, "$name: chunk_scan_any()");
}
answers('with a default partition', '3|114062');

# A roll-up counts the rows of past days, not those of the future, which are in the default partition. Then the rows of
# the future leave the default partition, and the retention drops the first days.
$db->sql("SELECT tbf_rollup_create('heat', 'log', 'url', 'at'); CALL tbf_rollup_refresh('heat');");
my $counted = $db->sql('SELECT sum(hits) FROM heat');
cmp_ok($counted, '>', 10000, 'the roll-up has counted what is past');
$db->sql("CALL partman.partition_data_proc('public.log')");
is($db->sql('SELECT count(*) FROM ONLY log_default'), 0, 'it has moved the rows out of the default partition');
is($db->sql($indexed), 't', 'into partitions with the indexes');
answers('after the move', '3|114062');
$db->sql("UPDATE partman.part_config SET retention = '3 days', retention_keep_table = false, premake = 5; CALL partman.run_maintenance_proc()");
answers('after retention', '2|114042');
is($db->sql($indexed), 't', 'the partitions that are left, and new ones, have the indexes');
$db->sql("CALL tbf_rollup_refresh('heat')");
cmp_ok($db->sql('SELECT sum(hits) FROM heat'), '>=', $counted, 'what the roll-up has counted stays');
is($db->sql("SELECT count(DISTINCT relation) FROM bf_indexes WHERE relation::text LIKE 'log_p%'"),
	$db->sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'log'::regclass AND inhrelid::regclass::text LIKE 'log_p%'"),
	'bf_indexes knows them');

done_testing();
