/*
 * source_session.c
 *		Reads rows in a worker's session.
 */
#include "fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"

#include "cleanup.h"
#include "copy_rows.h"
#include "read_blocks.h"
#include "source_session.h"

#define SESSION_NAME "pg_pardump"

struct SourceSession
{
	const DumpContext *context;
	PGconn	   *conn;
	bool	   *locked;			/* by table: have we its lock? */
	bool		may_be_named;	/* the user did not name the sessions */
};

SourceSession *
source_session_open(const DumpContext *context, int no)
{
	SourceSession *session = pg_malloc0(sizeof(SourceSession));
	const char *name;

	session->context = context;
	session->locked = pg_malloc0((context->tables->n_tables + 1) *
								 sizeof(bool));
	leader_session_begin_worker(context->leader, no);
	session->conn = connection_open_peer(context->address, SESSION_NAME);
	name = PQparameterStatus(session->conn, "application_name");
	session->may_be_named = name != NULL && strcmp(name, SESSION_NAME) == 0;
	session_set_up(session->conn, context->options, context->encoding);
	leader_session_join(context->leader, no, session->conn);
	server_extension_hold_too(session->conn, context->extension,
							  context->lock_wait_ms);
	return session;
}

PGconn *
source_session_connection(const SourceSession *session)
{
	return session->conn;
}

void
source_session_close(SourceSession *session)
{
	cancel_set_connection(NULL);
	PQfinish(session->conn);
	free(session->locked);
	free(session);
}

/* ----------
 * Before a job
 * ----------
 */

/* What the session does, for all to see in pg_stat_activity. */
static void
name_session(SourceSession *session, const Job *job)
{
	const DumpContext *context = session->context;
	char		label[JOB_LABEL_BYTES + 1];
	PQExpBufferData sql;

	if (!session->may_be_named)
		return;
	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "SET application_name TO ");
	appendStringLiteralConn(&sql, job_label(context->queue, job,
											context->tables, label),
							session->conn);
	session_command(session->conn, sql.data);
	termPQExpBuffer(&sql);
}

static void
lock_tables(SourceSession *session, const Job *job)
{
	const DumpContext *context = session->context;
	char	  **names = pg_malloc(job->n * sizeof(char *));
	int			n_names = 0;

	for (int i = 0; i < job->n; i++)
	{
		int			no = context->queue->files[job->first + i]->table;
		const DumpTable *table = &context->tables->tables[no];

		if (session->locked[no] || table->relkind != RELKIND_RELATION)
			continue;
		names[n_names++] = table->name;
		session->locked[no] = true;
	}
	if (n_names > 0)
		session_lock_tables(session->conn, names, n_names,
							context->lock_wait_ms);
	free(names);
}

void
source_session_begin_job(SourceSession *session, const Job *job)
{
	name_session(session, job);
	if (job->kind == JOB_DATA_FILES)
		lock_tables(session, job);
}

/* ----------
 * Reading
 * ----------
 */

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

/* For others to see, while they come. */
static volatile uint64 *
rows_so_far(const SourceSession *session)
{
	return &file_results_progress(session->context->results)->rows;
}

/*
 * By SQL: any table, with the privileges and policies that SQL has.  options is
 * to follow the COPY statement.
 */
static uint64
read_by_sql(SourceSession *session, const DataFile *file, const char *options,
			Sink *sink)
{
	const DumpTable *table = &session->context->tables->tables[file->table];
	bool		is_foreign = table->relkind == RELKIND_FOREIGN_TABLE;
	char	   *text = copy_statement(table, file);
	char	   *statement = psprintf("%s%s", text, options);
	uint64		rows;

	if (is_foreign)
		allow_foreign_tables(session->conn, true);
	rows = copy_rows(session->conn, statement, sink, rows_so_far(session));
	if (is_foreign)
		allow_foreign_tables(session->conn, false);
	free(statement);
	free(text);
	return rows;
}

/* By the extension.  Returns the number of rows if they are plain text. */
static uint64
read_by_extension(SourceSession *session, const DataFile *file,
				  const char *compression, const char *format, Sink *sink)
{
	const DumpContext *context = session->context;
	char	   *statement = read_blocks_statement(session->conn,
												  &context->tables->tables[file->table],
												  file, compression, format);
	bool		plain = strcmp(compression, "none") == 0 &&
		strcmp(format, "text") == 0;
	uint64		rows = read_blocks(session->conn, statement, sink,
								   plain ? rows_so_far(session) : NULL);

	free(statement);
	return rows;
}

/*
 * A reader that gives no rows where there are some has gone wrong, or is not what
 * we take it for: that must not pass for an empty table.
 */
static void
check_empty(SourceSession *session, const DataFile *file, uint64 rows)
{
	const DumpTables *tables = session->context->tables;

	if (rows > 0 || file->seems_empty ||
		!copy_rows_exist(session->conn, &tables->tables[file->table], file))
		return;
	pg_log_error("the extension reads no rows of %s, which has some",
				 data_file_describe(file, tables));
	pg_log_error_detail("SQL finds one in the same snapshot.");
	pg_log_error_hint("Use --no-extension, and look at the functions in the schema "
					  PARDUMP_SCHEMA ".");
	exit(1);
}

uint64
source_session_read_text(SourceSession *session, const DataFile *file,
						 Sink *sink)
{
	uint64		rows;

	if (session->context->plan->tables[file->table].sql_reason != NULL)
		return read_by_sql(session, file, "", sink);
	rows = read_by_extension(session, file, "none", "text", sink);
	check_empty(session, file, rows);
	return rows;
}

uint64
source_session_read_binary(SourceSession *session, const DataFile *file,
						   Sink *sink)
{
	uint64		rows;
	uint64		bytes;

	if (session->context->plan->tables[file->table].sql_reason != NULL)
		return read_by_sql(session, file, " (FORMAT binary)", sink);
	(void) read_by_extension(session, file, "none", "binary", sink);
	read_blocks_count(session->conn, &rows, &bytes);
	check_empty(session, file, rows);
	return rows;
}

uint64
source_session_read_compressed(SourceSession *session, const DataFile *file,
							   Sink *sink, uint64 *raw_bytes)
{
	uint64		rows;

	(void) read_by_extension(session, file, session->context->compression,
							 "text", sink);
	read_blocks_count(session->conn, &rows, raw_bytes);
	check_empty(session, file, rows);
	return rows;
}
