/*
 * archive_space.h
 *		Is there room for an archive, and may it be written?
 */
#ifndef ARCHIVE_SPACE_H
#define ARCHIVE_SPACE_H

#include "base/fe_compat.h"

/*
 * Tell of an error if the directory, or, should it not be there, its parent
 * may not be written; and warn if its file system has less room than the
 * archive of so many bytes before compression is sure to need, or likely to
 * need if it is compressed: a quarter.  What --clean-output is going to
 * remove counts as free.  Nobody knows what others write there meanwhile.
 */
extern void archive_space_check(const char *directory, uint64 raw_bytes,
								bool compressed, bool clean);

#endif							/* ARCHIVE_SPACE_H */
