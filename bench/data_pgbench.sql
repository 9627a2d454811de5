--
-- data_pgbench.sql: pgbench_accounts as "pgbench --initialize" fills it, the
-- narrow rows that most published figures are about.  Variable "bytes": the
-- size of the COPY text, about.
--
\set ON_ERROR_STOP on

CREATE TABLE pgbench_accounts (
	aid int NOT NULL,
	bid int,
	abalance int,
	filler char(84)
);
INSERT INTO pgbench_accounts
SELECT n, (n - 1) / 100000 + 1, 0, ''
FROM generate_series(1, (:bytes / 97)::int) n;
