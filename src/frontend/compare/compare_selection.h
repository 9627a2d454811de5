/*
 * compare_selection.h
 *		Applies pg_dump's options that select tables to an archive, or to
 *		tables that a database lacks.
 *
 * For a database, pg_dump applies the options.  But an archive may contain
 * more tables than were selected; and if no table matches, pg_dump fails,
 * although tables of the other side may match.
 */
#ifndef COMPARE_SELECTION_H
#define COMPARE_SELECTION_H

#include "libpq-fe.h"

#include "archive/toc.h"
#include "options/options.h"

/*
 * If patterns for tables or schemas match nothing in this database, change
 * the options so that pg_dump selects nothing, without an error.
 */
extern void compare_selection_fit(PGconn *conn, Options *options);

/*
 * By entry of an archive's table of contents: do the options select the rows
 * of a table, or the position of a sequence?  The database's server matches
 * the patterns, and uses its search path for tables that are named without a
 * schema.  NULL if the options exclude nothing; selects nothing if a file
 * contains the patterns, which only pg_dump reads.  For options that name a
 * table and its children, only a child's own name counts.  Owned.
 */
extern bool *compare_selection_of_toc(PGconn *conn, const Options *options,
									  const Toc *toc);

/* Do the options exclude anything? */
extern bool compare_selection_is_given(const Options *options);

/* Would large objects be dumped, if there were any? */
extern bool compare_selection_has_objects(const Options *options);

#endif							/* COMPARE_SELECTION_H */
