/*
 * clean.c
 *		Drops what --clean drops.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/hex.h"
#include "definitions/clean.h"
#include "session/session.h"
#include "target/target.h"

/*
 * Have pg_restore drop the objects of these entries.  It drops what it then
 * creates: their definitions are empty, so that all of them are dropped
 * before anything is made.  False if there were errors.
 */
static bool
run_pg_restore(RestoreStages *stages, const char *name, const TocEntry *entries,
			   int n, bool in_transaction)
{
	const char *args[4] = {"--clean"};
	int			n_args = 1;

	if (stages->setup.options->if_exists)
		args[n_args++] = "--if-exists";
	if (in_transaction)
		args[n_args++] = "--single-transaction";
	stock_pg_restore_start(&stages->run, &stages->setup, name, entries, n, args);
	return stock_pg_restore_wait(&stages->run);
}

/*
 * A statement that ends no transaction if it fails.  A view that cannot be
 * replaced by one without dependencies is dropped.  Owned.
 */
static char *
tried(const TocEntry *entry)
{
	static const char rule[] = " _RETURN";
	int			length = strlen(entry->tag) - strlen(rule);
	char	   *quote = hex_random(8);
	char	   *otherwise = pg_strdup("NULL");
	char	   *result;

	if (toc_entry_is(entry, "RULE") && length > 0 &&
		strcmp(entry->tag + length, rule) == 0)
	{
		char	   *view = pnstrdup(entry->tag, length);

		free(otherwise);
		otherwise = psprintf("BEGIN DROP VIEW IF EXISTS %s; EXCEPTION WHEN OTHERS THEN NULL; END",
							 fmtQualifiedId(entry->namespace, view));
		free(view);
	}
	result = psprintf("DO LANGUAGE plpgsql $q%s$BEGIN %s EXCEPTION WHEN OTHERS THEN %s; END$q%s$;",
					  quote, entry->drop_stmt, otherwise, quote);
	free(otherwise);
	free(quote);
	return result;
}

/*
 * Those of one kind: subscriptions, or all else, with the settings that every
 * run needs; returns how many there are.
 */
static int
choose_entries(const RestoreStages *stages, bool subscriptions, bool all,
			   TocEntry *entries)
{
	static char any_statement[] = "DEFAULT";
	const RestoreSchedule *schedule = stages->schedule;
	PGconn	   *conn = stages->target->conn;
	int			n = 0;
	int			n_own = 0;

	for (int i = 0; i < schedule->toc->n_entries; i++)
	{
		TocEntry   *entry = &entries[n];

		*entry = schedule->toc->entries[i];
		if (schedule->phases[i] == RESTORE_ALWAYS)
		{
			n++;
			continue;
		}
		if (!clean_objects_has(stages, i) ||
			(!all && toc_entry_is(entry, "SUBSCRIPTION") != subscriptions))
			continue;
		/* what has such a name is not on the target */
		if (!stages->as_pg_restore &&
			!text_is_convertible(conn, entry->drop_stmt))
			continue;
		if (!stages->as_pg_restore && clean_objects_may_fail(entry))
		{
			entry->drop_stmt = tried(entry);
			/* the statements of which pg_restore leaves as they are */
			entry->desc = any_statement;
		}
		/* a definition there must be, or nothing is dropped */
		entry->defn = "--";
		entry->owner = NULL;
		entry->tablespace = NULL;
		entry->tableam = NULL;
		n++;
		n_own++;
	}
	return n_own > 0 ? n : 0;
}

/* What pg_restore has done is on the disk, unless there was a crash. */
static void
make_durable(Target *target)
{
	target_keep(target);
	target_history_make_durable(target->conn);
	if (target_history_was_restarted(target->conn, target->incarnation))
		pg_fatal("the target was restarted, and may have lost what pg_restore had just made");
}

/*
 * DROP SUBSCRIPTION cannot be in a transaction if it has a slot to drop.  If
 * pg_restore was lost in the COMMIT, the objects are not there any more.
 */
static void
drop_together(RestoreStages *stages, TocEntry *entries, int n_before)
{
	int			n_subscriptions = choose_entries(stages, true, false, entries);
	int			n;
	int			n_left;

	if (n_subscriptions > 0 &&
		!run_pg_restore(stages, "drop-subscriptions", entries, n_subscriptions, false))
		pg_fatal("--clean could not drop the subscriptions, and has dropped nothing else");
	n = choose_entries(stages, false, false, entries);
	if (n == 0 || run_pg_restore(stages, "drop", entries, n, true))
		return;
	target_keep(stages->target);
	(void) clean_objects_fit(stages, &n_left);
	if (n_before > 0 && n_left == 0)
		return;
	pg_log_error("--clean could not drop the objects that are to be copied");
	pg_log_error_detail("The transaction that drops them was rolled back.%s",
						n_subscriptions > 0 ? " Subscriptions were dropped before it." : "");
	exit(1);
}

void
clean_drop(RestoreStages *stages)
{
	const Options *options = stages->setup.options;
	TocEntry   *entries;
	int			n_before;

	if (!options->clean || options->create)
		return;
	entries = pg_malloc((stages->schedule->toc->n_entries + 1) * sizeof(TocEntry));
	if (!stages->as_pg_restore && clean_objects_fit(stages, &n_before))
		drop_together(stages, entries, n_before);
	else
	{
		int			n = choose_entries(stages, false, true, entries);

		/* errors are told by now; a copy makes what it can */
		if (n > 0 && !run_pg_restore(stages, "drop", entries, n, false) &&
			stages->as_pg_restore && options->exit_on_error)
			exit(1);
	}
	free(entries);
	make_durable(stages->target);
}
