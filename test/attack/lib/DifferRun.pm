# DifferRun.pm: asks the same question with indexes and without, and keeps a history of the statements that led to a
# difference, so that it can be repeated.
#
#   my $run = DifferRun->new(database => 'name', name => '010');
#   my ($state, $message) = $run->act($session, 'a word for the counts', 'some SQL');   # class XX: a failure
#   $run->compare($session, @questions);                                              # see below
#   $run->failures; $run->counts
#
# A question is {on => SQL, off => SQL, mode => ..., settings => SQL}. differ(), a function in the database, compares
# the answer to "on", which it asks with the settings, with the answer to "off", which it asks with the settings of
# $off. These leave the planner nothing but sequential scans. Modes:
#
#   digest   the answer is a digest of all rows: their count and the sum of their hashes
#            (EXECUTE ... INTO, which may run in parallel)
#   loop     the same digest, read row by row through a portal
#   cursor   the same digest, by a cursor that begins again after a few rows, and then goes forward and backward
#   value    the answer is the one value that the query returns
#   undo     like value, and the changes of the query are undone
#
# Each run has a history for each session: the statements since begin_history(), as a file that psql can run.
package DifferRun;

use strict;
use warnings;

use POSIX qw(_exit);
use Time::HiRes qw(time);
use PsqlSession;
use StreambloomTap;
use DifferTypes;
use Test::More;

# Settings that leave the planner nothing but sequential scans. They also put back to its default what questions change.
our $off = join '; ', map { "SET LOCAL $_" } "role = 'none'", 'enable_seqscan = on', 'enable_bitmapscan = off', 'enable_indexscan = off', 'enable_indexonlyscan = off', 'enable_tidscan = off',
	'enable_hashjoin = on', 'enable_mergejoin = on', 'enable_nestloop = on', 'enable_material = on', 'enable_memoize = on', 'enable_sort = on', 'enable_hashagg = on',
	'enable_incremental_sort = on', 'enable_partition_pruning = on', 'enable_partitionwise_join = off', 'enable_partitionwise_aggregate = off',
	'max_parallel_workers_per_gather = 0', 'parallel_leader_participation = on', 'plan_cache_mode = auto', 'cursor_tuple_fraction = 0.1', "work_mem = '4MB'",
	'from_collapse_limit = 8', 'join_collapse_limit = 8', 'enable_async_append = on', 'constraint_exclusion = partition', 'enable_parallel_append = on',
	'auto_explain.log_min_duration = -1', 'DEBUG_PARALLEL = off', 'streambloom.enable_skip = off', 'streambloom.enable_skip = off', 'streambloom.enable_partition_scan = off';

my $functions = <<'SQL';
CREATE SCHEMA differ;
GRANT USAGE ON SCHEMA differ TO PUBLIC;
-- The answer to a query: a digest or a value, as `mode` says, or "ERROR", the SQLSTATE and the message. If `look` is
-- set, "seen" gets a letter for each node of interest in the plan.
CREATE FUNCTION differ.answer(mode text, settings text, query text, look bool, OUT answer text, OUT seen text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	r record;
	n bigint := 0;
	h numeric := 0;
	n2 bigint := 0;
	h2 numeric := 0;
	c refcursor;
BEGIN
	EXECUTE settings;
	BEGIN
		IF look AND mode IN ('digest', 'loop', 'cursor') THEN
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
				seen := concat(seen, CASE WHEN line LIKE '%Bitmap Index Scan on%' THEN 'i' END, CASE WHEN line LIKE '%Skip%' THEN 'c' END, CASE WHEN line LIKE '%PartitionScan%' THEN 's' END,
					CASE WHEN line LIKE '%Gather%' THEN 'p' END);
			END LOOP;
		END IF;
		CASE mode
		WHEN 'digest' THEN
			EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)), 0) FROM (' || query || ') q' INTO answer;
		WHEN 'loop' THEN
			FOR r IN EXECUTE query LOOP
				n := n + 1;
				h := h + hashtextextended(r::text, 0);
			END LOOP;
			answer := n || ' ' || h;
		WHEN 'cursor' THEN
			OPEN c SCROLL FOR EXECUTE query;
			LOOP
				FETCH NEXT FROM c INTO r;
				EXIT WHEN NOT FOUND OR n = 3;
				n := n + 1;
			END LOOP;
			MOVE BACKWARD ALL FROM c;
			n := 0;
			LOOP
				FETCH NEXT FROM c INTO r;
				EXIT WHEN NOT FOUND;
				n := n + 1;
				h := h + hashtextextended(r::text, 0);
			END LOOP;
			LOOP
				FETCH PRIOR FROM c INTO r;
				EXIT WHEN NOT FOUND;
				n2 := n2 + 1;
				h2 := h2 + hashtextextended(r::text, 0);
			END LOOP;
			CLOSE c;
			answer := n || ' ' || h;
			IF n <> n2 OR h <> h2 THEN
				answer := format('%s, backwards %s %s', answer, n2, h2);
			END IF;
		WHEN 'value' THEN
			EXECUTE query INTO answer;
		WHEN 'undo' THEN
			EXECUTE query INTO answer;
			RAISE EXCEPTION USING ERRCODE = 'DIFFR';
		END CASE;
	EXCEPTION
		WHEN SQLSTATE 'DIFFR' THEN
			NULL;
		WHEN OTHERS THEN
			answer := format('ERROR %s %s', SQLSTATE, SQLERRM);
	END;
