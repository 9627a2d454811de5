/*
 * cluster_notes.h
 *		Which databases a restore of all databases has restored, noted in the
 *		maintenance database of the target, for --resume.
 *
 * The table has a row for each database of the archive.  A row says that the
 * restore has begun, is ending, or is done.  "Ending" is written when nothing
 * but the journal of the restore of that database is left to be removed, and
 * "done" after the journal was removed.  So a database without a journal is
 * complete if its row says one of these two, whenever the run was killed.
 *
 * A note holds for the archive that it was written for, wherever that is, and
 * for the database with the OID that is in the note.
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
 * the dump's (ClusterMap.identity).  Without --resume there must be
 * none; with it they must be of this dump, or there is none yet.  Reports
 * errors for findings_report().  Exits with a message while another run
 * restores all databases.  address is that of the session, and must live as
 * long as the process.
 */
extern ClusterNotes *cluster_notes_read(PGconn *conn, const PeerAddress *address,
										const char *identity,
										const Options *options);

/*
 * Decide what is to be done with each database of the list, by the notes and
 * by what is in it on the target.  Databases that are done are removed from
 * the list.  Reports an error for each database that must not be restored
 * into.  The statement that signals cancel is the session's afterwards.
 */
extern void cluster_notes_decide(ClusterNotes *notes, PGconn *conn,
								 ClusterList *list);

/* --check: lines about the table, and what would be done. */
extern void cluster_notes_show(const ClusterNotes *notes, const ClusterList *list);

/*
 * The restore begins: make the table, note all databases of the list, and
 * drop those that an earlier run created and left empty.  If the table cannot
 * be made, a warning says that the run cannot be resumed.
 */
extern void cluster_notes_begin(ClusterNotes *notes, PGconn *conn,
								const ClusterList *list);

/* In the process of the run of this database: its end is to be noted. */
extern void cluster_notes_enter(const ClusterNotes *notes,
								const ClusterDatabase *database);

/*
 * All runs have ended.  Remove the table if all databases are done; *n_left
 * is how many are not, by the table.  Returns how many databases earlier runs
 * have restored with errors.
 */
extern int	cluster_notes_end(ClusterNotes *notes, PGconn *conn, int *n_left);

/* How the restore continues: for a message at the end of a run. */
extern const char *cluster_notes_table_detail(const ClusterNotes *notes);

#endif							/* CLUSTER_NOTES_H */
