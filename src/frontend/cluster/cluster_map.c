/*
 * cluster_map.c
 *		Writes and reads map.json, the list of the databases in a dump of a
 *		cluster, and the files next to it.
 *
 * The reader trusts nothing: directories follow from OIDs, so no name in the
 * map can lead out of the dump; each database may occur once; and globals.sql
 * must have the checksum that the map contains, as its statements are run
 * with the privileges of a superuser.
 */
#include "base/fe_compat.h"

#include "common/file_utils.h"

#include "archive/archive_clean.h"
#include "archive/archive_dir.h"
#include "archive/archive_piped.h"
#include "archive/archive_read.h"
#include "base/buffer.h"
#include "base/checksum.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "cluster/cluster_map.h"
#include "stream/regular_file.h"
#include "stream/sink.h"

#define MAP_VERSION 1

/* Larger files are not read; no real map is nearly as large. */
#define MAX_FILE_BYTES ((off_t) 1 << 30)

/* The archive's directory, relative to that of the map; owned. */
static char *
archive_directory(const ClusterDatabase *database)
{
	return psprintf(CLUSTER_DATABASES_NAME "/%u", database->oid);
}

char *
cluster_map_archive(const char *directory, const ClusterDatabase *database)
{
	return psprintf("%s/" CLUSTER_DATABASES_NAME "/%u", directory, database->oid);
}

char *
cluster_map_pipe(const char *pattern, const ClusterDatabase *database)
{
	return sink_pipe_directory(pattern, database ?
							   archive_directory(database) : NULL);
}

/* ----------
 * The format
 * ----------
 */

/* A database of the map. */
typedef struct MapDatabase
{
	ClusterDatabase database;
	char	   *directory;
	int			state;			/* index in states */
} MapDatabase;

/* The contents of the file. */
typedef struct MapFile
{
	char	   *program;
	char	   *server_version;
	SnapshotRecord *snapshot;
	int			globals;		/* index in scripts */
	char	   *globals_checksum;
	MapDatabase *databases;
	int			n_databases;
} MapFile;

static const char *const states[] = {"complete", "failed", NULL};
static const char *const scripts[] = {CLUSTER_GLOBALS_NAME, NULL};

static const JsonField database_fields[] = {
	{"Name", JSON_NAME, offsetof(MapDatabase, database.name), JSON_REQUIRED,.max = NAMEDATALEN - 1},
	{"Oid", JSON_UINT32, offsetof(MapDatabase, database.oid), JSON_REQUIRED,.min = 1},
	{"Directory", JSON_NAME, offsetof(MapDatabase, directory), JSON_REQUIRED},
	{"Bytes", JSON_UINT64, offsetof(MapDatabase, database.bytes)},
	{"State", JSON_WORD, offsetof(MapDatabase, state), JSON_REQUIRED,.words = states},
	{NULL}
};

static const JsonField map_fields[] = {
	{"PgPardump-Cluster-Map", JSON_VERSION, 0, JSON_REQUIRED,.max = MAP_VERSION},
	{"Program", JSON_NAME, offsetof(MapFile, program)},
	{"Server-Version", JSON_NAME, offsetof(MapFile, server_version)},
	{"Cluster-Snapshot", JSON_OBJECT, offsetof(MapFile, snapshot), JSON_SKIP_NULL,.fields = manifest_snapshot_fields,
	.size = sizeof(SnapshotRecord)},
	{"Globals", JSON_WORD, offsetof(MapFile, globals),.words = scripts},
	{"Globals-SHA256", JSON_NAME, offsetof(MapFile, globals_checksum), JSON_REQUIRED},
	{"Databases", JSON_ARRAY, offsetof(MapFile, databases), JSON_REQUIRED,.fields = database_fields,
	.size = sizeof(MapDatabase),.count = offsetof(MapFile, n_databases)},
	{NULL}
};

/* ----------
 * The map as text.
 * ----------
 */
char *
cluster_map_text(const ClusterMap *map)
{
	MapFile		file = {
		.program = "pg_pardump " PARDUMP_VERSION,
		.server_version = map->server_version,
		.snapshot = map->snapshot,
		.globals_checksum = map->globals_checksum,
		.databases = pg_malloc0((map->list.n + 1) * sizeof(MapDatabase)),
		.n_databases = map->list.n,
	};
	JsonWriter	writer = {.buf = buffer_new()};

	for (int i = 0; i < map->list.n; i++)
	{
		const ClusterDatabase *database = &map->list.databases[i];

		file.databases[i].database = *database;
		file.databases[i].directory = archive_directory(database);
		file.databases[i].state = database->failed ? 1 : 0;
	}
	json_append_document(&writer, map_fields, &file);
	appendPQExpBufferStr(&writer.buf, " }\n");
	for (int i = 0; i < map->list.n; i++)
		free(file.databases[i].directory);
	free(file.databases);
	return buffer_text(&writer.buf);
}

