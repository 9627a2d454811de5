/*
 * publication.h
 *		The publications that --publication names.
 */
#ifndef PUBLICATION_H
#define PUBLICATION_H

#include "options/options.h"

/*
 * Their names: of every option --publication, split at commas.  The array and
 * its names are the caller's.
 */
extern char **publication_names(const Options *options, int *n_names);

/* The same as the text of an SQL array; owned. */
extern char *publication_array(const Options *options);

#endif							/* PUBLICATION_H */
