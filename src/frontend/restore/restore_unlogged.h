/*
 * restore_unlogged.h
 *		Tables and sequences of the target that a crash empties.
 *
 * The log of the restore tells whether the server has crashed (job_log.h).  A
 * crash ends all sessions, and each new worker looks.  So no row is loaded
 * into an unlogged table after a crash, and --resume loads these tables as if
 * they had not been begun.
 */
#ifndef RESTORE_UNLOGGED_H
#define RESTORE_UNLOGGED_H

#include "restore/restore_state.h"

/*
 * In the session's transaction, when the target has its tables, and before
 * rows are loaded: note which of the tables are unlogged.
 */
extern void restore_unlogged_note(const RestoreWork *work, PGconn *conn);

/*
 * A run before has noted that: if the server has crashed since, remove the
 * lines of these tables, and of what is made of their rows, from the log.
 * Exits with a message if that cannot be, or if rows would be loaded again
 * where triggers are by now.
 */
extern void restore_unlogged_resume(Restore *restore);

/*
 * Exits with a message if the target has crashed, and has unlogged tables or,
 * at the end, sequences.  A check_crash() of JobLog, with a RestoreWork; and
 * in the leader after the rows, with sessions renewed.
 */
extern void restore_unlogged_check(const void *work, PGconn *conn,
								   bool at_end);

#endif							/* RESTORE_UNLOGGED_H */
