/*
 * read_archive.c
 *		Reads an archive for a TAP test, which makes it by stock pg_dump.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pqexpbuffer.h"

#include "archive/archive_member.h"
#include "read_archive.h"
#include "stream/text_pieces.h"

#define READ_BYTES 5000
#define HANG_SECONDS 120

/* ----------
 * Read
 * ----------
 */

/* Where the data go: to standard output, or into a sum. */
typedef struct Output
{
	bool		write;
	uint64		sum;
} Output;

static void
put(Output *output, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		output->sum = (output->sum ^ (unsigned char) data[i]) * UINT64CONST(0x100000001b3);
	if (output->write && fwrite(data, 1, len, stdout) != len)
		pg_fatal("could not write: %m");
}

static void
put_data(Output *output, const char *kind, unsigned int id,
		 const PQExpBuffer data)
{
	char	   *head = psprintf("%s %u %zu\n", kind, id, data->len);

	put(output, head, strlen(head));
	put(output, data->data, data->len);
	put(output, "\n", 1);
	free(head);
}

static ssize_t
read_member(void *arg, void *buf, size_t size)
{
	return archive_member_read((ArchiveMember *) arg, buf, size);
}

static ArchiveMember *
open_member(const Archive *archive, const TocEntry *entry)
{
	char	   *problem;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);

	if (member == NULL)
		pg_fatal("%s", problem);
	return member;
}

/* What is read as pieces is what is read as bytes, but for the end. */
static void
check_pieces(const Archive *archive, const TocEntry *entry,
			 const PQExpBuffer data)
{
	ArchiveMember *member = open_member(archive, entry);
	TextPieces *pieces = text_pieces_new(read_member, member, 1000);
	size_t		ahead = entry->dump_id % 3 == 0 ? data->len + 1 : data->len / 2;
	const char *part;
	uint64		piece;
	size_t		done = 0;
	ssize_t		len;

	/* some in front of the others, or all of it, and then no others */
	if (archive_member_read_ahead(member, ahead) != (ahead > data->len))
		pg_fatal("not all of entry %d is read ahead when it is", entry->dump_id);
	while ((len = text_pieces_next(pieces, &part, &piece)) > 0)
	{
		if (done + len > data->len || memcmp(data->data + done, part, len) != 0)
			pg_fatal("the pieces of entry %d are not its rows", entry->dump_id);
		done += len;
	}
	if (len < 0)
		pg_fatal("entry %d: %s", entry->dump_id,
				 text_pieces_error(pieces) ? text_pieces_error(pieces) :
				 archive_member_error(member));
	if (strncmp(data->data + done, "\\.\n", 3) != 0)
		pg_fatal("the pieces of entry %d end too early", entry->dump_id);
	text_pieces_free(pieces);
	archive_member_close(member);
}

static void
read_rows(const Archive *archive, const TocEntry *entry, Output *output)
{
	ArchiveMember *member = open_member(archive, entry);
	PQExpBuffer data = createPQExpBuffer();
	char		buf[READ_BYTES];
	ssize_t		len;

	while ((len = archive_member_read(member, buf, sizeof(buf))) > 0)
		appendBinaryPQExpBuffer(data, buf, len);
	if (len < 0)
		pg_fatal("%s", archive_member_error(member));
	archive_member_close(member);
	if (entry->copy_stmt)
		check_pieces(archive, entry, data);
	put_data(output, "entry", entry->dump_id, data);
	destroyPQExpBuffer(data);
}

/* Another reader that begins at this place finds the same object. */
static void
check_position(const Archive *archive, const TocEntry *entry, Oid oid,
			   uint64 position)
{
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open_some(archive, entry, position,
														&oid, 1, &problem);
	Oid			found;

	if (objects == NULL)
		pg_fatal("%s", problem);
	if (!archive_objects_next(objects, &found) || found != oid)
		pg_fatal("large object %u is not where it should be", oid);
	archive_objects_close(objects);
}

