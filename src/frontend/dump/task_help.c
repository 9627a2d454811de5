/*
 * task_help.c
 *		Which jobs of others a task does that has done its own.
 */
#include "base/fe_compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shared_memory.h"
#include "dump/dump_worker.h"
#include "dump/task_help.h"
#include "tasks/dir_listing.h"
#include "tasks/task_result.h"

/* A directory of many is not read for each job that is done. */
#define LISTING_MS 100

/*
 * How often to look what comes: so much later each time, and at last in such
 * times, as the most are short; in how many of these whether it goes on, and
 * for how long if it does not.
 */
#define LATER_MS 2
#define LOOK_MS 50
#define LOOKS_FOR_BYTES 20
#define PATIENCE_MS 10000

/* Beside the plan, after the name of a job's first file: */
#define CLAIM_SUFFIX ".helped"	/* another task does it */
#define MADE_SUFFIX ".made"		/* and has all its files */
#define FAILED_SUFFIX ".failed" /* an attempt has failed at it */

struct TaskHelp
{
	const Run  *run;
	int			task;
	DirListing	before;			/* the plan's, when this attempt began */
	DirListing	plan;
	DirListing	archive;		/* as it was when this worker began to help */
	int		   *next;			/* shared: all jobs before it are to be looked
								 * at */
};

static bool
ends_with(const char *name, const char *end, size_t len)
{
	size_t		name_len = strlen(name);

	return name_len >= len && strncmp(name + name_len - len, end, len) == 0;
}

/* False if it is there already, or cannot be. */
static bool
make_mark(const TaskHelp *help, const char *name, const char *suffix)
{
	char	   *path = psprintf("%s/%s%s", help->plan.directory, name, suffix);
	int			fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	free(path);
	return fd >= 0;
}

/* ----------
 * Jobs of others
 * ----------
 */
TaskHelp *
task_help_new(const Run *run, int task, const char *directory,
			  const char *archive)
{
	TaskHelp   *help = pg_malloc0(sizeof(TaskHelp));

	help->run = run;
	help->task = task;
	help->before.directory = help->plan.directory = directory;
	help->archive.directory = archive;
	help->next = shared_memory_new(1, sizeof(int));
	*help->next = run->plan->queue->n_jobs;
	dir_listing_read(&help->before);
	return help;
}

static char *
first_name(const TaskHelp *help, int job)
{
	return dump_worker_file_name(help->run,
								 &help->run->plan->queue->jobs[job], 0);
}

static bool
is_at_work(const TaskHelp *help, int task)
{
	const DirListing *plan = &help->plan;
	char	   *begin = psprintf("%d.", task);
	bool		found = false;

	for (int i = dir_listing_find(plan, begin);
		 !found && dir_listing_begins(plan, i, begin); i++)
		found = ends_with(plan->names[i], TASK_RESULT_SUFFIX,
						  strlen(TASK_RESULT_SUFFIX));
	free(begin);
	return found;
}

/* How many jobs of its own are attempts at a task doing now? */
static int
count_at_work(const TaskHelp *help, int task)
{
	const JobQueue *queue = help->run->plan->queue;
	int			n = 0;

	for (int i = 0; i < queue->n_jobs; i++)
		if (queue->jobs[i].task == task)
		{
			char	   *name = first_name(help, i);
			char	   *begin = psprintf("%s.%d.", name, task);

			n += dir_listing_has_beginning(&help->plan, begin);
			free(begin);
			free(name);
		}
	return n;
}

/* The archive is asked last: that is where a file goes from the plan's. */
static bool
is_begun(const TaskHelp *help, int job, bool as_listed)
{
	char	   *name = first_name(help, job);
	char	   *begin = psprintf("%s.", name);
	bool		begun = dir_listing_has_beginning(&help->plan, begin) ||
		dir_listing_has(&help->archive, name) ||
		(!as_listed && dir_listing_is_in(&help->archive, name, ""));

	free(begin);
	free(name);
	return begun;
}

/*
 * Neither this job nor, before it, as many others of its task as that is
 * doing now?
 */
static bool
is_wanted(const TaskHelp *help, int job, bool as_listed)
{
	const Job  *jobs = help->run->plan->queue->jobs;
	int			left;

	if (is_begun(help, job, as_listed) ||
		!is_at_work(help, jobs[job].task))
		return false;
	left = Max(count_at_work(help, jobs[job].task), 1);
	for (int i = job - 1; left > 0 && i >= 0; i--)
		if (jobs[i].task == jobs[job].task)
		{
			if (is_begun(help, i, as_listed))
				return false;
			left--;
		}
	return left == 0;
}

