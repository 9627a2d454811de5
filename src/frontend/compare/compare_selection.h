/*
 * compare_selection.h
 *		What pg_dump's options choose, of what a database does not have.
 *
 * Of a database pg_dump says what they choose, but an archive may have more
 * than was asked for; and where nothing matches pg_dump fails, though the
 * other side may have what does.
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
