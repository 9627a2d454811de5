/*
 * dump_worker.c
 *		Does one job after the other in a session of its own.
 */
#include "fe_compat.h"

#include <unistd.h>

#include "catalog/pg_class_d.h"

#include "archive_file.h"
#include "fe_utils/string_utils.h"
#include "pqexpbuffer.h"

#include "cleanup.h"
#include "copy_rows.h"
#include "dump_event.h"
#include "dump_worker.h"
#include "read_blocks.h"
#include "sink_archive.h"

#define SESSION_NAME "pg_pardump"

struct DumpWorker
{
	const DumpContext *context;
	PGconn	   *conn;
	bool	   *locked;			/* by table: have we its lock? */
	bool		may_be_named;	/* the user did not name the sessions */
};

DumpWorker *
dump_worker_start(const DumpContext *context, int no)
{
	DumpWorker *worker = pg_malloc0(sizeof(DumpWorker));
	const char *name;

	worker->context = context;
	file_results_begin_worker(context->results, no);
	worker->locked = pg_malloc0((context->tables->n_tables + 1) * sizeof(bool));
	leader_session_begin_worker(context->leader, no);
	worker->conn = connection_open_peer(context->address, SESSION_NAME);
	name = PQparameterStatus(worker->conn, "application_name");
	worker->may_be_named = name != NULL && strcmp(name, SESSION_NAME) == 0;
	session_set_up(worker->conn, context->options, context->encoding);
	leader_session_join(context->leader, no, worker->conn);
	return worker;
}

/*
 * The leader holds every lock, but a session's reads wait for its own.  Locks
 * are kept, so that later chunks of a table cannot be shut out.
 */
static void
lock_tables_of_job(DumpWorker *worker, const Job *job)
{
	const DumpContext *context = worker->context;
	char	  **names = pg_malloc(job->n * sizeof(char *));
	int			n_names = 0;

	for (int i = 0; i < job->n; i++)
	{
		int			no = context->queue->files[job->first + i]->table;
		const DumpTable *table = &context->tables->tables[no];

		if (worker->locked[no] || table->relkind != RELKIND_RELATION)
			continue;
		names[n_names++] = table->name;
		worker->locked[no] = true;
	}
	if (n_names > 0)
		session_lock_tables(worker->conn, names, n_names,
							context->lock_wait_ms);
	free(names);
}

/*
 * Foreign tables are shut out by default, as pg_dump has it.  Servers before
 * the setting's time have no row of it.
 */
static void
allow_foreign_tables(PGconn *conn, bool allow)
{
	const char *kinds = allow ? "view" : "view, foreign-table";

	PQclear(session_query_params(conn,
								 "SELECT pg_catalog.set_config(name, $1, false) FROM pg_catalog.pg_settings"
								 " WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'",
								 1, &kinds, 0));
}

/* By SQL: any table, with the privileges and policies that SQL has. */
static uint64
read_by_sql(DumpWorker *worker, const DumpTable *table, const DataFile *file,
			Sink *sink)
{
	bool		is_foreign = table->relkind == RELKIND_FOREIGN_TABLE;
	char	   *statement = copy_statement(table, file);
	uint64		rows;

	if (is_foreign)
		allow_foreign_tables(worker->conn, true);
	rows = copy_rows(worker->conn, statement, sink);
	if (is_foreign)
		allow_foreign_tables(worker->conn, false);
	free(statement);
	return rows;
}

/* By the extension, compressed as asked for by the text. */
static uint64
read_by_extension(DumpWorker *worker, const DumpTable *table,
				  const DataFile *file, const char *compression, Sink *sink)
{
	char	   *statement = read_blocks_statement(worker->conn,
												  worker->context->extension,
												  table, file, compression);
	uint64		rows = read_blocks(worker->conn, statement, sink);

	free(statement);
	return rows;
}

/* Without the suffix of the compression; owned. */
static char *
data_file_path(const DumpContext *context, const DataFile *file)
{
	return psprintf("%s/%d.dat", context->directory, file->dump_id);
}

static FileResult *
data_file_result(const DumpContext *context, const DataFile *file)
{
	return &context->results->files[file - context->plan->files];
}

