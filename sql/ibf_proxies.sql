-- ibf_proxies: two proxies tell each other what they cache (Bhoraskar et al. 2013, scenario 1). Each keeps an ibf of its own
-- objects, the larger the more important, and a copy of the other's, refreshed now and then: here by COPY BINARY; where
-- one server can reach the other, a foreign table of postgres_fdw does it.

CREATE TABLE summary (proxy text PRIMARY KEY, objects ibf NOT NULL, at int NOT NULL);
CREATE TABLE fetched (proxy text, at int, object text, size int);
INSERT INTO fetched SELECT 'p' || i % 2, i, 'o' || i, 1 + i * 37 % 5000 FROM generate_series(1, 6000) i;
INSERT INTO summary SELECT proxy, ibf_agg_like(object, size, ibf_parameters(16384, 0.01, 'multi_class', 0, 5000) ORDER BY at), max(at) FROM fetched GROUP BY proxy;

-- p0 writes its summary, p1 reads it
\getenv builddir PG_ABS_BUILDDIR
\cd :builddir
CREATE TABLE of_others (LIKE summary INCLUDING ALL);
\copy (SELECT * FROM summary WHERE proxy = 'p0') TO 'results/ibf_proxies.data' (FORMAT binary)
\copy of_others FROM 'results/ibf_proxies.data' (FORMAT binary)
SELECT o.proxy, o.objects = s.objects AS same FROM of_others o JOIN summary s USING (proxy);

-- p1 asks: mine, the other's, or nobody's? What p0 fetched last it has, and the large ones for longer
SELECT size > 2500 AS large, round(avg((objects @> object)::int), 1) > 0.9 AS known FROM of_others, fetched f WHERE f.proxy = 'p0' AND f.at > 5000 GROUP BY 1 ORDER BY 1;
SELECT avg((objects @> object)::int) FILTER (WHERE size > 4000) > avg((objects @> object)::int) FILTER (WHERE size < 1000) AS larger_ones_longer FROM of_others, fetched f WHERE f.proxy = 'p0';
-- what nobody has is seldom asked for in vain
SELECT count(*) < 40 AS seldom FROM of_others, generate_series(1, 2000) i WHERE objects @> ('none' || i);

-- keeping the two apart errs less often than uniting them: a union of two stable filters is stale
SELECT avg((u @> ('none' || i))::int) > 2 * avg((objects @> ('none' || i))::int) AS union_errs_more FROM (SELECT ibf_union_agg(objects) AS u FROM summary) s, of_others, generate_series(1, 20000) i;

DROP TABLE summary, of_others, fetched;
