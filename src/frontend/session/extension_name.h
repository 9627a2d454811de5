/*
 * extension_name.h
 *		What the extension pg_pardump has, by its names.
 */
#ifndef EXTENSION_NAME_H
#define EXTENSION_NAME_H

#define PARDUMP_EXTENSION "pg_pardump"

/* Its schema, which is always the same, needs no quoting. */
#define PARDUMP_SCHEMA "pardump"
#define PARDUMP_CHUNKS PARDUMP_SCHEMA ".pg_pardump_chunks"
#define PARDUMP_READ PARDUMP_SCHEMA ".pg_pardump_read"
#define PARDUMP_LAST_READ PARDUMP_SCHEMA ".pg_pardump_last_read"
#define PARDUMP_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_fingerprint"
#define PARDUMP_DEFINITION PARDUMP_SCHEMA ".pg_pardump_definition"
#define PARDUMP_FINGERPRINT_READS PARDUMP_SCHEMA ".pg_pardump_fingerprint_reads"
#define PARDUMP_LAST_FINGERPRINT PARDUMP_SCHEMA ".pg_pardump_last_fingerprint"
#define PARDUMP_RAW_REASON PARDUMP_SCHEMA ".pg_pardump_raw_reason"
#define PARDUMP_LOAD_TUPLES PARDUMP_SCHEMA ".pg_pardump_load_tuples"
#define PARDUMP_READ_FILES PARDUMP_SCHEMA ".pg_pardump_read_files"
#define PARDUMP_LAST_FILES PARDUMP_SCHEMA ".pg_pardump_last_files"
#define PARDUMP_FILE_TYPE PARDUMP_SCHEMA ".pg_pardump_file_type"
#define PARDUMP_EXPORTED_SNAPSHOT PARDUMP_SCHEMA ".pg_pardump_exported_snapshot"
#define PARDUMP_NOTE_DUMP PARDUMP_SCHEMA ".pg_pardump_note_dump"

/* A table of it. */
#define PARDUMP_HISTORY PARDUMP_SCHEMA ".pg_pardump_history"

#endif							/* EXTENSION_NAME_H */
