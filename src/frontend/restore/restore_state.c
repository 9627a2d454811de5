/*
 * restore_state.c
 *		One restore, and how far it is.
 */
#include "base/fe_compat.h"

#include "load/restore_journal_lock.h"
#include "restore/restore_state.h"

bool
restore_state_is_done(Restore *restore, const char *stage)
{
	const RestoreJournalLine *line = restore_journal_find(restore->log, stage);

	if (line == NULL)
		return false;
	(void) __sync_fetch_and_add(restore->n_errors, line->errors);
	restore->n_noted += line->errors;
	return true;
}

void
restore_state_note_done(Restore *restore, const char *stage)
{
	int			n_errors = *restore->n_errors;

	restore_journal_done(restore->log, restore->target.conn, stage,
						 n_errors - restore->n_noted);
	restore->n_noted = n_errors;
}

static void
renew(void *arg)
{
	Restore    *restore = arg;

	(void) restore_journal_session_keep(restore->log, &restore->target);
	target_renew(&restore->target);
}

void
restore_state_renew(Restore *restore)
{
	restore_journal_session_insist(renew, restore, &restore->options);
}
