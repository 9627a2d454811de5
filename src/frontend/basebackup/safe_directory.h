/*
 * safe_directory.h
 *		Refuses directories in which other users could redirect root.
 */
#ifndef SAFE_DIRECTORY_H
#define SAFE_DIRECTORY_H

/* ----------
 * Directories that a base backup goes to.
 *
 * A claimed directory is emptied, or removed, if the program fails.  It is
 * held open, and all that is made or removed in it is named relative to that:
 * the owner of a directory in its path can put another directory, or a link,
 * in its place at any time.  Below it no directory belongs to others, as
 * root uses only directories of its own (safe_directory.h).
 * ----------
 */

typedef struct ClaimedDirectory ClaimedDirectory;

/*
 * Make the directory, or take an empty one; that of the manifest comes first.
 * With keep nothing is removed.  In plain format, root uses only directories
 * that no other user can replace.  hint may be NULL.  Exits with a message on
 * failure; lives until the program ends.
 */
extern const ClaimedDirectory *claimed_directory_new(const char *path,
													 const char *hint,
													 bool keep, bool is_plain);

/* Borrowed. */
extern int	claimed_directory_fd(const ClaimedDirectory *claimed);

/*
 * Exit with a message if the path of a claimed directory does not lead to it
 * any more.  Files are flushed by their paths, and what flushes them only
 * warns of a file that it cannot open: call this afterwards.
 */
extern void claimed_directory_check(void);

/* In the first directory, as durable_rename() does if flush is true. */
extern void claimed_directory_rename(const char *from, const char *to,
									 bool flush);

#endif							/* SAFE_DIRECTORY_H */
