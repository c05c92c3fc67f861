-- rollups_kept_wal.sql: the WAL of a roll-up that is refreshed each minute, beside the WAL of its log. Variables: days, rows (a minute).
-- The rows are those of the table sample, again and again. Time is made up: each round writes a minute's rows, of which one in twenty is up to
-- two hours late, and refreshes. Every hour both tables are vacuumed, as autovacuum would.
SET timezone = 'UTC';
SET client_min_messages = warning;
SET synchronous_commit = off;
SET jit = off;
CREATE TABLE wal_log (at timestamptz NOT NULL, host text, url text, status int, bytes bigint, agent text);
CREATE INDEX ON wal_log (at);
SELECT tbf_rollup_create('wal_heat', 'wal_log', 'url', 'at') \g /dev/null
CREATE TABLE wal_of (day int, part text, bytes numeric);
CREATE TABLE toast_of (day int, file bigint, live bigint);

CREATE PROCEDURE hour_of(day int, hour int, rows int) LANGUAGE plpgsql AS $$
DECLARE
	began pg_lsn;
	log_bytes numeric := 0;
	rollup_bytes numeric := 0;
	idle_bytes numeric;
	now_ timestamptz;
BEGIN
	FOR m IN 0 .. 59 LOOP
		now_ := timestamptz '2024-01-01' + (day - 1) * interval '1 day' + hour * interval '1 hour' + m * interval '1 minute';
		began := pg_current_wal_insert_lsn();
		INSERT INTO wal_log SELECT now_ + random() * interval '1 minute' - CASE WHEN random() < 0.05 THEN random() * interval '118 minutes' ELSE '0' END, host, url, status, bytes, agent
		FROM generate_series(1, rows) i JOIN sample ON n = (((day - 1) * 1440 + hour * 60 + m) * rows::bigint + i) % (SELECT count(*) FROM sample);
		COMMIT;
		log_bytes := log_bytes + (pg_current_wal_insert_lsn() - began);
		began := pg_current_wal_insert_lsn();
		CALL tbf_rollup_refresh('wal_heat');
		rollup_bytes := rollup_bytes + (pg_current_wal_insert_lsn() - began);
	END LOOP;
	began := pg_current_wal_insert_lsn();
	CALL tbf_rollup_refresh('wal_heat');
	idle_bytes := pg_current_wal_insert_lsn() - began;
	INSERT INTO wal_of VALUES (day, 'log', log_bytes), (day, 'refresh', rollup_bytes), (day, 'refresh without new rows', idle_bytes);
END $$;

-- Vacuum is no statement of a procedure, so the hours are statements of psql.
SELECT format('CALL hour_of(%s, %s, %s)', d, h, :rows), 'VACUUM wal_heat, wal_log, tbf_rollup',
	format('INSERT INTO toast_of SELECT %s, pg_relation_size(reltoastrelid), (SELECT sum(pg_column_size(f)) FROM wal_heat) FROM pg_class WHERE relname = ''wal_heat''', d)
FROM generate_series(1, :days) d, generate_series(0, 23) h ORDER BY d, h \gexec

\echo
\echo '| day | WAL of the log, MB | of 1,440 refreshes, MB | share | of 24 refreshes without new rows, bytes | TOAST beside what lives in it, most |'
\echo '| ---: | ---: | ---: | ---: | ---: | ---: |'
SELECT format('| %s | %s | %s | %s %% | %s | %s |', day, round(max(b) FILTER (WHERE part = 'log') / 1e6), round(max(b) FILTER (WHERE part = 'refresh') / 1e6, 1),
	round(100 * max(b) FILTER (WHERE part = 'refresh') / max(b) FILTER (WHERE part = 'log'), 2), max(b) FILTER (WHERE part LIKE '%without%'),
	(SELECT round(max(file::numeric / live), 2) FROM toast_of t WHERE t.day = s.day AND live > 1e6))
FROM (SELECT day, part, sum(bytes) AS b FROM wal_of GROUP BY day, part) s GROUP BY day ORDER BY day;
\echo
SELECT format('%s rows a minute of about %s different URLs a day; each hit counted once: %s.', :rows, (SELECT count(DISTINCT url) FROM wal_log WHERE at >= '2024-01-01' AND at < '2024-01-02'),
	CASE WHEN (SELECT sum(hits) FROM wal_heat) = (SELECT count(*) FROM wal_log) THEN 'yes' ELSE 'NO' END);
