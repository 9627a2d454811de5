/*
 * restore_plan.h
 *		What is restored, in which pieces; and what is made on the target,
 *		when.
 */
#ifndef RESTORE_PLAN_H
#define RESTORE_PLAN_H

#include "restore/restore_state.h"

/*
 * Read the archive, and what follows from it and the options.  What stock
 * pg_restore alone can do is left to it, and then this does not return.
 */
extern void restore_plan_make(Restore *restore);

/*
 * Stock pg_restore, this program, does it all, in place of this process;
 * without a reason as nobody expects else.
 */
extern void restore_plan_leave_to_stock(const char *program,
										const Options *options,
										const char *reason);

#endif							/* RESTORE_PLAN_H */