END
$$;
-- Compares the answers to on_query and off_query. off_query is asked after on_query, and also before it if `before` is
-- set. Returns the number and '=' with the count of rows (or the error that both raise), '?', or what differs. '?'
-- stands for a comparison that tells nothing: the answer to off_query has changed meanwhile, there was an error of
-- class 40, or a kept plan still reads a partition that is being detached.
CREATE FUNCTION differ.differ(number int, mode text, settings text, on_query text, off_settings text, off_query text, look bool DEFAULT false, before bool DEFAULT false)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	first text;
	mine record;
	plain record;
BEGIN
	IF before THEN
		first := (differ.answer(mode, off_settings, off_query, false)).answer;
	END IF;
	mine := differ.answer(mode, settings, on_query, look);
	plain := differ.answer(mode, off_settings, off_query, false);
	SET LOCAL role = 'none';
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL streambloom.enable_skip = on;
	SET LOCAL streambloom.enable_skip = on;
	IF mine.answer ~ '^ERROR XX' OR plain.answer ~ '^ERROR XX' THEN
		RETURN format('%s XX with: %s without: %s', number, mine.answer, plain.answer);
	ELSIF mine.answer IS NOT DISTINCT FROM plain.answer OR left(mine.answer, 11) = left(plain.answer, 11) AND mine.answer LIKE 'ERROR%' THEN
		RETURN format('%s = %s %s', number, CASE WHEN mine.answer LIKE 'ERROR%' THEN left(mine.answer, 11) ELSE split_part(mine.answer, ' ', 1) END, mine.seen);
	ELSIF before AND first IS DISTINCT FROM plain.answer OR mine.answer ~ '^ERROR 40' OR plain.answer ~ '^ERROR 40' THEN
		RETURN format('%s ? %s', number, left(mine.answer, 11));
	-- A partition is being detached CONCURRENTLY. New plans leave it out. A kept plan that was made under an older
	-- snapshot does not, with the extension or without: the partition's rows come as long as the plan is kept.
	ELSIF on_query LIKE 'EXECUTE%' AND mine.answer ~ '^[0-9]' AND plain.answer ~ '^[0-9]' AND split_part(mine.answer, ' ', 1)::bigint > split_part(plain.answer, ' ', 1)::bigint
			AND EXISTS (SELECT FROM pg_inherits WHERE inhdetachpending) THEN
		RETURN format('%s ? kept while detached', number);
	END IF;
	RETURN format('%s DIFFERENT with: %s without: %s', number, mine.answer, plain.answer);
