/*
 * restore_unlogged.c
 *		What a crash of the target takes: rows of unlogged tables, and
 *		positions of unlogged sequences.
 */
#include "base/fe_compat.h"

#include "base/printable.h"
#include "job_log/restore_log.h"
#include "restore/restore_unlogged.h"
#include "session/session.h"
#include "session/text_array.h"
#include "target/target_check.h"
#include "target/target_history.h"

/* ----------
 * Which they are
 * ----------
 */

/* All that rows of tables can go to, by the tables' numbers from 1. */
#define REACHED_SQL \
"(SELECT t.no, t.oid FROM pg_catalog.unnest($1::pg_catalog.oid[])" \
" WITH ORDINALITY t (oid, no)" \
" UNION SELECT t.no, p.relid FROM pg_catalog.unnest($1::pg_catalog.oid[])" \
" WITH ORDINALITY t (oid, no)," \
" LATERAL pg_catalog.pg_partition_tree(t.oid::pg_catalog.regclass) p) r (no, oid)"

/* Is any unlogged, and are all of them?  Of tables with storage. */
static const char unlogged_query[] =
"SELECT r.no, pg_catalog.bool_and(c.relpersistence OPERATOR(pg_catalog.=) 'u')"
" FROM " REACHED_SQL
" JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) r.oid"
" AND c.relkind OPERATOR(pg_catalog.<>) 'p'"
" GROUP BY r.no"
" HAVING pg_catalog.bool_or(c.relpersistence OPERATOR(pg_catalog.=) 'u')";

static char *
targets_array(const Restore *restore)
{
	return oid_array(restore->work.targets, restore->run.plan->tables->n_tables);
}

static void
refuse_mixed(const DumpTable *table)
{
	pg_log_error("the restore cannot be resumed: a crash of the target has emptied some partitions of table %s, and not all",
				 printable(table->copy_name));
	pg_log_error_hint("Begin again in an empty database, or with --clean.");
	exit(1);
}

/* A row is lost or not by what its table was when it was loaded. */
static void
compare_notes(const Restore *restore, const JobLogKind * kinds)
{
	const DumpTables *tables = restore->run.plan->tables;

	for (int i = 0; i < tables->n_tables; i++)
	{
		bool		noted = job_log_has(restore->log,
										restore_log_unlogged(&tables->tables[i]));

		if (noted == (kinds[i] == JOB_LOG_UNLOGGED))
			continue;
		pg_log_error("the restore cannot be resumed: table %s was %s when it began",
					 printable(tables->tables[i].name),
					 noted ? "unlogged" : "not unlogged");
		pg_log_error_hint("Make it so again, or begin again with --clean.");
		exit(1);
	}
}

static void
note_unlogged(Restore *restore, const JobLogKind * kinds)
{
	const DumpTables *tables = restore->run.plan->tables;
	PGconn	   *conn = restore->target.conn;

	session_begin_unwatched(conn, "BEGIN");
	for (int i = 0; i < tables->n_tables; i++)
	{
		char	   *name;

		if (kinds[i] != JOB_LOG_UNLOGGED)
			continue;
		name = restore_log_unlogged(&tables->tables[i]);
		job_log_done(restore->log, conn, name, 0);
		free(name);
	}
	job_log_done(restore->log, conn, RESTORE_LOG_UNLOGGED, 0);
	PQclear(target_query(conn, "COMMIT", 0, NULL));
}

/*
 * Lines of what is made of rows, and of keys, which failed if rows were
 * missing.  Without unlogged tables there may be sequences.
 */
static void
forget_lines(Restore *restore)
{
	const Toc  *toc = restore->run.plan->toc;
	char	  **names = pg_malloc((toc->n_entries + 2) * sizeof(char *));
	char	  **keys = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	int			n_names = 0;
	int			n_keys = 0;

	/* should this run not load them, whoever does is to know */
	if (restore->has_lost_rows)
		job_log_done(restore->log, restore->target.conn, RESTORE_LOG_LOST, 0);
	names[n_names++] = pg_strdup(RESTORE_LOG_REST);
	if (restore->has_lost_rows)
		names[n_names++] = pg_strdup(RESTORE_LOG_ROWS);
	for (int i = 0; restore->has_lost_rows && i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];

		if (toc_entry_is(entry, "MATERIALIZED VIEW DATA"))
			names[n_names++] = job_log_entry(entry);
		if (toc_entry_is(entry, "FK CONSTRAINT"))
			keys[n_keys++] = job_log_entry(entry);
	}
	job_log_forget(restore->log, restore->target.conn, names, n_names, keys,
				   n_keys);
	while (n_names > 0)
		free(names[--n_names]);
	while (n_keys > 0)
		free(keys[--n_keys]);
	free(names);
	free(keys);
}

void
restore_unlogged_look(Restore *restore)
{
	const DumpTables *tables = restore->run.plan->tables;
	JobLogKind *kinds = pg_malloc0((tables->n_tables + 1) * sizeof(JobLogKind));
	char	   *oids = targets_array(restore);
	const char *params[] = {oids};
	PGresult   *res = session_query_params(restore->target.conn, unlogged_query,
										   1, params, 0);

	/* before these notes no rows were loaded */
	bool		noted = job_log_is_done(restore->log, RESTORE_LOG_UNLOGGED);
	bool		may_have_lost = restore->log->has_lost && noted;

	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, 0, 1, tables->n_tables) - 1;

		if (PQgetvalue(res, i, 1)[0] == 't')
			kinds[no] = JOB_LOG_UNLOGGED;
		else if (may_have_lost)
			refuse_mixed(&tables->tables[no]);
	}
	restore->has_lost_rows = job_log_is_done(restore->log, RESTORE_LOG_LOST) ||
		(may_have_lost && PQntuples(res) > 0);
	PQclear(res);
	free(oids);
	if (noted)
		compare_notes(restore, kinds);
	else
		note_unlogged(restore, kinds);
	if (restore->log->has_lost)
		forget_lines(restore);
	restore->work.kinds = kinds;
}

