/*
 * analyze.h
 *		Statistics for the planner, when a target has all its rows.
 */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "load/target.h"

/*
 * ANALYZE all tables that were loaded, the partitioned tables that they are
 * part of, and the materialized views of the TOC, largest first, in parallel.
 */
extern void analyze_target(const Target *target, const DumpTables *tables,
						   const Toc *toc);

#endif							/* ANALYZE_H */
