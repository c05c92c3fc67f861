-- index_call: CALL bf_summarize with out-of-line values: repeatedly, for partitions, and called from everywhere
CREATE TABLE long (id integer, w text) PARTITION BY RANGE (id);
CREATE TABLE long_1 PARTITION OF long FOR VALUES FROM (0) TO (100);
CREATE TABLE long_2 PARTITION OF long FOR VALUES FROM (100) TO (200);
CREATE TABLE long_3 PARTITION OF long FOR VALUES FROM (200) TO (300);
ALTER TABLE long_1 ALTER w SET STORAGE external;
ALTER TABLE long_2 ALTER w SET STORAGE external;
ALTER TABLE long_3 ALTER w SET STORAGE external;
CREATE FUNCTION long_of(i integer) RETURNS text LANGUAGE sql IMMUTABLE RETURN repeat(md5(i::text), 500);
CREATE INDEX long_bf ON long USING bf (w, right(w, 40)) WITH (pages_per_range = 1) WHERE length(w) > 10;
CREATE VIEW unsummarized AS
	SELECT indexrelid::regclass AS index, (SELECT max(unsummarized) FROM bf_index_stats(indexrelid)) AS ranges
	FROM pg_index WHERE indrelid IN ('long_1'::regclass, 'long_2'::regclass, 'long_3'::regclass) ORDER BY 1;
-- rows in a range that is not summarized, in each partition
CREATE PROCEDURE more() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM bf_desummarize_range(index, 0) FROM unsummarized;
	INSERT INTO long SELECT i, long_of(i) FROM generate_series(0, 299, 10) i;
END $$;

CALL more();
CALL bf_summarize('long');
SELECT * FROM unsummarized;
CALL more();
CALL bf_summarize('long');
CALL more();
CALL bf_summarize('long_bf');
SELECT * FROM unsummarized;
CALL more();
CALL bf_summarize('long_1');
CALL bf_summarize('long_2');
CALL bf_summarize('long_3_w_right_idx');
SELECT * FROM unsummarized;

-- called in a DO block, in a procedure that commits itself, and in a transaction
CALL more();
DO $$ BEGIN CALL bf_summarize('long'); CALL bf_summarize('long'); END $$;
SELECT * FROM unsummarized;
CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$
BEGIN
	CALL more();
	COMMIT;
	CALL bf_summarize('long');
	CALL more();
	CALL bf_summarize('long');
	COMMIT;
	CALL bf_summarize('long');
END $$;
CALL twice();
SELECT * FROM unsummarized;
BEGIN;
CALL more();
CALL bf_summarize('long');
SAVEPOINT s;
CALL bf_summarize('long');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL bf_summarize('long');
COMMIT;
SET default_transaction_isolation = serializable;
CALL more();
CALL bf_summarize('long');
CALL bf_summarize('long');
RESET default_transaction_isolation;
SELECT * FROM unsummarized;

-- ranges are summarized by a function and by VACUUM
CALL more();
SELECT bf_summarize_new_values('long_1_w_right_idx') > 0 AS some, bf_summarize_range('long_2_w_right_idx', 0);
VACUUM long;
SELECT * FROM unsummarized;
COPY long FROM PROGRAM 'for i in $(seq 0 99); do printf "%s\t%05000d\n" $i $i; done';
SELECT bf_index_check(index) > 0 AS whole FROM unsummarized;
SELECT answers('SELECT id FROM long WHERE length(w) > 10 AND w = long_of(210)');

DROP VIEW unsummarized;
DROP TABLE long;
DROP FUNCTION long_of;
DROP PROCEDURE more, twice;

-- an expression that itself needs a snapshot: a SQL function that is not inlined
CREATE FUNCTION joined(a text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT array_to_string(a, ',') $$;
CREATE TABLE joined_parts (id int, c text[]) PARTITION BY HASH (id);
CREATE TABLE joined_parts_1 PARTITION OF joined_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (autovacuum_enabled = off);
CREATE TABLE joined_parts_2 PARTITION OF joined_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (autovacuum_enabled = off);
CREATE INDEX joined_bf ON joined_parts USING bf (joined(c)) WITH (pages_per_range = 1) WHERE joined(c) <> '';
INSERT INTO joined_parts SELECT i, ARRAY[i::text] FROM generate_series(1, 1000) i;
CALL bf_summarize('joined_parts');
SELECT count(*) FROM joined_parts WHERE joined(c) = '7';
DROP TABLE joined_parts;
DROP FUNCTION joined;
