/*
 * restore_prepare.c
 *		All on the target that rows need.
 */
#include "base/fe_compat.h"

#include "archive/manifest.h"
#include "base/message.h"
#include "compare/compare.h"
#include "definitions/clean.h"
#include "definitions/definitions.h"
#include "job_log/job_log.h"
#include "process/worker_process.h"
#include "restore/restore_freeze.h"
#include "restore/restore_prepare.h"
#include "restore/restore_resume.h"
#include "restore/restore_tables.h"
#include "restore/restore_unlogged.h"
#include "session/session.h"
#include "session/session_settings.h"
#include "target/load_order.h"
#include "target/target.h"
#include "target/target_check.h"
#include "target/toast_compression.h"

/*
 * Would pg_dump have put the extension in this archive, and pg_restore have
 * created it?  That a manifest is damaged is --verify's matter.
 */
static bool
leaves_out_extension(const Options *options)
{
	bool		exists;
	const char *problem;
	Manifest   *manifest;
	bool		result;

	if (options->selects_entries)
		return false;
	manifest = manifest_load(options->restore, &exists, &problem);
	result = manifest && manifest->left_out &&
		strcmp(manifest->left_out, MANIFEST_OWN_EXTENSION) == 0;
	if (manifest)
		manifest_free(manifest);
	return result;
}

/*
 * Refuse to add the rows to those of an earlier restore, or of the
 * application, unless the options say that this is wanted.  With --clean
 * these are the tables that cannot be dropped.  With --create the database
 * that is looked at is the one that is restored into, if it exists.
 */
static void
refuse_existing(Restore *restore)
{
	const Options *options = &restore->options;
	PGconn	   *conn = restore->target.conn;

	if (options->data_only || options->resume ||
		options->no_data_for_failed_tables || options->allow_existing ||
		(options->clean && restore->new_name))
		return;
	if (restore->new_name)
		conn = target_try_database(&restore->target, restore->new_name);
	/* a restore that was interrupted has filled some: that is told instead */
	if (PQstatus(conn) == CONNECTION_OK && (options->clean || !job_log_exists(conn)))
	{
		session_set_encoding(conn, restore->run.plan->encoding);
		if (options->clean)
			clean_objects_check_restore(&restore->stages, conn, restore->run.plan->tables);
		else
			restore_tables_refuse_existing(conn, restore->run.plan);
	}
	if (conn != restore->target.conn)
		session_close(conn);
}

/*
 * --resume where nothing of the archive exists begins the restore, so that a
 * scheduler can repeat one command.  With --create a run before may have been
 * interrupted right after it had created the database.
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
	if (PQstatus(conn) == CONNECTION_OK && !job_log_exists(conn))
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
	pg_log_warning("database \"%s\" exists and contains nothing of the archive: the restore begins in it",
				   restore->new_name);
	pg_log_warning_detail("Settings, comment and privileges of the database itself are not restored.");
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
	(void) worker_processes_have_files(options->jobs);
	restore_stage_leave_out_extension(&restore->stages, restore->new_name);
	restore->stages.makes_extension = leaves_out_extension(options);
	refuse_existing(restore);
	if (!options->check && !options->exit_on_error)
	{
		/* no worker could begin: this is not passed over */
		toast_compression_check(restore->target.conn,
								options->toast_compression);
		findings_settle();
		return;
	}
	target_check(restore->target.conn, restore->stages.schedule, options,
				 plan->queue->n_jobs, plan->encoding,
				 options->resume ? NULL : restore->new_name);
	if (restore->new_name == NULL && !options->resume)
		target_check_tables(restore->target.conn, plan->tables, options->clean);
	findings_settle();
}

