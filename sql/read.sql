-- The reader of rows: what it reads, for whom, and how calls end.
CREATE EXTENSION pg_pardump;

-- The text of a range of rows, a binary form in hexadecimal digits, or how the
-- call fails, by SQLSTATE, message and hint.
CREATE FUNCTION try_read(rel regclass, columns name[], start_block bigint DEFAULT 0,
  end_block bigint DEFAULT NULL, compression text DEFAULT 'none', format text DEFAULT 'text')
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  content bytea;
  message text;
  detail text;
  hint text;
BEGIN
  SELECT string_agg(b, '') INTO content
    FROM (SELECT pardump.pg_pardump_read(rel, columns, start_block, end_block, compression, format) AS b) s;
  IF format = 'binary' THEN
    RETURN encode(content, 'hex');
  END IF;
  RETURN coalesce(convert_from(content, 'UTF8'), '(nothing)');
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;

CREATE TABLE tab (a int, b text, gone int, c int[], g text GENERATED ALWAYS AS (upper(b)) STORED)
  WITH (autovacuum_enabled = off);
ALTER TABLE tab DROP gone;
INSERT INTO tab VALUES (1, E'x\ty\\', '{1,NULL}'), (NULL, NULL, NULL), (3, '', '{}');
CREATE TABLE many AS SELECT g AS id, repeat('x', 200) AS filler FROM generate_series(1, 12000) g;

-- Columns: in the order asked for, repeated, generated, none.
\t on
SELECT try_read('tab', '{a,b,c,g}');
SELECT try_read('tab', '{c,a,a}');
SELECT try_read('tab', '{}');
SELECT try_read('tab', '{{a,b},{c,a}}');
SELECT try_read('tab', '{a,nothing}');
SELECT try_read('tab', '{gone}'), try_read('tab', '{........pg.dropped.3........}');
SELECT try_read('tab', '{ctid}'), try_read('tab', '{tableoid}');
SELECT try_read('tab', '{NULL}');

-- Blocks.
SELECT try_read('tab', '{a}', 1), try_read('tab', '{a}', 0, 0), try_read('tab', '{a}', 4294967295),
  try_read('tab', '{a}', 4294967295, 4294967295), try_read('tab', '{a}', 5, 1);
SELECT try_read('tab', '{a}', -1), try_read('tab', '{a}', 0, -1);
SELECT try_read('tab', '{a}', 4294967296), try_read('tab', '{a}', 0, 4294967296);

-- A table is its chunks' texts after each other.
SELECT try_read('many', '{id}') = string_agg(id || E'\n', '' ORDER BY ctid) FROM many;
SELECT try_read('many', '{id}') = string_agg(nullif(try_read('many', '{id}', i, i + 7), '(nothing)'), '' ORDER BY i)
  FROM generate_series(0, pg_relation_size('many') / current_setting('block_size')::int, 7) i;

-- Arguments.
SELECT try_read(NULL, '{a}'), try_read('tab', NULL), try_read('tab', '{a}', NULL), try_read('tab', '{a}', 0, NULL, NULL);
SELECT try_read('tab', '{a}', 0, NULL, 'bzip2');
SELECT try_read('tab', '{a}', 0, NULL, 'zstd:x'), try_read('tab', '{a}', 0, NULL, '');
SELECT compression, length(string_agg(b, '')) BETWEEN 10 AND 300
  FROM unnest('{gzip,gzip:1,gzip:9,lz4,lz4:1,zstd,zstd:1,zstd:19}'::text[]) compression,
    LATERAL (SELECT pardump.pg_pardump_read('tab', '{a,b}', 0, NULL, compression) AS b) s
  GROUP BY compression ORDER BY compression COLLATE "C";

-- Formats: a binary one has a head and an end, with and without rows.
SELECT try_read('tab', '{a}', format => 'csv'), try_read('tab', '{a}', format => NULL), try_read('tab', '{a}', format => 'Binary');
SELECT try_read('tab', '{a,b,c}', format => 'binary');
SELECT try_read('tab', '{}', format => 'binary'), try_read('tab', '{a}', 1, format => 'binary');
SELECT length(string_agg(b, '')) BETWEEN 20 AND 100 FROM pardump.pg_pardump_read('tab', '{a,b}', 0, NULL, 'zstd', 'binary') b;
SELECT * FROM pardump.pg_pardump_last_read();
SELECT try_read('pg_class', '{relacl}', format => 'binary');

