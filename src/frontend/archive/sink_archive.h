/*
 * sink_archive.h
 *		Where the files of an archive go: to a directory, or to commands.
 */
#ifndef SINK_ARCHIVE_H
#define SINK_ARCHIVE_H

#include "stream/sink.h"

/*
 * From now on, in this process and those it forks, files go to commands made
 * of this pattern.  It must be valid.
 */
extern void sink_archive_set_command(const char *pattern);

/* Do they go to commands?  Then there is nothing to flush or to remove. */
extern bool sink_archive_is_piped(void);

/* A new file; with commands the path's directory means nothing. */
extern Sink *sink_archive_new(const char *path);

/*
 * A file that is not whole is to be made again: remove what there is of it.
 */
extern void sink_archive_remove(const char *path);

#endif							/* SINK_ARCHIVE_H */
