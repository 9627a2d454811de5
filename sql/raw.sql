-- Raw tuples: who may load them, into what, and of which types.
CREATE EXTENSION pg_pardump;
SET client_min_messages = warning;
CREATE SCHEMA raw;
SET search_path = raw;

-- How many rows and bytes a table's rows are in another one, or how it fails,
-- by SQLSTATE, message, detail and hint.
CREATE FUNCTION try_copy(source regclass, columns name[], target regclass, compression text DEFAULT 'none')
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text;
  message text;
  detail text;
  hint text;
BEGIN
  SELECT concat_ws(' rows, ', sum(l.rows), sum(l.bytes)) INTO result
    FROM pardump.pg_pardump_read(source, columns, 0, NULL, compression, 'raw') b, pardump.pg_pardump_load_tuples(target, b) l;
  RETURN coalesce(nullif(result, ''), '(no block)');
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;

\t on

-- Rows, in the order of columns that is asked for.
CREATE TABLE source (a int, b text, c numeric);
INSERT INTO source VALUES (1, 'one', 1.5), (2, NULL, NULL), (NULL, 'three', 3);
CREATE TABLE target (a int, b text, c numeric);
CREATE TABLE turned (c numeric, a int);
SELECT try_copy('source', '{a,b,c}', 'target'), try_copy('source', '{c,a}', 'turned');
TABLE target;
TABLE turned;
SELECT try_copy('source', '{a,b}', 'target');
SELECT try_copy('source', '{a,c,b}', 'target');
SELECT try_copy('source', '{a,b,c,c}', 'target');
SELECT pardump.pg_pardump_last_read();

-- No columns, and no rows.
CREATE TABLE nothing ();
INSERT INTO nothing DEFAULT VALUES;
INSERT INTO nothing DEFAULT VALUES;
CREATE TABLE nothing_too ();
SELECT try_copy('nothing', '{}', 'nothing_too'), (SELECT count(*) FROM nothing_too);
CREATE TABLE no_rows (LIKE source);
SELECT try_copy('no_rows', '{a,b,c}', 'target');

-- Compression.
SELECT try_copy('source', '{a,b,c}', 'target', compression) FROM unnest('{lz4,lz4:9,zstd,zstd:19,gzip}'::text[]) compression;

-- Only of what becomes much shorter.
CREATE TABLE repetitive AS SELECT 1 AS a, repeat('x', 100) AS b, g::numeric AS c FROM generate_series(1, 1000) g;
CREATE TABLE various AS SELECT g AS a, md5(g::text) AS b, g::numeric AS c FROM generate_series(1, 1000) g;
CREATE FUNCTION read_bytes(source regclass, compression text) RETURNS bigint LANGUAGE sql
  RETURN (SELECT sum(length(b)) FROM pardump.pg_pardump_read(source, '{a,b,c}', 0, NULL, compression, 'raw') b);
SELECT read_bytes(source, 'auto') = read_bytes(source, 'none'), read_bytes(source, 'auto') = read_bytes(source, 'lz4'),
    try_copy(source, '{a,b,c}', 'target', 'auto')
  FROM unnest('{repetitive,various}'::regclass[]) source;
SELECT sum(length(b)) FROM pardump.pg_pardump_read('source', '{a,b,c}', 0, NULL, 'auto', 'text') b;
DROP TABLE repetitive, various;

-- Arguments, and data that is not a block.
SELECT pardump.pg_pardump_load_tuples(NULL, '');
SELECT pardump.pg_pardump_load_tuples('target', NULL);
SELECT pardump.pg_pardump_load_tuples('target', '');
SELECT pardump.pg_pardump_load_tuples('target', 'PARDRAW');
SELECT pardump.pg_pardump_load_tuples(4294967295, '');
SELECT pardump.pg_pardump_raw_reason(NULL, true);
SELECT pardump.pg_pardump_raw_reason('target', NULL);
SELECT pardump.pg_pardump_raw_reason(4294967295, true);

-- Constraints.
CREATE TABLE constrained (a int CHECK (a < 10), b text NOT NULL, c numeric);
SELECT try_copy('source', '{a,b,c}', 'constrained');
DELETE FROM source WHERE b IS NULL;
SELECT try_copy('source', '{a,b,c}', 'constrained');
UPDATE source SET a = 10 WHERE a = 1;
SELECT try_copy('source', '{a,b,c}', 'constrained');
CREATE TABLE parted (a int, b text, c numeric) PARTITION BY LIST (b);
CREATE TABLE leaf PARTITION OF parted FOR VALUES IN ('one', 'three');
SELECT try_copy('source', '{a,b,c}', 'leaf');
CREATE TABLE other_leaf PARTITION OF parted FOR VALUES IN ('four');
SELECT try_copy('source', '{a,b,c}', 'other_leaf');
CREATE TABLE keyed (a int UNIQUE, b text, c numeric);
SELECT try_copy('source', '{a,b,c}', 'keyed');
SELECT try_copy('source', '{a,b,c}', 'keyed');
SET enable_seqscan = off;
SELECT * FROM keyed WHERE a = 10;
RESET enable_seqscan;
SELECT (SELECT count(*) FROM constrained), (SELECT count(*) FROM leaf), (SELECT count(*) FROM other_leaf), (SELECT count(*) FROM keyed);

