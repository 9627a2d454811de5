/*
 * restore_prepare.c
 *		Plans a restore, and prepares the target for the rows.
 *
 * The order of checks matters: first what can be checked without the target,
 * then what can be checked on the target without a change.  Only then the
 * target is changed.  With --resume, an earlier run may have ended after any
 * of these changes.  So each change is noted in the journal, in the
 * transaction that makes it, and is looked up there before it is made.
 */
#include "base/fe_compat.h"

#include "archive/archive_piped.h"
#include "base/buffer.h"
#include "base/shared_memory.h"
#include "base/units.h"
#include "compare/compare.h"
#include "load/clean.h"
#include "load/definitions.h"
#include "load/load_order.h"
#include "load/target_check.h"
#include "options/options_parse.h"
#include "restore/restore_prepare.h"
#include "session/session_settings.h"

/* ----------
 * The contents of the archive and of the target.
 * ----------
 */

/*
 * Is this entry a definition, and not data?  These are the rules of
 * pg_backup_archiver.c:_tocEntryRequired.
 */
static bool
has_definition(const TocEntry *entry)
{
	static const char *const data[] = {
		"ENCODING", "STDSTRINGS", "SEARCHPATH", "SEQUENCE SET", "BLOB",
		"BLOB METADATA", "STATISTICS DATA"
	};

	if (entry->defn == NULL || entry->defn[0] == '\0' ||
		strncmp(entry->defn, "-- load via partition root ", 27) == 0)
		return false;
	for (int i = 0; i < (int) lengthof(data); i++)
		if (toc_entry_is(entry, data[i]))
			return false;
	/* comments, privileges and labels of large objects */
	return strncmp(entry->tag, "LARGE OBJECT", 12) != 0;
}

/* Does the table of contents contain only data? */
static bool
restore_tables_is_data_only(const Toc *toc)
{
	for (int i = 0; i < toc->n_entries; i++)
		if (has_definition(&toc->entries[i]))
			return false;
	return true;
}

/*
 * Does one of the entries with these dump IDs contain rows without a COPY
 * statement, as INSERT commands?
 */
static bool
restore_tables_has_inserts(const Toc *toc, const int *ids, int n_ids)
{
	const TocEntry **by_id = toc_entries_by_id(toc);
	bool		found = false;

	for (int i = 0; i < n_ids && !found; i++)
	{
		const TocEntry *entry = ids[i] <= toc->max_dump_id ? by_id[ids[i]] : NULL;

		found = entry && toc_entry_is_table_data(entry) &&
			(entry->copy_stmt == NULL || entry->copy_stmt[0] == '\0');
	}
	return found;
}

/* Returns for each table whether it exists on the target; owned. */
static bool *
restore_tables_look(PGconn *conn, const DumpTables *tables)
{
	Oid		   *oids = target_find_tables(conn, tables, false);
	bool	   *there = pg_malloc((tables->n_tables + 1) * sizeof(bool));

	for (int i = 0; i < tables->n_tables; i++)
		there[i] = OidIsValid(oids[i]);
	return there;
}

/*
 * Print one of two errors.  With hand_on, it lists the tables that pass on
 * rows to other tables, otherwise the tables that contain rows.
 */
static void
refuse_tables(const PGresult *res, const DumpTable *const *created, int n,
			  bool hand_on)
{
	const int	most_shown = 3;
	int			n_found = 0;
	const char *names;
	PQExpBufferData shown = buffer_new();

	for (int i = 0; i < PQntuples(res); i++)
	{
		int			no = session_number(res, i, ASK_NO, 1, n) - 1;

		if (result_is_true(res, i, ASK_IS) != hand_on ||
			n_found++ >= most_shown)
			continue;
		appendPQExpBuffer(&shown, "%s%s", n_found > 1 ? ", " : "",
						  printable(created[no]->name));
	}
	names = units_names(shown.data, n_found, most_shown);
	if (n_found > 0 && hand_on)
	{
		pg_log_error("the target already contains %d of the tables to be restored, but as foreign tables or as views with triggers",
					 n_found);
		pg_log_error_detail("Tables: %s.", names);
		pg_log_error_hint("Drop or rename these tables first, or use --allow-existing to add the rows of the archive, as pg_restore does.");
	}
	else if (n_found > 0)
	{
		pg_log_error("the target already contains rows in %d of the tables to be restored",
					 n_found);
		pg_log_error_detail("Tables: %s.", names);
		pg_log_error_hint("Use --clean to drop existing objects first, --allow-existing to keep them and add the rows of the archive, or --data-only to add rows without creating anything.");
	}
}

