/*
 * summary.h
 *		What a dump came to, at its end.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "plan/dump_context.h"

/*
 * Tell it on standard error if asked to (show), and in the event log: also
 * how long the program has been running.
 */
extern void summary_tell(const DumpContext *context, bool show);

/*
 * Which table took the workers the most time, and how much had to be retried.
 */
extern void summary_print_slowest(const DumpContext *context, FILE *stream);

#endif							/* SUMMARY_H */
