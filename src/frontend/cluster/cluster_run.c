/*
 * cluster_run.c
 *		Runs this program for each database of a cluster.
 *
 * Runs are forked, not executed: the child calls main() again, with a command
 * line in memory.  So passwords and masks need not be passed through
 * arguments or files that others could read, and there is no second program
 * to find.
 *
 * The parent starts runs, largest database first, while there is room; it
 * looks for ended ones every 20 ms, which costs nothing next to a dump.
 */
#include "base/fe_compat.h"

#include <sys/wait.h>

#include "getopt_long.h"

#include "base/interrupt.h"
#include "cluster/cluster_account.h"
#include "cluster/cluster_run.h"
#include "process/progress.h"
#include "process/worker_slots.h"
#include "session/session_lost.h"

/* How often to check for ended runs and free slots. */
#define LOOK_US 20000

/* Two chunks of the smallest size (chunk_plan.c). */
#define LARGE_BYTES (64 * 1024 * 1024)

typedef struct RunState
{
	const ClusterRun *run;
	const Options *options;
	ClusterAccount *account;
	pid_t	   *pids;			/* by database; 0 if it is not running */
	int			n_begun;
	int			n_running;
	int			n_failed;
} RunState;

/* ----------
 * In the process of a run
 * ----------
 */

/* The command line of the run for this database; NULL terminated. */
static char **
make_args(const RunState *state, int no, int *argc)
{
	const Options *options = state->options;
	SimpleStringList more = {0};
	char	  **args;
	int			n = 0;

	for (int i = 0; i < options->n_run_args; i++)
		simple_string_list_append(&more, options->run_args[i]);
	cluster_account_add_args(options, &state->run->list->databases[no], &more);
	state->run->add_args(state->run->arg, no, &more);
	for (const SimpleStringListCell *cell = more.head; cell; cell = cell->next)
		n++;
	args = pg_malloc0((n + 2) * sizeof(char *));
	args[0] = pg_strdup(state->run->argv0);
	n = 1;
	for (SimpleStringListCell *cell = more.head; cell; cell = cell->next)
		args[n++] = cell->val;
	*argc = n;
	return args;
}

/*
 * getopt_long() keeps its position in static variables.  glibc restarts
 * everything with optind = 0; other systems have optreset.
 */
static void
reset_getopt(void)
{
#ifdef __GLIBC__
	optind = 0;
#else
	optind = 1;
#endif
#ifdef HAVE_INT_OPTRESET
	optreset = 1;
#endif
}

pg_noreturn static void
run_main(const RunState *state, int no, int slot)
{
	char	  **argv;
	int			argc;

	worker_slots_enter(no, slot);
	progress_begin_process();
	run_figures_enter(&state->account->figures[no]);
	argv = make_args(state, no, &argc);
	reset_getopt();
	message_set_database(state->run->list->databases[no].name);
	if (state->options->check)
		findings_set_title(psprintf("[%d/%d] %s", state->account->n_ended + 1,
									state->run->list->n,
									printable(message_database())));
	exit(state->run->program(argc, argv));
}

/* ----------
 * In the parent
 * ----------
 */
/* Exit callbacks and findings belong to the parent: the child drops them. */
static void
cluster_run_begin(RunState *state, int no, int slot)
{
	pid_t		parent = getpid();

	cluster_account_note_begin(state->account, no);
	if (state->run->snapshot)
		cluster_snapshot_begin_run(state->run->snapshot, no);
	state->pids[no] = interrupt_fork();
	if (state->pids[no] == 0)
	{
		cleanup_begin_process();
		findings_begin_process(&state->account->figures[no].checked);
		interrupt_begin_process(parent);
		run_main(state, no, slot);
	}
	close(slot);
	state->n_begun++;
	state->n_running++;
	if (state->n_begun == state->run->list->n)
		worker_slots_all_begun();
}

