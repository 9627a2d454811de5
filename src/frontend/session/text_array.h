/*
 * text_array.h
 *		Texts, or OIDs, as the value of a parameter.
 */
#ifndef TEXT_ARRAY_H
#define TEXT_ARRAY_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* An array literal of them, in the session's client encoding; owned. */
extern char *text_array(PGconn *conn, char *const *texts, int n);

/* The same of OIDs. */
extern char *oid_array(const Oid *oids, int n);

#endif							/* TEXT_ARRAY_H */
