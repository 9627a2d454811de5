/*
 * restore_pieces.c
 *		Loads one table by several workers, in pieces.
 *
 * A compressed file can only be read from its beginning.  So one worker at a
 * time reads and decompresses it, cuts the text into pieces of whole lines,
 * and hands them to the others through a ring in shared memory
 * (stream/piece_ring.h).  Each piece is a transaction with a COPY of its own,
 * and a line in the journal.
 *
 * Cutting depends on the text alone, so a worker that takes over, or another
 * run, gets the same pieces with the same numbers.  What has been loaded is
 * then known by number.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/shared_memory.h"
#include "load/sink_target.h"
#include "restore/restore_pieces.h"
#include "session/session_lost.h"

/* ----------
 * Loads rows of an archive by one COPY.
 * ----------
 */

/*
 * All rows of an entry; what is wrong with them, or NULL; owned.  That there
 * is no such file is found before anything is read.
 */
static char *
send_entry(const Archive *archive, const TocEntry *entry, Sink *sink,
		   char *const *error, bool *unread)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);

	if (member == NULL)
		return problem;
	problem = archive_member_send_rows(member, sink, error);
	archive_member_close(member);
	*unread = problem != NULL;
	return problem;
}

/*
 * Load n files, which are parts of one table, by one COPY.  If the archive
 * cannot be read the COPY is ended with an error, so that the server discards
 * what it got so far; the archive's error is returned then, not the server's
 * echo of it.
 */
RestoredRows
restore_rows(PGconn *conn, const char *copy, Oid table, Oid *later,
			 const Archive *archive, const ArchiveRows *const *rows, int n,
			 ArchiveMember *first, volatile uint64 *progress)
{
	RestoredRows result = {0};
	Sink	   *target = sink_target_rows_new(conn, copy, table, later,
											  &result.error);
	Sink	   *sink = sink_tap_new(target, progress, NULL);
	char	   *problem = NULL;

	for (int i = 0; i < n && problem == NULL && result.error == NULL; i++)
		problem = i == 0 && first ?
			archive_member_send_rows(first, sink, &result.error) :
			send_entry(archive, rows[i]->entry, sink, &result.error,
					   &result.unread);
	if (problem)
		sink_target_rows_give_up(target, problem);
	else
		sink_finish(sink);
	result.rows = sink_target_rows_taken(target);
	result.bytes = sink->bytes_in;
	/* the server has only repeated what it was told */
	if (problem)
	{
		free(result.error);
		result.error = problem;
	}
	sink_free(sink);
	return result;
}

bool
restore_rows_wanted(const ArchiveRows *const *sources, int n, uint64 *rows)
{
	*rows = 0;
	for (int i = 0; i < n; i++)
	{
		if (sources[i]->want == NULL)
			return false;
		*rows += sources[i]->want->rows;
	}
	return true;
}

/*
 * With --data-only constraints exist before the rows.  A deferred one would
 * be checked in the COMMIT, whose errors end the run; SET CONSTRAINTS checks
 * it here, where an error only leaves out this job's rows.  Returns what is
 * wrong, owned, or NULL.
 */
char *
restore_rows_settle(PGconn *conn, const Options *options)
{
	PGresult   *res;
	char	   *error = NULL;

	if (!options->data_only)
		return NULL;
	res = PQexec(conn, "SET CONSTRAINTS ALL IMMEDIATE");
	if (session_refused(conn, res, "SET CONSTRAINTS"))
		error = pg_strdup(PQresultErrorMessage(res));
	PQclear(res);
	return error;
}

/* ----------
 * Tables that prove to be long, however small they are in the archive.
 * ----------
 */

LongFiles *
restore_long_new(const Archive *archive, const ArchivePlan *plan,
				 uint64 piece_bytes)
{
	LongFiles  *files = pg_malloc0(sizeof(LongFiles));

	files->archive = archive;
	files->plan = plan;
	files->piece_bytes = piece_bytes;
	files->is_long = shared_memory_new(plan->plan.chunks->n_files,
									   sizeof(bool));
	files->n_long = shared_memory_new(1, sizeof(int));
	return files;
}

