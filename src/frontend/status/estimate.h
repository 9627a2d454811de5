/*
 * estimate.h
 *		How long the rest of a run takes, from what its work has taken so far.
 *
 * Work is of kinds, for example the rows of one table, and is counted in
 * units, for example bytes.  A unit of a kind costs what the units of that
 * kind have cost that are done; as long as few of them are done, it costs
 * what those of the kind's parent have cost.
 *
 * Kinds belong to two pools of workers.  The second pool works while the
 * first does, but some of its jobs wait until all work of a kind is done: as
 * index builds wait for the rows of their table.
 *
 * The caller has the clock: nothing here asks what time it is.
 */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#define ESTIMATE_POOLS 2

#define ESTIMATE_NO_KIND (-1)

typedef struct EstimateKind
{
	int			pool;
	int			parent;			/* of a lower number; or ESTIMATE_NO_KIND */
	double		factor;			/* units of the parent that one is likely to
								 * cost as much as */
	double		prior;			/* seconds that a unit costs as far as is
								 * known beforehand, in those of a unit of
								 * kind 0 if "relative"; 0 = unknown */
	bool		relative;
	double		done;			/* units, with those of its children */
	double		seconds;		/* that workers took for them */
	double		left;			/* units, with those of its children */
	double		cost;			/* seconds a unit; by estimate_seconds() */
	double		end;			/* when what is left will be done; the same */
} EstimateKind;

/* What one worker will do. */
typedef struct EstimateJob
{
	int			kind;
	double		units;
	int			after;			/* the kind that it waits for, of pool 0; or
								 * ESTIMATE_NO_KIND */
} EstimateJob;

typedef struct Estimate
{
	EstimateKind *kinds;
	int			n_kinds;
	EstimateJob *jobs;			/* that are left */
	int			n_jobs;
	int			workers[ESTIMATE_POOLS];
} Estimate;

/*
 * All kinds are in pool 0, and have no parent, no prior, and the factor 1;
 * owned.
 */
extern Estimate *estimate_new(int n_kinds);

/* Forget what was added. */
extern void estimate_clear(Estimate *estimate);

/* So much of a kind is done, and took a worker this time. */
extern void estimate_add_done(Estimate *estimate, int kind, double units,
							  double seconds);

/*
 * So much of a kind is left, and one worker of its pool will do it, after
 * what was added before, and when nothing is left of the kind "after".
 */
extern void estimate_add_left(Estimate *estimate, int kind, double units,
							  int after);

/* The seconds until all is done; -1 if nothing is known yet. */
extern double estimate_seconds(Estimate *estimate);

#endif							/* ESTIMATE_H */