/* Make the database, if that is asked for, and go there. */
static void
enter_database(Restore *restore)
{
	if (restore->new_name && restore->options.resume)
		target_enter(&restore->target, restore->new_name);
	restore_stage_begin(&restore->stages);
	if (restore->new_name && !restore->options.resume)
		restore_stage_database(&restore->stages, restore->new_name);
	target_begin(&restore->target);
	restore->log = job_log_open(&restore->target, &restore->identity);
	restore->work.log = restore->log;
	restore->log->check_crash = restore_unlogged_check;
	restore->log->check_arg = &restore->work;
	restore->account.can_resume = restore->log->is_kept;
	if (!restore_state_is_done(restore, RESTORE_LOG_DATABASE))
		restore_state_note_done(restore, RESTORE_LOG_DATABASE);
}

/*
 * Drop what --clean drops, and look which tables are there then: what is made
 * later is not dropped by --resume, nor taken for what was there before.
 */
static void
drop(Restore *restore)
{
	RestoreWork *work = &restore->work;
	PGconn	   *conn;
	bool	   *before;

	if (restore_state_is_done(restore, RESTORE_LOG_DROP))
		return;
	clean_drop(&restore->stages);
	conn = restore->target.conn;
	before = restore_tables_look(conn, restore->run.plan->tables);
	/* tables that are there now cannot be created */
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, before, true);
	session_begin_unwatched(conn, "BEGIN");
	restore_resume_note_left_out(work, conn);
	restore_state_note_done(restore, RESTORE_LOG_DROP);
	PQclear(target_query(conn, "COMMIT", 0, NULL));
	free(before);
}

/*
 * Make what rows need; which tables are new is of use for their rows.  Those
 * that a run before has made are not taken for new.
 */
static void
make_tables(Restore *restore)
{
	RestoreWork *work = &restore->work;
	const DumpPlan *plan = restore->run.plan;
	bool	   *before = restore_tables_look(restore->target.conn, plan->tables);
	bool	   *after;

	definitions_make(&restore->stages, restore->log);
	restore_stage_make_extension(&restore->stages);
	/* a restart until now is of no matter: what was done is on the disk */
	restore->target.incarnation = target_state(restore->target.conn).incarnation;
	after = restore_tables_look(restore->target.conn, plan->tables);
	if (restore->options.no_data_for_failed_tables)
		restore_tables_leave_out(work, after, false);
	work->fresh = restore_freeze_choose(&restore->target, plan, before,
										after);
	free(before);
	free(after);
}

/* What rows need. */
static void
make_definitions(Restore *restore)
{
	/* a run before may have dropped some, and have made none yet */
	if (restore->options.resume && restore->options.clean)
		restore->options.if_exists = true;
	drop(restore);
	make_tables(restore);
}

static void
note_definitions(Restore *restore)
{
	PGconn	   *conn = restore->target.conn;

	session_begin_unwatched(conn, "BEGIN");
	restore_resume_note_left_out(&restore->work, conn);
	restore_unlogged_note(&restore->work, conn);
	restore_state_note_done(restore, RESTORE_LOG_DEFINITIONS);
	/* a crash until now has lost no rows */
	job_log_mark(restore->log, conn);
	PQclear(target_query(conn, "COMMIT", 0, NULL));
}

void
restore_prepare_target(Restore *restore)
{
	bool		are_made;

	enter_database(restore);
	load_account_stage(&restore->account, LOAD_STAGE_DEFINITIONS);
	are_made = restore_state_is_done(restore, RESTORE_LOG_DEFINITIONS);
	if (!are_made)
		make_definitions(restore);
	restore->work.targets = target_find_tables(restore->target.conn,
											   restore->plan->plan.tables);
	target_check_triggers(restore->target.conn, &restore->options,
						  restore->work.targets,
						  restore->plan->plan.tables->n_tables);
	if (are_made)
		restore_unlogged_resume(restore);
	else
		note_definitions(restore);
	/* tables that this run has not made may have keys */
	if (!restore->options.disable_triggers)
		restore->plan->plan.queue = load_order_make(restore->target.conn,
													&restore->plan->plan,
													restore->plan->shares,
													restore->work.targets);
	restore_resume_skip(&restore->work);
	restore_resume_skip_indexes(&restore->work, restore->stages.schedule);
	(void) restore_state_is_done(restore, RESTORE_LOG_ROWS);
}