/*
 * Files of other programs, and of old versions, have no manifest, and
 * compression hides how long the rows are.  Read ahead as far as a piece has
 * bytes: if the text ends before, the worker loads what has been read, else
 * the file is left to all workers.
 */
bool
restore_long_look(const LongFiles *files, const DataFile *file,
				  ArchiveMember **text)
{
	int			no = file - files->plan->plan.chunks->files;
	const ArchiveRows *rows = &files->plan->rows[no];
	char	   *problem = NULL;

	*text = NULL;
	if (files->is_long[no])
		return true;

	/*
	 * Where there is a manifest the dump has decided how long files are.
	 * Commands would have to return a file twice.
	 */
	if (rows->want || file->n_chunks > 1 || files->archive->commands)
		return false;
	*text = archive_member_open(files->archive, rows->entry, &problem);
	/* The worker that loads the file finds and reports the same problem. */
	if (*text == NULL)
		return false;

	/*
	 * A long file is left to all workers.  Each such file needs a ring of its
	 * own, so their number is limited; beyond it the worker loads the file
	 * alone.
	 */
	if (archive_member_read_ahead(*text, files->piece_bytes) ||
		__sync_fetch_and_add(files->n_long, 1) >= ARCHIVE_SHARED_TABLES)
		return false;
	files->is_long[no] = true;
	archive_member_close(*text);
	*text = NULL;
	return true;
}

JobQueue *
restore_long_queue(const LongFiles *files, int first_job, int n_jobs,
				   int n_shares)
{
	const DumpPlan *plan = &files->plan->plan;
	const DataFile **found = pg_malloc((plan->chunks->n_files + 1) *
									   sizeof(DataFile *));
	int			n_found = 0;

	for (int i = first_job; i < first_job + n_jobs; i++)
	{
		const Job  *job = &plan->queue->jobs[i];

		for (int j = 0; job->kind == JOB_DATA_FILES && j < job->n; j++)
		{
			const DataFile *file = plan->queue->files[job->first + j];

			if (files->is_long[file - plan->chunks->files])
				found[n_found++] = file;
		}
	}
	return job_queue_share(found, n_found, n_shares);
}

/* ----------
 * Loads one table by several workers, in pieces.
 * ----------
 */

/*
 * What has come of a piece, for the next process after one that died with it.
 */
typedef struct PieceNote
{
	uint64		piece;			/* number + 1; 0 = none */
	TargetCommit commit;
} PieceNote;

/*
 * About half of all pieces are longer than their ranges, by a part of a line.
 * With room for that behind them the reader need not wait until another
 * worker is at them, but can load one itself.
 */
#define LINE_BYTES ((size_t) 1024 * 1024)

struct SharedRows
{
	PieceRing  *ring;
	uint64		piece_bytes;
	PieceNote  *notes;			/* by place, in shared memory */
};

/* One worker at one file. */
typedef struct PieceRun
{
	SharedRows *shared;
	const PieceLoader *loader;
	const DataFile *file;
	const ArchiveRows *rows;
} PieceRun;

SharedRows *
restore_pieces_new(int n_workers, uint64 piece_bytes)
{
	SharedRows *shared = pg_malloc(sizeof(SharedRows));
	int			n_slots = piece_ring_slots(n_workers);

	shared->ring = piece_ring_new(n_workers, n_slots, piece_bytes + LINE_BYTES);
	shared->piece_bytes = piece_bytes;
	shared->notes = shared_memory_new(n_slots + 1, sizeof(PieceNote));
	return shared;
}

void
restore_pieces_end(SharedRows *shared)
{
	piece_ring_discard(shared->ring);
}

static void
restore_pieces_fail(const PieceRun *run, char *reason)
{
	run->loader->failed(run->loader->arg, run->file, reason);
}

/* ----------
 * The text
 * ----------
 */
static void *
restore_pieces_open(void *arg)
{
	const PieceRun *run = arg;
	char	   *problem;
	ArchiveMember *member = archive_member_open(run->loader->archive,
												run->rows->entry, &problem);

	if (member == NULL)
		restore_pieces_fail(run, problem);
	return member;
}

