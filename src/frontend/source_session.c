/*
 * source_session.c
 *		Reads rows in a worker's session.
 */
#include "fe_compat.h"

#include "catalog/pg_class_d.h"

#include "cleanup.h"
#include "copy_rows.h"
#include "read_blocks.h"
#include "source_session.h"

struct SourceSession
{
	const DumpContext *context;
	PGconn	   *conn;
	bool	   *locked;			/* by table: have we its lock? */
};

SourceSession *
source_session_open(const DumpContext *context, int no)
{
	SourceSession *session = pg_malloc0(sizeof(SourceSession));

	session->context = context;
	session->locked = pg_malloc0((context->tables->n_tables + 1) *
								 sizeof(bool));
	session->conn = connection_open_peer(context->address, "pg_pardump");
	session_set_up(session->conn, context->options, context->encoding);
	leader_session_join(context->leader, no, session->conn);
	return session;
}

PGconn *
source_session_connection(const SourceSession *session)
{
	return session->conn;
}

void
source_session_lock(SourceSession *session, const Job *job)
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
static uint64
read_by_sql(SourceSession *session, const DumpTable *table,
			const char *statement, Sink *sink)
{
	bool		is_foreign = table->relkind == RELKIND_FOREIGN_TABLE;
	uint64		rows;

	if (is_foreign)
		allow_foreign_tables(session->conn, true);
	rows = copy_rows(session->conn, statement, sink);
	if (is_foreign)
		allow_foreign_tables(session->conn, false);
	return rows;
}

uint64
source_session_read_text(SourceSession *session, const DataFile *file,
						 Sink *sink)
{
	const DumpContext *context = session->context;
	const DumpTable *table = &context->tables->tables[file->table];
	char	   *statement;
	uint64		rows;

	if (context->plan->tables[file->table].sql_reason == NULL)
	{
		statement = read_blocks_statement(session->conn, context->extension,
										  table, file, "none");
		rows = read_blocks(session->conn, statement, sink);
	}
	else
	{
		statement = copy_statement(table, file);
		rows = read_by_sql(session, table, statement, sink);
	}
	free(statement);
	return rows;
}

uint64
source_session_read_binary(SourceSession *session, const DataFile *file,
						   Sink *sink)
{
	const DumpTable *table = &session->context->tables->tables[file->table];
	char	   *text = copy_statement(table, file);
	char	   *statement = psprintf("%s (FORMAT binary)", text);
	uint64		rows = read_by_sql(session, table, statement, sink);

	free(statement);
	free(text);
	return rows;
}

void
source_session_close(SourceSession *session)
{
	cancel_set_connection(NULL);
	PQfinish(session->conn);
	free(session->locked);
	free(session);
}
