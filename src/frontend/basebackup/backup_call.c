/*
 * backup_call.c
 *		Reads pieces of the server's files through the extension.
 *
 * One call reads all ranges of a piece.  The server computes their CRCs,
 * verifies page checksums, and can compress everything as one frame, so that
 * for a tar backup the worker only stores what it receives.  If the client
 * has to separate the ranges, each is preceded by a mark with its number,
 * because a file that has vanished is left out.
 *
 * The server's own account of what it has sent (pg_pardump_last_files) is
 * compared with what has arrived, because a frame that is stored without
 * being decompressed could otherwise be wrong unnoticed.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "basebackup/backup_read.h"
#include "basebackup/file_query.h"
#include "basebackup/tar_archive.h"
#include "session/table_lock.h"
#include "shared/crc32c.h"
#include "stream/decompress.h"

/* The number of bytes that are decompressed at a time. */
#define DECOMPRESS_BYTES 65536

/*
 * The largest size of a piece as it is stored: twice its bytes, which is more
 * than any compressor makes of them, and the headers.
 */
#define MOST_PIECE_BYTES (2 * PIECE_BYTES + PIECE_RANGES * 4096)

/*
 * The SQLSTATE of pg_pardump_read_files() for a file without pages that was
 * replaced while it was read (doc/file_functions.md).
 */
#define FILE_REPLACED "55006"

/*
 * The mark before the bytes of a range, if the layout separates the ranges:
 * the number of the range in the piece.  It is needed because a range whose
 * file is gone is not sent.
 */
typedef uint32 RangeMark;

/* A piece that is being read. */
typedef struct PieceCall
{
	const Backup *backup;
	BackupLayout *layout;
	const BackupPiece *piece;
	bool		checks_pages;
	PGresult   *error;			/* FILE_REPLACED, or NULL */

	/* for a layout with put_piece() */
	PQExpBufferData whole;
	size_t	   *around;			/* by range: the bytes before and after it */

	/* for a layout without put_piece() */
	Decompressor *decompressor; /* NULL: sent without compression */
	bool	   *seen;			/* by range: has it arrived? */
	pg_crc32c  *crcs;			/* CRCs of the ranges that arrived */
	RangeMark	mark;
	size_t		mark_len;		/* bytes of the next mark so far */
	int			range;			/* number in the piece of the next range */
	uint32		left;			/* remaining bytes of the current range */
} PieceCall;

static const BackupRange *
range_of(const Backup *backup, const BackupPiece *piece, int i)
{
	return &backup->plan->ranges[piece->first + i];
}

static const BackupFile *
file_of(const Backup *backup, const BackupRange *range)
{
	return &backup->list->files[range->file];
}

/* ----------
 * The statement
 * ----------
 */
/*
 * Paths are sent as bytea in hexadecimal, because they may be in any
 * encoding, and then need no quoting.
 */
static void
append_bytes(PQExpBuffer elements, const void *bytes, size_t len)
{
	char	   *digits = hex_encode(bytes, len);

	/*
	 * The text contains only letters, digits and \x, so it needs no other
	 * quoting.
	 */
	appendPQExpBuffer(elements, "\"\\\\x%s\"", digits);
	free(digits);
}

/* The arrays of a call, in the order of the arguments. */
enum
{
	ARRAY_PATHS, ARRAY_OFFSETS, ARRAY_LENGTHS, ARRAY_HEADERS, ARRAY_PADDINGS,
	ARRAY_REQUIRED, ARRAY_FIRST_BLOCKS, N_ARRAYS
};

static const char *const array_types[N_ARRAYS] = {
	"bytea", "int8", "int8", "bytea", "int4", "bool", "int8"
};

/*
 * Add a range to the arrays of the call: the position of its bytes, and what
 * the server puts before and after them, which is a tar header and padding,
 * or the mark.
 */
