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

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/string.h"
#include "getopt_long.h"

#include "archive/archive_dir.h"
#include "base/interrupt.h"
#include "base/message.h"
#include "base/units.h"
#include "cluster/cluster_run.h"
#include "process/child_program.h"
#include "process/worker_slots.h"
#include "report/report.h"
#include "session/traffic.h"
#include "status/metrics.h"

/* ----------
 * --report and --metrics of all databases: a page and a file for each,
 * which its run makes as always.
 * ----------
 */

/* Only files of that name are read by node_exporter. */
#define SUFFIX ".prom"

/* NULL until it is known; the argument of an exit callback. */
static const ClusterList *all_databases;

/* A MetricsFigures. */
static void
append_figures(PQExpBuffer buf, const void *arg)
{
	const ClusterList *list = *(const ClusterList *const *) arg;
	int			n_failed = 0;

	for (int i = 0; list && i < list->n; i++)
		n_failed += list->databases[i].failed;
	metrics_number(buf, "databases", "Databases of the last run.",
				   list ? list->n : 0);
	metrics_number(buf, "failed_databases", "How many of them have failed.",
				   n_failed);
}

/*
 * Neither the directory of reports nor a page may be inside the directory of
 * the archives, which contains only what a dump has written.
 */
static void
keep_out(const Options *options, const char *path)
{
	archive_dir_keep_out(options->directory, "report", path);
	archive_dir_keep_out(options->restore, "report", path);
	archive_dir_keep_out(options->verify, "report", path);
}

void
cluster_report_begin(const Options *options)
{
	const MetricsLabel labels[] = {
		{"command", run_metrics_command(options)}, {NULL}
	};

	metrics_begin(options, labels, append_figures, &all_databases);
	if (options->report == NULL)
		return;
	report_check(options);
	keep_out(options, options->report);
	if (options->report_history)
		keep_out(options, psprintf("%s/record", options->report_history));
	if (mkdir(options->report, 0700) < 0 && errno != EEXIST)
		pg_fatal("could not create directory \"%s\": %m", options->report);
	keep_out(options, psprintf("%s/page", options->report));
}

/*
 * The metrics of each database are written next to those of the whole run,
 * with the OID in the name, because a name of a database may contain any
 * characters.  The suffix is kept, since node_exporter reads only files that
 * end in it.
 */
static void
cluster_report_add_args(const Options *options, const ClusterDatabase *database,
						SimpleStringList *args)
{
	const char *path = options->metrics;

	if (path)
	{
		int			len = (int) strlen(path);

		if (pg_str_endswith(path, SUFFIX))
			len -= (int) strlen(SUFFIX);
		simple_string_list_append(args, psprintf("--metrics=%.*s.%u%s", len, path,
												 database->oid, path + len));
	}
	if (options->report)
		simple_string_list_append(args, psprintf("--report=%s/%u.html",
												 options->report, database->oid));
}

/* ----------
 * Runs this very program for each database of a cluster.
 * ----------
 */

/* How often to look for runs that have ended, and for slots. */
#define LOOK_US 20000

/* Two chunks of the smallest size (chunk_plan.c). */
#define LARGE_BYTES (64 * 1024 * 1024)

typedef struct RunState
{
	const ClusterRun *run;
	const Options *options;
	pid_t	   *pids;			/* by database; 0 = it does not run */
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
	cluster_report_add_args(options, &state->run->list->databases[no], &more);
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
	argv = make_args(state, no, &argc);
	reset_getopt();
	message_set_database(state->run->list->databases[no].name);
	exit(state->run->program(argc, argv));
}

/* ----------
 * In the process that starts them
 * ----------
 */
static void
show(const RunState *state, const char *what, int no)
{
	const ClusterDatabase *database = &state->run->list->databases[no];
	char		size[UNITS_BYTES];

	if (!state->run->shows)
		return;
	message_before_output();
	fprintf(stderr, "%s database %d of %d, \"%s\", %s: %s\n",
			state->run->doing, no + 1, state->run->list->n,
			printable(database->name), units_size(database->bytes, size), what);
}

