/*
 * restore_long.c
 *		Tables that prove to be long, however small they are in the archive.
 */
#include "base/fe_compat.h"

#include "base/shared_memory.h"
#include "restore/restore_long.h"

LongFiles *
restore_long_new(const Archive *archive, const ArchivePlan *plan,
				 uint64 piece_bytes)
{
	LongFiles  *files = pg_malloc0(sizeof(LongFiles));

	files->archive = archive;
	files->plan = plan;
	files->piece_bytes = piece_bytes;
	files->is_long = shared_memory_new(plan->plan.chunks->n_files,
									   sizeof(bool));
	files->n_long = shared_memory_new(1, sizeof(int));
	return files;
}

/* It is long: is it left to all? */
static bool
leave(const LongFiles *files, int no)
{
	if (__sync_fetch_and_add(files->n_long, 1) >= ARCHIVE_SHARED_TABLES)
		return false;
	files->is_long[no] = true;
	return true;
}

bool
restore_long_look(const LongFiles *files, const DataFile *file,
				  ArchiveMember **text)
{
	int			no = file - files->plan->plan.chunks->files;
	const ArchiveRows *rows = &files->plan->rows[no];
	char	   *problem = NULL;

	*text = NULL;
	if (files->is_long[no])
		return true;
	/* where there is a manifest the dump has decided how long files are */
	if (rows->want || file->n_chunks > 1)
		return false;
	*text = archive_member_open(files->archive, rows->entry, &problem);
	if (*text == NULL)
	{
		/* whoever loads it finds the same, and tells */
		free(problem);
		return false;
	}
	if (archive_member_read_ahead(*text, files->piece_bytes) ||
		!leave(files, no))
		return false;
	archive_member_close(*text);
	*text = NULL;
	return true;
}

JobQueue *
restore_long_queue(const LongFiles *files, int first_job, int n_jobs,
				   int n_shares)
{
	const DumpPlan *plan = &files->plan->plan;
	const DataFile **found = pg_malloc((plan->chunks->n_files + 1) *
									   sizeof(DataFile *));
	int			n_found = 0;

	for (int i = first_job; i < first_job + n_jobs; i++)
	{
		const Job  *job = &plan->queue->jobs[i];

		for (int j = 0; job->kind == JOB_DATA_FILES && j < job->n; j++)
		{
			const DataFile *file = plan->queue->files[job->first + j];

			if (files->is_long[file - plan->chunks->files])
				found[n_found++] = file;
		}
	}
	return job_queue_share(found, n_found, n_shares);
}
