/*
 * regular_file.h
 *		Opens and reads a file that others may have put where it is, lists
 *		directories, and makes private ones.
 */
#ifndef REGULAR_FILE_H
#define REGULAR_FILE_H

#include <dirent.h>

/*
 * Open a regular file, and nothing else, for reading: a FIFO does not make us
 * wait, a link does not lead elsewhere.  dir is open on the directory that
 * name is in, or AT_FDCWD.  -1, and *problem, which is never freed, if that
 * fails; errno is ENOENT only if there is no such file.
 */
extern int	regular_file_open(int dir, const char *name, const char **problem);

/*
 * The same for a file that belongs to this user and that no other user can
 * write.
 */
extern int	regular_file_open_own(const char *path, const char **problem);

/*
 * All of a text, ended by a zero and owned; NULL, and errno, if it cannot be
 * read.  It may be as large as its writer makes it.  Reading ends at a zero
 * byte, which no text has: a file that only claims to be huge has nothing
 * else.
 */
extern char *regular_file_read_text(int fd, size_t *len);

/* Details and the hint of errors about a directory that was replaced. */
#define DIRECTORY_IS_ANOTHER \
	"The path now leads to another directory than the one that this run opened."
#define DIRECTORY_HAS_FILES \
	"It contains files although this run has just created it."
#define DIRECTORY_REPLACED_HINT \
	"Choose a directory whose parent directories can be written only by you and root."

/*
 * Make a directory for temporary files that no other user can read, in TMPDIR
 * or /tmp; its path is owned.  Exits with a message if that fails.
 */
extern char *directory_make_private(void);

/*
 * A listing of a directory that is open, from its beginning, even if it was
 * read before; NULL if that fails.  The descriptor stays the caller's.
 */
extern DIR *directory_list(int fd);

/*
 * The next name in a directory besides "." and ".."; NULL at the end, with
 * errno 0, or after an error.
 */
extern const char *directory_next(DIR *listing);

#endif							/* REGULAR_FILE_H */
