/*
 * definition_worker.h
 *		Makes definitions in a session of ours, as pg_restore would.
 *
 * The entries of a job are made in one transaction, or several if that lasts;
 * those of large objects by one message.
 * If one fails, nothing of its transaction is done; from there on each entry
 * has one, and each of its statements a savepoint: what fails is told and
 * counted as by pg_restore, and the rest is made.  So a job that is begun
 * anew after a loss makes no definition twice, and leaves out none; and with
 * a log, which has a line for each that is made, nor does another run.
 */
#ifndef DEFINITION_WORKER_H
#define DEFINITION_WORKER_H

#include "definitions/definition_jobs.h"
#include "job_log/job_log.h"
#include "target/restore_stage.h"
#include "target/target.h"

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
	const JobLog *log;			/* has a line for each entry, but positions of
								 * sequences */
	const PeerAddress *address; /* of the target, whose commits must wait for
								 * its disk */
	const Script *script;
	const DefinitionJobs *jobs;
	DefinitionNote *notes;		/* by job */
	volatile int *n_made;		/* entries; shared */
	volatile int *n_existing;	/* large objects that could not be created, as
								 * they exist; shared */
	volatile bool *head_told;	/* errors of the head were counted; shared */
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
