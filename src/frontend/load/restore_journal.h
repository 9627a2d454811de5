/*
 * restore_journal.h
 *		The journal of a restore: a table on the target that contains a line
 *		for each finished step.
 *
 * Workers write a line in the transaction that does the step.  The name of a
 * line is unique, so no step is done twice: neither by another worker after a
 * loss, nor by another run after a crash (--resume).  A session writes the
 * line before it begins the step.  If another session is doing the same step,
 * the INSERT waits for it, and then finds that the step is done.
 *
 * A crash of the server empties unlogged tables.  So the journal has another
 * table, which is unlogged and has one row: if that row is missing, the
 * server has crashed.
 *
 * restore_journal_open.h creates and removes the journal.  All functions
 * except restore_journal_check_attempt() also accept a journal that is NULL
 * or not kept: then nothing is noted, and nothing was done before.
 */
#ifndef RESTORE_JOURNAL_H
#define RESTORE_JOURNAL_H

#include "load/target.h"
#include "plan/archive_plan.h"
#include "stream/piece_ring.h"

/* ----------
 * The schema on the target that contains the journal.
 * ----------
 */

#define RESTORE_JOURNAL_SCHEMA "pardump_restore"

/*
 * The schema of the notes of a restore of all databases
 * (cluster/cluster_notes.h).
 */
#define RESTORE_JOURNAL_ALL_SCHEMA "pardump_restore_all"

/*
 * The state of a journal's schema, or of another schema of ours
 * (TARGET_OWN_SCHEMA).
 */
typedef struct RestoreJournalLook
{
	bool		exists;
	bool		is_own;			/* this role owns the schema and everything in
								 * it */
	bool		is_complete;
	bool		may_make;		/* the role may create one */
} RestoreJournalLook;

#define RESTORE_JOURNAL_OBJECTS "{" RESTORE_JOURNAL_SCHEMA ",running,run,done,no_crash}"
extern RestoreJournalLook restore_journal_look(PGconn *conn, const char *objects);

/*
 * Print how to allow the session's role to create one, as the hint of a
 * warning.
 */
extern void restore_journal_grant_hint(PGconn *conn);

/*
 * The advisory lock of a run without a journal (restore_journal_open.c):
 * "pard", and the number of the lock.  It belongs to one database.
 */
#define RESTORE_JOURNAL_DATABASE_LOCK "1885434468, 1"

/*
 * Which session holds that lock?  Any role can take it.  Owned, NULL if none
 * does.  If has_journal is true the journal must be open.
 */
extern char *restore_journal_holder(PGconn *conn, bool has_journal);

/* ----------
 * Statements on the journal that may have to wait for other sessions, and
 * report that.
 *
 * A session that writes a line waits for another session that has written the
 * same line and has not committed it: another attempt at the same work.  That
 * attempt may be working for hours; or its process is stopped, or its host
 * hangs, which the server does not notice as long as that host's kernel
 * answers.  Silence does not distinguish these cases: an attempt that reads
 * many rows to find a few sends nothing for a long time either.  So no
 * session is ended because of this, and the wait is not given up.  But a
 * warning names the session that keeps this one waiting, and how to end it.
 * ----------
 */

/* The text of the warning about a wait. */
typedef struct RestoreJournalWait
{
	const char *message;		/* contains %d for seconds, and may contain %s
								 * for the name */
	const char *hint;
} RestoreJournalWait;

/*
 * PQexecParams(); for several statements, which must have no parameters, the
 * result of the last one.  If other sessions have kept it waiting for some
 * seconds, and later again, a warning names them.  Another session queries
 * them.
 */
extern PGresult *restore_journal_wait_exec(const Target *target, PGconn *conn,
										   const RestoreJournalWait *wait, const char *name,
										   const char *sql, int n_params,
										   const char *const *params);

/* ----------
 * Names of lines.
 * ----------
 */

/* The lines of stages. */
#define RESTORE_JOURNAL_DATABASE "database"
#define RESTORE_JOURNAL_DROP "drop"
#define RESTORE_JOURNAL_DEFINITIONS "definitions"
#define RESTORE_JOURNAL_LOST "unlogged rows lost"
#define RESTORE_JOURNAL_ROWS "rows and indexes"
#define RESTORE_JOURNAL_REST "rest"

/*
 * The names of the lines of a data file, of a piece of one, of a group of
 * large objects, and of a data file that --no-data-for-failed-tables leaves
 * out; owned.
 */
extern char *restore_journal_file(const DataFile *file);
extern char *restore_journal_piece(const DataFile *file, uint64 piece);
extern char *restore_journal_group(const ArchiveGroup *place,
								   const LargeObjectGroup *group);
extern char *restore_journal_left_out(const DataFile *file);

/* A step that earlier runs have done. */
typedef struct RestoreJournalLine
{
	char	   *name;
	int			errors;			/* errors that were reported and ignored */
	int64		crc;			/* of a piece, if the journal has_crcs; else
								 * -1 */
} RestoreJournalLine;

