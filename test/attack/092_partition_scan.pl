# Plain queries over partitioned tables have the same rows with the node PartitionScan as without. The tables are
# random, with tens of partitions (columns in another order, missing indexes, two levels). The queries are random:
# joins, subqueries, aggregates, LIMIT, prepared statements with both kinds of plans. Between them there are random
# changes of rows, partitions, indexes and columns. There is one session. The test is short; for longer, in the
# environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/092_partition_scan.pl
#
# A failure leaves a history that psql can run again (test/attack/lib/DifferRun.pm). The seed settles every statement.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use DifferRun;
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time);

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} || 30;
my $seed = $ENV{STREAMBLOOM_SEED} || 1;
my $deadline = $^T + $seconds;
my $db = StreambloomTap->new('a092');
diag("seed $seed");
srand($seed);

my $run = DifferRun->new(database => $db->name, name => '092', seed => $seed);

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# An answer is a digest of the rows. The table `looked` adds up what EXPLAIN ANALYZE counts.
my $functions = <<'SQL';
CREATE TABLE looked (keys int, asked int, skipped int);
INSERT INTO looked VALUES (0, 0, 0);
CREATE FUNCTION answer(switches text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE switches;
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(q::text, '','' ORDER BY q::text)), '''') FROM (%s) q', query) INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN format('ERROR %s %s', SQLSTATE, SQLERRM);
END
$$;
-- The answer of a prepared statement, whose rows are fetched one by one.
CREATE FUNCTION answer_of_prepared(switches text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n int := 0;
	h numeric := 0;
BEGIN
	EXECUTE switches;
	FOR r IN EXECUTE statement LOOP
		n := n + 1;
		h := h + hashtextextended(r::text, 0);
	END LOOP;
	RETURN n || ' ' || h;
EXCEPTION WHEN OTHERS THEN
	RETURN format('ERROR %s %s', SQLSTATE, SQLERRM);
END
$$;
-- Returns the query's `number`, and after it '=' and the number of rows (or the word ERROR, if the query fails in both
-- ways), or what differs. An error with an SQLSTATE of class XX or 40 counts as a difference in any case. If `look` is
-- set and the query does not fail, the counts of EXPLAIN ANALYZE are added to the table `looked`. With `look` the
-- result ends with 1 if the plan has a PartitionScan, else 0.
CREATE FUNCTION compare(number int, switches text, off text, query text, look bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	prepared CONSTANT bool := query LIKE 'EXECUTE%';
	mine CONSTANT text := CASE WHEN prepared THEN answer_of_prepared(switches, query) ELSE answer(switches, query) END;
	plain CONSTANT text := CASE WHEN prepared THEN answer_of_prepared(off, query) ELSE answer(off, query) END;
	line text;
	node int := 0;
BEGIN
	IF mine <> plain OR mine LIKE 'ERROR XX%' OR mine LIKE 'ERROR 40%' THEN
		RETURN format('%s DIFFERENT with: %s without: %s', number, mine, plain);
	END IF;
	IF look AND mine NOT LIKE 'ERROR%' THEN
		EXECUTE switches;
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
			IF line ~ 'PartitionScan' THEN node := 1; END IF;
			IF line ~ 'ANY \(keys of' THEN UPDATE looked SET keys = keys + 1; END IF;
			IF line ~ 'Partitions Asked' THEN UPDATE looked SET asked = asked + substring(line, '\d+')::int WHERE node = 1; END IF;
			IF line ~ 'Partitions Skipped' THEN UPDATE looked SET skipped = skipped + substring(line, '\d+')::int WHERE node = 1; END IF;
		END LOOP;
	END IF;
	RETURN format('%s = %s %s', number, split_part(mine, ' ', 1), CASE WHEN look THEN node END);
END
$$;
SQL
# Takes the condition on `node` out, so the partitions that Skip asks and skips are counted too.
$functions =~ s/SET asked = asked \+ (.*?) WHERE node = 1;/SET asked = looked.asked + $1;/;
$functions =~ s/SET skipped = skipped \+ (.*?) WHERE node = 1;/SET skipped = looked.skipped + $1;/;

# --------------------------------------------------------------------------- tables

sub value_of_a { my ($self) = @_; return chance(0.6) ? int rand $self->{values} : chance(0.5) ? -1 - int rand 50 : 3; }
sub expression_of_a { my ($self) = @_; return "CASE WHEN random() < 0.1 THEN 3 WHEN random() < 0.05 THEN NULL ELSE (random() * $self->{values})::int END"; }

sub columns { my ($self, $i) = @_; return "k int, a bigint, b text, v int"; }

sub insert
{
	my ($self, $rows) = @_;
	my $count = $self->{count};
	return "INSERT INTO t (k, a, b, v) SELECT (random() * ($count - 1))::int, a, 'b' || coalesce(a, 0) % 50, (random() * 20)::int FROM (SELECT " .
		expression_of_a($self) . " AS a FROM generate_series(1, $rows)) x";
}

sub bounds
{
	my ($self, $i) = @_;
	return "FOR VALUES FROM ($i) TO (" . ($i + 1) . ')' if $self->{by} eq 'RANGE';
	return "FOR VALUES IN ($i)" if $self->{by} eq 'LIST';
	return "FOR VALUES WITH (MODULUS $self->{count}, REMAINDER $i)";
}

sub index_of
{
	my ($table) = @_;
	return "CREATE INDEX ON $table USING bf (" . pick('a', 'a', 'a, b', 'b, a') . ') WITH (pages_per_range = ' . pick(1, 2, 4) . ')';
}

sub make
{
	my $self = {count => 6 + int rand 40, by => pick('RANGE', 'LIST', 'HASH'), values => pick(100, 1000, 10000)};
	my @sql = ("CREATE TABLE t (" . columns() . ") PARTITION BY $self->{by} (k)");

	foreach my $i (0 .. $self->{count} - 1)
	{
		my $bounds = bounds($self, $i);
		if (chance(0.1))
		{
			push @sql, "CREATE TABLE t_$i (v int, gone int, b text, a bigint, extra int, k int)", "ALTER TABLE t_$i DROP gone, DROP extra", "ALTER TABLE t ATTACH PARTITION t_$i $bounds";
		}
		elsif (chance(0.05))
		{
			push @sql, "CREATE TABLE t_$i PARTITION OF t $bounds PARTITION BY LIST (v)", "CREATE TABLE t_${i}_1 PARTITION OF t_$i FOR VALUES IN (1, 2, 3)",
				"CREATE TABLE t_${i}_more PARTITION OF t_$i DEFAULT";
			$self->{divided}{$i} = 1;
		}
		else
		{
			push @sql, "CREATE TABLE t_$i PARTITION OF t $bounds";
		}
	}
	push @sql, insert($self, pick(100, 500, 2000));
	push @sql, chance(0.7) ? index_of('t') : map { index_of("t_$_") } grep { $_ == 0 || chance(0.9) } 0 .. $self->{count} - 1;
	push @sql, insert($self, pick(10, 300)) if chance(0.5);
	push @sql, pick('ANALYZE t', 'VACUUM ANALYZE t', 'SELECT 1');
	push @sql, 'CREATE TABLE s AS SELECT ' . expression_of_a($self) . ' AS a, i AS n FROM generate_series(1, ' . pick(1, 5, 40) . ') i', 'ANALYZE s';
	return ($self, @sql);
}

sub change
{
	my ($self) = @_;
	my $i = int rand $self->{count};
	my $leaf = $self->{divided}{$i} ? "t_${i}_1" : "t_$i";
	my $kind = int rand 16;

	return ('INSERT', insert($self, 1 + int rand 60)) if $kind <= 2;
	return ('UPDATE', 'UPDATE t SET a = ' . value_of_a($self) . ", v = v + 1 WHERE v = " . int rand 20) if $kind == 3;
	return ('UPDATE by value', 'UPDATE t SET b = b || \'x\', a = a + 1 WHERE a = ' . value_of_a($self)) if $kind == 4;
	return ('DELETE', 'DELETE FROM t WHERE a % 7 = ' . int rand 7) if $kind == 5;
	return ('TRUNCATE', "TRUNCATE t_$i") if $kind == 6;
	return ('VACUUM', pick('VACUUM t', 'VACUUM ANALYZE t', "VACUUM FULL $leaf", 'ANALYZE t')) if $kind == 7;
	return ('DETACH', "ALTER TABLE t DETACH PARTITION t_$i" . (chance(0.3) && !$self->{default} ? ' CONCURRENTLY' : '')) if $kind == 8;
	return ('ATTACH', "ALTER TABLE t ATTACH PARTITION t_$i " . bounds($self, $i)) if $kind <= 10;
	return ('REINDEX', "REINDEX TABLE $leaf") if $kind == 11;
	return ('CREATE INDEX', index_of($leaf)) if $kind == 12;
	return ('DROP INDEX', "DO \$\$ DECLARE i regclass; BEGIN SELECT indexrelid INTO i FROM pg_index WHERE indrelid = '$leaf'::regclass AND indexrelid NOT IN (SELECT inhrelid FROM pg_inherits) " .
		"LIMIT 1; IF i IS NOT NULL THEN EXECUTE format('DROP INDEX %s', i); END IF; END \$\$") if $kind == 13;
	return ('ALTER TABLE', pick('ALTER TABLE t ADD COLUMN w' . $self->{added}++ . ' int DEFAULT 5', "ALTER TABLE $leaf SET (fillfactor = " . (50 + int rand 50) . ')')) if $kind == 14;
	return ('summaries', "SELECT count(bf_summarize_new_values(indexrelid)), count(bf_desummarize_range(indexrelid, " . int(rand 5) . ")) FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am ON pg_am.oid = relam " .
		"WHERE amname = 'bf' AND relkind = 'i' AND indrelid = '$leaf'::regclass");
}

# -------------------------------------------------------------------------- queries

# A condition that indexes may answer; $t is the alias of the table, $value the value to compare with.
sub asked
{
	my ($self, $t, $value) = @_;
	$value //= value_of_a($self);
	my $kind = int rand 14;
	return "$t.a = $value" if $kind <= 4;
	return "$value = $t.a" if $kind == 5;
	return "$t.a IN ($value, " . value_of_a($self) . ', NULL)' if $kind == 6;
	return "$t.a = ANY (ARRAY[$value, " . value_of_a($self) . ']::int[])' if $kind == 7;
	return "$t.a = ($value)::int" if $kind == 8;
	return "$t.a = (SELECT $value + 0)" if $kind == 9;
	return "$t.b = 'b" . int(rand 60) . "'" if $kind == 10;
	return "$t.a = $value AND $t.b = 'b" . int(rand 60) . "'" if $kind == 11;
	return "$t.a = (SELECT max(a) FROM s)" if $kind == 12;
	return "$t.a = abs($value)";
}

sub other
{
	my ($self, $t) = @_;
	return pick("$t.v < " . int(rand 20), "$t.v <> 3", "$t.b LIKE 'b1%'", "$t.k > " . int(rand $self->{count}), "$t.k BETWEEN 2 AND " . (2 + int rand $self->{count}), "$t.v IS NOT NULL",
		"($t.v = 1 OR $t.b > 'b2')", 'random() >= 0', "$t.tableoid <> 't_0'::regclass", "$t.v IN (SELECT n FROM s)", "EXISTS (SELECT FROM s WHERE s.a = $t.a)", "$t IS NOT NULL",
		"$t.v + $t.k > 5", "$t.k = (SELECT min(n) FROM s)", "$t.k = " . int(rand $self->{count}), "coalesce($t.b, '') <> 'b7'", "$t.v = ANY ('{1,2,3,4,5,6,7,8,9,10}')", 'true');
}

sub conditions
{
	my ($self, $t, @more) = @_;
	my @all = (@more, chance(0.93) ? asked($self, $t) : (), map { other($self, $t) } 1 .. int rand 3);
	return @all ? ' WHERE ' . join(' AND ', sort { chance(0.5) ? 1 : -1 } @all) : '';
}

sub output
{
	my ($t) = @_;
	return pick("$t.*", "$t.a, $t.v", "$t.b", "$t.tableoid::regclass, $t.k, $t.a", "$t", "$t.v + $t.k AS sum, $t.b", "row_to_json($t)", '1 AS one', "upper($t.b), $t.a");
}

sub single
{
	my ($self) = @_;
	my $kind = int rand 9;
	my $where = conditions($self, 't');

	return 'SELECT ' . output('t') . " FROM t$where" if $kind <= 2;
	return "SELECT count(*), min(b), max(v), sum(a) FROM t$where" if $kind == 3;
	return "SELECT b, count(*) FROM t$where GROUP BY b HAVING count(*) > " . int rand 3 if $kind == 4;
	return "SELECT DISTINCT v, b FROM t$where" if $kind == 5;
	return "SELECT k, a, b, v FROM t$where ORDER BY k, a, b, v LIMIT " . int rand 6 if $kind == 6;
	return "SELECT a, v, rank() OVER (PARTITION BY b ORDER BY v) FROM t$where" if $kind == 7;
	return "SELECT * FROM (SELECT a, b, v FROM t" . (chance(0.5) ? ' OFFSET 0' : '') . ') t' . ' WHERE ' . join ' AND ', grep { !/tableoid|\bk\b|t IS/ } asked($self, 't'), other($self, 't');
}

sub join_of
{
	my ($self) = @_;
	my $kind = int rand 12;
	my $more = conditions($self, 't');
	(my $and = $more) =~ s/^ WHERE/ AND/;

	return "SELECT s.n, " . output('t') . " FROM s JOIN t ON t.a = s.a$and" if $kind <= 1;
	return "SELECT s.n, t.a, t.b FROM s LEFT JOIN t ON t.a = s.a AND " . other($self, 't') if $kind == 2;
	return "SELECT s.n, t.a, t.b FROM t JOIN s USING (a)" . (chance(0.5) ? ' WHERE s.n < 4' : '') if $kind == 3;
	return "SELECT s.*, t.a, t.v FROM s, t" . conditions($self, 't', pick('t.a = s.a', 't.a = s.a + 1', 't.a = s.n', 't.v = s.n', 's.n < 3')) if $kind == 4;
	return "SELECT u.a, t.b FROM t, t u" . conditions($self, 't', pick('u.a = t.a', 'u.a = t.a + 1', asked($self, 'u')), asked($self, 'u')) if $kind == 5;
	return "SELECT s.n, l.* FROM s, LATERAL (SELECT t.a, t.b, t.v FROM t" . conditions($self, 't', 't.a = s.a') . ' ORDER BY 1, 2, 3 LIMIT 2) l' if $kind == 6;
	return "SELECT s.n, (SELECT count(*) FROM t" . conditions($self, 't', 't.a = s.a') . ') FROM s' if $kind == 7;
	return "WITH w AS " . pick('MATERIALIZED', 'NOT MATERIALIZED') . " (SELECT * FROM t$more) SELECT w.a, w.b, s.n FROM w LEFT JOIN s USING (a)" if $kind == 8;
	return "SELECT * FROM (SELECT t.a, t.b FROM t$more) x FULL JOIN s USING (a)" if $kind == 9;
	return "SELECT t.a, t.b FROM t$more UNION ALL SELECT a, 's' FROM s" if $kind == 10;
	return "SELECT s.n FROM s WHERE EXISTS (SELECT FROM t" . conditions($self, 't', 't.a = s.a') . ')';
}

# Further conditions on t, none of which an index answers; mostly none at all.
sub weak
{
	my ($self) = @_;
	return chance(0.6) ? '' : ' AND ' . join ' AND ', map { other($self, 't') } 1 .. 1 + int rand 2;
}

# t as the side of a hash join that is read after the keys are known.
sub keyed
{
	my ($self) = @_;
	my $kind = int rand 16;
	my $s = chance(0.6) ? 's' : pick('(SELECT * FROM s WHERE n < 4)', '(SELECT * FROM s OFFSET 0)', '(SELECT * FROM s UNION ALL SELECT * FROM s)', '(SELECT a::smallint AS a, n FROM s)', '(SELECT a::bigint AS a, n FROM s WHERE n % 2 = 1)',
		'(SELECT max(a) AS a, n FROM s GROUP BY n)', '(SELECT a, n FROM s WHERE a IS NULL OR a < 5)', '(SELECT DISTINCT t.a::int AS a, 3 AS n FROM t WHERE t.v = 3)');
	my $on = chance(0.7) ? 't.a = s.a' : pick('s.a = t.a', 't.a = s.a + 1', "t.b = 'b' || s.n", "t.b = 'b' || s.n AND t.a = s.a", 't.a = s.a AND t.v > s.n', 't.a = s.n', 't.a + 1 = s.a', 't.a = s.a AND t.k = s.n', 't.a = s.a::numeric', "t.b = ('b' || s.n)::varchar");
	my $weak = weak($self);

	return 'SELECT s.n, ' . output('t') . " FROM t JOIN $s s ON $on$weak" if $kind <= 3;
	return 'SELECT ' . output('t') . ' FROM t WHERE ' . pick('t.a IN', 't.a IN', 't.a NOT IN') . " (SELECT a FROM $s s)$weak" if $kind == 4;
	return 'SELECT ' . output('t') . ' FROM t WHERE ' . pick('', '', 'NOT ') . "EXISTS (SELECT FROM $s s WHERE $on)$weak" if $kind == 5;
	return "SELECT s.n, t.a, t.v FROM $s s LEFT JOIN t ON $on$weak" if $kind == 6;
	return "SELECT s.n, t.a, t.v FROM t LEFT JOIN $s s ON $on" if $kind == 7;
	return "SELECT s.n, s.a FROM $s s LEFT JOIN t ON $on WHERE t.a IS NULL" if $kind == 8;
	return "SELECT s.n, t.v, u.n FROM t JOIN $s s ON $on JOIN s u ON " . pick('u.a = t.a', 'u.n = t.v', 'u.n = s.n', "t.b = 'b' || u.n") . $weak if $kind == 9;
	return "SELECT s.n, t.v, u.n FROM t JOIN $s s ON $on " . pick('LEFT', 'FULL') . ' JOIN s u ON ' . pick('u.a = t.a', 'u.n = t.v') if $kind == 10;
	return "SELECT o.n, l.* FROM s o, LATERAL (SELECT t.a, t.v, s.n AS m FROM t JOIN $s s ON $on AND " . pick('s.n = o.n', 's.a <> o.a', 's.n < o.n + 2', 't.v < o.n', 'o.n > 0') . "$weak OFFSET 0) l WHERE o.n < 6" if $kind <= 12;
	return "SELECT o.n, l.* FROM s o, LATERAL (SELECT t.a, t.v FROM t JOIN (SELECT * FROM s WHERE n >= o.n OFFSET 0) s ON $on JOIN $s u ON u.a = t.a OFFSET 0) l WHERE o.n < 5" if $kind == 13;
	return "SELECT count(*), max(t.b), sum(s.n) FROM t JOIN $s s ON $on$weak" if $kind == 14;
	return "WITH w AS MATERIALIZED (SELECT s.n, t.a, t.b FROM t JOIN $s s ON $on$weak) SELECT * FROM w UNION ALL SELECT n, a, 's' FROM s";
}

my $off = 'SET LOCAL streambloom.enable_partition_scan = off; SET LOCAL streambloom.enable_skip = off; SET LOCAL work_mem = \'4MB\'; SET LOCAL enable_mergejoin = on; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = on; SET LOCAL plan_cache_mode = auto; ' .
	'SET LOCAL enable_nestloop = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_memoize = on';

sub switches
{
	my $on = sub { return chance(0.75) ? 'on' : 'off'; };
	return "SET LOCAL streambloom.enable_partition_scan = " . pick('on', 'always', 'always') . '; SET LOCAL streambloom.enable_skip = ' . $on->() .
		'; SET LOCAL enable_bitmapscan = ' . $on->() . '; SET LOCAL enable_seqscan = ' . $on->() . '; SET LOCAL enable_nestloop = ' . pick('on', 'on', 'off') . '; SET LOCAL enable_mergejoin = ' . pick('on', 'off') . '; SET LOCAL enable_hashjoin = ' . pick('on', 'on', 'off') .
		'; SET LOCAL streambloom.enable_skip = ' . pick('on', 'on', 'on', 'off') . '; SET LOCAL work_mem = ' . pick("'4MB'", "'64kB'") . '; SET LOCAL enable_memoize = ' . pick('on', 'off') .
		'; SET LOCAL plan_cache_mode = ' . pick('auto', 'force_generic_plan', 'force_custom_plan');
}

# Asks this many questions in one round trip.
sub ask
{
	my ($session, $self, $count) = @_;
	my (@sql, @text);

	return if $session->{lost} || $run->full;
	foreach my $number (0 .. $count - 1)
	{
		my $query = chance(0.5) ? single($self) : chance(0.5) ? join_of($self) : keyed($self);
		if (chance(0.2))
		{
			my $statement = $query;
			my $n = 0;
			my @values;
			# the first constant with which `a` is compared mostly becomes a parameter
			$statement =~ s/\.a = (-?\d+)\b(?!\))/push @values, $1; '.a = $' . ++$n/e if chance(0.9);
			push @sql, 'PREPARE p' . (++$self->{prepared}) . ($n ? ' (' . join(', ', ('bigint') x $n) . ')' : '') . " AS $statement";
			$query = "EXECUTE p$self->{prepared}" . ($n ? ' (' . join(', ', @values) . ')' : '');
			push @{$self->{kept}}, [$self->{prepared}, scalar @values];
		}
		elsif ($self->{kept} && chance(0.1))
		{
			# a statement that was prepared earlier, perhaps before the last changes
			my ($name, $n) = @{pick(@{$self->{kept}})};
			$query = "EXECUTE p$name" . ($n ? ' (' . join(', ', map { value_of_a($self) } 1 .. $n) . ')' : '');
		}
		$text[$number] = $query;
		push @sql, "SELECT compare($number, " . DifferRun::quote(switches()) . ', ' . DifferRun::quote($off) . ', ' . DifferRun::quote($query) . ', ' . (chance(0.3) ? 'true' : 'false') . ')';
	}
	my $sql = join ";\n", @sql;
	$run->remember($session, $sql);
	my ($answer, $state, $message) = $session->ask($sql);
	$session->{lost} = $state eq 'lost';
	foreach (split /\n/, $answer)
	{
		if (/^(\d+) DIFFERENT (.*)/)
		{
			$run->fail_with($session, "$2\n$text[$1]");
			last if $run->full;
		}
		elsif (/^(\d+) = (\S+) ?(\d?)/)
		{
			$run->count('comparisons');
			$run->count($2 eq 'ERROR' ? 'comparisons of errors' : 'comparisons with rows') if $2 ne '0';
			$run->count('plans looked at') if $3 ne '';
			$run->count('plans with the node') if $3 eq '1';
		}
	}
	# Other errors are no failures. For example, every question fails in a transaction that has failed before.
	$run->fail_with($session, "a comparison ended with $state $message") if $state eq 'lost' || $state =~ /^XX/;
}

sub one_table
{
	my ($self, @sql) = make();
	my $session = PsqlSession->new($db->name);
	my $start = "LOAD 'streambloom'; SET jit = off; SET statement_timeout = '120s'; SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off;\n";

	$session->{party} = 'one';
	$session->sql($start);
	$run->begin_history();
	$run->{starts}{one} = "$functions$start";
	$self->{added} = 0;
	foreach (@sql)
	{
		my ($state, $message) = $run->act($session, 'make', $_);
		$run->fail_with($session, "make: $state $message\n$_") if $state ne '00000' && $state !~ /^23514/;
	}
	foreach my $round (1 .. 6)
	{
		last if $run->full || $session->{lost} || time() > $deadline;
		my $block = chance(0.3);
		$run->act($session, 'BEGIN', 'BEGIN' . pick('', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE')) if $block;
		ask($session, $self, 40);
		foreach (1 .. 1 + int rand 5)
		{
			my ($what, $sql) = change($self);
			next if $block && $sql =~ /VACUUM|CONCURRENTLY/;
			$run->act($session, $what, $block ? "SAVEPOINT c;\n$sql" : $sql);
			$run->act($session, 'ROLLBACK TO', 'ROLLBACK TO c') if $block && chance(0.3);
		}
		ask($session, $self, 15) if $block;
		$run->act($session, 'end', pick('COMMIT', 'COMMIT', 'ROLLBACK')) if $block;
	}
	$run->wait_for_server if $session->{lost};
	$run->close_session($session);
	$db->sql("DROP TABLE s, t; SELECT format('DROP TABLE %s', oid::regclass) FROM pg_class WHERE relname ~ '^t_[0-9]+\$' AND relkind IN ('r', 'p') \\gexec");
}

$db->sql($functions);
my $number = 0;
while (!$run->full && (time() < $deadline || $number < 2))
{
	one_table();
	$number++;
}

my $counts = $run->counts;
my ($keys, $asked, $skipped) = split /\|/, $db->sql('SELECT keys, asked, skipped FROM looked');
ok(!$run->failures, "each answer is the one without the node (seed $seed)") or diag('failures: ' . $run->failures . join '', map { "\n" . substr $_, 0, 1000 } $run->failures);
diag("$number tables, " . ($counts->{comparisons} // 0) . ' comparisons, ' . ($counts->{'comparisons with rows'} // 0) . ' with rows, ' . ($counts->{'plans with the node'} // 0) . ' of ' .
	($counts->{'plans looked at'} // 0) . " plans with the node, $keys times with the keys of a join; partitions asked $asked, skipped $skipped");
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
}
subtest 'it was a test of something' => sub {
	cmp_ok($counts->{comparisons} // 0, '>=', 300, 'comparisons');
	cmp_ok($counts->{'comparisons with rows'} // 0, '>=', ($counts->{comparisons} // 0) / 4, 'many had rows');
	cmp_ok($counts->{'comparisons of errors'} // 0, '<', ($counts->{comparisons} // 0) / 10, 'few were errors on both sides');
	cmp_ok($counts->{'plans with the node'} // 0, '>=', ($counts->{'plans looked at'} // 0) / 3, 'many plans have the node');
	cmp_ok($skipped, '>=', $asked * 0.3, 'many partitions are skipped');
};
done_testing();
