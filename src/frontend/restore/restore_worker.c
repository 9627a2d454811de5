/*
 * restore_worker.c
 *		Loads rows and large objects of an archive into a target.
 *
 * A job is one transaction.  If one of its files cannot be loaded the
 * transaction is rolled back, and the job begun anew without that file: so
 * what stock pg_restore would have loaded is loaded, and no job without an
 * error pays for it.
 */
#include "base/fe_compat.h"

#include <unistd.h>

#include "common/string.h"

#include "archive/archive_objects.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "restore/restore_rows.h"
#include "restore/restore_worker.h"
#include "status/run_event.h"
#include "stream/sink_tap.h"
#include "target/sink_target.h"
#include "target/target_history.h"

#define OBJECT_READ_BYTES (64 * 1024)

struct RestoreWorker
{
	const RestoreWork *work;
	PGconn	   *conn;
};

RestoreWorker *
restore_worker_start(const RestoreWork *work, int no)
{
	RestoreWorker *worker = pg_malloc0(sizeof(RestoreWorker));

	worker->work = work;
	/* the leader's connection is the leader's alone, and ends with it */
	close(PQsocket(work->target->conn));
	worker->conn = target_connect(work->target);
	interrupt_set_connection(worker->conn);
	target_history_expect(worker->conn, work->target->history);
	file_results_begin_worker(work->run->results, no);
	return worker;
}

/* Not loaded, for this reason: with --exit-on-error that is the end. */
static void
note_error(const RestoreWork *work, const char *problem, const char *what,
		   char *reason)
{
	(void) pg_strip_crlf(reason);
	pg_log_error("%s %s: %s", problem, what, reason);
	if (work->run->options->exit_on_error)
		exit(1);
	(void) __sync_fetch_and_add(work->n_errors, 1);
	free(reason);
}

/* ----------
 * Rows
 * ----------
 */

/*
 * Are these as many rows as the manifest says?  What is wrong, or NULL; owned.
 * A trigger may have left out some where tables were there before.
 */
static char *
check_rows(const RestoreWork *work, const ArchiveRows *source,
		   const RestoredRows * rows, const char *what)
{
	if (source->want == NULL || rows->rows == source->want->rows)
		return NULL;
	if (!work->run->options->data_only)
		return psprintf("of " UINT64_FORMAT " row%s that the manifest tells of the target took " UINT64_FORMAT,
						source->want->rows, units_plural(source->want->rows),
						rows->rows);
	pg_log_warning("of " UINT64_FORMAT " row%s of %s the target took " UINT64_FORMAT,
				   source->want->rows, units_plural(source->want->rows), what,
				   rows->rows);
	pg_log_warning_hint("A trigger on the target may have left out rows; see --disable-triggers.");
	return NULL;
}

/*
 * Constraints may be checked only at the end of a transaction.  pg_restore's
 * ends with the table.
 */
static char *
check_constraints(RestoreWorker *worker)
{
	PGresult   *res;
	char	   *error = NULL;

	if (!worker->work->run->options->data_only)
		return NULL;
	res = PQexec(worker->conn, "SET CONSTRAINTS ALL IMMEDIATE");
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		error = pg_strdup(PQresultErrorMessage(res));
	PQclear(res);
	return error;
}

/* False if it could not be loaded: the transaction is of no use then. */
static bool
restore_file(RestoreWorker *worker, const DataFile *file)
{
	const RestoreWork *work = worker->work;
	const Run  *run = work->run;
	const ArchiveRows *source = &work->plan->rows[file - run->plan->chunks->files];
	char	   *what = data_file_describe(file, run->plan->tables);
	int64		start_us = clock_wall_us();
	RestoredRows rows;

	run_event_chunk_start(run, file, "text");
	pg_log_info("restoring %s", what);
	rows = restore_rows(worker->conn, work->archive, source,
						&file_results_progress(run->results)->raw_bytes);
	if (rows.error == NULL)
		rows.error = check_rows(work, source, &rows, what);
	if (rows.error == NULL)
		rows.error = check_constraints(worker);
	if (rows.error)
		note_error(work, "COPY failed for", what, rows.error);
	else
	{
		file_result_set(run->results, run_file_result(run, file), start_us,
						rows.rows, rows.bytes);
		run_event_chunk_end(run, file);
	}
	free(what);
	return rows.error == NULL;
}

static bool
restore_files(RestoreWorker *worker, const Job *job, volatile int *step)
{
	const RestoreWork *work = worker->work;
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < job->n; i++)
	{
		const DataFile *file = plan->queue->files[job->first + i];
		volatile bool *left_out = &work->left_out[file - plan->chunks->files];

		*step = i;
		if (*left_out)
			continue;
		*left_out = !restore_file(worker, file);
		if (*left_out)
			return false;
	}
	return true;
}

