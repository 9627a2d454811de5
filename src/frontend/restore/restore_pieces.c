/*
 * restore_pieces.c
 *		Implements restore_pieces.h: loads one table by several workers, in
 *		pieces.
 *
 * A compressed file can only be read from its beginning.  So one worker at a
 * time reads and decompresses it, splits the text into pieces of whole lines,
 * and hands them to the other workers through a ring in shared memory
 * (stream/piece_ring.h).  Each piece is loaded with a COPY in a transaction
 * of its own, which also writes a line into the journal.
 *
 * The same text is always split in the same way.  So a worker that takes
 * over, or a later run, gets the same pieces with the same numbers, and the
 * number of a piece shows whether it was loaded.  If a command returns the
 * text, it may be another text each time.  Then the CRC of the piece is
 * compared, too.
 */
#include "base/fe_compat.h"

#include "archive/archive_dir.h"
#include "archive/archive_read.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "load/sink_target.h"
#include "restore/restore_pieces.h"
#include "session/session_lost.h"
#include "shared/crc32c.h"

/* ----------
 * Loads rows of an archive with one COPY.
 * ----------
 */

/*
 * Send all rows of an entry to the sink.  Returns the error, owned, or NULL.
 * *unread is set to the entry, unless the file could not even be opened.
 */
static char *
send_entry(const Archive *archive, const TocEntry *entry, Sink *sink,
		   char *const *error, const TocEntry **unread)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);

	if (member == NULL)
		return problem;
	problem = archive_member_send_rows(member, sink, error);
	archive_member_close(member);
	if (problem)
		*unread = entry;
	return problem;
}

/*
 * Load n files, which are parts of one table, with one COPY.  If the archive
 * cannot be read, the COPY is ended with an error, so that the server
 * discards the rows that it got.  The server's message then only repeats that
 * error, so the archive's error is returned instead.
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
	{
		if (i > 0 || first == NULL)
			problem = send_entry(archive, rows[i]->entry, sink, &result.error,
								 &result.entry);
		else
		{
			problem = archive_member_send_rows(first, sink, &result.error);
			result.entry = problem ? rows[0]->entry : NULL;
		}
	}
	if (problem)
		sink_target_rows_give_up(target, problem);
	else
		sink_finish(sink);
	result.rows = sink_target_rows_taken(target);
	result.bytes = sink->bytes_in;
	/* the server's message only repeats this one */
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
 * With --data-only, constraints exist before the rows.  A deferred constraint
 * would be checked in the COMMIT, whose errors end the run.  After an error
 * in SET CONSTRAINTS, only the rows of this job are left out.
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
 * Tables that turn out to be long when they are read.
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
 * Archives of pg_dump have no manifest, and the size of a compressed file
 * does not show how long the rows are.  Read as many bytes as a piece has.
 * If the text ends before, the worker loads what was read.  Otherwise the
 * file is left to all workers.
 */
