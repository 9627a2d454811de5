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

/* Has this child ended?  If so, it is reaped, and *pid is set to 0. */
extern bool child_process_is_gone(pid_t *pid);

/*
 * Wait up to wait_ms for the end of a child.  Returns true when it has ended:
 * it is reaped, and *status is that of waitpid().  Returns false if it still
 * runs, also when a signal ended the wait.  Exits with a message if it is not
 * a child of this process.
 */
extern bool child_process_wait(pid_t pid, int *status, int wait_ms);

/*
 * End child processes: send SIGTERM to all, and kill those that have not
 * ended after five seconds.  A child may be stopped, ignore the signal, or
 * wait for a server that does not answer.  All children are reaped, and all
 * elements of pids are 0 afterwards.  Elements that are 0 already are
 * skipped.
 */
extern void child_process_end_all(pid_t *pids, int n_pids);

/* The same for a single child, as an exit callback: pid is a pid_t *. */
extern void child_process_end(void *pid);

/*
 * Set the child whose process group must end before this process does; 0 for
 * none.  Such a child reads from this process, and would take the end of its
 * input for the end of a complete file.  Its group is ended when this process
 * exits or is ended by a signal.
 */
extern void child_process_set_fed(pid_t pid);

/*
 * Kill the group of a child of child_program_start_asked(), reap the child,
 * and forget it.
 */
extern void child_process_end_asked(pid_t pid);

/*
 * A process that gets SIGKILL cannot end its children.  So a process that was
 * just forked can note such children in memory that it shares with its
 * parent.  This memory has room for CHILD_PROCESS_MOST_ASKED of them, and is
 * zero at first.  When the process has ended and was reaped, its parent kills
 * the remaining processes of their groups.  For this, orphans must come to
 * the parent.
 *
 * A process reads at most two files of an archive at the same time, has
 * started the commands of up to 16 more (archive/archive_prefetch.h), and may
 * need a password then.
 */
#define CHILD_PROCESS_MOST_ASKED 20
extern void child_process_adopt_orphans(void);
extern void child_process_note_asked(volatile pid_t *notes);
extern void child_process_end_orphans(volatile pid_t *notes);

/*
 * The same as child_process_wait(), for such a child.  If it has ended, the
 * remaining processes of its group are killed and reaped, and the child is
 * forgotten.
 */
extern bool child_process_wait_asked(pid_t pid, int *status, int wait_ms);

/*
 * Kill the groups of all these children, and wait until the group of the
 * child that reads from this process has ended.  If it does not end, a worker
 * exits with 1, so that its job is not retried.  This function may be called
 * in a signal handler.
 */
extern void child_process_end_fed(void);

/* ----------
 * The standard error of other programs
 *
 * Messages of a server, and names in them, can contain newlines.  No such
 * line may look like a message of ours.  So a line that does not begin with
 * the prefix of the program's messages is shown as the continuation of the
 * line before it, after a tab.  The first line gets the prefix if it lacks
 * one.  Empty lines at the end of a message are left out.
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
 * Read the program's output until nothing arrives for wait_ms.  Complete
 * lines are written to standard error, with control characters as \xNN, and
 * to the event log; without show, everything is discarded.  The descriptor is
 * closed when the program has closed its end.
 */
extern void program_words_hear(ProgramWords *words, int wait_ms, bool show);

/* Show the last line, which may lack its newline, and close. */
extern void program_words_close(ProgramWords *words);

/*
 * Wait for the end of the program, show its output meanwhile, and close the
 * descriptor.  Returns the status of waitpid(), and sets *pid to 0.  This
 * function does not wait for the end of the program's standard error: if the
 * program is a script, another program that it started may keep it open.
 */
extern int	program_words_wait(ProgramWords *words, pid_t *pid);

/*
 * Connection parameters that a program needs, but that may appear in no argv
 * or log.  Members without a value are NULL.
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

/*
 * Returns the path of the program with this name in the directory of "path",
 * owned, or NULL if there is none.
 */
extern char *child_program_beside(const char *path, const char *name);

/* Returns the first program of this name in PATH, owned, or NULL. */
extern char *child_program_search(const char *name);

/*
 * Returns the program of this name in the directory of the running program,
 * whose argv[0] is given, otherwise the first one in PATH, owned, or NULL.
 */
extern char *child_program_find(const char *argv0, const char *name);

/*
 * Returns the program that the user has named with the option, or if "given"
 * is NULL, the one that child_program_find() finds; owned.  Exits with a
 * message if there is none.
 */
extern char *child_program_choose(const char *given, const char *argv0,
								  const char *name, const char *option);

/*
 * Create a pipe whose ends no child program inherits.  Exits with a message
 * on failure.
 */
extern void child_program_pipe(int fds[2]);

/*
 * Start a program with args (NULL terminated; the first is its path), with
 * default signal handlers, and with untranslated messages.  out_fd becomes
 * its standard output; if it is negative, the program inherits ours.  "words"
 * is set up to read its standard error, where its messages begin with
 * "prefix"; the caller can set which lines are counted or left out.  The
 * secrets, NULL for none, are passed in files that other users cannot see.
 * The child ends with its parent.  Returns its process ID; exits with a
 * message on failure.
 */
extern pid_t child_program_start(const char **args, const ChildSecrets *secrets,
								 int out_fd, ProgramWords *words,
								 const char *prefix);

/*
 * Start a program that reads from in_fd and needs no connection.  It may
 * start others, so it becomes the leader of a session and process group of
 * its own. It is the child of child_process_set_fed() from its start.  err_fd
 * becomes its standard error; if it is negative, the program inherits ours.
 */
extern pid_t child_program_start_reading(const char *path, const char **args,
										 int in_fd, int out_fd, int err_fd);

/*
 * The same for a program whose output this process waits for.  Up to
 * CHILD_PROCESS_MOST_ASKED of them may run.  Their groups are killed when
 * that of the other child is, but nothing waits for their end.  Returns -1,
 * with errno, if there is no room for another process.
 */
extern pid_t child_program_start_asked(const char *path, const char **args,
									   int in_fd, int out_fd, int err_fd);

#endif							/* CHILD_PROGRAM_H */
