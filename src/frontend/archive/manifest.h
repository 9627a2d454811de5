/*
 * manifest.h
 *		pg_pardump_manifest.json: lists the files of an archive and their
 *		contents, so that it can be verified without a server.
 *
 * The format follows PostgreSQL's backup_manifest ("Backup Manifest Format"
 * in its manual): an object whose names have capital letters, an array with
 * the files, and, on the last line, the SHA256 of all bytes before that line.
 * Readers ignore names that they do not know.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "common/checksum_helper.h"

#include "base/json_fields.h"
#include "options/options.h"
#include "stream/sink.h"

#define MANIFEST_VERSION 1

/* The entry that dumps omit. */
#define MANIFEST_OWN_EXTENSION "EXTENSION pg_pardump"

/* The end block of a table that is not split. */
#define MANIFEST_NO_END (-1)

typedef enum ManifestFileKind
{
	MANIFEST_TOC,				/* toc.dat */
	MANIFEST_ROWS,				/* of a table or a chunk */
	MANIFEST_LARGE_OBJECT,
	MANIFEST_OBJECT_LIST		/* blobs.toc and the like */
} ManifestFileKind;

typedef struct ManifestFile
{
	char	   *path;			/* name in the archive, with its suffix */
	ManifestFileKind kind;
	char	   *schema;			/* only for rows, otherwise NULL */
	char	   *table;
	char	   *root_schema;	/* the topmost partitioned table, if the table
								 * is a partition, otherwise NULL */
	char	   *root_table;
	char	   *where;			/* condition that selected the rows; NULL =
								 * all rows */
	char	   *sample;			/* percentage of the rows; NULL = all rows */
	char	   *masks;			/* hash of the expressions that masked
								 * columns; NULL = none */
	/* Hexadecimal; NULL = none (doc/incremental_functions.md) */
	char	   *fingerprint;	/* of the rows as the server stores them */
	char	   *first_fingerprint;	/* of the rows in the first blocks */
	char	   *definition;		/* of all else that determines the text of
								 * rows */

	char	   *reused;			/* "link", "clone" or "copy" of a file of the
								 * previous archive, or "pipe-copy" if a
								 * command copied it; NULL = it was dumped */
	Oid			table_oid;		/* 0 without fingerprints */
	BlockNumber relation_blocks;	/* size of the table when the dump was
									 * planned */
	Oid			filenode;		/* file of the table, if changes of its blocks
								 * are logged; otherwise 0 */
	Oid			tablespace;
	int64		start_block;
	int64		end_block;		/* exclusive, or MANIFEST_NO_END */
	uint64		rows;			/* only for rows */
	uint64		raw_bytes;		/* decompressed */
	uint64		stored_bytes;	/* size of the file */
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];	/* checksum of the stored
													 * bytes */
	int			checksum_len;	/* 0 = no checksum */
	int64		start_us;		/* microseconds since 1970 */
	int64		end_us;
	int			worker;
} ManifestFile;

/*
 * The snapshot in which all databases of a cluster were dumped.  map.json and
 * the manifest of each archive contain it.  All members are owned.
 */
typedef struct SnapshotRecord
{
	char	   *snapshot;		/* the text of pg_current_snapshot() */
	char	   *time;			/* time of the snapshot, ISO 8601 in UTC */
	char	   *timeline;		/* in decimal; NULL = unknown */
	char	   *lsn;			/* on a primary: read after the snapshot was
								 * taken, so WAL up to this LSN contains all
								 * changes that it sees; otherwise NULL */
	char	   *replay_lsn;		/* on a standby that was paused meanwhile;
								 * otherwise NULL */
} SnapshotRecord;

/* A manifest.  A string is NULL if it is unknown. */
typedef struct Manifest
{
	char	   *tool;			/* version of pg_pardump */
	char	   *server_version;
	char	   *pg_dump_version;
	char	   *system_identifier;
	char	   *database;
	char	   *encoding;		/* encoding of the archive and its names */
	char	   *left_out;		/* entry that pg_dump would have written, but
								 * that was omitted; NULL = none */
	char	   *snapshot;
	char	   *lsn;			/* WAL up to this LSN contains all changes
								 * that the snapshot sees */
	SnapshotRecord *cluster_snapshot;	/* NULL unless the archive was dumped
										 * with --cluster-snapshot */
	char	   *slot;			/* logical replication slot that was created
								 * with the snapshot; its consistent point */
	char	   *slot_lsn;
	char	   *compression;
	char	   *fingerprint_algorithm;	/* NULL without fingerprints */
	char	   *fingerprint_key;	/* hexadecimal */
	char	   *settings;		/* settings of the sessions on which the text
								 * of rows depends */
	char	   *history_token;	/* see wal_changes.h; NULL = none */
	char	   *history_lsn;
	char	   *history_timeline;
	char	   *history_server_start;
	char	   *history_database;
	char	   *history_xmax;
	uint64		chunk_bytes;	/* as planned; 0 = unknown */
	int64		start_us;
	int64		end_us;
	int			jobs;
	int			retries;		/* repeated jobs */
	pg_checksum_type checksum_type;
	ManifestFile *files;
	int			n_files;
	const ManifestFile **by_path;	/* only in a manifest that was read: the
									 * files sorted by path; otherwise NULL */
	char	   *servers;		/* with several servers, a text about what
								 * each of them read; only in a run, not in a
								 * file; or NULL */
} Manifest;

extern const JsonField manifest_snapshot_fields[];

/*
 * Set the snapshot of all databases for this process.  A dump writes it into
 * the manifest.  A verification reports an error if the manifest contains
 * another one: manifest_snapshot_problem() returns that error, or NULL.
 */
extern void manifest_expect_snapshot(SnapshotRecord *snapshot);
extern SnapshotRecord *manifest_expected_snapshot(void);
extern const char *manifest_snapshot_problem(const Manifest *manifest);

/* Returns the kind of checksum that --manifest-checksums specifies. */
extern pg_checksum_type manifest_checksum_type(const Options *options);

/*
 * Write a manifest, and finish and free the sink.  Returns the size of the
 * manifest.  JSON is in UTF-8, so a name that is not valid in UTF-8 is
 * written in hexadecimal, as Encoded-NAME.
 */
extern uint64 manifest_write(const Manifest *manifest, Sink *sink);

/*
 * Read a manifest from memory.  A zero byte must follow the text.  Returns
 * NULL and sets *problem if the text is not a manifest, or was changed.  The
 * checksum of the manifest itself is checked first.  No value is trusted:
 * paths must be plain file names, and numbers must be in their range.
 */
extern Manifest *manifest_read(const char *text, size_t len,
							   const char **problem);

/*
 * Returns the file with this name in a table of contents or a list of large
 * objects, from a manifest that was read.  Its path is the name, or the name
 * with the suffix of a compression method.  NULL if there is none.
 */
extern const ManifestFile *manifest_find(const Manifest *manifest,
										 const char *name);

/* Free a manifest from manifest_read() or manifest_load(). */
extern void manifest_free(Manifest *manifest);

/* ----------
 * Reading the manifest of an archive in a directory.
 * ----------
 */

/*
 * Read the manifest of an archive.  Returns NULL if it does not exist, or,
 * with *exists true, if it cannot be used; *problem is a clause.
 */
extern Manifest *manifest_load(const char *directory, bool *exists,
							   const char **problem);

/*
 * Returns the name of a table, quoted as in SQL, for messages.  A part that
 * is NULL is empty.  The bytes need not be valid in any encoding.  Owned.
 */
extern char *manifest_name_table(const char *schema, const char *table);

#endif							/* MANIFEST_H */
