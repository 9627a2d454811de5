/*
 * definition_jobs.h
 *		Which definitions are made together, and which side by side.
 *
 * Plain data: jobs of neighbours in a script, for the workers of a pool.
 */
#ifndef DEFINITION_JOBS_H
#define DEFINITION_JOBS_H

#include "base/fe_compat.h"

#include "stock/script.h"

/* Entries of the script, from first on. */
typedef struct DefinitionJob
{
	int			first;
	int			n;
	bool		long_lasting;	/* reads rows; others are made one by one */
	bool		of_objects;		/* concerns large objects alone */
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
 * later ones, as jobs for so many workers.  Until *next, where the next pass
 * of pg_restore's begins.  Owned.
 */
extern DefinitionJobs *definition_jobs_make(const Script *script, int first,
											int *next, const Toc *toc,
											int n_workers);
extern void definition_jobs_free(DefinitionJobs *jobs);

/*
 * May the job begin now?  What it depends on must be done, and nobody may be
 * at a table that it locks; as in pg_restore (pg_backup_archiver.c:
 * pop_next_work_item, has_lock_conflicts).
 */
extern bool definition_jobs_may_begin(const DefinitionJobs *jobs, int job);

/* It begins, and it is done. */
extern void definition_jobs_begin(DefinitionJobs *jobs, int job);
extern void definition_jobs_end(DefinitionJobs *jobs, int job);

/* For messages: the entry of a step; of the first one, if it is -1; owned. */
extern char *definition_jobs_describe(const DefinitionJobs *jobs, int job,
									  int step);

#endif							/* DEFINITION_JOBS_H */
