/*
 * globals.h
 *		Roles, tablespaces and other objects that the databases of a cluster
 *		share.
 */
#ifndef GLOBALS_H
#define GLOBALS_H

#include "session/connection.h"

/* ----------
 * What the databases of a cluster share, as a script.
 * ----------
 */

/*
 * The script of stock pg_dumpall, which connects to the same database as the
 * session; part is one of stock_pg_dump.h.  Passwords may be in it.
 * Owned.  Exits with a message on failure.
 */
extern char *globals_read(PGconn *conn, const PeerAddress *address,
						  const char *part, const Options *options,
						  const char *argv0);

/* ----------
 * The script of pg_dumpall --globals-only, statement by statement.
 * ----------
 */

typedef struct GlobalsScript
{
	char	  **statements;		/* without comments before them; owned */
	int			n;
} GlobalsScript;

/*
 * Take a script apart, as pg_dumpall writes it: statements end in a semicolon
 * outside of quotes; lines that begin with a backslash between them are
 * \restrict and \unrestrict, which are left out.  Exits with a message if
 * there are others, or something is not closed.  Owned.
 */
extern GlobalsScript *globals_script_parse(const char *text);

/* Take statements about tablespaces out of it, as --no-tablespaces wants. */
extern void globals_script_drop_tablespaces(GlobalsScript *script);

/*
 * Does the statement begin with these words?  Returns what follows them and a
 * blank, or NULL.
 */
extern const char *globals_script_after(const char *statement,
										const char *words);

/*
 * The name that an identifier at *pos stands for, owned; *pos is moved behind
 * it.  NULL if there is none.
 */
extern char *globals_script_name(const char **pos);

/* ----------
 * Runs what pg_dumpall --globals-only has written, in a session.
 *
 * No psql is needed for that, nor wanted: of its commands, which could be any
 * program's, none is run.
 * ----------
 */

typedef struct GlobalsApply
{
	PGconn	   *conn;			/* of the target; may be another one for the
								 * rest */
	bool		exit_on_error;
	int			n_errors;		/* told, and passed over */
	char	  **kept;			/* statements that are left for the end, and
								 * settings before them */
	int			n_kept;
} GlobalsApply;

/*
 * Run the statements, in their order.  It is not an error if an object is
 * there already: a role then gets the attributes that the script gives it, a
 * tablespace stays as it is.  Those about the role that connects are kept for
 * globals_apply_rest(), as its password may be another one then.
 */
extern void globals_apply(GlobalsApply *apply, const GlobalsScript *script);

/* Run the rest, when no connection is to be made any more. */
extern void globals_apply_rest(GlobalsApply *apply);

/* ----------
 * --roles: makes the roles that a database needs on a copy's target.
 * ----------
 */

/*
 * Make the roles that the source's database needs and the target has not:
 * owners, those with privileges, policies, user mappings or settings there,
 * and all that these are members of, with attributes, passwords, settings and
 * memberships, as stock pg_dumpall writes them.  Those that are there stay as
 * they are.  Exits with a message on failure.
 */
extern void role_copy(const Options *options, const char *argv0);

#endif							/* GLOBALS_H */
