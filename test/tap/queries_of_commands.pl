# Queries that PostgreSQL runs in the middle of a command: the checks of foreign keys on ATTACH, DETACH and VALIDATE,
# materialized views, functions of indexes, defaults and constraints, event triggers. Each command does with all nodes
# and estimates what it does without them, also if it is the first one of its session: it succeeds, or the error is the
# same. A query in the middle of DETACH, for example, must not make the command's own changes visible to itself.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use StreambloomTap;
use Test::More;

StreambloomTap::require_cluster();
my $db = StreambloomTap->new('062');
$db->sql(<<'SQL');
CREATE TABLE pk (a int PRIMARY KEY, b int) PARTITION BY RANGE (a);
CREATE TABLE pk1 PARTITION OF pk FOR VALUES FROM (0) TO (1000);
CREATE TABLE pk2 PARTITION OF pk FOR VALUES FROM (1000) TO (2000) PARTITION BY RANGE (a);
CREATE TABLE pk3 (a int PRIMARY KEY, b int) PARTITION BY RANGE (a);
CREATE TABLE fk (a int REFERENCES pk, b int);
CREATE TABLE parted (a int, b int) PARTITION BY RANGE (b);
CREATE TABLE more (a int, b int) PARTITION BY RANGE (b);
DO $$ BEGIN FOR i IN 0..119 LOOP
	EXECUTE format('CREATE TABLE pk2_%s PARTITION OF pk2 FOR VALUES FROM (%s) TO (%s)', i, 1000 + i * 8, 1008 + i * 8);
	EXECUTE format('CREATE TABLE pk3_%s PARTITION OF pk3 FOR VALUES FROM (%s) TO (%s)', i, 2000 + i * 8, 2008 + i * 8);
	EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	EXECUTE format('CREATE TABLE more_%s PARTITION OF more FOR VALUES FROM (%s) TO (%s)', i, 200 + i, 201 + i);
END LOOP; END $$;
INSERT INTO pk SELECT a, a % 7 FROM generate_series(0, 1900) a;
INSERT INTO pk3 SELECT a, a % 7 FROM generate_series(2000, 2900) a;
INSERT INTO fk SELECT a, a FROM generate_series(0, 10) a;
INSERT INTO fk VALUES (1005, 1);
INSERT INTO parted SELECT a, a % 120 FROM generate_series(0, 1900) a;
INSERT INTO more SELECT a, 200 + a % 120 FROM generate_series(0, 1900) a;
CREATE INDEX ON pk USING bf (a);
CREATE INDEX ON pk3 USING bf (a);
CREATE INDEX ON fk USING bf (a);
CREATE INDEX ON parted USING bf (a);
CREATE INDEX ON more USING bf (a);
CREATE MATERIALIZED VIEW seen AS SELECT a, count(*) AS c FROM pk WHERE a = 1005 OR a = 1900 GROUP BY a;
CREATE UNIQUE INDEX ON seen (a);
CREATE FUNCTION b_of(wanted int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT b FROM public.pk WHERE a = wanted); END $$;
CREATE FUNCTION look() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	RAISE NOTICE '% %: %', TG_EVENT, TG_TAG, (SELECT count(*) FROM pk JOIN parted USING (a) WHERE a IN (1005, 1500));
	IF to_regclass('pk2') IS NOT NULL THEN
		RAISE NOTICE 'pk2: %', (SELECT count(*) FROM pk2 WHERE a = 1500);
	END IF;
END $$;
ANALYZE;
SQL

