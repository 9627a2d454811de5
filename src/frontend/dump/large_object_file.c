/*
 * large_object_file.c
 *		Writes large objects, and the lists of them, as files of an archive.
 */
#include "base/fe_compat.h"

#include "pqexpbuffer.h"

#include "archive/archive_dir.h"
#include "archive/archive_name.h"
#include "dump/large_object_file.h"
#include "source/read_rows.h"

void
large_object_files_write(PGconn *conn, const LargeObjectGroup *group,
						 const ArchiveDir *archive, const CompressSpec *compress,
						 FileResults *results)
{
	FileResult *result = &results->objects[group->first_object];

	for (int first = 0; first < group->n_oids; first += LARGE_OBJECT_BATCH)
	{
		const Oid  *oids = group->oids + first;
		int			n_oids = Min(LARGE_OBJECT_BATCH, group->n_oids - first);
		PGresult   *batch = read_large_objects(conn, oids, n_oids);

		for (int i = 0; i < n_oids; i++)
		{
			char	   *name = archive_name_large_object(oids[i],
														 compress->method);
			ArchiveFile *out =
				archive_file_begin(results, result++,
								   archive_dir_new_file(archive, name), compress);

			read_large_object(conn, batch, i, oids[i], archive_file_sink(out));
			archive_file_complete(out, 0);
			free(name);
		}
		PQclear(batch);
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
			char	   *line = archive_name_list_line(list->oids[j]);

			appendPQExpBufferStr(&lines, line);
			free(line);
		}
		if (PQExpBufferDataBroken(lines))
			pg_fatal("out of memory");
		sink_write(archive_file_sink(out), lines.data, lines.len);
		archive_file_complete(out, 0);
		termPQExpBuffer(&lines);
	}
}
