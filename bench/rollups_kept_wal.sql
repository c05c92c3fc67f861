-- rollups_kept_wal.sql: the WAL of a roll-up that is refreshed each minute, beside the WAL of its log. Variables:
-- days, filled (of these days, the first are refreshed once an hour and not measured, so that the last day of a
-- fortnight takes minutes), rows (a minute), checkpoints (after how many minutes each follows the one before; 0: none,
-- for a server with full_page_writes = off). The rows are those of the table sample, again and again. Time is made up:
-- each round writes a minute's rows, of which one in twenty is up to two hours late, and refreshes. Every hour both
-- tables are vacuumed, as autovacuum would; the WAL of that is counted apart. So are the pages that are written as a
-- whole after a checkpoint. The times of refreshes are those of the machine; nothing else should run on it.
SET timezone = 'UTC';
SET client_min_messages = warning;
SET synchronous_commit = off;
SET jit = off;
CREATE EXTENSION pg_walinspect;
CREATE TABLE wal_log (at timestamptz NOT NULL, host text, url text, status int, bytes bigint, agent text);
CREATE INDEX ON wal_log (at);
SELECT tbf_rollup_create('wal_heat', 'wal_log', 'url', 'at') \g /dev/null
CREATE TABLE wal_of (day int, part text, bytes numeric); -- or milliseconds
CREATE TABLE toast_of (day int, file bigint, live bigint);

-- Bytes of whole pages in the WAL. (What was written without synchronous commit has to be flushed first.)
CREATE FUNCTION pages_of(began pg_lsn, ended pg_lsn) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
	WHILE pg_current_wal_flush_lsn() < ended LOOP
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN CASE WHEN ended > began THEN (SELECT sum(fpi_size) FROM pg_get_wal_stats(began, ended)) ELSE 0 END;
END $$;

-- Writes the rows of some minutes, counted from the first one of day 1.
CREATE PROCEDURE write_minutes(first int, minutes int, rows int) LANGUAGE plpgsql AS $$
DECLARE
	samples CONSTANT bigint := (SELECT count(*) FROM sample);
BEGIN
	INSERT INTO wal_log SELECT timestamptz '2024-01-01' + (first + i / rows) * interval '1 minute' + random() * interval '1 minute' - CASE WHEN random() < 0.05 THEN random() * interval '118 minutes' ELSE '0' END,
		host, url, status, bytes, agent
	FROM generate_series(0, minutes * rows - 1) i JOIN sample ON n = (first * rows::bigint + i) % samples;
	COMMIT;
END $$;

CREATE PROCEDURE hour_of(day int, hour int, rows int, checkpoints int) LANGUAGE plpgsql AS $$
DECLARE
	began pg_lsn;
	ended pg_lsn;
	log_bytes numeric := 0;
	log_pages numeric := 0;
	rollup_pages numeric := 0;
	rollup_bytes numeric := 0;
	idle_bytes numeric;
	began_at timestamptz;
	refresh_ms numeric := 0;
BEGIN
	FOR m IN 0 .. 59 LOOP
		IF checkpoints > 0 AND (hour * 60 + m) % checkpoints = 0 THEN
			CHECKPOINT;
		END IF;
		began := pg_current_wal_insert_lsn();
		CALL write_minutes((day - 1) * 1440 + hour * 60 + m, 1, rows);
		ended := pg_current_wal_insert_lsn();
		log_bytes := log_bytes + (ended - began);
		log_pages := log_pages + pages_of(began, ended);
		began := pg_current_wal_insert_lsn();
		began_at := clock_timestamp();
		CALL tbf_rollup_refresh('wal_heat');
		refresh_ms := refresh_ms + 1000 * extract(epoch FROM clock_timestamp() - began_at);
		ended := pg_current_wal_insert_lsn();
		rollup_bytes := rollup_bytes + (ended - began);
		rollup_pages := rollup_pages + pages_of(began, ended);
	END LOOP;
	began := pg_current_wal_insert_lsn();
	CALL tbf_rollup_refresh('wal_heat');
	idle_bytes := pg_current_wal_insert_lsn() - began;
	INSERT INTO wal_of VALUES (day, 'log', log_bytes), (day, 'refresh', rollup_bytes), (day, 'log, pages', log_pages), (day, 'refresh, pages', rollup_pages),
		(day, 'refresh without new rows', idle_bytes), (day, 'refresh, ms', refresh_ms);