END
$$;
-- A digest of the rows that FETCH returns in one direction.
CREATE FUNCTION differ.drain(c refcursor, backward bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n bigint := 0;
	h numeric := 0;
BEGIN
	LOOP
		IF backward THEN
			FETCH PRIOR FROM c INTO r;
		ELSE
			FETCH NEXT FROM c INTO r;
		END IF;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		h := h + hashtextextended(r::text, 0);
	END LOOP;
	RETURN n || ' ' || h;
END
$$;
-- The bf indexes of a table and of its partitions and children: only the valid ones, or all. Only indexes with
-- storage.
CREATE FUNCTION differ.indexes(relation regclass, only_valid bool DEFAULT true) RETURNS TABLE (index regclass, heap regclass) LANGUAGE sql AS $$
	WITH RECURSIVE t AS (SELECT relation::oid AS relid UNION SELECT inhrelid FROM pg_inherits JOIN t ON inhparent = relid)
	SELECT indexrelid::regclass, indrelid::regclass FROM t JOIN pg_index i ON i.indrelid = t.relid JOIN pg_class c ON c.oid = i.indexrelid
	WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'bf') AND (i.indisvalid OR NOT only_valid) ORDER BY indexrelid::regclass::text
$$;
-- The number of rows that are not in the filter that bf_of() returns for their range, for the columns of all indexes.
-- Columns of keys are left out, except arrays, of which one element is looked up. For partial and invalid indexes
-- bf_of() must return no filter. (The cast gives an item the type of the operator class.)
CREATE FUNCTION differ.missing(relation regclass) RETURNS bigint LANGUAGE plpgsql SET enable_hashjoin = on SET enable_seqscan = on AS $$
DECLARE
	i record;
	n bigint;
	total bigint := 0;
BEGIN
	FOR i IN SELECT index, heap, a AS attribute, pg_get_indexdef(index, a, false) ||
			(SELECT CASE atttypid WHEN 'regtype'::regtype THEN '::oid' WHEN 'cidr'::regtype THEN '::inet' ELSE '' END FROM pg_attribute WHERE attrelid = index AND attnum = a) AS item,
			EXISTS (SELECT FROM pg_opclass o JOIN pg_amproc ON amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocnum = 3 WHERE o.oid = indclass[a - 1]) AS has_keys,
			(SELECT opcintype = 'anyarray'::regtype FROM pg_opclass WHERE oid = indclass[a - 1]) AS is_array
		FROM differ.indexes(relation, false) JOIN pg_index ON indexrelid = index, generate_series(1, indnatts) a
	LOOP
		-- the index is gone
		CONTINUE WHEN coalesce(i.item, '') ~ '^(::.*)?$';
		-- SQL cannot call the functions that make keys; but the keys of an array are its elements.
		CONTINUE WHEN i.has_keys AND NOT i.is_array;
		IF i.has_keys THEN
			i.item := format('(SELECT e FROM unnest(%s) e WHERE e IS NOT NULL LIMIT 1)', i.item);
		END IF;
		BEGIN
			EXECUTE format('SELECT count(*) FROM (SELECT b, bf_of(%L, b, %s) AS f FROM generate_series(0, pg_relation_size(%L) / 8192 - 1) b OFFSET 0) o ' ||
				'JOIN (SELECT (ctid::text::point)[0]::bigint AS b, (%s) AS item FROM ONLY %s OFFSET 0) r USING (b) WHERE (f @> item) IS FALSE', i.index, i.attribute, i.heap, i.item, i.heap) INTO n;
			total := total + n;
		EXCEPTION WHEN OTHERS THEN
			-- bf_of() may refuse to answer, but must not answer wrongly. The index may be gone by now.
			IF SQLSTATE ~ '^(XX|42)' AND SQLSTATE NOT IN ('42P01', '42704') THEN
				RAISE;
			END IF;
		END;
	END LOOP;
	RETURN total;
