/*
 * cluster_notes.h
 *		Notes which databases a restore of all databases has restored, in the
 *		maintenance database of the target, for --resume.
 *
 * The table has a row for each database of the archive.  A row says that the
 * restore has begun, is ending, or is done.  "Ending" is written when only
 * the journal of the database's restore remains to be removed, and "done"
 * after the journal was removed.  So whenever the run was killed, a database
 * without a journal is complete if its row says one of these two.
 *
 * A note is valid for the archive for which it was written, wherever that is,
 * and for the database with the OID in the note.
 */
#ifndef CLUSTER_NOTES_H
#define CLUSTER_NOTES_H

#include "cluster/cluster_list.h"
#include "load/restore_journal.h"

#define CLUSTER_NOTES_SCHEMA RESTORE_JOURNAL_ALL_SCHEMA
#define CLUSTER_NOTES_TABLE CLUSTER_NOTES_SCHEMA ".databases"

typedef struct ClusterNotes ClusterNotes;

/*
 * Read the notes of an earlier run from the session's database.  identity is
 * the dump's (ClusterMap.identity).  Without --resume there must be no
 * notes; with it they must belong to this dump, or not exist yet.  Reports
 * errors for findings_report().  Exits with a message if another run is
 * restoring all databases.  address is the session's, and must exist as long
 * as the process.
 */
extern ClusterNotes *cluster_notes_read(PGconn *conn, const PeerAddress *address,
										const char *identity,
										const Options *options);

/*
 * Decide what to do with each database of the list, according to the notes
 * and to its contents on the target.  Finished databases are removed from the
 * list.  Reports an error for each database that must not be restored.
 * Afterwards signals cancel the statements of this session.
 */
extern void cluster_notes_decide(ClusterNotes *notes, PGconn *conn,
								 ClusterList *list);

/*
 * --check: print what would be done.  connections is a line of
 * cluster_target_connections().
 */
extern void cluster_notes_show(const ClusterNotes *notes,
							   const ClusterList *list,
							   const char *connections);

/*
 * Call this when the restore begins.  Creates the table, notes all databases
 * of the list, and drops those that an earlier run created and left empty.
 * If the table cannot be created, a warning says that the run cannot be
 * resumed.
 */
extern void cluster_notes_begin(ClusterNotes *notes, PGconn *conn,
								const ClusterList *list);

/* In the process of the run of this database: note its end later. */
extern void cluster_notes_enter(const ClusterNotes *notes,
								const ClusterDatabase *database);

/*
 * Call this after all runs.  Removes the table if all databases are done.
 * *n_left is the number of databases that are not done, according to the
 * table.  Returns how many databases earlier runs have restored with errors.
 */
extern int	cluster_notes_end(ClusterNotes *notes, PGconn *conn, int *n_left);

/* How the restore can be continued, for a message at the end of a run. */
extern const char *cluster_notes_table_detail(const ClusterNotes *notes);

#endif							/* CLUSTER_NOTES_H */
