/*
 * sink.h
 *		Where the bytes of one archive file go: a chain of sinks, each handing
 *		what it made to the next, the last one writing it somewhere.
 *
 * A sink is opened, written to any number of times, finished once, and freed.
 * All operations exit with a message on failure: a data file that cannot be
 * written whole ends the run.
 */
#ifndef SINK_H
#define SINK_H

#include "common/checksum_helper.h"
#include "pqexpbuffer.h"

#include "shared/compress.h"

typedef struct Sink Sink;

typedef struct SinkOps
{
	/* Take len bytes; they may be kept back until finish(). */
	void		(*write) (Sink *sink, const void *data, size_t len);

	/*
	 * Pass on what is kept back, complete the format, finish the next sink.
	 * NULL: finish the next sink, if there is one.
	 */
	void		(*finish) (Sink *sink);

	/*
	 * Free this sink and the next ones, finished or not.  NULL: it owns
	 * nothing but the next sink.
	 */
	void		(*free) (Sink *sink);
} SinkOps;

/* Base of every sink: the first member of its struct. */
struct Sink
{
	const SinkOps *ops;
	Sink	   *next;			/* owned; NULL in the last sink */
	uint64		bytes_in;		/* taken so far, counted by sink_write() */
};

static inline void
sink_write(Sink *sink, const void *data, size_t len)
{
	sink->bytes_in += len;
	sink->ops->write(sink, data, len);
}

extern void sink_finish(Sink *sink);
extern void sink_free(Sink *sink);

/*
 * Take what is in the buffer, and empty it.  Exits if it ran out of memory.
 */
extern void sink_write_buffer(Sink *sink, PQExpBuffer buf);

/* The bytes that reached the file, for a chain that begins with this sink. */
extern uint64 sink_stored_bytes(const Sink *sink);

/* ----------
 * The end of a chain: memory, for what must be whole before it is used.
 * ----------
 */

/* The buffer is borrowed: it must be there until the sink is finished. */
extern Sink *sink_buffer_new(PQExpBuffer buffer);

/* ----------
 * Compresses what it is given, for the next sink.
 * ----------
 */

/* next is taken over.  Any method but none. */
extern Sink *sink_compress_new(Sink *next, const CompressSpec *spec);

/* ----------
 * The end of a chain: a new file.
 * ----------
 */

/*
 * Write all of these bytes at a place of a file that others may write to as
 * well, or return false with errno; what cannot be written is ENOSPC.
 */
extern bool write_at(int fd, const void *data, size_t len, uint64 offset);

/* The file must not exist, and gets mode 0600. */
extern Sink *sink_file_new(const char *path);

/*
 * The same, of a file that is to be flushed when it is complete: what is
 * written begins its way to the disk at once, so that little is left then.
 */
extern Sink *sink_file_new_flushing(const char *path);

/* ----------
 * The end of a chain: a command's standard input, with --pipe.
 * ----------
 */

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

/*
 * The pattern with a directory for %d, in which other signs stay; owned.  The
 * directory must not contain characters that have a meaning in a shell.
 */
extern char *sink_pipe_directory(const char *pattern, const char *directory);

/* ----------
 * Counts what flows by, where other processes see it, and its checksum.
 * ----------
 */

/*
 * next is taken over.  The bytes are added to *counter as they come, and to
 * *checksum unless it is NULL; both are borrowed.
 */
extern Sink *sink_tap_new(Sink *next, volatile uint64 *counter,
						  pg_checksum_context *checksum);

#endif							/* SINK_H */
