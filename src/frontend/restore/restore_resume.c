/*
 * restore_resume.c
 *		What runs before have done of a restore.
 */
#include "base/fe_compat.h"

#include "archive/archive_member.h"
#include "job_log/job_log.h"
#include "job_log/job_log_open.h"
#include "restore/restore_resume.h"

/* Of rows, to see how far they are compressed: blocks of any method. */
#define SAMPLE_BYTES (4 * 1024 * 1024)

char *
restore_resume_selection(const Options *options, const int *ids, int n_ids)
{
	char	   *entries = job_log_numbers(ids, n_ids);
	char	   *result = psprintf("entries %s, pieces of " UINT64_FORMAT " bytes%s%s%s%s%s%s%s",
								  entries, archive_plan_piece_bytes(options),
								  options->create ? ", --create" : "",
								  options->disable_triggers ? ", --disable-triggers" : "",
								  options->no_owner ? ", --no-owner" : "",
								  options->no_tablespaces ? ", --no-tablespaces" : "",
								  options->no_table_access_method ? ", --no-table-access-method" : "",
								  options->use_session_authorization ? ", --use-set-session-authorization" : "",
								  options->no_data_for_failed_tables ? ", --no-data-for-failed-tables" : "");

	free(entries);
	return result;
}

static void
skip_files(const RestoreWork *work)
{
	const ChunkPlan *chunks = work->run->plan->chunks;
	bool		all = job_log_is_done(work->log, RESTORE_LOG_ROWS);

	for (int i = 0; i < chunks->n_files; i++)
	{
		const DataFile *file = &chunks->files[i];

		if (job_log_has(work->log, restore_log_left_out(file)))
			work->left_out[i] = run_file_result(work->run, file)->incomplete = true;
		if (!all && !job_log_has(work->log, restore_log_file(file)))
			continue;
		work->left_out[i] = true;
		run_file_result(work->run, file)->done = true;
	}
}

static void
skip_objects(const RestoreWork *work)
{
	const LargeObjects *objects = work->run->plan->objects;
	bool		all = job_log_is_done(work->log, RESTORE_LOG_ROWS);

	for (int i = 0; i < objects->n_groups; i++)
	{
		const LargeObjectGroup *group = &objects->groups[i];

		if (!all &&
			!job_log_has(work->log, restore_log_group(&work->plan->groups[i], group)))
			continue;
		work->objects_left_out[i] = true;
		for (int j = 0; j < group->n_oids; j++)
			work->run->results->objects[group->first_object + j].done = true;
	}
}

/* By dump ID: of how many pieces are there lines?  Owned. */
static int *
count_pieces(const JobLog *log, int max_dump_id)
{
	int		   *result = pg_malloc0((max_dump_id + 1) * sizeof(int));

	for (int i = 0; i < log->n_lines; i++)
	{
		int			id;
		int			end = 0;

		if (sscanf(log->lines[i].name, "rows %d piece %n", &id, &end) == 1 &&
			end > 0 && id > 0 && id <= max_dump_id)
			result[id]++;
	}
	return result;
}

/*
 * How many stored bytes there are to a byte of rows, by the first ones; 1 if
 * it cannot be told, which whoever reads all of it will find.
 */
static double
stored_ratio(const Archive *archive, const TocEntry *entry)
{
	char	   *problem = NULL;
	ArchiveMember *member = archive_member_open(archive, entry, &problem);
	char	   *buffer = pg_malloc(SAMPLE_BYTES);
	uint64		raw = 0;
	double		ratio = 1;
	ssize_t		len;

	while (member && raw < SAMPLE_BYTES &&
		   (len = archive_member_read(member, buffer, SAMPLE_BYTES - raw)) > 0)
		raw += len;
	if (raw > 0)
		ratio = (double) archive_member_stored_bytes(member) / raw;
	if (member)
		archive_member_close(member);
	free(problem);
	free(buffer);
	return ratio;
}

/* Files of which only pieces are done. */
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
		result->bytes_before = (uint64)
			Min((double) file->est_bytes, (double) n * piece_bytes *
				stored_ratio(work->archive, work->plan->rows[i].entry));
	}
}

/*
 * What a run before has begun in pieces this one goes on with in pieces.
 * But foreign keys of the target may want the whole at once by now.
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
				pg_fatal("the restore cannot be resumed: pieces of %s have been loaded, which is to be loaded as a whole now",
						 data_file_describe(file, plan->tables));
			work->long_files->is_long[file - plan->chunks->files] = true;
		}
	}
}

void
restore_resume_skip(const RestoreWork *work)
{
	int		   *n_pieces;

	if (work->log == NULL || !work->log->is_resumed)
		return;
	skip_files(work);
	skip_objects(work);
	n_pieces = count_pieces(work->log, work->archive->toc->max_dump_id);
	go_on_in_pieces(work, n_pieces);
	note_pieces(work, n_pieces);
	free(n_pieces);
}

/* ----------
 * Indexes
 * ----------
 */

/* Is it built?  The worker that claims a line with errors counts them. */
static bool
is_built(const JobLog *log, const TocEntry *entry)
{
	char	   *name = job_log_entry(entry);
	const JobLogLine *line = job_log_find(log, name);

	free(name);
	return line && line->errors == 0;
}

void
restore_resume_skip_indexes(const RestoreWork *work, RestoreSchedule *schedule)
{
	bool		all = job_log_is_done(work->log, RESTORE_LOG_ROWS);

	if (work->log == NULL || !work->log->is_resumed)
		return;
	for (int i = 0; i < schedule->toc->n_entries; i++)
		if (schedule->phases[i] == RESTORE_INDEXES &&
			(all || is_built(work->log, &schedule->toc->entries[i])))
			schedule->phases[i] = RESTORE_NEVER;
}

/* ----------
 * Notes
 * ----------
 */
void
restore_resume_note_left_out(const RestoreWork *work, PGconn *conn)
{
	const ChunkPlan *chunks = work->run->plan->chunks;

	for (int i = 0; i < chunks->n_files; i++)
	{
		char	   *name;

		if (!work->left_out[i])
			continue;
		name = restore_log_left_out(&chunks->files[i]);
		job_log_done(work->log, conn, name, 0);
		free(name);
	}
}
