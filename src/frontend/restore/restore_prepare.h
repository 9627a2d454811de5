/*
 * restore_prepare.h
 *		Plans a restore, and brings the target into the state in which workers
 *		can load rows.
 *
 * restore.c calls restore_plan_make(), restore_prepare_open() and
 * restore_prepare_target(), in this order.  Only the last one changes the
 * target, so --check ends before it.
 */
#ifndef RESTORE_PREPARE_H
#define RESTORE_PREPARE_H

#include "restore/restore_resume.h"

/* ----------
 * The plan of the restore, and the definitions that rows need.
 * ----------
 */

/*
 * Read the archive, and make the plan from its contents and the options.  If
 * only stock pg_restore can restore the archive, pg_restore replaces this
 * process, and the function does not return.
 */
extern void restore_plan_make(Restore *restore);

/*
 * Replace this process by stock pg_restore, whose path is in program.  The
 * reason is part of a warning.  It is "" if users expect pg_restore to do the
 * work, and then there is no warning.
 */
extern void restore_plan_leave_to_stock(const char *program,
										const Options *options,
										const char *reason);

/*
 * Connect to the target, and check it before anything is created.  Objects
 * and rows that must not exist are always refused.  Missing roles,
 * tablespaces and other objects are only reported with --check or
 * --exit-on-error, because without these options pg_restore continues after a
 * failed statement, and so does this program.
 */
extern void restore_prepare_open(Restore *restore);

/*
 * With --create, create the database.  Then create the definitions that rows
 * need, unless an earlier run has created them.  Afterwards the plan does not
 * contain the rows that earlier runs have loaded.
 */
extern void restore_prepare_target(Restore *restore);

#endif							/* RESTORE_PREPARE_H */
