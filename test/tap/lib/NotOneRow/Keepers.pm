# Keepers.pm: the parties (processes of the test) of NotOneRow.pm that summarize, vacuum and build the indexes, and
# change them and their tables. Other parties insert rows and read meanwhile. check_all() checks the indexes at the end.
package NotOneRow::Keepers;

use strict;
use warnings;

use Time::HiRes qw(time sleep);

# Returns whether the action succeeded; its answer is of no interest.
sub act
{
	my ($run, $session, $what, $sql) = @_;
	return (NotOneRow::ask($run, $session, "keep: $what", $sql))[1] eq '00000';
}

# ------------------------------------------------------------------ summarize

# Consecutive blocks of a table, or blocks that have rows of the window.
sub blocks
{
	my ($run, $table) = @_;
	my ($low, $length) = NotOneRow::window($run);
	my $first = int rand 140;

	return "generate_series($first, " . ($first + (rand() < 0.6 ? 0 : int rand 20)) . ')' if rand() < 0.3;
	return "(SELECT (ctid::text::point)[0]::bigint AS b FROM $table WHERE id BETWEEN $low AND " . ($low + $length) . ' GROUP BY 1 ORDER BY random() LIMIT ' . (1 + int rand 5) . ')';
}

# Runs the check function of an index. For its locks it waits no longer than other statements.
sub check_index
{
	my ($run, $session, $when, $index) = @_;
	my $check = NotOneRow::method($run->{method})->{check};
	my ($rows, $state, $message) = $session->ask("SELECT $check('$index')");

	$run->{counts}{'keep: check'}++;
	if ($state eq '00000')
	{
		$run->{counts}{'rows checked'} += $rows;
		return 1;
	}
	NotOneRow::difference($run, "$when: $check('$index') says $state $message") if $state !~ /^(?:55P03|40P01|42P01|55000)$/ && $message !~ /could not open relation/;
	$run->{counts}{"keep: check: $state"}++;
	return 0;
}

# A range of level 1 has at least 125 pages here, so level 1 has at most a few ranges, and level 2 never has a complete
# one. VACUUM makes level 1 only where it has two complete ranges. So these calls make and summarize the ranges.
sub keep_upper_level
{
	my ($run, $session, $index) = @_;
	my $method = NotOneRow::method($run->{method});
	my $level = rand() < 0.8 ? 1 : 2;
	my $range = "'$index', " . (rand() < 0.5 ? 0 : int rand 200) . ", $level";
	my $kind = rand();

	if ($kind < 0.1)
	{
		act($run, $session, 'summarize above, and be stopped', "SET statement_timeout = '" . (3 + int rand 60) . "ms';\nSELECT $method->{summarize}($range)");
		$session->ask("SET statement_timeout = '300s'");
	}
	elsif ($kind < 0.4) { act($run, $session, 'summarize above', "SELECT $method->{summarize}($range)"); }
	elsif ($kind < 0.6) { act($run, $session, 'desummarize above', "SELECT $method->{desummarize}($range)"); }
	else { act($run, $session, 'desummarize and summarize above', "SELECT $method->{desummarize}($range);\nSELECT $method->{summarize}($range)"); }
}

sub summarize
{
	my ($run) = @_;
	# CREATE INDEX CONCURRENTLY may wait for this session's snapshot. This session gives up its own wait before the two
	# are found to be in a deadlock.
	my $session = NotOneRow::open_session($run, patience => '100ms', dawdle => 0.05);
	my $method = NotOneRow::method($run->{method});
	my (@indexes, $looked);

	while (NotOneRow::go_on($run, 40))
	{
		if (!@indexes || time() > $looked + 0.5)
		{
			@indexes = map { [split / /] } grep { / / } split /\n/, join "\n", map { (NotOneRow::ask($run, $session, 'look for indexes', NotOneRow::index_query($run, $_)))[0] } 't', 'p';
			$looked = time();
		}
		next if !@indexes && sleep(0.05);
		my ($index, $table) = @{$indexes[rand @indexes]};
		my $blocks = blocks($run, $table);
		my $kind = rand();
		if ($method->{has_levels} && rand() < 0.25)
		{
			keep_upper_level($run, $session, $index);
			next;
		}
		if ($kind < 0.04)
		{
			act($run, $session, 'summarize, and be stopped', "SET statement_timeout = '" . (3 + int rand 30) . "ms';\nSELECT $method->{summarize}('$index', b) FROM $blocks b");
			$session->ask("SET statement_timeout = '300s'");
		}
		elsif ($kind < 0.35) { act($run, $session, 'summarize', "SELECT $method->{summarize}('$index', b) FROM $blocks b"); }
		elsif ($kind < 0.5) { act($run, $session, 'summarize what is new', "SELECT $method->{summarize_new}('$index')"); }
		elsif ($kind < 0.8) { act($run, $session, 'desummarize', "SELECT $method->{desummarize}('$index', b) FROM $blocks b"); }
		elsif ($kind < 0.9)
		{
			act($run, $session, 'desummarize and summarize', "SELECT $method->{desummarize}('$index', b) FROM $blocks b;\nSELECT $method->{summarize}('$index', b) FROM $blocks b");
		}
		elsif ($kind < 0.93 && $method->{check}) { check_index($run, $session, 'in the middle', $index); }
		elsif ($kind < 0.97) { act($run, $session, 'VACUUM', 'VACUUM (INDEX_CLEANUP ' . (rand() < 0.5 ? 'on' : 'auto') . ") $table"); }
		else { act($run, $session, 'ANALYZE', "ANALYZE $table"); }
		sleep(rand 0.03);
	}
	$session->close;
}

