-- Dates and times for the reader: over all of the types' ranges, around the
-- changes of clocks, and fractions of seconds of every length.

CREATE SCHEMA reader_times;
SET search_path = reader_times, public;
SET TimeZone = 'UTC';
SELECT setseed(0.5);

CREATE TABLE dates (d date);
INSERT INTO dates
	SELECT date '4714-11-24 BC' + floor(random() * 2147483493)::int
	FROM generate_series(1, 2000);
INSERT INTO dates
	SELECT date '0011-12-25 BC' + i FROM generate_series(0, 8000) i;
INSERT INTO dates
	SELECT make_date(y, m, d) FROM unnest('{-4000,-5,-4,-1,1,4,99,100,1600,1900,2000,2023,2024,9999,10000,99999,100000,5874897}'::int[]) y,
		(VALUES (1, 1), (2, 28), (3, 1), (12, 31), (10, 9)) days(m, d);
INSERT INTO dates VALUES ('infinity'), ('-infinity'), ('5874897-12-31'), ('4714-11-24 BC'),
	('2000-02-29'), ('epoch');

CREATE TABLE moments (ts timestamp, tstz timestamptz, ts0 timestamp(0), ts2 timestamptz(2));
INSERT INTO moments
	SELECT ts, ts AT TIME ZONE 'UTC', ts, ts AT TIME ZONE 'UTC'
	FROM (SELECT timestamp '4714-11-25 BC' + floor(random() * 109203000)::int * interval '1 day'
			+ floor(random() * 86400e6) * interval '1 us' AS ts
		FROM generate_series(1, 3000)) r;
-- the years that have rules of their own, by steps that no rule follows
INSERT INTO moments
	SELECT ts, ts AT TIME ZONE 'UTC', ts, ts AT TIME ZONE 'UTC'
	FROM generate_series(timestamp '1825-01-01', timestamp '2045-01-01', '9 days 7:29:31.000001') ts;
-- every quarter of an hour around the changes of clocks in one year
INSERT INTO moments
	SELECT ts, ts AT TIME ZONE 'UTC', ts, ts AT TIME ZONE 'UTC'
	FROM unnest('{2024-03-10,2024-03-31,2024-10-27,2024-11-03}'::timestamp[]) day,
		generate_series(day - interval '1 day', day + interval '1 day', '15 minutes') ts;
-- and in the far future, for which rules are extrapolated
INSERT INTO moments
	SELECT ts, ts AT TIME ZONE 'UTC', ts, ts AT TIME ZONE 'UTC'
	FROM unnest('{2037,2038,2399,2400,9999,10000,54321,294275}'::int[]) y,
		generate_series(make_timestamp(y, 1, 1, 0, 0, 0), make_timestamp(y, 12, 31, 0, 0, 0), '5 days 1:01') ts;
INSERT INTO moments
	SELECT ts, ts AT TIME ZONE 'UTC', ts, ts AT TIME ZONE 'UTC'
	FROM (SELECT sign * i * interval '1 us' + base AS ts
		FROM unnest('{1,-1}'::int[]) sign,
			unnest('{1,2,10,90,100,1000,12000,100000,123456,500000,999999}'::int[]) i,
			unnest('{1999-12-31,2000-01-01,1969-12-31 23:59:59,0001-01-01 BC,0001-01-01}'::timestamp[]) base) r;
INSERT INTO moments (ts, tstz) VALUES ('infinity', 'infinity'), ('-infinity', '-infinity'),
	('294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'),
	('4714-11-24 00:00:00 BC', '4714-11-24 00:00:00+00 BC');

CREATE TABLE times_of_day (t time, tz timetz, t0 time(0), tz3 timetz(3));
INSERT INTO times_of_day
	SELECT t, (t || zone)::timetz, t, (t || zone)::timetz
	FROM (SELECT time '00:00' + floor(random() * 86400e6) * interval '1 us' AS t,
			CASE WHEN random() < 0.5 THEN '+' ELSE '-' END
				|| CASE (random() * 2)::int
					WHEN 0 THEN lpad(((random() * 15)::int)::text, 2, '0')
					WHEN 1 THEN to_char(interval '1 minute' * (random() * 959)::int, 'HH24:MI')
					ELSE to_char(interval '1 second' * (random() * 57599)::int, 'HH24:MI:SS')
				END AS zone
		FROM generate_series(1, 4000)) r;
INSERT INTO times_of_day (t, tz) VALUES ('24:00', '24:00+15:59:59'),
	('00:00', '00:00-15:59:59'), ('23:59:59.999999', '23:59:59.999999+00'),
	('00:00:00.000001', '00:00:00.1-00:00:01'), ('12:00:00.5', '12:00+00:30');

CREATE TABLE spans (i interval, i0 interval(0), ym interval year to month, dm interval day to minute);
INSERT INTO spans
	SELECT s, s, s, s
	FROM (SELECT make_interval(months => (sign_m * 10 ^ (random() * 6))::int,
				days => (sign_d * 10 ^ (random() * 6))::int)
			+ sign_t * floor(10 ^ (random() * 14)) * interval '1 us' AS s
		FROM (SELECT floor(random() * 3 - 1) AS sign_m, floor(random() * 3 - 1) AS sign_d,
				floor(random() * 3 - 1) AS sign_t FROM generate_series(1, 5000)) r) r;
INSERT INTO spans (i)
	SELECT format('%s years %s mons %s days %s:00:0%s', y, m, d, h, s)::interval
	FROM unnest('{-1,0,1}'::int[]) y, unnest('{-1,0,1,11}'::int[]) m,
		unnest('{-1,0,1,30}'::int[]) d, unnest('{-25,-0,0,1,100}'::text[]) h,
		unnest('{0,1,1.5,0.000001}'::text[]) s;
INSERT INTO spans (i) VALUES ('178000000 years'), ('-178000000 years'),
	('2147483646 days'), ('-2147483648 days'), ('2562047788 hours'), ('-2562047788 hours'),
	('1 day -00:00:00.000001'), ('-1 day 00:00:00.1'), ('1 mon -1 day'), ('00:00:00.000001'),
	('-00:00:59.999999'), ('178956970 years 7 mons'), ('-178956970 years -8 mons');
SELECT current_setting('server_version_num')::int >= 170000 AS at_least_17 \gset
\if :at_least_17
INSERT INTO spans (i) VALUES ('infinity'), ('-infinity');
\endif

RESET TimeZone;
RESET search_path;
