/*
 * publication.h
 *		The publications that --publication names.
 */
#ifndef PUBLICATION_H
#define PUBLICATION_H

#include "libpq-fe.h"

#include "options/options.h"

/*
 * Their names: of every option --publication, split at commas.  The array and
 * its names are the caller's.
 */
extern char **publication_names(const Options *options, int *n_names);

/* The same as the text of an SQL array, see text_array(); owned. */
extern char *publication_array(PGconn *conn, const Options *options);

/*
 * Exit with a message if a publication that the options name does not exist
 * on the source.  It must be there before the slot is: what it decodes, a
 * slot decodes by the catalogs of that time.
 */
extern void publication_check(PGconn *conn,
							  const Options *options);

#endif							/* PUBLICATION_H */
