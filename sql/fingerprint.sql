-- Fingerprints are equal if the text of the rows is equal, even if anything else
-- has changed.  Definitions differ if the same bytes mean another text.
CREATE EXTENSION pg_pardump;
SET client_min_messages = error;
\set key '''\\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'''

CREATE FUNCTION columns(rel regclass) RETURNS name[] LANGUAGE sql AS $$
  SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute
  WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped AND attgenerated <> 'v'
$$;
CREATE FUNCTION fingerprint(rel regclass, start_block bigint DEFAULT 0, end_block bigint DEFAULT NULL,
  key bytea DEFAULT '\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', algorithm text DEFAULT 'poly1305')
  RETURNS bytea LANGUAGE sql AS $$
  SELECT fingerprint FROM pardump.pg_pardump_fingerprint(rel, columns(rel), start_block, end_block, key, algorithm)
$$;
CREATE FUNCTION rows_as_text(rel regclass) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(convert_from(string_agg(b, ''), getdatabaseencoding()), '')
  FROM pardump.pg_pardump_read(rel, columns(rel), 0, NULL, 'none') b
$$;

-- What a statement changes: of the fingerprint, the definition, the text.
CREATE TABLE state (rel regclass, fingerprint bytea, definition bytea, content text);
CREATE FUNCTION note(r regclass) RETURNS void LANGUAGE sql AS $$
  DELETE FROM state WHERE rel = r;
  INSERT INTO state SELECT r, fingerprint(r), (pardump.pg_pardump_definition(r, columns(r))).definition, md5(rows_as_text(r));