/* ----------
 * Parsing the map.
 * ----------
 */
static int
compare_oids(const void *a, const void *b)
{
	Oid			left = (*(const ClusterDatabase *const *) a)->oid;
	Oid			right = (*(const ClusterDatabase *const *) b)->oid;

	return left < right ? -1 : left > right;
}

static int
cluster_map_compare_names(const void *a, const void *b)
{
	return strcmp((*(const ClusterDatabase *const *) a)->name,
				  (*(const ClusterDatabase *const *) b)->name);
}

static bool
repeats(const ClusterDatabase **sorted, int n,
		int (*compare) (const void *a, const void *b))
{
	qsort(sorted, n, sizeof(ClusterDatabase *), compare);
	for (int i = 1; i < n; i++)
		if (compare(&sorted[i - 1], &sorted[i]) == 0)
			return true;
	return false;
}

/*
 * Check that no OID is repeated, by sorting them, because a forged map may
 * name a million databases.
 */
static void
check_repeats(JsonReader *reader, const MapFile *file)
{
	const ClusterDatabase **sorted =
		pg_malloc((file->n_databases + 1) * sizeof(ClusterDatabase *));

	for (int i = 0; i < file->n_databases; i++)
		sorted[i] = &file->databases[i].database;
	if (repeats(sorted, file->n_databases, compare_oids) ||
		repeats(sorted, file->n_databases, cluster_map_compare_names))
		json_fail(reader, "a database is named twice");
	free(sorted);
}

/* Check that a server can have databases with these names. */
static void
check_databases(JsonReader *reader, const MapFile *file)
{
	for (int i = 0; i < file->n_databases && reader->error == NULL; i++)
	{
		const MapDatabase *found = &file->databases[i];
		char	   *want = archive_directory(&found->database);

		if (strcmp(found->directory, want) != 0)
			json_fail(reader, "the directory of a database is not that of its OID");
		if (found->database.name[0] == '\0' ||
			strcmp(found->database.name, "template0") == 0)
			json_fail(reader, "a database has an impossible name");
		free(want);
	}
	if (reader->error == NULL)
		check_repeats(reader, file);
}

/* Make the map, which takes over the texts of the file. */
static ClusterMap *
make_map(MapFile *file)
{
	ClusterMap *map = pg_malloc0(sizeof(ClusterMap));

	map->server_version = file->server_version;
	map->globals_checksum = file->globals_checksum;
	map->snapshot = file->snapshot;
	file->server_version = file->globals_checksum = NULL;
	file->snapshot = NULL;
	map->list.n = file->n_databases;
	map->list.databases = pg_malloc((file->n_databases + 1) * sizeof(ClusterDatabase));
	for (int i = 0; i < file->n_databases; i++)
	{
		map->list.databases[i] = file->databases[i].database;
		map->list.databases[i].failed = file->databases[i].state == 1;
		file->databases[i].database.name = NULL;
	}
	return map;
}

ClusterMap *
cluster_map_parse(const char *text, size_t len, const char **problem)
{
	MapFile		file = {0};
	ClusterMap *map = NULL;
	JsonReader	reader;

	json_read_document(&reader, text, len, map_fields, &file);
	if (reader.error == NULL)
		check_databases(&reader, &file);
	*problem = reader.error;
	if (reader.error == NULL)
		map = make_map(&file);
	json_free_members(map_fields, &file);
	return map;
}

/* ----------
 * Writing the files of a dump.
 * ----------
 */
struct ClusterOutput
{
	ArchiveDir *piped;			/* of map and globals; NULL without --pipe */
	char	   *directory;		/* NULL with --pipe */
	int			directory_fd;	/* the open directory, because another one may
								 * get its path */
	char	   *databases;		/* in the directory, for the archives */
	int			databases_fd;	/* the same for databases */
	bool		made;			/* did this run create the directory? */
	bool		flushes;		/* without --no-sync */
	Sink	   *map_sink;		/* claims the directory until map.json is
								 * published */
	bool		whole;
};

