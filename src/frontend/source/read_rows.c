/*
 * read_rows.c
 *		Reads rows of tables and large objects from the source.
 *
 * Rows come through COPY, with SQL or with a function of the extension.  Both
 * write to a sink, so neither knows whether the rows go to a file, to a
 * command or to another server.
 */
#include "base/fe_compat.h"

#include "catalog/pg_class_d.h"
#include "fe_utils/string_utils.h"
#include "port/pg_bswap.h"

#include "base/buffer.h"
#include "base/identifier.h"
#include "session/session_lost.h"
#include "source/read_rows.h"

/* ----------
 * Rows, read with COPY and SQL.
 * ----------
 */

/*
 * libpq returns one row per message.  The sink gets blocks of several rows,
 * which are small enough for the buffers between two processes.  So if the
 * sink is another server, that server works on one block while the next one
 * is filled.
 */
#define BLOCK_BYTES ((size_t) 128 * 1024)

static const char problem[] = "could not read rows";

/*
 * The condition for the blocks of a chunk, which read_copy_set_blocks() sets.
 */
static const char range_condition[] =
" WHERE ctid OPERATOR(pg_catalog.>=) ('(' OPERATOR(pg_catalog.||)"
" " READ_COPY_START " OPERATOR(pg_catalog.||) ',0)')::pg_catalog.tid"
" AND ctid OPERATOR(pg_catalog.<) ('(' OPERATOR(pg_catalog.||)"
" " READ_COPY_END " OPERATOR(pg_catalog.||) ',0)')::pg_catalog.tid";

static void
read_copy_set_blocks(PGconn *conn, const DataFile *file)
{
	char		start[16];
	char		end[16];
	PQExpBufferData sql = buffer_new();

	/* An end of InvalidBlockNumber is greater than all block numbers. */
	snprintf(start, sizeof(start), "%u", file->start_block);
	snprintf(end, sizeof(end), "%u", file->end_block);
	session_append_set(&sql, conn, "pardump.start_block", start, true);
	session_append_set(&sql, conn, "pardump.end_block", end, true);
	PQclear(session_query(conn, sql.data));
	termPQExpBuffer(&sql);
}

/*
 * ONLY excludes the rows of inheritance children.  Like pg_dump, omit it for
 * foreign tables, and for tables of an extension with a condition.
 */
static char *
statement_by_sql(const DumpTable *table, const DataFile *file)
{
	char	   *columns = dump_table_select_list(table);
	PQExpBufferData sql = buffer_new();

	if (file->n_chunks > 1)
		appendPQExpBuffer(&sql, "COPY (SELECT %s FROM ONLY %s%s%s%s) TO STDOUT",
						  columns, table->name, range_condition,
						  table->filter ? " AND " : "",
						  table->filter ? table->filter : "");
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

/*
 * The beginning and the end of any COPY ... TO STDOUT.  In between the caller
 * calls session_wait_copy_data() until the result is not a length, and passes
 * this result to read_copy_end(), which returns the command's row count.
 * Both exit with a message if the server fails.
 */
static void
read_copy_begin(PGconn *conn, const char *statement)
{
	PGresult   *res = session_exec(conn, statement);

	if (PQresultStatus(res) != PGRES_COPY_OUT)
		session_failed(conn, res, problem, statement);
	PQclear(res);
}

static uint64
read_copy_end(PGconn *conn, const char *statement, int last_len)
{
	PGresult   *res;
	uint64		rows;

	if (last_len == -2)
		session_failed(conn, NULL, problem, statement);

	/*
	 * The server may take long here, too.  PQgetResult() does not call the
	 * watch, but counts as a wait, so that the leader sees it.
	 */
	session_wait_begins();
	res = PQgetResult(conn);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		session_failed(conn, res, problem, statement);
	rows = strtoull(PQcmdTuples(res), NULL, 10);
	PQclear(res);
	if (PQgetResult(conn) != NULL)
		session_unexpected(psprintf("A statement has more than one result: %s",
									statement));
	session_wait_ends();
	return rows;
}

/*
 * Is there a first row?  The COPY of a whole table is not a query that is
 * planned, so it calls no functions of other roles.
 */
static bool
first_row_comes(PGconn *conn, const DumpTable *table, const DataFile *file)
{
	char	   *statement = statement_by_sql(table, file);
	char	   *row;
	int			len;

	read_copy_begin(conn, statement);
	len = session_wait_copy_data(conn, &row);

	/*
	 * The other rows are not read: the caller ends the program, because the
	 * extension has found no rows.
	 */
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

/*
 * Run a COPY statement, and write its rows to the sink.  Returns their
 * number.
 */
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

	/*
	 * Write the last block only after the server has reported success.  So
	 * the sink never gets the end of a file whose rows are incomplete.
	 */
	sink_write(sink, block, used);
	free(block);
	return rows;
}

/*
 * By default our sessions cannot read foreign tables, like those of pg_dump.
 * Older servers do not have this setting, and the query then changes nothing.
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
	char	   *statement = statement_by_sql(table, file);
	uint64		rows;

	if (strcmp(format, "text") != 0)
		statement = psprintf("%s (FORMAT %s)", statement, format);

	if (file->n_chunks > 1)
		read_copy_set_blocks(conn, file);
	if (is_foreign)
		allow_foreign_tables(conn, true);

	/*
	 * The server's error message may quote the current row, with values that
	 * the mask must hide.
	 */
	if (table->masks)
		session_withhold(table->name);
	rows = run_copy(conn, statement, sink, rows_so_far);
	session_withhold(NULL);
	if (is_foreign)
		allow_foreign_tables(conn, false);
	free(statement);
	return rows;
}

