/*
 * standby_overflow.h
 *		Takes complete snapshots of hot standbys: snapshots that include all
 *		running transactions.
 *
 * Before the minor releases of 12 November 2026, if a snapshot is taken
 * during recovery and its list of subtransactions has overflowed, the server
 * exports it without the running transactions.  A session that imports such a
 * snapshot treats these transactions as ended.  It reads wrong rows, and it
 * may set hint bits that make the standby permanently show wrong rows to all
 * sessions.
 *
 * The file of the exported snapshot shows whether this is the case
 * (shared/snapshot_text.h).  So the file decides, not the version of the
 * server: packages may have the fix earlier, and what matters is the time
 * when the snapshot was taken, not whether the server is in recovery now.
 *
 * A snapshot overflows when a transaction on the primary gets its 64th
 * subtransaction or, with wal_level = logical, when it writes in a
 * subtransaction before it has written outside one.  Snapshots stay
 * overflowed until this transaction and all older ones have ended.  So it
 * helps to wait, and to take another snapshot.
 *
 * No session, including pg_dump's, may import a snapshot before it was
 * checked here, or with standby_overflow_check().
 */
#ifndef STANDBY_OVERFLOW_H
#define STANDBY_OVERFLOW_H

#include "source/standby.h"

/* A server on which snapshots are taken. */
typedef struct OverflowLook
{
	PGconn	   *conn;			/* has no transaction yet */
	const Standby *standby;		/* one of several, or NULL */
	const Options *options;
	ServerExtension *extension; /* is held while a function of it is called */
	bool		reported;		/* was it reported that snapshots cannot be
								 * checked? */
	int64		left_ms;		/* how long we may still wait */
	bool		needs_no_check; /* a snapshot was taken by a server that was
								 * not in recovery */
} OverflowLook;

/*
 * For the source's own server (standby is NULL), or for one of several
 * standbys, whose session conn has no transaction.
 */
extern OverflowLook standby_overflow_look(PGconn *conn, const Standby *standby,
										  const Options *options,
										  ServerExtension *extension);

/*
 * Begin the leader's transaction (snapshot_begin_leader()), in the given
 * snapshot unless that is NULL.  Returns the exported snapshot, which was
 * checked; owned.  Waits for a complete snapshot, and exits with a message if
 * there is none in time.
 */
extern char *standby_overflow_begin(OverflowLook *look, const char *given);

/*
 * Wait until each of these servers gives a complete snapshot; these snapshots
 * are not kept.  Exits with a message if that takes too long.  Returns how
 * long it has waited, in milliseconds.
 */
extern int64 standby_overflow_wait(OverflowLook *looks, int n);

/* Is this snapshot complete, which the server's transaction has exported? */
extern bool standby_overflow_is_complete(OverflowLook *look,
										 const char *snapshot);

/*
 * Are the contents of these exported snapshots equal, as far as the role can
 * read their files?  Ends with session_lost() if an exporter has ended.
 */
extern bool standby_overflow_are_equal(PGconn *conn, char *const *snapshots,
									   int n);

/*
 * Exit with a message about this server: this many pauses of replay gave no
 * complete snapshot.
 */
pg_noreturn extern void standby_overflow_give_up_pauses(const OverflowLook *look,
														int n_pauses);

/*
 * In another session, which has imported a checked snapshot and exported it
 * again: exit with a message unless other sessions may import it.  The
 * transaction must hold the extension, unless that is missing.
 */
extern void standby_overflow_check(PGconn *conn,
								   const ServerExtension *extension,
								   const char *snapshot);

#endif							/* STANDBY_OVERFLOW_H */
