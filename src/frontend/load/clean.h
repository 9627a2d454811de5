/*
 * clean.h
 *		Drops what --clean drops.
 *
 * Other objects of the target may depend on what is dropped: a view, a
 * foreign key, a column.  An object that they keep cannot be made again, and
 * its rows would be added to the rows that it has.  So the target's catalogs
 * are asked before anything is changed (pg_depend, recursively).  The entries
 * are mapped to objects of the target by names; what a name does not show is
 * left to the DROP statements.
 */
#ifndef CLEAN_H
#define CLEAN_H

#include "load/restore_stage.h"

/*
 * Stock pg_restore drops what is going to be made, in the opposite order of
 * the archive, and it is on the target's disk.  Nothing without --clean, or
 * if the database is new.
 *
 * A copy drops all in one transaction where the lock table has room, and an
 * error ends the process; no transaction can drop subscriptions, which are
 * dropped before.  Otherwise errors are shown, and end a restore with
 * --exit-on-error; else what could not be dropped cannot be made either.
 */
extern void clean_drop(RestoreStages *stages);

/* ----------
 * clean.c
 * ----------
 */

/*
 * A copy: report as errors which objects cannot be dropped, because another
 * role owns them or they belong to an extension, and which other objects
 * depend on those that are to be dropped.  If the target's lock table has too
 * little room to drop all of them in one transaction, that is a warning.  For
 * findings_report() to end the run.  Nothing without --clean, or if the
 * database is to be created.
 */
extern void clean_objects_check_copy(const RestoreStages *stages);

/*
 * A restore, with a session on the database that is restored into: report as
 * an error which of the tables with rows in the archive cannot be dropped,
 * for one of these reasons.
 */
extern void clean_objects_check_restore(const RestoreStages *stages,
										PGconn *conn,
										const DumpTables *tables);

#endif							/* CLEAN_H */
