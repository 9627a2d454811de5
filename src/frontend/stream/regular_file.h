/*
 * regular_file.h
 *		Opens and reads a file that others may have put where it is.
 */
#ifndef REGULAR_FILE_H
#define REGULAR_FILE_H

#include "base/fe_compat.h"

/*
 * Open a regular file, and nothing else, for reading: a FIFO does not make us
 * wait, a link does not lead elsewhere.  dir is open on the directory that
 * name is in, or AT_FDCWD.  -1, and *problem, which is never freed, if that
 * fails; errno is ENOENT only if there is no such file.
 */
extern int	regular_file_open(int dir, const char *name, const char **problem);

/*
 * All of a text, ended by a zero and owned; NULL, and errno, if it cannot be
 * read.  It may be as large as its writer makes it.  Reading ends at a zero
 * byte, which no text has: a file that only claims to be huge has nothing
 * else.
 */
extern char *regular_file_read_text(int fd, size_t *len);

/* ----------
 * Writes bytes at a place of a file that others write to as well.
 * ----------
 */

/* All of them, or false with errno; what cannot be written is ENOSPC. */
extern bool write_at(int fd, const void *data, size_t len, uint64 offset);

#endif							/* REGULAR_FILE_H */
