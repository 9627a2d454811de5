/*
 * sink_pipe.h
 *		The end of a chain: a command's standard input, with --pipe.
 */
#ifndef SINK_PIPE_H
#define SINK_PIPE_H

#include "stream/sink.h"

/*
 * Start the command that pattern makes of the file's name; what it says goes
 * to err_fd.  The sink exits with a message if the command fails or does not
 * read all.
 */
extern Sink *sink_pipe_new(const char *pattern, const char *name, int err_fd);

/*
 * The command: pattern with the name for %f, quoted for the shell, and a
 * percent sign for %%; owned.  NULL if it has a % that means nothing.
 */
extern char *sink_pipe_command(const char *pattern, const char *name);

#endif							/* SINK_PIPE_H */
