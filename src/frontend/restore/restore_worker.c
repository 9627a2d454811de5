/*
 * restore_worker.c
 *		Loads rows and large objects of an archive into a target.
 *
 * A job is one transaction.  If one of its files cannot be loaded, the
 * transaction is rolled back and the job is repeated without that file.  So
 * everything that stock pg_restore would have loaded is loaded, and a job
 * without an error does not pay for savepoints.
 *
 * Before a file is loaded the worker writes the file's line into the journal,
 * in the same transaction.  The line's name is unique, so another attempt at
 * the same file waits for this transaction, and then finds the file done or
 * takes it over.
 */
#include "base/fe_compat.h"

#include "common/string.h"

#include "archive/archive_name.h"
#include "archive/archive_prefetch.h"
#include "archive/archive_read.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "load/sink_target.h"
#include "load/target_check.h"
#include "restore/restore_worker.h"
#include "session/session_lost.h"

/* ----------
 * Tables that are truncated, and then filled with frozen rows.
 * ----------
 */

/* A new file for a smaller table would cost more than it saves. */
#define LEAST_BYTES ((uint64) 1024 * 1024)

/*
 * See restore_worker.h.  Nothing can be lost in tables that this run has
 * created.  Tables whose rows are loaded through their partition root are not
 * chosen, because these rows may go to other partitions, too.
 */
bool *
restore_freeze_choose(const Target *target, const DumpPlan *plan,
					  const bool *before, const bool *after)
{
	int			n_tables = plan->tables->n_tables;
	bool	   *chosen;

	if (strcmp(target->wal_level, "logical") == 0)
		return NULL;
	chosen = pg_malloc0((n_tables + 1) * sizeof(bool));
	for (int i = 0; i < n_tables; i++)
	{
		const DumpTable *table = &plan->tables->tables[i];

		/* rows are loaded under its own name; large enough */
		chosen[i] = !before[i] && after[i] && table->has_definition &&
			table->total_bytes >= LEAST_BYTES &&
			strcmp(table->name, table->copy_name) == 0;
	}
	return chosen;
}

/*
 * Execute a statement of the truncation.  *has_row is set to whether a query
 * has found a row.  Returns the error, owned, or NULL.
 */
static char *
take_step(PGconn *conn, const char *sql, int n_params, const char *param,
		  bool *has_row)
{
	PGresult   *res = PQexecParams(conn, sql, n_params, NULL, &param, NULL,
								   NULL, 0);
	char	   *error = NULL;

	*has_row = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0;
	if (session_refused(conn, res, sql))
		error = session_error_words(conn, res);
	PQclear(res);
	return error;
}

/* Is this an ordinary table that the role may lock and truncate? */
static const char allowed_query[] =
"SELECT 1 FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND c.relkind OPERATOR(pg_catalog.=) 'r'"
" AND pg_catalog.has_table_privilege(c.oid, 'TRUNCATE')";

/*
 * Has this session locked the table with this OID, and does the table have no
 * page, not even one with dead rows?
 */
static const char empty_query[] =
"SELECT 1 FROM pg_catalog.pg_locks l"
" WHERE l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()"
" AND l.locktype OPERATOR(pg_catalog.=) 'relation'"
" AND l.relation OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND l.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock' AND l.granted"
" AND pg_catalog.pg_relation_size(l.relation) OPERATOR(pg_catalog.=) 0";

/*
 * Has this transaction truncated the table with this OID?  TRUNCATE gives a
 * table a new file, which changes its row in pg_class.
 */
static const char truncated_query[] =
"SELECT 1 FROM pg_catalog.pg_class c"
" WHERE c.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid"
" AND c.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id()::pg_catalog.xid";

/*
 * LOCK and TRUNCATE contain the table's name, and another session may give
 * this name to another table between any two statements.  So after each
 * statement, a query checks by OID whether it affected the intended table.
 * While this transaction holds the lock, the answer stays true.
 */