/*
 * Report, as errors, tables of the archive that exist on the target, and
 * contain rows or pass them on to other tables.  The restore would add its
 * rows to them.  File sizes are compared, because counting rows could run
 * functions of other users (row security, views).
 */
static void
refuse_filled_tables(PGconn *conn, const DumpTables *tables)
{
	int			n = 0;
	const DumpTable **created = pg_malloc((tables->n_tables + 1) * sizeof(DumpTable *));
	char	  **names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	PGresult   *res;

	for (int i = 0; i < tables->n_tables; i++)
	{
		const TocEntry *entry = tables->tables[i].entry;

		if (!tables->tables[i].has_definition || entry->namespace == NULL)
			continue;
		created[n] = &tables->tables[i];
		names[n++] = tables->tables[i].name;
	}
	res = target_ask(conn, TARGET_FILLED, text_array(conn, names, n), NULL);
	refuse_tables(res, created, n, true);
	refuse_tables(res, created, n, false);
	PQclear(res);
}

/*
 * The same for tables of extensions, which the archive does not create.  Only
 * rows that a dump contains matter, not rows that CREATE EXTENSION creates.
 */
static void
refuse_filled_extensions(PGconn *conn, const DumpTables *tables)
{
	char	  **names = pg_malloc((tables->n_tables + 1) * sizeof(char *));
	Oid		   *oids = pg_malloc((tables->n_tables + 1) * sizeof(Oid));
	int			n_names = 0;
	int			n = 0;
	char	   *found = NULL;
	char	   *extension = NULL;
	PGresult   *res;

	for (int i = 0; i < tables->n_tables; i++)
		if (!tables->tables[i].has_definition)
			names[n_names++] = tables->tables[i].name;
	if (n_names == 0)
		return;
	res = target_ask(conn, TARGET_OIDS, text_array(conn, names, n_names), NULL);
	for (int i = 0; i < PQntuples(res); i++)
		if (!PQgetisnull(res, i, ASK_NUMBER))
			oids[n++] = (Oid) strtoul(PQgetvalue(res, i, ASK_NUMBER), NULL, 10);
	PQclear(res);
	if (n > 0)
		found = target_extension_rows(conn, oid_array(oids, n), &extension);
	if (found)
	{
		pg_log_error("the target already contains rows in table %s of extension \"%s\"",
					 printable(found), printable(extension));
		pg_log_error_detail("The archive would add rows to this table.");
		pg_log_error_hint("Use --allow-existing to add the rows of the archive, or -L to leave out the rows of this table.");
	}
}

/*
 * Does one of these relations, types or functions exist?  The arguments of
 * functions are not compared.
 */
static const char exist_query[] =
"SELECT FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]),"
" pg_catalog.unnest($2::pg_catalog.text[]),"
" pg_catalog.unnest($3::pg_catalog.text[])) t (kind, schema, name)"
" JOIN pg_catalog.pg_namespace n ON n.nspname OPERATOR(pg_catalog.=) t.schema::pg_catalog.name"
" WHERE CASE t.kind WHEN 'relation' THEN EXISTS (SELECT FROM pg_catalog.pg_class c"
" WHERE c.relnamespace OPERATOR(pg_catalog.=) n.oid"
" AND c.relname OPERATOR(pg_catalog.=) t.name::pg_catalog.name)"
" WHEN 'type' THEN EXISTS (SELECT FROM pg_catalog.pg_type y"
" WHERE y.typnamespace OPERATOR(pg_catalog.=) n.oid"
" AND y.typname OPERATOR(pg_catalog.=) t.name::pg_catalog.name)"
" ELSE EXISTS (SELECT FROM pg_catalog.pg_proc p"
" WHERE p.pronamespace OPERATOR(pg_catalog.=) n.oid"
" AND pg_catalog.strpos(t.name, p.proname OPERATOR(pg_catalog.||) '('::pg_catalog.text) OPERATOR(pg_catalog.=) 1) END"
" LIMIT 1";