/* ----------
 * Triggers
 * ----------
 */

static const char triggers_query[] =
"SELECT pg_catalog.string_agg(DISTINCT g.tgrelid::pg_catalog.regclass::pg_catalog.text, ', ')"
" FROM " REACHED_SQL
" JOIN pg_catalog.pg_trigger g ON g.tgrelid OPERATOR(pg_catalog.=) r.oid"
" WHERE " INSERT_TRIGGER_SQL
" AND g.tgenabled OPERATOR(pg_catalog.<>) 'D'";

/* The tables of which rows are to be loaded; returns how many. */
static int
find_not_done(const Restore *restore, Oid *tables)
{
	const DumpPlan *plan = restore->run.plan;
	int			n = 0;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const TablePlan *decided = &plan->chunks->tables[i];
		bool		done = true;

		for (int j = 0; j < decided->n_files; j++)
			done &= restore->work.left_out[decided->first_file + j];
		if (!done)
			tables[n++] = restore->work.targets[i];
	}
	return n;
}

void
restore_unlogged_check_triggers(const Restore *restore)
{
	Oid		   *tables;
	char	   *oids;
	const char *params[1];
	PGresult   *res;

	/* with data alone they are there from the beginning */
	if (!restore->has_lost_rows || restore->options.data_only)
		return;
	tables = pg_malloc((restore->run.plan->tables->n_tables + 1) * sizeof(Oid));
	params[0] = oids = oid_array(tables, find_not_done(restore, tables));
	res = session_query_params(restore->target.conn, triggers_query, 1, params, 0);
	if (!PQgetisnull(res, 0, 0))
	{
		pg_log_error("the restore cannot be resumed: rows of tables are missing that have triggers by now");
		pg_log_error_detail("These are: %s.", printable(PQgetvalue(res, 0, 0)));
		pg_log_error_hint("Disable the triggers, resume, and enable them again.");
		exit(1);
	}
	PQclear(res);
	free(oids);
	free(tables);
}

/* ----------
 * A crash while we are at it
 * ----------
 */
static const char list_query[] =
"SELECT pg_catalog.string_agg(DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text, ', ')"
" FROM pg_catalog.pg_class c"
" JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace"
" WHERE c.relpersistence OPERATOR(pg_catalog.=) 'u'"
" AND ((c.relkind OPERATOR(pg_catalog.=) 'r'"
" AND c.oid OPERATOR(pg_catalog.=) ANY (SELECT r.oid FROM " REACHED_SQL "))"
" OR (c.relkind OPERATOR(pg_catalog.=) 'S'"
" AND EXISTS (SELECT FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.text[]),"
" pg_catalog.unnest($3::pg_catalog.text[])) s (schema, name)"
" WHERE n.nspname OPERATOR(pg_catalog.=) s.schema::pg_catalog.name"
" AND c.relname OPERATOR(pg_catalog.=) s.name::pg_catalog.name)))";

/*
 * Unlogged tables, and sequences of which the archive has the position, of
 * the target; NULL if there are none.  Owned.
 */
static char *
list_unlogged(const Restore *restore, bool with_sequences)
{
	const Toc  *toc = restore->run.plan->toc;
	PGconn	   *conn = restore->target.conn;
	char	  **schemas = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	char	  **names = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	int			n = 0;
	char	   *params[3];
	PGresult   *res;
	char	   *result;

	for (int i = 0; with_sequences && i < toc->n_entries; i++)
		if (toc_entry_is(&toc->entries[i], "SEQUENCE SET") &&
			toc->entries[i].namespace)
		{
			schemas[n] = toc->entries[i].namespace;
			names[n++] = toc->entries[i].tag;
		}
	params[0] = targets_array(restore);
	params[1] = text_array(conn, schemas, n);
	params[2] = text_array(conn, names, n);
	res = session_query_params(conn, list_query, 3, (const char *const *) params, 0);
	result = PQgetisnull(res, 0, 0) ? NULL : pg_strdup(PQgetvalue(res, 0, 0));
	PQclear(res);
	for (int i = 0; i < 3; i++)
		free(params[i]);
	free(schemas);
	free(names);
	return result;
}

static void
tell_lost(const char *names)
{
	pg_log_error("the target has crashed, and has lost what was restored of unlogged tables and sequences");
	pg_log_error_detail("These are: %s.", printable(names));
	pg_log_error_hint("--resume restores it again.");
	exit(1);
}

void
restore_unlogged_check_rows(const Restore *restore)
{
	char	   *names;

	if (!job_log_has_lost(restore->log, restore->target.conn))
		return;
	names = list_unlogged(restore, false);
	if (names)
		tell_lost(names);
	/* positions of sequences come only now */
	job_log_mark(restore->log, restore->target.conn);
}

void
restore_unlogged_check_all(const Restore *restore)
{
	char	   *names;

	if (!restore->log->is_kept)
		target_history_check_unlogged(restore->target.conn,
									  restore->run.plan->tables,
									  restore->target.incarnation);
	if (!job_log_has_lost(restore->log, restore->target.conn))
		return;
	names = list_unlogged(restore, true);
	if (names)
		tell_lost(names);
}
