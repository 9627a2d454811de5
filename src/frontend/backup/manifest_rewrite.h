/*
 * manifest_rewrite.h
 *		Copies a backup_manifest and corrects the entry of one file, which the
 *		program has written again.
 */
#ifndef MANIFEST_REWRITE_H
#define MANIFEST_REWRITE_H

#include "base/fe_compat.h"

#include <time.h>

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

#endif							/* MANIFEST_REWRITE_H */
