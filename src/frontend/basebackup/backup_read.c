/*
 * backup_read.c
 *		Reads pieces of the server's files with SQL, and verifies page
 *		checksums.
 *
 * This is used without the extension: pg_read_binary_file(), through COPY in
 * binary format.  A file can become shorter or vanish while it is read.  If a
 * relation's file is shorter, it was truncated, so recovery will not need the
 * rest, and zeros are written; a file that has vanished is left out.
 *
 * Functions whose names begin with backup_read_ are also used with the
 * extension, for small files and for the sizes of others.
 */
#include "base/fe_compat.h"

#include "port/pg_bswap.h"
#include "storage/bufpage.h"

#include "base/buffer.h"
#include "basebackup/backup_read.h"
#include "basebackup/file_query.h"
#include "shared/crc32c.h"
#include "shared/page_checksum.h"

/* ----------
 * Checksums of pages.
 * ----------
 */

/* The largest number of warnings for pages of one file. */
#define MOST_WARNINGS 5

/* A page that was wrong, or incomplete, when it was first read. */
typedef struct WrongPage
{
	int			file;
	uint64		offset;
} WrongPage;

struct PageCheck
{
	const Backup *backup;
	PGconn	   *conn;
	WrongPage  *wrong;
	int			n_wrong;
	PGAlignedBlock page;
};

PageCheck *
page_check_new(const Backup *backup, PGconn *conn)
{
	PageCheck  *check = pg_malloc0(sizeof(PageCheck));

	check->backup = backup;
	check->conn = conn;
	return check;
}

BlockNumber
page_check_block(const Backup *backup, int file, uint64 offset)
{
	return backup->list->files[file].segment * backup->server.segment_blocks +
		(BlockNumber) (offset / BLCKSZ);
}

/*
 * The checksum that the page should have; 0 if it is right, or has none.  A
 * page with an LSN after the start of the backup may have been read while it
 * was written.  WAL contains a full image of it, so it need not be right.
 */
static uint16
wrong_checksum(PageCheck *check, const char *data, BlockNumber block,
			   uint16 *stored)
{
	PageHeader	header = (PageHeader) check->page.data;
	uint16		right;

	memcpy(check->page.data, data, BLCKSZ);
	if (PageIsNew((Page) header) ||
		PageGetLSN((Page) header) >= check->backup->start)
		return 0;
	right = page_checksum(check->page.data, block);
	*stored = header->pd_checksum;
	/* A checksum is never 0. */
	return right == *stored ? 0 : right;
}

static void
note(PageCheck *check, int file, uint64 offset)
{
	WrongPage  *wrong = array_add(check->wrong, check->n_wrong);

	wrong->file = file;
	wrong->offset = offset;
}

/*
 * Check the pages in these bytes.  The offset is a multiple of the page size.
 * The server may be writing an incomplete page at the end.
 */
static void
page_check_take(PageCheck *check, int file, uint64 offset, const char *data,
				size_t len)
{
	uint16		stored;

	for (; len >= BLCKSZ; data += BLCKSZ, offset += BLCKSZ, len -= BLCKSZ)
		if (wrong_checksum(check, data,
						   page_check_block(check->backup, file, offset),
						   &stored) != 0)
			note(check, file, offset);
	if (len > 0)
		note(check, file, offset);
}

/*
 * Read a part of a file again; the value is NULL if the file does not exist;
 * owned.
 */
static PGresult *
read_range(PGconn *conn, const char *path, uint64 offset, uint32 len)
{
	PQExpBufferData sql = buffer_new();
	PGresult   *res;

	appendPQExpBufferStr(&sql, "SELECT pg_catalog.pg_read_binary_file(");
	file_query_append_path(&sql, conn, path);
	appendPQExpBuffer(&sql, ", " UINT64_FORMAT ", %u, true)", offset, len);
	res = session_query_params(conn, sql.data, 0, NULL, 1);
	if (PQntuples(res) != 1 || PQnfields(res) != 1)
		file_query_unexpected();
	termPQExpBuffer(&sql);
	return res;
}

