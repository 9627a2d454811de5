/*
 * pipe_places.h
 *		Finds commands that would store the files of an archive in place of
 *		those of another one.
 */
#ifndef PIPE_PLACES_H
#define PIPE_PLACES_H

#include "options/options.h"

/*
 * Does a command store files in the place from which another one, or the
 * same one, reads them?  The signs, such as 'f' for %f, stand for the name of
 * a file in them.  Returns the place, with %f for the name, owned; NULL if
 * both places differ, or if a place is not known.
 */
extern char *pipe_places_same(const char *read, char read_sign,
							  const char *written, char written_sign);

/*
 * Exits with a message if the commands of --pipe or --pipe-copy would replace
 * files of the previous archive.
 */
extern void pipe_places_check(const Options *options);

#endif							/* PIPE_PLACES_H */
