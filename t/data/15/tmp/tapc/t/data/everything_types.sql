-- The database of everything, part 1: every built-in type with its extremes,
-- and the user-defined kinds of type (domain, enum, composite, range).

SET client_min_messages = warning;
CREATE SCHEMA types;
SET search_path = types, public;

CREATE TABLE numbers (
	id serial PRIMARY KEY,
	b bool, i2 int2, i4 int4, i8 int8,
	n numeric, n2 numeric(10, 2), f4 float4, f8 float8, m money,
	o oid, x xid, c cid, x8 xid8, t tid
);
INSERT INTO numbers (b, i2, i4, i8, n, n2, f4, f8, m, o, x, c, x8, t) VALUES
	(true, 32767, 2147483647, 9223372036854775807, 'NaN', 99999999.99,
	 'Infinity', 'Infinity', '$92,233,720,368,547,758.07', 4294967295,
	 '4294967295', '4294967295', '18446744073709551615', '(4294967295,65535)'),
	(false, -32768, -2147483648, -9223372036854775808, 'Infinity', -99999999.99,
	 '-Infinity', '-Infinity', '-$92,233,720,368,547,758.08', 0, '0', '0', '0',
	 '(0,0)'),
	(NULL, NULL, NULL, NULL, '-Infinity', 'NaN', 'NaN', 'NaN', NULL, NULL,
	 NULL, NULL, NULL, NULL),
	(true, 0, 0, 0, 1e131071, 0.00, 3.4028235e38, 1.7976931348623157e308,
	 '$0.00', 1, '3', '1', '3', '(1,1)'),
	(true, 1, 1, 1, 1e-16383, 0.01, 1e-45, 4.9e-324, '$0.01', 1, '3', '1', '3',
	 '(1,2)'),
	(true, -1, -1, -1, -0.000, -0.01, '-0', '-0', '-$0.01', 1, '3', '1', '3',
	 '(1,3)'),
	(true, 7, 7, 7, 0.1 + 0.2, 1.005, 0.1, 0.1::float8 + 0.2::float8, '$1.00',
	 1, '3', '1', '3', '(1,4)');

CREATE TABLE times (
	d date, t time, tz timetz, ts timestamp, tstz timestamptz, i interval,
	ts3 timestamp(3), iy interval year to month, id interval day to second(2)
);
INSERT INTO times VALUES
	('4714-11-24 BC', '00:00:00', '00:00:00+15:59:59', '4714-11-24 00:00:00 BC',
	 '4714-11-24 00:00:00+00 BC', '-178000000 years', '0001-01-01 BC',
	 '-178000000 years', '-1000000 days'),
	('5874897-12-31', '24:00:00', '24:00:00-15:59:59',
	 '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00',
	 '178000000 years', '294276-12-31 23:59:59.999', '178000000 years',
	 '1000000 days 23:59:59.99'),
	('infinity', '12:34:56.789012', '12:34:56.789012+05:30', 'infinity',
	 'infinity', '1 mon -1 day +00:00:00.000001', 'infinity', '0', '0'),
	('-infinity', NULL, NULL, '-infinity', '-infinity', '-1 mon +1 day -1 sec',
	 '-infinity', NULL, NULL);
SELECT current_setting('server_version_num')::int >= 170000 AS at_least_17,
	current_setting('server_version_num')::int >= 180000 AS at_least_18 \gset
\if :at_least_17
INSERT INTO times (i) VALUES ('infinity'), ('-infinity');
\endif

