-- Text for the reader, in a database of any encoding: every length around the
-- sizes that code works in, special bytes at every place, and characters of
-- which some client encodings write bytes that look like a backslash.

CREATE SCHEMA reader_strings;
SET search_path = reader_strings, public;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT setseed(0.75);
SELECT getdatabaseencoding() IN ('UTF8', 'EUC_JP') AS has_japanese,
	getdatabaseencoding() = 'UTF8' AS has_all,
	getdatabaseencoding() IN ('LATIN1', 'SQL_ASCII') AS has_bytes \gset

-- Characters to pick from at random; in their order, a name for the table.
CREATE TABLE alphabets (name text, chars text[]);
INSERT INTO alphabets
	SELECT 'ascii', array_agg(chr(i)) FROM generate_series(1, 127) i;
INSERT INTO alphabets VALUES
	('special', string_to_array(E'\\|\n|\r|\t|\b|\f|\v|"|''|N|n|.|a|0|,|{|}| |' || chr(127) || '|' || chr(1), '|'));
\if :has_bytes
INSERT INTO alphabets
	SELECT 'bytes', array_agg(chr(i)) FROM generate_series(1, 255) i;
\endif
\if :has_japanese
-- the second bytes of the first ones are backslashes in SJIS
INSERT INTO alphabets VALUES ('japanese',
	string_to_array('表,ソ,能,予,十,構,噂,申,あ,ア,日,本,語,、,。,ｱ,ｲ,ﾟ,a,\,|,' || E'\t,\n', ','));
\endif
\if :has_all
-- the same in BIG5
INSERT INTO alphabets VALUES
	('chinese', string_to_array('功,許,蓋,閱,枯,么,一,乙,中,文,a,\,' || E'\t,\n', ',')),
	('korean', string_to_array('똠,방,각,하,한,글,힣,가,각,a,\,' || E'\t,\n', ',')),
	('western', string_to_array('ä,ö,ß,é,ÿ,€,œ,Ž,–,“,a,\,' || E'\t,\n', ','));
INSERT INTO alphabets
	SELECT 'latin', array_agg(chr(i)) FROM generate_series(1, 255) i;
-- GB18030 writes many of these with digits among the bytes
INSERT INTO alphabets
	SELECT 'unicode', array_agg(chr(i)) FROM (
		SELECT CASE WHEN i BETWEEN 55296 AND 57343 THEN i - 20000 ELSE i END AS i
		FROM (SELECT 1 + (random() * 2 ^ (7 + random() * 9.99))::int AS i
			FROM generate_series(1, 3000)) r
		UNION ALL
		SELECT 65536 + (random() * 1048575)::int FROM generate_series(1, 300)) r;
\endif

CREATE FUNCTION random_text(chars text[], len int) RETURNS text LANGUAGE sql VOLATILE AS
	'SELECT coalesce(string_agg(chars[1 + floor(random() * cardinality(chars))::int], ''''), '''')
	 FROM generate_series(1, len)';