-- Relations that have no rows of their own.
CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (100);
INSERT INTO parted VALUES (7);
CREATE TABLE child () INHERITS (tab);
INSERT INTO child VALUES (99);
CREATE VIEW view_of_tab AS SELECT * FROM tab;
CREATE MATERIALIZED VIEW filled AS SELECT a FROM tab;
CREATE MATERIALIZED VIEW unfilled AS SELECT a FROM tab WITH NO DATA;
CREATE SEQUENCE counter;
CREATE TYPE composite AS (a int);
CREATE FOREIGN DATA WRAPPER no_wrapper;
CREATE SERVER no_server FOREIGN DATA WRAPPER no_wrapper;
CREATE FOREIGN TABLE foreign_tab (id int) SERVER no_server;
SELECT rel, try_read(rel, '{id}')
  FROM unnest('{part, parted, foreign_tab, parted_pkey, part_pkey}'::regclass[]) rel;
SELECT rel, try_read(rel, '{a}')
  FROM unnest('{tab, child, view_of_tab, filled, unfilled, composite, counter}'::regclass[]) rel;
SELECT regexp_replace(try_read(reltoastrelid, '{chunk_id}'), 'pg_toast_\d+', 'toast')
  FROM pg_class WHERE oid = 'tab'::regclass;
SELECT try_read(4294967295, '{a}');

-- Privileges: SELECT on the table, or on each column that is read; on any if
-- none is.
CREATE ROLE regress_pardump_reader;
CREATE SCHEMA hidden;
CREATE TABLE hidden.tab AS SELECT 1 AS a, 2 AS b;
GRANT SELECT ON hidden.tab TO regress_pardump_reader;
SELECT 'hidden.tab'::regclass::oid AS hidden_tab \gset
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a}'), try_read('tab', '{}');
SELECT try_read('tab', '{nothing}');
SELECT try_read('pg_authid', '{rolname}');
SELECT try_read('pg_am', '{amname}') LIKE E'%heap\n%';
-- USAGE of the schema is needed as in a query, though the table comes by OID
SELECT try_read(:hidden_tab, '{a}');
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_read(:hidden_tab, '{a}');
RESET ROLE;
GRANT SELECT (a, c), UPDATE ON tab TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a,c}');
SELECT try_read('tab', '{a,b}');
SELECT try_read('tab', '{}');
RESET ROLE;
REVOKE ALL (a, c) ON tab FROM regress_pardump_reader;
GRANT SELECT ON tab TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a,b}');
RESET ROLE;

