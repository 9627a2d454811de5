/*
 * fuzz_map.c
 *		The map of a dump of all databases, on any bytes: a map that is read
 *		has possible names, and is the same after it was written and read.
 */
#include "base/fe_compat.h"

#include "cluster/cluster_map.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
free_map(ClusterMap *map)
{
	for (int i = 0; i < map->list.n; i++)
		free(map->list.databases[i].name);
	free(map->list.databases);
	free(map->server_version);
	free(map->globals_checksum);
	if (map->snapshot)
		json_free_members(manifest_snapshot_fields, map->snapshot);
	free(map->snapshot);
	free(map);
}

/* Paths are made from OIDs, and statements from names. */
static void
check_databases(const ClusterList *list)
{
	for (int i = 0; i < list->n; i++)
	{
		const ClusterDatabase *database = &list->databases[i];

		if (database->oid == InvalidOid || database->name == NULL ||
			database->name[0] == '\0' || strlen(database->name) >= NAMEDATALEN)
			abort();
	}
}

static void
check_round_trip(const ClusterMap *map)
{
	const char *problem;
	char	   *text = cluster_map_text(map);
	ClusterMap *again = cluster_map_parse(text, strlen(text), &problem);
	char	   *text_again;

	if (again == NULL)
		abort();
	text_again = cluster_map_text(again);
	if (strcmp(text, text_again) != 0)
		abort();
	free_map(again);
	free(text_again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	   *text = pg_malloc(size + 1);
	const char *problem = NULL;
	ClusterMap *map;

	memcpy(text, data, size);
	text[size] = '\0';
	map = cluster_map_parse(text, size, &problem);
	if ((map == NULL) == (problem == NULL))
		abort();
	if (map)
	{
		check_databases(&map->list);
		check_round_trip(map);
		free_map(map);
	}
	free(text);
	return 0;
}
