/*
 * child_program.h
 *		Programs of PostgreSQL's that this one runs: found, and started.
 */
#ifndef CHILD_PROGRAM_H
#define CHILD_PROGRAM_H

#include "base/fe_compat.h"

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
} ChildSecrets;

#define CHILD_SERVICE "pg_pardump"

/* A regular file that this user may execute? */
extern bool child_program_is_executable(const char *path);

/* The first program of this name in PATH, or NULL; owned. */
extern char *child_program_search(const char *name);

/*
 * The program of this name beside this one, whose argv[0] is given, else the
 * first in PATH, or NULL; owned.
 */
extern char *child_program_find(const char *argv0, const char *name);

/* A pipe whose ends no child program inherits; exits with a message. */
extern void child_program_pipe(int fds[2]);

/*
 * Start path with args (NULL terminated), with signals as they are by
 * default, and messages in its own language.  out_fd and err_fd become its
 * standard output and error; negative: ours.  The secrets, NULL for none, are
 * handed over out of sight.  The child ends with its parent.  Returns its
 * process ID; exits with a message if there can be none.
 */
extern pid_t child_program_start(const char *path, const char **args,
								 const ChildSecrets *secrets,
								 int out_fd, int err_fd);

/*
 * The same of a program that connects to nothing, reads from in_fd, and may
 * start others: it is the leader of a session and process group of its own,
 * and from the start what child_process_set_fed() is told.
 */
extern pid_t child_program_start_reading(const char *path, const char **args,
										 int in_fd, int out_fd, int err_fd);

/*
 * The same for a program whose output this process waits for: it is what
 * child_process_set_asked() is told.
 */
extern pid_t child_program_start_asked(const char *path, const char **args,
									   int in_fd, int out_fd, int err_fd);

#endif							/* CHILD_PROGRAM_H */
