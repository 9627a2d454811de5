/*
 * cluster_check.c
 *		Has a cluster room for the runs of all its databases?
 */
#include "base/fe_compat.h"

#include "base/units.h"
#include "cluster/cluster_check.h"
#include "process/worker_process.h"
#include "session/connection.h"

/* One of two sides of the runs. */
typedef struct ClusterSide
{
	const char *name;			/* in messages */
	int			own;			/* sessions of a run besides its workers' */
	int			own_of_one;		/* the same with one job */
} ClusterSide;

/*
 * The leader's, pg_dump's and the one that looks for changed tables
 * (leader.c): pg_dump is there only before the first worker, and the
 * last one is not, beside it, with one job.
 */
static const ClusterSide source_side = {"the server", 2, 1};

/* The leader's, and that of the log, or pg_restore's. */
static const ClusterSide target_side = {"the target", 2, 2};

/* All sessions that there may be at a time. */
static int
needed_by(const ClusterSide *side, int jobs, int n_databases)
{
	return jobs + Min(jobs, n_databases) *
		(jobs > 1 ? side->own : side->own_of_one);
}

/* What the user can do about it. */
static void
give_hint(const ClusterSide *side, int jobs, int n_databases, int left)
{
	while (jobs > 0 && needed_by(side, jobs, n_databases) > left)
		jobs--;
	if (jobs > 0)
		pg_log_error_hint("Use --jobs=%d, or raise max_connections or the limit of the role.",
						  jobs);
	else
		pg_log_error_hint("End other sessions, or raise max_connections or the limit of the role.");
}

/* False if an error was told. */
static bool
check_connections(PGconn *conn, const ClusterSide *side, int jobs,
				  int n_databases)
{
	/* limits of databases are not the same for all of them */
	ConnectionsLeft connections = connection_limit_left(conn, false);
	int			needed = needed_by(side, jobs, n_databases);
	int			n_runs = Min(jobs, n_databases);

	/* this session's place is free then, too */
	int			at_most = Min(connections.at_most, PG_INT32_MAX - 1) + 1;
	int			at_least = Min(connections.at_least, PG_INT32_MAX - 1) + 1;

	if (n_runs == 0 || at_least >= needed)
		return true;
	if (at_most >= needed)
	{
		pg_log_warning("%s may have only %d connection%s left for %d job%s in up to %d database%s at a time, which may need %d",
					   side->name, at_least, units_plural(at_least), jobs,
					   units_plural(jobs), n_runs, units_plural(n_runs), needed);
		pg_log_warning_detail("%s", CONNECTIONS_HIDDEN_DETAIL);
		return true;
	}
	pg_log_error("%s has %d connection%s left, too few for %d job%s in up to %d database%s at a time, which may need %d",
				 side->name, at_most, units_plural(at_most), jobs,
				 units_plural(jobs), n_runs, units_plural(n_runs), needed);
	give_hint(side, jobs, n_databases, at_most);
	return false;
}

void
cluster_check_source(PGconn *conn, int jobs, int n_databases)
{
	(void) worker_processes_have_files(jobs);
	(void) check_connections(conn, &source_side, jobs, n_databases);
}

/*
 * Builds of indexes have sessions of their own (worker_slots.h).  One that
 * cannot connect leaves an index out: a warning, as there may be none at all.
 */
static void
check_builds(PGconn *conn, int jobs, int builds, int n_databases)
{
	int			needed = needed_by(&target_side, jobs, n_databases) + builds;
	int			left = Min(connection_limit_left(conn, false).at_most,
						   PG_INT32_MAX - 1) + 1;

	if (n_databases == 0 || left >= needed)
		return;
	pg_log_warning("the target has only %d connection%s left for %d job%s and %d index build%s at a time, which may need %d",
				   left, units_plural(left), jobs, units_plural(jobs), builds,
				   units_plural(builds), needed);
	pg_log_warning_hint("Use fewer --jobs or --index-jobs, should it fail by that.");
}

void
cluster_check_target(PGconn *conn, const Options *options, int n_databases)
{
	int			jobs = options->jobs;
	int			builds = options->index_jobs ? (int) options->index_jobs : jobs;

	(void) worker_processes_have_files(jobs);
	if (check_connections(conn, &target_side, jobs, n_databases))
		check_builds(conn, jobs, builds, n_databases);
}