static char *
lock_and_truncate(PGconn *conn, const char *name, const char *oid, bool *done)
{
	char	   *lock = psprintf("LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE",
								name);
	char	   *truncate = psprintf("TRUNCATE TABLE ONLY %s", name);
	bool		yes;
	char	   *error = take_step(conn, lock, 0, NULL, &yes);

	if (error == NULL)
		error = take_step(conn, empty_query, 1, oid, &yes);
	if (error == NULL && yes)
	{
		error = take_step(conn, truncate, 0, NULL, &yes);
		if (error == NULL)
			error = take_step(conn, truncated_query, 1, oid, &yes);
		if (error == NULL && !yes)
			error = pg_strdup(SINK_TARGET_OTHER_TABLE);
		*done = error == NULL;
	}
	free(truncate);
	free(lock);
	return error;
}

/*
 * Truncate the table with this name and OID in the session's transaction, but
 * not another table that has this name by now.  *done is set to whether the
 * table was truncated: it is not if it is not an ordinary table, if the role
 * may not truncate it, or if it has a page.  Returns the error, owned, after
 * which the transaction must be rolled back, or NULL.  A lost connection ends
 * the process.
 */
static char *
restore_freeze_truncate(PGconn *conn, const char *name, Oid table, bool *done)
{
	char	   *oid = psprintf("%u", table);
	bool		yes;
	char	   *error = take_step(conn, allowed_query, 1, oid, &yes);

	*done = false;
	if (error == NULL && yes)
		error = lock_and_truncate(conn, name, oid, done);
	free(oid);
	return error;
}

/*
 * Returns an archive's COPY ... FROM stdin statement with FREEZE, owned, or
 * NULL if the statement is not in the form that pg_dump writes.
 */
static char *
restore_freeze_statement(const char *copy)
{
	static const char end[] = " FROM stdin";
	size_t		len = strlen(copy);

	while (len > 0 && strchr("; \n", copy[len - 1]) != NULL)
		len--;
	if (len < sizeof(end) - 1 ||
		strncmp(copy + len - (sizeof(end) - 1), end, sizeof(end) - 1) != 0)
		return NULL;
	return psprintf("%.*s WITH (FREEZE)", (int) len, copy);
}

/* ----------
 * Loads rows and large objects of an archive into a target.
 * ----------
 */

#define OBJECT_READ_BYTES (64 * 1024)

/* How often a worker without a job checks whether it can help. */
#define HELP_LOOK_US 10000

struct RestoreWorker
{
	const RestoreWork *work;
	PGconn	   *conn;
	ArchiveMember *text;		/* the next file, if it is open already */
	Oid		   *later;			/* see sink_target_rows_new() */
	RestoredRows unread;		/* if a command has not returned a data file
								 * of the job, which must be repeated;
								 * otherwise zero */
};

static const ArchiveRows *
rows_of(const RestoreWork *work, const DataFile *file)
{
	return &work->plan->rows[file - work->run->plan->chunks->files];
}

/*
 * A PrefetchFileOfJob.  A worker that helps others has no next file.  If a
 * name is not valid, the worker reports it when it does the job.
 */
static bool
restore_worker_file_of_job(void *arg, int no, int file_no, PrefetchFile *file)
{
	const RestoreWork *work = arg;
	const DumpPlan *plan = work->run->plan;
	const Job  *job = &plan->queue->jobs[work->first_job + no];
	char	   *name = NULL;
	const char *problem;

	if (no >= work->n_jobs || job->shared)
		return false;
	if (job->kind == JOB_LARGE_OBJECTS)
	{
		const LargeObjectGroup *group = &plan->objects->groups[job->first];

		if (file_no >= group->n_oids)
			return false;
		if (!work->objects_left_out[job->first])
			name = archive_name_large_object(group->oids[file_no],
											 COMPRESS_NONE);
	}
	else
	{
		const DataFile *rows;

		if (file_no >= job->n)
			return false;
		rows = plan->queue->files[job->first + file_no];
		if (!work->left_out[rows - plan->chunks->files])
			name = rows_of(work, rows)->entry->filename;
		name = name ? pg_strdup(name) : NULL;
	}
	file->path = name ? archive_read_name(work->archive, name,
										  work->archive->toc->method,
										  &file->want, &problem) : NULL;
	free(name);
	return true;
}

/*
 * Close the inherited socket of the leader.  If two processes wrote to it,
 * they would break the protocol.  And the server does not notice that the
 * leader has ended before all copies of the socket are closed.
 */
