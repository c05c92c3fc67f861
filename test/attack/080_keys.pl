# Indexes on keys inside values: lines of text by grams, jsonb, tsvector, arrays. Values, changes and conditions are
# random, with every operator of these classes. Each condition must have the same rows with the indexes as by a
# sequential scan, under random combinations of the planner's switches, in plain and in partitioned tables.
#
# The test is short; for longer, in the environment of scripts/test:
#
#   STREAMBLOOM_SECONDS=600 [STREAMBLOOM_SEED=7] perl test/attack/080_keys.pl
#
# With STREAMBLOOM_ONLY=grams all indexes are on grams: of the lines, of the lines in lower case, and of a text in the
# documents. STREAMBLOOM_METHOD=gin runs the same with GIN indexes. (For lines these are pg_trgm's, and words with
# letters of which it does not know all cases are left out.) A difference that is found with GIN is a mistake of this
# test, or of PostgreSQL. A failure leaves a history that psql can run again (test/attack/lib/DifferRun.pm). The seed
# settles every statement.
use strict;
use warnings;
use utf8;

use Encode qw(encode_utf8);
use FindBin;
use lib "$FindBin::Bin/lib", "$FindBin::Bin/../tap/lib";
use DifferRun;
use KeysValues;
use List::Util qw(shuffle);
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(time);

StreambloomTap::require_cluster();

my $seconds = $ENV{STREAMBLOOM_SECONDS} || 15;
my $seed = $ENV{STREAMBLOOM_SEED} || 1;
my $method = $ENV{STREAMBLOOM_METHOD} || 'bf';
my $bf = $method eq 'bf';
my $db = StreambloomTap->new('a080');
my $lines = $bf || $db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'");
diag("seed $seed" . ($lines ? '' : ', without pg_trgm'));
srand($seed);

