/*
 * restore_stage.c
 *		What stock pg_restore makes on a target, before and after the rows.
 */
#include "base/fe_compat.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/child_process.h"
#include "progress/progress.h"
#include "target/restore_stage.h"

/* Exit callbacks. */
static void
end_restore(void *arg)
{
	RestoreStages *restore = arg;

	child_process_end_all(&restore->run.pid, 1);
}

static void
remove_directory(void *arg)
{
	RestoreStages *restore = arg;

	if (!rmtree(restore->setup.directory, true))
		pg_log_warning("could not remove directory \"%s\"", restore->setup.directory);
}

void
restore_stage_begin(RestoreStages *restore)
{
	const char *parent = getenv("TMPDIR");
	char	   *path = psprintf("%s/pg_pardump.XXXXXX",
								parent && *parent ? parent : "/tmp");

	if (mkdtemp(path) == NULL)
		pg_fatal("could not create directory \"%s\": %m", path);
	restore->setup.directory = path;
	cleanup_push(remove_directory, restore);
	cleanup_push(end_restore, restore);
}

/* Run pg_restore on the entries; false if it met errors. */
static bool
restore_entries(RestoreStages *restore, const char *name, const TocEntry *entries,
				int n_entries, const char *const *more)
{
	stock_pg_restore_start(&restore->run, &restore->setup, name, entries, n_entries,
						   more);
	return stock_pg_restore_wait(&restore->run);
}

/*
 * The same with a phase, which is a stage of the progress if that is named;
 * true if there is nothing in it.
 */
static bool
restore_phase(RestoreStages *restore, RestorePhase phase, const char *name,
			  const char *stage, const char *const *more)
{
	int			n_entries;
	int			n_own;
	TocEntry   *entries = restore_schedule_entries(restore->schedule, phase,
												   &n_entries, &n_own);
	bool		ok;

	if (n_own > 0 && stage)
		progress_stage_count(stage, "", NULL, n_own);
	ok = n_own == 0 ||
		restore_entries(restore, name, entries, n_entries, more);
	free(entries);
	return ok;
}

/*
 * Is the entry one whose object is to be dropped by itself?  Indexes and
 * constraints that have one go with their tables, and those of partitions
 * only so.
 */
static bool
is_dropped(const TocEntry *entry, RestorePhase phase)
{
	return entry->drop_stmt != NULL &&
		(phase == RESTORE_PRE_DATA || phase == RESTORE_POST_DATA) &&
		!toc_entry_is(entry, "INDEX") && !toc_entry_is(entry, "INDEX ATTACH") &&
		!toc_entry_is(entry, "CONSTRAINT");
}

/*
 * Drop what is going to be made, in the opposite order.  pg_restore drops
 * what it then creates; here it creates nothing, so that all is dropped, what
 * comes after the data first, before anything is made.  Errors
 * are shown; what could not be dropped cannot be made either, and that is
 * fatal.
 */
static void
drop_objects(RestoreStages *restore)
{
	static const char *const more[] = {"--clean", "--if-exists", NULL};
	const Toc  *toc = restore->schedule->toc;
	TocEntry   *entries = pg_malloc((toc->n_entries + 1) * sizeof(TocEntry));
	int			n = 0;

	for (int i = 0; i < toc->n_entries; i++)
	{
		RestorePhase phase = restore->schedule->phases[i];
		TocEntry   *entry = &entries[n];

		if (phase != RESTORE_ALWAYS && !is_dropped(&toc->entries[i], phase))
			continue;
		n++;
		*entry = toc->entries[i];
		if (phase == RESTORE_ALWAYS)
			continue;
		/* a definition there must be, or nothing is dropped */
		entry->defn = "--";
		entry->owner = NULL;
		entry->tablespace = NULL;
		entry->tableam = NULL;
	}
	restore_entries(restore, "drop", entries, n, more);
	free(entries);
}

void
restore_stage_end(RestoreStages *restore)
{
	remove_directory(restore);
}

void
restore_stage_database(RestoreStages *restore)
{
	static const char *const create[] = {"--exit-on-error", "--create", NULL};
	static const char *const recreate[] = {"--exit-on-error", "--create",
	"--clean", "--if-exists", NULL};

	if (!restore_phase(restore, RESTORE_DATABASE, "database", NULL,
					   restore->setup.options->clean ? recreate : create))
		pg_fatal("pg_restore could not create the database on the target");
}

void
restore_stage_definitions(RestoreStages *restore)
{
	const Options *options = restore->setup.options;
	bool		clean = options->clean && !options->create;
	static const char *const plain[] = {"--exit-on-error", NULL};
	static const char *const replace[] = {"--exit-on-error", "--clean",
	"--if-exists", NULL};

	if (clean)
		drop_objects(restore);
	if (!restore_phase(restore, RESTORE_PRE_DATA, "pre-data", "definitions",
					   plain) ||
		!restore_phase(restore, RESTORE_LARGE_OBJECTS, "large-objects", NULL,
					   clean ? replace : plain))
		pg_fatal("pg_restore could not make the definitions on the target");
	progress_end();
}

bool
restore_stage_rest(RestoreStages *restore)
{
	char	   *jobs = psprintf("--jobs=%d", restore->setup.options->jobs);
	const char *const more[] = {jobs, NULL};
	bool		ok = restore_phase(restore, RESTORE_POST_DATA, "post-data",
								   "foreign keys and the rest", more);

	progress_end();
	free(jobs);
	return ok;
}
