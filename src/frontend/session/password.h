/*
 * password.h
 *		Passwords for connections: typed by the user, printed by a command, or
 *		handed to programs.
 *
 * libpq finds passwords in passfiles, in service files and in PGPASSWORD by
 * itself, for each connection.  This file has what libpq does not do: to ask
 * the user, at most once for each server and role; to run the command of
 * --password-command; and to hand a password to a program without showing it
 * to others.
 */
#ifndef PASSWORD_H
#define PASSWORD_H

#include "fe_utils/connect_utils.h"
#include "pqexpbuffer.h"

/* The value of a connection option; NULL if there is none, or it is empty. */
extern const char *conninfo_value(const PQconninfoOption *options,
								  const char *keyword);

/* Append "keyword=value" to a connection string, with a space before it. */
extern void conninfo_append(PQExpBuffer buf, const char *keyword,
							const char *value);

/* Is the keyword one of these words, the last of which is NULL? */
extern bool conninfo_is_one_of(const char *keyword, const char *const *words);

/* Set a variable of the environment, or remove it if value is NULL. */
extern void environment_set(const char *name, const char *value);

/* ----------
 * Passwords that the user types
 * ----------
 */

/*
 * Return the password that was typed for the server and role of these
 * parameters, in this process or before it was forked, or NULL.  It is empty
 * if the user has entered none.  Borrowed.
 */
extern const char *typed_password_find(const ConnParams *params);

/*
 * Ask for the password on /dev/tty, or else on the terminal that is standard
 * input, and keep the answer in memory.  With -W (prompt_password is TRI_YES)
 * a line of standard input is read if there is no terminal, as
 * simple_prompt() does; otherwise NULL is returned and nothing is asked.  A
 * signal ends the program, with its exit stack, after the terminal's echo has
 * been restored.  Borrowed.
 */
extern const char *typed_password_ask(const ConnParams *params);

/* Is there a terminal to ask on? */
extern bool typed_password_has_terminal(void);

/* ----------
 * Passwords that a command prints, and files for programs
 * ----------
 */

typedef struct PasswordCommand PasswordCommand;

/*
 * Create a file in memory that libpq can read as a passfile, and that is in
 * no directory.  It contains this password for each server, database and
 * role.  Returns its descriptor, which programs do not inherit (see
 * ChildSecrets), and which is never 0.
 */
extern int	password_file_new(const char *password);

/*
 * Return the command with this text, or NULL for NULL.  The same text gives
 * the same command.  Processes that are forked later share the command: one
 * process at a time runs it, at most once a second; the others use its last
 * output.
 */
extern PasswordCommand *password_command_get(const char *text);

/*
 * Return the password for a new connection.  Returns NULL if the command has
 * failed, and sets *failure to the reason.  Both are borrowed until the next
 * call.  The call may take as long as an attempt to connect.
 */
extern const char *password_command_run(PasswordCommand *command,
										const char **failure);

/*
 * Run the command for the first connection: exits with a message if the
 * command fails.  Returns NULL for NULL.
 */
extern const char *password_command_first(const char *text);

/*
 * Return the descriptor of a file like that of password_file_new(), with the
 * output of the command.  If the output changes, the file is written again.
 */
extern int	password_command_file(const PasswordCommand *command);

/*
 * Call this regularly while a program runs that was given the file.  Once a
 * minute, the command is run again, because the program may connect again.
 * Does nothing for NULL.
 */
extern void password_command_tick(PasswordCommand *command);

#endif							/* PASSWORD_H */