static void
restore_worker_start(void *arg, int no)
{
	RestoreWork *work = arg;
	RestoreWorker *worker = pg_malloc0(sizeof(RestoreWorker));

	work->worker = worker;
	worker->work = work;
	/* only this process's copy; the leader continues to use it */
	close(PQsocket(work->target->conn));
	worker->conn = target_connect_loader(work->target);
	interrupt_set_connection(worker->conn);
	(void) target_history_expect(worker->conn, work->target->history);

	/*
	 * A crash of the server ends all sessions, so each worker that connects
	 * checks for one before it loads rows.
	 */
	work->journal->check_crash(work->journal->check_arg, worker->conn, false);
	file_results_begin_worker(work->run->results, no);
	archive_prefetch_begin(work->archive, restore_worker_file_of_job, work);
}

/*
 * Report an error of an entry.  With --exit-on-error, the error ends the run.
 * Otherwise it is counted; if the count is not 0, the exit status of the
 * program is 1.  Frees both texts.
 */
static void
note_error(const RestoreWork *work, const TocEntry *entry, char *problem,
		   char *reason)
{
	(void) pg_strip_crlf(reason);
	toc_context_report(entry);
	pg_log_error("%s: %s", problem, reason);
	if (work->run->options->exit_on_error)
		exit(1);
	(void) __sync_fetch_and_add(work->n_errors, 1);
	free(problem);
	free(reason);
}

/* ----------
 * Rows
 * ----------
 */

/*
 * Compare the number of stored rows with the manifest.  Returns the
 * difference as a message, owned, or NULL.
 */
static char *
check_rows(const RestoreWorker *worker, Oid table, uint64 want, uint64 rows)
{
	if (rows == want || target_may_skip_rows(worker->conn, table, want, rows))
		return NULL;
	return psprintf(ngettext("the manifest contains " UINT64_FORMAT " row, but the target stored " UINT64_FORMAT,
							 "the manifest contains " UINT64_FORMAT " rows, but the target stored " UINT64_FORMAT,
							 want), want, rows);
}

/*
 * Returns the COPY statement for files of one table, owned.  It contains
 * FREEZE only if these files contain all rows of the table: frozen rows are
 * visible to every snapshot, also to one that does not see the rows that
 * another transaction commits.  Sets *error if the table could not be
 * truncated.
 */
static char *
restore_worker_copy_statement(RestoreWorker *worker, const DataFile *const *files, int n,
							  const char *copy, char **error)
{
	const RestoreWork *work = worker->work;
	const DumpPlan *plan = work->run->plan;
	int			table = files[0]->table;
	bool		truncated = false;
	char	   *frozen;

	if (work->fresh == NULL || !work->fresh[table] ||
		n != plan->chunks->tables[table].n_files ||
		(frozen = restore_freeze_statement(copy)) == NULL)
		return pg_strdup(copy);
	*error = restore_freeze_truncate(worker->conn,
									 plan->tables->tables[table].name,
									 work->targets[table], &truncated);
	if (truncated)
		return frozen;
	free(frozen);
	return pg_strdup(copy);
}

/*
 * Load files of one table with one COPY.  Returns the error, owned, after
 * which the transaction must be rolled back, or NULL.
 */
static char *
load_files(RestoreWorker *worker, const DataFile *const *files, int n)
{
	const RestoreWork *work = worker->work;
	const Run  *run = work->run;
	const ArchiveRows **sources = pg_malloc(n * sizeof(ArchiveRows *));
	int64		start_us = clock_wall_us();
	RestoredRows rows = {0};
	uint64		want;
	char	   *copy;

	for (int i = 0; i < n; i++)
		sources[i] = rows_of(work, files[i]);
	copy = restore_worker_copy_statement(worker, files, n, sources[0]->entry->copy_stmt,
										 &rows.error);
	if (rows.error == NULL)
		rows = restore_rows(worker->conn, copy,
							work->targets[files[0]->table], worker->later,
							work->archive, sources, n, worker->text,
							&file_results_progress(run->results)->raw_bytes);
	free(copy);
	if (rows.entry && work->archive->commands)
		worker->unread = rows;
	if (rows.error == NULL && restore_rows_wanted(sources, n, &want))
		rows.error = check_rows(worker, work->targets[files[0]->table], want,
								rows.rows);
	if (rows.error == NULL)
		rows.error = restore_rows_settle(worker->conn, run->options);
	/* COPY returns only the sum of all files: count it for the first one. */
	for (int i = 0; rows.error == NULL && i < n; i++)
		file_result_set(run->results, run_file_result(run, files[i]), start_us,
						i == 0 ? rows.rows : 0, i == 0 ? rows.bytes : 0,
						i == 0 ? rows.bytes : 0);
	file_results_progress(run->results)->rows += rows.rows;
	free(sources);
	return rows.error;
}

