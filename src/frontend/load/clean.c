/*
 * clean.c
 *		Drops objects for --clean.
 *
 * Stock pg_restore sends the DROP statements, from the same archive entries
 * that it would create, so it drops what pg_restore --clean would drop.  Only
 * the order differs: everything is dropped before anything is created.
 *
 * A copy drops all objects in one transaction, so that a target is not left
 * half empty.  clean_objects.c has found out before whether this can succeed.
 */
#include "base/fe_compat.h"

#include "fe_utils/string_utils.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "load/clean.h"

/* How pg_dump "drops" a view that is part of a circular dependency. */
#define CREATE_VIEW "CREATE OR REPLACE VIEW "

/* ----------
 * Entries with a DROP statement that is needed
 * ----------
 */

/*
 * An index, or a constraint with an index, normally goes with its table.  But
 * an expression index may use a function that depends on the table's type,
 * and so is dropped before the table; then the index must be dropped before
 * both.  No catalog says that a constraint's index has an operator class.
 */
static bool
needs_more_than_tables(const RestoreStages *stages, const TocEntry *entry)
{
	static const char *const tables[] = {
		"TABLE", "MATERIALIZED VIEW", "INDEX", "CONSTRAINT", "TABLE ATTACH", NULL
	};

	if (toc_entry_is(entry, "CONSTRAINT") &&
		stages->schedule->has_operator_classes)
		return true;
	for (int i = 0; i < entry->n_deps; i++)
	{
		int			id = entry->deps[i];
		const TocEntry *needed = id > 0 && id <= stages->setup.toc->max_dump_id ?
			stages->setup.by_id[id] : NULL;

		if (needed && !toc_entry_is_one_of(needed, tables))
			return true;
	}
	return false;
}

static bool
goes_with_table(const TocEntry *entry)
{
	static const char *const kinds[] = {
		"INDEX", "INDEX ATTACH", "CONSTRAINT", NULL
	};

	return toc_entry_is_one_of(entry, kinds);
}

bool
clean_may_fail(const TocEntry *entry)
{
	return goes_with_table(entry) ||
		strncmp(entry->drop_stmt, CREATE_VIEW, strlen(CREATE_VIEW)) == 0;
}

/*
 * Indexes, and constraints with an index, are dropped with their tables, and
 * indexes of partitions only in this way.  pg_restore tries to drop them
 * anyway.
 */
bool
clean_has_drop(const RestoreStages *stages, int number)
{
	const TocEntry *entry = &stages->schedule->toc->entries[number];
	RestorePhase phase = stages->schedule->phases[number];

	if (entry->drop_stmt == NULL)
		return false;
	if (phase != RESTORE_PRE_DATA && phase != RESTORE_POST_DATA &&
		phase != RESTORE_INDEXES && phase != RESTORE_EVENT_TRIGGERS)
		return false;
	return stages->as_pg_restore || !goes_with_table(entry) ||
		needs_more_than_tables(stages, entry);
}

/*
 * The entry of a group has one OID per line (pg_dump.c:dumpLO); the entry of
 * a single object has the OID as its tag.
 */
void
clean_append_large_objects(PQExpBuffer oids, const TocEntry *entry)
{
	const char *p = toc_entry_is(entry, "BLOB METADATA") ? entry->defn : entry->tag;

	while (p && *p)
	{
		int			len = strspn(p, "0123456789");

		if (len > 0)
			appendPQExpBuffer(oids, "%s%.*s", oids->len > 0 ? "," : "", len, p);
		p += p[len] == '\0' ? len : len + 1;
	}
}

/* ----------
 * The DROP statements.
 * ----------
 */

/*
 * Have pg_restore drop the objects of these entries.  pg_restore only drops
 * objects that it then creates, so their definitions are empty: this way all
 * are dropped before any is created.  Returns false if there were errors.
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
 * A DROP whose error must not end the transaction, as a DO block with an
 * exception handler; owned.  Another DROP may already have dropped the
 * object.  A view that cannot be replaced by a dummy (pg_dump does that to
 * break circular dependencies) is dropped instead.  The quote is random, so
 * that no text in the statement can end it.
 */
static char *
tried(const TocEntry *entry)
{
	static const char rule[] = " _RETURN";
	int			length = strlen(entry->tag) - strlen(rule);
	char	   *quote = hex_random(8);
	const char *otherwise = "NULL";

	if (toc_entry_is(entry, "RULE") && length > 0 &&
		strcmp(entry->tag + length, rule) == 0)
		otherwise = psprintf("BEGIN DROP VIEW IF EXISTS %s; EXCEPTION WHEN OTHERS THEN NULL; END",
							 fmtQualifiedId(entry->namespace,
											pnstrdup(entry->tag, length)));
	return psprintf("DO LANGUAGE plpgsql $q%s$BEGIN %s EXCEPTION WHEN OTHERS THEN %s; END$q%s$;",
					quote, entry->drop_stmt, otherwise, quote);
}

