-- Texts of every type that has a decoder: what dumps hold, the limits, and
-- what a decoder must leave to the type's input function.  The variable
-- "module" names the module of test/decode.
--
\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
SET extra_float_digits = 3;
SELECT setseed(0.5);

CREATE FUNCTION compare_decoder(type oid, typmod int, texts text[], rounds int, seed bigint)
	RETURNS text LANGUAGE c AS :'module', 'compare_decoder';

-- As dumped, at least this percentage of "common" must be decoded.
CREATE TABLE decoder_sample (
	n int GENERATED ALWAYS AS IDENTITY,
	type text NOT NULL,
	settings text NOT NULL DEFAULT '',
	common text[] NOT NULL,
	rare text[] NOT NULL DEFAULT '{}'
);

-- What is wrong with the decoder of a sample's type, or an empty string.
CREATE FUNCTION check_decoder(sample decoder_sample, rounds int, seed bigint, OUT answer text)
	LANGUAGE plpgsql AS $$
DECLARE
	attribute record;
BEGIN
	EXECUTE format('CREATE TABLE decoder_column (v %s)', sample.type);
	SELECT atttypid, atttypmod INTO attribute FROM pg_attribute
	WHERE attrelid = 'decoder_column'::regclass AND attnum = 1;
	DROP TABLE decoder_column;
	IF sample.settings <> '' THEN
		EXECUTE sample.settings;
	END IF;
	answer := compare_decoder(attribute.atttypid, attribute.atttypmod, sample.common, 0, seed);
	-- those of floats need integers of 128 bits
	IF answer = 'no decoder' AND sample.type LIKE 'float%' THEN
		answer := '';
		RETURN;
	END IF;
	IF answer NOT LIKE format('%s of %1$s accepted%%', cardinality(sample.common)) THEN
		RETURN;
	END IF;
	answer := compare_decoder(attribute.atttypid, attribute.atttypmod,
		sample.common || sample.rare, rounds, seed);
	IF answer LIKE '% accepted, changed %' THEN
		RAISE NOTICE '% %: %', sample.type, sample.settings, answer;
		answer := '';
	END IF;
	RESET DateStyle;
	RESET IntervalStyle;
	RESET TimeZone;
END $$;

-- Numbers of every length.
CREATE FUNCTION random_integers(bits int) RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(((CASE WHEN n % 2 = 0 THEN 1 ELSE -1 END) *
		floor(power(2, random() * bits))::numeric)::text) FROM generate_series(1, 500) n $$;

INSERT INTO decoder_sample (type, common, rare) VALUES
	('bool', '{t,f}', '{true,false,1,0,yes,"",tt,T,"t "}'),
	('int2', random_integers(15) || '{-32768,32767,0}', '{32768,-32769,-0,007,+1,"",-,0x1f,0b1,1_000," 1","1 "}'),
	('int4', random_integers(31) || '{-2147483648,2147483647,0}', '{2147483648,-2147483649,-0,007,+1,"",-,0x1f,0o17,1_000," 1"}'),
	('int8', random_integers(62) || '{-9223372036854775808,9223372036854775807,0}',
		'{9223372036854775808,-9223372036854775809,99999999999999999999,00000000000000000000001,18446744073709551616,-}'),
	('oid', '{0,1,26,4294967295,4294967294,16384}', '{4294967296,-1,010,0x10,"",99999999999999999999}'),
	('xid', '{0,1,26,4294967295}', '{4294967296,-1,010,0x10,"",99999999999999999999}'),
	('cid', '{0,1,26,4294967295}', '{4294967296,-1,010,0x10,"",99999999999999999999}'),
	('xid8', '{0,1,26,4294967295,9999999999999999999}', '{18446744073709551615,18446744073709551616,010,-1}');

