/*
 * safe_directory.h
 *		Claims the directories of a base backup, and refuses directories in
 *		which other users could redirect root.
 */
#ifndef SAFE_DIRECTORY_H
#define SAFE_DIRECTORY_H

/* ----------
 * The directories of a base backup.
 *
 * A claimed directory is emptied, or removed, if the program fails.  It is
 * kept open, and all files in it are created and removed relative to the open
 * directory: the owner of a directory above it can replace it by another
 * directory, or by a link, at any time.  Directories below it belong to this
 * user, because they are created here.
 * ----------
 */

typedef struct ClaimedDirectory ClaimedDirectory;

/*
 * Create the directory, or take an empty one.  The first call is for the
 * directory that gets the manifest.  If keep is true nothing is removed on
 * failure.  In plain format, root only uses directories that no other user
 * can replace.  hint may be NULL.  Exits with a message on failure; the
 * result exists until the program ends.
 */
extern const ClaimedDirectory *claimed_directory_new(const char *path,
													 const char *hint,
													 bool keep, bool is_plain);

/* The file descriptor of the open directory; borrowed. */
extern int	claimed_directory_fd(const ClaimedDirectory *claimed);

/*
 * Exits with a message if the path of a claimed directory does not lead to it
 * any more.  Call this after files were flushed, because they are flushed by
 * path, and flushing only warns about a file that it cannot open.
 */
extern void claimed_directory_check(void);

/* Rename a file in the first directory; with flush, like durable_rename(). */
extern void claimed_directory_rename(const char *from, const char *to,
									 bool flush);

#endif							/* SAFE_DIRECTORY_H */
