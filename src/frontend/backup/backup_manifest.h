/*
 * backup_manifest.h
 *		Writes the backup_manifest that pg_basebackup makes, too: what
 *		pg_verifybackup, pg_combinebackup and incremental backups read.
 *
 * The form is that of src/backend/backup/backup_manifest.c: of version 1 up
 * to 16, and of version 2, with the system identifier, from 17 on.  Files
 * are written in the order in which they are added, none twice.
 *
 *		manifest = backup_manifest_begin("DIR/backup_manifest.tmp", ...);
 *		backup_manifest_add_file(manifest, ...);		all of them
 *		backup_manifest_add_wal_range(manifest, ...);	at least one
 *		backup_manifest_finish(manifest);
 *
 * Giving it the name "backup_manifest", by durable_rename(), which flushes
 * it, is left to the caller, since that is what makes the backup one.
 */
#ifndef BACKUP_MANIFEST_H
#define BACKUP_MANIFEST_H

#include "base/fe_compat.h"

#include <time.h>

#include "access/xlogdefs.h"

#include "base/json_fields.h"

/* An entry of "Files"; what is not known is NULL. */
typedef struct BackupManifestEntry
{
	char	   *path;
	uint64		size;
	char	   *modified;
	char	   *algorithm;
	char	   *checksum;		/* hexadecimal */
} BackupManifestEntry;

extern const JsonField backup_manifest_entry_fields[];

typedef struct BackupManifest BackupManifest;

/*
 * Begin a new file, of mode 0600.  The major version is the server's.  Exits
 * with a message if that fails, or any of the following.
 */
extern BackupManifest *backup_manifest_begin(const char *path, int major,
											 uint64 system_identifier);

/*
 * Add a file of that path below the data directory (that of a tablespace
 * begins with "pg_tblspc/OID/"), which may be of any encoding.  crc is the
 * CRC-32C of its bytes, a finished value, or NULL for a manifest without.
 */
extern void backup_manifest_add_file(BackupManifest *manifest,
									 const char *path, uint64 size,
									 time_t mtime, const uint32 *crc);

/* A file's modification time as an entry has it; owned. */
extern char *backup_manifest_time(const char *path, time_t mtime);

/*
 * That was the last of the files, and this WAL is needed to replay the
 * backup: a range for each timeline that was current during it, the latest
 * timeline first.
 */
extern void backup_manifest_add_wal_range(BackupManifest *manifest,
										  TimeLineID timeline,
										  XLogRecPtr start, XLogRecPtr end);

/* Write the end, with the manifest's own checksum, close it, and free it. */
extern void backup_manifest_finish(BackupManifest *manifest);

#endif							/* BACKUP_MANIFEST_H */
