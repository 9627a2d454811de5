/*
 * verify_file.c
 *		Reads a file of an archive and tells what is wrong with it.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/units.h"
#include "stream/decompress.h"
#include "stream/regular_file.h"
#include "verify/verify_file.h"

#define READ_BYTES (128 * 1024)

/* Of ARCHIVE_END_OF_ROWS. */
#define END_MARK_BYTES ((int) sizeof(ARCHIVE_END_OF_ROWS) - 1)
#define END_MARK_LINES 3

/* The text of a file, as it comes. */
typedef struct TextState
{
	uint64		bytes;
	uint64		lines;
	char		tail[END_MARK_BYTES + 1];	/* the last ones, aligned right */
} TextState;

/* A file being read. */
typedef struct FileCheck
{
	const VerifyFile *file;
	pg_checksum_context checksum;
	Decompressor *decompressor; /* NULL for none */
	const char *undecodable;	/* why, or NULL; then only the checksum is
								 * continued */
	PQExpBufferData problems;	/* all of the file's, as one finding */
	char	   *out;
	TextState	text;
	uint64		stored_bytes;
	VerifyCounts *counts;
} FileCheck;

int
verify_file_open(const char *directory, const VerifyFile *file,
				 VerifyCounts *counts)
{
	char	   *path = psprintf("%s/%s", directory, file->name);
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);

	free(path);
	if (fd < 0)
		verify_finding_file(counts, file, "%s", problem);
	return fd;
}

/* Damage shows in several ways, which together are one finding. */
static void add_problem(FileCheck *check, const char *format,...)
			pg_attribute_printf(2, 3);

static void
add_problem(FileCheck *check, const char *format,...)
{
	char		text[512];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	appendPQExpBuffer(&check->problems, "%s%s",
					  check->problems.len > 0 ? ", and " : "", text);
}

static void
take_text(TextState *text, const char *data, size_t len)
{
	size_t		keep = Min(len, sizeof(text->tail));
	const char *pos = data;
	const char *end = data + len;

	text->bytes += len;
	while ((pos = memchr(pos, '\n', end - pos)) != NULL)
	{
		text->lines++;
		pos++;
	}
	memmove(text->tail, text->tail + keep, sizeof(text->tail) - keep);
	memcpy(text->tail + sizeof(text->tail) - keep, end - keep, keep);
}

/* More than is wanted need not be decompressed: it may be without end. */
static bool
too_long(const FileCheck *check)
{
	return check->file->want &&
		check->text.bytes > check->file->want->raw_bytes;
}

static void
take_stored(FileCheck *check, const char *data, size_t len)
{
	ssize_t		made;

	check->stored_bytes += len;
	if (pg_checksum_update(&check->checksum, (const uint8 *) data, len) < 0)
		pg_fatal("could not compute a checksum");
	if (check->undecodable || too_long(check))
		return;
	if (check->decompressor == NULL)
	{
		take_text(&check->text, data, len);
		return;
	}
	decompressor_feed(check->decompressor, data, len);
	while ((made = decompressor_fetch(check->decompressor, check->out,
									  READ_BYTES)) > 0 && !too_long(check))
		take_text(&check->text, check->out, made);
	if (made < 0)
		check->undecodable = decompressor_error(check->decompressor);
}

static void
check_text(FileCheck *check)
{
	const VerifyFile *file = check->file;
	const TextState *text = &check->text;
	uint64		rows = 0;

	if (file->want && text->bytes != file->want->raw_bytes)
	{
		add_problem(check, too_long(check) ?
					"decompresses to more than " UINT64_FORMAT " byte%s" :
					"does not decompress to " UINT64_FORMAT " byte%s",
					file->want->raw_bytes, units_plural(file->want->raw_bytes));
		return;
	}
	if (file->has_copy_rows)
	{
		if (text->bytes < END_MARK_BYTES ||
			memcmp(text->tail + 1, ARCHIVE_END_OF_ROWS, END_MARK_BYTES) != 0 ||
			(text->bytes > END_MARK_BYTES && text->tail[0] != '\n'))
		{
			add_problem(check, "does not end as rows do");
			return;
		}
		rows = text->lines - END_MARK_LINES;
		if (file->want && rows != file->want->rows)
			add_problem(check, "has " UINT64_FORMAT " row%s, but the manifest says "
						UINT64_FORMAT, rows, units_plural(rows),
						file->want->rows);
	}
	check->counts->rows += rows;
	check->counts->raw_bytes += text->bytes;
}

