/*
 * restore_stage.h
 *		The data that all stages of a restore share, and the stages that stock
 *		pg_restore executes: it creates the database.
 *
 * load/definitions.h creates the other definitions, after load/clean.h has
 * dropped objects for --clean.
 */
#ifndef RESTORE_STAGE_H
#define RESTORE_STAGE_H

#include "load/restore_schedule.h"
#include "load/target.h"
#include "stock/stock_pg_restore.h"

/*
 * The arguments of all stages.  The caller sets all members except
 * setup.address, setup.directory and run, which restore_stage.c sets.
 */
typedef struct RestoreStages
{
	PgRestoreSetup setup;
	RestoreSchedule *schedule;
	Target	   *target;
	const Toc  *archive;		/* with all entries, also those that are not
								 * restored */
	bool		makes_extension;	/* create pg_pardump, which the archive
									 * lacks */
	bool		as_pg_restore;	/* drop like pg_restore --clean, and continue
								 * after errors unless setup.args say
								 * otherwise */
	volatile bool *failed;		/* by dump ID, shared: the definition of the
								 * entry failed; NULL if this is not needed */
	PgRestoreRun run;
} RestoreStages;

/*
 * Leave our own extension and its schema out of the schedule, unless the
 * target can have them, or as far as they exist already.  new_name is the
 * name of a database that will be created, or NULL.
 */
extern void restore_stage_leave_out_extension(RestoreStages *restore,
											  const char *new_name);

/*
 * If the archive leaves out the extension, create it, if the server has its
 * files and the role is a superuser: then a restore of pg_dump's archive
 * would create it.  A failure is a warning.  Call this after the other
 * definitions, which may contain its schema.
 */
extern void restore_stage_make_extension(RestoreStages *restore);

/*
 * Make a private directory for pg_restore's archives, which contain the
 * schema.  If the run fails, the directory is removed, and pg_restore is
 * ended.
 */
extern void restore_stage_begin(RestoreStages *restore);

/* Remove the directory. */
extern void restore_stage_end(RestoreStages *restore);

/*
 * Create the database with this name, and connect to it.  Exits with a
 * message if this fails and the run must not continue.
 */
extern void restore_stage_database(RestoreStages *restore, const char *name);

/* The hint after errors that a restore or a copy has ignored. */
#define FAILED_STATEMENTS_HINT "Fix the causes of the errors, and run the failed statements with psql."

/*
 * Print the hint of an error that may occur because the target's role is not
 * a superuser.
 */
extern void restore_stage_give_hint(const Options *options, PGconn *conn);

#endif							/* RESTORE_STAGE_H */
