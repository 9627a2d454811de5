/*
 * large_object.c
 *		Reads large objects and writes their files.
 *
 * Objects are fetched by lo_get(), a batch of first pieces in one query, as
 * most objects are small and a round trip each would be most of the work.
 * lo_get() checks privileges as lo_open() does.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "archive/archive_file.h"
#include "archive/archive_name.h"
#include "base/printable.h"
#include "plan/large_object.h"
#include "session/traffic.h"

#define GROUP_OBJECTS 1000

/* ----------
 * Which objects
 * ----------
 */
/* The OIDs in a BLOB METADATA entry: one a line (pg_dump.c:dumpLO). */
static void
read_metadata(const TocEntry **by_id, const TocEntry *blobs,
			  LargeObjectList *list)
{
	const TocEntry *metadata = NULL;
	const char *pos;
	int			space = 0;

	if (blobs->n_deps > 0)
		metadata = by_id[Max(0, blobs->deps[0])];
	if (metadata == NULL || !toc_entry_is(metadata, "BLOB METADATA") ||
		metadata->defn == NULL)
		pg_fatal("pg_dump does not list the large objects \"%s\"",
				 printable(blobs->tag));
	pos = metadata->defn;
	while (*pos)
	{
		char	   *end;
		unsigned long oid = strtoul(pos, &end, 10);

		if (end == pos || *end != '\n')
			pg_fatal("could not read the list of large objects \"%s\"",
					 printable(blobs->tag));
		if (list->n_oids == space)
		{
			space = Max(64, space * 2);
			list->oids = pg_realloc(list->oids, space * sizeof(Oid));
		}
		list->oids[list->n_oids++] = (Oid) oid;
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
		list->oids[i] = (Oid) strtoul(PQgetvalue(res, i, 0), NULL, 10);
	PQclear(res);
}

static void
make_groups(LargeObjects *objects, const LargeObjectList *list)
{
	int			more = (list->n_oids + GROUP_OBJECTS - 1) / GROUP_OBJECTS;

	objects->groups = pg_realloc(objects->groups,
								 (objects->n_groups + more + 1) *
								 sizeof(LargeObjectGroup));
	for (int first = 0; first < list->n_oids; first += GROUP_OBJECTS)
	{
		LargeObjectGroup *group = &objects->groups[objects->n_groups++];

		group->oids = list->oids + first;
		group->first_object = objects->n_objects;
		group->n_oids = Min(GROUP_OBJECTS, list->n_oids - first);
		objects->n_objects += group->n_oids;
	}
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
		objects->lists = pg_realloc(objects->lists,
									(objects->n_lists + 1) *
									sizeof(LargeObjectList));
		list = &objects->lists[objects->n_lists++];
		memset(list, 0, sizeof(LargeObjectList));
		list->filename = entry->filename;
		if (toc->minor >= 16)
			read_metadata(by_id, entry, list);
		else
			read_all_oids(conn, list);
		make_groups(objects, list);
	}
	free(by_id);
	if (objects->n_lists > 0)
	{
		PGresult   *res = session_query(conn,
										"SELECT pg_catalog.pg_relation_size('pg_catalog.pg_largeobject')");

		objects->est_bytes = strtoull(PQgetvalue(res, 0, 0), NULL, 10);
		PQclear(res);
	}
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

/* ----------
 * Their contents
 * ----------
 */
void
large_object_read_rest(PGconn *conn, Oid oid, Sink *sink)
{
	int			len = LARGE_OBJECT_PIECE;

	for (uint64 offset = len; len == LARGE_OBJECT_PIECE; offset += len)
	{
		char	   *sql = psprintf("SELECT pg_catalog.lo_get(%u, " UINT64_FORMAT ", %d)",
								   oid, offset, LARGE_OBJECT_PIECE);
		PGresult   *res = session_query_params(conn, sql, 0, NULL, 1);

		len = PQgetlength(res, 0, 0);
		traffic_take(len);
		sink_write(sink, PQgetvalue(res, 0, 0), len);
		PQclear(res);
		free(sql);
	}
}

PGresult *
large_objects_read_first(PGconn *conn, const Oid *oids, int n_oids)
{
	PQExpBufferData sql;
	PGresult   *res;

	initPQExpBuffer(&sql);
	appendPQExpBuffer(&sql, "SELECT pg_catalog.lo_get(t.oid, 0, %d)"
					  " FROM pg_catalog.unnest('{", LARGE_OBJECT_PIECE);
	for (int i = 0; i < n_oids; i++)
		appendPQExpBuffer(&sql, "%s%u", i > 0 ? "," : "", oids[i]);
	appendPQExpBufferStr(&sql, "}'::pg_catalog.oid[])"
						 " WITH ORDINALITY t (oid, no) ORDER BY t.no");
	res = session_query_params(conn, sql.data, 0, NULL, 1);
	if (PQntuples(res) != n_oids)
		pg_fatal("the server sent %d large objects where %d were expected",
				 PQntuples(res), n_oids);
	termPQExpBuffer(&sql);
	return res;
}

void
large_object_group_dump(PGconn *conn, const LargeObjectGroup *group,
						const ArchiveDir *archive, const CompressSpec *compress,
						FileResults *results)
{
	FileResult *result = &results->objects[group->first_object];

	for (int first = 0; first < group->n_oids; first += LARGE_OBJECT_BATCH)
	{
		const Oid  *oids = group->oids + first;
		int			n_oids = Min(LARGE_OBJECT_BATCH, group->n_oids - first);
		PGresult   *res = large_objects_read_first(conn, oids, n_oids);

		for (int i = 0; i < n_oids; i++)
		{
			char	   *name = archive_name_large_object(oids[i],
														 compress->method);
			ArchiveFile *out =
				archive_file_begin(results, result++,
								   archive_dir_new_file(archive, name), compress);
			Sink	   *sink = archive_file_sink(out);

			traffic_take(PQgetlength(res, i, 0));
			sink_write(sink, PQgetvalue(res, i, 0), PQgetlength(res, i, 0));
			if (PQgetlength(res, i, 0) == LARGE_OBJECT_PIECE)
				large_object_read_rest(conn, oids[i], sink);
			archive_file_complete(out, 0);
			free(name);
		}
		PQclear(res);
	}
}

void
large_object_lists_write(const LargeObjects *objects, const ArchiveDir *archive,
						 FileResults *results)
{
	for (int i = 0; i < objects->n_lists; i++)
	{
		const LargeObjectList *list = &objects->lists[i];
		ArchiveFile *out =
			archive_file_begin(results, &results->lists[i],
							   archive_dir_new_file(archive, list->filename), NULL);
		PQExpBufferData lines;

		initPQExpBuffer(&lines);
		for (int j = 0; j < list->n_oids; j++)
		{
			char	   *name = archive_name_large_object(list->oids[j],
														 COMPRESS_NONE);

			appendPQExpBuffer(&lines, "%u %s\n", list->oids[j], name);
			free(name);
		}
		if (PQExpBufferDataBroken(lines))
			pg_fatal("out of memory");
		sink_write(archive_file_sink(out), lines.data, lines.len);
		archive_file_complete(out, 0);
		termPQExpBuffer(&lines);
	}
}