/*
 * The statement that removes those large objects of an entry that exist;
 * owned.
 */
static char *
unlink_statement(const TocEntry *entry)
{
	PQExpBufferData oids = buffer_new();

	clean_append_large_objects(&oids, entry);
	return psprintf("SELECT pg_catalog.lo_unlink(m.oid)"
					" FROM pg_catalog.pg_largeobject_metadata m"
					" WHERE m.oid OPERATOR(pg_catalog.=) ANY ('{%s}'::pg_catalog.oid[]);\n",
					buffer_text(&oids));
}

/*
 * Choose the entries whose objects are dropped, and add the settings that
 * every run of pg_restore needs.  Returns the number of entries, 0 if there
 * is nothing to drop.  DROP SUBSCRIPTION must run outside a transaction, so
 * subscriptions are dropped in a separate run.  "all" chooses both kinds, and
 * leaves the large objects to definition_session.c, which removes each group
 * just before it creates it.
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
		bool		removes_objects = !all && !subscriptions &&
			schedule->phases[i] == RESTORE_LARGE_OBJECTS;

		*entry = schedule->toc->entries[i];
		if (schedule->phases[i] == RESTORE_ALWAYS)
		{
			n++;
			continue;
		}
		if (removes_objects)
			entry->drop_stmt = unlink_statement(entry);
		else if (!clean_has_drop(stages, i) ||
				 (!all && toc_entry_is(entry, "SUBSCRIPTION") != subscriptions))
			continue;
		/* The target cannot contain an object with such a name. */
		if (!stages->as_pg_restore &&
			!text_is_convertible(conn, entry->drop_stmt))
			continue;
		if (!removes_objects && !stages->as_pg_restore &&
			clean_may_fail(entry))
			entry->drop_stmt = tried(entry);
		if (entry->drop_stmt != schedule->toc->entries[i].drop_stmt)

			/*
			 * pg_restore does not change the statements of this kind of
			 * entry.
			 */
			entry->desc = any_statement;
		/* pg_restore drops nothing for an entry without a definition. */
		entry->defn = "--";
		entry->owner = NULL;
		entry->tablespace = NULL;
		entry->tableam = NULL;
		n++;
		n_own++;
	}
	return n_own > 0 ? n : 0;
}

/*
 * Drop everything in one transaction.  DROP SUBSCRIPTION cannot run in a
 * transaction block if it has to drop a slot.  If pg_restore's connection was
 * lost during its COMMIT, everything may have been dropped, so count the
 * objects again before the run fails.
 */
static void
drop_together(RestoreStages *stages, TocEntry *entries, int n_before)
{
	int			n_subscriptions = choose_entries(stages, true, false, entries);
	int			n;
	int			n_left;

	if (n_subscriptions > 0 &&
		!run_pg_restore(stages, "drop-subscriptions", entries, n_subscriptions, false))
	{
		pg_log_error("--clean could not drop the subscriptions");
		pg_log_error_detail("Nothing else was dropped.");
		pg_fatal_hint("On the target, run ALTER SUBSCRIPTION ... DISABLE; ALTER SUBSCRIPTION ... SET (slot_name = NONE); and the same command again.");
	}
	n = choose_entries(stages, false, false, entries);
	if (n == 0 || run_pg_restore(stages, "drop", entries, n, true))
		return;
	target_keep(stages->target);
	(void) clean_objects_fit(stages, &n_left);
	if (n_before > 0 && n_left == 0)
		return;
	pg_log_error("--clean could not drop the objects that are to be copied");
	pg_log_error_detail(n_subscriptions > 0 ?
						"The transaction that drops them was rolled back.  Subscriptions had been dropped before." :
						"The transaction that drops them was rolled back.");
	pg_fatal_hint("Fix the cause, and run the same command again.");
}

/*
 * The lock table limits how many objects one transaction can drop.  If it is
 * too small for all of them, a copy has warned about it, and drops them one
 * by one.
 */
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

		/*
		 * pg_restore has reported the errors.  A restore creates what it can.
		 */
		if (n > 0 && !run_pg_restore(stages, "drop", entries, n, false) &&
			stages->as_pg_restore && options->exit_on_error)
			exit(1);
	}

	/*
	 * pg_restore's commits do not wait for the disk.  A logged message that
	 * does wait makes them durable.  Comparing the server's start time shows
	 * whether a crash came before it.
	 */
	target_keep(stages->target);
	PQclear(session_query(stages->target->conn,
						  "SELECT pg_catalog.pg_logical_emit_message(true, 'pg_pardump', 'copied')"));
	if (target_history_was_restarted(stages->target->conn, stages->target->incarnation))
	{
		pg_log_error("the target was restarted, and might have lost objects that pg_restore had just created");
		pg_fatal_hint("Run the same command again.");
	}
}
