/*
 * clean.h
 *		Drops objects for --clean, and finds out which of them cannot be
 *		dropped.
 *
 * Other objects of the target may depend on dropped ones: a view, a foreign
 * key, a column.  An object that they keep cannot be created again, and the
 * rows of a kept table would be added to its existing rows.  So queries on
 * the target's catalogs find such objects before anything is changed
 * (pg_depend, recursively).  Entries are mapped to objects of the target by
 * name.  If a name is not enough to find an object, only its DROP statement
 * shows whether it can be dropped.
 */
#ifndef CLEAN_H
#define CLEAN_H

#include "load/restore_stage.h"

/*
 * With --clean, have stock pg_restore drop the objects that will be created,
 * in the reverse order of the archive, durably.  Does nothing for a new
 * database.
 *
 * A copy drops all objects in one transaction if the lock table has room, and
 * an error ends the process.  Subscriptions are dropped first, because no
 * transaction can drop them.  In a restore, errors are shown; with
 * --exit-on-error they end it.  Objects that could not be dropped cannot be
 * created.
 */
extern void clean_drop(RestoreStages *stages);

/* Is the object of this entry dropped by a DROP of its own? */
extern bool clean_has_drop(const RestoreStages *stages, int number);

/*
 * In a copy, may the DROP of this entry fail?  The object may already have
 * been dropped with another one.  If it still exists, and another object
 * depends on it, the DROP of that object fails.
 */
extern bool clean_may_fail(const TocEntry *entry);

/*
 * Append the OIDs of the large objects that the entry creates, separated by
 * commas.
 */
extern void clean_append_large_objects(PQExpBuffer oids, const TocEntry *entry);

/* ----------
 * clean_objects.c: checks before anything is dropped.
 * ----------
 */

/*
 * For a copy with --clean into an existing database: report as errors which
 * objects cannot be dropped, because another role owns them or they belong to
 * an extension, and which other objects depend on planned ones.  Warn if the
 * target's lock table is too small to drop all objects in one transaction.
 * findings_report() ends the run if there were errors.
 */
extern void clean_objects_check_copy(const RestoreStages *stages);

/*
 * For a restore, with a session on its database: report as an error which of
 * the tables with rows in the archive cannot be dropped for one of these
 * reasons.
 */
extern void clean_objects_check_restore(const RestoreStages *stages,
										PGconn *conn,
										const DumpTables *tables);

/*
 * Does the target's lock table have room to drop all objects in one
 * transaction?  *n is set to their number on the target.
 */
extern bool clean_objects_fit(const RestoreStages *stages, int *n);

#endif							/* CLEAN_H */