/* The kind of an entry in exist_query; NULL for other entries. */
static const char *
catalog_kind(const TocEntry *entry)
{
	static const char *const relations[] = {
		"TABLE", "TABLE DATA", "FOREIGN TABLE", "VIEW", "MATERIALIZED VIEW",
		"SEQUENCE", NULL
	};
	static const char *const types[] = {"TYPE", "DOMAIN", "SHELL TYPE", NULL};
	static const char *const functions[] = {
		"FUNCTION", "PROCEDURE", "AGGREGATE", NULL
	};

	if (entry->namespace == NULL)
		return NULL;
	return toc_entry_is_one_of(entry, relations) ? "relation" :
		toc_entry_is_one_of(entry, types) ? "type" :
		toc_entry_is_one_of(entry, functions) ? "function" : NULL;
}

/*
 * Does the target have any relation, type or function of the archive, or any
 * large object of the plan?  The answer only decides whether --resume begins
 * a new restore, so a function of the same name with other arguments counts.
 */
static bool
restore_tables_exist(PGconn *conn, const Toc *toc, const DumpPlan *plan)
{
	char	  **columns[3];
	const char *params[3];
	int			n = 0;
	PGresult   *res;
	bool		found;

	for (int i = 0; i < 3; i++)
		columns[i] = pg_malloc((toc->n_entries + 1) * sizeof(char *));
	for (int i = 0; i < toc->n_entries; i++)
	{
		const TocEntry *entry = &toc->entries[i];
		const char *kind = catalog_kind(entry);

		/* entries of the same table, such as its chunks, follow each other */
		if (kind == NULL ||
			(n > 0 && strcmp(columns[2][n - 1], entry->tag) == 0 &&
			 strcmp(columns[1][n - 1], entry->namespace) == 0))
			continue;
		columns[0][n] = unconstify(char *, kind);
		columns[1][n] = entry->namespace;
		columns[2][n++] = entry->tag;
	}
	for (int i = 0; i < 3; i++)
		params[i] = text_array(conn, columns[i], n);
	res = session_query_params(conn, exist_query, 3, params, 0);
	found = PQntuples(res) > 0;
	PQclear(res);
	return found || target_count_objects(conn, plan) > 0;
}

/*
 * Report, as errors, tables that the restore would create and fill, but that
 * contain rows on the target, and the number of large objects that exist.  A
 * restore would add rows to these tables, and overwrite these objects.
 */
static void
restore_tables_refuse_existing(PGconn *conn, const DumpPlan *plan,
							   const Options *options)
{
	int			n;

	refuse_filled_tables(conn, plan->tables);
	refuse_filled_extensions(conn, plan->tables);
	n = target_count_objects(conn, plan);
	if (n == 0)
		return;
	pg_log_error("the target already contains %d of the large objects to be restored",
				 n);
	pg_log_error_detail("Large objects of two databases can have the same OID by chance; a restore would overwrite these.");
	target_objects_hint(options);
}

/*
 * --no-data-for-failed-tables: leave out the rows of tables that the archive
 * creates, if they exist, or, with "there" false, if they do not exist.
 * "look" is the result of restore_tables_look().
 */
static void
restore_tables_leave_out(const RestoreWork *work, const bool *look, bool there)
{
	const DumpPlan *plan = work->run->plan;

	for (int i = 0; i < plan->tables->n_tables; i++)
	{
		const TablePlan *decided = &plan->chunks->tables[i];

		if (!plan->tables->tables[i].has_definition || look[i] != there ||
			work->left_out[decided->first_file])
			continue;
		pg_log_info("table %s could not be created, will not restore its data",
					printable(plan->tables->tables[i].name));
		for (int j = 0; j < decided->n_files; j++)
		{
			work->left_out[decided->first_file + j] = true;
			work->run->results->files[decided->first_file + j].incomplete = true;
		}
	}
}

/* ----------
 * The plan of the restore: which entries, in which pieces and in which order.
 * ----------
 */

void
restore_plan_leave_to_stock(const char *program, const Options *options,
							const char *reason)
{
	restore_options_check_stock(options, reason);
	if (*reason)
	{
		pg_log_warning("falling back to pg_restore");
		pg_log_warning_detail("%s", message_sentence(reason));
	}
	stock_list_become(program, options);
}

/*
 * If this is one of several restores, refuse the archive of another database.
 */
static void
check_database(const Archive *archive)
{
	char	   *problem = toc_database_problem(archive->toc);

	if (problem)
	{
		pg_log_error("archive \"%s\" is from another database", archive->path);
		pg_fatal_detail("%s", message_sentence(problem));
	}
}

/*
 * The restored entries determine some options, as in pg_restore
 * (pg_backup_archiver.c:RestoreArchive): without definitions, it is a restore
 * with --data-only, and if the archive contains statistics, none are
 * gathered.
 */
