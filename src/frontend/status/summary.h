/*
 * summary.h
 *		What a dump came to, at its end.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "status/run.h"

/* What is the previous archive's, of the files of rows. */
typedef struct ReusedFiles
{
	int			files;
	uint64		stored_bytes;
} ReusedFiles;

extern ReusedFiles summary_count_reused(const Run *run);

/*
 * Tell it on standard error if asked to (show), and in the event log: also
 * how long the program has been running.
 */
extern void summary_tell(const Run *run, bool show);

/*
 * Which table took the workers the most time, and how much had to be retried.
 */
extern void summary_print_slowest(const Run *run, FILE *stream);

/* How many columns of how many tables were masked, if any. */
extern void summary_print_masks(const Run *run, FILE *stream);

#endif							/* SUMMARY_H */