static void
append_range(PQExpBufferData arrays[N_ARRAYS], const Backup *backup,
			 BackupLayout *layout, const BackupRange *range, int i,
			 size_t *around)
{
	const BackupFile *file = file_of(backup, range);
	RangeMark	mark = pg_hton32((uint32) i);
	PQExpBufferData header = buffer_new();
	size_t		padding = 0;

	for (int no = 0; i > 0 && no < N_ARRAYS; no++)
		appendPQExpBufferChar(&arrays[no], ',');
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

	/*
	 * If the range is only a part of its file, other workers may have stored
	 * other parts, so the file must not be left out.
	 */
	appendPQExpBufferStr(&arrays[ARRAY_REQUIRED],
						 range->length != file->size ? "t" : "f");
	if (file->is_relation)
		appendPQExpBuffer(&arrays[ARRAY_FIRST_BLOCKS], "%u",
						  page_check_block(backup, range->file, 0));
	else
		appendPQExpBufferStr(&arrays[ARRAY_FIRST_BLOCKS], "NULL");
	termPQExpBuffer(&header);
}

/* The compression on the server; none if another place compresses. */
static const CompressSpec *
wire_compression(const Backup *backup)
{
	static const CompressSpec none = {.method = COMPRESS_NONE};
	const Options *options = backup->options;

	return options->compress_place == COMPRESS_ON_SERVER ?
		&options->compress : &none;
}

/*
 * The COPY statement for a piece; owned.  Fills in around: by range, the
 * number of bytes before and after it.
 */
static char *
backup_call_copy_statement(const Backup *backup, BackupLayout *layout,
						   const BackupPiece *piece, bool checks_pages, size_t *around)
{
	/*
	 * Only pages older than this are checked, and no page is older than 0/0.
	 */
	XLogRecPtr	start = checks_pages ? backup->start : 0;
	PQExpBufferData arrays[N_ARRAYS];
	PQExpBufferData sql = buffer_new();
	char		compression[COMPRESS_SPEC_ERROR_BYTES];

	for (int no = 0; no < N_ARRAYS; no++)
		initPQExpBuffer(&arrays[no]);
	for (int i = 0; i < piece->n; i++)
		append_range(arrays, backup, layout,
					 &backup->plan->ranges[piece->first + i], i, &around[i]);
	appendPQExpBufferStr(&sql, "COPY (SELECT " PARDUMP_READ_FILES "(");
	for (int no = 0; no < N_ARRAYS; no++)
	{
		appendPQExpBuffer(&sql, "'{%s}'::pg_catalog.%s[], ",
						  buffer_text(&arrays[no]), array_types[no]);
		termPQExpBuffer(&arrays[no]);
	}
	compress_spec_print(wire_compression(backup), compression,
						sizeof(compression));
	appendPQExpBuffer(&sql, "'%X/%X'::pg_catalog.pg_lsn, '%s'::pg_catalog.text)) TO STDOUT (FORMAT binary)",
					  LSN_FORMAT_ARGS(start), compression);
	return buffer_text(&sql);
}

/* ----------
 * The bytes
 * ----------
 */

/* A CopyRowTake that collects a piece that is stored as it arrives. */
static void
take_whole(void *arg, const CopyValue *values)
{
	PieceCall  *call = arg;

	if (values[0].len < 0 ||
		call->whole.len + values[0].len > MOST_PIECE_BYTES)
		file_query_unexpected();
	appendBinaryPQExpBuffer(&call->whole, values[0].data, values[0].len);
	(void) buffer_text(&call->whole);
}

static void
backup_call_end_range(PieceCall *call)
{
	call->layout->end_range(call->layout);
	FIN_CRC32C(call->crcs[call->range]);
	call->range++;
	call->mark_len = 0;
}

/*
 * Begin a range after its mark has been read.  Numbers only increase; the
 * skipped ones belong to files that have vanished.
 */
static void
backup_call_begin_range(PieceCall *call)
{
	uint32		no = pg_ntoh32(call->mark);

	if (no < (uint32) call->range || no >= (uint32) call->piece->n)
		file_query_unexpected();
	call->range = (int) no;
	call->seen[no] = true;
	call->left = range_of(call->backup, call->piece, call->range)->length;
	INIT_CRC32C(call->crcs[no]);
	call->layout->begin_range(call->layout,
							  range_of(call->backup, call->piece, call->range));
	if (call->left == 0)
		backup_call_end_range(call);
}

/*
 * Take some bytes of a mark or of a range, and return how many.  The parts
 * that arrive can end anywhere, even within a mark.
 */