static void
settle_options(Restore *restore)
{
	Options    *options = &restore->options;

	options->data_only = restore_tables_is_data_only(restore->plan->plan.toc);
	if (!options->data_only)
		options->disable_triggers = false;
	/* What ANALYZE computes would replace the archive's statistics. */
	if (toc_find(restore->plan->plan.toc, "STATISTICS DATA"))
		options->no_analyze = true;
}

/* The state that all workers share must be created before they are forked. */
static void
prepare_work(Restore *restore)
{
	const DumpPlan *plan = &restore->plan->plan;
	RestoreWork *work = &restore->work;

	run_make_results(&restore->run, CHECKSUM_TYPE_NONE);
	work->archive = restore->archive;
	work->plan = restore->plan;
	work->target = &restore->target;
	work->run = &restore->run;
	work->left_out = shared_memory_new(plan->chunks->n_files, sizeof(bool));
	work->long_files = restore_long_new(restore->archive, restore->plan,
										archive_plan_piece_bytes(&restore->options));
	work->objects_left_out = shared_memory_new(plan->objects->n_groups,
											   sizeof(bool));
	work->has_failed = shared_memory_new(plan->chunks->n_files, sizeof(bool));
	work->n_errors = restore->n_errors;
	work->n_read_again = shared_memory_new(1, sizeof(int));
	work->must_restart = shared_memory_new(1, sizeof(bool));
	restore->account.must_restart = work->must_restart;
	if (restore->identity.has_crcs)
	{
		/*
		 * Allocate these before the target is changed: they are large, so
		 * this may fail.
		 */
		work->rings = restore_rings_new(restore->options.jobs,
										archive_plan_piece_bytes(&restore->options));
		work->shares = shared_memory_new((size_t) plan->chunks->n_files * restore->run.results->n_workers,
										 sizeof(FileResult));
	}
}

/*
 * Stock pg_restore replaces this process for archives that workers cannot
 * restore: archives in tar format, and rows as INSERT commands.  The
 * journal's identity consists of the archive and the options that decide what
 * is restored, so that --resume refuses to continue another restore.
 */
void
restore_plan_make(Restore *restore)
{
	const char *program = restore->stages.setup.program;
	const char *path = restore->options.restore;
	const DumpPlan *plan;

	if (restore->options.pipe_command)
	{
		restore->archive = archive_piped_open(&restore->options);
		path = restore->archive->commands->directory;
	}
	else
	{
		if (archive_open_kind(path) == ARCHIVE_TAR)
			restore_plan_leave_to_stock(program, &restore->options, STOCK_READS_TAR);
		restore->archive = archive_open(path);
	}
	check_database(restore->archive);
	/* pg_dump's own archives allow indexes to be attached in parallel */
	index_attach_chain(restore->archive->toc);
	restore->ids = stock_list_read(program, &restore->options, path,
								   restore->archive->toc, &restore->n_ids);
	if (restore->archive->commands)
		archive_piped_forget_toc(restore->archive);
	stock_list_check_names(restore->archive->toc, &restore->options);
	if (restore_tables_has_inserts(restore->archive->toc, restore->ids, restore->n_ids))
		restore_plan_leave_to_stock(program, &restore->options,
									"the archive contains rows as INSERT commands");
	restore->plan = archive_plan_make(restore->archive, restore->ids,
									  restore->n_ids, &restore->options);
	plan = &restore->plan->plan;
	if (restore->options.compare_with)
		archive_plan_refuse_parts(restore->plan,
								  "To leave out this table, use -L.");
	settle_options(restore);
	restore->identity.archive = archive_identity(restore->archive);
	restore->identity.selection = restore_resume_selection(&restore->options,
														   restore->ids,
														   restore->n_ids);
	restore->identity.has_crcs = restore->archive->commands &&
		restore->archive->manifest == NULL;
	restore->run.plan = plan;
	restore->target.encoding = plan->encoding;
	stock_pg_restore_set_toc(&restore->stages.setup, plan->toc);
	restore->stages.archive = restore->archive->toc;
	restore->stages.schedule = restore_schedule_make(plan->toc, plan->tables,
													 restore->options.create);
	restore_journal_refuse(restore->stages.schedule);
	if (toc_find(plan->toc, "DATABASE") != NULL)
		restore->new_name = toc_find(plan->toc, "DATABASE")->tag;
	prepare_work(restore);
}

/* ----------
 * The preparation of the target.
 * ----------
 */

