/*
 * target_check.h
 *		Checks the target of a copy or restore, before anything is created and
 *		before rows are loaded.
 *
 * It finds missing roles, tablespaces and extensions, existing tables, and
 * tables that contain rows.  Most functions report errors for
 * findings_report(), which ends the run after all checks, so that a user sees
 * all problems at once.
 */
#ifndef TARGET_CHECK_H
#define TARGET_CHECK_H

#include "load/restore_schedule.h"
#include "load/target_ask.h"
#include "plan/dump_plan.h"

/* Has the target an object of this kind (target_ask.h) with this name? */
extern bool target_has(PGconn *conn, const char *kind, const char *name);

/*
 * Report as errors: roles, tablespaces and extensions that the entries to be
 * restored name and the target lacks, one list for each kind; too few
 * connections for n_jobs, the number of all jobs; and options that the server
 * does not support.  The session is as it was opened, on the database of
 * --target; new_name is the name of the database to create, or NULL.
 * Afterwards its client encoding is that of the entries.
 */
extern void target_check(PGconn *conn, const RestoreSchedule *schedule,
						 const Options *options, int n_jobs,
						 const char *encoding, const char *new_name);

/*
 * Report an error if the target has one of the tables that will be created,
 * unless they may exist.
 */
extern void target_check_tables(PGconn *conn, const DumpTables *tables,
								bool may_exist);

/*
 * Report an error if the target has one of the sequences that will be
 * created.  An existing sequence could not be created, but would get the
 * position of the source's.
 */
extern void target_check_sequences(PGconn *conn,
								   const RestoreSchedule *schedule);

/*
 * target_count_objects() returns how many of the large objects that the
 * plan's archive creates exist on the target.  (The archive may only have the
 * contents.) For a copy, target_check_objects() reports an error if there are
 * any or, with --clean, if other roles own some.  target_objects_hint()
 * prints the hint of that error, also for a restore.
 */
extern int	target_count_objects(PGconn *conn, const DumpPlan *plan);
extern void target_objects_hint(const Options *options);
extern void target_check_objects(PGconn *conn, const DumpPlan *plan,
								 const Options *options);

/*
 * The tables to which the rows go: the current OID of each copy_name, in the
 * order of the tables, InvalidOid if there is none; owned.  It is looked up
 * once, because names can be given to other tables while rows are loaded.  If
 * copy_names is false, the same for the tables' own names instead of those of
 * the roots.
 */
extern Oid *target_find_tables(PGconn *conn, const DumpTables *tables,
							   bool copy_names);

/*
 * The first table of an extension with rows that a dump contains; owned, NULL
 * if there is none.  oids is an array literal of tables to check, or NULL for
 * all.  If extension is not NULL, it is set to the extension's name, owned.
 * Changes search_path and row_security of the session.
 */
extern char *target_extension_rows(PGconn *conn, const char *oids,
								   char **extension);

/* By table: does it belong to an extension?  Owned. */
extern bool *target_are_of_extensions(PGconn *conn, const Oid *tables, int n);

/*
 * With --disable-triggers, which sets session_replication_role: ends the run
 * with an error if triggers of these n tables, given by OID, fire in spite of
 * that.
 */
extern void target_check_triggers(PGconn *conn, const Options *options,
								  const Oid *tables, int n);

/*
 * Call this if the target has inserted another number of rows than COPY sent.
 * If a BEFORE INSERT trigger for each row fires in this session, on the table
 * or a partition, it can leave rows out or insert them elsewhere.  Then there
 * is only a warning, and the result is true.
 */
extern bool target_may_skip_rows(PGconn *conn, Oid table, uint64 sent,
								 uint64 taken);

#endif							/* TARGET_CHECK_H */
