/*
 * piece_statement.c
 *		The statement that reads a piece of the server's files with the
 *		extension.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "basebackup/page_check.h"
#include "basebackup/piece_statement.h"
#include "session/extension_name.h"
#include "stream/hex.h"

bool
piece_statement_requires(const Backup *backup, const BackupRange *range)
{
	return range->length != backup->list->files[range->file].size;
}

const CompressSpec *
piece_statement_compression(const Backup *backup)
{
	static const CompressSpec none = {.method = COMPRESS_NONE};
	const Options *options = backup->options;

	return options->compress_place == COMPRESS_ON_SERVER ?
		&options->compress : &none;
}

/* An array's text as a literal: "{...}" of a type. */
static void
append_array(PQExpBuffer sql, const PQExpBufferData *elements, const char *type)
{
	appendPQExpBuffer(sql, "'{%s}'::pg_catalog.%s[], ", elements->data, type);
}

static void
append_bytes(PQExpBuffer elements, const void *bytes, size_t len)
{
	char	   *digits = hex_encode(bytes, len);

	/* of letters, digits and \x: no quotes are needed but for that */
	appendPQExpBuffer(elements, "\"\\\\x%s\"", digits);
	free(digits);
}

/* The arrays of a call, by argument. */
enum
{
	ARRAY_PATHS, ARRAY_OFFSETS, ARRAY_LENGTHS, ARRAY_HEADERS, ARRAY_PADDINGS,
	ARRAY_REQUIRED, ARRAY_FIRST_BLOCKS, N_ARRAYS
};

static const char *const array_types[N_ARRAYS] = {
	"bytea", "int8", "int8", "bytea", "int4", "bool", "int8"
};

static void
append_range(PQExpBufferData arrays[N_ARRAYS], const Backup *backup,
			 BackupLayout *layout, const BackupRange *range, int i,
			 size_t *around)
{
	const BackupFile *file = &backup->list->files[range->file];
	RangeMark	mark = pg_hton32((uint32) i);
	PQExpBufferData header;
	size_t		padding = 0;

	for (int no = 0; i > 0 && no < N_ARRAYS; no++)
		appendPQExpBufferChar(&arrays[no], ',');
	initPQExpBuffer(&header);
	if (layout->put_piece)
		padding = layout->around(layout, range, &header);
	else
		appendBinaryPQExpBuffer(&header, (char *) &mark, sizeof(mark));

	*around = header.len + padding;
	append_bytes(&arrays[ARRAY_PATHS], file->path, strlen(file->path));
	appendPQExpBuffer(&arrays[ARRAY_OFFSETS], UINT64_FORMAT, range->offset);
	appendPQExpBuffer(&arrays[ARRAY_LENGTHS], "%u", range->length);
	append_bytes(&arrays[ARRAY_HEADERS], header.data, header.len);
	appendPQExpBuffer(&arrays[ARRAY_PADDINGS], "%zu", padding);
	appendPQExpBufferStr(&arrays[ARRAY_REQUIRED],
						 piece_statement_requires(backup, range) ? "t" : "f");
	if (file->is_relation)
		appendPQExpBuffer(&arrays[ARRAY_FIRST_BLOCKS], "%u",
						  page_check_block(backup, range->file, 0));
	else
		appendPQExpBufferStr(&arrays[ARRAY_FIRST_BLOCKS], "NULL");
	termPQExpBuffer(&header);
}

char *
piece_statement(const Backup *backup, BackupLayout *layout,
				const BackupPiece *piece, bool checks_pages, size_t *around)
{
	/* no page is older than 0/0, and only older ones are checked */
	XLogRecPtr	start = checks_pages ? backup->start : 0;
	PQExpBufferData arrays[N_ARRAYS];
	PQExpBufferData sql;
	char		compression[COMPRESS_SPEC_ERROR_BYTES];

	for (int no = 0; no < N_ARRAYS; no++)
		initPQExpBuffer(&arrays[no]);
	for (int i = 0; i < piece->n; i++)
		append_range(arrays, backup, layout,
					 &backup->plan->ranges[piece->first + i], i, &around[i]);
	initPQExpBuffer(&sql);
	appendPQExpBufferStr(&sql, "COPY (SELECT " PARDUMP_READ_FILES "(");
	for (int no = 0; no < N_ARRAYS; no++)
	{
		if (PQExpBufferDataBroken(arrays[no]))
			pg_fatal("out of memory");
		append_array(&sql, &arrays[no], array_types[no]);
		termPQExpBuffer(&arrays[no]);
	}
	compress_spec_print(piece_statement_compression(backup), compression,
						sizeof(compression));
	appendPQExpBuffer(&sql, "'%X/%X'::pg_catalog.pg_lsn, '%s'::pg_catalog.text)) TO STDOUT (FORMAT binary)",
					  LSN_FORMAT_ARGS(start), compression);
	if (PQExpBufferDataBroken(sql))
		pg_fatal("out of memory");
	return sql.data;
}