END $$;

-- Days that are not measured.
SELECT format('CALL write_minutes(%s, 60, %s)', (d - 1) * 1440 + h * 60, :rows), 'CALL tbf_rollup_refresh(''wal_heat'')', 'VACUUM wal_heat, tbf_rollup_definitions, wal_log' FROM generate_series(1, :filled) d, generate_series(0, 23) h ORDER BY d, h \gexec

-- A procedure cannot run VACUUM, so psql runs one statement for each hour.
CREATE TABLE vacuum_began (at pg_lsn);
INSERT INTO vacuum_began VALUES (NULL);
SELECT format('CALL hour_of(%s, %s, %s, %s)', d, h, :rows, :checkpoints),
	'UPDATE vacuum_began SET at = pg_current_wal_insert_lsn()', 'VACUUM wal_heat, tbf_rollup_definitions',
	format('INSERT INTO wal_of SELECT %s, ''vacuum of it'', pg_current_wal_insert_lsn() - at FROM vacuum_began', d),
	'UPDATE vacuum_began SET at = pg_current_wal_insert_lsn()', 'VACUUM wal_log',
	format('INSERT INTO wal_of SELECT %s, ''vacuum of the log'', pg_current_wal_insert_lsn() - at FROM vacuum_began', d),
	format('INSERT INTO toast_of SELECT %s, pg_relation_size(reltoastrelid), (SELECT sum(pg_column_size(f)) FROM wal_heat) FROM pg_class WHERE relname = ''wal_heat''', d)
FROM generate_series(:filled + 1, :days) d, generate_series(0, 23) h ORDER BY d, h \gexec

\echo
\echo '| day | WAL of the log, MB | of 1,440 refreshes, MB | share | without whole pages: log, MB | refreshes, MB | share | VACUUM of the log, MB | of the roll-up, MB | 24 refreshes without new rows, bytes | TOAST beside what lives in it, most | a refresh, ms |'
\echo '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
CREATE VIEW wal_line AS SELECT day, sum(bytes) FILTER (WHERE part = 'log') AS log, sum(bytes) FILTER (WHERE part = 'refresh') AS refresh, sum(bytes) FILTER (WHERE part = 'log, pages') AS log_pages,
	sum(bytes) FILTER (WHERE part = 'refresh, pages') AS pages, sum(bytes) FILTER (WHERE part = 'vacuum of the log') AS log_vacuum, sum(bytes) FILTER (WHERE part = 'vacuum of it') AS vacuum,
	sum(bytes) FILTER (WHERE part = 'refresh without new rows') AS idle, (SELECT max(file::numeric / live) FROM toast_of t WHERE t.day = coalesce(w.day, t.day) AND live > 1e6) AS toast,
	sum(bytes) FILTER (WHERE part = 'refresh, ms') / count(*) FILTER (WHERE part = 'refresh, ms') / 60 AS ms
FROM wal_of w GROUP BY GROUPING SETS ((day), ());
SELECT format('| %s | %s | %s | %s %% | %s | %s | %s %% | %s | %s | %s | %s | %s |', coalesce(day::text, 'all'), round(log / 1e6), round(refresh / 1e6, 1), round(100 * refresh / log, 2), round((log - log_pages) / 1e6),
	round((refresh - pages) / 1e6, 1), round(100 * (refresh - pages) / (log - log_pages), 2), round(log_vacuum / 1e6, 1), round(vacuum / 1e6, 1), idle, round(toast, 2), round(ms)) FROM wal_line ORDER BY day;
\echo
SELECT format('%s rows a minute of about %s different URLs a day; each hit counted once: %s.', :rows, (SELECT count(DISTINCT url) FROM wal_log WHERE at >= '2024-01-01' AND at < '2024-01-02'),
	CASE WHEN (SELECT sum(hits) FROM wal_heat) = (SELECT count(*) FROM wal_log) THEN 'yes' ELSE 'NO' END);
