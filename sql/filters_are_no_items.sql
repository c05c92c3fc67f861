-- filters_are_no_items: || adds an item; two filters are united by | or merged by +, and the error says so
CREATE TEMP TABLE f AS SELECT bf_empty(9) AS b, sbf_empty(90) AS s, ibf_empty(90) AS i, tbf_empty(9) AS t, abf_empty(9) AS a;
SELECT error, string_agg(e, ', ' ORDER BY n) AS of
FROM unnest(ARRAY['b || b', 's || s', 'i || i', 't || t', 'a || a', 'b || t', 't || b', 'bf_add(b, b)', 'bf_agg(b)', 'sbf_agg(s)', 'tbf_agg(t, now())', 'ibf_agg(i, 1)', 'abf_agg(a)', 'abf_add_all(abf_empty(9), ARRAY[a])', 'b @> b', 't -> t', 'bf_add_all(b, ARRAY[b])', 'bf_agg(ARRAY[b])', 'b @> ARRAY[t]', 'bf_add(b, ROW(1, s))', 'bf_agg(f)']) WITH ORDINALITY u(e, n), error_of(format('SELECT %s FROM f', e)) error
GROUP BY error ORDER BY min(n);
-- tbf and ibf have nothing that || could add: without an operator, a string would be appended to the text of the filter
SELECT e, error_of(format('SELECT %s FROM f', e)) FROM unnest(ARRAY['t || ''x''', 't || ''x''::text', 't || 7', 'i || ''x''', 'i || ''x''::text', 'i || 7']) e;
PREPARE added AS SELECT t || $1 FROM f;
EXECUTE added ('x');
SELECT t || NULL::text IS NULL AS null_item, b || 'x' @> 'x' AS bf, s || 'x'::text @> 'x' AS sbf, a || 'x' @> 'x' AS abf, a || 'x'::text @> 'x' AS abf_text, b::text || 'x' = b::text || 'x'::text AS as_text FROM f;
-- a filter in a range or a domain is no item, either
CREATE TYPE filters AS RANGE (subtype = bf);
CREATE DOMAIN filter AS tbf;
SELECT e, error_of(format('SELECT %s FROM f', e)) FROM unnest(ARRAY['b || filters(b, NULL)', 'bf_agg(t::filter)', 'bf_agg(ARRAY[t::filter])']) e;
