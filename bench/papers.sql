-- papers.sql: repeats one stream of bench/papers in SQL. Variables: file, type (of the items), bytes, plain_bytes.
-- Output, a line each: filter, false positives, false negatives.
SET client_min_messages = warning;
DROP TABLE IF EXISTS stream;
CREATE TEMP TABLE stream (n bigint, item :type, importance float8);
\copy stream FROM pstdin (FORMAT csv)
CREATE TEMP TABLE truth AS SELECT *, row_number() OVER (PARTITION BY item ORDER BY n) > 1 AS again FROM stream;

CREATE TEMP TABLE answers AS
SELECT again,
	sbf_duplicate(item, sbf_empty(:plain_bytes, 0.2, hashes => 5, cell_bits => 1, evictions => 0)) OVER w AS "BF",
	sbf_duplicate(item, sbf_empty(:bytes, 0.2, hashes => 5, cell_bits => 3, evictions => 10)) OVER w AS "SBF",
	ibf_duplicate(item, importance, ibf_empty(:bytes, 0.2, 'two_class', threshold => 25, hashes => 5, cell_bits => 3, evictions => 10)) OVER w AS "IBF-2C",
	ibf_duplicate(item, importance, ibf_empty(:bytes, 0.2, 'multi_class', 0, 50, hashes => 5, cell_bits => 3, evictions => 10)) OVER w AS "IBF-MC",
	ibf_duplicate(item, importance, ibf_empty(:bytes, 0.2, 'value_weighted', 0, 50, hashes => 5, cell_bits => 3, evictions => 10)) OVER w AS "IBF-H"
FROM truth WINDOW w AS (ORDER BY n);

SELECT 'BF', count(*) FILTER (WHERE "BF" AND NOT again), count(*) FILTER (WHERE again AND NOT "BF") FROM answers
UNION ALL SELECT 'SBF', count(*) FILTER (WHERE "SBF" AND NOT again), count(*) FILTER (WHERE again AND NOT "SBF") FROM answers
UNION ALL SELECT 'IBF-2C', count(*) FILTER (WHERE "IBF-2C" AND NOT again), count(*) FILTER (WHERE again AND NOT "IBF-2C") FROM answers
UNION ALL SELECT 'IBF-MC', count(*) FILTER (WHERE "IBF-MC" AND NOT again), count(*) FILTER (WHERE again AND NOT "IBF-MC") FROM answers
UNION ALL SELECT 'IBF-H', count(*) FILTER (WHERE "IBF-H" AND NOT again), count(*) FILTER (WHERE again AND NOT "IBF-H") FROM answers;
