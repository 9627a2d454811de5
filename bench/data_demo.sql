--
-- data_demo.sql: the database of scripts/demo.sh, with its own indexes: pgbench's
-- tables, a partitioned and a bloated one, documents, large objects.  Variable
-- "bytes": the size of the COPY text, about.
--
\set ON_ERROR_STOP on

SELECT greatest(1, :bytes / 25000000) AS scale \gset
DROP ROLE IF EXISTS demo_reader;	-- of an earlier one
\setenv PGDATABASE :DBNAME
\! pgbench --initialize --quiet --init-steps=dt 2>&1
\ir ../scripts/demo_pgbench.sql
\! pgbench --initialize --quiet --init-steps=vp 2>&1
\ir ../scripts/demo_data.sql
