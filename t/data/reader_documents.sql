-- jsonb and arrays for the reader, built at random from parts that hold every
-- escape, in a database in UTF8.

CREATE SCHEMA reader_documents;
SET search_path = reader_documents, public;
SET client_encoding = 'UTF8';
SELECT setseed(0.125);

-- scalars to build from: strings with each escape at the sizes of blocks,
-- numbers in all spellings that jsonb keeps
CREATE TABLE parts (i serial, j jsonb);
INSERT INTO parts (j)
	SELECT to_jsonb(repeat('x', len) || c || repeat('y', mod(len, 5)))
	FROM unnest('{0,1,3,7,15,16,17,40}'::int[]) len,
		unnest(ARRAY['"', '\', '/', E'\n', E'\t', E'\r', E'\b', E'\f', E'\v', E'\x01', E'\x1f', E'\x7f',
			'ä', '€', '🐘', '表', '\u0041', '', E'\\\n"', ' ']) c;
INSERT INTO parts (j)
	SELECT n::jsonb FROM unnest('{0,-0,1,-1,1.0,1.10,0.000001,1e5,1E-7,1e30,123456789012345678901234567890,
		-99999999999999999999.99999999999999999999,9223372036854775807,0.1,10000,100000000,1e1000,1e-1000,
		true,false,"null","{}",[],[[]],"[{}]"}'::text[]) n;
INSERT INTO parts (j)
	SELECT to_jsonb((random() * 10::numeric ^ (random() * 20)::int)::numeric)
	FROM generate_series(1, 300);
INSERT INTO parts (j)
	SELECT to_jsonb(string_agg(chr(1 + floor(random() * 255)::int), ''))
	FROM generate_series(1, 300) row, generate_series(1, 300) i
	WHERE i <= mod(row, 97) GROUP BY row;