INSERT INTO decoder_sample (type, common, rare)
SELECT 'float8', array_agg(v::text), '{NaN,Infinity,-Infinity,1e400,1e-400,4.9e-324,2.2250738585072014e-308,1.7976931348623157e+308,.5,5.,1e,1e+,-,"",0x1p3,1e22,1e23,9007199254740993,9007199254740993e0,9007199254740992.5,1.00000000000000011102230246251565,0.000000000000000000000000000000001,1e-27,1e-28,1e27,1e28,18446744073709551615,18446744073709551616,9999999999999999999e27,1e-0007,0e9999,-0e5,00.5,0e25,-0e-25,0.00000000000000000000000000,9007199254740992e22,9007199254740991e-22}'
FROM (SELECT random() * 180 - 90 FROM generate_series(1, 1000)
	UNION ALL SELECT round((random() * 1000)::numeric, n % 9)::float8 FROM generate_series(1, 500) n
	UNION ALL SELECT random() * power(10, n % 26 - 6) FROM generate_series(1, 1000) n
	UNION ALL SELECT (0.5 + n)::float8 * power(2, 52) FROM generate_series(1, 100) n
	UNION ALL VALUES (0::float8), ('-0'), (1), (1e10), (1e-5), (123456789012345680)) t(v);
INSERT INTO decoder_sample (type, common, rare)
SELECT 'float4', array_agg(v::text), '{NaN,Infinity,-Infinity,1e39,1e-46,1e-45,1.1754944e-38,3.4028235e+38,3.4028236e+38,16777217,16777217.0000001,16777216.9999999,1e27,9999999999999999999e20,33554433,33554435,0.1,1.17549429e-38,0e25,-0e-25,16777217e0,33554434.0,8.000000476837159,8.000000476837158}'
FROM (SELECT random()::float4 FROM generate_series(1, 1000)
	UNION ALL SELECT round((random() * 1000)::numeric, n % 4)::float4 FROM generate_series(1, 500) n
	UNION ALL SELECT (random() * power(10, n % 36 - 18))::float4 FROM generate_series(1, 1000) n
	UNION ALL VALUES (0::float4), ('-0'), (1), (1e10), (1e-5)) t(v);

-- In the middle of two floats, and next to it.
INSERT INTO decoder_sample (type, common)
SELECT 'float8', array_agg(text)
FROM (SELECT 4503599627370496 + n || fraction FROM generate_series(0, 50) n, unnest('{.5,.499,.501}'::text[]) fraction
	UNION ALL SELECT 2251799813685248 + n || fraction FROM generate_series(0, 50) n, unnest('{.25,.75,.251,.749}'::text[]) fraction
	UNION ALL SELECT 9007199254740992 + n || zeros FROM generate_series(0, 50) n, unnest('{"",0,00,.0,e+3}'::text[]) zeros
	UNION ALL SELECT '0.' || 4503599627370496 * 5 + n FROM generate_series(-50, 50) n
	UNION ALL SELECT 1000000000000000000 + n * 64 || 'e' || abs(n) % 20 - 10 FROM generate_series(-200, 200) n) t(text);
INSERT INTO decoder_sample (type, common)
SELECT 'float4', array_agg(text)
FROM (SELECT 8388608 + n || fraction FROM generate_series(0, 50) n, unnest('{.5,.50000000001,.49999999999}'::text[]) fraction
	UNION ALL SELECT 1048576 + n || fraction FROM generate_series(0, 50) n, unnest('{.0625,.06250000001,.06249999999,.9375}'::text[]) fraction
	UNION ALL SELECT 16777216 + n || fraction FROM generate_series(0, 50) n, unnest('{"",.00000000001,e+10}'::text[]) fraction
	UNION ALL SELECT 1000000000000000000 + n * 1000000007::bigint || 'e' || abs(n) % 20 - 10 FROM generate_series(-200, 200) n) t(text);