/*
 * Write the journal's lines of the files, and leave out files that have one
 * already.  Returns how many are still to be loaded.
 */
static int
claim_files(RestoreWorker *worker, const DataFile *const *files, int n,
			const DataFile **mine)
{
	const RestoreWork *work = worker->work;
	int			n_mine = 0;

	for (int i = 0; i < n; i++)
	{
		char	   *name;

		if (work->left_out[files[i] - work->run->plan->chunks->files])
			continue;
		name = restore_journal_file(files[i]);
		if (restore_journal_claim(work->journal, worker->conn, name))
			mine[n_mine++] = files[i];
		free(name);
	}
	return n_mine;
}

/*
 * Report files of one table that could not be loaded, and leave them out from
 * now on.  Their results are reset, because file_result_set() may have
 * counted rows that the ROLLBACK removes.  Frees the reason.
 */
static void
leave_out(const RestoreWorker *worker, const DataFile *const *files, int n,
		  char *reason)
{
	const RestoreWork *work = worker->work;

	note_error(work, rows_of(work, files[0])->entry,
			   data_files_text(files, n, work->run->plan->tables,
							   "COPY failed for table %s",
							   "COPY failed for chunk %d of %d of table %s",
							   ngettext("COPY failed for %d chunk of table %s", "COPY failed for %d chunks of table %s", n)), reason);
	for (int i = 0; i < n; i++)
	{
		FileResult *result = run_file_result(work->run, files[i]);

		work->left_out[files[i] - work->run->plan->chunks->files] = true;
		result->rows = result->raw_bytes = 0;
		result->incomplete = true;
	}
}

/*
 * Load files that this transaction has claimed.  Returns false if they are
 * now left out, or if a command did not return them.
 */
static bool
restore_claimed_files(RestoreWorker *worker, const DataFile *const *files, int n)
{
	const Run  *run = worker->work->run;
	char	   *error;

	for (int i = 0; i < n; i++)
		run_event_chunk_start(run, files[i], "text", NULL);
	pg_log_info("%s", data_files_text(files, n, run->plan->tables,
									  "restoring table %s",
									  "restoring chunk %d of %d of table %s",
									  ngettext("restoring %d chunk of table %s", "restoring %d chunks of table %s", n)));
	error = load_files(worker, files, n);
	if (error && worker->unread.entry == NULL)
		leave_out(worker, files, n, error);
	for (int i = 0; i < n && error == NULL; i++)
		run_event_chunk_end(run, files[i], NULL);
	return error == NULL;
}

/*
 * Load the files of one table that are not done.  Returns false if the job
 * must be repeated: the files are now left out, or a command did not return
 * them.
 */
static bool
restore_files(RestoreWorker *worker, const DataFile *const *files, int n)
{
	const DataFile **mine = pg_malloc(n * sizeof(DataFile *));
	int			n_mine = claim_files(worker, files, n, mine);
	bool		ok = n_mine == 0 || restore_claimed_files(worker, mine, n_mine);

	free(mine);
	return ok;
}

static void
restore_worker_piece_failed(void *arg, const DataFile *file, char *reason)
{
	const RestoreWorker *worker = arg;
	const Run  *run = worker->work->run;

	worker->work->has_failed[file - run->plan->chunks->files] = true;
	run_file_result(run, file)->incomplete = true;
	note_error(worker->work, rows_of(worker->work, file)->entry,
			   data_files_text(&file, 1, run->plan->tables,
							   "COPY failed for a piece of table %s",
							   "COPY failed for a piece of chunk %d of %d of table %s",
							   NULL), reason);
}

