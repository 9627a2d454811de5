/*
 * restore_plan.c
 *		What is restored, in which pieces; and what is made on the target,
 *		when.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "job_log/job_log_open.h"
#include "options/restore_options.h"
#include "restore/restore_plan.h"
#include "restore/restore_resume.h"
#include "restore/restore_tables.h"
#include "stock/stock_pg_restore.h"
#include "toc/toc.h"

void
restore_plan_leave_to_stock(const char *program, const Options *options,
							const char *reason)
{
	restore_options_check_stock(options, reason);
	if (*reason)
		pg_log_warning("stock pg_restore does the work, without workers of ours: %s",
					   reason);
	stock_list_become(program, options);
}

/* Of several databases each has its own. */
static void
check_database(const Archive *archive)
{
	char	   *problem = toc_database_problem(archive->toc);

	if (problem)
		pg_fatal("archive \"%s\" %s", archive->path, problem);
}

/*
 * What is restored decides what only makes sense with data alone, as
 * pg_restore has it (pg_backup_archiver.c:RestoreArchive).
 */
static void
settle_options(Restore *restore)
{
	Options    *options = &restore->options;

	options->data_only = restore_tables_is_data_only(restore->plan->plan.toc);
	if (!options->data_only)
		options->disable_triggers = false;
	if (restore_tables_has_statistics(restore->plan->plan.toc))
		options->no_analyze = true;
}

/* The work that is the same for all workers. */
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
}

void
restore_plan_make(Restore *restore)
{
	const char *program = restore->stages.setup.program;
	const DumpPlan *plan;

	if (archive_open_kind(restore->options.restore) == ARCHIVE_TAR)
		restore_plan_leave_to_stock(program, &restore->options, STOCK_READS_TAR);
	restore->archive = archive_open(restore->options.restore);
	check_database(restore->archive);
	/* stock's own archives would let indexes be attached side by side */
	index_attach_chain(restore->archive->toc);
	restore->ids = stock_list_read(program, &restore->options, &restore->n_ids);
	stock_list_check_names(restore->archive->toc, &restore->options);
	if (restore_tables_has_inserts(restore->archive->toc, restore->ids, restore->n_ids))
		restore_plan_leave_to_stock(program, &restore->options,
									"the archive has rows as INSERT commands");
	restore->plan = archive_plan_make(restore->archive, restore->ids,
									  restore->n_ids, &restore->options);
	plan = &restore->plan->plan;
	if (restore->options.compare_with)
		archive_plan_refuse_parts(restore->plan);
	settle_options(restore);
	restore->identity.archive = job_log_archive(restore->archive);
	restore->identity.selection = restore_resume_selection(&restore->options,
														   restore->ids,
														   restore->n_ids);
	restore->run.plan = plan;
	restore->target.encoding = plan->encoding;
	stock_pg_restore_set_toc(&restore->stages.setup, plan->toc);
	restore->stages.archive = restore->archive->toc;
	restore->stages.schedule = restore_schedule_make(plan->toc, plan->tables,
													 restore->options.create);
	job_log_refuse(restore->stages.schedule);
	restore->new_name = restore_tables_new_database(plan->toc);
	prepare_work(restore);
}
