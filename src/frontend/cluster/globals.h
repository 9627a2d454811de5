/*
 * globals.h
 *		Dumps, parses and runs the statements for roles, tablespaces and
 *		everything else that the databases of a cluster share.
 */
#ifndef GLOBALS_H
#define GLOBALS_H

#include "session/connection.h"

/* ----------
 * The script of pg_dumpall.
 * ----------
 */

/*
 * The script of stock pg_dumpall, which connects to the session's database;
 * part is one of stock_pg_dump.h.  It may contain passwords.  Owned.  Exits
 * with a message on failure.
 */
extern char *globals_read(PGconn *conn, const PeerAddress *address,
						  const char *part, const Options *options,
						  const char *argv0);

/*
 * The same script from a file.  Owned.  Exits with a message if the file
 * cannot be read, is not a regular file, or is not complete.
 */
extern char *globals_read_file(const char *path);

/* The globals that a run dumps or restores: "roles, tablespaces". */
extern const char *globals_names(const Options *options);

/* ----------
 * Parsing the script.
 * ----------
 */

typedef struct GlobalsScript
{
	char	  **statements;		/* without comments before them; owned */
	int			n;
} GlobalsScript;

/*
 * Split a script in the form of pg_dumpall: statements end with a semicolon
 * outside quotes; the only lines between them that begin with a backslash are
 * \restrict and \unrestrict, which are left out.  Exits with a message if
 * there are others, or a quote is not closed.  Owned.
 */
extern GlobalsScript *globals_script_parse(const char *text);

/* Remove statements about tablespaces, for --no-tablespaces. */
extern void globals_script_drop_tablespaces(GlobalsScript *script);

/*
 * Does the statement begin with these words?  Returns the text after them and
 * a space, or NULL.
 */
extern const char *globals_script_after(const char *statement,
										const char *words);

/*
 * The name in an identifier at *pos, owned; advances *pos beyond it.  NULL if
 * there is none.
 */
extern char *globals_script_name(const char **pos);

/* ----------
 * Running the script.
 *
 * This does not use psql, whose commands could run any program.
 * ----------
 */

typedef struct GlobalsApply
{
	PGconn	   *conn;			/* session on the target; may be another one
								 * for globals_apply_rest() */
	bool		exit_on_error;
	int			n_errors;		/* errors that were reported and ignored */
	char	  **kept;			/* statements kept for the end, and settings
								 * before them */
	int			n_kept;
} GlobalsApply;

/*
 * Run the statements in order.  An existing object is not an error: a role
 * gets the attributes in the script, a tablespace stays as it is.  Statements
 * about the role that connects are kept for globals_apply_rest(), because
 * they may change its password.
 */
extern void globals_apply(GlobalsApply *apply, const GlobalsScript *script);

/* Run the remaining statements, when no further connections are needed. */
extern void globals_apply_rest(GlobalsApply *apply);

/* ----------
 * --roles: creates the roles that a database needs on a copy's target.
 * ----------
 */

/*
 * Create the roles that the source's database needs and the target lacks:
 * owners, roles with privileges, policies, user mappings or settings there,
 * and all roles of which these are members; with attributes, passwords,
 * settings and memberships, as stock pg_dumpall writes them.  Existing roles
 * are not changed.  Exits with a message on failure.
 */
extern void role_copy(const Options *options, const char *argv0);

#endif							/* GLOBALS_H */
