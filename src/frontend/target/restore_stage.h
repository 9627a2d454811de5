/*
 * restore_stage.h
 *		What stock pg_restore makes on the target of a direct copy.
 */
#ifndef RESTORE_STAGE_H
#define RESTORE_STAGE_H

#include "stock/stock_pg_restore.h"
#include "target/restore_schedule.h"

/* setup and schedule are filled in before it begins. */
typedef struct CopyRestore
{
	RestoreSetup setup;
	CopySchedule *schedule;
	RestoreRun	run;
} CopyRestore;

/*
 * Make a private directory for pg_restore's archives, which hold the schema.
 * On failure of the run, it goes, and so does pg_restore.
 */
extern void copy_restore_begin(CopyRestore *restore);

/* Remove the directory. */
extern void copy_restore_end(CopyRestore *restore);

/* The database itself; fatal if it fails. */
extern void copy_restore_database(CopyRestore *restore);

/* Everything that must be there before the first row; fatal if it fails. */
extern void copy_restore_definitions(CopyRestore *restore);

/*
 * Foreign keys, triggers, privileges, sequences' positions, materialized
 * views and all else, side by side where pg_restore can.  It does not stop at
 * an error: the rows are there, and what is missing can be made by hand.  Did
 * all go well?
 */
extern bool copy_restore_rest(CopyRestore *restore);

#endif							/* RESTORE_STAGE_H */
