/*
 * progress_rows.h
 *		The stage of a dump, or of a copy, in which workers read rows.
 */
#ifndef PROGRESS_ROWS_H
#define PROGRESS_ROWS_H

#include "plan/dump_context.h"

/* Something that goes on meanwhile: its name, how many are done, and all. */
typedef struct ProgressBeside
{
	const char *what;			/* "indexes " */
	const volatile int *done;
	int			total;
} ProgressBeside;

/*
 * The stage begins (see progress.h).  The context must be complete but for
 * what the workers tell; its beside may be NULL.
 */
extern void progress_rows_begin(const DumpContext *context);

#endif							/* PROGRESS_ROWS_H */
