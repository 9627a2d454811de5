/*
 * globals_script.h
 *		The script of pg_dumpall --globals-only, statement by statement.
 */
#ifndef GLOBALS_SCRIPT_H
#define GLOBALS_SCRIPT_H

#include "base/fe_compat.h"

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

#endif							/* GLOBALS_SCRIPT_H */
