/*
 * archive_space.h
 *		Is there room for an archive, and may it be written?
 */
#ifndef ARCHIVE_SPACE_H
#define ARCHIVE_SPACE_H

#include "base/fe_compat.h"

/* What an archive may need room for. */
typedef struct ArchiveNeed
{
	uint64		raw_bytes;		/* to be dumped, before compression */
	bool		compressed;		/* they are going to be */
	bool		clean;			/* what is there will be removed before */
	const char *previous;		/* directory of the archive whose files may be
								 * taken; NULL = none */
	uint64		previous_bytes; /* of these files */
	bool		copies;			/* they are copied even where links or clones
								 * could be made */
} ArchiveNeed;

/*
 * Tell of an error if the directory, or, should it not be there, its parent
 * may not be written; and warn if its file system has less room than the
 * archive is sure to need, or likely to need if it is compressed: a quarter
 * of its rows.  Files of the previous archive need room where they are
 * copied, and else none, though who changes rows will need it: that is not
 * known yet, nor what others write there meanwhile.
 */
extern void archive_space_check(const char *directory,
								const ArchiveNeed *need);

#endif							/* ARCHIVE_SPACE_H */
