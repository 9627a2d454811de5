/*
 * restore_pieces.c
 *		Loads one table by several workers, in pieces.
 */
#include "base/fe_compat.h"

#include "archive/archive_member.h"
#include "base/clock.h"
#include "base/shared_memory.h"
#include "job_log/job_log.h"
#include "restore/restore_pieces.h"
#include "restore/restore_rows.h"
#include "stream/sink.h"
#include "target/sink_target.h"

/*
 * What has come of a piece, for whoever has it after a process that died with
 * it.
 */
typedef struct PieceNote
{
	uint64		piece;			/* number + 1; 0 = none */
	TargetCommit commit;
} PieceNote;

/*
 * About half of all pieces are longer than their ranges, by a part of a line.
 * With room for that behind them whoever reads need not wait until another
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
fail(const PieceRun *run, char *reason)
{
	run->loader->failed(run->loader->arg, run->file, reason);
}

/* ----------
 * The text
 * ----------
 */
static void *
open_text(void *arg)
{
	const PieceRun *run = arg;
	char	   *problem;
	ArchiveMember *member = archive_member_open(run->loader->archive,
												run->rows->entry, &problem);

	if (member == NULL)
		fail(run, problem);
	return member;
}

static void
close_text(void *text)
{
	archive_member_close(text);
}

/* A TextReadCallback, which has nothing but the text to tell of an error. */
static const PieceRun *reading;

static ssize_t
read_text(void *text, void *buf, size_t size)
{
	ssize_t		len = archive_member_read(text, buf, size);

	if (len < 0)
		fail(reading, archive_member_error(text));
	return len;
}

static void
tell(void *arg, const char *problem)
{
	fail(arg, pg_strdup(problem));
}

/* ----------
 * A piece
 * ----------
 */

/*
 * All of the piece into the COPY; false if the rest of it cannot be had, and
 * the COPY has been ended.
 */
static bool
send_piece(SharedPiece *piece, Sink *sink, Sink *target)
{
	const char *data;
	ssize_t		len;

	while ((len = shared_piece_next(piece, &data)) > 0)
		sink_write(sink, data, len);
	if (len < 0)
		sink_target_rows_give_up(target, "the rest of the rows cannot be read");
	else
		sink_finish(sink);
	return len == 0;
}

/* Has nobody loaded it? */
static bool
claim_piece(const PieceRun *run, uint64 piece)
{
	char	   *name = restore_log_piece(run->file, piece);
	bool		result = job_log_claim(run->loader->log, run->loader->conn, name);

	free(name);
	return result;
}

/* An is_done() of PieceWork. */
static bool
piece_is_done(void *arg, uint64 piece)
{
	const PieceRun *run = arg;

	return job_log_has(run->loader->log, restore_log_piece(run->file, piece));
}

/* A use() of PieceWork. */
static bool
load_piece(void *arg, SharedPiece *piece)
{
	const PieceRun *run = arg;
	const PieceLoader *loader = run->loader;
	PieceNote  *note = &run->shared->notes[shared_piece_place(piece)];
	uint64		number = shared_piece_number(piece) + 1;
	int64		start_us = clock_wall_us();
	char	   *error = NULL;
	Sink	   *target;
	Sink	   *sink;
	bool		had;

	if (shared_piece_again(piece) && note->piece == number &&
		job_log_is_committed(loader->log, loader->conn, loader->target,
							 &note->commit))
		return true;
	note->commit.state = TARGET_COMMIT_PENDING;
	__sync_synchronize();
	note->piece = number;
	target_begin_load(loader->target, loader->conn);
	if (!claim_piece(run, shared_piece_number(piece)))
	{
		PQclear(target_query(loader->conn, "ROLLBACK", 0, NULL));
		return true;
	}
	target = sink_target_rows_new(loader->conn, run->rows->entry->copy_stmt,
								  loader->table, NULL, &error);
	sink = sink_tap_new(target,
						&file_results_progress(loader->run->results)->raw_bytes,
						NULL);
	had = send_piece(piece, sink, target);
	if (had && error == NULL)
		error = restore_rows_settle(loader->conn, loader->run->options);
	if (had && error == NULL)
	{
		job_log_commit(loader->log, loader->conn, &note->commit);
		file_result_add(loader->run->results,
						run_file_result(loader->run, run->file), start_us,
						sink_target_rows_taken(target), sink->bytes_in);
	}
	else
		PQclear(target_query(loader->conn, "ROLLBACK", 0, NULL));
	sink_free(sink);
	/* whoever reads tells of what cannot be read */
	if (had && error)
		fail(run, error);
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
		.open = open_text,
		.read = read_text,
		.close = close_text,
		.is_done = piece_is_done,
		.use = load_piece,
		.tell = tell,
	};

	reading = &run;
	(void) piece_ring_run(shared->ring, loader->run->results->worker, &work);
	reading = NULL;
}