static PieceLoader
piece_loader(RestoreWorker *worker, const DataFile *file)
{
	const RestoreWork *work = worker->work;
	PieceLoader loader = {
		.conn = worker->conn,
		.target = work->target,
		.archive = work->archive,
		.run = work->run,
		.table = work->targets[file->table],
		.journal = work->journal,
		.n_read_again = work->n_read_again,
		.must_restart = work->must_restart,
		.failed = restore_worker_piece_failed,
		.arg = worker,
	};

	return loader;
}

/* Take part in loading a file that several jobs share. */
static void
restore_shared_file(RestoreWorker *worker, const DataFile *file)
{
	const RestoreWork *work = worker->work;
	int			no = file - work->run->plan->chunks->files;
	PieceLoader loader = piece_loader(worker, file);

	if (work->left_out[no])
		return;
	run_event_chunk_start(work->run, file, "text", NULL);
	restore_pieces_run(work->shared[no], &loader, file, rows_of(work, file));
	run_event_chunk_end(work->run, file, NULL);
}

/*
 * Load the job's file in pieces if it has turned out to be long.  A command
 * returns its rows, and this worker has read their beginning.  So this worker
 * loads the file, instead of leaving it to all workers, which would have to
 * run the command again.
 */
static void
restore_long_file(RestoreWorker *worker, const DataFile *file, int job)
{
	const RestoreWork *work = worker->work;
	int			no = file - work->run->plan->chunks->files;
	PieceLoader loader = piece_loader(worker, file);
	bool		complete;

	if (work->rings == NULL || !work->long_files->is_long[no])
		return;
	loader.text = worker->text;
	worker->text = NULL;
	if (work->left_out[no])
	{
		if (loader.text)
			archive_member_close(loader.text);
		return;
	}
	file_results_begin_job(work->run->results, job);
	run_event_chunk_start(work->run, file, "text", NULL);
	complete = restore_rings_load(work->rings, &loader, file, rows_of(work, file),
								  &work->jobs_done[job]);
	run_event_chunk_end(work->run, file, NULL);
	file_results_begin_job(work->run->results, -1);

	/*
	 * If this line cannot be written, a later run finds that all pieces are
	 * loaded, so an error does no harm.
	 */
	if (complete && !work->has_failed[no])
		(void) restore_journal_try_done(work->journal, worker->conn,
										restore_journal_file(file));
}

/*
 * The COPY statements of the job contain the names of their tables, and
 * another session may have given one of these names to another table.  If so,
 * leave out that file, and return false: the job is repeated without it.
 */
static bool
look_at_tables(RestoreWorker *worker, const Job *job, const Oid *tables)
{
	const DumpPlan *plan = worker->work->run->plan;
	int			wrong = sink_target_look(worker->conn, plan, job, tables);

	if (wrong >= 0)
		leave_out(worker, &plan->queue->files[job->first + wrong], 1,
				  pg_strdup(SINK_TARGET_OTHER_TABLE));
	return wrong < 0;
}

/*
 * Load the files of a job.  A table that references itself is loaded by one
 * COPY, because its foreign keys are checked at the end of the statement.
 * Returns false if the job must be repeated.
 */
static bool
restore_data_files(RestoreWorker *worker, const Job *job, volatile int *step)
{
	const RestoreWork *work = worker->work;
	const DataFile **files = &work->run->plan->queue->files[job->first];
	Oid		   *later;
	bool		ok = true;

	if (job->at_once)
		return restore_files(worker, files, job->n);
	later = sink_target_later(work->run->plan, job);
	for (int i = 0; i < job->n && ok; i++)
	{
		*step = i;
		worker->later = later ? &later[i] : NULL;
		if (!work->left_out[files[i] - work->run->plan->chunks->files] &&
			!restore_long_look(work->long_files, work->rings, files[i],
							   &worker->text))
			ok = restore_files(worker, &files[i], 1);
		if (worker->text &&
			!work->long_files->is_long[files[i] - work->run->plan->chunks->files])
		{
			archive_member_close(worker->text);
			worker->text = NULL;
		}
	}
	worker->later = NULL;
	if (ok && later)
		ok = look_at_tables(worker, job, later);
	free(later);
	return ok;
}

/* ----------
 * Large objects
 * ----------
 */

