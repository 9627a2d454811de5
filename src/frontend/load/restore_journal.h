/*
 * restore_journal.h
 *		What a restore has done, noted on the target in the transaction that
 *		does it.
 *
 * A table on the target (restore_journal_open.h) has a line for each thing
 * that is done, whose name is unique.  So nothing is done twice: neither by
 * another worker after a loss, nor by another run after a crash.  A session
 * that is about to do something writes its line first, which waits for
 * anybody who is at it, and finds that it is done when he was done.
 *
 * A crash of the server empties unlogged tables.  Another table of the log is
 * unlogged, too, and has one row: if that is missing, the server has crashed.
 *
 * All functions but restore_journal_check_attempt() also take a journal that
 * is NULL, or not kept: then nothing is noted, and nothing was done before.
 */
#ifndef RESTORE_JOURNAL_H
#define RESTORE_JOURNAL_H

#include "libpq-fe.h"

#include "archive/toc.h"
#include "load/target.h"
#include "plan/archive_plan.h"
#include "stream/piece_ring.h"

/* ----------
 * The schema on the target in which everything of a log is.
 * ----------
 */

#define RESTORE_JOURNAL_SCHEMA "pardump_restore"

/* Of the notes of a restore of all databases (cluster/cluster_notes.h). */
#define RESTORE_JOURNAL_ALL_SCHEMA "pardump_restore_all"

/* Of a log, with its schema or another one of ours (TARGET_OWN_SCHEMA). */
typedef struct RestoreJournalLook
{
	bool		exists;
	bool		is_own;			/* all that its schema has is this role's */
	bool		is_complete;
	bool		may_make;		/* the role may make one */
} RestoreJournalLook;

#define RESTORE_JOURNAL_OBJECTS "{" RESTORE_JOURNAL_SCHEMA ",running,run,done,no_crash}"
extern RestoreJournalLook restore_journal_look(PGconn *conn, const char *objects);

/* How to let the session's role make one, as the hint of a warning. */
extern void restore_journal_grant_hint(PGconn *conn);

/*
 * The advisory lock of a run without a log (restore_journal_open.c): "pard",
 * and which lock of ours it is; it is the database's.
 */
#define RESTORE_JOURNAL_DATABASE_LOCK "1885434468, 1"

/*
 * Which session holds that lock, which any role can; owned, NULL if none
 * does.  A run with a log must have it open.
 */
extern char *restore_journal_holder(PGconn *conn, bool has_log);

/* ----------
 * Statements on the log that may have to wait for other sessions, and
 * report that.
 *
 * A session that writes a line waits for one that has written the same line
 * and has not committed it: another attempt at the same work.  That may be at
 * work for hours; or its process is stopped, or its host hangs, of which the
 * server sees nothing as long as that host's kernel answers.  Silence does
 * not tell them apart: an attempt that reads many rows to find a few sends
 * nothing for long either.  So no session is ended for that, and the wait is
 * not given up; but it is told who keeps this session waiting, and how to end
 * that.
 * ----------
 */

/* What waits for another session; for messages. */
typedef struct RestoreJournalWait
{
	const char *message;		/* with %d seconds, and the name as %s */
	const char *hint;
} RestoreJournalWait;

/*
 * PQexecParams(); of several statements, without parameters, the last one's
 * result.  When other sessions have kept it waiting for some seconds, and
 * later again, that is a warning that names them, for which it asks in
 * another session.
 */
extern PGresult *restore_journal_wait_exec(const Target *target, PGconn *conn,
										   const RestoreJournalWait *wait, const char *name,
										   const char *sql, int n_params,
										   const char *const *params);

/* ----------
 * Names of lines in the log of a restore.
 * ----------
 */

/* Stages. */
#define RESTORE_JOURNAL_DATABASE "database"
#define RESTORE_JOURNAL_DROP "drop"
#define RESTORE_JOURNAL_DEFINITIONS "definitions"
#define RESTORE_JOURNAL_LOST "unlogged rows lost"
#define RESTORE_JOURNAL_ROWS "rows and indexes"
#define RESTORE_JOURNAL_REST "rest"

/*
 * Of a data file, of a piece of one, of a group of large objects, and of a
 * data file that --no-data-for-failed-tables leaves out; owned.
 */
extern char *restore_journal_file(const DataFile *file);
extern char *restore_journal_piece(const DataFile *file, uint64 piece);
extern char *restore_journal_group(const ArchiveGroup *place,
								   const LargeObjectGroup *group);
extern char *restore_journal_left_out(const DataFile *file);

/* Something that runs before this one have done. */
typedef struct RestoreJournalLine
{
	char	   *name;
	int			errors;			/* that were told, and passed over */
	int64		crc;			/* of a piece, if the journal has_crcs; else
								 * -1 */
} RestoreJournalLine;

