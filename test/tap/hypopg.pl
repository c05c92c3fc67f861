# HypoPG beside the library: EXPLAIN of a query over partitions, some of which have a hypothetical index. Such an index
# has an OID, but is in no catalogue. Executions do not see it. HypoPG refuses a hypothetical bf index.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'hypopg'");
plan skip_all => 'HypoPG is not installed (postgresql-NN-hypopg of Debian and Ubuntu)' if $version eq '';

my $db = StreambloomTap->new('038');
$db->sql(<<'SQL');
CREATE EXTENSION hypopg;
CREATE TABLE log (id int NOT NULL, uid bigint, at timestamp, note text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 20000, (i + 1) * 20000) FROM generate_series(0, 3) i \gexec
INSERT INTO log SELECT i, i, timestamp '2026-01-01' + i * interval '1 second', repeat('x', 40) FROM generate_series(0, 79999) i;
CREATE INDEX ON log USING bf (uid);
VACUUM ANALYZE log;
SQL

# One test: EXPLAIN of the query with these hypothetical indexes shows the node Skip and the indexes.
sub explain_with
{
	my ($libraries, $indexes, $query, $expected, $name) = @_;
	my $create = join('', map { "SELECT FROM hypopg_create_index('$_');" } @$indexes);

	foreach my $explain ('EXPLAIN (COSTS OFF)', 'EXPLAIN (VERBOSE, FORMAT JSON)')
	{
		my ($code, $out, $err) = $db->try("$libraries SET streambloom.enable_partition_scan = off; SET max_parallel_workers_per_gather = 0; SET enable_seqscan = off; SET enable_bitmapscan = off; $create $explain $query");
		is($code, 0, "$explain: $name") or diag($err);
		ok($out =~ /Skip/ && $out =~ /$expected/s, 'with the node and the hypothetical index') or diag($out);
	}
}

foreach my $libraries ("LOAD 'streambloom'; LOAD 'hypopg';", "LOAD 'hypopg'; LOAD 'streambloom';")
{
	my @of_time = map { "CREATE INDEX ON log_$_ (at)" } 0 .. 3;
	my $hour = "uid = 5 AND at BETWEEN '2026-01-01' AND '2026-01-01 01:00'";

	explain_with($libraries, [$of_time[0]], "SELECT * FROM log WHERE $hour", qr/Index Scan.*<\d+>btree_log_0_at/s, 'an index scan of one partition');
	explain_with($libraries, \@of_time, "SELECT * FROM log WHERE $hour", qr/<\d+>btree_log_0_at/, 'index scans of all partitions');
	explain_with($libraries, \@of_time, "SELECT * FROM log WHERE $hour ORDER BY at LIMIT 1", qr/Merge Append.*<\d+>btree_log_0_at/s, 'sorted');
	explain_with($libraries, ['CREATE INDEX ON log_0 (at, uid)'], "SELECT uid FROM log WHERE $hour", qr/<\d+>btree_log_0_at/,
		'a scan of the index only');
	explain_with($libraries, \@of_time, "SELECT * FROM generate_series(1, 3) i, LATERAL (SELECT * FROM log WHERE uid = i AND " .
			"at > timestamp '2026-01-01' + i * interval '1 s' OFFSET 0) l", qr/<\d+>btree_log_0_at/, 'with parameters of a join');
	explain_with($libraries, \@of_time, "SELECT * FROM (SELECT * FROM log WHERE $hour AND id > length(current_setting('port')) UNION ALL SELECT * FROM log WHERE $hour) l",
		qr/<\d+>btree_log_0_at/, 'below another Append');
	explain_with($libraries, \@of_time, "SELECT (SELECT max(id) FROM log WHERE $hour)", qr/<\d+>btree_log_0_at/, 'in a sub-plan');
}

# An execution does not see hypothetical indexes.
is($db->sql("LOAD 'streambloom'; SELECT FROM hypopg_create_index('CREATE INDEX ON log_0 (uid)'); SELECT id FROM log WHERE uid = 5;
	SELECT id FROM chunk_scan(NULL::log, 'uid', 5)"), "5\n5", 'the rows are found');
($_) = $db->try("LOAD 'streambloom'; SELECT FROM hypopg_create_index('CREATE INDEX ON log_0 (uid)'); EXPLAIN SELECT id FROM chunk_scan(NULL::log, 'uid', 5)");
is($_, 0, 'EXPLAIN of chunk_scan()');
# If the indexes are real, a plan that can be read backward stays so.
is($db->sql("LOAD 'streambloom'; BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM log WHERE uid IN (5, 70000); FETCH 2 FROM c; FETCH BACKWARD 1 FROM c"),
	"5\n70000\n5", 'a cursor reads backward');

# A hypothetical bf index: HypoPG supports only the access methods that it lists, and refuses bf. Use bf_index_advise()
# instead.
my ($code, undef, $err) = $db->try("SELECT FROM hypopg_create_index('CREATE INDEX ON log_0 USING bf (uid)')");
ok($code != 0 && $err =~ /access method "bf" is not supported/, 'HypoPG refuses USING bf') or diag($err);
like($db->sql("SELECT count(*) FROM bf_index_advise('log_0')"), qr/^[1-9]/, 'bf_index_advise() says what such an index would be');

done_testing();
