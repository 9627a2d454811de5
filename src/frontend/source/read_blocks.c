/*
 * read_blocks.c
 *		Fetches blocks of rows from the extension's pg_pardump_read().
 *
 * A value of the function is a block of about 1 MiB.  COPY in binary format
 * carries bytea with the least work on both sides: a head of at least 19
 * bytes, then a row a block, which is the number of columns (16 bits, here
 * 1), the length (32 bits) and the bytes; -1 columns are the end ("Binary
 * Format" in the manual of COPY).  A message is taken to be any part of that
 * stream.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"
#include "port/pg_bswap.h"

#include "base/identifier.h"
#include "base/message.h"
#include "session/session_loss.h"
#include "source/read_blocks.h"
#include "source/read_copy.h"

#define SIGNATURE "PGCOPY\n\377\r\n\0"
#define SIGNATURE_BYTES 11

/* Lines in this number of bytes can be counted in one byte. */
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
	char		field[SIGNATURE_BYTES + 8]; /* being gathered */
	size_t		field_len;
	size_t		left;			/* of the block or the head's extension */
	bool		hands_on_whole; /* each block in one write */
	PQExpBufferData block;		/* what has come of such a block, unless all
								 * came in one message */
	bool		counts_lines;
	uint64		lines;			/* line ends in the blocks */
} BlockReader;

/* A fixed-size field, which may come in parts; true when it is complete. */
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
	pg_fatal("unexpected data from the server while reading blocks of rows");
}

/*
 * A newline in COPY text is the end of a row: in values it is escaped.  Lines
 * are counted in pieces of a fixed size, which compilers turn into vector
 * instructions.
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
 * A part of the block, of which reader->left bytes, including these, are
 * still to come.  The server sends a row of COPY in one message, so that a
 * block is hardly ever gathered.
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

/* One step; takes at least a byte if there are any, or changes the state. */
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
				unexpected();	/* a NULL is not a block */
			reader->state = READ_BLOCK;
			return;
		case READ_END:
			unexpected();
	}
}

/*
 * Every argument is of the function's own type: a function of this name with
 * types that come nearer to the literals would be called instead.
 */
static char *
read_statement(PGconn *conn, const DumpTable *table,
			   const char *compression, const char *format)
{
	PQExpBufferData sql;

	initPQExpBuffer(&sql);
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
	char	   *statement = read_statement(conn, table, compression, format);
	BlockReader reader = {
		.sink = sink,
		.counts_lines = rows_so_far != NULL,
		.hands_on_whole = strcmp(format, "raw") == 0
	};
	uint64		before = rows_so_far ? *rows_so_far : 0;
	char	   *message;
	int			message_len;

	/* the extension reads what is stored */
	if (table->masks)
		pg_fatal("columns of table %s are masked, and not for the extension to read",
				 printable(table->name));
	initPQExpBuffer(&reader.block);
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
		pg_fatal("the server does not say how many rows it has read");
	*rows = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
	*bytes = strtoull(PQgetvalue(res, 0, 1), NULL, 10);
	PQclear(res);
}
