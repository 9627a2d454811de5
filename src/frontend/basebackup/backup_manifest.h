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

/* An entry of "Files"; what is not known is NULL. */
typedef struct BackupManifestEntry
{
	char	   *path;
	uint64		size;
	char	   *modified;
	char	   *algorithm;
	char	   *checksum;		/* hexadecimal */
} BackupManifestEntry;

/* The hint of all messages about a damaged backup. */
#define BACKUP_COPY_HINT "Use another copy of the backup."

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

/* ----------
 * Copies a backup_manifest and corrects the entry of one file, which the
 * program has written again.
 * ----------
 */

/* The bytes of the file in the backup, and of the file in its place. */
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
 * Read the manifest that is open as "from", and write it to the new file
 * "to", of mode 0600: with another size, modification time and checksum (of
 * the algorithm that the entry has) of the one file, and with another
 * Manifest-Checksum.  All other bytes stay.
 *
 * The manifest is of any origin.  A changed manifest must not be better than
 * the one that it was made from: the program exits with a message if the
 * manifest's own checksum is wrong, or if the old bytes of the file are not
 * those that the entry describes.  The descriptor is taken over.
 */
extern void manifest_rewrite(int fd, const char *from, const char *to,
							 const ManifestChange *change);

/*
 * Exit with a message if the manifest that is open as "from" could not be
 * rewritten as its own checksum is wrong.  The descriptor is taken over.
 */
extern void manifest_rewrite_check(int fd, const char *from);

#endif							/* BACKUP_MANIFEST_H */
