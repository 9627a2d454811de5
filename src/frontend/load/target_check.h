/*
 * target_check.h
 *		Checks the target: which roles, tablespaces and other objects are
 *		missing, before anything is created, and which tables contain rows,
 *		before rows are loaded.
 */
#ifndef TARGET_CHECK_H
#define TARGET_CHECK_H

#include "load/restore_schedule.h"
#include "load/target_ask.h"
#include "plan/dump_plan.h"

/* Has the target an object of this kind (target_ask.h) and name? */
extern bool target_has(PGconn *conn, const char *kind, const char *name);

/*
 * Tell of errors: roles, tablespaces and extensions that the entries to be
 * restored name and the target does not have, each kind in one list, too few
 * connections for n_jobs, all that there is to do, and what options ask for
 * that its server cannot do.  The session is as it was opened, on the
 * database of --target; new_name is that of the database to create, or NULL.
 * Its client encoding is that of the entries afterwards.
 */
extern void target_check(PGconn *conn, const RestoreSchedule *schedule,
						 const Options *options, int n_jobs,
						 const char *encoding, const char *new_name);

/*
 * Tell of an error if the target has one of the tables that are to be
 * made, unless they may exist.  For findings_report() to end the run.
 */
extern void target_check_tables(PGconn *conn, const DumpTables *tables,
								bool may_exist);

/*
 * The same of sequences: one that exists could not be made, and yet would be
 * set to the position of the source's.
 */
extern void target_check_sequences(PGconn *conn,
								   const RestoreSchedule *schedule);

/*
 * How many of the large objects exist on the target, of those that the plan's
 * archive creates: it may have the contents alone.  And an error of a copy if
 * there are any, or with --clean if other roles own some, for
 * findings_report().
 */
extern int	target_count_objects(PGconn *conn, const DumpPlan *plan);
extern void target_check_objects(PGconn *conn, const DumpPlan *plan,
								 const Options *options);

/*
 * Which tables the rows go to: the OID that each copy_name has now, in the
 * order of the tables, InvalidOid where there is none; owned.  It is looked
 * up once, as names can be given to other tables while rows are loaded.  Or
 * else the same of the tables' own names, which a root does not stand for.
 */
extern Oid *target_find_tables(PGconn *conn, const DumpTables *tables,
							   bool copy_names);

/*
 * The first table of an extension with rows that a dump contains; owned, NULL
 * if there is none.  Of these tables, an array literal of OIDs, or of all if
 * that is NULL.  Sets search_path and row_security of the session.
 */
extern char *target_extension_rows(PGconn *conn, const char *oids);

/* By table: is it a member of an extension?  Owned. */
extern bool *target_are_of_extensions(PGconn *conn, const Oid *tables, int n);

/*
 * With --disable-triggers, which sets session_replication_role: it is an
 * error, and ends the run, if triggers of these n tables, by OID, fire in
 * spite of that.
 */
extern void target_check_triggers(PGconn *conn, const Options *options,
								  const Oid *tables, int n);

/*
 * The target has taken another number of rows of a table than COPY sent.
 * Where a BEFORE INSERT trigger for each row, of the table or of a partition,
 * fires in this session, it can leave rows out or insert them elsewhere: the
 * number is a warning then, and the result is true.
 */
extern bool target_may_skip_rows(PGconn *conn, Oid table, const char *what,
								 uint64 sent, uint64 taken);

#endif							/* TARGET_CHECK_H */
