-- sbf_crawler: a crawler's frontier. Of a batch of links, one statement inserts those that were not seen before and
-- remembers all of them. The row lock on the filter makes workers take turns (test/tap/two_crawlers.pl has two of
-- them).

CREATE TABLE seen (crawl text PRIMARY KEY, urls sbf NOT NULL);
CREATE TABLE frontier (url text NOT NULL, found_on text);
INSERT INTO seen VALUES ('web', sbf_empty(65536, 0.001));

PREPARE add_links(text, text[]) AS
WITH locked AS MATERIALIZED (
	SELECT urls FROM seen WHERE crawl = 'web' FOR UPDATE
), checked AS MATERIALIZED (
	SELECT c.* FROM locked, sbf_check_add(locked.urls, $2) c
), remembered AS (
	UPDATE seen SET urls = checked.updated FROM checked WHERE crawl = 'web'
)
INSERT INTO frontier SELECT l.url, $1 FROM checked, unnest($2, checked.duplicates) l (url, duplicate) WHERE NOT l.duplicate;

EXECUTE add_links('/', '{/a,/b,/a,/c}');
SELECT * FROM frontier ORDER BY url;
EXECUTE add_links('/a', '{/,/b,/d}');
EXECUTE add_links('/b', '{}');
EXECUTE add_links('/c', '{/d,/c,/b,/a,/,NULL}');
SELECT url, found_on FROM frontier ORDER BY url;
SELECT item_kind, items FROM seen, sbf_info(urls);

-- a crawl of many pages: each link is inserted once, except those that were forgotten; few are lost
DO $$
BEGIN
	FOR page IN 1 .. 300 LOOP
		WITH batch AS MATERIALIZED (SELECT ARRAY(SELECT '/page/' || (page * 7919 + i * 104729) % 8000 FROM generate_series(1, 30) i) AS urls),
			locked AS MATERIALIZED (SELECT urls FROM seen WHERE crawl = 'web' FOR UPDATE),
			checked AS MATERIALIZED (SELECT batch.urls, c.* FROM locked, batch, sbf_check_add(locked.urls, batch.urls) c),
			remembered AS (UPDATE seen SET urls = checked.updated FROM checked WHERE crawl = 'web')
		INSERT INTO frontier SELECT l.url, '/page' FROM checked, unnest(checked.urls, checked.duplicates) l (url, duplicate) WHERE NOT l.duplicate;
	END LOOP;
END
$$;
SELECT count(*) = count(DISTINCT url) AS each_once, count(DISTINCT url) > 0.999 * (SELECT count(DISTINCT (page * 7919 + i * 104729) % 8000) FROM generate_series(1, 300) page, generate_series(1, 30) i) AS nearly_all
FROM frontier WHERE found_on = '/page';

DROP TABLE seen, frontier;