/* ----------
 * Blocks of rows, read with pg_pardump_read(), a function of the extension.
 *
 * A value of the function is a block of about 1 MiB.  COPY in binary format
 * transfers a bytea with the least work on both sides ("Binary Format" in the
 * manual of COPY): a header of at least 19 bytes, then for each block one
 * row, which consists of the number of columns (16 bits, here 1), the length
 * (32 bits) and the bytes.  A row with -1 columns is the end.  A message may
 * be any part of this stream.
 * ----------
 */

#define SIGNATURE "PGCOPY\n\377\r\n\0"
#define SIGNATURE_BYTES 11

/* The number of lines in this many bytes always fits into one byte. */
#define COUNT_BYTES 128

typedef enum ReaderState
{
	READ_HEAD,					/* signature, flags, length of extension */
	READ_HEAD_EXTENSION,
	READ_COLUMNS,				/* number of columns, or the end */
	READ_LENGTH,				/* of the block */
	READ_BLOCK,
	READ_END
} ReaderState;

typedef struct BlockReader
{
	Sink	   *sink;
	ReaderState state;
	char		field[SIGNATURE_BYTES + 8]; /* a field that has not arrived
											 * completely */
	size_t		field_len;
	size_t		left;			/* of the block or the head's extension */
	bool		hands_on_whole; /* write each block at once */
	PQExpBufferData block;		/* the first part of such a block, unless it
								 * came in one message */
	bool		counts_lines;
	uint64		lines;			/* line ends in the blocks */
} BlockReader;

/*
 * Collect a field of fixed size, which may come in parts.  Returns true when
 * the field is complete.
 */
static bool
gather(BlockReader *reader, size_t want, const char **data, size_t *len)
{
	size_t		part = Min(want - reader->field_len, *len);

	memcpy(reader->field + reader->field_len, *data, part);
	reader->field_len += part;
	*data += part;
	*len -= part;
	if (reader->field_len < want)
		return false;
	reader->field_len = 0;
	return true;
}

static uint32
number32(const char *bytes)
{
	uint32		value;

	memcpy(&value, bytes, sizeof(value));
	return pg_ntoh32(value);
}

static void
unexpected(void)
{
	session_unexpected_extension("A block of rows is not in the expected format.");
}

/*
 * A newline in COPY's text format ends a row, because newlines in values are
 * escaped.  Lines are counted in parts of a fixed size, which compilers turn
 * into vector instructions.
 */