PGresult *
page_check_read_again(const Backup *backup, PGconn *conn, int file,
					  uint64 offset)
{
	const char *path = backup->list->files[file].path;
	PGresult   *res = read_range(conn, path, offset, BLCKSZ);
	int			len = PQgetlength(res, 0, 0);

	if (len == BLCKSZ)
		return res;
	if (len > 0)
		pg_log_warning("could not verify checksum in file \"%s\", block %u: the file ends within the page",
					   printable(path), page_check_block(backup, file, offset));
	PQclear(res);
	return NULL;
}

void
page_check_warn(const Backup *backup, int file, BlockNumber block,
				uint16 computed, uint16 stored)
{
	uint32		before = __sync_fetch_and_add(&backup->results.warned[file], 1);
	const char *path = printable(backup->list->files[file].path);

	if (before < MOST_WARNINGS)
		pg_log_warning("checksum verification failed in file \"%s\", block %u: calculated %X but expected %X",
					   path, block, computed, stored);
	if (before + 1 == MOST_WARNINGS)
		pg_log_warning("further checksum verification failures in file \"%s\" will not be reported",
					   path);
}

/*
 * Read wrong or incomplete pages once more, because the server may have been
 * writing them.  The connection is free for this now.  Report pages that are
 * still wrong, and return their number.
 */
static int
page_check_settle(PageCheck *check)
{
	int			failures = 0;

	for (int i = 0; i < check->n_wrong; i++)
	{
		const WrongPage *wrong = &check->wrong[i];
		BlockNumber block = page_check_block(check->backup, wrong->file,
											 wrong->offset);
		PGresult   *res = page_check_read_again(check->backup, check->conn,
												wrong->file, wrong->offset);
		uint16		stored = 0;
		uint16		right = res ? wrong_checksum(check, PQgetvalue(res, 0, 0),
												 block, &stored) : 0;

		PQclear(res);
		if (right == 0)
			continue;
		failures++;
		page_check_warn(check->backup, wrong->file, block, right, stored);
	}
	check->n_wrong = 0;
	return failures;
}

/* ----------
 * Pieces, read with SQL.
 * ----------
 */

/* The largest size of a row.  It is a multiple of every page size. */
#define ROW_BYTES ((uint32) 128 * 1024)

/* backup_read_file() only reads files that are smaller than this. */
#define SMALL_FILE_BYTES 1048576

/*
 * The largest file that is read whole, although files may have grown since
 * they were listed; a longer one moves to the other list.  And how many bytes
 * more are requested than the length that the same query finds.
 */
#define MOST_WHOLE_BYTES 16777216
#define WHOLE_SPARE_BYTES 65536

/* The state while a piece is read. */
typedef struct PieceReader
{
	const Backup *backup;
	PageCheck  *check;
	BackupLayout *layout;
	const BackupPiece *piece;
	int			range;			/* number of the current range in the plan */
	uint32		pos;			/* position in this range */
	uint32		row;			/* number of the next row */
	bool		skips;			/* the file of this range does not exist */
	pg_crc32c	crc;			/* CRC of the range so far */
} PieceReader;

/* ----------
 * The statement
 * ----------
 */

/*
 * A range is read in rows of 128 kB, so that neither side needs memory for
 * all of it.
 */
static void
append_rows(PQExpBuffer sql, PGconn *conn, const Backup *backup,
			const BackupRange *range, uint32 *row)
{
	const BackupFile *file = &backup->list->files[range->file];
	uint32		pos = 0;

	do
	{
		uint32		length = Min(range->length - pos, ROW_BYTES);

		appendPQExpBuffer(sql, "%s(%u, ", *row > 0 ? ", " : "", *row);
		file_query_append_path(sql, conn, file->path);
		appendPQExpBuffer(sql, ", " INT64_FORMAT "::pg_catalog.int8, %u::pg_catalog.int8, %s)",
						  (int64) (range->offset + pos), length,
						  length > 0 || file->is_relation ? "true" : "false");
		pos += length;
		++*row;
	} while (pos < range->length);
}

