/*
 * toc.c
 *		Finds its way in a table of contents.
 */
#include "base/fe_compat.h"

#include "toc/toc.h"

void
toc_free(Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		TocEntry   *entry = &toc->entries[i];

		free(entry->tag);
		free(entry->desc);
		free(entry->defn);
		free(entry->drop_stmt);
		free(entry->copy_stmt);
		free(entry->namespace);
		free(entry->tablespace);
		free(entry->tableam);
		free(entry->owner);
		free(entry->deps);
		free(entry->filename);
	}
	free(toc->entries);
	free(toc->dbname);
	free(toc->server_version);
	free(toc->pg_dump_version);
	free(toc);
}

bool
toc_has_mark(const Toc *toc)
{
	return toc->pg_dump_version && strstr(toc->pg_dump_version, TOC_MARK);
}

char *
toc_encoding(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *begin;
		const char *end;

		if (!toc_entry_is(entry, "ENCODING") || entry->defn == NULL)
			continue;
		/* SET client_encoding = 'name'; */
		begin = strchr(entry->defn, '\'');
		end = begin ? strchr(begin + 1, '\'') : NULL;
		if (end)
			return pnstrdup(begin + 1, end - begin - 1);
	}
	pg_fatal("the table of contents does not say the encoding of the data");
}

bool
toc_entry_is_one_of(const TocEntry *entry, const char *const *descs)
{
	for (; *descs; descs++)
		if (toc_entry_is(entry, *descs))
			return true;
	return false;
}

/* pg_backup_archiver.c:_tocEntryRestorePass */
bool
toc_entry_is_privilege(const TocEntry *entry)
{
	static const char *const descs[] = {"ACL", "ACL LANGUAGE", "DEFAULT ACL", NULL};

	return toc_entry_is_one_of(entry, descs);
}

bool
toc_entry_is_group_privilege(const TocEntry *entry)
{
	return toc_entry_is(entry, "ACL") &&
		strncmp(entry->tag, "LARGE OBJECTS ", 14) == 0;
}

bool
toc_entry_makes_large_objects(const TocEntry *entry)
{
	static const char *const descs[] = {"BLOB", "BLOB METADATA", NULL};

	return toc_entry_is_one_of(entry, descs);
}

const TocEntry **
toc_entries_by_id(const Toc *toc)
{
	const TocEntry **result = pg_malloc0((toc->max_dump_id + 1) *
										 sizeof(TocEntry *));

	for (int i = 0; i < toc->n_entries; i++)
		result[toc->entries[i].dump_id] = &toc->entries[i];
	return result;
}

int
toc_table_dump_id(const TocEntry *data_entry)
{
	if (data_entry->n_deps < 1 || data_entry->deps[0] <= 0)
		pg_fatal("the data of table \"%s\" has no dependency on its table",
				 data_entry->tag);
	return data_entry->deps[0];
}
