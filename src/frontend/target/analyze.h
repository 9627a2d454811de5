/*
 * analyze.h
 *		Statistics for the planner, when a target has all its rows.
 */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "plan/dump_table.h"

/* All is borrowed. */
typedef struct AnalyzePlan
{
	const Options *options;
	const char *encoding;		/* of all names */
	const PeerAddress *target;
	const DumpTables *tables;	/* that were loaded */
	const Toc  *toc;
} AnalyzePlan;

/*
 * ANALYZE all tables that were loaded, the partitioned tables that they are
 * part of, and the materialized views of the TOC, largest first, in parallel.
 * conn is a session on the target, set up.
 */
extern void analyze_target(const AnalyzePlan *plan, PGconn *conn);

#endif							/* ANALYZE_H */