/* The state of the journal in the leader, which forked processes inherit. */
typedef struct RestoreJournal
{
	const Target *target;		/* where the journal is */
	PGconn	   *lock;			/* a session of the leader that only holds the
								 * lock that keeps other runs away
								 * (restore_journal_open.c) */
	PGconn	   *next;			/* session that will replace it, or NULL */
	int			backend;		/* the process ID of its backend */
	int64		connected_at;	/* clock_monotonic_ms() */
	bool		is_kept;		/* false if the role cannot create a schema */
	bool		has_crcs;		/* lines of pieces contain the CRC of the
								 * piece, as each run may read another text */
	bool		is_resumed;		/* an earlier run has begun it */
	bool		is_ending;		/* its removal was begun, and may be done */
	bool		is_gone;		/* its removal is done */
	int			attempt;		/* number of the run among those that share
								 * the journal; that of the first one is
								 * random */
	RestoreJournalLine *lines;	/* lines of earlier runs, sorted by name */
	int			n_lines;

	/*
	 * Exits with a message if a crash has removed rows that --resume must
	 * restore.  Called in a new session before it loads rows, and at the end,
	 * in the transaction that removes the journal.  May be NULL.
	 */
	void		(*check_crash) (const void *arg, PGconn *conn, bool at_end);
	const void *check_arg;
} RestoreJournal;

/* The name of an entry's line; owned. */
extern char *restore_journal_entry(const TocEntry *entry);

/*
 * The line with this name from earlier runs, NULL if there is none.  Lines of
 * this run are not among them.
 */
extern const RestoreJournalLine *restore_journal_find(const RestoreJournal *journal, const char *name);

/* Is there such a line?  restore_journal_has() frees the name. */
extern bool restore_journal_is_done(const RestoreJournal *journal, const char *name);
extern bool restore_journal_has(const RestoreJournal *journal, char *name);

/*
 * Claim the step with this name, in the session's transaction, before it is
 * done.  Returns false if it was done already; the transaction can continue.
 * Waits while another transaction is doing the step, with a message (see
 * above).  Exits with a message if another run has taken over.
 */
extern bool restore_journal_claim(const RestoreJournal *journal, PGconn *conn, const char *name);

/*
 * Claim several steps in this way.  Returns false if any of them was done
 * already; then the session must roll back.
 */
extern bool restore_journal_claim_all(const RestoreJournal *journal, PGconn *conn,
									  char *const *names, int n);

/* In a transaction: begin a new journal for this archive and selection. */
extern void restore_journal_begin(const RestoreJournal *journal, PGconn *conn,
								  const char *archive, const char *selection);

/*
 * restore_journal_mark() writes the row that a crash of the server removes,
 * unless it exists; restore_journal_has_crashed() checks whether a crash has
 * removed it.  A new journal has the row.
 */
extern void restore_journal_mark(const RestoreJournal *journal, PGconn *conn);
extern bool restore_journal_has_crashed(const RestoreJournal *journal, PGconn *conn);

/*
 * Note that a step is done, with this number of reported errors, in the
 * session's current transaction, or at once if there is none.
 */
extern void restore_journal_done(const RestoreJournal *journal, PGconn *conn, const char *name,
								 int errors);

/*
 * In the session's transaction: with how many errors was a step done that
 * could not be claimed?  And note this number for a step that was claimed.
 */
extern int	restore_journal_errors(const RestoreJournal *journal, PGconn *conn, const char *name);
extern void restore_journal_set_errors(const RestoreJournal *journal, PGconn *conn,
									   const char *name, int errors);

/*
 * Record the CRC of the piece with this name, which the session's transaction
 * has claimed, in a journal that has_crcs.
 */
extern void restore_journal_set_crc(const RestoreJournal *journal, PGconn *conn,
									const char *name, pg_crc32c crc);

/* All pieces of a file that this run and earlier ones have committed. */
extern PieceSums restore_journal_pieces(const RestoreJournal *journal,
										PGconn *conn, const DataFile *file);

/*
 * Exits with a message if another run has taken over, or if the journal's
 * name belongs to an object of another role.  In a transaction, its owner
 * cannot change until the end.  The second function exits with the message
 * that another run has taken over.
 */
extern void restore_journal_check_attempt(const RestoreJournal *journal, PGconn *conn);
pg_noreturn extern void restore_journal_refuse_taken_over(void);

/*
 * restore_journal_done() if the session, which may be NULL, still exists;
 * false if it does not.
 */
extern bool restore_journal_try_done(const RestoreJournal *journal, PGconn *conn,
									 const char *name);

/*
 * target_commit() and target_commit_is_done() for a transaction that writes
 * lines.  If the journal is kept, the lines show whether the transaction was
 * committed.
 */
extern void restore_journal_commit(const RestoreJournal *journal, PGconn *conn,
								   TargetCommit *commit);
extern bool restore_journal_is_committed(const RestoreJournal *journal, PGconn *conn,
										 const Target *target,
										 TargetCommit *commit);

#endif							/* RESTORE_JOURNAL_H */