/*
 * A command has not returned a file, for this cause, but may succeed when it
 * runs again.  Returns when the caller can read the file again.  After the
 * last attempt, exits with a message: the rest of the archive may be
 * unreadable, too, and --resume can continue later.
 */
static void
read_again(const RestoreWork *work, Retry *retry, const char *error, const char *cause, int job)
{
	if (!archive_read_again(work->archive, retry, cause))
		archive_read_failed(work->archive, retry, error, cause);
	(void) __sync_fetch_and_add(work->n_read_again, 1);
	run_event_retry(work->run, job);
}

/*
 * Write the bytes of a large object to the target with lo_put().  It takes an
 * offset instead of a descriptor, so nothing has to be opened or closed in
 * the session.  Returns the error, owned, or NULL.
 */
static char *
put_object(RestoreWorker *worker, ArchiveObjects *objects, Oid oid,
		   uint64 *bytes)
{
	WorkerProgress *progress = file_results_progress(worker->work->run->results);
	char	   *buf = pg_malloc(OBJECT_READ_BYTES);
	char	   *error = NULL;
	Sink	   *sink = sink_tap_new(sink_target_object_new(worker->conn, oid, &error),
									&progress->raw_bytes, NULL);
	ssize_t		len;

	while (error == NULL &&
		   (len = archive_objects_read(objects, buf, OBJECT_READ_BYTES)) > 0)
		sink_write(sink, buf, len);
	if (error == NULL)
		error = archive_objects_error(objects);
	if (error == NULL)
		sink_finish(sink);
	*bytes = sink->bytes_in;
	sink_free(sink);
	free(buf);
	return error;
}

/*
 * A command may have returned wrong bytes of an object before it failed.  The
 * end of the transaction closes the descriptor.
 */
static const char empty_object_query[] =
"SELECT pg_catalog.lo_truncate64(pg_catalog.lo_open($1::pg_catalog.oid, 131072), 0)";

/*
 * Load one large object.  If a command does not return it, only this object
 * is read again: a job has up to 1000 of them.  Returns the error, owned.
 */
static char *
restore_object(RestoreWorker *worker, ArchiveObjects *objects, const TocEntry *entry,
			   Oid oid, FileResult *result, int job)
{
	FileResults *results = worker->work->run->results;
	uint64		before = file_results_progress(results)->raw_bytes;
	int64		start_us = clock_wall_us();
	char	   *oid_text = psprintf("%u", oid);
	Retry		retry = {0};
	uint64		bytes;
	char	   *error;
	bool		has_row;

	while ((error = put_object(worker, objects, oid, &bytes)) != NULL &&
		   archive_objects_is_unread(objects))
	{
		read_again(worker->work, &retry, archive_objects_unread(entry), error, job);
		free(error);
		archive_objects_reopen(objects);
		file_results_progress(results)->raw_bytes = before;
		error = take_step(worker->conn, empty_object_query, 1, oid_text, &has_row);
		if (error)
			break;
	}
	free(oid_text);
	file_result_set(results, result, start_us, 0, bytes, bytes);
	result->no_data = archive_objects_has_no_data(objects);
	return error;
}

/* Load the large objects of a group.  Returns the error, owned, or NULL. */
static char *
restore_group(RestoreWorker *worker, const LargeObjectGroup *group, int job)
{
	const RestoreWork *work = worker->work;
	const ArchiveGroup *place =
		&work->plan->groups[group - work->run->plan->objects->groups];
	FileResult *results = &work->run->results->objects[group->first_object];
	char	   *error = NULL;
	ArchiveObjects *objects = archive_objects_open_some(work->archive,
														place->entry,
														place->position,
														group->oids,
														group->n_oids, &error);
	Oid			oid;

	if (objects == NULL)
		return error;
	for (int i = 0; error == NULL && i < group->n_oids; i++)
	{
		if (archive_objects_next(objects, &oid) && oid == group->oids[i])
			error = restore_object(worker, objects, place->entry, oid, &results[i], job);
		else if ((error = archive_objects_error(objects)) == NULL)
			error = psprintf("large object %u is missing from the archive",
							 group->oids[i]);
	}
	archive_objects_close(objects);
	return error;
}

