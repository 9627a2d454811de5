/*
 * worker_slots.h
 *		One budget of workers for several runs at a time.
 *
 * A slot is a byte of a file, and who has locked it has the slot.  The lock
 * is the open file's (F_OFD_SETLK in fcntl(2)): the leader of a run takes it,
 * the worker that it forks inherits it, the leader closes its own, and when
 * the worker has ended, in any way, the slot is free.  It need not be given
 * back.  The file has no name (memfd_create(2)), so that no cleaner of
 * directories can remove it while a run takes days, and nothing is left of
 * it.
 *
 * Runs are numbered in the order in which they begin.  Each begins with a
 * slot, which is its first worker's, so that all of them finish however few
 * slots there are; of more than that the first that wants one gets it.
 * Without worker_slots_make() there is no limit.
 *
 * What pg_restore builds on a target beside and after the workers, indexes
 * and foreign keys, has a budget of its own, which is shared in the same way.
 */
#ifndef WORKER_SLOTS_H
#define WORKER_SLOTS_H

/*
 * In the process that starts the runs: make the slots, and those of builds,
 * for runs 0 to n_runs - 1.
 */
extern void worker_slots_make(int n_slots, int n_builds, int n_runs);

/* In that process: all runs have ended, there is no limit any more. */
extern void worker_slots_end(void);

/*
 * In that process: a slot for this run, which is to begin, as a descriptor
 * for worker_slots_enter(); -1 if none is free, or another run wants it.
 * will_want: it is going to want more, and none begins until it has told.
 */
extern int	worker_slots_begin_run(int run, bool will_want);

/* In that process: no run is left to begin; or this one has ended. */
extern void worker_slots_all_begun(void);
extern void worker_slots_end_run(int run);

/* In the process that was forked for the run: its leader.  Takes fd over. */
extern void worker_slots_enter(int run, int fd);

/* Is this process a leader of that kind? */
extern bool worker_slots_are_used(void);

/*
 * In the leader: a slot for one more worker, as a descriptor to be closed
 * when that has been forked; -1 if there is none now.
 */
extern int	worker_slots_take(void);

/*
 * In a process that the leader has forked for something else, before its
 * first worker: that process must not hold the slot that it only inherits.
 */
extern void worker_slots_forget(void);

/*
 * In the leader, or a process that it has forked: a slot for one more build,
 * as a descriptor to be closed when that has ended; -1 if there is none now.
 */
extern int	worker_slots_take_build(void);

/*
 * In the leader: as many of them as are free, up to n, after a wait for the
 * first; returns how many, which is n if there is no limit.
 */
extern int	worker_slots_begin_builds(int n);
extern void worker_slots_end_builds(void);

/* In the leader: does it want more slots than it has? */
extern void worker_slots_want(bool wanted);

/* In the leader: is there anybody else who wants one? */
extern bool worker_slots_are_wanted(void);

#endif							/* WORKER_SLOTS_H */
