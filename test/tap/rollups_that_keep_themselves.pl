# Roll-ups that keep themselves (docs/rollups.md), compared with the exact answer of SQL: logs whose rows come late, out
# of order and in batches; refreshes that are killed, that run at once, or that run twice; time zones whose clocks
# change; partitions that are detached and dropped; many groups; a roll-up that is dropped during a refresh; items of
# other extensions' types; foreign tables and hypertables; dump and restore. Whatever happens, each hit is counted
# exactly once, and no count is too low.
#
# A *bucket* is the piece of time that a row of a roll-up stands for, such as an hour. It is *closed* when no more hits
# are expected in it. Old buckets are *folded*: merged into longer ones, which are in the next *tier*.
#
# STREAMBLOOM_SEED chooses the random logs, and the tiers with which a zone is tried. If STREAMBLOOM_SECONDS is more
# than 60, the logs are longer, and each zone is tried with all tiers and more refreshes.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use PsqlSession;
use StreambloomTap;
use Test::More;
use Time::HiRes qw(sleep);

StreambloomTap::require_cluster();

my $seed = $ENV{STREAMBLOOM_SEED} // time() % 1000000;
srand($seed);
diag("STREAMBLOOM_SEED=$seed");
my $db = StreambloomTap->new('039');
my $random = $seed / 1000000;
my $long = ($ENV{STREAMBLOOM_SECONDS} // 0) > 60;
$db->sql('ALTER DATABASE ' . $db->name . " SET timezone = 'UTC'");

# Compares a roll-up with exact SQL over all hits. Returns '' if they agree, else the differences in words. Undecayed
# counts are exact in filters that have no counters.
$db->sql(<<'SQL');
CREATE FUNCTION differences(rollup regclass, source text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format('WITH e AS MATERIALIZED (SELECT url, count(*)::float8 AS hits FROM %s GROUP BY url),
			f AS MATERIALIZED (SELECT tbf_rollup_filter_between(%L, NULL, NULL) AS f),
			c AS MATERIALIZED (SELECT e.*, coalesce(tbf_count(f, url), 0) AS counted, (tbf_info(f)).layout = ''exact'' AS exact FROM e, f)
		SELECT nullif(concat_ws('', '',
			CASE WHEN (SELECT coalesce(sum(hits), 0) FROM %s) <> (SELECT coalesce(sum(hits), 0) FROM e) THEN ''all hits: '' || (SELECT coalesce(sum(hits), 0) FROM %3$s) || '' instead of '' || (SELECT coalesce(sum(hits), 0) FROM e) END,
			(SELECT ''too low: '' || count(*) FROM c WHERE counted < hits HAVING count(*) > 0),
			(SELECT ''too high: '' || count(*) FROM c WHERE exact AND counted > hits HAVING count(*) > 0),
			(SELECT ''buckets that meet: '' || count(*) FROM %3$s a JOIN %3$s b ON a.ctid < b.ctid AND a.starts = b.starts AND a.groups = b.groups AND (a.closed OR b.closed OR a.tier <> b.tier) HAVING count(*) > 0),
			(SELECT ''hits outside of their bucket: '' || count(*) FROM %3$s WHERE oldest < starts OR newest >= ends HAVING count(*) > 0)), '''')',
		source, rollup, rollup) INTO said;
	RETURN coalesce(said, '');
END $$;

-- Returns '' if the bounds and the counts of decayed hits agree with the exact sums. Otherwise says in words which of
-- them are wrong, and for how many items.
CREATE FUNCTION wrong_bounds(rollup regclass, source text, asked timestamptz, weight text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format($q$
		WITH e AS MATERIALIZED (SELECT url AS item, sum((%s)::float8) AS hits FROM (SELECT url, $1 - at AS age FROM %s WHERE at <= $1) s GROUP BY url),
			t AS MATERIALIZED (SELECT * FROM tbf_rollup_top(%L, 100, $1, $2)),
			c AS MATERIALIZED (SELECT * FROM tbf_rollup_top(%3$L, 10, $1, $2, counted => true)),
			f AS MATERIALIZED (SELECT tbf_rollup_filter(%3$L, $1, $2) AS f)
		SELECT concat_ws(', ',
			(SELECT 'listed: ' || count(*) FROM t JOIN e USING (item) WHERE hits NOT BETWEEN hits_from * (1 - 1e-9) AND hits_to * (1 + 1e-9) HAVING count(*) > 0),
			(SELECT 'not listed: ' || count(*) FROM e WHERE item NOT IN (SELECT item FROM t) AND hits > (SELECT max(others_to) FROM t) * (1 + 1e-9) HAVING count(*) > 0),
			(SELECT 'not counted: ' || count(*) FROM e WHERE item NOT IN (SELECT item FROM c) AND hits > (SELECT max(others_to) FROM c) * (1 + 1e-9) HAVING count(*) > 0),
			(SELECT 'counted: ' || count(*) FROM c JOIN e USING (item) WHERE hits NOT BETWEEN hits_from * (1 - 1e-9) AND hits_to * (1 + 1e-9) HAVING count(*) > 0),
			(SELECT 'too low in the filter: ' || count(*) FROM e, f WHERE coalesce(tbf_count(f, item), 0) < hits * (1 - 1e-9) HAVING count(*) > 0),
			(SELECT 'nothing is listed' WHERE EXISTS (SELECT FROM e) AND NOT EXISTS (SELECT FROM t)))$q$, weight, source, rollup) INTO said USING asked, weight;
	RETURN said;
END $$;
SQL

my @decays = ('decay_exponential(age)', "decay_polynomial(age, 1, '1 day')", "decay_exponential(age, '1 hour')", '1');

# ------------------------------------------------------------- logs, replayed

# The table NAME_all (at, url) has all rows of a log. Each row arrives up to two hours after its time. The rows are
# committed in batches, each of which has what arrives in up to $steps minutes. The source table is partitioned by
# month, so that partitions can be dropped.
sub replay
{
	my ($name, $tiers, $keep, $zone, $steps) = @_;
	my $last = $db->sql("SELECT max(at) FROM ${name}_all");

	$db->sql(<<"SQL");
SELECT setseed($random);
ALTER TABLE ${name}_all ADD arrives timestamptz;
UPDATE ${name}_all SET arrives = at + CASE WHEN random() < 0.1 THEN random() * interval '119 minutes' ELSE interval '0' END;
CREATE INDEX ON ${name}_all (arrives);
CREATE TABLE $name (at timestamptz NOT NULL, url text NOT NULL) PARTITION BY RANGE (at);
CREATE INDEX ON $name (at);
SELECT format('CREATE TABLE ${name}_%s PARTITION OF $name FOR VALUES FROM (%L) TO (%L)', to_char(m, 'YYYY_MM'), m, m + interval '1 month')
	FROM generate_series(date_trunc('month', (SELECT min(at) FROM ${name}_all)), (SELECT max(at) FROM ${name}_all), '1 month') m \\gexec
SELECT tbf_rollup_create('${name}_heat', '$name', 'url', 'at', tiers => '$tiers', keep => '$keep', zone => '$zone');
SQL
	my $session = PsqlSession->new($db->name);
	my $from = $session->sql("SELECT min(arrives) FROM ${name}_all");
	my ($wrong, $checks, $killed) = (0, 0, 0);
	while ($from lt $last)
	{
		# one batch in ten has at most two days
		my $minutes = rand() < 0.1 ? int(rand(2880)) : 5 + int(rand($steps));
		my $to = $session->sql(<<"SQL");
SELECT least('$from'::timestamptz + interval '$minutes minutes', '$last'::timestamptz + interval '2 hours') AS until \\gset
INSERT INTO $name SELECT at, url FROM ${name}_all WHERE arrives >= '$from' AND arrives < :'until' ORDER BY md5(url || at);
\\echo :until
SQL
		$from = $to;
		next if rand() < 0.1;
		if (rand() < 0.3)
		{
			# a refresh is killed after some milliseconds
			my $victim = PsqlSession->new($db->name);
			my $pid = $victim->sql('SELECT pg_backend_pid()');
			$victim->send("CALL tbf_rollup_refresh('${name}_heat')");
			sleep(rand(0.1));
			$session->sql("SELECT pg_terminate_backend($pid, 60000)");
			my (undef, $state) = $victim->answer;
			$killed++ if $state ne '00000';
			$victim->close;
		}
		my $refresh = "CALL tbf_rollup_refresh('${name}_heat');\n";
		my $said = $session->sql($refresh x (rand() < 0.2 ? 2 : 1) . "SELECT differences('${name}_heat', '$name')");
		$checks++;
		if ($said ne '')
		{
			diag("$name, $to: $said") if $wrong++ < 5;
		}
		next if rand() > 0.05;
		foreach my $decay (@decays)
		{
			(my $quoted = $decay) =~ s/'/''/g;
			foreach my $asked ("'$to'::timestamptz", "'$to'::timestamptz - interval '11 hours'")
			{
				$said = $session->sql("SELECT wrong_bounds('${name}_heat', '$name', $asked, '$quoted')");
				diag("$name, $asked, $decay: $said") if $said ne '' && $wrong++ < 5;
			}
		}
	}
	$session->close;
	$db->sql("CALL tbf_rollup_refresh('${name}_heat')");
	is($db->sql("SELECT differences('${name}_heat', '$name')"), '', "$name: all is counted in the end");
	is($wrong, 0, "$name: each hit is counted once, and bounds hold ($checks refreshes, $killed were killed before)");

	# partitions that were rolled up are detached and dropped: their hits stay, even if all is refreshed
	$db->sql("CREATE TABLE ${name}_copy AS TABLE $name");
	my @parts = split /\n/, $db->sql("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '$name'::regclass ORDER BY 1");
	my $middle = $parts[@parts / 2];
	$db->sql("ALTER TABLE $name DETACH PARTITION $middle");
	$db->sql("DROP TABLE $parts[0]") if @parts > 1;
	$db->sql("CALL tbf_rollup_refresh('${name}_heat', '-infinity', 'infinity')");
	is($db->sql("SELECT differences('${name}_heat', '${name}_copy')"), '', "$name: what the source has lost stays counted");
	# rows that come too late are counted by a refresh of their time
	if (@parts > 2)
	{
		$db->sql("INSERT INTO $name SELECT at, '/too/late' FROM ${name}_all WHERE at >= (SELECT min(at) FROM $name) ORDER BY at LIMIT 7");
		$db->sql("INSERT INTO ${name}_copy SELECT at, url FROM $name WHERE url = '/too/late'");
		$db->sql("CALL tbf_rollup_refresh('${name}_heat')");
		isnt($db->sql("SELECT differences('${name}_heat', '${name}_copy')"), '', "$name: a refresh does not look at what should be complete");
		my ($first, $after) = split /\|/, $db->sql("SELECT min(at), max(at) + interval '1 second' FROM $name WHERE url = '/too/late'");
		$db->sql("CALL tbf_rollup_refresh('${name}_heat', '$first', '$after')");
		is($db->sql("SELECT differences('${name}_heat', '${name}_copy')"), '', "$name: a refresh of a time does");
	}
}

# The log has more days than the tier of days keeps, so some days are folded into months. Unless the test is long, of
# each five days only the first 30 hours have hits; New York's clocks change in such hours (2024-03-10, day 55).
subtest 'a made-up log' => sub
{
	my ($rows, $days) = $long ? (30000, 100) : (4000, 60);
	my $day = $long ? "random() * $days" : "floor(random() * $days / 5) * 5 + random() * 1.25";
	$db->sql(<<"SQL");
SELECT setseed($random);
CREATE TABLE made_all AS SELECT timestamptz '2024-01-15 UTC' + ($day) * interval '1 day' AS at, '/' || floor(exp(random() * 8))::int AS url FROM generate_series(1, $rows);
SQL
	replay('made', '{minute,hour,day,month}', $long ? '{3 hours,10 days,60 days,null}' : '{3 hours,4 days,20 days,null}', 'America/New_York', $long ? 4000 : 3000);
};

subtest 'a blog\'s log' => sub
{
	my $folder = $ENV{STREAMBLOOM_DATA} // '';
	plan skip_all => 'no real data: STREAMBLOOM_DATA has no blog-2016.access.log.gz' if !-r "$folder/blog-2016.access.log.gz";
	$db->load_lines('lines', "$folder/blog-2016.access.log.gz", 'gzip');
	$db->sql("CREATE TABLE blog_all AS SELECT split_part(split_part(line, '[', 2), ']', 1)::timestamptz AS at, split_part(split_part(line, '\"', 2), ' ', 2) AS url FROM lines WHERE n % " . ($long ? 4 : 12) . " = 0; DROP TABLE lines");
	replay('blog', '{hour,day,month}', '{7 days,20 days,null}', 'Europe/Berlin', 10000);
};

# ------------------------------------------------------------- clocks that change

subtest 'zones' => sub
{
	my $session = PsqlSession->new($db->name);
	my @zones = (['America/Havana', '2024-11-01'], ['America/Havana', '2024-03-08'], ['Australia/Lord_Howe', '2024-04-05'], ['Australia/Lord_Howe', '2024-10-04'],
		['Europe/Berlin', '2024-10-25'], ['Europe/Berlin', '2024-03-29'], ['Asia/Kathmandu', '2024-01-01'], ['Pacific/Apia', '2011-12-28'],
		['America/Sao_Paulo', '2018-11-02'], ['Asia/Beirut', '2023-10-27']);
	my @tiers = (['{hour,day,week}', '{1 day,2 days,null}'], ['{minute,hour,day}', '{1 day,2 days,null}'], ['{day,month}', '{2 days,null}']);
	# A refresh takes most of the time. Unless the test is long, it follows every third batch of rows, and each one near
	# the hour in which the clocks change.
	my $is_near = sub {
		my ($zone, $day, $hours) = @_;
		return $session->sql("SELECT (t - interval '5 hours') AT TIME ZONE '$zone' + interval '10 hours' <> (t + interval '5 hours') AT TIME ZONE '$zone' FROM (SELECT timestamptz '$day UTC' + $hours * interval '1 hour' AS t) s") eq 't';
	};
	foreach my $i (0 .. $#zones)
	{
		my ($zone, $day) = @{$zones[$i]};
		next if $db->sqlstate("SELECT now() AT TIME ZONE '$zone'") ne '00000';
		# unless the test is long, the seed chooses one of the three for each zone
		foreach ($long ? @tiers : $tiers[($seed + $i) % @tiers])
		{
			my ($tiers, $keep) = @$_;
			my $script = "CREATE TABLE z (at timestamptz, url text); CREATE INDEX ON z (at); SELECT setseed($random);\n" .
				"SELECT tbf_rollup_create('zh', 'z', 'url', 'at', tiers => '$tiers', keep => '$keep', zone => '$zone', half_life => NULL, lateness => '90 minutes') \\g /dev/null\n";
			foreach my $i (1 .. 30)
			{
				$script .= "INSERT INTO z SELECT timestamptz '$day UTC' + ($i * 2.25 - 1.4 * random()) * interval '1 hour', '/' || (random() * 9)::int FROM generate_series(1, 40);\n" .
					"INSERT INTO z VALUES (timestamptz '$day UTC' + $i * 2.25 * interval '1 hour', '/x');\n";
				next if !$long && $i % 3 != 0 && !$is_near->($zone, $day, $i * 2.25);
				$script .= "CALL tbf_rollup_refresh('zh');\n";
				$script .= "SELECT $i, differences('zh', 'z') WHERE differences('zh', 'z') <> '';\n" if !$long || $i % 5 == 0;
			}
			# the hits of each day, by the calendar of the zone, before the days are folded
			$script .= "SELECT 'days', count(*) FROM (SELECT (at AT TIME ZONE '$zone')::date AS d, count(*) AS n FROM z GROUP BY 1) e
				FULL JOIN (SELECT (starts AT TIME ZONE '$zone')::date AS d, sum(hits) AS n FROM zh GROUP BY 1) k USING (d) WHERE e.n IS DISTINCT FROM k.n HAVING count(*) > 0;\n" if $tiers eq '{minute,hour,day}';
			$script .= "SELECT tbf_rollup_drop('zh') \\g /dev/null\nDROP TABLE z;\n";
			is($session->sql($script), '', "$zone from $day, $tiers");
		}
	}
	$session->close;
};

# ------------------------------------------------------------- at once

subtest 'writers, refreshes and readers at once' => sub
{
	$db->sql("CREATE TABLE busy (at timestamptz NOT NULL, url text NOT NULL); CREATE INDEX ON busy (at);
		SELECT tbf_rollup_create('busy_heat', 'busy', 'url', 'at', tiers => '{minute,hour,day}', keep => '{2 hours,1 day,null}', lateness => '1 hour 59 minutes')");
	$db->sql(<<'SQL');
CREATE PROCEDURE write_busy() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 200 LOOP
		INSERT INTO busy SELECT timestamptz '2024-01-01 UTC' + i * interval '20 minutes' - random() * interval '55 minutes', '/' || floor(exp(random() * 6)) FROM generate_series(1, 50);
		PERFORM pg_sleep(random() * 0.01);
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE refresh_busy() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		CALL tbf_rollup_refresh('busy_heat');
		IF random() < 0.2 THEN
			CALL tbf_rollup_refresh('busy_heat', '2024-01-01', '2024-01-02');
		END IF;
	END LOOP;
END $$;
-- One snapshot sees each hit once: no fewer hits than the snapshot before, and no more than the source has.
CREATE FUNCTION read_busy() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen float8 := 0;
	now_ float8;
	written bigint;
	wrong text := '';
BEGIN
	FOR i IN 1 .. 150 LOOP
		SELECT coalesce((SELECT sum(hits) FROM busy_heat), 0), (SELECT count(*) FROM busy) INTO now_, written;
		IF wrong = '' AND (now_ < seen OR now_ > written) THEN
			wrong := format('%s hits after %s, of %s rows', now_, seen, written);
		END IF;
		seen := now_;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN wrong;
END $$;
SQL
	my @sessions = map { PsqlSession->new($db->name) } 1 .. 4;
	$sessions[$_]->sql("SELECT setseed(($random + $_ / 10.0)::numeric % 1)") foreach 0 .. 3;
	$sessions[0]->send('CALL write_busy()');
	$sessions[1]->send('CALL refresh_busy()');
	$sessions[2]->send('CALL refresh_busy()');
	$sessions[3]->send('SELECT read_busy()');
	my @answers = map { [$_->answer] } @sessions;
	is(join(' ', map { $_->[1] } @answers), '00000 00000 00000 00000', 'all of them end well') or diag(map { $_->[2] // '' } @answers);
	is($answers[3][0], '', 'a reader never sees a hit twice, or no longer');
	$db->sql("CALL tbf_rollup_refresh('busy_heat')");
	is($db->sql("SELECT differences('busy_heat', 'busy')"), '', 'each hit is counted once');
	$_->close foreach @sessions;
};

# ------------------------------------------------------------- many tenants

# Buckets with up to 2,000 groups are counted, get late rows, and are moved to the next tier.
subtest 'tenants' => sub
{
	$db->sql(<<"SQL");
SELECT setseed($random);
CREATE TABLE shops AS SELECT timestamptz '2024-01-01 UTC' + random() * interval '6 hours' AS at, '/' || i % 3 AS url, i * 7919 % 1500 AS shop FROM generate_series(1, 6000) i;
CREATE INDEX ON shops (at);
SELECT tbf_rollup_create('shops_heat', 'shops', 'url', 'at', group_by => '{shop}', tiers => '{hour,day}', keep => '{1 day,null}');
CALL tbf_rollup_refresh('shops_heat');
SQL
	my $wrong = "SELECT count(*) FROM (SELECT shop, count(*) AS hits FROM shops GROUP BY shop) e FULL JOIN (SELECT (groups->>'shop')::int AS shop, sum(hits) AS hits FROM shops_heat GROUP BY 1) r USING (shop) WHERE e.hits IS DISTINCT FROM r.hits";
	is($db->sql($wrong) . $db->sql("SELECT differences('shops_heat', 'shops')"), '0', 'the hits of each tenant');
	$db->sql("INSERT INTO shops SELECT timestamptz '2024-01-01 05:00 UTC' + random() * interval '1 hour', '/new', i FROM generate_series(0, 1999) i");
	$db->sql("CALL tbf_rollup_refresh('shops_heat')");
	is($db->sql($wrong) . $db->sql("SELECT differences('shops_heat', 'shops')"), '0', 'and those of later rows, also of new tenants');
	$db->sql("INSERT INTO shops VALUES ('2024-01-04 UTC', '/', 1)");
	$db->sql("CALL tbf_rollup_refresh('shops_heat')");
	is($db->sql("SELECT count(*) FROM shops_heat WHERE tier = 1"), '1', 'hours are folded');
	is($db->sql($wrong) . $db->sql("SELECT differences('shops_heat', 'shops')"), '0', 'and each tenant keeps its hits');
};

# ------------------------------------------------------------- dropped in between

# Waits until this session waits for an advisory lock.
sub until_waiting
{
	my ($pid) = @_;
	for (1 .. 3000)
	{
		return if $db->sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND pid = $pid") > 0;
		sleep(0.01);
	}
	die "session $pid should wait for an advisory lock";
}

subtest 'a roll-up that is dropped while a refresh writes it' => sub
{
	$db->sql("CREATE TABLE brief AS SELECT timestamptz '2024-01-01 UTC' + i * interval '1 minute' AS at, '/' || i % 7 AS url FROM generate_series(1, 300) i; CREATE INDEX ON brief (at);
		SELECT tbf_rollup_create('brief_heat', 'brief', 'url', 'at', condition => 'pg_advisory_xact_lock_shared(39) IS NOT NULL')");
	# the first refresh, which changes the definition before it locks the table
	$db->sql("CALL tbf_rollup_refresh('brief_heat')");
	$db->sql("INSERT INTO brief SELECT max(at) + interval '1 minute', '/new' FROM brief");
	my ($holder, $refresh, $drop) = map { PsqlSession->new($db->name) } 1 .. 3;
	my ($refreshing, $dropping) = map { $_->sql('SELECT pg_backend_pid()') } $refresh, $drop;
	# the condition of the roll-up waits for a lock, so the refresh stops after it has locked the table and before it
	# changes the definition
	$holder->ask('SELECT pg_advisory_lock(39)');
	$refresh->send("CALL tbf_rollup_refresh('brief_heat')");
	until_waiting($refreshing);
	$drop->send("SELECT tbf_rollup_drop('brief_heat')");
	until_waiting($dropping);
	$holder->ask('SELECT pg_advisory_unlock(39)');
	my @refreshed = $refresh->answer;
	my @dropped = $drop->answer;
	is($dropped[1], '00000', 'it is dropped') or diag($dropped[2] // '');
	like($refreshed[1], qr/^(42809|42P01)$/, 'the refresh finds that it is gone; they never wait for each other') or diag($refreshed[2] // '');
	$_->close foreach $holder, $refresh, $drop;
};

# ------------------------------------------------------------- dump and restore

subtest 'dump and restore' => sub
{
	my $scratch = StreambloomTap::scratch();
	my $restored = StreambloomTap->new('039_restored', bare => 1);
	my $source = StreambloomTap->new('039_dumped', bare => 1);

	$source->make_role('streambloom_039', 'NOLOGIN');
	$source->sql(<<'SQL');
CREATE SCHEMA "my filters";
CREATE EXTENSION streambloom SCHEMA "my filters";
GRANT USAGE ON SCHEMA "my filters" TO streambloom_039;
CREATE SCHEMA logs AUTHORIZATION streambloom_039;
SET ROLE streambloom_039;
CREATE TABLE logs.log AS SELECT timestamptz '2024-01-01 UTC' + i * interval '17 minutes' AS at, '/' || i % 37 AS url FROM generate_series(1, 5000) i;
CREATE INDEX ON logs.log (at);
SELECT "my filters".tbf_rollup_create('logs.heat', 'logs.log', 'url', 'at', half_life => '3 days');
CALL "my filters".tbf_rollup_refresh('logs.heat');
SELECT "my filters".tbf_rollup_create('logs.gone', 'logs.log', 'url', 'at');
DROP TABLE logs.gone;
CREATE TABLE logs.dropped (at timestamptz, url text);
SELECT "my filters".tbf_rollup_create('logs.remains', 'logs.dropped', 'url', 'at');
DROP TABLE logs.dropped;
RESET ROLE;
SQL
	# The refresh fails, and sets the dropped source in the definition to 0. Otherwise the dump would hold the source's
	# OID, and in the database where it is restored, another table might have this OID.
	isnt($source->sqlstate('SET ROLE streambloom_039; CALL "my filters".tbf_rollup_refresh(\'logs.remains\')'), '00000', 'the refresh of a roll-up whose source was dropped fails');
	my ($code, undef, $err) = StreambloomTap::run_program('', StreambloomTap::client_program('pg_dump'), '-Fc', '-f', "$scratch/rollups.dump", $source->name);
	is($code, 0, 'pg_dump') or diag($err);
	($code, undef, $err) = StreambloomTap::run_program('', StreambloomTap::client_program('pg_restore'), '-j', '2', '-e', '-d', $restored->name, "$scratch/rollups.dump");
	is($code, 0, 'pg_restore') or diag($err);
	my $state = 'SELECT rollup, source, item, half_life, counted_to, complete_to, folded, owner FROM "my filters".tbf_rollups ORDER BY rollup::text';
	is($restored->sql($state), $source->sql($state), 'the definition, and how far it is');
	is($restored->sql('SELECT source FROM "my filters".tbf_rollups WHERE rollup = \'logs.remains\'::regclass'), '-', 'where the source was dropped, no number of it');
	is($restored->sql('SELECT count(*) FROM "my filters".tbf_rollup_definitions'), '2', 'but nothing of a roll-up that was dropped');
	is($restored->sql('SELECT md5(string_agg(h::text, \';\' ORDER BY starts)) FROM logs.heat h'), $source->sql('SELECT md5(string_agg(h::text, \';\' ORDER BY starts)) FROM logs.heat h'), 'the rows');
	$restored->sql('INSERT INTO logs.log SELECT max(at) + interval \'5 hours\', \'/new\' FROM logs.log; SET ROLE streambloom_039; CALL "my filters".tbf_rollup_refresh(\'logs.heat\')');
	is($restored->sql('SELECT hits_from, hits_to FROM "my filters".tbf_rollup_count_between(\'logs.heat\', \'/new\', NULL, NULL)') . ' ' . $restored->sql('SELECT sum(hits) = (SELECT count(*) FROM logs.log) FROM logs.heat'), '1|1 t', 'it goes on');
	($code, undef, $err) = $restored->try('DROP EXTENSION streambloom CASCADE');
	is($code, 0, 'the extension can be dropped') or diag($err);
};

# The owner of a database, who is no superuser, has created the extension. The extension belongs to this owner, but the
# table of the extension belongs to a superuser.
subtest 'dump and restore by the owner of the database' => sub
{
	my $scratch = StreambloomTap::scratch();
	my @ends = map { StreambloomTap->new("039_owner_$_", bare => 1) } qw(from to);
	my ($source, $restored) = @ends;

	$source->make_role('streambloom_039_owner', 'NOLOGIN NOSUPERUSER');
	$_->sql('ALTER DATABASE ' . $_->name . ' OWNER TO streambloom_039_owner; ALTER SCHEMA public OWNER TO streambloom_039_owner') foreach @ends;
	$source->sql(<<'SQL');
SET ROLE streambloom_039_owner;
CREATE EXTENSION streambloom;
CREATE TABLE log AS SELECT timestamptz '2024-01-01 UTC' + i * interval '17 minutes' AS at, '/' || i % 37 AS url FROM generate_series(1, 100) i;
SELECT tbf_rollup_create('heat', 'log', 'url', 'at');
CALL tbf_rollup_refresh('heat');
SQL
	foreach (['pg_dump', '-Fc', '-f', "$scratch/owner.dump", $source->name], ['pg_restore', '-e', '--no-comments', '-d', $restored->name, "$scratch/owner.dump"])
	{
		my ($program, @arguments) = @$_;
		my ($code, undef, $err) = StreambloomTap::run_program('', StreambloomTap::client_program($program), '--role=streambloom_039_owner', @arguments);
		is($code, 0, $program) or diag($err);
	}
	my $state = 'SET ROLE streambloom_039_owner; SELECT rollup, source, counted_to, owner FROM tbf_rollups';
	is($restored->sql($state), $source->sql($state), 'the definition');
	$restored->sql("SET ROLE streambloom_039_owner; INSERT INTO log SELECT max(at), '/new' FROM log; CALL tbf_rollup_refresh('heat')");
	is($restored->sql('SELECT sum(hits) FROM heat'), '101', 'it goes on');
};

# A dump of one schema has the roll-up's table, but not its definition, which is in a table of the extension.
subtest 'dump and restore of a schema' => sub
{
	my $scratch = StreambloomTap::scratch();
	my ($source, $restored) = map { StreambloomTap->new("039_schema_$_") } qw(from to);
	my $create = "SELECT tbf_rollup_create('logs.heat', 'logs.log', 'url', 'at', tiers => '{hour,day}', keep => '{10 hours,null}', half_life => '3 days')";

	$source->sql(<<"SQL");
CREATE SCHEMA logs;
CREATE TABLE logs.log AS SELECT timestamptz '2024-01-01 UTC' + i * interval '17 minutes' AS at, '/' || i % 37 AS url FROM generate_series(1, 300) i;
CREATE INDEX ON logs.log (at);
$create;
CALL tbf_rollup_refresh('logs.heat');
DELETE FROM logs.log WHERE at < '2024-01-03 UTC';
SQL
	foreach (['pg_dump', '-Fc', '-n', 'logs', '-f', "$scratch/schema.dump", $source->name], ['pg_restore', '-e', '-d', $restored->name, "$scratch/schema.dump"])
	{
		my ($program, @arguments) = @$_;
		my ($code, undef, $err) = StreambloomTap::run_program('', StreambloomTap::client_program($program), @arguments);
		is($code, 0, $program) or diag($err);
	}
	like(($restored->try("CALL tbf_rollup_refresh('logs.heat')"))[2], qr/Its definition is lost. Call tbf_rollup_create/, 'the hint says what to do');
	$restored->sql($create);
	my $state = 'SELECT rollup, source, counted_to, complete_to, folded[1], half_life, (SELECT sum(hits) FROM logs.heat) FROM tbf_rollups';
	is($restored->sql($state), $source->sql($state), 'a table without a definition gets one, and is as far as it was');
	$restored->sql("INSERT INTO logs.log SELECT max(at) + interval '1 minute', '/new' FROM logs.log; CALL tbf_rollup_refresh('logs.heat')");
	is($restored->sql('SELECT sum(hits) FROM logs.heat'), '301', 'it goes on');
};

# ------------------------------------------------------------- other questions

# The = of hstore is in the schema of that extension. Questions and refreshes do not have it in their search_path.
subtest 'items of a type of another extension' => sub
{
	plan skip_all => 'this PostgreSQL has no hstore' if $db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'hstore'") == 0;
	$db->sql(<<'SQL');
CREATE EXTENSION hstore;
CREATE TABLE marks AS SELECT timestamptz '2024-01-01 UTC' + i * interval '1 minute' AS at, hstore('n', floor(sqrt(i))::text) AS mark FROM generate_series(1, 24) i;
SELECT tbf_rollup_create('marks_heat', 'marks', 'mark', 'at', half_life => NULL);
CALL tbf_rollup_refresh('marks_heat');
SQL
	foreach my $counted ('false', 'true')
	{
		is($db->sql("SELECT item, hits_from, hits_to, others_to FROM tbf_rollup_top('marks_heat', 2, counted => $counted)"), "\"n\"=>\"4\"|9|9|5\n\"n\"=>\"3\"|7|7|5", "the hottest; counted: $counted")
			or diag($db->sql("SELECT * FROM tbf_rollup_top('marks_heat', 2, counted => $counted)"));
	}
	is($db->sql("SELECT item, hits_to, before_to FROM tbf_rollup_risers('marks_heat', 1, '2024-01-01 00:59 UTC', at_least => 1, recent => '1 hour')"), '"n"=>"4"|9|0', 'what rises');
	is($db->sql("SELECT * FROM tbf_rollup_count('marks_heat', hstore('n', '2'))"), '5|5', 'the hits of one');
	# The source has lost a hit. So the bucket of the hour is not counted anew when it is closed: its rows are merged
	# into one.
	$db->sql("INSERT INTO marks VALUES ('2024-01-01 00:25 UTC', hstore('n', '2')); CALL tbf_rollup_refresh('marks_heat'); DELETE FROM marks WHERE at = '2024-01-01 00:01 UTC'");
	$db->sql("INSERT INTO marks VALUES ('2024-01-01 05:00 UTC', hstore('n', '2')); CALL tbf_rollup_refresh('marks_heat')");
	is($db->sql("SELECT closed, hits, cardinality(hot) FROM marks_heat WHERE starts = '2024-01-01 00:00 UTC'"), 't|25|4', 'its bucket is closed');
	is($db->sql("SELECT * FROM tbf_rollup_count('marks_heat', hstore('n', '2'))"), '7|7', 'the hits of one then');
};

# Equal items of the type citext may be written in different ways. Their hits belong together, in filters and in lists.
subtest 'texts without case, in rows with counters' => sub
{
	plan skip_all => 'this PostgreSQL has no citext' if $db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'") == 0;
	$db->sql(<<'SQL');
CREATE EXTENSION citext;
CREATE TABLE names AS SELECT timestamptz '2024-01-01 UTC' + i * interval '1 ms' AS at, ('Name ' || i)::citext AS name FROM generate_series(1, 70000) i;
SELECT tbf_rollup_create('names_heat', 'names', 'name', 'at', half_life => NULL, top => 100);
CALL tbf_rollup_refresh('names_heat');
INSERT INTO names SELECT timestamptz '2024-01-01 00:10 UTC' + j * interval '1 minute', upper('Name ' || i) FROM generate_series(1, 20) i, generate_series(1, 3) j;
CALL tbf_rollup_refresh('names_heat');
SQL
	my $wrong = "SELECT count(*) FROM (SELECT name, count(*) AS n FROM names WHERE right(name::text, 2) IN ('7', ' 7', '77') GROUP BY name) e, tbf_rollup_count('names_heat', e.name) c WHERE (e.n BETWEEN c.hits_from AND c.hits_to) IS NOT TRUE";
	is($db->sql($wrong), '0', 'no count is wrong');
	is($db->sql("SELECT hits_to >= 4 FROM tbf_rollup_count('names_heat', 'nAME 7'::citext)"), 't', 'hits of both ways to write it');
	# The source has lost a hit. So the bucket of the hour is not counted anew when it is closed: its rows are merged
	# into one.
	$db->sql("DELETE FROM names WHERE name = 'name 70000'");
	$db->sql("INSERT INTO names VALUES ('2024-01-01 05:00 UTC', 'name 7'); CALL tbf_rollup_refresh('names_heat')");
	is($db->sql("SELECT count(*), bool_and(closed), sum(hits) FROM names_heat WHERE starts = '2024-01-01 00:00 UTC'"), '1|t|70060', 'its bucket is closed');
	is($db->sql($wrong), '0', 'no count is wrong then');
	is($db->sql("SELECT * FROM tbf_rollup_top('names_heat', 2, '2024-01-01 04:00 UTC')"), "Name 1|4|4|4\nName 10|4|4|4", 'the hottest that lists have');
};

# A filter of more than 65,536 items has counters, which count some items too high. Each item has one hit.
subtest 'risers in rows with counters' => sub
{
	$db->sql(<<'SQL');
CREATE TABLE once (at timestamptz, n int);
INSERT INTO once SELECT timestamptz '2024-01-01 00:00 UTC' + i * interval '1 ms', i FROM generate_series(1, 70000) i;
SELECT tbf_rollup_create('once_heat', 'once', 'n', 'at', half_life => NULL, top => 10000);
CALL tbf_rollup_refresh('once_heat');
SQL
	cmp_ok($db->sql('SELECT count(*) FROM once_heat, unnest(hot) item WHERE tbf_count(f, item) > 1'), '>', 0, 'some of the list are counted too high');
	is($db->sql("SELECT count(*), min(hits_from), max(hits_from), min(hits_to) FROM tbf_rollup_risers('once_heat', 10000, '2024-01-01 03:00 UTC', at_least => 1)"), '10000|1|1|1', 'hits_from is what the list has');
	# The same hits once more two days later, so that the first ones are those before.
	$db->sql(<<'SQL');
SELECT tbf_rollup_create('twice_heat', 'once', 'n', 'at', half_life => NULL, top => 10000);
CALL tbf_rollup_refresh('twice_heat');
INSERT INTO once SELECT at + interval '2 days', n FROM once;
CALL tbf_rollup_refresh('twice_heat');
SQL
	is($db->sql("SELECT count(*), max(before_from) <= 1, min(before_to) > 0 FROM tbf_rollup_risers('twice_heat', 10000, '2024-01-03 03:00 UTC', at_least => 1)"), '10000|t|t', 'and so is before_from');
};

# ------------------------------------------------------------- other sources

subtest 'a foreign table' => sub
{
	plan skip_all => 'this PostgreSQL has no postgres_fdw' if $db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == 0;
	my ($port, $host) = split /\|/, $db->sql("SELECT current_setting('port'), split_part(current_setting('unix_socket_directories'), ',', 1)");
	$db->sql(<<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '${\ $db->name}');
CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user '$ENV{PGUSER}', password_required 'false');
CREATE TABLE far AS SELECT timestamptz '2024-01-01 UTC' + i * interval '13 minutes' AS at, '/' || i % 11 AS url FROM generate_series(1, 3000) i;
CREATE FOREIGN TABLE near (at timestamptz, url text) SERVER here OPTIONS (table_name 'far');
SELECT tbf_rollup_create('near_heat', 'near', 'url', 'at');
CALL tbf_rollup_refresh('near_heat');
INSERT INTO far SELECT max(at) + interval '1 hour', '/new' FROM far;
CALL tbf_rollup_refresh('near_heat');
SQL
	is($db->sql("SELECT differences('near_heat', 'far')"), '', 'each hit is counted once');
};

subtest 'a hypertable' => sub
{
	plan skip_all => 'TimescaleDB is not installed, or not preloaded' if $db->sql("SELECT count(*) FROM pg_available_extensions WHERE name = 'timescaledb'") == 0 || $db->sqlstate('CREATE EXTENSION timescaledb') ne '00000';
	$db->sql(<<'SQL');
CREATE TABLE hyper (at timestamptz NOT NULL, url text);
SELECT create_hypertable('hyper', 'at', chunk_time_interval => interval '7 days');
INSERT INTO hyper SELECT timestamptz '2024-01-01 UTC' + i * interval '13 minutes', '/' || i % 11 FROM generate_series(1, 3000) i;
SELECT tbf_rollup_create('hyper_heat', 'hyper', 'url', 'at');
CALL tbf_rollup_refresh('hyper_heat');
CREATE TABLE hyper_copy AS TABLE hyper;
SELECT drop_chunks('hyper', timestamptz '2024-01-15 UTC');
CALL tbf_rollup_refresh('hyper_heat', '-infinity', 'infinity');
SQL
	is($db->sql("SELECT differences('hyper_heat', 'hyper_copy')"), '', 'each hit is counted once, also of chunks that were dropped');
};

done_testing();
