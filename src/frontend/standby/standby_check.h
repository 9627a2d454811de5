/*
 * standby_check.h
 *		Can these servers be read as one?
 *
 * Errors are for findings_settle() to end the run.
 */
#ifndef STANDBY_CHECK_H
#define STANDBY_CHECK_H

#include "plan/server_extension.h"
#include "standby/standby.h"

/*
 * Before there is a snapshot: all must be hot standbys, from 14 on, of one
 * cluster, none of them twice; with the same database and roles, and settings
 * by which the same values are written alike; whose replay the user may
 * pause, and that the primary does not wait for, as far as can be seen
 * (--pause-synchronous).
 */
extern void standby_check(const Standbys *standbys);

/*
 * The extension, if it can be used on the first, is judged there as well, and
 * exits with a message if it cannot.  Before the snapshots.
 */
extern void standby_check_extension(const Standbys *standbys,
									const ServerExtension *extension);

/*
 * With them: keep it on each, and make sure that its library is there, too,
 * which is not a part of what a standby replays.
 */
extern void standby_hold_extension(const Standbys *standbys,
								   const ServerExtension *extension,
								   int wait_ms);

/*
 * The last part of that, by itself: the transaction of the standby's session
 * holds the extension.
 */
extern void standby_check_library(const Standby *standby);

#endif							/* STANDBY_CHECK_H */
