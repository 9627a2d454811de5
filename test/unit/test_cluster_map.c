/*
 * test_cluster_map.c
 *		The map of a cluster's dump is read as it was written, with any names,
 *		and nothing else is read.
 */
#include "base/fe_compat.h"

#include "cluster/cluster_map.h"
#include "unit_test.h"

static ClusterDatabase databases[] = {
	{.name = "shop",.oid = 16384,.bytes = 123456789012345},
	{.name = "it's a \"db\" \\ with\na line, \t\x01\x7f",.oid = 5},
	{.name = "\xc3\xa4\xe2\x82\xac \xf0\x9f\x98\x80",.oid = 4294967295,.failed = true},
	{.name = "latin1 \xe4 \"",.oid = 1},
	{.name = "../..",.oid = 2}
};

static const ClusterMap map = {
	.list = {.databases = databases,.n = lengthof(databases)},
	.server_version = "15.20 (\"quoted\")",
	.globals_checksum = "00ff"
};

static void
free_map(ClusterMap *map)
{
	for (int i = 0; i < map->list.n; i++)
		free(map->list.databases[i].name);
	free(map->list.databases);
	free(map->server_version);
	free(map->globals_checksum);
	free(map);
}

static void
test_round_trip(const char *text)
{
	const char *problem;
	ClusterMap *found = cluster_map_parse(text, strlen(text), &problem);

	ok(found != NULL, problem ? problem : "it is read");
	if (found == NULL)
		return;
	is_number(found->list.n, lengthof(databases), "all databases");
	for (int i = 0; i < found->list.n && i < (int) lengthof(databases); i++)
	{
		const ClusterDatabase *database = &found->list.databases[i];

		is_text(database->name, databases[i].name, "a name");
		is_number(database->oid, databases[i].oid, "its OID");
		is_number(database->bytes, databases[i].bytes, "its bytes");
		ok(database->failed == databases[i].failed, "its state");
	}
	is_text(found->server_version, map.server_version, "the server's version");
	is_text(found->globals_checksum, map.globals_checksum, "the checksum");
	free_map(found);
}

/* Cut anywhere but in the white space at its end, it is none. */
static void
test_truncated(char *text)
{
	size_t		len = strlen(text) - 1;
	const char *problem;
	size_t		n_read = 0;

	for (size_t i = 0; i < len; i++)
	{
		char		kept = text[i];
		ClusterMap *found;

		text[i] = '\0';
		found = cluster_map_parse(text, i, &problem);
		text[i] = kept;
		if (found)
		{
			free_map(found);
			n_read++;
		}
	}
	is_number(n_read, 0, "no part of it is taken for the whole");
}

/* After a change of any one byte, the map is read or refused. */
static void
test_damaged(char *text)
{
	size_t		len = strlen(text);
	const char *problem;
	bool		outside = false;

	for (size_t i = 0; i < len; i++)
	{
		char		kept = text[i];

		for (int c = 1; c < 256; c++)
		{
			ClusterMap *found;

			text[i] = (char) c;
			found = cluster_map_parse(text, len, &problem);
			for (int j = 0; found && j < found->list.n; j++)
			{
				const ClusterDatabase *database = &found->list.databases[j];

				if (database->name == NULL || database->name[0] == '\0' ||
					strlen(database->name) >= NAMEDATALEN || database->oid == 0)
					outside = true;
			}
			if (found)
				free_map(found);
		}
		text[i] = kept;
	}
	ok(!outside, "no name is read that cannot be");
}

/* More than are compared each with each. */
#define MANY 500000

static void
test_many(void)
{
	ClusterDatabase *many = pg_malloc0(MANY * sizeof(ClusterDatabase));
	ClusterMap	all = {.list = {.databases = many,.n = MANY},
	.globals_checksum = "00ff"};
	const char *problem;

	for (int twice = 0; twice < 3; twice++)
	{
		char	   *text;
		ClusterMap *found;

		for (int i = 0; i < MANY; i++)
		{
			many[i].name = psprintf("%d", twice == 1 && i == MANY - 1 ? 0 : i);
			many[i].oid = twice == 2 && i == MANY - 1 ? 1 : i + 1;
		}
		all.server_version = "15";
		text = cluster_map_text(&all);
		found = cluster_map_parse(text, strlen(text), &problem);
		ok((found != NULL) == (twice == 0), "of very many, none is named twice");
		if (found)
			free_map(found);
		else
			is_text(problem, "a database is named twice", "which is told");
		free(text);
		for (int i = 0; i < MANY; i++)
			free(many[i].name);
	}
	free(many);
}

static void
test_without_databases(void)
{
	static const char text[] = "{ \"PgPardump-Cluster-Map\": 1, \"Globals-SHA256\": \"00\" }";
	const char *problem;

	ok(cluster_map_parse(text, strlen(text), &problem) == NULL,
	   "a map of no list of databases is none");
}

void
test_cluster_map(void)
{
	char	   *text = cluster_map_text(&map);

	test_many();
	test_without_databases();
	test_round_trip(text);
	test_truncated(text);
	test_damaged(text);
	free(text);
}
