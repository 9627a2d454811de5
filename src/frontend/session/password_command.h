/*
 * password_command.h
 *		Passwords for connections: from a command, or handed to programs.
 *
 * libpq finds passwords in passfiles, in service files and in PGPASSWORD by
 * itself, for each connection.  Here is what libpq does not do: to run the
 * command of --password-command, and to hand a password to a program without
 * showing it to others.
 */
#ifndef PASSWORD_COMMAND_H
#define PASSWORD_COMMAND_H

#include "base/fe_compat.h"

typedef struct PasswordCommand PasswordCommand;

/*
 * A file in memory, which no directory shows, that libpq can read as a
 * passfile: it has this password for each server, database and role.  Returns
 * its descriptor, which is not inherited by programs (see ChildSecrets), and
 * is never 0.
 */
extern int	password_file_new(const char *password);

/*
 * The command of this text, or NULL for NULL.  All that asks for the same
 * text gets the same command.  Processes that are forked later share it: one
 * of them runs it at a time, and at most once a second; the others take its
 * last output.
 */
extern PasswordCommand *password_command_get(const char *text);

/*
 * The password for a new connection: NULL if the command has failed, and why
 * is in *failure then (both borrowed until the next call).  It may take as
 * long as an attempt to connect.
 */
extern const char *password_command_run(PasswordCommand *command,
										const char **failure);

/*
 * The same for the first connection: exits with a message if the command
 * fails.  NULL for NULL.
 */
extern const char *password_command_first(const char *text);

/* Its output as password_file_new() has it, written again if it changes. */
extern int	password_command_file(const PasswordCommand *command);

/*
 * A program that was given that file runs: call this every moment.  Once a
 * minute the command is run again, as the program may connect again.
 */
extern void password_command_tick(PasswordCommand *command);

#endif							/* PASSWORD_COMMAND_H */