/* The COPY statement for a piece; owned. */
static char *
backup_read_copy_statement(PGconn *conn, const Backup *backup, const BackupPiece *piece)
{
	PQExpBufferData sql = buffer_new();
	uint32		row = 0;

	/*
	 * An "empty file" may be a FIFO, where the server would wait forever.  So
	 * it is not opened, unless it belongs to a relation, and so is known to
	 * be a file.
	 */
	appendPQExpBufferStr(&sql, "COPY (SELECT v.n, CASE WHEN v.is_opened"
						 " THEN pg_catalog.pg_read_binary_file(v.path::pg_catalog.text, v.pos, v.len, true)"
						 " ELSE (SELECT ''::pg_catalog.bytea"
						 " FROM pg_catalog.pg_stat_file(v.path::pg_catalog.text, true) s"
						 " WHERE NOT s.isdir) END FROM (VALUES ");
	for (int i = 0; i < piece->n; i++)
		append_rows(&sql, conn, backup, &backup->plan->ranges[piece->first + i],
					&row);
	appendPQExpBufferStr(&sql, ") v (n, path, pos, len, is_opened)) TO STDOUT (FORMAT binary)");
	return buffer_text(&sql);
}

/* ----------
 * Rows
 * ----------
 */
static void
take_bytes(PieceReader *reader, const char *data, size_t len)
{
	reader->crc = crc32c_add(reader->crc, data, len);
	reader->layout->data(reader->layout, data, len);
}

/*
 * The file has become shorter since it was listed: it was truncated, which
 * WAL records.  A tar header with its length may have been written already,
 * so the rest is filled with zeros.
 */
static void
take_zeros(PieceReader *reader, size_t len)
{
	static const char zeros[8192];

	while (len > 0)
	{
		size_t		part = Min(len, sizeof(zeros));

		take_bytes(reader, zeros, part);
		len -= part;
	}
}

/*
 * Take the next value of a range: bytes, or NULL if the file does not exist.
 */
static void
take_value(PieceReader *reader, const char *data, uint32 len)
{
	const BackupRange *range = &reader->backup->plan->ranges[reader->range];
	const BackupFile *file = &reader->backup->list->files[range->file];
	uint32		want = Min(range->length - reader->pos, ROW_BYTES);

	if (len > want)
		file_query_unexpected();
	if (file->is_wal && len < want)
		backup_read_wal_removed(reader->backup, file);
	if (reader->pos == 0)
	{
		INIT_CRC32C(reader->crc);
		reader->skips = data == NULL &&
			range->length == reader->backup->list->files[range->file].size;
		reader->backup->results.vanished[range->file] = reader->skips;
		if (!reader->skips)
			reader->layout->begin_range(reader->layout, range);
	}
	if (!reader->skips)
	{
		if (reader->check && file->is_relation)
			page_check_take(reader->check, range->file,
							range->offset + reader->pos, data, len);
		take_bytes(reader, data, len);
		take_zeros(reader, want - len);
	}
	reader->pos += want;
	if (reader->pos == range->length)
	{
		if (!reader->skips)
			reader->layout->end_range(reader->layout);
		FIN_CRC32C(reader->crc);
		reader->backup->results.crcs[reader->range] = reader->crc;
		reader->range++;
		reader->pos = 0;
	}
}

/*
 * A CopyRowTake.  A row consists of its number, because the server need not
 * keep the order, and of bytes.
 */
static void
backup_read_take_row(void *arg, const CopyValue *values)
{
	PieceReader *reader = arg;
	uint32		row;

	if (values[0].len != sizeof(row))
		file_query_unexpected();
	memcpy(&row, values[0].data, sizeof(row));
	if (pg_ntoh32(row) != reader->row++ ||
		reader->range == reader->piece->first + reader->piece->n)
		file_query_unexpected();
	take_value(reader, values[1].len == -1 ? NULL : values[1].data,
			   Max(values[1].len, 0));
}

void
backup_read_piece(const Backup *backup, PGconn *conn, PageCheck *check,
				  BackupLayout *layout, const BackupPiece *piece)
{
	PieceReader reader = {
		.backup = backup,
		.check = check,
		.layout = layout,
		.piece = piece,
		.range = piece->first,
	};
	char	   *statement = backup_read_copy_statement(conn, backup, piece);

	layout->begin_piece(layout, piece);
	/* An abandoned piece may have left some pages. */
	if (check)
		check->n_wrong = 0;
	(void) file_query_try(conn, statement, 2, NULL, backup_read_take_row, &reader);
	if (reader.range != piece->first + piece->n)
		file_query_unexpected();

	/*
	 * This queries the server, so it comes before the piece counts as stored.
	 */
	backup->results.failures[piece - backup->plan->pieces] =
		check ? page_check_settle(check) : 0;
	layout->end_piece(layout);
	free(statement);
}