-- One table an alphabet: t in every form of storage.
CREATE FUNCTION make_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	alphabet record;
BEGIN
	FOR alphabet IN SELECT * FROM reader_strings.alphabets LOOP
		EXECUTE format('CREATE TABLE reader_strings.%I (t text, v varchar(30), c char(12), n name,
			j json, a text[], x xml)', alphabet.name);
		-- lengths 0 to 70, one to three of each
		EXECUTE format('INSERT INTO reader_strings.%I
			SELECT t, substr(t, 1, 30), substr(t, 5, 12), substr(t, 1, 15),
				to_json(t), ARRAY[t, substr(t, 3), NULL, '''']
			FROM (SELECT reader_strings.random_text($1, len) AS t
				FROM generate_series(0, 70) len, generate_series(1, 3)) r', alphabet.name)
			USING alphabet.chars;
		-- one special byte in long runs of plain text
		EXECUTE format('INSERT INTO reader_strings.%I (t, a)
			SELECT t, ARRAY[t] FROM (SELECT repeat(''x'', i) || $1[1 + floor(random() * cardinality($1))::int]
				|| repeat(''y'', 40 - i) AS t FROM generate_series(0, 40) i) r', alphabet.name)
			USING alphabet.chars;
		-- around pieces of 8 kB, compressed in place or out of line
		EXECUTE format('INSERT INTO reader_strings.%I (t, j)
			SELECT t, to_json(t) FROM (SELECT repeat(part, 1 + size / octet_length(part)) || left(part, rest) AS t
				FROM unnest(''{100,1900,8190,16384,40000,300000}''::int[]) size,
					LATERAL (SELECT reader_strings.random_text($1, 61) AS part, mod(size, 17) AS rest) p) r',
			alphabet.name)
			USING alphabet.chars;
		-- out of line, not compressed
		EXECUTE format('ALTER TABLE reader_strings.%I ALTER t SET STORAGE EXTERNAL', alphabet.name);
		EXECUTE format('INSERT INTO reader_strings.%I (t, v)
			SELECT reader_strings.random_text($1, 8180 + i), ''external'' FROM generate_series(1, 8) i',
			alphabet.name)
			USING alphabet.chars;
	END LOOP;
END $$;
SELECT make_tables();

-- every word that an array must quote, in every case and beside blanks
CREATE TABLE words AS
	SELECT w AS t, ARRAY[w] AS a, ARRAY[w, NULL, w || 'x'] AS b, ARRAY[[w, 'x'], [w, '']] AS c
	FROM (SELECT lead || word || trail AS w
		FROM unnest('{NULL,null,NuLl,NUL,NULLS,"",a,"a b","{","}","\"",\\,"\\N","\\.",",",";","''"}'::text[]) word,
			unnest(ARRAY['', ' ', E'\t', E'\n', E'\v', E'\f', E'\r']) lead,
			unnest(ARRAY['', ' ', E'\v', '\']) trail) r;

-- rows, of characters of several bytes, that span blocks of output
CREATE TABLE long_rows AS
	SELECT i, repeat(part, 700000 / octet_length(part)) AS t, repeat('\', i * 1000) AS b
	FROM (SELECT i, random_text((SELECT chars FROM alphabets ORDER BY name DESC LIMIT 1), 99 + i) AS part
		FROM generate_series(1, 6) i) r;

-- compressed: repeats of every short period, and what breaks them, at every
-- place
CREATE TABLE compressed AS
	SELECT repeat(substr(noise, 1, period), 1 + 3000 / period)
			|| left(noise, mod(period, 9)) || repeat(substr(noise, period, 5), mod(period * 7, 300)) AS t
	FROM generate_series(1, 80) period, LATERAL (SELECT string_agg(md5((period * i)::text), '') AS noise
		FROM generate_series(1, 5) i) r;
INSERT INTO compressed
	SELECT string_agg(CASE WHEN random() < rate THEN repeat(chr(97 + (random() * 25)::int), (random() * 40)::int)
		ELSE 'the quick brown fox ' END, '')
	FROM generate_series(1, 40) row, LATERAL (SELECT row / 41.0 AS rate) r, generate_series(1, 100 * row) i
	GROUP BY row;

CREATE TABLE octets (b bytea);
INSERT INTO octets
	SELECT coalesce((SELECT string_agg(set_byte('\x00', 0, floor(random() * 256)::int), '')
		FROM generate_series(1, len)), '')
	FROM generate_series(0, 70) len, generate_series(1, 5) n;
INSERT INTO octets
	SELECT decode(repeat(md5(i::text), i), 'hex') FROM generate_series(1, 2000, 43) i;
ALTER TABLE octets ALTER b SET STORAGE EXTERNAL;
INSERT INTO octets
	SELECT string_agg(set_byte('\x00', 0, i), '')
	FROM generate_series(0, 255) i, generate_series(1, 40) n;

CREATE TABLE single_bytes (c "char", a "char"[], u uuid);
INSERT INTO single_bytes
	SELECT chr(i)::"char", ARRAY[chr(i)::"char", '', NULL, ' '], md5(i::text)::uuid
	FROM generate_series(1, 127) i;
INSERT INTO single_bytes VALUES ('', '{}', NULL),
	(NULL, NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
\if :has_bytes
INSERT INTO single_bytes
	SELECT chr(i)::"char" FROM generate_series(128, 255) i;
\endif

CREATE TYPE label AS ENUM ('', 'plain', 'a b', '"', '\', E'\n', 'null', '{,}');
CREATE DOMAIN short_text AS varchar(5);
CREATE DOMAIN shorter_text AS short_text;
CREATE TABLE labels AS
	SELECT l, ARRAY[l, NULL, 'plain'] AS a, left(l::text, 5)::shorter_text AS s,
		ARRAY[left(l::text, 5)]::shorter_text[] AS sa
	FROM unnest(enum_range(NULL::label)) l;

-- only a server built with libxml takes a value of this type
DO $$
BEGIN
	INSERT INTO reader_strings.ascii (x) VALUES ('<a>b</a>'), ('<?xml version="1.0"?><a/>'),
		('<?xml version="1.1" encoding="LATIN1" standalone="yes"?><a/>'),
		('<?xml version="1.0" standalone="no"?><!DOCTYPE a><a>\	</a>'), ('text');
EXCEPTION WHEN feature_not_supported THEN
	RAISE NOTICE 'server without xml';
END $$;

RESET client_encoding;
RESET search_path;
