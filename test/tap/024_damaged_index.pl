# An index whose meta page, directory or filter pages are damaged, word by word: every call answers with the right rows or with
# XX002 (index_corrupted), nothing crashes, and the file does not grow with the calls. REINDEX mends it.
#
# The words are written while the server is stopped, each into the index of a table of its own; two further rounds damage an
# index that is large enough for directory pages.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
StreambloomTap::start_own_cluster();
# Checksums of pages, where there are any, would find all of it, and say XX001.
StreambloomTap::restart_own_cluster(autovacuum => 'off', restart_after_crash => 'off', ignore_checksum_failure => 'on', jit => 'off');

my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
srand($seed);
diag("seed $seed");
my $db = StreambloomTap->new('024');
my $data = StreambloomTap::scratch() . '/data';

# What a command ends with: 'ok' or its SQLSTATE. Whether the rows that an index finds are those that are there.
$db->sql(<<'SQL');
CREATE FUNCTION ends(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION finds(t text, c text, v text) RETURNS text LANGUAGE plpgsql
SET enable_indexscan = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	query CONSTANT text := format('SELECT count(*) FROM %s WHERE %s = %s', t, c, v);
	is_there bigint;
	found bigint;
BEGIN
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_seqscan = on;
	EXECUTE query INTO is_there;
	SET LOCAL enable_bitmapscan = on;
	SET LOCAL enable_seqscan = off;
	EXECUTE query INTO found;
	RETURN CASE WHEN found = is_there THEN 'ok' ELSE format('%s rows of %s', found, is_there) END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- A row of a page each.
CREATE TABLE base (v integer, w text, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE base ALTER filler SET STORAGE plain;
-- All calls, and look-ups of some rows.
CREATE FUNCTION calls(t text, first integer, last integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	step CONSTANT integer := greatest((last - first) / 10, 1);
	v integer;
BEGIN
	FOR v IN first .. last + step BY step LOOP
		RETURN NEXT finds(t, 'v', v::text);
		RETURN NEXT finds(t, 'w', quote_literal(v));
	END LOOP;
	RETURN NEXT ends(format('SELECT * FROM bf_index_stats(%L)', t || '_bf'));
	-- filters of several sizes, or a horizon in the future
	RETURN NEXT replace(ends(format('SELECT bf_of(%L, 3)', t || '_bf')), '55000', 'ok');
	RETURN NEXT replace(ends(format('SELECT bf_of(%L, 3, 2)', t || '_bf')), '55000', 'ok');
	RETURN NEXT replace(ends(format('SELECT bf_of(%L)', t || '_bf')), '55000', 'ok');
	RETURN NEXT ends(format('SELECT count(*) FROM chunk_scan(NULL::%s, ''v'', 5)', t));
	RETURN NEXT ends(format('INSERT INTO %s VALUES (1000000, ''1000000'', ''x'')', t));
	RETURN NEXT ends(format('INSERT INTO %s VALUES (1000001, ''1000001'', repeat(''x'', 5000))', t));
	RETURN NEXT ends(format('UPDATE %s SET v = v + 2000000 WHERE v = 7', t));
	RETURN NEXT finds(t, 'v', '1000000');
	RETURN NEXT finds(t, 'v', '1000001');
	RETURN NEXT finds(t, 'v', '2000007');
	RETURN NEXT ends(format('SELECT bf_desummarize_range(%L, 2)', t || '_bf'));
	RETURN NEXT ends(format('SELECT bf_summarize_range(%L, 2)', t || '_bf'));
	RETURN NEXT ends(format('SELECT bf_summarize_new_values(%L)', t || '_bf'));
	RETURN NEXT ends(format('CALL bf_summarize(%L)', t));
	RETURN NEXT ends(format('SELECT bf_index_check(%L)', t || '_bf'));
	FOR v IN first .. last + step BY step LOOP
		RETURN NEXT finds(t, 'v', v::text);
	END LOOP;
	RETURN NEXT finds(t, 'w', '''1000000''');
	RETURN NEXT finds(t, 'v', '1000001');
END $$;
SQL

sub make_table
{
	my ($i) = @_;
	return <<"SQL";
CREATE TABLE t$i (LIKE base INCLUDING STORAGE) WITH (autovacuum_enabled = off);
INSERT INTO t$i SELECT i, i, repeat('x', 5000) FROM generate_series(1, 8) i;
CREATE INDEX t${i}_bf ON t$i USING bf (v, w) WITH (pages_per_range = 1);
INSERT INTO t$i SELECT i, i, repeat('x', 5000) FROM generate_series(9, 20) i;
SELECT bf_summarize_new_values('t${i}_bf') \\g /dev/null
SQL
}

my @values = (0, 1, 0x7fffffff, 0xffffffff, 'random');

# Where to write: [what it is called, offset in the file, whether PostgreSQL itself checks it (page headers: XX001)]. The first
# two words of a page are the place in WAL that it stands for, which concerns the server and not the index.
sub words
{
	my ($name, $offset, @numbers) = @_;
	return map { ["$name, word $_", $offset + 4 * $_, 0] } @numbers;
}
my @places = (
	(map { ["header of block $_->[0], word $_->[1]", $_->[0] * 8192 + 4 * $_->[1], 1] } map { my $b = $_; map { [$b, $_] } 2 .. 5 } 0, 1, 2),
	words('meta page', 24, 0 .. 15),
	words('directory', 24 + 64, 0, 1, 999),
	words('entries', 24 + 64 + 4000, 0 .. 17, 18, 19),
	(map { words("block $_", $_ * 8192 + 24, 0 .. 7) } 1, 2, 6));
my @cases = map { my $place = $_; map { [@$place, $_ eq 'random' ? int(rand(2**32)) : $_] } @values } @places;
# and files that are too short
push @cases, map { ["a file of $_ bytes", 'cut', 0, $_] } 0, 100, 8192, 8192 + 100, 3 * 8192, 6 * 8192;

sub stop
{
	my ($code, $out, $err) = StreambloomTap::run_program('', StreambloomTap::server_program('pg_ctl'), '-D', $data, '-w', '-m', 'fast', 'stop');
	die "cannot stop the server: $err" if $code != 0;
}

sub damage
{
	my ($path, $case) = @_;
	my ($name, $offset, $header, $value) = @$case;

	if ($offset eq 'cut')
	{
		truncate("$data/$path", $value) or die "cannot cut $path: $!";
		return;
	}
	open(my $file, '+<:raw', "$data/$path") or die "cannot open $path: $!";
	seek($file, $offset, 0);
	print $file pack('L', $value);
	close($file) or die "cannot write $path: $!";
}

# Runs all calls on a table, again and again; returns what is wrong. A core's check of a page or of the file's length is XX001.
sub wrongs
{
	my ($t, $case, $first, $last) = @_;
	my ($code, $out, $err) = StreambloomTap::psql($db->name, <<"SQL", verbosity => 'sqlstate');
\\set ON_ERROR_STOP 0
SET client_min_messages = error;
SELECT calls('$t', $first, $last);
VACUUM $t;
\\echo :SQLSTATE
SELECT 'size ' || pg_relation_size('${t}_bf');
SELECT calls('$t', $first, $last);
VACUUM $t;
\\echo :SQLSTATE
SELECT calls('$t', $first, $last);
SELECT 'size ' || pg_relation_size('${t}_bf');
REINDEX INDEX ${t}_bf;
\\echo 'reindex' :SQLSTATE
SELECT 'after: ' || c FROM calls('$t', $first, $last) c;
VACUUM $t;
\\echo 'after:' :SQLSTATE
SQL
	my @lines = split /\n/, $out;
	my @sizes = map { /^size (\d+)/ ? $1 : () } @lines;
	my $core = $case->[2] || $case->[1] eq 'cut' ? '|XX001' : '';
	my @wrong = grep { !/^size/ && !/^(ok|XX002|00000$core)$/ && !/^reindex 00000$/ && !/^after: (ok|00000)$/ } @lines;

	push @wrong, "it ended with $code: $err" if $code != 0;
	push @wrong, "the file grew from $sizes[0] to $sizes[-1]" if @sizes != 2 || $sizes[0] != $sizes[-1];
	push @wrong, 'not all was done' if !grep { /^after: 00000/ } @lines;
	return (scalar(grep { /^XX00/ } @lines), @wrong);
}

subtest 'each word of a small index' => sub {
	$db->sql(join '', map { make_table($_) } 0 .. $#cases);
	my @paths = split /\n/, $db->sql("SELECT pg_relation_filepath('t' || i || '_bf') FROM generate_series(0, $#cases) i ORDER BY i");
	$db->sql('CHECKPOINT');
	stop();
	damage($paths[$_], $cases[$_]) foreach 0 .. $#cases;
	StreambloomTap::restart_own_cluster();
	my ($bad, $noticed) = (0, 0);
	foreach my $i (0 .. $#cases)
	{
		my ($errors, @wrong) = wrongs("t$i", $cases[$i], 1, 20);
		$noticed++ if $errors > 0;
		next if !@wrong;
		$bad++;
		my %seen;
		diag("$cases[$i][0] = $cases[$i][3]: " . join('; ', grep { !$seen{$_}++ } @wrong));
	}
	is($bad, 0, scalar(@cases) . ' damaged words and files: right rows or XX002, and REINDEX mends them');
	cmp_ok($noticed, '>', @cases / 2, "$noticed were noticed");
};

subtest 'errors leave no memory behind' => sub {
	$db->sql(make_table('m'));
	my $path = $db->sql("SELECT pg_relation_filepath('tm_bf')");
	$db->sql('CHECKPOINT');
	stop();
	# a group whose entry is zeros, behind those that are right
	damage($path, ['groups', 24 + 12, 0, 100]);
	StreambloomTap::restart_own_cluster();
	my $grown = $db->sql(<<'SQL');
SELECT ends('SELECT * FROM bf_index_stats(''tm_bf'')') FROM generate_series(1, 100) \g /dev/null
SELECT sum(total_bytes) AS before FROM pg_backend_memory_contexts \gset
SELECT ends('SELECT * FROM bf_index_stats(''tm_bf'')') FROM generate_series(1, 2000) \g /dev/null
SELECT sum(total_bytes) - :before < 1000000 FROM pg_backend_memory_contexts;
SQL
	is($grown, 't', '2,000 of them');
};

# 32 columns, so that 28 groups fill the meta page: the others are on a directory page.
subtest 'a directory page' => sub {
	my $columns = join ', ', map { "v$_ integer DEFAULT $_" } 3 .. 32;
	my $names = join ', ', 'v', 'w', map { "v$_" } 3 .. 32;
	my @at = ([0, 24 + 12], [0, 24 + 36], [0, 24 + 64], [0, 24 + 68], ['directory', 24], ['directory', 28], ['directory', 32],
		['directory', 40], ['directory', 44], ['directory', 48]);
	my @large = map { my $at = $_; map { [@$at, $_] } 0, 0xffffffff } @at;
	$db->sql(<<"SQL");
CREATE TABLE large (v integer, w text, filler text, $columns) WITH (autovacuum_enabled = off);
ALTER TABLE large ALTER filler SET STORAGE plain;
INSERT INTO large SELECT i, i, repeat('x', 5000) FROM generate_series(1, 3800) i;
CREATE INDEX large_bf ON large USING bf ($names) WITH (pages_per_range = 1);
SQL
	is($db->sql("SELECT DISTINCT groups > 28 FROM bf_index_stats('large_bf')"), 't', 'there is one');
	my $bad = 0;
	foreach my $case (@large)
	{
		my ($where, $offset, $value) = @$case;
		my $path = $db->sql("CHECKPOINT; SELECT pg_relation_filepath('large_bf')");
		stop();
		if ($where eq 'directory')
		{
			open(my $file, '<:raw', "$data/$path") or die "cannot open $path: $!";
			seek($file, 24 + 64, 0);
			read($file, my $word, 4);
			close($file);
			$offset += 8192 * unpack('L', $word);
		}
		damage($path, ['', $offset, 0, $value]);
		StreambloomTap::restart_own_cluster();
		my ($errors, @wrong) = wrongs('large', ['', 0, 0, 0], 1, 3800);
		next if !@wrong;
		$bad++;
		my %seen;
		diag("$where $case->[1] = $value: " . join('; ', grep { !$seen{$_}++ } @wrong));
	}
	is($bad, 0, scalar(@large) . ' damaged words: right rows or XX002, and REINDEX mends them');
};
unlike(StreambloomTap::own_log(), qr/terminated by signal|PANIC|TRAP:/, 'no server process crashed');

done_testing();
