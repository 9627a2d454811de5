/*
 * sink.h
 *		The destination of the bytes of an archive's file: a chain of sinks.
 *		Each sink passes its output to the next, and the last one writes it.
 *
 * A sink is created, written to any number of times, finished once, and
 * freed.  All operations exit with a message on failure, because a run cannot
 * continue without a complete file.
 */
#ifndef SINK_H
#define SINK_H

#include "common/checksum_helper.h"
#include "pqexpbuffer.h"

#include "shared/compress.h"

typedef struct Sink Sink;

typedef struct SinkOps
{
	/* Takes len bytes, which may be kept until finish(). */
	void		(*write) (Sink *sink, const void *data, size_t len);

	/*
	 * Passes on the bytes that were kept, completes the format, and finishes
	 * the next sink.  NULL: only finish the next sink, if there is one.
	 */
	void		(*finish) (Sink *sink);

	/*
	 * Frees this sink and the next ones, finished or not.  NULL: the sink
	 * owns nothing except the next sink.
	 */
	void		(*free) (Sink *sink);
} SinkOps;

/* The base of every sink, and the first member of its struct. */
struct Sink
{
	const SinkOps *ops;
	Sink	   *next;			/* owned; NULL in the last sink */
	uint64		bytes_in;		/* bytes so far, counted by sink_write() */
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
 * Write the contents of the buffer, and empty it.  Exits with a message if
 * the buffer has run out of memory.
 */
extern void sink_write_buffer(Sink *sink, PQExpBuffer buf);

/*
 * Returns the number of bytes that have reached the file, for a chain that
 * begins with this sink.
 */
extern uint64 sink_stored_bytes(const Sink *sink);

/* ----------
 * The end of a chain: memory, for data that is used only when it is complete.
 * ----------
 */

/* The buffer is borrowed, and must exist until the sink is finished. */
extern Sink *sink_buffer_new(PQExpBuffer buffer);

/* ----------
 * A sink that compresses data for the next sink.
 * ----------
 */

/* Takes over next.  Every method except "none" is allowed. */
extern Sink *sink_compress_new(Sink *next, const CompressSpec *spec);

/* ----------
 * The end of a chain: a new file.
 * ----------
 */

/*
 * Write all bytes at an offset of a file, to which other processes may also
 * write.  Returns false, with errno, on failure; errno is ENOSPC if the bytes
 * do not fit.
 */
extern bool write_at(int fd, const void *data, size_t len, uint64 offset);

/* Creates a file with mode 0600.  It must not exist. */
extern Sink *sink_file_new(const char *path);

/*
 * Creates a file that will be flushed when it is complete.  Writing it to
 * disk begins at once, so that little is left to flush then.
 */
extern Sink *sink_file_new_flushing(const char *path);

/* ----------
 * The end of a chain: the standard input of a --pipe command.
 * ----------
 */

/*
 * Start the command that results from the pattern and the file's name.  Its
 * output goes to err_fd.  The sink exits with a message if the command fails
 * or does not read all data.
 */
extern Sink *sink_pipe_new(const char *pattern, const char *name, int err_fd);

/*
 * Returns the command: the pattern with the file's name for %f and, unless it
 * is NULL, the old name for %o, both quoted for the shell, and a percent sign
 * for %%.  The caller owns it.  NULL if the pattern contains another %.
 */
extern char *sink_pipe_command(const char *pattern, const char *name,
							   const char *old_name);

/*
 * The pattern with a directory for %d, in which other signs stay; owned.  The
 * directory must not contain characters that have a meaning in a shell.  NULL
 * is the directory of the whole dump: %d is "." then, but "%d/" before a name
 * is left out.  Some programs for object storage do not remove "./" from the
 * name of a file, which would get another name.
 */
extern char *sink_pipe_directory(const char *pattern, const char *directory);

/* ----------
 * A sink that counts bytes in shared memory, and computes their checksum.
 * ----------
 */

/*
 * Takes over next.  Each write is added to *counter, and to *checksum unless
 * that is NULL.  Both are borrowed.
 */
extern Sink *sink_tap_new(Sink *next, volatile uint64 *counter,
						  pg_checksum_context *checksum);

#endif							/* SINK_H */
