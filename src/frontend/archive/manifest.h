/*
 * manifest.h
 *		pg_pardump_manifest.json: what an archive holds, file by file, so that
 *		it can be verified without a server.
 *
 * The form follows PostgreSQL's backup_manifest ("Backup Manifest Format" in
 * its manual): an object of names in capitals, the files in an array, and at
 * the end, on a line of its own, the SHA256 of all bytes before that line.
 * Readers pass over names they do not know.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "common/checksum_helper.h"

#include "base/json_fields.h"
#include "options/options.h"
#include "stream/sink.h"

#define MANIFEST_VERSION 1

/* The entry that dumps leave out. */
#define MANIFEST_OWN_EXTENSION "EXTENSION pg_pardump"

/* The end block of a table that is not split. */
#define MANIFEST_NO_END (-1)

typedef enum ManifestFileKind
{
	MANIFEST_TOC,				/* toc.dat */
	MANIFEST_ROWS,				/* a table's, or a chunk's */
	MANIFEST_LARGE_OBJECT,
	MANIFEST_OBJECT_LIST		/* blobs.toc and the like */
} ManifestFileKind;

typedef struct ManifestFile
{
	char	   *path;			/* in the archive, with its suffix */
	ManifestFileKind kind;
	char	   *schema;			/* of rows only, else NULL */
	char	   *table;
	char	   *root_schema;	/* of the partitioned table at the top, if the
								 * table is a partition, else NULL */
	char	   *root_table;
	char	   *where;			/* rows were chosen by it; NULL = all */
	char	   *sample;			/* percentage; NULL = all */
	char	   *masks;			/* a hash of the expressions that columns were
								 * masked by; NULL = none was */
	/* Hexadecimal; NULL if none was taken (doc/incremental_functions.md) */
	char	   *fingerprint;	/* of the rows as they are stored */
	char	   *first_fingerprint;	/* of those in the first blocks */
	char	   *definition;		/* of what else the text depends on */

	char	   *reused;			/* "link", "clone" or "copy" of an archive's
								 * file, or "pipe-copy" by a command, unread;
								 * NULL if it was dumped */
	Oid			table_oid;		/* 0 if no fingerprints were asked for */
	BlockNumber relation_blocks;	/* of the table, when it was planned */
	Oid			filenode;		/* where its blocks are, if changes of them
								 * are logged; else 0 */
	Oid			tablespace;
	int64		start_block;
	int64		end_block;		/* exclusive, or MANIFEST_NO_END */
	uint64		rows;			/* of rows only */
	uint64		raw_bytes;		/* decompressed */
	uint64		stored_bytes;	/* size of the file */
	uint8		checksum[PG_CHECKSUM_MAX_LENGTH];	/* of the stored bytes */
	int			checksum_len;	/* 0 if there is none */
	int64		start_us;		/* microseconds since 1970 */
	int64		end_us;
	int			worker;
} ManifestFile;

/*
 * The snapshot that the databases of a cluster were dumped in, as map.json
 * and the manifest of each archive have it; all of it owned.
 */
typedef struct SnapshotRecord
{
	char	   *snapshot;		/* the text of pg_current_snapshot() */
	char	   *time;			/* when it was taken, ISO 8601 in UTC */
	char	   *timeline;		/* in decimal; NULL if it is not known */
	char	   *lsn;			/* of a primary, read after the snapshot was
								 * taken, so all that it sees was written
								 * before; else NULL */
	char	   *replay_lsn;		/* of a standby that was paused meanwhile;
								 * else NULL */
} SnapshotRecord;

/* Strings may be NULL: not known. */
typedef struct Manifest
{
	char	   *tool;			/* pg_pardump's version */
	char	   *server_version;
	char	   *pg_dump_version;
	char	   *system_identifier;
	char	   *database;
	char	   *encoding;		/* of the archive, its names too */
	char	   *left_out;		/* what pg_dump would have put in the archive;
								 * NULL = nothing */
	char	   *snapshot;
	char	   *lsn;			/* write-ahead log up to here holds all that
								 * the snapshot sees */
	SnapshotRecord *cluster_snapshot;	/* NULL unless the archive was dumped
										 * with --cluster-snapshot */
	char	   *slot;			/* logical replication slot made with the
								 * snapshot, and its consistent point */
	char	   *slot_lsn;
	char	   *compression;
	char	   *fingerprint_algorithm;	/* NULL if there are none */
	char	   *fingerprint_key;	/* hexadecimal */
	char	   *settings;		/* of sessions, which rows depend on */
	char	   *history_token;	/* what wal_changes.h says; NULL if there is
								 * none */
	char	   *history_lsn;
	char	   *history_timeline;
	char	   *history_server_start;
	char	   *history_database;
	char	   *history_xmax;
	uint64		chunk_bytes;	/* as planned; 0 = not known */
	int64		start_us;
	int64		end_us;
	int			jobs;
	int			retries;		/* of what a lost connection interrupted */
	pg_checksum_type checksum_type;
	ManifestFile *files;
	int			n_files;
	const ManifestFile **by_path;	/* of one that was read: the files in the
									 * order of their paths; else NULL */
	char	   *servers;		/* of several, what each gave, in words; of a
								 * run only, not of a file; or NULL */
} Manifest;

extern const JsonField manifest_snapshot_fields[];

/*
 * From now on, in this process: the archive is of this snapshot of all
 * databases.  A run writes it in the manifest, and a verification returns
 * what is wrong if the manifest has another one, else NULL.
 */
extern void manifest_expect_snapshot(SnapshotRecord *snapshot);
extern SnapshotRecord *manifest_expected_snapshot(void);
extern const char *manifest_snapshot_problem(const Manifest *manifest);

/* The kind of checksum that --manifest-checksums asks for. */
extern pg_checksum_type manifest_checksum_type(const Options *options);

/*
 * Write a manifest, and finish and free the sink.  A name that is not valid
 * in UTF-8, which JSON is, is written in hexadecimal, as Encoded-NAME.
 */
extern void manifest_write(const Manifest *manifest, Sink *sink);

/*
 * Read one from memory, which a zero byte follows; NULL, and *problem, if it
 * is not a manifest, or not as it was written.  The checksum of the manifest
 * itself is checked first.  Nothing is believed: paths are plain file names,
 * numbers in range.
 */
extern Manifest *manifest_read(const char *text, size_t len,
							   const char **problem);

/*
 * The file that a table of contents or a list of large objects calls name, in
 * a manifest that was read: with this name, or with the suffix of any
 * compression.  NULL if there is none.
 */
extern const ManifestFile *manifest_find(const Manifest *manifest,
										 const char *name);

/* Free what manifest_read() or manifest_load() has returned. */
extern void manifest_free(Manifest *manifest);

/* ----------
 * Finds an archive's manifest and reads it.
 * ----------
 */

/*
 * Read that of an archive.  NULL if there is none, or, *exists being true, if
 * it is damaged, as *problem says.
 */
extern Manifest *manifest_load(const char *directory, bool *exists,
							   const char **problem);

/*
 * The name of a table in SQL, for people, as a manifest or a table of
 * contents has its parts; NULL stands for nothing.  Its bytes may be wrong in
 * any encoding.  Owned.
 */
extern char *manifest_name_table(const char *schema, const char *table);

#endif							/* MANIFEST_H */
