/*
 * cluster_verify.c
 *		The main path of the verification of a cluster's dump.
 */
#include "base/fe_compat.h"

#include "base/interrupt.h"
#include "base/units.h"
#include "cluster/cluster_map.h"
#include "cluster/cluster_report.h"
#include "cluster/cluster_verify.h"
#include "toc/toc.h"

typedef struct ClusterVerify
{
	const Options *options;
	ClusterMap *map;
} ClusterVerify;

static void
add_args(void *arg, int no, SimpleStringList *args)
{
	const ClusterVerify *verify = arg;
	const ClusterDatabase *database = &verify->map->list.databases[no];
	char	   *archive = cluster_map_archive(verify->options->verify, database);

	toc_database_expect(database->oid, database->name);
	simple_string_list_append(args, psprintf("--verify=%s", archive));
	simple_string_list_append(args, psprintf("--jobs=%d", verify->options->jobs));
	simple_string_list_append(args, "--no-progress");
	free(archive);
}

int
cluster_verify(const Options *options, const char *argv0,
			   ClusterProgram program)
{
	ClusterVerify *verify = pg_malloc0(sizeof(ClusterVerify));
	ClusterRun	run = {
		.program = program,
		.argv0 = argv0,
		.doing = "verifying",
		.jobs = options->jobs,
		.one_by_one = true,
		.shows = true,
		.arg = verify,
		.add_args = add_args,
	};
	int			n_missing;
	int			n_failed;

	cluster_report_begin(options);
	interrupt_install_leader();
	verify->options = options;
	verify->map = cluster_map_read(options->verify);
	free(cluster_map_read_globals(options->verify, verify->map));
	n_missing = cluster_map_leave_out_failed(verify->map);
	run.list = &verify->map->list;
	n_failed = cluster_run(&run, options) + n_missing;
	cleanup_forget_all();
	if (n_failed == 0)
		return 0;
	pg_log_error("%d of %d database%s failed", n_failed,
				 verify->map->list.n + n_missing,
				 units_plural(verify->map->list.n + n_missing));
	return 1;
}
