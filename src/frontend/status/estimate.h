/*
 * estimate.h
 *		Estimates how long the rest of a run takes, from the time that its
 *		work has taken so far.
 *
 * Work consists of kinds, for example the rows of one table, and is counted
 * in units, for example bytes.  The remaining units of a kind are expected to
 * cost what the finished ones of this kind have cost.  While only few are
 * finished, the expected cost is that of the kind's parent.
 *
 * Kinds belong to two pools of workers.  The second pool works at the same
 * time as the first, but some of its jobs wait until all work of a kind is
 * done, as index builds wait for the rows of their table.
 *
 * If both pools use the same processors and disks, each worker becomes slower
 * while workers of the other pool are busy.  So the machine is expected to do
 * as much work at a time as until now; and before both pools have worked at
 * the same time, as much as the workers of the larger pool do.
 *
 * The caller measures the time; nothing here reads a clock, so unit tests do
 * not depend on it.
 */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#define ESTIMATE_POOLS 2

#define ESTIMATE_NO_KIND (-1)

typedef struct EstimateKind
{
	int			pool;
	int			parent;			/* has a lower number; or ESTIMATE_NO_KIND */
	double		factor;			/* how many units of the parent are likely to
								 * cost as much as one of this kind */
	double		prior;			/* expected seconds for a unit before any is
								 * done, or a multiple of the cost of a unit
								 * of kind "relative_to"; 0 = unknown */
	int			relative_to;	/* or ESTIMATE_NO_KIND */
	bool		exclusive;		/* its jobs also wait for earlier jobs that
								 * wait for the same kind */
	double		done;			/* units, with those of its children */
	double		seconds;		/* time that workers needed for them */
	double		left;			/* units, with those of its children */
	double		cost;			/* seconds per unit (estimate_seconds()) */
	double		end;			/* when all will be done, also from there */
	double		jobs_end;		/* the same, of jobs that wait for this one */
} EstimateKind;

/* A remaining job of one worker. */
typedef struct EstimateJob
{
	int			no;				/* in the order of estimate_add_left() */
	int			kind;
	double		units;
	int			after;			/* a kind of pool 0 for which it waits, or
								 * ESTIMATE_NO_KIND */
	double		ready;			/* when it need not wait any more */
} EstimateJob;

typedef struct Estimate
{
	EstimateKind *kinds;
	int			n_kinds;
	EstimateJob *jobs;			/* remaining ones */
	int			n_jobs;
	int			workers[ESTIMATE_POOLS];
	double		elapsed;		/* seconds since the begin of the work */
} Estimate;

/*
 * Make an estimate; owned.  All kinds are in pool 0, and have no parent, no
 * prior, and the factor 1.
 */
extern Estimate *estimate_new(int n_kinds);

/* Remove all work that was added. */
extern void estimate_clear(Estimate *estimate);

/* Add finished work of a kind, and the time that a worker needed for it. */
extern void estimate_add_done(Estimate *estimate, int kind, double units,
							  double seconds);

/*
 * Add remaining work of a kind.  A worker of its pool will do it after the
 * work that was added before, and, unless "after" is ESTIMATE_NO_KIND, after
 * all work of that kind.
 */
extern void estimate_add_left(Estimate *estimate, int kind, double units,
							  int after);

/* The seconds until all work is done; -1 if nothing is known yet. */
extern double estimate_seconds(Estimate *estimate);

#endif							/* ESTIMATE_H */
