/*
 * restore_tables.h
 *		What follows from what is restored.
 */
#ifndef RESTORE_TABLES_H
#define RESTORE_TABLES_H

#include "libpq-fe.h"

#include "restore/restore_worker.h"

/* Are there no definitions, only data? */
extern bool restore_tables_is_data_only(const Toc *toc);

/* Are there statistics for the planner? */
extern bool restore_tables_has_statistics(const Toc *toc);

/* Have any of these entries, by dump ID, rows that no COPY reads? */
extern bool restore_tables_has_inserts(const Toc *toc, const int *ids,
									   int n_ids);

/* The name of the database to be created; NULL if none is.  Borrowed. */
extern const char *restore_tables_new_database(const Toc *toc);

/* Which tables the target has, by their number; owned. */
extern bool *restore_tables_look(PGconn *conn, const DumpTables *tables);

/*
 * Tell as an error which tables are to be created and filled, and exist there
 * with rows, and how many of the large objects exist: a restore would add the
 * rows to these, and write into the objects.
 */
extern void restore_tables_refuse_existing(PGconn *conn, const DumpPlan *plan);

/*
 * Does the target have any relation, type or function of the table of
 * contents, or any large object of the plan?
 */
extern bool restore_tables_exist(PGconn *conn, const Toc *toc,
								 const DumpPlan *plan);

/*
 * --no-data-for-failed-tables: leave out the rows of tables that the archive
 * creates, of those that are there, or of those that are not.
 */
extern void restore_tables_leave_out(const RestoreWork *work, const bool *look,
									 bool there);

#endif							/* RESTORE_TABLES_H */
