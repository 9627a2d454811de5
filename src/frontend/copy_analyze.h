/*
 * copy_analyze.h
 *		Statistics for the planner, after a direct copy.
 */
#ifndef COPY_ANALYZE_H
#define COPY_ANALYZE_H

#include "copy_worker.h"

/* ANALYZE all tables that were copied, largest first, in parallel. */
extern void copy_analyze(const CopyContext *context);

#endif							/* COPY_ANALYZE_H */
