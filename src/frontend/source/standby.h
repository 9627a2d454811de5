/*
 * standby.h
 *		The hot standbys of one primary that a dump reads from (--also-from).
 *
 * The first one is the source's server: it has the leader's session, and the
 * plan and the definitions come from there.  On each of the other standbys
 * the leader has a first session, too.  This session has a snapshot of the
 * same rows (standby_snapshot.c) and locks on all tables, for the workers
 * that read there.  If a first session is lost, its standby is no longer
 * used, and its jobs go to the others.
 *
 * Rows that were read on a standby are correct if the first session had its
 * snapshot until then (leader_session.h explains why).  So a worker checks
 * this before its job counts (standby_has_snapshot()).
 */
#ifndef STANDBY_H
#define STANDBY_H

#include "plan/server_extension.h"

typedef struct Standby
{
	char	   *name;			/* "host:port", for messages */
	const PeerAddress *address;
	PGconn	   *conn;			/* first session; NULL after its loss */
	const char *snapshot;		/* as conn has exported it, or NULL */
	const char *identity;		/* of the snapshot, see snapshot.h */
	char	   *holder_query;	/* finds conn's backend while it has a
								 * snapshot */
	const char *last_words;		/* error that ended the session, or NULL */
} Standby;

typedef struct Standbys
{
	const Options *options;
	const char *option;			/* the option that needs standbys, for
								 * messages */
	Standby    *list;			/* the first is the source's server */
	int			n;
	char	   *lsn;			/* where replay was paused; or NULL */
	int			timeline;		/* of this position */
	struct StandbyPause **pauses;	/* while snapshots are taken */
	int			n_pauses;
} Standbys;

/*
 * Connect to all standbys of --also-from, and make the sessions' settings,
 * for the given option.  The first connection is the leader's, which the
 * leader keeps; without --also-from it is the only one.  A connection string
 * without a database or user gets those of the first connection.  Exits with
 * a message if a standby cannot be reached.
 */
extern Standbys *standby_open(const Options *options, PGconn *first,
							  const PeerAddress *address, const char *option);

/*
 * Open another session on this standby for a short time, with the same
 * settings; exits with a message on failure.
 */
extern PGconn *standby_session(const Standbys *standbys,
							   const Standby *standby);

/*
 * Notice the loss of the first session from now on.  It must have its
 * snapshot.
 */
extern void standby_watch(Standby *standby);

/*
 * Call this several times a second.  Notices lost first sessions, and warns.
 * The leader takes care of the first standby itself.
 */
extern void standby_keep(Standbys *standbys);

/*
 * A worker has found that the snapshot of this standby cannot be used: the
 * first session has ended, or the standby was promoted.  Warn, and close the
 * session, so that no other worker begins there.
 */
extern void standby_discard(Standby *standby);

/*
 * Run a short query in the first session (see session_look()).  Returns NULL,
 * after a warning, if it was lost.
 */
extern PGresult *standby_look(Standby *standby, const char *query);

/*
 * In a worker's session on this standby: has the first session had its
 * snapshot all the time until now?  Sets *has_not if it had not, but not if
 * this is unknown, for example because the query was canceled.
 */
extern bool standby_has_snapshot(const Standby *standby, PGconn *conn,
								 bool *has_not);

/* The names of all, in order; the array is owned, the names are not. */
extern const char **standby_names(const Standbys *standbys);

/*
 * Close all sessions except the first standby's, which belongs to the leader.
 */
extern void standby_close(Standbys *standbys);

/* ----------
 * Checks whether several servers can be read as one.
 *
 * findings_report() ends the run if there were errors.
 * ----------
 */

/*
 * Call this before the snapshots.  All servers must be hot standbys of the
 * same cluster, PostgreSQL 15 or newer, each named only once.  The
 * connections must use the same database and role, and have the same settings
 * that affect the text of values.  The user must be allowed to pause replay.
 * As far as can be seen, the primary must not wait for their replay (unless
 * --pause-synchronous is used).
 */
extern void standby_check(const Standbys *standbys);

/*
 * If the extension can be used on the first standby, check it on the others,
 * too; exits with a message if it cannot be used there.  Call this before the
 * snapshots.
 */
extern void standby_check_extension(const Standbys *standbys,
									const ServerExtension *extension);

/*
 * Call this after the snapshots: keep the extension from being dropped on
 * each standby, and check that its library is installed, because replay does
 * not copy it to a standby.
 */
extern void standby_hold_extension(const Standbys *standbys,
								   const ServerExtension *extension,
								   int wait_ms);

/*
 * Only check the library.  The transaction of the standby's session must
 * already hold the extension.
 */
extern void standby_check_library(const Standby *standby);

/* ----------
 * One snapshot on several standbys
 *
 * What a standby's snapshot sees depends only on how far WAL has been
 * replayed.  While replay is paused on all of them at the same position, they
 * have the same rows in the same blocks.  Snapshots that are taken and
 * exported during the pause keep this, as long as they exist.  A pause of a
 * tenth of a second is enough: rows are read after replay has resumed.
 *
 * The position where replay stops is a matter of chance.  If the positions
 * differ, replay is resumed at once, and after a moment another attempt is
 * made, for a minute.  The positions are usually the same if the standbys
 * have caught up and the primary writes in bursts, as it does when
 * transactions commit.
 *
 * Snapshots that lack running transactions (standby_overflow.h) cannot be
 * used.  Before each pause snapshots are taken without one, until none lacks
 * any; those of the pause are checked when it is over.  So the run never
 * waits while replay is paused.  If transactions overflow during a pause,
 * there is another pause, at most a few of them.
 *
 * If another user has paused replay on a standby, it stays paused.  If its
 * position is that of the others, it need not be paused here.
 * ----------
 */

/*
 * The longest pause, unless it is ended earlier.  A snapshot that is taken
 * later cannot be used.
 */
#define STANDBY_PAUSE_MS 5000

/*
 * Other sessions that take their snapshots while replay is paused.  "take" is
 * called when the first sessions have theirs, and "undo" if these snapshots
 * cannot be used.
 */
typedef struct StandbyOthers
{
	void		(*take) (void *arg);
	void		(*undo) (void *arg);
	void	   *arg;
} StandbyOthers;

/*
 * Begin transactions in the first sessions of all standbys, with the same
 * snapshot, and export it.  others may be NULL.  Exits with a message if the
 * timelines differ, if a user has paused a standby at another position, or if
 * no attempt succeeds.
 *
 * A lost session ends it with session_lost(), except that without others the
 * loss of a session that pauses replay exits with a message.
 */
extern void standby_snapshot_take(Standbys *standbys,
								  ServerExtension *extension,
								  const StandbyOthers *others);

/*
 * Call this after standby_snapshot_take() has ended with session_lost().
 * Resumes replay where it was paused for the snapshots, and returns when it
 * continues; exits with a message if it could not be resumed.  If no pause is
 * left, does nothing.
 */
extern void standby_snapshot_end_pauses(Standbys *standbys);

#endif							/* STANDBY_H */
