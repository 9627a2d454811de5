/*
 * definition_worker.h
 *		Creates definitions in sessions of this program, as pg_restore would.
 *
 * Unlike with pg_restore, a lost session only costs a retry.  definitions.c
 * uses this for all definitions except indexes, which index_builder.c creates
 * with the same functions.
 *
 * The entries of a job are created in one transaction, or in several if that
 * takes long.  Large objects are created with one message.  If an entry
 * fails, its transaction is rolled back.  From then on each entry gets a
 * transaction of its own, and each of its statements a savepoint: errors are
 * reported and counted as by pg_restore, and the other statements take
 * effect.
 *
 * A job that is repeated after a loss creates no definition twice, and omits
 * none.  With a journal, which has a line for each created definition, the
 * same is true for another run.
 */
#ifndef DEFINITION_WORKER_H
#define DEFINITION_WORKER_H

#include "load/restore_journal.h"
#include "load/restore_stage.h"
#include "stock/script.h"

/* ----------
 * The jobs: definitions that are created together, and jobs that may run
 * concurrently.
 *
 * A job consists of adjacent entries of a script.  Jobs are plain data, for
 * the workers of a pool.
 * ----------
 */

/* A job: n entries of the script, beginning with first. */
typedef struct DefinitionJob
{
	int			first;
	int			n;
	bool		long_lasting;	/* reads rows; other jobs run one at a time */
	bool		of_objects;		/* only concerns large objects */
	bool		large;			/* builds indexes of a large table */
	int			n_locks;		/* locks that its transaction may need */
} DefinitionJob;

typedef struct DefinitionJobs
{
	const Script *script;		/* borrowed */
	const Toc  *toc;			/* borrowed */
	DefinitionJob *jobs;
	int			n_jobs;
	bool	   *done;			/* by job */
	int		   *job_of;			/* by dump ID; -1 = none */
	bool	   *is_table;		/* by dump ID */
	int		   *users;			/* by dump ID of a table: running jobs during
								 * which it must not change */
	int		   *owners;			/* the same: running jobs that lock it */
	int			n_short;		/* running jobs that are not long_lasting */
} DefinitionJobs;

/*
 * Make jobs for n_workers workers from the entries of one pass of pg_restore,
 * which begins with entry "first".  *next is the beginning of the next pass,
 * whose entries must wait for this one.  Owned.
 */
extern DefinitionJobs *definition_jobs_make(const Script *script, int first,
											int *next, const Toc *toc,
											int n_workers);

/*
 * May the job begin now?  The jobs on which it depends must be done, and no
 * other job may be using a table that it locks.  pg_restore has the same rule
 * (pg_backup_archiver.c: pop_next_work_item, has_lock_conflicts).
 */
extern bool definition_jobs_may_begin(const DefinitionJobs *jobs, int job);

/* Call these when a job begins, and when it is done. */
extern void definition_jobs_begin(DefinitionJobs *jobs, int job);
extern void definition_jobs_end(DefinitionJobs *jobs, int job);

/*
 * The entry of a step of a job, for messages; of the first step if step is
 * -1; owned.
 */
extern char *definition_jobs_describe(const DefinitionJobs *jobs, int job,
									  int step);

/* The progress of a job, in memory that workers share. */
typedef struct DefinitionNote
{
	TargetCommit commit;		/* outcome of the last transaction */
	volatile int next;			/* the first entry that is not done */
	volatile int reach;			/* first one after those being committed */
	volatile int n_errors;		/* errors reported in this transaction */
	volatile int n_existing;	/* of these: existing objects, only counted */
	volatile int n_failed;		/* transactions with errors */
	volatile bool one_by_one;	/* something has failed */
	char		incarnation[128];	/* of the server of that transaction */
} DefinitionNote;

/* The data of the workers. */
typedef struct DefinitionWork
{
	const RestoreStages *stages;
	const RestoreJournal *journal;	/* has a line for each entry except
									 * positions of sequences */
	const PeerAddress *address; /* of the target; commits must wait for its
								 * disk */
	const Script *script;
	const DefinitionJobs *jobs;
	DefinitionNote *notes;		/* by job */
	volatile int *n_made;		/* created entries; shared */
	volatile int *n_existing;	/* existing large objects; shared */
	volatile bool *head_reported;	/* the head was counted; shared */
} DefinitionWork;

typedef struct DefinitionWorker DefinitionWorker;

/* Connect to the target. */
extern DefinitionWorker *definition_worker_start(const DefinitionWork *work);

/*
 * Do the rest of the job.  *step is the current entry.  With --exit-on-error,
 * the first error ends the process; if there is a journal, nothing of that
 * entry is kept.
 */
extern void definition_worker_run(DefinitionWorker *worker, int job,
								  volatile int *step);

/* Close the connection, and free it. */
extern void definition_worker_stop(DefinitionWorker *worker);

#endif							/* DEFINITION_WORKER_H */
