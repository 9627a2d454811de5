/*
 * restore_worker.h
 *		What a worker of a restore does with a job.
 */
#ifndef RESTORE_WORKER_H
#define RESTORE_WORKER_H

#include "restore/restore_pieces.h"

/* ----------
 * Tables that are truncated, and then filled with frozen rows.
 *
 * What a transaction loads into a table that it has truncated needs no WAL
 * with wal_level = minimal, and may be frozen at once (COPY FREEZE): so no
 * later scan or VACUUM writes every page once more, and with data checksums
 * all of it to the WAL.
 *
 * Only tables that this run has made are truncated, that one transaction
 * fills with all that is restored of them, and that have not one page yet.
 * ----------
 */

/*
 * Which tables of the plan these are, by their number, as far as it can be
 * told before any is loaded: those that the archive makes, of which before is
 * false and after is true.  Subscribers of the target would empty their
 * tables, too: with that there are none.  Owned; NULL if none.
 */
extern bool *restore_freeze_choose(const Target *target, const DumpPlan *plan,
								   const bool *before, const bool *after);

typedef struct RestoreWorker RestoreWorker;

/*
 * What workers are given: settled before they start, the same for all; what
 * they write to is in memory that they share.  The arg of the pool's
 * callbacks.
 */
typedef struct RestoreWork
{
	const Archive *archive;
	const ArchivePlan *plan;	/* the run's, too */
	const Target *target;
	Run		   *run;			/* only the leader changes it */
	const RestoreJournal *journal;	/* NULL until it is open */
	TargetCommit *commits;		/* by job */
	const bool *fresh;			/* by table: see restore_freeze_choose() */
	const Oid  *targets;		/* the tables that rows go to, as
								 * target_find_tables() has found them */
	SharedRows **shared;		/* by data file: of those that jobs share;
								 * else NULL */
	volatile bool *left_out;	/* by data file: it is not, or cannot be
								 * loaded, or is done */
	const LongFiles *long_files;
	RestoreRings *rings;		/* for those that commands return, and whose
								 * length is not known; else NULL */
	FileResult *shares;			/* by data file and worker; with rings only */
	volatile bool *jobs_done;	/* by job; the same */
	volatile bool *has_failed;	/* by data file: a piece of it has */
	volatile bool *objects_left_out;	/* by group of large objects */
	volatile int *n_errors;		/* that are told, and no reason to end */
	int		   *jobs_left;		/* in the leader: by shared data file */
	int			first_job;		/* of those that the pool has at the time */
	int			n_jobs;			/* of the plan; in those behind them, workers
								 * help others with long files */
	RestoreWorker *worker;		/* in a worker: itself */
	volatile int *n_read_again; /* how often a file was read again because a
								 * command did not return it */
	volatile bool *must_restart;	/* what was committed may be wrong: see
									 * LoadAccount */
} RestoreWork;

/*
 * The pool's task.  Workers connect to the target.  Each job is one
 * transaction there, unless a worker that was lost has done it.  A file that
 * cannot be loaded whole is an error, which ends the process with
 * --exit-on-error, else it is counted, and the rest of the job is done
 * without it.  The caller adds what else the pool needs.
 */
extern WorkerTask restore_worker_task(RestoreWork *work);

#endif							/* RESTORE_WORKER_H */
