/*
 * restore_worker.h
 *		The work of a worker of a restore: loads the rows and large objects of
 *		a job into the target.
 */
#ifndef RESTORE_WORKER_H
#define RESTORE_WORKER_H

#include "restore/restore_pieces.h"

/* ----------
 * Tables that are truncated, and then filled with frozen rows.
 *
 * If a transaction truncates a table and then loads it, the rows need no WAL
 * with wal_level = minimal, and can be loaded frozen (COPY FREEZE).  Then no
 * later scan or VACUUM has to write each page again, or, with data checksums,
 * to write each page to the WAL.
 *
 * Only tables that this run has created are truncated.  They must not have a
 * page yet, and one transaction must load all of their rows.
 * ----------
 */

/*
 * Returns for each table of the plan whether it is worth truncating, as far
 * as this is known before rows are loaded: true only for tables that exist on
 * the target after the definitions were created, but did not exist before.
 * before and after have an element for each table.  The result is owned.  It
 * is NULL with wal_level = logical, because subscribers of the target would
 * truncate their tables, too.
 */
extern bool *restore_freeze_choose(const Target *target, const DumpPlan *plan,
								   const bool *before, const bool *after);

typedef struct RestoreWorker RestoreWorker;

/*
 * The work of all workers.  The members are set before the workers are
 * forked, and are the same in all of them.  Memory that workers write to is
 * shared.  It is the arg of the pool's callbacks.
 */
typedef struct RestoreWork
{
	const Archive *archive;
	const ArchivePlan *plan;	/* contains the plan of the run */
	const Target *target;
	Run		   *run;			/* only the leader changes it */
	const RestoreJournal *journal;	/* NULL until it is open */
	TargetCommit *commits;		/* by job */
	const bool *fresh;			/* by table: see restore_freeze_choose() */
	const Oid  *targets;		/* by table of the plan: the target's table,
								 * see target_find_tables() */
	SharedRows **shared;		/* by data file: non-NULL if several jobs
								 * share the file */
	volatile bool *left_out;	/* by data file: the file is not to be loaded,
								 * cannot be loaded, or is done */
	const LongFiles *long_files;
	RestoreRings *rings;		/* for files of unknown length that commands
								 * return; otherwise NULL */
	FileResult *shares;			/* by data file and worker; only with rings */
	volatile bool *jobs_done;	/* by job; only with rings */
	volatile bool *has_failed;	/* by data file: a piece of it could not be
								 * loaded */
	volatile bool *objects_left_out;	/* by group of large objects; see
										 * left_out */
	volatile int *n_errors;		/* errors that were reported and ignored */
	int		   *jobs_left;		/* in the leader, by shared data file: the
								 * jobs that are not done */
	int			first_job;		/* queue number of the pool's first job */
	int			n_jobs;			/* jobs of the queue that the pool runs; in
								 * additional jobs, workers help others with
								 * long files */
	RestoreWorker *worker;		/* the state of this worker; set in workers
								 * only */
	volatile int *n_read_again; /* number of times that a file was read again
								 * because a command failed */
	volatile bool *must_restart;	/* committed rows may be wrong: see
									 * LoadAccount */
} RestoreWork;

/*
 * The pool's task.  Each worker connects to the target.  A job is one
 * transaction there, but a job that shares a file has a transaction for each
 * piece.  If a lost worker has already committed a job, the job is not
 * repeated.
 *
 * A file that cannot be loaded completely is an error.  The error ends the
 * process with --exit-on-error; otherwise it is counted, and the job is
 * repeated without that file.  The caller adds the callbacks of the leader.
 */
extern WorkerTask restore_worker_task(RestoreWork *work);

#endif							/* RESTORE_WORKER_H */
