/*
 * restore_pieces.h
 *		Loads rows of an archive: files with one COPY, or one file by several
 *		workers, in pieces of the text that one of them reads.
 */
#ifndef RESTORE_PIECES_H
#define RESTORE_PIECES_H

#include "archive/archive_member.h"
#include "status/run.h"
#include "stream/piece_ring.h"

/* ----------
 * Loads rows of an archive with one COPY.
 * ----------
 */

/* The result of the COPY. */
typedef struct RestoredRows
{
	uint64		rows;			/* inserted by the server */
	uint64		bytes;			/* of these rows, as text */
	char	   *error;			/* the error, after which nothing is inserted;
								 * owned; NULL on success */
	const TocEntry *entry;		/* the error occurred when its file was read;
								 * NULL if there was another or no error */
} RestoredRows;

/*
 * Load the rows of n entries with one COPY into the table with this OID, in
 * the session's transaction.  For "later", see sink_target_rows_new().
 * *progress is increased by the bytes of the rows.  "first" is the member of
 * the first entry if it was opened already, otherwise NULL; it is borrowed.
 *
 * After an error, nothing is inserted, and the transaction must be rolled
 * back.  A lost connection ends the process.
 */
extern RestoredRows restore_rows(PGconn *conn, const char *copy, Oid table,
								 Oid *later, const Archive *archive,
								 const ArchiveRows *const *rows, int n,
								 ArchiveMember *first,
								 volatile uint64 *progress);

/*
 * Set *rows to the number of rows that the manifest has for these entries.
 * Returns false if the manifest, or an entry in it, is missing.
 */
extern bool restore_rows_wanted(const ArchiveRows *const *sources, int n,
								uint64 *rows);

/*
 * To be called before the COMMIT: check deferred constraints now, if
 * constraints can exist before the rows.  If they were checked in the COMMIT,
 * an error would end the run.  Returns the error, owned, or NULL.
 */
extern char *restore_rows_settle(PGconn *conn, const Options *options);

/* ----------
 * Tables that turn out to be long when they are read.
 *
 * The length of the rows in an archive of pg_dump is not known before they
 * are decompressed, and headers of compressed data may be wrong.  So before a
 * worker loads a table that is a single file, it decompresses up to one piece
 * of it.  If the rows end there, the worker loads them from memory, with one
 * COPY.  Otherwise, the worker leaves the file, and all workers load it
 * together, in pieces, when the other jobs are done.
 * ----------
 */

typedef struct LongFiles
{
	const Archive *archive;
	const ArchivePlan *plan;
	uint64		piece_bytes;
	volatile bool *is_long;		/* by data file: the file has turned out to be
								 * long; in shared memory */
	volatile int *n_long;		/* number of such files; in shared memory */
} LongFiles;

/* To be called before workers are forked; the result is never freed. */
extern LongFiles *restore_long_new(const Archive *archive,
								   const ArchivePlan *plan,
								   uint64 piece_bytes);

typedef struct RestoreRings RestoreRings;

/*
 * In a worker, before it loads the file: returns true if the file is left to
 * all workers.  Otherwise *text is the opened member if its beginning was
 * read, owned, or NULL.
 *
 * At most ARCHIVE_SHARED_TABLES files are left to all: the first ones, which
 * are the largest in the archive.  More would not keep more workers busy.
 *
 * If commands return the files, true means that the worker must load the file
 * in pieces (restore_rings_load()).  *text is the member if this call has
 * opened it, or NULL.  Without rings, such a file is never found to be long.
 */
extern bool restore_long_look(const LongFiles *files,
							  const RestoreRings *rings, const DataFile *file,
							  ArchiveMember **text);

/*
 * In the leader: a queue of the long files that these jobs of the plan's
 * queue have left, with n_shares jobs for each of them.  Owned.
 */
extern JobQueue *restore_long_queue(const LongFiles *files, int first_job,
									int n_jobs, int n_shares);

typedef struct SharedRows SharedRows;

/* The worker's part of loading a file in pieces. */
typedef struct PieceLoader
{
	PGconn	   *conn;
	const Target *target;
	const Archive *archive;
	const Run  *run;
	Oid			table;			/* the table to load */
	const RestoreJournal *journal;
	ArchiveMember *text;		/* the file at its beginning, if it was opened
								 * already, or NULL; taken over */
	volatile int *n_read_again; /* see RestoreWork, also for must_restart */
	volatile bool *must_restart;

	/*
	 * Called if a piece of the file could not be loaded, or the rest of the
	 * file could not be read.  Takes over the reason.  It need not return.
	 */
	void		(*failed) (void *arg, const DataFile *file, char *reason);
	void	   *arg;
} PieceLoader;

/*
 * For a file that n_workers workers may share.  To be called before they are
 * forked; the result is never freed.
 */
extern SharedRows *restore_pieces_new(int n_workers, uint64 piece_bytes);

/*
 * In a worker: load pieces until all are taken.  Each piece is one
 * transaction, and is loaded exactly once.  The result of the file is updated
 * after each piece.
 */
extern void restore_pieces_run(SharedRows *shared, const PieceLoader *loader,
							   const DataFile *file, const ArchiveRows *rows);

/*
 * In the leader: free the memory of the pieces, after the last process has
 * ended its part.
 */
extern void restore_pieces_end(SharedRows *shared);

/* ----------
 * Files that commands return, and that turn out to be long while a worker
 * reads them.
 *
 * That worker keeps reading, because another worker would have to read the
 * file again from its beginning.  It loads all pieces by itself as long as
 * the other workers have jobs.  Workers without a job help it.  The number of
 * rings is the number of workers, and a ring is used for one file after the
 * other.
 *
 * A command may return different rows each time.  So the journal contains the
 * CRC of each committed piece, also of earlier runs.  When the file is
 * complete, the CRCs of all pieces must match the rows that were read last.
 * Without a journal, this cannot be checked, and so no rings are used.
 * ----------
 */

/*
 * For n_workers workers.  To be called before they are forked; the result is
 * never freed.  In the leader, restore_rings_end() frees most of its memory
 * when no process uses it any more.
 */
extern RestoreRings *restore_rings_new(int n_workers, uint64 piece_bytes);
extern void restore_rings_end(RestoreRings *rings);

/*
 * In a worker: load the file until all of it is committed.  Other workers may
 * help, and a worker that died may have begun it.  *done, in shared memory,
 * is false at first, and is set at the end.  Returns false if the file cannot
 * be read; the process that read it reports that, and ends the run.  Exits
 * with a message if pieces were committed that differ from the rows that were
 * read last.
 */
extern bool restore_rings_load(RestoreRings *rings, const PieceLoader *loader,
							   const DataFile *file, const ArchiveRows *rows,
							   volatile bool *done);

/*
 * In a worker without a job: returns the number in the plan of the file for
 * which this ring is used, or -1.  restore_rings_help() helps to load that
 * file.
 */
extern int	restore_rings_file(const RestoreRings *rings, int ring);
extern void restore_rings_help(RestoreRings *rings, int ring,
							   const PieceLoader *loader, const DataFile *file,
							   const ArchiveRows *rows);

#endif							/* RESTORE_PIECES_H */
