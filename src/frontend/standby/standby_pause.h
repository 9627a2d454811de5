/*
 * standby_pause.h
 *		Pauses the replay of a standby so that it resumes by itself.
 *
 * A pause lasts until someone resumes replay: who is killed in it, or whose
 * network is cut, would leave the standby paused for ever.  So one statement
 * does all of it, in a session of its own: it pauses, waits, and resumes, and
 * the server carries it out to its end even if the client dies.  It waits for
 * an advisory lock that the first session there has, for some seconds at
 * most: when that session gives up the lock, or ends, replay resumes.
 */
#ifndef STANDBY_PAUSE_H
#define STANDBY_PAUSE_H

#include "standby/standby.h"

/* The longest pause, if it is not ended before. */
#define STANDBY_PAUSE_MS 5000

typedef struct StandbyPause StandbyPause;

/*
 * Connect for it.  From now on the end of a run that fails is that of its
 * pause, too.  The newest one is freed first.
 */
extern StandbyPause *standby_pause_new(const Standby *standby);
extern void standby_pause_free(StandbyPause *pause);

/*
 * Ask for a pause, which comes soon (pg_get_wal_replay_pause_state()).  The
 * standby must not be paused.
 */
extern void standby_pause_begin(StandbyPause *pause);

/*
 * End the pause that was begun, and wait for that; otherwise do nothing.
 * Exits with a message if it failed, having resumed replay in another way.
 * If another user has ended it before, that is not a failure: then nothing
 * was done.
 */
extern void standby_pause_end(StandbyPause *pause);

/*
 * Part of a query: whether another run's session has a pause of this kind
 * there, in any database.
 */
extern const char standby_pause_by_other[];

#endif							/* STANDBY_PAUSE_H */
