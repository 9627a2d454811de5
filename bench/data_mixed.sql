--
-- data_mixed.sql: rows of the types that cost most to write as text: jsonb,
-- numeric, arrays, floating point, dates.  Variable "bytes": the size of the
-- COPY text, about.
--
\set ON_ERROR_STOP on

CREATE TABLE mixed (
	id bigint NOT NULL,
	created date NOT NULL,
	updated timestamp NOT NULL,
	valid interval,
	price numeric(12,2) NOT NULL,
	rate numeric NOT NULL,
	latitude float8 NOT NULL,
	longitude float8 NOT NULL,
	score float4 NOT NULL,
	active bool NOT NULL,
	tags text[],
	counts int[],
	attributes jsonb NOT NULL
);
SELECT setseed(0.5);
INSERT INTO mixed
SELECT n,
	'2020-01-01'::date + floor(random() * 2000)::int,
	'2020-01-01'::timestamp + random() * interval '2000 days',
	floor(random() * 400)::int * interval '1 hour 7 minutes',
	(random() * 100000)::numeric(12,2),
	(random() * 10)::numeric * 1.000037,
	random() * 180 - 90,
	random() * 360 - 180,
	random()::real,
	random() < 0.7,
	ARRAY['red', 'size ' || floor(random() * 50)::int, left(md5(n::text), 6)],
	ARRAY[floor(random() * 100), floor(random() * 10000), n % 1000, NULL]::int[],
	jsonb_build_object('sku', 'A-' || floor(random() * 1000000)::int,
		'weight', round((random() * 50)::numeric, 3),
		'stock', jsonb_build_array(floor(random() * 100)::int, floor(random() * 100)::int, n % 7),
		'maker', jsonb_build_object('name', 'Maker ' || n % 300, 'country', left(md5((n % 200)::text), 2)),
		'fragile', random() < 0.1, 'note', CASE WHEN random() < 0.3 THEN 'said "yes" to ' || n END)
FROM generate_series(1, (:bytes / 323)::int) n;
