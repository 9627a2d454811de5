/*
 * definitions.c
 *		Creates the definitions of an archive, and foreign keys of large
 *		partitions.
 *
 * A phase of the schedule is created pass by pass (definition_worker.c), each
 * by a pool of workers.  Definitions that rows need are created by one
 * worker, because they depend on each other and take little time.  Those
 * after the rows are created by all workers, because they read the rows.
 *
 * Before the last phase, foreign keys of partitioned tables are prepared
 * partition by partition (leaf_keys.c).  An exit callback drops keys that did
 * not become parts of the tables' keys, so that a failed run leaves none
 * behind.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/shared_memory.h"
#include "load/definition_session.h"
#include "load/definition_worker.h"
#include "load/definitions.h"
#include "load/leaf_keys.h"
#include "load/restore_journal_open.h"
#include "load/target_check.h"
#include "process/progress.h"
#include "process/worker_slots.h"
#include "session/session_lost.h"

typedef struct DefinitionPool
{
	DefinitionWork work;
	DefinitionJobs *jobs;
	DefinitionWorker *worker;	/* in a worker: its own state */
} DefinitionPool;

/* ----------
 * Callbacks of the worker pool
 * ----------
 */
static void
definitions_start_worker(void *arg, int no)
{
	DefinitionPool *pool = arg;

	pool->worker = definition_worker_start(&pool->work);
}

static bool
definitions_run_job(void *arg, int job, volatile int *step)
{
	DefinitionPool *pool = arg;

	definition_worker_run(pool->worker, job, step);
	return true;
}

static void
definitions_stop_worker(void *arg)
{
	definition_worker_stop(((DefinitionPool *) arg)->worker);
}

static char *
definitions_describe_job(void *arg, int job, int step)
{
	DefinitionPool *pool = arg;

	return definition_jobs_describe(pool->jobs, job, step);
}

static bool
definitions_begin_job(void *arg, int job)
{
	DefinitionPool *pool = arg;

	if (!definition_jobs_may_begin(pool->jobs, job))
		return false;
	definition_jobs_begin(pool->jobs, job);
	return true;
}

static void
definitions_job_is_done(void *arg, int job)
{
	definition_jobs_end(((DefinitionPool *) arg)->jobs, job);
}

/* ----------
 * A phase
 * ----------
 */

/*
 * Create the entries of one pass, and return the beginning of the next.
 * builds is true if the workers of several runs share the slots for builds.
 */
static int
make_pass(const DefinitionWork *work, int first, int n_workers, bool builds)
{
	/* Workers use it until they end. */
	DefinitionPool *pool = pg_malloc0(sizeof(DefinitionPool));
	const RestoreStages *stages = work->stages;
	PoolWatch	watch = progress_watch();
	WorkerTask	task = {
		.arg = pool,
		.job_detail = "The worker was processing %s.",
		.max_retries = (int) stages->setup.options->retries,
		.outlives_kill = true,
		.has_slots = true,
		.builds = builds,
		.start = definitions_start_worker,
		.run = definitions_run_job,
		.stop = definitions_stop_worker,
		.describe = definitions_describe_job,
		.begin = definitions_begin_job,
		.done = definitions_job_is_done,
	};
	int			next;

	pool->work = *work;
	pool->jobs = definition_jobs_make(work->script, first, &next,
									  stages->schedule->toc, n_workers);
	pool->work.jobs = pool->jobs;
	pool->work.notes = shared_memory_new(pool->jobs->n_jobs,
										 sizeof(DefinitionNote));
	worker_pool_run(&task, &watch, n_workers, pool->jobs->n_jobs);
	return next;
}

/*
 * Create the definitions of a phase.  pg_restore writes a script of its
 * entries, so that owners, privileges and options have the same effect as
 * with pg_restore.
 */
static void
make_phase(RestoreStages *stages, const RestoreJournal *journal, RestorePhase phase,
		   const char *name, int n_workers, const char *stage)
{
	int			n_entries;
	int			n_own;
	TocEntry   *entries = restore_schedule_entries(stages->schedule, phase,
												   &n_entries, &n_own);
	DefinitionWork work = {.stages = stages,.journal = journal};
	Script	   *script;

	/* the leader's session may have been lost meanwhile */
	target_keep(stages->target);
	if (n_own > 0)
	{
		work.address = target_restore_address(stages->target, "local");
		script = script_read(&stages->setup, name, entries, n_entries);
		object_groups_divide(script, stages->archive);
		work.script = script;
		work.n_made = shared_memory_new(1, sizeof(int));
		work.n_existing = shared_memory_new(1, sizeof(int));
		work.head_reported = definition_session_head_reported();
		progress_stage_count(stage, "", work.n_made, work.script->n_entries);
		for (int i = 0; i < work.script->n_entries;)
			i = make_pass(&work, i, n_workers, phase == RESTORE_POST_DATA);
		progress_end();
		if (*work.n_existing > 0)
		{
			pg_log_error(stages->setup.options->target ?
						 "the target already contains %d of the large objects to be copied" :
						 "the target already contains %d of the large objects to be restored",
						 *work.n_existing);
			/* In a copy, an object may have been created after the check. */
			if (!stages->as_pg_restore)
			{
				target_objects_hint(stages->setup.options);
				exit(1);
			}
			pg_log_error_detail("Their contents will be overwritten, as with pg_restore.");
		}
		target_renew(stages->target);
	}
}

void
definitions_make(RestoreStages *stages, const RestoreJournal *journal)
{
	make_phase(stages, journal, RESTORE_PRE_DATA, "pre-data", 1, "definitions");
	make_phase(stages, journal, RESTORE_LARGE_OBJECTS, "large-objects", 1,
			   "large objects");
}

