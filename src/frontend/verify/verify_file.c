/*
 * verify_file.c
 *		Reads a file of an archive and tells what is wrong with it.
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "base/message.h"
#include "base/units.h"
#include "stream/decompress.h"
#include "stream/regular_file.h"
#include "verify/verify_file.h"

/* ----------
 * Reports findings, and keeps them for the page.
 * ----------
 */

void
verify_finding_file(VerifyCounts *counts, const VerifyFile *file,
					const char *format,...)
{
	char		what[1024];
	char	   *finding;
	size_t		len = strlen(counts->text);
	va_list		args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	finding = psprintf("file \"%s\"%s%s %s", printable(file->name),
					   file->table ? " of table " : "",
					   file->table ? printable(file->table) : "", what);
	pg_log_error("%s", finding);
	if (snprintf(counts->text + len, sizeof(counts->text) - len, "%s\n",
				 finding) >= (int) (sizeof(counts->text) - len))
		counts->text[len] = '\0';
	counts->findings++;
	free(finding);
}

void
verify_finding(VerifyCounts *counts, const char *name, const char *format,...)
{
	VerifyFile	file = {.name = name};
	char		what[1024];
	va_list		args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	verify_finding_file(counts, &file, "%s", what);
}

/* ----------
 * Reads a file of an archive and tells what is wrong with it.
 * ----------
 */

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

/*
 * Open a regular file, and nothing else, for reading: -1, and a finding, if
 * that fails.
 */
static int
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

/* ----------
 * Matches the names in a manifest and a table of contents with the files
 * that are there.
 *
 * A name from an archive is only looked up among the directory's own: it can
 * lead nowhere else.
 * ----------
 */

/* Longer than any line of a list of large objects. */
#define LIST_LINE_BYTES 512

static int
verify_file_compare_names(const void *a, const void *b)
{
	return strcmp(((const ListedFile *) a)->file.name,
				  ((const ListedFile *) b)->file.name);
}

FileList *
verify_list_new(const char *directory)
{
	FileList   *list = pg_malloc0(sizeof(FileList));
	DIR		   *dir = opendir(directory);
	struct dirent *entry;
	int			space = 0;

	if (dir == NULL)
		pg_fatal("could not open directory \"%s\": %m", directory);
	list->directory = directory;
	while (errno = 0, (entry = readdir(dir)) != NULL)
	{
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, MANIFEST_NAME) == 0)
			continue;
		memset(&st, 0, sizeof(st));
		(void) fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW);
		if (list->n_files == space)
		{
			space = Max(256, space * 2);
			list->files = pg_realloc(list->files, space * sizeof(ListedFile));
		}
		memset(&list->files[list->n_files], 0, sizeof(ListedFile));
		list->files[list->n_files].file.name = pg_strdup(entry->d_name);
		list->files[list->n_files].file.size = st.st_size;
		list->n_files++;
	}
	if (errno != 0)
		pg_fatal("could not read directory \"%s\": %m", directory);
	closedir(dir);
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), verify_file_compare_names);
	return list;
}

static ListedFile *
find(const FileList *list, const char *name)
{
	ListedFile	key = {.file.name = name};

	if (list->n_files == 0)
		return NULL;
	return bsearch(&key, list->files, list->n_files, sizeof(ListedFile),
				   verify_file_compare_names);
}

/* Never freed, as the list is not. */
static const char *
table_of(const ManifestFile *file)
{
	if (file->kind != MANIFEST_ROWS)
		return NULL;
	return manifest_name_table(file->schema, file->table);
}

void
verify_list_mark_manifest(FileList *list, const Manifest *manifest,
						  VerifyCounts *counts)
{
	FileList	there = *list;	/* sorted, while missing files are added */

	there.files = list->files =
		pg_realloc(list->files, (list->n_files + manifest->n_files + 1) *
				   sizeof(ListedFile));
	for (int i = 0; i < manifest->n_files; i++)
	{
		const ManifestFile *want = &manifest->files[i];
		ListedFile *listed = find(&there, want->path);

		if (listed == NULL)
		{
			listed = &list->files[list->n_files++];
			memset(listed, 0, sizeof(ListedFile));
			listed->file.name = want->path;
			listed->file.table = table_of(want);
			listed->unusable = true;
			verify_finding_file(counts, &listed->file, "is missing");
		}
		else if (listed->in_manifest)
			verify_finding_file(counts, &listed->file, "is in the manifest twice");
		else
		{
			listed->in_manifest = true;
			listed->file.kind = want->kind;
			listed->file.table = table_of(want);
			listed->file.has_copy_rows = want->kind == MANIFEST_ROWS;
			listed->file.want = want;
		}
	}
	if (list->n_files > 0)
		qsort(list->files, list->n_files, sizeof(ListedFile), verify_file_compare_names);
}

