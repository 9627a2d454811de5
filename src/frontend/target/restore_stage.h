/*
 * restore_stage.h
 *		What stock pg_restore makes on a target, before and after the rows.
 */
#ifndef RESTORE_STAGE_H
#define RESTORE_STAGE_H

#include "stock/stock_pg_restore.h"
#include "target/restore_schedule.h"

/* setup and schedule are filled in before it begins. */
typedef struct RestoreStages
{
	PgRestoreSetup setup;
	RestoreSchedule *schedule;
	PgRestoreRun run;
} RestoreStages;

/*
 * Make a private directory for pg_restore's archives, which hold the schema.
 * On failure of the run, it goes, and so does pg_restore.
 */
extern void restore_stage_begin(RestoreStages *restore);

/* Remove the directory. */
extern void restore_stage_end(RestoreStages *restore);

/* The database itself; fatal if it fails. */
extern void restore_stage_database(RestoreStages *restore);

/* Everything that must be there before the first row; fatal if it fails. */
extern void restore_stage_definitions(RestoreStages *restore);

/*
 * Foreign keys, triggers, privileges, sequences' positions, materialized
 * views and all else, side by side where pg_restore can.  It does not stop at
 * an error: the rows are there, and what is missing can be made by hand.  Did
 * all go well?
 */
extern bool restore_stage_rest(RestoreStages *restore);

#endif							/* RESTORE_STAGE_H */