CREATE TABLE strings (
	id int PRIMARY KEY, t text, v varchar(10), c char(10), n name, "char" "char",
	by bytea, u uuid, r refcursor
);
INSERT INTO strings VALUES
	(1, '', '', '', '', '', '', '00000000-0000-0000-0000-000000000000', ''),
	(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, '\N', '\N', '\N', '\N', '\', '\x5c4e',
	 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\N'),
	(4, E'tab\there\nand\r\nthere\\', E'\t', E'\n', E'\\', E'\t', '\x00', NULL,
	 E'\b\f\v'),
	(5, E'\\.\n\\.\nafter the end mark', E'\\.', E'\\.', E'\\.', '.',
	 '\x5c2e0a', NULL, E'\\.'),
	(6, E'\n\\.', E'\n\\.\n', ' x', 'null', 'N', '\x4e554c4c', NULL, 'NULL'),
	(7, 'NULL', '  x  ', 'x  ', 'x', ' ', '\x0d0a', NULL, ' '),
	(8, E'\\\\N \\t \\n \\x41 \\101', E'\\\\', E'\\t', E'\\b', '"',
	 '\x5c5c', NULL, ''''),
	(9, E'\u00e4\u20ac\U0001F418\u0301', E'\u00e4\u20ac', E'\u00e4', E'\u20ac',
	 'z', '\xc3a4', NULL, E'\U0001F418'),
	(10, E'\x01\x02\x1f\x7f', E'\x01', E'\x1f', E'\x7f', E'\x01', '\x7f80ff',
	 NULL, '');
INSERT INTO strings (id, by)
	SELECT 11, string_agg(set_byte('\x00', 0, i), '' ORDER BY i)
	FROM generate_series(0, 255) i;
INSERT INTO strings (id, t)
	SELECT 11 + i, chr(i) || '\' || chr(i) FROM generate_series(1, 255) i;

CREATE TABLE documents (
	id int, j json, jb jsonb, jp jsonpath, x xml, tv tsvector, tq tsquery
);
INSERT INTO documents VALUES
	(1, '{"a" :  1, "a": 2, "b": "\u20ac \\ \" \n"}',
	 '{"a": [1, 2.50, null, true, {}], "b\\\"": "\u20ac \\ \" \n"}',
	 '$."a"[*] ? (@ > 1 && @.b like_regex "^x\\.")', NULL,
	 '''it''''s'':1A,2B ''a b'':3 ''\\'':16383', '''a b'':A & !x | ''\\'':*'),
	(2, 'null', 'null', 'strict $', NULL, '', ''),
	(3, '""', '""', 'lax $.x', NULL, 'x', 'a <-> b <2> c'),
	(4, '1e1000', '-0.0000000000000000000000000000000001', NULL, NULL, NULL,
	 NULL),
	(5, '[]', '123456789012345678901234567890123456789012345678901234567890',
	 NULL, NULL, NULL, NULL);
-- only a server built with libxml takes a value of this type
DO $$
BEGIN
	INSERT INTO documents (id, x) VALUES
		(6, '<?xml version="1.0"?><a b="&lt;">x</a>'), (7, 'content only &amp; text');
EXCEPTION WHEN feature_not_supported THEN
	RAISE NOTICE 'server without xml';
END $$;

CREATE TABLE shapes (
	p point, l line, s lseg, b box, pa path, po polygon, c circle,
	bi bit(5), vb varbit, vb5 varbit(5), ip inet, ci cidr, m macaddr, m8 macaddr8
);
INSERT INTO shapes VALUES
	('(1e300,-1e-300)', '{1,-1,0}', '[(0,0),(1,1)]', '(2,2),(1,1)',
	 '((0,0),(1,1),(2,0))', '((0,0),(1,1),(2,0))', '<(0,0),5>',
	 B'10101', B'', B'1', '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03',
	 '08:00:2b:01:02:03:04:05'),
	('(NaN,Infinity)', '{0,1,-1e10}', '[(-Infinity,0),(0,Infinity)]',
	 '(Infinity,1),(-Infinity,0)', '[(0,0),(1,1)]', '((0,0))',
	 '<(1,1),Infinity>', B'00000', B'1111111111111111111111111111111111111',
	 B'', '::ffff:1.2.3.4', '2001:db8::/32', 'ff:ff:ff:ff:ff:ff',
	 'ff:ff:ff:ff:ff:ff:ff:ff'),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
	 '0.0.0.0/0', '::/0', '00:00:00:00:00:00', '00:00:00:00:00:00:00:00');

CREATE FUNCTION a_function(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE TABLE system_things (
	lsn pg_lsn, ts txid_snapshot, ps pg_snapshot, rp regproc, rpd regprocedure,
	ro regoper, rod regoperator, rc regclass, rt regtype, rr regrole,
	rn regnamespace, rcf regconfig, rd regdictionary, rcl regcollation,
	i2v int2vector, ov oidvector, a aclitem
);
INSERT INTO system_things VALUES
	('0/0', '10:20:10,14,15', '10:20:10,14,15', 'types.a_function',
	 'types.a_function(int)', '||/', '+(integer,integer)', 'types.numbers',
	 'types.numbers', 'pardump_owner', 'types', 'english', 'simple', '"C"',
	 '1 2 -3', '1 4294967295', 'pardump_owner=arwdDxt/pardump_reader'),
	('FFFFFFFF/FFFFFFFF', '1:1:', '1:1:', NULL, NULL, NULL, NULL, NULL, NULL,
	 NULL, NULL, NULL, NULL, NULL, '', '', '=r*/pardump_owner'),
	(NULL, NULL, NULL, '-', '-', '0', '0', '-', '-', '-', '-', '-', '-', '-',
	 NULL, NULL, NULL);

CREATE TABLE ranges (
	i4 int4range, i8 int8range, n numrange, d daterange, ts tsrange, tz tstzrange,
	mi int4multirange, mn nummultirange, md datemultirange, mts tstzmultirange
);
INSERT INTO ranges VALUES
	('[1,10)', '(,)', '[1.5,2.5]', '[2000-01-01,infinity]', '(,2000-01-01)',
	 '[2000-01-01 00:00+00,)', '{[1,2),[5,6)}', '{}', '{(,)}',
	 '{[2000-01-01 00:00+00,2000-01-02 00:00+00)}'),
	('empty', 'empty', '(NaN,)', 'empty', 'empty', 'empty', NULL, '{(,1),(2,)}',
	 NULL, NULL);

CREATE TABLE arrays (
	i int[], t text[], m int[][], b bytea[], n numeric[], c char(3)[], d date[],
	p point[], bx box[], j jsonb[], r int4range[], tr types.times[]
);
INSERT INTO arrays VALUES
	('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'),
	('{1,NULL,3}', E'{NULL,"NULL","","a,b","{}","\\\\","\\"","\n\t"}',
	 '[-1:0][3:4]={{1,2},{3,4}}', '{"\\x00","\\x5c"}', '{NaN,1e100}',
	 '{a,"b c"}', '{infinity,2000-02-29}', '{"(1,2)"}', '{(1,1),(0,0);(2,2),(1,1)}',
	 ARRAY['{"a": "\\"}', 'null']::jsonb[], '{"[1,2)",empty}',
	 ARRAY[ROW('2000-01-01', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::types.times]);

CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN very_positive AS positive CONSTRAINT big CHECK (VALUE > 1000)
	DEFAULT 1001;
CREATE DOMAIN some_text AS text NOT NULL COLLATE "C";
CREATE TYPE mood AS ENUM ('sad', 'o''k', 'very "happy"', E'new\nline', '');
ALTER TYPE mood ADD VALUE 'between' BEFORE 'o''k';
CREATE TYPE pair AS (a int, b text, m mood, inner_range int4range);
CREATE DOMAIN checked_pair AS pair CHECK ((VALUE).a > 0);
CREATE TYPE float8_range AS RANGE (subtype = float8, subtype_diff = float8mi);
CREATE TABLE user_types (
	p positive, v very_positive, s some_text, m mood, pr pair, cp checked_pair,
	fr float8_range, fm float8_multirange, ma mood[], pa pair[], va positive[]
);
INSERT INTO user_types VALUES
	(1, 2000, E'\\.', 'o''k', ROW(1, E'a,"\\\n', 'sad', '[1,2)'),
	 ROW(1, NULL, NULL, NULL), '[1.5,Infinity)', '{[1,2),[3,4]}',
	 ARRAY['sad', 'very "happy"', E'new\nline', '']::mood[],
	 ARRAY[ROW(NULL, '', 'between', NULL)]::pair[], '{1,2}'),
	(NULL, DEFAULT, '', '', NULL, NULL, 'empty', '{}', '{}', NULL, '{NULL}');
CREATE TABLE of_type OF pair (a NOT NULL, b DEFAULT 'x', PRIMARY KEY (a));
INSERT INTO of_type VALUES (1, 'y', 'sad', '[1,5)'), (2, DEFAULT, NULL, NULL);
CREATE TYPE undefined_shell;
CREATE FUNCTION own_in(cstring) RETURNS own_int
	LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION own_out(own_int) RETURNS cstring
	LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE own_int (INPUT = own_in, OUTPUT = own_out, LIKE = int4,
	DEFAULT = 7, DELIMITER = ';', CATEGORY = 'N');
CREATE TABLE own_type (v own_int, a own_int[]);
INSERT INTO own_type VALUES ('1', '{1;2}'), (DEFAULT, NULL);
RESET search_path;
