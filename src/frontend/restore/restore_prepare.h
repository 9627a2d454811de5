/*
 * restore_prepare.h
 *		All on the target that rows need.
 */
#ifndef RESTORE_PREPARE_H
#define RESTORE_PREPARE_H

#include "restore/restore_state.h"

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
