/*
 * progress_rows.h
 *		The stage of a dump, or of a copy, in which workers read rows.
 */
#ifndef PROGRESS_ROWS_H
#define PROGRESS_ROWS_H

#include "status/run.h"

/*
 * The stage begins (see progress.h).  The run must be complete but for what
 * the workers tell.
 */
extern void progress_rows_begin(const Run *run);

#endif							/* PROGRESS_ROWS_H */
