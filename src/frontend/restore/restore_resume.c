/*
 * restore_resume.c
 *		Finds the work that earlier runs of a restore have done, for --resume.
 *
 * The journal on the target contains a line for each stage, file, piece,
 * group of large objects and definition that is done.  --resume reads these
 * lines once, and takes this work out of the plan: the results of these files
 * are marked as done before the workers start.
 *
 * A crash of the server empties unlogged tables, but not the journal, which
 * contains lines of these tables.  So the journal has an unlogged table with
 * one row.  If this row is missing, the server has crashed, and the lines of
 * unlogged tables are removed.
 */
#include "base/fe_compat.h"

#include <limits.h>

#include "base/units.h"
#include "load/target_ask.h"
#include "restore/restore_resume.h"

bool
restore_state_is_done(Restore *restore, const char *stage)
{
	const RestoreJournalLine *line = restore_journal_find(restore->journal, stage);

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

	restore_journal_done(restore->journal, restore->target.conn, stage,
						 n_errors - restore->n_noted);
	restore->n_noted = n_errors;
}

/*
 * The session that holds the run's lock, and the leader's own, may have been
 * lost while the workers were busy for hours.
 */
static void
renew(void *arg)
{
	Restore    *restore = arg;

	(void) restore_journal_session_keep(restore->journal, &restore->target);
	target_renew(&restore->target);
}

void
restore_state_renew(Restore *restore)
{
	restore_journal_session_insist(renew, restore, &restore->options);
}

/* ----------
 * Unlogged tables and sequences of the target, which a crash resets.
 * ----------
 */

/*
 * Rows of a partitioned table go to its partitions, of which some may be
 * unlogged.  So the tables are looked up with everything below them.
 */
static PGresult *
find_unlogged(const RestoreWork *work, PGconn *conn)
{
	return target_ask(conn, TARGET_UNLOGGED, NULL,
					  oid_array(work->targets, work->run->plan->tables->n_tables));
}

static int
table_number(const RestoreWork *work, const PGresult *unlogged, int row)
{
	return session_number(unlogged, row, ASK_NO, 1,
						  work->run->plan->tables->n_tables) - 1;
}

/*
 * The name of the line that lists the unlogged tables; owned.  --resume
 * computes the name again, so that it finds the line only if the list has not
 * changed.
 */
static char *
line_of(const RestoreWork *work, const PGresult *unlogged)
{
	int			n = PQntuples(unlogged);
	int		   *numbers = pg_malloc((n + 1) * sizeof(int));

	for (int i = 0; i < n; i++)
		numbers[i] = table_number(work, unlogged, i);
	return psprintf("unlogged tables %s", restore_journal_numbers(numbers, n));
}

void
restore_unlogged_note(const RestoreWork *work, PGconn *conn)
{
	PGresult   *unlogged = find_unlogged(work, conn);

	restore_journal_done(work->journal, conn, line_of(work, unlogged), 0);
}

/* ----------
 * Resuming
 * ----------
 */
static void
refuse_to_resume(const char *detail, const char *hint)
{
	pg_log_error("the restore cannot be resumed");
	pg_log_error_detail("%s", detail);
	pg_fatal_hint("%s", hint);
}

#define START_AGAIN_HINT "Run the same command without --resume, into an empty database or with --clean."

/*
 * A crash emptied the tables that were unlogged at that time, so the same
 * tables must be unlogged now: otherwise the wrong lines would be removed.
 * After a crash it does not help to undo the change: it is not known which
 * tables were unlogged when the server crashed.
 *
 * If only some partitions of a table are unlogged, the crash removed only
 * some of its rows.  These cannot be loaded without the others, because a
 * file contains rows of all partitions.
 *
 * No worker loads rows after a crash.  So rows that an unlogged table has now
 * are other rows, or the table was logged when the server crashed, and they
 * would be loaded twice.
 */
