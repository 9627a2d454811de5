/*
 * archive_open.c
 *		Opens an archive: reads its table of contents, and determines the size
 *		of its data.  Identifies an archive that is read again later.
 */
#include "base/fe_compat.h"

#include <dirent.h>

#include "archive/archive_name.h"
#include "archive/archive_open.h"
#include "archive/toc_file.h"
#include "base/checksum.h"

/* The mark of a tar file and its offset (pgtar.h: TAR_OFFSET_MAGIC). */
#define TAR_MAGIC_OFFSET 257
#define TAR_MAGIC "ustar"

/* The beginning of scripts of pg_dump and pg_dumpall. */
#define SCRIPT_BEGIN "--\n-- PostgreSQL database "

#define HEAD_BYTES 512

/* ----------
 * The kind of the archive
 * ----------
 */

static bool
begins_with(const char *head, size_t len, size_t offset, const char *text)
{
	return len >= offset + strlen(text) &&
		memcmp(head + offset, text, strlen(text)) == 0;
}

/* Open the path that the user has specified, which may be a symbolic link. */
static int
open_path(const char *path, ArchiveKind *kind)
{
	int			fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char		head[HEAD_BYTES];
	struct stat st;
	ssize_t		len;

	if (fd < 0 || fstat(fd, &st) < 0)
	{
		pg_log_error("could not open input file \"%s\": %m", path);
		if (errno == ENOENT)
			pg_log_error_hint("Specify a directory that pg_pardump or pg_dump has written, or a file of pg_dump -Fc.");
		exit(1);
	}
	*kind = ARCHIVE_DIRECTORY;
	if (S_ISDIR(st.st_mode))
		return fd;
	if (!S_ISREG(st.st_mode))
		pg_fatal("archive \"%s\" is neither a directory nor a regular file",
				 path);
	len = pread(fd, head, sizeof(head), 0);
	if (len < 0)
		pg_fatal("could not read archive \"%s\": %m", path);
	if (begins_with(head, len, 0, TOC_MAGIC))
		*kind = ARCHIVE_CUSTOM;
	else if (begins_with(head, len, TAR_MAGIC_OFFSET, TAR_MAGIC))
		*kind = ARCHIVE_TAR;
	else if (begins_with(head, len, 0, SCRIPT_BEGIN))
		*kind = ARCHIVE_SCRIPT;
	else
		*kind = ARCHIVE_UNKNOWN;
	return fd;
}

ArchiveKind
archive_open_kind(const char *path)
{
	ArchiveKind kind;

	close(open_path(path, &kind));
	return kind;
}

static void
refuse_kind(const char *path, ArchiveKind kind)
{
	switch (kind)
	{
		case ARCHIVE_DIRECTORY:
		case ARCHIVE_CUSTOM:
			return;
		case ARCHIVE_TAR:
			pg_log_error("archive \"%s\" has an unsupported format (tar)", path);
			pg_log_error_hint("Restore the archive with pg_restore, or extract the archive with tar and specify the directory.");
			break;
		case ARCHIVE_SCRIPT:
			pg_log_error("archive \"%s\" has an unsupported format (plain text)", path);
			pg_log_error_hint("Restore the script with psql.");
			break;
		case ARCHIVE_UNKNOWN:
			pg_log_error("\"%s\" is not an archive", path);
			pg_log_error_detail("The file is in none of the formats of pg_dump.");
			break;
	}
	exit(1);
}

void
archive_open_damaged(const Archive *archive, const char *problem)
{
	if (strcmp(problem, TOC_READ_UNSUPPORTED) == 0)
	{
		pg_log_error("archive \"%s\" has an unsupported format version",
					 archive->path);
		pg_log_error_detail("Archives of pg_dump 12 to 19 are supported.");
		pg_fatal_hint("Use pg_restore of the major version of pg_dump that wrote the archive.");
	}
	if (archive->kind == ARCHIVE_DIRECTORY)
		pg_log_error(ARCHIVE_FILE_DAMAGED, TOC_NAME, archive->path);
	else
		pg_log_error(ARCHIVE_DAMAGED, archive->path);
	pg_log_error_detail("%s", message_sentence(problem));
	pg_fatal_hint(ARCHIVE_COPY_HINT);
}

