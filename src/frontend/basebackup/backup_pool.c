/*
 * backup_pool.c
 *		Workers that read the pieces of a base backup.
 *
 * Each worker has a session of its own on the same server.  A worker whose
 * session is lost is replaced, and its piece is read again: in a plain
 * directory it is overwritten; in a tar file its position and length are
 * fixed.  Only the leader's session holds the backup: if that session is
 * lost, so is the backup.
 *
 * Files whose changes are not in WAL can be replaced while they are read.
 * They are read last, compared with the server's state afterwards, and read
 * again up to TIMES_AGAIN times.
 */
#include "base/fe_compat.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "basebackup/backup_pool.h"
#include "basebackup/backup_read.h"
#include "basebackup/backup_server.h"
#include "process/progress.h"
#include "process/this_program.h"
#include "source/worker_monitor.h"

/* How long a query about workers may take. */
#define ANSWER_MS 15000

/* No worker waits in the server for a lock (table_lock.c:try_lock()). */
#define NO_LOCK_WAIT PG_INT32_MAX

/* How many times a file is read again that was replaced while it was read. */
#define TIMES_AGAIN 2

/*
 * How many times a piece is read if the server reports a replaced file each
 * time.
 */
#define MOST_READS 10

/* A running pool.  The last four members belong to a worker. */
typedef struct BackupPool
{
	Backup	   *backup;
	const char *what;
	BackupMeanwhile meanwhile;
	uint64		bytes;			/* bytes of all pieces */
	double		begun;			/* time of run_clock_seconds() */
	WorkerState *states;		/* by worker; without snapshots */
	WorkerMonitor *monitor;
	int			n_unanswered;	/* unanswered queries in a row */
	int			worker;
	PGconn	   *conn;
	PageCheck  *check;
	BackupLayout *layout;
} BackupPool;

/*
 * The results of workers, by piece, by range and by file, in shared memory.
 */
void
backup_pool_make_results(Backup *backup)
{
	BackupResults *results = &backup->results;
	const BackupPlan *plan = backup->plan;

	results->crcs = shared_memory_new(plan->n_ranges, sizeof(uint32));
	results->failures = shared_memory_new(plan->n_pieces, sizeof(int));
	results->vanished = shared_memory_new(plan->list->n_files, sizeof(bool));
	results->whole = shared_memory_new(plan->list->n_files, sizeof(WholeFile));
	results->times = shared_memory_new(plan->n_pieces, sizeof(PieceTime));
	results->warned = shared_memory_new(plan->list->n_files, sizeof(uint32));
	results->bytes_done = shared_memory_new(1, sizeof(uint64));
}

/* ----------
 * In a worker
 * ----------
 */
static bool
checks_pages(const Backup *backup)
{
	return backup->server.has_checksums &&
		!backup->options->no_verify_checksums;
}

static void
backup_pool_start_worker(void *arg, int no)
{
	BackupPool *pool = arg;
	const Backup *backup = pool->backup;

	/* The leader's connection must end with the leader. */
	close(PQsocket(backup->conn));
	if (backup->slot && backup->slot_conn != backup->conn)
		close(PQsocket(backup->slot_conn));
	worker_state_start(&pool->states[no]);
	pool->worker = no;
	pool->conn = backup_server_connect(backup, false);
	interrupt_set_connection(pool->conn);
	worker_state_connected(&pool->states[no], pool->conn);
	if (backup->extension->missing == NULL)
		backup_call_begin(backup, pool->conn);
	if (checks_pages(backup))
		pool->check = page_check_new(backup, pool->conn);
	pool->layout = backup->form->new_layout(backup);
}

/*
 * If a file without pages is replaced while it is read, the server raises an
 * error.  Then the piece is read again, in a new transaction because the
 * error has ended this one, but only a limited number of times.
 */
static void
call_piece(BackupPool *pool, const BackupPiece *piece)
{
	const Backup *backup = pool->backup;
	PGresult   *error;

	for (int n_reads = 1;
		 (error = backup_call_piece(backup, pool->conn, checks_pages(backup),
									pool->layout, piece)) != NULL; n_reads++)
	{
		if (n_reads == MOST_READS)
			session_failed(pool->conn, error, "could not read files",
						   PARDUMP_READ_FILES "()");
		pg_log_info("reading the files again: %s",
					printable(PQresultErrorField(error,
												 PG_DIAG_MESSAGE_PRIMARY)));
		PQclear(error);
		session_command(pool->conn, "ROLLBACK");
		backup_call_begin(backup, pool->conn);
	}
}

