/*
 * restore_resume.h
 *		What runs before have done of a restore.
 */
#ifndef RESTORE_RESUME_H
#define RESTORE_RESUME_H

#include "restore/restore_worker.h"
#include "target/restore_schedule.h"

/*
 * What decides what is restored, and in which pieces, of the entries with
 * these dump IDs; owned.
 */
extern char *restore_resume_selection(const Options *options, const int *ids,
									  int n_ids);

/*
 * A run before has done some of it, or left it out: then so does this one.
 * Exits with a message if a file that it has begun in pieces is to be loaded
 * as a whole.
 */
extern void restore_resume_skip(const RestoreWork *work);

/*
 * Indexes, and constraints that have one, which runs before have built: they
 * are left out of the schedule.
 */
extern void restore_resume_skip_indexes(const RestoreWork *work,
										RestoreSchedule *schedule);

/*
 * Note which rows --no-data-for-failed-tables leaves out, in the session's
 * transaction.
 */
extern void restore_resume_note_left_out(const RestoreWork *work,
										 PGconn *conn);

#endif							/* RESTORE_RESUME_H */