/* ----------
 * Directory archives
 * ----------
 */

/* A TocReadCallback for a file of a directory. */
static size_t
read_toc_input(void *reader, void *buf, size_t len)
{
	size_t		done = 0;
	ssize_t		got = 1;

	for (; done < len && got > 0; done += Max(got, 0))
		got = data_reader_read(reader, (char *) buf + done, len - done);
	return done;
}

const char *
archive_open_toc(Archive *archive, DataReader *reader)
{
	const char *problem;
	char		byte;

	archive->toc = toc_read_file(read_toc_input, reader, false, &problem);

	/*
	 * If there are several problems, report the one that explains the others:
	 * bytes behind the table of contents, then an error of the decompressor,
	 * then an error in the table of contents.
	 */
	if (archive->toc && read_toc_input(reader, &byte, 1) == 1)
		problem = "it contains data after its end";
	else if (data_reader_error(reader))
		problem = data_reader_error(reader);
	else if (archive->toc)
		problem = NULL;
	data_reader_free(reader);
	return problem;
}

/* A user may have compressed toc.dat, which pg_restore allows, too. */
static void
read_directory(Archive *archive)
{
	CompressMethod method;
	const char *problem;
	int			fd = archive_lookup_open(archive->fd, TOC_NAME, &method,
										 &problem);

	if (fd < 0)
	{
		pg_log_error("\"%s\" is not an archive", archive->path);
		pg_log_error_detail("%s", message_sentence(problem));
		archive_lookup_hint(archive->path);
		exit(1);
	}
	problem = archive_open_toc(archive, data_reader_new_file(fd, method));
	if (problem)
		archive_open_damaged(archive, problem);
}

/*
 * A missing manifest is only a warning, because a restore works without it.
 */
static void
read_manifest(Archive *archive)
{
	const char *problem;
	bool		exists;

	archive->manifest = manifest_load(archive->path, &exists, &problem);
	if (!exists)
	{
		pg_log_warning(ARCHIVE_NO_MANIFEST, archive->path);
		pg_log_warning_detail("Row counts are not checked.");
	}
	else if (archive->manifest == NULL)
	{
		pg_log_error("could not read the manifest of archive \"%s\"",
					 archive->path);
		pg_log_error_detail("%s", message_sentence(problem));
		if (strcmp(problem, JSON_READ_UNSUPPORTED) == 0)
			pg_fatal_hint(JSON_READ_UNSUPPORTED_HINT);
		pg_fatal_hint("To find other damage, run pg_pardump --verify=\"%s\".  To restore the archive without verification, remove file \"%s/%s\".",
					  archive->path, archive->path, MANIFEST_NAME);
	}
}

/* ----------
 * Custom archives
 * ----------
 */

/* A TocReadCallback for a custom archive. */
static size_t
read_custom_input(void *arg, void *buf, size_t len)
{
	return custom_block_raw((CustomBlocks *) arg, buf, len);
}

static int
compare_ids(const void *a, const void *b)
{
	const TocEntry *left = *(const TocEntry *const *) a;
	const TocEntry *right = *(const TocEntry *const *) b;

	return left->dump_id < right->dump_id ? -1 : left->dump_id > right->dump_id;
}

/*
 * Returns all entries with data, sorted by dump ID.  Exits with a message if
 * two of them have the same ID.
 */
static TocEntry **
entries_with_data(const Archive *archive, int *n)
{
	Toc		   *toc = archive->toc;
	TocEntry  **result = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry *));

	*n = 0;
	for (int i = 0; i < toc->n_entries; i++)
		if (toc->entries[i].data_state != TOC_DATA_NONE)
			result[(*n)++] = &toc->entries[i];
	qsort(result, *n, sizeof(TocEntry *), compare_ids);
	for (int i = 1; i < *n; i++)
		if (result[i]->dump_id == result[i - 1]->dump_id)
			archive_open_damaged(archive, "two entries with data have the same dump ID");
	return result;
}

/*
 * Search the file for the data of all entries, block by block, from the end
 * of the table of contents on.
 */