# ------------------------------------------------------------------------ DDL

sub parent_of { return $_[0] =~ /^p/ ? 'p' : 't'; }
sub some_table { return rand() < 0.6 ? 't' : 'p_' . int rand 4; }
sub some_name { my @names = NotOneRow::index_names(); return $names[rand @names]; }

# Deletes rows that lie together. If they are at the end, VACUUM gives the pages back.
sub delete_pages
{
	my ($run, $session) = @_;
	my $table = some_table();
	my $from = rand() < 0.5 ? int rand 150 : 60;
	my $to = $from == 60 ? 100000 : $from + 1 + int rand 20;
	act($run, $session, 'DELETE of pages', "DELETE FROM $table WHERE ctid >= '($from,0)' AND ctid < '($to,0)'");
	act($run, $session, 'VACUUM after it', "VACUUM $table");
}

# Keeps all tables small in a long run.
sub trim
{
	my ($run, $session) = @_;
	foreach my $table ('t', map { "p_$_" } 0 .. 3)
	{
		my $most = $table eq 't' ? 200 : 80;
		my ($pages) = NotOneRow::ask($run, $session, 'count', "SELECT pg_relation_size('$table') / 8192");
		next if $pages !~ /^\d+$/ || $pages <= $most * 1.3;
		act($run, $session, 'DELETE of the end', "DELETE FROM $table WHERE ctid >= '($most,0)'");
		act($run, $session, 'VACUUM after it', "VACUUM $table");
	}
}

sub refill
{
	my ($run, $session) = @_;
	foreach my $table ('t', 'p')
	{
		my ($rows) = NotOneRow::ask($run, $session, 'count', "SELECT count(*) FROM $table");
		next if $rows !~ /^\d+$/ || $rows > 3000;
		act($run, $session, 'refill', "INSERT INTO $table SELECT nextval('ids'), i % 4, i * 7919 % 3000, 'b' || i * 31 % 1500, i, repeat('r', i % 200) FROM generate_series(1, 1500) i");
		# Low ids, because the windows lie there.
		act($run, $session, 'refill low ids', "INSERT INTO $table SELECT i, i % 4, i * 7919 % 3000, 'b' || i * 31 % 1500, i, repeat('r', i % 200) FROM generate_series(1, 4000, 3) i ON CONFLICT DO NOTHING");
	}
}

# Chooses whether the next builds of this session have workers.
sub settle_workers
{
	my ($session) = @_;
	$session->ask('SET max_parallel_maintenance_workers = ' . (rand() < 0.5 ? 2 : 0));
}

sub drop_and_create
{
	my ($run, $session) = @_;
	settle_workers($session);
	my ($table, $name) = (rand() < 0.7 ? 't' : 'p', some_name());
	act($run, $session, 'DROP INDEX', "DROP INDEX IF EXISTS ${table}_$name");
	sleep(rand 0.1);
	act($run, $session, 'CREATE INDEX', NotOneRow::create_index($run, $table, $name, ''));
}