/* ----------
 * Large objects
 * ----------
 */

/* What is wrong, or NULL; owned. */
static char *
restore_object(RestoreWorker *worker, ArchiveObjects *objects, Oid oid,
			   FileResult *result)
{
	FileResults *results = worker->work->run->results;
	int64		start_us = clock_wall_us();
	char	   *buf = pg_malloc(OBJECT_READ_BYTES);
	char	   *error = NULL;
	Sink	   *sink = sink_tap_new(sink_target_object_new(worker->conn, oid, &error),
									&file_results_progress(results)->raw_bytes,
									NULL);
	ssize_t		len;

	while (error == NULL &&
		   (len = archive_objects_read(objects, buf, OBJECT_READ_BYTES)) > 0)
		sink_write(sink, buf, len);
	if (error == NULL)
		error = archive_objects_error(objects);
	if (error == NULL)
		sink_finish(sink);
	file_result_set(results, result, start_us, 0, sink->bytes_in);
	sink_free(sink);
	free(buf);
	return error;
}

/* The list that a group is of, and its first object's place in that. */
static int
find_list(const LargeObjects *objects, const LargeObjectGroup *group, int *first)
{
	for (int i = 0; i < objects->n_lists; i++)
	{
		const LargeObjectList *list = &objects->lists[i];

		if (group->oids >= list->oids && group->oids < list->oids + list->n_oids)
		{
			*first = group->oids - list->oids;
			return i;
		}
	}
	pg_fatal("the list of large object %u is not known", group->oids[0]);
}

/* What is wrong, or NULL; owned. */
static char *
restore_group(RestoreWorker *worker, const LargeObjectGroup *group)
{
	const RestoreWork *work = worker->work;
	FileResult *results = &work->run->results->objects[group->first_object];
	char	   *error = NULL;
	int			first;
	int			list = find_list(work->run->plan->objects, group, &first);
	ArchiveObjects *objects = archive_objects_open(work->archive,
												   work->plan->object_lists[list],
												   &error);
	int			n_done = 0;
	Oid			oid;

	if (objects == NULL)
		return error;
	for (int i = 0; error == NULL && n_done < group->n_oids &&
		 archive_objects_next(objects, &oid); i++)
	{
		if (i < first)
			continue;
		if (oid != group->oids[n_done])
			error = psprintf("the archive has large object %u where %u was", oid,
							 group->oids[n_done]);
		else
			error = restore_object(worker, objects, oid, &results[n_done++]);
	}
	if (error == NULL)
		error = archive_objects_error(objects);
	if (error == NULL && n_done < group->n_oids)
		error = psprintf("the archive has no more large object %u",
						 group->oids[n_done]);
	archive_objects_close(objects);
	return error;
}

static bool
restore_objects(RestoreWorker *worker, const LargeObjectGroup *group)
{
	const RestoreWork *work = worker->work;
	const Run  *run = work->run;
	volatile bool *left_out =
		&work->objects_left_out[group - run->plan->objects->groups];
	char	   *what;
	char	   *error;

	if (*left_out)
		return true;
	what = large_object_group_describe(group);
	pg_log_info("restoring %s", what);
	run_event_objects(run, "objects_start", group);
	error = restore_group(worker, group);
	if (error)
		note_error(work, "could not restore", what, error);
	else
		run_event_objects(run, "objects_end", group);
	free(what);
	*left_out = error != NULL;
	return error == NULL;
}

/* ----------
 * Jobs
 * ----------
 */

/* False if something of it had to be left out. */
static bool
restore_job(RestoreWorker *worker, const Job *job, volatile int *step)
{
	PQclear(target_query(worker->conn, "BEGIN", 0, NULL));
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			return restore_files(worker, job, step);
		case JOB_LARGE_OBJECTS:
			return restore_objects(worker,
								   &worker->work->run->plan->objects->groups[job->first]);
	}
	return true;
}

void
restore_worker_run(RestoreWorker *worker, int job_no, volatile int *step)
{
	const RestoreWork *work = worker->work;
	const Run  *run = work->run;
	const Job  *job = &run->plan->queue->jobs[job_no];
	TargetCommit *end = &work->commits[job_no];

	if (!target_commit_is_done(worker->conn, work->target, end))
	{
		file_results_begin_job(run->results, job_no);
		while (!restore_job(worker, job, step))
			PQclear(target_query(worker->conn, "ROLLBACK", 0, NULL));
		target_commit(worker->conn, end);
		/* the job's bytes now count as those of its files */
		file_results_begin_job(run->results, -1);
	}
	run_job_is_done(run, job);
}

void
restore_worker_stop(RestoreWorker *worker)
{
	interrupt_set_connection(NULL);
	PQfinish(worker->conn);
	free(worker);
}