/* ----------
 * Whole files
 * ----------
 */

/* Parts of queries about files and their properties. */
#define MODIFICATION " pg_catalog.date_part('epoch', s.modification)::pg_catalog.int8"
#define IS_LARGE " s.size OPERATOR(pg_catalog.>) " CppAsString2(MOST_WHOLE_BYTES) "::pg_catalog.int8"
#define FROM_FILES " FROM (VALUES "
#define FILES_END ") v (n, path), pg_catalog.pg_stat_file(v.path::pg_catalog.text, true) s"

/*
 * Append a file to a query.  Files must have the numbers 0, 1, 2 and so on.
 */
static void
append_file(PQExpBuffer sql, PGconn *conn, int no, const char *path)
{
	appendPQExpBuffer(sql, "%s(%d, ", no > 0 ? ", " : "", no);
	file_query_append_path(sql, conn, path);
	appendPQExpBufferChar(sql, ')');
}

/* The query for a piece whose files are read whole; owned. */
static char *
whole_statement(PGconn *conn, const Backup *backup, const BackupPiece *piece)
{
	PQExpBufferData sql = buffer_new();

	appendPQExpBufferStr(&sql, "SELECT CASE WHEN s.size IS NULL OR s.isdir OR" IS_LARGE " THEN NULL"
						 " WHEN s.size OPERATOR(pg_catalog.>) 0"
						 " THEN pg_catalog.pg_read_binary_file(v.path::pg_catalog.text, 0,"
						 " s.size OPERATOR(pg_catalog.+) " CppAsString2(WHOLE_SPARE_BYTES)
						 "::pg_catalog.int8, true)"
						 " ELSE ''::pg_catalog.bytea END,"
						 MODIFICATION ", COALESCE(NOT s.isdir AND" IS_LARGE ", false)"
						 FROM_FILES);
	for (int i = 0; i < piece->n; i++)
	{
		const BackupRange *range = &backup->plan->ranges[piece->first + i];

		append_file(&sql, conn, i, backup->list->files[range->file].path);
	}
	appendPQExpBufferStr(&sql, FILES_END " ORDER BY v.n");
	return buffer_text(&sql);
}

/*
 * Take a row of the result for small files, which are stored with their
 * current size and time.  is_large is set if the file has grown too much to
 * be read whole.
 */
static void
take_whole_file(const Backup *backup, BackupLayout *layout, int no,
				const PGresult *res, int row)
{
	BackupRange range = backup->plan->ranges[no];
	BackupFile *file = &backup->list->files[range.file];
	WholeFile	whole = {.is_large = *PQgetvalue(res, row, 2) != 0};
	bool		is_gone = PQgetisnull(res, row, 0);
	const char *data = PQgetvalue(res, row, 0);

	range.length = PQgetlength(res, row, 0);
	if (!is_gone)
	{
		file->size = whole.size = range.length;
		file->mtime = whole.mtime = (time_t) file_query_int64(res, row, 1);
		layout->begin_range(layout, &range);
		layout->data(layout, data, range.length);
		layout->end_range(layout);
	}
	backup->results.vanished[range.file] = is_gone;
	backup->results.whole[range.file] = whole;
	backup->results.crcs[no] = crc32c_of(data, range.length);
}

void
backup_read_whole(const Backup *backup, PGconn *conn, BackupLayout *layout,
				  const BackupPiece *piece)
{
	char	   *statement = whole_statement(conn, backup, piece);
	PGresult   *res = session_query_params(conn, statement, 0, NULL, 1);

	if (PQntuples(res) != piece->n || PQnfields(res) != 3)
		file_query_unexpected();
	layout->begin_piece(layout, piece);
	for (int i = 0; i < piece->n; i++)
		take_whole_file(backup, layout, piece->first + i, res, i);
	layout->end_piece(layout);
	PQclear(res);
	free(statement);
}

/* ----------
 * Files that may have changed since they were listed
 * ----------
 */

