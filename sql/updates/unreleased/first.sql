-- What an upgrade from 0.0.9 cannot take from sql/install: what went, what has other results, and what can only be altered. Nothing
-- of this would be allowed after a release: views that ask @> for a value with a type have to be dropped before, and made again.

DROP OPERATOR <@ ("any", bf);
DROP OPERATOR @> (bf, "any");
DROP FUNCTION bf_contained("any", bf);
DROP FUNCTION bf_contains(bf, "any");
-- ALTER OPERATOR does it from PostgreSQL 17 on.
UPDATE pg_catalog.pg_operator SET oprcanhash = true, oprcanmerge = true WHERE oid = '=(bf, bf)'::pg_catalog.regoperator;

DROP OPERATOR <@ ("any", tbf);
DROP OPERATOR @> (tbf, "any");
DROP FUNCTION tbf_contained("any", tbf);
DROP FUNCTION tbf_contains(tbf, "any");
-- ALTER OPERATOR does it from PostgreSQL 17 on.
UPDATE pg_catalog.pg_operator SET oprcanhash = true, oprcanmerge = true WHERE oid = '=(tbf, tbf)'::pg_catalog.regoperator;

DROP OPERATOR <@ ("any", sbf);
DROP OPERATOR @> (sbf, "any");
DROP FUNCTION sbf_contained("any", sbf);
DROP FUNCTION sbf_contains(sbf, "any");
-- ALTER OPERATOR does it from PostgreSQL 17 on.
UPDATE pg_catalog.pg_operator SET oprcanhash = true, oprcanmerge = true WHERE oid = '=(sbf, sbf)'::pg_catalog.regoperator;

DROP OPERATOR <@ ("any", ibf);
DROP OPERATOR @> (ibf, "any");
DROP FUNCTION ibf_contained("any", ibf);
DROP FUNCTION ibf_contains(ibf, "any");
-- ALTER OPERATOR does it from PostgreSQL 17 on.
UPDATE pg_catalog.pg_operator SET oprcanhash = true, oprcanmerge = true WHERE oid = '=(ibf, ibf)'::pg_catalog.regoperator;

-- Forms without a time, which the form with a time has as its default now.
DROP FUNCTION tbf_decay(tbf);
DROP FUNCTION tbf_error_bound(tbf, double precision);
DROP FUNCTION tbf_estimate(tbf, "any");
DROP FUNCTION tbf_estimate(tbf, bf_untyped_item);
DROP FUNCTION tbf_inner_product(tbf, tbf);
DROP FUNCTION tbf_rate(tbf, "any");
DROP FUNCTION tbf_rate(tbf, bf_untyped_item);
DROP FUNCTION tbf_remove(tbf, "any");
DROP FUNCTION tbf_remove(tbf, bf_untyped_item);
DROP FUNCTION tbf_top(tbf, integer);
DROP FUNCTION tbf_total(tbf);

-- The relation is of the type anycompatible now, which a literal is taken for, too: a name in quotes gets an error that says what to write.
DROP FUNCTION chunk_scan(anyelement, name, "any", regclass, name, text);
DROP FUNCTION chunk_scan_any(anyelement, name, "any", regclass, name, text);
DROP FUNCTION chunk_scan_explain(anyelement, name, "any", regclass, name, text);
DROP FUNCTION chunk_scan(anyelement, name, bf_untyped_item, regclass, name, text);
DROP FUNCTION chunk_scan_any(anyelement, name, bf_untyped_item, regclass, name, text);
DROP FUNCTION chunk_scan_explain(anyelement, name, bf_untyped_item, regclass, name, text);

-- What implements an operator alone has a name that begins with an underscore now.
ALTER FUNCTION bf_add_text(bf, bf_text_item) RENAME TO _bf_add_text;
ALTER FUNCTION sbf_add_text(sbf, bf_text_item) RENAME TO _sbf_add_text;
ALTER FUNCTION tbf_add_operator(tbf, "any") RENAME TO _tbf_add_operator;
ALTER FUNCTION tbf_add_operator(tbf, bf_text_item) RENAME TO _tbf_add_operator;
ALTER FUNCTION ibf_add_operator(ibf, "any") RENAME TO _ibf_add_operator;
ALTER FUNCTION ibf_add_operator(ibf, bf_text_item) RENAME TO _ibf_add_operator;

DROP FUNCTION bf_info(bf);
DROP FUNCTION tbf_info(tbf);
DROP VIEW bf_indexes;
DROP FUNCTION bf_index_overview(regclass);
DROP FUNCTION bf_index_stats(regclass);

-- afterwards: what the aggregates had as their transition functions
DROP FUNCTION bf_union_agg_add(bf, bf);
DROP FUNCTION bf_union_agg_final(bf);
DROP FUNCTION tbf_merge_agg_add(internal, tbf);
DROP FUNCTION tbf_merge_agg_add(internal, tbf, double precision);
DROP FUNCTION tbf_merge_agg_final(internal);