static uint64
count_lines(const char *data, size_t len)
{
	uint64		lines = 0;

	for (; len >= COUNT_BYTES; data += COUNT_BYTES, len -= COUNT_BYTES)
	{
		uint8		in_piece = 0;

		for (int i = 0; i < COUNT_BYTES; i++)
			in_piece += data[i] == '\n';
		lines += in_piece;
	}
	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	return lines;
}

/*
 * Take a part of a block.  reader->left is the number of bytes of the block
 * that are still to come, including this part.  The server sends a row of
 * COPY in one message, so a block is rarely copied into the buffer.
 */
static void
take_part(BlockReader *reader, const char *data, size_t len)
{
	if (reader->counts_lines)
		reader->lines += count_lines(data, len);
	if (!reader->hands_on_whole ||
		(reader->block.len == 0 && len == reader->left))
	{
		sink_write(reader->sink, data, len);
		return;
	}
	appendBinaryPQExpBuffer(&reader->block, data, len);
	if (len == reader->left)
		sink_write_buffer(reader->sink, &reader->block);
}

/*
 * Parse one item of the stream.  Each call takes at least one byte if there
 * is one, or changes the state, so that the caller's loop ends.
 */
static void
take(BlockReader *reader, const char **data, size_t *len)
{
	size_t		part;
	uint16		columns;

	switch (reader->state)
	{
		case READ_HEAD:
			if (!gather(reader, SIGNATURE_BYTES + 8, data, len))
				return;
			if (memcmp(reader->field, SIGNATURE, SIGNATURE_BYTES) != 0)
				unexpected();
			/* After the flags comes the length of the header's extension. */
			reader->left = number32(reader->field + SIGNATURE_BYTES + 4);
			reader->state = READ_HEAD_EXTENSION;
			return;
		case READ_HEAD_EXTENSION:
		case READ_BLOCK:
			part = Min(reader->left, *len);
			if (reader->state == READ_BLOCK)
				take_part(reader, *data, part);
			*data += part;
			*len -= part;
			reader->left -= part;
			if (reader->left == 0)
				reader->state = READ_COLUMNS;
			return;
		case READ_COLUMNS:
			if (!gather(reader, 2, data, len))
				return;
			memcpy(&columns, reader->field, sizeof(columns));
			columns = pg_ntoh16(columns);
			if (columns != 1 && columns != 0xFFFF)
				unexpected();
			reader->state = columns == 1 ? READ_LENGTH : READ_END;
			return;
		case READ_LENGTH:
			if (!gather(reader, 4, data, len))
				return;
			reader->left = number32(reader->field);
			if (reader->left > PG_INT32_MAX)
				unexpected();	/* a NULL value, whose length is -1 */
			reader->state = READ_BLOCK;
			return;
		case READ_END:
			unexpected();
	}
}

/*
 * Every argument has exactly the type of the function's parameter.  Otherwise
 * another function of this name, with types that match the literals better,
 * could be called instead.
 */
static char *
statement_by_extension(PGconn *conn, const DumpTable *table,
					   const char *compression, const char *format)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBuffer(&sql, "COPY (SELECT " PARDUMP_READ "('%u'::pg_catalog.regclass, ARRAY[",
					  table->oid);
	for (int i = 0; i < table->n_columns; i++)
	{
		char	   *name = identifier_unquote(table->columns[i]);

		appendPQExpBufferStr(&sql, i > 0 ? ", " : "");
		appendStringLiteralConn(&sql, name, conn);
		free(name);
	}
	appendPQExpBuffer(&sql, "]::pg_catalog.name[], " READ_COPY_START "::pg_catalog.int8,"
					  " " READ_COPY_END "::pg_catalog.int8, '%s'::pg_catalog.text, '%s'::pg_catalog.text))"
					  " TO STDOUT (FORMAT binary)", compression, format);
	return sql.data;
}