/* The current state of a file of the list. */
typedef struct FileNow
{
	bool		is_there;
	uint64		size;
	int64		mtime;
} FileNow;

/* The current size and time of each file of the list; owned. */
static FileNow *
files_now(PGconn *conn, const BackupList *list)
{
	FileNow    *now = pg_malloc0((list->n_files + 1) * sizeof(FileNow));
	PQExpBufferData sql = buffer_new();
	PGresult   *res;

	appendPQExpBufferStr(&sql, "SELECT v.n, s.size," MODIFICATION FROM_FILES);
	for (int i = 0; i < list->n_files; i++)
		append_file(&sql, conn, i, list->files[i].path);
	appendPQExpBufferStr(&sql, FILES_END " WHERE s.size IS NOT NULL AND NOT s.isdir ORDER BY v.n");
	res = session_query_params(conn, buffer_text(&sql), 0, NULL, 1);
	if (PQntuples(res) > 0 && PQnfields(res) != 3)
		file_query_unexpected();
	for (int row = 0; row < PQntuples(res); row++)
	{
		uint32		no = file_query_number(res, row);

		if (no >= (uint32) list->n_files || now[no].is_there)
			file_query_unexpected();
		now[no].is_there = true;
		now[no].size = file_query_size(res, row, 1, list->files[no].path);
		now[no].mtime = file_query_int64(res, row, 2);
	}
	PQclear(res);
	return now;
}

void
backup_read_sizes(PGconn *conn, BackupList *list)
{
	FileNow    *now = files_now(conn, list);
	int			n = 0;

	list->total_bytes = 0;
	for (int i = 0; i < list->n_files; i++)
	{
		BackupFile	file = list->files[i];

		if (!now[i].is_there)
			continue;
		file.size = now[i].size;
		file.mtime = (time_t) now[i].mtime;
		list->files[n++] = file;
		list->total_bytes += file.size;
	}
	list->n_files = n;
}

/*
 * Is the first range of the file still what was read?  A file can be written
 * to and still be the same one, for example if only its time has changed.
 */
static bool
begins_as_read(const Backup *backup, int no)
{
	const BackupRange *range = &backup->plan->ranges[no];
	PGresult   *res = read_range(backup->conn,
								 backup->list->files[range->file].path, 0,
								 range->length);
	uint32		len = PQgetlength(res, 0, 0);
	uint32		crc = crc32c_of(PQgetvalue(res, 0, 0), len);

	PQclear(res);
	return len == range->length && crc == backup->results.crcs[no];
}

/*
 * A file was replaced if its size or time differs from the list, and its
 * beginning differs from what was read.
 */
int
backup_read_replaced(const Backup *backup, bool *replaced)
{
	const BackupList *list = backup->list;
	FileNow    *now = files_now(backup->conn, list);
	int			n = 0;

	for (int no = 0; no < backup->plan->n_ranges; no++)
	{
		const BackupRange *range = &backup->plan->ranges[no];
		int			i = range->file;

		if (range->offset > 0)
			continue;
		replaced[i] = !backup->results.vanished[i] &&
			(!now[i].is_there || now[i].size != list->files[i].size ||
			 now[i].mtime != (int64) list->files[i].mtime) &&
			!begins_as_read(backup, no);
		n += replaced[i];
	}
	return n;
}

void
backup_read_wal_removed(const Backup *backup, const BackupFile *file)
{
	pg_log_error("requested WAL segment \"%s\" has already been removed",
				 file->path);
	pg_fatal_hint(backup->options->no_slot ?
				  "Omit --no-slot, or increase wal_keep_size on the server." :
				  "Increase max_slot_wal_keep_size on the server, and run the same command again.");
}

PGresult *
backup_read_file(PGconn *conn, const char *path)
{
	PGresult   *res = read_range(conn, path, 0, SMALL_FILE_BYTES);

	if (PQgetlength(res, 0, 0) >= SMALL_FILE_BYTES)
	{
		pg_log_error("file \"%s\" is too large", printable(path));
		pg_fatal_detail("It has %d bytes or more, and such a file normally has less than 1 kB.",
						SMALL_FILE_BYTES);
	}
	if (!PQgetisnull(res, 0, 0))
		return res;
	PQclear(res);
	return NULL;
}
