--
-- demo_data.sql: what scripts/demo.sh dumps besides pgbench's tables.
--
-- Variable "scale": pgbench's.
--
\set ON_ERROR_STOP on
SELECT count(*) AS rows FROM pgbench_accounts \gset

-- A partitioned table: every partition is a table of its own to a dump, and
-- the last one is much larger than the others.
CREATE TABLE accounts_parts (aid int NOT NULL, bid int, abalance int, filler char(84))
	PARTITION BY RANGE (aid);
SELECT format('CREATE TABLE accounts_part_%s PARTITION OF accounts_parts FOR VALUES FROM (%s) TO (%s)',
	n, :rows / 80 * (n - 1) + 1, CASE n WHEN 8 THEN 'MAXVALUE' ELSE (:rows / 80 * n + 1)::text END)
FROM generate_series(1, 8) n \gexec
INSERT INTO accounts_parts SELECT * FROM pgbench_accounts WHERE aid <= :rows / 4;
ALTER TABLE accounts_parts ADD PRIMARY KEY (aid);

-- Few heap blocks, much TOAST: wide values, kept as they are or compressed.
CREATE TABLE documents (id int PRIMARY KEY, body text, image bytea);
ALTER TABLE documents ALTER image SET STORAGE EXTERNAL;
INSERT INTO documents
SELECT n, repeat(lines, 4), decode(lines, 'hex')
FROM generate_series(1, :rows / 800) n,
	LATERAL (SELECT string_agg(md5((n * 1000 + i)::text), '') AS lines FROM generate_series(1, 300) i) l;

-- Bloat: most of the table's blocks hold dead rows or none.
CREATE TABLE history (id int PRIMARY KEY, event text, at timestamptz)
	WITH (autovacuum_enabled = off);
INSERT INTO history
SELECT n, 'event ' || md5(n::text), timestamptz '2024-01-01 UTC' + n * interval '1 second'
FROM generate_series(1, :rows / 8) n;
UPDATE history SET event = event || ' again';
UPDATE history SET event = event || ' and again' WHERE id % 2 = 0;
DELETE FROM history WHERE id < :rows / 20 OR id % 3 = 0;

-- Large objects, some with a comment, some with privileges.
CREATE ROLE demo_reader;
SELECT count(lo_from_bytea(100000 + n, decode(repeat(md5(n::text), 2000), 'hex'))) AS "large objects"
FROM generate_series(1, 200) n;
COMMENT ON LARGE OBJECT 100001 IS 'the first large object';
GRANT SELECT ON LARGE OBJECT 100002 TO demo_reader;

-- A view, a materialized view, a foreign key: order matters to a restore.
CREATE TABLE notes (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	aid int NOT NULL REFERENCES accounts_parts, note text);
INSERT INTO notes (aid, note) SELECT n, 'note ' || n FROM generate_series(1, :rows / 40) n;
CREATE MATERIALIZED VIEW branches AS
	SELECT bid, count(*) AS accounts FROM pgbench_accounts GROUP BY bid;

VACUUM (ANALYZE) accounts_parts, documents, notes, branches;
ANALYZE history;
CHECKPOINT;
