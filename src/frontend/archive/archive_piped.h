/*
 * archive_piped.h
 *		Opens an archive in the directory format whose files commands return
 *		(--pipe), and copies its files by commands (--pipe-copy).
 */
#ifndef ARCHIVE_PIPED_H
#define ARCHIVE_PIPED_H

#include "archive/archive_open.h"

/*
 * An archive whose files commands with this pattern return.  Nothing of it is
 * read.
 */
extern Archive *archive_piped_new(const Options *options, const char *pattern);

/*
 * Run the command of --pipe, which is the path of the result, for toc.dat,
 * and for the manifest if toc.dat is one of ours.  toc.dat is then in a
 * private directory, for pg_restore; an exit callback removes it, until
 * archive_piped_forget_toc() does.  Nothing may have registered an exit
 * callback in between.  Exits with a message if one of the two cannot be had.
 */
extern Archive *archive_piped_open(const Options *options);
extern void archive_piped_forget_toc(Archive *archive);

/*
 * Read toc.dat and the manifest through commands with this pattern, in the
 * same way.  Returns a text that is the same for the same archive; owned.
 */
extern char *archive_piped_identity(const Options *options,
									const char *pattern);

/*
 * Have a command copy a file, which becomes a file of this name in another
 * archive; the pattern of the archive's commands has %o.  The file does not
 * pass through this process, so nothing is known of its bytes.  A command
 * that fails is run again; exits with a message if --retries allows no more
 * attempts.
 */
extern void archive_piped_copy(const Archive *archive, const char *old_name,
							   const char *name);

#endif							/* ARCHIVE_PIPED_H */