/*
 * Is the extension missing in the archive although pg_dump would have dumped
 * it, and pg_restore would have created it?
 */
static bool
leaves_out_extension(const Restore *restore)
{
	const Manifest *manifest = restore->archive->manifest;

	return !restore->options.selects_entries && manifest &&
		manifest->left_out &&
		strcmp(manifest->left_out, MANIFEST_OWN_EXTENSION) == 0;
}

/*
 * Refuse to add rows to the rows of an earlier restore, or of the
 * application, unless an option allows it.  With --create, this checks the
 * database of that name, if it exists.  With --clean, this checks which
 * objects cannot be dropped.
 */
static void
refuse_existing(Restore *restore)
{
	const Options *options = &restore->options;
	PGconn	   *conn = restore->target.conn;

	if (options->data_only || options->resume || options->allow_existing ||
		(options->clean &&
		 (restore->new_name || options->no_data_for_failed_tables)))
		return;
	if (restore->new_name)
		conn = target_try_database(&restore->target, restore->new_name);

	/*
	 * If the journal of an interrupted restore exists, opening the journal
	 * fails later, with a better message.
	 */
	if (PQstatus(conn) == CONNECTION_OK && (options->clean || !restore_journal_exists(conn)))
	{
		session_set_encoding(conn, restore->run.plan->encoding);
		if (options->clean)
			clean_objects_check_restore(&restore->stages, conn, restore->run.plan->tables);
		else if (options->no_data_for_failed_tables)
			/* this option leaves out the rows of all other existing tables */
			refuse_filled_extensions(conn, restore->run.plan->tables);
		else
			restore_tables_refuse_existing(conn, restore->run.plan, options);
	}
	if (conn != restore->target.conn)
		session_close(conn);
}

/*
 * --resume begins a new restore if nothing of the archive exists, so that a
 * scheduler can repeat the same command.  With --create, an earlier run may
 * have ended right after it created the database.
 */
static void
begin_where_nothing_exists(Restore *restore)
{
	PGconn	   *conn = restore->target.conn;

	if (!restore->options.resume)
		return;
	if (restore->new_name && !target_has_database(conn, restore->new_name))
	{
		restore->options.resume = false;
		return;
	}
	if (restore->new_name)
		conn = target_try_database(&restore->target, restore->new_name);
	if (PQstatus(conn) == CONNECTION_OK && !restore_journal_exists(conn))
	{
		session_set_encoding(conn, restore->run.plan->encoding);
		restore->options.resume = restore_tables_exist(conn, restore->archive->toc,
													   restore->run.plan);
	}
	if (conn == restore->target.conn)
		return;
	session_close(conn);
	if (restore->options.resume)
		return;
	pg_log_warning("restoring into existing database \"%s\", which contains nothing of the archive",
				   restore->new_name);
	pg_log_warning_detail("Settings, comment and privileges of the database itself will not be restored.");
	target_enter(&restore->target, restore->new_name);
	restore->new_name = NULL;
}

void
restore_prepare_open(Restore *restore)
{
	const Options *options = &restore->options;
	const DumpPlan *plan = restore->run.plan;

	target_open(&restore->target);
	begin_where_nothing_exists(restore);
	if (options->compare_with)
		compare_restore_check(&restore->run, &restore->target, restore->new_name);
	(void) worker_processes_have_files(options->jobs, 0);
	restore_stage_leave_out_extension(&restore->stages, restore->new_name);
	restore->stages.makes_extension = leaves_out_extension(restore);
	refuse_existing(restore);
	if (!options->check && !options->exit_on_error)
	{
		/* without this, no worker could start, so it is always an error */
		toast_compression_check(restore->target.conn,
								options->toast_compression);
		findings_report();
		return;
	}
	/* workers without a job help others with long files */
	target_check(restore->target.conn, restore->stages.schedule, options,
				 restore->plan->apart && plan->queue->n_jobs > 0 ?
				 options->jobs : plan->queue->n_jobs,
				 plan->encoding,
				 options->resume ? NULL : restore->new_name);
	if (restore->new_name == NULL && !options->resume)
		target_check_tables(restore->target.conn, plan->tables, options->clean);
	findings_report();
}

/*
 * With --create, create the database.  Connect to the database, and open the
 * journal before anything else is created: its lock keeps other runs away,
 * and its first line notes that the database is ready.
 */
