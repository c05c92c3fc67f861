-- keys_of_changed_classes: operator classes for keys inside values that change after an index was built with them
-- Functions that were added to a family can be dropped from it again. Those of a class cannot.
CREATE OPERATOR CLASS changing_ops FOR TYPE jsonb USING bf AS OPERATOR 9 ? (jsonb, text), STORAGE text;
CREATE TABLE changing (j jsonb);
INSERT INTO changing SELECT jsonb_build_object('k' || i % 100, i) FROM generate_series(1, 2000) i;
-- An index on values stays one in a session that has used it, also where a query is planned. Another session refuses it.
CREATE OPERATOR CLASS changing_value_ops FOR TYPE jsonb USING bf AS OPERATOR 1 =;
CREATE INDEX changing_values ON changing USING bf (j changing_value_ops);
SET enable_seqscan = off;
ALTER OPERATOR FAMILY changing_value_ops USING bf ADD
	FUNCTION 2 (jsonb, jsonb) gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 (jsonb, jsonb) gin_extract_jsonb_query(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (jsonb, jsonb) gin_triconsistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal);
SELECT count(*) FROM changing WHERE j = '{"k7": 7}';
\c
SET enable_seqscan = off;
SELECT count(*) FROM changing WHERE j = '{"k7": 7}';
ALTER OPERATOR FAMILY changing_value_ops USING bf DROP FUNCTION 2 (jsonb, jsonb), FUNCTION 3 (jsonb, jsonb), FUNCTION 6 (jsonb, jsonb);
\c
SET enable_seqscan = off;
SELECT count(*) FROM changing WHERE j = '{"k7": 7}';
DROP INDEX changing_values;
-- A class that has lost a function is refused by whatever needs it.
ALTER OPERATOR FAMILY changing_ops USING bf ADD
	FUNCTION 2 (jsonb, jsonb) gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 (jsonb, jsonb) gin_extract_jsonb_query(jsonb, internal, int2, internal, internal, internal, internal),
	FUNCTION 6 (jsonb, jsonb) gin_triconsistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal);
CREATE INDEX changing_keys ON changing USING bf (j changing_ops);
SELECT count(*) FROM changing WHERE j ? 'k7';
ALTER OPERATOR FAMILY changing_ops USING bf DROP FUNCTION 6 (jsonb, jsonb);
\c
SET enable_seqscan = off;
SELECT count(*) FROM changing WHERE j ? 'k7';
INSERT INTO changing VALUES ('{"k7": 7}');
SELECT bf_index_check('changing_keys');
SELECT bf_summarize_new_values('changing_keys');
REINDEX INDEX changing_keys;
-- One that has got it back serves again.
ALTER OPERATOR FAMILY changing_ops USING bf ADD FUNCTION 6 (jsonb, jsonb) gin_triconsistent_jsonb(internal, int2, jsonb, int4, internal, internal, internal);
\c
SET enable_seqscan = off;
SELECT count(*) FROM changing WHERE j ? 'k7';
SELECT bf_index_check('changing_keys') > 0 AS whole;
-- cleaning up
DROP TABLE changing;
DROP OPERATOR FAMILY changing_ops USING bf CASCADE;
DROP OPERATOR FAMILY changing_value_ops USING bf CASCADE;
