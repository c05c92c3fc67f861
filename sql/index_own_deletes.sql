-- index_own_deletes: a transaction removes the rows for which an expression fails, and then makes an index on the expression
-- the plans here are those of statistics alone; index_estimates.sql has the others
SET streambloom.enable_index_estimates = off;
CREATE TABLE t (id integer, x integer, pad text) WITH (fillfactor = 50, autovacuum_enabled = off);
ALTER TABLE t ALTER pad SET STORAGE plain;
INSERT INTO t SELECT i, i % 5, repeat('x', 1000) FROM generate_series(1, 40) i;

-- rows are updated (by HOT too) or deleted, in a savepoint, not seen by others; the index is right during and after the transaction
BEGIN;
UPDATE t SET x = 1 WHERE x = 0 AND id <= 10;
SAVEPOINT deletes;
DELETE FROM t WHERE x = 0 AND id <= 30;
RELEASE deletes;
UPDATE t SET x = 1, pad = repeat('y', 3000) WHERE x = 0;
INSERT INTO t VALUES (41, 0, 'and gone');
DELETE FROM t WHERE id = 41;
CREATE INDEX t_x ON t USING bf ((1000 / x)) WITH (pages_per_range = 1);
CREATE INDEX t_some ON t USING bf (id) WITH (pages_per_range = 1) WHERE 1000 / x > 300;
SELECT answers('SELECT id FROM t WHERE 1000 / x = 1000');
SELECT bf_index_check('t_x') > 20 AS x, bf_index_check('t_some') > 0 AS some;
REINDEX INDEX t_x;
SELECT answers('SELECT id FROM t WHERE 1000 / x = 1000');
COMMIT;
SELECT answers('SELECT id FROM t WHERE 1000 / x = 1000');
SELECT bf_index_check('t_x') >= (SELECT count(*) FROM t) AS all, bf_index_check('t_some') > 0 AS some;
DROP INDEX t_x, t_some;

-- rows that a rollback brings back fail again
UPDATE t SET x = 0 WHERE id = 7;
BEGIN;
SAVEPOINT deletes;
DELETE FROM t WHERE x = 0;
CREATE INDEX t_x ON t USING bf ((1000 / x));
ROLLBACK TO deletes;
SELECT error_of('CREATE INDEX t_x ON t USING bf ((1000 / x))');
COMMIT;

-- a summary serves all, and the deleting transaction may still be rolled back: so a summarizer needs these rows
CREATE FUNCTION inverse(x integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN CASE current_setting('inverse.fails', true) WHEN 'yes' THEN 1000 / x ELSE 1000 / nullif(x, 0) END;
END $$;
CREATE INDEX t_inverse ON t USING bf (inverse(x)) WITH (pages_per_range = 1);
SELECT count(bf_desummarize_range('t_inverse', i)) > 0 AS some FROM generate_series(0, 20) i;
BEGIN;
DELETE FROM t WHERE x = 0;
SET LOCAL inverse.fails = 'yes';
SELECT error_of('SELECT bf_summarize_new_values(''t_inverse'')');
SET LOCAL inverse.fails = 'no';
SELECT bf_summarize_new_values('t_inverse') > 0 AS some;
ROLLBACK;
SET enable_seqscan = off;
SELECT id FROM t WHERE inverse(x) IS NULL;
RESET enable_seqscan;
SELECT bf_index_check('t_inverse') >= (SELECT count(*) FROM t) AS all;
DROP TABLE t;
DROP FUNCTION inverse;