my $detach = 'ALTER TABLE pk DETACH PARTITION pk2';
my $triggers = join '', map { "CREATE EVENT TRIGGER $_ ON $_ EXECUTE FUNCTION look(); " } qw(ddl_command_start sql_drop table_rewrite ddl_command_end);
my @commands = (
	$detach,
	"DELETE FROM fk WHERE a > 1000; $detach; SELECT count(*) FROM pk; SELECT count(*) FROM pk2",
	"SELECT count(*) FROM pk WHERE a = 1005; $detach",
	"CREATE TABLE fk2 (a int REFERENCES pk); $detach",
	'ALTER TABLE pk ATTACH PARTITION pk3 FOR VALUES FROM (2000) TO (3000); ALTER TABLE pk DETACH PARTITION pk3; SELECT count(*) FROM pk3',
	'ALTER TABLE parted ADD FOREIGN KEY (a) REFERENCES pk; ALTER TABLE parted ATTACH PARTITION more FOR VALUES FROM (200) TO (400); '
	  . 'ALTER TABLE parted DETACH PARTITION more; INSERT INTO more VALUES (5000, 200)',
	'INSERT INTO more VALUES (5000, 200); ALTER TABLE parted ADD FOREIGN KEY (a) REFERENCES pk; '
	  . 'ALTER TABLE parted ATTACH PARTITION more FOR VALUES FROM (200) TO (400)',
	'INSERT INTO parted VALUES (5000, 1); ALTER TABLE parted ADD FOREIGN KEY (a) REFERENCES pk',
	'ALTER TABLE parted_1 ADD CONSTRAINT later FOREIGN KEY (a) REFERENCES pk NOT VALID; ALTER TABLE parted_1 VALIDATE CONSTRAINT later',
	'INSERT INTO parted VALUES (5000, 1); ALTER TABLE parted_1 ADD CONSTRAINT later FOREIGN KEY (a) REFERENCES pk NOT VALID; '
	  . 'ALTER TABLE parted_1 VALIDATE CONSTRAINT later',
	'DELETE FROM pk WHERE a = 1005', 'DELETE FROM pk WHERE a = 1500; SELECT count(*) FROM pk', 'UPDATE pk SET a = 1999 WHERE a = 5',
	'DELETE FROM pk WHERE a = 1900; REFRESH MATERIALIZED VIEW seen; TABLE seen',
	'DELETE FROM pk WHERE a = 1900; REFRESH MATERIALIZED VIEW CONCURRENTLY seen; TABLE seen',
	'CREATE TABLE made AS SELECT pk.b FROM pk JOIN fk USING (a) WHERE pk.a > 1000; TABLE made',
	'CREATE INDEX ON fk (b_of(a)); REINDEX TABLE fk; INSERT INTO fk VALUES (1500, 1)',
	'CREATE INDEX by_b ON fk (b_of(a)); CLUSTER fk USING by_b; SELECT a, b FROM fk ORDER BY a',
	'ALTER TABLE fk ADD COLUMN c int DEFAULT b_of(1500); TABLE fk',
	'ALTER TABLE fk ALTER COLUMN b TYPE text USING b_of(a); TABLE fk',
	'ALTER TABLE fk ADD CHECK (b_of(a) >= 0); INSERT INTO fk VALUES (1500, 1)',
	'ALTER TABLE pk2 ADD CHECK (b_of(a) >= 0)',
	'DROP TABLE pk2_5; SELECT count(*) FROM pk', 'DROP TABLE pk2', 'TRUNCATE pk', 'TRUNCATE pk2', 'TRUNCATE pk CASCADE; SELECT count(*) FROM pk',
	"$triggers$detach", "$triggers DELETE FROM fk WHERE a > 1000; $detach",
	"$triggers DROP TABLE pk2_5", "$triggers DELETE FROM fk WHERE a > 1000; DROP TABLE pk2 CASCADE",
	"$triggers ALTER TABLE pk ADD COLUMN c float8 DEFAULT random()", "$triggers ALTER TABLE pk2 RENAME COLUMN b TO c",
	"$triggers CREATE TABLE pk4 PARTITION OF pk FOR VALUES FROM (3000) TO (4000)", "$triggers DROP INDEX pk_a_idx");

# What the commands of a new session do, without the numbers of relations.
sub outcome
{
	my ($settings, $commands) = @_;
	my (undef, $out, $err) = $db->try("LOAD 'streambloom'; $settings SET client_min_messages = notice; BEGIN; $commands; ROLLBACK");

	return "$out$err" =~ s/^(LOCATION|LINE|psql).*?(?=ERROR|NOTICE|\n)//mgr =~ s/\brelation \d+/relation/gr;
}

my $without = join ' ', map { "SET streambloom.enable_$_ = off;" } qw(index_estimates partition_scan skip);
my @with = (
	['with PartitionScan', 'SET streambloom.enable_partition_scan = on;'],
	['with PartitionScan always', 'SET streambloom.enable_partition_scan = always;'],
	['with the other nodes', 'SET streambloom.enable_partition_scan = off;'],
	['with hash joins', 'SET streambloom.enable_partition_scan = on; SET enable_nestloop = off; SET enable_mergejoin = off;'],
	['with bf indexes first', 'SET streambloom.enable_partition_scan = off; SET enable_seqscan = off; SET enable_indexscan = off;']);
foreach my $commands (@commands)
{
	my $expected = outcome($without, $commands);
	my $short = $commands =~ s/^\Q$triggers\E/with event triggers: /r;

	unlike($expected, qr/\bXX\d{3}\b|syntax error|does not exist/, $short);
	is(outcome($_->[1], $commands), $expected, "the same $_->[0]: $short") foreach @with;
}

done_testing();
