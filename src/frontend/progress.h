/*
 * progress.h
 *		--progress: a line about how far a dump is.
 *
 * On a terminal the line is written over the one before, once a second;
 * elsewhere a new line is written every ten seconds.  It is drawn from the
 * plan and from the workers' results in shared memory; nobody is asked.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include "dump_context.h"

typedef struct Progress Progress;

/* NULL if no progress is to be shown, which the other functions pass over. */
extern Progress *progress_new(const DumpContext *context);

/* To be called often: shows the line when it is time. */
extern void progress_tick(Progress *progress);

/* All jobs are done: shows the last line, of 100 percent. */
extern void progress_end(Progress *progress);

#endif							/* PROGRESS_H */
