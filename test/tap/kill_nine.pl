# The server is killed with signal 9 in the middle of builds, inserts, summarizing, VACUUM and checkpoints, again and
# again. After each recovery every valid index covers every row, and answers with it are the same as without.
#
# The test kills a dozen times; for more, in the environment of scripts/test:
#
#   STREAMBLOOM_KILLS=100 perl test/tap/kill_nine.pl
#
# There are few shared buffers, so pages get to disk at any time. In about half of the rounds commits do not flush, so
# the end of the WAL is lost.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(sleep time);

StreambloomTap::require_cluster();
OwnCluster::start(
	autovacuum => 'off', shared_buffers => '1MB', wal_buffers => '128kB', wal_writer_delay => '500ms', max_wal_size => '64MB',
	deadlock_timeout => '100ms', restart_after_crash => 'off');

my $kills = $ENV{STREAMBLOOM_KILLS} // 12;
my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
srand($seed);
my $db = StreambloomTap->new('021');
my $file = StreambloomTap::scratch() . '/rows';

StreambloomTap::write_file($file, join '', map { "$_\t" . ($_ * 7919 % 3000) . "\tcopied\n" } 1 .. 100);
$db->sql(<<'SQL');
CREATE SEQUENCE ids;
-- Makes summarizing slow, so that it is hit in the middle.
CREATE FUNCTION dawdle(v bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF random() < coalesce(current_setting('kill_nine.dawdle', true)::float8, 0) THEN
		PERFORM pg_sleep(random() * 0.02);
	END IF;
	RETURN v;
END
$$;
CREATE TABLE t (id bigint, a bigint, pad text) WITH (fillfactor = 80);
INSERT INTO t SELECT i, i * 7919 % 3000, repeat('x', i % 200) FROM generate_series(1, 3000) i;
CREATE TABLE u (LIKE t);
ALTER TABLE u SET UNLOGGED;
CREATE INDEX t_a ON t USING bf (a) WITH (pages_per_range = 2);
CREATE INDEX t_b ON t USING bf (a, dawdle(a + 1), (pad)) WITH (pages_per_range = 1);
CREATE INDEX u_a ON u USING bf (a) WITH (pages_per_range = 2);
CREATE PROCEDURE write(how text) LANGUAGE plpgsql AS $$
DECLARE
	relation text;
BEGIN
	LOOP
		FOREACH relation IN ARRAY ARRAY['t', 't', 't', 'u'] LOOP
			IF how = 'copy' THEN
				EXECUTE format('COPY %s FROM %L', relation, current_setting('kill_nine.file'));
				PERFORM pg_sleep(0.01);
			ELSE
				EXECUTE format('INSERT INTO %s SELECT nextval(''ids''), CASE WHEN i %% 9 > 0 THEN (random() * 1e12)::bigint END, repeat(''n'', i) FROM generate_series(1, 1 + (random() * 60)::int) i', relation);
				EXECUTE format('UPDATE %s SET a = (random() * 1e12)::bigint WHERE id %% 97 = $1', relation) USING (random() * 96)::int;
				IF random() < 0.2 THEN
					ROLLBACK;
				END IF;
				EXECUTE format('UPDATE %s SET pad = pad || ''y'' WHERE id %% 97 = $1', relation) USING (random() * 96)::int;
				EXECUTE format('DELETE FROM %s WHERE id %% 97 = $1', relation) USING (random() * 96)::int;
			END IF;
			COMMIT;
		END LOOP;
	END LOOP;
END
$$;
CREATE PROCEDURE summarize() LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM bf_summarize_range('t_b', (random() * 60)::int);
		COMMIT;
		PERFORM bf_desummarize_range(i, (random() * 60)::int) FROM unnest(ARRAY['t_a', 't_b', 'u_a']::regclass[]) i, generate_series(1, 4);
		COMMIT;
		-- a range of level 1 has all pages of the table, or nearly all
		PERFORM bf_desummarize_range(i, (random() * 200)::int, 1), bf_summarize_range(i, (random() * 200)::int, 1) FROM unnest(ARRAY['t_a', 't_b', 'u_a']::regclass[]) i;
		COMMIT;
		IF random() < 0.3 THEN
			PERFORM bf_summarize_new_values(i) FROM unnest(ARRAY['t_a', 't_b', 'u_a']::regclass[]) i;
		END IF;
		COMMIT;
	END LOOP;
END
$$;
CREATE PROCEDURE build() LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		CREATE INDEX t_new ON t USING bf (a, dawdle(a)) WITH (pages_per_range = 3);
		COMMIT;
		DROP INDEX t_new;
		COMMIT;
		REINDEX INDEX t_a;
		COMMIT;
		IF random() < 0.2 THEN
			TRUNCATE u;
		END IF;
		COMMIT;
	END LOOP;
END
$$;
SQL

# What is under way when the server is killed: SQL that would take longer than a round does.
my %works = (
	write => "CALL write('insert')",
	copy => "CALL write('copy')",
	summarize => 'SET kill_nine.dawdle = 0.05; CALL summarize()',
	build => 'SET kill_nine.dawdle = 0.002; CALL build()',
	'build concurrently' => "SET kill_nine.dawdle = 0.002;\n" .
		"CREATE INDEX CONCURRENTLY t_con ON t USING bf (a, dawdle(a)) WITH (pages_per_range = 1);\nREINDEX INDEX CONCURRENTLY t_b;\nDROP INDEX CONCURRENTLY t_con;\n" x 100,
	vacuum => "VACUUM t;\nVACUUM u;\nSELECT pg_sleep(0.01);\n" x 1000,
	checkpoint => "CHECKPOINT;\nSELECT pg_sleep(0.05);\n" x 1000);
my @mixes = (
	['write', 'write', 'summarize', 'vacuum'], ['write', 'copy', 'summarize', 'checkpoint'], ['write', 'build'], ['write', 'copy', 'build concurrently'],
	['write', 'write', 'copy', 'summarize', 'summarize'], ['write', 'vacuum', 'build', 'checkpoint']);

my ($rows, $indexes, $wrong) = (0, 0, '');
my %in_the_middle;
foreach my $round (1 .. $kills)
{
	my $mix = $mixes[$round % @mixes];
	my $synchronous = rand() < 0.5 ? 'on' : 'off';
	my @sessions = map { PsqlSession->new($db->name) } @$mix;
	foreach my $i (0 .. $#sessions)
	{
		$sessions[$i]->sql("SET synchronous_commit = $synchronous; SET kill_nine.file = '$file'");
		$sessions[$i]->send($works{$mix->[$i]});
	}
	sleep(0.1 + rand 0.9);
	$in_the_middle{$_}++ foreach split /\n/, $db->sql(<<'SQL');
SELECT DISTINCT upper(split_part(btrim(query), ' ', 1)) || CASE WHEN query ~ '_summar|summarize' THEN ' summarize' WHEN query ~ 'build|INDEX' THEN ' build' ELSE '' END
FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend'
SQL
	OwnCluster::kill_all();
	$_->close foreach @sessions;
	OwnCluster::recover();

	my $check = eval { $db->sql(<<'SQL') };
SET enable_seqscan = off;
SET enable_indexscan = off;
SELECT bf_index_check(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am am ON am.oid = c.relam
WHERE amname = 'bf' AND relkind = 'i' AND indisvalid;
SELECT 'lost ' || count(*) FROM (SELECT a, count(*) AS n FROM t WHERE a % 5 = (SELECT (random() * 4)::int) GROUP BY a) d WHERE n <> (SELECT count(*) FROM t WHERE t.a = d.a);
SELECT 'lost ' || count(*) FROM (SELECT a, count(*) AS n FROM u WHERE a % 5 = (SELECT (random() * 4)::int) GROUP BY a) d WHERE n <> (SELECT count(*) FROM u WHERE u.a = d.a);
SQL
	$wrong .= "after kill $round (" . join(', ', @$mix) . ", synchronous_commit $synchronous):\n" . ($check // $@) . "\n"
		if !defined $check || $check !~ /^(?:\d+\n)+lost 0\nlost 0$/;
	last if $wrong ne '';
	foreach ($check =~ /^(\d+)$/mg)
	{
		$rows += $_;
		$indexes++;
	}
	# Drops the indexes that builds have left, and rows that would make each round longer than the one before.
	my @left = split /\n/, $db->sql("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 't'::regclass AND indexrelid::regclass::text !~ '^t_[ab]\$'");
	$db->sql("DROP INDEX $_") foreach @left;
	$db->sql("DELETE FROM $_ WHERE ctid >= '(60,0)'; VACUUM $_") foreach 't', 'u';
}
is($wrong, '', "after each of $kills recoveries each index covers each row (seed $seed)");
cmp_ok($indexes, '>=', 3 * $kills, 'indexes were checked');
cmp_ok($rows, '>', 500 * $kills, 'and rows');
cmp_ok($in_the_middle{'CALL summarize'} // 0, '>', 0, 'somebody was summarizing');
cmp_ok($in_the_middle{'CALL build'} // 0, '>', 0, 'somebody was building');
diag("killed during $_: $in_the_middle{$_}") foreach $ENV{STREAMBLOOM_KILLS} ? sort keys %in_the_middle : ();
diag("$indexes indexes and $rows rows checked") if $ENV{STREAMBLOOM_KILLS};
unlike(OwnCluster::server_log(), qr/PANIC|TRAP:/, 'no server process panicked');

done_testing();
