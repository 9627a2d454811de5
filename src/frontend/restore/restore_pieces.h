/*
 * restore_pieces.h
 *		Loads one table by several workers, in pieces of what one of them
 *		reads.
 */
#ifndef RESTORE_PIECES_H
#define RESTORE_PIECES_H

#include "libpq-fe.h"

#include "archive/archive_open.h"
#include "job_log/job_log.h"
#include "plan/archive_plan.h"
#include "status/run.h"
#include "stream/piece_ring.h"
#include "target/target.h"

typedef struct SharedRows SharedRows;

/* What a worker brings along. */
typedef struct PieceLoader
{
	PGconn	   *conn;
	const Target *target;
	const Archive *archive;
	const Run  *run;
	Oid			table;			/* that the rows go to */
	const JobLog *log;

	/*
	 * A piece of the file could not be loaded, or the rest of it not read,
	 * for this reason, which is taken over.  Need not return.
	 */
	void		(*failed) (void *arg, const DataFile *file, char *reason);
	void	   *arg;
} PieceLoader;

/*
 * For a file that so many workers may share; before they are forked.  Never
 * freed.
 */
extern SharedRows *restore_pieces_new(int n_workers, uint64 piece_bytes);

/*
 * In a worker: take part until all pieces are taken, each of which is one
 * transaction, done exactly once.  The file's result grows as they are done.
 */
extern void restore_pieces_run(SharedRows *shared, const PieceLoader *loader,
							   const DataFile *file, const ArchiveRows *rows);

/* In the leader: nobody takes part any more; its memory is given back. */
extern void restore_pieces_end(SharedRows *shared);

#endif							/* RESTORE_PIECES_H */
