/*
 * read_copy.c
 *		Fetches rows by COPY.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "pqexpbuffer.h"

#include "session/session.h"
#include "session/session_loss.h"
#include "source/read_copy.h"

/*
 * Rows come one a message; the sink gets them in blocks, which are no larger
 * than what is on its way between two processes: a sink that is another
 * server works on one while the next is made.
 */
#define BLOCK_BYTES ((size_t) 128 * 1024)

static const char problem[] = "could not read rows";

/* WHERE, and the blocks of a chunk, set by read_copy_set_blocks(). */
static const char range_condition[] =
" WHERE ctid OPERATOR(pg_catalog.>=) ('(' OPERATOR(pg_catalog.||)"
" " READ_COPY_START " OPERATOR(pg_catalog.||) ',0)')::pg_catalog.tid"
" AND ctid OPERATOR(pg_catalog.<) ('(' OPERATOR(pg_catalog.||)"
" " READ_COPY_END " OPERATOR(pg_catalog.||) ',0)')::pg_catalog.tid";

void
read_copy_set_blocks(PGconn *conn, const DataFile *file)
{
	char		start[16];
	char		end[16];
	PQExpBufferData sql;

	/* InvalidBlockNumber is behind all blocks */
	snprintf(start, sizeof(start), "%u", file->start_block);
	snprintf(end, sizeof(end), "%u", file->end_block);
	initPQExpBuffer(&sql);
	session_append_set(&sql, conn, "pardump.start_block", start, true);
	session_append_set(&sql, conn, "pardump.end_block", end, true);
	PQclear(session_query(conn, sql.data));
	termPQExpBuffer(&sql);
}

/*
 * Rows of inheritance children must not come along: ONLY.  Stock pg_dump
 * reads foreign tables and those with a condition without it.
 */
static char *
copy_statement(const DumpTable *table, const DataFile *file)
{
	char	   *columns = dump_table_select_list(table);
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
	if (file->n_chunks > 1)
	{
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM ONLY %s",
						  columns, table->name);
		appendPQExpBufferStr(&sql, range_condition);
		if (table->filter)
			appendPQExpBuffer(&sql, " AND %s", table->filter);
		appendPQExpBufferStr(&sql, ") TO STDOUT");
	}
	else if (table->filter && table->relkind == RELKIND_FOREIGN_TABLE)
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM %s WHERE %s) TO STDOUT",
						  columns, table->name, table->filter);
	else if (table->condition || table->relkind == RELKIND_FOREIGN_TABLE)
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM %s %s) TO STDOUT",
						  columns, table->name,
						  table->condition ? table->condition : "");
	else if (table->filter)
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM ONLY %s WHERE %s) TO STDOUT",
						  columns, table->name, table->filter);
	else if (table->masks)
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM ONLY %s) TO STDOUT",
						  columns, table->name);
	else if (table->n_columns > 0)
		appendPQExpBuffer(&sql, "COPY %s (%s) TO STDOUT",
						  table->name, columns);
	else
		appendPQExpBuffer(&sql, "COPY %s TO STDOUT", table->name);
	free(columns);
	return sql.data;
}

/* No query: COPY of all of it does not plan one. */
static bool
first_row_comes(PGconn *conn, const DumpTable *table, const DataFile *file)
{
	char	   *statement = copy_statement(table, file);
	char	   *row;
	int			len;

	read_copy_begin(conn, statement);
	len = session_wait_copy_data(conn, &row);
	if (len > 0)
		return true;
	(void) read_copy_end(conn, statement, len);
	free(statement);
	return false;
}

bool
read_copy_has_rows(PGconn *conn, const DumpTable *table, const DataFile *file)
{
	PQExpBufferData sql;
	PGresult   *res;
	bool		result;

	if (table->stranger)
		return file->n_chunks == 1 && first_row_comes(conn, table, file);
	initPQExpBuffer(&sql);
	appendPQExpBuffer(&sql, "SELECT FROM ONLY %s", table->name);
	if (file->n_chunks > 1)
	{
		read_copy_set_blocks(conn, file);
		appendPQExpBufferStr(&sql, range_condition);
	}
	appendPQExpBufferStr(&sql, " LIMIT 1");
	res = session_query(conn, sql.data);
	result = PQntuples(res) > 0;
	PQclear(res);
	termPQExpBuffer(&sql);
	return result;
}

void
read_copy_begin(PGconn *conn, const char *statement)
{
	PGresult   *res = session_exec(conn, statement);

	if (PQresultStatus(res) != PGRES_COPY_OUT)
		session_failed(conn, res, problem, statement);
	PQclear(res);
}

uint64
read_copy_end(PGconn *conn, const char *statement, int last_len)
{
	PGresult   *res;
	uint64		rows;

	if (last_len == -2)
		session_failed(conn, NULL, problem, statement);
	session_wait_begins();
	res = PQgetResult(conn);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, problem, statement);
	rows = strtoull(PQcmdTuples(res), NULL, 10);
	PQclear(res);
	if (PQgetResult(conn) != NULL)
		pg_fatal("unexpected extra results of \"%s\"", statement);
	session_wait_ends();
	return rows;
}

/* Returns the number of rows. */
static uint64
run_copy(PGconn *conn, const char *statement, Sink *sink,
		 volatile uint64 *rows_so_far)
{
	char	   *block = pg_malloc(BLOCK_BYTES);
	size_t		used = 0;
	uint64		rows;
	char	   *row;
	int			len;

	read_copy_begin(conn, statement);
	while ((len = session_wait_copy_data(conn, &row)) > 0)
	{
		if (used + len > BLOCK_BYTES)
		{
			sink_write(sink, block, used);
			used = 0;
		}
		if (len > (int) BLOCK_BYTES)
			sink_write(sink, row, len);
		else
		{
			memcpy(block + used, row, len);
			used += len;
		}
		PQfreemem(row);
		++*rows_so_far;
	}
	rows = read_copy_end(conn, statement, len);
	sink_write(sink, block, used);
	free(block);
	return rows;
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

uint64
read_copy(PGconn *conn, const DumpTable *table, const DataFile *file,
		  const char *format, Sink *sink, volatile uint64 *rows_so_far)
{
	bool		is_foreign = table->relkind == RELKIND_FOREIGN_TABLE;
	char	   *text = copy_statement(table, file);
	char	   *statement = strcmp(format, "text") == 0 ? pg_strdup(text) :
		psprintf("%s (FORMAT %s)", text, format);
	uint64		rows;

	if (file->n_chunks > 1)
		read_copy_set_blocks(conn, file);
	if (is_foreign)
		allow_foreign_tables(conn, true);
	if (table->masks)
		session_withhold(table->name);
	rows = run_copy(conn, statement, sink, rows_so_far);
	session_withhold(NULL);
	if (is_foreign)
		allow_foreign_tables(conn, false);
	free(statement);
	free(text);
	return rows;
}
