# What docs/neighbours.md says of postgres_fdw: which conditions are sent to the other server and answered there by its
# own indexes, and where filters or rows are sent instead. The answers must be those of a local table.
# (shards_of_postgres_fdw.pl tests aggregates over shards.)
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $db = StreambloomTap->new('055');
plan skip_all => 'postgres_fdw is not installed' if !$db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'");
my $other = StreambloomTap->new('055_other');

my $rows = "SELECT timestamptz '2026-03-01 UTC' + i * interval '1 minute' AS at, i % 5003 AS uid, '/page/' || i % 997 AS url FROM generate_series(0, 14399) i";
$other->sql(<<"SQL");
CREATE TABLE log (at timestamptz NOT NULL, uid bigint, url text) PARTITION BY RANGE (at);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%L) TO (%L)', i, timestamptz '2026-03-01 UTC' + i * interval '1 day',
	timestamptz '2026-03-02 UTC' + i * interval '1 day') FROM generate_series(0, 9) i \\gexec
INSERT INTO log $rows;
CREATE INDEX log_bf ON log USING bf (uid) WITH (pages_per_range = 2);
CREATE INDEX log_words ON log USING bf (url gram_ops);
ANALYZE log;
CREATE TABLE day AS SELECT at::date AS day, bf_agg(uid) AS uids, bf_agg(url) AS urls, tbf_agg(url, at, NULL) AS hits FROM log GROUP BY 1;
ALTER DATABASE @{[$other->name]} SET session_preload_libraries = 'streambloom';
SQL
$db->sql(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$ENV{PGHOST}', port '@{[$ENV{PGPORT} // 5432]}', dbname '@{[$other->name]}', extensions 'streambloom');
CREATE SERVER plain FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$ENV{PGHOST}', port '@{[$ENV{PGPORT} // 5432]}', dbname '@{[$other->name]}');
CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user '@{[$ENV{PGUSER} // 'postgres']}');
CREATE USER MAPPING FOR CURRENT_USER SERVER plain OPTIONS (user '@{[$ENV{PGUSER} // 'postgres']}');
CREATE FOREIGN TABLE log (at timestamptz, uid bigint, url text) SERVER other OPTIONS (table_name 'log');
CREATE FOREIGN TABLE day (day date, uids bf, urls bf, hits tbf) SERVER other OPTIONS (table_name 'day');
CREATE FOREIGN TABLE plain_day (day date, uids bf, urls bf, hits tbf) SERVER plain OPTIONS (table_name 'day');
CREATE TABLE here AS $rows;
CREATE TABLE day_here AS SELECT at::date AS day, bf_agg(uid) AS uids, bf_agg(url) AS urls, tbf_agg(url, at, NULL) AS hits FROM here GROUP BY 1;
CREATE TABLE small AS SELECT i * 1000 AS uid, '/page/' || i * 100 AS url FROM generate_series(1, 4) i;
ANALYZE;
SQL

# For each condition: whether it is sent, and the answer.
sub shipped
{
	my ($query, $expected, $name) = @_;
	my ($remote) = $db->sql("EXPLAIN (VERBOSE, COSTS OFF) $query") =~ /Remote SQL: (.*)/;
	if ($expected) { like($remote, $expected, "$name is shipped") }
	else { unlike($remote, qr/ WHERE /, "$name is not shipped") }
	(my $local = $query) =~ s/\blog\b/here/g;
	$local =~ s/\b(plain_)?day\b(?! =)/day_here/g;
	is($db->sql($query), $db->sql($local), "$name: the answer");
}
shipped('SELECT count(*), max(at) FROM log WHERE uid = 7', qr/WHERE .*uid = 7/, 'uid = 7');
shipped("SELECT count(*), max(at) FROM log WHERE url LIKE '%age/99_'", qr/WHERE .*LIKE|WHERE .*~~/, 'LIKE');
shipped('SELECT count(*) FROM day WHERE uids @> 7::bigint', qr/WHERE .*@>/, 'f @> number');
shipped('SELECT count(*) FROM day WHERE bf_contains(uids, 7::bigint)', qr/WHERE .*bf_contains/, 'bf_contains()');
shipped('SELECT count(*) FROM plain_day WHERE uids @> 7::bigint', undef, 'f @> number, without the option,');
shipped("SELECT count(*) FROM day WHERE urls @> '/page/7'", undef, 'f @> an untyped text');
shipped("SELECT count(*) FROM day WHERE urls @> '/page/7'::text", undef, 'f @> a text');
shipped('SELECT count(*), max(at) FROM log WHERE (SELECT bf_agg(uid) FROM small) @> uid', qr/WHERE .*@>/, 'a filter of the small side');
shipped('SELECT count(*), max(at) FROM log WHERE (SELECT bf_agg(url) FROM small) @> url', qr/WHERE .*@>/, 'a filter of texts');

# Joins by means of a filter of the small side.
is($db->sql('SELECT count(*), min(l.uid), max(l.uid) FROM log l JOIN small s USING (uid) WHERE (SELECT bf_agg(uid) FROM small) @> l.uid'),
	$db->sql('SELECT count(*), min(l.uid), max(l.uid) FROM here l JOIN small s USING (uid)'), 'the join finds the same rows');

# The other server asks its own indexes: of its ten partitions it reads the few that have the value.
my $explain = $other->sql("SET enable_seqscan = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM log WHERE uid = 7");
like($explain, qr/Custom Scan \((?:Skip|PartitionScan)\)/, 'there, partitions are skipped');

# Whole filters are sent in both directions.
is($db->sql("SELECT count(*) FROM day d JOIN day_here h USING (day) WHERE d.uids = h.uids AND d.hits = h.hits"), 10, 'filters arrive as they are');
$db->sql("INSERT INTO day SELECT day + 100, uids, urls, hits FROM day_here");
is($other->sql('SELECT count(*) FROM day a JOIN day b ON b.day = a.day + 100 WHERE a.uids = b.uids AND a.urls = b.urls AND a.hits = b.hits'), 10, 'and so they are sent');
$db->sql("UPDATE day SET uids = bf_add(uids, 123456::bigint) WHERE day < '2026-04-01'");
is($other->sql("SELECT count(*) FROM day WHERE uids @> 123456"), 10, 'an UPDATE there');

# A foreign table has no indexes and no pages here, so these calls are refused. They belong on the other server.
foreach my $call ("CALL bf_summarize('log')", "SELECT * FROM bf_index_advise('log')")
{
	is($db->sqlstate($call), '42809', "$call of a foreign table is refused");
}

done_testing();
