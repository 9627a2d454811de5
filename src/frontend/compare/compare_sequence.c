/*
 * compare_sequence.c
 *		Compares the positions of sequences with those that pg_dump has read.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/printable.h"
#include "compare/compare_sequence.h"
#include "session/session.h"
#include "session/session_loss.h"

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

/* ERRCODE_UNDEFINED_TABLE */
static bool
is_missing(const PGresult *res)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	return state && strcmp(state, "42P01") == 0;
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
		res = session_exec(target_conn, sql);
		if (is_missing(res))
		{
			n_different++;
			pg_log_error("sequence %s does not exist on the target",
						 printable(name));
		}
		else if (PQresultStatus(res) != PGRES_TUPLES_OK)
			session_failed(target_conn, res, "query failed", sql);
		else if (strtoll(PQgetvalue(res, 0, 0), NULL, 10) != position ||
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

/* ----------
 * Two tables of contents
 * ----------
 */

/* Of an archive that is made to deceive it may be missing. */
static const char *
schema_of(const TocEntry *entry)
{
	return entry->namespace ? entry->namespace : "";
}

static int
compare_entries(const void *a, const void *b)
{
	const TocEntry *e1 = *(const TocEntry *const *) a;
	const TocEntry *e2 = *(const TocEntry *const *) b;
	int			by_schema = strcmp(schema_of(e1), schema_of(e2));

	return by_schema != 0 ? by_schema : strcmp(e1->tag, e2->tag);
}

/* Those of a table of contents, by their names; owned. */
static const TocEntry **
sort_sequences(const Toc *toc, int *n)
{
	const TocEntry **result = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry *));

	*n = 0;
	for (int i = 0; i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "SEQUENCE SET"))
			result[(*n)++] = &toc->entries[i];
	qsort(result, *n, sizeof(TocEntry *), compare_entries);
	return result;
}

static bool
same_position(const TocEntry *const entries[2])
{
	int64		position[2];
	bool		is_called[2];

	for (int i = 0; i < 2; i++)
		if (!read_position(entries[i]->defn, &position[i], &is_called[i]))
			pg_fatal("pg_dump describes no position of sequence %s",
					 printable(entries[i]->tag));
	return position[0] == position[1] && is_called[0] == is_called[1];
}

static void
tell_sequence(const TocEntry *entry, const char *what, const char *side,
			  void (*tell) (const char *what))
{
	char	   *text = psprintf("sequence %s %s%s",
								printable(fmtQualifiedId(entry->namespace, entry->tag)),
								what, side);

	tell(text);
	free(text);
}

int
compare_sequences_of_tocs(const Toc *const tocs[2], const char *const names[2],
						  const bool *chosen, int *n, void (*tell) (const char *what))
{
	int			n_of[2];
	const TocEntry **of[2] = {sort_sequences(tocs[0], &n_of[0]), sort_sequences(tocs[1], &n_of[1])};
	int			n_different = 0;
	int			at[2] = {0, 0};

	for (*n = 0; at[0] < n_of[0] || at[1] < n_of[1]; ++*n)
	{
		const TocEntry *pair[2] = {
			at[0] < n_of[0] ? of[0][at[0]] : NULL,
			at[1] < n_of[1] ? of[1][at[1]] : NULL
		};
		int			order = at[0] == n_of[0] ? 1 : at[1] == n_of[1] ? -1 :
			compare_entries(&pair[0], &pair[1]);
		int			alone = order < 0 ? 0 : 1;

		at[0] += order <= 0;
		at[1] += order >= 0;
		if (order > 0 && chosen && !chosen[pair[1] - tocs[1]->entries])
		{
			--*n;
			continue;
		}
		if (order == 0 && same_position(pair))
			continue;
		n_different++;
		if (order == 0)
			tell_sequence(pair[0], "is at another position", "", tell);
		else
			tell_sequence(pair[alone], "is only in ", names[alone], tell);
	}
	free(of[0]);
	free(of[1]);
	return n_different;
}