static void
find_data(Archive *archive, CustomBlocks *blocks)
{
	int			n;
	TocEntry  **entries = entries_with_data(archive, &n);
	uint64		offset = custom_block_position(blocks);
	CustomBlockType type;
	TocEntry	wanted;
	TocEntry   *key = &wanted;

	pg_log_info("searching archive \"%s\" for its data, because it was written to a pipe",
				archive->path);
	while (custom_block_begin(blocks, &type, &wanted.dump_id))
	{
		TocEntry  **found = bsearch(&key, entries, n, sizeof(TocEntry *),
									compare_ids);

		if (found && (*found)->data_state == TOC_DATA_SOMEWHERE)
		{
			(*found)->data_state = TOC_DATA_AT_OFFSET;
			(*found)->data_offset = offset;
		}
		/* After an error the next custom_block_begin() returns false. */
		custom_block_skip(blocks, type);
		offset = custom_block_position(blocks);
	}
	if (custom_block_error(blocks))
		archive_open_damaged(archive, custom_block_error(blocks));
}

static int
compare_offsets(const void *a, const void *b)
{
	const TocEntry *left = *(const TocEntry *const *) a;
	const TocEntry *right = *(const TocEntry *const *) b;

	return left->data_offset < right->data_offset ? -1 :
		left->data_offset > right->data_offset;
}

/*
 * The data of an entry end where the data of another one begin, or at the end
 * of the file.
 */
static void
measure_custom(Archive *archive)
{
	int			n;
	TocEntry  **entries = entries_with_data(archive, &n);
	struct stat st;
	uint64		end;

	if (fstat(archive->fd, &st) < 0)
		pg_fatal("could not read archive \"%s\": %m", archive->path);
	end = st.st_size;
	qsort(entries, n, sizeof(TocEntry *), compare_offsets);

	/*
	 * From the last entry to the first, each ends where the next one begins.
	 * It is an error if two of them begin at the same offset.
	 */
	for (int i = n - 1; i >= 0; i--)
	{
		if (entries[i]->data_state != TOC_DATA_AT_OFFSET)
			continue;
		if (entries[i]->data_offset >= end)
			archive_open_damaged(archive, "there is no data at the recorded offset");
		archive->stored_bytes[entries[i] - archive->toc->entries] =
			end - entries[i]->data_offset;
		end = entries[i]->data_offset;
	}
}

/* Is there an entry whose data have an unknown offset? */
static bool
has_hidden_data(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (toc->entries[i].had_dumper &&
			toc->entries[i].data_state == TOC_DATA_SOMEWHERE)
			return true;
	return false;
}

static void
read_custom(Archive *archive)
{
	CustomBlocks *blocks = custom_block_new(archive->fd);
	const char *problem;

	archive->toc = toc_read_file(read_custom_input, blocks, true, &problem);
	if (custom_block_error(blocks))
		problem = custom_block_error(blocks);
	else if (archive->toc)
		problem = NULL;
	if (problem)
		archive_open_damaged(archive, problem);
	if (has_hidden_data(archive->toc))
		find_data(archive, blocks);
	if (has_hidden_data(archive->toc))
		archive_open_damaged(archive, "data of an entry is missing");
	custom_block_free(blocks);
}

/* ----------
 * All archives
 * ----------
 */
Archive *
archive_open(const char *path)
{
	Archive    *archive = pg_malloc0(sizeof(Archive));
	const Toc  *toc;

	archive->path = pg_strdup(path);
	toc_set_archive(archive->path);
	archive->fd = open_path(path, &archive->kind);
	refuse_kind(path, archive->kind);
	if (archive->kind == ARCHIVE_DIRECTORY)
		read_directory(archive);
	else
		read_custom(archive);
	toc = archive->toc;
	/* the encoding of the data, which the target may not have */
	archive->encoding = toc_encoding(toc);
	archive->stored_bytes = pg_malloc0((toc->n_entries + 1) * sizeof(uint64));
	if (archive->kind == ARCHIVE_CUSTOM)
	{
		measure_custom(archive);
		return archive;
	}
	for (int i = 0; i < toc->n_entries; i++)
		if (toc->entries[i].had_dumper && toc->entries[i].filename)
			archive->stored_bytes[i] =
				archive_lookup_bytes(archive->fd, toc->entries[i].filename);
	/* in other archives, a file with this name may have other contents */
	if (toc_has_mark(toc))
		read_manifest(archive);
	return archive;
}

