/*
 * definition_worker.h
 *		Makes definitions in a session of ours, as pg_restore would.
 *
 * The entries of a job are made in one transaction, or several if that lasts;
 * those of large objects by one message.
 * If one fails, nothing of its transaction is done; from there on each entry
 * has one, and each of its statements a savepoint: what fails is told and
 * counted as by pg_restore, and the rest is made.  So a job that is repeated
 * after a loss makes no definition twice, and leaves out none; and with a
 * log, which has a line for each that is made, nor does another run.
 */
#ifndef DEFINITION_WORKER_H
#define DEFINITION_WORKER_H

#include "load/restore_journal.h"
#include "load/restore_stage.h"
#include "stock/script.h"

/* ----------
 * Which definitions are made together, and which side by side.
 *
 * Plain data: jobs of neighbours in a script, for the workers of a pool.
 * ----------
 */

/* Entries of the script, from first on. */
typedef struct DefinitionJob
{
	int			first;
	int			n;
	bool		long_lasting;	/* reads rows; others are made one by one */
	bool		of_objects;		/* concerns large objects alone */
	bool		large;			/* builds indexes of a large table */
	int			n_locks;		/* that its transaction may have */
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
	int		   *users;			/* by dump ID of a table: running jobs that
								 * need it as it is */
	int		   *owners;			/* and that lock it */
	int			n_short;		/* running jobs that are not long_lasting */
} DefinitionJobs;

/*
 * The entries of the script from first on that may be made without a look at
 * later ones, as jobs for n_workers workers.  Until *next, where the next
 * pass of pg_restore's begins.  Owned.
 */
extern DefinitionJobs *definition_jobs_make(const Script *script, int first,
											int *next, const Toc *toc,
											int n_workers);

/*
 * May the job begin now?  What it depends on must be done, and no other job
 * may be at a table that it locks; as in pg_restore (pg_backup_archiver.c:
 * pop_next_work_item, has_lock_conflicts).
 */
extern bool definition_jobs_may_begin(const DefinitionJobs *jobs, int job);

/* It begins, and it is done. */
extern void definition_jobs_begin(DefinitionJobs *jobs, int job);
extern void definition_jobs_end(DefinitionJobs *jobs, int job);

/* For messages: the entry of a step; of the first one, if it is -1; owned. */
extern char *definition_jobs_describe(const DefinitionJobs *jobs, int job,
									  int step);

/* How far a job is; in memory that workers share. */
typedef struct DefinitionNote
{
	TargetCommit commit;		/* of the last transaction */
	volatile int next;			/* from this one on */
	volatile int reach;			/* up to, and without, this one */
	volatile int n_errors;		/* told in this transaction */
	volatile int n_existing;	/* of these: objects that exist, not told */
	volatile int n_failed;		/* transactions with errors */
	volatile bool one_by_one;	/* something has failed */
	char		incarnation[128];	/* of the server it is on */
} DefinitionNote;

/* What workers are given. */
typedef struct DefinitionWork
{
	const RestoreStages *stages;
	const RestoreJournal *journal;	/* has a line for each entry, but
									 * positions of sequences */
	const PeerAddress *address; /* of the target, whose commits must wait for
								 * its disk */
	const Script *script;
	const DefinitionJobs *jobs;
	DefinitionNote *notes;		/* by job */
	volatile int *n_made;		/* entries; shared */
	volatile int *n_existing;	/* large objects that could not be created, as
								 * they exist; shared */
	volatile bool *head_reported;	/* the head was counted; shared */
} DefinitionWork;

typedef struct DefinitionWorker DefinitionWorker;

/* Connect to the target. */
extern DefinitionWorker *definition_worker_start(const DefinitionWork *work);

/*
 * Do what is left of the job.  *step is the entry that it is at.  With
 * --exit-on-error, the first error is the end of the process; if there is a
 * log, nothing of that entry is done.
 */
extern void definition_worker_run(DefinitionWorker *worker, int job,
								  volatile int *step);

/* Close the connection, and free it. */
extern void definition_worker_stop(DefinitionWorker *worker);

#endif							/* DEFINITION_WORKER_H */
