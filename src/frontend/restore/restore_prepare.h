/*
 * restore_prepare.h
 *		All on the target that rows need.
 */
#ifndef RESTORE_PREPARE_H
#define RESTORE_PREPARE_H

#include "restore/restore_resume.h"

/* ----------
 * What is restored, in which pieces; and what is made on the target,
 * when.
 * ----------
 */

/*
 * Read the archive, and what follows from it and the options.  What stock
 * pg_restore alone can do is left to it, and then this does not return.
 */
extern void restore_plan_make(Restore *restore);

/*
 * Stock pg_restore, this program, does it all, in place of this process;
 * without a reason if users expect that anyway.
 */
extern void restore_plan_leave_to_stock(const char *program,
										const Options *options,
										const char *reason);

/*
 * Connect to the target, and look at it before anything is made there.  What
 * it lacks is an error among others to pg_restore, and so no reason to end,
 * unless the first error is.
 */
extern void restore_prepare_open(Restore *restore);

/*
 * Make the database, if that is asked for, and what comes before the rows; or
 * what of that a run before has not done.  Which rows it has loaded is known
 * then.
 */
extern void restore_prepare_target(Restore *restore);

#endif							/* RESTORE_PREPARE_H */
