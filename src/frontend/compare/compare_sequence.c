/*
 * compare_sequence.c
 *		Compares the positions of sequences with those that pg_dump has read.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/printable.h"
#include "compare/compare_sequence.h"
#include "session/session.h"

/*
 * What pg_dump has read, in the statement that sets it (dumpSequenceData):
 * ... pg_catalog.setval('name', position, is_called);
 */
static bool
read_position(const char *statement, int64 *position, bool *is_called)
{
	const char *last = statement ? strrchr(statement, ',') : NULL;
	const char *before = last;

	while (before && before > statement && *--before != ',')
		;
	if (last == NULL || *before != ',')
		return false;
	*position = strtoll(before + 1, NULL, 10);
	*is_called = strncmp(last, ", true", 6) == 0;
	return true;
}

int
compare_sequences(PGconn *target_conn, const Toc *toc)
{
	int			n_different = 0;

	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *name;
		int64		position;
		bool		is_called;
		char	   *sql;
		PGresult   *res;

		if (!toc_entry_is(entry, "SEQUENCE SET"))
			continue;
		name = fmtQualifiedId(entry->namespace, entry->tag);
		if (!read_position(entry->defn, &position, &is_called))
			pg_fatal("pg_dump describes no position of sequence %s",
					 printable(name));
		sql = psprintf("SELECT last_value, is_called FROM %s", name);
		res = session_query(target_conn, sql);
		if (strtoll(PQgetvalue(res, 0, 0), NULL, 10) != position ||
			(PQgetvalue(res, 0, 1)[0] == 't') != is_called)
		{
			n_different++;
			pg_log_error("sequence %s is at another position in the target",
						 printable(name));
		}
		PQclear(res);
		free(sql);
	}
	return n_different;
}
