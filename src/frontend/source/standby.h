/*
 * standby.h
 *		The hot standbys of one primary that a dump reads from (--also-from).
 *
 * The first is the source's server: of it are the plan, the definitions, and
 * the leader's session.  On each of the others the leader has a first
 * session, too, which has a snapshot of the same rows (standby_snapshot.c)
 * and locks on all tables, for workers that read there.  A standby whose
 * first session is lost is lost: its jobs go to the others.
 *
 * What was read there before is right as long as the first session had its
 * snapshot until then (leader_session.h says why); who has read asks that
 * before it counts (standby_has_snapshot()).
 */
#ifndef STANDBY_H
#define STANDBY_H

#include "plan/server_extension.h"

typedef struct Standby
{
	char	   *name;			/* "host:port", for messages */
	const PeerAddress *address;
	PGconn	   *conn;			/* first session; NULL once that is lost */
	const char *snapshot;		/* as this has exported it, or NULL */
	const char *identity;		/* of that, see snapshot.h */
	char	   *holder_query;	/* finds it while it has a snapshot */
	char	   *last_words;		/* by which the server ended it, or NULL */
} Standby;

typedef struct Standbys
{
	const Options *options;
	const char *option;			/* that needs them, for messages */
	Standby    *list;			/* the first is the source's server */
	int			n;
	char	   *lsn;			/* where replay was paused; or NULL */
	int			timeline;		/* of that */
} Standbys;

/*
 * Connect to all that --also-from names, and set the sessions up, for this
 * option.  The first connection is the leader's, which it keeps; without
 * --also-from there is no other.  Connection strings without a
 * database or user are completed by those of the first.  Exits with a message
 * if one cannot be reached.
 */
extern Standbys *standby_open(const Options *options, PGconn *first,
							  const PeerAddress *address, const char *option);

/*
 * One more session there, for a moment, set up alike; exits with a message if
 * there is none.
 */
extern PGconn *standby_session(const Standbys *standbys,
							   const Standby *standby);

/* From now on the first session's loss is noticed; it has its snapshot. */
extern void standby_watch(Standby *standby);

/*
 * Several times a second: notice which ones are lost, and warn.  The first is
 * the leader's to look after.
 */
extern void standby_keep(Standbys *standbys);

/*
 * Look at the server in its first session (see session_look()).  NULL if it
 * is lost by now, of which a warning tells.
 */
extern PGresult *standby_look(Standby *standby, const char *query);

/*
 * In a worker's session there: has the first session had its snapshot up to
 * now?
 */
extern bool standby_has_snapshot(const Standby *standby, PGconn *conn);

/* Their names, the first one's first; owned, but not the names. */
extern const char **standby_names(const Standbys *standbys);

/* Close the sessions but the first standby's, which is the leader's. */
extern void standby_close(Standbys *standbys);

/* ----------
 * Can these servers be read as one?
 *
 * Errors are for findings_report() to end the run.
 * ----------
 */

/*
 * Before there is a snapshot: all must be hot standbys, from 14 on, of one
 * cluster, none of them twice; with the same database and roles, and settings
 * by which the same values are written alike; whose replay the user may
 * pause, and that the primary does not wait for, as far as can be seen
 * (--pause-synchronous).
 */
extern void standby_check(const Standbys *standbys);

/*
 * The extension, if it can be used on the first, is judged there as well, and
 * exits with a message if it cannot.  Before the snapshots.
 */
extern void standby_check_extension(const Standbys *standbys,
									const ServerExtension *extension);

/*
 * With them: keep it on each, and make sure that its library is there, too,
 * which is not a part of what a standby replays.
 */
extern void standby_hold_extension(const Standbys *standbys,
								   const ServerExtension *extension,
								   int wait_ms);

/*
 * The last part of that, by itself: the transaction of the standby's session
 * holds the extension.
 */
extern void standby_check_library(const Standby *standby);

/* ----------
 * One snapshot on several standbys
 *
 * What a standby's snapshot sees is decided by how far the log is replayed.
 * While replay is paused on all of them at the same place, by streams that
 * went on up to there, they have the same rows, in the same blocks; so have
 * snapshots that are taken then, and exported, for as long as they live.  A
 * tenth of a second is enough: rows are read after replay has resumed.
 *
 * Where replay stops is a matter of chance: if the places differ it is
 * resumed at once, and after a moment another try is made, for a minute.
 * Places are the same most of the time where the standbys have caught up, and
 * the primary writes in bursts, as it does when transactions commit.
 *
 * Snapshots that lack running transactions (standby_overflow.h) are of no
 * use.  Before each pause snapshots are taken without one, until none of them
 * lacks any; those of the pause are checked when it is over.  So the run
 * never waits while replay is paused.  If transactions overflow just then
 * there is another pause, at most a few of them.
 *
 * Replay that another user has paused stays so: a standby that is paused at
 * the place of the others, or with them, is as good as one that was paused
 * here.
 * ----------
 */

/*
 * While replay is paused, other sessions take their snapshots, too: "take" is
 * called when the first sessions have theirs, and "undo" if these snapshots
 * are of no use.
 */
typedef struct StandbyOthers
{
	void		(*take) (void *arg);
	void		(*undo) (void *arg);
	void	   *arg;
} StandbyOthers;

/*
 * Begin transactions in the first sessions of all, with one snapshot, and
 * export it; others may be NULL.  Exits with a message if the timelines
 * differ, if a standby that someone has paused is elsewhere, or if there is
 * no such moment.
 */
extern void standby_snapshot_take(Standbys *standbys,
								  ServerExtension *extension,
								  const StandbyOthers *others);

#endif							/* STANDBY_H */
