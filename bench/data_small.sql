--
-- data_small.sql: 5,000 tables of 100 rows, each with a primary key.
--
\set ON_ERROR_STOP on

-- Few of them in one transaction: each needs locks until its end.
SELECT format('CREATE TABLE small_%s (id int PRIMARY KEY, name text NOT NULL, at timestamptz DEFAULT now());'
	'INSERT INTO small_%s SELECT n, md5(n::text) FROM generate_series(1, 100) n', t, t)
FROM generate_series(1, 5000) t
\gexec