static void
check_checksum(FileCheck *check)
{
	const ManifestFile *want = check->file->want;
	uint8		got[PG_CHECKSUM_MAX_LENGTH];
	int			len = pg_checksum_final(&check->checksum, got);

	if (want && want->checksum_len > 0 &&
		(len != want->checksum_len || memcmp(got, want->checksum, len) != 0))
		add_problem(check, "has another checksum than in the manifest");
}

/*
 * Everything there is, to the end; false, and a problem, if it cannot be
 * read.
 */
static bool
read_all(FileCheck *check, int fd)
{
	char	   *buf = pg_malloc(READ_BYTES);
	ssize_t		len;

	while ((len = read(fd, buf, READ_BYTES)) != 0)
	{
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
		{
			add_problem(check, "could not be read: %s", strerror(errno));
			break;
		}
		take_stored(check, buf, len);
		check->counts->bytes_read += len;
	}
	free(buf);
	return len == 0;
}

/*
 * Before it has a byte to compress, stock pg_dump writes no frame either: the
 * file of an empty large object is empty.  (In gzip it has a header.)  A data
 * file is never, its text ends with a mark, and neither is one of ours, which
 * a manifest lists.
 */
static bool
nothing_written(const FileCheck *check, CompressMethod method)
{
	return check->stored_bytes == 0 && check->file->want == NULL &&
		method != COMPRESS_GZIP;
}

/* What was read with what was wanted. */
static void
compare(FileCheck *check, CompressMethod method)
{
	const VerifyFile *file = check->file;
	bool		right_size = !file->want ||
		check->stored_bytes == file->want->stored_bytes;

	if (!right_size)
		add_problem(check, "has " UINT64_FORMAT " byte%s, but the manifest says "
					UINT64_FORMAT, check->stored_bytes,
					units_plural(check->stored_bytes),
					file->want->stored_bytes);
	else
		check_checksum(check);
	if (check->undecodable)
		add_problem(check, "could not be decompressed: %s", check->undecodable);
	else if (check->decompressor && !too_long(check) &&
			 !nothing_written(check, method) &&
			 !decompressor_complete(check->decompressor))
		add_problem(check, "ends within compressed data");
	else if (check->decompressor || right_size)
		check_text(check);
}

void
verify_file(const char *directory, const VerifyFile *file,
			pg_checksum_type checksum_type, VerifyCounts *counts)
{
	FileCheck	check = {.file = file,.counts = counts};
	CompressMethod method = archive_name_method(file->name);
	int			fd = verify_file_open(directory, file, counts);

	if (fd < 0)
		return;
	if (pg_checksum_init(&check.checksum, checksum_type) < 0)
		pg_fatal("could not compute a checksum");
	check.out = pg_malloc(READ_BYTES);
	if (method != COMPRESS_NONE)
		check.decompressor = decompressor_new(method, DECOMPRESS_FILE);
	initPQExpBuffer(&check.problems);
	if (read_all(&check, fd))
		compare(&check, method);
	if (check.problems.len > 0)
		verify_finding_file(counts, file, "%s", check.problems.data);
	termPQExpBuffer(&check.problems);
	close(fd);
	counts->stored_bytes += check.stored_bytes;
	if (check.decompressor)
		decompressor_free(check.decompressor);
	free(check.out);
}
