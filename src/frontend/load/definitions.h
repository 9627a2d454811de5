/*
 * definitions.h
 *		Creates the definitions of an archive.
 *
 * Unlike with stock pg_restore, a lost session only costs a retry.  No
 * definition is created twice, not even with --resume.
 */
#ifndef DEFINITIONS_H
#define DEFINITIONS_H

#include "load/restore_journal.h"
#include "load/restore_stage.h"

/*
 * Create all definitions that come before the rows, and then empty large
 * objects, one after the other.  Errors are reported and counted; with
 * --exit-on-error the first one ends the process.  On return, everything is
 * on the target's disk, and the leader has a new session.
 */
extern void definitions_make(RestoreStages *stages, const RestoreJournal *journal);

/*
 * Create all other definitions that come after the rows, concurrently:
 * foreign keys, triggers, privileges and others, except indexes
 * (index_builder.h).  Errors are handled as above.
 */
extern void definitions_make_rest(RestoreStages *stages, const RestoreJournal *journal);

/*
 * Create event triggers, with their comments and labels, after everything
 * else.  The same transaction removes the journal, and frees it: an event
 * trigger must not fire for this, and after a kill there must be either a
 * journal or a complete database.  An error undoes only its own statement, as
 * in pg_restore, and with --exit-on-error everything.  Without a journal
 * (NULL or not kept), they are created like other definitions.
 */
extern void definitions_make_event_triggers(RestoreStages *stages, RestoreJournal *journal);

#endif							/* DEFINITIONS_H */