static size_t
take_part(PieceCall *call, const char *data, size_t len)
{
	size_t		part;

	if (call->mark_len < sizeof(RangeMark))
	{
		part = Min(len, sizeof(RangeMark) - call->mark_len);
		memcpy((char *) &call->mark + call->mark_len, data, part);
		call->mark_len += part;
		if (call->mark_len == sizeof(RangeMark))
			backup_call_begin_range(call);
		return part;
	}
	part = Min(len, call->left);
	call->crcs[call->range] = crc32c_add(call->crcs[call->range], data, part);
	call->layout->data(call->layout, data, part);
	call->left -= part;
	if (call->left == 0)
		backup_call_end_range(call);
	return part;
}

/* Take a part of the stream of marks and ranges. */
static void
take_parts(PieceCall *call, const char *data, size_t len)
{
	while (len > 0)
	{
		size_t		part = take_part(call, data, len);

		data += part;
		len -= part;
	}
}

/*
 * A CopyRowTake that separates the ranges, and decompresses them first if
 * needed.
 */
static void
take_ranges(void *arg, const CopyValue *values)
{
	PieceCall  *call = arg;
	char		out[DECOMPRESS_BYTES];
	ssize_t		len;

	if (values[0].len < 0)
		file_query_unexpected();
	if (call->decompressor == NULL)
	{
		take_parts(call, values[0].data, values[0].len);
		return;
	}
	decompressor_feed(call->decompressor, values[0].data, values[0].len);
	while ((len = decompressor_fetch(call->decompressor, out, sizeof(out))) > 0)
		take_parts(call, out, len);
	if (len < 0)
		pg_fatal("could not decompress data: %s",
				 decompressor_error(call->decompressor));
}

/* ----------
 * The server's account of a call
 * ----------
 */

/*
 * Compare the server's account of a range with what has arrived, and keep its
 * CRC for the manifest.  -1 bytes mean that the file has vanished.  That is
 * only allowed for a file that is read in one part.
 */
static void
note_range(const PieceCall *call, PGconn *conn, int i, int64 bytes, int64 crc)
{
	const Backup *backup = call->backup;
	const BackupRange *range = range_of(backup, call->piece, i);
	const BackupFile *file = file_of(backup, range);
	bool		gone = bytes == -1 && range->length == file->size;

	if (bytes < -1 || bytes > range->length || crc < 0 || crc > PG_UINT32_MAX)
		file_query_unexpected();
	if (file->is_wal && bytes < range->length)
		backup_read_wal_removed(backup, file);
	if (call->layout->put_piece == NULL &&
		(call->seen[i] == gone || (!gone && (int64) call->crcs[i] != crc)))
		file_query_unexpected();
	if (call->checks_pages && file->is_relation && bytes > 0 &&
		bytes % BLCKSZ != 0)
		PQclear(page_check_read_again(backup, conn, range->file,
									  range->offset + bytes - bytes % BLCKSZ));
	backup->results.vanished[range->file] = gone;
	backup->results.crcs[call->piece->first + i] = gone ? 0 : (uint32) crc;
}

/*
 * failure contains the number of the range, the block, the computed checksum
 * and the stored one.
 */
static void
warn_of_page(const PieceCall *call, const int64 *failure)
{
	const Backup *backup = call->backup;
	const BackupRange *range;

	if (failure[0] < 1 || failure[0] > call->piece->n)
		file_query_unexpected();
	range = range_of(backup, call->piece, (int) failure[0] - 1);
	page_check_warn(backup, range->file, (BlockNumber) failure[1],
					(uint16) failure[2], (uint16) failure[3]);
}

static void
note_results(const PieceCall *call, PGconn *conn, const PGresult *res)
{
	int			n_bytes;
	int			n_crcs;
	int			n_failures;
	int64	   *bytes;
	int64	   *crcs;
	int64	   *failures;

	if (PQntuples(res) != 1 || PQnfields(res) != 3)
		file_query_unexpected();
	bytes = session_numbers(res, 0, &n_bytes);
	crcs = session_numbers(res, 1, &n_crcs);
	failures = session_numbers(res, 2, &n_failures);
	if (bytes == NULL || crcs == NULL || failures == NULL ||
		n_bytes != call->piece->n || n_crcs != n_bytes || n_failures % 4 != 0)
		file_query_unexpected();
	for (int i = 0; i < n_bytes; i++)
		note_range(call, conn, i, bytes[i], crcs[i]);
	for (int i = 0; i < n_failures; i += 4)
		warn_of_page(call, &failures[i]);
	call->backup->results.failures[call->piece - call->backup->plan->pieces] =
		n_failures / 4;
	free(bytes);
	free(crcs);
	free(failures);
}

