/*
 * dump_worker.c
 *		Does one job after the other in a session of its own.
 */
#include "fe_compat.h"

#include "catalog/pg_class_d.h"

#include "cleanup.h"
#include "copy_rows.h"
#include "dump_worker.h"
#include "read_blocks.h"

struct DumpWorker
{
	const DumpContext *context;
	PGconn	   *conn;
	bool	   *locked;			/* by table: have we its lock? */
};

DumpWorker *
dump_worker_start(const DumpContext *context)
{
	DumpWorker *worker = pg_malloc0(sizeof(DumpWorker));

	worker->context = context;
	worker->locked = pg_malloc0((context->tables->n_tables + 1) * sizeof(bool));
	worker->conn = connection_open_peer(context->address, "pg_pardump");
	session_set_up(worker->conn, context->options, context->encoding);
	session_begin_worker(worker->conn, context->snapshot);
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

/* Foreign tables are shut out by default, as pg_dump has it. */
static void
allow_foreign_tables(PGconn *conn, bool allow)
{
	PQclear(session_query(conn, allow ?
						  "SELECT pg_catalog.set_config(name, 'view', false) FROM pg_catalog.pg_settings"
						  " WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'" :
						  "SELECT pg_catalog.set_config(name, 'view, foreign-table', false) FROM pg_catalog.pg_settings"
						  " WHERE name OPERATOR(pg_catalog.=) 'restrict_nonsystem_relation_kind'"));
}

/* By SQL: any table, with the privileges and policies that SQL has. */
static void
read_by_sql(DumpWorker *worker, const DumpTable *table, const DataFile *file,
			Sink *sink, DumpResult *result)
{
	bool		is_foreign = table->relkind == RELKIND_FOREIGN_TABLE;
	char	   *statement = copy_statement(table, file);

	if (is_foreign)
		allow_foreign_tables(worker->conn, true);
	result->rows += copy_rows(worker->conn, statement, sink);
	if (is_foreign)
		allow_foreign_tables(worker->conn, false);
	free(statement);
}

/* By the extension, as text that the sink compresses. */
static void
read_by_extension(DumpWorker *worker, const DumpTable *table,
				  const DataFile *file, Sink *sink, DumpResult *result)
{
	char	   *statement = read_blocks_statement(worker->conn,
												  worker->context->extension,
												  table, file, "none");

	result->rows += read_blocks(worker->conn, statement, sink);
	free(statement);
}

/*
 * By the extension, compressed by it.  What ends the data follows as a
 * compressed stream of its own, which readers take for one with the first.
 */
static void
read_compressed(DumpWorker *worker, const DumpTable *table,
				const DataFile *file, const char *path, DumpResult *result)
{
	const DumpContext *context = worker->context;
	char	   *file_path = psprintf("%s%s", path,
									 compress_method_suffix(context->compress.method));
	Sink	   *sink = sink_file_new(file_path);
	char	   *statement = read_blocks_statement(worker->conn,
												  context->extension,
												  table, file,
												  context->compression);

	read_blocks(worker->conn, statement, sink);
	sink = sink_compress_new(sink, &context->compress);
	sink_write(sink, COPY_END_OF_DATA, strlen(COPY_END_OF_DATA));
	sink_finish(sink);
	result->stored_bytes += sink_stored_bytes(sink);
	sink_free(sink);
	free(statement);
	free(file_path);
}

static void
dump_data_file(DumpWorker *worker, const DataFile *file, DumpResult *result)
{
	const DumpContext *context = worker->context;
	const DumpTable *table = &context->tables->tables[file->table];
	char	   *what = data_file_describe(file, context->tables);
	char	   *path = psprintf("%s/%d.dat", context->directory, file->dump_id);
	const char *reason = context->plan->tables[file->table].sql_reason;
	Sink	   *sink;

	if (reason == NULL)
		pg_log_info("dumping contents of %s by the extension", what);
	else
		pg_log_info("dumping contents of %s by SQL: %s", what, reason);
	if (reason == NULL && context->compression != NULL)
		read_compressed(worker, table, file, path, result);
	else
	{
		sink = sink_open_archive_file(path, &context->compress);
		if (reason == NULL)
			read_by_extension(worker, table, file, sink, result);
		else
			read_by_sql(worker, table, file, sink, result);
		sink_write(sink, COPY_END_OF_DATA, strlen(COPY_END_OF_DATA));
		sink_finish(sink);
		result->raw_bytes += sink->bytes_in;
		result->stored_bytes += sink_stored_bytes(sink);
		sink_free(sink);
	}
	free(what);
	free(path);
}

void
dump_worker_run(DumpWorker *worker, const Job *job, volatile int *step,
				DumpResult *result)
{
	const DumpContext *context = worker->context;

	memset(result, 0, sizeof(DumpResult));
	switch (job->kind)
	{
		case JOB_DATA_FILES:
			lock_tables_of_job(worker, job);
			for (int i = 0; i < job->n; i++)
			{
				*step = i;
				dump_data_file(worker, context->queue->files[job->first + i],
							   result);
			}
			break;
		case JOB_LARGE_OBJECTS:
			pg_log_info("dumping %d large objects",
						context->objects->groups[job->first].n_oids);
			large_object_group_dump(worker->conn,
									&context->objects->groups[job->first],
									context->directory, &context->compress,
									&result->raw_bytes,
									&result->stored_bytes);
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