static void
check_tables(const RestoreWork *work, const PGresult *unlogged,
			 bool has_crashed, bool refuses_triggers)
{
	if (!restore_journal_has(work->journal, line_of(work, unlogged)))
		refuse_to_resume("The set of unlogged tables has changed since the restore started.",
						 has_crashed ? START_AGAIN_HINT :
						 "Undo the change with ALTER TABLE ... SET LOGGED or SET UNLOGGED, or start again with --clean.");
	for (int i = 0; i < PQntuples(unlogged); i++)
	{
		const char *name =
			printable(work->run->plan->tables->tables[table_number(work, unlogged, i)].copy_name);

		if (has_crashed && !result_is_true(unlogged, i, ASK_IS))
			refuse_to_resume(psprintf("A crash of the target has emptied some, but not all, partitions of table %s.",
									  name),
							 START_AGAIN_HINT);
		if (has_crashed && session_number(unlogged, i, ASK_NUMBER, 0, INT_MAX) > 0)
			refuse_to_resume(psprintf("Unlogged table %s contains rows that were not loaded after the crash of the target.",
									  name),
							 "Truncate the table, and resume the restore.");
		if (refuses_triggers && result_is_true(unlogged, i, ASK_ALSO))
			refuse_to_resume(psprintf("Rows of unlogged table %s are missing, and the table has triggers.",
									  name),
							 "Disable the triggers, resume the restore, and enable the triggers again.");
	}
}

/*
 * Remove the lines of these tables from the journal, in one transaction,
 * because a run that stops half-way must not leave a part of them.
 * Materialized views may have been filled from lost rows, and foreign keys
 * may have failed because of missing rows, so their lines are removed, too.
 * The line of the last stage is always removed, because that stage sets the
 * positions of sequences, and the crash may have reset unlogged ones.
 */
static void
forget_lost_rows(const RestoreWork *work, PGconn *conn, const PGresult *unlogged)
{
	const Toc  *toc = work->run->plan->toc;
	const ChunkPlan *chunks = work->run->plan->chunks;
	char	  **names = pg_malloc((chunks->n_files + toc->n_entries + 2) * sizeof(char *));
	char	  **keys = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	bool		has_tables = PQntuples(unlogged) > 0;
	int			n_names = 0;
	int			n_keys = 0;

	names[n_names++] = pg_strdup(RESTORE_JOURNAL_REST);
	if (has_tables)
		names[n_names++] = pg_strdup(RESTORE_JOURNAL_ROWS);
	for (int i = 0; i < PQntuples(unlogged); i++)
	{
		const TablePlan *table = &chunks->tables[table_number(work, unlogged, i)];

		for (int j = 0; j < table->n_files; j++)
			names[n_names++] = restore_journal_file(&chunks->files[table->first_file + j]);
	}
	for (int i = 0; has_tables && i < toc->n_entries; i++)
	{
		if (toc_entry_is(&toc->entries[i], "MATERIALIZED VIEW DATA"))
			names[n_names++] = restore_journal_entry(&toc->entries[i]);
		if (toc_entry_is(&toc->entries[i], "FK CONSTRAINT"))
			keys[n_keys++] = restore_journal_entry(&toc->entries[i]);
	}
	session_begin_unwatched(conn, "BEGIN");

	/*
	 * If this run does not load all rows, the next one must check triggers,
	 * too.
	 */
	if (has_tables)
		restore_journal_done(work->journal, conn, RESTORE_JOURNAL_LOST, 0);
	restore_journal_forget(work->journal, conn, names, n_names, keys, n_keys);
	target_command(conn, "COMMIT");
}

void
restore_unlogged_resume(Restore *restore)
{
	RestoreJournal *journal = restore->journal;
	PGconn	   *conn = restore->target.conn;
	bool		has_crashed = restore_journal_has_crashed(journal, conn);
	bool		has_lost = has_crashed || (restore_journal_is_done(journal, RESTORE_JOURNAL_LOST) &&
										   !restore_journal_is_done(journal, RESTORE_JOURNAL_ROWS));
	PGresult   *unlogged = find_unlogged(&restore->work, conn);

	/*
	 * With --data-only, triggers existed before the first rows, so they are
	 * expected.
	 */
	check_tables(&restore->work, unlogged, has_crashed,
				 has_lost && !restore->options.data_only);
	if (has_crashed)
	{
		forget_lost_rows(&restore->work, conn, unlogged);
		restore_journal_read(journal, conn);
	}
	PQclear(unlogged);
}

