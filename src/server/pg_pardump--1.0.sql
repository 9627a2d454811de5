/* src/server/pg_pardump--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_pardump" to load this file. \quit

CREATE FUNCTION pg_pardump_chunks(
	relation pg_catalog.regclass,
	chunk_bytes bigint,
	OUT chunk_no integer,
	OUT start_block bigint,
	OUT end_block bigint,
	OUT est_rows double precision,
	OUT est_bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pg_pardump_chunks'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
COST 10000 ROWS 100;

COMMENT ON FUNCTION pg_pardump_chunks(pg_catalog.regclass, bigint) IS
'divide a table into block ranges with about equal numbers of bytes to dump';

CREATE FUNCTION pg_pardump_read(
	relation pg_catalog.regclass,
	columns pg_catalog.name[],
	start_block bigint,
	end_block bigint,
	compression pg_catalog.text,
	format pg_catalog.text DEFAULT 'text')
RETURNS SETOF pg_catalog.bytea
AS 'MODULE_PATHNAME', 'pg_pardump_read'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
COST 10000 ROWS 100;

COMMENT ON FUNCTION pg_pardump_read(pg_catalog.regclass, pg_catalog.name[], bigint, bigint, pg_catalog.text, pg_catalog.text) IS
'read a range of a table''s blocks as COPY writes it, or raw, compressed if asked';

CREATE FUNCTION pg_pardump_last_read(
	OUT rows bigint,
	OUT bytes bigint)
AS 'MODULE_PATHNAME', 'pg_pardump_last_read'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_last_read() IS
'rows and uncompressed bytes of the session''s last pg_pardump_read()';

CREATE FUNCTION pg_pardump_fingerprint(
	relation pg_catalog.regclass,
	columns pg_catalog.name[],
	start_block bigint,
	end_block bigint,
	key pg_catalog.bytea,
	algorithm pg_catalog.text DEFAULT 'poly1305',
	expected_first pg_catalog.bytea DEFAULT NULL,
	OUT fingerprint pg_catalog.bytea,
	OUT first_fingerprint pg_catalog.bytea,
	OUT rows bigint)
AS 'MODULE_PATHNAME', 'pg_pardump_fingerprint'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
COST 10000;

COMMENT ON FUNCTION pg_pardump_fingerprint(pg_catalog.regclass, pg_catalog.name[], bigint, bigint, pg_catalog.bytea, pg_catalog.text, pg_catalog.bytea) IS
'a hash of what is stored of the rows in a range of a table''s blocks';

CREATE FUNCTION pg_pardump_definition(
	relation pg_catalog.regclass,
	columns pg_catalog.name[],
	OUT definition pg_catalog.bytea,
	OUT reason pg_catalog.text)
AS 'MODULE_PATHNAME', 'pg_pardump_definition'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
COST 1000;

COMMENT ON FUNCTION pg_pardump_definition(pg_catalog.regclass, pg_catalog.name[]) IS
'a hash of the catalogs that the text of a table''s rows depends on, or why there is none';

CREATE FUNCTION pg_pardump_fingerprint_reads(
	key pg_catalog.bytea,
	algorithm pg_catalog.text DEFAULT 'poly1305')
RETURNS void
AS 'MODULE_PATHNAME', 'pg_pardump_fingerprint_reads'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_fingerprint_reads(pg_catalog.bytea, pg_catalog.text) IS
'have the session''s calls of pg_pardump_read() compute fingerprints, too';

CREATE FUNCTION pg_pardump_last_fingerprint(
	OUT fingerprint pg_catalog.bytea,
	OUT first_fingerprint pg_catalog.bytea,
	OUT definition pg_catalog.bytea)
AS 'MODULE_PATHNAME', 'pg_pardump_last_fingerprint'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_last_fingerprint() IS
'fingerprints of the session''s last pg_pardump_read(), or NULL';

CREATE FUNCTION pg_pardump_fast_copy(enable boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_pardump_fast_copy'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_pardump_fast_copy(boolean) IS
'let the session''s COPY FROM STDIN be done by pg_pardump, where it can';

CREATE FUNCTION pg_pardump_load_tuples(
	relation pg_catalog.regclass,
	block pg_catalog.bytea,
	OUT rows bigint,
	OUT bytes bigint)
AS 'MODULE_PATHNAME', 'pg_pardump_load_tuples'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_pardump_load_tuples(pg_catalog.regclass, pg_catalog.bytea) IS
'insert rows that pg_pardump_read() has read in raw format; for superusers';

-- The contents of values in a block are not checked.
REVOKE EXECUTE ON FUNCTION pg_pardump_load_tuples(pg_catalog.regclass, pg_catalog.bytea) FROM PUBLIC;

CREATE FUNCTION pg_pardump_raw_reason(
	relation pg_catalog.regclass,
	loading boolean)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'pg_pardump_raw_reason'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_raw_reason(pg_catalog.regclass, boolean) IS
'why a table cannot be read in raw format, or loaded so; NULL if it can';

CREATE FUNCTION pg_pardump_compare_builds()
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'pg_pardump_compare_builds'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_pardump_compare_builds() IS
'compare index builds by pg_pardump and by the server; NULL if they are the same, else why the server builds all';

-- This table has no rows.  A session locks it before it calls the functions,
-- so that the extension is not dropped, and its names are not given to other
-- objects.  It is unlogged because publications do not contain unlogged
-- tables: subscribers need not have it.
CREATE UNLOGGED TABLE @extschema@.pg_pardump_lock ();

COMMENT ON TABLE @extschema@.pg_pardump_lock IS
'locked by those who use the extension, so that it is not dropped meanwhile';

GRANT SELECT ON TABLE @extschema@.pg_pardump_lock TO PUBLIC;

-- This table has no rows either.  Its comment records the dumps of this
-- database.  A comment is written to WAL, but is neither dumped nor published
-- (function/history_function.c).
CREATE UNLOGGED TABLE @extschema@.pg_pardump_history ();

COMMENT ON TABLE @extschema@.pg_pardump_history IS
'dumps of this database:';

CREATE FUNCTION pg_pardump_note_dump(token pg_catalog.text)
RETURNS void
AS 'MODULE_PATHNAME', 'pg_pardump_note_dump'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_pardump_note_dump(pg_catalog.text) IS
'leave a mark of a dump in the history of the cluster, to be found by a later one';

-- Incremental dumps trust the tokens that this function records.
REVOKE EXECUTE ON FUNCTION pg_pardump_note_dump(pg_catalog.text) FROM PUBLIC;

CREATE FUNCTION pg_pardump_read_files(
	paths pg_catalog.bytea[],
	offsets bigint[],
	lengths bigint[],
	headers pg_catalog.bytea[],
	paddings integer[],
	required boolean[],
	first_blocks bigint[],
	start_lsn pg_catalog.pg_lsn,
	compression pg_catalog.text)
RETURNS SETOF pg_catalog.bytea
AS 'MODULE_PATHNAME', 'pg_pardump_read_files'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
COST 10000 ROWS 100;

COMMENT ON FUNCTION pg_pardump_read_files(pg_catalog.bytea[], bigint[], bigint[], pg_catalog.bytea[], integer[], boolean[], bigint[], pg_catalog.pg_lsn, pg_catalog.text) IS
'read ranges of the cluster''s files for a base backup, compressed if asked';

-- This function reads any file of the cluster, like pg_read_binary_file().
REVOKE EXECUTE ON FUNCTION pg_pardump_read_files(pg_catalog.bytea[], bigint[], bigint[], pg_catalog.bytea[], integer[], boolean[], bigint[], pg_catalog.pg_lsn, pg_catalog.text) FROM PUBLIC;

CREATE FUNCTION pg_pardump_last_files(
	OUT bytes bigint[],
	OUT crcs bigint[],
	OUT failures bigint[])
AS 'MODULE_PATHNAME', 'pg_pardump_last_files'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_last_files() IS
'what came of the files of the session''s last pg_pardump_read_files()';

CREATE FUNCTION pg_pardump_file_type(path pg_catalog.text)
RETURNS pg_catalog."char"
AS 'MODULE_PATHNAME', 'pg_pardump_file_type'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_file_type(pg_catalog.text) IS
'whether a path of the cluster is a file, a directory, a link or something else';

-- This function reveals which files exist, like pg_stat_file().
REVOKE EXECUTE ON FUNCTION pg_pardump_file_type(pg_catalog.text) FROM PUBLIC;

CREATE FUNCTION pg_pardump_exported_snapshot(
	identifier pg_catalog.text,
	OUT in_recovery boolean,
	OUT overflowed boolean,
	OUT has_subtransactions boolean)
AS 'MODULE_PATHNAME', 'pg_pardump_exported_snapshot'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION pg_pardump_exported_snapshot(pg_catalog.text) IS
'what an exported snapshot has, to be asked before it is imported';

CREATE FUNCTION pg_pardump_adopt_snapshot(identifier pg_catalog.text)
RETURNS pg_catalog.text
AS 'MODULE_PATHNAME', 'pg_pardump_adopt_snapshot'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION pg_pardump_adopt_snapshot(pg_catalog.text) IS
'export a snapshot of another database in this one, in a transaction that is older';

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
