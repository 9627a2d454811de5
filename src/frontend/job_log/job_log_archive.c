/*
 * job_log_archive.c
 *		Is it the same archive?
 */
#include "base/fe_compat.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/sha2.h"

#include "archive/archive_name.h"
#include "archive/archive_open.h"
#include "base/hex.h"
#include "job_log/job_log_archive.h"

#define READ_BYTES 8192

/* ----------
 * A checksum that grows
 * ----------
 */
static void
begin_sum(pg_checksum_context *sum)
{
	if (pg_checksum_init(sum, CHECKSUM_TYPE_SHA256) < 0)
		pg_fatal("could not initialize checksum");
}

static void
add_to_sum(pg_checksum_context *sum, const void *data, size_t len)
{
	if (pg_checksum_update(sum, data, len) < 0)
		pg_fatal("could not compute checksum");
}

/* As digits; owned. */
static char *
end_sum(pg_checksum_context *sum)
{
	uint8		bytes[PG_CHECKSUM_MAX_LENGTH];
	int			len = pg_checksum_final(sum, bytes);

	if (len != PG_SHA256_DIGEST_LENGTH)
		pg_fatal("could not compute checksum");
	return hex_encode(bytes, len);
}

/* ----------
 * An archive
 * ----------
 */

/* The bytes of an open file up to an end. */
static void
add_file(pg_checksum_context *sum, const Archive *archive, int fd, uint64 end)
{
	char		buffer[READ_BYTES];
	uint64		offset = 0;

	while (offset < end)
	{
		ssize_t		len = pread(fd, buffer, Min(end - offset, READ_BYTES),
								offset);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			pg_fatal("could not read archive \"%s\": %m", archive->path);
		if (len == 0)
			return;
		add_to_sum(sum, buffer, len);
		offset += len;
	}
}

/* All of a file of a directory, as it is stored. */
static void
add_member(pg_checksum_context *sum, const Archive *archive, const char *name)
{
	CompressMethod method;
	const char *problem;
	int			fd = archive_lookup_open(archive->fd, name, &method, &problem);

	if (fd < 0)
		pg_fatal("could not open file \"%s\" of archive \"%s\": it %s", name,
				 archive->path, problem);
	add_file(sum, archive, fd, PG_UINT64_MAX);
	close(fd);
}

static void
add_stat(pg_checksum_context *sum, const char *name, const struct stat *st)
{
	char	   *text = psprintf("%s " UINT64_FORMAT " " INT64_FORMAT ".%09ld\n",
								name, (uint64) st->st_size,
								(int64) st->st_mtim.tv_sec,
								(long) st->st_mtim.tv_nsec);

	add_to_sum(sum, text, strlen(text));
	free(text);
}

/* The files of a directory, in the order of their names. */
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
		free(list[i]);
	}
	free(list);
}

/* Where the first data are, and so the table of contents has ended. */
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
job_log_archive(const Archive *archive)
{
	pg_checksum_context sum;
	struct stat st;

	begin_sum(&sum);
	if (archive->kind == ARCHIVE_CUSTOM)
	{
		if (fstat(archive->fd, &st) < 0)
			pg_fatal("could not read archive \"%s\": %m", archive->path);
		add_stat(&sum, "", &st);
		add_file(&sum, archive, archive->fd, toc_end(archive));
		return end_sum(&sum);
	}
	add_member(&sum, archive, TOC_NAME);
	if (archive->manifest)
		add_member(&sum, archive, MANIFEST_NAME);
	else
		add_stats(&sum, archive);
	return end_sum(&sum);
}

char *
job_log_numbers(const int *numbers, int n)
{
	pg_checksum_context sum;

	begin_sum(&sum);
	for (int i = 0; i < n; i++)
	{
		char		text[16];

		snprintf(text, sizeof(text), "%d\n", numbers[i]);
		add_to_sum(&sum, text, strlen(text));
	}
	return end_sum(&sum);
}
