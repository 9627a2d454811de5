/*
 * globals_apply.h
 *		Runs what pg_dumpall --globals-only has written, in a session.
 *
 * No psql is needed for that, nor wanted: of its commands, which could be any
 * program's, none is run.
 */
#ifndef GLOBALS_APPLY_H
#define GLOBALS_APPLY_H

#include "libpq-fe.h"

#include "globals/globals_script.h"

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

#endif							/* GLOBALS_APPLY_H */
