/*
 * source_check.h
 *		Looks for what would end a run while it reads, when its plan is made.
 */
#ifndef SOURCE_CHECK_H
#define SOURCE_CHECK_H

#include "plan/dump_plan.h"

/*
 * Tell of what the plan has and the role may not read, in the leader's
 * session: errors that findings_settle() then ends the run for.  What pg_dump
 * locks it may read; so these are tables to which row security applies, and
 * large objects.  Also of tables whose queries might run what others wrote.
 * And warn if the workers may find the server's lock table full.
 */
extern void source_check(PGconn *conn, const Options *options,
						 const DumpPlan *plan);

/*
 * pg_dump has failed, which an error has told.  It stops at the first table
 * that the role may not read: add the others, and what to grant, to the
 * message.
 */
extern void source_check_privileges(PGconn *conn);

#endif							/* SOURCE_CHECK_H */
