-- Other types for the reader: network addresses, bits, shapes, ranges, text
-- search, and rows whose width is out of the ordinary.

CREATE SCHEMA reader_others;
SET search_path = reader_others, public;
SELECT setseed(0.0625);

-- IPv6 addresses with zeros in every set of their eight groups
CREATE TABLE addresses (i inet, c cidr, m macaddr, m8 macaddr8);
INSERT INTO addresses
	SELECT (a || '/' || bits)::inet, network((a || '/' || bits)::inet)
	FROM (SELECT mod(mask * 37, 129) AS bits,
			(SELECT string_agg(CASE WHEN mask & (1 << g) = 0 THEN '0'
				ELSE to_hex(1 + floor(random() * 2 ^ (4 * (1 + mod(g, 4))) - 1)::int) END, ':' ORDER BY g)
			 FROM generate_series(0, 7) g) AS a
		FROM generate_series(0, 255) mask) r;
INSERT INTO addresses
	SELECT (a || '/' || bits)::inet, network((a || '/' || bits)::inet),
		substr(h, 1, 12)::macaddr, substr(h, 1, 16)::macaddr8
	FROM (SELECT mod(i, 33) AS bits, md5(i::text) AS h,
			(SELECT string_agg((floor(random() * 256)::int * (random() < 0.7)::int)::text, '.') FROM generate_series(1, 4) WHERE i > 0) AS a
		FROM generate_series(1, 3000) i) r;
INSERT INTO addresses (i) VALUES ('::'), ('::1'), ('::ffff:1.2.3.4'), ('::1.2.3.4/100'), ('::ffff:0:1.2.3.4'),
	('::ffff:0.0.0.0/96'), ('0.0.0.0'), ('255.255.255.255'), ('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'),
	('1::/16'), ('0:0:1::'), ('1:0:0:2:0:0:0:3'), ('1:0:0:0:2:0:0:0'), ('64:ff9b::1.2.3.4'), ('::2:0:0'), ('::5efe:1.2.3.4');

CREATE TABLE bits (b bit(13), vb varbit, a bit(13)[]);
INSERT INTO bits
	SELECT (i * 7919)::bit(13), v, ARRAY[i::bit(13), NULL]
	FROM (SELECT i, (SELECT coalesce(string_agg((random() < 0.5)::int::text, ''), '') FROM generate_series(1, i))::varbit AS v
		FROM generate_series(0, 90) i) r;
INSERT INTO bits (vb) SELECT repeat('10110', i * 1000)::varbit FROM generate_series(1, 30, 9) i;

CREATE TABLE shapes AS
	SELECT p, box(p, q) AS b, lseg(p, q) AS s, circle(p, abs(x)) AS c, path(polygon(box(p, q))) AS pa,
		polygon(box(p, q)) AS po, ARRAY[box(p, q), NULL, box(q, p)] AS ba
	FROM (SELECT point(x, y) AS p, point(y, x) AS q, x
		FROM (SELECT (random() - 0.5) * 10 ^ (random() * 30 - 15) AS x, (random() * 100)::int / 8.0 AS y
			FROM generate_series(1, 500)) r) r;

