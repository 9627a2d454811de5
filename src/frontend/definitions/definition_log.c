/*
 * definition_log.c
 *		The lines of definitions in the log of a restore.
 */
#include "base/fe_compat.h"

#include "definitions/definition_log.h"

char *
definition_log_name_begun(const TocEntry *entry)
{
	return psprintf("entry %d without transaction", entry->dump_id);
}

/* Of an entry, or a part of one; owned. */
static char *
line_name(const ScriptEntry *entry)
{
	if (entry->part == 0)
		return job_log_entry(entry->entry);
	return psprintf("entry %d part %d", entry->entry->dump_id, entry->part);
}

/*
 * A sequence may be unlogged, and a crash take its position.  It can be set
 * as often as one likes.
 */
static bool
has_line(const JobLog *log, const TocEntry *entry)
{
	return log != NULL && log->is_kept && !toc_entry_is(entry, "SEQUENCE SET");
}

bool
definition_log_claim(const JobLog *log, DefinitionSession *session,
					 const ScriptEntry *entry, volatile int *n_errors)
{
	char	   *name;
	bool		claimed;

	if (!has_line(log, entry->entry))
		return true;
	definition_session_reset_user(session);
	name = line_name(entry);
	claimed = job_log_claim(log, session->conn, name);
	if (!claimed)
		*n_errors += job_log_errors(log, session->conn, name);
	free(name);
	return claimed;
}

bool
definition_log_claim_all(const JobLog *log, DefinitionSession *session,
						 const ScriptEntry *entries, int n)
{
	char	  **names;
	bool		claimed;

	if (log == NULL || !log->is_kept)
		return true;
	definition_session_reset_user(session);
	names = pg_malloc(n * sizeof(char *));
	for (int i = 0; i < n; i++)
		names[i] = line_name(&entries[i]);
	claimed = job_log_claim_all(log, session->conn, names, n);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return claimed;
}

void
definition_log_errors(const JobLog *log, DefinitionSession *session,
					  const ScriptEntry *entry, int n_errors)
{
	char	   *name;

	if (!has_line(log, entry->entry) || n_errors == 0)
		return;
	definition_session_reset_user(session);
	name = line_name(entry);
	job_log_set_errors(log, session->conn, name, n_errors);
	free(name);
}