-- What cannot be loaded, or not be read.
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b int);
CREATE TYPE textrange AS RANGE (subtype = text);
CREATE VIEW seen AS SELECT 1 AS a;
CREATE SEQUENCE counted;
CREATE MATERIALIZED VIEW kept AS SELECT 1 AS a;
CREATE UNLOGGED TABLE unlogged (a int);
CREATE TEMP TABLE temporary (a int);
CREATE TABLE dropped (a int, b int);
ALTER TABLE dropped DROP a;
CREATE TABLE generated (a int, b int GENERATED ALWAYS AS (a + 1) STORED);
CREATE TABLE identity (a int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE volatile (a int CHECK (a + random() > 0));
CREATE TABLE ruled (a int);
CREATE RULE r AS ON INSERT TO ruled DO INSTEAD NOTHING;
CREATE TABLE secured (a int);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
ALTER TABLE secured FORCE ROW LEVEL SECURITY;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE triggered (a int);
CREATE TRIGGER t AFTER INSERT ON triggered EXECUTE FUNCTION f();
CREATE TABLE triggered_else (a int);
CREATE TRIGGER t AFTER UPDATE ON triggered_else EXECUTE FUNCTION f();
CREATE TABLE referring (a int REFERENCES keyed (a));
CREATE TABLE deferred (a int UNIQUE DEFERRABLE);
CREATE TABLE of_domain (a positive);
CREATE TABLE of_domains (a positive[]);
CREATE TABLE of_enum (a mood);
CREATE TABLE of_enums (a mood[]);
CREATE TABLE of_composite (a pair);
CREATE TABLE of_composites (a pair[]);
CREATE TABLE of_range (a textrange);
CREATE TABLE of_regclass (a regclass);
CREATE TABLE of_regclasses (a regclass[]);
CREATE TABLE of_vector (a int2vector);
CREATE TABLE of_record (a pg_catalog.pg_class);
CREATE TABLE of_ranges (a int4range[], b tstzmultirange, c text[][]);
SELECT c.oid::regclass, pardump.pg_pardump_raw_reason(c.oid, false) AS reading,
    pardump.pg_pardump_raw_reason(c.oid, true) AS loading
  FROM pg_class c WHERE relnamespace IN ('raw'::regnamespace, pg_my_temp_schema()) AND relkind IN ('r', 'm', 'v', 'p', 'S')
    AND relname NOT IN ('source', 'target', 'turned', 'nothing', 'nothing_too', 'no_rows', 'constrained')
  ORDER BY relname COLLATE "C";
SELECT pardump.pg_pardump_raw_reason('pg_class', true), pardump.pg_pardump_raw_reason('pg_toast.pg_toast_1255', true);
SELECT try_copy('of_enum', '{a}', 'target');
SELECT pardump.pg_pardump_load_tuples('seen', '');
SELECT pardump.pg_pardump_load_tuples('parted', '');
SELECT pardump.pg_pardump_load_tuples('triggered', '');
SELECT pardump.pg_pardump_load_tuples('of_enum', '');
SET session_replication_role = replica;
SELECT pardump.pg_pardump_raw_reason('triggered', true), pardump.pg_pardump_raw_reason('referring', true);
RESET session_replication_role;

-- A block is made for columns, and goes nowhere else.
CREATE TABLE loaded (a int);
INSERT INTO unlogged VALUES (1);
SELECT try_copy('unlogged', '{a}', 'loaded'), try_copy('unlogged', '{a}', 'identity'), try_copy('unlogged', '{a}', 'secured');

-- Only superusers may call the functions, even if EXECUTE is granted.
SELECT proname, array_remove(array_agg(grantee = 0 ORDER BY grantee), false) AS public
  FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
  WHERE pronamespace = 'pardump'::regnamespace GROUP BY proname ORDER BY proname;
CREATE ROLE regress_pardump_raw;
GRANT USAGE ON SCHEMA raw TO regress_pardump_raw;
CREATE TABLE own (a int, b text);
INSERT INTO own VALUES (1, 'b');
ALTER TABLE own OWNER TO regress_pardump_raw;
GRANT SELECT (a, b) ON source TO regress_pardump_raw;
SET ROLE regress_pardump_raw;
SELECT pardump.pg_pardump_load_tuples('own', '');
SELECT try_copy('own', '{a,b}', 'own');
RESET ROLE;
GRANT EXECUTE ON FUNCTION pardump.pg_pardump_load_tuples TO regress_pardump_raw;
SET ROLE regress_pardump_raw;
SELECT try_copy('own', '{a,b}', 'own');
-- reading is as in other formats, of columns that may be read
SELECT count(*) FROM pardump.pg_pardump_read('source', '{a,b}', 0, NULL, 'none', 'raw');
SELECT count(*) FROM pardump.pg_pardump_read('source', '{a,c}', 0, NULL, 'none', 'raw');
SELECT count(*) FROM pardump.pg_pardump_read('target', '{a}', 0, NULL, 'none', 'raw');
RESET ROLE;

-- Only the columns asked for are in a block, and nothing of dropped ones.
CREATE TABLE secret (a text, b text, c text);
INSERT INTO secret VALUES ('public', 'hidden', 'gone');
ALTER TABLE secret DROP c;
SELECT position('public' IN b) > 0 AS a, position('hidden' IN b) > 0 AS b, position('gone' IN b) > 0 AS c
  FROM unnest('{"{a}","{b}","{a,b}"}'::text[]) columns, pardump.pg_pardump_read('secret', columns::name[], 0, NULL, 'none', 'raw') b;

-- Transactions that cannot write.
BEGIN READ ONLY;
SELECT pardump.pg_pardump_load_tuples('target', '');
ROLLBACK;

-- Comments.
SELECT obj_description('pardump.pg_pardump_load_tuples(regclass, bytea)'::regprocedure, 'pg_proc');
SELECT obj_description('pardump.pg_pardump_raw_reason(regclass, boolean)'::regprocedure, 'pg_proc');
\t off

DROP SCHEMA raw CASCADE;
DROP EXTENSION pg_pardump;
DROP ROLE regress_pardump_raw;