/* What listings say is cheap to ask, and may be old. */
static bool
claim(TaskHelp *help, int job)
{
	char	   *name;
	bool		claimed;

	if (help->archive.read_at == 0)
		dir_listing_read(&help->archive);
	if (clock_monotonic_ms() - help->plan.read_at > LISTING_MS)
		dir_listing_read(&help->plan);
	if (!is_wanted(help, job, true))
		return false;
	dir_listing_read(&help->plan);
	dir_listing_look_anew(&help->archive);
	if (!is_wanted(help, job, false))
		return false;
	name = first_name(help, job);
	claimed = make_mark(help, name, CLAIM_SUFFIX);
	free(name);
	return claimed;
}

int
task_help_choose(TaskHelp *help)
{
	const JobQueue *queue = help->run->plan->queue;
	int			job;

	while ((job = __sync_sub_and_fetch(help->next, 1)) >= 0)
		if (queue->jobs[job].task != help->task && claim(help, job))
			return job;
	return -1;
}

void
task_help_made(const TaskHelp *help, int job)
{
	char	   *name = first_name(help, job);

	(void) make_mark(help, name, MADE_SUFFIX);
	free(name);
}

void
task_help_leave(const TaskHelp *help, int job, bool failed)
{
	char	   *name = first_name(help, job);
	char	   *path = psprintf("%s/%s" CLAIM_SUFFIX, help->plan.directory, name);

	if (failed)
		(void) make_mark(help, name, FAILED_SUFFIX);
	if (help->run->plan->queue->jobs[job].task != help->task)
		(void) unlink(path);
	free(path);
	free(name);
}

/* ----------
 * Jobs of its own
 * ----------
 */

/* Of all files of an attempt. */
static uint64
attempt_bytes(const DirListing *plan, const char *attempt)
{
	uint64		bytes = 0;

	for (int i = 0; i < plan->n; i++)
	{
		char	   *path;
		struct stat st;

		if (!ends_with(plan->names[i], attempt, strlen(attempt)))
			continue;
		path = psprintf("%s/%s", plan->directory, plan->names[i]);
		if (lstat(path, &st) == 0)
			bytes += st.st_size;
		free(path);
	}
	return bytes;
}

/* Of those attempts that have a file of this name. */
static uint64
bytes_beside(const DirListing *plan, const char *name)
{
	char	   *begin = psprintf("%s.", name);
	uint64		bytes = 0;

	for (int i = dir_listing_find(plan, begin);
		 dir_listing_begins(plan, i, begin); i++)
		bytes += attempt_bytes(plan, plan->names[i] + strlen(begin));
	free(begin);
	return bytes;
}

/*
 * Has whoever helps made it?  What an attempt before this one found made and
 * is not in the archive by now, nobody was told of.
 */
static bool
is_made(const TaskHelp *help, const char *name)
{
	char	   *mark = psprintf("%s" MADE_SUFFIX, name);
	bool		made = dir_listing_is_in(&help->plan, mark, "") &&
		!dir_listing_has(&help->before, mark);

	free(mark);
	return made || dir_listing_is_in(&help->archive, name, "");
}

bool
task_help_comes(TaskHelp *help, int job)
{
	char	   *name = first_name(help, job);
	uint64		bytes = 0;
	int64		changed_at = clock_monotonic_ms();
	bool		made = false;

	for (int n_looks = 0; dir_listing_is_in(&help->plan, name, CLAIM_SUFFIX) &&
		 !(made = is_made(help, name)) &&
		 clock_monotonic_ms() - changed_at < PATIENCE_MS; n_looks++)
	{
		if (n_looks % LOOKS_FOR_BYTES == 0)
		{
			uint64		bytes_before = bytes;

			dir_listing_read(&help->plan);
			bytes = bytes_beside(&help->plan, name);
			if (bytes != bytes_before)
				changed_at = clock_monotonic_ms();
		}
		pg_usleep(Min((n_looks + 1) * LATER_MS, LOOK_MS) * 1000L);
		dir_listing_look_anew(&help->plan);
		dir_listing_look_anew(&help->archive);
	}
	free(name);
	return made;
}
