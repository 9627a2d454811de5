/*
 * child_program.h
 *		Child processes and programs: finds, starts and ends them, and reads
 *		their standard error.
 */
#ifndef CHILD_PROGRAM_H
#define CHILD_PROGRAM_H

#include "pqexpbuffer.h"

/* ----------
 * The ends of child processes: awaited, asked for, and enforced.
 * ----------
 */

/* Is this child gone?  It is reaped then, and the pid 0. */
extern bool child_process_is_gone(pid_t *pid);

/*
 * Wait for the end of a child, for so long at most: how it has ended is in
 * *status then, as waitpid() has it, and it is reaped.  Else, or if a signal
 * came, false.  Exits with a message if it is not a child of this process.
 */
extern bool child_process_wait(pid_t pid, int *status, int wait_ms);

/*
 * End child processes: ask them by SIGTERM, and kill those that are not gone
 * after five seconds, be they stopped, deaf, or waiting for a server that
 * does not answer.  All are reaped.  A pid of 0 is passed over; all are 0
 * then.
 */
extern void child_process_end_all(pid_t *pids, int n_pids);

/* An exit callback: the same of one, whose pid_t pid points to. */
extern void child_process_end(void *pid);

/*
 * The process group of a child that must end before this process does, as it
 * would take the end of its input for that of a file; 0 for none.  It is
 * ended when the process exits or is ended by a signal.
 */
extern void child_process_set_fed(pid_t pid);

/*
 * Kill the group of a child of child_program_start_asked(), reap the child,
 * and forget it.
 */
extern void child_process_end_asked(pid_t pid);

/*
 * SIGKILL lets a process end nothing.  So a process that was just forked can
 * note such children in memory that it shares with its parent, which has room
 * for this many and is all zero.  When the process is gone and reaped, its
 * parent kills what is left of their groups.  For this, orphans must come to
 * the parent.
 *
 * A process reads at most two files of an archive at the same time, has
 * started the commands of up to 16 more (archive/archive_ahead.h), and may
 * need a password then.
 */
#define CHILD_PROCESS_MOST_ASKED 20
extern void child_process_adopt_orphans(void);
extern void child_process_note_asked(volatile pid_t *notes);
extern void child_process_end_orphans(volatile pid_t *notes);

/*
 * As child_process_wait() for such a child: if it has ended, what is left of
 * its group is killed and reaped, and the child is forgotten.
 */
extern bool child_process_wait_asked(pid_t pid, int *status, int wait_ms);

/*
 * Kill both process groups, if there are any, and see the first one gone.  A
 * worker that cannot exits with 1, so that its job is not retried.  Safe
 * in a handler.
 */
extern void child_process_end_fed(void);

/* ----------
 * The standard error of other programs
 *
 * Names and messages of a server are in it, newlines and all.  So that no
 * line looks like one of ours, what does not begin as the program's own
 * messages do continues the line before, and begins with a tab; the first
 * line gets what they begin with.  Empty lines at the end of a message are
 * left out.
 * ----------
 */

typedef struct ProgramWords
{
	int			fd;				/* the end to read from, -1 when closed */
	const char *prefix;			/* of its messages: "pg_dump: "; borrowed */
	PQExpBufferData line;		/* not yet whole */
	const char *counted;		/* what lines that are counted begin with, and
								 * those that are not to be shown; NULL: none;
								 * borrowed */
	const char *left_out;
	int			n_counted;
	PQExpBuffer said;			/* gets all lines that are shown; NULL: none;
								 * borrowed */
	int			n_lines;		/* that were shown */
	int			n_blank;		/* empty lines since then */
} ProgramWords;

/*
 * Take what comes, until for wait_ms there is nothing, and pass the lines
 * that are whole on to standard error, control characters as \xNN, and to the
 * event log; or, without show, drop it all.  The descriptor is closed when
 * the program has closed it.
 */
extern void program_words_hear(ProgramWords *words, int wait_ms, bool show);

/* Pass on what there is of a last line, and close. */
extern void program_words_close(ProgramWords *words);

/*
 * Wait for the end of the program, showing what it says meanwhile, and
 * close.  Returns its status as waitpid() does, and sets the pid to 0.  The
 * end of its standard error is not waited for: if the program is a script,
 * another one that it started may hold that open.
 */
extern int	program_words_wait(ProgramWords *words, pid_t *pid);

/*
 * What a program needs to connect, and is to be seen in no argv or log; NULL
 * where there is nothing.
 */
typedef struct ChildSecrets
{
	int			password_file;	/* a descriptor: see password_file_new(); 0 =
								 * libpq finds the password by itself */
	char	   *service;		/* the text of a service file with all other
								 * secrets, its service named CHILD_SERVICE */
	int			service_pipe;	/* a descriptor that the program reads a
								 * service file from instead; 0 = none */
} ChildSecrets;

#define CHILD_SERVICE "pg_pardump"

/* The program of this name in the directory of that path, or NULL; owned. */
extern char *child_program_beside(const char *path, const char *name);

/* The first program of this name in PATH, or NULL; owned. */
extern char *child_program_search(const char *name);

/*
 * The program of this name beside this one, whose argv[0] is given, else the
 * first in PATH, or NULL; owned.
 */
extern char *child_program_find(const char *argv0, const char *name);

/*
 * The program that the user has named by the option, which may be NULL, or
 * the one that child_program_find() finds; owned.  Exits with a message if
 * there is none.
 */
extern char *child_program_choose(const char *given, const char *argv0,
								  const char *name, const char *option);

/* A pipe whose ends no child program inherits; exits with a message. */
extern void child_program_pipe(int fds[2]);

/*
 * Start a program with args (NULL terminated; the first is its path), with
 * signals as they are by default, and messages in its own language.  out_fd
 * becomes its standard output; negative: ours.  What it says on its standard
 * error is for words, whose messages begin with prefix; no lines are counted
 * or left out unless the caller says so.  The secrets, NULL for none, are
 * handed over out of sight.  The child ends with its parent.  Returns its
 * process ID; exits with a message if there can be none.
 */
extern pid_t child_program_start(const char **args, const ChildSecrets *secrets,
								 int out_fd, ProgramWords *words,
								 const char *prefix);

/*
  * A program that connects to nothing, reads from in_fd, and may start
 * others: it is the leader of a session and process group of its own, and
 * from the start what child_process_set_fed() is told.  err_fd becomes its
 * standard error; negative: ours.
 */
extern pid_t child_program_start_reading(const char *path, const char **args,
										 int in_fd, int out_fd, int err_fd);

/*
 * The same for a program whose output this process waits for; up to
 * CHILD_PROCESS_MOST_ASKED may run.  Their groups are killed at the same
 * moments, but their ends are not waited for.
 */
extern pid_t child_program_start_asked(const char *path, const char **args,
									   int in_fd, int out_fd, int err_fd);

#endif							/* CHILD_PROGRAM_H */