-- each round nests what the rounds before have made, up to 100 members
CREATE FUNCTION nest(rounds int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	made jsonb[];
BEGIN
	FOR round IN 1 .. rounds LOOP
		made := ARRAY(SELECT j FROM reader_documents.parts WHERE length(j::text) < 3000 ORDER BY i);
		INSERT INTO reader_documents.parts (j)
			SELECT CASE WHEN random() < 0.5 THEN jsonb_agg(j)
				ELSE jsonb_object_agg(coalesce(j #>> '{}', n::text), j) END
			FROM (SELECT row, n, made[1 + floor(random() * cardinality(made))::int] AS j
				FROM generate_series(1, 150) row,
					LATERAL generate_series(1, CASE WHEN mod(row, 20) = 0 THEN 100 ELSE mod(row, 7) END) n) s
			GROUP BY row;
	END LOOP;
END $$;
SELECT nest(6);

CREATE TABLE documents (j jsonb, t json, a jsonb[], p jsonpath);
INSERT INTO documents (j, t) SELECT j, j::text::json FROM parts;
INSERT INTO documents (a)
	SELECT array_agg(j ORDER BY i) FROM parts GROUP BY i / 5;
INSERT INTO documents (j)
	SELECT format('%s1%s', repeat('[', n), repeat(']', n))::jsonb FROM unnest('{1,2,50,400}'::int[]) n;
INSERT INTO documents (j)
	SELECT format('%s1%s', repeat('{"k":', n), repeat('}', n))::jsonb FROM unnest('{1,2,50,400}'::int[]) n;
-- compressed, and out of line
INSERT INTO documents (j)
	SELECT jsonb_agg(j) FROM parts, generate_series(1, 4) n WHERE length(j::text) < 2000 GROUP BY n;
ALTER TABLE documents ALTER j SET STORAGE EXTERNAL;
INSERT INTO documents (j)
	SELECT jsonb_object_agg(i, j) FROM parts WHERE length(j::text) < 2000;
INSERT INTO documents (p) VALUES ('$."a\"\n"[*] ? (@.b > 1.50)'), ('strict $.**{2 to last}');

-- array literals, of text that stands for a value of each type
CREATE TYPE pair AS (a int, b text);
CREATE TYPE color AS ENUM ('red', 'light "blue"', 'null');
CREATE DOMAIN small_int AS int2;
CREATE TABLE kinds (name text, vals text[]);
INSERT INTO kinds VALUES
	('bool', '{t,f}'), ('int2', '{0,-32768,32767,12}'), ('int4', '{0,-2147483648,2147483647,7}'),
	('int8', '{0,-9223372036854775808,9223372036854775807,123456789012}'), ('oid', '{0,4294967295}'),
	('numeric', '{0,0.00,-1.5,NaN,Infinity,1e40,1e-40,99999999,10000}'),
	('float4', '{0,-0,1.5,NaN,-Infinity,3e38,1e-45,0.1}'), ('float8', '{0,-0,1.5,NaN,Infinity,1e308,5e-324,0.1}'),
	('text', '{"",NULLx,null,"a b",",","{","}","\"","\\","	","\n",x,ä,"🐘"}'), ('varchar(3)', '{a,"","é,"}'),
	('char(4)', '{a,"",",","null"}'), ('name', '{a,"","b c","\""}'), ('"char"', '{a,"","{"," "}'),
	('bytea', '{"","\\x00","\\x5c5c","\\x22","\\xff","abc"}'),
	('date', '{2000-01-01,infinity,0001-01-01 BC}'), ('time', '{00:00,24:00,12:34:56.789}'),
	('timetz', '{00:00+00,12:34:56.7-15:59:59}'), ('timestamp', '{2000-01-01 12:00,-infinity,0044-03-15 BC}'),
	('timestamptz', '{2024-07-01 12:00+00,2024-12-01 00:00:00.5+00,infinity}'),
	('interval', '{1 day,-1 mon +1 day -00:00:01.5,0}'), ('uuid', '{00000000-0000-0000-0000-0000000000ff}'),
	('jsonb', '{"{\"a\": [1, null]}","\"x\"",null,1.50,"\"\\\"\""}'), ('json', '{"{\"a\":1}",null}'),
	('inet', '{1.2.3.4,10.0.0.0/8,::1,2001:db8::/32}'), ('cidr', '{10.0.0.0/8,::/0}'),
	('macaddr', '{08:00:2b:01:02:03}'), ('macaddr8', '{08:00:2b:01:02:03:04:05}'), ('bit(3)', '{101,000}'),
	('varbit', '{"",1,10101}'), ('box', '{"(1,1),(0,0)","(2.5,3),(-1,0)"}'), ('point', '{"(1,2)","(1e300,-0)"}'),
	('polygon', '{"((0,0),(1,1))"}'), ('pair', '{"(1,\"a b\")","(,)"}'), ('color', '{red,"light \"blue\"","null"}'),
	('small_int', '{1,-5}'), ('int4range', '{"[1,5)",empty,"(,)"}'), ('int4multirange', '{"{[1,2),[5,6)}","{}"}'),
	('xml', '{"<a b=\"c\"/>",x}'), ('tsvector', '{"a:1A b","''x y'':3"}'), ('tsquery', '{"a & !b"}'),
	('money', '{$1.00,"-$1,234.56"}'), ('pg_lsn', '{0/0,FFFF/1}'), ('xid8', '{1,18446744073709551615}'),
	('regclass', '{pg_class,pg_proc}'), ('regtype', '{integer,"character varying"}'), ('tid', '{"(0,1)"}'),
	('int2vector', '{"1 2",""}'), ('oidvector', '{"1 4294967295"}');

-- only a server built with libxml takes a value of this type
DO $$
BEGIN
	PERFORM '<a/>'::xml;
EXCEPTION WHEN feature_not_supported THEN
	DELETE FROM reader_documents.kinds WHERE name = 'xml';
END $$;

CREATE FUNCTION quoted(t text) RETURNS text LANGUAGE sql IMMUTABLE AS
	'SELECT CASE WHEN t IS NULL THEN ''NULL''
		ELSE ''"'' || replace(replace(t, ''\'', ''\\''), ''"'', ''\"'') || ''"'' END';

-- of "count" elements picked at random, one in "nulls" a NULL
CREATE FUNCTION random_list(vals text[], delimiter text, count int, nulls int) RETURNS text LANGUAGE sql VOLATILE AS
	'SELECT ''{'' || coalesce(string_agg(reader_documents.quoted(
			CASE WHEN random() * nulls >= 1 OR nulls = 0
				THEN vals[1 + floor(random() * cardinality(vals))::int] END), delimiter), '''') || ''}''
	 FROM generate_series(1, count)';

CREATE FUNCTION make_arrays() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	kind record;
	delimiter text;
	t text;
BEGIN
	FOR kind IN SELECT * FROM reader_documents.kinds LOOP
		t := format('reader_documents.%I', 'arrays of ' || kind.name);
		delimiter := CASE kind.name WHEN 'box' THEN ';' ELSE ',' END;
		EXECUTE format('CREATE TABLE %s (v %s, a %s[], d %s[])', t, kind.name, kind.name, kind.name);
		EXECUTE format('INSERT INTO %s (v) SELECT v::%s FROM unnest($1) v', t, kind.name)
			USING kind.vals;
		-- lists of every length around a word of the bitmap of NULLs
		EXECUTE format('INSERT INTO %s (a) SELECT reader_documents.random_list($1, $2, count, nulls)::%s[]
			FROM generate_series(0, 18) count, unnest(''{0,1,3}''::int[]) nulls', t, kind.name)
			USING kind.vals, delimiter;
		-- lower bounds, dimensions
		EXECUTE format('INSERT INTO %s (d) SELECT (format(''[%%s:%%s]='', low, low + 2)
				|| reader_documents.random_list($1, $2, 3, 4))::%s[]
			FROM unnest(''{-2147483648,-5,0,1,2,2147483644}''::int[]) low', t, kind.name)
			USING kind.vals, delimiter;
		EXECUTE format('INSERT INTO %s (d) SELECT (CASE WHEN row > 3 THEN ''[0:1][-1:1]='' ELSE '''' END || ''{'' || string_agg(
				reader_documents.random_list($1, $2, 3, 4), $2) || ''}'')::%s[]
			FROM generate_series(1, 6) row, generate_series(1, 2) i GROUP BY row', t, kind.name)
			USING kind.vals, delimiter;
		EXECUTE format('INSERT INTO %s (d) SELECT (repeat(''{'', n) || reader_documents.random_list($1, $2, 2, 0)
				|| $2 || reader_documents.random_list($1, $2, 2, 0) || repeat(''}'', n))::%s[]
			FROM generate_series(1, 4) n', t, kind.name)
			USING kind.vals, delimiter;
		-- compressed, and out of line
		EXECUTE format('INSERT INTO %s (a) SELECT reader_documents.random_list($1, $2, 3000, nulls)::%s[]
			FROM unnest(''{0,50}''::int[]) nulls', t, kind.name)
			USING kind.vals, delimiter;
		EXECUTE format('ALTER TABLE %s ALTER a SET STORAGE EXTERNAL', t);
		EXECUTE format('INSERT INTO %s (a) SELECT reader_documents.random_list($1, $2, 1500, 0)::%s[]', t, kind.name)
			USING kind.vals, delimiter;
	END LOOP;
END $$;
SELECT make_arrays();

RESET client_encoding;
RESET search_path;