/* What the session does, for all to see in pg_stat_activity. */
static void
name_session(DumpWorker *worker, const Job *job)
{
	char		label[JOB_LABEL_BYTES + 1];
	PQExpBufferData sql;

	if (!worker->may_be_named)
		return;
	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SET application_name TO ");
	appendStringLiteralConn(&sql,
							job_label(worker->context->queue, job,
									  worker->context->tables, label),
							worker->conn);
	session_command(worker->conn, sql.data);
	termPQExpBuffer(&sql);
}

/*
 * What ends the data follows rows that the server compressed as a compressed
 * stream of its own, which readers take for one with the first.
 */
static void
dump_data_file(DumpWorker *worker, const DataFile *file)
{
	const DumpContext *context = worker->context;
	const DumpTable *table = &context->tables->tables[file->table];
	FileResult *result = data_file_result(context, file);
	const char *reason = context->plan->tables[file->table].sql_reason;
	char	   *what = data_file_describe(file, context->tables);
	char	   *path = data_file_path(context, file);
	ArchiveFile *out;
	uint64		rows;
	uint64		raw_bytes;

	dump_event_chunk_start(context, file);
	if (reason == NULL)
		pg_log_info("dumping contents of %s by the extension", what);
	else
		pg_log_info("dumping contents of %s by SQL: %s", what, reason);
	if (reason == NULL && context->compression != NULL)
	{
		out = archive_file_begin_compressed(context->results, result, path,
											&context->compress);
		(void) read_by_extension(worker, table, file, context->compression,
								 archive_file_sink(out));
		read_blocks_count(worker->conn, context->extension, &rows, &raw_bytes);
		archive_file_compress_rest(out, raw_bytes);
	}
	else
	{
		out = archive_file_begin(context->results, result, path,
								 &context->compress);
		if (reason == NULL)
			rows = read_by_extension(worker, table, file, "none",
									 archive_file_sink(out));
		else
			rows = read_by_sql(worker, table, file, archive_file_sink(out));
	}
	sink_write(archive_file_sink(out), COPY_END_OF_DATA,
			   strlen(COPY_END_OF_DATA));
	archive_file_complete(out, rows);
	dump_event_chunk_end(context, file);
	free(what);
	free(path);
}

void
dump_worker_run(DumpWorker *worker, int job_no, volatile int *step)
{
	const DumpContext *context = worker->context;
	const Job  *job = &context->queue->jobs[job_no];
	const LargeObjectGroup *group;

	file_results_begin_job(context->results, job_no);
	name_session(worker, job);
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			lock_tables_of_job(worker, job);
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				dump_data_file(worker, context->queue->files[job->first + i]);
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &context->objects->groups[job->first];
			pg_log_info("dumping %d large objects", group->n_oids);
			dump_event_objects(context, "objects_start", group);
			large_object_group_dump(worker->conn,
									group, context->directory,
									&context->compress, context->results);
			dump_event_objects(context, "objects_end", group);
			break;
	}
	file_results_begin_job(context->results, -1);
}

/* Frees the path. */
static void
remove_file(const DumpContext *context, char *path, FileResult *result)
{
	char	   *name = psprintf("%s%s", path,
								compress_method_suffix(context->compress.method));

	sink_archive_remove(name);
	result->done = false;
	free(name);
	free(path);
}

void
dump_worker_reset(const DumpContext *context, int job_no)
{
	const Job  *job = &context->queue->jobs[job_no];
	const LargeObjectGroup *group;

	switch (job->kind)
	{
		case JOB_DATA_FILES:
			for (int i = 0; i < job->n; i++)
			{
				const DataFile *file = context->queue->files[job->first + i];

				remove_file(context, data_file_path(context, file),
							data_file_result(context, file));
			}
			break;
		case JOB_LARGE_OBJECTS:
			group = &context->objects->groups[job->first];
			for (int i = 0; i < group->n_oids; i++)
				remove_file(context,
							large_object_path(context->directory,
											  group->oids[i]),
							&context->results->objects[group->first_object + i]);
			break;
	}
}

void
dump_worker_stop(DumpWorker *worker)
{
	cancel_set_connection(NULL);
	PQfinish(worker->conn);
	free(worker->locked);
	free(worker);
}
