/*
 * shared_snapshot.c
 *		--shared-snapshot: keeps the snapshot of all databases for dumps that
 *		other programs start.
 *
 * The dump of a database imports the snapshot that the guard of this database
 * has exported, so if the guard is lost, the import fails.  After a restart,
 * the server may give the same name to another snapshot.  So the file also
 * contains the identity of the snapshot.
 */
#include "base/fe_compat.h"

#include <poll.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "cluster/shared_snapshot.h"
#include "session/snapshot.h"
#include "source/source_check.h"
#include "stream/regular_file.h"

#define FILE_VERSION 1

/* How often to check the guards while there is no input. */
#define LOOK_MS 1000

typedef struct SharedDatabase
{
	char	   *name;
	Oid			oid;
	char	   *snapshot;		/* name that its guard has exported */
	uint32		process;		/* the server process of its guard */
	bool		is_template;	/* its guard makes CREATE DATABASE fail */
} SharedDatabase;

typedef struct SharedFile
{
	char	   *identity;		/* see session/snapshot.h */
	SnapshotRecord *record;
	SharedDatabase *databases;	/* in the order of the dumps */
	int			n_databases;
} SharedFile;

static const JsonField database_fields[] = {
	{"Name", JSON_NAME, offsetof(SharedDatabase, name), JSON_REQUIRED},
	{"Oid", JSON_UINT32, offsetof(SharedDatabase, oid), JSON_REQUIRED,.min = 1},
	{"Snapshot", JSON_NAME, offsetof(SharedDatabase, snapshot), JSON_REQUIRED},
	{"Process", JSON_UINT32, offsetof(SharedDatabase, process), JSON_REQUIRED,.min = 1},
	{"Template", JSON_BOOL, offsetof(SharedDatabase, is_template)},
	{NULL}
};

static const JsonField file_fields[] = {
	{"PgPardump-Shared-Snapshot", JSON_VERSION, 0, JSON_REQUIRED,.max = FILE_VERSION},
	{"Identity", JSON_NAME, offsetof(SharedFile, identity), JSON_REQUIRED},
	{"Cluster-Snapshot", JSON_OBJECT, offsetof(SharedFile, record), JSON_REQUIRED,.fields = manifest_snapshot_fields,
	.size = sizeof(SnapshotRecord)},
	{"Databases", JSON_ARRAY, offsetof(SharedFile, databases), JSON_REQUIRED,.fields = database_fields,
	.size = sizeof(SharedDatabase),.count = offsetof(SharedFile, n_databases)},
	{NULL}
};

/* ----------
 * The run that keeps the snapshot
 * ----------
 */
static void
write_file(const ClusterSnapshot *snapshot, const ClusterList *list,
		   const char *path)
{
	SharedFile	file = {
		.identity = cluster_snapshot_identity(snapshot),
		.record = cluster_snapshot_record(snapshot),
		.databases = pg_malloc0((list->n + 1) * sizeof(SharedDatabase)),
		.n_databases = list->n,
	};
	JsonWriter	writer = {.buf = buffer_new()};
	Sink	   *sink = sink_file_new(path);

	for (int i = 0; i < list->n; i++)
	{
		file.databases[i].name = list->databases[i].name;
		file.databases[i].oid = list->databases[i].oid;
		file.databases[i].snapshot = cluster_snapshot_name(snapshot, i);
		file.databases[i].process = cluster_snapshot_backend(snapshot, i);
		file.databases[i].is_template = list->databases[i].is_template;
	}
	json_append_document(&writer, file_fields, &file);
	appendPQExpBufferStr(&writer.buf, " }\n");
	sink_write(sink, buffer_text(&writer.buf), writer.buf.len);
	sink_finish(sink);
	sink_free(sink);
}

/* Remove the file; also an exit callback. */
static void
shared_snapshot_remove_file(void *arg)
{
	const char *path = arg;

	if (unlink(path) < 0 && errno != ENOENT)
		pg_log_warning("could not remove file \"%s\": %m", path);
}