/* ----------
 * After the rows
 * ----------
 */

/* The keys of partitions, for an exit callback. */
typedef struct PartitionKeys
{
	Target	   *target;
	LeafKeys   *keys;
} PartitionKeys;

/* Drop the remaining keys of partitions; also an exit callback. */
static void
definitions_drop_leaf_keys(void *arg)
{
	PartitionKeys *partitions = arg;

	leaf_keys_drop(partitions->target->conn, partitions->keys, true);
}

/*
 * Create the keys of large partitions, which become parts of their tables'
 * keys.  Some may remain separate until definitions_drop_leaf_keys().
 */
static LeafKeys *
make_leaf_keys(RestoreStages *stages, const RestoreJournal *journal)
{
	const Options *options = stages->setup.options;
	Target	   *target = stages->target;
	int			n_sessions = options->index_jobs != 0 ?
		(int) options->index_jobs : options->jobs;
	LeafKeys   *keys;

	/*
	 * With one session, this would take as long as the tables' own
	 * statements.  But --resume must drop keys that an earlier run may have
	 * left.
	 */
	if (n_sessions == 1 && !options->resume)
		return pg_malloc0(sizeof(LeafKeys));
	target_keep(target);
	keys = leaf_keys_find(target->conn, stages->schedule, journal);
	if (keys->n_leaves > 0)
	{
		leaf_key_sessions_run(target, keys, worker_slots_begin_builds(n_sessions));
		worker_slots_end_builds();
	}
	target_renew(target);
	leaf_keys_finish(target->conn, keys, stages->schedule, journal);
	leaf_keys_drop(target->conn, keys, false);
	return keys;
}

void
definitions_make_rest(RestoreStages *stages, const RestoreJournal *journal)
{
	PartitionKeys *partitions = pg_malloc(sizeof(PartitionKeys));

	partitions->target = stages->target;
	partitions->keys = make_leaf_keys(stages, journal);
	cleanup_push(definitions_drop_leaf_keys, partitions);
	make_phase(stages, journal, RESTORE_POST_DATA, "post-data",
			   stages->setup.options->jobs, "foreign keys and other objects");
	cleanup_pop(definitions_drop_leaf_keys, partitions);
	definitions_drop_leaf_keys(partitions);
}

/* ----------
 * Event triggers
 * ----------
 */

/* The argument of run_event_triggers(). */
typedef struct EventTriggers
{
	const RestoreStages *stages;
	const Script *script;
	int			n_errors;		/* errors in this transaction */
} EventTriggers;

/*
 * Run a statement of the archive whose error must not end the transaction.
 * The savepoint is a message of its own: if a text cannot be converted or
 * parsed, the server refuses the whole message, and there would be no new
 * savepoint to return to.
 */
static void
run_in_savepoint(EventTriggers *triggers, PGconn *conn, const char *statement,
				 const TocEntry *entry)
{
	PGresult   *res;

	session_command(conn, SESSION_SAVEPOINT);
	res = session_exec(conn, statement);
	if (session_refused(conn, res, statement))
	{
		interrupt_check();
		/* The next objects would belong to another role. */
		if (entry && strncmp(statement, "SET SESSION AUTHORIZATION ", 26) == 0)
		{
			pg_log_error("could not set session user: %s", PQresultErrorMessage(res));
			pg_fatal_hint(DEFINITION_USER_HINT);
		}
		/* Errors of the head have been reported. */
		if (entry)
			definition_session_report_error(res, statement, entry);
		if (entry && triggers->stages->setup.options->exit_on_error)
			exit(1);
		triggers->n_errors += entry != NULL;
		session_command(conn, SESSION_ROLLBACK_TO);
	}
	session_command(conn, SESSION_RELEASE);
	PQclear(res);
}

/*
 * With a journal, event triggers are created in the transaction that removes
 * the journal: once they exist they could fire for statements of this run.
 */
static void
run_event_triggers(void *arg, PGconn *conn)
{
	EventTriggers *triggers = arg;
	const Script *script = triggers->script;

	triggers->n_errors = 0;
	for (int i = 0; i < script->n_head; i++)
		run_in_savepoint(triggers, conn, script->head[i], NULL);
	for (int i = 0; i < script->n_entries; i++)
	{
		const ScriptEntry *entry = &script->entries[i];

		for (int j = 0; j < SCRIPT_N_SETTINGS; j++)
			if (entry->settings[j])
				run_in_savepoint(triggers, conn, entry->settings[j], entry->entry);
		run_in_savepoint(triggers, conn, entry->entry->defn, entry->entry);
		for (int j = 0; j < entry->n_after; j++)
			run_in_savepoint(triggers, conn, entry->after[j], entry->entry);
	}
}

void
definitions_make_event_triggers(RestoreStages *stages, RestoreJournal *journal)
{
	EventTriggers triggers = {.stages = stages};
	int			n_entries;
	int			n_own;
	TocEntry   *entries;

	if (journal == NULL || !journal->is_kept)
	{
		make_phase(stages, journal, RESTORE_EVENT_TRIGGERS, "event-triggers", 1,
				   "event triggers");
		if (journal)
			restore_journal_end(journal, stages->target, NULL, NULL);
		return;
	}
	entries = restore_schedule_entries(stages->schedule, RESTORE_EVENT_TRIGGERS,
									   &n_entries, &n_own);
	if (n_own > 0)
		triggers.script = script_read(&stages->setup, "event-triggers", entries,
									  n_entries);
	restore_journal_end(journal, stages->target, n_own > 0 ? run_event_triggers : NULL,
						&triggers);
	if (stages->setup.n_errors)
		(void) __sync_fetch_and_add(stages->setup.n_errors, triggers.n_errors);
}
