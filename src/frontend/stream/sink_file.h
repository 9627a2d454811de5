/*
 * sink_file.h
 *		The end of a chain: a new file.
 */
#ifndef SINK_FILE_H
#define SINK_FILE_H

#include "stream/sink.h"

/* The file must not exist, and gets mode 0600. */
extern Sink *sink_file_new(const char *path);

/*
 * The same, of a file that is to be flushed when it is complete: what is
 * written begins its way to the disk at once, so that little is left then.
 */
extern Sink *sink_file_new_flushing(const char *path);

#endif							/* SINK_FILE_H */