/*
 * End the guard of a database after its dump.  If the guard was lost since
 * the last check, a message explains why the dump has failed.
 */
static void
release(ClusterSnapshot *snapshot, const ClusterList *list, const char *line)
{
	for (int i = 0; i < list->n; i++)
		if (strcmp(psprintf("%u", list->databases[i].oid), line) == 0)
		{
			cluster_snapshot_begin_run(snapshot, i);
			cluster_snapshot_end_run(snapshot, i);
			return;
		}
	pg_log_warning("ignoring line \"%s\" of standard input, which is not the OID of a database in the snapshot",
				   printable(line));
}

/* Read from standard input.  Returns false at its end. */
static bool
read_input(ClusterSnapshot *snapshot, const ClusterList *list,
		   PQExpBuffer input)
{
	char		part[256];
	char	   *end;
	ssize_t		got = read(STDIN_FILENO, part, sizeof(part));

	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0)
		pg_fatal("could not read from standard input: %m");
	appendBinaryPQExpBuffer(input, part, got);
	while ((end = strchr(buffer_text(input), '\n')) != NULL)
	{
		*end = '\0';
		release(snapshot, list, input->data);
		input->len -= end + 1 - input->data;
		memmove(input->data, end + 1, input->len + 1);
	}
	return got > 0;
}

void
shared_snapshot_keep(ClusterSnapshot *snapshot, const ClusterList *list,
					 const char *path)
{
	PQExpBufferData input = buffer_new();
	bool		is_open = true;

	write_file(snapshot, list, path);
	cleanup_push(shared_snapshot_remove_file, unconstify(char *, path));
	printf("%s\n", path);
	if (fflush(stdout) != 0)
		pg_fatal("could not write to standard output: %m");
	while (is_open)
	{
		struct pollfd fd = {.fd = STDIN_FILENO,.events = POLLIN};

		interrupt_check();
		cluster_snapshot_attend(snapshot);
		if (poll(&fd, 1, LOOK_MS) > 0)
			is_open = read_input(snapshot, list, &input);
	}
	shared_snapshot_remove_file(unconstify(char *, path));
	cleanup_pop(shared_snapshot_remove_file, unconstify(char *, path));
}

/* ----------
 * A dump
 * ----------
 */
static void
read_file(const char *path, SharedFile *file)
{
	const char *problem;
	JsonReader	reader;
	size_t		len;
	char	   *text;
	int			fd = regular_file_open_own(path, &problem);

	if (fd < 0)
		pg_fatal("%s", problem);
	text = regular_file_read_text(fd, &len);
	if (text == NULL)
		pg_fatal("could not read file \"%s\": %m", path);
	close(fd);
	json_read_document(&reader, text, len, file_fields, file);
	if (reader.error)
	{
		pg_log_error("file \"%s\" does not describe a shared snapshot", path);
		pg_log_error_detail("%s", message_sentence(reader.error));
		if (strcmp(reader.error, JSON_READ_UNSUPPORTED) == 0)
			pg_log_error_hint(JSON_READ_UNSUPPORTED_HINT);
		exit(1);
	}
	free(text);
}

void
shared_snapshot_expect(const Options *options)
{
	SharedFile	file = {0};

	/* Its texts are used until the process ends. */
	read_file(options->shared_snapshot, &file);
	for (int i = 0; i < file.n_databases; i++)
	{
		if (strcmp(file.databases[i].snapshot, options->snapshot) != 0)
			continue;
		snapshot_expect(file.identity, (int) file.databases[i].process);
		server_expect_database(file.databases[i].oid);
		manifest_expect_snapshot(file.record);
		return;
	}
	pg_fatal("file \"%s\" does not contain snapshot \"%s\"",
			 options->shared_snapshot, printable(options->snapshot));
}
