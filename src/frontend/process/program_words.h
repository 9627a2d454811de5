/*
 * program_words.h
 *		What a program that this one runs says on its standard error.
 *
 * Names and messages of a server are in it, newlines and all.  So that no
 * line looks like one of ours, what does not begin as the program's own
 * messages do continues the line before, and begins with a tab; the first
 * line gets what they begin with.  Empty lines at the end of a message are
 * left out.
 */
#ifndef PROGRAM_WORDS_H
#define PROGRAM_WORDS_H

#include "base/fe_compat.h"

#include "pqexpbuffer.h"

typedef struct ProgramWords
{
	int			fd;				/* the end to read from, -1 when closed */
	const char *prefix;			/* of its messages: "pg_dump: "; borrowed */
	PQExpBufferData line;		/* not yet whole */
	const char *counted;		/* what lines that are counted begin with, and
								 * those that are not to be shown; NULL: none;
								 * borrowed */
	const char *left_out;
	bool		(*is_end) (const char *line);	/* of those that are counted:
												 * does nothing of use follow?
												 * NULL: always something */
	char	   *end;			/* the line that it was true of, or NULL;
								 * owned by the caller; since then nothing is
								 * shown, nor counted */
	int			n_counted;
	int			n_lines;		/* that were shown */
	int			n_blank;		/* empty lines since then */
} ProgramWords;

/*
 * fd is taken over; negative: none yet, or no more.  No lines are counted or
 * left out, and none is the end, unless the caller says so.
 */
extern void program_words_open(ProgramWords *words, int fd, const char *prefix);

/*
 * Take what comes, until for wait_ms there is nothing, and pass the lines
 * that are whole on to standard error, control characters as \xNN, and to the
 * event log; or, without show, drop it all.  The descriptor is closed when
 * the program has closed it.
 */
extern void program_words_hear(ProgramWords *words, int wait_ms, bool show);

/* Pass on what there is of a last line, and close. */
extern void program_words_close(ProgramWords *words);

#endif							/* PROGRAM_WORDS_H */
