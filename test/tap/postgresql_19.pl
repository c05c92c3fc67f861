# What is new in PostgreSQL 19: REPACK, also while rows are written; aggregates that are computed before a join;
# pg_plan_advice.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my (undef, $version) = StreambloomTap::psql('postgres', 'SHOW server_version_num');
plan skip_all => 'PostgreSQL 19 and later' if $version < 190000;

my $db = StreambloomTap->new('042');

# Returns the number of values for which the index finds a wrong number of rows, and whether bf_index_check() has seen
# all rows.
sub differences
{
	my ($table, $values) = @_;
	return $db->sql(<<SQL);
CREATE TEMP TABLE expected AS SELECT uid, count(*) AS n FROM $table GROUP BY uid;
SET enable_seqscan = off;
SELECT count(*) FROM generate_series(1, $values) v LEFT JOIN expected ON uid = v, LATERAL (SELECT count(*) AS n FROM $table WHERE uid = v) found
WHERE found.n <> coalesce(expected.n, 0);
SELECT bf_index_check('${table}_uid_idx') = sum(n) FROM expected;
SQL
}

sub explained { return $db->sql("LOAD 'streambloom'; LOAD 'pg_plan_advice'; $_[0]"); }

subtest 'REPACK keeps the index right' => sub {
	$db->sql(<<'SQL');
CREATE TABLE packed (id int PRIMARY KEY, uid int, note text) WITH (autovacuum_enabled = off);
INSERT INTO packed SELECT i, 1 + i % 3000, repeat('x', 60) FROM generate_series(1, 30000) i;
CREATE INDEX ON packed USING bf (uid) WITH (pages_per_range = 4);
DELETE FROM packed WHERE uid % 3 = 0;
SQL
	like($db->sql('SET enable_seqscan = off; EXPLAIN SELECT count(*) FROM packed WHERE uid = 7'), qr/Index Scan on packed_uid_idx/, 'the index is used');
	foreach my $command ('REPACK packed', 'REPACK packed USING INDEX packed_pkey', 'REPACK (CONCURRENTLY) packed', 'VACUUM FULL packed')
	{
		my $before = $db->sql("SELECT pg_relation_filenode('packed_uid_idx')");
		$db->sql($command);
		isnt($db->sql("SELECT pg_relation_filenode('packed_uid_idx')"), $before, "$command writes the index anew");
		is(differences('packed', 3100), "0\nt", 'and loses no row');
	}
};

subtest 'REPACK (CONCURRENTLY) while rows are written' => sub {
	my $writer = PsqlSession->new($db->name);
	my $repacker = PsqlSession->new($db->name);
	$writer->send(<<'SQL');
DO $$ BEGIN FOR i IN 1 .. 400 LOOP
	INSERT INTO packed SELECT 100000 + i * 10 + j, 5000 + i, 'new' FROM generate_series(0, 9) j;
	UPDATE packed SET uid = 4000 + i WHERE id = i * 7;
	DELETE FROM packed WHERE id = i * 11;
	COMMIT;
	PERFORM pg_sleep(0.005);
END LOOP; END $$
SQL
	my @states = map { ($repacker->ask('REPACK (CONCURRENTLY) packed'))[1] } 1 .. 3;
	my (undef, $written) = $writer->answer;
	is("@states $written", '00000 00000 00000 00000', 'both end');
	$_->close foreach $writer, $repacker;
	is($db->sql('SELECT count(*) FROM packed WHERE uid > 5000'), 4000, 'all new rows are there');
	is(differences('packed', 5500), "0\nt", 'and the index finds all rows, new ones and old ones');
};

subtest 'aggregates before a join' => sub {
	$db->sql(<<'SQL');
CREATE TABLE tag AS SELECT 1 + i % 1000 AS page, i % 7 AS tag FROM generate_series(1, 5000) i;
CREATE TABLE hit AS SELECT 1 + i % 1000 AS page, i % 5000 AS host, timestamptz '2026-01-01' + i % 100 * interval '1 hour' AS at FROM generate_series(1, 50000) i;
CREATE TABLE part AS SELECT page, bf_agg(host) AS b, tbf_agg(host, at) AS t FROM hit GROUP BY page, host / 1000;
ANALYZE tag, hit, part;
SQL
	my %queries = (
		'items' => 'SELECT tag, bf_agg(host) AS b, tbf_agg(host, at) AS t FROM hit JOIN tag USING (page) GROUP BY tag',
		'filters' => 'SELECT tag, bf_union_agg(b) AS b, tbf_merge_agg(t) AS t FROM part JOIN tag USING (page) GROUP BY tag');
	foreach my $name (sort keys %queries)
	{
		my $settings = 'SET max_parallel_workers_per_gather = 0; SET min_eager_agg_group_size = 0;';
		like($db->sql("$settings EXPLAIN (COSTS OFF) $queries{$name}"), qr/Join.*Partial/s, "$name: aggregated below the join");
		is($db->sql("$settings SET client_min_messages = error; CREATE TEMP TABLE eager AS $queries{$name}; SET enable_eager_aggregate = off;
			CREATE TEMP TABLE plain AS $queries{$name}; SELECT count(*), bool_and(e.b = p.b), bool_and(e.t = p.t) FROM eager e JOIN plain p USING (tag)"),
			'7|t|t', 'with the same result');
	}
};

subtest 'pg_plan_advice' => sub {
	my ($code) = $db->try("LOAD 'pg_plan_advice'");
	plan skip_all => 'pg_plan_advice is not installed' if $code != 0;
	$db->sql(<<'SQL');
CREATE TABLE log (id int NOT NULL, uid int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 20000, (i + 1) * 20000) FROM generate_series(0, 3) i \gexec
INSERT INTO log SELECT i, i FROM generate_series(0, 79999) i;
CREATE INDEX ON log USING bf (uid);
VACUUM ANALYZE log;
SQL
	my $query = 'SELECT * FROM log JOIN tag ON page = log.id WHERE uid = 300';
	my $plan = explained("EXPLAIN (COSTS OFF, PLAN_ADVICE) $query");
	like($plan, qr/Skip.*Generated Plan Advice/s, 'advice is made for a plan that gets the node');
	my ($advice) = $plan =~ /Generated Plan Advice:\n(.*)/s;
	my $again = explained("SET pg_plan_advice.advice = '$advice'; EXPLAIN (COSTS OFF) $query");
	like($again, qr/Skip/, 'the plan made by that advice has the node');
	unlike($again, qr/failed|not matched|partially/, 'and heeds the advice');

	my $cheap = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;';
	my $alone = 'EXPLAIN (COSTS OFF) SELECT * FROM log WHERE uid = 300';
	like(explained("$cheap $alone"), qr/Skip/, 'without advice the node is preferred to workers');
	$plan = explained("$cheap SET pg_plan_advice.advice = 'GATHER(log)'; $alone");
	like($plan, qr/Gather.*GATHER\(log\) \/\* matched \*\//s, 'with GATHER(log) it is not') or diag($plan);

	my $call = "SELECT * FROM chunk_scan(NULL::log, 'uid', 300) c JOIN tag ON page = c.id";
	like(explained("EXPLAIN (COSTS OFF, PLAN_ADVICE) $call"), qr/Function Scan.*Generated Plan Advice/s,
		'advice for chunk_scan() in a join, as a function');
	is($db->sql("LOAD 'pg_plan_advice'; $call"), $db->sql($call), 'the query itself runs beside pg_plan_advice');
	is(explained("SET pg_plan_advice.always_store_advice_details = on; $call"), $db->sql($call),
		'and with always_store_advice_details, as a function');
};

done_testing();
