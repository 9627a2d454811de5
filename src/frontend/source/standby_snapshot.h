/*
 * standby_snapshot.h
 *		One snapshot on several standbys.
 *
 * What a standby's snapshot sees is decided by how far the log is replayed.
 * While replay is paused on all of them at the same place, by streams that
 * went on up to there, they have the same rows, in the same blocks; so have
 * snapshots that are taken then, and exported, for as long as they live.  A
 * tenth of a second is enough: rows are read after replay has resumed.
 *
 * Where replay stops is a matter of chance: if the places differ it is
 * resumed at once, and after a moment another try is made, for a minute.
 * Places are the same most of the time where the standbys have caught up, and
 * the primary writes in bursts, as it does when transactions commit.
 *
 * Snapshots that lack running transactions (standby_overflow.h) are of no
 * use.  Before each pause snapshots are taken without one, until none of them
 * lacks any; those of the pause are checked when it is over.  So the run
 * never waits while replay is paused.  If transactions overflow just then
 * there is another pause, at most a few of them.
 *
 * Replay that another user has paused stays so: a standby that is paused at
 * the place of the others, or with them, is as good as one that was paused
 * here.
 */
#ifndef STANDBY_SNAPSHOT_H
#define STANDBY_SNAPSHOT_H

#include "source/standby.h"

/*
 * Begin transactions in the first sessions of all, with one snapshot, and
 * export it.  Exits with a message if the timelines differ, if a standby that
 * someone has paused is elsewhere, or if there is no such moment.
 */
extern void standby_snapshot_take(Standbys *standbys,
								  ServerExtension *extension);

#endif							/* STANDBY_SNAPSHOT_H */
