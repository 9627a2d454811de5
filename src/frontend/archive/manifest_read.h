/*
 * manifest_read.h
 *		Reads a manifest, which may be damaged, or made to deceive.
 */
#ifndef MANIFEST_READ_H
#define MANIFEST_READ_H

#include "archive/manifest.h"

/*
 * Read one from memory, which a zero byte follows; NULL, and *problem, if it
 * is not a manifest, or not as it was written.  The checksum of the manifest
 * itself is checked first.  Nothing is believed: paths are plain file names,
 * numbers in range.
 */
extern Manifest *manifest_read(const char *text, size_t len,
							   const char **problem);

#endif							/* MANIFEST_READ_H */