/* ----------
 * A piece
 * ----------
 */

/*
 * A piece that is stored as it arrived must be exactly one compressed frame,
 * or exactly the requested members.  Anything else would damage the tar file
 * for all later pieces.
 */
static void
check_whole(const PieceCall *call)
{
	const Backup *backup = call->backup;
	CompressMethod method = wire_compression(backup)->method;
	uint64		want = 0;

	if (method != COMPRESS_NONE)
		want = compressed_frame_bytes(call->whole.data, call->whole.len, method);
	for (int i = 0; method == COMPRESS_NONE && i < call->piece->n; i++)
	{
		const BackupRange *range = range_of(backup, call->piece, i);

		if (!backup->results.vanished[range->file])
			want += call->around[i] + range->length;
	}
	if (call->whole.len != want || (want == 0 && method != COMPRESS_NONE))
		file_query_unexpected();
}

static void
read_ranges(PieceCall *call, PGconn *conn, const char *statement)
{
	CompressMethod method = wire_compression(call->backup)->method;

	if (method != COMPRESS_NONE)
		call->decompressor = decompressor_new(method, DECOMPRESS_FILE);
	call->layout->begin_piece(call->layout, call->piece);
	call->error = file_query_try(conn, statement, 1, FILE_REPLACED, take_ranges,
								 call);
	/* The stream must not end within a mark, a range or a frame. */
	if (call->error == NULL &&
		(call->mark_len != 0 ||
		 (call->decompressor && !decompressor_complete(call->decompressor))))
		file_query_unexpected();
	if (call->decompressor)
		decompressor_free(call->decompressor);
	if (call->error == NULL)
		call->layout->end_piece(call->layout);
}

/*
 * The piece is stored only after the server's account has been checked, when
 * the session is no longer needed: a piece in a tar file cannot be written
 * again with another length, because other pieces follow it.
 */
static void
run_statement(PieceCall *call, PGconn *conn, const char *statement)
{
	BackupLayout *layout = call->layout;
	PGresult   *res;

	if (layout->put_piece)
		call->error = file_query_try(conn, statement, 1, FILE_REPLACED,
									 take_whole, call);
	else
		read_ranges(call, conn, statement);
	if (call->error == NULL)
	{
		res = session_query(conn, "SELECT bytes, crcs, failures FROM "
							PARDUMP_LAST_FILES "()");
		note_results(call, conn, res);
		PQclear(res);
		if (layout->put_piece)
		{
			check_whole(call);
			layout->put_piece(layout, call->piece, &call->whole);
		}
	}
	termPQExpBuffer(&call->whole);
}

/*
 * All pieces are read in one transaction, which holds the extension.  Between
 * two pieces it has no snapshot, so it only delays sessions that want to drop
 * the extension.
 */
void
backup_call_begin(const Backup *backup, PGconn *conn)
{
	session_begin(conn, "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY");
	server_extension_hold_too(conn, backup->extension,
							  table_lock_wait_ms(conn, backup->options));
}

PGresult *
backup_call_piece(const Backup *backup, PGconn *conn, bool checks_pages,
				  BackupLayout *layout, const BackupPiece *piece)
{
	PieceCall	call = {
		.backup = backup,
		.layout = layout,
		.piece = piece,
		.checks_pages = checks_pages,
		.whole = buffer_new(),
		.around = pg_malloc(piece->n * sizeof(size_t)),
		.seen = pg_malloc0(piece->n * sizeof(bool)),
		.crcs = pg_malloc0(piece->n * sizeof(pg_crc32c)),
	};
	char	   *statement = backup_call_copy_statement(backup, layout, piece, checks_pages,
													   call.around);

	run_statement(&call, conn, statement);
	free(call.around);
	free(call.seen);
	free(call.crcs);
	free(statement);
	return call.error;
}
