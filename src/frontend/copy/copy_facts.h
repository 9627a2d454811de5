/*
 * copy_facts.h
 *		Asks both servers what decides about the format of a table.
 */
#ifndef COPY_FACTS_H
#define COPY_FACTS_H

#include "base/fe_compat.h"

#include "libpq-fe.h"

/* What a server, 14 or newer, says of a table.  The texts are never freed. */
typedef struct CopyFacts
{
	const char *columns;		/* that COPY sends, with what their types are
								 * made of; NULL = none */
	const char *unsafe_column;	/* whose binary form may mean something else
								 * on another server, in words; NULL = none */
	const char *layout;			/* all columns in their order, with types and
								 * modifiers; NULL = none */
	bool		is_plain;		/* nothing keeps the library from doing COPY
								 * FROM (doc/extension.md) */
} CopyFacts;

/* Of n tables, in the order of this array literal of their OIDs there. */
extern CopyFacts *copy_facts_read(PGconn *conn, const char *oids, int n);

/*
 * Do columns of the same names have types made of the same on both sides?
 * And in the same order, and with the same modifiers?
 */
extern bool copy_facts_same_columns(const CopyFacts *a, const CopyFacts *b);
extern bool copy_facts_same_layout(const CopyFacts *a, const CopyFacts *b);

#endif							/* COPY_FACTS_H */
