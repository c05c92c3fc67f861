# DamagedIndex.pm: for tests that damage the files of bf indexes, in a cluster of their own. Makes tables with such
# indexes, names the files, and runs the calls that read them.
#
#   DamagedIndex::prepare();                                   # starts that cluster
#   my $db = StreambloomTap->new('name');
#   DamagedIndex::install($db);
#   $db->sql(DamagedIndex::make_table(7));                     # the table t7 with the index t7_bf
#   my ($path) = DamagedIndex::paths($db, 't7_bf');
#   OwnCluster::stop(); ...; OwnCluster::restart();
#   my ($errors, @wrong) = DamagedIndex::wrongs($db, 't7', $is_cores, 1, 20);
package DamagedIndex;

use strict;
use warnings;

use OwnCluster;
use PsqlSession;
use StreambloomTap;

sub data { return OwnCluster::data_dir(); }

sub prepare
{
	OwnCluster::start();
	# ignore_checksum_failure: else a server with checksums would notice every damage by these, and raise XX001.
	# shared_buffers: if a table is larger than a quarter of the buffers, each sequential scan reads its file again.
	# With 200 MB no table here is that large.
	OwnCluster::restart(shared_buffers => '200MB', autovacuum => 'off', restart_after_crash => 'off', ignore_checksum_failure => 'on');
}