uint64
read_blocks(PGconn *conn, const DumpTable *table, const DataFile *file,
			const char *compression, const char *format, Sink *sink,
			volatile uint64 *rows_so_far)
{
	char	   *statement = statement_by_extension(conn, table, compression, format);
	BlockReader reader = {
		.sink = sink,
		.counts_lines = rows_so_far != NULL,
		.hands_on_whole = strcmp(format, "raw") == 0
	};
	uint64		before = rows_so_far ? *rows_so_far : 0;
	char	   *message;
	int			message_len;

	/* The extension reads the stored values, so it cannot mask them. */
	if (table->masks)
		pg_fatal("the extension cannot read table %s, which has masked columns",
				 printable(table->name));
	initPQExpBuffer(&reader.block);

	/*
	 * The block numbers are settings of the transaction, not part of the
	 * text, so that all chunks of a table are one statement for
	 * pg_stat_statements.
	 */
	read_copy_set_blocks(conn, file);
	read_copy_begin(conn, statement);
	while ((message_len = session_wait_copy_data(conn, &message)) > 0)
	{
		const char *data = message;
		size_t		len = message_len;

		while (len > 0)
			take(&reader, &data, &len);
		if (rows_so_far)
			*rows_so_far = before + reader.lines;
		PQfreemem(message);
	}
	read_copy_end(conn, statement, message_len);
	if (reader.state != READ_END)
		unexpected();
	termPQExpBuffer(&reader.block);
	free(statement);
	return reader.lines;
}

void
read_blocks_count(PGconn *conn, uint64 *rows, uint64 *bytes)
{
	PGresult   *res = session_query(conn,
									"SELECT l.rows, l.bytes FROM " PARDUMP_LAST_READ "() l");

	if (PQntuples(res) != 1 || PQgetisnull(res, 0, 0))
		session_unexpected_extension("Function pg_pardump_last_read() returned no number of rows.");
	*rows = result_number(res, 0, 0);
	*bytes = result_number(res, 0, 1);
	PQclear(res);
}

/* ----------
 * The contents of large objects.
 *
 * Most objects are small, so a round trip for each would take most of the
 * time.  Therefore one query reads the first pieces of several objects with
 * lo_get().  lo_get() checks the same privileges as lo_open().
 * ----------
 */

/* The bytes of an object that are read at a time. */
#define PIECE_BYTES (1024 * 1024)

/* The number of objects whose first pieces are read with one query. */
#define BATCH 16

static PGresult *
read_batch(PGconn *conn, const Oid *oids, int n_oids)
{
	char	   *array = oid_array(oids, n_oids);
	char	   *sql = psprintf("SELECT pg_catalog.lo_get(t.oid, 0, %d)"
							   " FROM pg_catalog.unnest('%s'::pg_catalog.oid[])"
							   " WITH ORDINALITY t (oid, no) ORDER BY t.no",
							   PIECE_BYTES, array);
	PGresult   *res = session_query_params(conn, sql, 0, NULL, 1);

	if (PQntuples(res) != n_oids)
		session_unexpected(psprintf("The number of large objects is %d instead of %d.",
									PQntuples(res), n_oids));
	free(sql);
	free(array);
	return res;
}

/*
 * Read the rest of an object whose first piece was full.  A piece that is not
 * full is the last one.
 */
static void
read_rest(PGconn *conn, Oid oid, Sink *sink)
{
	int			len = PIECE_BYTES;

	for (uint64 offset = len; len == PIECE_BYTES; offset += len)
	{
		char	   *sql = psprintf("SELECT pg_catalog.lo_get(%u, " UINT64_FORMAT ", %d)",
								   oid, offset, PIECE_BYTES);
		PGresult   *res = session_query_params(conn, sql, 0, NULL, 1);

		len = PQgetlength(res, 0, 0);
		session_take_bytes(len);
		sink_write(sink, PQgetvalue(res, 0, 0), len);
		PQclear(res);
		free(sql);
	}
}

void
read_large_object(LargeObjectReader *reader, int no, Sink *sink)
{
	const Oid  *oids = &reader->group->oids[no];
	int			left = reader->group->n_oids - no;
	int			row = no % BATCH;
	int			len;

	if (row == 0)
		reader->batch = read_batch(reader->conn, oids, Min(BATCH, left));
	len = PQgetlength(reader->batch, row, 0);
	session_take_bytes(len);
	sink_write(sink, PQgetvalue(reader->batch, row, 0), len);
	if (row == BATCH - 1 || left == 1)
		PQclear(reader->batch);
	if (len == PIECE_BYTES)
		read_rest(reader->conn, *oids, sink);
}