/*
 * Write the journal's line of the group.  Returns false if an earlier run or
 * another worker has loaded the group.
 */
static bool
claim_group(RestoreWorker *worker, const LargeObjectGroup *group)
{
	const RestoreWork *work = worker->work;
	int			no = group - work->run->plan->objects->groups;
	char	   *name = restore_journal_group(&work->plan->groups[no], group);
	bool		result = restore_journal_claim(work->journal, worker->conn, name);

	free(name);
	return result;
}

static bool
restore_objects(RestoreWorker *worker, const LargeObjectGroup *group, int job)
{
	const RestoreWork *work = worker->work;
	const Run  *run = work->run;
	volatile bool *left_out =
		&work->objects_left_out[group - run->plan->objects->groups];
	char	   *error;

	if (*left_out || !claim_group(worker, group))
		return true;
	pg_log_info("%s", large_object_group_text(group, "restoring large object %u",
											  ngettext("restoring %d large object, %u to %u", "restoring %d large objects, %u to %u", group->n_oids)));
	run_event_objects(run, "objects_start", group);
	error = restore_group(worker, group, job);
	if (error)
		note_error(work,
				   work->plan->groups[group - run->plan->objects->groups].entry,
				   large_object_group_text(group, "could not restore large object %u",
										   ngettext("could not restore %d large object, %u to %u", "could not restore %d large objects, %u to %u", group->n_oids)),
				   error);
	else
		run_event_objects(run, "objects_end", group);
	*left_out = error != NULL;
	for (int i = 0; i < group->n_oids; i++)
		run->results->objects[group->first_object + i].incomplete = *left_out;
	return error == NULL;
}

/* ----------
 * Jobs
 * ----------
 */

/*
 * Do the job in a new transaction.  Returns false if the job must be
 * repeated, because a part of it was left out or could not be read.
 */
static bool
restore_job(RestoreWorker *worker, const Job *job, volatile int *step)
{
	const DumpPlan *plan = worker->work->run->plan;

	target_begin_load(worker->work->target, worker->conn);
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			return restore_data_files(worker, job, step);
		case JOB_LARGE_OBJECTS:
			return restore_objects(worker, &plan->objects->groups[job->first],
								   job - plan->queue->jobs);
	}
	return true;
}

/*
 * Do a job, in a transaction that the caller commits.  Repeat the job until
 * nothing more has to be left out.  Each file that a command does not return
 * has retries of its own.
 */
static void
load_job(RestoreWorker *worker, const Job *job, int job_no, volatile int *step)
{
	const RestoreWork *work = worker->work;
	FileResults *results = work->run->results;
	Retry	   *retries = pg_malloc0(job->n * sizeof(Retry));

	file_results_begin_job(results, job_no);
	while (!restore_job(worker, job, step))
	{
		target_command(worker->conn, "ROLLBACK");
		file_results_begin_job(results, job_no);
		if (worker->unread.entry == NULL)
			continue;
		/* files that are loaded at once are one step */
		read_again(work, &retries[job->at_once ? 0 : *step],
				   archive_member_unread(worker->unread.entry), worker->unread.error, job_no);
		free(worker->unread.error);
		memset(&worker->unread, 0, sizeof(RestoredRows));
	}
	free(retries);
}

/*
 * Is one of the jobs before "end" not done?  *first is advanced past jobs
 * that are done.
 */
static bool
has_jobs(const RestoreWork *work, int *first, int end)
{
	while (*first < end && work->jobs_done[*first])
		(*first)++;
	return *first < end;
}

/*
 * Help with long files until all jobs of the pool are done.  A process that
 * died may have had a piece in any ring, so all rings are checked once more
 * after the last job.
 */
static void
help_others(RestoreWorker *worker, int first_job, int n_jobs)
{
	const RestoreWork *work = worker->work;
	const DataFile *files = work->run->plan->chunks->files;
	int			end = first_job + n_jobs;
	int			last = -1;
	bool		has_more;

	do
	{
		has_more = has_jobs(work, &first_job, end);
		for (int i = 0; i < work->run->options->jobs; i++)
		{
			int			no = restore_rings_file(work->rings, i);
			PieceLoader loader;

			if (no < 0)
				continue;
			if (no != last)
				run_event_chunk_start(work->run, &files[no], "text", NULL);
			last = no;
			loader = piece_loader(worker, &files[no]);
			restore_rings_help(work->rings, i, &loader, &files[no],
							   rows_of(work, &files[no]));
			file_results_begin_job(work->run->results, -1);
		}
		if (has_more)
			pg_usleep(HELP_LOOK_US);
	} while (has_more);
}

