/*
 * analyze.h
 *		Runs ANALYZE on the target's tables after a copy or restore has loaded
 *		all rows.
 */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "load/target.h"

/*
 * ANALYZE all tables that were loaded, the partitioned tables above them, and
 * the materialized views of the TOC, largest first, in parallel.
 */
extern void analyze_target(const Target *target, const DumpTables *tables,
						   const Toc *toc);

#endif							/* ANALYZE_H */
