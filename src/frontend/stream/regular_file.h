/*
 * regular_file.h
 *		Opens and reads files in places where other users may write, lists
 *		directories, and creates private ones.
 */
#ifndef REGULAR_FILE_H
#define REGULAR_FILE_H

#include <dirent.h>

/*
 * Open a regular file for reading, and nothing else: a FIFO does not block,
 * and a symbolic link is not followed.  dir is an open directory, which
 * contains the name, or AT_FDCWD.  Returns -1 on failure, and sets *problem
 * to a clause with the name, owned; errno is ENOENT only if the file does not
 * exist.
 */
extern int	regular_file_open(int dir, const char *name, const char **problem);

/*
 * The same for a file that belongs to this user and that no other user can
 * write.
 */
extern int	regular_file_open_own(const char *path, const char **problem);

/*
 * Read all of a text.  Returns it with a terminating zero byte, owned, or
 * NULL with errno on failure.  There is no limit for its size.  Reading ends
 * at a zero byte, which no text contains: this also limits the memory for a
 * sparse file that only claims to be huge.
 */
extern char *regular_file_read_text(int fd, size_t *len);

/* Details and a hint for errors about a directory that was replaced. */
#define DIRECTORY_IS_ANOTHER \
	"The path now leads to another directory than the one that this run opened."
#define DIRECTORY_HAS_FILES \
	"It contains files although this run has just created it."
#define DIRECTORY_REPLACED_HINT \
	"Choose a directory whose parent directories can be written only by you and root."

/*
 * Create a directory for temporary files, in TMPDIR or /tmp, that no other
 * user can read.  Returns its path, owned.  Exits with a message on failure.
 */
extern char *directory_make_private(void);

/*
 * Returns a listing of an open directory, from its beginning, even if it was
 * read before, or NULL on failure.  The caller keeps the descriptor.
 */
extern DIR *directory_list(int fd);

/*
 * Returns the next name in the directory except "." and "..", or NULL at the
 * end, with errno 0, or after an error.
 */
extern const char *directory_next(DIR *listing);

#endif							/* REGULAR_FILE_H */