/*
 * Callback of the pool: do a job.  Jobs that share a file commit each piece
 * by itself.  Before any other job, find out whether a lost worker has
 * committed it without getting the server's answer: otherwise its rows would
 * be loaded twice.
 */
static bool
restore_worker_run_job(void *arg, int no, volatile int *step)
{
	const RestoreWork *work = arg;
	RestoreWorker *worker = work->worker;
	const Run  *run = work->run;
	int			job_no = work->first_job + no;
	const Job  *job = &run->plan->queue->jobs[job_no];
	TargetCommit *end = &work->commits[job_no];

	archive_prefetch_begin_job(work->archive, no);
	if (no >= work->n_jobs)
	{
		help_others(worker, work->first_job, work->n_jobs);
		return true;
	}
	if (job->shared)
	{
		file_results_begin_job(run->results, job_no);
		*step = 0;
		restore_shared_file(worker, run->plan->queue->files[job->first]);
		file_results_begin_job(run->results, -1);
		return true;
	}

	/*
	 * restore_long_file() looks at the first file of a job only, so the rows
	 * of other long files would be lost.
	 */
	if (work->rings && job->kind == JOB_DATA_FILES && !job->at_once && job->n != 1)
		pg_fatal("internal error: job %d has %d files instead of 1", job_no, job->n);
	if (!restore_journal_is_committed(work->journal, worker->conn, work->target,
									  end))
	{
		load_job(worker, job, job_no, step);
		restore_journal_commit(work->journal, worker->conn, end);
		/* from now on, the job's bytes count as bytes of its files */
		file_results_begin_job(run->results, -1);
	}
	if (work->rings)
	{
		/* each file is a job of its own, unless the job is loaded at once */
		if (job->kind == JOB_DATA_FILES && !job->at_once)
			restore_long_file(worker, run->plan->queue->files[job->first],
							  job_no);
		run_job_is_done(run, job, NULL);
		work->jobs_done[job_no] = true;
		return true;
	}
	run_job_is_done(run, job, work->long_files->is_long);
	return true;
}

static void
restore_worker_stop(void *arg)
{
	RestoreWorker *worker = ((RestoreWork *) arg)->worker;

	interrupt_set_connection(NULL);
	session_close(worker->conn);
	free(worker);
}

static char *
restore_worker_describe_job(void *arg, int no, int step)
{
	RestoreWork *work = arg;
	const DumpPlan *plan = work->run->plan;
	const Job  *job;

	if (no >= work->n_jobs)
		return pg_strdup("The worker was restoring large tables.");
	job = &plan->queue->jobs[work->first_job + no];
	if (job->kind == JOB_LARGE_OBJECTS)
		return large_object_group_text(&plan->objects->groups[job->first],
									   "The worker was restoring large object %u.",
									   ngettext("The worker was restoring %d large object, %u to %u.", "The worker was restoring %d large objects, %u to %u.", plan->objects->groups[job->first].n_oids));
	if (step < 0 && job->n > 1 && !job->at_once)
		return pg_strdup("The worker was restoring small tables.");
	return data_files_text(&plan->queue->files[job->first + (job->at_once ? 0 : Max(step, 0))],
						   job->at_once ? job->n : 1, plan->tables,
						   "The worker was restoring table %s.",
						   "The worker was restoring chunk %d of %d of table %s.",
						   ngettext("The worker was restoring %d chunk of table %s.", "The worker was restoring %d chunks of table %s.", job->n));
}

WorkerTask
restore_worker_task(RestoreWork *work)
{
	WorkerTask	task = {
		.arg = work,
		.job_detail = "%s",
		.max_retries = (int) work->run->options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.start = restore_worker_start,
		.run = restore_worker_run_job,
		.stop = restore_worker_stop,
		.describe = restore_worker_describe_job,
	};

	return task;
}
