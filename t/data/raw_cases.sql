-- Tables whose tuples are not all of one kind, or long.

CREATE SCHEMA raw_cases;
SET search_path = raw_cases, public;
SELECT setseed(0.25);

-- Text that does not compress, of about this number of bytes.
CREATE FUNCTION noise(seed int, bytes int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT string_agg(translate(encode(sha256((seed || ' ' || i)::text::bytea), 'base64'), E'\n', ''), '') FROM generate_series(1, 1 + bytes / 44) i $$;

-- A long value beside short ones that would compress, if the row were too long
-- by them: it is not, once the long one is out of line.
CREATE TABLE mixed (id int, short text, long text, other text, last text);
INSERT INTO mixed SELECT i, repeat('short ', i % 80), noise(i, i * 40), repeat('other ', i % 50),
	CASE WHEN i % 3 = 0 THEN repeat(noise(i, 60), i % 60) END FROM generate_series(1, 400) i;

-- All kinds of storage, short values among them, in columns that are NULL at
-- times.
CREATE TABLE storage (plain text, main text, external text, extended text, n numeric, a text[], j jsonb);
ALTER TABLE storage ALTER plain SET STORAGE PLAIN, ALTER main SET STORAGE MAIN,
	ALTER external SET STORAGE EXTERNAL;
INSERT INTO storage SELECT repeat('p', i % 140), repeat(noise(i, 50), i % 50), nullif(repeat('e', i * 13 % 5000), ''),
	repeat(noise(i, 300), i % 17), i::numeric ^ (i % 30), CASE WHEN i % 7 > 0 THEN ARRAY[noise(i, i % 3000), NULL, ''] END,
	jsonb_build_object('k', noise(i, i % 2000), 'n', i) FROM generate_series(1, 300) i;

-- Storage that was another one when some of the rows were written.
CREATE TABLE changed (a text, b text, c text);
INSERT INTO changed SELECT repeat('a', i * 20), repeat('b', i), noise(i, i * 30) FROM generate_series(1, 100) i;
ALTER TABLE changed ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE PLAIN, ALTER c SET STORAGE MAIN;
INSERT INTO changed SELECT repeat('a', i * 20), repeat('b', i), noise(i, i * 30) FROM generate_series(1, 100) i;

-- Values out of line that would not have to be there.
CREATE TABLE eager (a text, b text) WITH (toast_tuple_target = 128);
INSERT INTO eager SELECT repeat('a', i), noise(i, i) FROM generate_series(1, 300) i;

-- Columns that came later, and some that went.
CREATE TABLE added (a int, b text);
INSERT INTO added SELECT i, noise(i, i * 20) FROM generate_series(1, 200) i;
ALTER TABLE added ADD c text DEFAULT 'c', ADD d int, ADD e timestamptz DEFAULT '2020-02-29 12:00+00', ADD f text DEFAULT repeat('f', 3000);
INSERT INTO added SELECT i, noise(i, i * 20), NULL, i, NULL, 'f' FROM generate_series(1, 200) i;
CREATE TABLE went (gone text, a int, b text, gone_too int, c text);
INSERT INTO went SELECT noise(-i, i * 20), i, noise(i, i * 20), i, 'c' FROM generate_series(1, 200) i;
ALTER TABLE went DROP gone, DROP gone_too;
INSERT INTO went SELECT i, noise(i, i * 20), 'c' FROM generate_series(1, 200) i;
CREATE TABLE last_went (a int, b text, gone text);
INSERT INTO last_went SELECT i, 'b', noise(-i, i * 20) FROM generate_series(1, 100) i;
ALTER TABLE last_went DROP gone;

-- Rows that were updated, deleted, locked, or rolled back.
CREATE TABLE touched (id int PRIMARY KEY, v text);
INSERT INTO touched SELECT i, noise(i, i * 10) FROM generate_series(1, 500) i;
UPDATE touched SET v = v || 'x' WHERE id % 3 = 0;
DELETE FROM touched WHERE id % 5 = 0;
BEGIN;
UPDATE touched SET v = 'never';
ROLLBACK;
BEGIN;
SELECT count(*) FROM (SELECT FROM touched FOR UPDATE) x;
ROLLBACK;

-- As many columns as there can be, many of them NULL, in tuples up to a page.
SELECT 'CREATE TABLE columns (' || string_agg(format('c%s %s', i, (ARRAY['int2', '"char"', 'text', 'bool', 'int4', 'numeric'])[1 + i % 6]), ', ') || ')'
	FROM generate_series(1, 1600) i \gexec
SELECT 'INSERT INTO columns SELECT ' || string_agg(format('CASE WHEN (%s * i) %% 7 > %s THEN %s END', n, n % 5,
		(ARRAY['i::int2', $$'x'::"char"$$, $$'t'$$, 'true', 'i', 'i::numeric'])[1 + n % 6]), ', ' ORDER BY n)
	|| ' FROM generate_series(1, 30) i' FROM generate_series(1, 1600) n \gexec
CREATE TABLE full_pages (a int, b text);
ALTER TABLE full_pages ALTER b SET STORAGE PLAIN;
INSERT INTO full_pages SELECT i, repeat('b', 8000 + i) FROM generate_series(1, 124) i;

-- Rows that are longer than a block, and a value that is much longer.
CREATE TABLE long_rows (id int, a text, b bytea, c text);
ALTER TABLE long_rows ALTER b SET STORAGE EXTERNAL;
INSERT INTO long_rows SELECT i, noise(i, 300000), convert_to(repeat('bytes ', 200000), 'UTF8'), repeat('c', i * 1000000) FROM generate_series(1, 4) i;
INSERT INTO long_rows VALUES (5, 'short', convert_to(repeat('0123456789', 3000000), 'UTF8'), repeat('z', 40000000));
INSERT INTO long_rows SELECT i, 'short', NULL, NULL FROM generate_series(6, 100) i;
