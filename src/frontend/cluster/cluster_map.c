/*
 * cluster_map.c
 *		Writes and reads map.json, the list of the databases in a dump of a
 *		cluster.
 *
 * The reader trusts nothing: directories follow from OIDs, so no name in the
 * map can lead out of the dump; each database may occur once; and globals.sql
 * must have the checksum that the map contains, as its statements are run
 * with the privileges of a superuser.
 */
#include "base/fe_compat.h"

#include "archive/archive_piped.h"
#include "archive/archive_read.h"
#include "base/buffer.h"
#include "base/checksum.h"
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
							   archive_directory(database) : ".");
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
 * Writing
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
 * Reading
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
			json_fail(reader, "impossible name of a database");
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
read_again(const Archive *commands, Retry *retry, const char *problem)
{
	if (!archive_read_again(commands, retry, problem))
		archive_read_failed(commands, retry, problem);
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

	if (fd < 0)
	{
		pg_log_error("could not read the dump of all databases in directory \"%s\"",
					 directory);
		pg_log_error_detail("File \"%s\" %s.", path, problem);
		pg_fatal_hint("Specify a directory that pg_pardump --all-databases has written.");
	}
	if (fstat(fd, &st) < 0)
		pg_fatal("could not stat file \"%s\": %m", path);
	if (st.st_size > MAX_FILE_BYTES)
		pg_fatal("file \"%s\" is too large", path);
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
		read_again(place->commands, &retry, problem);
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
			pg_log_error("\"%s/%s\" is not the map of a cluster's dump: %s",
						 place->directory, CLUSTER_MAP_NAME, problem);
			pg_fatal_hint("Use another copy of the dump, or restore each archive in \"%s/%s\" with pg_parrestore.",
						  place->directory, CLUSTER_DATABASES_NAME);
		}
		read_again(place->commands, &retry,
				   psprintf("command for file \"%s\" did not return the map of a cluster's dump: %s",
							CLUSTER_MAP_NAME, problem));
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
								CLUSTER_GLOBALS_NAME, CLUSTER_MAP_NAME));
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
