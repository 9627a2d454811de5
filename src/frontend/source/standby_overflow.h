/*
 * standby_overflow.h
 *		Takes snapshots of hot standbys that lack no running transaction.
 *
 * Before the minor releases of 12 November 2026 a snapshot that was taken
 * during recovery, and whose list of subtransactions has overflowed, is
 * exported without the transactions that were running.  A session that
 * imports such a snapshot takes them for ended ones.  It reads wrong rows,
 * and it may set hint bits that make the standby show wrong rows to all
 * sessions, for good.
 *
 * The file of the exported snapshot shows that (shared/snapshot_text.h).  So
 * the file decides, not the version of the server: packages may have the
 * fix earlier, and what matters is the time when the snapshot was taken, and
 * not whether the server is in recovery now.
 *
 * A snapshot overflows when a transaction on the primary gets its 64th
 * subtransaction, or, with wal_level = logical, when it writes in a
 * subtransaction before it has written outside one; and snapshots stay
 * overflowed until all transactions have ended that are not newer.  So it
 * helps to wait, and to take another snapshot.
 *
 * No session, pg_dump's included, may import a snapshot before it was checked
 * here, or with standby_overflow_check().
 */
#ifndef STANDBY_OVERFLOW_H
#define STANDBY_OVERFLOW_H

#include "source/standby.h"

/* One server that snapshots are taken on. */
typedef struct OverflowLook
{
	PGconn	   *conn;			/* has no transaction */
	const Standby *standby;		/* one of several, or NULL */
	const Options *options;
	ServerExtension *extension; /* is held where it is called */
	bool		reported;		/* that the snapshots cannot be checked */
	int64		left_ms;		/* for how long we may wait yet */
	bool		needs_no_check; /* the snapshot was taken, and by a server
								 * that was not in recovery */
} OverflowLook;

/*
 * For the source's own server, and a standby of several, whose own session
 * has no transaction.
 */
extern OverflowLook standby_overflow_look(PGconn *conn, const Standby *standby,
										  const Options *options,
										  ServerExtension *extension);

/*
 * Begin the leader's transaction (snapshot_begin_leader()), in the given
 * snapshot unless that is NULL.  Returns the exported snapshot, which was
 * checked; owned.  Waits for one, and exits with a message if there is none.
 */
extern char *standby_overflow_begin(OverflowLook *look, const char *given);

/*
 * Wait until a snapshot on each of these servers has not overflowed; none is
 * kept.  Exits with a message if that takes too long.  Returns for how long
 * it has waited, in milliseconds.
 */
extern int64 standby_overflow_wait(OverflowLook *looks, int n);

/* Has this server's transaction exported a snapshot that lacks nothing? */
extern bool standby_overflow_is_complete(OverflowLook *look,
										 const char *snapshot);

/*
 * Are the contents of these exported snapshots equal, as far as the role can
 * read their files?
 */
extern bool standby_overflow_are_equal(PGconn *conn, char *const *snapshots,
									   int n);

/*
 * This many pauses of replay gave no complete snapshot: exit with a message
 * about this server.
 */
pg_noreturn extern void standby_overflow_give_up_pauses(const OverflowLook *look,
														int n_pauses);

/*
 * In another session, which has imported a snapshot that was checked, and has
 * exported that again: exit with a message unless others may import it.  The
 * transaction holds the extension, unless that is missing.
 */
extern void standby_overflow_check(PGconn *conn,
								   const ServerExtension *extension,
								   const char *snapshot);

#endif							/* STANDBY_OVERFLOW_H */