static void
enter_database(Restore *restore)
{
	if (restore->new_name && restore->options.resume)
		target_enter(&restore->target, restore->new_name);
	restore_stage_begin(&restore->stages);
	if (restore->new_name && !restore->options.resume)
		restore_stage_database(&restore->stages, restore->new_name);
	target_begin(&restore->target);
	restore->journal = restore_journal_open(&restore->target, &restore->identity);
	restore->work.journal = restore->journal;
	restore->journal->check_crash = restore_unlogged_check;
	restore->journal->check_arg = &restore->work;
	restore->account.can_resume = restore->journal->is_kept;
	if (!restore_state_is_done(restore, RESTORE_JOURNAL_DATABASE))
		restore_state_note_done(restore, RESTORE_JOURNAL_DATABASE);
}

/*
 * Drop the objects that --clean drops, and find out which tables are left,
 * because these cannot be created.  Do this before the definitions are
 * created: a resumed run could not distinguish tables that existed before
 * from tables that the first run has created.
 */
static void
drop(Restore *restore)
{
	RestoreWork *work = &restore->work;
	PGconn	   *conn;
	bool	   *before;

	if (restore_state_is_done(restore, RESTORE_JOURNAL_DROP))
		return;
	clean_drop(&restore->stages);
	conn = restore->target.conn;
	before = restore_tables_look(conn, restore->run.plan->tables);
	/* tables that exist now cannot be created */
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, before, true);
	session_begin_unwatched(conn, "BEGIN");
	restore_resume_note_left_out(work, conn);
	restore_state_note_done(restore, RESTORE_JOURNAL_DROP);
	target_command(conn, "COMMIT");
}

/*
 * Create the definitions that rows need.  Only tables that exist now, and did
 * not exist before, were created by this run and may be truncated.  A resumed
 * run does not come here, so it does not load frozen rows.
 */
static void
make_tables(Restore *restore)
{
	RestoreWork *work = &restore->work;
	const DumpPlan *plan = restore->run.plan;
	bool	   *before = restore_tables_look(restore->target.conn, plan->tables);
	bool	   *after;

	definitions_make(&restore->stages, restore->journal);
	restore_stage_make_extension(&restore->stages);

	/*
	 * A restart of the server before this moment does no harm: the
	 * definitions are committed, and no rows were loaded.
	 */
	restore->target.incarnation = target_state(restore->target.conn).incarnation;
	after = restore_tables_look(restore->target.conn, plan->tables);
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, after, false);
	work->fresh = restore_freeze_choose(&restore->target, plan, before,
										after);
}

/*
 * Note in one transaction that the definitions are complete, which tables are
 * unlogged, and that the server has not crashed until now.  Otherwise, after
 * a crash between two of these notes, the journal would be wrong.
 */
static void
note_definitions(Restore *restore)
{
	PGconn	   *conn = restore->target.conn;

	session_begin_unwatched(conn, "BEGIN");
	restore_resume_note_left_out(&restore->work, conn);
	restore_unlogged_note(&restore->work, conn);
	restore_state_note_done(restore, RESTORE_JOURNAL_DEFINITIONS);
	/* until now, a crash has not removed rows */
	restore_journal_mark(restore->journal, conn);
	target_command(conn, "COMMIT");
}

void
restore_prepare_target(Restore *restore)
{
	bool		are_made;

	enter_database(restore);
	load_account_stage(&restore->account, LOAD_STAGE_DEFINITIONS);
	are_made = restore_state_is_done(restore, RESTORE_JOURNAL_DEFINITIONS);
	if (!are_made)
	{
		/* an earlier run may have dropped some objects, and created none */
		if (restore->options.resume && restore->options.clean)
			restore->options.if_exists = true;
		drop(restore);
		make_tables(restore);
	}
	restore->work.targets = target_find_tables(restore->target.conn,
											   restore->plan->plan.tables, true);
	target_check_triggers(restore->target.conn, &restore->options,
						  restore->work.targets,
						  restore->plan->plan.tables->n_tables);
	if (are_made)
		restore_unlogged_resume(restore);
	else
		note_definitions(restore);
	/* tables that existed before this run may have foreign keys */
	if (!restore->options.disable_triggers)
		restore->plan->plan.queue = load_order_make(restore->target.conn,
													&restore->plan->plan,
													restore->plan->shares,
													restore->plan->apart,
													restore->work.targets);
	archive_plan_expect_rows(restore->plan, restore->work.archive);
	restore_resume_skip(&restore->work);
	restore_resume_skip_indexes(&restore->work, restore->stages.schedule);
	(void) restore_state_is_done(restore, RESTORE_JOURNAL_ROWS);
}