static void
read_objects(const Archive *archive, const TocEntry *entry, Output *output)
{
	char	   *problem;
	ArchiveObjects *objects = archive_objects_open(archive, entry, &problem);
	PQExpBuffer data = createPQExpBuffer();
	char		buf[READ_BYTES];
	ssize_t		len;
	Oid			oid;

	if (objects == NULL)
		pg_fatal("%s", problem);
	while (archive_objects_next(objects, &oid))
	{
		resetPQExpBuffer(data);
		/* the data of every fourth are passed over */
		while (oid % 4 != 0 &&
			   (len = archive_objects_read(objects, buf, sizeof(buf))) > 0)
			appendBinaryPQExpBuffer(data, buf, len);
		put_data(output, "object", oid, data);
		check_position(archive, entry, oid, archive_objects_position(objects));
	}
	if (archive_objects_error(objects))
		pg_fatal("%s", archive_objects_error(objects));
	archive_objects_close(objects);
	destroyPQExpBuffer(data);
}

static void
read_all(const char *path, Output *output)
{
	Archive    *archive = archive_open(path);

	for (int i = 0; i < archive->toc->n_entries; i++)
	{
		const TocEntry *entry = &archive->toc->entries[i];

		if (!entry->had_dumper)
			continue;
		if (toc_entry_is(entry, "BLOBS"))
			read_objects(archive, entry, output);
		else
			read_rows(archive, entry, output);
	}
}

/* ----------
 * Damaged
 * ----------
 */
typedef struct Outcomes
{
	int			n_same;
	int			n_refused;
	int			n_other;
	int			n_crashed;
} Outcomes;

/* All of it in a process of its own, whose messages are discarded. */
static void
try_to_read(const char *path, uint64 expected, Outcomes *outcomes)
{
	Output		output = {.write = false};
	pid_t		pid = fork();
	int			status;

	if (pid < 0)
		pg_fatal("could not start a child process: %m");
	if (pid == 0)
	{
		int			null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		alarm(HANG_SECONDS);
		read_all(path, &output);
		_exit(output.sum == expected ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status))
		outcomes->n_crashed++;
	else if (WEXITSTATUS(status) == 0)
		outcomes->n_same++;
	else if (WEXITSTATUS(status) == 1)
		outcomes->n_refused++;
	else
		outcomes->n_other++;
}

static void
put_byte(int fd, off_t at, unsigned char byte)
{
	if (pwrite(fd, &byte, 1, at) != 1)
		pg_fatal("could not write: %m");
}

static void
tell(const char *what, const Outcomes *outcomes)
{
	printf("%s: %d same, %d refused, %d other, %d crashed\n", what,
		   outcomes->n_same, outcomes->n_refused, outcomes->n_other,
		   outcomes->n_crashed);
}

static void
damage(const char *path, const char *file, int step)
{
	Output		output = {.write = false};
	Outcomes	changed = {0};
	Outcomes	cut = {0};
	int			fd = open(file, O_RDWR);
	struct stat st;
	unsigned char byte;

	if (fd < 0 || fstat(fd, &st) < 0)
		pg_fatal("could not open \"%s\": %m", file);
	read_all(path, &output);
	for (off_t at = 0; at < st.st_size; at += step)
	{
		if (pread(fd, &byte, 1, at) != 1)
			pg_fatal("could not read: %m");
		put_byte(fd, at, byte ^ (1 << (at / step % 8)));
		try_to_read(path, output.sum, &changed);
		put_byte(fd, at, byte);
	}
	/* from the end, so that nothing need be written again */
	for (off_t at = st.st_size - 1; at >= 0; at -= step)
	{
		if (ftruncate(fd, at) < 0)
			pg_fatal("could not cut: %m");
		try_to_read(path, output.sum, &cut);
	}
	tell("changed", &changed);
	tell("cut", &cut);
	close(fd);
}

int
read_archive_main(int argc, char **argv)
{
	Output		output = {.write = true};

	if (argc == 3 && strcmp(argv[1], "--read-archive") == 0)
		read_all(argv[2], &output);
	else if (argc == 5 && strcmp(argv[1], "--damage-archive") == 0)
		damage(argv[2], argv[3], atoi(argv[4]));
	else
		pg_fatal("unknown arguments");
	return 0;
}