sub concurrently
{
	my ($run, $session) = @_;
	settle_workers($session);
	my $name = some_name();
	$session->ask("SET lock_timeout = '4s'");
	act($run, $session, 'DROP INDEX CONCURRENTLY', "DROP INDEX CONCURRENTLY IF EXISTS t_$name");
	act($run, $session, 'CREATE INDEX CONCURRENTLY', NotOneRow::create_index($run, 't', $name, 'CONCURRENTLY'));
	$session->ask("SET lock_timeout = '300ms'");
}

sub reindex
{
	my ($run, $session) = @_;
	settle_workers($session);
	my $how = rand() < 0.6 ? 'CONCURRENTLY' : '';
	my $table = some_table();
	my $what = $table eq 't' && rand() < 0.7 ? 'INDEX' : 'TABLE';
	$session->ask("SET lock_timeout = '4s'") if $how;
	act($run, $session, "REINDEX $what $how", "REINDEX $what $how " . ($what eq 'INDEX' ? 't_' . some_name() : $table));
	$session->ask("SET lock_timeout = '300ms'") if $how;
}

sub truncate_table
{
	my ($run, $session) = @_;
	my $table = rand() < 0.3 ? 't' : 'p_' . int rand 4;
	act($run, $session, 'TRUNCATE', rand() < 0.3 ? "BEGIN; TRUNCATE $table; ROLLBACK" : "TRUNCATE $table");
	refill($run, $session);
}

# A partition is detached, gets rows, and is attached again.
sub detach
{
	my ($run, $session) = @_;
	my $k = int rand 4;
	my $how = rand() < 0.5 ? 'CONCURRENTLY' : '';
	act($run, $session, "DETACH $how", "ALTER TABLE p DETACH PARTITION p_$k $how");
	if (is_partition($run, $session, $k) eq 'f')
	{
		act($run, $session, 'rows for what is detached', "INSERT INTO p_$k SELECT nextval('ids'), $k, i * 7919 % 3000, 'b' || i, i, 'detached' FROM generate_series(1, 100) i");
		act($run, $session, 'updates of what is detached', "UPDATE p_$k SET a = a + 1 WHERE id % 50 = 0");
		sleep(rand 0.1);
	}
	attach($run, $session);
}

sub is_partition
{
	my ($run, $session, $k) = @_;
	return (NotOneRow::ask($run, $session, 'look for partitions', "SELECT relispartition FROM pg_class WHERE oid = 'p_$k'::regclass"))[0];
}

sub attach
{
	my ($run, $session) = @_;
	my ($pending) = NotOneRow::ask($run, $session, 'look for partitions', "SELECT inhrelid::regclass FROM pg_inherits WHERE inhdetachpending");
	act($run, $session, 'DETACH FINALIZE', "ALTER TABLE p DETACH PARTITION $_ FINALIZE") foreach split /\n/, $pending;
	foreach my $k (0 .. 3)
	{
		act($run, $session, 'ATTACH', "ALTER TABLE p ATTACH PARTITION p_$k FOR VALUES IN ($k)") if is_partition($run, $session, $k) eq 'f';
	}
}

# Drops indexes that a failed CONCURRENTLY has left, and makes missing indexes. An index of a parent is dropped first,
# because ATTACH may have attached a left-over index to it. A left-over index may stay if a later REINDEX TABLE has
# made it valid and CREATE INDEX has then attached it to the parent's index.
sub tidy
{
	my ($run, $session) = @_;
	my ($broken) = NotOneRow::ask($run, $session, 'look for broken indexes',
		"SELECT indexrelid::regclass FROM pg_index WHERE (NOT indisvalid OR indexrelid::regclass::text ~ '_cc(new|old)[0-9]*\$') AND NOT (indisvalid AND (SELECT relispartition FROM pg_class WHERE oid = indexrelid)) AND indrelid IN (SELECT relid FROM " . NotOneRow::tables('t') . ' t UNION SELECT relid FROM ' . NotOneRow::tables('p') . " p) AND NOT indisprimary " .
		"ORDER BY (SELECT relkind FROM pg_class WHERE oid = indexrelid) = 'I' DESC");
	act($run, $session, 'DROP of a broken index', "DROP INDEX IF EXISTS $_") foreach split /\n/, $broken;
	foreach my $table ('t', 'p')
	{
		foreach my $name (NotOneRow::index_names())
		{
			my ($there) = NotOneRow::ask($run, $session, 'look for indexes', "SELECT to_regclass('${table}_$name') IS NOT NULL");
			act($run, $session, 'CREATE of a missing index', NotOneRow::create_index($run, $table, $name, '')) if $there eq 'f';
		}
	}
}

