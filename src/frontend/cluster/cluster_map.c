/*
 * cluster_map.c
 *		Writes and reads the map of a cluster's dump.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checksum_helper.h"
#include "mb/pg_wchar.h"
#include "pqexpbuffer.h"

#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "cluster/cluster_map.h"
#include "stream/hex.h"
#include "stream/regular_file.h"

#define MAP_VERSION 1

/* No cluster comes near; what claims to be larger is not read. */
#define MAX_FILE_BYTES ((off_t) 1 << 30)

#define COMPLETE "complete"
#define FAILED "failed"

char *
cluster_map_archive(const char *directory, const ClusterDatabase *database)
{
	return psprintf("%s/" CLUSTER_DATABASES_NAME "/%u", directory, database->oid);
}

char *
cluster_map_checksum(const char *text, size_t len)
{
	pg_checksum_context checksum;
	uint8		bytes[PG_CHECKSUM_MAX_LENGTH];
	int			n = -1;

	if (pg_checksum_init(&checksum, CHECKSUM_TYPE_SHA256) < 0 ||
		pg_checksum_update(&checksum, (const uint8 *) text, len) < 0 ||
		(n = pg_checksum_final(&checksum, bytes)) < 0)
		pg_fatal("could not compute a checksum");
	return hex_encode(bytes, n);
}

/* ----------
 * Writing
 * ----------
 */

/* JSON is UTF-8; a name of another encoding is written byte by byte. */
static void
put_name(PQExpBuffer text, const char *name)
{
	int			len = (int) strlen(name);
	char	   *digits;

	if (pg_encoding_verifymbstr(PG_UTF8, name, len) == len)
	{
		appendPQExpBufferStr(text, "\"Name\": ");
		json_append_text(text, name, 0);
		return;
	}
	digits = hex_encode(name, len);
	appendPQExpBuffer(text, "\"Encoded-Name\": \"%s\"", digits);
	free(digits);
}

static void
put_database(PQExpBuffer text, const ClusterDatabase *database)
{
	appendPQExpBufferStr(text, "{");
	put_name(text, database->name);
	appendPQExpBuffer(text, ", \"Oid\": %u, \"Directory\": \""
					  CLUSTER_DATABASES_NAME "/%u\", \"Bytes\": " UINT64_FORMAT
					  ", \"State\": \"%s\"}", database->oid, database->oid,
					  database->bytes, database->failed ? FAILED : COMPLETE);
}