/* ----------
 * A crash in the middle of a run
 * ----------
 */
static const char lost_query[] =
"SELECT pg_catalog.count(DISTINCT c.oid),"
" pg_catalog.string_agg(DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text, ', ')"
" FROM pg_catalog.pg_class c"
" WHERE c.relpersistence OPERATOR(pg_catalog.=) 'u'"
" AND CASE c.relkind WHEN 'r' THEN c.oid OPERATOR(pg_catalog.=) ANY (SELECT r.oid FROM " TARGET_REACHED_SQL("$1::pg_catalog.oid[]") ")"
" WHEN 'S' THEN $2::pg_catalog.bool ELSE false END";

/*
 * Called by each worker when it starts, and by the leader at the end.  A
 * crash ends all sessions, so a worker that connects again notices it first.
 */
void
restore_unlogged_check(const void *arg, PGconn *conn, bool at_end)
{
	const RestoreWork *work = arg;
	bool		are_set = at_end ||
		restore_journal_is_done(work->journal, RESTORE_JOURNAL_REST);
	const char *params[] = {NULL, are_set ? "t" : "f"};
	PGresult   *res;
	int			n;

	if (!restore_journal_has_crashed(work->journal, conn))
		return;
	params[0] = oid_array(work->targets, work->run->plan->tables->n_tables);
	res = session_query_params(conn, lost_query, 2, params, 0);
	n = session_number(res, 0, 0, 0, INT_MAX);
	if (n > 0)
	{
		pg_log_error("a crash of the target has emptied unlogged tables, or reset unlogged sequences");
		pg_log_error_detail("Relations: %s.",
							printable(PQgetvalue(res, 0, 1)));
		/* the account of the failure has the hint */
		pg_fatal_detail("A run with --resume restores them again.");
	}
	PQclear(res);

	/*
	 * No table was emptied, and no position of a sequence was reset, so the
	 * restore continues.  Mark the journal again, so that another crash is
	 * noticed.
	 */
	restore_journal_mark(work->journal, conn);
}

/* ----------
 * Work of earlier runs, which is taken out of the plan.
 * ----------
 */

char *
restore_resume_selection(const Options *options, const int *ids, int n_ids)
{
	return psprintf("entries %s, pieces of " UINT64_FORMAT " bytes%s%s%s%s%s%s%s",
					restore_journal_numbers(ids, n_ids),
					archive_plan_piece_bytes(options),
					options->create ? ", --create" : "",
					options->disable_triggers ? ", --disable-triggers" : "",
					options->no_owner ? ", --no-owner" : "",
					options->no_tablespaces ? ", --no-tablespaces" : "",
					options->no_table_access_method ? ", --no-table-access-method" : "",
					options->use_session_authorization ? ", --use-set-session-authorization" : "",
					options->no_data_for_failed_tables ? ", --no-data-for-failed-tables" : "");
}

static void
skip_files(const RestoreWork *work)
{
	const ChunkPlan *chunks = work->run->plan->chunks;
	bool		all = restore_journal_is_done(work->journal, RESTORE_JOURNAL_ROWS);

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		if (restore_journal_has(work->journal, restore_journal_left_out(file)))
			work->left_out[i] = run_file_result(work->run, file)->incomplete = true;
		if (!all && !restore_journal_has(work->journal, restore_journal_file(file)))
			continue;
		work->left_out[i] = true;
		run_file_result(work->run, file)->done = true;
	}
}

static void
skip_objects(const RestoreWork *work)
{
	const LargeObjects *objects = work->run->plan->objects;
	bool		all = restore_journal_is_done(work->journal, RESTORE_JOURNAL_ROWS);

	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		if (!all &&
			!restore_journal_has(work->journal, restore_journal_group(&work->plan->groups[i], group)))
			continue;
		work->objects_left_out[i] = true;
		for (int j = 0; j < group->n_oids; j++)
			work->run->results->objects[group->first_object + j].done = true;
	}
}

