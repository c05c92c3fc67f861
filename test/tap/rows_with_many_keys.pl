# A row may have millions of keys, as many as an array has elements. The row is entered into the index, however many of
# its keys belong on one page. Its memory is free again for the next row. bf_index_check() can be cancelled while it
# looks at such a row.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();

my $db = StreambloomTap->new('060');

$db->sql(<<'SQL');
CREATE TABLE t (a int[]) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER a SET STORAGE external;
INSERT INTO t VALUES ('{1}'), ('{2}');
CREATE INDEX t_a ON t USING bf (a);
CREATE TABLE arrays (LIKE t INCLUDING STORAGE);
INSERT INTO arrays SELECT array_agg(i % 200000 + 10) FROM generate_series(1, 1000000) i;
CREATE TABLE memory (n int, bytes bigint);
-- Notes down the memory that the session has taken, and returns a small array.
CREATE FUNCTION note_memory(n int) RETURNS int[] LANGUAGE sql VOLATILE AS $$
	INSERT INTO memory SELECT n, sum(total_bytes) FROM pg_backend_memory_contexts RETURNING ARRAY[n]
$$;
SQL

$db->sql('SET jit = off; INSERT INTO t SELECT CASE WHEN n = 2 THEN (SELECT a FROM arrays)
	ELSE note_memory(n) END FROM generate_series(1, 3) n');
my $kept = $db->sql('SELECT (max(bytes) FILTER (WHERE n = 3) - max(bytes) FILTER (WHERE n = 1)) / 1024 / 1024 FROM memory');
cmp_ok($kept, '<=', 8, 'the memory of a row with a million keys is free after this row');
note("it has kept $kept MB");
is($db->sql("SET enable_seqscan = off; SELECT count(*) FROM t WHERE a @> '{123456}'"), '1', 'the row is found');
cmp_ok($db->sql("SELECT bf_index_check('t_a')"), '==', 5, 'the index has all rows');

# From 16,777,216 keys on, an array with a line (64 bytes) for each key is larger than PostgreSQL allocates at once.
$db->sql("CREATE TABLE u (LIKE t INCLUDING STORAGE) WITH (autovacuum_enabled = off); INSERT INTO u VALUES ('{1}'); CREATE INDEX u_a ON u USING bf (a)");
my ($code, $out, $err) = $db->try('INSERT INTO u SELECT array_fill(7, ARRAY[17000000])');
is($err, '', 'a row with 17 million keys on one page');
is($db->sql("SET enable_seqscan = off; SELECT count(*) FROM u WHERE a @> '{7}'"), '1', 'it is found');

SKIP:
{
	skip 'the processor time of a backend is read from /proc', 2
	  if $db->sql("SELECT count(*) FROM pg_stat_file('/proc/self/stat', true) WHERE size IS NOT NULL") ne '1';
	my $processor = "SELECT (field[12]::bigint + field[13]::bigint) / 100.0 FROM string_to_array(substring(pg_read_file('/proc/self/stat') FROM '\\) (.*)'), ' ') AS field";
	my $whole = $db->sql("SELECT bf_index_check('u_a') \\g /dev/null\n$processor");
	my $timeout = 0.7 * $whole;

	# Most of the time goes into looking at the filters, key by key.
	my ($state, $taken) = split /\n/, (StreambloomTap::psql($db->name, sprintf("\\set ON_ERROR_STOP off\nSET statement_timeout = %d;
		SELECT bf_index_check('u_a');\n\\echo :LAST_ERROR_SQLSTATE\nRESET statement_timeout; $processor", 1000 * $timeout)))[1];
	is($state, '57014', 'bf_index_check() is cancelled within a row');
	cmp_ok($taken, '<', $timeout + 0.2 * $whole, 'in time');
	note(sprintf('the check takes %.2f s; it ended after %.2f s', $whole, $taken));
}

done_testing();
