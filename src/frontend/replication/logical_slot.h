/*
 * logical_slot.h
 *		A logical replication slot that begins where the snapshot of the dump
 *		or copy ends (--create-slot).
 *
 * The server creates a logical slot together with a snapshot of exactly the
 * transactions that were committed before the slot's consistent point
 * (walsender.c: CreateReplicationSlot, snapbuild.c:SnapBuildExportSnapshot).
 * The rows in that snapshot and the changes from the slot are complete: no
 * change is lost between them, and none is contained in both.
 */
#ifndef LOGICAL_SLOT_H
#define LOGICAL_SLOT_H

#include "session/connection.h"

/* ----------
 * Checks before the slot is created.
 * ----------
 */

/*
 * Log errors, most of them with a hint, if the server cannot create the slot
 * that the options specify.  conn is the leader's session, outside of a
 * transaction.  Changes nothing.
 */
extern void slot_check(PGconn *conn, const Options *options);

/* Open a replication connection, log an error if that fails, and close it. */
extern void slot_check_connection(PGconn *leader_conn,
								  const PeerAddress *address);

/* ----------
 * The publications of --publication.
 * ----------
 */

/*
 * Returns the names of all options --publication, which are split at commas.
 * The caller owns the array and the names.
 */
extern char **publication_names(const Options *options, int *n_names);

/*
 * Returns the names as the text of an SQL array, see text_array(); the caller
 * owns it.
 */
extern char *publication_array(PGconn *conn, const Options *options);

/*
 * Exit with a message if a publication of the options does not exist on the
 * source.  It must exist before the slot is created, because a slot decodes
 * changes with the catalogs of their time.
 */
extern void publication_check(PGconn *conn, const Options *options);

/* A slot that this run has created. */
typedef struct LogicalSlot
{
	const char *name;			/* borrowed from the options */
	const char *plugin;			/* likewise */
	char	   *lsn;			/* consistent point, as printed by the server;
								 * owned */
	char	   *snapshot;		/* to be imported; owned */
} LogicalSlot;

/*
 * Create the slot with a replication connection to this server, and export
 * its snapshot.  The server waits until all running write transactions have
 * ended; conn is the leader's session, which queries them for a message.
 * From now on, a run that fails drops the slot when it ends, and reports if
 * that fails.
 */
extern const LogicalSlot *logical_slot_create(PGconn *conn,
											  const PeerAddress *address,
											  const Options *options);

/*
 * Close the replication connection: another session holds the snapshot, or
 * all rows were read, so the exporter of the snapshot is not needed any more.
 */
extern void logical_slot_snapshot_taken(const LogicalSlot *slot);

/*
 * In a worker: close the inherited replication connection, if there is one.
 */
extern void logical_slot_close_inherited(const LogicalSlot *slot);

/*
 * Returns false, with a warning, if the slot cannot be used any more, because
 * another user has dropped it or because it has exceeded the server's limits.
 * hint says how to get another slot; NULL if the caller says so.
 */
extern bool logical_slot_recheck(const LogicalSlot *slot, const char *hint);

/*
 * Does a client stream changes from the slot?  Also false if that is unknown.
 */
extern bool logical_slot_is_active(const LogicalSlot *slot);

/* Print the slot, which remains after the run, to standard output. */
extern void logical_slot_print(const LogicalSlot *slot);

#endif							/* LOGICAL_SLOT_H */
