-- bf_fold: the filter folded by halves while a rate still holds for its items

CREATE TEMP TABLE roomy AS SELECT bf_agg(i, n) AS f, n FROM generate_series(1, 1000) i, unnest('{1000,200000,2000000}'::int[]) n GROUP BY n;

-- it loses no item, and holds the rate that was asked
SELECT n, p, bf_contains_all(folded, ARRAY(SELECT generate_series(1, 1000))) AS holds_all, current_false_positive_rate <= 1.1 * p OR bits = (bf_info(f)).bits AS rate_holds
FROM (SELECT n, p, f, bf_fold(f, p) AS folded FROM roomy, unnest('{0.5,0.1,0.01,0.0001}'::float8[]) p OFFSET 0) s, bf_info(folded) ORDER BY n, p;

-- it gives back space by halves, as far as the number of lines can be halved (its nine significant bits stay)
SELECT n, (bf_info(f)).bits / (bf_info(bf_fold(f))).bits AS times_smaller,
	(bf_info(f)).bits / (bf_info(bf_fold(f, 0.2))).bits AS times_smaller,
	bf_fold(bf_fold(f)) = bf_fold(f) AS idempotent,
	bf_cardinality(bf_fold(f)) BETWEEN 900 AND 1100 AS estimate_is_sane
FROM roomy ORDER BY n;
SELECT bf_fold(bf_agg(i) FILTER (WHERE i <= 1000) & bf_agg(i)) = bf_agg(i) FILTER (WHERE i <= 1000) AS as_if_it_had_sized_itself FROM generate_series(1, 16000) i;

-- a folded filter can still be united with filters of its kind
SELECT bf_contains_all(bf_fold(a) | b, items) AND bf_contains_all(b | bf_fold(a), items) AND bf_contains_all(bf_fold(a) | bf_fold(b), items) AS holds_all, (bf_fold(a) | b) = (b | bf_fold(a)) AS commutes
FROM (SELECT bf_agg(i, 64000) FILTER (WHERE i <= 500) AS a, bf_agg(i, 64000) FILTER (WHERE i > 500) AS b, array_agg(i) AS items FROM generate_series(1, 1000) i) s;

-- an empty filter folds to the smallest, a full one not at all
SELECT (bf_info(bf_fold(bf_empty(2000000)))).bits = (bf_info(bf_empty(2000000))).bits / 128 AS small, (bf_info(bf_fold(bf_empty()))).item_kind;
SELECT (bf_info(bf_fold(f))).bits = (bf_info(f)).bits AS unchanged FROM (SELECT bf_agg(i, 16) AS f FROM generate_series(1, 5000) i) s;
-- not even if all its bits are set
SELECT before.bits, before.current_false_positive_rate AS rate, before.expected_items, fold.bits AS folded, fold.expected_items, compact.bits AS compacted, compact.expected_items
FROM (SELECT bf_agg(i, 400) AS f FROM generate_series(1, 200000) i) s, bf_info(f) before, bf_info(bf_fold(f, 0.5)) fold, bf_info(bf_compact(f)) compact;
-- a filter that cannot be folded any further is given back as it is
SELECT bf_fold(f) = f AS unchanged FROM (SELECT bf_agg(1) AS f) s;
SELECT bf_fold(f) = f AS unchanged FROM (SELECT bf_agg(i, 1000) AS f FROM generate_series(1, 1000) i) s;

-- NULL: the filter's own rate; no filter, no answer
SELECT bf_fold(bf_empty(16000), NULL) = bf_fold(bf_empty(16000)) AS own_rate;
SELECT bf_fold(NULL), bf_fold(NULL, 0.01), bf_fold(NULL, NULL);