sub options
{
	my ($run, $session) = @_;
	act($run, $session, 'ALTER INDEX SET', 'ALTER INDEX t_' . some_name() . ' SET (pages_per_range = ' . (1 + int rand 8) . ')');
}

sub rewrite
{
	my ($run, $session) = @_;
	act($run, $session, 'VACUUM FULL', 'VACUUM FULL ' . some_table());
}

sub change
{
	my ($run) = @_;
	# While this session waits for an exclusive lock, all other sessions wait behind it.
	my $session = NotOneRow::open_session($run, patience => '300ms', dawdle => 0.01);
	my %actions = (
		2 => [\&truncate_table, \&rewrite, \&options], 4 => [\&drop_and_create, \&delete_pages], 5 => [\&detach, \&concurrently], 6 => [\&reindex]);
	my @actions = map { my $weight = $_; map { my $action = $_; map { $action } 1 .. $weight } @{$actions{$weight}} } sort keys %actions;

	while (NotOneRow::go_on($run, 5))
	{
		$actions[rand @actions]->($run, $session);
		tidy($run, $session) if rand() < 0.3;
		refill($run, $session) if rand() < 0.1;
		trim($run, $session);
		sleep(rand 0.7);
	}
	$session->close;
}

# ---------------------------------------------------------------- at the end

# The indexes must find all rows in the state in which they were left, again after all ranges were summarized, and again
# after all indexes were rebuilt.
sub check_all
{
	my ($run) = @_;
	my $session = NotOneRow::open_session($run);
	my $method = NotOneRow::method($run->{method});
	local $run->{reader_port};
	my $reader = NotOneRow::Readers::set_up($run);

	foreach (split /\n/, $session->sql('SELECT gid FROM pg_prepared_xacts WHERE database = current_database()'))
	{
		$session->sql("ROLLBACK PREPARED '$_'");
	}
	attach($run, $session);
	tidy($run, $session);
	my $there = $session->sql("SELECT t.relid::regclass || ': ' || coalesce(string_agg(i.indexrelid::regclass || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END, ', ' ORDER BY i.indexrelid::regclass::text), '-') " .
		"FROM (SELECT relid FROM " . NotOneRow::tables('t') . ' t UNION ALL SELECT relid FROM ' . NotOneRow::tables('p') . " p) t LEFT JOIN pg_index i ON i.indrelid = t.relid GROUP BY t.relid ORDER BY 1");
	NotOneRow::trouble($run, "tables and indexes are not all there:\n$there") if (() = $there =~ /\n|,/g) != 23 || $there =~ /invalid/;
	NotOneRow::difference($run, "seen from inside of a statement: $_") foreach split /\n/, $session->sql('SELECT * FROM peeks');
	foreach my $stage ('as it was left', 'all summarized', 'built anew')
	{
		foreach my $table ('t', 'p')
		{
			foreach (split /\n/, $session->sql(NotOneRow::index_query($run, $table)))
			{
				my ($index, $heap) = split / /;
				$session->sql("REINDEX INDEX $index") if $stage eq 'built anew';
				$session->sql("SELECT $method->{summarize_new}('$index')") if $stage eq 'all summarized';
				$run->{counts}{'indexes checked'} += check_index($run, $session, $stage, $index) if $method->{check};
			}
			NotOneRow::Readers::sweep($run, $reader, $table, 'BEGIN;');
			$reader->ask('COMMIT');
		}
	}
	# If the index never ruled a page out, the test would prove nothing. So rows are inserted and summarized here, and
	# it is counted how many pages a search for an absent value reads. (How many rows t had before depends on chance.)
	$session->sql("INSERT INTO t SELECT nextval('ids'), i % 4, i * 7919 % 3000, 'b' || i * 31 % 1500, i, repeat('e', 200) FROM generate_series(1, 6000) i");
	$session->sql("SELECT $method->{summarize_new}('t_a')");
	my $plan = $session->sql('SET enable_bitmapscan = on; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM t WHERE a = -1::bigint');
	$run->{counts}{'pages read for an absent value'} = $plan =~ /lossy=(\d+)/ ? $1 : $plan =~ /Bitmap Index Scan/ ? 0 : -1;
	$run->{counts}{'pages of t'} = $session->sql("SELECT pg_relation_size('t') / 8192");
	$run->{counts}{$_} = $session->sql("SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE indexrelname ~ '_(a|ab|c)\$|_idx'") foreach 'index scans';
	$_->close foreach $session, $reader;
}

1;
