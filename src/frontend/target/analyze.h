/*
 * analyze.h
 *		Statistics for the planner, after a direct copy.
 */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "copy/copy_worker.h"

/*
 * ANALYZE all tables that were copied, the partitioned tables that they are
 * part of, and the materialized views of the TOC, largest first, in parallel.
 */
extern void copy_analyze(const CopyContext *context, PGconn *target,
						 const Toc *toc);

#endif							/* ANALYZE_H */
