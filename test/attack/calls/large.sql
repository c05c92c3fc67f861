-- large.sql: makes large filters, up to sizes with which one call takes a large part of a second. They are made once,
-- because making them takes long too. The functions that return the filters are declared immutable, so that the planner
-- evaluates their calls.
\set ON_ERROR_STOP on
SET search_path = attack, public;

BEGIN; -- in the transaction that makes the table, so with wal_level = minimal nothing is written to the WAL
CREATE TABLE large_filters (n int PRIMARY KEY, b bf, t tbf, s sbf, i ibf, a abf);
INSERT INTO large_filters VALUES
	(1, bf_empty(40000000), tbf_add(tbf_empty(12700000), 7::bigint, '2024-05-01 UTC'), sbf_empty(30000000), ibf_empty(30000000), abf_empty(20000000)),
	(2, bf_add(bf_empty(20000000), 7::bigint), tbf_add(tbf_empty(3000000, layout => 'flat'), 7::bigint, '2024-05-01 UTC'),
		sbf_add(sbf_empty(30000000, cell_bits => 8), 7::bigint), ibf_add(ibf_empty(30000000, cell_bits => 8), 7::bigint, 0.5),
		abf_add(abf_empty(10000000, within => '1 hour'), 7::bigint, '2024-05-01 UTC')),
	(3, bf_empty(20000000, 0.5), tbf_empty(12000000), sbf_empty(10000000, cell_bits => 1), ibf_empty(10000000, cell_bits => 2), abf_add(abf_empty(10000000), 7::bigint)),
	(4, NULL, tbf_add(tbf_empty(12700000, half_life => NULL), 7::bigint, '2024-05-01 UTC', 1e6), NULL, NULL, NULL);
COMMIT;
CREATE FUNCTION large_bf(int) RETURNS bf IMMUTABLE LANGUAGE sql AS 'SELECT b FROM attack.large_filters WHERE n = $1';
CREATE FUNCTION large_tbf(int) RETURNS tbf IMMUTABLE LANGUAGE sql AS 'SELECT t FROM attack.large_filters WHERE n = $1';
CREATE FUNCTION large_sbf(int) RETURNS sbf IMMUTABLE LANGUAGE sql AS 'SELECT s FROM attack.large_filters WHERE n = $1';
CREATE FUNCTION large_ibf(int) RETURNS ibf IMMUTABLE LANGUAGE sql AS 'SELECT i FROM attack.large_filters WHERE n = $1';
CREATE FUNCTION large_abf(int) RETURNS abf IMMUTABLE LANGUAGE sql AS 'SELECT a FROM attack.large_filters WHERE n = $1';
