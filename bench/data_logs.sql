--
-- data_logs.sql: the access log of a web service: identifiers, times,
-- addresses and text of some length, all of it different from row to row.
-- Variable "bytes": the size of the COPY text, about.
--
\set ON_ERROR_STOP on

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text
	LANGUAGE sql VOLATILE
	RETURN choices[1 + floor(power(random(), 2) * array_length(choices, 1))::int];

CREATE TABLE logs (
	id bigint NOT NULL,
	logged_at timestamptz NOT NULL,
	client inet NOT NULL,
	session uuid NOT NULL,
	user_id int,
	status smallint NOT NULL,
	duration_ms int NOT NULL,
	request text NOT NULL,
	message text
);
SELECT setseed(0.5);
INSERT INTO logs
SELECT 7000000000 + n,
	'2024-03-01 00:00:00+00'::timestamptz + n * interval '73 milliseconds' + random() * interval '1 second',
	'10.0.0.0'::inet + floor(random() * 16000000)::bigint,
	md5((n / 7)::text)::uuid,
	CASE WHEN random() < 0.8 THEN floor(random() * 900000)::int END,
	pick('200', '304', '404', '302', '500')::smallint,
	floor(power(random(), 4) * 5000)::int,
	pick('GET', 'POST', 'PUT', 'DELETE') || ' /api/v2/' ||
		pick('orders', 'items', 'users', 'carts', 'sessions', 'reports') || '/' ||
		floor(random() * 1000000)::int || '?page=' || floor(random() * 20)::int ||
		'&token=' || left(md5(random()::text), 20),
	CASE WHEN random() < 0.9 THEN
		pick('completed', 'cache miss, read from the store', 'retried after a timeout',
			'rejected: the token is no longer valid', 'queued for later') ||
		' in worker ' || floor(random() * 64)::int || E'\tpath=C:\\srv\\' ||
		pick('shop', 'billing', 'search') || ' trace=' || md5(n::text)
	END
FROM generate_series(1, (:bytes / 251)::int) n;
