# Joins that skip: random joins of random tables have the same rows with JoinKeys and Skip as without
# (streambloom.enable_skip). Half of the questions may have partitioned tables read by PartitionScan, which then
# takes the keys of a join (streambloom.enable_partition_scan).
#
# The joins are inner, outer, semi and anti joins, and stars. Their keys are of many types and collations, columns or
# expressions, some NULL; the two sides of a join may have keys of different types. There are LATERAL, sub-plans and
# recursion; hash tables of several batches; cursors that are older than changes; LIMIT, FOR UPDATE, and statements that
# write; row-level security; prepared statements with generic plans, whose tables and indexes change between executions;
# SERIALIZABLE.
#
# The test is short; for longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/090_joins.pl
#
# It prints how many comparisons there were, and in how many of them pages were skipped. A run in which the nodes
# skipped too seldom has failed. The seed settles every statement.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use Attack;
use JoinsQueries;
use JoinsSchema;
use PsqlSession;
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('a090');
my $reader = "joins_reader_$$";
$db->make_role($reader, '');
diag('seed ' . Attack::seed());

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }
sub quote { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }

$db->sql($JoinsSchema::types . <<'SQL');
GRANT USAGE ON SCHEMA public TO PUBLIC;
CREATE FUNCTION indexes(relation regclass) RETURNS TABLE (index regclass, heap regclass) LANGUAGE sql AS $$
	SELECT indexrelid::regclass, indrelid::regclass FROM (SELECT relid FROM pg_partition_tree(relation) UNION SELECT relation) p JOIN pg_index i ON indrelid = p.relid JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE amname = 'bf' AND relkind = 'i' ORDER BY 1
