/*
 * expression_check.h
 *		Has the server look at what a user wrote in SQL.
 */
#ifndef EXPRESSION_CHECK_H
#define EXPRESSION_CHECK_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/*
 * Have the server parse a statement that must have no parameters, and do no
 * more with it.  Exits with a message that begins with the problem, which may
 * have several lines of detail but no newline at its end, if it does not.
 * mismatch, if it is not NULL, is the detail where types do not fit, in place
 * of the server's words.  If the session is lost, that is what is told.
 */
extern void expression_check(PGconn *conn, const char *sql,
							 const char *problem, const char *mismatch);

#endif							/* EXPRESSION_CHECK_H */
