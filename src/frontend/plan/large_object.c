/*
 * large_object.c
 *		Finds the large objects of an archive, and puts them in groups.
 */
#include "base/fe_compat.h"

#include "base/buffer.h"
#include "plan/large_object.h"

/* The OIDs in a BLOB METADATA entry: one a line (pg_dump.c:dumpLO). */
static void
read_metadata(const TocEntry **by_id, const TocEntry *blobs,
			  LargeObjectList *list)
{
	const TocEntry *metadata = NULL;
	const char *pos;

	if (blobs->n_deps > 0)
		metadata = by_id[Max(0, blobs->deps[0])];

	/*
	 * From 17 on, pg_dump writes one BLOB METADATA entry for each group of
	 * objects with the same owner and privileges, and the BLOBS entry depends
	 * on it.
	 */
	if (metadata == NULL || !toc_entry_is(metadata, "BLOB METADATA") ||
		metadata->defn == NULL)
		pg_fatal("the output of pg_dump contains no list of large objects \"%s\"",
				 printable(blobs->tag));
	pos = metadata->defn;
	while (*pos)
	{
		char	   *end;
		unsigned long oid = strtoul(pos, &end, 10);

		if (end == pos || *end != '\n')
			pg_fatal("could not read the list of large objects \"%s\"",
					 printable(blobs->tag));
		*array_add(list->oids, list->n_oids) = (Oid) oid;
		pos = end + 1;
	}
}

/* All there are, as pg_dump up to 16 reads them (pg_dump.c:dumpBlobs). */
static void
read_all_oids(PGconn *conn, LargeObjectList *list)
{
	PGresult   *res = session_query(conn,
									"SELECT oid FROM pg_catalog.pg_largeobject_metadata ORDER BY 1");

	list->n_oids = PQntuples(res);
	list->oids = pg_malloc((list->n_oids + 1) * sizeof(Oid));
	for (int i = 0; i < list->n_oids; i++)
		list->oids[i] = result_oid(res, i, 0);
}

static void
make_groups(LargeObjects *objects, const LargeObjectList *list)
{
	for (int first = 0; first < list->n_oids; first += LARGE_OBJECT_GROUP)
	{
		LargeObjectGroup *group;

		group = array_add(objects->groups, objects->n_groups);
		group->oids = list->oids + first;
		group->first_object = objects->n_objects;
		group->n_oids = Min(LARGE_OBJECT_GROUP, list->n_oids - first);
		objects->n_objects += group->n_oids;
	}
}

LargeObjects *
large_objects_of_lists(LargeObjectList *lists, int n_lists)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));

	objects->lists = lists;
	objects->n_lists = n_lists;
	for (int i = 0; i < n_lists; i++)
		make_groups(objects, &lists[i]);
	return objects;
}

int
large_objects_group_of(const LargeObjects *objects, int number)
{
	int			low = 0;
	int			high = objects->n_groups - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (objects->groups[middle].first_object <= number)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

LargeObjects *
large_objects_read(PGconn *conn, const Toc *toc)
{
	LargeObjects *objects = pg_malloc0(sizeof(LargeObjects));
	const TocEntry **by_id = toc_entries_by_id(toc);

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		LargeObjectList *list;

		if (!entry->had_dumper || !toc_entry_is(entry, "BLOBS"))
			continue;
		list = array_add(objects->lists, objects->n_lists);
		memset(list, 0, sizeof(LargeObjectList));
		list->filename = entry->filename;
		if (toc->minor >= 16)
			read_metadata(by_id, entry, list);
		else
			read_all_oids(conn, list);

		/*
		 * Groups are made while their list is the last one: its array may
		 * move when the next list is added, but the OIDs stay where they are.
		 */
		make_groups(objects, list);
	}
	if (objects->n_lists > 0)
		objects->est_bytes =
			strtoull(session_value(conn, "SELECT pg_catalog.pg_relation_size('pg_catalog.pg_largeobject')"),
					 NULL, 10);
	return objects;
}

char *
large_object_group_describe(const LargeObjectGroup *group)
{
	if (group->n_oids == 1)
		return psprintf("1 large object, %u", group->oids[0]);
	return psprintf("%d large objects, %u to %u", group->n_oids,
					group->oids[0], group->oids[group->n_oids - 1]);
}
