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
 * Make all that comes before the rows, large objects last, still empty, one
 * after the other.  Errors are told and counted; with --exit-on-error the
 * first one ends the process.  When it returns all is on the target's disk,
 * and the leader's session is a new one.
 */
extern void definitions_make(RestoreStages *stages, const RestoreJournal *journal);

/*
 * The same with foreign keys, triggers, privileges, and all else that comes
 * after them and is not built beside them (index_builder.h), side by side.
 */
extern void definitions_make_rest(RestoreStages *stages, const RestoreJournal *journal);

/*
 * Make event triggers, with their comments and labels, after all else; and
 * remove the log, and free it, in the same transaction: an event trigger must
 * not see that, and what is left after a kill is either the log or a complete
 * database.  An error undoes only its own statement, as in pg_restore, and
 * with --exit-on-error all.  Without a log, which is NULL or not kept, they
 * are made as all else.
 */
extern void definitions_make_event_triggers(RestoreStages *stages, RestoreJournal *journal);

#endif							/* DEFINITIONS_H */
