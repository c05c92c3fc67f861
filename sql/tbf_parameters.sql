-- tbf_parameters: what tbf_empty() and tbf_agg() accept, and what NULL does to each function

SET timezone = 'UTC';

-- rates and numbers as for bf
SELECT rate, array_agg(DISTINCT sqlstate_of(format(command, rate))) AS states
FROM unnest(ARRAY['0', '-1', '0.6', '1', '2', '0.0000009', '''NaN''', '''Infinity''']) WITH ORDINALITY r (rate, i),
	unnest(ARRAY['SELECT tbf_empty(10, %s)', 'SELECT tbf_empty(fpr => %s)', 'SELECT tbf_agg(1, now(), interval ''1 day'', 1, 10, %s)', 'SELECT tbf_agg(NULL::int, now(), NULL, 1, NULL, %s)',
		'SELECT tbf_agg(1, now(), interval ''1 day'', 1, 10, %s, NULL, NULL)']) command
GROUP BY i, rate ORDER BY i;
SELECT number, array_agg(DISTINCT sqlstate_of(format(command, number))) AS states
FROM unnest(ARRAY['0', '-5', '1000000000', '1000000000000000000', '9223372036854775807']) WITH ORDINALITY n (number, i),
	unnest(ARRAY['SELECT tbf_empty(%s)', 'SELECT tbf_empty(expected_items => %s, half_life => NULL)', 'SELECT tbf_agg(1, now(), interval ''1 day'', 1, %s, 0.01)', 'SELECT tbf_agg(NULL::int, now(), NULL, 1, %s, NULL, NULL, NULL)']) command
GROUP BY i, number ORDER BY i;
SELECT (tbf_info(tbf_empty(1, 0.5))).false_positive_rate, (tbf_info(tbf_empty(1, 0.000001))).false_positive_rate, (tbf_info(tbf_empty(1))).expected_items;

-- half-lives from a microsecond to 36,500 years, in days and below; epochs likewise, and never without a half-life
SELECT half_life, array_agg(DISTINCT sqlstate_of(format(command, half_life))) AS states
FROM unnest(ARRAY['0', '-1 day', '1 day -24 hours', '1 month', '1 year', '1 month -30 days', '14000000 days', '2147483647 days']) WITH ORDINALITY h (half_life, i),
	unnest(ARRAY['SELECT tbf_empty(half_life => %L)', 'SELECT tbf_empty(epoch => %L)', 'SELECT tbf_agg(1, now(), interval %L)', 'SELECT tbf_agg(NULL::int, now(), interval %L)',
		'SELECT tbf_agg(1, now(), ''7 days'', 1, NULL, NULL, %L, NULL)']) command
GROUP BY i, half_life ORDER BY i;
SELECT sqlstate_of('SELECT tbf_empty(half_life => ''infinity'')') LIKE '22%' AS refused;
SELECT half_life, epoch FROM unnest(ARRAY['1 microsecond', '1 millisecond', '95 microseconds', '1 day', '7 days', '36 hours', '13300000 days']::interval[]) h, tbf_info(tbf_empty(10, 0.01, h)) ORDER BY half_life;
SELECT half_life, epoch FROM (VALUES ('1 day'::interval, '1 day'::interval), ('1 day', '2 days 00:00:00.000001'), ('1 day', '1 microsecond'), ('90 minutes', '7 minutes')) v (h, e), tbf_info(tbf_empty(10, 0.01, h, e));
SELECT sqlstate_of('SELECT tbf_empty(half_life => NULL, epoch => ''1 day'')'), sqlstate_of('SELECT tbf_agg(1, now(), NULL, 1, NULL, NULL, ''1 day'', NULL)');
SELECT half_life, epoch, unit FROM tbf_info(tbf_empty(half_life => NULL));

-- defaults
SELECT tbf_empty() = tbf_empty(10000, 0.01, '7 days', NULL), tbf_empty() = tbf_empty(epoch => '105 minutes'), tbf_empty(5) = tbf_empty(5, 0.01), tbf_empty(half_life => '1 day') = tbf_empty(10000, 0.01, '24:00');

-- more items and lower rates take more counters
SELECT bool_and(cells >= before) AS grows_with_items FROM (SELECT (tbf_info(tbf_empty(n))).cells, lag((tbf_info(tbf_empty(n))).cells) OVER (ORDER BY n) AS before FROM unnest('{1,10,100,1000,10000,100000,1000000}'::int[]) n) s;
SELECT bool_and(cells > before) AS grows_with_accuracy FROM (SELECT cells, lag(cells) OVER (ORDER BY p DESC) AS before FROM unnest('{0.5,0.1,0.01,0.001,0.0001,0.00001,0.000001}'::float8[]) p, tbf_info(tbf_empty(10000, p))) s;

-- NULL gives NULL, except as half_life, epoch and not_after
SELECT tbf_empty(NULL) = tbf_empty(NULL) AS sizes_itself, tbf_empty(10, NULL), tbf_add(NULL, 1), tbf_add(tbf_empty(), NULL::int), tbf_add(tbf_empty(), 1, NULL), tbf_add(tbf_empty(), 1, now(), NULL),
	tbf_add_all(NULL, '{1}'::int[]), tbf_add_all(tbf_empty(), NULL::int[]), tbf_add_all(tbf_empty(), '{1}'::int[], NULL), tbf_add_all(tbf_empty(), '{1}'::int[], now(), NULL);
SELECT tbf_count(NULL, 1), tbf_count(tbf_empty(), NULL::int), tbf_count(tbf_empty(), 1, NULL), NULL::tbf -> 1, tbf_empty() -> NULL::int, tbf_rate(NULL, 1), tbf_rate(tbf_empty(), NULL::int), tbf_rate(tbf_empty(), 1, NULL);
SELECT tbf_empty() @> NULL::int, NULL::tbf @> 1, NULL::int <@ tbf_empty(), 1 <@ NULL::tbf, tbf_contains(NULL, 1), tbf_contains(tbf_empty(), NULL::int), tbf_empty() @> NULL;
SELECT tbf_decay(NULL), tbf_decay(tbf_empty(), NULL), tbf_empty() + NULL, NULL + tbf_empty(), tbf_empty() = NULL, NULL <> tbf_empty(), tbf_info(NULL), tbf_sketch(NULL), NULL::tbf::bytea, NULL::bytea::tbf;
SELECT count(*) FROM tbf_histogram(NULL);
SELECT tbf_add(tbf_empty(), 1, '2024-01-01', 1, NULL) = tbf_add(tbf_empty(), 1, '2024-01-01');

-- the messages
SELECT tbf_empty(fpr => 2);
SELECT tbf_empty(0);
SELECT tbf_empty(1000000000000);
SELECT tbf_empty(half_life => '1 month');
SELECT tbf_empty(half_life => '-1 day');
SELECT tbf_empty(epoch => '0');
SELECT tbf_empty(half_life => NULL, epoch => '1 day');

-- a message shows the beginning of a text that is long
SELECT tbf_layout(tbf_empty(), repeat('long', 100000));
SELECT tbf_empty(layout => repeat('long', 100000));
SELECT ibf_empty(scheme => repeat(U&'\00e9', 100000));