static char *
file_path(const ClusterOutput *output, const char *name)
{
	return psprintf("%s/%s", output->directory, name);
}

/*
 * Remove a file through the open directory, because its path may be a link to
 * another directory by now.
 */
static void
remove_file(const ClusterOutput *output, const char *name)
{
	if (unlinkat(output->directory_fd, name, 0) < 0 && errno != ENOENT)
		pg_log_warning("could not remove file \"%s/%s\": %m",
					   output->directory, name);
}

/*
 * An exit callback of a failed run.  Without map.json the directory is not a
 * dump of a cluster.  Archives that are complete may have taken hours, so
 * they stay, and so does the directory then.
 */
static void
cluster_output_remove_files(void *arg)
{
	ClusterOutput *output = arg;

	if (output->whole)
		return;
	remove_file(output, CLUSTER_MAP_NAME ".tmp");
	remove_file(output, CLUSTER_GLOBALS_NAME ".tmp");
	remove_file(output, CLUSTER_GLOBALS_NAME);
	if (unlinkat(output->directory_fd, CLUSTER_DATABASES_NAME, AT_REMOVEDIR) < 0 &&
		errno != ENOENT)
	{
		pg_log_warning("complete archives of single databases remain in \"%s\"",
					   output->databases);
		pg_log_warning_hint("Restore each of them with pg_parrestore, or remove the directory.");
		return;
	}
	if (output->made && rmdir(output->directory) < 0)
		pg_log_warning("could not remove directory \"%s\": %m", output->directory);
}

/*
 * map.json.tmp is created with O_EXCL, so only one run can claim the
 * directory.  Everything else is opened relative to the open directory, in
 * which other users cannot replace a name by a link.
 */