/* The leader's; processes that are forked inherit it. */
typedef struct RestoreJournal
{
	const Target *target;		/* where it is: for another session there */
	PGconn	   *lock;			/* the leader's, for nothing but the lock that
								 * keeps other runs away
								 * (restore_journal_open.c) */
	PGconn	   *next;			/* that is to take its place; or NULL */
	int			backend;		/* the process of its session */
	int64		connected_at;	/* clock_monotonic_ms() */
	bool		is_kept;		/* false if the role may make no schema */
	bool		has_crcs;		/* lines of pieces have the CRC of the piece:
								 * each run may read another one */
	bool		is_resumed;		/* an earlier run has begun it */
	bool		is_ending;		/* its removal was begun: it may be done */
	bool		is_gone;		/* it is done */
	int			attempt;		/* which run of those that share it: the first
								 * one's is random */
	RestoreJournalLine *lines;	/* of runs before, by name */
	int			n_lines;

	/*
	 * Exits with a message if a crash has taken what --resume is to restore.
	 * Called in a new session that is to load rows, and, at the end, in the
	 * transaction that removes the log.  Or NULL.
	 */
	void		(*check_crash) (const void *arg, PGconn *conn, bool at_end);
	const void *check_arg;
} RestoreJournal;

/* The name of an entry's line; owned. */
extern char *restore_journal_entry(const TocEntry *entry);

/*
 * The line of what earlier runs have done, NULL if there is none.  What this
 * run does is not among them.
 */
extern const RestoreJournalLine *restore_journal_find(const RestoreJournal *journal, const char *name);

/* Is there one?  The latter frees the name. */
extern bool restore_journal_is_done(const RestoreJournal *journal, const char *name);
extern bool restore_journal_has(const RestoreJournal *journal, char *name);

/*
 * In the session's transaction, before it does what has this name: false if
 * it is done already; what the transaction has done by then stays.  Waits
 * while another transaction is at it, with a message (see above).  Exits with
 * a message if another run has taken over.
 */
extern bool restore_journal_claim(const RestoreJournal *journal, PGconn *conn, const char *name);

/*
 * The same with all of these.  False if any is done already: the session is
 * to roll back then.
 */
extern bool restore_journal_claim_all(const RestoreJournal *journal, PGconn *conn,
									  char *const *names, int n);

/* In a transaction: begin a new log, of this archive and selection. */
extern void restore_journal_begin(const RestoreJournal *journal, PGconn *conn,
								  const char *archive, const char *selection);

/*
 * Write the row that a crash of the server removes, unless it exists; and
 * look whether a crash has removed it.  A new log has it.
 */
extern void restore_journal_mark(const RestoreJournal *journal, PGconn *conn);
extern bool restore_journal_has_crashed(const RestoreJournal *journal, PGconn *conn);

/*
 * It is done, with this number of errors that were reported, by the session's
 * transaction or, without one, by now.
 */
extern void restore_journal_done(const RestoreJournal *journal, PGconn *conn, const char *name,
								 int errors);

/*
 * In the session's transaction: with how many errors something was done that
 * could not be claimed, and that what it has claimed was done with that
 * number.
 */
extern int	restore_journal_errors(const RestoreJournal *journal, PGconn *conn, const char *name);
extern void restore_journal_set_errors(const RestoreJournal *journal, PGconn *conn,
									   const char *name, int errors);

/*
 * In the session's transaction, of a journal that has_crcs: the piece with
 * this name, which it has claimed, has this CRC.
 */
extern void restore_journal_set_crc(const RestoreJournal *journal, PGconn *conn,
									const char *name, pg_crc32c crc);

/* All pieces of a file that this run and earlier ones have committed. */
extern PieceSums restore_journal_pieces(const RestoreJournal *journal,
										PGconn *conn, const DataFile *file);

/*
 * Exits with a message if another run has taken over, or if what has the
 * log's name is not this role's; in the session's transaction, if it has one,
 * its owner does not change then.  The other says that one has.
 */
extern void restore_journal_check_attempt(const RestoreJournal *journal, PGconn *conn);
pg_noreturn extern void restore_journal_refuse_taken_over(void);

/*
 * As restore_journal_done(), if the session, which may be NULL, still lives;
 * false if it does not.
 */
extern bool restore_journal_try_done(const RestoreJournal *journal, PGconn *conn,
									 const char *name);

/*
 * As target_commit() and target_commit_is_done(), for a transaction whose
 * lines, if the log is kept, show that it is done.
 */
extern void restore_journal_commit(const RestoreJournal *journal, PGconn *conn,
								   TargetCommit *commit);
extern bool restore_journal_is_committed(const RestoreJournal *journal, PGconn *conn,
										 const Target *target,
										 TargetCommit *commit);

#endif							/* RESTORE_JOURNAL_H */
