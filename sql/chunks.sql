-- Chunk planning: shape and quality of the ranges.
-- No table here is touched by autovacuum.  Up to 4096 blocks figures are exact
-- where chunks are small; the larger tables, which are sampled, come last.
CREATE EXTENSION pg_pardump;

-- Planned chunks beside what is really in their block ranges.
CREATE FUNCTION planned(rel regclass, chunk_bytes bigint,
  OUT chunk_no int, OUT start_block bigint, OUT end_block bigint,
  OUT est_rows float8, OUT est_bytes bigint,
  OUT real_rows bigint, OUT real_bytes bigint)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
  lens text;
BEGIN
  -- value lengths and a separator for each column, as the planner counts
  SELECT coalesce(string_agg(
           CASE WHEN attlen > 0 THEN format('CASE WHEN %I IS NULL THEN 3 ELSE %s END', attname, attlen + 1)
                ELSE format('coalesce(octet_length(%I) + 1, 3)', attname) END, ' + '), '1')
    INTO lens
    FROM pg_attribute
    WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
  FOR chunk_no, start_block, end_block, est_rows, est_bytes IN
    SELECT * FROM pardump.pg_pardump_chunks(rel, chunk_bytes)
  LOOP
    EXECUTE format('SELECT count(*), coalesce(sum((%s)::bigint), 0) FROM ONLY %s WHERE ctid >= %L AND ctid < %L',
                   lens, rel, format('(%s,0)', start_block), format('(%s,0)', end_block))
      INTO real_rows, real_bytes;
    RETURN NEXT;
  END LOOP;
END $$;

-- The properties that every plan must have.
CREATE FUNCTION check_plan(rel regclass, chunk_bytes bigint,
  OUT numbered bool, OUT contiguous bool, OUT complete bool, OUT no_empty_range bool,
  OUT no_empty_chunk bool, OUT rows_exact bool, OUT bytes_exact bool)
LANGUAGE sql AS $$
  WITH p AS (SELECT *, row_number() OVER (ORDER BY start_block) AS n,
                    lag(end_block, 1, 0::bigint) OVER (ORDER BY start_block) AS prev_end
             FROM planned(rel, chunk_bytes))
  SELECT bool_and(chunk_no = n),
         bool_and(start_block = prev_end),
         max(end_block) = pg_relation_size(rel) / current_setting('block_size')::int,
         count(*) = 1 OR bool_and(end_block > start_block),
         count(*) = 1 OR bool_and(real_rows > 0),
         bool_and(est_rows = real_rows),
         bool_and(est_bytes = real_bytes)
  FROM p
$$;

-- Largest real chunk against the mean.
CREATE FUNCTION imbalance(rel regclass, chunk_bytes bigint) RETURNS numeric LANGUAGE sql AS
  'SELECT max(real_bytes) / avg(real_bytes) FROM planned(rel, chunk_bytes)';

