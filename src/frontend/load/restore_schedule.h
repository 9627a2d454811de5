/*
 * restore_schedule.h
 *		The phase of a restore in which each entry of the table of contents is
 *		created.
 *
 * The result is an array.  Other files create the definitions before, while
 * and after workers load rows.
 */
#ifndef RESTORE_SCHEDULE_H
#define RESTORE_SCHEDULE_H

#include "plan/dump_table.h"

typedef enum RestorePhase
{
	RESTORE_NEVER,				/* rows and large objects' contents, which our
								 * workers load; and what is not asked for */
	RESTORE_ALWAYS,				/* settings, which every run of pg_restore
								 * needs */
	RESTORE_DATABASE,			/* the database itself: --create */
	RESTORE_PRE_DATA,			/* definitions, without privileges */
	RESTORE_LARGE_OBJECTS,		/* large objects, still empty */
	RESTORE_INDEXES,			/* as soon as one table has all its rows */
	RESTORE_POST_DATA,			/* all else, after all rows */
	RESTORE_EVENT_TRIGGERS		/* last, as they fire for what is made */
} RestorePhase;

typedef struct RestoreSchedule
{
	const Toc  *toc;			/* borrowed */
	bool		has_public;		/* the schema public is there, and is given
								 * its owner, but not created */
	RestorePhase *phases;		/* by the entry's number in the TOC */
	int		   *tables;			/* of RESTORE_INDEXES: which of DumpTables */
	bool		has_operator_classes;	/* among the entries */
} RestoreSchedule;

/* create: is the database to be made? */
extern RestoreSchedule *restore_schedule_make(const Toc *toc,
											  const DumpTables *tables,
											  bool create);

/* Does the tag of any entry contain this text? */
extern bool restore_schedule_has_tag(const RestoreSchedule *schedule,
									 const char *part);

/*
 * The target cannot have this extension: leave it out, with its comment and
 * the privileges on its functions and tables, whose names begin with its own.
 */
extern void restore_schedule_leave_out(RestoreSchedule *schedule,
									   const char *extension);

/*
 * Leave out a schema, with its comment, labels and privileges, and not what
 * is in it.
 */
extern void restore_schedule_leave_out_schema(RestoreSchedule *schedule,
											  const char *schema);

/*
 * Is anything to be made in this schema, or an extension whose schema it is?
 */
extern bool restore_schedule_needs_schema(const RestoreSchedule *schedule,
										  const char *schema);

/*
 * The entries of a phase, and the settings, in the archive's order: an array
 * of copies that borrow all their strings, for the caller to free.
 * *n_entries is their number, *n_own without the settings.
 */
extern TocEntry *restore_schedule_entries(const RestoreSchedule *schedule,
										  RestorePhase phase, int *n_entries,
										  int *n_own);

#endif							/* RESTORE_SCHEDULE_H */
