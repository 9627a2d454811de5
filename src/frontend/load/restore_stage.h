/*
 * restore_stage.h
 *		Stock pg_restore on a target: creates the database.
 *
 * All other definitions are made by load/definitions.h, after
 * load/clean.h has dropped what --clean drops.
 */
#ifndef RESTORE_STAGE_H
#define RESTORE_STAGE_H

#include "load/restore_schedule.h"
#include "load/target.h"
#include "stock/stock_pg_restore.h"

/*
 * Set by the caller, but for setup.address, setup.directory and run, which
 * restore_stage.c sets.
 */
typedef struct RestoreStages
{
	PgRestoreSetup setup;
	RestoreSchedule *schedule;
	Target	   *target;
	const Toc  *archive;		/* with all of its entries, whether they are
								 * wanted or not */
	bool		makes_extension;	/* pg_pardump; the archive lacks it */
	bool		as_pg_restore;	/* drop what --clean drops, and go on after
								 * errors unless setup.args say otherwise */
	volatile bool *failed;		/* by dump ID, shared: an entry's own
								 * definition failed; NULL if that is not
								 * noted */
	PgRestoreRun run;
} RestoreStages;

/*
 * Leave our own extension out of the schedule, and its schema, unless the
 * target can have it, or what of it is there already.  new_name: of the
 * database that is to be created, where it was not yet; or NULL.
 */
extern void restore_stage_leave_out_extension(RestoreStages *restore,
											  const char *new_name);

/*
 * If the archive leaves the extension out, create it, where the server has
 * its files and the role is a superuser: as a restore of pg_dump's archive
 * would.  A failure is a warning.  After the other definitions, among which
 * its schema may be.
 */
extern void restore_stage_make_extension(RestoreStages *restore);

/*
 * Make a private directory for pg_restore's archives, which hold the schema.
 * On failure of the run, it goes, and so does pg_restore.
 */
extern void restore_stage_begin(RestoreStages *restore);

/* Remove the directory. */
extern void restore_stage_end(RestoreStages *restore);

/*
 * The database itself, of this name, and go there; fatal if it fails and this
 * is not to go on.
 */
extern void restore_stage_database(RestoreStages *restore, const char *name);

/*
 * The hint of an error that a target's role may have met because it is not a
 * superuser.
 */
extern void restore_stage_give_hint(const Options *options, PGconn *conn);

#endif							/* RESTORE_STAGE_H */