/*
 * Files of which only some pieces are done: progress begins with the bytes of
 * these pieces, because they are not loaded again.
 */
static void
note_pieces(const RestoreWork *work, const int *n_pieces)
{
	const ChunkPlan *chunks = work->run->plan->chunks;
	uint64		piece_bytes = archive_plan_piece_bytes(work->run->options);

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];
		FileResult *result = run_file_result(work->run, file);
		int			n = n_pieces[file->dump_id];

		if (n == 0 || work->left_out[i])
			continue;
		result->parts_before = n;
		result->bytes_before = Min(file->est_bytes, n * piece_bytes);
	}
}

/*
 * A file that an earlier run has loaded in pieces must be continued in
 * pieces: if it were loaded as a whole, the rows of the finished pieces would
 * be loaded twice.  This is impossible if the target now has a foreign key
 * that needs all rows of the table at once.
 */
static void
go_on_in_pieces(const RestoreWork *work, const int *n_pieces)
{
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < plan->queue->n_jobs; i++)
	{
		const Job  *job = &plan->queue->jobs[i];

		for (int j = 0; job->kind == JOB_DATA_FILES && !job->shared && j < job->n; j++)
		{
			const DataFile *file = plan->queue->files[job->first + j];

			if (n_pieces[file->dump_id] == 0 ||
				work->left_out[file - plan->chunks->files])
				continue;
			if (job->at_once)
			{
				pg_log_error("the restore cannot be resumed");
				pg_log_error_detail("The earlier run has loaded only some pieces of table %s.",
									printable(plan->tables->tables[file->table].name));
				pg_log_error_detail("The table now has a foreign key that references the table itself, so one command must load all rows.");
				pg_fatal_hint("Drop this foreign key, run the same command again, and then create the foreign key again.");
			}
			work->long_files->is_long[file - plan->chunks->files] = true;
		}
	}
}

void
restore_resume_skip(const RestoreWork *work)
{
	int		   *n_pieces;

	if (!work->journal->is_resumed)
		return;
	skip_files(work);
	skip_objects(work);

	/*
	 * Count the lines of pieces of each file, by dump ID.  Which pieces these
	 * are is not needed here: the worker that cuts the file into pieces looks
	 * for the line of each piece.
	 */
	n_pieces = pg_malloc0((work->archive->toc->max_dump_id + 1) * sizeof(int));
	for (int i = 0; i < work->journal->n_lines; i++)
	{
		int			id;
		int			end = 0;

		if (sscanf(work->journal->lines[i].name, "rows %d piece %n", &id, &end) == 1 &&
			end > 0 && id > 0 && id <= work->archive->toc->max_dump_id)
			n_pieces[id]++;
	}
	go_on_in_pieces(work, n_pieces);
	note_pieces(work, n_pieces);
}

/* ----------
 * Indexes
 * ----------
 */

/*
 * Is the index built?  A line with errors does not count, because the worker
 * that claims the index then adds these errors to the count of this run.
 */
static bool
is_built(const RestoreJournal *journal, const TocEntry *entry)
{
	const RestoreJournalLine *line = restore_journal_find(journal, restore_journal_entry(entry));

	return line && line->errors == 0;
}

void
restore_resume_skip_indexes(const RestoreWork *work, RestoreSchedule *schedule)
{
	bool		all = restore_journal_is_done(work->journal, RESTORE_JOURNAL_ROWS);

	if (!work->journal->is_resumed)
		return;
	for (int i = 0; i < schedule->toc->n_entries; i++)
		if (schedule->phases[i] == RESTORE_INDEXES &&
			(all || is_built(work->journal, &schedule->toc->entries[i])))
			schedule->phases[i] = RESTORE_NEVER;
}

/* ----------
 * Rows that are not restored, because their table could not be created
 * ----------
 */
void
restore_resume_note_left_out(const RestoreWork *work, PGconn *conn)
{
	const ChunkPlan *chunks = work->run->plan->chunks;

	for (int i = 0; i < chunks->n_files; i++)
		if (work->left_out[i])
			restore_journal_done(work->journal, conn,
								 restore_journal_left_out(&chunks->files[i]), 0);
}
