/*
 * verify_file.h
 *		One file of an archive: is it what it should be?
 */
#ifndef VERIFY_FILE_H
#define VERIFY_FILE_H

#include "verify/verify_finding.h"

/*
 * Read the whole file, decompress it as its suffix says, and compare it with
 * what is wanted.  All that is wrong with it is one finding, which is logged
 * as an error, and counted; the rest is added to *counts.  Memory: a
 * decompressor's.
 */
extern void verify_file(const char *directory, const VerifyFile *file,
						pg_checksum_type checksum_type, VerifyCounts *counts);

/*
 * Open a regular file, and nothing else, for reading: -1, and a finding, if
 * that fails.
 */
extern int	verify_file_open(const char *directory, const VerifyFile *file,
							 VerifyCounts *counts);

#endif							/* VERIFY_FILE_H */
