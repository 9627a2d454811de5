/*
 * restore_pieces.h
 *		Loads rows of an archive: a file by one COPY, or a table by several
 *		workers, in pieces of what one of them reads.
 */
#ifndef RESTORE_PIECES_H
#define RESTORE_PIECES_H

#include "archive/archive_member.h"
#include "status/run.h"
#include "stream/piece_ring.h"

/* ----------
 * Loads rows of an archive by one COPY.
 * ----------
 */

/* What came of it. */
typedef struct RestoredRows
{
	uint64		rows;			/* that the server took */
	uint64		bytes;			/* of them, as text */
	char	   *error;			/* nothing was taken, for this reason; owned;
								 * NULL if all went well */
	bool		unread;			/* the reason is what was read of a file of
								 * the archive */
} RestoredRows;

/*
 * Load the rows of n entries by a COPY into the table of this OID, as
 * sink_target_rows_new() has it, in the session's transaction, all or
 * nothing; *progress is the bytes so far.  The first of them may have been
 * opened, else first is NULL; it is borrowed.  After an error the transaction
 * is of no use.  A connection that is lost ends the process.
 */
extern RestoredRows restore_rows(PGconn *conn, const char *copy, Oid table,
								 Oid *later, const Archive *archive,
								 const ArchiveRows *const *rows, int n,
								 ArchiveMember *first,
								 volatile uint64 *progress);

/* How many rows these have, if the manifest says it; false if it does not. */
extern bool restore_rows_wanted(const ArchiveRows *const *sources, int n,
								uint64 *rows);

/*
 * Before a COMMIT: constraints may be checked only at the end of a
 * transaction, where they would be in the way of more than these rows.  So
 * they are checked now, if there can be any yet.  What is wrong, owned, or
 * NULL.
 */
extern char *restore_rows_settle(PGconn *conn, const Options *options);

/* ----------
 * Tables that prove to be long, however small they are in the archive.
 *
 * What a file of a stock archive holds is known when it is decompressed, and
 * no sooner: what its headers say need not be true.  So before a worker loads
 * a table that is whole in the archive it decompresses it up to the length of
 * a piece.  What ends there is loaded from memory, by one COPY.  What does
 * not is left to all workers, who share it in pieces when the other jobs are
 * done.
 * ----------
 */

typedef struct LongFiles
{
	const Archive *archive;
	const ArchivePlan *plan;
	uint64		piece_bytes;
	volatile bool *is_long;		/* by data file: it is left to all; in shared
								 * memory */
	volatile int *n_long;		/* how many have proved to be; the same */
} LongFiles;

/* Before workers are forked; never freed. */
extern LongFiles *restore_long_new(const Archive *archive,
								   const ArchivePlan *plan,
								   uint64 piece_bytes);

typedef struct RestoreRings RestoreRings;

/*
 * In a worker, before it loads the file: is it left to all?  Else *text is
 * its rows if they were looked at, or NULL; owned.
 *
 * At most ARCHIVE_SHARED_TABLES are left: those that come first, which are
 * largest in the archive.  More would not keep more workers busy.
 *
 * Of an archive that commands return, true means that the worker loads the
 * file in pieces (restore_rings_load()), and *text is what it has read of it,
 * or NULL.  Without rings it is false.
 */
extern bool restore_long_look(const LongFiles *files,
							  const RestoreRings *rings, const DataFile *file,
							  ArchiveMember **text);

/*
 * In the leader: how many jobs for each file that these jobs of the plan's
 * queue have left.  Owned.
 */
extern JobQueue *restore_long_queue(const LongFiles *files, int first_job,
									int n_jobs, int n_shares);

typedef struct SharedRows SharedRows;

/* What a worker brings along. */
typedef struct PieceLoader
{
	PGconn	   *conn;
	const Target *target;
	const Archive *archive;
	const Run  *run;
	Oid			table;			/* that the rows go to */
	const RestoreJournal *journal;
	ArchiveMember *text;		/* of the file, from its beginning, if it is
								 * open; else NULL.  Taken over */
	volatile int *n_read_again; /* see RestoreWork */
	volatile bool *must_restart;

	/*
	 * A piece of the file could not be loaded, or the rest of it not read,
	 * for this reason, which is taken over.  Need not return.
	 */
	void		(*failed) (void *arg, const DataFile *file, char *reason);
	void	   *arg;
} PieceLoader;

/*
 * For a file that n_workers workers may share; before they are forked.  Never
 * freed.
 */
extern SharedRows *restore_pieces_new(int n_workers, uint64 piece_bytes);

/*
 * In a worker: take part until all pieces are taken, each of which is one
 * transaction, done exactly once.  The file's result grows as they are done.
 */
extern void restore_pieces_run(SharedRows *shared, const PieceLoader *loader,
							   const DataFile *file, const ArchiveRows *rows);

/* In the leader: no process takes part any more; its memory is given back. */
extern void restore_pieces_end(SharedRows *shared);

/* ----------
 * Files that commands return, and that prove to be long while a worker reads
 * them.
 *
 * The worker continues, as others would have to read the file again.  It
 * loads pieces of it by itself as long as there are other jobs; workers for
 * which there is no job any more help it.  There are as many rings as
 * workers, and each is used for one file after the other.
 *
 * A command may return other rows each time.  The journal has the CRC of each
 * piece that was committed, also by an earlier run.  When the file is
 * complete, all of these must be of the rows that were read last.  So without
 * a journal there are no rings.
 * ----------
 */

/*
 * For n_workers workers, before they are forked.  Never freed; and in the
 * leader, when no process uses them any more, give back most of their memory.
 */
extern RestoreRings *restore_rings_new(int n_workers, uint64 piece_bytes);
extern void restore_rings_end(RestoreRings *rings);

/*
 * In a worker: load the file, until all of it is committed.  Other workers,
 * and processes before this one, may have a part in that.  *done, in shared
 * memory, is false at first, and is set then.  False if it cannot be, which
 * another process reports, and ends the run.  Exits with a message if pieces
 * of other rows were committed.
 */
extern bool restore_rings_load(RestoreRings *rings, const PieceLoader *loader,
							   const DataFile *file, const ArchiveRows *rows,
							   volatile bool *done);

/*
 * In a worker without a job: the file that this ring is being used for, by
 * its number in the plan; -1 for none.  And take part in loading it.
 */
extern int	restore_rings_file(const RestoreRings *rings, int ring);
extern void restore_rings_help(RestoreRings *rings, int ring,
							   const PieceLoader *loader, const DataFile *file,
							   const ArchiveRows *rows);

#endif							/* RESTORE_PIECES_H */