static bool
backup_pool_run_job(void *arg, int job, volatile int *step)
{
	BackupPool *pool = arg;
	const Backup *backup = pool->backup;
	const BackupPiece *piece = &backup->plan->pieces[job];
	PieceTime  *time = &backup->results.times[job];
	uint64		bytes = 0;

	time->worker = pool->worker;
	time->start_us = clock_wall_us();
	if (piece->is_whole)
		backup_read_whole(backup, pool->conn, pool->layout, piece);
	else if (backup->extension->missing)
		backup_read_piece(backup, pool->conn, pool->check, pool->layout, piece);
	else
		call_piece(pool, piece);
	time->end_us = clock_wall_us();
	for (int i = 0; i < piece->n; i++)
		bytes += backup->plan->ranges[piece->first + i].length;
	(void) __sync_fetch_and_add(backup->results.bytes_done, bytes);
	return true;
}

static void
backup_pool_stop_worker(void *arg)
{
	BackupPool *pool = arg;

	interrupt_set_connection(NULL);
	session_close(pool->conn);
}

/* ----------
 * In the leader
 * ----------
 */
static char *
backup_pool_describe_job(void *arg, int job, int step)
{
	const BackupPool *pool = arg;
	const BackupPlan *plan = pool->backup->plan;
	const BackupPiece *piece = &plan->pieces[job];
	const BackupRange *range = &plan->ranges[piece->first];
	const char *path = printable(plan->list->files[range->file].path);

	if (piece->n == 1)
		return psprintf("file \"%s\"", path);
	return psprintf("file \"%s\" and %d more", path, piece->n - 1);
}

static void
backup_pool_reset_job(void *arg, int job)
{
	BackupPool *pool = arg;
	Event	   *event = event_new("retry");

	pool->backup->n_retries++;
	event_add_text(event, "job", backup_pool_describe_job(arg, job, -1));
	event_write(event);
}

/* A PQnoticeReceiver that hides all messages. */
static void
ignore_notice(void *arg, const PGresult *res)
{
}

/*
 * A MonitorLook.  It uses a session of its own, because an error would remove
 * the temporary slot of the leader's session.  If the server cannot be
 * queried, it is tried as many times as a connection is retried.
 */
static PGresult *
backup_pool_look(void *arg, int server, const char *query, bool silently)
{
	BackupPool *pool = arg;
	PGconn	   *conn = connection_try_peer(pool->backup->address,
										   this_program_name());
	PGresult   *res = NULL;

	if (silently)
		PQsetNoticeReceiver(conn, ignore_notice, NULL);
	if (PQstatus(conn) == CONNECTION_OK)
		res = session_exec_within(conn, query, ANSWER_MS);
	PQfinish(conn);
	interrupt_check();
	if (res)
		pool->n_unanswered = 0;
	else if (pool->n_unanswered++ >= (int) pool->backup->options->retries)
	{
		pg_log_error("could not check a session that received no data for longer than --stall-timeout");
		pg_log_error_detail("Attempts to query the server over a new connection: %d.",
							pool->n_unanswered);
		pg_fatal_hint("Check the server and the network, or increase --stall-timeout.");
	}
	return res;
}

static void
backup_pool_worker_begins(void *arg, int worker)
{
	worker_state_begin(&((const BackupPool *) arg)->states[worker], 0);
}

static void
backup_pool_worker_is_gone(void *arg, int worker)
{
	((const BackupPool *) arg)->states[worker].running = false;
}

static int
backup_pool_watch_leader(void *arg)
{
	return PQsocket(((const BackupPool *) arg)->backup->conn);
}

/*
 * Called between events: the leader keeps its own session alive, because the
 * backup ends with it.
 */
static bool
backup_pool_attend(void *arg, bool all_done)
{
	BackupPool *pool = arg;

	backup_server_check(pool->backup);
	backup_server_use_slot(pool->backup);
	if (pool->meanwhile)
		pool->meanwhile(pool->backup);
	progress_tick();
	/* Workers leave now, so continue those that were stopped. */
	if (all_done)
		worker_states_wake(pool->states, pool->backup->options->jobs);
	worker_monitor_look(pool->monitor);
	return true;
}

static void
backup_pool_compose(void *arg, ProgressLine *line, bool at_end)
{
	const BackupPool *pool = arg;
	uint64		done = *pool->backup->results.bytes_done;
	double		seconds = progress_add_share(line, pool->what, done, pool->bytes,
											 pool->begun, at_end);

	progress_line_add(line, 1, "", "", "%s of %s", units_size(done),
					  units_size(pool->bytes));
	/* At the end, the summary shows the rate. */
	if (!at_end)
		progress_line_add(line, 2, "", "", "%s", units_rate(done, seconds));
}