CREATE TYPE inner_pair AS (a numeric, b text[]);
CREATE TYPE outer_pair AS (p inner_pair, d date, t text);
CREATE DOMAIN checked AS outer_pair CHECK (VALUE IS NULL OR (VALUE).t <> 'never');
CREATE TABLE composites AS
	SELECT o, o::checked AS c, ARRAY[o, NULL] AS a, ROW(NULL, NULL, '')::outer_pair AS n
	FROM (SELECT i, ROW(ROW(i / 7.0, ARRAY[chr(32 + i), NULL, '"', '\', '']), date '2000-01-01' + i, chr(i) || ' ()",\')::outer_pair AS o
		FROM generate_series(1, 95) i) r;

CREATE TABLE ranges AS
	SELECT int4range(i, i + mod(i, 5), k) AS i4, numrange(i / 3.0, i, k) AS n, int8range(NULL, i, k) AS i8,
		daterange(date '2000-01-01' + i, NULL, k) AS d, tsrange(ts, ts + interval '1 day', k) AS ts,
		tstzrange(ts AT TIME ZONE 'UTC', NULL, k) AS tz, ARRAY[int4range(i, i + 9, k)] AS a,
		datemultirange(daterange(date '2000-01-01' + i, date '2000-03-01' + i)) AS m,
		tstzmultirange(tstzrange(ts AT TIME ZONE 'UTC', ts AT TIME ZONE 'UTC' + interval '1 us')) AS mt
	FROM generate_series(0, 200) i, unnest('{[],[),(],()}'::text[]) k,
		LATERAL (SELECT timestamp '2024-03-01' + i * interval '1 day 01:00:00.25' AS ts) t;

CREATE TABLE searches AS
	SELECT to_tsvector('simple', w) AS v, plainto_tsquery('simple', w) AS q,
		format('''%s'':%s%s', replace(replace(w, '\', '\\'), '''', ''''''), 1 + mod(i, 16383), substr('ABCD', 1 + mod(i, 4), 1))::tsvector AS x
	FROM (SELECT i, chr(33 + mod(i, 90)) || ' ' || chr(97 + mod(i, 26)) || '''s \' || i AS w
		FROM generate_series(1, 300) i) r;

-- fast defaults, dropped and generated columns, and rows of one column that
-- were stored when the table had no other
CREATE TABLE altered (a int);
INSERT INTO altered SELECT generate_series(1, 300);
ALTER TABLE altered ADD gone text DEFAULT 'gone';
ALTER TABLE altered ADD b text DEFAULT E'def\\ault\t', ADD c numeric(8, 3) DEFAULT -0.125, ADD n int;
INSERT INTO altered SELECT generate_series(1, 300);
ALTER TABLE altered DROP gone;
ALTER TABLE altered ADD d jsonb DEFAULT '{"a": "\\"}', ADD ts timestamptz DEFAULT '2024-07-01 00:00+00',
	ADD arr text[] DEFAULT '{a,NULL,"b c"}', ADD i interval DEFAULT '-1 day 00:00:01';
ALTER TABLE altered ADD g text GENERATED ALWAYS AS (b || c) STORED;
ALTER TABLE altered DROP a;
ALTER TABLE altered ADD late text;
INSERT INTO altered (b) SELECT repeat('z', 30) FROM generate_series(1, 300);
UPDATE altered SET late = 'x' WHERE ctid < '(1,0)';

CREATE TABLE nulls (a int, b text, c int8, d int2, e float8, f "char", g uuid, h bool, i timestamptz);
INSERT INTO nulls
	SELECT CASE WHEN m & 1 = 0 THEN m END, CASE WHEN m & 2 = 0 THEN 'x' END, CASE WHEN m & 4 = 0 THEN -m END,
		CASE WHEN m & 8 = 0 THEN m END, CASE WHEN m & 16 = 0 THEN m / 8.0 END, CASE WHEN m & 32 = 0 THEN 'c'::"char" END,
		CASE WHEN m & 64 = 0 THEN md5(m::text)::uuid END, CASE WHEN m & 128 = 0 THEN true END,
		CASE WHEN m & 256 = 0 THEN timestamptz '2024-01-01 00:00+00' + m * interval '1 hour' END
	FROM generate_series(0, 511) m;

-- 1600 columns, most of them NULL
SELECT 'CREATE TABLE wide (' || string_agg(format('c%s %s', i,
	(ARRAY['int', 'text', 'bool', 'int8'])[1 + mod(i, 4)]), ', ') || ')'
FROM generate_series(1, 1600) i \gexec
INSERT INTO wide (c1, c2, c799, c800, c1597, c1600)
	SELECT 't' || i, mod(i, 2) = 0, i, i, 'x', i FROM generate_series(1, 50) i;

-- lines of nothing but their end
CREATE TABLE no_columns ();
INSERT INTO no_columns SELECT FROM generate_series(1, 1000);
CREATE TABLE no_rows (a int, b text);

-- dead rows, HOT chains and pointers to them
CREATE TABLE churned (id int PRIMARY KEY, v text) WITH (fillfactor = 50);
INSERT INTO churned SELECT i, 'v' || i FROM generate_series(1, 3000) i;
UPDATE churned SET v = v || 'x' WHERE mod(id, 3) = 0;
UPDATE churned SET v = v || 'y' WHERE mod(id, 6) = 0;
DELETE FROM churned WHERE mod(id, 5) = 0;
VACUUM churned;
UPDATE churned SET v = v || 'z' WHERE mod(id, 7) = 0;
BEGIN;
INSERT INTO churned VALUES (-1, 'never');
UPDATE churned SET v = 'never' WHERE mod(id, 11) = 0;
ROLLBACK;
UPDATE churned SET id = -id WHERE id < 100;

RESET search_path;
