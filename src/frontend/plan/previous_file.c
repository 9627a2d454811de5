/*
 * previous_file.c
 *		Takes a file of the previous archive into a new one.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/checksum_helper.h"

#include "base/interrupt.h"
#include "plan/previous_file.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

#define READ_BYTES (256 * 1024)

/* The one that is being taken. */
typedef struct Taking
{
	const PreviousArchive *previous;
	const ManifestFile *file;
	int			fd;				/* open on it */
	const char *problem;
} Taking;

/*
 * Read all of a file, to the sink if there is one, and compare it with what
 * the manifest says.
 */
static bool
read_right(Taking *taking, int fd, Sink *sink)
{
	const ManifestFile *file = taking->file;
	char	   *buffer = pg_malloc(READ_BYTES);
	uint8		digest[PG_CHECKSUM_MAX_LENGTH];
	pg_checksum_context checksum;
	uint64		bytes = 0;
	ssize_t		len;

	if (pg_checksum_init(&checksum, taking->previous->manifest->checksum_type) < 0)
		pg_fatal("could not compute a checksum");
	while ((len = pread(fd, buffer, READ_BYTES, (off_t) bytes)) != 0)
	{
		interrupt_check();
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			break;
		bytes += len;
		if (pg_checksum_update(&checksum, (const uint8 *) buffer, len) < 0)
			pg_fatal("could not compute a checksum");
		if (bytes > file->stored_bytes)
			break;
		if (sink)
			sink_write(sink, buffer, len);
	}
	if (len < 0)
		taking->problem = psprintf("could not be read: %s", strerror(errno));
	free(buffer);
	if (pg_checksum_final(&checksum, digest) != file->checksum_len)
		pg_fatal("could not compute a checksum");
	if (taking->problem == NULL && bytes != file->stored_bytes)
		taking->problem = "has another size than its manifest says";
	else if (taking->problem == NULL &&
			 memcmp(digest, file->checksum, file->checksum_len) != 0)
		taking->problem = "has another checksum than its manifest says";
	return taking->problem == NULL;
}

/* Can only this user change it once it is in our archive, too? */
static bool
is_ours_alone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Of a clone or a copy, what is written is compared, not what was read. */
static bool
take_clone(Taking *taking, const ArchiveDir *dir, const char *name)
{
	int			fd = archive_dir_clone_file(dir, taking->fd, name);

	if (fd < 0)
		return false;
	if (!read_right(taking, fd, NULL))
		archive_dir_remove_file(dir, name);
	close(fd);
	return true;
}

static void
take_copy(Taking *taking, const ArchiveDir *dir, const char *name)
{
	Sink	   *sink = archive_dir_new_file(dir, name);
	bool		right = read_right(taking, taking->fd, sink);

	sink_finish(sink);
	sink_free(sink);
	if (!right)
		archive_dir_remove_file(dir, name);
}

/* False if the method cannot be used here. */
static bool
take_by(Taking *taking, CopyMethod method, const ArchiveDir *dir,
		const char *name)
{
	switch (method)
	{
		case COPY_METHOD_LINK:
			if (!is_ours_alone(taking->fd))
				return false;
			return !read_right(taking, taking->fd, NULL) ||
				archive_dir_link_file(dir, taking->fd,
									  taking->previous->dir_fd,
									  taking->file->path, name);
		case COPY_METHOD_CLONE:
			return take_clone(taking, dir, name);
		case COPY_METHOD_COPY:
			take_copy(taking, dir, name);
			return true;
	}
	return false;
}

bool
previous_file_take(const PreviousArchive *previous, const ManifestFile *file,
				   const ArchiveDir *dir, const char *new_name,
				   CopyMethod *method, const char **problem)
{
	Taking		taking = {previous, file};

	taking.fd = regular_file_open(previous->dir_fd, file->path, problem);
	if (taking.fd < 0)
		return false;
	while (!take_by(&taking, *method, dir, new_name))
		*method = (CopyMethod) (*method + 1);
	close(taking.fd);
	*problem = taking.problem;
	return taking.problem == NULL;
}
