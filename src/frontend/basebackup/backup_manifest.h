/*
 * backup_manifest.h
 *		Writes backup_manifest, as pg_basebackup does, for pg_verifybackup,
 *		pg_combinebackup and incremental backups.
 *
 * The format is that of src/backend/backup/backup_manifest.c: version 1 up to
 * 16, and version 2, with the system identifier, from 17 on.  Files are
 * written in the order in which they are added; each must be added once.
 *
 *		manifest = backup_manifest_begin("DIR/backup_manifest.tmp", ...);
 *		backup_manifest_add_file(manifest, ...);		all of them
 *		backup_manifest_add_wal_range(manifest, ...);	at least one
 *		backup_manifest_finish(manifest);
 *
 * The caller then renames the file to "backup_manifest" with
 * durable_rename(), which flushes it, because this name makes the backup
 * complete.
 */
#ifndef BACKUP_MANIFEST_H
#define BACKUP_MANIFEST_H

#include <time.h>

#include "access/xlogdefs.h"

#include "base/json_fields.h"

/* ----------
 * The CRC-32C of bytes whose parts were read by different processes.
 * ----------
 */

/*
 * The CRC of A followed by B, from the CRC of each and the length of B.  All
 * are finished values, as FIN_CRC32C() leaves them (port/pg_crc32c.h); that
 * of no bytes is 0.
 */
extern uint32 crc32c_combine(uint32 crc1, uint32 crc2, uint64 len2);

/* An entry of "Files"; unknown members are NULL. */
typedef struct BackupManifestEntry
{
	char	   *path;
	uint64		size;
	char	   *modified;
	char	   *algorithm;
	char	   *checksum;		/* hexadecimal */
} BackupManifestEntry;

/* The hint of all messages about a damaged backup. */
#define BACKUP_COPY_HINT "Use another copy of the backup, or make a new backup."

typedef struct BackupManifest BackupManifest;

/*
 * Begin a new file with mode 0600.  major is the server's major version.
 * This function and the following ones exit with a message on failure.
 */
extern BackupManifest *backup_manifest_begin(const char *path, int major,
											 uint64 system_identifier);

/*
 * Add a file.  The path is relative to the data directory; in a tablespace it
 * begins with "pg_tblspc/OID/".  It may be in any encoding.  crc is the
 * finished CRC-32C of its bytes, or NULL for a manifest without checksums.
 */
extern void backup_manifest_add_file(BackupManifest *manifest,
									 const char *path, uint64 size,
									 time_t mtime, const uint32 *crc);

/*
 * After the last file: add a WAL range that is needed to replay the backup.
 * There is one for each timeline of the backup, the latest timeline first.
 */
extern void backup_manifest_add_wal_range(BackupManifest *manifest,
										  TimeLineID timeline,
										  XLogRecPtr start, XLogRecPtr end);

/*
 * Write the end, with the manifest's own checksum; close the file, and free
 * the manifest.
 */
extern void backup_manifest_finish(BackupManifest *manifest);

/* ----------
 * A copy of a backup_manifest with a corrected entry of one file, which the
 * program has written again.
 * ----------
 */

/* The old contents of the file, in the backup, and its new contents. */
typedef struct ManifestChange
{
	const char *path;			/* in the manifest; plain ASCII */
	const char *old_data;
	size_t		old_len;
	const char *new_data;
	size_t		new_len;
	time_t		mtime;			/* of the new file */
} ManifestChange;

/*
 * Read the manifest, which is open as fd and has the name "from", and write
 * it to the new file "to" with mode 0600.  The entry of the file gets another
 * size, modification time and checksum (with the entry's algorithm), and the
 * manifest gets another Manifest-Checksum.  All other bytes stay the same.
 *
 * The manifest may come from anywhere.  A changed manifest must not hide
 * damage of the original: the program exits with a message if the manifest's
 * own checksum is wrong, or if the old contents of the file do not match the
 * entry.  Closes fd.
 */
extern void manifest_rewrite(int fd, const char *from, const char *to,
							 const ManifestChange *change);

/*
 * Exits with a message if the manifest could not be rewritten, because its
 * own checksum is wrong.  Closes fd.
 */
extern void manifest_rewrite_check(int fd, const char *from);

#endif							/* BACKUP_MANIFEST_H */