# ends(): how a command ends: 'ok' or its SQLSTATE. finds(): for each value, whether an index finds all rows that have
# it. First the rows of all values are counted in one query that uses no index: no index is on what OFFSET 0 returns.
# Then, with `together`, one query looks up all values by the index, which takes less time. If this query fails, finds()
# returns its SQLSTATE first, and looks up every third value by itself.
my $functions = <<'SQL';
CREATE FUNCTION ends(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION finds(together boolean, t text, c text, VARIADIC v text[]) RETURNS SETOF text LANGUAGE plpgsql
SET enable_indexscan = off SET enable_seqscan = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
	are_there bigint[];
	all_found bigint[];
	found bigint;
BEGIN
	EXECUTE format('SELECT array_agg(coalesce(rows, 0) ORDER BY i) FROM unnest($1) WITH ORDINALITY a (y, i)
		LEFT JOIN (SELECT x, count(*) AS rows FROM (SELECT %s::text AS x FROM %s OFFSET 0) t WHERE x = ANY ($1) GROUP BY x) n ON x = y', c, t) INTO are_there USING v;
	IF together THEN
		BEGIN
			EXECUTE format('SELECT array_agg((SELECT count(*) FROM %s WHERE %s = y::%s) ORDER BY i) FROM unnest($1) WITH ORDINALITY a (y, i)',
				t, c, (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = t::regclass AND attname = c)) INTO all_found USING v;
			RETURN QUERY SELECT CASE WHEN f = a THEN 'ok' ELSE format('%s rows of %s', f, a) END FROM unnest(all_found, are_there) n (f, a);
			RETURN;
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT SQLSTATE;
		END;
	END IF;
	FOR i IN 1 .. cardinality(v) BY CASE WHEN together THEN 3 ELSE 1 END LOOP
		BEGIN
			EXECUTE format('SELECT count(*) FROM %s WHERE %s = %L', t, c, v[i]) INTO found;
			RETURN NEXT CASE WHEN found = are_there[i] THEN 'ok' ELSE format('%s rows of %s', found, are_there[i]) END;
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT SQLSTATE;
		END;
	END LOOP;
END $$;
-- Each row fills a page.
CREATE TABLE base (v integer, w text, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE base ALTER filler SET STORAGE plain;
-- The calls that read or write an index, and look-ups of some rows. Without `together` the look-ups are made one by one,
-- each with a plan that was made for its value; but the look-ups of v near the end are always made together.
CREATE FUNCTION calls(t text, first integer, last integer, together boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	step CONSTANT integer := greatest((last - first) / 10, 1);
	looked_up CONSTANT text[] := ARRAY(SELECT generate_series(first, last + step, step)::text);
	a_third CONSTANT text[] := ARRAY(SELECT generate_series(first, last + step, 3 * step)::text);
BEGIN
	RETURN QUERY SELECT finds(together, t, 'v', VARIADIC looked_up);
	RETURN QUERY SELECT finds(together, t, 'w', VARIADIC CASE WHEN together THEN looked_up ELSE a_third END);
	RETURN NEXT ends(format('SELECT * FROM bf_index_stats(%L)', t || '_bf'));
	-- 55000: filters of several sizes, or a horizon in the future
	RETURN NEXT replace(ends(format('SELECT bf_of(%L, 3)', t || '_bf')), '55000', 'ok');
	RETURN NEXT replace(ends(format('SELECT bf_of(%L, 3, 2)', t || '_bf')), '55000', 'ok');
	RETURN NEXT replace(ends(format('SELECT bf_of(%L)', t || '_bf')), '55000', 'ok');
	RETURN NEXT ends(format('SELECT count(*) FROM chunk_scan(NULL::%s, ''v'', 5)', t));
	RETURN NEXT ends(format('INSERT INTO %s VALUES (1000000, ''1000000'', ''x'')', t));
	RETURN NEXT ends(format('INSERT INTO %s VALUES (1000001, ''1000001'', repeat(''x'', 5000))', t));
	RETURN NEXT ends(format('UPDATE %s SET v = v + 2000000 WHERE v = 7', t));
	RETURN QUERY SELECT finds(together, t, 'v', '1000000', '1000001', '2000007');
	RETURN NEXT ends(format('SELECT bf_desummarize_range(%L, 2)', t || '_bf'));
	RETURN NEXT ends(format('SELECT bf_summarize_range(%L, 2)', t || '_bf'));
	RETURN NEXT ends(format('SELECT bf_summarize_new_values(%L)', t || '_bf'));
	RETURN NEXT ends(format('CALL bf_summarize(%L)', t));
	RETURN NEXT ends(format('SELECT bf_index_check(%L)', t || '_bf'));
	RETURN QUERY SELECT finds(true, t, 'v', VARIADIC looked_up || '1000001'::text);
	RETURN QUERY SELECT finds(together, t, 'w', '1000000');
END $$;
SQL

sub install { $_[0]->sql($functions); }

# The files of indexes. A checkpoint writes all pages before.
sub paths
{
	my ($db, @indexes) = @_;
	return split /\n/, $db->sql("CHECKPOINT;\n" . join("\n", map { "SELECT pg_relation_filepath('$_');" } @indexes));
}

# A table t$i of 20 pages, with an index that has two groups of ranges.
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

# Runs all calls on a table several times, in a new session or in a PsqlSession that is given in place of the database.
# Returns how many errors there were, and what was wrong. XX001 is wrong, unless PostgreSQL itself checks the damaged
# bytes ($is_cores): the header of a page, or the length of the file. With the option `damaged_again` the index is not
# mended, since the caller will damage it once more.
sub wrongs
{
	my ($db, $t, $is_cores, $first, $last, %option) = @_;
	my $session = $db->isa('PsqlSession') ? $db : PsqlSession->new($db->name);
	my $mend = $option{damaged_again} ? '' : <<"SQL";
REINDEX INDEX ${t}_bf;
\\echo 'reindex' :SQLSTATE
SELECT 'after: ' || c FROM calls('$t', $first, $last, true) c;
\\echo 'calls' :SQLSTATE
VACUUM $t;
SQL
	my ($out, $state, $message) = $session->ask(<<"SQL");
\\set VERBOSITY sqlstate
SET client_min_messages = error;
SELECT 'plan ' || ends('EXPLAIN SELECT * FROM $t WHERE v = 5 AND w = ''5''');
SELECT calls('$t', $first, $last);
\\echo 'calls' :SQLSTATE
VACUUM $t;
\\echo :SQLSTATE
SELECT 'size ' || pg_relation_size('${t}_bf');
SELECT calls('$t', $first, $last, true);
\\echo 'calls' :SQLSTATE
VACUUM $t;
\\echo :SQLSTATE
SELECT 'size ' || pg_relation_size('${t}_bf');
$mend\\echo 'after:' :SQLSTATE
SQL
	my @lines = split /\n/, $out;
	my @sizes = map { /^size (\d+)/ ? $1 : () } @lines;
	my $calls = grep { $_ eq 'calls 00000' } @lines;
	my $rounds = $option{damaged_again} ? 2 : 3;
	my $core = $is_cores ? '|XX001' : '';
	# the planner asks the damaged index in vain, and makes a plan all the same
	my @wrong = grep { !/^ERROR:/ && !/^(size|calls) / && !/^plan ok$/ && !/^(ok|XX002|00000$core)$/ && !/^reindex 00000$/ && !/^after: (ok|00000)$/ } @lines;

	push @wrong, $message if $state eq 'lost';
	push @wrong, "the file grew from $sizes[0] to $sizes[-1]" if @sizes != 2 || $sizes[0] != $sizes[-1];
	push @wrong, "$calls of $rounds rounds of calls ended: " . join(', ', grep { /^calls / } @lines) if $calls != $rounds;
	push @wrong, 'not all was done' if !grep { /^after: 00000/ } @lines;
	$session->close if $session != $db;
	return (scalar(grep { /^XX00/ } @lines), @wrong);
}

1;
