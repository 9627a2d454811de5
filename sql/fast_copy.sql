-- COPY FROM STDIN by the extension: the setting, the function, rows, errors.
SET DateStyle = 'ISO, MDY';
CREATE EXTENSION pg_pardump;
SELECT pardump.pg_pardump_fast_copy(NULL);
SELECT pardump.pg_pardump_fast_copy();
SHOW pg_pardump.fast_copy;

CREATE TABLE tab (id int PRIMARY KEY, t text, d date DEFAULT '2024-02-29', CHECK (id <> 13));
COPY tab (id, t) FROM STDIN;
1	one
2	\N
3	a\tb\\c\nd
4	\101\x42
\.
COPY tab FROM STDIN WITH (FORMAT text);
5	five	2023-01-01
\.
COPY tab FROM STDIN;
6	six
\.
COPY tab FROM STDIN;
6	six	2023-01-01
7	seven	no date
\.
COPY tab FROM STDIN;
6	six	2023-01-01
13	thirteen	2023-01-01
\.
COPY tab FROM STDIN;
6	six	2023-01-01
1	one	2023-01-01
\.
COPY tab (id) FROM STDIN WITH (DELIMITER ',');
7
\.
SELECT * FROM tab;

-- in a transaction the setting is undone with it
BEGIN;
SELECT pardump.pg_pardump_fast_copy(false);
SHOW pg_pardump.fast_copy;
ROLLBACK;
SHOW pg_pardump.fast_copy;

DROP TABLE tab;
DROP EXTENSION pg_pardump;
SHOW pg_pardump.fast_copy;
