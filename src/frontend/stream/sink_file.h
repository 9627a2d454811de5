/*
 * sink_file.h
 *		The end of a chain: a new file.
 */
#ifndef SINK_FILE_H
#define SINK_FILE_H

#include "stream/sink.h"

/* The file must not exist, and gets mode 0600. */
extern Sink *sink_file_new(const char *path);

#endif							/* SINK_FILE_H */