char *
cluster_map_text(const ClusterMap *map)
{
	PQExpBufferData text;

	initPQExpBuffer(&text);
	appendPQExpBuffer(&text, "{ \"PgPardump-Cluster-Map\": %d,\n\"Program\": \"pg_pardump "
					  PARDUMP_VERSION "\",\n\"Server-Version\": ", MAP_VERSION);
	json_append_text(&text, map->server_version, 0);
	appendPQExpBuffer(&text, ",\n\"Globals\": \"" CLUSTER_GLOBALS_NAME "\",\n\"Globals-SHA256\": \"%s\",\n\"Databases\": [",
					  map->globals_checksum);
	for (int i = 0; i < map->list.n; i++)
	{
		appendPQExpBufferStr(&text, i > 0 ? ",\n" : "\n");
		put_database(&text, &map->list.databases[i]);
	}
	appendPQExpBufferStr(&text, "\n] }\n");
	if (PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	return text.data;
}

/* ----------
 * Reading
 * ----------
 */
static void
fail(JsonReader *reader, const char *error)
{
	if (reader->error == NULL)
		reader->error = error;
}

/* Must be this very text. */
static void
read_fixed(JsonReader *reader, const char *want, const char *error)
{
	char	   *value = json_string(reader);

	if (value == NULL || strcmp(value, want) != 0)
		fail(reader, error);
	free(value);
}

static char *
read_encoded_name(JsonReader *reader)
{
	char	   *digits = json_string(reader);
	size_t		len = digits ? strlen(digits) : 0;
	char	   *name = pg_malloc0(len / 2 + 1);

	if (digits == NULL || hex_decode(digits, (uint8 *) name, len / 2) < 0 ||
		strlen(name) != len / 2)
		fail(reader, "invalid encoded name");
	free(digits);
	return name;
}

/* One that a server can have, and no other is meant by. */
static bool
is_possible_name(const char *name)
{
	return name && name[0] != '\0' && strlen(name) < NAMEDATALEN &&
		strcmp(name, "template0") != 0;
}

static void
read_state(JsonReader *reader, ClusterDatabase *database)
{
	char	   *state = json_string(reader);

	if (state && strcmp(state, FAILED) == 0)
		database->failed = true;
	else if (state == NULL || strcmp(state, COMPLETE) != 0)
		fail(reader, "unknown state of a database");
	free(state);
}

static void
read_oid(JsonReader *reader, ClusterDatabase *database)
{
	uint64		oid = json_number(reader);

	if (oid == 0 || oid > PG_UINT32_MAX)
		fail(reader, "invalid OID of a database");
	database->oid = (Oid) oid;
}

/* A member that is a text; of several the last counts. */
static void
replace(char **member, char *value)
{
	free(*member);
	*member = value;
}

static void
read_database(JsonReader *reader, ClusterDatabase *database)
{
	char	   *directory = NULL;
	char	   *want;
	bool		first = true;
	char	   *key;

	json_enter(reader, '{');
	while (json_more(reader, '}', &first) && (key = json_key(reader)) != NULL)
	{
		if (strcmp(key, "Name") == 0)
			replace(&database->name, json_string(reader));
		else if (strcmp(key, "Encoded-Name") == 0)
			replace(&database->name, read_encoded_name(reader));
		else if (strcmp(key, "Oid") == 0)
			read_oid(reader, database);
		else if (strcmp(key, "Directory") == 0)
			replace(&directory, json_string(reader));
		else if (strcmp(key, "Bytes") == 0)
			database->bytes = json_number(reader);
		else if (strcmp(key, "State") == 0)
			read_state(reader, database);
		else
			json_skip(reader);
		free(key);
	}
	/* so that no name leads out of the directory, or to another archive */
	want = psprintf(CLUSTER_DATABASES_NAME "/%u", database->oid);
	if (directory == NULL || strcmp(directory, want) != 0)
		fail(reader, "the directory of a database is not that of its OID");
	if (!is_possible_name(database->name))
		fail(reader, "impossible name of a database");
	free(want);
	free(directory);
}

static int
compare_oids(const void *a, const void *b)
{
	Oid			left = (*(const ClusterDatabase *const *) a)->oid;
	Oid			right = (*(const ClusterDatabase *const *) b)->oid;

	return left < right ? -1 : left > right;
}

static int
compare_names(const void *a, const void *b)
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

/* Sorted, as a map that was forged may name very many. */
static void
check_repeats(JsonReader *reader, const ClusterList *list)
{
	const ClusterDatabase **sorted =
		pg_malloc((list->n + 1) * sizeof(ClusterDatabase *));

	for (int i = 0; i < list->n; i++)
		sorted[i] = &list->databases[i];
	if (reader->error == NULL &&
		(repeats(sorted, list->n, compare_oids) ||
		 repeats(sorted, list->n, compare_names)))
		fail(reader, "a database is named twice");
	free(sorted);
}

static void
read_databases(JsonReader *reader, ClusterList *list)
{
	bool		first = true;
	int			room = 0;

	json_enter(reader, '[');
	while (json_more(reader, ']', &first))
	{
		if (list->n == room)
		{
			room = room * 2 + 16;
			list->databases = pg_realloc(list->databases,
										 room * sizeof(ClusterDatabase));
		}
		memset(&list->databases[list->n], 0, sizeof(ClusterDatabase));
		read_database(reader, &list->databases[list->n++]);
	}
	check_repeats(reader, list);
}

static void
read_map(JsonReader *reader, ClusterMap *map)
{
	bool		has_version = false;
	bool		has_databases = false;
	bool		first = true;
	char	   *key;

	json_enter(reader, '{');
	while (json_more(reader, '}', &first) && (key = json_key(reader)) != NULL)
	{
		if (strcmp(key, "PgPardump-Cluster-Map") == 0)
		{
			has_version = true;
			if (json_number(reader) != MAP_VERSION)
				fail(reader, "its version is not known");
		}
		else if (strcmp(key, "Server-Version") == 0)
			replace(&map->server_version, json_string(reader));
		else if (strcmp(key, "Globals") == 0)
			read_fixed(reader, CLUSTER_GLOBALS_NAME, "unknown name of the globals");
		else if (strcmp(key, "Globals-SHA256") == 0)
			replace(&map->globals_checksum, json_string(reader));
		else if (strcmp(key, "Databases") == 0 && !has_databases)
		{
			has_databases = true;
			read_databases(reader, &map->list);
		}
		else
			json_skip(reader);
		free(key);
	}
	json_finish(reader);
	if (!has_version || map->globals_checksum == NULL)
		fail(reader, "it does not say that it is one");
	else if (!has_databases)
		fail(reader, "it does not say which databases there are");
}

/*
 * All of a file in this directory, ended by a zero.  Exits with a message if
 * it cannot be read, or is no regular file.
 */
static char *
read_file(const char *directory, const char *name, size_t *len)
{
	char	   *path = psprintf("%s/%s", directory, name);
	const char *problem;
	int			fd = regular_file_open(AT_FDCWD, path, &problem);
	struct stat st;
	char	   *text;
	ssize_t		got;

	if (fd < 0)
		pg_fatal("file \"%s\" %s", path, problem);
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
	free(path);
	return text;
}

void
cluster_map_free(ClusterMap *map)
{
	for (int i = 0; i < map->list.n; i++)
		free(map->list.databases[i].name);
	free(map->list.databases);
	free(map->server_version);
	free(map->globals_checksum);
	free(map);
}

ClusterMap *
cluster_map_parse(const char *text, size_t len, const char **problem)
{
	ClusterMap *map = pg_malloc0(sizeof(ClusterMap));
	JsonReader	reader;

	json_begin(&reader, text, len);
	if (pg_encoding_verifymbstr(PG_UTF8, text, (int) len) != (int) len)
		fail(&reader, "it is not UTF-8");
	else
		read_map(&reader, map);
	*problem = reader.error;
	if (reader.error == NULL)
		return map;
	cluster_map_free(map);
	return NULL;
}

ClusterMap *
cluster_map_read(const char *directory)
{
	size_t		len;
	char	   *text = read_file(directory, CLUSTER_MAP_NAME, &len);
	const char *problem;
	ClusterMap *map = cluster_map_parse(text, len, &problem);

	if (map == NULL)
		pg_fatal("\"%s/%s\" is not the map of a cluster's dump: %s",
				 directory, CLUSTER_MAP_NAME, problem);
	free(text);
	return map;
}

int
cluster_map_leave_out_failed(ClusterMap *map)
{
	ClusterList *list = &map->list;
	int			n_all = list->n;

	list->n = 0;
	for (int i = 0; i < n_all; i++)
	{
		if (list->databases[i].failed)
			pg_log_warning("database \"%s\" could not be dumped: there is no archive of it",
						   list->databases[i].name);
		else
			list->databases[list->n++] = list->databases[i];
	}
	return n_all - list->n;
}

char *
cluster_map_read_globals(const char *directory, const ClusterMap *map)
{
	size_t		len;
	char	   *text = read_file(directory, CLUSTER_GLOBALS_NAME, &len);
	char	   *checksum = cluster_map_checksum(text, len);

	if (strcmp(checksum, map->globals_checksum) != 0 || strlen(text) != len)
	{
		pg_log_error("\"%s/%s\" is not as it was written", directory,
					 CLUSTER_GLOBALS_NAME);
		pg_log_error_hint("If you have changed it, run it by psql, and restore the archives in \"%s/%s\" one by one.",
						  directory, CLUSTER_DATABASES_NAME);
		exit(1);
	}
	free(checksum);
	return text;
}
