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
 * If a pattern is to be matched by tables, or schemas, and none here is, have
 * pg_dump choose none, without an error.
 */
extern void compare_selection_fit(PGconn *conn, Options *options);

/*
 * By entry of an archive's table of contents: rows of a table and positions
 * of a sequence, are they of what the options choose?  Patterns are matched
 * by the database's server, in whose search path tables are looked for that
 * are named without a schema.  NULL if the options leave nothing out; none if
 * a file has the patterns, which is pg_dump's to read.  A child's own name
 * counts for options that name its parent.  Owned.
 */
extern bool *compare_selection_of_toc(PGconn *conn, const Options *options,
									  const Toc *toc);

/* Do the options leave out anything? */
extern bool compare_selection_is_given(const Options *options);

/* Would large objects be dumped, if there were any? */
extern bool compare_selection_has_objects(const Options *options);

#endif							/* COMPARE_SELECTION_H */