END
$$;
-- Runs a command for each of these indexes, or for the n-th.
CREATE FUNCTION differ.each(relation regclass, command text, n int DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	i regclass;
	all_indexes regclass[] := ARRAY(SELECT index FROM differ.indexes(relation));
	done bigint := 0;
BEGIN
	FOREACH i IN ARRAY all_indexes LOOP
		IF n IS NULL OR i = all_indexes[1 + n % cardinality(all_indexes)] THEN
			EXECUTE format(command, i);
			done := done + 1;
		END IF;
	END LOOP;
	RETURN done;
END
$$;
SQL

sub new
{
	my ($class, %option) = @_;
	# A session may end at any time, even in the middle of a question.
	$SIG{PIPE} = 'IGNORE';
	my $self = bless {counts => {}, failures => [], histories => {}, seed => 0, most_failures => $ENV{STREAMBLOOM_SECONDS} ? 10 : 3, %option}, $class;
	my $session = PsqlSession->new($self->{database});
	$self->{version} = $session->sql('SHOW server_version_num');
	my $debug_parallel = $self->debug_parallel;
	(our $off_here = $off) =~ s/DEBUG_PARALLEL/$debug_parallel/;
	$self->{off} = $off_here;
	$session->sql($functions . DifferTypes::prelude());
	$session->close;
	return $self;
}

sub debug_parallel { return $_[0]{version} >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode'; }

# A session with streambloom and auto_explain loaded. auto_explain decides about nested statements when the outermost
# statement begins, so it is switched on here.
sub session
{
	my ($self, $name, %option) = @_;
	my $session = PsqlSession->new($self->{database}, %option);
	$session->{party} = $name;
	my $start = "LOAD 'streambloom'; LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_nested_statements = on; " .
		"SET auto_explain.log_level = debug5; SET auto_explain.log_verbose = on; SET auto_explain.log_buffers = on; SET jit = off; SET enable_seqscan = off; " .
		"SET statement_timeout = '" . ($self->{statement_timeout} // '120s') . "'; SET lock_timeout = '" . ($self->{lock_timeout} // '20s') . "';\n";
	$session->sql($start);
	$self->{starts}{$name} = $start;
	return $session;
}

sub begin_history { $_[0]{histories} = {}; }

sub remember
{
	my ($self, $session, $sql) = @_;
	push @{$self->{histories}{$session->{party}}}, sprintf '-- %s.%06d' . "\n%s", POSIX::strftime('%H:%M:%S', gmtime), (time() - int time()) * 1000000, $sql;
}

sub count { $_[0]{counts}{$_[1]} += $_[2] // 1; }
sub counts { return $_[0]{counts}; }
sub failures { return @{$_[0]{failures}}; }

# Closes a session, which may have ended by itself with a question that was never sent.
sub close_session
{
	my ($self, $session) = @_;
	local $SIG{__WARN__} = sub { };
	$session->close;
	undef $session->{$_} foreach 'in', 'out';
	return;
}

# Waits until the server is back after a crash.
sub wait_for_server
{
	my ($self) = @_;
	foreach (1 .. 600)
	{
		my ($code) = StreambloomTap::psql($self->{database}, 'SELECT 1');
		return if $code == 0;
		select(undef, undef, undef, 0.1);
	}
}

sub full { return @{$_[0]{failures}} >= $_[0]{most_failures}; }

# Writes the histories as files for psql; returns their names.
sub write_histories
{
	my ($self, $number, $text) = @_;
	my $folder = $ENV{STREAMBLOOM_HISTORY} || $ENV{TESTLOGDIR} || StreambloomTap::scratch();
	my $comment = $text ? '-- ' . ($text =~ s/\n/\n-- /gr) . "\n" : '';
	my @files;

	foreach my $party (sort keys %{$self->{histories}})
	{
		my $file = "$folder/$self->{name}-$self->{seed}-" . ($self->{process} // '') . "$number-$party.sql" =~ s/:/-/gr;
		my $history = "-- seed $self->{seed}, session $party. To repeat: psql -X -f prelude.sql, then this\n$comment" . ($self->{starts}{$party} // '') .
			join(";\n", @{$self->{histories}{$party}}) . ";\n";
		eval { StreambloomTap::write_file($file, $history); push @files, $file; };
	}
	eval { StreambloomTap::write_file("$folder/prelude.sql", "CREATE EXTENSION IF NOT EXISTS streambloom;\n$functions" . DifferTypes::prelude()); };
	return @files;
}

# Reports a failure, and keeps it with the history, unless STREAMBLOOM_KNOWN (a regular expression) matches it.
sub fail_with
{
	my ($self, $session, $text) = @_;
	if ($ENV{STREAMBLOOM_KNOWN} && $text =~ /$ENV{STREAMBLOOM_KNOWN}/)
	{
		$self->count("known failures: $&");
		return;
	}
	my @files = $self->write_histories(@{$self->{failures}} + 1, $text);
	my $report = "seed $self->{seed}: $text\nhistory: @files";
	push @{$self->{failures}}, $report;
	diag($report);
}

# Runs SQL that may fail. The test fails only if the SQLSTATE is of class XX and not tolerated, if the session is lost,
# or if the statement takes longer than its timeout and may not be cancelled.
sub act
{
	my ($self, $session, $what, $sql) = @_;
	return 'lost' if $session->{lost};
	$self->remember($session, $sql);
	my ($answer, $state, $message) = $session->ask($sql);
	$self->count("$what: $state");
	$session->{lost} = $state eq 'lost';
	push @{$self->{log}}, "$what: $state $message: " . substr($sql, 0, 300) if $state ne '00000';
	$self->fail_with($session, "$what: $state $message\n$sql") if $state =~ /^XX/ && !($self->{tolerated} && $message =~ $self->{tolerated}) || $state eq 'lost' || $state eq '57014' && !$self->{may_be_cancelled};
	return wantarray ? ($state, $message, $answer) : $state;
}

sub quote
{
	my ($text) = @_;
	my $tag = 'q';
	$tag .= 'q' while $text =~ /\$$tag\$/;
	return "\$$tag\$$text\$$tag\$";
}

# Puts statements, and settings of DifferQueries::settings(), into one message to the server, because a round trip
# takes long on a busy machine.
sub message
{
	return join "\\;\n", map { s/; (?=SET )/\\; /gr } @_;
}

# Asks these questions, all in one round trip. Returns how many comparisons failed; an unexpected error that ends the
# round trip counts as one more. In list context also returns the SQLSTATE with which the round trip ended.
sub compare
{
	my ($self, $session, @questions) = @_;
	return wantarray ? (0, 'lost') : 0 if $session->{lost};
	my $number = 0;
	my $role = $self->{before} ? ', true' : '';
	my @sql = map { sprintf 'SELECT differ.differ(%d, %s, %s, %s, %s, %s, %s%s)', $number++, "'$_->{mode}'", quote($_->{settings}), quote($_->{on}),
		quote($self->{off} . ($_->{off_settings} // '')), quote($_->{off}), $_->{look} ? 'true' : 'false', $role } @questions;

	my $sql = join "\\;\n", @sql;
	$self->remember($session, $sql);
	my ($answer, $state, $message) = $session->ask($sql);
	my $failed = 0;
	my $answered = 0;
	$session->{lost} = $state eq 'lost';
	foreach (split /\n/, $answer)
	{
		my ($n, $verdict, $rest) = /^(\d+) (\S+) ?(.*)/ or next;
		my $question = $questions[$n];
		$answered++;
		$self->count('comparisons');
		if ($verdict eq '=')
		{
			my ($rows, $seen) = split / /, $rest;
			$self->count($rows eq 'ERROR' ? 'comparisons of errors' : 'comparisons with rows') if $rows ne '0';
			if ($rest =~ /^ERROR (\S+)/)
			{
				$self->count("both failed: $question->{kind}: $1");
				$seen = '';
			}
			if ($question->{look})
			{
				$self->count('plans looked at');
				foreach (['i', 'plans with an index'], ['c', 'plans with Skip'], ['s', 'plans with PartitionScan'], ['p', 'plans with workers'])
				{
					$self->count($_->[1]) if index($seen // '', $_->[0]) >= 0;
				}
			}
			$self->count("asked: $question->{kind}");
		}
		elsif ($verdict eq '?')
		{
			$self->count('comparisons left out');
			$self->count("left out: $rest");
		}
		elsif ($rest =~ /: ERROR (55P03|40P01)/ || $self->{left_out} && "$verdict $rest" =~ $self->{left_out})
		{
			# Another session, perhaps a prepared transaction, has a lock, and the two plans do not lock the same
			# partitions; or the test says that the two answers may differ.
			$self->count('comparisons left out');
			$self->count('left out: ' . ($1 =~ s/\d{3,}/N/gr));
		}
		else
		{
			$failed++;
			$self->fail_with($session, "$verdict $rest\n$question->{kind}, $question->{mode}\n" . ($question->{settings} =~ s/SET LOCAL //gr) . "\n$question->{on}\nwithout: $question->{off}");
			last if $self->full;
		}
	}
	if ($state ne '00000' && !($self->{expected} && $state =~ $self->{expected}))
	{
		$failed++;
		$self->fail_with($session, "a comparison ended with $state $message\n" . ($sql[$answered] // ''));
	}
	$self->count("comparison: $state") if $state ne '00000';
	return wantarray ? ($failed, $state) : $failed;
}

1;
