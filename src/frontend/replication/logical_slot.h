/*
 * logical_slot.h
 *		A logical replication slot that begins where the snapshot ends.
 *
 * The server makes a logical slot and, with it, a snapshot of exactly what
 * was committed before the slot's consistent point (walsender.c:
 * CreateReplicationSlot, snapbuild.c:SnapBuildExportSnapshot).  What is read
 * in that snapshot plus what the slot gives is all there is: nothing is lost
 * between the two, and nothing comes twice.
 */
#ifndef LOGICAL_SLOT_H
#define LOGICAL_SLOT_H

#include "session/connection.h"

/* ----------
 * Can the server make a logical replication slot?
 * ----------
 */

/*
 * Tell of errors, and mostly a hint, if the server cannot make the slot that
 * the options ask for.  conn is the leader's session, outside of a
 * transaction.  Touches nothing.
 */
extern void slot_check(PGconn *conn, const Options *options);

/* Make one, report an error if that fails, and close it. */
extern void slot_check_connection(PGconn *leader_conn,
								  const PeerAddress *address);

/* ----------
 * The publications that --publication names.
 * ----------
 */

/*
 * Their names: of every option --publication, split at commas.  The array and
 * its names are the caller's.
 */
extern char **publication_names(const Options *options, int *n_names);

/* The same as the text of an SQL array, see text_array(); owned. */
extern char *publication_array(PGconn *conn, const Options *options);

/*
 * Exit with a message if a publication that the options name does not exist
 * on the source.  It must be there before the slot is: what it decodes, a
 * slot decodes by the catalogs of that time.
 */
extern void publication_check(PGconn *conn, const Options *options);

/* The facts of a slot that this run has made. */
typedef struct LogicalSlot
{
	const char *name;			/* borrowed from the options */
	const char *plugin;			/* likewise */
	char	   *lsn;			/* its consistent point, as the server writes
								 * it; owned */
	char	   *snapshot;		/* to be imported; owned */
} LogicalSlot;

/*
 * Make the slot, by a replication connection to the given server, and export
 * its snapshot.  That waits for all transactions that write at the moment;
 * conn is the leader's session, which is asked for whom.  From now on a run
 * that fails drops the slot when it ends, and says so if it cannot.
 *
 * The snapshot can be imported until logical_slot_snapshot_taken().
 */
extern const LogicalSlot *logical_slot_create(PGconn *conn,
											  const PeerAddress *address,
											  const Options *options);

/*
 * The exporter of the snapshot is no longer needed, as another session holds
 * the snapshot, or all rows were read: end the replication connection.
 */
extern void logical_slot_snapshot_taken(const LogicalSlot *slot);

/* In a worker: close the leader's connection, if there is one. */
extern void logical_slot_close_inherited(const LogicalSlot *slot);

/*
 * Warn if the slot is of no use any more, and return false: dropped by
 * someone, or overtaken by the server's limits.
 */
extern bool logical_slot_recheck(const LogicalSlot *slot);

/* Does a client stream its changes?  False also if that cannot be learned. */
extern bool logical_slot_is_active(const LogicalSlot *slot);

/* Tell the user, on standard output, of a slot that stays. */
extern void logical_slot_print(const LogicalSlot *slot);

#endif							/* LOGICAL_SLOT_H */
