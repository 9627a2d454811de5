-- Chunk planning: errors, privileges, transactions and snapshots.
CREATE EXTENSION pg_pardump;

-- Report how a call fails, by SQLSTATE, message and hint.
CREATE FUNCTION try_chunks(rel regclass, chunk_bytes bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  n bigint;
  message text;
  hint text;
BEGIN
  SELECT count(*) INTO n FROM pardump.pg_pardump_chunks(rel, chunk_bytes);
  RETURN n || ' chunk(s)';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RETURN SQLSTATE || ': ' || message || E'\n' || hint;
END $$;

CREATE TABLE tab (id serial PRIMARY KEY, filler text) WITH (autovacuum_enabled = off);
INSERT INTO tab SELECT g, repeat('x', 100) FROM generate_series(1, 100) g;
CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE VIEW view_of_tab AS SELECT * FROM tab;
CREATE TYPE composite AS (a int);
CREATE FOREIGN DATA WRAPPER no_wrapper;
CREATE SERVER no_server FOREIGN DATA WRAPPER no_wrapper;
CREATE FOREIGN TABLE foreign_tab (id int) SERVER no_server;

-- Relations that have no chunks.
\x on
\t on
SELECT rel, try_chunks(rel)
  FROM unnest('{tab, part, parted, view_of_tab, foreign_tab, tab_pkey, parted_pkey, tab_id_seq, composite}'::regclass[]) rel;
SELECT replace(try_chunks(reltoastrelid), reltoastrelid::regclass::text, 'toast') FROM pg_class
  WHERE oid = 'pg_catalog.pg_proc'::regclass;
SELECT try_chunks(4294967295);

-- Arguments.
SELECT try_chunks('tab', 0), try_chunks('tab', -1), try_chunks('tab', NULL), try_chunks(NULL, 1);
\x off
\t off

-- Privileges: SELECT on the whole table.
CREATE ROLE regress_pardump_reader;
GRANT SELECT (id) ON tab TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_chunks('tab');
RESET ROLE;
GRANT SELECT ON tab TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_chunks('tab', 1000000);
RESET ROLE;

-- USAGE of the schema is needed as in a query, though the table comes by OID.
CREATE SCHEMA hidden;
CREATE TABLE hidden.tab (id int);
GRANT SELECT ON hidden.tab TO regress_pardump_reader;
SELECT 'hidden.tab'::regclass::oid AS hidden_tab \gset
SET ROLE regress_pardump_reader;
SELECT try_chunks(:hidden_tab);
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_chunks(:hidden_tab);
RESET ROLE;

-- Where row security applies, a plan would tell how much it hides.
CREATE TABLE secured AS SELECT 1 AS a;
GRANT SELECT ON secured TO regress_pardump_reader;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
SET ROLE regress_pardump_reader;
SELECT try_chunks('secured');
SET row_security = off;
SELECT try_chunks('secured');
RESET row_security;
RESET ROLE;
SELECT try_chunks('secured');

-- The lock is kept up to the end of the transaction, which may be read only.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT chunk_no, start_block, est_rows FROM pardump.pg_pardump_chunks('tab', 1000000);
SELECT mode FROM pg_locks WHERE relation = 'tab'::regclass AND pid = pg_backend_pid();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT chunk_no, start_block, est_rows FROM pardump.pg_pardump_chunks('tab', 1000000);
COMMIT;

-- Rows count as the active snapshot sees them: the cursor's is older than the
-- changes, and the function runs at the first FETCH.
CREATE TABLE seen (id int) WITH (autovacuum_enabled = off);
INSERT INTO seen SELECT generate_series(1, 1000);
BEGIN;
DECLARE old CURSOR FOR SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('seen', 1000);
DELETE FROM seen WHERE id <= 900;
INSERT INTO seen SELECT generate_series(1, 50);
FETCH old;
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('seen', 1000);
COMMIT;

-- A caller may read the chunks from a cursor, backwards too.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT chunk_no, start_block FROM pardump.pg_pardump_chunks('tab', 1);
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;

SELECT obj_description('pardump.pg_pardump_chunks(regclass, bigint)'::regprocedure, 'pg_proc');

DROP FUNCTION try_chunks;
DROP VIEW view_of_tab;
DROP TABLE tab, parted, seen, secured, hidden.tab;
DROP SCHEMA hidden;
DROP TYPE composite;
DROP FOREIGN DATA WRAPPER no_wrapper CASCADE;
DROP ROLE regress_pardump_reader;
DROP EXTENSION pg_pardump;
