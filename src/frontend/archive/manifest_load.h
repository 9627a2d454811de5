/*
 * manifest_load.h
 *		Finds an archive's manifest and reads it.
 */
#ifndef MANIFEST_LOAD_H
#define MANIFEST_LOAD_H

#include "archive/manifest.h"

/*
 * Read that of an archive.  NULL if there is none, or, *exists being true, if
 * it is damaged, as *problem says.
 */
extern Manifest *manifest_load(const char *directory, bool *exists,
							   const char **problem);

#endif							/* MANIFEST_LOAD_H */