my $run = DifferRun->new(database => $db->name, name => '080', seed => $seed);
my $deadline = $^T + $seconds;
my $extensions = !$bf && $lines ? 'CREATE EXTENSION pg_trgm' : 'SELECT 1';
my $only_grams = ($ENV{STREAMBLOOM_ONLY} // '') eq 'grams';
my @line_classes = $bf ? 'gram_ops' : 'gin_trgm_ops';
KeysValues::add_any_case() if $bf;

sub pick { return $_[rand @_]; }
sub chance { return rand() < $_[0]; }

# A function that answers under one combination of switches, and one that compares a question under several
# combinations. An answer is the number of rows and a digest of their ids.
my $functions = <<'SQL';
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
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
-- Returns '=', the number of rows and, if `look` is true, what the plan has (i: a bf index, c: Skip, p: parallel
-- workers). If answers differ, returns what differs. If the query fails with the indexes and without, only the
-- SQLSTATEs must be the same. It may also fail only without the indexes, because with them it may not evaluate the row
-- that causes the error.
CREATE FUNCTION compare(number int, query text, plain_switches text, plain_query text, look bool, VARIADIC switches text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plain CONSTANT text := answer(plain_switches, plain_query);
	mine text;
	line text;
	seen text;
BEGIN
	FOR i IN 1 .. cardinality(switches) LOOP
		mine := answer(switches[i], query);
		IF mine LIKE 'ERROR XX%' OR plain LIKE 'ERROR XX%' OR mine <> plain AND (mine LIKE 'ERROR%' AND plain NOT LIKE 'ERROR%' OR mine NOT LIKE 'ERROR%' AND plain NOT LIKE 'ERROR%' OR mine LIKE 'ERROR%' AND left(mine, 11) <> left(plain, 11)) THEN
			RETURN format('%s DIFFERENT with: %s without: %s, switches: %s', number, mine, plain, switches[i]);
		END IF;
	END LOOP;
	IF look AND plain NOT LIKE 'ERROR%' AND query NOT LIKE 'EXECUTE%' THEN
		seen := ' -';
		EXECUTE switches[1];
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			seen := concat(seen, CASE WHEN line LIKE '%Bitmap Index Scan on%' THEN 'i' END, CASE WHEN line LIKE '%Skip%' THEN 'c' END, CASE WHEN line LIKE '%Gather%' THEN 'p' END);
		END LOOP;
	END IF;
	RETURN format('%s = %s%s', number, split_part(plain, ' ', 1), seen);
END
$$;
CREATE FUNCTION indexes(relation regclass) RETURNS TABLE (index regclass, heap regclass) LANGUAGE sql AS $$
	SELECT indexrelid::regclass, indrelid::regclass FROM (SELECT relid FROM pg_partition_tree(relation) UNION SELECT relation) p JOIN pg_index i ON indrelid = p.relid JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE amname = 'bf' AND relkind = 'i' ORDER BY 1
$$;
SQL

# ------------------------------------------------------------------ switches

my @switches = ('enable_seqscan', 'enable_bitmapscan', $bf ? ('streambloom.enable_skip') : ());
my $parallel = 'max_parallel_workers_per_gather = %d; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0';

sub switched
{
	my (@on) = @_;
	my $workers = chance(0.04) ? 2 : 0;
	return join('; ', map { "SET LOCAL $switches[$_] = " . ($on[$_] ? 'on' : 'off') } 0 .. $#switches) . '; SET LOCAL ' . sprintf($parallel, $workers);
}

my $plain_switches = join('; ', map { "SET LOCAL $switches[$_] = " . ($_ == 0 ? 'on' : 'off') } 0 .. $#switches) . '; SET LOCAL ' . sprintf($parallel, 0);
# All combinations of switches, shuffled anew each time they are used up.
my @combinations;

sub combination
{
	@combinations = shuffle 0 .. 2**@switches - 1 if !@combinations;
	my $bits = shift @combinations;
	$run->count("switches: $bits");
	return switched(map { $bits >> $_ & 1 } 0 .. $#switches);
}

# ------------------------------------------------------------------- relations

my %thing = (
	n => {sql => 'n', plain => 1}, t => {sql => 't', plain => 1},
	line => {sql => 'line', classes => \@line_classes, lines => 1}, lower => {sql => 'lower(line)', classes => \@line_classes, lines => 1}, text => {sql => "(doc ->> 'name')", classes => \@line_classes, lines => 1},
	vector => {sql => "to_tsvector('simple', line)"}, words => {sql => 'words'},
	doc => {sql => 'doc', classes => ['', 'jsonb_ops', 'jsonb_path_ops', 'jsonb_path_ops', $bf ? 'jsonb_eq_ops' : ()]}, member => {sql => "(doc -> 'a')", classes => ['', 'jsonb_path_ops']},
	ints => {sql => 'ints'}, tags => {sql => 'tags'}, nums => {sql => 'nums', classes => ['', '', $bf ? 'array_eq_ops' : ()]}, names => {sql => $bf ? 'names COLLATE "C"' : 'names'}, split => {sql => "string_to_array(line, ' ')"},
);
my @things = grep { ($lines || !$thing{$_}{lines}) && ($bf || !$thing{$_}{plain}) && (!$only_grams || $thing{$_}{lines}) } sort keys %thing;

my $relations = 0;
# Tall tables have some hundred ranges, so their indexes have a second level.
my $tall;

sub index_element
{
	my ($name) = @_;
	my $thing = $thing{$name};
	my $class = $thing->{classes} ? pick(@{$thing->{classes}}) : $thing->{class} // '';
	my @options = $bf && $class && chance(0.3) ? 'false_positive_rate = ' . pick(0.3, 0.05, 0.001) : ();
	push @options, 'n = ' . pick(3, 3, 4, 5, 8) if $class eq 'gram_ops' && chance(0.5);
	push @options, 'fold = off' if $class eq 'gram_ops' && chance(0.2);
	return "$thing->{sql} $class" . (@options ? ' (' . join(', ', @options) . ')' : '');
}

sub index_sql
{
	my ($name, $number) = @_;
	my @some = grep { defined } (shuffle @things)[0 .. pick(0, 0, 0, 1, 2, 3)];
	my @options = $bf ? ($tall || chance(0.8) ? 'pages_per_range = ' . ($tall ? 1 : pick(1, 1, 1, 2, 3, 8)) : (), chance($tall ? 0.1 : 0.3) ? 'levels = ' . pick(1, 2) : (), chance(0.2) ? 'false_positive_rate = 0.2' : ()) :
		(chance(0.3) ? 'fastupdate = off' : ());
	return ("CREATE INDEX ${name}_i$number ON $name USING $method (" . join(', ', map { index_element($_) } @some) . ')' . (@options ? ' WITH (' . join(', ', @options) . ')' : '') .
		(chance(0.15) ? ' WHERE ' . pick('n % 2 = 0', 'line IS NOT NULL', 'id > 100') : ''), @some);
}


sub new_relation
{
	my $name = 'r' . ++$relations;
	my $columns = 'id int, n int, t text, line text, doc jsonb, words tsvector, ints int[], tags text[], names text[] COLLATE nocase, nums numeric[]';
	$tall = chance(0.35);
	my $filled = $tall ? ' WITH (fillfactor = 10)' : pick('', map { " WITH (fillfactor = $_)" } 10, 10, 10, 30);
	my $self = {name => $name, rows => 0, partitions => !$tall && chance(0.6) ? 2 + int rand 4 : 0, indexes => 0};
	my @sql;

	if (!$self->{partitions})
	{
		@sql = ('CREATE ' . pick('', '', 'TEMP ', 'UNLOGGED ') . "TABLE $name ($columns)$filled");
	}
	else
	{
		$self->{by} = pick('range', 'hash', 'list');
		push @sql, "CREATE TABLE $name ($columns) PARTITION BY " . {range => 'RANGE (id)', hash => 'HASH (id)', list => 'LIST ((id % 7))'}->{$self->{by}};
		foreach my $i (0 .. $self->{partitions} - 1)
		{
			my $bounds = {range => "FROM ($i" . '00) TO (' . ($i + 1) . '00)', hash => "WITH (modulus $self->{partitions}, remainder $i)", list => "IN ($i)"}->{$self->{by}};
			# A partition whose columns are in another order.
			push @sql, chance(0.25) ? ("CREATE TABLE ${name}_p$i (nums numeric[], other int, line text, doc jsonb, names text[] COLLATE nocase, words tsvector, ints int[], tags text[], n int, t text, id int)$filled",
				"ALTER TABLE ${name}_p$i DROP other", "ALTER TABLE $name ATTACH PARTITION ${name}_p$i FOR VALUES $bounds") : "CREATE TABLE ${name}_p$i PARTITION OF $name FOR VALUES $bounds$filled";
		}
		push @sql, "CREATE TABLE ${name}_rest PARTITION OF $name DEFAULT" if $self->{by} ne 'hash';
	}
	$self->{make} = \@sql;
	return $self;
}

sub rows_sql
{
	my ($self, $count) = @_;
	my @rows = map { my $place = $self->{rows}++; "($place, " . KeysValues::row($place) . ')' } 1 .. $count;
	return "INSERT INTO $self->{name} (id, " . KeysValues::columns() . ') VALUES ' . join(",\n", @rows);
}

sub some_ids
{
	my ($self) = @_;
	my $from = int rand($self->{rows} + 1);
	return pick("id BETWEEN $from AND " . ($from + int rand 40), 'id % ' . (20 + int rand 100) . ' = 3');
}

sub change
{
	my ($self) = @_;
	my $name = $self->{name};
	my $kind = rand();
	return ('insert', rows_sql($self, pick(1, 5, 20, 60))) if $kind < 0.25;
	return ('insert that is undone', 'BEGIN; ' . rows_sql($self, 10) . '; ROLLBACK') if $kind < 0.29;
	if ($kind < 0.45)
	{
		# Changes rows in old pages, and asks for the new values at once.
		my ($line, $doc, $ints) = (KeysValues::literal(KeysValues::line($self->{rows})), KeysValues::literal(KeysValues::doc($self->{rows})), KeysValues::literal(KeysValues::list('ints', $self->{rows})));
		my ($set, @conditions) = @{pick(["line = $line", "line = $line", "lower(line) = lower($line)", "to_tsvector('simple', line) @@ plainto_tsquery('simple', $line)", "string_to_array(line, ' ') @> string_to_array($line, ' ')"],
			["doc = $doc", "doc @> ${doc}::jsonb", "doc -> 'a' @> ${doc}::jsonb -> 'a'"], ["ints = $ints", "ints @> ${ints}::int[]", "ints && ${ints}::int[]"], ['n = n + 1'], ['words = ' . KeysValues::literal(KeysValues::words($self->{rows}))],
			["line = line || ' w7', tags = CASE WHEN array_ndims(tags) = 2 THEN tags ELSE tags || ARRAY['w7'] END", "tags @> '{w7}'"], ['names = tags, tags = names'])};
		return ('update', "UPDATE $name SET $set WHERE " . some_ids($self), @conditions);
	}
	return ('delete', "DELETE FROM $name WHERE " . some_ids($self)) if $kind < 0.55;
	return ('VACUUM', "VACUUM $name") if $kind < 0.63;
	return ('ANALYZE', "ANALYZE $name") if $kind < 0.66;
	return ('REINDEX', "REINDEX TABLE $name") if $kind < 0.68 && $name !~ /^x/;
	return ('truncate', "TRUNCATE ${name}_p0") if $kind < 0.7 && $self->{partitions};
	if ($kind < 0.73)
	{
		my ($sql, @of) = index_sql($name, ++$self->{indexes});
		push @{$self->{things}}, @of;
		return ('another index', $sql);
	}
	return ('insert', rows_sql($self, 20)) if !$bf;
	return ('summarize new', "SELECT bf_summarize_new_values(index) FROM indexes('$name')") if $kind < 0.81;
	return ('CALL bf_summarize', "CALL bf_summarize('$name')") if $kind < 0.84;
	my $block = int rand 120;
	return ('summarize a range', "SELECT bf_summarize_range(index, least($block, greatest(pg_relation_size(heap) / 8192 - 1, 0))) FROM indexes('$name') WHERE pg_relation_size(heap) > 0") if $kind < 0.88;
	return ('desummarize ranges', "SELECT bf_desummarize_range(index, b) FROM indexes('$name'), generate_series(0, pg_relation_size(heap) / 8192 - 1, " . pick(1, 2, 5) . ') b');
}

# --------------------------------------------------------------------- questions

sub condition
{
	my ($self) = @_;
	# mostly about things that have an index
	return KeysValues::condition(chance(0.9) ? pick(@{$self->{things}}) : pick(@things));
}

sub conditions
{
	my ($self) = @_;
	my $kind = rand();
	my $where = $kind < 0.55 ? condition($self) : $kind < 0.75 ? join(' AND ', map { condition($self) } 1 .. pick(2, 2, 3)) : $kind < 0.9 ? join(' OR ', map { condition($self) } 1 .. pick(2, 2, 3)) :
		$kind < 0.95 ? '(' . condition($self) . ' OR ' . condition($self) . ') AND ' . condition($self) : 'NOT (' . condition($self) . ')';
	return chance(0.3) ? "($where) AND " . pick('n % 2 = 0', 'line IS NOT NULL', 'id > 100', 'id > 200', "id < $self->{rows} / 2") : $where;
}

# chunk_scan() takes the operator of a condition by its name.
my %operators = (LIKE => '~~', ILIKE => '~~*');
my $chunk_scan = $bf && $db->sql("SELECT count(*) FROM pg_proc WHERE proname = 'chunk_scan' AND 'operator' = ANY (proargnames)");

sub chunk_scan_question
{
	my ($self) = @_;
	foreach (1 .. 10)
	{
		my $condition = KeysValues::condition(pick(qw(n t line line doc doc words ints tags names nums)));
		my ($column, $operator, $any, $operand) = $condition =~ /^(\w+) (LIKE|ILIKE|[^\w\s]+) (ANY )?(.+)\z/s or next;
		next if $any ? $operand !~ /^\((ARRAY\[.*\](?:::\w+\[\])?)\)\z/s : $operand !~ /^('(?:[^']|'')*'(?:::[\w\[\]]+)?|-?\d+)\z/s;
		my $value = $1;
		next if $operator eq '!~~*';
		return {kind => $any ? 'chunk_scan_any' : 'chunk_scan', plain => "SELECT id FROM $self->{name} WHERE $condition",
			query => "SELECT id FROM chunk_scan" . ($any ? '_any' : '') . "(NULL::$self->{name}, '$column', $value, operator => '" . ($operators{$operator} // $operator) . "')"};
	}
	return;
}

# A random question. In some the operand of a condition is known only when the query runs: it comes from a row, or is a
# parameter of a prepared statement.
my $prepared = 0;

sub question
{
	my ($self) = @_;
	my $name = $self->{name};
	my $kind = rand();
	my $where = conditions($self);

	if ($kind < 0.12 && (my ($left, $operator, $operand, $type) = condition($self) =~ /^(.*?) (LIKE|ILIKE|\^@|~|~\*|@>|@@|@\?|\?|\?\||\?&|&&|<@|=) ((?:'(?:[^']|'')*')(?:::([\w\[\]]+))?)\z/s))
	{
		$type //= 'text';
		my @operands = ($operand);
		foreach (1 .. 20)
		{
			push @operands, $3 if @operands < 4 && condition($self) =~ /^(.*?) (\S+) ((?:'(?:[^']|'')*')(?:::([\w\[\]]+))?)\z/s && ($4 // 'text') eq $type && (index($1, 'line') >= 0) == (index($left, 'line') >= 0) && ($type ne 'text' || $2 eq $operator);
		}
		my $values = join ', ', map { "($_)" } @operands, 'NULL';
		return {kind => 'join', query => "SELECT id FROM (VALUES $values) v(x) JOIN $name ON $left $operator v.x::$type"} if chance(0.6);
		$prepared++;
		return {kind => 'prepared', before => "PREPARE q$prepared ($type) AS SELECT count(*) || ' ' || coalesce(md5(string_agg(q::text, ',' ORDER BY q::text)), '') FROM (SELECT id FROM $name WHERE $left $operator \$1) q",
			prepared => "EXECUTE q$prepared($operand)", query => "SELECT id FROM $name WHERE $left $operator $operand"};
	}
	if ($chunk_scan && $kind < 0.2)
	{
		my $question = chunk_scan_question($self);
		return $question if $question;
	}
	return {kind => 'sub-select', query => "SELECT id FROM $name WHERE id IN (SELECT id FROM $name WHERE $where)"} if $kind < 0.25;
	return {kind => 'rows', query => "SELECT id FROM $name WHERE $where"};
}

sub ask
{
	my ($session, $self, $count, @conditions) = @_;
	my @questions = ((map { {kind => 'rows', query => "SELECT id FROM $self->{name} WHERE $_"} } @conditions), map { question($self) } 1 .. $count);
	my (@sql, @switches_of);
	return if $session->{lost} || $run->full;
	# A set of questions is one transaction. Statements are prepared before it, with generic plans.
	my @before = map { $_->{before} ? encode_utf8($_->{before}) : () } @questions;
	$run->act($session, 'PREPARE', $_) foreach @before;
	foreach my $number (0 .. $#questions)
	{
		my $q = $questions[$number];
		my $first = switched(0, 1, $bf ? (1, chance(0.5)) : ());
		my @all = ($first, map { combination() } 1 .. 3);
		my $query = $q->{query};
		if ($q->{prepared})
		{
			# The plan is made under the first combination of switches.
			my $expected = "SELECT compare_prepared($number, " . join(', ', map { DifferRun::quote($_) } $q->{prepared}, $query, $plain_switches, $first) . ')';
			push @sql, $expected;
			push @switches_of, 1;
		}
		else
		{
			push @sql, "SELECT compare($number, " . join(', ', map { DifferRun::quote($_) } $query, $plain_switches, $q->{plain} // $query) . ', ' . (chance(0.15) ? 'true' : 'false') . ', ' . join(', ', map { DifferRun::quote($_) } @all) . ')';
			push @switches_of, scalar @all;
		}
	}
	my $sql = encode_utf8(join "\\;\n", @sql);
	$run->remember($session, $sql);
	my ($answer, $state, $message) = $session->ask($sql);
	my $answered = 0;
	$session->{lost} = $state eq 'lost';
	foreach (split /\n/, $answer)
	{
		my ($n, $verdict, $rest) = /^(\d+) (\S+) ?(.*)/ or next;
		my $q = $questions[$n];
		$answered++;
		if ($verdict ne '=')
		{
			$run->fail_with($session, encode_utf8("$q->{kind}: $rest\n$q->{query}"));
			last if $run->full;
			next;
		}
		my ($rows, $seen) = split / /, $rest;
		$run->count('comparisons', $switches_of[$n]);
		$run->count("asked: $q->{kind}", $switches_of[$n]);
		$run->count($rows eq 'ERROR' ? 'comparisons of errors' : 'comparisons with rows', $switches_of[$n]) if $rows ne '0';
		next if !defined $seen;
		next if $q->{plain};
		$run->count('plans looked at');
		$run->count('plans with an index') if $seen =~ /i/;
		$run->count('plans with Skip') if $seen =~ /c/;
		$run->count('plans with workers') if $seen =~ /p/;
	}
	$run->fail_with($session, "a comparison ended with $state $message\n" . encode_utf8($sql[$answered] // '')) if $state ne '00000';
	$run->act($session, 'DEALLOCATE', 'DEALLOCATE ALL') if @before;
	return;
}

$functions .= <<'SQL';
-- Like compare(), for a prepared statement. The command executes this statement, whose result has the form of answer().
-- Its generic plan is made under the switches. If the sequential scan fails, any answer of the prepared statement is
-- right, also an error, except one of class XX.
CREATE FUNCTION compare_prepared(number int, command text, query text, plain_switches text, switches text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mine text;
	plain text;
BEGIN
	EXECUTE switches;
	SET LOCAL plan_cache_mode = force_generic_plan;
	BEGIN
		EXECUTE command INTO mine;
	EXCEPTION WHEN OTHERS THEN
		mine := format('ERROR %s %s', SQLSTATE, SQLERRM);
	END;
	SET LOCAL plan_cache_mode = auto;
	plain := answer(plain_switches, query);
	IF mine LIKE 'ERROR XX%' OR mine <> plain AND plain NOT LIKE 'ERROR%' THEN
		RETURN format('%s DIFFERENT with: %s without: %s, prepared under: %s', number, mine, plain, switches);
	END IF;
	RETURN format('%s = %s', number, split_part(plain, ' ', 1));
END
$$;
SQL

# ----------------------------------------------------------------------- the run

sub one_relation
{
	my $self = new_relation();
	my $session = PsqlSession->new($db->name);
	my $start = "LOAD 'streambloom'; SET jit = off; SET statement_timeout = '120s'; SET lock_timeout = '20s'; SET enable_indexscan = off; SET enable_indexonlyscan = off;\n";

	$session->{party} = 'one';
	$session->sql($start);
	$run->begin_history();
	$run->{starts}{one} = "$extensions;\n$functions$start";
	KeysValues::forget();
	# In some tables rows have so many keys that a filter takes several pages.
	$KeysValues::wide = pick(1, 1, 30);
	my $act = sub { my ($what, $sql) = @_; return $run->act($session, $what, encode_utf8($sql)); };

	$act->('make', $_) foreach @{$self->{make}};
	my $late = !$tall && chance(0.3);
	$act->('insert', rows_sql($self, $tall ? 800 : pick(100, 250, 400, 700))) if !$late;
	$self->{things} = [];
	foreach (1 .. 2 + int rand 4)
	{
		my ($sql, @of) = index_sql($self->{name}, ++$self->{indexes});
		my ($state) = $act->('CREATE INDEX', $sql);
		push @{$self->{things}}, @of if $state eq '00000';
		$run->fail_with($session, "no index: $state\n$sql") if $state ne '00000';
	}
	return if !@{$self->{things}};
	$act->('insert', rows_sql($self, pick(100, 250, 400))) if $late;
	$act->('ANALYZE', "ANALYZE $self->{name}") if chance(0.6);
	$run->count($self->{partitions} ? 'relations: partitioned' : 'relations: plain');
	$run->count("indexed: $_") foreach @{$self->{things}};
	foreach my $round (1 .. 7)
	{
		last if $run->full || $session->{lost} || time() > $deadline;
		ask($session, $self, 40);
		foreach (1 .. 1 + int rand 4)
		{
			my ($what, $sql, @conditions) = change($self);
			my ($state, $message) = $act->($what, $sql);
			ask($session, $self, 0, @conditions) if @conditions && $state eq '00000';
			$run->fail_with($session, encode_utf8("$what: $state $message\n$sql")) if $state ne '00000' && $state !~ /^XX/;
		}
	}
	ask($session, $self, 40);
	if ($bf && !$run->full && !$session->{lost})
	{
		my ($levels) = $session->ask("SELECT count(*) FROM indexes('$self->{name}') i, bf_index_stats(i.index) WHERE level > 0");
		$run->count('indexes with levels', $levels) if $levels =~ /^\d+$/ && $levels > 0;
	}
	$act->('bf_index_check', "SELECT bf_index_check(index) FROM indexes('$self->{name}')") if $bf && !$run->full;
	$run->wait_for_server if $session->{lost};
	$run->close_session($session);
	$db->sql("DROP TABLE IF EXISTS $self->{name}");
}

$db->sql("$extensions;\n$functions");
if ($bf)
{
	# Under this collation equal texts may have different keys.
	$db->sql('CREATE TABLE nocase (names text[] COLLATE nocase, name text COLLATE nocase)');
	is($db->sqlstate("CREATE INDEX ON nocase USING bf ($_)"), '0A000', "USING bf ($_) is refused under a nondeterministic collation") foreach 'names', 'name gram_ops';
}
my $number = 0;
while (!$run->full && (time() < $deadline || $number < 3))
{
	one_relation();
	$number++;
}

my $counts = $run->counts;
ok(!$run->failures, "each answer is that of a sequential scan (seed $seed)") or diag('failures: ' . $run->failures . join '', map { "\n" . substr $_, 0, 600 } $run->failures);
diag("$number relations, " . ($counts->{comparisons} // 0) . ' comparisons, ' . ($counts->{'comparisons with rows'} // 0) . ' with rows');
if ($ENV{STREAMBLOOM_SECONDS})
{
	diag(sprintf '%10d %s', $counts->{$_}, $_) foreach sort keys %$counts;
	my %seen;
	diag(join "\n", grep { my $kind = s/\d+/N/gr; ($seen{substr $kind, 0, 60} // 0) < 2 && ++$seen{substr $kind, 0, 60} } @{$run->{log} // []}) if $ENV{STREAMBLOOM_HISTORY};
}
subtest 'it was a test of something' => sub {
	cmp_ok($counts->{comparisons} // 0, '>=', 1000, 'comparisons');
	cmp_ok($counts->{'comparisons with rows'} // 0, '>=', ($counts->{comparisons} // 0) / 4, 'many had rows');
	cmp_ok($counts->{'comparisons of errors'} // 0, '<', ($counts->{comparisons} // 0) / 20, 'few were errors on both sides');
	cmp_ok($counts->{'plans with an index'} // 0, '>=', ($counts->{'plans looked at'} // 0) / 4, 'many plans use an index');
};
done_testing();