/* ----------
 * Is it the same archive?
 * ----------
 */

#define ADD_BYTES 8192

/* Add the bytes of an open file, up to "end" or the end of the file. */
static void
archive_open_add_file(pg_checksum_context *sum, const Archive *archive,
					  int fd, uint64 end)
{
	char		buffer[ADD_BYTES];
	uint64		offset = 0;

	while (offset < end)
	{
		ssize_t		len = pread(fd, buffer, Min(end - offset, ADD_BYTES),
								offset);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			pg_fatal("could not read archive \"%s\": %m", archive->path);
		if (len == 0)
			return;
		checksum_add(sum, buffer, len);
		offset += len;
	}
}

/* Add a file of a directory, as it is stored. */
static void
add_member(pg_checksum_context *sum, const Archive *archive, const char *name)
{
	CompressMethod method;
	const char *problem;
	int			fd = archive_lookup_open(archive->fd, name, &method, &problem);

	if (fd < 0)
	{
		bool		is_damaged = errno == ENOENT || errno == ELOOP || errno == EINVAL;

		if (is_damaged)
			pg_log_error(ARCHIVE_DAMAGED, archive->path);
		else
			pg_log_error("could not read archive \"%s\"", archive->path);
		pg_log_error_detail("%s", message_sentence(problem));
		if (!is_damaged)
			exit(1);
		pg_fatal_hint(ARCHIVE_COPY_HINT);
	}
	archive_open_add_file(sum, archive, fd, PG_UINT64_MAX);
	close(fd);
}

static void
add_stat(pg_checksum_context *sum, const char *name, const struct stat *st)
{
	char	   *text = psprintf("%s " UINT64_FORMAT " " INT64_FORMAT ".%09ld\n",
								name, (uint64) st->st_size,
								(int64) st->st_mtim.tv_sec,
								(long) st->st_mtim.tv_nsec);

	checksum_add(sum, text, strlen(text));
}

/* Add sizes and times of the files of a directory, sorted by name. */
static void
add_stats(pg_checksum_context *sum, const Archive *archive)
{
	struct dirent **list;
	int			n = scandir(archive->path, &list, NULL, alphasort);

	if (n < 0)
		pg_fatal("could not open directory \"%s\": %m", archive->path);
	for (int i = 0; i < n; i++)
	{
		struct stat st;

		if (fstatat(archive->fd, list[i]->d_name, &st, 0) == 0 &&
			S_ISREG(st.st_mode))
			add_stat(sum, list[i]->d_name, &st);
	}
}

/* Return the position of the first data, which follow the contents. */
static uint64
toc_end(const Archive *archive)
{
	uint64		end = PG_UINT64_MAX;

	for (int i = 0; i < archive->toc->n_entries; i++)
	{
		const TocEntry *entry = &archive->toc->entries[i];

		if (entry->data_state == TOC_DATA_AT_OFFSET)
			end = Min(end, entry->data_offset);
	}
	return end;
}

char *
archive_identity(const Archive *archive)
{
	pg_checksum_context sum;
	struct stat st;

	if (archive->commands)
		return pg_strdup(archive->commands->identity);
	checksum_begin(&sum, CHECKSUM_TYPE_SHA256);
	if (archive->kind == ARCHIVE_CUSTOM)
	{
		if (fstat(archive->fd, &st) < 0)
			pg_fatal("could not read archive \"%s\": %m", archive->path);
		add_stat(&sum, "", &st);
		archive_open_add_file(&sum, archive, archive->fd, toc_end(archive));
		return checksum_end_hex(&sum);
	}
	add_member(&sum, archive, TOC_NAME);
	if (archive->manifest)
		add_member(&sum, archive, MANIFEST_NAME);
	else
		add_stats(&sum, archive);
	return checksum_end_hex(&sum);
}
