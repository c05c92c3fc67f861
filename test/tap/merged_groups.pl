# A bf index has levels of filters for ranges of the table's pages; a range of level 1 is as long as 125 ranges of level
# 0. A group is consecutive ranges of a level whose filters are stored together. When level 1 grows, VACUUM puts one
# group in the place of its groups. So a search reads about as many pages as in an index that was built. No session
# loses a row by this: neither a session that knows only the old groups, nor one on a standby, nor one after the server
# was killed in the middle.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use GroupSessions;
use OwnCluster;
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(sleep time);

StreambloomTap::require_cluster();
OwnCluster::start(autovacuum => 'off', wal_keep_size => '512MB', max_connections => 40, restart_after_crash => 'off');

my $db = StreambloomTap->new('061');
my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
srand($seed);

# A page has one row, and a range of level 1 has 125 pages. So little data makes many ranges.
$db->sql(<<'SQL');
CREATE PROCEDURE make(name text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$I (i integer, pad text) WITH (fillfactor = 10, autovacuum_enabled = off);
		ALTER TABLE %1$I ALTER pad SET STORAGE plain;
		CREATE INDEX %2$I ON %1$I USING bf (i) WITH (pages_per_range = 1)', name, name || '_bf');
END $$;
-- Adds rows until the table has so many whole ranges of level 1, and one page more.
CREATE PROCEDURE grow(name regclass, ranges integer) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT i, repeat(''x'', 700) FROM generate_series(1 + (SELECT coalesce(max(i), 0) FROM %1$s WHERE i <= 1000000), %s) i', name, ranges * 125 + 1);
END $$;
-- Of a sample of the rows, how many an index search does not find.
CREATE FUNCTION lost(name regclass, sample integer DEFAULT 200) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	row record;
	found bigint;
	result bigint := 0;
BEGIN
	FOR row IN EXECUTE format('SELECT i FROM %s ORDER BY hashint4(i) LIMIT %s', name, sample) LOOP
		EXECUTE format('SELECT count(*) FROM %s WHERE i = $1', name) INTO found USING row.i;
		result := result + (found <> 1)::int;
	END LOOP;
	RETURN result;
END $$;
CREATE FUNCTION pages_read(query text) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::integer + (plan #>> '{0,Plan,Shared Read Blocks}')::integer;
END $$;
-- The mean number of pages that a look-up of an absent value reads.
CREATE FUNCTION pages_of_absent(name regclass) RETURNS numeric LANGUAGE sql AS $$
	SELECT avg(pages_read(format('SELECT * FROM %s WHERE i = %s', name, -n))) FROM generate_series(1, 300) n
$$;
-- Level 1: how many groups it has, and how many ranges are summarized.
CREATE FUNCTION level_1(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s|%s', groups, summarized) FROM bf_index_stats(index) WHERE level = 1
$$;
SQL

sub vacuum { $db->sql("VACUUM $_[0]"); }

subtest 'a table that grows range by range' => sub {
	$db->sql("CALL make('grown')");
	my (@wrong, %read);
	my %unites = map { $_ => 1 } 3, 9, 26;

	foreach my $ranges (1 .. 30)
	{
		$db->sql("CALL grow('grown', $ranges)");
		$read{$ranges} = pages_read_by_vacuum($db, 'grown', 'VACUUM grown');
		my $found = $db->sql("SELECT level_1('grown_bf')");
		push @wrong, "$ranges ranges: $found" if $ranges >= 2 && $found ne "1|$ranges";
		push @wrong, "$ranges ranges: a row is lost" if $db->sql("SELECT lost('grown', 50)") ne '0';
	}
	is_deeply(\@wrong, [], 'level 1 always has one group, whose ranges are summarized');
	cmp_ok($read{$_}, '>', 125 * ($_ - 1), "with $_ ranges VACUUM reads the ranges before once more") foreach sort { $a <=> $b } keys %unites;
	my @much = grep { !$unites{$_} && $read{$_} > 6 * 125 } 4 .. 30;
	is_deeply(\@much, [], 'with other numbers of ranges it does not');
	is($db->sql("SELECT bf_summarize_new_values('grown_bf')"), 0, 'then nothing is left to be done');
	is_right($db, 'grown', 'in united groups');
	my ($absent, $bytes) = split /\|/, $db->sql("SELECT pages_of_absent('grown'), pg_relation_size('grown_bf')");
	$db->sql('REINDEX INDEX grown_bf');
	my ($built, $built_bytes) = split /\|/, $db->sql("SELECT pages_of_absent('grown'), pg_relation_size('grown_bf')");
	cmp_ok($absent, '<=', 1.3 * $built, "a look-up of an absent value reads about as many pages as in a built index ($absent, $built)");
	cmp_ok($bytes, '<=', 2 * $built_bytes, "the index is at most twice as large ($bytes, $built_bytes bytes)");
};

subtest 'ranges that come together' => sub {
	$db->sql("CALL make('large')");
	my $before = 0;
	foreach my $ranges (2, 5, 64, 130)
	{
		$db->sql("CALL grow('large', $ranges)");
		my $again = $ranges <= 125 ? $before : 0;
		is($db->sql("SELECT bf_summarize_new_values('large_bf')"), 126 * ($ranges - $before) + ($before == 0) + $again,
			"$ranges ranges of level 1, and $again once more in a united group");
		is($db->sql("SELECT level_1('large_bf')"), ($ranges > 125 ? 2 : 1) . "|$ranges", 'all ranges are in one group, or in two if they are more than 125');
		$before = $ranges;
	}
	is_right($db, 'large', 'in a large table');
};

subtest 'ranges with few items before ranges with many' => sub {
	$db->sql("CALL make('uneven'); INSERT INTO uneven SELECT 0, repeat('x', 700) FROM generate_series(1, 25 * 125)");
	vacuum('uneven');
	$db->sql('INSERT INTO uneven SELECT i FROM generate_series(1, 16000) i');
	vacuum('uneven');
	is($db->sql("SELECT groups FROM bf_index_stats('uneven_bf') WHERE level = 1"), 2, 'their groups stay apart, since they take less space so');
	is($db->sql("SELECT bf_index_check('uneven_bf') > 0"), 't', 'no row is lost');
};

# bf_summarize_range() adds groups to level 1 and does not unite them. VACUUM does, and then level 1 has one group.
subtest 'several groups' => sub {
	foreach my $columns (1, 3)
	{
		my $table = "several_$columns";
		my $list = join ', ', map { "c$_" } 1 .. $columns;
		my $values = join ', ', map { "i + $_" } 1 .. $columns;

		$db->sql("CREATE TABLE $table (" . join(', ', map { "c$_ integer" } 1 .. $columns) . ', pad text) WITH (fillfactor = 10, autovacuum_enabled = off);' .
				"ALTER TABLE $table ALTER pad SET STORAGE plain;" .
				"CREATE INDEX ${table}_bf ON $table USING bf ($list) WITH (pages_per_range = 1)");
		my $grow = sub {
			my ($from, $to) = map { 125 * $_ + 1 } @_;
			$db->sql("INSERT INTO $table SELECT $values, repeat('x', 700) FROM generate_series($from, $to - 1) i");
		};
		$grow->(0, 2);
		foreach my $ranges (3, 9, 26)
		{
			$db->sql("SELECT bf_summarize_range('${table}_bf', ($ranges - 2) * 125 - 1, 1)");
			$grow->($ranges - 1, $ranges);
			$grow->($ranges, {3 => 8, 9 => 25, 26 => 27}->{$ranges});
		}
		$db->sql("SELECT bf_summarize_range('${table}_bf', 24 * 125, 1)");
		like($db->sql("SELECT DISTINCT groups FROM bf_index_stats('${table}_bf') WHERE level = 1"), qr/^[2-5]$/, "$columns columns: level 1 has several groups");
		vacuum($table);
		is($db->sql("SELECT DISTINCT groups, summarized FROM bf_index_stats('${table}_bf') WHERE level = 1"), '1|27', 'then one');
		is($db->sql("SELECT bf_index_check('${table}_bf') > 0"), 't', 'no row is lost');
		$grow->(27, 30);
		vacuum($table);
		is($db->sql("SELECT bf_index_check('${table}_bf') > 0"), 't', 'nor later');
	}
};

# VACUUM fails after it has put one group in the place of the others, and before it has summarized the group. The table
# grows, by rows without a value, so that the next group is due. The filters of the next group must have room for the
# items of the old ranges, though the bits of level 1 do not tell how many items these have.
subtest 'after VACUUM has failed in the middle' => sub {
	$db->sql(<<'SQL');
CREATE FUNCTION may_fail(v integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF v = 7 AND current_setting('test.fails', true) = 'yes' THEN RAISE 'VACUUM fails'; END IF;
	RETURN v;
END $$;
CREATE TABLE failed (i integer) WITH (autovacuum_enabled = off);
CREATE INDEX failed_bf ON failed USING bf (may_fail(i)) WITH (pages_per_range = 1);
-- adds rows until the table has so many pages more
CREATE PROCEDURE add_pages(value integer, pages integer) LANGUAGE plpgsql AS $$
DECLARE
	most bigint := pg_relation_size('failed') / 8192 + pages;
	at integer := value;
BEGIN
	WHILE pg_relation_size('failed') / 8192 < most LOOP
		INSERT INTO failed SELECT at + n FROM generate_series(0, 225) n;
		at := at + 226;
	END LOOP;
END $$;
CALL add_pages(1, 2 * 125);
SQL
	vacuum('failed');
	$db->sql('CALL add_pages(NULL, 125 + 1)');
	my ($state) = $db->sqlstate("SET test.fails = 'yes'; VACUUM failed");
	is($state, 'P0001', 'VACUUM fails');
	is($db->sql("SELECT level_1('failed_bf')"), '1|0', 'no range of the united group is summarized');
	$db->sql('CALL add_pages(NULL, 6 * 125)');
	vacuum('failed');
	is($db->sql("SELECT level_1('failed_bf')"), '1|9', 'the next run summarizes all ranges, in one group');
	is($db->sql("SELECT current_false_positive_rate < 2 * false_positive_rate FROM bf_index_stats('failed_bf') WHERE level = 1"), 't', 'its filters have room for their items');
	is($db->sql("SELECT bf_index_check('failed_bf') > 0"), 't', 'no row is lost');
};

# The numbers of directory pages and of the directory's entries, on the meta page as it is in the file.
sub directory_of
{
	my ($index) = @_;
	$db->sql('CHECKPOINT');
	my $page = $db->sql("SELECT encode(pg_read_binary_file(pg_relation_filepath('$index'), 0, 64), 'hex')");
	return unpack 'x50 S L', pack 'H*', $page;
}

# With 32 columns the meta page has room for 34 entries of the directory of groups. On level 0 each group gets an entry
# of its own, since its filters have another size than those of the group before.
subtest 'the last entries of the directory are moved' => sub {
	my @columns = map { "c$_" } 1 .. 32;
	my $chunk = 0;

	$db->sql('CREATE TABLE wide (' . join(', ', map { "$_ smallint" } @columns) . ') WITH (autovacuum_enabled = off);' .
			'CREATE INDEX wide_bf ON wide USING bf (' . join(', ', @columns) . ') WITH (pages_per_range = 1)');
	my $grow = sub {
		my $values = join ', ', map { $chunk % 2 == 0 ? "i % 88 + $_" : 0 } 1 .. 32;
		$db->sql("INSERT INTO wide SELECT $values FROM generate_series(1, 88 * 125) i; SELECT bf_summarize_range('wide_bf', $chunk * 125 + 124)");
		$chunk++;
	};
	my @directory = (0, 0);
	while ($directory[0] == 0 && $chunk < 50)
	{
		$grow->();
		$db->sql("SELECT bf_summarize_range('wide_bf', ($chunk - 1) * 125, 1)") if $chunk == 2 || $chunk == 3 || $chunk == 9;
		@directory = directory_of('wide_bf');
	}
	is($db->sql('SELECT pg_relation_size(\'wide\') / 8192'), 125 * $chunk, 'each group has its pages');
	is("@directory", '1 35', 'the directory has got a page');
	is($db->sql("SELECT groups FROM bf_index_stats('wide_bf') WHERE level = 1 LIMIT 1"), 3, 'level 1 has three groups');
	vacuum('wide');
	is(join(' ', directory_of('wide_bf')), '0 33', 'the entries of two groups are gone, and the page of the directory');
	is($db->sql("SELECT DISTINCT groups, summarized FROM bf_index_stats('wide_bf') WHERE level = 1"), "1|$chunk", 'level 1 has one group');
	is($db->sql("SELECT bf_index_check('wide_bf') > 0"), 't', 'no row is lost');
	$grow->() foreach 1 .. 4;
	is(join(' ', directory_of('wide_bf')), '1 37', 'the directory gets a page again');
	vacuum('wide');
	is($db->sql("SELECT bf_index_check('wide_bf') > 0"), 't', 'no row is lost');
	$db->sql('DROP TABLE wide');
};

my @old = map { 5 * $_ } 1 .. 200;
my @new = map { 1000000 + $_ } 1 .. 200;

subtest 'on a standby' => sub {
	$db->sql("CALL make('copied'); CALL grow('copied', 8)");
	vacuum('copied');
	$db->sql("CALL grow('copied', 9)");
	my $port = OwnCluster::start_standby(hot_standby_feedback => 'off', max_standby_streaming_delay => '-1', max_standby_archive_delay => '-1');
	OwnCluster::catch_up();
	my ($here, $there) = map { begin_session($db, 'copied', 'i = $1', 1, @$_) } [], [port => $port];
	my $before = $db->sql("SELECT level_1('copied_bf')");
	vacuum('copied');
	isnt($db->sql("SELECT level_1('copied_bf')"), $before, 'level 1 has grown');
	$db->sql("DELETE FROM copied WHERE i % 5 <> 0 AND i <= 1000");
	vacuum('copied');
	$db->sql("INSERT INTO copied SELECT 1000000 + i, repeat('x', 700) FROM generate_series(1, 200) i");
	OwnCluster::catch_up();
	is(missed($_, @old, @new), 0, 'a session that knows the old group finds all rows') foreach $here, $there;
	# the pages of the old group get other content
	foreach my $ranges (12, 18, 30)
	{
		$db->sql("CALL grow('copied', $ranges)");
		vacuum('copied');
	}
	OwnCluster::catch_up();
	is(missed($_, @old, @new), 0, 'also when other groups are where the old one was') foreach $here, $there;
	$_->sql('COMMIT') foreach $here, $there;
	is(missed($_, @old, @new), 0, 'and when it knows the new one') foreach $here, $there;
	is_right($db, 'copied', 'here');
	local $ENV{PGPORT} = $port;
	is_right($db, 'copied', 'there');
};

subtest 'writers, readers and VACUUM at once' => sub {
	my $ranges = 0;
	my $work = sub {
		for (my $end = time() + 120; $ranges < 28 && time() < $end;)
		{
			vacuum('busy');
			$ranges = $db->sql("SELECT coalesce(max(summarized), 0) FROM bf_index_stats('busy_bf') WHERE level = 1");
		}
	};
	$db->sql("CALL make('busy')");
	while_others_work($db, $work, step => 10, times => 400, write => <<'SQL');
INSERT INTO busy SELECT n, repeat('x', 700) FROM generate_series(at, at + 9) n;
		UPDATE busy SET i = i + 500000 WHERE i BETWEEN at - 30 AND at - 26;
SQL
	cmp_ok($ranges, '>=', 28, 'level 1 has grown meanwhile');
	is($db->sql("SELECT groups FROM bf_index_stats('busy_bf') WHERE level = 1"), 1, 'it has one group');
};

subtest 'the server is killed in the middle' => sub {
	my ($wrong, %seen) = ('', old => 0, new => 0);
	my $rounds = $ENV{STREAMBLOOM_KILLS} // 4;

	$db->sql(<<'SQL');
-- More items, so that VACUUM takes its time.
CREATE PROCEDURE make_full(name text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %1$I (i integer, pad text) WITH (autovacuum_enabled = off);
		CREATE INDEX %2$I ON %1$I USING bf (i) WITH (pages_per_range = 1);
		INSERT INTO %1$I SELECT i FROM generate_series(1, 226 * 125 * 8) i', name, name || '_bf');
END $$;
SQL
	foreach my $round (1 .. $rounds)
	{
		my $vacuum = PsqlSession->new($db->name);
		my $writer = PsqlSession->new($db->name);
		my $least = 1000000 * $round;

		$db->sql("DROP TABLE IF EXISTS killed; CALL make_full('killed')");
		vacuum('killed');
		my $before = $db->sql("SELECT index_pages FROM bf_index_stats('killed_bf') WHERE level = 1");
		$db->sql("DELETE FROM killed WHERE i % 7 = 0; VACUUM (INDEX_CLEANUP off) killed; INSERT INTO killed SELECT i FROM generate_series(300000, 400000) i; CHECKPOINT");
		$vacuum->send('VACUUM killed; VACUUM killed');
		$writer->send(join '', map { "INSERT INTO killed SELECT i FROM generate_series($_, $_ + 99) i;\n" } map { $least + 100 * $_ } 0 .. 49);
		# each round kills the server in a part of the time of its own
		sleep(($round - rand(1)) * 0.6 / $rounds);
		OwnCluster::kill_all();
		$_->close foreach $vacuum, $writer;
		OwnCluster::recover();
		my $found = eval { $db->sql("SELECT lost('killed', 100), bf_index_check('killed_bf') > 0, groups, index_pages > $before FROM bf_index_stats('killed_bf') WHERE level = 1") } // $@;
		$wrong .= "round $round: $found\n" if $found !~ /^0\|t\|1\|[tf]$/;
		$seen{$found =~ /f$/ ? 'old' : 'new'}++;
		vacuum('killed');
		$found = eval { $db->sql("SELECT lost('killed', 100), bf_index_check('killed_bf') > 0, level_1('killed_bf')") } // $@;
		$wrong .= "round $round, after VACUUM: $found\n" if $found !~ /^0\|t\|1\|1[0-2]$/;
	}
	is($wrong, '', "after each recovery no row is lost, and VACUUM goes on (seed $seed)");
	diag("killed with the old group $seen{old} times, with the new one $seen{new} times") if $ENV{STREAMBLOOM_KILLS};
};
unlike(OwnCluster::server_log(), qr/PANIC|TRAP:/, 'no server process panicked');

done_testing();