static void
cluster_run_note_failure(RunState *state, int no, int status)
{
	ClusterDatabase *database = &state->run->list->databases[no];
	bool		complete = state->run->clean_up &&
		state->run->clean_up(state->run->arg, no);

	database->failed = !complete;
	database->run_failed = true;
	database->with_errors = state->account->figures[no].errors > 0;
	database->damaged = state->account->figures[no].findings > 0;
	state->n_failed++;
	cluster_account_note_end(state->account, no,
							 complete ? CLUSTER_COMPLETE : CLUSTER_FAILED);

	/*
	 * The run has reported what failed, with the name of the database, and
	 * the last message names all that failed.
	 */
	if (WIFSIGNALED(status))
	{
		pg_log_error(complete ? "the run for database \"%s\" failed" :
					 state->run->failure, database->name);
		pg_log_error_detail("Its process was terminated by signal %d: %s.",
							WTERMSIG(status), strsignal(WTERMSIG(status)));
	}
	else if (database->with_errors)
		pg_log_error("database \"%s\" was restored with errors", database->name);
	else if (complete)
		pg_log_error("the run for database \"%s\" failed", database->name);
	else if (state->options->check &&
			 state->account->figures[no].checked.errors == 0)
		pg_log_error(state->run->failure, database->name);
	if (complete)
		pg_log_error_detail("Its archive is complete.");
}

/*
 * Check the run of this database.  When it has read the source, its guard
 * ends, because the index builds of a copy may take hours.
 *
 * A signal that ended the run may have been sent to the whole process group,
 * so the parent checks for a signal of its own first.
 */
static void
look_at(RunState *state, int no)
{
	int			status;
	pid_t		gone;

	if (state->pids[no] == 0)
		return;
	if (state->run->snapshot && state->account->figures[no].source_is_closed)
		cluster_snapshot_end_run(state->run->snapshot, no);
	gone = waitpid(state->pids[no], &status, WNOHANG);
	if (gone < 0 && errno != EINTR)
		pg_fatal("could not wait for child process: %m");
	if (gone <= 0)
		return;
	state->pids[no] = 0;
	state->n_running--;
	worker_slots_end_run(no);
	if (state->run->snapshot)
		cluster_snapshot_end_run(state->run->snapshot, no);
	/* The signal may have been sent to this process, too. */
	interrupt_check();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		cluster_account_note_end(state->account, no, CLUSTER_COMPLETE);
	else
		cluster_run_note_failure(state, no, status);
}

/*
 * An exit callback: end all remaining runs, and remove incomplete archives.
 */
static void
cluster_run_end_runs(void *arg)
{
	RunState   *state = arg;
	int			n = state->run->list->n;
	pid_t	   *pids = pg_malloc0((n + 1) * sizeof(pid_t));

	memcpy(pids, state->pids, n * sizeof(pid_t));
	child_process_end_all(pids, n);
	for (int i = 0; i < n; i++)
		if (state->pids[i] != 0 && state->run->clean_up)
			(void) state->run->clean_up(state->run->arg, i);
}

int
cluster_run(const ClusterRun *run, const Options *options)
{
	/* an exit callback uses it until the process ends */
	RunState   *state = pg_malloc0(sizeof(RunState));
	int			n = run->list->n;
	int			at_most = run->one_by_one ? 1 : options->jobs;

	state->run = run;
	state->options = options;
	state->account = cluster_account_begin(run->list);
	state->pids = pg_malloc0((n + 1) * sizeof(pid_t));
	worker_slots_make(options->jobs,
					  options->index_jobs ? (int) options->index_jobs : options->jobs,
					  n);
	/* The limit applies to all runs together. */
	session_set_max_rate(options->max_rate);
	cleanup_push(cluster_run_end_runs, state);
	for (; state->n_begun < n && run->list->databases[state->n_begun].failed;
		 state->n_begun++)
	{
		state->n_failed++;
		cluster_account_note_end(state->account, state->n_begun, CLUSTER_FAILED);
	}
	while (state->n_begun < n || state->n_running > 0)
	{
		int			slot;

		interrupt_check();
		for (int i = 0; i < n; i++)
			look_at(state, i);
		if (run->snapshot)
			cluster_snapshot_attend(run->snapshot);

		/*
		 * A large database has work for several workers as soon as it has
		 * been planned; small ones are planned concurrently.
		 */
		while (state->n_begun < n && state->n_running < at_most &&
			   (slot = worker_slots_begin_run(state->n_begun,
											  run->list->databases[state->n_begun].bytes > LARGE_BYTES)) >= 0)
			cluster_run_begin(state, state->n_begun, slot);
		cluster_account_advise(state->account);
		progress_tick();
		pg_usleep(LOOK_US);
	}
	cleanup_pop(cluster_run_end_runs, state);
	worker_slots_end();
	cluster_account_end(state->account);
	return state->n_failed;
}