$$;
-- The answer of a statement; what the statement changes is undone.
CREATE FUNCTION answer(statement text, join_skip text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('streambloom.enable_skip', join_skip, true);
	IF join_skip = 'off' THEN
		PERFORM set_config('streambloom.enable_partition_scan', 'off', true);
	END IF;
	EXECUTE statement INTO answer;
	RAISE EXCEPTION USING ERRCODE = 'UT000', MESSAGE = coalesce(answer, 'NULL');
EXCEPTION
	WHEN SQLSTATE 'UT000' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN format('ERROR %s %s', SQLSTATE, SQLERRM);
END
$$;
-- Returns two numbers: how many Skips leave something out, or -1 if the plan has no such node; and how many partitions are
-- skipped by PartitionScans that take keys of a join, or -1 if there are none. If EXPLAIN ANALYZE fails, the first is
-- -3 for an error of class XX, else -1, and the second is -1.
CREATE FUNCTION skipped(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	skipped bigint := -1;
	partitions bigint := -1;
	takes_keys bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || statement LOOP
		IF line ~ 'Verdict: ' THEN
			skipped := greatest(skipped, 0) + (line ~ 'Verdict: (none|some pages)')::int;
		ELSIF line ~ 'Looks for' THEN
			takes_keys := line ~ 'ANY \(keys';
		ELSIF line ~ 'Partitions Skipped' AND takes_keys THEN
			partitions := greatest(partitions, 0) + substring(line from 'Partitions Skipped: (\d+)')::bigint;
			takes_keys := false;
		END IF;
	END LOOP;
	RAISE EXCEPTION USING ERRCODE = 'UT000', MESSAGE = skipped || ' ' || partitions;
EXCEPTION
	WHEN SQLSTATE 'UT000' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN CASE WHEN SQLSTATE LIKE 'XX%' THEN '-3 -1' ELSE '-1 -1' END;
END
$$;
-- Returns `number`, then "=", the count of rows and the two numbers of skipped() (-2 and -1 if both statements fail),
-- or what differs. plain_statement is the same as `statement`, or its query if `statement` executes a prepared one.
CREATE FUNCTION compare(number int, statement text, plain_statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine CONSTANT text := answer(statement, 'on');
	plain CONSTANT text := answer(plain_statement, 'off');
BEGIN
	PERFORM set_config('streambloom.enable_skip', 'on', true);
	IF mine LIKE 'ERROR XX%' OR plain LIKE 'ERROR XX%' OR mine <> plain AND NOT (mine LIKE 'ERROR%' AND left(mine, 11) = left(plain, 11)) THEN
		RETURN format('%s DIFFERENT with: %s without: %s', number, mine, plain);
	END IF;
	RETURN format('%s = %s %s', number, split_part(plain, ' ', 1), CASE WHEN plain NOT LIKE 'ERROR%' THEN skipped(statement) ELSE '-2 -1' END);
END
$$;
-- A digest of the rows that a cursor has left, or the error that it raises. Closes the cursor.
CREATE FUNCTION drain(c refcursor) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	rows text[] := '{}';
BEGIN
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		rows := rows || r::text;
	END LOOP;
	CLOSE c;
	RETURN (SELECT count(*) || ' ' || coalesce(md5(string_agg(x, ',' ORDER BY x COLLATE "C")), '') FROM unnest(rows) x);
EXCEPTION WHEN OTHERS THEN
	RETURN format('ERROR %s %s', SQLSTATE, SQLERRM);
END
$$;
-- Does what compare() does, for two cursors that are opened before a change and read after it. If they cannot be
-- opened, or the change fails, only an error of class XX is a difference.
CREATE FUNCTION compare_cursors(number int, query text, change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine refcursor;
	plain refcursor;
	pages text;
	partition_scan text;
	a text;
	b text;
BEGIN
	PERFORM set_config('streambloom.enable_skip', 'on', true);
	pages := skipped(query);
	OPEN mine NO SCROLL FOR EXECUTE query;
	partition_scan := current_setting('streambloom.enable_partition_scan');
	PERFORM set_config('streambloom.enable_skip', 'off', true), set_config('streambloom.enable_partition_scan', 'off', true);
	OPEN plain NO SCROLL FOR EXECUTE query;
	PERFORM set_config('streambloom.enable_skip', 'on', true), set_config('streambloom.enable_partition_scan', partition_scan, true);
	EXECUTE change;
	a := drain(mine);
	b := drain(plain);
	IF a LIKE 'ERROR XX%' OR b LIKE 'ERROR XX%' OR a <> b AND NOT (a LIKE 'ERROR%' AND left(a, 11) = left(b, 11)) THEN
		RETURN format('%s DIFFERENT with: %s without: %s', number, a, b);
	END IF;
	RETURN format('%s = %s %s', number, split_part(a, ' ', 1), CASE WHEN a LIKE 'ERROR%' THEN '-2 -1' ELSE pages END);
EXCEPTION WHEN OTHERS THEN
	RETURN format('%s %s %s -2 -1', number, CASE WHEN SQLSTATE LIKE 'XX%' THEN 'DIFFERENT ' || SQLSTATE || ' ' || SQLERRM ELSE '=' END, 'ERROR');
END
$$;
SQL

my %count;
my @problems;

# A busy machine gets more time, so that it compares enough to find what an idle one finds.
sub goes_on
{
	return @problems < 4 && (Attack::seconds_left(12) > 0 || ($count{comparisons} // 0) < 800 && ($count{rounds} // 0) < 40);
}

sub settings
{
	my $role = shift;
	my %off = (enable_nestloop => 0.9, enable_mergejoin => 0.93, enable_hashjoin => 0.02, enable_indexscan => 0.8, enable_bitmapscan => 0.65, enable_material => 0.2, enable_memoize => 0.3, enable_sort => 0.1,
		enable_hashagg => 0.1, enable_partition_pruning => 0.1, enable_seqscan => 0.03, 'streambloom.enable_skip' => 0.3, 'streambloom.enable_index_estimates' => 0.3);
	my @set = map { "$_ = " . (chance($off{$_}) ? 'off' : 'on') } sort keys %off;
	push @set, map { "$_ = " . (chance(0.3) ? 'on' : 'off') } 'enable_partitionwise_join', 'enable_partitionwise_aggregate';
	push @set, chance(0.3) ? "work_mem = '64kB'" : "work_mem = '4MB'", 'max_parallel_workers_per_gather = ' . (chance(0.02) ? 2 : 0), 'plan_cache_mode = ' . pick('auto', 'force_generic_plan', 'force_custom_plan');
	push @set, 'streambloom.enable_partition_scan = ' . pick('off', 'off', 'on', 'always');
	push @set, map { "$_ = " . (chance(0.2) ? 1 : 8) } 'from_collapse_limit', 'join_collapse_limit';
	push @set, 'role = ' . ($role && chance(0.1) ? $reader : 'none');
	return join '; ', map { "SET LOCAL $_" } @set;
}

# Sends questions in one transaction, and counts what comes back.
sub ask
{
	my ($session, $settings, $history, @questions) = @_;
	my $isolation = pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	my @sql = map { "SELECT " . ($questions[$_]{change} ? "compare_cursors($_, " . quote($questions[$_]{sql}) . ', ' . quote($questions[$_]{change}) : "compare($_, " . quote($questions[$_]{sql}) . ', ' . quote($questions[$_]{plain} // $questions[$_]{sql})) . ')' } 0 .. $#questions;
	my ($answer, $state, $message) = $session->ask("BEGIN ISOLATION LEVEL $isolation; $settings;\n" . join(";\n", @sql) . ";\nROLLBACK");
	my $answered = 0;

	foreach (split /\n/, $answer)
	{
		my ($n, $verdict, $rest) = /^(\d+) (\S+) ?(.*)/ or next;
		my $q = $questions[$n];
		$answered++;
		if ($verdict ne '=')
		{
			push @problems, "$q->{kind}, $isolation: $rest\n$q->{sql}\n$settings";
			next;
		}
		my ($rows, $pages, $partitions) = split / /, $rest;
		push @problems, "EXPLAIN of $q->{kind} failed\n$q->{sql}\n$settings" if $pages == -3;
		$count{comparisons}++;
		$count{"asked: $q->{kind}"}++;
		$count{'comparisons with rows'}++ if $rows ne '0' && $rows ne 'ERROR';
		if ($rows eq 'ERROR' || $pages == -2) { $count{errors}++; next; }
		$count{'comparisons with nodes'}++ if $pages >= 0;
		$count{'comparisons that skipped'}++ if $pages > 0;
		$count{"skipped: $q->{kind}"}++ if $pages > 0;
		$count{'PartitionScans with keys'}++ if $partitions >= 0;
		$count{'PartitionScans with keys that skipped'}++ if $partitions > 0;
	}
	# A join of large results may take longer than the timeout on a busy machine. Then it is run again, without the
	# nodes and after that with them. The second run may take three times as long as the first one, and a minute more.
	if ($state eq '57014' && $answered < @questions)
	{
		my $q = $questions[$answered];
		my $again = sub {
			my ($sql, $join_skip, $limit) = @_;
			my ($found, $how) = $session->ask("ROLLBACK;\nBEGIN ISOLATION LEVEL $isolation; $settings; SET LOCAL statement_timeout = '${limit}s';\nSELECT answer(" . quote($sql) . ", '$join_skip');\nROLLBACK");
			return "$how $found";
		};
		my $began = time();
		my $plain = $again->($q->{plain} // $q->{sql}, 'off', 300);
		my $mine = $plain =~ /^57014/ ? $plain : $again->($q->{sql}, 'on', 60 + 3 * (time() - $began));
		push @problems, "after a timeout with the nodes: $mine without: $plain\n$q->{sql}\n$settings" if $mine ne $plain || $mine =~ /^lost/;
		$count{'timeouts'}++;
	}
	elsif ($state eq 'lost' || $answered < @questions && $state !~ /^(?:40|25P02)/)
	{
		push @problems, "ended with $state $message after $answered of " . @questions . "\n" . ($questions[$answered] ? $questions[$answered]{sql} : '') . "\n$settings";
	}
	return $state ne 'lost';
}

sub question
{
	my ($schema, $prepared) = @_;
	my $kind = rand();

	return {kind => 'writing', sql => JoinsQueries::writing($schema)} if $kind < 0.06;
	return {kind => 'cursor', sql => JoinsQueries::rows($schema), change => $schema->change =~ s/^(?:VACUUM|REINDEX|ALTER|CREATE|DROP).*/SELECT 1/r} if $kind < 0.16;
	if ($kind < 0.3 && @$prepared)
	{
		my $p = pick(@$prepared);
		my $value = chance(0.5) ? $p->{value} : int rand($schema->{keys});
		return {kind => 'prepared', sql => "EXECUTE $p->{name}($value)", plain => $p->{text} =~ s/\$1/$value/gr};
	}
	return {kind => 'rows', sql => JoinsQueries::digest(JoinsQueries::rows($schema))};
}

sub round
{
	my $schema = JoinsSchema->new;
	my $session = PsqlSession->new($db->name);
	my @history = ($schema->make_facts, $schema->make_dimensions, chance(0.7) ? 'VACUUM' : 'SELECT 1', 'ANALYZE');
	my $secured = chance(0.4);
	my @prepared;

	$session->sql("LOAD 'streambloom'; SET jit = off; SET statement_timeout = '120s'; SET client_min_messages = warning");
	push @history, 'ALTER TABLE f1 ENABLE ROW LEVEL SECURITY', 'CREATE POLICY p ON f1 USING (id % 3 <> 0 AND t IS NOT NULL)' if $secured;
	push @history, "GRANT ALL ON ALL TABLES IN SCHEMA public TO $reader";
	foreach my $sql (@history)
	{
		my ($answer, $state, $message) = $session->ask($sql);
		die "$state $message\n$sql\n" if $state ne '00000' && $state ne '42P07';
	}
	foreach my $n (1 .. 4)
	{
		my ($text, $value) = JoinsQueries::with_parameter($schema);
		my ($answer, $state) = $session->ask('SET plan_cache_mode = force_generic_plan; ' . "PREPARE p$n(int) AS $text");
		push @prepared, {name => "p$n", text => $text, value => $value} if $state eq '00000';
	}
	# A short run has more schemas instead.
	foreach my $batch (1 .. (Attack::is_long() ? 8 : 3))
	{
		last if !goes_on();
		ask($session, settings($secured), \@history, map { question($schema, \@prepared) } 1 .. 30) or last;
		foreach (1 .. pick(0, 1, 2, 3))
		{
			my ($answer, $state, $message) = $session->ask($schema->change);
			push @problems, "a change failed with $state $message" if $state =~ /^(?:XX|lost)/;
			$count{'changes that failed'}++ if $state ne '00000';
		}
	}
	$session->close;
	$count{rounds}++;
	return;
}

round() while goes_on();

my $share = ($count{'comparisons that skipped'} // 0) / ($count{comparisons} || 1);
diag(join ', ', map { "$_: $count{$_}" } sort keys %count);
diag(sprintf 'something was skipped in %.0f %% of the comparisons', 100 * $share);
ok(!@problems, 'random joins have the same rows with the nodes as without') or diag(join "\n\n", @problems);
cmp_ok($count{comparisons} // 0, '>=', 500, 'enough was compared');
is(join(' ', grep { !$count{"skipped: $_"} } qw(rows cursor prepared writing)), '', 'and for questions of every kind');
# On a slow machine there are only a few rounds, and in their schemas less may be skipped than in most.
cmp_ok($share, '>=', Attack::is_long() ? 0.3 : 0.2, 'something was skipped often enough');
done_testing();
