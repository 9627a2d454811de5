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
	RESTORE_NEVER,				/* rows and contents of large objects, which
								 * our workers load; and unselected entries */
	RESTORE_ALWAYS,				/* settings, which every run of pg_restore
								 * needs */
	RESTORE_DATABASE,			/* the database itself: --create */
	RESTORE_PRE_DATA,			/* definitions before the rows, without
								 * privileges */
	RESTORE_LARGE_OBJECTS,		/* large objects, still empty */
	RESTORE_INDEXES,			/* indexes, when their table is complete */
	RESTORE_POST_DATA,			/* everything else, after all rows */
	RESTORE_EVENT_TRIGGERS		/* last, because they fire for others */
} RestorePhase;

typedef struct RestoreSchedule
{
	const Toc  *toc;			/* borrowed */
	bool		has_public;		/* schema public exists, and gets its owner,
								 * but is not created */
	RestorePhase *phases;		/* by number of the entry in the TOC */
	int		   *tables;			/* for RESTORE_INDEXES: index in DumpTables */
	bool		has_operator_classes;	/* are there any among the entries? */
} RestoreSchedule;

/* Make the schedule.  create is true if the database is created. */
extern RestoreSchedule *restore_schedule_make(const Toc *toc,
											  const DumpTables *tables,
											  bool create);

/* Does the tag of any entry contain this text? */
extern bool restore_schedule_has_tag(const RestoreSchedule *schedule,
									 const char *part);

/*
 * Leave out an extension that the target cannot have, with its comment and
 * the privileges on its functions and tables, whose names begin with the
 * extension's.
 */
extern void restore_schedule_leave_out(RestoreSchedule *schedule,
									   const char *extension);

/*
 * Leave out a schema, with its comment, labels and privileges, but not the
 * objects in it.
 */
extern void restore_schedule_leave_out_schema(RestoreSchedule *schedule,
											  const char *schema);

/* Is an object created in this schema, or an extension that uses it? */
extern bool restore_schedule_needs_schema(const RestoreSchedule *schedule,
										  const char *schema);

/*
 * The entries of a phase, and the settings, in the archive's order.  The
 * array, which the caller frees, contains copies that borrow all their
 * strings.  *n_entries is their number, *n_own the number without the
 * settings.
 */
extern TocEntry *restore_schedule_entries(const RestoreSchedule *schedule,
										  RestorePhase phase, int *n_entries,
										  int *n_own);

#endif							/* RESTORE_SCHEDULE_H */