$$;
CREATE FUNCTION changed(r regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  old state;
  new state;
BEGIN
  SELECT * INTO old FROM state WHERE rel = r;
  PERFORM note(r);
  SELECT * INTO new FROM state WHERE rel = r;
  RETURN concat_ws(' ', CASE WHEN old.fingerprint <> new.fingerprint THEN 'fingerprint' END,
    CASE WHEN old.definition <> new.definition THEN 'definition' END,
    CASE WHEN old.content <> new.content THEN 'text' END);
END $$;

CREATE TABLE plain (id int, short text, long text, n numeric) WITH (autovacuum_enabled = off);
ALTER TABLE plain ALTER long SET STORAGE EXTERNAL;
INSERT INTO plain SELECT g, 'row ' || g, CASE WHEN g % 50 = 0 THEN repeat(md5(g::text), 100) END, nullif(g % 7, 0)
  FROM generate_series(1, 2000) g;

-- A chunk that is read has the fingerprint of the pass that only looks.
CREATE FUNCTION read_as_checked(rel regclass, key bytea, algorithm text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  last record;
  checked record;
BEGIN
  PERFORM pardump.pg_pardump_fingerprint_reads(key, algorithm);
  PERFORM rows_as_text(rel);
  SELECT * INTO last FROM pardump.pg_pardump_last_fingerprint();
  SELECT * INTO checked FROM pardump.pg_pardump_fingerprint(rel, columns(rel), 0, NULL, key, algorithm);
  RETURN last.fingerprint = checked.fingerprint AND last.first_fingerprint = checked.first_fingerprint
    AND last.definition = (pardump.pg_pardump_definition(rel, columns(rel))).definition;
END $$;
\t on
SELECT read_as_checked('plain', :key, algorithm) FROM unnest('{poly1305,sha256}'::text[]) algorithm;
SELECT length(fingerprint('plain')), length(fingerprint('plain', algorithm => 'sha256')),
  fingerprint('plain') = fingerprint('plain'),
  fingerprint('plain') = fingerprint('plain', key => decode(repeat('11', 32), 'hex')),
  fingerprint('plain', 0, 1) = fingerprint('plain', 1, 2);
-- HMAC is what it says, of no rows
SELECT encode(fingerprint('plain', 0, 0, algorithm => 'sha256'), 'hex');
-- not of what is not read to the end, nor but as text, nor without a key
BEGIN;
DECLARE c CURSOR FOR SELECT pardump.pg_pardump_read('plain', '{id}', 0, NULL, 'none');
MOVE 1 FROM c;
SELECT * FROM pardump.pg_pardump_last_fingerprint();
CLOSE c;
COMMIT;
SELECT count(*) FROM pardump.pg_pardump_read('plain', '{id}', 0, NULL, 'none', 'raw');
SELECT * FROM pardump.pg_pardump_last_fingerprint();
SELECT count(*) FROM pardump.pg_pardump_read('plain', '{id}', 0, NULL, 'none', 'binary');
SELECT * FROM pardump.pg_pardump_last_fingerprint();
SELECT read_as_checked('plain', :key, 'poly1305'), pardump.pg_pardump_fingerprint_reads(NULL);
SELECT count(rows_as_text('plain'));
SELECT * FROM pardump.pg_pardump_last_fingerprint();

-- What leaves the rows as they are.
SELECT note('plain');
VACUUM FREEZE plain;
SELECT changed('plain') AS frozen;
BEGIN;
INSERT INTO plain VALUES (0);
UPDATE plain SET id = -id WHERE id < 10;
ROLLBACK;
SELECT changed('plain') AS rolled_back;
BEGIN;
SELECT count(*) FROM (SELECT FROM plain FOR UPDATE) s;
COMMIT;
SELECT changed('plain') AS locked;
ALTER TABLE plain RENAME TO renamed;
ALTER TABLE renamed RENAME short TO brief;
ALTER TABLE renamed ADD CHECK (id > 0), ALTER brief SET STATISTICS 10;
SELECT changed('renamed') AS renamed;
VACUUM FULL renamed;
SELECT changed('renamed') AS rewritten;
ALTER TABLE renamed RENAME TO plain;

-- What does not.
UPDATE plain SET brief = 'Row 7' WHERE id = 7;
SELECT changed('plain') AS updated;
UPDATE plain SET long = repeat(md5('other'), 100) WHERE id = 50;
SELECT changed('plain') AS long_updated;
UPDATE plain SET n = NULL WHERE id = 8;
SELECT changed('plain') AS null_set;
DELETE FROM plain WHERE id = 9;
SELECT changed('plain') AS deleted;
INSERT INTO plain VALUES (9, 'row 9');
SELECT changed('plain') AS inserted;
ALTER TABLE plain ADD added int DEFAULT 5;
SELECT changed('plain') AS column_added;
ALTER TABLE plain ADD empty text;
SELECT changed('plain') AS empty_column_added;
ALTER TABLE plain DROP added;
SELECT changed('plain') AS column_dropped;

-- Types, nested, that change without a table being written.
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN mood_domain AS mood;
CREATE TYPE pair AS (a int, m mood_domain[]);
CREATE DOMAIN pairs AS pair[];
CREATE TABLE typed (p pairs, r tsrange);
INSERT INTO typed VALUES (ARRAY[ROW(1, '{sad,ok}')]::pair[], '[2020-01-01,2020-01-02)');
SELECT note('typed');
SELECT read_as_checked('typed', :key, 'poly1305');
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
SELECT changed('typed') AS label_renamed;
ALTER TYPE mood RENAME VALUE 'blue' TO 'red';
ALTER TYPE mood RENAME VALUE 'red' TO 'blue';
SELECT changed('typed') AS label_renamed_and_back;
ALTER TYPE pair ADD ATTRIBUTE b text;
SELECT changed('typed') AS attribute_added;
ALTER TYPE pair DROP ATTRIBUTE b;
SELECT changed('typed') AS attribute_dropped;
ALTER TYPE mood ADD VALUE 'great';
SELECT changed('typed') AS label_added;
UPDATE pg_type SET typdelim = ';' WHERE typname = 'mood';
SELECT changed('typed') AS delimiter;
CREATE FUNCTION other_output(mood) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'enum_out';
UPDATE pg_type SET typoutput = 'other_output'::regproc WHERE typname = 'mood';
SELECT definition IS NULL, reason FROM pardump.pg_pardump_definition('typed', columns('typed'));
CREATE TABLE numbers (i int, t timestamp);
INSERT INTO numbers VALUES (-1, '2020-01-01');
SELECT note('numbers');
ALTER TABLE numbers ALTER i TYPE oid USING i::oid;
SELECT changed('numbers') AS other_type;

-- No definition: the text depends on more.
CREATE TABLE others (c regclass, a aclitem[], m money, x xml, ok text);
SELECT col, definition IS NULL, reason FROM unnest('{c,a,m,x,ok}'::name[]) col,
  pardump.pg_pardump_definition('others', ARRAY[col]);
SELECT definition IS NULL, reason FROM pardump.pg_pardump_definition('pg_statistic', '{stavalues1}');
SELECT pardump.pg_pardump_fingerprint_reads(:key);
SELECT count(*) FROM pardump.pg_pardump_read('others', '{c,ok}', 0, NULL, 'none');
SELECT * FROM pardump.pg_pardump_last_fingerprint();

-- The first blocks tell early.
CREATE TABLE large AS SELECT g AS id, repeat('x', 500) AS filler FROM generate_series(1, 3000) g;
CREATE TABLE firsts AS SELECT (pardump.pg_pardump_fingerprint('large', '{id,filler}', 0, NULL, :key)).*;
SELECT first_fingerprint = fingerprint('large', 0, 128), fingerprint <> first_fingerprint, rows FROM firsts;
SELECT read_as_checked('large', :key, 'poly1305');
UPDATE large SET id = -id WHERE id = 100;
SELECT n.fingerprint IS NULL, n.first_fingerprint = f.first_fingerprint, n.rows BETWEEN 1500 AND 2500
  FROM firsts f, pardump.pg_pardump_fingerprint('large', '{id,filler}', 0, NULL, :key, 'poly1305', f.first_fingerprint) n;
SELECT n.fingerprint IS NULL, n.rows FROM pardump.pg_pardump_fingerprint('large', '{id,filler}', 0, NULL, :key, 'poly1305',
  (pardump.pg_pardump_fingerprint('large', '{id,filler}', 0, NULL, :key)).first_fingerprint) n;

-- Arguments, and who may.
CREATE FUNCTION try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  hint text;
  message text;
BEGIN
  EXECUTE query;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(E'\n', SQLSTATE || ': ' || message, nullif(hint, ''));
END $$;
\a
SELECT try($$SELECT fingerprint('plain', key => '\x00')$$);
SELECT try($$SELECT fingerprint('plain', algorithm => 'md5')$$);
SELECT try($$SELECT fingerprint('plain', key => NULL)$$);
SELECT try($$SELECT fingerprint('plain', -1)$$);
SELECT try($$SELECT pardump.pg_pardump_fingerprint('plain', '{nothing}', 0, NULL, decode(repeat('11', 32), 'hex'))$$);
SELECT try($$SELECT pardump.pg_pardump_definition('plain', NULL)$$);
SELECT try($$SELECT pardump.pg_pardump_fingerprint_reads('')$$);
SELECT try($$SELECT fingerprint('pg_stat_activity')$$);
CREATE ROLE regress_fingerprint;
GRANT SELECT (id) ON plain TO regress_fingerprint;
GRANT SELECT ON large TO regress_fingerprint;
GRANT SELECT ON typed TO regress_fingerprint;
ALTER TABLE typed ENABLE ROW LEVEL SECURITY;
SET ROLE regress_fingerprint;
-- a fingerprint is of whole tuples
SELECT try($$SELECT pardump.pg_pardump_fingerprint('large', '{id}', 0, NULL, decode(repeat('11', 32), 'hex'))$$);
SELECT try($$SELECT FROM pardump.pg_pardump_read('plain', '{id}', 0, NULL, 'none')$$);
SELECT fingerprint IS NULL FROM pardump.pg_pardump_last_fingerprint();
SELECT try($$SELECT pardump.pg_pardump_fingerprint('plain', '{id}', 0, NULL, decode(repeat('11', 32), 'hex'))$$);
SELECT try($$SELECT pardump.pg_pardump_definition('plain', '{n}')$$);
SELECT try($$SELECT pardump.pg_pardump_fingerprint('typed', '{p}', 0, NULL, decode(repeat('11', 32), 'hex'))$$);
RESET ROLE;
DROP TABLE plain, typed, numbers, others, large, firsts, state;
DROP ROLE regress_fingerprint;
DROP FUNCTION try, changed, note, rows_as_text, fingerprint, columns, read_as_checked;
DROP DOMAIN pairs;
DROP TYPE pair;
DROP DOMAIN mood_domain;
DROP TYPE mood CASCADE;
DROP EXTENSION pg_pardump;