static void
create_directory(ClusterOutput *output, const char *directory)
{
	char	   *path = pg_strdup(directory);

	canonicalize_path(path);
	output->directory = path;
	output->databases = file_path(output, CLUSTER_DATABASES_NAME);
	output->directory_fd = dirfd(archive_dir_open_new(path, true, &output->made));
	output->map_sink = sink_file_new(file_path(output, CLUSTER_MAP_NAME ".tmp"));
	cleanup_push(cluster_output_remove_files, output);
	if (mkdirat(output->directory_fd, CLUSTER_DATABASES_NAME, 0700) < 0)
		pg_fatal("could not create directory \"%s\": %m", output->databases);
	output->databases_fd = openat(output->directory_fd, CLUSTER_DATABASES_NAME,
								  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (output->databases_fd < 0)
		pg_fatal("could not open directory \"%s\": %m", output->databases);
}

static void
write_text(Sink *sink, const char *text)
{
	sink_write(sink, text, strlen(text));
	sink_finish(sink);
	sink_free(sink);
}

/*
 * Flush a complete file with its temporary name, and rename it.  In this
 * order a crash cannot leave the final name with a part of the contents.
 */
static void
publish(const ClusterOutput *output, const char *name)
{
	char	   *path = file_path(output, name);
	char	   *temp_path = psprintf("%s.tmp", path);

	if (output->flushes && fsync_fname(temp_path, false) != 0)
		exit(1);				/* it has reported the error */
	if (renameat(output->directory_fd, temp_path + strlen(output->directory) + 1,
				 output->directory_fd, name) < 0)
		pg_fatal("could not rename file \"%s\" to \"%s\": %m", temp_path, path);
}

ClusterOutput *
cluster_output_create(const Options *options)
{
	/* An exit callback uses it until the process ends. */
	ClusterOutput *output = pg_malloc0(sizeof(ClusterOutput));

	output->flushes = options->sync_method != SYNC_NONE;
	if (options->pipe_command)
		output->piped = archive_dir_create_piped(cluster_map_pipe(options->pipe_command,
																  NULL));
	else
		create_directory(output, options->directory);
	return output;
}

char *
cluster_output_archive(const ClusterOutput *output, const ClusterDatabase *database)
{
	return output->directory ? cluster_map_archive(output->directory, database) : NULL;
}

/*
 * An archive with a table of contents is complete, and only something after
 * it failed, such as the report.  Where commands store the archive, it is not
 * known what is there.
 */
bool
cluster_output_clean_up(const ClusterOutput *output, const ClusterDatabase *database)
{
	char	   *path = cluster_output_archive(output, database);
	const char *name;
	char	   *toc;
	bool		complete;

	if (path == NULL)
		return false;
	name = last_dir_separator(path) + 1;
	toc = psprintf("%s/%s", name, TOC_NAME);
	complete = faccessat(output->databases_fd, toc, F_OK, 0) == 0;
	if (!complete)
		archive_clean_directory_at(output->databases_fd, name, path);
	return complete;
}

/*
 * map.json is published last, because a directory that has it is a complete
 * dump.
 */
void
cluster_output_publish(ClusterOutput *output, ClusterMap *map, const char *globals)
{
	map->globals_checksum = checksum_of(CHECKSUM_TYPE_SHA256, globals, strlen(globals));
	if (output->piped)
	{
		write_text(archive_dir_new_file(output->piped, CLUSTER_GLOBALS_NAME), globals);
		interrupt_check();
		write_text(archive_dir_new_file(output->piped, CLUSTER_MAP_NAME),
				   cluster_map_text(map));
		return;
	}
	write_text(sink_file_new(file_path(output, CLUSTER_GLOBALS_NAME ".tmp")), globals);
	write_text(output->map_sink, cluster_map_text(map));
	if (output->flushes)
		archive_sync_directory(output->databases, true);
	interrupt_check();
	publish(output, CLUSTER_GLOBALS_NAME);
	publish(output, CLUSTER_MAP_NAME);
	if (output->flushes)
		archive_sync_directory(output->directory, output->made);
	output->whole = true;
}

/* ----------
 * Reading the files of a dump.
 * ----------
 */
ClusterPlace
cluster_map_place(const char *directory, const Options *options)
{
	ClusterPlace place = {.directory = directory};

	if (options && options->pipe_command)
	{
		place.directory = NULL;
		place.options = options;
		place.commands = archive_piped_new(options,
										   cluster_map_pipe(options->pipe_command, NULL));
	}
	return place;
}

/*
 * Commands have not returned a file, or another one.  Return if they may
 * return it when they are run again.
 */
static void
read_again(const Archive *commands, Retry *retry, const char *error,
		   const char *cause)
{
	if (!archive_read_again(commands, retry, cause ? cause : error))
		archive_read_failed(commands, retry, error, cause);
}

/*
 * Read a file, followed by a zero byte.  Exits with a message if it cannot be
 * read, or is not a regular file.
 */
static char *
read_path(const char *directory, const char *name, size_t *len)
{
	char	   *path = psprintf("%s/%s", directory, name);
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);
	struct stat st;
	char	   *text;
	ssize_t		got;

	if (fd < 0 && errno != ENOENT)
		pg_fatal("%s", problem);
	if (fd < 0)
	{
		pg_log_error("could not read the dump of all databases in directory \"%s\"",
					 directory);
		pg_log_error_detail("%s", message_sentence(problem));
		pg_fatal_hint("Specify a directory that pg_pardump --all-databases has written.");
	}
	if (fstat(fd, &st) < 0)
		pg_fatal("could not stat file \"%s\": %m", path);
	if (st.st_size > MAX_FILE_BYTES)
	{
		pg_log_error("file \"%s\" is too large", path);
		pg_fatal_detail("It has %s; the limit is %s.", units_size(st.st_size),
						units_size(MAX_FILE_BYTES));
	}
	text = pg_malloc(st.st_size + 1);
	for (*len = 0; *len < (size_t) st.st_size; *len += got)
	{
		got = read(fd, text + *len, st.st_size - *len);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got < 0)
			pg_fatal("could not read file \"%s\": %m", path);
		else if (got == 0)
			break;
	}
	text[*len] = '\0';
	close(fd);
	return text;
}

/* The map or the globals, in the same way. */
static char *
read_file(const ClusterPlace *place, const char *name, size_t *len)
{
	Retry		retry = {0};
	char	   *problem;
	char	   *text;

	if (place->commands == NULL)
		return read_path(place->directory, name, len);
	while ((text = archive_read_all(place->commands, name, len, &problem)) == NULL)
		read_again(place->commands, &retry, problem, NULL);
	return text;
}

