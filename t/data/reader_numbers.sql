-- Numbers for the reader: every power of two and of ten with its neighbours,
-- random ones of every size, and what is not a number.

CREATE SCHEMA reader_numbers;
SET search_path = reader_numbers, public;
SELECT setseed(0.25);

CREATE TABLE bounds AS
	SELECT trunc(sign * (base ^ power + delta)) AS n
	FROM (VALUES (2::numeric, 63), (10::numeric, 19)) bases(base, top),
		generate_series(0, top) power, generate_series(-1, 1) delta,
		unnest('{1,-1}'::int[]) sign
	UNION ALL
	SELECT floor((random()::numeric - 0.5) * 10::numeric ^ (random() * 20)::int)
	FROM generate_series(1, 4000);
CREATE TABLE integers AS
	SELECT CASE WHEN n BETWEEN -32768 AND 32767 THEN n::int2 END AS i2,
		CASE WHEN n BETWEEN -2147483648 AND 2147483647 THEN n::int4 END AS i4,
		CASE WHEN n BETWEEN -9223372036854775808 AND 9223372036854775807
			THEN n::int8 END AS i8,
		CASE WHEN n BETWEEN 0 AND 4294967295 THEN n::int8::oid END AS o,
		CASE WHEN n BETWEEN 0 AND 4294967295 THEN n::text::xid END AS x,
		CASE WHEN n BETWEEN 0 AND 4294967295 THEN n::text::cid END AS c,
		CASE WHEN n BETWEEN 0 AND 18446744073709551615 THEN n::text::xid8 END AS x8,
		CASE WHEN n BETWEEN -92233720368547758 AND 92233720368547758
			THEN n::money / 7 END AS m,
		n % 2 = 0 AS b,
		CASE WHEN n BETWEEN 0 AND 65535 THEN format('(%s,%s)', n, n)::tid END AS t
	FROM bounds;

CREATE TABLE decimals (n numeric, small numeric(6,2), whole numeric(40,0), fine numeric(300,290));
INSERT INTO decimals (n) SELECT n FROM bounds;
-- in every position of the decimal point, within and between the stored
-- groups of four digits, with zeros before and behind
INSERT INTO decimals (n)
	SELECT (sign || digits || repeat('0', zeros) || '.' || lead || digits || trail)::numeric
	FROM unnest('{"",-}'::text[]) sign, unnest('{0,7,90,123,8000,54321}'::text[]) digits,
		generate_series(0, 9) zeros, unnest('{"",0,00,0000,0000000}'::text[]) lead,
		unnest('{"",0,000,0000,00000}'::text[]) trail;
INSERT INTO decimals (n)
	SELECT ('0.' || repeat('0', scale))::numeric FROM generate_series(0, 20) scale;
INSERT INTO decimals
	SELECT sign * mantissa / 10::numeric ^ (random() * 18)::int, sign * mantissa % 9999,
		sign * mantissa, sign * mantissa / 3 / 10 ^ 12
	FROM (SELECT 1 - 2 * (random() < 0.5)::int AS sign,
			floor(random()::numeric * 10::numeric ^ (random() * 18)::int) AS mantissa
		FROM generate_series(1, 6000)) r;
-- up to 1000 digits before and behind the point
INSERT INTO decimals (n)
	SELECT (left(digits, (random() * 1000)::int) || '.'
			|| right(digits, (random() * 1000)::int + 1))::numeric
	FROM (SELECT string_agg(
				CASE WHEN i % 7 = 0 THEN '00000000' ELSE lpad(floor(random() * 1e8)::text, 8, '0') END, '') AS digits
		FROM generate_series(1, 125) i, generate_series(1, 300) row GROUP BY row) r;
INSERT INTO decimals (n) VALUES ('NaN'), ('Infinity'), ('-Infinity'), (1e131071),
	(-1e131071), (1e-16383), ((repeat('9', 131072) || '.' || repeat('9', 16383))::numeric);
INSERT INTO decimals (small, whole) VALUES ('NaN', 'NaN'), (9999.99, 10::numeric ^ 40 - 1);

CREATE TABLE floats (f8 float8, f4 float4);
INSERT INTO floats
	SELECT sign * power(2::float8, e),
		CASE WHEN e BETWEEN -149 AND 127 THEN (sign * power(2::float8, e))::float4 END
	FROM generate_series(-1074, 1023) e, unnest('{1,-1}'::int[]) sign;
INSERT INTO floats
	SELECT (digits || 'e' || e)::float8,
		CASE WHEN e BETWEEN -44 AND 37 THEN (digits || 'e' || e)::float4 END
	FROM generate_series(-323, 307) e,
		unnest('{1,9.9999999999999999,1.0000000000000002,5,-2.5}'::text[]) digits;
-- 17 random digits reach every mantissa
INSERT INTO floats
	SELECT (sign || digits || 'e' || e8)::float8, (sign || digits || 'e' || e4)::float4
	FROM (SELECT (random() * 600)::int - 300 AS e8, (random() * 70)::int - 36 AS e4,
			CASE WHEN random() < 0.5 THEN '-' ELSE '' END AS sign,
			1 + floor(random() * 9) || '.' || lpad(floor(random() * 1e8)::text, 8, '0')
				|| lpad(floor(random() * 1e8)::text, 8, '0') AS digits
		FROM generate_series(1, 8000)) r;
-- what people store: whole numbers, cents, fractions, up to where ones end
INSERT INTO floats
	SELECT round((random() * 10 ^ (random() * 17)::int)::numeric, (random() * 4)::int)::float8,
		round((random() * 10 ^ (random() * 8)::int)::numeric, (random() * 3)::int)::float4
	FROM generate_series(1, 6000);
INSERT INTO floats
	SELECT 2::float8 ^ e + delta, (2::float8 ^ (e % 25) + delta)::float4
	FROM generate_series(1, 54) e, unnest('{-1,-0.5,0.5,1}'::float8[]) delta;
INSERT INTO floats VALUES ('NaN', 'NaN'), ('Infinity', 'Infinity'),
	('-Infinity', '-Infinity'), ('-0', '-0'), (0, 0), (4.9e-324, 1.4e-45),
	(-4.9e-324, -1.4e-45), (2.2250738585072014e-308, 1.1754944e-38),
	(2.225073858507201e-308, 1.1754942e-38), (1.7976931348623157e308, 3.4028235e38),
	(9007199254740993, 16777217), (123456789012345680, 123456790),
	(1e15, 1e6), (999999999999999.9, 999999.9), (0.0001, 0.0001), (0.00001, 0.00001);

DROP TABLE bounds;
RESET search_path;
