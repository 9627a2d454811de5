/*
 * command_reader.h
 *		Reads a file of an archive from the standard output of a command.
 *
 *		reader = command_reader_new(&command, name, NULL, &expected);
 *		while ((n = command_reader_read(reader, buf, size)) > 0)
 *			... n bytes at buf ...
 *		if (n < 0) ... command_reader_error(reader) ...
 *
 * The command runs without a terminal, in a session and process group of its
 * own.  Its standard input cannot be read.  When the command ends, all
 * processes that are left in its group are killed.
 */
#ifndef COMMAND_READER_H
#define COMMAND_READER_H

#include "common/checksum_helper.h"

/* How to run the commands of an archive. */
typedef struct ReadCommand
{
	const char *pattern;		/* see sink_pipe_command() */
	int			err_fd;			/* the standard error of the commands */
	uint64		stall_timeout;	/* seconds to wait for the next bytes, or for
								 * the exit; 0 = no limit */
} ReadCommand;

/* The known size and checksum of a file. */
typedef struct ExpectedBytes
{
	uint64		n;
	pg_checksum_type checksum_type;
	const uint8 *checksum;
	int			checksum_len;	/* 0 = no checksum */
} ExpectedBytes;

typedef struct CommandReader CommandReader;

/* When the output of a command is read. */
typedef enum CommandUse
{
	COMMAND_IS_NEEDED,			/* now */
	COMMAND_IS_EARLY,			/* later */
	COMMAND_MAY_FAIL			/* later, unless the file is found to be
								 * missing: the command's messages are passed
								 * on only when its output is read */
} CommandUse;

/*
 * Start the command that returns the file with this name.  If old_name is not
 * NULL, it is substituted for %o in the command.  The command and the
 * expected bytes, which may be NULL, are borrowed.  If no process can be
 * created, exits with a message if the command is needed, otherwise returns
 * NULL.
 */
extern CommandReader *command_reader_new(const ReadCommand *command,
										 const char *name,
										 const char *old_name,
										 const ExpectedBytes *expected,
										 CommandUse use);

/*
 * Treat more than this number of bytes as an error, if the size of the file
 * is not known.  Without a limit, the output of a broken command might never
 * end.
 */
extern void command_reader_limit(CommandReader *reader, uint64 most);

/*
 * Read some bytes into buf.  Returns their number, or 0 if the command has
 * exited with status 0 and the bytes are the expected ones, or -1 after an
 * error.  The bytes are not known to be right until 0 is returned.
 */
extern ssize_t command_reader_read(CommandReader *reader, void *buf,
								   size_t size);

/* Returns the error message; borrowed. */
extern const char *command_reader_error(const CommandReader *reader);

/*
 * Returns the time from the start of the command until its first byte was
 * read; 0 if none was read.
 */
extern int64 command_reader_latency_ms(const CommandReader *reader);

/*
 * Has the command written bytes that were not read yet, or closed its output?
 */
extern bool command_reader_is_ready(const CommandReader *reader);

/*
 * Have command_reader_read() call progress() with the number of bytes that it
 * has read so far.
 */
extern void command_reader_watch(CommandReader *reader,
								 void (*progress) (void *arg, uint64 n_read),
								 void *arg);

/*
 * Returns the text of a command, for messages: of the command whose first
 * bytes, end or error this process has read last.  Returns NULL if it has not
 * read from a command.
 *
 * command_reader_last_failed() returns whether that command has failed, or
 * has not answered in time.  Otherwise its bytes may be wrong.
 *
 * command_reader_note() makes the command of this reader that command.  Call
 * it if the contents of the output are wrong, which the reader itself cannot
 * notice.
 */
extern const char *command_reader_last(void);
extern bool command_reader_last_failed(void);
extern void command_reader_note(const CommandReader *reader);

/*
 * Free the reader.  If the command has not ended, its process group is
 * killed.
 */
extern void command_reader_free(CommandReader *reader);

#endif							/* COMMAND_READER_H */