-- A plain table.
CREATE TABLE plain (id int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO plain SELECT g, repeat('x', g % 200) FROM generate_series(1, 20000) g;
SELECT * FROM check_plan('plain', 100000);
SELECT count(*) = ceil(sum(est_bytes) / 100000), sum(est_rows), sum(est_bytes), max(est_bytes) < 105000 AS max_ok
  FROM pardump.pg_pardump_chunks('plain', 100000);
SELECT imbalance('plain', 100000) < 1.1 AS balanced;

-- The extremes of the chunk size.
SELECT * FROM check_plan('plain', 1);
SELECT count(*) = pg_relation_size('plain') / current_setting('block_size')::int AS chunk_per_block
  FROM pardump.pg_pardump_chunks('plain', 1);
SELECT * FROM check_plan('plain', 9223372036854775807);
SELECT chunk_no, start_block, est_rows FROM pardump.pg_pardump_chunks('plain', 9223372036854775807);

-- Empty, one block, all rows gone, tiny.
CREATE TABLE nothing (a int) WITH (autovacuum_enabled = off);
SELECT * FROM pardump.pg_pardump_chunks('nothing', 100);
SELECT * FROM pardump.pg_pardump_chunks('nothing', 1);
INSERT INTO nothing VALUES (1), (NULL);
SELECT * FROM pardump.pg_pardump_chunks('nothing', 100);
SELECT * FROM pardump.pg_pardump_chunks('nothing', 1);
DELETE FROM nothing;
SELECT * FROM pardump.pg_pardump_chunks('nothing', 1);

-- 90 % dead, before and after VACUUM: few chunks, and no small ones.
CREATE TABLE bloated (id int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO bloated SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
SELECT count(*) FROM pardump.pg_pardump_chunks('bloated', 100000);
DELETE FROM bloated WHERE id % 10 <> 0;
SELECT * FROM check_plan('bloated', 100000);
SELECT count(*), sum(est_rows), sum(est_bytes) FROM pardump.pg_pardump_chunks('bloated', 100000);
SELECT imbalance('bloated', 100000) < 1.1 AS balanced;
VACUUM bloated;
SELECT * FROM check_plan('bloated', 100000);
SELECT count(*), sum(est_rows), sum(est_bytes) FROM pardump.pg_pardump_chunks('bloated', 100000);

-- Emptied at the front and in the middle: the empty ranges join a neighbour.
CREATE TABLE emptied (id int, filler text) WITH (autovacuum_enabled = off);
INSERT INTO emptied SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g;
DELETE FROM emptied WHERE id <= 5000 OR id BETWEEN 10000 AND 15000;
SELECT * FROM check_plan('emptied', 100000);
SELECT count(*), imbalance('emptied', 100000) < 1.1 AS balanced FROM pardump.pg_pardump_chunks('emptied', 100000);
SELECT * FROM check_plan('emptied', 1);
VACUUM emptied;
SELECT * FROM check_plan('emptied', 100000);
SELECT count(*), imbalance('emptied', 100000) < 1.1 AS balanced FROM pardump.pg_pardump_chunks('emptied', 100000);

-- Few blocks, much TOAST, all of it in the second half: cut by bytes.
CREATE TABLE toasted (id int, big text) WITH (autovacuum_enabled = off);
ALTER TABLE toasted ALTER big SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT g, CASE WHEN g > 5000 AND g % 50 = 0 THEN repeat('x', 50000) ELSE repeat('y', 100) END
  FROM generate_series(1, 10000) g;
SELECT * FROM check_plan('toasted', 400000);
SELECT count(*) BETWEEN 12 AND 16 AS by_toast, imbalance('toasted', 400000) < 1.25 AS balanced
  FROM pardump.pg_pardump_chunks('toasted', 400000);
SELECT sum(end_block - start_block) FILTER (WHERE chunk_no <= 2) > sum(end_block - start_block) / 2 AS wide_first
  FROM pardump.pg_pardump_chunks('toasted', 400000);

-- Single blocks with more than a chunk should have, and little between them.
CREATE TABLE giants (id int, big text) WITH (autovacuum_enabled = off);
ALTER TABLE giants ALTER big SET STORAGE EXTERNAL;
INSERT INTO giants SELECT g, CASE WHEN g IN (1, 1500, 3000) THEN repeat('x', 2000000) ELSE repeat('y', 100) END
  FROM generate_series(1, 3000) g;
SELECT * FROM check_plan('giants', 100000);
SELECT est_bytes > 2000000 AS giant, est_bytes > 25000 AS not_small FROM pardump.pg_pardump_chunks('giants', 100000)
  WHERE est_bytes > 2000000 OR est_bytes < 50000;

-- Compressed values count at their full length.  By 19's default, lz4, the table
-- has fewer blocks to be cut between.
SET default_toast_compression = pglz;
CREATE TABLE compressed (id int, big text) WITH (autovacuum_enabled = off);
INSERT INTO compressed SELECT g, repeat('x', 100000) FROM generate_series(1, 100) g;
RESET default_toast_compression;
SELECT * FROM check_plan('compressed', 1000000);
SELECT count(*), sum(est_bytes) FROM pardump.pg_pardump_chunks('compressed', 1000000);

-- Dropped and generated columns are not dumped, added ones with a default are.
CREATE TABLE changed (id int, gone text, gen text GENERATED ALWAYS AS (repeat('g', 1 + id % 2)) STORED)
  WITH (autovacuum_enabled = off);
INSERT INTO changed SELECT g, repeat('x', 500) FROM generate_series(1, 1000) g;
ALTER TABLE changed DROP COLUMN gone;
ALTER TABLE changed ADD COLUMN filled text DEFAULT 'twelve bytes', ADD COLUMN empty int;
SELECT * FROM check_plan('changed', 5000);
SELECT sum(est_rows), sum(est_bytes) = 1000 * (5 + 13 + 3) AS as_dumped FROM pardump.pg_pardump_chunks('changed', 5000);

-- No columns, and as many as there can be.
CREATE TABLE no_columns () WITH (autovacuum_enabled = off);
INSERT INTO no_columns SELECT FROM generate_series(1, 1000);
SELECT * FROM check_plan('no_columns', 400);
SELECT sum(est_rows), sum(est_bytes) FROM pardump.pg_pardump_chunks('no_columns', 400);
DO $$ BEGIN
  EXECUTE (SELECT 'CREATE TABLE wide (' || string_agg(format('c%s int', g), ', ') || ') WITH (autovacuum_enabled = off)'
           FROM generate_series(1, 1600) g);
END $$;
INSERT INTO wide (c1, c2, c1600) SELECT g, g, g FROM generate_series(1, 200) g;
SELECT * FROM check_plan('wide', 100000);
SELECT count(*), sum(est_rows), sum(est_bytes) = 200 * (3 * 5 + 1597 * 3) AS as_dumped FROM pardump.pg_pardump_chunks('wide', 100000);

-- Loosely filled pages.
CREATE TABLE loose (id int, filler text) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO loose SELECT g, repeat('x', 100) FROM generate_series(1, 5000) g;
SELECT * FROM check_plan('loose', 50000);
SELECT count(*), imbalance('loose', 50000) < 1.1 AS balanced FROM pardump.pg_pardump_chunks('loose', 50000);

-- HOT chains and aborted rows: one version counts.
CREATE TABLE versions (id int, v int) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO versions SELECT g, 0 FROM generate_series(1, 1000) g;
UPDATE versions SET v = v + 1;
BEGIN;
INSERT INTO versions SELECT g, 0 FROM generate_series(1, 1000) g;
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('versions', 1000);
ROLLBACK;
SELECT * FROM check_plan('versions', 1000);
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('versions', 1000);

-- Materialized views, catalogs, temporary tables, heap by another name.
CREATE MATERIALIZED VIEW matview AS SELECT * FROM plain WHERE id <= 10000;
SELECT * FROM check_plan('matview', 100000);
CREATE MATERIALIZED VIEW unpopulated AS SELECT * FROM plain WITH NO DATA;
SELECT * FROM pardump.pg_pardump_chunks('unpopulated', 100000);
SELECT sum(est_rows) = (SELECT count(*) FROM pg_catalog.pg_namespace) AS all_rows
  FROM pardump.pg_pardump_chunks('pg_catalog.pg_namespace', 1000);
CREATE TEMP TABLE temporary (id int);
INSERT INTO temporary SELECT generate_series(1, 10000);
SELECT * FROM check_plan('temporary', 10000);
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE other_heap (id int) USING heap2 WITH (autovacuum_enabled = off);
INSERT INTO other_heap SELECT generate_series(1, 10000);
SELECT * FROM check_plan('other_heap', 10000);
SELECT count(*) FROM pardump.pg_pardump_chunks('other_heap', 10000);

-- A partition and an inheritance child stand for themselves only.
CREATE TABLE parent (id int) WITH (autovacuum_enabled = off);
CREATE TABLE child () INHERITS (parent) WITH (autovacuum_enabled = off);
INSERT INTO parent SELECT generate_series(1, 1000);
INSERT INTO child SELECT generate_series(1, 5000);
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('parent', 1000);
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('child', 1000);

-- Nothing depends on the search path.
SET search_path = '';
SELECT sum(est_rows) FROM pardump.pg_pardump_chunks('public.plain', 100000);
RESET search_path;

-- From here on tables are sampled.
CREATE FUNCTION check_sampled(rel regclass, chunk_bytes bigint,
  OUT contiguous bool, OUT complete bool, OUT chunks_ok bool, OUT no_empty_chunk bool,
  OUT rows_ok bool, OUT bytes_ok bool, OUT balanced bool)
LANGUAGE sql AS $$
  WITH p AS (SELECT *, lag(end_block, 1, 0::bigint) OVER (ORDER BY start_block) AS prev_end
             FROM planned(rel, chunk_bytes))
  SELECT bool_and(start_block = prev_end),
         max(end_block) = pg_relation_size(rel) / current_setting('block_size')::int
           AND max(end_block) > 8000,
         count(*) BETWEEN sum(real_bytes) / chunk_bytes * 0.95 AND sum(real_bytes) / chunk_bytes * 1.05 + 1,
         bool_and(real_rows > 0),
         sum(est_rows) / sum(real_rows) BETWEEN 0.95 AND 1.05,
         sum(est_bytes) / sum(real_bytes) BETWEEN 0.95 AND 1.05,
         max(real_bytes) < 1.3 * avg(real_bytes) AND min(real_bytes) > 0.6 * avg(real_bytes)
  FROM p
$$;

-- Two rows in each of 9,000 blocks.
CREATE UNLOGGED TABLE sampled (id int, filler text, big text) WITH (fillfactor = 10, autovacuum_enabled = off);
ALTER TABLE sampled ALTER big SET STORAGE EXTERNAL;
INSERT INTO sampled SELECT g, repeat('x', 380) FROM generate_series(1, 18000) g;
SELECT * FROM check_sampled('sampled', 400000);

-- The same state gives the same plan.
SELECT count(*) FROM (SELECT * FROM pardump.pg_pardump_chunks('sampled', 50000)
                      EXCEPT SELECT * FROM pardump.pg_pardump_chunks('sampled', 50000)) d;

-- Every other block at random has no rows: the maps know which.
CREATE UNLOGGED TABLE scattered (LIKE sampled) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO scattered SELECT * FROM sampled;
DELETE FROM scattered WHERE hashint4((ctid::text::point)[0]::int) & 1 = 1;
VACUUM scattered;
SELECT * FROM check_sampled('scattered', 40000);
SELECT max(real_bytes) < 1.15 * avg(real_bytes) AS well_balanced FROM planned('scattered', 40000);
DROP TABLE scattered;

-- A third is emptied and vacuumed, another one loses every other row.
DELETE FROM sampled WHERE id <= 6000 OR id BETWEEN 6001 AND 12000 AND id % 2 = 0;
SELECT * FROM check_sampled('sampled', 200000);
VACUUM sampled;
SELECT * FROM check_sampled('sampled', 200000);

-- Dead rows after that, in half of what was left.
DELETE FROM sampled WHERE id BETWEEN 9001 AND 15000;
SELECT * FROM check_sampled('sampled', 100000);

-- TOAST in the last part only.
INSERT INTO sampled SELECT g, repeat('x', 380), repeat('y', 2500) FROM generate_series(18001, 20000) g;
SELECT * FROM check_sampled('sampled', 500000);
SELECT max(end_block - start_block) > 10 * min(end_block - start_block) AS by_toast FROM pardump.pg_pardump_chunks('sampled', 500000);

-- All rows gone: one chunk; VACUUM keeps the blocks here.
DELETE FROM sampled;
SELECT chunk_no, start_block, end_block > 9000 AS whole, est_rows, est_bytes FROM pardump.pg_pardump_chunks('sampled', 1);
VACUUM (TRUNCATE off) sampled;
SELECT chunk_no, start_block, end_block > 9000 AS whole, est_rows, est_bytes FROM pardump.pg_pardump_chunks('sampled', 1);

DROP FUNCTION check_sampled;
DROP TABLE sampled;
DROP FUNCTION check_plan, imbalance, planned;
DROP MATERIALIZED VIEW matview, unpopulated;
DROP TABLE plain, nothing, bloated, emptied, toasted, giants, compressed, changed, no_columns, wide, loose,
  versions, other_heap, parent, child, temporary;
DROP ACCESS METHOD heap2;
DROP EXTENSION pg_pardump;