bool
restore_long_look(const LongFiles *files, const RestoreRings *rings,
				  const DataFile *file, ArchiveMember **text)
{
	int			no = file - files->plan->plan.chunks->files;
	const ArchiveRows *rows = &files->plan->rows[no];
	char	   *problem = NULL;

	*text = NULL;
	if (files->is_long[no])
		return true;
	/* with a manifest, the length is known, and the plan has decided */
	if (rows->want || file->n_chunks > 1)
		return false;
	if (files->archive->commands && rings == NULL)
		return false;
	*text = archive_member_open(files->archive, rows->entry, &problem);
	/* If it cannot be opened, loading it will fail, and report that. */
	if (*text == NULL)
		return false;

	if (files->archive->commands)
	{
		files->is_long[no] = !archive_member_read_ahead(*text, files->piece_bytes);
		return files->is_long[no];
	}

	/*
	 * Each file that is left to all workers needs a ring of its own, so their
	 * number is limited.  Beyond the limit, the worker loads the file alone.
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
 * The state of a piece, for the process that takes it over if this one dies.
 */
typedef struct PieceNote
{
	uint64		piece;			/* number of the piece + 1; 0 = none */
	TargetCommit commit;
} PieceNote;

/*
 * About half of all pieces are longer than their ranges, by a part of a line.
 * If slots have room for this part, the reader need not wait until another
 * worker has taken such a piece, and can load a piece itself.
 */
#define LINE_BYTES ((size_t) 1024 * 1024)

struct SharedRows
{
	PieceRing  *ring;
	int			n_slots;
	uint64		piece_bytes;
	PieceNote  *notes;			/* by SharedPiece.slot, in shared memory */
	PieceSums  *failed;			/* pieces that the server has rejected; in
								 * shared memory */
};

/* A worker's part of one file. */
typedef struct PieceRun
{
	SharedRows *shared;
	const PieceLoader *loader;
	const DataFile *file;
	const ArchiveRows *rows;
	ArchiveMember *text;		/* of the loader; NULL after its use */
	bool		(*begin) (void *arg);
	void	   *begin_arg;
} PieceRun;

static SharedRows *
new_shared(int n_workers, int n_slots, uint64 piece_bytes)
{
	SharedRows *shared = pg_malloc(sizeof(SharedRows));

	shared->ring = piece_ring_new(n_workers, n_slots, piece_bytes + LINE_BYTES);
	shared->n_slots = n_slots;
	shared->piece_bytes = piece_bytes;
	shared->notes = shared_memory_new(n_slots + 1, sizeof(PieceNote));
	shared->failed = shared_memory_new(1, sizeof(PieceSums));
	return shared;
}

SharedRows *
restore_pieces_new(int n_workers, uint64 piece_bytes)
{
	return new_shared(n_workers, piece_ring_slots(n_workers), piece_bytes);
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

/*
 * Add the consequences to an error that was just reported, and exit, because
 * the rest of the file cannot be loaded.
 */
pg_noreturn static void
end_restore(const PieceRun *run, bool differs)
{
	const PieceLoader *loader = run->loader;

	pg_log_error_detail("Pieces of table %s might have been committed.",
						printable(loader->run->plan->tables->tables[run->file->table].name));

	/*
	 * It is not known which of the attempts returned the right rows.  If it
	 * was not the first one, the committed rows are wrong, and each restore
	 * that is resumed fails here, too.
	 */
	if (differs)
	{
		*loader->must_restart = true;
		pg_log_error_hint("The committed rows might be wrong.  Run the same command without --resume, into an empty database or with --clean.");
	}
	exit(1);
}

static void
report_unread(const PieceRun *run, const char *cause)
{
	pg_log_error("%s", archive_member_unread(run->rows->entry));
	pg_log_error_detail("%s", message_sentence(cause));
}

/* The report() callback of PieceWork. */
static void
restore_pieces_report(void *arg, const char *problem)
{
	const PieceRun *run = arg;

	if (run->loader->archive->commands == NULL)
	{
		restore_pieces_fail(run, pg_strdup(problem));
		return;
	}

	/*
	 * End the run, because the command may succeed when --resume runs it
	 * again.
	 */
	report_unread(run, problem);
	end_restore(run, false);
}

/* ----------
 * The text
 * ----------
 */

#define MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)

/* Read this many bytes at a time to skip text that was read before. */
#define SKIP_BYTES (128 * 1024)

/* A text that is being read. */
typedef struct PieceText
{
	const PieceRun *run;
	ArchiveMember *member;		/* NULL after an error */
	uint64		taken;			/* bytes that were read */
	char		tail[MARK_BYTES];	/* the last of them, right-aligned */
	pg_crc32c	crc;			/* of these bytes; only if commands return the
								 * files */
	bool		differs;		/* the last attempt returned other bytes */
	Retry		retry;
} PieceText;

/* Open the file.  Returns the error, owned, or NULL. */
static char *
open_member(PieceText *text)
{
	char	   *problem = NULL;

	text->member = archive_member_open(text->run->loader->archive,
									   text->run->rows->entry, &problem);
	return problem;
}

static void *
restore_pieces_open(void *arg)
{
	PieceRun   *run = arg;
	PieceText  *text = pg_malloc0(sizeof(PieceText));
	char	   *problem = NULL;

	INIT_CRC32C(text->crc);
	text->run = run;
	text->member = run->text;
	run->text = NULL;
	if (text->member == NULL)
		problem = open_member(text);
	if (problem == NULL)
		return text;
	free(text);
	if (run->loader->archive->commands)
	{
		report_unread(run, problem);
		end_restore(run, false);
	}
	restore_pieces_fail(run, problem);
	return NULL;
}

static void
restore_pieces_close(void *arg)
{
	PieceText  *text = arg;

	if (text->member)
		archive_member_close(text->member);
	free(text);
}

/* Returns the error after a read with this result, owned, or NULL. */
static char *
text_problem(const PieceText *text, ssize_t len)
{
	if (len < 0)
		return archive_member_error(text->member);

	/*
	 * text_pieces.c would also find this.  But here it is an error of the
	 * command, which can be run again.
	 */
	if (len == 0 && text->run->loader->archive->commands &&
		memcmp(text->tail, ARCHIVE_END_OF_ROWS, MARK_BYTES) != 0)
		return pg_strdup("the line that ends the rows is missing");
	return NULL;
}

static void
keep_tail(PieceText *text, const char *data, size_t len)
{
	size_t		keep = Min(len, (size_t) MARK_BYTES);

	memmove(text->tail, text->tail + keep, MARK_BYTES - keep);
	memcpy(text->tail + MARK_BYTES - keep, data + len - keep, keep);
	text->taken += len;
	/* other files are not read again */
	if (text->run->loader->archive->commands)
		text->crc = crc32c_add(text->crc, data, len);
}

/*
 * Read the text again up to this offset.  Its CRC up to there must be the
 * same as before.  Returns the error, owned, or NULL.
 */
static char *
read_up_to(PieceText *text, uint64 end, pg_crc32c crc)
{
	char	   *buf;
	char	   *problem;
	ssize_t		len = 1;

	if (text->member)
		archive_member_close(text->member);
	problem = open_member(text);
	if (problem)
		return problem;
	buf = pg_malloc(SKIP_BYTES);
	text->taken = 0;
	INIT_CRC32C(text->crc);
	while (text->taken < end && len > 0)
	{
		len = archive_member_read(text->member, buf,
								  Min(end - text->taken, SKIP_BYTES));
		problem = text_problem(text, len);
		if (len > 0)
			keep_tail(text, buf, len);
	}
	free(buf);
	if (problem == NULL && text->taken < end)
		problem = pg_strdup("the data is shorter than before");
	if (problem == NULL && !EQ_CRC32C(text->crc, crc))
	{
		problem = pg_strdup("the beginning of the data differs from the data that was read before");
		text->differs = true;
	}
	return problem;
}

static char *
differs_from_before(const TocEntry *entry)
{
	return psprintf("data of entry %d, %s \"%s\", differs from the data that was read before",
					entry->dump_id, entry->desc, entry->tag);
}

/* Report the error of the last attempt, and exit. */
static void
give_up_text(const PieceText *text, const char *problem)
{
	const TocEntry *entry = text->run->rows->entry;

	archive_read_report(text->run->loader->archive, &text->retry,
						text->differs ? differs_from_before(entry) :
						archive_member_unread(entry),
						text->differs ? NULL : problem);
	end_restore(text->run, text->differs);
}

/*
 * Read the text again up to the current position, which is needed because
 * pieces of the file may be committed, so the job cannot be repeated.
 * Returns after a successful attempt, otherwise exits with a message.
 */
static void
read_text_again(PieceText *text, char *problem)
{
	const PieceLoader *loader = text->run->loader;
	uint64		end = text->taken;
	pg_crc32c	crc = text->crc;

	while (problem)
	{
		if (!archive_read_again(loader->archive, &text->retry, problem))
			give_up_text(text, problem);
		(void) __sync_fetch_and_add(loader->n_read_again, 1);
		run_event_read_again(loader->run, text->run->file);
		free(problem);
		text->differs = false;
		problem = read_up_to(text, end, crc);
	}
}

/*
 * The read() callback of PieceWork.  An error of a file in a directory is
 * final, and is reported here.
 */
static ssize_t
restore_pieces_read(void *arg, void *buf, size_t size)
{
	PieceText  *text = arg;
	ssize_t		len;
	char	   *problem;

	while ((problem = text_problem(text, len = archive_member_read(text->member, buf, size))) != NULL)
	{
		if (text->run->loader->archive->commands == NULL)
		{
			restore_pieces_fail(text->run, problem);
			return -1;
		}
		read_text_again(text, problem);
	}
	keep_tail(text, buf, len);
	return len;
}

/* ----------
 * A piece
 * ----------
 */

/* The is_done() callback of PieceWork. */
static bool
restore_pieces_is_done(void *arg, uint64 piece)
{
	const PieceRun *run = arg;

	return restore_journal_has(run->loader->journal, restore_journal_piece(run->file, piece));
}

/* The compare() callback of PieceWork. */
static void
restore_pieces_compare(void *arg, uint64 piece, pg_crc32c crc)
{
	const PieceRun *run = arg;
	char	   *name = restore_journal_piece(run->file, piece);
	const RestoreJournalLine *line = restore_journal_find(run->loader->journal, name);

	free(name);
	if (line && line->crc == crc)
		return;
	pg_log_error("%s", differs_from_before(run->rows->entry));
	end_restore(run, true);
}

/*
 * All pieces are used up, and the journal has their CRCs.  Exit with a
 * message if the pieces that this run and earlier ones have committed are not
 * those that were read last, because a command has returned other rows.  Then
 * rows may be loaded twice, or be missing.
 */
static void
check_committed(const PieceRun *run)
{
	const PieceLoader *loader = run->loader;
	const TocEntry *entry = run->rows->entry;
	PieceSums	last = piece_ring_sums(run->shared->ring);
	PieceSums	used = restore_journal_pieces(loader->journal, loader->conn,
											  run->file);

	used.n += run->shared->failed->n;
	used.crcs += run->shared->failed->crcs;
	if (used.n == last.n && used.crcs == last.crcs)
		return;
	pg_log_error("data of entry %d, %s \"%s\", differs from the rows that were committed before",
				 entry->dump_id, entry->desc, entry->tag);
	end_restore(run, true);
}

/* The server has rejected a piece. */
static void
fail_piece(const PieceRun *run, pg_crc32c crc, char *reason)
{
	(void) __sync_fetch_and_add(&run->shared->failed->n, 1);
	(void) __sync_fetch_and_add(&run->shared->failed->crcs, crc);
	restore_pieces_fail(run, reason);
}

/*
 * The use() callback of PieceWork: load a piece.
 *
 * Another worker may have died with this piece.  Its note then shows whether
 * its COMMIT was done.  If it is not known, the piece's line in the journal
 * decides.  note->piece is written after the note's state, with a barrier
 * between them, so that a reader does not take the state of an older piece
 * for the state of this one.
 */
static bool
restore_pieces_load(void *arg, SharedPiece *piece)
{
	const PieceRun *run = arg;
	const PieceLoader *loader = run->loader;
	PieceNote  *note = &run->shared->notes[piece->slot];
	uint64		number = piece->number + 1;
	int64		start_us = clock_wall_us();
	char	   *name;
	char	   *error = NULL;
	Sink	   *target;
	Sink	   *sink;
	pg_crc32c	crc;
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
	name = restore_journal_piece(run->file, piece->number);
	if (!restore_journal_claim(loader->journal, loader->conn, name))
	{
		target_command(loader->conn, "ROLLBACK");
		free(name);
		return true;
	}
	target = sink_target_rows_new(loader->conn, run->rows->entry->copy_stmt,
								  loader->table, NULL, &error);
	sink = sink_tap_new(target,
						&file_results_progress(loader->run->results)->raw_bytes,
						NULL);

	/*
	 * Send the piece to the COPY.  len is negative if the rest of the piece
	 * is lost.
	 */
	INIT_CRC32C(crc);
	while ((len = shared_piece_next(piece, &data)) > 0)
	{
		if (loader->journal->has_crcs)
			crc = crc32c_add(crc, data, len);
		sink_write(sink, data, len);
	}
	FIN_CRC32C(crc);
	if (len < 0)
		sink_target_rows_give_up(target, "the rest of the rows cannot be read");
	else
		sink_finish(sink);
	had = len == 0;
	if (had && error == NULL)
		error = restore_rows_settle(loader->conn, loader->run->options);
	if (had && error == NULL)
	{
		if (loader->journal->has_crcs)
			restore_journal_set_crc(loader->journal, loader->conn, name, crc);
		restore_journal_commit(loader->journal, loader->conn, &note->commit);
		file_result_add(loader->run->results,
						run_file_result(loader->run, run->file), start_us,
						sink_target_rows_taken(target), sink->bytes_in);
	}
	else
		target_command(loader->conn, "ROLLBACK");
	sink_free(sink);
	free(name);
	/* an error in the text is reported by the reader */
	if (had && error)
		fail_piece(run, crc, error);
	else
		free(error);
	return had;
}

/* The begin() callback of PieceWork. */
static bool
restore_pieces_begin(void *arg)
{
	const PieceRun *run = arg;

	return run->begin == NULL || run->begin(run->begin_arg);
}

/* Returns false after an error in the text, or if begin() returned false. */
static bool
run_pieces(PieceRun *run)
{
	PieceWork	work = {
		.arg = run,
		.range_bytes = run->shared->piece_bytes,
		.begin = restore_pieces_begin,
		.open = restore_pieces_open,
		.read = restore_pieces_read,
		.close = restore_pieces_close,
		.is_done = restore_pieces_is_done,
		.compare = run->loader->journal->has_crcs ? restore_pieces_compare : NULL,
		.use = restore_pieces_load,
		.report = restore_pieces_report,
	};

	return piece_ring_run(run->shared->ring, run->loader->run->results->worker,
						  &work);
}

void
restore_pieces_run(SharedRows *shared, const PieceLoader *loader,
				   const DataFile *file, const ArchiveRows *rows)
{
	PieceRun	run = {shared, loader, file, rows};

	(void) run_pieces(&run);
}

/* ----------
 * Files that commands return, and that turn out to be long while a worker
 * reads them.
 *
 * A worker takes a free ring, and notes the number of its file in it.  When
 * the file is complete, the worker removes the note, and the ring is free.  A
 * worker that helps reads the note, begins to take part, and reads the note
 * again.  If it has changed, the worker leaves.  A worker that takes a free
 * ring waits until no process takes part.  So no process uses pieces of one
 * file for another file.
 * ----------
 */

/* How often to check whether other workers have completed their pieces. */
#define RINGS_LOOK_US 1000

/*
 * The maximum number of slots of each ring.  A worker takes part in only one
 * ring at a time, but when only one file is left, all of them take part in
 * its ring.  If each ring had slots for all workers, memory would grow with
 * the square of the number of workers.
 */
#define MOST_RING_SLOTS 8

struct RestoreRings
{
	int			n;
	SharedRows **rings;
	int		   *files;			/* by ring, in shared memory: number of its
								 * file + 1; 0 = free */
	pthread_mutex_t *lock;		/* held by a process that takes a free ring */
};

/* The ring's note, as a worker that wants to help has read it. */
typedef struct RingNote
{
	const RestoreRings *rings;
	int			ring;
	int			file;			/* the file's number + 1 */
} RingNote;

/*
 * The begin() callback of PieceRun: is the ring still used for this file, and
 * has the worker that opened the file begun to read it?  Otherwise the helper
 * might become the reader, and would run the command again.
 */
static bool
ring_note_is_right(void *arg)
{
	const RingNote *note = arg;

	return __atomic_load_n(&note->rings->files[note->ring], __ATOMIC_SEQ_CST) == note->file &&
		piece_ring_is_led(note->rings->rings[note->ring]->ring);
}

RestoreRings *
restore_rings_new(int n_workers, uint64 piece_bytes)
{
	RestoreRings *rings = pg_malloc(sizeof(RestoreRings));

	rings->n = n_workers;
	rings->rings = pg_malloc(n_workers * sizeof(SharedRows *));
	for (int i = 0; i < n_workers; i++)
		rings->rings[i] = new_shared(n_workers,
									 Min(piece_ring_slots(n_workers), MOST_RING_SLOTS),
									 piece_bytes);
	rings->files = shared_memory_new(n_workers, sizeof(int));
	rings->lock = shared_memory_new(1, sizeof(pthread_mutex_t));
	robust_mutex_init(rings->lock);
	return rings;
}

/* Returns the ring with this note, or -1. */
static int
find_ring(const RestoreRings *rings, int note)
{
	for (int i = 0; i < rings->n; i++)
		if (__atomic_load_n(&rings->files[i], __ATOMIC_SEQ_CST) == note)
			return i;
	return -1;
}

/*
 * Returns the ring of the file with this number.  A process that died may
 * have taken one for it.  Otherwise take a free ring.  There is one, because
 * a worker needs only one at a time.
 */
static int
take_ring(RestoreRings *rings, int no)
{
	int			ring = find_ring(rings, no + 1);

	if (ring >= 0)
		return ring;
	(void) robust_mutex_hold(rings->lock, true);
	while ((ring = find_ring(rings, 0)) < 0)
		pg_usleep(RINGS_LOOK_US);
	while (piece_ring_is_used(rings->rings[ring]->ring))
		pg_usleep(RINGS_LOOK_US);
	piece_ring_restart(rings->rings[ring]->ring);
	memset(rings->rings[ring]->notes, 0,
		   (rings->rings[ring]->n_slots + 1) * sizeof(PieceNote));
	memset(rings->rings[ring]->failed, 0, sizeof(PieceSums));
	__atomic_store_n(&rings->files[ring], no + 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(rings->lock);
	return ring;
}

bool
restore_rings_load(RestoreRings *rings, const PieceLoader *loader,
				   const DataFile *file, const ArchiveRows *rows,
				   volatile bool *done)
{
	int			no = file - loader->run->plan->chunks->files;
	PieceRun	run = {NULL, loader, file, rows, loader->text};
	int			ring;

	/*
	 * An earlier process has loaded the file, and died before the leader
	 * knew.
	 */
	if (*done && find_ring(rings, no + 1) < 0)
	{
		if (run.text)
			archive_member_close(run.text);
		return true;
	}
	ring = take_ring(rings, no);
	run.shared = rings->rings[ring];

	/*
	 * Other workers may still load their last pieces when none is left to
	 * take.  If one of them dies, its piece must be taken again.
	 */
	for (;;)
	{
		if (!run_pieces(&run))
			return false;
		if (piece_ring_is_done(run.shared->ring))
			break;
		pg_usleep(RINGS_LOOK_US);
	}
	if (loader->journal->has_crcs)
		check_committed(&run);

	/*
	 * A process that begins now finds no piece.  The next file gets new
	 * pages.
	 */
	piece_ring_discard(run.shared->ring);
	/* Set this first: a process that finds no note of the file checks it. */
	*done = true;
	__atomic_store_n(&rings->files[ring], 0, __ATOMIC_SEQ_CST);

	/*
	 * another process has read the file, after this worker's predecessor died
	 */
	if (run.text)
		archive_member_close(run.text);
	return true;
}

void
restore_rings_end(RestoreRings *rings)
{
	for (int i = 0; i < rings->n; i++)
		restore_pieces_end(rings->rings[i]);
}

int
restore_rings_file(const RestoreRings *rings, int ring)
{
	return __atomic_load_n(&rings->files[ring], __ATOMIC_SEQ_CST) - 1;
}

void
restore_rings_help(RestoreRings *rings, int ring, const PieceLoader *loader,
				   const DataFile *file, const ArchiveRows *rows)
{
	RingNote	note = {rings, ring,
	file - loader->run->plan->chunks->files + 1};
	PieceRun	run = {rings->rings[ring], loader, file, rows, NULL,
	ring_note_is_right, &note};

	(void) run_pieces(&run);
}
