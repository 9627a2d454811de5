/*-------------------------------------------------------------------------
 *
 * load_copy.h
 *	  COPY ... FROM STDIN in text format, done faster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_LOAD_COPY_H
#define PARDUMP_LOAD_COPY_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "utils/relcache.h"

/*
 * Do a COPY that load_check.h has found to be one of ours: check permissions,
 * ask the client for the data and insert it, or let the server do that, if a
 * reason is found now.  The relation is open and locked (ROW EXCLUSIVE).
 * Returns how many rows were inserted.  Errors are those of COPY, with its
 * context.
 */
extern uint64 load_copy(ParseState *pstate, Relation rel,
						const CopyStmt *statement);

#endif							/* PARDUMP_LOAD_COPY_H */