-- The privileges are those of the function that calls.
CREATE FUNCTION read_as_owner() RETURNS text LANGUAGE sql SECURITY DEFINER
  AS 'SELECT public.try_read(''pg_authid'', ''{rolsuper}'') <> ''''';
SET ROLE regress_pardump_reader;
SELECT read_as_owner();
RESET ROLE;

-- Row security: an error for whomever it applies to.
ALTER TABLE tab ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON tab USING (a = 1);
SELECT try_read('tab', '{a}');
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a}');
SET row_security = off;
SELECT try_read('tab', '{a}');
RESET row_security;
RESET ROLE;
ALTER ROLE regress_pardump_reader BYPASSRLS;
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a}');
RESET ROLE;
ALTER ROLE regress_pardump_reader NOBYPASSRLS;
ALTER TABLE tab OWNER TO regress_pardump_reader;
SET ROLE regress_pardump_reader;
SELECT try_read('tab', '{a}');
ALTER TABLE tab FORCE ROW LEVEL SECURITY;
SELECT try_read('tab', '{a}');
RESET ROLE;
\t off

-- Ends of calls: all of it, or not, leaves nothing behind.
SELECT count(*) FROM (SELECT pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'none') LIMIT 1) s;
SELECT count(*) FROM (SELECT pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'zstd') LIMIT 1) s;
SELECT length(a.b) = length(c.b) FROM (VALUES ('many'::regclass)) t(rel),
  LATERAL pardump.pg_pardump_read(rel, '{id}', 0, NULL, 'none') a(b),
  LATERAL pardump.pg_pardump_read(rel, '{id}', 0, NULL, 'none') c(b);
SELECT pardump.pg_pardump_read('many', '{id}', 0, 1, 'none') = pardump.pg_pardump_read('many', '{id}', 0, 1, 'none');
SELECT count(*) FROM generate_series(1, 3) i, LATERAL (SELECT pardump.pg_pardump_read('many', '{id}', i, 5, 'gzip') LIMIT 1) s;
SELECT 1 / (length(pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'none'))
    - length(pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'none')));
BEGIN;
DECLARE c CURSOR FOR SELECT length(pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'none'));
SAVEPOINT s;
FETCH 1 FROM c;
SELECT pardump.pg_pardump_read('many', '{nothing}', 0, NULL, 'none');
ROLLBACK TO s;
CLOSE c;
SAVEPOINT t;
DECLARE d CURSOR FOR SELECT length(pardump.pg_pardump_read('many', '{id,filler}', 0, NULL, 'none'));
FETCH 1 FROM d;
ROLLBACK TO t;
-- the lock stays as long as what was read may be used
SELECT pardump.pg_pardump_read('filled', '{a}', 0, NULL, 'none');
SELECT mode FROM pg_locks WHERE relation = 'filled'::regclass AND pid = pg_backend_pid();
COMMIT;
-- 22 blocks of 1 MB take no more memory than 4
BEGIN;
DECLARE blocks CURSOR FOR
  SELECT length(pardump.pg_pardump_read('many', array_fill('filler'::name, ARRAY[10]), 0, NULL, 'none')) >= 1024 * 1024 AS whole;
MOVE 4 FROM blocks;
SELECT sum(total_bytes) AS memory FROM pg_backend_memory_contexts \gset
MOVE 17 FROM blocks;
FETCH blocks;
SELECT sum(total_bytes) < :memory + 2 * 1024 * 1024 AS bounded FROM pg_backend_memory_contexts;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT pardump.pg_pardump_read('filled', '{a}', 0, NULL, 'none');
COMMIT;

-- Own changes are seen as by any query.
BEGIN;
DECLARE old CURSOR FOR SELECT convert_from(pardump.pg_pardump_read('part', '{id}', 0, NULL, 'none'), 'UTF8');
INSERT INTO part VALUES (8);
DELETE FROM part WHERE id = 7;
FETCH old;
SELECT convert_from(pardump.pg_pardump_read('part', '{id}', 0, NULL, 'none'), 'UTF8');
ROLLBACK;

-- The binary format counts the columns of a row in 16 bits.
SELECT sum(length(read)) FROM pardump.pg_pardump_read('filled', array_fill('a'::name, ARRAY[32767]), 0, NULL, 'none', 'binary') AS read;
SELECT pardump.pg_pardump_read('filled', array_fill('a'::name, ARRAY[32768]), 0, NULL, 'none', 'binary');
SELECT sum(length(read)) FROM pardump.pg_pardump_read('filled', array_fill('a'::name, ARRAY[32768]), 0, NULL, 'none') AS read;

-- No temporary tables, of the session itself neither.
CREATE TEMP TABLE mine AS SELECT 5 AS a;
SELECT try_read('mine', '{a}');

-- What the last read came to, compressed or not, if it came to its end.
SELECT count(*) > 0 AS found FROM pardump.pg_pardump_read('many', '{id}', 0, NULL, 'none');
SELECT rows = (SELECT count(*) FROM many) AS all_rows,
	bytes = (SELECT sum(length(id::text) + 1) FROM many) AS all_bytes
	FROM pardump.pg_pardump_last_read();
SELECT count(*) FROM pardump.pg_pardump_read('many', '{id}', 0, 0, 'gzip:1');
SELECT * FROM pardump.pg_pardump_last_read();
SELECT count(*) > 0 AS found FROM pardump.pg_pardump_read('many', '{id}', 0, NULL, 'gzip:1');
SELECT rows = (SELECT count(*) FROM many) AS all_rows,
	bytes = (SELECT sum(length(id::text) + 1) FROM many) AS all_bytes
	FROM pardump.pg_pardump_last_read();
SELECT pardump.pg_pardump_read('many', '{nothing}', 0, NULL, 'none');
SELECT * FROM pardump.pg_pardump_last_read();

SELECT obj_description('pardump.pg_pardump_read(regclass, name[], bigint, bigint, text, text)'::regprocedure, 'pg_proc');

DROP FUNCTION try_read, read_as_owner;
DROP VIEW view_of_tab;
DROP MATERIALIZED VIEW filled, unfilled;
DROP TABLE child, tab, many, parted, hidden.tab;
DROP SCHEMA hidden;
DROP SEQUENCE counter;
DROP TYPE composite;
DROP FOREIGN DATA WRAPPER no_wrapper CASCADE;
DROP ROLE regress_pardump_reader;
DROP EXTENSION pg_pardump;