void
backup_pool_run(Backup *backup, const char *what, BackupMeanwhile meanwhile)
{
	/*
	 * It exists until the pool has finished, which ends its progress and its
	 * watch.
	 */
	BackupPool	pool = {
		.backup = backup,
		.what = what,
		.meanwhile = meanwhile,
		.bytes = backup->list->total_bytes,
		.begun = run_clock_seconds(),
		.states = worker_states_new(backup->options->jobs),
	};
	const PoolWatch watch = {
		.arg = &pool,
		.begins = backup_pool_worker_begins,
		.is_gone = backup_pool_worker_is_gone,
		.watch_fd = backup_pool_watch_leader,
		.attend = backup_pool_attend,
	};
	const WorkerTask task = {
		.arg = &pool,
		.job_detail = "The worker was reading %s.",
		.max_retries = (int) backup->options->retries,
		.outlives_kill = true,
		.start = backup_pool_start_worker,
		.run = backup_pool_run_job,
		.stop = backup_pool_stop_worker,
		.describe = backup_pool_describe_job,
		.reset = backup_pool_reset_job,
	};

	pool.monitor = worker_monitor_new(backup->options, pool.states, NO_LOCK_WAIT,
									  backup_pool_look, &pool);
	progress_stage(backup_pool_compose, &pool);
	worker_pool_run(&task, &watch, backup->options->jobs,
					backup->plan->n_pieces);
	progress_end();
	backup->form->end_plan(backup);
}

/* ----------
 * All of a backup
 * ----------
 */
/* Move a file to another list. */
static void
move_file(BackupList *list, int no, BackupList *other)
{
	BackupFile *file = &other->files[other->n_files++];

	*file = list->files[no];
	file->is_whole = false;
	list->n_moved++;
	list->total_bytes -= file->size;
}

/*
 * Move files that were replaced while they were read to another list, so that
 * they are read again.  Their stored contents are treated as vanished, and
 * removed.
 */
static void
part_replaced(Backup *backup, const bool *replaced, int n)
{
	BackupList *list = backup->list;
	BackupList *others = pg_malloc0(sizeof(BackupList));

	others->tablespaces = list->tablespaces;
	others->n_tablespaces = list->n_tablespaces;
	others->files = pg_malloc(n * sizeof(BackupFile));
	for (int i = 0; i < list->n_files; i++)
	{
		if (!replaced[i])
			continue;
		move_file(list, i, others);
		backup->results.vanished[i] = true;
	}
	backup->form->end_plan(backup);
	backup->others = pg_malloc0(sizeof(Backup));
	backup->others->list = others;
}

/*
 * A file that was replaced while it was read may contain parts of both
 * versions.  It is read again if the form allows this; otherwise there is a
 * warning.
 */
static void
check_replaced(Backup *backup, int times_left)
{
	bool	   *replaced = pg_malloc0(backup->list->n_files * sizeof(bool));
	int			n = backup_read_replaced(backup, replaced);

	if (n > 0 && backup->form->can_rewrite && times_left > 0)
		part_replaced(backup, replaced, n);
	else if (n > 0)
	{
		for (int i = 0; i < backup->list->n_files; i++)
			if (replaced[i])
			{
				pg_log_warning("file \"%s\" was replaced or removed while it was read",
							   printable(backup->list->files[i].path));
				pg_log_warning_detail("The backup might contain parts of both versions.");
				pg_log_warning_hint("Make another backup if the file is needed.");
			}
	}
}

/*
 * Changes of files that do not belong to a relation are not in WAL, and these
 * files may be replaced at any time.  Their sizes are queried only now, just
 * before they are read, so that a new file is not cut off at the length of
 * the old one.
 */
static void
read_others(Backup *backup, BackupMeanwhile meanwhile, int times_left)
{
	Backup	   *others = backup->others;
	BackupList *list = others->list;

	if (list->n_files > 0)
		backup_read_sizes(backup->conn, list);
	if (list->n_files == 0)
		return;
	*others = *backup;
	others->others = NULL;
	others->list = list;
	others->plan = backup_plan_new(list);
	backup_pool_make_results(others);
	backup_pool_run(others, "large files ", meanwhile);
	check_replaced(others, times_left);
	if (others->others)
		read_others(others, meanwhile, times_left - 1);
	backup->n_retries = others->n_retries;
	*backup->results.bytes_done += *others->results.bytes_done;
}

void
backup_pool_read(Backup *backup, BackupMeanwhile meanwhile)
{
	BackupList *list;

	backup_pool_make_results(backup);
	backup_pool_run(backup, "files ", meanwhile);

	/*
	 * Small files may have grown since they were listed, so use their sizes
	 * and times when they were read.  Files that have become large are moved
	 * to the list that is read last.
	 */
	list = backup->list;
	for (int i = 0; i < list->n_files; i++)
	{
		const WholeFile *whole = &backup->results.whole[i];

		if (!list->files[i].is_whole)
			continue;
		if (whole->is_large)
			move_file(list, i, backup->others->list);
		if (backup->results.vanished[i])
			continue;
		list->total_bytes += whole->size - list->files[i].size;
		list->files[i].size = whole->size;
		list->files[i].mtime = (time_t) whole->mtime;
	}
	read_others(backup, meanwhile, TIMES_AGAIN);
}
