/*
 * archive_piped.h
 *		Opens an archive in directory format whose files are returned by
 *		commands (--pipe), and copies its files with commands (--pipe-copy).
 */
#ifndef ARCHIVE_PIPED_H
#define ARCHIVE_PIPED_H

#include "archive/archive_open.h"

/*
 * The exit code of a verification if commands failed, and no other problem
 * was found: another attempt may succeed (EX_TEMPFAIL of sysexits.h).
 */
#define ARCHIVE_EXIT_UNREAD 75

/*
 * Returns an archive whose files are returned by commands with this pattern.
 * Does not run a command.
 */
extern Archive *archive_piped_new(const Options *options, const char *pattern);

/*
 * Run the command of --pipe for toc.dat, and for the manifest if pg_pardump
 * wrote the archive.  The path of the result is the command's pattern.
 *
 * pg_restore can read toc.dat from a private directory afterwards.
 * archive_piped_forget_toc() removes that directory, and until then an exit
 * callback does.  This callback must be the last one when
 * archive_piped_forget_toc() is called.  Exits with a message if one of the
 * two files cannot be read; with ARCHIVE_EXIT_UNREAD if it was to be verified
 * and the command failed.
 */
extern Archive *archive_piped_open(const Options *options);
extern void archive_piped_forget_toc(Archive *archive);

/*
 * Read toc.dat and the manifest with commands of this pattern, in the same
 * way.  Returns a text that identifies the archive; owned.
 */
extern char *archive_piped_identity(const Options *options,
									const char *pattern);

/*
 * Add the name of another file of a large object for which a command has
 * returned no data, although no manifest shows that it is empty.  Then print
 * a warning about these n files; none if n is 0.
 */
extern void archive_piped_add_empty(PQExpBuffer names, int *n,
									const char *name);
extern void archive_piped_warn_empty(const Archive *archive,
									 const char *names, int n);

/*
 * Let a command copy a file into another archive, where it gets this name.
 * The pattern of the archive's commands contains %o.  The file does not pass
 * through this process, so its contents are not checked.  A command that
 * fails is run again; exits with a message if --retries allows no more
 * attempts.
 */
extern void archive_piped_copy(const Archive *archive, const char *old_name,
							   const char *name);

#endif							/* ARCHIVE_PIPED_H */
