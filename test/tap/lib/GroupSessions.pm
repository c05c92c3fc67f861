# GroupSessions.pm: sessions that search and write while VACUUM replaces groups of an index by other groups. (A group is
# consecutive ranges of the table, and the pages of the index with their filters.) A test that uses this file has an SQL
# function lost(table, sample): it returns how many of a sample of the rows a search by the index does not find. The
# index of a table has the table's name and "_bf".
package GroupSessions;

use strict;
use warnings;

use PsqlSession;
use Test::More;

use Exporter 'import';
our @EXPORT = qw(is_right begin_session missed while_others_work pages_read_by_vacuum);

sub is_right
{
	my ($db, $table, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($db->sql("SELECT lost('$table'), bf_index_check('${table}_bf') > 0"), '0|t', "$what: no row is lost");
}

# A session in a transaction that stays open. Its prepared statement q counts the rows of a table that fulfil a
# condition with the parameter $1. Here q is executed for `value`, so the session gets its locks now. Later it accepts
# no invalidation messages, and keeps what it has cached of the index. It takes a new snapshot for each statement.
sub begin_session
{
	my ($db, $table, $condition, $value, %where) = @_;
	my $reader = PsqlSession->new($db->name, %where);
	$reader->sql("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; PREPARE q AS SELECT count(*) FROM $table WHERE $condition");
	$reader->sql("BEGIN; EXECUTE q($value); EXECUTE q($value)");
	return $reader;
}

# For how many of these values the session does not find exactly one row.
sub missed
{
	my ($reader, @values) = @_;
	return scalar grep { $_ ne '1' } split /\n/, $reader->sql(join ';', map { "EXECUTE q($_)" } @values);
}

# The number of pages of a table that this VACUUM reads. A session reports what it has read when it ends, which may be
# after its psql has ended. So this waits for the sessions before.
sub pages_read_by_vacuum
{
	my ($db, $table, $vacuum) = @_;
	my $session = PsqlSession->new($db->name);
	my $read = sub {
		$session->sql('SELECT pg_stat_force_next_flush()');
		return $session->sql("SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = '$table'");
	};

	$db->wait_until(q{SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = current_database()}, 'earlier sessions to end');
	my $before = $read->();
	$session->sql($vacuum);
	return $read->() - $before;
}

# Runs a function while two sessions write into the table `busy`, and another one searches it. A writer runs the SQL
# statements `write` for at = first, first + step, and so on, `times` times at most. The statements may use the
# variables `at` and `first`.
sub while_others_work
{
	my ($db, $work, %writer) = @_;
	my $times = $writer{times} // 1000000;

	$db->sql(<<"SQL");
CREATE TABLE stop ();
CREATE PROCEDURE write(first integer) LANGUAGE plpgsql AS \$\$
DECLARE
	at integer := first;
BEGIN
	WHILE to_regclass('stop') IS NOT NULL AND at < first + $times * $writer{step} LOOP
		$writer{write}
		COMMIT;
		at := at + $writer{step};
	END LOOP;
END \$\$;
CREATE PROCEDURE read(INOUT wrong integer, INOUT times integer) LANGUAGE plpgsql AS \$\$
BEGIN
	WHILE to_regclass('stop') IS NOT NULL LOOP
		wrong := wrong + lost('busy', 20);
		times := times + 1;
		COMMIT;
	END LOOP;
END \$\$;
SQL
	my @writers = map { PsqlSession->new($db->name) } 1 .. 2;
	my $reader = PsqlSession->new($db->name);
	$writers[$_]->send('CALL write(' . 1000000 * ($_ + 1) . ')') foreach 0 .. 1;
	$reader->sql(q{SET default_transaction_isolation = 'repeatable read'});
	$reader->send('CALL read(0, 0)');
	$work->();
	$db->sql('DROP TABLE stop');
	is(($_->answer)[2], '', 'a writer has written') foreach @writers;
	my ($counted) = $reader->answer;
	like($counted, qr/^0\|[1-9]\d*$/m, 'readers found each row');
	is_right($db, 'busy', 'afterwards');
}

1;