INSERT INTO decoder_sample (type, common, rare) VALUES
	('text', ARRAY['', 'a', 'héllo', E'tab\tnl\nbs\\', repeat('x', 3000)], '{}'),
	('varchar', ARRAY['', 'a', 'héllo'], '{}'),
	('varchar(5)', ARRAY['', 'a', 'hello'], '{héllo,äöüßé,"hello ","héllo  ",hello1,"äöüßé ",äöüßéx}'),
	('bpchar', ARRAY['', 'a', 'héllo '], '{}'),
	('char(1)', ARRAY['', 'a'], '{é,"a ",ab}'),
	('char(20)', ARRAY['', 'a', 'héllo', repeat('x', 20), repeat(' ', 20)],
		ARRAY[repeat('é', 16), repeat('é', 20), repeat('é', 21), repeat('x', 21), repeat('x', 20) || '  ']),
	('char(84)', ARRAY['', repeat(' ', 84), repeat('x', 83)], ARRAY[repeat(' ', 85), repeat('é', 84)]),
	('name', ARRAY['', 'a', 'pg_class', repeat('x', 63)], ARRAY[repeat('x', 64), repeat('é', 32), repeat('é', 100)]),
	('"char"', ARRAY['', 'a', '\'], '{é,\\351,\\101,ab}');

INSERT INTO decoder_sample (type, common, rare)
SELECT 'uuid', array_agg(md5(n::text)::uuid::text), ARRAY[upper(md5('x')::uuid::text), md5('x'), '{' || md5('x')::uuid || '}', '']
FROM generate_series(1, 100) n;
INSERT INTO decoder_sample (type, common, rare)
SELECT 'bytea', array_agg('\x' || left(repeat(md5(n::text), 10), 2 * n)), '{"\\x0","\\x 00","\\xAF09","\\x00 11","",abc,"\\000","\\","\\\\x"}'
FROM generate_series(0, 100) n;
INSERT INTO decoder_sample (type, common, rare) VALUES
	('macaddr', '{08:00:2b:01:02:03,ff:ff:ff:ff:ff:ff}', '{08:00:2B:01:02:03,08002b:010203,08-00-2b-01-02-03,0800.2b01.0203,8:0:2b:1:2:3,"08:00:2b:01:02:03 ",08002b010203}'),
	('macaddr8', '{08:00:2b:01:02:03:04:05,ff:ff:ff:ff:ff:ff:ff:ff}', '{08:00:2b:01:02:03,08:00:2B:01:02:03:04:FF,08-00-2b-01-02-03-04-05,0800.2b01.0203.0405,"08:00:2b:01:02:03:04:05 "}');

-- Times, under settings that change how their input is read.
INSERT INTO decoder_sample (type, common, rare)
SELECT 'date', array_agg(('2000-01-01'::date + (power(random(), 2) * n * 2000)::int)::text),
	'{0001-01-01,9999-12-31,10000-01-01,0000-01-01,"0044-03-15 BC",2023-02-29,2024-02-29,1900-02-29,2000-02-29,2024-13-01,2024-00-01,2024-01-00,2024-04-31,20240101,01-02-2003,01/02/2003,infinity,-infinity,epoch,today2024-1-1,"2024-01-01 ","2024-01-01 00:00:00",2024-01-01T,99-01-01,099-01-01,0099-01-01,2024.01.01,J2451187}'
FROM generate_series(-350, 350) n;
INSERT INTO decoder_sample (type, common, rare)
SELECT 'time', array_agg((random() * n * interval '1 second')::time::text),
	'{24:00:00,23:59:59.999999,23:59:60,24:00:01,12:00,12:00:00.,12:00:00.1234567,12:00:00.9999999,"12:00:00 PM",12:00:00+01,"04:05 AM",1:02:03,12:60:00,12:00:61,allballs,120000,12:00:00.5}'
FROM generate_series(1, 300) n;
INSERT INTO decoder_sample (type, common, rare) VALUES
	('time(3)', '{12:00:00,12:00:00.123,12:00:00.1}', '{12:00:00.1234,12:00:00.9996,23:59:59.9999,12:00:00.1230}'),
	('time(0)', '{12:00:00}', '{12:00:00.5,23:59:59.5,12:00:00.0}'),
	('timetz', '{12:00:00+00,12:00:00.25-08,01:02:03.000004+05:30,23:59:59+05:53:28,23:59:59.999999-15:59:59}',
		'{12:00:00,12:00:00+16,12:00:00+0530,12:00:00+5,12:00:00Z,12:00:00 +01,12:00:00 UTC,24:00:00+00,12:00:00+05:60,12:00:00+05:5,12:00:00+05:30:60,12:00:00+05:30:5}'),
	('timetz(2)', '{12:00:00+00,12:00:00.25-08}', '{12:00:00.255-08}');
INSERT INTO decoder_sample (type, settings, common, rare)
SELECT 'timestamp', setting, array_agg(('2000-01-01'::timestamp + random() * n * interval '10 days')::text),
	'{"0001-01-01 00:00:00","9999-12-31 23:59:59.999999","10000-01-01 00:00:00","0044-03-15 00:00:00 BC","2024-02-30 00:00:00","2024-01-01 24:00:00","2024-01-01 23:59:60","2024-01-01T01:02:03","2024-01-01 01:02","2024-01-01 01:02:03+01","2024-01-01  01:02:03","2024-01-01 01:02:03 BC","2024-01-01 01:02:03.1234567",infinity,-infinity,epoch,"2024-01-01 01:02:03.",2024-01-01,"2024-01-01 ","2024-01-01 1:02:03","2024-01-01 11:02:03 PM"}'
FROM generate_series(-300, 300) n, (VALUES (''), ('SET DateStyle = ''SQL, DMY'''), ('SET DateStyle = ''German''')) s(setting)
GROUP BY setting;
SET TimeZone = 'Europe/Dublin';
INSERT INTO decoder_sample (type, settings, common, rare)
SELECT 'timestamptz', setting, array_agg(('2000-01-01 00:00:00+00'::timestamptz + random() * n * interval '200 days')::text),
	'{"0001-01-01 00:00:00+15:59:59","9999-12-31 23:59:59.999999-15:59:59","10000-01-01 00:00:00+00","0044-03-15 00:00:00+00 BC","2024-02-30 00:00:00+00","2024-01-01 24:00:00+00","2024-01-01 23:59:60+00","2024-01-01 01:02:03","2024-01-01 01:02:03 UTC","2024-01-01 01:02:03+5","2024-01-01 01:02:03+16","2024-01-01 01:02:03+0530","2024-01-01 01:02:03 +05",infinity,-infinity,epoch,now2024-01-01,"2024-01-01 01:02:03Z","2024-03-31 02:30:00+01"}'
FROM generate_series(-300, 300) n, (VALUES (''), ('SET DateStyle = ''SQL, DMY'''), ('SET TimeZone = ''Asia/Kathmandu''')) s(setting)
GROUP BY setting;
RESET TimeZone;
INSERT INTO decoder_sample (type, common, rare) VALUES
	('timestamp(3)', '{"2024-01-01 01:02:03","2024-01-01 01:02:03.004"}', '{"2024-01-01 01:02:03.0045","2024-12-31 23:59:59.9996"}'),
	('timestamptz(0)', '{"2024-01-01 01:02:03+01"}', '{"2024-01-01 01:02:03.5+01"}');
INSERT INTO decoder_sample (type, settings, common, rare)
SELECT 'interval', setting, array_agg(
	CASE n % 6 WHEN 0 THEN floor(random() * 4000)::int * interval '1 hour 7 minutes'
		WHEN 1 THEN random() * interval '100 years' * CASE WHEN random() < 0.5 THEN 1 ELSE -1 END
		WHEN 2 THEN make_interval(months => floor(random() * 100 - 50)::int, days => floor(random() * 100 - 50)::int, secs => random() * 100000 - 50000)
		WHEN 3 THEN make_interval(years => floor(random() * 10)::int, days => floor(random() * 4 - 2)::int)
		WHEN 4 THEN make_interval(months => floor(random() * 20 - 10)::int, secs => -random())
		ELSE make_interval(days => floor(random() * 4 - 2)::int) END)::text[],
	'{"",1,"1 day 2","1 day ","1 mon 1 year","1 day 1 day","1 days 1","@ 1 day ago","1 day ago",P1D,"1-2","-1-2 +3","1:2","01:02","01:02:03 1 day","100000000:00:00","-178956970 years -8 mons","2147483647 days","1.5 days","1 week","01:60:00","01:00:60","01:02:03.1234567","1 second","1year","1 years2 mons","1 day 01:02:03 ago","1 day -","-","+","- 1 day","+1 day","--1 day","1  day",infinity,"999999 years 999999 mons","99999999:59:59","1 day\t2"}'
FROM generate_series(1, 600) n, (VALUES (''), ('SET IntervalStyle = ''iso_8601'''), ('SET IntervalStyle = ''postgres_verbose''')) s(setting)
GROUP BY setting;

INSERT INTO decoder_sample (type, common, rare)
SELECT 'numeric', array_agg(text), '{0.0,-0.0,000.000,0000000012.5,.5,5.,-,"",.,-.5,1e5,1.5e-3,NaN,Infinity,-Infinity,inf,+1,0x10,1_000,"1 "," 1",1..2,1.2.3}' || ARRAY[repeat('9', 256), '-' || repeat('9', 257), '0.' || repeat('3', 63), '0.' || repeat('3', 64), repeat('0', 300) || '1', repeat('9', 256) || '.' || repeat('7', 63), '1' || repeat('0', 255), '0.' || repeat('0', 62) || '1', '-1' || repeat('0', 255) || '.' || repeat('0', 63)]
FROM (SELECT (random() * power(10, n % 20))::numeric::text FROM generate_series(1, 400) n
	UNION ALL SELECT ((random() * 10)::numeric * 1.000037)::text FROM generate_series(1, 300)
	UNION ALL SELECT round((random() * 200000 - 100000)::numeric, n % 13)::text FROM generate_series(1, 400) n
	UNION ALL SELECT round(power(10::numeric, n), greatest(-n, 0) + 2)::text FROM generate_series(-30, 60) n
	UNION ALL SELECT (0.0001 * n)::numeric(20,4)::text FROM generate_series(-100, 100) n) t(text);
INSERT INTO decoder_sample (type, common, rare)
SELECT type, common, '{99999.995,100000,-99999.994,0.005,-0.004,1e3,NaN,Infinity,123456789,0.123456,00000001.5,12.340,9999999999.994,9999999999.995,0.00000}'
FROM (VALUES ('numeric(12,2)', '{12345.67,-0.01,0.00,1,9999999999.99,12.3}'::text[]), ('numeric(5,0)', '{0,-1,99999}'), ('numeric(5)', '{0,00012,-5}'),
	('numeric(3,3)', '{0.123,0,-0.999}'), ('numeric(1000,63)', '{0.5,123456789.123456789}')) t(type, common);
INSERT INTO decoder_sample (type, common, rare) VALUES
	('numeric(1000,64)', '{}', '{0.5,0,1234567890}'),
	('numeric(1000,1000)', '{}', '{0.5,0,1}');
-- Scales of their own came with 15.
SELECT current_setting('server_version_num')::int >= 150000 AS any_scale
\gset
\if :any_scale
INSERT INTO decoder_sample (type, common, rare) VALUES
	('numeric(5,-2)', '{}', '{0,12345,1234567,150,50,49,9999949,9999950}'),
	('numeric(3,5)', '{}', '{0,0.00123,0.00999,0.01,0.000005}');
\endif

INSERT INTO decoder_sample (type, common, rare)
SELECT type, array_agg(set_masklen((CASE WHEN n % 2 = 0 THEN '0.0.0.0'::inet + floor(random() * 4294967295)::bigint
		ELSE ('2001:db8::'::inet + floor(power(random(), 3) * 1e18)::bigint) END)::cidr,
		CASE WHEN n % 3 = 0 OR n % 2 = 1 THEN 16 + n % 17 ELSE 32 END)::text),
	'{0.0.0.0/0,::/0,::,::1,1::,1:2:3:4:5:6:7::,::2:3:4:5:6:7:8,1:2:3:4:5:6:7:8,1:2:3:4:5:6:7:8:9,1::2::3,:1,1:,:::,::ffff:1.2.3.4,::1.2.3.4,64:ff9b::1.2.3.4,FE80::ABCD/10,12345::,::g,1.2.3,1.2.3.4.5,1.2.3.256,01.2.3.4,1.2.3.4/33,1.2.3.4/032,1.2.3.4/,1.2.3.4/8,10.0.0.0/8,10.1.0.0/16,10/8,10.1,::1/128,::1/129,::1/0128,ffff::/15,fffe::/15,"1.2.3.4 ",1.2.3.4/32/,1..2.3,::/,1:2:3:4:5:6:7:8/64,1:2:3:4::/64,0:0:0:0:0:0:0:0/0}'
FROM (VALUES ('cidr')) t(type), generate_series(1, 400) n GROUP BY type;
UPDATE decoder_sample SET common = array(SELECT CASE WHEN text ~ '/' THEN text ELSE text || '/32' END FROM unnest(common) text) WHERE type = 'cidr';
INSERT INTO decoder_sample (type, common, rare)
SELECT 'inet', common || array(SELECT set_masklen(text::inet, CASE family(text::inet) WHEN 4 THEN 32 ELSE 128 END)::text FROM unnest(common) text), rare
FROM decoder_sample WHERE type = 'cidr';

-- Documents: what the generator of bench/ makes, keys in all orders, nested and
-- with escapes; with keys that are there twice, which no dumped jsonb has.
CREATE FUNCTION random_json(depth int, twice boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	kind int := floor(random() * CASE WHEN depth > 0 THEN 9 ELSE 6 END);
	members text[] := '{}';
	space text := CASE WHEN random() < 0.2 THEN E' \t' ELSE '' END;
BEGIN
	RETURN space || CASE kind
		WHEN 0 THEN 'true'
		WHEN 1 THEN CASE WHEN random() < 0.5 THEN 'false' ELSE 'null' END
		WHEN 2 THEN floor(random() * 1000)::text
		WHEN 3 THEN (random() * power(10, floor(random() * 10)) * CASE WHEN random() < 0.5 THEN 1 ELSE -1 END)::numeric::text
		WHEN 4 THEN '"' || left(md5(random()::text), floor(random() * 32)::int) || '"'
		WHEN 5 THEN (ARRAY['""', '"said \"yes\""', '"back\\slash\/"', '"\b\f\n\r\t"', '"naïve"', '0', '-0', '0.00', '-1.50', '"' || repeat('x', 200) || '"'])[1 + floor(random() * 10)::int]
		ELSE CASE kind % 2 WHEN 0 THEN '[' ELSE '{' END || space
			|| coalesce((SELECT string_agg(CASE kind % 2 WHEN 0 THEN '' ELSE '"' || left('kéyabc', floor(random() * 6)::int) || CASE WHEN twice THEN floor(random() * 20)::int ELSE n END || '"' || space || ':' END
				|| random_json(depth - 1, twice), space || ',' || space)
				FROM generate_series(1, floor(power(random(), 3) * 45)::int) n), '')
			|| CASE kind % 2 WHEN 0 THEN ']' ELSE '}' END END || space;
END $$;
INSERT INTO decoder_sample (type, common, rare)
SELECT type, array_agg(text), ARRAY['', ' ', '{', '[', '"', '"a', '"\', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '[1,]', '[1', '[,1]', '01', '-', '1.', '.1', '1e', '1e5', '1E+5', '1e-500', '1.5e3', '-01', '+1', 'tru', 'truex', 'nulll', 'NaN', '"\u0041"', '"\u00e4\ud834\udd1e"', '"\ud834"', '"\u0000"', '"\u00"', '"\x"', E'"a\nb"', E'"a\001b"', '[1 2]', '{1:2}', '{"a" 1}', '{"a":1 "b":2}', '1 2', '[]]', '{}}', '{"a":1}x',
	repeat('[', 31) || repeat(']', 31), repeat('[', 33) || repeat(']', 33), repeat('[', 100), repeat('{"a":', 20) || '1' || repeat('}', 20), '[' || repeat('1,', 5000) || '1]', '[' || repeat('"a",', 300) || '1]', '"' || repeat('x', 20000) || '"', '[1' || repeat('0', 300) || ']', '{"b":1,"a":2,"b":3,"aa":4,"a":5}', '{"a":[1,2],"a":{"b":1}}', '{"b":{"d":1,"c":2},"a":0}']
	-- a number that is too large, though jsonb does not keep it
	|| ARRAY['{"a":0.' || repeat('1', 16384) || ',"a":1}', '{"x":[0.' || repeat('1', 16384) || '],"x":0}', '{"x":[{"a":1' || repeat('0', 20000) || '}],"x":0}']
	|| array(SELECT random_json(4, true) FROM generate_series(1, 100))
FROM (SELECT random_json(4) FROM generate_series(1, 300)
	UNION ALL SELECT jsonb_build_object('sku', 'A-' || n, 'weight', round((random() * 50)::numeric, 3),
		'stock', jsonb_build_array(n % 100, n % 13, n % 7), 'maker', jsonb_build_object('name', 'Maker ' || n, 'country', left(md5(n::text), 2)),
		'fragile', random() < 0.1, 'note', CASE WHEN random() < 0.3 THEN 'said "yes" to ' || n END)::text FROM generate_series(1, 100) n) t(text),
	(VALUES ('json'), ('jsonb')) y(type)
WHERE octet_length(text) < 4000
GROUP BY type;

-- Arrays of what came before, and of texts that need quotes.
INSERT INTO decoder_sample (type, settings, common, rare)
SELECT array_type, settings, array_agg(text), '{"{}"," {}","{ }","{}}","{{}}","{{1,2},{3,4}}","[2:3]={1,2}","[1:2]={1,2}","{1,2","1,2}","{1,,2}","{,}","{1,}","{,1}","{\"\"}","{\"a\" }","{a b}","{ a}","{a }","{a\\\\ b}","{a\"b\"}","{\"a\"b}","{\"a\"\"b\"}","{NULL,null,Null}","{\"NULL\"}","{NULL","{\"","{\"\\\\","{\"a\\\\\"}","{\\\\\\\\}","{1;2}","{a}b}","{a{b}","{\t1,2}"}'
FROM (SELECT type || '[]' AS array_type, settings, random() AS at,
		array(SELECT CASE WHEN random() < 0.1 THEN NULL ELSE common[1 + floor(random() * cardinality(common))::int] END
			FROM generate_series(0, i % 7 - i % 60 / 59 * 6))::text AS text
	FROM decoder_sample, generate_series(1, 200) i WHERE cardinality(common) > 0) s
GROUP BY array_type, settings;
INSERT INTO decoder_sample (type, common) VALUES ('text[]',
	ARRAY['{"with space","quo\"te","back\\slash","","NULL","{brace}","comma,"}', '{"\"","\\"}', '{ä,"ö ü"}',
		'{' || repeat('abcdefghijklmnopqrstuvwxyz,', 50) || '"' || repeat(' x', 100) || '"}']);