int
verify_list_open(FileList *list, const char *name, VerifyCounts *counts)
{
	ListedFile *listed = find(list, name);
	int			fd;

	if (listed == NULL)
		verify_finding(counts, name, "is missing");
	if (listed == NULL || listed->unusable)
		return -1;
	fd = verify_file_open(list->directory, &listed->file, counts);
	listed->unusable = fd < 0;
	return fd;
}

void
verify_list_damaged(FileList *list, const char *name, VerifyCounts *counts,
					const char *problem)
{
	ListedFile *listed = find(list, name);

	verify_finding(counts, name, "%s", problem);
	if (listed)
		listed->unusable = true;
}

/* With the suffix that it has: the first that pg_restore would find. */
static ListedFile *
find_data_file(const FileList *list, const char *name)
{
	for (int i = COMPRESS_NONE; i < N_COMPRESS_METHODS; i++)
	{
		char	   *path = archive_name_compressed(name, (CompressMethod) i);
		ListedFile *found = find(list, path);

		free(path);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * The file is this, says the table of contents, or a list that it names; what
 * has the rows of a table is borrowed.
 */
static bool
mark(ListedFile *listed, const VerifyFile *told, VerifyCounts *counts)
{
	if (strchr(told->name, '/'))
		verify_finding_file(counts, told, "has a name that leads out of the archive");
	else if (listed == NULL)
		verify_finding_file(counts, told, "is missing");
	else if (listed->unusable)
		return false;
	else if (listed->in_toc)
		verify_finding_file(counts, told, "is named twice");
	else if (listed->in_manifest && listed->file.kind != told->kind)
		verify_finding_file(counts, told, "is another kind of file in the manifest");
	else
	{
		listed->in_toc = true;
		listed->file.kind = told->kind;
		if (listed->file.table == NULL)
			listed->file.table = told->table;
		listed->file.has_copy_rows = told->has_copy_rows;
		return true;
	}
	return false;
}

/* True if it was read. */
static bool
mark_large_objects(FileList *list, const char *list_name, VerifyCounts *counts)
{
	int			fd = verify_list_open(list, list_name, counts);
	FILE	   *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	VerifyFile	object = {.kind = MANIFEST_LARGE_OBJECT};
	char		line[LIST_LINE_BYTES];
	bool		good = true;

	if (stream == NULL)
		return false;
	while (good && fgets(line, sizeof(line), stream))
	{
		object.name = archive_name_of_list_line(line);
		good = object.name != NULL;
		if (good)
			mark(find_data_file(list, object.name), &object, counts);
		else
			verify_list_damaged(list, list_name, counts,
								"is not a list of large objects");
	}
	if (ferror(stream))
	{
		verify_list_damaged(list, list_name, counts, "could not be read");
		good = false;
	}
	fclose(stream);
	return good;
}

bool
verify_list_mark_toc(FileList *list, const Toc *toc, VerifyCounts *counts)
{
	bool		all_known = true;

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *name = entry->filename;
		VerifyFile	told = {.name = name,.kind = MANIFEST_OBJECT_LIST};

		if (!entry->had_dumper || name == NULL || name[0] == '\0')
			continue;
		if (!toc_entry_is(entry, "BLOBS"))
		{
			told.kind = MANIFEST_ROWS;
			told.table = manifest_name_table(entry->namespace, entry->tag);
			told.has_copy_rows = entry->copy_stmt && entry->copy_stmt[0] != '\0';
			mark(find_data_file(list, name), &told, counts);
		}
		else if (!mark(find(list, name), &told, counts) ||
				 !mark_large_objects(list, name, counts))
			all_known = false;
	}
	return all_known;
}
