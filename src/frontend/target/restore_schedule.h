/*
 * restore_schedule.h
 *		When every entry of the table of contents comes in a direct copy.
 *
 * Deciding only: an array, by which copy.c runs pg_restore and its workers.
 */
#ifndef RESTORE_SCHEDULE_H
#define RESTORE_SCHEDULE_H

#include "base/fe_compat.h"

#include "plan/dump_table.h"
#include "toc/toc.h"

typedef enum CopyPhase
{
	COPY_NEVER,					/* rows and large objects' contents, which our
								 * workers copy; and what is not asked for */
	COPY_ALWAYS,				/* settings, which every run of pg_restore
								 * needs */
	COPY_DATABASE,				/* the database itself: --create */
	COPY_PRE_DATA,				/* definitions, without privileges */
	COPY_LARGE_OBJECTS,			/* large objects, still empty */
	COPY_INDEXES,				/* as soon as one table has all its rows */
	COPY_POST_DATA				/* all else, after all rows */
} CopyPhase;

typedef struct CopySchedule
{
	const Toc  *toc;			/* borrowed */
	CopyPhase  *phases;			/* by the entry's number in the TOC */
	int		   *tables;			/* of COPY_INDEXES: which of DumpTables */
} CopySchedule;

/* create: is the database to be made? */
extern CopySchedule *copy_schedule_make(const Toc *toc,
										const DumpTables *tables,
										bool create);

/*
 * The target cannot have this extension: leave it out, with its comment and
 * the privileges on its functions and tables, whose names begin with its own.
 */
extern void copy_schedule_leave_out(CopySchedule *schedule,
									const char *extension);

/*
 * Leave out a schema, with its comment and privileges, and not what is in it.
 */
extern void copy_schedule_leave_out_schema(CopySchedule *schedule,
										   const char *schema);

/* Is anything to be made in this schema? */
extern bool copy_schedule_needs_schema(const CopySchedule *schedule,
									   const char *schema);

/*
 * The entries of a phase, and the settings, in the archive's order: an array
 * of copies that borrow all their strings, for the caller to free.
 * *n_entries is their number, *n_own without the settings.
 */
extern TocEntry *copy_schedule_entries(const CopySchedule *schedule,
									   CopyPhase phase, int *n_entries,
									   int *n_own);

#endif							/* RESTORE_SCHEDULE_H */