/*
 * Signals are held while forking: a signal must find either the parent's or
 * the child's state, not a child with the parent's handlers.  Exit callbacks
 * and findings belong to the parent, and are dropped in the child.
 */
static void
cluster_run_begin(RunState *state, int no, int slot)
{
	pid_t		parent = getpid();

	show(state, "begun", no);
	fflush(NULL);
	interrupt_hold_signals();
	state->pids[no] = fork();
	if (state->pids[no] == 0)
	{
		cleanup_begin_process();
		findings_begin_process();
		interrupt_begin_process(parent);
		run_main(state, no, slot);
	}
	interrupt_release_signals();
	if (state->pids[no] < 0)
	{
		state->pids[no] = 0;
		pg_fatal("could not create child process: %m");
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
	state->n_failed++;
	pg_log_error("%s database \"%s\" failed", state->run->doing, database->name);
	if (WIFSIGNALED(status))
		pg_log_error_detail("Its process was terminated by signal %d: %s.",
							WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (complete)
		pg_log_error_detail("Its archive is complete.");
}

/*
 * Look at the run of this database, if there is one.  The signal that ended
 * it may have been sent to the whole process group, so the parent looks for
 * one of its own first.
 */
static void
look_at(RunState *state, int no)
{
	int			status;
	pid_t		gone;

	if (state->pids[no] == 0)
		return;
	gone = waitpid(state->pids[no], &status, WNOHANG);
	if (gone < 0 && errno != EINTR)
		pg_fatal("%s() failed: %m", "waitpid");
	if (gone <= 0)
		return;
	state->pids[no] = 0;
	state->n_running--;
	worker_slots_end_run(no);
	/* what ended that process may have been meant for this one, too */
	interrupt_check();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		show(state, "done", no);
	else
		cluster_run_note_failure(state, no, status);
}

/*
 * An exit callback: end all runs that are left, and remove what is
 * incomplete.
 */
static void
end_runs(void *arg)
{
	RunState   *state = arg;
	int			n = state->run->list->n;
	pid_t	   *pids = pg_malloc0((n + 1) * sizeof(pid_t));

	memcpy(pids, state->pids, n * sizeof(pid_t));
	child_process_end_all(pids, n);
	for (int i = 0; i < n; i++)
		if (state->pids[i] != 0 && state->run->clean_up)
			(void) state->run->clean_up(state->run->arg, i);
	free(pids);
}

/*
 * Is the next one so large that it has work for several workers, as soon as
 * it has been planned?  Small ones are planned side by side.
 */
static bool
is_large(const RunState *state)
{
	return state->run->list->databases[state->n_begun].bytes > LARGE_BYTES;
}

int
cluster_run(const ClusterRun *run, const Options *options)
{
	/* an exit callback uses it until the process ends */
	RunState   *state = pg_malloc0(sizeof(RunState));
	int			n = run->list->n;
	int			at_most = run->one_by_one ? 1 : options->jobs;

	all_databases = run->list;
	state->run = run;
	state->options = options;
	state->pids = pg_malloc0((n + 1) * sizeof(pid_t));
	worker_slots_make(options->jobs,
					  options->index_jobs ? (int) options->index_jobs : options->jobs,
					  n);
	/* one limit for all of them */
	traffic_set_max_rate(options->max_rate);
	cleanup_push(end_runs, state);
	while (state->n_begun < n || state->n_running > 0)
	{
		int			slot;

		interrupt_check();
		for (int i = 0; i < n; i++)
			look_at(state, i);
		while (state->n_begun < n && state->n_running < at_most &&
			   (slot = worker_slots_begin_run(state->n_begun, is_large(state))) >= 0)
			cluster_run_begin(state, state->n_begun, slot);
		pg_usleep(LOOK_US);
	}
	cleanup_pop(end_runs, state);
	worker_slots_end();
	return state->n_failed;
}