static void
restore_pieces_close(void *text)
{
	archive_member_close(text);
}

/*
 * For restore_pieces_read(), whose caller passes only the text, to report an
 * error.  A process runs one ring at a time.
 */
static const PieceRun *reading;

static ssize_t
restore_pieces_read(void *text, void *buf, size_t size)
{
	ssize_t		len = archive_member_read(text, buf, size);

	if (len < 0)
		restore_pieces_fail(reading, archive_member_error(text));
	return len;
}

static void
restore_pieces_report(void *arg, const char *problem)
{
	restore_pieces_fail(arg, pg_strdup(problem));
}

/* ----------
 * A piece
 * ----------
 */

/* An is_done() of PieceWork. */
static bool
restore_pieces_is_done(void *arg, uint64 piece)
{
	const PieceRun *run = arg;

	return restore_journal_has(run->loader->journal, restore_journal_piece(run->file, piece));
}

/*
 * The first steps find out what a worker that died with this piece has done.
 * note->piece says whether the note is of this piece, and is set after the
 * note's state, with a barrier between them: a reader must not take the state
 * of an older piece for this one's.  If the COMMIT was done the piece is not
 * loaded again; else the journal's line decides.
 */
static bool
restore_pieces_load(void *arg, SharedPiece *piece)
{
	const PieceRun *run = arg;
	const PieceLoader *loader = run->loader;
	PieceNote  *note = &run->shared->notes[piece->slot];
	uint64		number = piece->number + 1;
	int64		start_us = clock_wall_us();
	char	   *error = NULL;
	Sink	   *target;
	Sink	   *sink;
	bool		had;
	const char *data;
	ssize_t		len;

	if (piece->again && note->piece == number &&
		restore_journal_is_committed(loader->journal, loader->conn, loader->target,
									 &note->commit))
		return true;
	note->commit.state = TARGET_COMMIT_PENDING;
	__sync_synchronize();
	note->piece = number;
	target_begin_load(loader->target, loader->conn);
	if (!restore_journal_claim(loader->journal, loader->conn,
							   restore_journal_piece(run->file, piece->number)))
	{
		target_command(loader->conn, "ROLLBACK");
		return true;
	}
	target = sink_target_rows_new(loader->conn, run->rows->entry->copy_stmt,
								  loader->table, NULL, &error);
	sink = sink_tap_new(target,
						&file_results_progress(loader->run->results)->raw_bytes,
						NULL);

	/*
	 * All of the piece into the COPY; false if the rest of it cannot be had,
	 * and the COPY has been ended.
	 */
	while ((len = shared_piece_next(piece, &data)) > 0)
		sink_write(sink, data, len);
	if (len < 0)
		sink_target_rows_give_up(target, "the rest of the rows cannot be read");
	else
		sink_finish(sink);
	had = len == 0;
	if (had && error == NULL)
		error = restore_rows_settle(loader->conn, loader->run->options);
	if (had && error == NULL)
	{
		restore_journal_commit(loader->journal, loader->conn, &note->commit);
		file_result_add(loader->run->results,
						run_file_result(loader->run, run->file), start_us,
						sink_target_rows_taken(target), sink->bytes_in);
	}
	else
		target_command(loader->conn, "ROLLBACK");
	sink_free(sink);
	/* the reader reports what cannot be read */
	if (had && error)
		restore_pieces_fail(run, error);
	else
		free(error);
	return had;
}

void
restore_pieces_run(SharedRows *shared, const PieceLoader *loader,
				   const DataFile *file, const ArchiveRows *rows)
{
	PieceRun	run = {shared, loader, file, rows};
	PieceWork	work = {
		.arg = &run,
		.range_bytes = shared->piece_bytes,
		.open = restore_pieces_open,
		.read = restore_pieces_read,
		.close = restore_pieces_close,
		.is_done = restore_pieces_is_done,
		.use = restore_pieces_load,
		.report = restore_pieces_report,
	};

	reading = &run;
	(void) piece_ring_run(shared->ring, loader->run->results->worker, &work);
	reading = NULL;
}
