/*
 * worker_slots.h
 *		Limits the number of workers of several concurrent runs together.
 *
 * With --all-databases, several runs are active at a time, and together they
 * must not have more than --jobs workers.  Each worker needs a slot.  A slot
 * is a byte of a file, and the process that has locked the byte has the slot.
 * The lock belongs to the open file (F_OFD_SETLK in fcntl(2)): the leader of
 * a run takes it, the worker that it forks inherits it, and the leader closes
 * its own descriptor.  When the worker has ended, in any way, the slot is
 * free.  The file has no name (memfd_create(2)), so no clean-up of
 * directories can remove it during a run of days, and it leaves nothing
 * behind.
 *
 * Runs are numbered in the order in which they begin.  Each run begins with a
 * slot for its first worker, so all runs can finish, even with few slots.
 * Other slots go to the first run that wants one.  Without
 * worker_slots_make() there is no limit.
 *
 * Builds of indexes and foreign keys on a target have slots of their own,
 * which are shared in the same way.
 */
#ifndef WORKER_SLOTS_H
#define WORKER_SLOTS_H

/*
 * In the parent of the runs: create slots for workers and for builds, for
 * runs 0 to n_runs - 1.
 */
extern void worker_slots_make(int n_slots, int n_builds, int n_runs);

/* In that process, after all runs have ended: there is no limit any more. */
extern void worker_slots_end(void);

/*
 * In that process: take a slot for a run that will begin, as a descriptor for
 * worker_slots_enter(); -1 if none is free, or another run wants it.
 * will_want is true if the run will want more slots; until it has said how
 * many, no other run begins.
 */
extern int	worker_slots_begin_run(int run, bool will_want);

/*
 * In that process: to be called when all runs have begun, and when a run has
 * ended.
 */
extern void worker_slots_all_begun(void);
extern void worker_slots_end_run(int run);

/* In the process that was forked for the run, its leader.  Takes over fd. */
extern void worker_slots_enter(int run, int fd);

/* Is this process such a leader? */
extern bool worker_slots_are_used(void);

/*
 * In the leader: take a slot for one more worker, as a descriptor that is
 * closed after the fork; -1 if none is free.
 */
extern int	worker_slots_take(void);

/*
 * In a process that the leader has forked for another purpose, before its
 * first worker: close the inherited slot, which belongs to the leader.
 */
extern void worker_slots_forget(void);

/*
 * In the leader, or a process that it has forked: take a slot for one more
 * build, as a descriptor that is closed after the build; -1 if none is free.
 */
extern int	worker_slots_take_build(void);

/*
 * In the leader: take as many slots for builds as are free, up to n, after
 * waiting for the first one.  Returns how many, which is n if there is no
 * limit.
 */
extern int	worker_slots_begin_builds(int n);
extern void worker_slots_end_builds(void);

/* In the leader: does it want more slots than it has? */
extern void worker_slots_want(bool wanted);

/* In the leader: does any other run want a slot? */
extern bool worker_slots_are_wanted(void);

#endif							/* WORKER_SLOTS_H */
