/*
 * command_reader.h
 *		Reads a file of an archive from the standard output of a command.
 *
 *		reader = command_reader_new(&command, name, NULL, &expected);
 *		while ((n = command_reader_read(reader, buf, size)) > 0)
 *			... n bytes at buf ...
 *		if (n < 0) ... command_reader_error(reader) ...
 *
 * The command runs without a terminal, and with a standard input that cannot
 * be read, in a process group of its own, which ends with it.
 */
#ifndef COMMAND_READER_H
#define COMMAND_READER_H

#include "common/checksum_helper.h"

/* How commands of an archive are run. */
typedef struct ReadCommand
{
	const char *pattern;		/* as sink_pipe_command() has it */
	int			err_fd;			/* becomes their standard error */
	uint64		stall_timeout;	/* seconds that one may need for the next
								 * bytes, or for its end; 0 = no limit */
} ReadCommand;

/* What the bytes of a file are known to be. */
typedef struct ExpectedBytes
{
	uint64		n;
	pg_checksum_type checksum_type;
	const uint8 *checksum;
	int			checksum_len;	/* 0 = there is none */
} ExpectedBytes;

typedef struct CommandReader CommandReader;

/*
 * Start the command for a file of this name, or one that copies a file with
 * an old name, which else is NULL.  What is expected may be NULL; it and the
 * command are borrowed.
 */
extern CommandReader *command_reader_new(const ReadCommand *command,
										 const char *name,
										 const char *old_name,
										 const ExpectedBytes *expected);

/*
 * More bytes than this are an error, if their number is not known: a command
 * may write without an end.
 */
extern void command_reader_limit(CommandReader *reader, uint64 most);

/*
 * Some bytes into buf: how many, 0 when the command has ended without an
 * error, and its bytes were those that are expected, or -1.  The bytes are
 * known to be right only at the end.
 */
extern ssize_t command_reader_read(CommandReader *reader, void *buf,
								   size_t size);

/* What went wrong; borrowed. */
extern const char *command_reader_error(const CommandReader *reader);

/*
 * The command that this process started last, or whose end or an error it has
 * read since, for messages; or NULL.  And note that it is this one: what it
 * returned is wrong.
 */
extern const char *command_reader_last(void);
extern void command_reader_note(const CommandReader *reader);

/* Free it; if the command has not ended, its process group is killed. */
extern void command_reader_free(CommandReader *reader);

#endif							/* COMMAND_READER_H */
