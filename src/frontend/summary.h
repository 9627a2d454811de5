/*
 * summary.h
 *		What a dump came to, at its end.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "dump_worker.h"

/*
 * Tell it on standard error if asked to (show), and in the event log.  It took
 * so many seconds in all; retries is the number of jobs begun again.
 */
extern void summary_tell(const DumpContext *context, double seconds,
						 int retries, bool show);

#endif							/* SUMMARY_H */