ClusterMap *
cluster_map_read(const ClusterPlace *place)
{
	Retry		retry = {0};

	for (;;)
	{
		size_t		len;
		char	   *text = read_file(place, CLUSTER_MAP_NAME, &len);
		const char *problem;
		ClusterMap *map = cluster_map_parse(text, len, &problem);

		if (map)
		{
			map->identity = checksum_of(CHECKSUM_TYPE_SHA256, text, len);
			return map;
		}
		if (place->commands == NULL)
		{
			pg_log_error("file \"%s/%s\" is not the map of a cluster's dump",
						 place->directory, CLUSTER_MAP_NAME);
			pg_log_error_detail("%s", message_sentence(problem));
			if (strcmp(problem, JSON_READ_UNSUPPORTED) == 0)
				pg_fatal_hint(JSON_READ_UNSUPPORTED_HINT);
			pg_fatal_hint("Use another copy of the dump, or restore each archive in \"%s/%s\" with pg_parrestore.",
						  place->directory, CLUSTER_DATABASES_NAME);
		}
		read_again(place->commands, &retry,
				   psprintf("command for file \"%s\" did not return the map of a cluster's dump",
							CLUSTER_MAP_NAME), problem);
	}
}

int
cluster_map_leave_out_failed(ClusterMap *map, PQExpBuffer names)
{
	ClusterList *list = &map->list;
	int			n_all = list->n;

	list->n = 0;
	for (int i = 0; i < n_all; i++)
	{
		if (list->databases[i].failed)
		{
			pg_log_warning("database \"%s\" could not be dumped, so there is no archive of it",
						   list->databases[i].name);
			cluster_list_add_name(names, &list->databases[i]);
		}
		else
			list->databases[list->n++] = list->databases[i];
	}
	return n_all - list->n;
}

void
cluster_map_put_failed_first(ClusterMap *map)
{
	ClusterList *list = &map->list;

	for (int i = 0, n = 0; i < list->n; i++)
	{
		ClusterDatabase database = list->databases[i];

		if (!database.failed)
			continue;
		memmove(&list->databases[n + 1], &list->databases[n],
				(i - n) * sizeof(ClusterDatabase));
		list->databases[n++] = database;
	}
}

char *
cluster_map_read_globals(const ClusterPlace *place, const ClusterMap *map)
{
	const char *directory = place->directory;
	Retry		retry = {0};

	for (;;)
	{
		size_t		len;
		char	   *text = read_file(place, CLUSTER_GLOBALS_NAME, &len);

		if (strcmp(checksum_of(CHECKSUM_TYPE_SHA256, text, len), map->globals_checksum) == 0 &&
			strlen(text) == len)
			return text;
		if (place->commands)
		{
			read_again(place->commands, &retry,
					   psprintf("command for file \"%s\" returned data that does not match the checksum in \"%s\"",
								CLUSTER_GLOBALS_NAME, CLUSTER_MAP_NAME),
					   NULL);
			continue;
		}
		pg_log_error("file \"%s/%s\" was changed after the dump", directory,
					 CLUSTER_GLOBALS_NAME);
		pg_log_error_hint("If the change is intended, run file \"%s/%s\" with psql, and restore the archives in \"%s/%s\" one by one.  Otherwise, use another copy of the dump.",
						  directory, CLUSTER_GLOBALS_NAME, directory,
						  CLUSTER_DATABASES_NAME);
		exit(1);
	}
}

/* Append a file of an archive, which may not exist there. */
static void
add_file(PQExpBuffer buf, const char *archive, const char *name)
{
	char	   *path = psprintf("%s/%s", archive, name);
	size_t		len;
	char	   *text;

	if (access(path, F_OK) == 0)
	{
		text = read_path(archive, name, &len);
		appendPQExpBuffer(buf, "%s %s\n", name,
						  checksum_of(CHECKSUM_TYPE_SHA256, text, len));
		free(text);
	}
}

/*
 * Two dumps of a database may have equal tables of contents, but a manifest
 * contains times, so it is used, too.
 */
static char *
identify(const ClusterPlace *place, const ClusterDatabase *database)
{
	char	   *archive;
	PQExpBufferData buf = buffer_new();

	if (place->commands)
		return archive_piped_identity(place->options,
									  cluster_map_pipe(place->options->pipe_command, database));
	archive = cluster_map_archive(place->directory, database);
	add_file(&buf, archive, TOC_NAME);
	add_file(&buf, archive, MANIFEST_NAME);
	return checksum_of(CHECKSUM_TYPE_SHA256, buffer_text(&buf), buf.len);
}

void
cluster_map_identify(const ClusterPlace *place, ClusterList *list)
{
	for (int i = 0; i < list->n; i++)
		list->databases[i].identity = identify(place, &list->databases[i]);
}
